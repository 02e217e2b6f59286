"""The command `train`."""

import os
import re
import sys
import warnings
from dataclasses import replace
from itertools import chain
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_shag.cli._info import make_card
from sklearn_shag.cli._models import check_output, choose_verbosity, is_terminal
from sklearn_shag.cli._recipe import Recipe, choose_model
from sklearn_shag.cli._training_data import find_treebanks, list_split, read_helpers, read_raw_text
from sklearn_shag.conditional import tell_trees
from sklearn_shag.ensembles import AveragedParser, DistilledParser
from sklearn_shag.metrics import raw_text_scores, score_report
from sklearn_shag.model_files import save_model
from sklearn_shag.network import list_known_columns
from sklearn_shag.treebank import UnknownSymbolWarning, list_sources, to_text
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._estimators import find_splitter, open_member, weight_name
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import log_progress

COUNTED_CHUNK = 10_000  # trees counted at once by learners that need counts only
SHOWN_SCORES = ("uas", "las")
OF_OWN = 5.0  # weight of an own tree for a teacher, if none is given; that of a helper is 1
NO_RAW_TEXT, NO_HELPERS = "without raw text", "without helpers"
REMEDIES = {
    NO_RAW_TEXT: "The raw text may be too far from the treebank; leave it out, or use other text",
    NO_HELPERS: "Leave out --helpers, or use a transformer that knows the language",
}
# Standard errors by which a simple network must be better for a warning; what helpers gain or lose
# is much more than chance, if there are at least FEWEST_SENTENCES sentences.
STANDARD_ERRORS, FEWEST_SENTENCES = {NO_RAW_TEXT: 2.0, NO_HELPERS: 0.0}, 5


def train(options):
    """Learn a model from treebanks and save it.

    Parameters
    ----------
    options : argparse.Namespace
        With `output`, `note`, those of :func:`find_treebanks`, and the fields of :class:`Recipe`.

    Raises
    ------
    ValueError
        If there is nothing to learn from, or the output is a terminal or one of the inputs.
    """
    began = perf_counter()
    treebank, others = find_treebanks(options)
    files = list_sources([*treebank.files, *others.files])
    check_output(options.output, files)
    if options.output == STANDARD and is_terminal(sys.stdout):
        raise ValueError("A model is not text for a terminal; name a file with -o, or redirect.")
    told = sys.stderr if options.output == STANDARD else sys.stdout
    _warn_of_test_files(treebank.files)
    kind, reason = choose_model(options)
    if reason is not None:
        print(f"Taking --model {kind}: {reason}", file=told)
    recipe = Recipe.from_options(options, kind)
    if recipe.learns_tags and recipe.tags is None:
        recipe = replace(recipe, tags=",".join(treebank.list_columns()))
    training = Training(recipe, treebank, others, told)
    with log_progress():
        expected = training.fit()
    card = make_card(files, options, trees=treebank.seen["trees"], tokens=treebank.seen["tokens"])
    if options.output != STANDARD:  # scores may take a while, and belong to the card
        save_model(training.model, options.output, card=card)
    training.print_kind()
    scores = training.print_scores()
    if scores or options.output == STANDARD:
        save_model(training.model, options.output, card=card | {"scores": scores})
    training.warn_of_harm()
    advice = "is above" if scores else "is not known: test it, or add --cv 5"
    for name in [name for name in SHOWN_SCORES if name in expected]:
        score, low, high = (100 * value for value in expected[name])
        advice = f"is {name.upper()} {score:.1f} ({low:.1f} to {high:.1f})"
    print(
        f"Learned {training.describe()}, in {perf_counter() - began:.0f} s; saved to "
        f"{printable(options.output)}.{training.tell_left_out()} It parses "
        f"{training.tell_input()}. Its expected score {advice}.",
        file=told,
    )


def _warn_of_test_files(files):
    """Warn if files to learn from include a test set, as whole folders of treebanks do."""
    test = [path for path in files if re.search(r"-ud-test\.conllu(\.gz)?$", path)]
    if test and len(files) > 1:
        warn(
            f"{test[0]} is among the {len(files)} files to learn from, so scores on it will be "
            f"too high; to learn from training sets alone, name them or a pattern such as "
            f"'*-ud-train.conllu'",
            UserWarning,
        )


class Training:
    """A model, and what it learns from by a recipe.

    Parameters
    ----------
    recipe : Recipe
    treebank, others : Treebank
        Of the language, and of other languages.
    told : text file
        What is found is printed there.

    Attributes
    ----------
    model, learner : estimator
        What is saved, and the parser in it that learns from trees.
    helpers, raw : list of DependencyTree
        Trees of other languages, and sentences of raw text.
    """

    def __init__(self, recipe, treebank, others, told):
        self.recipe, self.treebank, self.told = recipe, treebank, told
        self.model, self.learner = recipe.make_model()
        self.student = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        treebank.needs_heads = self.learner._needs_whole_trees is not None
        self.helpers = list(read_helpers(others))
        self.raw = [] if recipe.raw_text is None else self._read_raw(recipe.raw_text)
        recipe.give_vectors(self.model, chain(self.raw, treebank))
        # The simple network that a student should be better than.
        self._simple = NO_HELPERS if self.helpers else NO_RAW_TEXT
        self._tried, self._gains = (), []

    def _read_raw(self, paths):
        """List the sentences of raw text; of a model of text, the splitter learns first."""
        splitter = find_splitter(self.model)
        if splitter is not None:
            own = list(self.treebank)
            splitter.fit(list_split(own, self.helpers, paths) if self.helpers else own)
            self.model.steps[0] = "splitter", FrozenEstimator(splitter)
        return list(read_raw_text(paths, splitter, self.treebank.on_error))

    def fit(self):
        """Fit the model, and return the scores to expect by cross-validation, if it is wanted.

        Returns
        -------
        expected : dict of str
            Names of scores -> these and their intervals.
        """
        self._set_verbosity(choose_verbosity())
        self._agree_on_trees()
        if self.helpers:
            self._fit_teacher()
        expected = {} if self.recipe.cv is None else self._cross_validate(self.recipe.cv)
        self._fit_model()
        self._set_verbosity(0)  # depends on this terminal, not on the model
        return expected

    def _set_verbosity(self, level):
        params = self.model.get_params().items()
        watched = [name for name, old in params if name.endswith("verbose") and old is not False]
        self.model.set_params(**dict.fromkeys(watched, level))

    def _agree_on_trees(self):
        """Let the members of an ensemble sum over the trees that "auto" finds for the first."""
        ensemble = getattr(self.student, "teacher", self.student)
        if not isinstance(ensemble, AveragedParser):
            return
        kind = ensemble.trees
        if kind == "auto":
            first = open_member(ensemble.estimators[0][1]).parser
            known = first._prepare_trees(list(self.treebank), None, None)
            kind, self._tried = known.trees, known.scores
        names = [name for name in ensemble.get_params() if name.endswith("__trees")]
        ensemble.set_params(**dict.fromkeys(names, kind))

    def _fit_teacher(self):
        """Fit the teacher of the student to helpers and own trees, and freeze it."""
        own = list(self.treebank)
        of_own = self.treebank.list_weights() or [OF_OWN] * len(own)
        weights = [1.0] * len(self.helpers) + of_own
        teacher = self.student.teacher.fit([*self.helpers, *own], sample_weight=weights)
        self.student.teacher = FrozenEstimator(teacher)

    def _cross_validate(self, n_folds):
        """Compute the scores, with intervals, of models on trees that they did not learn from."""
        from sklearn_shag.inspection import assign_folds  # imports much that --cv alone needs

        trees = [tree for tree in self.treebank if tree.heads is not None]
        true, parsed = [], []
        for rest, held_out in assign_folds(trees, n_folds):
            transform, parser = open_member(clone(self.model).fit([trees[s] for s in rest]))
            part = [trees[s] for s in held_out]
            true, parsed = true + part, parsed + parser.parse(transform(part))
        return score_report(true, parsed).scores

    def _fit_model(self):
        """Fit the model, and the learner in it, in the way that holds the fewest trees."""
        model, learner, treebank = self.model, self.learner, self.treebank
        if self.recipe.continue_ is not None:
            trees = open_member(model).transform(list(treebank.read()))
            learner.fit(trees, sample_weight=treebank.list_weights()).set_params(warm_start=False)
        elif treebank.weights is not None:
            sentences = [*treebank, *self.raw]
            weights = treebank.list_weights() + [1.0] * len(self.raw)
            model.fit(sentences, **{weight_name(model): weights})
        elif self.recipe.tags is None and hasattr(learner, "_fit_parts"):
            _fit_on_counts(model, treebank)
        elif model is learner:  # no list of trees: it keeps encoded ones
            model.fit(iter(treebank) if treebank.kept else treebank.read())
        else:
            model.fit([*treebank, *self.raw])

    def print_kind(self):
        """Print the share of arcs that are not projective, if any, and the trees of sums."""
        seen = self.treebank.seen
        if not seen["nonprojective"]:
            return
        parser = open_member(self.model).parser
        share = seen["nonprojective"] / seen["arcs"]
        about = tell_trees(parser.trees_, share, getattr(parser, "trees_scores_", self._tried))
        if "trees" not in parser.get_params(deep=False):
            about = about.replace("sums are", f"sums of {type(parser).__name__} are always")
        print(about, file=self.told)

    def print_scores(self):
        """Print scores on the sentences of each treebank that were set aside, and on its test set.

        Return those of the model, for its card.
        """
        models, rows = self._list_models(), []
        for kind, place, trees in self.treebank.list_held_out():
            number, n_right = f"{len(trees)} sentences {kind}", {}
            for name, model in models.items():
                n_right[name], scores = _score_model(name, model, trees)
                for of, found in scores.items():
                    shown = [f"{key.upper()} {100 * score:.1f}" for key, score in found.items()]
                    title = f"{of}: {', '.join(shown)}".ljust(38)
                    print(f"{title}({number} {printable(place)})", file=self.told)
                    if model is self.model:
                        rows.append({"of": of, "on": f"{number} {os.path.basename(place)}"} | found)
            if self._simple in models:
                self._gains.extend(np.subtract(n_right["student"], n_right[self._simple]))
        return rows

    def _list_models(self):
        """List the models to score by name: a student with its teacher and the simple network.

        That has learned without raw text, or from own trees alone.
        """
        student = self.student
        if not isinstance(student, DistilledParser):
            return {"model": self.model}
        models = {"student": self.model, "teacher": student.teacher_}
        if not isinstance(student.teacher, FrozenEstimator):
            models[NO_RAW_TEXT] = student.teacher_.estimators_[0]
        elif self.helpers and any(self.treebank.set_aside):
            own = list(self.treebank)
            tags = [name for name in list_known_columns(own) if name in student.parser.tags]
            alone = clone(student.parser).set_params(tags=tags or None, calibrate=False)
            models[NO_HELPERS] = alone.fit(own)
        return models

    def warn_of_harm(self):
        """Warn if a student is worse than a simple network, or if helpers could not be checked."""
        kind, gains = self._simple, self._gains
        what = f"on the sentences that were set aside, a network {kind} is better. {REMEDIES[kind]}"
        if self.helpers and len(gains) < FEWEST_SENTENCES:
            what = (
                f"fewer than {FEWEST_SENTENCES} own trees were set aside, so nothing could be "
                f"checked"
            )
        elif np.sum(gains) >= -STANDARD_ERRORS[kind] * np.linalg.norm(gains):
            return
        if self.helpers:
            count_pieces = self.recipe.open_context().pieces_per_word
            n_own = count_pieces([*self.treebank, *self.raw])
            n_other = count_pieces(self.helpers)
            what += (
                f". The transformer cuts a word into {n_own:.1f} pieces, and one of the helpers "
                f"into {n_other:.1f}; many more are a sign that it does not know the language"
            )
        warn(what, UserWarning)

    def describe(self):
        """Describe the learner, and the amount of its material."""
        n_files, n_helpers, n_raw = len(self.treebank.files), len(self.helpers), len(self.raw)
        several = f" in {n_files} files" if n_files > 1 else ""
        if n_helpers:
            several += f", {n_helpers} of helpers"
        if n_raw:
            several += f" and {n_raw} of raw text ({sum(map(len, self.raw))} words)"
        n_relations = len(getattr(open_member(self.model).parser, "labels_", ()))
        count, _ = self.treebank.count_learned(self.learner)
        return (
            f"{type(self.learner).__name__} from {count} sentences{several} with "
            f"{self.treebank.seen['tokens']} words and {n_relations} relations"
        )

    def tell_left_out(self):
        """Tell in a sentence why sentences were left out; nothing if none were."""
        count, reasons = self.treebank.count_learned(self.learner)
        return f" It learned from {count} sentences: {', '.join(reasons)}." if reasons else ""

    def tell_input(self):
        """Describe the input that the model can parse."""
        if find_splitter(self.model) is not None:
            return "raw text"
        params = self.model.get_params().items()
        if any(value for name, value in params if name.split("__")[-1] == "tags"):
            return "words without tags"
        return "words with the columns that it learned from"


def _score_model(name, model, trees):
    """Parse trees; return the number of right heads of each, and scores by name.

    A model of text has those from text, too.
    """
    transform, parser = open_member(model)
    parsed = parser.parse(transform(trees))
    n_right = [sum(a.heads == b.heads) for a, b in zip(trees, parsed, strict=True)]
    found = score_report(trees, parsed, n_resamples=1).scores
    scores = {name: {key: found[key].score for key in SHOWN_SCORES if key in found}}
    if find_splitter(model) is not None:
        with warnings.catch_warnings(action="ignore"):  # tokens may be split badly
            found = raw_text_scores(trees, model.parse_text(to_text(trees)[0]))
        scores[f"{name}, from text"] = {key: found[key.upper()].f1 for key in SHOWN_SCORES}
    return n_right, scores


def _fit_on_counts(model, trees):
    """Fit a pipeline whose learner learns from counts, with a part of the trees in memory."""
    feature, learner = model[0].fit(trees), model[-1]

    def transform(part):
        # A part may have more rare symbols than all trees.
        with warnings.catch_warnings(action="ignore", category=UnknownSymbolWarning):
            return feature.transform(part)

    learner._fit_parts(map(transform, in_chunks(trees, COUNTED_CHUNK)))

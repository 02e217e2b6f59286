"""The command `train`, and the trees of its files."""

import os
import re
import sys
import unicodedata
import warnings
from argparse import Namespace
from collections import Counter
from itertools import chain, islice
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_shag.cli._evaluate import (
    LeftOut,
    find_invalid,
    find_lack,
    iter_sentences,
    name_impossible,
)
from sklearn_shag.cli._info import list_parts, make_card
from sklearn_shag.cli._models import (
    LEARNERS,
    check_output,
    choose_model,
    choose_verbosity,
    give_dictionary,
    give_vectors,
    load_learner,
    make_model,
    open_context,
)
from sklearn_shag.conditional import tell_trees
from sklearn_shag.ensembles import AveragedParser, DistilledParser
from sklearn_shag.metrics import raw_text_scores, score_report
from sklearn_shag.model_files import save_model
from sklearn_shag.network import LEARNED, list_known_columns
from sklearn_shag.treebank import (
    HORIZONTAL,
    UnknownSymbolWarning,
    forget_guesses,
    iter_horizontal,
    list_sources,
    nonprojective_arcs,
    read_conllu,
    to_text,
)
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._estimators import find_splitter, open_member, weight_name
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import STANDARD, expand_user
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import progress

# Trees counted at once by learners that need counts only, and trees kept in memory.
PART, KEPT = 10_000, 20_000
# With several treebanks or raw text, each 20th sentence is set aside, with helpers each 10th.
EVERY, EVERY_OF_FEW = 20, 10
SHOWN = ("uas", "las")
CONLLU = re.compile(r"\.conllu(\.gz)?$")
OF_OWN = 5.0  # weight of an own tree for a teacher, if none is given; that of a helper is 1
LOOKED_AT = 1000  # lines of text without trees, for its script
NO_RAW_TEXT, NO_HELPERS = "without raw text", "without helpers"
REMEDIES = {
    NO_RAW_TEXT: "The raw text may be too far from the treebank; leave it out, or use other text",
    NO_HELPERS: "Leave out --helpers, or use a transformer that knows the language",
}
# Standard errors by which a simple network must be better for a warning; what helpers gain or lose
# is much more than chance, if there are at least FEWEST sentences.
SURE, FEWEST = {NO_RAW_TEXT: 2.0, NO_HELPERS: 0.0}, 5


def train(options):
    """Learn a model from treebanks and save it.

    Parameters
    ----------
    options : argparse.Namespace
        With `file`, `output`, `model`, `continue_`, `symbols`, `columns`, `tags`, `embeddings`,
        `context`, `context_for`, `raw_text`, `teacher`, `helpers`, `text`, `min_count`, `seed`,
        `max_iter`, `set`, pairs of a name and a value, `set_aside`, `cv`, `weight`, `note`,
        `on_error` and `n_jobs`.

    Raises
    ------
    ValueError
        If there is nothing to learn from, or the output is a terminal or one of the inputs.
    """
    began = perf_counter()
    if not options.file and not options.helpers:
        raise ValueError("Name a FILE of trees, or treebanks of other languages with --helpers.")
    if options.cv and (options.raw_text or options.helpers or options.weight or options.continue_):
        raise ValueError(
            "--cv is for trees alone: leave out --raw-text, --helpers, --weight and --continue."
        )
    treebank = _Treebank(options)
    of_helpers = (list_parts(name)[0] for name in options.helpers or [])
    files = list_sources([*treebank.files, *chain.from_iterable(of_helpers)])
    check_output(options.output, files)
    if options.output == STANDARD and getattr(sys.stdout, "isatty", bool)():
        raise ValueError("A model is not text for a terminal; name a file with -o, or redirect.")
    told = sys.stderr if options.output == STANDARD else sys.stdout
    _warn_of_test_files(treebank.files)
    if options.continue_ is not None:
        model, learner = load_learner(options)
    else:
        if options.model is None:
            options.model, why = choose_model(options)
            print(f"Taking --model {options.model}: {why}", file=told)
        if options.tags is None and (options.text or options.helpers):
            options.tags = ",".join(treebank.list_columns())
        model, learner = make_model(options)
    treebank.needs_heads = learner._needs_whole_trees is not None
    helpers = list(_read_helpers(options))
    raw = [] if options.raw_text is None else list(_read_raw(model, treebank, helpers, options))
    if options.continue_ is None:
        give_dictionary(model, options)
        give_vectors(model, options, chain(raw, treebank))  # the teacher's first sentences, too
    _set_verbosity(model, choose_verbosity())
    tried = _agree_on_trees(model, treebank)
    if helpers:
        _fit_teacher(model, treebank, helpers)
    expected = _cross_validate(model, treebank, options.cv) if options.cv else {}
    _fit_model(model, learner, treebank, raw, options)
    _set_verbosity(model, 0)  # depends on this terminal, not on the model
    card = make_card(files, options, trees=treebank.n_sentences, tokens=treebank.n_tokens)
    if options.output != STANDARD:  # scores may take a while, and belong to the card
        save_model(model, options.output, card=card)
    _print_kind(open_member(model).parser, treebank, tried, told)
    gains, scores = _print_scores(model, treebank, helpers, told)
    if scores or options.output == STANDARD:
        save_model(model, options.output, card=card | {"scores": scores})
    _warn_of_harm(gains, chain(treebank, raw), helpers, options)
    several = f" in {len(treebank.files)} files" if len(treebank.files) > 1 else ""
    several += f", {len(helpers)} of helpers" if helpers else ""
    several += f" and {len(raw)} of raw text ({sum(map(len, raw))} words)" if raw else ""
    advice = "is above" if scores else "is not known: test it, or add --cv 5"
    for name in [name for name in SHOWN if name in expected]:
        score, low, high = (100 * value for value in expected[name])
        advice = f"is {name.upper()} {score:.1f} ({low:.1f} to {high:.1f})"
    n_relations = len(getattr(open_member(model).parser, "labels_", ()))
    print(
        f"Learned {type(learner).__name__} from {treebank.count_learned(learner)} sentences"
        f"{several} with {treebank.n_tokens} words and {n_relations} relations, in "
        f"{perf_counter() - began:.0f} s; saved to {printable(options.output)}. It parses "
        f"{_tell_input(model)}. Its expected score {advice}.",
        file=told,
    )


def _tell_input(model):
    """Describe the input that a model can parse."""
    if find_splitter(model) is not None:
        return "raw text"
    tags = [value for name, value in model.get_params().items() if name.split("__")[-1] == "tags"]
    return "words without tags" if any(tags) else "words with the columns that it learned from"


def _cross_validate(model, treebank, n_folds):
    """Compute the scores, with intervals, of models on trees that they did not learn from."""
    from sklearn_shag.inspection import assign_folds  # imports much that --cv alone needs

    trees = [tree for tree in treebank if tree.heads is not None]
    true, parsed = [], []
    for rest, held_out in assign_folds(trees, n_folds):
        transform, parser = open_member(clone(model).fit([trees[s] for s in rest]))
        part = [trees[s] for s in held_out]
        true, parsed = true + part, parsed + parser.parse(transform(part))
    return score_report(true, parsed).scores


def _set_verbosity(model, level):
    params = model.get_params().items()
    watched = [name for name, value in params if name.endswith("verbose") and value is not False]
    model.set_params(**dict.fromkeys(watched, level))


def _agree_on_trees(model, treebank):
    """Let the members of an ensemble sum over the trees that "auto" finds for the first.

    Return the scores of both kinds of trees, if these were tried.
    """
    student = _open_student(model)
    ensemble = getattr(student, "teacher", student)
    if not isinstance(ensemble, AveragedParser):
        return ()
    kind, scores = ensemble.trees, ()
    if kind == "auto":
        first = open_member(ensemble.estimators[0][1]).parser
        *_, kind, _, scores = first._prepare_trees(list(treebank), None, None)
    names = [name for name in ensemble.get_params() if name.endswith("__trees")]
    ensemble.set_params(**dict.fromkeys(names, kind))
    return scores


def _print_kind(parser, treebank, tried, told):
    """Print the share of arcs that are not projective, and the trees of the parser's sums."""
    if not treebank.n_arcs:
        return
    share = treebank.n_nonprojective / treebank.n_arcs
    tried = getattr(parser, "trees_scores_", tried)
    about = tell_trees(parser.trees_, share, tried)
    if "trees" not in parser.get_params(deep=False):
        about = about.replace("sums are", f"sums of {type(parser).__name__} are always")
    print(about, file=told)


def _open_student(model):
    return model[-1] if isinstance(model, Pipeline) else model


def _read_helpers(options):
    """Read the trees of other languages, without the subtypes of their relations."""
    settings = {"file": options.helpers or [], "weight": None, "raw_text": None, "set_aside": 0}
    for tree in _Treebank(Namespace(**vars(options) | settings)):
        if tree.heads is not None:
            names = tree.deprels and [name.partition(":")[0] for name in tree.deprels]
            yield tree.with_heads(tree.heads, names)


def _fit_teacher(model, treebank, helpers):
    """Fit the teacher of a student to helpers and own trees, and freeze it."""
    student, own = _open_student(model), list(treebank)
    weights = [1.0] * len(helpers) + (treebank.list_weights() or [OF_OWN] * len(own))
    student.teacher = FrozenEstimator(student.teacher.fit([*helpers, *own], sample_weight=weights))


def _fit_model(model, learner, treebank, raw, options):
    """Fit a model, and the learner in it, in the way that holds the fewest trees."""
    if options.continue_ is not None:
        trees = open_member(model).transform(list(treebank.read()))
        learner.fit(trees, sample_weight=treebank.list_weights()).set_params(warm_start=False)
    elif options.weight is None and options.tags is None and hasattr(learner, "_fit_parts"):
        _fit_on_counts(model, treebank)
    elif options.weight is None and model is learner:  # no list of trees: it keeps encoded ones
        model.fit(iter(treebank) if treebank.kept else treebank.read())
    else:
        sentences, weights = [*treebank, *raw], treebank.list_weights()
        weights = weights and {weight_name(model): [*weights, *[1.0] * len(raw)]}
        model.fit(sentences, **(weights or {}))


def _read_raw(model, treebank, helpers, options):
    """Read raw text: CoNLL-U without its heads, tokens between spaces, or text.

    Text is for models with a splitter, which learns first and is then frozen.
    """
    splitter = find_splitter(model)
    if splitter is not None:
        splitter.fit(_list_split([*treebank], helpers, options) if helpers else [*treebank])
        model.steps[0] = "splitter", FrozenEstimator(splitter)
    for path in list_sources(options.raw_text, HORIZONTAL.suffix):
        if CONLLU.search(path):
            sentences, invalid = iter_sentences([path], options.on_error), LeftOut()
            for each in invalid.drop(sentences, find_invalid):
                yield each.tree.with_heads(None)
            invalid.tell([path])
        else:
            yield from iter_horizontal(path) if splitter is None else splitter.iter_split_text(path)


def _list_split(own, helpers, options):
    """List the sentences that a splitter learns from: own ones, and helpers in the same script.

    Helpers with a token of several words are left out, since each language has its own ones.
    """
    plain = [tree for tree in helpers if not tree.multiword_tokens]
    files = list_sources(options.raw_text, HORIZONTAL.suffix)
    files = [path for path in files if path != STANDARD and not CONLLU.search(path)]
    seen = own or chain.from_iterable(islice(iter_horizontal(path), LOOKED_AT) for path in files)
    script = _find_script(seen)
    split = [tree for tree in plain if _find_script([tree]) == script]
    return [*split, *own] or plain or helpers


def _find_script(sentences):
    """Find the script of most letters, by the first word of their names, such as LATIN."""
    letters = chain.from_iterable(chain.from_iterable(tree.forms for tree in sentences))
    scripts = Counter()
    for letter, count in Counter(filter(str.isalpha, letters)).items():
        scripts[unicodedata.name(letter, "unknown").split()[0]] += count
    return max(scripts, key=scripts.get, default=None)


def _print_scores(model, treebank, helpers, told):
    """Print scores on the sentences of each treebank that were set aside, and on its test set.

    The teacher of a student is scored too, and a network that has learned without raw text, or
    from own trees alone. Return how many more heads of each sentence the student has right, and
    the scores for the card.
    """
    student = _open_student(model)
    models, gains, rows = {"model": model}, [], []
    if isinstance(student, DistilledParser):
        models = {"student": model, "teacher": student.teacher_}
        if not isinstance(student.teacher, FrozenEstimator):
            models |= {NO_RAW_TEXT: student.teacher_.estimators_[0]}
        elif helpers and any(treebank.set_aside):
            models |= {NO_HELPERS: _fit_alone(student.parser, list(treebank))}
    for words, place, trees in treebank.list_held_out():
        n_right, words = {}, f"{len(trees)} sentences {words}"
        for kind, each in models.items():
            transform, parser = open_member(each)
            parsed = parser.parse(transform(trees))
            n_right[kind] = [sum(a.heads == b.heads) for a, b in zip(trees, parsed, strict=True)]
            found = score_report(trees, parsed, n_resamples=1).scores
            scores = {kind: {key: found[key].score for key in SHOWN if key in found}}
            if each is model and find_splitter(model) is not None:
                with warnings.catch_warnings(action="ignore"):  # tokens may be split badly
                    found = raw_text_scores(trees, model.parse_text(to_text(trees)[0]))
                scores[f"{kind}, from text"] = {key: found[key.upper()].f1 for key in SHOWN}
            for name, of_kind in scores.items():
                shown = [f"{key.upper()} {100 * score:.1f}" for key, score in of_kind.items()]
                title = f"{name}: {', '.join(shown)}".ljust(38)
                print(f"{title}({words} {printable(place)})", file=told)
                about = {"of": name, "on": f"{words} {os.path.basename(place)}"}
                rows += [about | of_kind] if each is model else []
        if len(n_right) > 2:
            gains.extend(np.subtract(n_right["student"], [*n_right.values()][-1]))
    return gains, rows


def _fit_alone(student, trees):
    """Fit a copy of a student to trees, with the tags that they have."""
    known = [name for name in list_known_columns(trees) if name in student.tags]
    return clone(student).set_params(tags=known or None, calibrate=False).fit(trees)


def _warn_of_harm(gains, sentences, helpers, options):
    """Warn if a student is worse than a simple network, or if helpers could not be checked."""
    kind = NO_HELPERS if helpers else NO_RAW_TEXT
    what = f"on the sentences that were set aside, a network {kind} is better. {REMEDIES[kind]}"
    if helpers and len(gains) < FEWEST:
        what = f"fewer than {FEWEST} own trees were set aside, so nothing could be checked"
    elif np.sum(gains) >= -SURE[kind] * np.linalg.norm(gains):
        return
    if helpers:
        n_own, n_other = map(open_context(options).pieces_per_word, (list(sentences), helpers))
        what += f". The transformer cuts a word into {n_own:.1f} pieces, and one of the helpers "
        what += f"into {n_other:.1f}; many more are a sign that it does not know the language"
    warn(what, UserWarning)


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


class _Treebank:
    """The trees of files, checked for a learner; each loop over them reads the files again.

    A small treebank stays in memory instead, and so does a pipe, which can be read only once.
    """

    def __init__(self, options):
        self.names, self.weights, self.on_error = options.file, options.weight, options.on_error
        parts = [list_parts(name) for name in self.names]
        self.files_of, self.tests = [train for train, _ in parts], [test for _, test in parts]
        self.files = list(chain.from_iterable(self.files_of))
        if self.weights is not None and len(self.weights) != len(self.names):
            raise ValueError(
                f"--weight needs a number for each FILE, {len(self.names)}, got "
                f"{len(self.weights)}."
            )
        several = options.raw_text is not None or len(options.file) > 1
        every = EVERY_OF_FEW if options.helpers else EVERY if several else 0
        self.every = every if options.set_aside is None else options.set_aside
        self.needs_heads, self.n_sentences, self.kept = False, 0, []
        self.is_file = all(p != STANDARD and os.path.isfile(expand_user(p)) for p in self.files)

    def __iter__(self):
        if self.kept:
            yield from self.kept
            return
        for tree in self.read():
            self.kept.append(tree)
            if self.n_sentences > KEPT and self.is_file:
                self.kept = []
            yield tree

    def list_columns(self):
        """List the columns that can be learned and have values, by reading the trees once."""
        found = list_known_columns(self)
        if self.is_file:  # trees are checked when they are read again
            self.kept = []
        return found or LEARNED[:1]

    def read(self):
        """Read the files once, and yield their trees after checking them for the learner."""
        self.n_sentences = self.n_without = self.n_impossible = 0
        self.n_arcs = self.n_nonprojective = self.n_tokens = 0
        self.invalid, self.counts = LeftOut(), [0] * len(self.names)
        self.set_aside = [[] for _ in self.names]
        pairs = [(k, path) for k, paths in enumerate(self.files_of) for path in paths]
        with progress("Reading", len(self.files), "files", choose_verbosity()) as advance:
            for k, path in pairs:
                sentences = self.invalid.drop(iter_sentences([path], self.on_error), find_invalid)
                for n_read, sentence in enumerate(sentences):
                    sentence = sentence._replace(tree=forget_guesses(sentence.tree))
                    if sentence.tree is None:
                        continue
                    lack = find_lack(sentence)
                    if lack and self.needs_heads:
                        found = Counter(map(find_lack, chain([sentence], sentences)))
                        _refuse_file(path, found, n_read)
                    if self.every and lack is None and n_read % self.every == self.every - 1:
                        self.set_aside[k].append(sentence.tree)
                        continue
                    self.counts[k] += 1
                    self.n_sentences += 1
                    self.n_tokens += len(sentence.tree)
                    self.n_without += lack == "no heads"
                    if lack != "no heads":
                        self.n_arcs += int(np.count_nonzero(sentence.tree.heads > UNKNOWN))
                        self.n_nonprojective += len(nonprojective_arcs(sentence.tree))
                    self.n_impossible += bool(lack and name_impossible(sentence))
                    yield sentence.tree
                advance()
        if not self.files:  # there are helpers
            return
        self.invalid.tell(self.files)
        if self.n_without == self.n_sentences:
            _refuse_file(" and ".join(self.files), Counter({"no heads": self.n_without}), 0)

    def list_held_out(self):
        """List the trees set aside and the test sets, with words and the treebank's name before."""
        tests = [read_conllu(files) if files else [] for files in self.tests]
        kinds = {"set aside from": self.set_aside, "of the test set of": tests}
        pairs = [(words, zip(self.names, trees, strict=True)) for words, trees in kinds.items()]
        return [(words, *pair) for words, of_kind in pairs for pair in of_kind if pair[1]]

    def list_weights(self):
        """List the weight of each sentence of the last reading, or return None without weights."""
        return None if self.weights is None else np.repeat(self.weights, self.counts).tolist()

    def count_learned(self, learner):
        """Describe how many of the sentences, at the last reading, a fitted learner has used."""
        members = [learner, *getattr(learner, "estimators_", ())]
        left_out = [getattr(open_member(each).parser, "n_left_out_", 0) for each in members]
        n_read, n_known = self.invalid.n_read, self.n_sentences - self.n_without
        n_impossible = self.n_impossible if learner.trees_ == "projective" else 0
        n_learned = n_known - max(n_impossible, *left_out)
        return n_read if n_learned == n_read else f"{n_learned} of {n_read}"


def _refuse_file(path, found, n_whole):
    """Refuse a file by its numbers of whole trees and, by kind, of trees that lack heads."""
    lacking = next(kind for kind in ("no heads", "words without heads") if found[kind])
    advice = " to learn from. Leave them out, or use files with trees"
    if lacking != "no heads":
        others = [name for name, each in LEARNERS.items() if not each._needs_whole_trees]
        advice = (
            f", but this model learns from whole trees only. Leave them out, complete them with a "
            f"model of other files (parse --keep-heads), or choose --model {' or '.join(others)}"
        )
    n_sentences = n_whole + found.total()
    raise ValueError(f"{path}: {found[lacking]} of {n_sentences} sentences have {lacking}{advice}.")


def _fit_on_counts(model, trees):
    """Fit a pipeline whose learner learns from counts, with a part of the trees in memory."""
    feature, learner = model[0].fit(trees), model[-1]

    def transform(part):
        with warnings.catch_warnings():  # a part may have more rare symbols than all trees
            warnings.simplefilter("ignore", UnknownSymbolWarning)
            return feature.transform(part)

    learner._fit_parts(map(transform, in_chunks(trees, PART)))

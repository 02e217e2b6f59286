"""The commands `train` and `suggest`, and making and loading of models for all commands."""

import os
import re
import sys
import warnings
from collections import Counter
from itertools import chain

from sklearn.base import clone

from sklearn_shag._parser import Parser
from sklearn_shag.cli._evaluate import (
    LeftOut,
    describe_place,
    find_invalid,
    iter_sentences,
    print_json,
)
from sklearn_shag.cli._main import N_VECTORS
from sklearn_shag.conditional import CRFParser
from sklearn_shag.datasets import BUNDLED, load_parser
from sklearn_shag.ensembles import AveragedParser, ParserPipeline, make_parser_pipeline
from sklearn_shag.features import TransformerVectors, read_vectors
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.learning import EMSHAG, DeterministicSHAG, RefinedSHAG, SpectralSHAG
from sklearn_shag.lexical import LexicalizedSHAG
from sklearn_shag.model_files import load_model, save_model
from sklearn_shag.network import LEARNED, BiaffineParser, Splitter, Tagger, list_known_columns
from sklearn_shag.parsing import has_projective_completion
from sklearn_shag.treebank import MISSING, TokenFeature, UnknownSymbolWarning, list_sources
from sklearn_shag.utils._arrays import in_chunks, rows_of
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import STANDARD, check_target, expand_user, write_text
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import progress

# Trees counted at once by learners that need counts only, and trees kept in memory.
PART, KEPT = 10_000, 20_000
CHUNK = 1000  # sentences that `suggest` holds at once
# Models of columns see more than symbols.
OF_COLUMNS = ("crf", "biaffine", "ensemble")
LEARNERS = {
    "spectral": SpectralSHAG(),
    "em": EMSHAG(init="moments", max_iter=100),
    "refined": RefinedSHAG(),
    "single": DeterministicSHAG("single"),
    "first": DeterministicSHAG("first"),
    "sibling": DeterministicSHAG("sibling"),
    "words": LexicalizedSHAG(),
    "crf": CRFParser(),
    "biaffine": BiaffineParser(),
}
# Options of new models, which --continue refuses.
OF_NEW = (
    "model",
    "symbols",
    "columns",
    "tags",
    "embeddings",
    "context_for",
    "min_count",
    "text",
    "pattern",
)
N_NETWORKS = 3  # of an ensemble, beside a linear model


def _choose_model(options):
    """Choose the kind of model by the options alone, and give the reason.

    `doc/guide/comparison.rst` has the figures.
    """
    if options.symbols is not None:
        return "spectral", "the fastest one that reads symbols"
    network, grammar = (LEARNERS[name].get_params() for name in ("biaffine", "spectral"))
    own = [name for name, _ in options.set if name in grammar.keys() - network.keys()]
    if own:
        return "spectral", f"it has the parameter {own[0]}"
    return "ensemble", "the most accurate one; biaffine learns in a third of the time"


def _make_model(options):
    """Make a model that is not fitted, and return it with the learner in it."""
    if options.symbols is not None and (options.tags is not None or options.model in OF_COLUMNS):
        raise ValueError(
            f"--symbols {options.symbols} is for models that read tags as symbols; leave it out "
            f"with --tags, and use --columns for {' and '.join(OF_COLUMNS)}."
        )
    learned = [] if options.tags is None else options.tags.split(",")
    if not set(learned) <= set(LEARNED) or len(set(learned)) < len(learned):
        raise ValueError(
            f"--tags {options.tags} must name columns, none twice: {', '.join(LEARNED)}."
        )
    if options.model == "ensemble":
        networks = [
            (f"network{k}", _make_part("biaffine", options, options.seed + k)[0])
            for k in range(N_NETWORKS)
        ]
        linear = "linear", _make_part("crf", options, options.seed)[0]
        model = learner = AveragedParser([*networks, linear], n_jobs=options.n_jobs)
    else:
        model, learner = _make_part(options.model, options, options.seed)
    learner.set_params(**dict(options.set))
    learner._validate_params()  # before anything is read
    if options.pattern and not options.text:
        raise ValueError("--pattern is for models that split text; add --text.")
    if options.text:
        shared = {"random_state": options.seed, "n_jobs": options.n_jobs}
        splitter = Splitter(patterns=options.pattern or (), **shared)
        steps = model.steps if isinstance(model, ParserPipeline) else [("parser", model)]
        model = ParserPipeline([("splitter", splitter), *steps])
    return model, learner


def _give_vectors(model, options, treebank):
    """Set the parameters `embeddings` of a new model and its members, if vectors are wanted."""
    wanted = list_given(options, "embeddings", "context", "context_for")
    if not wanted:
        return
    names = [name for name in model.get_params() if name.split("__")[-1] == "embeddings"]
    if not names:
        raise ValueError(
            f"--{' and --'.join(wanted).replace('_', '-')}: vectors are for networks, --model "
            f"biaffine or ensemble, or with --tags for a tagger in front. --model {options.model} "
            f"reads none."
        )
    of_training = options.context_for == "training"
    if (options.context_for and not options.context) or (of_training and options.embeddings):
        raise ValueError(
            f"--context-for {options.context_for} needs a transformer, --context; for training it "
            f"gives vectors of words, so leave out --embeddings."
        )
    given = [] if options.context is None else [open_context(options)]
    if of_training:
        given = [given[0].to_table(list(treebank))]
    elif options.embeddings is not None:
        given.append(read_vectors(options.embeddings, limit=N_VECTORS))
    model.set_params(**dict.fromkeys(names, tuple(given) if len(given) > 1 else given[0]))


def list_given(options, *names):
    """Return a dict of the options in `names` that are given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def open_context(options):
    """Open the transformer that gives vectors in context, or return None if none is named."""
    if options.context is None:
        return None
    return TransformerVectors(options.context, n_jobs=options.n_jobs).fit()


def _make_part(name, options, seed):
    """Make a model of one kind, and return it with the learner in it."""
    counts = list_given(options, "min_count")
    n_jobs = None if options.model == "ensemble" else options.n_jobs  # its members are shared out
    learner = clone(LEARNERS[name]).set_params(n_jobs=n_jobs)
    tags = options.tags and (options.tags.split(",") if "," in options.tags else options.tags)
    given = list_given(options, "max_iter") | (counts if name in OF_COLUMNS else {})
    if "random_state" in learner.get_params():
        given["random_state"] = seed
    if options.columns not in (None, "auto"):
        given["columns"] = options.columns.split(",")
    elif options.tags is not None and name == "crf":  # columns of text without tags
        given["columns"] = [options.tags.partition(",")[0], "form", "suffix"]
    learner.set_params(**given)
    if options.tags is not None and name == "biaffine":
        return learner.set_params(tags=tags), learner
    if options.tags is not None:
        tagger = Tagger(tags, random_state=seed, n_jobs=n_jobs, **counts)
        return make_parser_pipeline(tagger, learner), learner
    if name in OF_COLUMNS:
        return learner, learner
    feature, *others = ("upos" if options.symbols is None else options.symbols).split(",")
    return make_parser_pipeline(TokenFeature(feature, others or None, **counts), learner), learner


def _load_model(options):
    """Load a model for further training, and return it with the learner in it."""
    wrong = [f"--{name.replace('_', '-')}" for name in list_given(options, *OF_NEW)]
    if wrong:
        raise ValueError(
            f"--continue goes on with a model as it is; leave out {' and '.join(wrong)}."
        )
    model = load_model(options.continue_, embeddings=open_context(options))
    learner = open_member(model).parser
    if "warm_start" not in learner.get_params(deep=False):
        raise ValueError(
            f"{options.continue_} holds {type(learner).__name__}, which cannot go on learning; "
            f"em, crf and biaffine can."
        )
    settings = {"warm_start": True, "n_jobs": options.n_jobs, "random_state": options.seed}
    settings |= list_given(options, "max_iter")
    learner.set_params(**settings, **dict(options.set))
    learner._validate_params()
    return model, learner


def train(options):
    """Learn a model from treebanks and save it.

    Parameters
    ----------
    options : argparse.Namespace
        With `file`, `output`, `model`, `continue_`, `symbols`, `columns`, `tags`, `embeddings`,
        `context`, `context_for`, `text`, `min_count`, `seed`, `max_iter`, `set`, pairs of a name
        and a value, `on_error` and `n_jobs`.

    Raises
    ------
    ValueError
        If there is nothing to learn from, or the output is a terminal or one of the inputs.
    """
    files = list_sources(options.file)
    check_output(options.output, files)
    if options.output == STANDARD and getattr(sys.stdout, "isatty", bool)():
        raise ValueError("A model is not text for a terminal; name a file with -o, or redirect.")
    _warn_of_test_files(files)
    told = sys.stderr if options.output == STANDARD else sys.stdout
    treebank = _Treebank(files, options.on_error)
    if options.continue_ is not None:
        model, learner = _load_model(options)
    else:
        if options.model is None:
            options.model, why = _choose_model(options)
            print(f"Taking --model {options.model}: {why}", file=told)
        if options.text and options.tags is None:
            options.tags = ",".join(treebank.list_columns())
        model, learner = _make_model(options)
    treebank.needs_heads = learner._needs_whole_trees is not None
    if options.continue_ is None:
        _give_vectors(model, options, treebank)
    params = model.get_params().items()
    watched = [name for name, value in params if name.endswith("verbose") and value is not False]
    model.set_params(**dict.fromkeys(watched, choose_verbosity()))
    if options.continue_ is not None:
        transform = open_member(model).transform
        learner.fit(transform(list(treebank.read()))).set_params(warm_start=False)
    elif options.tags is None and hasattr(learner, "_fit_parts"):
        _fit_on_counts(model, treebank)
    elif model is learner:  # no list of trees: it keeps encoded ones
        model.fit(treebank.read())
    else:
        model.fit(list(treebank))
    model.set_params(**dict.fromkeys(watched, 0))  # depends on this terminal, not on the model
    save_model(model, options.output)
    several = f" in {len(files)} files" if len(files) > 1 else ""
    print(
        f"Learned {printable(' '.join(str(learner).split()), 200)} from "
        f"{treebank.count_learned(learner)} sentences{several}; saved to "
        f"{printable(options.output)}",
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


def open_model(options, files):
    """Load the model of a command that parses files.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context` and `n_jobs`.
    files : list of str
        The files that the command reads next.

    Returns
    -------
    model : estimator
        With a parser in it.

    Raises
    ------
    ValueError
        If the file holds no parser, or standard input is wanted twice.
    """
    if [options.model, *files].count(STANDARD) > 1:
        raise ValueError("Standard input, '-', can be read only once: as model or as sentences.")
    if options.model in BUNDLED and not os.path.exists(options.model):
        if options.context is not None:
            raise ValueError(
                f"--context {options.context}: the model {options.model} reads no vectors in "
                f"context; leave them out."
            )
        model = load_parser(options.model)
    else:
        model = load_model(options.model, embeddings=open_context(options))
    parser = open_member(model).parser
    if not isinstance(parser, Parser):
        raise ValueError(
            f"{options.model} holds a {type(parser).__name__}, which cannot parse; give a model of "
            f"the command train."
        )
    parser.set_params(verbose=choose_verbosity(), **list_given(options, "n_jobs"))
    return model


def choose_verbosity():
    """Return 1 if standard error is a terminal, so that progress is shown there, or else 0."""
    return int(getattr(sys.stderr, "isatty", bool)())


class _Treebank:
    """The trees of files, checked for a learner; each loop over them reads the files again.

    A small treebank stays in memory instead, and so does a pipe, which can be read only once.
    """

    def __init__(self, files, on_error):
        self.files, self.on_error, self.needs_heads = files, on_error, False
        self.n_sentences, self.kept = 0, []
        self.is_file = all(p != STANDARD and os.path.isfile(expand_user(p)) for p in files)

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
        self.invalid = LeftOut()
        with progress("Reading", len(self.files), "files", choose_verbosity()) as advance:
            for path in self.files:
                sentences = self.invalid.drop(iter_sentences([path], self.on_error), find_invalid)
                for n_read, sentence in enumerate(sentences):
                    lack = _find_lack(sentence)
                    if lack and self.needs_heads:
                        found = Counter(map(_find_lack, chain([sentence], sentences)))
                        _refuse_file(path, found, n_read)
                    self.n_sentences += 1
                    self.n_without += lack == "no heads"
                    self.n_impossible += bool(lack and _name_impossible(sentence))
                    yield sentence.tree
                advance()
        self.invalid.tell(self.files)
        if self.n_without == self.n_sentences:
            _refuse_file(" and ".join(self.files), Counter({"no heads": self.n_without}), 0)

    def count_learned(self, learner):
        """Describe how many of the sentences, at the last reading, a fitted learner has used."""
        members = [learner, *getattr(learner, "estimators_", ())]
        left_out = [getattr(open_member(each).parser, "n_left_out_", 0) for each in members]
        n_read, n_known = self.invalid.n_read, self.n_sentences - self.n_without
        n_learned = n_known - max(self.n_impossible, *left_out)
        return n_read if n_learned == n_read else f"{n_learned} of {n_read}"


def _find_lack(sentence):
    """Describe the heads that a LocatedTree lacks, or return None if it is whole."""
    if sentence.tree.heads is None:
        return "no heads"
    return "words without heads" if UNKNOWN in sentence.tree.heads else None


def _name_impossible(sentence):
    """Name a sentence whose known heads no projective tree has; None if one completes them."""
    if _find_lack(sentence) != "words without heads":
        return None
    (possible,) = has_projective_completion([sentence.tree.heads])
    return None if possible else describe_place(sentence)


def _refuse_file(path, found, n_whole):
    """Refuse a file by its numbers of whole trees and, by kind, of trees that lack heads."""
    lacking = next(kind for kind in ("no heads", "words without heads") if found[kind])
    advice = " to learn from. Leave them out, or take files with trees"
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


def check_output(output, inputs):
    """Check that an output can be written, and is not the same file as an input."""
    check_target(output)
    output = expand_user(output)
    for path in map(expand_user, inputs):
        if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(
                f"The output {output} is the same file as the input {path}: refusing to overwrite "
                f"it; name another file with -o."
            )


def suggest(options):
    """Print the arcs or sentences that a model is least sure of.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `number`, `by`, `output`, `on_error`, `json` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, there are no sentences or no unknown heads, or all sentences
        are left out.
    """
    files = list_sources(options.file)
    if options.output is not None:
        if options.by == "arcs":
            raise ValueError("-o is for whole sentences with their trees; add --by sentences.")
        check_output(options.output, [options.model, *files])
    opened = open_member(open_model(options, files))
    doubt = {
        "arcs": lambda row: row[0]["margin"],
        "sentences": lambda row: -row[0]["error_rate"],
        "trees": lambda row: row[0]["tree_probability"],
    }[options.by]
    reason = ", since no projective tree with one root has their known heads"
    advice = " (correct them, or take a model of train --set decoder=mst, which lets arcs cross)"
    invalid, impossible = LeftOut(), LeftOut(reason + advice)
    sentences = invalid.drop(iter_sentences(files, options.on_error), find_invalid)
    find_fault = _name_impossible if opened.parser._projective else lambda sentence: None
    rows, part = [], []
    for part in in_chunks(impossible.drop(sentences, find_fault), CHUNK):
        if any(map(_find_lack, part)):
            rows = sorted([*rows, *_list_rows(options, opened, part)], key=doubt)[: options.number]
    invalid.tell(files)
    impossible.tell(files)
    rows = rows or _list_rows(options, opened, part)  # raises an error that no head is unknown
    rows, trees = zip(*rows, strict=True)
    if options.output is not None:
        with write_text(options.output) as write:
            for tree in opened.parser.parse(trees, keep_heads=True):
                write(tree.to_conllu().encode())
    if options.output == STANDARD:  # it holds the trees
        return
    if options.json:
        print_json({"files": files, "by": options.by, "suggestions": rows})
        return
    print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(map(_format_field, row.values())))


def _list_rows(options, opened, part):
    """Yield rows of the least certain arcs or sentences, each with its transformed sentence."""
    transform, parser = opened
    trees = transform([sentence.tree for sentence in part])
    if options.by == "arcs":
        found, describe = least_certain_arcs(parser, trees, n=options.number), _describe_arc
    else:
        by = "trees" if options.by == "trees" else "errors"
        found = least_certain_sentences(parser, trees, n=options.number, by=by)
        describe = _describe_sentence
    for s, *values in rows_of(found):
        path, number, tree = part[s]
        place = {"file": path, "sentence": number, "sent_id": tree.sent_id}
        yield place | describe(tree.forms, *values), trees[s]


def _describe_arc(forms, token, head, *values):
    head_form = forms[head - 1] if head else None
    row = {"token": token, "form": forms[token - 1], "head": head, "head_form": head_form}
    return row | dict(zip(("probability", "margin", "entropy"), values, strict=True))


def _describe_sentence(forms, *values):
    names = ("unknown_heads", "expected_errors", "error_rate", "tree_probability")
    return dict(zip(names, values, strict=True), text=" ".join(forms))


def _format_field(value):
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"  # trees are improbable
    return printable(value, max_length=None)

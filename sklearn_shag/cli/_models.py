"""Making, loading and checking of models, for all commands."""

import argparse
import os
import sys

from joblib import Memory
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag._parser import Parser
from sklearn_shag.cli._main import N_VECTORS
from sklearn_shag.conditional import CRFParser
from sklearn_shag.datasets import PARSERS, find_parser
from sklearn_shag.ensembles import (
    AveragedParser,
    DistilledParser,
    ParserPipeline,
    make_parser_pipeline,
)
from sklearn_shag.features import TransformerVectors, read_vectors
from sklearn_shag.learning import EMSHAG, DeterministicSHAG, RefinedSHAG, SpectralSHAG
from sklearn_shag.lexical import LexicalizedSHAG
from sklearn_shag.model_files import load_model
from sklearn_shag.network import LEARNED, BiaffineParser, Splitter, Tagger
from sklearn_shag.treebank import TokenFeature, read_dictionary
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._io import STANDARD, check_target, expand_user

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
    "dictionary",
    "raw_text",
    "teacher",
    "helpers",
    "min_count",
    "text",
    "pattern",
)
N_NETWORKS = 3  # of an ensemble, beside a linear model
VECTORS, LARGEST = "vectors", 2 * 2**30  # folder in the cache, and bytes of it that a run finds


def choose_model(options):
    """Choose the kind of model by the options alone, and give the reason.

    `doc/guide/comparison.rst` has the figures.
    """
    if options.raw_text is not None:
        return "biaffine", "a student is about as good as its teacher, and faster"
    if options.symbols is not None:
        return "spectral", "the fastest one that reads symbols"
    network, grammar = (LEARNERS[name].get_params() for name in ("biaffine", "spectral"))
    own = [name for name, _ in options.set if name in grammar.keys() - network.keys()]
    if own:
        return "spectral", f"it has the parameter {own[0]}"
    return "ensemble", "the most accurate one; biaffine learns in a third of the time"


def make_model(options):
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
    model, learner = _make_parser(options)
    learner.set_params(**dict(options.set))
    learner._validate_params()  # before anything is read
    if options.teacher is not None and options.raw_text is None:
        raise ValueError("--teacher is for learning from raw text; name some with --raw-text.")
    if options.helpers and (None in (options.context, options.raw_text) or options.teacher):
        raise ValueError(
            "--helpers needs --context, a transformer that knows the languages, and --raw-text, "
            "text of the language to parse; they make the teacher, so leave out --teacher."
        )
    if options.raw_text is not None:
        model = DistilledParser(model, _make_teacher(options))
    if options.pattern and not options.text:
        raise ValueError("--pattern is for models that split text; add --text.")
    if options.text:
        shared = {"random_state": options.seed, "n_jobs": options.n_jobs}
        splitter = Splitter(patterns=options.pattern or (), **shared)
        steps = model.steps if isinstance(model, ParserPipeline) else [("parser", model)]
        model = ParserPipeline([("splitter", splitter), *steps])
    return model, learner


def _make_parser(options):
    """Make a parser of the kind that is wanted, and return it with the learner in it."""
    if options.model != "ensemble":
        return _make_part(options.model, options, options.seed)
    networks = [
        (f"network{k}", _make_part("biaffine", options, options.seed + k)[0])
        for k in range(N_NETWORKS)
    ]
    linear = "linear", _make_part("crf", options, options.seed)[0]
    average = AveragedParser([*networks, linear], n_jobs=options.n_jobs)
    return average, average


def _make_teacher(options):
    """Load the teacher of a student, or make the model that is learned without raw text."""
    if options.model != "biaffine":
        raise ValueError(f"--raw-text is for --model biaffine; {options.model} learns from trees.")
    if options.teacher is not None:
        return FrozenEstimator(load_model(options.teacher, embeddings=open_context(options)))
    if options.helpers:  # words, letters and other columns of other languages would mislead it
        tags = ",".join(name for name in options.tags.split(",") if name in ("upos", "feats"))
        own = argparse.Namespace(**vars(options) | {"columns": "shape", "tags": tags or None})
        return _make_part("biaffine", own, options.seed)[0].set_params(calibrate=False)
    return _make_parser(argparse.Namespace(**{**vars(options), "model": "ensemble"}))[0]


def give_vectors(model, options, sentences):
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
    use = options.context_for or ("parsing" if options.raw_text is None else "training")
    makes_table = use == "training" and options.context is not None
    if (options.context_for and options.context is None) or (makes_table and options.embeddings):
        raise ValueError(
            f"--context-for {use} needs a transformer, --context; for training it gives vectors of "
            f"words, so leave out --embeddings."
        )
    given = [] if options.context is None else [open_context(options)]
    if options.embeddings is not None:
        given.append(read_vectors(options.embeddings, limit=N_VECTORS))
    of_all = tuple(given) if len(given) > 1 else given[0]
    table = given[0].to_table(list(sentences)) if makes_table else of_all
    of_teacher = [name for name in names if "teacher__" in name]
    model.set_params(**dict.fromkeys(names, table) | dict.fromkeys(of_teacher, of_all))


def give_dictionary(model, options):
    """Set the parameters `dictionary` of a new model and its members, if one is wanted."""
    if options.dictionary is None:
        return
    names = [name for name in model.get_params() if name.split("__")[-1] == "dictionary"]
    if not names or options.tags is None:
        raise ValueError("--dictionary is for models that learn tags; give --tags or --text, too.")
    model.set_params(**dict.fromkeys(names, read_dictionary(options.dictionary)))


def list_given(options, *names):
    """Return a dict of the options in `names` that are given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def open_context(options):
    """Open the transformer that gives vectors in context, or return None if none is named."""
    if options.context is None:
        return None
    vectors = TransformerVectors(options.context, n_jobs=options.n_jobs).fit()
    # Raw text is asked for twice, and helpers by many runs; what is parsed comes once.
    if getattr(options, "raw_text", None) is not None:
        from sklearn_shag.utils._kernel_cache import cache_folder, can_write  # imports numba

        if can_write(folder := cache_folder() / VECTORS):
            Memory(folder, verbose=0).reduce_size(bytes_limit=LARGEST)
            vectors.set_params(memory=str(folder))
    return vectors


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
        # Few folds are enough for a linear model beside networks.
        folds = {"cv": 3} if options.model == "ensemble" else {}
        tagger = Tagger(tags, random_state=seed, n_jobs=n_jobs, **folds, **counts)
        return make_parser_pipeline(tagger, learner), learner
    if name in OF_COLUMNS:
        return learner, learner
    feature, *others = ("upos" if options.symbols is None else options.symbols).split(",")
    return make_parser_pipeline(TokenFeature(feature, others or None, **counts), learner), learner


def load_learner(options):
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


def find_model(name):
    """Return the path of a model file, given by its path or by the name of a parser."""
    return find_parser(name) if name in PARSERS and not os.path.exists(name) else name


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
    words = None if options.dictionary is None else read_dictionary(options.dictionary)
    path = find_model(options.model)
    if path != options.model and options.context is not None:  # named parsers read none
        raise ValueError(
            f"--context {options.context}: the model {options.model} reads no vectors in context; "
            f"leave them out."
        )
    model = load_model(path, embeddings=open_context(options), dictionary=words)
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

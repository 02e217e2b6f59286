"""The command line: thin layers over the library."""

import argparse
import contextlib
import os
import re
import sys
import warnings

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_shag import __version__
from sklearn_shag._base import BaseSHAG
from sklearn_shag._cli_demo import demo
from sklearn_shag._cli_evaluate import evaluate
from sklearn_shag._deterministic import DeterministicSHAG
from sklearn_shag._em import EMSHAG
from sklearn_shag._persistence import load_model, save_model
from sklearn_shag._spectral import SpectralSHAG
from sklearn_shag.treebank import TokenFeature, list_sources, read_conllu, write_conllu
from sklearn_shag.utils._io import STANDARD, check_target, expand_user
from sklearn_shag.utils._progress import progress

__all__ = ["main"]

N_STATES = 8
EXAMPLES = {
    None: """\
examples:
  %(prog)s demo
  %(prog)s train train.conllu -o model.npz --n-states 8
  %(prog)s parse model.npz test.conllu -o parsed.conllu
  %(prog)s evaluate test.conllu parsed.conllu
""",
    "demo": """\
examples:
  %(prog)s
  %(prog)s --treebank UD_English-EWT --n-states 8
""",
    "train": """\
examples:
  %(prog)s train.conllu -o model.npz
  %(prog)s "UD_*/*train.conllu" -o model.npz --symbols upos,xpos
  %(prog)s train.conllu -o model.npz --model first
""",
    "parse": """\
examples:
  %(prog)s model.npz test.conllu -o parsed.conllu
  %(prog)s model.npz - < test.conllu > parsed.conllu
""",
    "evaluate": """\
examples:
  %(prog)s test.conllu parsed.conllu
  %(prog)s test.conllu parsed.conllu --ignore-punctuation --by modifier
  %(prog)s test.conllu parsed.conllu --json
""",
}


def main(argv=None, prog="sklearn-shag"):
    """Run the command line.

    Parameters
    ----------
    argv : None or list of str, default=None
        Arguments after the program's name; None takes those of the process.
    prog : str, default="sklearn-shag"
        The program's name in help and usage.

    Returns
    -------
    status : int
        0, or 1 after one line on standard error that says what is wrong. Wrong usage exits with 2,
        an interruption gives 130.
    """
    program = "sklearn_shag"
    try:
        try:
            options = _parser(prog).parse_args(argv)
            program = f"sklearn_shag {options.command}"
            with _short_warnings(program):
                options.run(options)
        finally:
            _flush_output()  # also of --help, which exits
    except BrokenPipeError:
        return 0  # the reader of the pipe has seen enough
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except (OSError, TypeError, ValueError, NotFittedError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror is not None:  # the system's, not ours
            message = f"{error.filename or 'standard input or output'}: {error.strerror}"
        print(f"{program}: error: {_one_line(message)}", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _short_warnings(program):
    """Show a warning as one line, without the place in the source, and equal ones once."""
    shown = set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = _one_line(message)
        if text not in shown:
            shown.add(text)
            print(f"{program}: warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _one_line(message):
    return " ".join(str(message).split())


def _flush_output():
    """Write what is buffered, or drop it, so that the interpreter has nothing to complain of."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _parser(prog):
    parser = _add_examples(
        argparse.ArgumentParser(
            prog=prog,
            description="Dependency parsing with split head-automata grammars.",
        ),
        None,
    )
    parser.add_argument("--version", action="version", version=f"sklearn_shag {__version__}")
    parser.set_defaults(program=prog)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    _add_demo(commands)
    _add_train(commands)
    _add_parse(commands)
    _add_evaluate(commands)
    return parser


def _add_demo(commands):
    parser = _command(commands, "demo", demo, "train four models, score them, draw a parsed tree")
    parser.add_argument(
        "--treebank",
        metavar="DIR",
        help="folder with *train*.conllu and *test*.conllu (default: the bundled treebank)",
    )
    _add_learning(parser, smoothing="5, for spectral and em")
    parser.set_defaults(n_states=N_STATES, smoothing=5.0)


def _add_train(commands):
    parser = _command(commands, "train", _train, "learn a model from CoNLL-U files")
    _add_files(parser, "file", "FILE", "the treebank", nargs="+")
    parser.add_argument(
        *("-o", "--output"),
        metavar="MODEL",
        required=True,
        help="model file to write, or - for standard output (required)",
    )
    parser.add_argument(
        "--model",
        choices=["spectral", "em", "single", "first", "sibling"],
        default="spectral",
        help="hidden states, from moments or by EM, or a deterministic automaton "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--symbols",
        default="upos",
        metavar="COLUMNS",
        help="columns that make up the symbols, such as upos,xpos (default: %(default)s)",
    )
    parser.add_argument(
        "--min-count",
        type=int,
        default=1,
        metavar="N",
        help="replace symbols seen less often by one rare symbol (default: %(default)s)",
    )
    _add_learning(parser, smoothing="that of the model")


def _add_parse(commands):
    parser = _command(commands, "parse", _parse, "parse CoNLL-U files")
    parser.add_argument(
        "model", metavar="MODEL", help="model file, of the command train, or - for standard input"
    )
    _add_files(parser, "file", "FILE", "sentences, whose heads are ignored", nargs="+")
    parser.add_argument(
        *("-o", "--output"),
        metavar="OUT",
        default=STANDARD,
        help="CoNLL-U to write, all files in one; .gz is compressed (default: standard output)",
    )
    parser.add_argument(
        "--decoder",
        choices=["mbr", "max_marginal", "viterbi"],
        help="tree with the largest sum of log marginals or of marginals, or, of deterministic "
        "automata only, the most probable one (default: that of the model)",
    )
    _add_n_jobs(parser)


def _add_evaluate(commands):
    parser = _command(commands, "evaluate", evaluate, "score parsed trees against true ones")
    _add_files(parser, "gold", "GOLD", "true trees")
    _add_files(parser, "system", "SYSTEM", "parsed trees of the same sentences")
    parser.add_argument(
        "--ignore-punctuation",
        action="store_true",
        help="leave out tokens with the tag PUNCT (default: they are scored)",
    )
    parser.add_argument(
        "--by",
        choices=["head", "modifier"],
        default="head",
        help="whose symbol is meant in the table of right heads (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object, with scores from 0 to 1 (default: a table in percent)",
    )


def _command(commands, name, run, description):
    sentence = f"{description[0].upper()}{description[1:]}."
    parser = commands.add_parser(name, help=description, description=sentence)
    parser.set_defaults(run=run)
    return _add_examples(parser, name)


def _add_examples(parser, name):
    parser.epilog = EXAMPLES[name]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _add_files(parser, name, metavar, what, **options):
    help = f"{what}: CoNLL-U, possibly .gz; a folder, a quoted pattern, or - for standard input"
    parser.add_argument(name, metavar=metavar, help=help, **options)


def _add_learning(parser, smoothing):
    parser.add_argument(
        "--n-states",
        type=int,
        metavar="N",
        help=f"hidden states, of spectral and em (default: {N_STATES})",
    )
    parser.add_argument(
        "--smoothing",
        type=float,
        metavar="S",
        help=f"pseudo-sequences of the pooled automaton (default: {smoothing})",
    )
    _add_n_jobs(parser)


def _add_n_jobs(parser):
    parser.add_argument(
        "--n-jobs", type=int, metavar="N", help="number of workers, -1 for all cores (default: 1)"
    )


def _make_learner(name, options):
    chosen = {} if options.smoothing is None else {"smoothing": options.smoothing}
    if name in ("single", "first", "sibling"):
        if options.n_states is not None:
            raise ValueError(
                f"--n-states {options.n_states} does not go with --model {name}, whose states "
                f"follow from the symbols; leave it out, or choose spectral or em."
            )
        return DeterministicSHAG(name, n_jobs=options.n_jobs, **chosen)
    chosen["n_states"] = N_STATES if options.n_states is None else options.n_states
    if name == "spectral":
        return SpectralSHAG(n_jobs=options.n_jobs, **chosen)
    return EMSHAG(init="moments", max_iter=100, n_jobs=options.n_jobs, **chosen)


def _train(options):
    files = list_sources(options.file)
    _check_output(options.output, files)
    if options.output == STANDARD and sys.stdout.isatty():
        raise ValueError("A model is no text for a terminal; name a file with -o, or redirect.")
    _warn_of_test_files(files)
    feature, *others = options.symbols.split(",")
    learner = _make_learner(options.model, options)
    features = TokenFeature(feature, others or None, min_count=options.min_count)
    trees = _read(files, with_heads=True)
    model = make_pipeline(features, learner.set_params(verbose=_verbosity())).fit(trees)
    learner.set_params(verbose=0)  # that of this terminal, and no part of the model
    save_model(model, options.output)
    several = f" in {len(files)} files" if len(files) > 1 else ""
    print(
        f"Learned {learner} from {len(trees)} sentences{several}; saved to {options.output}",
        file=sys.stderr if options.output == STANDARD else sys.stdout,
    )


def _warn_of_test_files(files):
    """A folder of Universal Dependencies holds its test set too."""
    test = [path for path in files if re.search(r"-ud-test\.conllu(\.gz)?$", path)]
    if test and len(files) > 1:
        warnings.warn(
            f"{test[0]} is among the {len(files)} files to learn from, so scores on it will be "
            f"too high; to learn from training sets alone, name them or a pattern such as "
            f"'*-ud-train.conllu'",
            UserWarning,
            stacklevel=2,
        )


def _parse(options):
    files = list_sources(options.file)
    _check_output(options.output, [options.model, *files])
    if [options.model, *files].count(STANDARD) > 1:
        raise ValueError("Standard input, '-', can be read only once: as model or as sentences.")
    model = load_model(options.model)
    parser = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(parser, BaseSHAG):
        raise ValueError(f"{options.model} holds a {type(parser).__name__}, which cannot parse.")
    if options.decoder is not None:
        parser.set_params(decoder=options.decoder)
    if options.n_jobs is not None:
        parser.set_params(n_jobs=options.n_jobs)
    parser.set_params(verbose=_verbosity())
    trees = _read(files)
    parsed = [
        tree.with_heads(heads) for tree, heads in zip(trees, model.predict(trees), strict=True)
    ]
    write_conllu(parsed, options.output)


def _verbosity():
    """Show on a terminal, and nowhere else, how far what takes long is."""
    return int(sys.stderr.isatty())


def _read(files, with_heads=False):
    trees = []
    with progress("Reading", len(files), "files", _verbosity()) as advance:
        for path in files:
            read = read_conllu(path)
            n_bare = sum(tree.heads is None for tree in read)
            if with_heads and n_bare:
                raise ValueError(
                    f"{path}: {n_bare} of {len(read)} sentences have no heads, from which to "
                    f"learn. Leave them out, or take files with trees."
                )
            trees += read
            advance()
    if not trees:
        raise ValueError(f"There are no sentences in {', '.join(files)}.")
    return trees


def _check_output(output, inputs):
    """Refuse, before any work, what cannot be written or would be written over an input."""
    check_target(output)
    output = expand_user(output)
    for path in map(expand_user, inputs):
        if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(
                f"The output {output} is the same file as the input {path}, which is not written "
                f"over; name another file with -o."
            )

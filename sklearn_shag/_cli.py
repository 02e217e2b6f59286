"""The command line: thin layers over the library."""

import argparse
import os
import sys
import time
from pathlib import Path

from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_shag import __version__
from sklearn_shag._base import BaseSHAG
from sklearn_shag._deterministic import DeterministicSHAG
from sklearn_shag._em import EMSHAG
from sklearn_shag._persistence import load_model, save_model
from sklearn_shag._spectral import SpectralSHAG
from sklearn_shag.datasets import load_english
from sklearn_shag.metrics import exact_match_score, is_punctuation, unlabeled_attachment_score
from sklearn_shag.treebank import TokenFeature, read_conllu, write_conllu

__all__ = ["main"]

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
  %(prog)s train.conllu -o model.npz --symbols upos,xpos --smoothing 5
  %(prog)s train.conllu -o model.npz --model first
""",
    "parse": """\
examples:
  %(prog)s model.npz test.conllu -o parsed.conllu
  %(prog)s model.npz test.conllu.gz > parsed.conllu
""",
    "evaluate": """\
examples:
  %(prog)s test.conllu parsed.conllu
  %(prog)s test.conllu parsed.conllu --ignore-punctuation
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
        0, or 1 after one line on standard error that says what is wrong. Wrong usage exits with 2.
    """
    command = ""
    try:
        try:
            options = _parser(prog).parse_args(argv)
            command = f" {options.command}"
            options.run(options)
        finally:
            _flush_output()  # also of --help, which exits
    except BrokenPipeError:
        return 0  # the reader of the pipe has seen enough
    except (OSError, TypeError, ValueError, NotFittedError) as error:
        message = " ".join(str(error).split())
        print(f"sklearn_shag{command}: error: {message}", file=sys.stderr)
        return 1
    return 0


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
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = _command(commands, "demo", _demo, "train three models, score them, draw a parsed tree")
    demo.add_argument(
        "--treebank",
        type=Path,
        metavar="DIR",
        help="folder with *train*.conllu and *test*.conllu (default: the bundled treebank)",
    )
    _add_learning(demo)

    train = _command(commands, "train", _train, "learn a model from a CoNLL-U file")
    train.add_argument("file", metavar="FILE", help="CoNLL-U, possibly .gz")
    train.add_argument("-o", "--output", metavar="MODEL", required=True, help="model file to write")
    train.add_argument(
        "--model",
        choices=["spectral", "em", "single", "first", "sibling"],
        default="spectral",
        help="hidden states, from moments or by EM, or a deterministic automaton "
        "(default: %(default)s)",
    )
    train.add_argument(
        "--symbols",
        default="upos",
        metavar="COLUMNS",
        help="columns that make up the symbols, such as upos,xpos (default: %(default)s)",
    )
    train.add_argument(
        "--min-count",
        type=int,
        default=1,
        metavar="N",
        help="replace symbols seen less often by one rare symbol (default: %(default)s)",
    )
    _add_learning(train)

    parse = _command(commands, "parse", _parse, "parse a CoNLL-U file")
    parse.add_argument("model", metavar="MODEL", help="model file")
    parse.add_argument("file", metavar="FILE", help="CoNLL-U, possibly .gz; heads are ignored")
    parse.add_argument("-o", "--output", metavar="OUT", help="file to write (default: print)")
    parse.add_argument("--decoder", choices=["mbr", "max_marginal", "viterbi"])
    parse.add_argument("--n-jobs", type=int, metavar="N", help="number of workers")

    evaluate = _command(commands, "evaluate", _evaluate, "score parsed trees against true ones")
    evaluate.add_argument("gold", metavar="GOLD", help="CoNLL-U with the true heads")
    evaluate.add_argument("system", metavar="SYSTEM", help="CoNLL-U with the predicted heads")
    evaluate.add_argument("--ignore-punctuation", action="store_true")
    return parser


def _command(commands, name, run, description):
    sentence = f"{description[0].upper()}{description[1:]}."
    parser = commands.add_parser(name, help=description, description=sentence)
    parser.set_defaults(run=run)
    return _add_examples(parser, name)


def _add_examples(parser, name):
    parser.epilog = EXAMPLES[name]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return parser


def _add_learning(parser):
    parser.add_argument(
        "--n-states", type=int, default=8, metavar="N", help="hidden states (default: %(default)s)"
    )
    parser.add_argument(
        "--smoothing",
        type=float,
        metavar="S",
        help="pseudo-sequences of the pooled automaton (default: that of the model)",
    )
    parser.add_argument("--n-jobs", type=int, metavar="N", help="number of workers")


def _demo(options):
    if options.treebank is None:
        print("Treebank: the bundled English sentences, a quarter of them for testing")
        train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
    else:
        print(f"Treebank: {options.treebank}")
        train = _read_split(options.treebank, "train")
        test = _read_split(options.treebank, "test")
    print(f"{len(train)} sentences to learn from, {len(test)} to parse\n")
    models = {
        "DET": DeterministicSHAG("single", n_jobs=options.n_jobs),
        "DET+F": DeterministicSHAG("first", n_jobs=options.n_jobs),
        f"SPECTRAL, {options.n_states} states": _learner("spectral", options),
    }
    started = time.perf_counter()
    for model in models.values():  # automata with one state have kernels of their own
        model.fit(train[:1]).predict(test[:1])
    print(f"Compiling, or loading what was compiled: {time.perf_counter() - started:.1f} s\n")
    print(f"{'model':<22}{'UAS':>8}{'exact':>8}{'training':>12}{'parsing':>12}")
    for name, model in models.items():
        started = time.perf_counter()
        model.fit(train)
        trained = time.perf_counter()
        heads = model.predict(test)
        parsed = time.perf_counter()
        score = 100 * unlabeled_attachment_score(test, heads)
        exact = 100 * exact_match_score(test, heads)
        print(
            f"{name:<22}{score:>7.1f}%{exact:>7.1f}%{trained - started:>10.2f} s"
            f"{parsed - trained:>10.2f} s"
        )
    # The sentence to draw: of readable length, and the same whatever the models think of it.
    chosen = min(test, key=lambda tree: abs(len(tree) - 12))
    print(f"\n{' '.join(chosen.forms)}\n\nparsed by {name}:\n")
    print(model.parse([chosen])[0])


def _learner(name, options):
    chosen = {} if options.smoothing is None else {"smoothing": options.smoothing}
    if name == "spectral":
        return SpectralSHAG(options.n_states, n_jobs=options.n_jobs, **chosen)
    if name == "em":
        return EMSHAG(
            options.n_states, init="moments", max_iter=100, n_jobs=options.n_jobs, **chosen
        )
    return DeterministicSHAG(name, n_jobs=options.n_jobs, **chosen)


def _read_split(folder, split):
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    files = sorted(path for path in folder.glob("*.conllu*") if split in path.name)
    if not files:
        raise FileNotFoundError(f"No file *{split}*.conllu in the folder {folder}.")
    return [tree for path in files for tree in read_conllu(path)]


def _train(options):
    feature, *others = options.symbols.split(",")
    learner = _learner(options.model, options)
    features = TokenFeature(feature, others or None, min_count=options.min_count)
    trees = read_conllu(options.file)
    model = make_pipeline(features, learner).fit(trees)
    save_model(model, options.output)
    print(f"Learned {learner} from {len(trees)} sentences; saved to {options.output}")


def _parse(options):
    model = load_model(options.model)
    parser = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(parser, BaseSHAG):
        raise ValueError(f"{options.model} holds a {type(parser).__name__}, which cannot parse.")
    if options.decoder is not None:
        parser.set_params(decoder=options.decoder)
    if options.n_jobs is not None:
        parser.set_params(n_jobs=options.n_jobs)
    trees = read_conllu(options.file)
    parsed = [
        tree.with_heads(heads) for tree, heads in zip(trees, model.predict(trees), strict=True)
    ]
    if options.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # the format's, not the terminal's
    write_conllu(parsed, sys.stdout if options.output is None else options.output)


def _evaluate(options):
    gold, system = read_conllu(options.gold), read_conllu(options.system)
    if [tree.forms for tree in gold] != [tree.forms for tree in system]:
        raise ValueError(f"{options.gold} and {options.system} do not hold the same sentences.")
    ignore = is_punctuation if options.ignore_punctuation else None
    uas = unlabeled_attachment_score(gold, system, ignore=ignore)
    exact = exact_match_score(gold, system, ignore=ignore)
    print(f"{len(gold)} sentences, {sum(map(len, gold))} tokens")
    print(f"UAS         {100 * uas:6.2f}")
    print(f"exact match {100 * exact:6.2f}")

"""The command line: thin layers over the library."""

import argparse
import ast
import atexit
import contextlib
import gc
import os
import sys
import textwrap
import warnings
from importlib import import_module

from sklearn_shag import __version__
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import printable

# Of a file of vectors: the most frequent words come first, and models hold all that are read.
N_VECTORS = 200_000


def main(argv=None, prog="sklearn-shag"):
    """Run the command line.

    Parameters
    ----------
    argv : None or list of str, default=None
        Arguments after the program's name; None takes those of the process.
    prog : str, default="sklearn-shag"
        The program's name in help, usage and messages.

    Returns
    -------
    status : int
        0, or 1 after one line on standard error that says what is wrong. Wrong usage exits with 2,
        an interruption gives 130.
    """
    program = prog
    try:
        try:
            options = _parser(prog).parse_args(argv)
            program = f"{prog} {options.command}"
            with _few_collections(), _short_warnings(program):
                # Numerical libraries are imported here, and not for --help or a wrong option.
                module = import_module(f"sklearn_shag.{options.module}")
                getattr(module, options.command)(options)
        finally:
            _flush_output()  # also of --help, which exits
    except BrokenPipeError:
        return 0  # the reader of the pipe has seen enough
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(f"{program}: error: out of memory. {_one_line(error)}".rstrip(" ."), file=sys.stderr)
        return 1
    except (OSError, TypeError, ValueError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror is not None:  # the system's, not ours
            message = f"{error.filename or 'standard input or output'}: {error.strerror}"
        print(f"{program}: error: {_one_line(message)}", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _few_collections():
    """Look seldom for garbage in cycles: imports and trees, which stay to the end, make none.

    Else a quarter of the time of a short command goes into that.
    """
    atexit.register(gc.freeze)  # what is left when the process ends is not searched once more
    thresholds = gc.get_threshold()
    gc.set_threshold(1_000_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


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
    return printable(" ".join(str(message).split()))


def _flush_output():
    """Write what is buffered, or drop it, so that the interpreter has nothing to complain of."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


class _ArgumentParser(argparse.ArgumentParser):
    """Its errors show arguments as they are, which may be meant for the terminal."""

    def error(self, message):
        super().error(printable(message))


def _parser(prog):
    """Dependency parsing with split head-automata grammars.

    exit status:
      0 if all went well, 1 if something could not be read, learned or written, 2 for wrong options,
      130 after an interruption

    examples:
      %(prog)s demo
      %(prog)s train train.conllu -o model.npz
      %(prog)s parse model.npz test.conllu -o parsed.conllu
      %(prog)s evaluate test.conllu parsed.conllu
    """
    parser = _ArgumentParser(prog=prog, **_help(_parser))
    parser.add_argument("--version", action="version", version=f"sklearn_shag {__version__}")
    parser.set_defaults(program=prog)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    for add in (_add_demo, _add_train, _add_parse, _add_suggest, _add_evaluate):
        add(commands)
    return parser


def _add_demo(commands):
    """Train four models, score them, draw a parsed tree; or parse a sentence and draw its tree.

    examples:
      %(prog)s
      %(prog)s "The cat that you saw sat on my mat."
      %(prog)s --treebank UD_English-EWT
    """
    parser = _command(commands, "demo", "cli._demo", _add_demo)
    help = "English text to parse with the bundled parser (default: four models are trained)"
    parser.add_argument("text", metavar="TEXT", nargs="?", help=help)
    help = "folder with *train*.conllu and *test*.conllu (default: the bundled treebank)"
    parser.add_argument("--treebank", metavar="DIR", help=help)
    _add_n_jobs(parser)


def _add_train(commands):
    """Learn a model from CoNLL-U files.

    examples:
      %(prog)s train.conllu -o model.npz
      %(prog)s train.conllu -o model.npz --tags upos
      %(prog)s train.conllu -o model.npz --tags upos,xpos,feats,lemma
      %(prog)s train.conllu -o model.npz --text
      %(prog)s "UD_*/*train.conllu" -o model.npz --symbols upos,xpos
      %(prog)s train.conllu -o model.npz --model spectral --set n_states=6 --set smoothing=5
      %(prog)s more.conllu -o better.npz --continue linear.npz --max-iter 3
    """
    parser = _command(commands, "train", "cli._models", _add_train)
    _add_files(parser, "file", "the treebank", nargs="+")
    help = "model file to write, or - for standard output (required)"
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help=help)
    names = ["spectral", "em", "refined", "single", "first", "sibling", "words", "crf", "biaffine"]
    help = """hidden states, from moments or by EM, or of relations too, a deterministic automaton,
    words (of the column form) beside the symbols, a linear model of whole columns, a network, or
    the average of three networks and a linear model, the most accurate one (default: ensemble; of
    --symbols spectral)"""
    parser.add_argument("--model", choices=[*names, "ensemble"], help=help)
    help = """go on with the training of an em, crf or biaffine model, with more trees for example
    (default: a new model)"""
    parser.add_argument("--continue", dest="continue_", metavar="MODEL", help=help)
    help = """columns that make up the symbols, such as upos,xpos; not of crf, biaffine and ensemble
    (default: upos)"""
    parser.add_argument("--symbols", metavar="COLUMNS", help=help)
    help = """columns that crf, biaffine and ensemble read, such as upos,form,suffix
    (default: all with values)"""
    parser.add_argument("--columns", metavar="COLUMNS", help=help)
    help = """columns to be learned from words alone, such as upos or upos,xpos,feats,lemma, so that
    the model parses text without any: by networks, for others by a tagger in front of them
    (default: tags are read)"""
    parser.add_argument("--tags", metavar="COLUMNS", help=help)
    help = """learn to split text too, so that the model parses text as it is: parse --input text
    (default: sentences and words are read; with it --tags are all columns that have values)"""
    parser.add_argument("--text", action="store_true", default=None, help=help)
    help = f"""vectors of words for networks and taggers: a file of text, possibly .gz, as word2vec,
    fastText and GloVe write it, of which the first {N_VECTORS:,} are read (default: none)"""
    parser.add_argument("--embeddings", metavar="FILE", help=help)
    _add_context(parser)
    help = """replace symbols, or the words that crf, biaffine and taggers read, that were seen less
    often by one rare symbol (default: 1, of words 2)"""
    parser.add_argument("--min-count", type=int, metavar="N", help=help)
    help = "what is drawn at random in training depends on it (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=help)
    help = """how often models that learn in passes go over the trees
    (default: that of the library, of em 100)"""
    parser.add_argument("--max-iter", type=_count, metavar="N", help=help)
    help = """a parameter of the learner as the library names it, such as n_states=6, as often as
    wanted (default: those of the library)"""
    several = {"action": "append", "type": _setting, "default": []}
    parser.add_argument("--set", metavar="NAME=VALUE", help=help, **several)
    _add_n_jobs(parser)


def _add_parse(commands):
    """Parse CoNLL-U files, tokens alone, or text.

    examples:
      %(prog)s model.npz test.conllu -o parsed.conllu
      %(prog)s model.npz - < test.conllu > parsed.conllu
      %(prog)s model.npz partial.conllu -o completed.conllu --keep-heads
      %(prog)s model.npz test.conllu -o parsed.conllu --confidence
      %(prog)s english test.conllu -o parsed.conllu --k-best 5
      %(prog)s model.npz test.conllu.gz -o parsed.conllu.gz --n-jobs 2 --on-error skip
      %(prog)s tagging.npz tokens.txt -o parsed.conllu --input horizontal
      %(prog)s english text.txt -o parsed.conllu --input text
    """
    parser = _command(commands, "parse", "cli._parse", _add_parse)
    _add_model(parser)
    _add_files(parser, "file", "sentences", nargs="+")
    help = """CoNLL-U; a sentence a line with spaces between its tokens, for models that need no
    tags; or text as it is, for models of train --text (default: %(default)s)"""
    forms = ["conllu", "horizontal", "text"]
    parser.add_argument("--input", choices=forms, default="conllu", help=help)
    help = "CoNLL-U to write, all files in one; .gz is compressed (default: standard output)"
    parser.add_argument("-o", "--output", metavar="OUT", default=STANDARD, help=help)
    help = """tree with the largest sum of log marginals or of marginals; of deterministic automata
    only, the most probable one; or as mbr, with arcs that may cross (default: that of the model)"""
    parser.add_argument("--decoder", choices=["mbr", "max_marginal", "viterbi", "mst"], help=help)
    help = """keep the heads that the sentences have, with their relations, and complete the rest
    (default: heads are ignored)"""
    parser.add_argument("--keep-heads", action="store_true", help=help)
    help = """write the probability of each arc into MISC, such as Confidence=0.9712, and the
    logarithm of that of the tree into a comment, such as "# score = -0.3567" (default: neither)"""
    parser.add_argument("--confidence", action="store_true", help=help)
    several = parser.add_mutually_exclusive_group()
    help = """write the K most probable trees of each sentence, the best first, with their scores;
    where the best cannot be found exactly, of 1,000 that are drawn (default: one tree)"""
    several.add_argument("--k-best", type=_count, metavar="K", help=help)
    help = """write K trees of each sentence that are drawn by their probability, with their scores
    (default: one tree, the best)"""
    several.add_argument("--sample", type=_count, metavar="K", help=help)
    help = "what is drawn depends on it (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=help)
    help = """relations, or groups of them, that at most one word of each head gets, such as
    nsubj+csubj,obj; subtypes count with their relation (default: none)"""
    parser.add_argument("--unique-relations", default="", metavar="RELATIONS", help=help)
    help = """end at a sentence that is not valid or cannot be parsed, or pass it on as it is
    (default: %(default)s)"""
    parser.add_argument("--on-error", choices=["stop", "skip"], default="stop", help=help)
    help = "longer sentences are errors (default: %(default)s)"
    parser.add_argument("--max-tokens", type=_count, default=1000, metavar="N", help=help)
    _add_n_jobs(parser, default="that of the model")


def _add_suggest(commands):
    """List what a model is least sure of: what to annotate.

    examples:
      %(prog)s model.npz partial.conllu
      %(prog)s model.npz partial.conllu -n 100 --json
      %(prog)s model.npz partial.conllu --by sentences
      %(prog)s model.npz partial.conllu --by sentences -n 50 -o next.conllu
    """
    parser = _command(commands, "suggest", "cli._models", _add_suggest)
    _add_model(parser)
    _add_files(parser, "file", "sentences, of which known heads are taken for true", nargs="+")
    help = "how many to list, at most (default: %(default)s)"
    parser.add_argument("-n", "--number", type=int, default=10, metavar="N", help=help)
    help = """words whose heads are in question, or sentences, by their expected share of wrong
    heads, or by the probability of their whole trees (default: %(default)s)"""
    parser.add_argument("--by", choices=["arcs", "sentences", "trees"], default="arcs", help=help)
    help = """CoNLL-U to write, of sentences or trees: those listed, with their predicted trees, for
    annotators (default: none is written)"""
    parser.add_argument("-o", "--output", metavar="OUT", help=help)
    help = "print one JSON object (default: a table, with tabs between its columns)"
    parser.add_argument("--json", action="store_true", help=help)
    _add_n_jobs(parser, default="that of the model")


def _add_evaluate(commands):
    """Score parsed trees against true ones.

    examples:
      %(prog)s test.conllu parsed.conllu
      %(prog)s test.conllu parsed.conllu --ignore-punctuation --by modifier
      %(prog)s test.conllu parsed.conllu --json
      %(prog)s test.conllu parsed.conllu --raw
    """
    parser = _command(commands, "evaluate", "cli._evaluate", _add_evaluate)
    _add_files(parser, "gold", "true trees")
    _add_files(parser, "system", "parsed trees of the same sentences")
    help = """score text that was split into words and sentences too, as the official evaluation of
    Universal Dependencies does (default: sentences and words must be the same)"""
    parser.add_argument("--raw", action="store_true", help=help)
    help = "leave out tokens with the tag PUNCT (default: they are scored)"
    parser.add_argument("--ignore-punctuation", action="store_true", help=help)
    help = "whose symbol is meant in the table of right heads (default: %(default)s)"
    parser.add_argument("--by", choices=["head", "modifier"], default="head", help=help)
    help = "print one JSON object, with scores from 0 to 1 (default: a table in percent)"
    parser.add_argument("--json", action="store_true", help=help)


def _command(commands, name, module, function):
    """Add a command: the function of that name in a module of the package."""
    texts = _help(function)
    summary = texts["description"].rstrip(".")
    parser = commands.add_parser(name, help=f"{summary[:1].lower()}{summary[1:]}", **texts)
    parser.set_defaults(module=module)
    return parser


def _help(function):
    """What a function says of itself: a sentence, and examples for below the options."""
    text = textwrap.dedent(f"    {function.__doc__ or ''}").strip()  # python -OO has none
    description, _, examples = text.partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    return {"description": description, "epilog": examples, "formatter_class": formatter}


def _add_model(parser):
    help = """model file, of the command train, or - for standard input; or english, the model that
    comes with the package, if there is no file of that name"""
    parser.add_argument("model", metavar="MODEL", help=help)
    _add_context(parser)


def _add_context(parser):
    help = """a BERT-like transformer whose vectors of words in context networks and taggers read: a
    folder with config.json, tokenizer.json and model.safetensors; a model that has learned with one
    needs it again (default: none)"""
    parser.add_argument("--context", metavar="FOLDER", help=help)


def _add_files(parser, name, what, **options):
    help = f"{what}: CoNLL-U, possibly .gz; a folder, a quoted pattern, or - for standard input"
    parser.add_argument(name, metavar=name.upper(), help=help, **options)


def _setting(text):
    """A parameter and its value: a number, None or a list as in Python, or else a word."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE, such as n_states=6")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _count(text):
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _add_n_jobs(parser, default="1"):
    help = f"number of workers, -1 for all cores (default: {default})"
    parser.add_argument("--n-jobs", type=int, metavar="N", help=help)

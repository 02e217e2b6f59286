"""The command line: thin layers over the library."""

import argparse
import atexit
import contextlib
import gc
import io
import os
import sys
import warnings
from functools import partial
from importlib import import_module

from sklearn_shag import __version__
from sklearn_shag.cli._options import (
    add_annotate,
    add_command,
    add_context,
    add_files,
    add_input,
    add_model,
    add_n_jobs,
    add_on_error,
    add_train,
    make_help,
    parse_count,
)
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import printable


@contextlib.contextmanager
def _tolerant_streams():
    """Escape letters that the encoding of standard output lacks; tolerate a closed standard error.

    Otherwise the first such letter would end a command half-way, and `print` would write messages
    for the second to the first.
    """
    with contextlib.ExitStack() as stack:
        if sys.stderr is None or getattr(sys.stderr, "closed", False):
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.closed:
            stack.callback(sys.stdout.reconfigure, errors=sys.stdout.errors)
            sys.stdout.reconfigure(errors="backslashreplace")
        yield


@_tolerant_streams()
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
            options = make_parser(prog).parse_args(argv)
            program = f"{prog} {options.command}"
            with _few_collections(), _short_warnings(program):
                # Numerical libraries are imported here, and not for --help or a wrong option.
                getattr(import_module(f"sklearn_shag.{options.module}"), options.command)(options)
        finally:
            _flush_output()  # also of --help, which exits
        return 0
    except BrokenPipeError:
        return 0  # the reader of the pipe has seen enough
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        message = f"out of memory. {error}".rstrip(" .")
    except (ImportError, OSError, TypeError, ValueError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror is not None:  # an error of the system
            message = f"{error.filename or 'standard input or output'}: {error.strerror}"
    print(f"{program}: error: {_one_line(message)}", file=sys.stderr)
    return 1


@contextlib.contextmanager
def _few_collections():
    """Collect cyclic garbage seldom: imports and trees stay to the end, and make none.

    Otherwise a quarter of the time of a short command goes into collections.
    """
    atexit.register(gc.freeze)  # leaves nothing to search for the last collection
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
    """Write buffered output, or drop it, so that the interpreter reports no error at its end."""
    try:
        if sys.stdout is not None:  # it is closed
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


class _ArgumentParser(argparse.ArgumentParser):
    """Argument parser whose messages have control characters of arguments escaped."""

    def error(self, message):
        super().error(printable(message))


def make_parser(prog="sklearn-shag"):
    """Train dependency parsers, parse with them, and score the trees.

    exit status:
      0 for success, 1 if something could not be read, learned or written, 2 for wrong options,
      130 after an interruption

    examples:
      %(prog)s demo
      %(prog)s train train.conllu -o model.npz
      %(prog)s parse model.npz test.conllu -o parsed.conllu
      %(prog)s evaluate test.conllu parsed.conllu
    """
    parser = _ArgumentParser(prog=prog, **make_help(make_parser))
    parser.add_argument("--version", action="version", version=f"sklearn_shag {__version__}")
    parser.set_defaults(program=prog)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    of_models = _add_demo, add_train, _add_parse, _add_suggest, _add_evaluate, _add_serve
    for add in (*of_models, add_annotate, _add_check, _add_draw, _add_info, _add_compile):
        add(commands)
    return parser


def _add_demo(commands):
    """Parse English text and draw its trees, or train and score four grammars.

    examples:
      %(prog)s
      %(prog)s "The old cat that sleeps on my bed chased two mice."
      %(prog)s --grammars
      %(prog)s --treebank UD_English-EWT
    """
    parser = add_command(commands, "demo", "cli._demo", _add_demo)
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="English text to parse with the bundled parser (default: two sentences)",
    )
    parser.add_argument(
        "--grammars",
        action="store_true",
        help="train and score four grammars that read tags (default: not, unless with --treebank)",
    )
    parser.add_argument(
        "--treebank",
        metavar="DIR",
        help="""folder with *train*.conllu and *test*.conllu for the grammars (default: bundled
        trees)""",
    )
    add_n_jobs(parser)


def _add_parse(commands):
    """Parse CoNLL-U files, tokenised sentences, or raw text, where each file is a document.

    examples:
      %(prog)s model.npz test.conllu -o parsed.conllu
      %(prog)s model.npz < test.conllu > parsed.conllu
      %(prog)s model.npz partial.conllu -o completed.conllu --keep-heads
      %(prog)s model.npz test.conllu -o parsed.conllu --confidence
      %(prog)s english test.conllu -o parsed.conllu --k-best 5
      %(prog)s model.npz test.conllu.gz -o parsed.conllu.gz --n-jobs 2 --on-error skip
      %(prog)s tagging.npz tokens.txt -o parsed.conllu --input horizontal
      %(prog)s english text.txt -o parsed.conllu --input text
      %(prog)s english text.txt -o parsed.conllu --input lines
      %(prog)s english text.jsonl -o parsed.jsonl.gz --input jsonl --output-format jsonl --resume
    """
    parser = add_command(commands, "parse", "cli._parse", _add_parse)
    add_model(parser)
    add_files(
        parser, "file", "sentences", " (default: standard input)", nargs="+", default=[STANDARD]
    )
    add_input(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default=STANDARD,
        help="""file to write, one for all inputs; compressed if it ends in .gz. It is OUT.part
        until it is complete (default: standard output)""",
    )
    parser.add_argument(
        "--output-format",
        choices=["conllu", "jsonl"],
        default="conllu",
        help="""CoNLL-U, or JSON lines, one for each document, or each sentence if the input has no
        documents (default: %(default)s)""",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with OUT.part, which a run has left, if there is one (default: begin anew)",
    )
    parser.add_argument(
        "--decoder",
        choices=["mbr", "max_marginal", "viterbi", "mst"],
        help="""tree with the largest sum of log marginals (mbr) or of marginals (max_marginal);
        the most probable tree (viterbi, of deterministic automata only); or as mbr, allowing
        crossing arcs (mst) (default: that of the model)""",
    )
    parser.add_argument(
        "--keep-heads",
        action="store_true",
        help="""keep the heads in the input, with their relations, DEPS and empty nodes, and
        complete the rest (default: heads are ignored, and DEPS left out)""",
    )
    parser.add_argument(
        "--confidence",
        action="store_true",
        help="""write the probability of each arc into MISC, such as Confidence=0.9712, and the log
        probability of the tree into a comment, such as "# score = -0.3567". JSON lines also have
        those of relations and tags (default: neither)""",
    )
    several = parser.add_mutually_exclusive_group()
    several.add_argument(
        "--k-best",
        type=parse_count,
        metavar="K",
        help="""write the K most probable trees of each sentence, the best first, with their
        scores; if they cannot be found exactly, the best of 1,000 random trees (default: one
        tree)""",
    )
    several.add_argument(
        "--sample",
        type=parse_count,
        metavar="K",
        help="""write K random trees of each sentence, drawn by probability, with their scores
        (default: one tree, the best)""",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed for drawing trees (default: %(default)s)",
    )
    parser.add_argument(
        "--unique-relations",
        default="auto",
        metavar="RELATIONS",
        help="""relations, or groups of them, that at most one word of each head may have, such as
        nsubj+csubj,obj, or "" for none. Subtypes count as their relation (default: %(default)s,
        nsubj and obj unless they cost accuracy in training)""",
    )
    add_on_error(
        parser,
        """write it as it is; the same for one that cannot be parsed, but a document that is no
        text is left out""",
    )
    parser.add_argument(
        "--max-tokens",
        type=parse_count,
        default=1000,
        metavar="N",
        help="maximum length of a sentence; longer ones are errors (default: %(default)s)",
    )
    add_n_jobs(parser, default="that of the model")


def _add_suggest(commands):
    """List the words or sentences that a model is least sure of, to be annotated.

    examples:
      %(prog)s model.npz partial.conllu
      %(prog)s model.npz partial.conllu -n 100 --json
      %(prog)s model.npz partial.conllu --by sentences
      %(prog)s model.npz partial.conllu --by sentences -n 50 -o next.conllu
      %(prog)s english text.txt --input text -n 200 -o next.conllu
    """
    parser = add_command(commands, "suggest", "cli._suggest", _add_suggest)
    add_model(parser)
    add_files(parser, "file", "sentences, whose known heads are kept", nargs="+")
    add_input(parser)
    parser.add_argument(
        "--ignore-heads",
        action="store_true",
        help="treat all heads as unknown, as those that parse wrote (default: they are known)",
    )
    parser.add_argument(
        "-n",
        "--number",
        type=parse_count,
        default=10,
        metavar="N",
        help="maximum number to list, with heads-in-sentences of sentences (default: %(default)s)",
    )
    parser.add_argument(
        "--by",
        choices=["arcs", "heads-in-sentences", "sentences", "trees"],
        default="arcs",
        help="""what to list: words with uncertain heads (arcs), or all of these in the sentences
        that hold most (heads-in-sentences). Or sentences, by their expected share of wrong heads
        (sentences), or by the probability of their whole trees (trees) (default: %(default)s)""",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="""CoNLL-U file to write for annotators, with predicted trees. In MISC, Check=Yes
        marks words to look at, and Predicted=Yes heads that train treats as unknown
        (default: none)""",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (default: a table, with tabs between columns)",
    )
    add_on_error(parser, "leave it out")
    add_n_jobs(parser, default="that of the model")


def _add_check(commands):
    """List the heads, relations and tags of a treebank that may be errors.

    examples:
      %(prog)s train.conllu
      %(prog)s train.conllu -n 200 -o marked.conllu
      %(prog)s train.conllu --tags upos --json
    """
    parser = add_command(commands, "check", "cli._suggest", _add_check)
    add_files(parser, "file", "annotated trees", nargs="+")
    parser.add_argument(
        "-n",
        "--number",
        type=parse_count,
        default=50,
        metavar="N",
        help="maximum number to list (default: %(default)s)",
    )
    parser.add_argument(
        "--tags",
        metavar="COLUMNS",
        help="columns to judge too, by a network, which takes longer (default: none)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="CoNLL-U file to write, with Check=Yes and the likely value in MISC (default: none)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (default: a table, with tabs between columns)",
    )
    add_on_error(parser, "leave it out")
    add_n_jobs(parser)


def _add_evaluate(commands):
    """Score parsed trees against true trees.

    examples:
      %(prog)s test.conllu parsed.conllu
      %(prog)s test.conllu parsed.conllu --ignore-punctuation --by modifier
      %(prog)s test.conllu parsed.conllu --json
      %(prog)s test.conllu parsed.conllu --raw
    """
    parser = add_command(commands, "evaluate", "cli._evaluate", _add_evaluate)
    add_files(parser, "gold", "true trees")
    add_files(parser, "system", "parsed trees of the same sentences")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="""score raw text, including its splitting into words and sentences, as the official
        evaluation of Universal Dependencies does; without heads, only this splitting, and tags
        (default: sentences and words must be the same)""",
    )
    parser.add_argument(
        "--ignore-punctuation",
        action="store_true",
        help="leave out tokens with the tag PUNCT (default: they are scored)",
    )
    parser.add_argument(
        "--by",
        choices=["head", "modifier"],
        default="head",
        help="word whose symbol is shown in the table of right heads (default: %(default)s)",
    )
    parser.add_argument(
        "--errors",
        type=parse_count,
        metavar="N",
        help="""also show the N worst sentences side by side, confused relations, and right heads
        by relation, by distance, of arcs that cross, and with --train of unknown words
        (default: none)""",
    )
    parser.add_argument(
        "--train",
        metavar="FILE",
        help="with --errors, the treebank that the model has learned from (default: none)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object, with scores from 0 to 1 (default: a table in percent)",
    )
    add_on_error(parser, "leave it out on both sides")


def _add_draw(commands):
    """Draw the trees of CoNLL-U files on a page of HTML.

    examples:
      %(prog)s parsed.conllu -o page.html
      %(prog)s parsed.conllu -o page.html --highlight nsubj:pass,aux:pass --colors
    """
    parser = add_command(commands, "draw", "cli._demo", _add_draw)
    add_files(parser, "file", "the trees", nargs="+")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PAGE",
        default=STANDARD,
        help="page to write (default: standard output)",
    )
    parser.add_argument(
        "--highlight",
        metavar="RELATIONS",
        default="",
        help="highlight words with these relations (default: none)",
    )
    parser.add_argument("--colors", action="store_true", help="colour relations (default: not)")
    parser.add_argument("--compact", action="store_true", help="draw smaller (default: not)")


def _add_serve(commands):
    """Serve models over HTTP: a page that draws trees, and the protocol of UDPipe.

    examples:
      %(prog)s english
      %(prog)s english french=fr.npz --port 8002 --confidence
    """
    parser = add_command(commands, "serve", "cli._serve", _add_serve)
    add_model(parser, nargs="+", more=", or NAME=FILE to give it another name than its file")
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="address to listen at, 0.0.0.0 for all networks (default: %(default)s, this computer)",
    )
    parser.add_argument(
        "--port",
        type=partial(parse_count, least=0),
        default=8001,
        help="port to listen at, 0 for any that is free (default: %(default)s)",
    )
    parser.add_argument(
        "--confidence",
        action="store_true",
        help="answer with probabilities and scores, as of the command parse (default: without)",
    )
    limits = {
        "threads": (16, "requests that are answered at once; one thread parses for all"),
        "max-bytes": (2**22, "largest body of a request"),
        "max-tokens": (500, "longest sentence of those that are split when they come"),
        "answering": (120, "seconds that an answer may take"),
    }
    for name, (default, text) in limits.items():
        parser.add_argument(
            f"--{name}",
            type=parse_count,
            metavar="N",
            default=default,
            help=f"{text} (default: %(default)s)",
        )


def _add_info(commands):
    """Print a model's class, treebanks and scores, and the SHA-256 of its file, as JSON.

    examples:
      %(prog)s model.npz
      %(prog)s english
    """
    parser = add_command(commands, "info", "cli._info", _add_info)
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="""model file, or english, the model that comes with the package, if no file has that
        name""",
    )


def _add_compile(commands):
    """Compile the code that models need, so that no command has to wait for it.

    examples:
      %(prog)s
      %(prog)s model.npz english
      %(prog)s --all
    """
    parser = add_command(commands, "compile", "cli._compile", _add_compile)
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="*",
        help="model to parse with, or demo, for demo --grammars (default: english demo)",
    )
    add_context(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="also compile what train and the models of all its kinds need (default: not)",
    )

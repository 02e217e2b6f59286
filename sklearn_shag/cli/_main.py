"""The command line: thin layers over the library."""

import argparse
import ast
import atexit
import contextlib
import gc
import io
import os
import sys
import textwrap
import warnings
from functools import partial
from importlib import import_module

from sklearn_shag import __version__
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import printable

# Limit of word vectors: frequent words come first in files, and models hold all vectors read.
N_VECTORS = 200_000


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
    except BrokenPipeError:
        return 0  # the reader of the pipe has seen enough
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(f"{program}: error: out of memory. {_one_line(error)}".rstrip(" ."), file=sys.stderr)
        return 1
    except (ImportError, OSError, TypeError, ValueError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror is not None:  # an error of the system
            message = f"{error.filename or 'standard input or output'}: {error.strerror}"
        print(f"{program}: error: {_one_line(message)}", file=sys.stderr)
        return 1
    return 0


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
    parser = _ArgumentParser(prog=prog, **_make_help(make_parser))
    parser.add_argument("--version", action="version", version=f"sklearn_shag {__version__}")
    parser.set_defaults(program=prog)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    of_models = _add_demo, _add_train, _add_parse, _add_suggest, _add_evaluate, _add_serve
    for add in (*of_models, _add_check, _add_draw, _add_info, _add_compile):
        add(commands)
    return parser


def _add_demo(commands):
    """Parse English text and draw its trees, or train and score four grammars.

    examples:
      %(prog)s
      %(prog)s "The cat that you saw sat on my mat."
      %(prog)s --grammars
      %(prog)s --treebank UD_English-EWT
    """
    parser = _add_command(commands, "demo", "cli._demo", _add_demo)
    help = "English text to parse with the bundled parser (default: two sentences)"
    parser.add_argument("text", metavar="TEXT", nargs="?", help=help)
    help = "train and score four grammars that read tags (default: not, unless with --treebank)"
    parser.add_argument("--grammars", action="store_true", help=help)
    help = "folder with *train*.conllu and *test*.conllu for the grammars (default: bundled trees)"
    parser.add_argument("--treebank", metavar="DIR", help=help)
    _add_n_jobs(parser)


def _add_train(commands):
    """Train a model on CoNLL-U files.

    examples:
      %(prog)s train.conllu -o model.npz
      %(prog)s train.conllu -o model.npz --tags upos
      %(prog)s train.conllu -o model.npz --tags upos,xpos,feats,lemma
      %(prog)s UD_French-Sequoia -o fr.npz --text
      %(prog)s train.conllu -o model.npz --text --raw-text text.txt
      %(prog)s own.conllu -o model.npz --helpers en.conllu --context e5 --raw-text tokens.txt
      %(prog)s "UD_*/*train.conllu" -o model.npz --symbols upos,xpos
      %(prog)s train.conllu -o model.npz --model spectral --set n_states=6 --set smoothing=5
      %(prog)s more.conllu -o better.npz --continue linear.npz --max-iter 3
    """
    parser = _add_command(commands, "train", "cli._train", _add_train)
    rest = "; or the name of a treebank of Universal Dependencies (UD_French-Sequoia)"
    _add_files(parser, "file", "the treebank", rest, nargs="+", default=[])  # none with --helpers
    help = "model file to write, or - for standard output (required)"
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help=help)
    names = ["spectral", "em", "refined", "single", "first", "sibling", "words", "crf", "biaffine"]
    help = """kind of model. Hidden states: spectral (from moments), em, refined (relations too).
    Deterministic automata: single, first, sibling. Words of the column form beside symbols: words.
    Linear model of whole columns: crf. Network: biaffine. The average of three networks and a
    linear model, which is the most accurate: ensemble (default: ensemble; with --symbols,
    spectral)"""
    parser.add_argument("--model", choices=[*names, "ensemble"], help=help)
    help = """continue the training of an em, crf or biaffine model, for example with more trees
    (default: train a new model)"""
    parser.add_argument("--continue", dest="continue_", metavar="MODEL", help=help)
    help = """columns that make up the symbols, such as upos,xpos; not for crf, biaffine and
    ensemble (default: upos)"""
    parser.add_argument("--symbols", metavar="COLUMNS", help=help)
    help = """columns that crf, biaffine and ensemble read, such as upos,form,suffix
    (default: all that have values)"""
    parser.add_argument("--columns", metavar="COLUMNS", help=help)
    help = """columns to learn from words alone, such as upos or upos,xpos,feats,lemma. The model
    then parses text without tags: networks learn to tag, other models get a tagger in front
    (default: tags are read)"""
    parser.add_argument("--tags", metavar="COLUMNS", help=help)
    help = """also learn to split text, so that the model parses raw text with parse --input text;
    without --tags, all columns that have values are learned (default: no splitting)"""
    parser.add_argument("--text", action="store_true", default=None, help=help)
    help = "with --text, a regular expression of single tokens; may be repeated (default: none)"
    parser.add_argument("--pattern", action="append", metavar="REGEX", help=help)
    help = f"""word vectors for networks and taggers: a text file, possibly .gz, as written by
    word2vec, fastText and GloVe, of which the first {N_VECTORS:,} are read (default: none)"""
    parser.add_argument("--embeddings", metavar="FILE", help=help)
    _add_context(parser)
    help = """what needs the transformer: parsing too, or training alone, which then makes a table
    of word vectors from the training sentences, as part of the model (default: parsing;
    with --raw-text, training)"""
    parser.add_argument("--context-for", choices=["parsing", "training"], help=help)
    help = """raw text to learn from too, which a teacher parses: any text with --text, otherwise
    lines of tokens with spaces between them; or CoNLL-U without its heads (default: none)"""
    parser.add_argument("--raw-text", metavar="FILE", nargs="+", help=help)
    help = """model of raw text's trees, which is not needed to parse (default: an ensemble is
    learned from the treebank)"""
    parser.add_argument("--teacher", metavar="MODEL", help=help)
    help = """treebanks of other languages, if there are few trees or none: a network that reads
    only the vectors of --context learns from them and FILE, and is the teacher of --raw-text
    (default: none)"""
    parser.add_argument("--helpers", metavar="FILE", nargs="+", help=help)
    help = """set aside every Nth sentence of each treebank, and print scores on these; 0 for none
    (default: 10 with --helpers, 20 with several treebanks or --raw-text, otherwise 0)"""
    parser.add_argument("--set-aside", type=partial(_parse_count, least=0), metavar="N", help=help)
    help = "tell the score to expect by cross-validation with N parts (default: none)"
    parser.add_argument("--cv", type=partial(_parse_count, least=2), metavar="N", help=help)
    help = "weights of sentences, one for each FILE (default: 1, or 5 for a teacher with --helpers)"
    parser.add_argument("--weight", type=float, metavar="W", nargs="+", help=help)
    help = """replace symbols seen fewer than N times by one rare symbol; for crf, biaffine and
    taggers, this applies to the words they read (default: 1, for words 2)"""
    parser.add_argument("--min-count", type=int, metavar="N", help=help)
    help = "text for the model file, which info prints (default: none)"
    parser.add_argument("--note", metavar="TEXT", help=help)
    help = "random seed of training (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=help)
    help = """number of passes over the trees, for models that learn in passes
    (default: that of the library; for em, 100)"""
    parser.add_argument("--max-iter", type=_parse_count, metavar="N", help=help)
    help = """set a parameter of the learner by its name in the library, such as n_states=6; may be
    repeated (default: those of the library)"""
    several = {"action": "append", "type": _parse_setting, "default": []}
    parser.add_argument("--set", metavar="NAME=VALUE", help=help, **several)
    _add_on_error(parser, "leave it out")
    _add_n_jobs(parser)


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
    parser = _add_command(commands, "parse", "cli._parse", _add_parse)
    _add_model(parser)
    rest = " (default: standard input)"
    _add_files(parser, "file", "sentences", rest, nargs="+", default=[STANDARD])
    _add_input(parser)
    help = """file to write, one for all inputs; compressed if it ends in .gz. It is OUT.part until
    it is complete (default: standard output)"""
    parser.add_argument("-o", "--output", metavar="OUT", default=STANDARD, help=help)
    help = """CoNLL-U, or JSON lines, one for each document, or each sentence if the input has no
    documents (default: %(default)s)"""
    parser.add_argument("--output-format", choices=["conllu", "jsonl"], default="conllu", help=help)
    help = "go on with OUT.part, which a run has left, if there is one (default: begin anew)"
    parser.add_argument("--resume", action="store_true", help=help)
    help = """tree with the largest sum of log marginals (mbr) or of marginals (max_marginal); the
    most probable tree (viterbi, of deterministic automata only); or as mbr, allowing crossing
    arcs (mst) (default: that of the model)"""
    parser.add_argument("--decoder", choices=["mbr", "max_marginal", "viterbi", "mst"], help=help)
    help = """keep the heads in the input, with their relations, and complete the rest
    (default: heads are ignored)"""
    parser.add_argument("--keep-heads", action="store_true", help=help)
    help = """write the probability of each arc into MISC, such as Confidence=0.9712, and the log
    probability of the tree into a comment, such as "# score = -0.3567". JSON lines also have
    those of relations and tags (default: neither)"""
    parser.add_argument("--confidence", action="store_true", help=help)
    several = parser.add_mutually_exclusive_group()
    help = """write the K most probable trees of each sentence, the best first, with their scores;
    if they cannot be found exactly, the best of 1,000 random trees (default: one tree)"""
    several.add_argument("--k-best", type=_parse_count, metavar="K", help=help)
    help = """write K random trees of each sentence, drawn by probability, with their scores
    (default: one tree, the best)"""
    several.add_argument("--sample", type=_parse_count, metavar="K", help=help)
    help = "random seed for drawing trees (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=help)
    help = """relations, or groups of them, that at most one word of each head may have, such as
    nsubj+csubj,obj, or "" for none. Subtypes count as their relation (default: %(default)s, nsubj
    and obj unless they cost accuracy in training)"""
    parser.add_argument("--unique-relations", default="auto", metavar="RELATIONS", help=help)
    skip = """write it as it is; the same for one that cannot be parsed, but a document that is no
    text is left out"""
    _add_on_error(parser, skip)
    help = "maximum length of a sentence; longer ones are errors (default: %(default)s)"
    parser.add_argument("--max-tokens", type=_parse_count, default=1000, metavar="N", help=help)
    _add_n_jobs(parser, default="that of the model")


def _add_suggest(commands):
    """List the words or sentences that a model is least sure of, to be annotated.

    examples:
      %(prog)s model.npz partial.conllu
      %(prog)s model.npz partial.conllu -n 100 --json
      %(prog)s model.npz partial.conllu --by sentences
      %(prog)s model.npz partial.conllu --by sentences -n 50 -o next.conllu
      %(prog)s english text.txt --input text -n 200 -o next.conllu
    """
    parser = _add_command(commands, "suggest", "cli._suggest", _add_suggest)
    _add_model(parser)
    _add_files(parser, "file", "sentences, whose known heads are kept", nargs="+")
    _add_input(parser)
    help = "treat all heads as unknown, as those that parse wrote (default: they are known)"
    parser.add_argument("--ignore-heads", action="store_true", help=help)
    help = "maximum number to list, with heads-in-sentences of sentences (default: %(default)s)"
    parser.add_argument("-n", "--number", type=_parse_count, default=10, metavar="N", help=help)
    help = """what to list: words with uncertain heads (arcs), or all of these in the sentences that
    hold most (heads-in-sentences). Or sentences, by their expected share of wrong heads
    (sentences), or by the probability of their whole trees (trees) (default: %(default)s)"""
    kinds = ["arcs", "heads-in-sentences", "sentences", "trees"]
    parser.add_argument("--by", choices=kinds, default="arcs", help=help)
    help = """CoNLL-U file to write for annotators, with predicted trees. In MISC, Check=Yes marks
    words to look at, and Predicted=Yes heads that train treats as unknown (default: none)"""
    parser.add_argument("-o", "--output", metavar="OUT", help=help)
    help = "print one JSON object (default: a table, with tabs between columns)"
    parser.add_argument("--json", action="store_true", help=help)
    _add_on_error(parser, "leave it out")
    _add_n_jobs(parser, default="that of the model")


def _add_check(commands):
    """List the heads, relations and tags of a treebank that may be errors.

    examples:
      %(prog)s train.conllu
      %(prog)s train.conllu -n 200 -o marked.conllu
      %(prog)s train.conllu --tags upos --json
    """
    parser = _add_command(commands, "check", "cli._suggest", _add_check)
    _add_files(parser, "file", "annotated trees", nargs="+")
    help = "maximum number to list (default: %(default)s)"
    parser.add_argument("-n", "--number", type=_parse_count, default=50, metavar="N", help=help)
    help = "columns to judge too, by a network, which takes longer (default: none)"
    parser.add_argument("--tags", metavar="COLUMNS", help=help)
    help = "CoNLL-U file to write, with Check=Yes and the likely value in MISC (default: none)"
    parser.add_argument("-o", "--output", metavar="OUT", help=help)
    help = "print one JSON object (default: a table, with tabs between columns)"
    parser.add_argument("--json", action="store_true", help=help)
    _add_on_error(parser, "leave it out")
    _add_n_jobs(parser)


def _add_evaluate(commands):
    """Score parsed trees against true trees.

    examples:
      %(prog)s test.conllu parsed.conllu
      %(prog)s test.conllu parsed.conllu --ignore-punctuation --by modifier
      %(prog)s test.conllu parsed.conllu --json
      %(prog)s test.conllu parsed.conllu --raw
    """
    parser = _add_command(commands, "evaluate", "cli._evaluate", _add_evaluate)
    _add_files(parser, "gold", "true trees")
    _add_files(parser, "system", "parsed trees of the same sentences")
    help = """score raw text, including its splitting into words and sentences, as the official
    evaluation of Universal Dependencies does; without heads, only this splitting, and tags
    (default: sentences and words must be the same)"""
    parser.add_argument("--raw", action="store_true", help=help)
    help = "leave out tokens with the tag PUNCT (default: they are scored)"
    parser.add_argument("--ignore-punctuation", action="store_true", help=help)
    help = "word whose symbol is shown in the table of right heads (default: %(default)s)"
    parser.add_argument("--by", choices=["head", "modifier"], default="head", help=help)
    help = """also show the N worst sentences side by side, confused relations, and right heads by
    relation, by distance, of arcs that cross, and with --train of unknown words (default: none)"""
    parser.add_argument("--errors", type=_parse_count, metavar="N", help=help)
    help = "with --errors, the treebank that the model has learned from (default: none)"
    parser.add_argument("--train", metavar="FILE", help=help)
    help = "print one JSON object, with scores from 0 to 1 (default: a table in percent)"
    parser.add_argument("--json", action="store_true", help=help)
    _add_on_error(parser, "leave it out on both sides")


def _add_draw(commands):
    """Draw the trees of CoNLL-U files on a page of HTML.

    examples:
      %(prog)s parsed.conllu -o page.html
      %(prog)s parsed.conllu -o page.html --highlight nsubj:pass,aux:pass --colors
    """
    parser = _add_command(commands, "draw", "cli._demo", _add_draw)
    _add_files(parser, "file", "the trees", nargs="+")
    help = "page to write (default: standard output)"
    parser.add_argument("-o", "--output", metavar="PAGE", default=STANDARD, help=help)
    help = "highlight words with these relations (default: none)"
    parser.add_argument("--highlight", metavar="RELATIONS", default="", help=help)
    parser.add_argument("--colors", action="store_true", help="colour relations (default: not)")
    parser.add_argument("--compact", action="store_true", help="draw smaller (default: not)")


def _add_serve(commands):
    """Serve models over HTTP, with the protocol of UDPipe.

    examples:
      %(prog)s english
      %(prog)s english fr.npz --port 8002 --confidence
    """
    parser = _add_command(commands, "serve", "cli._serve", _add_serve)
    _add_model(parser, nargs="+")
    help = "address to listen at, 0.0.0.0 for all networks (default: %(default)s, this computer)"
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help=help)
    help = "port to listen at, 0 for any that is free (default: %(default)s)"
    parser.add_argument("--port", type=partial(_parse_count, least=0), default=8001, help=help)
    help = "answer with probabilities and scores, as of the command parse (default: without)"
    parser.add_argument("--confidence", action="store_true", help=help)


def _add_info(commands):
    """Print a model's class, treebanks and scores, and the SHA-256 of its file, as JSON.

    examples:
      %(prog)s model.npz
      %(prog)s english
    """
    parser = _add_command(commands, "info", "cli._info", _add_info)
    help = "model file, or english, the model that comes with the package, if no file has that name"
    parser.add_argument("model", metavar="MODEL", help=help)


def _add_compile(commands):
    """Compile the code that models need, so that no command has to wait for it.

    examples:
      %(prog)s
      %(prog)s model.npz english
      %(prog)s --all
    """
    parser = _add_command(commands, "compile", "cli._compile", _add_compile)
    help = "model to parse with, or demo, for demo --grammars (default: english demo)"
    parser.add_argument("model", metavar="MODEL", nargs="*", help=help)
    _add_context(parser)
    help = "also compile what train and the models of all its kinds need (default: not)"
    parser.add_argument("--all", action="store_true", help=help)


def _add_command(commands, name, module, function):
    """Add a command, which runs the function called `name` in a module of the package."""
    texts = _make_help(function)
    summary = texts["description"].rstrip(".")
    parser = commands.add_parser(name, help=f"{summary[:1].lower()}{summary[1:]}", **texts)
    parser.set_defaults(module=module)
    return parser


def _make_help(function):
    """Make help from a docstring: its first paragraph, and examples below the options."""
    text = textwrap.dedent(f"    {function.__doc__ or ''}").strip()  # python -OO has none
    description, _, examples = text.partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    return {"description": description, "epilog": examples, "formatter_class": formatter}


def _add_model(parser, **options):
    help = """model file made by the command train, or - for standard input; or english, the model
    that comes with the package, if no file has that name"""
    parser.add_argument("model", metavar="MODEL", help=help, **options)
    _add_context(parser)


def _add_context(parser):
    help = """BERT-like transformer that gives networks and taggers vectors of words in context: a
    folder with config.json, tokenizer.json and model.safetensors. A model trained with it
    needs it again (default: none)"""
    parser.add_argument("--context", metavar="FOLDER", help=help)
    help = """file of words with their tags and lemmas: word, UPOS, XPOS, features and lemma in each
    line, with tabs between them and _ for what is not known. Each word gets one of its entries
    (default: the dictionary that the model has learned with, if any)"""
    parser.add_argument("--dictionary", metavar="FILE", help=help)


def _add_input(parser):
    help = """format of the input: CoNLL-U, or one sentence per line with spaces between its
    tokens, for models that need no tags. For models of train --text: raw text, whole or one
    sentence per line, or JSON lines with id and text (default: %(default)s)"""
    forms = ["conllu", "horizontal", "text", "lines", "jsonl"]
    parser.add_argument("--input", choices=forms, default="conllu", help=help)


def _add_files(parser, name, what, rest="", **options):
    help = f"{what}: CoNLL-U, possibly .gz; a folder, a quoted pattern, or - for standard input"
    files = parser.add_argument(name, metavar=name.upper(), help=help + rest, **options)
    files.required = "default" not in options  # nargs="*" would find no file behind an option


def _add_on_error(parser, skip):
    help = f"at a sentence that is not valid, stop, or {skip} (default: %(default)s)"
    parser.add_argument("--on-error", choices=["stop", "skip"], default="stop", help=help)


def _parse_setting(text):
    """Split NAME=VALUE; the value is a Python literal, such as a number or a list, or a str."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as n_states=6")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _parse_count(text, least=1):
    if not text.isdecimal() or int(text) < least:
        kind = "positive " if least else ""
        rest = f" of at least {least}" if least > 1 else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}whole number{rest}")
    return int(text)


def _add_n_jobs(parser, default="1"):
    help = f"number of workers, -1 for all cores (default: {default})"
    parser.add_argument("--n-jobs", type=int, metavar="N", help=help)

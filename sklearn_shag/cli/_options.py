"""Options of the commands `train` and `annotate`, and options that several commands share."""

import argparse
import ast
import codecs
import textwrap
from functools import partial

from sklearn_shag.utils._io import UTF_8

# Limit of word vectors: frequent words come first in files, and models hold all vectors read.
N_VECTORS = 200_000


def add_train(commands):
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
    parser = add_command(commands, "train", "cli._train", add_train)
    add_files(
        parser,
        "file",
        "the treebank",
        "; or the name of a treebank of Universal Dependencies (UD_French-Sequoia)",
        nargs="+",
        default=[],  # none with --helpers
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="MODEL",
        required=True,
        help="model file to write, or - for standard output (required)",
    )
    parser.add_argument(
        "--model",
        choices=[
            "spectral",
            "em",
            "refined",
            "single",
            "first",
            "sibling",
            "words",
            "crf",
            "biaffine",
            "ensemble",
        ],
        help="""kind of model. Hidden states: spectral (from moments), em, refined (relations too).
        Deterministic automata: single, first, sibling. Words of the column form beside symbols:
        words. Linear model of whole columns: crf. Network: biaffine. The average of three networks
        and a linear model, which is the most accurate: ensemble (default: ensemble; with
        --symbols, spectral)""",
    )
    parser.add_argument(
        "--continue",
        dest="continue_",
        metavar="MODEL",
        help="""continue the training of an em, crf or biaffine model, for example with more trees
        (default: train a new model)""",
    )
    parser.add_argument(
        "--symbols",
        metavar="COLUMNS",
        help="""columns that make up the symbols, such as upos,xpos; not for crf, biaffine and
        ensemble (default: upos)""",
    )
    parser.add_argument(
        "--columns",
        metavar="COLUMNS",
        help="""columns that crf, biaffine and ensemble read, such as upos,form,suffix
        (default: all that have values)""",
    )
    parser.add_argument(
        "--tags",
        metavar="COLUMNS",
        help="""columns to learn from words alone, such as upos or upos,xpos,feats,lemma. The model
        then parses text without tags: networks learn to tag, other models get a tagger in front
        (default: tags are read)""",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        default=None,
        help="""also learn to split text, so that the model parses raw text with parse --input
        text; without --tags, all columns that have values are learned (default: no splitting)""",
    )
    parser.add_argument(
        "--pattern",
        action="append",
        metavar="REGEX",
        help="with --text, a regular expression of single tokens; may be repeated (default: none)",
    )
    parser.add_argument(
        "--embeddings",
        metavar="FILE",
        help=f"""word vectors for networks and taggers: a text file, possibly .gz, as written by
        word2vec, fastText and GloVe, of which the first {N_VECTORS:,} are read (default: none)""",
    )
    add_context(parser)
    parser.add_argument(
        "--context-for",
        choices=["parsing", "training"],
        help="""what needs the transformer: parsing too, or training alone, which then makes a
        table of word vectors from the training sentences, as part of the model (default: parsing;
        with --raw-text, training)""",
    )
    parser.add_argument(
        "--raw-text",
        metavar="FILE",
        nargs="+",
        help="""raw text to learn from too, which a teacher parses: any text with --text, otherwise
        lines of tokens with spaces between them; or CoNLL-U without its heads (default: none)""",
    )
    parser.add_argument(
        "--teacher",
        metavar="MODEL",
        help="""model of raw text's trees, which is not needed to parse (default: an ensemble is
        learned from the treebank)""",
    )
    parser.add_argument(
        "--helpers",
        metavar="FILE",
        nargs="+",
        help="""treebanks of other languages, if there are few trees or none: a network that reads
        only the vectors of --context learns from them and FILE, and is the teacher of --raw-text
        (default: none)""",
    )
    parser.add_argument(
        "--set-aside",
        type=partial(parse_count, least=0),
        metavar="N",
        help="""set aside every Nth sentence of each treebank, and print scores on these; 0 for
        none (default: 10 with --helpers, 20 with several treebanks or --raw-text, otherwise 0)""",
    )
    parser.add_argument(
        "--cv",
        type=partial(parse_count, least=2),
        metavar="N",
        help="tell the score to expect by cross-validation with N parts (default: none)",
    )
    parser.add_argument(
        "--weight",
        type=float,
        metavar="W",
        nargs="+",
        help="""weights of sentences, one for each FILE (default: 1, or 5 for a teacher with
        --helpers)""",
    )
    parser.add_argument(
        "--min-count",
        type=int,
        metavar="N",
        help="""replace symbols seen fewer than N times by one rare symbol; for crf, biaffine and
        taggers, this applies to the words they read (default: 1, for words 2)""",
    )
    parser.add_argument(
        "--note", metavar="TEXT", help="text for the model file, which info prints (default: none)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed of training (default: %(default)s)",
    )
    parser.add_argument(
        "--max-iter",
        type=parse_count,
        metavar="N",
        help="""number of passes over the trees, for models that learn in passes (default: that of
        the library; for em, 100)""",
    )
    parser.add_argument(
        "--set",
        action="append",
        type=_parse_setting,
        default=[],
        metavar="NAME=VALUE",
        help="""set a parameter of the learner by its name in the library, such as n_states=6; may
        be repeated (default: those of the library)""",
    )
    add_on_error(parser, "leave it out")
    add_n_jobs(parser)


def add_annotate(commands):
    """Correct trees in the browser: after each answer, the rest of the tree is parsed anew.

    examples:
      %(prog)s english text.txt --input text -o trees.conllu
      %(prog)s model.npz next.conllu -o next.conllu
      %(prog)s model.npz parsed.conllu --ignore-heads --by heads-in-sentences -o new.conllu
    """
    parser = add_command(commands, "annotate", "cli._annotate", add_annotate)
    add_model(parser)
    add_files(parser, "file", "sentences, whose known heads are kept", nargs="+")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="""CoNLL-U file to write, which may be FILE; beside it, OUT.journal holds all answers.
        The same command goes on from there""",
    )
    parser.add_argument(
        "--input",
        choices=["conllu", "text", "lines"],
        default="conllu",
        help="""format of the input: CoNLL-U, or raw text, whole or one sentence per line, for
        models of train --text (default: %(default)s)""",
    )
    parser.add_argument(
        "--by",
        choices=["order", "sentences", "heads-in-sentences"],
        default="order",
        help="""order of the list of sentences: as in the file, or first those with the largest
        expected share (sentences) or number (heads-in-sentences) of wrong heads
        (default: %(default)s)""",
    )
    parser.add_argument(
        "--ignore-heads",
        action="store_true",
        help="treat all heads as guesses, as those that parse wrote (default: they are known)",
    )
    parser.add_argument(
        "--port",
        type=partial(parse_count, least=0),
        default=0,
        help="port to listen at on this computer (default: any that is free)",
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="only print the address of the page (default: open it in the browser)",
    )


def add_command(commands, name, module, function):
    """Add a command, which runs the function called `name` in a module of the package."""
    texts = make_help(function)
    summary = texts["description"].rstrip(".")
    parser = commands.add_parser(name, help=f"{summary[:1].lower()}{summary[1:]}", **texts)
    parser.set_defaults(module=module)
    return parser


def make_help(function):
    """Make help from a docstring: its first paragraph, and examples below the options."""
    text = textwrap.dedent(f"    {function.__doc__ or ''}").strip()  # python -OO has none
    description, _, examples = text.partition("\n\n")
    return {
        "description": description,
        "epilog": examples,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def add_model(parser, more="", **options):
    """Add the model file of a command, with its transformer and dictionary."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help=f"""model file made by the command train, or - for standard input; or english, the
        model that comes with the package, if no file has that name{more}""",
        **options,
    )
    add_context(parser)


def add_context(parser):
    """Add the transformer and the dictionary of a model."""
    parser.add_argument(
        "--context",
        metavar="FOLDER",
        help="""BERT-like transformer that gives networks and taggers vectors of words in context:
        a folder with config.json, tokenizer.json and model.safetensors. A model trained with it
        needs it again (default: none)""",
    )
    parser.add_argument(
        "--dictionary",
        metavar="FILE",
        help="""file of words with their tags and lemmas: word, UPOS, XPOS, features and lemma in
        each line, with tabs between them and _ for what is not known. Each word gets one of its
        entries (default: the dictionary that the model has learned with, if any)""",
    )


def add_input(parser):
    """Add the format of sentences."""
    parser.add_argument(
        "--input",
        choices=["conllu", "horizontal", "text", "lines", "jsonl"],
        default="conllu",
        help="""format of the input: CoNLL-U, or one sentence per line with spaces between its
        tokens, for models that need no tags. For models of train --text: raw text, whole or one
        sentence per line, or JSON lines with id and text (default: %(default)s)""",
    )
    parser.add_argument(
        "--encoding",
        type=_parse_encoding,
        default=UTF_8,
        metavar="NAME",
        help="""encoding of input that is not CoNLL-U, such as latin-1, cp1252 or utf-16
        (default: %(default)s)""",
    )
    for key in ("id", "text"):
        parser.add_argument(
            f"--{key}-key",
            default=key,
            metavar="KEY",
            help=f"name of the {key} in JSON lines (default: %(default)s)",
        )


def add_files(parser, name, what, rest="", **options):
    """Add an argument that names files of trees."""
    files = parser.add_argument(
        name,
        metavar=name.upper(),
        help=f"""{what}: CoNLL-U, possibly .gz; a folder with its sub-folders, a quoted pattern, or
        - for standard input{rest}""",
        **options,
    )
    files.required = "default" not in options  # nargs="*" would find no file behind an option


def add_on_error(parser, skip):
    """Add the choice between stopping at an invalid sentence and skipping it."""
    parser.add_argument(
        "--on-error",
        choices=["stop", "skip"],
        default="stop",
        help=f"""at a sentence that is not valid, stop, or {skip}; a file that cannot be read is
        left out, too (default: %(default)s)""",
    )


def _parse_encoding(name):
    """Check the name of an encoding; UTF-8 has one name."""
    try:
        "".encode(name)
    except LookupError:
        raise argparse.ArgumentTypeError(
            f"{name!r} is no encoding that Python knows, such as latin-1 or utf-16"
        ) from None
    return codecs.lookup(name).name


def _parse_setting(text):
    """Split NAME=VALUE; the value is a Python literal, such as a number or a list, or a str."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as n_states=6")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def parse_count(text, least=1):
    """Convert an argument to a whole number that is not below `least`."""
    if not text.isdecimal() or int(text) < least:
        kind = "positive " if least else ""
        rest = f" of at least {least}" if least > 1 else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}whole number{rest}")
    return int(text)


def add_n_jobs(parser, default="1"):
    """Add the number of workers."""
    parser.add_argument(
        "--n-jobs",
        type=int,
        metavar="N",
        help=f"number of workers, -1 for all cores (default: {default})",
    )

"""The commands `demo`, drawn trees of a text or scores of grammars, and `draw`, pages of trees."""

import os
import shlex
import shutil
import time

from sklearn.model_selection import train_test_split

from sklearn_shag.datasets import load_english, load_parser
from sklearn_shag.learning import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.metrics import exact_match_score, unlabeled_attachment_score
from sklearn_shag.parsing import head_probabilities
from sklearn_shag.treebank import display_width, list_sources, pad_cells, read_conllu, to_html
from sklearn_shag.utils._io import write_text
from sklearn_shag.utils._messages import printable

N_STATES = 8
EXAMPLE = "The tide came in while we were asleep. We saw the man with the dog."
NEXT = """It is low for "dog", since either we or the man may have had the dog.

Next, parse a sentence of your own, or a file of English text:

  {0} demo "Type any sentence here."
  {0} parse english text.txt --input text -o parsed.conllu

Train a parser for your language on a treebank (CoNLL-U):

  {0} train treebank.conllu -o model.npz --text

See how well grammars with hidden states parse from tags alone:

  {0} demo --grammars"""


def demo(options):
    """Parse a text and draw its trees; or train grammars, score them, and draw one of their trees.

    Parameters
    ----------
    options : argparse.Namespace
        With `text`, `grammars`, `treebank`, `n_jobs` and `program`.

    Raises
    ------
    ValueError
        If both a text and a treebank or the grammars are wanted, or workers without grammars, or
        the text is blank.
    """
    wants_grammars = options.grammars or options.treebank is not None
    if options.text is not None and wants_grammars:
        raise ValueError(
            "A text is parsed by the bundled parser, but --grammars and --treebank train grammars; "
            "leave one of them out."
        )
    if options.n_jobs is not None and not wants_grammars:
        raise ValueError("--n-jobs is for the training of grammars; add --grammars.")
    if wants_grammars:
        compare_grammars(options.treebank, options.n_jobs, options.program)
    elif options.text is not None:
        _parse_text(options.text)
    else:
        _parse_text(EXAMPLE)
        print(NEXT.format(options.program))


def draw(options):
    """Draw the trees of files on a page.

    Parameters
    ----------
    options : argparse.Namespace
        With `file`, `output`, `highlight`, `colors` and `compact`.

    Raises
    ------
    ValueError
        If the output is one of the inputs.
    """
    from sklearn_shag.cli._models import check_output  # whose imports would slow down `demo`

    check_output(options.output, list_sources(options.file))
    wanted = set(options.highlight.split(","))
    page = to_html(
        read_conllu(options.file),
        highlight=lambda token: token.deprel in wanted,
        colors=options.colors,
        compact=options.compact,
    )
    with write_text(options.output) as write:
        write(page.encode())


def _parse_text(text):
    """Draw the tree of each sentence of a text, with the probability of the head of each word."""
    parser = load_parser("english")
    trees = parser.parse_text(text)
    if not trees:
        raise ValueError("The text is blank: there is nothing in it to parse.")
    heads = [tree.heads for tree in trees]
    probabilities = head_probabilities(parser.predict_marginals(trees), heads)
    for tree, of_words in zip(trees, probabilities, strict=True):
        for row, probability in zip(pad_cells(str(tree).split("\n")), of_words, strict=True):
            print(f"{row}  {100 * probability:5.1f} %")
        print()
    print("The last column is the probability of the head that each word has.")


def compare_grammars(treebank=None, n_jobs=None, program="sklearn-shag"):
    """Train four grammars on tags, print their scores, and show a true tree beside a parsed one.

    Parameters
    ----------
    treebank : None or str, default=None
        A folder; None takes the bundled sentences.
    n_jobs : int or None, default=None
    program : str, default="sklearn-shag"
        The name of the program in what to type next.
    """
    train, test, own = _read_splits(treebank)
    print(f"{len(train)} sentences to learn from, {len(test)} to parse\n")
    hidden = {"n_states": N_STATES, "smoothing": 5.0, "n_jobs": n_jobs}
    spectral = f"SPECTRAL, {N_STATES} states"
    models = {
        "DET": DeterministicSHAG("single", n_jobs=n_jobs),
        "DET+F": DeterministicSHAG("first", n_jobs=n_jobs),
        spectral: SpectralSHAG(**hidden),
        f"EM, {N_STATES} states": EMSHAG(init="moments", max_iter=100, **hidden),
    }
    started = time.perf_counter()
    for model in models.values():  # on the data used below, so that all code is compiled
        model.fit(train).predict(test)
    print(f"First run, with compiling or loading code: {time.perf_counter() - started:.1f} s\n")
    _print_scores(models, train, test)
    # The sentence to draw: of readable length, and the same whatever the models think of it.
    chosen = min(test, key=lambda tree: abs(len(tree) - 12))
    _print_trees(chosen, models[spectral].parse([chosen])[0], f"parsed by {spectral}")
    print(f"\nNext, learn from your own treebank:\n\n  {program} train {own}")


def _read_splits(folder):
    """Return trees to learn from, trees to parse, and example arguments of the command `train`."""
    if folder is None:
        print("Treebank: the bundled English sentences, a quarter of them for testing")
        train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
        return train, test, "your-treebank.conllu -o model.npz"
    print(f"Treebank: {printable(folder)}")
    train, test = (os.path.join(folder, f"*{split}*.conllu*") for split in ("train", "test"))
    own = f"{printable(shlex.quote(train))} -o model.npz"
    return read_conllu(train), read_conllu(test), own


def _print_scores(models, train, test):
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
    print(
        "\nDET and DET+F count; SPECTRAL and EM learn hidden states, in two ways."
        "\nUAS: the share of words that get the right head, punctuation included."
        "\nexact: the share of sentences in which all words do."
    )


def _print_trees(true, parsed, title):
    """Draw two trees, beside each other if the terminal is wide enough."""
    print(f"\n{printable(' '.join(true.forms), max_length=None)}\n")
    right = true.heads == parsed.heads
    rows = zip(str(parsed).split("\n"), right, strict=True)  # one per word
    drawings = [
        ["the true tree", "", *str(true).split("\n")],
        [title, "", *(row if is_right else f"{row} *" for row, is_right in rows)],
    ]
    beside = list(map((6 * " ").join, zip(*map(pad_cells, drawings), strict=True)))
    if display_width(beside[0]) <= shutil.get_terminal_size().columns:
        print("\n".join(map(str.rstrip, beside)))
    else:
        print("\n\n".join(map("\n".join, drawings)))
    marked = "" if right.all() else "; * marks the others"
    print(f"\n{right.sum()} of {len(true)} words have the right head{marked}.")

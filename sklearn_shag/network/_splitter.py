"""The network over characters: where tokens and sentences of a text end."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise
from os.path import commonprefix
from typing import Literal, NamedTuple, Self, TextIO
from unicodedata import category

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._parser import Parser
from sklearn_shag.conditional import without_heads
from sklearn_shag.encoding import UNKNOWN, Batch, check_sentences, number_values, place_codes
from sklearn_shag.network._estimators import NetworkLearner
from sklearn_shag.network._network import open_network, read_sentences
from sklearn_shag.treebank import (
    INSIDE,
    SENTENCE,
    DependencyTree,
    Sentences,
    TreeTransformer,
    blank_spaces,
    check_text,
    correct_ends,
    iter_text,
    list_paragraphs,
    list_tokens,
    require_trees,
    to_text,
    to_trees,
)
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._param_validation import fit_context
from sklearn_shag.utils._typing import FilePath, RandomSeed

# Characters of a piece of text, and of the margins on both sides that the network reads, too.
PIECE, MARGIN = 400, 40
OF_CHARACTERS = ("character", "pair", "shapes", "word")  # the columns of characters
BEFORE, AFTER = 2, 3  # shapes around a character; a blank line has two characters
SIGNS = ".,!?'\"-():;"  # which are their own shapes
ALONE = 0.1  # share of training sentences that get a blank line before them
# For unknown tokens of several words: the most letters of the ending in a rule, and the most of
# these letters that the first word keeps.
LONGEST_ENDING, MORE = 8, 3


class SplitterFormat(NamedTuple):
    """Format of raw text, split by a splitter, with the methods of a TextFormat."""

    splitter: "Splitter"

    def pieces(self, sources):
        """Read files of :func:`list_sources` piece by piece."""
        return iter_text(sources)

    def sentences(self, piece):
        """Yield for each sentence of a piece its line number, None for its text, and its tree."""
        line, place = piece.n_lines + 1, 0
        for tree in self.splitter._split(piece.text, count(1), piece.n_characters):
            begin = tree.spans[0][0] - piece.n_characters
            line, place = line + piece.text.count("\n", place, begin), begin
            yield line, None, tree


class Splitter(TreeTransformer, NetworkLearner):
    """Split text into sentences, tokens and words.

    It is the step before the parser in a pipeline, whose :meth:`ParserPipeline.parse_text` then
    takes raw text. A network reads the characters in both directions. It predicts for each whether
    a token or a sentence ends there, and whether the token contains several words, as French "du"
    does. These words are looked up among the training tokens; unknown tokens are split like
    training tokens with the same last letters, such as English "'s".

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(64, 64)
        Number of units per direction in each recurrent layer.
    dropout : "auto" or float, default="auto"
        Probability that an entry of a layer is set to 0 in training. "auto" means 0.1.
    batch_size : "auto" or int, default="auto"
        Approximate number of characters per step. "auto" means 500 for fewer than 100,000 training
        characters and 2,000 otherwise.
    max_iter : "auto" or int, default="auto"
        Number of passes over the text. "auto" means 20 for fewer than 100,000 training characters,
        12 for fewer than 300,000, 8 for fewer than 600,000, and 4 otherwise.
    learning_rate_init : float, default=5e-3
        Learning rate of Adam after the first few steps; it then falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of characters in a batch.
    min_count : int, default=2
        Characters, character pairs, shapes and words that were seen less often count as unknown.
    max_tokens : int or None, default=500
        Longer sentences are cut, since the time to parse one grows with the cube of its length.
        None leaves them whole.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the order of pieces of text, and random replacement and
        dropout.
    n_jobs : int or None, default=None
        Number of threads for training, which uses at most two. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on standard error for training that takes more than two seconds; 2
        shows it for all training.

    Attributes
    ----------
    words_ : dict of list of str
        The words of tokens that always contained several in training.
    ambiguous_ : dict of list of str
        The words of tokens that contained several in some places and one in others.
    endings_ : dict of list of str
        For the last letters of such tokens, the end of the first word, and the other words.
    vocabulary_ : dict of list of str
        The known characters, character pairs, shapes of neighbours, and words.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    loss_curve_ : list of float
        Mean of ``-log P(what ends | text)`` per character in each iteration, measured before each
        step is taken.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    make_parser_pipeline : Puts a splitter before a parser.
    sklearn_shag.treebank.join_text : Restores the text of sentences.
    sklearn_shag.metrics.raw_text_scores : Scores the analysis of raw text.

    Notes
    -----
    It learns from the annotation in treebanks of Universal Dependencies: the comment "text" of each
    sentence, or else SpaceAfter=No in MISC; tokens of several words; and the comments "newpar" and
    "newdoc". A blank line always ends a sentence, and a line end always ends a token.

    The sentences it makes have the comments "newpar", "sent_id" and "text". MISC of each token has
    TokenRange, the position of its characters in the text, and SpaceAfter, SpacesAfter and
    SpacesBefore, as UDPipe writes them.

    Examples
    --------
    >>> from sklearn_shag import Splitter
    >>> from sklearn_shag.datasets import load_english
    >>> splitter = Splitter(max_iter=8, random_state=0).fit(load_english().data)
    >>> sentences = splitter.split_text("The cat sat on my mat. It slept, I think.")
    >>> [" ".join(tree.forms) for tree in sentences]
    ['The cat sat on my mat .', 'It slept , I think .']
    >>> sentences[1].spans[0]
    (23, 25)
    """

    _parameter_constraints = {
        **NetworkLearner._parameter_constraints,
        "max_tokens": Parser._parameter_constraints["max_tokens"],
    }

    # As SCHEDULE, but for characters, which are more and less diverse than tokens.
    _schedule = (
        (100_000, 500, 20, 0.1),
        (300_000, 2000, 12, 0.1),
        (600_000, 2000, 8, 0.1),
        (np.inf, 2000, 4, 0.1),
    )

    words_: dict[str, list[str]]
    ambiguous_: dict[str, list[str]]
    endings_: dict[str, list[str]]

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (64, 64),
        dropout: Literal["auto"] | float = "auto",
        batch_size: Literal["auto"] | int = "auto",
        max_iter: Literal["auto"] | int = "auto",
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        max_tokens: int | None = 500,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate_init = learning_rate_init
        self.alpha = alpha
        self.min_count = min_count
        self.max_tokens = max_tokens
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context
    def fit(self, X: Sentences, y: object = None) -> Self:
        """Learn where tokens and sentences end.

        Parameters
        ----------
        X : sequence of length n_sentences
            DependencyTrees in the order of their texts; they need neither tags nor heads.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or a parameter is invalid.
        TypeError
            If X holds anything but trees.
        """
        self._check_sizes()
        trees, rng = _check_trees(X), check_random_state(self.random_state)
        alone = np.flatnonzero(rng.uniform(size=len(trees)) < ALONE)
        text, ends = to_text(trees, set(alone.tolist()))
        paragraphs = list_paragraphs(text)
        columns = list(_iter_columns(text, paragraphs))
        vocabulary = {
            name: [values[k] for k in np.flatnonzero(counts >= self.min_count)]
            for name, values, counts, _ in columns
        }
        start = self._begin(vocabulary, rng)
        places, is_own, indptr = _cut_into_pieces(text, paragraphs)
        codes = _encode_characters(_number_columns(vocabulary), columns)[places]
        tags = np.where(is_own, ends[places], -1)[:, np.newaxis]
        examples = without_heads(codes, indptr, tags, np.ones(indptr.size - 1))
        learned = self._learn_tags(start, examples, rng)
        vars(self).update(_learn_words(trees) | learned)
        return self

    def split_text(self, text: str) -> list[DependencyTree]:
        """Split a text.

        Parameters
        ----------
        text : str
            The text, with any white space and line ends.

        Returns
        -------
        trees : list of DependencyTree
            Its sentences, without heads; none if it is blank.
            :func:`~sklearn_shag.treebank.join_text` restores the text from them exactly.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        TypeError
            If `text` is not a str.
        ValueError
            If `text` contains NUL or a lone surrogate, which no text file can contain.
        """
        check_is_fitted(self)
        check_text(text)
        return list(self._split(text, count(1), 0))

    def iter_split_text(
        self, path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO]
    ) -> Iterator[DependencyTree]:
        """Split the text of files of any size.

        Parameters
        ----------
        path_or_file : str, os.PathLike, text file, or list or tuple of them
            As for :func:`~sklearn_shag.treebank.read_horizontal`. A paragraph of more than a
            megabyte is also split at the end of one of its lines.

        Returns
        -------
        trees : iterator of DependencyTree
            The sentences, as in :meth:`split_text`. TokenRange counts the characters of each file,
            with CRLF as one. About two megabytes of text are in memory at once.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ConlluError
            If a file is not text in UTF-8.
        OSError, ValueError, TypeError
            If a file cannot be read, or no file is given.
        """
        check_is_fitted(self)
        numbers, pieces = count(1), iter_text(path_or_file)
        return chain.from_iterable(self._split(p.text, numbers, p.n_characters) for p in pieces)

    def _split(self, text, numbers, n_before):
        """Yield the sentences of a text, numbered, with `n_before` characters before it."""
        if not text.strip():
            return
        paragraphs = list_paragraphs(text)
        ends = self._find_ends(text, paragraphs)
        yield from to_trees(text, ends, self._words_of, numbers, n_before)

    def _find_ends(self, text, paragraphs):
        """Predict the end at each character, (n_characters,), from INSIDE to SENTENCE."""
        known, network = keep(self, (self.vocabulary_, self.weights_), _open_splitter)
        codes = _encode_characters(known, _iter_columns(text, paragraphs))
        places, is_own, indptr = _cut_into_pieces(text, paragraphs)
        found = read_sentences(network, Batch(codes[places], indptr)).tags[:, 0]
        ends = np.full(len(text), INSIDE, dtype=np.int8)
        ends[places[is_own]] = found[is_own]
        correct_ends(ends, text, paragraphs, self.max_tokens)
        return ends

    def _words_of(self, form, seems_several):
        """Return the words of a token, None if it is a single word."""
        for known in (form, form.lower()):
            words = self.words_.get(known) or (seems_several and self.ambiguous_.get(known))
            if words:
                return words if known == form else _in_case_of(form, words)
        for k in range(max(1, len(form) - LONGEST_ENDING), len(form) if seems_several else 0):
            letters = form[k:]
            if ending := self.endings_.get(letters.lower()):
                if "".join(ending) == letters.lower():  # they are its letters, also in capitals
                    cuts = np.cumsum([0, *map(len, ending)]).tolist()
                    ending = [letters[a:b] for a, b in pairwise(cuts)]
                return [form[:k] + ending[0], *ending[1:]]
        return None

    def transform(self, X: Sentences) -> list[DependencyTree]:
        """Return sentences, which are already split, unchanged.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences as the next step of a pipeline takes them. For text use :meth:`split_text`,
            since one text makes several sentences.

        Returns
        -------
        sentences : list
            The sentences in X.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ValueError, TypeError
            If X does not hold sentences.
        """
        check_is_fitted(self)
        return check_sentences(X, allow_empty=True)[0]

    def score(self, X: Sentences, y: object = None) -> float:
        """Compute how well the text of trees is split.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        score : float
            The mean of the token F1 and the sentence F1, in [0, 1], as in
            :func:`~sklearn_shag.metrics.raw_text_scores`.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ValueError, TypeError
            As for :meth:`fit`.
        """
        check_is_fitted(self)
        text, true = to_text(_check_trees(X))
        scores, found = [], self._find_ends(text, list_paragraphs(text))
        for least in (INSIDE + 1, SENTENCE):
            places = [np.flatnonzero(ends >= least).tolist() for ends in (true, found)]
            one, other = (set(pairwise([-1, *of_side])) for of_side in places)
            scores.append(2 * len(one & other) / (len(one) + len(other)))
        return float(np.mean(scores))


def _check_trees(X):
    trees, _ = check_sentences(X)
    require_trees(trees, "X", "where tokens and sentences end is")
    return trees


def _open_splitter(vocabulary, weights):
    """Return the code of each known value of each column, and the Network."""
    return _number_columns(vocabulary), open_network(weights, vocabulary)


def _number_columns(vocabulary):
    return {name: number_values(values) for name, values in vocabulary.items()}


def _encode_characters(code_of, columns):
    """Return the codes of characters, (n_characters, n_columns)."""
    return place_codes(
        ([code_of[name].get(value, UNKNOWN) for value in values], places)
        for name, values, _, places in columns
    )


def _iter_columns(text, paragraphs):
    """Yield each column of characters: its name, distinct values, their counts, and places.

    The places are the index of the value of each character.
    """
    text = blank_spaces(text)
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    distinct, places = np.unique(points, return_inverse=True)
    signs, n = list(map(chr, distinct.tolist())), distinct.size
    yield "character", signs, np.bincount(places), places
    pairs, of_pairs = np.unique(places * n + np.append(places[1:], places[-1]), return_inverse=True)
    values = [signs[pair // n] + signs[pair % n] for pair in pairs.tolist()]
    yield "pair", values, np.bincount(of_pairs), of_pairs
    # Shapes are ASCII.
    shapes, size = np.array([ord(_shape_of(sign)) for sign in signs])[places], BEFORE + 1 + AFTER
    shapes = np.pad(shapes, (BEFORE, AFTER), constant_values=ord(" "))
    windows = np.lib.stride_tricks.sliding_window_view(shapes, size).copy()
    windows[[end - 1 for _, end in paragraphs], -1] = ord(" ")  # no paragraph sees the next one
    numbers = windows @ 128 ** np.arange(size)
    distinct, firsts, of_windows = np.unique(numbers, return_index=True, return_inverse=True)
    values = ["".join(map(chr, window)) for window in windows[firsts].tolist()]
    yield "shapes", values, np.bincount(of_windows), of_windows
    in_word = np.array([_is_letter(sign) or sign.isdigit() for sign in signs])[places]
    begins = np.flatnonzero(np.append(True, ~(in_word[1:] & in_word[:-1])))
    cuts = pairwise([*begins.tolist(), len(text)])
    words = [text[begin:end] for begin, end in cuts]
    numbers = {word: k for k, word in enumerate(sorted(set(words)))}
    of_words = np.array([numbers[word] for word in words])
    lengths = np.diff(begins, append=len(text))
    yield "word", list(numbers), np.bincount(of_words), np.repeat(of_words, lengths)


def _is_letter(sign):
    return sign.isalpha() or category(sign)[0] == "M"


def _shape_of(sign):
    if _is_letter(sign):
        return "X" if sign.isupper() else "x" if sign.islower() else "l"
    return "9" if sign.isdigit() else sign if sign in (" ", *SIGNS) else "*"


def _cut_into_pieces(text, paragraphs):
    """Cut paragraphs into pieces, by preference at spaces, with margins.

    Returns
    -------
    places : int ndarray of shape (n_rows,)
        Indices of characters of the text.
    is_own : bool ndarray of shape (n_rows,)
        Whether each belongs to the piece, and not to a margin.
    indptr : int ndarray of shape (n_pieces + 1,)
        Piece k has the rows ``indptr[k]:indptr[k + 1]``.
    """
    places, is_own = [], []
    for begin, end in paragraphs:
        first = begin
        while first < end:
            last = min(first + PIECE, end)
            if last < end:
                last = max(text.rfind(" ", first + PIECE // 2, last) + 1, 0) or last
            places.append(np.arange(max(first - MARGIN, begin), min(last + MARGIN, end)))
            is_own.append((places[-1] >= first) & (places[-1] < last))
            first = last
    sizes = list(map(len, places))
    return np.concatenate(places), np.concatenate(is_own), np.cumsum([0, *sizes])


def _learn_words(trees):
    """Return `words_`, `ambiguous_` and `endings_`, learned from tokens of several words."""
    seen = defaultdict(Counter)
    for tree in trees:
        position = 0
        for form, _, n_words, _ in list_tokens(tree):
            seen[form][tree.forms[position : position + n_words] if n_words > 1 else None] += 1
            position += n_words
    words, ambiguous, ended = {}, {}, defaultdict(Counter)
    for form, counts in sorted(seen.items()):
        n_alone = counts.pop(None, 0)
        if not counts:
            continue
        ((chosen, _),) = counts.most_common(1)
        (ambiguous if n_alone else words)[form] = list(chosen)
        first, *others = (word.lower() for word in chosen)
        n_same = len(commonprefix([form.lower(), first]))  # noqa: RUF071  (they are no paths)
        shortest = max(1, n_same - MORE, len(form) - LONGEST_ENDING)
        for k in range(shortest, min(n_same, len(form) - 1) + 1):
            ended[form[k:].lower()][first[k:], *others] += 1
    endings = {
        letters: list(counts.most_common(1)[0][0])
        for letters, counts in sorted(ended.items())
        if counts.total() > 1  # one token is no rule
    }
    return {"words_": words, "ambiguous_": ambiguous, "endings_": endings}


def _in_case_of(form, words):
    """Capitalise the words of a token, known in lower case, as the token is."""
    if form.isupper() and len(form) > 1:
        return [word.upper() for word in words]
    first, *others = words
    return [first[:1].upper() + first[1:], *others] if form[0].isupper() else words

"""The public edge: sentences and heads as users give them, checked and flattened."""

import io
import os
from itertools import accumulate, chain, compress, pairwise, repeat
from numbers import Number
from types import NoneType
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from sklearn_shag.encoding._alphabet import Alphabet
from sklearn_shag.encoding._batch import take_entries
from sklearn_shag.treebank import MISSING, DependencyTree, check_share, fill_unknown, known_heads
from sklearn_shag.treebank import heads as heads_of
from sklearn_shag.utils._arrays import is_collection, refuse_set, unpack_column
from sklearn_shag.utils._heads import UNKNOWN, advise_on_convention, check_tree
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import check_sample_weight

_READ = "Read a treebank with sklearn_shag.treebank.read_conllu(path)"
# The first row whose type fits is taken.
_SENTENCES = {
    str: f"{_READ}, or, if it is text, call parse_text of a pipeline with a Splitter. Put the "
    "symbols of one sentence in a list of lists: [['DET', 'NOUN']].",
    os.PathLike | io.IOBase: f"{_READ}.",
    Bunch: "Pass the trees in it, its .data or its .train.",
    DependencyTree: "Put one sentence in a list: [sentence].",
    object: "Pass a list of trees, or of lists of symbols.",
}
_MISSING = "Its tag is missing: tag the text first, or leave the sentence out."
_SYMBOLS = {
    str: _MISSING,
    NoneType: _MISSING,
    bytes: "Decode it: symbol.decode().",
    Number: "Convert numbers that stand for tags: [str(symbol) for symbol in sentence].",
    list | tuple | np.ndarray: "This is one level of nesting too many, or pairs of words and tags "
    "or of tags and heads: X[i] is the tags of a sentence, and y[i] its heads.",
    dict: "If it is a token of the library conllu, sklearn_shag.treebank.from_token_list(sentence) "
    "turns it into a tree.",
    object: "Use the tag of a token, such as token.pos_ of spaCy, or make trees with "
    "sklearn_shag.treebank.from_spacy(doc).",
}


def advise_on_symbol(symbol):
    """Return advice on a symbol that is empty or not a string."""
    is_nan = isinstance(symbol, Number) and symbol != symbol
    return _MISSING if is_nan else _look_up(_SYMBOLS, symbol)


def _look_up(table, value):
    return next(advice for kind, advice in table.items() if isinstance(value, kind))


class EncodedTrees(NamedTuple):
    """Trees as arrays.

    Attributes
    ----------
    symbols : ndarray of shape (n_symbols,), dtype object
        The symbols that occur, sorted; the code of each is its position.
    codes, heads : int ndarrays of shape (n_tokens,)
        Symbol code and head position, within the sentence, of every token; -1 where partial trees
        are asked for and the head is not known.
    indptr : int ndarray of shape (n_sentences + 1,)
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.
    labels : ndarray of shape (n_labels,), dtype object
        The relations of arcs that occur, sorted; the code of each is its position.
    label_codes : int ndarray of shape (n_tokens,)
        The relation of every token to its head, -1 where it is not known.
    weights : float ndarray of shape (n_sentences,)
        Positive weight of each sentence.
    kept : bool ndarray of shape (n_sentences of X,)
        Whether each sentence of X is among these, since its weight is not 0.
    """

    symbols: np.ndarray
    codes: np.ndarray
    heads: np.ndarray
    indptr: np.ndarray
    labels: np.ndarray
    label_codes: np.ndarray
    weights: np.ndarray
    kept: np.ndarray


def encode_trees(X, y=None, sample_weight=None, learner=None, *, partial=False):
    """Check trees and weights as users give them, and flatten them.

    Parameters
    ----------
    X, y
        As for :func:`check_sentences` and :func:`check_heads`.
    sample_weight : None or array-like of shape (n_sentences,)
        Weight of each sentence. A sentence of weight 0 is as good as absent: its symbols do not
        become known, and its heads may be unknown.
    learner : None or str, default=None
        The name of the estimator that needs whole trees, for messages.
    partial : bool, default=False
        As for :func:`check_heads`.

    Returns
    -------
    trees : EncodedTrees

    Raises
    ------
    ValueError, TypeError
        As the two functions; also if weights are negative, not finite or all zero.
    """
    sentences, symbols = check_sentences(X)
    y = list(y) if is_collection(y) else y
    heads = _collect_heads(sentences, y, "y", partial)
    weights = check_sample_weight(sample_weight, sentences)
    labels = list_labels(sentences, heads, y)
    kept = weights > 0
    if not partial:
        require_whole(sentences, heads, kept, y, learner=learner)
    if not kept.all():
        heads = heads[np.repeat(kept, [len(sentence) for sentence in symbols])]
        symbols, labels = list(compress(symbols, kept)), list(compress(labels, kept))
    known = np.array(sorted(set().union(*symbols)), dtype=object)
    codes, indptr = encode_sentences(symbols, known)
    known_labels = collect_labels(labels)
    return EncodedTrees(
        symbols=known,
        codes=codes,
        heads=heads,
        indptr=indptr,
        labels=known_labels,
        label_codes=encode_labels(labels, known_labels),
        weights=weights[kept],
        kept=kept,
    )


def decode_trees(symbols, codes, heads, indptr):
    """Make trees of arrays such as those of :class:`EncodedTrees`, whose forms are their symbols.

    Parameters
    ----------
    symbols : sequence of str
        The symbol of each code.
    codes, heads : int ndarrays of shape (n_tokens,)
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    trees : list of DependencyTree
    """
    words = np.asarray(symbols, dtype=object)[codes]
    return [
        DependencyTree(words[start:stop].tolist(), heads[start:stop])
        for start, stop in pairwise(indptr)
    ]


class CheckedSentences(list):
    """Sentences as users give them, with results about them that are shared within one call.

    Results are kept here for later steps of the same call of a public method. They end with that
    call, and are not sent to other processes.

    Attributes
    ----------
    symbols : list of sequences of str, or None
    vectors : list of ContextVectors
        Vectors of each source that was asked.
    spellings : Spellings or None
        Spellings of their forms, if letters are read.
    file_columns, token_columns : dict
        Columns of files, and columns that parsers derive from them, by name.
    lessons : sequence of length 0 or n_sentences
        What a teacher says of each sentence, or None where all is known.
    """

    def __init__(self, sentences, symbols=None, vectors=(), lessons=()):
        super().__init__(sentences)
        self.symbols, self.vectors, self.lessons = symbols, list(vectors), lessons
        self.file_columns, self.token_columns, self.spellings = {}, {}, None

    def take(self, chosen):
        """Return the sentences `chosen`, an int array, in their order, with all but columns."""
        symbols = take_entries(self.symbols, chosen)
        vectors = (of_source.take(chosen) for of_source in self.vectors)
        lessons = [self.lessons[s] for s in chosen] if self.lessons else ()
        return CheckedSentences(map(self.__getitem__, chosen), symbols, vectors, lessons)

    def __reduce__(self):
        return CheckedSentences, (list(self),)


def check_sentences(X, allow_empty=False):
    """Check sentences and return the symbols of each.

    Parameters
    ----------
    X : iterable of sentences
        Each a DependencyTree or a non-empty sequence of str.
    allow_empty : bool, default=False
        Whether there may be no sentences.

    Returns
    -------
    sentences : CheckedSentences
        The sentences as given; X itself if it was checked before.
    symbols : list of sequences of str

    Raises
    ------
    ValueError
        If there is no sentence, one has no tokens, or a symbol is empty.
    TypeError
        If X is a single sentence, a data frame of several columns or no sequence, or a symbol is
        not a string.
    """
    if isinstance(X, CheckedSentences) and X.symbols is not None:
        return X, X.symbols
    X = unpack_column(X)  # as transformers of trees make it after set_output
    refuse_set(X, "X")
    if not is_collection(X):
        raise TypeError(
            f"X must be a sequence of sentences, got a single {type(X).__name__}. "
            f"{_look_up(_SENTENCES, X)}"
        )
    if hasattr(X, "columns"):  # iterated, a data frame gives the names of its columns
        raise TypeError(
            f"X is a {type(X).__name__}; pass a list of sentences, each a list of symbols. With "
            f"one row per sentence: X['symbols'].tolist(); with one row per token: [list(symbols) "
            f"for _, symbols in X.groupby('sentence', sort=False)['symbol']]."
        )
    sentences = CheckedSentences(X)
    if not (sentences or allow_empty):
        raise ValueError("X holds no sentences; at least one is needed.")
    symbols = [_symbols_of(sentence, index) for index, sentence in enumerate(sentences)]
    if not _are_symbols(symbols):
        _raise_for_symbol(symbols)
    sentences.symbols = symbols
    return sentences, symbols


def _symbols_of(sentence, index):
    if isinstance(sentence, DependencyTree):
        return sentence.symbols
    if isinstance(sentence, set | frozenset | dict) or not hasattr(sentence, "__len__"):
        raise TypeError(
            f"X[{index}] is of type {type(sentence).__name__}; a sentence is a DependencyTree or a "
            f"sequence of symbols (str)."
        )
    if isinstance(sentence, str):
        raise TypeError(
            f"X[{index}] is the string {shorten(sentence)}, not a sequence of symbols. If its "
            f"symbols are separated by spaces, pass X[{index}].split(); if X is one sentence, put "
            f"it in a list: [X]; if it is text, call parse_text of a pipeline with a Splitter."
        )
    if isinstance(sentence, np.ndarray) and sentence.ndim != 1:
        raise TypeError(f"X[{index}] is an array of {sentence.ndim} dimensions; a sentence has 1.")
    symbols = sentence.tolist() if isinstance(sentence, np.ndarray) else list(sentence)
    if not symbols:
        raise ValueError(f"X[{index}] has no tokens; remove empty sentences.")
    return symbols


def _are_symbols(symbols):
    try:
        distinct = set().union(*symbols)
    except TypeError:  # a symbol without a hash is no string
        return False
    return "" not in distinct and all(isinstance(symbol, str) for symbol in distinct)


def _raise_for_symbol(symbols):
    for index, sentence in enumerate(symbols):
        for position, symbol in enumerate(sentence):
            if not isinstance(symbol, str):
                raise TypeError(
                    f"X[{index}]: the symbol at position {position} is {shorten(symbol)} of type "
                    f"{type(symbol).__name__}; symbols must be strings. {advise_on_symbol(symbol)}"
                )
            if not symbol:
                raise ValueError(
                    f"X[{index}]: the symbol at position {position} is empty. "
                    f"{advise_on_symbol(symbol)}"
                )


def check_heads(sentences, y, name="y", *, partial=False):
    """Check the heads of sentences and flatten them.

    Parameters
    ----------
    sentences : list
        As :func:`check_sentences` returns them.
    y : None or sequence of int sequences
        ``y[i]`` holds the head of every token of sentence i, 1-based, 0 for the root, -1 where it
        is not known, or is a DependencyTree with these heads. None takes the heads of the trees in
        `sentences`.
    name : str, default="y"
        Name of `y` in messages.
    partial : bool, default=False
        Whether heads may be unknown. If any tree has heads, trees without heads have unknown ones.

    Returns
    -------
    heads : int ndarray of shape (n_tokens,)

    Raises
    ------
    ValueError
        If heads are missing, or those of a sentence are not a tree over its tokens, or are unknown
        where they must not be.
    TypeError
        If y is no sequence.
    """
    heads = _collect_heads(sentences, y, name, partial)
    if not partial:
        require_whole(sentences, heads, kept=np.ones(len(sentences), dtype=bool), y=y, name=name)
    return heads


def _collect_heads(sentences, y, name, partial):
    """Check heads, of which some may be unknown, and flatten them, (n_tokens,)."""
    if y is None:
        return _join(heads_of(fill_unknown(sentences) if partial else sentences))
    refuse_set(y, name)
    if not is_collection(y):
        raise TypeError(
            f"{name} must be a sequence with the heads of each sentence, got a single "
            f"{type(y).__name__}: {shorten(y)}"
        )
    y = fill_unknown(list(y)) if partial else list(y)
    if len(y) != len(sentences):
        raise ValueError(f"X holds {len(sentences)} sentences but {name} the heads of {len(y)}.")
    return _join(
        _sentence_heads(heads, len(sentence), f"{name}[{index}]")
        for index, (heads, sentence) in enumerate(zip(y, sentences, strict=True))
    )


def _join(heads):
    """Join the heads of all sentences, of which there may be none, in an int ndarray."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *heads])


def require_whole(sentences, heads, kept, y, name="y", learner=None):
    """Refuse heads that are not known.

    Parameters
    ----------
    sentences : list
    heads : int ndarray of shape (n_tokens,)
    kept : bool ndarray of shape (n_sentences,)
        Sentences in which all heads must be known.
    y : object
        Where the heads are from, None for X.
    name, learner : str
        Names of `y`, and of the estimator that needs whole trees, in messages.
    """
    if heads.min(initial=0) > UNKNOWN:
        return
    parts = np.split(heads, np.cumsum([len(sentence) for sentence in sentences])[:-1])
    partial = [index for index in np.flatnonzero(kept) if UNKNOWN in parts[index]]
    if partial:
        part = parts[partial[0]]
        advice = advise_on_convention(part.tolist())
        source = "X" if y is None else name
        raise ValueError(
            f"{name_sentence(sentences[partial[0]], partial[0], source)} has unknown heads (-1), "
            f"{np.count_nonzero(part == UNKNOWN)} of {part.size}, the first at token "
            f"{np.argmax(part == UNKNOWN) + 1}, and {len(partial)} of {len(sentences)} sentences "
            f"have some; {learner or 'this call'} needs whole trees. Leave these sentences out, or "
            f"complete them with a fitted parser: parser.parse(trees, keep_heads=True)."
            + (f" Or, {advice}." if advice else "")
        )


def name_sentence(sentence, index, name="X"):
    """Name a sentence in a message, such as "X[3] ('Dogs bark')", or "X[3]" of codes."""
    words = sentence.forms if isinstance(sentence, DependencyTree) else sentence
    text = f" ({shorten(' '.join(words))})" if isinstance(words[0], str) else ""
    return f"{name}[{index}]{text}"


def list_labels(sentences, heads, y=None):
    """List the relation of every token to its head.

    Parameters
    ----------
    sentences : list
        As :func:`check_sentences` returns them.
    heads : int ndarray of shape (n_tokens,)
        As :func:`check_heads` returns them.
    y : None or list
        The heads as given. Relations come from its trees that have some, else from the trees in
        `sentences`, for tokens with the same heads.

    Returns
    -------
    labels : list of sequences of str
        Relations of each sentence, "_" if not known.
    """
    trees, known = sentences, heads >= 0
    if y is not None:
        trees = [
            given if isinstance(given, DependencyTree) and given.deprels else sentence
            for given, sentence in zip(y, sentences, strict=True)
        ]
        known &= heads == np.concatenate(list(map(known_heads, trees)))
    labels = [getattr(tree, "deprels", None) or (MISSING,) * len(tree) for tree in trees]
    if known.all():
        return labels
    known = iter(known.tolist())
    return [[label if next(known) else MISSING for label in sentence] for sentence in labels]


def collect_labels(labels):
    """Collect the relations of sentences, sorted, without "_", in an array of objects."""
    return np.array(sorted(set().union(*labels) - {MISSING}), dtype=object)


def encode_labels(labels, known):
    """Replace relations by their places among known ones.

    Parameters
    ----------
    labels : list of sequences of str
        Relations of each sentence.
    known : sequence of str

    Returns
    -------
    codes : int ndarray of shape (n_tokens,)
        -1 for unknown relations.
    """
    code_of = {label: code for code, label in enumerate(known)}
    return np.fromiter(
        map(code_of.get, chain.from_iterable(labels), repeat(-1)), np.int64, sum(map(len, labels))
    )


def check_trees(X, y=None, *, partial=True):
    """Check sentences and their heads, as :func:`check_sentences` and :func:`check_heads` do.

    Parameters
    ----------
    X, y
        As for :func:`check_sentences` and :func:`check_heads`.
    partial : bool, default=True
        Whether unlabelled trees among others have unknown heads, or none, which is an error.

    Returns
    -------
    sentences : list
        The sentences as given.
    heads : list of int ndarrays of shape (n_tokens_i,)
        -1 where a head is not known.
    """
    sentences, symbols = check_sentences(X)
    cuts = np.cumsum([len(sentence) for sentence in symbols])[:-1]
    return sentences, np.split(_collect_heads(sentences, y, "y", partial), cuts)


def _sentence_heads(heads, n_tokens, where):
    if isinstance(heads, DependencyTree):
        if heads.heads is None:
            raise ValueError(f"{where} is a tree without heads.")
        heads = heads.heads
    return check_tree(heads, where, n_tokens)


def check_allowed(allowed, lengths):
    """Check which arcs of sentences are allowed.

    Parameters
    ----------
    allowed : sequence
        For each sentence a boolean array of the shape (n_tokens, n_tokens + 1), or None for all.
    lengths : list of int
        Number of tokens of each sentence.

    Returns
    -------
    allowed : list of bool ndarrays

    Raises
    ------
    ValueError
        If their number, a shape or a type is another.
    """
    if not is_collection(allowed) or len(allowed) != len(lengths):
        raise ValueError(
            f"allowed must be a list with a boolean array, or None, for each of {len(lengths)} "
            f"sentences; got {type(allowed).__name__} {shorten(allowed)}."
        )
    checked = []
    for index, (arcs, n) in enumerate(zip(allowed, lengths, strict=True)):
        arcs = np.ones((n, n + 1), dtype=bool) if arcs is None else np.asarray(arcs)
        if arcs.dtype != bool or arcs.shape != (n, n + 1):
            raise ValueError(
                f"allowed[{index}] must be a boolean array of shape ({n}, {n + 1}) for a sentence "
                f"of {n} tokens, column 0 for the root; got {arcs.dtype} of shape {arcs.shape}."
            )
        checked.append(arcs)
    return checked


def encode_sentences(symbols, known, check=True):
    """Replace symbols by their codes; the code ``len(known)`` stands for all unknown symbols.

    Parameters
    ----------
    symbols : list of sequences of str
    known : sequence of str
        Distinct symbols; the code of each is its position.
    check : bool, default=True
        Whether to warn of many unknown symbols; False if the warning was given already.

    Returns
    -------
    codes : int ndarray of shape (n_tokens,)
        Codes of the tokens of all sentences.
    indptr : int ndarray of shape (n_sentences + 1,)
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.

    Raises
    ------
    ValueError
        If all symbols are ``_``, CoNLL-U's sign for a missing value.

    Warns
    -----
    UnknownSymbolWarning
        If more than 5 % of the symbols are unknown or ``_``.
    """
    code_of = {symbol: code for code, symbol in enumerate(known)}
    unknown = Alphabet(len(code_of)).unknown_modifier
    indptr = np.fromiter(accumulate(map(len, symbols), initial=0), np.int64, len(symbols) + 1)
    codes = np.fromiter(
        map(code_of.get, chain.from_iterable(symbols), repeat(unknown)), np.int64, indptr[-1]
    )
    if check:
        meaningless = (codes == unknown) | (codes == code_of.get(MISSING, unknown))
        check_share(np.count_nonzero(meaningless), codes.size, symbols, known)
    return codes, indptr

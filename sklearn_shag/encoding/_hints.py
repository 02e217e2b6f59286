"""What to do about X that is something else: the advice in messages, by type."""

import io
import os
from numbers import Number
from types import NoneType

import numpy as np
from sklearn.utils import Bunch

from sklearn_shag.treebank import DependencyTree

_READ = "Read a treebank with sklearn_shag.treebank.read_conllu(path)"
# The first row whose type fits is taken.
_SENTENCES = {
    str: f"{_READ}. One sentence is a list of symbols in a list: [['DET', 'NOUN']].",
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
    object: "Take the tag of a token, such as token.pos_ of spaCy.",
}


def advise_on_sentences(X):
    """What to pass in place of X, which is no sequence of sentences."""
    return _look_up(_SENTENCES, X)


def advise_on_symbol(symbol):
    """What to do about a symbol that is empty or no string."""
    is_nan = isinstance(symbol, Number) and symbol != symbol
    return _MISSING if is_nan else _look_up(_SYMBOLS, symbol)


def _look_up(table, value):
    return next(advice for kind, advice in table.items() if isinstance(value, kind))

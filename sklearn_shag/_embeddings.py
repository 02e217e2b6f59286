"""Vectors of words that were learned elsewhere, as users give them."""

from collections.abc import Mapping

import numpy as np

from sklearn_shag._column_groups import VECTOR_GROUP
from sklearn_shag.features import FIRST
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._messages import shorten

__all__ = ["read_embeddings", "tabulate_embeddings"]


def tabulate_embeddings(embeddings):
    """Make the table of a network from vectors of words.

    Parameters
    ----------
    embeddings
        As for :func:`read_embeddings`.

    Returns
    -------
    words : list of str
    table : float32 ndarray of shape (3 + n_words, n_dimensions)
        Zeros for what is no word, as the vectors of the unknown; the others scaled to the deviation
        of embeddings that are learned, whatever they come from.
    """
    words, vectors = read_embeddings(embeddings)
    table = np.zeros((FIRST + len(words), vectors.shape[1]), dtype=np.float32)
    deviation, _ = VECTOR_GROUP
    table[FIRST:] = vectors * (deviation / (vectors.std(dtype=np.float64) or 1.0))
    return words, table


def read_embeddings(embeddings):
    """Check vectors of words.

    Parameters
    ----------
    embeddings : mapping of str to array-like, pair of words and vectors, or KeyedVectors
        Those of gensim list their words in `index_to_key`, and look up one in brackets.

    Returns
    -------
    words : list of str
    vectors : float32 ndarray of shape (n_words, n_dimensions)

    Raises
    ------
    ValueError
        If there are none, words are no strings or come twice, or vectors differ in size or hold
        numbers that are not finite.
    """
    if isinstance(embeddings, Mapping) or hasattr(embeddings, "index_to_key"):
        words = list(getattr(embeddings, "index_to_key", embeddings))
        vectors = [embeddings[word] for word in words]
    elif (
        isinstance(embeddings, list | tuple)
        and len(embeddings) == 2
        and all(is_collection(part) and hasattr(part, "__getitem__") for part in embeddings)
    ):
        words, vectors = list(embeddings[0]), embeddings[1]  # no set, which has no order
    else:
        raise ValueError(
            f"embeddings must be a mapping from words to vectors, or a pair of words and an array "
            f"with their vectors, got the {type(embeddings).__name__} {shorten(embeddings)}. Files "
            f"of vectors are read by gensim, for example."
        )
    strange = next((word for word in words if not isinstance(word, str)), None)
    if strange is not None:
        raise ValueError(
            f"embeddings: {shorten(strange)} is a {type(strange).__name__}, but words are str."
        )
    if len(set(words)) < len(words):
        raise ValueError("embeddings: a word comes twice; give each of them one vector.")
    try:
        vectors = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValueError(
            "embeddings: vectors must be arrays of numbers, all of one size."
        ) from None
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise ValueError(
            f"embeddings: {len(words)} words need vectors of shape ({len(words)}, n_dimensions), "
            f"at least one of each, got {vectors.shape}."
        )
    if not np.isfinite(vectors).all():
        worst = words[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise ValueError(
            f"embeddings: the vector of {shorten(worst)} holds numbers that are not finite."
        )
    return words, vectors

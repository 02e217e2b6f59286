"""Vectors of words in context, which a callable returns for whole sentences."""

from collections.abc import Mapping
from itertools import count

import numpy as np
from joblib import hash as hash_of
from sklearn.base import BaseEstimator

from sklearn_shag.encoding._sentences import name_sentence
from sklearn_shag.utils._arrays import make_room
from sklearn_shag.utils._messages import printable
from sklearn_shag.utils._parallel import progress

SOURCE_CHUNK = 1000  # sentences passed to a source at once
_NOT_SMALL = f"numbers that are not finite, or larger than {np.finfo(np.float16).max:,.0f}"


class ContextVectors:
    """The vectors in context of the tokens of sentences, from one source.

    Parameters
    ----------
    source : callable, or object with `transform`
        Takes a list of sentences, and returns for each an array of shape (n_tokens, n_dimensions).
    sentences : list
        As users give them.
    verbose : int, default=0

    Attributes
    ----------
    rows : float16 ndarray of shape (n_rows, n_dimensions)
    n_dimensions : int
    begins, sizes : int ndarrays of shape (n_sentences,)
        The first row of each sentence, and its number of tokens.

    Raises
    ------
    ValueError
        If the source fails, or does not return such arrays of finite numbers.
    """

    def __init__(self, source, sentences, verbose=0):
        self.source, self.rows, self.n_dimensions = source, None, None
        self.sizes = np.array(list(map(len, sentences)))
        ends = np.cumsum(self.sizes)
        self.begins = ends - self.sizes
        with progress("Vectors in context", len(sentences), "sentences", verbose) as advance:
            for first in range(0, len(sentences), SOURCE_CHUNK):
                part = sentences[first : first + SOURCE_CHUNK]
                found = list(map(self._check, self._ask(part, first), part, count(first)))
                vectors = _as_halves(np.concatenate(found))
                if not np.isfinite(vectors).all():
                    wrong = [np.isfinite(_as_halves(each)).all() for each in found].index(False)
                    raise self._refuse(part[wrong], first + wrong, _NOT_SMALL)
                if self.rows is None:
                    self.rows = make_room((ends[-1], vectors.shape[1]), np.float16)
                begin = self.begins[first]
                self.rows[begin : begin + len(vectors)] = vectors
                advance(len(part))

    def take(self, chosen):
        """Return the ContextVectors of the sentences `chosen`, an int array, in their order."""
        taken = ContextVectors.__new__(ContextVectors)
        vars(taken).update(vars(self), begins=self.begins[chosen], sizes=self.sizes[chosen])
        return taken

    @property
    def places(self):
        """The row of each token, an int array of shape (n_tokens,)."""
        shifts = self.begins - np.cumsum(self.sizes) + self.sizes
        return np.repeat(shifts, self.sizes) + np.arange(self.sizes.sum())

    def __getstate__(self):
        # For a worker process, to which neither sources nor files can be sent.
        return vars(self) | {"source": None, "rows": np.array(self.rows)}

    def moments(self, places):
        """Compute means and standard deviations, (2, n_dimensions), over the rows at `places`."""
        total, squares = np.zeros((2, self.n_dimensions))
        mean = self.rows[places[:SOURCE_CHUNK]].mean(axis=0, dtype=np.float64)  # no digits cancel
        for part in np.array_split(places, -(-places.size // SOURCE_CHUNK)):
            centred = self.rows[part].astype(np.float64) - mean
            total += centred.sum(axis=0)
            squares += np.square(centred).sum(axis=0)
        shift = total / places.size
        return np.array([mean + shift, np.sqrt(np.maximum(squares / places.size - shift**2, 0))])

    def _ask(self, part, first):
        last = first + len(part) - 1
        try:
            found = list(getattr(self.source, "transform", self.source)(part))
        except Exception as error:
            raise ValueError(
                f"embeddings, {name_source(self.source)}, failed on X[{first}] to X[{last}]: "
                f"{type(error).__name__}: {printable(str(error))}"
            ) from error
        if len(found) != len(part):
            raise ValueError(
                f"embeddings, {name_source(self.source)}, must return an array for each sentence, "
                f"and returned {len(found)} for the {len(part)} sentences X[{first}] to X[{last}]."
            )
        return found

    def _check(self, vectors, sentence, k):
        try:
            vectors = np.asarray(vectors)
        except ValueError:
            raise self._refuse(sentence, k, "rows of different lengths") from None
        if vectors.dtype.kind not in "biuf":
            raise self._refuse(sentence, k, f"an array of {vectors.dtype}")
        if vectors.ndim == 2 and self.n_dimensions is None:
            self.n_dimensions = vectors.shape[1]
        if not vectors.size or vectors.shape != (len(sentence), self.n_dimensions):
            raise self._refuse(sentence, k, f"the shape {vectors.shape}")
        return vectors

    def _refuse(self, sentence, k, problem):
        return ValueError(
            f"embeddings, {name_source(self.source)}, returned {problem} for "
            f"{name_sentence(sentence, k)}. Its {len(sentence)} tokens need an array of finite "
            f"numbers of shape (n_tokens, n_dimensions), here ({len(sentence)}, "
            f"{self.n_dimensions or 'at least 1'})."
        )


def split_embeddings(embeddings):
    """Separate vectors of words from a source of vectors in context.

    Parameters
    ----------
    embeddings : object
        Either of them, or a pair of both in any order.

    Returns
    -------
    of_words : object
        None if there are none.
    in_context : callable, object with `transform`, or None
    """
    if _is_in_context(embeddings):
        return None, embeddings
    is_pair = isinstance(embeddings, list | tuple) and len(embeddings) == 2
    if is_pair and sum(map(_is_in_context, embeddings)) == 1:
        return tuple(sorted(embeddings, key=_is_in_context))
    return embeddings, None


def _is_in_context(embeddings):
    is_table = isinstance(embeddings, Mapping) or hasattr(embeddings, "index_to_key")
    return not is_table and (callable(embeddings) or hasattr(embeddings, "transform"))


def ask_vectors(source, sentences, verbose=0):
    """Ask for the vectors in context of sentences, unless they were asked for before.

    Parameters
    ----------
    source, verbose
        As for :class:`ContextVectors`.
    sentences : CheckedSentences
        They keep the vectors.

    Returns
    -------
    vectors : ContextVectors
    """
    for vectors in sentences.vectors:
        if _are_same(vectors.source, source):
            return vectors
    sentences.vectors.append(ContextVectors(source, sentences, verbose))
    return sentences.vectors[-1]


def _are_same(one, other):
    """Tell whether two sources return the same vectors, as copies of an estimator do."""
    are_alike = isinstance(one, BaseEstimator) and type(one) is type(other)
    return one is other or (are_alike and hash_of(one.get_params()) == hash_of(other.get_params()))


def name_source(source):
    """Return the name of a source of vectors if it is a function, else its repr."""
    name = getattr(source, "__qualname__", None)
    return printable(repr(source) if name is None else f"{source.__module__}.{name}", 200)


def _as_halves(vectors):
    with np.errstate(over="ignore"):
        return vectors.astype(np.float16)

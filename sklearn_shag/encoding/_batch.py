"""Encoded sentences in flat arrays, selections of sentences, and lists of their arcs."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding._alphabet import LEFT, RIGHT
from sklearn_shag.utils._heads import UNKNOWN


class Batch(NamedTuple):
    """Encoded sentences to parse; sentence s has the tokens ``indptr[s]:indptr[s + 1]``."""

    # (n_tokens,), (n_tokens, n_columns), Codes, or MemberCodes
    codes: np.ndarray | tuple | None
    indptr: np.ndarray  # (n_sentences + 1,)
    sentences: list | None = None  # as given by the user
    allowed: list | None = None  # arcs that may be used, bool (N, N + 1) each; None for all
    # Sentences whose allowed arcs make only trees that cross, bool (n_sentences,); None for none.
    crossing: np.ndarray | None = None
    known: list | None = None  # given heads, (N,) each, -1 if unknown
    seeds: np.ndarray | list | None = None  # of the random trees of each sentence

    def take(self, chosen):
        """Return the Batch of the sentences `chosen`, an int array, in their order."""
        indptr, tokens = places_of(self.indptr, chosen)
        crossing = take_entries(self.crossing, chosen)
        if crossing is not None and not crossing.any():
            crossing = None
        return Batch(
            codes=take_entries(self.codes, tokens),
            indptr=indptr,
            sentences=take_entries(self.sentences, chosen),
            allowed=take_entries(self.allowed, chosen),
            crossing=crossing,
            known=take_entries(self.known, chosen),
            seeds=take_entries(self.seeds, chosen),
        )

    def of_member(self, k):
        """Return the Batch with the codes of member k of an ensemble."""
        return self._replace(codes=self.codes[k])


class MemberCodes(tuple):
    """Codes of the same tokens for each member of an ensemble, or None."""

    __slots__ = ()

    def take(self, tokens):
        return MemberCodes(take_entries(codes, tokens) for codes in self)


def take_entries(values, places):
    """Take entries of an array, a list, or an object with the method `take`; None stays None."""
    if values is None:
        return None
    if isinstance(values, np.ndarray):
        return values[places]
    if type(values) is list:
        return [values[k] for k in places]
    return values.take(places)


def places_of(indptr, chosen):
    """Return the indptr of chosen sentences, and the old index of each of their entries."""
    sizes = indptr[np.asarray(chosen) + 1] - indptr[chosen]
    begins = np.concatenate([[0], np.cumsum(sizes)])
    return begins, np.repeat(indptr[chosen] - begins[:-1], sizes) + np.arange(begins[-1])


class Arcs(NamedTuple):
    """Arcs of sentences in flat arrays; sentence s has the arcs ``begins[s]:begins[s + 1]``."""

    begins: np.ndarray  # (n_sentences + 1,)
    modifiers: np.ndarray  # (n_arcs,), positions from 1
    heads: np.ndarray  # (n_arcs,), 0 for the root; a modifier as its own head is no arc

    def tokens(self, indptr):
        """Return the index of the modifier of each arc among all tokens."""
        return np.repeat(indptr[:-1], np.diff(self.begins)) + self.modifiers - 1

    def symbols(self, codes, indptr, root):
        """Return the codes of heads, the directions, and the codes of modifiers of all arcs."""
        tokens = self.tokens(indptr)
        # For arcs from the root, any valid index will do.
        of_heads = codes[np.maximum(tokens - self.modifiers + self.heads, 0)]
        directions = np.where(self.modifiers < self.heads, LEFT, RIGHT)
        return np.where(self.heads > 0, of_heads, root), directions, codes[tokens]


def arc_begins(indptr):
    """Return the indptr of the arcs of sentences in the layout of marginals."""
    lengths, begins = indptr[1:] - indptr[:-1], np.zeros(indptr.size, dtype=np.int64)
    np.cumsum(lengths * (lengths + 1), out=begins[1:])
    return begins


def all_arcs(indptr):
    """List all arcs of sentences, in the layout of marginals."""
    begins, lengths = arc_begins(indptr), np.diff(indptr)
    if lengths.size == 1:  # takes half the time
        modifiers, heads = np.divmod(np.arange(begins[-1]), lengths + 1)
        return Arcs(begins, modifiers + 1, heads)
    sizes = np.diff(begins)
    places = np.arange(begins[-1]) - np.repeat(begins[:-1], sizes)
    modifiers, heads = np.divmod(places, np.repeat(lengths + 1, sizes))
    return Arcs(begins, modifiers + 1, heads)


def observed_arcs(heads, arcs, indptr):
    """Tell which of all arcs agree with known heads; `heads` is flat, -1 where unknown."""
    known = heads[arcs.tokens(indptr)]
    return (known == UNKNOWN) | (known == arcs.heads)


def places_of_heads(indptr, heads):
    """Return the index of each arc of trees among all arcs, in the layout of marginals."""
    lengths = np.diff(indptr)
    rows = np.arange(heads.size) - np.repeat(indptr[:-1], lengths)
    begins = np.repeat(arc_begins(indptr)[:-1], lengths)
    return begins + rows * np.repeat(lengths + 1, lengths) + heads


def arcs_of_heads(indptr, heads):
    """List the arcs of trees, with one head for each token."""
    first = np.repeat(indptr[:-1], np.diff(indptr))
    return Arcs(indptr, np.arange(heads.size) - first + 1, heads)

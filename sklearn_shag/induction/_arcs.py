"""All arcs of sentences, in the layout of marginals, and which of them are known."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT, Alphabet
from sklearn_shag.parsing import arc_begins
from sklearn_shag.utils._heads import UNKNOWN


class ArcCells(NamedTuple):
    """Of all arcs of sentences, by the layout of marginals."""

    tokens: np.ndarray  # (n_arcs,): the place of the modifier among all tokens
    positions: np.ndarray  # (n_arcs,): that of the head in its sentence, 0 for the root
    heads: np.ndarray  # (n_arcs,): its code
    directions: np.ndarray  # (n_arcs,)
    modifiers: np.ndarray  # (n_arcs,): their codes
    possible: np.ndarray  # (n_arcs,): no token is its own head


def list_arcs(codes, indptr, n_symbols):
    """List all arcs of sentences."""
    lengths, begins = np.diff(indptr), arc_begins(indptr)
    of_token = np.repeat(lengths, lengths) + 1  # how many heads each token may have
    tokens = np.repeat(np.arange(codes.size), of_token)
    firsts = np.repeat(np.repeat(indptr[:-1], lengths), of_token)
    rows = np.repeat(np.cumsum(of_token) - of_token, of_token)
    positions = np.arange(begins[-1]) - rows
    own = tokens - firsts + 1
    root = Alphabet(n_symbols).root
    heads = np.where(positions > 0, codes[firsts + np.maximum(positions, 1) - 1], root)
    directions = np.where(own < positions, LEFT, RIGHT)
    return ArcCells(tokens, positions, heads, directions, codes[tokens], own != positions)


def observed_arcs(heads, cells):
    """Tell which arcs known heads leave; `heads` is flat, -1 where they are not known."""
    of_arcs = heads[cells.tokens]
    return (of_arcs == UNKNOWN) | (of_arcs == cells.positions)

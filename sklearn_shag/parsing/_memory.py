"""Deterministic grammars as factors of memory, and products of such factors."""

from itertools import product

import numpy as np

from sklearn_shag.parsing._potentials import Potentials
from sklearn_shag.sequences import LEFT, RIGHT


def as_memory(operators, codes, indptr):
    """Put a deterministic grammar of one or two states, "single" or "first", into factors.

    Parameters
    ----------
    operators : Operators
        Of a grammar. Automata start in state 0, and every modifier leads to the last state.
    codes : int ndarray of shape (n_tokens,)
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    potentials : Potentials
        Memory alone: under the grammar that gives every tree the value 1, trees have the values
        that they have under these operators.

    Raises
    ------
    ValueError
        If the automata are others.
    """
    alpha_1, alpha_inf, A = operators
    n_states = alpha_1.shape[-1]
    if n_states > 2 or np.any(alpha_1[..., 1:]) or np.any(A[:-1, ..., :-1, :]):
        raise ValueError(
            f"Automata with {n_states} states, or others than before the first modifier and after "
            f"it, remember more than that: they are no factors of such a memory."
        )
    uses = A[..., -1, :].copy()
    uses[-1, RIGHT, :, 0] = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    # The head, 0 for the root symbol, and the modifier of every arc.
    lengths = np.diff(indptr)
    widths, begins = np.repeat(lengths + 1, lengths), np.repeat(indptr[:-1], lengths)
    modifiers = np.repeat(np.arange(codes.size), widths)
    heads = np.arange(modifiers.size) - np.repeat(np.cumsum(widths) - widths, widths)
    places = modifiers - begins[modifiers] + 1
    directions = np.where(places < heads, LEFT, RIGHT)
    head_codes = codes[np.maximum(begins[modifiers] + heads - 1, 0)]
    head_codes[heads == 0] = alpha_1.shape[0] - 1
    return Potentials(
        indptr,
        np.zeros_like(codes),
        None,
        np.full(codes.size, n_states - 1),
        uses[head_codes, directions, codes[modifiers]],
        alpha_inf[codes] * alpha_1[codes, :, :1],
    )


def multiply_potentials(members, weights):
    """Multiply the potentials of deterministic grammars over the same sentences.

    A class of the product is one of each: all zero at the start, and zero in none of those that
    have another behind a modifier.

    Parameters
    ----------
    members : list of Potentials
        Memory alone.
    weights : sequence of float
        The power that the factors of each are raised to; not negative.

    Returns
    -------
    potentials : Potentials
        Up to a factor for each sentence if a weight is not 1.
    """
    sizes = [part.arc_memory.shape[1] for part in members]
    behind = product(*(range(int(size > 1), size) for size in sizes))
    classes = [(0,) * len(sizes), *(each for each in behind if any(each))]
    place = np.zeros(sizes, dtype=np.int64)
    place[tuple(np.transpose(classes))] = np.arange(len(classes))
    memory = place[tuple(part.memory for part in members)]
    indptr = members[0].indptr
    arc_memory = stop_memory = 1.0
    for part, weight, chosen in zip(members, weights, np.transpose(classes), strict=True):
        widths = np.repeat(np.diff(indptr) + 1, np.diff(indptr))
        arcs = _raise(part.arc_memory, np.cumsum(widths) - widths, widths, weight)
        stops = part.stop_memory.reshape(-1, part.stop_memory.shape[2])
        stops = _raise(stops, np.arange(len(stops)), 1, weight).reshape(part.stop_memory.shape)
        arc_memory = arc_memory * arcs[:, chosen]
        stop_memory = stop_memory * stops[..., chosen]
    return Potentials(indptr, np.zeros_like(memory), None, memory, arc_memory, stop_memory)


def _raise(factors, begins, widths, weight):
    """Raise factors to a power, those of each row relative to its largest, so that none vanish.

    Every tree uses one factor of the arcs to each token, and one of the stops of each of its sides.
    """
    if weight == 1:
        return factors
    largest = np.maximum.reduceat(factors.max(axis=1), begins)
    largest[largest == 0] = 1.0
    return (factors / np.repeat(largest, widths)[:, None]) ** weight

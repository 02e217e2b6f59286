"""Deterministic grammars as factors of memory, and products of such factors."""

from itertools import product

import numpy as np

from sklearn_shag.operators import LOG_BASE
from sklearn_shag.parsing._potentials import Potentials
from sklearn_shag.sequences import LEFT, RIGHT


def as_memory(operators, codes, indptr):
    """Put a deterministic grammar of one or two states, "single" or "first", into factors.

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar. Automata start in state 0, and every modifier leads to the last state.
    codes : int ndarray of shape (n_tokens,)
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    potentials : Potentials
        Memory alone: under the grammar that gives every tree the value 1, trees have the values
        that they have under these operators. What is of no ordinary size is in `arcs`.

    Raises
    ------
    ValueError
        If the automata are others.
    """
    alpha_1, alpha_inf, A, exponents = operators
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
    arcs = None
    if any(part.any() for part in exponents):
        # Every token has one arc, and stops on both sides.
        stops = (exponents.alpha_1 + exponents.alpha_inf)[codes].sum(axis=1)
        of_root = exponents.alpha_1[-1, RIGHT] + exponents.alpha_inf[-1, RIGHT]
        arcs = exponents.A[head_codes, directions, codes[modifiers]] + stops[modifiers]
        arcs = LOG_BASE * (arcs + np.where(heads == 0, of_root, 0))
    return Potentials(
        indptr,
        np.zeros_like(codes),
        arcs,
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
        As of :func:`as_memory`.
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
    arcs, arc_memory, stop_memory = None, 1.0, 1.0
    for part, weight, chosen in zip(members, weights, np.transpose(classes), strict=True):
        of_arcs, of_stops = part.arc_memory, part.stop_memory
        if weight != 1:
            # Powers can be too small for a factor. Of arcs the larger part goes where logarithms
            # are; of stops, of which every tree has one for each side of a token, it is left out.
            of_arcs, logs = _raise(of_arcs, weight)
            of_stops, _ = _raise(of_stops, weight)
            arcs = logs if arcs is None else arcs + logs
        if part.arcs is not None:
            logs = weight * part.arcs
            arcs = logs if arcs is None else arcs + logs
        # Indexing would leave another layout, which kernels do not expect.
        arc_memory = arc_memory * of_arcs.take(chosen, axis=-1)
        stop_memory = stop_memory * of_stops.take(chosen, axis=-1)
    indptr, no_codes = members[0].indptr, np.zeros_like(memory)
    return Potentials(indptr, no_codes, arcs, memory, arc_memory, stop_memory)


def _raise(factors, weight):
    """Raise factors to a power, up to the logarithm of the largest in each row."""
    with np.errstate(divide="ignore"):
        logs = weight * np.log(factors) if weight else np.zeros_like(factors)
    # An arc that has no mass here is not forbidden: where no tree has any, others decide.
    largest = logs.max(axis=-1)
    largest[largest == -np.inf] = 0.0
    return np.exp(logs - largest[..., None]), largest

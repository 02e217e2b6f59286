"""Input of the chart: operators in its layouts, codes and factors of sentences."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import (
    RIGHT,
    all_arcs,
    arc_begins,
    observed_arcs,
    places_of,
    take_entries,
)
from sklearn_shag.operators import Operators, check_axes
from sklearn_shag.parsing._fast_sums import LARGEST_IN_RANGE
from sklearn_shag.utils._arrays import as_integers, check_finite, check_range, check_shape, log_of
from sklearn_shag.utils._kernel import inlined_kernel
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._param_validation import as_floats
from sklearn_shag.utils._simd import LANES, aligned
from sklearn_shag.utils._typing import FloatArray, IntArray


class FastGrammar(NamedTuple):
    """Operators in the layout of the fast chart.

    Operators of one state are numbers, and in the chart they are part of the scores of arcs. `A` is
    then 1, of one head and one symbol.
    """

    alpha_1: np.ndarray  # (n_heads, 2, n), states padded to a multiple of LANES
    alpha_inf: np.ndarray  # (n_heads, 2, n)
    A: np.ndarray  # (n_heads, 2, n_symbols, n, n)
    A_transposed: np.ndarray  # the last two axes exchanged
    in_arcs: np.ndarray  # (n_heads, 2, n_symbols), the operators of one state; else of size 0
    roots: np.ndarray  # (n_symbols,): the value of being the one root


class LogGrammar(NamedTuple):
    """Logarithms of the operators of a grammar over V symbols, -inf for zeros."""

    alpha_1: np.ndarray  # (V + 2, 2, n_states)
    alpha_inf: np.ndarray  # (V + 2, 2, n_states)
    A: np.ndarray  # (V + 2, 2, V + 1, n_states, n_states), from a state (row) to another (column)
    root: np.ndarray  # (V + 1,), the best derivation of each symbol as the root


def log_grammar(operators):
    """Take the logarithms of a grammar that is not negative, as :class:`LogGrammar`."""
    alpha_1, alpha_inf, A = (log_of(np.ascontiguousarray(part)) for part in operators)
    paths = alpha_inf[-1, RIGHT, :, None] + A[-1, RIGHT] + alpha_1[-1, RIGHT]
    A = np.ascontiguousarray(np.swapaxes(A, -1, -2))
    return LogGrammar(alpha_1, alpha_inf, A, paths.max(axis=(1, 2)))


def fast_grammar(operators):
    """Lay out operators for the fast chart; None if entries are too large for it."""
    alpha_1, alpha_inf, A = operators
    if not all(np.all(np.abs(part) <= LARGEST_IN_RANGE) for part in operators):
        return None
    roots = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    in_arcs = np.empty((0, 2, 0))
    if alpha_1.shape[2] == 1:
        in_arcs, A = A.reshape(A.shape[:3]), np.ones((1, 2, 1, 1, 1))
    parts = [_pad_states(part, part.shape[:2]) for part in (alpha_1, alpha_inf)]
    parts += [_pad_states(part, part.shape[:3]) for part in (A, A.swapaxes(3, 4))]
    return FastGrammar(*parts, in_arcs, roots)


def make_writable(grammar):
    """Copy read-only arrays, as joblib sends them: kernels would be compiled for their type."""
    if all(part.flags.writeable for part in grammar):
        return grammar
    return type(grammar)(*(_pad_states(part, part.shape) for part in grammar))


def _pad_states(values, leading):
    """Pad the axes of states, which follow the leading ones, with zeros to a multiple of LANES."""
    axes = values.shape[len(leading) :]
    shape = (*leading, *(size + -size % LANES for size in axes))
    out = aligned(int(np.prod(shape))).reshape(shape)
    out[...] = 0.0
    out[(..., *map(slice, axes))] = values
    return out


class Potentials(NamedTuple):
    """Sentences as a chart sees them: symbol codes, and factors of arcs, memories and stops.

    The value of a tree is the product of the values of its head-modifier sequences. If m_1 ... m_T
    are the modifiers of head h on one side, from the head outwards, the value of the sequence is::

        alpha_inf . A[m_T] @ ... @ A[m_1] @ alpha_1            operators of the grammar, by codes
            * prod_t exp(arcs[m_t, h]) * arc_memory[m_t, h, j_t]
            * stop_memory[h, side, j_(T + 1)]

    where j_1 = 0 and j_(t + 1) = memory[m_t]: the *memory* of an automaton is the class of its last
    modifier. The root symbol takes one modifier m, with the factor ``root(m) * exp(arcs[m, 0]) *
    arc_memory[m, 0, 0]``. A factor that is not given is 1.

    Attributes
    ----------
    indptr : int ndarray of shape (n_sentences + 1,)
        The tokens of sentence s are ``indptr[s]:indptr[s + 1]``, without the root symbol.
    codes : None or int ndarray of shape (n_tokens,)
        Codes of symbols in the grammar; the unknown symbol has the code ``n_symbols``. None without
        a grammar.
    arcs : None or float ndarray of shape (n_arcs,)
        Logarithms, sentence by sentence in the layout of marginals: row m - 1 and column h of an
        array of shape (N, N + 1), column 0 for the root symbol. -inf forbids an arc.
    memory : None or int ndarray of shape (n_tokens,)
        The class of each token, from 0 to ``n_classes - 1``. None if there is only class 0.
    arc_memory : None or float ndarray of shape (n_arcs, n_classes)
        Factors of arcs, not negative.
    stop_memory : None or float ndarray of shape (n_tokens, 2, n_classes)
        Factors of stops, not negative; side 0 is left, 1 right.

    See Also
    --------
    chart : Sums over all trees.
    best_trees : Finds the trees with the largest values.
    tree_values : Computes the values of given trees.

    Examples
    --------
    Two sentences with arc scores, one of two tokens and one of a single token:

    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, best_trees
    >>> scores = [np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]), np.array([[0.5, 0.0]])]
    >>> arcs = np.concatenate([of_sentence.ravel() for of_sentence in scores])
    >>> heads, _ = best_trees(None, Potentials(np.array([0, 2, 3]), arcs=arcs))
    >>> heads
    [array([2, 0]), array([0])]
    """

    indptr: IntArray
    codes: IntArray | None = None
    arcs: FloatArray | None = None
    memory: IntArray | None = None
    arc_memory: FloatArray | None = None
    stop_memory: FloatArray | None = None


def check_operators(operators):
    """Check that a value is the Operators of a grammar, with finite entries."""
    if not isinstance(operators, Operators):
        advice = "Without a grammar, where it is optional, pass None."
        if hasattr(operators, "fit"):
            advice = "A fitted estimator has them in operators_."
        elif isinstance(operators, Potentials):
            advice = "The grammar comes first and the potentials second."
        raise TypeError(
            f"A grammar is given by its Operators, got {type(operators).__name__}. {advice}"
        )
    check_axes(operators)
    for field, part in operators._asdict().items():
        check_finite(part, f"operators.{field}")


def check_potentials(potentials, n_symbols):
    """Check potentials, and give all their arrays one type and layout.

    Parameters
    ----------
    potentials : Potentials
    n_symbols : int or None
        Codes are smaller; None without a grammar.

    Returns
    -------
    potentials : Potentials
        Contiguous; `codes` are given, 0 without a grammar; absent factors stay None.

    Raises
    ------
    ValueError
        If a shape, a type or a number is not as in :class:`Potentials`; sentences are named.
    """
    if not isinstance(potentials, Potentials):
        raise TypeError(
            f"potentials must be Potentials, got {type(potentials).__name__}. They hold arrays for "
            f"all sentences: Potentials(indptr, codes=..., arcs=...)."
        )
    given, codes, arcs, memory, arc_memory, stop_memory = potentials
    indptr = as_integers(given, "indptr")
    if indptr.size < 2 or indptr[0] != 0 or np.any(np.diff(indptr) < 1):
        raise ValueError(
            f"indptr must begin with 0 and grow by the number of tokens, at least 1, of each "
            f"sentence; got {shorten(given)}."
        )
    begins = arc_begins(indptr)
    n_tokens, n_arcs = int(indptr[-1]), int(begins[-1])
    codes = _check_codes(codes, n_tokens, n_symbols)
    if arcs is not None:
        arcs = _as_array(
            arcs,
            (n_arcs,),
            "arcs",
            "(n_arcs,)",
            " Flatten the array of shape (N, N + 1) of each sentence, and join them to one.",
        )
        _refuse_values(np.isnan(arcs) | (arcs == np.inf), begins, "arcs", "NaN or +inf")
    factors, n_classes = (arc_memory, stop_memory), 1
    if memory is not None:
        memory = as_integers(memory, "memory")
        check_shape(memory, (n_tokens,), "memory")
        n_classes = max([np.shape(part)[-1] for part in factors if np.ndim(part)], default=1)
        if all(part is None for part in factors):
            memory = None  # nothing depends on it
        else:
            check_range(memory, 0, n_classes - 1, "memory", ", as the last axis of its factors")
    if arc_memory is not None:
        arc_memory = _as_array(arc_memory, (n_arcs, n_classes), "arc_memory", "(n_arcs, n_classes)")
        _refuse_values(~_is_factor(arc_memory), begins, "arc_memory", "negative or not finite")
    if stop_memory is not None:
        stop_memory = _as_array(
            stop_memory, (n_tokens, 2, n_classes), "stop_memory", "(n_tokens, 2, n_classes)"
        )
        _refuse_values(~_is_factor(stop_memory), indptr, "stop_memory", "negative or not finite")
    return Potentials(indptr, codes, arcs, memory, arc_memory, stop_memory)


def as_codes(values, n_symbols):
    """Make an int64 array of symbol codes, and check that the grammar has them."""
    codes = as_integers(values, "codes", ", the places of symbols in symbols_ of an estimator")
    check_range(codes, 0, n_symbols - 1, "codes", ", the symbols of the operators")
    return codes


def _as_array(values, shape, name, symbols, advice=""):
    values = np.ascontiguousarray(as_floats(values, name))
    check_shape(values, shape, name, f"{symbols} = ", advice)
    return values


def _check_codes(codes, n_tokens, n_symbols):
    if n_symbols is None:
        if codes is not None:
            raise ValueError(
                "codes stand for symbols of a grammar, but there is none: pass a grammar, or leave "
                "the codes out."
            )
        return np.zeros(n_tokens, dtype=np.int64)
    if codes is None:
        raise ValueError("A grammar needs the symbol codes of the sentences: codes is None.")
    codes = as_codes(codes, n_symbols)
    check_shape(codes, (n_tokens,), "codes")
    return codes


def _is_factor(values):
    return (values >= 0) & (values < np.inf)


def _refuse_values(wrong, begins, name, what):
    if wrong.any():
        sentence = np.searchsorted(begins, np.argwhere(wrong)[0, 0], side="right") - 1
        raise ValueError(f"{name} of sentence {sentence} hold values that are {what}.")


class Factors(NamedTuple):
    """Potentials with every factor an array, for numba: factors not given have length 0."""

    indptr: np.ndarray  # (n_sentences + 1,)
    begins: np.ndarray  # (n_sentences + 1,), the first arc of each sentence
    codes: np.ndarray  # (n_tokens,)
    arcs: np.ndarray  # (n_arcs,) or (0,)
    arc_scales: np.ndarray  # (n_tokens,), logs of divisors of arcs; or (0,): the largest arc
    memory: np.ndarray  # (n_tokens,) or (0,): class 0
    arc_memory: np.ndarray  # (n_arcs, n_classes) or (0, 1)
    stop_memory: np.ndarray  # (n_tokens, 2, n_classes) or (0, 2, 1)


@inlined_kernel
def classes_of(factors):
    """Return the number of classes of memory, at least 1."""
    return max(factors.arc_memory.shape[1], factors.stop_memory.shape[2])


def as_factors(potentials):
    """Return the Factors of potentials that have been checked."""
    indptr, codes, arcs, memory, arc_memory, stop_memory = potentials
    return Factors(
        indptr,
        arc_begins(indptr),
        codes,
        np.empty(0) if arcs is None else arcs,
        np.empty(0),
        np.empty(0, dtype=np.int64) if memory is None else memory,
        np.empty((0, 1)) if arc_memory is None else arc_memory,
        np.empty((0, 2, 1)) if stop_memory is None else stop_memory,
    )


def support_of(factors):
    """Return Factors with 1 for each factor that is not 0."""
    return factors._replace(
        arcs=np.where(factors.arcs > -np.inf, 0.0, -np.inf),
        arc_scales=np.empty(0),
        arc_memory=np.sign(factors.arc_memory),
        stop_memory=np.sign(factors.stop_memory),
    )


def longest_counted(grammar):
    """Return the length up to which the fast chart counts derivations without underflow.

    A sentence has less than 8 trees for each token, and its automata pass less than three states,
    each one of n. So no factor by which the chart scales is smaller, and no part of a sentence
    counts less than the product of those of its tokens, which must be a normal double.
    """
    return int(1000 / (3 + 3 * np.log2(grammar.operators.alpha_1.shape[2])))


def take_potentials(potentials, chosen):
    """Return the Potentials of the sentences `chosen`, an int array, in their order."""
    indptr, tokens = places_of(potentials.indptr, chosen)
    arcs, arc_memory = potentials.arcs, potentials.arc_memory
    if arcs is not None or arc_memory is not None:
        _, of_arcs = places_of(arc_begins(potentials.indptr), chosen)
        arcs, arc_memory = take_entries(arcs, of_arcs), take_entries(arc_memory, of_arcs)
    return Potentials(
        indptr,
        take_entries(potentials.codes, tokens),
        arcs,
        take_entries(potentials.memory, tokens),
        arc_memory,
        take_entries(potentials.stop_memory, tokens),
    )


def keep_known(potentials, heads):
    """Replace the arc scores of potentials: 0 where known heads allow an arc, else -inf.

    Parameters
    ----------
    potentials : Potentials
    heads : int ndarray of shape (n_tokens,)
        -1 where they are not known.

    Returns
    -------
    potentials : Potentials
    """
    indptr = potentials.indptr
    left = observed_arcs(heads, all_arcs(indptr), indptr)
    return potentials._replace(arcs=np.where(left, 0.0, -np.inf))


def potentials_of_arcs(indptr, arcs):
    """Return the unchecked Potentials of arc scores, for the unit grammar."""
    return Potentials(indptr, np.zeros(indptr[-1], dtype=np.int64), arcs)

"""The values of given trees under a grammar and factors."""

import numpy as np

from sklearn_shag.encoding import check_heads
from sklearn_shag.operators import Operators, signed_log_values
from sklearn_shag.parsing._potentials import Potentials, arc_begins, check_grammar
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.treebank import Heads
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import FloatArray, SignArray


def tree_values(
    grammar: Operators | None, potentials: Potentials, heads: Heads
) -> tuple[SignArray, FloatArray]:
    """Compute the value of one tree of each sentence.

    Parameters
    ----------
    grammar : Operators or None
        With entries of any sign. None for arcs and memories alone.
    potentials : Potentials
        The sentences.
    heads : sequence of length n_sentences
        ``heads[i]`` holds the head of every token of sentence i, 1-based, 0 for the root. A tree
        need not be projective: it is valued by its sequences like any other.

    Returns
    -------
    sign : int8 ndarray of shape (n_sentences,)
        Of the value; 0 where it vanishes, as it does for trees with several roots.
    log_abs : ndarray of shape (n_sentences,)
        Logarithm of the absolute value, in nats; -inf where the value vanishes.

    Raises
    ------
    ValueError
        If the heads of a sentence are too few or too many, are unknown (-1), or are no tree; or
        if operators are not finite, or potentials are not what :class:`Potentials` says.
    TypeError
        If `heads` is no sequence, or `grammar` or `potentials` is something else.

    See Also
    --------
    best_trees : The tree of the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, tree_values
    >>> arcs = np.array([[0.0, 0.0, 2.0], [1.0, -np.inf, 0.0]])
    >>> sentence = Potentials(np.array([0, 2]), arcs=arcs.ravel())
    >>> tree_values(None, sentence, [[2, 0]])
    (array([1], dtype=int8), array([3.]))
    >>> tree_values(None, sentence, [[0, 1]])
    (array([0], dtype=int8), array([-inf]))
    """
    packed, potentials = check_grammar(grammar, potentials)
    if not is_collection(heads):
        raise TypeError(f"heads must hold the heads of each sentence, got {shorten(heads)}")
    heads, sentences = list(heads), [range(n) for n in np.diff(potentials.indptr)]
    if len(heads) != len(sentences):
        raise ValueError(
            f"heads must hold the heads of {len(sentences)} sentences, as many as indptr says; got "
            f"those of {len(heads)}."
        )
    return value_trees(packed.scaled, potentials, check_heads(sentences, heads, "heads"))


def value_trees(operators, potentials, heads):
    """Compute the values of trees that have been checked; `operators` are scaled, `heads` flat.

    Returns
    -------
    sign, log_abs : ndarrays
        As :func:`tree_values`.
    """
    indptr, n_tokens = potentials.indptr, heads.size
    # Factors are those of tokens, operators those of their symbols: sequences of tokens first.
    tokens = extract_sequences(np.arange(n_tokens), heads, indptr, n_symbols=n_tokens)
    root = operators.alpha_1.shape[0] - 1
    codes = np.append(potentials.codes, [root, root])  # the last is what tokens.heads says of it
    sequences = tokens._replace(heads=codes[tokens.heads], modifiers=codes[tokens.modifiers])
    signs, logs = signed_log_values(operators, sequences)
    first = 2 * indptr[:-1] + np.arange(indptr.size - 1)  # the sequence of each root symbol
    sign = np.multiply.reduceat(signs, first)
    log_abs = np.add.reduceat(logs + _stop_logs(potentials, tokens), first)
    log_abs += np.add.reduceat(_arc_logs(potentials, tokens, heads), indptr[:-1])
    possible = (np.diff(tokens.indptr)[first] == 1) & (log_abs > -np.inf)
    return np.where(possible, sign, 0).astype(np.int8), np.where(possible, log_abs, -np.inf)


def _arc_logs(potentials, tokens, heads):
    """The logarithm of the factors of the arc to each token."""
    indptr, _, arcs, memory, arc_memory, _ = potentials
    lengths = np.diff(indptr)
    rows = np.arange(heads.size) - np.repeat(indptr[:-1], lengths)
    used = np.repeat(arc_begins(indptr)[:-1], lengths) + rows * np.repeat(lengths + 1, lengths)
    used += heads
    logs = np.zeros(heads.size) if arcs is None else arcs[used]
    if arc_memory is not None:
        before = np.zeros(heads.size, dtype=np.int64)
        if memory is not None:
            before[tokens.modifiers[1:]] = memory[tokens.modifiers[:-1]]
            begins, ends = tokens.indptr[:-1], tokens.indptr[1:]
            before[tokens.modifiers[begins[begins < ends]]] = 0
        logs += _log(arc_memory[used, before])
    return logs


def _stop_logs(potentials, tokens):
    """The logarithm of the factor of the end of each sequence."""
    logs = np.zeros(tokens.heads.size)
    if potentials.stop_memory is not None:
        last = np.zeros(tokens.heads.size, dtype=np.int64)
        if potentials.memory is not None:
            some = np.diff(tokens.indptr) > 0
            last[some] = potentials.memory[tokens.modifiers[tokens.indptr[1:][some] - 1]]
        heads, directions = tokens.heads, tokens.directions
        of_token = heads < potentials.codes.size  # the root symbol has no such factor
        stops = heads[of_token], directions[of_token], last[of_token]
        logs[of_token] = _log(potentials.stop_memory[stops])
    return logs


def _log(factors):
    with np.errstate(divide="ignore"):
        return np.log(factors)

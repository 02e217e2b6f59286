"""Values of given trees, and losses of known heads with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from sklearn_shag.encoding import arc_begins, check_heads, places_of, places_of_heads
from sklearn_shag.operators import Operators, signed_log_values
from sklearn_shag.parsing._chart import check_grammar, grammar_of_arcs, name_tree, sum_up_sentences
from sklearn_shag.parsing._potentials import Potentials, potentials_of_arcs, take_potentials
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.treebank import Heads
from sklearn_shag.utils._arrays import as_list, log_of
from sklearn_shag.utils._heads import check_tree
from sklearn_shag.utils._kernel import inner_table_kernel, table_kernel
from sklearn_shag.utils._param_validation import as_floats, check_sample_weight
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArrayLike, SignArray


def tree_values(
    grammar: Operators | None, potentials: Potentials, heads: Heads
) -> tuple[SignArray, FloatArray]:
    """Compute the value of one tree of each sentence.

    Parameters
    ----------
    grammar : Operators or None
        With entries of any sign. None to use arcs and memories alone.
    potentials : Potentials
        The sentences.
    heads : sequence of length n_sentences
        ``heads[i]`` holds the head of every token of sentence i, 1-based, 0 for the root. Trees
        need not be projective: the value of any tree is that of its sequences.

    Returns
    -------
    sign : int8 ndarray of shape (n_sentences,)
        The sign of the value; 0 where it vanishes, as it does for trees with several roots.
    log_abs : ndarray of shape (n_sentences,)
        Logarithm of the absolute value, in nats; -inf where the value vanishes.

    Raises
    ------
    ValueError
        If a sentence has too few or too many heads, unknown heads (-1), or heads that are not a
        tree; or if operators are not finite, or potentials are not as described in
        :class:`Potentials`.
    TypeError
        If `heads` is not a sequence, or `grammar` or `potentials` has the wrong type.

    See Also
    --------
    best_trees : Finds the trees with the largest values.

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
    heads = as_list(heads, "heads", "a sequence with the heads of each sentence")
    sentences = [range(n) for n in np.diff(potentials.indptr)]
    if len(heads) != len(sentences):
        raise ValueError(
            f"heads must hold the heads of {len(sentences)} sentences, the number in indptr; got "
            f"those of {len(heads)}."
        )
    return value_trees(packed.operators, potentials, check_heads(sentences, heads, "heads"))


def value_trees(operators, potentials, heads):
    """Compute the values of trees that have been checked; `operators` are scaled, `heads` flat.

    Returns
    -------
    sign, log_abs : ndarrays
        As :func:`tree_values`.
    """
    indptr, n_tokens = potentials.indptr, heads.size
    # Factors belong to tokens, operators to their symbols: sequences of tokens first.
    tokens = extract_sequences(np.arange(n_tokens), heads, indptr, n_symbols=n_tokens)
    root = operators.alpha_1.shape[0] - 1
    codes = np.append(potentials.codes, [root, root])  # the last is the root of `tokens`
    sequences = tokens._replace(heads=codes[tokens.heads], modifiers=codes[tokens.modifiers])
    signs, logs = signed_log_values(operators, sequences)
    first = 2 * indptr[:-1] + np.arange(indptr.size - 1)  # the sequence of each root symbol
    sign = np.multiply.reduceat(signs, first)
    log_abs = np.add.reduceat(logs + _stop_logs(potentials, tokens), first)
    log_abs += np.add.reduceat(_arc_logs(potentials, tokens, heads), indptr[:-1])
    possible = (np.diff(tokens.indptr)[first] == 1) & (log_abs > -np.inf)
    return np.where(possible, sign, 0).astype(np.int8), np.where(possible, log_abs, -np.inf)


def _arc_logs(potentials, tokens, heads):
    """Return the log factor of the arc to each token, (n_tokens,)."""
    indptr, _, arcs, memory, arc_memory, _ = potentials
    used = places_of_heads(indptr, heads)
    logs = np.zeros(heads.size) if arcs is None else arcs[used]
    if arc_memory is not None:
        before = np.zeros(heads.size, dtype=np.int64)
        if memory is not None:
            before[tokens.modifiers[1:]] = memory[tokens.modifiers[:-1]]
            begins, ends = tokens.indptr[:-1], tokens.indptr[1:]
            before[tokens.modifiers[begins[begins < ends]]] = 0
        logs += log_of(arc_memory[used, before])
    return logs


def _stop_logs(potentials, tokens):
    """Return the log factor of the end of each sequence, (n_sequences,)."""
    logs = np.zeros(tokens.heads.size)
    if potentials.stop_memory is not None:
        last = np.zeros(tokens.heads.size, dtype=np.int64)
        if potentials.memory is not None:
            some = np.diff(tokens.indptr) > 0
            last[some] = potentials.memory[tokens.modifiers[tokens.indptr[1:][some] - 1]]
        heads, directions = tokens.heads, tokens.directions
        of_token = heads < potentials.codes.size  # the root symbol has no such factor
        logs[of_token] = log_of(
            potentials.stop_memory[heads[of_token], directions[of_token], last[of_token]]
        )
    return logs


# Known heads of a sentence; numba makes no literals of this type.
NOTHING, SOME, ALL = map(np.int64, range(3))


def tree_loss(
    arcs: ArrayLike,
    heads: Sequence[IntArrayLike],
    *,
    trees: Literal["projective", "all"] = "projective",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[FloatArray, NDArray[np.floating[Any]]]:
    """Compute the loss of arc scores for known heads, and its derivative by the scores.

    The probability of a tree with one root, projective by default, is proportional to the
    exponential of the sum of the scores of its arcs. The loss of a sentence is the negative
    logarithm of the probability of all trees that have the known heads.

    Parameters
    ----------
    arcs : float array of shape (n_arcs,)
        Scores, sentence by sentence in the layout of marginals: row m - 1 and column h of an array
        of shape (N, N + 1), column 0 for the root. -inf forbids an arc. Scores of tokens as their
        own heads are ignored.
    heads : sequence of length n_sentences
        ``heads[i]`` holds the head of every token of sentence i: 1-based, 0 for the root, -1 where
        it is not known. The lengths of the sentences are taken from them.
    trees : {"projective", "all"}, default="projective"
        Which trees have a probability: those without crossing arcs, or all.
    sample_weight : None or array-like of shape (n_sentences,), default=None
        The weight of each sentence in the gradient.
    n_jobs : int or None, default=None
        Number of joblib workers, which process chunks of sentences. Results do not depend on it.

    Returns
    -------
    losses : ndarray of shape (n_sentences,)
        In nats, not weighted; 0 where no head is known.
    gradient : ndarray of the shape and, if it is float32 or float64, the type of `arcs`
        The derivative of the weighted sum of the losses. It is computed in double precision.

    Raises
    ------
    ValueError
        If shapes or numbers are not as described above, or a sentence has no such tree with one
        root that has the known heads and no forbidden arc.
    TypeError
        If `heads` is not a sequence.

    See Also
    --------
    chart : Computes the sums in the loss.
    best_trees : Finds the trees that arc scores predict.

    Notes
    -----
    The gradient is the arc marginals of all trees minus those of the trees with the known heads.
    This loss is all that is needed to train a network as a parser; :func:`best_trees` finds its
    trees.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import tree_loss
    >>> losses, gradient = tree_loss(np.zeros(6), [[0, 1]])
    >>> losses.round(3)                                  # one of two trees
    array([0.693])
    >>> gradient.reshape(2, 3)
    array([[-0.5,  0. ,  0.5],
           [ 0.5, -0.5,  0. ]])
    """
    heads = as_list(heads, "heads", "a sequence with the heads of each sentence")
    if not heads:
        raise ValueError("heads holds no sentences; at least one is needed.")
    known = [check_tree(of_sentence, f"heads[{s}]") for s, of_sentence in enumerate(heads)]
    known, indptr = np.concatenate(known), np.cumsum([0, *map(len, known)])
    packed, potentials = check_grammar(
        None, Potentials(indptr, arcs=as_floats(arcs, "arcs")), trees
    )
    weights = check_sample_weight(sample_weight, heads, allow_all_zero=True)
    losses, gradient = sum_up_losses(packed, potentials, known, weights, n_jobs)
    if not np.isfinite(losses).all():
        s = int(np.argmin(np.isfinite(losses)))
        raise ValueError(
            f"heads[{s}] is impossible: no {name_tree(trees != 'all')} with one root "
            f"has these heads without an arc of score -inf, or scores differ by so much that the "
            f"sum over trees leaves the range of doubles. Leave the sentence out, or use -1 for "
            f"heads that may differ."
        )
    single = getattr(arcs, "dtype", None) == np.float32
    return losses, gradient.astype(np.float32 if single else np.float64)


def sum_up_losses(packed, potentials, known, weights, n_jobs=None, targets=()):
    """Compute the losses and the gradient of :func:`tree_loss` from checked arguments.

    Parameters
    ----------
    packed : PackedGrammar or AllTrees
        The unit grammar, or all trees.
    potentials : Potentials
        Arcs alone.
    known : int ndarray of shape (n_tokens,)
    weights : float ndarray of shape (n_sentences,)
    n_jobs : int or None
    targets : sequence of length 0 or n_sentences, default=()
        Marginals of another distribution over the trees of a sentence, (n_arcs_i,), in place of its
        known heads, or None. The loss is then the cross-entropy of the two, which is linear in the
        marginals: log Z minus the expected score.

    Returns
    -------
    losses : ndarray of shape (n_sentences,)
        inf where no tree has the known heads, or values leave the range of doubles.
    gradient : ndarray of shape (n_arcs,)
    """
    results = sum_up_sentences(packed, potentials, n_jobs=n_jobs)
    indptr, begins = potentials.indptr, arc_begins(potentials.indptr)
    log_known, used = np.full(weights.size, -np.inf), np.zeros_like(results.arcs)
    kinds, only = np.empty(weights.size, dtype=np.int64), potentials.arcs.copy()
    _take_known(known, indptr, begins, packed.trees == "all", only, kinds, log_known, used)
    for s, target in enumerate(targets):
        if target is not None:
            arcs = slice(begins[s], begins[s + 1])
            kinds[s], used[arcs], log_known[s] = ALL, target, potentials.arcs[arcs] @ target
    partial = np.flatnonzero(kinds == SOME)
    if partial.size:
        those = take_potentials(potentials._replace(arcs=only), partial)
        of_those = sum_up_sentences(packed, those, n_jobs=n_jobs)
        log_known[partial] = np.where(of_those.sign > 0, of_those.log_abs_z, -np.inf)
        used[places_of(begins, partial)[1]] = of_those.arcs
    nothing = kinds == NOTHING
    log_known[nothing] = results.log_abs_z[nothing]
    losses, possible = np.full(weights.size, np.inf), (results.sign > 0) & (log_known > -np.inf)
    np.subtract(results.log_abs_z, log_known, out=losses, where=possible)
    counted = np.repeat(np.where(nothing, 0.0, weights), np.diff(begins))
    return losses, counted * (results.arcs - used)


def arc_losses(indptr, arcs, known, weights, targets=(), trees="projective"):
    """Compute the losses and the gradient of known heads or targets, by the scores of all arcs."""
    grammar, potentials = grammar_of_arcs(trees), potentials_of_arcs(indptr, arcs)
    return sum_up_losses(grammar, potentials, known, weights, targets=targets)


def cross_entropy(scores, known, weights):
    """Compute a weighted sum of cross-entropies, and its derivative by the scores.

    Parameters
    ----------
    scores : float ndarray of shape (n, n_classes)
    known : int ndarray of shape (n,) or float ndarray of the shape of scores
        Classes, or distributions over classes.
    weights : ndarray of shape (n,)

    Returns
    -------
    loss : float
    gradient : ndarray of the shape and type of scores
    """
    if not known.size:
        return 0.0, np.zeros_like(scores)
    logs, rows = log_softmax(scores, axis=1), np.arange(len(known))
    gradient = np.exp(logs)
    if known.ndim == 2:
        gradient, losses = gradient - known, np.sum(known * logs, axis=1)
    else:
        gradient[rows, known] -= 1
        losses = logs[rows, known]
    gradient *= weights[:, None].astype(scores.dtype)
    return -float(weights @ losses), gradient


@table_kernel
def _take_known(heads, indptr, begins, may_cross, arcs, kinds, log_known, used):
    """Score trees with all heads known; in other sentences forbid arcs from other heads."""
    for s in range(indptr.size - 1):
        of_sentence = heads[indptr[s] : indptr[s + 1]]
        n, n_known = of_sentence.size, 0
        for m in range(n):
            n_known += of_sentence[m] >= 0
        kinds[s] = NOTHING if n_known == 0 else SOME
        if n_known == n:
            kinds[s] = ALL
            if _is_learnable(of_sentence, may_cross):
                log_known[s] = 0.0
                for m in range(n):
                    place = begins[s] + m * (n + 1) + of_sentence[m]
                    log_known[s] += arcs[place]
                    used[place] = 1.0
        elif n_known:
            for m in range(n):
                for h in range(n + 1):
                    if 0 <= of_sentence[m] != h:
                        arcs[begins[s] + m * (n + 1) + h] = -np.inf


@inner_table_kernel
def _is_learnable(heads, may_cross):
    """Tell whether a tree has one root and, unless they may, its arcs do not cross."""
    n, n_roots = heads.size, 0
    for m in range(1, n + 1):
        n_roots += heads[m - 1] == 0
        low, high = min(m, heads[m - 1]), max(m, heads[m - 1])
        for k in range(low + 1, low if may_cross else high):
            if heads[k - 1] < low or heads[k - 1] > high:
                return False
    return n_roots == 1

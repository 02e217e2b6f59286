"""Sentences of a chunk through the scaled chart, one by one."""

import numpy as np

from sklearn_shag.operators import LOG_BASE, Operators
from sklearn_shag.parsing._potentials import classes_of
from sklearn_shag.parsing._scaled_chart import Sentence, Table, normalise_scores
from sklearn_shag.parsing._scaled_outside import sum_over_trees
from sklearn_shag.utils._kernel import inner_kernel, kernel

# Further below the largest score of its token an arc counts as forbidden: there, a logarithm in
# double precision is off by a tenth.
LARGEST_GAP = 1e15


@kernel
def run_scaled(operators, factors, which, results, done, weights, counts):
    """Parse sentences of a chunk, as :func:`run_fast` does, whatever the size of their values.

    Parameters
    ----------
    operators : ScaledOperators
        Of a grammar.
    factors : Factors
        Of the chunk.
    which : int array
        The sentences to parse.
    results : Results
        Gets what is found of each, its expected uses where there is room for them.
    done : bool array of the size of `which`
        Is set to whether Z is not 0, and it and all expected uses are finite. Else the results
        stay as they are.
    weights : array of shape (n_sentences,)
        Of sentences in `counts`.
    counts : Operators
        The expected uses of operators are added to it; none where it is empty.
    """
    of_sentence = Operators(
        np.zeros(counts.alpha_1.shape), np.zeros(counts.alpha_inf.shape), np.zeros(counts.A.shape)
    )
    for k in range(which.size):
        s = which[k]
        sentence, offset = _sentence_of(factors, s, operators.A.shape[0] - 1)
        z, exponent, arcs, stops = sum_over_trees(operators, sentence, True, of_sentence)
        # They are NaN if Z is 0. What cancels in them may be counts that do not fit a double.
        done[k] = np.isfinite(arcs).all() and np.isfinite(stops).all() and _are_finite(of_sentence)
        _move(of_sentence.alpha_1, done[k], weights[s], counts.alpha_1)
        _move(of_sentence.alpha_inf, done[k], weights[s], counts.alpha_inf)
        _move(of_sentence.A, done[k], weights[s], counts.A)
        if done[k] and results.arcs.size:
            _note_uses(factors, s, arcs, stops, results)
        if done[k]:
            results.sign[s] = np.sign(z)
            results.log_abs_z[s] = np.log(abs(z)) + exponent * LOG_BASE + offset


@inner_kernel
def _sentence_of(factors, s, root):
    """Make the sentence of some factors; its log Z is to be increased by the number returned."""
    low, high = factors.indptr[s], factors.indptr[s + 1]
    n = high - low + 1
    n_classes = classes_of(factors)
    codes, memory = np.full(n, root), np.zeros(n, np.int64)
    codes[1:] = factors.codes[low:high]
    if factors.memory.size:
        memory[1:] = factors.memory[low:high]
    stop_scores = np.ones((n, 2, n_classes))
    if factors.stop_memory.size:
        stop_scores[1:] = factors.stop_memory[low:high]
    arc_scores = np.ones((n, n, n_classes))
    if factors.arc_memory.size:
        for m in range(1, n):
            row = factors.begins[s] + (m - 1) * n
            arc_scores[:, m] = factors.arc_memory[row : row + n]
    sentence = Sentence(
        codes,
        memory,
        Table(arc_scores, np.zeros(arc_scores.shape, np.int64)),
        Table(stop_scores, np.zeros(stop_scores.shape, np.int64)),
    )
    normalise_scores(sentence.arc_scores)
    normalise_scores(sentence.stop_scores)
    offset = 0.0
    if factors.arcs.size:
        for m in range(1, n):
            row = factors.begins[s] + (m - 1) * n
            offset += _multiply_arcs(sentence.arc_scores, factors.arcs[row : row + n], m)
    return sentence, offset


@inner_kernel
def _multiply_arcs(scores, arcs, m):
    """Multiply the scores of the arcs to token m by given ones, logarithms, but for the largest.

    Returns the largest, or 0 where all arcs are forbidden.
    """
    largest = -np.inf
    for h in range(arcs.size):
        if h != m:
            largest = max(largest, arcs[h])
    for h in range(arcs.size):
        gap = arcs[h] - largest if h != m and arcs[h] > -np.inf else -np.inf
        if gap < -LARGEST_GAP:
            scores.values[h, m] = 0.0
        else:
            exponent = int(gap / LOG_BASE)
            # By a factor in (1/BASE, 1]: MAX_SHIFT leaves room for scores as small as that.
            scores.values[h, m] *= np.exp(gap - exponent * LOG_BASE)
            scores.exponent[h, m] += exponent
    return largest if largest > -np.inf else 0.0


@inner_kernel
def _are_finite(counts):
    return (
        np.isfinite(counts.alpha_1).all()
        and np.isfinite(counts.alpha_inf).all()
        and np.isfinite(counts.A).all()
    )


@inner_kernel
def _move(part, wanted, weight, total):
    """Move the counts of a sentence to the sum, times its weight, or nowhere."""
    for place in range(part.size):
        if wanted:
            total.flat[place] += weight * part.flat[place]
        part.flat[place] = 0.0


@inner_kernel
def _note_uses(factors, s, arcs, stops, results):
    n, row = arcs.shape[1], factors.begins[s]
    for m in range(n - 1):
        for h in range(n):
            results.arcs[row] = arcs[m, h].sum()
            if results.arc_memory.size:
                results.arc_memory[row] = arcs[m, h]
            row += 1
    if results.stop_memory.size:
        results.stop_memory[factors.indptr[s] : factors.indptr[s + 1]] = stops[1:]

"""Sentences of a chunk through the scaled chart, one by one."""

import numpy as np

from sklearn_shag.parsing._scaled_chart import LOG2_BASE, arc_marginals, inside, outside
from sklearn_shag.utils._kernel import kernel


@kernel
def run_scaled(operators, codes, indptr, which, results, done):
    """Parse sentences of a chunk, as :func:`run_fast` does, whatever the size of their values."""
    for k in range(which.size):
        s = which[k]
        sentence = codes[indptr[s] : indptr[s + 1]]
        arc_scores = np.ones((sentence.size, sentence.size))
        stop_scores = np.ones((sentence.size, 2))
        chart, z, exponent = inside(operators, sentence, arc_scores, stop_scores, True)
        done[k] = False
        if z == 0.0 or not np.isfinite(z):
            continue
        if results.marginals.size:
            adjoint = outside(
                operators, sentence, arc_scores, stop_scores, True, chart, z, exponent
            )
            out = np.zeros((sentence.size - 1, sentence.size))
            arc_marginals(chart, adjoint, out)
            if not np.isfinite(out).all():
                continue
            results.marginals[results.begins[s] : results.begins[s + 1]] = out.ravel()
        done[k] = True
        results.sign[s] = np.sign(z)
        results.log_abs_z[s] = np.log(abs(z)) + exponent * LOG2_BASE * np.log(2.0)

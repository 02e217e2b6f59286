"""Products of matrices: rows that do not depend on others, on any machine."""

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag.network._products import BLOCK, apply_panels, make_panels
from tests.loops import over
from tests.processes import run

PROGRAM = """
import numpy as np
from sklearn_shag.network._products import make_panels, apply_panels
x, weight = np.random.default_rng(0).normal(size=(2, 70, 70)).astype(np.float32)
print(apply_panels(x, make_panels(weight)).tobytes().hex())
"""


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@over(("n_inputs", "n_outputs"), [(1, 1), (7, 64), (30, 65), (200, 150), (5, 0), (0, 3)])
def test_products_are_those_of_double_precision(rng, n_inputs, n_outputs):
    x, weight = normal(rng, 20, n_inputs), normal(rng, n_inputs, n_outputs)
    bias = normal(rng, n_outputs)
    expected = x.astype(float) @ weight + bias
    y = apply_panels(x, make_panels(weight, bias))
    assert y.dtype == np.float32
    assert_allclose(y[:, :n_outputs], expected, atol=2e-7 * max(n_inputs, 1) + 1e-6)


def test_each_entry_is_one_sum_from_the_first_input_to_the_last(rng):
    """Large terms that cancel: another order, or several sums, would keep other small terms."""
    x = np.ones((7, 5), np.float32)
    weight = np.array([1.0, 1e9, -1e9, 1.0, 2.0], np.float32)[:, None]
    assert_array_equal(apply_panels(x, make_panels(weight))[:, 0], 3.0)


def test_rows_do_not_depend_on_others(rng):
    x, panels = normal(rng, 2 * BLOCK + 40, 60), make_panels(normal(rng, 60, 150))
    whole = apply_panels(x, panels)
    for n_rows in (*range(1, 40), BLOCK - 1, BLOCK, BLOCK + 7):
        begin = int(rng.integers(len(x) - n_rows))
        part = slice(begin, begin + n_rows)
        assert_array_equal(apply_panels(x[part], panels), whole[part])


@pytest.mark.skipif(
    not get_host_cpu_features().get("avx512f"),
    reason="this machine has no wider vectors to compare with",
)
def test_the_width_of_vectors_changes_no_bit():
    # This one, whichever the tests run for: a processor without fused operations rounds otherwise.
    narrow = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"}
    one, other = (run(PROGRAM, **cpu).stdout for cpu in ({}, narrow))
    assert one == other

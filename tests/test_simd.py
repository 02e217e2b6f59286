"""Vectors of lanes: what each function does to arrays, as Python and as numba compiles it."""

import importlib

import numba
import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_array_equal

from sklearn_shag.utils._simd import (
    LANES,
    PANEL,
    TILE,
    add_sum,
    aligned,
    larger_sum,
    load,
    multiply,
    multiply_row,
    multiply_rows,
    opaque,
    put_sum,
    shaped,
    store,
    weight,
)
from tests.loops import over

LANE = slice(3, 3 + LANES)  # lanes need not begin at a multiple of their number


@pytest.fixture(params=["python", "compiled"])
def run(request):
    """Call a function of arrays, as it is or compiled; never from a cache that may be stale."""
    if request.param == "python":
        return lambda function, *arguments: function(*arguments)
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    importlib.import_module("sklearn_shag.utils._simd_compiled")  # numba learns of vectors
    return lambda function, *arguments: njit(function)(*arguments)


@pytest.fixture
def numbers():
    """Make an array of different whole numbers: their sums and products are exact."""
    rng = np.random.default_rng(0)

    def make(*shape):
        return rng.permutation(np.prod(shape)).reshape(shape) - 7.0

    return make


def square(array, rows, column):
    place = (*rows, column)
    vector = load(array, place)
    store(array, place, multiply(vector, vector))


@over(("shape", "rows"), [((), ()), ((3,), (2,)), ((3, 4), (2, 1)), ((2, 3, 4), (1, 2, 3))])
def test_load_and_store_take_lanes_along_the_last_axis(run, numbers, shape, rows):
    array = numbers(*shape, 2 * LANES)
    expected = array.copy()
    expected[(*rows, LANE)] **= 2
    run(square, array, rows, LANE.start)
    assert_array_equal(array, expected)


@over("view", [np.s_[::2], np.s_[:, ::2], np.s_[::-1, 1:, 2:]])
def test_rows_may_lie_apart(run, numbers, view):
    array = numbers(5, 6, 2 * LANES)
    expected = array.copy()
    expected[view][2, 1, LANE] **= 2
    run(square, array[view], (2, 1), LANE.start)
    assert_array_equal(array, expected)


def spread(weights, index, out):
    store(out, (1, 3), weight(weights, index))


INDICES_OF_WEIGHTS = [((5,), (3,)), ((3, 4), (2, 1)), ((3, 4, 5), (1, 3, 2))]


@over(("shape", "index"), INDICES_OF_WEIGHTS)
@over("lanes", [(), (LANES,)])
def test_a_weight_is_for_all_lanes_or_where_there_is_one_axis_more_for_one(
    run, numbers, shape, index, lanes
):
    weights, out = numbers(*shape, *lanes), np.full((2, 2 * LANES), np.nan)
    run(spread, weights, index, out)
    assert_array_equal(out[1, LANE], weights[index])
    assert np.isnan(out).sum() == out.size - LANES


def raise_lanes(one, other, least):
    total = larger_sum(load(one, (0,)), load(other, (1, 0)), load(least, (0,)))
    store(least, (0,), total)


def test_larger_sums_are_taken_lane_by_lane(run, numbers):
    one, other, least = numbers(LANES), numbers(2, LANES), numbers(LANES) * 3
    one[:2], least[2:4] = -np.inf, -np.inf
    expected = np.maximum(one + other[1], least)
    assert np.unique(expected == least).size == 2
    run(raise_lanes, one, other, least)
    assert_array_equal(least, expected)


def put(array, index, vector):
    put_sum(array, index, load(vector, (1, 0)))


def add(array, index, vector):
    add_sum(array, index, load(vector, (1, 0)))


@over(("shape", "index"), INDICES_OF_WEIGHTS)
@over("lanes", [(), (LANES,)])
def test_sums_of_lanes_go_where_weights_come_from(run, numbers, shape, index, lanes):
    array, vector = numbers(*shape, *lanes), numbers(2, LANES)
    change = vector[1] if lanes else vector[1].sum()
    expected = array.copy()
    expected[index] = change
    changed = array.copy()
    run(put, changed, index, vector)
    assert_array_equal(changed, expected)
    expected[index] = array[index] + change
    run(add, array, index, vector)
    assert_array_equal(array, expected)


def hide(values, out):
    for k in range(values.size):
        out[opaque(k)] = opaque(values[k])


@over("dtype", [np.int8, np.int32, np.int64])
def test_what_is_hidden_stays_what_it_is(run, dtype):
    limits = np.iinfo(dtype)
    values = np.array([0, 1, -1, limits.min, limits.max], dtype)
    out = np.empty(5, dtype=np.int64)
    run(hide, values, out)
    assert_array_equal(out, values)


@over("size", [1, 5, 8, 384, 10**5])
def test_aligned_arrays_begin_with_a_cache_line(size):
    arrays = [aligned(size) for _ in range(20)]
    for array in arrays:
        assert array.shape == (size,)
        assert array.dtype == float
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
    for k, array in enumerate(arrays):
        array[...] = k
    assert_array_equal(arrays, np.repeat(np.arange(20.0)[:, None], size, axis=1))


def fill_views(values, out):
    for k in range(2):
        view = shaped(values, (2, k + 2, 3))
        for i in range(2):
            for j in range(k + 2):
                for q in range(3):
                    view[i, j, q] += 1.0
        out[k] = view.size


def test_views_begin_where_their_array_does(run):
    values, out = np.zeros(20), np.zeros(2)
    run(fill_views, values, out)
    assert_array_equal(out, [12, 18])
    assert_array_equal(values, np.repeat([2.0, 1.0, 0.0], [12, 6, 2]))


def product_of_rows(x, panels, biases, y):
    multiply_rows(x, panels, biases, (1, 1), y)
    multiply_row(x, panels, biases, (1 + TILE, 0), y)


def test_products_of_rows(run, numbers):
    """The second panel of a tile of rows, the first of the next row, and nothing else."""
    x, panels = numbers(TILE + 3, 5).astype(np.float32), numbers(2, 5, PANEL).astype(np.float32)
    biases, y = numbers(2, PANEL).astype(np.float32), np.full((TILE + 3, 2 * PANEL), np.float32(7))
    expected = y.copy()
    expected[1 : 1 + TILE, PANEL:] = x[1 : 1 + TILE] @ panels[1] + biases[1]
    expected[1 + TILE, :PANEL] = x[1 + TILE] @ panels[0] + biases[0]
    run(product_of_rows, x, panels, biases, y)
    assert_array_equal(y, expected)

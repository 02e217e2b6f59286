"""Compiled forms of the functions of :mod:`sklearn_shag.utils._simd`, for numba."""

import inspect
from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.arrayobj import populate_array

from sklearn_shag.utils._simd import (
    LANES,
    PANEL,
    TILE,
    add_sum,
    lane_sum,
    larger_sum,
    load,
    multiply,
    multiply_add,
    multiply_row,
    multiply_rows,
    ones,
    opaque,
    put_sum,
    shaped,
    store,
    weight,
    zeros,
)


class VectorType(types.Type):
    """The type of a vector to numba."""

    def __init__(self):
        super().__init__(name=f"Vector({LANES})")


VECTOR_TYPE = VectorType()
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_INT32 = ir.IntType(32)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _VECTOR)


def _compiles_to(function, result, *argument_types):
    """Register the compiled form of `function`: code(context, builder, signature, arguments)."""

    def typer(*_):
        return result

    typer.__signature__ = inspect.signature(function)
    type_callable(function)(lambda context: typer)
    return lower_builtin(function, *argument_types)


def _point_at(context, builder, signature, arguments, element_type=_VECTOR):
    """Return a pointer to the value or vector at an index; lanes without an index begin at 0."""
    array_type, index_type = signature.args[:2]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = cgutils.unpack_tuple(builder, arguments[1], len(index_type))
    index = [
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(index, index_type, strict=True)
    ]
    index += [context.get_constant(types.intp, 0)] * (array_type.ndim - len(index))
    pointer = cgutils.get_item_pointer(context, builder, array_type, array, index)
    return builder.bitcast(pointer, element_type.as_pointer())


def _lanes_at(builder, vector, lanes):
    mask = ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _in_all_lanes(builder, value, vector_type):
    vector = ir.Constant(vector_type, ir.Undefined)
    vector = builder.insert_element(vector, value, ir.Constant(_INT32, 0))
    return _lanes_at(builder, vector, [0] * vector_type.count)


@_compiles_to(zeros, VECTOR_TYPE)
def _compile_zeros(context, builder, signature, arguments):
    return ir.Constant(_VECTOR, [0.0] * LANES)


@_compiles_to(ones, VECTOR_TYPE)
def _compile_ones(context, builder, signature, arguments):
    return ir.Constant(_VECTOR, [1.0] * LANES)


@_compiles_to(load, VECTOR_TYPE, types.Array, types.BaseTuple)
def _compile_load(context, builder, signature, arguments):
    return builder.load(_point_at(context, builder, signature, arguments), align=8)


@_compiles_to(store, types.void, types.Array, types.BaseTuple, VectorType)
def _compile_store(context, builder, signature, arguments):
    builder.store(arguments[2], _point_at(context, builder, signature, arguments), align=8)
    return context.get_dummy_value()


@_compiles_to(weight, VECTOR_TYPE, types.Array, types.BaseTuple)
def _compile_weight(context, builder, signature, arguments):
    if _a_value_a_lane(signature):
        return _compile_load(context, builder, signature, arguments)
    value = builder.load(_point_at(context, builder, signature, arguments, _DOUBLE))
    return _in_all_lanes(builder, value, _VECTOR)


@_compiles_to(multiply, VECTOR_TYPE, VectorType, VectorType)
def _compile_multiply(context, builder, signature, arguments):
    return builder.fmul(*arguments)


@_compiles_to(multiply_add, VECTOR_TYPE, VectorType, VectorType, VectorType)
def _compile_multiply_add(context, builder, signature, arguments):
    one, other, total = arguments
    # "contract": rounded once where the machine can.
    product = builder.fmul(one, other, flags=("contract",))
    return builder.fadd(product, total, flags=("contract",))


@_compiles_to(larger_sum, VECTOR_TYPE, VectorType, VectorType, VectorType)
def _compile_larger_sum(context, builder, signature, arguments):
    one, other, least = arguments
    total = builder.fadd(one, other)
    return builder.select(builder.fcmp_ordered(">", total, least), total, least)


def _sum_and_place(context, builder, signature, arguments):
    vector, element_type = arguments[2], _VECTOR
    if not _a_value_a_lane(signature):
        vector, element_type = _sum_of_lanes(builder, vector), _DOUBLE
    return vector, _point_at(context, builder, signature, arguments, element_type)


@_compiles_to(put_sum, types.void, types.Array, types.BaseTuple, VectorType)
def _compile_put_sum(context, builder, signature, arguments):
    total, place = _sum_and_place(context, builder, signature, arguments)
    builder.store(total, place, align=8)
    return context.get_dummy_value()


@_compiles_to(add_sum, types.void, types.Array, types.BaseTuple, VectorType)
def _compile_add_sum(context, builder, signature, arguments):
    total, place = _sum_and_place(context, builder, signature, arguments)
    builder.store(builder.fadd(builder.load(place, align=8), total), place, align=8)
    return context.get_dummy_value()


def _a_value_a_lane(signature):
    return signature.args[0].ndim > len(signature.args[1])


def _sum_of_lanes(builder, vector):
    width = LANES
    while width > 1:
        width //= 2
        low, high = list(range(width)), list(range(width, 2 * width))
        vector = builder.fadd(_lanes_at(builder, vector, low), _lanes_at(builder, vector, high))
    return builder.extract_element(vector, ir.Constant(_INT32, 0))


@type_callable(shaped)
def _type_shaped(context):
    def typer(values, shape):
        return types.Array(values.dtype, len(shape), "C")

    return typer


@lower_builtin(shaped, types.Array, types.BaseTuple)
def _compile_shaped(context, builder, signature, arguments):
    # Without a reference of its own: in kernels that count none, their callers hold the values.
    values = context.make_array(signature.args[0])(context, builder, arguments[0])
    shape = [
        context.cast(builder, size, kind, types.intp)
        for size, kind in zip(
            cgutils.unpack_tuple(builder, arguments[1]), signature.args[1], strict=True
        )
    ]
    strides = [values.itemsize]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(size, strides[0]))
    view = context.make_array(signature.return_type)(context, builder)
    populate_array(view, values.data, shape, strides, values.itemsize, meminfo=None)
    return view._getvalue()


@_compiles_to(lane_sum, types.float64, VectorType)
def _compile_lane_sum(context, builder, signature, arguments):
    return _sum_of_lanes(builder, arguments[0])


@_compiles_to(opaque, types.intp, types.Integer)
def _compile_opaque(context, builder, signature, arguments):
    value = context.cast(builder, arguments[0], signature.args[0], types.intp)
    function_type = ir.FunctionType(value.type, [value.type])
    return builder.asm(function_type, "", "=r,0", [value], True)


def _compile_product(n_rows, context, builder, signature, arguments):
    """Compile the product of `n_rows` rows by a panel, with a loop over inputs for each tile."""
    x, panels, biases, y = (
        context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 2, 4)
    )
    row, panel = cgutils.unpack_tuple(builder, arguments[3])
    (_, n_inputs), (_, n_columns) = (cgutils.unpack_tuple(builder, a.shape) for a in (x, y))
    # Columns whose sums for TILE rows the machine keeps in registers.
    width = PANEL if "+avx512f" in context.codegen().magic_tuple()[2].split(",") else 16
    vector = ir.VectorType(ir.FloatType(), 16)
    size = ir.Constant(n_inputs.type, PANEL)

    def vectors_at(data, place):
        """Point at the vectors of a tile that begin at a place of flat data."""
        places = (builder.add(place, ir.Constant(place.type, v)) for v in range(0, width, 16))
        return [builder.bitcast(builder.gep(data, [p]), vector.as_pointer()) for p in places]

    rows = [builder.add(row, ir.Constant(row.type, k)) for k in range(n_rows)]
    inputs = [builder.gep(x.data, [builder.mul(each, n_inputs)]) for each in rows]
    for first in range(0, PANEL, width):
        shift = builder.add(builder.mul(panel, size), ir.Constant(size.type, first))
        pointers = vectors_at(biases.data, shift)
        start = [builder.load(p, align=4) for p in pointers] * n_rows
        sums = [cgutils.alloca_once_value(builder, value) for value in start]
        with cgutils.for_range(builder, n_inputs) as loop:
            place = builder.add(builder.mul(panel, n_inputs), loop.index)
            place = builder.add(builder.mul(place, size), ir.Constant(size.type, first))
            weights = [builder.load(p, align=4) for p in vectors_at(panels.data, place)]
            factors = [builder.load(builder.gep(each, [loop.index])) for each in inputs]
            factors = [_in_all_lanes(builder, value, vector) for value in factors]
            terms = ((factor, w) for factor in factors for w in weights)
            for total, (factor, w) in zip(sums, terms, strict=True):
                product = builder.fmul(factor, w, flags=("contract",))
                added = builder.fadd(product, builder.load(total), flags=("contract",))
                builder.store(added, total)
        places = [builder.add(builder.mul(each, n_columns), shift) for each in rows]
        pointers = [p for place in places for p in vectors_at(y.data, place)]
        for total, pointer in zip(sums, pointers, strict=True):
            builder.store(builder.load(total), pointer, align=4)
    return context.get_dummy_value()


for _function, _n_rows in ((multiply_rows, TILE), (multiply_row, 1)):
    _types = types.Array, types.Array, types.Array, types.BaseTuple, types.Array
    _compiles_to(_function, types.void, *_types)(partial(_compile_product, _n_rows))

"""What operations on arrays become: calls, views and stores of the graph.

Everything NumPy-specific that capture needs to know about *how* an operation is spelled goes through dynamo_lite.ops;
this file turns symbolic values into operands and back. Stores keep their program order in the graph, so an array that
is changed in place stays the same node.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core import _methods

from dynamo_lite import ops
from dynamo_lite.capture.arrays import masks, warned
from dynamo_lite.capture.arrays.short_axes import fix_short_axes
from dynamo_lite.capture.arrays.temporaries import are_exchanged
from dynamo_lite.capture.arrays.written import is_loop_result, note_written, root_of
from dynamo_lite.capture.iteration.consumers import numbers_of
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.lists import whole_lists
from dynamo_lite.capture.lists.list_arrays import array_of_numbers
from dynamo_lite.capture.lists.rows import filled_array, length_of_part
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers import known
from dynamo_lite.capture.numbers.fixed import has_changed
from dynamo_lite.capture.numbers.numbers import SCALAR_OPS, as_scalar
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import AttributeMissing, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ComplexValue,
    ConstantValue,
    IteratorValue,
    ListValue,
    MethodValue,
    NumberValue,
    ObjectValue,
    RangeValue,
    RecordValue,
    ResultValue,
    SequenceValue,
    SizesDiffer,
    SliceValue,
    Value,
    computed_number,
)
from dynamo_lite.capture.wrap import MISSING, class_lookup, int_from_outside
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import OpenNumber, Undecided
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make, product
from dynamo_lite.ops.conversion import Filled, is_pending
from dynamo_lite.ops.parameters import is_supported

FLAT = operator.attrgetter("flat")
_DISPATCHER: type = type(np.mean)
# ndarray methods that NumPy itself forwards to Python functions of numpy._core._methods.
_FORWARDED: dict[str, types.FunctionType] = {
    name: getattr(_methods, "_" + name) for name in ("mean", "var", "std", "ptp") if hasattr(_methods, "_" + name)
}
_TOLIST: Any = numbers_of  # of one axis, in a loop


# -- operands and results ------------------------------------------------------------------------

# The items of a list that the program has as an object, where they can be told; object_lists.py sets it.
ITEMS: list[Callable[[Machine, ListValue], list[Value] | None]] = []


def raw(machine: Machine, value: Value, outer: tuple[Value, ...] = ()) -> Any:
    """A value as ops take it: Node, Scalar, constant, or tuples, lists and slices of these. outer: what it is in."""
    value = machine.realised(value)
    if value in outer:
        raise Break("op-without-rule", "a list that holds itself, as an operand")
    match value:
        case ArrayValue():
            return value.node
        case NumberValue():
            return value.expr
        case ConstantValue():
            return value.value
        case ComplexValue():
            return complex_node(machine, value)
        case ListValue() | SequenceValue() if (filled := array_of_list(machine, value)) is not None:
            return filled
        case ListValue() if (items := ITEMS[0](machine, value)) is not None:
            return [raw(machine, item) for item in items]
        case SequenceValue():
            items = [raw(machine, item, (*outer, value)) for item in value.items]
            return tuple(items) if value.kind is tuple else items
        case SliceValue():
            return slice(raw(machine, value.start), raw(machine, value.stop), raw(machine, value.step))
        case RangeValue():
            bounds = (machine.tracer.specialise(NumberValue(None, b)) for b in (value.start, value.stop, value.step))
            return range(*(bound.value for bound in bounds if isinstance(bound, ConstantValue)))
    raise Break("op-without-rule", f"{a_kind(value)} as an operand")


def complex_node(machine: Machine, value: ComplexValue) -> Node:
    """The complex128 of a complex number that only the run knows."""
    parts = tuple(part for item in value.items if (part := as_scalar(item)) is not None)
    if len(parts) < len(value.items):
        raise Break("data-dependent-number", "a complex number that a loop has computed")
    node = ops.call(machine.tracer.graph, "complex_number", parts, {}, machine.tracer.location())
    assert isinstance(node, Node)
    return node


def require_double(*values: Value) -> None:
    """Break where a complex number only the run knows stands beside an array that has NumPy compute otherwise than in
    complex128: Python's own is weak."""
    arrays = [value.node.array_type.dtype for value in values if isinstance(value, ArrayValue)]
    is_beside = any(isinstance(value, ComplexValue) for value in values)
    if is_beside and any(np.result_type(dtype, 1j) != np.complex128 for dtype in arrays):
        raise Break("op-without-rule", "a complex number beside an array of another precision")


def array_of_list(machine: Machine, value: SequenceValue | ListValue) -> Filled | None:
    """The array of all numbers in a list that a loop has filled, or in one from outside, or in one of the program's."""
    if isinstance(value, SequenceValue) and value.filled is not None:
        return filled_list(machine, value)
    known = whole_lists.as_operand(machine.tracer, value)
    return array_of_numbers(machine.tracer, value) if known is None and isinstance(value, ListValue) else known


def filled_list(machine: Machine, value: SequenceValue) -> Filled | None:
    """The array of a list that a loop has filled."""
    rows = filled_array(machine.tracer, value)
    if rows is None:
        return None
    assert rows.array is not None
    if not rows.counted:
        return Filled(rows.array.node)
    length = length_of_part(machine.tracer, rows, read_result(machine, value.ends["length"]))
    if length is None:
        return None
    bounds = SliceValue(None, ConstantValue(None, None), machine.tracer.number(length), ConstantValue(None, None))
    return Filled(get_item(machine, rows.array, bounds).node)  # type: ignore[attr-defined]


def value_of(machine: Machine, result: Any) -> Value:
    """What an op gave, as a value."""
    if isinstance(result, Node) and result.op == "python_complex":
        return ResultValue(None, result, complex)
    if isinstance(result, Node):
        return _known_value(machine, result)
    if isinstance(result, tuple):
        return SequenceValue(None, tuple, [value_of(machine, item) for item in result])
    if is_symbolic(result):
        return NumberValue(None, result)
    return computed_number(result) if type(result) in (int, float, complex) else ConstantValue(None, result)


def no_rule(error: ops.OpError) -> Exception:
    """The break that an op without a rule for its operands is; what hangs on a loop's index the loop has to settle."""
    if isinstance(error, Undecided):
        return error
    if isinstance(error, ops.DoesNotBroadcast):
        return SizesDiffer(str(error), error.sizes)
    return Break("data-dependent-shape" if isinstance(error, ops.UnknownShape) else "op-without-rule", str(error))


def complete(machine: Machine, bound: ops.Bound) -> Value:
    """Append a bound call, and the store into its out=; an op without a rule for its operands is a break."""
    tracer = machine.tracer
    bound = fix_short_axes(tracer, bound)
    if bound.out is not None and _looks_at_result(bound.op, bound.out.array_type.dtype):
        return _into_itself(machine, bound)
    if _is_done_in_place(bound):
        raise Break("op-without-rule", "np.square of a complex scalar")
    _require_another_mask(tracer, bound)
    open_size = bound.op != "same" and ops.REGISTRY[bound.op].open_size
    if open_size:
        bound = replace(bound, params={**bound.params, "yields": (_open_size(tracer),)})
    try:
        with tracer.demands():
            result = warned.append(tracer, bound)
    except ops.OpError as error:
        if open_size:
            del tracer.graph.symbols[bound.params["yields"][0].name]
        raise no_rule(error) from None
    tracer.handed.clear()
    tracer.check_size()
    if bound.out is not None:
        note_written(machine, bound.out)
    if bound.record is not None:
        assert isinstance(result, tuple)
        return RecordValue(None, bound.record, [value_of(machine, item) for item in result])
    return value_of(machine, result)


def _require_another_mask(tracer: Tracer, bound: ops.Bound) -> None:
    """np.copyto(target, x, where=mask): see masks.require_another."""
    if bound.op != "same" or bound.out is None:
        return
    (chosen,) = bound.args
    mask = chosen.args[0] if isinstance(chosen, Node) and chosen.op == "where" and is_pending(chosen) else None
    if isinstance(mask, Node) and mask is not bound.out:
        try:
            masks.require_another(tracer, bound.out, mask)
        except ops.OpError as error:
            raise no_rule(error) from None


def _open_size(tracer: Tracer) -> Symbol:
    """A Symbol for a size that the run takes from what NumPy gives."""
    if len(tracer.carried) >= MAX_READ:
        raise Break("graph-too-large", f"more than {MAX_READ} sizes and numbers out of arrays")
    (name,) = tracer.yield_names(1)
    return tracer.graph.add_size(name)


def _is_done_in_place(bound: ops.Bound) -> bool:
    """Whether NumPy computes a ufunc of a scalar in the scalar's copy, and that matters: see _looks_at_result.

    NB: it does so from NumPy 2.4 on, and only once it knows the loop: the first call of a process may differ."""
    if bound.op != "square":
        return False
    (arg,) = bound.args
    return isinstance(arg, Node) and arg.array_type.scalar and arg.array_type.dtype.kind == "c"


def _looks_at_result(op: str, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's bits may depend on where the result of a ufunc lies."""
    if dtype.kind == "c":
        # Where it overlaps an operand NumPy runs another loop: without fused multiply-adds, and of two NaNs with the
        # other one first.
        return op != "same" and op not in ops.vector_math.EXACT_COMPLEX
    return ops.vector_math.looks_at_strides(op, dtype)


def _into_itself(machine: Machine, bound: ops.Bound) -> Value:
    """A call of a ufunc into its out=, which NumPy does there."""
    tracer = machine.tracer
    assert bound.out is not None
    note_written(machine, bound.out)
    try:
        ops.elementwise.store_ufunc(tracer.graph, bound, tracer.location(), tracer.relate)
    except ops.OpError as error:
        raise no_rule(error) from None
    tracer.check_size()
    return value_of(machine, bound.out if bound.returns == "value" else None)


def _known_value(machine: Machine, node: Node) -> Value:
    """The value that already stands for a node: an input keeps its source."""
    return machine.tracer.arrays.get(node) or ArrayValue(None, node)


# -- operators -----------------------------------------------------------------------------------


def _operand(machine: Machine, value: Value, beside: Value | None = None) -> Any:
    """An operand of an operator, `beside` another one; a sequence is converted by NumPy."""
    if isinstance(value, ResultValue) and value.kind is complex and isinstance(beside, ArrayValue):
        type_ = beside.node.array_type
        # Where NumPy computes in complex128 all the same, it makes no difference that a Python number is weak.
        if not type_.scalar and np.result_type(type_.dtype, 1j) == value.node.array_type.dtype:
            return value.node
    found = _array_of_range(machine, value) if isinstance(value, RangeValue) else raw(machine, value)
    if isinstance(found, Node | int | float | complex | bool | np.generic) or is_symbolic(found):
        return found
    if isinstance(found, list | tuple | Filled):
        return found
    raise Break("op-without-rule", f"{ops.described(found)} as an operand")


def _array_of_range(machine: Machine, value: RangeValue) -> Node:
    """The array that NumPy makes of a range beside another one, whose numbers may be those of the call."""
    forward = machine.tracer.relate(make("gt", value.step, 0))
    if not machine.tracer.relate(make("lt" if forward else "gt", value.start, value.stop)):
        raise Break("op-without-rule", "an empty range as an operand")  # of which NumPy makes floats
    bounds = [machine.tracer.number(bound) for bound in (value.start, value.stop, value.step)]
    made = call_numpy(machine, np.arange, bounds, {})
    assert isinstance(made, ArrayValue)
    return made.node


def binary(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs with at least one array."""
    if are_exchanged(machine, op, lhs, rhs):
        lhs, rhs = rhs, lhs
    result = _operator(machine, ops.binary_operator, op, _operand(machine, lhs, rhs), _operand(machine, rhs, lhs))
    known.note_real(machine, result, op, lhs, rhs)
    return known.note_int(result, {"+": "add", "-": "sub", "*": "mul"}.get(op), lhs, rhs)


def is_constant_scalar(value: Value) -> bool:
    """Whether it is a NumPy scalar that is the same one in all calls, which operates as others do."""
    return isinstance(value, ConstantValue) and isinstance(value.value, np.bool_ | np.integer | np.floating)


def constant_scalar(machine: Machine, value: Value) -> ArrayValue:
    """Such a scalar, in the graph."""
    assert isinstance(value, ConstantValue)
    result = complete(machine, ops.Bound("scalar_cast", (value.value.item(),), {"type": type(value.value)}))
    assert isinstance(result, ArrayValue)
    if isinstance(value.value, np.intp):
        result.number = int(value.value)
    return result


def compare(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs for a comparison."""
    result = _operator(machine, ops.binary_operator, op, _operand(machine, lhs), _operand(machine, rhs))
    return known.note_int(result, SCALAR_OPS[op], lhs, rhs)


def unary(machine: Machine, op: str, operand: Value) -> Value:
    """-x, +x, ~x, abs(x)."""
    return _operator(machine, ops.unary_operator, op, _operand(machine, operand))


def _operator(machine: Machine, rule: Any, op: str, *operands: Any) -> Value:
    """The operator's call; an int exponent of arrays and integers is fixed, since NumPy's rule depends on its value. Of
    a float it is only asked whether it is one of those that have a rule."""
    is_fixed = op == "**" and is_symbolic(operands[1]) and kind_of(operands[1]) != "float"
    if is_fixed and not (isinstance(operands[0], Node) and _is_float_scalar(operands[0])):
        exponent = machine.tracer.specialise(NumberValue(None, operands[1]))
        assert isinstance(exponent, ConstantValue)
        operands = (operands[0], exponent.value)
    try:
        relate = () if rule is ops.unary_operator else (machine.tracer.relate,)
        bound = rule(op, *operands, *relate)
    except ops.OpError as error:
        raise no_rule(error) from None
    return complete(machine, bound)


def _is_float_scalar(node: Node) -> bool:
    """Whether it is a NumPy scalar whose powers are those of C, whatever the exponent is."""
    return node.array_type.scalar and node.array_type.dtype.kind == "f"


def inplace(machine: Machine, op: str, lhs: ArrayValue, rhs: Value) -> Value:
    """lhs op= rhs: compute, then store into lhs."""
    _operator(machine, ops.inplace_operator, op, lhs.node, _operand(machine, rhs, lhs))
    return lhs


# -- what loops carry ------------------------------------------------------------------------------


def carried(machine: Machine, value: ArrayValue) -> bool:
    """Whether `value` is carried by a loop: which object it is depends on the iteration."""
    return is_loop_result(value.node) or any(value.node in region.carried for region in machine.tracer.regions)


# -- numbers out of NumPy scalars ------------------------------------------------------------------
MAX_LISTED = 1000  # items of a list that is an index


def read_number(machine: Machine, value: Value, asked: bool = False) -> Value | None:
    """The Python int or float that a NumPy scalar holds, as only the run knows; None: it has none. asked: the code says
    so itself, as float() does; what else needs a number has a better way where no loop is around."""
    tracer = machine.tracer
    in_loop = tracer.regions or tracer.peeling
    if isinstance(value, ArrayValue) and (count := masks.count_summed(tracer, value.node, asked)) is not None:
        return NumberValue(None, count)
    if isinstance(value, ArrayValue) and not (in_loop or asked):
        int_from_outside(tracer, value)
    if isinstance(value, ArrayValue) and value.number is not None:
        return tracer.number(value.number) if kind_of(value.number) == "int" else None
    if not (in_loop or asked) or not isinstance(value, ArrayValue) or not value.node.array_type.scalar:
        return None
    dtype = value.node.array_type.dtype
    if dtype.char not in "bBhHiIlLqQfd" or not is_supported(dtype):
        return None
    found = _number_of_sum(machine, value.node)
    found = known.read_before(tracer.graph, value.node) if found is None else found
    if found is not None:
        return NumberValue(None, found)
    if len(tracer.carried) >= MAX_READ:
        raise Break("graph-too-large", f"more than {MAX_READ} numbers out of arrays")
    (name,) = tracer.yield_names(1)
    symbol = tracer.graph.add_yield(name, "float" if dtype.kind == "f" else "int")
    tracer.alternatives[name] = ()  # an object of its own
    ops.call(tracer.graph, "scalar_number", (value.node,), {"yields": (symbol,)}, tracer.location())
    return NumberValue(None, symbol)


_SUMS = {"scalar_add": "add", "scalar_subtract": "sub"}


def _number_of_sum(machine: Machine, node: Node) -> Scalar | None:
    """The int that a sum of int64 scalars is, by those of its operands: of x + 100 and x + 1 the difference is known.
    One that does not fit, for which NumPy warns, is found where it is evaluated."""
    if node.op not in _SUMS or node.array_type.dtype != np.int64:
        return None
    numbers: list[Scalar] = []
    for arg in node.args:
        if isinstance(arg, Node):
            read = read_number(machine, ArrayValue(None, arg), True) if arg.array_type.dtype == np.int64 else None
            if not isinstance(read, NumberValue):
                return None
            numbers.append(read.expr)
        elif kind_of(arg) == "int":
            numbers.append(arg)
        else:
            return None
    return make(_SUMS[node.op], *numbers)


def read_result(machine: Machine, value: Value, ints: bool = True) -> Value:
    """A number that a loop before has ended with, where something is computed from it; other values as they are. ints:
    those, too. NB: in a loop around, which would go on with it, capture would take half as long again."""
    if not isinstance(value, ResultValue) or value.kind not in (int, float) or machine.tracer.regions:
        return value
    if value.kind is int and not ints:
        return value
    return read_number(machine, ArrayValue(None, value.node), asked=True) or value


def read_int(machine: Machine, value: Value, asked: bool = False) -> Value:
    """An integer NumPy scalar as the int that it holds, where that can be read; any other value as it is."""
    value = machine.realised(value)
    if isinstance(value, ArrayValue) and value.node.array_type.dtype.kind in "iu":
        found = read_number(machine, value, asked)
        return value if found is None else found
    return value


MAX_READ = 200  # csrc/builder/build_loop.c counts the steps that yield numbers in a byte


# -- indexing ------------------------------------------------------------------------------------


def _index_items(machine: Machine, index: Value, ndim: int) -> Any:
    """An index as raw items."""
    found = raw(machine, _numbers_read(machine, index, ndim))
    return tuple(_listed(machine, item) for item in (found if isinstance(found, tuple) else (found,)))


def _listed(machine: Machine, item: Any) -> Any:
    """A list of known ints as the array of indices that NumPy makes of it; any other item as it is."""
    if type(item) is not list or not 0 < len(item) <= MAX_LISTED or any(type(one) is not int for one in item):
        return item
    try:
        return machine.tracer.graph.add_constant(np.array(item, np.intp))
    except OverflowError:  # an IndexError of NumPy's
        return item


def _numbers_read(machine: Machine, index: Value, ndim: int) -> Value:
    """An index with the integers that NumPy scalars hold, where these make a view or a loop is around; as it is where
    an array is among its items."""
    index = machine.realised(index)
    if isinstance(index, SequenceValue) and index.kind is not tuple:
        return index  # a list is an array of indices
    items = [machine.realised(item) for item in index.items] if isinstance(index, SequenceValue) else [index]
    if any(isinstance(item, ArrayValue) and not item.node.array_type.scalar for item in items):
        return index
    numbers = sum(isinstance(item, ArrayValue | NumberValue) for item in items)
    numbers += sum(isinstance(item, ConstantValue) and isinstance(item.value, int) for item in items)
    # NB: one element is also found by an array of the index, which the next graph takes as it is.
    if not machine.tracer.regions and not machine.tracer.peeling and numbers == ndim:
        return index
    found = [_item_read(machine, item) for item in items]
    return SequenceValue(None, tuple, found) if isinstance(index, SequenceValue) else found[0]


def _item_read(machine: Machine, item: Value) -> Value:
    if isinstance(item, SliceValue):
        return SliceValue(None, *(read_int(machine, part, asked=True) for part in (item.start, item.stop, item.step)))
    return read_int(machine, item, asked=True)


def get_item(machine: Machine, array: ArrayValue, index: Value) -> Value:
    """array[index]."""
    items = _index_items(machine, index, array.node.array_type.ndim)
    items = masks.instead_of_places(machine.tracer, array.node, items)
    mark = len(machine.tracer.graph.nodes)
    try:
        chosen = masks.selection(machine.tracer, array.node, items)
        if chosen is not None:
            node = masks.get(machine.tracer, chosen)
            machine.tracer.check_size()
            return ArrayValue(None, node)
    except ops.OpError as error:
        del machine.tracer.graph.nodes[mark:]
        raise no_rule(error) from None
    with machine.tracer.demands(of_slices=True):
        return complete(machine, _indexed(array, items))


def _indexed(array: ArrayValue, items: tuple[Any, ...]) -> ops.Bound:
    try:
        return ops.index(array.node, items)
    except ops.OpError as error:
        raise no_rule(error) from None


def set_item(machine: Machine, array: ArrayValue, index: Value, value: Value) -> None:
    """array[index] = value."""
    if array.node.array_type.scalar:
        raise Break("python-exception", "TypeError: a NumPy scalar does not support item assignment")
    tracer = machine.tracer
    note_written(machine, array.node)
    value = machine.realised(value)
    if isinstance(value, ComplexValue) and array.node.array_type.dtype != np.complex128:
        raise Break("op-without-rule", f"a store of a complex number into {array.node.array_type.dtype}")
    key, stored = raw(machine, _numbers_read(machine, index, array.node.array_type.ndim)), raw(machine, value)
    mark = len(tracer.graph.nodes)
    try:
        given = key if isinstance(key, tuple) else (key,)
        items = masks.instead_of_places(tracer, array.node, given)
        key = key if items is given else items[0]
        chosen = masks.selection(tracer, array.node, items)
        if chosen is not None and isinstance(stored, Node) and _is_for_each(stored, chosen):
            masks.put(tracer, chosen, stored)
        else:
            target = array.node
            if chosen is not None and chosen.at and isinstance(stored, Node) and stored.array_type.shape:
                raise ops.OpError("a masked store of a row behind axes that are kept")
            if chosen is not None:
                target, key = chosen.x, chosen.mask
                if key is not target:
                    masks.require_another(tracer, target, key)
            with machine.tracer.demands(of_slices=True):
                ops.store_index(tracer.graph, target, key, stored, tracer.location(), tracer.relate)
            written = tracer.graph.nodes[-1].args[1]
            scatters = isinstance(written, Node) and written.op == "put_index"
            is_outside = not tracer.regions and root_of(array.node).kind is NodeKind.INPUT
            if scatters and is_outside and machine.owns_slots and _is_long_to_copy(tracer, array.node):
                # NB: all of the array would be copied, to be put back on a decline, for the few places that change;
                # of a whole function the cost model is asked, of what goes on behind a break it is not.
                raise ops.OpError("a store by index arrays into an array from outside")
    except ops.OpError as error:
        del tracer.graph.nodes[mark:]
        raise no_rule(error) from None
    tracer.check_size()


def _is_for_each(stored: Node, chosen: masks.Selection) -> bool:
    """Whether a masked store has values for each place that the mask selects, not one for all of them."""
    ndims = [node.array_type.ndim for node in (stored, chosen.x, chosen.mask)]
    return ndims[0] > ndims[1] - ndims[2]


_SHORT_COPY = 1 << 14  # elements, which are copied in less than a break takes


def _is_long_to_copy(tracer: Tracer, target: Node) -> bool:
    """Whether to copy all of an array from outside takes longer than a break of the graph."""
    size = product(root_of(target).array_type.shape)
    return tracer.varies(size) or int(tracer.hint(size)) > _SHORT_COPY  # type: ignore[arg-type]


def unpack(machine: Machine, array: ArrayValue, count: int) -> list[Value]:
    """a, b, c = array."""
    type_ = array.node.array_type
    if type_.scalar or type_.ndim == 0:
        raise Break("python-exception", "TypeError: cannot unpack")
    if not machine.tracer.relate(ScalarOp("eq", "bool", (type_.shape[0], count))):
        raise Break("unpack", f"an array into {count} names")
    return [get_item(machine, array, ConstantValue(None, i)) for i in range(count)]


# -- attributes and methods ----------------------------------------------------------------------


def array_attribute(machine: Machine, array: ArrayValue, name: str) -> Value:
    """array.name."""
    type_ = array.node.array_type
    match name:
        case "shape":
            return SequenceValue(None, tuple, [machine.tracer.number(dim) for dim in type_.shape])
        case "ndim":
            return ConstantValue(None, type_.ndim)
        case "dtype":
            return ConstantValue(constant(type_.dtype), type_.dtype)
        case "size":
            return machine.tracer.number(product(type_.shape))
        case "itemsize":
            return ConstantValue(None, type_.dtype.itemsize)
        case "nbytes":
            return machine.tracer.number(product((*type_.shape, type_.dtype.itemsize)))
        case "real" if type_.scalar and type_.dtype.kind in "biuf":
            return array
        case "T" | "mT" | "real" | "imag":
            spelling = ops.attribute(name)
            if spelling is not None:
                return bind(machine, spelling, [array], {})
        case "flat" if machine.tracer.native_loops and type_.shape:
            return IteratorValue(None, CallValue(None, FLAT, [array]), [array], "flat")
        case "__class__":
            return ConstantValue(None, type_.dtype.type if type_.scalar else np.ndarray)
    owner = type_.dtype.type if type_.scalar else np.ndarray
    found = class_lookup(owner, name)
    if found is MISSING:
        raise AttributeMissing(name)
    if isinstance(found, types.MethodDescriptorType) or (callable(found) and not name.startswith("__")):
        return MethodValue(None, ConstantValue(None, found), array, name)
    raise Break("op-without-rule", f"attribute {name} of an array")


def call_method(machine: Machine, array: ArrayValue, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """array.name(*args, **kwargs)."""
    if name in _FORWARDED and not array.node.array_type.scalar:
        function = _FORWARDED[name]
        return machine.call_python(function, constant(function), [array, *args], kwargs)
    if name == "item" and not kwargs and (element := _element(machine, array, args)) is not None:
        number = read_number(machine, element, asked=True)
        if number is not None:
            return number
    if name == "tolist" and not args and not kwargs and machine.tracer.in_loop and array.node.array_type.ndim == 1:
        return machine.call_python(_TOLIST, constant(_TOLIST), [array], {})
    if name in ("item", "tolist", "__float__", "__int__"):
        raise Break("data-dependent-number", f".{name}()")
    op = ops.method(name)
    if op is None:
        raise Break("op-without-rule", f"ndarray.{name}")
    result = bind(machine, op, [array, *args], kwargs)
    if name == "astype" and isinstance(result, ArrayValue) and result.node.array_type.dtype == np.intp:
        result.number = array.whole if array.number is None else array.number
    return result


def _element(machine: Machine, array: ArrayValue, indices: list[Value]) -> Value | None:
    """What array.item(*indices) takes: the only element, or the one at an index for each axis; None for other forms."""
    type_ = array.node.array_type
    if type_.scalar and not indices:
        return array
    if not indices:
        size = product(type_.shape)
        if machine.tracer.varies(size) or not machine.tracer.relate(make("eq", size, 1)):
            return None
        indices = [ConstantValue(None, 0)] * type_.ndim
    if len(indices) != type_.ndim or any(kind_of_number(machine, index) != "int" for index in indices):
        return None
    return get_item(machine, array, SequenceValue(None, tuple, indices))


def kind_of_number(machine: Machine, value: Value) -> str:
    """The kind of a Python number, "" for anything else."""
    scalar = as_scalar(machine.realised(value))
    return "" if scalar is None else kind_of(scalar)


def bind(machine: Machine, spelling: ops.Spelling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call of one of NumPy's names."""
    operands = tuple(raw(machine, value) for value in args)
    keywords = {name: raw(machine, value) for name, value in kwargs.items()}
    while True:
        try:
            bound = spelling.bind(operands, keywords, machine.tracer.relate)
        except ops.NotConstant as error:
            fixed = _constant_or_open(machine, error)
            operands = _fixed(operands, error.value, fixed)
            keywords = {name: _fixed(value, error.value, fixed) for name, value in keywords.items()}
        except ops.NotRead as error:
            scalar: Any = _number_of(machine, error.node, [*args, *kwargs.values()], error.is_open)
            if not error.node.array_type.scalar:
                scalar = known.ints_of(machine.tracer.graph, error.node)
            if scalar is None and error.is_open:
                number = read_number(machine, ArrayValue(None, error.node), asked=True)
                assert isinstance(number, NumberValue), error.node
                scalar = number.expr
            if scalar is None:
                raise no_rule(error) from None
            operands = _fixed(operands, error.node, scalar)
            keywords = {name: _fixed(value, error.node, scalar) for name, value in keywords.items()}
        except ops.OpError as error:
            raise no_rule(error) from None
        else:
            return complete(machine, bound)


def _constant_or_open(machine: Machine, error: ops.NotConstant) -> Any:
    """An axis, a kind, a number of places, fixed to what it is in this call; what changes, and may, as it is."""
    tracer = machine.tracer
    if error.may_vary and (tracer.varies(error.value) or has_changed(tracer, error.value)):
        return OpenNumber(error.value)
    fixed = tracer.specialise(NumberValue(None, error.value))
    assert isinstance(fixed, ConstantValue)
    return fixed.value


def _number_of(machine: Machine, node: Node, args: Sequence[Value], is_open: bool) -> Scalar | None:
    """The int that the NumPy scalar `node` among the arguments is known to be."""
    for arg in map(machine.realised, args):
        if isinstance(arg, ArrayValue) and arg.node is node:
            return arg.number if is_open else int_from_outside(machine.tracer, arg)
        if isinstance(arg, SequenceValue):
            found = _number_of(machine, node, arg.items, is_open)
            if found is not None:
                return found
    return None


def _fixed(operand: Any, asked: Scalar | Node, known: Any) -> Any:
    """An operand with the number `known` in the place of `asked`, a symbolic one or the node of a NumPy scalar."""
    if isinstance(operand, tuple | list):
        return type(operand)(_fixed(item, asked, known) for item in operand)
    return known if operand is asked or (is_symbolic(operand) and operand == asked) else operand


# -- functions -----------------------------------------------------------------------------------


def call_numpy(machine: Machine, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """A call of a NumPy callable; None when `target` is none."""
    op = ops.lookup(target)
    if op is not None:
        require_double(*map(machine.realised, (*args, *kwargs.values())))
        result = bind(machine, op, args, kwargs)
        known.note(machine, target, args, kwargs, result)
        return result
    folded = ops.lookup_folded(target)
    if folded is not None:
        return _answered(machine, folded, args, kwargs)
    if isinstance(target, _DISPATCHER):
        for value in (*args, *kwargs.values()):
            if type(machine.realised(value)) is Value or isinstance(machine.realised(value), ObjectValue):
                raise Break("array-subclass", "an argument that may override NumPy functions")
        implementation = target._implementation  # type: ignore[attr-defined]
        if isinstance(implementation, types.FunctionType):
            return machine.call_python(implementation, constant(implementation), args, kwargs)
        return None
    return None


def _known(machine: Machine, value: Value) -> Any:
    """A constant, a sequence of such, or the node of an array.

    NB: no function within another: one that calls itself lives on, with the machine, until the garbage collector comes.
    """
    value = machine.realised(value)
    if isinstance(value, SequenceValue):
        return value.kind(_known(machine, item) for item in value.items)
    return value.node if isinstance(value, ArrayValue) else as_constant(machine, value)


def _answered(machine: Machine, folded: ops.Folded, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A NumPy function of dtypes and constants, answered now."""
    operands = tuple(_known(machine, value) for value in args)
    keywords = {name: _known(machine, value) for name, value in kwargs.items()}
    try:
        result = folded.evaluate(operands, keywords)
    except ops.OpError as error:
        raise no_rule(error) from None
    if type(result) is tuple:
        return SequenceValue(None, tuple, [ConstantValue(None, item) for item in result])
    return ConstantValue(None, result)

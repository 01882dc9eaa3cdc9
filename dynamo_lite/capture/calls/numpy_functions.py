"""NumPy functions that are several operations: their rules, in the words of capture, beside those of call_rules.py.

Enters a call's values; leaves those of its results. What NumPy computes with arrays on the way, bounds say, are sizes.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.arrays import masks
from dynamo_lite.capture.arrays.contiguity import is_packed
from dynamo_lite.capture.arrays.written import is_loop_result, root_of
from dynamo_lite.capture.branches.conditions import as_number_here, data_condition
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.call_rules import Args, Kwargs, Rule, call, only, rule
from dynamo_lite.capture.calls.folding import python_result
from dynamo_lite.capture.handlers.containers import get_item, set_item
from dynamo_lite.capture.handlers.operators import compare
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers.numbers import as_scalar, number_binary
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.value import ArrayValue, Break, ConstantValue, NumberValue, SequenceValue, SliceValue, Value
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import is_symbolic, kind_of, make
from dynamo_lite.ops.shapes import broadcast


def _by_name(what: str, names: str, args: Args, kwargs: Kwargs) -> Kwargs:
    """The arguments of a call by their names; of others than these, and of one that is given twice, NumPy knows."""
    known = names.split()
    given = dict(zip(known, args, strict=False)) | kwargs
    if len(given) < len(args) + len(kwargs) or not given.keys() <= set(known):
        raise Break("op-without-rule", f"{what} in this form")
    return given


@rule(np.meshgrid)
def _meshgrid(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What NumPy does, but for setting shapes in place."""
    options = {name: as_constant(machine, value) for name, value in kwargs.items()}
    indexing, sparse = options.pop("indexing", "xy"), options.pop("sparse", False)
    if options.pop("copy", True) is not True or options or indexing not in ("xy", "ij") or type(sparse) is not bool:
        raise Break("op-without-rule", "np.meshgrid in this form")
    places = list(range(len(args)))
    if indexing == "xy" and len(args) > 1:
        places[:2] = [1, 0]
    parts: list[ArrayValue] = []
    for arg, place in zip(args, places, strict=True):
        vector = numpy_rules.call_numpy(machine, np.asanyarray, [arg], {})
        shape = [ConstantValue(None, -1 if axis == place else 1) for axis in range(len(args))]
        assert isinstance(vector, ArrayValue)
        part = numpy_rules.call_method(machine, vector, "reshape", list(shape), {})
        assert isinstance(part, ArrayValue)
        parts.append(part)
    sizes = {place: part.node.array_type.shape[place] for place, part in zip(places, parts, strict=True)}
    whole = SequenceValue(None, tuple, [machine.tracer.number(sizes[axis]) for axis in range(len(args))])
    made: Args = []
    for part in parts:
        if not sparse and len(args) > 1:
            wide = numpy_rules.call_numpy(machine, np.broadcast_to, [part, whole], {})
            assert isinstance(wide, ArrayValue)
            part = wide
        made.append(numpy_rules.call_method(machine, part, "copy", [], {}))
    return SequenceValue(None, tuple, made)


def _copying(function: Any) -> Rule:
    def copied(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        """Of an array it is a call of the array's method, which keeps the order of axes in both cases."""
        array = machine.realised(args[0]) if len(args) == 1 and not kwargs else None
        if isinstance(array, ArrayValue) and not array.node.array_type.scalar:
            return numpy_rules.call_method(machine, array, "__copy__", [], {})
        return machine.call_python(function, constant(function), args, kwargs)

    return copied


for _function in (copy.copy, copy.deepcopy):
    rule(_function)(_copying(_function))


@rule(np.kron)
def _kron(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What NumPy does of two matrices, but for looking at flags of arrays."""
    values = [numpy_rules.call_numpy(machine, np.asanyarray, [arg], {}) for arg in args]
    matrices = [value for value in values if isinstance(value, ArrayValue) and value.node.array_type.ndim == 2]
    if kwargs or len(matrices) != 2:
        raise Break("op-without-rule", "np.kron of other than two matrices")
    axes = [SequenceValue(None, tuple, [ConstantValue(None, axis), ConstantValue(None, axis + 2)]) for axis in (1, 0)]
    parts = [numpy_rules.call_numpy(machine, np.expand_dims, [*pair], {}) for pair in zip(matrices, axes, strict=True)]
    product = numpy_rules.call_numpy(machine, np.multiply, [part for part in parts if part is not None], {})
    assert isinstance(product, ArrayValue)
    shapes = zip(*(matrix.node.array_type.shape for matrix in matrices), strict=True)
    sizes: Args = [machine.tracer.number(make("mul", one, other)) for one, other in shapes]
    return numpy_rules.call_method(machine, product, "reshape", sizes, {})


@rule(np.cross)
def _cross(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Along other axes than the last: of views with these axes behind the others, and a view of the result."""
    given = _by_name("np.cross", "a b axisa axisb axisc axis", args, kwargs)
    axes = [as_constant(machine, given.pop(name, ConstantValue(None, -1))) for name in ("axisa", "axisb", "axisc")]
    axis = as_constant(machine, given.pop("axis", ConstantValue(None, None)))
    *of_operands, of_result = axes if axis is None else [axis] * 3
    operands = [machine.realised(given[name]) for name in ("a", "b") if name in given]
    if len(operands) == 2:
        operands = [_axis_last(machine, one, place) for one, place in zip(operands, of_operands, strict=True)]
    result = _called(machine, np.cross, *operands)
    return _axis_last(machine, result, of_result, back=True)


def _axis_last(machine: Machine, array: Value, axis: Any, back: bool = False) -> Value:
    """The array with that axis behind all others, or, back, with the last one in its place."""
    if axis == -1:
        return array
    ndim = array.node.array_type.ndim if isinstance(array, ArrayValue) else 0
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise Break("op-without-rule", "np.cross in this form")
    order = list(range(ndim))
    order.insert(axis % ndim, order.pop()) if back else order.append(order.pop(axis))
    assert isinstance(array, ArrayValue)
    return numpy_rules.call_method(machine, array, "transpose", [ConstantValue(None, place) for place in order], {})


@rule(np.fill_diagonal)
def _fill_diagonal(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A store into the diagonal of a matrix: of a single number that the dtype holds, or of as many elements of another
    array. NumPy goes through `a.flat` and takes fewer elements over and over."""
    given = _by_name("np.fill_diagonal", "a val wrap", args, kwargs)
    matrix, value = given.get("a"), given.get("val")
    wraps = as_constant(machine, given.get("wrap", ConstantValue(None, False)))
    value = None if value is None else machine.realised(value)
    if not isinstance(matrix, ArrayValue) or matrix.node.array_type.ndim != 2 or wraps is not False or value is None:
        raise Break("op-without-rule", "np.fill_diagonal in this form")
    dtype = matrix.node.array_type.dtype
    number = as_scalar(value)
    if number is not None:
        fits = _KINDS.index(kind_of(number)) <= _KINDS.index(_KIND_OF[dtype.kind])
    elif isinstance(value, ArrayValue):
        type_ = value.node.array_type
        fits = type_.dtype == dtype and (type_.shape == () or _are_disjoint(value.node, matrix.node))
    else:
        fits = False
    if not fits:
        raise Break("op-without-rule", "np.fill_diagonal with such a value")
    try:
        bound = ops.diagonal_of(matrix.node, 0, 0, 1, writeable=True)
        node = ops.apply(machine.tracer.graph, bound, machine.tracer.location(), machine.tracer.relate)
    except ops.OpError as error:
        raise numpy_rules.no_rule(error) from None
    assert isinstance(node, Node)
    if isinstance(value, ArrayValue) and value.node.array_type.shape != ():
        length, shape = node.array_type.shape, value.node.array_type.shape
        if len(shape) != 1 or not machine.tracer.relate(make("eq", shape[0], length[0])):
            raise Break("op-without-rule", "np.fill_diagonal with another number of elements")
    set_item(machine, ArrayValue(None, node), ConstantValue(None, ...), value)
    return ConstantValue(None, None)


@rule(np.isreal)
def _isreal(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """np.imag(x) == 0. Of a real array that is an array of zeros, which lies in F order where x lies packed so."""
    x = machine.realised(kwargs["x"] if not args and kwargs.keys() == {"x"} else only(args, kwargs))
    type_ = x.node.array_type if isinstance(x, ArrayValue) else None
    if type_ is None or type_.scalar or not type_.ndim or type_.dtype.kind not in "fiub":
        imag = call(machine, ConstantValue(None, np.imag), [x], {})
        return compare(machine, "==", imag, ConstantValue(None, 0))
    assert isinstance(x, ArrayValue)
    order = "C"
    if type_.ndim > 1 and not (packed := is_packed(machine.tracer, x.node, "C")):
        in_f = None if packed is None else is_packed(machine.tracer, x.node, "F")
        if in_f is None:
            raise Break("op-without-rule", "np.isreal of an array of which it is not known how it lies")
        order = "F" if in_f else "C"
    shape = SequenceValue(None, tuple, [machine.tracer.number(size) for size in type_.shape])
    options: Kwargs = {"dtype": ConstantValue(None, type_.dtype), "order": ConstantValue(None, order)}
    zeros = numpy_rules.call_numpy(machine, np.zeros, [shape], options)
    assert zeros is not None
    return compare(machine, "==", zeros, ConstantValue(None, 0))


@rule(np.digitize)
def _digitize(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """np.searchsorted, for bins that grow, which NumPy asks compiled code. For others the program declines."""
    given = _by_name("np.digitize", "x bins right", args, kwargs)
    x, bins = given.get("x"), given.get("bins")
    right = as_constant(machine, given.get("right", ConstantValue(None, False)))
    if x is None or bins is None or type(right) is not bool:
        raise Break("op-without-rule", "np.digitize in this form")
    x, bins = machine.realised(x), machine.realised(bins)
    if isinstance(bins, SequenceValue):
        bins = numpy_rules.call_numpy(machine, np.asarray, [bins], {}) or bins
    types = [one.node.array_type if isinstance(one, ArrayValue) else None for one in (x, bins)]
    if types[1] is None or types[1].ndim != 1 or types[1].dtype.kind not in "iuf":
        raise Break("op-without-rule", "np.digitize with bins that are no array of numbers")
    if types[0] is None or types[0].dtype.kind not in "iuf":
        raise Break("op-without-rule", "np.digitize of what is no array of real numbers")
    later, earlier = (_part(machine, bins, *part) for part in ((1, None), (None, -1)))
    _require_all(machine, numpy_rules.compare(machine, ">=", later, earlier))
    side = ConstantValue(None, "left" if right else "right")
    result = numpy_rules.call_numpy(machine, np.searchsorted, [bins, x], {"side": side})
    assert result is not None
    return result


_KINDS = ("bool", "int", "float", "complex")
_KIND_OF = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def _are_disjoint(one: Node, other: Node) -> bool:
    """Whether two arrays cannot share memory, since the program makes one of them."""
    roots = [root_of(node) for node in (one, other)]
    made = [root.kind is NodeKind.CALL and not is_loop_result(root) for root in roots]
    return roots[0] is not roots[1] and any(made)


@rule(np._core.multiarray.count_nonzero)
def _count_nonzero(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    if not isinstance(value, ArrayValue):
        raise Break("op-without-rule", "np.count_nonzero of no array")
    try:
        count = masks.count_nonzero(machine.tracer, value.node)
    except ops.OpError as error:
        raise numpy_rules.no_rule(error) from None
    number = NumberValue(None, count)
    return number if _COUNTS_INT else numpy_rules.call_numpy(machine, np.intp, [number], {}) or number


MOST_CHOICES = 16  # of np.choose: each is a pass over all elements
_COUNTS_INT = not isinstance(np.count_nonzero(np.ones(2)), np.generic)  # NumPy 2.3 and before; later a NumPy scalar


@rule(np.array_split)
def _array_split(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The slices that NumPy takes, without the array of bounds that it computes them by: these are sizes."""
    given = _by_name("np.array_split", "ary indices_or_sections axis", args, kwargs)
    array, sections = given.get("ary"), given.get("indices_or_sections")
    axis = as_constant(machine, given.get("axis", ConstantValue(None, 0)))
    if not isinstance(array, ArrayValue) or sections is None or type(axis) is not int:
        raise Break("op-without-rule", "np.array_split in this form")
    type_ = array.node.array_type
    if type_.scalar or not -type_.ndim <= axis < type_.ndim:
        raise Break("op-without-rule", "np.array_split along no axis of the array")
    length: Value = machine.tracer.number(type_.shape[axis])
    begins: Args = [ConstantValue(None, 0)]
    if isinstance(sections, SequenceValue):
        begins += sections.items
    else:
        count = as_constant(machine, sections)
        if type(count) is not int or not 0 < count <= MAX_SPLIT:
            raise Break("op-without-rule", "np.array_split into so many parts")
        divisor = ConstantValue(None, count)
        each = number_binary(machine.tracer, "//", length, divisor)
        longer = as_constant(machine, number_binary(machine.tracer, "%", length, divisor))
        for place in range(count - 1):
            end = number_binary(machine.tracer, "+", begins[-1], each)
            begins.append(number_binary(machine.tracer, "+", end, ConstantValue(None, int(place < longer))))
    places = [ConstantValue(None, axis), ConstantValue(None, 0)]
    front = numpy_rules.call_numpy(machine, np.swapaxes, [array, *places], {})
    parts: Args = []
    for begin, end in pairwise([*begins, length]):
        assert front is not None
        part = get_item(machine, front, SliceValue(None, begin, end, ConstantValue(None, None)))
        assert isinstance(part, ArrayValue)
        parts.append(numpy_rules.call_method(machine, part, "swapaxes", list(places), {}))
    return SequenceValue(None, list, parts)


MAX_SPLIT = 1000  # parts of an array


_COOKED = getattr(np.fft._pocketfft, "_cook_nd_args")  # noqa: B009 - of NumPy's own, not in its stubs


@rule(_COOKED)
def _cook_nd_args(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Lengths and axes of a transform of all of an array along given axes: NumPy takes the lengths by an array of axes,
    here they are sizes."""
    given = _by_name("a transform", "a s axes invreal", args, kwargs)
    array, lengths, axes = given["a"], given["s"], given["axes"]
    known = isinstance(axes, SequenceValue) and isinstance(lengths, ConstantValue) and lengths.value is None
    if not isinstance(array, ArrayValue) or not known:
        return machine.call_python(_COOKED, constant(_COOKED), args, kwargs)
    assert isinstance(axes, SequenceValue)
    shape = array.node.array_type.shape
    places = [as_constant(machine, axis) for axis in axes.items]
    if not places or any(type(place) is not int or not -len(shape) <= place < len(shape) for place in places):
        return machine.call_python(_COOKED, constant(_COOKED), args, kwargs)
    sizes: Args = [machine.tracer.number(shape[place]) for place in places]
    if "invreal" in given and as_constant(machine, given["invreal"]):
        less = number_binary(machine.tracer, "-", sizes[-1], ConstantValue(None, 1))
        sizes[-1] = number_binary(machine.tracer, "*", less, ConstantValue(None, 2))
    return SequenceValue(None, tuple, [SequenceValue(None, list, sizes), axes])


@rule(np.select)
def _select(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """An array of the default, into which the choices are copied, the first one last, where their conditions hold."""
    given = _by_name("np.select", "condlist choicelist default", args, kwargs)
    default = given.get("default", ConstantValue(None, 0))
    lists = [given.get(name) for name in ("condlist", "choicelist")]
    default = machine.realised(default)
    items = (part.items if isinstance(part, SequenceValue) else [] for part in lists)
    conditions, choices = ([machine.realised(item) for item in part] for part in items)
    *choices, default = [_choice(machine, value) for value in (*choices, default)]
    if not conditions or len(conditions) != len(choices):
        raise Break("op-without-rule", "np.select in this form")
    shapes = []
    for value in (*conditions, *choices, default):
        known = isinstance(value, ArrayValue) and not value.node.array_type.scalar
        if not known and not (_is_bool if value in conditions else _is_number)(value):
            raise Break("op-without-rule", f"np.select of {a_kind(value)}")
        if isinstance(value, ArrayValue):
            shapes.append(value.node.array_type.shape)
    if any(part.node.array_type.dtype != np.bool_ for part in conditions if isinstance(part, ArrayValue)):
        raise Break("op-without-rule", "np.select by something else than bools")
    try:
        shape = broadcast(shapes, machine.tracer.relate)
    except ops.OpError as error:
        raise numpy_rules.no_rule(error) from None
    operands = [
        value.node.array_type.dtype if isinstance(value, ArrayValue) else as_constant(machine, value)
        for value in (*choices, default)
    ]
    dtype = ConstantValue(None, np.result_type(*operands))
    sizes = SequenceValue(None, tuple, [machine.tracer.number(size) for size in shape])
    result = numpy_rules.call_numpy(machine, np.empty, [sizes, dtype], {})
    assert result is not None
    numpy_rules.call_numpy(machine, np.copyto, [result, default], {})
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        if not isinstance(condition, ConstantValue):
            numpy_rules.call_numpy(machine, np.copyto, [result, choice], {"where": condition})
        elif condition.value:
            numpy_rules.call_numpy(machine, np.copyto, [result, choice], {})
    return result


def _choice(machine: Machine, value: Value) -> Value:
    """What np.select makes arrays of: all but Python's numbers."""
    is_scalar = isinstance(value, ArrayValue) and value.node.array_type.scalar
    if not is_scalar and not isinstance(value, SequenceValue):
        return value
    return numpy_rules.call_numpy(machine, np.asarray, [value], {}) or value


def _is_bool(value: Value) -> bool:
    return isinstance(value, ConstantValue) and type(value.value) is bool


def _is_number(value: Value) -> bool:
    return isinstance(value, ConstantValue) and type(value.value) in (int, float, complex)


@rule(np.histogram)
def _histogram(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The counts, for edges that are given with these as they are; density: divided by widths and their sum."""
    given = _by_name("np.histogram", "a bins range density weights", args, kwargs)
    if "a" not in given:
        raise Break("python-exception", "TypeError: np.histogram")
    density = as_constant(machine, given.pop("density", ConstantValue(None, None)))
    if density not in (None, True, False):
        raise Break("op-without-rule", "np.histogram with such a density")
    bins = machine.realised(given.get("bins", ConstantValue(None, 10)))
    if isinstance(bins, SequenceValue) or (isinstance(bins, ArrayValue) and not bins.node.array_type.scalar):
        del given["bins"]
        edges: Value = numpy_rules.call_numpy(machine, np.asarray, [bins], {}) or bins
        counts = _counts_between(machine, machine.realised(given.pop("a")), edges, given)
    else:
        made = numpy_rules.call_numpy(machine, np.histogram, [given.pop("a")], given)
        assert made is not None
        counts, edges = (get_item(machine, made, ConstantValue(None, place)) for place in (0, 1))
    if density:
        widths = call(machine, ConstantValue(None, np.diff), [edges], {})
        assert isinstance(widths, ArrayValue) and isinstance(counts, ArrayValue)
        wide = numpy_rules.call_method(machine, widths, "astype", [ConstantValue(None, np.dtype(float))], {})
        total = numpy_rules.call_method(machine, counts, "sum", [], {})
        counts = numpy_rules.binary(machine, "/", numpy_rules.binary(machine, "/", counts, wide), total)
    return SequenceValue(None, tuple, [counts, edges])


def _counts_between(machine: Machine, a: Value, edges: Value, others: Kwargs) -> Value:
    """How many elements lie between edges that grow: NumPy sorts the elements, too. For others the program declines."""
    types = [one.node.array_type if isinstance(one, ArrayValue) else None for one in (a, edges)]
    if any(not isinstance(one, ConstantValue) or one.value is not None for one in others.values()):
        raise Break("op-without-rule", "np.histogram between edges, with weights or a range")
    if any(type_ is None or type_.dtype.kind not in "iuf" or type_.scalar for type_ in types):
        raise Break("op-without-rule", "np.histogram of what is no array of real numbers")
    if types[1].ndim != 1 or not machine.tracer.relate(make("ge", types[1].shape[0], 2)):  # type: ignore[union-attr]
        raise Break("op-without-rule", "np.histogram without bins")
    begins, ends = (_part(machine, edges, *part) for part in ((None, -1), (1, None)))
    _require_all(machine, numpy_rules.compare(machine, "<=", begins, ends))
    ordered = numpy_rules.call_numpy(machine, np.sort, [_called(machine, np.ravel, a)], {})
    assert ordered is not None
    below = [
        _called(machine, np.searchsorted, ordered, begins, ConstantValue(None, "left")),
        _called(machine, np.searchsorted, ordered, _part(machine, edges, -1, None), ConstantValue(None, "right")),
    ]
    joined = _called(machine, np.concatenate, SequenceValue(None, tuple, below))
    return call(machine, ConstantValue(None, np.diff), [joined], {})


def _called(machine: Machine, function: Any, *args: Value) -> Value:
    """A call of an op's function."""
    result = numpy_rules.call_numpy(machine, function, list(args), {})
    assert result is not None
    return result


def _part(machine: Machine, array: Value, begin: int | None, end: int | None) -> Value:
    """array[begin:end]."""
    bounds = (ConstantValue(None, one) for one in (begin, end, None))
    return get_item(machine, array, SliceValue(None, *bounds))


def _require_all(machine: Machine, truths: Value) -> None:
    """Have the program decline where not all elements are true."""
    condition = data_condition(machine, _called(machine, np.all, truths))
    if condition is None:
        raise Break("op-without-rule", "a condition that is no data")
    machine.tracer.require(as_number_here(machine, condition))


_EXAMPLES: dict[str, bool | int | float] = {"bool": False, "int": 0, "float": 0.0}


@rule(np.result_type)
def _result_type(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Of numbers of Python's that only the call knows the kinds alone count (NEP 50), as in np.mgrid."""
    operands: list[Any] = []
    for arg in args:
        value = machine.realised(arg)
        number = as_scalar(value)
        if isinstance(value, ArrayValue):
            operands.append(value.node.array_type.dtype)
        elif number is not None and is_symbolic(number):
            operands.append(_EXAMPLES[kind_of(number)])
        else:
            operands.append(as_constant(machine, value))
    if kwargs or not operands or any(isinstance(one, str) for one in operands):  # some names are deprecated
        raise Break("op-without-rule", "np.result_type in this form")
    return python_result(np.result_type, *operands)


@rule(np.choose)
def _choose(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """One np.where after the other, over arrays; the program declines where a number has no choice, as NumPy raises, if
    the mode is not to clip numbers or to wrap them around."""
    given = _by_name("np.choose", "a choices out mode", args, kwargs)
    mode = as_constant(machine, given.get("mode", ConstantValue(None, "raise")))
    numbers, choices = (machine.realised(given.get(name, ConstantValue(None, None))) for name in ("a", "choices"))
    if mode not in ("raise", "clip", "wrap") or "out" in given or not isinstance(numbers, ArrayValue):
        raise Break("op-without-rule", "np.choose in this form")
    kept = numbers.node.array_type
    if kept.scalar or not kept.shape or not np.can_cast(kept.dtype, np.intp):
        raise Break("op-without-rule", "np.choose by what is no array of integers")
    items = _choices(machine, choices)
    types = [item.node.array_type for item in items]
    common = np.result_type(*(type_.dtype for type_ in types))
    if common.kind not in "biufc" or any(len(type_.shape) > len(kept.shape) for type_ in types):
        raise Break("op-without-rule", "np.choose among other than numbers")
    found: Value = items[-1]
    places: Value = numbers
    if mode == "wrap":
        places = _called(machine, np.remainder, numbers, ConstantValue(None, len(items)))
    for place, item in reversed(list(enumerate(items[:-1]))):
        chosen = numpy_rules.compare(machine, "<=" if mode == "clip" else "==", places, ConstantValue(None, place))
        found = _called(machine, np.where, chosen, item, found)
    if mode == "raise":
        least, most = (ConstantValue(None, one) for one in (0, len(items) - 1))
        _require_all(machine, numpy_rules.compare(machine, ">=", numbers, least))
        _require_all(machine, numpy_rules.compare(machine, "<=", numbers, most))
    order: Kwargs = {"order": ConstantValue(None, "C")}
    assert isinstance(found, ArrayValue)
    result = numpy_rules.call_method(machine, found, "astype", [ConstantValue(None, common)], order)
    assert isinstance(result, ArrayValue)
    if result.node.array_type.shape != kept.shape:
        raise Break("op-without-rule", "np.choose among arrays of other shapes")
    return result


def _choices(machine: Machine, choices: Value) -> list[ArrayValue]:
    """The arrays that np.choose is given, in a list or tuple, or as the rows of one array."""
    if isinstance(choices, ArrayValue) and choices.node.array_type.shape:
        count = choices.node.array_type.shape[0]
        if type(count) is int and 1 < count <= MOST_CHOICES and choices.node.array_type.ndim > 1:
            rows = [get_item(machine, choices, ConstantValue(None, place)) for place in range(count)]
            return [row for row in rows if isinstance(row, ArrayValue)]
    if not isinstance(choices, SequenceValue) or not 1 < len(choices.items) <= MOST_CHOICES:
        raise Break("op-without-rule", "np.choose among other than a few arrays")
    items = [machine.realised(item) for item in choices.items]
    known = [item for item in items if isinstance(item, ArrayValue) and not item.node.array_type.scalar]
    if len(known) != len(items):
        raise Break("op-without-rule", "np.choose among other than arrays")
    return known


@rule(np.broadcast_arrays)
def _broadcast_arrays(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Arrays of one shape, which NumPy gives as they are. Views that it makes warn of what is written to them."""
    known = [value for value in args if isinstance(value, ArrayValue) and not value.node.array_type.scalar]
    shapes = [value.node.array_type.shape for value in known]
    if kwargs or len(known) != len(args) or any(len(shape) != len(shapes[0]) for shape in shapes):
        raise Break("op-without-rule", "np.broadcast_arrays in this form")
    for shape in shapes[1:]:
        if not all(machine.tracer.relate(make("eq", *pair)) for pair in zip(shapes[0], shape, strict=True)):
            raise Break("op-without-rule", "np.broadcast_arrays of arrays of other shapes")
    return SequenceValue(None, tuple, list(known))


@rule(np.putmask, np.place)
def _putmask(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A masked store of a number, by a mask of the array's shape."""
    if kwargs or len(args) != 3:
        raise Break("op-without-rule", "np.putmask in this form")
    array, mask, value = (machine.realised(arg) for arg in args)
    types = [one.node.array_type if isinstance(one, ArrayValue) else None for one in (array, mask)]
    number = as_scalar(value)
    known = types[0] is not None and types[1] is not None and types[1].dtype == np.bool_
    if not known or number is None or types[0].ndim != types[1].ndim:  # type: ignore[union-attr]
        raise Break("op-without-rule", "np.putmask in this form")
    set_item(machine, array, mask, value)
    return ConstantValue(None, None)


def _contiguous(machine: Machine, args: Args, kwargs: Kwargs, order: str) -> Value:
    """np.ascontiguousarray and np.asfortranarray: the array itself where it lies so, else a copy that does."""
    given = _by_name("np.ascontiguousarray", "a dtype", args, kwargs)
    if "a" not in given:
        raise Break("op-without-rule", "np.ascontiguousarray without an array")
    array = machine.realised(given["a"])
    if isinstance(array, SequenceValue):
        array = numpy_rules.call_numpy(machine, np.asarray, [array], {}) or array
    if not isinstance(array, ArrayValue) or array.node.array_type.scalar or not array.node.array_type.ndim:
        raise Break("op-without-rule", "np.ascontiguousarray of no array with axes")
    wanted = given.get("dtype", ConstantValue(None, None))
    text = ConstantValue(None, order)
    if as_constant(machine, wanted) is not None:
        made = numpy_rules.call_method(machine, array, "astype", [wanted], {"order": text})
        assert isinstance(made, ArrayValue)
        if made.node.array_type.dtype.num != array.node.array_type.dtype.num:
            return made
    packed = is_packed(machine.tracer, array.node, order)
    if packed is None:
        raise Break("op-without-rule", "np.ascontiguousarray of an array of which it is not known how it lies")
    return array if packed else numpy_rules.call_method(machine, array, "copy", [text], {})


@rule(np.ascontiguousarray)
def _ascontiguousarray(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return _contiguous(machine, args, kwargs, "C")


@rule(np.asfortranarray)
def _asfortranarray(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return _contiguous(machine, args, kwargs, "F")

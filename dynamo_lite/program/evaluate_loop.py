"""What a Routine means, node by node, on NumPy scalars and memory: slow, and the oracle of what is written for it.

Enters a Routine, the values that go into it, and the numbers of its range; leaves what it hands out, the status with
which it declines, and the floating-point errors. Elements are reached by their address, as in machine code; a kernel is
evaluated as evaluate.py says. Where two NaNs meet in a kernel it goes on: which one NumPy keeps is not said here.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph import scalar
from dynamo_lite.ops.draws import BELOW
from dynamo_lite.ops.lists import DTYPES_BY_NUMBER, as_array_of, as_numbers_of, as_scalar_of, read_object
from dynamo_lite.program.build import build
from dynamo_lite.program.evaluate import Array, Outcome, computed, evaluate
from dynamo_lite.program.evaluate_memory import array_at as _at
from dynamo_lite.program.evaluate_memory import array_over as _array
from dynamo_lite.program.evaluate_selections import SELECTIONS
from dynamo_lite.program.ir import (
    INDEX,
    Alloc,
    Decline,
    Element,
    Fold,
    For,
    Helper,
    If,
    Launch,
    Load,
    Memref,
    Node,
    Note,
    Range,
    Room,
    Routine,
    Store,
    Swap,
    Value,
    View,
    Within,
)

FOLDED = (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or)


@dataclass(slots=True)
class Ended:
    """status: with which it declined, or 0. results: what it hands out, of an array its elements, and the number of the
    object that each is. stopped: its condition ended the loop."""

    outcome: Outcome
    status: int = 0
    results: list[tuple[Any, int]] = field(default_factory=list)
    stopped: bool = False


class _Declined(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


def evaluate_routine(routine: Routine, inputs: Sequence[Any], numbers: range) -> Ended:
    """Run the routine; numbers: of its range, at least one."""
    evaluation = _Evaluation(routine, inputs)
    ended = Ended(Outcome())
    for given, value in zip(routine.inputs, inputs, strict=True):
        evaluation.give(given, value)
    evaluation.values |= {routine.start: numbers[0], routine.by: numbers.step, routine.last: numbers[-1]}
    with np.errstate(all="call", call=lambda kind, _: ended.outcome.flags.add(kind)):
        evaluation.outcome = ended.outcome
        try:
            evaluation.nodes(routine.body)
        except _Declined as declined:
            ended.status = declined.status
            return ended
    ended.stopped = evaluation.stopped
    lengths = dict(routine.lengths)
    for place, ((value, origin), given) in enumerate(zip(routine.results, inputs, strict=False)):  # numbers stand last
        number = 0 if origin is None else int(evaluation.value(origin))
        if isinstance(value, Value):
            ended.results.append((evaluation.value(value), number))
        else:
            length = routine.results[lengths[place]][0] if place in lengths else None
            shape = (int(evaluation.value(length)), *given.shape[1:]) if isinstance(length, Value) else given.shape
            like = np.empty(shape, value.dtype)
            packed = _array(evaluation.addresses[value], like.shape, like.strides, like.dtype)
            ended.results.append((packed.copy(), number))
    return ended


class _Evaluation:
    """values, addresses: of what is defined. rooms: the memory of each. made: what appends have made. taken: objects of
    lists, by their origins."""

    def __init__(self, routine: Routine, inputs: Sequence[Any]) -> None:
        self.inputs = inputs
        self.made: list[Any] = []
        self.taken: dict[int, Any] = {}  # objects of lists, by their origins
        self.outcome = Outcome()
        self.values: dict[Value, Any] = {}
        self.addresses: dict[Memref, int] = {}
        self.rooms: list[Any] = [ctypes.create_string_buffer(0) for _ in range(routine.rooms)]
        self.kept: list[Any] = []  # what memory belongs to
        self.stopped = False

    def give(self, given: Value | Memref, value: Any) -> None:
        """A value that goes in."""
        if isinstance(given, Memref):
            self.addresses[given] = value.ctypes.data
            self.values |= zip((*given.extents, *given.strides), (*value.shape, *value.strides), strict=True)
        else:
            self.values[given] = value if given.dtype.hasobject else given.dtype.type(value)

    def value(self, value: Value) -> Any:
        return self.values[value] if value.number is None else value.number

    def known(self, one: Value | Memref) -> Any:
        """What is handed on."""
        return self.addresses[one] if isinstance(one, Memref) else self.value(one)

    def set(self, one: Value | Memref, known: Any) -> None:
        if isinstance(one, Memref):
            self.addresses[one] = known
        else:
            self.values[one] = known

    def array(self, memref: Memref) -> Array:
        shape, strides = (
            tuple(int(self.value(value)) for value in values) for values in (memref.extents, memref.strides)
        )
        return _array(self.addresses[memref], shape, strides, memref.dtype)

    def nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        value = self.value
        match node:
            case Element():
                self.values |= zip(node.results, computed(node, list(map(value, node.operands))), strict=True)
            case Load(result, memref, _):
                self.values[result] = self.array(memref)[()]
            case Store(memref, _, stored):
                self.array(memref)[()] = value(stored)
            case View(result, source, index):
                steps = zip(index, source.strides, strict=False)
                self.addresses[result] = self.addresses[source] + sum(int(value(i)) * int(value(by)) for i, by in steps)
            case Within(index, extent, tested, result):
                at = int(value(index))
                at += int(value(extent)) if result is not None and at < 0 else 0
                holds = 0 <= at < value(extent)
                if result is not None:
                    self.values[result] = INDEX.type(at)
                assert holds or not tested, "a tested index is out of range"
                self.decline(not holds, abi.RETURNED_INDEX)
            case Decline(condition, status):
                self.decline(value(condition), status)
            case Note(condition, status):
                self.outcome.status |= status if value(condition) else 0
            case If():
                holds = bool(value(node.condition))
                self.nodes(node.then if holds else node.orelse)
                for one in node.results:
                    self.set(one.result, self.known(one.then if holds else one.orelse))
            case For(index, extent, body):
                for number in range(value(extent)):
                    self.values[index] = np.int64(number)
                    self.nodes(body)
            case Range():
                self.range(node)
            case Alloc(memref):
                self.kept.append(np.zeros((), memref.dtype))
                self.addresses[memref] = self.kept[-1].ctypes.data
            case Room(memref, count):
                self.addresses[memref] = self.room(memref.index, int(value(count)) * memref.dtype.itemsize)
            case Swap(one, other):
                self.rooms[one], self.rooms[other] = self.rooms[other], self.rooms[one]
            case Fold(result, ufunc, memref):
                self.values[result] = ufunc.reduce(self.array(memref), dtype=result.dtype)
            case Launch():
                self.launch(node)
            case Helper():
                self.helper(node)
            case _:
                raise NotImplementedError(type(node).__name__)

    def decline(self, condition: Any, status: int) -> None:
        if condition:
            raise _Declined(status)

    def range(self, node: Range) -> None:
        carried = [self.known(one.first) for one in node.carried]
        start, by, end = (int(self.value(one)) for one in (node.start, node.by, node.end))
        for number in range(start, end + by, by):
            self.values[node.index] = np.int64(number)
            for one, known in zip(node.carried, carried, strict=True):
                self.set(one.value, known)
            self.nodes(node.body)
            carried = [self.known(one.next) for one in node.carried]
            if node.goes_on is not None and not self.value(node.goes_on):
                self.stopped = node.outermost
                break
        after = [self.known(inside) for inside, _ in node.last]
        for (_, later), known in zip(node.last, after, strict=True):
            self.set(later, known)

    def room(self, number: int, size: int) -> int:
        if len(self.rooms[number]) <= size:
            self.kept.append(self.rooms[number])
            self.rooms[number] = ctypes.create_string_buffer(size + 1)
        return ctypes.addressof(self.rooms[number])

    def launch(self, node: Launch) -> None:
        asks = abi.ASKS_ROWS + abi.ASKS_LOOPS + abi.ASKS_STRICT + abi.ASKS_ARISEN + abi.ASKS_EACH
        asks += abi.ASKS_DIVISION
        classes = node.classes.rstrip(asks)
        arrays = [self.array(memref) for memref in (*node.reads, *node.writes)]
        extents = dict(zip(("n", "rows"), arrays[-1].shape[::-1], strict=False))
        first: dict[str, Callable[[Array], Array]] = {
            abi.CLASS_SINGLE: lambda array: array[(0,) * array.ndim + (...,)],
            abi.CLASS_OF_ROW: lambda array: array[:, 0],
        }
        if arrays[-1].size:
            arrays = [first.get(letter, np.asarray)(array) for letter, array in zip(classes, arrays, strict=True)]
            split = len(node.reads)
            function = build(node.kernel, classes, "rows" in extents)
            outcome = evaluate(function, arrays[:split], arrays[split:], **extents)
            self.outcome.flags |= outcome.flags

    def helper(self, node: Helper) -> None:
        """A function of C; where it fails, the routine declines."""
        given = [self.array(one) if isinstance(one, Memref) else self.value(one) for one in node.operands]
        try:
            result = APPENDS[node.name](self, *given) if node.name in APPENDS else HELPERS[node.name](*given)
        except (ArithmeticError, ValueError, IndexError):
            raise _Declined(node.failure) from None
        for one in node.results:
            self.values[one] = result if one.dtype.hasobject else one.dtype.type(result)


def _real(function: Callable[..., Any]) -> Callable[..., float]:
    """A function of Python floats that has a real result."""

    def call(*operands: Any) -> float:
        result = function(*map(float, operands))
        if isinstance(result, complex):
            raise ValueError("a complex number")
        return float(result)

    return call


def _copy(to: Array, to_stride: Any, source: Array, n: Any, stride: Any, itemsize: Any) -> None:
    _at(to, (n,), (to_stride,))[...] = _at(source, (n,), (stride,)).copy()


def _matmul(what: Any, out: Array, a: Array, b: Array, *words: Any) -> None:
    left, right = _at(a, words[:2], words[2:4]), _at(b, words[4:6], words[6:])
    n, m = left.shape[0], right.shape[1]
    _at(out, (n, m), (m * out.itemsize, out.itemsize))[...] = left @ right


def _product(what: Any, a: Array, b: Array) -> Any:
    return a.dot(b) if what % abi.VECTOR_PRODUCTS == abi.VECTOR_DOT else a @ b


def _linalg(what: Any, first: Array, second: Array, a: Array, *words: Any) -> None:
    """NB: where the operands begin, and their sizes and strides: four words each."""
    gufunc = getattr(np.linalg._umath_linalg, abi.LINALG[what])
    b, *of_b = words[4:]
    operands = [_at(a, words[:2], words[2:4]), _at(b, of_b[:2], of_b[2:])]
    if gufunc.signature.replace(" ", "").startswith("(m,m),(m)"):
        operands[1] = operands[1][:, 0]
    with np.errstate(all="ignore", invalid="raise"):
        results = gufunc(*operands[: gufunc.nin], signature=[np.float64] * gufunc.nargs)
    for out, result in zip((first, second), results if gufunc.nout > 1 else [results], strict=False):
        packed = np.ascontiguousarray(result)
        _at(out, np.shape(result), packed.strides[: np.ndim(result)])[...] = result


def _gather(out: Array, itemsize: Any, x: Array, places: Array, kind: Any) -> None:
    _at(out, places.shape, (itemsize,))[...] = x[places]


def _accumulate(what: Any, out: Array, x: Array) -> None:
    ufunc = np.multiply if what % abi.ACCUMULATES == abi.ACCUMULATE_MULTIPLY else np.add
    result = ufunc.accumulate(x)
    if len(x) and np.isnan(result[-1]):
        raise ArithmeticError("which NaN it is")
    _at(out, x.shape, (x.itemsize,))[...] = result


def _fold_axes(number: Any, out: Array, x: Array, *extents: Any) -> None:
    ufunc = next(ufunc for ufunc in FOLDED if _C.find_fold(ufunc, x.dtype) == number)
    before, along, after = map(int, extents)
    size = x.itemsize
    elements = _at(x, (before, along, after), (along * after * size, after * size, size))
    _at(out, (before, after), (after * size, size))[...] = ufunc.reduce(elements, axis=1, dtype=x.dtype)


def _append(target: list[Any], kind: Any, value: Any) -> None:
    target.append(value.item())


def _append_tagged(target: list[Any], kind: Any, objects: _C.Objects, tag: Any, value: Any) -> None:
    target.append(objects.at(int(tag), value.item()))


def _number(item: Any, of: Any) -> Any:
    """The number that an object is, or how long a list is."""
    try:
        return read_object(item, int(of))
    except (TypeError, OverflowError):
        raise ValueError("an object of another type") from None


def _array_of(item: Any, kind: Any, out: Array, ndim: Any, *sizes: Any) -> None:
    """Copy the array that an object is."""
    shape = tuple(int(size) for size in sizes[: int(ndim)])
    try:
        found = as_array_of(item, DTYPES_BY_NUMBER[int(kind)], shape)
    except TypeError:
        raise ValueError("an object of another type") from None
    _at(out, (found.size,), (found.itemsize,))[...] = found.reshape(-1)


def _numbers_of(target: Any, kind: Any, out: Array, size: Any) -> None:
    """Copy the numbers of a list."""
    try:
        found = as_numbers_of(target, DTYPES_BY_NUMBER[int(kind)], int(size))
    except TypeError:
        raise ValueError("an object of another type") from None
    _at(out, (found.size,), (found.itemsize,))[...] = found


def _put(target: list[Any], index: Any, item: Any) -> None:
    target[int(index)] = item


def _pack(target: list[Any], n: Any, is_tuple: Any) -> None:
    packed = target[len(target) - int(n) :]
    target[len(target) - int(n) :] = [tuple(packed) if is_tuple else packed]


def _append_made(evaluation: _Evaluation, target: list[Any], origin: int, make: Callable[[], Any]) -> int:
    """Append the object of that origin, or a new one; its origin."""
    if origin == 0:
        evaluation.made.append(make())
        origin = abi.FIRST_ORIGIN + len(evaluation.made) - 1
    at = origin - abi.FIRST_ORIGIN
    target.append(evaluation.made[at] if at >= 0 else evaluation.inputs[origin - 1])
    return origin


def _append_scalar(evaluation: _Evaluation, target: list[Any], kind: Any, origin: Any, value: Any) -> int:
    return _append_made(evaluation, target, int(origin), lambda: value)


def _append_array(
    evaluation: _Evaluation, target: list[Any], kind: Any, origin: Any, first: Array, ndim: Any, *sizes: Any
) -> int:
    shape = tuple(int(size) for size in sizes[: int(ndim)])
    strides = [first.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return _append_made(evaluation, target, int(origin), lambda: _at(first, shape, strides).copy())


def _scalar_object(evaluation: _Evaluation, place: Any, kind: Any, origin: Any, value: Any) -> Any:
    """The object of that origin, or a new one."""
    number = int(origin)
    if number == 0:
        return value
    if number < 0:
        return evaluation.taken[number]
    at = number - abi.FIRST_ORIGIN
    return evaluation.made[at] if at >= 0 else evaluation.inputs[number - 1]


def _array_object(
    evaluation: _Evaluation, place: Any, kind: Any, origin: Any, first: Array, ndim: Any, *sizes: Any
) -> Any:
    if int(origin) != 0:
        return _scalar_object(evaluation, place, kind, origin, None)
    shape = tuple(int(size) for size in sizes[: int(ndim)])
    strides = [first.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return _at(first, shape, strides).copy()


def _object_origin(evaluation: _Evaluation, one: Any) -> int:
    evaluation.taken[-id(one)] = one
    return -id(one)


def _scalar(one: Any, kind: Any) -> Any:
    try:
        return as_scalar_of(one, DTYPES_BY_NUMBER[int(kind)])
    except TypeError:
        raise ValueError("an object of another type") from None


def _positions(what: Any, out: Array, x: Array, *words: Any) -> None:
    find = np.argmax if what % abi.POSITIONS == abi.POSITION_GREATEST else np.argmin
    _at(out, words[:1], (out.itemsize,))[...] = find(_at(x, words[:2], words[2:]), axis=1)


def _sort(type_num: Any, x: Array, n: Any) -> None:
    _at(x, (n,), (x.itemsize,)).sort()


def _median(type_num: Any, x: Array, n: Any, out: Array) -> None:
    elements = _at(x, (n,), (x.itemsize,))
    elements.sort()
    median = np.median(elements)
    if x.dtype.kind == "f" and (not np.isfinite(median) or np.any((elements == 0) & np.signbit(elements))):
        raise ArithmeticError("which zero or NaN it is")
    out[()] = median


def _search(what: Any, x: Array, n: Any, stride: Any, key: Array) -> Any:
    side = "right" if what & abi.SEARCH_RIGHT else "left"
    return _at(x, (n,), (stride,)).searchsorted(key, side=side)  # type: ignore[call-overload]


DRAWN: dict[int, Callable[..., Any]] = {
    abi.DRAW_RANDOM: lambda generator, a, b, n: generator.random(n),
    abi.DRAW_UNIFORM: lambda generator, a, b, n: generator.uniform(a, b, n),
    abi.DRAW_STANDARD_NORMAL: lambda generator, a, b, n: generator.standard_normal(n),
    abi.DRAW_NORMAL: lambda generator, a, b, n: generator.normal(a, b, n),
    abi.DRAW_STANDARD_EXPONENTIAL: lambda generator, a, b, n: generator.standard_exponential(n),
    abi.DRAW_EXPONENTIAL: lambda generator, a, b, n: generator.exponential(a, n),
    abi.DRAW_POISSON: lambda generator, a, b, n: generator.poisson(a, n),
    abi.DRAW_STANDARD_GAMMA: lambda generator, a, b, n: generator.standard_gamma(a, n),
    abi.DRAW_GAMMA: lambda generator, a, b, n: generator.gamma(a, b, n),
    abi.DRAW_BETA: lambda generator, a, b, n: generator.beta(a, b, n),
    abi.DRAW_CHISQUARE: lambda generator, a, b, n: generator.chisquare(a, n),
    abi.DRAW_STANDARD_T: lambda generator, a, b, n: generator.standard_t(a, n),
    abi.DRAW_STANDARD_CAUCHY: lambda generator, a, b, n: generator.standard_cauchy(n),
    abi.DRAW_LOGNORMAL: lambda generator, a, b, n: generator.lognormal(a, b, n),
    abi.DRAW_LAPLACE: lambda generator, a, b, n: generator.laplace(a, b, n),
    abi.DRAW_LOGISTIC: lambda generator, a, b, n: generator.logistic(a, b, n),
    abi.DRAW_GUMBEL: lambda generator, a, b, n: generator.gumbel(a, b, n),
    abi.DRAW_RAYLEIGH: lambda generator, a, b, n: generator.rayleigh(a, n),
    abi.DRAW_PARETO: lambda generator, a, b, n: generator.pareto(a, n),
    abi.DRAW_WEIBULL: lambda generator, a, b, n: generator.weibull(a, n),
    abi.DRAW_POWER: lambda generator, a, b, n: generator.power(a, n),
    abi.DRAW_BINOMIAL: lambda generator, a, b, n: generator.binomial(int(a), b, n),
    abi.DRAW_GEOMETRIC: lambda generator, a, b, n: generator.geometric(a, n),
}


def _draw(generator: Any, kind: Any, a: Any, b: Any, out: Array, n: Any) -> None:
    is_python = isinstance(generator, random.Random)
    drawn = [generator.random() for _ in range(int(n))] if is_python else DRAWN[int(kind)](generator, a, b, int(n))
    _at(out, (n,), (out.itemsize,))[...] = drawn


def _draw_integers(generator: Any, low: Any, high: Any, out: Array, n: Any) -> None:
    if isinstance(generator, random.Random):
        _at(out, (n,), (out.itemsize,))[...] = [BELOW(generator, int(high)) for _ in range(int(n))]
        return
    draw = generator.randint if isinstance(generator, np.random.RandomState) else generator.integers
    _at(out, (n,), (out.itemsize,))[...] = draw(low, high, int(n))


def _draw_weighted(generator: Any, weights: Array, n: Any, stride: Any, out: Array, count: Any) -> None:
    _at(out, (count,), (out.itemsize,))[...] = generator.choice(int(n), int(count), p=_at(weights, (n,), (stride,)))


def _draw_order(generator: Any, out: Array, n: Any) -> None:
    _at(out, (n,), (out.itemsize,))[...] = generator.permutation(int(n))


HELPERS: dict[str, Callable[..., Any]] = {
    **SELECTIONS,
    "power": lambda a, b: a**b,
    "power_float": lambda a, b: a**b,
    "python_power": _real(lambda a, b: a**b),
    "python_function": lambda number, a, b: _real(_math_of(abi.SCALAR_OPS[number]))(a, b),
    "modulo": _real(lambda a, b: a % b),
    "floor_divide": _real(lambda a, b: a // b),
    "product": _product,
    "matmul": _matmul,
    "linalg": _linalg,
    "copy": _copy,
    "fold_axes": _fold_axes,
    "gather": _gather,
    "accumulate": _accumulate,
    "positions": _positions,
    "sort": _sort,
    "search": _search,
    "median": _median,
    "draw": _draw,
    "draw_integers": _draw_integers,
    "draw_weighted": _draw_weighted,
    "draw_order": _draw_order,
    "append": _append,
    "append_tagged": _append_tagged,
    "append_held": lambda target, held: target.append(held),
    "new_list": list,
    "keep": lambda place, one: None,
    "keep_origin": lambda place, origin: None,
    "list_touch": lambda target: None,
    "list_item": lambda place, target, index: target[int(index)],
    "tuple_item": lambda place, target, index, count: dict(enumerate(target))[int(index)],
    "list_number": lambda target, index, of: _number(target[int(index)], of),
    "object_number": _number,
    "list_scalar": lambda target, index, kind: _scalar(target[int(index)], kind),
    "object_scalar": _scalar,
    "object_array": _array_of,
    "list_numbers": _numbers_of,
    "object_tag": lambda objects, item: objects.tag(item),
    "list_put": _put,
    "list_put_number": lambda target, index, kind, value: _put(target, index, value.item()),
    "list_put_tagged": lambda target, index, kind, objects, tag, value: _put(
        target, index, objects.at(int(tag), value.item())
    ),
    "dict_item": lambda place, target, key: target[int(key)],
    "container_put": _put,
    "list_repeated": lambda place, item, count: [item] * int(count),
    "list_join": lambda place, one, other: one + other,
    "list_copy": lambda place, target, first, last: target[int(first) : int(last)],
    "list_pop": lambda place, target, index: target.pop(int(index)),
    "pack": _pack,
}
APPENDS: dict[str, Callable[..., Any]] = {
    **{"append_scalar": _append_scalar, "append_array": _append_array},
    **{"scalar_object": _scalar_object, "object_origin": _object_origin, "array_object": _array_object},
}


def _math_of(name: str) -> Callable[..., Any]:
    """A function of math; those of one operand get it twice."""
    arity = scalar.FUNCTIONS[name]
    return lambda *operands: scalar.evaluate(scalar.ScalarOp(name, "float", operands[:arity]), {})

"""Guesses for which sizes a schedule beats plain NumPy, from the calls both make and the memory both move.

Enters the graph as captured, its Schedule and example inputs; leaves the times of both by size, and the range of sizes
in which the program is expected to be the faster one, or raises DoesNotPay when there is none near. Calls of other
sizes run plainly. Segments between breaks are judged together where they lead round in a loop. Times are rough, in
nanoseconds, for one core; only their ratio counts, and both sides are charged alike for what both do (a NumPy loop's
own time, a matmul). A loop takes what its middle iteration takes, times the number of them; a choice the mean of its
branches. docs/performance.md has the measurements.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.budget import spend
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind, elementwise_of
from dynamo_lite.graph.rewrite import first_changing, loop_parts, users
from dynamo_lite.graph.scalar import (
    Number,
    Scalar,
    Symbol,
    evaluate,
    is_larger,
    is_scalar,
    is_symbolic,
    make,
    product,
    substitute,
    symbols_of,
    total,
)
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.products import taken_apart
from dynamo_lite.schedule.call import Evaluation, call, is_linalg
from dynamo_lite.schedule.fresh import LARGE_PER_BYTE, fresh_time, handed_out, made_time
from dynamo_lite.schedule.gathers import gather_time
from dynamo_lite.schedule.growth import growing, own_sizes
from dynamo_lite.schedule.iterations import OPEN_LENGTH, Env, env_of_body, is_of_index, middle
from dynamo_lite.schedule.layers import bytes_besides, waits_for_the_next
from dynamo_lite.schedule.small_products import small_products_time
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Loop,
    Machine,
    Map,
    Put,
    Reduce,
    Reg,
    Save,
    Schedule,
    Take,
    View,
    bodies,
)
from dynamo_lite.schedule.straight import routine_of
from dynamo_lite.schedule.target import Target
from dynamo_lite.schedule.unsized import sized_inputs

# What plain Python and NumPy take, besides memory traffic.
INSTRUCTION = 8.0  # of Python's bytecode
FRAME = 100.0  # of a Python function's call
NUMPY_CALL = 430.0  # of one ufunc: dispatch, result object
NUMPY_NUMBER = 300.0  # to make an array of a Python number that is its operand
NUMPY_VIEW = 150.0
NUMPY_SCALAR = 60.0  # of one operator between NumPy scalars
NUMPY_OPS = {  # of other calls
    **{"reduce": 1100.0, "copy": 220.0, "astype": 350.0, "where": 1000.0, "clip": 2000.0},
    **{"matmul": 1000.0, "advanced_index": 250.0, "new_container": 20.0, "append": 20.0, "put_item": 30.0},
    **{"list_take": 20.0, "list_join": 60.0, "held_object": 0.0},
    **{"object_number": 4.0, "object_scalar": 4.0, "object_array": 4.0, "list_array": 800.0},
    **{"concatenate": 850.0, "stack": 3000.0, "repeat": 1300.0, "tile": 4000.0, "delete": 3500.0},
    **{"linalg_inv": 4500.0, "linalg_det": 4500.0, "linalg_solve": 4500.0, "linalg_slogdet": 5000.0},
    **{"linalg_cholesky": 5000.0, "linalg_eigh": 5500.0, "linalg_eigvalsh": 5000.0},
    **{"roll": 8000.0, "insert": 9000.0, "pad": 15000.0},  # which are written in Python
}
COUNTED = frozenset("dbBhHiIl")  # dtypes that csrc/arrays/histogram.c counts
NUMPY_EINSUM = 3000.0  # of few products, which kernels compute; and a product
EINSUM_NS = 1.5
BESIDES: Mapping[Callable[..., Any], tuple[float, float]] = {  # of functions of csrc in place of NumPy's: of a call,
    **{_C.histogram: (40000.0, 6.0), _C.median: (9000.0, 0.0)},  # and of an element of the operand with most
    **{_C.add_accumulate: (200.0, 1.5), _C.multiply_accumulate: (200.0, 1.5), _C.maximum_accumulate: (200.0, 1.5)},
    **{_C.minimum_accumulate: (200.0, 1.5), _C.fmax_accumulate: (200.0, 1.5), _C.fmin_accumulate: (200.0, 1.5)},
    **{_C.searchsorted: (0.0, 5.0), _C.interp: (0.0, 5.0), _C.argmax: (0.0, 1.5), _C.argmin: (0.0, 1.5)},
    **{_C.sort_rows: (0.0, 3.0), _C.median_rows: (9000.0, 6.0)},
}
SHORT_ROW = 24  # whose extreme is found faster than by NumPy (csrc/arrays/extremes.c)
RANKED_ROW = {"sort": abi.MOST_SORTED, "median": abi.MOST_MEDIAN}  # what csrc/arrays/ranks.c takes
NUMPY_CROSS = 20000.0  # the same, and an element; of those dtypes of which it does not stay a call
CROSS_NS = 1.2
IN_PYTHON = {  # of functions that NumPy writes in Python and kernels compute: of a call, and an element
    **{"isclose": (9000.0, 1.0), "nan_to_num": (7000.0, 0.7), "triu": (5500.0, 0.5), "tril": (5500.0, 0.5)}
}
# What a program takes.
PROGRAM = 170.0  # guards and the launch
ROUTINE = 60.0  # the same of a program that is one routine; of each value that goes in, or comes out; of an array
ROUTINE_VALUE = 4.0
ROUTINE_RESULT = 20.0
ROUTINE_ARRAY = 70.0
MUCH_SLOWER = 1.5  # than plain Python, to be left alone where the estimate is of many parts
SEGMENT = 500.0  # a graph break: what goes on behind it is a call of its own
STEP = 30.0
ITERATION = 20.0  # of a loop
MACHINE_CALL = 150.0  # of a machine loop; of one step or operation in it; of one by a loop of NumPy's
MACHINE_STEP = 1.5
MACHINE_LOOP = 30.0
MACHINE_APPEND = 25.0
MACHINE_TAKE = 4.0  # an item of a list, or the number that it is
MACHINE_PRODUCT = 60.0
MACHINE_KERNEL = 15.0  # on an array
EVALUATED = 15.0  # of an iteration in a kernel: numbers of its own
COMPLEX_NS = 2.0  # of an operation on a complex number: NumPy's loop on tiles, whose results are searched for NaN
COMPILED_NS = 0.06  # of a compiled operation on one element
TILE = 16  # elements that take as long as one
BATCH = 16  # iterations of a kernel in which arrays go through memory once
CHOICE = 40.0
KERNEL = 100.0  # of a Map or Reduce, a result's array included
RESULT = 60.0  # of each further one
CALL = 450.0  # of a Call step, NumPy's own overhead included; of a scalar's operator; through an op's evaluate
SCALAR_CALL = 130.0
PRODUCT = 120.0  # of a small product, which needs no Python call
LINALG = 600.0  # of a small matrix that is inverted, solved or factored
SMALL_PRODUCT = 1000  # elements of the result, about (csrc/arrays/product.c, csrc/arrays/linalg.c)
EVALUATION = 1500.0
ERRSTATE = 450.0  # to have floating-point errors raised, once a program that makes calls
SAVE = 100.0
APPEND = 60.0  # to a list, with the array object or number that it takes
# Both.
NS_PER_BYTE = 0.03  # through the caches
FOLD_PER_BYTE = 0.028  # of memory that is only reduced
LOOP_NS = 1.0  # an element through a typical loop of exp, log, power ... in NumPy or on a tile
MASK_NS = 0.5  # an element of a mask that gathers or scatters; NumPy branches, or has runs, besides
MASK_BRANCH_NS = 1.0
DIVIDED_NS = {  # an element through NumPy's loops, and the C library, besides what kernels take, by kinds of dtypes
    **{("remainder", "f"): 12.0, ("floor_divide", "f"): 15.0, ("hypot", "f"): 12.0},
    **{("remainder", "i"): 2.0, ("floor_divide", "i"): 1.0},
}
WHERE_NS = 1.5  # an element through np.where besides its memory: it branches
MATMUL_NS = 0.05  # per multiply-add
WORTHWHILE = 1.02
_SIMPLE = frozenset(  # as fast as memory, in NumPy and in kernels
    (
        *("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "reciprocal"),
        *("positive", "conjugate", "where", "astype", "copy", "equal", "not_equal", "less", "less_equal"),
        *("greater", "greater_equal", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and"),
        *("bitwise_or", "bitwise_xor", "invert", "maximum", "minimum", "floor", "ceil", "trunc", "rint", "isnan"),
        *("isinf", "isfinite", "signbit", "left_shift", "right_shift", "copysign", "sign", "tuple_get"),
    )
)
_OPERATORS = frozenset(  # for the most part called as such, and not by name
    ("add", "subtract", "multiply", "divide", "negative", "bitwise_and", "bitwise_or", "bitwise_xor")
)
_NOTHING = frozenset(("tuple_get", "count_true", "require", "require_order", "error_state"))
_MOVES = frozenset(  # nothing but memory, which kernels move as well, for the most part (lower/assemble.py)
    ("concatenate", "stack", "repeat", "tile", "delete", "roll", "insert", "pad", "array_of")
)
_MASKED = frozenset(("masked", "put_masked"))
_REPLACED = frozenset(
    ("histogram", "histogram_weighted", "median", "sort", "accumulate", "searchsorted", "interp", "argmax", "argmin")
)
_PRODUCTS = (np.matmul, np.dot, np.ndarray.dot)
SCALES = range(-12, 13)  # sizes are tried in steps of 4
MOST_ELEMENTS = 1 << 27
MOST_PARTS = 40  # of a condition on iterations


class DoesNotPay(Exception):
    """The schedule is not expected to beat plain NumPy; the text says why."""


@dataclass(frozen=True, slots=True)
class Times:
    """What a call is expected to take, in ns, by plain Python and by the program. elements: of the largest input."""

    elements: float
    plain: float
    native: float

    @property
    def pays(self) -> bool:
        """Whether the program is the faster one."""
        return self.plain >= self.native * WORTHWHILE


def estimate(graph: Graph, schedule: Schedule, example_inputs: Sequence[Any], target: Target) -> dict[int, Times]:
    """The times by scale, 0 for the sizes of the example: sizes in steps of 256, and of 4 where the faster one changes.
    Only 0 where no input is an array. Where it pays for either growth, it is taken to pay (own_sizes)."""
    example = example_of(graph, example_inputs)
    symbols = [symbol for symbol in graph.symbols.values() if symbol.axis is not None]
    largest = max(sized_inputs(graph, schedule), key=lambda node: _bytes(node, example), default=None)
    sizes, axes = growing(symbols, () if largest is None else largest.array_type.shape, example)
    if largest is None or axes == 0:
        return {0: Times(0, *_times(graph, schedule, example, target))}
    found: dict[int, tuple[float, list[Env]]] = {}
    before = -1.0
    for scale in SCALES:
        growths = (sizes, own_sizes(sizes, largest.array_type.shape, example)) if scale else ()
        envs = [_scaled(example, some, float(4.0 ** (scale / axes))) for some in growths if some] or [example]
        elements = _count(largest.array_type.shape, envs[0])
        if scale == 0 or (before < elements <= MOST_ELEMENTS):
            found[scale] = elements, envs
            before = elements

    def times_at(scale: int) -> Times:
        elements, envs = found[scale]
        return max((Times(elements, *_times(graph, schedule, env, target)) for env in envs), key=lambda one: one.pays)

    ends = (min(found), max(found))
    tried = {scale: times_at(scale) for scale in found if scale % 4 == 0 or scale in ends}
    for low, high in pairwise(list(tried)):
        while tried[low].pays != tried[high].pays and (between := [one for one in found if low < one < high]):
            middle_ = between[len(between) // 2]
            tried[middle_] = times_at(middle_)
            low, high = (middle_, high) if tried[middle_].pays == tried[low].pays else (low, middle_)
    return dict(sorted(tried.items()))


def example_of(graph: Graph, example_inputs: Sequence[Any]) -> Env:
    """What the symbols are in the example; of what nodes yield nobody knows."""
    unknown: dict[str, Number] = {symbol.name: 1 for symbol in graph.symbols.values() if symbol.input < 0}
    return Env(unknown | symbol_values(graph, example_inputs))


def paying_sizes(times: Mapping[int, Times]) -> tuple[int, int]:
    """The least and the most elements of the largest input for which the schedule is expected to be faster than NumPy.

    The range holds the example's size or is the next one to it. Raises DoesNotPay when no size pays.
    """
    tried = list(times.items())
    paying = [place for place, (_, one) in enumerate(tried) if one.pays]
    if not paying:
        example = times[0]
        raise DoesNotPay(f"about {example.native / 1e3:.3g} us compiled against {example.plain / 1e3:.3g} us by NumPy")
    first = last = min(paying, key=lambda place: abs(tried[place][0]))
    while first - 1 in paying:
        first -= 1
    while last + 1 in paying:
        last += 1
    least = 0 if first == 0 else _between(tried[first - 1][1].elements, tried[first][1].elements)
    most = sys.maxsize if last == len(tried) - 1 else _between(tried[last][1].elements, tried[last + 1][1].elements)
    return least, most


def paying_iterations(
    graph: Graph, schedule: Schedule, example_inputs: Sequence[Any], target: Target
) -> tuple[Schedule, Scalar] | None:
    """Where arguments say how many iterations the loops make that write arrays: the schedule without the copies of
    these for undoing, to be judged by size, and the condition that there are iterations enough for them; else None."""
    loops = [step for step in schedule.steps if isinstance(step, Loop)]
    written = {arg.index for loop in loops for arg in _written_by(loop) if isinstance(arg, Reg)}
    copies = [step for step in schedule.steps if isinstance(step, Save) and _saved(schedule, step)[0] in written]
    nodes = [node for node in graph.nodes if node.kind is NodeKind.LOOP]
    if not copies or any("pause" in node.params for node in nodes):
        return None
    env = example_of(graph, example_inputs)
    known = {name: symbol for name, symbol in graph.symbols.items() if symbol.input >= 0}
    number = total(_iterations_of(node, known, env) for node in nodes)
    if all(graph.symbols[name].axis is not None for name in symbols_of(number)):
        return None  # known, or of sizes, by which a program is judged
    gain = sum(_loop_time(node, env, _plain_time) for node in nodes)
    gain -= WORTHWHILE * _steps_time(replace(schedule, steps=tuple(loops)), env, target)
    made = max(float(evaluate(number, env)), OPEN_LENGTH)  # type: ignore[arg-type]
    needed = WORTHWHILE * 8 * LARGE_PER_BYTE * made / gain if gain > 0 else 0.0  # iterations an element that is copied
    elements = total(product(_saved(schedule, step)[1]) for step in copies)
    if not 2**-20 < needed < 2**20:
        return None
    few, many = max(1, round(1 / needed)), max(1, round(needed))
    condition = make("ge", make("mul", number, few), make("mul", elements, many))
    if not is_symbolic(condition) or is_larger(condition, MOST_PARTS):
        return None
    saved = {step.src for step in copies}
    steps = tuple(step for step in schedule.steps if step not in copies and getattr(step, "dst", -1) not in saved)
    return replace(schedule, steps=steps), condition


def _iterations_of(node: Node, known: Mapping[str, Scalar], env: Env) -> Scalar:
    """How many iterations the innermost loops in a loop make, by arguments and sizes as far as it hangs on these alone.
    known: what the symbols around it are, where these do not change."""
    bounds, initial, captured, body = loop_parts(node)
    values, symbols = (None, *initial, *captured), body.symbols.values()
    goes_on = body.outputs[-1] if node.params.get("while") else None
    changing = first_changing(node)
    length, inside = middle(bounds, values[1:], symbols, env, goes_on, changing)
    index = next((symbol.name for symbol in symbols if symbol.input == 0), "")
    result: Scalar = length
    step = bounds[2]
    fixed = goes_on is None or (not isinstance(goes_on, Node) and is_of_index(goes_on, index, symbols, changing))
    if fixed and type(step) is int and step > 0 and all(symbols_of(bound) <= known.keys() for bound in bounds):
        start, stop = (substitute(bound, known) for bound in bounds[:2])
        result = make("floordiv", make("sub", make("add", stop, step - 1), start), step)
    entered: dict[str, Scalar] = {}
    for symbol in symbols:
        value = values[symbol.input] if 0 < symbol.input < changing else None
        if value is not None and not isinstance(value, Node) and symbols_of(value) <= known.keys():
            entered[symbol.name] = substitute(value, known)
    loops = [one for one in body.nodes if one.kind is NodeKind.LOOP]
    return make("mul", result, total(_iterations_of(one, entered, inside) for one in loops)) if loops else result


def times_of_round(own: Mapping[int, Times], others: Iterable[Mapping[int, Times]]) -> dict[int, Times]:
    """What segments that run in turn, with a break behind each, take together, by the scale and elements of `own`.

    What a segment without a program takes is empty.
    """
    result: dict[int, Times] = {}
    for scale, times in (own or {0: Times(0.0, 0.0, 0.0)}).items():
        plain, native = times.plain, times.native + SEGMENT
        for other in others:
            native += SEGMENT
            if other:
                at = other[min(other, key=lambda one: abs(one - scale))]
                plain, native = plain + at.plain, native + at.native
        result[scale] = Times(times.elements, plain, native)
    return result


def _between(low: float, high: float) -> int:
    return int((low * high) ** 0.5)


def _scaled(env: Env, sizes: list[Symbol], factor: float) -> Env:
    """The env with every size multiplied."""
    result = Env(env, env)
    for symbol in sizes:
        size = env[symbol.name]
        assert isinstance(size, int)
        result[symbol.name] = max(2, round(size * factor)) if size else 0
    return result


def _times(graph: Graph, schedule: Schedule, env: Env, target: Target) -> tuple[float, float]:
    """What plain Python and the program take."""
    shared = _shared_time(graph, env)
    return shared + _plain_time(graph, env), shared + _program_time(schedule, env, target)


def _count(shape: Sequence[Any], env: Env) -> float:
    known = env.counts.get(id(shape))
    if known is None:
        sizes: list[Any] = [max(0, evaluate(dim, env)) for dim in shape]  # type: ignore[type-var]
        known = env.counts[id(shape)] = shape, float(prod(sizes))
    return known[1]


def _bytes(node: Node, env: Env) -> float:
    return sum(_count(type_.shape, env) * type_.dtype.itemsize for type_ in _types(node))


def _types(node: Node) -> list[ArrayType]:
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    return [type_ for type_ in types if type_ is not None]


def _loop_time(node: Node, env: Env, time: Callable[[Graph, Env], float]) -> float:
    bounds, initial, captured, body = loop_parts(node)
    goes_on = body.outputs[-1] if node.params.get("while") else None
    pause, changing = node.params.get("pause", ()), first_changing(node)

    def find() -> tuple[int, Env]:
        return middle(bounds, (*initial, *captured), body.symbols.values(), env, goes_on, changing, pause)

    count, within = env.of(node, find)
    return count * time(body, within)


def _cond_time(node: Node, env: Env, time: Callable[[Graph, Env], float]) -> float:
    regions = node.regions
    within = env.of(node, lambda: [env_of_body(node.args[1:], one.symbols.values(), env) for one in regions])
    return sum(map(time, regions, within)) / 2


@dataclass(slots=True)
class _Charge:
    """Nodes that take the same time whatever the sizes are: one of them, and how many there are. elided: NumPy writes
    their results into operands. listed: they read an item of a list, which costs nothing but the instruction."""

    node: Node
    elided: bool
    listed: bool
    number: int = 0


def _charges(graph: Graph, env: Env) -> list[_Charge]:
    """The nodes of a graph, those together that take the same time."""
    if id(graph) not in env.charges:
        found: dict[object, _Charge] = {}
        uses = users(graph)
        for node in graph.nodes:
            key: object = node
            elided = listed = False
            if node.kind is NodeKind.STORE:
                listed = bool(node.params.get("listed"))
            if node.kind is NodeKind.CALL:
                elided, listed = _is_elided(node, uses), _is_listed(node, uses)
                types = tuple(arg.type if isinstance(arg, Node) else is_scalar(arg) for arg in node.args)
                key = node.op, elementwise_of(node).name, elided, listed, node.type, types
            found.setdefault(key, _Charge(node, elided, listed)).number += 1
        env.charges[id(graph)] = graph, list(found.values())
    known: list[_Charge] = env.charges[id(graph)][1]
    return known


def _shared_time(graph: Graph, env: Env) -> float:
    """What takes its time in NumPy and in the program alike."""
    return sum(one.number * _own_time(one.node, env) for one in _charges(graph, env))


def _plain_time(graph: Graph, env: Env) -> float:
    """What plain Python and NumPy take besides."""
    python = INSTRUCTION * graph.interpreted + FRAME * graph.inlined
    own = (one for one in _charges(graph, env) if not one.listed)
    return python + sum(one.number * _numpy_time(one.node, env, one.elided) for one in own)


def _layers_time(body: Graph, env: Env) -> float:
    return _plain_time(body, env) + NS_PER_BYTE * bytes_besides(body, lambda shape: _count(shape, env))


def _own_time(node: Node, env: Env) -> float:
    """What a node takes wherever it runs: the arithmetic, and all of an opaque call."""
    if node.kind is NodeKind.LOOP:
        return _loop_time(node, env, _shared_time)
    if node.kind is NodeKind.COND:
        return _cond_time(node, env, _shared_time)
    if node.kind is not NodeKind.CALL:
        return 0.0
    op = elementwise_of(node)
    if op.name in _SIMPLE or op.name in _MOVES:
        return 0.0
    operands = [arg for arg in node.args if isinstance(arg, Node)]
    if op.kind is OpKind.ELEMENTWISE:
        return LOOP_NS * _count(_types(node)[0].shape, env)
    if op.kind is not OpKind.CALL or taken_apart(node) is not None:
        return 0.0
    if node.op in _MASKED:
        return MASK_NS * _count(operands[0].array_type.shape, env)
    traffic = NS_PER_BYTE * sum(_bytes(one, env) for one in (*operands, node))
    if node.op in ("matmul", "dot", "inner", "einsum") and operands and operands[0].array_type.shape:
        work = _count(_types(node)[0].shape, env) * _count(operands[0].array_type.shape[-1:], env)
        return traffic + MATMUL_NS * work
    counted = sum(_count(type_.shape, env) for one in (*operands, node) for type_ in _types(one))
    return traffic + LOOP_NS * counted


def _numpy_time(node: Node, env: Env, elided: bool) -> float:
    """What plain NumPy takes for a node besides: the call, and memory traffic. elided: without an array of its own."""
    spend()
    if node.kind is NodeKind.LOOP:
        return _loop_time(node, env, _layers_time if waits_for_the_next(node) else _plain_time)
    if node.kind is NodeKind.COND:
        return _cond_time(node, env, _plain_time)
    if node.kind is NodeKind.STORE:
        target, value = node.args
        assert isinstance(target, Node)
        if isinstance(value, Node) and _writes_operand(value, target):
            return 0.0  # the operation itself writes
        traffic = (2 if isinstance(value, Node) else 1) * _bytes(target, env)
        return NUMPY_CALL + NS_PER_BYTE * traffic
    if node.kind is not NodeKind.CALL or node.op in _NOTHING:
        return 0.0
    op = elementwise_of(node)
    kind = op.kind
    if kind is OpKind.VIEW:
        return NUMPY_VIEW
    if node.op in _MASKED:
        return NUMPY_CALL + MASK_BRANCH_NS * _count(node.args[0].array_type.shape, env)  # type: ignore[union-attr]
    if node.op == "ufunc_out" and node.params.get("where"):
        read = sum(_bytes(arg, env) for arg in node.args if isinstance(arg, Node))
        return NUMPY_CALL + NS_PER_BYTE * read + MASK_BRANCH_NS * _count(node.array_type.shape, env)
    if node.op == "cross" and node.array_type.dtype.char in "fd":
        return NUMPY_CROSS + CROSS_NS * _count(node.array_type.shape, env)
    if node.op in IN_PYTHON:
        of_call, of_element = IN_PYTHON[node.op]
        traffic = sum(_bytes(arg, env) for arg in (node, *node.args) if isinstance(arg, Node))
        return of_call + of_element * _count(node.array_type.shape, env) + NS_PER_BYTE * traffic
    sums = taken_apart(node)
    if sums is not None:
        return NUMPY_EINSUM + EINSUM_NS * _count(sums, env)
    if kind is OpKind.CALL and node.op not in _MOVES:
        if node.op.startswith("scalar_"):
            return NUMPY_SCALAR
        return NUMPY_OPS.get(node.op, NUMPY_CALL) + _besides(node, env)
    read = sum(_bytes(arg, env) for arg in node.args if isinstance(arg, Node))
    time = NUMPY_OPS.get(op.name, NUMPY_CALL) + NUMPY_NUMBER * sum(map(is_scalar, node.args))
    if node.op == "where":
        time += WHERE_NS * _count(_types(node)[0].shape, env)
    slow = DIVIDED_NS.get((op.name, node.array_type.dtype.kind)) if isinstance(node.type, ArrayType) else None
    if slow is not None and node.array_type.dtype.itemsize >= 4:
        time += slow * _count(node.array_type.shape, env)
    size = _bytes(node, env)
    return time + NS_PER_BYTE * read + (NS_PER_BYTE * size if elided else fresh_time(size))


def _besides(node: Node, env: Env) -> float:
    """What NumPy takes more than a function of csrc that a program calls in its place."""
    operands = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    if node.op == "advanced_index":
        return gather_time(node, lambda shape: _count(shape, env))
    if node.op in ("matmul", "dot"):
        return small_products_time(node, lambda shape: _count(shape, env))
    of_call, of_element = BESIDES.get(call(node)[0], (0.0, 0.0)) if node.op in _REPLACED else (0.0, 0.0)
    if node.op.startswith("histogram") and operands[0].dtype.char not in COUNTED:
        return 0.0
    if node.op in ("argmax", "argmin") and of_element:
        is_last = node.params["axis"] == operands[0].ndim - 1
        if is_last and _count(operands[0].shape[-1:], env) > SHORT_ROW:
            return 0.0
    if node.op in RANKED_ROW and operands[0].ndim > 1 and of_element:
        axis = node.params["axis"]
        if _count((operands[0].shape[axis if isinstance(axis, int) else axis[0]],), env) > RANKED_ROW[node.op]:
            return 0.0
    return of_call + of_element * max((_count(type_.shape, env) for type_ in operands), default=0.0)


def _is_listed(node: Node, uses: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether a node reads an item of a list (lists/columns.py), or stores one, or makes an array that stands for a
    list (capture/lists/cells.py)."""
    is_index = node.op in ("basic_index", "empty") and any(user.params.get("listed") for user in uses[node])
    return is_index or bool(node.params.get("listed"))


def _is_elided(node: Node, uses: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether NumPy writes the result of a call into an operand."""
    if elementwise_of(node).name in _OPERATORS:
        operands = (arg for arg in node.args if isinstance(arg, Node))
        if any(_is_temporary(arg, node, uses) for arg in operands):
            return True
    return any(user.kind is NodeKind.STORE and _writes_operand(node, user.args[0]) for user in uses[node])


def _writes_operand(node: Node, target: Argument) -> bool:
    """Whether an operation whose value is stored into `target` is taken for `x += 1`, which makes no array."""
    return node.op in _OPERATORS and target in node.args


def _is_temporary(arg: Node, node: Node, uses: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether NumPy's operators may write a result into this operand, which nobody else needs."""
    made = arg.kind is NodeKind.CALL and arg.op != "tuple_get" and elementwise_of(arg).kind is not OpKind.VIEW
    return made and len(uses[arg]) == 1 and arg.type == node.type


def _is_opaque(step: Call) -> bool:
    """Whether the call is of an op whose memory both sides are charged alike for. A view (a reshape, say) copies in
    NumPy where it copies in the program."""
    op = step.function.op if isinstance(step.function, Evaluation) else REGISTRY.get(step.function.__name__)
    return op is None or (op.kind in (OpKind.CALL, OpKind.VIEW) and op.name not in _MOVES)


def _without_call(step: Call, env: Env) -> float:
    """What a small product takes, or a function of np.linalg, which the program has NumPy's inner loop compute without
    a call; nothing where it calls."""
    time = PRODUCT if step.function in _PRODUCTS else LINALG if is_linalg(step.function) else 0.0
    of_arrays = len(step.args) in (1, 2) and all(isinstance(arg, Reg) for arg in step.args)
    is_small = all(type_.dtype.kind in "fc" and _count(type_.shape, env) <= SMALL_PRODUCT for type_ in step.types)
    return time if of_arrays and is_small else 0.0


def _program_time(schedule: Schedule, env: Env, target: Target) -> float:
    """What a program takes that is called from Python."""
    routine = routine_of(schedule)
    if routine is None:
        return PROGRAM + _native_time(schedule, env, target)
    time = ROUTINE + ROUTINE_VALUE * len(routine.captured) + ROUTINE_RESULT * len(routine.carried)
    for step in schedule.steps:
        if isinstance(step, Alloc):
            time += ROUTINE_ARRAY + fresh_time(_count(step.shape, env) * step.dtype.itemsize)
    return time + _machine_steps(routine.body, iterations(routine, env)[1])


def _native_time(schedule: Schedule, env: Env, target: Target) -> float:
    """What the steps of a program take."""
    return _steps_time(schedule, env, target) + ERRSTATE * _calls(schedule, env, target)


def _calls(schedule: Schedule, env: Env, target: Target) -> bool:
    """Whether some step calls NumPy through Python."""
    return any(
        (isinstance(step, Call) and not _without_call(step, env))
        or (isinstance(step, Reduce) and not target.folds(step.ufunc, step.dtype))
        or (isinstance(step, Loop) and step.machine is None and _calls(step.body, iterations(step, env)[1], target))
        or (isinstance(step, Cond) and any(_calls(body, inside, target) for body, inside in branches(step, env)))
        for step in schedule.steps
    )


def branches(step: Cond, env: Env) -> list[tuple[Schedule, Env]]:
    """The branches, with their numbers."""
    return env.of(step, lambda: [(body, env_of_body(step.operands, body.symbols, env)) for body in bodies(step)])


def _steps_time(schedule: Schedule, env: Env, target: Target) -> float:
    written, counts, kept = _save_bytes(schedule, env), _counts(schedule, env), handed_out(schedule)
    time = 0.0
    for step in schedule.steps:
        spend()
        time += STEP
        if isinstance(step, Loop) and step.pause is not None:
            time += 2 * SEGMENT  # the way there and back
        if isinstance(step, Map):
            time += KERNEL + RESULT * (len(step.outs) - 1) + _read_time(step, env, counts) + _complex_time(step, env)
            dtypes = [*step.kernel.operand_dtypes, *(dtype for op in step.kernel.ops for dtype in op.dtypes)]
            for register, value, into in zip(step.outs, step.kernel.results, step.into, strict=True):
                size = _count(step.shape, env) * dtypes[value].itemsize
                time += NS_PER_BYTE * size if into else made_time(size, register in kept)
        elif isinstance(step, Reduce):
            folds = target.folds(step.ufunc, step.dtype)
            time += KERNEL if folds else NUMPY_OPS["reduce"]
            time += _read_time(step, env, counts) + _complex_time(step, env)
            if not folds and step.kernel.ops:
                time += NS_PER_BYTE * 3 * _count(step.shape, env) * step.dtype.itemsize
        elif isinstance(step, Call):
            scalar = type(step.function) is type(operator.add)
            own = _without_call(step, env)
            if own:
                time += own
            elif step.function is np.matmul:
                time += NUMPY_OPS["matmul"]
            else:
                time += EVALUATION if isinstance(step.function, Evaluation) else SCALAR_CALL if scalar else CALL
            made = sum(_count(type_.shape, env) * type_.dtype.itemsize for type_ in step.types)
            time += 0.0 if _is_opaque(step) else NS_PER_BYTE * 3 * made
        elif isinstance(step, Alloc):
            time += NUMPY_CALL / 4
            if step.like and step.fill is not None:
                time += fresh_time(_count(step.shape, env) * step.dtype.itemsize)
        elif isinstance(step, Put | Take):
            time += APPEND
        elif isinstance(step, Save):
            time += SAVE + fresh_time(written.get(step.src) or 8 * _count(_saved(schedule, step)[1], env))
        elif isinstance(step, Loop) and step.machine is not None and not is_long(step, step.machine, env):
            time += MACHINE_CALL + machine_time(step, env)
        elif isinstance(step, Loop):
            number, inside = iterations(step, env)
            steps = 0.0 if step.body.iterated is None else min(number, 1)
            time += (steps or number) * (ITERATION + _steps_time(step.body, inside, target))
            if step.body.iterated is not None and number > 1:
                time += KERNEL + number * _iterated_time(step.body.iterated, inside)
        elif isinstance(step, Cond):
            time += CHOICE + sum(_steps_time(body, inside, target) for body, inside in branches(step, env)) / 2
    return time


def iterations(step: Loop, env: Env) -> tuple[int, Env]:
    bounds = (step.start, step.stop, step.step)
    values = *step.carried, *step.captured
    goes_on = step.body.outputs[-1] if step.goes_on else None
    changing = 1 + len(values) - (len(step.body.outputs) - len(step.carried) - step.goes_on)
    pause = step.pause or ()
    return env.of(step, lambda: middle(bounds, values, step.body.symbols, env, goes_on, changing, pause))


def is_long(loop: Loop, machine: Machine, env: Env) -> bool:
    """Whether a machine loop is left to its steps, since it handles long arrays."""
    for row in machine.vectors:
        size = 1.0
        for place, axis in zip(row[::2], row[1::2], strict=True):
            type_ = loop.types[place] if place >= 0 and axis >= 0 else None
            if type_ is not None:
                size *= float(evaluate(type_.shape[axis], env))  # type: ignore[arg-type]
        if size > abi.MOST_VECTOR:
            return True
    return False


def machine_time(loop: Loop, env: Env) -> float:
    """What a loop takes inside a machine loop, or as one."""
    number, inside = iterations(loop, env)
    return number * (MACHINE_STEP + _machine_steps(loop.body, inside))


def _machine_steps(schedule: Schedule, env: Env) -> float:
    time = 0.0
    for step in schedule.steps:
        time += MACHINE_STEP
        if isinstance(step, Loop):
            time += machine_time(step, env)
        elif isinstance(step, Cond):
            time += sum(_machine_steps(body, inside) for body, inside in branches(step, env)) / 2
        elif isinstance(step, Map | Reduce):
            time += sum(MACHINE_LOOP if op.op == "loop" else MACHINE_STEP for op in step.kernel.ops)
            time += (MACHINE_KERNEL + 2 * _read_time(step, env, {})) if step.shape else 0.0
        elif isinstance(step, Call) and step.function in _PRODUCTS:
            time += MACHINE_PRODUCT
        elif isinstance(step, Call) and is_linalg(step.function):
            time += LINALG
        elif isinstance(step, Put):
            time += MACHINE_APPEND
        elif isinstance(step, Take):
            time += MACHINE_TAKE
    return time


def _iterated_time(step: Map, env: Env) -> float:
    """What a kernel of many iterations takes for one."""
    size = _count(step.shape, env)
    through_memory = 2 * NS_PER_BYTE / BATCH * sum(dtype.itemsize for dtype in step.kernel.operand_dtypes) * size
    compiled = COMPILED_NS * len(step.kernel.ops) * max(size, TILE)
    return EVALUATED + compiled + _complex_time(step, env) + through_memory


def _complex_time(step: Map | Reduce, env: Env) -> float:
    """What operations on complex numbers take besides."""
    ops = [op for op in step.kernel.ops if op.op == "loop"]
    count = sum(any(dtype.kind == "c" for dtype in (*op.in_dtypes, *op.dtypes)) for op in ops)
    return COMPLEX_NS * count * _count(step.shape, env) if count else 0.0


def _read_time(step: Map | Reduce, env: Env, counts: Mapping[int, float]) -> float:
    count = _count(step.shape, env)
    pairs = zip(step.operands, step.kernel.operand_dtypes, strict=True)
    read = sum(
        dtype.itemsize * min(count, counts.get(operand.index, count))
        for operand, dtype in pairs
        if isinstance(operand, Reg)
    )
    bare = isinstance(step, Reduce) and not step.kernel.ops
    return (FOLD_PER_BYTE if bare else NS_PER_BYTE) * read


def _counts(schedule: Schedule, env: Env) -> dict[int, float]:
    """How many elements registers hold at most, where that is known: some operands are broadcast."""
    result: dict[int, float] = {}
    for one in schedule.symbols:
        if one.axis is not None:
            result[one.input] = result.get(one.input, 1.0) * _count((one,), env)
    for step in schedule.steps:
        if isinstance(step, Map):
            result |= dict.fromkeys(step.outs, _count(step.shape, env))
        elif isinstance(step, Reduce):
            kept = (dim for axis, dim in enumerate(step.shape) if axis not in step.axes)
            result[step.dst] = _count(tuple(kept), env)
        elif isinstance(step, View) and step.kind in ("basic_index", "transpose", "reshape") and step.src in result:
            result[step.dst] = result[step.src]
    return result


def _save_bytes(schedule: Schedule, env: Env) -> dict[int, float]:
    """The bytes that maps and loops write into each register: what a Save of it copies, about."""
    result: dict[int, float] = {}
    for step in schedule.steps:
        if isinstance(step, Map):
            dtypes = [*step.kernel.operand_dtypes, *(dtype for op in step.kernel.ops for dtype in op.dtypes)]
            for register, value, into in zip(step.outs, step.kernel.results, step.into, strict=True):
                if into:
                    result[register] = _count(step.shape, env) * dtypes[value].itemsize
        elif isinstance(step, Loop):
            for given in _written_by(step):
                if isinstance(given, Reg):
                    result[given.index] = 8 * _count(_axes(schedule, given.index), env)
    return result


def _written_by(loop: Loop) -> list[Any]:
    """What goes into a loop and is written in it."""
    values = (*loop.carried, *loop.captured)
    return [values[place - 1] for place in loop.body.written]


def _axes(schedule: Schedule, register: int) -> list[Symbol]:
    """The axes of an input."""
    return [one for one in schedule.symbols if one.input == register and one.axis is not None]


def _saved(schedule: Schedule, save: Save) -> tuple[int, list[Symbol]]:
    """The array of which a Save copies some, and the axes along which it copies all."""
    views = [step for step in schedule.steps if isinstance(step, View) and step.dst == save.src]
    source, index = (views[0].src, views[0].params) if views and views[0].kind == "basic_index" else (save.src, ())
    fixed = {axis for axis, entry in enumerate(entry for entry in index if entry is not None) if is_scalar(entry)}
    return source, [one for one in _axes(schedule, source) if one.axis not in fixed]

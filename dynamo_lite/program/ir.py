"""The loop-level program: a function of structured nodes over typed values, from which machine code is written.

Enters nothing (these are the types). A Value is a number that is computed once; a Memref says how the elements of an
array or of a tile's buffer are reached. Nodes stand in order, those of a loop in its body. There are two kinds of
functions: a Function is a kernel, a Routine a whole loop with all that its body does. Passes (build, split, hoist ...)
make functions of functions, verify.py says what a sound one is, text.py prints it, evaluate.py is its meaning. Two of
anything are the same only if they are one object. INVARIANT: a Value is defined once, and before it is used; a For's
indices count from 0 to its extent, which in a Function is at least 1, so that what a loop does not change may be
computed before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.schedule.steps import Kernel

DType: TypeAlias = np.dtype[np.generic]
INDEX: DType = np.dtype(np.int64)

PACKED = "packed"  # elements side by side
ANY = "any"  # a number of bytes that is known when the function runs
ROWS = "rows"  # of a tile's buffer: rows side by side, each as long as those of the tile
TABLE = "table"  # a row's address stands in a table of pointers


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A number of that dtype; of dtype object a list. number: which one, if that is known: it is defined everywhere."""

    name: str
    dtype: DType
    number: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Memref:
    """Elements in memory: an index for each of `axes`, of which each says how far apart its elements lie. extents: how
    many there are along each axis.

    space: "operand" or "result" (number `index` of the function), "tile" (a buffer, see Alloc), "constant" (one
    element that is `number`), or "view" (a part of another one, see View). In a Routine also "room" (see Room), "cell"
    (one element, see Alloc), or "merged" (of a choice or a loop: one element or another). strides: in a Routine, the
    bytes from one to the next along each axis.
    """

    name: str
    dtype: DType
    axes: tuple[str, ...]
    extents: tuple[Value, ...]
    space: str
    index: int = 0
    number: Any = None
    strides: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """result = memref[index]"""

    result: Value
    memref: Memref
    index: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """memref[index] = value"""

    memref: Memref
    index: tuple[Value, ...]
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """results = an operation of element_ops.py; or, where `ufunc` is given, NumPy's own loop, which `split` puts on a
    tile. forward: that has other bits for an array that is reversed, or a result that is not packed."""

    op: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    ufunc: np.ufunc | None = None
    forward: bool = False

    @property
    def in_dtypes(self) -> tuple[DType, ...]:
        return tuple(value.dtype for value in self.operands)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        return tuple(value.dtype for value in self.results)


@dataclass(frozen=True, slots=True, eq=False)
class Keep:
    """The value is computed, though nothing may need it: for the floating-point flags that this sets."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """The function returns `status` (bits are joined) in the end, where the condition holds here at any time. Of a
    Routine the caller finds it among the floating-point flags."""

    condition: Value
    status: int


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """result is the part of `source` that begins at `index` along its first axes; drop: these are no axes of it. In a
    Routine the result says itself which axes it has."""

    result: Memref
    source: Memref
    index: tuple[Value, ...]
    drop: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """The memref is a buffer of a tile's elements. offset: where it lies in the function's scratch, once that is known;
    buffers that are not used at the same time may share it."""

    memref: Memref
    offset: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class NumpyLoop:
    """NumPy's own inner loop over the first `count` elements of its memrefs; where it fails the function ends with its
    status."""

    ufunc: np.ufunc
    reads: tuple[Memref, ...]
    writes: tuple[Memref, ...]
    count: Value

    @property
    def dtypes(self) -> tuple[DType, ...]:
        return tuple(memref.dtype for memref in (*self.reads, *self.writes))


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """What a loop hands from one iteration to the next: `value` is `first` at first, then `next` of the one before."""

    value: Value
    first: Value
    next: Value


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """The body for each index below extent, in order.

    last: pairs of a value of the body and what it is called after the loop, as the last iteration left it. lanes: above
    1, iterations are computed so many at a time, `parts` vectors side by side. tail: how the last ones are computed,
    that fill no vector: "masked" (a vector of which some lanes count; the others do what a counted one does, so that
    they report nothing of their own), "numbers" (one by one), "padded" (by the same code, by way of a buffer in which
    one of them stands again), "copied" (by code of their own, by way of such a buffer), "halved" (by ever narrower
    vectors).
    """

    index: Value
    extent: Value
    body: tuple[Node, ...]
    carried: tuple[Carried, ...] = ()
    last: tuple[tuple[Value, Value], ...] = ()
    lanes: int = 1
    parts: int = 1
    tail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """The body for each tile: `count` elements, `columns` of a row from number `at` on; where there are rows, of `rows`
    rows from number `row` on. A tile has `length` elements at most, and more than one row only where they are whole;
    single: it has one row in any case, for NumPy's loops read numbers that each row has its own of."""

    extent: Value
    at: Value
    columns: Value
    count: Value
    body: tuple[Node, ...]
    length: int = 0
    extent_rows: Value | None = None
    row: Value | None = None
    rows: Value | None = None
    single: bool = False


# Of Routines alone.


@dataclass(frozen=True, slots=True, eq=False)
class Decline:
    """The function ends with `status` where the condition holds; what it has done is undone."""

    condition: Value
    status: int


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """From here on 0 <= index < extent, or the function has declined. tested: it is known to hold, of each index of a
    loop, since both ends were tested before it. result: where the index may be counted from the end, seldom, what it is
    from the begin; that is what holds of it."""

    index: Value
    extent: Value
    tested: bool = False
    result: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What is handed out of a choice: `result` is `then` or `orelse`."""

    result: Value | Memref
    then: Value | Memref
    orelse: Value | Memref


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """One body or the other. rare: the condition seldom holds."""

    condition: Value
    then: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()
    results: tuple[Joined, ...] = ()
    rare: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """As Carried, also of elements in memory: of a memref the place is carried, not what is there. again: where `next`
    was stored; it is loaded from there once others have run between two iterations."""

    value: Value | Memref
    first: Value | Memref
    next: Value | Memref
    again: Memref | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """The body for start, start + by ... to `last`, of which there is at least the first.

    last: pairs of a value (or memref) of the body and what it is called after the loop. goes_on: where it is false
    after an iteration, the loop ends. Between iterations it polls: it looks now and then for signals and threads that
    wait. outermost: the caller may then ask it to end there; start, by and last are the function's. bounds: of the
    index, as far as the builder knows.
    """

    index: Value
    start: Value
    by: Value
    end: Value
    body: tuple[Node, ...]
    carried: tuple[Phi, ...] = ()
    last: tuple[tuple[Value | Memref, Value | Memref], ...] = ()
    goes_on: Value | None = None
    outermost: bool = False
    bounds: tuple[int, int] = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Helper:
    """results = a call of a function of C (HELPERS of csrc/abi.def). failure: the status with which the function
    declines where that fails, 0 if it cannot."""

    name: str
    operands: tuple[Value | Memref, ...]
    results: tuple[Value, ...] = ()
    failure: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """result = all elements of a memref of one axis reduced, as NumPy's reduce does."""

    result: Value
    ufunc: np.ufunc
    memref: Memref


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """Run a kernel over arrays of one or two axes: the function of its own that build makes for these classes. Where
    that returns a status, so does this one."""

    kernel: Kernel
    classes: str
    reads: tuple[Memref, ...]
    writes: tuple[Memref, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """The memref is room number `index`: memory for at least `count` elements that the caller keeps for this place of
    the program. Each time there is as much as was asked for, with what was there before."""

    memref: Memref
    count: Value


@dataclass(frozen=True, slots=True, eq=False)
class Swap:
    """Two rooms exchange their memory."""

    one: int
    other: int


Node: TypeAlias = (
    Load
    | Store
    | Element
    | Keep
    | Note
    | View
    | Alloc
    | NumpyLoop
    | For
    | Tiles
    | Decline
    | Within
    | If
    | Range
    | Helper
    | Fold
    | Launch
    | Room
    | Swap
)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """operands and results: the arrays. n: how many elements a row has; rows, iterations: of these, where there are
    loops over them; axes: the lengths of the axes that are folded. It does nothing where n is not positive."""

    operands: tuple[Memref, ...]
    results: tuple[Memref, ...]
    n: Value
    body: tuple[Node, ...]
    rows: Value | None = None
    iterations: Value | None = None
    axes: tuple[Value, ...] = ()
    scratch_bytes: int = 0

    @property
    def loops(self) -> tuple[NumpyLoop, ...]:
        """NumPy's loops that it calls, in order."""
        return tuple(node for node in walk(self.body) if isinstance(node, NumpyLoop))


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A loop as one function (csrc/program/machine.c calls it).

    inputs: what goes into it; ndims: how each is given (csrc/abi.def: OF_NUMBER, OF_SCALAR, or an array's axes). start,
    by, last: of the range. results: what it hands out, each with an int64 that says which object it is (RESULT_ORIGIN);
    None of a number. rooms: how many it has. lengths: pairs of an array that is handed out and the number, by their
    places among the results, which says how long it is; others are as long as what goes in.
    """

    inputs: tuple[Value | Memref, ...]
    ndims: tuple[int, ...]
    start: Value
    by: Value
    last: Value
    body: tuple[Node, ...]
    results: tuple[tuple[Value | Memref, Value | None], ...]
    rooms: int = 0
    lengths: tuple[tuple[int, int], ...] = ()


def inner(node: Node) -> tuple[tuple[Node, ...], ...]:
    """The bodies of a node."""
    if isinstance(node, For | Tiles | Range):
        return (node.body,)
    return (node.then, node.orelse) if isinstance(node, If) else ()


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """All nodes, those of bodies included."""
    for node in nodes:
        yield node
        for body in inner(node):
            yield from walk(body)


def statuses_of(nodes: Iterable[Node]) -> list[int]:
    """The statuses of what is noted in a body."""
    return sorted({node.status for node in nodes if isinstance(node, Note)})


def renamed(node: Node, name: Callable[[Any], Any]) -> Node:
    """A node of a Routine with other values and memrefs in place of those that it uses, its bodies aside."""
    if isinstance(node, Element):  # most are, and this is done in every pass
        operands = tuple(map(name, node.operands))
        same = operands == node.operands
        return node if same else Element(node.op, operands, node.results, node.ufunc, node.forward)
    changes: dict[str, Any] = {}
    kind: Any = type(node)
    for field in _used_fields(kind):
        given = getattr(node, field)
        if isinstance(given, Value | Memref):
            changes[field] = name(given)
        elif isinstance(given, tuple) and given and isinstance(given[0], Value | Memref):
            changes[field] = tuple(map(name, given))
    if isinstance(node, Range):
        changes["carried"] = tuple(replace(one, first=name(one.first)) for one in node.carried)
    return replace(node, **changes) if any(getattr(node, key) != value for key, value in changes.items()) else node


class Renaming:
    """A pass over a Routine in which some values and memrefs stand for others: ``names``."""

    def __init__(self) -> None:
        self.names: dict[Value | Memref, Value | Memref] = {}

    def now(self, one: Value | Memref) -> Value | Memref:
        """What stands for it."""
        return self.names.get(one, one)

    def value(self, value: Value) -> Value:
        """The same of a value."""
        known = self.now(value)
        assert isinstance(known, Value)
        return known

    def finish(self, routine: Routine, body: Iterable[Node]) -> Routine:
        """The routine with that body, and results by what stands for them."""
        results = tuple(
            (self.now(value), origin if origin is None else self.value(origin)) for value, origin in routine.results
        )
        return replace(routine, body=tuple(body), results=results)


@cache
def _used_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a node that hold what it uses, among others."""
    made = ("then", "orelse", "body", "result", "results", "carried", "last")
    return tuple(of.name for of in fields(kind) if of.name not in made)


def defined(node: Node) -> tuple[Value, ...]:
    """The values that a node defines, outside its body."""
    if isinstance(node, Load):
        return (node.result,)
    if isinstance(node, Element | Helper):
        return node.results
    if isinstance(node, Fold):
        return (node.result,)
    if isinstance(node, Within):
        return () if node.result is None else (node.result,)
    if isinstance(node, If):
        return _values(one.result for one in node.results)
    return _values(after for _, after in node.last) if isinstance(node, For | Range) else ()


def _values(given: Iterable[Value | Memref]) -> tuple[Value, ...]:
    return tuple(one for one in given if isinstance(one, Value))


def used(node: Node) -> tuple[Value, ...]:
    """The values that a node uses, those of its body aside."""
    if isinstance(node, Load | View):
        return node.index
    if isinstance(node, Store):
        return (*node.index, node.value)
    if isinstance(node, Element):
        return node.operands
    if isinstance(node, Keep):
        return (node.value,)
    if isinstance(node, Note | Decline | If):
        return (node.condition,)
    if isinstance(node, Within):
        return (node.index, node.extent)
    if isinstance(node, Helper):
        return _values(node.operands)
    if isinstance(node, Room):
        return (node.count,)
    if isinstance(node, Range):
        return (node.start, node.by, node.end, *_values(carried.first for carried in node.carried))
    if isinstance(node, NumpyLoop):
        return (node.count,)
    if isinstance(node, For):
        return (node.extent, *(carried.first for carried in node.carried))
    if isinstance(node, Tiles):
        return (node.extent,) if node.extent_rows is None else (node.extent, node.extent_rows)
    return ()

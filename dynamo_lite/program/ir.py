"""The loop-level program: a function of structured nodes over typed values, from which machine code is written.

Enters nothing (these are the types). A Value is a number that is computed once; a Memref says how the elements of an
array or of a tile's buffer are reached. Nodes stand in order, those of a loop in its body. Passes (build, split, hoist
...) make functions of functions, verify.py says what a sound one is, text.py prints it, evaluate.py is its meaning.
Two of anything are the same only if they are one object. INVARIANT: a Value is defined once, and before it is used;
indices count from 0 to the loop's extent, which is at least 1, so that what a loop does not change may be computed
before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass

DType: TypeAlias = np.dtype[np.generic]
INDEX: DType = np.dtype(np.int64)

PACKED = "packed"  # elements side by side
ANY = "any"  # a number of bytes that is known when the function runs
ROWS = "rows"  # of a tile's buffer: rows side by side, each as long as those of the tile
TABLE = "table"  # a row's address stands in a table of pointers


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A number of that dtype."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Memref:
    """Elements in memory: an index for each of `axes`, of which each says how far apart its elements lie. extents: how
    many there are along each axis.

    space: "operand" or "result" (number `index` of the function), "tile" (a buffer, see Alloc), "constant" (one
    element that is `number`), or "view" (a part of another one, see View).
    """

    name: str
    dtype: DType
    axes: tuple[str, ...]
    extents: tuple[Value, ...]
    space: str
    index: int = 0
    number: Any = None


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
    """The function returns `status` (bits are joined) in the end, where the condition holds here at any time."""

    condition: Value
    status: int


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """result is the part of `source` that begins at `index` along its first axes; drop: these are no axes of it."""

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
    they report nothing of their own), "numbers" (one by one), "copied" (by way of a buffer in which the last element
    stands again), "halved" (by ever narrower vectors).
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


Node: TypeAlias = Load | Store | Element | Keep | Note | View | Alloc | NumpyLoop | For | Tiles


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


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """All nodes, those of bodies included."""
    for node in nodes:
        yield node
        if isinstance(node, For | Tiles):
            yield from walk(node.body)


def defined(node: Node) -> tuple[Value, ...]:
    """The values that a node defines, outside its body."""
    if isinstance(node, Load):
        return (node.result,)
    if isinstance(node, Element):
        return node.results
    return tuple(after for _, after in node.last) if isinstance(node, For) else ()


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
    if isinstance(node, Note):
        return (node.condition,)
    if isinstance(node, NumpyLoop):
        return (node.count,)
    if isinstance(node, For):
        return (node.extent, *(carried.first for carried in node.carried))
    if isinstance(node, Tiles):
        return (node.extent,) if node.extent_rows is None else (node.extent, node.extent_rows)
    return ()

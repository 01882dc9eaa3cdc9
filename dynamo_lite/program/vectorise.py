"""Says how many elements a loop computes at once, and how its last ones are computed, that fill no vector.

    for i in n: ...  ->  for i in n by 8, masked: ...

Enters what the processor can do with vectors under a mask (Lanes). A loop whose body holds the loop over iterations or
along folded axes has several vectors side by side, as many as hide latencies and find registers.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.program.element_ops import part_dtype
from dynamo_lite.program.ir import ANY, Element, For, Function, Keep, Load, Node, Store, Tiles, Value, defined, walk

VECTOR_BYTES = 64  # two AVX registers, or one of AVX-512: independent work to hide latencies
MANY_VALUES = 6  # live vectors above which half the width avoids spills
MANY_LONG_VALUES = 24  # where a register holds such a vector, and there are 32 of them
REGISTER_BYTES = 32
REGISTERS = 16
FEW_APART = 1  # arrays that are not packed: more of them keep registers and loads busy with half the width
MOST_PARTS = 8  # vectors that iterate side by side
MOST_INSTRUCTIONS = 512
FOLDED_PARTS = 4  # vectors of each value that are folded side by side
# Loops of so many operations have one copy of them, that the last elements go through by way of a buffer: code for
# these alone took LLVM a third of its time. To copy them is felt in short rows where there is little else to do.
MANY_OPS, OPS_OF_ARRAY = 24, 1.5
WIDE_OPS = 8  # more of them leave no registers for several


@dataclass(frozen=True, slots=True)
class Lanes:
    """Of elements of so many bytes: whether some lanes of a vector are loaded and stored, and whether they are stored
    each at its own address. long: whether there are 32 registers of VECTOR_BYTES."""

    can_mask: Callable[[int], bool]
    can_scatter: Callable[[int], bool]
    long: bool = False


def vectorise(function: Function, lanes: Lanes) -> Function:
    """The function with loops over elements by vectors."""
    return replace(function, body=_nodes(function, function.body, lanes))


def _nodes(function: Function, nodes: tuple[Node, ...], lanes: Lanes) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Tiles):
            node = replace(node, body=_nodes(function, node.body, lanes))
        elif isinstance(node, For):
            inner = next((one for one in node.body if isinstance(one, For)), None)
            if inner is None:
                node = _over_elements(function, node, lanes)
            elif node.extent is function.n and function.axes:
                node = _over_folds(node)
            elif node.extent is function.n:
                node = _over_iterations(function, node, inner)
            else:
                node = replace(node, body=_nodes(function, node.body, lanes))
        result.append(node)
    return tuple(result)


def _over_elements(function: Function, loop: For, lanes: Lanes) -> For:
    """NB: of rows, which may be short, long vectors leave more elements over than they gain."""
    ops = [node for node in loop.body if isinstance(node, Element)]
    loads = [node for node in loop.body if isinstance(node, Load)]
    stores = [node.value for node in loop.body if isinstance(node, Store | Keep)]
    inside = {value for node in loop.body for value in defined(node)}
    known = [value for op in ops for value in op.operands] + stores
    numbers = {value for value in known if value not in inside}
    values = {*known, *(node.result for node in loads), *(value for op in ops for value in op.results)}
    if not values:
        return loop
    constants = {node.result for node in loads if node.memref.space == "constant"}
    live = len(numbers | constants) + _pressure(ops, stores, numbers | constants)
    widest = max(part_dtype(value.dtype).itemsize for value in values)
    apart = [node for node in loop.body if isinstance(node, Load | Store) and node.memref.axes[-1:] == (ANY,)]
    many = MANY_LONG_VALUES if lanes.long and function.rows is None else MANY_VALUES
    wide = live <= many and len(apart) <= FEW_APART
    width = VECTOR_BYTES // widest // (1 if wide else 2)
    if width < 2:
        return loop
    moving = [*numbers, *(node.result for node in loads), *stores]
    spread = [node.value for node in loop.body if isinstance(node, Store) and node.memref.axes[-1] != "packed"]
    masked = all(lanes.can_mask(part_dtype(value.dtype).itemsize) for value in moving) and all(
        value.dtype.kind != "c" and lanes.can_scatter(value.dtype.itemsize) for value in spread
    )
    reached = {node.memref for node in loop.body if isinstance(node, Load | Store) and node.memref.axes}
    once = function.iterations is None  # it does not stand in a loop over iterations
    one_copy = len(ops) >= max(MANY_OPS, OPS_OF_ARRAY * len(reached))
    tail = "padded" if once and one_copy else "masked" if masked else "numbers"
    return replace(loop, lanes=width, tail=tail)


def _pressure(ops: list[Element], stores: list[Value], numbers: set[Value]) -> int:
    """The most values live at once, loads counted at first use and numbers not at all."""
    last_use = {value: position for position, op in enumerate(ops) for value in op.operands}
    for value in stores:
        last_use.setdefault(value, len(ops))
    born: dict[Value, int] = {}
    for position, op in enumerate(ops):
        for value in (*op.operands, *op.results):
            born.setdefault(value, position)
    change = [0] * (len(ops) + 1)
    for value, start in born.items():
        if value not in numbers:
            end = min(last_use.get(value, start), len(ops) - 1)
            change[start] += 1
            change[end + 1] -= 1
    most = live = 0
    for position in range(len(ops)):
        live += change[position]
        most = max(most, live)
    return most


def _over_iterations(function: Function, loop: For, inner: For) -> For:
    """The loop over elements around that over iterations: as many vectors side by side as hide latencies, without
    values going through memory."""
    ops = [node for node in inner.body if isinstance(node, Element)]
    order = {value: position for position, op in enumerate(ops) for value in op.results}
    ends: dict[Value, int] = {}
    for position, op in enumerate(ops):
        ends |= dict.fromkeys(op.operands, position)
    ends |= dict.fromkeys([inside for inside, _ in inner.last], len(ops))
    ends |= {node.value: len(ops) for node in inner.body if isinstance(node, Store)}
    born = dict.fromkeys([one.value for one in inner.carried], -1) | order
    dtypes = {memref.dtype for memref in (*function.operands, *function.results)}
    dtypes |= {value.dtype for op in ops for value in op.results}
    widest = max(part_dtype(dtype).itemsize for dtype in dtypes)
    width = REGISTER_BYTES // widest
    live = max(
        sum(value.dtype.itemsize / widest for value, start in born.items() if start <= at < ends.get(value, -1))
        for at in range(len(ops) or 1)
    )
    parts = MOST_PARTS
    while parts > 1 and (parts * max(1.0, live) > REGISTERS or parts * len(ops) > MOST_INSTRUCTIONS):
        parts //= 2
    return replace(loop, lanes=width, parts=parts, tail="copied")


def _over_folds(loop: For) -> For:
    nodes = tuple(walk(loop.body))
    ops = [node for node in nodes if isinstance(node, Element)]
    values = {value for op in ops for value in (*op.operands, *op.results)}
    width = abi.FOLD_BYTES // FOLDED_PARTS // max(value.dtype.itemsize for value in values)
    parts = FOLDED_PARTS if len(ops) <= WIDE_OPS + 1 else 1  # the fold itself is one
    return replace(loop, lanes=width, parts=parts, tail="halved")

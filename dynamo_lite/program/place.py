"""Gives the buffers of tiles their places in the function's scratch, and tiles their length.

    t0 = alloc float64; t1 = alloc float64; tiles of n: ...  ->  t0 = alloc float64 at 64; ...; tiles of n by 512: ...

Buffers that are not used at the same time share a place. INVARIANT: a compiled step reads each position before it
writes it, so what it stores may lie where what it reads last did.
"""

from __future__ import annotations

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.program.ir import Alloc, For, Function, Load, Memref, Node, NumpyLoop, Store, Tiles, View, walk

MAX_TILE = 1024
MIN_TILE = 256
ALIGNMENT = abi.SCRATCH_ALIGNMENT
SINK_BYTES = 64  # one vector, for values that are computed for their floating-point flags alone
CACHE_BYTES = 28 * 1024  # of a 32 KiB first-level cache
SLOT_PADDING = 192  # keeps slots from lying a multiple of 4096 bytes apart, where loads wait for unrelated stores


def place(function: Function) -> Function:
    """The function with places for its buffers."""
    tiles = next((node for node in function.body if isinstance(node, Tiles)), None)
    if tiles is None:
        return replace(function, scratch_bytes=SINK_BYTES)
    slot_of, sizes = _slots(tiles)
    length = _length(function, sizes)
    offsets, offset = [], SINK_BYTES
    for size in sizes:
        offsets.append(offset)
        offset += (size * length + SLOT_PADDING + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    body = tuple(
        replace(node, offset=offsets[slot_of[node.memref]])
        if isinstance(node, Alloc)
        else replace(tiles, length=length)
        if node is tiles
        else node
        for node in function.body
    )
    return replace(function, body=body, scratch_bytes=offset)


def _steps(nodes: tuple[Node, ...]) -> list[NumpyLoop | For]:
    """What a tile's buffers are used by, in order."""
    inner = next((node for node in nodes if isinstance(node, For) and _calls(node)), None)
    if inner is not None:
        return _steps(inner.body)
    return [node for node in nodes if isinstance(node, NumpyLoop | For)]


def _calls(loop: For) -> bool:
    return any(isinstance(node, NumpyLoop) for node in walk(loop.body))


def _slots(tiles: Tiles) -> tuple[dict[Memref, int], list[int]]:
    """The slot of each buffer, and how many bytes an element of each slot takes."""
    steps = _steps(tiles.body)
    last: dict[Memref, int] = {}
    written: list[list[Memref]] = []
    for number, step in enumerate(steps):
        if isinstance(step, NumpyLoop):
            reads, writes = list(step.reads), list(step.writes)
        else:
            views = {node.result: node.source for node in walk(step.body) if isinstance(node, View)}
            reads = [views.get(node.memref, node.memref) for node in walk(step.body) if isinstance(node, Load)]
            writes = [views.get(node.memref, node.memref) for node in walk(step.body) if isinstance(node, Store)]
        written.append([memref for memref in writes if memref.space == "tile"])
        last |= dict.fromkeys((memref for memref in (*reads, *writes) if memref.space == "tile"), number)
    slot_of: dict[Memref, int] = {}
    sizes: list[int] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # (last step, slot)
    for number, step in enumerate(steps):
        for entry in [entry for entry in busy if entry[0] < number + isinstance(step, For)]:
            busy.remove(entry)
            free.append(entry[1])
        for memref in written[number]:
            size = memref.dtype.itemsize
            slot = next((slot for slot in free if sizes[slot] == size), None)
            if slot is None:
                slot = len(sizes)
                sizes.append(size)
            else:
                free.remove(slot)
            busy.append((last[memref], slot))
            slot_of[memref] = slot
    return slot_of, sizes


def _length(function: Function, sizes: list[int]) -> int:
    moving = sum(memref.dtype.itemsize for memref in (*function.operands, *function.results) if memref.axes)
    length = MAX_TILE
    while length > MIN_TILE and length * (sum(sizes) + moving) > CACHE_BYTES:
        length //= 2
    return length

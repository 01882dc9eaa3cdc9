"""What memory costs that is written for the first time: the cost model's figures, and which arrays of a program it is.

Enters: bytes, and a program's schedule. Leaves: ns. Plain NumPy pays for large arrays in pages that the system clears;
so does a program for those that it hands out, while what dies in it has its memory from the pool
(csrc/memory/memory.c). Where the pool stays awake, as under `run`, both have theirs from it.
"""

from __future__ import annotations

from dynamo_lite import _C
from dynamo_lite.schedule.steps import Reg, Schedule, View

FRESH_PER_BYTE = 0.06  # of an array that is made
LARGE_PER_BYTE = 0.25  # from LARGE on: pages that the system clears first, and takes back behind
LARGE = 1 << 22
MOST_POOLED = 1 << 25  # bytes of an array that the pool surely holds


def fresh_time(size: float) -> float:
    """What it takes to write so many bytes into memory that is new."""
    is_pooled = size <= MOST_POOLED and _C.memory_stays()
    return (FRESH_PER_BYTE if size < LARGE or is_pooled else LARGE_PER_BYTE) * size


def made_time(size: float, is_kept: bool) -> float:
    """The same in a program; is_kept: it hands the array out."""
    return fresh_time(size) if is_kept or size > MOST_POOLED else FRESH_PER_BYTE * size


def handed_out(schedule: Schedule) -> set[int]:
    """The registers of the arrays whose memory a program hands out."""
    found = {one.index for one in schedule.outputs if isinstance(one, Reg)}
    for step in reversed(schedule.steps):
        if isinstance(step, View) and step.dst in found:
            found.add(step.src)
    return found

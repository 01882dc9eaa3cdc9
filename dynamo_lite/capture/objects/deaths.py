"""Objects that die while a program runs: in plain Python what is done behind a death comes behind it.

A program lets go of what its segment began with when that ends. Somebody may notice when an object dies, by its __del__
or a weak reference, and find in a list what was appended since.
"""

from __future__ import annotations

import gc
import types
import weakref
from typing import Any

from dynamo_lite._C import dies_quietly
from dynamo_lite.capture.branches.sameness import reachable
from dynamo_lite.capture.loops.code import stored_names
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.objects.places import is_quiet
from dynamo_lite.capture.value import LazyValue
from dynamo_lite.capture.wrap import MISSING, class_lookup

_DEPTH, _MOST = 4, 64  # of what an object refers to, an instance's dict being one step, and items of each
_SHARED = (type, types.FunctionType, types.ModuleType, types.CodeType)  # which live on without it
_RUNNING = (types.GeneratorType, types.CoroutineType)  # whose `finally` runs


def has_let_go(machine: Machine, guarded: bool) -> bool:
    """Whether no name has something any more that the segment began with, or none will in the next iteration, and its
    death may be noticed: in plain Python that comes before what is done now, or then. guarded: that nobody can notice
    it is a guard; else it is so in this call."""
    root = machine.tracer.frames[0]
    loops = [one.loop for one in machine.attempts if one.frame is root]
    stored = {name for loop in loops for name in stored_names(root.code, loop)}
    held = set(reachable(machine.tracer, without=stored))
    for value in machine.slots.values():
        if not isinstance(value, LazyValue) or value in held or value.known in held:
            continue
        assert value.source is not None
        quiet = is_quiet(machine.tracer, value.source, value.concrete) if guarded else not _is_noticed(value.concrete)
        if not quiet:
            return True
    return False


def _is_noticed(obj: Any, depth: int = _DEPTH) -> bool:
    """Whether its death, or that of what it refers to, runs something, as far as it is looked into."""
    cls = type(obj)  # NB: isinstance would ask the object for its __class__
    if dies_quietly(obj) or issubclass(cls, _SHARED):
        return False
    if class_lookup(cls, "__del__") is not MISSING or issubclass(cls, _RUNNING):
        return True
    if cls.__weakrefoffset__ and weakref.getweakrefcount(obj) > 0:
        return True
    return depth > 0 and any(_is_noticed(part, depth - 1) for part in gc.get_referents(obj)[:_MOST])


__all__ = ["has_let_go"]

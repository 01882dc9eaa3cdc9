"""``with np.errstate(...)``: a scope of the body, from whose begin to whose end the program has another error state.

Enters the call of np.errstate with modes that are known, and a `with` of what it gives; leaves two nodes around what
stands between (ops/error_state.py). INVARIANT: a segment does not end inside of a scope: where the graph breaks there,
capture begins again without scopes, and breaks at the `with`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import Break, CallValue, ConstantValue, MethodValue, Value
from dynamo_lite.ops import error_state


def make(machine: Machine, modes: dict[str, Value]) -> Value:
    """np.errstate(**modes)."""
    known = {name: as_constant(machine, value) for name, value in modes.items()}
    if error_state.changed(0, 0, known) is None:
        raise Break("python-call", "class errstate")
    return CallValue(None, partial(np.errstate, **known), [])


def enter(machine: Machine, manager: Value) -> Value | None:
    """The `with` of what `make` gave: what leaves the scope; None for any other manager."""
    tracer = machine.tracer
    made = manager.function if isinstance(manager, CallValue) else None
    if not isinstance(made, partial) or made.func is not np.errstate or not tracer.scopes:
        return None
    before = tracer.errors
    after = error_state.changed(*before, made.keywords)
    assert after is not None
    _set(tracer, after, 1)
    return MethodValue(None, ConstantValue(None, leave), ConstantValue(None, before), "__exit__")


def leave(machine: Machine, before: tuple[int, int]) -> None:
    """The end of a scope."""
    _set(machine.tracer, before, -1)


def _set(tracer: Tracer, errors: tuple[int, int], deeper: int) -> None:
    tracer.depth += deeper
    if errors != tracer.errors:
        error_state.set_state(tracer.graph, *errors, tracer.location())
    tracer.errors = errors


__all__ = ["enter", "leave", "make"]

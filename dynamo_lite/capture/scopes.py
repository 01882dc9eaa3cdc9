"""``with np.errstate(...)``: a scope of the body, from whose begin to whose end the program has another error state.

Enters the call of np.errstate with modes that are known, and a `with` of what it gives; leaves two nodes around what
stands between (ops/error_state.py). Such a scope is ``with warnings.catch_warnings()`` as well, in which a filter makes
what NumPy warns of unseen (ops/filters.py). INVARIANT: a segment does not end inside of a scope: where the graph breaks
there, capture begins again without scopes, and breaks at the `with`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.state import Frame, Tracer
from dynamo_lite.capture.value import Break, CallValue, ConstantValue, MethodValue, Value
from dynamo_lite.graph.graph import Graph
from dynamo_lite.ops import error_state, filters

_FILTER = ("action", "category", "lineno", "append")


def make(machine: Machine, modes: dict[str, Value]) -> Value:
    """np.errstate(**modes)."""
    known = {name: as_constant(machine, value) for name, value in modes.items()}
    if error_state.changed(0, 0, known) is None:
        raise Break("python-call", "class errstate")
    return _made(machine.tracer, partial(np.errstate, **known))


def make_filters(machine: Machine, given: dict[str, Value]) -> Value:
    """warnings.catch_warnings(**given)."""
    known = {name: as_constant(machine, value) for name, value in given.items()}
    is_new = _changes_of(known) is None or known.keys() - {*_FILTER, "record", "module"}
    if is_new or known.get("record", False) is not False or known.get("module") is not None:
        raise Break("python-call", "class catch_warnings")
    return _made(machine.tracer, partial(warnings.catch_warnings, **known))


def _made(tracer: Tracer, make: Callable[[], object]) -> Value:
    """A manager, and where it is made. NB: one that is kept might be entered twice, or asked whether it has been."""
    value = CallValue(None, make, [])
    frame = tracer.frames[-1]
    tracer.manager = value, frame, frame.index
    return value


def is_new(tracer: Tracer, manager: Value, frame: Frame) -> bool:
    """Whether the instruction right before the one that enters a manager has made it, so that nobody else has it."""
    return tracer.manager == (manager, frame, frame.index - 1)


def _changes_of(known: dict[str, Any]) -> tuple[int, bool] | None:
    """How often the filters change where catch_warnings(**known) is entered, and whether that makes warnings unseen;
    None where they change otherwise."""
    if known.get("action") is None:
        return 1, False
    silent = filters.silences(known["action"], known.get("category", Warning), known.get("lineno", 0))
    return None if silent is None or known.get("append", False) is not False else (2, silent)


def add_filter(machine: Machine, names: tuple[str, ...], args: list[Value], kwargs: dict[str, Value]) -> Value:
    """warnings.simplefilter, or filterwarnings, which take arguments of these names, inside of a scope."""
    tracer = machine.tracer
    known = {name: as_constant(machine, value) for name, value in [*zip(names, args, strict=False), *kwargs.items()]}
    is_plain = len(args) <= len(names) and not kwargs.keys() & set(names[: len(args)]) and known.keys() <= set(names)
    if not tracer.filters or not is_plain or any(known.get(name, "") != "" for name in ("message", "module")):
        raise Break("python-call", "a change of the filters of warnings")
    changes = _changes_of({"action": "", **{name: known[name] for name in known.keys() & set(_FILTER)}})
    if changes is None:
        raise Break("python-call", "a change of the filters of warnings")
    _set(tracer, tracer.errors, 0, tracer.silent or changes[1], changes=1)
    return ConstantValue(None, None)


def enter(machine: Machine, manager: Value) -> Value | None:
    """The `with` of what `make` or `make_filters` gave: what leaves the scope; None for any other manager."""
    tracer = machine.tracer
    made = manager.function if isinstance(manager, CallValue) else None
    if not isinstance(made, partial) or not tracer.scopes:
        return None
    before: tuple[tuple[int, int], bool | None, int]
    if made.func is warnings.catch_warnings and filters.IS_KNOWN and tracer.pauses:
        changes, silent = _changes_of(made.keywords) or (0, False)
        before = tracer.errors, tracer.silent, 1
        tracer.filters += 1
        tracer.filtered = True
        _set(tracer, tracer.errors, 1, tracer.silent or silent, changes, filters.are_own)
    elif made.func is np.errstate:
        before = tracer.errors, None, 0
        after = error_state.changed(*tracer.errors, made.keywords)
        assert after is not None
        _set(tracer, after, 1)
    else:
        return None
    return MethodValue(None, ConstantValue(None, leave), ConstantValue(None, before), "__exit__")


def leave(machine: Machine, before: tuple[tuple[int, int], bool | None, int]) -> None:
    """The end of a scope: the state, whether it was silent (None: that stays), and how often the filters change."""
    errors, silent, changes = before
    machine.tracer.filters -= changes
    _set(machine.tracer, errors, -1, silent, changes)


def _set(
    tracer: Tracer,
    errors: tuple[int, int],
    deeper: int,
    silent: bool | None = None,
    changes: int = 0,
    warner: Callable[[], bool] | None = None,
) -> None:
    tracer.depth += deeper
    silent = tracer.silent if silent is None else silent
    if changes or errors != tracer.errors:
        at = tracer.location()
        error_state.set_state(tracer.graph, *errors, at, warner=warner, silent=silent, changes=changes)
    tracer.errors, tracer.silent = errors, silent


def is_told(graph: Graph) -> bool:
    """Whether something in a graph asks Python's filters of warnings, which have not been changed while it runs: it
    warns, or may do so for other reasons than floating-point errors."""
    return any(
        node.op in filters.MAY_WARN or "noted" in node.params or any(map(is_told, node.regions)) for node in graph.nodes
    )


def changes_filters(graph: Graph) -> bool:
    """Whether something is left of a scope of catch_warnings when the program ends, which a native one alone does."""
    return any(node.params.get("changes") or any(map(changes_filters, node.regions)) for node in graph.nodes)


__all__ = ["add_filter", "changes_filters", "enter", "is_new", "is_told", "leave", "make", "make_filters"]

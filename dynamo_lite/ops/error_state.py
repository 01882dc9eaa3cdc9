"""``with np.errstate(...)`` around part of a program: an op where the error state changes, which nothing crosses.

``error_state`` says how the state differs from the caller's from here on: which kinds of floating-point errors are
ignored, and which are reported in any case. A program declines where one is to be reported; NumPy's own calls in it
see such a state, too.

    with np.errstate(divide="ignore"): y = 1 / x    ->    error_state(ignored=1); divide(1, %x); error_state(ignored=0)

Around an operation of whose errors NumPy has warned before, kinds are noted: ignored for the time being. The end of
that part has a Warner (ops/warner.py), which is told what was met, and warns of it as NumPy would, if the caller's
state says so; where it cannot, the program declines.

Inside of ``with warnings.catch_warnings()`` it is silent once nobody sees what NumPy warns of (ops/filters.py); changes
says how often the filters have been changed right there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import OpDef, OpKind, Relate, define

KINDS = ("divide", "over", "under", "invalid")  # in the order of their bits
_MODES = ("ignore", "warn", "raise", "call", "print", "log")
_outside: ContextVar[dict[str, Any] | None] = ContextVar("_outside", default=None)  # the state around all of it


def changed(ignored: int, reported: int, modes: dict[str, Any]) -> tuple[int, int] | None:
    """Which kinds are ignored and reported inside of ``np.errstate(**modes)``; None where that is more than a state."""
    if modes.keys() - {"all", *KINDS} or any(mode is not None and mode not in _MODES for mode in modes.values()):
        return None
    for place, kind in enumerate(KINDS):
        mode, bit = modes.get(kind) or modes.get("all"), 1 << place
        if mode is not None:
            ignored = ignored | bit if mode == "ignore" else ignored & ~bit
            reported = reported & ~bit if mode == "ignore" else reported | bit
    return ignored, reported


def _infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    return ArrayType(np.dtype(bool), (), True)


def set_in_force(ignored: int, reported: int) -> None:
    """Set NumPy's own state: what is reported in any case raises, and so does what is noted where it raises outside, as
    it does while a program is evaluated: nothing is warned of from here."""
    state = _outside.get()
    if state is None:
        state = dict(np.geterr())
    _outside.set(state if ignored or reported else None)
    modes: dict[str, Any] = {}
    for place, kind in enumerate(KINDS):
        modes[kind] = "ignore" if ignored >> place & 1 else "raise" if reported >> place & 1 else state[kind]
    np.seterr(**modes)


def _evaluate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    set_in_force(params["ignored"], params["reported"])
    return np.True_


define(
    OpDef(
        "error_state",
        OpKind.CALL,
        _infer,
        _evaluate,
        "From here on floating-point errors of the kinds in params ignored are, and those in params reported are "
        "reported (bits: divide, over, under, invalid); others as the caller says. Those in params noted are told to "
        "the warner of the next error_state, if the caller is warned of them. silent: nobody sees what the caller is "
        "warned of; changes: of the filters of warnings, here.",
    )
)


def set_state(
    graph: Graph,
    ignored: int,
    reported: int,
    location: Location | None,
    noted: int = 0,
    warner: Callable[..., bool] | None = None,
    silent: bool = False,
    changes: int = 0,
) -> Node:
    """Append the change of the state."""
    params: dict[str, Any] = {"ignored": ignored, "reported": reported}
    params |= {"noted": noted} if noted else {"warner": warner} if warner is not None else {}
    params |= {"silent": int(silent), "changes": changes} if silent or changes else {}
    return graph.add_call("error_state", (), params, ArrayType(np.dtype(bool), (), True), location)


__all__ = ["KINDS", "changed", "set_in_force", "set_state"]

"""A compiler for the oracle that works as ``python -m dynamo_lite run`` does: polls in the code, loops entered midway.

``compile`` watches the function alone, with thresholds of zero: everything is hot at once. ``compile_loops`` lets
functions begin plainly, so that their loops are entered while they run.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from dynamo_lite.policy import AT_ONCE, Thresholds
from dynamo_lite.watch.watching import Watch


class Watched:
    """A function whose code has polls; calls of others find nothing watched."""

    def __init__(self, function: types.FunctionType, limits: Thresholds, backend: str) -> None:
        self.watch = Watch(limits, backend)
        code = self.watch.watched(function.__code__)
        self.has_polls = code is not function.__code__
        self.function = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.function.__kwdefaults__ = function.__kwdefaults__
        self.function.__qualname__ = function.__qualname__

    def stats(self) -> dict[str, float]:
        compilation = self.watch.compilation
        found: dict[str, float] = dict(compilation.stats()) if compilation is not None else {}
        failed = sum(reason == "internal-error" for reason, *_ in compilation.skips) if compilation is not None else 0
        failed += sum(self.watch.failures.values())
        return {**found, "entered": self.watch.loops_entered, "polls": self.has_polls, "failed": failed}


def compile(function: Callable[..., Any], *, backend: str = "reference", **_: Any) -> Callable[..., Any]:
    """`function`, watched; all of it is hot from its first call."""
    return _compiled(function, AT_ONCE, backend)


def compile_loops(function: Callable[..., Any], *, backend: str = "reference", **_: Any) -> Callable[..., Any]:
    """`function`, watched; it begins plainly, and its loops are hot."""
    return _compiled(function, LOOPS_AT_ONCE, backend)


LOOPS_AT_ONCE = Thresholds(
    hot_function=1e6,
    heart_waits=0,
    hot_loop=0.0,
    short_loop=0.0,
    way_in=0.0,
    too_short=0.0,
    look=0.0,
    polls_after=0.0,
    operations=1,
    together=0,
    short_function=0.0,
    budget_share=1e6,
    budget_base=1e6,
    watching=0.0,
    compiler=0.0,
    first=0.0,
    break_pays=0.0,
    least_piece=0.0,
)


def _compiled(function: Callable[..., Any], limits: Thresholds, backend: str) -> Callable[..., Any]:
    if not isinstance(function, types.FunctionType):
        return function  # its own code is elsewhere
    made = Watched(function, limits, backend)
    call: Any = made.function
    call.stats = made.stats
    call.end = made.watch.end
    return call  # type: ignore[no-any-return]

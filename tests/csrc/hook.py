"""Running under the frame hook: what the tests of it share."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_lite import _C

REASONS = _C.frame_reasons()
MISFIT = "stress mode: the re-encoded code does not fit the frame"


def nothing(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
    return None


OF_THE_TEST = 100  # the skip reason of the lambda that a test runs under the hook


def under_hook(call: Callable[[], Any], on_frame: Any = nothing) -> Any:
    """The value of call() while this thread's frames are shown to the hook; nothing else of the test is."""
    _C.set_skip(call, True, reason=OF_THE_TEST)
    _C.set_frame_callback(on_frame)
    _C.frame_stats(reset=True)
    _C.hook_enter()
    try:
        return call()
    finally:
        _C.hook_exit()


def stats() -> dict[str, Any]:
    """Frame statistics without the test's own frame."""
    result = _C.frame_stats()
    result["seen"] -= result["skipped"].pop(OF_THE_TEST, 0)
    return result


def take_over(*functions: Any, residual: Callable[..., Any] | None = None) -> None:
    """From now on a frame of one of the functions gives ("taken", its slots)."""
    for fn in functions:
        _C.clear(fn)
        program = None if residual else lambda *slots: [("taken", slots)]
        _C.add_entry(fn, _C.CacheEntry(None, program, residual))


def reasons() -> dict[str, int]:
    return {REASONS[number]: count for number, count in stats()["skipped"].items()}


def with_constants(code: types.CodeType, **changes: Any) -> types.CodeType:
    """A copy of code whose string constants are in upper case: shows that it was the copy that ran."""
    constants = tuple(c.upper() if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=constants, **changes)


# For `pytestmark` of a test file.
WITH_HOOK = [
    pytest.mark.skipif(_C.hook_refusal() is not None, reason=str(_C.hook_refusal())),
    pytest.mark.usefixtures("leave_no_hook"),
]

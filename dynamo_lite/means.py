"""What compiling may take of the machine, for one Compilation: time, memory and stack; and what follows where there was
not enough.

Enters: attempts to compile, and how they end. Leaves: how long each may take, whether one that failed is made again.

A function has `compile_budget` for each kind of arguments. Code for which that did not suffice runs plainly, and earns
a share of the time that it takes so: its next attempt is made once there is twice as much to spend as the latest one
took. So compiling takes no more than that share beyond the budget, and what is in use for long is compiled in the end.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from time import thread_time
from typing import ParamSpec, TypeVar

from dynamo_lite import _C, budget
from dynamo_lite.config import config
from dynamo_lite.frame_room import with_frame_room
from dynamo_lite.policy import THRESHOLDS

_P = ParamSpec("_P")
_T = TypeVar("_T")

Version = tuple[types.CodeType, int]  # a user's function, and which of its versions this is

COMPILE_BUDGET, RUN_BUDGET = "compile-budget", "run-budget"  # for what there was no time, reasons of breaks.py
_ROOM = 500  # frames, of which compiling takes fewer: where so many were free and none was left, it did not end
_STARVED_LIMIT = 3  # attempts to compile one code object for which there was no memory, say


class Means:
    """seconds: that compiling one version of a function may take at first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent: dict[Version, float] = {}  # less what was earned
        self._took: dict[types.CodeType, float] = {}  # the latest attempt, of code that waits for more time
        self._starved: dict[types.CodeType, int] = {}  # how often there was no memory to compile it

    def clear(self) -> None:
        """Forget all."""
        self._spent.clear()
        self._took.clear()
        self._starved.clear()

    def waiting(self) -> set[types.CodeType]:
        """Code that waits for more time."""
        return set(self._took)

    @with_frame_room
    def in_time(
        self,
        version: Version,
        code: types.CodeType,
        on_miss: _C.OnMiss,
        compile_: Callable[_P, _T],
        *args: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """What compile_ gives, in the time that there is for the segments of a version, of which `code` is one."""
        needed = 0.0
        if code in self._took:
            earned = THRESHOLDS.earned_share * _C.plain_seconds(code, on_miss)
            self._spent[version] = self._spent.get(version, 0.0) - earned
            needed = self._needed(code)
        left = self._seconds - self._spent.get(version, 0.0)
        if left <= max(0.0, 0.99 * needed):
            raise budget.OutOfTime
        self._took.pop(code, None)
        began = thread_time()
        try:
            with budget.seconds(left):
                return compile_(*args, **options)
        except budget.OutOfTime:
            self._took[code] = thread_time() - began
            raise
        finally:
            self._spent[version] = self._spent.get(version, 0.0) + thread_time() - began

    def _needed(self, code: types.CodeType) -> float:
        return max(2 * self._took.get(code, 0.0), THRESHOLDS.least_attempt)

    def put_off(
        self, version: Version, function: types.FunctionType, on_miss: _C.OnMiss, runs_watched: bool
    ) -> tuple[str, str]:
        """There was no time for `function`: ask for it again once it has earned what is missing. A reason of breaks.py
        for what did not suffice, and how much that was.

        runs_watched: it is code of a whole program, where all compiling takes a share of the time that passes.
        """
        code = function.__code__
        self._took.setdefault(code, 0.0)
        spent = self._spent.get(version, 0.0)
        missing = max(0.0, self._needed(code) - (self._seconds - spent))
        wait = missing / THRESHOLDS.earned_share
        if runs_watched:
            self._spent[version] = spent - missing
            _C.cool(function, wait)
            if spent < self._seconds:  # what the whole program may take was not enough
                return RUN_BUDGET, str(config.run_budget)
        else:
            _C.put_off(code, on_miss, wait)
        return COMPILE_BUDGET, f"{self._seconds * 1e3:.0f}"

    def lacking(self, error: Exception, code: types.CodeType) -> tuple[str, bool]:
        """What was lacking when compiling `code` failed, a reason of breaks.py; whether a later call may find more
        of it. "" where the error says nothing of that."""
        if _is_out_of_memory(error):
            self._starved[code] = self._starved.get(code, 0) + 1
            return "out-of-memory", self._starved[code] < _STARVED_LIMIT
        if isinstance(error, budget.ChangedMeanwhile):
            self._starved[code] = self._starved.get(code, 0) + 1
            return "changed-meanwhile", self._starved[code] < _STARVED_LIMIT
        if not lacks_stack(error):
            return "", False
        return "recursion-limit", budget.frames_around() >= sys.getrecursionlimit() // 2


def lacks_stack(error: Exception) -> bool:
    """Whether the user's frames have left too little room, rather than that something calls itself without end."""
    return isinstance(error, RecursionError) and sys.getrecursionlimit() - budget.frames_around() < _ROOM


def _is_out_of_memory(error: Exception) -> bool:
    """NB: CPython 3.11 sets no error where it finds no memory for a Python frame, and says so in a SystemError."""
    return isinstance(error, MemoryError) or (
        type(error) is SystemError and str(error) == "error return without exception set"
    )


__all__ = ["COMPILE_BUDGET", "RUN_BUDGET", "Means", "Version", "lacks_stack"]

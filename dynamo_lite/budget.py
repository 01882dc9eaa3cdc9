"""What compiling may cost, a count of symbolic work for one capture and CPU time for one function; what it has cost.

Enters: ``spend(units)``, called wherever compiling does work that grows with the program: for an instruction that is
interpreted, a relation that is decided, a node that is copied, scheduled or estimated. Leaves: OutOfWork, raised in a
capture that has used up its count (it then inlines or unrolls less), or OutOfTime, which leaves a function plain.
INVARIANT: the count depends on the program and its arguments alone, so that captures repeat; the clock is there for
what the count does not foresee.
"""

from __future__ import annotations

import math
import os
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from dynamo_lite.collector import uncollected
from dynamo_lite.dataclass import dataclass

if TYPE_CHECKING:
    from threading import local
else:
    from _thread import _local as local  # NB: importing threading takes a millisecond

_LOOK = 256  # units from one look at the clock to the next
_SHARE = 2 / 3  # of the work is for what repeats


class OutOfWork(Exception):
    """The work that a capture may do is used up."""


class ChangedMeanwhile(Exception):
    """What the capture was made from is not what it was: another thread, the handler of a signal or a finalizer ran."""


class OutOfTime(Exception):
    """The CPU time that compiling a function may take is used up."""


@dataclass(slots=True)
class Budget:
    """What is left. work: units; ends: when the time is over, by the clock of this thread's CPU time. whole: the units
    that there were."""

    ends: float = math.inf
    work: float = math.inf
    whole: float = math.inf
    unseen: int = 0

    def spend(self, units: int) -> None:
        """Take `units` off; raises OutOfWork or OutOfTime when nothing is left."""
        self.work -= units
        if self.work < 0:
            raise OutOfWork
        self.unseen += units
        if self.unseen >= _LOOK:
            self.unseen = 0
            if thread_time() > self.ends:
                raise OutOfTime


_current: ContextVar[Budget] = ContextVar("what the compiling under way may still cost")
_ENDLESS = Budget()


def spend(units: int = 1) -> None:
    """Take `units` off the budget of the compiling under way, if there is one."""
    _current.get(_ENDLESS).spend(units)


def left() -> float:
    """The units that are left."""
    return _current.get(_ENDLESS).work


def spent() -> float:
    """The units that the compiling under way has taken; 0 where there is no budget of work."""
    budget = _current.get(_ENDLESS)
    return budget.whole - budget.work if budget.whole < math.inf else 0.0


def repeat(began: float, times: float = 1.0) -> None:
    """Something is repeated for which `began` units were left: raises OutOfWork where it has taken its share, or is
    going to, once it has been repeated so many `times` as often.

    A long function gets all of the work, since each operation is written once and compiled once; a loop that is
    unrolled, or a function that calls itself, could go on for ever."""
    budget = _current.get(_ENDLESS)
    if (began - budget.work) * times > budget.whole * _SHARE:
        budget.work = 0
        budget.spend(1)


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Let a block take `limit` seconds of this thread's CPU time, and no more than the block around it may take."""
    token = _current.set(Budget(ends=min(thread_time() + limit, _current.get(_ENDLESS).ends)))
    try:
        yield
    finally:
        _current.reset(token)


class _Timed(local):
    """began: when this thread's block of `timed` began, by the clock of its CPU time; None outside of one. began_at: by
    the usual clock."""

    began: float | None = None
    began_at = 0.0

    def passed(self) -> float:
        """Seconds of CPU time since the block began."""
        assert self.began is not None
        passed = perf_counter() - self.began_at
        return passed if passed < _BRIEF else thread_time() - self.began


# NB: a clock of CPU time is a call into the kernel, which takes up to 50 us on a virtual machine; a question whether
# something is to be compiled takes little more. In what passes so soon hardly any of it goes to others.
_BRIEF = 0.0005
_timed = _Timed()
_taken = [0.0]
_latest = [-math.inf, 0.0]  # when `process_time` has looked at its clock, by the usual one, and what that has said


_inherited = [0.0]  # seconds that a forked process has not taken itself


def process_time() -> float:
    """time.process_time(), to half a millisecond; in a child by fork it goes on where the parent's was."""
    passed = perf_counter() - _latest[0]
    if passed >= _BRIEF:
        _latest[:] = perf_counter(), time.process_time() + _inherited[0]
        passed = 0.0
    return _latest[1] + passed


def _after_fork() -> None:
    """What was noted of the time, as seconds of the parent's, stays before what is noted from now on."""
    _inherited[0] = _latest[1]
    _latest[0] = -math.inf


os.register_at_fork(before=process_time, after_in_child=_after_fork)


@contextmanager
def timed() -> Iterator[None]:
    """Count what a block takes, CPU time of this thread, as time for compiling; blocks within one count with it.

    Nothing is collected meanwhile: compiling makes many objects that live on for a while, and hardly a cycle.
    """
    if _timed.began is not None:
        yield
        return
    with uncollected():
        _timed.began, _timed.began_at = thread_time(), perf_counter()
        try:
            yield
        finally:
            _taken[0] += _timed.passed()
            _timed.began = None


def taken() -> float:
    """Seconds of CPU time that this process has spent in blocks of `timed`, and this thread so far in one under way."""
    return _taken[0] + (0.0 if _timed.began is None else _timed.passed())


@contextmanager
def work(limit: float) -> Iterator[Budget]:
    """Let a block do `limit` units of work, in the time that there is; gives what is left of them."""
    budget = Budget(_current.get(_ENDLESS).ends, limit, limit)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def frames_around() -> int:
    """How many Python frames are under way."""
    frame: types.FrameType | None = sys._getframe()
    count = 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


__all__ = [
    "Budget",
    "ChangedMeanwhile",
    "OutOfTime",
    "OutOfWork",
    "frames_around",
    "left",
    "process_time",
    "repeat",
    "seconds",
    "spend",
    "spent",
    "taken",
    "timed",
    "work",
]

"""What tests of loops that stay loops share: cases, arguments, and what has to come of a case.

A Case says what has to come of its loops. "native": one program serves all calls, none declines, and its graph holds a
loop; a case with `versions` needs as many (a trip count of 0 apart from the others, say). "plain": the loop falls back,
and everything is as without loops. "declines": in some calls the program declines. "overlaps": so does the native
backend alone, since what is written shares memory with what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.graph.node import NodeKind
from tests.conftest import BACKENDS as BACKENDS
from tests.oracle import MakeArgs, Report, require_equal

COUNTS = (3, 0, 1, 2, 5, 40)


@dataclass(frozen=True, slots=True)
class Case:
    """A function, and what makes its arguments for a trip count and a size."""

    fn: Callable[..., Any]
    args: Callable[[int, int], tuple[Any, ...]]
    versions: int = 1
    counts: tuple[int, ...] = COUNTS
    sizes: tuple[int, ...] = (6, 4, 9)
    loops: int = 1
    plain: bool = False
    overlaps: bool = False
    declines: bool = False


Register = Callable[..., Callable[[Callable[..., Any]], Any]]


def registry() -> tuple[dict[str, Case], Register]:
    """The programs of one file, and the decorator that adds one."""
    cases: dict[str, Case] = {}

    def case(args: Callable[[int, int], tuple[Any, ...]], **options: Any) -> Callable[[Callable[..., Any]], Any]:
        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            assert fn.__name__ not in cases, fn.__name__
            cases[fn.__name__] = Case(fn, args, **options)
            return fn

        return register

    return cases, case


def table() -> tuple[dict[str, tuple[Callable[..., Any], Any]], Register]:
    """Programs by name, with what is expected of each, and the decorator that adds one: ``@register(expected)``."""
    programs: dict[str, tuple[Callable[..., Any], Any]] = {}

    def register(expected: Any) -> Callable[[Callable[..., Any]], Any]:
        def add(fn: Callable[..., Any]) -> Any:
            programs[fn.__name__] = fn, expected
            return fn

        return add

    return programs, register


def rng(size: int) -> np.random.Generator:
    return np.random.default_rng(size)


def vector(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random(size), count


def two(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random(size), rng(size + 1).random(size), count


def matrix(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random((size, size)), count


def two_matrices(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random((size, size + 1)), rng(size + 1).random((size, size + 1)), count


def relaxed(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    return x


OPTIONS = {"native_loops": True, "check": 1, "cost_model": False}


def variants(one: Case) -> list[MakeArgs]:
    calls = [(count, one.sizes[0]) for count in one.counts] + [(one.counts[-2], size) for size in one.sizes[1:]]
    return [lambda call=call: one.args(*call) for call in calls]  # type: ignore[misc]


@contextmanager
def loops_left(iterations: int) -> Iterator[None]:
    """Loops that can be left are, after so many iterations."""
    _C.leave_loops(iterations)
    try:
        yield
    finally:
        _C.leave_loops(0)


def loops_in(graph: Any) -> int:
    return sum(1 + loops_in(node.regions[0]) for node in graph.nodes if node.kind is NodeKind.LOOP)


def compared(one: Case, backend: str | None = None, calls: int = 1, **options: Any) -> Report:
    """The report on a Case's calls, with all its arguments, compiled and plainly, which have to be alike."""
    first, *rest = variants(one)
    compile_options = {"backend": backend, "options": OPTIONS | options}
    return require_equal(
        one.fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=compile_options, calls=calls
    )


def check(one: Case, backend: str) -> None:
    """Everything that a Case says of itself, under one backend."""
    report = compared(one, backend)
    if _C.get_stress():
        return  # what follows counts, and a mode compiles the plain run and what library code is called, too
    found = [loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments]
    if one.plain:
        assert not any(found)
        return
    assert max(found) == one.loops, report.compiled.explain()
    stats = report.stats
    assert stats["compiles"] == one.versions, report.compiled.explain()
    if one.declines or (one.overlaps and backend != "reference"):
        assert stats["declines"], report.compiled.explain()
        return
    assert stats["native_calls"] and not stats["declines"], report.compiled.explain()
    assert stats["plain_calls"] <= 2 * (one.versions - 1), report.compiled.explain()

"""Elements that machine code keeps in registers over the iterations of a loop, and indices tested before it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_random_elements import machines_of


def product(c: Any, a: Any, b: Any) -> Any:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def with_itself(c: Any, a: Any, b: Any) -> Any:
    for i in range(len(c)):
        for k in range(len(c)):
            c[i, i] = c[i, i] * 0.5 + c[k, i] * a[i, k]
    return c


def one_place(c: Any, a: Any, b: Any) -> Any:
    for k in range(a.shape[1]):
        c[0, 0] = c[0, 0] + a[0, k]
    return c[0, 0], c


def counted(c: Any, a: Any, b: Any) -> Any:
    hits = np.zeros(3, dtype=np.int32)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            hits[i % 3] += i + k
    return hits


def ends(c: Any, a: Any, b: Any) -> Any:
    for i in range(len(c)):
        for k in range(len(c) - 1, -1, -1):
            c[i, k] = a[i, k] + b[k, len(c) - 1 - k]
        for k in range(1, len(c)):
            c[i, k] += c[i, k - 1]
    return c


FUNCTIONS = {fn.__name__: fn for fn in (product, with_itself, one_place, counted, ends)}


def matrices(rows: int, columns: int, dtype: Any = np.float64) -> tuple[Any, ...]:
    rng = np.random.default_rng(rows * 10 + columns)
    shapes = ((rows, rows), (rows, columns), (columns, rows))
    return tuple((rng.normal(size=shape) * 9).astype(dtype) for shape in shapes)


def overlapping() -> tuple[Any, ...]:
    """The result, and what it is computed from, in one memory."""
    memory = np.random.default_rng(0).normal(size=60)
    return memory[:16].reshape(4, 4), memory[3:19].reshape(4, 4), memory[8:24].reshape(4, 4)


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "square": lambda: matrices(5, 5),
    "wide": lambda: matrices(3, 6),
    "too_narrow": lambda: matrices(6, 3),  # some index is out of range
    "one": lambda: matrices(1, 1),
    "empty": lambda: matrices(4, 0),
    "single": lambda: matrices(4, 4, np.float32),
    "half": lambda: matrices(4, 4, np.float16),
    "integers": lambda: matrices(4, 4, np.int64),
    "small_integers": lambda: matrices(4, 4, np.int8),
    "not_a_number": lambda: tuple(np.where(one > 5.0, np.nan, one) for one in matrices(4, 4)),
    "infinite": lambda: tuple(np.where(one > 5.0, np.inf, one) for one in matrices(4, 4)),
    "transposed": lambda: tuple(one.T for one in matrices(4, 4)),
    "reversed": lambda: tuple(one[::-1, ::-1] for one in matrices(4, 4)),
    "overlapping": overlapping,
    "same": lambda: (matrices(4, 4)[0],) * 3,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements(name: str, backend: str) -> None:
    fn, variants = FUNCTIONS[name], list(ARGUMENTS.values())
    options = {"backend": backend, "options": OPTIONS | {"recompile_limit": 64}}
    report = require_equal(
        fn, variants[0], variants=variants[1:], compile=dynamo_lite.compile, compile_options=options, calls=2
    )
    assert backend != "numba" or machines_of(report.compiled), report.compiled.explain()


@pytest.mark.parametrize("nested", [False, True])
def test_a_handler_writes_what_is_in_a_register(nested: bool) -> None:
    """What a signal's handler stores between two iterations is what the next one reads."""

    def long(c, rows, n):  # type: ignore[no-untyped-def]
        for _ in range(rows):
            for _ in range(n):
                c[0] += 1.0

    def flat(c, rows, n):  # type: ignore[no-untyped-def]
        for _ in range(rows * n):
            c[0] += 1.0

    fast = dynamo_lite.compile(long if nested else flat, options=OPTIONS)
    fast(np.zeros(2), 2, 10)
    c = np.zeros(2)

    def handler(*_: Any) -> None:
        c[0] = -1e15

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        fast(c, 2, 300_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert machines_of(fast)
    assert -1e15 < c[0] < -1e14, "the loop has stored what it read before the handler ran"

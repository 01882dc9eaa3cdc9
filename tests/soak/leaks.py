"""Calls on every path of the dispatcher, and whether they leave memory behind.

Each path is one call, repeated; the calls go in rounds, and after each round `sys.getallocatedblocks()` (objects of
Python) and the resident set (memory of C, which the former does not see) are read. A leak of one block a call would
show as as many blocks as calls. Counters of the compiled function prove that the path was taken by every call.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite import _C
from tests.programs.managers import Log

Counters = dict[str, int | float]

WARM = 200
ROUNDS = 10
SLACK_BLOCKS = 100  # over the second half of the rounds: free lists and caches of the interpreter breathe
SLACK_BLOCKS_COMPILING = 300  # compiling fills some more caches
FIRST_BLOCKS = 3000  # over all rounds
SLACK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Path:
    """One way through a call. proof: the counter that must grow by `share` a call; costly: make a hundredth as many."""

    name: str
    call: Callable[[], object]
    stats: Callable[[], Counters]
    proof: str
    share: float = 1.0
    costly: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """What `calls` calls left: blocks after each round less those before the first, and the resident set in bytes."""

    calls: int
    blocks: tuple[int, ...]
    resident: tuple[int, ...]
    proven: bool
    seconds: float
    slack: int

    @property
    def late(self) -> int:
        """Blocks left by the second half of the rounds."""
        return self.blocks[-1] - self.blocks[len(self.blocks) // 2 - 1]

    @property
    def leaks(self) -> bool:
        """Whether more than noise is left."""
        resident = self.resident[-1] - self.resident[len(self.resident) // 2 - 1]
        return self.late > self.slack or self.blocks[-1] > FIRST_BLOCKS or resident > SLACK_BYTES


class Scaled:
    """Holds a factor; its method is compiled."""

    def __init__(self) -> None:
        self.factor = 3.0

    @dynamo_lite.compile
    def scale(self, x: Any) -> Any:
        return x * self.factor + 1.0


def affine(x: Any, y: Any, *, k: float = 2.0) -> Any:
    return x * k + y


def sink(*values: Any) -> None:
    """Called behind a graph break."""


def broken(x: Any) -> Any:
    y = x * 2.0
    LOG.append(y.shape)
    LOG.clear()
    return y + x


def broken_in_loop(x: Any) -> Any:
    for _ in range(3):
        x = x * 2.0 + 1.0
        LOG.append(1)
    LOG.clear()
    return x


def fails(x: Any, y: Any) -> Any:
    return x * 2.0 + y


def raises(x: Any) -> Any:
    y = x + 1.0
    LOG.append(2)
    LOG.clear()
    raise ValueError(y.shape)


def quotient(x: Any) -> Any:
    return 1.0 / x + x * 2.0


def recursive(x: Any, n: int) -> Any:
    return x + 1.0 if n == 0 else recursive(np.sqrt(x * x), n - 1)


@dynamo_lite.disable
def opaque(call: Callable[[Any], Any], x: Any) -> Any:
    return call(x)


def callee(x: Any) -> Any:
    return x * 2.0 + x


def calls_callee(x: Any) -> Any:
    return opaque(callee, x) + 1.0


def views_and_stores(x: Any) -> Any:
    x[1:-1] = (x[:-2] + x[2:]) * 0.5
    return x[::2], x.T, x.shape


LOG = Log()
X = np.arange(1.0, 7.0).reshape(2, 3)
Y = X + 0.5
ZERO = X - 1.0
BAD = np.zeros((5, 7))
BIG = np.ones(200_000)
MANY = [np.ones((2,) * n) for n in range(1, 7)] + [np.ones(3, dtype) for dtype in ("f4", "i4", "i8", "u2", "c16")]


def ignoring(call: Callable[[], object], *errors: type[BaseException]) -> Callable[[], None]:
    """`call`, which must raise one of `errors`."""

    def caught() -> None:
        try:
            call()
        except errors:
            return
        raise AssertionError("no exception")

    return caught


def paths() -> Iterator[Path]:
    """Every path, on functions of its own."""

    def fast(fn: Callable[..., Any], **options: Any) -> tuple[Any, Callable[[], Counters]]:
        made: Any = dynamo_lite.compile(fn, options={"cost_model": False, **options})
        return made, made.stats

    f, stats = fast(affine)
    yield Path("hit", lambda: f(X, Y), stats, "native_calls")
    g, stats = fast(affine)
    yield Path("keywords", lambda: g(y=Y, x=X, k=2.0), stats, "native_calls")
    yield Path("method", lambda: HOLDER.scale(X), Scaled.scale.stats, "native_calls")  # type: ignore[attr-defined]
    h, stats = fast(affine)
    yield Path("big array (no GIL)", lambda: h(BIG, BIG), stats, "native_calls", costly=True)
    stores, stats = fast(views_and_stores)
    yield Path("stores and views", lambda: stores(X.copy()), stats, "native_calls")

    limited, stats = fast(affine, recompile_limit=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for array in MANY[:4]:
            limited(array, 1.0)
    yield Path("miss: limit reached", lambda: limited(MANY[5], 1.0), stats, "plain_calls")
    wide, stats = fast(affine)
    yield Path("miss: unsupported array", lambda: wide(OBJECTS, 1.0), stats, "plain_calls")
    reset, stats = fast(affine)

    def recompile() -> None:
        reset(X, Y)
        reset.reset()

    yield Path("miss: compiled anew", recompile, COMPILES.stats, "misses", costly=True)
    made_anew = COMPILES.stats

    def make() -> None:
        dynamo_lite.compile(lambda x: x * 2.0 + 1.0, options={"cost_model": False})(X)

    yield Path("a new function", make, made_anew, "misses", costly=True)

    b, stats = fast(broken)
    yield Path("break", lambda: b(X), stats, "breaks")
    loop, stats = fast(broken_in_loop)
    yield Path("breaks in a loop", lambda: loop(X), stats, "breaks", 3.0)
    i, stats = fast(fails)
    yield Path("NumPy raises", ignoring(lambda: i(X, BAD), ValueError), stats, "native_calls")
    j, stats = fast(raises)
    yield Path("raise behind a break", ignoring(lambda: j(X), ValueError), stats, "breaks")
    k, stats = fast(fails)
    k(X, Y)
    yield Path("TypeError of binding", ignoring(lambda: k(X, Y, 3), TypeError), _C.counters, "hits", 0.0)

    d, stats = fast(quotient)
    d(X)

    def declining() -> None:
        d(X)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            d(ZERO)

    yield Path("decline, warning", declining, stats, "declines")
    w, stats = fast(quotient)

    def warning() -> None:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("default")
            w(ZERO)

    for _ in range(4):
        warning()
    yield Path("warning of its own", warning, stats, "native_calls")
    e, stats = fast(quotient)
    e(X)

    def declining_error() -> None:
        e(X)
        with np.errstate(all="raise"):
            try:
                e(ZERO)
            except FloatingPointError:
                return
        raise AssertionError

    yield Path("decline, exception", declining_error, stats, "declines")
    r, stats = fast(quotient)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        for _ in range(20):
            r(ZERO)
    yield Path("retired entry", lambda: r(X), stats, "plain_calls")

    c, stats = fast(calls_callee)
    c(X)
    yield Path("callee by the hook", lambda: c(X), lambda: dict(_C.counters(callee)), "native_calls")
    recurse, stats = fast(recursive)
    yield Path("recursion", lambda: recurse(X, 5), stats, "hits")


class COMPILES:
    """Counters of the process."""

    @staticmethod
    def stats() -> Counters:
        return dict(_C.counters())


HOLDER = Scaled()
OBJECTS = np.array([1, 2.5, None][:2], dtype=object)


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def quiet() -> Iterator[None]:
    """No collection at a random moment."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def measure(path: Path, calls: int) -> Growth:
    """Make `calls` calls in rounds."""
    each = max(1, calls // ROUNDS)
    blocks, pages = [], []
    seconds = 0.0
    with quiet():
        for _ in range(WARM):
            path.call()
        gc.collect()
        before = path.stats()[path.proof]
        start = sys.getallocatedblocks()
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(each):
                path.call()
            seconds += time.perf_counter() - began
            gc.collect()
            blocks.append(sys.getallocatedblocks() - start)
            pages.append(resident())
    grown = path.stats()[path.proof] - before
    proven = grown >= path.share * each * ROUNDS * 0.99
    slack = SLACK_BLOCKS_COMPILING if path.costly else SLACK_BLOCKS
    return Growth(each * ROUNDS, tuple(blocks), tuple(pages), proven, seconds, slack)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls on each path; costly ones a hundredth")
    parser.add_argument("--only", default="", help="paths whose name contains this")


def main(options: argparse.Namespace) -> int:
    """Measure every path and print the table; 1 when one leaks."""
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    print(f"{'path':26} {'calls':>9} {'blocks':>7} {'later half':>10} {'resident kB':>11} {'ns a call':>9}")
    failed = 0
    for path in paths():
        if options.only not in path.name:
            continue
        growth = measure(path, options.calls // 100 if path.costly else options.calls)
        kilobytes = (growth.resident[-1] - growth.resident[0]) // 1024
        nanoseconds = growth.seconds / growth.calls * 1e9
        verdict = "  LEAKS" * growth.leaks + "  THE PATH WAS NOT TAKEN" * (not growth.proven)
        print(
            f"{path.name:26} {growth.calls:9} {growth.blocks[-1]:7} {growth.late:10} {kilobytes:11} "
            f"{nanoseconds:9.0f}{verdict}",
            flush=True,
        )
        if verdict:
            failed += 1
            print(f"    blocks {growth.blocks}, resident {[n // 1024 for n in growth.resident]} kB, {path.stats()}")
    print(f"{failed} paths leak or were not taken")
    return 1 if failed else 0

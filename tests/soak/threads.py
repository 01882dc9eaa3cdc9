"""Many threads call compiled functions at once; every result is compared with plain Python's.

The calls hit, miss, decline, break, raise, recurse and store; some arrays are big enough for the GIL to be released.
Meanwhile one thread compiles and resets functions, one collects garbage, one changes a global that a guard reads.
A wrong result is printed, a crash ends the process, and a deadlock ends it with every thread's traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import random
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite import _C

Arguments = Callable[[], tuple[Any, ...]]
PATHS = ("hits", "misses", "native_calls", "plain_calls", "declines", "breaks")
SCALE = 2.0
SCALES = (2.0, 3.0, 0.5)


@dataclass(slots=True)
class Job:
    """One function and the calls to make of it; expected: what plain Python may answer, for each call."""

    name: str
    plain: Callable[..., Any]
    calls: Sequence[Arguments]
    errors: str = "ignore"
    keywords: bool = False
    fast: Any = None
    expected: list[set[Any]] = field(default_factory=list)


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def scale(self, x: Any) -> Any:
        return x * self.factor + 1.0


def affine(x: Any, y: Any) -> Any:
    return x * 2 + y


def norm(x: Any) -> Any:
    return np.sqrt((x * x).sum(axis=-1))


def quotient(x: Any) -> Any:
    return 1.0 / x + x


def logs(x: Any, log: list[Any]) -> Any:
    y = x + 1
    log.append(y.shape)
    return y * 2, log


def logs_in_loop(x: Any, log: list[Any]) -> Any:
    for i in range(4):
        x = x * 2.0 + i
        log.append(i)
    return x, log


def raises(x: Any, log: list[Any]) -> Any:
    y = x + 1.0
    log.append(y.ndim)
    raise ValueError(log)


def with_handler(x: Any, n: int) -> Any:
    try:
        return (x + 1.0)[n]
    except IndexError:
        return x - 1.0


def recursive(x: Any, n: int) -> Any:
    if n == 0:
        return x + 1.0
    return recursive(np.abs(x) * 0.5, n - 1) + n


def stores(x: Any) -> Any:
    x[1:-1] = (x[:-2] + x[2:]) * 0.5
    x += 1.0
    return x


def reads_global(x: Any) -> Any:
    return x * SCALE


def keywords(x: Any, *, k: Any = 2.0, **others: Any) -> Any:
    return x * k + len(others)


def method(x: Any, holder: Scaled) -> Any:
    return holder.scale(x)


@dynamo_lite.disable
def opaque(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


def through_plain_code(x: Any) -> Any:
    return opaque(affine, x, x) - 1


def generates(x: Any) -> Any:
    return [float(row.sum()) for row in opaque(rows, x)]


def rows(x: Any) -> Any:
    for row in x:
        yield row * 2.0


def outcome(call: Callable[..., Any], args: tuple[Any, ...], errors: str, as_keywords: bool) -> Any:
    """What a call gives, as something hashable."""
    try:
        with np.errstate(all=errors):  # type: ignore[call-overload]
            return frozen(call(args[0], **args[1]) if as_keywords else call(*args))
    except Exception as error:
        return type(error).__name__, str(error)


def frozen(value: Any) -> Any:
    """`value` with all its bits, hashable."""
    if isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, value.dtype.str, value.shape, value.strides, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value).__name__, *map(frozen, value)
    return repr(value)


def arrays() -> list[Any]:
    """Small arrays of many types and layouts."""
    made: list[Any] = []
    for dtype in (np.float64, np.float32, np.int64, np.int16, np.complex128):
        made += [np.arange(1, 13).astype(dtype), np.arange(24).reshape(4, 6).astype(dtype)]
        made += [made[-1].T, made[-1][::2, 1:]]
    return [*made, np.ones((0, 3)), np.ones((2, 1, 3)), np.array(3.0), np.full((5, 1), np.nan)]


def jobs() -> list[Job]:
    """All functions with their calls, and plain Python's answers."""
    small, big = arrays(), [np.linspace(0.5, 2.0, 300_000), np.ones((600, 500), np.float32)]
    holders = Scaled(1.0), Scaled(2.5)
    real = [x for x in small if x.dtype.kind == "f"]
    zero = [np.array([0.0, 1.0, 2.0]), np.zeros((3, 3)), np.ones(7)]

    def one(values: Sequence[Any]) -> list[Arguments]:
        return [lambda x=x: (x,) for x in values]

    made = [
        Job("affine", affine, [lambda x=x: (x, x) for x in small + big]),
        Job("broadcast error", affine, [lambda: (np.ones((2, 3)), np.ones((4, 5)))]),
        Job("norm", norm, one([x for x in small if x.ndim] + big)),
        Job("quotient", quotient, one(real + zero), "raise"),
        Job("quotient, warnings", quotient, one(real + zero), "warn"),
        Job("break", logs, [lambda x=x: (x, []) for x in small]),
        Job("breaks in a loop", logs_in_loop, [lambda x=x: (x, []) for x in real + big[:1]]),
        Job("raise", raises, [lambda x=x: (x, []) for x in real]),
        Job("handler", with_handler, [lambda n=n: (real[0], n) for n in (0, 5, 100)]),
        Job("recursion", recursive, [lambda n=n: (real[1], n) for n in (0, 1, 4, 7)]),
        Job("stores", stores, [lambda x=x: (x.copy(),) for x in real if x.ndim]),
        Job("global", reads_global, one(real + big)),
        Job("keywords", keywords, [lambda x=x: (x, {"k": 3.0}) for x in real], keywords=True),
        Job("more keywords", keywords, [lambda x=x: (x, {"a": 1, "b": 2}) for x in real], keywords=True),
        Job("method", method, [lambda x=x, h=h: (x, h) for x in real[:3] for h in holders]),
        Job("through plain code", through_plain_code, one(small + big)),
        Job("generator", generates, one([x for x in real if x.ndim > 1])),
    ]
    for job in made:
        job.expected = [set() for _ in job.calls]
        for number, arguments in enumerate(job.calls):
            for scale in SCALES:
                globals()["SCALE"] = scale
                job.expected[number].add(outcome(job.plain, arguments(), job.errors, job.keywords))
        options = {"cost_model": False, "recompile_limit": 40}
        job.fast = dynamo_lite.compile(job.plain, options=options)
    return made


@dataclass(slots=True)
class Run:
    """What happens in one run: `wrong` fills when a result differs."""

    jobs: list[Job]
    end: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)

    def call(self, seed: int, calls: int) -> None:
        """Make `calls` calls in random order."""
        choose = random.Random(seed)
        counts: Counter[str] = Counter()
        for _ in range(calls):
            job = choose.choice(self.jobs)
            number = choose.randrange(len(job.calls))
            got = outcome(job.fast, job.calls[number](), job.errors, job.keywords)
            counts[job.name] += 1
            if got not in job.expected[number] and len(self.wrong) < 20:
                self.wrong.append(f"{job.name}, call {number}: {got!r:.300}")
        self.made.update(counts)

    def compile(self) -> None:
        """Compile new functions, and make old ones forget, until the end."""
        choose = random.Random(0)
        while not self.end.is_set():
            job = choose.choice(self.jobs)
            number = choose.randrange(len(job.calls))
            fresh = dynamo_lite.compile(renewed(job.plain), options={"cost_model": False})
            got = outcome(fresh, job.calls[number](), job.errors, job.keywords)
            if got not in job.expected[number]:
                self.wrong.append(f"{job.name}, just compiled, call {number}: {got!r:.300}")
            choose.choice(self.jobs).fast.reset()
            self.made["compiled anew"] += 1
            time.sleep(0.002)

    def collect(self) -> None:
        """Collect garbage until the end."""
        while not self.end.is_set():
            gc.collect()
            self.made["collections"] += 1
            time.sleep(0.02)

    def change(self) -> None:
        """Change the global until the end."""
        while not self.end.is_set():
            for scale in SCALES:
                globals()["SCALE"] = scale
                time.sleep(0.0005)
            self.made["changes of the global"] += len(SCALES)

    def guarded(self, work: Callable[..., None], *args: Any) -> None:
        """`work`, whose failure is a finding."""
        try:
            work(*args)
        except BaseException:
            self.wrong.append(traceback.format_exc())


def renewed(function: Any) -> Any:
    """The function with a code object of its own."""
    code = function.__code__.replace(co_name=function.__name__ + "_again")
    made = type(function)(code, globals(), function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def soak(threads: int, calls: int, timeout: float) -> tuple[Run, dict[str, int]]:
    """Run `threads` threads of `calls` calls each; the run, and how the process's counters grew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Run(jobs())
    interval = sys.getswitchinterval()
    before = _C.counters()
    workers = [threading.Thread(target=run.guarded, args=(run.call, seed, calls)) for seed in range(threads)]
    others = [threading.Thread(target=run.guarded, args=(work,)) for work in (run.compile, run.collect, run.change)]
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        stack.callback(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)
        if timeout:
            faulthandler.dump_traceback_later(timeout, exit=True)
            stack.callback(faulthandler.cancel_dump_traceback_later)
        for thread in others + workers:
            thread.start()
        for thread in workers:
            thread.join()
        run.end.set()
        for thread in others:
            thread.join()
    after = _C.counters()
    return run, {name: after[name] - before[name] for name in PATHS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--calls", type=int, default=10_000, help="calls of each thread")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds after which it counts as a deadlock")


def main(options: argparse.Namespace) -> int:
    """Run and print what was done; 1 when a result was wrong."""
    faulthandler.enable()
    began = time.perf_counter()
    run, counters = soak(options.threads, options.calls, options.timeout)
    print(f"Python {sys.version.split()[0]}, {options.threads} threads of {options.calls} calls")
    print(f"{time.perf_counter() - began:.1f} s;", ", ".join(f"{name} {n}" for name, n in sorted(run.made.items())))
    print(", ".join(f"{name} {n}" for name, n in counters.items()))
    for text in run.wrong:
        print(text)
    idle = [name for name, n in counters.items() if n == 0]
    if idle:
        print("never happened:", ", ".join(idle))
    print(f"{len(run.wrong)} findings")
    return 1 if run.wrong or idle else 0

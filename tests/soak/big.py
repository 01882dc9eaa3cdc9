"""Every step, loop and kernel kind once over more than 2^31 elements, on a stack of 1 MB.

Each case runs in a process of its own, so that a crash is the case's alone, and prints the peak of its memory. Its
arrays are uint8, or repeat one row or one number by a stride of zero. Results are compared, by shape, strides, dtype
and checksums of their bytes, with plain Python's, or with what follows from one row where plain Python would make
arrays of 17 GB. At the end every class of step and every form of a kernel must have been met.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from dynamo_lite.backends import kernels as backend
from dynamo_lite.backends.numba import compile as compiler

import dynamo_lite
from dynamo_lite.schedule import steps

ROWS, COLUMNS = 2**16 + 1, 2**15
N = ROWS * COLUMNS  # just over 2^31
STACK_BYTES = 1 << 20
MEMORY_BYTES = 6 << 30  # that a case may take
CPU_SECONDS = 60  # that a case may take
STEPS = {step.__name__ for step in (*get_args(steps.Step), steps.Machine, steps.RowBlock)}
KERNELS = {"plan": "kernel", "plan_fold": "kernel that folds", "plan_iterations": "kernel that iterates"}


@dataclass(frozen=True, slots=True)
class Case:
    """fn(*arguments()). expected: what plain Python gives, where it would take minutes to say so. declines: the program
    must. cheap: few elements are touched, so that it is a test too."""

    fn: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    expected: Callable[[], Any] | None = None
    declines: bool = False
    cheap: bool = False


def row() -> Any:
    """Numbers of all sizes."""
    return np.random.default_rng(5).integers(0, 256, COLUMNS, dtype=np.uint8)


def packed() -> Any:
    """2^31 numbers and more, in memory."""
    made = np.empty((ROWS, COLUMNS), np.uint8)
    made[:] = row()
    return made


def repeated(dtype: str = "u1") -> Any:
    """The same rows again and again, in the memory of one."""
    return np.broadcast_to(row().astype(dtype), (ROWS, COLUMNS))


def alike(number: Any, dtype: str = "f8") -> Any:
    """The same number again and again."""
    return np.broadcast_to(np.array(number, dtype), (N,))


def ramp(n: int) -> Any:
    return np.arange(n) % 7.0


# ---- the cases ----


def elementwise(x: Any) -> Any:
    return (x ^ 3) + x


def with_broadcast(x: Any, column: Any) -> Any:
    return (x ^ column) & 127


def with_numpy_loop(x: Any) -> Any:
    return np.exp(x * 0.5) > 2.0


def total(x: Any) -> Any:
    return (x * x).sum(), (x > 7).sum(), (x + 1).max(), (x ^ 1).min(), (x > 255).any(), (x < 256).all()


def product(x: Any) -> Any:
    return (x * x).sum()


def by_rows(x: Any) -> Any:
    return (x ^ 5).sum(axis=1), (x ^ 5).max(axis=1)


def by_columns(x: Any) -> Any:
    return (x ^ 5).sum(axis=0), (x ^ 5).min(axis=0)


def last_axis(x: Any) -> Any:
    return (x ^ 5).sum(axis=1, dtype=np.uint8), (x > 5).any(axis=1)


def outer(a: Any, b: Any) -> Any:
    return (a[:, None] * b).max(), (a[:, None] - b).sum()


def short_rows(x: Any, y: Any) -> Any:
    return (x + y).sum(axis=0), (x * y).max(axis=0)


def short_runs(x: Any, y: Any) -> Any:
    return (x * y).max(axis=1).any(), (x ^ y).min(axis=1).all()


def stores_slices(x: Any) -> Any:
    half = x.shape[0] // 2
    x[1:-1] ^= 3
    x[half:-1] = x[half - 1 : -2] ^ x[half + 1 :]
    return x[-1]


def stores_and_divides(x: Any, y: Any) -> Any:
    x ^= 1
    return 1.0 / y


def masked(x: Any) -> Any:
    mask = x > 250
    few = x[mask] ^ 1
    x[mask] = few
    return few


def counts(x: Any) -> Any:
    return np.count_nonzero(x > 5), np.where(x > 3, x, 0).sum()


def views(x: Any) -> Any:
    return x[2**31 :], x[::-1][5:], x[-1], x[2**31 + 5], x[7 : 2**31 + 7 : 3][2**29 :]


def reshaped(x: Any) -> Any:
    return x.reshape(COLUMNS, ROWS).T, x.reshape(COLUMNS, ROWS)[7, 9]


def filled(n: int) -> Any:
    made = np.full(n, 3, np.uint8)
    made[n // 2 :] += 1
    return made


def gathered(x: Any, at: Any) -> Any:
    x[at[::2]] = 5
    return x[at] + 1


def read(x: Any, i: int) -> Any:
    return float(x[i]) + 1.0, int(x[-1]) + i


def required(x: Any, y: Any) -> Any:
    return (x[1:] == y[: len(x) - 1]).all()


def centred_rows(x: Any) -> Any:
    return x - x.min(axis=1, keepdims=True)


def loop_over_arrays(x: Any, n: int) -> Any:
    t = 0.0
    for i in range(n):
        t += np.argmax(x ^ i) + (x ^ i).sum()
    return t


def iterates(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 3
    return x


def branches(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        y = np.bitwise_xor(y, x) if y[i] > 100 else np.bitwise_or(y, 1)
    return y


def elements(x: Any, start: int, stop: int) -> Any:
    t = 0.0
    for i in range(start, stop):
        t += x[i] * 0.5
    return t


def stores_elements(x: Any, start: int) -> Any:
    for i in range(start, x.shape[0]):
        x[i] = x[i - 1] ^ 7
    return x[start:]


def leaves(x: Any, start: int, stop: int) -> Any:
    t = 0.0
    for i in range(start, stop):
        t += x[i]
        if i == 2**31 + 3:
            SEEN.append(t)
    return t


def appends(x: Any, start: int, stop: int) -> Any:
    found = []
    for i in range(start, stop):
        if x[i] > 100:
            found.append(i)
    return found


SEEN: list[Any] = []
LATE = (2**31 - 50_000, 2**31 + 20_000)

CASES: dict[str, Case] = {
    "elementwise": Case(elementwise, lambda: (packed(),)),
    "elementwise, repeated rows": Case(with_broadcast, lambda: (repeated(), np.arange(ROWS)[:, None].astype("u1"))),
    "NumPy's own loop": Case(with_numpy_loop, lambda: (alike(2.5, "f4"),), lambda: np.ones(N, bool)),
    "total": Case(total, lambda: (repeated(),), lambda: (*(n * ROWS for n in total(row())[:2]), *total(row())[2:])),
    "total, int32": Case(product, lambda: (repeated("i4"),), lambda: (row().astype("i8") ** 2).sum() * ROWS),
    "total, float64": Case(product, lambda: (alike(0.7),), lambda: alike(np.float64(0.7) ** 2).sum()),
    "total, float32": Case(product, lambda: (alike(0.7, "f4"),), lambda: alike(np.float32(0.7) ** 2, "f4").sum()),
    "total, complex64": Case(product, lambda: (alike(1 + 2j, "c8"),), lambda: alike(-3 + 4j, "c8").sum()),
    "each row": Case(by_rows, lambda: (repeated(),), lambda: tuple(np.repeat(n, ROWS) for n in by_rows(row()[None]))),
    "each column": Case(
        by_columns, lambda: (repeated(),), lambda: ((row() ^ 5).astype("u8") * np.uint64(ROWS), row() ^ 5)
    ),
    "last axis": Case(
        last_axis,
        lambda: (np.broadcast_to(np.uint8(7), (3, N // 3)),),
        lambda: (np.full(3, 2 * (N // 3) % 256, np.uint8), np.ones(3, bool)),
    ),
    "outer product": Case(outer, lambda: (ramp(46_350),) * 2, lambda: (np.float64(36.0), np.float64(0.0))),
    "rows of three": Case(
        short_rows,
        lambda: (np.broadcast_to(np.array([1.0, 7.0, 3.0]), (N // 3, 3)), np.ones(3)),
        lambda: (np.array([2.0, 8.0, 4.0]) * (N // 3), np.array([1.0, 7.0, 3.0])),
    ),
    "runs of three": Case(
        short_runs,
        lambda: (np.broadcast_to(np.array([1, 7, 3], "u1"), (N // 3, 3)), np.ones(3, "u1")),
        lambda: (np.True_, np.False_),
    ),
    "store into slices": Case(stores_slices, lambda: (packed().reshape(-1),)),
    "store, then decline": Case(stores_and_divides, lambda: (packed(), np.zeros(2)), declines=True),
    "mask": Case(masked, lambda: (packed(),)),
    "counts": Case(counts, lambda: (repeated(),), lambda: tuple(n * ROWS for n in counts(row()))),
    "views": Case(views, lambda: (alike(2.0),), cheap=True),
    "reshape": Case(reshaped, lambda: (alike(2.0),), cheap=True),
    "fill": Case(filled, lambda: (N,)),
    "indices": Case(gathered, lambda: (packed().reshape(-1), np.array([2**31 + 5, -1, 7, 2**31 + 1]))),
    "read": Case(read, lambda: (alike(2.0), 2**31 + 5), cheap=True),
    "compare halves": Case(required, lambda: (alike(2, "u1"), alike(2, "u1")), lambda: np.True_),
    "rows in blocks": Case(centred_rows, lambda: (packed(),)),
    "loop over arrays": Case(loop_over_arrays, lambda: (repeated(), 2)),
    "kernel that iterates": Case(iterates, lambda: (repeated(), 8), lambda: packed() * np.uint8(3**8 % 256)),
    "branches": Case(branches, lambda: (alike(200, "u1"), 2)),
    "loop over late elements": Case(elements, lambda: (alike(2.0), *LATE), cheap=True),
    "2^31 iterations": Case(elements, lambda: (alike(2.0), 0, N), lambda: np.float64(N)),
    "store late elements": Case(stores_elements, lambda: (packed().reshape(-1), LATE[0])),
    "loop that pauses": Case(leaves, lambda: (alike(2.0), *LATE), cheap=True),
    "append": Case(appends, lambda: (alike(200.0), *LATE), cheap=True),
}


# ---- one case ----


def digest(value: Any) -> Any:
    """A value as something small that tells any difference."""
    if isinstance(value, tuple | list):
        return [
            type(value).__name__,
            len(value),
            zlib.crc32(repr(value).encode()) if len(value) > 9 else [*map(digest, value)],
        ]
    if isinstance(value, np.ndarray):
        once = value[tuple(slice(1) if stride == 0 else slice(None) for stride in value.strides)]
        return [value.dtype.str, list(value.shape), list(value.strides), *checksums(once)]
    return [type(value).__name__, repr(value)]


def checksums(array: Any) -> list[int]:
    """Of all bytes in any order, and of the bytes at the ends and around the last 2^31 in theirs."""
    flat = np.frombuffer(array.data if array.flags.c_contiguous else array.tobytes(), np.uint8)
    words = flat[: len(flat) // 8 * 8].view(np.uint64)
    parts = (flat[: 1 << 20], flat[-1 << 20 :], flat[(1 << 31) - (1 << 20) :][: 1 << 21])
    return [int(words.sum()), int(np.bitwise_xor.reduce(words)), *map(zlib.crc32, parts)]


def outcome(fn: Callable[..., Any], arguments: tuple[Any, ...], errors: Any) -> Any:
    """What a call gives under that errstate, and what it leaves in its arguments."""
    SEEN.clear()
    with np.errstate(all=errors):
        try:
            result = digest(fn(*arguments))
        except FloatingPointError as error:
            result = [str(error)]
    return [result, [digest(argument) for argument in arguments], list(SEEN)]


def recorded(kinds: set[str]) -> None:
    """Add to `kinds` each class of step and form of kernel that is made from now on."""

    def visit(schedule: steps.Schedule) -> None:
        kinds.update(["RowBlock"] * bool(schedule.blocks))
        for step in schedule.steps:
            kinds.add(type(step).__name__)
            kinds.update(["Machine"] * (isinstance(step, steps.Loop) and step.machine is not None))
            for body in steps.bodies(step):
                visit(body)

    program = backend.schedule

    def schedule(*args: Any) -> steps.Schedule:
        made: steps.Schedule = program(*args)
        visit(made)
        return made

    backend.schedule = schedule  # type: ignore[attr-defined]
    for name, kind in KERNELS.items():
        setattr(compiler, name, watched(getattr(compiler, name), kind, kinds))
    compiler.machine.generate = watched(compiler.machine.generate, "machine loop", kinds)


def watched(function: Callable[..., Any], kind: str, kinds: set[str]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        kinds.add(kind)
        return function(*args)

    return call


def run_case(name: str) -> dict[str, Any]:
    """Plain and compiled, one after the other."""
    case = CASES[name]
    kinds: set[str] = set()
    recorded(kinds)
    began, errors = time.process_time(), "raise" if case.declines else "ignore"
    expected = digest(case.expected()) if case.expected else outcome(case.fn, case.arguments(), errors)
    plain = time.process_time() - began
    fast: Any = dynamo_lite.compile(case.fn, options={"cost_model": False})
    began = time.process_time()
    got = digest(fast(*case.arguments())) if case.expected else outcome(fast, case.arguments(), errors)
    seconds = time.process_time() - began
    stats = fast.stats()
    wrong = "" if got == expected else f"got {got}, expected {expected}"
    if (stats["declines"] > 0) != case.declines or (stats["native_calls"] == 0) != case.declines:
        wrong += f" {stats}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"wrong": wrong, "kinds": sorted(kinds), "peak": peak, "plain": plain, "seconds": seconds}


# ---- all of them ----


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))


def in_process(name: str) -> dict[str, Any]:
    """run_case in a process with a small stack."""
    command = [sys.executable, "-m", "tests.soak", "big", "--case", name]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit)
    if process.returncode == 0:
        report: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
        return report
    died = signal.Signals(-process.returncode).name if process.returncode < 0 else process.returncode
    return {"wrong": f"{died}: {process.stdout[-2000:]}"}


def selected(only: str) -> Iterator[str]:
    return (name for name in CASES if only in name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--case", default="", help="run one case in this process and print its report")


def main(options: argparse.Namespace) -> int:
    """Run the cases and print the table; 1 when one is wrong, or a kind of step or kernel was not met."""
    if options.case:
        print(json.dumps(run_case(options.case)))
        return 0
    began, failed, peak = time.monotonic(), 0, 0
    kinds: set[str] = set()
    print(f"{N} elements, a stack of {STACK_BYTES >> 20} MB\n{'case':28} {'plain s':>8} {'fast s':>8} {'peak MB':>8}")
    for name in selected(options.only):
        report = in_process(name)
        kinds.update(report.get("kinds", ()))
        high = report.get("peak", 0)
        peak = max(peak, high)
        wrong = report["wrong"] or (f"more than {MEMORY_BYTES >> 20} MB" if high > MEMORY_BYTES else "")
        failed += bool(wrong)
        times = f"{report.get('plain', 0):8.2f} {report.get('seconds', 0):8.2f}"
        print(f"{name:28} {times} {high >> 20:8} {wrong}", flush=True)
    missing = (STEPS | set(KERNELS.values()) | {"machine loop"}) - kinds if not options.only else set()
    if missing:
        print("not met:", *sorted(missing))
    print(f"{failed} cases failed, peak memory {peak >> 20} MB, {time.monotonic() - began:.0f} s")
    return int(bool(failed or missing))

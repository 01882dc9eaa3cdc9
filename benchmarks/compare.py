"""One program against plain NumPy and the installed peers: times as ratios, and whether the bits are the same.

Leaves a Row that the tables print and the JSON keeps. A peer that cannot run the program is named with its reason.
A peer is compared by bits of values, dtype and shape; the compiled function by all that tests/oracle.py compares. Where
a peer's bits are others, it is told whether its values are close.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynamo_lite
from benchmarks.measure import CLOCKS, MINIMUM_ROUNDS, Contender, Timing, measure
from benchmarks.peers import PEERS, Case, NoForm, Peer
from dynamo_lite import _C
from tests.copies import Array, clone
from tests.oracle import Conditions, compare, observe

PLAIN, AGAIN, COMPILED = "numpy", "numpy again", "dynamo_lite"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a loop ("native", "unrolled", "segments"), or a graph break or plain frame (its id), and why."""

    place: str
    outcome: str
    message: str

    def __str__(self) -> str:
        return f"{self.place} {self.outcome}{': ' if self.message else ''}{self.message}"


@dataclass(frozen=True, slots=True)
class Row:
    """What one program gave. absent: peers that did not run, and why.

    equal: bits like NumPy's, by contender. near: values close to NumPy's (see _near), by contender.
    first_call: seconds of the compiled function's first call, compiling included. calls: compiled.stats().
    """

    program: str
    timings: tuple[Timing, ...]
    equal: dict[str, bool]
    near: dict[str, bool]
    absent: dict[str, str]
    graphs: int
    breaks: int
    natively: bool
    compile_seconds: float
    differences: tuple[str, ...] = ()
    first_call: float = 0.0
    loops: tuple[Fate, ...] = ()
    reasons: tuple[Fate, ...] = ()
    calls: tuple[tuple[str, float], ...] = ()
    threads: int = 1

    def seconds(self, name: str) -> float:
        """The median time of one call."""
        return next(timing.median for timing in self.timings if timing.name == name)

    def mark(self, name: str) -> str:
        """A blank for NumPy's bits, * for other bits, ! for values that are not even near NumPy's."""
        return " " if self.equal[name] else "*" if self.near[name] else "!"

    def ratio(self, name: str) -> float:
        """How many times as fast as plain NumPy: the ratio of the medians, NumPy's over both of its runs."""
        both = [timing.seconds for timing in self.timings if timing.name in (PLAIN, AGAIN)]
        return statistics.median(itertools.chain(*both)) / self.seconds(name)

    @property
    def noise_floor(self) -> float:
        """Plain NumPy against itself: no difference smaller than its distance from 1 means anything."""
        return self.seconds(PLAIN) / self.seconds(AGAIN)


def run(
    program: Case,
    seconds: float,
    peers: tuple[Peer, ...] = PEERS,
    backend: str = "numba",
    rounds: int = MINIMUM_ROUNDS,
    clock: str = "wall",
) -> Row:
    """Time `program` for about `seconds`, but at least for so many rounds; clock: of measure.CLOCKS."""
    args = program.make_args()
    compiled: Any = dynamo_lite.compile(program.fn, backend=backend)
    times: list[float] = []
    shared = _C.threads_stats()["shared_runs"]

    def timed(*given: Any) -> Any:
        start = CLOCKS[clock]()
        try:
            return compiled(*given)
        finally:
            times.append(CLOCKS[clock]() - start)

    differences = _differences(program.fn, timed, args)
    contenders = [Contender(PLAIN, program.fn), Contender(COMPILED, compiled)]
    equal, near = {COMPILED: not differences}, {COMPILED: not differences}
    absent: dict[str, str] = {}
    for peer in peers:
        if not peer.installed:
            absent[peer.name] = "not installed"
            continue
        try:
            contender = peer.contend(program)
            equal[peer.name], near[peer.name] = agreement(program.fn, contender, args)
            contenders.append(contender)
        except NoForm as reason:
            absent[peer.name] = str(reason)
        except Exception as error:  # whatever a peer raises means that it does not run this program
            absent[peer.name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
    contenders.append(Contender(AGAIN, program.fn))
    timings = measure(contenders, args, seconds, rounds, CLOCKS[clock])
    explanation, stats, now = compiled.explain(), compiled.stats(), _C.threads_stats()
    return Row(
        program.name,
        tuple(timings),
        equal,
        near,
        absent,
        len(explanation.graphs),
        len(explanation.breaks),
        bool(stats["native_calls"]),
        stats["compile_seconds"],
        tuple(differences),
        times[0],
        tuple(Fate(_place(one), one.outcome, one.message) for one in explanation.loops),
        tuple(Fate(_place(one), one.id, one.message) for one in (*explanation.breaks, *explanation.skips)),
        tuple(stats.items()),
        now["most_used"] if now["shared_runs"] > shared else 1,
    )


def _place(record: Any) -> str:
    return f"{Path(record.filename).name}:{record.line}"


def _differences(plain: Callable[..., Any], compiled: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What differs between plain Python and the compiled function, over three calls on equal arguments."""
    found: list[str] = []
    for _ in range(3):
        expected, seen = (observe(fn, clone(args), Conditions()) for fn in (plain, compiled))
        found.extend(map(str, compare(expected, seen)))
    return found


def agreement(plain: Callable[..., Any], contender: Contender, args: tuple[Any, ...]) -> tuple[bool, bool]:
    """Whether a peer's results and its writes into the arguments have NumPy's bits, and whether they are near them."""
    mine, theirs = clone(args), contender.prepare(clone(args))
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(*mine), mine
        found = contender.outcome(contender.call(*theirs), theirs)
    return _bits(expected) == _bits(found), _near(expected, found)


def _near(expected: Any, found: Any) -> bool:
    """Whether all floats of two trees are the same but for rounding, and all else is equal.

    Rounding: 1e-9 of an array's largest value, or 1000 times the precision of its dtype if that is more.
    """
    if isinstance(expected, tuple | list):
        same = isinstance(found, tuple | list) and len(expected) == len(found)
        return same and all(map(_near, expected, found))
    if isinstance(expected, dict):
        same = isinstance(found, dict) and expected.keys() == found.keys()
        return same and all(_near(expected[key], found[key]) for key in expected)
    if not _is_number(expected):
        return type(expected) is type(found)
    return _is_number(found) and _near_arrays(np.asarray(expected), np.asarray(found))


def _near_arrays(expected: Array, found: Array) -> bool:
    if expected.dtype.kind not in "fc":
        return np.array_equal(expected, found)
    size = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
    tolerance = max(1e-9, 1000 * np.finfo(expected.dtype).eps) * size
    return expected.shape == found.shape and np.allclose(found, expected, rtol=0.0, atol=tolerance, equal_nan=True)


def _is_number(value: Any) -> bool:
    return hasattr(value, "__array__") or isinstance(value, bool | int | float | complex)


def _bits(value: Any) -> Any:
    """Nested bytes of all arrays and numbers in `value`; other objects by type alone."""
    if isinstance(value, tuple | list):
        return [_bits(item) for item in value]
    if isinstance(value, dict):
        return {key: _bits(item) for key, item in value.items()}
    if _is_number(value):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes()
    return type(value).__name__

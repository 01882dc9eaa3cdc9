"""Times several ways to run one program side by side, so that what disturbs one disturbs all.

Enters: contenders (ways to call the program) and its arguments. Leaves: for each contender the seconds of every round.
Every call gets fresh copies of the arguments, made outside the timer; the order rotates from round to round; the
first contender is plain NumPy and runs once more as the last, so that the ratio of the two says how small a
difference this machine can show at all (the noise floor).
"""

from __future__ import annotations

import contextlib
import gc
import io
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.copies import clone

Clock = Callable[[], float]
# cpu: of all threads of this process, which leaves out what other processes take. JAX computes in threads of its own,
# so that the calling thread's time would leave out nearly all that it does.
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}

MINIMUM_ROUNDS = 5
SAMPLE_SECONDS = 0.002
MOST_CALLS = 500
MOST_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to run the program. prepare: turns a copy of the arguments into what `call` takes, outside the timer.

    outcome: from what `call` returned and took to the program's result and its arguments after the call.
    """

    name: str
    call: Callable[..., Any]
    prepare: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda args: args
    outcome: Callable[[Any, tuple[Any, ...]], tuple[Any, tuple[Any, ...]]] = lambda result, args: (result, args)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one call, by round."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(
    contenders: list[Contender],
    args: tuple[Any, ...],
    seconds: float,
    least: int = MINIMUM_ROUNDS,
    clock: Clock = time.perf_counter,
) -> list[Timing]:
    """Rounds of one sample of each contender for about `seconds` in all, but at least so many rounds."""
    with contextlib.redirect_stdout(io.StringIO()):
        longest = max(_warm(contender, args, clock) for contender in contenders)
        calls = _calls_in_sample(longest, args)
        samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < least or time.perf_counter() < end:
            start = rounds % len(contenders)
            for contender in contenders[start:] + contenders[:start]:
                samples[contender.name].append(sample(contender, args, calls, clock))
            rounds += 1
    return [Timing(name, tuple(values)) for name, values in samples.items()]


def sample(contender: Contender, args: tuple[Any, ...], calls: int, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call, over `calls` calls on fresh copies."""
    sets = [contender.prepare(clone(args)) for _ in range(calls)]
    call = contender.call
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        for each in sets:
            call(*each)
        return (clock() - start) / calls
    finally:
        if collecting:
            gc.enable()


def _warm(contender: Contender, args: tuple[Any, ...], clock: Clock) -> float:
    """Compile, and see how long a call takes."""
    for _ in range(3):
        took = sample(contender, args, 1, clock)
    return took


def _calls_in_sample(longest: float, args: tuple[Any, ...]) -> int:
    size = sum(getattr(arg, "nbytes", 0) for arg in args) + 1
    return int(max(1, min(SAMPLE_SECONDS / longest, MOST_CALLS, MOST_BYTES / size)))

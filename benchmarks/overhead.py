"""``python -m benchmarks.overhead``: what one call costs on a 2x3 array, as a multiple of NumPy's ``x + 1.0``."""

from __future__ import annotations

import statistics
import sys
import timeit

import numpy as np

import dynamo_lite
from benchmarks.programs import affine
from benchmarks.table import columns

CALLS = 20_000
ROUNDS = 21


def main() -> int:
    """Print nanoseconds and multiples; always 0."""
    x = np.arange(6.0).reshape(2, 3)
    fast = dynamo_lite.compile(affine)
    fast(x)
    ways = {
        "x + 1.0": ("x + 1.0", {"x": x}),
        "plain x * 2.0 + 1.0": ("f(x)", {"f": affine, "x": x}),
        "compiled x * 2.0 + 1.0": ("f(x)", {"f": fast, "x": x}),
        "x + 1.0 again": ("x + 1.0", {"x": x}),
    }
    timers = {name: timeit.Timer(text, globals=names) for name, (text, names) in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(ROUNDS):
        order = list(timers)
        start = number % len(order)
        for name in order[start:] + order[:start]:
            seconds[name].append(timers[name].timeit(CALLS) / CALLS)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    unit = medians["x + 1.0"]
    rows = [(name, f"{median * 1e9:.0f}", f"{median / unit:.2f}") for name, median in medians.items()]
    print(columns(("2x3 float64", "ns", "multiple of x + 1.0"), rows))
    print("native calls:", fast.stats()["native_calls"])  # type: ignore[attr-defined]
    return 0


if __name__ == "__main__":
    sys.exit(main())

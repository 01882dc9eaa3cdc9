"""``python -m benchmarks.overhead``: what one call costs on a 2x3 array, as a multiple of NumPy's ``x + 1.0``.

Besides: what each further array costs that goes in, and what a function of single elements does.
"""

from __future__ import annotations

import statistics
import sys
import timeit
from typing import Any

import numpy as np

import dynamo_lite
from benchmarks.programs import affine
from benchmarks.table import columns

CALLS = 20_000
ROUNDS = 21


def five_arrays(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return a * b + c * d + e


def elements(y: Any, a: float, b: float, c: float, d: float, e: float, f: float, g: float) -> Any:
    u, v, w = y[0], y[1], y[2]
    p = a * u + b * v
    q = c * v - d * w
    r = e * w + f * u - g
    s = p * q + r
    out = np.empty((3,))
    out[0] = p - u * s
    out[1] = q + v * r
    out[2] = r * w - s
    return out


def main() -> int:
    """Print nanoseconds and multiples; always 0."""
    x = np.arange(6.0).reshape(2, 3)
    fast = dynamo_lite.compile(affine)
    fast(x)
    more = {"x": x, "y": x[0], "f": five_arrays, "g": elements}
    more |= {"fast_f": dynamo_lite.compile(five_arrays), "fast_g": dynamo_lite.compile(elements)}
    of_five, of_elements = "(x, x, x, x, x)", "(y, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5)"
    for text in (f"fast_f{of_five}", f"fast_g{of_elements}"):
        eval(text, more)
    ways = {
        "x + 1.0": ("x + 1.0", {"x": x}),
        "plain x * 2.0 + 1.0": ("f(x)", {"f": affine, "x": x}),
        "compiled x * 2.0 + 1.0": ("f(x)", {"f": fast, "x": x}),
        "plain, five arrays": (f"f{of_five}", more),
        "compiled, five arrays": (f"fast_f{of_five}", more),
        "plain, single elements": (f"g{of_elements}", more),
        "compiled, single elements": (f"fast_g{of_elements}", more),
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

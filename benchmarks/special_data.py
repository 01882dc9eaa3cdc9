"""``python -m benchmarks.special_data``: what it costs that data are missing, infinite or zero.

Each function gets ordinary numbers, then the same with one NaN, with a tenth of them missing, with infinities whose
difference arises, and with zeros. Ratios of processor time, plain over compiled, least of several calls after those in
which the program learns; NumPy's own time against itself is the noise floor. Bits are compared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dynamo_lite
from benchmarks.table import columns
from tests.compare import Walk

SIZES = (32, 316)  # of rows and columns
LEARNING, ROUNDS, SECONDS = 12, 9, 0.02


def polynomial(x: Any, y: Any) -> Any:
    a = x * y + 3.0 * x - y
    b = a * a + x * 0.5 + y * y * 0.25
    c = (a + b) * (a - b) + x * y * a - b * 0.1
    return np.sqrt(c * c + a * a + 1.0) + (a * b - c * x) * y


def wind(x: Any, y: Any) -> Any:
    speed = np.hypot(x, y)
    return speed * (x - y) / (1.0 + speed), (x * 90.0) % 360.0


def chosen(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), 0.0, x * y + x - y)


def quotient(x: Any, y: Any) -> Any:
    return np.where(y > 0.0, x / y * 2.0 + x, 0.0)


def column_means(x: Any, y: Any) -> Any:
    return np.mean(x * y + x, axis=0)


def row_sums(x: Any, y: Any) -> Any:
    return np.sum(x * y + x, axis=1)


def standardised(x: Any, y: Any) -> Any:
    return (x - x.mean()) / x.std() + y


def scaled(x: Any, y: Any) -> Any:
    least = x.min()
    return (x - least) / (x.max() - least + 1.0) * y


def least_of_rows(x: Any, y: Any) -> Any:
    return np.min(x * y, axis=1)


def running_sum(x: Any, y: Any) -> Any:
    return np.cumsum(x, axis=1) * y


FUNCTIONS = (
    *(polynomial, wind, chosen, quotient, column_means, row_sums, standardised, scaled, least_of_rows, running_sum),
)


def ordinary(x: Any, rng: np.random.Generator) -> None:
    """As it is."""


def one_missing(x: Any, rng: np.random.Generator) -> None:
    x[x.shape[0] // 3, x.shape[1] // 2] = np.nan


def missing(x: Any, rng: np.random.Generator) -> None:
    x[rng.random(x.shape) < 0.1] = np.nan


def infinite(x: Any, rng: np.random.Generator) -> None:
    x[rng.random(x.shape) < 0.05] = np.inf
    x[rng.random(x.shape) < 0.05] = -np.inf


def zeros(x: Any, rng: np.random.Generator) -> None:
    np.abs(x, out=x)
    x[rng.random(x.shape) < 0.1] = 0.0


KINDS = (ordinary, one_missing, missing, infinite, zeros)


def arrays(kind: Callable[..., None], n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, n, n))
    kind(x, rng)
    kind(y, rng)
    return x, y


def seconds(call: Callable[[], Any]) -> float:
    """The least processor time of a call."""
    began = time.process_time()
    call()
    count = max(1, round(SECONDS / max(time.process_time() - began, 1e-6)))
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(count):
            call()
        found.append((time.process_time() - began) / count)
    return min(found)


def main() -> int:
    differ: list[str] = []
    floor: list[float] = []
    for n in SIZES:
        rows = []
        for function in FUNCTIONS:
            row = [function.__name__]
            for kind in KINDS:
                x, y = arrays(kind, n)
                fast = dynamo_lite.compile(function, options={"num_threads": 1})
                with np.errstate(all="ignore"):
                    for _ in range(LEARNING):
                        walk = Walk()
                        walk.pair("result", function(x, y), fast(x, y))
                        differ += [f"{function.__name__}, {kind.__name__}"] if walk.differences else []
                    plain, compiled, again = (seconds(partial(one, x, y)) for one in (function, fast, function))
                    floor.append(again / plain)
                row.append(f"{plain / compiled:.2f}")
            rows.append(row)
        titles = ("function", *(kind.__name__ for kind in KINDS))
        print(f"{n} x {n}, plain over compiled:\n{columns(titles, rows)}", flush=True)
    print(f"noise floor {min(floor):.2f}-{max(floor):.2f}; bits differ: {', '.join(dict.fromkeys(differ)) or 'none'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

"""math.floor and its like, np.isclose, and parts of NumPy scalars, of numbers that only the run knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import table

OPTIONS = {"cost_model": False, "recompile_limit": 100}
PROGRAMS, program = table()  # True: nothing breaks its graph


@program(True)
def roundings(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(x)):
        out.append(math.floor(x[i]))
        out.append(math.ceil(x[i]))
        v = float(x[i]) * 0.5
        out.append(math.floor(v) + math.ceil(v))
    return out


@program(True)
def steps(x):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(1, len(x)):
        n = math.floor((len(x) - 1) / k)
        for j in range(1, n):
            s += abs(x[j] - x[j - 1])
    return s


@program(True)
def kinds_of_floats(x):  # type: ignore[no-untyped-def]
    count = 0
    for i in range(len(x)):
        if math.isnan(x[i]):
            count += 1
        elif math.isinf(float(x[i])):
            count += 10
        elif math.isfinite(x[i]) and x[i] > 0:
            count += 100
    return count


@program(True)
def powers(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(x)):
        out.append(math.pow(x[i], 0.5))
        out.append(math.pow(float(x[i]), i))
        out.append(math.pow(2, x[i]))
    return out


@program(True)
def parts_of_scalars(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(x)):
        v = x[i]
        out.append(v.real)
        out.append(v.conj())
        out.append(v.conjugate() * 2)
    return out, x[0].real is x[0]


@program(True)
def near(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(x) - 2):
        out.append(bool(np.allclose(x[i : i + 2], x[i + 1 : i + 3], rtol=1e-3 * len(x), atol=len(x) * 1e-9)))
        out.append(bool(np.all(np.isclose(x[i : i + 2], 1.5, atol=0.1 * len(x)))))
    return out


VALUES = {
    "ordinary": np.linspace(0.1, 3.0, 40),
    "both signs": np.linspace(-3.0, 3.0, 40),
    "halves": np.array([0.5, 1.5, -0.5, -0.0, 0.0, 2.0, -2.0, 3.7]),
    "big": np.array([1e15 + 0.5, -1e15 - 0.5, 2.0**62, -(2.0**62), 1e300]),
    "small": np.array([5e-324, -5e-324, 1.0, 1e-310]),
    "nan": np.array([1.5, np.nan, 2.5]),
    "infinite": np.array([1.0, np.inf, -np.inf]),
    "zeros": np.array([0.0, -1.0, 5.0]),
    "one": np.array([2.5]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
def test_is_plain_python(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        arrays = [values.astype(dtype) for values in VALUES.values()]
    first, *rest = [lambda x=x: (x.copy(),) for x in arrays]  # type: ignore[misc]
    require_equal(
        PROGRAMS[name][0], first, variants=rest, compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_one_graph(name: str) -> None:
    fast = dynamo_lite.compile(PROGRAMS[name][0], options={"cost_model": False})
    for _ in range(3):
        fast(VALUES["ordinary"])
    assert not fast.stats()["breaks"]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_margins_of_the_call(dtype: str) -> None:
    """Of margins that are not finite NumPy warns; float32 may not hold one."""

    def close(x: Any, margin: float) -> Any:
        return (
            np.isclose(x, x[::-1], rtol=margin),
            np.isclose(x, 2.0, atol=margin * 3),
            np.allclose(x, x + 1e-3, rtol=margin, atol=margin),
            np.isclose(x[0], x[-1], margin),
        )

    margins = (0.1, 0.0, 1e-9, -1.0, 1e300, math.inf, math.nan)
    with np.errstate(all="ignore"):
        arrays = [values.astype(dtype) for values in VALUES.values()]
    calls = [lambda x=x, margin=margin: (x.copy(), margin) for x in arrays for margin in margins]  # type: ignore[misc]
    require_equal(
        close, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )

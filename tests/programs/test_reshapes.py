"""Reshapes of one axis, which never copy: what is stored through them, in every layout, is in the array itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"check": 1, "cost_model": False}}


def table(x: Any) -> Any:
    m = x.reshape(-1, 4)
    m[:, 0] = 0
    m += 1
    return x, m


def halves(x: Any) -> Any:
    m = x[::2].reshape(2, -1)
    m[1] = m[0] * 2
    return m.sum(axis=1), x


def column(x: Any) -> Any:
    y = x.reshape(x.shape[0], 1)
    y[2:] = y[:-2] * 2
    return y, x


def twice(x: Any) -> Any:
    y = x.reshape(4, -1)
    y[1:] = y[:-1] + x.reshape(4, -1)[1:]
    x[:2] = y[2, :2]
    return y, x


def moved(x: Any) -> Any:
    pos = np.linspace(0, 1, x.shape[0]).reshape(-1, 4)
    for _ in range(10):
        pos += 0.5 * pos
    return pos * x.reshape(-1, 4)


def deeper(x: Any) -> Any:
    cube = x.reshape(2, -1, 2)
    cube[:, :, 1] *= 3
    cube.reshape(-1)[0] = 7  # of three axes: may be a copy, and is not written in the graph
    return cube, x


def base(size: int) -> Any:
    return np.random.default_rng(size).normal(size=size)


ARRAYS = {
    "packed": base(48),
    "spread": base(96)[::2],
    "backwards": base(48)[::-1],
    "far backwards": base(192)[::-4],
    "column of a matrix": base(96).reshape(48, 2)[:, 1],
    "empty": base(0),
    "repeated": np.broadcast_to(base(1), (48,)),
}


@pytest.mark.parametrize("function", [table, halves, column, twice, moved, deeper])
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_stores_through_reshapes(compiler: Callable[..., Any], backend: str, function: Any, array: Any) -> None:
    require_equal(function, copies_of(array), compile=compiler, compile_options={"backend": backend, **OPTIONS})


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("function", [table, halves, column, twice, moved])
def test_they_run_natively(compiler: Callable[..., Any], function: Any) -> None:
    make = copies_of(base(48))
    report = require_equal(function, make, compile=compiler, compile_options=OPTIONS, variants=[copies_of(base(80))])
    explanation = report.compiled.explain()
    assert report.stats["native_calls"] == report.calls and not explanation.breaks
    assert len(explanation.graphs) == 1


def rows_times(a: Any, b: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = (a[:, i].reshape(1, -1) @ b)[0]
    return out


def columns_times(a: Any, b: Any, out: Any) -> Any:
    for i in range(len(out)):
        x = a[:, i].reshape(-1, 1)
        out[i] = (x.T @ b)[0] + (a[:, i][::-1].reshape(1, -1) @ b)[0]
    return out


def dots(a: Any, b: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = np.dot(a[:, i].reshape(-1), b) + a[:, i].ravel() @ b - a[:, i].ravel(order="K") @ b
    return out


def blocks_times(a: Any, b: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = (a[:, ::2][i : i + 20, 1].reshape(2, -1) @ b[:10])[0]
    return out


def parts_summed(a: Any, b: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = a.T[i : i + 2].reshape(2, -1).sum(axis=-1)[0] + a[:, ::2].reshape(-1) @ np.tile(b[:, 0], 2)
    return out


@pytest.mark.parametrize("n", [48, 300])
@pytest.mark.parametrize("function", [rows_times, columns_times, dots, blocks_times, parts_summed])
def test_elements_that_lie_apart_are_multiplied_so(
    compiler: Callable[..., Any], backend: str, function: Any, n: int
) -> None:
    """NumPy reshapes a column by a view, and BLAS adds up what lies apart in another order than what lies packed."""
    rng = np.random.default_rng(n)
    arrays = rng.random((n, 4)), rng.random((n, 2)), np.zeros((3, 2))
    require_equal(function, copies_of(*arrays), compile=compiler, compile_options={"backend": backend, **OPTIONS})


LISTED = [
    lambda x: x[[0, 2]] * 2,
    lambda x: x[:, [0, -1]] + 1,
    lambda x: x[[0, 1], [2, 3]],
    lambda x: x[[True, False, True, False]],
    lambda x: x[[]],
    lambda x: x[[0, 9]],
    lambda x: x[[2**70]],
    lambda x: [x[[i, 0]].sum() for i in range(3)],
    lambda x: x[1][[1, 1, 2]] * x[0][:3] + divmod(len(x), 3)[1],
]


@pytest.mark.parametrize("function", LISTED)
def test_lists_as_indices(compiler: Callable[..., Any], function: Any) -> None:
    require_equal(function, copies_of(base(24).reshape(4, 6)), compile=compiler, compile_options=OPTIONS)

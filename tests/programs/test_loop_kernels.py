"""Known kernels whose time loops stay loops (see loop_cases.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.programs.loop_cases import BACKENDS, check, registry, rng, two, two_matrices

CASES, case = registry()


# -- known kernels ---------------------------------------------------------------------------------


@case(two)
def jacobi_1d(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@case(two_matrices)
def jacobi_2d(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def cube(count: int, size: int) -> tuple[Any, ...]:
    return count, rng(size).random((size,) * 3), rng(1).random((size,) * 3)


@case(cube, counts=(3, 0, 1, 2, 8))
def heat_3d(n, a, b):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, 0:-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1] * 0.5


@case(
    lambda count, size: (count, *(rng(k).random((size, size + 1)) for k in range(3)), rng(4).random(64)),
    counts=(3, 0, 1, 2, 20),
)
def fdtd_2d(n, ex, ey, hz, fict):  # type: ignore[no-untyped-def]
    for t in range(n):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@case(lambda count, size: (rng(size).integers(1, 100, (size, size)),))
def floyd_warshall(path):  # type: ignore[no-untyped-def]
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return path


def laplacian(z: Any) -> Any:
    return z[:-2, 1:-1] + z[1:-1, :-2] - 4.0 * z[1:-1, 1:-1] + z[1:-1, 2:] + z[2:, 1:-1]


@case(two_matrices)
def gray_scott(u, v, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        lu, lv = laplacian(u), laplacian(v)
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        uvv = a * b * b
        a += 0.1 * lu - uvv + 0.035 * (1.0 - a)
        b += 0.05 * lv + uvv - 0.1 * b
    return u, v


@case(lambda count, size: (rng(size).integers(0, 2, (size, size + 2)), count))
def game_of_life(z, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        around = (
            z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        )
        birth = (around == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((around == 2) | (around == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return z


@case(lambda count, size: (rng(size).random((size, size)), rng(1).random(size), count))
def power_iteration(a, v, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        v = a @ v
        v /= np.sqrt(v @ v)
    return v, v @ (a @ v)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def cell(x: Any, state: Any, w: Any, u: Any, b: Any) -> Any:
    h, c = state
    z = x @ w + h @ u + b
    size = h.shape[0]
    i, f, o, g = z[:size], z[size : 2 * size], z[2 * size : 3 * size], z[3 * size :]
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def recurrent(count: int, size: int) -> tuple[Any, ...]:
    r = rng(size)
    return (
        r.random((count, 3)), r.random(size), r.random(size), r.random((3, 4 * size)), r.random((size, 4 * size)),
        r.random(4 * size),
    )  # fmt: skip


@case(recurrent, counts=(3, 2, 5, 0, 20))
def lstm(xs, h, c, w, u, b):  # type: ignore[no-untyped-def]
    state = (h, c)
    for t in range(xs.shape[0]):
        state = cell(xs[t], state, w, u, b)
    return state


@case(recurrent, counts=(3, 2, 5, 0, 20))
def lstm_with_outputs(xs, h, c, w, u, b):  # type: ignore[no-untyped-def]
    out = np.empty((xs.shape[0], h.shape[0]))
    for t in range(xs.shape[0]):
        h, c = cell(xs[t], (h, c), w, u, b)
        out[t] = h
    return out


def pendulum(t: float, y: Any) -> Any:
    return np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1] + t])


@case(lambda count, size: (rng(size).random(2), 0.01, count))
def rk4(y, h, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        t = i * h
        k1 = pendulum(t, y)
        k2 = pendulum(t + h / 2, y + h / 2 * k1)
        k3 = pendulum(t + h / 2, y + h / 2 * k2)
        k4 = pendulum(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)

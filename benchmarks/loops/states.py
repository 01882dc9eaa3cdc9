"""Loops over small states: a few numbers in arrays, replaced in each step. What NumPy's calls take is all there is."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.loops.program import LoopProgram


def relaxed_element(x, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.999 + 0.01
        s = s + x[0]
    return x, s


def relaxed_sum(x, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.999 + 0.01
        s = s + x.sum()
    return x, s


def ring(y, n):
    for i in range(n):
        y[i % 8] = y[i % 8] * 0.5 + 1.0 + y.sum() * 1e-9
    return y


def either_way(x, n):
    for _ in range(n):
        if x[0] > 0.5:  # noqa: SIM108
            x = x * 0.5
        else:
            x = x + 0.1
    return x


def normalised_steps(x, n):
    for _ in range(n):
        x = x / np.max(np.abs(x)) + 0.1
    return x


def lorenz_euler(x, n):
    for _ in range(n):
        d = np.empty(3)
        d[0] = 10.0 * (x[1] - x[0])
        d[1] = x[0] * (28.0 - x[2]) - x[1]
        d[2] = x[0] * x[1] - 8 / 3 * x[2]
        x = x + 0.001 * d
    return x


def quaternion(q, w, n):
    h = 0.5e-3
    for _ in range(n):
        q = np.array(
            [
                q[0] - h * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]),
                q[1] + h * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
                q[2] + h * (q[0] * w[1] - q[1] * w[2] + q[3] * w[0]),
                q[3] + h * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]),
            ]
        )
        q = q / np.sqrt((q * q).sum())
    return q


def linear_rk4(a, x, n):
    h = 0.01
    for _ in range(n):
        k1 = a @ x
        k2 = a @ (x + 0.5 * h * k1)
        k3 = a @ (x + 0.5 * h * k2)
        k4 = a @ (x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def one_measurement(z, f, h, q, r, x, p, n):
    """A Kalman filter with measurements of one number."""
    for i in range(n):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        k = p @ h.T / s[0, 0]
        x = x + k[:, 0] * (z[i % 8] - (h @ x)[0])
        p = p - k @ h @ p
    return x, p


def particles(p, v, n):
    for _ in range(n):
        v = v - 0.01 * p
        p = p + 0.01 * v
        if p.max() > 10:
            p = p * 0.5
    return p, v


def pairs(p, v, m, n):
    for _ in range(n):
        d = p[None, :, :] - p[:, None, :]
        r2 = (d * d).sum(axis=2) + 0.01
        a = (d * (m / (r2 * np.sqrt(r2)))[:, :, None]).sum(axis=1)
        v = v + 0.001 * a
        p = p + 0.001 * v
    return p, v


def perceptron(w, x, y, n):
    for i in range(n):
        row = x[i % 32]
        guess = 1.0 if w @ row > 0 else -1.0
        w = w + 0.1 * (y[i % 32] - guess) * row
    return w


def largest_eigenvalue(a, x, n):
    size = 0.0
    for _ in range(n):
        y = a @ x
        size = np.sqrt((y * y).sum())
        x = y / size
    return x, size


def descent(x, y, w, n):
    for _ in range(n):
        w = w - 0.001 * (x.T @ (x @ w - y))
    return w


def attention_chain(p, x, n):
    for _ in range(n):
        x = x @ p
        x = np.exp(x - x.max())
        x = x / x.sum()
    return x


def neurons(v, n):
    m = np.zeros_like(v)
    for _ in range(n):
        a = 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10))
        b = 4 * np.exp(-(v + 65) / 18)
        m = m + 0.01 * (a * (1 - m) - b * m)
        v = v + 0.01 * (10 - 0.3 * (v + 54) - 0.12 * m**3 * (v - 50))
    return v, m


def trajectory(x, n):
    found = []
    for _ in range(n):
        x = x + 0.01 * np.sin(x)
        found.append(x)
    return np.array(found)


def implicit_steps(a, b, n):
    x = b.copy()
    for _ in range(n):
        x = np.linalg.solve(a, x) + b
    return x


def _filter(r, n):
    f, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    return r.random(8), f, h, np.eye(2) * 0.01, np.eye(1) * 0.1, np.zeros(2), np.eye(2), n


SIZES = (3,), (300,), (10_000,)
PROGRAMS = (
    LoopProgram("relaxed_element", relaxed_element, lambda r, n: (r.random(8), n), *SIZES),
    LoopProgram("relaxed_sum", relaxed_sum, lambda r, n: (r.random(8), n), *SIZES),
    LoopProgram("ring", ring, lambda r, n: (r.random(8), n), *SIZES),
    LoopProgram("either_way", either_way, lambda r, n: (r.random(8), n), *SIZES),
    LoopProgram("normalised_steps", normalised_steps, lambda r, n: (r.random(8), n), *SIZES),
    LoopProgram("lorenz_euler", lorenz_euler, lambda r, n: (np.ones(3), n), *SIZES),
    LoopProgram("quaternion", quaternion, lambda r, n: (np.array([1.0, 0.0, 0.0, 0.0]), r.random(3), n), *SIZES),
    LoopProgram("linear_rk4", linear_rk4, lambda r, n: (r.random((4, 4)) - 0.5, np.ones(4), n), *SIZES),
    LoopProgram("one_measurement", one_measurement, _filter, *SIZES),
    LoopProgram("particles", particles, lambda r, n: (r.random((20, 3)), r.random((20, 3)), n), *SIZES),
    LoopProgram("pairs", pairs, lambda r, n: (r.random((8, 3)), np.zeros((8, 3)), np.ones(8), n), *SIZES),
    LoopProgram(
        "perceptron", perceptron, lambda r, n: (np.zeros(4), r.random((32, 4)), np.sign(r.random(32) - 0.5), n), *SIZES
    ),
    LoopProgram("largest_eigenvalue", largest_eigenvalue, lambda r, n: (r.random((5, 5)), np.ones(5), n), *SIZES),
    LoopProgram("descent", descent, lambda r, n: (r.random((20, 4)), r.random(20), np.zeros(4), n), *SIZES),
    LoopProgram("attention_chain", attention_chain, lambda r, n: (r.random((6, 6)), np.ones(6) / 6, n), *SIZES),
    LoopProgram("neurons", neurons, lambda r, n: (np.full(10, -65.0), n), *SIZES),
    LoopProgram("trajectory", trajectory, lambda r, n: (r.random(4), n), *SIZES),
    LoopProgram("implicit_steps", implicit_steps, lambda r, n: (np.eye(3) * 3 + 0.1, np.ones(3), n), *SIZES),
)

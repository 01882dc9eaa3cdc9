"""One step after the other through time or text: filters, recurrences, random walks, tables of dynamic programming."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import cmath

import numpy as np

from benchmarks.loops.program import LoopProgram


def levenshtein(a, b):
    rows, columns = len(a) + 1, len(b) + 1
    table = np.zeros((rows, columns), dtype=np.int64)
    table[:, 0] = np.arange(rows)
    table[0, :] = np.arange(columns)
    for i in range(1, rows):
        for j in range(1, columns):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[-1, -1]


def folding(sequence):
    n = len(sequence)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i + 1, j], table[i, j - 1])
            pair = 1 if sequence[i] + sequence[j] == 3 else 0
            best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
    return crc ^ 0xFFFF


def iir_filter(x, b0, b1, b2, a1, a2):
    y = np.empty_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        value = b0 * x[n] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1 = x1, x[n]
        y2, y1 = y1, value
        y[n] = value
    return y


def moving_maximum(x, width):
    out = np.empty(len(x) - width + 1)
    for i in range(len(out)):
        best = x[i]
        for j in range(i + 1, i + width):
            if x[j] > best:
                best = x[j]
        out[i] = best
    return out


def kalman(f, h, q, r, measured):
    n = f.shape[0]
    x = np.zeros(n)
    p = np.eye(n)
    track = np.empty((len(measured), n))
    for t in range(len(measured)):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ (measured[t] - h @ x)
        p = (np.eye(n) - gain @ h) @ p
        track[t] = x
    return track


def lorenz(state):
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def rk4_lorenz(state, dt, steps):
    path = np.empty((steps + 1, 3))
    path[0] = state
    for n in range(steps):
        k1 = lorenz(state)
        k2 = lorenz(state + 0.5 * dt * k1)
        k3 = lorenz(state + 0.5 * dt * k2)
        k4 = lorenz(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path[n + 1] = state
    return path


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(inputs, weights, recurrent, bias):
    batch, hidden = inputs.shape[1], recurrent.shape[0]
    h = np.zeros((batch, hidden))
    c = np.zeros((batch, hidden))
    for t in range(inputs.shape[0]):
        gates = inputs[t] @ weights + h @ recurrent + bias
        i = sigmoid(gates[:, :hidden])
        f = sigmoid(gates[:, hidden : 2 * hidden])
        g = np.tanh(gates[:, 2 * hidden : 3 * hidden])
        o = sigmoid(gates[:, 3 * hidden :])
        c = f * c + i * g
        h = o * np.tanh(c)
    return h, c


def option_paths(rng, price, rate, volatility, strike, steps, paths):
    dt = 1.0 / steps
    s = np.full(paths, price)
    least = s.copy()
    for _ in range(steps):
        z = rng.standard_normal(paths)
        s = s * np.exp((rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * z)
        least = np.minimum(least, s)
    payoff = np.maximum(s - strike, 0.0) * (least > 0.8 * price)
    return np.exp(-rate) * payoff.mean()


def n_body(position, velocity, mass, dt, steps):
    n = len(mass)
    for _ in range(steps):
        acceleration = np.zeros_like(position)
        for i in range(n):
            d = position - position[i]
            distance = np.sqrt((d**2).sum(axis=1) + 0.01)
            acceleration[i] = (mass[:, None] * d / distance[:, None] ** 3).sum(axis=0)
        velocity += dt * acceleration
        position += dt * velocity
    return position, velocity


def n_body_pairs(position, velocity, mass, dt, steps):
    for _ in range(steps):
        d = position[None, :, :] - position[:, None, :]
        distance = np.sqrt((d**2).sum(axis=2) + 0.01)
        acceleration = (mass[None, :, None] * d / distance[:, :, None] ** 3).sum(axis=1)
        velocity = velocity + dt * acceleration
        position = position + dt * velocity
    return position, velocity


def collatz(most):
    longest = 0
    where = 0
    for start in range(1, most):
        n = start
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > longest:
            longest = steps
            where = start
    return where, longest


def prefix_sums(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def histogram(values, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for value in values:
        slot = int(value * bins)
        if 0 <= slot < bins:
            counts[slot] += 1
    return counts


def fourier_sums(x):
    out = np.zeros(len(x), dtype=np.complex128)
    for k in range(len(x)):
        total = 0j
        for n in range(len(x)):
            total += x[n] * cmath.exp(-2j * cmath.pi * k * n / len(x))
        out[k] = total
    return out


def _kalman(rng, steps):
    f = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    h = np.array([[1.0, 0.0, 0.0]])
    return f, h, 0.01 * np.eye(3), np.array([[0.1]]), rng.normal(size=(steps, 1)).cumsum(axis=0)


def _lstm(rng, steps, batch, hidden):
    def normal(*shape):
        return 0.3 * rng.normal(size=shape)

    return normal(steps, batch, hidden), normal(hidden, 4 * hidden), normal(hidden, 4 * hidden), normal(4 * hidden)


def _bodies(rng, n, steps):
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.1, 1.0, n), 0.01, steps


PROGRAMS = (
    LoopProgram(
        "levenshtein",
        levenshtein,
        lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n)),
        (6,),
        (40,),
        (150,),
    ),
    LoopProgram("folding", folding, lambda r, n: (r.integers(0, 4, n),), (6,), (24,), (60,)),
    LoopProgram("crc16", crc16, lambda r, n: (r.integers(0, 256, n, dtype=np.uint8),), (5,), (200,), (4000,)),
    LoopProgram(
        "iir_filter",
        iir_filter,
        lambda r, n: (r.normal(size=n), 0.2, 0.4, 0.2, -0.4, 0.2),
        (6,),
        (1000,),
        (20_000,),
    ),
    LoopProgram("moving_maximum", moving_maximum, lambda r, n, w: (r.normal(size=n), w), (9, 3), (200, 8), (2000, 16)),
    LoopProgram("kalman", kalman, _kalman, (4,), (50,), (1000,)),
    LoopProgram("rk4_lorenz", rk4_lorenz, lambda r, n: (np.array([1.0, 1.0, 1.0]), 0.01, n), (3,), (50,), (1000,)),
    LoopProgram("lstm", lstm, _lstm, (3, 2, 4), (30, 4, 16), (50, 32, 128)),
    LoopProgram(
        "option_paths",
        option_paths,
        lambda r, t, n: (np.random.default_rng(5), 100.0, 0.03, 0.2, 105.0, t, n),
        (4, 6),
        (50, 200),
        (100, 20_000),
    ),
    LoopProgram("n_body", n_body, _bodies, (4, 2), (10, 10), (100, 5)),
    LoopProgram("n_body_pairs", n_body_pairs, _bodies, (4, 2), (10, 40), (150, 10)),
    LoopProgram("collatz", collatz, lambda r, n: (n,), (8,), (100,), (2000,)),
    LoopProgram("prefix_sums", prefix_sums, lambda r, n: (r.normal(size=n),), (6,), (1000,), (50_000,)),
    LoopProgram("fourier_sums", fourier_sums, lambda r, n: (r.normal(size=n),), (6,), (40,), (300,)),
    LoopProgram("histogram", histogram, lambda r, n, b: (r.random(n), b), (9, 3), (1000, 16), (20_000, 64)),
)

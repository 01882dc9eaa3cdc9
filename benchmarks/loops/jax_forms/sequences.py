"""Forms of benchmarks/loops/sequences.py."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.peers import JaxForm


def levenshtein(a, b):
    """Row by row; along a row the least of left + 1 is a running minimum, once each column's number is taken off."""
    columns = jnp.arange(len(b) + 1)

    def row(above, inputs):
        i, symbol = inputs
        here = jnp.minimum(above[1:] + 1, above[:-1] + (symbol != b))
        here = jnp.concatenate([i[None], here])
        here = lax.cummin(here - columns) + columns
        return here, None

    last, _ = lax.scan(row, columns, (jnp.arange(1, len(a) + 1), a))
    return last[-1]


def folding(sequence):
    """All splits of (i, j) at once: row i of the table beside column j one row further down."""
    n = len(sequence)
    splits = jnp.arange(n)

    def element(j, table, i):
        pair = (sequence[i] + sequence[j] == 3).astype(table.dtype)
        halves = table[i] + jnp.roll(table[:, j], -1)
        best = jnp.max(jnp.where((splits > i) & (splits < j), halves, 0))
        best = jnp.maximum(best, jnp.maximum(table[i + 1, j], table[i, j - 1]))
        return table.at[i, j].set(jnp.maximum(best, table[i + 1, j - 1] + pair))

    def row(step, table):
        i = n - 2 - step
        return lax.fori_loop(i + 1, n, lambda j, table: element(j, table, i), table)

    return lax.fori_loop(0, n - 1, row, jnp.zeros((n, n), dtype=jnp.int64))


def crc16(data):
    def take(crc, byte):
        crc = crc ^ byte
        for _ in range(8):
            crc = jnp.where(crc & 1, (crc >> 1) ^ 0x8408, crc >> 1)
        return crc, None

    crc, _ = lax.scan(take, jnp.int64(0xFFFF), data.astype(jnp.int64))
    return crc ^ 0xFFFF


def iir_filter(x, b0, b1, b2, a1, a2):
    def step(state, now):
        x1, x2, y1, y2 = state
        value = b0 * now + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        return (now, x1, value, y1), value

    return lax.scan(step, (0.0, 0.0, 0.0, 0.0), x)[1]


def moving_maximum(x, width):
    return lax.reduce_window(x, -jnp.inf, lax.max, (width,), (1,), "VALID")


def kalman(f, h, q, r, measured):
    n = f.shape[0]

    def step(state, seen):
        x, p = state
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ jnp.linalg.inv(s)
        x = x + gain @ (seen - h @ x)
        p = (jnp.eye(n) - gain @ h) @ p
        return (x, p), x

    return lax.scan(step, (jnp.zeros(n), jnp.eye(n)), measured)[1]


def _lorenz(state):
    x, y, z = state
    return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def rk4_lorenz(state, dt, steps):
    def step(state, _):
        k1 = _lorenz(state)
        k2 = _lorenz(state + 0.5 * dt * k1)
        k3 = _lorenz(state + 0.5 * dt * k2)
        k4 = _lorenz(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return state, state

    return jnp.concatenate([state[None], lax.scan(step, state, length=steps)[1]])


def lstm(inputs, weights, recurrent, bias):
    batch, hidden = inputs.shape[1], recurrent.shape[0]

    def step(state, now):
        h, c = state
        i, f, g, o = jnp.split(now @ weights + h @ recurrent + bias, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((batch, hidden))
    return lax.scan(step, (zeros, zeros), inputs)[0]


def option_paths(rng, price, rate, volatility, strike, steps, paths):
    dt = 1.0 / steps
    drift = (rate - 0.5 * volatility**2) * dt

    def step(state, key):
        s, least = state
        s = s * jnp.exp(drift + volatility * jnp.sqrt(dt) * jax.random.normal(key, (paths,)))
        return (s, jnp.minimum(least, s)), None

    start = jnp.full(paths, price)
    (s, least), _ = lax.scan(step, (start, start), jax.random.split(rng, steps))
    payoff = jnp.maximum(s - strike, 0.0) * (least > 0.8 * price)
    return jnp.exp(-rate) * payoff.mean()


def _accelerations(position, mass):
    d = position[None, :, :] - position[:, None, :]
    distance = jnp.sqrt((d**2).sum(axis=2) + 0.01)
    return (mass[None, :, None] * d / distance[:, :, None] ** 3).sum(axis=1)


def n_body(position, velocity, mass, dt, steps):
    def step(_, state):
        position, velocity = state
        velocity = velocity + dt * _accelerations(position, mass)
        return position + dt * velocity, velocity

    return lax.fori_loop(0, steps, step, (position, velocity))


def n_body_pairs(position, velocity, mass, dt, steps):
    return n_body(position, velocity, mass, dt, steps)


def collatz(most):
    """All starts at once, until each has come to 1."""

    def step(state):
        n, steps = state
        running = n != 1
        n = jnp.where(running, jnp.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        return n, steps + running

    starts = jnp.arange(1, most)
    _, steps = lax.while_loop(lambda state: (state[0] != 1).any(), step, (starts, jnp.zeros_like(starts)))
    where = jnp.argmax(steps)
    return jnp.where(steps[where] > 0, starts[where], 0), steps[where]


def prefix_sums(x):
    return jnp.cumsum(x)


def histogram(values, bins):
    slots = (values * bins).astype(jnp.int64)
    slots = jnp.where(slots < 0, bins, slots)
    return jnp.zeros(bins, dtype=jnp.int64).at[slots].add(1, mode="drop")


def fourier_sums(x):
    numbers = jnp.arange(len(x))
    return jnp.exp(-2j * jnp.pi * jnp.outer(numbers, numbers) / len(x)) @ x.astype(jnp.complex128)


FORMS = (
    JaxForm(levenshtein),
    JaxForm(folding),
    JaxForm(crc16),
    JaxForm(iir_filter),
    JaxForm(moving_maximum, static=("width",)),
    JaxForm(kalman),
    JaxForm(rk4_lorenz, static=("steps",)),
    JaxForm(lstm),
    JaxForm(option_paths, static=("steps", "paths")),
    JaxForm(n_body, static=("steps",), writes=("position", "velocity")),
    JaxForm(n_body_pairs, static=("steps",)),
    JaxForm(collatz, static=("most",)),
    JaxForm(prefix_sums),
    JaxForm(fourier_sums),
    JaxForm(histogram, static=("bins",)),
)

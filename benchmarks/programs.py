"""The programs that must run: plain NumPy as a user writes it, with arguments of any dtype, layout and size.

Enters: a dtype name, a layout name and a size. Leaves: argument tuples, fresh and the same at every call. The tests
compare these programs bit for bit, the demo and the benchmarks time them. Nothing here knows of a compiler.
INVARIANT: ``make_args`` is deterministic, and every call builds new memory.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DTYPES = ("float64", "float32", "int64", "complex128")
LAYOUTS = ("C", "F", "strided", "reversed", "0-d", "empty", "read-only", "overlapping")


def affine(x):
    return x * 2.0 + 1.0


def five_squares(x):
    for _ in range(5):
        x = x * x
    return x


def step(x):
    return x + 1.0


def thousand_steps(x):
    for _ in range(1000):
        x = step(x)
    return x


def printing_steps(x):
    for i in range(1000):
        x = step(x)
        if i % 100 == 0:
            print(f"step {i}: {x.sum()}")
    return x


class Linear:
    def __init__(self, weights, bias):
        self.weights = weights
        self.bias = bias

    def __call__(self, x):
        return x @ self.weights.T + self.bias


class Model:
    def __init__(self, hidden, out):
        self.hidden = hidden
        self.out = out

    def __call__(self, x):
        return self.out(np.maximum(self.hidden(x), 0))


def predict(model, x):
    return model(x)


class Dropout:
    def __init__(self, p, seed):
        self.p = p
        self.train = True
        self.rng = np.random.default_rng(seed)

    def __call__(self, x):
        if not self.train:
            return x * 1.0
        keep = self.rng.random(x.shape) >= self.p
        return x * keep / (1.0 - self.p)


def dropout(layer, x):
    return layer(x * 0.5) + 1.0


def clipped_layer(x, p, w, b):
    return np.clip((x + p) @ w.T + b, 0.0, 1.0)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x, scale, shift, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * scale + shift


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(price, strike, years, rate=0.02, volatility=0.3):
    root = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * years)
    call = price * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = call - price + discounted
    return call, put


def pairwise_distances(a, b):
    return np.sqrt(((a[:, np.newaxis, :] - b[np.newaxis, :, :]) ** 2).sum(axis=-1))


def heat_step(t, k):
    t[1:-1, 1:-1] = t[1:-1, 1:-1] + k * (t[2:, 1:-1] + t[:-2, 1:-1] + t[1:-1, 2:] + t[1:-1, :-2] - 4 * t[1:-1, 1:-1])
    t[0, :] = t[1, :]
    t[-1, :] = t[-2, :]
    return t


def kmeans_assign(points, centers):
    distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return distances.argmin(axis=1), distances.min(axis=1)


def branch_on_sum(x):
    y = x * 3.0
    if x.sum() > 0:
        return y + 1.0
    return y - 1.0


def checksum_in_the_middle(x):
    y = np.sqrt(x * x + 1.0)
    salt = zlib.crc32(y.tobytes()) % 97
    return y * salt + 0.5


def gray_scott(u, v, du=0.16, dv=0.08, f=0.035, k=0.065):
    centre_u, centre_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    lap_u = u[:-2, 1:-1] + u[1:-1, :-2] - 4 * centre_u + u[1:-1, 2:] + u[2:, 1:-1]
    lap_v = v[:-2, 1:-1] + v[1:-1, :-2] - 4 * centre_v + v[1:-1, 2:] + v[2:, 1:-1]
    reaction = centre_u * centre_v * centre_v
    centre_u += du * lap_u - reaction + f * (1 - centre_u)
    centre_v += dv * lap_v + reaction - (f + k) * centre_v


def jacobi_1d(a, b, steps=4):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def game_of_life(z):
    n = z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
    birth = (n == 3) & (z[1:-1, 1:-1] == 0)
    survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
    after = np.zeros_like(z)
    after[1:-1, 1:-1] = birth | survive
    return after


def mandelbrot_step(z, c, count, horizon=2.0):
    inside = np.abs(z) < horizon
    count[inside] += 1
    z[inside] = z[inside] ** 2 + c[inside]
    return inside.sum()


def accelerations(pos, mass, softening=0.1):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    return np.stack([(dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass], axis=1)


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def covariance(x):
    centred = x - np.mean(x, axis=0)
    return centred.T @ centred / (x.shape[0] - 1.0)


def cross_entropy(logits, target):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -(log_probability * target).sum(axis=1).mean()


def clip_and_blend(a, b, p, q, r):
    return np.clip(a, 2, 10) * p + b * q + r


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1.0 - x[:-1]) ** 2.0)


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def relax(p, b, sweeps=2):
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]) * 0.25 - b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = 0
    return p


def newton_sqrt(x, tolerance=1e-6):
    guess = x * 0.5 + 0.5
    while np.max(np.abs(guess * guess - x)) > tolerance * 1000:
        guess = 0.5 * (guess + x / guess)
    return guess


def grey_levels(image, weights=(0.299, 0.587, 0.114)):
    scaled = image.astype(np.float32) / 255
    grey = scaled[..., 0] * weights[0] + scaled[..., 1] * weights[1] + scaled[..., 2] * weights[2]
    return (grey * 255).astype(np.uint8), {"mean": grey.mean(), "peak": grey.max()}


def runge_kutta(state, rate, dt=0.01, steps=3):
    def slope(y):
        return rate * y * (1.0 - y)

    for _ in range(steps):
        k1 = slope(state)
        k2 = slope(state + 0.5 * dt * k1)
        k3 = slope(state + 0.5 * dt * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@dataclass(slots=True)
class Maker:
    """Makes the arrays of one call; ``size`` is about the number of elements of the main array."""

    dtype: str
    layout: str
    size: int
    seed: int = 0
    _shared: tuple[tuple[int, ...], Array, int] | None = None

    @property
    def n(self) -> int:
        return 0 if self.layout == "empty" else self.size

    @property
    def rows(self) -> int:
        return 0 if self.layout == "empty" else max(1, math.isqrt(self.size))

    @property
    def columns(self) -> int:
        return max(1, self.size // max(1, math.isqrt(self.size)))

    def array(self, *shape: int, low: float = 0.5, high: float = 2.0, dtype: str | None = None) -> Array:
        """Random values of [low, high) in this layout; arrays of one shape overlap in layout "overlapping"."""
        kind = np.dtype(dtype or self.dtype)
        if self.layout == "0-d":
            return self._values(1, kind, low, high).reshape(())
        count = math.prod(shape)
        if self.layout == "overlapping":
            return self._overlapping(shape, kind, low, high)
        values = self._values(count, kind, low, high).reshape(shape)
        if self.layout == "F":
            return np.asfortranarray(values)
        if self.layout == "strided":
            buffer = np.zeros((*shape[:-1], 2 * shape[-1]), kind)
            buffer[..., ::2] = values
            return buffer[..., ::2]
        if self.layout == "reversed":
            return values[(slice(None, None, -1),) * len(shape)]
        values.flags.writeable = self.layout != "read-only"
        return values

    def matrix(self, low: float = 0.5, high: float = 2.0, dtype: str | None = None) -> Array:
        """An array of rows x columns."""
        return self.array(self.rows, self.columns, low=low, high=high, dtype=dtype)

    def _values(self, count: int, kind: np.dtype[Any], low: float, high: float) -> Array:
        self.seed += 1
        rng = np.random.default_rng(self.seed)
        if kind.kind in "iu":
            return rng.integers(math.floor(low), math.ceil(high), count, dtype=kind, endpoint=True)
        if kind.kind == "b":
            return rng.random(count) < 0.5
        if kind.kind == "c":
            return (rng.uniform(low, high, count) + 1j * rng.uniform(low, high, count)).astype(kind)
        return rng.uniform(low, high, count).astype(kind)

    def _overlapping(self, shape: tuple[int, ...], kind: np.dtype[Any], low: float, high: float) -> Array:
        if self._shared is None or self._shared[0] != shape or self._shared[1].dtype != kind:
            self._shared = shape, self._values(math.prod(shape) + 4, kind, low, high), 0
        _, buffer, used = self._shared
        self._shared = shape, buffer, used + 1
        return np.ndarray(shape, kind, buffer, used * kind.itemsize)


@dataclass(frozen=True, slots=True)
class Program:
    """A function with its arguments. size: what the benchmarks use. breaks: graph breaks on the way of one call."""

    name: str
    fn: Callable[..., Any]
    build: Callable[[Maker], tuple[Any, ...]]
    size: int = 1_000_000
    breaks: bool = False
    dtype: str = "float64"
    small: int = 24  # a size for tests

    def make_args(self, dtype: str | None = None, layout: str = "C", size: int | None = None) -> tuple[Any, ...]:
        """Fresh arguments."""
        return self.build(Maker(dtype or self.dtype, layout, self.size if size is None else size))


def _model(m: Maker) -> tuple[Any, ...]:
    k = m.columns
    hidden = Linear(m.array(k, k, low=-1.0, high=1.0), m.array(k, low=-1.0, high=1.0))
    out = Linear(m.array(4, k, low=-1.0, high=1.0), m.array(4, low=-1.0, high=1.0))
    return Model(hidden, out), m.matrix(low=-1.0)


def _one_hot(m: Maker) -> tuple[Any, ...]:
    return m.matrix(low=-3.0, high=3.0), m.matrix(low=0.0, high=1.0)


_ALL = (
    Program("affine", affine, lambda m: (m.matrix(),), size=6),
    Program("affine_1e6", affine, lambda m: (m.array(m.n),)),
    Program("five_squares", five_squares, lambda m: (m.array(m.n),)),
    Program("thousand_steps", thousand_steps, lambda m: (m.array(m.n),), size=1000),
    Program("printing_steps", printing_steps, lambda m: (m.array(m.n),), size=1000, breaks=True),
    Program("predict", predict, _model, size=10_000),
    Program("dropout", dropout, lambda m: (Dropout(0.25, 7), m.matrix())),
    Program(
        "clipped_layer",
        clipped_layer,
        lambda m: (m.matrix(), m.array(m.columns), m.array(8, m.columns, low=-1.0, high=1.0), m.array(8)),
    ),
    Program("softmax", softmax, lambda m: (m.matrix(low=-4.0, high=4.0),)),
    Program("layer_norm", layer_norm, lambda m: (m.matrix(), m.array(m.columns), m.array(m.columns))),
    Program(
        "black_scholes",
        black_scholes,
        lambda m: (m.array(m.n, low=10.0, high=50.0), m.array(m.n, low=10.0, high=50.0), m.array(m.n, low=1.0)),
    ),
    Program(
        "pairwise_distances",
        pairwise_distances,
        lambda m: (m.array(m.rows, 3), m.array(m.columns, 3)),
    ),
    Program("heat_step", heat_step, lambda m: (m.matrix(low=0.0, high=100.0), 0.1)),
    Program(
        "kmeans_assign",
        kmeans_assign,
        lambda m: (m.array(m.n // 8, 2, low=-9.0, high=9.0), m.array(8, 2, low=-9.0, high=9.0)),
        small=160,
    ),
    Program("branch_on_sum", branch_on_sum, lambda m: (m.array(m.n, low=-1.0),)),
    Program("checksum_in_the_middle", checksum_in_the_middle, lambda m: (m.matrix(),), breaks=True),
    Program("gray_scott", gray_scott, lambda m: (m.matrix(), m.matrix())),
    Program("jacobi_1d", jacobi_1d, lambda m: (m.array(m.n), m.array(m.n))),
    Program("game_of_life", game_of_life, lambda m: (m.matrix(low=0, high=1),), dtype="int64"),
    Program(
        "mandelbrot_step",
        mandelbrot_step,
        lambda m: (m.matrix(), m.matrix(), m.matrix(low=0, high=1, dtype="int64")),
        dtype="complex128",
    ),
    Program("accelerations", accelerations, lambda m: (m.array(m.rows, 3), m.array(m.rows))),
    Program("standardise", standardise, lambda m: (m.matrix(),)),
    Program("covariance", covariance, lambda m: (m.matrix(),)),
    Program("cross_entropy", cross_entropy, _one_hot),
    Program(
        "clip_and_blend",
        clip_and_blend,
        lambda m: (m.matrix(low=0, high=99), m.matrix(low=0, high=99), 4, 3, 9),
        dtype="int64",
    ),
    Program("arc_distance", arc_distance, lambda m: tuple(m.array(m.n, low=0.0, high=1.0) for _ in range(4))),
    Program("rosenbrock", rosenbrock, lambda m: (m.array(m.n),)),
    Program("go_fast", go_fast, lambda m: (m.array(m.rows, m.rows),), size=10_000),
    Program("relax", relax, lambda m: (m.matrix(), m.matrix(low=0.0, high=0.1))),
    Program("newton_sqrt", newton_sqrt, lambda m: (m.array(m.n, low=1.0, high=4.0),)),
    Program(
        "grey_levels",
        grey_levels,
        lambda m: (m.array(m.rows, m.columns, 3, low=0, high=255),),
        dtype="uint8",
    ),
    Program("runge_kutta", runge_kutta, lambda m: (m.array(m.n, low=0.1, high=0.9), 1.5)),
)

PROGRAMS = {program.name: program for program in _ALL}

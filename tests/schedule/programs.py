"""NumPy programs that schedules and backends are tested with: a function and its example arguments, one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.schedule.tracing import as_type, new

Array = Any
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
_RNG = np.random.default_rng(7)


def program(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a row of the table, with these arguments."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = (function, arguments)
        return function

    return add


def rand(*shape: int, dtype: str = "d") -> Array:
    if dtype in "bhilBHIL":
        return _RNG.integers(1, 9, shape).astype(dtype)
    if dtype == "?":
        return _RNG.random(shape) < 0.5
    return (_RNG.random(shape) + 0.1).astype(dtype)


@program(rand(1500))
def gauss(x: Array) -> Array:
    return np.exp(-x * x) * 2 + 1


@program(rand(700), rand(700), rand(700))
def chain(x: Array, y: Array, z: Array) -> Array:
    return ((x * y + z) * x - y) / (z + 2.0) + x * 0.5


@program(rand(1200), rand(1200), rand(1200), 0.05, 0.3)
def black_scholes(s: Array, k: Array, t: Array, r: Any, sigma: Any) -> Array:
    d1 = (np.log(s / k) + t * 0.1) / (np.sqrt(t) * sigma)
    d2 = d1 - np.sqrt(t) * sigma

    def cdf(x: Array) -> Array:
        a = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        poly = a * (0.31938153 + a * (-0.356563782 + a * (1.781477937 + a * (-1.821255978 + a * 1.330274429))))
        tail = np.exp(x * x * -0.5) * 0.3989422804014327 * poly
        return np.where(x > 0, 1.0 - tail, tail)

    discount = np.exp(t * -0.05)
    call = s * cdf(d1) - k * discount * cdf(d2)
    return call, call + k * discount - s


@program(rand(6, 40))
def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program(rand(6, 33), rand(33), rand(33))
def layer_norm(x: Array, g: Array, b: Array) -> Array:
    mean = x.sum(axis=-1, keepdims=True)
    np.true_divide(mean, x.shape[-1], out=mean, casting="unsafe")
    d = x - mean
    var = (d * d).sum(axis=-1, keepdims=True) / x.shape[-1]
    return d / np.sqrt(var + 1e-5) * g + b


@program(rand(20, 3), rand(5, 3))
def kmeans_distances(points: Array, centres: Array) -> Array:
    d = points[:, None, :] - centres[None, :, :]
    distances = np.sqrt((d * d).sum(axis=2))
    return distances, distances.argmin(axis=1)


@program(rand(9, 8), rand(9, 8))
def jacobi(a: Array, b: Array) -> None:
    for _ in range(3):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@program(rand(50))
def overlapping_store(a: Array) -> Array:
    a[1:-1] = (a[:-2] + a[2:]) / 2
    return a


@program(rand(50))
def shifted_copy(a: Array) -> Array:
    a[1:] = a[:-1]
    a[:-2] = a[2:]
    return a


@program(rand(30), rand(30))
def in_place_chain(x: Array, y: Array) -> Array:
    x += 1
    x *= y
    np.sqrt(x, out=x)
    return x


@program(rand(4, 5), rand(4, 5))
def in_place_fresh(x: Array, y: Array) -> Array:
    z = x * 2
    z += 1
    z -= x
    w = z[1:]
    w *= 3
    z[0] = y[1]
    return z, w


@program(rand(40))
def read_before_store(x: Array) -> Array:
    before = x + 1
    shifted = before * 2
    x[...] = 0
    return before, shifted, x * 3


@program(rand(40), rand(40))
def swap(x: Array, y: Array) -> None:
    t = x + 0.0
    x[...] = y
    y[...] = t


@program(rand(40), rand(40))
def update_both(x: Array, y: Array) -> None:
    dx = x * y - 1
    dy = x + y
    x += dx
    y += dy


@program(rand(40))
def scalar_reads(x: Array) -> Array:
    first = x[0]
    x[0] = 5.0
    again = x[0]
    return first, again, first + again, x * first


@program(rand(30), rand(30, dtype="l"), rand(30, dtype="f"), rand(30, dtype="?"))
def mixed_dtypes(d: Array, i: Array, f: Array, b: Array) -> Array:
    return d + i, i * f, np.where(b, d, i), f * 2 + i, b & (i > 3), (i // 3) % 2, f.astype("d") * d, i.astype("h") + 1


@program(rand(30, dtype="h"), rand(30, dtype="B"))
def small_integers(x: Array, y: Array) -> Array:
    return x + y, y * y, x << 2, -x, np.abs(x - 5), np.clip(x, 2, 6), x.sum(), y.max(), (x > 3).sum(), (x > 3).any()


@program(rand(30).astype("D") * (1 + 2j), rand(30))
def complex_values(z: Array, x: Array) -> Array:
    w = z * x + 1j
    return w, np.abs(w), w.real * 2, w.imag - x, np.exp(w)


@program(rand(7, 6))
def transposes(x: Array) -> Array:
    y = x.T * 2
    z = x + y.T
    return y, z, z.T + y, np.sqrt(x[::2, ::-1]), x[:, 1] + x[:, 2], x.reshape(-1) + 1, (x * 3).ravel()


@program(rand(5, 1, 4), rand(3, 1), rand(4))
def broadcasting(x: Array, y: Array, z: Array) -> Array:
    a = y * z
    return x + a, a + 1, x * y - z, np.broadcast_to(z, (3, 4)) + a


@program(rand(30), 3, 0.5)
def python_numbers(x: Array, n: Any, a: Any) -> Array:
    return x * n + a, x**2, x**0.5, x**3, a - x, n / x, x[n] * 2


@program(rand(30))
def several_results(x: Array) -> Array:
    fraction, whole = np.modf(x * 10)
    mantissa, exponent = np.frexp(x)
    return fraction + whole, fraction, exponent * 2, mantissa


@program(rand(8, 6), rand(6, 5))
def matrix_product(a: Array, b: Array) -> Array:
    c = (a * 2) @ b
    return np.tanh(c + 1), c.sum(axis=0), np.maximum(c, 1).mean() if False else np.maximum(c, 1)


@program(rand(8, 6))
def reductions(x: Array) -> Array:
    y = x * 2 + 1
    return (
        y.sum(),
        y.sum(axis=0),
        y.sum(axis=1),
        y.max(axis=0),
        y.min(),
        y.prod(axis=1, keepdims=True),
        (y > 2).all(axis=0),
        (y > 2).sum(),
        x.sum(axis=(0, 1), keepdims=True),
        np.logaddexp.reduce(x, axis=1),
    )


@program(rand(24))
def fresh_arrays(x: Array) -> Array:
    y = new(np.zeros, x)
    y[2:] = x[:-2] * 2
    z = new(np.empty, x, dtype="f")
    z[...] = x
    ones = new(np.ones, x, dtype="l", order="F")
    return y, z, ones + 1, np.zeros_like(x) + x, new(np.full, x, 2.5) * x


@program(rand(24))
def unused_results(x: Array) -> Array:
    x / 3
    np.log(x)
    x > 2  # noqa: B015
    return x + 1


@program(rand(300))
def long_chain(x: Array) -> Array:
    y = x
    for i in range(90):
        y = y * 1.001 + x / (i + 1.0)
    return y


@program(rand(60), *(rand(60) for _ in range(19)))
def many_operands(x: Array, *others: Array) -> Array:
    for other in others:
        x = x * other + 1
    return x


@program(rand(64))
def shared_slow_value(x: Array) -> Array:
    e = np.exp(x)
    s = e.sum()
    return e / s, e * 2, np.sin(e).sum()


@program(rand(5, 4), rand(5, 4, dtype="f"))
def whole_stores(x: Array, y: Array) -> Array:
    y[...] = x * 2
    x[...] = y
    x[1:, 0] = 7
    y[0] = x[1]
    return x, y


@program(rand(10), rand(10))
def same_value_twice(x: Array, y: Array) -> Array:
    return x + y, x + y, x, x, x[1:], x[1:]


@program(rand(6, 8))
def stores_of_rows(x: Array) -> Array:
    for i in range(1, 5):
        x[i] = x[i - 1] * 0.5 + x[i + 1]
    return x


@program(rand(33))
def masked_store(x: Array) -> Array:
    x[x > 0.5] = 0.0
    return x * 2


@program(np.array(3.0), rand(5), np.float64(2.5))
def zero_dimensional(a: Array, x: Array, s: Any) -> Array:
    return x * a, a + 1, s * 2, x * s + a, np.sqrt(s)


@program(rand(6), np.float64(2.5), np.float32(0.5), np.int64(7), np.bool_(True), 3, 0.25)
def scalar_arithmetic(x: Array, d: Any, f: Any, i: Any, b: Any, n: Any, a: Any) -> Array:
    s = x[0] * 2.0 + d
    t = s * s - f / 3.0
    u = abs(-(t + s) * (t - i)) + n
    return (
        x * u,
        f * 0.1,
        f + f,
        f < 0.1,
        d + i,
        i + 1,
        i * i,
        i / 2,
        i // 2,
        i > 3,
        b & (i > 3),
        b | False,
        ~b,
        d**2,
        np.sqrt(d),
        np.exp(f),
        np.add(i, 1),
        as_type(np.float32, d),
        as_type(np.float64, i) * a,
        f * n,
        n - f,
        a * d,
        x.sum() / x.shape[0],
        d.astype("f"),
        -i,
        d == s,
    )


@program(rand(30, 4))
def conjugate_steps(a: Array) -> Array:
    m = a.T @ a
    x = m[0] * 0.0
    r = m[1] - m @ x
    p = r
    rs = (r * r).sum()
    for _ in range(3):
        ap = m @ p
        alpha = rs / (p * ap).sum()
        x = x + p * alpha
        r = r - ap * alpha
        new = (r * r).sum()
        p = r + p * (new / rs)
        rs = new
    return x, r, rs


@program(rand(20))
def many_results(x: Array) -> Array:
    return tuple(x * k + np.sqrt(x + k) for k in range(45))


@program(rand(12, 5))
def many_steps(x: Array) -> Array:
    y = x * 0
    for i in range(12):
        for _ in range(20):
            y[i] = y[i] * 0.5 + x[i] * x[(i + 1) % 12]
    return y, y.sum()


@program(rand(4, 6)[:, ::2][:, :1], rand(1, 1), rand(6, 4)[::2])
def reshape_to_the_same_shape(x: Array, y: Array, z: Array) -> Array:
    """NumPy compares shapes before it works out a -1: with one, strides of size-1 axes are made anew."""
    return x.reshape(-1, 1), x.reshape(4, 1), y.reshape(-1, 1), z.reshape(-1, 4), z.reshape(3, 4)


@program(np.array([-0.0, 0.0, 1.0, -2.0] * 5), np.array(False))
def clip_at_a_cast_scalar(x: Array, low: Array) -> Array:
    """NumPy's loop for bounds of stride zero keeps -0.0 where the other one does not."""
    return np.clip(x, low, 1e300)

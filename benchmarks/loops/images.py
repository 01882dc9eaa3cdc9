"""Pictures, pixel by pixel and mask by mask."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.loops.program import LoopProgram


def conv2d(image, weights, bias):
    batch, height, width, _ = image.shape
    size, filters = weights.shape[0], weights.shape[3]
    out = np.empty((batch, height - size + 1, width - size + 1, filters), dtype=image.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            window = image[:, i : i + size, j : j + size, :, None]
            out[:, i, j, :] = np.sum(window * weights[None], axis=(1, 2, 3))
    return out + bias


def conv2d_elements(image, kernel):
    height, width = image.shape
    size = kernel.shape[0]
    out = np.zeros((height - size + 1, width - size + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(size):
                for m in range(size):
                    total += image[i + k, j + m] * kernel[k, m]
            out[i, j] = total
    return out


def mandelbrot_masked(c, most):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4.0
        z[inside] = z[inside] ** 2 + c[inside]
        counts[inside] += 1
    return counts


def mandelbrot_where(c, most):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4.0
        z = np.where(inside, z * z + c, z)
        counts = counts + inside
    return counts


def mandelbrot_elements(xs, ys, most):
    counts = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for j in range(len(ys)):
        for i in range(len(xs)):
            cx, cy = xs[i], ys[j]
            x = y = 0.0
            n = 0
            while n < most and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            counts[j, i] = n
    return counts


def escape_times(xs, ys, most):
    counts = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for j in range(len(ys)):
        for i in range(len(xs)):
            c = complex(xs[i], ys[j])
            z = 0j
            n = 0
            while n < most and abs(z) <= 2.0:
                z = z * z + c
                n += 1
            counts[j, i] = n
    return counts


def newton_basins(xs, ys, most):
    steps = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for j in range(len(ys)):
        for i in range(len(xs)):
            z = complex(xs[i], ys[j])
            n = 0
            while n < most and abs(z * z * z - 1.0) > 1e-6:
                z = z - (z * z * z - 1.0) / (3.0 * z * z)
                n += 1
            steps[j, i] = n
    return steps


def bilateral(image, radius, spread):
    height, width = image.shape
    out = image.copy()
    for i in range(radius, height - radius):
        for j in range(radius, width - radius):
            window = image[i - radius : i + radius + 1, j - radius : j + radius + 1]
            weights = np.exp(-((window - image[i, j]) ** 2) / spread)
            out[i, j] = (weights * window).sum() / weights.sum()
    return out


def flood(levels, start):
    reached = np.zeros(levels.shape, dtype=bool)
    reached[start, start] = True
    while True:
        grown = reached.copy()
        grown[1:, :] |= reached[:-1, :]
        grown[:-1, :] |= reached[1:, :]
        grown[:, 1:] |= reached[:, :-1]
        grown[:, :-1] |= reached[:, 1:]
        grown &= levels < 0.7
        grown |= reached
        if (grown == reached).all():
            return reached
        reached = grown


def _plane(rng, n, most):
    x, y = np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n)
    return x[None, :] + 1j * y[:, None], most


PROGRAMS = (
    LoopProgram(
        "conv2d",
        conv2d,
        lambda r, n, k, c: (r.normal(size=(2, n, n, c)), r.normal(size=(k, k, c, 4)), r.normal(size=4)),
        (4, 2, 1),
        (10, 3, 3),
        (40, 3, 3),
    ),
    LoopProgram(
        "conv2d_elements",
        conv2d_elements,
        lambda r, n, k: (r.normal(size=(n, n)), r.normal(size=(k, k))),
        (5, 2),
        (20, 3),
        (80, 5),
    ),
    LoopProgram("mandelbrot_masked", mandelbrot_masked, _plane, (6, 4), (40, 20), (300, 30)),
    LoopProgram("mandelbrot_where", mandelbrot_where, _plane, (6, 4), (40, 20), (300, 30)),
    LoopProgram(
        "mandelbrot_elements",
        mandelbrot_elements,
        lambda r, n, most: (np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n), most),
        (4, 5),
        (20, 20),
        (60, 40),
    ),
    LoopProgram(
        "escape_times",
        escape_times,
        lambda r, n, most: (np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n), most),
        (4, 5),
        (20, 20),
        (60, 40),
    ),
    LoopProgram(
        "newton_basins",
        newton_basins,
        lambda r, n, most: (np.linspace(-2.0, 2.1, n), np.linspace(-2.0, 2.2, n), most),
        (4, 5),
        (20, 20),
        (60, 40),
    ),
    LoopProgram("bilateral", bilateral, lambda r, n, k: (r.random((n, n)), k, 0.1), (6, 1), (20, 2), (60, 3)),
    LoopProgram("flood", flood, lambda r, n: (r.random((n, n)) ** 2, n // 2), (6,), (40,), (200,)),
)

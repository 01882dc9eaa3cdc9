"""Forms of benchmarks/loops/images.py."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import itertools

import jax.numpy as jnp
from jax import lax
from jax.scipy.signal import correlate2d

from benchmarks.peers import JaxForm


def conv2d(image, weights, bias):
    axes = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=axes) + bias


def conv2d_elements(image, kernel):
    return correlate2d(image, kernel, mode="valid")


def mandelbrot_masked(c, most):
    def step(_, state):
        z, counts = state
        inside = z.real**2 + z.imag**2 <= 4.0
        return jnp.where(inside, z * z + c, z), counts + inside

    return lax.fori_loop(0, most, step, (jnp.zeros_like(c), jnp.zeros(c.shape, dtype=jnp.int64)))[1]


def mandelbrot_where(c, most):
    return mandelbrot_masked(c, most)


def mandelbrot_elements(xs, ys, most):
    """All pixels at once, each standing still once it is outside."""
    cx, cy = jnp.meshgrid(xs, ys)

    def step(_, state):
        x, y, counts = state
        inside = x * x + y * y <= 4.0
        x, y = jnp.where(inside, x * x - y * y + cx, x), jnp.where(inside, 2.0 * x * y + cy, y)
        return x, y, counts + inside

    zeros = jnp.zeros_like(cx)
    return lax.fori_loop(0, most, step, (zeros, zeros, jnp.zeros(cx.shape, dtype=jnp.int64)))[2]


def escape_times(xs, ys, most):
    """All pixels at once, each standing still once it is outside."""
    cx, cy = jnp.meshgrid(xs, ys)
    c = cx + 1j * cy

    def step(_, state):
        z, counts = state
        inside = jnp.abs(z) <= 2.0
        return jnp.where(inside, z * z + c, z), counts + inside

    return lax.fori_loop(0, most, step, (jnp.zeros_like(c), jnp.zeros(c.shape, dtype=jnp.int64)))[1]


def newton_basins(xs, ys, most):
    """All places at once, each standing still once it has arrived."""
    x, y = jnp.meshgrid(xs, ys)

    def step(_, state):
        z, steps = state
        goes_on = jnp.abs(z * z * z - 1.0) > 1e-6
        return jnp.where(goes_on, z - (z * z * z - 1.0) / (3.0 * z * z), z), steps + goes_on

    return lax.fori_loop(0, most, step, (x + 1j * y, jnp.zeros(x.shape, dtype=jnp.int64)))[1]


def bilateral(image, radius, spread):
    """All pixels at once, one place in the window after the other."""
    height, width = (length - 2 * radius for length in image.shape)
    centre = image[radius : radius + height, radius : radius + width]
    total = weights = jnp.zeros_like(centre)
    for i, j in itertools.product(range(2 * radius + 1), repeat=2):
        pixels = image[i : i + height, j : j + width]
        weight = jnp.exp(-((pixels - centre) ** 2) / spread)
        total, weights = total + weight * pixels, weights + weight
    return image.at[radius : radius + height, radius : radius + width].set(total / weights)


def flood(levels, start):
    passable = levels < 0.7

    def grow(reached):
        grown = reached.at[1:, :].max(reached[:-1, :]).at[:-1, :].max(reached[1:, :])
        grown = grown.at[:, 1:].max(reached[:, :-1]).at[:, :-1].max(reached[:, 1:])
        return grown & passable | reached

    def step(state):
        _, reached = state
        return reached, grow(reached)

    reached = jnp.zeros(levels.shape, dtype=bool).at[start, start].set(True)
    return lax.while_loop(lambda state: (state[0] != state[1]).any(), step, (reached, grow(reached)))[0]


FORMS = (
    JaxForm(conv2d),
    JaxForm(conv2d_elements),
    JaxForm(mandelbrot_masked, static=("most",)),
    JaxForm(mandelbrot_where, static=("most",)),
    JaxForm(mandelbrot_elements, static=("most",)),
    JaxForm(escape_times, static=("most",)),
    JaxForm(newton_basins, static=("most",)),
    JaxForm(bilateral, static=("radius",)),
    JaxForm(flood),
)

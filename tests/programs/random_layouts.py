"""Random loops that view parts of arrays in several layouts, and hand them to what computes by how they lie: BLAS,
sums, functions of NumPy's. Sizes are such that BLAS and NumPy's sums go by blocks."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.random_gathers import function

PARTS = (
    *("a[:, i]", "a[i]", "a", "a.T", "a[:, i : i + 3]", "a[i : i + 3]", "a[:, ::2]", "a[::2]", "w", "w[::-1]", "w[i:]"),
    *("a.T[i]", "b.T", "b[i]", "c[i]", "c[:, i]", "c[..., i]", "c.transpose(2, 0, 1)[i]", "c.T[i]", "a[:, i][::2]"),
    *("np.array([a[i], a[i + 1]])", "np.stack([a[:, i], a[:, i + 1]])", "np.column_stack([w, a[:, i]])"),
)
VIEWS = (
    *("{x}.T", "{x}.reshape(-1)", "{x}.reshape(1, -1)", "{x}.reshape(-1, 1)", "{x}.reshape(-1, 2)", "{x}.ravel()"),
    *("{x}[None]", "{x}[..., None]", "np.squeeze({x})", "{x}[::2]", "{x}[::-1]", "{x}[..., ::-1]", "np.ravel({x})"),
    *("{x}.flatten()", "{x} * 1.5", "np.atleast_2d({x})", "{x}.copy()", "np.ascontiguousarray({x})", "np.flip({x})"),
    *("{x}.swapaxes(0, -1)", "np.expand_dims({x}, 0)", "np.where({x} > 0.5, {x}, 0.125)", "{x} - {x}.mean(axis=0)"),
    *("np.asarray({x})", "{x}.ravel(order='K')", "{x}.reshape(2, -1)", "np.concatenate([{x}, {x}])", "-{x}"),
)
USES = (
    *("{x} @ {x}.T", "{x}.T @ {x}", "np.dot({x}, {x}.T)", "{x}.sum(axis=0)", "{x}.sum(axis=-1)", "{x}.sum()"),
    *("{x}.mean(axis=-1)", "{x}.var()", "{x}.std(axis=0)", "{x}.prod()", "np.cumsum({x}, axis=0)", "np.exp({x})"),
    *("{x} ** 3.5", "np.linalg.norm({x})", "np.inner({x}, {x})", "np.outer({x}, {x})", "b @ {x}", "{x} @ b.T"),
    *("np.einsum('...i,...i->...', {x}, {x})", "np.max({x}, axis=0)", "np.argmax({x})", "np.sort({x})"),
    *("np.dot({x}.ravel(), {x}.ravel())", "np.median({x})", "np.tanh({x}).sum(axis=0)"),
    "np.convolve({x}.ravel(), w[:3])",
)
# What lies apart, is reshaped, and multiplied: BLAS adds up in another order then.
APART, RESHAPES = ("a[:, i]", "w", "a[:, i][::2]", "a.T[i]", "c[i, :, 2]"), VIEWS[1:6]
PRODUCTS = ("{x} @ v[: {x}.shape[-1]]", "np.dot({x}, v[: {x}.shape[-1]])", "{x} @ {x}.T")
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "packed": lambda x: x,
    "fortran": np.asfortranarray,
    "spread": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "float32": lambda x: x.astype(np.float32),
}


def source(seed: int) -> str:
    """A function of five arrays, numbers that it fills, and how many."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        parts, views, uses = APART, RESHAPES, PRODUCTS
    else:
        parts, views, uses = PARTS, VIEWS, USES
    lines = [f"x = {rng.choice(parts)}"]
    lines += [f"x = {rng.choice(views).format(x='x')}" for _ in range(rng.randrange(3))]
    lines += [f"y = {rng.choice(uses).format(x='x')}", "out[i] += np.sum(y) * 1e-3", "s = s + out[i]"]
    body = "\n        ".join(lines)
    return f"def f(a, b, c, w, v, out, n):\n    s = 0.0\n    for i in range(n):\n        {body}\n    return s, y\n"


def arguments(seed: int, height: int) -> tuple[Any, ...]:
    """Arrays of so many rows, each in a layout of its own."""
    rng, choices = np.random.default_rng(seed), random.Random(seed * 1000 + height)
    raw = rng.random((height, 6)), rng.random((6, height)), rng.random((4, height, 6)), rng.random(height)
    laid = [LAYOUTS[choices.choice(list(LAYOUTS)) if choices.random() < 0.6 else "packed"](one) for one in raw]
    return *laid, rng.random((6 * height, 3)), np.zeros(3), 3


__all__ = ["arguments", "function", "source"]

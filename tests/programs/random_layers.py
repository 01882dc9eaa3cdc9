"""Random functions that go over the layers of arrays of three axes: what one iteration makes, later ones may read.

Leaves the text of a function of a, b, c (three axes), w (a number for each layer) and n, and its arguments. They are so
large that loops run step by step.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_OTHER = ("k", "k", "k", "k - 1", "-1 - k", "0")
_STATEMENTS = (
    "{x}[:, :, {i}] = {y}[:, :, {j}] * 0.5 + {z}[:, :, k]",
    "{x}[:, :, {i}] = np.roll({y}[:, :, {j}], k - 2, axis={e})",
    "t = np.roll({x}[:, :, {i}], 1, axis=0); {x}[:, :, {i}] = np.roll(t, -2, axis={e})",
    *("{x}[:, :, {i}] += {y}[:, :, {j}] * w[{j}]", "{x}[1:-1, :, {i}] = {y}[2:, :, {j}] - {y}[:-2, :, {j}]"),
    *("{x}[:, 2:, {i}] -= {y}[:, :-2, {j}]", "{x}[0, :, {i}] = {y}[-1, :, {j}]", "{x}[:, 0, {i}] = 0.25"),
    *("u = {y}[:, :, {j}] * {z}[:, :, k]", "{x}[:, :, {i}] = u * w[k]", "s = s + w[{j}] * k", "{x}[:, :, {i}] *= s"),
    *("{x}[:, :, {i}] = np.sqrt(np.abs({y}[:, :, {j}])) + k", "{x}[:, :, {i}] = {y}[:, :, {j}] * {y}[3, 2, {j}]"),
    *("{x}[::2, :, {i}] = {y}[::2, :, {j}]", "{x}[:, :, {i}] = {y}[::-1, :, {j}] - 1.0", "{x}[:, :, {i}] += u[0]"),
    *("s = s + float({x}[1, 1, {j}])", "{x}[:, :, {i}] = np.where({y}[:, :, {j}] > {z}[:, :, k], u, 0.5)"),
    *("{x}[5:, :, {i}] = {x}[:-5, :, {i}]", "w[k] = w[{j}] * 0.5", "{x}[:, :, {i}] -= {y}[:, :, {j}].mean()"),
    *("{x}[:, :, {i}] = np.zeros(u.shape) + w[k]", "{x}[:, :, {i}] = {y}[:, :, {j}] / ({z}[:, :, k] + 2.0)"),
    "v = np.zeros(u.shape); v[1:] = {y}[:-1, :, {j}]; {x}[:, :, {i}] = v",
)


def source(seed: int) -> str:
    """The text of ``f(a, b, c, w, n)``."""
    pick = random.Random(seed)
    lines = ["def f(a, b, c, w, n):", "    s, u = 1.0, a[:, :, 0] * 0.5"]
    for _ in range(pick.randint(1, 2)):
        lines.append(f"    for k in range({pick.choice(('n', 'n', '1, n', 'n - 1, -1, -1'))}):")
        for _ in range(pick.randint(1, 4)):
            x, y, z = (pick.choice("abc") for _ in range(3))
            i = pick.choice(_OTHER[:4]) if pick.random() < 0.8 else pick.choice(_OTHER)
            values = {"x": x, "y": y, "z": z, "i": i, "j": pick.choice(_OTHER), "e": pick.randint(0, 1)}
            lines.append("        " + pick.choice(_STATEMENTS).format(**values))
    lines.append(f"    return s, u, {pick.choice('abc')} * 0.5")
    return "\n".join(lines) + "\n"


def arguments(seed: int) -> tuple[Array, Array, Array, Array, int]:
    """Arrays of one shape, in any order of axes, maybe parts of one array; w may be a part of one, too."""
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    rows, columns, layers = pick.randint(40, 70), pick.choice((53, 64, 120)), pick.choice((3, 4, 9))

    def array() -> Array:
        kind = pick.random()
        if kind < 0.6:
            return rng.standard_normal((rows, columns, layers))
        if kind < 0.7:
            return np.asfortranarray(rng.standard_normal((rows, columns, layers)))
        if kind < 0.8:
            return rng.standard_normal((rows, layers, columns)).transpose(0, 2, 1)
        if kind < 0.9:
            return rng.standard_normal((layers, rows, columns)).transpose(1, 2, 0)
        return rng.standard_normal((rows, columns, 2 * layers))[:, :, pick.randint(0, 1) :: 2]

    a, b, c = array(), array(), array()
    if pick.random() < 0.2:
        base = rng.standard_normal((rows, columns, layers + 1))
        a, b = base[:, :, :layers], base[:, :, 1:]
    elif pick.random() < 0.2:
        base = rng.standard_normal((rows + 3, columns, layers))
        a, b = base[:rows], base[3:]
    w = pick.choice((a, b, c))[4, 3] if pick.random() < 0.3 else rng.standard_normal(layers)
    if pick.random() < 0.2:
        c[3, 2, pick.randrange(layers)] = pick.choice((np.inf, np.nan, 1e308))
    return a, b, c, w, layers

"""Random functions with loops that choose elements of small arrays: by masks, by what is not zero, in sorted order.

`source(seed)` is the text of a function f(x, y, k, m, p, n); `arguments(seed, size, n, how)` makes its arguments: x and
y of floats, k of ints, m of bools, all of one length, p a matrix with as many rows. how: "plain", "empty" (nothing is
selected), "full" (all is), "nan" (some are NaN), "spread" (nothing lies packed).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

HOW = ("plain", "empty", "full", "nan", "spread")
_CONDITIONS = (
    *("x > 0.3", "x < y", "k == i % 3", "m", "~m", "(x > 0.2) & m", "k > 1", "x == x.max()", "x != x", "y >= x"),
    *("(k == 2) | (x > 0.8)", "np.isnan(x)", "k % 2 == 0", "x > 9"),
)
_PLACES = (
    *("np.where({c})[0]", "np.nonzero({c})[0]", "np.flatnonzero({c})", "({c}).nonzero()[0]", "np.argsort(x)"),
    *("np.argsort(k, kind='stable')", "x.argsort()[::-1]", "np.flatnonzero(k)", "np.flatnonzero(x)"),
    *("np.unique(k)", "np.unique(k, return_index=True)[1]", "np.argsort(-x)[:3]", "np.nonzero(p > 0.6)[0]"),
    *("np.setdiff1d(np.arange(5), k)", "np.intersect1d(k, np.arange(i, i + 3))", "np.arange(i % 5)"),
    *("np.flatnonzero(np.isin(k, np.arange(i % 3)))", "np.union1d(k, np.flatnonzero({c}))", "np.argsort(p[:, 0])"),
)
_VECTORS = (
    *("x[{c}]", "y[{c}]", "x[w]", "(x * 0.5)[{c}]", "np.arange(4) * 0.5", "np.arange(0, 1, 0.25)"),
    *("p[{c}, 1]", "p[p > 0.5]", "np.unique(x)", "np.append(x, i)", "np.append(x[{c}], y)", "np.delete(x, i % 3)"),
    *("np.concatenate((x[{c}], y[w]))", "np.bincount(k, minlength=3) * 0.5", "np.bincount(k, weights=y)", "p[i % 2]"),
    *("np.cumsum(x[{c}])", "np.sort(x[{c}])", "np.ravel(p[:, 0])", "np.outer(x, y)[0]", "p[{c}].sum(axis=0)"),
    *("p[w].sum(axis=0)", "p[w, 1]", "p[w, k[w] % 3]", "p[w].sum(axis=1)", "np.roll(x, i)", "np.roll(p, i, axis=0)[0]"),
    *("p[0, k % 3]", "np.append(y, x[w])", "np.roll(y, -i % 3)", "p[np.argsort(x)][0]"),
)
_STATEMENTS = (
    *("x[{c}] *= 0.75", "x[{c}] = 0.5", "x[{c}] = y[{c}]", "x[{c}] += y[{c}] * 0.5", "k[{c}] = i"),
    *("p[{c}, 0] *= 0.5", "p[p > 0.7] = 0.25", "p[{c}] = 0.5", "s += v.sum()", "c += len(w)", "s += len(v)"),
    *("if len(w) > 1: s += x[w[1]]", "if len(w): c += w[i % len(w)]", "if v.size: s += v[0] + v[-1]", "c += w.sum()"),
    *("if len(v) > 2: s += v.max()", "s += np.linalg.norm(x)", "k[i % len(k)] = (i * 7) % 4"),
    *("s += np.sum({c})", "c += np.count_nonzero({c})", "x[i % len(x)] *= 0.5", "s += np.dot(np.arange(len(y)), y)"),
    *("if not ({c}).any(): x[0] = 0.5", "s += v[1:].sum()", "if len(w) == 2: break", "y[i % len(y)] = i * 0.25"),
    *("x[w] += 0.25", "x[w] = y[w]", "np.add.at(x, k, 0.5)", "np.add.at(y, k, x)", "p[w, 0] += 1.0", "x[k] = x[::-1]"),
    *("y[k] = 0.5", "p[w] *= 0.5", "p[k, k % 3] -= 0.5", "np.subtract.at(k, w, 1)", "m[k == 1] = x[0] > 0.3"),
    *("p[w] = p[0]", "x[w[::-1]] = i", "if len(w): k[w[0]] += 1", "m[i % len(m)] = not m[0]"),
)


def source(seed: int) -> str:
    """The text of a function."""
    pick = random.Random(seed)

    def condition() -> str:
        return pick.choice(_CONDITIONS)

    lines = ["def f(x, y, k, m, p, n):", "    s = 0.0; c = 0", "    for i in range(n):"]
    lines.append(f"        w = {pick.choice(_PLACES).format(c=condition())}")
    lines.append(f"        v = {pick.choice(_VECTORS).format(c=condition())}")
    lines += [f"        {pick.choice(_STATEMENTS).format(c=condition())}" for _ in range(pick.choice((2, 3, 4)))]
    if pick.random() < 0.2:
        lines.insert(5, f"        if i % 2: w = {pick.choice(_PLACES).format(c=condition())}")
    return "\n".join([*lines, "    return s, c, x, y, k, m, p"]) + "\n"


def function(seed: int) -> Callable[..., Any]:
    """The function with that text."""
    names: dict[str, Any] = {"np": np}
    exec(compile(source(seed), f"<{seed}>", "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


def arguments(seed: int, size: int, n: int, how: str = "plain") -> tuple[Any, ...]:
    """Arguments of f for vectors of `size` elements."""
    rng = np.random.default_rng(seed + 1000 * size)
    x, y, p = rng.random(size), rng.random(size), rng.random((size, 3))
    k, m = rng.integers(0, 4, size), rng.random(size) > 0.5
    if how in ("empty", "full"):
        x[:], y[:], k[:], m[:] = (0.1, 0.05, 3, False) if how == "empty" else (0.9, 0.95, 2, True)
    elif how == "nan" and size:
        x[rng.integers(0, size, 1 + size // 3)] = np.nan
        y[0] = -0.0
    elif how == "spread":
        x, y, k, m = (np.repeat(one, 2)[::2] for one in (x, y, k, m))
        p = np.asfortranarray(p)
    return x, y, k, m, p, n


__all__ = ["HOW", "arguments", "function", "source"]

"""Random functions of three matrices, whose statements read and write them at other rows and columns.

Leaves the text of a function of a, b and c, and its arguments.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_WHOLE = (
    *("{t} = {x} * 0.5 + {y}", "{t} = np.roll({x}, {s}, {k}) - {y}"),
    "{t} = np.roll({x}, {s}, 0) + np.roll({y}, {r}, 1)",
    *("{t} = np.where({x} > {y}, {x}, {y} * 0.25)", "{t} = np.maximum({x}, {y}) - {x}", "{t} = {x} + {x}[0]"),
    *("{t} = {x} - {x}[:, :1]", "{t} = {x}[::-1] * {y}", "{t} = {x} / (np.abs({y}) + 1.0)", "{t} = {x}.copy()"),
    *("{t} = np.exp(-{x} * {x}) + {y}", "{t} = {x} - {x}.mean(axis=1, keepdims=True)", "{t} = {x} + {y}.sum(axis=0)"),
    *("{t} = np.zeros_like({x}); {t}[1:-1, 1:-1] = {x}[2:, 1:-1] - {y}[:-2, 2:]", "{t} = {x} * {y}.max()"),
    "{t} = np.zeros({x}.shape); {t}[:, 2:] = {x}[:, :-2] * {y}[:, 2:]",
    "{t} = np.zeros({x}.shape); {t}[2:] += {y}[:-2]",
    *("{t} = np.zeros_like({x}); {t}[:-1] = {x}[1:] - {x}[:-1]", "{t} = np.ones({x}.shape); {t}[:, 1:] += {y}[:, :-1]"),
    "z = np.empty_like({x}); z[:] = {x}; z[1:] -= {y}[:-1]; {t} = z",
    "{t} = np.full({x}.shape, 2.5); {t}[::2] = {x}[::2]",
)
_INSIDE = (
    *("{x}[1:-1] += {y}[2:] - {y}[:-2]", "{x}[0] = {x}[-2]", "{x}[-1] = {x}[1]", "{x}[:, 0] = {x}[:, -2]"),
    *("{x}[2:-2, 1:-1] = {y}[4:, 1:-1] * 0.5 - {y}[:-4, 2:]", "{x} *= 0.75", "{x} += {y}", "{x}[:, -1] = 0.0"),
    *("{x}[0, :] = 0.0", "{x}[-3:] = {y}[:3]", "{x}[3:] = {x}[:-3] * 0.5", "{x}[:-1] = {x}[1:]"),
    "{x}[:, 1:] -= {y}[:, :-1]",
    *("{x}[...] = {y}", "{x}[1::2] = {y}[::2][:{x}[1::2].shape[0]] * 2.0", "{x}[5] += {y}[7]"),
    "{x}[{s} + 3:, 2:] = {y}[:-{s} - 3, :-2]",
)


def source(seed: int) -> str:
    """The text of ``f(a, b, c)``."""
    pick = random.Random(seed)
    names = ["a", "b", "c"]
    body = []
    for number in range(pick.randint(3, 12)):
        x, y = pick.choice(names), pick.choice(names)
        values = {"x": x, "y": y, "s": pick.choice((1, -1, 2, 3)), "r": pick.choice((1, -2)), "k": pick.randint(0, 1)}
        if pick.random() < 0.6:
            name = f"t{number}" if pick.random() < 0.8 else pick.choice(names)
            body.append(pick.choice(_WHOLE).format(t=name, **values))
            names += [name] * (2 if name not in names else 0)
        else:
            body.append(pick.choice(_INSIDE).format(**{**values, "s": abs(int(values["s"]))}))
    shown = sorted({*pick.sample(names, min(len(names), pick.randint(1, 4))), names[-1]})
    return "\n    ".join(["def f(a, b, c):", *body, f"return {', '.join(shown)},"]) + "\n"


def arguments(seed: int) -> tuple[Array, Array, Array]:
    """Three matrices of one shape, in any order of axes, maybe parts of one array."""
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    rows, columns = pick.randint(14, 60), pick.choice((5, 8, 13, 33, 120))

    def matrix() -> Array:
        kind = pick.random()
        if kind < 0.6:
            return rng.standard_normal((rows, columns))
        if kind < 0.7:
            return np.asfortranarray(rng.standard_normal((rows, columns)))
        if kind < 0.8:
            return rng.standard_normal((rows + 2, columns + 3))[1:-1, 2:-1]
        if kind < 0.9:
            return rng.standard_normal((2 * rows, columns))[::2]
        return rng.standard_normal((rows, columns))[::-1]

    a, b, c = matrix(), matrix(), matrix()
    if pick.random() < 0.15:
        base = rng.standard_normal((rows + 3, columns))
        a, b = base[:rows], base[3:]
    return a, b, c

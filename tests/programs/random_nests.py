"""Random nests of loops over numbers: sums that begin as another kind, None, bools or tuples; attributes, lists, calls
of functions with loops of their own; inner loops that may have no iteration; arrays that grow.

A seed gives the text of ``f(x, n, o, rows)`` and the arguments that it is called with, for several n.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

NAMES = ("s", "t", "u", "w", "best", "k")
BEGINNINGS = ("0", "0.0", "1", "None", "True", "x[0]", "np.float64(1.5)", "(0, 1.0)")
VALUES = ("2", "0.5", "1", "3.25", "o.n", "x[0]", "x[-1]", "g(1)", "g(x[2])", "g(o.t)", "o.f(2)", "o.f(o.n)")
COUNTS = (7, 2, 0)


class Holder:
    def __init__(self) -> None:
        self.a, self.n, self.t = np.linspace(0.1, 0.4, 4), 5, 0

    def f(self, q: Any) -> Any:
        s = 0
        for r in range(self.n):
            s += self.a[r % 4] * q
        return s


def g(v: Any) -> Any:
    z = 0
    for _ in range(4):
        z = z + v * 0.5
    return z


def num(v: Any) -> Any:
    return v if type(v) is not tuple and v is not None else 1


SPACE = {"np": np, "g": g, "num": num}


def arguments(seed: int, call: int) -> tuple[Any, ...]:
    counts = (random.Random(seed).choice((0, 1, 3, 7)), *COUNTS)
    return np.random.default_rng(seed).random(6), counts[call], Holder(), [[1.5, 2, 0.5, 3]] * 3


def source(seed: int) -> str:
    """The text of f."""
    pick = random.Random(f"nests {seed}")
    lines = [f"    {name} = {pick.choice(BEGINNINGS)}" for name in NAMES]
    lines += ["    out = []", *(f"    {index} = 0" for index in "ijm")]

    def value(depth: int) -> str:
        chosen = pick.random()
        if chosen < 0.25:
            return f"num({pick.choice(NAMES)})"
        if depth and chosen < 0.4:
            return pick.choice("ijm"[:depth])
        if chosen < 0.55:
            return pick.choice((f"o.a[{pick.randrange(4)}]", f"rows[{pick.randrange(3)}][{pick.randrange(4)}]"))
        return pick.choice(VALUES)

    def statement(indent: str, depth: int) -> None:
        chosen, name = pick.random(), pick.choice(NAMES)
        if chosen < 0.15:
            lines.append(f"{indent}{name} = {value(depth)}")
        elif chosen < 0.3:
            lines.append(f"{indent}{name} = num({name}) {pick.choice('+-*')} {value(depth)}")
        elif chosen < 0.45:
            lines.append(f"{indent}if {value(depth)} > {value(depth)}:")
            statement(indent + "    ", depth)
            if pick.random() < 0.4:
                lines.append(f"{indent}else:")
                statement(indent + "    ", depth)
        elif chosen < 0.75 or depth == 3:
            targets = ("o.t = o.t +", f"o.a[{pick.randrange(4)}] =", f"x[{pick.randrange(6)}] =")
            effects = (*(f"{target} {value(depth)}" for target in targets), f"out.append({value(depth)})")
            lines.append(indent + pick.choice((*effects, f"x = np.append(x, {value(depth)})[-9:]")))
        else:
            loop(indent, depth)

    def loop(indent: str, depth: int) -> None:
        index = "ijm"[depth]
        bounds = ("n", "1, n", str(pick.randrange(14)), "ijm"[depth - 1] if depth else "n", "o.n")
        if pick.random() < 0.75:
            lines.append(f"{indent}for {index} in range({pick.choice(bounds)}):")
        else:
            lines.extend((f"{indent}{index} = 0", f"{indent}while {index} < n:", f"{indent}    {index} += 1"))
        for _ in range(pick.randrange(1, 4)):
            statement(indent + "    ", depth + 1)

    for _ in range(pick.randrange(1, 3)):
        statement("    ", 0)
    loop("    ", 0)
    statement("    ", 0)
    lines.append(f"    return {', '.join(NAMES)}, out, x, o.t, o.a")
    return "\n".join(["def f(x, n, o, rows):", *lines])

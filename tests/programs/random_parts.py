"""Random functions of three vectors that may show each other's memory: parts of one array, in any direction.

Leaves the text of a function of a, b and c, and how its calls make them.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PARTS = (
    *("[:]", "[1:-1]", "[2:]", "[:-2]", "[::2]", "[1::2]", "[::-1]", "[1:-1:2]", "[-2:0:-1]", "[0:4]", "[-5:]"),
    "[3:7]",
)
_STATEMENTS = (
    *("{a}[...] = {b}", "{a}[1:] = {b}[:-1]", "{a}[:] = {b}; {c}[...] = {a}", "{b} *= 2.0; {a}[...] = {b}"),
    *("{a}[::2] = {b}[:len({b}[::2])]", "{a}[...] = {b}*0.5 + {c}", "{a} += {b}", "{a}[1:] = {b}[:-1]*2.0"),
    *("t = {b} + {c}; {a} *= 0.5; s += t.sum()", "{a}[::-1] -= {b}", "s += {a}.sum() + {b}[0]"),
    *("if {a}[0] > {b}[1]:\n        raise ValueError(1)", "np.multiply({a}, {b}, out={c})", "{a}[{b} > 0.5] = 0.25"),
    *("d = {a}[1:] - {a}[:-1]; {b}[:-1] += d", "np.copyto({a}, {b})", "r.append({a})", "{a}[:] = np.sort({b})"),
    *("{a}[-1] = {b}[0]", "z = {a} if s > 1.0 else {b}; z += 0.5", "{a}, {b} = {b}, {a}"),
    "for i in range(3):\n        {a}[i] = {b}[i+1]*0.5 + {c}[i]",
    "for i in range(4):\n        {a} += 0.1*{b}\n        s += {c}[i]",
    "x = {a}\n    for i in range(3):\n        x = x*0.5 + {b}\n    {a}[...] = x",
    "w = {a}\n    for i in range(3):\n        w[i] += {b}[i]\n        w = {c} if i % 2 else {a}",
)
_RESULTS = ("s", "a", "(a, b, s)", "b + c", "(s, r)", "(a[1:], c, r)")


def source(seed: int) -> str:
    """The text of ``f(a, b, c)``."""
    pick = random.Random(seed)
    body = ["s = 0.0", "r = []"]
    for _ in range(pick.randint(2, 5)):
        names = ["a", "b", "c"]
        pick.shuffle(names)
        if pick.random() < 0.3:
            names[2] = names[1]
        body.append(pick.choice(_STATEMENTS).format(a=names[0], b=names[1], c=names[2]))
    return "\n    ".join(["def f(a, b, c):", *body, f"return {pick.choice(_RESULTS)}"]) + "\n"


class Call:
    """The arguments of one call, each time anew in memory of their own."""

    def __init__(self, pick: random.Random) -> None:
        self.size = pick.randint(9, 14)
        self.parts = [pick.choice(PARTS) for _ in range(3)]
        self.apart, self.same, self.column = (pick.random() < share for share in (0.3, 0.2, 0.2))

    def arguments(self) -> tuple[list[Array], dict[str, Array]]:
        """a, b and c, and the arrays that they are parts of."""
        rng = np.random.default_rng(self.size)
        base = rng.random((self.size, 3))[:, 1] if self.column else rng.random(self.size)
        other = rng.random(self.size)
        places = [base, base, other if self.apart else base]
        parts = [eval(f"array{text}", {"array": array}) for array, text in zip(places, self.parts, strict=True)]
        size = min(map(len, parts))
        parts = [part[:size] for part in parts]
        if self.same:
            parts[1] = parts[0]
        return parts, dict(zip("abc", parts, strict=True)) | {"base": base, "other": other}


def calls(seed: int) -> list[Call]:
    """Of some kinds, each more than once."""
    pick = random.Random(-1 - seed)
    one, other, third = (Call(pick) for _ in range(3))
    return [one, one, other, one, third, other]

"""Random functions over Python ints and floats, of which `is` can tell which object each result is.

Enters a seed; leaves the text of a function f(u, n, k, m, f, g, thing), with a loop or none, and its arguments. Numbers
change places, are set again, computed anew though they are equal, chosen, handed through functions and attributes. With
branches on data outside of loops, arrays and views of them do so, too, and some ways return or raise.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

INTS, FLOATS = ("k", "m", "a", "b", "c"), ("f", "g", "x", "y", "z")
_OF_INTS = (
    *("{v}", "{v}", "{v}", "{v} + 0", "{v} * 1", "{v} + 1 - 1", "{v} - 0", "{v} // 1", "{v} + 1", "{v} - {w} + {w}"),
    *("+{v}", "abs({v})", "int({v})", "1000", "0", "max({v}, {w})", "min({v}, {w})", "{v} % 70001", "{v} * 2", "-{v}"),
    *("-(-{v})", "{v} | 0", "{v} >> 0", "{v} - {v} + 1000", "500 * 2", "{v}.real", "{v} % 2**40"),
)
_OF_FLOATS = (
    *("{v}", "{v}", "{v} * 1.0", "{v} + 0.0", "+{v}", "abs({v})", "float({v})", "0.0", "1.5", "{v} + 1.0", "{v}.real"),
    *("max({v}, {w})", "min({v}, {w})", "{v} * 0.5", "float(u[0])", "float(u[1])", "{v} if {c} else {w}", "0.5 * 3.0"),
    "float(u.sum())",
)
_OTHERS = (
    *("a, b = b, a", "x, y = y, x", "x, y, z = z, x, y", "x, a = pair({f}, {i})", "p = a, x; b, y = p"),
    *("thing.a = {v}", "thing.a = thing.a + 0", "thing.b = {w}", "y = thing.b", "c = thing.a", "z = half({w}, {x})"),
    "b = clip({v})",
)
_ARRAYS = (
    *("{v} = {w}", "{v} = u", "{v} = {w} * 2.0", "{v} = {w}[1:]", "{v} = {w}[::-1]", "{v} = {v} + {w}[:1]"),
    *("{v}[0] = {x}", "u[1] = {x}", "{v} += 1.0", "{v} *= {w}[:1]", "x = {v}[0]", "y = {v}.sum()"),
    "z = float({w}[-1])",
    *("{v} = same_or({w})", "x = sign({x})", "y = {v}.max() / {x}", "{v} = np.where({w} > 0.5, {w}, 0.0)"),
    *("z = {v}.mean()", "{v} = u.copy()", "x = {v}.item(0)", "a = int({v}[0])", "b = len({v})", "c = {v}.argmax()"),
    *("p = ({v}, {x})", "{v} = p[0]", "x = p[1]", "p = {v}, a", "{v} = {w}.reshape(-1, 1)[:, 0]", "q = None"),
    *("q = {x}", "q = {v}", "thing.a = {x}", "thing.b = {v}", "x = thing.b", "y = max({x}, y)", "u = u * 2.0"),
    "i = True",
    "a = 7 if q is None else 1000",
)
_ENDS = (
    *("return {v}, a, x", "return {v}", "return", "return x", "return p", "return 1.5", "raise ValueError(a)"),
    "print(a)",
)


class Thing:
    """What has two numbers."""

    a: Any = None
    b: Any = None


def pair(x: Any, a: Any) -> Any:
    return x, a


def half(x: Any, y: Any) -> Any:
    if x > y:
        return x
    return y * 0.5


def clip(a: Any) -> Any:
    if a > 60000:
        return 60000
    if a < 0:
        return -a
    return a


def sign(x: Any) -> Any:
    if x > 0:
        return 1.0
    elif x < 0:
        return -1.0
    return x


def same_or(v: Any) -> Any:
    if v[0] > 0.5:
        return v
    return v * 0.5


class _Writer:
    def __init__(self, seed: int, branches: bool = False) -> None:
        self.pick = random.Random(seed)
        self.branches = branches
        self.in_loop = False

    def ints(self) -> str:
        names = (*INTS, "i") if self.in_loop else INTS
        return self.pick.choice(_OF_INTS).format(v=self.pick.choice(names), w=self.pick.choice(INTS))

    def floats(self) -> str:
        v, w = self.pick.choice(FLOATS), self.pick.choice(FLOATS)
        return self.pick.choice(_OF_FLOATS).format(v=v, w=w, c=self.condition())

    def condition(self) -> str:
        pick = self.pick
        if self.branches:
            return self.of_data()
        if not self.in_loop:
            return f"n > {pick.choice((0, 3))}"
        element = f"u[{pick.randrange(3)}]"
        return pick.choice(
            (
                f"{element} > {pick.choice((0.05, 0.3, 1.0, 3.0))}",
                f"{pick.choice(FLOATS)} < float({element})",
                f"i % {pick.choice((2, 3))} == {pick.choice((0, 1))}",
                f"{pick.choice(INTS)} > {pick.choice(INTS)}",
            )
        )

    def of_data(self) -> str:
        pick = self.pick
        element = f"{pick.choice('uvw')}[{pick.choice((0, 1, -1))}]"
        parts = (
            *(f"{element} > {pick.choice((0.05, 0.3, 1.0, 3.0))}", f"{pick.choice(FLOATS)} < {element}"),
            *(f"{element} >= v[0]", f"u.sum() < {pick.choice((0.5, 2.0, 6.0))}", f"{pick.choice(INTS)} > a"),
            *(f"float({element}) != {pick.choice('xyz')}", f"{element} > 0.5 or {pick.choice(FLOATS)} > 1.0", "n > 2"),
            *(f"{element} > 0.2 and w[0] < 2.0", f"not {element} > 0.7", "x > y", "z", "q is None"),
        )
        return pick.choice(parts)

    def arrays(self, text: str) -> str:
        v, w = self.pick.sample("vw", 2)
        return text.format(v=v, w=w, x=self.pick.choice(FLOATS))

    def block(self, indent: str, depth: int) -> list[str]:
        pick, lines = self.pick, list[str]()
        for _ in range(pick.randrange(1, 4)):
            if self.branches and pick.random() < 0.4:
                lines.append(indent + self.arrays(pick.choice(_ARRAYS)))
                continue
            if self.branches and depth and pick.random() < 0.06:
                lines.append(indent + self.arrays(pick.choice(_ENDS)))
            kind = pick.random()
            if kind < 0.35:
                lines.append(f"{indent}{pick.choice('abc')} = {self.ints()}")
            elif kind < 0.7:
                lines.append(f"{indent}{pick.choice('xyz')} = {self.floats()}")
            elif kind < 0.75:
                lines.append(f"{indent}{pick.choice('abc')} += {pick.choice((0, 1, 1, 2))}")
            elif kind < 0.82 and self.in_loop:
                v, w, x = pick.choice(INTS), pick.choice(FLOATS), pick.choice(FLOATS)
                line = pick.choice(_OTHERS).format(v=v, w=w, x=x, f=self.floats(), i=self.ints())
                lines += [indent + part for part in line.split("; ")]
            elif kind < 0.97 and depth < 2:
                lines += [f"{indent}if {self.condition()}:", *self.block(indent + "    ", depth + 1)]
                if pick.random() < 0.5:
                    lines += [f"{indent}else:", *self.block(indent + "    ", depth + 1)]
            else:
                lines.append(f"{indent}u = u * 0.5")
        return lines

    def straight(self) -> list[str]:
        """What stands in place of a loop."""
        lines = self.block("    ", 1)
        for _ in range(self.pick.randrange(1, 4) if self.branches else 0):
            lines += [f"    if {self.of_data()}:", *self.block("        ", 1)]
            if self.pick.random() < 0.3:
                lines += [f"    elif {self.of_data()}:", *self.block("        ", 1)]
            if self.pick.random() < 0.6:
                lines += ["    else:", *self.block("        ", 1)]
            lines += self.block("    ", 2) if self.pick.random() < 0.4 else []
        return lines

    def loop(self) -> list[str]:
        pick = self.pick
        kind = pick.choice(("for", "for", "while", "nest"))
        head = "    while u[0] > 1e-2:"
        if kind != "while":
            head = f"    for i in range({pick.choice(('n', '300, 300 + n', '300, 300 + 3 * n, 3'))}):"
        self.in_loop = True
        lines = [head, "        u = u * 0.5", *self.block("        ", 0)]
        if kind == "while":
            lines.append("        i += 1")
        if kind == "nest":
            lines.append(f"        for j in range({pick.choice(('3', 'n', '400, 402'))}):")
            lines += self.block("            ", 1)
            lines += self.block("        ", 1) if pick.random() < 0.5 else []
        if pick.random() < 0.2:
            lines += ["        if u[1] < 0.02:", "            break"]
        self.in_loop = False
        return lines


def source(seed: int, loops: bool = True, branches: bool = False) -> str:
    """The text of f. branches: those outside of loops are on data."""
    writer = _Writer(seed, branches)
    pick = writer.pick
    kept = pick.choice((0.25, 0.5, 0.9))
    lines = [
        "def f(u, n, k, m, f, g, thing):",
        "    a = k; b = 0; c = m; x = f; y = 0.0; z = g; i = 0; j = 0",
        *(["    v = u; w = u * 2.0; p = u, x; q = None"] if branches else []),
        *(writer.block("    ", 1) if not loops or pick.random() < 0.4 else []),
        *(writer.loop() if loops else [*writer.straight(), "    u = u * 0.5 + u"]),
    ]
    if pick.random() < 0.3:
        lines.append(f"    thing.a = {pick.choice(INTS)}; thing.b = {pick.choice(FLOATS)}")
    results = [name for name in (*"abcxyzijkf",) if pick.random() < kept]
    if branches:
        results += [name for name in "vwpq" if pick.random() < kept]
    return "\n".join([*lines, f"    return {', '.join(['u', *results])},"]) + "\n"


def function(text: str) -> Callable[..., Any]:
    """f itself."""
    namespace: dict[str, Any] = {"np": np, "pair": pair, "half": half, "clip": clip, "sign": sign, "same_or": same_or}
    exec(text, namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def arguments(seed: int) -> tuple[Any, ...]:
    """An array and numbers, most of them objects of their own."""
    pick = random.Random(seed)
    u = np.array([pick.random() for _ in range(3)]) * pick.choice((0.05, 1.0, 4.0, 50.0))
    k, m = int(pick.choice(("7", "1000", "70000"))), int(pick.choice(("-3000", "1000", "5")))
    f, g = float(pick.choice(("1.5", "0.0", "-2.25"))), float(pick.choice(("1.5", "100.0", "0.2")))
    shared = pick.random() < 0.2
    return u, pick.choice((0, 1, 2, 5, 9)), k, k if shared else m, f, f if shared else g

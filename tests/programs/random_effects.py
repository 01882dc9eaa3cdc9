"""Random functions whose loops change what others can see: attributes, keys, items, globals, closure variables, prints.

Enters a seed; leaves the text of a function f(p, o, st, l, n, x), of its own globals, and `run`, which calls one with
fresh objects and gives all that can be seen afterwards: values, which objects are one, printed text, the exception.
"""

from __future__ import annotations

import builtins
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

PLACES = ("p.u", "p.v", "o.u", "o.v", 'st["u"]', 'st["v"]', "l[0]", "l[1]", "G", "H", "x", "y")
NUMBERS = ("p.t", "p.k", "o.t", 'st["k"]', 'st["t"]', "l[2]", "K", "k", "t")
CONDITIONS = (
    *("i % 3 == 1", "i == 2", "i > 5", "k > 6", "t > 1.5", "x.sum() < 2.0", "p.u[0] > 0.4", "p.t > 1.0"),
    *("p.k % 4 == 2", 'st["u"][1] < 0.7', "K > 9", "l[0].sum() > 3.0", "y[0] > x[0]"),
)
RANGES = ("n", "n", "9", "1, n, 2", "n, 0, -1")
ITEMS = (
    *("{i} in INTS", "{i}, e in enumerate(A)", "{i}, e in enumerate(FLOATS)", "e, {i} in zip(A, range(n))"),
    *("{i} in reversed(range(n))", "e, {i} in zip(FLOATS, INTS)", "{i}, (e, q) in enumerate(zip(A, FLOATS), 1)"),
    *("{i} in [m * 2 for m in range(n)]", "{i} in INTS[1:]", "{i} in A.astype(int).tolist()", "{i}, e in PAIRS"),
    *("{i}, e in enumerate(reversed(A))", "{i} in np.arange(n)", "{i}, e in zip(range(n, 0, -1), FLOATS[:4])"),
)


class Thing:
    """An object with attributes."""


def text_of(seed: int, prints: bool = True) -> str:
    """The text of f."""
    pick = random.Random(seed)
    lines = ["def f(p, o, st, l, n, x):", "    global G, H, K", "    y, k, t, j, e = x * 2.0, 0, 0.0, 0, 1.0"]
    depth, loops = 1, 0

    def array() -> str:
        place = pick.choice(PLACES)
        sum_ = f"{place} + {pick.choice(PLACES)} * 0.1"
        return pick.choice((f"{place} * 0.9", sum_, f"np.sin({place})", place, f"{place} * e"))

    def number() -> str:
        place = pick.choice(NUMBERS)
        return pick.choice((f"{place} + 1", f"{place} + 0.25", "i", "i * 2 + 1", place, "j", f"{place} * 3 % 7"))

    def statement() -> list[str]:
        kind = pick.random()
        if kind < 0.35:
            return [f"{pick.choice(PLACES)} = {array()}"]
        if kind < 0.6:
            return [f"{pick.choice(NUMBERS)} = {number()}"]
        if kind < 0.66:
            return [f"{pick.choice(NUMBERS)} += {pick.choice(('1', '0.5', 'j + 1'))}"]
        if kind < 0.7:
            return [f"{pick.choice(PLACES)} *= 0.5"]
        if kind < 0.74:
            return [f"bump({pick.choice(('p', 'o'))}, {pick.choice(PLACES)})"]
        if kind < 0.92:
            ahead = f"if {pick.choice(CONDITIONS)}:"
            body = [line for _ in range(pick.choice((1, 1, 2))) for line in statement()]
            found = [ahead, *("    " + line for line in body)]
            if pick.random() < 0.4:
                found += ["else:", *("    " + line for line in statement())]
            return found
        if prints and kind < 0.97:
            shown = pick.choice(("i", "k", "p.k", "t", "x[0]", 'st["k"]', "i, j", "p.u[1]", "e"))
            return [f"if {pick.choice(CONDITIONS)}: print({shown})" if pick.random() < 0.8 else f"print({shown})"]
        ways = ("break", "return x, y, k, t", "raise ValueError(i)", "continue", "return p.u")
        return [f"if {pick.choice(CONDITIONS)}: {pick.choice(ways)}"]

    def block(depth: int, indent: str, inner: str) -> None:
        nonlocal loops
        for _ in range(pick.randint(1, 4)):
            if depth < 2 and loops < 3 and pick.random() < 0.35:
                loop(depth + 1, indent)
            else:
                lines.extend(indent + line for line in statement())

    def loop(depth: int, indent: str) -> None:
        nonlocal loops
        loops += 1
        name = "ij"[depth - 1] if depth < 3 else "m"
        if pick.random() < 0.2:
            counter = f"w{loops}"
            lines.append(f"{indent}{counter} = 0")
            lines.append(f"{indent}while {counter} < n:")
            lines.append(f"{indent}    {counter} += 1")
        else:
            numbers = f"{name} in range({pick.choice(RANGES)})"
            lines.append(f"{indent}for {numbers if pick.random() < 0.5 else pick.choice(ITEMS).format(i=name)}:")
        block(depth, indent + "    ", name)

    lines.append("    i = 0")
    while loops < 2 and len(lines) < 40:
        if loops == 0 or pick.random() < 0.5:
            loop(1, "    ")
        else:
            made = statement()
            if not any("break" in line or "continue" in line for line in made):  # which stand in loops
                lines.extend("    " + line for line in made)
    del depth
    lines.append("    return x, y, k, t, i, j, e")
    return "\n".join(lines) + "\n"


def function(text: str) -> Callable[..., Any]:
    """f, with globals of its own."""
    bump = "def bump(p, a):\n    p.v = a + 0.5\n    p.k = p.k + 1\n"
    namespace: dict[str, Any] = {"np": np, "__name__": "user"}
    exec(compile(bump + text, "<random effects>", "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def run(plain: Callable[..., Any], called: Callable[..., Any], seed: int, n: int) -> list[Any]:
    """All that can be seen after called(...), a function compiled from `plain`, or it."""
    source = np.random.default_rng(seed)
    shown: list[Any] = []
    namespace = plain.__globals__  # type: ignore[attr-defined]
    namespace["print"] = lambda *args: shown.append(tuple(map(repr, args)))
    p, o = Thing(), Thing()
    if seed % 5 == 4:
        o = p
    for one in (p, o):
        one.u, one.v, one.t, one.k = source.random(6), source.random(6), 0.5, 300  # type: ignore[attr-defined]
    st = {"u": source.random(6), "v": source.random(6), "k": 1, "t": 0.25}
    items = [source.random(6), source.random(6), 400]
    namespace.update(G=source.random(6), H=source.random(6), K=1000)
    namespace.update(INTS=list(range(n)), FLOATS=[0.5 + k / 8 for k in range(n)], A=np.linspace(0.5, 1.5, n))
    namespace["PAIRS"] = [(k, 1.0 + k) for k in range(n)]
    before = [*vars(p).values(), *vars(o).values(), *st.values(), *items, *(namespace[name] for name in "GHK")]
    x = source.random(6)
    outcome: Any
    try:
        outcome = called(p, o, st, items, n, x)
    except ValueError as error:
        outcome = ("raised", str(error))
    kept = outcome if isinstance(outcome, tuple) else (outcome,)
    after = [*vars(p).values(), *vars(o).values(), *st.values(), *items, *(namespace[name] for name in "GHK")]
    every = [*before, x, *after, *kept]
    same = [next(place for place, other in enumerate(every) if other is one) for one in every]
    names = [list(vars(p)), list(vars(o)), list(st), len(items)]
    return [[(type(one).__name__, repr(one)) for one in every], _telling(every, same), names, shown]


def _telling(every: list[Any], same: list[int]) -> list[int]:
    """Which objects are one, but for the small ints and bools that always are."""
    always = (builtins.bool, types.NoneType)
    small = [isinstance(one, always) or (type(one) is int and -5 <= one <= 256) for one in every]
    return [-1 if is_small else place for is_small, place in zip(small, same, strict=True)]

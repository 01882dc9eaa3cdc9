"""Random functions with loops that change copies of vectors and keep them, or others, in some iterations.

`source(seed)` is the text of a function f(a, b, k, n); `arguments(seed, size, n)` makes its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

_FIRST = ("a.copy()", "c.copy()", "a + 1", "a * c", "b[::-1].copy()", "a")
_SECOND = ("c.copy()", "y.copy()", "a.copy()", "c - a", "y")
_CONDITIONS = ("k[i % len(k)] > 1", "i % 2", "y[0] > a[0]", "k[0] < 2")


def source(seed: int) -> str:
    """The text of a function."""
    pick = random.Random(seed)
    lines = ["def f(a, b, k, n):", "    c = b.copy(); s = 0.0; out = []", "    for i in range(n):"]
    lines += [f"        y = {pick.choice(_FIRST)}", f"        z = {pick.choice(_SECOND)}"]

    def one() -> str:
        return pick.choice(("a", "c", "y", "z"))

    def statement(indent: str, depth: int) -> None:
        kind = pick.random()
        if kind < 0.3:
            place, value = pick.choice(("0", "i % len(a)", "-1")), pick.choice(("i", "0.5", "k[i % len(k)]", "a[0]"))
            lines.append(f"{indent}{pick.choice('yzyzc')}[{place}] {pick.choice(('=', '+='))} {value}")
        elif kind < 0.6:
            lines.append(f"{indent}{pick.choice('ac')} = {one()}")
        elif kind < 0.7:
            lines.append(f"{indent}s += {one()}.sum()")
        elif kind < 0.75:
            lines.append(f"{indent}a, c = {one()}, {one()}")
        elif depth < 2:
            lines.append(f"{indent}if {pick.choice(_CONDITIONS)}:")
            for _ in range(pick.choice((1, 2))):
                statement(indent + "    ", depth + 1)
            if pick.random() < 0.5:
                lines.append(f"{indent}else:")
                statement(indent + "    ", depth + 1)
        else:
            lines.append(f"{indent}s += 1.0")

    for _ in range(pick.choice((3, 4, 5))):
        statement("        ", 0)
    if pick.random() < 0.15:
        lines.append("        out.append(y)")
    return "\n".join([*lines, "    return a, c, s, out, a is c"]) + "\n"


def function(seed: int) -> Callable[..., Any]:
    """The function with that text."""
    names: dict[str, Any] = {"np": np}
    exec(compile(source(seed), f"<{seed}>", "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


def arguments(seed: int, size: int, n: int) -> tuple[Any, ...]:
    """Arguments of f for vectors of `size` numbers."""
    rng = np.random.default_rng(seed + size)
    return rng.random(size), rng.random(size), rng.integers(0, 4, 5), n


__all__ = ["arguments", "function", "source"]

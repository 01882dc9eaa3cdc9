"""Ways out of the loops of random functions.

Enters the text of a function from random_loops.py with choices; leaves that of one in which some `break` has become a
`return` or a `raise`, or prints first, and some loops have an `else`.
"""

from __future__ import annotations

import random

_RETURNS = ("return a, b, s", "return i, f", "return", "return a + c, j", "raise ValueError(i)", "print(i, f); break")


def with_ways(text: str, seed: int) -> str:
    """The text of f, changed."""
    pick = random.Random(seed)
    lines: list[str] = []
    open_: list[tuple[int, str | None]] = []  # indents of the loops under way, and what their else does
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        while open_ and depth <= open_[-1][0]:
            indent, orelse = open_.pop()
            if orelse is not None:
                lines += [" " * indent + "else:", " " * (indent + 4) + orelse]
        if line.lstrip().startswith(("for ", "while ")):
            orelse = pick.choice(("c = c + 1.0", "j = 100", "return b, c", "print(j)"))
            open_.append((depth, orelse if pick.random() < 0.4 else None))
        if line.strip() == "break" and pick.random() < 0.6:
            line = " " * depth + pick.choice(_RETURNS)
        lines.append(line)
        if depth >= 8 and line.rstrip().endswith(":") is False and pick.random() < 0.04:
            condition = pick.choice(("f > 0.6", "j > i", "s > 0.4", "i > 4", "a[0] > b[1]"))
            lines.append(" " * depth + f"if {condition}: {pick.choice(_RETURNS)}")
    return "\n".join(lines) + "\n"

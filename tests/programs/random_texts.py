"""Random programs of loops over strings from outside: characters compared, counted, kept, carried and returned.

A seed gives a program's text and the strings and numbers that it is called with: of one to four bytes a character,
empty, short and long, and now and then of another type.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

CONDITIONS = (
    *("{c} == 'A'", "{c} != 'C'", "{c} in 'GT'", "{c} not in ('A', 'é')", "ord({c}) > 70", "{c} > 'B'"),
    *("a % 3 == 1", "{c} == s[0]"),
)
STATEMENTS = (
    *("a += 1", "a = (a * 31 + ord({c})) % 1009", "out.append(a)", "out.append(ord({c}))", "out.append({c})"),
    *("before = {c}", "z = z + a", "b += x[a % len(x)]", "b = b + ({c} == s[n % max(1, len(s))])"),
    *("if before == {c}: a += 5", "if {condition}: continue", "if {condition}: break"),
    *("if {condition}: return a, b, out", "if {condition}: a += 2\n{indent}else: b = b * 0.5 + 1"),
)
HEADERS = (
    *("for {c} in {one}:", "for i{deep}, {c} in enumerate({one}):", "for {c}, d{deep} in zip({one}, {other}):"),
    *("for i{deep}, ({c}, d{deep}) in enumerate(zip({one}, {other})):", "for {c} in {one}[1:]:"),
    "for i{deep} in range(len({one})):\n{indent}    {c} = {one}[i{deep}]",
)
CALLS = 6
LETTERS = ("ACGT", "ACGTé", "ACŁ😀", "AB")


class OfStr(str):
    """Of another type than those from which characters are taken."""


def source(seed: int) -> str:
    """The text of a function f(s, t, x, n)."""
    draw = random.Random(seed)
    lines = ["def f(s, t, x, n):", "    a, b, out, before, z = 0, 1.0, [], None, x * 2"]

    def add_loop(indent: str, deep: int) -> None:
        one, other = draw.choice(["st", "ts"])
        names: dict[str, Any] = {"c": f"c{deep}", "deep": deep, "one": one, "other": other, "indent": indent}
        lines.append(indent + draw.choice(HEADERS).format(**names))
        names["indent"] = indent = indent + "    "
        for _ in range(draw.randint(1, 3)):
            if deep < 2 and draw.random() < 0.1:
                add_loop(indent, deep + 1)
                continue
            condition = draw.choice(CONDITIONS).format(**names)
            lines.append(indent + draw.choice(STATEMENTS).format(condition=condition, **names))

    for _ in range(draw.randint(1, 2)):
        add_loop("    ", 0)
    if draw.random() < 0.5:
        lines.append("    a += sum(1 for q in s if q in 'AC')")
    lines.append("    return a, b, out, before if a % 2 else None, z")
    return "\n".join(lines) + "\n"


def arguments(seed: int, call: int) -> tuple[Any, ...]:
    """What the function is called with."""
    draw = random.Random(100 * seed + call)

    def text() -> str:
        letters = draw.choice(LETTERS)
        return "".join(draw.choice(letters) for _ in range(draw.choice((0, 1, 3, 8, 9, 10, 20, 60))))

    s: Any = text()
    if call == 4 and draw.random() < 0.3:
        s = OfStr(s)
    if call == 5 and draw.random() < 0.3:
        s = s.encode()
    return s, text(), np.arange(1.0, 4.0) * draw.random(), draw.randint(0, 5)

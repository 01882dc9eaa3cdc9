"""Random functions with loops over ranges and arrays, which hand on, swap and change arrays, and views of them.

`source(seed)` is the text of a function f(a, b, c, m, n, k); `arguments(seed, n)` makes its arguments, which may be one
object, or overlap. Values stay small, so that nothing warns. With `choices` there are `while`, `if`, `break` and
`continue` on what the loops compute as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

ARRAYS = ("a", "b", "c")
_SIMPLE = (
    "{v} = {v} * 0.5 + {w}",
    "{v} = {w}",
    "{v}, {w} = {w}, {v}",
    "{v}, {w}, {u} = {w}, {u}, {v}",
    "{v} += {w}",
    "{v} *= 0.5",
    "{v} = {v} * 0.25",
    "{v}[1:] = {w}[:-1]",
    "{v}[{i}] = {w}[{i}] * 0.5 + {number}",
    "{v} = {w}[::-1]",
    "{v} = {w}[:]",
    "{v} = np.where({v} > {w}, {v}, {u})",
    "t = {v} - {w}",
    "t = {v} - {w}; {u} = t * 0.25",
    "s = s * 0.5 + {v}[{i}]",
    "s = {v}.sum() * 0.125",
    "{v} = {v} * 0.5 + s",
    "j += 2",
    "j = j - 1",
    "j = {number}",
    "{v} = {v} * 0.5 + {number}",
    "{v}[i % 4:] += 1.0",
    "{v}[:2] *= 0.5",
    "{v}[i:] += 0.5",
    "{v}[:i] = {w}[:i]",
    "total = total * 0.5 + {v}",
    "state = (state[1], state[0] * 0.5 + {v})",
    "state = ({v}, state[0])",
    "np.multiply({v}, 0.5, out={w})",
    "{v} = np.maximum({v}, {w}) * 0.5",
    "{v} = np.concatenate([{w}[2:], {v}[:2]])",
    "z = {v}.copy(); z[0] = {number}; {v} = z",
    "y = np.zeros_like({v}); y += {w}; {v} = y * 0.5",
    "{v} = half({w}) + m",
    "{v} = np.mean([{v}, {w}], axis=0)",
    "{v} = {v} @ np.outer({w}, {w}) * 0.01",
    "{v} = {v} * 0.5 + q * p",
    "f = f * 0.5 + {number}",
    "f, g = g, f",
    "g = f * 0.25 + g / 2",
    "g -= 0.125; {v} = {v} * 0.5 + g",
    "j = j * 3 % 7",
    "{v}[j % 3] = f",
    "state = (state[0], f)",
)
_RANGES = ("n", "1, n", "n, 0, -1", "0, n, 2", "i", "3", "10", "len(a)", "i, n", "2, a.shape[0]")
_ITEMS = ("q in {v}", "{i}, q in enumerate({v})", "q, p in zip({v}, {w})", "{i}, (p, q) in enumerate(zip({v}, {w}), 2)")
_CONDITIONS = (
    "{v}[0] > {w}[0]",
    "{v}[i % 4] < 0.4",
    "f > 0.5",
    "f < g",
    "g >= 1",
    "j % 2 == 0",
    "j < i",
    "i > 2",
    "i % 3 == 1",
    "s > 0.3",
    "s",
    "j",
    "q",
    "{v}.sum() > 2.0",
    "np.abs({v} - {w}).max() > 0.3",
    "{v}[0] != {w}[1]",
    "h",
    "not h",
)
_EXPRESSIONS = (
    "f = f * 0.5 if {c} else g",
    "f = 0.25 if {c} else f * 0.75",
    "s = {v}[0] if {c} else {w}[1]",
    "j = j + 1 if {c} else j",
    "{v} = {v} * 0.5 if {c} else {w}",
    "h = {c}",
    "h = not h",
    "j += 1",
    "f, g = (g, f) if {c} else (f, g * 0.5)",
)
_LAST = "return a, b, c, s, j, total, state, i, q, f, g"


def source(seed: int, choices: bool = False) -> str:
    """The text of a function."""
    if choices:
        return _with_choices(random.Random(seed))
    pick = random.Random(seed)
    lines = ["def f(a, b, c, m, n, k):", "    s = a[0]; j = 3; total = 0; state = (b, 0.5); i = 1; t = a"]
    lines.append("    q = p = 0; f = 0.75; g = 2.0")
    for _ in range(pick.choice((1, 1, 2))):
        lines += _loop(pick, "    ", 0)
        if pick.random() < 0.3:
            lines.append("    " + _statement(pick))
    lines.append("    " + _LAST)
    return "\n".join(lines) + "\n"


def _with_choices(pick: random.Random) -> str:
    lines = ["def f(a, b, c, m, n, k):", "    s = a[0]; j = 3; total = 0; state = (b, 0.5); i = 1; t = a"]
    lines.append("    q = p = 0; f = 0.75; g = 2.0; h = False")
    if pick.random() < 0.3:
        lines.append("    s = 0.5")
    for _ in range(pick.choice((1, 1, 2))):
        lines += _choosing_loop(pick, "    ", 0)
        if pick.random() < 0.3:
            lines.append("    " + _statement(pick))
    lines.append("    " + pick.choice((_LAST + ", h", "return a, b, s", "return a, b, c, f, j", "return a, i, g")))
    return "\n".join(lines) + "\n"


def _choosing_loop(pick: random.Random, indent: str, depth: int) -> list[str]:
    """A loop that may end early, in which statements depend on conditions."""
    name = "i" if depth == 0 else f"i{depth}"
    if pick.random() < 0.5:
        count = pick.choice(("n", "n", "4", "m"))
        more = pick.choice(("", "", f" and ({_condition(pick)})"))
        lines = [f"{indent}{name} = 0", f"{indent}while {name} < {count}{more}:", f"{indent}    {name} += 1"]
        if pick.random() < 0.2:
            lines = [f"{indent}{name} = 0", f"{indent}while True:", f"{indent}    {name} += 1"]
            lines += [f"{indent}    if {name} > {count}:", f"{indent}        break"]
    else:
        lines = [f"{indent}for {name} in range({pick.choice(_RANGES[:4] if depth == 0 else _RANGES)}):"]
        if pick.random() < 0.2:
            items = pick.choice(_ITEMS).format(v=pick.choice(ARRAYS), w=pick.choice(ARRAYS), i=name)
            lines = [f"{indent}for {items}:"]
    return lines + _block(pick, indent + "    ", depth, 0)


def _block(pick: random.Random, indent: str, depth: int, nested: int) -> list[str]:
    lines: list[str] = []
    for _ in range(pick.randint(1, 4 if nested == 0 else 2)):
        chance = pick.random()
        if depth < 1 and nested < 2 and chance < 0.06:
            lines += _choosing_loop(pick, indent, depth + 1)
        elif nested < 2 and chance < 0.35:
            lines += [f"{indent}if {_condition(pick)}:", *_block(pick, indent + "    ", depth, nested + 1)]
            if pick.random() < 0.3:
                lines += [f"{indent}elif {_condition(pick)}:", *_block(pick, indent + "    ", depth, nested + 1)]
            if pick.random() < 0.5:
                lines += [f"{indent}else:", *_block(pick, indent + "    ", depth, nested + 1)]
        elif nested and chance < 0.5:
            lines.append(indent + pick.choice(("break", "break", "continue")))
            break
        elif chance < 0.65:
            v, w = pick.choice(ARRAYS), pick.choice(ARRAYS)
            lines.append(indent + pick.choice(_EXPRESSIONS).format(v=v, w=w, c=_condition(pick)))
        else:
            lines.append(indent + _statement(pick))
    return lines


def _condition(pick: random.Random) -> str:
    text = pick.choice(_CONDITIONS).format(v=pick.choice(ARRAYS), w=pick.choice(ARRAYS))
    if pick.random() < 0.25:
        return f"({text}) {pick.choice(('and', 'or'))} ({_condition(pick)})"
    return text


def _loop(pick: random.Random, indent: str, depth: int) -> list[str]:
    bounds = pick.choice(_RANGES[:4] if depth == 0 else _RANGES)
    name = "i" if depth == 0 else f"i{depth}"
    lines = [f"{indent}for {name} in range({bounds}):"]
    if pick.random() < 0.25:
        items = pick.choice(_ITEMS).format(v=pick.choice(ARRAYS), w=pick.choice(ARRAYS), i=name)
        lines = [f"{indent}for {items}:"]
    for _ in range(pick.randint(1, 5)):
        if depth < 2 and pick.random() < 0.12:
            lines += _loop(pick, indent + "    ", depth + 1)
        elif pick.random() < 0.06:
            lines += [f"{indent}    if m > 5:", f"{indent}        {_statement(pick)}"]
        else:
            lines.append(f"{indent}    {_statement(pick)}")
    return lines


def _statement(pick: random.Random) -> str:
    v, w, u = (pick.choice(ARRAYS) for _ in range(3))
    number = pick.choice(("i", "j", "k", "i + j", "2 * i", "1.5", "m", "i * 0.25", "f"))
    place = pick.choice(("0", "1", "-1", "i % 3", "k"))
    return pick.choice(_SIMPLE).format(v=v, w=w, u=u, number=number, i=place)


def half(x: Any) -> Any:
    """A function that is inlined, with a loop of its own."""
    for _ in range(9):
        x = x * 0.75
    return x


def function(seed: int, choices: bool = False) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "half": half, "__name__": __name__}
    exec(compile(source(seed, choices), f"<random loop {seed}>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def arguments(seed: int, n: int, size: int = 6) -> tuple[Any, ...]:
    """Arguments for n iterations: three arrays, among them views of one memory."""
    memory = np.random.default_rng(seed).random(2 * size + 3)
    a, b, c = memory[:size], memory[size : 2 * size].copy(), memory[1 : size + 1].copy()
    kind = seed % 6
    if kind == 1:
        b = a
    elif kind == 2:
        b = memory[2 : size + 2]
    elif kind == 3:
        c = a[::-1]
    elif kind == 4:
        a, c = memory[: 2 * size : 2], memory[1 : 2 * size + 1 : 2]
    return a, b, c, size, n, 2

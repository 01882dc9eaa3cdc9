"""Random nests of loops over arrays with effects beside them: lists, dicts, objects, random draws, prints, early ends.

`source(seed)` is the text of a function f(a, b, n, log, book, box, gen); `arguments(seed, n)` makes its arguments:
arrays that may be one or overlap, a list and a dict from outside, an object, a random generator. Values stay small.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

_ARRAYS = ("a", "b", "c")
_STATEMENTS = (
    *("{v} = {v} * 0.5 + {w}", "{v} = {w}", "{v}, {w} = {w}, {v}", "{v} *= 0.5", "{v}[1:] = {w}[:-1]", "{v}[{k}] = f"),
    *("f = f * 0.5 + 0.25", "f = float({v}.sum()) * 0.125", "g = f", "f, g = g, f", "k += 1", "k = k * 3 % 7"),
    *("s = {v}[0] * 0.5", "g = g * 0.5 if {c} else f", "t = t + 0.5"),
)
_EFFECTS = (
    *("out.append({x})", "out.append((i, {x}))", "row.append({x})", "tab[{k}] = {x}", "tab[-1 - {k}] = {x}"),
    *("table[{k}] = {x}", "table[{k} * 0.5] = {x}", "log.append({x})", "log[{k}] = {x}", "book[{k}] = {x}"),
    *("state['t'] += 0.5", "state['x'] = {v}", "box.u = {v}", "box.n = box.n + 1", "print(i, k)", "print(f'{{k}}')"),
    *("{v} = {v} * 0.5 + gen.normal(size={v}.shape)", "f = gen.random()", "out.append(f'{{i}} {{f:.3f}} {{s!r}}')"),
    *("texts[{k}] = f'{{k:>3}}'", "log.append(f'{{i}}')", "g = sum(r * i for r in {v})", "out.append(list(tab)[0])"),
    *("table = {{}}", "tab = [0.0] * 7", "row = []", "out.append(row)", "tab = [f] * n", "print(float({v}[0]))"),
    *("with np.errstate(all='ignore'): {v} = {v} * 0.5 + 1 / ({w} - {w}[0])", "k = len(tab)", "k = len(out) % 5"),
    *("with np.errstate(divide='ignore'): s = np.log({v}[0] * 0)", "out = [{v}]", "{v} = tab_like({w}, i)"),
    *("for q in [{v}] * n: {w} = {w} * 0.5 + q", "made = {{j: {v} for j in range(n)}}", "print({v}.sum() > 1.0)"),
    *("s = any(r > 0.9 for r in {v})", "out.append(tab)", "tab[k] = f", "del {v}", "table[i] = row"),
)
_CONDITIONS = ("{v}[0] > {w}[0]", "f > 0.4", "f < g", "i % 3 == 1", "k % 2 == 0", "{v}.sum() > 2.0", "i == n - 1", "s")
_VALUES = ("{v}", "{v}.copy()", "{v}[0]", "{v} * 2", "f", "g", "float({v}[1])", "f * 0.5", "i", "k", "s", "2 * i")
_KEYS = ("i % 5", "k % 5", "0", "i", "k", "(i + k) % 4", "n - 1 - i", "i // 2")
_LAST = (
    *("return a, b, c, out, tab, table, state, f, g, k, i, texts", "return out, tab, table, a"),
    *("return f, k, out, row, state, s", "return made, texts, tab, b, t"),
)
_ENDS = ("return out, {v}, i", "break", "continue", "raise ValueError(i)", "return k", "print('end', i); break")


def source(seed: int) -> str:
    """The text of a function."""
    pick = random.Random(f"effects {seed}")
    lines = ["def f(a, b, n, log, book, box, gen):", "    c = a; s = a[0]; f = 0.75; g = 2.0; k = 1; t = 0.0; i = 0"]
    lines += ["    out = []; row = []; tab = [0.0] * (n + 5); table = {}; texts = {}; made = 0"]
    lines += ["    state = {'t': 0.0, 'x': b}"]
    chosen = [pick.choice(_EFFECTS) for _ in range(pick.randint(1, 3))]  # few kinds a program, so that loops stay loops
    for _ in range(pick.choice((1, 1, 2))):
        lines += _loop(pick, "    ", 0, chosen)
    lines.append("    " + pick.choice(_LAST))
    return "\n".join(lines) + "\n"


def _loop(pick: random.Random, indent: str, depth: int, chosen: list[str]) -> list[str]:
    name = "i" if depth == 0 else f"j{depth}"
    head = pick.choice((f"for {name} in range(n):", f"for {name} in range(n):", f"for {name}, p in enumerate(a):"))
    lines = [indent + head]
    if pick.random() < 0.2:
        lines = [f"{indent}{name} = 0", f"{indent}while {name} < n:", f"{indent}    {name} += 1"]
    lines += [indent + "    " + _filled(pick, pick.choice(_STATEMENTS))]
    for _ in range(pick.randint(1, 4)):
        chance = pick.random()
        if depth < 1 and chance < 0.15:
            lines += _loop(pick, indent + "    ", depth + 1, chosen)
        elif chance < 0.35:
            text = pick.choice(chosen) if pick.random() < 0.6 else pick.choice(_ENDS)
            lines += [f"{indent}    if {_filled(pick, pick.choice(_CONDITIONS))}:"]
            lines += [f"{indent}        {_filled(pick, text)}"]
        elif chance < 0.7:
            lines.append(f"{indent}    {_filled(pick, pick.choice(chosen))}")
        else:
            lines.append(f"{indent}    {_filled(pick, pick.choice(_STATEMENTS))}")
    return lines


def _filled(pick: random.Random, text: str) -> str:
    if "{c}" in text:
        text = text.replace("{c}", pick.choice(_CONDITIONS))
    value = pick.choice(_VALUES).format(v=pick.choice(_ARRAYS))
    return text.format(v=pick.choice(_ARRAYS), w=pick.choice(_ARRAYS), x=value, k=pick.choice(_KEYS))


class Box:
    """An object with attributes."""

    def __init__(self, u: Any) -> None:
        self.u = u
        self.n = 0


def tab_like(x: Any, i: int) -> Any:
    """A function that is inlined, with a list of its own."""
    rows = [0.0] * 4
    for j in range(4):
        rows[j] = x[j % 3] * i
    return x * 0.5 + rows[1] * 0.125


def function(seed: int) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "tab_like": tab_like, "__name__": __name__}
    exec(compile(source(seed), f"<random items {seed}>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def arguments(seed: int, n: int, size: int = 6) -> tuple[Any, ...]:
    """Arguments for n iterations."""
    memory = np.random.default_rng(seed).random(2 * size + 3)
    a, b = memory[:size], memory[size : 2 * size].copy()
    if seed % 4 == 1:
        b = a
    elif seed % 4 == 2:
        b = memory[2 : size + 2]
    log: list[Any] = [0.5, b, None, 7, 1.25, a][: 3 + seed % 4]
    book: dict[Any, Any] = {0: a, 2: 0.25, "x": b}
    return a, b, n, log, book, Box(a), np.random.default_rng(seed)

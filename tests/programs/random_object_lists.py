"""Random functions over lists from outside that loops read, store to, copy, swap, replace and fill."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_FLOATS = (
    *("u[i]", "u[i]", "new[i]", "new[-1]", "x", "y", "0.5", "u[i - 1] * 0.5", "new[i] + u[0]", "g[i % m][j]", "row[0]"),
    *("row[i % m] - x", "g[j][i % m] + 1.5", "len(u) * 0.25", "u[w[i] % n]", "best", "w[i] * 0.5", "t * 0.5", "u[k]"),
)
_INTS = ("w[i]", "w[i] + 1", "i", "i * 1000", "c", "len(stack)", "w[-1]", "7", "w[c % n] * 2", "k", "w[i] // 3 + 400")
_CONDITIONS = (
    *("todo", "len(pairs) > 2", "mix[i] > 1"),
    *("u[i] > x", "new[i] < u[i]", "w[i] % 2", "i == k", "flags[i]", "not flags[i]", "x > 1.0", "len(stack) > 3"),
    *("u[i] > best", "w[i] > c", "row[0] < 0.5", "i > 2 and u[i - 1] < u[i]", "stack"),
)
_STATEMENTS = (
    *("mix[i] = {f}", "mix[i] = {n}", "mix[i] += x", "t += mix[i]", "mix[i], mix[0] = mix[0], mix[i]"),
    "c, t = pairs[i % 3]",
    *("pairs[i % 3] = (c, t)", "todo.append((i, x))", "c, y = todo.pop()", "pairs[0] = pairs[i % 3]"),
    *("c, j = moves[i % len(moves)]", "moves[0] = moves[i % 4]", "moves.append((c, 1))", "moves[i % 4] = (1, 2)"),
    *("todo.append((2, 0.25))", "pairs[i % 3] = (7, 0.5)", "c = moves[c % 4][0]", "c, y = todo[i % max(len(todo), 1)]"),
    *("x = pairs[-1][1]", "x, y, t = row", "out.extend([x])", "stack += [c]"),
    *("u[i] = {f}", "u[i] += {f}", "new[i] = {f}", "new[i] = {f}", "w[i] = {n}", "w[i] += 1", "w[w[i] % n] += 1"),
    *("u[i], u[k % n] = u[k % n], u[i]", "u[i], new[i] = new[i], u[i]", "w[i], w[0] = w[0], w[i]"),
    *("x = {f}", "y = x", "x, y = y, x", "c = {n}", "t += {f}", "best = u[i]", "flags[i] = {c}", "flags[i] = False"),
    *("row = g[i % m]", "row[j] = {f}", "g[i % m][j] = {f}", "g[j] = g[i % m]", "g[j] = row[:]", "g[i % m] = new[:m]"),
    *("stack.append({n})", "c = stack.pop()", "c = stack[-1]", "out.append({f})", "out.append(x)", "t = min(t, {f})"),
    *("row = [0.0] * m", "row = [x] * m", "t = max(t, u[i])", "c += len(out)", "x = u[i] if {c} else {f}"),
    *("u[-1] = {f}", "other = u; other[i] = {f}", "y = u[k]", "u[i + 1] = {f}"),
)
_OUTER = (
    *("new = u[:]", "new = [0.0] * n", "new = list(u)", "u = new", "u, new = new, u", "g = [r[:] for r in g]"),
    *("new = [0.5] * len(u)", "row = row[:]", "g[0] = row", "h = g", "w = w[:]", "x = u[0]", "out = []"),
    *("g = [[0.0] * m for _ in range(m)]", "new = [v * 0.5 for v in u]", "row = g[k % m]", "mix = [0] * n"),
    *("mix = mix + [0]", "mix = [k] + u", "pairs = pairs + [(k, x)]", "todo = [(k, 0.5)]"),
    *("todo = [(1, 0.5), (2, 0.5)]", "moves = moves[:]", "moves = moves + [(3, 4)]", "moves = [(5, 6)] * 4"),
    *( "flags = [False] * n", "t = 0.0", "stack = [k]", "k = (k + 1) % n"),
)
_HEADS = (
    *("for i in range(n):", "for i in range(1, n - 1):", "for i in range(len(u)):", "for i in range(n - 1, -1, -1):"),
    *("for i, v in enumerate(u):", "for i, (v, c) in enumerate(zip(u, w)):", "for i in range(len(w) - 1):"),
)


def source(seed: int) -> str:
    """The text of a function f(u, w, g, flags, n, m, k, steps)."""
    pick = random.Random(seed)

    def fill(text: str) -> str:
        while "{" in text:
            for key, those in (("{f}", _FLOATS), ("{n}", _INTS), ("{c}", _CONDITIONS)):
                text = text.replace(key, pick.choice(those), 1)
        return text

    def body(deep: int, inner: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(pick.choice((1, 2, 2, 3))):
            kind = pick.random()
            if inner and kind < 0.2 and deep < 2:
                lines += [f"if {fill(pick.choice(_CONDITIONS))}:", *("    " + one for one in body(deep + 1, True))]
                if pick.random() < 0.3:
                    lines += ["else:", *("    " + one for one in body(deep + 1, True))]
            elif inner and kind < 0.22:
                lines += ["while len(todo) > 2:", "    c, y = todo.pop()", "    " + fill(pick.choice(_STATEMENTS))]
                lines += ["    t += c", "    todo = todo[:2]"]
            elif inner and kind < 0.24:
                lines += ["for j in range(m):", "    " + fill(pick.choice(_STATEMENTS))]
            elif inner and kind < 0.27:
                lines += [f"if {fill(pick.choice(_CONDITIONS))}:", "    " + pick.choice(("break", "continue"))]
            else:
                lines.append(fill(pick.choice(_STATEMENTS if inner else _OUTER)))
        return lines

    lines = ["new = u[:]; x = 0.25; y = 1.5; t = 0.0; c = 3; j = 1; best = 0.1; stack = [5]; out = []; row = g[0]"]
    lines += ["moves = [(0, 1), (1, 0), (2, -1), (-1, 2)]"]
    lines += ["i = 0; mix = [0] * n; todo = [(1, 0.5)]; pairs = [(1, 0.5), (2, x), (k, 1.5)]"]
    lines += [f"other = {pick.choice(('u', 'new', 'w'))}; h = g"]
    if pick.random() < 0.6:
        lines.append("for step in range(steps):")
        for _ in range(pick.choice((1, 2, 3))):
            lines += ["    " + one for one in body(2, False)]
            if pick.random() < 0.8:
                lines += ["    " + pick.choice(_HEADS), *("        " + one for one in body(0, True))]
    else:
        for _ in range(pick.choice((1, 2))):
            lines += [pick.choice(_HEADS), *("    " + one for one in body(0, True))]
    lines.append("return u, new, w, g, h, flags, stack, out, row, other, x, y, t, c, best, i, len(u), mix, todo, \\")
    lines.append("    pairs, moves")
    return "\n".join(["def f(u, w, g, flags, n, m, k, steps):", *("    " + line for line in lines)]) + "\n"


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """Those of a call; sometimes two rows are one, or two arguments."""
    pick = random.Random(seed * 31 + n)
    u = [pick.uniform(-1.0, 2.0) for _ in range(n)]
    w = [pick.randrange(-300, 900) for _ in range(n)]
    g = [[pick.uniform(-1.0, 2.0) for _ in range(3)] for _ in range(3)]
    if pick.random() < 0.3:
        g[1] = g[2]
    if pick.random() < 0.2 and n > 3:
        u[2] = u[1]
    if pick.random() < 0.1 and n > 4:
        u[3] = 1  # type: ignore[assignment]
    return u, w, g, [pick.random() < 0.5 for _ in range(n)], n, 3, pick.randrange(0, max(n, 1)), 3


def function(text: str) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, "<random object lists>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def outcome(fn: Callable[..., Any], args: tuple[Any, ...], rows: list[list[Any]] | None = None) -> Any:
    """What a call gives and does to its arguments: values, with their types, and which of the objects are one. rows:
    lists in the arguments, if they are not those of the third."""
    inner = [list(row) for row in args[2]] if rows is None else rows
    before = [args, [list(arg) for arg in args if type(arg) is list], inner]
    try:
        result: Any = fn(*args)
    except Exception as error:
        trace, lines = error.__traceback__, []
        while trace is not None:
            lines.append(trace.tb_lineno)
            trace = trace.tb_next
        result = [type(error).__name__, str(error), lines[-1]]
    seen: dict[int, int] = {}

    def shape(value: Any) -> Any:
        number = seen.setdefault(id(value), len(seen))
        if type(value) in (list, tuple):
            return type(value).__name__, number, [shape(one) for one in value]
        is_single = type(value) is bool or (type(value) is int and -5 <= value <= 256)
        return type(value).__name__, None if is_single else number, repr(value)

    return shape([*before, result, args])

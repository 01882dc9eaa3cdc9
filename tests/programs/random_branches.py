"""Random functions with branches on data in loops over a few arrays, dicts, tuples and objects, which are unrolled."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.random_array_lists import described


class Ball:
    """An object with an array and a number."""

    def __init__(self, place: Any, size: float) -> None:
        self.place, self.size, self.hits = place, size, 0

    @property
    def twice(self) -> Any:
        return self.size * 2.0

    def first(self) -> Any:
        return self.place[0]

    def near(self, x: Any) -> Any:
        d = x - self.place
        if d @ d < self.size:
            return d
        return d * 0.5


_LOOPS = (
    *("for k, w in enumerate([x, y, x * 2.0]):", "for w in (x, y):", "for w in ws:", "for k, w in enumerate(ws):"),
    *("for w, k in zip(ws, (2, 0, 1)):", "for b in balls: w = b.place", "for k, b in enumerate(balls): w = b.near(x)"),
    *("for w in table.values():", "for k in range(3): w = ws[k]", "for k, v in ((1, x), (0, y)): w = v * k"),
    "for g in (1.0, -1.0, 0.5): w = x * g",
)
_CONDITIONS = (
    *("w.sum() > 0", "w[0] > s[1]", "w @ x < f", "(w > 0).all()", "abs(w[2]) < 0.5 and w[1] > 0", "f > 1.0", "i > 1"),
    *("not w[0] > 0 or s[0] > 2", "np.linalg.norm(w) < 2", "w.max() > y[0]", "0 < w[1] < 1"),
)
_STATEMENTS = (
    *("s = s + w", "f = f + w[0]", "f = w @ w", "i = k", "i += 1", "s = s * 0.5", "f = f * 2.0", "t = w"),
    *("s[0] = w[1]", "s += w", "y[k] = f", "f = np.sqrt(w[0])", "f = 1.0 / w[2]", "out.append(k)", "out.append(w[0])"),
    *("i, f = k, w[0]", "f = float(w[1])", "balls[0].hits += 1", "b.hits += 1", "w += 1.0", "n = None", "n = w[0]"),
    *("t, s = s, t", "f = k", "s = w", "continue", "break", "return k, f, s", "f = 2.5", "f = np.float64(1.5)"),
    *("table['a'] = w * 3.0", "ws[k] = w * 0.25", "f = max(f, w[0])", "f = min(f, w[0], 1.0)", "s = np.maximum(s, w)"),
    *("t = w * 2.0", "i = -1"),
)
_OF_OBJECTS = (  # of one of a few objects, which data chooses
    *("best = b", "best = b", "best = balls[0]", "best = balls[1]", "best = None", "best.hits += 1", "best.size = 2.0"),
    *("f = best.size", "s = s + best.place", "best.place += w", "s = best.place", "best.place = w * 2.0", "b = best"),
    *("out.append(best)", "s = best.near(w)", "i = best.hits", "best.size = w[0]", "best.other = best", "n = best"),
    *("f = best.twice", "s, best = best.place * 2.0, b", "best = min(balls, key=lambda one: one.place @ w)"),
    *("best = next((one for one in balls if one.place[0] > w[0]), None)", "best = max(balls, key=Ball.first)"),
)
_OF_NONE = (  # of an array, or None
    *("n = w", "n = w * 2.0", "n = s.copy()", "n = None", "n = x", "s = s + n", "f = n[0]", "f = n.sum()", "s += n"),
    *("n += w", "n[0] = f", "t = n", "n = n * 0.5", "out.append(n)", "s = n if n is not None else s", "n = w[1:]"),
    *("s = np.maximum(s, n)", "f = n @ w", "n, t = t, n", "n = -n", "s = w - n", "n = 2.5", "f = max(n)"),
)
_OF_ANY = (
    *("n is None", "n is not None and n[0] > f", "n is None or w[0] > n[0]", "n is w", "n is not t", "n is not None"),
)
_OF_BEST = (
    *("best is None or w[0] > f", "best is not None and best.size > f", "best is b", "best.place @ w > 0", "best"),
    *("best is not None", "best is balls[1]", "best.hits > 0", "best.size > 1.0", "not best", "best is n"),
)


def source(seed: int) -> str:
    """The text of a function f(x, y, ws, balls, table)."""
    pick = random.Random(seed)
    lines = ["k = 0; s = x * 0.5; t = y; f = 1.5; i = 0; n = None; w = y; out = []; b = balls[1]"]
    lines += ["best = " + pick.choice(("None", "balls[0]", "b"))] * (seed % 2)
    statements, conditions = _STATEMENTS + _OF_OBJECTS * (seed % 2), _CONDITIONS + _OF_BEST * (seed % 2)
    if seed % 3 == 0:
        statements, conditions = statements + _OF_NONE, conditions + _OF_ANY

    def block(indent: str, depth: int) -> None:
        for _ in range(pick.choice((1, 1, 2, 3))):
            if depth and pick.random() < 0.5:
                lines.append(f"{indent}if {pick.choice(conditions)}:")
                block(indent + "    ", depth - 1)
                if pick.random() < 0.4:
                    lines.append(f"{indent}{pick.choice(('else', 'elif ' + pick.choice(conditions)))}:")
                    block(indent + "    ", depth - 1)
            else:
                lines.append(indent + pick.choice(statements))

    for _ in range(pick.choice((1, 1, 2))):
        head, _, first = pick.choice(_LOOPS).partition(": ")
        lines.append(head if head.endswith(":") else head + ":")
        lines += ["    " + first] * bool(first)
        lines.append(f"    if {pick.choice(conditions)}:")
        block("        ", 1)
        block("    ", 2)
    if seed % 4 == 3:  # rounds enough for a loop of the program's
        lines[1 + seed % 2 :] = ["for r in range(7):", *("    " + line for line in lines[1 + seed % 2 :])]
    lines.append("return k, s, t, f, i, n, out, b.hits" + ", best, balls" * (seed % 2))
    return "\n".join(["def f(x, y, ws, balls, table):", *("    " + line for line in lines)]) + "\n"


def function(text: str) -> Callable[..., Any]:
    """The function of that text."""
    space: dict[str, Any] = {"np": np, "Ball": Ball}
    exec(compile(text, "<random branches>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def arguments(seed: int, call: int) -> tuple[Any, ...]:
    """Those of a call, of the same kinds for each of a seed."""
    make = np.random.default_rng(seed * 31 + call)
    x, y, *ws = (make.normal(size=3) * 1.5 for _ in range(5 + 3 * (seed % 3)))
    balls = [Ball(make.normal(size=3), float(make.random() * 4)) for _ in range(2 + seed % 2)]
    if call % 4 == 3:
        ws[1] = x  # which shows in what is stored
    if call == 6:
        balls[1] = balls[0] if seed % 4 == 1 else balls[1]
        balls[0].place = balls[1].place
    return x, y, ws, balls, {"a": make.normal(size=3), "b": x}


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives, or raises, and does to its arguments, with all warnings."""
    try:
        result = fn(*args)
    except Exception as error:
        result = type(error), str(error)
    x, y, ws, balls, table = args
    held = [(one.place, one.size, one.hits, list(vars(one))) for one in balls]
    return described((x, y, ws, held, table, _named(result, balls)), {})


def _named(value: Any, balls: list[Ball]) -> Any:
    """What a call gives, with each ball as which of them it is, and what it holds."""
    if isinstance(value, tuple | list):
        return type(value)(_named(one, balls) for one in value)
    if isinstance(value, Ball):
        which = next(place for place, one in enumerate(balls) if one is value)
        return which, {key: one for key, one in vars(value).items() if key != "other"}
    return value

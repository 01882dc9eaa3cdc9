"""Random functions with objects of small classes that iterations replace, share, change and choose between."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Pair:
    """Two values."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.a + other.a, self.b - other.b)

    def __rmul__(self, factor: Any) -> Pair:
        return Pair(factor * self.a, factor * self.b)

    def turned(self) -> Pair:
        """Another one."""
        return Pair(self.b, -self.a)

    def limited(self, limit: float) -> Pair:
        """Itself, or another one."""
        if self.a > limit:
            return Pair(limit, self.b)
        return self


class Box:
    """A Pair and a number."""

    def __init__(self, pair: Pair, n: Any) -> None:
        self.pair = pair
        self.n = n

    def next(self, step: Any) -> Box:
        """Another one, maybe with the same Pair."""
        return Box(self.pair if self.n % 3 == 2 else 0.5 * self.pair, self.n + step)


class Other(Pair):
    """The same in another class."""


def another(self: Any) -> Any:
    """One turned, of the same class."""
    return type(self)(self.b, -self.a)


def limited(self: Any, limit: float) -> Any:
    """Itself, or another one of the same class."""
    if self.a > limit:
        return type(self)(limit, self.b)
    return self


class Named(NamedTuple):
    """Two values as a named tuple."""

    a: Any
    b: Any

    turned = another
    limited = limited

    def __add__(self, other: Any) -> Any:
        return Named(self.a + other.a, self.b - other.b)

    def __rmul__(self, factor: Any) -> Any:
        return self._replace(a=factor * self.a, b=factor * self.b)


@dataclasses.dataclass(frozen=True)
class Frozen:
    """Two values as a frozen dataclass."""

    a: Any
    b: Any

    turned = another
    limited = limited

    def __add__(self, other: Any) -> Any:
        return Frozen(self.a + other.a, self.b - other.b)

    def __rmul__(self, factor: Any) -> Any:
        return dataclasses.replace(self, a=factor * self.a, b=factor * self.b)


NAMES = ("p", "q", "r")
_NEW = (
    *("Pair({f}, {f})", "{o}.turned()", "{o} + {o}", "0.5 * {o}", "{o}", "{o}.limited(2.0)"),
    *("{o} + 0.25 * {o}.turned()", "Pair({o}.b, {f})", "make({o}, {f})", "box.pair"),
    *("Pair({f}, {f}) if {c} else {o}", "{o} if {c} else {o}"),
)
_FLOATS = (
    *("{o}.a", "{o}.b", "x[i]", "0.5", "float(i)", "{o}.a * 0.5", "x[i] - {o}.b", "t", "min({o}.a, 3.0)", "i"),
    "x[i] * i",
)
_CONDITIONS = (
    *("x[i] > 0.2", "i % 2", "{o}.a > {o}.b", "{o} is {o}", "i == 3", "{o}.a < 1.0", "i > 100"),
    "{o} is not {o}",
)


def source(seed: int) -> str:
    """The text of a function f(x, given, n)."""
    pick = random.Random(seed)
    names = NAMES[: pick.choice((1, 2, 2, 3))]

    def fill(text: str) -> str:
        while "{" in text:
            for key, those in (("{f}", _FLOATS), ("{c}", _CONDITIONS), ("{o}", names)):
                text = text.replace(key, pick.choice(those), 1)
        return text

    def statement(deep: int) -> list[str]:
        kind = pick.random()
        name = pick.choice(names)
        if kind < 0.5:
            return [f"{name} = {fill(pick.choice(_NEW))}"]
        if kind < 0.6 and len(names) > 1:
            one, other = pick.sample(names, 2)
            return [f"{one}, {other} = {other}, {fill(pick.choice(_NEW))}"]
        if kind < 0.68:
            return [f"{name}.{pick.choice('ab')} {pick.choice(('=', '+='))} {fill(pick.choice(_FLOATS))}"]
        if kind < 0.76:
            return [f"t += {fill(pick.choice(_FLOATS))}"]
        if kind < 0.80:
            return [pick.choice(("box = box.next(1)", f"box = Box({name}, i)", "box.n += 1", f"box.pair = {name}"))]
        if kind < 0.82:
            return [pick.choice((f"kept.append({name})", f"held = {name}", f"{name} = Other({name}.a, {name}.b)"))]
        if kind < 0.84:
            return [fill("if {c}: print(i, {o}.a)")]
        if kind < 0.87:
            return [fill(pick.choice(("if {c}: break", "if {c}: continue", "if {c}: return {o}, t")))]
        if deep > 1:
            return [f"{name} = {name}.turned()"]
        if kind < 0.95:
            lines = [fill("if {c}:"), *("    " + line for line in statement(deep + 1))]
            if pick.random() < 0.5:
                lines += ["else:", *("    " + line for line in statement(deep + 1))]
            return lines
        return ["for j in range(3):", *("    " + line for line in statement(deep + 1))]

    begin = pick.choice(("Pair(0.5, 1.0)", "Pair(x[0], 1.0)", "given", "Pair(1, 0)", "Pair(x[0], x[1])"))
    lines = ["def f(x, given, n):", "    t = 0.0; kept = []; held = None; i = 0"]
    lines += [f"    {name} = {pick.choice((begin, begin, 'Pair(1.0, 2.0)', names[0]))}" for name in names]
    lines[2] = f"    {names[0]} = {begin}"
    lines.append(f"    box = Box({pick.choice((names[0], 'Pair(1.0, 1.0)'))}, 0)")
    over = pick.choice(("for i in range(n):", "for i in range(n):", "while i < n:"))
    lines.append("    " + over)
    if over.startswith("while"):
        lines.append("        i += 1")
    for _ in range(pick.choice((1, 2, 3, 4))):
        lines += ["        " + line for line in statement(0)]
    shown = [f"{name}.a, {name}.b, type({name}).__name__" for name in names]
    same = [f"{one} is {other}" for one in names for other in (*names, "given", "box.pair", "held") if one != other]
    lines.append(f"    return {', '.join(shown)}, [{', '.join(same)}], t, box.n, box.pair.a, [one.a for one in kept]")
    text = "\n".join(lines) + "\n"
    if seed % 3 == 2:
        return as_lists(text)
    return as_fixed(text, seed) if seed % 3 == 1 and seed % 4 else text


def as_fixed(text: str, seed: int) -> str:
    """The same with named tuples, or frozen dataclasses, of which others are made with another attribute."""
    change = r"\1._replace(\2=\1.\2 + (\3))" if seed % 2 else r"replace(\1, \2=\1.\2 + (\3))"
    text = re.sub(r"\b([pqr])\.([ab]) \+= (.*)", rf"\1 = {change}", text)
    text = re.sub(r"\b([pqr])\.([ab]) = (.*)", rf"\1 = {change.replace(chr(92) + '1.' + chr(92) + '2 + ', '')}", text)
    text = re.sub(r"\b(Pair|Other|make)\(", "Named(" if seed % 2 else "Frozen(", text)
    # NB: a loop carries tuples by their items, and which object one is behind it nobody knows.
    return re.sub(r"[\w.]+ is (not )?[\w.]+", "True", text) if seed % 2 else text


_LISTS = (
    *(("Pair(0.5, 1.0)", "[0.5, 1.0]"), ("Pair(x[0], 1.0)", "[x[0], 1.0]"), ("Pair(1, 0)", "[1, 0]")),
    *(("Pair(x[0], x[1])", "[x[0], x[1]]"), ("Pair(1.0, 2.0)", "[1.0, 2.0]"), ("Pair(1.0, 1.0)", "[1.0, 1.0]")),
    *((".turned()", "[::-1]"), (".limited(2.0)", "[:]"), ("0.5 * ", "1 * ")),
    *(("0.25 * ", "0 * "), ("make(", "listed("), ("Pair(", "listed("), ("Other(", "listed(")),
)


def as_lists(text: str) -> str:
    """The same with lists of two items."""
    for one, other in _LISTS:
        text = text.replace(one, other)
    text = re.sub(r"\b([pqr]) \+ ((?:0 \* )?[pqr])\b(?!\.|\[\d)", r"(\1 + \2)[-2:]", text)  # which would grow
    return re.sub(r"\.([ab])\b", lambda found: f"[{'ab'.index(found[1])}]", text)


def listed(one: Any, other: Any) -> list[Any]:
    """A list of two."""
    made = [one[0] if isinstance(one, list) else one, other]
    made[1] = other
    return made


def make(pair: Pair, value: Any) -> Pair:
    """A Pair by a function."""
    made = Pair(pair.b, pair.a)
    made.b = value
    return made


def function(text: str) -> Callable[..., Any]:
    """The function with that text."""
    names: dict[str, Any] = {"np": np, "Pair": Pair, "Box": Box, "Other": Other, "make": make, "listed": listed}
    names |= {"Named": Named, "Frozen": Frozen, "replace": dataclasses.replace}
    exec(compile(text, f"<{hash(text)}>", "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """What it is called with."""
    given: Any = Pair(0.5, 0.25)
    if seed % 3 == 2:
        given = [0.5, 0.25]
    elif seed % 3 == 1 and seed % 4:
        given = (Named if seed % 2 else Frozen)(0.5, 0.25)
    return np.random.default_rng(seed).normal(size=n + 2).round(2), given, n

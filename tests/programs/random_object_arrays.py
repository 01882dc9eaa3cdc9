"""Random functions over lists of objects with arrays, which loops read, store into, replace, hand on and choose by."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.random_array_lists import described

_OBJECTS = ("b", "b", "b", "L[i]", "L[-1]", "L[(i * 7) % n]", "L[i - 1]", "hero", "q")
_NAMES = ("p", "p", "v", "v", "f")
_STATEMENTS = (
    *("{o}.{a} += {o}.{c} * dt", "{o}.{a} += x", "{o}.{a} -= {u}.{c}", "{o}.{a} *= 0.5", "{o}.{a}[0] += dt"),
    *(
        "{o}.{a}[:] = {u}.{c}",
        "{o}.{a}[1:] = 0.25",
        "np.add({o}.{a}, x, out={o}.{a})",
        "{o}.move(dt)",
        "{o}.{a} /= {o}.m",
    ),
    *("s = s + {o}.{a} * {u}.m", "t += {o}.{a} @ {u}.{c}", "t += np.linalg.norm({o}.{a} - x)", "t += {o}.speed()"),
    *("if {o}.{a}[0] > {u}.{c}[1]: t += 1.0", "if {o}.{a}.sum() > 0: {o}.{c}[1] = -{o}.{c}[1]", "t += {o}.twice.sum()"),
    *("if best is None or {o}.{a}[0] < least: best, least = {o}, {o}.{a}[0]", "if {o}.{a}[0] > 1.0: q = {o}"),
    *("for c in L:\n    if c is not {o}: s = s + (c.{a} - {o}.{c}) * c.m", "for k in range(3): t += {o}.{a}[k]"),
    *("for c in L:\n    if c is {o}: continue\n    d = c.{a} - {o}.{a}\n    if d @ d < 1.0: {o}.{c} += d * dt",),
    *("{o}.m += 0.5", "{o}.m = t", "h = {o}.{a}", "h = {o}.{a}; s = s + h", "h = {o}.{a}; h += 1.0", "h = {o}.{a}[1:]"),
    *(
        "{o}.{a} = {o}.{a} + x",
        "{o}.{a} = {u}.{c}",
        "{o}.{a} = x",
        "{o}.{a} = s",
        "out.append({o}.{a})",
        "out.append({o})",
    ),
    *(
        "out.append({o}.{a}.copy())",
        "out.append({o}.{a}[0])",
        "out.append({o}.{a} * 2.0)",
        "x += {o}.{a}",
        "x[0] = {o}.m",
    ),
    *("s += {o}.{a}", "s = {o}.{a}", "t += {o}.{a} is {u}.{c}", "t += {o} is {u}", "if i == n - 2: break"),
    *(
        "d = {o}.{a} if {o}.{c}[0] > 0 else {u}.{a}; s = s + d",
        "if t > 1e3: raise ValueError(i)",
        "h, g = {o}.{a}, {u}.{a}",
    ),
    *(
        "t += np.sqrt({o}.{a}[0])",
        "s = s + np.log({o}.{a})",
        "t += {o}.{a}[int({o}.m)]",
        "t += {o}.count",
        "W[i % 2] += {o}.{a}",
    ),
    *("W[i % 2, :] = {o}.{a}; {u}.{a} += 1.0", "if {o}.{a}[0] > 2.0: print({o}.{a})", "z = [c.{a} for c in L]"),
)
_HEADS = (
    *("for b in L:", "for b in L:", "for b in L:", "for i, b in enumerate(L):", "for i in range(n):\n    b = L[i]"),
    *("for i in range(1, n):\n    b = L[i]", "for b, e in zip(L, L[1:]):", "for b in reversed(L):", "for b in L[1:]:"),
)
_MADE = (
    *("out.append([c for c in L if c.p[0] > 0.5])", "out.append(min(L, key=lambda c: c.p @ c.v))"),
    *("out.append(sum(c.p @ c.v for c in L))", "out.append(next((c for c in L if c.p[0] > 0.7), None))"),
    *(
        "out.append(sorted(L, key=lambda c: c.p[0]))",
        "out.append(max(c.p.max() for c in L))",
        "out.append(any(c.p[0] > 2 for c in L))",
    ),
)


class Thing:
    """What has three arrays and a number."""

    count = 1

    def __init__(self, p: Any, v: Any, f: Any, m: float) -> None:
        self.p, self.v, self.f, self.m = p, v, f, m

    def move(self, dt: float) -> None:
        self.p += self.v * dt

    def speed(self) -> Any:
        return np.sqrt(self.v @ self.v)

    @property
    def twice(self) -> Any:
        return self.p * 2.0


class Slotted:
    """The same in slots."""

    __slots__ = ("f", "m", "p", "v")
    count = 2
    __init__ = Thing.__init__
    move, speed, twice = Thing.move, Thing.speed, Thing.twice


class Heir(Thing):
    """One of another class."""


class Special(Thing):
    """One whose array is found otherwise."""

    @property
    def p(self) -> Any:
        return self._p + 0.0

    @p.setter
    def p(self, value: Any) -> None:
        self._p = value * 1.0


class Noting(Thing):
    """One that is told of stores."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "p":
            object.__setattr__(self, "m", len(vars(self)) + 0.5)
        object.__setattr__(self, name, value)


def source(seed: int) -> str:
    """The text of a function f(L, x, dt, hero, W)."""
    pick = random.Random(seed)
    names = (("{o}", _OBJECTS), ("{u}", _OBJECTS), ("{a}", _NAMES), ("{c}", _NAMES))
    simple = pick.random() < 0.6

    def fill(text: str) -> str:
        for key, those in names:
            while key in text:
                is_item = simple and those is _OBJECTS
                text = text.replace(key, "b" if is_item else pick.choice(those), 1)
        return text

    lines = ["n = len(L); s = x * 0.0; t = 0.0; best = None; least = 0.0; q = b = L[0]"]
    lines += ["h = g = d = z = None; i = 1; out = []"]
    for _ in range(pick.choice((1, 1, 2))):
        lines += pick.choice(_HEADS).split("\n")
        for _ in range(pick.choice((1, 1, 2, 3))):
            lines += ["    " + part for text in fill(pick.choice(_STATEMENTS)).split("; ") for part in text.split("\n")]
    if pick.random() < 0.3:
        lines.append(pick.choice(_MADE))
    lines.append("return s, t, best, least, q, h, g, out, z")
    return "\n".join(["def f(L, x, dt, hero, W):", *("    " + line for line in lines)]) + "\n"


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """Those of a call; often arrays are one, show each other, lie otherwise, are of another type or are not there."""
    pick, make = random.Random(seed * 31 + n), np.random.default_rng(seed * 31 + n)
    cls = pick.choice((Thing, Thing, Slotted))
    things: list[Any] = [cls(*(make.normal(size=3) for _ in range(3)), 1.0 + pick.random()) for _ in range(n)]
    x, hero, whole = make.normal(size=3), things[n // 2], make.normal(size=(2, 3))
    at, to = things[pick.randrange(n)], things[pick.randrange(n)]
    match pick.randrange(44):
        case 0:
            x = at.p
        case 1:
            at.p = to.p
        case 2:
            at.v = at.p
        case 3:
            at.p = to.v
        case 4:
            whole = make.normal(size=(n, 3))
            for i, one in enumerate(things):
                one.p = whole[i]
        case 5:
            long = make.normal(size=n + 2)
            for i, one in enumerate(things):
                one.p = long[i : i + 3]
        case 6:
            at.p = make.normal(size=6)[::2]
        case 7:
            at.p = make.normal(size=3).astype("f4")
        case 8:
            at.p = make.normal(size=1)
        case 9:
            at.p = None
        case 10:
            del at.p
        case 11:
            things[pick.randrange(n)] = Heir(*(make.normal(size=3) for _ in range(3)), 2.0)
        case 12:
            things[pick.randrange(n)] = Special(*(make.normal(size=3) for _ in range(3)), 2.0)
        case 13:
            things[pick.randrange(n)] = None
        case 14:
            things[pick.randrange(n)] = at
        case 15:
            things = [Noting(one.p, one.v, one.f, 1.0) for one in things]
        case 16:
            at.p.flags.writeable = False
        case 17:
            hero = Thing(*(make.normal(size=3) for _ in range(3)), 1.5)
        case 18:
            hero = Thing(at.p, to.v, make.normal(size=3), 1.5)
        case 19:
            at.p = 2.5
        case 20:
            for one in things:
                one.p = np.array([1, 2, 3])
        case 21:
            x = at.p[:]
        case 22:
            at.m = 7
        case 23:
            at.p[0] = np.nan
        case 24:
            at.p[:] = 1e308
        case 25:
            x = at.p[::-1]
        case 26:
            for one in things:
                one.p = x
    return things, x, 0.01, hero, whole


def function(text: str) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"__name__": __name__, "np": np}
    exec(compile(text, "<random objects with arrays>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def told(value: Any, seen: dict[int, int], depth: int = 6) -> Any:
    """A value with all that it has, which objects are one, and the bits and layout of arrays."""
    if isinstance(value, np.ndarray):
        return described(value, seen)
    if isinstance(value, list | tuple):
        return type(value), [told(one, seen, depth) for one in value]
    if isinstance(value, Thing | Slotted):
        which = seen.setdefault(id(value), len(seen))
        names = [name for name in ("p", "_p", "v", "f", "m") if name in getattr(value, "__dict__", Slotted.__slots__)]
        held = [(name, told(getattr(value, name, "missing"), seen, depth - 1)) for name in names] if depth else []
        return type(value), which, held
    return type(value), repr(value)


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives, or raises, what it warns of, and what it does to its arguments."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = fn(*args)
        except Exception as error:
            result = type(error), str(error)
    said = [(one.category, str(one.message), one.lineno) for one in warned]
    return told((args, result), {}), said

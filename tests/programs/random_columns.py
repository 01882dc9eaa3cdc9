"""Random functions that go through lists of objects and change their attributes.

Enters a seed; leaves the text of a function f(ps, qs, leader, sim, dt, k), and its arguments: lists that share objects,
or not, or hold one twice. Attributes are moved from object to object, exchanged, computed anew, set to constants, and
stay as they are; some ways raise, print or return in the middle.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

FLOATS, INTS = ("x", "y", "v"), ("n", "m")


class Body:
    """Numbers by name."""

    limit = 2.5

    def __init__(self, pick: random.Random) -> None:
        self.x, self.y, self.v = (pick.uniform(-2.0, 2.0) for _ in range(3))
        self.n, self.m = pick.randrange(-9, 2000), pick.choice((0, 1, 300, 70000))
        self.on = pick.random() < 0.5
        self.kind = pick.choice(("a", "b"))
        self.near = None if pick.random() < 0.8 else "here_or_there"

    def move(self, dt: float) -> None:
        self.x += self.v * dt

    def swap(self, other: Body) -> None:
        self.v, other.v = other.v, self.v

    def clip(self) -> None:
        if self.x > self.limit:
            self.x = self.limit
        elif self.x < -self.limit:
            self.v = -self.v

    def size(self) -> float:
        return abs(self.x) + self.y * self.y

    @property
    def twice(self) -> float:
        return self.x * 2.0

    def keep(self, number: float) -> float:
        return number if self.on else self.y


class Slotted:
    """The same in slots."""

    __slots__ = ("kind", "m", "n", "near", "on", "v", "x", "y")
    limit = Body.limit
    __init__, move, swap, clip, size, keep = Body.__init__, Body.move, Body.swap, Body.clip, Body.size, Body.keep
    twice = Body.twice


class Sim:
    """What else there is."""

    t: Any = 0.0
    best: Any = None


_STATEMENTS = (
    *("{p}.x += {p}.v * dt", "{p}.y = {p}.y + {q}.x", "{p}.v *= 0.5", "{p}.n += 1", "{p}.n = {p}.n * 3 % 7001"),
    *("{p}.m -= {q}.n", "{p}.on = not {p}.on", "{p}.on = {c}", "t += {p}.x", "a += {p}.n", "{p}.move(dt)"),
    *("{p}.x += {p}.v * dt", "{p}.v = -{p}.v", "{p}.clip()", "t += {q}.size()", "{p}.y += {q}.twice"),
    *("{p}.{f} = {q}.{g}", "{p}.{f}, {q}.{f} = {q}.{f}, {p}.{f}", "{p}.swap({q})", "{p}.{f} = {number}"),
    "{p}.n = {q}.m",
    *("s = {q}.{g} * 2.0; {p}.{f} = s", "s = {p}.x - {q}.y; {p}.y = s; {q}.v = s", "s = {p}.{f}", "{p}.{f} = s"),
    *("{p}.{f} = max({p}.{f}, {q}.{g})", "{p}.n = min({p}.n + 1, 5)", "{p}.{f} = {p}.{f} + 0.0", "t = {p}.{f}"),
    *("{p}.{f} = {p}.keep({q}.{g})", "{p}.{f} = {p}.{f}", "{p}.n = +{p}.n", "sim.t += {p}.x", "sim.best = {p}.{f}"),
    *("out.append({p}.{f})", "out.append({p}.n)", "sim.t = t", "{p}.{f} = t", "{p}.m = a", "{p}.x = abs({p}.x)"),
    *("leader.x += 1.0", "{p}.y = leader.x", "{p}.m = len(ps)", "{p}.x = float({p}.n)", "{p}.n = int({p}.x)"),
    *("{p}.kind = 'b'", "{p}.kind = 'c'", "{p}.kind = {q}.kind", "{p}.near = None", "{p}.near = 'here_or_there'"),
    *("{p}.v = 0", "{p}.v = {p}.n", "{p}.v += {q}.n", "{p}.n = 0.5", "{p}.v = 0", "{p}.v += 1"),
)
_RARE = (
    *("continue", "break", "return {p}.x", "print({p}.n)", "raise ValueError({p}.n)", "{p}.x = 1", "{p}.n = 1.5"),
    *("{p}.x = math.sqrt({p}.y)", "{p}.n = 100 // ({p}.m - 1)", "{p}.z = 1.0", "b = {p}", "{p}.n = {p}.n << 40"),
    *("b = {p} if {c} else b", "if len(ps) < 25: ps.append({p})", "{p}.x = None", "t = {p}.limit"),
    *("sim.best = {p}", "r.append({p})"),
)
_CONDITIONS = (
    *("{p}.x > {q}.y", "{p} is {q}", "{p} is not {q}", "{p}.on", "{p}.n % 3 == 0", "{p} == {q}", "{p} != {q}", "i % 2"),
    *("{p}.x < 0.0 or {q}.on", "not {q}.on and {p}.m > 3", "t > 1.0", "{p}.n > {q}.n", "abs({p}.x - {q}.x) < 0.5"),
    *("{p} is leader", "{p}.kind == 'a'", "{p}.kind != {q}.kind", "{p}.near is None", "{q}.kind == 'c'"),
    *("{p}.near == 'here_or_there'", "{p}.near is not {q}.near"),
)
_HEADS = (
    *("for p in ps:", "for p in ps:", "for p in ps:", "for i, p in enumerate(ps):", "for p, q in zip(ps, qs):"),
    *("for i in range(len(ps)):\n    p = ps[i]; q = ps[i - 1]", "for s0 in range(2):\n  for p in ps:", "for q in qs:"),
    "for p in ps[1:]:",
)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.rare = self.pick.choice((0.0, 0.02, 0.08))
        self.texts = self.pick.sample(_STATEMENTS, self.pick.randrange(4, 14))

    def fill(self, text: str) -> str:
        pick = self.pick
        p, q = pick.choice((("p", "q"), ("p", "q"), ("q", "p"), ("p", "p")))
        number = pick.choice(("1.5", "0.0", "dt", "-65.0"))
        kinds = pick.choice((FLOATS, FLOATS, INTS)) if "{number}" not in text and "s" not in text[:1] else FLOATS
        if "keep" in text or " t" in text or "= s" in text or "= t" in text:
            kinds = FLOATS
        condition = pick.choice(_CONDITIONS).format(p=p, q=q) if "{c}" in text else ""
        return text.format(p=p, q=q, f=pick.choice(kinds), g=pick.choice(kinds), number=number, c=condition)

    def block(self, indent: str, depth: int) -> list[str]:
        pick, lines = self.pick, list[str]()
        for _ in range(pick.randrange(1, 4)):
            kind = pick.random()
            if kind < self.rare:
                lines.append(indent + self.fill(pick.choice(_RARE)))
            elif kind < 0.75 or depth >= 3:
                lines += [indent + part for part in self.fill(pick.choice(self.texts)).split("; ")]
            elif kind < 0.93:
                lines += [f"{indent}if {self.fill(pick.choice(_CONDITIONS))}:", *self.block(indent + "    ", depth + 1)]
                if pick.random() < 0.4:
                    lines += [f"{indent}else:", *self.block(indent + "    ", depth + 1)]
            elif depth < 2:
                over = pick.choice(("q in qs", "q in ps", "q in ps[:3]", "q in qs[i + 1:]", "j in range(2)"))
                lines += [f"{indent}for {over}:", *self.block(indent + "    ", depth + 2)]
        return lines or [f"{indent}t += 1.0"]

    def loop(self) -> list[str]:
        head = self.pick.choice(_HEADS).split("\n")
        inner = "      " if head[-1].startswith("  for") else "    "
        lines = ["    " + part for part in head]
        return [*lines, *self.block("    " + inner, 0)]


def source(seed: int) -> str:
    """The text of f."""
    writer = _Writer(seed)
    lines = ["def f(ps, qs, leader, sim, dt, k):"]
    lines.append("    t = 0.0; a = 0; s = dt; i = 0; out = []; r = []; b = None; p = ps[0]; q = qs[-1]")
    if writer.pick.random() < 0.15:
        lines.append("    leader = ps[0]")
    for _ in range(writer.pick.choice((1, 1, 2))):
        lines += writer.loop()
    lines.append(f"    return {writer.pick.choice(('t, a', 't, a, s', 'out, t', 't, a, b', 'None', 'out, r, s, p'))}")
    return "\n".join(lines) + "\n"


def function(text: str) -> Callable[..., Any]:
    """f itself."""
    namespace: dict[str, Any] = {"math": math}
    exec(text, namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def arguments(seed: int) -> tuple[Any, ...]:
    """Two lists, an object and numbers."""
    pick = random.Random(seed)
    cls: Any = pick.choice((Body, Body, Slotted))
    ps = [cls(pick) for _ in range(pick.choice((3, 9, 12, 12, 21)))]
    kind = pick.random()
    qs = ps if kind < 0.35 else [cls(pick) for _ in range(pick.choice((9, 11, 12)))]
    if 0.35 <= kind < 0.45:
        qs[pick.randrange(len(qs))] = ps[1]
    if kind > 0.93:
        ps[2] = ps[0]
    if kind > 0.97:
        ps[1] = Body(pick)
    if pick.random() < 0.2:
        ps[0].v = ps[1].v = qs[2].y  # one object in several places
    if cls is Body and pick.random() < 0.1:
        vars(ps[1])  # has a dictionary from now on
    if pick.random() < 0.1:
        ps[-1].x = 3
    if pick.random() < 0.2:
        for one in ps:
            one.v = 0
    leader = pick.choice((ps[1], cls(pick)))
    return ps, qs, leader, Sim(), pick.uniform(0.1, 1.0), pick.randrange(5)

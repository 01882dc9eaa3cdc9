"""Random functions over lists and dicts of arrays that loops read, store to, append to, hand on and carry."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

_LISTS = ("ws", "ws", "hs", "vs")
_GROWING = ("out", "rs")
_INDICES = ("t", "t - 1", "n - 1 - t", "(t * 7) % n", "0", "-1", "t % 3")
_STATEMENTS = (
    *("s = s + {l}[{i}] * x", "s = s + ({l}[{i}] - {l}[{i}])", "h = {l}[{i}]; s = s + h.sum()", "s = s + {l}[{i}] * t"),
    *("{l}[{i}] = {l}[{i}] * 0.5 + x", "{l}[{i}] = s", "{l}[{i}] = x", "{l}[{i}], {l}[{i}] = {l}[{i}], {l}[{i}]"),
    *("{o}.append({l}[{i}])", "{o}.append(s * 0.5)", "{o}.append(x)", "s = s * 0.9 + {o}[-1]", "h = {o}[t]; s = s + h"),
    *("d[t] = d[t - 1] * 0.5 + x", "s = s + d[t - 1]", "d[t] = {l}[{i}]", "d[t % 2] = q", "d[t] = p"),
    *("{l}[{i}] = p", "{o}.append(p)", "p = q", "q = s * 0.5", "p = q; q = p * 0.5 + x; {l}[t % 3] = q"),
    *("p = {l}[{i}]", "p = q; q = p + x; {o}.append(q)", "s = s + p", "b = {l}[{i}]", "s = s + V[t - 1]"),
    *("V[t] = {l}[{i}] + x", "s = s + w", "if w.sum() > 0: s = s - w", "if w[0] > x[1]: p = w"),
    *("if {l}[{i}].sum() > 0: s = s + 1", "if s[0] > 0: p = {l}[{i}]", "if t == n - 2: break"),
    "if s[0] > 9: s = x * 0.1",
    *("x[t % 3] += 0.5", "s[0] += 1.0", "{l}[{i}] += 1.0", "{l}[{i}][0] = 2.0", "h = {l}[{i}]; h = h + 1; s = s + h"),
    *("y = {l}[{i}][1:]; s[1:] = s[1:] + y", "{o}.append({l}[{i}][1:])", "a = {l}[{i}] @ {l}[{i}]; s = s + a"),
    *("s = np.maximum(s, {l}[{i}])", "for u in range(3): s = s + {l}[(t + u) % n] * 0.1"),
)
_HEADS = ("for t in range(1, n):", "for t in reversed(range(1, n)):", "for t in range(1, n - 1):")
_ITEMS = ("for t, w in enumerate(ws):", "for t, (w, h) in enumerate(zip(ws, vs)):", "for t, w in enumerate(ws[1:], 1):")
_HIDDEN = ("ws[:]", "[x] * n", "ws", "[w * 1.0 for w in ws]")


def source(seed: int) -> str:
    """The text of a function f(ws, x)."""
    pick = random.Random(seed)
    names = (("{l}", _LISTS), ("{o}", _GROWING), ("{i}", _INDICES))

    def fill(text: str) -> str:
        for key, those in names:
            while key in text:
                text = text.replace(key, pick.choice(those), 1)
        return text

    lines = ["n = len(ws); s = x * 0.0; p = x * 2.0; q = x * 3.0; b = None; w = x * 4.0"]
    lines += [f"hs = {pick.choice(_HIDDEN)}"]
    lines += [f"out = {pick.choice(('[]', '[x]', '[x * 3]'))}; rs = [x * 2]; d = {{-1: x, 0: x * 0.5}}; vs = list(ws)"]
    lines += ["V = [None] * n", "V[0] = x"]
    for _ in range(pick.choice((1, 1, 2))):
        lines.append(pick.choice((*_HEADS, *_ITEMS)))
        for _ in range(pick.choice((1, 2, 3))):
            lines += ["    " + part for part in _parts(fill(pick.choice(_STATEMENTS)))]
    lines.append("return s, p, q, b, hs, out, rs, d, vs, V")
    return "\n".join(["def f(ws, x):", *("    " + line for line in lines)]) + "\n"


def _parts(text: str) -> list[str]:
    return [text] if text.startswith(("if", "for")) else text.split("; ")


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """Those of a call; sometimes arrays are one, show each other, lie otherwise or are of another type."""
    pick, make = random.Random(seed * 31 + n), np.random.default_rng(seed * 31 + n)
    ws: list[Any] = [make.normal(size=4) for _ in range(n)]
    x = make.normal(size=4)
    match pick.randrange(14):
        case 0:
            x = ws[3]
        case 1:
            ws[2] = ws[4]
        case 2:
            whole = make.normal(size=(n, 4))
            ws, x = [whole[i] for i in range(n)], whole[1]
        case 3:
            ws[n // 2] = make.normal(size=8)[::2]
        case 4:
            ws[n // 2] = make.normal(size=4).astype("f4")
        case 5:
            ws[n - 1] = make.normal(size=1)
        case 6:
            whole = make.normal(size=10)
            ws = [whole[i % 6 : i % 6 + 4] for i in range(n)]
        case 7:
            ws, x = [w.astype("f4") for w in ws], x.astype("f4")
        case 8:
            ws, x = [w.reshape(1, 4) for w in ws], x.reshape(1, 4)
            ws[n // 2] = np.arange(4.0)[None, :]
        case 9:
            x = ws[0]
    return ws, x


def function(text: str) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"__name__": __name__, "np": np}
    exec(compile(text, "<random lists of arrays>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def described(value: Any, seen: dict[int, int]) -> Any:
    """A value with its bits and layout, which arrays are one, and what they are views of."""
    if isinstance(value, np.ndarray):
        which = seen.setdefault(id(value), len(seen))
        base = None if value.base is None else seen.setdefault(id(value.base), len(seen))
        flags = value.flags.writeable, value.flags.owndata
        return which, base, value.dtype.str, value.shape, value.strides, value.tobytes(), flags
    if isinstance(value, list | tuple):
        return type(value), [described(one, seen) for one in value]
    if isinstance(value, dict):
        return [(key, described(one, seen)) for key, one in value.items()]
    return type(value), repr(value)


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives, or raises, and does to its arguments."""
    try:
        result = fn(*args)
    except Exception as error:
        result = type(error), str(error)
    return described((args, result), {})

"""Random functions that draw random numbers, in loops and beside them, and that now and then raise or decline.

Two generators go in, by several names: `g` and `h` may be one object, or share a bit generator; `r` is a RandomState.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

_ARRAYS = (
    *("{g}.standard_normal(x.shape)", "{g}.normal(size=n)", "{g}.normal(y, 0.5)", "{g}.random(len(x))"),
    *("{g}.uniform(-1.0, 1.0, size=(n,))", "r.rand(n)", "r.randn(*x.shape)", "r.normal(0.0, s, n)"),
    *("{g}.exponential(scale=abs(y) + 0.1)", "{g}.integers(0, 5, size=n) * 0.5", "np.random.rand(n)"),
    *("{g}.normal(0.0, 1.0, (2, n)).sum(axis=0)", "{g}.random(n, dtype=np.float32)", "{g}.poisson(2.0, n) * 0.25"),
    *("np.random.standard_normal(n)", "r.gamma(2.0, 1.0, size=n)", "{g}.choice(n, n) * 0.1", "{g}.permutation(x)"),
    *("{g}.standard_gamma(abs(y) + 0.5)", "r.permutation(y)"),
)
_SINGLE = (
    *("{g}.random()", "{g}.normal()", "{g}.normal(s, 0.5)", "r.rand()", "r.randn()", "np.random.random()"),
    *("float({g}.integers(0, 7))", "r.randint(3) * 0.5", "{g}.poisson(3.0) * 1.0", "r.standard_normal()"),
    *("{g}.choice(len(x), p=abs(x) / abs(x).sum()) * 0.5", "r.choice([0.5, -1.0], p=[0.25, 0.75])", "r.gamma(1.5)"),
    *("{g}.beta(0.5, 2.0)", "r.binomial(1, 0.5) * 0.5", "{g}.geometric(0.3) * 0.1", "r.permutation(4)[0] * 0.5"),
    *("{g}.choice(x)", "{g}.binomial(5, 0.5) * 0.25", "{g}.integers(4, endpoint=True) * 0.125"),
)
_STATEMENTS = (
    *("x = x * 0.5 + {a}", "y = {a}", "y = y + {a} * x", "x = np.sqrt(abs({a}))", "x[1:] = y[:-1] * 0.5"),
    *("s = s * 0.5 + {s}", "s = {s}", "x[i % n] = {s}", "{a}", "y = {a} - {a}", "x = x + s", "y = x * {s}"),
    *("if {s} < 0.5: x = x * 0.5", "if s > 0.5: y = {a}", "x = np.where({a} > 0, x, y)", "out.append({s})"),
    *("{g}.shuffle(x)", "r.shuffle(y)"),
    *("if {s} > 1.5: break", "s = {g}.normal(0.0, s)", "for j in range(2): x = x + {a}", "y = np.maximum(y, {a})"),
)
_ODD = (  # what raises, or warns
    *("y = y / (i - k)", "y = np.log(y - s)", "s = s / (i - k)", "y = {g}.normal(0.0, float(k - i), n)"),
    *("x = {g}.normal(size=n + (i == k))", "s = x[i - k + n - 1]", "y = {g}.exponential(s)"),
)


def source(seed: int) -> str:
    """The text of f(x, y, g, h, r, k, out)."""
    pick = random.Random(seed)

    def statement(choices: tuple[str, ...]) -> str:
        text = pick.choice(choices)
        while "{" in text:
            text = text.replace("{a}", pick.choice(_ARRAYS), 1).replace("{s}", pick.choice(_SINGLE), 1)
            text = text.replace("{g}", pick.choice("gh"), 1)
        return text

    lines = ["def f(x, y, g, h, r, k, out):", "    n = len(x); s = 0.25; i = 0"]
    for _ in range(pick.randrange(3)):
        lines.append("    " + statement(tuple(one for one in _STATEMENTS if "break" not in one)))
    if pick.random() < 0.8:
        lines.append(pick.choice(("    for i in range(6):", "    while i < 6:\n        i += 1")))
        lines += ["        " + statement(_STATEMENTS) for _ in range(pick.randrange(1, 5))]
        if pick.random() < 0.5:
            lines.append("        " + statement(_ODD))
    for _ in range(pick.randrange(2)):
        lines.append("    " + statement(_STATEMENTS[:6]))
    return "\n".join([*lines, "    return x, y, s", ""])


def function(text: str) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(text, "<random draws>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


BITS = (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM)


def arguments(seed: int, call: int) -> tuple[Any, ...]:
    """What f takes."""
    pick = random.Random(f"{seed} {call}")
    g = np.random.Generator(pick.choice(BITS)(seed))
    h = pick.choice((g, np.random.Generator(g.bit_generator), np.random.default_rng(seed + 1)))
    r = np.random.RandomState(pick.choice((g.bit_generator, np.random.MT19937(seed))))
    if pick.random() < 0.5:
        r.standard_normal()
    x = np.linspace(-1.0, 1.0, pick.choice((1, 2, 5, 8)))
    return x, x[::-1].copy(), g, h, r, pick.randrange(-1, 8), []

"""Random functions that gather numbers in lists, in an iteration or over all of them, and look at them as a whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

_ITEMS = (
    *("x[j]", "x[j]", "x[j] * 2", "x[j] - y[i]", "k[j]", "j", "float(x[j])", "i + j", "x[j] * x[i]", "np.sqrt(x[j])"),
    *("k[j] * 2", "0.5", "bool(x[j] > 0.5)", "x[j] > 0.5", "z[j]", "(x[j], y[j])"),
)
_BOUNDS = (
    *("range(n)", "range(i)", "range(i, n)", "range(max(0, i - w), min(n, i + w + 1))", "range(k[i])", "range(1, n)"),
    *("range(i - 1, -1, -1)", "range(0, n, 2)", "range(n)"),
)
_CONDITIONS = ("x[j] > 0.4", "j != i", "j % 3", "x[j] > y[i]", "k[j] > 3 and x[j] < 0.8", "x[j] < 9", "x[j] > 9")
_USES = (
    *("np.mean({l})", "sum({l})", "len({l})", "sum({l}) / len({l})", "np.array({l}).sum()", "np.std({l})", "max({l})"),
    *("min({l})", "np.median({l})", "np.sum({l})", "np.max({l}) - np.min({l})", "np.dot({l}, {l})", "len({l}) * 0.5"),
    *("np.asarray({l})[0]", "{l}[0]", "{l}[-1]", "np.array({l}).dtype.itemsize", "np.argmax({l})", "sum({l}, 1.0)"),
    *("np.array({l}).mean()", "np.linalg.norm({l})", "sorted({l})[0]", "np.prod({l})", "({l} + [1.5])[0]"),
)
_WHOLE = (*_USES, "np.array({l})", "{l}", "np.array({l}) * 2", "list({l})", "np.cumsum({l})", "np.unique({l})")


def source(seed: int) -> str:
    """The text of a function f(x, y, z, k, w)."""
    pick = random.Random(seed)
    lines = ["def f(x, y, z, k, w):", "    n = len(x); out = []; total = 0.0; held = 0; own = []"]
    if pick.random() < 0.3:
        lines.append(f"    out = [{pick.choice(('0.5', 'x[0]', '1', '-1'))}]")
    lines.append("    for i in range(n):")
    items = pick.sample(_ITEMS, 2)
    for name in ("buf", "row")[: pick.choice((1, 1, 2))]:
        lines.append(f"        {name} = []" if pick.random() < 0.85 else f"        {name} = [{items[0].replace('j', 'i')}]")
        lines.append(f"        for j in {pick.choice(_BOUNDS)}:")
        for _ in range(pick.choice((1, 1, 1, 2))):
            item = items[0] if pick.random() < 0.93 else items[1]
            if pick.random() < 0.5:
                lines.append(f"            if {pick.choice(_CONDITIONS)}: {name}.append({item})")
                if pick.random() < 0.2:
                    lines.append(f"            else: {name}.append({item})")
            else:
                lines.append(f"            {name}.append({item})")
        if pick.random() < 0.1:
            lines.append(f"            if len({name}) > 4: break")
        use = pick.choice(_USES).format(l=name)
        how = pick.random()
        ahead = f"if {pick.choice((name, f'len({name}) > 1', f'len({name})'))}: " if pick.random() < 0.5 else ""
        if how < 0.5:
            lines.append(f"        {ahead}out.append({use})")
        elif how < 0.8:
            lines.append(f"        {ahead}total += {use}")
        else:
            lines.append(f"        {ahead}held = {use}")
        if pick.random() < 0.2:
            lines.append(f"        if {pick.choice(_CONDITIONS).replace('j', 'i')}: own.append({items[1].replace('j', 'i')})")
        if pick.random() < 0.05:
            lines.append(f"        if i == 3: held = {name}")
        if pick.random() < 0.1:
            lines.append(f"        for v in {name}: total += v")
    last = [pick.choice(_WHOLE).format(l="out"), "total", "held"]
    if pick.random() < 0.4:
        last.append(pick.choice(_WHOLE).format(l="own") if pick.random() < 0.5 else "own")
    if pick.random() < 0.3:
        last.insert(0, pick.choice(("out", "len(out)", "len(own)", "bool(own)")))
    lines.append(f"    return {', '.join(last)}")
    return "\n".join(lines) + "\n"


def function(text: str) -> Callable[..., Any]:
    """The function with that text."""
    names: dict[str, Any] = {"np": np}
    exec(compile(text, f"<{hash(text)}>", "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """Arguments of f for vectors of `n` numbers."""
    rng = np.random.default_rng(seed + 1000 * n)
    return rng.random(n), rng.random(n), rng.random(n).astype(np.float32), rng.integers(0, max(n, 1), n), 2


__all__ = ["arguments", "function", "source"]

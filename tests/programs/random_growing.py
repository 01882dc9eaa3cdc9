"""Random loops over lists that they append to, and read by indices that grow with them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

KINDS = ("{r}", "{i}", "np.float64({r})", "np.zeros(2)", "np.array([{r}, {i}.0])", "True", "1e300")


def number(rng: random.Random) -> str:
    return rng.choice((f"{rng.uniform(-2, 2):.3f}", str(rng.randint(-3, 3)), "0.5", "1e-3"))


def item(rng: random.Random) -> str:
    kinds = KINDS[:2] * 4 + KINDS[2:5] * 3 + KINDS
    return rng.choice(kinds).format(r=f"{rng.uniform(-2, 2):.2f}", i=rng.randint(-2, 2))


class Program:
    """One program. lists: by name how many items each has before the loop; begin: where the loop's range begins."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.begin = rng.choice((0, 0, 0, 1, 1, 2))
        self.lists = {f"x{k}": rng.choice((1, 1, self.begin + 1, 2, 3)) for k in range(rng.choice((1, 1, 2, 3)))}
        lines = ["def program(n, u):"]
        for name, size in self.lists.items():
            first = item(rng)
            items = [first if rng.random() < 0.7 else item(rng) for _ in range(size)]
            lines.append(f"    {name} = [{', '.join(items)}]")
        lines.append("    s = 0.0; held = None")
        headers = ("for i in range({a}, n + {a}):",) * 5 + ("i = {a} - 1\n    while i < n + {a} - 1:\n        i += 1",)
        header = rng.choice(headers)
        lines.append("    " + header.format(a=self.begin))
        for _ in range(rng.randint(1, 5)):
            lines += ["        " + line for line in self.statement()]
        if not any("append" in line for line in lines):
            lines.append(f"        {rng.choice(list(self.lists))}.append({self.value()})")
        lines.append(f"    return {', '.join(self.lists)}, s, held")
        self.text = "\n".join(lines) + "\n"

    def read(self) -> str:
        rng = self.rng
        name = rng.choice(list(self.lists))
        last = self.lists[name] - 1 - self.begin  # what, added to i, is the last one's index in the first iteration
        offset = last + rng.choice((0, 0, 0, 0, 0, -1, -1, -2, 1))
        index = "i" if offset == 0 else f"i + {offset}" if offset > 0 else f"i - {-offset}"
        return f"{name}[{rng.choice((index,) * 5 + ('-1', '-1', '-2', '0', '-3', 'n // 2'))}]"

    def value(self) -> str:
        rng = self.rng
        return rng.choice(
            (
                f"{self.read()} * {number(rng)}",
                f"{self.read()} + {number(rng)} * {self.read()}",
                f"{self.read()} - {self.read()} + {number(rng)}",
                f"{self.read()}",
                f"np.sin({self.read()}) * 0.5",
                f"{self.read()} * 0.5 + u[i]",
                f"{number(rng)}",
                f"len({rng.choice(list(self.lists))})",
                f"{self.read()} + s",
            )
        )

    def statement(self) -> list[str]:
        rng = self.rng
        name = rng.choice(list(self.lists))
        choice = rng.random()
        if choice < 0.6:
            return [f"{name}.append({self.value()})"]
        if choice < 0.7:
            return [f"s = s + np.sum({self.read()})"]
        if choice < 0.8:
            return [f"held = {self.read()}"]
        if choice < 0.85:
            return ["if i % 3 == 1:", f"    {name}.append({self.value()})"]
        if choice < 0.9:
            return ["if i % 2:", f"    s += {number(rng)}", "else:", f"    held = {self.read()}"]
        return [f"t = {self.value()}", f"{name}.append(t)"]

    def function(self) -> Any:
        names: dict[str, Any] = {"np": np}
        exec(compile(self.text, f"<growing {id(self)}>", "exec"), names)
        return names["program"]


def outcome(function: Any, n: int) -> tuple[Any, ...]:
    """What a call returns or raises, and which of all the objects are one."""
    u = np.linspace(0.0, 1.0, n + 5)
    try:
        result = function(n, u)
    except (IndexError, ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)
    flat: list[Any] = []
    for part in result:
        flat += part if isinstance(part, list) else [part]
    first: dict[int, int] = {}
    same = [first.setdefault(id(one), place) for place, one in enumerate(flat)]
    views = [place for place, one in enumerate(flat) if isinstance(one, np.ndarray) and one.base is not None]
    values = [(type(one), one.tobytes() if hasattr(one, "tobytes") else repr(one)) for one in flat]
    return [len(part) if isinstance(part, list) else None for part in result], values, same, views

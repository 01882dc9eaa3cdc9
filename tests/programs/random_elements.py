"""Random functions with loops over single elements: recurrences, tables, sums, slices and their products, and
numbers that are handed on.

`source(seed)` is the text of a function f(a, b, c, d, m, n, x); `arguments(seed, n)` makes its arguments: a and b have
one axis, c and d two, of dtypes and layouts that depend on the seed; awkward: with values that make NumPy warn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

FLOATS = (np.float64, np.float64, np.float32)
INTEGERS = (np.int64, np.int64, np.int32, np.int16, np.uint8, np.uint32, np.uint64, np.int8)
_RANGES = ("1, n", "1, n - 1", "n - 1, 0, -1", "1, n, 2", "n")
_INNER = (*_RANGES, "1, i", "i, n", "0, i", "1, 4")
_BINARY = ("{l} + {r}", "{l} - {r}", "{l} * {r}", "({l}) * 0.5 + {r}", "np.minimum({l}, {r})", "np.maximum({l}, {r})")
_FLOAT_BINARY = ("{l} / {r}", "np.hypot({l}, {r})", "np.add({l}, {r})", "np.where({l} < {r}, {l}, {r})")
_FLOAT_UNARY = (
    "np.sqrt({l})",
    "abs({l})",
    "-({l})",
    "np.exp({l})",
    "np.sin({l})",
    "np.float32({l})",
    "np.floor({l})",
    "{l} ** 2",
)
_INTEGER_BINARY = (
    "{l} & {r}",
    "{l} | {r}",
    "{l} ^ {r}",
    "{l} // {r}",
    "{l} % {r}",
    "{l} >> 2",
    "{l} << 1",
    "{l} > {r}",
)
# Numbers out of integer arrays: some are no index of the array.
_READ_INDICES = ("b[i] % 3", "int(a[i]) % 3", "a[i]", "b[i - 1]", "-(int(b[i]) & 3)", "a[b[i] % 4] % 5", "int(a[-1])")
_FLOAT_INDICES = ("int(a[i]) % 3", "int(b[i] * 4.5)", "-int(a[i - 1] * 2)", "abs(int(b[-1])) % 4")
_READ_RANGES = ("b[i] % 4", "a[i] % 3, int(b[i - 1]) & 7", "int(a[0]) & 3, -1, -1", "1, 9, b[i] % 3 + 1")
_READ_STATEMENTS = (
    "k = k ^ int(a[i])",
    "k = (k >> 1) ^ (i & 7)",
    "k = int(b[i]) | k & 0xFF",
    "k = ~k + (int(a[i]) << 2)",
    "a[b[i] % 3] += 1",
    "b[a[i]] = a[i]",
    "k = abs(int(b[i])) % 1009",
    "s = a[i] ^ (k & 3)",
)
# The first of equal objects, whatever their types; and a function with several returns.
_EXTREMES = (
    *("max({l}, {r})", "min({l}, {r})", "max({r}, {l}, 1)"),
    *("min(0, {l})", "abs(max({l}, {r}))", "nearer({l}, {r})"),
)
# Slices of equal length, which are multiplied and computed with.
_SLICES = (":{i}", "{i}:", ":{i} + 1", "{i}::-1", ":{i}:-1", ":", "::-2", "1:{i}", "{i} - 1::2")
_READ_SLICES = ("b[i] % 3:", ":b[i] % 4 + 1", "a[i]:a[i] + 2", "int(b[0]) & 1:b[i - 1] % 5", "b[-1] % 2:{i}")
_SLICE_STATEMENTS = (
    *("{l} = {r}", "{l} += {r} * {k}", "{l} -= {r}", "{l} = {r} + {q} * {k}", "{l} = {l} - {r}", "{l} = {k}"),
    *("{l} = np.minimum({r}, {q}) - {l}", "{l} = abs({r})", "{l} *= {k}", "{l} = np.where({r} < {q}, {l}, {k})"),
)
_NEARER = """def nearer(p, q):
    if p < q:
        return q
    if p == q:
        p = p + 1
    return p


"""


def source(seed: int) -> str:
    """The text of a function."""
    return _Program(random.Random(seed), random.Random(f"slices {seed}")).text()


class _Program:
    def __init__(self, pick: random.Random, slices: random.Random) -> None:
        self.pick = pick
        self.slices = slices  # of its own: programs without slices stay what they are
        self.products = slices.choice((0, 0, 0, 0.4))
        self.wholes = slices.choice((0, 0, 0, 0.3))  # how often an int of a float is an index
        self.floats = pick.random() < 0.6
        self.choices = pick.choice((0, 0, 0.3))
        self.ends = pick.choice((0, 0, 0, 0.4))  # how often a loop has a condition
        self.extremes = pick.choice((0, 0, 0.3))
        self.numbers = 0 if self.floats else pick.choice((0, 0.3, 0.3))  # how often an array gives an index or a bound

    def text(self) -> str:
        first = self.pick.choice(("0", "0.5", "a[0]", "x", "b[1] * 2"))
        lines = ["def f(a, b, c, d, m, n, x):", f"    s = {first}; t = a[1]; k = 7; g = 0.25; i = j = h = 1"]
        for _ in range(self.pick.choice((1, 1, 2))):
            lines += self.loop("    ", 0)
        return _NEARER * bool(self.extremes) + "\n".join([*lines, "    return s, t, k, g, i, j"]) + "\n"

    def loop(self, indent: str, depth: int) -> list[str]:
        index, last = "ijh"[depth], ""
        if self.pick.random() < self.ends:
            start, test = self.pick.choice((("1", ""), ("0", f" and {self.condition(depth, 1)}"), ("1", " and s < 50")))
            lines = [f"{indent}{index} = {start}", f"{indent}while {index} < n{test}:"]
            last = f"{indent}    {index} += {self.pick.choice('112')}"
        else:
            ranges = _INNER if depth else _RANGES
            ranges = _READ_RANGES if depth and self.pick.random() < self.numbers else ranges
            lines = [f"{indent}for {index} in range({self.pick.choice(ranges)}):"]
        if depth < 2 and self.pick.random() < (0.5, 0.15)[depth]:
            if self.pick.random() < 0.4:
                lines.append(f"{indent}    {self.statement(depth)}")
            lines += self.loop(indent + "    ", depth + 1)
        for _ in range(self.pick.randint(1, 3)):
            lines += self.choice(indent + "    ", depth) if self.pick.random() < self.choices else []
            lines.append(f"{indent}    {self.statement(depth)}")
        if self.pick.random() < self.ends:
            lines += [f"{indent}    if {self.condition(depth, 1)}:"]
            if self.pick.random() < 0.4:
                lines.append(f"{indent}        {self.statement(depth)}")
            lines += [f"{indent}        break"]
        return [*lines, last] if last else lines

    def condition(self, depth: int, size: int) -> str:
        compared = self.pick.choice(("<", ">", "<=", "==", "!="))
        return f"{self.expression(depth, size)} {compared} {self.atom(depth)}"

    def choice(self, indent: str, depth: int) -> list[str]:
        """An if of which both branches compute."""
        lines = [f"{indent}if {self.condition(depth, 1)}:"]
        lines.append(f"{indent}    {self.statement(depth)}")
        if self.pick.random() < 0.5:
            lines += [f"{indent}else:", f"{indent}    {self.statement(depth)}"]
        return lines

    def statement(self, depth: int) -> str:
        if self.products and self.slices.random() < self.products:
            return self.slice_statement(depth)
        target = self.pick.choice(("{a}", "{a}", "{a}", "s", "t", "{c}", "{c}"))
        form = self.pick.choice(("{v} = {e}", "{v} = {e}", "{v} += {e}", "{v} -= {e}", "{v} = {v} * 0.5 + {e}"))
        if not self.floats:
            form = form.replace(" * 0.5", "")
        elif target in ("s", "t") and self.pick.random() < 0.5:
            form = "{v} = {v} * 0.5 + {e}"
        if self.pick.random() < self.numbers / 2:
            return self.pick.choice(_READ_STATEMENTS)
        if self.pick.random() < 0.15:
            return self.pick.choice(
                ("k = (k * 31 + i) % 1009", "g = g * 0.5 + i", "k += 3", "g, t = t, g", "k = k // 2 + j", "g = k / 4")
            )
        place = target.format(a=self.vector(depth), c=self.table(depth))
        return form.format(v=place, e=self.expression(depth, self.pick.randint(0, 2)))

    def vector(self, depth: int) -> str:
        index = self.pick.choice(
            ("i", "i - 1", "i", "0", "-1", "m", "k % 3", "-i", "n - i - 1", "2 * i // 2", "ijh"[depth])
        )
        if self.pick.random() < self.numbers:
            index = self.pick.choice(_READ_INDICES)
        if self.floats and self.slices.random() < self.wholes:
            index = self.slices.choice(_FLOAT_INDICES)
        return f"{self.pick.choice('ab')}[{index}]"

    def table(self, depth: int) -> str:
        row = self.pick.choice(("i", "i - 1", "i", "0", "m - i"))
        column = self.pick.choice(("j", "j - 1", "j + 1", "i", "-1", "ijh"[depth]))
        name = self.pick.choice("cd")
        return f"{name}[{row}][{column}]" if self.pick.random() < 0.1 else f"{name}[{row}, {column}]"

    def sides(self, depth: int, count: int) -> list[str]:
        """Slices of one length."""
        choose, index = self.slices.choice, "ijh"[depth]
        which = choose(_SLICES).format(i=choose((index, index, "i")))
        if not self.floats and choose((False, False, True)):
            which = choose(_READ_SLICES).format(i=index)
        forms = ("{n}[{s}]", "{m}[{p}, {s}]", "{m}[{s}, {p}]", "{m}[{p}][{s}]")
        places = (index, "i", "0", "-1")
        return [choose(forms).format(n=choose("ab"), m=choose("cd"), p=choose(places), s=which) for _ in range(count)]

    def product(self, depth: int) -> str:
        """A product of two slices."""
        form = self.slices.choice(("{} @ {}", "np.dot({}, {})") if self.floats else ("{} @ {}",))
        return form.format(*self.sides(depth, 2))

    def slice_statement(self, depth: int) -> str:
        """A statement on slices."""
        left, right, other = self.sides(depth, 3)
        number = self.slices.choice(("x", "0.5", "a[i]", "i", "s") if self.floats else ("2", "i", "3", "a[i]"))
        return self.slices.choice(_SLICE_STATEMENTS).format(l=left, r=right, q=other, k=number)

    def atom(self, depth: int) -> str:
        if self.products and self.slices.random() < self.products:
            return f"({self.product(depth)})"
        numbers = ("i", "2", "0.5", "x", "g") if self.floats else ("i", "2", "3", "m", "k")
        kind = self.pick.random()
        if kind < 0.45:
            return self.vector(depth)
        if kind < 0.7:
            return self.table(depth)
        return self.pick.choice((*numbers, "s", "t"))

    def expression(self, depth: int, size: int) -> str:
        if size == 0:
            return self.atom(depth)
        left, right = (self.expression(depth, self.pick.randrange(size)) for _ in range(2))
        if self.extremes and self.pick.random() < self.extremes:
            return self.pick.choice(_EXTREMES).format(l=left, r=right)
        if self.floats and self.pick.random() < 0.2:
            return self.pick.choice(_FLOAT_UNARY).format(l=left)
        more = _FLOAT_BINARY if self.floats else _INTEGER_BINARY
        form = self.pick.choice((*_BINARY, *more) if self.floats else (*_BINARY[:3], *_BINARY[4:], *more))
        return "(" + form.format(l=left, r=right) + ")"


def function(seed: int) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(source(seed), f"<random elements {seed}>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def arguments(seed: int, n: int, awkward: bool = False) -> tuple[Any, ...]:
    """Arguments for loops up to n."""
    pick = random.Random(seed)
    floats = random.Random(seed).random() < 0.6  # as _Program decides
    pick.random()
    rng = np.random.default_rng(seed)
    size = max(n, 3) + 2
    dtypes = [pick.choice(FLOATS if floats else INTEGERS) for _ in range(4)]
    if pick.random() < 0.7:
        dtypes = [dtypes[0]] * 4
    arrays: list[Any] = []
    for place, dtype in enumerate(dtypes):
        shape = (2 * size,) if place < 2 else (size, 2 * size)
        values = rng.random(shape) if floats else rng.integers(0, 5, shape)
        array = values.astype(dtype)
        if awkward and floats:
            wild = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -np.nan, 5e-324], np.float64)
            chosen = rng.random(shape) < 0.2
            with np.errstate(all="ignore"):
                array[chosen] = wild[rng.integers(0, len(wild), int(chosen.sum()))].astype(dtype)
        elif awkward:
            limits = np.iinfo(dtype)
            chosen = rng.random(shape) < 0.2
            array[chosen] = rng.choice(np.array([limits.min, limits.max, 0], dtype), int(chosen.sum()))
        arrays.append(_lay(pick.choice(("plain", "plain", "strided", "reversed", "fortran")), array, size))
    if pick.random() < 0.15:
        arrays[1] = arrays[0]
    return (*arrays, size - 1, n, 0.75 if floats else 3)


def _lay(layout: str, array: Any, size: int) -> Any:
    if layout == "strided":
        return array[..., ::2]
    array = array[..., :size].copy()
    if layout == "reversed":
        return array[::-1]
    return np.asfortranarray(array) if layout == "fortran" else array

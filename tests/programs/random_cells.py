"""Random functions whose loops read lists of numbers while they fill them.

Enters a seed; leaves the text of a function of an int and a list of ints: one to three lists made in it, a nest of
loops that stores, appends, takes off, moves and swaps their items and looks at their ends and lengths, and numbers that
live on. Now and then an index does not exist, or an int does not fit 64 bits.
"""

from __future__ import annotations

import random

_NUMBERS = {
    "int": (
        *("{l}[{i}]", "{l}[{i}]", "{l}[-1]", "{l}[{i} - 1] + {j}", "len({l})", "{l}[{i}] + {m}[{j}]", "t", "j * 1000"),
        *("i", "-{l}[{i}]"),
    ),
    "float": (
        *("{l}[{i}]", "{l}[{i}]", "{l}[-1]", "{l}[{i} - 1] * 0.5", "{l}[{i}] + {m}[{j}]", "f", "f * 0.5", "1.5"),
        *("float(i)", "{l}[{i}] * 1e200 - {m}[{j}]", "-{l}[{i}]"),
    ),
    "bool": ("{l}[{i}]", "{l}[{i}]", "not {l}[{i}]", "i > j", "True", "t > 100", "{l}[{i}] == {l}[{j}]"),
}
_MORE = {
    "int": (
        *("max({l}[{i}], {m}[{j}])", "min({l}[{i}], t)", "max({l}[{i}] + 1, 0)", "({l}[{i}] * 31 + j) % 1000003"),
        *("{l}[{i}] if {l}[{i}] > {m}[{j}] else t", "abs({l}[{i}] - t)", "{l}[{i}] * 40009", "a[i % len(a)]"),
    ),
    "float": ("max({l}[{i}], {m}[{j}])", "min({l}[{i}], f)", "{l}[{i}] if {l}[{i}] > f else {m}[{j}]", "f + 1.0"),
    "bool": ("{l}[{i}] or {m}[{j}]", "{l}[{i}] and i > 2"),
}
_NAMES = {"int": "t", "float": "f", "bool": "h"}
_FIRSTS = {
    "int": (
        *("[0] * (n + 4)", "[n] * (n + 4)", "[1, 2, 3, 4]", "[0, 1000, n, 5]", "[k * 1000 for k in range(n + 4)]"),
        *("list(range(n + 4))", "[7000] * (n + 4)", "[k * 7919 % 101 for k in range(n + 4)]"),
    ),
    "float": ("[0.0] * (n + 4)", "[0.5, 1.5, 2.5, 0.5]", "[k * 0.5 for k in range(n + 4)]", "[f] * (n + 4)"),
    "bool": ("[False] * (n + 4)", "[True, False, True, True]", "[k % 3 == 0 for k in range(n + 4)]"),
}


def source(seed: int) -> str:
    """The text of f(n, a)."""
    return _Function(random.Random(seed)).text()


class _Function:
    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.kinds = {name: pick.choice(("int", "int", "float", "bool")) for name in "pqr"[: pick.randint(1, 3)]}
        self.grid = ""

    def text(self) -> str:
        pick = self.pick
        lines = ["def f(n, a):", "    t = n * 1000; f = n * 0.5; h = False; i = j = u = 0"]
        for name, kind in self.kinds.items():
            lines.append(f"    {name} = {pick.choice(_FIRSTS[kind])}")
        if pick.random() < 0.3:
            self.grid = pick.choice(("int", "float", "bool"))
            fill = {"int": ("0", "7000", "1"), "float": ("0.0", "1.5"), "bool": ("False",)}[self.grid]
            width = pick.choice(("n + 4", "n + 2", "5"))
            lines.append(f"    w = [[{pick.choice(fill)}] * ({width}) for _ in range(n + 4)]")
        if pick.random() < 0.2:
            lines.append("    z = p")
            self.kinds["z"] = self.kinds["p"]
        lines += self.loop(1, "i")
        if pick.random() < 0.3:
            lines += self.loop(1, "i")
        if pick.random() < 0.2:
            name = pick.choice(list(self.kinds))
            return "\n".join([*lines, f"    return {name}[{pick.choice(('n', '-1', '0', 'n // 2'))}]", ""])
        if self.grid:
            last = pick.choice(("w", "w", "w[n][n]", "w[-1][-1], w[0][0]"))
            return "\n".join([*lines, f"    return {', '.join(self.kinds)}, {last}, t, f, h", ""])
        results = [*self.kinds, *pick.sample(["t", "f", "h", "i", "j", "u"], 3)]
        return "\n".join([*lines, f"    return {', '.join(results)}", ""])

    def loop(self, depth: int, index: str) -> list[str]:
        pick, indent = self.pick, "    " * depth
        other = self.list()
        head = pick.choice(("for {x} in range(n):", "for {x} in range(1, n):", "for {x} in range(n, 0, -1):", "while"))
        before: list[str] = []
        first: list[str] = []
        if head == "while":
            of_list = f"while {other} and u < 3 * n:", f"while len({other}) > 2 and u < 40:"
            head = pick.choice((*of_list, "while u < 3 * n:"))
            first = [f"{indent}    u += 1"]
        body = [*first, *self.block(depth + 1)]
        if depth == 1 and pick.random() < 0.5:
            body += self.loop(2, "j")
            body += self.block(depth + 1)
        return [*before, indent + head.format(x=index), *body]

    def block(self, depth: int) -> list[str]:
        pick, indent = self.pick, "    " * depth
        lines: list[str] = []
        for _ in range(pick.randint(1, 3)):
            if pick.random() < 0.3:
                lines += [f"{indent}if {self.condition()}:", f"{indent}    {self.statement()}"]
                if pick.random() < 0.4:
                    lines += [f"{indent}else:", f"{indent}    {self.statement()}"]
            else:
                lines.append(indent + self.statement())
        if pick.random() < 0.1:
            lines += [f"{indent}if {self.condition()}:", f"{indent}    {pick.choice(('break', 'continue'))}"]
        return lines

    def list(self, kind: str | None = None) -> str:
        return self.pick.choice([name for name, one in self.kinds.items() if kind in (None, one)])

    def index(self, of: str) -> str:
        pick = self.pick
        if pick.random() < 0.02:
            return pick.choice(("n", "i + 2", "-5"))
        return pick.choice(("i", "j", "i - 1", "-1", "0", "1", f"i % len({of})", f"j % len({of})", "-2", "i // 2"))

    def number(self, kind: str) -> str:
        pick = self.pick
        form = pick.choice((*_NUMBERS[kind], *_NUMBERS[kind], *_MORE[kind]))
        name, other = self.list(kind), self.list(kind)
        return form.format(l=name, m=other, i=self.index(name), j=self.index(other))

    def condition(self) -> str:
        pick, name = self.pick, self.list()
        of = {"int": f"{name}[{self.index(name)}] % 2 == 0", "bool": f"{name}[{self.index(name)}]"}
        test = of.get(self.kinds[name], f"{name}[{self.index(name)}] < 3.0")
        return pick.choice((test, test, name, f"not {name}", f"len({name}) > 3", "i % 2 == 0", "j < i"))

    def of_grid(self) -> str:
        pick, name = self.pick, _NAMES[self.grid]
        rows = [pick.choice(("i", "j", "i - 1", "-1", "0")) for _ in "ab"]
        own, other = (f"w[{row}][{pick.choice(('i', 'j', 'j - 1', '-1'))}]" for row in rows)
        values = {
            "int": (f"{other} + j", f"max({own}, {other})", other, "t", "i * 1000", f"{other} * 3 % 1000003"),
            "float": (f"{other} + 0.5", f"max({own}, {other})", other, "f", "2.5"),
            "bool": (f"not {other}", other, "i > j"),
        }[self.grid]
        stores = [f"{own} = {value}" for value in values]
        return pick.choice((*stores, f"{name} = {other}", f"{own}, {other} = {other}, {own}"))

    def statement(self) -> str:
        pick, name = self.pick, self.list()
        if self.grid and pick.random() < 0.4:
            return self.of_grid()
        kind = self.kinds[name]
        grows = ("{l}.append({v})", "{l}.append({v})", "{x} = {l}.pop()", "if len({l}) > 2: {l}.pop()")
        forms = (
            *("{l}[{i}] = {v}", "{l}[{i}] = {v}", "{l}[{i}] = {v}", "{x} = {v}", "{x} = {l}[{i}]"),
            *("{l}[{i}], {l}[{j}] = {l}[{j}], {l}[{i}]", "{x} = {l}[{i}]; {l}[{j}] = {x}"),
            *(grows if pick.random() < 0.4 else ()),
        )
        if kind != "bool" and pick.random() < 0.15:
            forms = ("{l}[{i}] += 1", "{l}[{i}] += {v}")
        form = pick.choice(forms)
        i, j = self.index(name), self.index(name)
        return form.format(l=name, i=i, j=j, v=self.number(kind), x=_NAMES[kind])

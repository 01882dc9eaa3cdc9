"""Random programs of objects: classes whose methods, and functions that get their objects, branch on what arrays hold.

Leaves the text of a module with a function f of an array. What is changed on one way only has to be there behind the
branch, whoever has the object: a local, an attribute, a list, or the call that is making it alone.
"""

from __future__ import annotations

import random

_NUMBERS = ("a.max()", "a.min()", "a.sum()", "a.mean()", "a[0]", "a[-1]", "float(a[1])", "len(a)", "a.argmax()")
_CONSTANTS = ("0.5", "1", "2.0", "-1", "3", "0.25")
_ATTRIBUTES = ("p", "q", "s")
_STATEMENTS = (
    *("{o}.{x} = {e}", "{o}.{x} = {e}", "{o}.{x} += {n}", "{o}.{x} -= {n}", "{o}.{x} *= {n}", "{o}.items.append({n})"),
    *("{o}.table[{k}] = {n}", "{o}.arr = {o}.arr * {n} + a", "{o}.arr[{i}] = {n}", "t = {e}"),
)
_STEPS = (
    *("{one} = {C}(a, {n})", "{one} = {C}(a, {n})", "{one} = {C}(a, {n})"),
    *("out.append({o}.{m}(a, {n}))", "change({o}, a, {n})", "out.append({C}(a, {n}).{m}(a, {n}))"),
    "out += [change({C}(a, v), a, v) for v in (a.max(), a.min())]",
    "for i in range({times}):\n        {o}.{m}(a, a[i])",
    "if {o}.p > {n}:\n        {o} = {C}(a, {n})\n    else:\n        change({o}, a, {n})",
)


def source(seed: int) -> str:
    """The text of a module with ``f(a)``, a an array of five floats."""
    return _Program(random.Random(seed)).text()


class _Program:
    def __init__(self, pick: random.Random) -> None:
        self.pick = pick

    def number(self, names: list[str]) -> str:
        kind = self.pick.random()
        if kind < 0.3:
            return self.pick.choice(_NUMBERS)
        return self.pick.choice(names) if kind < 0.7 and names else self.pick.choice(_CONSTANTS)

    def expression(self, names: list[str]) -> str:
        one, other = self.number(names), self.number(names)
        forms = [f"{one} {self.pick.choice('+-*')} {other}", f"min({one}, {other})", f"abs({one})", one]
        return self.pick.choices(forms, (5, 1, 1, 3))[0]

    def condition(self, names: list[str]) -> str:
        parts = [f"{self.number(names)} {self.pick.choice(('>', '<', '>=', '<='))} {self.number(names)}" for _ in "ab"]
        forms = [parts[0], " and ".join(parts), " or ".join(parts), f"not ({parts[0]})"]
        return self.pick.choices(forms, (13, 3, 3, 1))[0]

    def block(self, owner: str, depth: int, returns: str) -> list[str]:
        """Statements on the attributes of `owner`. returns: what a `return` in them gives; "" for any number."""
        lines: list[str] = []
        names = ["v", *(f"{owner}.{name}" for name in _ATTRIBUTES)]
        for _ in range(self.pick.randint(1, 2 if depth else 3)):
            if depth < 3 and self.pick.random() < 0.4:
                lines += [f"if {self.condition(names)}:", *self.indented(self.block(owner, depth + 1, returns))]
                if self.pick.random() < 0.6:
                    lines += ["else:", *self.indented(self.block(owner, depth + 1, returns))]
                    if self.pick.random() < 0.15:
                        lines.append(f"    return {returns or self.number(names)}")
                continue
            text = self.pick.choice(_STATEMENTS)
            places = {"x": _ATTRIBUTES, "k": "123", "i": ("0", "-1")}
            chosen = {name: self.pick.choice(values) for name, values in places.items()}
            lines.append(text.format(o=owner, e=self.expression(names), n=self.number(names), **chosen))
            if text.startswith("t ="):
                names.append("t")
        return lines

    @staticmethod
    def indented(lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def text(self) -> str:
        first = ["self.p = v; self.q = 0.0; self.s = 1", "self.items = []; self.table = {}; self.arr = a * 1.0"]
        lines = ["class C:", "    def __init__(self, a, v):", *map("        ".__add__, first)]
        lines += self.indented(self.indented(self.block("self", 0, "None")))
        for name in ("one", "other"):
            result = self.pick.choice(("self", "self.p", "v", "None", "self.items"))
            body = [*self.block("self", 0, ""), f"return {result}"]
            lines += [f"    def {name}(self, a, v):", *self.indented(self.indented(body))]
        lines += ["class D(C):", "    def __init__(self, a, v):", "        super().__init__(a, v * 2)"]
        lines += self.indented(self.indented(self.block("self", 1, "None")))
        lines += ["def change(o, a, v):", *self.indented([*self.block("o", 0, ""), "return o"])]
        lines += ["def f(a):", "    out = []", "    o0 = C(a, 1)"]
        objects = ["o0"]
        for place in range(1, self.pick.randint(3, 5)):
            text = self.pick.choice(_STEPS)
            places = {"C": ("C", "D"), "m": ("one", "other"), "o": objects, "times": ("3", "len(a)")}
            chosen = {name: self.pick.choice(values) for name, values in places.items()}
            lines.append("    " + text.format(one=f"o{place}", n=self.number([]), **chosen))
            if text.startswith("{one}"):
                objects.append(f"o{place}")
        return "\n".join([*lines, f"    return {', '.join(objects)}, out", ""])

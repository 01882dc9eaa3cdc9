"""Random functions of Python's own scoping and control flow, with array arithmetic in them: closures, comprehensions,
`nonlocal`, generators, walrus, `match`, `try`, `with`, classes, `del`, stars, f-strings.

``text_of`` turns a seed into the text of a module with a function ``f(x, y, m, a, b, s, p, d, o)``. A name has one kind
everywhere (NAMES), so that comprehensions, parameters and inner functions hide each other's variables, and what is
read is of the kind that is wanted. What loops is bounded; what an inner function calls was there before it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable

NAMES = {"A": "xyuv", "I": "aijk", "R": "bct", "L": "pq"}  # arrays, ints, floats, lists of numbers
KIND = {name: kind for kind, names in NAMES.items() for name in names}
LINES = (12, 25, 40)
KEYS = ("s", '"k"', "str(a)")
CONSTANTS = {"A": "G * 2", "I": "5", "R": "1.5", "L": "[3, 0.5]"}
CAUGHT = ("ValueError", "(KeyError, IndexError)", "ZeroDivisionError", "Exception")
STATEMENTS = (
    *("stars", "shown", "delete", "leave", "store", "check", "lambdas", "drain", "choice", "loop", "while_loop"),
    *("attempt", "context", "match", "groups", "function", "klass", "generates"),
)

HELPERS = """\
import contextlib
import functools
import numpy as np

G, K = np.linspace(0.0, 1.0, 5), 3


class Thing:
    def __init__(self, u, k=1, t=0.5):
        self.u, self.k, self.t = u, k, t

    @property
    def half(self):
        return self.u * 0.5

    @half.setter
    def half(self, value):
        self.u = value * 2.0


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        print("enter")
        return len(self.kinds)

    def __exit__(self, kind, error, traceback):
        print("exit", kind and kind.__name__, error, traceback and traceback.tb_lineno)
        return kind is not None and issubclass(kind, self.kinds)


@contextlib.contextmanager
def logged(name):
    print("in", name)
    try:
        yield name
    except IndexError as error:
        print("swallowed", error)
    finally:
        print("out", name)


def down(n, t):
    return t if n <= 0 else down(n - 1, t * 0.5) + n


def produce(x, n):
    try:
        for i in range(n):
            got = yield x[i % len(x)] * 2
            if got:
                print("got", got)
    finally:
        print("closed")


def apply(fn, *args, **kwargs):
    return fn(*args, **kwargs)


def say(value):
    print(value)
    return value


def traced(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        print("calls", fn.__name__, sorted(kwargs))
        return fn(*args, **kwargs)

    return inner
"""


class Scope:
    """What a function may assign, and where it stands."""

    def __init__(self, outer: Scope | None, own: str, others: str = "", gives: str = "") -> None:
        self.gives = gives  # the kind that it returns
        self.assigned = own + others  # its own variables, and those that it declared nonlocal or global
        self.loops = 0
        self.jumps = True  # not in except*, and not in classes
        self.depth = outer.depth + 1 if outer else 0


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.limit = self.pick.choice(LINES)
        share = self.pick.choice((0.3, 0.6, 1.0))  # programs with few kinds of statements break less
        self.used = {"assign", "augment", *(kind for kind in STATEMENTS if self.pick.random() < share)}
        self.lines: list[str] = []
        self.calls: dict[str, list[Callable[[], str]]] = {"A": [], "I": [], "R": []}
        self.closures: list[str] = []
        self.scope = Scope(None, "".join(NAMES.values()))
        self.numbers = 0
        self.hidden = ""  # the variables of the comprehensions around an expression
        self.walrus = True

    # Expressions: `depth` bounds how far they nest.

    def chance(self, share: float) -> bool:
        return self.pick.random() < share

    def one(self, *options: Callable[[], str] | str) -> str:
        found = self.pick.choice(options)
        return found if isinstance(found, str) else found()

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def name(self, kind: str) -> str:
        return self.pick.choice(NAMES[kind])

    def target(self, kind: str) -> str | None:
        names = [name for name in self.scope.assigned if KIND.get(name) == kind]
        return self.pick.choice(names) if names else None

    def expression(self, kind: str, depth: int = 2) -> str:
        made: str = {"A": self.array, "I": self.integer, "R": self.real, "L": self.items}[kind](depth)
        if self.walrus and kind != "L" and self.chance(0.05):
            name = self.target(kind)
            if name is not None and name not in self.hidden:
                return f"({name} := {made})"
        if depth and "shown" in self.used and self.chance(0.04):
            return f"say({made})"
        return made

    def called(self, kind: str) -> str:
        if self.calls[kind]:
            return self.pick.choice(self.calls[kind])()
        return self.name(kind)

    def array(self, depth: int) -> str:
        if depth <= 0:
            return self.one(*NAMES["A"], "o.u", "G", "o.half")
        depth -= 1
        a, r = self.array, self.real
        return self.one(
            *(lambda: self.name("A"), lambda: self.name("A"), lambda: self.called("A"), lambda: self.called("A")),
            lambda: f"{a(depth)} * {r(0)}",
            lambda: f"{a(depth)} {self.one('+', '-', '*')} {a(0)}",
            lambda: f"np.sqrt(np.abs({a(depth)}))",
            lambda: f"({a(depth)} + {self.integer(0)})",
            lambda: f"np.where({a(0)} > {r(0)}, {a(0)}, {a(0)})",
            lambda: f"({a(0)} if {self.condition(depth)} else {a(0)})",
            lambda: f"{self.name('A')}[::-1]",
            lambda: f"m[{self.integer(0)} % len(m)]",
            lambda: f"sum(({a(0)} * {self.name('I')} {self.clauses(0)}), {a(0)})",
            *(lambda: f"[*m, {a(0)}][-1]", lambda: f"r[{self.integer(0)} % len(r)]", lambda: "r[-1]"),
            lambda: f"max(r, key=lambda {self.name('A')}: {r(0)} + {self.name('A')}[0])",
            lambda: f"np.array([{r(depth)}, {self.integer(0)}])[:1] + {a(0)}",
            lambda: f"(lambda {self.name('A')}, {self.name('I')}={self.integer(0)}: {a(depth)})({a(0)})",
            lambda: f"apply(lambda *rest, {self.name('R')}={r(0)}: {a(depth)}, 1)",
        )

    def integer(self, depth: int) -> str:
        if depth <= 0:
            return self.one(*NAMES["I"], "o.k", "K", str(self.pick.randint(0, 7)), 'd["k"]', "len(p)", "a", "i")
        depth -= 1
        i = self.integer
        return self.one(
            *(lambda: self.name("I"), lambda: self.called("I")),
            lambda: f"({i(depth)} {self.one('+', '-')} {i(0)})",
            lambda: f"{i(0)} * 3 % 7",
            lambda: f"{i(0)} // ({i(0)} % 3)" if self.chance(0.3) else f"{i(0)} // 2",
            lambda: f"len({self.items(depth)})",
            lambda: f"({i(depth)} if {self.condition(depth)} else {i(0)})",
            lambda: f"sum({i(0)} {self.clauses(depth)})",
            lambda: f"int({self.array(0)}.argmax())",
            lambda: f"(lambda {self.name('I')}={i(0)}: {i(depth)})()",
            lambda: f"max({i(0)}, {i(0)})",
            lambda: f"len({{{i(0)} {self.clauses(0)}}})",
            lambda: f"d.get({self.one(*KEYS)}, {i(0)})",
        )

    def real(self, depth: int) -> str:
        if depth <= 0:
            return self.one(*NAMES["R"], "o.t", "0.5", "-1.25", 'd["t"]', "b")
        depth -= 1
        r = self.real
        return self.one(
            *(lambda: self.name("R"), lambda: self.called("R"), lambda: f"{self.array(depth)}.sum()"),
            lambda: f"({r(depth)} {self.one('+', '-', '*')} {r(0)})",
            lambda: f"{self.name('A')}[{self.integer(0)} % len({self.name('A')})]",
            lambda: f"float({self.array(0)}.mean())",
            lambda: f"sum({r(0)} {self.clauses(depth)})",
            lambda: f"max({r(0)}, {r(0)}, key=lambda {self.name('R')}: {r(0)})",
            lambda: f"({r(depth)} if {self.condition(depth)} else {r(0)})",
            lambda: f"{self.name('L')}[{self.integer(0)} % 2]",
            lambda: f"sorted({self.items(0)}, key=lambda {self.name('R')}: -{self.name('R')})[0]",
            lambda: f"down({self.integer(0)} % 3, {r(0)})",
            lambda: f"(lambda *{self.name('L')}, {self.name('R')}={r(0)}: {r(depth)})(1, 2)",
            lambda: f"next({self.generator(depth)}, {r(0)})",
            lambda: f"{{{self.name('I')}: {r(0)} {self.clauses(0)}}}.get(1, {r(0)})",
            lambda: f"sum(one() for one in [(lambda: {r(0)}) {self.clauses(0)}])",
        )

    def items(self, depth: int) -> str:
        if depth <= 0:
            return self.one(*NAMES["L"], "[1, 2.5]", f"[{self.name('I')}, {self.name('R')}]")
        depth -= 1
        return self.one(
            lambda: self.name("L"),
            lambda: f"[{self.scalar(depth)} {self.clauses(depth)}]",
            lambda: f"[{self.scalar(depth)}, *{self.items(0)}]",
            lambda: f"list(map(lambda {self.name('R')}: {self.scalar(0)}, {self.items(0)}))",
            lambda: f"list(filter(lambda {self.name('I')}: {self.condition(0)}, {self.items(0)}))",
            lambda: f"sorted({self.items(0)})",
            lambda: f"{self.name('A')}[:3].tolist()",
            lambda: f"list({self.generator(depth)})",
        )

    def scalar(self, depth: int) -> str:
        return self.expression(self.pick.choice("IR"), depth)

    def generator(self, depth: int) -> str:
        return self.one(
            lambda: f"({self.scalar(depth)} {self.clauses(depth)})",
            lambda: f"produce({self.name('A')}, 3)",
            lambda: f"map(lambda {self.name('R')}: {self.scalar(0)}, {self.items(0)})",
        )

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                lambda: f"{self.integer(0)} % 3 == {self.pick.randint(0, 2)}",
                lambda: f"{self.real(0)} > {self.real(0)}",
                lambda: f"{self.integer(0)} > {self.pick.randint(0, 5)}",
                lambda: f"{self.name('A')}[0] < {self.real(0)}",
                lambda: f"{self.name('A')}.sum() > {self.real(0)}",
            )
        depth -= 1
        c = self.condition
        return self.one(
            *(lambda: c(0), lambda: c(0)),
            lambda: f"0 < {self.integer(depth)} <= {self.integer(0)}",
            lambda: f"{self.real(0)} <= {self.name('A')}[-1] < {self.real(0)} != {self.integer(0)}",
            lambda: f"not {c(0)}",
            lambda: f"({c(depth)} {self.one('and', 'or')} {c(0)})",
            lambda: f"{self.one('any', 'all')}({c(0)} {self.clauses(depth)})",
            lambda: f"{self.integer(0)} in {self.items(0)}",
            lambda: f"isinstance({self.scalar(0)}, int)",
            lambda: f"{self.expression('I', depth)} > 2",
            lambda: f"{self.name('A')} is {self.one('not ', '')}{self.name('A')}",
            lambda: f"(lambda: {c(0)})()",
        )

    def clauses(self, depth: int) -> str:
        """The `for` and `if` of a comprehension. NB: what stands in front of it was written before."""
        target, iterable = self.iterable(depth)
        found = f"for {target} in {iterable}"
        if self.chance(0.4):
            found += f" if {self.quietly(lambda: self.condition(depth))}"
        if depth > 0 and self.chance(0.25):
            target, iterable = self.iterable(0)
            found += f" for {target} in {iterable}"
        return found

    def quietly(self, write: Callable[[], str]) -> str:
        before, self.walrus = self.walrus, False
        made = write()
        self.walrus = before
        return made

    def iterable(self, depth: int) -> tuple[str, str]:
        """A target and what it goes through; at most a few items."""
        i, r, a = self.name("I"), self.name("R"), self.name("A")
        other = self.pick.choice([name for name in "ijkabct" if name not in (i, r)])
        pairs: tuple[Callable[[], tuple[str, str]], ...] = (
            lambda: (i, f"range({self.integer(0)} % 5)"),
            lambda: (i, f"range({self.pick.randint(1, 4)})"),
            lambda: (r, f"{self.name('A')}[:4]"),
            lambda: (a, "m"),
            lambda: (i, f"({', '.join(self.integer(0) for _ in range(3))})"),
            lambda: (f"{i}, {r}", f"enumerate({self.name('A')}[:3])"),
            lambda: (f"{r}, {other}", f"zip({self.name('A')}[:3], {self.name('L')})"),
            lambda: (f"{i}, {a}", "enumerate(m, 1)"),
            lambda: (r, f"{self.items(depth)}[:4]"),
            lambda: (i, f"reversed(range({self.pick.randint(1, 3)}))"),
            *(lambda: (r, "d.values()"), lambda: (f"key, {r}", "d.items()"), lambda: (r, f"{self.name('L')}[:5]")),
            *(
                lambda: (i, f"range({self.integer(0)} % 3, {self.integer(0)} + 4)"),
                lambda: (a, "r[:5]"),
                lambda: (a, "[*r[:3], x]"),
            ),
            lambda: (f"{i}, ({r}, {a})", f"enumerate(zip({self.name('L')}[:5], r))"),
            lambda: (r, f"filter(lambda {r}: {self.condition(0)}, {self.name('A')}[:4])"),
            lambda: (f"{i}, *{self.name('L')}", "((1, 2.0), (2, 3.0, 4))"),
            lambda: (r, f"map(lambda {self.name('R')}: {self.real(0)}, {self.name('A')}[:3])"),
            lambda: (r, f"produce({self.name('A')}, 2)"),
        )
        return self.quietly_pair(self.pick.choice(pairs))

    def quietly_pair(self, write: Callable[[], tuple[str, str]]) -> tuple[str, str]:
        before, self.walrus = self.walrus, False
        made = write()
        self.walrus = before
        return made

    # Statements.

    def write(self, indent: str, line: str) -> None:
        self.lines.append(indent + line)

    def block(self, indent: str, count: int = 2, bound: bool = False) -> None:
        """A few statements; what they define is known behind them only where it is certain to be there."""
        before = {kind: list(calls) for kind, calls in self.calls.items()}
        closures, written = list(self.closures), len(self.lines)
        for _ in range(self.pick.randint(1, count)):
            self.statement(indent)
        if len(self.lines) == written:
            self.write(indent, "pass")
        if not bound and not self.chance(0.05):
            self.calls, self.closures = before, closures

    def statement(self, indent: str) -> None:
        small = len(self.lines) > self.limit or len(indent) > 20
        kinds: list[tuple[float, Callable[[str], None]]] = [
            *((5, self.assign), (2, self.augment), (1.5, self.stars), (1.5, self.shown), (0.5, self.delete)),
            *((0.6, self.leave), (0.5, self.store), (0.3, self.check), (0.8, self.lambdas), (0.4, self.drain)),
        ]
        if not small:
            kinds += [
                *((2, self.choice), (2, self.loop), (1, self.while_loop), (2, self.attempt), (1.2, self.context)),
                *((1.2, self.match), (0.4, self.groups)),
                (2 if self.scope.depth < 2 else 0, self.function),
                (0.7 if self.scope.depth < 2 else 0, self.klass),
                (0.5 if self.scope.depth < 2 else 0, self.generates),
            ]
        kinds = [(weight, kind) for weight, kind in kinds if kind.__name__ in self.used]
        self.pick.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0](indent)

    def assign(self, indent: str) -> None:
        kind = self.pick.choice("AAIIRRL")
        name = self.target(kind)
        if name is not None:
            chain = f"{self.one('o.k', 'd[s]', 'p[0]')} = " if kind == "I" and self.chance(0.2) else ""
            self.write(indent, f"{name} = {chain}{self.expression(kind)}")

    def augment(self, indent: str) -> None:
        kind = self.pick.choice("AIR")
        name = self.target(kind)
        places = {
            "A": ("o.u", "x[1:]", "y[:]", "m[0]"),
            "I": ("o.k", 'd["k"]', "p[-1]", "K"),
            "R": ("o.t", 'd["t"]', f"{self.name('A')}[{self.integer(0)} % 3]", "p[0]"),
        }[kind]
        place = self.pick.choice(places)
        if place == "K" and "K" not in self.scope.assigned:
            place = "o.k"
        op = self.one("+=", "-=", "*=") if kind != "I" else self.one("+=", "-=")
        self.write(indent, f"{name if name and self.chance(0.5) else place} {op} {self.expression(kind, 1)}")

    def stars(self, indent: str) -> None:
        i, j, r, p = self.target("I"), self.target("I"), self.target("R"), self.target("L")
        if not (i and j and r and p):
            return
        self.write(
            indent,
            self.one(
                f"{i}, {j} = {self.expression('I', 1)}, {self.expression('I', 1)}",
                f"{i}, *{p} = {self.integer(0)}, {self.scalar(0)}, {self.scalar(0)}",
                f"*{p}, {r} = {self.name('A')}[:3]",
                f"({i}, {r}), {j} = ({self.integer(0)}, {self.real(0)}), {self.integer(0)}",
                f"{p}[0], {i} = {i}, {p}[-1] if isinstance({p}[-1], int) else {j}",
                f"{i}, {j} = {j}, {i}",
            ),
        )

    def shown(self, indent: str) -> None:
        shown = self.one(
            lambda: self.scalar(1),
            lambda: f"f'{{{self.name('I')}=}} {{{self.name('R')}:.3f}} {{{self.name('I')}:>4}}'",
            lambda: f"f'{{{self.real(0)} + 1:{{a % 5 + 4}}.2f}}|{{s!r}}'",
            lambda: f"f'{{sum({self.scalar(0)} {self.clauses(0)})}}'",
            lambda: f"{self.name('A')}[:2], sep='/'",
            lambda: f"*{self.name('L')}, end=';'",
            lambda: "s.upper(), s * 2",
        )
        self.write(indent, f"print({shown})" if '"' not in shown or "f'" not in shown else "print(s)")

    def delete(self, indent: str) -> None:
        name = self.target(self.pick.choice("AIRL"))
        if name is None:
            return
        self.write(indent, f"del {name}")
        if self.chance(0.3):
            self.write(indent, "try:")
            self.write(indent, f"    print({name})")
            self.write(indent, "except NameError as e:")
            self.write(indent, "    print(type(e).__name__, e)")
        if self.chance(0.95):
            constants = {"A": "x * 1.0" if name != "x" else "G + 1.0", "I": "2", "R": "0.75", "L": "[1, 2.0]"}
            self.write(indent, f"{name} = {constants[KIND[name]]}")

    def leave(self, indent: str) -> None:
        """A jump, most of them on a condition."""
        ways = [f"raise {self.error()}"]
        if self.scope.jumps:
            ways.append(f"return {self.result()}")
            if self.scope.loops:
                ways += ["break", "continue"] * 2
        self.write(indent, f"if {self.condition(1)}: {self.pick.choice(ways)}")

    def error(self) -> str:
        return self.one(
            f"ValueError({self.scalar(0)})", "KeyError(s)", f"IndexError({self.integer(0)})", "ZeroDivisionError"
        )

    def result(self) -> str:
        if self.scope.gives:
            return self.expression(self.scope.gives, 1)
        parts = [self.expression(self.pick.choice("AIRL"), 1) for _ in range(3)]
        parts += self.closures[-3:] if self.closures else []
        return ", ".join(parts)

    def store(self, indent: str) -> None:
        self.write(
            indent,
            self.one(
                lambda: f"p.append({self.scalar(1)})",
                lambda: f"d[str({self.integer(0)})] = {self.scalar(1)}",
                lambda: f"{self.name('A')}[{self.integer(0)} % len(x)] = {self.real(1)}",
                lambda: f"o.half = {self.array(1)}",
                lambda: f"s += {self.one('s[:1]', 'str(a)', repr('z'))}" if self.scope.depth == 0 else "p.append(s)",
                lambda: f"q.extend({self.items(1)})",
                *(lambda: f"r.append({self.array(1)})", lambda: f"r.append({self.array(1)})"),
                lambda: f"r[{self.integer(0)} % len(r)] = {self.array(1)}",
                lambda: f"r.insert({self.integer(0)}, {self.array(0)})",
                lambda: f"p[{self.integer(0)} % 2] = {self.scalar(1)}",
                lambda: f'd["t"] = {self.scalar(1)}',
                lambda: f"if len({self.one('p', 'q')}) > 2: {self.one('p', 'q')}.pop()",
                lambda: f"d.pop({self.one('s', 'str(a)')}, None)",
                lambda: f"print(next(n0, {self.scalar(0)}))",
                lambda: f"r[-1] {self.one('+', '*')}= {self.real(0)}",
                lambda: f"o.extra = {self.expression(self.pick.choice('AIR'), 1)}",
                lambda: f"d.update(k={self.integer(1)}, **{{s: {self.scalar(0)}}})",
            ),
        )

    def check(self, indent: str) -> None:
        self.write(indent, f"assert {self.condition(1)}, {self.one('s', 'a', 'b', '{s}')}")

    def choice(self, indent: str) -> None:
        self.write(indent, f"if {self.condition(2)}:")
        self.block(indent + "    ")
        if self.chance(0.3):
            self.write(indent, f"elif {self.condition(1)}:")
            self.block(indent + "    ")
        if self.chance(0.5):
            self.write(indent, "else:")
            self.block(indent + "    ")

    def body_of_loop(self, indent: str) -> None:
        self.scope.loops += 1
        before, self.scope.jumps = self.scope.jumps, True
        self.block(indent + "    ", 3)
        self.scope.loops -= 1
        self.scope.jumps = before
        if self.chance(0.25):
            self.write(indent, "else:")
            self.block(indent + "    ")

    def loop(self, indent: str) -> None:
        target, iterable = self.iterable(1)
        names = [name for name in target if name in KIND]
        if not all(name in self.scope.assigned for name in names) or self.scope.loops > 1 or not self.scope.jumps:
            return self.assign(indent)
        grows = iterable.removesuffix("[:5]") if self.chance(0.5) else iterable
        self.write(indent, f"for {target} in {grows}:")
        if grows != iterable:  # which the loop may append to
            self.write(indent, f"    if len({grows}) > 9: break")
        return self.body_of_loop(indent)

    def while_loop(self, indent: str) -> None:
        if self.scope.loops > 1 or not self.scope.jumps:
            return self.assign(indent)
        counter = f"w{self.number()}"
        self.write(indent, f"{counter} = 0")
        more = f" and {self.condition(1)}" if self.chance(0.4) else ""
        ahead = f"({counter} := {counter} + 1) < 4" if self.chance(0.3) else f"{counter} < {self.pick.randint(1, 4)}"
        self.write(indent, f"while {ahead}{more}:")
        self.write(indent, f"    {counter} += 1")
        return self.body_of_loop(indent)

    def attempt(self, indent: str) -> None:
        inner = indent + "    "
        self.write(indent, "try:")
        self.block(inner)
        if self.chance(0.5):
            self.write(inner, f"if {self.condition(1)}: raise {self.error()}")
        catches = self.chance(0.8)
        if catches:
            for kinds in self.pick.sample(
                ("ValueError", "(KeyError, IndexError)", "ZeroDivisionError", "Exception"), 2
            ):
                self.write(indent, f"except {kinds} as e:")
                self.write(inner, "print(type(e).__name__, e, e.__traceback__.tb_lineno)")
                self.block(inner, 1)
                if self.chance(0.15):
                    self.write(inner, self.one("raise", f"raise {self.error()} from e", f"raise {self.error()}"))
                if kinds == "Exception":
                    break
            if self.chance(0.3):
                self.write(indent, "else:")
                self.block(inner)
        if not catches or self.chance(0.4):
            self.write(indent, "finally:")
            self.block(inner)

    def groups(self, indent: str) -> None:
        inner = indent + "    "
        self.write(indent, "try:")
        self.block(inner, 1)
        self.write(inner, f"if {self.condition(1)}: raise ExceptionGroup(s, [{self.error()}, {self.error()}])")
        before, self.scope.jumps = self.scope.jumps, False
        self.write(indent, "except* ValueError as e:")
        self.write(inner, "print(len(e.exceptions), e.exceptions)")
        self.block(inner, 1)
        if self.chance(0.5):
            self.write(indent, "except* (KeyError, IndexError):")
            self.block(inner, 1)
        self.scope.jumps = before

    def context(self, indent: str) -> None:
        i = self.target("I")
        self.write(
            indent,
            self.one(
                f"with Swallow(ValueError, KeyError){f' as {i}' if i else ''}:",
                "with contextlib.suppress(ValueError, ZeroDivisionError):",
                "with np.errstate(all='ignore'):",
                "with logged(s):",
                f"with Swallow(){f' as {i}' if i else ''}, contextlib.suppress(IndexError):",
            ),
        )
        self.block(indent + "    ")
        if self.chance(0.4):
            self.leave(indent + "    ")

    def match(self, indent: str) -> None:
        inner, way = indent + "    ", self.pick.randint(0, 3)
        i, r, p = self.target("I"), self.target("R"), self.target("L")
        if not (i and r and p):
            return self.assign(indent)
        subject, cases = (
            (f"{self.integer(1)} % 4", ("0", "1 | 2", f"{i} if {self.condition(1)}")),
            (self.items(1), ("[]", f"[{i}]", f"[{r}, *{p}] if {self.condition(0)}")),
            ("d", (f'{{"none": {i}}}', f'{{"k": {i}, **rest}} if {self.condition(0)}', f'{{"t": {r}}}')),
            ("o", (f"Thing(k=1, t={r})", f"Thing(k={i}) if {self.condition(0)}", f"Thing(t=float() as {r})")),
        )[way]
        self.write(indent, f"match {subject}:")
        for case in cases:
            self.write(inner, f"case {case}:")
            self.block(inner + "    ", 1)
        if self.chance(0.5):
            self.write(inner, "case _:")
            self.block(inner + "    ", 1)
        return None

    def lambdas(self, indent: str) -> None:
        name, kind = f"f{self.number()}", self.pick.choice("AIR")
        parameter = self.name(self.pick.choice("AIR"))
        if self.chance(0.3):
            body = self.expression(kind, 1)
            self.write(indent, f"{name} = [(lambda: {body}) {self.clauses(0)}]")
            self.closures.append(name)
            return
        default = self.expression(KIND[parameter], 1)
        self.write(indent, f"{name} = lambda {parameter}={default}: {self.expression(kind, 2)}")
        self.known(name, kind, [parameter])

    def drain(self, indent: str) -> None:
        name = f"n{self.number()}"
        self.write(indent, f"{name} = {self.generator(1)}")
        if self.chance(0.6):
            self.write(indent, f"print(next({name}, None))")
        if self.chance(0.5):
            self.closures.append(name)

    def known(self, name: str, kind: str, parameters: list[str]) -> None:
        def call() -> str:
            given = [p for p in parameters if self.chance(0.4)]
            values = [(p, self.expression(KIND[p], 0)) for p in given]
            if self.chance(0.15):
                return f"apply({', '.join([name, *(f'{p}={value}' for p, value in values)])})"
            if self.chance(0.15):
                return f"{name}(**{{{', '.join(f'{p!r}: {value}' for p, value in values)}}})"
            return f"{name}({', '.join(f'{p}={value}' for p, value in values)})"

        self.calls[kind].append(call)
        self.closures.append(name)

    def opened(self, indent: str, own: str, gives: str) -> tuple[Scope, dict[str, list[Callable[[], str]]], list[str]]:
        """Begin a function's body: its declarations. What to put back at its end."""
        outer = self.scope
        free = [name for name in KIND if name not in own]
        shared = "".join(self.pick.sample(free, self.pick.randint(0, 4)))
        scope = Scope(outer, own, shared, gives)
        if shared:
            self.write(indent, f"nonlocal {', '.join(shared)}")
        if self.chance(0.2):
            self.write(indent, "global K, G")
            scope.assigned += "K"
        saved = {kind: list(calls) for kind, calls in self.calls.items()}, list(self.closures)
        self.scope = scope
        return outer, *saved

    def function(self, indent: str) -> None:
        name, kind = f"f{self.number()}", self.pick.choice("AIR")
        own = self.pick.sample(list(KIND), self.pick.randint(0, 4))
        split = self.pick.randint(0, len(own))
        defaults = [f"{one}={self.expression(KIND[one], 1)}" for one in own]
        stars = self.one("*rest", "*rest", "*") if split < len(own) else self.one("*rest", "")
        parts = [*defaults[:split], *([stars] if stars else []), *defaults[split:]]
        repeats = self.chance(0.25)
        if repeats:
            parts.append("n=2")
        if self.chance(0.3):
            parts.append("**more")
        if self.chance(0.15):
            self.write(indent, "@traced")
        self.write(indent, f"def {name}({', '.join(parts)}):")
        inner = indent + "    "
        outer, calls, closures = self.opened(inner, "".join(own), kind)
        if self.chance(0.3):
            local = self.pick.choice([one for one in KIND if one not in self.scope.assigned])
            self.scope.assigned += local
            self.write(inner, f"{local} = {CONSTANTS[KIND[local]]}")
        if repeats:
            self.write(inner, f"if n > 0 and {self.condition(1)}: return {name}(n=n - 1)")
        self.block(inner, 3, bound=True)
        if self.chance(0.2) and self.closures[len(closures) :]:
            self.write(inner, f"d[{name!r}] = {self.closures[-1]}")
        self.write(inner, f"return {self.expression(kind, 1)}")
        self.scope, self.calls, self.closures = outer, calls, closures
        self.known(name, kind, own)

    def generates(self, indent: str) -> None:
        name = f"f{self.number()}"
        own = self.pick.sample(list(KIND), self.pick.randint(0, 2))
        self.write(indent, f"def {name}({', '.join(f'{one}={self.expression(KIND[one], 0)}' for one in own)}):")
        inner = indent + "    "
        outer, calls, closures = self.opened(inner, "".join(own), "I")
        self.block(inner, 2, bound=True)
        self.write(inner, f"yield {self.scalar(1)}")
        self.block(inner, 1, bound=True)
        self.write(inner, self.one(f"yield {self.scalar(1)}", f"yield from {self.items(0)}[:2]"))
        self.scope, self.calls, self.closures = outer, calls, closures
        self.calls["R"].append(lambda: f"sum({name}())")
        self.calls["R"].append(lambda: f"next({name}())")
        self.closures.append(name)

    def klass(self, indent: str) -> None:
        number = self.number()
        name, made = f"C{number}", f"c{number}"
        inner, body = indent + "    ", indent + "        "
        self.write(indent, f"class {name}:")
        for _ in range(2):
            kind = self.pick.choice("AIR")
            one = self.name(kind)
            self.write(inner, f"{one} = {self.quietly(lambda kind=kind: self.expression(kind, 1))}")
        if self.chance(0.4):
            self.write(inner, f"rows = {self.quietly(lambda: self.items(2))}")
        self.write(inner, f"def __init__(self, k={self.quietly(lambda: self.integer(0))}):")
        self.write(body, f"self.k, self.u = k, {self.array(0)}")
        for method, kind, ahead in (("half", "A", "@property"), ("add", "R", ""), ("count", "I", "@staticmethod")):
            if ahead:
                self.write(inner, ahead)
            own = "" if method == "half" else self.name("R")
            parameters = ["self"] * (method != "count") + [f"{own}=0.5"] * bool(own)
            self.write(inner, f"def {method}({', '.join(parameters)}):")
            outer, calls, closures = self.opened(body, own, kind)
            if method != "count":
                self.write(body, f"self.k += {self.one('1', '2')}")
            self.block(body, 1, bound=True)
            more = " + self.u" if kind == "A" else ""
            self.write(body, f"return {self.expression(kind, 1)}{more}")
            self.scope, self.calls, self.closures = outer, calls, closures
        self.write(indent, f"{made} = {name}({self.one('', 'k=4')})")
        self.calls["A"].append(lambda: f"{made}.half")
        self.calls["R"].append(lambda: f"{made}.add({self.real(0)})")
        self.calls["I"].append(lambda: f"{self.one(made, name)}.count()")
        self.closures += [made, f"{made}.add"]

    def program(self) -> str:
        self.write("", "def f(x, y, m, a, b, s, p, d, o):")
        if self.chance(0.4):
            self.write("    ", "global K, G")
            self.scope.assigned += "K"
        self.write("    ", "u, v, i, j, k, c, t, q = x * 0.5, y + 1, 1, 2, a + 1, b * 2, 0.25, [1, 2.5]")
        made = self.one("iter(p)", "enumerate(q)", "iter(d.values())", "(i * t for i in p)", "zip(p, r)", "reversed(p)")
        self.write("    ", f"r, n0 = [x, y * 2], {self.one('iter(x)', 'map(str, q)')}")
        self.write("    ", f"n0 = {made}")
        self.closures.append("r")
        while len(self.lines) < self.limit // 2 or self.chance(0.6):
            self.block("    ", 2, bound=True)
        kept = ", ".join(self.pick.sample(self.closures, min(len(self.closures), 5)))
        local = ", ".join(self.pick.sample(list(KIND), 6))
        self.write("    ", f"return {local}, [{kept}], {self.expression('A')}")
        return HELPERS + "\n\n" + "\n".join(self.lines) + "\n"


def text_of(seed: int) -> str:
    """The text of a program that compiles: of the first of the seed's programs that does."""
    for attempt in range(100):
        text = Writer(seed * 100 + attempt).program()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                compile(text, "<random scopes>", "exec")
        except SyntaxError:
            continue
        return text
    raise AssertionError(seed)

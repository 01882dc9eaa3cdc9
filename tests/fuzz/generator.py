"""A random program as Python source, with the specs of its arguments.

Enters: a seed, a vocabulary. Leaves: a RandomProgram. The generator writes one statement at a time and runs it on
example arguments: what raises is nearly always thrown away, so most programs run to their end and know the shapes
they work on. INVARIANT: the program depends on the seed alone. Programs never read memory they did not write.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from tests.fuzz import values
from tests.fuzz.phrases import MODULES, PHRASES, PRELUDE
from tests.fuzz.values import Array, Spec
from tests.fuzz.vocabulary import FULL, Vocabulary
from tests.oracle import KeywordArgs

MAX_ELEMENTS = 4096
KEEP_RAISING = 0.004
_ASSIGNABLE = ("G0", "W1")  # globals that a program may assign to
_SHARED = {name: importlib.import_module(name) for name in MODULES}
exec("\n".join(text for name, text in PRELUDE.items() if name[-1] == "0" and len(name) > 2), _SHARED)
_PRELUDE = compile("\n".join(PRELUDE[name] for name in ("W1", "G0", "L0", "D0", "P0")), "<prelude>", "exec")
SHAPES: tuple[tuple[Any, ...], ...] = (
    *(("n",), ("n", "m")) * 3,
    *(("m", "n"), ("m",), ("n", "n"), (1, "m"), ("n", 1), (), ("n", "m", 2), (3,), (2, "n")),
)


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """source defines f; specs build its arguments; calls are (sizes, seed) of the calls to make.

    keywords: so many arguments, from the last one on, are given by name. errstate: for all kinds of floating-point
    errors, "" for NumPy's own. error: warnings are exceptions.
    """

    label: str
    source: str
    specs: list[Spec]
    calls: list[tuple[dict[str, int], int]]
    keywords: int = 0
    errstate: str = ""
    error: bool = False

    def make_args(self, number: int) -> tuple[Any, ...]:
        """The arguments of call `number`."""
        sizes, seed = self.calls[number]
        args = values.build(self.specs, sizes, seed)
        if not self.keywords:
            return args
        first = len(args) - self.keywords
        named = {f"x{index}": args[index] for index in range(first, len(args))}
        return (*args[:first], KeywordArgs(named))


class Rejected(Exception):
    """No statement of this kind can be written here."""


def generate(seed: int, index: int, vocabulary: Vocabulary = FULL, forms: int | None = None) -> RandomProgram:
    """Program `index` of a campaign. forms: how many different function texts there are; the rest are new arguments."""
    form = index if forms is None else index % forms
    writer = _Writer(random.Random(f"form {seed} {form}"), vocabulary)
    source = writer.program()
    rng = random.Random(f"arguments {seed} {index}")
    specs = writer.specs if forms is None else [_relaid(spec, rng) for spec in writer.specs]
    calls = _calls(rng, writer.sizes, index)
    errstate = rng.choice(("",) * 28 + ("raise", "ignore")) if vocabulary.phrases else ""
    error = vocabulary.phrases and rng.random() < 0.03
    return RandomProgram(f"{seed}:{index}", source, specs, calls, writer.keywords, errstate, error)


def _relaid(spec: Spec, rng: random.Random) -> Spec:
    if spec[0] == "array":
        kind, dtype, shape, layout, _ = spec
        if rng.random() < 0.3:
            layout = rng.choice(values.LAYOUTS)
        return (kind, dtype, shape, layout, rng.choice(values.FILLS))
    return spec


def _calls(rng: random.Random, sizes: dict[str, int], index: int) -> list[tuple[dict[str, int], int]]:
    """Thrice the first sizes (the second call hits), then other sizes."""
    first = rng.randrange(10**6)
    calls = [(sizes, first), (sizes, first), (sizes, first + 1)]
    for _ in range(rng.choice((0, 1, 2))):
        other = {"n": rng.choice((0, 1, 2, 3, 5, 8, 17, 40)), "m": rng.choice((0, 1, 2, 3, 7, 16))}
        calls.append((other, first + 2))
    return calls


class _Writer:
    def __init__(self, rng: random.Random, vocabulary: Vocabulary) -> None:
        self.rng = rng
        self.words = vocabulary
        self.sizes = {"n": rng.choice((1, 2, 3, 4, 5, 6, 9)), "m": rng.choice((1, 2, 3, 4, 7))}
        self.specs: list[Spec] = []
        self.helpers: list[str] = []
        self.keywords = 0
        self.env: dict[str, Any] = {}
        self.namespace: dict[str, Any] = {"np": np, "K0": 2.5, "K1": 3}
        if vocabulary.phrases:
            self.namespace |= _SHARED
            exec(_PRELUDE, self.namespace)
        self.lines: list[str] = []
        self.fresh = 0
        self.finished = False

    # -- the frame of a program

    def program(self) -> str:
        """The source text; fills specs and keywords."""
        self.arguments()
        around = self.surroundings()
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            self.constants()
            if self.words.phrases and self.rng.random() < 0.3:
                self.env |= {name: self.namespace[name] for name in _ASSIGNABLE}
            self.block(self.rng.randint(2, self.words.statements), 1)
            if not self.finished:
                self.lines.append(f"    return {self.result()}")
        body = "\n".join(self.lines)
        stored = {node.id for node in ast.walk(ast.parse(f"def f():\n{body}")) if _is_store(node)}
        if changed := [name for name in _ASSIGNABLE if name in stored]:
            body = f"    global {', '.join(changed)}\n{body}"
        text = around.format(body=body)
        used = [name for name in PRELUDE if name in ("K0", "K1") or re.search(rf"\b{name}\b", text)]
        defined = "\n".join([*(PRELUDE[name] for name in used), *self.helpers, "", text])
        modules = [f"import {name}" for name in MODULES if re.search(rf"\b{name}\.", defined)]
        return "\n".join([*modules, "import numpy as np", "", defined]) + "\n"

    def surroundings(self) -> str:
        """The text around the body of f: how it takes its arguments, and where it is defined."""
        names, rng = list(self.env), self.rng
        plain = f"def f({', '.join(names)}):\n{{body}}"
        if not self.words.phrases:
            return plain
        kind = rng.random()
        if kind < 0.06 and len(names) > 1:
            self.keywords = rng.randrange(1, len(names))
            return f"def f({', '.join(names[: -self.keywords])}, *, {', '.join(names[-self.keywords :])}):\n{{body}}"
        if kind < 0.12:
            default = rng.choice(("2.5", "None", "3", "K0", "np.float32(1.5)", "np.arange(3.0)", "(1, 2.0)"))
            self.env["y0"] = eval(default, self.namespace)
            star = rng.choice(("", "*, "))
            return f"def f({', '.join(names)}, {star}y0={default}):\n{{body}}"
        if kind < 0.15:
            return f"def f(*xs):\n    {', '.join(names)}, = xs\n{{body}}"
        if kind < 0.18:
            self.keywords = len(names)
            taken = "\n".join(f"    {name} = xs['{name}']" for name in names)
            return f"def f(**xs):\n{taken}\n{{body}}"
        if kind < 0.24:
            outside = rng.choice(("2.5", "3", "np.arange(3.0)", "[1.5]", "None"))
            self.env["c0"] = eval(outside, self.namespace)
            return f"def outer0(c0):\n  def f({', '.join(names)}):\n{{body}}\n  return f\n\nf = outer0({outside})"
        if kind < 0.27:
            self.env["me0"] = values.Box(2, np.arange(3.0))
            head = "class Box:\n  gain = 1.5\n  def __init__(self, k, w):\n    self.k = k\n    self.w = w"
            head += "\n  def act(self, a, by=0.5):\n    return a * self.k + by"
            head += "\n  def scaled(self):\n    return self.act(self.w) * self.gain"
            return f"{head}\n  def f(me0, {', '.join(names)}):\n{{body}}\n\nWm = Box(2, np.arange(3.0))\nf = Wm.f"
        return plain

    def arguments(self) -> None:
        rng = self.rng
        count = rng.choice((1, 1, 2, 2, 2, 3))
        for number in range(count):
            if number and rng.random() < 0.2:
                self.specs.append(("view", rng.randrange(number), rng.choice(values.VIEWS)))
                continue
            layout = rng.choice(("C", "C", "C", *values.LAYOUTS))
            if number == 0 and rng.random() < 0.15:
                layout = "padded"
            if self.words.phrases and rng.random() < 0.02:
                layout = rng.choice(values.RARE_LAYOUTS)
            self.specs.append(("array", self.dtype_name(), self.shape(), layout, rng.choice(values.FILLS)))
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            self.specs.append(self.number_spec())
        for number, value in enumerate(values.build(self.specs, self.sizes, 0)):
            self.env[f"x{number}"] = value

    def shape(self) -> tuple[Any, ...]:
        return self.rng.choice(SHAPES)

    def number_spec(self) -> Spec:
        rng = self.rng
        return rng.choice(
            (
                ("number", rng.choice((0, 1, 2, 3, -1))),
                ("float", rng.choice(("0.5", "2.0", "-1.5", "0.0", "-0.0", "1e10", "nan", "inf"))),
                ("number", rng.choice((True, False))),
                ("scalar", rng.choice(self.words.dtypes), rng.choice((0, 1, 2, 3))),
                ("tuple", ("number", 2), self.held()),
                ("number", None),
                ("box", ("number", rng.choice((2, 0.5))), self.held()),
                *((("list", ("number", 2), self.held()), ("dict", ("number", 2), self.held())) * self.words.phrases),
            )
        )

    def held(self) -> Spec:
        """An array inside a container: one of its own, or now and then an argument."""
        if self.rng.random() < 0.2:
            return ("view", 0, self.rng.choice(values.VIEWS))
        return ("array", self.rng.choice(self.words.dtypes), ("n",), "C", "tame")

    def dtype_name(self) -> str:
        if self.words.rare_dtypes and self.rng.random() < 1 / 30:
            return self.rng.choice(self.words.rare_dtypes)
        return self.rng.choice(self.words.dtypes)

    def constants(self) -> None:
        if self.rng.random() < 0.2:
            self.helper_text("W0 = np.linspace(0.0, 1.0, 3)")
        for number in range(self.rng.choice((0, 0, 1, 2))):
            self.helper_text(self.helper(f"h{number}"))

    def helper_text(self, text: str) -> None:
        exec(text, self.namespace)
        self.helpers.extend(["", *text.splitlines()])

    def helper(self, name: str) -> str:
        rng = self.rng
        operator = rng.choice(self.words.operators[:3])
        unary = rng.choice(self.words.unary[:4])
        return rng.choice(
            (
                f"def {name}(a, b):\n    return a {operator} b",
                f"def {name}(a, b=2.0):\n    t = np.{unary}(a)\n    return t {operator} b",
                f"def {name}(a, b, *, scale=1.5):\n    return (a {operator} b) * scale",
                f"def {name}(a, b):\n    a[...] = b\n    return a",
                f"def {name}(a, b):\n    if a.ndim > 1:\n        return a.T\n    return a {operator} b",
                f"def {name}(a, *rest):\n    for r in rest:\n        a = a {operator} r\n    return a",
                f"def {name}(a, b):\n    lo, hi = np.minimum(a, b), np.maximum(a, b)\n    return hi - lo, lo",
                f"{name} = lambda a, b: np.{unary}(a) {operator} b",
                f"def {name}(a, b):\n    def inner(c):\n        return c {operator} b\n    return inner(a) + inner(a)",
            )
        )

    # -- statements

    def block(self, count: int, depth: int) -> None:
        written = 0
        for _ in range(6 * count):
            if written >= count or self.finished:
                return
            kinds, weights = zip(*(_DEEP + _FLAT if depth < 3 else _FLAT), strict=True)
            kind: Callable[..., None] = self.rng.choices(kinds, weights)[0]
            before = dict(self.env), len(self.lines), self.fresh
            try:
                kind(self, depth)
            except Exception:
                self.env, self.fresh = before[0], before[2]
                del self.lines[before[1] :]
            else:
                written += 1

    def add(self, text: str, depth: int) -> None:
        """Run `text` on the examples; keep it if it works."""
        indented = "\n".join("    " * depth + line for line in text.splitlines())
        if "**" in text and self.explodes(text):
            raise Rejected
        scope = {**self.namespace, **self.env}
        try:
            exec(text, scope)
            del scope["__builtins__"]
            self.env = {k: v for k, v in scope.items() if k in self.env or k not in self.namespace}
            self.bound()
        except Rejected:
            raise
        except Exception:
            if self.rng.random() < KEEP_RAISING and depth == 1:
                self.lines.append(indented)
                self.finished = True
                return
            raise
        self.lines.append(indented)

    def explodes(self, text: str) -> bool:
        """Whether a power of Python integers may come out too large to be computed."""
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
                names = [self.env.get(name.id) for name in ast.walk(node) if isinstance(name, ast.Name)]
                exponent = node.right if isinstance(node, ast.BinOp) else node.value
                small = isinstance(exponent, ast.Constant) and abs(exponent.value) < 10
                if not small and not any(isinstance(value, np.ndarray | np.generic) for value in names):
                    return True
        return False

    def bound(self) -> None:
        """Refuse what has grown too large."""
        for value in self.env.values():
            if isinstance(value, np.ndarray):
                if value.size > MAX_ELEMENTS or value.ndim > 4 or value.dtype.kind not in "biufc":
                    raise Rejected
            elif isinstance(value, int) and abs(value) > 10**12:
                raise Rejected

    def new(self, stem: str = "v") -> str:
        """A name to assign to: a new one, or now and then one that exists."""
        taken = [name for name in self.env if name[0] == stem]
        if taken and self.rng.random() < 0.25:
            return self.rng.choice(taken)
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def arrays(self, where: Callable[[Array], bool] = lambda _: True) -> list[str]:
        return [name for name, value in self.env.items() if isinstance(value, np.ndarray) and where(value)]

    def array(self, where: Callable[[Array], bool] = lambda _: True) -> str:
        names = self.arrays(where)
        if not names:
            raise Rejected
        return self.rng.choice(names)

    def numbers(self) -> list[str]:
        return [name for name, value in self.env.items() if isinstance(value, int | float | np.generic)]

    # -- expressions

    def expression(self, shape: tuple[int, ...], depth: int | None = None) -> str:
        """Elementwise, of operands that broadcast to `shape`."""
        rng = self.rng
        depth = rng.randint(1, self.words.depth) if depth is None else depth
        if depth == 0:
            return self.leaf(shape)
        kind = rng.random()
        inner = self.expression
        if kind < 0.5:
            operator = rng.choice(self.words.operators)
            return f"({inner(shape, depth - 1)} {operator} {inner(shape, rng.randrange(depth))})"
        if kind < 0.68:
            return f"np.{rng.choice(self.words.unary)}({inner(shape, depth - 1)})"
        if kind < 0.78:
            return f"np.{rng.choice(self.words.binary)}({inner(shape, depth - 1)}, {inner(shape, 0)})"
        if kind < 0.83:
            return f"np.where({inner(shape, depth - 1)} > {self.number()}, {inner(shape, 0)}, {inner(shape, 0)})"
        if kind < 0.87:
            return f"np.clip({inner(shape, depth - 1)}, {self.number()}, {self.number()})"
        if kind < 0.92:
            return f"({inner(shape, depth - 1)}).astype({self.dtype()})"
        if kind < 0.95:
            return f"-{self.leaf(shape)}"
        if kind < 0.97:
            return f"abs({self.leaf(shape)})"
        return f"~{self.leaf(shape)}"

    def leaf(self, shape: tuple[int, ...]) -> str:
        if self.rng.random() < 0.2:
            return self.number()
        names = self.arrays(lambda value: _broadcasts(value.shape, shape))
        return self.rng.choice(names) if names else self.number()

    def number(self) -> str:
        names = self.numbers()
        if names and self.rng.random() < 0.3:
            return self.rng.choice(names)
        if self.rng.random() < 0.1:
            return self.rng.choice(("K0", "K1"))
        return self.rng.choice(self.words.numbers)

    def dtype(self) -> str:
        name = self.dtype_name()
        spelled = "bool_" if name == "bool" else name
        texts = (f"np.{spelled}", f"'{name}'", f"np.dtype('{name}')")
        return self.rng.choice(texts if name.isalnum() else texts[1:])

    def index(self, array: Array, *, keep: bool = False) -> str:
        """A basic index; keep: of slices only, so that an array comes out."""
        rng = self.rng
        if array.ndim == 0:
            return rng.choice(("...", "()")) if not keep else "..."
        parts = [self.axis_index(size, keep) for size in array.shape[: rng.randint(1, array.ndim)]]
        if rng.random() < 0.15:
            parts.insert(rng.randrange(len(parts) + 1), rng.choice(("...", "None", "np.newaxis")))
        return ", ".join(parts)

    def axis_index(self, size: int, keep: bool) -> str:
        slices = (":", ":", "1:", ":-1", "::2", "::-1", "1:-1", "1::2", "2:0:-1", ":1", "-2:", "5:2")
        if keep or size == 0 or self.rng.random() < 0.7:
            return self.rng.choice(slices)
        return self.rng.choice(("0", "-1", str(self.rng.randrange(size))))

    # -- one method a kind of statement

    def assign(self, depth: int) -> None:
        shape = self.env[self.array()].shape
        self.add(f"{self.new()} = {self.expression(shape)}", depth)

    def augment(self, depth: int) -> None:
        name = self.array(lambda value: value.flags.writeable)
        operator = self.rng.choice(("+", "-", "*", "+", "*", "/", "//", "&", "**"))
        self.add(f"{name} {operator}= {self.expression(self.env[name].shape, 1)}", depth)

    def store(self, depth: int) -> None:
        name = self.array(lambda value: value.flags.writeable)
        index = self.index(self.env[name])
        target = eval(f"{name}[{index}]", self.namespace, self.env)
        value = self.expression(np.shape(target), self.rng.choice((0, 1, 2)))
        if self.rng.random() < 0.3 and isinstance(target, np.ndarray):
            shifted = [other for other in self.arrays() if _broadcasts(self.env[other].shape, target.shape)]
            value = self.rng.choice(shifted) if shifted else value
        operator = self.rng.choice(("", "", "", "+", "*", "-"))
        self.add(f"{name}[{index}] {operator}= {value}", depth)

    def stencil(self, depth: int) -> None:
        name = self.array(lambda value: value.flags.writeable and value.ndim >= 1 and value.shape[0] > 2)
        other = self.array(lambda value: value.shape == self.env[name].shape)
        operator = self.rng.choice(("+", "-", "*"))
        text = self.rng.choice(
            (
                "{n}[1:-1] = ({o}[:-2] {p} {o}[2:]) * 0.5",
                "{n}[1:] = {n}[:-1] {p} {o}[1:]",
                "{n}[:-1] {p}= {n}[1:]",
                "{n}[::-1] = {o}",
                "{n}[1:] {p}= {o}[:-1] * 2",
                "{n}[...] = {o}[::-1] {p} {n}",
                "{n}[...] = np.roll({o}, 1, 0) {p} np.roll({n} {p} {o}, -1, 0)",
                "{n} = np.roll({o} {p} 1, 2, -1) {p} np.roll(np.roll({n}, 1, 0), -1, -1) {p} {o}",
                "{n}[1:] = ({n} {p} np.roll({n}, 1, 0))[1:]",
                "{n}[:] = {n}.T",
            )
        )
        self.add(text.format(n=name, o=other, p=operator), depth)

    def out_argument(self, depth: int) -> None:
        name = self.array(lambda value: value.flags.writeable)
        shape = self.env[name].shape
        if self.rng.random() < 0.5:
            call = f"np.{self.rng.choice(self.words.unary)}({self.leaf(shape)}, out={name})"
        else:
            call = f"np.{self.rng.choice(self.words.binary)}({self.leaf(shape)}, {self.leaf(shape)}, out={name})"
        self.add(self.rng.choice((call, f"{self.new()} = {call}")), depth)

    def reduction(self, depth: int) -> None:
        name = self.array()
        word = self.rng.choice(self.words.reductions)
        options = []
        ndim = self.env[name].ndim
        axes = [str(axis) for axis in range(-ndim, ndim)] + (["(0, 1)", "(-1, 0)"] if ndim > 1 else []) + ["None"]
        if word in ("argmax", "argmin", "cumsum", "cumprod"):
            axes = [axis for axis in axes if "(" not in axis]
        if self.rng.random() < 0.6:
            options.append(f"axis={self.rng.choice(axes)}")
        if self.rng.random() < 0.3 and not word.startswith("cum"):
            options.append("keepdims=True")
        if word in ("var", "std") and self.rng.random() < 0.3:
            options.append("ddof=1")
        elif word in ("sum", "prod", "mean", "cumsum") and self.rng.random() < 0.1:
            options.append(f"dtype={self.dtype()}")
        subject = name if self.rng.random() < 0.6 else self.expression(self.env[name].shape, 1)
        if self.rng.random() < 0.5 and subject == name:
            text = f"{name}.{word}({', '.join(options)})"
        else:
            text = f"np.{word}({', '.join([subject, *options])})"
        self.add(f"{self.new()} = {text}", depth)

    def view(self, depth: int) -> None:
        name = self.array()
        value = self.env[name]
        choices = [f"{name}[{self.index(value, keep=True)}]"] * 4 + [f"{name}.T", f"{name}[None]", f"{name}[..., None]"]
        choices += [f"{name}.reshape(-1)", f"{name}.ravel()", f"np.transpose({name})", f"np.squeeze({name})"]
        choices += [f"{name}.real", f"{name}.imag", f"{name}.flatten()", f"np.reshape({name}, (-1, 1))"]
        choices += [
            f"np.broadcast_to({name}, (2,) + {name}.shape)",
            f"np.expand_dims({name}, 0)",
            f"np.atleast_1d({name})",
        ]
        if value.ndim > 1:
            choices += [f"np.swapaxes({name}, 0, 1)", f"{name}.diagonal()", f"{name}.swapaxes(-1, 0)"]
            choices += [f"{name}.reshape({name}.shape[::-1])", f"{name}.reshape({name}.size)", f"np.flip({name}, 1)"]
        self.add(f"{self.new()} = {self.rng.choice(choices)}", depth)

    def element(self, depth: int) -> None:
        name = self.array(lambda value: value.ndim > 0 and value.size > 0)
        places = ", ".join(self.rng.choice(("0", "-1")) for _ in range(self.env[name].ndim))
        self.add(f"{self.new()} = {name}[{places}]" + self.rng.choice(("", "", " * 2.0", " + 1")), depth)

    def create(self, depth: int) -> None:
        name = self.array()
        dtype = self.dtype()
        text = self.rng.choice(
            (
                f"np.zeros_like({name})",
                f"np.ones_like({name})",
                f"np.zeros({name}.shape)",
                f"np.zeros({name}.shape, dtype={dtype})",
                f"np.ones({name}.shape, {name}.dtype)",
                f"np.full({name}.shape, {self.number()})",
                f"np.full_like({name}, {self.number()})",
                f"{name}.copy()",
                f"np.array({name})",
                f"np.asarray({name})",
                f"np.ascontiguousarray({name})",
                f"np.arange(len({name}))",
                "np.arange(3.0)",
                f"np.eye(len({name}))",
                f"np.linspace(0.0, 1.0, len({name}))",
                f"np.empty_like({name})",
            )
        )
        new = self.new()
        filling = self.number() if "empty" in text else ""
        filling = f"\n{new}[...] = {'1' if new in filling else filling}" if filling else ""
        self.add(f"{new} = {text}{filling}", depth)

    def number_statement(self, depth: int) -> None:
        name = self.array()
        numbers = [*self.numbers(), "2", "K1"]
        one, two = self.rng.choice(numbers), self.rng.choice(numbers)
        text = self.rng.choice(
            (
                f"{name}.shape[0]",
                f"len({name})",
                f"{name}.ndim",
                f"{name}.size",
                f"float({name}.sum())",
                f"int({name}.shape[-1] // 2)",
                f"{name}.max()",
                f"{name}.sum().item()",
                f"{one} + {two}",
                f"{one} * {two} - 1",
                f"min({one}, {two})",
                f"max({one}, 0)",
                f"abs({one})",
                f"-{one}",
                f"{one} % 3",
                f"{one} / 2",
                f"{one} < {two}",
                f"{one} // 2",
                f"bool({one})",
                f"not {one}",
                f"{one} if {one} > {two} else {two}",
                f"{one} and {two}",
            )
        )
        self.add(f"{self.new('s')} = {text}", depth)

    def matmul(self, depth: int) -> None:
        left = self.array(lambda value: value.ndim in (1, 2))
        right = self.array(
            lambda value: value.ndim >= 1 and value.shape[max(0, value.ndim - 2)] == self.env[left].shape[-1]
        )
        text = self.rng.choice((f"{left} @ {right}", f"np.dot({left}, {right})", f"{left}.dot({right})"))
        self.add(f"{self.new()} = {text}", depth)

    def library(self, depth: int) -> None:
        name = self.array()
        other = self.array(lambda value: value.shape == self.env[name].shape)
        text = self.rng.choice(
            (
                f"np.concatenate(({name}, {other}))",
                f"np.stack([{name}, {other}], axis=-1)",
                f"np.sort({name}, axis=0)",
                f"np.roll({name}, 1)",
                f"np.diff({name}, axis=0)",
                f"np.outer({name}, {other})",
                f"np.argsort({name}, axis=-1, kind='stable')",
                f"np.repeat({name}, 2)",
                f"np.tile({name}, 2)",
                f"{name}[{name} > 0]",
                f"{name}[[0, -1]]",
                f"np.take({name}, 0, axis=0)",
                f"np.linalg.norm({name})",
                f"np.cumsum({name})",
                f"np.nan_to_num({name})",
                f"np.isclose({name}, {other})",
                f"np.add.reduce({name})",
                f"np.add.outer({name}, {other})",
                f"np.round({name}, 1)",
                f"np.vdot({name}, {other})",
                f"np.median({name})",
                f"np.ptp({name})",
                f"np.count_nonzero({name})",
                f"np.trapezoid({name})",
                f"np.interp({name}, [0.0, 1.0], [2.0, 3.0])",
                f"np.where({name})[0]",
            )
        )
        self.add(f"{self.new()} = {text}", depth)

    def masked_store(self, depth: int) -> None:
        name = self.array(lambda value: value.flags.writeable and value.ndim > 0)
        mask = self.rng.choice((f"{name} > {self.number()}", f"{name} == {name}", "[0, -1]"))
        self.add(f"{name}[{mask}] = {self.number()}", depth)

    def call_helper(self, depth: int) -> None:
        names = [name for name in self.namespace if name[0] == "h"]
        if not names:
            raise Rejected
        name = self.array()
        helper = self.rng.choice(names)
        arguments = [name, self.leaf(self.env[name].shape)]
        if self.rng.random() < 0.2:
            arguments[1] = f"b={arguments[1]}"
        self.add(f"{self.new()} = {helper}({', '.join(arguments)})", depth)

    def attribute(self, depth: int) -> None:
        boxes = [name for name, value in self.env.items() if isinstance(value, values.Box)]
        if not boxes:
            raise Rejected
        box, name, new = self.rng.choice(boxes), self.array(), self.new()
        text = self.rng.choice(
            (
                f"{new} = {box}.w * {self.number()}",
                f"{new} = {name} + {box}.k",
                f"{new} = {box}.act({name})",
                f"{new} = {box}.act({name}, by={self.number()})",
                f"{new} = {box}.scaled()",
                f"{box}.k = {box}.k + 1",
                f"{box}.w = {name} * {box}.gain",
                f"{box}.w[...] = {self.number()}",
                f"{box}.w += {box}.k",
                f"{box}.made = {name} + 1",
                f"{new} = {box}.w",
            )
        )
        self.add(text, depth)

    def unpack(self, depth: int) -> None:
        one, two = self.array(), self.array()
        first, second = self.new(), self.new()
        text = self.rng.choice(
            (
                f"{first}, {second} = {one}, {two}",
                f"{one}, {two} = {two}, {one}",
                f"{first} = {second} = {self.expression(self.env[one].shape, 1)}",
                f"d0 = {{'a': {one}, 'b': {two}}}\n{first} = d0['a'] * 2.0",
                f"l0 = [{one}, {two}]\nl0.append({one} + 1)\n{first} = l0[-1]",
                f"l0 = [{one} * k for k in range(3)]\n{first} = l0[1]",
                f"{first} = sum([{one}, {one}])",
                f"{first} = [v + 1 for v in ({one}, {two})][0]",
            )
        )
        self.add(text, depth)

    def say(self, depth: int) -> None:
        name = self.rng.choice([*self.arrays(), *self.numbers()])
        text = self.rng.choice((f"print({name})", f"print(f'{name} is {{{name}}}')", f"print('here', {name}.sum())"))
        self.add(text, depth)

    def condition(self) -> str:
        rng = self.rng
        choices = [f"{name} > 1" for name in self.numbers()] + [f"K1 == {rng.choice('23')}"]
        choices += [f"{name} is not None" for name, value in self.env.items() if value is None]
        for name in self.arrays():
            choices += [f"{name}.sum() > 0", f"{name}.ndim == {rng.choice('12')}", f"{name}.shape[0] > 2"]
            choices += [f"np.any({name} > 1)", f"({name} > 0).all()", f"{name}.dtype == np.float64"]
        return rng.choice(choices)

    def inner(self, count: int, depth: int, head: str) -> str:
        """A block under `head`; taken back out of the lines as text without this depth's indentation."""
        start = len(self.lines)
        self.block(count, depth + 1)
        body = self.lines[start:]
        del self.lines[start:]
        if not body or self.finished:
            raise Rejected
        cut = 4 * depth
        return head + "\n" + "\n".join(line[cut:] for text in body for line in text.splitlines())

    def compound(self, text: str, before: dict[str, Any], depth: int) -> None:
        """Run the whole statement from the state before it."""
        self.env = dict(before)
        self.add(text, depth)
        if self.rng.random() < 0.9:  # names a branch alone may bind are seldom used behind it
            self.env = {name: self.env[name] for name in before if name in self.env}

    def branch(self, depth: int) -> None:
        before = dict(self.env)
        text = self.inner(self.rng.randint(1, 2), depth, f"if {self.condition()}:")
        if self.rng.random() < 0.6:
            self.env = dict(before)
            text += "\n" + self.inner(self.rng.randint(1, 2), depth, "else:")
        self.compound(text, before, depth)

    def loop(self, depth: int) -> None:
        before = dict(self.env)
        self.fresh += 1
        counter = f"i{self.fresh}"
        head, value = self.rng.choice(
            [(f"for {counter} in range({bound}):", 0) for bound in ("2", "3", "1", "K1", "0")]
            + [(f"for {counter} in range(1, {name}.shape[0]):", 1) for name in self.arrays(lambda v: v.ndim > 0)[:2]]
            + [(f"for {counter} in ({self.array()}, {self.array()}):", None), (f"for {counter} in (1, 2.5):", 1)]
            + [(f"for {counter}, _ in enumerate((1, 2)):", 0), (f"for {counter} in {self.array()}:", None)]
        )
        if value is not None:
            self.env[counter] = value
        text = self.inner(self.rng.randint(1, 3), depth, head)
        if self.rng.random() < 0.15:
            text += f"\n    if {self.condition()}:\n        {self.rng.choice(('break', 'continue'))}"
        self.compound(text, before, depth)

    def while_loop(self, depth: int) -> None:
        before = dict(self.env)
        self.fresh += 1
        counter = f"j{self.fresh}"
        self.env[counter] = 0
        text = self.inner(self.rng.randint(1, 2), depth, f"while {counter} < {self.rng.choice('123')}:")
        self.compound(f"{counter} = 0\n{text}\n    {counter} += 1", before, depth)

    def early_return(self, depth: int) -> None:
        if depth == 1:
            raise Rejected
        self.lines.append("    " * depth + f"return {self.result()}")

    def guarded(self, depth: int) -> None:
        before = dict(self.env)
        kind = self.rng.choice(("ignore", "raise", "warn"))
        head = self.rng.choice((f"with np.errstate(all='{kind}'):", "try:", "try:"))
        text = self.inner(self.rng.randint(1, 2), depth, head)
        if head == "try:":
            handler = f"    {self.new()} = {self.expression(self.env[self.array()].shape, 1)}"
            caught = self.rng.choice(("except ValueError:", "except (TypeError, FloatingPointError) as e:", "finally:"))
            text += f"\n{caught}\n{handler}"
        self.compound(text, before, depth)

    def closure(self, depth: int) -> None:
        name = self.array()
        self.fresh += 1
        inner = f"g{self.fresh}"
        body = self.expression(self.env[name].shape, 1)
        text = self.rng.choice((f"{inner} = lambda a, k=2: a * k + {name}", f"def {inner}(a):\n    return a + {body}"))
        self.add(f"{text}\n{self.new()} = {inner}({name})", depth)

    def phrase(self, depth: int) -> None:
        if not self.words.phrases:
            raise Rejected
        weights, groups = zip(*PHRASES, strict=True)
        template = self.rng.choice(self.rng.choices(groups, weights)[0])
        self.add(template.format_map(_Fields(self)), depth)

    def forget(self, depth: int) -> None:
        name = self.rng.choice([name for name in self.arrays() if name[0] == "v"])
        self.add(f"del {name}", depth)

    def check(self, depth: int) -> None:
        self.add(f"assert {self.condition()}", depth)

    def result(self) -> str:
        rng = self.rng
        names = self.arrays()
        made = [name for name in self.env if name[0] in "vs"]
        picked = [rng.choice(made or names or ["None"]) for _ in range(rng.choice((1, 1, 2, 3)))]
        if names and rng.random() < 0.4:
            picked.append(rng.choice(names))
        if len(picked) == 1:
            return picked[0]
        kind = rng.random()
        if kind < 0.8:
            return ", ".join(picked)
        if kind < 0.9:
            return f"[{', '.join(picked)}]"
        return "{" + ", ".join(f"'{number}': {name}" for number, name in enumerate(picked)) + "}"


class _Fields(dict[str, str]):
    """What the fields of a phrase stand for; each is chosen when it is first met."""

    def __init__(self, writer: _Writer) -> None:
        super().__init__()
        self.writer = writer

    def __missing__(self, field: str) -> str:
        text = self[field] = self.choose(field)
        return text

    def choose(self, field: str) -> str:
        writer, rng = self.writer, self.writer.rng
        match field:
            case "a":
                return writer.array()
            case "c":
                return rng.choice([name for name in writer.arrays() if name not in _ASSIGNABLE])
            case "b":
                return writer.array(lambda value: value.shape == self.shape("a"))
            case "w":
                return writer.array(lambda value: value.flags.writeable)
            case "e":
                return writer.expression(self.shape("a"), 1)
            case "x":
                return writer.expression(self.shape("w"), 1)
            case "n" | "m":
                return writer.number()
            case "k":
                return rng.choice(("1", "2", "3", "0"))
            case "d":
                return writer.dtype()
            case "i":
                return writer.index(writer.env[self["a"]])
            case "j":
                return writer.index(writer.env[self["w"]], keep=True)
            case "q":
                return writer.condition()
            case "o":
                return rng.choice(("+", "-", "*", "/"))
            case "v" | "u":
                return writer.new()
            case "s":
                return writer.new("s")
        kind = {"t": tuple, "l": list, "h": dict, "y": values.Box}[field]
        names = [name for name, value in writer.env.items() if type(value) is kind]
        if not names:
            raise Rejected
        return rng.choice(names)

    def shape(self, field: str) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.writer.env[self[field]].shape
        return shape


_FLAT: tuple[tuple[Any, float], ...] = (
    (_Writer.assign, 12),
    (_Writer.augment, 2),
    (_Writer.store, 3),
    (_Writer.stencil, 2),
    (_Writer.out_argument, 1),
    (_Writer.reduction, 4),
    (_Writer.view, 4),
    (_Writer.element, 1),
    (_Writer.create, 1.5),
    (_Writer.number_statement, 1.5),
    (_Writer.matmul, 1),
    (_Writer.library, 0.7),
    (_Writer.masked_store, 0.3),
    (_Writer.call_helper, 2),
    (_Writer.attribute, 3),
    (_Writer.unpack, 0.8),
    (_Writer.say, 0.25),
    (_Writer.closure, 0.4),
    (_Writer.forget, 0.15),
    (_Writer.check, 0.15),
    (_Writer.early_return, 0.15),
    (_Writer.phrase, 12),
)
_DEEP: tuple[tuple[Any, float], ...] = (
    (_Writer.branch, 1.5),
    (_Writer.loop, 1.8),
    (_Writer.while_loop, 0.3),
    (_Writer.guarded, 0.3),
)


def _is_store(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False

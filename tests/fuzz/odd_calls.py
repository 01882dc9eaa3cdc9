"""Odd calls of NumPy, each plain against compiled: every spelling of the registry, with arguments nobody expects.

``python -m tests.fuzz.odd_calls --count 10000 --seed 0`` runs a campaign. A call takes ordinary arguments for most of
its parameters, by position or by name, and odd ones for some: other kinds, None, lists for tuples, wide ints, bools for
ints, NumPy's own scalars, 0-d arrays, dtype strings, keywords that do not exist, too many arguments. Result, exception,
warnings and arrays written have to be plain Python's (tests/oracle.py). A seed and an index are one call.
"""

from __future__ import annotations

import argparse
import inspect
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite.ops import folded, registry
from dynamo_lite.ops.parameters import Parameters
from tests.oracle import Report, check

PARAMETERS = "a, b, i, m, d, e, o, p, q, z, f, c, s, k, n, x"


def make_args() -> tuple[Any, ...]:
    """The arguments of every function, in the order of PARAMETERS."""
    a = np.array([0.5, -1.25, 2.0])
    square = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 4.0]])
    return (
        *(a, np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([True, False, True])),
        *(np.arange(6.0).reshape(2, 3), square, np.zeros(3), np.zeros((2, 3)), np.zeros(3, np.int64)),
        *(a + 1j, a.astype(np.float32), np.array(1.5), np.float64(2.5), np.int64(1), 2, 1.5),
    )


ARRAYS = ["a", "b", "i", "m", "d", "e", "z", "f"]
FLAGS = ["True", "False"]
INTS = ["0", "1", "-1", "n", "2"]
SHAPES = ["3", "(3,)", "(2, 3)", "[3, 1]", "-1", "n", "()", "(3, -1)", "a.shape", "0"]
DTYPES = ["'f4'", "np.float32", "int", "float", "bool", "a.dtype", "'i4'", "np.dtype('f8')", "complex", "'?'"]
OUTS = ["o", "None", "p", "q", "(o,)", "..."]
NUMBERS = ["0", "1", "2.5", "n", "x", "-1", "True", "1e300"]

# What ordinary and slightly odd calls give to parameters of these names: names, then texts of arguments.
_GIVEN: tuple[tuple[str, list[str]], ...] = (
    ("axis axis1 axis2 axes", ["0", "-1", "1", "None", "(0,)", "(0, 1)", "[0]", "()", "k"]),
    ("source destination", ["0", "-1", "(0, 1)", "[1, 0]", "1"]),
    ("keepdims subok copy endpoint retstep equal_nan upper optimize align", FLAGS),
    ("stable", [*FLAGS, "None"]),
    ("where", ["True", "m", "False"]),
    ("order", ["'K'", "'C'", "'F'", "'A'", "None"]),
    ("casting", ["'no'", "'equiv'", "'safe'", "'same_kind'", "'unsafe'"]),
    ("dtype int_type from_ to type1 type2 arg1 arg2", DTYPES),
    ("out", OUTS),
    ("shape newshape reps", SHAPES),
    ("N M n num repeats ndmin ndim k offset decimals shift kth count", INTS),
    ("kind", ["None", "'quicksort'", "'stable'", "'mergesort'", "'introselect'"]),
    ("side", ["'left'", "'right'"]),
    ("mode", ["'raise'", "'wrap'", "'clip'", "'valid'", "'same'", "'full'"]),
    ("norm", ["None", "'ortho'", "'forward'", "'backward'"]),
    ("subscripts", ["'i,i'", "'i,i->i'", "'ij->j'", "'i->'", "'ij,j'", "'ij,jk'"]),
    ("initial", ["0", "1.5", "True", "np._NoValue", "None"]),
    ("start stop step start_or_stop fill_value value", NUMBERS),
    ("min max a_min a_max", ["0", "1", "1.5", "None", "b", "n", "x"]),
    ("rtol atol nan posinf neginf left right", ["1e-5", "0.5", "0", "None", "x"]),
    ("device", ["None", "'cpu'"]),
    ("like signature sig period sorter buffer strides msg_prefix", ["None"]),
    ("arrays tup", ["(a, b)", "[a, b]", "[d, p]", "(a, i)", "(d,)", "[a]", "(a, b, f)"]),
    ("object", ["a", "[1.0, 2.0]", "[n, 2]", "3", "[[1, 2], [3, n]]", "(x, s)", "s", "d", "c"]),
    ("indices condition", ["i", "m", "k", "i > 0", "a > 0"]),
    ("type", ["np.ndarray", "None"]),
    ("ddof ord", ["0", "1", "1.5", "None", "2", "np.inf"]),
    ("weights", ["b", "None"]),
    ("UPLO", ["'L'", "'U'"]),
)
ORDINARY = {name: texts for names, texts in _GIVEN for name in names.split()}
# What may stand anywhere. NB: as a size, none is so large that a machine has the memory, and just as much.
ODD = [
    *("None", "True", "False", "0", "1", "-1", "-7", "2**63", "2**70", "-2**70", "10**400", "1.0", "2.5"),
    *("np.nan", "1j", "'x'", "''", "b'x'", "()", "[]", "(0,)", "[0]", "(0, 0)", "[0, 1]", "(None,)", "(1.0,)", "..."),
    *("np.True_", "np.int8(0)", "np.uint8(1)", "np.float32(1)", "np.float64(2)", "np.int64(1)", "np.array(1)", "{}"),
    *("a", "i", "m", "d", "z", "o", "[a, b]", "(a,)", "(o,)", "(o, o)", "n", "x", "-n", "n + 2**62", "range(2)"),
    *("'f4'", "'>f8'", "'a5'", "'S5'", "'O'", "'M8[s]'", "'f8,i4'", "'float'", "'i'", "np.float32", "np.floating"),
    *("str", "np.dtype('f4')", "np.dtype('>i4')", "np._NoValue", "np.newaxis", "'C'", "'K'", "'A'", "'no'", "'safe'"),
    *("a[:0]", "a[::-1]", "d.T", "a[:2]", "a[None]", "np.ndarray", "np.add", "len", "(2, 3)", "[[1], [1, 2]]"),
    *("object", "type", "slice(None)", "[1, None]", "c", "s", "k"),
]
# Ufunc methods without a rule, functions written in Python that are traced through, and methods that NumPy forwards.
MORE = [
    *("np.mean", "np.std", "np.var", "np.average", "np.diff", "np.linalg.norm", "np.median", "np.nansum", "np.ptp"),
    *("np.meshgrid", "np.cross", "np.outer", "np.column_stack", "np.flip", "np.rot90", "np.select", "np.gradient"),
    *("np.ascontiguousarray", "np.atleast_2d", "np.broadcast_arrays", "np.count_nonzero", "np.may_share_memory"),
]


@dataclass(frozen=True, slots=True)
class Target:
    """Something to call. text: how the program names it; owner: whether an array stands in front (a method)."""

    text: str
    parameters: inspect.Signature
    method: bool = False


def _of(text: str, parameters: Parameters) -> Iterator[Target]:
    try:
        eval(text, {"np": np})
    except AttributeError:
        return  # a ufunc that stands behind another name of np
    yield Target(text, parameters.signature)


# How often each kind of target is called.
SHARES = {"function": 32, "ufunc": 16, "method": 30, "ufunc method": 12, "folded": 4, "traced": 6, "statement": 15}
REDUCED = (np.add, np.multiply, np.maximum, np.logical_or, np.subtract, np.bitwise_and, np.hypot, np.less, np.power)


@cache
def targets() -> dict[str, tuple[Target, ...]]:
    """Every callable, method and function of dtypes that has a row, methods of some ufuncs, and MORE, by kind."""
    found: dict[str, list[Target]] = {kind: [] for kind in SHARES if kind != "statement"}
    for target, spelling in registry.callables():
        found["ufunc" if isinstance(target, np.ufunc) else "function"] += _of(spelling.text, spelling.parameters)
    for name, spelling in registry.methods():
        found["method"] += _of(f"np.ndarray.{name}", spelling.parameters)
    found["method"] += [
        Target(name, _without_first(spelling.parameters.signature), method=True)
        for name, spelling in registry.methods()
        for _ in range(3)
    ]
    for ufunc in (*REDUCED, np.sqrt, np.matmul):
        for name, spelling in registry.ufunc_methods(ufunc):
            found["ufunc method"] += _of(f"np.{ufunc.__name__}.{name}", spelling.parameters)
    for row in folded.rows():
        module = "np" if hasattr(np, row.function.__name__) else "np.lib.array_utils"
        found["folded"] += _of(f"{module}.{row.function.__name__}", row.parameters)
    found["traced"] += [Target(text, inspect.signature(eval(text, {"np": np}))) for text in MORE]
    for name in ("mean", "std", "var"):
        signature = inspect.signature(getattr(np, name))
        found["traced"].append(Target(name, _without_first(signature), method=True))
    return {kind: tuple(some) for kind, some in found.items()}


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def _argument(rng: random.Random, name: str, first: bool) -> str:
    """The text of an argument for a parameter."""
    if rng.random() < 0.22:
        return rng.choice(ODD)
    if name in ORDINARY:
        return rng.choice(ORDINARY[name])
    return rng.choice(ARRAYS if first or rng.random() < 0.75 else [*ARRAYS, *NUMBERS, "c", "s", "k"])


def _arguments(rng: random.Random, target: Target) -> list[str]:
    positional: list[str] = []
    named: list[str] = []
    # Few functions and methods are called with more than two optional arguments.
    chosen = rng.choice((0.0, 0.15, 0.15, 0.4, 0.8))
    skipped = False
    for number, parameter in enumerate(target.parameters.parameters.values()):
        name = parameter.name
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += [_argument(rng, name, True) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3)))]
            skipped = True
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        required = parameter.default is inspect.Parameter.empty
        if not (rng.random() < 0.97 if required else rng.random() < chosen):
            skipped = True
            continue
        text = _argument(rng, name, number == 0 and not target.method)
        only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        by_name = skipped or only or rng.random() < (0.04 if required else 0.5)
        if by_name and parameter.kind is inspect.Parameter.POSITIONAL_ONLY and rng.random() < 0.9:
            continue
        if by_name and rng.random() < 0.98:
            named.append(f"{name}={text}")
            skipped = True
        elif not named:
            positional.append(text)
    if rng.random() < 0.03:
        positional.append(rng.choice(ODD))
    if rng.random() < 0.03:
        name = rng.choice(("foo", "axis", "out", "keepdims", "dtype", "where", "x", "order", "casting", "subok"))
        if not any(one.startswith(f"{name}=") for one in named):
            named.append(f"{name}={rng.choice(ODD)}")
    return positional + named


_SLICE_PARTS = ["", "", "0", "1", "-1", "n", "-n", "None", "2**70", "1.5", "k", "True", "np.int8(1)", "'x'"]
_INDICES = ["0", "-1", "n", "k", "...", "None", "i", "m", "i > 0", "a > 0", "[0, 1]", "[]", "True", "np.True_", "(0,)"]


def _index(rng: random.Random) -> str:
    """What may stand between brackets."""
    items = []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        chance = rng.random()
        if chance < 0.35:
            items.append(":".join(rng.choice(_SLICE_PARTS) for _ in range(rng.choice((2, 2, 3)))))
        else:
            items.append(rng.choice(_INDICES if chance < 0.85 else ODD))
    return ", ".join(items)


_OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">=", "in", "is"]
_BUILTINS = ["len", "abs", "sum", "min", "max", "int", "float", "bool", "list", "tuple", "range", "zip", "enumerate"]
_CONTAINERS = ["[a, b]", "(a, b)", "(1, 2, 3)", "[n, x]", "(n, a)", "()", "[]", "(0,)", "(x, x, s)", "'xy'", "(a, 1)"]


def _statement(rng: random.Random) -> str:
    """An odd expression that is no call of NumPy's: an index, an operator, a container, a builtin."""
    chance = rng.random()
    owner = rng.choice([*ARRAYS, "d.T", "c", "s", "k"])
    other = rng.choice([*ODD, *ARRAYS, *NUMBERS, *_CONTAINERS])
    if chance < 0.4:
        return f"{owner}[{_index(rng)}]"
    if chance < 0.5:
        return f"{rng.choice(_CONTAINERS)}[{_index(rng)}]"
    if chance < 0.8:
        left, right = rng.choice([*ARRAYS, "c", "s", "k", "n", "x", *_CONTAINERS]), other
        if rng.random() < 0.3:
            left, right = right, left
        return f"({left}) {rng.choice(_OPERATORS)} ({right})"
    if chance < 0.9:
        arguments = [rng.choice([*ARRAYS, *NUMBERS, *_CONTAINERS, *ODD]) for _ in range(rng.choice((1, 1, 1, 2)))]
        return f"{rng.choice(_BUILTINS)}({', '.join(arguments)})"
    return f"0; {rng.choice('oope')}[{_index(rng)}] = {other}"


def operation(rng: random.Random) -> str:
    """One call as text."""
    (kind,) = rng.choices(tuple(SHARES), tuple(SHARES.values()))
    if kind == "statement":
        return _statement(rng)
    target = rng.choice(targets()[kind])
    owner = f"{rng.choice([*ARRAYS, 'd.T', 'c', 's', 'k', 'a[::-1]', 'a[1]'])}." if target.method else ""
    arguments = _arguments(rng, target)
    if target.text.startswith("np.ndarray.") and not arguments:
        arguments = ["a"]  # NB: plain CPython 3.13.0 may crash where a method of C is called without its self
    if target.text.endswith(("accumulate", "cumsum", "cumprod")):
        # NB: plain NumPy 2.4 crashes where the result goes into an array of no axes.
        arguments = [re.sub(r"\bc$|np.array\(1\)$", "o", one) for one in arguments]
    return f"{owner}{target.text}({', '.join(arguments)})"


def generate(seed: int, index: int) -> str:
    """The program number `index` of a seed: one call, with an elementwise statement before it, sometimes in a loop."""
    rng = random.Random(f"{seed}:{index}")
    call = operation(rng)
    # Of some results only the type is plain Python's: nobody has set the elements.
    huge = "broadcast" in call and "2**62" in call  # no memory to compare them
    unset = (
        huge
        or call.startswith(("np.empty", "np.ndarray("))
        or ("where=" in call and not re.search(r"out=\(?[opq]\b", call))
    )
    value = "(r.shape, r.strides, r.dtype)" if unset else "r"
    shape = rng.random()
    if shape < 0.75:
        body = f"    y = a * 2.0 + b\n    r = {call}\n    return y, {value}"
    elif shape < 0.9:
        body = f"    y = a\n    for j in range(3):\n        r = {call}\n        y = y * 0.5 + j\n    return y, {value}"
    else:
        total = "y" if unset else "y + r"
        body = f"    y = a * 2.0\n    r = {call}\n    return {total}"
    return f"def f({PARAMETERS}):\n{body}\n"


def function_of(source: str) -> Callable[..., Any]:
    """The function a program defines."""
    namespace: dict[str, Any] = {"np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(source, "<odd call>", "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


def run_one(source: str) -> Report:
    """One program, three calls plain and compiled."""
    options = {"options": {"cost_model": False}}
    return check(
        function_of(source),
        make_args,
        plain=function_of(source),
        compile=dynamo_lite.compile,
        compile_options=options,
        calls=2,
        name=source,
    )


@dataclass(slots=True)
class Summary:
    """What a campaign found. native: calls that did not break; raised: calls that raise plainly."""

    count: int = 0
    native: int = 0
    raised: int = 0
    warned: int = 0
    unrepeatable: int = 0
    differing: Sequence[Report] = ()

    def __str__(self) -> str:
        return (
            f"{self.count} odd calls: {len(self.differing)} differ, {self.native} ran natively, {self.raised} raised, "
            f"{self.warned} warned, {self.unrepeatable} do not repeat themselves plainly"
        )


def run(seed: int, first: int, count: int, show: Callable[[Report], None] = lambda report: None) -> Summary:
    """A campaign."""
    summary = Summary()
    differing: list[Report] = []
    for index in range(first, first + count):
        report = run_one(generate(seed, index))
        summary.count += 1
        summary.native += report.stats["native_calls"] > 0 and not report.compiled.explain().breaks
        summary.raised += bool(report.raised)
        summary.warned += report.warned > 0
        if report.differences and not report.repeatable:
            summary.unrepeatable += 1
        elif report.differences:
            differing.append(report)
            show(report)
    summary.differing = differing
    return summary


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 1 if a call differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.odd_calls", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--print", action="store_true", help="print the programs instead of running them")
    options = parser.parse_args(arguments)
    if options.print:
        for index in range(options.first, options.first + options.count):
            print(generate(options.seed, index))
        return 0
    summary = run(options.seed, options.first, options.count, lambda report: print(report, flush=True))
    print(summary)
    return 1 if summary.differing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Programs that meet floating-point errors in each call: NumPy warns of them, and they run natively all the same.

Where the filters ignore all such warnings, nothing is reported. Otherwise a program whose errors NumPy has warned of is
captured once more, and warns itself, as NumPy would (ops/warner.py): same text, line, file, registry, and order.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import config
from dynamo_lite.ops import warner
from dynamo_lite.ops.elementwise import UFUNCS

KINDS = ("divide by zero", "overflow", "underflow", "invalid value")


def quotient(a, b):
    return a / b


def divides(x, y):
    r = x / y
    return np.where(y == 0, 0.0, r) * 2 + 1


def takes_logarithms(x, y):
    return np.where(x > 0, np.log(x), 0.0) + y * 3 - np.sqrt(x)


def divides_in_a_loop(x, y):
    s = x
    for _ in range(5):
        s = s * 0.9 + np.where(y == 0, 0.0, x / y)
    return s


def divides_in_place(x, y):
    x = x.copy()
    x /= y
    return x + np.exp(x * 1e3)


def ignores_some(x, y):
    with np.errstate(divide="ignore"):
        a = x / y
    b = x / y
    return a + b


def calls(x, y):
    return quotient(x, y) + quotient(y, x)


def reduces(x, y):
    a = (x / y).sum()
    return a, np.nanmean(x / y), (x * 1e200 * 1e200).max()


def collects(x, y):
    out = []
    for i in range(4):
        out.append((x * i) / y)
    return out


def on_several_lines(x, y):
    return (x
        / y
        + np.log(x) / y)  # fmt: skip


def writes_to_its_arguments(x, y):
    x[...] = x / y
    y -= np.log(y)
    return x


def of_scalars(x, y):
    a = x[0] / y[0]
    return a * x / y


def to_powers(x, y):
    return x**-1.5, x**2 * 1e308, x**3, x.astype(np.float32) * np.float32(1e38) * np.float32(10)


def catches(x, y):
    try:
        z = x / y
    except RuntimeWarning:
        return -1
    return z


PROGRAMS = [
    *(divides, takes_logarithms, divides_in_a_loop, divides_in_place, ignores_some, calls, reduces, collects),
    *(on_several_lines, writes_to_its_arguments, of_scalars, to_powers, catches),
]
FILTERS: dict[str, Callable[[], None]] = {
    **{name: partial(warnings.simplefilter, name) for name in ("default", "ignore", "always", "error", "once")},
    "module": partial(warnings.simplefilter, "module"),
    "no division by zero": lambda: warnings.filterwarnings("ignore", message="divide"),
    "invalid raises": lambda: warnings.filterwarnings("error", message="invalid"),
    "reset": warnings.resetwarnings,
    "": lambda: None,
}


def arguments(n: int, number: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(number)
    x, y = rng.standard_normal(n), rng.standard_normal(n)
    if number % 5:
        y[::3] = 0
    if number % 3:
        x[::6] = 0
    return x, y


def described(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(described, value))
    return type(value).__name__, np.asarray(value).dtype.str, np.asarray(value).tobytes()


def in_own_module(fn: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function in a module of its own, with a registry of warnings of its own."""
    names: dict[str, Any] = {"np": np, "__name__": "user", "__builtins__": __builtins__}
    names["quotient"] = types.FunctionType(quotient.__code__, names)
    return types.FunctionType(fn.__code__, names), names


Schedule = list[tuple[str, dict[str, Any], int]]  # of each call: the filter, the error state and the length


def history(fn: Callable[..., Any], compiled: bool, schedule: Schedule, **options: Any) -> Any:
    """What each call gives and warns of, what the registry holds in the end, and how many calls ran natively."""
    plain, names = in_own_module(fn)
    called = dynamo_lite.compile(plain, **options) if compiled else plain
    found = []
    with warnings.catch_warnings(record=True) as given:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for number, (filters, state, n) in enumerate(schedule):
            FILTERS[filters]()
            args = arguments(n, number)
            with np.errstate(**state):
                try:
                    result = described(called(*args))
                except (RuntimeWarning, FloatingPointError) as error:
                    result = type(error).__name__, str(error)
            told = [(str(one.message), one.category, one.lineno, one.filename) for one in given]
            found.append((result, [arg.tobytes() for arg in args], told))
            given.clear()
    registry = {key: value for key, value in names.get("__warningregistry__", {}).items() if key != "version"}
    return found, registry, called.stats()["native_calls"] if compiled else 0


def require_same(fn: Callable[..., Any], schedule: Schedule, **options: Any) -> int:
    plain, plain_registry, _ = history(fn, False, schedule)
    compiled, registry, native = history(fn, True, schedule, **options)
    for number, (want, have) in enumerate(zip(plain, compiled, strict=True)):
        assert want == have, (number, schedule[number])
    assert plain_registry == registry
    return native


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["numba", "c", "reference"])
def test_warnings_are_numpys_own(fn: Callable[..., Any], backend: str) -> None:
    native = require_same(fn, [("", {}, 50)] * 12, backend=backend)
    if backend == "numba":
        assert native >= 2


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_nothing_is_reported_where_all_is_ignored(fn: Callable[..., Any]) -> None:
    assert require_same(fn, [("ignore", {}, 50)] * 8) >= 5


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("check", [0, 1])
def test_filters_and_error_states_that_change(fn: Callable[..., Any], check: int) -> None:
    with config.patch(check=check):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            schedule = []
            for _ in range(14):
                filters = "" if rng.random() < 0.7 else list(FILTERS)[rng.integers(len(FILTERS))]
                modes = rng.choice(["ignore", "warn", "raise"], 2)
                state = {} if rng.random() < 0.85 else {"divide": str(modes[0]), "invalid": str(modes[1])}
                schedule.append((filters, state, int(rng.choice([7, 300]))))
            require_same(fn, schedule)


def test_the_registry_is_made_although_all_is_ignored() -> None:
    plain, names = in_own_module(divides)
    compiled = dynamo_lite.compile(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1, 4):
            compiled(*arguments(20, number))
    assert "__warningregistry__" in names


def test_what_shows_warnings_is_called_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = in_own_module(divides)
    compiled = dynamo_lite.compile(plain)
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1, 4):
            compiled(*arguments(20, number))
        monkeypatch.setattr(warnings, "showwarning", lambda *args, **_: shown.append(args[3]))
        warnings.simplefilter("default")  # which makes all registries forget
        before = compiled.stats()["native_calls"]
        compiled(*arguments(20, 6))
        assert shown == [divides.__code__.co_firstlineno + 1] * len(shown) and shown
        assert compiled.stats()["native_calls"] == before


SPECIAL = {
    "d": (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -1e-310, 709.8, -745.5, 1e154),
    "f": (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, 1.2e-38, 88.7, 89.0, -104.0, 1e19),
}


def special(rng: np.random.Generator, dtype: str, n: int) -> Any:
    """Elements most of which meet no error, or all of which may."""
    if dtype == "l":
        return rng.integers(-5, 6, n)
    if dtype == "b":
        return rng.integers(-128, 128, n, dtype=np.int8)
    values = rng.choice(np.array(SPECIAL[dtype], dtype), n)
    if rng.random() < 0.6:
        ordinary = (np.abs(rng.standard_normal(n)) + 0.1).astype(dtype)
        place = rng.integers(n)
        ordinary[place] = values[place]
        return ordinary
    return values


def expressions() -> list[tuple[str, str]]:
    """The name by which NumPy warns, and what is computed."""
    known = [name for name, ufunc in sorted(UFUNCS.items()) if ufunc.nout == 1 and ufunc.nin <= 2 and name[0] != "_"]
    found = [(name, f"np.{name}(x)" if UFUNCS[name].nin == 1 else f"np.{name}(x, y)") for name in known]
    found += [("reduce", f"np.{name}.reduce(x)") for name in ("add", "multiply", "maximum", "minimum")]
    found += [("power", f"x ** {exponent}") for exponent in (3, 5.0, -1.5, -3, 2.5)]
    found += [("square", "x ** 2"), ("sqrt", "x ** 0.5"), ("reciprocal", "x ** -1"), ("divide", "2 / x")]
    found += [("divide", "x / 3.5"), ("divide", "x / 10.0"), ("divide", "x / 7")]
    found += [("reduce", "np.add.reduce(np.tile(x, 40))"), ("multiply", "x * 3.5")]
    for sign, name in (("+", "add"), ("-", "subtract"), ("*", "multiply"), ("/", "divide")):
        found.append((f"scalar {name}", f"np.where(x == 1, x[0] {sign} y[0], x)"))
    return found


@pytest.mark.parametrize("dtype", ["d", "f", "l", "b"])
def test_the_errors_are_those_that_numpy_meets(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a program warns at all, it warns of each kind that NumPy meets, and of no other."""
    told: set[str] = set()
    monkeypatch.setattr(warner, "_warn", lambda text, *_: told.add(text.split(" encountered")[0]))
    rng, natively = np.random.default_rng(5), 0
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for name, text in expressions():
            names: dict[str, Any] = {"np": np, "__name__": "user"}
            exec(compile(f"def f(x, y):\n    return {text}\n", "user.py", "exec"), names)
            registry: dict[Any, Any] = {(f"{kind} encountered in {name}", RuntimeWarning, 2): True for kind in KINDS}
            names["__warningregistry__"] = registry
            compiled = dynamo_lite.compile(names["f"])
            for _ in range(20):
                n, met = int(rng.choice([1, 3, 8, 17, 64])), set[str]()
                x, y = special(rng, dtype, n), special(rng, dtype, n)
                try:
                    with np.errstate(all="call", call=lambda kind, _, met=met: met.add(kind)):
                        names["f"](x, y)
                except (TypeError, ValueError):
                    break  # of no such dtype
                told.clear()
                before = compiled.stats()
                with np.errstate(all="warn"):
                    compiled(x, y)
                after = compiled.stats()
                if after["declines"] == before["declines"] and after["native_calls"] > before["native_calls"]:
                    assert told == met, (text, x, y)
                    natively += bool(met)
    assert natively > (20 if dtype in "lb" else 200)


def test_scalars_that_numpy_converts_are_warned_of_as_arrays() -> None:
    """The registry knows the warning of NumPy scalars on that line, and not the one of a float beside an int64."""
    text = "def f(x, k, large):\n    return x[0] * x[1], large * k[0]\n"
    given: list[Any] = []
    for compiled in (False, True):
        names: dict[str, Any] = {"__name__": "user"}
        exec(compile(text, "user.py", "exec"), names)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            names["f"](np.array([1e308, 100.0]), np.array([1]), 1.0)
            called = dynamo_lite.compile(names["f"], options={"cost_model": False}) if compiled else names["f"]
            called(np.array([1.0, 100.0]), np.array([100]), 1e308)
        given.append([str(one.message) for one in found])
    assert given[0] == given[1]


def test_powers_by_infinity_are_compiled() -> None:
    def power(x):
        return x**np.inf

    fast = dynamo_lite.compile(power, options={"check": 1})
    for _ in range(3):
        assert fast(np.array([0.5, 1.0, 2.0])).tolist() == [0.0, 1.0, np.inf]
    assert fast.stats()["native_calls"] == 3


def test_what_others_were_warned_of_changes_nothing() -> None:
    def scores(x):
        return (x - x.mean()) / x.std()

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        np.array([np.inf, -np.inf]).mean()  # in a line of NumPy's that many calls come through
        graph = dynamo_lite.compile(scores).graph_for(np.arange(5.0))
    assert not any(node.op == "error_state" for node in graph.nodes)


EDGES = {
    "infinite": np.array([np.inf, np.inf, -np.inf, 1.0, 0.0, 1e308, 1e308, -1e308]),
    "huge": np.full(8, 1e308),
    "zero": np.zeros(8),
    "mixed": np.array([-1.0, 0.0, np.inf, -np.inf, 2.0, 3.0, 4.0, 5.0]),
}
NAMES = ["add", "subtract", "multiply", "divide", "reduce", "power", "square", "sqrt", "clip", "rint", "accumulate"]
IN_NUMPY_S_OWN_LINES = [
    *("np.prod(x)", "np.sum(x)", "x.sum()", "x.prod()", "np.diff(x)", "np.clip(x, -1, y)", "np.kron(x, y)"),
    *("np.average(x, weights=y + 3)", "np.ediff1d(x)", "np.linalg.norm(x)", "np.std(x)", "x.var()"),
    *("np.polyval([1, 2, 3], x)", "np.cumprod(x)", "np.histogram(y, 4, (0, 9), density=True)", "np.ptp(x)"),
    *("x.max() * 1e300", "sum([x, y, x])", "abs(x) + y", "np.add.reduce(x)", "np.outer(x, y)"),
    *("np.subtract.outer(x, y)", "np.mean(x)", "np.gradient(x)", "np.round(x, 2)"),
]


@pytest.mark.parametrize("text", IN_NUMPY_S_OWN_LINES)
def test_what_functions_of_numpy_s_meet_is_theirs(text: str) -> None:
    """They call ufuncs on lines of their own, whatever the line that calls them has been warned of."""
    for x, y in itertools.product(EDGES.values(), repeat=2):
        told = []
        for is_compiled in (False, True):
            names: dict[str, Any] = {"np": np, "__name__": "user", "__warningregistry__": {}}
            exec(compile(f"def f(x, y):\n    return {text}\n", "user.py", "exec"), names)
            fn = dynamo_lite.compile(names["f"]) if is_compiled else names["f"]
            with warnings.catch_warnings(record=True) as given:
                warnings.resetwarnings()
                warnings.simplefilter("default")
                warnings.warn_explicit("", RuntimeWarning, "user.py", 99, "user", names["__warningregistry__"])
                for name, kind in itertools.product(NAMES, KINDS):
                    names["__warningregistry__"][f"{kind} encountered in {name}", RuntimeWarning, 2] = True
                with np.errstate(all="warn"):
                    for _ in range(2):
                        fn(x.copy(), y.copy())
            told.append([(str(one.message), one.filename, one.lineno) for one in given])
        assert told[0] == told[1]


WRITES = """
import io, sys, warnings
import numpy as np
import dynamo_lite

class Counted(io.TextIOWrapper):
    def write(self, text):
        return super().write(text)

@dynamo_lite.compile
def divides(x, y):
    return np.where(y == 0, 0.0, x / y)

sys.stderr = {kind}(open({path!r}, "wb"))
args = np.ones(20), np.zeros(20)
for _ in range(3):
    divides(*args)
if {is_silent}:
    warnings.simplefilter("ignore")
before = divides.stats()["native_calls"]
divides(*args)
print(divides.stats()["native_calls"] - before)
"""


@pytest.mark.parametrize("kind", ["io.TextIOWrapper", "Counted"])
@pytest.mark.parametrize("is_silent", [False, True])
def test_what_warnings_are_written_to(kind: str, is_silent: bool, tmp_path: Path) -> None:
    """Where that is a file of the user's own kind, it is to be told by NumPy, unless it is told nothing. The
    filters are those that Python begins with."""
    text = WRITES.format(kind=kind, is_silent=is_silent, path=str(tmp_path / "told"))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(int(kind == "io.TextIOWrapper" or is_silent))


def test_a_program_captured_again_says_why() -> None:
    plain, _ = in_own_module(divides)
    compiled = dynamo_lite.compile(plain)
    with warnings.catch_warnings(record=True):
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for number in range(8):
            compiled(*arguments(20, number))
    first, again = compiled.explain().compiles
    assert (first.reason, again.reason) == ("first call", "NumPy has warned of what it declined for")
    assert compiled.stats()["recompiles"] == 1


def test_nothing_is_captured_again_where_that_is_an_error() -> None:
    plain, _ = in_own_module(divides)
    compiled = dynamo_lite.compile(plain)
    compiled(*arguments(20, 60))
    with warnings.catch_warnings(record=True), dynamo_lite.set_stance("fail_on_recompile"):
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for number in range(8):
            compiled(*arguments(20, number))
    assert compiled.stats()["compiles"] == 1


class Odd:
    """A pattern of the user's own, which may do anything."""

    asked: ClassVar[list[str]] = []

    def __eq__(self, other: object) -> bool:
        self.asked.append("equal")
        return self is other

    __hash__ = object.__hash__

    def match(self, text: str) -> bool:
        self.asked.append("match")
        return True


def test_filters_of_the_user_s_own_kind_are_asked_by_python_alone() -> None:
    histories = []
    for is_compiled in (False, True):
        plain, _ = in_own_module(divides)
        fn = dynamo_lite.compile(plain) if is_compiled else plain
        Odd.asked.clear()
        with warnings.catch_warnings(record=True) as given:
            warnings.resetwarnings()
            warnings.simplefilter("default")
            for number in range(1, 9):
                if number in (5, 7):
                    warnings.filters[0] = "default", None, Warning, Odd(), 0  # type: ignore[index]
                fn(*arguments(20, number))
            histories.append((list(Odd.asked), [str(one.message) for one in given]))
    assert histories[0] == histories[1]

"""Code of modules, watched as ``python -m dynamo_lite run`` does: the programs of loops, each as a script of its own
whose variables are globals, entered in the middle of their loops. What a script leaves is what it leaves plainly."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import operator
import pydoc
import random
import textwrap
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dynamo_lite import _C
from dynamo_lite.watch.watching import Watch
from tests.copies import copies_of
from tests.programs.loop_cases import Case, loops_in
from tests.watched import LOOPS_AT_ONCE

pytestmark = pytest.mark.usefixtures("no_mode")

FILES = (
    *("test_loops", "test_loop_numbers", "test_loop_nests", "test_loop_kinds", "test_loop_iterators"),
    *("test_loop_lists", "test_loop_ways", "test_element_loops", "test_loop_conditions", "test_iterations"),
)


@pytest.fixture(autouse=True)
def nothing_is_watched_afterwards() -> Iterator[None]:
    yield
    _C.watch(None, None, None)


def script_of(function: Any) -> str | None:
    """The function's body as a script, with what it returns as ``result``; None where it returns elsewhere, too."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(made, ast.FunctionDef)
    *body, last = made.body
    others = [node for statement in body for node in ast.walk(statement)]
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    kinds = (ast.Return, ast.Nonlocal, ast.Yield, ast.FunctionDef, ast.Lambda, ast.Global)
    if any(isinstance(node, kinds) for node in others):
        return None
    result = ast.Assign([ast.Name("result", ast.Store())], last.value)
    return ast.unparse(ast.fix_missing_locations(ast.Module([*body, result], [])))


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in FILES:
        known = getattr(importlib.import_module(f"tests.programs.{name}"), "CASES", {})
        for key, case in known.items():
            if isinstance(case, Case) and script_of(case.fn) is not None:
                found[f"{name}-{key}"] = case
    return found


CASES = cases()
NOT_ENTERED = {  # their loops do next to nothing themselves, and have no polls; or stand in a handler
    *("test_loops-swap", "test_loop_numbers-summed_up", "test_loop_nests-inlined", "test_loop_nests-nothing_happens"),
    *("test_loop_nests-alternates_types", "test_loop_nests-tried", "test_loop_iterators-over_ndenumerate"),
}


def run(code: types.CodeType, namespace: dict[str, Any]) -> tuple[dict[str, Any], str, str, list[str]]:
    """What the script leaves of its own names, what it printed, the exception that ended it, and the warnings."""
    np.random.seed(3)
    random.seed(3)
    before, printed, error = set(namespace), io.StringIO(), ""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            exec(code, namespace)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised))
            error += str([(f.name, f.lineno) for f in traceback.extract_tb(raised.__traceback__)[1:]])
    own = {*(namespace.keys() - before - {"__warningregistry__"}), *namespace["own"]}
    left = {name: value for name, value in namespace.items() if name in own}
    return left, printed.getvalue(), error, [f"{one.lineno} {one.message}" for one in caught]


def require_like(script: str, names: dict[str, Any], make: Any, entered: bool | None = True) -> int:
    """That the script does the same watched; entered: whether a loop of it is entered, None if that is not asked. How
    many were."""
    code = compile(script, __file__, "exec")
    seen = []
    for kind in ("plain", "watched", "again"):
        watch = Watch(LOOPS_AT_ONCE, "numba")
        arguments = make()
        namespace = {**names, **arguments, "own": set(arguments), "__name__": "script"}
        try:
            seen.append(run(code if kind == "plain" else watch.watched(code), namespace))
        finally:
            watch.end()
        count = watch.loops_entered
        assert kind == "plain" or entered is None or (count > 0) is entered
        if watch.compilation is not None:
            assert not [reason for reason, *_ in watch.compilation.skips if reason == "internal-error"]
    for other in seen[1:]:
        assert list(other[0]) == list(seen[0][0])
        for name, value in seen[0][0].items():
            assert same(value, other[0][name]), name
        assert other[1:] == seen[0][1:]
    return count


def same(one: Any, other: Any, above: tuple[int, ...] = ()) -> bool:
    if type(one) is not type(other):
        return False
    if id(one) in above:
        return True
    above = (*above, id(one))
    if isinstance(one, np.ndarray) and one.dtype != object:
        return (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides) and bool(
            one.tobytes() == other.tobytes()
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b, above) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key], above) for key in one)
    if isinstance(one, float | complex | np.generic):
        return np.asarray(one).tobytes() == np.asarray(other).tobytes()
    if isinstance(one, np.random.Generator):
        return bool(one.bit_generator.state == other.bit_generator.state)
    if hasattr(one, "__next__"):
        return operator.length_hint(one) == operator.length_hint(other)
    if isinstance(one, types.FunctionType | types.BuiltinFunctionType | types.ModuleType | type):
        return True
    return same(vars(one), vars(other), above) if hasattr(one, "__dict__") else bool(one == other)


@pytest.mark.parametrize("name", CASES)
def test_programs_of_loops_as_scripts(name: str) -> None:
    case = CASES[name]
    script = script_of(case.fn)
    assert script is not None
    names = dict(case.fn.__globals__)
    entered = 0
    for count, size in ((5, 6), (0, 4), (1, 4), (40, 9)):
        if count in case.counts or count == 5:
            arguments = case.args(count, size)
            parameters = list(inspect.signature(case.fn).parameters)

            def make(arguments: Any = arguments, parameters: Any = parameters) -> dict[str, Any]:
                return dict(zip(parameters, copies_of(*arguments)(), strict=False))

            entered += require_like(script, names, make, None)
    assert entered or name in NOT_ENTERED


SCRIPTS = {
    "counts": """
u, t, seen = np.linspace(0.0, 1.0, 50), 0.0, []
dt = 0.01
for step in range(60):
    u[1:-1] = u[1:-1] + dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    t += dt
    if step % 20 == 0:
        print(step, t, u.sum())
        seen.append((t, u.copy()))
""",
    "functions": """
a, calls = 0.5, 0
def f(x):
    return a * x + 1.0
def g(x):
    global calls
    calls += 1
    return x * calls
total = 0.0
for i in range(30):
    total = f(total) + g(i)
    if i == 10:
        a = 0.25
    if i == 20:
        def f(x):
            return x - a
""",
    "deletes": """
x = np.ones(5)
for i in range(12):
    y = x * i
    z = y.sum()
    del y
    if i == 7:
        del z
        w = i
""",
    "raises": """
x = np.ones(5)
for i in range(12):
    x = x * 2.0
    if i == 8:
        x[i] = 1.0
""",
    "raises of a name": """
x, total = np.ones(5), 0.0
for i in range(12):
    total += x.sum()
    if i == 8:
        total += missing
""",
    "within": """
import math
total, found = 0.0, []
for i in range(10):
    import cmath as c
    class Point:
        size = i
        def area(self):
            return self.size * math.pi
    total += Point().area() + c.sqrt(-i).imag
    found.append([j * i for j in range(3)])
    pairs = {k: v + i for k, v in zip("ab", (1, 2))}
    evens = [j for j in range(i) if j % 2 == 0]
""",
    "handlers": """
x, bad = np.arange(6.0), 0
for i in range(20):
    try:
        value = x[i] / (i - 3)
    except IndexError as error:
        bad += 1
    else:
        x[i] = value
    finally:
        last = i
with np.errstate(all="ignore"):
    for i in range(5):
        x = x / (x - x)
""",
    "while": """
x, n = 1.0, 0
while abs(x * x - 2.0) > 1e-12:
    x = 0.5 * (x + 2.0 / x)
    n += 1
else:
    done = True
grid = np.zeros((12, 12)); grid[0] = 1.0
err = 1.0
while err > 1e-3:
    old = grid.copy()
    for i in range(1, 11):
        for j in range(1, 11):
            grid[i, j] = 0.25 * (grid[i+1, j] + grid[i-1, j] + grid[i, j+1] + grid[i, j-1])
    err = np.abs(grid - old).max()
    n += 1
""",
    "warns": """
x = np.array([1.0, 0.0, 2.0])
for i in range(6):
    y = 1.0 / (x - i)
    s = y.sum()
""",
    "globals": """
x, seen = 0.0, []
def look():
    seen.append((i, x, sorted(k for k in globals() if len(k) == 1)))
for i in range(8):
    x += i * 0.5
    look()
""",
    "names that loops make": """
total, m = 0.0, 9
def of_latest():
    return zz * 0.5 if total > 3.0 else 1.0
for k in range(6):
    zz = k * 1.5
    for j in range(k):
        yy = zz + j
        if yy > 6.0:
            xx = yy
        elif yy > 50.0:
            rare = yy
        for i in range(j - 1):
            ww = i
            total += of_latest() * ww
    aa = np.ones(3) * total
    m = "text" if k == 4 else m
for j in range(0):
    never = j
""",
    "names that later iterations make": """
t = 0.0
for k in range(30):
    t += k * 0.5
    for j in range(k - 10):
        zz = k * 2.0
        if zz > 30.0:
            yy = zz
        for aa in range(j - 1):
            t += aa
    xx = np.ones(3) * t
""",
    "draws": """
rng = np.random.default_rng(5)
inside = 0
for k in range(200):
    a, b = rng.random(), np.random.rand()
    if a * a + b * b < 1:
        inside += 1
chain = [0.0]
for k in range(50):
    new = chain[-1] + rng.normal()
    chain.append(new if rng.random() < 0.5 else chain[-1])
""",
    "shadowed": """
abs_, total = abs, 0
for i in range(8):
    total += abs(-i) + len([i])
    if i == 4:
        abs = lambda v: 100
del abs
for i in range(3):
    total += abs(-i)
""",
}


def test_the_locals_of_a_module_that_goes_on_are_its_globals() -> None:
    """As who looks at the frame sees them: a debugger, a traceback that shows values."""
    script = """
import sys
x, seen, made = 0.0, [], 0
def look():
    frame = sys._getframe(1)
    frame.f_locals["made"] = i
    return frame.f_locals is frame.f_globals and "x" in frame.f_locals
for i in range(8):
    x += np.sqrt(i)
    seen.append((look(), made, x))
"""
    require_like(script, {"np": np}, dict, True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name: str) -> None:
    require_like(SCRIPTS[name], {"np": np}, dict, None)
    if name in ("counts", "functions", "while", "draws", "raises", "names that loops make"):
        require_like(SCRIPTS[name], {"np": np}, dict, True)


@pytest.mark.parametrize("last", ["exec('k = i')", "k = dict(locals())", "from math import *", "k = sorted(vars())"])
def test_what_knows_the_frame_stays_a_module(last: str) -> None:
    script = f"""
x = 0.0
for i in range(9):
    x += np.sqrt(i)
{last}
"""
    require_like(script, {"np": np}, dict, False)


def test_names_that_another_module_gives_before_the_loops() -> None:
    script = """
from math import *
x = 0.0
for i in range(9):
    x += np.sqrt(i) * sin(i) + pi
    floor = i
"""
    require_like(script, {"np": np}, dict, True)
    again = script.replace("x = 0.0", "for k in range(2):\n    from cmath import *")
    require_like(again, {"np": np, "x": 0.0}, dict, False)


def test_names_that_are_no_globals_are_left_alone() -> None:
    """Code of a module that is run with locals of its own."""
    script = "x = 0.0\nfor i in range(9):\n    x += np.sqrt(i)\n"
    watch, names, local = Watch(LOOPS_AT_ONCE, "numba"), {"np": np}, dict[str, Any]()
    try:
        exec(watch.watched(compile(script, __file__, "exec")), names, local)
    finally:
        watch.end()
    assert local["i"] == 8 and "x" not in names and watch.loops_entered == 0


def test_rounds_are_timed_while_what_they_call_has_to_wait() -> None:
    """The budget knows how long a script is going to run, and what calls take, though functions ask in each round, and
    are refused."""
    script = textwrap.dedent("""
        def step(x):
            return np.sqrt(x * 0.999 + 1.0) * x - 0.5
        def work(y):
            for i in range(300):
                y = step(y)
            return y
        for k in range(80):  # some of which are timed on a busy machine, too
            y = np.ones(20_000)
            for i in range(2):
                y = work(y)
    """)
    often = 0.01 / time.process_time()  # every 10 ms; a call of work takes some 30
    limits = replace(LOOPS_AT_ONCE, hot_loop=0.001, hot_function=0.001, ask_again=often)
    watch = Watch(replace(limits, budget_share=0.0, budget_base=-1.0), "numba")
    try:
        exec(watch.watched(compile(script, __file__, "exec")), {"np": np})
    finally:
        watch.end()
    timed = {position[0]: known.n_plain for (*_, position), known in watch.rounds.items()}
    assert timed[8] >= 3 and timed[10] >= 3 and timed[5] > 1000
    (work,) = (poll for poll, _, _, name in watch.entries if name == "work")
    assert work.calls >= 3


@pytest.mark.parametrize("name", ["builtins.len", "builtins.max", "builtins.isinstance", "operator.length_hint"])
def test_no_question_calls_what_is_replaced(name: str) -> None:
    script = "x = np.ones(8)\nfor i in range(200):\n    x = x * 0.5 + len(x)\n"
    real: Any = pydoc.locate(name)
    counts: list[int] = []

    def counted(*args: Any, **more: Any) -> Any:
        counts[-1] += 1
        return real(*args, **more)

    def run(code: Any) -> None:
        names = {"np": np}
        with mock.patch(name, counted):
            counts.append(0)
            exec(code, names)
            counts.append(0)

    code = compile(script, __file__, "exec")
    run(code)
    watch = Watch(LOOPS_AT_ONCE, "numba")
    try:
        run(watch.watched(code))
    finally:
        watch.end()
    assert counts[0] == counts[2]


def test_a_loop_behind_which_names_stay_runs_natively_around_another() -> None:
    """Entered as it runs, with an iteration before the loop proper: what the loop within has ended with is carried."""
    script = """
N, sizes = 40, [40, 30]
for N in sizes:
    u, w, tv = np.arange(float(N)), np.zeros(N), np.linspace(0, 1, 30)
    for t in tv:
        for i in range(2 * N // 2 - 1):
            w[i] = (u[i + 1] + u[i - 1]) / 2 - 0.1 * (u[i + 1] - u[i - 1])
        u = np.copy(w)
"""
    require_like(script, {"np": np}, dict, True)
    require_like(script.replace("[40, 30]", "[1, 40]"), {"np": np}, dict, None)
    watch = Watch(LOOPS_AT_ONCE, "numba")
    try:
        exec(watch.watched(compile(script, __file__, "exec")), {"np": np})
    finally:
        watch.end()
    assert watch.compilation is not None
    assert max(loops_in(segment.capture.graph) for segment in watch.compilation.segments) > 1


def test_a_loop_begins_with_a_number_that_may_be_the_object_from_before_the_loop_ahead() -> None:
    """Entered as it runs, the first nest may have no iteration left: `i` is then what it was, and that very object."""
    script = """
random.seed(3)
i = big = 10 ** 6
kept, T = [], 1.0
while T < last:
    x = np.ones(10)
    e = np.sum(x)
    for sweep in range(first):
        for i in range(L * L):
            a = random.randint(0, 9)
            if random.random() < 0.5:
                x[a] *= -1
                e = e + 2 * x[a]
    for sweep in range(second):
        for i in range(L * L):
            a = random.randint(0, 9)
            if random.random() < 0.5:
                x[a] *= -1
                e = e + 2 * x[a]
    kept.append((e, i, i is big))
    print(e, i)
    T += 0.25
"""
    for sizes in (3, 2, 4), (3, 0, 4), (0, 3, 4), (4, 0, 20), (0, 0, 4):
        names = dict(zip(("first", "second", "L"), sizes, strict=True))
        require_like(script, {"np": np, "random": random, "last": 2.5, **names}, dict, True)
    watch = Watch(LOOPS_AT_ONCE, "numba")
    names = {"np": np, "random": random, "last": 2.5, "first": 20, "second": 30, "L": 10}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(watch.watched(compile(script, __file__, "exec")), names)
        finally:
            watch.end()
    assert watch.compilation is not None
    outcomes = {loop.outcome for loop in watch.compilation.loops.values()}
    assert "native" in outcomes and outcomes <= {"native", "segments"}

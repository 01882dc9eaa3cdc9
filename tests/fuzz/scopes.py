"""Runs the programs of random_scopes.py plainly and compiled, and compares all that can be seen:
``python -m tests.fuzz.scopes --count 1000 --seed 0``.

Of each call: the result, by type, dtype and bits; what is printed and warned; the exception with the lines and columns
of its traceback; the arguments and globals afterwards; what closures, generators and objects among all this hold and
do when they are called once the call has ended. Which objects are one is compared but for numbers and texts. WAYS are
the ways to run a program compiled: by ``compile``, also with a break at every legal point, by the frame hook, and as
a whole program in which all functions, or all loops, are hot at once.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import itertools
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite import _C, policy, stress
from dynamo_lite.config import config
from dynamo_lite.watch.watching import Watch
from tests import watched
from tests.fuzz.random_scopes import HELPERS, text_of

FILE = "<random scopes>"
CALLS = (0, 0, 1, 2)  # which arguments
OPTIONS = {"cost_model": False, "recompile_limit": 1000}
DTYPES = (np.float64, np.float64, np.int64, np.float32, np.bool_)


def same(thing: Any) -> Any:
    """Plain Python's."""
    return thing


Around = Callable[[], contextlib.AbstractContextManager[Any]]


class View:
    """What can be seen of values, as tuples of texts, bytes and numbers; which objects are one across all of them."""

    def __init__(self, around: Around) -> None:
        self.around = around
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []

    def of(self, value: Any, depth: int = 0) -> Any:
        """A value, and what can be reached from it."""
        name = type(value).__name__
        if isinstance(value, np.generic):
            return name, str(value), value.tobytes()
        if isinstance(value, (bool, int, float, str, type(None), type, types.ModuleType, types.BuiltinFunctionType)):
            return name, repr(value) if not isinstance(value, type) else value.__qualname__
        if depth > 6:
            return (name,)
        if not isinstance(value, tuple):
            if id(value) in self.seen:
                return "seen", self.seen[id(value)]
            self.seen[id(value)] = len(self.seen)
            self.alive.append(value)
        inner = depth + 1
        if isinstance(value, np.ndarray):
            return name, value.dtype.str, value.shape, value.strides, value.flags.num, value.tobytes()
        if isinstance(value, (list, tuple)):
            return name, *[self.of(one, inner) for one in list(value)]
        if isinstance(value, dict):
            return name, *[(self.of(key), self.of(one, inner)) for key, one in list(value.items())]
        if isinstance(value, set):
            return name, *sorted(repr(self.of(one, inner)) for one in value)
        if isinstance(value, types.FunctionType):
            return name, value.__qualname__, self.function(value, inner)
        if isinstance(value, types.MethodType):
            return name, self.of(value.__self__, inner), self.outcome(value, inner)
        if isinstance(value, BaseException):
            return self.error(value, inner)
        if hasattr(value, "__next__"):
            return name, getattr(value, "__name__", ""), self.outcome(lambda: list(itertools.islice(value, 30)), inner)
        return name, self.of(vars(value), inner) if hasattr(value, "__dict__") else repr(value)

    def function(self, function: types.FunctionType, depth: int) -> Any:
        """Its defaults, its cells, and what two calls give."""
        cells = []
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self.seen:
                self.seen[id(cell)] = len(self.seen)
                self.alive.append(cell)
            try:
                content = self.of(cell.cell_contents, depth)
            except ValueError:
                content = "empty"
            cells.append((variable, self.seen[id(cell)], content))
        defaults = self.of((function.__defaults__, function.__kwdefaults__), depth)
        return defaults, cells, [self.outcome(function, depth) for _ in range(2)]

    def outcome(self, function: Callable[..., Any], depth: int, *args: Any) -> Any:
        """What a call gives, prints, and warns of; what it raises."""
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                with self.around():
                    result = function(*args)
            except Exception as error:
                found = "raised", self.error(error, depth)
            else:
                found = "returned", self.of(result, depth)
        told = [(one.category.__name__, str(one.message), one.lineno) for one in warned]
        return found, printed.getvalue(), told

    def error(self, error: BaseException | None, depth: int) -> Any:
        """An exception, where it came from, and the ones before it."""
        if error is None or depth > 6:
            return None
        places: list[Any] = []
        at = error.__traceback__
        while at is not None:
            code = at.tb_frame.f_code
            if code.co_filename == FILE:
                # NB: those of an UnboundLocalError depend on how often plain code ran (see tests/oracle.py).
                unbound = isinstance(error, UnboundLocalError)
                position = list(code.co_positions())[at.tb_lasti // 2] if not unbound else ()
                line = at.tb_lineno if not unbound or sys.version_info >= (3, 12) else 0
                places.append((code.co_name, line, *position))
            at = at.tb_next
        before = [self.error(one, depth + 1) for one in (error.__cause__, error.__context__)]
        held = [self.error(one, depth + 1) for one in getattr(error, "exceptions", ())]
        return type(error).__name__, str(error), places, before, error.__suppress_context__, held


def arguments(seed: int, variant: int) -> tuple[Any, ...]:
    """Fresh arguments of f; those of variant 1 are other values, those of 2 of another size and dtype."""
    source = np.random.default_rng([seed, variant])
    size = (2 + seed % 7, 2 + seed % 7, 3 + seed % 28)[variant]
    dtype = DTYPES[seed % 5] if variant < 2 else DTYPES[(seed + 1) % 5]
    x, y = ((source.random(size) * 4 - 1).astype(dtype) for _ in range(2))
    m = source.random((3, size))
    o = np.random.default_rng([seed, variant]).random(size)
    return x, y, m, seed % 4 + variant, 0.5 + variant, "st", [1, 2.5, variant], {"k": 2, "t": 1.5}, o


def load(text: str, change: Callable[[types.CodeType], types.CodeType]) -> dict[str, Any]:
    """The globals of a module whose code is what `change` makes of it."""
    namespace: dict[str, Any] = {"__name__": "user"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(change(compile(text, FILE, "exec")), namespace)
    return namespace


def calls(
    text: str,
    seed: int,
    make: Callable[[Any], Any] = same,
    around: Around = contextlib.nullcontext,
    change: Callable[[types.CodeType], types.CodeType] = same,
) -> list[Any]:
    """What can be seen of one call after the other; `around` is what calls happen in, `change` of the module's code."""
    namespace = load(text, change)
    called = make(namespace["f"])
    found: list[Any] = []
    for variant in CALLS:
        given = arguments(seed, variant)
        given = (*given[:-1], namespace["Thing"](given[-1]))
        namespace["G"] = np.linspace(0.0, 1.0, len(given[0]))
        view = View(around)
        ids = view.of(given)
        # What was there before the call has a number, and is looked at behind it.
        view.seen = {id(one): number for number, one in enumerate(given)}
        outcome = view.outcome(called, 0, *given)
        view.seen = {}
        found.append((ids, outcome, view.of((given, namespace["G"], namespace["K"]))))
    return found


def compiled(**options: Any) -> Callable[[Any], Any]:
    """dynamo_lite.compile with these options."""
    return lambda fn: dynamo_lite.compile(fn, options={**OPTIONS, **options})


@contextlib.contextmanager
def hooked(mode: str) -> Iterator[Around]:
    """A context for calls to run in under the frame hook; nothing else does."""
    with config.patch(stress=mode):
        compilation = stress.enable()
        _C.hook_disable()

        @contextlib.contextmanager
        def around() -> Iterator[None]:
            _C.hook_enable(compilation.on_miss)
            try:
                yield
            finally:
                _C.hook_disable()

        try:
            yield around
        finally:
            stress.disable()


WAYS = ("compile", "broken", "hook compile", "hook break", "hook rewrite", "polls", "loops")


def run(text: str, seed: int, way: str) -> list[Any]:
    """A program run in one of WAYS, or "plain"."""
    if way.startswith("hook "):
        with hooked(way.removeprefix("hook ")) as around:
            return calls(text, seed, around=around)
    if way in ("polls", "loops"):
        watch = Watch(policy.AT_ONCE if way == "polls" else watched.LOOPS_AT_ONCE, "numba")
        try:
            with config.patch(**OPTIONS):
                return calls(text, seed, change=watch.watched)
        finally:
            watch.end()
    make = {"plain": same, "compile": compiled(), "broken": compiled(stress="break")}[way]
    return calls(text, seed, make)


def difference(plain: Any, other: Any, path: str = "") -> str:
    """Where two records differ first."""
    if isinstance(plain, (list, tuple)) and isinstance(other, (list, tuple)) and len(plain) == len(other):
        for number, (left, right) in enumerate(zip(plain, other, strict=True)):
            if left != right:
                return difference(left, right, f"{path}.{number}")
    return f"{path}\n  plain {plain!s:.600}\n  other {other!s:.600}"


def differences(text: str, seed: int, ways: tuple[str, ...] = WAYS) -> dict[str, str]:
    """How each of `ways` differs from plain Python, where it does."""
    plain, found = run(text, seed, "plain"), {}
    for way in ways:
        other = run(text, seed, way)
        if other != plain:
            found[way] = difference(plain, other)
    return found


def main(args: list[str] | None = None) -> int:
    """Run from the command line; 1 if a program differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.scopes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--way", action="append", choices=WAYS, help="one of the ways to run a program compiled")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to end at the latest")
    parser.add_argument("--dump", type=Path, default=Path("build/fuzz"), help="where programs that differ go")
    parser.add_argument("--print", action="store_true", help="print the programs instead of running them")
    options = parser.parse_args(args)
    _C.set_limits(replace(policy.THRESHOLDS, hot_callee=0.0, tried_compiled=1e9, tried_time=1e9))  # as in conftest.py
    end, done, differing = time.monotonic() + options.seconds, 0, 0
    for seed in range(options.seed, options.seed + options.count):
        text = text_of(seed)
        if options.print:
            print(text[len(HELPERS) :])
            continue
        if time.monotonic() > end:
            break
        done += 1
        try:
            found = differences(text, seed, tuple(options.way or WAYS))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        if found:
            differing += 1
            options.dump.mkdir(parents=True, exist_ok=True)
            (options.dump / f"scopes_{seed}.py").write_text(text)
            for way, what in found.items():
                print(f"seed {seed}, {way}: {what}", flush=True)
        if done % 50 == 0:
            gc.collect()
    print(f"{done} programs from seed {options.seed} on: {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

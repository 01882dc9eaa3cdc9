"""Error states, warning filters and exceptions halfway: what reaches the caller, and what the arrays hold then."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

Compile = Callable[..., Any]
BAD = np.array([0.0, -1.0, 1e308, 5e-324, np.nan, np.inf])


def divides(x: Any) -> Any:
    return 1.0 / x


def overflows(x: Any) -> Any:
    y = x * 1e10
    return y * y


def underflows(x: Any) -> Any:
    return x * 5e-324 * 0.3


def invalid(x: Any) -> Any:
    return np.sqrt(x) + np.log(x)


def unused(x: Any) -> Any:
    1.0 / x
    return x + 1.0


def several(x: Any) -> Any:
    a = 1.0 / x
    b = np.sqrt(-x)
    c = np.exp(x)
    return a + b + c


def integer_division(x: Any) -> Any:
    n = np.nan_to_num(x).astype(np.int32)
    return n // 0, n % 0


def casts(x: Any) -> Any:
    return x.astype(np.int8)


def reduces(x: Any) -> Any:
    return (x * 1e10).sum(), np.mean(x[:0]), np.var(x), x.max()


def in_place(x: Any) -> Any:
    x += 1.0
    x /= 0.0
    x *= 3.0
    return x


def scalars(x: Any) -> Any:
    return x[2] * 1e10, x[0] / x[0], np.int8(127) + np.int8(1)


def compares(x: Any) -> Any:
    return x < 0.5, np.maximum(x, 0.0), x == x


FUNCTIONS = (
    divides,
    overflows,
    underflows,
    invalid,
    unused,
    several,
    integer_division,
    casts,
    reduces,
    in_place,
    scalars,
    compares,
)
STATES = ("ignore", "warn", "raise", "print")


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_error_states_around_the_call(fn: Any, backend: str, compiler: Compile) -> None:
    for state in STATES:
        require_equal(
            fn,
            copies_of(np.ones(6)),
            variants=[copies_of(BAD), copies_of(np.full(6, 2.0))],
            conditions=Conditions(errstate={"all": state}),
            compile=compiler,
            compile_options={"backend": backend},
            name=f"{fn.__name__} {state}",
        )
    for kind in ("divide", "over", "under", "invalid"):
        require_equal(
            fn,
            copies_of(BAD),
            conditions=Conditions(errstate={"all": "ignore", kind: "raise"}),
            compile=compiler,
            compile_options={"backend": backend},
            name=f"{fn.__name__} {kind}",
        )


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_a_changed_error_state_is_seen(fn: Any, backend: str, compiler: Compile) -> None:
    fast = compiler(fn, backend=backend)
    for state in ("warn", "ignore", "raise", "warn", "raise", "ignore"):
        options = {"conditions": Conditions(errstate={"all": state}), "compile": lambda _: fast}
        require_equal(fn, copies_of(BAD), variants=[copies_of(np.ones(6))], **options)


def test_error_callbacks_are_called(compiler: Compile, backend: str) -> None:
    log: list[Any] = []

    class Log:
        def write(self, text: str) -> None:
            log.append(text)

    for state, target in (("call", lambda kind, flag: log.append((kind, flag))), ("log", Log())):
        require_equal(
            several,
            copies_of(BAD),
            conditions=Conditions(errstate={"all": state, "call": target}, reset=log.clear, state=lambda: list(log)),
            compile=compiler,
            compile_options={"backend": backend},
        )
    assert log


def inside_ignore(x: Any) -> Any:
    with np.errstate(all="ignore"):
        y = 1.0 / x
    return y + 1.0 / x


def inside_raise(x: Any) -> Any:
    y = x + 1.0
    try:
        with np.errstate(divide="raise"):
            x += 1.0
            y = y / (x - 1.0)
    except FloatingPointError as error:
        return y, str(error)
    return y


def inside_decorated(x: Any) -> Any:
    return np.errstate(all="ignore")(divides)(x)


def sets_state(x: Any) -> Any:
    old = np.seterr(divide="ignore")
    y = 1.0 / x
    np.seterr(**old)
    return y + 1.0 / x


@pytest.mark.parametrize("fn", [inside_ignore, inside_raise, inside_decorated, sets_state], ids=lambda fn: fn.__name__)
def test_error_states_inside_the_function(fn: Any, backend: str, compiler: Compile) -> None:
    for state in STATES:
        require_equal(
            fn,
            copies_of(BAD),
            variants=[copies_of(np.ones(6))],
            conditions=Conditions(errstate={"all": state}),
            compile=compiler,
            compile_options={"backend": backend},
        )


FILTERS = [("error", RuntimeWarning), ("once", RuntimeWarning), ("ignore", RuntimeWarning), ("default", Warning)]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_warning_filters(fn: Any, backend: str, compiler: Compile) -> None:
    for row in FILTERS:
        require_equal(
            fn,
            copies_of(BAD),
            variants=[copies_of(np.ones(6))],
            conditions=Conditions(filters=(row,)),
            compile=compiler,
            compile_options={"backend": backend},
            name=f"{fn.__name__} {row[0]}",
        )


def halfway(x: Any, y: Any) -> Any:
    x += 1.0
    x[1:] *= 2.0
    y[...] = x
    z = x @ y[:-1]
    x[...] = 0.0
    return z


def halfway_in_loop(x: Any, y: Any) -> Any:
    for number in range(4):
        x += 1.0
        y[number] = x[number]
        x[number + 1] = y.reshape(-1, 2)[number, 0]
    return x


def halfway_in_helper(x: Any, y: Any) -> Any:
    x *= 3.0
    raiser(x, y)
    y += 1.0
    return y


def raiser(x: Any, y: Any) -> None:
    y -= x
    np.linalg.inv(y)
    x[...] = 9.0


def bad_store(x: Any, y: Any) -> Any:
    x += 1.0
    x[:2] = y
    return x


def bad_index(x: Any, y: Any) -> Any:
    x += 1.0
    y[0] = x[99]
    return y


def bad_cast(x: Any, y: Any) -> Any:
    n = np.arange(3)
    x += 1.0
    n += x[:3]
    return n


def bad_axis(x: Any, y: Any) -> Any:
    x += 1.0
    return x.sum(axis=3)


def divides_halfway(x: Any, y: Any) -> Any:
    x += 1.0
    y /= 0.0
    x += 1.0
    return x


def chained(x: Any, y: Any) -> Any:
    try:
        x += 1.0
        return x @ y[:-1]
    except ValueError as error:
        y[...] = 5.0
        raise KeyError("outer") from error


def noted(x: Any, y: Any) -> Any:
    try:
        return x.reshape(7, 7)
    except ValueError as error:
        error.add_note(f"shape {x.shape}")
        raise


def finally_runs(x: Any, y: Any) -> Any:
    try:
        x += 1.0
        return x[99]
    finally:
        y *= 2.0


RAISING = (
    halfway,
    halfway_in_loop,
    halfway_in_helper,
    bad_store,
    bad_index,
    bad_cast,
    bad_axis,
    divides_halfway,
    chained,
    noted,
    finally_runs,
)


@pytest.mark.parametrize("fn", RAISING, ids=lambda fn: fn.__name__)
def test_exceptions_halfway(fn: Any, backend: str, compiler: Compile) -> None:
    for state, filters in itertools.product(("warn", "raise"), ((), (("error", RuntimeWarning),))):
        report = require_equal(
            fn,
            copies_of(np.arange(6.0), np.arange(6.0)),
            variants=[copies_of(np.arange(8.0), np.ones(8))],
            conditions=Conditions(errstate={"all": state}, filters=filters),
            compile=compiler,
            compile_options={"backend": backend},
        )
    assert report.raised


def fails_late(x: Any, y: Any) -> Any:
    doubled = x * 2
    unused = [1, 2]  # noqa: F841
    for k in range(3):
        doubled = doubled + k
    return doubled + y


def test_a_traceback_shows_every_local(backend: str, compiler: Compile) -> None:
    fast = compiler(fails_late, backend=backend)

    def shown(fn: Any) -> dict[str, str]:
        with pytest.raises(ValueError, match="broadcast") as caught:
            fn(np.ones(2), np.ones(3))
        frame = caught.tb
        while frame.tb_next is not None:
            frame = frame.tb_next
        return {name: repr(value) for name, value in frame.tb_frame.f_locals.items()}

    for _ in range(3):
        assert shown(fast) == shown(fails_late)


# functions that the compiler itself calls are replaced


def of_functions(x: Any, n: int) -> Any:
    y = np.concatenate([x, x[::-1]]) * n
    total = 0.0
    for i in range(n):
        total += y[i] + len(y)
    return y.reshape(2, -1).mean(axis=0), np.where(y > 2.0, y, 0.0).max(), total, math.sqrt(n), min(n, 3)


@pytest.mark.parametrize(
    "name",
    [
        *("builtins.len", "builtins.isinstance", "builtins.sorted", "builtins.id", "time.perf_counter"),
        *("time.thread_time", "numpy.asarray", "numpy.zeros", "numpy.add", "numpy.result_type", "math.copysign"),
    ],
)
def test_the_compiler_calls_nothing_that_is_replaced(name: str, backend: str, compiler: Compile) -> None:
    module, attribute = name.split(".")
    real = getattr(importlib.import_module(module), attribute)
    log: list[str] = []

    def counted(*args: Any, **more: Any) -> Any:
        log.append(name)
        return real(*args, **more)

    def calls(function: Any) -> list[str]:
        log.clear()
        with mock.patch(name, counted):
            before = len(log)
            for n in (4, 5, 4):
                function(np.arange(6.0), n)
            return log[before:]

    fast = compiler(of_functions, backend=backend, options={"cost_model": False})
    plain = calls(of_functions)
    assert calls(fast) == plain
    if module != "time":
        assert {record.id for record in fast.explain().skips} == {"replaced"}
    require_equal(fast, lambda: (np.arange(6.0), 4), compile=lambda f, **_: f, plain=of_functions)
    assert fast.stats()["native_calls"]


def compares(v: Any) -> Any:
    for i in range(4):
        if v + i > math.nan:
            v += 1.0
    return np.sqrt(v + 1.0)


def test_compiling_leaves_no_flags_for_the_ufunc_around_it(backend: str, compiler: Compile) -> None:
    """Plainly NumPy's last function clears what the comparisons set; the compiler compares with NaN, too."""
    for numbers in (np.arange(3.0), np.arange(3)):
        fast = compiler(compares, backend=backend)
        found, wanted = (np.frompyfunc(fn, 1, 1)(numbers) for fn in (fast, compares))  # RuntimeWarnings are errors
        assert list(found) == list(wanted)

"""Backend "c": the same functions, tables and programs as on the default backend, by the system's C compiler.

Tests of kernels are those of the default backend with another compile_kernel; each kernel takes the compiler 50 ms and
more, so a share of them.
"""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.c import c_text
from dynamo_lite.backends.c import compile as compiling
from dynamo_lite.backends.c.compile import compile_kernel, compiler, try_out
from dynamo_lite.backends.kernels import functions, kept

import dynamo_lite
from dynamo_lite.errors import BackendError, BackendWarning
from dynamo_lite.schedule.steps import Kernel, KernelOp
from tests.backends import kernel_call, test_exact_ops
from tests.backends.kernel_call import run_kernel
from tests.backends.test_programs import check
from tests.fuzz.campaign import Campaign, run
from tests.oracle import Conditions, require_equal
from tests.program import test_evaluate
from tests.schedule.programs import PROGRAMS

try:
    try_out()
except BackendError as error:
    pytest.skip(str(error), allow_module_level=True)

OPTIONS = {"cost_model": False, "check": 1}
F8, BOOL = np.dtype("d"), np.dtype("?")


@pytest.fixture(autouse=True)
def by_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine code of kernels is this backend's."""
    monkeypatch.setattr(kernel_call, "compile_kernel", compile_kernel)
    monkeypatch.setattr(test_evaluate, "compile_kernel", compile_kernel)
    monkeypatch.setattr(test_evaluate, "function_of", lambda *given: functions.function_of(*given, None))


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "operands", "result"), [row for row in test_exact_ops.ROWS if row[1][0] in "dB"])
def test_bits(name: str, operands: str, result: str) -> None:
    test_exact_ops.test_bits(name, operands, result)


@pytest.mark.parametrize(("name", "operands", "result"), [row for row in test_exact_ops.ROWS if row[1][0] == "f"])
def test_flags(name: str, operands: str, result: str) -> None:
    test_exact_ops.test_flags_are_numpys(name, operands, result)


@pytest.mark.parametrize("casts", ("fd", "df", "db", "fH", "di", "dl", "fL", "d?", "?d", "bd", "Lf", "lf", "lb", "Bl"))
def test_casts(casts: str) -> None:
    test_exact_ops.test_casts(*casts)


@pytest.mark.parametrize("integers", ("Ii", "ll", "LB"))
def test_an_integer_that_was_a_float_is_out_of_range(integers: str) -> None:
    test_exact_ops.test_an_integer_that_was_a_float_is_out_of_range(*integers)


def test_the_sign_of_a_nan() -> None:
    test_exact_ops.test_nan_sign_survives_negation_before_addition()
    ops = (KernelOp("absolute", (0,), (F8,), (F8,)), KernelOp("multiply", (1, 1), (F8, F8), (F8,)))
    out = np.zeros(9)
    run_kernel(Kernel((F8,), ops, (2,)), [np.full(9, -np.nan)], [out])
    assert not np.signbit(out).any()


@pytest.mark.parametrize("n", (1, 3, 40))
def test_what_is_not_chosen_reports(n: int) -> None:
    """A choice computes both arms for all elements, also where that is made of masks or jumps."""
    less = KernelOp("less", (0, 1), (F8, F8), (BOOL,))
    quotient = KernelOp("divide", (0, 2), (F8, F8), (F8,))
    for arms in ((4, 1), (1, 4)):
        choice = KernelOp("where", (3, *arms), (BOOL, F8, F8), (F8,))
        kernel = Kernel((F8, F8, F8), (less, quotient, choice), (5,))
        for y in (0.5, 2.0):
            operands = [np.ones(n), np.full(n, y), np.zeros(n)]
            assert run_kernel(kernel, operands, [np.zeros(n)]) == {"divide"}


@pytest.mark.parametrize("n", (1, 40))
def test_what_nobody_needs_reports(n: int) -> None:
    quotient = KernelOp("divide", (0, 1), (F8, F8), (F8,))
    kernel = Kernel((F8, F8), (quotient, KernelOp("add", (0, 0), (F8, F8), (F8,))), (3,))
    assert run_kernel(kernel, [np.ones(n), np.zeros(n)], [np.zeros(n)]) == {"divide"}


@pytest.mark.parametrize("name", ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
def test_comparisons_are_quiet(name: str) -> None:
    kernel = Kernel((F8, F8), (KernelOp(name, (0, 1), (F8, F8), (BOOL,)),), (2,))
    for n in (1, 100):
        assert not run_kernel(kernel, [np.full(n, np.nan), np.ones(n)], [np.zeros(n, bool)])


@pytest.mark.parametrize("seed", range(0, 100, 4))
def test_functions(seed: int) -> None:
    """What evaluate.py says: bits, flags and statuses."""
    test_evaluate.test_of_elements(seed)
    test_evaluate.test_of_rows(seed)


@pytest.mark.parametrize("n", (1, 5, 70))
def test_iterations(n: int) -> None:
    for loop in (False, True):
        test_evaluate.test_of_iterations(n, loop)


@pytest.mark.parametrize("letter", "cs")
@pytest.mark.parametrize(("fold", "dtype"), [(np.add, "d"), (np.maximum, "d"), (np.minimum, "l")])
def test_folds(fold: np.ufunc, dtype: str, letter: str) -> None:
    for n in (1, 70):
        test_evaluate.test_of_folds(n, fold, dtype, letter)


# -- programs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROGRAMS)[::3])
def test_programs(name: str) -> None:
    check("c", *PROGRAMS[name])


def recurrence(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(1, n):
        x[i] = x[i - 1] * 0.5 + x[i]
        if x[i] > 0.6:
            total = total + np.sqrt(x[i]) / (x[i] - 0.25)
    return total


def matrices(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        y = y * 0.5 + x[i % len(x)]
    return y


def quotients(x: Any, n: int) -> Any:
    last = x[0]
    for i in range(n):
        unused = x[i] / x[n - 1 - i]
        last = np.where(unused < 1.0, last, x[i])
    return last


@pytest.mark.parametrize("errors", ("ignore", "warn", "raise"))
@pytest.mark.parametrize("fn", (recurrence, matrices, quotients))
def test_loops(fn: Any, errors: str) -> None:
    values = np.random.default_rng(1).random(60)
    zeros = np.where(values < 0.1, 0.0, values)
    require_equal(
        fn, lambda: (values.copy(), 50), variants=[lambda: (zeros.copy(), 50), lambda: (zeros * np.nan, 3)],
        compile=dynamo_lite.compile, compile_options={"backend": "c", "options": OPTIONS},
        conditions=Conditions({"all": errors}),
    )  # fmt: skip


def test_loops_are_compiled_whole() -> None:
    fast = dynamo_lite.compile(recurrence, backend="c", options=OPTIONS)
    assert fast(np.full(60, 0.5), 50) == recurrence(np.full(60, 0.5), 50)
    assert ": native" in str(fast.explain()) and fast.stats()["native_calls"] == 1


def test_random_programs() -> None:
    summary = run(Campaign("c", 20, 3, small=True), 2)
    assert not summary.found, "\n".join([str(summary), *(found.text for found in summary.found)])
    assert summary.share("native") > 0.5, summary


# -- the compiler ----------------------------------------------------------------------------------


def sums(x: Any) -> Any:
    return np.sqrt(x * x + 1.0) * 2.0 - x


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing is compiled yet, and the compiler is looked for again."""
    monkeypatch.setattr(compiling, "_KEPT", kept.Kept())
    for one in (compiler, try_out):
        one.cache_clear()
    yield
    for one in (compiler, try_out):
        one.cache_clear()


def test_without_a_compiler_it_runs_plainly(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    fast = dynamo_lite.compile(sums, backend="c", options={"cost_model": False})
    x = np.arange(100.0)
    with pytest.warns(BackendWarning, match="there is no C compiler 'no-such-compiler'"):
        assert (fast(x) == sums(x)).all()
    assert fast.stats()["plain_calls"] == 1


def test_a_compiler_that_fails(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    fast = dynamo_lite.compile(sums, backend="c", options={"cost_model": False})
    x = np.arange(100.0)
    with pytest.warns(BackendWarning, match="false failed"):
        assert (fast(x) == sums(x)).all()
    assert fast.stats()["plain_calls"] == 1


def test_a_kernel_that_does_not_compile(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    try_out()
    monkeypatch.setattr(compiling, "emit", lambda *given: "nonsense")
    fast = dynamo_lite.compile(sums, backend="c", options={"cost_model": False})
    x = np.arange(100.0)
    for calls in (1, 2):
        assert (fast(x) == sums(x)).all()
        assert fast.stats()["declines"] == calls and fast.stats()["plain_calls"] == calls


@pytest.mark.parametrize("lost", (["-ffast-math"], ["-fno-trapping-math", "-ftree-sink", "-ftree-ter", "-O2"]))
def test_code_that_loses_flags_is_refused(fresh: None, monkeypatch: pytest.MonkeyPatch, lost: list[str]) -> None:
    monkeypatch.setattr(compiling, "FLAGS", [*compiling.FLAGS, *lost])
    monkeypatch.setattr(c_text.Lines, "choose", lambda self, mask, dtype, arms, _: self.select(mask, dtype, *arms))
    with pytest.raises(BackendError, match="other floating-point flags"):
        try_out()
    assert np.array([5e-324])[0] * 1.0 > 0.0 and (np.full(9, 5e-324) * 1.0 > 0.0).all()  # subnormal numbers are kept


def test_machine_code_goes_with_its_last_program(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LATEST", 1)
    kernels = [test_evaluate.random_kernel(random.Random(seed), loops=False) for seed in (1, 2)]
    places = [len(one.operand_dtypes) + len(one.results) for one in kernels]
    code = [weakref.ref(compile_kernel(one, "c" * n).keep[0]) for one, n in zip(kernels, places, strict=True)]
    gc.collect()
    assert [each() is None for each in code] == [True, False]

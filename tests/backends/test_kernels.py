"""Whole kernels against the same operations by NumPy: tiles, NumPy loops, scratch, several results, in place."""

from __future__ import annotations

import gc
import itertools
import os
import resource
import signal
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels import kept
from dynamo_lite.backends.kernels.loops import same_values
from dynamo_lite.backends.numba import compile as compiling
from dynamo_lite.backends.numba.compile import _STATE, assembly, compile_kernel
from dynamo_lite.backends.numba.functions import function_of

import dynamo_lite
from dynamo_lite.program import ir
from dynamo_lite.program.element_ops import is_exact
from dynamo_lite.schedule.steps import Kernel, KernelOp
from tests.backends.kernel_call import run_kernel

Array = np.ndarray[Any, Any]
F8 = np.dtype(np.float64)
SIZES = (0, 1, 2, 7, 8, 9, 63, 255, 256, 257, 1023, 1024, 1025, 3001)


class Builder:
    """Builds a Kernel op by op, choosing the compiled form or NumPy's loop as the scheduler does."""

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = list(map(np.dtype, dtypes))
        self.n_operands = len(dtypes)
        self.ops: list[KernelOp] = []

    def add(self, name: str, *operands: int, to: str = "") -> int:
        ins = tuple(self.dtypes[value] for value in operands)
        if name == "cast":
            outs: tuple[Any, ...] = (np.dtype(to),)
        elif name == "where":
            outs = (ins[1],)
        else:
            ufunc = getattr(np, name)
            outs = tuple(ufunc.resolve_dtypes((*ins, *[None] * ufunc.nout)))[ufunc.nin :]
        if is_exact(name, ins, outs):
            op = KernelOp(name, operands, ins, outs)
        else:
            op = KernelOp("loop", operands, ins, outs, getattr(np, name))
        self.ops.append(op)
        self.dtypes += list(outs)
        return len(self.dtypes) - len(outs)

    def kernel(self, *results: int) -> Kernel:
        return Kernel(tuple(self.dtypes[: self.n_operands]), tuple(self.ops), results)


def by_numpy(kernel: Kernel, operands: list[Array]) -> list[Array]:
    """What the kernel means: each op by NumPy on whole arrays."""
    values: list[Any] = list(operands)
    for op in kernel.ops:
        arguments = [values[value] for value in op.operands]
        if op.op == "const":
            values.append(np.asarray(op.param, op.dtypes[0]))
            continue
        if op.op == "cast":
            result: Any = arguments[0].astype(op.dtypes[0])
        elif op.op == "where":
            result = np.where(*arguments)
        else:
            result = (op.param if op.op == "loop" else getattr(np, op.op))(*arguments)
        values += list(result) if isinstance(result, tuple) else [result]
    return [values[value] for value in kernel.results]


def check(kernel: Kernel, operands: list[Array], n: int) -> None:
    """Run the kernel and compare with NumPy; the byte after each result must stay."""
    with np.errstate(all="ignore"):
        expected = [np.broadcast_to(array, (n,)) for array in by_numpy(kernel, operands)]
    results = [np.full(n + 1, 77, array.dtype) for array in expected]
    before = [array.copy() for array in operands]
    if n:
        run_kernel(kernel, operands, [array[:n] for array in results])
    for result, wanted in zip(results, expected, strict=True):
        assert same_values(result[:n], wanted)
        assert result[n] == np.array(77).astype(result.dtype)
    for operand, copy in zip(operands, before, strict=True):
        assert operand.tobytes() == copy.tobytes()


def gauss() -> Kernel:
    b = Builder("d", "d", "d")
    return b.kernel(b.add("add", b.add("multiply", b.add("exp", b.add("multiply", b.add("negative", 0), 0)), 1), 2))


@pytest.mark.parametrize("n", SIZES)
def test_gauss(n: int) -> None:
    x = np.random.default_rng(1).standard_normal(2 * n + 2)
    for array in (x[:n], x[: 2 * n : 2], x[n:0:-1]):
        check(gauss(), [array[:n], np.array(2.0), np.array(1.0)], n)


def test_without_loops_there_is_no_tile() -> None:
    b = Builder("d", "d")
    function = function_of(b.kernel(b.add("multiply", b.add("add", 0, 1), 1)), "ccc")
    (loop,) = function.body
    assert isinstance(loop, ir.For) and not function.loops
    assert not any(isinstance(node, ir.For | ir.Tiles | ir.Alloc) for node in loop.body)


def test_several_results_and_loops() -> None:
    b = Builder("d", "d")
    e = b.add("exp", 0)
    s = b.add("add", e, 1)
    t = b.add("tanh", s)
    m = b.add("multiply", t, 0)
    less = b.add("less", m, 1)
    w = b.add("where", less, m, e)
    kernel = b.kernel(e, s, w, less, 0, w)
    for n in SIZES:
        rng = np.random.default_rng(n)
        check(kernel, [rng.standard_normal(n), rng.standard_normal(n)], n)


def test_two_result_loops() -> None:
    b = Builder("d")
    fraction = b.add("modf", 0)
    kernel = b.kernel(b.add("add", fraction, fraction + 1), fraction)
    check(kernel, [np.linspace(-5, 5, 1500)], 1500)
    b = Builder("d", "d")
    b.add("divmod", 0, 1)
    check(b.kernel(2), [np.linspace(-5, 5, 1500), np.full(1500, 0.7)], 1500)


def test_in_place_results() -> None:
    """A result may be an operand's own memory: nothing reads that operand after it is written."""
    b = Builder("d", "d")
    e = b.add("exp", 0)
    kernel = b.kernel(e, b.add("multiply", b.add("log1p", e), 0))
    x = np.linspace(-1, 1, 2500)
    y = x[::-1].copy()
    expected = by_numpy(kernel, [x.copy(), y.copy()])
    run_kernel(kernel, [x, y], [x, y])
    assert same_values(x, expected[0]) and same_values(y, expected[1])
    swap = Builder("d", "d").kernel(1, 0)
    a, c = np.arange(9.0), np.arange(9.0) * 2
    run_kernel(swap, [a, c], [a, c])
    assert (a == np.arange(9.0) * 2).all() and (c == np.arange(9.0)).all()


def test_constants_in_the_kernel() -> None:
    f8 = (F8,)
    kernel = Kernel(
        (F8,),
        (
            KernelOp("const", (), (), f8, 3.0),
            KernelOp("loop", (0, 1), (F8, F8), f8, np.arctan2),
            KernelOp("add", (2, 1), (F8, F8), f8),
        ),
        (3, 1),
    )
    check(kernel, [np.linspace(-4, 4, 1025)], 1025)


def test_unused_operations_keep_their_flags() -> None:
    b = Builder("d")
    b.add("reciprocal", 0)
    kernel = b.kernel(b.add("exp", 0))
    zeros = np.zeros(40)
    assert "divide" in run_kernel(kernel, [zeros], [np.empty(40)])
    assert not run_kernel(kernel, [zeros + 1], [np.empty(40)])
    b = Builder("d")
    b.add("divide", 0, 0)
    assert run_kernel(b.kernel(), [zeros], []) == {"invalid"}


def test_mixed_dtypes_and_complex_values() -> None:
    b = Builder("i", "f", "?", "D")
    wide = b.add("cast", 0, to="d")
    also = b.add("cast", 1, to="d")
    chosen = b.add("where", 2, wide, also)
    square = b.add("multiply", 3, 3)
    kernel = b.kernel(chosen, b.add("sin", chosen), square, b.add("absolute", square))
    n = 1100
    rng = np.random.default_rng(3)
    check(
        kernel,
        [
            rng.integers(-100, 100, n).astype("i"),
            rng.random(n).astype("f"),
            rng.random(n) < 0.5,
            rng.random(n) + 1j * rng.random(n),
        ],
        n,
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = Builder("d", "d", "f", "l")
    floats = [0, 1, b.add("cast", 2, to="d"), b.add("cast", 3, to="d")]
    masks: list[int] = []
    for _ in range(int(rng.integers(3, 40))):
        kind = rng.random()
        if kind < 0.2:
            masks.append(b.add(str(rng.choice(["less", "equal", "greater_equal"])), *map(int, rng.choice(floats, 2))))
        elif kind < 0.3 and masks:
            floats.append(b.add("where", int(rng.choice(masks)), *map(int, rng.choice(floats, 2))))
        elif kind < 0.5:
            name = str(rng.choice(["exp", "sin", "cbrt", "tanh", "floor", "negative", "sqrt"]))
            floats.append(b.add(name, int(rng.choice(floats))))
        else:
            name = str(rng.choice(["add", "subtract", "multiply", "divide", "maximum", "hypot"]))
            floats.append(b.add(name, *map(int, rng.choice(floats, 2))))
    results = [int(value) for value in rng.choice(floats, 3)] + masks[:1]
    n = int(rng.integers(1, 2600))
    step = int(rng.choice([1, 2, -1]))
    operands = [
        np.repeat(rng.standard_normal(n), abs(step))[::step],
        rng.standard_normal(n) if seed % 3 else np.array(rng.standard_normal()),
        rng.standard_normal(n).astype("f"),
        rng.integers(-5, 5, n),
    ]
    check(b.kernel(*results), operands, n)


def test_equal_kernels_are_compiled_once() -> None:
    assert compile_kernel(gauss(), "c00c") is compile_kernel(gauss(), "c00c")
    assert compile_kernel(gauss(), "c00c") is not compile_kernel(gauss(), "s00c")


def test_arithmetic_is_packed_and_never_contracted() -> None:
    b = Builder("d", "d")
    text = assembly(b.kernel(b.add("add", b.add("multiply", 0, 1), 1)), "ccc")
    assert "mulpd" in text and "addpd" in text and "fmadd" not in text


def test_loops_in_block_order() -> None:
    b = Builder("d")
    kernel = b.kernel(b.add("cos", b.add("exp", 0)))
    compiled = compile_kernel(kernel, "cc")
    assert compiled.loops == ((np.exp, (F8, F8)), (np.cos, (F8, F8)))
    assert [loop.ufunc for loop in compiled.keep[1].loops] == [np.exp, np.cos]


def test_threads_share_one_compilation() -> None:
    b = Builder("d", "d")
    kernel = b.kernel(b.add("subtract", b.add("multiply", 0, 1), b.add("cbrt", 1)))
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(id(compile_kernel(kernel, "ccs")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def different(number: int) -> Kernel:
    """A kernel that no other test has."""
    ops = (
        KernelOp("const", (), (), (F8,), np.float64(number)),
        KernelOp("add", (0, 1), (F8, F8), (F8,)),
    )
    return Kernel((F8,), ops, (2,))


def test_children_forked_while_other_threads_compile_compile() -> None:
    """Neither our lock nor llvmlite's is held in a child by a thread that is not there."""
    ended, numbers = threading.Event(), itertools.count(1000)

    def compile_on() -> None:
        while not ended.is_set():
            compile_kernel(different(next(numbers)), "cc")

    threads = [threading.Thread(target=compile_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for number in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of os.fork beside threads
            child = os.fork()
        if child == 0:
            signal.alarm(60)
            compile_kernel(different(number), "cc")
            os._exit(0)
        codes.append(os.waitpid(child, 0)[1])
    ended.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 10


def test_a_fork_in_the_midst_of_a_compilation() -> None:
    """By a signal's handler, say, which runs in the thread that compiles."""
    with _STATE.lock:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            compile_kernel(different(50), "cc")
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    compile_kernel(different(51), "cc")


def test_machine_code_goes_with_its_last_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that no program has are kept up to a number, and the memory of the others is freed."""
    monkeypatch.setattr(kept, "LATEST", 8)
    monkeypatch.setattr(compiling, "TOGETHER", 4)
    kernels = [different(10_000 + number) for number in range(24)]
    code = [weakref.ref(compile_kernel(kernel, "cc").keep[0]) for kernel in kernels]
    gc.collect()
    assert len(_STATE.latest) == 8 and (kernels[-9], "cc") not in _STATE.made and (kernels[-8], "cc") in _STATE.made
    assert all(each() is None for each in code[4:-12]) and all(each() is not None for each in code[-8:])


def test_too_little_address_space_is_an_error() -> None:
    """LLVM itself ends the process where it gets no memory."""
    child = os.fork()
    if child == 0:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + compiling.ROOM // 2, -1))
        try:
            compile_kernel(different(60), "cc")
        except MemoryError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


HOSTILE = {
    "d": [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e-308],
    "f": [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 1e-45, 3e38, -1e-38],
    "l": [0, 1, -1, 7, 2**63 - 1, -(2**63)],
    "i": [0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "B": [0, 1, 2, 200, 255],
    "?": [False, True],
}


def mixed(dtype: str) -> Kernel:
    """A few operations that may overflow, underflow, be invalid or divide by zero."""
    b = Builder(dtype, dtype)
    if dtype == "?":
        return b.kernel(b.add("logical_or", b.add("logical_and", 0, 1), b.add("logical_not", 1)))
    product, total = b.add("multiply", 0, 1), b.add("add", 0, 1)
    found = b.add("subtract", product, total)
    if dtype in "df":
        found = b.add("divide", found, b.add("sqrt", 1))
    return b.kernel(found, total, b.add("less", 0, found))


@pytest.mark.parametrize("dtype", HOSTILE)
def test_single_elements_are_made_quickly_to_the_same_bits_and_flags(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optimisation as with it, whether they last or not."""
    how: list[bool] = []
    load = compiling._Engine.load

    def noting(self: Any, text: str, name: str, quickly: bool = False) -> Any:
        how.extend([quickly] * name.startswith("kernel"))  # not what the tests themselves call kernels with
        return load(self, text, name, quickly)

    monkeypatch.setattr(compiling._Engine, "load", noting)
    kernel = mixed(dtype)
    values = [np.array(value, dtype) for value in HOSTILE[dtype]]
    engine = _STATE.start()
    found = []
    for machine in (engine.quick, engine.machine):
        monkeypatch.setattr(engine, "quick", machine)
        _STATE.made.clear()
        _STATE.latest.clear()
        rows = []
        for n in (1, 9):
            for operands in itertools.product(values, repeat=2):
                check(kernel, list(operands), n)
                results = [np.zeros(n, one) for one in (dtype, dtype, "?")[: len(kernel.results)]]
                flags = run_kernel(kernel, list(operands), results)
                rows.append((flags, [one.tobytes() for one in results]))
        found.append(rows)
    assert found[0] == found[1]
    assert how and all(how)
    how.clear()
    check(kernel, [values[1], np.array(HOSTILE[dtype], dtype)], len(values))  # optimised, too (run_kernel)
    check(Kernel((np.dtype(dtype),), (), (0,)), [values[0]], 5)
    assert how.count(False) == how.count(True) > 0


def test_machine_code_has_no_unwind_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's unwinder would be told of each, and again when it goes."""
    written: list[str] = []
    load = compiling._Engine.load

    def noting(self: Any, text: str, *how: Any) -> Any:
        written.append(text)
        return load(self, text, *how)

    def loop(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total += x[i] * 1.375 if x[i] > 0.25 else -x[i]
        return total, np.sqrt(x) * 0.71875 + x

    monkeypatch.setattr(compiling._Engine, "load", noting)
    x = np.linspace(0.0, 1.0, 40)
    assert dynamo_lite.compile(loop, options={"cost_model": False})(x, 40)[0] == loop(x, 40)[0]
    engine = _STATE.start()
    assert len(written) > 1
    assert not any(b".eh_frame" in engine.machine.emit_object(engine.module(text)) for text in written)

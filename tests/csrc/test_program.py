"""Programs: each kind of step against plain NumPy, declining without a trace, and what runs must not leave behind."""

from __future__ import annotations

import gc
import operator
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite import _C
from dynamo_lite._C import Declined, Program, abi
from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Kernel,
    KernelOp,
    Map,
    Reg,
    Require,
    Save,
    Schedule,
    Step,
    View,
)

F8, F4, F2, I8, I4, C16, B1 = map(np.dtype, ("f8", "f4", "f2", "i8", "i4", "c16", "?"))
S0, S1 = Symbol("s0", "int", 0, 0), Symbol("s1", "int", 0, 1)
ADD = Kernel((F8, F8), (KernelOp("add", (0, 1), (F8, F8), (F8,)),), (2,))
SCALE = Kernel(
    (F8, F8, F8),
    (KernelOp("multiply", (0, 1), (F8, F8), (F8,)), KernelOp("add", (3, 2), (F8, F8), (F8,))),
    (4,),
)
DIVIDE = Kernel((F8, F8), (KernelOp("divide", (0, 1), (F8, F8), (F8,)),), (2,))
COPY = Kernel((F8,), (), (0,))


def program(
    steps: list[Step],
    outputs: tuple[Any, ...],
    n_inputs: int = 1,
    n_registers: int = 12,
    written: tuple[int, ...] = (),
    constants: tuple[tuple[int, Any], ...] = (),
) -> Program:
    schedule = Schedule(n_inputs, n_registers, (), constants, tuple(steps), outputs, written)
    return Program(schedule, compile_kernel)


def program_of_sizes(steps: list[Step], outputs: tuple[Any, ...]) -> Program:
    """A program of one matrix, whose sizes are S0 and S1."""
    return Program(Schedule(1, 12, (S0, S1), (), tuple(steps), outputs, ()), compile_kernel)


def fresh(kernel: Kernel, operands: tuple[Any, ...], shape: tuple[Any, ...], dst: int) -> Map:
    return Map(kernel, operands, shape, (dst,), (False,), (False,))


def into(kernel: Kernel, operands: tuple[Any, ...], shape: tuple[Any, ...], dst: int) -> Map:
    return Map(kernel, operands, shape, (dst,), (True,), (False,))


def same_geometry(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if isinstance(got, np.ndarray):
        assert got.strides == expected.strides
        assert got.ctypes.data == expected.ctypes.data or got.size == 0
        assert got.flags.writeable == expected.flags.writeable
        assert got.flags.c_contiguous == expected.flags.c_contiguous
        assert got.flags.f_contiguous == expected.flags.f_contiguous
        assert got.base is expected.base
    assert got.tobytes() == expected.tobytes()


# ---- views


def random_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A basic index as View writes it: slices are triples."""
    items: list[Any] = []
    for size in shape:
        if rng.random() < 0.2:
            items.append(None)
        if rng.random() < 0.1:
            break
        if size and rng.random() < 0.3:
            items.append(rng.randrange(-size, size))
        else:
            bound: list[Any] = [None, *range(-size - 2, size + 3)]
            items.append((rng.choice(bound), rng.choice(bound), rng.choice((None, 1, 1, 2, 3, -1, -2, 7, -9))))
    return tuple(items)


def test_basic_indexing() -> None:
    """Strides, flags, base and memory are those of NumPy's own view."""
    rng = random.Random(1)
    for _ in range(3000):
        shape = tuple(rng.choice((0, 1, 2, 3, 5, 6)) for _ in range(rng.randrange(1, 4)))
        x = np.arange(float(np.prod(shape))).reshape(shape)
        if rng.random() < 0.3:
            x = x.T
        x.flags.writeable = rng.random() < 0.8
        index = random_index(rng, x.shape)
        key = tuple(slice(*item) if isinstance(item, tuple) else item for item in index)
        expected = x[(*key, ...)]
        run = program([View(1, 0, "basic_index", index)], (Reg(1),))
        same_geometry(run(x)[0], expected)
        if expected.ndim == 0:
            same_geometry(program([View(1, 0, "basic_index", index, True)], (Reg(1),))(x)[0], x[key])


def test_symbolic_index_and_range() -> None:
    """Bounds may depend on sizes; an integer out of range declines."""
    last = ScalarOp("sub", "int", (S0, 1))
    run = program([View(1, 0, "basic_index", ((1, last, None),))], (Reg(1),))
    for n in (0, 1, 2, 9):
        x = np.arange(float(n))
        same_geometry(run(x)[0], x[1 : n - 1])
    k = Symbol("k", "int", 1)
    pick = program([View(2, 0, "basic_index", (k,), True)], (Reg(2),), n_inputs=2)
    x = np.arange(4.0)
    assert pick(x, -4)[0] == 0.0 and pick(x, 3)[0] == 3.0
    for outside in (4, -5, 2**63 - 1, -(2**63)):
        with pytest.raises(Declined, match="index"):
            pick(x, outside)
    with pytest.raises(Declined, match="not of the kind"):
        pick(x, 2**63)


def test_transpose_and_broadcast_and_parts() -> None:
    """The other views."""
    x = np.arange(24.0).reshape(2, 3, 4)
    for axes in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)):
        same_geometry(program([View(1, 0, "transpose", axes)], (Reg(1),))(x)[0], x.transpose(axes))
    for small, shape in (
        ((3,), (4, 3)),
        ((3, 1), (3, 5)),
        ((), (2, 2)),
        ((1, 1), (1, 1)),
        ((1, 3), (0, 3)),
        ((0, 1), (0, 4)),
    ):
        y = np.ones(small)
        got, expected = program([View(1, 0, "broadcast_to", shape)], (Reg(1),))(y)[0], np.broadcast_to(y, shape)
        assert got.strides == expected.strides and got.shape == shape and not got.flags.writeable
        assert np.shares_memory(got, y) or got.size == 0
    with pytest.raises(Declined):
        program([View(1, 0, "broadcast_to", (4, 2))], (Reg(1),))(np.ones(3))
    z = np.arange(6.0).reshape(2, 3) * (1 + 2j)
    for kind in ("real", "imag"):
        for array in (z, z.T, z[:, ::2], z.astype(np.complex64)):
            same_geometry(program([View(1, 0, kind, ())], (Reg(1),))(array)[0], getattr(array, kind))
    assert program([View(1, 0, "real", ())], (Reg(1),))(x)[0] is x


def test_reshape() -> None:
    """A reshape is a view where NumPy makes one, with its strides, and declines where NumPy copies."""
    rng = random.Random(2)
    viewed = copied = 0
    for _ in range(3000):
        shape = tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(rng.randrange(5)))
        x = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
        if rng.random() < 0.5:
            x = x.transpose(rng.sample(range(x.ndim), x.ndim))
        if rng.random() < 0.5:
            cuts = (slice(None), slice(None, None, 2), slice(None, None, -1), slice(1))
            x = x[(*(rng.choice(cuts) for _ in x.shape), ...)]
        factors = [f for f in (2, 2, 2, 3, 3, 4) if rng.random() < 0.5]
        target = [rng.choice((1, *factors)) for _ in range(rng.randrange(5))] if rng.random() < 0.3 else []
        rest = x.size
        for size in list(target):
            if size and rest % size == 0:
                rest //= size
            else:
                target.remove(size)
        target.insert(rng.randrange(len(target) + 1), rest)
        for _ in range(rng.randrange(3)):
            target.insert(rng.randrange(len(target) + 1), 1)
        if rng.random() < 0.2 and x.size:
            target[rng.randrange(len(target))] = -1
            if np.prod([s for s in target if s != -1], dtype=int) == 0:
                continue
        run = program([View(1, 0, "reshape", tuple(target))], (Reg(1),))
        try:
            expected = np.reshape(x, target, copy=False)
        except ValueError:
            with pytest.raises(Declined):
                run(x)
            copied += 1
            continue
        same_geometry(run(x)[0], expected)
        viewed += 1
    assert viewed > 1000 and copied > 150


def test_views_of_views_share_as_numpy_does() -> None:
    """The base of a view is the owner of the memory; a view keeps it alive."""
    steps = [View(1, 0, "basic_index", ((1, None, None),)), View(2, 1, "transpose", (1, 0))]
    x = np.arange(12.0).reshape(4, 3).copy()
    one, two = program(list(steps), (Reg(1), Reg(2)))(x)
    assert one.base is x and two.base is x and np.shares_memory(one, two)
    view = x[1:]
    assert program(list(steps), (Reg(2),))(view)[0].base is x
    made = program([fresh(SCALE, (Reg(0), 2.0, 1.0), (S0, S1), 1), View(2, 1, "transpose", (1, 0))], (Reg(2),))
    (result,) = made(x)
    assert result.base is not None and result.base.tobytes() == (x * 2 + 1).tobytes()
    gc.collect()
    assert result.tobytes() == (x * 2 + 1).T.tobytes()


# ---- maps


def test_scalars_and_numbers_as_operands() -> None:
    """NumPy scalars and Python numbers are converted once; one that does not fit declines."""
    k = Symbol("k", "int", 1)
    f = Symbol("f", "float", 1)
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        d = np.dtype(dtype)
        kernel = Kernel((d, d), (KernelOp("add", (0, 1), (d, d), (d,)),), (2,))
        run = program([fresh(kernel, (Reg(0), k), (S0,), 2)], (Reg(2),), n_inputs=2)
        x = np.arange(5, dtype=d)
        info = np.iinfo(d)
        for number in (0, 1, -1, info.max, info.min, info.max + 1, info.min - 1, 2**63 - 1, -(2**63)):
            try:
                expected = x + number
            except OverflowError:
                with pytest.raises(Declined):
                    run(x, number)
                continue
            if -(2**63) <= number < 2**63:
                assert run(x, number)[0].tobytes() == expected.tobytes()
    for dtype in ("f2", "f4", "f8", "c8", "c16"):
        d = np.dtype(dtype)
        kernel = Kernel((d,), (), (0,))
        for symbol, numbers in (
            (k, (0, 1, -7, 2**53 + 1, 2**62)),
            (f, (0.0, -0.0, 0.1, 1e-310, float("inf"), float("nan"))),
        ):
            run = program([fresh(kernel, (symbol,), (3,), 2)], (Reg(2),), n_inputs=2)
            for number in numbers:
                if dtype == "f2" and abs(number) > 65504 and number != float("inf"):
                    with pytest.raises(Declined):
                        run(0, number)
                    continue
                assert run(0, number)[0].tobytes() == np.full(3, number, d).tobytes()
    single = program([fresh(Kernel((F4,), (), (0,)), (f,), (3,), 2)], (Reg(2),), n_inputs=2)
    with pytest.raises(Declined, match="does not fit"):
        single(0, 1e300)
    assert program([fresh(Kernel((F4,), (), (0,)), (1e300,), (3,), 2)], (Reg(2),)).last_decline is None
    with pytest.raises(Declined, match="does not fit"):
        program([fresh(Kernel((F4,), (), (0,)), (1e300,), (3,), 2)], (Reg(2),))(0)
    scale = program([fresh(ADD, (Reg(0), Reg(1)), (S0,), 2)], (Reg(2),), n_inputs=2)
    x = np.arange(4.0)
    assert scale(x, np.float64(0.5))[0].tobytes() == (x + 0.5).tobytes()
    for wrong in (np.float32(0.5), np.arange(4, dtype="f4"), "text", None, np.arange(4.0).astype(">f8")):
        with pytest.raises(Declined):
            scale(x, wrong)
    with pytest.raises(Declined, match="broadcast"):
        scale(x, np.arange(3.0))


def test_scalar_results() -> None:
    """A map over shape () hands out a NumPy scalar, which later steps read."""
    steps: list[Step] = [
        View(2, 0, "basic_index", (1,), True),
        Map(ADD, (Reg(2), Reg(1)), (), (3,), (False,), (True,)),
        fresh(ADD, (Reg(0), Reg(3)), (S0,), 4),
    ]
    x = np.arange(4.0)
    scalar, array = program(steps, (Reg(3), Reg(4)), n_inputs=2)(x, np.float64(10))
    assert type(scalar) is np.float64 and scalar == 11.0
    assert array.tobytes() == (x + 11).tobytes()
    zero_d = program([fresh(ADD, (Reg(0), Reg(0)), (), 1)], (Reg(1),))(np.array(3.0))[0]
    assert isinstance(zero_d, np.ndarray) and zero_d.shape == () and zero_d == 6.0


def test_stores() -> None:
    """Writing into views of inputs; shifted overlaps are read before they are written."""
    rng = random.Random(3)
    for _ in range(300):
        n = rng.randrange(2, 12)
        base = np.arange(float(n * n)).reshape(n, n)
        x = base.copy() if rng.random() < 0.5 else base.T.copy().T
        shifts = [rng.randrange(3) for _ in range(4)]
        a, b, c, d = (min(shift, n - 1) for shift in shifts)
        size = n - max(a, b, c, d)
        key_to = ((a, a + size, None), (b, b + size, None))
        key_from = ((c, c + size, None), (d, d + size, None))
        steps: list[Step] = [
            View(1, 0, "basic_index", key_to),
            View(2, 0, "basic_index", key_from),
            into(ADD, (Reg(1), Reg(2)), (size, size), 1),
        ]
        expected = x.copy()
        expected[a : a + size, b : b + size] += x[c : c + size, d : d + size]
        (returned,) = program(steps, (Reg(0),), written=(0,))(x)
        assert returned is x
        assert x.tobytes() == expected.tobytes()


def test_reversed_store() -> None:
    """x[:] = x[::-1] reads before it writes."""
    x = np.arange(100.0)
    steps: list[Step] = [View(1, 0, "basic_index", ((None, None, -1),)), into(COPY, (Reg(1),), (S0,), 0)]
    program(steps, (Reg(0),), written=(0,))(x)
    assert x.tobytes() == np.arange(100.0)[::-1].tobytes()


def test_what_cannot_be_written_declines() -> None:
    """Read-only targets, broadcast targets, targets of another shape, and two targets that overlap."""
    store = program([into(COPY, (1.0,), (S0,), 0)], (Reg(0),), written=(0,))
    x = np.zeros(4)
    x.flags.writeable = False
    with pytest.raises(Declined):
        store(x)
    with pytest.raises(Declined):
        store(np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)))
    wrong = program([into(COPY, (1.0,), (3,), 0)], (Reg(0),), written=(0,))
    with pytest.raises(Declined):
        wrong(np.zeros(4))
    two = Kernel((F8,), (), (0, 0))
    steps: list[Step] = [
        View(1, 0, "basic_index", ((0, 3, None),)),
        View(2, 0, "basic_index", ((1, 4, None),)),
        Map(two, (1.0,), (3,), (1, 2), (True, True), (False, False)),
    ]
    y = np.zeros(4)
    with pytest.raises(Declined, match="shares memory"):
        program(steps, (Reg(0),), written=(0,))(y)
    assert not y.any()


def test_an_empty_fresh_array_can_be_written() -> None:
    """NumPy gives it strides of zero."""
    zeros = Alloc(1, F8, (S0, S1), 0)
    run = program_of_sizes([zeros, Map(COPY, (Reg(0),), (S0, S1), (1,), (True,), (False,))], (Reg(1),))
    (result,) = run(np.ones((8, 0)))
    assert result.shape == (8, 0)
    assert np.array_equal(run(np.ones((2, 3)))[0], np.ones((2, 3)))


def test_inputs_that_overlap_decline() -> None:
    """A written input must not share memory with another one, unless it is that very object."""
    run = program([into(ADD, (Reg(0), Reg(1)), (S0,), 0)], (Reg(0),), n_inputs=2, written=(0,))
    x = np.arange(10.0)
    for other in (x[1:], x[:9], x[::-1][1:], x[2:8]):
        with pytest.raises(Declined, match="shares memory"):
            run(x[: len(other)], other)
    assert x.tobytes() == np.arange(10.0).tobytes()
    run(x[:5], x[5:])
    assert x[:5].tobytes() == (np.arange(5.0) + np.arange(5.0, 10.0)).tobytes()
    run(x, x)


def test_big_maps_release_the_gil_and_agree() -> None:
    """Above the threshold the kernel runs without the GIL, also from several threads at once."""
    run = program([fresh(SCALE, (Reg(0), 2.0, 1.0), (S0,), 1)], (Reg(1),))
    x = np.random.default_rng(0).random(300_000)
    expected = (x * 2.0 + 1.0).tobytes()
    results: list[bool] = []

    def work() -> None:
        results.extend(run(x)[0].tobytes() == expected for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


# ---- floating-point errors


def test_reported_errors_decline() -> None:
    """A flag that NumPy would report declines; an ignored one does not; the caller's state stays."""
    run = program([fresh(DIVIDE, (Reg(0), Reg(1)), (S0,), 2)], (Reg(2),), n_inputs=2)
    ones, zeros = np.ones(3), np.zeros(3)
    with pytest.raises(Declined, match="floating-point"):
        run(ones, zeros)
    with np.errstate(divide="ignore"):
        assert run(ones, zeros)[0].tobytes() == np.divide(ones, zeros).tobytes()
        with pytest.raises(Declined):
            run(zeros, zeros)
        with np.errstate(divide="print", invalid="ignore"):
            run(zeros, zeros)
            with pytest.raises(Declined):
                run(ones, zeros)
    tiny = np.full(3, 1e-300)
    multiply = Kernel((F8, F8), (KernelOp("multiply", (0, 1), (F8, F8), (F8,)),), (2,))
    under = program([fresh(multiply, (Reg(0), Reg(0)), (S0,), 1)], (Reg(1),))
    assert not under(tiny)[0].any()
    with np.errstate(under="raise"), pytest.raises(Declined):
        under(tiny)
    assert run.declines == {"a floating-point error is to be reported": 3}


def test_flags_of_a_loop_survive_the_next_loop() -> None:
    """NumPy loops that clear the flags do not hide what came before."""
    for name in ("rint", "floor", "isnan", "sign", "maximum", "arctan2", "exp"):
        ufunc = getattr(np, name)
        n = ufunc.nin
        out = ufunc.resolve_dtypes((F8,) * n + (None,))[-1]
        kernel = Kernel(
            (F8, F8),
            (
                KernelOp("divide", (0, 1), (F8, F8), (F8,)),
                KernelOp("loop", (2,) * n, (F8,) * n, (out,), ufunc),
            ),
            (3,),
        )
        run = program([fresh(kernel, (Reg(0), Reg(1)), (S0,), 2)], (Reg(2),), n_inputs=2)
        ones, zeros = np.ones(3), np.zeros(3)
        with pytest.raises(Declined, match="floating-point"):
            run(ones, zeros)
        assert run(ones, ones)[0].tobytes() == ufunc(*(ones,) * n).tobytes()


def test_flags_of_numpys_loops_are_seen() -> None:
    """Also those that a loop raises through the C library, in the other floating-point unit."""
    cases = {
        "exp": 1000.0,
        "expm1": 1000.0,
        "cosh": 1000.0,
        "log": -1.0,
        "log1p": -1.0,
        "arcsin": 2.0,
        "sin": np.inf,
        "reciprocal": 0.0,
        "power": 1e38,
        "exp2": 5000.0,
        "tanh": 1.0,
    }
    reported = 0
    for name, bad in cases.items():
        ufunc = getattr(np, name)
        for dtype in (F8, F4, F2):
            n = ufunc.nin
            kernel = Kernel((dtype,), (KernelOp("loop", (0,) * n, (dtype,) * n, (dtype,), ufunc),), (1,))
            run = program([fresh(kernel, (Reg(0),), (S0,), 1)], (Reg(1),))
            for size in (1, 2, 3, 17, 1025):
                x = np.ones(size, dtype)
                assert run(x)[0].tobytes() == ufunc(*(x,) * n).tobytes()
                with np.errstate(all="ignore"):
                    x[-1] = bad
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    ufunc(*(x,) * n)
                if caught:
                    reported += 1
                    with pytest.raises(Declined, match="floating-point"):
                        run(x)
                else:
                    run(x)
    assert reported > 100


def test_nothing_is_stored_after_an_error() -> None:
    """Flags are asked after each step: a later step does not write what a declined program must leave alone."""
    x = np.arange(4.0)
    steps: list[Step] = [fresh(DIVIDE, (Reg(0), 0.0), (S0,), 1), into(COPY, (Reg(1),), (S0,), 0)]
    with pytest.raises(Declined, match="floating-point"):
        program(steps, (Reg(0),), written=(0,))(x)
    assert x.tobytes() == np.arange(4.0).tobytes()


# ---- calls


def call(
    dst: int, dtype: Any, shape: tuple[Any, ...], function: Any, *args: Any, scalar: bool = False, **kwargs: Any
) -> Call:
    return Call((dst,), (ArrayType(dtype, shape, scalar),), function, args, tuple(kwargs.items()))


def test_calls() -> None:
    """NumPy does the work on real objects; arguments may be nested and symbolic."""
    x = np.random.default_rng(0).random((5, 4))
    steps: list[Step] = [
        View(1, 0, "transpose", (1, 0)),
        call(2, F8, (S1, S1), np.matmul, Reg(1), Reg(0)),
        call(3, F8, (ScalarOp("mul", "int", (2, S1)), S1), np.concatenate, [Reg(2), Reg(2)], axis=0),
        call(4, F8, (S1, 2), operator.getitem, Reg(2), (slice(None), slice(0, 2))),
        call(5, F8, (S1, ScalarOp("sub", "int", (S1, 1))), operator.getitem, Reg(2), (slice(None), slice(1, S1))),
        call(6, F8, (), operator.add, Reg(7), 1.5, scalar=True),
    ]
    run = program(steps, (Reg(2), Reg(3), Reg(4), Reg(5), Reg(6)), constants=((7, np.float64(2)),))
    product, twice, narrow, late, scalar = run(x)
    expected = x.T @ x
    assert product.tobytes() == expected.tobytes()
    assert twice.tobytes() == np.concatenate([expected, expected]).tobytes()
    same_geometry(narrow, product[:, 0:2])
    same_geometry(late, product[:, 1:4])
    assert type(scalar) is np.float64 and scalar == 3.5
    several = Call((1, 2), (ArrayType(F8, (S0,)), ArrayType(F8, (S0,))), np.modf, (Reg(0),))
    parts = program([several], (Reg(1), Reg(2)))(np.array([1.5, -2.25]))
    for got, right in zip(parts, np.modf(np.array([1.5, -2.25])), strict=True):
        assert got.tobytes() == right.tobytes()


def test_call_errors_decline() -> None:
    """Exceptions, reported floating-point errors and results of another type decline; interrupts pass."""

    def fails(error: BaseException) -> Program:
        def function(_: Any) -> Any:
            raise error

        return program([call(1, F8, (S0,), function, Reg(0))], (Reg(1),))

    x = np.ones(3)
    for error in (ValueError("no"), MemoryError(), Declined("x")):
        with pytest.raises(Declined, match="raised"):
            fails(error)(x)
    for interrupt in (KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(interrupt):
            fails(interrupt())(x)
    divide = program([call(1, F8, (S0,), np.divide, Reg(0), 0.0)], (Reg(1),))
    with pytest.raises(Declined, match="floating-point error"):
        divide(x)
    with np.errstate(divide="ignore"):
        assert np.isinf(divide(x)[0]).all()
    assert np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    for function in (
        lambda a: a.astype("f4"),
        lambda a: a[:2],
        lambda a: a[None],
        lambda a: list(a),
        lambda a: a.view(np.matrix),
        lambda a: a[0],
    ):
        with pytest.raises(Declined, match="another type"):
            program([call(1, F8, (S0,), function, Reg(0))], (Reg(1),))(x)


def test_errors_before_a_call_are_not_lost() -> None:
    """NumPy clears the processor's flags; those of an earlier step still decline."""
    steps: list[Step] = [
        fresh(DIVIDE, (Reg(0), Reg(1)), (S0,), 2),
        call(3, F8, (S0,), np.add, Reg(0), Reg(1)),
    ]
    run = program(steps, (Reg(2), Reg(3)), n_inputs=2)
    with pytest.raises(Declined, match="floating-point"):
        run(np.ones(3), np.zeros(3))
    run(np.ones(3), np.ones(3))
    ignored: list[Step] = [call(1, F8, (S0,), np.divide, Reg(0), 0.0), call(2, F8, (S0,), np.add, Reg(0), 0.0)]
    with np.errstate(divide="ignore"):
        program(ignored, (Reg(1), Reg(2)))(np.ones(3))


def test_calls_see_the_callers_errstate_otherwise() -> None:
    """Only modes that are not "ignore" become "raise"; the rest of the state (bufsize) stays."""
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append((np.geterr(), np.getbufsize()))
        return x + 0.0

    run = program([call(1, F8, (S0,), look, Reg(0))], (Reg(1),))
    with np.errstate(divide="ignore", over="print"):
        old = np.setbufsize(4096)
        try:
            run(np.ones(3))
        finally:
            np.setbufsize(old)
        assert np.geterr()["over"] == "print"
    assert seen == [({"divide": "ignore", "over": "raise", "under": "ignore", "invalid": "raise"}, 4096)]


# ---- alloc, save, require, outputs


def test_alloc() -> None:
    """Fresh arrays, filled or not, in C or F order."""
    k = Symbol("k", "int", 1)
    for dtype in (F8, F4, F2, I8, I4, C16, B1, np.dtype("u1"), np.dtype("i2")):
        for fill in (0, 1, True):
            for order in ("C", "F"):
                (got,) = program([Alloc(2, dtype, (S0, 3), fill, order)], (Reg(2),))(np.ones(4))
                expected = np.full((4, 3), fill, dtype, order)  # type: ignore[call-overload]
                assert got.tobytes() == expected.tobytes() and got.strides == expected.strides
    run = program([Alloc(2, F8, (k, S0), -0.0), Alloc(3, I8, (S0,), k)], (Reg(2), Reg(3)), n_inputs=2)
    zeros, numbers = run(np.ones(4), 5)
    assert np.signbit(zeros).all() and zeros.shape == (5, 4) and numbers.tolist() == [5] * 4
    (empty,) = program([Alloc(1, F8, (S0, 2))], (Reg(1),))(np.ones(4))
    assert empty.shape == (4, 2) and empty.flags.owndata
    with pytest.raises(Declined):
        run(np.ones(4), -1)
    with pytest.raises(Declined):
        run(np.ones(4), 2**61)


def test_a_decline_undoes_what_was_saved() -> None:
    """After Save and a store, a decline, an interrupt and a refused relation leave the input's bytes as they were."""
    steps: list[Step] = [
        View(1, 0, "basic_index", ((None, None, 2),)),
        Save(1),
        into(SCALE, (Reg(1), 3.0, 1.0), (ScalarOp("floordiv", "int", (ScalarOp("add", "int", (S0, 1)), 2)),), 1),
    ]
    x = np.arange(9.0)
    before = x.tobytes()
    with pytest.raises(Declined):
        program([*steps, Require(ScalarOp("gt", "bool", (S0, 100)))], (Reg(0),), written=(0,))(x)
    assert x.tobytes() == before

    def interrupt(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        program([*steps, call(2, F8, (S0,), interrupt, Reg(0))], (Reg(0),), written=(0,))(x)
    assert x.tobytes() == before
    late = program([*steps, fresh(DIVIDE, (Reg(0), 0.0), (S0,), 2)], (Reg(2),), written=(0,))
    with pytest.raises(Declined):
        late(x)
    assert x.tobytes() == before
    program(steps, (Reg(0),), written=(0,))(x)
    expected = np.arange(9.0)
    expected[::2] = expected[::2] * 3 + 1
    assert x.tobytes() == expected.tobytes()


def test_outputs() -> None:
    """Registers, numbers and constants; an input comes back as the object it is, twice the same register twice."""
    k, f = Symbol("k", "int", 1), Symbol("f", "float", 2)
    marker = object()
    outputs = (
        Reg(0),
        S0,
        ScalarOp("add", "int", (S0, k)),
        ScalarOp("truediv", "float", (S0, 2)),
        ScalarOp("lt", "bool", (k, 3)),
        k,
        f,
        7,
        marker,
        Reg(0),
    )
    x, big, number = np.ones(4), 10**15, float("7.25")
    got = program([], outputs, n_inputs=3)(x, big, number)
    assert got[0] is x and got[9] is x and got[5] is big and got[6] is number and got[8] is marker
    assert got[1:5] == (4, 4 + big, 2.0, False) and got[7] == 7
    assert [type(value) for value in got[1:5]] == [int, int, float, bool]


def test_powers_of_floats() -> None:
    """Python's bits, or declined: where Python raises or goes on in complex numbers, and at the ends of the range."""
    a, b, k = Symbol("a", "float", 0), Symbol("b", "float", 1), Symbol("k", "int", 1)
    power, whole = (program([], (ScalarOp("pow", "float", (a, exponent)),), n_inputs=2) for exponent in (b, k))
    rng = random.Random(3)
    odd = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e300, -1e-300, 5e-324, float("inf"), -float("inf"), float("nan")]
    ran = 0
    for _ in range(4000):
        base = rng.choice(odd) if rng.random() < 0.3 else rng.uniform(-3.0, 3.0) * 10.0 ** rng.randrange(-4, 4)
        exponent: Any = rng.choice((rng.choice(odd), rng.uniform(-40.0, 40.0), rng.randrange(-60, 60)))
        run = whole if type(exponent) is int else power
        try:
            (got,) = run(base, exponent)
        except Declined:
            continue
        expected = base**exponent
        assert type(expected) is float and np.float64(got).tobytes() == np.float64(expected).tobytes(), (base, exponent)
        ran += 1
    assert ran > 2000


def test_numbers_that_overflow_decline() -> None:
    """Integers are exact or the program declines; so does a division by zero."""
    k = Symbol("k", "int", 0)
    square = program([], (ScalarOp("mul", "int", (k, k)),))
    assert square(3_000_000_000) == (9_000_000_000_000_000_000,)
    with pytest.raises(Declined, match="64 bits"):
        square(4_000_000_000)
    ratio = program([], (ScalarOp("floordiv", "int", (1, k)),))
    with pytest.raises(Declined):
        ratio(0)


# ---- building


@pytest.mark.parametrize(
    "steps",
    [
        [fresh(ADD, (Reg(0), Reg(3)), (3,), 1)],
        [fresh(ADD, (Reg(0),), (3,), 1)],
        [fresh(ADD, (Reg(0), Reg(0)), (3,), 0)],
        [fresh(ADD, (Reg(0), Reg(0)), (3,), 99)],
        [fresh(ADD, (Reg(0), Reg(0)), (1,) * 9, 1)],
        [fresh(ADD, (Reg(0), Reg(0)), (1.5,), 1)],
        [View(1, 0, "diagonal", ())],
        [View(1, 0, "transpose", (0, 0))],
        [Require(1.5)],
        ["no step"],
        [Alloc(1, np.dtype("M8[s]"), (3,))],
        [fresh(Kernel((F8,), (KernelOp("sqrt", (1,), (F8,), (F8,)),), (1,)), (Reg(0),), (3,), 1)],
        [fresh(Kernel((F8,) * 251, (), (0,)), (1.0,) * 251, (3,), 1)],
    ],
)
def test_broken_schedules_are_refused(steps: list[Any]) -> None:
    """A program that could go wrong while running is not built."""
    with pytest.raises((ValueError, TypeError, AttributeError)):
        program(steps, (Reg(0),))


def test_a_compiler_that_fails_makes_the_program_decline() -> None:
    """The words of its error are kept; it is not asked again."""
    asked = []

    def broken(kernel: Kernel, classes: str) -> Any:
        asked.append(classes.removesuffix(abi.ASKS_LASTING))  # as every other test asks (conftest.py)
        raise RuntimeError("no luck")

    schedule = Schedule(1, 2, (), (), (fresh(SCALE, (Reg(0), 2.0, 1.0), (S0,), 1),), (Reg(1),), ())
    run = Program(schedule, broken)
    for _ in range(3):
        with pytest.raises(Declined, match="no luck"):
            run(np.ones(3))
    assert asked == ["c00c"]


def test_the_compiler_may_use_the_program() -> None:
    """compile_kernel is called with the GIL and may come back to the same program."""
    inside: list[Any] = []
    run: Program

    def compiling(kernel: Kernel, classes: str) -> Any:
        if not inside:
            inside.append(None)
            inside.append(run(np.ones(3))[0])
        return compile_kernel(kernel, classes)

    run = Program(Schedule(1, 2, (), (), (fresh(SCALE, (Reg(0), 2.0, 1.0), (S0,), 1),), (Reg(1),), ()), compiling)
    assert run(np.ones(3))[0].tolist() == [3.0] * 3 == inside[1].tolist()


@pytest.mark.parametrize("n", [8, 4096])
def test_kernels_that_run_for_long_are_optimised(n: int) -> None:
    """Those whose first run is long at once; the others once their runs have taken so long, by shape and by way."""
    asked = []

    def recorder(kernel: Kernel, classes: str) -> Any:
        asked.append(classes)
        return compile_kernel(kernel, classes)

    def made() -> Program:
        asked.clear()
        return Program(Schedule(1, 2, (), (), (fresh(SCALE, (Reg(0), 2.0, 1.0), (S0,), 1),), (Reg(1),), ()), recorder)

    before = _C.optimise_after(1e12, 1e12)
    try:
        run, x = made(), np.arange(float(n))
        for _ in range(20):
            run(x)
        assert asked == ["c00c"]
        _C.optimise_after(1e12, 1.0)
        for _ in range(3):
            assert np.array_equal(run(x)[0], x * 2.0 + 1.0)
        assert asked == ["c00c", "c00c" + abi.ASKS_LASTING]
        run = made()
        run(x)
        run(x)
        assert asked == ["c00c" + abi.ASKS_LASTING]
    finally:
        _C.optimise_after(*before)


# ---- what runs leave behind


def leaks(function: Callable[[], Any], rounds: int = 20_000) -> int:
    """How many more blocks are allocated after many calls: the less of two halves, since a leak grows in both, and what
    the interpreter keeps for itself once does not."""
    for _ in range(200):
        function()
    counts = []
    for _ in range(3):
        gc.collect()
        counts.append(sys.getallocatedblocks())
        for _ in range(rounds // 2):
            function()
    return min(counts[1] - counts[0], counts[2] - counts[1])


@pytest.mark.usefixtures("no_mode")
def test_runs_leave_no_memory_and_no_references() -> None:
    """Runs that succeed and runs that decline give everything back."""
    x = np.arange(12.0).reshape(4, 3)
    steps: list[Step] = [
        Save(0),
        View(1, 0, "transpose", (1, 0)),
        fresh(SCALE, (Reg(0), 2.0, 1.0), (S0, S1), 2),
        call(3, F8, (S1, S0), np.negative, Reg(1)),
        View(4, 2, "basic_index", (0, 0), True),
        Map(ADD, (Reg(4), 1.0), (), (5,), (False,), (True,)),
        into(COPY, (Reg(2),), (S0, S1), 0),
    ]
    good = program(list(steps), (Reg(0), Reg(2), Reg(3), Reg(1), Reg(5), S0), written=(0,))
    bad = program([*steps, Require(ScalarOp("gt", "bool", (S0, 100)))], (Reg(0),), written=(0,))
    counts = [sys.getrefcount(thing) for thing in (x, good, bad)]
    with np.errstate(all="ignore"):
        assert leaks(lambda: good(x)) < 20

    def declines() -> None:
        try:
            bad(x)
        except Declined:
            return

    assert leaks(declines) < 20
    assert [sys.getrefcount(thing) for thing in (x, good, bad)] == counts


def test_programs_are_garbage_collected() -> None:
    """A cycle through a called function is found, kernels and constants included."""

    class Adds:
        run: Program

        def __call__(self, x: Any) -> Any:
            return x + 1

    function = Adds()
    gone = weakref.ref(function)

    steps: list[Step] = [call(1, F8, (S0,), function, Reg(0)), fresh(SCALE, (Reg(1), 2.0, 1.0), (S0,), 2)]
    function.run = program(steps, (Reg(2),))
    function.run(np.ones(3))
    del function, steps
    gc.collect()
    assert gone() is None


def test_memory_of_intermediates_is_given_back_when_dead() -> None:
    """A long chain of calls holds no more arrays at a time than plain Python."""
    alive: list[Any] = []
    most = 0

    def step(x: Any) -> Any:
        nonlocal most
        result = x + 1.0
        alive.append(weakref.ref(result))
        most = max(most, sum(ref() is not None for ref in alive))
        return result

    steps: list[Step] = [call(i + 1, F8, (S0,), step, Reg(i)) for i in range(10)]
    program(steps, (Reg(10),))(np.ones(5))
    assert most == 2


def test_declining_behind_a_write_that_is_not_undone_is_an_error() -> None:
    """A defect of a schedule, not a wrong value: without it the program would decline, and run again plainly."""
    steps: list[Step] = [
        Map(COPY, (Reg(1),), (S0,), (0,), (True,), (False,)),
        Map(DIVIDE, (Reg(1), Reg(1)), (S0,), (2,), (False,), (False,)),
    ]
    for kept, raises in ((-1, Declined), (1, Declined), (0, SystemError)):
        schedule = Schedule(2, 3, (S0,), (), tuple(steps), (Reg(2),), (0,), kept=kept)
        run = Program(schedule, compile_kernel)
        assert np.array_equal(run(np.zeros(3), np.ones(3))[0], np.ones(3))
        with pytest.raises(raises, match=r"floating|flag" if raises is Declined else "has written in step 0"):
            run(np.zeros(3), np.zeros(3))

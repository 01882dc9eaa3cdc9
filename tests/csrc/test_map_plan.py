"""Maps that are run again: as planned where the geometry is the same, anew where it is not; with NumPy's bits."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite._C import Declined, Program
from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.schedule.steps import Kernel, KernelOp, Map, Reg, Schedule, Step, View
from tests.csrc.test_program import ADD, COPY, F4, F8, S0, S1, SCALE, fresh, into, leaks, program

LOW, FROM, SIZE = Symbol("a", "int", 1), Symbol("b", "int", 2), Symbol("n", "int", 3)
SINE = Kernel((F8,), (KernelOp("loop", (0,), (F8,), (F8,), np.sin),), (1,))


def end(start: Symbol) -> ScalarOp:
    return ScalarOp("add", "int", (start, SIZE))


def test_places_that_move_over_each_other() -> None:
    """One geometry at all addresses: what is read may lie apart from what is written, on it, or across it."""
    steps: list[Step] = [
        View(4, 0, "basic_index", ((LOW, end(LOW), None), (1, -1, None))),
        View(5, 0, "basic_index", ((FROM, end(FROM), None), (1, -1, None))),
        into(ADD, (Reg(4), Reg(5)), (SIZE, ScalarOp("sub", "int", (S1, 2))), 4),
    ]
    run = program(steps, (), n_inputs=4, written=(0,))
    rng = random.Random(5)
    x = np.arange(60.0).reshape(12, 5)
    for _ in range(300):
        low, start, size = rng.randrange(6), rng.randrange(6), rng.choice((3, 3, 3, 4))
        expected = x.copy()
        expected[low : low + size, 1:-1] += expected[start : start + size, 1:-1]
        run(x, low, start, size)
        assert x.tobytes() == expected.tobytes()
        x *= 0.5


def test_two_targets_that_move_over_each_other() -> None:
    two = Kernel((F8,), (), (0, 0))
    steps: list[Step] = [
        View(4, 0, "basic_index", ((LOW, end(LOW), None), (1, -1, None))),
        View(5, 0, "basic_index", ((FROM, end(FROM), None), (1, -1, None))),
        Map(two, (2.0,), (SIZE, ScalarOp("sub", "int", (S1, 2))), (4, 5), (True, True), (False, False)),
    ]
    run = program(steps, (), n_inputs=4, written=(0,))
    x = np.zeros((12, 5))
    for low, start in ((0, 6), (1, 5), (6, 0), (2, 3), (0, 6), (3, 2)):
        x[:] = 0.0
        if abs(low - start) < 3:
            with pytest.raises(Declined, match="shares memory"):
                run(x, low, start, 3)
            assert not x.any()
        else:
            run(x, low, start, 3)
            assert (x.sum(), x[low : low + 3, 1:-1].sum()) == (36.0, 18.0)


def arrays(rng: random.Random) -> Any:
    """Arrays of few shapes in many geometries."""
    shape = rng.choice(((3, 4), (3, 4), (4, 3), (1, 4), (2, 3)))
    base = np.random.default_rng(rng.randrange(10**6)).random((8, 8)) + 0.5
    views = (
        lambda: base[: shape[0], : shape[1]],
        lambda: base[:: 8 // shape[0], ::2][: shape[0], : shape[1]],
        lambda: base.T[: shape[0], : shape[1]],
        lambda: base[::-1, ::-1][: shape[0], : shape[1]],
        lambda: base[: shape[0], : shape[1]].copy(),
        lambda: base[: shape[0], : shape[1]].copy("F"),
        lambda: np.broadcast_to(base[0, : shape[1]], shape),
        lambda: base[:0, : shape[1]],
    )
    return rng.choice(views)


@pytest.mark.parametrize("kernel", [SCALE, SINE])
def test_changing_geometries(kernel: Kernel) -> None:
    """Whatever the order in which they come, each result has NumPy's bits and strides."""
    operands: tuple[Any, ...] = (Reg(0), Symbol("f", "float", 1), 1.0)[: len(kernel.operand_dtypes)]
    run = program([fresh(kernel, operands, (S0, S1), 2)], (Reg(2),), n_inputs=2)
    for seed in range(12):
        rng = random.Random(seed)
        make = [arrays(rng) for _ in range(3)]
        for _ in range(40):
            x = rng.choice(make)()
            factor = rng.choice((0.5, 2.0))
            expected = np.sin(x) if kernel is SINE else x * factor + 1.0
            (got,) = run(x, factor)
            assert got.strides == expected.strides and got.tobytes() == expected.tobytes()


def test_what_no_longer_fits() -> None:
    """Another dtype, a scalar for an array, a number that does not convert, a read-only target: as in the first run."""
    add = program([fresh(ADD, (Reg(0), Reg(1)), (S0,), 2)], (Reg(2),), n_inputs=2)
    x = np.arange(8.0)[::2]
    for _ in range(3):
        assert add(x, x)[0].tobytes() == (x + x).tobytes()
        assert add(x, np.float64(2))[0].tobytes() == (x + 2).tobytes()
        for wrong in (x.astype("f4"), np.arange(3.0), np.float32(2), None):
            with pytest.raises(Declined):
                add(x, wrong)
    single = Kernel((F4, F4), (KernelOp("add", (0, 1), (F4, F4), (F4,)),), (2,))
    number = program([fresh(single, (Reg(0), Symbol("f", "float", 1)), (S0,), 2)], (Reg(2),), n_inputs=2)
    y = x.astype("f4")[::2]
    for _ in range(3):
        assert number(y, 0.5)[0].tobytes() == (y + np.float32(0.5)).tobytes()
        with pytest.raises(Declined, match="does not fit"):
            number(y, 1e300)
    store = program([into(COPY, (1.5,), (S0,), 0)], (), written=(0,))
    for _ in range(3):
        z = np.zeros(8)[::2]
        store(z)
        assert z.tolist() == [1.5] * 4
        z.flags.writeable = False
        with pytest.raises(Declined, match="element by element"):
            store(z)


def test_threads_with_geometries_of_their_own() -> None:
    """A plan may be replaced while a big kernel runs by it without the GIL."""
    schedule = Schedule(1, 3, (S0, S1), (), (fresh(SCALE, (Reg(0), 0.5, 1.0), (S0, S1), 1),), (Reg(1),), ())
    run = Program(schedule, compile_kernel)
    base = np.random.default_rng(0).random((700, 700))
    wrong: list[int] = []

    def work(number: int) -> None:
        x = (base[::2], base[:, ::2], base.T[::2], base[1:, 1:])[number]
        expected = x * 0.5 + 1.0
        for _ in range(30):
            (got,) = run(x)
            if got.strides != expected.strides or got.tobytes() != expected.tobytes():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_plans_leave_no_memory() -> None:
    x, y = np.arange(24.0).reshape(4, 6)[:, ::2], np.arange(24.0).reshape(6, 4)[::2].T
    run = program(
        [fresh(SCALE, (Reg(0), 0.5, 1.0), (4, 3), 2), into(COPY, (Reg(2),), (4, 3), 1)], (Reg(2),), 2, written=(1,)
    )
    assert leaks(lambda: (run(x, y), run(y, x)), 2_000) < 20

"""Cond steps and loops with a condition, built from schedules written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynamo_lite._C import Declined, Program
from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.program.interpret import interpret
from dynamo_lite.schedule.steps import Alloc, Call, Cond, Loop, Reg, Schedule
from dynamo_lite.schedule.text import to_text

DOUBLE = np.dtype(np.float64)


def no_kernels(*args: Any) -> Any:
    raise AssertionError(args)


def double(x: Any) -> Any:
    return x + x


def fill(x: Any, number: Any) -> None:
    x[...] = number


def branch(steps: tuple[Any, ...], outputs: tuple[Any, ...], registers: int = 3, **more: Any) -> Schedule:
    """A branch that takes an array, a number k, and the size of the array."""
    symbols = (Symbol("k", "int", 1), Symbol("n", "int", 2))
    given = {"n_inputs": 3, "constants": (), "written": ()} | more
    return Schedule(n_registers=registers, symbols=symbols, steps=steps, outputs=outputs, **given)


def whole(then: Schedule, orelse: Schedule, **more: Any) -> Schedule:
    """cond(k < 3) of the branches; the program returns what the choice yields, and twice its number."""
    k, n, y = Symbol("k", "int", 1), Symbol("n", "int", 0, 0), Symbol("y", "int", -1)
    condition = ScalarOp("lt", "bool", (k, 3))
    step = replace(Cond((2, 3), condition, then, orelse, (Reg(0), k, n), (y,)), **more)
    outputs = (Reg(2), Reg(3), ScalarOp("mul", "int", (y, 2)))
    return Schedule(2, 4, (k, n, y), (), (step,), outputs, ())


K = Symbol("k", "int", 1)
TYPE = ArrayType(DOUBLE, (Symbol("n", "int", 2),))
DOUBLES = branch((Call((3,), (TYPE,), double, (Reg(0),)),), (Reg(3), ScalarOp("add", "int", (K, 1))), 4)
PASSES = branch((), (Reg(0), 7))


def test_one_branch_runs() -> None:
    schedule = whole(DOUBLES, PASSES)
    program = Program(schedule, no_kernels)
    x = np.arange(4.0)
    for k in (0, 2, 3, 9):
        found, expected = program(x, k), interpret(schedule, [x, k])
        assert found[0].tolist() == expected[0].tolist() and found[1:] == tuple(expected[1:])
        assert type(found[1]) is np.int64 and type(found[2]) is int
        assert (found[0] is x) == (k >= 3)


def test_text_tells_both_branches() -> None:
    text = to_text(whole(DOUBLES, PASSES)).splitlines()
    assert text[1] == "  r2, r3 = cond lt(k, 3)(r0, k, n) yields y"
    assert "    else" in text


def test_what_is_not_chosen_does_not_happen() -> None:
    def fails(x: Any) -> Any:
        raise ValueError

    bad = branch((Call((3,), (TYPE,), fails, (Reg(0),)),), (Reg(3), 0), 4)
    program = Program(whole(bad, PASSES), no_kernels)
    assert program(np.arange(4.0), 5)[1] == 7
    with pytest.raises(Declined):
        program(np.arange(4.0), 1)


def test_a_number_that_does_not_fit_declines() -> None:
    program = Program(whole(DOUBLES, branch((), (Reg(0), ScalarOp("mul", "int", (K, 2**40))))), no_kernels)
    assert program(np.arange(4.0), 5)[2] == 5 * 2**41
    with pytest.raises(Declined):
        program(np.arange(4.0), 2**30)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (whole(DOUBLES, branch((), (Reg(0),))), "another number of values"),
        (whole(DOUBLES, branch((), (Reg(0), 0.5))), "a number of another kind"),
        (whole(DOUBLES, branch((), (Reg(1), 0))), "returned as an array"),
        (whole(DOUBLES, PASSES, yields=()), None),
        (whole(DOUBLES, PASSES, operands=(Reg(0), 1.5, 4)), "of another kind"),
        (whole(DOUBLES, PASSES, condition=Symbol("f", "float", 1)), "is a float"),
        (whole(DOUBLES, PASSES, dsts=(2, 2)), "sets a register again"),
    ],
)
def test_building_checks(schedule: Schedule, words: str | None) -> None:
    if words is None:  # the number that nothing sets is what it may be
        Program(schedule, no_kernels)
        return
    with pytest.raises(ValueError, match=words):
        Program(schedule, no_kernels)


def test_a_branch_that_writes_what_it_reads_elsewhere_declines() -> None:
    inner = Schedule(2, 2, (), (), (Call((), (), fill, (Reg(0), 1.0)),), (), (0,))
    other = Schedule(2, 2, (), (), (), (), ())
    flag = Symbol("k", "int", 2)
    step = Cond((), ScalarOp("gt", "bool", (flag, 0)), inner, other, (Reg(0), Reg(1)))
    program = Program(Schedule(3, 3, (flag,), (), (step,), (), ()), no_kernels)
    x = np.arange(6.0)
    with pytest.raises(Declined):
        program(x[:4], x[2:], 1)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    program(x[:4], x[2:], 0)
    program(x[:3], x[3:], 1)
    assert x.tolist() == [1.0, 1.0, 1.0, 3.0, 4.0, 5.0]


def looping(condition: Any, steps: tuple[Any, ...] = (), registers: int = 3, constants: Any = ()) -> Schedule:
    """x doubled while the body says so."""
    i, n = Symbol("i", "int", 0), Symbol("n", "int", 2)
    body = Schedule(
        3,
        registers + 1,
        (i, n),
        constants,
        (Call((registers,), (TYPE,), double, (Reg(1),)), *steps),
        (Reg(registers), condition),
        (),
    )
    outer = Symbol("n", "int", 0, 0)
    step = Loop((1,), body, 0, 2**63 - 1, 1, (Reg(0),), (outer,), goes_on=True)
    return Schedule(1, 2, (outer,), (), (step,), (Reg(1),), ())


def below(x: Any) -> Any:
    return np.bool_(x[1] < 100.0)


BOOL = ArrayType(np.dtype(bool), (), True)


@pytest.mark.parametrize(
    ("schedule", "last"),
    [
        (looping(ScalarOp("lt", "bool", (Symbol("i", "int", 0), 3))), 16.0),
        (looping(False), 2.0),
        (looping(Reg(3), (Call((3,), (BOOL,), below, (Reg(4),)),), 4), 128.0),
        (looping(Reg(3), (), 4, ((3, np.False_),)), 2.0),
    ],
)
def test_loops_end_by_their_condition(schedule: Schedule, last: float) -> None:
    program = Program(schedule, no_kernels)
    for _ in range(3):
        (found,) = program(np.arange(4.0))
        assert found.tolist() == [0.0, last, 2 * last, 3 * last]
        assert interpret(schedule, [np.arange(4.0)])[0].tolist() == found.tolist()


def test_a_condition_is_a_bool() -> None:
    with pytest.raises(ValueError, match="a condition is a float"):
        Program(looping(0.5), no_kernels)
    program = Program(looping(Reg(3), (), 4, ((3, np.float64(1.0)),)), no_kernels)
    with pytest.raises(Declined):
        program(np.arange(4.0))


def test_alloc_by_a_number_that_a_choice_yields() -> None:
    then, orelse = (Schedule(1, 1, (), (), (), (number,), ()) for number in (3, 5))
    flag, y = Symbol("k", "int", 0), Symbol("y", "int", -1)
    size = ScalarOp("add", "int", (y, 1))
    steps = (
        Cond((1,), ScalarOp("gt", "bool", (flag, 0)), then, orelse, (flag,), (y,)),
        Alloc(2, DOUBLE, (size,), 0),
    )
    program = Program(Schedule(1, 3, (flag, y), (), steps, (Reg(2),), ()), no_kernels)
    assert program(1)[0].shape == (4,) and program(0)[0].shape == (6,)

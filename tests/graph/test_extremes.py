"""Conditions on min and max, as conditions on the two numbers."""

from __future__ import annotations

import itertools
import random

import pytest

from dynamo_lite.graph.extremes import parts_of
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import (
    MAX_FACTORS,
    MAX_TERMS,
    Scalar,
    ScalarOp,
    Symbol,
    evaluate,
    is_larger,
    make,
    simplify,
    terms_of,
)

N, M = Symbol("n", "int", 0), Symbol("m", "int", 1)


def test_parts() -> None:
    either, conditions = parts_of(make("ge", make("max", N, M), 3)) or (None, [])  # type: ignore[arg-type]
    assert either and list(map(str, conditions)) == ["ge(m, 3)", "ge(n, 3)"]
    either, conditions = parts_of(make("ge", make("min", N, M), 3)) or (None, [])  # type: ignore[arg-type]
    assert either is False and list(map(str, conditions)) == ["ge(m, 3)", "ge(n, 3)"]


def test_few_parts_are_asked_for() -> None:
    """Of what is known, that is; else each would have two more."""
    value: Scalar = N
    for i in range(60):
        value = make("max", make("min", value, M), make("sub", value, i + 1))
    assert Facts().decide(make("ge", value, 3)) is None


def test_products_are_multiplied_out_while_that_is_short() -> None:
    """Beyond, a product is a term, which is equal to itself, in either order, and cancels."""
    value: Scalar = N
    for _ in range(60):
        value = make("add", make("mul", value, value), make("mul", value, M))
    assert len(terms_of(value)) < 60 * (MAX_TERMS + MAX_FACTORS)
    assert make("sub", make("mul", value, N), make("mul", N, value)) == 0
    other = make("add", make("mul", value, value), 1)
    assert simplify(other) is other and make("mul", value, other) is make("mul", other, value)
    assert not is_larger(make("mul", make("add", N, 1), make("sub", N, 1)), 8)
    assert evaluate(value, {"n": 0, "m": 5}) == 0


def test_deep_numbers_are_simplified_without_a_call_for_each() -> None:
    """And bounded."""
    value: Scalar = Symbol("x", "float", 2)
    for _ in range(3000):
        value = ScalarOp("add", "float", (value, 1.5))
    assert simplify(value) is value
    whole: Scalar = N
    for i in range(1000):
        whole = make("mod", make("add", make("mul", whole, 3), M), 1000 + i)
    assert Facts().decide(make("ge", whole, 0)) and Facts().decide(make("le", whole, 1998))


def test_equal_numbers_of_which_one_is_of_extremes() -> None:
    """The length of x[1:-1], as it is taken down before and after it is known that x has two elements."""
    known, length = Facts(), make("sub", make("max", 0, make("sub", N, 1)), make("min", 1, N))
    same = make("eq", length, make("sub", N, 2))
    assert known.decide(same) is None
    known.learn(make("ge", N, 2), True)
    assert known.decide(same) and known.decide(make("ne", length, make("sub", N, 2))) is False
    assert known.decide(make("eq", length, make("sub", N, 3))) is False


@pytest.mark.parametrize("extreme", ["min", "max"])
def test_unequal_bounds_nothing(extreme: str) -> None:
    """That a min or max is not a number says of neither operand that it is at least, or at most, that number."""
    a, b = (Symbol(name, "int", place) for place, name in enumerate("ab"))
    facts = Facts()
    facts.learn(make("ne", make(extreme, a, b), 3), True)
    for number in (a, b):
        for relation in ("ge", "le", "eq", "ne"):
            assert facts.decide(make(relation, number, 3)) is None


_GRID = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(-1, 5), repeat=3)]


def _number(pick: random.Random, depth: int) -> Scalar:
    if depth == 0 or pick.random() < 0.3:
        return pick.choice([*(Symbol(name, "int", place) for place, name in enumerate("abc")), pick.randint(-1, 4)])
    if pick.random() < 0.2:
        return make("mul", _number(pick, depth - 1), pick.randint(-2, 3))
    return make(pick.choice(("min", "max", "add", "sub")), _number(pick, depth - 1), _number(pick, depth - 1))


def _condition(pick: random.Random) -> Scalar:
    return make(pick.choice(("ge", "le", "eq", "ne", "lt", "gt")), _number(pick, 2), _number(pick, 2))


def test_what_is_decided_holds() -> None:
    """Random facts and questions: what the facts decide is so for all small numbers for which they hold."""
    decided = 0
    for seed in range(600):
        pick, facts, left = random.Random(seed), Facts(), _GRID
        for _ in range(pick.randint(1, 4)):
            fact, truth = _condition(pick), pick.random() < 0.75
            where = [point for point in left if bool(evaluate(fact, point)) == truth]
            if where and isinstance(fact, ScalarOp):
                facts.learn(fact, truth)
                left = where
        for _ in range(12):
            question = _condition(pick)
            known = facts.decide(question)
            if known is not None:
                decided += isinstance(question, ScalarOp)
                assert all(bool(evaluate(question, point)) == known for point in left), f"{seed}: {question}"
    assert decided > 500


def test_an_extreme_that_stands_in_another_term_is_not_taken_apart() -> None:
    m = make("max", 0, N)
    value = make("le", make("add", m, make("mul", make("min", 1, make("neg", m)), 3)), -1)
    _, conditions = parts_of(value) or (None, [])  # type: ignore[arg-type]
    assert all("max" in str(one) for one in conditions)

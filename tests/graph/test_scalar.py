"""Symbolic numbers: the normal form keeps the value, equal polynomials are one expression, facts decide soundly."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import (
    Scalar,
    ScalarOp,
    Symbol,
    divide_exactly,
    evaluate,
    make,
    negate,
    simplify,
)

S0, S1 = Symbol("s0", "int", 0, 0), Symbol("s1", "int", 0, 1)
N = Symbol("n", "int", 1)
F = Symbol("f", "float", 2)
SIZES = (0, 2, 3, 4, 7)


def ints(depth: int = 3) -> st.SearchStrategy[Scalar]:
    leaf: st.SearchStrategy[Scalar] = st.sampled_from([S0, S1, N]) | st.integers(-4, 4)

    def extend(children: st.SearchStrategy[Scalar]) -> st.SearchStrategy[Scalar]:
        ops = st.sampled_from(["add", "sub", "mul", "floordiv", "mod", "min", "max"])
        pair = st.builds(lambda op, a, b: ScalarOp(op, "int", (a, b)), ops, children, children)
        return pair | st.builds(lambda a: ScalarOp("neg", "int", (a,)), children)

    return st.recursive(leaf, extend, max_leaves=2**depth)


def conditions() -> st.SearchStrategy[Scalar]:
    compared = st.builds(
        lambda op, a, b: ScalarOp(op, "bool", (a, b)),
        st.sampled_from(["lt", "le", "eq", "ne", "gt", "ge"]),
        ints(2),
        ints(2),
    )
    return compared | st.builds(lambda a, b: ScalarOp("and", "bool", (a, b)), compared, compared)


ENVS = [{"s0": a, "s1": b, "n": c} for a, b, c in itertools.product(SIZES, SIZES, (-3, 0, 1, 5))]


def outcome(value: Scalar, env: dict[str, Any]) -> Any:
    try:
        return evaluate(value, env)
    except ZeroDivisionError:
        return "ZeroDivisionError"


def written_anew(value: Scalar) -> Scalar:
    if not isinstance(value, ScalarOp):
        return value
    return ScalarOp(value.op, value.kind, tuple(map(written_anew, value.operands)))


@settings(max_examples=200)
@given(ints(), ints(1))
def test_what_is_normal_is_not_changed_by_looking_into_it(value: Scalar, other: Scalar) -> None:
    simple = simplify(value)
    assert simplify(written_anew(simple)) == simple
    assert make("sub", simple, other) == simplify(ScalarOp("sub", "int", (written_anew(simple), other)))


def test_a_number_may_be_computed_in_many_steps() -> None:
    number, expected = make("add", N, 1), 4
    for step in range(30):
        number = make("mod", make("add", make("mul", number, 31), step), 1009)
        expected = (expected * 31 + step) % 1009
    assert evaluate(number, {"n": 3}) == expected


@settings(max_examples=200)
@given(ints())
def test_simplify_keeps_the_value(value: Scalar) -> None:
    simple = simplify(value)
    assert simplify(simple) == simple
    for env in ENVS:
        before = outcome(value, env)
        if before != "ZeroDivisionError":  # 0 * (1 // 0) is 0: only what has a value keeps it
            assert outcome(simple, env) == before


@settings(max_examples=200)
@given(conditions())
def test_simplify_keeps_the_truth(condition: Scalar) -> None:
    simple, opposite = simplify(condition), simplify(negate(condition))
    for env in ENVS:
        before = outcome(condition, env)
        if before != "ZeroDivisionError":
            assert outcome(simple, env) == before
            assert outcome(opposite, env) is not before


@settings(max_examples=200)
@given(ints(2), ints(2))
def test_equal_polynomials_are_one_expression(a: Scalar, b: Scalar) -> None:
    assert simplify(ScalarOp("add", "int", (a, b))) == simplify(ScalarOp("add", "int", (b, a)))
    difference = simplify(ScalarOp("sub", "int", (ScalarOp("add", "int", (a, b)), b)))
    assert difference == simplify(a)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (make("add", make("sub", S0, 1), 1), "s0"),
        (make("sub", S0, 2), "sub(s0, 2)"),
        (make("mul", make("add", S1, 2), S0), "add(mul(s0, s1), mul(s0, 2))"),
        (make("floordiv", make("add", make("mul", S0, 2), 5), 2), "add(s0, 2)"),
        (make("mod", make("mul", S0, 4), 2), "0"),
        (make("neg", make("add", S0, 3)), "sub(neg(s0), 3)"),
        (make("min", S0, make("add", S0, 1)), "s0"),
        (make("max", S1, S0), "max(s0, s1)"),
        (make("eq", make("sub", S0, 2), make("sub", S1, 2)), "eq(s0, s1)"),
        (make("ge", make("sub", S0, 2), 1), "ge(s0, 3)"),
        (make("lt", make("mul", S0, 2), 5), "le(s0, 2)"),
        (make("eq", make("mul", S0, 2), 5), "False"),
        (make("ge", S0, make("sub", S1, 2)), "ge(add(s0, 2), s1)"),
        (make("not", make("lt", S0, 3)), "ge(s0, 3)"),
        (make("and", make("lt", S0, 3), True), "le(s0, 2)"),
        (make("add", make("add", F, 1.0), 2.0), "add(add(f, 1.0), 2.0)"),
        (make("truediv", 1, 4), "0.25"),
    ],
)
def test_normal_forms(value: Scalar, text: str) -> None:
    assert str(value) == text


def test_kinds() -> None:
    assert make("truediv", S0, 2).kind == "float"  # type: ignore[union-attr]
    assert make("add", S0, 1.5).kind == "float"  # type: ignore[union-attr]
    assert make("lt", F, 1).kind == "bool"  # type: ignore[union-attr]
    with pytest.raises(TypeError):
        make("add", S0, 1j)
    with pytest.raises(ZeroDivisionError):
        make("floordiv", 1, 0)


def test_divide_exactly() -> None:
    product = make("mul", make("mul", S0, S1), 6)
    assert divide_exactly(product, make("mul", S1, 2)) == make("mul", S0, 3)
    assert divide_exactly(product, 4) is None
    assert divide_exactly(make("add", S0, 1), make("add", S0, 1)) == 1
    assert divide_exactly(S0, S1) is None


@settings(max_examples=120)
@given(st.lists(conditions(), max_size=4), conditions())
def test_what_facts_decide_holds(learned: list[Scalar], question: Scalar) -> None:
    """In every world that obeys the facts the decided condition is as decided."""
    for env in ENVS[::19]:
        truths = [outcome(condition, env) for condition in learned]
        if "ZeroDivisionError" in truths:
            continue
        facts = Facts()
        for condition, truth in zip(learned, truths, strict=True):
            facts.learn(condition, truth)
        decided = facts.copy().decide(question)
        if decided is None:
            continue
        for world in ENVS:
            if [outcome(condition, world) for condition in learned] == truths:
                assert outcome(question, world) in (decided, "ZeroDivisionError")


@pytest.mark.parametrize(
    ("learned", "question", "decided"),
    [
        ([], make("ge", S0, 0), True),
        ([], make("ne", S0, 1), True),
        ([], make("eq", make("mul", S0, S1), 1), False),
        ([], make("ge", N, 0), None),
        ([], make("ge", make("floordiv", S0, 2), 0), True),
        ([make("ge", S0, 4)], make("ne", make("sub", S0, 2), 1), True),
        ([make("ge", S0, 4)], make("ge", S0, 5), None),
        ([make("eq", S0, S1)], make("eq", make("add", S0, 1), make("add", S1, 1)), True),
        ([make("ne", S0, 5)], make("eq", S0, 5), False),
        ([make("ge", S0, 3), make("le", S0, 3)], make("eq", S0, 3), True),
        ([make("lt", F, 1.5)], make("lt", F, 1.5), True),
        ([make("ge", S0, 3), make("ge", S1, 2)], make("ge", make("add", S0, S1), 5), True),
    ],
)
def test_facts(learned: list[Scalar], question: Scalar, decided: bool | None) -> None:
    facts = Facts()
    for condition in learned:
        facts.learn(condition, True)
    assert facts.decide(question) is decided


def test_equal_sizes() -> None:
    facts = Facts()
    half, other = make("floordiv", S0, 2), make("floordiv", S1, 2)
    assert not facts.are_equal(half, other)
    facts.learn(make("eq", S1, S0), True)
    facts.learn(make("eq", N, S1), True)
    assert facts.are_equal(half, other)
    assert facts.are_equal(make("mod", N, 3), make("mod", S0, 3))
    assert not facts.are_equal(half, make("mod", S0, 2))


def test_a_number_that_is_known_decides_what_is_computed_of_it() -> None:
    facts = Facts()
    facts.learn(make("eq", N, -3), True)
    assert facts.decide(make("eq", make("mod", N, 5), 2)) is True
    assert facts.decide(make("eq", make("floordiv", N, 2), -2)) is True

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
    product,
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
    height, width = make("add", make("sub", S0, 3), 1), make("sub", make("add", S1, 1), S0)
    assert divide_exactly(make("mul", height, width), width) == height
    assert divide_exactly(make("add", make("mul", height, width), 1), width) is None


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
        ([], make("eq", make("add", make("mul", S0, N), S0), 1), False),
        ([], make("ne", make("sub", make("mul", S0, N), S0), -1), True),
        ([], make("eq", make("add", make("mul", S0, N), S0), 0), None),
        ([], make("eq", make("add", N, S0), 1), None),
    ],
)
def test_facts(learned: list[Scalar], question: Scalar, decided: bool | None) -> None:
    facts = Facts()
    for condition in learned:
        facts.learn(condition, True)
    assert facts.decide(question) is decided


def are_equal(facts: Facts, one: Scalar, other: Scalar) -> bool:
    return facts.decide(make("eq", one, other)) is True


def test_equal_sizes() -> None:
    facts = Facts()
    half, other = make("floordiv", S0, 2), make("floordiv", S1, 2)
    assert not are_equal(facts, half, other)
    facts.learn(make("eq", S1, S0), True)
    facts.learn(make("eq", N, S1), True)
    assert are_equal(facts, half, other)
    assert are_equal(facts, make("mod", N, 3), make("mod", S0, 3))
    assert not are_equal(facts, half, make("mod", S0, 2))


def test_a_size_that_is_a_product_of_its_own_quotient() -> None:
    """x.reshape(-1, 2), x[:len(x) // 2] + x[len(x) // 2:]: the occurs check fails, the fact still serves."""
    facts, half, quarter = Facts(), make("floordiv", S0, 2), make("floordiv", S0, 4)
    facts.learn(make("eq", S0, make("mul", half, 2)), True)
    assert facts.equalities.canonical(make("sub", S0, half)) == half
    assert facts.equalities.canonical(half) == half
    assert are_equal(facts, make("mul", S0, S1), make("mul", half, make("mul", S1, 2)))
    facts.learn(make("eq", make("mul", quarter, 4), S0), True)
    assert are_equal(facts, make("mul", quarter, 4), S0)
    facts.learn(make("eq", S1, S0), True)
    assert are_equal(facts, make("floordiv", S1, 2), half)
    facts.learn(make("eq", half, 6), True)
    assert facts.decide(make("eq", S1, 12)) is True


def test_a_size_that_is_a_square_of_its_own_root() -> None:
    root = make("trunc", make("pow", S0, 0.5))
    facts = Facts()
    facts.learn(make("eq", S0, make("mul", root, root)), True)
    assert facts.equalities.canonical(root) == root
    assert are_equal(facts, make("floordiv", make("mul", S0, S1), 3), make("floordiv", product([root, S1, root]), 3))


def test_terms_that_equal_each_other() -> None:
    facts = Facts()
    left, right = make("floordiv", S0, 2), make("floordiv", S1, 3)
    facts.learn(make("eq", left, right), True)
    facts.learn(make("eq", make("add", S0, S1), make("add", N, 7)), True)
    assert facts.equalities.canonical(make("add", left, 1)) == facts.equalities.canonical(make("add", right, 1))
    assert are_equal(facts, make("mul", make("sub", N, S1), 3), make("sub", make("mul", S0, 3), 21))


def test_what_is_known_of_a_number_is_known_of_its_equals() -> None:
    facts = Facts()
    facts.learn(make("ge", N, 5), True)
    facts.learn(make("eq", S1, make("add", S0, 1)), True)  # a size is never 1
    assert facts.decide(make("ne", S0, 0)) is True
    facts.learn(make("eq", N, S1), True)
    assert facts.decide(make("ge", S0, 4)) is True


def test_what_bounds_a_term_bounds_its_name() -> None:
    """(s0 + 1) // 2 is called s0 - 2: it is 2 or more, of s0 that would say 1 or more."""
    facts = Facts()
    facts.learn(make("ge", S0, 3), True)
    half = make("floordiv", make("add", S0, 1), 2)
    assert facts.decide(make("ne", half, 1))
    facts.learn(make("eq", S0, make("add", half, 2)), True)
    name = facts.equalities.canonical(half)
    assert name == make("sub", S0, 2)
    assert facts.decide(make("ne", name, 1))


def test_floats_and_bools_that_compare_equal_are_not_one() -> None:
    other, flag = Symbol("g", "float", 3), Symbol("b", "bool", 4)
    facts = Facts()
    facts.learn(make("eq", F, other), True)  # 0.0 == -0.0
    facts.learn(make("eq", flag, N), True)  # True == 1
    assert not facts.equalities


def equations() -> st.SearchStrategy[tuple[Scalar, Scalar]]:
    """Any two ints, and those that slices and reshapes make: what is put together from the parts of a number."""

    def parts(value: Scalar, count: int) -> tuple[Scalar, Scalar]:
        return value, make("mul", make("floordiv", value, count), count)

    return st.tuples(ints(1), ints(2)) | st.builds(parts, ints(1), st.integers(2, 4))


@given(st.lists(equations(), min_size=1, max_size=4), st.lists(ints(3), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_names_keep_the_value(pairs: list[tuple[Scalar, Scalar]], values: list[Scalar]) -> None:
    """Whatever is learned in whatever order: where all of it holds, a number and its name are the same number, naming
    ends, and a name's name is itself."""
    facts = Facts()
    for one, other in pairs:
        facts.learn(make("eq", one, other), True)
    parts = [simplify(value) for value in (*values, *(one for pair in pairs for one in pair))]
    for value in parts:
        name = facts.equalities.canonical(value)
        assert facts.equalities.canonical(name) == name
        for env in ENVS:
            if all(outcome(one, env) == outcome(other, env) != "ZeroDivisionError" for one, other in pairs):
                assert outcome(name, env) == outcome(value, env) or outcome(value, env) == "ZeroDivisionError"


def test_a_number_that_is_known_decides_what_is_computed_of_it() -> None:
    facts = Facts()
    facts.learn(make("eq", N, -3), True)
    assert facts.decide(make("eq", make("mod", N, 5), 2)) is True
    assert facts.decide(make("eq", make("floordiv", N, 2), -2)) is True


def test_even_powers_are_not_negative() -> None:
    facts, n, m = Facts(), Symbol("n", "int", 0), Symbol("m", "int", 1)
    square, cube = make("mul", n, n), make("mul", make("mul", n, n), n)
    assert facts.decide(make("ge", square, 0)) is True
    assert facts.decide(make("ge", make("add", square, make("mul", m, m)), 0)) is True
    assert facts.decide(make("ge", make("mul", square, square), 0)) is True
    assert facts.decide(make("ge", cube, 0)) is None
    assert facts.decide(make("ge", make("mul", square, m), 0)) is None
    facts.learn(make("ge", m, 3), True)
    assert facts.decide(make("ge", make("mul", square, m), 0)) is True
    assert facts.decide(make("ge", make("mul", m, m), 9)) is True

"""Equal terms are one object, whoever makes them; what facts know may be asked in any order."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import threading
import weakref

from hypothesis import given
from hypothesis import strategies as st

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import (
    Scalar,
    ScalarOp,
    Symbol,
    is_symbolic,
    kind_of,
    make,
    normal_comparison,
    symbols_of,
    to_polynomial,
)

SIZES = [Symbol(f"s{place}", "int", 0, place) for place in range(3)]
NUMBERS = [Symbol(f"n{place}", "int", 1 + place) for place in range(2)]


def test_equal_terms_are_one_object() -> None:
    assert Symbol("s0", "int", 0, 0) is SIZES[0]
    assert Symbol("s0", "int", 1, 0) is not SIZES[0]
    one, other = (ScalarOp("add", "int", (SIZES[0], ScalarOp("mul", "int", (NUMBERS[0], 3)))) for _ in range(2))
    assert one is other
    assert one is not ScalarOp("add", "float", one.operands)
    assert make("add", SIZES[0], 1) is make("sub", make("add", SIZES[0], 2), 1)


def test_equal_numbers_of_other_types_make_other_terms() -> None:
    f = Symbol("f", "float", 3)
    numbers = (1, 1.0, True, 0, 0.0, -0.0, False, float("nan"))
    terms = [ScalarOp("add", "float", (f, number)) for number in numbers]
    assert len({id(term) for term in terms}) == len(numbers)
    assert [str(term) for term in terms] == [f"add(f, {number})" for number in numbers]


def test_copies_are_the_term_itself() -> None:
    term = ScalarOp("floordiv", "int", (SIZES[0], 2))
    assert copy.copy(term) is copy.deepcopy(term) is pickle.loads(pickle.dumps(term)) is term
    assert copy.deepcopy(SIZES[1]) is pickle.loads(pickle.dumps(SIZES[1])) is SIZES[1]


def test_terms_go_when_nobody_has_them() -> None:
    term = ScalarOp("bitxor", "int", (Symbol("gone", "int", 77), 12345))
    gone = weakref.ref(term), weakref.ref(term.operands[0])
    del term
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_what_is_kept_with_a_term_does_not_keep_it() -> None:
    """By counting references alone: the collector may be off."""
    size = Symbol("gone", "int", 78)
    made = [make(op, make("add", size, 3), 2) for op in ("add", "mul", "floordiv", "mod", "min", "max", "le", "eq")]
    made += [make("neg", size), make("sub", made[2], made[3]), make("lt", made[4], made[5])]
    for one in made:
        if kind_of(one) == "int":
            assert to_polynomial(one)
        else:
            assert isinstance(one, ScalarOp) and normal_comparison(one)
    gone = [weakref.ref(one) for one in (size, *made) if is_symbolic(one)]
    gc.disable()
    try:
        del one, made, size
        make.__globals__["_made"].cache_clear()
        normal_comparison.cache_clear()
        assert [ref() for ref in gone] == [None] * len(gone)
    finally:
        gc.enable()


@given(st.integers(0, 1 << 30))
def test_what_is_kept_with_a_term_is_what_is_found_anew(seed: int) -> None:
    choose = random.Random(seed)
    terms: list[Scalar] = [*SIZES, 0, 1, 2, -3]
    for _ in range(12):
        op = choose.choice(["add", "sub", "mul", "floordiv", "mod", "min", "max", "lt", "ge", "eq"])
        try:
            made = make(op, *choose.choices([one for one in terms if kind_of(one) == "int"], k=2))
        except ZeroDivisionError:  # of two constants
            continue
        if not isinstance(made, ScalarOp):
            continue
        terms.append(made)
        kept = list(to_polynomial(made).items()) if kind_of(made) == "int" else normal_comparison(made)
        normal_comparison.cache_clear()
        work: list[Scalar] = [made]
        while work:
            part = work.pop()
            if isinstance(part, ScalarOp):
                part._polynomial = part._compared = None
                work.extend(part.operands)
        assert kept == (list(to_polynomial(made).items()) if kind_of(made) == "int" else normal_comparison(made))


def test_threads_make_one_term() -> None:
    made: list[list[ScalarOp]] = []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        made.append([ScalarOp("bitor", "int", (NUMBERS[0], number)) for number in range(2000)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a is b for first in made for a, b in zip(first, made[0], strict=True))


def test_names_of_symbols() -> None:
    assert symbols_of(make("add", SIZES[0], make("mul", NUMBERS[0], SIZES[0]))) == {"s0", "n0"}
    assert symbols_of(3) == symbols_of(make("add", 1, 2)) == frozenset()


def condition(draw: random.Random) -> Scalar:
    """A comparison of two numbers, or of sums of them."""
    terms = [*SIZES, *NUMBERS, 0, 1, 2, 3]
    left, right = (make("add", draw.choice(terms), draw.choice(terms)) for _ in range(2))
    return make(draw.choice(["eq", "ne", "le", "ge", "lt", "gt"]), left, right)


@given(st.integers(0, 2**32))
def test_what_was_asked_before_changes_no_answer(seed: int) -> None:
    draw = random.Random(seed)
    asked, silent = Facts(), Facts()
    questions = [condition(draw) for _ in range(12)]
    for _ in range(5):
        fact, truth = condition(draw), draw.random() < 0.7
        if is_symbolic(fact) and silent.copy().decide(fact) is None:
            asked.learn(fact, truth)
            silent.learn(fact, truth)
        for question in questions:
            asked.decide(question)
    assert asked.learned == silent.learned
    assert [asked.decide(one) for one in questions] == [silent.decide(one) for one in questions]
    for place, one in enumerate([*SIZES, *NUMBERS]):
        for other in [*SIZES, *NUMBERS][:place]:
            assert silent.may_equal(one, other) or silent.decide(make("eq", one, other)) is not True

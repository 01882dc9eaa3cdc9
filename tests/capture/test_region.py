"""What a body is told of the numbers that go into it (capture/region.py)."""

from __future__ import annotations

from dynamo_lite.capture.region import _facts
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import Symbol, make


def test_what_is_said_of_a_number_by_another_name_goes_in() -> None:
    """n is even, a is n: that a is 1 mod 3 and at least 7 is said of n, too; of what does not go in nothing is."""
    size, number, other = Symbol("s0", "int", 0, 0), Symbol("n1", "int", 1), Symbol("s2", "int", 2, 0)
    inside = Facts()
    for condition in (
        make("eq", size, number),
        make("eq", make("mul", make("floordiv", size, 2), 2), size),
        make("eq", make("mod", size, 3), 1),
        make("ge", size, 7),
        make("ge", make("add", size, other), 9),
    ):
        inside.learn(condition, True)
    found = _facts(inside, Facts(), [number], {"n1": number})
    assert {str(condition) for condition in found.learned} == {
        *("ge(n1, 0)", "ne(n1, 1)", "ge(floordiv(n1, 2), 4)", "eq(mod(mul(floordiv(n1, 2), 2), 3), 1)")
    }

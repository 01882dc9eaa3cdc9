"""Code whose `while` loops are tested at their bottom does what it did, and stays as it is."""

from __future__ import annotations

import pytest

from dynamo_lite.pycode import decode, decoded, encode
from dynamo_lite.pycode.rotate import rotated
from dynamo_lite.pycode.version import FACTS
from tests.pycode import test_behaviour
from tests.pycode.rewrite import all_codes, rewrite

own = pytest.mark.skipif(FACTS.test_at_bottom, reason="this Python's compiler does it")


def counts(n: int) -> int:
    total = 0
    while total < n and n != 7:
        total += 2
        if total == 8:
            continue
        total += 1
    return total


def test_a_loop_goes_back_to_its_body() -> None:
    code = decoded(counts.__code__)
    jumps = [(index, instr.target) for index, instr in enumerate(code.instrs) if instr.target is not None]
    lines = {code.instrs[target].position[0] for index, target in jumps if target < index}
    first = counts.__code__.co_firstlineno
    assert first + 3 in lines
    assert lines == {first + 3} or FACTS.test_at_bottom  # which leaves `continue` a loop of its own


@own
def test_outcomes_and_lines_stay() -> None:
    changed = test_behaviour.load(rewrite(test_behaviour.ORIGINAL, rotated), "changed")
    for (function, args), (new, _) in zip(test_behaviour.AGAIN.CALLS, changed.CALLS, strict=True):
        assert test_behaviour.outcome(new, args) == test_behaviour.outcome(function, args)
        assert test_behaviour.traced(new, args) == test_behaviour.traced(function, args), function


@own
def test_it_is_done_once() -> None:
    done = 0
    for code in all_codes(test_behaviour.ORIGINAL):
        once = rotated(decode(code))
        done += once != decode(code)
        assert decode(encode(once)) == once
        assert rotated(once) == once
    assert done

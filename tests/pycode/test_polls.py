"""Code with polls does what it did, and hands over where a poll is true."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_lite import _C
from dynamo_lite.pycode import Answers, Code, Loop, decoded, loops, polled, watched_loops

GO_ON = object()


class Poll:
    """Written in Python: true at the rounds that `when` holds, then answers with `answer`."""

    def __init__(self, place: Loop | None, log: list[Any], when: Callable[[int], bool], answer: Any) -> None:
        self.place, self.log, self.when, self.answer, self.asked = place, log, when, answer, 0

    def __bool__(self) -> bool:
        self.asked += 1
        return self.when(self.asked)

    def __call__(self) -> Any:
        self.log.append((self.place and self.place.header, self.asked))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def with_polls(
    function: Any, when: Callable[[int], bool], answer: Any = GO_ON, loops_only: bool = False, together: int = 0
) -> Any:
    """`function` with such polls, and the log of their calls."""
    log: list[Any] = []

    def make_poll(code: Code, loop: Loop | None) -> object | None:
        return None if loop is None and loops_only else Poll(loop, log, when, answer)

    code = polled(function.__code__, make_poll, Answers(GO_ON, _C.drop_frame), together)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made, log


def nested(n: int, *rest: int, scale: int = 2, **more: int) -> Any:
    total, seen = 0, []
    for i in range(n):
        for key, value in zip("abc", (1, 2, 3), strict=True):
            if value == 2:
                continue
            total += i * value
            seen.append(key)
        k = 0
        while k < i:
            k += 1
            total -= len(seen)
    while True:
        total += 1
        if total * scale > 100:
            break
        seen.append(str(total))
    return total, seen, rest, sorted(more.items())


def in_blocks(n: int) -> list[str]:
    out = []
    try:
        for i in range(n):
            out.append(str(10 // (n - i - 2)))
    except ZeroDivisionError as error:
        for word in str(error).split():
            out.append(word.upper())
    finally:
        for i in range(3):
            out.append(str(i))
    with open(__file__) as file:
        for _ in range(2):
            out.append(file.readline()[:3])
    return out


def short(n: int) -> Any:
    total, odd = 0, []
    for i in range(n):
        if i % 7 == 3:
            continue
        total += i * i
        if i > 90:
            break
    else:
        odd.append("ended")
    while total % 50 != 7 and total > 0:
        total -= len(str(total))
        if total % 3 == 0:
            continue
        odd.append(total)
    return total, odd, i


@pytest.mark.parametrize(
    "when", [lambda n: False, lambda n: True, lambda n: n % 3 == 0], ids=["never", "always", "third"]
)
@pytest.mark.parametrize("together", [0, 100, 1000])
@pytest.mark.parametrize(("function", "args"), [(nested, (5, 7, 8)), (in_blocks, (6,)), (short, (99,)), (short, (3,))])
def test_a_frame_that_is_told_to_go_on_gives_what_it_gave(function: Any, args: Any, when: Any, together: int) -> None:
    made, log = with_polls(function, when, together=together)
    assert made(*args) == function(*args)
    assert log or together if when(3) else not log


def test_an_answer_is_what_the_frame_returns() -> None:
    made, log = with_polls(nested, lambda n: n == 2, "the answer", loops_only=True)
    assert made(5) == "the answer"
    assert len(log) == 1


def test_a_frame_that_hands_over_at_its_entry_does_nothing_else() -> None:
    made, _ = with_polls(nested, lambda n: True, None)
    assert made(5) is None


def test_an_exception_of_what_was_handed_over_has_no_entry_of_the_frame() -> None:
    def fails(*_: Any) -> None:
        raise LookupError("no")

    def make_edge(code: Code, loop: Loop | None) -> object | None:
        return None if loop is None else _C.BackEdge(loop, loop.depth, fails, fails)

    code = polled(nested.__code__, make_edge, Answers(_C.GO_ON, _C.drop_frame))
    made = types.FunctionType(code, nested.__globals__, "nested", nested.__defaults__, nested.__closure__)
    made.__kwdefaults__ = nested.__kwdefaults__
    _C.drop_frame(LookupError("another"))  # what an earlier one has left
    with pytest.raises(LookupError) as caught:
        made(3)
    names = [entry.name for entry in caught.traceback]
    assert "nested" not in names and names[-1] == "fails", names


def test_decoded_gives_the_code_without_polls() -> None:
    made, _ = with_polls(nested, lambda n: False)
    assert made.__code__ is not nested.__code__
    assert decoded(made.__code__) == decoded(nested.__code__)


def test_lines_stay() -> None:
    made, _ = with_polls(nested, lambda n: False)
    before = {line for _, line in dis.findlinestarts(nested.__code__) if line is not None}
    assert {line for _, line in dis.findlinestarts(made.__code__) if line is not None} == before


def test_loops_tell_what_stands_around_them() -> None:
    code = decoded(nested.__code__)
    found = loops(code)
    assert [loop.over for loop in found] == ["for", "for", "while", "while"]
    assert [loop.depth for loop in found] == [1, 2, 1, 0]
    assert [loop.outer for loop in found] == [None, found[0].header, found[0].header, None]


def after_a_handler(n: int) -> int:
    total = 0
    for i in range(n):
        try:
            total += 10 // (i - 1)
        except ZeroDivisionError:
            continue  # from the end of the code, where handlers stand
    try:
        total += int("no")
        total += 1
    except ValueError:
        total -= 1  # and leads back, but is no loop
    for i in range(n):
        while total > 100 * i:
            total //= i + 2
    return total


def test_a_handler_that_goes_on_is_part_of_its_loop_only() -> None:
    found = loops(decoded(after_a_handler.__code__))
    assert [(loop.over, loop.depth) for loop in found] == [("for", 1), ("for", 1), ("while", 1)]
    assert [loop.outer for loop in found] == [None, None, found[1].header]
    made, log = with_polls(after_a_handler, lambda n: True)
    assert made(6) == after_a_handler(6)
    assert {place for place, _ in log} == {None, *(loop.header for loop in found)}


def test_code_that_cannot_be_resumed_has_no_polls_in_its_loops() -> None:
    def generator(n: int) -> Any:
        for i in range(n):
            yield str(i)

    assert with_polls(generator, lambda n: True)[0].__code__ is generator.__code__


def test_functions_with_cells_have_polls() -> None:
    def with_cell(n: int) -> Any:
        for i in range(n):
            str(i)
        return lambda: n

    made, log = with_polls(with_cell, lambda n: True)
    assert made(4)() == 4
    assert [header is None for header, _ in log] == [True] + [False] * 4


def test_short_loops_ask_now_and_then() -> None:
    made, log = with_polls(short, lambda n: True, loops_only=True, together=400)
    assert made(99) == short(99)
    found = watched_loops(decoded(short.__code__), 400)
    assert found[0].copies > 3
    asked = [place for place, _ in log]
    assert asked.count(found[0].header) == 92 // found[0].copies


def neighbours(n: int) -> int:
    total = 0
    for i in range(n):
        for dx in (-1, 0, 1):
            for dy in range(-1, 2):
                total += (i + dx) % 3 * dy * dy
        for a, b in [(i, 1), (1, i)]:
            total += a * b
        for _ in range(9):
            total += 1
        for m in range(n):
            total += m
        for k in (1, 2):
            total += abs(k - i)
    return total


def test_inner_loops_of_few_rounds_ask_nothing() -> None:
    made, log = with_polls(neighbours, lambda n: True, loops_only=True)
    assert made(4) == neighbours(4)
    code = decoded(neighbours.__code__)
    names = {loop.header: code.instrs[loop.header + 1].arg for loop in loops(code)}
    assert {names[place] for place, _ in log} == {"i", "_", "m", "k"}
    assert len(names) == 7


def odd_ranges(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(10**30):
            if j > 2:
                break
            total += j
        for j in range(10**30, -(10**30), -(10**30)):
            total += j
        for j in range(3, 0):
            total += j
        try:
            for j in range(1, 2, 3, 4):  # type: ignore[call-overload]
                total += j
        except TypeError:
            total += i
    return total


def test_ranges_without_a_length_and_with_too_many_bounds() -> None:
    made, log = with_polls(odd_ranges, lambda n: True, loops_only=True)
    assert made(4) == odd_ranges(4)
    code = decoded(odd_ranges.__code__)
    outer, endless, *_ = loops(code)
    assert {place for place, _ in log} == {outer.header, endless.header}


def test_all_loops_ask_where_each_round_has_to() -> None:
    log: list[Any] = []

    def make_poll(code: Code, loop: Loop | None) -> object | None:
        return None if loop is None else Poll(loop, log, lambda n: True, GO_ON)

    made = polled(neighbours.__code__, make_poll, Answers(GO_ON, _C.drop_frame), every=True)
    types.FunctionType(made, globals())(4)
    assert len({place for place, _ in log}) == 7


def test_a_tracer_sees_each_round_of_short_loops() -> None:
    def events(function: Any) -> list[Any]:
        seen: list[Any] = []

        def tracer(frame: types.FrameType, event: str, argument: object) -> Any:
            if frame.f_code.co_name != "short":
                return None  # of a poll
            seen.append((event, frame.f_lineno))
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            function(20)
        finally:
            sys.settrace(before)
        return seen

    made, _ = with_polls(short, lambda n: False, together=400)
    assert events(made) == events(short)


def test_inner_functions_have_polls_too() -> None:
    def outer(n: int) -> list[int]:
        def inner(k: int) -> int:
            return k + len(str(k))

        return [inner(i) for i in range(n)]

    made, log = with_polls(outer, lambda n: True)
    assert made(3) == outer(3)
    assert len(log) >= 4


def test_functions_with_few_operations_ask_nothing() -> None:
    def few(x: int) -> int:
        return x + x

    asked: list[object] = []
    answers = Answers(GO_ON, _C.drop_frame)
    assert polled(few.__code__, lambda code, loop: asked.append(loop), answers, least=2) is few.__code__
    assert not asked
    polled(few.__code__, lambda code, loop: asked.append(loop), answers, least=1)
    polled(nested.__code__, lambda code, loop: asked.append(loop), answers, least=1000)
    assert asked.count(None) == 2

"""How many rounds a loop that is running still has, as far as its iterator or its condition tells.

Enters: the iterator of a `for`; of other loops their Code and what its variables hold, at one look and at the next.
Leaves: a number of rounds, or None. Where a comparison of two numbers alone ends a loop, they come nearer to each other
by so much a round, and meet after so many more, or the one gets smaller by a factor each round until it is the other:

    while t < t_end:          # or self.t, ts[-1], t_end - dt; 0.2 after 10 rounds, 0.4 after 20: 30 more to t_end = 1.0
        t += dt
    while error > 1e-6:       # 1e-2 after 100 rounds, 1e-3 after 200: 300 more; or `if error < 1e-6: break`
        error = step(x)

No code of the user's runs here: variables are looked up in dictionaries, and are Python's or NumPy's own numbers.
"""

from __future__ import annotations

import builtins
import gc
import math
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import add, length_hint, mul, sub
from typing import Any, NamedTuple, TypeAlias

from dynamo_lite._C import class_of, own_attribute
from dynamo_lite.module_names import module_of
from dynamo_lite.pycode import Code, Instr, natural_loop, reached, successors

_RANGE_ITERATOR = type(iter(range(1)))
_COUNTED: tuple[type, ...] = (_RANGE_ITERATOR, type(iter([])), type(iter(())))  # iterators that tell how much is left
_SEQUENCE_ITERATOR = type(iter(type("Sequence", (), {"__getitem__": len})()))
_KNOWN = (*_COUNTED, _SEQUENCE_ITERATOR, enumerate, zip)


def items_left(iterator: Any) -> int | None:
    """How many items an iterator still has, as far as can be told; a generator by what it is going over, tqdm's say;
    an enumerate or zip by what is under it.

    NB: a generator's frame's f_locals would tell, too, and up to 3.12 keep all that is in it alive."""
    kind = class_of(iterator)
    if kind in _COUNTED or (kind is _SEQUENCE_ITERATOR and _goes_over_array(iterator)):
        return length_hint(iterator)
    if kind is enumerate or kind is zip:
        under = [one for one in gc.get_referents(iterator) if type(one) is not int]
        items = under[0] if kind is zip and under and type(under[0]) is tuple else under
        counts = [items_left(one) for one in items if class_of(one) in _KNOWN]
        return min((count for count in counts if count is not None), default=None)
    if kind is not types.GeneratorType:
        return None
    return max((length_hint(one) for one in gc.get_referents(iterator) if class_of(one) in _COUNTED), default=None)


def _goes_over_array(iterator: Any) -> bool:
    """Whether an iterator by index is over an array, whose length needs no code of the user's."""
    return any(module_of(class_of(one)) == "numpy" for one in gc.get_referents(iterator))


Comparison: TypeAlias = tuple[tuple[Instr, ...], tuple[Instr, ...]]  # what loads its two numbers
Namespaces: TypeAlias = Sequence[Mapping[str, Any]]


def comparisons(code: Code, header: int) -> tuple[Comparison, ...]:
    """The comparisons by which alone the loop headed by instruction `header` ends, but for the end of its iterator if
    it is a `for`, and unless something is raised; () where it may end by something else."""
    body = natural_loop(code, header, True)
    found = []
    for index in sorted(body):
        after = [place for place in successors(code, index) if place not in body]
        if index == header and code.instrs[index].op == "FOR_ITER":
            continue
        if not any(code.instrs[at].op.startswith("RETURN") for place in after for at in reached(code, place, False)):
            continue
        if not code.instrs[index].op.startswith("POP_JUMP_IF_") or code.instrs[index - 1].op != "COMPARE_OP":
            return ()
        second = _loaded(code, index - 2)
        first = _loaded(code, index - 2 - len(second))
        if code.instrs[index - 1].arg not in ("<", "<=", ">", ">=") or not first or not second:
            return ()
        found.append((first, second))
    return tuple(found)


def _loaded(code: Code, end: int, deep: int = 4) -> tuple[Instr, ...]:
    """What loads a number up to instruction `end`: a variable or an attribute of one, or arithmetic with such, or a
    function or an item of one; () where something else does."""
    last = code.instrs[end] if end >= 0 and deep else None
    if last is not None and last.op == "CALL" and last.arg == 1:
        number = _loaded(code, end - 1, deep - 1)
        before = end - 1 - len(number)
        is_after = before >= 0 and code.instrs[before].op == "PUSH_NULL"  # NB: behind what is called from 3.13 on
        function = _loaded(code, before - is_after, deep - 1) if number else ()
        begin = before - len(function)
        is_called = bool(function) and (is_after or code.instrs[begin].op == "PUSH_NULL")
        return code.instrs[begin : end + 1] if is_called else ()
    if last is not None and (last.op == "BINARY_SUBSCR" or (last.op == "BINARY_OP" and last.arg in _ARITHMETIC)):
        second = _loaded(code, end - 1, deep - 1)
        first = _loaded(code, end - 1 - len(second), deep - 1) if second else ()
        return (*first, *second, last) if first else ()
    begin = end
    while begin > 0 and code.instrs[begin].op == "LOAD_ATTR":
        begin -= 1
    return code.instrs[begin : end + 1] if last is not None and code.instrs[begin].op in _LOADS else ()


def _quotient(first: float, second: float) -> float:
    return first / second if second else math.nan


_ARITHMETIC: dict[Any, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": _quotient}
_LOADS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_CONST")


class Whiles:
    """What was seen of the numbers that loops compare, at the latest look at each loop."""

    def __init__(self) -> None:
        self._comparisons: dict[Hashable, tuple[Comparison, ...]] = {}
        self._seen: dict[Hashable, _Look] = {}

    def rounds_left(
        self, loop: Hashable, find: Callable[[], tuple[Comparison, ...]], names: Namespaces, count: int
    ) -> float | None:
        """How many rounds a loop has left, of which `count` have been; None at the first look, and where they do not
        come nearer. Where they do so ever more slowly, as an error does that gets smaller by a factor each round, it
        is the rounds until it is the number that it is compared with; None where that is 0, which it never is. find:
        its comparisons, asked for once. names: where to look up variables, one after the other."""
        if loop not in self._comparisons:
            self._comparisons[loop] = find()
        compared = self._comparisons[loop]
        if not compared:
            return None
        now = [(_number(_found(names, first)), _number(_found(names, second))) for first, second in compared]
        latest = self._seen.get(loop) or _Look(count, now, [0.0] * len(now))
        rounds = count - latest.rounds
        steps = [_step(*pair, rounds) for pair in zip(latest.numbers, now, strict=True)]
        self._seen[loop] = _Look(count, now, steps)
        left = []
        for before, after, faster, step in zip(latest.numbers, now, latest.steps, steps, strict=True):
            slows = 0.0 < step < _SLOWER * faster
            left.append(rounds * (_times_as_often if slows else _times_as_far)(before, after))
        return min((one for one in left if one > 0.0), default=None)


class _Look(NamedTuple):
    """After how many rounds it was, the numbers that each comparison compared then, and what these had come nearer a
    round since the look before."""

    rounds: int
    numbers: list[tuple[float, float]]
    steps: list[float]


_SLOWER = 0.8  # of what they came nearer a round before


def _step(before: tuple[float, float], now: tuple[float, float], rounds: int) -> float:
    """How much nearer to each other a round has brought two numbers, in the mean."""
    return (abs(before[0] - before[1]) - abs(now[0] - now[1])) / rounds if rounds > 0 else 0.0


def _times_as_far(before: tuple[float, float], now: tuple[float, float]) -> float:
    """How many times as far as two numbers have come nearer to each other it is until they meet; 0 where they have
    not."""
    first, second = before[0] - before[1], now[0] - now[1]
    nearer = abs(first) - abs(second)
    return abs(second) / nearer if first * second > 0.0 and nearer > 0.0 else 0.0


def _times_as_often(before: tuple[float, float], now: tuple[float, float]) -> float:
    """How many times more the one of two numbers that gets smaller is to do so, by the same factor, until it is the
    other one, which stays as it is; 0 where there are no such."""
    for one, other in ((0, 1), (1, 0)):
        first, second, target = before[one], now[one], now[other]
        if before[other] == target and second > target > 0.0 and first / second > 1.0:
            return (math.log(second) - math.log(target)) / math.log(first / second)
    return 0.0


def _found(names: Namespaces, loads: tuple[Instr, ...]) -> Any:
    """What is loaded, if no code of a class's computes it."""
    stack: list[Any] = []
    for instr in loads:
        if instr.op == "PUSH_NULL":
            continue
        if instr.op == "BINARY_OP":
            second, first = stack.pop(), stack.pop()
            value: Any = _ARITHMETIC[instr.arg](_number(first), _number(second))
        elif instr.op == "BINARY_SUBSCR":
            number, items = stack.pop(), stack.pop()
            value = _item(items, _number(number))
        elif instr.op == "CALL":
            number, function = stack.pop(), stack.pop()
            value = _called(function, number)
        elif instr.op != "LOAD_ATTR":
            value = instr.arg if instr.op == "LOAD_CONST" else _value(names, instr.arg)
        elif type(owner := stack.pop()) is types.ModuleType:
            value = vars(owner).get(instr.arg)
        else:
            value = own_attribute(owner, instr.arg, None)
        stack.append(value)
    return stack[-1]


def _value(names: Namespaces, name: str) -> Any:
    return next((values[name] for values in (*names, vars(builtins)) if name in values), None)


def _called(function: Any, value: Any) -> Any:
    """The absolute value of a number, or how many items a list, tuple or array has; None of another function."""
    if function is len:
        known = class_of(value) in (list, tuple) or _is_array(value)
        return len(value) if known and getattr(value, "shape", None) != () else None
    numpy: Mapping[str, Any] = vars(sys.modules.get("numpy", types))
    is_absolute = function is abs or function is math.fabs or function is numpy.get("absolute", len)
    return abs(_number(value)) if is_absolute else None


def _item(items: Any, index: float) -> Any:
    """An item of a list, a tuple, or an array of one axis; None of anything else, and where there is none."""
    if class_of(items) not in (list, tuple) and (not _is_array(items) or items.ndim != 1 or items.dtype.hasobject):
        return None
    return items[int(index)] if index.is_integer() and -len(items) <= index < len(items) else None


def _is_array(value: Any) -> bool:
    return type(value) is getattr(sys.modules.get("numpy"), "ndarray", None)


def _number(value: Any) -> float:
    kind = class_of(value)
    if kind is float or (kind is int and abs(value) < 1 << 62):
        return float(value)
    numpy = sys.modules.get("numpy")
    is_numpys = numpy is not None and any(kind is vars(numpy).get(name) for name in _NUMPYS)
    return float(value) if is_numpys else float("nan")


_NUMPYS = ("float64", "float32", "int64", "int32", "longlong", "intc")

__all__ = ["Comparison", "Whiles", "comparisons", "items_left"]

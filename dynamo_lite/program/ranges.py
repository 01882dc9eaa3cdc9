"""Drops tests that what is known of integers' ranges makes needless: for overflow, for signs, for the ends of arrays.

    v1, v2 = add_or_overflow(i, 1); decline 16 if v2; require 0 <= v3 < n where v3: int64 = v1 from either end
    ->  v1 = add(i, 1); require 0 <= v1 < n                                     (i: the index of range(n))

One walk computes an interval for each integer: of lengths, indices, constants and what is computed of them, narrowed
where a condition holds and after a test. What a loop carries is assumed to stay what it is at first; where its body
says otherwise, the body is gone through again with what it says. Of numbers that are not negative divisions are
unsigned.
INVARIANT: a value is within its interval wherever the program gets to it, as Python's exact ints are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import (
    INDEX,
    Decline,
    DType,
    Element,
    For,
    If,
    Memref,
    Node,
    Note,
    Phi,
    Range,
    Renaming,
    Routine,
    Value,
    View,
    Within,
    renamed,
)

Named: TypeAlias = Value | Memref
Interval: TypeAlias = tuple[int, int]
TRUE, FALSE = Value("True", BOOL, np.True_), Value("False", BOOL, np.False_)
MOST = (1 << 63) - 1
UNSIGNED: DType = np.dtype(np.uint64)
GROWS = 64  # what a loop adds in each round, rather than a bound of what it computes


def ranges(routine: Routine) -> Routine:
    """The routine without needless tests."""
    walk = _Ranges()
    for given in routine.inputs:
        if isinstance(given, Memref):
            for extent in given.extents:
                walk.of[extent] = (0, MOST // given.dtype.itemsize)
    return walk.finish(routine, walk.body(routine.body))


class _Ranges(Renaming):
    """of: intervals of integers. names: what stands for a value. made: which operation made a condition. fitting: by
    the condition that an integer does not fit, its interval where it does. same: the results of operations that are
    known here. changes: how of, names and same were before, to be undone."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[Value, Interval] = {}
        self.made: dict[Value, Element] = {}
        self.fitting: dict[Value, Interval] = {}
        self.same: dict[Hashable, tuple[Value, ...]] = {}
        self.changes: list[tuple[dict[Any, Any], Hashable, Any]] = []

    # What is known

    def interval(self, value: Named) -> Interval:
        assert isinstance(value, Value)
        if value.number is not None:
            return int(value.number), int(value.number)
        return self.of.get(value) or limits(value.dtype)

    def put(self, table: dict[Any, Any], key: Hashable, value: Any) -> None:
        self.changes.append((table, key, table.get(key)))
        table[key] = value

    def undo(self, mark: int) -> None:
        """Forget what was noted since then."""
        while len(self.changes) > mark:
            table, key, before = self.changes.pop()
            if before is None:
                del table[key]
            else:
                table[key] = before

    def narrow(self, value: Value, least: int, most: int) -> None:
        low, high = self.interval(value)
        low, high = max(low, least), min(high, most)
        if value.number is None and low <= high:  # else nothing gets here
            self.put(self.of, value, (low, high))

    def learn(self, condition: Value, holds: bool) -> None:
        """Note what follows from a condition."""
        op = self.made.get(condition)
        if op is None:
            return
        name, operands = op.op, op.operands
        if name.endswith("_or_overflow"):
            if not holds:
                self.narrow(op.results[0], *self.fitting[condition])
        elif name == "logical_not":
            self.learn(operands[0], not holds)
        elif (name == "logical_and" and holds) or (name == "logical_or" and not holds):
            for operand in operands:
                self.learn(operand, holds)
        elif name in _COMPARISONS and all(value.dtype.kind in "iu" for value in operands):
            self.compare(name if holds else _OPPOSITE[name], *operands)

    def compare(self, name: str, a: Value, b: Value) -> None:
        """Note that two integers compare so."""
        (a_low, a_high), (b_low, b_high) = self.interval(a), self.interval(b)
        if name in ("greater", "greater_equal"):
            name = name.replace("greater", "less")
            a, b, a_low, a_high, b_low, b_high = b, a, b_low, b_high, a_low, a_high
        if name in ("less", "less_equal"):
            apart = name == "less"
            self.narrow(a, a_low, b_high - apart)
            self.narrow(b, a_low + apart, b_high)
        elif name == "equal":
            self.narrow(a, b_low, b_high)
            self.narrow(b, a_low, a_high)

    # Nodes

    def body(self, nodes: tuple[Node, ...]) -> list[Node]:
        result: list[Node] = []
        for node in nodes:
            self.node(renamed(node, self.now) if self.names else node, result)
        return result

    def node(self, node: Node, into: list[Node]) -> None:
        if isinstance(node, Element) and node.ufunc is None:
            self.element(node, into)
        elif isinstance(node, Within):
            self.within(node, into)
        elif isinstance(node, Decline):
            if node.condition is not FALSE:
                into.append(node)
                self.learn(node.condition, False)
        elif isinstance(node, Note) and node.condition is FALSE:
            return
        elif isinstance(node, View):
            result = node.result
            extents, strides = (tuple(map(self.value, some)) for some in (result.extents, result.strides))
            if (extents, strides) != (result.extents, result.strides):
                node = replace(node, result=replace(result, extents=extents, strides=strides))
                self.put(self.names, result, node.result)
            into.append(node)
        elif isinstance(node, If):
            self.choice(node, into)
        elif isinstance(node, Range):
            self.range(node, into)
        elif isinstance(node, For):
            self.put(self.of, node.index, (0, self.interval(node.extent)[1]))
            mark = len(self.changes)
            into.append(replace(node, body=tuple(self.body(node.body))))
            self.undo(mark)
        else:
            into.append(node)

    def within(self, node: Within, into: list[Node]) -> None:
        (low, high), (least, most) = self.interval(node.index), self.interval(node.extent)
        if node.result is not None and low < 0:
            into.append(node)
            self.narrow(node.result, 0, most - 1)
            return
        if node.result is not None:
            self.put(self.names, node.result, node.index)
            node = replace(node, result=None)
        into.append(replace(node, tested=True) if low >= 0 and high < least else node)
        self.narrow(node.index, 0, most - 1)

    def choice(self, node: If, into: list[Node]) -> None:
        if node.condition in (TRUE, FALSE):
            into += self.body(node.then if node.condition is TRUE else node.orelse)
            for one in node.results:
                self.put(self.names, one.result, self.now(one.then if node.condition is TRUE else one.orelse))
            return
        sides: list[tuple[Node, ...]] = []
        found: list[list[tuple[Named, Interval]]] = []
        for holds, nodes in ((True, node.then), (False, node.orelse)):
            mark = len(self.changes)
            self.learn(node.condition, holds)
            sides.append(tuple(self.body(nodes)))
            given = [self.now(one.then if holds else one.orelse) for one in node.results]
            found.append([(one, self.interval(one) if _is_integer(one) else (0, 0)) for one in given])
            self.undo(mark)
        results = []
        for one, (then, yes), (orelse, no) in zip(node.results, *found, strict=True):
            results.append(replace(one, then=then, orelse=orelse))
            if _is_integer(one.result):
                self.put(self.of, one.result, (min(yes[0], no[0]), max(yes[1], no[1])))
        into.append(replace(node, then=sides[0], orelse=sides[1], results=tuple(results)))

    def range(self, node: Range, into: list[Node]) -> None:
        ends = [self.interval(end) for end in (node.start, node.end)]
        least, most = node.bounds
        self.put(
            self.of, node.index, (max(least, min(low for low, _ in ends)), min(most, max(high for _, high in ends)))
        )
        counted = [one for one in node.carried if _is_integer(one.value)]
        for one in counted:
            self.put(self.of, one.value, self.interval(one.first))
        for attempt in count():
            mark = len(self.changes)
            supposed = [self.interval(one.value) for one in counted]  # NB: a test in the body may narrow these there
            body = tuple(self.body(node.body))
            steady = [self.steady(one, of, attempt) for one, of in zip(counted, supposed, strict=True)]
            if steady == supposed:
                break
            self.undo(mark)
            self.of.update({one.value: of for one, of in zip(counted, steady, strict=True)})  # type: ignore[misc]
        carried = tuple(replace(one, next=self.now(one.next)) for one in node.carried)
        last = tuple((self.now(inside), after) for inside, after in node.last)
        goes_on = None if node.goes_on is None else self.value(node.goes_on)
        known = {after: self.interval(inside) for inside, after in last if _is_integer(inside)}
        if goes_on is TRUE:
            goes_on = None
        self.undo(mark)
        for after, of in known.items():
            self.put(self.of, after, of)
        into.append(replace(node, body=body, carried=carried, last=last, goes_on=goes_on))

    def steady(self, one: Phi, supposed: Interval, attempt: int) -> Interval:
        """What a carried integer may be, if an iteration makes of it what this one has made. After some attempts it may
        be anything on that side. INVARIANT: not less than was supposed, so that the attempts end."""
        (low, high), (least, most) = supposed, self.interval(self.now(one.next))
        lowest, highest = limits(one.value.dtype)
        if least < low:
            low = 0 if least >= 0 else least if low - least > GROWS and not attempt else lowest
        if most > high:
            high = most if most - high > GROWS and not attempt else highest
        return low, high

    # Operations

    def element(self, node: Element, into: list[Node]) -> None:
        name, operands, result = node.op, node.operands, node.results[0]
        key = (name, operands, tuple(value.dtype for value in node.results))
        if key in self.same:
            for value, other in zip(node.results, self.same[key], strict=True):
                self.put(self.names, value, self.now(other))
            return
        self.put(self.same, key, node.results)
        if result.dtype.kind == "b":
            truth = self.truth(name, operands)
            if truth is not None:
                self.put(self.names, result, TRUE if truth else FALSE)
                return
            self.made[result] = node
        elif result.dtype.kind in "iu" and all(value.dtype.kind in "iub" for value in operands):
            node = self.integer(node, into)
        into.append(node)

    def truth(self, name: str, operands: tuple[Value, ...]) -> bool | None:
        """A condition, where it is known."""
        known = [one is TRUE if one in (TRUE, FALSE) else None for one in operands]
        if name == "logical_not" and known[0] is not None:
            return not known[0]
        if name in ("logical_and", "logical_or"):
            ends = name == "logical_or"
            return ends if ends in known else None if None in known else not ends
        if name not in _COMPARISONS or any(one.dtype.kind not in "iu" for one in operands):
            return None
        (a_low, a_high), (b_low, b_high) = map(self.interval, operands)
        if name in ("equal", "not_equal"):
            apart = a_high < b_low or b_high < a_low
            same = a_low == a_high == b_low == b_high
            return (name == "not_equal") == apart if apart or same else None
        if name.startswith("greater"):
            a_low, a_high, b_low, b_high = b_low, b_high, a_low, a_high
        strict = not name.endswith("equal")
        if a_high < b_low + (not strict):
            return True
        return False if a_low >= b_high + (not strict) else None

    def integer(self, node: Element, into: list[Node]) -> Element:
        """An operation on integers, or what may be done instead."""
        name, operands, result = node.op, node.operands, node.results[0]
        found = self.computed(name.removesuffix("_or_overflow"), [self.interval(one) for one in operands])
        lowest, highest = limits(result.dtype)
        fits = found is not None and lowest <= found[0] and found[1] <= highest
        if name.endswith("_or_overflow"):
            over = node.results[1]
            if fits:
                node = replace(node, op=name.removesuffix("_or_overflow"), results=(result,))
                self.put(self.names, over, FALSE)
            else:
                self.made[over] = node
                self.fitting[over] = (lowest, highest) if found is None else found
        if not fits or found is None:
            return node
        self.put(self.of, result, found)
        divides = name in ("floor_divide", "remainder") and result.dtype == INDEX
        if divides and all(self.interval(one)[0] >= (one is operands[1]) for one in operands):
            return self.unsigned(node, into)
        return node

    def unsigned(self, node: Element, into: list[Node]) -> Element:
        """A division of numbers that are not negative."""
        sides = []
        for value in node.operands:
            number = None if value.number is None else UNSIGNED.type(value.number)
            sides.append(Value(f"{node.results[0].name}.{value.name}", UNSIGNED, number))
            if number is None:
                into.append(Element("cast", (value,), (sides[-1],)))
        quotient = Value(f"{node.results[0].name}.u", UNSIGNED)
        into.append(Element(node.op, tuple(sides), (quotient,)))
        return Element("cast", (quotient,), node.results)

    def computed(self, name: str, given: list[Interval]) -> Interval | None:
        """What an operation may yield, exactly; None where nothing is known."""
        if name == "where":
            return min(given[1][0], given[2][0]), max(given[1][1], given[2][1])
        rule = _RULES.get(name)
        return None if rule is None else rule(given[0], given[-1])


def limits(dtype: DType) -> Interval:
    """The least and the greatest number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    bits = 8 * dtype.itemsize
    return (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _is_integer(one: Named) -> bool:
    return isinstance(one, Value) and one.dtype.kind in "iu"


def _products(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _masked(a: Interval, b: Interval) -> Interval | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _joined(a: Interval, b: Interval) -> Interval | None:
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if a[0] >= 0 and b[0] >= 0 else None


def _shifted(a: Interval, b: Interval) -> Interval | None:
    return (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 64 else None


def _quotient(a: Interval, b: Interval) -> Interval | None:
    if b[0] < 1:
        return None
    corners = [x // y for x in a for y in b]
    return min(corners), max(corners)


def _rest(a: Interval, b: Interval) -> Interval | None:
    if b[0] < 1:
        return None
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)


_RULES: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _products,
    "negative": lambda a, _: (-a[1], -a[0]),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "bitwise_and": _masked,
    "bitwise_or": _joined,
    "bitwise_xor": _joined,
    "right_shift": _shifted,
    "floor_divide": _quotient,
    "remainder": _rest,
    "cast": lambda a, _: a,
}
_OPPOSITE = {
    "less": "greater_equal",
    "greater_equal": "less",
    "greater": "less_equal",
    "less_equal": "greater",
    "equal": "not_equal",
    "not_equal": "equal",
}
_COMPARISONS = frozenset(_OPPOSITE)

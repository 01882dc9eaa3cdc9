"""Computes nothing twice in a routine, and before a loop what it does not change: operations, places, tests.

    range i: v1 = not_equal(n, m); decline 256 if v1; v2 = add(v, 1); ...; v3 = add(v, 1)
    ->  v1 = not_equal(n, m); decline 256 if v1; range i: v2 = add(v, 1); ...

A range has at least one iteration, so what stands in its body, and in no choice there, is done in any case: tests may
come first, and floating-point flags stay what they are. An index that a range counts, or one that differs from that by
what the range does not change, is tested at both ends, before it. Out of a choice goes only what reports nothing, and
only on its way out of a loop. INVARIANT: loads, stores and calls keep their order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import Any, TypeAlias

from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.program.element_ops import BOOL, may_raise
from dynamo_lite.program.ir import (
    INDEX,
    Alloc,
    Decline,
    Element,
    For,
    If,
    Load,
    Memref,
    Node,
    Note,
    Range,
    Renaming,
    Room,
    Routine,
    Store,
    Value,
    View,
    Within,
    defined,
    renamed,
)
from dynamo_lite.program.ranges import FALSE, TRUE

Named: TypeAlias = Value | Memref
TOGETHER = ("add", "subtract")
LOGICAL = ("logical_not", "logical_and", "logical_or")
TRAPS = ("floor_divide", "remainder")  # of integers: the divisor is tested before


@dataclass(frozen=True, slots=True)
class _Counted:
    """An index that goes up or down evenly: the loop's, or an operation on it and what the loop does not change."""

    loop: Range
    level: int
    made_by: Element | None = None


@dataclass(slots=True)
class _Level:
    """A body while it is gone through: what becomes of it, and what is known there. again: a loop's; surely: what
    stands there is done if the node around it is; rare: seldom."""

    again: bool = False
    surely: bool = False
    rare: bool = False
    nodes: list[Node] = field(default_factory=list)
    known: dict[Hashable, tuple[Named, ...]] = field(default_factory=dict)


def share(routine: Routine) -> Routine:
    """The routine without what it does twice."""
    sharing = _Sharing()
    return sharing.finish(routine, sharing.body(routine.body, _Level()))


class _Sharing(Renaming):
    """levels: the bodies around, the outermost first. level_of: where each value is defined; those of the function are
    at 0. names: what stands for a value that is known already. counted: the indices that loops count. elements: what
    was loaded or stored here since something wrote to memory. made: by which operation a condition is."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: list[_Level] = []
        self.level_of: dict[Named, int] = {}
        self.counted: dict[Named, _Counted] = {}
        self.elements: dict[Memref, Value] = {}
        self.made: dict[Value, Element] = {}

    def body(self, nodes: tuple[Node, ...], level: _Level) -> tuple[Node, ...]:
        self.levels.append(level)
        following = iter((*nodes[1:], None))
        for node in nodes:
            node, after = renamed(node, self.now) if self.names else node, next(following)
            if not (isinstance(after, Decline) and isinstance(node, Element) and self.fits(node, after)):
                self.node(node)
        self.levels.pop()
        return tuple(level.nodes)

    def define(self, given: tuple[Named, ...], level: int) -> None:
        self.level_of |= dict.fromkeys(given, level)

    def node(self, node: Node) -> None:
        here = len(self.levels) - 1
        if isinstance(node, Element) and node.ufunc is None:
            known = self.truth(node)
            if known is not None:
                self.names[node.results[0]] = known
                return
            self.once(node, (node.op, *node.operands, *(value.dtype for value in node.results)), node.results)
            self.count(node)
        elif isinstance(node, View):
            result = node.result
            extents, strides = (tuple(map(self.value, some)) for some in (result.extents, result.strides))
            if (extents, strides) != (result.extents, result.strides):
                node = replace(node, result=replace(result, extents=extents, strides=strides))
                self.names[result] = node.result
            self.once(node, ("view", node.source, extents, strides, node.index), (node.result,), result)
        elif isinstance(node, Decline):
            if self.fact(node.condition) is not FALSE:
                self.once(node, ("decline", node.condition), ())
                self.learn(node.condition, False, self.levels[-1])
        elif isinstance(node, Within):
            self.within(node)
        elif isinstance(node, Load) and not node.memref.axes and node.memref in self.elements:
            self.names[node.result] = self.elements[node.memref]
        elif isinstance(node, If) and self.was_asked(node):
            return
        elif isinstance(node, If):
            before = dict(self.elements)
            sides = _Level(rare=node.rare), _Level()
            for level, holds in zip(sides, (True, False), strict=True):
                self.learn(node.condition, holds, level)
            then = self.body(node.then, sides[0])
            after, self.elements = self.elements, dict(before)
            orelse = self.body(node.orelse, sides[1])
            both = (after.items() & self.elements.items()) if node.orelse else after.items()
            self.elements = dict(before.items() & both)
            results = tuple(replace(one, then=self.now(one.then), orelse=self.now(one.orelse)) for one in node.results)
            made = tuple(one.result for one in results)
            self.put(replace(node, then=then, orelse=orelse, results=results), made, here)
        elif isinstance(node, Range):
            self.define((node.index, *(one.value for one in node.carried)), here + 1)
            if node.goes_on is None:
                self.counted[node.index] = _Counted(node, here + 1)
            self.elements = {}
            body = self.body(node.body, _Level(again=True, surely=True))
            carried = tuple(replace(one, next=self.now(one.next)) for one in node.carried)
            last = tuple((self.now(inside), after) for inside, after in node.last)
            goes_on = None if node.goes_on is None else self.value(node.goes_on)
            made = tuple(after for _, after in last)
            self.elements = {}
            self.put(replace(node, body=body, carried=carried, last=last, goes_on=goes_on), made, here)
        elif isinstance(node, For):
            self.define((node.index,), here + 1)
            self.elements = {}
            self.put(replace(node, body=self.body(node.body, _Level(again=True))), (), here)
            self.elements = {}
        else:
            made = (node.memref,) if isinstance(node, Alloc | Room) else ()
            self.elements = self.elements if isinstance(node, Load | Note) else {}
            if isinstance(node, Load | Store) and not node.memref.axes:
                self.elements[node.memref] = node.result if isinstance(node, Load) else node.value
            self.put(node, (*defined(node), *made), here)

    def put(self, node: Node, made: tuple[Named, ...], level: int) -> None:
        self.levels[level].nodes.append(node)
        for one in made:
            self.level_of.setdefault(one, level)

    def once(
        self, node: Element | View | Decline | Within, key: Hashable, made: tuple[Named, ...], *also: Named
    ) -> None:
        """A node that does the same wherever it stands. also: other names of what it makes."""
        for level in self.levels:
            if key in level.known:
                self.names |= zip(made, level.known[key], strict=True)
                self.names |= dict.fromkeys(also, level.known[key][0]) if also else {}
                return
        place = self.place(node)
        self.levels[place].known[key] = made
        self.put(node, made, place)

    def was_asked(self, node: If) -> bool:
        """Whether the same was asked before: a choice that does nothing but decline."""
        if node.results or node.orelse or not all(isinstance(one, Element | Decline) for one in node.then):
            return False
        names: dict[Named, Any] = {}  # of what is computed there, numbers
        asked: list[Hashable] = []
        for one in node.then:
            if isinstance(one, Element):
                asked.append((one.op, one.ufunc, *(names.get(value, value) for value in map(self.now, one.operands))))
                names |= {value: len(names) + number for number, value in enumerate(one.results)}
            elif isinstance(one, Decline):
                asked.append((one.status, names.get(one.condition, self.now(one.condition))))
        key = ("asked", node.condition, *asked)
        if any(key in level.known for level in self.levels):
            return True
        self.levels[-1].known[key] = ()
        return False

    def truth(self, node: Element) -> Named | None:
        """What stands for a condition: where it is known, or is another one."""
        if node.op not in LOGICAL:
            if node.results[0].dtype == BOOL:
                self.made[node.results[0]] = node
            return None
        self.made[node.results[0]] = node
        facts = [self.fact(one) for one in node.operands]
        if node.op == "logical_not":
            return None if facts[0] is None else FALSE if facts[0] is TRUE else TRUE
        ends, other = (TRUE, FALSE) if node.op == "logical_or" else (FALSE, TRUE)
        if ends in facts:
            return ends
        return node.operands[1 - facts.index(other)] if other in facts else None

    def fact(self, condition: Value) -> Value | None:
        """Whether a condition is known to hold here, or not to."""
        if condition in (TRUE, FALSE):
            return condition
        for level in self.levels:
            if ("fact", condition) in level.known:
                return level.known["fact", condition][0]  # type: ignore[return-value]
        return None

    def learn(self, condition: Value, holds: bool, level: _Level) -> None:
        """Note that a condition holds on that level, or that it does not, and what follows."""
        level.known["fact", condition] = (TRUE if holds else FALSE,)
        op = self.made.get(condition)
        if op is not None and op.op == "logical_not":
            self.learn(self.value(op.operands[0]), not holds, level)
        elif op is not None and op.op == ("logical_and" if holds else "logical_or"):
            for operand in op.operands:
                self.learn(self.value(operand), holds, level)

    def fits(self, node: Element, decline: Decline) -> bool:
        """Whether a sum of what is counted, which has to fit, is asked at both ends of the loop instead."""
        name = node.op.removesuffix("_or_overflow")
        if name == node.op or decline.condition is not node.results[1] or node.results[0].dtype != INDEX:
            return False
        counted = self.evenly(node, (*TOGETHER, "multiply"))
        if counted is None or not all(level.surely and not level.rare for level in self.levels[counted.level :]):
            return False
        for end in dict.fromkeys((counted.loop.start, counted.loop.end)):
            made = tuple(Value(f"{one.name}.{end.name}", one.dtype) for one in node.results)
            operands = tuple(end if one is counted.loop.index else one for one in node.operands)
            self.node(replace(node, operands=operands, results=made))
            self.node(replace(decline, condition=self.value(made[1])))
        self.names[node.results[1]] = FALSE
        self.node(replace(node, op=name, results=node.results[:1]))
        return True

    def evenly(self, node: Element, names: tuple[str, ...]) -> _Counted | None:
        """The index that an operation has, beside what its loop does not change."""
        indices = [one for one in node.operands if one in self.counted and self.counted[one].made_by is None]
        if len(indices) != 1 or node.op.removesuffix("_or_overflow") not in names:
            return None
        loop = self.counted[indices[0]]
        others = (self.level_of.get(one, 0) for one in node.operands if one is not indices[0])
        return loop if max(others, default=0) < loop.level else None

    def count(self, node: Element) -> None:
        """Note the result if it is counted, too. NB: one that wraps around is out of range at an end."""
        result = self.now(node.results[0])
        if result.dtype == INDEX and len(node.results) == 1:
            loop = self.evenly(node, TOGETHER)
            if loop is not None:
                self.counted[result] = _Counted(loop.loop, loop.level, node)

    def within(self, node: Within) -> None:
        """A test of an index; of one that is counted both ends are tested."""
        key, counted = ("within", node.index, node.extent), self.counted.get(node.index)
        if node.result is not None:
            self.once(node, ("from either end", node.index, node.extent), (node.result,))
            return
        is_known = any(key in level.known for level in self.levels)
        if counted is None or is_known or self.level_of.get(node.extent, 0) >= counted.level:
            self.once(node, key, ())
            return
        place = self.place(node)
        if place != counted.level:
            self.once(node, key, ())
            return
        for end in dict.fromkeys((counted.loop.start, counted.loop.end)):
            self.node(Within(self._at(end, counted), node.extent))
        self.levels[place].known[key] = ()
        self.put(replace(node, tested=True), (), place)

    def _at(self, end: Value, counted: _Counted) -> Value:
        """What is counted, at that index."""
        made_by = counted.made_by
        if made_by is None:
            return end
        value = Value(f"{made_by.results[0].name}.{end.name}", INDEX)
        operands = tuple(end if one is counted.loop.index else one for one in made_by.operands)
        self.node(replace(made_by, operands=operands, results=(value,)))
        return self.value(value)

    def place(self, node: Element | View | Decline | Within) -> int:
        """The level where a node goes: before the outermost loop that does not change it."""
        least = max((self.level_of.get(one, 0) for one in _needed(node)), default=0)
        found = level = len(self.levels) - 1
        while level > least:
            around = self.levels[level]
            if around.rare or not (around.surely or _is_quiet(node)):
                break
            level -= 1
            found = level if around.again else found
        return found


def _needed(node: Element | View | Decline | Within) -> tuple[Named, ...]:
    if isinstance(node, Element):
        return node.operands
    if isinstance(node, View):
        return (node.source, *node.index, *node.result.extents, *node.result.strides)
    return (node.condition,) if isinstance(node, Decline) else (node.index, node.extent)


def _is_quiet(node: Node) -> bool:
    """Whether it may be done though the program does not do it."""
    if isinstance(node, Element):
        return node.op not in TRAPS and not may_raise(node.op, node.in_dtypes, node.dtypes)
    return isinstance(node, View) and bool(node.result.axes)  # one element is only looked for at a tested index

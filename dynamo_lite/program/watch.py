"""Notes where NumPy may have other bits: where two NaNs meet of which it keeps the one or the other, or in doubt.

    v2 = add(v0, v1); store r0[i] = v2  ->  v2 = add(v0, v1); v2.nan = unordered(v2, v2); note v2.nan: 2; store ...

A plain watch looks whether a result is NaN at all: arithmetic on NaN is NaN, so the last value of a chain tells of all.
A strict one looks whether NaNs with other bits go in (ALIKE). Where all that go in are alike, so are all that meet, but
for one that arises in the midst: the processor notes an invalid operation then (csrc/program/errstate.c), and the
program asks for code that looks whether they differ from the processor's own NaN (ARISEN). Where NaNs that go in differ
it asks for a look at the operands of each operation (EACH).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import PLAIN_CLIP, STEPS
from dynamo_lite.program.ir import (
    DType,
    Element,
    For,
    Function,
    Keep,
    Load,
    Node,
    Note,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    walk,
)
from dynamo_lite.program.nans import gives_any_nan, is_doubtful, meeting, meets_nan, spreads_nan, strict_test

BOOL: DType = np.dtype(np.bool_)

PLAIN, ALIKE, ARISEN, EACH = range(4)


def watch(function: Function, strict: int) -> Function:
    """The function that says what it met; strict: any NaN (PLAIN), or NaNs that may be unlike."""
    ops = [node for node in walk(function.body) if isinstance(node, Element)]
    if not any(meets_nan(op) or is_doubtful(op) for op in ops):
        return function  # what is noted already has a plain watch's status, or a strict one's
    watcher = _Watcher(strict, abi.RETURNED_NAN if strict else abi.RETURNED_MET_NAN)
    return replace(function, body=watcher.steps(function.body))


class _Watcher:
    def __init__(self, strict: int, status: int) -> None:
        self.strict = strict
        self.status = status

    def steps(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """What stands in no loop over elements: loads of numbers, and such loops."""
        result: list[Node] = []
        numbers = {node.result for node in nodes if isinstance(node, Load) and node.memref.space == "operand"}
        numbers |= {node.results[0] for node in nodes if isinstance(node, Element) and node.op in ("real", "imag")}
        for node in nodes:
            if isinstance(node, Tiles) or (isinstance(node, For) and _calls(node)):
                result.append(replace(node, body=self.steps(node.body)))
            elif isinstance(node, For):
                met: dict[Value, None] = {}
                loop = self.loop(node, numbers, met)
                result += self.tests(list(met))
                result.append(loop)
            else:
                result.append(node)
        return tuple(result)

    def test(self, value: Value) -> tuple[Node, Node]:
        """A test whether a value is NaN."""
        return self.test_two(value, value)

    def tests(self, values: Sequence[Value]) -> list[Node]:
        """Tests whether any of the values is NaN, of two at a time."""
        by_dtype: dict[DType, list[Value]] = {}
        for value in values:
            by_dtype.setdefault(value.dtype, []).append(value)
        result: list[Node] = []
        for alike in by_dtype.values():
            others = alike[1::2] + alike[-1:] * (len(alike) % 2)
            for value, other in zip(alike[::2], others, strict=True):
                result += self.test_two(value, other)
        return result

    def test_two(self, value: Value, other: Value) -> tuple[Node, Node]:
        """A test whether one of two values is NaN."""
        found = Value(f"{value.name}.nan", BOOL)
        return Element("unordered", (value, other), (found,)), Note(found, self.status)

    def loop(self, loop: For, numbers: set[Value], met: dict[Value, None]) -> For:
        """A loop over elements; met: gets those of the numbers before it that must be no NaN."""
        ops = [node for node in loop.body if isinstance(node, Element)]
        inner = next((node for node in loop.body if isinstance(node, For)), None)
        if inner is None:
            found, single = tests_of(ops, numbers)
            notes = self.notes(loop.body, found, numbers, met)
            met |= {} if self.strict else single
            return replace(loop, body=self.after_ops(loop.body, notes))
        if not inner.carried and not inner.last:  # over the elements of a row
            return replace(loop, body=_replaced(loop.body, inner, (self.loop(inner, numbers, met),)))
        ops = [node for node in inner.body if isinstance(node, Element)]
        found, lasting, single = _lasting_tests(ops, numbers, inner)
        met |= {} if self.strict else single
        last = dict(inner.last) | {
            value: Value(f"{value.name}.n", value.dtype) for value in lasting if value not in dict(inner.last)
        }
        around = tuple(node for node in loop.body if isinstance(node, Load))
        body = self.after_ops(inner.body, self.notes((*around, *inner.body), found, numbers, met))
        changed = replace(inner, body=body, last=tuple(last.items()))
        after = [one for value in lasting for one in self.test(last[value])] if not self.strict else []
        return replace(loop, body=_replaced(loop.body, inner, (changed, *after)))

    def after_ops(self, nodes: tuple[Node, ...], added: list[Node]) -> tuple[Node, ...]:
        """The nodes with some before the stores."""
        at = next((place for place, node in enumerate(nodes) if isinstance(node, Store | Keep)), len(nodes))
        return (*nodes[:at], *added, *nodes[at:])

    def notes(
        self, nodes: Sequence[Node], tests: list[Value], numbers: set[Value], met: dict[Value, None]
    ) -> list[Node]:
        """What is noted of the operations of a loop's body; tests: by a plain watch. nodes: these, and loads."""
        ops = [node for node in nodes if isinstance(node, Element)]
        result: list[Node] = []
        if not self.strict:
            result += self.tests(tests)
        for op in filter(meets_nan, ops if self.strict else ()):
            if self.strict == EACH or op.op in STEPS:
                result += self.noted(f"{op.results[0].name}.met", *strict_test(op))
        if self.strict in (ALIKE, ARISEN):
            constants = [node for node in nodes if isinstance(node, Load) and node.memref.space == "constant"]
            known = {node.result for node in constants if node.memref.number == node.memref.number}
            for group in meeting(ops, known):
                met |= dict.fromkeys(value for value in group if value in numbers) if len(group) > 1 else {}
                moving = [value for value in group if value not in numbers]
                result += self.from_arisen(moving) if self.strict == ARISEN else self.differ(moving)
        for op in filter(is_doubtful, ops):
            status = abi.RETURNED_MET_CLIPPED if op.op == PLAIN_CLIP else abi.RETURNED_MET_DOUBT
            result.append(Note(op.results[1], status))
        return result

    def noted(self, name: str, test: str, operands: tuple[Value, ...]) -> list[Node]:
        found = Value(name, BOOL)
        return [Element(test, operands, (found,)), Note(found, self.status)]

    def from_arisen(self, values: list[Value]) -> list[Node]:
        """Tests whether a value is a NaN that differs from those that arise."""
        return [one for value in values for one in self.noted(f"{value.name}.met", "no_arisen_nan", (value,))]

    def differ(self, values: list[Value]) -> list[Node]:
        """Tests whether two of the values are NaNs that differ."""
        result: list[Node] = []
        one = values[0] if values else None
        for place, other in enumerate(values[1:], 1):
            assert one is not None
            name = f"{other.name}.{place}"
            result += self.noted(f"{name}.met", "nans_differ", (one, other))
            if place + 1 < len(values):  # the NaN among those so far
                is_nan, either = Value(f"{name}.nan", BOOL), Value(f"{name}.either", one.dtype)
                result.append(Element("unordered", (one, one), (is_nan,)))
                result.append(Element("where", (is_nan, one, other), (either,)))
                one = either
        return result


def _calls(loop: For) -> bool:
    return any(isinstance(node, NumpyLoop) for node in walk(loop.body))


def _replaced(nodes: tuple[Node, ...], old: Node, new: tuple[Node, ...]) -> tuple[Node, ...]:
    at = next(place for place, node in enumerate(nodes) if node is old)
    return (*nodes[:at], *new, *nodes[at + 1 :])


def tests_of(ops: Sequence[Element], numbers: set[Value]) -> tuple[list[Value], dict[Value, None]]:
    """Values that are NaN if NumPy may have another NaN somewhere, and numbers that must be no NaN for that."""
    spreading: dict[Value, Element] = {}  # of a value, the first operation that hands its NaN on
    for op in reversed(ops):
        if spreads_nan(op):
            spreading |= dict.fromkeys(op.operands, op)
    pending: set[Value] = set()
    tests: list[Value] = []
    met: dict[Value, None] = {}
    for op in ops:
        value = op.results[0]
        if meets_nan(op):
            single = dict.fromkeys(operand for operand in op.operands if operand in numbers)
            met |= single
            if len(set(op.operands)) - len(single) > 1:
                pending.add(value)
        elif gives_any_nan(op):
            pending.add(value)
        if value in pending:
            if value in spreading:
                pending.add(spreading[value].results[0])
            else:
                tests.append(value)
    return tests, met


def _lasting_tests(
    ops: list[Element], numbers: set[Value], loop: For
) -> tuple[list[Value], list[Value], dict[Value, None]]:
    """Values to test in each iteration, results to test in the end, and numbers that must be no NaN.

    A value is lasting if a NaN in it makes NaN of a lasting value of this or the next iteration, on and on.
    """
    following: dict[Value, set[Value]] = {value: set() for op in ops for value in op.operands}
    following |= {value: set() for op in ops for value in op.results}
    for op in filter(spreads_nan, ops):
        for value in op.operands:
            following[value].add(op.results[0])
    for one in loop.carried:
        following.setdefault(one.value, set())
        if one.next.dtype.kind == "f":
            following.setdefault(one.next, set()).add(one.value)
    lasting = set(following)
    while (left := {value for value in lasting if following[value] & lasting}) != lasting:
        lasting = left
    tests, single = tests_of(ops, numbers)
    met = {
        op.results[0]
        for op in ops
        if gives_any_nan(op) or (meets_nan(op) and len(set(op.operands) - set(single)) > 1)
    }
    reached: set[Value] = set()
    todo = list(met & lasting)
    while todo:
        value = todo.pop()
        if value not in reached:
            reached.add(value)
            todo += following[value] & lasting
    shown = [inside for inside, _ in loop.last] + [node.value for node in loop.body if isinstance(node, Store)]
    in_the_end = [value for value in dict.fromkeys(shown) if value in reached]
    return [] if met <= lasting else tests, in_the_end, single

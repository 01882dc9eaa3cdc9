"""Loops as routines: what one means is what its step means, what is no sound one is refused, some as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import routine_of
from dynamo_lite.backends.kernels.loops import same_values
from dynamo_lite.backends.numba.emit_loop import emit_loop

import dynamo_lite
from dynamo_lite.config import config
from dynamo_lite.program import ir
from dynamo_lite.program.ir import Node, Routine, Value, inner, walk
from dynamo_lite.program.text import to_text
from dynamo_lite.program.verify import Unsound, verify
from dynamo_lite.schedule.steps import Machine
from tests.program.routines import both, collected
from tests.programs import random_elements
from tests.programs.test_matrix_loops import PROGRAMS, VECTORS

GOLDEN = Path(__file__).with_name("routines.txt")


def recurrence(x, a, n):  # type: ignore[no-untyped-def]
    for i in range(1, n):
        x[i] = x[i - 1] * a + i


def counted(x, k, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        k = k * 3 // 2 if x[i % 8] > 0.5 else k - i
    return k


def until(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = x * 0.5 + 1.0
        if np.abs(y - x).max() < 1e-6:
            break
        x = y
    return x


def triangle(a, n):  # type: ignore[no-untyped-def]
    s = a[0, 0]
    for i in range(n):
        for j in range(i):
            s = s + a[i, j]
    return s


def appended(x, n):  # type: ignore[no-untyped-def]
    found = []
    for i in range(n):
        found.append(x[i] * 2.0)
    return found


def drawn(x, rng, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        if rng.random() < 0.5:
            s = s + rng.normal(s, 0.5)
        x[i] = rng.standard_normal(3).sum() + rng.integers(i + 1)
    return s


def arguments(name: str) -> tuple[Any, ...]:
    x = np.arange(8.0)
    return {
        "recurrence": (x, 0.5, 6),
        "counted": (x, 3, 6),
        "until": (x, 9),
        "triangle": (np.outer(x, x), 5),
        "appended": (x, 5),
        "drawn": (x, np.random.default_rng(5), 5),
    }[name]


FUNCTIONS = {function.__name__: function for function in (recurrence, counted, until, triangle, appended, drawn)}


def routine(name: str) -> Routine:
    ((machine, classes),) = collected(FUNCTIONS[name], *arguments(name))
    return routine_of(machine, classes)


def test_golden(request: pytest.FixtureRequest) -> None:
    """``make golden`` writes it again."""
    found = "\n".join(f"# {name}\n{to_text(routine(name))}\n" for name in FUNCTIONS)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


def require_same(machine: Machine, classes: str, seed: int) -> bool:
    """Evaluate the routine and interpret the step; whether the routine ran."""
    with config.patch(check=1):
        found = both(machine, classes, seed)
    if found is None:
        return False
    ended, outputs, one, other = found
    for (value, origin), output in zip(ended.results, outputs, strict=True):
        assert origin == 0 or origin >= 64 or output is other[origin - 1]
        assert same_values(np.asarray(value), np.asarray(output))
    for left, right in zip(one, other, strict=True):
        if isinstance(left, np.ndarray):
            assert same_values(left, right)
        elif isinstance(left, list):
            assert len(left) == len(right)
            for item, expected in zip(left, right, strict=True):
                assert type(item) is type(expected) and same_values(np.asarray(item), np.asarray(expected))
        elif isinstance(left, np.random.Generator):
            assert left.random() == right.random()
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_arrays(name: str) -> None:
    x, y = np.linspace(0.1, 0.9, 6), np.linspace(0.4, 0.2, 6)
    if name not in VECTORS:
        x, y = x[:4].repeat(4).reshape(4, 4) + np.eye(4), y[:4].repeat(4).reshape(4, 4)
    machines = collected(PROGRAMS[name], x, y, 4)
    ran = [require_same(*machine, seed) for machine in machines for seed in range(3)]
    assert any(ran)


def test_of_elements() -> None:
    ran = 0
    for seed in range(60):
        function = random_elements.function(seed)
        for machine, classes in collected(function, *random_elements.arguments(seed, 6)):
            ran += sum(require_same(machine, classes, other) for other in range(3)) > 0
    assert ran > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_functions(name: str) -> None:
    ((machine, classes),) = collected(FUNCTIONS[name], *arguments(name))
    assert require_same(machine, classes, 1) or name == "counted"


Change = Callable[[Node], Node]


def changed(nodes: tuple[Node, ...], change: Change) -> tuple[Node, ...]:
    result = []
    for node in nodes:
        if isinstance(node, ir.If):
            node = replace(node, then=changed(node.then, change), orelse=changed(node.orelse, change))
        elif inner(node):
            node = replace(node, body=changed(node.body, change))  # type: ignore[union-attr]
        result.append(change(node))
    return tuple(result)


UNKNOWN, NUMBER = Value("unknown", np.dtype(np.int64)), Value("seven", np.dtype(np.int64), np.int64(7))
UNSOUND: dict[str, tuple[str, type[Node], Callable[..., Node]]] = {
    "not defined here": ("recurrence", ir.Within, lambda node: replace(node, index=UNKNOWN)),
    "was not tested": ("recurrence", ir.Within, lambda node: replace(node, extent=NUMBER)),
    "holds another dtype": ("recurrence", ir.Store, lambda node: replace(node, value=NUMBER)),
    "reached by a view": ("recurrence", ir.Load, lambda node: replace(node, index=(NUMBER,))),
    "a condition is a bool": ("recurrence", ir.Decline, lambda node: replace(node, condition=NUMBER)),
    "no node": ("recurrence", ir.Within, lambda node: ir.Keep(NUMBER)),
    "defined twice": ("recurrence", ir.Within, lambda node: ir.Alloc(CELL[0])),
    "no such room": ("until", ir.Swap, lambda node: ir.Swap(7, 8)),
    "no such function": ("until", ir.Helper, lambda node: replace(node, name="none")),
    "arrays of one shape": ("until", ir.Launch, lambda node: replace(node, reads=3 * CELL)),
    "of other dtypes": ("until", ir.Launch, lambda node: replace(node, reads=())),
    "fold is of a vector": ("until", ir.Fold, lambda node: replace(node, memref=CELL[0])),
    "one dtype": ("until", ir.Range, lambda node: replace(node, carried=(WRONG, *node.carried[1:]))),
    "not defined in the body": ("until", ir.Range, lambda node: replace(node, last=((UNKNOWN, WRONG.value),))),
    "one outermost loop": ("triangle", ir.Range, lambda node: replace(node, outermost=True)),
    "an index is an int64": ("triangle", ir.Range, lambda node: replace(node, index=WRONG.first)),
    "has one dtype": ("triangle", ir.If, lambda node: replace(node, results=(ir.Joined(WRONG.first, NUMBER, NUMBER),))),
}
CELL = (ir.Memref("cell", np.dtype(float), (), (), "cell"),)
WRONG = ir.Phi(Value("wrong", np.dtype(np.int64)), Value("first", np.dtype(np.int8), np.int8(1)), NUMBER)


@pytest.mark.parametrize("why", UNSOUND)
def test_what_is_refused(why: str) -> None:
    name, kind, change = UNSOUND[why]
    sound = routine(name)
    verify(sound)
    extra = (ir.Alloc(CELL[0]),)
    body = changed((*extra, *sound.body), lambda node: change(node) if isinstance(node, kind) else node)
    with pytest.raises(Unsound, match=why):
        verify(replace(sound, body=body))


def test_what_is_no_operation_is_not_written() -> None:
    sound = routine("recurrence")
    assert any(isinstance(node, ir.Range) for node in walk(sound.body))
    with pytest.raises(NotImplementedError):
        emit_loop(replace(sound, body=(ir.Keep(NUMBER),)))


def test_share_moves_out_of_loops() -> None:
    def doubled(x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = np.repeat(x, 2)[: len(x)] * 0.5
        return x

    ((machine, classes),) = collected(doubled, np.arange(8.0), 9)
    lines = to_text(routine_of(machine, classes)).splitlines()
    loop = next(place for place, line in enumerate(lines) if line.startswith("  range"))
    assert [line for line in lines[:loop] if "greater(" in line] and not lines[0].startswith(" ")
    assert sum("greater(" in line for line in lines) == 1


def test_share_keeps_what_only_a_choice_does() -> None:
    """A test, a division and what may report stay where they are; what cannot does not."""

    def fn(x, a, k, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            if x[i] > 0.5:
                x[i] = x[k] * (1.0 / a[0]) + 7 // k

    ((machine, classes),) = collected(fn, np.arange(8.0), np.arange(1.0, 4.0), 2, 6)
    (loop,) = (node for node in routine_of(machine, classes).body if isinstance(node, ir.Range))
    (choice,) = (node for node in loop.body if isinstance(node, ir.If) and not node.rare)
    within = {node.op for node in walk(choice.then) if isinstance(node, ir.Element)}
    assert {"divide", "multiply", "floor_divide"} <= within
    assert any(isinstance(node, ir.Within) for node in choice.then)


def test_share_tests_an_index_at_the_ends_of_its_loop() -> None:
    """Also one beside it; not in a choice, nor where the loop may end before."""

    def fn(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            for j in range(i, n):
                x[j] = y[j + 1] * x[n - j - 1]
                if x[j] > 0.5:
                    x[j] = y[2 * j]

    ((machine, classes),) = collected(fn, np.zeros(8), np.ones(9), 6)
    lines = [line.strip() for line in to_text(routine_of(machine, classes)).splitlines()]
    inner = max(place for place, line in enumerate(lines) if line.startswith("range"))
    assert sum(line.startswith("assume") for line in lines[inner:]) == 2
    assert sum(line.startswith("require") for line in lines[inner:]) == 2  # n - j - 1 is two operations away

    def ended(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            if x[i] > 0.5:
                break
            x[i] = 1.0

    ((machine, classes),) = collected(ended, np.zeros(8), 6)
    assert "assume" not in to_text(routine_of(machine, classes))


def test_promote_keeps_an_element_in_a_register() -> None:
    def fn(c, a, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            for k in range(n):
                c[i] += a[i, k] * c[k]

    ((machine, classes),) = collected(fn, np.ones(4), np.ones((4, 4)), 4)
    (outer,) = (node for node in routine_of(machine, classes).body if isinstance(node, ir.Range))
    (inner,) = (node for node in walk(outer.body) if isinstance(node, ir.Range))
    (kept,) = (one for one in inner.carried if one.again is not None)
    (store,) = (node for node in inner.body if isinstance(node, ir.Store))
    assert store.memref is kept.again and store.value is kept.next
    assert not any(isinstance(node, ir.Load) and node.memref is kept.again for node in walk(inner.body))

    def two(c, d, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            c[0] += d[0]
            d[0] += 1.0

    ((machine, classes),) = collected(two, np.ones(4), np.ones(4), 4)
    (loop,) = (node for node in routine_of(machine, classes).body if isinstance(node, ir.Range))
    assert not any(one.again for one in loop.carried)


def columns(a, b, n):  # type: ignore[no-untyped-def]
    for k in range(1, n):
        a[:, :, k] = np.minimum(a[:, :, k], a[:, :, k - 1] + b[k])
        a[1:, 0, k] = a[1:, 0, -k] * 2.0


def moved(a, b, n):  # type: ignore[no-untyped-def]
    for k in range(1, n):
        a[1:, :, k] = a[:-1, :, k - 1] + b[k]  # apart, but for one who looks at the slices only
        a[:, 1:, k] = a[:, :-1, k] * 0.5


@pytest.mark.parametrize(("function", "copies"), [(columns, 0), (moved, 1)])
def test_what_lies_at_another_place_along_an_axis_is_written_at_once(
    function: Callable[..., Any], copies: int
) -> None:
    random = np.random.default_rng(2)
    ((machine, classes),) = collected(function, random.random((4, 4, 6)), random.random(6), 6)
    assert to_text(routine_of(machine, classes)).count("call copy") == copies
    assert any(require_same(machine, classes, seed) for seed in range(5))
    for n in (1, 2, 6):
        a, b = random.random((4, 4, n)), random.random(n)
        expected = a.copy()
        function(expected, b, n)
        dynamo_lite.compile(function, options={"cost_model": False})(a, b, n)
        assert a.tobytes() == expected.tobytes()

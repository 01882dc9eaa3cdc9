"""Columns of attributes (csrc/guards/columns.c): arrays of what all objects in a list have under a name, and the way
back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from dynamo_lite._C import Objects, all_differ, all_lack, column, put_column


class Plain:
    """Attributes that lie beside the object."""

    def __init__(self, x: Any, n: Any = 1) -> None:
        self.x = x
        self.n = n


class Slotted:
    """Attributes in slots."""

    __slots__ = ("n", "x")
    __init__ = Plain.__init__


class Both(Plain):
    """Slots and a dictionary."""

    __slots__ = ("m",)


def made(kind: str, values: list[Any]) -> list[Any]:
    objects: list[Any] = [(Slotted if kind == "slots" else Both if kind == "both" else Plain)(one) for one in values]
    for one in objects[1::2] if kind == "dictionaries" else ():
        vars(one)["later"] = 1
    return objects


KINDS = ("beside", "slots", "both", "dictionaries")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_read_and_stored(kind: str) -> None:
    objects = made(kind, [1.5, 2.5, -0.0, float("nan")])
    before = [one.x for one in objects]
    values, marks = column(objects, "lax;f"), column(objects, "lax;m")
    assert values is not None and marks is not None
    assert values.tobytes() == np.array(before).tobytes() and not marks.any()
    values[1:3] = 7.0, 8.0
    marks[2] = 1
    put_column("lax;f", marks, None, values)
    assert objects[2].x == 8.0 and all(objects[place].x is before[place] for place in (0, 1, 3))
    assert before[2] == 0.0  # which somebody else had


def test_floats_that_nobody_else_has_are_used_again() -> None:
    objects = made("beside", [1.5, 2.5])
    values, marks = column(objects, "lax;f"), column(objects, "lax;m")
    assert values is not None and marks is not None
    held = objects[1].x
    values += 1.0
    marks += 1
    put_column("lax;f", marks, None, values)
    assert [one.x for one in objects] == [2.5, 3.5] and held == 2.5


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_numbers(kind: str) -> None:
    mixed = made(kind, [1.5, 3, 2**62])
    assert [column(mixed, f"lax;{letter}") for letter in "fib"] == [None] * 3
    arrays = [column(mixed, f"lax;{letter}") for letter in "FIk"]
    assert [one.tolist() for one in arrays if one is not None] == [[1.5, 0.0, 0.0], [0, 3, 2**62], [1, 0, 0]]
    floats, ints, kinds = (one for one in arrays if one is not None)
    marks = column(mixed, "lax;m")
    assert marks is not None
    marks[:2] = 1
    kinds[:2], ints[0], floats[1] = (0, 1), 70000, 0.5
    put_column("lax;n", marks, None, floats, ints, kinds)
    assert [(type(one.x), one.x) for one in mixed] == [(int, 70000), (float, 0.5), (int, 2**62)]
    assert all(column(made(kind, [1.5, other]), "lax;I") is None for other in (2**64, True, "a", np.float64(1.0)))
    truths = column(made(kind, [True, False]), "lax;b")
    assert truths is not None and truths.tolist() == [1, 0]
    assert column(made(kind, [True, 1]), "lax;b") is None


def test_what_is_not_there_makes_no_column() -> None:
    objects = made("beside", [1.0, 2.0])
    assert column(objects, "lay;f") is None and column([*objects, Slotted(1.0)], "lax;f") is None
    assert column((objects,), "lax;f") is None and column([objects], "lax;f") is None
    assert column([objects, []], "llax;f") is not None
    del objects[1].x
    assert column(objects, "lax;f") is None
    for path in ("lax", "lax;", "lax;q", "la;f", "lax;ff", "ax;f"):
        with pytest.raises(ValueError, match="is no path"):
            column(objects, path)


def test_few_objects_are_known_by_identity() -> None:
    texts = "in a text", "".join(["in a ", "text"])
    objects = made("beside", [texts[0], None, texts[0]])
    path = ("lax;o", None, texts[0], 5)
    codes = column(objects, path)
    assert codes is not None and codes.tolist() == [1, 0, 1]
    codes[:] = 0, 2, 1
    put_column(path, None, None, codes)
    assert [one.x for one in objects] == [None, 5, texts[0]]
    objects[0].x = texts[1]
    assert column(objects, path) is None
    codes[0] = 3
    with pytest.raises(RuntimeError, match="have changed"):
        put_column(path, None, None, codes)


def test_tags_say_which_objects_numbers_are() -> None:
    """Two objects exchange their numbers, which nobody else has; a third gets one of a table, a fourth a new one."""
    objects = made("slots", [float(place) for place in range(10, 15)])
    addresses = [id(one.x) for one in objects]
    values, tags = column(objects, "lax;f"), column(objects, "lax;@")
    assert values is not None and tags is not None
    tags[:2], tags[2:4] = tags[1::-1].copy(), (-1, 0)
    values[3] = 99.0
    first = float("2.5")
    put_column("lax;f", tags, Objects(first), values)
    assert [id(one.x) for one in objects[:2]] == addresses[1::-1] and id(objects[4].x) == addresses[4]
    assert objects[2].x is first and objects[3].x == 99.0


def test_arrays_let_go_of_what_they_hold() -> None:
    objects = made("beside", [1.0])
    gone = weakref.ref(objects[0])
    arrays = [column(objects, f"lax;{letter}") for letter in "fm@"]
    del objects, arrays
    gc.collect()
    assert gone() is None


def test_all_differ() -> None:
    one, other = made("beside", [1.0] * 40), made("beside", [1.0] * 3)
    one.sort(key=lambda each: hash(str(id(each))))  # not in the order of their addresses
    assert all_differ(one, one) and all_differ(one, other) and all_differ([one, other], Plain(1.0))
    assert not all_differ([*one, one[7]], 1) and not all_differ(one, one[3]) and not all_differ([one, one[:1]], 1)
    assert not all_differ(one, [other, [one[0]]])


@pytest.mark.parametrize("kind", KINDS)
def test_all_lack(kind: str) -> None:
    objects = made(kind, [1.0, 2.0])
    assert all_lack(objects, "lay;m") and not all_lack(objects, "lax;m")
    if kind != "slots":
        objects[1].y = 1
        assert not all_lack(objects, "lay;m") and all_lack(objects[:1], "lay;m")
    assert not all_lack([*objects, 3], "lay;m")


def test_columns_are_those_of_the_beginning() -> None:
    """What a program has written does not change what its inputs were (csrc/program/world.c)."""
    objects = made("beside", [1.0, 2.0])
    first, second = column(objects, "lax;f"), column(objects, "lax;f")
    assert first is not None and second is not None and first.base is not None
    first[0] = 9.0
    assert first.base[1] == second.base[1]

"""Columns of arrays that objects have (csrc/guards/array_columns.c), and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynamo_lite._C import are_apart, column, put_column


class Thing:
    """What has an array."""

    def __init__(self, p: Any) -> None:
        self.p = p


def test_rows_are_copied_back_where_they_differ() -> None:
    things = [Thing(np.array([float(i), -0.0])) for i in range(4)]
    arrays = [one.p for one in things]
    rows = column(things, "lap;v")
    assert rows is not None and rows.tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    assert np.signbit(rows[:, 1]).all()
    rows[2] = 7.0, 8.0
    arrays[1][0] = 5.0  # somebody else's store, where the program has made none
    put_column("lap;v", None, None, rows)
    assert all(a.p is b for a, b in zip(things, arrays, strict=True))
    assert [one.tolist() for one in arrays] == [[0.0, 0.0], [5.0, 0.0], [7.0, 8.0], [3.0, 0.0]]


def _read_only() -> Any:
    made = np.ones(2)
    made.flags.writeable = False
    return made


OTHERS = {
    "another shape": np.ones(3),
    "another dtype": np.ones(2, "f4"),
    "metadata": np.ones(2, np.dtype("f8", metadata={"a": 1})),
    "swapped": np.ones(2, ">f8"),
    "strides": np.ones(4)[::2],
    "another rank": np.ones((2, 1)),
    "none": None,
    "a number": 1.5,
    "a list": [1.0, 2.0],
    "a subclass": np.ones(2).view(np.recarray),
    "read-only": _read_only(),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("place", [0, 2])
def test_other_things_are_no_column(name: str, place: int) -> None:
    things = [Thing(np.ones(2)) for _ in range(4)]
    things[place].p = OTHERS[name]
    assert column(things, "lap;v") is None


def test_what_has_no_such_array_is_no_column() -> None:
    things = [Thing(np.ones(2)) for _ in range(3)]
    del things[1].p
    assert column(things, "lap;v") is None
    assert column([], "lap;v") is None
    assert column([Thing(np.ones(300))], "lap;v") is None
    assert column([Thing(np.ones(0))], "lap;v") is None


def test_shared_memory_is_found() -> None:
    whole = np.zeros((4, 3))
    things, others = [Thing(row) for row in whole], [Thing(np.zeros(3)) for _ in range(4)]
    rows, apart = column(things, "lap;v"), column(others, "lap;v")
    assert are_apart(rows, rows) and are_apart(rows, apart) and are_apart(rows, np.zeros(3))
    assert not are_apart(rows, whole) and not are_apart(rows, whole[::-1, 2]) and not are_apart(whole, rows)
    assert not are_apart(rows, column([*others[:2], things[3]], "lap;v"))
    assert are_apart(rows, whole[:0])
    things[3].p = things[0].p
    rows = column(things, "lap;v")
    assert not are_apart(rows, rows)
    things[3].p = whole.ravel()[1:4]
    rows = column(things, "lap;v")
    assert not are_apart(rows, rows)


def test_an_array_that_is_no_column_is_not_put() -> None:
    with pytest.raises(RuntimeError):
        put_column("lap;v", None, None, np.zeros((2, 2)))

"""Errors say what they should and survive pickling."""

from __future__ import annotations

import pickle

import pytest

from dynamo_lite.errors import BackendError, DynamoLiteError, GraphBreakError

ERRORS = [
    BackendError("numba", "no kernel"),
    GraphBreakError("output", "print writes", "Print later.", "a.py", 3, "f"),
    GraphBreakError("not-a-python-function", "len is none", "It is called.", "", 0, "len"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickles(error: DynamoLiteError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


def test_texts() -> None:
    assert [str(error) for error in ERRORS] == [
        "backend 'numba': no kernel",
        "a.py:3 in f: print writes [output]\n  Print later.",
        "len is none [not-a-python-function]\n  It is called.",
    ]

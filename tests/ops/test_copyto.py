"""np.copyto with every casting, between all kinds of sources and dtypes, with a mask and without one: as in NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite

SOURCES: dict[str, Any] = {
    **{char: np.ones(3, char) for char in ("f4", "f8", "i4", "i8", "u8", "?", "c16", ">f4")},
    **{repr(number): number for number in (1, 2.5, True, 1j, 2**40, -1, 300, np.float32(2), np.int64(3))},
    "an array of no axes": np.array(1.5),
    "a list": [1, 2, 3],
}
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe", "none of these")


def masked(to: Any, source: Any, casting: str, mask: Any) -> None:
    np.copyto(to, source, casting=casting, where=mask)


def whole(to: Any, source: Any, casting: str, mask: Any) -> None:
    np.copyto(to, source, casting)


def outcome(function: Any, char: str, source: Any, casting: str) -> Any:
    to = np.zeros(3, char)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(to, source, casting, np.array([True, False, True]))
        except Exception as error:
            return type(error), error.args, to.tobytes()
    return to.tobytes(), [str(warning.message) for warning in caught]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("function", [masked, whole], ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", SOURCES)
def test_copies_between_kinds(name: str, function: Any) -> None:
    source, ran = SOURCES[name], 0
    for char in ("f4", "f8", "i4", "u1", "?", "c16", ">f8"):
        for casting in CASTINGS:
            fast = dynamo_lite.compile(function)
            plain = outcome(function, char, source, casting)
            for _ in range(2):
                assert outcome(fast, char, source, casting) == plain, (char, casting)
            ran += fast.stats()["native_calls"] > 0
    assert ran or name in ("a list", ">f4"), "none of them ran natively"

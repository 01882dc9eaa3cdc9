"""np.ascontiguousarray and np.asfortranarray of arrays in every layout: the array itself or a copy, as NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def _read_only() -> Any:
    array = np.arange(12.0).reshape(3, 4)
    array.flags.writeable = False
    return array


LAYOUTS: list[Callable[[], Any]] = [
    *(lambda: np.arange(12.0).reshape(3, 4), lambda: np.arange(12.0).reshape(4, 3).T),
    *(lambda: np.arange(24.0).reshape(3, 8)[:, ::2], lambda: np.arange(12.0).reshape(3, 4)[::-1]),
    *(lambda: np.zeros((0, 4)), lambda: np.zeros((1, 4)), lambda: np.arange(24.0).reshape(6, 4)[::6]),
    *(lambda: np.arange(12.0).reshape(3, 4)[:, :1], lambda: np.broadcast_to(np.arange(4.0), (3, 4))),
    *(lambda: np.arange(12).reshape(3, 4), lambda: np.arange(12).reshape(3, 4).astype(">f8"), _read_only),
    *(lambda: np.zeros((2, 1, 4)).transpose(1, 0, 2), lambda: np.ma.masked_array([[1, 2.0], [3, 4]])),
    *(lambda: np.arange(8.0)[::2], lambda: np.array(2.5), lambda: 2.5, lambda: [[1, 2.0], [3, 4]]),
]

FORMS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: (np.ascontiguousarray(x), np.asfortranarray(x)),
    "of a dtype": lambda x: (np.ascontiguousarray(x, dtype="f4"), np.asfortranarray(x, dtype=float)),
    "transposed": lambda x: (np.ascontiguousarray(x.T), np.asfortranarray(x.T)),
    "parts": lambda x: (np.ascontiguousarray(x[1:]), np.asfortranarray(x[:, 0:1]), np.ascontiguousarray(x[::-1])),
    "computed": lambda x: (np.ascontiguousarray(x + 1), np.asfortranarray(x.T + 1), np.ascontiguousarray(np.exp(x.T))),
    "copied": lambda x: (
        np.ascontiguousarray(x.copy("F")), np.asfortranarray(x.copy()), np.ascontiguousarray(x.copy("A")),
    ),
    "converted": lambda x: (
        np.ascontiguousarray(x.astype("f4", order="F")), np.asfortranarray(x.astype("f4", order="A")),
    ),
    "another array in F order": lambda x: np.ascontiguousarray(np.array(x, order="F") * 2),
    "zeros in F order": lambda x: np.ascontiguousarray(np.zeros(np.shape(x), order="F") + x),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_array_itself_or_a_copy(name: str) -> None:
    def of(x: Any) -> Any:
        made = FORMS[name](x)
        return made, [y is x for y in made]

    first, *rest = LAYOUTS
    require_equal(
        of,
        lambda: (first(),),
        variants=[lambda layout=layout: (layout(),) for layout in rest],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1, "recompile_limit": 100}},
    )

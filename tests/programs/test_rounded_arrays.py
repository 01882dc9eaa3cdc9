"""np.round of integers: a copy of them, or with older NumPy the array itself, as what is stored afterwards shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal


def rounded(x: Any) -> Any:
    y = np.round(x)
    y += 2
    z = x.round(1)
    z[0] = 7
    return y, x * 2, np.around(x, -1)


@pytest.mark.parametrize("dtype", [np.uint16, np.int64, np.float64, np.int8])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_stored_into_it(backend: str, dtype: Any) -> None:
    options = {"backend": backend, "options": {"cost_model": False}}
    for form in (slice(None), slice(None, None, -1)):
        require_equal(
            rounded,
            lambda form=form: ((np.arange(20) * 3).astype(dtype)[form],),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options=options,
        )

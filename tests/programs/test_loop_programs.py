"""Every program of benchmarks/loops at its tiny size: equal bit for bit, with the cost model and without."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.loops.programs import ALL
from tests.oracle import require_equal


@pytest.mark.parametrize("cost_model", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_equal_bit_for_bit(name: str, cost_model: bool, backend: str, compiler: Callable[..., Any]) -> None:
    program = ALL[name].at("tiny")
    require_equal(
        program.fn,
        program.make_args,
        compile=compiler,
        compile_options={"backend": backend, "options": {"cost_model": cost_model}},
        calls=2,
        name=f"{name} {backend}",
    )

"""What an instance has is not what its class has: names that only a metaclass gives."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite.pycode import decoded
from tests.oracle import require_equal

Compile = Callable[..., Any]
NAMES = ("__name__", "__qualname__", "__mro__", "mro", "__call__", "__doc__", "__hash__", "__class__", "append", "real")
VALUES: dict[str, Callable[[], Any]] = {
    "int": lambda: 3,
    "float": lambda: 2.5,
    "bool": lambda: True,
    "none": lambda: None,
    "str": lambda: "text",
    "list": lambda: [1, 2],
    "tuple": lambda: (1, 2.0),
    "dict": lambda: {"a": 1},
    "range": lambda: range(4),
    "array": lambda: np.arange(3),
    "scalar": lambda: np.float32(2.0),
    "dtype": lambda: np.dtype("f8"),
    "class": lambda: dict,
    "function": lambda: decoded,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", VALUES)
def test_what_an_object_has(kind: str, name: str, compiler: Compile) -> None:
    def has(x: Any, value: Any) -> Any:
        y = x * 2.0 + 1.0
        return y if hasattr(value, name) else -y

    def gets(x: Any, value: Any) -> Any:
        found = getattr(value, name, None)
        return x * 2.0 + 1.0, found is None

    for function in (has, gets):
        require_equal(function, lambda: (np.arange(4.0), VALUES[kind]()), compile=compiler)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_inside_has(name: str, compiler: Compile) -> None:
    def has(x: Any, n: int) -> Any:
        values = [n + 1], (x, n), {"a": x}, x + 1.0, n * 2, n * 0.5, range(n)
        return x * 2.0 + 1.0, [hasattr(value, name) for value in values]

    require_equal(has, lambda: (np.arange(4.0), 3), compile=compiler)


def test_code_with_constants_that_have_no_hash(compiler: Compile) -> None:
    def scale(x: Any) -> Any:
        return x * 2.5 + 1.0

    code = scale.__code__.replace(
        co_consts=tuple(np.full(3, 2.5) if const == 2.5 else const for const in scale.__code__.co_consts)
    )
    made = types.FunctionType(code, {})
    fast = compiler(made, options={"cost_model": False})
    for _ in range(2):
        assert fast(np.ones(3)).tolist() == made(np.ones(3)).tolist() == [3.5] * 3

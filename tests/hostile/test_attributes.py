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


def test_keys_with_their_own_eq_are_asked_as_often_as_plainly(compiler: Compile) -> None:
    """The first one asked deletes what is looked up: a lookup of ours before plain Python's would change the result."""

    class Gain:
        def __init__(self, deletes: bool) -> None:
            if deletes:
                vars(self)[Deletes()] = 0

        def scale(self, x: Any) -> Any:
            return x * 2.0 + 1.0

    class Deletes:
        def __hash__(self) -> int:
            return hash(name)

        def __eq__(self, other: object) -> bool:
            asked.append(other)
            if name in vars(Gain):
                delattr(Gain, name)
            return False

    class Two:
        def __get__(self, instance: object, owner: type | None = None) -> float:
            return 2.0

    def reads(x: Any, gain: Any) -> Any:
        return x * gain.factor + 1.0

    def calls(x: Any, gain: Any) -> Any:
        return gain.scale(x) + 1.0

    asked: list[object] = []
    x, scale = np.arange(4.0), Gain.scale
    cases: list[tuple[str, Any, Callable[[Any, Any], Any]]] = [
        ("factor", 2.0, reads),
        ("factor", Two(), reads),
        ("scale", scale, calls),
    ]
    for name, value, function in cases:
        for before in (0, 3):  # calls with other objects: of those, the compiled code has guards
            outcomes = []
            # NB: 3.11 looks the name up once more when it specialises code, after eight calls.
            fresh = types.FunctionType(function.__code__.replace(), {}, closure=function.__closure__)
            for fn in (fresh, compiler(function, options={"cost_model": False})):
                setattr(Gain, name, value)
                results = [fn(x, Gain(deletes=False)).tolist() for _ in range(before)]
                asked.clear()
                for _ in range(3):
                    setattr(Gain, name, value)
                    results.append(fn(x, Gain(deletes=True)).tolist())
                outcomes.append((results, len(asked)))
            assert outcomes[0] == outcomes[1], (name, value, before)


def test_keys_with_their_own_eq_beside_globals_are_asked_as_often_as_plainly(compiler: Compile) -> None:
    class Counts:
        def __init__(self, name: str) -> None:
            self.hash = hash(name)

        def __hash__(self) -> int:
            return self.hash

        def __eq__(self, other: object) -> bool:
            asked.append(other)
            return False

    def reads(x: Any) -> Any:
        return abs(x * weight) + 1.0  # type: ignore[name-defined] # noqa: F821

    asked: list[object] = []
    x = np.arange(4.0)
    for name in ("weight", "abs"):
        for before in (0, 3):  # calls without that key: of those, the compiled code has guards
            outcomes = []
            for compiles in (False, True):
                namespace: dict[Any, Any] = {"weight": 2.0}
                fn: Any = types.FunctionType(reads.__code__.replace(), namespace)
                if compiles:
                    fn = compiler(fn, options={"cost_model": False})
                results = [fn(x).tolist() for _ in range(before)]
                namespace.clear()
                namespace.update({Counts(name): 0, "weight": 3.0})
                asked.clear()
                results += [fn(x).tolist() for _ in range(3)]
                outcomes.append((results, len(asked)))
            assert outcomes[0] == outcomes[1], (name, before)

"""Capture, and guards, leave the attributes of an object where plain Python reads them fastest: in the object itself,
without a dictionary."""

import functools
import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import keeps_attributes, own_attribute

MISSING = object()


class Body:
    scale = 2.0
    none = None

    def __init__(self) -> None:
        self.x = np.arange(5.0)
        self.mass = 3.0
        self.steps = 0

    def step(self, dt: float) -> Any:
        self.steps += 1
        return self.x * self.mass * self.scale + self.shift(dt)

    def shift(self, dt: float) -> Any:
        return np.sqrt(self.x + dt)

    @staticmethod
    def norm(x: Any) -> Any:
        return np.abs(x)

    @functools.cached_property
    def cached(self) -> float:
        return 1.0


class Slotted:
    __slots__ = ("x",)

    def __init__(self) -> None:
        self.x = 1.0


class Own(dict[str, int]):
    pass


def has_dict(obj: object) -> bool:
    return any(type(one) is dict for one in gc.get_referents(obj))


@pytest.mark.parametrize("call", [lambda b: b.step(0.5), lambda b: b.x * b.mass * b.scale, lambda b: b.norm(b.x) * 2.0])
def test_a_compiled_call_makes_no_dict(call: Callable[[Body], Any]) -> None:
    body, plain = Body(), Body()
    fast = dynamo_lite.compile(call, options={"cost_model": False})
    assert not has_dict(body)
    for _ in range(3):
        np.testing.assert_array_equal(fast(body), call(plain))
    assert fast.stats()["native_calls"] == 3
    assert body.steps == plain.steps
    assert not has_dict(body)


def test_own_attribute_is_what_the_dict_holds() -> None:
    body = Body()
    names = ("x", "mass", "steps", "scale", "none", "step", "norm", "cached", "absent", "__class__", "__dict__")
    # what the class has as well: another value, and the very same
    body.none = body.other = None  # type: ignore[attr-defined]
    made = Body()
    made.norm = Body.norm  # type: ignore[method-assign]
    made.step = body.step  # type: ignore[method-assign]
    same = Body()
    same.scale = Body.scale
    for obj in (body, made, same, types.SimpleNamespace(x=1.0), ValueError("x"), functools.partial(len)):
        found = {name: own_attribute(obj, name, MISSING) for name in names}
        assert found == {name: vars(obj).get(name, MISSING) for name in names}
        assert found == {name: own_attribute(obj, name, MISSING) for name in names}  # now that it has a dict


def test_what_has_no_dict() -> None:
    for obj in (Slotted(), 1, [], object()):
        assert own_attribute(obj, "x", MISSING) is MISSING
        assert not keeps_attributes(obj)
    body = Body()
    assert keeps_attributes(body)
    assert not has_dict(body)
    vars(body)
    assert keeps_attributes(body)
    body.__dict__ = Own(x=1)
    assert not keeps_attributes(body)
    assert own_attribute(body, "x", MISSING) is MISSING


def test_no_code_of_a_descriptor_runs() -> None:
    class Noisy:
        def __get__(self, obj: object, cls: type) -> int:
            raise AssertionError

    class Holder:
        noisy = Noisy()

        def __getattr__(self, name: str) -> int:
            raise AssertionError

    holder = Holder()
    assert own_attribute(holder, "noisy", MISSING) is MISSING
    assert own_attribute(holder, "absent", MISSING) is MISSING
    holder.noisy = 3  # type: ignore[assignment]
    assert own_attribute(holder, "noisy", MISSING) == 3

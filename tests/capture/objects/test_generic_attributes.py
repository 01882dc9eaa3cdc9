"""Attributes of objects whose class, written in C, has slots of its own that do what object's do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C


class Reads(SimpleNamespace):
    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__("other" if name == "x" else name)


class Stores(SimpleNamespace):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 2.0)


class Plain(SimpleNamespace):
    pass


def step(state: Any, x: Any) -> Any:
    state.y = state.x * x + state.settings.dt
    return state.y * 2.0


def made(cls: Any) -> Any:
    return cls(x=np.arange(300.0), other=np.ones(300), settings=SimpleNamespace(dt=0.5), y=np.zeros(1))


def test_which_classes() -> None:
    assert _C.generic_attributes(SimpleNamespace) == _C.generic_attributes(Plain) == (True, True)
    assert _C.generic_attributes(object) == (True, True)
    assert _C.generic_attributes(Reads) == (False, True)
    assert _C.generic_attributes(Stores) == (True, False)
    with pytest.raises(TypeError, match="expected a class"):
        _C.generic_attributes(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", (SimpleNamespace, Plain, Reads, Stores))
def test_attributes(cls: Any) -> None:
    compiled = dynamo_lite.compile(step, options={"cost_model": False})
    ours, plain, x = made(cls), made(cls), np.linspace(0.0, 1.0, 300)
    for number in range(4):
        np.testing.assert_array_equal(compiled(ours, x), step(plain, x))
        np.testing.assert_array_equal(ours.y, plain.y)
        if number == 2:
            ours.settings.dt = plain.settings.dt = 0.75
    assert bool(compiled.explain().breaks) == (cls in (Reads, Stores))
    del ours.x
    if cls is not Reads:
        with pytest.raises(AttributeError, match="x"):
            compiled(ours, x)

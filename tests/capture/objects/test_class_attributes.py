"""Data that a class holds may change: they are looked up at each call, and say nothing of the rest of the class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite


class Computed:
    def __get__(self, owner: object, cls: type) -> float:
        return 7.5


def made() -> Any:
    class Base:
        b = 3.0

    class Settings(Base):
        a = 2.0
        w = np.arange(4.0)
        label: Any = "x"
        number = 0

    return Settings


def use(x: Any, cls: Any) -> Any:
    return np.sqrt(x * cls.a + cls.b) + cls.w.sum(), cls.label, cls.w


def test_what_else_changes_in_a_class_matters_to_nobody() -> None:
    compiled, cls, x = dynamo_lite.compile(use, options={"cost_model": False}), made(), np.arange(300.0)
    for number in range(20):
        cls.number, cls.a, cls.b = number, 1.0 + number, 2.0 + number
        np.testing.assert_array_equal(compiled(x, cls)[0], use(x, cls)[0])
    assert compiled.stats()["compiles"] == 1
    assert compiled.stats()["hits"] == 19


def test_data_are_found_as_plain_python_finds_them() -> None:
    compiled, cls, x = dynamo_lite.compile(use, options={"cost_model": False}), made(), np.arange(300.0)
    changes: Any = [
        lambda: setattr(cls, "a", 5.0),
        lambda: setattr(cls.__base__, "b", 4.0),
        lambda: setattr(cls, "b", 9.0),
        lambda: delattr(cls, "b"),
        lambda: setattr(cls, "label", "y"),
        lambda: setattr(cls, "label", property(len)),
        lambda: setattr(cls, "label", Computed()),
        lambda: setattr(cls, "label", staticmethod(len)),
        lambda: setattr(cls, "label", None),
        lambda: setattr(cls, "a", Computed()),
        lambda: setattr(cls, "a", np.float64(2.0)),
        lambda: setattr(cls, "a", 3),
        lambda: setattr(cls, "w", np.arange(3.0)),
        lambda: setattr(cls, "__bases__", (made(),)),
    ]
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            ours, plain = compiled(x, cls), use(x, cls)
            np.testing.assert_array_equal(ours[0], plain[0])
            assert ours[1] is plain[1]
            assert ours[2] is plain[2]
    del cls.a, cls.__base__.a
    with pytest.raises(AttributeError, match="'Settings' has no attribute 'a'"):
        compiled(x, cls)


def test_a_loop_over_what_a_class_holds_runs_again_without_a_capture() -> None:
    cls = made()

    def run(n: int) -> float:
        t = 0.0
        for i in range(n):
            t = t * cls.a + cls.b * i
        return t

    compiled = dynamo_lite.compile(run)
    for number in range(12):
        cls.number, cls.a = number, 0.5 + number / 64
        assert compiled(3000) == run(3000)
    assert compiled.stats()["compiles"] == 1

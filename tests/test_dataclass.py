"""dynamo_lite.dataclass makes the classes that the standard library's decorator makes of the same text."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass, replace

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for shown in (False, True)
]


def point(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    @decorator(**options)
    class Point:
        """Fields of every kind, with names that a careless text would clash with."""

        self: int
        name: str = "set"
        factory: list[int] = field(default_factory=list)
        made: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
        found: str = field(default="", init=False, repr=False, compare=False)
        _set: float = 0.0

    return Point


def child(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    @decorator(**options)
    class Child(point(decorator, options)):
        """Inherits fields, and has a method of its own among those that are made."""

        more: tuple[int, ...] = (1,)

        def __repr__(self) -> str:
            return "own"

    return Child


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("make", [point, child])
def test_the_same_as_the_standard_library(make: Callable[..., Any], options: dict[str, bool]) -> None:
    ours, theirs = make(dataclass, options), make(dataclasses.dataclass, options)
    assert list(map(str, inspect.signature(ours).parameters)) == list(map(str, inspect.signature(theirs).parameters))
    assert ours.__match_args__ == theirs.__match_args__
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert hasattr(ours(1), "__dict__") == hasattr(theirs(1), "__dict__")
    seen = []
    for kind in (ours, theirs):
        one, same, other = kind(1, "a", [2]), kind(1, "a", factory=[2]), kind(1, "a", [3])
        one.made["x"] = 1
        shown = repr(one) if options["repr"] or make is child else ""
        tried = []
        for name in ("self", "nothing"):
            for change in (lambda o, n: setattr(o, n, 5), delattr):
                try:
                    tried.append(change(copy.copy(one), name))
                except (AttributeError, TypeError) as error:
                    tried.append(isinstance(error, dataclasses.FrozenInstanceError) or name == "nothing")
        copied = copy.deepcopy(one)
        changed = dataclasses.replace(one, name="b")
        fields_ = [getattr(copied, row.name) for row in dataclasses.fields(one)]
        seen.append((shown, one == same, one == other, one == 1, tried, fields_, changed.name, changed.made))
        with pytest.raises(TypeError):
            kind()
        if options["frozen"] and options["eq"]:
            assert hash(kind(1, "a", ())) == hash(kind(1, "a", ()))
    assert seen[0] == seen[1]


def test_each_object_has_its_own_default() -> None:
    kind = point(dataclass, {})
    one, other = kind(1), kind(2)
    assert one.factory is not other.factory and one.made is not other.made


@dataclass(frozen=True, slots=True)
class Kept:
    """Found by its name, as pickle needs it."""

    number: int
    after: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "after", self.number + 1)


def test_pickles_and_post_init() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3) and Kept(3).after == 4


def test_init_is_made_when_somebody_asks() -> None:
    kind = point(dataclass, {"slots": True})
    assert not isinstance(vars(kind)["__init__"], _C.Init)
    assert kind(1).self == 1
    assert isinstance(vars(kind)["__init__"], _C.Init) and kind.__init__.__qualname__.endswith("Point.__init__")


def test_init_is_text_before_the_extension_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dynamo_lite._C")
    kind = point(dataclass, {"frozen": True})
    one = kind(1, factory=[2])
    assert inspect.isfunction(vars(kind)["__init__"]) and kind.__init__.__qualname__.endswith("Point.__init__")
    assert replace(one, name="b") == kind(1, "b", [2])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_an_init_refuses(options: dict[str, bool]) -> None:
    for kind in (point(dataclass, options), point(dataclasses.dataclass, options)):
        for wrong in (
            lambda kind=kind: kind(),
            lambda kind=kind: kind(name="a"),
            lambda kind=kind: kind(1, "a", [2], 0.5, 1),
            lambda kind=kind: kind(1, self=2),
            lambda kind=kind: kind(1, made={}),
            lambda kind=kind: kind(1, other=2),
            lambda kind=kind: kind.__init__(),
            lambda kind=kind: replace(kind(1), other=2),
        ):
            with pytest.raises(TypeError):
                wrong()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_replace_is_the_standard_library_s(options: dict[str, bool]) -> None:
    for make in (point, child):
        one = make(dataclass, options)(1, "a", [2])
        one.made["x"] = 1
        ours, theirs = replace(one, self=5, _set=2.0), dataclasses.replace(one, self=5, _set=2.0)
        assert type(ours) is type(one) and ours.factory is one.factory and ours.made == theirs.made == {}
        assert [getattr(ours, row.name) for row in dataclasses.fields(one)] == [
            getattr(theirs, row.name) for row in dataclasses.fields(one)
        ]
        assert one.self == 1


def test_replace_asks_a_class_that_makes_its_objects_itself() -> None:
    @dataclass(frozen=True)
    class Known:
        number: int
        made: ClassVar[int] = 0

        def __new__(cls, number: int) -> Known:
            return object.__new__(cls)

    assert replace(Known(1), number=2) == Known(2)
    assert replace(Kept(3), number=5) == Kept(5)


def test_an_init_holds_and_frees_what_it_was_given() -> None:
    value = object()
    before = sys.getrefcount(value)
    for _ in range(100):
        kind = _C.Init("f", (("a", True), ("b", True, value), ("c", False, list, True)), False, False)
        with pytest.raises(TypeError):
            _C.Init("f", (("a", True, value), ("b",)), False, False)
        del kind
    assert sys.getrefcount(value) == before
    with pytest.raises(ValueError):
        _C.Init("f", (("a", True),) * 65, False, False)


def test_what_needs_more_of_the_standard_library_is_made_by_it() -> None:
    @dataclass(slots=True)
    class Counted:
        count: ClassVar[int] = 3
        number: int = 1

    assert [row.name for row in dataclasses.fields(Counted)] == ["number"] and Counted.count == 3

    @dataclass(slots=True)
    class Knows(Counted):
        more: int = 2

        def own(self) -> type:
            return __class__  # type: ignore[name-defined, no-any-return]

    assert (Knows(5).number, Knows(5).more, Knows.__match_args__) == (5, 2, ("number", "more"))

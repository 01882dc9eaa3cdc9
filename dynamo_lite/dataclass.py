"""``@dataclass`` as in the standard library, at a quarter of its price.

Enters: a class with fields. Leaves: the class that ``dataclasses.dataclass`` makes of it, as far as this package uses
that. The standard library writes up to six methods of each class as text and compiles them, half a millisecond a class;
with 130 classes that was a third of the compiler's import, which a short program waits for. Here ``__init__`` alone is
text, and the others are closures over the fields' names. `fields`, `replace`, `field` and `FrozenInstanceError` are the
standard library's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """The decorator, with the options of ``dataclasses.dataclass`` that are named here."""

        def decorate(cls: type) -> type:
            own = cls.__dict__
            made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
            rows = fields(made)
            methods = {"__init__": _init(made, rows, frozen)}
            if repr:
                methods["__repr__"] = _repr(rows)
            if eq:
                methods["__eq__"] = _eq(rows)
                methods["__hash__"] = _hash(rows) if frozen else None
            if frozen:
                methods["__setattr__"] = _refusal("assign to", made, object.__setattr__)
                methods["__delattr__"] = _refusal("delete", made, object.__delattr__)
            if frozen and slots:
                methods["__getstate__"], methods["__setstate__"] = _state(rows)
            for name, method in methods.items():
                if name not in own:
                    if method is not None:
                        method.__qualname__ = f"{cls.__qualname__}.{name}"
                        method.__module__ = cls.__module__
                    setattr(made, name, method)
            return made

        return decorate if cls is None else decorate(cls)


_Rows = tuple[Field[Any], ...]


def _init(cls: type, rows: _Rows, frozen: bool) -> Callable[..., None]:
    """The function that sets the fields in their order, by keyword or position."""
    given: dict[str, Any] = {"__factory": _FACTORY, "__set": object.__setattr__}
    parameters, lines = ["__self"], []
    for row in rows:
        value = row.name
        if row.default_factory is not MISSING:
            given[f"__default_{row.name}"] = row.default_factory
            made = f"__default_{row.name}()"
            value = f"{made} if {row.name} is __factory else {row.name}" if row.init else made
            default = "__factory"
        elif row.default is not MISSING:
            given[f"__default_{row.name}"] = row.default
            default = f"__default_{row.name}"
            value = row.name if row.init else default
        else:
            default = ""
        if row.init:
            parameters.append(f"{row.name}={default}" if default else row.name)
        elif not default:
            continue
        lines.append(f"__set(__self, {row.name!r}, {value})" if frozen else f"__self.{row.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("__self.__post_init__()")
    # NB: no name here may hide a field; a class body cannot hold names like these.
    text = f"def make({', '.join(given)}):\n def __init__({', '.join(parameters)}):\n  "
    found: dict[str, Any] = {}
    exec(text + "\n  ".join(lines or ["pass"]) + "\n return __init__", found)
    function: Callable[..., None] = found["make"](**given)
    return function


class _Factory:
    """What stands for "made anew" in a signature."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _key(rows: _Rows) -> Callable[[Any], tuple[Any, ...]]:
    """The compared fields of an object, as a tuple."""
    names = [row.name for row in rows if row.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq(rows: _Rows) -> Callable[[Any, object], bool]:
    key = _key(rows)

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    return __eq__


def _hash(rows: _Rows) -> Callable[[Any], int]:
    key = _key(rows)

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__


def _repr(rows: _Rows) -> Callable[[Any], str]:
    names = [row.name for row in rows if row.repr]

    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _refusal(verb: str, cls: type, usual: Callable[..., None]) -> Callable[..., None]:
    """A frozen class's __setattr__ or __delattr__."""
    names = frozenset(row.name for row in fields(cls))

    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")
        usual(self, name, *value)

    return refuse


def _state(rows: _Rows) -> tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], None]]:
    """How objects that nobody may assign to are copied and pickled."""
    names = [row.name for row in rows]

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return __getstate__, __setstate__

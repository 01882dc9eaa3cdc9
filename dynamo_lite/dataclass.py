"""``@dataclass`` as in the standard library, at a tenth of its price.

Enters: a class with fields. Leaves: the class that ``dataclasses.dataclass`` makes of it, as far as this package uses
that. The standard library writes up to six methods of each class as text and compiles them, and asks of each annotation
what it means, half a millisecond a class; with 180 classes that was a third of the compiler's import, which a short
program waits for. Here ``__init__`` is made when a class is first called, in C (csrc/support/fields.c) or, as long as
the extension is not loaded, as text. The other methods are closures over the fields' names; `replace` asks
``__init__``. `fields`, `field` and `FrozenInstanceError` are the standard library's own. A class that needs more of it
(class variables among the annotations, say) is made by it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from operator import attrgetter
from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def replace(given, /, **changes):
        """Another object of the same class, with these fields changed."""
        made = getattr(type(given).__init__, "replaced", None)
        if made is None or type(given).__new__ is not object.__new__:
            return dataclasses.replace(given, **changes)
        return made(given, **changes)

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """The decorator, with the options of ``dataclasses.dataclass`` that are named here."""

        def decorate(cls: type) -> type:
            own = cls.__dict__
            made = _with_fields(cls, slots)
            rows = fields(made)
            methods = {"__init__": _Init(made, rows, frozen)}
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


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Model:
    """Says how the standard library marks a field, and what it expects of a class that another inherits from."""

    field: int


_KIND = fields(_Model)[0]._field_type  # type: ignore[attr-defined]
_PARAMETERS = _Model.__dataclass_params__  # type: ignore[attr-defined]


def _with_fields(cls: type, slots: bool) -> type:
    """The class with ``__dataclass_fields__``, and with slots if they are asked for."""
    own = cls.__dict__
    annotations = own.get("__annotations__", {})
    if not _is_simple(own, annotations):
        return dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    rows: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        rows.update(getattr(base, "__dataclass_fields__", {}))
    for name, annotation in annotations.items():
        value = own.get(name, MISSING)
        row: Any = value if isinstance(value, Field) else field(default=value)
        row.name, row.type, row.kw_only, row._field_type = name, annotation, False, _KIND
        rows[name] = row
        if isinstance(value, Field):
            if value.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
    named = tuple(name for name, row in rows.items() if row.init)
    given = {
        "__dataclass_fields__": rows,
        "__dataclass_params__": _PARAMETERS,
        "__match_args__": own.get("__match_args__", named),
    }
    if not slots:
        for name, value in given.items():
            setattr(cls, name, value)
        return cls
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    namespace = {name: value for name, value in own.items() if name not in rows and name not in _OF_ITS_LAYOUT}
    namespace.update(given, __slots__=tuple(name for name in rows if name not in inherited))
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


_OF_ITS_LAYOUT = ("__dict__", "__weakref__")


_ANNOTATE = ("__annotate__", "__annotate_func__")  # 3.14: annotations are a function
_PLAIN = (str, int, dict, tuple, Field, MemberDescriptorType, GetSetDescriptorType)


def _is_simple(own: Any, annotations: dict[str, str]) -> bool:
    """Whether every annotation is the text of a field's, and no method knows the class by which it was defined."""
    return (
        own.keys().isdisjoint(_ANNOTATE)
        and all(type(one) is str and "ClassVar" not in one and "InitVar" not in one for one in annotations.values())
        and not any("__class__" in _free(value) for value in own.values() if type(value) not in _PLAIN)
    )


def _free(value: object) -> tuple[str, ...]:
    code = getattr(getattr(value, "__func__", getattr(value, "fget", value)), "__code__", None)
    return () if code is None else code.co_freevars


_Rows = tuple[Field[Any], ...]


class _Init:
    """Stands for ``__init__`` until somebody asks for it, which most classes of a process never are."""

    def __init__(self, cls: type, rows: _Rows, frozen: bool) -> None:
        self._of = cls, rows, frozen

    def __get__(self, instance: object, owner: type) -> Any:
        cls, rows, frozen = self._of
        extension = sys.modules.get("dynamo_lite._C")  # NB: it imports NumPy, which some programs never do
        if extension is not None:
            given = tuple(_row(row) for row in rows if row.init or _has_default(row))
            function = extension.Init(self.__qualname__, given, frozen, hasattr(cls, "__post_init__"))
        else:
            function = _text_init(cls, rows, frozen)
            function.__qualname__, function.__module__ = self.__qualname__, self.__module__
        cls.__init__ = function  # type: ignore[misc]
        return function if instance is None else function.__get__(instance)

    __qualname__: str
    __module__: str


def _row(row: Field[Any]) -> tuple[Any, ...]:
    """A field as csrc/support/fields.c takes it."""
    if row.default_factory is not MISSING:
        return row.name, row.init, row.default_factory, True
    return (row.name, row.init) if row.default is MISSING else (row.name, row.init, row.default)


def _has_default(row: Field[Any]) -> bool:
    return row.default is not MISSING or row.default_factory is not MISSING


def _text_init(cls: type, rows: _Rows, frozen: bool) -> Callable[..., None]:
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

    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:  # type: ignore[attr-defined]
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

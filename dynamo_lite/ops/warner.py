"""The warnings of floating-point errors that a program gives itself, as NumPy would.

Enters, while a program runs, the kinds of errors that one operation has met; leaves the warnings that NumPy gives of
them: same text, category and place, by the interpreter's own `warn_explicit`, so that the filters and the registry of
the user's module decide what becomes of them. INVARIANT: nothing of the user's runs meanwhile, and no exception comes
of it: where the filters, or what shows warnings, are other than Python's own, the program declines (`are_plain`).

The rule of who is told what is that of CPython's Python/_warnings.c, and of the order of kinds that of NumPy's
umath/extobj.c.
"""

from __future__ import annotations

import io
import operator
import re
import sys
import types
import warnings
from _warnings import warn_explicit as _warn
from collections.abc import Sequence
from typing import Any

from dynamo_lite._C import find_changed

_TEXTS = ("divide by zero", "overflow", "underflow", "invalid value")  # by the bits of ops/error_state.py
_QUIET = frozenset(("default", "ignore", "module", "once"))  # actions that nobody notices if they happen twice
_OWN = (
    *("showwarning", "formatwarning", "_showwarnmsg", "_showwarnmsg_impl", "_formatwarnmsg", "_formatwarnmsg_impl"),
    *("_showwarning_orig", "_formatwarning_orig", "WarningMessage"),
)
CONTEXTS = bool(getattr(sys.flags, "context_aware_warnings", 0))  # each context has filters of its own


def _python_s_own(name: str) -> Any:
    """What the `warnings` module has under this name; an object that nothing is, where somebody has replaced it."""
    found = getattr(warnings, name, None)
    return found if getattr(found, "__module__", None) in ("warnings", "_py_warnings") else object()


_OWNERS = tuple(map(_python_s_own, _OWN))
_SHOWS = _OWN.index("_showwarnmsg_impl")
_known_filters: list[Any] = []
_known_default = ""
_are_silent = False  # and whether nobody sees what they let pass


def are_plain() -> bool:
    """Whether a RuntimeWarning given now runs nothing but Python's own code, and raises nothing."""
    global _known_filters, _known_default, _are_silent
    if CONTEXTS or sys.modules.get("warnings") is not warnings:
        return False
    names = warnings.__dict__
    filters, default = names.get("filters"), names.get("defaultaction")
    if type(filters) is not list or type(default) is not str:
        return False
    if not _are_same(filters, _known_filters) or default != _known_default:
        if (actions := _actions(filters, default)) is None or not actions <= _QUIET:
            return False
        _known_filters, _known_default, _are_silent = list(filters), default, actions == {"ignore"}
    if find_changed(names, _OWN, _OWNERS) < 0:
        return _are_silent or _is_file(sys.stderr)
    return _records(tuple(map(names.get, _OWN)))


def _are_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether both hold the very same objects, which are not asked."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _is_file(stream: object) -> bool:
    """Whether writing to it runs none of the user's code: Python's own text of a file, or nothing."""
    if stream is None or type(stream) is not io.TextIOWrapper:
        return stream is None
    try:
        buffer = stream.buffer
    except ValueError:  # detached
        return False
    raw = buffer.raw if type(buffer) is io.BufferedWriter else buffer  # NB: python -u
    return type(raw) is io.FileIO


def _records(found: tuple[Any, ...]) -> bool:
    """Whether warnings are appended to a list: catch_warnings(record=True)."""
    function, others = found[_SHOWS], (*found[:_SHOWS], *found[_SHOWS + 1 :])
    return _are_same(others, (*_OWNERS[:_SHOWS], *_OWNERS[_SHOWS + 1 :])) and _is_append(function)


def _is_append(function: object) -> bool:
    if type(function) is not types.BuiltinMethodType:
        return False
    owner = function.__self__
    return type(owner) is list and function == owner.append


def _actions(filters: list[Any], default: str) -> set[str] | None:
    """What may become of a RuntimeWarning; None where finding out runs code that is not Python's own."""
    actions = set()
    for one in filters:
        if type(one) is not tuple or len(one) != 5:
            return None
        action, message, category, module, line = one
        if type(category) is not type:
            return None
        if not issubclass(RuntimeWarning, category):
            continue
        if type(action) is not str or type(line) is not int or not (_is_pattern(message) and _is_pattern(module)):
            return None
        actions.add(action)
        if message is None and module is None and line == 0:
            return actions  # none of those behind it is asked
    return actions | {default}


def _is_pattern(value: object) -> bool:
    """Whether it is matched by Python's own code: those of the first filters of all are texts, to be equal to."""
    return value is None or type(value) in (re.Pattern, str)


def kinds_known(name: str, line: int, names: dict[str, Any]) -> int:
    """Which kinds of errors (bits) a module with these names has been warned of: by a ufunc, on a line."""
    registry = names.get("__warningregistry__")
    if type(registry) is not dict or not registry:
        return 0
    return sum(1 << place for place, text in enumerate(_texts(name)) if registry.get((text, RuntimeWarning, line)))


def _texts(name: str) -> list[str]:
    return [f"{text} encountered in {name}" for text in _TEXTS]


class Warner:
    """Warns of what the ufunc `name` has met on a line of a file, in a function with these globals."""

    __slots__ = ("filename", "line", "name", "names", "texts")

    def __init__(self, name: str, filename: str, line: int, names: dict[str, Any]) -> None:
        self.name, self.filename, self.line, self.names = name, filename, line, names
        self.texts = tuple((1 << place, text) for place, text in enumerate(_texts(name)))

    def __repr__(self) -> str:
        return f"<warnings of {self.name}, line {self.line}>"

    def __call__(self, met: int) -> bool:
        """Warn of the kinds that were met (bits); False, and nothing has happened, where that is left to NumPy."""
        names = self.names
        module, registry = names.get("__name__", "<string>"), names.get("__warningregistry__")
        if type(registry) is not dict or type(module) is not str or not are_plain():
            return False
        for bit, text in self.texts:
            if met & bit:
                _warn(text, RuntimeWarning, self.filename, self.line, module, registry)
        return True


__all__ = ["CONTEXTS", "Warner", "are_plain", "kinds_known"]

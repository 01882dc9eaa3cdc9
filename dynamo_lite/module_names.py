"""The names of modules, and of those that classes and functions are of, told without running code of the program's.

Enters: any object that a program has under a global name. Leaves: a name, "" where there is none that could be trusted.
"""

from __future__ import annotations

import types


def name_of(module: types.ModuleType) -> str:
    """The name of a module, "" where it has none any more."""
    name = vars(module).get("__name__")
    return name if type(name) is str else ""


def module_of(value: object) -> str:
    """The module of a class, a function or a method, as it says itself; "" of all else, and where that is no name.

    NB: a class may have its own `__module__` for its objects, and so may its metaclass, which would run here."""
    if type(value) is types.MethodType:
        value = value.__func__
    of: object = None
    if type(value) in (types.FunctionType, types.BuiltinFunctionType):
        of = value.__module__
    elif issubclass(type(value), type):
        of = _MODULE_OF(value)
    return of if type(of) is str else ""


_MODULE_OF = vars(type)["__module__"].__get__  # of a class, whatever its metaclass says


__all__ = ["module_of", "name_of"]

"""Whether what the compiler itself calls is still what it was: Python's builtins, NumPy's functions, those of math.

Enters: the modules as they are when the compiler is imported. Leaves: the name of a function that has been replaced
since, as ``unittest.mock.patch("numpy.zeros")`` or ``builtins.len = counted`` do. As long as one is, nothing is
compiled: the compiler would call it, which whoever replaced it may count, or not be prepared for.
NB: clocks, which are replaced most often, and for long, our modules import by name.
What asks whether to compile, which is often, calls builtins alone.
INVARIANT: until `replaced` has answered "", nothing of the compiler may call any of them; nor does `replaced`.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import itertools
import math
import operator
import struct
import types

from dynamo_lite._C import find_changed

# What the compiler never calls while it compiles, and programs replace for good.
_LEFT_ALONE = {
    "builtins": {"_", "breakpoint", "copyright", "credits", "exit", "help", "input", "license", "open", "print"},
    "numpy": {"load", "save", "savez", "savetxt", "loadtxt", "genfromtxt", "set_printoptions"},
}
_snapshots: list[tuple[dict[str, object], tuple[str, ...], tuple[object, ...], str]] = []


def remember(module: types.ModuleType) -> None:
    """Watch the functions that `module` has now; its classes, of which programs make subclasses instead, only of
    Python's builtins, of which exceptions are left alone."""
    left_alone = _LEFT_ALONE.get(module.__name__, set())
    seldom = BaseException if module is builtins else object
    own = {
        name: what
        for name, what in vars(module).items()
        if callable(what) and name not in left_alone and not (isinstance(what, type) and issubclass(what, seldom))
    }
    _snapshots.append((vars(module), tuple(own), tuple(own.values()), module.__name__))


def replaced(builtins_alone: bool = False) -> str:
    """The name of something that is not what it was, or ""."""
    for now, names, own, module in _snapshots[:1] if builtins_alone else _snapshots:
        place = find_changed(now, names, own)
        if place >= 0:
            return f"{module}.{names[place]}"
    return ""


for _module in (builtins, cmath, functools, itertools, math, operator, struct):
    remember(_module)


__all__ = ["remember", "replaced"]

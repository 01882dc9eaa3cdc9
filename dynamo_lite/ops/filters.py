"""``with warnings.catch_warnings(): warnings.simplefilter("ignore")`` around part of a program (capture/scopes.py).

The program does not touch the filters: nothing in it asks them, since it warns of floating-point errors alone, and
declines where those are to be shown (ops/error_state.py). What is left of the block when it has ended is that Python
has counted the changes of the filters, by which warnings that were shown once are shown again: the program has it count
them when it ends. Here is what that rests on: the block is Python's own.
"""

from __future__ import annotations

import operator
import sys
import types
import warnings
from typing import Any

from dynamo_lite._C import find_changed
from dynamo_lite.ops.warner import CONTEXTS

# What runs other people's code, or may warn without a floating-point error.
MAY_WARN = frozenset(("user_call", "other_ufunc", "median", "percentile", "quantile", "linalg_lstsq"))
_CLASS = warnings.catch_warnings
_NAMES = ("catch_warnings", "simplefilter", "filterwarnings", "_add_filter", "_filters_mutated", "sys")
_METHODS = ("__init__", "__enter__", "__exit__")
_own = tuple(warnings.__dict__.get(name) for name in _NAMES)
_methods = tuple(_CLASS.__dict__.get(name) for name in _METHODS)
IS_KNOWN = (
    not CONTEXTS
    and all(type(one) is types.FunctionType and one.__module__ == "warnings" for one in (*_own[1:4], *_methods))
    and type(_own[4]) is types.BuiltinFunctionType
    and _own[5] is sys
)


def are_own() -> bool:
    """Whether a block is Python's own now, as it was when this was imported."""
    names = warnings.__dict__
    if sys.modules.get("warnings") is not warnings or type(names.get("filters")) is not list:
        return False
    methods = tuple(map(_CLASS.__dict__.get, _METHODS))
    is_whole = "showwarning" in names and "_showwarnmsg_impl" in names
    return is_whole and find_changed(names, _NAMES, _own) < 0 and all(map(operator.is_, methods, _methods))


def silences(action: Any, category: Any, lineno: Any) -> bool | None:
    """Whether a filter in front of all others lets nobody see a RuntimeWarning, whatever it says; False where it is of
    others. None where what becomes of one is another question."""
    is_known = type(category) is type and issubclass(category, Warning) and isinstance(lineno, int)
    return issubclass(RuntimeWarning, category) if is_known and action == "ignore" and lineno == 0 else None


__all__ = ["IS_KNOWN", "MAY_WARN", "are_own", "silences"]

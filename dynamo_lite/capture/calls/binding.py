"""bind_arguments: a call's arguments to the parameters of a Python function, as CPython binds them.

A call that CPython would refuse is a break: plain Python then raises its own TypeError.
"""

from __future__ import annotations

import types

from dynamo_lite.capture.value import Break, DictValue, SequenceValue, Value

CO_VARARGS = 0x04
CO_VARKEYWORDS = 0x08


def bind_arguments(
    code: types.CodeType,
    defaults: list[Value],
    kwdefaults: dict[str, Value],
    args: list[Value],
    kwargs: dict[str, Value],
) -> dict[str, Value]:
    """The locals a frame of `code` starts with."""
    names = code.co_varnames
    count = code.co_argcount
    positional, kwonly = names[:count], names[count : count + code.co_kwonlyargcount]
    bound: dict[str, Value] = dict(zip(positional, args, strict=False))
    rest = args[count:]
    extra: dict[str, Value] = {}
    allowed = set(positional[code.co_posonlyargcount :]) | set(kwonly)
    for name, value in kwargs.items():
        if name in allowed:
            if name in bound:
                raise Break("python-call", f"{code.co_qualname} (multiple values for {name})")
            bound[name] = value
        else:
            extra[name] = value
    # NB: both may have been set to more than there are parameters; the last defaults are those of the last ones.
    for name, value in zip(reversed(positional), reversed(defaults), strict=False):
        bound.setdefault(name, value)
    for name in kwonly:
        if name in kwdefaults:
            bound.setdefault(name, kwdefaults[name])
    index = count + code.co_kwonlyargcount
    if code.co_flags & CO_VARARGS:
        bound[names[index]] = SequenceValue(None, tuple, rest)
        index += 1
    elif rest:
        raise Break("python-call", f"{code.co_qualname} (too many arguments)")
    if code.co_flags & CO_VARKEYWORDS:
        bound[names[index]] = DictValue(None, dict(extra))
    elif extra:
        raise Break("python-call", f"{code.co_qualname} (unexpected keyword)")
    for name in (*positional, *kwonly):
        if name not in bound:
            raise Break("python-call", f"{code.co_qualname} (missing argument {name})")
    return bound

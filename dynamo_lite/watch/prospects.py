"""Whether a loop, or a function, has prospects: what can be told of its gain before the compiler is imported.

Enters: a Code, the namespace of its function, and what its rounds take. Leaves: yes or no. A call of a function that
capture cannot see into ends a graph. Where one stands on each way through a loop, each round is a segment or two, whose
way in and out takes some microseconds: then rounds that take little more than that have nothing to gain. Nor have those
that go on with another text each time: of strings, programs know single ones alone.

    for i in range(n):
        print(x[i], y[i])                                         # 2 us a round: no prospects

And what neither has arrays in reach nor names NumPy, in the functions that it may call by their names, is looked at
again and again by a share of the budget alone: objects that call each other's methods have little to gain.

No code of the user's runs here: names are looked up in dictionaries alone.
"""

from __future__ import annotations

import builtins
import gc
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from dynamo_lite import policy
from dynamo_lite._C import class_of
from dynamo_lite.module_names import module_of
from dynamo_lite.pycode import Code, Instr, Loop, decoded, successors
from dynamo_lite.watch.loop_kinds import computes

_NOTHING = object()
_DEEP = 3  # calls of functions that are followed
_LONGEST = 2000  # bytes of code of one that is
_NONE: Mapping[str, Any] = types.MappingProxyType({})


def breaks_each_round(code: Code, loop: Loop, names: Mapping[str, Any], values: Mapping[str, Any] = _NONE) -> bool:
    """Whether every round of `loop` calls something that is certain to break the graph. values: what local variables
    hold, as far as that is known."""
    kept, known = _unset(values, (code.instrs[index] for index in loop.body)), _Known()
    certain = [index for index in sorted(loop.body) if _breaks(code, index, names, kept, _DEEP, known)]
    if not certain or loop.header in certain:
        return bool(certain)
    return not _leads_past(code, loop.header, certain, set(loop.edges), loop.body)


def _unset(values: Mapping[str, Any], instrs: Iterable[Instr]) -> dict[str, Any]:
    """Those variables that none of the instructions sets."""
    stored = {instr.arg for instr in instrs if instr.op in ("STORE_FAST", "DELETE_FAST")}
    return {name: value for name, value in values.items() if name not in stored}


def carries_text(code: Code, loop: Loop, values: Mapping[str, Any], names: Mapping[str, Any]) -> bool:
    """Whether every round of `loop` goes on with the string that the one before has left in a variable, and leaves
    another one there. values: what the local variables hold."""
    stores: dict[tuple[str, str], list[int]] = {}
    for index in sorted(loop.body):
        instr = code.instrs[index]
        if instr.op in _LOADS:
            stores.setdefault((_LOADS[instr.op], instr.arg), []).append(index)
    for (load, name), places in stores.items():
        if type((values if load == "LOAD_FAST" else names).get(name)) not in (str, bytes):
            continue
        reads = {index for index in loop.body if (code.instrs[index].op, code.instrs[index].arg) == (load, name)}
        carried = _leads_past(code, loop.header, places, reads, loop.body)
        if carried and not all(is_avoidable(code, loop, index) for index in places):
            return True
    return False


_LOADS = {"STORE_FAST": "LOAD_FAST", "STORE_GLOBAL": "LOAD_GLOBAL"}  # where the code of a module has names, too


def breaks_each_call(code: Code, names: Mapping[str, Any], values: Mapping[str, Any] = _NONE) -> bool:
    """Whether every call of a function does, unless it raises. values: what its parameters are given, as far as that is
    known."""
    return _breaks_each_call(code, names, values, _DEEP, _Known())


# What is known of functions, by their code and globals, the classes of what they are given, and how deep it is looked.
_Known: TypeAlias = dict[tuple[types.CodeType, int, tuple[type, ...], int], bool]


def _breaks_each_call(
    code: Code, names: Mapping[str, Any], values: Mapping[str, Any], deep: int, known: _Known
) -> bool:
    kept = _unset(values, code.instrs)
    certain = [index for index in range(len(code.instrs)) if _breaks(code, index, names, kept, deep, known)]
    ends = {at for at, instr in enumerate(code.instrs) if instr.op == "RETURN_VALUE"}
    return bool(certain) and not _leads_past(code, 0, certain, ends, None)


def is_avoided(code: Code, index: int) -> bool:
    """Whether a call may return without instruction `index`."""
    ends = {at for at, instr in enumerate(code.instrs) if instr.op == "RETURN_VALUE"}
    return _leads_past(code, 0, [index], ends, None)


def is_avoidable(code: Code, loop: Loop, index: int) -> bool:
    """Whether a round of a loop may go by without instruction `index`."""
    return index != loop.header and _leads_past(code, loop.header, [index], set(loop.edges), loop.body)


def _leads_past(
    code: Code, start: int, without: Sequence[int], ends: set[int], within: frozenset[int] | None
) -> bool:
    """Whether one of `ends` is reached from `start` without the instructions `without`."""
    seen, ahead = set(without), [start]
    while ahead:
        index = ahead.pop()
        if index in seen or (within is not None and index not in within):
            continue
        if index in ends:
            return True
        seen.add(index)
        ahead.extend(successors(code, index))
    return False


def _breaks(
    code: Code, index: int, names: Mapping[str, Any], values: Mapping[str, Any], deep: int, known: _Known
) -> bool:
    """Whether instruction `index` loads, by a name and attributes of modules and objects, what is called and breaks the
    graph."""
    if code.instrs[index].op not in ("LOAD_GLOBAL", "LOAD_FAST"):
        return False
    called, owner = _called_at(code, index, names, values)
    if _is_opaque(called):
        return True
    if type(called) is not types.FunctionType:
        called, owner = _method(called, "__call__")
        if type(called) is not types.FunctionType:
            return False
    inner, module = called.__code__, module_of(called).partition(".")[0]
    if deep == 0 or module == "numpy" or len(inner.co_code) > _LONGEST:
        return False
    of = inner, id(called.__globals__), tuple(map(type, owner)), deep  # NB: of an owner its class alone is looked at
    if of not in known:
        given = dict(zip(inner.co_varnames[: inner.co_argcount], owner, strict=False))
        known[of] = _breaks_each_call(decoded(inner), called.__globals__, given, deep - 1, known)
    return known[of]


def _called_at(
    code: Code, index: int, names: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[Any, tuple[object, ...]]:
    """What instruction `index` and the attributes that follow load in order to call it, and what it is given first: the
    object of which it is a method."""
    instr = code.instrs[index]
    value: Any = _NOTHING
    owner: tuple[object, ...] = ()
    if instr.op == "LOAD_GLOBAL":
        value = names.get(instr.arg, vars(builtins).get(instr.arg, _NOTHING))
    elif instr.op == "LOAD_FAST":
        value = values.get(instr.arg, _NOTHING)
    is_called = index > 0 and code.instrs[index - 1].op == "PUSH_NULL"
    for instr in islice(code.instrs, index + 1, None):
        if value is _NOTHING or instr.op not in ("LOAD_ATTR", "LOAD_METHOD"):
            is_called |= instr.op == "PUSH_NULL"
            break
        is_called |= instr.op == "LOAD_METHOD"
        if type(value) is types.ModuleType:
            value = vars(value).get(instr.arg, _NOTHING)
        else:
            value, owner = _method(value, instr.arg)
    return (value, owner) if is_called else (_NOTHING, ())


def _method(owner: object, name: str) -> tuple[Any, tuple[object, ...]]:
    """What a class of the user's has under a name for its objects, and `owner` where that is given to it. NB: that an
    object may have something else there itself is not looked at."""
    kind = class_of(owner)
    if not _is_users(kind):
        return _NOTHING, ()
    for base in _MRO_OF(kind):
        found = _DICT_OF(base).get(name, _NOTHING)
        if type(found) is types.FunctionType:
            return found, (owner,)
        if type(found) is staticmethod:
            return found.__func__, ()
        if found is not _NOTHING:
            break
    return _NOTHING, ()


Called = Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]  # by name: the files of functions, and what they name


def reaches_arrays(
    file: str,
    names: Iterable[str],
    values: Iterable[Any],
    called: Called,
    namespace: Callable[[str], Mapping[str, Any]],
) -> bool:
    """Whether arrays are in reach of code of a file: its variables' values are some or have some, or it, or what it may
    call by name, names NumPy or what has arrays. namespace: the globals of a file."""
    if any(_has_arrays(value) for value in values):
        return True
    seen: set[tuple[str, str]] = set()
    ahead = [(file, name) for name in names]
    while ahead:
        at = ahead.pop()
        if at in seen:
            continue
        seen.add(at)
        value = namespace(at[0]).get(at[1])
        if (type(value) is not types.FunctionType and computes(value)) or _has_arrays(value):
            return True
        ahead.extend((other, name) for other, those in called.get(at[1], ()) for name in those)
    return False


def _has_arrays(value: Any, deep: int = 3) -> bool:
    """Whether it is NumPy's, or a list that begins with such, or a dict or an object that has some, or has what has."""
    kind = class_of(value)
    if module_of(kind).partition(".")[0] == "numpy":
        return True
    if deep == 0:
        return False
    if kind in (list, tuple):
        return bool(value) and _has_arrays(value[0], deep - 1)
    if kind is dict:  # an object's, or one from a program
        return any(_has_arrays(one, deep - 1) for one in islice(value.values(), _LOOKED_AT))
    # NB: to ask an object for its __dict__ would make one that it may not have.
    if not _is_users(kind):
        return False
    return any(_has_arrays(one, deep - 1) for one in islice(gc.get_referents(value), _LOOKED_AT) if one is not kind)


_LOOKED_AT = 64  # values of a dict, or of an object's
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_FLAGS_OF = vars(type)["__flags__"].__get__
_MRO_OF = vars(type)["__mro__"].__get__
_DICT_OF = vars(type)["__dict__"].__get__


def _is_users(kind: type) -> bool:
    """Whether it is a class that was made by a `class` statement, or as by one, whose objects are no classes."""
    return bool(_FLAGS_OF(kind) & _HEAP_TYPE) and type not in _MRO_OF(kind)


# Methods of random.Random that draw by random() and _randbelow() alone (ops/draws.py), so that programs have them.
_DRAWN = frozenset(
    {"random", "uniform", "randint", "randrange", "choice", "choices", "shuffle", "normalvariate", "expovariate"}
    | {"triangular", "lognormvariate", "paretovariate", "weibullvariate", "betavariate", "gammavariate", "gauss"}
)


# What is built in and breaks the graph whatever it is given (capture/calls/call_rules.py), or has no rule.
_REFUSED = frozenset(
    {id, hash, repr, str, format, sorted, filter, next, vars, dir, open, input, print, setattr, delattr, set, frozenset}
    | {locals, globals, eval, exec, itertools.chain, itertools.combinations, itertools.permutations, itertools.groupby}
    | {itertools.accumulate, itertools.cycle, itertools.zip_longest, itertools.starmap, itertools.takewhile}
)


def _is_opaque(value: Any) -> bool:
    """Whether it is a function that capture has no way into: one in C of a module without rules, or one that has a rule
    which refuses it, or a method of one of Python's generators with which programs do not draw; or what np.vectorize
    has made, which computes with arrays of objects."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is vars(numpy).get("vectorize"):
        return True
    if class_of(value) in (types.BuiltinFunctionType, type) and value in _REFUSED:
        return True
    if class_of(value) in (types.MethodType, types.BuiltinFunctionType):  # NB: isinstance() would ask its __class__
        owner = value.__self__
        if owner is not None and type(owner) is not types.ModuleType:
            random = sys.modules.get("random")
            if random is None or type(owner) is not random.Random:
                return False
            of = value.__func__ if type(value) is types.MethodType else value
            return type(of) in (types.FunctionType, types.BuiltinFunctionType) and of.__name__ not in _DRAWN
    if type(value) is not types.BuiltinFunctionType:
        return False
    module = module_of(value)
    return bool(module) and module.partition(".")[0].lstrip("_") not in policy.KNOWN_MODULES


__all__ = ["breaks_each_call", "breaks_each_round", "carries_text", "is_avoidable", "is_avoided", "reaches_arrays"]

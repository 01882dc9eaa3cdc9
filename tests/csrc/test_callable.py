"""CompiledFunction: binds arguments as Python does, and is a function to whoever looks at it."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import itertools
import pickle
import subprocess
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_lite import _C
from tests.csrc.growth import assert_no_growth


def no_entry(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
    return None


def native(fn: Callable[..., Any]) -> Any:
    """fn compiled so that a call returns the argument slots as bound in C."""
    _C.clear(fn)
    _C.add_entry(fn, _C.CacheEntry(None, lambda *inputs: [("native", *inputs)], None))
    return _C.CompiledFunction(fn, no_entry, "native")


def outcome(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    try:
        return call(*args, **kwargs)
    except TypeError as error:
        return (TypeError, str(error))


def plain_0() -> Any:
    return ("native",)


def plain_3(a: Any, b: Any = 2, c: Any = 3) -> Any:
    return ("native", a, b, c)


def positional_only(a: Any, /, b: Any, c: Any = 3) -> Any:
    return ("native", a, b, c)


def keyword_only(a: Any, *, b: Any, c: Any = 3) -> Any:
    return ("native", a, b, c)


def star(a: Any, b: Any = 2, *rest: Any) -> Any:
    return ("native", a, b, rest)


def double_star(a: Any, /, b: Any = 2, **extra: Any) -> Any:
    return ("native", a, b, extra)


def everything(a: Any, /, b: Any, *rest: Any, c: Any, d: Any = 4, **extra: Any) -> Any:
    return ("native", a, b, c, d, rest, extra)


def everything_default(a: Any = 1, /, b: Any = 2, *rest: Any, c: Any = 3, **extra: Any) -> Any:
    return ("native", a, b, c, rest, extra)


SIGNATURES = [
    plain_0,
    plain_3,
    positional_only,
    keyword_only,
    star,
    double_star,
    everything,
    everything_default,
]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("fn", SIGNATURES, ids=lambda fn: fn.__name__)
def test_binding_is_pythons(fn: Callable[..., Any]) -> None:
    """Every combination of up to five positional arguments and keywords: same slots, or the same TypeError."""
    fast = native(fn)
    for n in range(6):
        for size in range(4):
            for names in itertools.combinations(("a", "b", "c", "d", "other"), size):
                args = tuple(range(10, 10 + n))
                kwargs = {name: ord(name[0]) for name in names}
                assert outcome(fast, args, kwargs) == outcome(fn, args, kwargs), (args, kwargs)
    assert _C.counters(fn)["native_calls"] > 0


def test_slots_are_the_callers_objects() -> None:
    marker = object()
    assert native(plain_3)(marker, c=marker)[1] is marker
    value = native(everything)(1, 2, marker, c=marker, z=marker)
    assert value[3] is marker and value[5] == (marker,) and value[6] == {"z": marker}


def test_keyword_dict_is_fresh_and_ordered() -> None:
    fast = native(double_star)
    given = {"z": 1, "y": 2, "x": 3}
    first = fast(0, **given)[3]
    assert list(first) == ["z", "y", "x"]
    assert first is not given and fast(0, **given)[3] is not first


def test_keywords_that_are_not_interned() -> None:
    name = "".join(["b", "eta"])

    def fn(alpha: int, beta: int = 0) -> Any:
        return ("native", alpha, beta)

    assert native(fn)(1, **{name: 5}) == ("native", 1, 5)


def test_str_subclass_as_keyword_is_left_to_python() -> None:
    class Name(str):
        def __eq__(self, other: object) -> bool:
            return other == "c" or str.__eq__(self, other)

        __hash__ = str.__hash__

    kwargs = {Name("zzz"): 7}
    assert outcome(native(plain_3), (1,), kwargs) == outcome(plain_3, (1,), kwargs)


def test_many_parameters() -> None:
    names = [f"p{i}" for i in range(40)]
    namespace: dict[str, Any] = {}
    exec(f"def fn({', '.join(names)}, *, k=1, **kw): return ('native', {', '.join(names)}, k, kw)", namespace)
    fast = native(namespace["fn"])
    assert fast(*range(40)) == namespace["fn"](*range(40))
    assert fast(*range(30), **{f"p{i}": i for i in range(30, 40)}, k=2, q=3) == ("native", *range(40), 2, {"q": 3})


def test_defaults_are_read_at_each_call() -> None:
    def fn(a: int, b: int = 2, *, c: int = 3) -> Any:
        return ("native", a, b, c)

    fast = native(fn)
    assert fast(1) == ("native", 1, 2, 3)
    fn.__defaults__ = (20,)
    fn.__kwdefaults__ = {"c": 30}
    assert fast(1) == ("native", 1, 20, 30)
    fast.__defaults__ = None
    assert outcome(fast, (1,), {}) == outcome(fn, (1,), {})
    fn.__defaults__ = (1, 2)
    assert fast() == ("native", 1, 2, 30)
    fn.__kwdefaults__ = None
    assert outcome(fast, (1,), {}) == outcome(fn, (1,), {})


def test_code_is_read_at_each_call() -> None:
    def fn(a: int) -> Any:
        return "first"

    def other(a: int, b: int) -> Any:
        return "second"

    fast = native(fn)
    assert fast(1) == ("native", 1)
    fn.__code__ = other.__code__
    assert fast(1, 2) == "second"
    _C.add_entry(other, _C.CacheEntry(None, lambda a, b: ["now native"], None))
    assert fast(1, 2) == "now native"


def test_type_errors_are_raised_by_the_function_itself() -> None:
    fast = native(plain_3)
    with pytest.raises(TypeError, match=r"plain_3\(\) missing 1 required positional argument: 'a'"):
        fast()
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        fast(1, q=1)
    with pytest.raises(TypeError, match="multiple values for argument 'a'"):
        fast(1, a=1)


def test_misses_go_to_on_miss_with_function_and_slots() -> None:
    asked: list[Any] = []

    def fn(a: int, *rest: int, k: int = 5, **extra: int) -> Any:
        return a + sum(rest) + k + sum(extra.values())

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append((func, slots))

    fast = _C.CompiledFunction(fn, on_miss, "fast")
    assert fast(1, 2, 3, z=4) == 15
    assert asked == [(fn, (1, 5, (2, 3), {"z": 4}))]
    _C.set_skip(fn, True)
    assert fast(1) == 6 and len(asked) == 1
    _C.set_skip(fn, False)
    assert fast(1) == 6 and len(asked) == 2


def test_exception_of_on_miss_propagates() -> None:
    def fn() -> None: ...

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        raise LookupError("asked")

    with pytest.raises(LookupError, match="asked"):
        _C.CompiledFunction(fn, on_miss, "fast")()


def test_wrong_answers_of_on_miss_are_type_errors() -> None:
    def fn() -> None: ...

    with pytest.raises(TypeError, match="must return a CacheEntry or None, not int"):
        _C.CompiledFunction(fn, lambda func, slots: 3, "fast")()


@pytest.mark.parametrize("fn", [len, functools.partial(len), "abc".__len__, type("K", (), {"__call__": len}), int])
def test_other_callables_are_called_as_they_are(fn: Any) -> None:
    fast = _C.CompiledFunction(fn, no_entry, "fast")
    for args in ((), ((1, 2),), ("12",)):
        assert outcome(fast, args, {}) == outcome(fn, args, {}) or type(fn) is type


def test_generators_and_coroutines_are_called_as_they_are() -> None:
    asked: list[Any] = []

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append(func)

    def generate(n: int) -> Any:
        yield from range(n)

    async def wait(n: int) -> int:
        return n

    assert list(_C.CompiledFunction(generate, on_miss, "")(3)) == [0, 1, 2]
    coroutine = _C.CompiledFunction(wait, on_miss, "")(3)
    with pytest.raises(StopIteration, match="3"):
        coroutine.send(None)
    assert not asked


def test_enabled_false_just_calls() -> None:
    fast = native(plain_3)
    fast.enabled = False
    before = _C.counters(plain_3)
    assert fast(1) == ("native", 1, 2, 3) and _C.counters(plain_3) == before
    fast.enabled = True
    fast(1)
    assert _C.counters(plain_3)["native_calls"] == before["native_calls"] + 1


def documented(a: int, b: str = "x", *, c: float = 1.0) -> None:
    """Its text."""


documented.extra = "attribute"


def test_looks_like_the_function() -> None:
    fast = _C.CompiledFunction(documented, no_entry, "given")
    assert fast.__name__ == "documented" and fast.__qualname__ == "documented"
    assert fast.__doc__ == "Its text." and fast.__module__ == __name__
    assert fast.__wrapped__ is documented and fast.__annotations__ is documented.__annotations__
    assert fast.extra == "attribute"
    assert inspect.signature(fast) == inspect.signature(documented)
    assert inspect.unwrap(fast) is documented and inspect.getsource(fast) == inspect.getsource(documented)
    assert callable(fast) and inspect.isroutine(fast)
    assert fast.name == "given" and fast.on_miss is no_entry
    assert fast.__code__ is documented.__code__ and fast.__globals__ is documented.__globals__
    assert "documented" in repr(fast)
    fast.own = 1
    assert fast.own == 1 and not hasattr(documented, "own")
    with pytest.raises(AttributeError):
        _ = fast.missing


def test_wraps_what_has_few_attributes() -> None:
    fast = _C.CompiledFunction(functools.partial(documented, 1), no_entry, "fast")
    assert not hasattr(fast, "__code__") and not hasattr(fast, "__qualname__")
    assert fast() is None


fast_documented = _C.CompiledFunction(documented, no_entry, "fast_documented")
fast_documented.__qualname__ = "fast_documented"


def test_copies_and_pickles_like_a_function() -> None:
    assert copy.copy(fast_documented) is fast_documented and copy.deepcopy(fast_documented) is fast_documented
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(fast_documented, protocol)) is fast_documented


class Compiled(_C.CompiledFunction):
    """What dynamo_lite.api does: a subclass with another __init__ and more methods."""

    def __init__(self, fn: Callable[..., Any], option: int = 0) -> None:
        super().__init__(fn, no_entry, fn.__name__)
        self.option = option

    def stats(self) -> dict[str, int]:
        return _C.counters(self.__code__)


class Overriding(_C.CompiledFunction):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ("overridden", super().__call__(*args, **kwargs))


@pytest.mark.parametrize("compiled", [_C.CompiledFunction, Compiled], ids=["base", "subclass"])
def test_is_a_method_in_a_class(compiled: type) -> None:
    def method(self: Any, x: int = 0) -> Any:
        return ("native", self, x)

    native(method)
    fast = compiled(method, no_entry, "m") if compiled is _C.CompiledFunction else compiled(method)

    class Holder:
        m = fast
        s = staticmethod(fast)
        c = classmethod(fast)

    holder = Holder()
    assert holder.m(3) == ("native", holder, 3) and Holder.m(holder, 3) == ("native", holder, 3)
    assert holder.m(x=4) == ("native", holder, 4)
    bound = holder.m
    assert isinstance(bound, types.MethodType) and bound.__self__ is holder and bound.__func__ is fast
    assert bound(5) == ("native", holder, 5)
    assert Holder.m is fast and holder.s(1, 2) == ("native", 1, 2) and holder.c(2) == ("native", Holder, 2)
    assert list(map(holder.m, [1])) == [("native", holder, 1)]


def test_subclass() -> None:
    native(plain_3)
    fast = Compiled(plain_3, option=7)
    assert fast(1, 2, 3) == ("native", 1, 2, 3) and fast(1, c=5) == ("native", 1, 2, 5)
    assert fast.option == 7 and fast.stats()["native_calls"] == 2 and fast.__name__ == "plain_3"
    vectorcall, method_descriptor = 1 << 11, 1 << 17
    assert Compiled.__flags__ & vectorcall and Compiled.__flags__ & method_descriptor
    assert Overriding(plain_3, no_entry, "")(1) == ("overridden", ("native", 1, 2, 3))
    assert not Overriding.__flags__ & vectorcall


def test_uninitialized_objects_do_not_crash() -> None:
    bare = _C.CompiledFunction.__new__(_C.CompiledFunction)
    with pytest.raises(RuntimeError, match="has not been called"):
        bare(1)
    assert "None" in repr(bare)
    with pytest.raises(AttributeError):
        _ = bare.__code__
    with pytest.raises(RuntimeError, match="once"):
        native(plain_3).__init__(plain_3, no_entry, "again")
    for wrong in ((1, no_entry, ""), (plain_3, 1, "")):
        with pytest.raises(TypeError, match="must be callable"):
            _C.CompiledFunction(*wrong)


def test_weak_references_and_cycles() -> None:
    def fn() -> None: ...

    fast = _C.CompiledFunction(fn, no_entry, "fast")
    fast.self = fast
    fn.fast = fast
    gone = weakref.ref(fast)
    assert gone() is fast
    del fast, fn
    gc.collect()
    assert gone() is None


def test_traced_calls_run_the_function_itself() -> None:
    fast = native(plain_3)
    seen: list[str] = []

    def profile(frame: types.FrameType, event: str, arg: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    before = _C.counters(plain_3)["native_calls"]
    sys.setprofile(profile)
    try:
        fast(1)
    finally:
        sys.setprofile(None)
    assert seen == ["plain_3"] and _C.counters(plain_3)["native_calls"] == before


def test_recursion_limit_is_pythons() -> None:
    def depth_of(call: Callable[[Any, int], int]) -> int:
        deepest = 0

        def note(n: int) -> None:
            nonlocal deepest
            deepest = n

        with pytest.raises(RecursionError):
            call(note, 0)
        return deepest

    def down(note: Any, n: int) -> int:
        note(n)
        return down_again(note, n + 1)

    down_again: Any = down
    plain = depth_of(down)
    down_again = _C.CompiledFunction(down, no_entry, "down")
    compiled = depth_of(down_again)
    assert abs(plain - compiled) <= 3
    assert depth_of(down_again) == compiled  # nothing is left behind by the unwinding


def test_no_crash_when_the_recursion_limit_is_high() -> None:
    """CPython 3.11 would run off the C stack."""
    program = """
import sys
from dynamo_lite import _C
sys.setrecursionlimit(10**6)
def down(n):
    return 0 if n == 0 else 1 + fast(n - 1)
fast = _C.CompiledFunction(down, lambda func, slots: None, "down")
assert fast(500) == 500
try:
    fast(10**6 - 10)
except RecursionError:
    print("RecursionError")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "RecursionError"), done.stderr[-2000:]


@pytest.mark.usefixtures("no_mode")
def test_no_leaks() -> None:
    fast = {fn: native(fn) for fn in SIGNATURES}
    marker = object()
    refcount = sys.getrefcount(marker)
    calls: list[Callable[[], Any]] = [
        lambda: fast[plain_3](marker, marker, marker),
        lambda: fast[plain_3](marker),
        lambda: fast[plain_3](marker, c=marker),
        lambda: fast[everything](marker, marker, marker, c=marker, z=marker),
        lambda: outcome(fast[plain_3], (marker, marker, marker, marker), {}),
        lambda: outcome(fast[everything], (marker, marker, marker), {"a": marker}),
        lambda: outcome(fast[keyword_only], (marker,), {"b": marker, "q": marker}),
    ]
    for call in calls:
        assert_no_growth(call, 20_000)
    assert sys.getrefcount(marker) == refcount

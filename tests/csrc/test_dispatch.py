"""Dispatch: guards, programs, residual code, continuations, declines and counters (docs/architecture.md, Segments)."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dynamo_lite import _C
from dynamo_lite.graph.scalar import Symbol, make, total
from tests.csrc.growth import assert_no_growth


def no_entry(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
    return None


def compiled(fn: Any, *entries: _C.CacheEntry, on_miss: Any = no_entry) -> Any:
    """fn compiled, with the entries tried in the order given."""
    _C.clear(fn)
    for entry in reversed(entries):
        _C.add_entry(fn, entry)
    return _C.CompiledFunction(fn, on_miss, fn.__name__)


def is_type(kind: type) -> Callable[..., Any]:
    """Guards: the first slot is of this exact type; it is the only input."""
    return lambda func, slots: (slots[0],) if type(slots[0]) is kind else None


def decline(*inputs: Any) -> Any:
    raise _C.Declined("for a reason")


pytestmark = pytest.mark.usefixtures("no_mode")  # most entries here are made up


@pytest.fixture
def no_stress(no_mode: None) -> Iterator[None]:
    yield
    _C.set_stress(None)


def nonzero(counters: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counters.items() if count}


def test_the_first_output_is_the_value() -> None:
    def fn(x: Any, y: Any) -> Any:
        return "plain"

    fast = compiled(fn, _C.CacheEntry(None, lambda x, y: (x + y, "unused"), None))
    assert fast(1, 2) == 3
    assert nonzero(_C.counters(fn)) == {"hits": 1, "native_calls": 1}


def test_guards_choose_the_entry_and_its_inputs() -> None:
    def fn(x: Any, y: Any = 0) -> Any:
        return "plain"

    on_int = _C.CacheEntry(is_type(int), lambda x: [("int", x)], None)
    on_str = _C.CacheEntry(is_type(str), lambda x: [("str", x)], None)
    fast = compiled(fn, on_int, on_str)
    assert _C.entries(fn) == (on_int, on_str)
    assert fast("a") == ("str", "a")
    assert _C.entries(fn) == (on_str, on_int)  # the one hit last comes first
    assert fast(1, 2) == ("int", 1)
    assert _C.entries(fn.__code__) == (on_int, on_str)
    assert fast(1.0) == "plain"
    assert nonzero(_C.counters(fn)) == {"hits": 2, "native_calls": 2, "misses": 1, "plain_calls": 1}
    assert (on_int.hits, on_str.hits) == (1, 1)


def test_an_entry_made_on_a_miss_runs_at_once_and_stays() -> None:
    asked: list[tuple[Any, ...]] = []

    def fn(x: Any) -> Any:
        return "plain"

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry:
        asked.append((func, slots))
        return _C.CacheEntry(is_type(type(slots[0])), lambda x: [("native", x)], None)

    fast = compiled(fn, on_miss=on_miss)
    assert [fast(1), fast(2), fast("s"), fast(3)] == [("native", v) for v in (1, 2, "s", 3)]
    assert asked == [(fn, (1,)), (fn, ("s",))] and len(_C.entries(fn)) == 2
    assert nonzero(_C.counters(fn)) == {"hits": 2, "misses": 2, "native_calls": 4}


def test_an_entry_whose_own_guards_fail_runs_plainly() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    fast = compiled(fn, on_miss=lambda func, slots: _C.CacheEntry(is_type(str), lambda x: [x], None))
    assert fast(1) == "plain"


def test_residual_gets_slots_then_outputs() -> None:
    def fn(a: Any, *rest: Any, k: Any = 3, **extra: Any) -> Any:
        return "plain"

    program = lambda *inputs: ("out1", "out2")  # noqa: E731
    fast = compiled(fn, _C.CacheEntry(None, program, lambda *everything: everything))
    assert fast(1, 2, z=4) == (1, 3, (2,), {"z": 4}, "out1", "out2")
    without = compiled(fn, _C.CacheEntry(None, None, lambda *everything: everything))
    assert without(1) == (1, 3, (), {})
    assert nonzero(_C.counters(fn)) == {"hits": 1}


def test_many_values() -> None:
    """More inputs, outputs and slots than the C stack holds."""
    names = ", ".join(f"p{i}" for i in range(100))
    namespace: dict[str, Any] = {}
    exec(f"def fn({names}): return 'plain'", namespace)
    fast = compiled(
        namespace["fn"], _C.CacheEntry(None, lambda *inputs: inputs[::-1], lambda *values: (len(values), values[-1]))
    )
    assert fast(*range(100)) == (200, 0)


def test_entries_are_checked() -> None:
    assert _C.CacheEntry(None, None, None).retired  # nothing to run: plain Python
    for wrong in ((3, len, len), (None, 3, len), (None, len, 3)):
        with pytest.raises(TypeError, match="must be callable or None, not int"):
            _C.CacheEntry(*wrong)
    for wrong_code in (3, len):
        with pytest.raises(TypeError, match="expected a code object"):
            _C.entries(wrong_code)
    with pytest.raises(ValueError, match="reason must be in"):
        _C.set_skip(no_entry, True, reason=1000)
    with pytest.raises(TypeError, match="function"):
        _C.Jump(3)


def test_wrong_answers_are_errors() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    with pytest.raises(TypeError, match="guards must return a sequence"):
        compiled(fn, _C.CacheEntry(lambda func, slots: 3, lambda x: [x], None))(1)
    with pytest.raises(TypeError, match="program must return a sequence"):
        compiled(fn, _C.CacheEntry(None, lambda x: 3, None))(1)
    with pytest.raises(ValueError, match="without outputs needs residual"):
        compiled(fn, _C.CacheEntry(None, lambda x: (), None))(1)


def test_exceptions_of_guards_and_programs_propagate() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def fail(*inputs: Any) -> Any:
        raise LookupError("here")

    for entry in (_C.CacheEntry(fail, lambda x: [x], None), _C.CacheEntry(None, fail, None)):
        with pytest.raises(LookupError, match="here"):
            compiled(fn, entry)(1)


# ---- declines ----


def test_a_decline_runs_the_function_with_the_original_arguments() -> None:
    def fn(a: Any, *rest: Any, **extra: Any) -> Any:
        return (a, rest, extra)

    entry = _C.CacheEntry(None, decline, lambda *values: "residual")
    assert compiled(fn, entry)(1, 2, k=3) == (1, (2,), {"k": 3})
    assert nonzero(_C.counters(fn)) == {"hits": 1, "declines": 1, "plain_calls": 1}
    assert (entry.hits, entry.declines, entry.retired) == (0, 1, False)


def test_an_entry_that_mostly_declines_is_retired() -> None:
    asked: list[Any] = []
    runs: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append(slots)

    def program(x: Any) -> Any:
        runs.append(x)
        raise _C.Declined("always")

    entry = _C.CacheEntry(is_type(int), program, None)
    fast = compiled(fn, entry, on_miss=on_miss)
    assert [fast(i) for i in range(40)] == ["plain"] * 40
    assert len(runs) == 16 and entry.declines == 16
    assert entry.retired and entry.retired_reason == "always" and "retired" in repr(entry)
    assert not asked  # what it was made for is known not to pay
    assert fast("other") == "plain" and asked == [("other",)]
    assert _C.counters(fn)["retired"] == 1


def test_calls_that_run_plainly_stay_plain_unasked_for_a_while() -> None:
    looked: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def guards(func: types.FunctionType, slots: tuple[Any, ...]) -> Any:
        looked.append(slots[0])
        return slots if slots[0] is not None else None

    fast = compiled(fn, _C.CacheEntry(guards, None, None))
    assert [fast(0.5) for _ in range(8)] == ["plain"] * 8 and len(looked) == 8
    assert [fast(0.5) for _ in range(100)] == ["plain"] * 100 and len(looked) == 8
    assert fast(0.5) == "plain" and len(looked) == 9  # looked at again every 100 calls
    assert nonzero(_C.counters(fn)) == {"hits": 9, "plain_calls": 109}  # only what was asked is a hit
    assert fast("other") == "plain" and len(looked) == 10  # other types are looked at always
    assert fast(True) == "plain" and fast(False) == "plain" and len(looked) == 12  # bools and ints by value
    for _ in range(20):
        fast(None)
    assert looked[-20:] == [None] * 20  # these miss: not because of a retired entry
    for _ in range(20):
        fast(0.5)
    assert len(looked) == 40  # 12 + 20 + 8
    _C.add_entry(fn, _C.CacheEntry(None, lambda x: ("fast",), None))
    assert fast(0.5) == "fast"


def test_an_entry_runs_for_its_range_of_sizes() -> None:
    def fn(x: Any, y: Any) -> Any:
        return "plain"

    entry = _C.CacheEntry(None, lambda x, y: ("fast",), None, least=3, most=10)
    assert (entry.least, entry.most) == (3, 10)
    fast = compiled(fn, entry)
    for size, other, expected in ((2, 2, "plain"), (3, 0, "fast"), (0, 10, "fast"), (5, 11, "plain"), (4, 4, "fast")):
        assert fast(np.zeros(size), np.zeros((1, other))) == expected
    assert fast(1, 2) == "plain"  # no array
    assert nonzero(_C.counters(fn)) == {"hits": 6, "native_calls": 3, "plain_calls": 3}
    assert [fast(np.zeros(size), 0) for size in [1000] * 20 + [5] + [1000]] == ["plain"] * 20 + ["fast", "plain"]
    entry.unsized = 0b10
    assert [fast(np.zeros(5), np.zeros(size)) for size in (0, 5, 11, 1000)] == ["fast"] * 4
    assert [fast(np.zeros(size), np.zeros(5)) for size in (2, 11)] == ["plain"] * 2


def test_an_entry_runs_where_its_condition_holds() -> None:
    def fn(x: Any, n: Any) -> Any:
        return "plain"

    size, number = Symbol("s0", "int", 0, 0), Symbol("n", "int", 1)
    pays = make("ge", make("mul", number, number), size)
    tests = [("arg", 0, 0), ("array", 0, np.dtype(float), 1, 0, None), ("arg", 1, 1), ("number", 1, "int")]
    guards = _C.Guards(tests, [0, 1])
    entry = _C.CacheEntry(guards, None, lambda x, n: ("fast",), most=50, pays=pays)
    fast = compiled(fn, entry)
    for elements, n, expected in ((9, 2, "plain"), (9, 3, ("fast",)), (60, 30, "plain"), (9, 2**62, "plain")):
        assert fast(np.zeros(elements), n) == expected
    with pytest.raises(ValueError, match="no short condition"):
        _C.CacheEntry(guards, None, None, pays=make("ge", Symbol("other", "int", 2), 0))
    with pytest.raises(ValueError, match="no short condition"):
        _C.CacheEntry(None, None, None, pays=pays)
    long = total(make("floordiv", number, 2 * place + 3) for place in range(40))
    with pytest.raises(ValueError, match="no short condition"):
        _C.CacheEntry(guards, None, None, pays=make("ge", long, 0))


def test_entries_that_only_say_run_plainly() -> None:
    asked: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append(slots)

    entry = _C.CacheEntry(is_type(int), None, None)
    fast = compiled(fn, entry, on_miss=on_miss)
    assert entry.retired and fast(1) == "plain" and not asked
    runs = _C.CacheEntry(is_type(str), lambda x: [("native", x)], None)
    _C.add_entry(fn, runs)
    assert fast("a") == ("native", "a")
    runs.retire("not worth it")
    assert (runs.retired, runs.retired_reason) == (True, "not worth it")
    assert fast("a") == "plain" and not asked


def test_an_entry_that_mostly_runs_stays() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    entry = _C.CacheEntry(None, lambda x: decline() if x % 2 == 0 else ("native",), None)
    fast = compiled(fn, entry)
    for i in range(1, 101):
        assert fast(i) == ("native" if i % 2 else "plain")
    assert (entry.hits, entry.declines, entry.retired) == (50, 50, False)


def test_an_entry_that_begins_to_decline_is_retired_though_it_ran_long() -> None:
    entry = _C.CacheEntry(None, lambda x: decline() if x else ("native",), None)
    fast = compiled(lambda x: "plain", entry)
    assert [fast(False) for _ in range(1000)] == ["native"] * 1000
    assert [fast(True) for _ in range(250)] == ["plain"] * 250
    assert entry.retired and entry.declines < 250


# ---- continuations ----


def counting_loop(log: list[Any] | None = None) -> Any:
    """A function whose loop breaks in every round: entry -> (resume)* -> value."""

    def fn(n: int) -> Any:
        raise AssertionError("plain")

    def resume(n: int, i: int) -> Any:
        return ("plain from", n, i)

    def step(n: int, i: int) -> Any:
        if log is not None:
            log.append(i)
        return ("end", i) if i >= n else jump(n, i + 1)

    jump = _C.Jump(resume)
    assert jump.resume_function is resume and "resume" in repr(jump)
    _C.clear(resume)
    _C.add_entry(resume, _C.CacheEntry(None, None, step))
    fast = compiled(fn, _C.CacheEntry(None, None, lambda n: jump(n, 0)))
    return fast, fn, resume


def test_continuations_are_a_loop() -> None:
    fast, fn, resume = counting_loop()
    assert fast(100_000) == ("end", 100_000)
    assert nonzero(_C.counters(fn)) == {"hits": 1, "breaks": 1}
    assert nonzero(_C.counters(resume)) == {"hits": 100_001, "breaks": 100_000}


def test_plain_python_takes_over_from_a_resume_function() -> None:
    log: list[Any] = []
    fast, _, resume = counting_loop(log)
    entry = _C.entries(resume)[0]
    _C.clear(resume)
    assert fast(5) == ("plain from", 5, 0) and not log
    only_three = lambda func, slots: slots if slots[1] < 3 else None  # noqa: E731
    _C.add_entry(resume, _C.CacheEntry(only_three, None, entry.residual))
    assert fast(5) == ("plain from", 5, 3) and log == [0, 1, 2]
    _C.clear(resume)
    _C.add_entry(resume, _C.CacheEntry(None, decline, entry.residual))
    assert fast(5) == ("plain from", 5, 0)
    assert nonzero(_C.counters(resume)) == {"hits": 1, "declines": 1, "plain_calls": 1}


def test_on_miss_is_asked_for_resume_functions_too() -> None:
    asked: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def resume(x: Any) -> Any:
        return ("resumed plainly", x)

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry | None:
        asked.append((func.__name__, slots))
        return _C.CacheEntry(None, None, _C.Jump(resume)) if func.__name__ == "fn" else None

    assert compiled(fn, on_miss=on_miss)(7) == ("resumed plainly", 7)
    assert asked == [("fn", (7,)), ("resume", (7,))]


def test_a_wrong_state_is_pythons_type_error() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def resume(x: Any, y: Any) -> Any: ...

    jump = _C.Jump(resume)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        compiled(fn, _C.CacheEntry(None, None, jump))(1)
    with pytest.raises(TypeError, match="no keyword"):
        jump(x=1)


JUMPS: list[_C.Jump] = []


def test_functions_that_share_code_keep_their_cells_and_globals() -> None:
    def make(k: Any) -> Any:
        def fn(x: Any) -> Any:
            return ("plain", k, x)

        def residual(x: Any) -> Any:
            return JUMPS[0](x, ("residual", k))

        def resume(x: Any, seen: Any) -> Any:
            return (*seen, "resume", k, x)

        return fn, residual, resume

    one, residual, resume = make(1)
    two, _, _ = make(2)
    assert one.__code__ is two.__code__ and residual.__code__.co_freevars == one.__code__.co_freevars
    JUMPS[:] = [_C.Jump(resume)]
    fast_one = compiled(one, _C.CacheEntry(None, None, residual))
    fast_two = _C.CompiledFunction(two, no_entry, "two")
    assert fast_one("x") == ("residual", 1, "resume", 1, "x")
    assert fast_two("x") == ("residual", 2, "resume", 2, "x")
    elsewhere = types.FunctionType(one.__code__, {"JUMPS": JUMPS}, "fn", None, two.__closure__)
    assert _C.CompiledFunction(elsewhere, no_entry, "")("x") == ("residual", 2, "resume", 2, "x")

    _C.clear(one)
    _C.clear(resume)
    _C.add_entry(one, _C.CacheEntry(None, None, residual.__code__))
    JUMPS[:] = [_C.Jump(resume.__code__)]
    assert fast_one("x") == ("residual", 1, "resume", 1, "x")
    assert fast_two("x") == ("residual", 2, "resume", 2, "x")
    _C.add_entry(resume, _C.CacheEntry(None, None, resume.__code__.replace()))
    assert fast_two("x") == ("residual", 2, "resume", 2, "x")

    def name_here() -> Any:
        return __name__

    fast = compiled(name_here, _C.CacheEntry(None, None, types.FunctionType(name_here.__code__.replace(), globals())))
    other = types.FunctionType(name_here.__code__, {"__name__": "other"})
    assert fast() == __name__ and _C.CompiledFunction(other, no_entry, "")() == "other"


def test_code_objects_keep_no_cells_alive() -> None:
    class Kept:
        pass

    def make(k: Any) -> Any:
        def fn(x: Any) -> Any:
            return ("plain", k, x)

        def residual(x: Any) -> Any:
            return (k, x)

        return fn, residual.__code__

    fn, residual = make(Kept())
    gone = weakref.ref(fn.__closure__[0].cell_contents)
    fast = compiled(fn, _C.CacheEntry(None, None, residual))
    assert isinstance(fast(1)[0], Kept)
    del fast, fn
    assert gone() is None

    def no_cells(x: Any) -> Any: ...

    with pytest.raises(SystemError, match="other free variables"):
        compiled(no_cells, _C.CacheEntry(None, None, residual))(1)


# ---- exceptions and tracebacks ----


def test_tracebacks_show_the_users_function_once() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def fn_residual(x: Any) -> Any:
        return 1 / x

    def fn_resume(x: Any) -> Any:
        return 1 / x

    def names(call: Callable[..., Any]) -> list[str]:
        with pytest.raises(ZeroDivisionError) as info:
            call(0)
        assert info.value.__context__ is None
        return [entry.name for entry in traceback.extract_tb(info.value.__traceback__)]

    here = names(lambda x: 1 / x)[:-1]
    assert names(compiled(fn_residual)) == [*here, "fn_residual"]
    assert names(compiled(fn, _C.CacheEntry(None, None, fn_residual))) == [*here, "fn_residual"]
    into_resume = compiled(fn, _C.CacheEntry(None, None, _C.Jump(fn_resume)))
    assert names(into_resume) == [*here, "fn_resume"]
    _C.add_entry(fn_resume, _C.CacheEntry(None, None, fn_residual))
    assert names(into_resume) == [*here, "fn_residual"]


def test_warnings_and_frames_see_one_frame_for_one_call() -> None:
    def fn() -> Any: ...

    def look() -> Any:
        back = sys._getframe().f_back
        assert back is not None
        return back.f_code.co_name

    fast = compiled(fn, _C.CacheEntry(None, None, look))
    assert fast() == "test_warnings_and_frames_see_one_frame_for_one_call"


def test_a_declining_program_leaves_no_exception_context() -> None:
    def fn() -> Any:
        assert sys.exc_info() == (None, None, None)
        raise KeyError("own")

    with pytest.raises(KeyError) as info:
        compiled(fn, _C.CacheEntry(None, decline, None))()
    assert info.value.__context__ is None


# ---- caches ----


def test_the_cache_dies_with_its_code_object() -> None:
    namespace: dict[str, Any] = {}
    exec("def fn(x): return x", namespace)
    fn = namespace.pop("fn")
    program = lambda x: [x]  # noqa: E731
    gone = weakref.ref(program)
    _C.add_entry(fn, _C.CacheEntry(None, program, None))
    del program
    namespace.clear()
    gc.collect()
    assert gone() is not None
    del fn
    gc.collect()
    assert gone() is None


def test_clear_forgets_everything() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    program = lambda x: [x]  # noqa: E731
    gone = weakref.ref(program)
    fast = compiled(fn, _C.CacheEntry(None, program, None))
    del program
    _C.set_skip(fn, True)
    assert fast(1) == 1
    _C.clear(fn)
    assert gone() is None and fast(1) == "plain" and _C.entries(fn) == ()
    assert nonzero(_C.counters(fn)) == {"misses": 1, "plain_calls": 1}


def test_entries_and_skip_marks_belong_to_the_on_miss_that_made_them() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def answering(name: str) -> Any:
        return lambda func, slots: _C.CacheEntry(is_type(type(slots[0])), lambda x: [(name, x)], None)

    makers = [answering("one"), answering("two")]
    one, two = (_C.CompiledFunction(fn, maker, "") for maker in makers)
    for _ in range(2):
        assert (one(1), two(1), one("a")) == (("one", 1), ("two", 1), ("one", "a"))
    assert len(_C.entries(fn)) == 3 and _C.counters(fn)["misses"] == 3
    _C.clear(fn, makers[0])
    assert len(_C.entries(fn)) == 1 and _C.counters(fn)["misses"] == 3
    _C.set_skip(fn, True, 40, makers[0])
    assert (one(1), two(1), two("a")) == ("plain", ("two", 1), ("two", "a"))
    _C.clear(fn, makers[1])
    assert one(1) == "plain" and _C.entries(fn) == ()
    _C.clear(fn, makers[0])
    assert one(1) == ("one", 1)
    _C.clear(fn)
    _C.add_entry(fn, _C.CacheEntry(None, lambda x: [("anybody", x)], None))
    assert (one(1), two(1)) == (("anybody", 1), ("anybody", 1))


def test_clearing_for_one_owner_keeps_the_order_of_the_others() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    kept = [_C.CacheEntry(None, len, None) for _ in range(9)]
    for entry in reversed(kept):
        _C.add_entry(fn, entry)
    _C.clear(fn, object())
    assert list(_C.entries(fn)) == kept


def test_adding_an_entry_twice_keeps_one() -> None:
    def fn() -> Any: ...

    one, two = (_C.CacheEntry(None, len, None) for _ in range(2))
    for entry in (one, two, one):
        _C.add_entry(fn, entry)
    assert _C.entries(fn) == (one, two)
    for _ in range(20):
        _C.add_entry(fn, _C.CacheEntry(None, len, None))
    assert len(_C.entries(fn)) == 22 and _C.entries(fn)[-2:] == (one, two)


def test_clearing_while_an_entry_runs() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def guards(func: Any, slots: Any) -> Any:
        _C.clear(fn)
        gc.collect()
        return slots

    def program(x: Any) -> Any:
        _C.clear(fn)
        gc.collect()
        return (x,)

    def residual(x: Any, out: Any) -> Any:
        _C.clear(fn)
        gc.collect()
        return ("residual", x, out)

    fast = compiled(fn, *(_C.CacheEntry(guards, program, residual) for _ in range(3)))
    assert fast(4) == ("residual", 4, 4) and _C.entries(fn) == ()


def test_function_and_code_may_die_during_the_call() -> None:
    namespace: dict[str, Any] = {"gc": gc}  # which is what `end` sees as its globals

    def residual(x: Any) -> Any:
        del namespace["fn"]
        gc.collect()
        return _C.Jump(end)(x)

    def end(x: Any) -> Any:
        gc.collect()
        return ("end", x)

    exec("def fn(x): return x", namespace)
    _C.add_entry(namespace["fn"], _C.CacheEntry(None, None, residual))
    gone = weakref.ref(namespace["fn"])
    assert _C.CompiledFunction(namespace["fn"], no_entry, "")(5) == ("end", 5)
    gc.collect()
    assert gone() is None


def test_threads_add_and_clear_while_others_run() -> None:
    def fn(x: Any) -> Any:
        return x

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry:
        return _C.CacheEntry(is_type(type(slots[0])), lambda x: (x,), lambda x, out: out)

    fast = _C.CompiledFunction(fn, on_miss, "fast")
    stop = threading.Event()
    failures: list[BaseException] = []

    def call() -> None:
        try:
            while not stop.is_set():
                for value in (1, "a", 2.0, None, b"x", 1j):
                    assert fast(value) is value
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=call) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(300):
            _C.clear(fn)
            _C.entries(fn)
            _C.set_skip(fn, True)
            _C.set_skip(fn, False)
            fast(3)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not failures


@pytest.mark.usefixtures("no_stress")
def test_stress_miss_always_asks() -> None:
    asked: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry:
        asked.append(slots)
        return _C.CacheEntry(None, lambda x: [("native", x)], None)

    fast = compiled(fn, on_miss=on_miss)
    _C.set_stress("miss")
    assert [fast(i) for i in range(3)] == [("native", i) for i in range(3)]
    assert len(asked) == 3 and _C.entries(fn) == ()
    with pytest.raises(ValueError, match="expected"):
        _C.set_stress("unknown")


def test_process_counters_add_up() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    before = _C.counters()
    compiled(fn, _C.CacheEntry(None, lambda x: [x], None))(1)
    after = _C.counters()
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {
        "hits": 1,
        "native_calls": 1,
    }


def test_a_debugger_started_by_residual_code_sees_the_rest_run_plainly() -> None:
    seen: list[str] = []

    def trace(frame: types.FrameType, event: str, arg: object) -> Any:
        seen.append(frame.f_code.co_name)

    def starts_tracing(n: int) -> Any:
        sys.settrace(trace)
        return jump(n)

    def resume(n: int) -> Any:
        return "plain"

    def fn(n: int) -> Any: ...

    jump = _C.Jump(resume)
    _C.add_entry(resume, _C.CacheEntry(None, lambda n: ["native"], None))
    before = sys.gettrace()
    try:
        assert compiled(fn, _C.CacheEntry(None, None, starts_tracing))(1) == "plain"
    finally:
        sys.settrace(before)
    assert "resume" in seen


def test_no_leaks_on_any_path() -> None:
    def fn(x: Any, y: Any = None) -> Any:
        return x

    def resume(x: Any, y: Any) -> Any:
        return y

    def raise_key_error(*values: Any) -> Any:
        raise KeyError

    def caught(call: Callable[..., Any]) -> Callable[[], Any]:
        def run() -> None:
            try:
                call(marker)
            except KeyError:
                pass
            else:
                raise AssertionError("no exception")

        return run

    def fresh(code_of: Any) -> Any:
        """Another function with its own code object, hence its own cache."""
        return types.FunctionType(code_of.__code__.replace(), globals(), "fn", (None,))

    marker = object()
    refcount = sys.getrefcount(marker)
    program = lambda x, y: (x, y)  # noqa: E731
    jump = _C.Jump(resume)
    never = _C.CacheEntry(lambda func, slots: None, program, None)
    hit = compiled(fresh(fn), _C.CacheEntry(None, program, None))
    late_hit = compiled(fresh(fn), never, _C.CacheEntry(None, program, None))
    residual = compiled(fresh(fn), _C.CacheEntry(None, program, lambda *values: values[-1]))
    miss = compiled(fresh(fn), never)
    declines = compiled(fresh(fn), _C.CacheEntry(None, decline, None))
    alternating = compiled(fresh(fn), _C.CacheEntry(None, lambda x, y: decline() if y is None else (x,), None))
    continues = compiled(fresh(fn), _C.CacheEntry(None, None, jump))
    raises = [
        compiled(fresh(fn), _C.CacheEntry(None, raise_key_error, None)),
        compiled(fresh(fn), _C.CacheEntry(raise_key_error, program, None)),
        compiled(fresh(fn), _C.CacheEntry(None, program, raise_key_error)),
        compiled(fresh(fn), on_miss=raise_key_error),
        compiled(fresh(fn), _C.CacheEntry(None, None, _C.Jump(raise_key_error))),
    ]
    makes = compiled(fresh(fn), on_miss=lambda func, slots: _C.CacheEntry(None, program, None))

    def make_and_clear() -> None:
        makes(marker)
        _C.clear(makes.__wrapped__)

    assert_no_growth(lambda: hit(marker))
    for call in (
        lambda: late_hit(marker, y=marker),
        lambda: residual(marker, marker),
        lambda: miss(marker),
        lambda: declines(marker),
        lambda: (alternating(marker), alternating(marker, marker), alternating(marker, marker)),
        lambda: continues(marker, marker),
        make_and_clear,
        *map(caught, raises),
    ):
        assert_no_growth(call, 20_000)
    fast, _, _ = counting_loop()
    assert_no_growth(lambda: fast(20), 5_000)
    assert sys.getrefcount(marker) == refcount

"""The frame hook: which frames it takes over, how they end, who else may look at frames."""

from __future__ import annotations

import asyncio
import importlib.machinery
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import Any

import pytest

from dynamo_lite import _C
from tests.csrc.growth import assert_no_growth
from tests.csrc.hook import (
    WITH_HOOK,
    nothing,
    reasons,
    stats,
    take_over,
    under_hook,
    with_constants,
)

pytestmark = WITH_HOOK


# ---- taking frames over ----


def test_slots_are_the_arguments_as_bound() -> None:
    def fn(a: Any, b: Any = 2, /, c: Any = 3, *rest: Any, d: Any = 4, **extra: Any) -> Any:
        local = a
        return local

    take_over(fn)
    calls = under_hook(lambda: (fn(1), fn(1, 5, 6, 7, 8, d=9, z=10), fn(*[1, 2], **{"c": 3})))
    assert calls == (
        ("taken", (1, 2, 3, 4, (), {})),
        ("taken", (1, 5, 6, 9, (7, 8), {"z": 10})),
        ("taken", (1, 2, 3, 4, (), {})),
    )
    assert stats() == {"seen": 3, "captured": 3, "rewritten": 0, "plain_rests": 0, "skipped": {}}
    assert fn(1) == 1


def test_slots_of_cells_are_the_plain_values() -> None:
    def fn(a: Any, b: Any) -> Any:
        return lambda: (a, b)

    take_over(fn)
    assert under_hook(lambda: fn(1, 2)) == ("taken", (1, 2))


def test_closures_reach_residual_code() -> None:
    def make(k: Any) -> Any:
        def fn(x: Any) -> Any:
            return ("plain", k, x)

        def residual(x: Any) -> Any:
            return ("residual", k, x)

        return fn, residual

    one, residual = make(1)
    two, _ = make(2)
    take_over(one, residual=residual)
    assert under_hook(lambda: (one(0), two(0))) == (("residual", 1, 0), ("residual", 2, 0))


def test_every_way_to_call() -> None:
    def fn(x: Any, y: Any = 0) -> Any:
        return "plain"

    class Holder:
        method = fn
        prop = property(fn)

        def __getitem__(self, x: Any) -> Any:
            return "plain"

        def __init__(self, x: Any) -> None:
            self.x = x

    holder = Holder(1)
    take_over(fn, Holder.__getitem__)
    assert under_hook(lambda: (holder.method(1), holder.prop, holder[3], list(map(fn, [1], [2])), fn.__call__(1))) == (
        ("taken", (holder, 1)),
        ("taken", (holder, 0)),
        ("taken", (holder, 3)),
        [("taken", (1, 2))],
        ("taken", (1, 0)),
    )
    assert under_hook(lambda: sorted([2, 1], key=lambda x: fn(x)[1])) == [1, 2]
    take_over(Holder.__init__, residual=lambda self, x: setattr(self, "x", ("taken", x)))
    assert under_hook(lambda: Holder(5)).x == ("taken", 5)


def test_recursion_across_stack_chunks() -> None:
    """Frames taken over at every depth of a stack: also those that are the first in a chunk of it."""

    def leaf(*args: Any) -> Any:
        return "plain"

    def down(n: int, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        if leaf(n, a, h) != ("taken", ((n, a, h),)):
            raise AssertionError(n)
        return 0 if n == 0 else 1 + down(n - 1, a, b, c, d, e, f, g, h)

    def below(n: int) -> Any:
        if n > 0:
            return below(n - 1)
        return under_hook(lambda: down(150, *"abcdefgh"))

    take_over(leaf)
    for depth in range(0, 600, 7):  # a chunk holds 2048 words, a frame of down() about 25
        assert below(depth) == 150
        assert stats()["captured"] == 151


def test_recursive_function_taken_over_at_each_level() -> None:
    def fn(n: int) -> Any:
        return "plain"

    def residual(n: int) -> Any:
        return 0 if n == 0 else 1 + fn(n - 1)

    take_over(fn, residual=residual)
    assert under_hook(lambda: fn(80)) == 80
    assert _C.frame_stats()["captured"] == 81


def test_deep_recursion_is_not_shortened_by_the_hook() -> None:
    """Python calls use no C stack, calls under the hook do: far down the hook steps aside."""
    program = """
import sys
from dynamo_lite import _C
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
def limit():
    deepest = 0
    def sink(n):
        nonlocal deepest
        deepest = n
        sink(n + 1)
    try:
        sink(0)
    except RecursionError:
        return deepest
plain = limit()
_C.set_frame_callback(lambda func, slots: None)
_C.hook_enable()
assert abs(limit() - plain) <= 2, (limit(), plain)
sys.setrecursionlimit(200_000)
assert down(100_000) == 100_000
assert _C.hook_installed()
assert _C.frame_stats()["seen"] > 200
print("deep")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "deep"), done.stderr[-2000:]


def test_exceptions_show_the_function_once() -> None:
    def fn(x: Any) -> Any:
        return "plain"

    def fn_residual(x: Any) -> Any:
        return 1 / x

    take_over(fn, residual=fn_residual)
    with pytest.raises(ZeroDivisionError) as info:
        under_hook(lambda: fn(0))
    names = [entry.name for entry in traceback.extract_tb(info.value.__traceback__)]
    assert names[-2:] == ["<lambda>", "fn_residual"]


def test_a_decline_runs_the_untouched_frame() -> None:
    def fn(a: Any, *rest: Any) -> Any:
        return (a, rest, lambda: a)[:2]

    def decline(*inputs: Any) -> Any:
        raise _C.Declined("no")

    _C.add_entry(fn, _C.CacheEntry(None, decline, None))
    assert under_hook(lambda: fn(1, 2, 3)) == (1, (2, 3))
    assert _C.counters(fn)["declines"] == 1 and reasons() == {"its program declined": 1}


def test_on_frame_is_asked_for_callees_and_continuations() -> None:
    asked: list[Any] = []

    def fn(x: Any) -> Any:
        return "plain"

    def resume(x: Any) -> Any:
        return ("resumed", x)

    def on_frame(func: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry | None:
        asked.append((func.__name__, slots))
        return _C.CacheEntry(None, None, _C.Jump(resume)) if func is fn else None

    assert under_hook(lambda: (fn(1), fn(2)), on_frame) == (("resumed", 1), ("resumed", 2))
    assert asked == [("fn", (1,)), ("resume", (1,)), ("resume", (2,))]


def test_skipped_code_is_not_asked_again() -> None:
    asked: list[Any] = []

    def fn() -> Any:
        return "plain"

    def on_frame(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append(func)
        _C.set_skip(func, True, reason=40)

    assert under_hook(lambda: [fn(), fn(), fn()], on_frame) == ["plain"] * 3
    assert asked == [fn] and stats()["skipped"] == {40: 3}


def test_exception_of_on_frame_propagates() -> None:
    def fn() -> Any:
        return "plain"

    def on_frame(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        raise LookupError("asked")

    with pytest.raises(LookupError, match="asked"):
        under_hook(lambda: fn(), on_frame)


def test_on_frame_and_its_callees_are_not_seen() -> None:
    def compile_it() -> None:
        assert not _C.hook_installed()

    def fn() -> Any:
        return "plain"

    def on_frame(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        compile_it()

    under_hook(lambda: fn(), on_frame)
    assert stats()["seen"] == 1


# ---- CompiledFunction and the hook ----


def test_hook_is_live_under_a_compiled_function_only() -> None:
    live: list[bool] = []

    def callee(x: Any) -> Any:
        return "plain"

    def fn(x: Any) -> Any:
        live.append(_C.hook_installed())
        return callee(x)

    def resume(x: Any) -> Any:
        return fn(x)

    take_over(callee)
    plainly = _C.CompiledFunction(fn, nothing, "fast")
    assert plainly(1) == ("taken", (1,)) and live == [True]
    assert not _C.hook_installed()

    entries = {
        "residual": _C.CacheEntry(None, None, lambda x: fn(x)),
        "resume": _C.CacheEntry(None, None, _C.Jump(resume)),
        "promised": _C.CacheEntry(None, None, lambda x: fn(x), calls_python=False),
    }
    for name, entry in entries.items():
        start = types.FunctionType((lambda x: "never").__code__.replace(), globals())
        _C.add_entry(start, entry)
        expected = "plain" if name == "promised" else ("taken", (1,))
        assert _C.CompiledFunction(start, nothing, name)(1) == expected
        assert not _C.hook_installed()


def test_a_barren_hook_is_tried_now_and_then() -> None:
    live: list[bool] = []

    def callee(x: Any) -> Any:
        return "plain"

    def fn(x: Any) -> Any:
        live.append(_C.hook_installed())
        return callee(x) if x else None

    _C.clear(fn)
    _C.set_skip(callee, True)
    fast = _C.CompiledFunction(fn, nothing, "fn")
    _C.set_skip(fn, True)
    for _ in range(8):
        fast(0)
    assert live == [True] * 8
    for _ in range(202):
        fast(0)
    assert [i for i, on in enumerate(live) if on] == [*range(8), 108, 209]
    take_over(callee)
    _C.set_skip(callee, False)
    live.clear()
    assert [fast(1) for _ in range(120)] == ["plain"] * 100 + [("taken", (1,))] * 20
    assert live[:100] == [False] * 100 and all(live[100:])  # it brings something: live for good


def test_a_plain_run_is_not_dispatched_again() -> None:
    asked: list[Any] = []

    def fn(n: int) -> Any:
        return ["plain"] if n == 0 else ["plain", *fn(n - 1)]

    def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        asked.append(slots)

    fast = _C.CompiledFunction(fn, on_miss, "fast")
    assert fast(2) == ["plain"] * 3
    assert asked == [(2,), (1,), (0,)]  # the recursive calls are frames of their own
    with pytest.raises(TypeError, match="missing 1 required"):
        fast()
    asked.clear()
    under_hook(lambda: fn(0), on_miss)
    assert asked == [(0,)]  # the mark of the failed call is gone


def test_the_innermost_compiled_function_is_asked_about_frames() -> None:
    asked: list[str] = []

    def asking(name: str) -> Any:
        def on_miss(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
            asked.append(f"{name} about {func.__name__}")

        return on_miss

    def callee() -> None: ...

    def inner() -> None:
        callee()

    def outer() -> None:
        callee()
        fast_inner()
        callee()

    fast_inner = _C.CompiledFunction(inner, asking("inner"), "inner")
    fast_outer = _C.CompiledFunction(outer, asking("outer"), "outer")
    under_hook(lambda: (callee(), fast_outer(), callee()), asking("hook"))
    assert asked == [
        "hook about callee",
        "outer about outer",
        "outer about callee",
        "inner about inner",
        "inner about callee",
        "outer about callee",
        "hook about callee",
    ]


def test_disabled_and_generator_functions_are_left_alone() -> None:
    def fn() -> Any:
        return "plain"

    take_over(fn)
    fast = _C.CompiledFunction(fn, nothing, "fast")
    fast.enabled = False
    assert under_hook(lambda: (fast(), fn())) == ("plain", ("taken", ()))


# ---- frames that are left alone ----


def test_generators_and_coroutines_run_as_they_are() -> None:
    def callee(x: Any) -> Any:
        return "plain"

    def generate(n: int) -> Any:
        for i in range(n):
            try:
                yield callee(i)
            except KeyError:
                yield "thrown"

    async def wait(n: int) -> Any:
        return callee(n)

    async def generate_async() -> Any:
        yield callee(1)

    async def use() -> Any:
        return [await wait(0), [x async for x in generate_async()]]

    take_over(callee)
    running = under_hook(lambda: generate(3))
    assert running.gi_code is generate.__code__
    values = under_hook(lambda: (next(running), running.throw(KeyError()), list(running), sum(i for i in range(3))))
    assert values == (("taken", (0,)), "thrown", [("taken", (1,)), ("taken", (2,))], 3)
    loop = asyncio.new_event_loop()
    try:
        assert under_hook(lambda: loop.run_until_complete(use())) == [("taken", (0,)), [("taken", (1,))]]
    finally:
        loop.close()
    assert reasons()["generator, coroutine or asynchronous generator"] >= 3


def test_bodies_of_modules_and_classes_run_as_they_are() -> None:
    asked: list[str] = []

    def on_frame(func: Any, slots: tuple[Any, ...]) -> None:
        asked.append(func.__name__)

    namespace: dict[str, Any] = {}
    source = "x = 1\nclass K:\n    y = x\n    def m(self): return self.y\nvalue = K().m()"
    assert under_hook(lambda: (exec(source, namespace), eval("value + 1", namespace))[1], on_frame) == 2
    assert asked == ["m"] and reasons()["body of a module, a class or exec()"] == 3


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_traced_frames_run_as_they_are(install: Any) -> None:
    def fn() -> Any:
        return "plain"

    seen: list[str] = []

    def watch(frame: types.FrameType, event: str, arg: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    take_over(fn)
    before = sys.gettrace() if install is sys.settrace else sys.getprofile()
    assert under_hook(lambda: (install(watch), fn(), install(before))[1]) == "plain"
    assert "fn" in seen and reasons()["a tracer, profiler, debugger or monitoring tool watches"] >= 1


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with Python 3.12")
@pytest.mark.parametrize("local", [False, True])
def test_monitored_frames_run_as_they_are(local: bool) -> None:
    def fn() -> Any:
        return "plain"

    def other() -> Any:
        return "plain"

    monitoring = sys.monitoring
    tool, event = 3, monitoring.events.PY_START
    seen: list[str] = []
    take_over(fn, other)
    monitoring.use_tool_id(tool, "test")
    monitoring.register_callback(tool, event, lambda code, offset: seen.append(code.co_name))
    try:
        if local:
            monitoring.set_local_events(tool, fn.__code__, event)
        else:
            monitoring.set_events(tool, event)
        fast = _C.CompiledFunction(fn, nothing, "fast")
        values = under_hook(lambda: (fn(), fast(), other()))
        assert values == ("plain", "plain", ("taken", ()) if local else "plain") and seen.count("fn") == 2
    finally:
        monitoring.set_local_events(tool, fn.__code__, 0)
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
    assert under_hook(lambda: fn()) == ("taken", ())


def test_other_threads_are_left_alone() -> None:
    def fn() -> Any:
        return "plain"

    def in_a_thread() -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(fn()))
        thread.start()
        thread.join()
        return results[0]

    take_over(fn)
    assert under_hook(lambda: (fn(), in_a_thread())) == (("taken", ()), "plain")
    _C.hook_enable(nothing)
    assert fn() == ("taken", ()) and in_a_thread() == ("taken", ())
    _C.hook_disable()
    assert fn() == "plain" and in_a_thread() == "plain"


def test_threads_take_frames_over_at_the_same_time() -> None:
    def fn(x: Any) -> Any:
        return ("plain", x)

    take_over(fn)
    fast = _C.CompiledFunction(lambda x: fn(x), nothing, "fast")
    _C.set_frame_callback(nothing)
    failures: list[Any] = []

    def call(me: int) -> None:
        for i in range(3_000):
            if fast((me, i)) != ("taken", ((me, i),)):
                failures.append((me, i))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not failures and not _C.hook_installed()


# ---- installing ----


def test_enter_and_exit_are_counted() -> None:
    assert not _C.hook_installed()
    _C.hook_enter()
    _C.hook_enter()
    _C.hook_exit()
    assert _C.hook_installed()
    _C.hook_exit()
    assert not _C.hook_installed()
    with pytest.raises(RuntimeError, match="without hook_enter"):
        _C.hook_exit()
    for set_callback in (_C.set_frame_callback, _C.set_rewrite_callback, _C.hook_enable):
        with pytest.raises(TypeError, match="callable or None"):
            set_callback(3)
    assert not _C.hook_installed()


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A second copy of the extension: another evaluator that chains, as ours does."""
    monkeypatch.setitem(sys.modules, "dynamo_lite._C", _C)  # put back afterwards: the copy takes the name
    copy = shutil.copy(_C.__file__, tmp_path / Path(_C.__file__).name)
    loader = importlib.machinery.ExtensionFileLoader("dynamo_lite._C", str(copy))
    spec = importlib.util.spec_from_file_location("dynamo_lite._C", copy, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    assert module.CompiledFunction is not _C.CompiledFunction
    return module


def test_a_previous_evaluator_is_chained(foreign: Any) -> None:
    def ours() -> Any:
        return "plain"

    def theirs() -> Any:
        return "plain"

    take_over(ours)
    foreign.add_entry(theirs, foreign.CacheEntry(None, lambda: ["foreign"], None))
    foreign.set_frame_callback(nothing)
    foreign.hook_enter()
    assert under_hook(lambda: (ours(), theirs())) == (("taken", ()), "foreign")
    assert foreign.hook_installed() and ours() == "plain" and theirs() == "foreign"
    foreign.hook_exit()
    assert theirs() == "plain"


def test_an_evaluator_installed_later_is_tolerated(foreign: Any) -> None:
    def ours() -> Any:
        return "plain"

    def theirs() -> Any:
        return "plain"

    take_over(ours)
    foreign.add_entry(theirs, foreign.CacheEntry(None, lambda: ["foreign"], None))
    foreign.set_frame_callback(nothing)
    values = under_hook(lambda: (foreign.hook_enter(), foreign.hook_installed(), ours(), theirs()))
    assert values == (None, True, ("taken", ()), "foreign")
    assert foreign.hook_installed()  # theirs is on top, and stays
    assert ours() == "plain" and theirs() == "foreign"
    # no second copy of ours on top: they would call each other for ever
    assert under_hook(lambda: (foreign.hook_installed(), ours(), theirs())) == (True, ("taken", ()), "foreign")
    foreign.hook_exit()  # puts ours back, which nobody needs
    assert ours() == "plain" and theirs() == "plain"
    assert not _C.hook_installed() and not foreign.hook_installed()
    assert under_hook(lambda: (_C.hook_installed(), ours())) == (True, ("taken", ()))


def test_evaluators_leave_in_any_order(foreign: Any) -> None:
    def fn() -> Any:
        return "plain"

    foreign.set_frame_callback(nothing)
    _C.set_frame_callback(nothing)
    for order in itertools.product((0, 1), repeat=6):
        depth = [0, 0]
        for which in order:
            module = (_C, foreign)[which]
            if depth[which]:
                module.hook_exit()
            else:
                module.hook_enter()
            depth[which] ^= 1
            assert fn() == "plain"
        for which in (0, 1):
            if depth[which]:
                (_C, foreign)[which].hook_exit()
        for _ in range(3):
            fn()
        assert not _C.hook_installed() and not foreign.hook_installed(), order


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_forgets_other_threads() -> None:
    program = """
import os, threading
from dynamo_lite import _C
entered, done = threading.Event(), threading.Event()
def hold():
    _C.hook_enter(); entered.set(); done.wait(); _C.hook_exit()
thread = threading.Thread(target=hold); thread.start(); entered.wait()
assert _C.hook_installed()
child = os.fork()
if child == 0:
    _C.hook_enter(); _C.hook_exit()
    os._exit(int(_C.hook_installed()))
done.set(); thread.join()
assert not _C.hook_installed()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr[-2000:]


def test_whole_program_mode_ends_with_the_interpreter() -> None:
    """The callback is not called while modules are torn down."""
    program = """
import atexit
from dynamo_lite import _C
class Late:
    def __del__(self):
        self.m()
    def m(self):
        pass
late = Late(); cycle = [late]; cycle.append(cycle)
def on_frame(func, slots):
    assert names is not None, func  # a global that is gone: this module has been torn down
names = True
_C.hook_enable(on_frame)
def last(): print(_C.hook_installed())
last()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")


# ---- leaks ----


def test_no_leaks() -> None:
    def fn(x: Any, *rest: Any, **extra: Any) -> Any:
        return x

    def fails(x: Any) -> Any:
        return x

    def residual_fails(x: Any) -> Any:
        raise KeyError

    def generate(x: Any) -> Any:
        yield x

    def caught() -> None:
        try:
            fails(marker)
        except KeyError:
            return
        raise AssertionError

    marker = object()
    refcount = sys.getrefcount(marker)
    take_over(fn)
    take_over(fails, residual=residual_fails)
    under_hook(lambda: assert_no_growth(lambda: fn(marker, marker, k=marker)))
    under_hook(lambda: assert_no_growth(caught, 20_000))
    under_hook(lambda: assert_no_growth(lambda: list(generate(marker)), 20_000))
    _C.clear(fn)
    under_hook(lambda: assert_no_growth(lambda: fn(marker, marker), 20_000))
    _C.set_stress("rewrite")
    _C.set_rewrite_callback(with_constants)
    under_hook(lambda: assert_no_growth(lambda: (fn(marker, marker), list(generate(marker))), 20_000))
    assert stats()["rewritten"] > 40_000
    assert sys.getrefcount(marker) == refcount

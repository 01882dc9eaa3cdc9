"""The frame hook's counters, and the stress modes that pass, rewrite or compile every frame."""

from __future__ import annotations

import asyncio
import sys
import traceback
import types
from typing import Any

import pytest

from dynamo_lite import _C
from tests.csrc.hook import (
    MISFIT,
    REASONS,
    WITH_HOOK,
    reasons,
    stats,
    take_over,
    under_hook,
    with_constants,
)

pytestmark = WITH_HOOK


def test_statistics_add_up() -> None:
    def fn() -> Any:
        return "plain"

    def taken() -> Any: ...

    take_over(taken)
    under_hook(lambda: (fn(), taken(), fn(), taken(), set(i for i in range(2))))  # noqa: C401
    counts = _C.frame_stats(reset=True)
    assert counts["seen"] == counts["captured"] + counts["rewritten"] + sum(counts["skipped"].values())
    assert counts["captured"] == 2 and counts["seen"] == 6
    assert _C.frame_stats() == {"seen": 0, "captured": 0, "rewritten": 0, "plain_rests": 0, "skipped": {}}
    assert len(set(REASONS)) == len(REASONS) < 32


def test_stress_hook_passes_every_frame() -> None:
    def fn(n: int) -> int:
        return n if n < 2 else fn(n - 1) + fn(n - 2)

    take_over(fn)
    _C.set_stress("hook")
    assert under_hook(lambda: fn(10)) == 55
    assert stats()["captured"] == 0 and reasons() == {"stress mode: pass-through": 178}


def test_stress_rewrite_runs_the_code_given() -> None:
    asked: list[str] = []

    def rewrite(code: types.CodeType) -> types.CodeType:
        asked.append(code.co_name)
        return with_constants(code)

    def fn(a: Any, b: Any = "b", /, *rest: Any, k: Any = "k", **extra: Any) -> Any:
        inner = lambda: (a, "cell")  # noqa: E731
        return ("text", b, rest, k, extra, inner())

    def generate(n: int) -> Any:
        for _ in range(n):
            yield "item"

    async def wait() -> str:
        return "awaited"

    async def generate_async() -> Any:
        yield "async item"

    async def use() -> Any:
        return [await wait(), [x async for x in generate_async()]]

    _C.set_stress("rewrite")
    _C.set_rewrite_callback(rewrite)
    namespace: dict[str, Any] = {}
    for _ in range(2):
        assert under_hook(lambda: fn(1, z=2)) == ("TEXT", "b", (), "k", {"z": 2}, (1, "CELL"))
        assert under_hook(lambda: list(generate(2))) == ["ITEM", "ITEM"]
    source = "class K:\n    y = 'body'\n    def m(self): return 'method'\nresult = K.y, K().m()"
    under_hook(lambda: exec(source, namespace))
    assert namespace["result"] == ("BODY", "METHOD")
    _C.set_rewrite_callback(lambda code: rewrite(code) if code.co_filename == __file__ else None)
    loop = asyncio.new_event_loop()
    try:
        assert under_hook(lambda: loop.run_until_complete(use())) == ["AWAITED", ["ASYNC ITEM"]]
    finally:
        loop.close()
    assert asked.count("fn") == 1 and asked.count("generate") == 1


def test_stress_rewrite_with_more_stack() -> None:
    """The new code may need a larger frame; a generator's cannot grow, but its function's next one is made for it."""

    def fn(n: int) -> Any:
        return "text" if n == 0 else types.FunctionType(original, globals(), closure=fn.__closure__)(n - 1)

    original = fn.__code__

    def generate() -> Any:
        yield "item"

    _C.set_stress("rewrite")
    _C.set_rewrite_callback(lambda code: with_constants(code, co_stacksize=code.co_stacksize + 50))
    misfits = 0
    for n in range(150):
        assert under_hook(lambda n=n: fn(n)) in ("TEXT", "text")
        misfits += reasons().get(MISFIT, 0)
        assert stats()["rewritten"] + reasons().get(MISFIT, 0) == n + 2
    assert 0 < misfits < 1_200  # of 11,475: at most three of the 30 frames in a chunk of CPython's data stack
    assert under_hook(lambda: list(generate())) == ["item"]
    assert reasons()[MISFIT] == 1
    assert under_hook(lambda: list(generate())) == ["ITEM"]


def test_stress_rewrite_keeps_frame_and_function_alike() -> None:
    def fn() -> Any:
        return sys._getframe().f_code

    def generate() -> Any:
        yield 1

    _C.set_stress("rewrite")
    _C.set_rewrite_callback(with_constants)
    before = fn.__code__
    for _ in range(2):
        assert under_hook(fn) is fn.__code__ is not before
        assert under_hook(lambda: generate().gi_code is generate.__code__)
    assert stats()["rewritten"] >= 2


def test_stress_rewrite_without_a_fitting_code() -> None:
    def fn(a: Any) -> Any:
        return "text"

    answers: list[Any] = [None, (lambda b: 0).__code__, (lambda a, b: 0).__code__, 3]
    _C.set_stress("rewrite")
    for answer in answers:
        _C.clear(fn)
        _C.set_rewrite_callback(lambda code, answer=answer: answer)
        assert under_hook(lambda: (fn(1), fn(1))) == ("text", "text")
        assert stats()["rewritten"] == 0


def test_stress_rewrite_reports_a_failing_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def fn() -> Any:
        return "text"

    def rewrite(code: types.CodeType) -> types.CodeType:
        raise LookupError("in the codec")

    _C.set_stress("rewrite")
    _C.set_rewrite_callback(rewrite)
    assert under_hook(lambda: (fn(), fn())) == ("text", "text")
    assert len([r for r in reported if r.object is fn.__code__]) == 1


def test_rewritten_frames_have_lines_and_tracebacks() -> None:
    def fn(x: Any) -> Any:
        return 1 / x

    with pytest.raises(ZeroDivisionError) as plain:
        fn(0)
    _C.set_stress("rewrite")
    _C.set_rewrite_callback(with_constants)
    with pytest.raises(ZeroDivisionError) as rewritten:
        under_hook(lambda: fn(0))
    assert stats()["rewritten"] == 2
    last = [traceback.extract_tb(info.value.__traceback__)[-1] for info in (plain, rewritten)]
    assert last[0] == last[1] and last[0].name == "fn"

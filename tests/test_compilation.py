"""What one compile(fn) keeps between calls: why it compiled again, what it forgets, what it refuses and pickles."""

from __future__ import annotations

import gc
import inspect
import pickle
import sys
import textwrap
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from benchmarks import programs
from dynamo_lite.capture import machine as machine_module
from dynamo_lite.capture import trace as trace_module
from dynamo_lite.errors import BackendError, BackendWarning, GraphBreakError, RecompileLimitWarning

Compile = Callable[..., Any]


def branches(x: Any) -> Any:
    return x * 2.0 if x.sum() > 0 else -x


def test_a_recompile_names_the_guard_that_did_not_hold(compiler: Compile) -> None:
    fast = compiler(programs.affine, backend="reference")
    fast(np.ones(4))
    x = np.arange(4)
    watch = weakref.ref(x)
    fast(x)
    fast(np.ones((2, 2), np.float32))
    first, second, third = [record.reason for record in fast.explain().compiles]
    assert first == "first call"
    assert second.startswith("not true that x is an aligned float64 array of 1 dimension, none of size 1, writeable")
    assert third.count("not true that") == 2 and "int64" in third and "float64" in third
    del x
    gc.collect()
    assert watch() is None


def test_resetting_one_leaves_the_other(compiler: Compile) -> None:
    one, other = (compiler(branches, backend="reference") for _ in range(2))
    for fast in (one, other):
        fast(np.ones(4))
    compiles = other.stats()["compiles"]
    one.reset()
    other(np.ones(4))
    assert other.stats()["compiles"] == compiles
    assert one.stats()["compiles"] == 0
    one(np.ones(4))
    assert one.stats()["compiles"] == compiles


def test_a_reset_amid_a_loop_that_goes_on_segment_by_segment(compiler: Compile) -> None:
    """What goes on is a resume function of before the reset; the one made of it, at the same place, is equal to it."""

    def forgets(x: Any, when: set[int]) -> Any:
        for i in range(8):
            x = x * 0.5 + i
            if opaque(i) in when:
                fast.reset()
        return x

    @dynamo_lite.disable
    def opaque(i: int) -> int:
        return i

    fast = compiler(forgets, backend="reference", options={"cost_model": False})
    for when in ({2}, {1, 5}, {3, 4}, set(range(8)), set()):
        np.testing.assert_array_equal(fast(np.ones(4), when), forgets(np.ones(4), set()))


def test_native_calls_and_declines_are_counted_by_each(compiler: Compile) -> None:
    one, other = (compiler(programs.affine, options={"cost_model": False}) for _ in range(2))
    for _ in range(3):
        one(np.ones(4))
    other(np.ones(4))
    with pytest.warns(RuntimeWarning, match="overflow"):
        other(np.full(4, 1e308))
    assert [fast.stats()["native_calls"] for fast in (one, other)] == [3, 1]
    assert [fast.stats()["declines"] for fast in (one, other)] == [0, 1]


def test_fullgraph_names_the_break_at_every_call(compiler: Compile) -> None:
    options = {"native_branches": False, "recompile_limit": 1}
    fast = compiler(branches, backend="reference", fullgraph=True, options=options)
    for _ in range(4):
        with pytest.raises(GraphBreakError, match="branch depends on what an array holds"):
            fast(np.ones(4))


def test_arrays_that_graphs_do_not_hold_are_asked_about_once(compiler: Compile) -> None:
    fast = compiler(branches, backend="reference")
    for _ in range(5):
        fast(np.array([1.0, 2.0], object))
    assert fast.stats()["misses"] == 1
    assert fast(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert fast.stats()["compiles"] > 0
    for size in range(1, 30):  # dtypes without end
        structured = np.zeros(size, [("a", "f8", size)])
        with pytest.raises(TypeError):
            fast(structured)
    assert fast(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_a_class_that_changed_too_often_is_read_plainly(compiler: Compile) -> None:
    class Counter:  # CPython 3.13 gives a class 1000 versions
        calls = 0
        k = 2.0

    for _ in range(1500):
        Counter.calls += 1
    fast = compiler(lambda c, x: x * c.k + 1.0, backend="reference")
    for k in (2.0, 3.0):
        Counter.k = k
        assert fast(Counter(), np.ones(2)).tolist() == [k + 1.0] * 2


@dynamo_lite.compile(recompile_limit=1, options={"unroll_limit": 7}, name="pickled")
def pickled(x: Any) -> Any:
    return x + 1.0


def test_options_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    rebuild, (_, options) = pickled.__reduce__()
    plain = rebuild(pickled.__wrapped__, options)
    assert plain._compilation.config == pickled._compilation.config
    assert plain._compilation.config.recompile_limit == 1
    assert plain._compilation.config.unroll_limit == 7


def test_warnings_have_categories(compiler: Compile) -> None:
    def broken(graph: Any, example_inputs: Any) -> Any:
        raise ValueError("no")

    with pytest.warns(BackendWarning, match="no; it runs as plain Python"):
        compiler(programs.affine, backend=broken)(np.ones(3))
    for outputs in ([], None, 5):
        with pytest.warns(BackendWarning, match="1 outputs are asked for"):
            fast = compiler(programs.affine, backend=lambda graph, examples, out=outputs: lambda *inputs: out)
            assert (fast(np.ones(3)) == 3.0).all()
    with pytest.raises(BackendError, match="no"):
        compiler(programs.affine, backend=broken, options={"check": 1})(np.ones(3))
    fast = compiler(programs.affine, backend="reference", recompile_limit=0)
    fast(np.ones(3))
    with pytest.warns(RecompileLimitWarning, match="compiled 1 times"):
        fast(np.ones((3, 2)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.ones(3, np.float32), r"float32\[3\] as output 0, where float64\[s0\] is asked for"),
        (np.ones(4), r"float64\[4\] as output 0"),
        (np.ones((3, 1)), r"float64\[3, 1\] as output 0"),
        (np.float64(3.0), "a float64 as output 0"),
        ([3.0, 3.0, 3.0], "a list as output 0"),
    ],
)
def test_what_a_backend_gives_has_the_graphs_types(compiler: Compile, wrong: Any, said: str) -> None:
    def backend(graph: Any, example_inputs: Any) -> Any:
        return lambda *inputs: [wrong]

    with pytest.warns(BackendWarning, match=said):
        fast = compiler(programs.affine, backend=backend)
        assert (fast(np.ones(3)) == 3.0).all()
    with pytest.raises(BackendError, match=said):
        compiler(programs.affine, backend=backend, options={"check": 1})(np.ones(3))


def stepped(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = np.sqrt(x * x + 1.0) * 0.5 - x
    return x


def stepped_by_spacing(x: Any, steps: int) -> Any:
    spacing = x[1] - x[0]
    for _ in range(steps - 1):
        x = np.sqrt(x * x + 1.0) * spacing - x
    return x


@pytest.mark.parametrize("function", [stepped, stepped_by_spacing])
def test_what_gains_nothing_is_kept_where_it_leads_to_array_work(function: Any, compiler: Compile) -> None:
    fast = compiler(function, backend="numba", options={"native_loops": False})
    x = np.linspace(0.0, 1.0, 20_000)
    for steps in (20, 30):
        assert fast(x, steps).tobytes() == function(x, steps).tobytes()
    assert fast.stats()["native_calls"] >= 49
    assert not fast.explain().skips


def summed(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += x[i] * x[i + 1]
    return total


def counted(x: Any) -> Any:
    count = 0
    for i in range(x.shape[0] - 1):
        if x[i] > x[i + 1]:
            count += 1
    return count


@pytest.mark.parametrize("function", [summed, counted])
@pytest.mark.usefixtures("no_mode")
def test_a_loop_over_single_elements_is_left_plain(function: Any, compiler: Compile) -> None:
    fast = compiler(function, backend="numba", options={"native_loops": False})
    x = np.sin(np.arange(50.0))
    for _ in range(3):
        assert fast(x) == function(x)
    before = fast.stats()
    assert fast(x) == function(x)
    after = fast.stats()
    assert after["plain_calls"] == before["plain_calls"] + 1
    assert after["native_calls"] == before["native_calls"]
    assert not fast.explain().graphs
    assert "does-not-pay" in {record.id for record in fast.explain().skips}


@pytest.mark.usefixtures("no_mode")
def test_what_would_take_the_whole_stack_to_compile_is_not_tried_again() -> None:
    def nested(x: Any) -> Any:
        result = x * 2.0
        for _ in range(8):
            for _ in range(8):
                for _ in range(8):
                    result = (result, x)
        return result

    fast = dynamo_lite.compile(nested, options={"cost_model": False})
    for _ in range(3):
        fast(np.ones(3))
    assert fast.stats()["misses"] == 1 and fast.stats()["plain_calls"] == 3
    assert [skip.id for skip in fast.explain().skips] == ["nested-values"]


# ---- loops that break


def by_rows(rows: Any, x: Any) -> Any:
    """Too little between two breaks: two elements, a product."""
    found = np.empty(rows.shape[0] - 1)
    for i in range(rows.shape[0] - 1):
        zlib.crc32(b"")
        first = rows[i]
        zlib.crc32(b"")
        found[i] = x[first] * 2.0
    return found


def chained(x: Any, n: int) -> Any:
    """Enough between two breaks, at every size."""
    for _ in range(n):
        x = np.sqrt(x * 0.5 + 1.0) - x * x + 0.25 * x
        zlib.crc32(b"")
    return x


def copied(x: Any, y: Any, n: int) -> Any:
    """Four breaks cost more than two operations on few elements gain, and less than they do on many."""
    for _ in range(n):
        zlib.crc32(b"")
        zlib.crc32(b"")
        zlib.crc32(b"")
        y = x * 2.0 + y
        zlib.crc32(b"")
    return y


@pytest.mark.usefixtures("no_mode")
def test_a_loop_that_loses_by_its_breaks_runs_plainly(compiler: Compile) -> None:
    rows, x = np.arange(0, 50, 5), np.arange(50.0)
    fast = compiler(by_rows)
    for _ in range(3):
        assert fast(rows, x).tobytes() == by_rows(rows, x).tobytes()
    assert "does-not-pay" in {record.id for record in fast.explain().skips}
    (loop,) = fast.explain().loops
    assert loop.outcome == "plain" and loop.message and loop.hint and f"hint: {loop.hint}" in str(fast.explain())
    calls = fast.stats()["native_calls"]
    fast(rows, x)
    assert fast.stats()["native_calls"] - calls <= 4  # those before the entry that runs plainly


def single_elements(x: Any, n: Any) -> Any:
    for k in range(n):
        x[k] = x[k + 1] * 0.5 + x[k]
    return x


def while_single_elements(x: Any, n: Any) -> Any:
    k = 0
    while k < n:
        x[k] = x[k + 1] * 0.5 + x[k]
        k += 1
    return x


@pytest.mark.parametrize("function", [single_elements, while_single_elements])
@pytest.mark.usefixtures("no_mode")
def test_a_first_call_of_few_iterations_does_not_decide_for_others(function: Any, compiler: Compile) -> None:
    """An array that a loop writes is copied first; whether that pays hangs on the iterations of each call."""
    fast = compiler(function)
    x = np.linspace(0.0, 1.0, 1_000_000)
    for n in (5, 10, 300_000, 5):
        before = fast.stats()["native_calls"]
        assert fast(x.copy(), n).tobytes() == function(x.copy(), n).tobytes()
        assert fast.stats()["native_calls"] - before == (n == 300_000), n
    (graph,) = fast.explain().graphs
    assert graph.iterations.startswith("(n * ") and graph.iterations.endswith(" >= x.shape[0]")
    assert f"runs where {graph.iterations}; " in str(fast.explain())


def noisy(few: Any, x: Any) -> Any:
    """A loop that loses, and much behind it."""
    step = few * 2.0
    for _ in range(3):
        zlib.crc32(b"")
        zlib.crc32(b"")
        zlib.crc32(b"")
        zlib.crc32(b"")
        few = step + few
    y = np.sqrt(x * 0.5 + 1.0) - x * x + 0.25 * x
    return np.sqrt(y * 0.5 + 1.0) - y * y + 0.25 * y - np.exp(x), few


def goes_over_texts(n: int) -> str:
    names, latest = ["a", "b"], ""
    for i in range(n):
        latest = names[i % 2]
    return latest


@pytest.mark.usefixtures("no_mode")
def test_a_loop_of_segments_with_nothing_in_them_runs_plainly(compiler: Compile) -> None:
    fast = compiler(goes_over_texts, backend="numba", options={"cost_model": True})
    assert fast(1000) == goes_over_texts(1000)
    before = fast.stats()["hits"]
    assert before < 100 and fast(1000) == goes_over_texts(1000) and fast.stats()["hits"] < before + 5
    assert "does-not-pay" in {record.id for record in fast.explain().skips}


def test_what_is_behind_a_loop_that_loses_is_compiled(compiler: Compile) -> None:
    fast = compiler(noisy)
    few, x = np.ones(3), np.ones(1000)
    for _ in range(3):
        for got, wanted in zip(fast(few, x), noisy(few, x), strict=True):
            assert got.tobytes() == wanted.tobytes()
    assert any(graph.kernels and graph.operations > 8 for graph in fast.explain().graphs)


def test_a_loop_that_gains_in_spite_of_its_breaks_stays(compiler: Compile) -> None:
    fast = compiler(chained)
    assert fast(np.ones(4), 50).tobytes() == chained(np.ones(4), 50).tobytes()
    assert not fast.explain().skips and fast.stats()["native_calls"] > 45


@pytest.mark.parametrize("sizes", [(4, 100_000, 4), (100_000, 4, 100_000)])
@pytest.mark.usefixtures("no_mode")
def test_a_loop_that_breaks_runs_natively_at_the_sizes_that_pay(compiler: Compile, sizes: tuple[int, ...]) -> None:
    fast = compiler(copied)
    for size in sizes:
        x, calls = np.ones(size), fast.stats()["native_calls"]
        assert fast(x, x.copy(), 20).tobytes() == copied(x, x.copy(), 20).tobytes()
        assert (fast.stats()["native_calls"] - calls > 10) == (size > 4)


def test_without_the_cost_model_a_loop_that_loses_stays(compiler: Compile) -> None:
    rows, x = np.arange(0, 50, 5), np.arange(50.0)
    fast = compiler(by_rows, options={"cost_model": False})
    fast(rows, x)
    calls = fast.stats()["native_calls"]
    fast(rows, x)
    assert fast.stats()["native_calls"] - calls > 9


def endless(*args: Any, **kwargs: Any) -> Any:
    return endless(*args, **kwargs)


def under(frames: int, call: Callable[[], Any]) -> Any:
    return call() if frames == 0 else under(frames - 1, call)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """What earlier tests left is finalised before, not where no room on the stack is left for finalisers."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_a_recursion_of_ours_without_end_is_a_defect(compiler: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """With most of the stack free it is not for want of room that compiling does not end: tests must see it."""
    monkeypatch.setattr("dynamo_lite.compilation.compile_segment", endless)
    x = np.ones(4)
    with pytest.raises(RecursionError):
        compiler(programs.affine, backend="reference", options={"check": 1})(x)
    with pytest.raises(RecursionError):
        compiler(programs.affine, backend="reference", fullgraph=True)(x)
    fast = compiler(programs.affine, backend="reference", options={"check": 0})
    with pytest.warns(dynamo_lite.errors.DynamoLiteWarning, match="RecursionError"):
        assert np.array_equal(fast(x), programs.affine(x))
    assert [skip.id for skip in fast.explain().skips] == ["internal-error"]


def test_a_defect_in_what_is_noted_does_not_reach_the_user(compiler: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("dynamo_lite.compilation.Compilation._note", failing)
    x = np.ones(4)
    with pytest.raises(KeyError):
        compiler(programs.affine, backend="reference", options={"check": 1})(x)
    fast = compiler(programs.affine, backend="reference", options={"check": 0})
    with pytest.warns(dynamo_lite.errors.DynamoLiteWarning, match="a defect"):
        assert np.array_equal(fast(x), programs.affine(x))
    assert [skip.id for skip in fast.explain().skips] == ["internal-error"]


def test_without_room_on_the_stack_a_call_runs_plainly(compiler: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling may have 500 frames more than are free; here it takes more than 530."""
    usual = dynamo_lite.compilation.compile_segment

    def deep(*args: Any, **kwargs: Any) -> Any:
        return under(530, lambda: usual(*args, **kwargs))

    monkeypatch.setattr("dynamo_lite.compilation.compile_segment", deep)
    x = np.ones(4)
    fast = compiler(programs.affine, backend="reference", options={"check": 1})
    free = 18  # frames
    frames = sys.getrecursionlimit() - len(inspect.stack(0)) - free
    assert np.array_equal(under(frames, lambda: fast(x)), programs.affine(x))
    assert [skip.id for skip in fast.explain().skips] == ["recursion-limit"]
    fast(x)
    assert fast.stats()["compiles"] == 1


@pytest.mark.parametrize("error", [MemoryError(), SystemError("error return without exception set")], ids=repr)
@pytest.mark.usefixtures("no_mode")
def test_without_memory_to_compile_a_call_runs_plainly(
    compiler: Compile, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """That is no defect, and no reason to leave the function plain for good. CPython 3.11 says it in two ways."""
    x, left = np.ones(4), 2
    whole = dynamo_lite.compilation.compile_segment

    def starved(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise error
        return whole(*args, **kwargs)

    monkeypatch.setattr("dynamo_lite.compilation.compile_segment", starved)
    fast = compiler(programs.affine, options={"check": 1, "cost_model": False})
    for _ in range(4):
        assert np.array_equal(fast(x), programs.affine(x))
    assert [skip.id for skip in fast.explain().skips] == ["out-of-memory"]
    assert fast.stats()["native_calls"] == 2
    left = 100
    other = compiler(lambda x: np.sqrt(x) + 1.0, options={"check": 1})
    for _ in range(10):
        other(x)
    assert left == 97  # asked for three times


def test_a_graph_that_is_captured_twice_and_differs_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may have changed what it reads: the call runs plainly, and later ones are compiled."""
    reads, left = trace_module.reads_frame, 1
    names: dict[str, Any] = {"offset": 1.0}
    source = """
    def add(x):
        y = x * offset
        if offset:
            y = y + 1.0
            print(end="")
        return y * 2.0
    """
    exec(textwrap.dedent(source), names)

    def change(code: Any) -> Any:  # asked between the two
        nonlocal left
        left -= 1
        names["offset"] = 0.0 if left == 0 else names["offset"]
        return reads(code)

    monkeypatch.setattr(trace_module, "reads_frame", change)
    monkeypatch.setattr(machine_module.Machine, "_is_untouched", lambda *_: False)
    fast = dynamo_lite.compile(names["add"], options={"check": 0, "cost_model": False})
    assert [fast(np.ones(3))[0] for _ in range(4)] == [0.0, 0.0, 0.0, 0.0]
    assert [skip.id for skip in fast.explain().skips] == ["changed-meanwhile"]


def test_behind_a_break_numpy_scatters_into_arrays_from_outside(compiler: Compile) -> None:
    """A program would copy all of the array, to put it back on a decline, and no cost model is asked there."""

    def scatter(x: Any, places: Any) -> Any:
        dynamo_lite.graph_break()
        y = np.sqrt(x * x + 1.0) * 2.0
        x[places] = y[places] + 1.0
        return np.exp(-y) + x

    fast, x, places = compiler(scatter), np.linspace(0.0, 1.0, 50_000), np.array([3, 70, 900])
    want = scatter(x.copy(), places)
    assert (fast(x.copy(), places) == want).all()
    assert "a store by index arrays into an array from outside" in str(fast.explain())


def test_what_only_leads_to_plain_code_is_left_alone(compiler: Compile) -> None:
    """Nothing is computed in front of the break, nor behind it."""

    def puts_in_order(x: Any) -> Any:
        return sorted(x)

    fast = compiler(puts_in_order)
    for _ in range(5):
        assert fast(np.array([2.0, 1.0])) == [1.0, 2.0]
    assert fast.stats()["plain_calls"] == 5


def test_what_leads_to_code_that_gains_in_another_version_stays(compiler: Compile) -> None:
    """Behind the last round of the loop there is nothing to compute."""

    def steps(x: Any, n: int) -> Any:
        i = 0
        while i < n:
            for _ in range(50):
                x = x * 0.99 + 0.01
            i += 1
            if i % 2 == 0:
                print(end="")
                print(end="")
        print(end="")
        print(end="")
        return x

    fast = compiler(steps)
    for _ in range(3):
        fast(np.ones(6), 40)
    before = fast.stats()["native_calls"]
    fast(np.ones(6), 40)
    assert fast.stats()["native_calls"] - before >= 20, fast.explain()


def test_a_call_of_single_elements_and_breaks_is_left_plain(compiler: Compile) -> None:
    def between(x: Any, table: Any) -> Any:
        if x < table[0]:
            return None
        if x > table[-1]:
            return None
        sorted(table[:2])
        return table[1] * x

    def calls(xs: Any, table: Any) -> Any:
        total = 0.0
        for x in list(xs):
            print(end="")
            total += between(x, table)
        return total

    fast, xs, table = compiler(calls), np.linspace(0.2, 0.8, 40), np.array([0.0, 0.5, 1.0])
    for _ in range(3):
        assert fast(xs, table) == calls(xs, table)
    assert "the segments of a call together" in str(fast.explain())
    before = fast.stats()["breaks"]
    fast(xs, table)
    assert fast.stats()["breaks"] - before < 60


def halved_if_large(x: Any) -> Any:
    if x.sum() > 3.0:
        x = x * 0.5
    for _ in range(8):
        y = np.sqrt(x + 1.0) - x * 0.25
        x = y * y + np.abs(y - x) * 0.125 + np.maximum(x, y)
    return x


@pytest.mark.usefixtures("no_mode")
def test_the_sides_of_a_branch_on_data_share_what_is_long_behind_it(compiler: Compile) -> None:
    fast = compiler(halved_if_large, options={"cost_model": False, "native_loops": False, "native_branches": False})
    small, large = np.linspace(0.0, 0.5, 9), np.linspace(0.0, 1.0, 9)
    for x in (small, large, small, large):
        assert fast(x).tobytes() == halved_if_large(x).tobytes()
    branch, behind, side = (graph.operations for graph in fast.explain().graphs)
    assert branch == 2 and behind > 50 and side == 1
    assert len(fast.explain().breaks) == 1


@pytest.mark.usefixtures("no_mode")
def test_a_side_that_comes_first_is_compiled_with_what_is_behind_it(compiler: Compile) -> None:
    fast = compiler(halved_if_large, options={"cost_model": False, "native_loops": False, "native_branches": False})
    small, large = np.linspace(0.0, 0.5, 9), np.linspace(0.0, 1.0, 9)
    for x in (large, small, large):
        assert fast(x).tobytes() == halved_if_large(x).tobytes()
    assert [graph.operations > 50 for graph in fast.explain().graphs] == [False, True, True]


def test_a_call_with_a_break_that_gains_stays(compiler: Compile) -> None:
    def halves(x: Any) -> Any:
        y = np.sin(x) * 2.0 + x
        if y.sum() > 0:
            y = y * 0.5 + np.abs(x)
        return y - x

    fast, x = compiler(halves, options={"native_branches": False}), np.linspace(0.0, 1.0, 1000)
    for _ in range(5):
        fast(x)
    assert fast.stats()["native_calls"] == 10


class Table:
    rows: Any


@pytest.mark.parametrize("kind", [">f8", "U3", "M8[s]", [("a", "f8"), ("b", "i4")], object])
def test_arrays_that_stay_plain_are_asked_about_once(kind: Any) -> None:
    """Each array of these has a dtype object of its own."""

    def first(x: Any) -> Any:
        return x[:1]

    def second(table: Any, x: Any) -> Any:
        return np.sqrt(x * 2.0 + 1.0), table.rows

    fast = dynamo_lite.compile(first, options={"cost_model": False})
    for _ in range(20):
        fast(np.zeros(3, np.dtype(kind)))
    assert fast.stats()["misses"] == 1 and {skip.id for skip in fast.explain().skips} == {"unsupported-dtype"}
    fast, table = dynamo_lite.compile(second, options={"cost_model": False}), Table()
    for size in (3, 4, 5, 6, 7):
        table.rows = np.zeros(size, np.dtype(kind))
        assert fast(table, np.ones(5))[1] is table.rows
    assert fast.stats()["misses"] == 1 and fast.stats()["native_calls"] == 5

"""Threads share kernels and reductions: the same bits, flags and declines for every number of them, in every situation.

`_C.threads_always` shares whatever can be cut, so that arrays of some thousand elements do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.config import config

Array = np.ndarray[Any, Any]
COUNTS = (1, 2, 4, 8)


@pytest.fixture(autouse=True)
def share_all() -> Iterator[None]:
    before = _C.threads_always(True)
    yield
    _C.threads_always(before)


def compiled(fn: Callable[..., Any]) -> Any:
    return dynamo_lite.compile(fn, options={"cost_model": False})


def shared(call: Callable[[], Any]) -> tuple[Any, int]:
    """What the call gives, and how often work was shared on the way."""
    before = _C.threads_stats()["shared_runs"]
    return call(), _C.threads_stats()["shared_runs"] - before


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return all(map(same, one, other))
    one, other = np.asarray(one), np.asarray(other)
    same_kind = (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
    return same_kind and one.tobytes() == other.tobytes()


# -- kernels ---------------------------------------------------------------------------------------


def arithmetic(x: Array, y: Array) -> Any:
    return x * y + (x - y) * 0.5


def loops(x: Array, y: Array) -> Any:
    return np.exp(x) * y + np.log(x * x + 1.0)


def several(x: Array, y: Array) -> Any:
    return x + y, np.sin(x) - y, x < y


def chosen(x: Array, y: Array) -> Any:
    return np.where(x > y, np.maximum(x, 0.25), y * 2.0)


def stored(x: Array, y: Array) -> Any:
    x = x.copy()
    x[1:] = x[:-1] + y[:1]
    x[::2] *= 2.0
    return x


def iterated(x: Array, y: Array) -> Any:
    for _ in range(30):
        x = x * 0.99 + y
    return x


def narrow(x: Array, y: Array) -> Any:
    return x.astype(np.float32) * np.float32(2.0) + y.astype(np.float32)


KERNELS = (arithmetic, loops, several, chosen, stored, iterated, narrow)


def layouts() -> dict[str, Callable[[], tuple[Array, Array]]]:
    """Pairs of operands that broadcast."""

    def pair(*shape: int) -> tuple[Array, Array]:
        random = np.random.default_rng(len(shape) + sum(shape))
        return random.standard_normal(shape), random.standard_normal(shape)

    return {
        "packed": lambda: pair(50_021),
        "small": lambda: pair(4096),
        "matrix": lambda: pair(211, 307),
        "columns": lambda: (pair(311, 411)[0].T, pair(311, 411)[1].T),
        "strided": lambda: (pair(60_001)[0][::2], pair(60_001)[1][::-2]),
        "rows": lambda: (pair(5000, 17)[0], pair(5000, 1)[1]),  # NB: shorter ones are run as one
        "few and long": lambda: (pair(3, 20_011)[0], pair(20_011)[1]),
        "slabs": lambda: (pair(30, 40, 50)[0][:, 1:-1, ::2], pair(1, 38, 1)[1]),
    }


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.parametrize("fn", KERNELS, ids=lambda fn: fn.__name__)
def test_kernels_give_the_same_bits(fn: Callable[..., Any], layout: str) -> None:
    x, y = layouts()[layout]()
    expected = fn(x, y)
    function = compiled(fn)
    for count in COUNTS:
        with config.patch(num_threads=count):
            found, times = shared(lambda: function(x, y))
        assert same(found, expected), count
        assert times == 0 or count > 1
    assert times, "nothing was shared"


# -- reductions ------------------------------------------------------------------------------------


def reductions() -> dict[str, Callable[[Array], Any]]:
    return {
        "sum": lambda x: np.sum(x),
        "sum of a kernel": lambda x: np.sum(x * x + x),
        "mean": lambda x: np.mean(x * 2),
        "maximum": lambda x: np.max(x.real),
        "minimum of a kernel": lambda x: np.min(abs(x) * 3),
        "first axis": lambda x: np.sum(x, axis=0),
        "first axis of a kernel": lambda x: np.sum(x * x, axis=0),
        "last axis": lambda x: np.sum(x, axis=-1),
        "last axis of a kernel": lambda x: np.sum(x * 3 - 1, axis=-1),
        "largest in rows": lambda x: np.max(x.real, axis=-1),
        "two outputs": lambda x: (np.sum(x * x, axis=-1), np.sum(x + x, axis=0)),
        "any": lambda x: np.any(x.real > 3.5, axis=-1),
        "outer axes": lambda x: np.sum(x * x, axis=tuple(range(x.ndim - 1))),
        "inner axes": lambda x: np.sum(x * x, axis=tuple(range(1, x.ndim))),
    }


SHAPES = ((100_003,), (300, 701), (20_000, 7), (5, 30_001), (9000, 33), (60, 70, 80), (4000, 3, 11), (200, 8, 100))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128])
@pytest.mark.parametrize("name", reductions())
def test_reductions_give_the_same_bits(name: str, dtype: Any) -> None:
    fn, function, total = reductions()[name], compiled(reductions()[name]), 0
    for shape in SHAPES:
        values = np.random.default_rng(sum(shape)).standard_normal((2, *shape)) * (100 if dtype == np.int32 else 1)
        x = (values[0] + 1j * values[1] if dtype == np.complex128 else values[0]).astype(dtype)
        for view in (x, x.T, x[::2]) if x.ndim > 1 else (x, x[::3]):
            if name == "inner axes" and x.ndim == 1:
                continue
            expected = fn(view)
            for count in COUNTS:
                with config.patch(num_threads=count):
                    found, times = shared(lambda view=view: function(view))  # type: ignore[misc]
                total += times
                assert same(found, expected), (shape, view.strides, count)
    assert total, "nothing was shared"


# -- flags, declines, errors -----------------------------------------------------------------------


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("place", [0, 30_000, 59_999])
@pytest.mark.parametrize(
    ("fn", "value", "kind"),
    [
        (lambda x: 1.0 / x, 0.0, "divide by zero"),
        (lambda x: x * 1e300 * x, 1e200, "overflow"),
        (lambda x: np.sqrt(x) + 1.0, -1.0, "invalid value"),
        (lambda x: np.exp(x) + 1.0, 1e4, "overflow"),
        (lambda x: np.sum(x * x * 2.0), 1e200, "overflow"),
        (lambda x: np.log(x).reshape(600, 100).max(axis=1), 0.0, "divide by zero"),
    ],
    ids=["divide", "overflow", "sqrt", "exp", "sum", "rows"],
)
def test_a_flag_of_one_part_is_reported(
    fn: Callable[[Array], Any], value: float, kind: str, place: int, count: int
) -> None:
    """And no other is: the same operations on the other elements raise nothing."""
    function = compiled(fn)
    x = np.full(60_000, 0.5)
    with config.patch(num_threads=count), np.errstate(all="raise"):
        assert same(function(x), fn(x))
        x[place] = value
        with pytest.raises(FloatingPointError, match=kind):
            function(x)
    with config.patch(num_threads=count), np.errstate(all="ignore"):
        assert same(function(x), fn(x))
    with config.patch(num_threads=count), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    assert [str(each.message).split(" encountered")[0] for each in caught] == [kind]


@pytest.mark.parametrize("place", [0, 40_000, 59_999])
def test_a_decline_in_the_middle_is_the_same(place: int) -> None:
    """Two unlike NaNs that meet, which only NumPy's own call decides; what was written before is put back."""

    def fn(x: Array, y: Array, out: Array) -> Any:
        out[:] = x * 2.0
        return (x + y) * (y + x), np.maximum(x, y).sum()

    x, y = np.full(60_000, 0.5), np.full(60_000, 0.25)
    x.view(np.uint64)[place] = 0x7FF8_0000_0000_0001
    y.view(np.uint64)[place] = 0xFFF8_0000_0000_0002
    outs = [np.zeros(60_000) for _ in range(2)]
    expected = fn(x, y, outs[0])
    declines = []
    for count in COUNTS:
        function = compiled(fn)
        with config.patch(num_threads=count):
            for _ in range(4):
                outs[1][:] = 7.0
                assert same(function(x, y, outs[1]), expected)
                assert same(outs[1], outs[0])
        declines.append(function.stats()["declines"])
    assert all(each == declines[0] for each in declines)


def test_an_error_of_a_loop_is_raised_as_plainly() -> None:
    """Integers to negative powers: NumPy's loop takes the GIL to raise, so no worker may call it."""
    function = compiled(lambda x, y: (x + 1) ** y)
    x, y = np.arange(1, 60_001), np.full(60_000, 2)
    with config.patch(num_threads=4):
        assert same(function(x, y), (x + 1) ** y)
        y[55_000] = -1
        for _ in range(3):
            with pytest.raises(ValueError, match="negative integer powers"):
                function(x, y)


# -- the pool --------------------------------------------------------------------------------------


def test_many_python_threads() -> None:
    function = compiled(lambda x: np.exp(x) * 2.0 + np.sum(x * x))
    arrays = [np.random.default_rng(seed).standard_normal(120_000) for seed in range(8)]
    expected = [np.exp(x) * 2.0 + np.sum(x * x) for x in arrays]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            if not same(function(arrays[number]), expected[number]):
                wrong.append(number)

    with config.patch(num_threads=4):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def run_python(text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    head = (
        "import os, sys, threading, time, signal\nimport numpy as np\nimport dynamo_lite\nfrom dynamo_lite import _C\n"
        "_C.threads_always(True)\n"
        "f = dynamo_lite.compile(lambda x: np.exp(x) * 2.0 + x, options={'cost_model': False})\n"
        "x = np.linspace(0, 1, 200_000)\nexpected = np.exp(x) * 2.0 + x\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + text], capture_output=True, text=True, timeout=120, env=environment | variables
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "f(x); f(x); workers = _C.threads_stats()['workers']\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    right = _C.threads_stats()['workers'] == 0\n"
            "    right = right and all((f(x) == expected).all() for _ in range(5))\n"
            "    os._exit(not right or _C.threads_stats()['workers'] != 3)\n"
            "assert workers == 3 and os.waitpid(pid, 0)[1] == 0 and (f(x) == expected).all()",
            id="fork",
        ),
        pytest.param(
            "f(x)\nstop = []\n"
            "def work():\n    while not stop: f(x)\n"
            "threads = [threading.Thread(target=work) for _ in range(2)]\n"
            "for each in threads: each.start()\n"
            "for _ in range(20):\n"
            "    pid = os.fork()\n"
            "    if pid == 0: os._exit(not all((f(x) == expected).all() for _ in range(3)))\n"
            "    assert os.waitpid(pid, 0)[1] == 0\n"
            "stop.append(1)\n"
            "for each in threads: each.join()",
            id="fork while others share",
        ),
        pytest.param("f(x); f(x)", id="exit"),
        pytest.param(
            "def work():\n    while True: f(x)\n"
            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(0.5)",
            id="exit with daemon threads",
        ),
        pytest.param(
            "f(x)\ntry:\n    signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
            "    signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
            "    for _ in range(10 ** 7): f(x)\n    sys.exit(1)\nexcept KeyboardInterrupt: pass\n"
            "assert (f(x) == expected).all()",
            id="interrupt",
        ),
    ],
)
def test_processes(text: str) -> None:
    done = run_python(text, DYNAMO_LITE_NUM_THREADS="4")
    assert done.returncode == 0, done.stderr


def test_workers_sleep_when_there_is_nothing_to_do() -> None:
    text = "f(x); f(x); time.sleep(0.05); began = time.process_time(); time.sleep(0.5)\n"
    done = run_python(text + "print(time.process_time() - began)", DYNAMO_LITE_NUM_THREADS="4")
    assert float(done.stdout) < 0.05, done.stderr


def test_signals_are_handled_by_the_main_thread() -> None:
    text = (
        "f(x); signals = []\nsignal.signal(signal.SIGUSR1, lambda *_: signals.append(threading.current_thread()))\n"
        "for _ in range(50): os.kill(os.getpid(), signal.SIGUSR1); f(x)\n"
        "assert set(signals) == {threading.main_thread()} and len(signals) > 1"
    )
    done = run_python(text, DYNAMO_LITE_NUM_THREADS="4")
    assert done.returncode == 0, done.stderr


# -- how many --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DYNAMO_LITE_NUM_THREADS": "3"}, 3),
        ({"DYNAMO_LITE_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "1,2"}, 1),
        ({"OPENBLAS_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "nonsense"}, None),
        ({}, None),
    ],
)
def test_the_environment_says_how_many(variables: dict[str, str], expected: int | None) -> None:
    done = run_python("print(_C.threads_count())", **variables)
    limit = len(os.sched_getaffinity(0))
    assert int(done.stdout) == expected or (expected is None and 1 <= int(done.stdout) <= limit), done.stderr


def test_affinity_counts() -> None:
    text = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(_C.threads_count())"
    assert run_python(text).stdout.strip() == "1"


def test_the_number_can_be_changed_at_any_time_and_for_one_function() -> None:
    x = np.linspace(0, 1, 100_000)
    function = compiled(arithmetic)
    single = dynamo_lite.compile(lambda x: x * 2.0 + x, options={"cost_model": False, "num_threads": 1})
    with config.patch(num_threads=2):
        function(x, x)
        assert shared(lambda: function(x, x))[1] == 1
        single(x)
        assert shared(lambda: single(x))[1] == 0
        with config.patch(num_threads=1):
            assert shared(lambda: function(x, x))[1] == 0
            assert shared(lambda: compiled(loops)(x, x))[1] == 0
        early = compiled(loops)
    with config.patch(num_threads=1):  # it is compiled here
        assert shared(lambda: early(x, x))[1] == 0
    with config.patch(num_threads=3):
        assert shared(lambda: early(x, x))[1] == 1


def test_little_work_is_left_alone() -> None:
    """Without the tests' setting: far below what waking a thread takes."""
    _C.threads_always(False)
    function = compiled(arithmetic)
    x = np.linspace(0, 1, 5000)
    with config.patch(num_threads=4):
        assert shared(lambda: [function(x, x) for _ in range(50)])[1] == 0


def test_much_work_is_tried_both_ways() -> None:
    _C.threads_always(False)
    function = compiled(loops)
    x = np.linspace(0, 1, 1_000_000)
    with config.patch(num_threads=2):
        assert shared(lambda: [function(x, x) for _ in range(8)])[1] >= 2

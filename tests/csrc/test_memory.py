"""The pool of array memory: arrays take the memory of dead ones, and nothing can be told from it but time."""

from __future__ import annotations

import contextvars
import ctypes
import itertools
import os
import queue
import random
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C

ROOT = Path(__file__).parents[2]
LIMIT = 16 * 2**20
BIG = 100_000  # bytes, so that the pool takes it
TRACE_DOMAIN = 389047  # NumPy's, in tracemalloc

pytestmark = pytest.mark.skipif(
    not _C.memory_install(LIMIT), reason="the pool needs glibc, and NumPy's and Python's own allocators"
)


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    """Installed, awake and empty; gone afterwards."""
    _C.memory_uninstall()
    np.empty(2 * LIMIT, np.uint8)  # from now on the C library maps no smaller block by itself
    assert _C.memory_install(LIMIT, stay=True)
    yield
    _C.memory_uninstall()


def held() -> int:
    return _C.memory_stats()["held_bytes"]


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def python(*arguments: str, **environment: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_array_takes_the_memory_of_a_dead_one() -> None:
    hits = _C.memory_stats()["hits"]
    first = np.empty(BIG, np.uint8)
    place = address(first)
    del first
    assert held() >= BIG
    second = np.empty(BIG - 100, np.uint8)
    assert address(second) == place
    assert held() == 0
    assert _C.memory_stats()["hits"] == hits + 1


def test_no_memory_is_used_twice() -> None:
    """Arrays and views of them come and go; each keeps what was written, on aligned memory of its own."""
    rng = random.Random(1)
    kept: list[tuple[Any, int, int, int]] = []  # a view, its number, the bytes of its array, where that lies
    for number in range(4000):
        nbytes = rng.choice((rng.randrange(1, 5000), rng.randrange(30_000, 36_000), rng.randrange(1, 600_000)))
        array = np.full(nbytes, number % 251, np.uint8) if number % 3 else np.zeros(nbytes, np.uint8)
        if not number % 3:
            assert not array.any()
            array += number % 251
        assert address(array) % 16 == 0
        kept.append((array[nbytes // 2 :: 3] if number % 2 else array, number % 251, nbytes, address(array)))
        if len(kept) > 40:
            view, expected, _, _ = kept.pop(rng.randrange(len(kept)))
            assert (view == expected).all()
    places = sorted((place, place + nbytes) for _, _, nbytes, place in kept)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert _C.memory_stats()["hits"] > 100


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f8", "c16", "g", "U7", "M8[s]", "O", [("a", "i4"), ("b", "f8")]])
def test_every_dtype(dtype: Any) -> None:
    for _ in range(3):
        array = np.empty(BIG, dtype)
        assert array.flags.aligned and array.flags.owndata
        array[:] = np.zeros(1, dtype)
        assert array[0] == array[-1] == np.zeros((), dtype)


@pytest.mark.parametrize("new", [10, BIG // 2, BIG + 1, 30 * BIG])
def test_resizing(new: int) -> None:
    for _ in range(5):
        array = np.arange(BIG, dtype=np.uint8)
        array.resize(new, refcheck=False)
        n = min(BIG, new)
        assert (array[:n] == np.arange(BIG, dtype=np.uint8)[:n]).all()
        assert not array[n:].any()
        array[:] = 7
        array.resize((1, new), refcheck=False)
        del array
        assert held() <= LIMIT


def test_a_block_is_as_long_as_it_was_made() -> None:
    """Freed under the name of fewer bytes than were asked for, it serves as many as it has."""
    array = np.empty(4 * BIG, np.uint8)
    place = address(array)
    array.resize(4 * BIG - 30, refcheck=False)
    moved = address(array) != place
    del array
    again = np.empty(4 * BIG - 30, np.uint8)
    again[:] = 1
    assert moved or address(again) == place


def test_zeros_are_zero_and_do_not_pile_up() -> None:
    for nbytes in (40_000, BIG, 3_000_000):
        dirty = [np.full(nbytes, 255, np.uint8) for _ in range(3)]
        del dirty
        before = held()
        for _ in range(100):
            assert not np.zeros(nbytes, np.uint8).any()
            assert held() <= before


def test_vectors_of_machine_loops_take_it_again() -> None:
    """What a loop makes anew has memory of the loop's; mapped in each call, its pages would cost more than NumPy's."""

    def program(x: Any, places: Any, n: int) -> Any:
        total = 0.0
        for k in range(n):
            total += np.sum(x[places + k])
        return total

    x, places = np.random.default_rng(0).normal(size=20_060), np.arange(20_000)
    fast = dynamo_lite.compile(program, options={"cost_model": False})
    assert [fast(x, places, 60) for _ in range(3)] == [program(x, places, 60)] * 3
    before = _C.memory_stats()
    fast(x, places, 60)
    after = _C.memory_stats()
    assert 4 <= after["hits"] - before["hits"] < 60 and after["misses"] == before["misses"]


def test_the_limit_holds() -> None:
    rng = random.Random(2)
    live: list[Any] = []
    for _ in range(3000):
        live.append(np.empty(rng.randrange(30_000, LIMIT // 3), np.uint8))
        if len(live) > 10:
            del live[rng.randrange(5) :]
        assert held() <= LIMIT
    del live
    assert 0 < held() <= LIMIT
    assert _C.memory_install(LIMIT // 8)
    assert held() == 0
    whole = np.empty(LIMIT // 8, np.uint8)
    del whole
    assert held() == 0, "one block has half of the limit at most"
    assert not _C.memory_install(0)
    assert not _C.memory_stats()["installed"]
    with pytest.raises(ValueError, match="number of bytes"):
        _C.memory_install(-1)


def test_idle_blocks_are_given_back() -> None:
    big = [np.empty(BIG, np.uint8) for _ in range(10)]
    del big
    assert _C.memory_stats()["blocks"] == 10
    time.sleep(1.2)
    for _ in range(1000):
        np.empty(10)
    assert _C.memory_stats()["blocks"] == 0
    big = [np.empty(BIG, np.uint8) for _ in range(10)]
    del big
    assert _C.memory_release() == 10


def test_blocks_that_are_passed_over_are_given_back() -> None:
    old = np.empty(5 * BIG, np.uint8)
    del old
    for _ in range(1000):
        np.empty(BIG, np.uint8)
    assert _C.memory_stats()["blocks"] == 1


def test_it_sleeps_where_no_compiled_function_is_at_work() -> None:
    def double(x: Any) -> Any:
        return x * 2.0 + 1.0

    x = np.ones(BIG)
    _C.memory_uninstall()
    fast = dynamo_lite.compile(double)
    assert _C.memory_stats()["installed"]
    fast(x)
    time.sleep(1.2)
    for _ in range(3):  # the first has the clock looked at
        np.empty(BIG, np.uint8)
    assert held() == 0
    fast(x)
    assert fast(x).sum() == double(x).sum()
    np.empty(BIG, np.uint8)
    assert held() > 0
    dynamo_lite.reset()
    assert held() == 0


def test_it_is_awake_as_long_as_a_call_is_under_way() -> None:
    found = []

    def slow(x: Any) -> Any:
        y = x + 1.0
        time.sleep(1.2)
        for _ in range(3):
            y = y * 2.0
        found.append(held())
        return y

    _C.memory_uninstall()
    dynamo_lite.compile(slow)(np.ones(BIG))
    assert found[0] > 0


def test_disabled_and_off() -> None:
    _C.memory_uninstall()
    with dynamo_lite.config.patch(disable=True):
        dynamo_lite.compile(lambda x: x)
    assert not _C.memory_stats()["installed"]
    with dynamo_lite.config.patch(pool_bytes=0):
        dynamo_lite.compile(lambda x: x)
    assert not _C.memory_stats()["installed"]


def test_what_dies_is_overwritten_in_check_mode() -> None:
    with dynamo_lite.config.patch(check=1):
        dynamo_lite.compile(lambda x: x)
    array = np.ones(BIG, np.uint8)
    memory = (ctypes.c_ubyte * BIG).from_address(address(array))
    del array
    assert held() >= BIG
    assert set(memory) == {255}
    assert not np.zeros(BIG, np.uint8).any()


def test_every_thread_and_context_is_served() -> None:
    def reuses() -> bool:
        place = address(np.empty(3 * BIG, np.uint8))
        return address(np.empty(3 * BIG, np.uint8)) == place

    found = [reuses(), contextvars.Context().run(reuses), contextvars.copy_context().run(reuses)]
    thread = threading.Thread(target=lambda: found.append(reuses()))
    thread.start()
    thread.join()
    assert found == [True] * 4


def test_threads_free_the_blocks_of_others() -> None:
    ways: list[queue.Queue[tuple[int, Any]]] = [queue.Queue(8) for _ in range(4)]
    wrong: list[int] = []

    def work(me: int) -> None:
        rng = random.Random(me)
        for step in range(400):
            array = np.full(rng.randrange(20_000, 300_000), me, np.uint8)
            ways[me].put((me, array))
            del array
            owner, got = ways[me - 1].get()
            if not (got == owner).all() or held() > LIMIT:
                wrong.append(step)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fork() -> None:
    """While another thread is in the pool."""
    code = """
import os, threading, warnings
import numpy as np
from dynamo_lite import _C
warnings.simplefilter("ignore")
assert _C.memory_install(16 * 2**20, stay=True)
done = False
def churn():
    while not done:
        [np.empty(n, np.uint8) for n in range(40_000, 50_000, 1000)]
thread = threading.Thread(target=churn)
thread.start()
kept = np.full(200_000, 5, np.uint8)
for _ in range(50):
    child = os.fork()
    if not child:
        for _ in range(50):
            x = np.full(200_000, 7, np.uint8)
            assert (x == 7).all() and (kept == 5).all()
        assert _C.memory_stats()["blocks"] > 0
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done = True
thread.join()
print("through")
"""
    assert python("-c", code) == "through\n"


class Handler:
    """A data allocator of the user's, in the current context until `end`; counts what it is asked for."""

    def __init__(self) -> None:
        sizes, pointer = ctypes.c_size_t, ctypes.c_void_p
        libc = ctypes.CDLL(None)
        self.asked: list[int] = []
        self.freed: list[int] = []
        kinds: tuple[Any, ...] = (
            ctypes.CFUNCTYPE(pointer, pointer, sizes),
            ctypes.CFUNCTYPE(pointer, pointer, sizes, sizes),
            ctypes.CFUNCTYPE(pointer, pointer, pointer, sizes),
            ctypes.CFUNCTYPE(None, pointer, pointer, sizes),
        )
        for name in ("malloc", "calloc", "realloc"):
            getattr(libc, name).restype = pointer
        libc.malloc.argtypes, libc.calloc.argtypes = (sizes,), (sizes, sizes)
        libc.realloc.argtypes, libc.free.argtypes, libc.free.restype = (pointer, sizes), (pointer,), None

        def make(_: Any, size: int) -> Any:
            self.asked.append(size)
            return libc.malloc(size)

        def free(_: Any, data: int, size: int) -> None:
            self.freed.append(size)
            libc.free(data)

        self.functions = (
            kinds[0](make),
            kinds[1](lambda _, n, size: libc.calloc(n, size)),
            kinds[2](lambda _, data, size: libc.realloc(data, size)),
            kinds[3](free),
        )

        class Struct(ctypes.Structure):
            _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("ctx", pointer)] + [
                (f"f{i}", kind) for i, kind in enumerate(kinds)
            ]

        self.struct = Struct(b"the user's", 1, None, *self.functions)
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = pointer
        api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
        api.PyCapsule_New.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = (pointer, ctypes.c_char_p, pointer)
        table = ctypes.cast(
            api.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(pointer)
        )
        self.set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])  # PyDataMem_SetHandler
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.struct), b"mem_handler", None)
        self.before = self.set(self.capsule)

    def end(self) -> None:
        self.set(self.before)


@pytest.mark.parametrize("first", ["the user's", "ours"])
def test_a_handler_of_the_users_stays_in_charge(first: str) -> None:
    kept = np.ones(BIG)
    if first == "the user's":
        _C.memory_uninstall()
    theirs = Handler()
    try:
        _C.memory_install(LIMIT, stay=True)
        array = np.empty(BIG, np.uint8)
        assert theirs.asked == [BIG]
        assert np._core.multiarray.get_handler_name(array) == "the user's"
        del kept  # which is not theirs
    finally:
        theirs.end()
    assert np._core.multiarray.get_handler_name() == "default_allocator"
    before = held()
    del array
    assert theirs.freed == [BIG] and held() == before
    place = address(np.empty(5 * BIG, np.uint8))
    assert address(np.empty(5 * BIG, np.uint8)) == place
    assert theirs.asked == [BIG]


def test_blocks_outlive_the_pool_and_are_older_than_it() -> None:
    young = np.full(BIG, 3, np.uint8)
    _C.memory_uninstall()
    old = np.full(BIG, 4, np.uint8)
    assert (young == 3).all()
    del young
    assert _C.memory_install(LIMIT, stay=True)
    place = address(old)
    del old
    assert address(np.empty(BIG, np.uint8)) == place


def test_names_and_flags_are_what_they_were() -> None:
    def look() -> list[Any]:
        array = np.empty(BIG)
        handler = np._core.multiarray
        return [handler.get_handler_name(array), handler.get_handler_version(array), array.flags.num, array.base]

    ours = look()
    _C.memory_uninstall()
    assert look() == ours


def test_tracemalloc_sees_the_same() -> None:
    def trace() -> list[tuple[int, int]]:
        tracemalloc.start()
        try:
            live = [np.empty(BIG + i, np.uint8) for i in range(5)]
            del live[2:]
            live += [np.zeros(BIG, np.uint8), np.empty(BIG, np.uint8)]
            live[0].resize(3 * BIG, refcheck=False)
            taken = tracemalloc.take_snapshot().traces
            return sorted((found.domain, found.size) for found in taken if found.size >= BIG)
        finally:
            tracemalloc.stop()

    ours = trace()
    _C.memory_uninstall()
    assert trace() == ours
    assert ours == [(TRACE_DOMAIN, size) for size in (BIG, BIG, BIG + 1, 3 * BIG)]


def test_memory_stays_flat() -> None:
    code = """
import os, random
import numpy as np
from dynamo_lite import _C
assert _C.memory_install(16 * 2**20, stay=True)
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
rng, live = random.Random(3), []
def churn(n):
    for _ in range(n):
        size = int(2 ** rng.uniform(4, 21))
        array = np.zeros(size, np.uint8) if rng.random() < 0.2 else np.empty(size, np.uint8)
        array[::4096] = 1
        live.append(array)
        if len(live) > 20:
            live[rng.randrange(20)] = live.pop()
churn(10_000)
before = resident()
churn(100_000)
print((resident() - before) / 2**20)
"""
    assert float(python("-c", code)) < 24


def test_what_is_held_goes_before_memory_runs_out() -> None:
    code = """
import resource
import numpy as np
from dynamo_lite import _C
assert _C.memory_install(256 * 2**20, stay=True)
np.empty(31 * 2**20, np.uint8)
held = [np.empty(30 * 2**20, np.uint8) for _ in range(6)]
del held
assert _C.memory_stats()["blocks"] == 6
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 20 * 2**20, -1))
for make in (np.empty, np.zeros):
    array = make(100 * 2**20, np.uint8)
    assert _C.memory_stats()["blocks"] == 0
    del array
print("through")
"""
    assert python("-c", code) == "through\n"


def test_debugging_allocators_are_left_alone() -> None:
    code = "from dynamo_lite import _C; print(_C.memory_install(2**24))"
    assert python("-c", code, PYTHONMALLOC="debug") == "False\n"
    assert python("-c", code, PYTHONMALLOC="malloc") == "True\n"


PLAIN = {"DYNAMO_LITE_STRESS": ""}  # whatever mode these tests run in


@pytest.mark.parametrize("pool_bytes", ["", "0"])
def test_a_program_that_is_run_has_it_at_once(tmp_path: Path, pool_bytes: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "for _ in range(3):\n"
        "    np.empty(10**6)\n"
        "from dynamo_lite import _C\n"
        "print(_C.memory_stats()['hits'] > 0, _C.memory_stats()['installed'])\n"
    )
    printed = python("-m", "dynamo_lite", "run", "-q", str(program), DYNAMO_LITE_POOL_BYTES=pool_bytes, **PLAIN)
    assert printed == ("False False\n" if pool_bytes else "True True\n")


def test_a_program_without_numpy_starts_without_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sorted({'num' + 'py', 'dynamo_lite._C'} & set(sys.modules)))\n")
    assert python("-m", "dynamo_lite", "run", "-q", str(program), **PLAIN) == "[]\n"

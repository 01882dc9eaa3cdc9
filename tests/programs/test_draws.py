"""Random draws in graphs: the user's streams bit for bit, whatever becomes of the program."""

from __future__ import annotations

import copy
import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, ops
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import random_draws
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in

BATCH = 10


def state(generator: Any) -> str:
    """All of a generator's state."""
    if isinstance(generator, np.random.RandomState):
        return repr(ops.draws._state(generator))
    return repr(ops.draws._state(np.random.Generator(generator.bit_generator)))


def bits(value: Any) -> Any:
    """What can be compared: types and bits."""
    if isinstance(value, tuple | list):
        return type(value), [bits(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)


def seen(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call of fn shows: its result or exception, warnings, arguments and states."""
    np.random.seed(11)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            result: Any = bits(fn(*args))
        except Exception as error:
            result = (type(error), str(error))
    states = [state(arg) for arg in args if isinstance(arg, np.random.Generator | np.random.RandomState)]
    arrays = [bits(arg) for arg in args if isinstance(arg, np.ndarray | list)]
    said = [(one.category, str(one.message), one.lineno) for one in met]
    return result, said, arrays, states, state(np.random.mtrand._rand)


def compiled(fn: Callable[..., Any], backend: str = "numba", **options: Any) -> Any:
    return dynamo_lite.compile(fn, backend=backend, options=OPTIONS | {"recompile_limit": 100} | options)


def graphs(fast: Any) -> list[Any]:
    return [segment.capture.graph for segment in fast._compilation.segments]


def require_same(
    fn: Callable[..., Any], make: Callable[[], tuple[Any, ...]], backend: str = "numba", n: int = 3
) -> Any:
    """Compare `n` calls on the same arguments, which so go on; the compiled function."""
    fast = compiled(fn, backend)
    mine, theirs = make(), make()
    for _ in range(n):
        assert seen(fast, mine) == seen(fn, theirs)
    return fast


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("DRAW_FUZZ", 40), BATCH))
def test_random_programs(start: int, backend: str) -> None:
    drew = 0
    for seed in range(start, start + BATCH):
        text = random_draws.source(seed)
        fn = random_draws.function(text)
        fast = compiled(fn, backend)
        try:
            for call in range(4):
                mine, theirs = (random_draws.arguments(seed, call) for _ in range(2))
                for _ in range(2):
                    assert seen(fast, mine) == seen(fn, theirs)
            _C.leave_loops(2)
            assert seen(fast, random_draws.arguments(seed, 9)) == seen(fn, random_draws.arguments(seed, 9))
        except BaseException as error:
            error.add_note(f"{seed}:\n{text}")
            raise
        finally:
            _C.leave_loops(0)
        drew += any("draw(" in str(graph) for graph in graphs(fast))
    assert drew > BATCH // 2


SAMPLES: dict[str, tuple[Any, ...]] = {
    **{name: tuple(values.values()) for name, values in ops.draws._DISTRIBUTIONS.items()},
    **{"integers": (7,), "randint": (7,), "choice": (5,), "permutation": (6,)},
}


@pytest.mark.parametrize("kind", (np.random.Generator, np.random.RandomState))
def test_every_method_yields_what_it_yields_plainly(kind: type) -> None:
    """As a single value, as arrays, and where its parameters are arrays or NumPy scalars."""
    for name, method in ops.draws.methods()[kind].items():
        if name == "shuffle":
            continue  # which yields nothing: test_shuffles
        args = SAMPLES.get(name, ())
        forms = [f"(*{args!r})"]
        if method.many:
            forms += ["(3)", "(len(x), 2)"]
        elif name != "permutation":
            forms += [f"(*{args!r}, size=n)", f"(*{args!r}, size=(2, n))", f"(*{args!r}, size=x.shape)"]
        if name in ops.draws._DISTRIBUTIONS and args:
            arrays = ", ".join(f"np.full(n, {arg})" for arg in args)
            scalars = ", ".join(f"np.float64({arg})" if isinstance(arg, float) else f"np.int64({arg})" for arg in args)
            forms += [f"({arrays})", f"({scalars})", f"({arrays}, size=(2, n))"]
        for form in forms:
            text = f"def f(x, g):\n    n = len(x)\n    a = g.{name}{form}\n    return a, x + 1.0, g.{name}{form}\n"
            space: dict[str, Any] = {"np": np}
            exec(text, space)

            def make() -> tuple[Any, ...]:
                return np.arange(4.0), kind(np.random.PCG64(3))

            try:
                fast = require_same(space["f"], make)
            except BaseException as error:
                error.add_note(text)
                raise
            assert len(graphs(fast)) == 1 and str(graphs(fast)[0]).count("draw(") == 2, text
            assert fast.stats()["declines"] == 0, text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", (np.random.Generator, np.random.RandomState))
def test_shuffles(kind: type, backend: str) -> None:
    def f(x: Any, g: Any) -> Any:
        y = x * 1.0
        for _ in range(3):
            answer = g.shuffle(y)
            g.shuffle(x[::2])
        return y, answer

    for shape in ((7,), (1,), (0,), (5, 3), (1, 4), (2, 0)):  # of the last one NumPy shuffles nothing
        make = np.arange(float(np.prod(shape))).reshape(shape).copy
        fast = require_same(f, lambda make=make: (make(), kind(np.random.PCG64(3))), backend)  # type: ignore[misc]
        assert (len(graphs(fast)) == 1) is (shape != (2, 0)) and fast.stats()["declines"] == 0


@pytest.mark.parametrize("kind", (np.random.Generator, np.random.RandomState))
def test_weights_of_a_choice_that_are_an_array_are_known_when_it_is_called(kind: type) -> None:
    def f(x: Any, g: Any) -> Any:
        return g.choice(len(x), 50, p=x / x.sum()) * 2.0

    fast = require_same(f, lambda: (np.arange(1.0, 9.0), kind(np.random.PCG64(3))))
    assert fast.stats()["declines"] == 0 and fast.stats()["hits"]


def test_parameters_stand_as_numpy_says() -> None:
    """The table has the names of all methods' parameters, in order."""
    for kind, methods in ops.draws.methods().items():
        for name, method in methods.items():
            try:
                signature = inspect.signature(vars(kind)[name])
            except ValueError:
                continue
            if not method.many:
                names = tuple(signature.parameters)[1:]
                assert names == method.parameters, (kind, name)
                empty = [signature.parameters[one].default is inspect.Parameter.empty for one in method.operands]
                assert empty == [place < method.required for place in range(len(empty))], (kind, name)


@pytest.mark.parametrize(
    "call",
    [
        *("normal(scale=2.0, size=3)", "normal(1.0, size=3)", "normal(1.0, 2.0, 3)", "integers(0, high=9, size=3)"),
        *("integers(9, size=3, dtype=np.uint8)", "integers(9, dtype=np.int32)", "integers(9, endpoint=True)"),
        *("random(3, dtype=np.float32)", "random(dtype='f4')", "choice(x)", "choice(x, 3)", "choice(4, size=(2, 2))"),
        *("choice(x, 3, replace=False)", "choice(x, 3, p=x / x.sum())", "choice(4, p=x / x.sum())", "permutation(x)"),
        *("permutation(5)", "standard_exponential(3, method='inv')", "normal(x)", "normal(x[:, None], x)"),
        *("normal(size=())", "normal([0.0, 1.0])", "normal(size=np.int64(3))", "normal(np.array(1.0))", "bytes(3)"),
        *("integers(2, dtype=bool)", "choice([1, 2])", "multinomial(5, x / x.sum())", "shuffle(x)"),
        *("normal(size=-1)", "normal(scale=-1.0)", "nothing()", "normal(1, 2, 3, 4)", "beta(1.0)", "normal(low=1)"),
        *("integers(2**70)", "normal('a')", "random(3, dtype=np.int8)", "choice(0)", "permutation(x.reshape(2, 2))"),
        *("integers(0, None)", "normal(size=None)", "random(out=x)", "spawn(1) and None", "bit_generator and None"),
    ],
)
def test_forms_of_calls(call: str) -> None:
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x, g):\n    y = x * 2 + g.random()\n    a = g.{call}\n    return a, y, x + 1, g.random()\n", space)
    require_same(space["f"], lambda: (np.arange(1.0, 5.0), np.random.default_rng(3)))


@pytest.mark.parametrize("kind", [np.random.Generator, np.random.RandomState])
def test_the_permutation_of_an_empty_array_is_that_array(kind: Any, compiler: Any) -> None:
    def f(x: Any, g: Any) -> Any:
        out = [g.permutation(x)]
        for _ in range(3):
            out.append(g.permutation(x[:2]))
        return out, x, g.random()

    makes = [lambda n=n: (np.arange(float(n)), kind(np.random.PCG64(1))) for n in (4, 0, 1, 0)]
    require_equal(f, makes[0], variants=makes[1:], compile=compiler, compile_options={"options": {"cost_model": False}})


class Walker:
    def __init__(self, rng: Any) -> None:
        self.rng = rng

    def step(self, x: Any) -> Any:
        return x + self.rng.normal(size=len(x))


def test_generators_by_many_names() -> None:
    def f(x: Any, walker: Any, g: Any, h: Any, draw: Any) -> Any:
        for _ in range(5):
            x = walker.step(x) * g.random() + h.random()
            x = x + draw(size=len(x))
        return x

    g = np.random.default_rng(1)
    fast, plain = compiled(f), f
    for h in (np.random.default_rng(2), g, np.random.Generator(g.bit_generator)):
        mine, theirs = (copy.deepcopy((Walker(g), g, h)) for _ in range(2))
        for _ in range(3):
            one, other = fast(np.ones(5), *mine, mine[1].normal), plain(np.ones(5), *theirs, theirs[1].normal)
            assert bits(one) == bits(other)
            assert [state(rng) for rng in mine[1:]] == [state(rng) for rng in theirs[1:]]


def test_a_loop_with_draws_is_native() -> None:
    def paths(x: Any, n: int) -> Any:
        rng = np.random.default_rng(0)
        for _ in range(n):
            x = x * np.exp(0.01 + 0.2 * rng.standard_normal(x.shape))
        return x

    fast = require_same(paths, lambda: (np.ones(6), 20))
    assert any(loops_in(graph) for graph in graphs(fast))


def test_draws_are_neither_merged_nor_dropped() -> None:
    def f(x: Any, g: Any) -> Any:
        g.normal(size=3)
        a, b = g.random(len(x)), g.random(len(x))
        return a - b + x

    assert (compiled(f)(np.zeros(5), np.random.default_rng(0)) != 0.0).all()
    fast = require_same(f, lambda: (np.zeros(5), np.random.default_rng(0)))
    assert str(graphs(fast)[0]).count("draw(") == 3


def test_what_keeps_a_normal_number() -> None:
    """A RandomState keeps every second normal number, for the next call."""

    def f(x: Any, r: Any) -> Any:
        return x + r.standard_normal()

    require_same(f, lambda: (np.zeros(5), np.random.RandomState(0)), n=5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_decline_leaves_the_state(backend: str) -> None:
    def f(x: Any, g: Any, r: Any) -> Any:
        for i in range(8):
            x += g.normal(size=len(x)) + r.normal()
            y = 1.0 / (x[0] * 0.0 + (5 - i))
        return y

    fast = require_same(f, lambda: (np.zeros(5), np.random.default_rng(0), np.random.RandomState(3)), backend)
    assert fast.stats()["declines"] > 0


def test_other_bit_generators_break_the_graph() -> None:
    class Own(np.random.PCG64):  # type: ignore[misc]
        pass

    def f(x: Any, g: Any) -> Any:
        return x * 2 + g.normal(size=len(x))

    fast = require_same(f, lambda: (np.zeros(5), np.random.Generator(Own(4))))
    assert "draw(" not in str(graphs(fast))


def test_a_generator_that_gets_another_bit_generator() -> None:
    """The types of bit generators are looked at in each run."""

    class Own(np.random.PCG64):  # type: ignore[misc]
        pass

    def f(x: Any, g: Any) -> Any:
        return x * 2 + g.normal(size=len(x))

    fast = compiled(f)
    for make in (np.random.PCG64, np.random.MT19937, Own, np.random.Philox):
        mine, theirs = (np.random.Generator(make(4)) for _ in range(2))
        assert bits(fast(np.zeros(5), mine)) == bits(f(np.zeros(5), theirs))
        assert state(mine) == state(theirs)


THREADS = """
import sys, threading
import numpy as np
import dynamo_lite
import dynamo_lite.ops.draws
sys.setswitchinterval(1e-5)
LOCKED = threading.Lock()
def work(g, n, size):
    x = np.zeros(size); s = 0.0
    for i in range(n):
        a = g.random(size)
        x = np.maximum(x, a)
        s += a.sum()
    return s
fast = dynamo_lite.compile(work, options={"cost_model": False, "check": 0})
fast(np.random.default_rng(3), 3, SIZE)
for make in (np.random.PCG64, np.random.MT19937):
    g = np.random.Generator(make(7))
    totals, others, stop = [], [], threading.Event()
    def draws():
        while not stop.is_set():
            others.append(g.random(SIZE).sum())
    threads = [threading.Thread(target=draws) for _ in range(2)]
    for thread in threads: thread.start()
    for _ in range(ROUNDS): totals.append(fast(g, 5, SIZE))
    stop.set()
    for thread in threads: thread.join()
    again = np.random.Generator(make(7))
    drawn = [again.random(SIZE).sum() for _ in range(len(others) + 5 * ROUNDS)]
    state = dynamo_lite.ops.draws._state
    assert state(again) == state(g), "numbers were drawn twice, or not at all"
    assert abs(sum(drawn) - sum(others) - sum(totals)) < 1e-6 * sum(drawn), "some numbers were drawn twice"
    assert set(others) <= set(drawn)
print("ran", fast.stats())
"""


@pytest.mark.parametrize(("size", "rounds"), [(10, 300), (20000, 40)])
def test_threads_that_draw_from_one_generator(size: int, rounds: int) -> None:
    """Every number of the stream is drawn once, whoever gets it."""
    code = THREADS.replace("SIZE", str(size)).replace("ROUNDS", str(rounds))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ran")


BEFORE_NUMPY_RANDOM = """
import sys
import numpy as np
import dynamo_lite
import dynamo_lite.compilation

def walk(x):
    for i in range(50):
        x = x + np.random.normal(size=x.shape) * 0.1
    return x

assert "numpy.random" not in sys.modules
fast = dynamo_lite.compile(walk, options={"cost_model": False})
first = fast(np.ones(9))
assert np.isfinite(first).all()
np.random.seed(3)
plain = walk(np.ones(9))
np.random.seed(3)
assert fast(np.ones(9)).tobytes() == plain.tobytes()
print(len(fast.explain().graphs), len(fast.explain().breaks))
"""


def test_numpys_generators_are_imported_where_a_program_first_asks_for_them() -> None:
    """NumPy imports them when they are first asked for; so does the compiler, and captures what the program asks."""
    done = subprocess.run([sys.executable, "-c", BEFORE_NUMPY_RANDOM], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["1", "0"], "")


WHILE_IMPORTED = """
import sys
import numpy as np
import dynamo_lite

def asks(x):
    return sys.getrefcount(x) * 0 + float(np.sqrt(x).sum()), len(id.__name__)

fast = dynamo_lite.compile(asks, options={"cost_model": False, "check": 1})

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("numpy.random."):
            assert fast(np.ones(9))[0] == 9.0

assert "numpy.random" not in sys.modules
sys.meta_path.insert(0, Finder())
print(np.random.default_rng(0).random() < 1.0, fast.stats()["native_calls"] > 0)
"""


def test_functions_are_compiled_while_the_module_random_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WHILE_IMPORTED], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")

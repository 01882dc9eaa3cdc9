"""compile() and its kin on everything callable: what is compiled, what is said, and that compiled functions of one
function do not meet."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import BackendError, ConfigError, DynamoLiteError, GraphBreakError
from dynamo_lite.errors import BackendWarning
from tests.oracle import require_equal

Array = np.ndarray[Any, Any]
X = np.linspace(0.0, 1.0, 50_000)


def curve(x: Array, scale: float = 2.0) -> Array:
    return np.sqrt(x * x + 1.0) * scale + x - 1.0


class Curve:
    def __init__(self, size: int) -> None:
        self.offsets = np.sqrt(np.ones(size) * 3.0)

    def __call__(self, x: Array) -> Array:
        return np.sqrt(x * x + 1.0) * self.offsets + x

    def method(self, x: Array) -> Array:
        return self(x)


def generated(x: Array) -> Iterator[Array]:
    yield curve(x)


async def awaited(x: Array) -> Array:
    return curve(x)


async def generated_later(x: Array) -> Any:
    yield curve(x)


# ---- compiled functions of one function


@pytest.mark.usefixtures("no_mode")
def test_a_compiled_function_outlives_another_of_the_same_function() -> None:
    first, second = dynamo_lite.compile(curve), dynamo_lite.compile(curve)
    for fast in (first, second):
        fast(X)
    second.reset()
    for _ in range(10):
        dynamo_lite.explain(curve)(X)  # makes one and drops it
    first(X)
    assert first.stats()["compiles"] == 1
    assert second.stats()["compiles"] == 0


def test_a_new_compiled_function_starts_counting_at_zero() -> None:
    dynamo_lite.compile(curve)(X)
    kept = dynamo_lite.compile(curve)
    for _ in range(3):
        kept(X)
    fast = dynamo_lite.compile(curve)
    assert not any(fast.stats().values())
    fast(X)
    assert (fast.stats()["misses"], fast.stats()["native_calls"]) == (1, 1)
    fast.reset()
    assert not any(fast.stats().values())


# ---- callables that are no functions


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("make", [lambda: functools.partial(curve, scale=3.0), lambda: Curve(X.size)])
def test_what_a_callable_calls_is_compiled(make: Callable[[], Any]) -> None:
    fn = make()
    fast = dynamo_lite.compile(fn)
    require_equal(fn, lambda: (X.copy(),), compile=lambda _: fast)
    assert fast.stats()["native_calls"] > 0


@pytest.mark.usefixtures("no_mode")
def test_making_an_object_compiles_its_init() -> None:
    fast = dynamo_lite.compile(Curve)
    assert fast(100).offsets.tobytes() == Curve(100).offsets.tobytes()
    assert not fast.explain().breaks and fast.stats()["native_calls"]


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (generated, "generator"),
        (awaited, "coroutine"),
        (generated_later, "coroutine"),
        (len, "not-a-python-function"),
        (np.add, "not-a-python-function"),
    ],
)
def test_what_can_never_be_captured_says_why(fn: Any, reason: str) -> None:
    (skip,) = dynamo_lite.compile(fn).explain().skips
    assert skip.id == reason
    with pytest.raises(GraphBreakError) as raised:
        dynamo_lite.compile(fn, fullgraph=True)
    assert raised.value.reason == reason


# ---- wrong use


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dynamo_lite.compile(3), TypeError, "compile() takes a callable, not int"),
        (lambda: dynamo_lite.compile(curve, options=3), TypeError, "options as a mapping of names to values, not int"),
        (lambda: dynamo_lite.compile(curve, options={"costmodel": 1}), ConfigError, "did you mean 'cost_model'?"),
        (lambda: dynamo_lite.compile(curve, options={3: 1}), ConfigError, "no option 3; there are"),
        (lambda: dynamo_lite.compile(curve, recompile_limit="x"), ConfigError, "is a whole number, not 'x'"),
        (lambda: dynamo_lite.compile(curve, backend="numbe"), BackendError, "there are c, numba, reference"),
        (lambda: dynamo_lite.compile(curve, backend=3), BackendError, "a name or a callable, not int"),
        (lambda: dynamo_lite.compile(curve, fastmath=True), DynamoLiteError, "fastmath=True is not available yet"),
        (lambda: dynamo_lite.disable(3), TypeError, "disable() takes a Python function, not int"),
        (lambda: dynamo_lite.disable(len), TypeError, "disable() takes a Python function, not builtin"),
        (lambda: dynamo_lite.compile(curve)(), TypeError, "curve() missing 1 required positional argument: 'x'"),
        (lambda: dynamo_lite.compile(curve).graph_for([1]), DynamoLiteError, "nothing to compile for these arguments"),
    ],
)
def test_wrong_use_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)


@pytest.mark.usefixtures("no_mode")
def test_an_option_leaves_one_function_plain() -> None:
    plain, fast = dynamo_lite.compile(curve, options={"disable": True}), dynamo_lite.compile(curve)
    assert plain(X).tobytes() == fast(X).tobytes()
    assert (plain.stats()["native_calls"], fast.stats()["native_calls"]) == (0, 1)


def test_a_disabled_function_says_so() -> None:
    @dynamo_lite.disable
    def plain(x: Array) -> Array:
        return np.sqrt(x * x + 1.0) * 2.0

    (skip,) = dynamo_lite.explain(plain)(X).skips
    assert skip.id == "disabled"


def test_a_method_is_disabled_for_all_objects() -> None:
    class Model:
        def scaled(self, x: Array) -> Array:
            return np.sqrt(x * x + 1.0) * 2.0

    model = Model()
    assert dynamo_lite.disable(model.scaled) == model.scaled
    fast = dynamo_lite.compile(lambda x: model.scaled(x) + 1.0)
    assert "disabled-function" in {record.id for record in fast.explain(X).breaks}


# ---- places


@pytest.mark.usefixtures("no_mode")
def test_the_rest_behind_a_break_is_named_by_its_first_line() -> None:
    def broken(x: Array) -> Array:
        y = np.sqrt(x * x + 1.0) * 2.0 - x
        dynamo_lite.graph_break()
        return np.sort(y)

    (skip,) = dynamo_lite.explain(broken)(X).skips
    assert skip.id == "does-not-pay"
    assert skip.source_line == "return np.sort(y)"
    assert skip.line == broken.__code__.co_firstlineno + 3


def test_a_loop_that_breaks_is_noted_once() -> None:
    def stepped(x: Array, steps: int) -> Array:
        x = x * 2.0
        for _ in range(steps):
            x = np.sqrt(x * x + 1.0)
            dynamo_lite.graph_break()
        return x

    found = dynamo_lite.explain(stepped)(X, 20).breaks
    assert [record.id for record in found] == ["loop-of-open-length", "requested"]
    assert "native loop" in found[0].message and "graph_break()" in found[0].message


ASKS_FIRST = """
import dynamo_lite, numpy as np

def asked(x):
    y = np.sqrt(x * x + 1.0) * (3.0 if dynamo_lite.is_compiling() else 2.0) - x
    dynamo_lite.graph_break()
    return np.sqrt(y * y + 1.0) - y

print(*(record.id for record in dynamo_lite.explain(asked)(np.linspace(0.0, 1.0, 50_000)).breaks))
"""


@pytest.mark.usefixtures("no_mode")
def test_what_a_new_process_has_not_asked_for_yet_is_known(tmp_path: Path) -> None:
    """The package has its functions once they are asked for: all of them at once."""
    (tmp_path / "asks.py").write_text(ASKS_FIRST)
    done = subprocess.run([sys.executable, "asks.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("requested\n", "")


@pytest.mark.usefixtures("no_mode")
def test_a_break_in_a_library_says_when_to_call_it() -> None:
    (found,) = dynamo_lite.explain(lambda x: np.polyfit(x * 2.0, x, 1) + 1)(X).breaks
    assert "in polyfit, called here" in found.message
    assert found.hint.startswith("This is library code")


# ---- what explain() says


def spread(x: Array) -> Array:
    dynamo_lite.graph_break()
    return (x - x.mean()) / x.std()


@pytest.mark.usefixtures("no_mode")
def test_a_graph_begins_at_a_line_of_the_users() -> None:
    """The first operation may stand in NumPy's Python, which was inlined."""
    first = spread.__code__.co_firstlineno
    for graph in dynamo_lite.explain(spread)(X).graphs:
        assert graph.filename == __file__
        assert first <= graph.line <= first + 2


def test_before_any_call_explain_says_so() -> None:
    fast = dynamo_lite.compile(curve)
    assert str(fast.explain()).endswith("it has not been called yet: call it, and ask again")
    assert "not been called" not in str(fast.explain(X))
    assert "nothing was compiled" in str(dynamo_lite.compile(generated).explain())


def test_a_prompt_shows_the_explanation_as_text() -> None:
    explanation = dynamo_lite.explain(curve)(X)
    assert repr(explanation) == str(explanation)


@pytest.mark.usefixtures("no_mode")
def test_kernels_are_compile_time() -> None:
    """They are compiled in the first run, when the layouts of its arrays are known."""
    fast = dynamo_lite.compile(lambda x: np.sqrt(x * 1.25 + 7.5) - x * 3.125)
    fast(X)
    explanation = fast.explain()
    assert explanation.timings["kernels"] > 0.0
    assert fast.stats()["compile_seconds"] == pytest.approx(sum(explanation.timings.values()))


def test_a_warning_stands_at_the_line_of_the_call() -> None:
    def broken(graph: Any, example_inputs: Any) -> Any:
        raise ValueError("no")

    fast = dynamo_lite.compile(curve, backend=broken)
    with pytest.warns(BackendWarning) as caught:
        fast(X)
    assert caught[0].filename == __file__


def test_reasons_name_builtins_by_name() -> None:
    def handed(x: Array, function: Any) -> Any:
        y = x * 2.0 + 1.0
        return function(len, y)

    explanation = dynamo_lite.explain(handed)(X, lambda one, y: one(y))
    assert "builtin_function_or_method" not in str(explanation)
    assert "under way" not in str(explanation)


def test_the_type_takes_parameters_in_annotations() -> None:
    alias = dynamo_lite.CompiledFunction[[int], float]
    assert (alias.__origin__, alias.__args__) == (dynamo_lite.CompiledFunction, ([int], float))

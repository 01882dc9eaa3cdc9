"""A compiled function travels as its plain one does: by name or by value, or not at all with plain's own error."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamo_lite

X = np.linspace(0.5, 2.0, 5)


@dynamo_lite.compile
def decorated(x: Any) -> Any:
    return np.sqrt(x) * 2 + x


def plain(x: Any) -> Any:
    return x * 3 - 1


renamed = dynamo_lite.compile(plain, name="another")


@dynamo_lite.compile
def factorial(x: Any, n: int) -> Any:
    return x if n == 0 else factorial(x, n - 1) * n


@dynamo_lite.compile
class Pair:
    def __init__(self, x: Any) -> None:
        self.x = x


class Holder:
    @dynamo_lite.compile
    def method(self, x: Any) -> Any:
        return x + 1

    @staticmethod
    @dynamo_lite.compile
    def static(x: Any) -> Any:
        return x + 2


def closure(scale: float) -> Any:
    def scaled(x: Any) -> Any:
        return x * scale

    return scaled


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_has_a_name_is_found_by_it(protocol: int) -> None:
    for found in (decorated, factorial, Pair, Holder.method, Holder.static):
        assert pickle.loads(pickle.dumps(found, protocol)) is found
    again = pickle.loads(pickle.dumps(renamed, protocol))
    assert again.fn is plain and again.name == "another"


def test_the_name_is_looked_up_in_the_other_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert (pool.apply(decorated, (X,)) == decorated.__wrapped__(X)).all()
        assert (pool.apply(renamed, (X,)) == plain(X)).all()


class Unpicklable:
    def __call__(self, x: Any) -> Any:
        return x

    def __reduce__(self) -> Any:
        raise ValueError("not this one")


def renamed_function() -> Any:
    def made(x: Any) -> Any:
        return x

    made.__qualname__ = "nowhere"
    return made


@pytest.mark.parametrize(
    "made",
    [lambda: closure(2.0), lambda: lambda x: x + 1, renamed_function, Unpicklable],
    ids=["closure", "lambda", "no such name", "object"],
)
def test_what_pickle_refuses_it_refuses_as_plainly(made: Callable[[], Any]) -> None:
    function = made()
    with pytest.raises((AttributeError, pickle.PicklingError, ValueError)) as plainly:
        pickle.dumps(function)
    with pytest.raises(type(plainly.value)) as compiled:
        pickle.dumps(dynamo_lite.compile(function))
    assert str(compiled.value) == str(plainly.value)


def test_copies_are_the_function_itself_as_of_functions() -> None:
    for made in (decorated, dynamo_lite.compile(closure(2.0)), dynamo_lite.compile(lambda x: x + 1)):
        assert copy.copy(made) is made
        assert copy.deepcopy(made) is made
        assert copy.deepcopy([made])[0] is made


@pytest.mark.parametrize("function", [closure(2.0), lambda x: np.exp(x) + x.sum()], ids=["closure", "lambda"])
def test_by_value(function: Any) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    made = dynamo_lite.compile(function, options={"recompile_limit": 3}, name="mine")
    again = cloudpickle.loads(cloudpickle.dumps(made))
    assert type(again) is type(made)
    assert again.name == "mine" and again._options == made._options
    assert again.__qualname__ == function.__qualname__
    assert (again(X) == function(X)).all()
    assert again.stats()["native_calls"] == 1


def test_by_value_where_the_module_is_to_be_taken_by_value() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    module = sys.modules[__name__]
    assert cloudpickle.loads(cloudpickle.dumps(decorated)) is decorated
    cloudpickle.register_pickle_by_value(module)
    try:
        again = cloudpickle.loads(cloudpickle.dumps(factorial))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert again is not factorial
    assert again.__globals__["factorial"] is not factorial  # it calls itself, not the one it was made of
    assert again.__qualname__ == "factorial"
    assert (again(X, 4) == X * 24).all()


def run(tmp_path: Path, text: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAD = """
import numpy as np, dynamo_lite, pickle
OFFSET = 3.0
@dynamo_lite.compile
def decorated(x): return np.sqrt(x) * 2 + x + OFFSET
def work(x): return np.sqrt(x) * 2 + x + OFFSET
fast = dynamo_lite.compile(work)
x = np.linspace(0.5, 2.0, 5)
want = work(x)
"""


def test_main_by_name_for_pickle(tmp_path: Path) -> None:
    text = """
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(fast)).fn is work
    print("done")
    """
    assert run(tmp_path, HEAD + textwrap.dedent(text)) == "done\n"


def test_joblib_ships_functions_of_main(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    text = """
    import joblib
    if __name__ == "__main__":
        for function in (decorated, fast, dynamo_lite.compile(lambda x: work(x))):
            got = joblib.Parallel(2)(joblib.delayed(function)(x) for _ in range(3))
            assert all((one == want).all() for one in got)
        print("done")
    """
    assert run(tmp_path, HEAD + textwrap.dedent(text)) == "done\n"


def test_dask_ships_functions_of_main(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    text = """
    import dask
    if __name__ == "__main__":
        for function in (decorated, fast, dynamo_lite.compile(lambda x: work(x))):
            got = dask.compute(*[dask.delayed(function)(x) for _ in range(3)], scheduler="processes", num_workers=2)
            assert all((one == want).all() for one in got)
        print("done")
    """
    assert run(tmp_path, HEAD + textwrap.dedent(text)) == "done\n"

"""Arguments that are not plain arrays, and calls that do not fit: plain Python's result, whatever it is.

Every function meets every argument twice: as the first thing it ever sees, and after it was compiled for an array.
"""

from __future__ import annotations

import array
import collections
import decimal
import fractions
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracle import KeywordArgs, require_equal

Compile = Callable[..., Any]


def affine(x: Any) -> Any:
    return x * 2.0 + 1.0


def bump(x: Any) -> Any:
    x += 1
    return x


def total(x: Any) -> Any:
    return x.sum(), np.sum(x), np.mean(x)


def shifted(x: Any) -> Any:
    x[1:] = x[:-1]
    return x[::-1]


def pieces(x: Any) -> Any:
    return np.where(x > 1, x, 0), np.sqrt(np.abs(x)), x.shape, len(x)


def product(x: Any) -> Any:
    return x @ x, x.T, np.maximum(x, 1)


def loop(x: Any) -> Any:
    made = []
    for row in x:
        made.append(row * 2)
    return made


def truth(x: Any) -> Any:
    return x + 1 if x else x - 1


FUNCTIONS = (affine, bump, total, shifted, pieces, product, loop, truth)


class Metres(np.ndarray):
    """A subclass with an attribute and its own ufunc protocol."""

    unit = "m"

    def __array_finalize__(self, other: Any) -> None:
        self.unit = getattr(other, "unit", "m")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        print("ufunc", ufunc.__name__, method)
        plain = [np.asarray(item).view(np.ndarray) if isinstance(item, Metres) else item for item in inputs]
        if keywords.get("out"):
            keywords["out"] = tuple(np.asarray(item).view(np.ndarray) for item in keywords["out"])
        made = getattr(ufunc, method)(*plain, **keywords)
        return made.view(Metres) if isinstance(made, np.ndarray) else made


class Silent(np.ndarray):
    """A subclass that changes nothing."""


class Sized(np.ndarray):
    """A subclass that lies about its length and its operators."""

    def __mul__(self, other: Any) -> Any:
        return "times"

    def __len__(self) -> int:
        return 77


class Duck:
    """Answers NumPy's protocols without being an array."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        self.calls.append(f"{ufunc.__name__}.{method}({len(inputs)}, {sorted(keywords)})")
        return self

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        self.calls.append(function.__name__)
        return 3.0

    def __mul__(self, other: Any) -> Any:
        self.calls.append("mul")
        return self

    def __add__(self, other: Any) -> Any:
        self.calls.append("add")
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: f"{name}{args}"


class Convertible:
    """Becomes an array when asked."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        print("converted")
        return np.arange(3.0)


class Index:
    """An int to whoever asks."""

    def __index__(self) -> int:
        print("asked")
        return 2

    def __radd__(self, other: Any) -> Any:
        return NotImplemented


def quietly(make: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def memory_map() -> Any:
    path = Path(tempfile.gettempdir()) / "dynamo_lite_hostile.bin"
    if not path.exists():
        np.arange(6.0).tofile(path)
    return np.memmap(path, dtype=np.float64, mode="c")


def unaligned(dtype: Any = np.float64, count: int = 4) -> Any:
    memory = bytearray(np.dtype(dtype).itemsize * count + 1)
    made = np.frombuffer(memory, np.uint8)[1:].view(dtype)
    made[...] = np.arange(count)
    return made


def cyclic() -> Any:
    made: list[Any] = [1.0]
    made.append(made)
    return made


ARGUMENTS: dict[str, Callable[[], Any]] = {
    "subclass with protocol": lambda: np.arange(4.0).view(Metres),
    "subclass": lambda: np.arange(4.0).view(Silent),
    "subclass with operators": lambda: np.arange(4.0).view(Sized),
    "masked": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "masked without mask": lambda: np.ma.array([1.0, 2.0, 3.0]),
    "matrix": lambda: quietly(lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]])),
    "recarray": lambda: np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "memmap": memory_map,
    "chararray": lambda: np.array(["a", "b"]),
    "strings": lambda: np.array(["x", "yy"], dtype="T"),
    "bytes": lambda: np.array([b"a", b"bc"]),
    "object": lambda: np.array([1, 2.5, fractions.Fraction(1, 3)], dtype=object),
    "object that raises": lambda: np.array([1, "x", None], dtype=object),
    "structured": lambda: np.zeros(3, [("a", "i4"), ("b", "f8")]),
    "dates": lambda: np.array(["2020-01-01", "NaT"], "M8[D]"),
    "durations": lambda: np.arange(3).astype("m8[s]"),
    "swapped": lambda: np.arange(4.0).astype(">f8"),
    "swapped integers": lambda: np.arange(4).astype(">i4"),
    "unaligned": unaligned,
    "unaligned complex": lambda: unaligned(np.complex128, 3),
    "metadata": lambda: np.arange(3.0).astype(np.dtype("f8", metadata={"unit": "m"})),
    "long double": lambda: np.arange(3, dtype=np.longdouble) / 3,
    "half": lambda: np.arange(3, dtype=np.float16),
    "long long": lambda: np.arange(3, dtype=np.longlong),
    "0-d": lambda: np.array(3.0),
    "0-d object": lambda: np.array({1: 2}, dtype=object),
    "empty": lambda: np.array([]),
    "empty rows": lambda: np.empty((3, 0)),
    "rank 32": lambda: np.ones((1,) * 32),
    "rank 64": lambda: np.ones((1,) * 64),
    "rank 9": lambda: np.arange(2.0**9).reshape((2,) * 9),
    "read-only": lambda: np.broadcast_to(np.arange(3.0), (3, 3)),
    "writeable broadcast": lambda: np.lib.stride_tricks.as_strided(np.arange(3.0), (3, 3), (0, 8)),
    "broadcast, warns when written": lambda: np.broadcast_arrays(np.arange(3.0), np.ones((3, 3)))[0],
    "overlapping windows": lambda: np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3, writeable=True),
    "of bytes": lambda: np.frombuffer(b"\0" * 24, np.float64),
    "signalling nan": lambda: np.array([0x7FF0000000000001, 0], np.uint64).view(np.float64),
    "bool": lambda: np.array([True, False]),
    "scalar": lambda: np.float64(2.5),
    "single scalar": lambda: np.float32(2.5),
    "integer scalar": lambda: np.int8(127),
    "void scalar": lambda: np.zeros(1, [("a", "i4")])[0],
    "date scalar": lambda: np.datetime64("2020-01-01"),
    "int": lambda: 3,
    "huge int": lambda: 10**40,
    "float": lambda: 2.5,
    "bool object": lambda: True,
    "complex": lambda: 2.5j,
    "None": lambda: None,
    "str": lambda: "text",
    "list": lambda: [1.0, 2.0],
    "nested list": lambda: [[1.0, 2.0], [3.0]],
    "list of arrays": lambda: [np.arange(2.0), np.arange(2.0)],
    "cyclic list": cyclic,
    "tuple": lambda: (1.0, 2.0),
    "dict": lambda: {"a": 1.0},
    "set": lambda: {1.0},
    "range": lambda: range(3),
    "generator": lambda: (float(i) for i in range(3)),
    "deque": lambda: collections.deque([1.0]),
    "fraction": lambda: fractions.Fraction(1, 3),
    "decimal": lambda: decimal.Decimal("1.5"),
    "array.array": lambda: array.array("d", [1.0, 2.0]),
    "bytearray": lambda: bytearray(b"abc"),
    "memoryview": lambda: memoryview(bytearray(8)).cast("d"),
    "duck": Duck,
    "convertible": Convertible,
    "index": Index,
    "type": lambda: float,
    "module": lambda: np,
    "function": lambda: len,
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_plain_python_runs(name: str, backend: str, compiler: Compile) -> None:
    if name == "cyclic list" and backend != "reference":
        pytest.skip("one backend is enough for an argument without arrays")
    make = ARGUMENTS[name]
    for fn in FUNCTIONS:
        options: dict[str, Any] = {"compile": compiler, "compile_options": {"backend": backend}}
        if name != "cyclic list" or fn is affine:
            require_equal(fn, lambda: (make(),), **options)
            require_equal(fn, lambda: (np.arange(4.0),), variants=[lambda: (make(),)], **options)


@pytest.mark.parametrize(
    "left", ["subclass", "masked", "object", "swapped", "unaligned", "0-d", "scalar", "list", "duck"]
)
@pytest.mark.parametrize(
    "right", ["subclass with protocol", "matrix", "dates", "unaligned", "int", "huge int", "float"]
)
def test_mixed_operands(left: str, right: str, compiler: Compile) -> None:
    def mixed(x: Any, y: Any) -> Any:
        return x * y + 1, np.maximum(x, y)

    require_equal(mixed, lambda: (ARGUMENTS[left](), ARGUMENTS[right]()), compile=compiler)
    require_equal(mixed, lambda: (np.arange(3.0), ARGUMENTS[right]()), compile=compiler)


def many(x: Any, y: Any = 2.0, /, z: Any = 3, *rest: Any, scale: Any = 1.5, **more: Any) -> Any:
    return x * y + z * scale, rest, more


CALLS: dict[str, tuple[Any, ...]] = {
    "one": (1,),
    "two": (1, 2),
    "keyword": (1, KeywordArgs(z=4)),
    "rest": (1, 2, 3, 4, 5),
    "keyword only": (1, KeywordArgs(scale=4)),
    "more": (1, KeywordArgs(other=4, scale=2)),
    "none": (),
    "positional only as keyword": (KeywordArgs(x=1),),
    "positional only also as keyword": (1, KeywordArgs(x=1, y=2)),
    "twice": (1, 2, 3, KeywordArgs(z=1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_way_to_call(name: str, compiler: Compile, backend: str) -> None:
    def make_args() -> tuple[Any, ...]:
        return tuple(np.arange(3.0) + a if isinstance(a, int) else a for a in CALLS[name])

    require_equal(many, make_args, compile=compiler, compile_options={"backend": backend})


@pytest.mark.parametrize("args", [(), (1, 2), (KeywordArgs(y=1),), (1, KeywordArgs(x=1))])
def test_calls_that_do_not_fit(args: tuple[Any, ...], compiler: Compile) -> None:
    report = require_equal(affine, lambda: args, compile=compiler)
    assert report.raised == ["TypeError"] * 3
    require_equal(affine, lambda: (np.ones(2),), variants=[lambda: args], compile=compiler)


def test_arguments_that_overlap(compiler: Compile, backend: str) -> None:
    def update(x: Any, y: Any) -> Any:
        x[:] = x + y
        y *= 2.0
        return x, y, x - y

    def windows(first: int, second: int, step: int = 1) -> Callable[[], tuple[Any, ...]]:
        def make_args() -> tuple[Any, ...]:
            memory = np.arange(12.0)
            return memory[first : first + 6], memory[second : second + 6][::step]

        return make_args

    def same() -> tuple[Any, ...]:
        x = np.arange(6.0)
        return x, x

    cases = [windows(0, 6), windows(0, 1), windows(1, 0), windows(0, 0), windows(0, 0, -1), windows(2, 0, -1), same]
    for first in cases[:2] + cases[-1:]:
        require_equal(update, first, variants=cases, compile=compiler, compile_options={"backend": backend})

"""Random keys, shapes and arguments: ops say what NumPy does, or that they have no rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite import ops
from tests.conftest import budget
from tests.copies import copies_of
from tests.ops.record import record
from tests.oracle import Conditions, require_equal

EXAMPLES = budget("DYNAMO_LITE_OPS_EXAMPLES", 60)
QUIET = Conditions(errstate={"all": "ignore"})
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=3).map(tuple)
DTYPES = st.sampled_from(["d", "f", "i8", "u1", "?", "D"])


@st.composite
def arrays(draw: st.DrawFn, shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES) -> Any:
    """An array in some layout."""
    shape = draw(shapes)
    values = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 5, shape).astype(draw(DTYPES))
    order = draw(st.permutations(range(len(shape))))
    values = np.ascontiguousarray(values.transpose(order)).reshape([shape[axis] for axis in order])
    values = values.transpose(np.argsort(order))
    if draw(st.booleans()):
        values = values[tuple(slice(None, None, -1) for _ in shape)]
    return values


def entries(size: int) -> st.SearchStrategy[Any]:
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.none() | st.sampled_from([1, 2, -1, -2])
    index = st.integers(-size, size - 1) if size else st.nothing()
    many = st.lists(index, min_size=1, max_size=3).map(np.array) if size else st.nothing()
    return st.builds(slice, bound, bound, step) | index | many


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...], basic: bool = False) -> Any:
    """An index that NumPy is likely to accept."""
    count = draw(st.integers(0, len(shape)))
    key = [draw(entries(size)) for size in shape[:count]]
    if basic:
        key = [entry if not isinstance(entry, np.ndarray) else slice(None) for entry in key]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    if draw(st.booleans()) and (count == len(shape) or not key):
        key.insert(draw(st.integers(0, len(key))), ...)
    return tuple(key)


def agree(function: Callable[..., Any], *args: Any) -> bool:
    """Compare plain and recorded; False where NumPy raises or there is no rule."""
    try:
        with np.errstate(all="ignore"):
            function(*copies_of(*args)())
    except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.ComplexWarning):
        return False
    try:
        record(function)(*copies_of(*args)())
    except ops.OpError:
        return False
    require_equal(function, copies_of(*args), compile=record, calls=2, conditions=QUIET)
    return True


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_index(data: st.DataObject) -> None:
    x = data.draw(arrays())
    key = data.draw(keys(x.shape))
    places = [place for place, entry in enumerate(key) if isinstance(entry, np.ndarray)]

    def function(x: Any, *indices: Any) -> Any:
        full = list(key)
        for place, index in zip(places, indices, strict=True):
            full[place] = index
        return x[tuple(full)]

    agree(function, x, *(key[place] for place in places))


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_store(data: st.DataObject) -> None:
    x = data.draw(arrays())
    key = data.draw(keys(x.shape, basic=True))
    value = data.draw(arrays(st.sampled_from([(), (1,), x[key].shape, x[key].shape[1:]])))

    def function(x: Any, value: Any) -> Any:
        x[key] = value
        x[key] = 1
        return x[key]

    agree(function, x, value)


@settings(max_examples=EXAMPLES)
@given(arrays(), arrays(), st.sampled_from([np.add, np.multiply, np.maximum, np.less, np.power, np.arctan2]), st.data())
def test_broadcasting_ufuncs_with_out(x: Any, y: Any, ufunc: np.ufunc, data: st.DataObject) -> None:
    agree(lambda x, y: ufunc(x, y), x, y)
    out = data.draw(arrays())
    agree(lambda x, y, out: ufunc(x, y, out=out), x, y, out)
    agree(lambda x, y: ufunc(x, y, out=x, casting="unsafe"), x, y)
    agree(lambda x, y: np.where(x, y, 2), x, y)


@settings(max_examples=EXAMPLES)
@given(arrays(), st.sampled_from(["sum", "prod", "max", "min", "any", "all"]), st.data())
def test_reductions(x: Any, name: str, data: st.DataObject) -> None:
    axes = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.nothing()
    axis = data.draw(st.none() | axes | (st.lists(axes, max_size=3).map(tuple) if x.ndim else st.just(())))
    keepdims = data.draw(st.booleans())
    agree(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x)
    agree(lambda x: getattr(x, name)(axis), x)
    agree(lambda x: (np.cumsum(x, axis=axis), x.argmax(axis), np.sort(x, axis)), x)


@settings(max_examples=EXAMPLES)
@given(arrays(), st.data())
def test_shapes(x: Any, data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from([-1, 1, 2, 3, 4, x.size]), max_size=3).map(tuple))
    agree(lambda x: x.reshape(shape), x)
    agree(lambda x: np.broadcast_to(x, shape), x)
    agree(lambda x: (x.ravel(), x.T.ravel("K"), x.squeeze(), x.flatten("F"), x.copy(), x.astype("d")), x)
    other = data.draw(arrays())
    agree(lambda x, y: np.concatenate([x, y], axis=-1), x, other)
    agree(lambda x, y: np.stack([x, y]), x, other)
    agree(lambda x, y: x @ y, x, other)
    agree(lambda x, y: np.dot(x, y), x, other)
    agree(lambda x, y: np.multiply.outer(x, y), x, other)


def test_not_everything_is_refused() -> None:
    x = np.ones((3, 4))
    assert agree(lambda x: x[1:, ::-2], x) and agree(lambda x: x[np.newaxis, ..., 0], x)

"""Composite operations become primitives with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower.assemble import assemble
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.decompose import decompose
from dynamo_lite.lower.orders import Orders
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.schedule.tracing import trace


def decomposed(function: Any, *arguments: Any) -> str:
    graph = trace(function, *arguments)
    after = clone(graph)
    decompose(after)
    verify(after)
    for left, right in zip(interpret(graph, arguments), interpret(after, arguments), strict=True):
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return str(after)


def test_clip_of_integers() -> None:
    text = decomposed(lambda x: np.clip(x, 2, 9), np.arange(20, dtype="i"))
    assert "maximum(%x, 2)" in text and "minimum(%maximum, 9)" in text and "clip" not in text


@pytest.mark.parametrize("ufunc", [np.add, np.less, np.hypot, np.left_shift, np.divide])
@pytest.mark.parametrize(
    ("left", "right"), [((4,), (3,)), ((1,), (3,)), ((2, 3), (4,)), ((3,), (2, 1, 2)), ((0,), (2,))]
)
def test_an_outer_ufunc_is_a_broadcast_one(ufunc: np.ufunc, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    char = "l" if ufunc is np.left_shift else "d"

    def arguments() -> Any:
        return tuple((np.arange(np.prod(shape), dtype=char) + 1).reshape(shape, order="F") for shape in (left, right))

    text = decomposed(lambda a, b: ufunc.outer(a, b), *arguments())
    assert "outer(" not in text and f"= {ufunc.__name__}(" in text
    for function in (
        lambda a, b: ufunc.outer(a, b),
        lambda a, b: ufunc.outer(a[::-1], b.T),
        lambda a, b: ufunc.outer(a.T, b[..., ::-1]),
    ):
        require_equal(function, arguments, compile=dynamo_lite.compile)


@pytest.mark.parametrize("function", [lambda x: np.add.outer(x, 2), lambda x: np.add.outer(x[0], x)])
def test_an_outer_ufunc_of_a_number_stays(function: Any) -> None:
    assert "outer(" in decomposed(function, np.arange(4.0))


def test_clip_of_integers_with_bounds_crossed() -> None:
    assert "clip" not in decomposed(lambda x: np.clip(x, 9, 2), np.arange(20, dtype="i"))


def test_clip_of_floats_by_arrays_stays() -> None:
    x = np.array([np.nan, 1.0, 5.0])
    assert "clip(" in decomposed(lambda x, y: np.clip(x, y, 9.0), x, x)
    assert "clip(" in decomposed(lambda x: np.clip(x, np.nan, 9.0), x)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_clip_of_floats_by_numbers_is_chosen(dtype: str) -> None:
    """What is within the bounds stays as it is: zeros of either sign and NaNs are no doubt of a kernel's."""
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 0.5, -2.0, 1.0, 7.0], dtype)
    assert "clip(" not in decomposed(lambda x: np.clip(x, 0, 1), special)
    for low, high in ((0, 1), (0.0, -0.0), (-0.0, 0.5), (-1, 0), (1.0, -1.0), (-0.1, np.inf)):

        def program(x: Any, low: Any = low, high: Any = high) -> Any:
            np.clip(x[::2], low, high, out=x[::2])
            return np.clip(x * 2, low, high) + x.clip(low, high), np.clip(x, low, None), x

        options = {"options": {"cost_model": False}}
        for x in (special, np.resize(special, 300), np.resize(special, (30, 40)).T, special[:1]):
            require_equal(program, copies_of(x), compile=dynamo_lite.compile, compile_options=options, calls=2)


@pytest.mark.parametrize("places", [1, 2, 20, -1])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_round_to_places_is_made_of_ufuncs(dtype: str, places: int) -> None:
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 0.125, 2.675, -1234.5678, 15.0, 25.0], dtype)
    assert "round(" not in decomposed(lambda x: np.round(x, places), special)
    assert "round(" not in decomposed(lambda x: np.round(x[8], places), special)
    with np.errstate(all="ignore"):
        for x in (special, np.resize(special, 3000), np.resize(special, 300)[::-3], np.resize(special, (30, 40)).T):
            options = {"options": {"cost_model": False}}
            function = lambda x: (np.round(x, places), x.round(places) + 1)  # noqa: E731
            require_equal(function, lambda: (x.copy(order="K"),), compile=dynamo_lite.compile, compile_options=options)  # noqa: B023


def test_round_of_more_axes_stays() -> None:
    """Its result has another layout than a ufunc's."""
    assert "round(" in decomposed(lambda x: np.round(x, 2), np.ones((3, 4, 2)).transpose(1, 0, 2))


@pytest.mark.parametrize("char", "?bhiBHI")
def test_the_cast_of_an_integer_sum_is_a_node(char: str) -> None:
    text = decomposed(lambda x: x.sum(), np.arange(20).astype(char))
    assert "positive(%x" in text and "reduce(%positive" in text


def test_the_cast_of_integers_to_bools_is_a_node() -> None:
    text = decomposed(lambda x: np.logical_and.reduce(x), np.arange(20))
    assert "not_equal(%x, 0)" in text and "reduce(%not_equal" in text


@pytest.mark.parametrize(
    ("function", "stores"),
    [
        (lambda x, k: np.array([x[2], x[0] * x[1], 2.5]), 3),
        (lambda x, k: np.array([k, 3, k + 1]), 3),
        (lambda x, k: np.array([x[0]]), 1),
        (lambda x, k: np.array([x[0], k]), 0),  # an int among floats: the cast is NumPy's
        (lambda x, k: np.array([[x[0], x[1]], [x[2], x[3]]]), 4),
        (lambda x, k: np.array([x * 2, x]), 2),
        (lambda x, k: np.array([[x, x + 1], [x > 1, x]]), 4),
    ],
)
def test_an_array_of_numbers_is_stored_item_by_item(function: Any, stores: int) -> None:
    arguments = (np.array([1.5, -0.0, np.nan, 4.0]), 7)
    graph = dynamo_lite.compile(function).graph_for(*arguments)
    after = clone(graph)
    assemble(after, Orders({}))
    verify(after)
    assert sum(node.kind is NodeKind.STORE for node in after.nodes) == stores
    assert ("array_of" in str(after)) == (stores == 0)
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(2):
        assert fast(*arguments).tobytes() == function(*arguments).tobytes()
    assert fast.stats()["native_calls"] == 2


@pytest.mark.parametrize("shift", [1, -1, 3, -3])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("shape", [(3,), (4,), (6,), (3, 4), (4, 3), (3, 1, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_roll_is_two_stores(shape: tuple[int, ...], axis: int, shift: int, order: Any) -> None:
    rolled = f"np.roll(x, {shift}, {axis})"  # an axis that is no constant breaks the graph
    function = eval(f"lambda x: ({rolled}, {rolled} + x)", {"np": np})
    x = np.arange(float(np.prod(shape))).reshape(shape, order=order)
    after = clone(dynamo_lite.compile(function).graph_for(x))
    decompose(after)
    verify(after)
    assert sum(node.kind is NodeKind.STORE for node in after.nodes) == 4 and "roll(" not in str(after)
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    wider = np.concatenate((x, x), axis)
    for one in (x, x, wider, np.asfortranarray(wider), x[..., :1], x[:0]):
        for found, expected in zip(fast(one), function(one), strict=True):
            assert found.tobytes() == expected.tobytes() and found.strides == expected.strides
    assert fast.stats()["native_calls"] >= 3


@pytest.mark.parametrize(("shape", "shift", "axis"), [((2, 3), 4, 1), ((2, 3), 7, None), ((2, 3), 0, None)])
def test_a_roll_around_more_than_once_is_numpys(shape: tuple[int, ...], shift: int, axis: int | None) -> None:
    function = eval(f"lambda x: np.roll(x, {shift}, {axis}) + x", {"np": np})
    after = clone(dynamo_lite.compile(function).graph_for(np.zeros(shape)))
    decompose(after)
    assert "roll(%x" in str(after)


def test_the_cast_of_a_float_sum_is_not() -> None:
    x = np.arange(20, dtype="f")
    assert "positive" not in decomposed(lambda x: x.sum(dtype=np.float64), x)
    assert "positive" not in decomposed(lambda x: x.sum(), x)


@pytest.mark.parametrize("char", ["d", "f"])
def test_a_cross_product_of_two_vectors_is_one_of_elements(char: str) -> None:
    x, y = np.array([1.5, -2.0, 0.25], char), np.array([0.5, 3.0, -1.0], char)
    assert "cross(" not in decomposed(lambda a, b: np.cross(a, b), x, y)
    assert "cross(" in decomposed(lambda a, b: np.cross(a, b), x.astype("i"), y.astype("i"))
    assert "cross(" in decomposed(lambda a, b: np.cross(a, b), x, y.astype("i"))


def _crossed(a: Any, b: Any) -> Any:
    return np.cross(a, b), np.cross(a, b) * 2.0 + a


def _crossed_in_place(a: Any, b: Any) -> Any:
    a[:] = np.cross(a, b)
    return a


def _crossed_often(a: Any, b: Any) -> Any:
    for _ in range(12):
        a = np.cross(a, b) + b
    return a, np.cross(b, a)


@pytest.mark.parametrize("function", [_crossed, _crossed_in_place, _crossed_often])
def test_cross_products_of_vectors(function: Any) -> None:
    def vectors(*parts: Any) -> Any:
        return lambda: tuple(np.array(part, "d") for part in parts)

    inf, nan = float("inf"), float("nan")
    require_equal(
        function,
        vectors([1.5, -2.0, 0.25], [0.5, 3.0, -1.0]),
        variants=[
            lambda: tuple(np.arange(12.0)[k::4][::-1] for k in (0, 2)),
            lambda: (np.arange(3.0, dtype="f"), np.arange(1.0, 4.0, dtype="f")),
            lambda: (np.arange(3), np.arange(1, 4)),
            lambda: (np.ones((2, 3)), np.arange(1.0, 4.0)),
            *(vectors([inf, 1, 2], [0, 1e308, 1e308]), vectors([nan, 1, 2], [-nan, -nan, 3])),
            *(vectors([0.0, -0.0, 0.0], [-0.0, -0.0, 1.0]), vectors([1e-200] * 3, [1e-200, 2e-200, 0.0])),
        ],
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1}},
    )


_CLOSE = np.array([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.1, np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, 1e-9])


@pytest.mark.parametrize("dtypes", ["dd", "fd", "df", "ff"])
def test_isclose(dtypes: str) -> None:
    x, y = (part.ravel() for part in np.meshgrid(_CLOSE, _CLOSE))
    with np.errstate(over="ignore"):
        x, y = x.astype(dtypes[0]), y.astype(dtypes[1])
        text = decomposed(lambda x, y: np.isclose(x, y), x, y)
        assert "isclose" not in text and "less_equal" in text
        assert "isclose" not in decomposed(lambda x, y: np.isclose(x, y, 0.1, 0.5, equal_nan=True), x, y)
        assert "isclose" not in decomposed(lambda x: np.isclose(x, 1), x)
    assert "isclose(" in decomposed(lambda x: np.isclose(x, np.inf), x)


def test_isclose_reports_what_numpy_does() -> None:
    def close(x: Any, y: Any) -> Any:
        return np.isclose(x, y), np.allclose(x, y), np.allclose(x, 0.0, atol=1e-3)

    arrays = [_CLOSE, np.array([1e308, 1.0]), np.array([np.nan, np.inf])]
    require_equal(
        close,
        lambda: (_CLOSE.copy(), _CLOSE[::-1].copy()),
        variants=[lambda one=one: (one.copy(), -one) for one in arrays],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1}},
        calls=2,
    )


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("divisor", [2, 4.0, -0.125, 2.0**90, 2.0**-90])
def test_a_quotient_by_a_power_of_two_is_a_product(divisor: float, dtype: str) -> None:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, np.nan, 1.0, limits.max, limits.tiny, 3 * limits.smallest_subnormal, 1 / 3]
    x = np.array([*special, *(-one for one in special)], dtype)
    with np.errstate(all="ignore"):
        text = decomposed(lambda x: x / divisor, x)
    assert "divide" not in text and f"multiply(%x, {1 / divisor})" in text
    fast = dynamo_lite.compile(lambda x: x / divisor, options={"cost_model": False})
    for one in x:  # each with its own flags
        for kind in ("over", "under", "invalid"):
            found = []
            for function in (fast, lambda x: x / divisor):
                with np.errstate(all="ignore", **{kind: "raise"}):
                    try:
                        found.append(function(np.full(9, one)).tobytes())
                    except FloatingPointError as error:
                        found.append(str(error).encode())
            assert found[0] == found[1], (one, kind)


@pytest.mark.parametrize("divisor", [3.0, 0.0, 2.0**300, np.inf, np.float64(2.0), True])
def test_other_quotients_stay(divisor: Any) -> None:
    with np.errstate(all="ignore"):
        assert "divide(" in decomposed(lambda x: x / divisor, np.arange(3.0))


def test_a_quotient_of_integers_stays() -> None:
    assert "divide(" in decomposed(lambda x: x / 2, np.arange(3))


@pytest.mark.parametrize("char", "bhilBHIL")
def test_an_integer_over_a_power_of_two_loses_bits(char: str) -> None:
    limits = np.iinfo(char)
    x = np.array([limits.min, limits.min + 1, 0, 1, 7, 8, 9, limits.max - 1, limits.max], char)
    text = decomposed(lambda x: (x // 8, x % 8, x // 1, x % 1, x // 64, x % 64), x)
    assert "floor_divide" not in text and "remainder" not in text
    assert "right_shift(%x, 3)" in text and "bitwise_and(%x, 7)" in text


@pytest.mark.parametrize("divisor", (3, -8, 0.5, 12))
def test_an_integer_over_another_number_is_divided(divisor: float) -> None:
    text = decomposed(lambda x: (x // divisor, x % divisor), np.arange(-20, 20))
    assert "floor_divide(" in text and "remainder(" in text


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("ufunc", (np.radians, np.degrees, np.deg2rad, np.rad2deg))
def test_an_angle_is_a_product(ufunc: np.ufunc, char: str) -> None:
    x = np.concatenate([np.linspace(-720.0, 720.0, 1001), [0.0, -0.0, np.inf, np.nan, 1e-30]]).astype(char)
    text = decomposed(lambda x: ufunc(x), x)
    assert "multiply(" in text and ufunc.__name__ + "(" not in text


def test_an_angle_of_integers_stays() -> None:
    assert "radians(" in decomposed(lambda x: np.radians(x), np.arange(5))


def keys_of(char: str) -> Any:
    keys = np.concatenate([np.arange(-3, 12) * (0.5 if char in "fde" else 1), np.arange(200) % 11]).astype(char)
    if char in "fde":
        keys[7::40] = np.nan
    return keys


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("keys", "bBhlLefd")
@pytest.mark.parametrize("vector", "bBilLefd")
def test_places_of_keys_of_another_type(vector: str, keys: str, side: Any) -> None:
    def places(a: Any, x: Any) -> Any:
        return np.searchsorted(a, x, side), a.searchsorted(x[::-2], side=side), np.searchsorted(a, x.reshape(5, -1))

    arguments = np.arange(1, 9, dtype=vector), keys_of(keys)
    text = decomposed(places, *arguments)
    assert ("astype" in text) == (np.dtype(vector) != np.dtype(keys))
    require_equal(places, lambda: arguments, compile=dynamo_lite.compile)


def test_a_number_and_a_scalar_are_left_to_the_search() -> None:
    text = decomposed(lambda a, x: (np.searchsorted(a, 2), np.searchsorted(a, x[0])), np.arange(4.0), np.ones(3, "f"))
    assert "astype" not in text


def test_numbers_are_classed_by_edges_of_another_type() -> None:
    fast = dynamo_lite.compile(lambda x: np.digitize(x * x, [-0.5, 0.0, 0.2, 0.5]), fullgraph=True)
    x = np.linspace(-1.0, 1.0, 10_001, dtype="f")
    for _ in range(2):
        assert np.array_equal(fast(x), np.digitize(x * x, [-0.5, 0.0, 0.2, 0.5]))
    assert fast.stats()["native_calls"] == 2


@pytest.mark.parametrize("shape", [(20, 1, 24), (1, 5, 3), (4, 5, 1), (2, 1, 3, 1), (1, 7), (7, 1), (3, 4)])
def test_choices_lie_as_what_they_stand_for_along_axes_of_one_element(shape: tuple[int, ...]) -> None:
    """np.where puts such axes elsewhere than a ufunc or a copy does."""
    x = np.random.default_rng(1).normal(size=shape)
    wide, options = np.repeat(np.repeat(x, 2, 0), 2, -1), {"options": {"cost_model": False}}
    behind = np.moveaxis(np.moveaxis(x, -1, 0).copy(), 0, -1)
    for value in (np.asfortranarray(x), x.T.copy().T, behind, wide[::2, ..., ::2], wide.T.copy().T[::2, ..., ::2], x):
        for function in (lambda x: np.clip(x, 0, 1), lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x + 1) * 2):
            require_equal(function, copies_of(value), compile=dynamo_lite.compile, compile_options=options)

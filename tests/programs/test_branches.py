"""Branches on data outside of loops: which of them stay in one graph, and that nothing differs from plain Python."""

# ruff: noqa: SIM108, SIM110, B007, C419 - they are what is tested

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.policy import ARMS
from dynamo_lite.schedule.straight import routine_of
from tests.conftest import BACKENDS
from tests.oracle import require_equal

OPTIONS = {"check": 1, "cost_model": False, "recompile_limit": 100}
Array = Any
ONE, BROKEN = True, False
ONE_UP_TO_3_13 = sys.version_info < (3, 14)  # any() of a generator expression: later a loop of the compiler's
CASES: list[tuple[Callable[..., Any], bool]] = []


def case(one_graph: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of two arrays and two numbers, and whether it becomes one graph."""

    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((fn, one_graph))
        return fn

    return add


def arguments(scale: float, size: int = 6) -> tuple[Any, ...]:
    values = np.random.default_rng(size).normal(size=(2, size))
    return values[0] * scale, values[1], int("7000"), float("2.5")


# -- where the ways go -----------------------------------------------------------------------------


@case(ONE)
def one_side(x: Array, y: Array, k: int, f: float) -> Any:
    z = x * 2.0 + 1.0
    if z.sum() > 0:
        z = z - y
    return z * x


@case(ONE)
def two_sides(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > y.sum():
        z = x * 2.0
    else:
        z = y + 1.0
    return z * z


@case(ONE)
def chain(x: Array, y: Array, k: int, f: float) -> Any:
    s = x.max()
    if s < 0:
        z = x - 1.0
    elif s < 1:
        z = x + 1.0
    elif s < 2:
        z = x * 2.0
    else:
        z = x * x
    return z + 1.0


@case(ONE)
def early_return(x: Array, y: Array, k: int, f: float) -> Any:
    n = np.sqrt((x * x).sum())
    if n < 1.0:
        return x * 0.0
    return x / n


@case(ONE)
def nested(x: Array, y: Array, k: int, f: float) -> Any:
    a, b = x[0], y[1]
    if a < b:
        if a < 0:
            c = a * b
        else:
            c = a - b
    else:
        c = a + b
    return x * c


@case(ONE)
def of_parts(x: Array, y: Array, k: int, f: float) -> Any:
    if (x[0] > 0 and y[1] < 1) or not x[2] > 0.5:
        return x + 1.0
    return x - y


@case(ONE)
def expressions(x: Array, y: Array, k: int, f: float) -> Any:
    high = x[0] if x[0] > x[1] else x[1]
    low = x[2] if x[2] < 0.0 else 0.0
    return (x - low) * high


def sign(d: Any) -> float:
    if d > 0:
        return 1.0
    return -1.0


def clipped(v: Array) -> Any:
    if v[0] < 0:
        return v
    return v * 0.5


@case(ONE)
def in_functions(x: Array, y: Array, k: int, f: float) -> Any:
    return x * sign(x.sum()) + sign(y[0]), clipped(x)


@case(ONE)
def a_way_that_raises(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > 0:
        if y[0] + x[0] > 2:
            raise ValueError("too large")
        return x * 2
    return y


@case(BROKEN)
def a_way_that_prints(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > 0:
        print("positive", x.shape[0])
        x = x * 2.0
    return x + y


@case(BROKEN)
def a_way_with_a_loop(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > 0:
        for i in range(x.shape[0]):
            x = x + i
    return x * 2


@case(BROKEN)
def a_way_with_a_handler(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > 0:
        try:
            x = x + y[: k // 1000]
        except ValueError:
            x = y
    return x * 2


@case(BROKEN)
def a_way_that_assigns(x: Array, y: Array, k: int, f: float) -> Any:
    if x.sum() > 0:
        only = y * 2.0
    return only + x  # which raises on the other way


# -- what they leave -------------------------------------------------------------------------------


@case(ONE)
def the_argument_itself(x: Array, y: Array, k: int, f: float) -> Any:
    z = x
    if x[0] > 0:
        z = y
    return z, x


@case(ONE)
def an_argument_or_a_new_array(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        return x
    return x * 2.0


@case(ONE)
def a_view_or_a_new_array(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        z = x[::-1]
    else:
        z = y + 1.0
    return z, z.sum()


@case(ONE)
def written_behind(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        z = x
    else:
        z = y * 1.0
    z[1] = 9.0
    return z + x


@case(BROKEN)
def of_two_shapes(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        z = x[1:]
    else:
        z = y
    return z + 1.0


@case(ONE)
def of_two_orders(x: Array, y: Array, k: int, f: float) -> Any:
    a, b = x.reshape(2, -1), y.reshape(-1, 2)
    if x[0] > 0:
        z = a * 2.0
    else:
        z = b.T * 2.0
    return z, z + a


@case(BROKEN)
def of_two_types(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        z = x > 0
    else:
        z = y
    return z * 2


@case(ONE)
def numbers(x: Array, y: Array, k: int, f: float) -> Any:
    a, b, c = k, 1, 0.5
    if x[0] > 0:
        a, b, c = k + 1, 1000, f
    return a, b, c, k, f


@case(ONE)
def the_same_number_anew(x: Array, y: Array, k: int, f: float) -> Any:
    a, b = k, f
    if x[0] > 0:
        a, b = k + 0, f * 1.0
    return a, b, k, f


@case(ONE)
def a_number_or_a_scalar(x: Array, y: Array, k: int, f: float) -> Any:
    r = x[0] / y[0]
    if r <= 0:
        return 0.0
    elif r < 1:
        return r
    return 2 * r / (1 + r)


@case(ONE)
def works_on_either(x: Array, y: Array, k: int, f: float) -> Any:
    best = 0
    if x[0] > 0:
        best = x[0]
    return best * 2 + 1, best


@case(ONE)
def nothing_or_a_scalar(x: Array, y: Array, k: int, f: float) -> Any:
    found = None
    if x[0] > 0:
        found = y[1] * 2
    if found is None:
        return x
    return x + found


@case(ONE)
def nothing_or_an_array(x: Array, y: Array, k: int, f: float) -> Any:
    s = x.sum()
    if s <= 0:
        return None
    return x / s


@case(ONE)
def an_array_where_there_is_one(x: Array, y: Array, k: int, f: float) -> Any:
    z = None
    if x[0] > 0:
        z = x * y
    if z is not None:
        y = y + z
    return y, z


@case(ONE)
def read_as_numbers(x: Array, y: Array, k: int, f: float) -> Any:
    a = float(x[0])
    if a > f or a < -0.5:
        a = a * 0.5
    return a, int(k) + 1


@case(ONE)
def tuples(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        return x, y * 2.0
    return x * 2.0, y


@case(BROKEN)
def one_tuple(x: Array, y: Array, k: int, f: float) -> Any:
    pair = x, k
    other = pair
    if x[0] > 0:
        other = (x, 1)
    return pair, other


@case(BROKEN)
def two_names_on_one_way(x: Array, y: Array, k: int, f: float) -> Any:
    a, b = 0.5, 1.5
    if x[0] > 0:
        a = b = f * 3.0
    return a, b


# -- what they do ----------------------------------------------------------------------------------


@case(ONE)
def stores(x: Array, y: Array, k: int, f: float) -> Any:
    y[:] = x * 2.0
    if x[0] > 0:
        y[0] = 0.0
    else:
        y[-1] = 1.0
        x += y
    return y


@case(ONE)
def warns_on_one_way(x: Array, y: Array, k: int, f: float) -> Any:
    y[0] = 5.0
    z = x * 2.0
    if x[0] > 0:
        y[1] = 7.0
        z = x / (y - y)
    else:
        z[0] = 1.0
    return z + y


@case(ONE)
def warns_for_nothing(x: Array, y: Array, k: int, f: float) -> Any:
    if x[0] > 0:
        x.max() / 0.0
    return y * 2.0


@case(ONE)
def raises_on_one_way(x: Array, y: Array, k: int, f: float) -> Any:
    y[0] = 5.0
    if x[0] > 0:
        return y + f / float(y[1] - y[1])
    return y


@case(BROKEN)
def appends(x: Array, y: Array, k: int, f: float) -> Any:
    found = [x]
    if x[0] > 0:
        found.append(y)
    return found


# -- in loops that are unrolled --------------------------------------------------------------------


@case(ONE)
def in_each_round(x: Array, y: Array, k: int, f: float) -> Any:
    s = 0.0
    for one, by in ((x, 1), (y, 2)):
        b = one @ y
        if b > 1.0:
            s = s + b * by
    return s


@case(ONE)
def the_least_and_its_place(x: Array, y: Array, k: int, f: float) -> Any:
    least, place = f, -1
    for i, one in enumerate([x, y]):
        d = one - 1.0
        b = d @ d
        if b < 100.0:
            near, far = np.sqrt(b) - 1.0, np.sqrt(b) + 1.0
            if near < least and near > 0.1:
                least, place = near, i
            elif far < least:
                least, place = far, i
    return least, place, x * least


@case(ONE)
def goes_on_at_once(x: Array, y: Array, k: int, f: float) -> Any:
    z = x * 0.0
    for one in (x, y):
        if one.sum() < 0.0:
            continue
        z = z + one
        z[0] = 1.0
    return z


@case(ONE)
def in_loops_in_loops(x: Array, y: Array, k: int, f: float) -> Any:
    z = x + y
    for one in (x, y):
        for by in {"a": 1.0, "b": -2.0}.values():
            if (one * by)[0] > 0.0:
                z = z * by
        if z[1] > 0.0:
            z = z - one
    return z


@case(ONE)
def leaves_the_loop(x: Array, y: Array, k: int, f: float) -> Any:
    z = x
    for one in (x, y):
        if one.sum() < 0.0:
            z = z + one
            break
        z = z * 2.0
    return z


@case(ONE)
def returns_from_the_loop(x: Array, y: Array, k: int, f: float) -> Any:
    for one, least in ((x, 0.5), (y, f), (x * y, 0.25)):
        if np.linalg.norm(one) < least:
            return True
    return False


@case(ONE)
def leaves_the_loop_or_not(x: Array, y: Array, k: int, f: float) -> Any:
    z = x * 2.0
    for i, one in enumerate((x, y)):
        if one.sum() < 0.0:
            z = z + one
            if one[0] > 0.0:
                break
        z = z * 2.0
    else:
        i = -1
    return z, i


@case(ONE_UP_TO_3_13)
def any_and_all(x: Array, y: Array, k: int, f: float) -> Any:
    return any(np.linalg.norm(one) < f for one in (x, y)), all(one[0] > 0.0 for one in (x, y, x + y))


@case(ONE)
def any_and_all_of_lists(x: Array, y: Array, k: int, f: float) -> Any:
    return any([np.linalg.norm(one) < f for one in (x, y)]), all((x[0] > 0, y[0] > 0, x[1] < y[1]))


@case(BROKEN)
def any_of_an_iterator_that_is_kept(x: Array, y: Array, k: int, f: float) -> Any:
    them = iter((x[0] > 0, y[0] > 0, x[1] > 0))
    return any(them), [bool(one) for one in them]


@case(BROKEN)
def an_iterator_that_is_kept(x: Array, y: Array, k: int, f: float) -> Any:
    them = iter((x, y, x * 2.0))
    for one in them:
        if one.sum() < 0.0:
            break
    return [other * 3.0 for other in them]


def up_to_a_negative(them: Any, gives_up: bool) -> Any:
    for one in them:
        if one.sum() < 0.0:
            return them
    return None if gives_up else them


@case(BROKEN)
def an_iterator_that_a_function_returns(x: Array, y: Array, k: int, f: float) -> Any:
    left, others = up_to_a_negative(iter((x, y, x * 2.0)), False), up_to_a_negative(iter((y, x, y)), True)
    return [one * 3.0 for one in left], others is None or [one * 2.0 for one in others]


@case(BROKEN)
def an_iterator_under_another_one(x: Array, y: Array, k: int, f: float) -> Any:
    them = iter([x, y, x * 2.0, y * 2.0, x])
    for one, other in zip(them, them, strict=False):
        if one.sum() > other.sum():
            break
    return [left * 1.0 for left in them]


@case(BROKEN)
def an_iterator_that_an_object_and_a_function_have(x: Array, y: Array, k: int, f: float) -> Any:
    holder, them = types.SimpleNamespace(), iter((x, y, x * 2.0, y))
    holder.them = iter((y, x, y))

    def left() -> Any:
        return [one[0] for one in them]

    for one in them:
        if one[0] > 0.0:
            break
    for one in holder.them:
        if one[0] > 0.0:
            break
    return left(), [one[0] for one in holder.them]


@case(BROKEN)
def unpacks_on_one_way(x: Array, y: Array, k: int, f: float) -> Any:
    z, others = x, iter([x, y, x])
    for one in others:
        if one.sum() < 0.0:
            z = z + next(others, x)
        z = z * 2.0
    return z


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn, one_graph", CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_branches(fn: Callable[..., Any], one_graph: bool, backend: str) -> None:
    first, *rest = [lambda scale=scale: arguments(scale) for scale in (1.0, -1.0, 3.0, -3.0, 0.01, 1.0)]
    compile_options = {"backend": backend, "options": OPTIONS}
    report = require_equal(fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=compile_options)
    if _C.get_stress():
        return
    explanation = report.compiled.explain()
    assert not explanation.breaks if one_graph else explanation.breaks, explanation
    assert report.stats["native_calls"]
    kinds = [node.kind for one in report.compiled._compilation.segments for node in one.capture.graph.nodes]
    assert NodeKind.COND in kinds or not one_graph


# -- what stays a break ----------------------------------------------------------------------------


def breaks_of(fn: Callable[..., Any], *args: Any, **options: Any) -> int:
    fast: Any = dynamo_lite.compile(fn, options={**OPTIONS, **options})
    fast(*args)
    return len(fast.explain().breaks)


@pytest.mark.usefixtures("no_mode")
def test_big_arrays_keep_the_break() -> None:
    assert breaks_of(two_sides, *arguments(1.0, ARMS.elements)) == 0
    assert breaks_of(two_sides, *arguments(1.0, ARMS.elements + 1)) == 1
    fast: Any = dynamo_lite.compile(two_sides, options=OPTIONS)
    for size in (8, ARMS.elements + 8):
        args = arguments(1.0, size)
        assert fast(*args).tobytes() == two_sides(*args).tobytes()
    assert len(fast.explain().breaks) == 1  # of the version for big arrays


@pytest.mark.usefixtures("no_mode")
def test_long_arms_keep_the_break() -> None:
    def function(count: int) -> Callable[..., Any]:
        arm = "; ".join(["z = z * 2.0 + x"] * count)
        namespace: dict[str, Any] = {}
        lines = "z = x", "if x.sum() > 0:", f"    {arm}", "else:", f"    {arm}", "return z"
        exec("\n    ".join(["def f(x):", *lines]), namespace)
        made: Callable[..., Any] = namespace["f"]
        return made

    x = np.ones(5)
    assert breaks_of(function(2), x) == 0
    assert breaks_of(function(ARMS.shorter), x) == 1


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("count, stays", [(4, True), (6, False)])
def test_loops_of_many_rounds_keep_the_break(count: int, stays: bool) -> None:
    def pairs(balls: list[dict[str, Any]]) -> Any:
        near = 0.0
        for one in balls:
            for other in balls:
                d = one["at"] - other["at"]
                if d @ d < 1.0:
                    near = near + d[0]
        return near

    balls = [{"at": np.ones(2) * place} for place in range(count)]
    fast: Any = dynamo_lite.compile(pairs, options=OPTIONS)
    assert fast(balls) == pairs(balls)
    kinds = [node.kind for one in fast._compilation.segments for node in one.capture.graph.nodes]
    assert (NodeKind.COND in kinds) == stays == (not fast.explain().breaks)


@pytest.mark.usefixtures("no_mode")
def test_the_option_keeps_all_breaks() -> None:
    assert breaks_of(one_side, *arguments(1.0), native_branches=False) == 1


@pytest.mark.usefixtures("no_mode")
def test_a_break_in_any_is_said_of_the_users_code() -> None:
    def some(x: Array) -> bool:
        return any([x[0] > 1.0, x[1] > 1.0])

    fast: Any = dynamo_lite.compile(lambda x: some(x), options={**OPTIONS, "native_branches": False})
    fast(np.ones(3))
    found = [one.message for one in fast.explain().breaks]
    assert "(in some, called here, " in found[0] and "any_of" not in str(found)


@pytest.mark.usefixtures("no_mode")
def test_what_is_certain_to_raise_shows_all_locals() -> None:
    def raises(x: Array) -> Any:
        unread = 1
        if x[0] > 0:
            unread = 2  # noqa: F841
        return x + x[:2]

    fast: Any = dynamo_lite.compile(raises, options=OPTIONS)
    with pytest.raises(ValueError) as found:
        fast(np.ones(3))
    frame = found.tb
    while frame.tb_next is not None:
        frame = frame.tb_next
    assert frame.tb_frame.f_locals["unread"] == 2


@pytest.mark.usefixtures("no_mode")
def test_scalars_are_one_call_of_machine_code() -> None:
    def turn(p: Array, q: Array) -> int:
        d = p[0] * q[1] - p[1] * q[0]
        if d > 0:
            return 1
        if d < 0:
            return -1
        return 0

    fast: Any = dynamo_lite.compile(turn, options={"cost_model": False})
    for p, q in ((1, 2), (2, 1), (1, 1)):
        args = np.array([1.0, p]), np.array([1.0, q])
        assert fast(*args) == turn(*args)
    (segment,) = fast._compilation.segments
    assert routine_of(segment.program.schedule) is not None


@pytest.mark.parametrize("chars", ["QQ", "qq", "lq", "LQ", "QL"])
def test_the_arms_are_arrays_of_a_dtype_that_graphs_do_not_compute_with(chars: str, backend: str) -> None:
    def either(x: Array, y: Array) -> Array:
        z = sum([y, y])
        if (x > 0).all():
            z = x
        return z, x

    def make(least: int) -> tuple[Array, ...]:
        return np.arange(least, least + 4).astype(chars[0]), np.arange(4).astype(chars[1])

    options = {"compile": dynamo_lite.compile, "compile_options": {"backend": backend, "options": OPTIONS}}
    variants = [lambda least=least: make(least) for least in (0, 1, 0)]
    report = require_equal(either, lambda: make(1), variants=variants, **options)
    for least in (0, 1):
        found, plain = report.compiled(*make(least))[0], either(*make(least))[0]
        assert found.dtype.char == plain.dtype.char

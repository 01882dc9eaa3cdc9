"""Arrays that are put together of parts: the lines of the docstring, and that results keep bits, strides and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.lower.assemble import assemble
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.orders import Orders
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
MOVES = ("concatenate(", "pad(", "insert(", "delete(", "repeat(", "tile(", "array_of(", "stack(", "ravel(")


def compiled(expression: str, **names: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = eval(f"lambda u, v: {expression}", {"np": np, **names})
    return function


def looped(statements: str) -> Callable[..., Any]:
    """A loop over statements that carry u."""
    lines = [f"        {line}" for line in statements.split("; ")]
    text = "\n".join(["def loop(u, v):", "    for _ in range(5):", *lines, "    return u"])
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    return names["loop"]  # type: ignore[no-any-return]


def straight(statements: str) -> Callable[..., Any]:
    """A function of two arrays, of which it stores into the second, that gives r."""
    lines = [f"    {line}" for line in statements.split("; ")]
    names: dict[str, Any] = {"np": np}
    exec("\n".join(["def straight(u, z):", *lines, "    return r"]), names)
    return names["straight"]  # type: ignore[no-any-return]


VECTORS = [
    "np.concatenate((u, v))",
    "np.concatenate((u[1:], u[:1])) * 0.5 + u",
    "np.concatenate((v[::-1], u, u[:0], v[::2]))",
    "np.hstack((u, v, u))[1:-1] * 2",
    "np.hstack((0.0, u[:-1], 1)) + 1",
    "np.r_[u[1:], u[0], 2.5, 3]",
    "np.append(u, v)",
    "np.append(u[1:], u[0] * 0.5)",
    "np.append(u, 2)",
    "np.append(u.astype('i4'), u)",
    "np.insert(u, 0, 0.5)",
    "np.insert(u, -1, 3)",
    "np.insert(u, 1, v)",
    "np.insert(u, 2, v[:1])",
    "np.delete(u, 0)",
    "np.delete(u, -1) + 1",
    "np.delete(u, 1)",
    "np.diff(u, prepend=u[0])",
    "np.diff(u, prepend=0.0, append=v)",
    "np.diff(u, n=2, prepend=u[:1], append=u[-1])",
    *(f"np.pad(u, {width}, mode={mode!r})" for width in ("1", "(0, 2)", "((3, 1),)") for mode in
      ("constant", "edge", "wrap", "reflect", "symmetric")),
    "np.pad(u, 1, constant_values=2.5)[1:-1] + u",
    "np.pad(u.astype('f4'), (2, 1), constant_values=0.1)",
    "np.pad(u, 1, constant_values=-0.0)",
    "np.pad(u, 1, constant_values=np.nan)",
    "np.pad(u, 1, constant_values=(2.5,)) * 2",
    "np.pad(u, ((1, 2),), 'constant', constant_values=((0, 0),))",
    "np.pad(u.astype('i4'), 1, constant_values=7)",
    "np.repeat(u, 2)",
    "np.repeat(u[::-1], 3) * 2",
    "u.repeat(1)",
    "np.repeat(u, 0)",
    "np.repeat(u, 9)",
    "np.tile(u, 2)",
    "np.tile(u, 3) * 0.5",
    "np.tile(u, (2, 1))",
    "np.tile(u, (1, 2))",
    "np.tile(u, (3, 1, 1)) + v[:1]",
    "np.tile(u, 1)",
    "np.tile(u, 0)",
]  # fmt: skip

MATRICES = [
    "np.concatenate((u, v))",
    "np.concatenate((u, v), axis=1)",
    "np.vstack((u[-1:], u, u[:1]))[1:-1] * 2",
    "np.hstack((u[:, -1:], u, u[:, :1])) + 1",
    "np.concatenate((u, v.T.copy().T), axis=0)",
    "np.concatenate((u[::2], v[::-1], u[:, ::-1]))",
    "np.column_stack((u, u[:, 0]))",
    "np.concatenate((u[:, :1], v[:, :1]), axis=1)",
    "np.concatenate((u + v, u - v), axis=-1)",
    "np.concatenate((u.astype('f4'), v))",
    *(f"np.pad(u, {width}, mode={mode!r})" for width in ("1", "((1, 0), (0, 2))", "((0, 0), (1, 1))") for mode in
      ("constant", "edge", "wrap", "reflect", "symmetric")),
    "np.pad(u * 2.0, 1, constant_values=0.5)[1:, :-1] - 1",
    "np.pad(np.pad(u, 1, mode='edge')[2:, 1:-1] + v[:, :], 1)",
    "np.pad(np.pad(u, ((1, 0), (0, 2)))[1:] * 2.0, 1, mode='wrap') + 0.5",
    "np.repeat(u, 2, axis=0)",
    "np.repeat(u, 2, axis=1) * 0.5",
    "np.repeat(np.repeat(u, 2, axis=0), 2, axis=1)",
    "np.repeat(u, 2)",
    "np.tile(u, (2, 1))",
    "np.concatenate((u[..., None], v[:, :, None]), axis=-1)",
    "np.concatenate([x[..., np.newaxis] for x in (u * 2.0, u + v, v)], axis=2)",
    "np.concatenate((u[:, None, :], v[:, None]), axis=1) * 2",
    "np.concatenate((u[:, 0][:, None], v[:, 1:2] if v.shape[1] > 1 else v), axis=1)",
    "np.concatenate((u[:, 0][:, None], u[:, -1][:, None] + 1, v[:, 0][:, None]), axis=1)",
    "np.concatenate((u[:, 0][None, :], v[:, 0][None] * 2))",
    "np.dstack((u, v))",
    "np.stack((u.copy(), v.copy() + 1), axis=-1)",
]  # fmt: skip


def vectors() -> Iterator[tuple[Any, Any]]:
    random = np.random.default_rng(3)
    for size, other in ((7, 7), (400, 3), (2, 2), (1, 2), (3, 1), (0, 3), (4, 0), (12, 5)):
        yield random.random(size) - 0.5, random.random(other)
    base = random.random(60)
    yield base[::2], base[1::3][::-1]  # of one array
    yield base[40::-2], base[:7]
    yield base[:9].astype("f4"), base[:5].astype("f4")
    yield (base[:9] * 9).astype("i4"), (base[:5] * 9).astype("i2")
    yield base[:9] > 0.5, base[:5] > 0.5
    yield base[:9] * (1 + 2j), base[:5] * 1j
    yield base[:9].astype("f2"), base[:5].astype("f2")
    yield np.array([np.nan, -0.0, np.inf, 1.0]), np.array([-np.nan, 5e-324])


def matrices() -> Iterator[tuple[Any, Any]]:
    random = np.random.default_rng(4)
    for shape in ((5, 5), (20, 20), (3, 2), (2, 2), (1, 4), (4, 1), (0, 3), (3, 0)):
        one, other = random.random((2, *shape))
        yield one, other
        yield np.asfortranarray(one), np.asfortranarray(other)
        yield one, np.asfortranarray(other)
    wide = random.random((12, 14))
    yield wide[::2, 1:7], wide[6:, 7:13]
    yield wide.T[1:7, ::2], wide.T[:6, :6]
    yield wide[::-1, :12], wide[:, 11::-1]
    yield np.broadcast_to(wide[0, :5], (5, 5)), wide[:5, :5]
    yield (wide[:5, :5] * 9).astype("i4"), wide[:5, :5].astype("f4")
    yield wide[:5, :5] * 1j, wide[:5, :5]


@pytest.mark.parametrize("expression", VECTORS)
def test_vectors_keep_bits_and_strides(expression: str) -> None:
    for u, v in vectors():
        require_equal(compiled(expression), copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("expression", MATRICES)
def test_matrices_keep_bits_and_strides(expression: str) -> None:
    for u, v in matrices():
        require_equal(compiled(expression), copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


LOOPS = [
    "u = np.concatenate((u[1:], u[:1]))",
    "u = np.append(u[1:], u[0] * 0.5)",
    "u = np.append(np.delete(u, 0), v[0])",
    "u = np.insert(u[:-1], 0, 0.5)",
    "u = np.hstack((0.0, u[:-1])) * 0.5 + u",
    "p = np.concatenate((u[-1:], u, u[:1])); u = u + 0.1 * (p[:-2] - 2 * u + p[2:])",
    *(f"p = np.pad(u, 1, mode={mode!r}); u = u + 0.1 * (p[:-2] - 2 * u + p[2:])" for mode in
      ("constant", "edge", "wrap", "reflect", "symmetric")),
    "u = u + 0.1 * np.diff(u, prepend=u[0])",
    "u = u - 0.1 * np.diff(u, n=2, prepend=v[0], append=u[-1])",
    "u = np.repeat(u, 2)[: u.size] + u",
    "u = np.tile(u, 2)[1 : u.size + 1] - u",
    "v = np.concatenate((u, v))[: v.size]; u = u * 0.5",
    "v[:] = 0.5; p = np.append(u, v); u[0] = p[-1]; u = u + p[: u.size]; u[-1:] = p[:1]",
    "p = np.pad(u, 2); u[1:] = p[2 : u.size + 1]; v += 1",
    "p = np.concatenate((u, v)); u = p[: u.size] + p[v.size :]",
    "q = np.concatenate((u, v, u)); r = np.concatenate((q, q[::-1])); u = r[3 : 3 + u.size] * 0.5",
]  # fmt: skip

MATRIX_LOOPS = [
    "p = np.vstack((u[-1:], u, u[:1])); u = u + 0.1 * (p[:-2] + p[2:] - 2 * u)",
    "p = np.concatenate((u[:, -1:], u, u[:, :1]), axis=1); u = u + 0.1 * (p[:, :-2] + p[:, 2:] - 2 * u)",
    *(f"p = np.pad(u, 1, mode={mode!r}); "
      "u = u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)" for mode in
      ("constant", "edge", "wrap", "reflect", "symmetric")),
    "u = np.vstack((u[1:], v[:1])) * 0.5",
    "u = np.repeat(u[::2], 2, axis=0)[: u.shape[0]] * 0.5",
    "u = np.concatenate((u[1:], u[:1]))",
    "u = 0.5 * (u + np.roll(u, 1))",
    "u = u + np.roll(u.ravel(), 1).reshape(u.shape) - np.roll(u.reshape(-1), -2).reshape(u.shape)",
    "q = u.reshape(-1); v = v + 1; q[:2] += 1.0; u = u + np.tile(q, 2)[: q.size].reshape(u.shape)",
    "u = np.ravel(u).reshape(u.shape[1], u.shape[0]).T * 0.5",
    "p = np.pad(u, 1, mode='edge'); p[1:] = p[:-1] * 0.5; p[:, 1:] += p[:, :-1]; u = p[1:-1, 1:-1]",
    "u[1:] = u[:-1] * 0.5; u[:, 1:] += u[:, :-1]; u = u + np.roll(u, -3)",
    "u = 0.5 * (np.roll(u, 1, 0) + np.roll(u, -1, 1))",
]  # fmt: skip


@pytest.mark.parametrize("statements", LOOPS)
def test_vectors_in_loops(statements: str) -> None:
    for u, v in vectors():
        require_equal(looped(statements), copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("statements", MATRIX_LOOPS)
def test_matrices_in_loops(statements: str) -> None:
    for u, v in matrices():
        require_equal(looped(statements), copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("statements", [*LOOPS, *MATRIX_LOOPS])
def test_loops_over_long_arrays_run_step_by_step(statements: str) -> None:
    shape = (300, 200) if statements in MATRIX_LOOPS else (60_000,)
    u, v = np.random.default_rng(5).random((2, *shape))
    for arguments in ((u, v), (u[:5], v), (u, v[:5])):
        if statements in MATRIX_LOOPS and arguments[0].shape != arguments[1].shape:
            continue
        require_equal(looped(statements), copies_of(*arguments), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("size", [32765, 32766, 32767, 32768, 32769])
@pytest.mark.parametrize("statements", [LOOPS[5], LOOPS[-1]])
def test_loops_near_the_longest_vector_of_machine_code(statements: str, size: int) -> None:
    u, v = np.random.default_rng(6).random((2, size))
    fast = dynamo_lite.compile(looped(statements), options={"cost_model": False})
    for _ in range(3):
        assert fast(u, v).tobytes() == looped(statements)(u, v).tobytes()
    assert fast.stats()["declines"] == 0 and fast.stats()["native_calls"] == 3


@pytest.mark.parametrize("expression", VECTORS)
def test_nothing_of_numpy_is_called(expression: str) -> None:
    if any(one in expression for one in (", 9)", ", 0)", "(1, 2)", "np.tile(u, 1)", "np.nan")):
        return
    u, v = np.random.default_rng(3).random((2, 12))
    function = compiled(expression)
    graph = lower(dynamo_lite.compile(function).graph_for(u, v), (u, v))
    assert not any(one in str(graph) for one in MOVES), str(graph)


@pytest.mark.parametrize("expression", [one for one in MATRICES if ".T" not in one and "tile" not in one])
def test_nothing_of_numpy_is_called_for_matrices(expression: str) -> None:
    u, v = np.random.default_rng(3).random((2, 12, 12))
    function = compiled(expression)
    graph = lower(dynamo_lite.compile(function).graph_for(u, v), (u, v))
    moves = [one for one in MOVES if one in str(graph)]
    assert moves == (["repeat("] if expression == "np.repeat(u, 2)" else [])


ROLLED_FLAT = [
    "np.concatenate((np.roll(u, 1)[1:] * 0.5 - v[:-1], u[:1]))",
    "np.concatenate((np.roll(u, -2), u), axis=1)",
    "np.concatenate((np.roll(u, 1) + np.roll(v, 2), np.roll(u, 1)))",
    "np.pad(np.roll(u, 1) * 2.0, 1)",
    "np.pad(np.roll(u, 1) + v, 1, 'edge')",
    "np.stack((np.roll(u, 1), v + 1.0))",
    "np.roll(np.roll(u, 1) * 2.0, 1, axis=0) + v[0]",
    "np.roll(np.roll(u, 1) + v, -1, axis=1) * 0.5",
    "np.roll(np.roll(u, 1, axis=0), 1) + u[0]",
    "np.empty_like(np.roll(u, 1)) is None or np.roll(u, 1) + 1.0",
]


@pytest.mark.parametrize("expression", ROLLED_FLAT)
def test_a_roll_along_no_axis_lies_in_c_order(expression: str) -> None:
    u, v = np.random.default_rng(7).random((2, 7, 7))
    for arguments in ((u, v), (u.T, v.T), (u.T, v), (u, v.T), (np.asfortranarray(u)[1:6], v.T[1:6])):
        for function in (compiled(expression), looped(f"r = {expression}; u = u + r[:1, :1]; v = v * 0.5")):
            made = copies_of(*arguments)
            require_equal(function, made, compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize(
    "expression",
    [
        "np.concatenate((v[:, -2:], u[:, 2:] * -1.0), axis=1)",
        "np.concatenate((u, u[k:] * 2.0))",
        "np.concatenate((u[:, k:] + v[:, k:], v[:, :2]), axis=1)",
        "np.concatenate((np.roll(u[k:], 1, axis=0), u))",
        "np.pad(u[k:] * 2.0, 1)",
        "np.concatenate((u[:, :0], v[:, :1]), axis=1)",
        "np.concatenate((u[1:-1], v[1:]))",
    ],
)
def test_what_is_computed_without_elements_lies_in_c_order(expression: str) -> None:
    function = eval(f"lambda u, v, k: {expression}", {"np": np})
    u, v = np.random.default_rng(8).random((2, 7, 7))
    for size in (7, 2):
        a, b = u[:size, :size], v[:size, :size]
        for arguments in ((a, b), (a.T, b.T), (a.T, b), (np.asfortranarray(a), np.asfortranarray(b))):
            made = [copies_of(*arguments, k) for k in (1, size, 2)]
            require_equal(function, made[0], variants=made[1:], compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize(
    "expression",
    [
        "np.concatenate((u[:, :1] * v[:1], u))",
        "np.concatenate((u[:3, :1] * v[:1, :3], u[:, :3]))",
        "np.concatenate((np.concatenate((u[:3, -1:], v[:3, :1]), axis=1), u[:3, :2]), axis=1)",
        "np.concatenate((np.concatenate((u[:, -1:], v[:, :1]), axis=1), u[:, :2]), axis=1)",
        "np.concatenate((u[:, :1] * v[:1] + u, v))",
        "np.pad(u[:, :1] * v[:1] + u, 1)",
        "np.stack((u[:, :1] * v[:1] + u, v))",
        "np.roll(u[:, :1] * v[:1] + u, 1, axis=0) + v",
    ],
)
def test_what_is_made_of_single_rows_and_columns_lies_in_c_order(expression: str) -> None:
    u, v = np.random.default_rng(8).random((2, 7, 7))
    for arguments in ((u, v), (u.T, v.T), (u.T, v), (u, v.T)):
        function = compiled(expression)
        require_equal(function, copies_of(*arguments), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("expression", ["np.concatenate((z[::2], u[1:]))", "np.pad(u, 1)", "np.stack((z, u))"])
def test_arrays_that_lie_otherwise_are_met_behind_a_store(expression: str) -> None:
    function = straight(f"z[:-1] = 1.5; r = {expression}")
    u, v = np.random.default_rng(8).random((2, 7, 7))
    variants = [copies_of(u.T, v), copies_of(u, v.T), copies_of(u.T, v.T)]
    require_equal(function, copies_of(u, v), variants=variants, compile=dynamo_lite.compile, compile_options=OPTIONS)
    variants = [copies_of(u, v), copies_of(u.T, v), copies_of(u, v.T)]
    require_equal(
        function, copies_of(u.T, v.T), variants=variants, compile=dynamo_lite.compile, compile_options=OPTIONS
    )


def test_what_a_loop_hands_out_is_put_together() -> None:
    def function(y: Any, z: Any) -> Any:
        x = y
        count = 0
        while count < 3:
            count += 1
            x = np.roll(z, -1)
        return np.concatenate((y, x, x), axis=1)

    u, v = np.random.default_rng(9).random((2, 7, 7))
    for arguments in ((u, v), (u[:1, :1], v[:1, :1]), (u.T, v.T), (u[:1], v[:1])):
        require_equal(function, copies_of(*arguments), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        (
            "np.concatenate((u, v))",
            ["%empty: float64[add(s0, s1)] = empty(", "%empty[:s0]", "%u)", "%empty[s0:]", "%v)"],
        ),
        ("np.insert(u, 0, 2.0)", ["%empty[:1]", "2.0)", "%empty[1:]", "store("]),
        ("np.pad(u, 1, 'edge')", ["%empty[1:-1]", "%u)", "%empty[:1]", "%empty[1:2]", "%empty[-1:]", "%empty[-2:-1]"]),
        ("np.repeat(u, 2)", ["%empty[::2]", "%u)", "%empty[1::2]", "%u)"]),
        ("np.tile(u, 2)", ["%empty: float64[2, s0]", "store(%empty, %u)", "reshape(%empty"]),
    ],
)
def test_the_lines_of_the_docstring(expression: str, lines: list[str]) -> None:
    u, v = np.random.default_rng(3).random((2, 12))
    after = clone(dynamo_lite.compile(compiled(expression)).graph_for(u, v[:9]))
    assemble(after, Orders({}))
    verify(after)
    text = str(after)
    for line in lines:
        assert line in text, (line, text)
        text = text[text.index(line) :]


def test_a_slice_in_one_part_is_a_view_of_that() -> None:
    def function(u: Any, v: Any) -> Any:
        p = np.concatenate((v[-1:], u, v[:1]))
        return p[1:-1] * 2.0

    u, v = np.random.default_rng(3).random((2, 12))
    after = lower(dynamo_lite.compile(function).graph_for(u, v), (u, v))
    assert not any(node.kind is NodeKind.STORE for node in after.nodes), str(after)


def test_what_is_stored_into_before_and_after() -> None:
    def function(u: Any, v: Any) -> Any:
        flat = u.ravel()
        u[0] = 9.0
        p = np.append(flat, v)
        v[:] = 0.0
        q = np.pad(u, 1, "edge")
        u[-1] = 5.0
        p[0] += 1.0
        return p, q, np.concatenate((p, u)), flat

    base = np.random.default_rng(3).random(40)
    for u, v in ((base[:9], base[9:12]), (base[:18:2], base[20:]), (base[:9], base[4:12]), (base[8::-1], base[20:])):
        require_equal(function, copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


ERRORS = [
    "np.concatenate((u, v[None]))",
    "np.insert(u, 99, 1.0)",
    "np.delete(u, -99)",
    "np.pad(u, -1)",
    "np.pad(u[:0], 1, 'edge')",
    "np.repeat(u, -1)",
    "np.append(u, [v, 1.0])",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_numpys(expression: str) -> None:
    u, v = np.random.default_rng(3).random((2, 12))
    for function in (compiled(expression), looped(f"u = {expression}")):
        require_equal(function, copies_of(u, v), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize(
    "expression",
    [
        "np.hstack((u.T, u))",
        "np.concatenate((u, u.T, v + 1.0), axis=1)",
        "np.vstack((np.hstack((u, v)), np.hstack((v.T, u))))",
        "np.stack((u.T.T, u.T))",
        "np.concatenate((np.zeros((4, 4)).T, u.T))",
        "np.concatenate((np.zeros((4, 4)), u.T * 2, u))",
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_and_its_transpose_are_joined_without_declines(expression: str, order: Any) -> None:
    """They never lie in one order: NumPy joins them."""
    u, v = (np.arange(16.0).reshape(4, 4).copy(order) + k for k in range(2))
    function = compiled(expression)
    fast = dynamo_lite.compile(function, **OPTIONS)
    for _ in range(3):
        found, expected = fast(u, v), function(u, v)
        assert found.tobytes() == expected.tobytes() and found.strides == expected.strides
    assert fast.stats()["declines"] == 0


def test_a_transpose_of_what_a_loop_makes_is_joined_without_declines() -> None:
    def function(n: int) -> Any:
        x = np.zeros((n, n), dtype=complex)
        for i in range(n):
            for j in range(n):
                x[i][j] = i * j + 1
        return np.hstack((x.T, x))

    fast = dynamo_lite.compile(function, **OPTIONS)
    for n in (5, 6, 7):
        found, expected = fast(n), function(n)
        assert found.tobytes() == expected.tobytes() and found.strides == expected.strides
    assert fast.stats()["declines"] == 0 and fast.stats()["native_calls"] == 3


def test_a_loop_in_fortran_order_declines_no_more_than_before() -> None:
    function = looped(MATRIX_LOOPS[3])
    u = np.asfortranarray(np.random.default_rng(3).random((9, 7)))
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(3):
        found, expected = fast(u, u), function(u, u)
        assert found.tobytes() == expected.tobytes() and found.strides == expected.strides
    assert fast.stats()["declines"] == 0


PICKS = [
    "x[:, [2, 0, 1]]",
    "x[:, (1, -1)] * 2 + x[:, :2]",
    "x[..., [2, 1, 0]] / 3",
    "x[[2, 0]] * 2",
    "(x[:, [2, 0, 1]] ** 2).sum(axis=1)",
    "x[:, [2, 0, 1]].T * 2 + 1",
    "np.take(x, [0, 2], axis=1)",
    "x.take([2, 2, 1], 1) + 1",
    "np.take(x, [1, 0], axis=-1).T",
    "np.take(x, 2, axis=1) * 2",
]


@pytest.mark.parametrize("expression", PICKS)
def test_constant_places_along_a_short_axis(expression: str) -> None:
    function: Callable[..., Any] = eval(f"lambda x: {expression}", {"np": np})
    graph = lower(dynamo_lite.compile(function).graph_for(np.ones((40, 3))), [np.ones((40, 3))])
    assert "x[[2, 0]]" in expression or "take(x, 2" in expression or "advanced_index" not in str(graph)
    x = np.arange(120.0).reshape(40, 3)
    cubes = np.arange(360.0).reshape(40, 3, 3)
    arrays = [x, x[::2], x[:, ::-1], np.asfortranarray(x), x.astype("f4"), x.astype("i4"), x > 7, x * 1j, x[:3], x[:1]]
    units = np.broadcast_to(x[0], (1, 3, 3)), np.ndarray((1, 3, 2), strides=(0, 16, 8), buffer=x), cubes[:5, :, :1]
    for one in (*arrays, cubes, np.asfortranarray(cubes), cubes[:, ::-1], cubes.transpose(0, 2, 1), *units):
        require_equal(function, copies_of(one), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=3)


def test_places_beyond_a_short_axis_raise() -> None:
    compiled = dynamo_lite.compile(lambda x: x[:, [0, 2]] * 2)
    compiled(np.ones((40, 3)))
    for _ in range(2):
        with pytest.raises(IndexError):
            compiled(np.ones((40, 2)))

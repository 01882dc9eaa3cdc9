"""Sums of few products become operations with NumPy's bits; what lies otherwise, or is long, stays with NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from dynamo_lite.lower.products import _order_of_sum
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

SPECIAL = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, -np.nan, 3.0, 5e-324, 1e308)
N = 19
FEW: dict[str, tuple[tuple[int, ...], ...]] = {
    "ij,nj->ni": ((3, 3), (N, 3)),
    "...ij,...j->...i": ((3, 3), (N, 11, 3)),
    "nj,jk->nk": ((N, 3), (3, 4)),
    "ij...,j...->i...": ((3, 3, N), (3, N)),
    "ijn,jkn->ikn": ((3, 2, N), (2, 3, N)),
    "nij,njk->nik": ((N, 3, 3), (N, 3, 3)),
    "...i,...i": ((N, 7), (N, 7)),
    "in,in->n": ((3, N), (3, N)),
    "ai,ixy->axy": ((4, 2), (2, N, 9)),
    "nij->ni": ((N, 4, 3),),
    "nii": ((N, 3, 3),),
    "nii->n": ((N, 4, 4),),
    "...i,i->...": ((N, 5), (5,)),
    "ni,i,n->n": ((N, 5), (5,), (N,)),
    "ij,njk,kl->nil": ((2, 2), (N, 2, 2), (2, 2)),
    "ijn,nj->ni": ((3, 3, N), (N, 3)),  # the result lies in F order
}


def program_of(subscripts: str, count: int) -> Any:
    def one(x: Any) -> Any:
        return np.einsum(subscripts, x) * 2.0

    def two(x: Any, y: Any) -> Any:
        return np.einsum(subscripts, x, y), np.einsum(subscripts, x, y) + 1.0

    def three(x: Any, y: Any, z: Any) -> Any:
        return np.einsum(subscripts, x, y, z) - 0.5

    return (one, two, three)[count - 1]


def lowered(function: Any, *arguments: Any) -> str:
    return str(lower(dynamo_lite.compile(function).graph_for(*arguments)))


def same(function: Any, *arrays: Any) -> None:
    for conditions in (Conditions(), Conditions({"all": "ignore"})):
        require_equal(
            function,
            copies_of(*arrays),
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
            conditions=conditions,
        )


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("subscripts", FEW)
def test_few_products(subscripts: str, char: str) -> None:
    shapes, random = FEW[subscripts], np.random.default_rng(5)
    program = program_of(subscripts, len(shapes))
    operands = [(random.normal(size=shape) * 10.0 ** random.integers(-9, 9, shape)).astype(char) for shape in shapes]
    assert "einsum" not in lowered(program, *operands)
    same(program, *operands)
    same(program, *(np.asfortranarray(one) for one in operands))
    same(program, *(np.repeat(one, 2, axis=-1)[..., ::2] for one in operands))
    same(program, *(np.ascontiguousarray(one[..., ::-1])[..., ::-1] for one in operands))
    with np.errstate(all="ignore"):
        same(program, *(random.choice(SPECIAL, shape).astype(char) for shape in shapes))
    same(program, *(np.full(shape, -0.0, char) for shape in shapes))


@pytest.mark.parametrize("chars", ["dl", "ld", "dB", "id", "fh", "bf", "dL"])
@pytest.mark.parametrize("subscripts", [one for one in FEW if len(FEW[one]) > 1])
def test_few_products_of_integers_among_floats(subscripts: str, chars: str) -> None:
    shapes, random = FEW[subscripts], np.random.default_rng(6)
    program = program_of(subscripts, len(shapes))
    operands = []
    for char, shape in zip(chars + chars[:1], shapes, strict=False):
        number = random.normal(size=shape) * 4.0 ** random.integers(0, 9, shape)
        operands.append((number if char in "fd" else random.integers(0, 100, shape)).astype(char))
    assert "einsum" not in lowered(program, *operands)
    same(program, *operands)
    same(program, *(np.asfortranarray(one) for one in operands))
    with np.errstate(all="ignore"):
        same(program, *(random.choice(SPECIAL if x.dtype.kind == "f" else (0, 1, 2), x.shape) for x in operands))


def test_large_integers_among_floats() -> None:
    x = np.array([[2**53 + 1, 3, -(2**63)], [1, 2**62 + 77, 5]] * 3)
    same(lambda x, y: np.einsum("ni,i->n", x, y), x, np.array([0.1, -7.0, 1e-3]))
    same(lambda x, y, z: np.einsum("ni,i,n->n", x, y, z), x, np.array([3, 2**40, 9]), np.ones(6))


@pytest.mark.parametrize("size", (0, 1, 2, 8, 9))
def test_sizes(size: int) -> None:
    x = np.random.default_rng(1).normal(size=(size, 3))
    same(lambda m, x: np.einsum("ij,nj->ni", m, x), np.eye(3) + 0.1, x)
    same(lambda x: np.einsum("ni,ni->n", x, x), x)


def test_what_is_stored_meanwhile() -> None:
    def program(m: Any, x: Any) -> Any:
        y = np.einsum("ij,nj->ni", m, x)
        x[0] = 7.0
        m[1, 1] += 1.0
        return y, np.einsum("ij,nj->ni", m, x)

    same(program, np.eye(3), np.ones((N, 3)))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", ((N, 8), (8, 8))),  # many products
        ("nk,nd->kd", ((N, 3), (N, 2))),  # a long sum
        ("nnj->n", ((N, N, 3),)),  # a long diagonal
        ("njj,jk->nj", ((N, 3, 3), (3, 2))),  # the sum of k is multiplied
        ("ni,nj->jn", ((N, 3), (N, 2))),
    ],
)
def test_others_stay(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    operands = [np.random.default_rng(2).normal(size=shape) for shape in shapes]
    program = program_of(subscripts, len(shapes))
    assert "einsum" in lowered(program, *operands)
    same(program, *operands)


def test_what_does_not_lie_packed_stays() -> None:
    def program(m: Any, x: Any) -> Any:
        return np.einsum("ij,nj->ni", m, x)

    assert "einsum" in lowered(program, np.eye(3), np.ones((3, N)).T)
    assert "einsum" in lowered(program, np.eye(3), np.ones((N, 6))[:, ::2])


def test_an_order_that_nothing_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _order_of_sum("ij,nj", "ni", (("i", 3), ("j", 3)), ("d", "d")) is not None
    monkeypatch.setattr(sys.modules["dynamo_lite.lower.products"], "_order_of_sum", lambda *form: None)
    program = program_of("ij,nj->ni", 2)
    assert "einsum" in lowered(program, np.eye(3), np.ones((N, 3)))


@pytest.mark.parametrize("subscripts", ("...i->...", "i...", "...,...", "i...,i...", "...ij,...jk", "ij...->..."))
def test_an_ellipsis(subscripts: str) -> None:
    count = subscripts.count(",") + 1
    for shape in ((4, 4), (4, 4, 4), (4,)):
        operands = [np.random.default_rng(k).normal(size=shape) for k in range(count)]
        same(program_of(subscripts, count), *operands)


def test_a_product_of_matrices_lies_packed() -> None:
    def program(a: Any, b: Any, x: Any) -> Any:
        return np.einsum("ij,...j->...i", a @ b, x)

    arguments = np.eye(3) + 0.2, np.eye(3) - 0.1, np.random.default_rng(6).normal(size=(N, 3))
    assert "einsum" not in lowered(program, *arguments)
    same(program, *arguments)
    same(program, arguments[0].T, arguments[1].T, arguments[2])


def test_few_products_pay_at_all_sizes() -> None:
    fast = dynamo_lite.compile(lambda m, x: np.einsum("ij,nj->ni", m, x))
    x = np.random.default_rng(7).normal(size=(200_000, 3))
    for _ in range(2):
        fast(np.eye(3), x)
    assert fast.stats()["plain_calls"] == 0


def test_einsum_that_sums_nothing_is_a_view() -> None:
    def views(x: Any, y: Any) -> Any:
        turned, diagonal = np.einsum("nij->jni", x), np.einsum("ii...->...i", y)
        np.einsum("nii->ni", x)[...] = 2.0
        diagonal[1] += 1.0
        return turned, diagonal, np.einsum("ij->ij", x[0]), x, y

    graph = str(dynamo_lite.compile(views).graph_for(np.ones((4, 3, 3)), np.ones((3, 3, 2))))
    assert "einsum" not in graph
    for x in (np.arange(36.0).reshape(4, 3, 3), np.arange(36.0).reshape(3, 3, 4).T, np.arange(18.0).reshape(2, 3, 3)):
        same(views, x, np.arange(18.0).reshape(3, 3, 2))
    read_only = np.ones((4, 3, 3))
    read_only.flags.writeable = False
    same(lambda x: np.einsum("nii->ni", x), read_only)


def test_a_diagonal_of_unlike_axes_raises() -> None:
    compiled = dynamo_lite.compile(lambda x: np.einsum("nii->ni", x))
    compiled(np.ones((4, 3, 3)))
    for _ in range(2):
        with pytest.raises(ValueError, match="match"):
            compiled(np.ones((4, 3, 2)))

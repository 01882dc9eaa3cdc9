"""Each pass by its text before and after; all of them on kernels of each kind, in golden.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from dynamo_lite.backends.numba import llvm_text
from dynamo_lite.backends.numba.functions import function_of

from dynamo_lite.program.build import build
from dynamo_lite.program.hoist import hoist
from dynamo_lite.program.ir import Function
from dynamo_lite.program.keep import keep
from dynamo_lite.program.place import place
from dynamo_lite.program.split import split
from dynamo_lite.program.text import to_text
from dynamo_lite.program.vectorise import Lanes, vectorise
from dynamo_lite.program.verify import verify
from dynamo_lite.program.watch import ALIKE, ARISEN, EACH, PLAIN, watch
from dynamo_lite.schedule.steps import Kernel
from tests.program.kernels import KernelMaker

GOLDEN = Path(__file__).with_name("golden.txt")
LANES = Lanes(lambda itemsize: itemsize in (4, 8), lambda itemsize: False)


def kernel(*ops: tuple[str, ...], operands: str = "dd", results: tuple[str, ...] = (), **more: object) -> Kernel:
    """A kernel in words: ("c", "add", "a", "b") for c = add(a, b); operands are a, b ... and the last is a result."""
    maker = KernelMaker(None, operands)  # type: ignore[arg-type]
    names = {"abcdefgh"[place]: place for place in range(len(operands))}
    for name, op, *args in ops:
        names[name] = maker.add(op, *(names[arg] for arg in args))
    wanted = tuple(names[name] for name in results or (ops[-1][0],))
    return Kernel(tuple(maker.dtypes[: len(operands)]), tuple(maker.ops), wanted, **more)  # type: ignore[arg-type]


def body(function: Function) -> str:
    verify(function)
    return "\n".join(line.strip() for line in to_text(function).splitlines()[1:])


GAUSS = kernel(("c", "multiply", "a", "a"), ("d", "exp", "c"), ("e", "multiply", "d", "b"))


def test_build() -> None:
    assert body(build(kernel(("c", "multiply", "a", "b")), "c0c")) == (
        "for i in n:\n"
        "v0: float64 = load o0[i]\n"
        "v1: float64 = load o1[]\n"
        "v2: float64 = multiply(v0, v1)\n"
        "store r0[i] = v2"
    )


def test_build_leaves_out_what_nobody_needs() -> None:
    dead = kernel(("c", "less", "a", "b"), ("d", "logical_not", "c"), ("e", "negative", "a"))
    assert "less" not in body(build(dead, "ccc"))
    reporting = kernel(("c", "divide", "a", "b"), ("d", "negative", "c"), ("e", "negative", "a"))
    text = body(build(reporting, "ccc"))
    assert "divide" in text and text.count("negative") == 1


def test_split() -> None:
    assert body(split(build(GAUSS, "c0c"))) == (
        "t0: float64[m packed] = alloc\n"
        "t1: float64[m packed] = alloc\n"
        "tiles at, m of n by 0:\n"
        "o0.t = view o0[at:]\n"
        "r0.t = view r0[at:]\n"
        "for i in m:\n"
        "v0: float64 = load o0.t[i]\n"
        "v2: float64 = multiply(v0, v0)\n"
        "store t0[i] = v2\n"
        "numpy.exp(t0) -> t1 for m\n"
        "for i in m:\n"
        "v3.2: float64 = load t1[i]\n"
        "v1: float64 = load o1[]\n"
        "v4: float64 = multiply(v3.2, v1)\n"
        "store r0.t[i] = v4"
    )


def test_keep() -> None:
    compared = build(kernel(("c", "multiply", "a", "b"), ("d", "less", "c", "c")), "ccc")
    assert body(keep(compared)).splitlines()[-2:] == ["store r0[i] = v3", "keep v2"]
    stored = build(kernel(("c", "multiply", "a", "b"), ("d", "add", "c", "b")), "ccc")
    assert keep(stored) is stored


def test_hoist() -> None:
    product = kernel(("c", "multiply", "a", "b"))
    assert body(hoist(build(product, "c0c"))).startswith(
        "v1: float64 = load o1[]\nfor i in n:\nv0: float64 = load o0[i]"
    )
    assert body(hoist(build(product, "cbc", True))) == (
        "for row in rows:\n"
        "o0.row = view o0[row]\n"
        "o1.row = view o1[row]\n"
        "r0.row = view r0[row]\n"
        "v1: float64 = load o1.row[]\n"
        "for i in n:\n"
        "v0: float64 = load o0.row[i]\n"
        "v2: float64 = multiply(v0, v1)\n"
        "store r0.row[i] = v2"
    )


@pytest.mark.parametrize(
    ("dtype", "result", "head"),
    [("d", "c", "by 8, masked"), ("f", "c", "by 16, masked"), ("d", "s", "by 8, numbers"), ("l", "c", "by 8, masked")],
)
def test_vectorise(dtype: str, result: str, head: str) -> None:
    function = build(kernel(("c", "multiply", "a", "b"), operands=2 * dtype), "cc" + result)
    assert body(vectorise(function, LANES)).startswith(f"for i in n {head}:")


def test_watch() -> None:
    chain = kernel(("c", "add", "a", "b"), ("d", "multiply", "c", "b"), ("e", "negative", "d"))
    plain = body(watch(build(chain, "ccc"), strict=PLAIN))
    assert "v4.nan: bool = unordered(v4, v4)\nnote v4.nan: 2\nstore" in plain and plain.count("note") == 1
    each = body(watch(build(chain, "ccc"), strict=EACH))
    assert "v2.met: bool = nans_differ(v0, v1)\nnote v2.met: 4" in each and each.count("note") == 2
    quiet = build(kernel(("c", "subtract", "a", "b")), "ccc")
    assert watch(quiet, strict=ALIKE) is quiet


def test_a_strict_watch_asks_what_goes_in() -> None:
    def asked(*ops: tuple[str, ...], operands: str) -> list[str]:
        function = build(kernel(*ops, operands=operands), "c" * (len(operands) + 1))
        lines = body(watch(function, strict=ALIKE)).splitlines()
        return [line.partition(" = ")[2] for line in lines if " = nans_differ" in line or ".either:" in line]

    assert asked(("c", "add", "a", "b"), ("d", "multiply", "c", "b"), operands="dd") == ["nans_differ(v0, v1)"]
    assert not asked(("c", "multiply", "a", "a"), ("d", "add", "c", "a"), operands="d")  # an array with itself
    assert not asked(("c", "subtract", "a", "b"), ("d", "divide", "c", "a"), operands="dd")  # of two the first stays
    assert not asked(("c", "add", "a", "b"), operands="ll")
    three = asked(("d", "subtract", "a", "b"), ("e", "add", "d", "c"), operands="ddd")
    assert [line.partition("(")[0] for line in three] == ["nans_differ", "where", "nans_differ"]
    alone = build(kernel(("c", "multiply", "a", "a"), ("d", "add", "c", "a"), operands="d"), "cc")
    assert "note" not in body(watch(alone, strict=ALIKE))
    assert "v0.met: bool = no_arisen_nan(v0)\nnote v0.met: 4" in body(watch(alone, strict=ARISEN))
    turned = asked(("c", "negative", "a"), ("d", "add", "c", "a"), operands="d")  # its NaN has another sign
    assert len(turned) == 1


def test_place() -> None:
    many = [("c", "exp", "a")]
    for name, before in zip("defgh", "cdefg", strict=True):
        many += [(name + name, "negative", before), (name, "exp", name + name)]
    function = place(split(build(kernel(*many, operands="d"), "cc")))
    offsets = [line.rpartition(" ")[2] for line in body(function).splitlines() if " = alloc" in line]
    assert len(offsets) == 10 and len(set(offsets)) == 2  # what a compiled step reads last lies where it stores
    assert function.scratch_bytes % 64 == 0


def kinds() -> dict[str, tuple[Kernel, str]]:
    """A kernel of each kind, and its classes."""
    chosen = kernel(("d", "less", "a", "b"), ("e", "sqrt", "c"), ("f", "where", "d", "e", "a"), operands="ddd")
    scaled = kernel(("c", "multiply", "a", "b"), ("d", "add", "c", "b"))
    moving = kernel(("c", "multiply", "a", "b"), ("d", "add", "c", "b"), results=("d",), next=(3, 1))
    waving = kernel(("c", "sin", "a"), ("d", "add", "c", "b"), results=("d",), next=(3, 1))
    total = kernel(("c", "multiply", "a", "b"), fold=np.add)
    return {
        "elements": (chosen, "cs0c"),
        "elements, strict": (scaled, "ccc!"),
        "numpy's loop": (GAUSS, "c0c"),
        "rows": (scaled, "cbcr"),
        "rows, numpy's loop": (GAUSS, "cbcr"),
        "iterations": (moving, "cic"),
        "iterations, numpy's loop": (waving, "cic"),
        "fold": (total, "c0i"),
    }


def text_of(make: Callable[[Kernel, str], Function]) -> str:
    parts = [f"# {name}\n{to_text(make(*of))}\n" for name, of in kinds().items()]
    return "\n".join(parts)


def test_golden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """``make golden`` writes it again."""
    monkeypatch.setattr(llvm_text, "can_mask", LANES.can_mask)
    monkeypatch.setattr(llvm_text, "can_scatter", LANES.can_scatter)
    found = text_of(function_of)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()

"""What the verifier refuses: one change of a sound function for each of its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dynamo_lite.program.build import build
from dynamo_lite.program.hoist import hoist
from dynamo_lite.program.ir import (
    ANY,
    Alloc,
    Element,
    For,
    Function,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    View,
)
from dynamo_lite.program.place import place
from dynamo_lite.program.split import split
from dynamo_lite.program.verify import Unsound, verify
from tests.program.test_passes import GAUSS, kernel

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
Change = Callable[[Node], Node | None]


def changed(nodes: tuple[Node, ...], change: Change) -> tuple[Node, ...]:
    """The nodes with what `change` makes of each; None leaves one out."""
    result = []
    for node in nodes:
        if isinstance(node, For | Tiles):
            node = replace(node, body=changed(node.body, change))
        new = change(node)
        result += [new] if new is not None else []
    return tuple(result)


def of(kind: type[Node], change: Callable[..., Node | None]) -> Change:  # type: ignore[valid-type]
    """A change of the nodes of one kind."""
    return lambda node: change(node) if isinstance(node, kind) else node


def plain() -> Function:
    return build(kernel(("c", "multiply", "a", "b"), ("d", "add", "c", "b")), "ccc")


def tiled() -> Function:
    return place(hoist(split(build(GAUSS, "cccr"[:3], True))))


STRAY = Value("stray", F8)
PLAIN: dict[str, tuple[Change, str]] = {
    "a value that is not defined": (of(Store, lambda n: replace(n, value=STRAY)), "stray is not defined"),
    "no load": (of(Load, lambda n: None), "is not defined here"),
    "a value defined twice": (of(Element, lambda n: replace(n, results=(n.operands[0],))), "defined twice"),
    "no such operation": (of(Element, lambda n: replace(n, op="frobnicate")), "no such operation"),
    "a dtype that does not agree": (of(Load, lambda n: replace(n, result=Value("v", F4))), "holds float64"),
    "a result of another dtype": (of(Element, lambda n: replace(n, results=(Value("v", F4),))), "another dtype"),
    "no index": (of(Load, lambda n: replace(n, index=())), "does not stay within"),
    "another loop's index": (of(For, lambda n: replace(n, extent=n.index)), "is not defined here"),
    "a result without a store": (of(Store, lambda n: None), "nothing is stored"),
    "lanes without a tail": (of(For, lambda n: replace(n, lanes=8)), "has a tail"),
    "lanes that are no power of two": (of(For, lambda n: replace(n, lanes=6, tail="masked")), "power of two"),
    "a status of no bit": (of(Store, lambda n: Note(n.value, 2)), "a condition is a bool"),
    "a store into an operand": (of(Load, lambda n: Store(n.memref, n.index, STRAY)), "is not defined here"),
}
TILED: dict[str, tuple[Change, str]] = {
    "a buffer outside the scratch": (of(Alloc, lambda n: replace(n, offset=1 << 20)), "within the scratch"),
    "a buffer that is not aligned": (of(Alloc, lambda n: replace(n, offset=65)), "within the scratch"),
    "tiles that are too long": (of(Tiles, lambda n: replace(n, length=1 << 20)), "within the scratch"),
    "a count that is no tile's": (of(NumpyLoop, lambda n: replace(n, count=STRAY)), "is not defined"),
    "other operands of a loop": (of(NumpyLoop, lambda n: replace(n, reads=())), "other operands"),
    "a loop over what is not packed": (
        of(NumpyLoop, lambda n: replace(n, reads=(Memref("o", F8, (ANY, ANY), (), "view"),))),
        "is not defined here",
    ),
    "a view with other axes": (of(View, lambda n: replace(n, drop=not n.drop)), "the axes and the dtype"),
}


def test_sound_ones() -> None:
    verify(plain())
    verify(tiled())


@pytest.mark.parametrize("name", PLAIN)
def test_plain(name: str) -> None:
    change, words = PLAIN[name]
    function = plain()
    with pytest.raises(Unsound, match=words):
        verify(replace(function, body=changed(function.body, change)))


@pytest.mark.parametrize("name", TILED)
def test_tiled(name: str) -> None:
    change, words = TILED[name]
    function = tiled()
    with pytest.raises(Unsound, match=words):
        verify(replace(function, body=changed(function.body, change)))

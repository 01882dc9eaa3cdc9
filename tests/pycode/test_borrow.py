"""Which loads of locals borrow (CPython 3.14): as its compiler says, and kept where it left one as it was."""

import dis
import sys

import numpy as np
import pytest

from dynamo_lite.pycode import decode, encode
from dynamo_lite.pycode.borrow import borrowed_loads
from dynamo_lite.pycode.version import FACTS
from tests.pycode import corpus

needed = pytest.mark.skipif(not FACTS.borrowing, reason="this Python does not borrow")


def borrowed(source: str) -> list[str]:
    """The locals of the loads that may borrow, in order."""
    space: dict[str, object] = {}
    exec(source, space)
    code = decode(space["f"].__code__)
    return [code.instrs[index].arg for index in sorted(borrowed_loads(code)) if not code.instrs[index].bare]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a, b): return a + b", ["a", "b"]),
        ("def f(a, b): return b(a, a := 1)", ["b"]),  # a is bound anew while it lies on the stack
        ("def f(a, b):\n c = a\n b(c)", ["b", "c"]),  # a local needs a reference of its own
        ("def f(a, b):\n del a\n return b", ["b"]),
        ("def f(a, b): return a(1 if b else 2)", ["b"]),  # a lies there where paths part
        ("def f(a, b): return a.method(1 if b else 2)", ["b"]),
        ("def f(a, b): return a.method(b)", ["a", "b"]),
        ("def f(a, b): return f'{a}{b!r}'", ["a", "b"]),
        ("def f(a, b):\n try: return a()\n except b: return b", ["a"]),  # nobody looks at handlers
    ],
)
def test_borrowed_loads(source: str, names: list[str]) -> None:
    assert borrowed(source) == names


@needed
@pytest.mark.parametrize(("function", "args"), corpus.CALLS, ids=lambda value: getattr(value, "__name__", ""))
def test_loads_are_spelled_as_the_compiler_did(function, args):
    code = function.__code__
    before, after = (
        [instr.opname for instr in dis.get_instructions(one) if "LOAD_FAST" in instr.opname]
        for one in (code, encode(decode(code)))
    )
    assert before == after


@needed
def test_what_the_compiler_did_not_borrow_stays_so():
    """It stops at a block that has become empty; reference counts show it."""

    def counts(x, y):
        before = sys.getrefcount(x)
        try:
            y()
        except ValueError:
            raise
        return before, sys.getrefcount(x)

    expected = counts(np.ones(3), int)
    assert any(instr.bare for instr in decode(counts.__code__).instrs)
    counts.__code__ = encode(decode(counts.__code__))
    again = counts(np.ones(3), int)
    assert again == expected

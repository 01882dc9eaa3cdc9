"""Where plain code may hand over again, in front of a statement."""

from __future__ import annotations

import sys
from typing import Any

from dynamo_lite.pycode import Code, decoded, landings


def code_of(source: str) -> Code:
    names: dict[str, Any] = {}
    exec(source, names)
    return decoded(names["f"].__code__)


def lines_from(source: str, op: str, plain: int | None = None) -> list[int | None]:
    """The lines of the landings behind the first instruction `op`. plain: a line whose statement is passed over."""
    code = code_of(source)
    begin = next(index for index, instr in enumerate(code.instrs) if instr.op == op)

    def end_of_plain(of: Code, index: int) -> int | None:
        if of.instrs[index].position[0] != plain:
            return None
        return next(at for at in range(index, len(of.instrs)) if of.instrs[at].position[0] != plain)

    return sorted(code.instrs[one.header].position[0] or 0 for one in landings(code, begin, end_of_plain))


BLOCK = """
def f(x):
    with g() as y:
        h(1)
        x = x + y
    return x
"""
BRANCH = """
def f(x):
    try:
        if g(x):
            x = x * 2
        else:
            x = x * 3
    finally:
        x = h(x)
    return x
"""
LOOP = """
def f(x):
    with g():
        for i in x:
            y = i * 2
    return y
"""
NOTHING = """
def f(x):
    with g():
        y = x
    return y
"""
EXPRESSION = """
def f(x):
    try:
        y = [h(a, g()) for a in x][0] + x[1]
        y = y * 2
    except KeyError:
        y = x
    return y
"""


def test_in_a_block() -> None:
    enters = "BEFORE_WITH_SELF" if sys.version_info >= (3, 14) else "BEFORE_WITH"
    assert lines_from(BLOCK, enters) == [4]
    assert lines_from(BLOCK, enters, plain=4) == [5]
    assert lines_from(LOOP, enters) == [4]
    assert lines_from(NOTHING, enters) == []


def test_both_ways_of_a_branch() -> None:
    assert lines_from(BRANCH, "CALL") == [5, 7]


def test_a_statement_is_not_entered_in_its_middle() -> None:
    assert lines_from(EXPRESSION, "BINARY_SUBSCR") == [5]

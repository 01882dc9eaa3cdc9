"""Where plain execution goes on behind a segment, and what is handed on there.

Enters: what residual code has at its end. Leaves: the Target for which a Compilation makes a resume function
(resumes.py), and the locals that this one takes.
"""

from __future__ import annotations

import types
from typing import Any

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Where plain execution goes on: an instruction of the original code, its stack kinds ("value", "null", or "rest"
    for what is left of what a `for` goes over), its bound locals, and the variables whose cells go with it. side:
    of a branch on data. first: of a loop, an iteration of which is to run plainly first."""

    index: int
    kinds: tuple[str, ...]
    bound: tuple[str, ...]
    plain: bool = False
    cells: tuple[str, ...] = ()
    side: bool = False
    first: bool = False


def locals_taken(jump: Any, target: Target) -> tuple[str, ...]:
    """The locals that the resume function of `jump` takes, in order: those bound, and dead ones, for which there is
    None (Resumes)."""
    code = code_of(jump)
    if code is None:
        return target.bound
    values = len(target.kinds) - target.kinds.count("null")
    return tuple(code.co_varnames[values : code.co_argcount - len(target.cells)])


def comes_back(jump: Any) -> bool:
    """Whether what runs plainly behind a Jump comes back at a back edge."""
    code = code_of(jump)
    return code is not None and any(type(const) is _C.BackEdge for const in code.co_consts)


def code_of(jump: Any) -> types.CodeType | None:
    """That of its resume function; None where nobody has made one."""
    function = getattr(jump, "resume_function", None)
    return function if function is None or isinstance(function, types.CodeType) else function.__code__

"""Where plain execution goes on behind a segment, and what is handed on there.

Enters: what residual code has at its end. Leaves: the Target for which a Compilation makes a resume function
(resumes.py), and the locals that this one takes.
"""

from __future__ import annotations

import types
from typing import Any

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
    function = getattr(jump, "resume_function", None)
    if function is None:
        return target.bound
    code = function if isinstance(function, types.CodeType) else function.__code__
    values = len(target.kinds) - target.kinds.count("null")
    return tuple(code.co_varnames[values : code.co_argcount - len(target.cells)])

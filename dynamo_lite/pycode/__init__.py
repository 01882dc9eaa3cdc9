"""CPython bytecode in one canonical form for all versions; the only package that knows Python versions.

Code objects enter through ``decode`` and leave through ``encode``; in between everyone sees ``Code`` and ``Instr``, the
opcodes of opcodes.py with their stack effects, and indices for jump targets. ``assemble`` builds residual code,
``resume_code`` the code that goes on behind a graph break. INVARIANT: what decode makes, encode turns back.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dynamo_lite.pycode.code import (
    CO_GENERATOR_KINDS,
    CO_NEWLOCALS,
    Code,
    ExceptionEntry,
    Instr,
    Position,
    UnsupportedCode,
    UnsupportedOpcode,
    UnsupportedResume,
    defined_at,
    handled_alike,
    handlers_at,
    handles_exception,
    has_handlers,
    in_order,
    is_handled,
    leaves_with,
    remembered,
    skeleton,
)
from dynamo_lite.pycode.decode import decode, decoded, remember_as
from dynamo_lite.pycode.element import ITEM, element
from dynamo_lite.pycode.encode import assemble, encode
from dynamo_lite.pycode.first_call import with_questions
from dynamo_lite.pycode.flow import natural_loop, own_cells, reached, stack_depth, successors
from dynamo_lite.pycode.liveness import assigned, cell_liveness, kept_whole, liveness
from dynamo_lite.pycode.module_code import may_loop
from dynamo_lite.pycode.opcodes import OPCODES, Opcode, Operand
from dynamo_lite.pycode.polls import (
    GIVEN,
    Answers,
    Landing,
    Loop,
    MakePoll,
    Places,
    is_comprehension,
    loops,
    polled,
    runs_out,
    watched_loops,
)
from dynamo_lite.pycode.version import FACTS

if TYPE_CHECKING:
    from dynamo_lite.pycode.landings import landings
    from dynamo_lite.pycode.resume import LETS_NOBODY_IN, beginning, begins_at, begins_rest, resume_code
    from dynamo_lite.pycode.splice import spliced

# Where the names are that only the compiler asks for: a program that is watched, and ends soon, need not wait for them.
# NB: none is the name of a module here, which importing that one puts into this namespace.
_PLACES = {"begins_at": "resume", "begins_rest": "resume", "resume_code": "resume", "spliced": "splice"}
_PLACES |= {"beginning": "resume", "landings": "landings", "LETS_NOBODY_IN": "resume"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return value


null_below_callable: bool = FACTS.null_below_callable
"""Where the NULL of a plain call sits: below the callable (3.11, 3.12) or above it (3.13)."""

__all__ = [
    "CO_GENERATOR_KINDS",
    "CO_NEWLOCALS",
    "GIVEN",
    "ITEM",
    "LETS_NOBODY_IN",
    "OPCODES",
    "Answers",
    "Code",
    "ExceptionEntry",
    "Instr",
    "Landing",
    "Loop",
    "MakePoll",
    "Opcode",
    "Operand",
    "Places",
    "Position",
    "UnsupportedCode",
    "UnsupportedOpcode",
    "UnsupportedResume",
    "assemble",
    "assigned",
    "beginning",
    "begins_at",
    "begins_rest",
    "cell_liveness",
    "decode",
    "decoded",
    "defined_at",
    "element",
    "encode",
    "handled_alike",
    "handlers_at",
    "handles_exception",
    "has_handlers",
    "in_order",
    "is_comprehension",
    "is_handled",
    "kept_whole",
    "landings",
    "leaves_with",
    "liveness",
    "loops",
    "may_loop",
    "natural_loop",
    "null_below_callable",
    "own_cells",
    "polled",
    "reached",
    "remember_as",
    "remembered",
    "resume_code",
    "runs_out",
    "skeleton",
    "spliced",
    "stack_depth",
    "successors",
    "watched_loops",
    "with_questions",
]

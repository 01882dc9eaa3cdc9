"""Numbers and conditions as the user's source names them, for the reasons of breaks.

Enters what capture knows by names of its own (``le(mul(i0, i0), s1)``). Leaves the words that a user reads: by the path
of the argument, by the variable that holds the number, or by the text of the line (``i * i <= n``).
"""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

from dynamo_lite.capture.value import NumberValue, Value
from dynamo_lite.graph.scalar import Scalar, Symbol, as_python

if TYPE_CHECKING:
    from dynamo_lite.capture.state import Frame, Tracer

_LONGEST = 60  # characters of a condition that a sentence bears


def number_words(tracer: Tracer, value: Scalar) -> str:
    """`value` with the names of the source: ``x.shape[0] // 2``."""
    return as_python(value, lambda symbol: _name_of(tracer, symbol))


def undecided(tracer: Tracer, condition: Scalar) -> str:
    """That a condition may hold in some iterations of a loop and not in others."""
    return f"whether {number_words(tracer, condition)} may change from one iteration to the next"


def source_text(frame: Frame) -> str:
    """The text of the expression that the instruction before the next one belongs to; "" where it is not at hand."""
    line, last, begin, end = frame.code.instrs[frame.index - 1].position
    if line is None or line != last or begin is None or end is None:
        return ""
    text = linecache.getline(frame.code.filename, line).encode()[begin:end].decode(errors="replace")
    return text if len(text) <= _LONGEST else ""


def _name_of(tracer: Tracer, symbol: Symbol) -> str:
    known = tracer.root.symbols.get(symbol.name)
    if known is not None and 0 <= known.input < len(tracer.inputs):
        name = str(tracer.inputs[known.input])
        if not name.startswith("."):  # else it is on a resume function's stack, without a name of the user's
            return name if known.axis is None else f"{name}.shape[{known.axis}]"
    for frame in reversed(tracer.frames):
        for name, value in frame.locals.items():
            if not name.startswith(".") and _is_number(value, symbol):
                return name
    return "the loop's index" if symbol.name in tracer.indices else "a number that is computed"


def _is_number(value: Value, symbol: Symbol) -> bool:
    return isinstance(value, NumberValue) and isinstance(value.expr, Symbol) and value.expr.name == symbol.name

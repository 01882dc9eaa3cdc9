"""Why a graph broke and a loop is left, and what one can do about it: the sentences of explain() and of errors.

Enters what a capture found (GraphBreak, LoopPlan). Leaves words.
"""

from __future__ import annotations

from dynamo_lite import breaks, policy
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.trace import Capture, GraphBreak

_LIBRARY_FOLDERS = ("site-packages", "dist-packages", policy.STDLIB)


def hint(found: GraphBreak, capture: Capture) -> str:
    """What the user can do about a break; of another's code, only when to call it."""
    if found.inside is not None and any(folder in found.inside[0] for folder in _LIBRARY_FOLDERS):
        return "This is library code, which runs as it is. Call it before or after the array code to keep one graph."
    cause = _cause(found, capture)
    return breaks.REASONS[found.reason if cause is None else cause[0]].hint


def pauses(plan: LoopPlan) -> str:
    """For what a loop is left."""
    lines: dict[str, list[int]] = {}
    for reason, detail, line in plan.avoided.values():
        lines.setdefault(breaks.message(reason, detail), []).append(line)
    parts = (
        f"line{'s' * (len(found) > 1)} {', '.join(map(str, found))} ({message})" for message, found in lines.items()
    )
    return f"left for the iterations that may get to {', and to '.join(parts)}"


# Reasons that only say that a loop was neither kept as one nor unrolled.
_OF_A_LOOP = frozenset({"loop-of-open-length", "loop-over-unknown-iterator"})


def _cause(found: GraphBreak, capture: Capture) -> tuple[str, str] | None:
    """Why a loop that broke the graph did not become a native loop, as a reason and its detail."""
    if found.reason not in _OF_A_LOOP:
        return None
    place = found.inside[:2] if found.inside is not None else (found.filename, found.line)
    refused = (plan.why_refused for plan in capture.loops if (plan.filename, plan.line) == place)
    return next((cause for cause in refused if cause is not None and cause[0] not in _OF_A_LOOP), None)


def message(found: GraphBreak, capture: Capture) -> str:
    """Why a graph broke; for a call that was being inlined, also where in the callee."""
    message = breaks.message(found.reason, found.detail)
    if cause := _cause(found, capture):
        message = f"the loop cannot be a native loop: {breaks.message(*cause)}"
    if found.inside is None:
        return message
    filename, line, name = found.inside
    return f"{message} (in {name}, called here, {filename}:{line})"

"""Whole-program mode by the frame hook, which sees every frame: for the stress modes of tests.

``config.stress`` says what happens to a frame: passed through ("hook"), run from re-encoded bytecode ("rewrite"),
captured whatever it is ("compile"), with a break at every legal point ("break"), or compiled anew at each call
("miss"); without one, captured where it is worth it.
"""

from __future__ import annotations

import types

from dynamo_lite import _C, breaks
from dynamo_lite.compilation import Compilation
from dynamo_lite.config import config
from dynamo_lite.pycode import UnsupportedCode, UnsupportedOpcode, decode, encode


def enable() -> Compilation:
    """Start whole-program mode in the stress mode that `config` asks for; the Compilation that serves its frames."""
    compilation = Compilation(None, config.backend, fullgraph=False, config=config.replace(), name="whole program")
    _C.set_stress("all" if config.stress in ("compile", "break") else config.stress or None)
    if config.stress == "rewrite":
        _C.set_rewrite_callback(reencoded)
    _C.hook_enable(compilation.on_miss)
    return compilation


def disable() -> None:
    """End whole-program mode."""
    _C.hook_disable()
    _C.set_stress(None)


def reencoded(code: types.CodeType) -> types.CodeType | None:
    """`code` decoded and encoded again, with the functions and classes in it; None for what has no canonical form.

    Those within come at once: what is made at their first call would show, to a test that counts objects around it.
    """
    consts = tuple((type(const) is types.CodeType and _inner(const)) or const for const in code.co_consts)
    try:
        return encode(decode(code.replace(co_consts=consts)))
    except (UnsupportedOpcode, UnsupportedCode):
        return None


def _inner(code: types.CodeType) -> types.CodeType | None:
    made = reencoded(code)
    if made is not None:
        _C.mark_rewritten(made)
    return made


def frame_statistics() -> dict[str, int | dict[str, int]]:
    """Frames seen, captured and rewritten, captured ones whose rest ran plainly, and frames skipped by reason.

    A reason is a text of csrc/frame/eval_hook.h or an id of breaks.py.
    """
    stats = _C.frame_stats()
    texts, names = _C.frame_reasons(), list(breaks.NUMBERS)
    skipped: dict[str, int] = {}
    for number, count in stats["skipped"].items():
        name = texts[number] if number < len(texts) else names[number - _C.abi.FIRST_PIPELINE_REASON]
        skipped[name] = skipped.get(name, 0) + count
    return {
        "seen": stats["seen"],
        "captured": stats["captured"],
        "rewritten": stats["rewritten"],
        "plain_rests": stats["plain_rests"],
        "skipped": skipped,
    }

"""Every break reason has a message that reads with and without its detail, and a hint."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from dynamo_lite import breaks

PACKAGE = Path(breaks.__file__).parent


@pytest.mark.parametrize("reason", breaks.REASONS.values(), ids=lambda reason: reason.id)
def test_row(reason: breaks.Reason) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", reason.id)
    assert reason.kind in ("break", "skip")
    assert "{detail}" in reason.message
    assert not reason.message.endswith(".")
    assert reason.hint[0].isupper() and reason.hint.endswith(".")
    for text in (breaks.message(reason.id), breaks.message(reason.id, "{}%s")):
        assert "{detail}" not in text and text == text.strip()
    assert "{}%s" in breaks.message(reason.id, "{}%s")


def test_ids_are_unique_and_numbered_in_order() -> None:
    assert list(breaks.NUMBERS.values()) == list(range(len(breaks._ROWS)))


def test_every_id_that_capture_names_is_in_the_table() -> None:
    """Literal first arguments of SkipFrame(...), Break(...) and break_(...) calls."""
    unknown = []
    for path in (PACKAGE / "capture").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            value = node.args[0].value
            if name in ("SkipFrame", "Break", "GraphBreak") and isinstance(value, str) and value not in breaks.REASONS:
                unknown.append(f"{path.name}:{node.lineno}: {value}")
    assert not unknown


def test_every_row_has_a_use() -> None:
    texts = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "breaks.py"]
    assert not [name for name in breaks.REASONS if not any(f'"{name}"' in text for text in texts)]

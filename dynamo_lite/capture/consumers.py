"""What builtins do with the items of an iterator, as Python functions, which capture inlines: their loops stay loops.

``sum(f(x) for x in xs)`` is then the loop that it stands for (numbered.py has the items). What ``add`` may not do as an
operator of Python would, its rule in call_rules.py refuses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def add(total: Any, item: Any) -> Any:
    """One step of sum()."""
    return total + item


def sum_of(items: Iterable[Any], total: Any) -> Any:
    """sum(items, total)."""
    for item in items:
        total = add(total, item)
    return total


def list_of(items: Iterable[Any]) -> list[Any]:
    """list(items)."""
    found = []
    for item in items:
        found.append(item)
    return found


def any_of(items: Iterable[Any]) -> bool:
    """any(items)."""
    found = False
    for item in items:
        if item:
            found = True
            break
    return found


def all_of(items: Iterable[Any]) -> bool:
    """all(items)."""
    found = True
    for item in items:
        if not item:
            found = False
            break
    return found


__all__ = ["add", "all_of", "any_of", "list_of", "sum_of"]

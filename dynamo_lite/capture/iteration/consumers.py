"""What builtins do with the items of an iterator, as Python functions, which capture inlines: their loops stay loops.

``sum(f(x) for x in xs)`` is then the loop that it stands for: numbered.py has the items, or the function's loop is the
generator expression's own (consuming.py), so that each goes over its first parameter once, in one `for`, and knows no
global. What ``add`` and ``number`` may not do as Python's operators would, their rules in call_rules.py refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Step: TypeAlias = Callable[..., Any]  # a function that has a rule, or the user's


def add(total: Any, item: Any) -> Any:
    """One step of sum()."""
    return total + item


def compensates(total: Any, item: Any) -> bool:
    """Whether sum() carries on what this step rounds off."""
    return type(total) is float and type(item) is float


def settled(total: Any, added: float) -> Any:
    """The end of sum(), with what it has carried on, if these are floats."""
    return total + added if type(total) is float else total


def number(item: Any) -> Any:
    """An item of max() or min(), a number or NumPy scalar."""
    return item


def found(best: Any) -> Any:
    """What max() or min() has found; there has to be something."""
    return best


def sum_of(items: Iterable[Any], total: Any, add: Step) -> Any:
    """sum(items, total)."""
    for item in items:
        total = add(total, item)
    return total


def compensated_sum_of(items: Iterable[Any], total: Any, add: Step, compensates: Step, settled: Step) -> Any:
    """sum(items, total) from CPython 3.12 on: of floats by Neumaier's improved Kahan-Babuska algorithm. What it has
    rounded off is added at the end, unless it is 0 or not finite: -0.0 changes no float."""
    rest, added = 0.0, -0.0
    for item in items:
        if compensates(total, item):
            longer = total + item
            rest += (total - longer) + item if abs(total) >= abs(item) else (item - longer) + total
            added = 1.0 * (rest if rest != 0.0 and rest - rest == 0.0 else -0.0)  # NB: a new float in any case
            total = longer
        else:
            total = add(total, item)
    return settled(total, added)


def greatest_of(items: Iterable[Any], number: Step, found: Step) -> Any:
    """max(items)."""
    best = None
    for item in items:
        rank = number(item)
        if best is None or rank > best:
            best = rank
    return found(best)


def least_of(items: Iterable[Any], number: Step, found: Step) -> Any:
    """min(items)."""
    best = None
    for item in items:
        rank = number(item)
        if best is None or rank < best:
            best = rank
    return found(best)


def greatest_by(items: Iterable[Any], number: Step, found: Step, rank_of: Step) -> Any:
    """max(items, key=rank_of)."""
    best = chosen = None
    for item in items:
        rank = number(rank_of(item))
        if best is None or rank > best:
            best = rank
            chosen = item
    found(best)
    return found(chosen)


def least_by(items: Iterable[Any], number: Step, found: Step, rank_of: Step) -> Any:
    """min(items, key=rank_of)."""
    best = chosen = None
    for item in items:
        rank = number(rank_of(item))
        if best is None or rank < best:
            best = rank
            chosen = item
    found(best)
    return found(chosen)


def reduced(items: Iterable[Any], function: Step, number: Step, found: Step) -> Any:
    """functools.reduce(function, items)."""
    total = None
    for item in items:
        total = number(item) if total is None else number(function(total, item))
    return found(total)


def list_of(items: Iterable[Any]) -> list[Any]:
    """list(items)."""
    found = []
    for item in items:
        found.append(item)
    return found


def numbers_of(array: Any) -> list[Any]:
    """array.tolist() of one axis."""
    found = []
    for item in array:
        found.append(item.item())
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


def first_of(items: Iterable[Any], default: Any) -> Any:
    """next(items, default)."""
    found = default
    for item in items:
        found = item
        break
    return found


__all__ = [
    *(
        "add",
        "all_of",
        "any_of",
        "compensated_sum_of",
        "compensates",
        "first_of",
        "found",
        "greatest_by",
        "greatest_of",
    ),
    *("least_by", "least_of", "list_of", "number", "numbers_of", "reduced", "settled", "sum_of"),
]

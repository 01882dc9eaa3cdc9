"""Appends in the loops of random functions.

Enters the text of a function from random_loops.py or random_elements.py; leaves that of one which also appends to
lists: one of its own, one made in each iteration of the outer loop, and one that is an argument, the last.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.random_loops import half

_VALUES_OF_LOOPS = (
    *("{v}", "{v}", "{v} * 0.5", "{v} + {w}", "{v}[1:]", "{v}[::-1]", "{v}[i % 4]", "{v}[0] * 2", "{v}.sum()"),
    *("{v}.copy()", "(s, {v})", "[i, {w} * 2]", "({v}, {v})", "s", "t", "total", "f", "g", "j", "i", "j * 1000"),
    *("f * 0.5", "0.25", "q", "h", "True"),
)
_VALUES_OF_ELEMENTS = (
    *("a[i]", "a[i]", "b[i] * 2", "a[i - 1] + b[i]", "c[i, i]", "c[i]", "c[:, i]", "s", "s", "t", "t * 2", "g"),
    *("g * 0.5", "(a[i], b[i])", "[i, s]", "k", "k * 1000", "i", "i * i", "0.25", "h", "a[i] > b[i]"),
    *("np.sqrt(abs(a[i]))", "int(a[i])"),
)
_OF_ENDS = (
    *("own.append(own[-1] * 0.5)", "own.append(own[-1] + len(own))", "own[-1][:1] = len(nums)", "own[-1] + len(nums)"),
    *("nums.append(nums[-1] * 0.5 + len(own))", "nums.append(len(nums) * 1000)", "own.append(own[-1] * nums[-1])"),
    *("other = own; other.append(own[-1] - 1.0)", "y = own[-1]; y += 1.0", "own.append(own[-1])", "y = own[-1] * 2"),
    *("own.append(own[-1][::-1])", "nums.append(nums[-1])", "y = half(own[-1]); own.append(y); own.append(y * 2)"),
)
_ITEMS = ("out", "out", "out", "found", "row")


def with_ends(text: str, seed: int) -> str:
    """The text of f with a list of arrays and one of numbers, the last items and the lengths of which it looks at."""
    pick = random.Random(seed)
    head, *lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith(("for ", "while ")))
    made = [head.replace("):", ", found):"), *lines[:first], "    own = [a]; nums = [1.5]; y = None"]
    for line in lines[first:]:
        indent = line[: len(line) - len(line.lstrip())]
        if len(indent) >= 8 and not line.lstrip().startswith(("else", "elif")) and pick.random() < 0.15:
            made.append(indent + pick.choice(_OF_ENDS))
        made.append(line)
    made[-1] += ", own, nums, y, len(own)"
    return "\n".join(made) + "\n"


def with_lists(text: str, seed: int, elements: bool = False) -> str:
    """The text of f, changed."""
    pick = random.Random(seed)
    head, *lines = text.splitlines()
    made = [head.replace("):", ", found):")]
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith(("for ", "while ")))
    made += [*lines[:first], "    out = []; row = []; h = False" if not elements else "    out = []; row = []"]
    for line in lines[first:]:
        indent = line[: len(line) - len(line.lstrip())]
        begins = not line.lstrip().startswith(("else", "elif"))
        if len(indent) >= 8 and begins and pick.random() < 0.35:
            made += [indent + _append(pick, elements)]
        if len(indent) == 8 and begins and pick.random() < 0.05:
            made += [indent + "out.append(row); row = []"]
        made.append(line)
    made[-1] += ", out, row"
    return "\n".join(made) + "\n"


def _append(pick: random.Random, elements: bool) -> str:
    value = pick.choice(_VALUES_OF_ELEMENTS if elements else _VALUES_OF_LOOPS)
    value = value.format(v=pick.choice("abc"), w=pick.choice("abc"))
    return f"{pick.choice(_ITEMS)}.append({value})"


def function(text: str) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "half": half, "__name__": __name__}
    exec(compile(text, "<random lists>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made

"""Random loops over complex elements, with awkward numbers among them: bits, warnings and errors as in plain Python."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import OPTIONS
from tests.programs.test_random_elements import machines_of

BATCH = 10
AWKWARD = (0.0, -0.0, 1.0, -1.5, 1e-310, 7.3e180, -1e308, np.inf, -np.inf, np.nan, 2.5)
ELEMENTS = ("x[i]", "y[i]", "z", "x[i - 1]")
NUMBERS = ("x[i].real", "y[i].imag", "abs(x[i])", "w", "abs(z)")
PYTHONS = ("2", "0.5", "1j", "(1 - 2.5j)", "-3")


def of_number(source: random.Random, depth: int) -> str:
    if depth == 0:
        return source.choice(NUMBERS)
    number, element = of_number(source, depth - 1), of_element(source, depth - 1)
    both = f"({number} {source.choice('+-*')} {of_number(source, depth - 1)})"
    return source.choice((both, both, f"abs({element})", f"({element}).real", f"np.imag({element})"))


def of_element(source: random.Random, depth: int) -> str:
    if depth == 0:
        return source.choice(ELEMENTS)
    one, sign = of_element(source, depth - 1), source.choice("+-*/")
    both = f"({one} {sign} {of_element(source, depth - 1)})"
    others = (f"({one} {sign} {of_number(source, depth - 1)})", f"(-{one})", f"np.conj({one})", f"({one} ** 2)")
    return source.choice((both, both, both, both, *others, f"({one} {sign} {source.choice(PYTHONS)})"))


def text(seed: int) -> str:
    source = random.Random(seed)
    conditions = (
        f"{of_number(source, 1)} > 1.0",
        f"{of_element(source, 1)} == {of_element(source, 1)}",
        f"{of_element(source, 0)} != {of_element(source, 0)}",
    )
    return (
        "def f(x, y, n):\n"
        "    z, w, k = x[0], np.float64(0.5), 0\n"
        "    for i in range(1, n):\n"
        f"        z = {of_element(source, 2)}\n"
        f"        if {source.choice(conditions)}:\n"
        f"            z = {of_element(source, 1)}\n"
        "            k += 1\n"
        f"        w = {of_number(source, 2)}\n"
        f"        x[i] = {of_element(source, 2)}\n"
        "    return x, y, z, w, k\n"
    )


def function(seed: int) -> Any:
    name, lines = f"<complex {seed}>", text(seed)
    linecache.cache[name] = (len(lines), None, lines.splitlines(True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(lines, name, "exec"), names)
    return names["f"]


def arguments(seed: int, call: int) -> tuple[Any, ...]:
    draws = np.random.default_rng((seed, call))
    x, y = (draws.normal(size=9) + 1j * draws.normal(size=9) for _ in range(2))
    if call > 1:
        for one in (x, y):
            one[draws.integers(9)] = complex(*draws.choice(AWKWARD, 2))
    with np.errstate(all="ignore"):
        dtype = np.complex128 if seed % 4 else np.complex64
        return x.astype(dtype), y.astype(dtype), 9


@pytest.mark.parametrize("start", range(0, budget("COMPLEX_FUZZ", 40), BATCH))
def test_random_loops_over_complex_elements(start: int) -> None:
    """More: COMPLEX_FUZZ=2000."""
    machines = 0
    for seed in range(start, start + BATCH):
        try:
            report = require_equal(
                function(seed),
                lambda s=seed: arguments(s, 0),  # type: ignore[misc]
                variants=[lambda s=seed, call=call: arguments(s, call) for call in range(1, 7)],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
                conditions=Conditions(errstate={"all": "ignore"} if seed % 3 else {}),
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{text(seed)}")
            raise
        machines += bool(machines_of(report.compiled))
    assert machines >= BATCH // 4

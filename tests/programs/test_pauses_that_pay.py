"""Loops over single elements that print every now and then: judged with the loop between two prints, not without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite


def sums(x: Any, n: int, every: int) -> float:
    total = 0.0
    for i in range(n):
        total += x[i % len(x)] * 0.5
        if i % every == 0:
            print(i, total)
    return total


@pytest.mark.parametrize(("every", "pays"), [(500, True), (2, False)])
def test_what_is_between_two_prints_counts(every: int, pays: bool, capsys: pytest.CaptureFixture[str]) -> None:
    fast = dynamo_lite.compile(sums)
    x = np.random.default_rng(1).random(64)
    for _ in range(3):
        expected, text = sums(x, 4000, every), capsys.readouterr().out
        assert fast(x, 4000, every) == expected and capsys.readouterr().out == text
    before = fast.stats()["native_calls"]
    fast(x, 4000, every)
    assert (fast.stats()["native_calls"] > before + 4) is pays

"""set_stance(): everything plain for a comparison, and recompiles as errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, stance
from tests import watched


@pytest.fixture(autouse=True)
def default_afterwards() -> Iterator[None]:
    yield
    _C.watch(None, None, None)
    assert stance.current == "default"


def f(x: Any) -> Any:
    return x * 2.0 + 1.0


X = np.ones(1000)


def test_plain_calls_are_plain_and_what_is_compiled_stays() -> None:
    fast = dynamo_lite.compile(f, options={"cost_model": False})
    fast(X)
    before = fast.stats()
    with dynamo_lite.set_stance("force_plain"):
        assert (fast(X) == f(X)).all()
        later = dynamo_lite.compile(f)
        later(X)
        assert fast.stats() == before and not later.stats()["compiles"]
    fast(X)
    assert fast.stats()["hits"] == before["hits"] + 1
    later(X)
    assert later.stats()["compiles"] == 1


def test_watched_code_runs_plainly() -> None:
    fast: Any = watched.compile(f)
    with dynamo_lite.set_stance("force_plain"):
        for _ in range(4):
            fast(X)
        assert not fast.stats().get("native_calls")
    for _ in range(4):
        fast(X)
    assert fast.stats()["native_calls"]


def test_a_recompile_is_an_error() -> None:
    fast = dynamo_lite.compile(f)
    dynamo_lite.set_stance("fail_on_recompile")
    try:
        fast(X)
        fast(X)
        with pytest.raises(dynamo_lite.RecompileError, match="float32"):
            fast(X.astype(np.float32))
        fast(X)
    finally:
        dynamo_lite.set_stance("default")
    fast(X.astype(np.float32))
    assert fast.stats()["recompiles"] == 1


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="'force_plain'"):
        dynamo_lite.set_stance("plain")

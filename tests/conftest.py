"""What every test shares: the compiler under test and the backends it is tested on.

Tests that need the compiler skip only while it does not exist; once dynamo_lite/api.py is there, a failing import
fails them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import pytest

BACKENDS = ("reference", "numba")


@pytest.fixture(scope="session")
def compiler() -> Callable[..., Any]:
    """dynamo_lite.compile."""
    if importlib.util.find_spec("dynamo_lite.api") is None:
        pytest.skip("dynamo_lite.compile does not exist yet")
    function: Callable[..., Any] = importlib.import_module("dynamo_lite").compile
    return function


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend by name."""
    name: str = request.param
    return name


def budget(name: str, quick: int) -> int:
    """How many programs, calls ... a test makes: `quick`, or what the environment variable `name` says."""
    return int(os.environ.get(name, quick))

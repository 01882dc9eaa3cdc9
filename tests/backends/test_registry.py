"""Backends by name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dynamo_lite import backends
from dynamo_lite.errors import BackendError


def test_built_in_names() -> None:
    assert {"c", "numba", "reference"} <= set(backends.list_backends())
    assert callable(backends.resolve("numba")) and callable(backends.resolve("reference"))


def test_register_and_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_REGISTERED", {})

    def mine(graph: Any, example_inputs: Any) -> Any:
        return None

    backends.register_backend("mine", mine)
    assert "mine" in backends.list_backends() and backends.resolve("mine") is mine
    assert backends.resolve(mine) is mine


def test_unknown_names_are_listed() -> None:
    with pytest.raises(BackendError, match="c, numba, reference"):
        backends.resolve("nunba")
    with pytest.raises(BackendError, match="callable"):
        backends.register_backend("mine", 3)  # type: ignore[arg-type]
    with pytest.raises(BackendError):
        backends.register_backend("", print)


def test_what_compiles_kernels_is_imported_when_there_is_a_program_only() -> None:
    code = (
        "import sys, dynamo_lite.backends as b\n"
        "assert 'llvmlite' not in sys.modules and b.list_backends()\n"
        "assert 'llvmlite' not in sys.modules\n"
        "b.resolve('reference')\n"
        "assert 'llvmlite' not in sys.modules\n"
        "b.resolve('numba')\n"
        "assert 'llvmlite' not in sys.modules\n"
        "import numpy as np, dynamo_lite\n"
        "fast = dynamo_lite.compile(lambda x: np.sqrt(x) * 2.0 + x, options={'cost_model': False})\n"
        "assert fast(np.ones(3)).tolist() == [3.0, 3.0, 3.0] and fast.stats()['native_calls'] == 1\n"
        "assert 'llvmlite' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_compiles_kernels_is_imported_later_where_the_stack_is_short() -> None:
    """Such a call runs plainly, without a word; a later one is native."""
    code = (
        "import sys, warnings, numpy as np, dynamo_lite\n"
        "warnings.simplefilter('error')\n"
        "def program(x): return np.sqrt(x) * 2.0 + x\n"
        "fast = dynamo_lite.compile(program, options={'cost_model': False})\n"
        "def down(n): return fast(np.ones(3)) if n == 0 else down(n - 1)\n"
        "for n in (960, 0):\n"
        "    assert down(n).tolist() == [3.0, 3.0, 3.0]\n"
        "assert [skip.id for skip in fast.explain().skips] in (['recursion-limit'], []), fast.explain().skips\n"
        "assert fast.stats()['native_calls'] >= 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

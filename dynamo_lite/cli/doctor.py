"""``python -m dynamo_lite doctor``: does dynamo_lite work here? Each line is something that was really tried.

The checks run in order; a check that raises is reported as failed with its reason, and those after it still run. The
exit code is 1 if any failed.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite import _C, api, installation, stress
from dynamo_lite.config import config

Array = np.ndarray[Any, Any]


def doctor() -> int:
    """Print one line a check; 1 if any failed."""
    failed = False
    for name, check in _CHECKS:
        try:
            result = check()
            print(f"ok      {name}: {result}")
        except Exception as error:
            failed = True
            print(f"FAILED  {name}: {error or type(error).__name__}")
    return int(failed)


def _python() -> str:
    refusal = _C.hook_refusal()
    if refusal:
        raise RuntimeError(f"every function runs as plain Python: {refusal}")
    return f"{platform.python_implementation()} {sys.version.split()[0]} ({platform.machine()}), {sys.executable}"


def _packages() -> str:
    unknown = installation.unknown_version()
    if unknown:
        raise RuntimeError(f"every function runs as plain Python: {unknown}")
    return ", ".join(f"{name} {installation.installed(name)}" for name in installation.NEEDED)


def _llvm() -> str:
    llvmlite = importlib.import_module("llvmlite.binding")
    return f"imports, LLVM {'.'.join(map(str, llvmlite.llvm_version_info))} for {llvmlite.get_host_cpu_name()}"


def _extension() -> str:
    return str(_C.__file__)


def _compiler() -> str:
    name = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    path = shutil.which(name) or shutil.which("cc")
    if path is None:
        return f"{name} is not on the PATH (only needed to build the extension again)"
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return f"{path}: {version.splitlines()[0]}"


def _probe(x: Array) -> Any:
    return np.sqrt(x * x + 1.0) - 0.5


def _compiles() -> str:
    x = np.linspace(-2.0, 2.0, 1001)
    compiled = api.compile(_probe, options={"cost_model": False})
    try:
        if not np.array_equal(compiled(x), _probe(x)) or not np.array_equal(compiled(x[::-3]), _probe(x[::-3])):
            raise RuntimeError("a compiled function gave another result than plain Python")
        stats = compiled.stats()
        if not stats["native_calls"]:
            raise RuntimeError(f"the function ran as plain Python\n{compiled.explain()}")
        return f"{stats['native_calls']} native calls, compiled in {stats['compile_seconds']:.2f} s"
    finally:
        compiled.reset()


def _memory() -> str:
    if not _C.memory_install(config.pool_bytes, stay=True):
        return "off" if not config.pool_bytes else "not used: needs glibc, and NumPy's and Python's own allocators"
    try:
        for _ in range(3):  # the last finds what the one before it left; the C library had mapped the first by itself
            np.empty(2**20, np.uint8)
        found = _C.memory_stats()["hits"]
    finally:
        _C.memory_uninstall()
    if not found and config.pool_bytes >= 2**22:
        raise RuntimeError("an array did not take the memory of a dead one")
    return f"arrays take the memory of dead ones, of which {config.pool_bytes / 2**20:g} MB are held"


def _threads() -> str:
    count = _C.threads_count()
    if count == 1:
        return "kernels and reductions run on one thread"
    x = np.linspace(-2.0, 2.0, 200_001)
    compiled = api.compile(_probe, options={"cost_model": False})
    before, always = _C.threads_stats()["shared_runs"], _C.threads_always(True)
    try:
        if not np.array_equal(compiled(x), _probe(x)):
            raise RuntimeError("a kernel that threads shared gave another result than plain Python")
    finally:
        _C.threads_always(always)
        compiled.reset()
    if _C.threads_stats()["shared_runs"] == before:
        raise RuntimeError(f"none of {count} threads was at work")
    return f"up to {count} share big kernels and reductions"


def _callee() -> int:
    return 1


def _hook() -> str:
    before = stress.frame_statistics()["seen"]
    with config.patch(stress="hook"):
        stress.enable()
        try:
            _callee()
        finally:
            stress.disable()
    after = stress.frame_statistics()["seen"]
    if not isinstance(before, int) or not isinstance(after, int) or after <= before:
        raise RuntimeError("the frame hook saw no frame")
    return "sees the frames of other functions"


def _options() -> str:
    known = {item.metadata["env"] for item in dataclasses.fields(config)}
    changed = [name for name in sorted(os.environ) if name.startswith("DYNAMO_LITE_")]
    shown = (f"{name}={os.environ[name]}{'' if name in known else ' (no such option)'}" for name in changed)
    return ", ".join(shown) or "no DYNAMO_LITE_* variable is set"


_CHECKS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("python", _python),
    ("packages", _packages),
    ("llvmlite", _llvm),
    ("extension", _extension),
    ("C compiler", _compiler),
    ("frame hook", _hook),
    ("compiling", _compiles),
    ("array memory", _memory),
    ("threads", _threads),
    ("environment", _options),
)

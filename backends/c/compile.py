"""Compiles kernels by the system's C compiler to shared objects, and loads them.

Enters (Kernel or Machine, classes) from the launcher the first time it meets a stride pattern; leaves a CompiledKernel
whose address C calls. A loop and the kernels that it launches are one file. Nothing stays on disk: a shared object is
unlinked as soon as it is loaded. INVARIANT: a CompiledKernel keeps its shared object, and a program its
CompiledKernels, so an address never dangles; what nobody keeps is unloaded.
"""

from __future__ import annotations

import _ctypes
import ctypes
import functools
import os
import platform
import shlex
import shutil
import subprocess
import tempfile

import numpy as np
from dynamo_lite.backends.c.c_text import PRELUDE
from dynamo_lite.backends.c.emit import Loops, emit
from dynamo_lite.backends.c.emit_loop import emit_loop
from dynamo_lite.backends.kernels.functions import function_of, routine_of
from dynamo_lite.backends.kernels.kept import Kept

from dynamo_lite._C import CompiledKernel, abi, unseen
from dynamo_lite.errors import BackendError
from dynamo_lite.program.ir import Function, Routine
from dynamo_lite.schedule.steps import Kernel, KernelOp, Machine

NAME = "kernel"
# What GCC needs to keep floating-point flags. It moves an operation into the branch that alone needs it (tree-sink,
# tree-ter), and with AVX-512 computes under the mask of the choice behind it: both lose the flags of other elements.
FLAGS = [
    *("-std=gnu11", "-O3", "-fPIC", "-shared", "-w", "-x", "c", "-ffp-contract=off", "-ftrapping-math"),
    *("-fsignaling-nans", "-fno-math-errno", "-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    *("-fno-tree-sink", "-fno-tree-ter"),
]
OF_MACHINE = {"x86_64": ["-march=native", "-mno-avx512f"]}
LONGEST = 300  # seconds that a compiler may take
_ROOM_FOR_FENV = 256  # bytes, more than a fenv_t has anywhere


class _Library:
    """A shared object, unloaded when nobody keeps it.

    NB: one that was linked with -ffast-math, as the environment's CC may say, makes the thread that loads it flush
    subnormal numbers to zero, for good; so the floating-point environment is put back.
    """

    def __init__(self, path: str) -> None:
        libm, environment = ctypes.CDLL(None), ctypes.create_string_buffer(_ROOM_FOR_FENV)
        libm.fegetenv(environment)
        try:
            self.library = ctypes.CDLL(path)
        finally:
            libm.fesetenv(environment)
        self.address = ctypes.cast(getattr(self.library, NAME), ctypes.c_void_p).value or 0

    def __del__(self, unload=_ctypes.dlclose) -> None:  # type: ignore[no-untyped-def]
        if hasattr(self, "library"):
            unload(self.library._handle)


@functools.cache
def compiler() -> tuple[str, ...]:
    """The command of the C compiler: that of the environment's CC, or cc."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    found = shutil.which(command[0])
    if found is None:
        raise BackendError("c", f"there is no C compiler {command[0]!r}: install one, or name it by CC")
    return (found, *command[1:])


def compile_text(text: str) -> _Library:
    """The shared object of a C file that defines NAME."""
    with tempfile.TemporaryDirectory(prefix="dynamo_lite-") as folder:
        path = os.path.join(folder, "kernel.so")
        command = [*compiler(), *FLAGS, *OF_MACHINE.get(platform.machine(), []), "-o", path, "-", "-lm"]
        # In a session of its own: an interrupt from the keyboard is for the program.
        done = subprocess.run(
            command, input=PRELUDE + text, text=True, capture_output=True, check=False, timeout=LONGEST,
            start_new_session=True,
        )  # fmt: skip
        if done.returncode != 0:
            raise BackendError("c", f"{command[0]} failed: {(done.stderr.strip() or 'without a word').splitlines()[0]}")
        return _Library(path)


# Which flags a kernel has set.
TRIAL = """
int fetestexcept(int); int feclearexcept(int);
i32 kernel(i64 *block, i64 n)
{
    feclearexcept(31);
    i32 status = tried(block, n), flags = fetestexcept(31);
    feclearexcept(31);
    return status ? -1 : flags;
}
"""
INVALID, DIVIDE = 1, 4


@functools.cache
def try_out() -> None:
    """Compile a choice of a quotient, and a root that nobody needs; BackendError where their flags get lost."""
    real, flag = np.dtype(np.float64), np.dtype(np.bool_)
    ops = (
        KernelOp("less", (0, 1), (real, real), (flag,)),
        KernelOp("divide", (0, 1), (real, real), (real,)),
        KernelOp("where", (2, 3, 1), (flag, real, real), (real,)),
        KernelOp("sqrt", (0,), (real,), (real,)),
    )
    function = function_of(Kernel((real, real), ops, (4,)), abi.CLASS_PACKED * 3, None)
    code = compile_text(emit(function, "tried") + TRIAL)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_ssize_t)(code.address)
    for value, divisor, expected in ((1.0, 0.0, DIVIDE), (-1.0, -2.0, INVALID), (1.0, float("nan"), 0)):
        for n in (1, 64):
            arrays = [np.full(n, one) for one in (value, divisor, 0.0)]
            scratch = np.zeros(function.scratch_bytes, np.uint8)
            words = [word for one in arrays for word in (one.ctypes.data, one.itemsize)]
            flags = run((ctypes.c_ssize_t * (len(words) + 1))(*words, scratch.ctypes.data), n)
            if flags < 0 or flags & (INVALID | DIVIDE) != expected:
                raise BackendError("c", f"{compiler()[0]} makes code that sets other floating-point flags than NumPy's")


_KEPT = Kept()


def _before_fork() -> None:
    _KEPT.lock.acquire()


def _after_fork() -> None:
    _KEPT.lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def compile_kernel(kernel: Kernel | Machine, classes: str) -> CompiledKernel:
    """The machine code of `kernel` for these stride classes, made now or before; keep[1]: its Function or Routine."""
    # NB: a frame that the hook compiled meanwhile would wait for the lock for ever.
    return unseen(_find, kernel, classes)


def _find(kernel: Kernel | Machine, classes: str) -> CompiledKernel:
    if isinstance(kernel, Kernel):
        return _KEPT.find((kernel, classes), lambda: _of_kernel(kernel, classes))
    routine = routine_of(kernel, classes)
    text, loops, scratch_bytes = emit_loop(routine, NAME)
    return _KEPT.find((text, tuple(loops)), lambda: _compiled(text, loops, scratch_bytes, routine))


def _of_kernel(kernel: Kernel, classes: str) -> CompiledKernel:
    function = function_of(kernel, classes, None)
    loops = [(loop.ufunc, loop.dtypes) for loop in function.loops]
    return _compiled(emit(function, NAME), loops, function.scratch_bytes, function)


def _compiled(text: str, loops: Loops, scratch_bytes: int, made: Function | Routine) -> CompiledKernel:
    library = compile_text(text)
    return CompiledKernel(library.address, tuple(loops), scratch_bytes, (library, made))

"""Compiles kernels to machine code and keeps them for the process.

Enters (Kernel, classes) from the launcher the first time it meets a stride pattern; leaves a CompiledKernel whose
address C calls. Equal kernels are compiled once, whichever program asks. The LLVM text goes straight to llvmlite, the
code generator under Numba: Numba's own front end measured 65-185 ms a kernel (0.7 s for a process's first) against
5-10 ms, for the same machine code. INVARIANT: compiled code lives as long as the process, so an address never
dangles.
"""

from __future__ import annotations

import contextvars
import os
import threading
from typing import Any, TypeAlias

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from dynamo_lite.backends.numba import machine
from dynamo_lite.backends.numba.codegen import generate
from dynamo_lite.backends.numba.fold import generate_fold, plan_fold
from dynamo_lite.backends.numba.iterate import generate_iterations, plan_iterations
from dynamo_lite.backends.numba.machine_vectors import NAME
from dynamo_lite.backends.numba.plan import Plan, plan

from dynamo_lite._C import CompiledKernel, unseen
from dynamo_lite.schedule.steps import DType, Kernel, Machine

Loops: TypeAlias = tuple[tuple[Any, tuple[DType, ...]], ...]  # NumPy's, each of a function for some dtypes


class _Engine:
    """LLVM for this process's CPU."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=2,
            codemodel="jitdefault",
            jit=True,
        )
        self.engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.machine)

    def module(self, text: str) -> Any:
        module = llvm.parse_assembly(text)
        module.verify()
        return module

    def load(self, text: str, name: str) -> int:
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(self.machine.emit_object(self.module(text))))
        self.engine.finalize_object()
        return int(self.engine.get_function_address(name))


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.engine: _Engine | None = None
        self.kernels: dict[tuple[Kernel, str], CompiledKernel] = {}
        self.machines: dict[tuple[str, Loops], CompiledKernel] = {}  # by their text and what it calls

    def start(self) -> _Engine:
        if self.engine is None:
            self.engine = _Engine()
        return self.engine


_STATE = _State()


def _after_fork() -> None:
    """In a forked child no other thread lives that could still release the lock."""
    _STATE.lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def compile_kernel(kernel: Kernel | Machine, classes: str) -> CompiledKernel:
    """The machine code of `kernel` for these stride classes, compiled now or earlier; ``keep`` is its Plan."""
    # NB: a frame that the hook compiled meanwhile would wait for the lock for ever.
    return unseen(_compile_machine if isinstance(kernel, Machine) else _compile_kernel, kernel, classes)


def _compile_kernel(kernel: Kernel, classes: str) -> CompiledKernel:
    key = (kernel, classes)
    with _STATE.lock:
        found = _STATE.kernels.get(key)
        if found is None:
            # As for all compiling: an interrupt must not leave an errstate behind.
            found = _STATE.kernels[key] = contextvars.copy_context().run(_compile, kernel, classes)
        return found


def _compile_machine(loop: Machine, classes: str) -> CompiledKernel:
    """The machine code of a loop; loops with the same text share it, unless that calls other functions of NumPy's."""
    text, ops, scratch_bytes = machine.generate(loop, classes)
    loops = tuple((op.param, (*op.in_dtypes, *op.dtypes)) for op in ops)
    with _STATE.lock:
        found = _STATE.machines.get((text, loops))
        if found is None:
            name = f"machine{len(_STATE.machines)}"
            run = contextvars.copy_context().run
            address = run(_STATE.start().load, text.replace(NAME, name), name)
            found = _STATE.machines[text, loops] = CompiledKernel(address, loops, scratch_bytes, text)
        return found


def _compile(kernel: Kernel, classes: str) -> CompiledKernel:
    name = f"kernel{len(_STATE.kernels)}"
    text, planned = _text(kernel, classes, name)
    address = _STATE.start().load(text, name)
    loops = tuple((kernel.ops[i].param, (*kernel.ops[i].in_dtypes, *kernel.ops[i].dtypes)) for i in planned.loops)
    return CompiledKernel(address, loops, planned.scratch_bytes, planned)


def _text(kernel: Kernel, classes: str, name: str) -> tuple[str, Plan]:
    """The LLVM module text that defines `name`, and the plan it follows."""
    if kernel.next:
        iterations = plan_iterations(kernel, classes)
        return generate_iterations(iterations, name), iterations.plan
    if kernel.fold is not None and classes.rstrip("!").endswith("i"):
        planned = plan_fold(kernel, classes)
        return generate_fold(planned, name), planned
    planned = plan(kernel, classes)
    return generate(planned, name), planned


def assembly(kernel: Kernel, classes: str) -> str:
    """The assembly of a kernel, for reading."""
    with _STATE.lock:
        engine = _STATE.start()
        return str(engine.machine.emit_assembly(engine.module(_text(kernel, classes, "kernel")[0])))

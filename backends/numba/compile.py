"""Compiles kernels to machine code and keeps them while a program has them, and the latest ones.

Enters (Kernel, classes) from the launcher the first time it meets a stride pattern; leaves a CompiledKernel whose
address C calls. Equal kernels are compiled once, whichever program asks. The LLVM text goes straight to llvmlite, the
code generator under Numba: Numba's own front end measured 65-185 ms a kernel (0.7 s for a process's first) against
5-10 ms, for the same machine code. INVARIANT: a CompiledKernel keeps its machine code, and a program its
CompiledKernels, so an address never dangles; code that nobody keeps is freed, a few kernels at a time.
"""

from __future__ import annotations

import itertools
import mmap
import os
from typing import Any, TypeAlias

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from dynamo_lite.backends.kernels import PLACE
from dynamo_lite.backends.kernels.functions import routine_of
from dynamo_lite.backends.kernels.kept import Kept
from dynamo_lite.backends.numba.emit_loop import NAME, emit_loop
from dynamo_lite.backends.numba.functions import emit_function, function_of, of_single_elements

from dynamo_lite._C import CompiledKernel, abi, unseen
from dynamo_lite.config import config, current
from dynamo_lite.schedule.steps import DType, Kernel, Machine

Loops: TypeAlias = tuple[tuple[Any, tuple[DType, ...]], ...]  # NumPy's, each of a function for some dtypes


TOGETHER = 16  # kernels whose machine code is freed together: an engine takes about 60 kB and 1 ms beside them
ROOM, ROOM_EACH = 16 << 20, 4 << 10  # address space: more than compiling takes, in all and for a character of the text


class _Code:
    """Machine code of a few kernels. llvmlite frees it with its engine."""

    def __init__(self, machine: Any) -> None:
        self.engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self.count = 0

    def add(self, object_code: bytes, name: str) -> int:
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        self.engine.finalize_object()
        self.count += 1
        address = int(self.engine.get_function_address(name))
        if config.perf_map:
            _note_for_perf(address, object_code, name)
        return address


def _note_for_perf(address: int, object_code: bytes, name: str) -> None:
    """Name machine code for Linux's perf: begin and size in hexadecimal digits, name, and where in the user's source it
    comes from. The form is perf's (tools/perf/Documentation/jit-interface.txt); CPython writes its own trampolines
    (``-X perf``) into the same file."""
    sections = llvm.ObjectFileRef.from_data(object_code).sections()
    size = sum(section.size() for section in sections if section.is_text())
    with open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="utf-8") as names:
        names.write(f"{address:x} {size:x} dynamo_lite:{name} {PLACE.get()}\n")


class _Engine:
    """LLVM for this process's CPU."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.machine = self.new_machine()
        self.quick = self.new_machine(0)  # for single elements, and what is not known to last
        self.code = _Code(self.new_machine())
        self.numbers = itertools.count()

    def new_machine(self, level: int = 1) -> Any:
        """NB: level 2 differs from 1 in a second pass over the order of instructions, for some processors: an eighth of
        the time, for code that is as fast. Without optimisation at all code is made in a third of the time, that of
        long loops in a sixth, and has 0.6 of the speed."""
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=level,
            codemodel="jitdefault",
            jit=True,
        )

    def module(self, text: str) -> Any:
        """A module in a context of its own, which takes its types and constants along when it goes."""
        module = llvm.parse_assembly(text, llvm.create_context())
        if current().check:
            module.verify()
        return module

    def load(self, text: str, name: str, quickly: bool = False) -> tuple[int, _Code]:
        """The address of `name`, and what keeps it valid. quickly: its speed does not matter."""
        _check_room(len(text))
        if self.code.count >= TOGETHER:
            self.code = _Code(self.new_machine())
        code = self.code  # NB: what runs in between, a finalizer, may compile, too
        machine = self.quick if quickly else self.machine
        return code.add(machine.emit_object(self.module(text)), name), code


def _check_room(characters: int) -> None:
    """MemoryError where LLVM might find too little address space: it does not report that, but ends the process."""
    try:
        mmap.mmap(-1, ROOM + ROOM_EACH * characters, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError("too little memory is left to compile a kernel") from error


class _State(Kept):
    def __init__(self) -> None:
        super().__init__()
        self.engine: _Engine | None = None

    def start(self) -> _Engine:
        if self.engine is None:
            _check_room(0)
            self.engine = _Engine()
        return self.engine


_STATE = _State()


def _before_fork() -> None:
    """No other thread is to be compiling then: in the child it would be gone and hold its locks for ever."""
    _STATE.lock.acquire()
    _LLVM_LOCK.__enter__()


def _after_fork() -> None:
    _LLVM_LOCK.__exit__(None, None, None)
    _STATE.lock.release()


_LLVM_LOCK = llvm.ffi.lib._lock  # around each call into LLVM, whoever makes it; llvmlite has no public name for it
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def compile_kernel(kernel: Kernel | Machine, classes: str) -> CompiledKernel:
    """The machine code of `kernel` for these stride classes, made now or before; keep[1]: its Function or Routine."""
    # NB: a frame that the hook compiled meanwhile would wait for the lock for ever.
    return unseen(_compile_machine if isinstance(kernel, Machine) else _compile_kernel, kernel, classes)


def _compile_kernel(kernel: Kernel, classes: str) -> CompiledKernel:
    return _STATE.find((kernel, classes), lambda: _compile(kernel, classes))


def _compile_machine(loop: Machine, classes: str) -> CompiledKernel:
    """The machine code of a loop; loops with the same text share it, unless that calls other functions of NumPy's."""
    routine, quickly = routine_of(loop, classes), not classes.endswith(abi.ASKS_LASTING)
    text, loops, scratch_bytes = emit_loop(routine)

    def load() -> CompiledKernel:
        engine = _STATE.start()
        name = f"machine{next(engine.numbers)}"
        address, code = engine.load(text.replace(NAME, name), name, quickly)
        return CompiledKernel(address, loops, scratch_bytes, (code, routine), quickly)

    return _STATE.find((text, loops, quickly), load)


def _compile(kernel: Kernel, classes: str) -> CompiledKernel:
    engine = _STATE.start()
    name = f"kernel{next(engine.numbers)}"
    function = function_of(kernel, classes)
    single, lasts = of_single_elements(kernel, classes), abi.ASKS_LASTING in classes
    address, code = engine.load(emit_function(function, name), name, single or not lasts)
    loops = tuple((loop.ufunc, loop.dtypes) for loop in function.loops)
    return CompiledKernel(address, loops, function.scratch_bytes, (code, function), not single and not lasts)


def assembly(kernel: Kernel, classes: str) -> str:
    """The assembly of a kernel, for reading."""
    with _STATE.lock:
        engine = _STATE.start()
        return str(engine.machine.emit_assembly(engine.module(emit_function(function_of(kernel, classes), "kernel"))))

"""Runs one compiled kernel on 1-d arrays, without a program around it.

Enters a Kernel and arrays; leaves the results and the floating-point flags it set. The invoke function is a
few lines of LLVM text, so the test needs no C compiler.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from dynamo_lite.backends.kernels.loops import StridedLoop
from dynamo_lite.backends.numba import compile as numba_compile

from dynamo_lite._C import CompiledKernel, abi
from dynamo_lite.schedule.steps import Kernel, KernelOp

Array = np.ndarray[Any, Any]

FLAGS = {"invalid": 1, "divide": 4, "over": 8, "under": 16}

_TEXT = """
define i32 @test_invoke(ptr %slot, ptr %args, i64 %n, ptr %strides) {
  %count = alloca i64
  store i64 %n, ptr %count
  %at1 = getelementptr i64, ptr %slot, i64 1
  %loop = load ptr, ptr %at1
  %at2 = getelementptr i64, ptr %slot, i64 2
  %context = load ptr, ptr %at2
  %at3 = getelementptr i64, ptr %slot, i64 3
  %aux = load ptr, ptr %at3
  %status = call i32 %loop(ptr %context, ptr %args, ptr %count, ptr %strides, ptr %aux)
  ret i32 %status
}
"""

compile_kernel = numba_compile.compile_kernel  # under test; test_c.py has another one here
_kernel_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_ssize_t)
_MATH = ctypes.CDLL(ctypes.util.find_library("m"))  # its functions see the flags of the x87, too, which some of C's set


@functools.cache
def _invoke() -> tuple[int, object]:
    """The address of a function that calls a NumPy loop, and what keeps it."""
    return numba_compile._STATE.start().load(_TEXT, "test_invoke")


def classes_of(kernel: Kernel, arrays: list[Array]) -> str:
    """The stride class of each 1-d (or 0-d) array."""

    def letter(array: Array) -> str:
        stride = array.strides[0] if array.ndim else 0
        return "c" if stride == array.itemsize else "0" if stride == 0 else "s"

    return "".join(map(letter, arrays))


def run_kernel(kernel: Kernel, operands: list[Array], results: list[Array]) -> set[str]:
    """Fill `results`; return the names of the floating-point flags that were set. Optimised code does the same.

    The kernel may say that a NaN was met, of which the callers ask no more than that it is one.
    """
    before = [array.copy() for array in (*operands, *results)]

    def run_from_there(options: str) -> tuple[int, set[str]]:
        for array, held in zip((*operands, *results), before, strict=True):
            if array.flags.writeable:
                array[...] = held
        return _run(kernel, operands, results, options)

    lasting_status, lasting_flags = run_from_there(abi.ASKS_LASTING)
    lasting = [array.copy() for array in results]
    status, flags = run_from_there("")
    assert (status, flags) == (lasting_status, lasting_flags)
    for one, other in zip(results, lasting, strict=True):
        assert one.tobytes() == other.tobytes() or (status and np.array_equal(one, other, equal_nan=True))
    if status & abi.RETURNED_MET_DOUBT:  # as the launcher does, the next time
        status, flags = run_from_there(abi.ASKS_LOOPS)
    assert status in (0, abi.RETURNED_MET_NAN)
    return flags


def _run(kernel: Kernel, operands: list[Array], results: list[Array], options: str) -> tuple[int, set[str]]:
    """The kernel's status and the flags it sets."""
    arrays = [*operands, *results]
    classes = classes_of(kernel, arrays)
    n = max((len(array) for array in arrays if array.ndim), default=1)
    return run_compiled(compile_kernel(kernel, classes + options), arrays, n=n)


def run_compiled(
    compiled: CompiledKernel, arrays: list[Array], *, n: int, behind: Sequence[int] = ()
) -> tuple[int, set[str]]:
    """The status and the flags of machine code on arrays; behind: the words after those of the loops."""
    invoke, _ = _invoke()
    loops = [StridedLoop(ufunc, dtypes) for ufunc, dtypes in compiled.loops]
    scratch = np.empty(compiled.scratch_bytes + 64, np.uint8)
    block: list[int] = []
    for array in arrays:
        block += [array.ctypes.data, array.strides[-1] if array.ndim else 0]
    block.append((scratch.ctypes.data + 63) // 64 * 64)
    for loop in loops:
        block += [invoke, loop.info.strided_loop, loop.info.context or 0, loop.info.auxdata or 0, 0, 0]
    block += behind
    words = (ctypes.c_ssize_t * len(block))(*block)
    function = _kernel_type(compiled.address)
    _MATH.feclearexcept(sum(FLAGS.values()))
    status = function(words, n)
    flags = _MATH.fetestexcept(sum(FLAGS.values()))
    return status, {name for name, bit in FLAGS.items() if flags & bit}


def run_emitted(text: str, name: str, arrays: list[Array], *, n: int) -> tuple[int, set[str]]:
    """The status and the flags of the function `name` of a module of LLVM text, which calls no loop of NumPy's."""
    address, code = numba_compile._STATE.start().load(text, name)
    return run_compiled(CompiledKernel(address, (), 64, (code,)), arrays, n=n)


def one_op(name: str, in_dtypes: tuple[str, ...], out_dtype: str, param: Any = None) -> Kernel:
    """A kernel of one operation."""
    dtypes = tuple(map(np.dtype, in_dtypes))
    op = KernelOp(name, tuple(range(len(dtypes))), dtypes, (np.dtype(out_dtype),), param)
    return Kernel(dtypes, (op,), (len(dtypes),))

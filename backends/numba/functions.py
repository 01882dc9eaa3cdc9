"""The functions of kernels by vectors of this processor, and which emitter writes which."""

from __future__ import annotations

from dynamo_lite.backends.kernels import functions
from dynamo_lite.backends.numba import llvm_text
from dynamo_lite.backends.numba.emit import emit
from dynamo_lite.backends.numba.emit_fold import emit_fold
from dynamo_lite.backends.numba.emit_iterations import emit_iterations
from dynamo_lite.backends.numba.llvm_text import vector_register

from dynamo_lite._C import abi
from dynamo_lite.program.ir import Function
from dynamo_lite.program.vectorise import VECTOR_BYTES, Lanes
from dynamo_lite.schedule.steps import Kernel


def of_single_elements(kernel: Kernel, classes: str) -> bool:
    """Whether a kernel goes over single elements alone, so that its speed does not matter; a mere fill may be long."""
    return bool(kernel.ops) and set(classes[: len(kernel.operand_dtypes)]) == {abi.CLASS_SINGLE}


def function_of(kernel: Kernel, classes: str) -> Function:
    """The function of a kernel, ready to be written."""
    lanes = Lanes(llvm_text.can_mask, llvm_text.can_scatter, vector_register()[1] == VECTOR_BYTES)
    return functions.function_of(kernel, classes, None if of_single_elements(kernel, classes) else lanes)


def emit_function(function: Function, name: str) -> str:
    """The LLVM module text that defines `name`."""
    if function.axes:
        return emit_fold(function, name)
    if function.iterations is not None and not function.loops:
        return emit_iterations(function, name)
    return emit(function, name)

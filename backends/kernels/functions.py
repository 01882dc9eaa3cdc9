"""Makes the functions of the loop-level program that kernels and loops are compiled from: the passes, in order.

Enters a Kernel or a Machine and its stride classes (csrc/abi.def); leaves a Function or a Routine, which a backend
writes as text. Which vectors there are is the backend's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from dynamo_lite.backends.kernels.complexes import is_fused
from dynamo_lite.backends.kernels.divisions import compiled_division
from dynamo_lite.backends.kernels.extremes import compiled_extreme, known_extreme
from dynamo_lite.backends.kernels.lengths import compiled_length
from dynamo_lite.backends.kernels.loops import loop_fits_numbers

from dynamo_lite._C import abi
from dynamo_lite.config import current
from dynamo_lite.program.build import build, build_fold, divided
from dynamo_lite.program.build_loop import build_loop, machine_form
from dynamo_lite.program.element_ops import class_of
from dynamo_lite.program.flatten import flatten
from dynamo_lite.program.hoist import hoist
from dynamo_lite.program.ir import Element, Function, Keep, Routine, Store, walk
from dynamo_lite.program.keep import keep
from dynamo_lite.program.pairs import pairs
from dynamo_lite.program.place import place
from dynamo_lite.program.promote import promote
from dynamo_lite.program.ranges import ranges
from dynamo_lite.program.share import share
from dynamo_lite.program.split import split
from dynamo_lite.program.vectorise import Lanes, vectorise
from dynamo_lite.program.watch import ARISEN, EACH, tests_of, watch
from dynamo_lite.schedule.steps import Kernel, Loop, Machine


def options(classes: str) -> tuple[str, tuple[bool, ...]]:
    """The classes, and which of ASKS_ROWS, ASKS_LOOPS, ASKS_STRICT, ASKS_ARISEN, ASKS_EACH, ASKS_DIVISION stand behind
    them."""
    asks = (abi.ASKS_ROWS, abi.ASKS_LOOPS, abi.ASKS_STRICT, abi.ASKS_ARISEN, abi.ASKS_EACH, abi.ASKS_DIVISION)
    bare = classes.rstrip("".join(asks) + abi.ASKS_LASTING)
    return bare, tuple([letter in classes[len(bare) :] for letter in asks])


def function_of(kernel: Kernel, classes: str, lanes: Lanes | None) -> Function:
    """The function of a kernel, ready to be written; without `lanes` its loops are not by vectors. Letters behind the
    classes: "r" asks for a loop over rows, "t" for NumPy's own loops for what may be in doubt, "!" for one that
    looks which NaNs go in, "~" and arise, "?" which meet, "/" for divisions by numbers as they are. ASKS_LASTING is for
    who makes the code."""
    classes, (with_rows, by_loops, strict, arisen, each, divides) = options(classes)
    by_vectors = () if lanes is None else (partial(vectorise, lanes=lanes),)
    compiled = known_extreme if by_loops else partial(_compiled, strict=strict)

    def change(op: Element) -> Element:
        return compiled(divided(op) if divides else op)

    if kernel.fold is not None and classes.endswith(abi.CLASS_ITERATED):
        return _through(build_fold(kernel, classes, change), (hoist, *by_vectors, place))
    parts = partial(pairs, fused=is_fused, strict=strict)
    how_strict = EACH if each else ARISEN if arisen else int(strict)
    passes = (split, parts, keep, hoist, *by_vectors, partial(watch, strict=how_strict), place)
    return _through(build(kernel, classes, with_rows, change), passes)


def _compiled(op: Element, strict: bool) -> Element:
    """The operation, compiled where its bits are known but for what is in doubt."""
    return compiled_length(compiled_division(compiled_extreme(op, strict), strict), strict)


def machine(loop: Loop) -> Machine | None:
    """The machine form of a loop, None if it has none."""
    return machine_form(loop, loop_fits_numbers)


def routine_of(loop: Machine, classes: str) -> Routine:
    """The routine of a loop, ready to be written."""
    bare = classes.removesuffix(abi.ASKS_LASTING)
    return _through(build_loop(loop, bare, loop_fits_numbers), (ranges, share, flatten, promote))


Either = TypeVar("Either", Function, Routine)


def _through(function: Either, passes: Sequence[Callable[[Either], Either]]) -> Either:
    """The function after these passes; where checks are asked for, each has to leave a sound one."""
    check = _verify if current().check else _take
    for one in passes:
        check(function)
        function = one(function)
    check(function)
    return function


def _take(function: Function | Routine) -> None:
    """As it is."""


def _verify(function: Function | Routine) -> None:
    from dynamo_lite.program.verify import verify

    verify(function)


FOLDS = {"add": "iuf", "multiply": "iu", "maximum": "iuf", "minimum": "iuf"}  # and the classes of dtypes
MOST_FOLDED = 40  # operations of a kernel that folds


def folds(kernel: Kernel, ufunc: np.ufunc) -> bool:
    """Whether the kernel can fold its values itself: all compiled, and what happens in one shows in the result."""
    dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
    kind = class_of(dtypes[kernel.results[0]])
    if any(dtype.kind == "c" for dtype in dtypes):
        return False
    few = len(kernel.operand_dtypes) <= abi.FOLD_OPERANDS and len(kernel.ops) <= MOST_FOLDED
    if not few or kind not in FOLDS.get(ufunc.__name__, "") or any(op.op == "loop" for op in kernel.ops):
        return False
    function = keep(build(kernel, abi.CLASS_PACKED * (len(kernel.operand_dtypes) + 1)))
    nodes = tuple(walk(function.body))
    (stored,) = (node.value for node in nodes if isinstance(node, Store))
    tests, _ = tests_of([node for node in nodes if isinstance(node, Element)], set())
    return not any(isinstance(node, Keep) for node in nodes) and set(tests) <= ({stored} if kind == "f" else set())

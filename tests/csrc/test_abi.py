"""What C and Python agree on is written once, in csrc/abi.def, and read from there by both."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import FOLDS
from dynamo_lite.backends.numba import TARGET, emit_loop, functions
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite import _C, breaks
from dynamo_lite._C import abi
from dynamo_lite.capture import region
from dynamo_lite.capture.arrays import masks
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.loops import loops
from dynamo_lite.config import STRESS_MODES
from dynamo_lite.graph import scalar
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.program import build_loop, build_numbers, evaluate_loop, helpers, ir, place
from dynamo_lite.schedule import iterate, steps
from dynamo_lite.schedule.steps import Kernel, KernelOp
from tests.backends.kernel_call import one_op

ROOT = Path(__file__).parent.parent.parent
PREFIXES = {"ABI": "", "TEXT": "", "RETURNED": "RETURNED_", "STRIDE_CLASS": "CLASS_"}
ROWS = re.findall(r"^(\w+)\((\w+), ", (ROOT / "csrc" / "abi.def").read_text(), re.MULTILINE)
NAMES = [PREFIXES[kind] + name for kind, name in ROWS if kind in PREFIXES]
TABLES = ["HELPERS", "LINALG", "NUMBER_KINDS", "SCALAR_OPS", "VIEW_KINDS", "STEPS"]

# What once stood in Python, too, under a comment: where Python has to read it now.
READERS = {
    "MAX_DIMS": "dynamo_lite/graph/types.py",
    "BLOCK_INPUTS": "dynamo_lite/schedule/blocks.py",
    "EQUAL_DEPTH": "dynamo_lite/guards/twin.py",
    "FIRST_PIPELINE_REASON": "dynamo_lite/stress.py",
    "FOLD_OPERANDS": "backends/kernels/functions.py",
    "FOLD_BYTES": "dynamo_lite/program/vectorise.py",
    "FOLD_LENGTHS": "backends/numba/emit_fold.py",
    "FOLD_STEPS": "backends/numba/emit_fold.py",
    "ITERATION_COUNT": "backends/numba/emit.py",
    "ITERATION_ROW_BYTES": "backends/numba/emit.py",
    "PLACE_WORDS": "backends/numba/emit.py",
    "PLACE_POINTER": "backends/numba/emit.py",
    "PLACE_STRIDE": "backends/numba/emit.py",
    "LOOP_WORDS": "backends/numba/emit.py",
    "LOOP_INVOKE": "backends/numba/emit.py",
    "ROWS_COUNT": "backends/numba/emit.py",
    "ROWS_STEPS": "backends/numba/emit.py",
    "RETURNED_MET_NAN": "dynamo_lite/program/watch.py",
    "RETURNED_NAN": "dynamo_lite/program/watch.py",
    "SCRATCH_ALIGNMENT": "dynamo_lite/program/place.py",
    "UFUNC_CALL_INFO": "backends/kernels/loops.py",
    "MOST_VECTOR": "dynamo_lite/program/build_steps.py",
    "MOST_SORTED": "dynamo_lite/schedule/cost.py",
    "MOST_MEDIAN": "dynamo_lite/schedule/cost.py",
    "MOST_ROOMS": "dynamo_lite/program/build_vectors.py",
    "VECTOR_PRODUCTS": "dynamo_lite/program/build_vectors.py",
    "VECTOR_DOT": "dynamo_lite/program/build_vectors.py",
    "FIRST_ORIGIN": "dynamo_lite/program/evaluate_loop.py",
    "PYTHON_INT": "dynamo_lite/program/build_arrays.py",
    "PYTHON_FLOAT": "dynamo_lite/program/build_arrays.py",
    "PYTHON_BOOL": "dynamo_lite/program/build_arrays.py",
    "HELPERS": "backends/numba/emit_loop.py",
    "LINALG": "dynamo_lite/program/build_vectors.py",
    "OF_NUMBER": "dynamo_lite/program/build_loop.py",
    "OF_SCALAR": "dynamo_lite/program/build_loop.py",
    "ARRAY_SIZES": "backends/numba/emit_loop.py",
    "RESULT_ORIGIN": "backends/numba/emit_loop.py",
    **{
        f"WORD_{name}": "backends/numba/emit_loop.py"
        for name in ("LOOK", "BUDGET", "OVERFLOW", "START", "BY", "LAST", "HELPERS", "LEAVE", "ENDED")
    },
}
# Where the words of a block stand is computed in C alone.
LAYOUTS = {
    "backends/numba/emit.py": "kernel_block",
    "backends/numba/emit_fold.py": "kernel_block",
    "backends/numba/emit_loop.py": "machine_block",
}


def read_of_abi(path: str) -> set[str]:
    """The attributes of `abi` that a module reads."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            found |= {node.attr} if name == "abi" else set()
    return found


def test_python_sees_every_row() -> None:
    fields = [name for name in dir(abi) if name.isupper()]
    assert sorted(fields) == sorted([*NAMES, *TABLES])
    with pytest.raises((AttributeError, TypeError)):
        abi.MAX_DIMS = 9  # type: ignore[misc]


def test_the_stub_has_every_row() -> None:
    tree = ast.parse((ROOT / "dynamo_lite" / "_C.pyi").read_text())
    (stub,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Abi")
    stated = {
        node.target.id: ast.unparse(node.annotation)
        for node in stub.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert list(stated) == [*NAMES, *TABLES]
    for name, annotation in stated.items():
        assert annotation.partition("[")[0] == type(getattr(abi, name)).__name__, name


@pytest.mark.parametrize("name", READERS)
def test_python_reads_it_from_c(name: str) -> None:
    assert name in read_of_abi(READERS[name])


@pytest.mark.parametrize("path", LAYOUTS)
def test_the_place_of_words_is_asked_of_c(path: str) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert LAYOUTS[path] in calls


def test_the_words_of_a_kernel() -> None:
    """The parts of a block follow one another without a gap."""
    for places, loops_ in ((1, 0), (3, 2), (abi.MAX_OPERANDS, 9)):
        scratch, first, behind = _C.kernel_block(places, loops_)
        assert (scratch, first, behind) == (places * abi.PLACE_WORDS, scratch + 1, first + loops_ * abi.LOOP_WORDS)


def test_the_words_of_machine_code() -> None:
    inputs, results, words = _C.machine_block((abi.OF_NUMBER, abi.OF_SCALAR, 2), 1, 2)
    lengths = [abi.NUMBER_WORDS, abi.SCALAR_WORDS, abi.ARRAY_SIZES + 2 * 2, abi.RESULT_WORDS, abi.NUMBER_WORDS]
    starts = [abi.HEAD_WORDS + sum(lengths[:count]) for count in range(len(lengths))]
    assert [*inputs, *results] == [*starts, starts[-1] + abi.NUMBER_WORDS]
    assert words >= results[-1] + abi.NUMBER_WORDS and words % abi.PLACE_WORDS == 0
    with pytest.raises(ValueError):
        _C.machine_block((0,) * (abi.MAX_OPERANDS + 1), 0, 0)


@pytest.mark.parametrize(
    "group",
    [
        ("PLACE_POINTER", "PLACE_STRIDE"),
        ("LOOP_INVOKE", "LOOP_FUNCTION", "LOOP_CONTEXT", "LOOP_AUXDATA", "LOOP_TRAITS", "LOOP_FLAGS"),
        ("ITERATION_COUNT", "ITERATION_ROW_BYTES"),
        tuple(name for name in NAMES if name.startswith("WORD_")),
    ],
    ids=lambda group: group[0],
)
def test_words_of_a_group_lie_apart(group: tuple[str, ...]) -> None:
    assert [getattr(abi, name) for name in group] == list(range(len(group)))


def test_each_word_of_the_head_is_counted() -> None:
    assert sum(name.startswith("WORD_") for name in NAMES) == abi.HEAD_WORDS
    assert sum(name.startswith("LOOP_") for name in NAMES) - 1 == abi.LOOP_WORDS
    assert abi.ROWS_STEPS == abi.ROWS_COUNT + 1 and abi.FOLD_STEPS == abi.FOLD_LENGTHS + 2
    assert abi.PLACE_WORDS == 2 and abi.ITERATION_WORDS == 2 and abi.RESULT_WORDS == abi.RESULT_ORIGIN + 1


def test_what_machine_code_returns() -> None:
    names = [name for name in NAMES if name.startswith("RETURNED_")]
    values = [getattr(abi, name) for name in names]
    assert values == [1 << bit for bit in range(len(values))]  # bits, since a kernel may return several
    assert {getattr(abi, name): name.removeprefix("RETURNED_").lower() for name in names} == emit_loop.RETURNED


def classes_asked(x: Any, y: Any) -> str:
    """What C asks the compiler of kernels with for the sum of two arrays of one shape."""
    asked = []

    def recorder(kernel: Any, classes: str) -> _C.CompiledKernel:
        asked.append(classes.removesuffix(abi.ASKS_LASTING))  # as every other test asks (conftest.py)
        return compile_kernel(kernel, classes)

    step = steps.Map(one_op("add", ("f8", "f8"), "f8"), (steps.Reg(0), steps.Reg(1)), x.shape, (2,), (False,), (False,))
    program = _C.Program(steps.Schedule(2, 3, (), (), (step,), (steps.Reg(2),), ()), recorder)
    (result,) = program(x, y)
    assert np.array_equal(result, x + y)
    return asked[-1]


def test_c_asks_for_each_class_by_its_letter() -> None:
    base = np.arange(24.0)
    packed, spread = base[:8], base[::3]
    assert classes_asked(packed, packed) == 3 * abi.CLASS_PACKED
    assert classes_asked(packed, spread) == abi.CLASS_PACKED + abi.CLASS_SPREAD + abi.CLASS_PACKED
    single = np.broadcast_to(base[3], (8,))
    assert classes_asked(packed, single) == abi.CLASS_PACKED + abi.CLASS_SINGLE + abi.CLASS_PACKED
    of_row = np.broadcast_to(base[:3, None], (3, 8))
    rows = abi.CLASS_PACKED + abi.CLASS_OF_ROW + abi.CLASS_PACKED + abi.ASKS_ROWS
    assert classes_asked(base.reshape(3, 8), of_row) == rows
    nan = np.full(8, np.nan)
    with pytest.raises(_C.Declined):  # which then asks for a strict kernel
        classes_asked(nan, nan)


def test_helpers_are_called_by_name() -> None:
    known = evaluate_loop.HELPERS | evaluate_loop.APPENDS
    types = {"list_type", "float_type", "int_type", "bool_type", "true"}  # which code compares with
    assert {*known, *types, "room", "fold"} == set(abi.HELPERS)  # two have nodes of their own
    assert {*helpers.RESULT_AT, *helpers.TAKES_BLOCK, *helpers.TAKES_BITS} <= set(abi.HELPERS)


def test_scalar_operations_are_the_same() -> None:
    assert set(abi.SCALAR_OPS) == scalar._EVALUATE.keys()
    assert len(set(abi.SCALAR_OPS)) == len(abi.SCALAR_OPS)
    assert set(abi.NUMBER_KINDS) == {"bool", "int", "float"}


def test_kinds_of_views_are_the_same() -> None:
    rewritten = {"ravel"}  # by lower/decompose.py
    assert {*abi.VIEW_KINDS, *rewritten} == {op.name for op in REGISTRY.values() if op.kind is OpKind.VIEW}


def test_steps_are_the_same() -> None:
    assert set(abi.STEPS) == {step.__name__ for step in get_args(steps.Step)}


def test_what_kernels_fold_c_can_finish() -> None:
    """A fold in a kernel may leave the rest to C's own."""
    for name, kinds in FOLDS.items():
        for kind in kinds:
            for size in (4, 8):
                assert _C.find_fold(getattr(np, name), np.dtype(f"{kind}{size}")) >= 0, (name, kind, size)


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        (loops.MAX_NUMBERS, abi.MAX_CARRIED_NUMBERS),
        (region.MAX_YIELDS, abi.MAX_CARRIED_NUMBERS),
        (masks.MOST_COUNTS + 1, abi.MOST_STAGES),
        (numpy_rules.MAX_READ + 1, abi.MOST_STAGES),
        (TARGET.max_operands, abi.MAX_OPERANDS),
        (iterate.MOST_OPERANDS, abi.MAX_OPERANDS),
        (build_loop.MOST_INPUTS, abi.FIRST_ORIGIN - 1),
        (abi.FIRST_PIPELINE_REASON + len(breaks.NUMBERS), abi.MAX_REASONS),
        (len(_C.frame_reasons()), abi.FIRST_PIPELINE_REASON),
    ],
)
def test_limits_fit(value: int, limit: int) -> None:
    assert value <= limit


def test_types_of_python_are_none_of_numpys() -> None:
    taken = {np.dtype(code).num for code in np.typecodes["All"]}
    assert not taken & {abi.PYTHON_INT, abi.PYTHON_FLOAT, abi.PYTHON_BOOL}
    assert build_numbers.LEAST == -(2**63)


def test_scratch_slots_are_aligned() -> None:
    f8 = (np.dtype("f8"),)
    ops = tuple(KernelOp("loop", (value,), f8, f8, ufunc) for value, ufunc in enumerate((np.exp, np.sin, np.cos)))
    kernel = Kernel(f8, ops, (3,))
    slots = [node.offset for node in functions.function_of(kernel, "cc").body if isinstance(node, ir.Alloc)]
    assert slots and all(slot % abi.SCRATCH_ALIGNMENT == 0 for slot in slots)
    assert place.SINK_BYTES % abi.SCRATCH_ALIGNMENT == 0


@pytest.mark.parametrize("mode", [mode for mode in STRESS_MODES if mode not in ("", "compile", "break")])
def test_stress_modes_have_names(mode: str) -> None:
    before = _C.get_stress()
    try:
        _C.set_stress(mode)
        assert _C.get_stress() == mode
    finally:
        _C.set_stress(before)


def test_kernels_know_every_class() -> None:
    """The letters of abi.def are those that the generator of kernels acts on."""
    kernel = one_op("add", ("f8", "f8"), "f8")
    for letter in (abi.CLASS_PACKED, abi.CLASS_SINGLE, abi.CLASS_SPREAD):
        compile_kernel(kernel, letter + abi.CLASS_PACKED + abi.CLASS_PACKED)
    with_rows = abi.CLASS_OF_ROW + 2 * abi.CLASS_PACKED + abi.ASKS_ROWS
    function = functions.function_of(kernel, with_rows + abi.ASKS_STRICT)
    notes = {node.status for node in ir.walk(function.body) if isinstance(node, ir.Note)}
    assert function.rows is not None and notes == {abi.RETURNED_NAN}

"""Fresh results of a Map lie in memory as NumPy's own operations would put them, whatever the operands' layouts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite._C import Program
from dynamo_lite.graph.scalar import Symbol
from dynamo_lite.schedule.steps import Kernel, KernelOp, Map, Reg, Schedule

F8, F4, B1 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_)


def evaluate(kernel: Kernel, operands: list[Any]) -> list[Any]:
    """The kernel's results by NumPy's operations, casts made while an operand is read."""
    values: list[Any] = list(operands)
    unread: dict[int, Any] = {}
    for op in kernel.ops:
        args = [unread.get(value, values[value]) for value in op.operands]
        if op.op == "cast":
            result = args[0].astype(op.dtypes[0])
            unread[len(values)] = args[0]
        elif op.op == "copy":
            result = args[0].astype(op.dtypes[0], order=op.param)
        elif op.op == "where":
            result = np.where(*args)
        elif op.op == "loop":
            result = op.param(*args)
        else:
            result = getattr(np, op.op)(*args, dtype=op.dtypes[0] if op.dtypes[0] != B1 else None)
        values += list(result) if len(op.dtypes) > 1 else [result]
    return [values[value] for value in kernel.results]


def compile_copies_as_casts(kernel: Kernel, classes: str) -> Any:
    """A copy is, to machine code, a cast: only the launcher looks at its order."""
    ops = tuple(replace(op, op="cast", param=None) if op.op == "copy" else op for op in kernel.ops)
    return compile_kernel(replace(kernel, ops=ops), classes)


def map_schedule(kernel: Kernel, ndims: list[int], shape: tuple[int, ...], n_results: int) -> Schedule:
    n = len(ndims)
    step = Map(
        kernel,
        tuple(map(Reg, range(n))),
        shape,
        tuple(range(n, n + n_results)),
        (False,) * n_results,
        (False,) * n_results,
    )
    return Schedule(n, n + n_results, (), (), (step,), tuple(map(Reg, range(n, n + n_results))), ())


def random_array(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of that shape with a random layout."""
    nd = len(shape)
    order = list(range(nd))
    rng.shuffle(order)
    if rng.random() < 0.4:
        order = list(range(nd))
    steps = [rng.choice((1, 1, 1, 2, 3)) for _ in range(nd)]
    stored = [shape[axis] * steps[axis] + rng.choice((0, 0, 1)) * (steps[axis] > 1) for axis in order]
    data = np.array([rng.randrange(1, 50) for _ in range(int(np.prod(stored)))]).astype(dtype).reshape(stored)
    array = data.transpose([order.index(axis) for axis in range(nd)])
    array = array[tuple(slice(None, None, step) for step in steps)]
    array = array[tuple(slice(0, size) for size in shape)]
    return array[tuple(slice(None, None, -1) if rng.random() < 0.15 else slice(None) for _ in range(nd))]


def random_operand(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that broadcasts to shape, or is broadcast by stride 0."""
    kind = rng.random()
    if kind < 0.55:
        return random_array(rng, shape, dtype)
    if kind < 0.8:
        return random_array(rng, tuple(1 if rng.random() < 0.4 else size for size in shape), dtype)
    if kind < 0.9:
        return random_array(rng, shape[rng.randrange(len(shape) + 1) :], dtype)
    thin = random_array(rng, tuple(1 if rng.random() < 0.5 else size for size in shape), dtype)
    return np.broadcast_to(thin, shape)


KERNELS = {
    "add": Kernel((F8, F8), (KernelOp("add", (0, 1), (F8, F8), (F8,)),), (2,)),
    "chain": Kernel(
        (F8, F8, F8),
        (KernelOp("multiply", (0, 1), (F8, F8), (F8,)), KernelOp("add", (3, 2), (F8, F8), (F8,))),
        (4,),
    ),
    "two results": Kernel(
        (F8, F8, F8),
        (KernelOp("multiply", (0, 1), (F8, F8), (F8,)), KernelOp("add", (3, 2), (F8, F8), (F8,))),
        (4, 4),
    ),
    "unary": Kernel((F8,), (KernelOp("negative", (0,), (F8,), (F8,)),), (1,)),
    "cast": Kernel(
        (F4, F8),
        (KernelOp("cast", (0,), (F4,), (F8,)), KernelOp("add", (2, 1), (F8, F8), (F8,))),
        (3,),
    ),
    "compare": Kernel((F8, F8), (KernelOp("less", (0, 1), (F8, F8), (B1,)),), (2,)),
    "where": Kernel(
        (F8, F8, F8),
        (KernelOp("less", (0, 1), (F8, F8), (B1,)), KernelOp("where", (3, 1, 2), (B1, F8, F8), (F8,))),
        (4,),
    ),
    "copy": Kernel((F8,), (KernelOp("copy", (0,), (F8,), (F8,), "K"),), (1,)),
    "copy in C order": Kernel((F8,), (KernelOp("copy", (0,), (F8,), (F8,), "C"),), (1,)),
    "copy in F order": Kernel((F8,), (KernelOp("copy", (0,), (F8,), (F8,), "F"),), (1,)),
    "copy in A order": Kernel((F8,), (KernelOp("copy", (0,), (F8,), (F8,), "A"),), (1,)),
    "copy and add": Kernel(
        (F8, F8),
        (KernelOp("copy", (0,), (F8,), (F8,), "K"), KernelOp("add", (2, 1), (F8, F8), (F8,))),
        (3,),
    ),
    "loop": Kernel((F8, F8), (KernelOp("loop", (0, 1), (F8, F8), (F8,), np.hypot),), (2,)),
    "loop of two results": Kernel((F8,), (KernelOp("loop", (0,), (F8,), (F8, F8), np.modf),), (1, 2)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_results_lie_as_numpy_puts_them(name: str) -> None:
    """Random shapes (with 0 and 1), orders, steps, reversals and broadcasting."""
    kernel = KERNELS[name]
    rng = random.Random(name)
    ran = 0
    for _ in range(1500):
        nd = rng.choice((0, 1, 2, 2, 2, 3, 3, 4))
        shape = tuple(
            rng.choice((0, 1, 1, 2, 3, 4, 5)) if rng.random() < 0.3 else rng.randrange(2, 6) for _ in range(nd)
        )
        operands = [random_operand(rng, shape, dtype) for dtype in kernel.operand_dtypes]
        expected = evaluate(kernel, operands)
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        if not shape:
            continue  # scalars
        program = Program(
            map_schedule(kernel, [o.ndim for o in operands], shape, len(kernel.results)), compile_copies_as_casts
        )
        results = program(*operands)
        assert program.last_decline is None
        described = [(o.shape, o.strides) for o in operands]
        for result, right in zip(results, expected, strict=True):
            assert result.dtype == right.dtype
            assert result.shape == right.shape
            assert result.strides == right.strides, described
            assert result.tobytes() == right.tobytes(), described
            assert result.flags.c_contiguous == right.flags.c_contiguous
            assert result.flags.f_contiguous == right.flags.f_contiguous
            assert result.flags.writeable and result.base is None
        ran += 1
    assert ran > 1000


def test_one_program_serves_every_layout_and_size() -> None:
    """The machine code is chosen by strides at each call; sizes are symbols."""
    s0, s1 = Symbol("s0", "int", 0, 0), Symbol("s1", "int", 0, 1)
    step = Map(KERNELS["add"], (Reg(0), Reg(1)), (s0, s1), (2,), (False,), (False,))
    program = Program(Schedule(2, 3, (s0, s1), (), (step,), (Reg(2),), ()), compile_kernel)
    rng = random.Random(1)
    for _ in range(500):
        shape = (rng.randrange(2, 40), rng.randrange(2, 40))
        x, y = random_array(rng, shape, F8), random_operand(rng, shape, F8)
        (result,) = program(x, y)
        assert result.tobytes() == (x + y).tobytes() and result.strides == (x + y).strides

"""Every program of the list, in every dtype and layout, on every backend: equal bit for bit, and natively run.

A pass must not be vacuous: where plain Python neither raises nor warns, some native call must have happened, unless the
program and layout stand in PLAIN with a reason.
"""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import programs
from benchmarks.programs import DTYPES, LAYOUTS, PROGRAMS, Program
from dynamo_lite.ops.vector_math import looks_at_strides
from tests.copies import copies_of
from tests.oracle import Report, require_equal

Compile = Callable[..., Any]

AVX512 = looks_at_strides("exp", np.dtype(np.float64))
PLAIN: dict[tuple[str, str, str], str] = {
    ("softmax", "*", "0-d"): "reductions over an axis that a 0-d array does not have have no rule",
}
"""(program, dtype, layout), "*" for any: the reason why no native call is due although plain Python says nothing."""


def due(program: Program, dtype: str, layout: str) -> bool:
    """Whether a native call is due for this program."""
    names = ((n, d, o) for n in (program.name, "*") for d in (dtype, "*") for o in (layout, "*"))
    return not any(name in PLAIN for name in names)


def run(program: Program, compiler: Compile, backend: str, dtype: str, layout: str, **options: Any) -> Report:
    return require_equal(
        program.fn,
        lambda: program.make_args(dtype, layout, program.small),
        variants=[lambda: program.make_args(dtype, layout, 2 * program.small)],
        compile=compiler,
        compile_options={"backend": backend, "options": {"cost_model": False}},
        name=f"{program.name} {dtype} {layout} {backend}",
        **options,
    )


def require_native(report: Report, layout: str) -> None:
    # Arguments that overlap, and sizes of zero behind an index, are where a program declines by contract.
    if report.stats["declines"] > 0 and layout in ("overlapping", "empty"):
        return
    # With AVX-512 NumPy has other bits for the absolute values of complex arrays that are reversed.
    if report.stats["declines"] > 0 and AVX512 and layout == "reversed" and report.name.startswith("mandelbrot_step"):
        return
    assert report.stats["native_calls"] > 0, f"{report.name} never ran natively: {report.stats}"
    assert report.stats["compiles"] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_bit_for_bit(name: str, layout: str, backend: str, compiler: Compile) -> None:
    program = PROGRAMS[name]
    for dtype in dict.fromkeys((program.dtype, *DTYPES)):
        report = run(program, compiler, backend, dtype, layout)
        if not report.raised and not report.warned and due(program, dtype, layout):
            require_native(report, layout)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("name", PROGRAMS)
def test_breaks_are_where_they_belong(name: str, backend: str, compiler: Compile) -> None:
    program = PROGRAMS[name]
    report = run(program, compiler, backend, program.dtype, "C")
    assert (report.stats["breaks"] > 0) == program.breaks, report.stats


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if not program.breaks])
def test_a_new_size_is_a_hit(name: str, backend: str, compiler: Compile) -> None:
    program = PROGRAMS[name]
    fast = compiler(program.fn, backend=backend, options={"cost_model": False})
    fast(*program.make_args(size=program.small))
    before = fast.stats()
    for size in (program.small + 2, 3 * program.small, 5 * program.small):
        fast(*program.make_args(size=size))
    after = fast.stats()
    assert after["recompiles"] == before["recompiles"], "a changed size recompiled"
    assert after["native_calls"] > before["native_calls"]


def test_five_multiplies_are_one_kernel(compiler: Compile) -> None:
    fast = compiler(programs.five_squares)
    x = np.linspace(0.5, 1.5, 7)
    graph = fast.graph_for(x)
    multiplies = [node for node in graph.nodes if node.op == "multiply"]
    assert len(multiplies) == 5
    assert {node.args[0] for node in multiplies[1:]} == set(multiplies[:-1])
    report = require_equal(programs.five_squares, copies_of(x), compile=compiler)
    require_native(report, "C")


def test_every_line_is_printed_in_order(compiler: Compile, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    def steps(x: Any) -> Any:
        for i in range(1000):
            x = programs.step(x)
            print(i, x[0])
        return x

    report = require_equal(
        steps,
        copies_of(np.zeros(3)),
        compile=compiler,
        compile_options={"backend": backend, "options": {"cost_model": False}},
        calls=2,
    )
    printed = "".join(event[1] for event in report.events).splitlines()
    assert printed == [f"{i} {i + 1}.0" for i in range(1000)] * 2
    require_native(report, "C")


def test_both_sides_of_a_branch_are_compiled(compiler: Compile, backend: str) -> None:
    report = require_equal(
        programs.branch_on_sum,
        copies_of(np.array([1.0, 2.0])),
        variants=[copies_of(np.array([-1.0, -2.0]))],
        compile=compiler,
        compile_options={"backend": backend, "options": {"cost_model": False, "native_branches": False}},
    )
    assert report.stats["plain_calls"] == 0, report.stats
    assert report.stats["native_calls"] >= 2 * report.calls - 4  # two segments a call, but for those that compile


def test_a_replaced_attribute_is_seen(compiler: Compile, backend: str) -> None:
    model, x = PROGRAMS["predict"].make_args(size=24)
    fast = compiler(programs.predict, backend=backend)
    for change in (
        lambda: None,
        lambda: setattr(model.hidden, "weights", model.hidden.weights * 2.0),
        lambda: setattr(model, "out", programs.Linear(model.out.weights + 1.0, model.out.bias)),
        lambda: setattr(model.out, "bias", np.float32(2.5)),
        lambda: setattr(model.out, "bias", 2),
        lambda: model.out.weights.__setitem__(0, 7.0),
        lambda: setattr(model, "hidden", lambda y: y - 1.0),
    ):
        change()
        for _ in range(3):
            expected, found = programs.predict(model, x), fast(model, x)
            assert expected.dtype == found.dtype
            assert expected.tobytes() == found.tobytes()
    assert fast.stats()["native_calls"] > 0


def test_a_replaced_method_is_seen(compiler: Compile, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = PROGRAMS["predict"].make_args(size=24)
    fast = compiler(programs.predict, backend=backend)
    for _ in range(3):
        assert fast(model, x).tobytes() == programs.predict(model, x).tobytes()
    monkeypatch.setattr(programs.Linear, "__call__", lambda self, y: y @ self.weights.T - self.bias)
    for _ in range(3):
        assert fast(model, x).tobytes() == programs.predict(model, x).tobytes()


def test_methods_and_bound_objects_compile(compiler: Compile, backend: str) -> None:
    model, x = PROGRAMS["predict"].make_args(size=24)
    expected = model(x).tobytes()
    for fast in (compiler(model, backend=backend), compiler(model.__call__, backend=backend)):
        for _ in range(3):
            assert fast(x).tobytes() == expected


def test_dropout_draws_numpys_own_stream(compiler: Compile, backend: str) -> None:
    def make(train: bool) -> Callable[[], tuple[Any, ...]]:
        def make_args() -> tuple[Any, ...]:
            layer, x = PROGRAMS["dropout"].make_args(size=24)
            layer.train = train
            return layer, x

        return make_args

    report = require_equal(
        programs.dropout,
        make(True),
        variants=[make(False), make(True)],
        compile=compiler,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
    require_native(report, "C")
    fast = compiler(programs.dropout, backend=backend)
    ours, x = PROGRAMS["dropout"].make_args(size=24)
    theirs, _ = PROGRAMS["dropout"].make_args(size=24)
    for _ in range(5):
        assert fast(ours, x).tobytes() == programs.dropout(theirs, x).tobytes()
    assert ours.rng.bit_generator.state == theirs.rng.bit_generator.state


SIZES = (1, 2, 7, 8, 9, 127, 128, 129, 1023, 1024, 1025, 8192, 10_007)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name", ["softmax", "layer_norm", "black_scholes", "rosenbrock", "standardise", "kmeans_assign"]
)
def test_reductions_and_tiles_keep_numpys_order_at_every_length(name: str, dtype: str, compiler: Compile) -> None:
    program = PROGRAMS[name]
    for layout in ("C", "F", "strided"):
        report = require_equal(
            program.fn,
            lambda layout=layout: program.make_args(dtype, layout, 64),
            variants=[lambda layout=layout, size=size: program.make_args(dtype, layout, size) for size in SIZES],
            compile=compiler,
            compile_options={"options": {"cost_model": False}},
            calls=1,
        )
        require_native(report, layout)

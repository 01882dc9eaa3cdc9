"""Small matrices inverted, solved and factored by the loops of np.linalg's gufuncs, without a call
(csrc/arrays/linalg.c)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import abi
from dynamo_lite.program.build_vectors import LINALG
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_random_elements import machines_of

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "inv": lambda a: np.linalg.inv(a),
    "det": lambda a: np.linalg.det(a) + a[0, 0],
    "slogdet": lambda a: np.linalg.slogdet(a),
    "cholesky": lambda a: np.linalg.cholesky(a) * 2.0,
    "eigh": lambda a: np.linalg.eigh(a),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a)[0] * 2.0,
    "solve": lambda a: np.linalg.solve(a, a[:, ::-1]),
    "solve_transposed": lambda a: np.linalg.solve(a.T, a[:2].T),
    "solve_vector": lambda a: np.linalg.solve(a, a[0, ::-1]),
    "stored": lambda a: a.__setitem__(slice(None), np.linalg.inv(a)),
    "several": lambda a: np.linalg.inv(a) @ np.linalg.solve(a, a[0]) * np.linalg.det(a),
}


def inverted(a: Any) -> Any:
    for _ in range(len(a)):
        a = np.linalg.inv(a) * 0.5
    return a


def determinants(a: Any) -> Any:
    total = 0.0
    for k in range(len(a)):
        total += np.linalg.det(a + k)
    return total


def logarithms(a: Any) -> Any:
    out = np.zeros((len(a), 2))
    for k in range(len(out)):
        sign, logarithm = np.linalg.slogdet(a * (k + 1))
        out[k, 0], out[k, 1] = sign, logarithm
    return out


def factored(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    for _ in range(len(a)):
        w, v = np.linalg.eigh(v * w)
    return w, v


def values(a: Any) -> Any:
    w = a[0]
    for _ in range(len(a)):
        w = w + np.linalg.eigvalsh(a * 2.0)
    return w


def factors(a: Any) -> Any:
    c = a
    for k in range(len(a)):
        c = np.linalg.cholesky(a + k * np.eye(len(a))) @ c
    return c


def solved(a: Any) -> Any:
    x, y = a[0], a
    for _ in range(len(a)):
        x = np.linalg.solve(a, x)
        y = np.linalg.solve(a.T, y[:, ::-1])
    return x, y


LOOPS = {fn.__name__: fn for fn in (inverted, determinants, logarithms, factored, values, factors, solved)}
SIZES = (1, 2, 3, 4, 7, 31, 32, 33, 40)


def positive(n: int) -> Any:
    a = np.random.default_rng(n).normal(size=(n, n))
    return a @ a.T + np.eye(n)


def special(n: int, value: float) -> Any:
    a = positive(n)
    a[-1, 0] = value
    return a


def laid_out(n: int, how: str) -> Any:
    a = np.zeros((2 * n, 3 * n))
    parts = {
        "columns": a[:n, ::3],
        "rows": a[::2, :n],
        "reversed": a[:n, :n][::-1, ::-1],
        "transposed": a[:n, :n].T,
        "one": np.broadcast_to(np.arange(1.0, n + 1), (n, n)),
    }
    part = parts[how]
    if part.flags.writeable:
        part[...] = positive(n)
    return part


MATRICES: dict[str, Callable[[], Any]] = {
    **{f"positive_{n}": lambda n=n: positive(n) for n in SIZES},  # type: ignore[misc]
    **{how: lambda how=how: laid_out(3, how) for how in ("columns", "rows", "reversed", "transposed", "one")},  # type: ignore[misc]
    "fortran": lambda: np.asfortranarray(positive(4)),
    "singular": lambda: np.ones((3, 3)),
    "zeros": lambda: np.zeros((2, 2)),
    "negative": lambda: -positive(3),
    "nan": lambda: special(3, np.nan),
    "infinite": lambda: special(3, np.inf),
    "huge": lambda: positive(4) * 1e200,
    "tiny": lambda: positive(4) * 1e-200,
    "denormal": lambda: positive(2) * 5e-310,
    "empty": lambda: np.zeros((0, 0)),
    "not_square": lambda: np.ones((2, 3)),
    "vector": lambda: np.ones(3),
    "stack": lambda: np.stack([positive(2), positive(2) + 1.0]),
    "single": lambda: positive(3).astype(np.float32),
    "complex": lambda: positive(3) + 1j,
    "integers": lambda: np.array([[2, 1], [1, 3]]),
    "swapped": lambda: positive(3).astype(">f8"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*FUNCTIONS, *LOOPS])
def test_matrices_of_all_kinds(name: str, backend: str) -> None:
    """One compiled function meets all of them, one after the other, twice."""
    fn = FUNCTIONS.get(name) or LOOPS[name]
    matrices = [lambda make=make: (make(),) for make in MATRICES.values()]
    for first in (0, 3, 12):
        rest = matrices[first + 1 :] + matrices[:first]
        require_equal(
            fn,
            matrices[first],
            variants=[*rest, *rest],
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS | {"recompile_limit": 64}},
            calls=2,
        )


@pytest.mark.parametrize("state", [{"all": "ignore"}, {"all": "raise"}, {"over": "ignore", "under": "raise"}])
@pytest.mark.parametrize("name", [*FUNCTIONS, *LOOPS])
def test_error_states(name: str, state: dict[str, str]) -> None:
    fn = FUNCTIONS.get(name) or LOOPS[name]

    def under(a: Any) -> Any:
        with np.errstate(**state):
            return fn(a)

    kinds = ("positive_3", "huge", "tiny", "singular", "nan", "infinite", "denormal")
    variants = [lambda kind=kind: (MATRICES[kind](),) for kind in kinds]
    require_equal(under, variants[0], variants=variants[1:], compile=dynamo_lite.compile, calls=2)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_machine_code(name: str) -> None:
    """Nothing is called, nothing declines."""
    compiled = dynamo_lite.compile(LOOPS[name], options=OPTIONS)
    for _ in range(3):
        compiled(positive(4))
    assert machines_of(compiled) and not compiled.stats()["declines"], compiled.explain()


@pytest.mark.parametrize("columns", [1, 2, 50])
@pytest.mark.parametrize("n", [4, 40])
def test_what_is_large_runs_step_by_step(n: int, columns: int) -> None:
    """None declines: how large the matrix is, is asked before the loop."""

    def solved_often(a: Any, b: Any, count: int) -> Any:
        for _ in range(count):
            b = np.linalg.solve(a, b)
        return b

    compiled = dynamo_lite.compile(solved_often, options=OPTIONS)
    b = np.random.default_rng(0).normal(size=(n, columns))
    for _ in range(3):
        assert compiled(positive(n), b, 5).tobytes() == solved_often(positive(n), b, 5).tobytes()
    stats = compiled.stats()
    assert stats["native_calls"] and not stats["declines"], compiled.explain()


def test_all_gufuncs_are_known() -> None:
    """Each row of abi.def is there in this NumPy."""
    assert sorted(LINALG.values()) == list(range(len(abi.LINALG)))

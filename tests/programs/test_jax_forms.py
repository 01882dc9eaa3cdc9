"""Every loop program has a form for JAX, which gives NumPy's values; and how a peer's values are compared at all.

JAX runs in a process of its own: it starts threads, of which any later fork in its process would warn.
"""

from __future__ import annotations

import ast
import importlib.util
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import loops, programs
from benchmarks.compare import agreement
from benchmarks.isolated import peers_named
from benchmarks.loops.programs import PROGRAMS
from benchmarks.measure import Contender
from benchmarks.peers import PEERS, JaxForm, NoForm

RANDOM = "option_paths"  # JAX draws other numbers than NumPy
(REWRITTEN,) = (peer for peer in PEERS if peer.name == "jax.rewritten")
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        yield executor


def form_agrees(name: str) -> tuple[bool, bool]:
    case = PROGRAMS[name].at("tiny")
    return agreement(case.fn, REWRITTEN.contend(case), case.make_args())


def random_results() -> tuple[float, float]:
    """NumPy's result and JAX's, over many paths."""
    case = PROGRAMS[RANDOM].at("tiny")
    contender = REWRITTEN.contend(case)
    args = (*case.make_args()[:-2], 20, 40_000)
    found = contender.call(*contender.prepare(args))
    return float(case.fn(*args)), float(found)


def written_forms() -> set[str]:
    """The functions that the rows of FORMS name, read without importing jax."""
    folder = Path(loops.__file__).parent / "jax_forms"
    calls = [node for path in folder.glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    rows = [node for node in calls if isinstance(node, ast.Call) and ast.unparse(node.func) == JaxForm.__name__]
    return {ast.unparse(row.args[0]) for row in rows}


def test_every_program_has_a_form() -> None:
    assert written_forms() == set(PROGRAMS)


@needs_jax
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != RANDOM])
def test_forms_give_numpys_values(name: str, elsewhere: Executor) -> None:
    _, near = elsewhere.submit(form_agrees, name).result()
    assert near


@needs_jax
def test_other_random_numbers_are_other_values_with_the_same_mean(elsewhere: Executor) -> None:
    assert elsewhere.submit(form_agrees, RANDOM).result() == (False, False)
    expected, found = elsewhere.submit(random_results).result()
    assert expected == pytest.approx(found, rel=0.05)


def halved(x: Any) -> Any:
    x /= 3.0
    return x, 5


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: ((x / 3.0), 5), (True, True)),
        (lambda x: ((x * (1.0 / 3.0)), 5), (False, True)),
        (lambda x: ((x / 3.0 + 1e-6), 5), (False, False)),
        (lambda x: ((x / 3.0), 6), (False, False)),
        (lambda x: ((x / 3.0)[:-1], 5), (False, False)),
        (lambda x: (x / 3.0).astype(np.float32), (False, False)),
    ],
)
def test_rounding_is_told_from_other_values(call: Callable[..., Any], expected: tuple[bool, bool]) -> None:
    form = JaxForm(halved, writes=("x",))
    args = (np.linspace(0.0, 1.0, 50),)
    assert agreement(halved, Contender("peer", call, outcome=form.outcome), args) == expected


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_what_is_written_but_not_returned_is_compared_too(factor: float) -> None:
    def doubled(a: Any, b: Any) -> Any:
        a += 1.0
        b[:] = 2.0 * a
        return a

    form = JaxForm(doubled, writes=("a", "b"), returned=1)
    contender = Contender("peer", lambda a, b: (a + 1.0, factor * (a + 1.0)), outcome=form.outcome)
    right = factor == 2.0
    assert agreement(doubled, contender, (np.arange(4.0), np.zeros(4))) == (right, right)


def test_peers_are_found_by_name() -> None:
    names = ["numexpr", "jax.rewritten", "jax.jit"]
    assert [peer.name for peer in peers_named(",".join(names))] == names
    assert peers_named("") == []
    with pytest.raises(SystemExit, match="no peer never"):
        peers_named("never,numexpr")


def test_a_program_without_a_form_says_so() -> None:
    case = programs.PROGRAMS["gray_scott"]
    with pytest.raises(NoForm, match="no form for JAX"):
        REWRITTEN.contend(case)

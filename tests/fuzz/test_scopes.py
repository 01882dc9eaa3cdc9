"""Random programs of Python's scoping and control flow do compiled what they do plainly, in all that can be seen.

DYNAMO_LITE_FUZZ_SCOPES sets how many are generated, DYNAMO_LITE_FUZZ_SEED the first seed.
"""

from __future__ import annotations

import ast

import pytest

from tests.conftest import budget
from tests.fuzz import scopes
from tests.fuzz.random_scopes import text_of

SEED = budget("DYNAMO_LITE_FUZZ_SEED", 1)
COUNT = budget("DYNAMO_LITE_FUZZ_SCOPES", 6)


def test_a_seed_is_a_program() -> None:
    assert [text_of(seed) for seed in range(20)] == [text_of(seed) for seed in range(20)]


def test_programs_use_the_language() -> None:
    wanted = {ast.Nonlocal, ast.Global, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
    wanted |= {ast.NamedExpr, ast.Match, ast.Try, ast.TryStar, ast.With, ast.While, ast.For, ast.Delete, ast.Starred}
    wanted |= {ast.ClassDef, ast.FunctionDef, ast.Yield, ast.YieldFrom, ast.Assert, ast.JoinedStr, ast.Break, ast.Raise}
    wanted |= {ast.MatchStar, ast.MatchMapping, ast.MatchClass, ast.IfExp, ast.AugAssign, ast.Continue, ast.Return}
    assert not wanted - {type(node) for seed in range(150) for node in ast.walk(ast.parse(text_of(seed)))}


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_as_plain_python(seed: int) -> None:
    text = text_of(seed)
    assert not scopes.differences(text, seed), text

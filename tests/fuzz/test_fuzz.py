"""The generator repeats itself, the campaign finds what is wrong, and the compiler survives a few thousand programs.

DYNAMO_LITE_FUZZ_REFERENCE and DYNAMO_LITE_FUZZ_NUMBA set how many programs each backend gets, DYNAMO_LITE_FUZZ_SEED
the seed, DYNAMO_LITE_FUZZ_JOBS the processes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import budget
from tests.fuzz import campaign as campaigns
from tests.fuzz.__main__ import main, reproduce
from tests.fuzz.campaign import NATIVE, Campaign, Found, Summary, namespace_of, run, run_program, run_range
from tests.fuzz.generator import generate
from tests.fuzz.shrink import shrink
from tests.fuzz.vocabulary import SMALL

SEED = budget("DYNAMO_LITE_FUZZ_SEED", 1)
JOBS = budget("DYNAMO_LITE_FUZZ_JOBS", 1)


def test_a_seed_is_a_program() -> None:
    for index in range(50):
        assert generate(3, index) == generate(3, index)
    assert len({generate(3, index).source for index in range(50)}) > 45


def test_forms_come_back_with_other_arguments() -> None:
    programs = [generate(3, index, SMALL, forms=5) for index in range(40)]
    assert len({program.source for program in programs}) == 5
    assert len({str((program.specs, program.calls)) for program in programs}) > 30


def test_programs_equal_themselves() -> None:
    summary = run_range(Campaign("none", 400, SEED, compile="tests.fuzz.campaign:identity"), 0, 400)
    assert summary.counts["equal"] == 400, summary
    assert summary.share("raised") < 0.25
    assert summary.share("warned") < 0.5


def test_programs_use_the_language() -> None:
    """The constructs a campaign of this size must hold."""
    wanted = {ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AugAssign, ast.Lambda, ast.IfExp, ast.BoolOp, ast.Dict}
    wanted |= {ast.Delete, ast.Assert, ast.Slice, ast.Starred, ast.JoinedStr, ast.MatMult, ast.Break, ast.Continue}
    seen = {type(node) for index in range(600) for node in ast.walk(ast.parse(generate(SEED, index).source))}
    assert not wanted - seen - {ast.Starred}


WRONG = [("c_order", "strides"), ("one_ulp", "value")]


@pytest.mark.parametrize(("name", "kind"), WRONG)
def test_a_wrong_compiler_is_found_and_shrunk(name: str, kind: str, tmp_path: Path) -> None:
    campaign = Campaign("none", 150, 0, compile=f"tests.fuzz.wrong:{name}", ignore=frozenset(["traceback"]))
    summary = run_range(campaign, 0, 150)
    found = [one for one in summary.found if kind in one.kinds]
    assert found, summary
    text = reproduce(campaign, found[0], tmp_path)
    assert kind in text
    (path,) = tmp_path.iterdir()
    namespace: dict[str, Any] = {"__name__": "reproducer"}
    exec(path.read_text(), namespace)
    assert len(namespace["SOURCE"]) <= len(campaign.program(found[0].index).source)


def test_shrinking_keeps_what_differs() -> None:
    def sorts(program: Any) -> bool:
        return "np.sort" in program.source and callable(namespace_of(program).get("f"))

    index = next(index for index in range(1000) if "np.sort(" in generate(0, index).source)
    small = shrink(generate(0, index), sorts)
    assert "np.sort" in small.source
    assert len(small.source.splitlines()) <= 4, small.source


def test_a_crash_is_a_difference_with_its_seed() -> None:
    index = next(index for index in range(1000) if ".sort" in generate(0, index).source)
    summary = run(Campaign("none", 4, 0, first=index - 2, compile="tests.fuzz.wrong:aborts"))
    assert [(found.index, found.kinds) for found in summary.found] == [(index, ("process died with code -6",))]


def test_a_hang_is_a_difference_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "HANG_SECONDS", 3.0)
    index = next(index for index in range(1000) if ".sort" in generate(0, index).source)
    summary = run(Campaign("none", 2, 0, first=index, compile="tests.fuzz.wrong:sleeps"))
    assert [found.index for found in summary.found] == [index]


def test_a_hang_is_shrunk_within_its_budget(tmp_path: Path) -> None:
    index = next(index for index in range(1000) if ".sort" in generate(0, index).source)
    campaign = Campaign("none", 1, 0, first=index, compile="tests.fuzz.wrong:sleeps")
    text = reproduce(campaign, Found(index, ("no answer",), "no answer"), tmp_path, seconds=8.0)
    (path,) = tmp_path.iterdir()
    assert "shrunk" in text and "sort" in path.read_text()


def test_no_program_raises_an_unbounded_integer_to_a_large_power() -> None:
    for seed, index in [(7, 1980)]:  # 3 ** 4294967296 does not come back
        assert generate(seed, index).source


def test_the_command_ends_with_one_on_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--count", "150", "--dump", str(tmp_path), "--show", "1", "--ignore", "traceback"]
    assert main([*common, "--compile", "tests.fuzz.campaign:identity"]) == 0
    assert main([*common, "--compile", "tests.fuzz.wrong:c_order"]) == 1
    assert "differs" in capsys.readouterr().out


def test_what_did_not_run_natively_is_counted_and_fails_below_the_floor(
    compiler: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = Campaign("reference", 40, SEED)
    summary = run_range(campaign, 0, 40)
    assert summary.counts["native"] + sum(summary.reasons.values()) == 40
    assert "not native: " in str(summary)
    common = ["--count", "20", "--seed", str(SEED), "--dump", str(tmp_path)]
    assert main([*common, "--native", "1.1"]) == 1
    assert "ran natively" in capsys.readouterr().out


def test_a_defect_of_ours_is_a_difference(compiler: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("a defect")

    monkeypatch.setattr("dynamo_lite.compilation.compile_segment", fails)
    summary = run_range(Campaign("reference", 3, SEED), 0, 3)
    assert len(summary.found) == 3


def texts(summary: Summary) -> str:
    shown: list[Found] = summary.found[:5]
    return "\n".join([str(summary), *(found.text for found in shown)])


def test_random_programs_on_reference(compiler: Callable[..., Any]) -> None:
    count = budget("DYNAMO_LITE_FUZZ_REFERENCE", 1000)
    summary = run(Campaign("reference", count, SEED), JOBS)
    print(summary)
    assert not summary.found, texts(summary)
    assert summary.share("native") >= NATIVE, summary


def test_random_programs_on_numba(compiler: Callable[..., Any]) -> None:
    count = budget("DYNAMO_LITE_FUZZ_NUMBA", 300)
    summary = run(Campaign("numba", count, SEED, forms=max(1, count // 10), small=True), JOBS)
    print(summary)
    assert not summary.found, texts(summary)
    assert summary.share("native") >= NATIVE, summary


def test_the_full_vocabulary_on_numba(compiler: Callable[..., Any]) -> None:
    count = budget("DYNAMO_LITE_FUZZ_NUMBA", 300) // 4
    summary = run(Campaign("numba", count, SEED), JOBS)
    print(summary)
    assert not summary.found, texts(summary)
    assert summary.share("native") >= NATIVE, summary


def test_routines_of_small_arrays(compiler: Callable[..., Any]) -> None:
    """They are asked for at once, and stay (csrc/program/small.c)."""
    count = budget("DYNAMO_LITE_FUZZ_NUMBA", 300) // 4
    summary = run(Campaign("numba", count, SEED + 1, compile="tests.fuzz.small:compile"), JOBS)
    print(summary)
    assert not summary.found, texts(summary)


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_one_program_runs_in_this_process(compiler: Callable[..., Any], backend: str) -> None:
    report = run_program(generate(SEED, 0), compiler, backend)
    assert report.equal, str(report)

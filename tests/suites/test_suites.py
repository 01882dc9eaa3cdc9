"""What ``python -m tests.suites`` holds to be a difference; the suites themselves are run by hand."""

from __future__ import annotations

import pytest

from tests.suites.__main__ import Outcome, differences, main

PLAIN = [("begun", "a", ""), ("passed", "a", ""), ("begun", "b", ""), ("passed", "b", ""), ("ended", "", "")]


def outcome(*lines: tuple[str, str, str]) -> Outcome:
    """What a record with these lines is read as."""
    read = Outcome()
    for line in lines:
        read.note(*line)
    return read


def test_a_run_like_the_other_has_no_differences() -> None:
    assert differences(outcome(*PLAIN), outcome(*PLAIN)) == {}


def test_tests_that_were_not_chosen_do_not_count() -> None:
    assert differences(outcome(*PLAIN), outcome(*PLAIN[:2], PLAIN[-1])) == {}


@pytest.mark.parametrize("kind", ["failed", "error", "skipped", "xfailed"])
def test_another_outcome_is_found(kind: str) -> None:
    found = differences(outcome(*PLAIN), outcome(*PLAIN[:2], (kind, "b", "3 != 4"), PLAIN[-1]))
    assert found == {"b": f"passed plainly, {kind} compiled: 3 != 4"}


def test_an_error_after_a_test_counts_though_the_test_has_passed() -> None:
    assert set(differences(outcome(*PLAIN), outcome(*PLAIN[:-1], ("error", "b", "left open"), PLAIN[-1]))) == {"b"}


def test_other_warnings_are_found() -> None:
    found = differences(outcome(("warned", "a", "UserWarning: x"), *PLAIN), outcome(*PLAIN))
    assert found == {"a": "warns of {} more and {'UserWarning: x': 1} less"}


def test_the_test_in_which_the_process_dies_is_found() -> None:
    assert set(differences(outcome(*PLAIN), outcome(*PLAIN[:3]))) == {"b"}


def test_a_name_that_is_not_in_the_table_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["scpy"])
    assert "scpy" in capsys.readouterr().err

"""Of a test with many cases ``--cases N`` runs one in N, as continuous integration does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import MANY, pytest_collection_modifyitems


@pytest.mark.parametrize("share", [1, 3])
def test_few_cases_all_run_and_of_many_one_in_so_many(share: int) -> None:
    few = [SimpleNamespace(nodeid=f"tests/test_a.py::test_few[{i}]") for i in range(MANY)]
    many = [SimpleNamespace(nodeid=f"tests/test_a.py::test_many[{i}]") for i in range(300)]
    items: list[Any] = [*few, *many, SimpleNamespace(nodeid="tests/test_a.py::test_one")]
    left_out: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config: Any = SimpleNamespace(getoption=lambda name: share, hook=hook)
    whole = list(items)
    pytest_collection_modifyitems(config, items)
    assert [one for one in whole if one not in left_out] == items
    assert all(one in many for one in left_out)
    if share == 1:
        assert not left_out
    else:
        assert 130 < len(left_out) < 250


def test_no_share_of_none() -> None:
    config: Any = SimpleNamespace(getoption=lambda name: 0)
    with pytest.raises(pytest.UsageError, match="at least 1"):
        pytest_collection_modifyitems(config, [])

"""Options check their values, come from the environment, and go back after a patch."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dynamo_lite.config import Config, row
from dynamo_lite.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_threads", True, "num_threads is a whole number, not True"),
        ("num_threads", -1, "at least 0"),
        ("num_threads", 65, "num_threads is at most 64, not 65"),
        ("check", 4, "at most 1"),
        ("cost_model", 1, "cost_model is True or False, not 1"),
        ("logs", {"graf"}, "'graf' unknown; allowed: graph, guards"),
        ("logs", "graph, graf", "'graf' unknown; allowed: graph, guards"),
        ("logs", 3, "logs is a set of words, or a string, not 3"),
        ("stress", "hok", "'hok' unknown; allowed: hook, rewrite"),
        ("chek", 1, "no option 'chek'; did you mean 'check'?"),
        ("zzz", 1, "no option 'zzz'; there are"),
    ],
)
def test_wrong_values_are_refused(name: str, value: Any, message: str) -> None:
    config = Config()
    with pytest.raises(ConfigError) as caught:
        setattr(config, name, value)
    assert message in str(caught.value)
    with pytest.raises(ConfigError):
        config.replace({name: value})
    assert config == Config()


@pytest.mark.parametrize("item", dataclasses.fields(Config), ids=lambda item: item.name)
def test_every_row_is_complete(item: dataclasses.Field[Any]) -> None:
    assert item.metadata["env"] == f"DYNAMO_LITE_{item.name.upper()}"
    assert item.metadata["doc"].endswith(".")
    assert getattr(Config(), item.name) == item.default


def test_environment() -> None:
    environ = {
        "DYNAMO_LITE_CHECK": "1",
        "DYNAMO_LITE_LOGS": "graph, guards",
        "DYNAMO_LITE_COST_MODEL": "off",
        "DYNAMO_LITE_STRESS": "",
        "DYNAMO_LITE_DUMP": "/tmp/x",
    }
    config = Config.from_environment(environ)
    assert config == Config(check=1, logs=frozenset({"graph", "guards"}), cost_model=False, dump="/tmp/x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DYNAMO_LITE_CHECK", "x"),
        ("DYNAMO_LITE_CHECK", "7"),
        ("DYNAMO_LITE_LOGS", "graf"),
        ("DYNAMO_LITE_VERBOSE", "2"),
    ],
)
def test_wrong_environment_names_the_variable(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}='{text}'"):
        Config.from_environment({name: text})


def test_a_misspelt_variable_is_named() -> None:
    with pytest.raises(ConfigError, match=r"DYNAMO_LITE_LOG is no option; did you mean DYNAMO_LITE_LOGS\?"):
        Config.from_environment({"DYNAMO_LITE_LOG": "graph"})
    assert Config.from_environment({"DYNAMO_LITE_OF_SOMEBODY_ELSE": "1"}) == Config()


def test_words_may_be_given_as_in_the_environment() -> None:
    config = Config()
    config.logs = "graph, guards"  # type: ignore[assignment]
    assert config.logs == {"graph", "guards"}


def test_patch_puts_back_also_after_an_error() -> None:
    config = Config()
    with pytest.raises(KeyError), config.patch(check=1, logs={"graph"}):
        assert (config.check, config.logs) == (1, frozenset({"graph"}))
        raise KeyError
    assert config == Config()


def test_a_patch_with_one_wrong_value_changes_nothing() -> None:
    config = Config()
    with pytest.raises(ConfigError), config.patch(check=1, num_threads=-1):
        pass
    assert config == Config()


def test_replace_leaves_the_original() -> None:
    config = Config()
    assert config.replace({"check": 1}, cost_model=False) == Config(check=1, cost_model=False)
    assert config == Config()


def test_row_of_unknown_option() -> None:
    with pytest.raises(ConfigError):
        row("backed")

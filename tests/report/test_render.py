"""An Explanation prints as text that says where, what, why and what to do; JSON and HTML hold the same facts."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import pickle
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import breaks
from dynamo_lite.report import BreakRecord, CompileRecord, Explanation, GraphRecord, GuardRecord
from dynamo_lite.report.render import summary

EXPLANATION = Explanation(
    "model.forward",
    "model.py",
    10,
    graphs=(
        GraphRecord(
            text="%x: float64[s0]\n%multiply: float64[s0] = multiply(%x, 2.0)",
            kernels=1,
            inputs=("x: float64[s0]",),
            natively=True,
            backend="numba",
            function="model.forward",
            filename="model.py",
            line=11,
            operations=1,
            guards=(GuardRecord("x is a float64 array with 1 axis"), GuardRecord("self.train is False")),
        ),
        GraphRecord(
            text="%x: float64[s0]\n%sort: float64[s0] = sort(%x)",
            kernels=0,
            inputs=("x: float64[s0]",),
            natively=False,
            backend="reference",
            function="model.forward",
            segment=1,
            filename="model.py",
            line=13,
            why_plain="one call of NumPy",
        ),
    ),
    breaks=(
        BreakRecord(
            "data-dependent-branch",
            "model.py",
            12,
            "model.forward",
            "if x.sum() > 0 and <b>:",
            breaks.message("data-dependent-branch", "x.sum() > 0"),
            breaks.REASONS["data-dependent-branch"].hint,
        ),
    ),
    compiles=(
        CompileRecord("model.forward", 0, "first call", (("capture", 0.002), ("backend", 0.25))),
        CompileRecord("model.forward", 1, "first call", (("capture", 0.001),)),
        CompileRecord("model.forward", 0, "self.train is False", (("capture", 0.002),)),
    ),
    stats=(("hits", 3.0), ("native_calls", 5.0)),
)

TEXT = """\
model.forward (model.py:10): 2 graphs, 1 fused kernel, 1 break, 1 of the graphs in plain NumPy

Graph breaks
  model.py:12 in model.forward  [data-dependent-branch]
      if x.sum() > 0 and <b>:
    why:  the branch depends on what an array holds (x.sum() > 0)
    hint: Both sides are compiled, each as its own graph. To keep one graph, have both sides be short, without \
loops, on small arrays and leave values of the same types, select with np.where, or test a size, a dtype or an \
argument instead of a value.

Compiled again
  model.forward: self.train is False

Compile time 255.0 ms: capture 5.0 ms, backend 250.0 ms

Calls so far: hits 3, native calls 5

Graph 0 from model.py:11 in model.forward: 1 operation, 1 fused kernel, backend numba
    %x: float64[s0]
    %multiply: float64[s0] = multiply(%x, 2.0)
  is used again while
    x is a float64 array with 1 axis
    self.train is False

Graph 1 from model.py:13 in model.forward: runs in plain NumPy (one call of NumPy)
    %x: float64[s0]
    %sort: float64[s0] = sort(%x)"""


def test_text() -> None:
    assert str(EXPLANATION) == TEXT


def test_nothing_compiled_says_so() -> None:
    text = str(Explanation("f", skips=EXPLANATION.breaks))
    assert text.startswith("f: nothing was compiled; it runs as plain Python\n\nLeft to plain Python\n")


def test_functions_without_array_work_share_a_line() -> None:
    idle = [BreakRecord("nothing-to-compile", "a.py", 10 + n, f"f{n}", "", "", "") for n in range(7)]
    text = str(Explanation("g", "a.py", 10, skips=tuple(idle)))
    assert "\n  a.py:10 in f0  [nothing-to-compile]\n" in text  # the function itself
    assert "\n\nWithout array work: f1 (a.py:11), f2 (a.py:12), " in text
    assert text.endswith("f5 (a.py:15), and 1 more")


def test_recompiles_are_the_later_compilations_of_a_segment() -> None:
    assert EXPLANATION.recompiles == (EXPLANATION.compiles[2],)


def test_guards_are_those_of_all_graphs() -> None:
    assert EXPLANATION.guards == EXPLANATION.graphs[0].guards


def test_json_holds_every_record() -> None:
    data = json.loads(EXPLANATION.to_json())
    assert data["graphs"][0]["guards"] == [{"text": guard.text} for guard in EXPLANATION.guards]
    assert data["breaks"][0]["id"] == "data-dependent-branch"
    assert data["timings"] == {"capture": pytest.approx(0.005), "backend": 0.25}
    assert data["compiles"][0]["seconds"] == {"capture": 0.002, "backend": 0.25}
    assert data["stats"] == {"hits": 3.0, "native_calls": 5.0}
    assert data["summary"] == summary(EXPLANATION)


class _Balanced(html.parser.HTMLParser):
    """Notes tags that are closed in another order than opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("page", [EXPLANATION.to_html(), EXPLANATION._repr_html_()])
def test_html_is_balanced_and_escapes_source(page: str) -> None:
    parser = _Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    text = "".join(parser.text)
    assert "if x.sum() > 0 and <b>:" in text
    assert "self.train is False" in text
    assert "<script" not in page and "http" not in page


def test_what_was_compiled_again_is_named_by_its_line() -> None:
    again = CompileRecord("model.forward", 1, "x has 2 axes", (("capture", 0.001),))
    text = str(dataclasses.replace(EXPLANATION, compiles=(*EXPLANATION.compiles, again)))
    assert "\n  model.forward: self.train is False\n  model.forward from model.py:13 on: x has 2 axes\n" in text


def test_what_another_guard_says_too_is_said_once() -> None:
    class Scaled:
        factor = 2.0

    def scaled(by: Scaled, x: np.ndarray[Any, Any]) -> Any:
        return x * by.factor + np.sqrt(x)

    (graph,) = dynamo_lite.explain(scaled, options={"cost_model": False})(Scaled(), np.ones(5)).graphs
    said = [guard.text for guard in graph.guards]
    assert len(set(said)) == len(said)
    assert not [one for one in said if f"{one}, and that class is unchanged" in said]
    assert [one for one in said if one.endswith(", and that class is unchanged")]


def test_explanation_pickles() -> None:
    assert pickle.loads(pickle.dumps(EXPLANATION)) == EXPLANATION


def test_declines_say_why() -> None:
    def logarithm(x: np.ndarray[Any, Any]) -> Any:
        return np.log(x) * 2.0 + x

    fast = dynamo_lite.compile(logarithm, options={"cost_model": False})
    with np.errstate(all="ignore"):
        fast(np.linspace(1.0, 2.0, 10))
    with pytest.warns(RuntimeWarning):
        fast(np.linspace(0.0, 1.0, 10))
    (graph,) = fast.explain().graphs
    assert graph.declines == (("a floating-point error is to be reported", 1),)
    assert "1 call declined and ran plainly: a floating-point error is to be reported" in str(fast.explain())
    assert "declined and ran plainly" in fast.explain().to_html()

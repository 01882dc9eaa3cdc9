"""Idioms as functions, and what becomes of one: a word for the golden.

Enters: a family's text (table.py). Leaves: an Idiom each; ``judge`` runs one against plain Python, which it must equal
bit for bit, and says how it ran:

    native                  one program, kernels and views throughout
    native loop             it has a loop that stayed one (or several)
    calls NumPy             some of its steps are NumPy's own functions, called by the program
    breaks: ID ...          the graph ends there, and Python goes on
    plain: ID ...           nothing ran natively; the reasons
    declines                a program was made, and gave its calls back to plain Python
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dynamo_lite
from dynamo_lite.report import Explanation
from tests.copies import copies_of
from tests.idioms.inputs import arguments, namespace
from tests.idioms.table import FAMILIES
from tests.oracle import Conditions, Report, require_equal

# The cost model is off: whether an idiom can run natively is asked, not whether it pays at this size.
OPTIONS = {"check": 1, "cost_model": False, "compile_budget": 0}  # the outcome hangs on no clock


@dataclass(frozen=True, slots=True)
class Idiom:
    """One line or function of the table; name: the line, or ``def name``."""

    family: str
    name: str
    source: str
    function: str

    def make(self) -> Callable[..., Any]:
        """The function, in a module of its own."""
        filename = f"<idiom {self.name}>"
        linecache.cache[filename] = len(self.source), None, self.source.splitlines(True), filename
        values = namespace()
        exec(compile(self.source, filename, "exec"), values)
        made: Callable[..., Any] = values[self.function]
        return made


def idioms() -> Iterator[Idiom]:
    """All of the table, in order."""
    for family, text in FAMILIES.items():
        block: list[str] = []
        for line in [*text.strip("\n").splitlines(), ""]:
            if block and not line.startswith(" "):
                yield _idiom(family, block)
                block = []
            block.append(line)


def _idiom(family: str, block: list[str]) -> Idiom:
    source = "\n".join(block) + "\n"
    if source.startswith("def "):
        name = source[4 : source.index("(")]
        return Idiom(family, f"def {name}", source, name)
    (line,) = block
    known = arguments()
    names = [node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name) and node.id in known]
    used = list(dict.fromkeys(names))
    return Idiom(family, line, f"def idiom({', '.join(used)}):\n    return {line}\n", "idiom")


def judge(idiom: Idiom) -> str:
    """Run an idiom plain and compiled, three calls each; raises AssertionError where they differ."""
    plain, fast = idiom.make(), idiom.make()
    known = arguments()
    code = plain.__code__
    count = code.co_argcount - len(plain.__defaults__ or ())
    make_args = copies_of(*(known[name] for name in code.co_varnames[:count]))
    report = require_equal(
        fast,
        make_args,
        plain=plain,
        conditions=Conditions(),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        name=idiom.name,
    )
    found = internal_words(report.compiled.explain())
    assert not found, f"{idiom.name}: not in the user's words: {found}"
    return outcome(report)


# Names of the compiler's own: operations of graphs and sizes, symbols, opcodes, classes.
_INTERNAL = re.compile(
    r"\b(add|sub|mul|floordiv|truediv|neg|mod|lt|le|eq|ne|gt|ge|trunc)\("
    r"|\b[A-Z]+_[A-Z_]+\b(?<!DYNAMO_LITE_VERBOSE)"
    r"|\b(Node|ScalarOp|Symbol|NodeKind|ArrayType|[A-Z]\w+Value|_NoValueType|\w*builtin_function\w*|NoneType)\b"
    r"|<value|<intermediate|\b(scalar|basic|reduce)_\w+\b"
)


def internal_words(explanation: Explanation) -> list[str]:
    """The texts of an explanation, but for its graphs, in which a name stands that only the compiler knows."""
    records = (*explanation.breaks, *explanation.skips, *explanation.loops)
    texts = [text for record in records for text in (record.message, record.hint)]
    texts += [guard.text for guard in explanation.guards]
    texts += [graph.why_plain for graph in explanation.graphs]
    texts += [record.reason for record in explanation.compiles]
    own = _symbols(explanation)
    return [
        text
        for text in texts
        if _INTERNAL.search(text.split(" (in ")[0]) or own & set(re.findall(r"\b\w+\b", text.split(" (in ")[0]))
    ]


def _symbols(explanation: Explanation) -> set[str]:
    """What the graphs call sizes and numbers."""
    return {name for graph in explanation.graphs for name in re.findall(r"\b[siny]\d+\b", graph.text)}


def outcome(report: Report) -> str:
    """How the calls of a report ran, in the words of the golden."""
    explanation, stats = report.compiled.explain(), report.stats
    skips = sorted({record.id for record in explanation.skips} - {"library-frame"})
    stops = sorted({record.id for record in explanation.breaks})
    if not stats["native_calls"]:
        reasons = ["declines"] if stats["declines"] else sorted({*skips, *stops}) or ["no-array-work"]
        return f"plain: {' '.join(reasons)}"
    loops = {record.outcome for record in explanation.loops}
    words = ["native loop" if loops & {"native", "paused"} else "native"]
    if loops & {"segments", "plain"}:
        words.append("a loop in segments")
    if any(graph.numpy_calls for graph in explanation.graphs):
        words.append("calls NumPy")
    if stops:
        words.append(f"breaks: {' '.join(stops)}")
    if set(skips) - set(stops):
        words.append(f"leaves plain: {' '.join(skips)}")
    if stats["declines"]:
        words.append("declines")
    return ", ".join(words)

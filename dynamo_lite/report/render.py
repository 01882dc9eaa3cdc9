"""An Explanation as text, JSON or HTML; pure functions of its records.

The text answers, in this order: what became of the function, and of its loops, where the graphs break (place, source
line, reason, what to do), what calls took, what was compiled again, where compile time went; then each graph, with what
it relies on (guards, in words).
"""

from __future__ import annotations

import dataclasses
import html
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # records.py imports this module for Explanation.__str__
    from dynamo_lite.report.records import BreakRecord, Explanation, GraphRecord, LoopRecord, TrialRecord


def to_text(explanation: Explanation) -> str:
    """The explanation for a terminal."""
    sections = [
        _heading(explanation),
        _loops(explanation),
        _breaks("Graph breaks", explanation.breaks),
        _breaks("Left to plain Python", _noteworthy(explanation)),
        _idle(explanation),
        _trials(explanation),
        _recompiles(explanation),
        _timings(explanation),
        _stats(explanation),
        *(_graph(number, graph) for number, graph in enumerate(explanation.graphs)),
    ]
    return "\n\n".join(section for section in sections if section)


def summary(explanation: Explanation) -> str:
    """One sentence: how many graphs, kernels and breaks."""
    native = sum(graph.natively for graph in explanation.graphs)
    kernels = sum(graph.kernels for graph in explanation.graphs)
    if _is_uncalled(explanation):
        return "it has not been called yet: call it, and ask again"
    if not explanation.graphs:
        return "nothing was compiled; it runs as plain Python"
    parts = [_count(len(explanation.graphs), "graph")]
    parts.append(_count(kernels, "fused kernel"))
    parts.append(_count(len(explanation.breaks), "break"))
    if native < len(explanation.graphs):
        parts.append(f"{len(explanation.graphs) - native} of the graphs in plain NumPy")
    return ", ".join(parts)


def _is_uncalled(explanation: Explanation) -> bool:
    """Whether there was no call to learn from, of a function that can be compiled: a whole program is not called."""
    counted = any(dict(explanation.stats or [("", 1)]).values())
    return bool(explanation.filename) and not explanation.graphs and not explanation.skips and not counted


def to_json(explanation: Explanation, indent: int | None = 2) -> str:
    """All records, and the derived recompiles and timings, as JSON."""
    data = dataclasses.asdict(explanation)
    data["recompiles"] = [dataclasses.asdict(record) for record in explanation.recompiles]
    data["timings"] = explanation.timings
    data["stats"] = dict(explanation.stats)
    data["summary"] = summary(explanation)
    for record in (*data["compiles"], *data["recompiles"]):
        record["seconds"] = dict(record["seconds"])
    return json.dumps(data, indent=indent)


def to_html(explanation: Explanation) -> str:
    """A page of its own, without scripts or outside files."""
    title = html.escape(f"dynamo_lite: {explanation.function}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>{to_html_fragment(explanation)}</body></html>\n"
    )


def to_html_fragment(explanation: Explanation) -> str:
    """The same as to_text, as the HTML that a notebook shows."""
    parts = [f"<style>{_STYLE}</style>", '<div class="dynamo-lite">', f"<h3>{html.escape(explanation.function)}</h3>"]
    place = _place(explanation.filename, explanation.line)
    parts.append(f"<p>{html.escape(place)}{': ' if place else ''}{html.escape(summary(explanation))}</p>")
    if explanation.loops:
        loops = (
            (f"{_place(one.filename, one.line)} in {one.function}", _loop(one), one.hint) for one in explanation.loops
        )
        parts.append("<h4>Loops</h4>" + _html_table(["where", "what it became", "what to do"], loops))
    for title, breaks in (("Graph breaks", explanation.breaks), ("Left to plain Python", _noteworthy(explanation))):
        if breaks:
            parts.append(f"<h4>{title}</h4>" + _html_table(["where", "source", "why", "what to do"], map(_row, breaks)))
    if _idle(explanation):
        parts.append(f"<p>{html.escape(_idle(explanation))}</p>")
    if explanation.trials:
        rows = [(f"{one.function} ({_place(one.filename, one.line)})", _trial(one)) for one in explanation.trials]
        parts.append("<h4>A call, as timed</h4>" + _html_table(["what", "took"], rows))
    if explanation.recompiles:
        parts.append("<h4>Compiled again</h4>" + _html_table(["what", "because"], _compiled_again(explanation)))
    if explanation.timings:
        rows = [(stage, _duration(seconds)) for stage, seconds in explanation.timings.items()]
        parts.append("<h4>Compile time</h4>" + _html_table(["stage", "time"], rows))
    if explanation.stats:
        rows = [(name.replace("_", " "), f"{value:g}") for name, value in explanation.stats]
        parts.append("<h4>Calls</h4>" + _html_table(["counter", "value"], rows))
    for number, graph in enumerate(explanation.graphs):
        parts.append(f"<details open><summary>{html.escape(_graph_title(number, graph))}</summary>")
        parts.append(f"<pre>{html.escape(graph.text)}</pre>")
        if _sizes(graph):
            parts.append(f"<p>{html.escape(_sizes(graph))}</p>")
        parts.extend(f"<p>{html.escape(line)}</p>" for line in _declines(graph))
        if graph.guards:
            parts.append(f"<details><summary>used again while ({len(graph.guards)} guards)</summary><ul>")
            parts.extend(f"<li>{html.escape(guard.text)}</li>" for guard in graph.guards)
            parts.append("</ul></details>")
        parts.append("</details>")
    parts.append("</div>")
    return "\n".join(parts)


_STYLE = (
    ".dynamo-lite table{border-collapse:collapse}"
    ".dynamo-lite td,.dynamo-lite th{border:1px solid #bbb;padding:2px 8px;text-align:left;vertical-align:top}"
    ".dynamo-lite pre{background:#8881;padding:6px;overflow-x:auto}"
)


def _heading(explanation: Explanation) -> str:
    place = _place(explanation.filename, explanation.line)
    return f"{explanation.function}{f' ({place})' if place else ''}: {summary(explanation)}"


def _graph_title(number: int, graph: GraphRecord) -> str:
    place = _place(graph.filename, graph.line)
    where = f" from {place}{f' in {graph.function}' if graph.function else ''}" if place else ""
    if not graph.natively:
        return f"Graph {number}{where}: runs in plain NumPy ({graph.why_plain or 'backend ' + graph.backend})"
    work = [_count(graph.kernels, "fused kernel")]
    if graph.operations:
        work.insert(0, _count(graph.operations, "operation"))
    if graph.numpy_calls:
        work.append(_count(graph.numpy_calls, "call") + " to NumPy itself")
    return f"Graph {number}{where}: {', '.join(work)}, backend {graph.backend}"


def _sizes(graph: GraphRecord) -> str:
    """For which sizes and iterations it runs natively; empty when for all."""
    least, most = graph.sizes
    bounds = [f"at least {least}"] * (least > 0) + [f"at most {most}"] * (most < sys.maxsize)
    others = f" ({', '.join(graph.any_size)} may have any size)" if graph.any_size else ""
    parts = [f"for inputs of {' and '.join(bounds)} elements{others}"] * bool(bounds)
    parts += [f"where {graph.iterations}"] * bool(graph.iterations)
    return f"runs {', '.join(parts)}; plain NumPy is as fast for others, and runs them" if parts else ""


def _graph(number: int, graph: GraphRecord) -> str:
    lines = [_graph_title(number, graph), *_indented(graph.text, 4), *_indented(_sizes(graph), 2)]
    lines += [f"  {line}" for line in _declines(graph)]
    if graph.guards:
        lines.append("  is used again while")
        lines += [f"    {guard.text}" for guard in graph.guards]
    return "\n".join(lines)


def _declines(graph: GraphRecord) -> list[str]:
    return [f"{_count(number, 'call')} declined and ran plainly: {reason}" for reason, number in graph.declines]


_OUTCOMES = {
    "native": "native",
    "unrolled": "unrolled",
    "segments": "one segment an iteration",
    "paused": "so far only iterations that run by themselves",
    "plain": "plain Python, since one segment an iteration would take longer",
}


def _loop(record: LoopRecord) -> str:
    return f"{_OUTCOMES[record.outcome]}{': ' if record.message else ''}{record.message}"


def _loops(explanation: Explanation) -> str:
    if not explanation.loops:
        return ""
    lines = ["Loops"]
    for record in explanation.loops:
        lines.append(f"  {_place(record.filename, record.line)} in {record.function}: {_loop(record)}")
        if record.hint:
            lines.append(f"      hint: {record.hint}")
    return "\n".join(lines)


def _breaks(title: str, breaks: tuple[BreakRecord, ...]) -> str:
    if not breaks:
        return ""
    lines = [title]
    for record in breaks:
        lines.append(f"  {_where(record)}  [{record.id}]")
        if record.source_line:
            lines.append(f"      {record.source_line}")
        lines.append(f"    why:  {record.message}")
        lines.append(f"    hint: {record.hint}")
    return "\n".join(lines)


def _is_idle(explanation: Explanation, record: BreakRecord) -> bool:
    """Whether it is another function than the explained one, in which there was nothing to compile."""
    return record.id == "nothing-to-compile" and record.line != explanation.line


def _noteworthy(explanation: Explanation) -> tuple[BreakRecord, ...]:
    return tuple(record for record in explanation.skips if not _is_idle(explanation, record))


def _idle(explanation: Explanation) -> str:
    """Functions without array work, which may be many: a line for all of them."""
    idle = [record for record in explanation.skips if _is_idle(explanation, record)]
    if not idle:
        return ""
    names = [f"{record.function} ({_place(record.filename, record.line)})" for record in idle[:_IDLE_SHOWN]]
    more = len(idle) - len(names)
    return f"Without array work: {', '.join(names)}{f', and {more} more' if more else ''}"


_IDLE_SHOWN = 5


def _trial(record: TrialRecord) -> str:
    verdict = "runs plainly, and is tried again seldom" if record.stays_plain else "runs compiled"
    return f"{record.plain * 1e6:.3g} us plainly, {record.compiled * 1e6:.3g} us compiled: {verdict}"


def _trials(explanation: Explanation) -> str:
    """What real calls took; nothing of functions that were not held against plain ones."""
    if not explanation.trials:
        return ""
    lines = [f"  {one.function} ({_place(one.filename, one.line)}): {_trial(one)}" for one in explanation.trials]
    return "\n".join(["A call, as timed", *lines])


def _recompiles(explanation: Explanation) -> str:
    if not explanation.recompiles:
        return ""
    lines = [f"  {what}: {because}" for what, because in _compiled_again(explanation)]
    return "\n".join(["Compiled again", *lines])


def _compiled_again(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """What was compiled again, by its line where it does not begin with the function; and why."""
    places = {(graph.function, graph.segment): _place(graph.filename, graph.line) for graph in explanation.graphs}
    for record in explanation.recompiles:
        place = places.get((record.function, record.segment), "a graph break") if record.segment else ""
        yield f"{record.function}{f' from {place} on' if place else ''}", record.reason


def _timings(explanation: Explanation) -> str:
    stages = explanation.timings
    if not stages:
        return ""
    shares = ", ".join(f"{stage} {_duration(seconds)}" for stage, seconds in stages.items())
    return f"Compile time {_duration(sum(stages.values()))}: {shares}"


def _stats(explanation: Explanation) -> str:
    if not explanation.stats or _is_uncalled(explanation):
        return ""
    return "Calls so far: " + ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in explanation.stats)


def _row(record: BreakRecord) -> tuple[str, ...]:
    return _where(record), record.source_line, f"{record.message} [{record.id}]", record.hint


def _html_table(titles: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _where(record: BreakRecord) -> str:
    place = _place(record.filename, record.line)
    return f"{place} in {record.function}" if place else record.function


def _place(filename: str, line: int) -> str:
    return f"{filename}:{line}" if filename else ""


def _indented(text: str, width: int) -> list[str]:
    return [" " * width + line for line in text.rstrip("\n").splitlines()]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1.0 else f"{seconds:.2f} s"

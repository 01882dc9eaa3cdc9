"""What operations do with NaNs, and what of them can be told apart: the facts that `keep` and `watch` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamo_lite.program.element_ops import EXTREMES, STEPS
from dynamo_lite.program.ir import Element, Function, Load, Node, Store, Value, walk

ARITHMETIC = frozenset(
    ("add", "subtract", "multiply", "divide", "quotient", "reciprocal", "sqrt", "square", "negative", "cast")
)
FUSED = frozenset(("multiply_add", "multiply_subtract", "multiply_subtract_strict"))
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def is_extreme(op: Element) -> bool:
    """Whether an operation is a compiled extreme of floats."""
    name = op.op.removesuffix("_or_doubt").removeprefix("plain_")
    return (name in EXTREMES or name in STEPS) and op.ufunc is None and op.results[0].dtype.kind == "f"


def meets_nan(op: Element) -> bool:
    """Whether NumPy keeps the one or the other of two NaN operands, by position and alignment (see element_ops.py)."""
    if op.op in FUSED:
        return True
    name_fits = op.op in ("add", "multiply") or op.op in STEPS
    return name_fits and op.results[0].dtype.kind == "f" and op.operands[0] is not op.operands[1]


def is_doubtful(op: Element) -> bool:
    """Whether the second result says where the first one may be another than NumPy's."""
    return op.op.endswith(("_or_doubt", "_or_nan"))


def gives_any_nan(op: Element) -> bool:
    """Whether the result is NaN where an operand is, but maybe another NaN than NumPy's."""
    return op.op.endswith("_or_nan")


def strict_test(op: Element) -> tuple[str, tuple[Value, ...]]:
    """What tells, of an operation that meets NaNs, whether NumPy may have other bits: an operation and its operands."""
    return ("odd_nan", op.results) if op.op in STEPS else ("nans_differ", op.operands)


def spreads_nan(op: Element) -> bool:
    """Whether the result is NaN where an operand is, or else in doubt."""
    return (
        (op.op in ARITHMETIC or op.op in FUSED or is_extreme(op) or gives_any_nan(op))
        and op.results[0].dtype.kind == "f"
        and all(value.dtype.kind == "f" for value in op.operands)
    )


def keeps_bits(op: Element) -> bool:
    """Whether the result, where it is NaN, is an operand that is, bit by bit, or has set the invalid flag."""
    if op.op in ("where", "copy", "positive"):
        return True
    return spreads_nan(op) and op.op not in ("negative", "cast")


def meeting(ops: Sequence[Element], known: set[Value]) -> list[list[Value]]:
    """Groups of values of which two may meet where NumPy keeps the one or the other, if both are NaN: what goes into
    operations that keep the bits of a NaN. One alone may meet a NaN that arises. known: these are no NaN."""
    sources: dict[Value, dict[Value, None]] = {value: {} for value in known}

    def of(operands: Sequence[Value]) -> dict[Value, None]:
        found: dict[Value, None] = {}
        for value in operands:
            found |= sources.setdefault(value, {value: None} if value.dtype.kind == "f" else {})
        return found

    groups: dict[Value, dict[Value, None]] = {}  # of each source, those that may meet it
    for op in ops:
        if keeps_bits(op):
            sources[op.results[0]] = of(op.operands)
        if meets_nan(op) and op.op not in STEPS:
            joined: dict[Value, None] = {}
            for source in of(op.operands):
                joined |= groups.get(source, {source: None})
            groups |= dict.fromkeys(joined, joined)
    return list({id(group): list(group) for group in groups.values()}.values())


class Origins:
    """Where values come from, also by way of a tile's buffer."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        nodes = tuple(nodes)
        self.producer: dict[Value, Element] = {}
        self.through: dict[Value, Value] = {}  # of what is loaded from a buffer, what was stored there
        stored = {}
        for node in nodes:
            if isinstance(node, Element):
                self.producer |= dict.fromkeys(node.results, node)
            elif isinstance(node, Store) and node.memref.space == "tile":
                stored[node.memref] = node.value
            elif isinstance(node, Load) and node.memref in stored:
                self.through[node.result] = stored[node.memref]

    def source(self, value: Value) -> Value:
        """The value that this one is, where it was computed."""
        return self.through.get(value, value)

    def needs(self, op: Element) -> set[Value]:
        """The operands without which no optimiser can compute this operation."""
        if is_extreme(op):
            return (
                self._sources(op.operands)
                if self._differ(op.operands) and all(map(self._opaque, op.operands))
                else set()
            )
        if spreads_nan(op):
            return self._sources(op.operands)
        if op.op in COMPARISONS and op.operands[0].dtype.kind == "f" and self._differ(op.operands):
            return self._sources(op.operands)
        if op.op in ("complex_of", "real", "imag"):
            return self._sources(op.operands)
        if op.op == "where":
            mask, *arms = op.operands
            needed = {mask} if self._differ(arms) and all(map(self._opaque, arms)) else set()
            return self._sources(needed | (set(arms) if self._opaque(mask) else set()))
        return set()

    def _sources(self, values: Iterable[Value]) -> set[Value]:
        return {self.source(value) for value in values}

    def _differ(self, values: Iterable[Value]) -> bool:
        originals = [self._original(value) for value in values]
        return len(set(originals)) == len(originals)

    def _original(self, value: Value) -> Value:
        """What `value` is a mere copy of."""
        value = self.source(value)
        while value in self.producer and self.producer[value].op in ("copy", "positive", "conjugate"):
            value = self.source(self.producer[value].operands[0])
        return value

    def _opaque(self, value: Value) -> bool:
        """Whether nothing is known of a value: it comes from memory, arithmetic, or a comparison of two such."""
        value = self._original(value)
        if value not in self.producer:
            return True
        op = self.producer[value]
        if op.op in COMPARISONS:
            return self._differ(op.operands) and all(self.source(v) not in self.producer for v in op.operands)
        if is_extreme(op):
            return self._differ(op.operands) and all(map(self._opaque, op.operands))
        if op.ufunc is not None or op.op in ("real", "imag"):
            return True
        return (op.op in ARITHMETIC or op.op in FUSED) and op.results[0].dtype.kind == "f"


def origins(function: Function) -> Origins:
    """Where the values of a function come from."""
    return Origins(walk(function.body))

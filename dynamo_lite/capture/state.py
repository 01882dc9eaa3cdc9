"""The state of a capture: the graph being built, the facts it rests on, and the interpreted frames.

``Tracer`` is the one builder that handlers and call rules work on. It wraps concrete objects into symbolic values
(stating a guard for whatever it looks at), decides relations between sizes, and appends operations to the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dynamo_lite._C import version_tag
from dynamo_lite.capture.facts import Facts
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.value import ArrayValue, CellValue, ConstantValue, NumberValue, Value
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Location, Node
from dynamo_lite.graph.scalar import Number, Scalar, ScalarOp, Symbol, evaluate, is_symbolic, negate, simplify
from dynamo_lite.pycode import Code


class Break(Exception):
    """The instruction at hand cannot be captured: `reason` is an id of breaks.py, `detail` fills its message."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class AttributeMissing(Break):
    """The value has no attribute `name`, which its type or a guard says: getattr() with a default may go on."""

    def __init__(self, name: str) -> None:
        super().__init__("python-exception", f"AttributeError: {name}")


class SkipFrame(Exception):
    """The frame cannot be captured at all, whatever its arguments are."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class GeneratorEscapes(Exception):
    """A generator expression lives on behind the segment, where nothing can rebuild it."""


@dataclass(eq=False, slots=True)
class Frame:
    """One interpreted frame: the root, or an inlined callee."""

    code: Code
    namespace: dict[str, Any]  # the function's globals
    builtins: dict[str, Any]
    locals: dict[str, Value]
    cells: dict[str, CellValue]  # cellvars and freevars by name
    stack: list[Value] = field(default_factory=list)
    index: int = 0
    line: int | None = None
    yielded: Value | None = None  # by a generator expression, on its way to who takes it

    def push(self, value: Value) -> None:
        self.stack.append(value)

    def popn(self, count: int) -> list[Value]:
        """Take `count` values off the stack, lowest first."""
        if count == 0:
            return []
        items = self.stack[-count:]
        del self.stack[-count:]
        return items


def _beyond_int64(condition: Scalar) -> bool:
    """A comparison with an int that 64 bits do not hold: every int that passes its guard compares alike."""
    return isinstance(condition, ScalarOp) and any(
        isinstance(operand, int) and not -(2**63) <= operand < 2**63 for operand in condition.operands
    )


class Tracer:
    """What one capture has built so far. INVARIANT: ``inputs[i]`` is the source of ``graph.inputs[i]``."""

    def __init__(self, node_limit: int, unroll_limit: int) -> None:
        self.graph = Graph()
        self.sizes = self.graph.facts
        self.facts = Facts()
        self.inputs: list[Source] = []
        self.example_inputs: list[Any] = []
        self.hints: dict[str, Number] = {}
        self.equal: dict[Scalar, Scalar] = {}
        self.wrapped: dict[int, tuple[Any, Value]] = {}
        self.frames: list[Frame] = []
        self.node_limit = node_limit
        self.unroll_limit = unroll_limit
        self.written: set[Node] = set()

    def release(self) -> None:
        """Let go of the caller's objects: what refers to them here may be part of a reference cycle."""
        for frame in self.frames:
            frame.stack.clear()
            frame.locals.clear()
        for _, value in self.wrapped.values():
            if hasattr(value, "concrete"):
                value.concrete = None
        self.wrapped.clear()
        self.example_inputs.clear()

    def state_class(self, kind: str, source: Source, cls: type) -> None:
        """Guard "type_version" or "class_version": `cls` stays as it is now. To be stated before looking into it."""
        tag = version_tag(cls)
        if tag == 0:
            raise Break("unsupported-operation", f"class {cls.__qualname__}, which has changed too often")
        self.facts.state(kind, source, cls, tag)

    # -- numbers ----------------------------------------------------------------------------------

    def hint(self, value: Scalar) -> Number:
        """The number that `value` is in this call."""
        try:
            return evaluate(value, self.hints)
        except ArithmeticError as error:
            raise Break("python-exception", f"{type(error).__name__}: {error}") from None

    def relate(self, condition: Scalar) -> bool:
        """Whether `condition` is true now; states the guard that it stays so."""
        condition = simplify(condition)
        known = self.sizes.decide(condition)
        if known is not None:
            return known
        truth = bool(self.hint(condition))
        if is_symbolic(condition) and not _beyond_int64(condition):
            self.facts.state_scalar(condition if truth else negate(condition))
            self.sizes.learn(condition, truth)
            if truth and isinstance(condition, ScalarOp) and condition.op == "eq":
                self.note_equal(*condition.operands)
        return truth

    def note_equal(self, first: Scalar, second: Scalar) -> None:
        """Remember that two sizes are equal, so that types name them alike."""
        first, second = self.canonical(first), self.canonical(second)
        if first == second:
            return
        if isinstance(second, Symbol):
            self.equal[second] = first
        elif isinstance(first, Symbol):
            self.equal[first] = second

    def canonical(self, value: Scalar) -> Scalar:
        """`value` with every symbol replaced by the one it is known to equal."""
        if isinstance(value, Symbol):
            return self.canonical(self.equal[value]) if value in self.equal else value
        if isinstance(value, ScalarOp):
            operands = tuple(self.canonical(operand) for operand in value.operands)
            return simplify(ScalarOp(value.op, value.kind, operands))
        return value

    def specialise(self, value: Value) -> Value:
        """A number as the constant it is in this call, guarded; other values as they are."""
        if not isinstance(value, NumberValue):
            return value
        number = self.hint(value.expr)
        if is_symbolic(value.expr):
            if isinstance(number, float):
                if value.source is None:
                    raise Break("float-argument", str(value.expr))
                self.facts.state("equal", value.source, number)
            else:
                self.relate(ScalarOp("eq", "bool", (value.expr, number)))
        return ConstantValue(value.source, number)

    def truth(self, condition: Scalar) -> Value:
        """A relation decided now, as a constant."""
        return ConstantValue(None, self.relate(condition))

    # -- graph ------------------------------------------------------------------------------------

    def location(self) -> Location | None:
        """The user's line that is being interpreted: the innermost frame's."""
        if not self.frames:
            return None
        frame = self.frames[-1]
        return Location(frame.code.filename, frame.line or frame.code.firstlineno, frame.code.name)

    def array(self, node: Node) -> ArrayValue:
        """The value for a node just appended."""
        return ArrayValue(None, node)

    def check_size(self) -> None:
        """Break when the graph has grown over its limit."""
        if len(self.graph.nodes) > self.node_limit:
            raise Break("graph-too-large", str(self.node_limit))

    def number(self, expr: Scalar) -> Value:
        """A Python number as a value: a constant when it is known."""
        return NumberValue(None, expr) if is_symbolic(expr) else ConstantValue(None, expr)

"""The state of a capture: the graph being built, the facts it rests on, and the interpreted frames.

``Tracer`` wraps objects (stating a guard for whatever it looks at), decides relations of sizes, and appends operations.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamo_lite import ops
from dynamo_lite._C import version_tag
from dynamo_lite.budget import spend
from dynamo_lite.capture.facts import Facts
from dynamo_lite.capture.loops.plan import LoopKey, LoopPlan
from dynamo_lite.capture.numbers.fixed import note_fixed
from dynamo_lite.capture.numbers.words import number_words
from dynamo_lite.capture.segments.restraints import Restraints, Rounds
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CellValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    ListValue,
    NamespaceValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    SequenceValue,
    Value,
    computed_number,
    next_serial,
)
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.facts import at_worst, learn_index
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Location, Node, NodeKind
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.rewrite import map_scalars
from dynamo_lite.graph.scalar import (
    COMPARISONS,
    Number,
    Scalar,
    ScalarOp,
    Symbol,
    evaluate,
    is_symbolic,
    kind_of,
    make,
    negate,
    normal_comparison,
    simplify,
    symbols_of,
    terms_of,
)
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.pycode import Code

OPERATION = 10  # units of work that an operation takes; interpreting an instruction is one
NUMPY = str(Path(np.__file__).parent)  # where its own functions stand


_INT64 = range(-(2**63), 2**63)
_ASKS_WHETHER_NONE = {("eq", 0), ("ne", 0), ("le", 0), ("gt", 0), ("ge", 1), ("lt", 1)}


class Raised(Break):
    """The instruction raises an exception of class `cls` in every call that passes the guards. The frame may handle
    it; elsewhere the graph breaks."""

    def __init__(self, cls: type[BaseException], detail: str) -> None:
        super().__init__("python-exception", f"{cls.__name__}: {detail}")
        self.cls = cls


class AttributeMissing(Raised):
    """The value has no attribute `name`, which its type or a guard says: getattr() with a default may go on."""

    def __init__(self, name: str) -> None:
        super().__init__(AttributeError, name)


class SkipFrame(Exception):
    """The frame cannot be captured at all, whatever its arguments are."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class GeneratorEscapes(Exception):
    """A generator expression lives on behind the segment, where nothing can rebuild it."""


@dataclass(frozen=True, slots=True)
class SideExits:
    """Where a frame may go on after a loop that may be left to other places than its end: `number` says at which of
    `places`, which count from `first`, or is 0 at the end. Of each there is where it is and what lies on the stack
    there besides: values that nobody looks at any more, or what is left of the loop's range. inside: those in the
    middle of an iteration; done: how many came before, and who counts that."""

    number: Value
    places: tuple[tuple[int, tuple[Value, ...]], ...]
    first: int = 1
    inside: frozenset[int] = frozenset()
    done: tuple[Rounds, Value] | None = None


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
    calls: object = None  # the callable, written in C or by NumPy, that it calls now
    yielded: Value | None = None  # by a generator expression, on its way to who takes it
    visits: dict[int, int] = field(default_factory=dict)  # how often the header of a `while` was met
    rounds: dict[int, int] = field(default_factory=dict)  # how often it has gone back to an instruction
    began: dict[int, float] = field(default_factory=dict)  # what was left of the work when it first did (budget.py)
    side_exits: SideExits | None = None  # where it may go on, if not at ``index``
    given: tuple[Value, ...] = ()  # its arguments, which whoever called it has until it returns

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


class Retry(Exception):
    """An attempt has taught something (a LoopPlan, Restraints): capture begins again."""


class StoresShow(Exception):
    """Somebody could see what was stored to objects from outside before the segment ends: stores are to break it."""


class CellStored(Exception):
    """A cell from outside is stored to: each such cell has to be one value, however it is reached."""


class PutNumber(NamedTuple):
    """A number that an iteration puts into a list or dict: operand `place` of `node`, counted without the list. serial:
    what is made later is made in that iteration of the innermost loop."""

    node: Node
    place: int
    value: Value
    serial: int


ENDLESS = 2**63 - 1  # in place of the number of iterations of a `while`


@dataclass(eq=False, slots=True)
class Region:
    """The body of a loop while it is traced: its nodes may still refer to those of the graphs around it.

    carried: the body's inputs for the values that change from iteration to iteration. stored: those that are written.
    numbers: by path the Python numbers that change, as the body knows them. lists: those that there are before the
    first iteration, and how often each had been read and its ends looked at then, and its items; before: the numbers
    that are, or in the first iteration may be, an object from outside; constants: those that are a constant in it.
    pauses: conditions for iterations in front of which the loop is left; None where it cannot be. A branch of a
    choice is a region too, whose index nothing uses; what it yields is noted with the choice. given: the condition
    under which it runs, if that is a number. depth: how many frames there were around it. serial: what is made in it
    has a later one. begins, ends: by path the numbers that there are before the first iteration and after one, as the
    values that names hold. kept: by path the tuples that an iteration leaves as it finds them, as it finds them.
    extents: by name the numbers that are extents of carried arrays, and what they begin with (extents.py). loop: the
    node, once it is complete. appended: what it has put at the end of lists so far, in order; None of a list that a
    loop or branch inside has made longer.
    """

    key: LoopKey
    graph: Graph
    index: Symbol
    bounds: tuple[Scalar, Scalar, Scalar]
    carried: list[Node] = field(default_factory=list)
    stored: set[Node] = field(default_factory=set)
    numbers: dict[tuple[Any, ...], Symbol] = field(default_factory=dict)
    lists: dict[SequenceValue | DictValue, tuple[int, int, int]] = field(default_factory=dict)
    before: set[Scalar] = field(default_factory=set)
    constants: set[Scalar] = field(default_factory=set)
    pauses: list[Scalar] | None = None
    given: Scalar = True
    depth: int = 0
    serial: int = field(default_factory=next_serial)
    begins: dict[tuple[Any, ...], Value | None] = field(default_factory=dict)
    ends: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    kept: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    extents: dict[str, Scalar] = field(default_factory=dict)
    loop: Node | None = None
    appended: dict[SequenceValue, list[Value] | None] = field(default_factory=dict)

    def may_be_unrolled(self) -> bool:
        """Whether capture knows how many iterations there are, and they are so few that unrolled the loop does better
        than one that is left."""
        start, stop, step = self.bounds
        if not (isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)) or stop == ENDLESS:
            return False
        return len(range(start, stop, step)) <= UNROLLED_RATHER


ALWAYS_UNROLLED = 8  # iterations of a loop of known length
UNROLLED_RATHER = 64  # iterations


@dataclass(frozen=True, slots=True)
class LoopExit:
    """The state of a frame between two iterations of `loop`, in front of instruction `index` (leaving.py)."""

    loop: Node
    index: int
    stack: list[Value]
    locals: dict[str, Value]
    cells: dict[str, CellValue]  # of the variables of its own that have cells
    stores: list[tuple[Value, Any, Value]]


@dataclass(frozen=True, slots=True)
class Grown:
    """A list or dict from outside that a loop fills, and the graph's input for it."""

    concrete: list[Any] | dict[Any, Any]
    source: Source
    node: Node


@dataclass(frozen=True, slots=True)
class Drawn:
    """A random generator that the program draws from, and the graph's input for it."""

    concrete: Any
    source: Source
    node: Node


@dataclass(slots=True)
class Demands:
    """What Tracer.demands gives, for a with statement. NB: a generator's frame would keep the exceptions that leave the
    block, and what the frames on their way hold, alive until the next collection."""

    tracer: Tracer
    of_slices: bool
    before: tuple[bool, bool] = (False, False)

    def __enter__(self) -> None:
        tracer = self.tracer
        self.before = tracer.demanding, tracer.slicing
        tracer.demanding, tracer.slicing = True, tracer.slicing or self.of_slices

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.tracer.demanding, self.tracer.slicing = self.before
        if isinstance(error, Undecided) and not self.tracer.regions:  # no loop around could settle it
            text = str(error)
            del error, traceback
            raise Break("data-dependent-number", text) from None


class Tracer:
    """What one capture has built so far. INVARIANT: ``inputs[i]`` is the source of ``root.inputs[i]``."""

    def __init__(
        self,
        node_limit: int,
        unroll_limit: int,
        native_loops: bool = False,
        plans: dict[LoopKey, LoopPlan] | None = None,
        pauses: bool = True,
        constants: bool = True,
        restraints: Restraints | None = None,
        defers: bool = True,
        scopes: bool = True,
    ) -> None:
        self.root = Graph()
        self.restraints = Restraints() if restraints is None else restraints
        self.lengths: dict[Source, set[int]] | None = None  # those of restraints, for the code that is captured
        self.numbered: dict[Source, bool | str | None] | None = None  # likewise
        self.long: dict[Source, int] = {}  # long lists and tuples, and how many of their items were looked at
        self.handed: list[NumberedValue] = []  # lists of which the op at hand has got the array (whole_lists.py)
        self.list_scalars: dict[Node, NumberedValue] = {}  # items of lists: no new objects (listed_scalars.py)
        self.array_columns: dict[Node, NumberedValue] = {}  # inputs, of arrays of the objects in a list
        self.array_items: dict[Node, tuple[NumberedValue, str, Scalar | None]] = {}  # their rows (listed_arrays.py)
        self.kinds_put: dict[object, dict[Scalar | None, str]] = {}  # what lists have got, and where (scalar_items.py)
        self.nested = False  # a list in another one is known by its numbers alone
        self.regions: list[Region] = []
        self.native_loops = native_loops
        self.pauses = pauses  # loops may be left for single iterations
        self.constants = constants  # numbers, and long sequences of them, that live with their module are constants
        self.plans: dict[LoopKey, LoopPlan] = {} if plans is None else plans
        self.indices: set[str] = set()  # names of the indices of all loops met
        self.carried: set[str] = set()  # names of the numbers that they carry, and that they or choices yield
        self.loops: dict[Node, Region] = {}  # those that are complete
        self.met: list[Region] = []  # and all that were begun
        self.alternatives: dict[str, tuple[Scalar, ...]] = {}  # by such a name the numbers that it may be
        self.aliases: set[frozenset[Value]] = set()  # pairs of tuples that are one object where some way was gone
        self.facts = Facts()
        self.inputs: list[Source] = []
        self.example_inputs: list[Any] = []
        self.hints: dict[str, Number] = {}
        self.wrapped: dict[int, tuple[Any, Value]] = {}
        self.is_repeated = False  # a capture that has stopped, up to that step: it has to come there again
        self.starts: set[int] = set()  # of the root frame's code: in front of these another segment begins
        self.firsts: set[int] = set()  # those of them at which a loop begins with an iteration that runs plainly
        self.parts: dict[Node, Source] = {}  # views that stand for arrays from outside (parts.py)
        self.arrays: dict[Node, ArrayValue] = {}  # by their nodes those that came from outside
        self.frames: list[Frame] = []
        self.node_limit = node_limit
        self.unroll_limit = unroll_limit
        self.written: set[Node] = set()
        self.appended: dict[Scalar, list[tuple[LoopKey, ...]]] = {}  # numbers that lists get, and on which ways
        self.put_numbers: list[PutNumber] = []  # those of loops that tell which objects numbers are
        self.tables: dict[Region, Node] = {}  # and the tables of these objects
        self.grown: dict[int, Grown] = {}  # by id the lists from outside that get something
        self.grows = True  # outside of loops, too
        self.has_grown = False  # some have got something there
        self.is_read_behind = False  # and something wants to know what lists hold, behind that
        # By id those of which single items alone are known, and where these are (outside_items.py).
        self.looked_up: dict[int, tuple[Any, set[Source]]] = {}
        self.looked_into: set[Value] = set()  # other lists, and dicts, of which items were known so
        self.keyed: set[Source] = set()  # those of which they are not, since earlier attempts have stored to them
        self.drawn: dict[int, Drawn] = {}  # by id the random generators
        self.cell_lists: list[Any] = []  # the arrays that stand for lists
        self.cell_reads: set[Scalar] = set()  # numbers out of lists that a loop fills (cells.py)
        self.changes_lists = 0  # how often the program has changed lists that it has as objects (object_lists.py)
        self.taken: dict[Any, tuple[int, Graph, Value]] = {}  # what it has taken of these, and after which change
        self.lengths_changed = 0  # how often some of them got longer or shorter
        self.gone_over: list[tuple[Region, ListValue, Scalar]] = []  # by loops, and how long these were
        self.listed: list[ListValue] = []  # those from outside
        self.types_put: dict[Node, ArrayType | None] = {}  # into lists and dicts made here: of arrays, or None
        self.made_by_guards: set[Source] = set()  # numbers out of lists, which are not to be read there again
        self.held: dict[Any, tuple[Any, Node]] = {}  # by id, or source, the objects that it has besides
        self.repeated: list[SequenceValue] = []  # lists of which a number of the call's says how long they are
        self.lists: list[Source] = []  # those from outside whose items are known
        self.defers = defers  # what is stored to objects from outside, residual code stores when the segment ends
        self.stored: dict[Value, dict[Any, Value]] = {}  # what such objects held before the first store
        self.checked: dict[Value, dict[Any, int]] = {}  # where storing is all that happens, by which was first
        self.namespaces: dict[int, NamespaceValue] = {}  # by id of the dict
        self.scopes = scopes  # what np.errstate and catch_warnings change is known to the graph
        self.errors = (0, 0)  # which floating-point errors are ignored, and reported in any case, by now
        self.silent = False  # and whether nobody sees what NumPy warns of
        self.filters = 0  # how many `with warnings.catch_warnings()` are open
        self.filtered = False  # there has been one
        self.manager: tuple[Value, Frame, int] | None = None  # the last one of such a `with`, where it was made
        self.depth = 0  # how many scopes of either kind are open
        self.reporting: dict[Any, Any] = {}  # places where an error may be reported (warned.py)
        self.forks: set[Any] | None = None  # branches on data outside of loops that break the graph; None: all do
        self.forked = 0  # how many such branches do not
        self.picked: dict[object, int] = {}  # by what an object is, its number
        self.complexes: dict[Value, Value] = {}  # complex numbers, by the real part that makes them out
        self.parted: dict[object, ComplexValue] = {}  # those from outside by their parts, by what object they are
        self.forking: Any = None  # the outermost one whose arms are being traced
        self.catches = True  # the segment's own frame may handle an exception that is certain to come
        self.caught = False  # it has done so
        self.peeling = False  # an iteration that runs before its loop is being traced
        self.ahead: tuple[Scalar, Scalar, Scalar] | None = None  # that loop's numbers, as it takes its item
        self.slicing = False  # a slice is being taken
        self.demanding = False  # NumPy refuses what does not hold: the program may decline
        self.exits: list[LoopExit] = []
        self.outer_cells: dict[int, CellValue] | None = None  # by id those from outside, where one may be stored to
        self.cells: list[CellValue] = []  # made here; a function that calls itself is in one that it refers to

    def release(self) -> None:
        """Let go of the caller's objects: what refers to them here may be part of a reference cycle."""
        for frame in self.frames:
            frame.stack.clear()
            frame.locals.clear()
        for _, value in self.wrapped.values():
            if hasattr(value, "concrete"):
                value.concrete = None
            if isinstance(value, ObjectValue):
                value.stored.clear()
        for cell in (*self.cells, *(self.outer_cells or {}).values()):
            cell.concrete = cell.contents = None
        for region in self.met:
            for known in (region.begins, region.ends, region.lists, region.appended):  # which refer to the region again
                known.clear()
        for value in self.repeated:
            value.fix = None
        for one in self.listed:
            one.concrete = None
        self.outer_cells = None
        found: tuple[dict[Any, Any] | list[Any], ...] = (self.namespaces, self.stored, self.checked, self.wrapped)
        found += (self.cells, self.arrays, self.parts, self.grown, self.drawn, self.held, self.taken, self.gone_over)
        for values in (*found, self.example_inputs, self.handed, self.looked_up, self.looked_into):
            values.clear()

    def state_class(self, kind: str, source: Source, cls: type) -> None:
        """Guard "type_version" or "class_version": `cls` stays as it is now. To be stated before looking into it."""
        tag = version_tag(cls)
        if tag == 0:
            raise Break("unsupported-operation", f"class {cls.__qualname__}, which has changed too often")
        self.facts.state(kind, source, cls, tag)

    @property
    def scope(self) -> tuple[tuple[int, int], bool, int, int]:
        """What np.errstate and catch_warnings have changed by now, and how many of them are open."""
        return self.errors, self.silent, self.filters, self.depth

    @scope.setter
    def scope(self, scope: tuple[tuple[int, int], bool, int, int]) -> None:
        self.errors, self.silent, self.filters, self.depth = scope

    def note_reading(self) -> None:
        """What lists hold is asked for."""
        self.is_read_behind |= self.has_grown

    # -- loops ------------------------------------------------------------------------------------

    @property
    def in_loop(self) -> bool:
        """Whether a loop is being traced, not only an arm of a branch outside of loops."""
        return bool(self.regions and self.regions[0].index.name)

    @property
    def graph(self) -> Graph:
        """The graph that is being built: the root, or the body of the innermost loop."""
        return self.regions[-1].graph if self.regions else self.root

    def open_region(self, key: LoopKey, start: Scalar, stop: Scalar, step: Scalar) -> Region:
        """Begin the body of a loop over range(start, stop, step)."""
        index = Symbol(f"i{len(self.indices)}", "int", 0)
        body = Graph()
        body.inputs.append(index)
        body.symbols[index.name] = index
        body.facts = self.graph.facts.copy()
        learn_index(body.facts, index, start, stop, step)
        self.indices.add(index.name)
        self.regions.append(Region(key, body, index, (start, stop, step), depth=len(self.frames)))
        self.met.append(self.regions[-1])
        return self.regions[-1]

    def open_branch(self, key: LoopKey, condition: Scalar | Node, truth: bool) -> Region:
        """Begin what runs where `condition` is true, or false."""
        body = Graph()
        body.facts = self.graph.facts.copy()
        if not isinstance(condition, Node):
            body.facts.learn(condition, truth)
        given = True if isinstance(condition, Node) else condition if truth else negate(condition)
        self.regions.append(Region(key, body, Symbol("", "int", 0), (0, 0, 1), given=given, depth=len(self.frames)))
        return self.regions[-1]

    def tells_pauses(self, condition: Scalar | Node) -> bool:
        """Whether `condition` may be known in front of an iteration of the outermost loop, which can be left there."""
        if not self.regions or self.regions[0].pauses is None or isinstance(condition, Node):
            return False
        outermost, plan = self.regions[0], self.plans[self.regions[0].key]
        known = {number.name for path, number in outermost.numbers.items() if path not in plan.numbers}
        return (self.indices | self.carried) & symbols_of(condition) <= known | {outermost.index.name}

    def carry_number(self, region: Region, path: tuple[Any, ...], kind: str) -> Symbol:
        """A number that the loop of `region` carries, as its body knows it."""
        number = Symbol(f"n{len(self.carried)}", kind, 0)
        self.carried.add(number.name)
        region.numbers[path] = number
        region.graph.symbols[number.name] = number
        return number

    def yield_names(self, count: int) -> tuple[str, ...]:
        """Names of numbers that a loop or a choice yields to the graph around it."""
        names = tuple(f"y{len(self.carried) + place}" for place in range(count))
        self.carried.update(names)
        return names

    def may_be(self, value: Scalar, seen: set[str] | None = None) -> set[str]:
        """The numbers, as text, whose very object a number may be; none if it is computed. seen: gets the names of
        those of loops that it may be."""
        seen = set() if seen is None else seen
        if kind_of(value) == "bool":
            return set()
        if not isinstance(value, Symbol):
            small = type(value) is bool or (isinstance(value, int) and -5 <= value <= 256)  # always one object
            return set() if isinstance(value, ScalarOp) or small else {repr(value)}
        if value.name in self.indices or value.name in seen:
            seen.add(value.name)
            return set()
        if value.name not in self.alternatives:
            return {value.name}
        seen.add(value.name)
        return {number for one in self.alternatives[value.name] for number in self.may_be(one, seen)}

    def objects(self, value: Scalar) -> set[Scalar]:
        """The numbers whose very object `value` may be, by their expressions: itself, and those that a choice, a loop
        or max() is the one or the other of. NB: abs() of a positive int, which max() says, is that int."""
        found, work = set[Scalar](), [value]
        while work:
            part = work.pop()
            if part in found or not is_symbolic(part) or kind_of(part) == "bool":
                continue
            found.add(part)
            if isinstance(part, Symbol):
                work += self.alternatives.get(part.name, ())
            elif isinstance(part, ScalarOp) and part.op in ("max", "min"):
                work += part.operands
            elif isinstance(part, ScalarOp) and part.op == "mod":  # NB: a % b is a where b has more digits
                is_small = self.graph.facts.decide(make("lt", part.operands[1], 2**30))
                work += () if is_small else part.operands[:1]
        return found

    def is_carried(self, value: Scalar) -> bool:
        """Whether `value` depends on a number that a loop carries."""
        return bool(self.carried and self.carried & symbols_of(value))

    def varies(self, value: Scalar) -> bool:
        """Whether `value` depends on the index of a loop, or on a number that one carries."""
        return bool(self.indices & symbols_of(value)) or self.is_carried(value)

    # -- numbers ----------------------------------------------------------------------------------

    def hint(self, value: Scalar) -> Number:
        """The number that `value` is in this call."""
        if self.varies(value):
            what = number_words(self, value)
            if not self.regions and not self.peeling:
                raise Break("data-dependent-number", f"the value of {what}")
            raise Break("loop-dependent", f"the value of {what} is needed, which every iteration changes")
        try:
            return evaluate(value, self.hints)
        except ArithmeticError as error:
            raise Break("python-exception", f"{type(error).__name__}: {error}") from None

    def relate(self, condition: Scalar) -> bool:
        """Whether `condition` is true now; states the guard that it stays so.

        Raises Undecided for one that depends on the index of a loop, unless it is known to hold in all iterations or in
        none, or the loop's plan promises that: then it is guarded.
        """
        condition = simplify(condition)
        known = self.graph.facts.decide(condition)
        if known is not None:
            return known
        if self.varies(condition):
            if self.requires(condition):
                return isinstance(condition, ScalarOp) and condition.op in ("ne", "gt", "ge")
            if self.slicing and self.is_ordinary(condition):
                self.require(condition)
                return True
            if not self.regions and self.demanding:
                raise Undecided(condition, require=self.require)
            if not self.regions:
                raise Break("data-dependent-number", f"the comparison {number_words(self, condition)}")
            return self._promised(condition)
        truth = bool(self.hint(condition))
        if is_symbolic(condition) and not _beyond_int64(condition):
            self._state(condition if truth else negate(condition))
            for graph in (self.root, *(region.graph for region in self.regions)):
                graph.facts.learn(condition, truth)
        return truth

    def _state(self, condition: Scalar) -> None:
        """Guard that `condition`, which is true now, stays so. Guards compute in 64 bits: one that needs more would not
        hold for the very call that it is of, nor for the next one like it."""
        try:
            evaluate(condition, self.hints, _INT64)
        except OverflowError:
            words = number_words(self, condition)
            raise Break("unsupported-operation", f"the comparison {words}, of ints of more than 64 bits") from None
        self.facts.state_scalar(condition)

    def demands(self, of_slices: bool = False) -> Demands:
        """Where the program may decline on what NumPy refuses (opdef.demand). of_slices: bounds of slices out of arrays
        are taken to lie inside, and it declines where they do not."""
        return Demands(self, of_slices)

    def requires(self, condition: Scalar) -> bool:
        """Whether `condition` is NumPy's own question whether a mask has selected nothing, to warn then: the program
        declines where it has not."""
        if not isinstance(condition, ScalarOp) or (condition.op, condition.operands[-1]) not in _ASKS_WHETHER_NONE:
            return False
        count = condition.operands[0]
        if not isinstance(count, Symbol) or not any(count in node.params.get("yields", ()) for node in self._counts()):
            return False
        if not self.frames or not self.frames[-1].code.filename.startswith(NUMPY):
            return False
        self.require(simplify(ScalarOp("ge", "bool", (count, 1))))
        return self.graph.facts.decide(condition) is not None

    def require(self, condition: Scalar) -> None:
        """Let the program decline wherever `condition` does not hold."""
        ops.call(self.graph, "require", (condition,), {}, self.location())
        # NB: an open size that is known to equal another would get its name, and its node yields none.
        if not (isinstance(condition, ScalarOp) and condition.op == "eq"):
            self.graph.facts.learn(condition, True)

    def have(self, condition: Scalar, reason: str, detail: str) -> None:
        """See that `condition` holds, at the call or when the program gets there; breaks where it never does."""
        known = self.graph.facts.decide(condition)
        if known is None and self.varies(condition):
            self.require(condition)
        elif known is False or (known is None and not self.relate(condition)):
            raise Break(reason, detail)

    def is_ordinary(self, condition: Scalar) -> bool:
        """Whether `condition` is that a bound of a slice, which an array gives or a loop carries, lies inside or behind
        the other one."""
        normal = normal_comparison(condition) if isinstance(condition, ScalarOp) else None
        if normal is None or normal[2] != 0 or (normal[0] != "ge" and (normal[0] != "le" or len(normal[1]) == 1)):
            return False
        read = self._elements()
        return not (read | self.carried if self.regions else read).isdisjoint(symbols_of(condition))

    def is_of_elements(self, condition: Scalar) -> bool:
        """Whether all that varies in a condition are numbers that were read out of arrays."""
        read = self._elements()
        return all(name in read or name in self.hints for name in symbols_of(condition))

    def _elements(self) -> set[str]:
        """The names of numbers that were read out of arrays."""
        return {symbol.name for node in self._yielding("scalar_number") for symbol in node.params["yields"]}

    def _counts(self) -> list[Node]:
        return [node for node in self._yielding() if node.op != "scalar_number"]

    def _yielding(self, op: str = "") -> list[Node]:
        """CALL nodes, of one op or any, that yield numbers."""
        graphs = (self.root, *(region.graph for region in self.regions))
        nodes = (node for graph in graphs for node in graph.nodes if node.kind is NodeKind.CALL)
        return [node for node in nodes if node.params.get("yields") and op in ("", node.op)]

    def _promised(self, condition: Scalar) -> bool:
        if not self.is_owned(condition):
            changing = self.of_extents(condition)
            required = None if changing is None else self.plans[changing.key].required.get(str(condition))
            if required is None:
                raise Undecided(condition, require=self.require, of_elements=self.is_of_elements(condition))
            self.require(condition if required else negate(condition))
            return required
        region = self.regions[place := self.owner(condition)]
        if str(condition) in self.plans[region.key].promises:
            for truth in (True, False):
                worst = self.worst(region, condition if truth else negate(condition))
                if worst is not None and self.relate(worst):
                    for inner in self.regions[place:]:
                        inner.graph.facts.learn(condition, truth)
                    return truth
        required = self.plans[region.key].required.get(str(condition))
        if required is not None:
            self.require(condition if required else negate(condition))
            return required
        raise Undecided(condition, self.may_promise(condition), self.require)

    def may_promise(self, condition: Scalar) -> bool:
        """Whether a condition on an index can be guarded to hold in every iteration, or in none, and does so now."""
        return self.is_owned(condition) and any(map(self._may_hold, (condition, negate(condition))))

    def _may_hold(self, condition: Scalar) -> bool:
        """Whether `condition` holds in every iteration of this call, also of the loops around."""
        worst = self.worst(self.regions[self.owner(condition)], condition)
        if worst is None or self.graph.facts.decide(worst):
            return worst is not None
        return not self.varies(worst) or (self.is_owned(worst) and self._may_hold(worst))

    def is_owned(self, condition: Scalar) -> bool:
        """Whether `condition` is one on the index of a loop around, and on nothing that a loop carries or has ended
        with."""
        names = symbols_of(condition)
        open_ = {region.index.name for region in self.regions}
        return not self.is_carried(condition) and bool(names & open_) and not (names & self.indices) - open_

    def of_extents(self, condition: Scalar) -> Region | None:
        """The innermost loop around whose arrays' extents `condition` is on, if all that varies in it are extents of
        arrays that loops around carry."""
        names = {name for name in symbols_of(condition) if name in self.carried or name in self.indices}
        found = [region for region in self.regions if not names.isdisjoint(region.extents)]
        return found[-1] if found and names <= {name for region in found for name in region.extents} else None

    def owner(self, condition: Scalar) -> int:
        """The place of the innermost loop whose index is in `condition`."""
        names = symbols_of(condition)
        return max(place for place, region in enumerate(self.regions) if region.index.name in names)

    def worst(self, region: Region, condition: Scalar) -> Scalar | None:
        """What has to hold for `condition` to hold in every iteration, if it looks true; else None. NB: of what
        the index is multiplied by the sign has to be known, which is guarded."""
        normal = None
        if isinstance(condition, ScalarOp) and condition.op in COMPARISONS:
            normal = normal_comparison(condition)
        for monomial in (terms for terms, _ in (normal[1] if normal is not None else ()) if region.index in terms):
            for factor in monomial:
                if not self.varies(factor):
                    self.relate(make("ge", factor, 0))
        worst = at_worst(self.graph.facts, condition, region.index, *region.bounds)
        if worst is None or self.graph.facts.decide(worst) is False:
            return None
        return worst if self.varies(worst) or self.hint(worst) else None

    def canonicalise(self, graph: Graph) -> None:
        """Name equal sizes alike in every node's type, so that scheduling sees equal shapes."""
        if not self.root.facts.equalities:
            return
        # Where sizes were found to be equal after a branch was traced, its arms have to know what names them alike.
        types = [type_ for node in graph.nodes for type_ in _types_of(node)]
        sizes = dict.fromkeys(dim for type_ in types for dim in type_.shape if not isinstance(dim, int))
        # NB: parts first, of which more may be known outside: a number of the arm itself may be in the whole.
        renamed = [size for size in sizes if self.canonical(size) != size]
        for part in dict.fromkeys(part for size in renamed for part in _parts_of(size)):
            named = self.canonical(part)
            if named != part:
                graph.facts.learn(make("eq", part, named), True)
        for node in graph.nodes:
            for name in node.params.keys() - {"yields"} if node.kind is NodeKind.CALL else ():
                node.params[name] = map_scalars(node.params[name], self.canonical)
            if isinstance(node.type, ArrayType):
                node.type = self._canonical_type(node.type)
            elif node.type is not None:
                node.type = tuple(map(self._canonical_type, node.type))

    def _canonical_type(self, type_: ArrayType) -> ArrayType:
        shape = tuple(self.canonical(dim) for dim in type_.shape)
        return ArrayType(type_.dtype, shape, type_.scalar)  # type: ignore[arg-type]

    def canonical(self, value: Scalar) -> Scalar:
        """`value` with equal sizes named alike, as the guards know them to be equal."""
        return self.root.facts.equalities.canonical(value)

    def specialise(self, value: Value) -> Value:
        """A number as the constant it is in this call, guarded; other values as they are."""
        if not isinstance(value, NumberValue):
            return value
        number = self.hint(value.expr)
        if is_symbolic(value.expr):
            note_fixed(self, value.expr, number)
            if isinstance(number, float):
                if value.source is None:
                    raise Break("float-argument", number_words(self, value.expr))
                self.facts.state("equal", value.source, number)
            else:
                self.relate(ScalarOp("eq", "bool", (value.expr, number)))
        return ConstantValue(value.source, number)

    def is_open(self, condition: Scalar) -> bool:
        """Whether, outside of loops, only the run knows if `condition` holds."""
        condition = simplify(condition)
        if self.regions or self.peeling or not self.varies(condition) or self.requires(condition):
            return False
        return self.graph.facts.decide(condition) is None

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

    def check_size(self) -> None:
        """Break when the graph has grown over its limit; an operation is work for all stages."""
        spend(OPERATION)
        if len(self.graph.nodes) > self.node_limit:
            raise Break("graph-too-large", str(self.node_limit))

    def note_put(self, node: Node, place: int, item: Value) -> None:
        """Note that operand `place` of an append or put_item is a number, which may be told from others."""
        inner = next(region for region in reversed(self.regions) if region.index.name)
        if isinstance(item, NumberValue | ConstantValue):
            self.put_numbers.append(PutNumber(node, place, item, inner.serial))

    def number(self, expr: Scalar) -> Value:
        """A Python number as a value: a constant when it is known."""
        return NumberValue(None, expr) if is_symbolic(expr) else computed_number(expr)  # type: ignore[arg-type]


def _types_of(node: Node) -> tuple[ArrayType, ...]:
    """The types of what a node yields; none for a store."""
    return node.type if isinstance(node.type, tuple) else () if node.type is None else (node.type,)


def _parts_of(size: Scalar) -> list[Scalar]:
    """The ints in a size, each after those in it; the last one is the size."""
    parts = [part for term in terms_of(size) for part in (*term.operands, term)] or [size]
    return [part for part in parts if is_symbolic(part) and kind_of(part) == "int"]

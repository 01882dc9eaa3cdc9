"""Symbolic values: what the interpreter's stack and locals hold while a frame is captured.

Few classes, by what may be done with a value: a Python *function* or type never gets a class of its own (call_rules.py
has a row for it). A value with a source exists already and residual code reloads it from there; one without was
made in this segment and is virtual until it escapes.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from dynamo_lite._C import looks_plain
from dynamo_lite.capture.source import Source
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Scalar, ScalarOp, is_symbolic, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.lists import is_single as is_single

if TYPE_CHECKING:
    import types

    from dynamo_lite.capture.state import Region


_SERIAL = itertools.count().__next__


class Break(Exception):
    """The instruction at hand cannot be captured: `reason` is an id of breaks.py, `detail` fills its message."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class SizesDiffer(Break):
    """NumPy raises, since these sizes do not fit each other."""

    def __init__(self, detail: str, sizes: tuple[Scalar, ...]) -> None:
        super().__init__("python-exception", f"ValueError: {detail}")
        self.sizes = sizes


@dataclass(eq=False, slots=True)
class Value:
    """Anything: an object that can be passed around and reloaded, but not looked into."""

    source: Source | None = None


@dataclass(eq=False, slots=True)
class LazyValue(Value):
    """An object at a source that nobody has looked at yet: no guard is stated before ``known`` is set."""

    concrete: Any = None
    known: Value | None = None


def lazy(source: Source, obj: Any) -> Value:
    """`obj`, not looked at; where that would run code of its metaclass, nothing is known of it."""
    return LazyValue(source, obj) if looks_plain(obj) else Value(source)


@dataclass(eq=False, slots=True)
class NullValue(Value):
    """The null stack slot beside a callable. of_method: LOAD_METHOD put it there."""

    of_method: bool = False


@dataclass(eq=False, slots=True)
class GoneValue(Value):
    """Something on the stack that will only be taken off it: the iterator of a loop that has been left."""


@dataclass(eq=False, slots=True)
class RaisedValue(Value):
    """An exception, of which only the type is known, on its way through a handler that catches it."""

    cls: type[BaseException] = BaseException


@dataclass(eq=False, slots=True)
class ConstantValue(Value):
    """A Python object known at capture: immutable data, or a function, type or module known by identity."""

    value: Any = None


UNBOUND = ConstantValue(None, object())  # what a local holds that is not bound, as one part of an EitherValue


@dataclass(eq=False, slots=True)
class ComputedValue(ConstantValue):
    """A str or number that was computed here: a new object in each call. As a constant of a code object it would be the
    same one in all, and a str another one where it looks like a name, which CPython interns. serial: the later one was
    made later. origin: what gives the object of a number that the program makes."""

    serial: int = field(default_factory=_SERIAL)
    origin: CallValue | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """What makes it of `args`; a single character is then the one that CPython keeps."""
        return str.__getitem__ if isinstance(self.value, str) else _NEW[type(self.value)]

    @property
    def args(self) -> list[Value]:
        """Of a str: a longer one, and which part of it this one is. Of a number: its parts."""
        match self.value:
            case str():
                return [ConstantValue(None, f"_{self.value}"), ConstantValue(None, slice(1, None))]
            case complex():
                return [ConstantValue(None, self.value.real), ConstantValue(None, self.value.imag)]
            case float():  # NB: a zero keeps its sign, a NaN its bits
                return [ConstantValue(None, self.value), ConstantValue(None, 1.0)]
        return [ConstantValue(None, self.value), ConstantValue(None, 0)]


_NEW: dict[type, Callable[..., Any]] = {int: operator.add, float: operator.mul, complex: complex}


def next_serial() -> int:
    """The serial of what is made now."""
    return _SERIAL()


def computed_number(number: int | float | complex) -> ConstantValue:
    """A number that Python computes when the code runs, as the constant that it always is."""
    return ConstantValue(None, number) if is_single(number) else ComputedValue(None, number)


class TextValue(ConstantValue):
    """A str or bytes from outside, of which the type is guarded; who asks for its ``value`` has that guarded, too.

    characters: the graph's input that holds them, once a loop has looked at one that only the run knows (texts.py).
    """

    __slots__ = ("_look", "characters", "text")

    def __init__(self, source: Source, text: str | bytes, look: Callable[[], None]) -> None:
        self.source = source
        self.text = text
        self.characters: ArrayValue | None = None
        self._look = look

    @property
    def value(self) -> str | bytes:
        """What it is at this call."""
        self._look()
        return self.text


@dataclass(eq=False, slots=True)
class NumberValue(Value):
    """A Python int, float or bool known only at the call, as an expression over the graph's symbols.

    Without a source it is an object that this segment makes: one for each such value, however equal the expressions of
    two are. origin: where that may be an object that there is already, what says which one: the call of a function that
    gives one of its operands, or an either, or where in the graph it is chosen. serial: the later one was made later.
    """

    expr: Scalar = 0
    origin: Origin | None = None
    serial: int = field(default_factory=_SERIAL)


@dataclass(eq=False, slots=True)
class Chosen:
    """The object that a name holds behind a choice, ``node``: one of two."""

    first: Value
    second: Value
    node: Node | None = None


@dataclass(eq=False, slots=True)
class Carried:
    """The object that a name, at ``path``, holds when an iteration of the loop of ``region`` begins, or (behind) when
    the loop has ended."""

    region: Region
    path: tuple[Any, ...]
    behind: bool = False


@dataclass(eq=False, slots=True)
class Picked:
    """The object that a name holds behind a choice outside of loops: where ``tag``, which the run knows, is a number of
    ``objects`` that one, else a new one."""

    objects: dict[int, Value]
    tag: Scalar = 0


@dataclass(eq=False, slots=True)
class CellRead:
    """The object that stands in a list whose items are `cells` (cells.py); tag: the node that reads its tag."""

    cells: Any
    tag: Node | None = None


@dataclass(eq=False, slots=True)
class ItemRead:
    """The object that a node has taken of a list (object_lists.py); tag: the node that reads its tag."""

    object: Node
    tag: Node | None = None


Origin: TypeAlias = "CallValue | EitherValue | Chosen | Carried | Picked | CellRead | ItemRead"


def is_made_after(value: Value, serial: int) -> bool:
    """Whether a number is an object that this segment makes, or may make, later than what has that serial."""
    made = isinstance(value, NumberValue | ComputedValue) and value.source is None
    return made and value.serial > serial  # type: ignore[attr-defined]


@dataclass(eq=False, slots=True)
class ResultValue(Value):
    """A Python int or float that the program computes: ``node`` is the NumPy scalar of that value. It may be handed on
    and returned; what asks for more ends the segment."""

    node: Node = field(default=None)  # type: ignore[assignment]
    kind: type = float


@dataclass(eq=False, slots=True)
class ComplexValue(Value):
    """A Python complex number that only the run knows: its real and imaginary part, floats. It is the object that its
    real part is, which nothing else holds; ``known`` has the complex numbers by that (complexes.py)."""

    items: list[Value] = field(default_factory=list)
    known: dict[Value, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class TakenValue(Value):
    """How many iterations a loop had done when the program left it (leaving.py)."""


@dataclass(eq=False, slots=True)
class CallValue(Value):
    """What residual code gets by calling ``function``, one of ours, with ``args``."""

    function: Any = None
    args: list[Value] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class FormattedValue(CallValue):
    """A str that ``format``, a format string, makes of ``args``, Python numbers and NumPy scalars."""

    format: str = ""


@dataclass(eq=False, slots=True)
class RecordValue(Value):
    """A named tuple (records.py): from outside, made here, or what a function of NumPy's gives."""

    cls: type = field(default=tuple)
    items: list[Value] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class ArrayValue(Value):
    """An exact ndarray or a NumPy scalar: a node of the graph.

    number: what an integer NumPy scalar (or a comparison of such) is known to be, ``np.intp(x.shape[0])`` say.
    whole: the int that a floating NumPy scalar is known to be, ``np.ceil(len(x) / 2)`` say. real: the float that it is
    known to be, ``np.sqrt(len(x))``.
    """

    node: Node = field(default=None)  # type: ignore[assignment]
    number: Scalar | None = None
    whole: Scalar | None = None
    real: Scalar | None = None


@dataclass(eq=False, slots=True)
class EitherValue(Value):
    """``first`` where the condition (a number, or a bool NumPy scalar) holds, else ``second``: values of unlike types,
    which both exist before the choice. What takes scalars operates on the first or on the second (choices.py). Behind
    a loop, where nothing operates on it any more, the condition is a ResultValue. whole: the integer that it is as an
    index, and the graph that has it. scalar: the one of NumPy's that it is beside arrays (weak_numbers.py). number:
    what a loop has ended with there, where the choice is only which object that is (number_objects.py)."""

    condition: Any = None
    first: Value = field(default_factory=Value)
    second: Value = field(default_factory=Value)
    whole: tuple[Any, Value] | None = field(default=None, kw_only=True)
    scalar: tuple[Any, Value] | None = field(default=None, kw_only=True)
    number: Value | None = field(default=None, kw_only=True)


def is_computed(value: Value) -> bool:
    """Whether the program computes the number, or which of two it is, so that the segment cannot operate on it."""
    origin = value.origin if isinstance(value, NumberValue) else None
    return isinstance(value, ResultValue | EitherValue) or isinstance(origin, EitherValue)


@dataclass(eq=False, slots=True)
class CharacterValue(Value):
    """A string of one character that only the run knows: ``code`` is its number, as ord() gives it."""

    code: NumberValue = field(default=None)  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class SequenceValue(Value):
    """A tuple or list (``kind`` is the type). A list from outside may be read, not changed.

    known: its items, or those before what a loop has appended: ``filled``, a list that the program makes. Nobody but
    the run knows what is in that, so that whatever reads ``items`` then breaks. Where a loop stores items of an index
    that only the run knows, all of them are in it. reads: how often they were asked for. times: how often a list
    repeats its only known item, a number of the call's; ``fix`` states how many, for who asks for ``items``; late: what
    was stored into it since, by index. ends: what a loop that appends carries of the list, "last" item and "length"
    (lists.py), and maybe items before that. newest: the latest items, up to the "last". looks: which of the ends were
    asked for, in order. rows: the array that NumPy makes of it (rows.py).
    cells: the arrays that stand for its items (cells.py). became: the list of the program's that it is now
    (object_lists.py). taken: of a tuple, the node that has taken it of such a list. filler: the plan of the loop that
    has filled it first, and the list's name there. met: the plan of the first outermost loop that began when there was
    the list. by_parts: as of an InstanceValue.
    """

    kind: type = tuple
    known: list[Value] = field(default_factory=list)
    filled: Node | None = None
    reads: int = 0
    ends: dict[str, Value] = field(default_factory=dict)
    newest: list[Value] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    times: Scalar | None = None
    fix: Callable[[], int] | None = None
    late: dict[int, Value] = field(default_factory=dict)
    rows: Any = None
    cells: Any = None
    filler: Any = None
    met: Any = None
    by_parts: bool = False
    became: ListValue | None = None
    taken: Node | None = None

    @property
    def is_grown(self) -> bool:
        """Whether loops have put items in it, which only the run knows."""
        return self.filled is not None or bool(self.ends)

    @property
    def items(self) -> list[Value]:
        """All items."""
        if self.is_grown:
            raise Break("loop-list", "a list")
        if self.fix is not None:
            self.known = self.known * self.fix()
            for place, item in self.late.items():
                self.known[place] = item
            self.times = self.fix = None
            self.late = {}
        self.reads += 1
        return self.known


def stored_late(value: SequenceValue) -> list[tuple[Scalar, Value]]:
    """What has been stored into a list that repeats an item, from the first to the latest, and under which indices."""
    times = value.times or 0
    return [(make("add", times if place < 0 else 0, place), one) for place, one in value.late.items()]


def is_repeated(value: SequenceValue) -> bool:
    """Whether a list is the same item as often as the call says."""
    return value.times is not None and not value.late


@dataclass(eq=False, slots=True)
class NumberedValue(SequenceValue):
    """A list or tuple from outside of numbers, or of lists and tuples of them, whose items a loop reads by numbers that
    only the run knows (columns.py); how long it is, is not guarded.

    layout: how it is made (wrap.layout_of). columns: by path, the graph's inputs. singles: items of which the place is
    known. numbers: those read, by what they are in a graph. attributes: by path the numbers that objects in it have
    under a name (listed_objects.py). give_up, which is ``fix`` too: have it known by its items in the next attempt.
    """

    concrete: Any = None
    layout: Any = ()
    give_up: Callable[[], NoReturn] = field(default=None)  # type: ignore[assignment]
    columns: dict[Any, ArrayValue] = field(default_factory=dict)
    singles: dict[int, Value] = field(default_factory=dict)
    numbers: dict[Any, NumberValue] = field(default_factory=dict)
    is_paid: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class NestedValue(CallValue):
    """A list or tuple that stands in a NumberedValue, ``root``, under a number that only the run knows.

    layout: how it is made. path: the way to it, and start: its place among all that is there; of a list or tuple of
    which the length is not known, the place of its first item among all such items. length: how many these are.
    """

    root: NumberedValue = field(default=None)  # type: ignore[assignment]
    layout: Any = ()
    path: str = ""
    start: Scalar = 0
    length: Scalar = 0


@dataclass(eq=False, slots=True)
class HeldNumber(CallValue):
    """A number that a loop has ended with, ``number``, as the object that something else holds (number_objects.py)."""

    number: Value = field(default_factory=Value)


@dataclass(eq=False, slots=True)
class ListedObject(CallValue):
    """An object of an ordinary class that stands in a NumberedValue, ``root``, under a number that only the run knows.

    path: the way to such objects, and position: its place among all that are there, if they lie in lists of the list
    and the segment knows it. first: the first of them, and where the guards find it (listed_objects.py)."""

    root: NumberedValue = field(default=None)  # type: ignore[assignment]
    cls: type = object
    path: str = ""
    position: Scalar | None = 0
    first: tuple[Source, Any] = field(default=None)  # type: ignore[assignment]

    @property
    def items(self) -> list[Value]:
        """What loops carry of it, and choices merge."""
        return self.args[1:]


@dataclass(eq=False, slots=True)
class FewValue(CallValue):
    """One of a few objects, all of them different ones: `code` says which, a number that only the run knows."""

    among: tuple[Any, ...] = ()
    code: Scalar = 0


@dataclass(eq=False, slots=True)
class OneOf(CallValue):
    """One of a few objects from outside, or None, that data has chosen (few_objects.py): that of ``objects`` whose
    number ``code`` is, which a choice hands out."""

    objects: dict[int, Value] = field(default_factory=dict)
    code: Value = field(default_factory=Value)

    @property
    def items(self) -> list[Value]:
        """What loops carry of it."""
        return [self.code]


@dataclass(eq=False, slots=True)
class CellRow(CallValue):
    """A list that stands in another one, ``of``, whose items are cells (cells.py), at ``place``."""

    of: SequenceValue = field(default=None)  # type: ignore[assignment]
    place: Scalar = 0


@dataclass(eq=False, slots=True)
class CellItem(CallValue):
    """An item of such a list, ``of``, or of one in it, behind the loops; ``number``: what the program reads it as."""

    of: SequenceValue = field(default=None)  # type: ignore[assignment]
    number: Value = field(default_factory=Value)


@dataclass(eq=False, slots=True)
class Holding:
    """What a list holds: kind is "int", "float" or "bool", "number" for ints and floats, "scalar" for NumPy scalars and
    maybe numbers of Python's (scalar_items.py), "list" (of such as `inner` says), "tuple" (of as many as `parts`),
    "array" (of the type `array`), or "" if nothing is known. most: of a "scalar" list, what an item is taken for of
    which nothing else is known; awaits: it has no NumPy scalars yet, but gets them. names: where such lists come from,
    for all attempts."""

    kind: str = ""
    inner: Holding | None = None
    parts: list[Holding] = field(default_factory=list)
    names: set[Any] = field(default_factory=set)
    most: str = ""
    awaits: bool = False
    array: ArrayType | None = None


@dataclass(eq=False, slots=True)
class ListValue(Value):
    """A list of which the program has the object, and only the run knows what is in it (object_lists.py). at: where the
    guards find it, for one from outside, and concrete: what it is in this call; fixed: how long it is then, a number of
    the call's."""

    node: Node = field(default=None)  # type: ignore[assignment]
    holding: Holding = field(default_factory=Holding)
    at: Source | None = None
    concrete: Any = None
    fixed: Scalar | None = None


@dataclass(eq=False, slots=True)
class DictValue(Value):
    """A dict made in this segment, or one from outside whose keys are guarded; keys are constants.

    known: its items. filled: where a loop stores under keys that only the run knows, the program's dict, with all of
    them; whatever reads ``items`` then breaks."""

    known: dict[Any, Value] = field(default_factory=dict)
    filled: Node | None = None

    @property
    def items(self) -> dict[Any, Value]:
        """All items."""
        if self.filled is not None:
            raise Break("loop-list", "a dict")
        return self.known


@dataclass(eq=False, slots=True)
class SliceValue(Value):
    """slice(start, stop, step)."""

    start: Value = field(default_factory=Value)
    stop: Value = field(default_factory=Value)
    step: Value = field(default_factory=Value)


@dataclass(eq=False, slots=True)
class RangeValue(Value):
    """range(start, stop, step) of numbers."""

    start: Scalar = 0
    stop: Scalar = 0
    step: Scalar = 1


@dataclass(eq=False, slots=True)
class RestValue(Value):
    """A Rest (rests.py): what is left of what a `for` goes over. taken: how many items are gone."""

    shape: Any = None
    parts: SequenceValue = field(default=None)  # type: ignore[assignment]
    taken: Value = field(default_factory=Value)


@dataclass(eq=False, slots=True)
class DictViewValue(Value):
    """What d.keys(), d.values() or d.items() (``name``) gives."""

    of: DictValue = field(default_factory=DictValue)
    name: str = "keys"


@dataclass(eq=False, slots=True)
class IteratorValue(Value):
    """An iterator made here by ``kind``: "iter", "reversed", "enumerate", "zip" or "map" (``of`` is the function;
    iterators.py takes from it), or "range" or "array" or another kind of numbered.RULED (``of`` is the call that makes
    it), over what a loop may go over whole (numbered.py).

    items: those of ``of``; a list's own, a dict's keys. start: the first number of an enumerate, the length that the
    reversed sequence had, 1 for a strict zip. parts: the iterators under an enumerate or zip. taken: how many items are
    gone. is_rest: what is left of it is handed over as a RestValue; offset: of one that was, how many items were gone
    then, and of an enumerate what is to be added to start. count: of a ListValue, how long
    that was when it was made, and epoch: how often lists had got longer or shorter by then. read: of a loop in a loop,
    how many numbers had been read after its first iteration.
    """

    of: Value = field(default_factory=Value)
    items: list[Value] = field(default_factory=list)
    kind: str = "iter"
    start: int = 0
    offset: Scalar = 0
    parts: tuple[IteratorValue, ...] = ()
    taken: int = 0
    ended: bool = False
    is_rest: bool = False
    count: Scalar = 0
    epoch: int = 0
    read: int = 0


@dataclass(eq=False, slots=True)
class MethodValue(Value):
    """A bound method: a function value and its self."""

    function: Value = field(default_factory=Value)
    self: Value = field(default_factory=Value)
    name: str = ""


@dataclass(eq=False, slots=True)
class SuperValue(Value):
    """super() of ``self``, of whose classes those behind ``after`` are asked (supers.py)."""

    after: type = object
    self: Value = field(default_factory=Value)


@dataclass(eq=False, slots=True)
class FunctionValue(Value):
    """A Python function made in this segment (lambda, nested def), or one from outside known by its code."""

    code: types.CodeType = field(default=None)  # type: ignore[assignment]
    namespace: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    qualname: str = ""
    defaults: tuple[Value, ...] = ()
    kwdefaults: dict[str, Value] = field(default_factory=dict)
    closure: tuple[CellValue, ...] = ()
    annotations: tuple[Value, ...] = ()  # names and what is said of them, by turns
    annotate: FunctionValue | None = None  # what makes them when somebody asks (3.14)


@dataclass(eq=False, slots=True)
class GeneratorValue(Value):
    """A generator expression; it stands still between two items that something takes of it."""

    frame: Any = None
    ended: bool = False


@dataclass(eq=False, slots=True)
class CellValue(Value):
    """A closure cell. ``contents`` None: empty, or (with ``concrete``, the cell of outside) not read yet."""

    contents: Value | None = None
    concrete: types.CellType | None = None


@dataclass(eq=False, slots=True)
class ObjectValue(Value):
    """An object from outside whose attributes may be read: its exact type is guarded.

    stored: the attributes that this segment has set (places.py)."""

    cls: type = object
    concrete: Any = None
    stored: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class InstanceValue(Value):
    """An object of an ordinary class that this segment makes (instances.py); residual code makes it where it lives on.

    made_of: the class as it was found. stored: its attributes, in order. by_parts: a loop carries these, each by
    itself, and it is another object behind each iteration (aggregates.py)."""

    cls: type = object
    made_of: Value = field(default=None)  # type: ignore[assignment]
    stored: dict[str, Value] = field(default_factory=dict)
    by_parts: bool = False

    @property
    def items(self) -> list[Value]:
        """What its attributes hold."""
        return list(self.stored.values())


@dataclass(eq=False, slots=True)
class NamespaceValue(Value):
    """The variables of a module, of which this segment has ``stored`` some."""

    concrete: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class UnreadValue(Value):
    """What stands in a place that each iteration of a loop sets before it reads it; who looks at it, ``look`` tells."""

    look: Callable[[], Value] = field(default=None)  # type: ignore[assignment]


def is_gone(value: Value) -> bool:
    return isinstance(value, GoneValue)


def object_key(value: Value) -> object:
    """What tells the object of a number from before a loop or a choice from others."""
    if value.source is not None:
        return value.source
    return id(value.value) if type(value) is ConstantValue else value


def as_value(argument: Argument | Value) -> Value:
    """What the run knows as what residual code loads."""
    if isinstance(argument, Value):
        return argument
    if isinstance(argument, Node):
        return ArrayValue(None, argument)
    return NumberValue(None, argument) if is_symbolic(argument) else ConstantValue(None, argument)


def choice_of(value: NumberValue, origin: Picked) -> Value:
    """A number that may be one of several objects, as the choice between them."""
    found: Value = NumberValue(None, value.expr)
    for number, one in origin.objects.items():
        found = EitherValue(None, ScalarOp("eq", "bool", (origin.tag, number)), one, found)
    return found

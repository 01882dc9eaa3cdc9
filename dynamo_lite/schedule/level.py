"""Joins kernels that may run together, and orders units by how often memory has to be met at other positions.

Enters units in program order; leaves fewer, in another order. Kernels of one shape become one where each depends on the
others at the same positions only, or not at all; what only they read stays in registers:

    %a = multiply(%x, 2) kept; store(%y[1:], %a[1:]); %b = add(%a, %x) kept  ->  one kernel keeps %a and %b; the store

A unit's level is the number of kernels that have to end before it. Where that costs no memory a unit runs as late as
those that read it. INVARIANT: units that touch the same memory, one of them writing, keep their order, or are one
kernel that touches it in the same places; effects that are no stores (loops, leaves, lists, numbers that are read) part
the program, and nothing crosses them. What is alive at the same time hardly grows (HELD_ARRAYS).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field

from dynamo_lite.budget import spend
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.alias import disjoint, is_address, may_share, place, same_positions
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import origins, root, users
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.graph.types import identity_of
from dynamo_lite.schedule.kernel import Form
from dynamo_lite.schedule.target import Target
from dynamo_lite.schedule.units import Group, Part, Reduction, Single, Unit, result_type

HELD_ARRAYS = 6  # more than without, or a quarter more
MOST_ACCESSES = 64  # to one memory that are told apart by their places


def level(graph: Graph, units: list[Unit], forms: dict[Node, Form], target: Target) -> list[Unit]:
    """The units, joined and ordered."""
    if sum(isinstance(unit, Group) for unit in units) < 2:
        return units
    return _Levels(graph, units, forms, target).run()


@dataclass(eq=False, slots=True)
class _Unit:
    """A unit, what it touches, and after which others it runs. key: of the kernels that it may join, None for none."""

    unit: Unit
    key: Hashable = None
    reads: list[Node] = field(default_factory=list)  # what is in memory there
    needs: list[Node] = field(default_factory=list)  # arrays of which the contents do not matter
    writes: list[Node] = field(default_factory=list)
    makes: list[Node] = field(default_factory=list)
    before: dict[_Unit, bool] = field(default_factory=dict)  # whether another kernel has to be
    after: dict[_Unit, bool] = field(default_factory=dict)
    level: int = 0

    def follow(self, other: _Unit, parted: bool) -> None:
        """Run after `other`; parted: not in the same kernel."""
        if other is not self:
            parted = parted or self.before.get(other, False)
            self.before[other] = other.after[self] = parted

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.unit.parts if isinstance(self.unit, Group) else ()

    def keep(self, results: list[Node]) -> None:
        """Of what this kernel computes keep only these in arrays of their own."""
        self.makes = results
        self.unit = Group(self.parts, tuple(results))

    def read_instead(self, value: Node, other: Node) -> None:
        """Let this kernel read `value` from another place."""
        self.reads = [other if node is value else node for node in self.reads]
        parts = (Part(part.members, part.store, (*part.aside, (value, other))) for part in self.parts)
        self.unit = Group(tuple(parts), tuple(self.makes))


@dataclass(eq=False, slots=True)
class _Kernel:
    """Units that run together."""

    units: list[_Unit] = field(default_factory=list)
    members: set[Node] = field(default_factory=set)
    operands: set[Hashable] = field(default_factory=set)
    makes: set[Node] = field(default_factory=set)

    def add(self, unit: _Unit, operands: set[Hashable]) -> None:
        self.units.append(unit)
        self.members.update(*(part.members for part in unit.parts))
        self.operands |= operands
        self.makes.update(unit.makes)


_EFFECTS = frozenset(
    {"require", "error_state", "new_container", "append", "put_item", "list_take", "list_join", "held_object"}
    | {"object_scalar", "object_array", "list_array", "count_true"}
)
_UNSET = frozenset(("empty", "empty_like", "empty_bordered", "require_order"))


def _is_effect(unit: Unit) -> bool:
    """Whether nothing crosses the unit."""
    if not isinstance(unit, Single):
        return False
    node = unit.node
    if node.kind not in (NodeKind.CALL, NodeKind.STORE):
        return True
    return node.op in _EFFECTS or "yields" in node.params


class _Levels:
    def __init__(self, graph: Graph, units: list[Unit], forms: dict[Node, Form], target: Target) -> None:
        self.graph = graph
        self.units = units
        self.forms = forms
        self.target = target
        self.uses = users(graph)
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.dims: dict[Dim, Dim] = {}
        self.places: dict[Node, Hashable] = {}
        self.disjoint: dict[Hashable, bool] = {}  # by the indices and the shape
        self.read_in_memory: dict[Node, int] = {}  # by how many units

    def run(self) -> list[Unit]:
        described = [self.describe(unit) for unit in self.units]
        for unit in described:
            for node in {*unit.reads, *unit.needs}:
                self.read_in_memory[node] = self.read_in_memory.get(node, 0) + 1
        before = self.peak(described)
        most = before + max(HELD_ARRAYS, before // 4)
        length = len(described)
        while length > 2:
            found = [unit for segment in self.segments(described, length) for unit in self.order(segment)]
            if len(found) == len(described):
                break
            self.read_in_borders(found)
            if self.peak(found) <= most:
                return [unit.unit for unit in found]
            length //= 2
        return self.units

    def segments(self, units: list[_Unit], length: int) -> Iterator[list[_Unit]]:
        """Runs of at most `length` units, without any effect but stores or of one alone."""
        segment: list[_Unit] = []
        for unit in units:
            effect = _is_effect(unit.unit)
            if segment and (effect or len(segment) == length):
                yield segment
                segment = []
            segment.append(unit)
            if effect:
                yield segment
                segment = []
        if segment:
            yield segment

    # What units touch

    def shape(self, node: Node) -> tuple[Dim, ...]:
        return tuple(map(self.dim, result_type(node).shape))

    def dim(self, dim: Dim) -> Dim:
        """One expression for sizes that are equal."""
        if dim not in self.dims:
            equalities = self.graph.facts.equalities
            self.dims[dim] = equalities.canonical(dim) if equalities else dim  # type: ignore[assignment]
        return self.dims[dim]

    def describe(self, unit: Unit) -> _Unit:
        spend()
        one = _Unit(unit)
        if isinstance(unit, Group):
            for part in unit.parts:
                one.reads += self.operands(part)
                if part.store is not None:
                    target = part.store.args[0]
                    assert isinstance(target, Node)
                    one.writes.append(target)
                    one.needs.append(target)
            one.makes += unit.results
            shape = self.shape(one.writes[0] if one.writes else unit.results[0])
            one.key = shape or None
        elif isinstance(unit, Reduction):
            one.reads += self.operands(Part(unit.members)) if unit.members else _nodes(unit.node.args)
            one.makes.append(unit.node)
        else:
            self.describe_single(one, unit.node)
        return one

    def describe_single(self, unit: _Unit, node: Node) -> None:
        unit.makes.append(node)
        args = _nodes(node.args)
        if node.kind is NodeKind.STORE:
            target, *values = args
            unit.needs.append(target)
            unit.writes.append(target)
            for value in values:  # one that works in place has no unit of its own
                in_place = value.kind is NodeKind.CALL and REGISTRY[value.op].in_place
                unit.reads += _nodes(value.args) if in_place else [value]
                unit.needs.append(value)
        elif is_address(node) or node.op in _UNSET or node.op == "tuple_get":
            unit.needs += args
        else:
            unit.reads += args

    def operands(self, part: Part) -> list[Node]:
        """What a part reads from memory."""
        inside, instead = set(part.members), dict(part.aside)
        read = [arg for node in part.members for arg in node.args]
        if part.store is not None:
            read.append(part.store.args[1])
        nodes = dict.fromkeys(arg for arg in _nodes(read) if arg not in inside and not self.is_number(arg))
        return [instead.get(arg, arg) for arg in nodes]

    def is_number(self, node: Node) -> bool:
        form = self.forms.get(node)
        return form is not None and form.number is not None

    # Order

    def order(self, units: list[_Unit]) -> list[_Unit]:
        """The units of one segment by level, kernels joined."""
        if len(units) < 2:
            return units
        self.depend(units)
        for unit in units:
            unit.level = max((other.level + _rises(other, parted) for other, parted in unit.before.items()), default=0)
        self.sink(units)
        levels: dict[int, list[_Unit]] = {}
        for unit in units:
            levels.setdefault(unit.level, []).append(unit)
        found: list[_Unit] = []
        for _, at in sorted(levels.items()):
            found += [unit for unit in at if unit.key is None]
            kernels: dict[Hashable, list[_Unit]] = {}
            for unit in at:
                if unit.key is not None:
                    kernels.setdefault(unit.key, []).append(unit)
            for same in kernels.values():
                found += self.pack(same)
        return found

    def depend(self, units: list[_Unit]) -> None:
        """Note after which units each has to run."""
        makers: dict[Node, _Unit] = {}
        memory: dict[Node, list[tuple[_Unit, Node, bool]]] = {}
        call: _Unit | None = None
        for unit in units:
            spend()
            unit.before, unit.after = {}, {}
        for unit in units:
            for node in unit.reads:
                if node in makers:
                    unit.follow(makers[node], unit.key is None or unit.key != makers[node].key)
            for node in unit.needs:
                if node in makers:
                    unit.follow(makers[node], True)
            makers |= dict.fromkeys(unit.makes, unit)
            for node, writes in (*((n, False) for n in unit.reads), *((n, True) for n in unit.writes)):
                if not result_type(node).scalar:
                    for origin in origins(node):
                        self.touch(unit, node, writes, memory.setdefault(origin, []))
            if _is_call(unit.unit):
                if call is not None:
                    unit.follow(call, True)
                call = unit

    def touch(self, unit: _Unit, node: Node, writes: bool, memory: list[tuple[_Unit, Node, bool]]) -> None:
        """Note that a unit reads or writes `node`; memory: who has touched its memory, and how."""
        where = self.place(node)
        distinguished = len(memory) <= MOST_ACCESSES
        for other, met, written in memory:
            if other is unit or not (writes or written):
                continue
            spend()
            same = self.place(met) == where
            if same or not distinguished or not self.are_disjoint(met, node):
                joins = same and unit.key is not None and unit.key == other.key
                reads_it = written and not writes
                unit.follow(other, not joins or (reads_it and (not _forwards(unit, node) or _over_itself(other, met))))
        if writes and not distinguished:
            memory.clear()
            node = root(node)
        elif writes:
            memory[:] = [entry for entry in memory if entry[0] is unit or self.place(entry[1]) != where]
        memory.append((unit, node, writes))

    def are_disjoint(self, one: Node, other: Node) -> bool:
        """Whether two arrays certainly are disjoint parts of one."""
        source = one.args[0] if one.op == other.op == "basic_index" else None
        if not isinstance(source, Node) or source is not other.args[0]:
            return disjoint(one, other, self.graph.facts)
        key = one.params["index"], other.params["index"], self.shape(source)
        if key not in self.disjoint:
            self.disjoint[key] = disjoint(one, other, self.graph.facts)
        return self.disjoint[key]

    def place(self, node: Node) -> Hashable:
        if node not in self.places:
            self.places[node] = place(node)
        return self.places[node]

    def sink(self, units: list[_Unit]) -> None:
        """Let units run as late as what follows them, where that keeps no more arrays alive than it saves."""
        last: dict[Node, int] = {}
        for unit in units:
            for node in {root(node) for node in (*unit.reads, *unit.needs)}:
                last[node] = max(last.get(node, 0), unit.level)
        made = {root(node) for unit in units for node in unit.makes}
        for unit in reversed(units):
            if not unit.after:
                continue
            latest = min(other.level - _rises(unit, parted) for other, parted in unit.after.items())
            if latest <= unit.level:
                continue
            mine = {root(node) for node in (*unit.reads, *unit.needs)} & made
            cost = sum(last[node] < latest and not _is_number(node) for node in mine)
            gain = sum(not _is_number(node) for node in unit.makes if root(node) is node)
            if cost <= gain:
                unit.level = latest
                for node in mine:
                    last[node] = max(last[node], latest)

    # Joining

    def pack(self, units: list[_Unit]) -> list[_Unit]:
        """Kernels of one shape and level, as few as the target's limits allow."""
        kernels: list[_Kernel] = []
        at: dict[_Unit, int] = {}
        for unit in units:
            spend()
            number = max((at[other] for other in unit.before if other in at), default=0)
            operands = self.operand_names(unit)
            while number < len(kernels) and not self.takes(kernels[number], unit, operands):
                number += 1
            if number == len(kernels):
                kernels.append(_Kernel())
            kernels[number].add(unit, operands)
            at[unit] = number
        return [self.join(kernel.units) for kernel in kernels]

    def takes(self, kernel: _Kernel, unit: _Unit, operands: set[Hashable]) -> bool:
        """Whether a kernel has room for one more unit."""
        members = kernel.members.union(*(part.members for part in unit.parts))
        if len(members) > self.target.max_ops:
            return False
        units = [*kernel.units, unit]
        kept = sum(self.is_kept(node, units) for node in kernel.makes.union(unit.makes))
        stores = {self.place(node) for one in units for node in one.writes}
        outside = {name for name in kernel.operands | operands if name not in members}
        return len(outside) + len(stores) + kept < self.target.max_operands

    def operand_names(self, unit: _Unit) -> set[Hashable]:
        """What tells operands of a unit's kernel apart: nodes, and numbers with their dtypes."""
        found: set[Hashable] = set(unit.reads)
        for part in unit.parts:
            for node in part.members:
                if node in self.forms:
                    found |= {
                        (arg if isinstance(arg, Node) else identity_of(arg), dtype)
                        for arg, dtype in zip(node.args, self.forms[node].in_dtypes, strict=True)
                        if not isinstance(arg, Node) or self.is_number(arg)
                    }
            if part.store is not None and not isinstance(part.store.args[1], Node):
                found.add((part.store, "number"))
        return found

    def join(self, units: list[_Unit]) -> _Unit:
        """A new unit of kernels that run together."""
        joined = _Unit(Group((), ()), units[0].key)
        parts = tuple(part for unit in units for part in unit.parts)
        kept = dict.fromkeys(node for unit in units for node in unit.makes)
        for unit in units:
            joined.reads += unit.reads
            joined.needs += unit.needs
            joined.writes += unit.writes
        joined.unit = Group(parts, ())
        joined.keep([node for node in kept if self.is_kept(node, units)])
        return joined

    def is_kept(self, node: Node, inside: Sequence[_Unit]) -> bool:
        """Whether others than these units read what they make, or nobody: then it runs for its flags."""
        if node in self.outputs or not self.uses.get(node, True):
            return True
        return self.read_in_memory.get(node, 0) > sum(node in unit.reads or node in unit.needs for unit in inside)

    def read_in_borders(self, units: list[_Unit]) -> None:
        """Do not keep what a kernel has also put between the borders of an array (lower/pad.py) for kernels alone."""
        readers: dict[Node, list[_Unit]] = {}
        for unit in units:
            for node in {*unit.reads, *unit.needs}:
                readers.setdefault(node, []).append(unit)
        for unit in units:
            for target, value in [part.store.args for part in unit.parts if part.store is not None]:
                if not isinstance(value, Node) or value not in unit.makes or value in self.outputs:
                    continue
                assert isinstance(target, Node)
                others = [other for other in readers.get(value, ()) if other is not unit]
                if root(target).op != "empty_bordered" or any(
                    other.key is None or value in other.needs for other in others
                ):
                    continue
                unit.keep([node for node in unit.makes if node is not value])
                for other in others:
                    other.read_instead(value, target)

    # Memory

    def peak(self, units: Iterable[_Unit]) -> int:
        """The most arrays that live at a time."""
        born: dict[Node, int] = {}
        dies: dict[Node, int] = {}
        end = 0
        for end, unit in enumerate(units, 1):
            for node in unit.makes:
                if root(node) is node and not _is_number(node):
                    born[node] = end
            for node in (*unit.reads, *unit.needs):
                dies[root(node)] = end
        for output in self.outputs:
            dies[root(output)] = end
        changes = [0] * (end + 2)
        for node, number in born.items():
            changes[number] += 1
            changes[max(dies.get(node, number), number) + 1] -= 1
        most = alive = 0
        for change in changes:
            alive += change
            most = max(most, alive)
        return most


def _nodes(args: Iterable[object]) -> list[Node]:
    return [arg for arg in args if isinstance(arg, Node)]


def _is_number(node: Node) -> bool:
    """Whether a value takes next to no memory."""
    return not node.type or all(dim == 1 for dim in result_type(node).shape)


def _rises(unit: _Unit, parted: bool) -> int:
    """How many levels lie between a unit and one that follows it."""
    return int(parted and unit.key is not None)


def _is_call(unit: Unit) -> bool:
    return isinstance(unit, Single) and unit.node.kind is NodeKind.CALL and REGISTRY[unit.node.op].kind is OpKind.CALL


def _forwards(unit: _Unit, node: Node) -> bool:
    """Whether a kernel may read what it has stored into `node` itself: a fresh result would lie as the value does, and
    NumPy lets it lie as the array does."""
    return not unit.makes or sum(dim != 1 for dim in result_type(node).shape) <= 1


def _over_itself(unit: _Unit, array: Node) -> bool:
    """Whether a unit may copy a vector over itself into `array`, which then holds what NumPy has written on the way."""
    parts = unit.unit.parts if isinstance(unit.unit, Group) else ()
    for target, value in [part.store.args for part in parts if part.store is not None]:
        assert isinstance(target, Node)
        if not isinstance(value, Node) or any(value in part.members for part in parts):
            continue
        if result_type(target).ndim == 1 and may_share(target, value) and same_positions(target, array):
            return True
    return False

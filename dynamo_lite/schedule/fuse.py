"""Decides what runs together: elementwise nodes become groups, each one kernel, between everything else in order.

Enters a lowered graph; leaves units in execution order. Elementwise nodes wait until somebody needs their result in
memory (a view, a reduction, a call, a store, an output); then everything of the same shape they are made of joins one
kernel.

    %m = multiply(%x, %x); %a = add(%m, 1); store(%y, %a)  ->  Group of a Part with the members %m, %a and the store

INVARIANT: a group reads each array as it was where its nodes stand in the program: a node that waits and reads memory
is computed before a store into that memory; nothing waits across a loop, or a change of the error state. What several
consumers use is kept as a further result of the first kernel, or computed again where that is cheaper than memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dynamo_lite.budget import spend
from dynamo_lite.graph.alias import disjoint, may_share, same_positions
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY
from dynamo_lite.graph.rewrite import is_structured, root, users
from dynamo_lite.graph.scalar import Dim, kind_of, make
from dynamo_lite.graph.types import ArrayType, identity_of
from dynamo_lite.ops.reductions import reduce_dtypes
from dynamo_lite.schedule.kernel import Form, form_of, result_dtypes
from dynamo_lite.schedule.target import Target
from dynamo_lite.schedule.units import Group, Part, Reduction, Single, Unit, result_type

CHEAP = 3  # operations that are computed twice rather than stored
HELD_ARRAYS = 6  # intermediate arrays that one waiting node may keep alive
SLOW_OPS = frozenset({"divide", "reciprocal", "sqrt"})


def fuse(graph: Graph, target: Target) -> tuple[list[Unit], dict[Node, Form]]:
    """The units in execution order, and the kernel form of every elementwise node."""
    fusion = _Fusion(graph, target)
    fusion.run()
    return fusion.units, fusion.forms


def checks_range(value: ArrayType, dtype: np.dtype[np.generic]) -> bool:
    """Whether storing a NumPy scalar into an integer array goes by way of a Python int, which may not fit."""
    return value.scalar and dtype.kind in "iu" and not np.can_cast(value.dtype, dtype, "safe")


class _Fusion:
    def __init__(self, graph: Graph, target: Target) -> None:
        self.graph = graph
        self.target = target
        self.units: list[Unit] = []
        self.position = {node: number for number, node in enumerate(graph.nodes)}
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.uses = users(graph)
        self.forms: dict[Node, Form] = {}
        self.waiting: dict[Node, None] = {}  # elementwise nodes not in memory, whose result is still needed
        self.finished: set[Node] = set()  # nodes that need not read their operands any more
        self.holds: dict[Node, set[Node]] = {}  # the intermediate arrays that a node keeps alive while it waits
        self.sizes: dict[Node, int] = {}  # an upper bound of the operations a waiting node is made of
        self._shapes: dict[Node, tuple[Dim, ...]] = {}
        self._dims: dict[Dim, Dim] = {}
        self._known_dims: list[Dim] = []

    def run(self) -> None:
        for node in self.graph.nodes:
            if node.kind in (NodeKind.INPUT, NodeKind.CONSTANT):
                self.finished.add(node)
            elif node.kind is NodeKind.STORE:
                self.store(node)
            elif is_structured(node) or node.kind is NodeKind.LEAVE or node.op == "error_state":
                self.materialise(list(self.waiting))
                self.single(node)
            elif self.joins(node):
                self.waiting[node] = None
                self.limit(node)
            elif self.puts_in_place(node):
                self.materialise(arg for arg in node.args if isinstance(arg, Node))
                self.finished.add(node)
            elif node.op == "reduce" and self.reducible(node):
                self.reduce(node)
            else:
                self.materialise(arg for arg in node.args if isinstance(arg, Node))
                self.single(node)
        self.materialise([node for node in self.waiting if not self.is_number(node)])
        self.materialise([node for node in self.waiting if self.needed_later(node, set())])

    def is_number(self, node: Node) -> bool:
        """Whether kernels read the node as a number of the call: it waits, but is no part of them."""
        form = self.forms.get(node)
        return form is not None and form.number is not None

    def shape(self, node: Node) -> tuple[Dim, ...]:
        """The node's shape, with one expression for sizes that the graph's facts make equal."""
        if node not in self._shapes:
            self._shapes[node] = tuple(map(self._dim, result_type(node).shape))
        return self._shapes[node]

    def _dim(self, dim: Dim) -> Dim:
        if dim not in self._dims:
            equal = (known for known in self._known_dims if self.graph.facts.decide(make("eq", known, dim)))
            self._dims[dim] = next(equal, dim)
            if self._dims[dim] is dim:
                self._known_dims.append(dim)
        return self._dims[dim]

    def single(self, node: Node) -> None:
        self.units.append(Single(node))
        self.finished.add(node)

    def limit(self, node: Node) -> None:
        """Do not let `node` wait if it fills a kernel, or keeps many arrays alive that NumPy would free."""
        held: set[Node] = set()
        size = 1 + sum(self.sizes.get(arg, 0) for arg in node.args if isinstance(arg, Node) and arg in self.waiting)
        if size > self.target.max_ops:  # operands in common were counted twice
            size = len(self.members([node]))
        self.sizes[node] = size
        for arg in node.args:
            if isinstance(arg, Node):
                held |= self.holds.get(arg, {root(arg)} if root(arg).kind is NodeKind.CALL else set())
        if len(held) > HELD_ARRAYS or size > self.target.max_ops:
            self.materialise([node])
        self.holds[node] = held if node in self.waiting else {node}

    def joins(self, node: Node) -> bool:
        """Whether `node` may be part of a kernel; notes its form."""
        if node.op == "tuple_get":
            return node.args[0] in self.waiting
        if isinstance(node.type, tuple) and not self.uses[node]:
            return False
        form = form_of(node, self.target, self.graph.facts)
        if form is None:
            return False
        self.forms[node] = form
        return True

    # Closures

    def members(self, nodes: Iterable[Node]) -> list[Node]:
        """The waiting nodes of the same shape that `nodes` are made of, themselves included, in program order."""
        found: set[Node] = set()
        todo = [node for node in nodes if node in self.waiting]
        while todo:
            node = todo.pop()
            spend()
            if node not in found:
                found.add(node)
                shape = self.shape(node)
                todo += [
                    arg
                    for arg in node.args
                    if isinstance(arg, Node)
                    and arg in self.waiting
                    and self.shape(arg) == shape
                    and not self.is_number(arg)
                ]
        return sorted(found, key=self.position.__getitem__)

    def foreign(self, members: list[Node]) -> list[Node]:
        """The waiting nodes of another shape that `members` read: they have to be in memory first."""
        inside = set(members)
        return [
            arg
            for node in members
            for arg in node.args
            if isinstance(arg, Node) and arg in self.waiting and arg not in inside and not self.is_number(arg)
        ]

    def operands(self, members: list[Node]) -> list[Argument]:
        """What a kernel of `members` reads; each number once."""
        inside = set(members)
        read = [arg for node in members for arg in node.args if arg not in inside]
        return list({arg if isinstance(arg, Node) else identity_of(arg): arg for arg in read}.values())

    def needed_later(self, node: Node, inside: set[Node]) -> bool:
        """Whether somebody outside of `inside` still has to read `node`."""
        if node in self.outputs or not self.uses[node]:
            return True  # without uses it runs for its floating-point errors
        return any(user not in self.finished and user not in inside for user in self.uses[node])

    def cheap(self, node: Node) -> bool:
        """Whether computing `node` again costs less than storing and loading it."""
        found: list[Node] = []
        arrays: set[Node] = set()
        todo = [node]
        while todo:
            member = todo.pop()
            form = self.forms.get(member)
            if len(found) == CHEAP or form is None or form.ufunc is not None or form.op in SLOW_OPS:
                return False
            found.append(member)
            for arg in member.args:
                if not isinstance(arg, Node) or arg in found:
                    continue
                if arg in self.waiting and self.shape(arg) == self.shape(node):
                    todo.append(arg)
                elif self.shape(arg) == self.shape(node):
                    arrays.add(arg)
        return len(arrays) <= 1

    def fits(self, members: list[Node], wanted: Iterable[Node]) -> bool:
        """Whether one kernel can compute `members` and keep what is needed of them."""
        if len(members) > self.target.max_ops:
            return False
        operands = len(self.operands(members))
        return operands < self.target.max_operands and (
            operands + len(self.results(members, set(wanted))) + 1 <= self.target.max_operands
        )

    def gather(self, nodes: list[Node]) -> list[Node]:
        """The members for `nodes`, after putting in memory what is of another shape or too much for one kernel."""
        while True:
            members = self.members(nodes)
            foreign = self.foreign(members)
            if foreign:
                self.materialise(foreign)
                continue
            if self.fits(members, nodes) or len(members) <= 1:
                return members
            self.materialise(self.cut(members))

    def cut(self, members: list[Node]) -> list[Node]:
        """The values to put in memory so that about half of `members` come before: the fewest that do."""
        best: list[Node] = []
        for place in range(max(1, len(members) // 3), max(2, 2 * len(members) // 3 + 1)):
            behind = {arg for node in members[place:] for arg in node.args if isinstance(arg, Node)}
            crossing = [node for node in members[:place] if node in behind and not isinstance(node.type, tuple)]
            if crossing and (not best or len(crossing) <= len(best)):
                best = crossing
        return best or members[:1]

    # Units

    def materialise(self, nodes: Iterable[Node]) -> None:
        """Bring waiting nodes into memory, those of one shape together."""
        shapes: dict[tuple[Dim, ...], list[Node]] = {}
        for node in nodes:
            parts = self.uses[node] if isinstance(node.type, tuple) else [node]
            for part in parts:
                if part in self.waiting:
                    shapes.setdefault(self.shape(part), []).append(part)
        for group in shapes.values():
            wanted = [node for node in group if node in self.waiting]
            while wanted:
                members = self.gather(wanted) if len(wanted) == 1 or self.fits(self.members(wanted), wanted) else []
                if not members:  # too much for one kernel: the first half of what is wanted, then the rest
                    half = wanted[: (len(wanted) + 1) // 2]
                    self.materialise(half)
                    wanted = [node for node in wanted if node in self.waiting]
                    continue
                self.group(members, wanted)
                assert any(node not in self.waiting for node in wanted), [node.name for node in wanted]
                wanted = [node for node in wanted if node in self.waiting]

    def group(self, members: list[Node], wanted: list[Node]) -> None:
        results = self.results(members, set(wanted))
        if results:
            self.units.append(Group((Part(tuple(members)),), tuple(results)))
        self.close(members, results)

    def results(self, members: list[Node], wanted: set[Node]) -> list[Node]:
        """What a kernel of `members` keeps: what is wanted, and what others need and is not cheap to compute again."""
        inside = set(members)
        kept = []
        for node in members:
            if isinstance(node.type, tuple):  # its results are tuple_gets
                continue
            must = node in wanted or node in self.outputs or not self.cheap(node)
            if must and self.needed_later(node, inside):
                kept.append(node)
        return kept

    def close(self, members: list[Node], results: Iterable[Node]) -> None:
        """`results` are in memory now; members that nobody needs any more stop waiting."""
        for node in results:
            del self.waiting[node]
            self.finished.add(node)
            self.holds[node] = {node}
        for node in reversed(members):
            if node in self.waiting and not self.needed_later(node, set()):
                del self.waiting[node]
                self.finished.add(node)

    def reducible(self, node: Node) -> bool:
        """Whether a kernel may feed this reduction: NumPy would reduce its operand without a cast."""
        (x,) = node.args
        if not isinstance(x, Node) or "initial" in node.params or not x.array_type.shape or not node.params["axes"]:
            return False
        dtype = x.array_type.dtype
        return reduce_dtypes(node.params["ufunc"], dtype, node.params.get("dtype")) == (dtype, dtype)

    def reduce(self, node: Node) -> None:
        (x,) = node.args
        assert isinstance(x, Node)
        while True:
            members = self.gather([x])
            inside = {*members, node}
            shared = [member for member in members if self.needed_later(member, inside) and not self.cheap(member)]
            if not shared:
                break
            self.materialise(shared)
        self.units.append(Reduction(node, tuple(members)))
        self.finished.add(node)
        self.close(members, [])

    def store(self, node: Node) -> None:
        target, value = node.args
        assert isinstance(target, Node)
        self.materialise([target])
        if isinstance(value, Node) and self.puts_in_place(value):
            self.materialise(self.exposed(node, target))
            self.single(node)
            return
        mine = set(self.members([value])) if isinstance(value, Node) else set()
        exposed = self.exposed(node, target)
        self.materialise([other for other in exposed if other not in mine])
        if not isinstance(value, Node):
            self.store_from_memory(node)
            return
        exposed = [other for other in exposed if other in self.waiting]
        direct = value in self.waiting and self.shape(value) == self.shape(target) and self.writes(value, target)
        elsewhere: list[Node] = []
        if direct:
            members = self.gather([value])
            self.materialise([other for other in exposed if other not in members])
            readers = [arg for arg in self.operands(members) if isinstance(arg, Node) and may_share(arg, target)]
            readers = [arg for arg in readers if not disjoint(arg, target, self.graph.facts)]
            elsewhere = [arg for arg in readers if not same_positions(arg, target)]
            direct = bool(members) and all(self.broadcasts(arg, target) for arg in elsewhere)
        if not direct:
            self.materialise([value, *exposed])
            self.store_from_memory(node)
            return
        self.finished.add(node)
        results = self.results(members, set(exposed))
        aside = tuple((arg, self.copy(arg)) for arg in elsewhere)
        self.units.append(Group((Part(tuple(members), node, aside),), tuple(results)))
        self.close(members, results)

    def store_from_memory(self, node: Node) -> None:
        """A store of a number, or of a value in memory."""
        target, value = node.args
        assert isinstance(target, Node)
        if not self.copies(value, target):
            self.single(node)
            return
        aside: tuple[tuple[Node, Node], ...] = ()
        if isinstance(value, Node) and may_share(value, target) and not same_positions(value, target):
            # NB: a vector that is copied over itself NumPy may not put aside (csrc/kernels/kernel_map.c).
            straight = target.array_type.ndim == 1 or disjoint(value, target, self.graph.facts)
            aside = () if straight else ((value, self.copy(value)),)
        self.units.append(Group((Part((), node, aside),), ()))
        self.finished.add(node)

    def copies(self, value: Argument, target: Node) -> bool:
        """Whether a kernel can write `value`, a number or in memory, into `target`."""
        dtype = target.array_type.dtype
        if not self.target.exact("copy", (dtype,), (dtype,)):
            return False
        if not isinstance(value, Node):
            # A float goes into an integer array by truncation, which operands do not do.
            return dtype.kind in "fc" or (dtype.kind in "iu" and kind_of(value) == "int") or type(value) is bool
        return len(result_type(value).shape) <= target.array_type.ndim and self.writes(value, target)

    def broadcasts(self, arg: Node, target: Node) -> bool:
        """Whether `arg` has an axis less than what it is stored into, or one of a single element."""
        shape, full = self.shape(arg), self.shape(target)
        return len(shape) < len(full) or any(dim == 1 != size for dim, size in zip(shape, full, strict=True))

    def copy(self, arg: Node) -> Node:
        """A copy of what is in memory, made now."""
        copy = Node(NodeKind.CALL, "copy", (arg,), {"order": "K"}, arg.type, f"{arg.name}_copy", arg.location)
        form = form_of(copy, self.target, self.graph.facts)
        assert form is not None
        self.forms[copy] = form
        self.units.append(Group((Part((copy,)),), (copy,)))
        self.finished.add(copy)
        return copy

    def puts_in_place(self, node: Node) -> bool:
        """Whether `node` and the store that follows it are one step: target[mask] = value, say."""
        if node.kind is not NodeKind.CALL or not REGISTRY[node.op].in_place:
            return False
        if len(self.uses[node]) != 1 or node in self.outputs:
            return False
        (user,) = self.uses[node]
        return user.kind is NodeKind.STORE and user.args[0] is node.args[0] and self.follows(user, node)

    def follows(self, second: Node, first: Node) -> bool:
        """Whether `second` is the node behind `first`."""
        return self.position[second] == self.position[first] + 1

    def writes(self, value: Node, target: Node) -> bool:
        """Whether a kernel can cast the value to the target's dtype."""
        source, dtype = result_dtypes(value)[0], target.array_type.dtype
        if checks_range(result_type(value), dtype):
            return False
        return source == dtype or self.target.exact("cast", (source,), (dtype,))

    def exposed(self, store: Node, target: Node) -> list[Node]:
        """What waits, reads the memory that `store` overwrites, and is needed by others than `store`."""
        found = {
            node
            for node in self.waiting
            if any(isinstance(arg, Node) and arg not in self.waiting and may_share(arg, target) for arg in node.args)
        }
        for node in self.waiting:  # program order: what is made of an exposed node is exposed
            if any(arg in found for arg in node.args):
                found.add(node)
        return [
            node
            for node in self.waiting
            if node in found and self.needed_after(node, store) and not isinstance(node.type, tuple)
        ]

    def needed_after(self, node: Node, store: Node) -> bool:
        """Whether `node` is read by somebody who does not wait, other than by `store` itself."""
        if node in self.outputs or not self.uses[node]:
            return True
        return any(
            user not in self.finished and user not in self.waiting and user is not store for user in self.uses[node]
        )

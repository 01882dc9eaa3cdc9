"""Writes fused units as the steps of a Schedule: registers, kernels, views, calls, copies where memory overlaps.

Enters a lowered graph, its units and the schedules of its loops' bodies; leaves a Schedule in which every node's value
has one register. INVARIANT: a step never reads through one view what it writes through another (a temporary stands
between), and before the first write into an input that a later decline would have to undo stands a Save; not so in a
body, whose writes the graph around it saves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

from dynamo_lite._C import Objects, abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.alias import is_external, place
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind, place_of_size
from dynamo_lite.graph.regions import part_written
from dynamo_lite.graph.rewrite import changing_extents, loop_parts, origins, root, written
from dynamo_lite.graph.scalar import Dim, Scalar, ScalarOp, Symbol, is_symbolic, make, product, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.index import put_index
from dynamo_lite.ops.lists import count_untagged
from dynamo_lite.schedule.blocks import FULL, find_blocks
from dynamo_lite.schedule.call import call, reports_invalid_alone
from dynamo_lite.schedule.iterate import iterated
from dynamo_lite.schedule.kernel import Form, KernelBuilder, kernel_reports
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Errors,
    Leave,
    Loop,
    Map,
    Masked,
    New,
    Operand,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Save,
    Schedule,
    Step,
    Take,
    View,
)
from dynamo_lite.schedule.target import Target
from dynamo_lite.schedule.units import Group, Reduction, Unit, result_type


def assign(target: Any, value: Any) -> None:
    """What a store does, by NumPy itself: where a kernel cannot cast or broadcast the value."""
    target[...] = value


def emit(
    graph: Graph,
    units: list[Unit],
    forms: dict[Node, Form],
    target: Target,
    bodies: Mapping[Node, tuple[Schedule, ...]],
    is_body: bool = False,
) -> Schedule:
    """The schedule of the units. bodies: those of the loops and branches; is_body: `graph` is one."""
    emitter = _Emitter(graph, forms, target, bodies)
    for unit in units:
        emitter.unit(unit)
    return emitter.finish(is_body)


class _Emitter:
    def __init__(
        self, graph: Graph, forms: dict[Node, Form], target: Target, bodies: Mapping[Node, tuple[Schedule, ...]]
    ) -> None:
        self.graph = graph
        self.bodies = bodies
        self.forms = forms
        self.target = target
        self.steps: list[Step] = []
        self.registers: dict[Node, int] = {}
        self.count = len(graph.inputs)
        self.constants: list[tuple[int, Any]] = []
        self.parts: dict[Node, tuple[int, ...]] = {}  # registers of the results of a call with several
        self.places: dict[Node, int] = {}  # of a counted mask: the register for where it is true
        self.writes: list[tuple[int, Node]] = []  # (step, target) of every write into an input
        for node in graph.nodes:
            if node.kind is NodeKind.INPUT:
                self.registers[node] = node.params["index"]
            elif node.kind is NodeKind.CONSTANT:
                self.registers[node] = self.fresh()
                self.constants.append((self.registers[node], node.params["value"]))

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def register(self, node: Node) -> int:
        """The register that holds (or will hold) the node's value."""
        if node not in self.registers:
            self.registers[node] = self.fresh()
        return self.registers[node]

    def operand(self, arg: Any) -> Operand:
        return Reg(self.registers[arg]) if isinstance(arg, Node) else arg

    def unit(self, unit: Unit) -> None:
        if isinstance(unit, Group):
            self.group(unit)
        elif isinstance(unit, Reduction):
            self.reduce(unit)
        else:
            self.single(unit.node)

    def group(self, unit: Group) -> None:
        """One kernel, which writes of several stores into one array the last."""
        builder = KernelBuilder(self.forms)
        stores: dict[Any, tuple[Node, int]] = {}
        for part in unit.parts:
            builder.instead = dict(part.aside)
            for node in part.members:
                builder.add(node)
            if part.store is not None:
                target, value = part.store.args
                assert isinstance(target, Node)
                number = self.cast_for(builder, value, target)
                builder.store(target, number)
                stores[place(target)] = target, number
        for target, _ in stores.values():
            self.note_write(target)
        targets = [target for target, _ in stores.values()]
        values = [number for _, number in stores.values()]
        values += [builder.result(node) for node in unit.results]
        outs = (*(self.registers[target] for target in targets), *map(self.register, unit.results))
        into = (True,) * len(targets) + (False,) * len(unit.results)
        scalar = (*(False for _ in targets), *(node.array_type.scalar for node in unit.results))
        shape = (targets or unit.results)[0].array_type.shape
        operands = tuple(map(self.operand, builder.operands))
        self.steps.append(Map(builder.kernel(values), operands, shape, outs, into, scalar))

    def reduce(self, unit: Reduction) -> None:
        node = unit.node
        (x,) = node.args
        assert isinstance(x, Node)
        builder = KernelBuilder(self.forms)
        for member in unit.members:
            builder.add(member)
        kernel = builder.kernel([builder.value(x, x.array_type.dtype)])
        ufunc, type_ = node.params["ufunc"], node.array_type
        if type_.dtype == x.array_type.dtype and self.target.folding(kernel, ufunc):
            kernel = replace(kernel, fold=ufunc)
        self.steps.append(
            Reduce(
                kernel,
                tuple(map(self.operand, builder.operands)),
                x.array_type.shape,
                ufunc,
                node.params["axes"],
                node.params["keepdims"],
                self.register(node),
                type_.dtype,
                type_.scalar,
            )
        )

    # Stores

    def cast_for(self, builder: KernelBuilder, value: Argument, target: Node) -> int:
        dtype = target.array_type.dtype
        if not isinstance(value, Node):
            return builder.value(value, dtype)
        source = value.array_type.dtype
        number = builder.value(value, source)
        return number if source == dtype else builder.cast(number, source, dtype)

    def note_write(self, target: Node) -> None:
        if is_external(target):
            self.writes.append((len(self.steps), target))

    def store(self, node: Node) -> None:
        """A store that NumPy does."""
        target, value = node.args
        assert isinstance(target, Node)
        if isinstance(value, Node) and value.op in _IN_PLACE and value not in self.registers:
            self.note_write(target)
            _IN_PLACE[value.op](self, value, self.registers[target])
            return
        self.note_write(target)
        self.steps.append(Call((), (), assign, (Reg(self.registers[target]), self.operand(value))))

    # Nodes that run by themselves

    def single(self, node: Node) -> None:
        if node.kind is NodeKind.STORE:
            self.store(node)
        elif node.kind is NodeKind.LOOP:
            self.loop(node)
        elif node.kind is NodeKind.LEAVE:
            self.steps.append(Leave(node.params["exit"], tuple(map(self.operand, node.args[1:]))))
        elif node.kind is NodeKind.COND:
            self.cond(node)
        elif node.kind is not NodeKind.CALL:
            raise NotImplementedError(f"{node.name}: {node.kind.value} nodes have no schedule")
        elif node.op in _SINGLE and _SINGLE[node.op](self, node):
            return
        else:
            self.call(node)

    def call(self, node: Node) -> None:
        """NumPy runs the node."""
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        assert all(isinstance(type_, ArrayType) for type_ in types)
        if isinstance(node.type, tuple):
            dsts = tuple(self.fresh() for _ in types)
            self.parts[node] = dsts
        else:
            dsts = (self.register(node),)
        function, args, keywords = call(node)
        place, operands = place_of_size(node), self.operands(args)
        yields = () if place is None else node.params["yields"]
        number = node.op == "draw" and node.params["number"]
        given = tuple((name, self.operands((value,))[0]) for name, value in keywords.items())
        alone = reports_invalid_alone(function)
        step = Call(dsts, types, function, operands, given, yields, place or (0, 0), number, alone)  # type: ignore[arg-type]
        self.steps.append(step)

    def operands(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Operands of a call, also nested ones."""
        return tuple(self.operands(arg) if isinstance(arg, tuple) else self.operand(arg) for arg in args)

    def loop(self, node: Node) -> None:
        bounds, initial, captured, _ = loop_parts(node)
        dsts = self.structured(node)
        carried, others = tuple(map(self.operand, initial)), tuple(map(self.operand, captured))
        (body,) = self.bodies[node]
        goes_on, yields = bool(node.params.get("while")), node.params.get("yields", ())
        if not goes_on and not yields:
            body = replace(body, iterated=iterated(body, len(carried), node.regions[0].facts))
        types = tuple(value.array_type if isinstance(value, Node) else None for value in (*initial, *captured))
        pause = node.params.get("pause")
        if pause is not None:
            pause = pause[0], reduce(partial(make, "or"), pause[1:])
        extents = changing_extents(node)
        self.steps.append(Loop(dsts, body, *bounds, carried, others, types, None, goes_on, yields, pause, extents))

    def cond(self, node: Node) -> None:
        dsts = self.structured(node)
        condition, *operands = map(self.operand, node.args)
        then, orelse = self.bodies[node]
        assert isinstance(node.type, tuple)
        yields = node.params.get("yields", ())
        self.steps.append(Cond(dsts, condition, then, orelse, tuple(operands), yields, node.type))

    def structured(self, node: Node) -> tuple[int, ...]:
        """The registers of what a loop or a choice yields; notes what it writes."""
        assert isinstance(node.type, tuple)
        self.parts[node] = dsts = tuple(self.fresh() for _ in node.type)
        changed = written(node)
        for array in self.graph.inputs:
            if isinstance(array, Node) and array in changed:
                self.note_write(array)
        return dsts

    def tuple_get(self, node: Node) -> bool:
        parent = node.args[0]
        assert isinstance(parent, Node)
        self.registers[node] = self.parts[parent][node.params["index"]]
        return True

    def read_number(self, node: Node) -> bool:
        src, *table = node.args
        if "yields" not in node.params:
            return False  # nobody asks for the number
        assert isinstance(src, Node)
        tables = [self.registers[one] for one in table if isinstance(one, Node)] or [-1]
        of = node.params.get("of", abi.READ_SCALAR)
        self.steps.append(Read(self.registers[src], node.params["yields"], of, tables[0]))
        return True

    def take(self, node: Node) -> bool:
        target, *places = self.operands(node.args)
        self.steps.append(Take(self.register(node), target.index, node.params["kind"], tuple(places)))
        return True

    def take_scalar(self, node: Node) -> bool:
        (one,) = self.operands(node.args)
        places = (int(node.params["dtype"].num),)
        self.steps.append(Take(self.register(node), one.index, abi.TAKE_SCALAR, places))
        return True

    def take_array(self, node: Node) -> bool:
        one, *sizes = self.operands(node.args)
        places = (int(node.params["dtype"].num), *sizes)
        self.steps.append(Take(self.register(node), one.index, abi.TAKE_ARRAY, places))
        return True

    def take_numbers(self, node: Node) -> bool:
        one, size = self.operands(node.args)
        places = (int(node.params["dtype"].num), size)
        self.steps.append(Take(self.register(node), one.index, abi.TAKE_NUMBERS, places))
        return True

    def join(self, node: Node) -> bool:
        one, other = self.operands(node.args)
        self.steps.append(Take(self.register(node), one.index, abi.TAKE_JOINED, (other,)))
        return True

    def hold(self, node: Node) -> bool:
        self.constants.append((self.register(node), node.params["value"].object))
        return True

    def view(self, node: Node) -> bool:
        (src,) = node.args
        assert isinstance(src, Node)
        params = _VIEW_PARAMS[node.op](node)
        source = src.array_type
        if node.op == "reshape" and not self.reshapes_freely(src, node):
            return False
        self.steps.append(
            View(
                self.register(node), self.registers[src], node.op, params, node.array_type.scalar and not source.scalar
            )
        )
        return True

    def reshapes_freely(self, src: Node, node: Node) -> bool:
        """Whether a reshape never needs a copy: it splits axes, and adds or removes axes of 1, or its operand is
        contiguous."""
        old, new = ([dim for dim in n.array_type.shape if dim != 1] for n in (src, node))
        return self.splits(old, new) or self.is_c_contiguous(src)

    def splits(self, old: list[Dim], new: list[Dim]) -> bool:
        """Whether each axis of `old` is some axes of `new` that follow each other."""
        if not old:
            return not new
        last = len(new) - len(old) + 1  # of the axes that the first one may become
        for count in range(1, last + 1):
            same = self.graph.facts.decide(make("eq", old[0], product(new[:count])))
            if same and self.splits(old[1:], new[count:]):
                return True
        return False

    def is_c_contiguous(self, node: Node) -> bool:
        if node.kind is NodeKind.CONSTANT:
            return bool(node.params["value"].flags.c_contiguous)
        if node.kind is not NodeKind.CALL:
            return False
        if node.op == "reshape":
            source = node.args[0]
            return isinstance(source, Node) and self.is_c_contiguous(source)
        kind = REGISTRY[node.op].kind
        if kind is OpKind.CREATION and node.op in ("empty", "zeros", "full"):
            return node.params["order"] == "C" or node.array_type.ndim <= 1
        if kind is OpKind.ELEMENTWISE:
            return sum(dim != 1 for dim in result_type(node).shape) <= 1
        return False

    def count_mask(self, node: Node) -> bool:
        (mask,) = node.args
        assert isinstance(mask, Node)
        if any(other.op in ("masked", "put_masked") and other.args[1] is mask for other in self.graph.nodes):
            self.places[mask] = self.fresh()
        self.steps.append(self.masked("count", mask, node.params["yields"][0]))
        return True

    def masked(self, kind: str, mask: Node, count: Scalar, src: int = -1, value: int = -1, dst: int = -1) -> Masked:
        return Masked(kind, self.registers[mask], count, src, value, dst, self.places.get(mask, -1))

    def get(self, node: Node) -> bool:
        x, mask, count = node.args
        assert isinstance(x, Node) and isinstance(mask, Node) and not isinstance(count, Node)
        self.steps.append(self.masked("get", mask, count, self.registers[x], dst=self.register(node)))
        return True

    def require(self, node: Node) -> bool:
        (condition,) = node.args
        assert not isinstance(condition, Node)
        self.steps.append(Require(condition))
        return True

    def error_state(self, node: Node) -> bool:
        self.steps.append(Errors(**node.params))
        return True

    def new_container(self, node: Node) -> bool:
        if node.params["kind"] is Objects:
            self.steps.append(New(self.register(node), is_table=True, firsts=self.operands(node.args)))
            return True
        value, count = map(self.operand, node.args) if node.args else (None, None)
        self.steps.append(New(self.register(node), node.params["kind"] is dict, value, count))
        return True

    def put_item(self, node: Node) -> bool:
        """An append, or a store under the first operand after the list."""
        target, *operands = self.operands(node.args)
        values, tagged = operands[: count_untagged(node) - 1], operands[count_untagged(node) - 1 :]
        table, *tags = tagged or (Reg(-1),)
        key = values.pop(0) if node.op == "put_item" else None
        self.steps.append(
            Put(
                target.index,
                tuple(values),
                node.params["packed"],
                key,
                table.index,
                tuple(tags),
                node.params.get("of_list", False),
            )
        )
        return True

    def put(self, node: Node, register: int) -> None:
        """Write the values of a put_masked into the array in `register`."""
        _, mask, count, value = node.args
        assert isinstance(mask, Node) and isinstance(value, Node) and not isinstance(count, Node)
        self.steps.append(self.masked("put", mask, count, register, self.registers[value]))

    def compute(self, node: Node, register: int) -> None:
        """Have NumPy compute a ufunc_out into the array in `register`."""
        keywords = {key: value for key, value in node.params.items() if key not in ("ufunc", "where")}
        function, operands = node.params["ufunc"], self.operands(node.args[1:])
        if node.params.get("where"):
            operands, keywords["where"] = operands[:-1], operands[-1]
        self.steps.append(Call((), (), function, operands, (*keywords.items(), ("out", Reg(register)))))

    def put_index(self, node: Node, register: int) -> None:
        """Have NumPy store by index arrays into the array in `register`."""
        value, *indices = self.operands(node.args[1:])
        if node.params["index"] == tuple(("arg", place + 1) for place in range(len(indices))):
            key = indices[0] if len(indices) == 1 else tuple(indices)
            store = node.params["ufunc"].at if "ufunc" in node.params else operator.setitem
            self.steps.append(Call((), (), store, (Reg(register), key, value)))
            return
        operands = (Reg(register), *self.operands(node.args[1:]))
        self.steps.append(Call((), (), put_index, operands, tuple(node.params.items())))

    def alloc(self, node: Node) -> bool:
        type_ = node.array_type
        fill: Any = None
        if node.op == "zeros":
            fill = 0
        elif node.op == "full":
            (fill,) = node.args
            if isinstance(fill, Node) or is_symbolic(fill) or type(fill) is not int:
                return False
        self.steps.append(Alloc(self.register(node), type_.dtype, type_.shape, fill, node.params["order"]))
        return True

    def alloc_like(self, node: Node) -> bool:
        like, *rest = node.args
        assert isinstance(like, Node)
        fill = rest[0] if rest else None
        if like.array_type.scalar or (rest and type(fill) is not int):
            return False
        type_, operand = node.array_type, Reg(self.registers[like])
        self.steps.append(Alloc(self.register(node), type_.dtype, type_.shape, fill, "K", (operand,)))
        return True

    def alloc_bordered(self, node: Node) -> bool:
        like = tuple(Reg(self.registers[arg]) for arg in node.args if isinstance(arg, Node))
        type_ = node.array_type
        self.steps.append(Alloc(self.register(node), type_.dtype, type_.shape, None, "common", like))
        return True

    # The end

    def finish(self, is_body: bool) -> Schedule:
        changed = {origin for _, target in self.writes for origin in origins(target)}
        kept = -1 if is_body else self.protect_inputs()
        steps, outputs = tuple(self.steps), tuple(map(self.output, self.graph.outputs))
        types = {register: node.type for node, register in self.registers.items()}
        blocks = () if is_body else find_blocks(steps, outputs, types, self.graph.facts)
        return Schedule(
            len(self.graph.inputs),
            self.count,
            tuple(self.graph.symbols.values()),
            tuple(self.constants),
            steps,
            outputs,
            tuple(sorted(node.params["index"] for node in changed if node.kind is NodeKind.INPUT)),
            blocks=blocks,
            kept=kept,
        )

    def output(self, arg: Any) -> Operand:
        """What the program hands out. A number that is an input's own is that very object, so that one out of a NumPy
        scalar is computed."""
        is_own = isinstance(arg, Symbol) and arg.axis is None and arg.input >= 0
        if is_own and isinstance(self.graph.inputs[arg.input], Node):
            return ScalarOp("add", arg.kind, (arg, 0))
        return self.operand(arg)

    def protect_inputs(self) -> int:
        """Put a Save before the first write into each input whose write may have to be undone; the number of the first
        write that has none, or -1."""
        first: dict[Node, tuple[int, list[Node]]] = {}
        for step, target in self.writes:
            for origin in origins(target):
                if origin.kind is NodeKind.INPUT:
                    first.setdefault(origin, (step, []))[1].append(target)
        saves: list[tuple[int, int]] = []
        views: dict[int, View] = {}
        shapes = {reg: node.type.shape for node, reg in self.registers.items() if isinstance(node.type, ArrayType)}
        declines = (i for i, step in enumerate(self.steps) if may_decline(step, self.target, shapes))
        last_decline = max(declines, default=-1)
        if any(node.op == "draw" for node in self.graph.nodes):
            last_decline = len(self.steps)  # the user's generator may have moved on meanwhile
        kept = -1
        for source, (step, targets) in first.items():
            if last_decline >= step:
                single = all(target is targets[0] for target in targets) and root(targets[0]) is source
                register = self.registers[targets[0] if single else source]
                part = None if single and targets[0] is not source else self.part_written(source)
                if part is not None:
                    view = View(self.fresh(), register, "basic_index", part)
                    views[view.dst], register = view, view.dst
                saves.append((step, register))
            else:
                kept = step if kept < 0 else min(kept, step)
        for step, register in sorted(saves, reverse=True):
            self.steps[step:step] = [*filter(None, (views.get(register),)), Save(register)]
        return -1 if kept < 0 else kept + sum((step <= kept) * (1 + (register in views)) for step, register in saves)

    def part_written(self, source: Node) -> tuple[Any, ...] | None:
        """The index of the part of an input that alone is written, where it is one that the inputs tell."""
        inputs = {name for name, symbol in self.graph.symbols.items() if symbol.input >= 0}
        part = part_written(self.graph, source) or ()
        index = tuple(FULL if one is None or not symbols_of(one) <= inputs else one for one in part)
        return None if index == (FULL,) * len(index) else index


def may_decline(step: Step, target: Target, shapes: Mapping[int, tuple[Dim, ...]]) -> bool:
    """Whether a step may decline after steps before it have run. shapes: of what registers hold."""
    if isinstance(step, Map):
        return _kernel_declines(step, target, shapes, fresh=not all(step.into))
    if isinstance(step, Reduce):
        some = all(isinstance(step.shape[axis], int) and step.shape[axis] for axis in step.axes)
        raises = step.ufunc.identity is None and not some  # of nothing
        return _kernel_declines(step, target, shapes, fresh=True) or step.dtype.kind not in "biu" or raises
    if isinstance(step, View):
        integers = [entry for entry in step.params if not isinstance(entry, tuple) and entry is not None]
        return step.kind == "reshape" or (step.kind == "basic_index" and bool(integers))
    if isinstance(step, Alloc):
        return step.order == "common"  # of arrays that lie in different orders
    return not isinstance(step, Save | Leave | Masked | New)


def _kernel_declines(
    step: Map | Reduce, target: Target, shapes: Mapping[int, tuple[Dim, ...]], fresh: bool
) -> bool:
    """Whether a kernel may report something, read a number that its dtype cannot hold, or an array that is reversed, or
    make one whose memory order nobody can tell (csrc/program/layout.c): that of one array of its shape is known."""
    kernel = step.kernel
    if kernel_reports(kernel, target) or any(op.forward for op in kernel.ops):
        return True
    numbers = zip(step.operands, kernel.operand_dtypes, strict=True)
    if any(is_symbolic(operand) and dtype.kind in "biu" for operand, dtype in numbers):
        return True
    read = [shapes.get(operand.index) for operand in step.operands if isinstance(operand, Reg)]
    return fresh and len(step.shape) > 1 and read != [step.shape]


_VIEW_PARAMS: dict[str, Callable[[Node], tuple[Any, ...]]] = {
    "basic_index": lambda node: node.params["index"],
    "transpose": lambda node: node.params["axes"],
    "reshape": lambda node: node.params["shape"] if -1 in node.params["shape"] else node.array_type.shape,
    "broadcast_to": lambda node: node.array_type.shape,
    "real": lambda node: (),
    "imag": lambda node: (),
    "diagonal": lambda node: (*node.params["axes"], node.params["offset"], int(node.params["writeable"])),
}
_IN_PLACE: dict[str, Callable[[_Emitter, Node, int], None]] = {
    "put_masked": _Emitter.put,
    "ufunc_out": _Emitter.compute,
    "put_index": _Emitter.put_index,
}
_SINGLE: dict[str, Callable[[_Emitter, Node], bool]] = {
    **dict.fromkeys(_VIEW_PARAMS, _Emitter.view),
    **dict.fromkeys(("empty", "zeros", "full"), _Emitter.alloc),
    **dict.fromkeys(("empty_like", "full_like"), _Emitter.alloc_like),
    **dict.fromkeys(("empty_bordered", "require_order"), _Emitter.alloc_bordered),
    "tuple_get": _Emitter.tuple_get,
    "count_true": _Emitter.count_mask,
    "masked": _Emitter.get,
    "require": _Emitter.require,
    "error_state": _Emitter.error_state,
    "new_container": _Emitter.new_container,
    **dict.fromkeys(("append", "put_item"), _Emitter.put_item),
    **dict.fromkeys(("scalar_number", "object_number"), _Emitter.read_number),
    "list_take": _Emitter.take,
    "held_object": _Emitter.hold,
    "list_join": _Emitter.join,
    "object_scalar": _Emitter.take_scalar,
    "object_array": _Emitter.take_array,
    "list_array": _Emitter.take_numbers,
}

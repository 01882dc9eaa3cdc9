"""Makes the nodes of random draws: single numbers, and arrays of them (ops/variates.py says of which distributions).

%r: float64 = draw(%rng, method=random)  ->  c1 = alloc; call draw(a0, 0, 0.0, 0.0, c1, 1); v2 = load c1[]
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.graph.scalar import is_scalar
from dynamo_lite.ops import draws, variates
from dynamo_lite.program.build_lists import ListBuilder
from dynamo_lite.program.build_numbers import FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import Array, Frame, NumpyScalar, Random
from dynamo_lite.program.ir import Alloc, Memref, Value
from dynamo_lite.schedule.steps import Alloc as AllocStep
from dynamo_lite.schedule.steps import Call, Reg


class DrawBuilder(ListBuilder):
    """Random draws beside all else."""

    def call(self, step: Call, frame: Frame) -> None:
        generator = frame.registers.get(step.args[0].index) if step.args and isinstance(step.args[0], Reg) else None
        if isinstance(generator, Random):
            self.draw(step, generator, frame)
        else:
            super().call(step, frame)

    def draw(self, step: Call, generator: Random, frame: Frame) -> None:
        """Numbers of one of the distributions that csrc/random/variates.c has."""
        kind, (type_,) = variates.kind_of(step.function), step.types
        chosen = self.chosen(step, frame)
        dtype = INT64 if kind in variates.OF_INTS else FLOAT64
        is_of_type = type_.dtype == (dtype if chosen is None else chosen.dtype) and _drawn_type(step, dtype) == dtype
        if kind is None or not is_of_type or step.yields:
            raise NotCompiled(f"a draw by {step.function}")
        weights = dict(step.kwargs).get("p")
        parameters = self.parameters(step, frame) if weights is None and kind != abi.DRAW_ORDER else ()
        if type_.shape:
            self.alloc(AllocStep(step.dsts[0], dtype, type_.shape), frame)
            array = frame.registers[step.dsts[0]]
            place, count = self.begin(array), self.total(array.sizes).value  # type: ignore[arg-type, union-attr]
        else:
            place, count = Memref(self.name("c"), dtype, (), (), "cell"), self.constant(INT64, 1)
            self.nodes.append(Alloc(place))
        if weights is not None:
            self.weighted(step, generator, self.array(weights, frame), place, count, frame)
        elif kind == abi.DRAW_ORDER:
            self.integer(_given(step, ("x",))["x"], frame)  # not the elements of an array
            self.helper("draw_order", (generator.value, place, count), failure=abi.RETURNED_DRAW)
        elif kind == abi.DRAW_INTEGERS:
            self.helper("draw_integers", (generator.value, *parameters, place, count), failure=abi.RETURNED_DRAW)
        else:
            what = self.constant(INT64, kind)
            self.helper("draw", (generator.value, what, *parameters, place, count), failure=abi.RETURNED_DRAW)
        if type_.shape and chosen is not None:
            places = (step.args[1], Reg(step.dsts[0]))
            self.gather(replace(step, function=operator.getitem, args=places, kwargs=()), frame)
        if not type_.shape:
            number = self.load(place)
            if chosen is not None:
                number = self.load(self.shown(self.memref(chosen), (), (), (number,)))
            frame.registers[step.dsts[0]] = self.fresh(number)

    def weighted(
        self, step: Call, generator: Random, weights: Array, place: Memref, number: Value, frame: Frame
    ) -> None:
        """So many positions by weights, of which there are as many as there is to choose from."""
        given, chosen = _given(step, ("a", "p")), self.chosen(step, frame)
        if not variates.is_weighted(step.function):
            raise NotCompiled("a draw with other arguments")
        if weights.dtype != FLOAT64 or len(weights.sizes) != 1:
            raise NotCompiled("weights of another type")
        count = chosen.sizes[0] if chosen is not None else self.integer(given["a"], frame)
        size = weights.sizes[0]
        self.decline_if(self.op("not_equal", size.value, count.value), abi.RETURNED_DRAW)
        words = (generator.value, self.begin(weights), size.value, weights.strides[0], place, number)
        self.helper("draw_weighted", words, failure=abi.RETURNED_DRAW)

    def chosen(self, step: Call, frame: Frame) -> Array | None:
        """The array of which an element is chosen."""
        method, given = draws.find(step.function), step.args[1:2]
        of_array = method is not None and method.name == "choice" and given and isinstance(given[0], Reg)
        register = self.register(given[0].index, frame) if of_array else None
        if register is None or isinstance(register, NumpyScalar):
            return None
        if not isinstance(register, Array) or len(register.sizes) != 1:
            raise NotCompiled("a choice among other than elements of a vector")
        return register

    def parameters(self, step: Call, frame: Frame) -> tuple[Value, Value]:
        """The two parameters of a distribution, as it takes them."""
        method = draws.find(step.function)
        assert method is not None
        kind, names = variates.KINDS[method.name]
        given = _given(step, (*[name for name, _ in names], "endpoint"))
        ends = given.get("endpoint", False)
        if method.name == "choice":
            chosen = self.chosen(step, frame)
            count = chosen.sizes[0] if chosen is not None else self.integer(given["a"], frame)
            return self.constant(INT64, 0), count.value
        if kind == abi.DRAW_INTEGERS:
            low, high = (0, given["low"]) if "high" not in given else (given["low"], given["high"])
            first, last = self.integer(low, frame), self.integer(high, frame)
            return first.value, self.integer_op("add", (last, self.exactly(1))).value if ends else last.value
        values = []
        for name, default in names:
            if name in variates.WHOLE.get(kind, ()):
                values.append(self.cast(self.integer(given[name], frame).value, FLOAT64))
            else:
                values.append(self.parameter(given.get(name, default), frame))
        return tuple([*values, *[self.constant(FLOAT64, 0.0)] * 2][:2])  # type: ignore[return-value]

    def parameter(self, given: Any, frame: Frame) -> Value:
        """A float."""
        if isinstance(given, Reg):
            value = self.scalar(given, frame).value
            if value.dtype.kind not in "iuf" or value.dtype.itemsize > 8:
                raise NotCompiled("a parameter that is no number")
            return self.cast(value, FLOAT64)
        number = self.number(given, frame)
        if number.kind == "bool":
            raise NotCompiled("a parameter that is no number")
        return self.convert(number, FLOAT64)

    def integer(self, given: Any, frame: Frame) -> Number:
        """An int."""
        number = self.read(self.scalar(given, frame).value) if isinstance(given, Reg) else None
        if number is None and is_scalar(given):
            number = self.number(given, frame)
        if number is None or number.kind != "int":
            raise NotCompiled("a bound that is no int")
        return number


def _drawn_type(step: Call, usual: np.dtype[Any]) -> np.dtype[Any]:
    """What a draw is asked to be drawn as. NB: a single float32 comes as a Python float, as a float64 does."""
    asked = dict(step.kwargs).get("dtype")
    return usual if asked is None else np.dtype(asked)


def _given(step: Call, names: Collection[str]) -> dict[str, Any]:
    """What a draw is given, by name; not compiled where it is more than these, and what the result's type tells."""
    method = draws.find(step.function)
    assert method is not None
    given = dict(zip(method.operands, step.args[1:], strict=False)) | dict(step.kwargs)
    for name in ("size", "dtype", "shuffle"):  # of a single one nothing hangs on whether they are shuffled
        given.pop(name, None)
    others = given.pop("replace", True) is not True or given.pop("axis", 0) != 0
    if others or set(given) - set(names) or type(given.get("endpoint", False)) is not bool:
        raise NotCompiled("a draw with other arguments")
    return given

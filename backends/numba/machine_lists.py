"""Writes the appends of machine loops: a NumPy scalar, an array or a number becomes an object and goes into a list.

Enters an Put step and the Frame of its body; leaves a call of csrc/machine.c, or NotScalar. What is appended and
also handed on has to be that very object: a value that the body has just computed may be handed on by it, once, with an
origin that says which append has made its object; behind the loop that is the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.machine_numbers import FLOAT64, NotScalar, Number
from dynamo_lite.backends.numba.machine_steps import Array, Frame, List, Value
from dynamo_lite.backends.numba.machine_vectors import MOST_AXES, VectorWriter

from dynamo_lite._C import abi
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.schedule.steps import Put, Reg

PYTHON_TYPES = {"int": abi.PYTHON_INT, "float": abi.PYTHON_FLOAT, "bool": abi.PYTHON_BOOL}


class ListWriter(VectorWriter):
    """appended: the names of the NumPy scalars and arrays that lists get. copied: the bases of arrays of which there
    are two copies, in place of one object. phis: what each that is handed on may be. finals: what
    loops hand on."""

    def __init__(self, words: int, strict: bool) -> None:
        super().__init__(words, strict)
        self.appends = 0
        self.appended: set[str] = set()
        self.phis: dict[str, frozenset[str]] = {}
        self.finals: list[Value] = []
        self.copied: set[int | None] = set()

    def append(self, step: Put, frame: Frame) -> None:
        """Append a NumPy scalar of this iteration, or a number."""
        target = frame.registers.get(step.list)
        if not isinstance(target, List) or step.packed is not None or step.key is not None:
            raise NotScalar("a list of its own")
        (appended,) = step.values
        if isinstance(appended, Reg) and isinstance(frame.registers.get(appended.index), Array):
            self.append_array(target, appended, frame)
            return
        if self.appends == abi.MOST_APPENDS:
            raise NotScalar("too many appends")
        site = self.appends
        self.appends += 1
        if isinstance(appended, Reg):
            value = self.scalar(appended, frame)
            frame.registers[appended.index] = self.own(value, appended, frame, site)
            kind, bits = int(value.dtype.num), self.bits(scalar_type(value.dtype), value.name)
        elif is_symbolic(appended):
            number = self.number(appended, frame)
            kind, bits = PYTHON_TYPES[number.kind], self.number_bits(number)
        else:
            raise NotScalar("a constant")
        code = site << abi.APPEND_TYPE_BITS | kind
        failed = self.helper("append", "i32", f"ptr %block, ptr {target.name}, i64 {code}, i64 {bits}")
        self.lines.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), "failed")

    def own(self, value: Value, appended: Reg, frame: Frame, site: int) -> Value:
        """A value of this iteration that a list gets now."""
        is_here = appended.index >= frame.n_inputs  # not outside of an if or an inner loop, which may not append it
        if not is_here or value.makers != {value.name} or value.name in self.appended or value.origin != "0":
            raise NotScalar("an object that there is already")
        self.appended.add(value.name)
        return replace(value, origin=str(abi.FIRST_ORIGIN + site))

    def append_array(self, target: List, appended: Reg, frame: Frame) -> None:
        """Append an array that a step of this iteration has made."""
        array = frame.registers[appended.index]
        assert isinstance(array, Array)
        if array.held is None or array.ordered is None or array.room is None or array.dtype.kind not in "biufc":
            raise NotScalar("an array that lies elsewhere")
        if self.appends == abi.MOST_APPENDS:
            raise NotScalar("too many appends")
        site = self.appends
        self.appends += 1
        held = self.own(array.held, appended, frame, site)
        frame.registers[appended.index] = replace(array, held=held)
        self.copied.add(array.base)
        sizes = [size.name for size in array.sizes] + ["1"] * (MOST_AXES - len(array.sizes))
        code = site << abi.APPEND_TYPE_BITS | int(array.dtype.num)
        words = f"i64 {len(array.sizes)}, " + ", ".join(f"i64 {size}" for size in sizes)
        words = f"ptr %block, ptr {target.name}, i64 {code}, ptr {array.pointer}, {words}"
        failed = self.helper("append_array", "i32", words)
        self.lines.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), "failed")

    def bits(self, kind: str, name: str) -> str:
        """A value's bits as an i64."""
        lines, whole = self.lines, {"double": "i64", "float": "i32"}.get(kind, kind)
        if whole != kind:
            name = lines.do(f"bitcast {kind} {name} to {whole}")
        return name if whole == "i64" else lines.do(f"zext {whole} {name} to i64")

    def number_bits(self, number: Number) -> str:
        """The same of a Python number; declines where it is NaN, since C and Python need not keep the same one."""
        if number.kind == "float":
            self.lines.decline_if(self.lines.is_nan(FLOAT64, number.name), "number")
        return self.bits({"int": "i64", "float": "double", "bool": "i1"}[number.kind], number.name)

    def may_be(self, makers: Iterable[str]) -> set[str]:
        """The names of all values, and phis, that one with these makers may be."""
        found: set[str] = set()
        work = list(makers)
        while work:
            name = work.pop()
            if name not in found:
                found.add(name)
                work += self.phis.get(name, ())
        return found

    def require_own_objects(self) -> None:
        """What lists get is handed on by the iteration that has computed it alone."""
        for final in self.finals:
            shared = self.may_be(final.makers) & self.appended
            if shared and shared != {final.name}:
                raise NotScalar("an object of an earlier iteration, which a list has got")


__all__ = ["ListWriter"]

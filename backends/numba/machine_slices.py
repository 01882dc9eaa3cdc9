"""Slices of an axis in machine loops: where one begins and how many elements it has, as Python's slices say.

Enters bounds as Numbers and the axis's size; leaves Numbers, their lines written. The rules are those of
PySlice_AdjustIndices, which csrc/views.c calls.
"""

from __future__ import annotations

from dynamo_lite.backends.numba.machine_numbers import NotScalar, Number, NumberWriter


def constant(value: int) -> Number:
    return Number("int", str(value), value, value)


def slice_axis(
    writer: NumberWriter, size: Number, start: Number | None, stop: Number | None, by: int
) -> tuple[Number, Number]:
    """The first place and the number of elements."""
    if not by or abs(by) > 1 << 31:
        raise NotScalar("a slice with such a step")
    if by > 0:
        first = constant(0) if start is None else _bound(writer, start, size, 0)
        end = size if stop is None else _bound(writer, stop, size, 0)
        return first, _count(writer, first, end, by, size.most)
    behind = writer.integer_op("sub", [size, constant(1)])
    first = behind if start is None else _bound(writer, start, size, -1)
    end = constant(-1) if stop is None else _bound(writer, stop, size, -1)
    return first, _count(writer, end, first, -by, size.most)


def _bound(writer: NumberWriter, bound: Number, size: Number, least: int) -> Number:
    """A bound counted from the begin, between `least` and as far from the size."""
    if bound.kind != "int":
        raise NotScalar("a bound of a slice that is no int")
    lines = writer.lines
    if bound.least < 0:
        behind = lines.do(f"add i64 {bound.name}, {size.name}")
        negative = lines.do(f"icmp slt i64 {bound.name}, 0")
        name = lines.do(f"select i1 {negative}, i64 {behind}, i64 {bound.name}")
        bound = writer.integer_op("max", [Number("int", name, most=max(bound.most, size.most)), constant(least)])
    most = writer.integer_op("add", [size, constant(least)]) if least else size
    return writer.integer_op("min", [bound, most])


def _count(writer: NumberWriter, low: Number, high: Number, by: int, most: int) -> Number:
    """How many numbers there are from low up to high, `by` apart."""
    lines = writer.lines
    name = lines.do(f"sub i64 {high.name}, {low.name}")  # of numbers between -1 and a size
    if low.most > high.least:
        name = lines.do(f"call i64 @llvm.smax.i64(i64 {name}, i64 0)")
        lines.declarations.add("declare i64 @llvm.smax.i64(i64, i64)")
    if by != 1:
        name = lines.do(f"udiv i64 {lines.do(f'add i64 {name}, {by - 1}')}, {by}")
    return Number("int", name, 0, most)

"""The byte tables of a code object: instructions, source locations and exception handlers, as CPython 3.11+ reads them.

Enters: native instructions with their sizes in code units, protected ranges in code units. Leaves: ``co_code``,
``co_linetable`` and ``co_exceptiontable``. The formats stand in CPython's Objects/locations.md and
Objects/exception_handling_notes.txt (InternalDocs/ from 3.14 on); they are the same from 3.11 to 3.14.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamo_lite.pycode.code import Position

_LONGEST = 8  # code units that one entry of the location table covers
_ONE_LINE, _NO_COLUMNS, _LONG, _NONE = 10, 13, 14, 15  # forms of entries; 0 to 9 are the short ones


def location_table(spans: Iterable[tuple[Position, int]], firstlineno: int) -> bytes:
    """co_linetable of spans (position, length in code units) that follow one another."""
    table = bytearray()
    line = firstlineno
    joined: list[list[Any]] = []
    latest: object = None
    for position, length in spans:
        if position is latest or position == latest:
            joined[-1][1] += length
        else:
            joined.append([position, length])
            latest = position
    for position, length in joined:
        while length > _LONGEST:
            length -= _LONGEST
            line = _location(table, position, _LONGEST - 1, line)
        line = _location(table, position, length - 1, line)
    return bytes(table)


def _location(table: bytearray, position: Position, length: int, line: int) -> int:
    """Append one entry; the line that the next one counts from."""
    begin, end, column, end_column = position
    if begin is None:
        table.append(0x80 | _NONE << 3 | length)
        return line
    delta = begin - line
    if end is None:
        end = begin
    if column is None or end_column is None:
        if end == begin:
            table.append(0x80 | _NO_COLUMNS << 3 | length)
            _signed(table, delta)
            return begin
        column = end_column = -1
    elif end == begin:
        if delta == 0 and column < 80 and 0 <= end_column - column < 16:
            table += bytes((0x80 | column >> 3 << 3 | length, (column & 7) << 4 | end_column - column))
            return begin
        if 0 <= delta < 3 and column < 128 and end_column < 128:
            table += bytes((0x80 | _ONE_LINE + delta << 3 | length, column, end_column))
            return begin
    table.append(0x80 | _LONG << 3 | length)
    _signed(table, delta)
    for number in (end - begin, column + 1, end_column + 1):
        _unsigned(table, number)
    return begin


def _unsigned(table: bytearray, number: int) -> None:
    """Six bits a byte, the lowest first."""
    while number >= 64:
        table.append(0x40 | number & 0x3F)
        number >>= 6
    table.append(number)


def _signed(table: bytearray, number: int) -> None:
    _unsigned(table, -number << 1 | 1 if number < 0 else number << 1)


def exception_table(entries: Iterable[tuple[int, int, int, int, bool]]) -> bytes:
    """co_exceptiontable of ranges (start, end, target, depth, lasti), in code units."""
    table = bytearray()
    for start, end, target, depth, lasti in entries:
        first = len(table)
        for number in (start, end - start, target, depth << 1 | lasti):
            _big_endian(table, number)
        table[first] |= 0x80
    return bytes(table)


def _big_endian(table: bytearray, number: int) -> None:
    """Six bits a byte, the highest first."""
    shift = max(0, (number.bit_length() - 1) // 6 * 6)
    while shift:
        table.append(0x40 | number >> shift & 0x3F)
        shift -= 6
    table.append(number & 0x3F)


def protected_ranges(table: bytes) -> list[tuple[int, int, int, int, bool]]:
    """What `exception_table` made a co_exceptiontable of: start, end, target, depth, lasti."""
    found, number = [], 0
    entry: list[int] = []
    for byte in table:
        number = number << 6 | byte & 0x3F
        if byte & 0x40:
            continue
        entry.append(number)
        number = 0
        if len(entry) == 4:
            start, length, target, rest = entry
            found.append((start, start + length, target, rest >> 1, bool(rest & 1)))
            entry = []
    return found


def shifted_exceptions(table: bytes, units: int) -> bytes:
    """co_exceptiontable, where so many code units come before all that it protects."""
    if not table:
        return table
    return exception_table(
        (start + units, end + units, target + units, depth, lasti)
        for start, end, target, depth, lasti in protected_ranges(table)
    )

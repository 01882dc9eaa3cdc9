"""Strings from outside in loops: characters compared and counted by native code, whatever string it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, loops_left, registry, rng
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def text(count: int, letters: str = "ACGT") -> str:
    return "".join(rng(count).choice(list(letters), count))


def pair(count: int, size: int) -> tuple[Any, ...]:
    return text(count + 2), text(size)


@case(pair)
def edits(a, b):  # type: ignore[no-untyped-def]
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


@case(lambda count, size: (text(count + 2, "ACé"), text(count + 2, "AŁ😀"), np.zeros((count + 2, 7))))
def every_comparison(a, b, out):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        out[i, 0] = a[i] == b[i]
        out[i, 1] = a[i] != b[i]
        out[i, 2] = a[i] < b[i]
        out[i, 3] = a[i] >= "B"
        out[i, 4] = "A" == a[i]  # noqa: SIM300
        out[i, 5] = a[i] == "AB"
        out[i, 6] = a[i] != 65
    return out


@case(lambda count, size: (text(count + 2, "xACy"), np.zeros(count + 2)))
def among(s, out):  # type: ignore[no-untyped-def]
    for i in range(len(s)):
        if s[i] in "ACGT":
            out[i] = 1.0
        elif s[i] not in ("x", "zz"):
            out[i] = 2.0
    return out


@case(lambda count, size: (text(count + 2, "aŁ😀z"), np.zeros(count + 2)))
def numbers(s, out):  # type: ignore[no-untyped-def]
    for i in range(len(s)):
        c = s[-1 - i]
        out[i] = ord(c) - 97 if c != "z" else -1
    return out


@case(lambda count, size: (text(count + 2).encode() + b"\xff\x00", np.zeros(count + 4, np.int64)))
def of_bytes(b, out):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(b)):
        total = total * 31 + b[i]
        out[i] = b[i] * 2
        total = total % 1000003
    return total


@case(lambda count, size: (text(count + 2), rng(count).integers(0, 2, 5)))
def by_elements(s, places):  # type: ignore[no-untyped-def]
    same = 0
    for i in range(len(places)):
        if s[places[i]] == s[0]:
            same += 1
    return same


@case(lambda count, size: (text(count + 12, "ACGTé"), np.zeros(4)))
def letters(s, out):  # type: ignore[no-untyped-def]
    for c in s:
        if c == "A":
            out[0] += 1
        elif c in "CG":
            out[1] += 1
        else:
            out[2] += 1
    return out


@case(lambda count, size: (text(count + 12), text(count + 9)))
def two_texts(a, b):  # type: ignore[no-untyped-def]
    same, places = 0, []
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x == y:
            same += i
        else:
            places.append(i)
    return same, places, sum(1 for c in a if c in "GC"), max(ord(c) for c in b)


@case(lambda count, size: (text(count + 12), text(count + 10)))
def distance(a, b):  # type: ignore[no-untyped-def]
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        now = [i + 1]
        for j, y in enumerate(b):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (x != y)))
        before = now
    return before[-1]


@case(lambda count, size: (text(count + 12).encode() + b"\xff\x00",))
def of_all_bytes(b):  # type: ignore[no-untyped-def]
    total = 0
    for one in b:
        total = (total * 31 + one) % 1000003
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_texts(name: str, backend: str) -> None:
    one = CASES[name]
    report = compared(one, backend, calls=3)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert {loop.outcome for loop in report.compiled.explain().loops} == {"native"}, report.compiled.explain()
    assert backend == "reference" or machines_of(report.compiled), report.compiled.explain()


def test_one_version_serves_all_strings_of_a_width() -> None:
    fast = dynamo_lite.compile(edits, options=OPTIONS)
    for count in range(2, 30):
        assert fast(text(count), text(31 - count)) == edits(text(count), text(31 - count))
    assert fast.stats()["compiles"] == 1
    fast("ACŁ", "AC")
    assert fast.stats()["compiles"] == 2


def returned(s, x):  # type: ignore[no-untyped-def]
    for i, c in enumerate(s):
        if c == "T":
            return i, c, x * 2.0
    return x


def repeated(s, x):  # type: ignore[no-untyped-def]
    before, count = None, 0
    for c in s:
        if before is not None and c == before:
            count += 1
        before = c
    return count, before, x + count


def looked_up(s, x):  # type: ignore[no-untyped-def]
    numbers = {"A": 1.0, "C": 2.0, "G": 3.0, "T": 4.0}
    return np.array([numbers[c] for c in s]) * x[0]


def joined(s, x):  # type: ignore[no-untyped-def]
    out = ""
    for c in s:
        out += c.lower() if x[0] > 0.0 else c
    return out, "".join(sorted(s)), list(s), tuple(s)[:2], [c for c in s][-1], x + 1.0  # noqa: C416


def begun(s, x):  # type: ignore[no-untyped-def]
    characters = iter(s)
    first, count = next(characters), 0
    for c in characters:
        if c == first:
            count += 1
            if count == 3:
                break
    return first, count, "".join(characters), x * count


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [returned, repeated, looked_up, joined, begun])
def test_characters_that_more_is_wanted_of(function: Any, backend: str) -> None:
    values = ["ACGTACGTTTGA", "AAAAAAAAACCCT", "GATTACA", "A", "AC" * 40, "CCCCCCCCCCCC"]
    require_equal(
        function,
        lambda: (values[0], np.ones(3)),
        variants=[lambda one=one, x=x: (one, np.full(3, x)) for one in values for x in (1.0, -1.0)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )


def carried(s, t, x):  # type: ignore[no-untyped-def]
    count = 0
    for a in s:
        for b in t:
            if a == b:
                count += 1
    return count, a, b, x + count


def unpacked(s, t, x):  # type: ignore[no-untyped-def]
    first, *others = s
    return first, others, [*t], "-".join(s), max(s), min(t), set(s), x + 1.0


def by_others(s, t, x):  # type: ignore[no-untyped-def]
    pairs = iter(s)
    numbered = enumerate(t)
    return list(zip(pairs, pairs, strict=False)), next(numbered), dict(zip(s, range(99), strict=False)), x + 1.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [carried, unpacked, by_others])
def test_other_uses_of_strings(function: Any, backend: str) -> None:
    values = ["ACGTACGTTTGA" * 3, "GATTACAGATTACA", "Łódź😀" * 4, "ACGT", "ACGTACGTTTGA" * 2]
    require_equal(
        function,
        lambda: (values[0], values[1], np.ones(3)),
        variants=[lambda s=s, t=t: (s, t, np.zeros(2)) for s in values for t in values[::2]],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )


@pytest.mark.parametrize("function", [returned, repeated, looked_up])
def test_where_no_loop_goes_by_characters_the_string_is_a_constant(function: Any) -> None:
    """As it would be without loops that go by them: no graph break more."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(2):
        assert repr(fast("ACGGACGATTGA", np.ones(3))) == repr(function("ACGGACGATTGA", np.ones(3)))
    assert not fast.explain().breaks, fast.explain()


class Odd(str):
    """A string whose items are others."""

    def __getitem__(self, index: Any) -> str:
        return "A"


@pytest.mark.parametrize(
    "other", ["", "A", Odd("ACGT"), b"ACGT", np.array(list("ACGT")), list("ACGT"), "A" * 100, None], ids=repr
)
def test_other_strings_than_those_compiled_for(other: Any) -> None:
    def count(s: Any, out: Any) -> Any:
        for i in range(len(s)):
            if s[i] == "A":
                out[i] += 1
        return out, s

    def make(s: Any) -> Any:
        return lambda: (s.copy() if isinstance(s, np.ndarray) else s, np.zeros(200))

    require_equal(
        count, make("ACGTA"), variants=[make(other)], compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )


def beyond(s, n):  # type: ignore[no-untyped-def]
    found = 0
    for i in range(n):
        if s[i] == "C":
            found += 1
    return found


def test_an_index_out_of_range_raises_what_python_raises() -> None:
    report = require_equal(
        beyond,
        lambda: ("ACCA", 4),
        variants=[lambda: ("ACCA", 5), lambda: ("", 1), lambda: ("", 0)],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
    assert report.raised.count("IndexError") == 4


def test_the_value_of_a_string_is_guarded_where_it_was_looked_at() -> None:
    def scaled(x: Any, unit: str, name: str) -> Any:
        x = x * (2.0 if unit == "m" else 3.0)
        return x + 1.0, name

    fast = dynamo_lite.compile(scaled, options=OPTIONS)
    x = np.ones(3)
    for name in map(str, range(20)):
        assert fast(x, "m", name)[1] is name
    assert fast.stats()["compiles"] == 1
    assert fast(x, "ft", "a")[0][0] == 4.0 and fast(x, "m", "a")[0][0] == 3.0
    assert fast.stats()["compiles"] == 2


@pytest.mark.parametrize("value", ["", "abc", "é", "Łódź", "a😀", b"", b"\x00\xff"])
def test_text_array(value: Any) -> None:
    array = _C.text_array(value)
    assert array is not None and array.base is value and not array.flags.writeable and array.flags.aligned
    assert array.tolist() == (list(value) if isinstance(value, bytes) else list(map(ord, value)))


@pytest.mark.parametrize("value", [None, 3, ["a"], bytearray(b"x"), Odd("a")])
def test_text_array_of_other_objects(value: Any) -> None:
    assert _C.text_array(value) is None


@pytest.mark.parametrize("name", CASES)
def test_texts_where_the_loop_is_left(name: str) -> None:
    one = CASES[name]
    with loops_left(3):
        report = compared(one, calls=3)
    assert report.stats["native_calls"]

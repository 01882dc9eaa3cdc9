"""Odd calls and statements are plain Python's, in result, exception, warnings and arrays written.

DYNAMO_LITE_FUZZ_ODD_CALLS sets how many are generated, DYNAMO_LITE_FUZZ_SEED the seed.
"""

from __future__ import annotations

import ast

import pytest

from tests.conftest import budget
from tests.fuzz.odd_calls import PARAMETERS, SHARES, generate, run, run_one, targets

SEED = budget("DYNAMO_LITE_FUZZ_SEED", 1)
COUNT = budget("DYNAMO_LITE_FUZZ_ODD_CALLS", 1500)


def test_a_seed_is_a_call() -> None:
    for index in range(500):
        source = generate(3, index)
        assert source == generate(3, index)
        ast.parse(source)


def test_every_kind_of_target_is_called() -> None:
    assert set(targets()) == set(SHARES) - {"statement"}
    assert all(targets().values())
    sources = "".join(generate(SEED, index) for index in range(COUNT))
    for word in ("casting=", "out=", "dtype=", "axis=", "keepdims=", "2**70", "order=", "subok=", "where=", ".reduce("):
        assert word in sources, word


def test_odd_calls_are_plain() -> None:
    summary = run(SEED, 0, COUNT)
    print(summary)
    assert not summary.differing, "\n".join(map(str, summary.differing))
    # Not vacuous: a good part runs natively, a good part raises.
    assert summary.native > 0.2 * COUNT
    assert 0.2 * COUNT < summary.raised < 0.8 * COUNT
    assert summary.unrepeatable < 0.02 * COUNT


FOUND = (
    # arguments that were taken by name and dropped, or half read
    *("np.add(a, b, o, out=None)", "np.add(a, b, None, out=o)", "np.add(a, b, out=(None,))"),
    *("np.add(a, b, subok=1)", "np.sqrt(a, subok=None)", "np.sqrt(a, sig=None)", "np.sqrt(a, signature=None)"),
    *("np.matmul(d, e, where=True)", "np.add.reduce(a, out=(None,))", "np.arctan2.reduce(a, out=(None,))"),
    *("np.matmul.reduce(a)", "a.sum([0])", "a.any([])", "np.any(a, [])", "a.any((), o)", "a.all(0, None, m)"),
    *("a.max([])", "i.view(None)", "a.view(type=None)", "np.array([1.0, x], copy=False)"),
    *("np.asarray([a, b], copy=False)", "np.array(n, copy=False)", "np.array(a, ndmin=-1)"),
    *("np.sort(a, kind='stable', stable=True)", "np.sort(a, kind=0)", "np.partition(a, 1, name='x')"),
    *("np.empty_like(a=a)", "np.tril(d, name='triu')", "d.repeat(repeats=2)", "a.searchsorted(v=b)"),
    *("c.round(out=o)", "np.round(a[1], 0, o)", "np.ndarray.clip(s)", "np.ndarray.dot(1, b)"),
    *(
        "np.transpose(a[None], a)",
        "b.fill(value=n)",
        "np.add.at(a, i, b, x=1)",
        "np.signbit(m, (o, o))",
        "z.any(axis=(), out=(o,))",
        "np.add.reduce(d, 0, None, (o,))",
        "np.add.reduce(d, out=(o,))",
    ),
    *("np.copyto(o, a, False)", "np.copyto(o, f, casting='no', where=m)", "np.tile([], 3)", "np.tile(a[:0], 2)"),
    # casts and wide numbers
    *("np.add(a, 1, casting='equiv')", "np.add(a, 1, dtype=np.complex128, casting='equiv')"),
    *("np.sqrt(2, casting='no')", "np.clip(a, 0.0, 1.0, dtype=np.float32, casting='equiv')"),
    *("np.sqrt(3, dtype='f4', casting='no')", "np.sqrt(2**70)", "np.float16(n + 2**62)", "np.float16(x * 1e5)"),
    *("np.sin(2**64)", "np.negative(2**63)", "np.hypot(2**70, 1)", "np.full(2, 2**63)", "np.where(m, 2**70, 1.0)"),
    # warnings
    *("np.maximum(a, b, o)", "np.minimum(a, b, o) + 1", "np.dtype('a5')", "a.astype('a5')"),
    *("np.zeros(3, 'a5').dtype", "np.finfo(None)", "np.dtype('f8', align=1)", "np.dtype('f8', 'x')"),
    *("np.result_type('a5', a)", "np.zeros(2, '(1)f4')"),
    # items of containers
    *("a in [b, a]", "a in (b, a)", "a not in [1, a]", "a in [a, b]", "(a, a) == (0,)", "[a, a] == [0]"),
    *("(a, 1) != (a, 2)", "(1, a) == (2, a)", "(1, 2) == (1, 2, a)", "n in (x, 2)", "None in (1, None)"),
    *("(x, n) == (x, n)", "n in (3, x)"),
    # what plain Python only raises
    *("np.arange(0, 1, 0)", "np.arange(0, 3, -0.0)", "(1, 2)[::0]", "(a, b)[::0]", "(a, b)[1.5:]", "() * 2**63"),
    *("[] * 2**63", "a[..., ...]", "a[None, ..., ...]", "o.__setitem__((..., ...), 1)", "np.clip.outer(a)"),
    *("hasattr(np.clip, 'outer')", "a.fill(1, x=2)", "m.conjugate(foo=1j)", "d.T.__copy__(foo=1)"),
    "a.clip(b.tolist()[0], x=2)",
)


@pytest.mark.parametrize("expression", FOUND)
@pytest.mark.parametrize("loop", [False, True], ids=["straight", "loop"])
def test_what_was_found(expression: str, loop: bool) -> None:
    body = (
        f"    for j in range(3):\n        r = {expression}\n        a = a * 0.5\n"
        if loop
        else f"    r = {expression}\n"
    )
    report = run_one(f"def f({PARAMETERS}):\n    y = a * 2.0 + b\n{body}    return y, r\n")
    assert report.equal, str(report)

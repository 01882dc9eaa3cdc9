"""What becomes of a loop with a construct in it, as a table: construct, and whether the loop runs natively.

"native": one program runs the iterations. "partly": one of two loops is native. "unrolled": one program without a
loop. "plain": a segment for each iteration, or none at all. A construct that becomes native changes its row here. The
other files say how each behaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, table

TABLE, construct = table()


class Thing:
    pass


THING: Any = Thing()
COUNT = 0


@construct("native")
def carried(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sin(x) * 0.5 + x
    return x


@construct("native")
def carried_tuple(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        x, y = y, x * 0.5 + y
    return x


@construct("native")
def brk(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if x.sum() < 1e-3:
            break
    return x


@construct("native")
def early_return(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if x.sum() < 1e-3:
            return x
    return x * 2


@construct("native")
def raises(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if x.sum() < -1:
            raise ValueError("no")
    return x


@construct("native")
def els(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if x.sum() < 1e-9:
            break
    else:
        x = x + 1
    return x


@construct("native")
def append(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x.sum())
    return out


@construct("native")
def append_read(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        out.append(out[-1] * 0.5)
    return out


@construct("native")
def append_str(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x = x * 0.5
        out.append(f"{i}")
    return x, out


@construct("native")
def list_store(x: Any, n: int) -> Any:
    out = [0.0] * n
    for i in range(n):
        x = x * 0.5
        out[i] = float(x.sum())
    return out


@construct("native")
def dict_store(x: Any, n: int) -> Any:
    out = {}
    for i in range(n):
        x = x * 0.5
        out[i] = x
    return out


@construct("native")
def printing_mod(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5
        if i % 100 == 0:
            print(i)
    return x


@construct("native")
def printing_data(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5
        if x.sum() < 0:
            print(i)
    return x


@construct("plain")
def printing_always(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5
        print(i)
    return x


@construct("native")
def printing_carried(x: Any, n: int) -> Any:
    k = 0
    for i in range(n):
        x = x * 0.5
        k = k * 3 % 7 + 1
        if k == 2:
            print(i)
    return x


@construct("native")
def rng(x: Any, n: int) -> Any:
    g = np.random.default_rng(0)
    for _ in range(n):
        x = x + g.standard_normal(x.shape) * 0.1
    return x


@construct("native")
def rng_legacy(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + np.random.rand(*x.shape)
    return x


@construct("native")
def nested(x: Any, n: int) -> Any:
    for _ in range(n):
        for j in range(5):
            x = x * 0.9 + j
    return x


@construct("native")
def nested_brk(x: Any, n: int) -> Any:
    for _ in range(n):
        for _j in range(5):
            x = x * 0.9
            if x.sum() < 1e-9:
                return x
    return x


@construct("native")
def while_(x: Any, n: int) -> Any:
    k = 0
    while k < n and x.sum() > 1e-9:
        x = x * 0.5
        k += 1
    return x, k


@construct("native")
def attr(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        THING.last = x
    return x


@construct("native")
def glob(x: Any, n: int) -> Any:
    global COUNT
    for i in range(n):
        x = x * 0.5
        COUNT = i
    return x


@construct("native")
def type_change(x: Any, n: int) -> Any:
    s = 0
    for i in range(n):
        s = s + x[i % len(x)]
    return s


@construct("native")
def shape_change(x: Any, n: int) -> Any:
    y = x[:1]
    for _ in range(n):
        y = np.concatenate((y, x))
    return y


@construct("native")
def trycatch(x: Any, n: int) -> Any:
    for _ in range(n):
        try:  # noqa: SIM105
            x = x * 0.5
        except ValueError:
            pass
    return x


@construct("native")
def over_list(x: Any, n: int) -> Any:
    for a in [x] * n:
        x = x + a * 0.5
    return x


@construct("partly")
def over_dict(x: Any, n: int) -> Any:
    d = {i: x for i in range(n)}  # noqa: C420
    for _k, v in d.items():
        x = x + v * 0.5
    return x


@construct("native")
def over_zip(x: Any, n: int) -> Any:
    y = np.ones((n, len(x)))
    for r in y:
        x = x + r
    return x


@construct("native")
def comp(x: Any, n: int) -> Any:
    return [(x * i).sum() for i in range(n)]


@construct("native")
def gen(x: Any, n: int) -> Any:
    return sum((x * i).sum() for i in range(n))


@construct("native")
def matmul(x: Any, n: int) -> Any:
    A = np.eye(len(x)) * 0.5
    for _ in range(n):
        x = A @ x
    return x


@construct("native")
def solve(x: Any, n: int) -> Any:
    A = np.eye(len(x)) * 2
    for _ in range(n):
        x = np.linalg.solve(A, x)
    return x


@construct("native")
def sort_(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sort(x) * 0.5
    return x


@construct("native")
def slicing(x: Any, n: int) -> Any:
    x = x.copy()
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[2:]) * 0.5
    return x


@construct("native")
def elements(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


@construct("native")
def with_err(x: Any, n: int) -> Any:
    for _ in range(n):
        with np.errstate(all="ignore"):
            x = x * 0.5
    return x


@construct("native")
def dict_carry(x: Any, n: int) -> Any:
    st = {"x": x}
    for _ in range(n):
        st["x"] = st["x"] * 0.5
    return st["x"]


@construct("native")
def obj_carry(x: Any, n: int) -> Any:
    o: Any = Thing()
    o.x = x
    for _ in range(n):
        o.x = o.x * 0.5
    return o.x


@construct("native")
def pop(x: Any, n: int) -> Any:
    st = [x]
    for _ in range(n):
        y = st.pop()
        st.append(y * 0.5)
    return st[0]


@construct("native")
def converged(x: Any, n: int) -> Any:
    for _ in range(n):
        y = x * 0.5
        if np.allclose(x, y):
            break
        x = y
    return x


@construct("native")
def truth_as_number(x: Any, n: int) -> Any:
    errors = 0
    for i in range(n):
        x = x * 0.9
        errors += int(x[i % len(x)] > 0.3) + bool(x.any()) + (not x.all())
    return x, errors


@construct("native")
def array_of_list(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return np.array(out)


@construct("native")
def array_of_comprehension(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + np.array([x[j] * 0.5 for j in range(len(x))])
    return x


@construct("native")
def gen_if(x: Any, n: int) -> Any:
    return sum((x * i).sum() for i in range(n) if x[i % len(x)] > 0.5)


@construct("native")
def gen_max(x: Any, n: int) -> Any:
    return max((x * i).sum() for i in range(n)), min(x[i] * x[j] for i in range(len(x)) for j in range(i))


@construct("native")
def least_by_key(x: Any, n: int) -> Any:
    return min(range(n), key=lambda i: (x - i * 0.1).sum() ** 2)


@construct("native")
def none_or_number(x: Any, n: int) -> Any:
    best = place = None
    for i in range(n):
        total = (x * (i % 5)).sum()
        if best is None or total > best:
            best, place = total, i
    return best, place


@construct("plain")
def dict_counts(x: Any, n: int) -> Any:
    count: dict[int, int] = {}
    for i in range(n):
        k = int(x[i % len(x)] * 4)
        count[k] = count.get(k, 0) + 1
    return count


@construct("native")
def stack_of_places(x: Any, n: int) -> Any:
    seen, stack = np.zeros(len(x), dtype=bool), [0]
    while stack:
        i = stack.pop()
        if i < len(x) and not seen[i]:
            seen[i] = True
            stack.append(i + 1)
    return seen


@construct("native")
def around_by_try(x: Any, n: int) -> Any:
    try:
        for _ in range(n):
            x = x * 0.5
    except ValueError:
        return None
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TABLE)
def test_outcome(name: str, backend: str) -> None:
    fn, outcome = TABLE[name]
    report = require_equal(
        fn,
        lambda: (np.linspace(0.1, 1.0, 8), 12),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=3,
    )
    if _C.get_stress():
        return
    told = report.compiled.explain()
    found = {loop.outcome for loop in told.loops}
    if outcome == "native":
        assert "native" in found, told
    elif outcome == "partly":
        assert "native" in found and told.breaks, told
    else:
        assert "native" not in found, f"{name} is native now: change its row"
        assert (outcome == "unrolled") == (not told.breaks), told

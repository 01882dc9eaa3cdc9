"""np.array of a list that a loop has filled: the loop stores rows beside the list, or NumPy reads the list itself."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.capture.lists import rows
from dynamo_lite.graph.node import NodeKind
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, table

TABLE, program = table()  # True: np.array is part of the graph with the loop, so that nothing breaks


@program(True)
def comprehended(X: Any, n: int) -> Any:
    return np.array([np.mean(row) / np.std(row) for row in X])


@program(True)
def with_the_list(X: Any, n: int) -> Any:
    out = []
    for row in X:
        out.append(row.sum())
    return np.mean(out), np.array(out), len(out), out


@program(True)
def two_arrays_of_one_list(X: Any, n: int) -> Any:
    out = []
    for row in X:
        out.append(row.sum())
    a, b = np.asarray(out), np.asarray(out)
    a[0] = 5.0
    return a, b, out


@program(True)
def numbers(X: Any, n: int) -> Any:
    whole, real = [], [0.0]
    t = 0.0
    for i in range(n):
        t = t + 0.1
        whole.append(i * 2)
        real.append(t)
    return np.array(whole), np.asarray(whole) + 1, np.array(whole, dtype=float), np.array(real)


@program(True)
def trajectory(X: Any, n: int) -> Any:
    x = X[0]
    out = [x]
    for _ in range(n):
        x = x * 0.9 + 0.01
        out.append(x)
    return np.array(out)


@program(True)
def in_a_loop(X: Any, n: int) -> Any:
    for _ in range(n):
        means = np.array([row.mean() for row in X])
        X = X - means[:, None] * 0.1
    return X


@program(True)
def centres(X: Any, n: int) -> Any:
    centre = X[:n]
    for _ in range(3):
        nearest = np.argmin(((X - centre[:, np.newaxis]) ** 2).sum(axis=2), axis=0)
        centre = np.array([X[nearest == j].sum(axis=0) for j in range(len(centre))])
    return centre, nearest


@program(True)
def stores_before(X: Any, n: int) -> Any:
    out = []
    for row in X:
        new = np.zeros(2)
        new[0] = row[1]
        out.append(new)
    return np.array(out)


@program(True)
def consumed(X: Any, n: int) -> Any:
    total = 0.0
    for i in range(len(X)):
        total += sum([X[i, j] * X[i, 0] for j in range(len(X[0]))])
        total += max([X[i, j] - X[0, j] for j in range(len(X[0]))])
        total += min([abs(X[i, j]) for j in range(len(X[0]))])
    return total


@program(False)
def greatest_of_a_list_that_lives_on(X: Any, n: int) -> Any:
    out = []
    for row in X:
        out.append(row.sum())
    return max(out), out, max(out) is out[0]


@program(sys.version_info >= (3, 12))  # where a loop sums floats with compensation, and does so in the graph
def sum_of_python_numbers(X: Any, n: int) -> Any:
    return sum([float(row[0]) for row in X]), sum([i * i for i in range(n)])


@program(False)
def stores_after(X: Any, n: int) -> Any:
    out = []
    for row in X:
        new = np.zeros(2)
        out.append(new)
        new[0] = row[1]
    return np.array(out)


@program(False)
def one_object_many_times(X: Any, n: int) -> Any:
    x = X[0].copy()
    out = [x]
    for _ in range(n):
        x += 0.1 * x
        out.append(x)
    return np.array(out)


@program(False)
def one_from_outside(X: Any, n: int) -> Any:
    y = X[0] * 1.0
    out = []
    for _ in range(n):
        out.append(y)
        y[0] = y[0] + 3.0
    return np.array(out)


@program(False)
def views_written_later(X: Any, n: int) -> Any:
    X = X.copy()
    out = []
    for row in X:
        out.append(row)
    X[0, 0] = 99.0
    return np.array(out)


@program(False)
def last_written_later(X: Any, n: int) -> Any:
    x = X[0]
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    x[0] = 3.0
    return np.array(out), x


@program(True)
def one_more(X: Any, n: int) -> Any:
    out = []
    for row in X:
        out.append(row.sum())
    out.append(1.0)
    return np.array(out)


@program(False)
def some(X: Any, n: int) -> Any:
    out = []
    for row in X:
        if row[0] > 0.5:
            out.append(row.sum())
    return np.array(out)


@program(True)
def left_early(X: Any, n: int) -> Any:
    out = []
    for row in X:
        out.append(row.sum())
        if row[0] > 0.9:
            break
    return np.array(out)


@program(True)
def twice_each(X: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(i)
        out.append(i * 2)
    return np.array(out)


@program(True)
def of_each_iteration(X: Any, n: int) -> Any:
    out = []
    for i in range(len(X)):
        near = []
        for j in range(max(0, i - 2), min(len(X), i + 3)):
            near.append(X[j, 0])
        out.append(np.mean(near) + len(near) * max(near))
    return np.array(out)


@program(True)
def of_some_in_each_iteration(X: Any, n: int) -> Any:
    total = 0.0
    for i in range(len(X)):
        near = []
        for j in range(len(X)):
            if X[j, 1] > 0.4:
                near.append(float(X[j, 0]) + i)
        if near:
            total += np.std(near) + min(near)
    return total


@program(True)
def gone_through(X: Any, n: int) -> Any:
    total = 0.0
    for i in range(len(X)):
        kept = []
        for j in range(i + 1):
            kept.append(X[j, 0] * X[i, 1])
        for one in kept:
            total = total * 0.5 + one
    return total


@program(True)
def lists_of_lists(X: Any, n: int) -> Any:
    table = [[X[i, 0] * j for j in range(n)] for i in range(len(X))]
    return np.array(table)


@program(False)
def lists_that_change_afterwards(X: Any, n: int) -> Any:
    table = []
    row = [0.0, 0.0]
    for i in range(len(X)):
        table.append(row)
        row[1] = 2.5
        row = [X[i, 0], 1.0]
        row.append(0.5)
        row.pop()
    return np.array(table), row


@program(False)
def a_list_held_elsewhere(X: Any, n: int) -> Any:
    table = []
    for i in range(len(X)):
        row = [X[i, 0], X[i, 1]]
        table.append(row)
    row[0] = 9.0
    return np.array(table), table[-1] is row


@program(True)
def pairs_and_lists(X: Any, n: int) -> Any:
    pairs, lists = [], []
    for i in range(len(X)):
        pairs.append((X[i, 0], X[i, 1] * 2))
        lists.append([i, n])
    return np.array(pairs), np.array(lists), pairs, lists


@program(False)
def of_the_same_object(X: Any, n: int) -> Any:
    same = 0
    for k in range(len(X)):
        kept = []
        for j in range(n):
            last = X[j % 2, 0] * (k + 2)
            kept.append(last)
        same += max(kept) is last
    return same


@program(False)
def in_two_lists(X: Any, n: int) -> Any:
    greatest, kept = [], []
    for i in range(len(X)):
        own = []
        for j in range(i + 1):
            number = X[j, 0] * 2
            kept.append(number)
            own.append(number)
        greatest.append(max(own))
    return [any(one is other for other in kept) for one in greatest]


def shared(some: list[Any], others: list[Any]) -> list[bool]:
    return [any(one is other for other in others) for one in some]


@program(False)
def numbers_in_two_lists(X: Any, n: int) -> Any:
    greatest, kept = [], []
    for i in range(len(X)):
        own = []
        for j in range(i + 1):
            number = float(X[j, 0]) * 2
            if X[j, 1] > 0.3:
                kept.append(number)
            own.append(number)
        greatest.append(max(own))
    # NB: in a function of its own, since from 3.12 on a comprehension's variables are those of the function around it
    return shared(greatest, kept)


@program(True)
def stored_again(X: Any, n: int) -> Any:
    out = [0.0] * n
    for i in range(n):
        out[i] = X[i, 0]
    for i in range(n):
        out.append(X[i, 1])
    return np.array(out)


@program(False)
def ragged(X: Any, n: int) -> Any:
    out = []
    for i in range(1, n):
        out.append(X[0, : i % 2 + 1] * 1.0)
    return np.concatenate(out)


@program(True)
def of_two_dtypes(X: Any, n: int) -> Any:
    out = [1]
    for row in X:
        out.append(row.sum())
    return np.array(out)


@program(True)
def patches(X: Any, n: int) -> Any:
    out = []
    for i in range(X.shape[0] - 1):
        for j in range(X.shape[1] - 1):
            out.append(X[i : i + 2, j : j + 2])
    return np.array(out)


@program(True)
def flat_patches(X: Any, n: int) -> Any:
    out = []
    for i in range(0, X.shape[0] - 1, 2):
        for j in range(X.shape[1] - 1, -1, -1):
            out.append(X[i : i + 2, j].flatten())
    return np.array(out) * 2.0


@program(True)
def patches_of_four_axes(X: Any, n: int) -> Any:
    Y, out = np.stack([X, X * 2.0])[:, :, :, None], []
    for i in range(Y.shape[1] - 1):
        for j in range(Y.shape[2] - 1):
            out.append(Y[:, i : i + 2, j : j + 2, :].reshape([-1]))
    return np.array(out)


@program(True)
def frames(X: Any, n: int) -> Any:
    x, step, out, back = X.ravel(), max(n // 4, 1), [], []
    for s in range(1, len(x) - 1, step):
        out.append(x[s : s + 2])
    for s in range(len(x) - 2, -1, -step):
        back.append(x[s : s + 2])
    return np.array(out), np.asarray(back), back


@program(True)
def some_frames(X: Any, n: int) -> Any:
    x, out = X.ravel(), []
    for s in range(0, len(x) - 2, 2):
        if s % 3 == 0:
            out.append(x[s : s + 3])
    return np.array(out)


@program(False)
def stored_into_by_an_inner_loop(X: Any, n: int) -> Any:
    out = []
    for i in range(X.shape[0]):
        for j in range(X.shape[1] - 1):
            out.append(X[i, j : j + 2])
            X[i, j] = 7.0
    return np.array(out)


@program(False)
def stored_into_around_an_inner_loop(X: Any, n: int) -> Any:
    out = []
    for i in range(X.shape[0]):
        row = X[i] * 2.0
        for j in range(X.shape[1] - 1):
            out.append(row[j : j + 2])
        row[0] = 5.0
    return np.array(out)


@program(False)
def stored_into_behind_a_nest(X: Any, n: int) -> Any:
    out = []
    for i in range(X.shape[0]):
        for j in range(X.shape[1] - 1):
            out.append(X[i, j : j + 2])
    X[0, 0] = 5.0
    return np.array(out)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TABLE)
def test_rows(name: str, backend: str) -> None:
    fn, whole = TABLE[name]
    X = np.random.default_rng(3).random((12, 3))
    sizes = [(12, 12), (9, 5), (2, 2), (1, 1), (12, 12)]
    report = require_equal(
        fn,
        lambda: (X[:12].copy(), 10),
        variants=[lambda size=size: (X[: size[0]].copy(), size[1]) for size in sizes],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    if _C.get_stress():
        return
    found = report.compiled.explain()
    # From 3.12 on comprehensions are loops of the function itself: left in one by a decline, it goes on behind a break.
    is_left = sys.version_info >= (3, 12) and report.compiled.stats()["leaves"] > 0
    assert bool(found.breaks) != whole or (whole and is_left), found


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_rows(backend: str) -> None:
    def empty(n: int) -> Any:
        out = []
        for i in range(n):
            out.append(i * 2.5)
        return np.array(out), np.array([i for i in range(n)]), np.array(out).dtype  # noqa: C416

    options = {"backend": backend, "options": OPTIONS}
    require_equal(
        empty, lambda: (0,), variants=[lambda: (20,), lambda: (0,), lambda: (-3,)],
        compile=dynamo_lite.compile, compile_options=options, calls=2,
    )  # fmt: skip


BOUNDS = ["i + 1, n", "i", "n", "max(0, i - 3), min(n, i + 4)", "n - 1, i, -1", "i, -1, -1", "0, n, 3", "i % 5"]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("inside", [False, True])
def test_there_is_room_for_all_rows(bounds: str, inside: bool) -> None:
    made, wanted = ("        near = []\n", "        out.append(np.sum(near))\n") if inside else ("", "")
    text = f"def f(x, n):\n    out = []\n    for i in range(n):\n{made}        for j in range({bounds}):\n"
    text += f"            {'near' if inside else 'out'}.append(x[i] * x[j])\n{wanted}    return np.array(out)\n"
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    fast = dynamo_lite.compile(names["f"], options=OPTIONS)
    for n in (150, 40, 300):
        x = np.random.default_rng(n).random(n + 2)
        assert fast(x, n).tobytes() == names["f"](x, n).tobytes()
    assert fast.stats()["declines"] == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_rows_than_there_is_room_for(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_MOST_ELEMENTS", 60)
    options = {"backend": backend, "options": OPTIONS}
    report = require_equal(
        patches,
        lambda: (np.arange(9.0).reshape(3, 3), 3),
        variants=[lambda: (np.arange(36.0).reshape(6, 6), 3)],
        compile=dynamo_lite.compile,
        compile_options=options,
    )
    assert report.compiled.stats()["declines"] == 2


def handles_interrupts(x: Any, n: int) -> Any:
    out: list[Any] = []
    try:
        for i in range(len(x) - n):
            out.append(x[i : i + n])
    except KeyboardInterrupt:
        return len(out)
    return np.array(out)


def test_a_loop_that_only_collects_is_left_where_somebody_handles_what_a_signal_raises() -> None:
    for fn, leaves in ((patches, False), (handles_interrupts, True)):
        fast = dynamo_lite.compile(fn, options=OPTIONS)
        fast(np.ones((9, 9)), 3)
        kinds = [node.kind for segment in fast._compilation.segments for node in segment.capture.graph.nodes]
        assert NodeKind.LOOP in kinds and (NodeKind.LEAVE in kinds) is leaves

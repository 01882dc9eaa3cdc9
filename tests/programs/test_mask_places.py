"""What goes by one mask several times goes by the places where it is true; sizes that only the run knows agree, or the
program declines."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.config import config
from dynamo_lite.schedule.steps import Loop, bodies
from tests.conftest import BACKENDS
from tests.oracle import MakeArgs
from tests.oracle import require_equal as require


def require_equal(program: Any, make: MakeArgs, backend: str) -> None:
    require(program, make, compile=dynamo_lite.compile, compile_options={"backend": backend})


SIZES = (0, 1, 63, 64, 255, 256, 257, 300, 1000, 4099)
SHARES = (0.0, 0.01, 0.2, 0.3, 1.0)
DTYPES = (np.uint8, np.int16, np.float32, np.float64, np.complex128)


def twice(x: Any, y: Any, m: Any) -> Any:
    kept, other = x[m], y[m]
    x[m] = kept[::-1]
    y[m] = other + kept.astype(y.dtype)
    return kept, x[m], y[m].sum(), np.sum(m)


def arguments(size: int, share: float, dtype: Any, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng([seed, size])
    m = np.zeros(size, bool)
    m[rng.permutation(size)[: int(size * share)]] = True
    return (rng.random(size) * 100).astype(dtype), (rng.random(size) * 100).astype(dtype), m


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_masks_that_select_little_and_much(backend: str, dtype: Any) -> None:
    for size in SIZES:
        for share in SHARES:
            require_equal(twice, lambda size=size, share=share: arguments(size, share, dtype), backend)


def shapes() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    flat = rng.random(4000) < 0.1
    plane = rng.random((40, 50)) < 0.1
    x, cube = rng.random(4000), rng.random((40, 50, 3))
    return {
        "strided mask": lambda: (x.copy()[:2000], x.copy()[:2000], flat.copy()[::2]),
        "strided arrays": lambda: (x.copy()[::-2], x.copy()[1::2], flat.copy()[:2000]),
        "fortran": lambda: (np.asfortranarray(x[:2000].reshape(40, 50)), x[:2000].reshape(40, 50).copy(), plane.copy()),
        "rows": lambda: (cube.copy(), cube.copy() * 2, plane.copy()),
        "rows of a view": lambda: (cube.copy()[:, :, :2], cube.copy()[:, :, ::2], plane.copy()),
        "bytes": lambda: (x.copy(), x.copy(), (flat.view(np.uint8) * 7).view(bool)),
    }


@pytest.mark.parametrize("name", shapes())
@pytest.mark.parametrize("backend", BACKENDS)
def test_layouts(backend: str, name: str) -> None:
    require_equal(twice, shapes()[name], backend)


def changed_between(raw: Any, x: Any) -> Any:
    m = raw.view(bool)
    first = x[m]
    raw[:300] = 1 - raw[:300]
    second = x[m]
    x[m] = 0.5
    return first, second, x


def changed_through_another(raw: Any, m: Any, x: Any) -> Any:
    first = x[m]
    raw[:300] = raw[:300][::-1] * 1
    second = x[m]
    return first, second


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mask_that_changes_through_another_dtype(backend: str) -> None:
    def make() -> tuple[Any, ...]:
        rng = np.random.default_rng(2)
        return (rng.random(1000) < 0.1).astype(np.uint8), rng.random(1000)

    def one_memory() -> tuple[Any, ...]:
        raw, x = make()
        return raw, raw.view(bool), x

    require_equal(changed_between, make, backend)
    require_equal(changed_through_another, one_memory, backend)


def cells(v: Any, z: Any, n: int) -> Any:
    count = 0
    for j in range(n):
        m = (j / n < z) & (z < (j + 1) / n)
        w = v[m]
        number = np.sum(m)
        if number > 1:
            for _ in range(50):
                at = np.random.randint(number)
                if w[at] > np.random.random():
                    w[at] = 0.5 * w[at]
                    count += 1
        v[m] = w
    return v, count, np.random.random()


@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_that_count_in_a_loop_over_masks(backend: str) -> None:
    def make() -> tuple[Any, ...]:
        np.random.seed(7)
        rng = np.random.default_rng(3)
        return rng.normal(size=3000), rng.random(3000), 6

    require_equal(cells, make, backend)


def parted_cells(v: Any, z: Any, n: int) -> Any:
    """The outer loop has an operation that machine code has not."""
    count = 0
    for j in range(n):
        m = (j / n < z) & (z < (j + 1) / n)
        w = v[m]
        v[0] = np.partition(v, 3)[3]
        number = np.sum(m)
        if number > 1:
            for _ in range(50):
                at = np.random.randint(number)
                if w[at] > np.random.random():
                    w[at] = 0.5 * w[at]
                    count += 1
        v[m] = w
    return v, count, np.random.random()


def test_a_loop_that_yields_a_number_to_one_around_is_machine_code() -> None:
    fast = dynamo_lite.compile(parted_cells)
    rng = np.random.default_rng(3)
    fast(rng.normal(size=3000), rng.random(3000), 6)
    (segment,) = fast._compilation.segments  # type: ignore[attr-defined]
    (outer,) = [step for step in segment.program.schedule.steps if isinstance(step, Loop)]
    assert outer.machine is None
    parts = [body for step in outer.body.steps for body in bodies(step)]
    inner = [step for body in parts for step in body.steps if isinstance(step, Loop)]
    assert [bool(loop.yields) and loop.machine is not None for loop in inner] == [True]


def thermal_wall(x: Any, v: Any, n: int) -> Any:
    for _ in range(n):
        x += 0.1 * v
        hit = x < 0
        count = np.sum(hit)
        v[hit] = 0.5 * np.random.normal(0, 1, count) + 0.1
        x[hit] = np.sqrt(-2 * np.log(np.random.random(count)))
    return x, v, np.random.random()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", (5, 400))
def test_as_many_draws_as_a_mask_selects(backend: str, size: int) -> None:
    def make() -> tuple[Any, ...]:
        np.random.seed(5)
        rng = np.random.default_rng(4)
        return rng.random(size), rng.normal(size=size), 12

    require_equal(thermal_wall, make, backend)


def test_draws_into_a_mask_are_one_graph() -> None:
    assert not dynamo_lite.explain(thermal_wall)(np.ones(400), -np.ones(400), 3).breaks


def given_values(x: Any, m: Any, values: Any) -> Any:
    doubled = values * 2.0
    x[m] = doubled
    return x, doubled


def two_masks(x: Any, y: Any, a: Any, b: Any) -> Any:
    return x[a] + y[b]


def mixed(x: Any, m: Any, values: Any) -> Any:
    x[m] += values * x[m]
    return x, x[m] - values


def with_counts(*counts: int) -> tuple[Any, ...]:
    """Masks of 400 elements with so many true."""
    rng = np.random.default_rng(6)
    masks = []
    for count in counts:
        mask = np.zeros(400, bool)
        mask[rng.permutation(400)[:count]] = True
        masks.append(mask)
    return tuple(masks)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", (given_values, mixed))
def test_values_whose_number_only_the_call_tells(backend: str, program: Any) -> None:
    for selected, given in ((7, 7), (90, 90), (7, 8), (0, 0), (0, 1), (1, 1), (7, 1), (1, 7), (0, 7)):

        def make(selected: int = selected, given: int = given) -> tuple[Any, ...]:
            (mask,) = with_counts(selected)
            return np.arange(400.0), mask, np.arange(given) + 0.5

        require_equal(program, make, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_program_meets_counts_that_agree_and_others(backend: str) -> None:
    fast = dynamo_lite.compile(two_masks, backend=backend)
    x, y = np.arange(400.0), np.arange(400.0) ** 2
    for counts in ((7, 7), (9, 9), (7, 8), (1, 7), (7, 1), (0, 0), (0, 1), (0, 5), (80, 80)):
        a, b = with_counts(*counts)
        try:
            expected = two_masks(x, y, a, b)
        except ValueError as error:
            with pytest.raises(ValueError) as raised:
                fast(x, y, a, b)
            assert str(raised.value) == str(error)
            continue
        assert np.array_equal(fast(x, y, a, b), expected)


def equal_by_others(x: Any, y: Any) -> Any:
    z = np.power(y, x[None])  # the one length is the other
    return z[z > 0] // y


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_count_agrees_with_a_length_that_equals_the_one_it_was_compared_with(backend: str) -> None:
    with config.patch(check=1):
        for y in (np.arange(4.0)[1:], np.array([1.0, -1.0, 2.0])):
            require_equal(equal_by_others, lambda y=y: (np.linspace(0.0, 1.0, 3), y.copy()), backend)


def test_what_breaks_by_an_open_size_keeps_nothing_alive() -> None:
    def shifted(x: Any) -> Any:
        found = np.unique(x * 2.0)
        found[:-1] = found[1:]
        return found

    x = np.arange(6.0)
    expected, before = shifted(x), sys.getrefcount(x)
    gc.collect()
    gc.disable()
    try:
        assert np.array_equal(dynamo_lite.compile(shifted)(x), expected)
        assert sys.getrefcount(x) == before
    finally:
        gc.enable()


def summed_before(x: Any, m: Any, k: int) -> Any:
    n = np.sum(m)
    m[:5] = False
    kept = x[m]
    return np.random.normal(size=n), kept


def summed_in_each(x: Any, m: Any, k: int) -> Any:
    sizes, rounds = 0.0, 0
    for j in range(k):
        n = m.sum()
        if x[j] < 0.8:
            m[j] = False
        kept = x[m]
        sizes = sizes + np.random.normal(size=n).size + 1000.0 * kept.size
        for _ in range(n):
            rounds += 1
    return sizes, rounds


def summed_of_a_view(x: Any, m: Any, k: int) -> Any:
    part = m[::2]
    n = np.sum(part)
    m[: 3 * k] = True
    kept = x[::2][part]
    return np.random.random(n), kept


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", (summed_before, summed_in_each, summed_of_a_view))
def test_a_mask_that_changes_behind_its_sum(program: Any, backend: str) -> None:
    def make() -> tuple[Any, ...]:
        np.random.seed(8)
        return np.random.default_rng(9).random(400), np.arange(400) % 3 == 0, 4

    require_equal(program, make, backend)

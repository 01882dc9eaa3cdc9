"""Python's module random in loops: the same numbers and objects, the generator left where plain Python leaves it."""

from __future__ import annotations

import random
from collections.abc import Callable
from random import random as drawn
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.ops import draws, variates
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, table

PROGRAMS, program = table()


@program("native")
def inside_of_a_circle(n):  # type: ignore[no-untyped-def]
    count = 0
    for _ in range(n):
        if random.random() ** 2 + drawn() ** 2 <= 1:
            count += 1
    return count


@program("native")
def of_an_interval(n):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(n):
        total += random.uniform(-1, 1) * random.uniform(0.5, i + 1)
    return total


@program("native")
def dice(n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        total += random.randint(1, 6) * random.randrange(10) + random.randrange(3, i + 5)
    return total


@program("native")
def chosen(n):  # type: ignore[no-untyped-def]
    place, path = 0.0, [0.0]
    for _ in range(n):
        place += random.choice([-1, 1]) + random.choice((1.5, 2.5, 3.5))
        path.append(place)
    return path


MOVES = [(1, 0), (-1, 0), (0, 1), (0, -1)]


@program("native")
def steps_on_a_lattice(n):  # type: ignore[no-untyped-def]
    x = y = 0
    t = 0.0
    own = [(1, 0.5), (x, -0.25), (3, 0.0)]
    for i in range(n):
        dx, dy = random.choice([(1, 0), (-1, 0), (0, 1), (0, -1)])
        x, y = x + dx, y + dy
        dx, dy = random.choice(MOVES)
        a, b = own[i % 3 - 3]
        x, y, t = x + dx * a, y + dy, t + b
    return x, y, t, own


@program("either")
def which_of_several(n):  # type: ignore[no-untyped-def]
    own, kept, inner = [(1, 0), (0, 1)], None, None
    deep = [((1, 0), 5), ((0, 1), 6)]
    for i in range(n):
        kept = own[i % 2]
        inner, _ = deep[i % 2]
    return [kept is one for one in own], [inner is one for one, _ in deep], own


@program("native")
def by_further_distributions(n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += random.triangular(0, 1, 0.5) + random.lognormvariate(0, 1) + random.paretovariate(2.0)
        total += random.weibullvariate(1, 2) + random.betavariate(2, 3) + random.gammavariate(2.0, 1.0)
        total += random.choices([1, 2, 3])[0]
    return total


@program("native")
def by_other_distributions(n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += random.normalvariate(0, 1) + random.expovariate(1.5)
    return total


@program("native")
def by_pairs(n):  # type: ignore[no-untyped-def]
    total, last = 0.0, None
    for i in range(n):
        total += random.gauss(0, 1)
        if i % 3 == 0:
            last = random.gauss(2.0, i)
    return total, last


@program("native")
def into_an_array(n):  # type: ignore[no-untyped-def]
    out = np.zeros((n, 2))
    for i in range(n):
        out[i] = drawn(), random.randint(0, 3)
    return out


@program("native")
def mixed_with_numpys(n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += np.random.rand() - random.random()
    return total


@program("native")
def left_early(n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if random.random() > 0.9:
            return i
    return None


@program("either")
def shuffled(n):  # type: ignore[no-untyped-def]
    numbers = list(range(n + 2))
    random.shuffle(numbers)
    return numbers


@program("either")
def divided(n):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(n):
        total += 10 // random.randint(0, 4)
    return total


@program("either")
def seeded(n):  # type: ignore[no-untyped-def]
    random.seed(n)
    total = 0.0
    for _ in range(n):
        total += random.random() + random.gauss(0, 1)
    return total


@program("either")
def of_nothing(n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        total += random.randrange(4 - i) + random.getrandbits(8)
    return total


def _outcome(fn: Callable[..., Any], n: int, *more: Any) -> Any:
    random.seed(7 * n + 1)
    np.random.seed(n)
    try:
        found = repr(fn(n, *more))
    except (ZeroDivisionError, ValueError) as error:
        found = repr(error)
    return found, random.getstate(), repr(np.random.get_state())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_and_states_are_pythons(name: str, backend: str) -> None:
    fn, expected = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    for n in (5, 3, 0, 1, 40, 700, 7):
        for _ in range(2):
            assert _outcome(fast, n) == _outcome(fn, n), n
    stats = fast.stats()
    assert expected == "either" or (stats["native_calls"] >= 10 and not stats["declines"]), fast.explain()


def of_its_own(n, rng):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += rng.random() + rng.randint(0, 9) + rng.uniform(1, 2)
    return total


class Half(random.Random):
    def random(self) -> float:
        return 0.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_generator_of_the_users(backend: str) -> None:
    variants = [lambda seed=seed, n=n: (n, random.Random(seed)) for seed in (3, 4) for n in (5, 3, 40)]
    variants.append(lambda: (5, Half(3)))
    options = {"backend": backend, "options": OPTIONS}
    require_equal(of_its_own, variants[0], variants=variants[1:], compile=dynamo_lite.compile, compile_options=options)
    fast = dynamo_lite.compile(of_its_own, backend=backend, options=OPTIONS)
    states = []
    for fn in (fast, of_its_own):
        rng = random.Random(8)
        states.append([fn(6, rng), rng.getstate(), fn(6, rng)])
        rng.random = lambda: 0.25  # type: ignore[method-assign]
        states[-1] += [fn(6, rng), rng.getstate()]
    assert states[0] == states[1]


def pairs_of_its_own(n, rng):  # type: ignore[no-untyped-def]
    for _ in range(n):
        total = rng.gauss(0, 1)
    return total, rng.gauss_next


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_other_number_is_kept_in_the_generator(backend: str) -> None:
    fast = dynamo_lite.compile(pairs_of_its_own, backend=backend, options=OPTIONS)
    for n in (40, 41, 7, 6, 1):
        one, other = random.Random(n), random.Random(n)
        for _ in range(3):  # which begins with a number that is kept, too
            assert repr(fast(n, one)) == repr(pairs_of_its_own(n, other))
            assert one.getstate() == other.getstate()
    assert fast.stats()["native_calls"] >= 10


def test_a_function_of_the_module_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = dynamo_lite.compile(inside_of_a_circle, options=OPTIONS)
    assert _outcome(fast, 40) == _outcome(inside_of_a_circle, 40)
    monkeypatch.setattr(random, "random", lambda: 0.1)
    assert _outcome(fast, 40) == _outcome(inside_of_a_circle, 40)


def test_machine_code_draws_what_python_does() -> None:
    assert draws.is_python_allowed()
    assert variates.kind_of(random.Random.random) is not None
    assert variates.kind_of(draws.BELOW) is not None


def picked(n, values):  # type: ignore[no-untyped-def]
    total, last = 0.0, None
    for i in range(n):
        last = [0.5, 1.5, -2.0][i % 3] * (1, -1)[(i * i) % 2]
        total += last + values[[2, 0, 1][i % 3]]
    return total, last


def picked_from_the_end(n, values):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        total += [1, 2, 4][k % 3 - 1] * (3, 5)[-(k % 2) - 1] + values[[0.5, -0.5][-1 - k % 2] > 0]
    return total


def picked_beyond(n, values):  # type: ignore[no-untyped-def]
    total = 0
    for k in range(n):
        total += [1, 2, 4][1 - k] + (3, 5, 7, 9, 11)[k]
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [picked, picked_from_the_end, picked_beyond], ids=lambda fn: fn.__name__)
def test_one_of_a_few_numbers(fn: Callable[..., Any], backend: str) -> None:
    variants = [lambda n=n: (n, np.arange(3.0)) for n in (5, 3, 0, 1, 40)]
    options = {"backend": backend, "options": OPTIONS}
    require_equal(fn, variants[0], variants=variants[1:], compile=dynamo_lite.compile, compile_options=options)

"""Random loops: bodies of random statements over what is carried, captured and written, the same for the same seed.

Enters a seed; leaves a function of the number of iterations and arrays, and the arrays. What is handed on may be a
value of the iteration, a view of one, something carried or captured, in any order; a body may hold a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.schedule.random_programs import pick, step
from tests.schedule.tracing import for_range


def random_loop(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the number of iterations and three or four arrays, and the arrays."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 7))
    arguments = [np.asarray(rng.random((size, size)) + 0.5, order="CF"[int(rng.integers(2))]) for _ in range(4)]
    if rng.random() < 0.3:
        arguments[1] = (rng.random((size * 2, size * 2)) + 0.5)[::2, ::-2]
    vector = rng.random(size) + 0.5
    n_carried = int(rng.integers(1, 4))
    stores = rng.random() < 0.7
    scripts = [[rng.random(4) for _ in range(int(rng.integers(2, 9)))] for _ in range(2)]
    exits = [rng.random(n_carried) for _ in range(2)]
    order = [int(k) for k in rng.permutation(n_carried + 3)]
    is_nested = rng.random() < 0.25

    def body_of(script: list[Any], exit_: Any, outside: tuple[Any, ...], c: Any) -> Callable[..., tuple[Any, ...]]:
        def body(i: Any, *carried: Any) -> tuple[Any, ...]:
            given = [*carried, *outside]
            full = [given[k] for k in order if k < len(given)]
            full = full if stores else [value * 1.0 for value in full]
            rest = [c]
            for kind, *choice in script:
                step(full, rest, 0.75, kind, choice)
            full.append(full[-1][::-1].T + i if exit_[0] < 0.2 else full[-1].T)
            return tuple(pick(full, choice) for choice in exit_)

        return body

    def run(n: Any, a: Any, b: Any, d: Any, e: Any, c: Any) -> Any:
        carried = (a * 0.5 + 0.5, b, d)[:n_carried]
        inner = body_of(scripts[0], exits[0], (b, d, e), c)

        def outer(i: Any, *values: Any) -> tuple[Any, ...]:
            values = for_range((0, n, 1), values, inner)
            return body_of(scripts[1], exits[1], (a, d, e), c)(i, *values)  # type: ignore[no-any-return]

        result = for_range((1, n, 1), carried, outer if is_nested else inner)
        return (*result, result[0] + 1.0, a, e)

    return run, (*arguments, vector)

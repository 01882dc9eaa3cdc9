"""A user's file, which type checkers read and nobody runs: what is compiled keeps its types and knows ``explain``.

.ci/lint has mypy check it; an ``ignore`` that hides no mistake is one itself (warn_unused_ignores of --strict).
"""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import dynamo_lite
from dynamo_lite import CompiledFunction, Explanation

Array = npt.NDArray[np.float64]


@dynamo_lite.compile
def norm(x: Array, scale: float = 1.0) -> Array:
    return np.sqrt(x * x + 1.0) * scale


@dynamo_lite.compile(fullgraph=True, options={"cost_model": False})
def total(x: Array) -> float:
    return float(x.sum())


def plain(x: Array, n: int) -> Array:
    return x * n


class Model:
    factor = 2.0

    @dynamo_lite.compile
    def scaled(self, x: Array) -> Array:
        return x * self.factor

    @classmethod
    @dynamo_lite.compile
    def made(cls, x: Array) -> Array:
        return x + 1.0

    @staticmethod
    @dynamo_lite.compile
    def free(x: Array) -> Array:
        return x + 1.0


x: Array = np.ones(3)
fast = dynamo_lite.compile(plain, name="plain")
assert_type(norm(x, scale=2.0), Array)
assert_type(total(x), float)
assert_type(fast(x, 3), Array)
compiled: CompiledFunction[[Array, int], Array] = fast
assert_type(norm.explain(), Explanation)
assert_type(norm.explain(x), Explanation)
model = Model()
assert_type(model.scaled(x), Array)
assert_type(model.scaled.explain(), Explanation)
assert_type(Model.scaled(model, x), Array)
assert_type(Model.made(x), Array)
assert_type(Model.made.explain(), Explanation)
assert_type(Model.free(x), Array)
assert_type(Model.free.explain(), Explanation)
bound = dynamo_lite.compile(model.scaled)
assert_type(bound(x), Array)
assert_type(dynamo_lite.explain(plain)(x, 3), Explanation)
norm("x")  # type: ignore[arg-type]
total(x, 1)  # type: ignore[call-arg]
fast(x)  # type: ignore[call-arg]
model.scaled(1)  # type: ignore[arg-type]
Model.made(x, x)  # type: ignore[call-arg]
dynamo_lite.compile(plain, backnd="numba")  # type: ignore[call-overload]

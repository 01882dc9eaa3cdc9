"""Products of complex numbers, whose operands NumPy exchanges where the second is a big temporary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.arrays.temporaries import LEAST_BYTES
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng


def arrays(count: int, code: str = "D") -> Any:
    values = rng(count).normal(size=(7, count))
    return (values[0] + 1j * values[1]).astype(code), (values[2] + 1j * values[3]).astype(code), values[4]


def second_is_temporary(z: Any, w: Any, x: Any) -> Any:
    return z * (w + 1.0), x * (w + x), 2j * (w - 1.0), np.complex64(1 - 2j) * (w + z), z * np.conj(w)


def both_or_the_first(z: Any, w: Any, x: Any) -> Any:
    return (z + 1.0) * (w + 1.0), (z + 1.0) * w, z * w, np.multiply(z, w + 1.0), (x + 1.0) * (w * 2.0)


def others_refer_to_it(z: Any, w: Any, x: Any) -> Any:
    t = w + 1.0
    pair = [w - 1.0]

    def product(a: Any, b: Any) -> Any:
        return a * b

    return z * t, z * pair[0], product(z, w + 2.0), z * (last := w + 3.0), last


def views(z: Any, w: Any, x: Any) -> Any:
    return z * (w + 1.0)[::-1], z[:1] * (w + 1.0), z * (w + 1.0).real, z.reshape(1, -1) * (w + 1.0), z[5] * (w + 1.0)


def nested(z: Any, w: Any, x: Any) -> Any:
    total = z * 0.0
    for k in range(3):
        total = total + z * (w * (total + k))
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [second_is_temporary, both_or_the_first, others_refer_to_it, views, nested])
def test_products(fn: Any, backend: str) -> None:
    most = LEAST_BYTES // 16
    sizes = [most - 1, most, most + 1]
    require_equal(
        fn,
        lambda: arrays(100),
        variants=[lambda n=n: arrays(n) for n in sizes] + [lambda n=n: arrays(n, "F") for n in (most + 1, 2 * most)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


@pytest.mark.parametrize("ways", [(9, 1, 1), (1, 9)])
def test_of_a_single_element_broadcasts_have_no_stride(ways: tuple[int, ...]) -> None:
    # With AVX-512 NumPy multiplies and adds at once where an array has a stride, and its iterator's axes of one have
    # none: (x[:, None] * x)[0, 0] is other than (x * x)[0], in the last bit.
    def known(x: Any, mask: Any) -> Any:
        y = x[:, None] * x
        return y + y

    def unknown(x: Any, mask: Any) -> Any:
        kept = x[mask]
        y = kept[:, None] * kept
        return y + y

    values = (np.random.default_rng(6).random(9) + 0.5) * (1 + 1j)
    for function in (known, unknown):
        fast = dynamo_lite.compile(function, options={"cost_model": False})
        for count in ways:
            mask = np.arange(9) < count
            x = values if function is unknown else values[:count]
            assert fast(x, mask).tobytes() == function(x, mask).tobytes(), (function.__name__, count)

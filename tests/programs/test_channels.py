"""Loops over images: rows of pixels and channels whose last two axes are one, and such as are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import routine_of

import dynamo_lite
from dynamo_lite.program import ir
from dynamo_lite.program.ir import walk
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.program.routines import collected
from tests.programs.loop_cases import OPTIONS


def blurred(image: Any, k: int) -> Any:
    h, w, _ = image.shape
    padded = np.pad(image, ((k, k), (k, k), (0, 0)), mode="edge")
    out = np.zeros_like(image)
    for dy in range(2 * k + 1):
        for dx in range(2 * k + 1):
            out += padded[dy : dy + h, dx : dx + w]
    return out / (2 * k + 1) ** 2


def weighted(image: Any, n: int) -> Any:
    out = np.zeros_like(image)
    for i in range(n):
        out += image * image[i] + image[:, i : i + 1]
    return out


def of_channels(image: Any, n: int) -> Any:
    out = np.zeros_like(image[:, :, 1:])
    for i in range(n):
        out[1:] += image[:-1, :, :-1] * float(i)
        out[1:, 1:] -= image[:-1, 1:, ::-1][:, :, : out.shape[2]] * image[0, 0, 0]
    return out


LAYOUTS = {
    "packed": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "apart": lambda x: np.repeat(x, 2, axis=2)[:, :, ::2],
    "backwards": lambda x: x[:, :, ::-1],
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "one channel": lambda x: x[:, :, :1],
    "no rows": lambda x: x[:0],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [blurred, weighted, of_channels])
def test_images(fn: Any, backend: str) -> None:
    image = np.random.default_rng(0).normal(size=(6, 5, 3))
    made = [
        lambda layout=layout, n=n: (layout(image.copy()), n) for layout in LAYOUTS.values() for n in (1, 2)
    ]
    require_equal(
        fn,
        made[0],
        variants=made[1:],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


def test_pixels_and_channels_are_one_axis() -> None:
    ((machine, classes),) = collected(blurred, np.ones((6, 5, 3)), 1)
    launches = [node for node in walk(routine_of(machine, classes).body) if isinstance(node, ir.Launch)]
    assert [len(launch.writes[0].extents) for launch in launches] == [2, 2], "of all rows at once, and row by row"

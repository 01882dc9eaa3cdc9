"""Copies and zeros whose inside is stored into get their frames alone; the results keep bits and strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from tests.copies import copies_of
from tests.oracle import require_equal

X = np.random.default_rng(4).normal(size=(14, 11))
CUBE = np.random.default_rng(5).normal(size=(9, 8, 7))


def made(function: Any, *arguments: Any) -> set[str]:
    graph = lower(dynamo_lite.compile(function).graph_for(*arguments), arguments)
    return {node.op for node in graph.nodes} & {"copy", "zeros", "full_like"}


def same(function: Any, *arrays: Any) -> None:
    options: Any = {"compile": dynamo_lite.compile, "compile_options": {"options": {"cost_model": False}}}
    report = require_equal(function, copies_of(*arrays), **options)
    if arrays[0] is X:
        assert report.stats["native_calls"] and not report.stats["declines"]


def smooth(u: Any) -> Any:
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return new


def blur(u: Any) -> Any:
    rows = u.copy("K")
    rows[2:-2] = (u[:-4] + u[2:-2] + u[4:]) / 3.0
    out = rows.copy()
    out[..., 2:-2] = (rows[..., :-4] + rows[..., 2:-2] + rows[..., 4:]) / 3.0
    return rows, out


def slopes(u: Any) -> Any:
    east, north = np.zeros_like(u), np.zeros(u.shape)
    east[:-1] = u[1:] - u[:-1]
    north[:, 1:] = u[:, 1:] * u[:, :-1]
    return east, north * 2.0


def whole_numbers(u: Any) -> Any:
    n = np.zeros(u.shape, np.int32)
    n[1:-1] = np.floor(u[1:-1] * 100.0)
    return n


@pytest.mark.parametrize("function", [smooth, blur, slopes, whole_numbers])
def test_frames(function: Any) -> None:
    assert made(function, X) == set()
    for x in (X, np.asfortranarray(X), X[::2, ::-1], X[:5, :5], X[:4], X[:3], X[:, :3], X[:2], X[:, :4], X[:1]):
        try:
            function(x)
        except ValueError:
            continue
        same(function, x)
    cubes = () if function is smooth else (CUBE, CUBE.transpose(2, 0, 1))
    for cube in cubes:
        same(function, cube)


def read_before(u: Any) -> Any:
    new = u.copy()
    kept = new.sum()
    new[1:-1] = u[2:] - u[:-2]
    return new, kept


def read_by_the_value(u: Any) -> Any:
    new = u.copy()
    new[1:-1] = new[2:] - new[:-2]
    return new


def of_which_a_view_lives(u: Any) -> Any:
    new = u.copy()
    part = new[1:-1]
    part[...] = 2.0 * u[1:-1]
    return new, part


def twice(u: Any) -> Any:
    new = u.copy()
    new[1:-1] += u[2:]
    new[1:-1] *= 3.0
    return new


def strided(u: Any) -> Any:
    new = u.copy()
    new[1:-1:2] = 0.0
    return new


def wide(u: Any) -> Any:
    new = np.ones_like(u)
    new[1:-1] = u[2:]
    return new


def changed_source(u: Any) -> Any:
    new = u.copy()
    u[0] = 9.0
    new[1:-1] = u[2:] + u[:-2]
    return new, u


def ends_of_short_rows(u: Any) -> Any:
    up = np.zeros_like(u)
    up[:, :, :-1] = u[:, :, 1:] - u[:, :, :-1]
    return up


@pytest.mark.parametrize(
    "function", [read_before, read_by_the_value, of_which_a_view_lives, twice, strided, wide, changed_source]
)
def test_others_keep_their_bits(function: Any) -> None:
    for x in (X, np.asfortranarray(X), X[::2, ::-1], X[:3], X[:2]):
        same(function, x)


def test_ends_of_short_rows() -> None:
    assert made(ends_of_short_rows, CUBE) == {"full_like"}
    same(ends_of_short_rows, CUBE)

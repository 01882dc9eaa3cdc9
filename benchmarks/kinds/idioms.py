"""Idioms of scientific code: an index builder and a state object, complex waves, np.select by zones, cubes."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.kinds.program import KindProgram, square


class Slices:
    @staticmethod
    def __getitem__(key):
        return key


where = Slices()


class Basin:
    def __init__(self, u, v, wet, depth, spacing):
        self.u, self.v, self.wet, self.depth, self.spacing = u, v, wet, depth, spacing


def put(array, key, value):
    array[key] = value
    return array


def add(array, key, value):
    array[key] += value
    return array


def friction_of(q, basin, strength):
    """The divergence of masked differences along three axes."""
    east, north, up = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    wet, spacing = basin.wet, basin.spacing
    east = put(east, where[:-1], strength * (q[1:] - q[:-1]) / spacing[1:, None, None] * wet[1:] * wet[:-1])
    north = put(north, where[:, :-1], strength * (q[:, 1:] - q[:, :-1]) / 0.8 * wet[:, 1:] * wet[:, :-1])
    up = put(up, where[..., :-1], 1e-3 * (q[..., 1:] - q[..., :-1]) / basin.depth[:-1] * wet[..., 1:] * wet[..., :-1])
    rate = np.zeros_like(q)
    inner = where[1:-1, 1:-1, 1:-1]
    rate = put(rate, inner, (east[1:-1, 1:-1, 1:-1] - east[:-2, 1:-1, 1:-1]) / spacing[1:-1, None, None])
    rate = add(rate, inner, (north[1:-1, 1:-1, 1:-1] - north[1:-1, :-2, 1:-1]) / 0.8)
    rate = add(rate, inner, (up[1:-1, 1:-1, 1:-1] - up[1:-1, 1:-1, :-2]) / basin.depth[1:-1])
    lost = rate * q
    return rate * wet, put(lost, where[..., 0], 0.0)


def basin_friction(basin):
    rate_u, lost_u = friction_of(basin.u, basin, 0.3)
    rate_v, lost_v = friction_of(basin.v, basin, 0.2)
    return rate_u, rate_v, lost_u + lost_v


def make_basin(rng, elements):
    side = square(elements, 20)
    u, v = rng.normal(size=(2, side, side, 20))
    wet = (rng.random((side, side, 20)) > 0.2).astype(float)
    return (Basin(u, v, wet, rng.uniform(5.0, 50.0, 20), rng.uniform(0.5, 1.5, side)),)


def wave_train(amplitude, phase, damping):
    """Complex amplitudes, of which the parts are set and read, and products with temporaries."""
    wave = np.empty(amplitude.shape, complex)
    wave.real = amplitude * np.cos(phase)
    wave.imag = amplitude * np.sin(phase)
    moved = wave * (damping + 1j * phase)
    returned = moved * np.conj(wave) + wave
    power = moved.real**2 + moved.imag**2
    return power / (1.0 + np.abs(returned)), returned.imag - returned.real


def make_waves(rng, elements):
    return rng.normal(size=elements), rng.uniform(0.0, 6.0, elements), rng.random(elements)


def zones(height, slope, wetness):
    """A rate by zones, and bools changed by masks."""
    steep, high, wet = slope > 0.7, height > 0.6, wetness > 0.5
    rate = np.select(
        [steep & high, high, wet & ~steep],
        [slope * (1.0 - height), 0.3 + height * wetness, np.sqrt(wetness) * slope],
        default=0.1,
    )
    open_ = np.ones(height.shape, bool)
    open_[rate < 0.15] = False
    open_[wet] = True
    return np.float64(rate) * height + slope, np.where(open_, rate, -rate)


def make_zones(rng, elements):
    return tuple(rng.random((3, elements)))


def activation(x, scale, shift):
    """A layer's norm along rows and a cubic in tanh: NumPy's power of negative numbers takes most of the time."""
    centred = x - x.mean(axis=-1, keepdims=True)
    normal = scale * centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) + shift
    return 0.5 * normal * (1.0 + np.tanh(0.797885 * (normal + 0.044715 * normal**3)))


def make_layer(rng, elements):
    rows = max(2, elements // 256)
    return rng.normal(size=(rows, 256)), rng.normal(size=256), rng.normal(size=256)


PROGRAMS = (
    KindProgram("basin_friction", basin_friction, make_basin),
    KindProgram("wave_train", wave_train, make_waves),
    KindProgram("zones", zones, make_zones),
    KindProgram("activation", activation, make_layer),
)

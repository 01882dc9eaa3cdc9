"""Numbers of samples: prices of options, forces between bodies, a step of k-means, smoothed signals."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.kinds.program import KindProgram

P = 0.3275911
E1, E2, E3, E4, E5 = 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429


def erf(x):
    """The polynomial of Abramowitz and Stegun, 7.1.26."""
    size = np.abs(x)
    t = 1.0 / (1.0 + P * size)
    y = 1.0 - (((((E5 * t + E4) * t) + E3) * t + E2) * t + E1) * t * np.exp(-size * size)
    return np.sign(x) * y


def option_prices(spot, strike, years, rate, volatility):
    """Calls, puts and their sensitivities by Black and Scholes."""
    root = np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / (volatility * root)
    d2 = d1 - volatility * root
    n1 = 0.5 * (1.0 + erf(d1 / np.sqrt(2.0)))
    n2 = 0.5 * (1.0 + erf(d2 / np.sqrt(2.0)))
    discounted = strike * np.exp(-rate * years)
    call = spot * n1 - discounted * n2
    put = call - spot + discounted
    bell = np.exp(-0.5 * d1 * d1) / np.sqrt(2.0 * np.pi)
    gamma = bell / (spot * volatility * root)
    vega = spot * bell * root
    theta = -spot * bell * volatility / (2.0 * root) - rate * discounted * n2
    return call, put, n1, gamma, vega, theta


def bodies_step(position, velocity, mass, dt, softening):
    """Accelerations by (n, n) broadcasting, one kick and drift, energies."""
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    near = dx**2 + dy**2 + dz**2 + softening**2
    pull = near ** (-1.5)
    ax = (dx * pull) @ mass
    ay = (dy * pull) @ mass
    az = (dz * pull) @ mass
    velocity = velocity + dt * np.hstack((ax, ay, az))
    kinetic = 0.5 * np.sum(mass * velocity**2)
    potential = -np.sum(np.triu(mass * mass.T / np.sqrt(near), 1))
    return position + dt * velocity, velocity, kinetic, potential


def kmeans_step(points, centres):
    """Distances by broadcasting over (n, k, d), nearest centres, new means by masks."""
    apart = points[:, np.newaxis, :] - centres[np.newaxis, :, :]
    distance = np.sum(apart**2, axis=2)
    nearest = np.argmin(distance, axis=1)
    new = np.empty_like(centres)
    for k in range(centres.shape[0]):
        chosen = (nearest == k).astype(np.float64)
        count = np.maximum(np.sum(chosen), 1.0)
        new[k] = np.sum(points * chosen[:, np.newaxis], axis=0) / count
    return new, nearest, np.sum(np.min(distance, axis=1))


def signal_features(signal, window):
    """Detrending, windows, running sums, envelopes and crossings of channels of samples."""
    centred = signal - np.mean(signal, axis=1, keepdims=True)
    scaled = centred / (np.std(signal, axis=1, keepdims=True) + 1e-9)
    smooth = scaled.copy()
    smooth[:, 2:-2] = (scaled[:, :-4] + scaled[:, 1:-3] + scaled[:, 2:-2] + scaled[:, 3:-1] + scaled[:, 4:]) / 5.0
    weighted = smooth * window
    power = np.sum(weighted * weighted, axis=1)
    slope = np.diff(smooth, axis=1)
    crossings = np.sum(smooth[:, 1:] * smooth[:, :-1] < 0.0, axis=1)
    peaks = (slope[:, :-1] > 0.0) & (slope[:, 1:] <= 0.0)
    return weighted, power, crossings, np.sum(peaks, axis=1), np.max(np.abs(slope), axis=1)


def _options(rng, n):
    ranges = ((50, 150), (50, 150), (0.1, 3), (0.0, 0.05), (0.1, 0.6))
    return tuple(rng.uniform(low, high, n) for low, high in ranges)


def _bodies(rng, elements):
    n = round(elements**0.5)
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, (n, 1)), 0.01, 0.1


def _signals(rng, elements):
    n = max(64, elements // 16)
    return rng.normal(size=(16, n)), np.hanning(n)


PROGRAMS = (
    KindProgram("option_prices", option_prices, _options),
    KindProgram("bodies_step", bodies_step, _bodies),
    KindProgram(
        "kmeans_step", kmeans_step, lambda rng, n: (rng.normal(size=(max(16, n // 32), 4)), rng.normal(size=(8, 4)))
    ),
    KindProgram("signal_features", signal_features, _signals),
)

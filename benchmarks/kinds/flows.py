"""Flows of gas and fluid: finite volumes with limited slopes, WENO, a lattice-Boltzmann step, a multigrid cycle."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.kinds.program import KindProgram, square

GAMMA = 1.4


def primitive(density, momentum_x, momentum_y, energy):
    vx = momentum_x / density
    vy = momentum_y / density
    pressure = (GAMMA - 1.0) * (energy - 0.5 * density * (vx**2 + vy**2))
    return density, vx, vy, np.maximum(pressure, 1e-10)


def limited(q, axis):
    """Slopes along an axis, by the limiter of van Leer's monotonised differences."""
    right = np.roll(q, -1, axis) - q
    left = q - np.roll(q, 1, axis)
    middle = 0.5 * (right + left)
    least = 2.0 * np.minimum(np.abs(left), np.abs(right))
    return np.where(left * right > 0.0, np.sign(middle) * np.minimum(np.abs(middle), least), 0.0)


def faces(q, dt_dx, axis):
    slope = limited(q, axis)
    return q + 0.5 * slope, np.roll(q - 0.5 * slope, -1, axis)


def riemann(left, right):
    """The flux of Harten, Lax, van Leer for normal velocities in place 1."""
    rho_l, u_l, v_l, p_l = left
    rho_r, u_r, v_r, p_r = right
    sound_l = np.sqrt(GAMMA * p_l / rho_l)
    sound_r = np.sqrt(GAMMA * p_r / rho_r)
    slowest = np.minimum(np.minimum(u_l - sound_l, u_r - sound_r), 0.0)
    fastest = np.maximum(np.maximum(u_l + sound_l, u_r + sound_r), 0.0)
    energy_l = p_l / (GAMMA - 1.0) + 0.5 * rho_l * (u_l**2 + v_l**2)
    energy_r = p_r / (GAMMA - 1.0) + 0.5 * rho_r * (u_r**2 + v_r**2)
    width = fastest - slowest + 1e-12

    def between(flux_l, flux_r, state_l, state_r):
        return (fastest * flux_l - slowest * flux_r + fastest * slowest * (state_r - state_l)) / width

    return (
        between(rho_l * u_l, rho_r * u_r, rho_l, rho_r),
        between(rho_l * u_l**2 + p_l, rho_r * u_r**2 + p_r, rho_l * u_l, rho_r * u_r),
        between(rho_l * u_l * v_l, rho_r * u_r * v_r, rho_l * v_l, rho_r * v_r),
        between(u_l * (energy_l + p_l), u_r * (energy_r + p_r), energy_l, energy_r),
    )


def muscl_step(density, momentum_x, momentum_y, energy, dt_dx):
    """A finite-volume step of the Euler equations on a periodic square."""
    rho, vx, vy, p = primitive(density, momentum_x, momentum_y, energy)
    pairs = [faces(q, dt_dx, 0) for q in (rho, vx, vy, p)]
    mass_x, along_x, across_x, heat_x = riemann(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    pairs = [faces(q, dt_dx, 1) for q in (rho, vy, vx, p)]
    mass_y, along_y, across_y, heat_y = riemann(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    density = density - dt_dx * (mass_x - np.roll(mass_x, 1, 0) + mass_y - np.roll(mass_y, 1, 1))
    momentum_x = momentum_x - dt_dx * (along_x - np.roll(along_x, 1, 0) + across_y - np.roll(across_y, 1, 1))
    momentum_y = momentum_y - dt_dx * (across_x - np.roll(across_x, 1, 0) + along_y - np.roll(along_y, 1, 1))
    energy = energy - dt_dx * (heat_x - np.roll(heat_x, 1, 0) + heat_y - np.roll(heat_y, 1, 1))
    return density, momentum_x, momentum_y, energy


def weno_derivative(q, axis):
    """The upwind reconstruction of fifth order at the right faces, and its difference."""
    far, near, ahead, beyond = (np.roll(q, shift, axis) for shift in (2, 1, -1, -2))
    smooth_a = 13.0 / 12.0 * (far - 2.0 * near + q) ** 2 + 0.25 * (far - 4.0 * near + 3.0 * q) ** 2
    smooth_b = 13.0 / 12.0 * (near - 2.0 * q + ahead) ** 2 + 0.25 * (near - ahead) ** 2
    smooth_c = 13.0 / 12.0 * (q - 2.0 * ahead + beyond) ** 2 + 0.25 * (3.0 * q - 4.0 * ahead + beyond) ** 2
    weight_a = 0.1 / (1e-6 + smooth_a) ** 2
    weight_b = 0.6 / (1e-6 + smooth_b) ** 2
    weight_c = 0.3 / (1e-6 + smooth_c) ** 2
    value_a = (2.0 * far - 7.0 * near + 11.0 * q) / 6.0
    value_b = (-near + 5.0 * q + 2.0 * ahead) / 6.0
    value_c = (2.0 * q + 5.0 * ahead - beyond) / 6.0
    face = (weight_a * value_a + weight_b * value_b + weight_c * value_c) / (weight_a + weight_b + weight_c)
    return face - np.roll(face, 1, axis)


def weno_advection(q, cx, cy):
    """A step of third order in time of the advection of one quantity over a periodic square."""

    def change(q):
        return -cx * weno_derivative(q, 0) - cy * weno_derivative(q, 1)

    first = q + change(q)
    second = 0.75 * q + 0.25 * (first + change(first))
    return q / 3.0 + 2.0 / 3.0 * (second + change(second))


DIRECTIONS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)


def lattice_boltzmann(f, solid, relaxation):
    """Streaming, collision and bounce-back of a lattice of nine directions, over (h, w, 9)."""
    moved = np.empty_like(f)
    for i, (dx, dy) in enumerate(DIRECTIONS):
        moved[:, :, i] = np.roll(np.roll(f[:, :, i], dx, axis=1), dy, axis=0)
    density = np.sum(moved, axis=2)
    ux = (moved[:, :, 1] + moved[:, :, 5] + moved[:, :, 8] - moved[:, :, 3] - moved[:, :, 6] - moved[:, :, 7]) / density
    uy = (moved[:, :, 2] + moved[:, :, 5] + moved[:, :, 6] - moved[:, :, 4] - moved[:, :, 7] - moved[:, :, 8]) / density
    square_speed = 1.5 * (ux * ux + uy * uy)
    out = np.empty_like(f)
    for i, (dx, dy) in enumerate(DIRECTIONS):
        along = 3.0 * (dx * ux + dy * uy)
        rest = WEIGHTS[i] * density * (1.0 + along + 0.5 * along * along - square_speed)
        relaxed = moved[:, :, i] - (moved[:, :, i] - rest) / relaxation
        out[:, :, i] = np.where(solid, moved[:, :, OPPOSITE[i]], relaxed)
    return out, ux, uy


def smooth(u, f, h2, sweeps):
    for _ in range(sweeps):
        new = u.copy()
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        new[1:-1, 1:-1] = 0.2 * u[1:-1, 1:-1] + 0.8 * 0.25 * (around - h2 * f[1:-1, 1:-1])
        u = new
    return u


def residual(u, f, h2):
    r = np.zeros_like(u)
    r[1:-1, 1:-1] = f[1:-1, 1:-1] - (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]) / h2
    return r


def coarsen(fine):
    coarse = np.zeros(((fine.shape[0] + 1) // 2, (fine.shape[1] + 1) // 2))
    coarse[1:-1, 1:-1] = (
        0.25 * fine[2:-2:2, 2:-2:2]
        + 0.125 * (fine[1:-3:2, 2:-2:2] + fine[3:-1:2, 2:-2:2] + fine[2:-2:2, 1:-3:2] + fine[2:-2:2, 3:-1:2])
        + 0.0625 * (fine[1:-3:2, 1:-3:2] + fine[1:-3:2, 3:-1:2] + fine[3:-1:2, 1:-3:2] + fine[3:-1:2, 3:-1:2])
    )
    return coarse


def refine(coarse, shape):
    fine = np.zeros(shape)
    fine[::2, ::2] = coarse
    fine[1::2, ::2] = 0.5 * (coarse[:-1, :] + coarse[1:, :])
    fine[::2, 1::2] = 0.5 * (coarse[:, :-1] + coarse[:, 1:])
    fine[1::2, 1::2] = 0.25 * (coarse[:-1, :-1] + coarse[1:, :-1] + coarse[:-1, 1:] + coarse[1:, 1:])
    return fine


def multigrid_cycle(u, f, h2):
    """A V-cycle for Poisson's equation, which calls itself on coarser grids."""
    if u.shape[0] <= 5:
        return smooth(u, f, h2, 8)
    u = smooth(u, f, h2, 2)
    below = coarsen(residual(u, f, h2))
    u = u + refine(multigrid_cycle(np.zeros_like(below), below, 4.0 * h2), u.shape)
    return smooth(u, f, h2, 2)


def _gas(rng, elements):
    n = square(elements)
    rho, vx, vy, p = rng.uniform(0.8, 1.2, (4, n, n))
    return rho, rho * vx, rho * vy, p / (GAMMA - 1.0) + 0.5 * rho * (vx**2 + vy**2), 0.05


def _lattice(rng, elements):
    n = square(elements, 9)
    return rng.uniform(0.9, 1.1, (n, n, 9)) * np.array(WEIGHTS), rng.random((n, n)) < 0.05, 0.8


def _grid(rng, elements):
    n = 2 ** round(np.log2(square(elements))) + 1
    return np.zeros((n, n)), rng.uniform(-1.0, 1.0, (n, n)), 1.0 / (n - 1) ** 2


PROGRAMS = (
    KindProgram("muscl_step", muscl_step, _gas),
    KindProgram(
        "weno_advection", weno_advection, lambda rng, n: (rng.uniform(0.5, 1.0, (square(n), square(n))), 0.2, 0.1)
    ),
    KindProgram("lattice_boltzmann", lattice_boltzmann, _lattice),
    KindProgram("multigrid_cycle", multigrid_cycle, _grid),
)

"""Time steps over grids: whole-array statements in a loop, and element loops where each value needs the last one."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.loops.program import LoopProgram


def jacobi_1d(steps, a, b):
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3.0
    return a


def jacobi_2d(steps, grid):
    for _ in range(steps):
        new = grid.copy()
        new[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        grid = new
    return grid


def heat_3d(steps, u, alpha):
    for _ in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
        around += u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        around += u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        u[1:-1, 1:-1, 1:-1] = inner + alpha * (around - 6.0 * inner)
    return u


def fdtd_2d(steps, ex, ey, hz, source):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


def seidel_2d(steps, a):
    rows, columns = a.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0
    return a


def adi(steps, u):
    n = u.shape[0]
    v = np.zeros_like(u)
    p = np.zeros_like(u)
    q = np.zeros_like(u)
    a, b, c = -0.3, 1.6, -0.3
    for _ in range(steps):
        v[0, :] = 1.0
        p[:, 0] = 0.0
        q[:, 0] = v[0, :]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            right = -a * u[j, :-2] + (1.0 + 2.0 * a) * u[j, 1:-1] - c * u[j, 2:]
            q[1:-1, j] = (right - a * q[1:-1, j - 1]) / (a * p[1:-1, j - 1] + b)
        v[n - 1, :] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 1:-1] = v[1:-1, 1:-1].T
    return u


def gauss_seidel(a, b, tolerance):
    n = b.shape[0]
    x = np.zeros_like(b)
    steps = 0
    error = tolerance + 1.0
    while error > tolerance:
        error = 0.0
        for i in range(n):
            new = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
            error = max(error, abs(new - x[i]))
            x[i] = new
        steps += 1
    return x, steps


def laplace_until(u, tolerance):
    error = 1.0
    steps = 0
    while error > tolerance and steps < 10_000:
        old = u[1:-1, 1:-1].copy()
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        error = np.abs(u[1:-1, 1:-1] - old).max()
        steps += 1
    return u, steps


def gray_scott(steps, u, v, feed, kill):
    for _ in range(steps):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4.0 * v
        uvv = u * v * v
        u = u + 0.16 * lu - uvv + feed * (1.0 - u)
        v = v + 0.08 * lv + uvv - (feed + kill) * v
    return u, v


def game_of_life(steps, world):
    for _ in range(steps):
        neighbours = np.zeros_like(world)
        neighbours[1:-1, 1:-1] = (
            world[:-2, :-2]
            + world[:-2, 1:-1]
            + world[:-2, 2:]
            + world[1:-1, :-2]
            + world[1:-1, 2:]
            + world[2:, :-2]
            + world[2:, 1:-1]
            + world[2:, 2:]
        )
        born = (neighbours == 3) & (world == 0)
        stays = ((neighbours == 2) | (neighbours == 3)) & (world == 1)
        world = np.where(born | stays, 1, 0)
    return world


def pressure(p, b, dx, dy, iterations):
    for _ in range(iterations):
        old = p.copy()
        p[1:-1, 1:-1] = ((old[1:-1, 2:] + old[1:-1, :-2]) * dy**2 + (old[2:, 1:-1] + old[:-2, 1:-1]) * dx**2) / (
            2.0 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return p


def cavity_flow(steps, u, v, p, dt, dx, dy, density, viscosity):
    for _ in range(steps):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx)
        b = density * ((ux + vy) / dt - ux**2 - 2.0 * uy * vx - vy**2)
        p = pressure(p, b, dx, dy, 20)
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * density * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + viscosity * dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + viscosity * dt / dy**2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2.0 * density * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + viscosity * dt / dx**2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + viscosity * dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = u[:, 0] = u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0.0
    return u, v, p


def channel_flow(u, dt, dy, force, viscosity, tolerance):
    change = 1.0
    steps = 0
    while change > tolerance:
        old = u.copy()
        u[1:-1, 1:-1] = (
            old[1:-1, 1:-1]
            + dt * force
            + viscosity * dt / dy**2 * (old[2:, 1:-1] - 2.0 * old[1:-1, 1:-1] + old[:-2, 1:-1])
        )
        u[1:-1, 0] = u[1:-1, -2]
        u[1:-1, -1] = u[1:-1, 1]
        u[0, :] = 0.0
        u[-1, :] = 0.0
        change = (np.sum(u) - np.sum(old)) / np.sum(u)
        steps += 1
    return u, steps


def _grid(rng, *shape):
    return rng.uniform(0.1, 1.0, shape)


def _cavity(rng, steps, n):
    u, v, p = np.zeros((3, n, n))
    d = 2.0 / (n - 1)
    return steps, u.copy(), v.copy(), p.copy(), 0.1 * d, d, d, 1.0, 0.1


def _dominant(rng, n):
    return _grid(rng, n, n) + n * np.eye(n), _grid(rng, n), 1e-9


PROGRAMS = (
    LoopProgram(
        "jacobi_1d", jacobi_1d, lambda r, t, n: (t, _grid(r, n), _grid(r, n)), (4, 9), (400, 1000), (800, 40_000)
    ),
    LoopProgram("jacobi_2d", jacobi_2d, lambda r, t, n: (t, _grid(r, n, n)), (4, 6), (100, 60), (100, 500)),
    LoopProgram("heat_3d", heat_3d, lambda r, t, n: (t, _grid(r, n, n, n), 0.1), (3, 5), (50, 16), (40, 70)),
    LoopProgram(
        "fdtd_2d",
        fdtd_2d,
        lambda r, t, n: (t, _grid(r, n, n), _grid(r, n, n), _grid(r, n, n), _grid(r, t)),
        (4, 6),
        (100, 60),
        (60, 500),
    ),
    LoopProgram("seidel_2d", seidel_2d, lambda r, t, n: (t, _grid(r, n, n)), (2, 5), (4, 30), (8, 120)),
    LoopProgram("adi", adi, lambda r, t, n: (t, _grid(r, n, n)), (2, 6), (5, 50), (8, 250)),
    LoopProgram("gauss_seidel", gauss_seidel, _dominant, (5,), (40,), (200,)),
    LoopProgram("laplace_until", laplace_until, lambda r, n: (_grid(r, n, n), 1e-3), (6,), (30,), (120,)),
    LoopProgram(
        "gray_scott",
        gray_scott,
        lambda r, t, n: (t, _grid(r, n, n), _grid(r, n, n), 0.035, 0.06),
        (3, 6),
        (40, 48),
        (30, 256),
    ),
    LoopProgram(
        "game_of_life", game_of_life, lambda r, t, n: (t, r.integers(0, 2, (n, n))), (4, 7), (60, 60), (40, 400)
    ),
    LoopProgram("cavity_flow", cavity_flow, _cavity, (2, 8), (20, 31), (10, 150)),
    LoopProgram(
        "channel_flow",
        channel_flow,
        lambda r, n: (np.full((n, n), 0.01), 0.05, 1.0, 1.0, 0.1, 1e-3),
        (6,),
        (41,),
        (121,),
    ),
)

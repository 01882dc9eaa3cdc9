"""Forms of benchmarks/loops/stencils.py."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from benchmarks.peers import JaxForm


def jacobi_1d(steps, a, b):
    def step(_, state):
        a, b = state
        b = b.at[1:-1].set((a[:-2] + a[1:-1] + a[2:]) / 3.0)
        a = a.at[1:-1].set((b[:-2] + b[1:-1] + b[2:]) / 3.0)
        return a, b

    return lax.fori_loop(0, steps, step, (a, b))


def _mean_of_four(u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi_2d(steps, grid):
    return lax.fori_loop(0, steps, lambda _, grid: grid.at[1:-1, 1:-1].set(_mean_of_four(grid)), grid)


def heat_3d(steps, u, alpha):
    def step(_, u):
        inner = u[1:-1, 1:-1, 1:-1]
        around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
        around += u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        around += u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        return u.at[1:-1, 1:-1, 1:-1].set(inner + alpha * (around - 6.0 * inner))

    return lax.fori_loop(0, steps, step, u)


def fdtd_2d(steps, ex, ey, hz, source):
    def step(t, state):
        hz, ex, ey = state
        ey = ey.at[0, :].set(source[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return hz, ex, ey

    return lax.fori_loop(0, steps, step, (hz, ex, ey))


def seidel_2d(steps, a):
    def element(left, terms):
        new = (terms + left) / 5.0
        return new, new

    def row(i, a):
        terms = a[i - 1, 1:-1] + a[i, 1:-1] + a[i, 2:] + a[i + 1, 1:-1]
        return a.at[i, 1:-1].set(lax.scan(element, a[i, 0], terms)[1])

    return lax.fori_loop(0, steps, lambda _, a: lax.fori_loop(1, a.shape[0] - 1, row, a), a)


def adi(steps, u):
    a, b, c = -0.3, 1.6, -0.3

    def forwards(state, right):
        p, q = state
        below = a * p + b
        p, q = -c / below, (right - a * q) / below
        return (p, q), (p, q)

    def backwards(v, coefficients):
        p, q = coefficients
        v = p * v + q
        return v, v

    def step(_, u):
        right = -a * u[1:-1, :-2] + (1.0 + 2.0 * a) * u[1:-1, 1:-1] - c * u[1:-1, 2:]
        ones = jnp.ones_like(u[0, 1:-1])
        _, coefficients = lax.scan(forwards, (jnp.zeros_like(ones), ones), right)
        _, v = lax.scan(backwards, ones, coefficients, reverse=True)
        return u.at[1:-1, 1:-1].set(v.T)

    return lax.fori_loop(0, steps, step, u)


def gauss_seidel(a, b, tolerance):
    diagonal = jnp.diagonal(a)
    others = a - jnp.diag(diagonal)

    def element(i, state):
        x, error = state
        new = (b[i] - others[i] @ x) / diagonal[i]
        return x.at[i].set(new), jnp.maximum(error, jnp.abs(new - x[i]))

    def sweep(state):
        x, steps, _ = state
        x, error = lax.fori_loop(0, b.shape[0], element, (x, 0.0))
        return x, steps + 1, error

    x, steps, _ = lax.while_loop(lambda state: state[2] > tolerance, sweep, (jnp.zeros_like(b), 0, tolerance + 1.0))
    return x, steps


def laplace_until(u, tolerance):
    def step(state):
        u, steps, _ = state
        inner = _mean_of_four(u)
        error = jnp.abs(inner - u[1:-1, 1:-1]).max()
        return u.at[1:-1, 1:-1].set(inner), steps + 1, error

    def unfinished(state):
        _, steps, error = state
        return (error > tolerance) & (steps < 10_000)

    u, steps, _ = lax.while_loop(unfinished, step, (u, 0, 1.0))
    return u, steps


def _laplacian(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4.0 * u


def gray_scott(steps, u, v, feed, kill):
    def step(_, state):
        u, v = state
        uvv = u * v * v
        return (
            u + 0.16 * _laplacian(u) - uvv + feed * (1.0 - u),
            v + 0.08 * _laplacian(v) + uvv - (feed + kill) * v,
        )

    return lax.fori_loop(0, steps, step, (u, v))


def game_of_life(steps, world):
    def step(_, world):
        inner = (
            world[:-2, :-2]
            + world[:-2, 1:-1]
            + world[:-2, 2:]
            + world[1:-1, :-2]
            + world[1:-1, 2:]
            + world[2:, :-2]
            + world[2:, 1:-1]
            + world[2:, 2:]
        )
        neighbours = jnp.pad(inner, 1)
        born = (neighbours == 3) & (world == 0)
        stays = ((neighbours == 2) | (neighbours == 3)) & (world == 1)
        return (born | stays).astype(world.dtype)

    return lax.fori_loop(0, steps, step, world)


def _pressure(p, b, dx, dy, iterations):
    def step(_, p):
        around = (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2
        p = p.at[1:-1, 1:-1].set((around - dx**2 * dy**2 * b) / (2.0 * (dx**2 + dy**2)))
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0, :].set(p[1, :])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1, :].set(0.0)

    return lax.fori_loop(0, iterations, step, p)


def cavity_flow(steps, u, v, p, dt, dx, dy, density, viscosity):
    def moved(w, u, v, slope):
        """The inside of the velocity `w` after dt; slope: the pressure's, along w."""
        inner = w[1:-1, 1:-1]
        return (
            inner
            - u[1:-1, 1:-1] * dt / dx * (inner - w[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (inner - w[:-2, 1:-1])
            - dt / (2.0 * density) * slope
            + viscosity * dt / dx**2 * (w[1:-1, 2:] - 2.0 * inner + w[1:-1, :-2])
            + viscosity * dt / dy**2 * (w[2:, 1:-1] - 2.0 * inner + w[:-2, 1:-1])
        )

    def step(_, state):
        u, v, p = state
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx)
        b = density * ((ux + vy) / dt - ux**2 - 2.0 * uy * vx - vy**2)
        p = _pressure(p, b, dx, dy, 20)
        inner_u = moved(u, u, v, (p[1:-1, 2:] - p[1:-1, :-2]) / dx)
        inner_v = moved(v, u, v, (p[2:, 1:-1] - p[:-2, 1:-1]) / dy)
        return jnp.pad(inner_u, 1).at[-1, :].set(1.0), jnp.pad(inner_v, 1), p

    return lax.fori_loop(0, steps, step, (u, v, p))


def channel_flow(u, dt, dy, force, viscosity, tolerance):
    def step(state):
        old, steps, _ = state
        inner = old[1:-1, 1:-1]
        inner = inner + dt * force + viscosity * dt / dy**2 * (old[2:, 1:-1] - 2.0 * inner + old[:-2, 1:-1])
        u = jnp.pad(inner, 1)
        u = u.at[1:-1, 0].set(inner[:, -1]).at[1:-1, -1].set(inner[:, 0])
        return u, steps + 1, (jnp.sum(u) - jnp.sum(old)) / jnp.sum(u)

    u, steps, _ = lax.while_loop(lambda state: state[2] > tolerance, step, (u, 0, 1.0))
    return u, steps


FORMS = (
    JaxForm(jacobi_1d, static=("steps",), writes=("a", "b"), returned=1),
    JaxForm(jacobi_2d, static=("steps",)),
    JaxForm(heat_3d, static=("steps",), writes=("u",)),
    JaxForm(fdtd_2d, static=("steps",), writes=("hz", "ex", "ey"), returned=1),
    JaxForm(seidel_2d, static=("steps",), writes=("a",)),
    JaxForm(adi, static=("steps",), writes=("u",)),
    JaxForm(gauss_seidel),
    JaxForm(laplace_until, writes=("u",)),
    JaxForm(gray_scott, static=("steps",)),
    JaxForm(game_of_life, static=("steps",)),
    JaxForm(cavity_flow, static=("steps",), writes=("u", "v", "p")),
    JaxForm(channel_flow, writes=("u",)),
)

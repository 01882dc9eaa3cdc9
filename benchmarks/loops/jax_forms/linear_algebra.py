"""Forms of benchmarks/loops/linear_algebra.py."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.peers import JaxForm


def cholesky(a):
    """Column by column, where the columns from j on are still zero."""
    n = a.shape[0]
    rows = jnp.arange(n)

    def column(j, lower):
        rest = a[:, j] - lower @ lower[j]
        return lower.at[:, j].set(jnp.where(rows >= j, rest / jnp.sqrt(rest[j]), 0.0))

    return lax.fori_loop(0, n, column, jnp.zeros_like(a)) + jnp.triu(a, 1)


def cholesky_elements(a):
    return cholesky(a)


def lu(a):
    n = a.shape[0]
    rows = jnp.arange(n)

    def step(k, a):
        below = rows > k
        column = jnp.where(below, a[:, k] / a[k, k], 0.0)
        row = jnp.where(below, a[k], 0.0)
        return (a - jnp.outer(column, row)).at[:, k].set(jnp.where(below, column, a[:, k]))

    return lax.fori_loop(0, n - 1, step, a)


def lu_elements(a):
    return lu(a)


def gram_schmidt(a):
    """Takes all earlier columns at once: the columns of q from k on are still zero."""
    n = a.shape[1]

    def column(k, state):
        q, r = state
        products = a[:, k] @ q
        v = a[:, k] - q @ products
        norm = jnp.sqrt(v @ v)
        return q.at[:, k].set(v / norm), r.at[:, k].set(products).at[k, k].set(norm)

    return lax.fori_loop(0, n, column, (jnp.zeros_like(a), jnp.zeros((n, n))))


def durbin(r):
    """Turned round and rolled by k, an array begins with its first k elements in reverse; y[k:] is still zero."""
    turned = r[::-1]

    def step(k, state):
        y, alpha, beta = state
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + jnp.roll(turned, k) @ y) / beta
        y = (y + alpha * jnp.roll(y[::-1], k)).at[k].set(alpha)
        return y, alpha, beta

    y = jnp.zeros_like(r).at[0].set(-r[0])
    return lax.fori_loop(1, r.shape[0], step, (y, -r[0], 1.0))[0]


def trisolv(lower, b):
    """x[i:] is still zero, so that whole rows can be taken."""

    def element(i, x):
        return x.at[i].set((b[i] - lower[i] @ x) / lower[i, i])

    return lax.fori_loop(0, b.shape[0], element, jnp.zeros_like(b))


def trisolv_elements(lower, b):
    return trisolv(lower, b)


def floyd_warshall(distance):
    def step(k, distance):
        return jnp.minimum(distance, distance[:, k, None] + distance[None, k, :])

    return lax.fori_loop(0, distance.shape[0], step, distance)


def floyd_warshall_elements(distance):
    return floyd_warshall(distance)


def conjugate_gradient(a, b, tolerance):
    def step(state):
        x, r, p, rr, steps = state
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        return x, r, r + (new / rr) * p, new, steps + 1

    def unfinished(state):
        *_, rr, steps = state
        return (jnp.sqrt(rr) > tolerance) & (steps < 1000)

    x, _, _, _, steps = lax.while_loop(unfinished, step, (jnp.zeros_like(b), b, b, b @ b, 0))
    return x, steps


def power_iteration(a, v, most):
    def step(state):
        value, v, steps, _ = state
        w = a @ v
        new = jnp.sqrt(w @ w)
        settled = jnp.abs(new - value) < 1e-12 * new
        return jnp.where(settled, value, new), w / new, steps + 1, settled

    def unfinished(state):
        _, _, steps, settled = state
        return (steps < most) & ~settled

    value, v, _, _ = lax.while_loop(unfinished, step, (0.0, v, 0, False))
    return value, v


def kmeans(points, centres):
    k = centres.shape[0]

    def nearest(centres):
        return ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)

    def step(state):
        centres, _, labels = state
        counts = jax.ops.segment_sum(jnp.ones(points.shape[0]), labels, k)[:, None]
        means = jax.ops.segment_sum(points, labels, k) / counts
        centres = jnp.where(counts > 0, means, centres)
        return centres, labels, nearest(centres)

    start = centres, jnp.zeros(points.shape[0], dtype=jnp.int64), nearest(centres)
    centres, labels, _ = lax.while_loop(lambda state: (state[1] != state[2]).any(), step, start)
    return centres, labels


def matmul_elements(a, b):
    return a @ b


FORMS = (
    JaxForm(cholesky, writes=("a",)),
    JaxForm(cholesky_elements, writes=("a",)),
    JaxForm(lu, writes=("a",)),
    JaxForm(lu_elements, writes=("a",)),
    JaxForm(gram_schmidt),
    JaxForm(durbin),
    JaxForm(trisolv),
    JaxForm(trisolv_elements),
    JaxForm(floyd_warshall),
    JaxForm(floyd_warshall_elements, writes=("distance",)),
    JaxForm(conjugate_gradient),
    JaxForm(power_iteration, static=("most",)),
    JaxForm(kmeans, writes=("centres",)),
    JaxForm(matmul_elements),
)

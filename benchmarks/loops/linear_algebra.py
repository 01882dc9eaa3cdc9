"""Factorisations, solvers and searches written out: rows against rows, until nothing changes."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.loops.program import LoopProgram


def cholesky(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return a


def cholesky_elements(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    return a


def lu(a):
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_elements(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def gram_schmidt(a):
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n))
    for k in range(n):
        v = a[:, k].copy()
        for j in range(k):
            r[j, k] = np.dot(q[:, j], a[:, k])
            v -= r[j, k] * q[:, j]
        r[k, k] = np.sqrt(np.dot(v, v))
        q[:, k] = v / r[k, k]
    return q, r


def durbin(r):
    n = r.shape[0]
    y = np.zeros_like(r)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[k - 1 :: -1], y[:k])) / beta
        y[:k] += alpha * y[k - 1 :: -1]
        y[k] = alpha
    return y


def trisolv(lower, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def trisolv_elements(lower, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        total = b[i]
        for j in range(i):
            total -= lower[i, j] * x[j]
        x[i] = total / lower[i, i]
    return x


def floyd_warshall(distance):
    for k in range(distance.shape[0]):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k, :])
    return distance


def floyd_warshall_elements(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = distance[i, k] + distance[k, j]
                if through < distance[i, j]:
                    distance[i, j] = through
    return distance


def conjugate_gradient(a, b, tolerance):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    steps = 0
    while np.sqrt(rr) > tolerance and steps < 1000:
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
        steps += 1
    return x, steps


def power_iteration(a, v, most):
    value = 0.0
    for _ in range(most):
        w = a @ v
        new = np.sqrt(w @ w)
        v = w / new
        if abs(new - value) < 1e-12 * new:
            break
        value = new
    return value, v


def kmeans(points, centres):
    k = centres.shape[0]
    labels = np.zeros(points.shape[0], dtype=np.int64)
    while True:
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        new = distance.argmin(axis=1)
        if (new == labels).all():
            return centres, labels
        labels = new
        for c in range(k):
            chosen = points[labels == c]
            if len(chosen) > 0:
                centres[c] = chosen.mean(axis=0)


def matmul_elements(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def _positive(rng, n):
    a = rng.uniform(-1.0, 1.0, (n, n))
    return (a @ a.T + n * np.eye(n),)


def _dominant(rng, n):
    return (rng.uniform(0.1, 1.0, (n, n)) + n * np.eye(n),)


def _system(rng, n):
    return np.tril(_dominant(rng, n)[0]), rng.uniform(-1.0, 1.0, n)


def _distances(rng, n):
    distance = rng.uniform(1.0, 100.0, (n, n))
    distance[np.arange(n), np.arange(n)] = 0.0
    return (distance,)


PROGRAMS = (
    LoopProgram("cholesky", cholesky, _positive, (6,), (50,), (250,)),
    LoopProgram("cholesky_elements", cholesky_elements, _positive, (5,), (20,), (80,)),
    LoopProgram("lu", lu, _dominant, (6,), (50,), (300,)),
    LoopProgram("lu_elements", lu_elements, _dominant, (5,), (20,), (80,)),
    LoopProgram("gram_schmidt", gram_schmidt, lambda r, m, n: (r.normal(size=(m, n)),), (6, 4), (60, 40), (240, 200)),
    LoopProgram("durbin", durbin, lambda r, n: (r.uniform(-0.1, 0.1, n),), (6,), (200,), (4000,)),
    LoopProgram("trisolv", trisolv, _system, (6,), (200,), (1500,)),
    LoopProgram("trisolv_elements", trisolv_elements, _system, (6,), (50,), (300,)),
    LoopProgram("floyd_warshall", floyd_warshall, _distances, (6,), (50,), (250,)),
    LoopProgram("floyd_warshall_elements", floyd_warshall_elements, _distances, (5,), (16,), (50,)),
    LoopProgram(
        "conjugate_gradient",
        conjugate_gradient,
        lambda r, n: (*_positive(r, n), r.normal(size=n), 1e-8),
        (6,),
        (40,),
        (400,),
    ),
    LoopProgram(
        "power_iteration", power_iteration, lambda r, n: (*_positive(r, n), np.ones(n), 200), (6,), (40,), (400,)
    ),
    LoopProgram(
        "kmeans",
        kmeans,
        lambda r, n, k: (r.normal(size=(n, 2)), r.normal(size=(k, 2))),
        (20, 3),
        (400, 5),
        (20_000, 8),
    ),
    LoopProgram(
        "matmul_elements",
        matmul_elements,
        lambda r, n: (r.normal(size=(n, n)), r.normal(size=(n, n))),
        (4,),
        (16,),
        (50,),
    ),
)

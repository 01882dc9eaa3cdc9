"""Loops over single elements and ints as people write them: tables, hashes, sieves, sets in arrays, walks."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.loops.program import LoopProgram


def common_subsequence(a, b):
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n):
        for j in range(m):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[n, m]


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for item in range(len(weights)):
        w = int(weights[item])
        for room in range(capacity, w - 1, -1):
            best[room] = max(best[room], best[room - w] + values[item])
    return best


def sieve(most):
    prime = np.ones(most + 1, dtype=np.bool_)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= most:
        if prime[i]:
            for j in range(i * i, most + 1, i):
                prime[j] = False
        i += 1
    count = 0
    for i in range(most + 1):
        if prime[i]:
            count += 1
    return count


def fnv_hash(data):
    found = 2166136261
    for i in range(len(data)):
        found = ((found ^ int(data[i])) * 16777619) & 0xFFFFFFFF
    return found


def tridiagonal(lower, diagonal, upper, right):
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros(n)
    x = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
    x[n - 1] = d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def union_find(n, left, right):
    parent = np.arange(n)
    sets = n
    for k in range(len(left)):
        a = left[k]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = right[k]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            sets -= 1
    return sets, parent


def run_lengths(x):
    values = np.zeros(len(x), dtype=np.int64)
    lengths = np.zeros(len(x), dtype=np.int64)
    runs = 0
    i = 0
    while i < len(x):
        j = i + 1
        while j < len(x) and x[j] == x[i]:
            j += 1
        values[runs] = x[i]
        lengths[runs] = j - i
        runs += 1
        i = j
    return values[:runs], lengths[:runs]


def life_elements(steps, world):
    rows, columns = world.shape
    new = np.zeros_like(world)
    for _ in range(steps):
        for i in range(rows):
            for j in range(columns):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            count += world[(i + di) % rows, (j + dj) % columns]
                if count == 3 or (count == 2 and world[i, j] == 1):
                    new[i, j] = 1
                else:
                    new[i, j] = 0
        for i in range(rows):
            for j in range(columns):
                world[i, j] = new[i, j]
    return world


def walk(seed, steps, size):
    visits = np.zeros((size, size), dtype=np.int64)
    state = seed
    i = j = size // 2
    for _ in range(steps):
        state = (1103515245 * state + 12345) % 2147483648
        way = (state >> 16) & 3
        if way == 0:
            i = min(i + 1, size - 1)
        elif way == 1:
            i = max(i - 1, 0)
        elif way == 2:
            j = (j + 1) % size
        else:
            j = (j - 1) % size
        visits[i, j] += 1
    return visits


def counting_sort(values, most):
    counts = np.zeros(most + 1, dtype=np.int64)
    out = np.empty_like(values)
    for i in range(len(values)):
        counts[values[i]] += 1
    total = 0
    for k in range(most + 1):
        here = counts[k]
        counts[k] = total
        total += here
    for i in range(len(values)):
        value = values[i]
        out[counts[value]] = value
        counts[value] += 1
    return out


def shortest_paths(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if distance[i, k] + distance[k, j] < distance[i, j]:
                    distance[i, j] = distance[i, k] + distance[k, j]
    return distance


def relax_rows(steps, x, right):
    n = len(x)
    for _ in range(steps):
        for i in range(n):
            left = x[i - 1] if i > 0 else 0.0
            after = x[i + 1] if i < n - 1 else 0.0
            x[i] = 0.5 * (left + after + right[i])
    return x


def _pairs(rng, n, m):
    return n, rng.integers(0, n, m), rng.integers(0, n, m)


def _bands(rng, n):
    return rng.uniform(0.1, 1.0, n), rng.uniform(4.0, 5.0, n), rng.uniform(0.1, 1.0, n), rng.normal(size=n)


PROGRAMS = (
    LoopProgram(
        "common_subsequence",
        common_subsequence,
        lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n)),
        (6,),
        (40,),
        (300,),
    ),
    LoopProgram(
        "knapsack", knapsack, lambda r, n, c: (r.integers(1, 20, n), r.random(n), c), (4, 12), (20, 100), (50, 1000)
    ),
    LoopProgram("sieve", sieve, lambda r, n: (n,), (20,), (2000,), (50_000,)),
    LoopProgram("fnv_hash", fnv_hash, lambda r, n: (r.integers(0, 256, n, dtype=np.uint8),), (6,), (2000,), (50_000,)),
    LoopProgram("tridiagonal", tridiagonal, _bands, (6,), (500,), (20_000,)),
    LoopProgram("union_find", union_find, _pairs, (6, 5), (300, 300), (10_000, 10_000)),
    LoopProgram("run_lengths", run_lengths, lambda r, n: (r.integers(0, 2, n),), (8,), (1000,), (50_000,)),
    LoopProgram(
        "life_elements", life_elements, lambda r, t, n: (t, r.integers(0, 2, (n, n))), (1, 5), (2, 16), (4, 60)
    ),
    LoopProgram("walk", walk, lambda r, n, m: (12345, n, m), (6, 5), (1000, 20), (50_000, 50)),
    LoopProgram(
        "counting_sort", counting_sort, lambda r, n, m: (r.integers(0, m, n), m), (8, 4), (1000, 50), (50_000, 500)
    ),
    LoopProgram("shortest_paths", shortest_paths, lambda r, n: (r.uniform(1.0, 99.0, (n, n)),), (4,), (16,), (50,)),
    LoopProgram(
        "relax_rows",
        relax_rows,
        lambda r, t, n: (t, r.normal(size=n), r.normal(size=n)),
        (2, 6),
        (5, 200),
        (8, 2000),
    ),
)

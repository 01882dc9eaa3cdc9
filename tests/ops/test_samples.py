"""dynamo_lite/ops/samples.py: the same numbers in each process, of which all that is asked for comes up."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from dynamo_lite.ops.samples import Samples


def test_they_are_the_same_each_time_and_go_on() -> None:
    one, same, other = Samples(3), Samples(3), Samples(4)
    first = one.words(5)
    # splitmix64 of the counter 3 << 32, computed by Python's own ints
    at, mask = (3 << 32) * 0x9E3779B97F4A7C15, (1 << 64) - 1
    at = ((at & mask) ^ ((at & mask) >> 30)) * 0xBF58476D1CE4E5B9 & mask
    at = (at ^ (at >> 27)) * 0x94D049BB133111EB & mask
    assert int(first[0]) == at ^ (at >> 31)
    assert first.tobytes() == same.words(5).tobytes() != other.words(5).tobytes()
    assert one.words(5).tobytes() != first.tobytes() and len({*first.tolist(), *one.words(995).tolist()}) == 1000


def test_how_they_are_spread() -> None:
    uniform, below, normal = Samples(1).uniform(100, 100), Samples(1).below(7, 1000), Samples(1).normal(10_000)
    assert uniform.shape == (100, 100) and uniform.min() >= 0.0 and uniform.max() < 1.0
    assert all(900 < count < 1100 for count in np.histogram(uniform, 10, (0.0, 1.0))[0])
    assert below.dtype == np.int64 and set(below.tolist()) == set(range(7))
    assert np.isfinite(normal).all() and abs(normal.mean()) < 0.05 and abs(normal.std() - 1.0) < 0.05


TRIES_OUT = """
import sys
import numpy as np
import dynamo_lite

def f(x, y):
    return np.exp(x) * y**2.5 + np.arctan2(x, y) + (x * 1j).real, np.interp(x, y, x), x[:, None].min(axis=1)

def g(x):
    total = 0.0
    for i in range(1, len(x)):
        total += np.searchsorted(x[:5], x[i]) + np.sin(x[i])
    return total

x = np.linspace(0.5, 1.5, 50)
for fn, args in ((f, (x, x + 1.0)), (g, (x,))):
    fast = dynamo_lite.compile(fn, options={"cost_model": False})
    expected, found = fn(*args), fast(*args)
    assert str(expected) == str(found) and fast.stats()["native_calls"] > 0
print(sorted(name for name in sys.modules if name.startswith("numpy.random")))
"""


def test_compiling_imports_no_random_numbers() -> None:
    done = subprocess.run([sys.executable, "-c", TRIES_OUT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")

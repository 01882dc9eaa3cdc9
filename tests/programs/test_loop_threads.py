"""Loops and other threads: nobody runs in the middle of a native loop, so that nobody's changes are missed or undone.

Each program runs in a process of its own, with a time limit: what goes wrong here is a loop that never ends. Another
thread sets a flag, changes what the loop reads, or writes to an array whose writes the loop has to undo.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import BACKENDS

HEAD = """
import sys, threading, time, warnings
import numpy as np
import dynamo_lite
OPTIONS = {"native_loops": True, "cost_model": False, "check": 0}
def compiled(fn):
    return dynamo_lite.compile(fn, backend=sys.argv[1], options=OPTIONS)
def beside(action, fn, *args):
    thread = threading.Thread(target=lambda: (time.sleep(0.1), action()))
    thread.start()
    result = fn(*args)
    thread.join()
    return result
class Box: pass
"""

STOPPED = """
STOP = False
def reads_a_global(x, n, box, event, items):
    for i in range(n):
        if STOP: break
        x *= 0.999
    return i
def reads_an_attribute(x, n, box, event, items):
    for i in range(n):
        if box.stop: break
        x *= 0.999
    return i
def asks_an_event(x, n, box, event, items):
    for i in range(n):
        if event.is_set(): break
        x *= 0.999
    return i
def reads_an_item(x, n, box, event, items):
    for i in range(n):
        if items[0]: break
        x *= 0.999
    return i
for fn in (reads_a_global, reads_an_attribute, asks_an_event, reads_an_item):
    fast, box, event, items, STOP = compiled(fn), Box(), threading.Event(), [False], False
    box.stop = False
    for _ in range(3):
        fast(np.ones(4), 20, box, event, items)
    def stop():
        global STOP
        STOP = box.stop = items[0] = True
        event.set()
    assert beside(stop, fast, np.ones(4), 10**12, box, event, items) >= 0, fn
"""

IN_A_THREAD = """
def spins(x, n, items):
    for i in range(n):
        if items[0]: break
        x *= 0.999
    return "stopped"
fast, items, done = compiled(spins), [False], []
for _ in range(3):
    fast(np.ones(4), 20, items)
thread = threading.Thread(target=lambda: done.append(fast(np.ones(4), 10**12, items)))
thread.start()
time.sleep(0.1)
items[0] = True
thread.join()
assert done == ["stopped"]
"""

NEW_VALUE = """
def reads(x, n, box, log):
    for i in range(n):
        x = x * 0.5 + box.value
    return x
fast, box = compiled(reads), Box()
box.value = 1.0
for _ in range(3):
    fast(np.ones(4), 20, box, None)
beside(lambda: setattr(box, "value", 5.0), fast, np.ones(4), 300_000, box, None)
assert fast(np.ones(4), 100, box, None).tolist() == [10.0] * 4
assert fast.stats()["native_calls"]
"""

CHANGED_MEANWHILE = """
def follows(x, n, box):
    for i in range(n):
        x[0] = box.value
        if box.value == 5.0: break
    return x
fast, box = compiled(follows), Box()
box.value = 1.0
for _ in range(3):
    fast(np.ones(4), 20, box)
assert beside(lambda: setattr(box, "value", 5.0), fast, np.ones(4), 10**12, box)[0] == 5.0
"""

KEPT_WRITE = """
warnings.simplefilter("ignore")
def overflows(x, n, late):
    s = np.float64(1.0)
    for i in range(n):
        x[0] += 1.0
        s = s * 1.0005  # overflows, with a warning, after 1.42 million iterations
    return s
fast, x = compiled(overflows), np.zeros(4)
for _ in range(3):
    fast(np.zeros(4), 20, None)
beside(lambda: x.__setitem__(1, 7.0), fast, x, 1_500_000, None)
assert x.tolist() == [1_500_000.0, 7.0, 0.0, 0.0], x
"""

BIG_ARRAYS = """
def halves(x, y, n, box):
    for i in range(n):
        if box.stop: break
        x *= 0.999
        y[0] = x.sum()
    return i
fast, box = compiled(halves), Box()
box.stop = False
for _ in range(3):
    fast(np.ones(200_000), np.ones(2), 3, box)
x, y = np.ones(200_000), np.zeros(2)
def stop():
    y[1] = 7.0
    box.stop = True
assert beside(stop, fast, x, y, 10**12, box) >= 0 and y[1] == 7.0
"""

CALLS = """
def multiplies(m, y, n, box):
    for i in range(n):
        if box.stop: break
        m = m @ m
        y[0] += 1.0
    return i
fast, box = compiled(multiplies), Box()
box.stop = False
for _ in range(3):
    fast(np.eye(3), np.zeros(2), 20, box)
y = np.zeros(2)
def stop():
    y[1] = 7.0
    box.stop = True
count = beside(stop, fast, np.eye(3), y, 10**12, box)
assert y.tolist() == [float(count), 7.0]
"""

SCRIPTS = {
    "stopped": STOPPED,
    "stopped in a thread": IN_A_THREAD,
    "new value": NEW_VALUE,
    "changed meanwhile": CHANGED_MEANWHILE,
    "kept write": KEPT_WRITE,
    "big arrays": BIG_ARRAYS,
    "calls": CALLS,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_threads(name: str, backend: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", HEAD + SCRIPTS[name], backend], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr

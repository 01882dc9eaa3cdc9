"""Frozen objects stay as they are; all others are collected as ever."""

import gc
import sys
import threading
import weakref
from functools import partial

import pytest

from dynamo_lite import _C, budget


class Node:
    """What a cycle is made of."""

    def __init__(self) -> None:
        self.me = self


def is_listed(wanted: object) -> bool:
    """Whether the collector knows an object."""
    return any(one is wanted for one in gc.get_objects())


def test_what_a_call_makes_is_not_collected_where_the_collector_has_lists() -> None:
    assert bool(_C.FREEZES) == (sys.version_info < (3, 14))
    kept = bool(_C.FREEZES)
    before = Node()
    made = _C.freeze_made_by(lambda: [Node() for _ in range(5)])
    after = Node()
    assert gc.isenabled()
    assert [is_listed(one) for one in (before, made[0], made[4], made, after)] == [True, *[not kept] * 3, True]
    refs = [weakref.ref(one) for one in (before, *made, after)]
    del before, made, after
    gc.collect()
    assert [ref() is None for ref in refs] == [True, *[not kept] * 5, True]


def test_a_frozen_object_keeps_what_it_refers_to_and_may_be_freed() -> None:
    user = Node()
    holder = _C.freeze_made_by(partial(dict, user=user))
    ref = weakref.ref(user)
    user.me = None  # type: ignore[assignment]
    del user
    gc.collect()
    assert ref() is not None
    del holder
    assert ref() is None


def test_nothing_is_frozen_where_somebody_collects_meanwhile() -> None:
    def collects() -> list[Node]:
        made = [Node()]
        gc.collect()
        return made

    made = _C.freeze_made_by(collects)
    assert is_listed(made[0])


def test_nothing_is_frozen_while_other_threads_run() -> None:
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    try:
        made = _C.freeze_made_by(lambda: [Node()])
        assert is_listed(made[0])
    finally:
        go_on.set()
        thread.join()


def test_an_exception_passes_and_the_collector_goes_on() -> None:
    def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        _C.freeze_made_by(fails)
    assert gc.isenabled()
    gc.disable()
    try:
        _C.freeze_made_by(list)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_collected_while_something_is_compiled() -> None:
    with budget.timed():
        with budget.timed():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with budget.timed():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

"""The fixture of tests that install the frame hook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynamo_lite import _C


@pytest.fixture
def leave_no_hook(no_mode: None) -> Iterator[None]:
    yield
    _C.set_frame_callback(None)
    _C.set_rewrite_callback(None)
    _C.set_stress(None)
    _C.hook_disable()
    assert not _C.hook_installed()

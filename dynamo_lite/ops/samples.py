"""Numbers to try NumPy's functions out with: the same in each process, and spread like random ones.

NB: numpy.random is not used, which NumPy imports when it is first asked for it: 25 ms of a first call, in programs
that draw nothing. These are splitmix64's: a counter whose bits are mixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_STEP, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class Samples:
    """A stream of them. seed: which one."""

    def __init__(self, seed: int) -> None:
        self._taken = seed << 32

    def words(self, *shape: int) -> Array:
        """64 bits each, as uint64."""
        count = int(np.prod(shape))
        mixed = np.arange(self._taken, self._taken + count, dtype=np.uint64) * _STEP
        self._taken += count
        for shift, factor in ((30, _FIRST), (27, _SECOND)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
        return (mixed ^ (mixed >> np.uint64(31))).reshape(shape)

    def uniform(self, *shape: int) -> Array:
        """Doubles from 0 to 1, without 1."""
        return (self.words(*shape) >> np.uint64(11)) * 2.0**-53

    def below(self, limit: int, *shape: int) -> Array:
        """Numbers from 0 to limit, without limit, as int64."""
        return (self.words(*shape) % np.uint64(limit)).astype(np.int64)

    def normal(self, *shape: int) -> Array:
        """Doubles of the normal distribution."""
        radius = np.sqrt(-2.0 * np.log(1.0 - self.uniform(*shape)))
        angle: Array = np.cos(2.0 * np.pi * self.uniform(*shape))
        return radius * angle

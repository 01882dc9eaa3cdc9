"""Quotients by a number that is known, in kernels: by products with its inverse, where that gives the very bits.

    x / by  =  x * high + x * low, the sum rounded once     high: 1 / by, cut off; low: what that lacks, rounded

A division takes the processor as long as ten products. With p bits of precision, by = M 2^k and x = X 2^l (M and X of p
bits), the sum errs by less than 2^(2 - 2p) x / by before it is rounded. So it is rounded as the quotient is unless that
lies as near to the middle of two floats, which means that X 2^p or X 2^(p + 1) leaves at most 3 more, or less, than a
multiple of M. Of an odd M there are a few such X, of twice an odd number, too, of others none: `inverse_of` tries them
out. (After N. Brisebarre, J.-M. Muller and S. K. Raina, Accelerating correctly rounded floating-point division when the
divisor is known in advance, IEEE Transactions on Computers 53, 2004, where high is rounded. Cut off it has the sign of
low, so that -0.0, infinities and NaNs are kept as they are, too.)

INVARIANT: what the steps compute is the quotient, or they set the underflow flag, as each product does that is too
small for all of its digits. The program declines then, and divides from the next run on (csrc/program/errstate.c).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from dynamo_lite.schedule.steps import DType

BITS = {"f": 24, "d": 53}
LARGEST = 2.0**60  # such a number has an inverse of which the low part is a normal float32


def inverse_of(number: float, dtype: DType) -> tuple[float, float] | None:
    """The parts of the number's inverse, None if a quotient by it is to be divided."""
    features: dict[str, bool] = getattr(_multiarray_umath, "__cpu_features__", {})
    if dtype.char not in BITS or not features.get("FMA3", False) or not 1 / LARGEST <= abs(number) <= LARGEST:
        return None
    return _inverse_of(float(dtype.type(number)), BITS[dtype.char])


@functools.cache
def _inverse_of(number: float, bits: int) -> tuple[float, float] | None:
    by, scale = Fraction(abs(number)), Fraction(1)
    while by * scale < 1 << (bits - 1):
        scale *= 2
    while by * scale >= 1 << bits:
        scale /= 2
    parts = parts_of(int(by * scale), bits)
    if parts is None:
        return None
    high, low = (float(part * scale) for part in parts)
    return (high, low) if number > 0 else (-high, -low)


def parts_of(m: int, bits: int) -> tuple[Fraction, Fraction] | None:
    """The parts of the inverse of an integer of so many bits, None if it is a power of 2, or some quotient by it would
    be rounded another way."""
    exponent = 2 * bits - 1
    cut, rest = divmod(1 << exponent, m)
    if rest == 0:
        return None
    high = Fraction(cut, 1 << exponent)
    low = rounded(Fraction(rest, m << exponent), bits)
    good = all(
        rounded(x * high + rounded(x * low, bits), bits) == rounded(Fraction(x, m), bits) for x in _doubtful(m, bits)
    )
    return (high, low) if good else None


def _doubtful(m: int, bits: int) -> Iterator[int]:
    """All integers of so many bits whose quotients by m lie next to the middle of two floats, and some others."""
    odd = m >> ((m & -m).bit_length() - 1)
    if m // odd > 2 or odd == 1:
        return
    for power in (bits, bits + 1):
        inverse = pow(1 << power, -1, odd)
        for left in (1, 2, 3):
            for first in (left * inverse % odd, -left * inverse % odd):
                x = first + -(-((1 << (bits - 1)) - first) // odd) * odd
                while x < 1 << bits:
                    yield x
                    x += odd


def rounded(x: Fraction, bits: int) -> Fraction:
    """A positive number with so many bits, to the nearest, of two the even one."""
    shift = x.numerator.bit_length() - x.denominator.bit_length() - bits
    scaled = x / Fraction(2) ** shift
    if scaled >= 1 << bits:
        shift, scaled = shift + 1, scaled / 2
    elif scaled < 1 << (bits - 1):
        shift, scaled = shift - 1, scaled * 2
    return round(scaled) * Fraction(2) ** shift

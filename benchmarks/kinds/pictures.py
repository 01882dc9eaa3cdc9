"""Pictures: a pyramid of scales, and conversions of colours over (h, w, 3)."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.kinds.program import KindProgram, square


def blur(image):
    """Binomial weights along both axes, the edges repeated by slices."""
    rows = image.copy()
    rows[2:-2] = (image[:-4] + 4.0 * image[1:-3] + 6.0 * image[2:-2] + 4.0 * image[3:-1] + image[4:]) / 16.0
    out = rows.copy()
    out[:, 2:-2] = (rows[:, :-4] + 4.0 * rows[:, 1:-3] + 6.0 * rows[:, 2:-2] + 4.0 * rows[:, 3:-1] + rows[:, 4:]) / 16.0
    return out


def spread(image, shape):
    big = np.zeros(shape)
    big[::2, ::2] = image
    big[1::2, ::2] = image
    big[::2, 1::2] = image
    big[1::2, 1::2] = image
    return blur(big)


def image_pyramid(image):
    """Three levels of details, sharpened, put together again."""
    levels = []
    current = image
    for _ in range(3):
        smaller = blur(current)[::2, ::2]
        levels.append(current - spread(smaller, current.shape))
        current = smaller
    for detail in reversed(levels):
        current = spread(current, detail.shape) + 1.3 * detail
    return np.clip(current, 0.0, 1.0)


# Rows of a matrix, and the white point.
TO_XYZ = ((0.4124, 0.3576, 0.1805, 0.95), (0.2126, 0.7152, 0.0722, 1.0), (0.0193, 0.1192, 0.9505, 1.09))


def linear(channel):
    return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)


def curve(value):
    return np.where(value > 0.008856, np.cbrt(value), 7.787 * value + 16.0 / 116.0)


def rgb_to_lab(image):
    """A colour matrix by elements, channel by channel, and curves with two branches."""
    out = np.empty_like(image)
    r, g, b = (linear(image[..., channel]) for channel in range(3))
    x, y, z = (curve((row[0] * r + row[1] * g + row[2] * b) / row[3]) for row in TO_XYZ)
    out[..., 0] = 116.0 * y - 16.0
    out[..., 1] = 500.0 * (x - y)
    out[..., 2] = 200.0 * (y - z)
    return out


def grade(image, lift, gamma, gain, saturation):
    """Rows of three numbers, broadcast over the last axis; grey values kept apart."""
    graded = np.clip(image * gain + lift * (1.0 - image), 0.0, 1.0) ** (1.0 / gamma)
    grey = 0.2126 * graded[:, :, 0] + 0.7152 * graded[:, :, 1] + 0.0722 * graded[:, :, 2]
    graded = grey[:, :, np.newaxis] + saturation * (graded - grey[:, :, np.newaxis])
    vivid = np.max(graded, axis=2) - np.min(graded, axis=2)
    return np.clip(graded, 0.0, 1.0), vivid


def normalise(image, mean, deviation):
    """What goes into a network: bytes to numbers, by channel."""
    return (image / 255.0 - mean) / deviation


def edges(image):
    """Sobel's gradients of an image with its edges padded, the direction in four steps, weak ones suppressed."""
    p = np.pad(image, 1, mode="edge")
    gx = (p[:-2, 2:] + 2.0 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2.0 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2.0 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2.0 * p[:-2, 1:-1] + p[:-2, 2:])
    strength = np.sqrt(gx * gx + gy * gy)
    s = np.pad(strength, 1)
    level = np.abs(gy) <= 0.4142 * np.abs(gx)
    steep = np.abs(gy) >= 2.4142 * np.abs(gx)
    rising = ~level & ~steep & (gx * gy > 0.0)
    ahead = np.where(level, s[1:-1, 2:], np.where(steep, s[2:, 1:-1], np.where(rising, s[2:, 2:], s[2:, :-2])))
    back = np.where(level, s[1:-1, :-2], np.where(steep, s[:-2, 1:-1], np.where(rising, s[:-2, :-2], s[:-2, 2:])))
    return np.where((strength >= ahead) & (strength >= back), strength, 0.0)


def _picture(rng, elements):
    n = square(elements, 3)
    return rng.random((n, n, 3))


def _rows(rng):
    return rng.uniform(0.0, 0.1, 3), rng.uniform(0.8, 1.2, 3), rng.uniform(0.8, 1.2, 3)


PROGRAMS = (
    KindProgram("image_pyramid", image_pyramid, lambda rng, n: (rng.random((square(n) // 8 * 8, square(n) // 8 * 8)),)),
    KindProgram("rgb_to_lab", rgb_to_lab, lambda rng, n: (_picture(rng, n),)),
    KindProgram("grade", grade, lambda rng, n: (_picture(rng, n), *_rows(rng), 1.2)),
    KindProgram(
        "normalise",
        normalise,
        lambda rng, n: (rng.integers(0, 256, (square(n, 3), square(n, 3), 3), dtype=np.uint8), *_rows(rng)[:2]),
    ),
    KindProgram("edges", edges, lambda rng, n: (rng.random((square(n), square(n))),)),
)

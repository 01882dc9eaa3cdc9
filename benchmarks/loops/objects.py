"""Loops over objects of small classes, and short lists, of which each step makes new ones: vectors, quaternions, dual
numbers, states. Plainly nearly all of the time goes into making them."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from benchmarks.loops.program import LoopProgram


class Vector:
    """Three numbers."""

    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other):
        """The scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        """In this direction, of length 1."""
        return self * (1.0 / math.sqrt(self.dot(self)))


class Sphere:
    """All points at one distance of a centre."""

    def __init__(self, centre, radius):
        self.centre = centre
        self.radius = radius

    def met(self, origin, direction):
        """How far along a ray it is met first; None if it is not."""
        there = origin - self.centre
        b = there.dot(direction)
        discriminant = b * b - there.dot(there) + self.radius * self.radius
        if discriminant < 0.0:
            return None
        return -b - math.sqrt(discriminant)


class Quaternion:
    """Four numbers in slots."""

    __slots__ = ("w", "x", "y", "z")

    def __init__(self, w, x, y, z):
        self.w = w
        self.x = x
        self.y = y
        self.z = z

    def __mul__(self, o):
        return Quaternion(
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        )


class Dual:
    """A number and its derivative."""

    def __init__(self, value, slope):
        self.value = value
        self.slope = slope

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __mul__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)
        return Dual(self.value * other, self.slope * other)


class Body:
    """A place and a speed."""

    def __init__(self, place, speed):
        self.place = place
        self.speed = speed


class Charged(Body):
    """One with a charge."""

    def __init__(self, place, speed, charge):
        super().__init__(place, speed)
        self.charge = charge


def kepler_vectors(n):
    place, speed = Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.1)
    for _ in range(n):
        r = math.sqrt(place.dot(place))
        speed = speed + place * (-0.001 / r**3)
        place = place + speed * 0.001
    return place.x, place.y, place.z


def traced_sphere(image):
    sphere, origin = Sphere(Vector(0.0, 0.0, 5.0), 1.5), Vector(0.0, 0.0, 0.0)
    height, width = image.shape
    for j in range(height):
        for i in range(width):
            direction = Vector(i / width - 0.5, j / height - 0.5, 1.0).unit()
            t = sphere.met(origin, direction)
            if t is not None:
                normal = (origin + direction * t - sphere.centre).unit()
                image[j, i] = max(0.0, -normal.dot(direction))
    return image


def turned_quaternion(n):
    q, d = Quaternion(1.0, 0.0, 0.0, 0.0), Quaternion(math.cos(0.01), math.sin(0.01), 0.0, 0.0)
    for _ in range(n):
        q = q * d
    return q.w, q.x, q.y, q.z


def dual_newton(n):
    x = 1.5
    for _ in range(n):
        d = Dual(x, 1.0)
        f = d * d * d + d * -2.0 + -5.0
        x = x - 0.01 * f.value / f.slope
    return x


def charged_bodies(n):
    one = Charged(Vector(1.0, 0.0, 0.0), Vector(0.0, 0.5, 0.0), 1.0)
    other = Charged(Vector(-1.0, 0.0, 0.0), Vector(0.0, -0.5, 0.0), -1.0)
    for _ in range(n):
        apart = one.place - other.place
        force = apart * (one.charge * other.charge * 0.001 / (apart.dot(apart) + 0.01))
        one = Charged(one.place + one.speed * 0.001, one.speed + force, one.charge)
        other = Charged(other.place + other.speed * 0.001, other.speed - force, other.charge)
    return one.place.x, other.speed.y


def listed_oscillators(n):
    state = [1.0, 0.0, 0.5, -0.5]
    for _ in range(n):
        slope = [state[1], -state[0], state[3], -2.0 * state[2]]
        state = [s + 0.001 * d for s, d in zip(state, slope, strict=True)]
    return state


SIZES = (3,), (2_000,), (100_000,)
PROGRAMS = (
    LoopProgram("kepler_vectors", kepler_vectors, lambda r, n: (n,), *SIZES),
    LoopProgram("traced_sphere", traced_sphere, lambda r, n: (np.zeros((n, n)),), (3,), (40,), (200,)),
    LoopProgram("turned_quaternion", turned_quaternion, lambda r, n: (n,), *SIZES),
    LoopProgram("dual_newton", dual_newton, lambda r, n: (n,), *SIZES),
    LoopProgram("charged_bodies", charged_bodies, lambda r, n: (n,), *SIZES),
    LoopProgram("listed_oscillators", listed_oscillators, lambda r, n: (n,), *SIZES),
)

"""Ocean models: an equation of state, mixing of tracers, a turbulence closure, shallow water."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np

from benchmarks.kinds.program import KindProgram, square

# Coefficients of equation_of_state: constants of a module, as such code has them. They are of the size of real ones,
# and of no real fluid.
A00 = 1.32122305
A01 = 1.23750433
A02 = 0.985513753
A03 = 0.597220967
A04 = -0.133701057
A05 = -0.442896274
A06 = 0.224609907
A07 = 0.0323208342
A08 = 0.102484736
A09 = -0.153828194
A10 = 0.0307457679
A11 = -0.0215278891
A12 = 0.0155418691
A13 = 0.0537131643
A14 = 0.0120556876
A15 = 0.0305603667
B00 = 0.265550097
B01 = 0.0869981286
B02 = 0.101041692
B03 = 0.0345068125
B04 = -0.0963500053
B05 = -0.0277998013
B06 = 0.0270622701
B07 = -0.0146320746
B08 = 0.012211144
B09 = -0.0158795612
B10 = -0.00301762049
B11 = -0.0120136096
B12 = 0.00791631239
B13 = 0.00440480944
B14 = 0.000948336757
B15 = -0.00453738325
C00 = 0.04301964
C01 = -0.022535798
C02 = 0.0123594724
C03 = 0.0110774629
C04 = 0.0109495414
C05 = 0.00260129077
C06 = -0.00892412798
C07 = -0.00296274415
C08 = -0.00495301121
C09 = 0.00331891508
C10 = -0.00198999856
C11 = 0.00209095512
C12 = 0.000888958524
C13 = -0.000396106361
D00 = 0.00926278467
D01 = 0.00264067483
D02 = -0.00219360773
D03 = 0.0016393525
D04 = -0.0021991252
D05 = 0.00250448675
D06 = 0.00142550553
D07 = -0.0014281367
D08 = -0.00014105516
D09 = -0.000701730781
D10 = 0.000432754584
D11 = 7.18598506e-05
D12 = -0.000298267891
D13 = 0.000235372626


def equation_of_state(salt, temp, pressure):
    """Density, its derivatives and an enthalpy: quotients of polynomials in salt, its root, temperature, pressure."""
    s = salt / 40.0
    t = (temp + 2.0) / 32.0
    p = pressure
    r = np.sqrt(s)
    # the quotient a(p) / b(p), both of second degree in the pressure
    a0 = (
        28.0 + A00 + t * (A01 + t * (A02 + t * (A03 + A04 * t))) + s * (A05 + t * (A06 + t * (A07 + A08 * t)) + A09 * s)
    )
    a0 = a0 + r * s * (A10 + A11 * t)
    a1 = 0.4 + A12 * t * t + A13 * s + A14 * t * s
    a2 = 0.01 + A15 * t * s
    b0 = 1.0 + B00 + t * (B01 + t * (B02 + t * (B03 + B04 * t))) + s * (B05 + t * (B06 + B07 * t * t))
    b0 = b0 + s * r * (B08 + B09 * t * t)
    b1 = 1.0 + B10 * t + B11 * s + B12 * t * t * t
    b2 = 0.05 + B13 * t + B14 * s * t + B15 * r * r
    above = a0 + p * (a1 + p * a2)
    below = b0 + p * (b1 + p * b2)
    density = above / below
    # derivatives by temperature
    a0_t = A01 + t * (2.0 * A02 + t * (3.0 * A03 + 4.0 * A04 * t)) + s * (A06 + t * (2.0 * A07 + 3.0 * A08 * t))
    a0_t = a0_t + r * s * A11
    a1_t = 2.0 * A12 * t + A14 * s
    a2_t = A15 * s
    b0_t = B01 + t * (2.0 * B02 + t * (3.0 * B03 + 4.0 * B04 * t)) + s * (B06 + 3.0 * B07 * t * t)
    b0_t = b0_t + 2.0 * B09 * s * r * t
    b1_t = B10 + 3.0 * B12 * t * t
    b2_t = B13 + B14 * s
    above_t = a0_t + p * (a1_t + p * a2_t)
    below_t = b0_t + p * (b1_t + p * b2_t)
    expansion = -(above_t - density * below_t) / (below * density * 32.0)
    # derivatives by salt
    a0_s = A05 + t * (A06 + t * (A07 + A08 * t)) + 2.0 * A09 * s + 1.5 * r * (A10 + A11 * t)
    a1_s = A13 + A14 * t
    a2_s = A15 * t
    b0_s = B05 + t * (B06 + B07 * t * t) + 1.5 * r * (B08 + B09 * t * t)
    b1_s = B11
    b2_s = B14 * t + B15
    above_s = a0_s + p * (a1_s + p * a2_s)
    below_s = b0_s + p * (b1_s + p * b2_s)
    contraction = (above_s - density * below_s) / (below * density * 40.0)
    # correction of the compressibility
    c0 = C00 + t * (C01 + t * (C02 + t * (C03 + t * (C04 + C05 * t)))) + s * (C06 + t * (C07 + C08 * t)) + r * s * C09
    c1 = C10 + t * (C11 + C12 * t) + C13 * s
    c0_t = C01 + t * (2.0 * C02 + t * (3.0 * C03 + t * (4.0 * C04 + 5.0 * C05 * t))) + s * (C07 + 2.0 * C08 * t)
    c1_t = C11 + 2.0 * C12 * t
    stiff = c0 + p * c1
    stiff_t = c0_t + p * c1_t
    # the integral of the volume over the pressure, with the roots of the denominator
    half = 0.5 * b1
    root = np.sqrt(np.abs(half * half - b0 * b2) + 1e-3)
    low = half - root
    high = half + root
    d0 = D00 + t * (D01 + t * (D02 + D03 * t)) + s * (D04 + t * (D05 + D06 * t)) + r * s * (D07 + D08 * t)
    d1 = D09 + t * (D10 + t * D11) + s * (D12 + D13 * t)
    ratio_low = 1.0 + p * b2 / (low * low + 0.1)
    ratio_high = 1.0 + p * b2 * b2 / (high * high + 0.1)
    part_low = d0 + 0.5 * d1 * (low + b1)
    part_high = d0 - 0.5 * d1 * (high - b1)
    enthalpy = 3.9 * temp + part_low * np.log(np.abs(ratio_low)) / (2.0 * root)
    enthalpy = enthalpy - part_high * np.log(np.abs(ratio_high)) / (2.0 * root)
    enthalpy = enthalpy + p * (c0 / 2.0 + p * (c1 / 3.0)) + 0.01 * stiff * stiff_t
    density = density * (1.0 + stiff * p * 1e-3)
    speed = np.sqrt(np.abs(a1 * below - above * b1) + 1e-6) / (below + 0.5)
    return density, expansion + stiff_t * 1e-5, contraction, enthalpy, speed


def tracer_mixing(tracer, salt, mask, mask_east, mask_north, mask_top, dx, dy, dz, depth, diffusivity, slope_limit):
    """Fluxes along surfaces of density, with limited slopes, over arrays (n, n, k)."""
    nx, ny, nz = tracer.shape
    small = 1e-20
    smooth = 0.001

    def taper(slope):
        """Uses variables of the function around it."""
        return 0.5 * (1.0 + np.tanh((-np.abs(slope) + slope_limit) / smooth))

    density_t = (-0.2 + 0.01 * tracer - 0.0002 * depth) * mask
    density_s = (0.8 + 0.001 * salt) * mask

    east_t = np.zeros_like(tracer)
    east_s = np.zeros_like(tracer)
    north_t = np.zeros_like(tracer)
    north_s = np.zeros_like(tracer)
    down_t = np.zeros_like(tracer)
    down_s = np.zeros_like(tracer)
    east_t[:-1] = mask_east[:-1] * (tracer[1:] - tracer[:-1]) / dx[:-1, np.newaxis, np.newaxis]
    east_s[:-1] = mask_east[:-1] * (salt[1:] - salt[:-1]) / dx[:-1, np.newaxis, np.newaxis]
    north_t[:, :-1] = mask_north[:, :-1] * (tracer[:, 1:] - tracer[:, :-1]) / dy[np.newaxis, :-1, np.newaxis]
    north_s[:, :-1] = mask_north[:, :-1] * (salt[:, 1:] - salt[:, :-1]) / dy[np.newaxis, :-1, np.newaxis]
    down_t[:, :, :-1] = mask_top[:, :, :-1] * (tracer[:, :, 1:] - tracer[:, :, :-1]) / dz[np.newaxis, np.newaxis, :-1]
    down_s[:, :, :-1] = mask_top[:, :, :-1] * (salt[:, :, 1:] - salt[:, :, :-1]) / dz[np.newaxis, np.newaxis, :-1]

    def quarters(gradient_t, gradient_s, vertical_t, vertical_s, other, own, left, right):
        """The slope of a pair of neighbours, and the diffusivity that it leaves."""
        across = density_t[own] * gradient_t + density_s[own] * gradient_s
        along = density_t[other] * vertical_t + density_s[other] * vertical_s
        slope = -across / (np.minimum(0.0, along) - small)
        kept = taper(slope)
        return slope, diffusivity[own] * kept * left * right

    stiffness = np.zeros_like(tracer)
    flux_east = np.zeros_like(tracer)
    flux_north = np.zeros_like(tracer)
    flux_top = np.zeros_like(tracer)

    inner = slice(1, -1)
    for shift_x in range(2):
        for shift_z in range(2):
            here = (slice(shift_x, nx - 2 + shift_x), inner, slice(1, -1))
            above = (slice(1, -1), inner, slice(shift_z, nz - 2 + shift_z))
            slope, kept = quarters(
                east_t[here], east_s[here], down_t[above], down_s[above], above, here, mask[here], mask[above]
            )
            flux_east[1:-1, 1:-1, 1:-1] += 0.25 * kept * (east_t[here] - slope * down_t[above])
            stiffness[1:-1, 1:-1, 1:-1] += 0.25 * kept * slope**2
            flux_top[1:-1, 1:-1, 1:-1] -= 0.25 * kept * slope * east_t[here]
    for shift_y in range(2):
        for shift_z in range(2):
            here = (inner, slice(shift_y, ny - 2 + shift_y), slice(1, -1))
            above = (inner, slice(1, -1), slice(shift_z, nz - 2 + shift_z))
            slope, kept = quarters(
                north_t[here], north_s[here], down_t[above], down_s[above], above, here, mask[here], mask[above]
            )
            flux_north[1:-1, 1:-1, 1:-1] += 0.25 * kept * (north_t[here] - slope * down_t[above])
            stiffness[1:-1, 1:-1, 1:-1] += 0.25 * kept * slope**2
            flux_top[1:-1, 1:-1, 1:-1] -= 0.25 * kept * slope * north_t[here]

    flux_east *= mask_east
    flux_north *= mask_north
    flux_top *= mask_top
    change = np.zeros_like(tracer)
    change[1:-1, 1:-1, 1:-1] = (
        (flux_east[1:-1, 1:-1, 1:-1] - flux_east[:-2, 1:-1, 1:-1]) / dx[1:-1, np.newaxis, np.newaxis]
        + (flux_north[1:-1, 1:-1, 1:-1] - flux_north[1:-1, :-2, 1:-1]) / dy[np.newaxis, 1:-1, np.newaxis]
        + (flux_top[1:-1, 1:-1, 1:-1] - flux_top[1:-1, 1:-1, :-2]) / dz[np.newaxis, np.newaxis, 1:-1]
    )
    change[:, :, 0] = flux_top[:, :, 0] / dz[0] * mask[:, :, 0]
    change[:, :, -1] = -flux_top[:, :, -2] / dz[-1] * mask[:, :, -1]
    return tracer + change * mask, stiffness * mask, flux_east, flux_north, flux_top


def turbulence_closure(energy, u, v, buoyancy, mask, stress, dz, dt):
    """One implicit step of turbulent kinetic energy: mixing lengths, sources, a tridiagonal system for each column."""
    nz = energy.shape[2]
    kept = np.maximum(energy, 1e-6)
    root = np.sqrt(kept)
    stable = np.maximum(buoyancy, 1e-12)
    length = np.sqrt(2.0) * root / np.sqrt(stable)
    for k in range(1, nz):
        length[:, :, k] = np.minimum(length[:, :, k], length[:, :, k - 1] + dz[k])
    for k in range(nz - 2, -1, -1):
        length[:, :, k] = np.minimum(length[:, :, k], length[:, :, k + 1] + dz[k])
    length = np.maximum(length, 1e-2)
    viscosity = np.minimum(0.1 * length * root, 100.0) * mask
    richardson = np.zeros_like(energy)
    shear = np.zeros_like(energy)
    shear[:, :, :-1] = ((u[:, :, 1:] - u[:, :, :-1]) / dz[:-1]) ** 2 + ((v[:, :, 1:] - v[:, :, :-1]) / dz[:-1]) ** 2
    richardson[:, :, :-1] = buoyancy[:, :, :-1] / np.maximum(shear[:, :, :-1], 1e-9)
    prandtl = np.clip(6.6 * richardson, 1.0, 10.0)
    diffusivity = np.maximum(viscosity / prandtl, 1e-5)

    lower = np.zeros_like(energy)
    diagonal = np.zeros_like(energy)
    upper = np.zeros_like(energy)
    between = np.zeros_like(energy)
    between[:, :, :-1] = dt * 0.5 * (viscosity[:, :, 1:] + viscosity[:, :, :-1]) / dz[1:]
    lower[:, :, 1:] = -between[:, :, :-1] / dz[1:]
    upper[:, :, :-1] = -between[:, :, :-1] / dz[:-1]
    diagonal[:, :, 1:-1] = 1.0 + (between[:, :, 1:-1] + between[:, :, :-2]) / dz[1:-1]
    diagonal[:, :, 0] = 1.0 + between[:, :, 0] / dz[0]
    diagonal[:, :, -1] = 1.0 + between[:, :, -2] / dz[-1]
    diagonal += dt * 0.7 * root / length
    source = kept + dt * (viscosity * shear - diffusivity * buoyancy)
    source[:, :, -1] += dt * stress**1.5 / dz[-1]
    off = mask < 0.5
    lower = np.where(off, 0.0, lower)
    upper = np.where(off, 0.0, upper)
    diagonal = np.where(off, 1.0, diagonal)
    source = np.where(off, 0.0, source)

    ahead = np.zeros_like(energy)
    values = np.zeros_like(energy)
    ahead[:, :, 0] = upper[:, :, 0] / diagonal[:, :, 0]
    values[:, :, 0] = source[:, :, 0] / diagonal[:, :, 0]
    for k in range(1, nz):
        pivot = 1.0 / (diagonal[:, :, k] - lower[:, :, k] * ahead[:, :, k - 1])
        ahead[:, :, k] = upper[:, :, k] * pivot
        values[:, :, k] = (source[:, :, k] - lower[:, :, k] * values[:, :, k - 1]) * pivot
    for k in range(nz - 2, -1, -1):
        values[:, :, k] -= ahead[:, :, k] * values[:, :, k + 1]
    lost = np.minimum(values[:, :, -1], 0.0) * dz[-1]
    values[:, :, -1] = np.maximum(values[:, :, -1], 0.0)
    return values, viscosity, diffusivity, lost


def shallow_water(h, u, v, bottom, dx, dt, gravity, coriolis, friction):
    """One step of the rotating shallow water equations on a staggered grid, with slices and walls."""
    deep = h + bottom
    h_east = np.zeros_like(h)
    h_north = np.zeros_like(h)
    h_east[:, :-1] = 0.5 * (deep[:, 1:] + deep[:, :-1])
    h_north[:-1, :] = 0.5 * (deep[1:, :] + deep[:-1, :])
    flux_x = h_east * u
    flux_y = h_north * v
    new_h = h.copy()
    new_h[1:-1, 1:-1] = h[1:-1, 1:-1] - dt * (
        (flux_x[1:-1, 1:-1] - flux_x[1:-1, :-2]) / dx + (flux_y[1:-1, 1:-1] - flux_y[:-2, 1:-1]) / dx
    )
    kinetic = np.zeros_like(h)
    kinetic[1:, 1:] = 0.25 * (u[1:, 1:] ** 2 + u[1:, :-1] ** 2 + v[1:, 1:] ** 2 + v[:-1, 1:] ** 2)
    spin = np.zeros_like(h)
    spin[:-1, :-1] = (v[:-1, 1:] - v[:-1, :-1]) / dx - (u[1:, :-1] - u[:-1, :-1]) / dx + coriolis
    head = gravity * new_h + kinetic
    v_mean = 0.25 * (flux_y[1:-1, 1:-1] + flux_y[:-2, 1:-1] + flux_y[1:-1, 2:] + flux_y[:-2, 2:])
    u_mean = 0.25 * (flux_x[1:-1, 1:-1] + flux_x[1:-1, :-2] + flux_x[2:, 1:-1] + flux_x[2:, :-2])
    new_u = np.zeros_like(u)
    new_v = np.zeros_like(v)
    new_u[1:-1, 1:-1] = u[1:-1, 1:-1] + dt * (
        0.5 * (spin[1:-1, 1:-1] + spin[:-2, 1:-1]) * v_mean / h_east[1:-1, 1:-1]
        - (head[1:-1, 2:] - head[1:-1, 1:-1]) / dx
        + friction * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4.0 * u[1:-1, 1:-1]) / dx**2
    )
    new_v[1:-1, 1:-1] = v[1:-1, 1:-1] + dt * (
        -0.5 * (spin[1:-1, 1:-1] + spin[1:-1, :-2]) * u_mean / h_north[1:-1, 1:-1]
        - (head[2:, 1:-1] - head[1:-1, 1:-1]) / dx
        + friction * (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1] - 4.0 * v[1:-1, 1:-1]) / dx**2
    )
    new_u[:, -2:] = 0.0
    new_v[-2:, :] = 0.0
    return new_h, new_u, new_v


DEPTH = 20


def _state(rng, elements):
    n = square(elements, DEPTH)
    return (
        rng.uniform(0.1, 40.0, (n, n, DEPTH)),
        rng.uniform(-1.0, 29.0, (n, n, DEPTH)),
        rng.uniform(0, 5, (1, 1, DEPTH)),
    )


def _mask(rng, *shape):
    return (rng.random(shape) > 0.1).astype(np.float64)


def _mixing(rng, elements):
    n, shape = square(elements, DEPTH), (square(elements, DEPTH), square(elements, DEPTH), DEPTH)
    masks = [_mask(rng, *shape) for _ in range(4)]
    depth = np.linspace(10.0, 5000.0, DEPTH)
    spaces = rng.uniform(0.9, 1.1, n) * 1e4, rng.uniform(0.9, 1.1, n) * 1e4, rng.uniform(10, 90, DEPTH)
    return (
        rng.uniform(0, 20, shape),
        rng.uniform(30, 36, shape),
        *masks,
        *spaces,
        depth,
        rng.uniform(1, 9, shape),
        0.004,
    )


def _closure(rng, elements):
    shape = square(elements, DEPTH), square(elements, DEPTH), DEPTH
    energy, u, v, buoyancy = rng.uniform(1e-5, 1e-2, (4, *shape))
    return (
        energy,
        90 * u,
        90 * v,
        buoyancy - 2e-3,
        _mask(rng, *shape),
        rng.random(shape[:2]),
        np.full(DEPTH, 12.0),
        600.0,
    )


def _water(rng, elements):
    n = square(elements)
    h, u, v, bottom = rng.uniform(0.0, 0.1, (4, n, n))
    return h, u, v, bottom + 10.0, 100.0, 0.5, 9.81, 1e-4, 10.0


PROGRAMS = (
    KindProgram("equation_of_state", equation_of_state, _state),
    KindProgram("tracer_mixing", tracer_mixing, _mixing),
    KindProgram("turbulence_closure", turbulence_closure, _closure),
    KindProgram("shallow_water", shallow_water, _water),
)

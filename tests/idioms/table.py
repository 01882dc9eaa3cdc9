"""What NumPy programs are made of: idioms as users write them, by family.

A line is an expression, a ``def`` a function that goes on until the next line that is not indented. What they take is
named in inputs.py: x y w vectors, p positive ones, m k matrices, s t square ones, spd, img, volume, c z
complex, f float32, i j integers, u uint8, mask, labels, n T ints, a b floats, rows (a list of vectors), rng ...
"""

from __future__ import annotations

FAMILIES = {
    "reshape": """
x.reshape(-1, 2) * 2 + 1
x.reshape(2, -1) - 0.5
x.reshape(-1, 64)[:4] * np.hanning(64)
x.reshape(x.shape[0] // 4, 4) * 2.0
x.reshape(-1, 2)[:, 0] * x.reshape(-1, 2)[:, 1]
x.reshape(-1, 4).mean(axis=1)
x.reshape(-1, 1) + y.reshape(1, -1)
x.reshape((n, -1)).sum(axis=0)
np.reshape(x, (n, len(x) // n)) * 2
m.reshape(-1) * 2
m.ravel() + 1
m.flatten() * 2
m.T.reshape(-1) + 1
m.reshape(-1, 2).max(axis=1)
m.reshape(m.shape[0] // 2, 2, m.shape[1] // 2, 2).mean(axis=(1, 3))
img.reshape(-1, 3) * 0.5 + 0.1
img.reshape(-1, img.shape[-1]).mean(axis=0)
volume.reshape(volume.shape[0], -1) - 1.0
volume.transpose(2, 0, 1).reshape(volume.shape[2], -1).sum(axis=1)
np.maximum(x.reshape(-1, 2)[:, 0], x.reshape(-1, 2)[:, 1])
def square_grid(x):
    side = int(np.sqrt(len(x)))
    return x[: side * side].reshape(side, side) * 2
def set_shape(x):
    x = x * 2
    x.shape = (-1, 2)
    return x + 1
def unpacked_shape(m):
    rows, columns = m.shape
    return m.reshape(columns, rows) * rows
def same_shape_back(x):
    return (x.reshape(-1, 3) - x.reshape(-1, 3).mean(axis=0)).reshape(x.shape)
np.expand_dims(x, 0) * 2
np.squeeze(x[None, :, None]) + 1
np.atleast_2d(x) * 2
x[:, np.newaxis] - x[np.newaxis, :]
x.view(np.int64) & 1
m.swapaxes(0, 1) + k.T
np.moveaxis(volume, 0, -1) * 2
np.ravel(m, order="F") + 1
m.copy(order="F") * 2
""",
    "halves and shifts": """
x[: len(x) // 2] + x[len(x) // 2 :]
np.concatenate((x[: len(x) // 2] + x[len(x) // 2 :], x[: len(x) // 2] - x[len(x) // 2 :]))
np.vstack((x[: len(x) // 2], x[len(x) // 2 :])) * 2
x[::2] * x[1::2]
x[0::2] + 1j * x[1::2]
x[:-1] * x[1:]
x[1:] - x[:-1]
x[2:] - 2 * x[1:-1] + x[:-2]
x[::-1] * x
x[:n] + x[-n:]
x[n:] * x[:-n]
x[: len(y)] * y
x[: int(n / 4)] * 2
x[: n * 2 : 2] + x[1 : n * 2 : 2]
x[len(x) // 4 : 3 * len(x) // 4] * 0.5
m[: m.shape[0] // 2] + m[m.shape[0] // 2 :]
m[:, : m.shape[1] // 2] - m[:, m.shape[1] // 2 :]
m[1:-1, 1:-1] * 4 - m[:-2, 1:-1] - m[2:, 1:-1] - m[1:-1, :-2] - m[1:-1, 2:]
m[..., 0] + m[..., -1]
m[::2, ::2] + m[1::2, 1::2]
def trapezoid(x, y):
    return np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2
def split_in_two(x):
    a, b = np.split(x, 2)
    return a * 2 + b
def array_split(x):
    return [part.sum() for part in np.array_split(x, 3)]
def middle(x):
    n = len(x) // 2
    return x[:n] * 2 + x[n : 2 * n]
np.roll(x, 1) - x
np.roll(x, -1) + np.roll(x, 1) - 2 * x
np.roll(m, 1, axis=0) + np.roll(m, -1, axis=1)
np.roll(m, (1, 2), axis=(0, 1)) * 2
np.roll(x, n) * 2
np.flip(x) + x
np.flipud(m) - np.fliplr(m)
np.rot90(m) * 2
np.fft.fftshift(m) * 2
np.diff(x) / np.diff(y)
np.diff(x, n=2)
np.diff(m, axis=0)
np.ediff1d(x)
np.gradient(x)
np.gradient(m)
np.pad(x, 1)
np.pad(m, 1, mode="edge") * 2
np.pad(x, (2, 3), mode="constant", constant_values=1.0)
np.pad(x, n, mode="reflect")
""",
    "stacking": """
np.concatenate([x, y]) * 2
np.concatenate((x, [1.0])) + 1
np.concatenate(([1], np.diff(i)))
np.concatenate((m, k), axis=1)
np.vstack([x, y, w]).mean(axis=0)
np.hstack((x, y)) + 1
np.hstack([m, k])
np.dstack((m, k)) * 2
np.stack([x, y, w], axis=1) @ np.array([1.0, 2.0, 3.0])
np.stack([x, y]).max(axis=0)
np.column_stack((x, y)) * 2
np.c_[x, y] * 2
np.r_[x, y] * 2
np.append(x, y) * 2
np.append(x, 1.0)
np.insert(x, 0, 1.0)
np.delete(x, 0) * 2
np.tile(x, 2) * 2
np.tile(m, (2, 3)) + 1
np.repeat(x, 2) * 2
np.repeat(x, n)
np.repeat(m, 2, axis=0)
np.kron(s, t)
np.block([[s, t], [t, s]])
np.array([x.sum(), x.mean(), x.std()])
np.array([[1.0, a], [b, 1.0]]) @ np.array([a, b])
np.array([x, y]).sum(axis=0)
np.array(rows).mean(axis=0)
np.stack(rows) * 2
np.concatenate(rows)
np.asarray(rows) + 1
sum(rows) / len(rows)
np.sum([x, y], axis=0)
np.array([np.sin(a), np.cos(a), 0.0])
np.array([r.sum() for r in rows])
np.broadcast_to(x, (3, len(x))) * 2
np.split(m, 3)[1] * 2
np.outer(x[:50], y[:50]) + 1
""",
    "masks": """
x[x > 0]
x[x > 0].sum()
x[mask] * 2
x[~mask].mean()
x[(x > 0.2) & (x < 0.7)] + 1
np.where(x > 0, x, 0) * 2
np.where(mask, x, y)
np.where(x > 0, np.sqrt(p), -x)
np.where(x > 0)[0]
np.nonzero(mask)[0] + 1
np.flatnonzero(x > 0.5)
np.argwhere(m > 0.5)
np.count_nonzero(x > 0)
np.sum(x > 0)
(x > 0).mean()
np.any(x > 3) or np.all(x < 3)
np.isnan(x).any()
np.isfinite(x).all()
np.logical_and(x > 0, y > 0).sum()
np.logical_or(x > 0, y > 0) & ~mask
mask & (x > 0) | (y < 0)
np.clip(x, -0.5, 0.5) * 2
x.clip(0, 1)
np.clip(x, None, a)
np.select([x < -0.5, x < 0.5], [-1.0, x], default=1.0)
np.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0])
np.choose(labels % 2, [x, y])
np.digitize(x, np.linspace(-1, 1, 5))
np.searchsorted(np.sort(x), y)
np.searchsorted(p, 0.5)
np.extract(x > 0, x)
np.compress(mask, x)
np.nan_to_num(x) + 1
np.maximum(x, 0)
np.minimum(np.maximum(x, -a), a)
np.abs(x) < 0.5
np.sign(x) * np.sqrt(np.abs(x))
np.heaviside(x, 0.5)
np.isclose(x, y)
np.allclose(x, x + 1e-12)
np.array_equal(x, y)
np.isin(labels, [1, 2, 3])
np.in1d(labels, i) if hasattr(np, "in1d") else np.isin(labels, i)
np.unique(labels)
np.unique(labels, return_counts=True)
m[m > 0.5]
m[mask[: m.shape[0]]]
m[m.sum(axis=1) > 0]
""",
    "stores": """
def masked_store(x):
    x[x < 0] = 0
    return x
def masked_update(x):
    x[x > 0] *= 2
    return x
def masked_by_other(x, y, mask):
    x[mask] = y[mask] + 1
    return x
def masked_out_of_place(x):
    y = x.copy()
    y[y > 0.5] = 0.5
    return y
def masked_matrix(m):
    m[m < 0] = -m[m < 0]
    return m
def nan_to_zero(x):
    x[np.isnan(x)] = 0.0
    return x * 2
def store_slices(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1]
    y[0] = x[-1]
    return y
def borders(m):
    m[0, :] = 0
    m[-1, :] = 0
    m[:, 0] = m[:, 1]
    m[:, -1] = m[:, -2]
    return m
def inplace_operators(x, y):
    x += y
    x *= 2
    x -= 1
    x /= 3
    return x
def with_out(x, y):
    out = np.empty_like(x)
    np.multiply(x, y, out=out)
    np.add(out, 1, out=out)
    return out
def ufunc_where(x):
    out = np.zeros_like(x)
    np.divide(1.0, x, out=out, where=x != 0)
    return out
def fill(x):
    y = np.empty(len(x))
    y.fill(2.0)
    y[:] = y + x
    return y
def scatter(x, i):
    y = np.zeros(len(x))
    y[i] = x
    return y
def scatter_add(x, labels):
    y = np.zeros(8)
    np.add.at(y, labels, x)
    return y
def diagonal_store(s):
    np.fill_diagonal(s, 0.0)
    return s * 2
def diagonal_by_index(s):
    r = np.arange(len(s))
    s[r, r] = 1.0
    return s
def triangle_store(s):
    s[np.triu_indices(len(s), 1)] = 0
    return s
def put(x, i):
    np.put(x, i[:5], 0.0)
    return x
def copyto(x, y):
    np.copyto(x, y, where=y > 0)
    return x
def putmask(x, mask):
    np.putmask(x, mask, 0.0)
    return x
def row_store(m, x):
    m[0] = x[: m.shape[1]]
    m[1:3] += 1
    return m
def column_store(m):
    m[:, 0], m[:, 1] = m[:, 1].copy(), m[:, 0].copy()
    return m
def swap_rows(m):
    m[[0, 1]] = m[[1, 0]]
    return m
def real_imag_store(x, y):
    z = np.empty(len(x), dtype=complex)
    z.real = x
    z.imag = y
    return z * 2
def checkerboard(m):
    m[::2, ::2] = 1
    m[1::2, 1::2] = 1
    return m
""",
    "windows and grids": """
np.lib.stride_tricks.sliding_window_view(x, 5).mean(axis=1)
np.lib.stride_tricks.sliding_window_view(x, 3) @ np.array([0.25, 0.5, 0.25])
np.lib.stride_tricks.sliding_window_view(m, (3, 3)).max(axis=(2, 3))
np.lib.stride_tricks.as_strided(x, (len(x) - 2, 3), (8, 8)).sum(axis=1)
np.convolve(x, np.ones(5) / 5, mode="same")
np.convolve(x, np.ones(3), "valid")
np.correlate(x, y[:16], "full")
def moving_average(x, n):
    total = np.cumsum(x)
    total[n:] = total[n:] - total[:-n]
    return total[n - 1 :] / n
def frames(x):
    starts = np.arange(0, len(x) - 64, 32)
    return x[starts[:, None] + np.arange(64)] * np.hanning(64)
def meshgrid(x, y):
    xx, yy = np.meshgrid(x[:40], y[:30])
    return xx**2 + yy**2
def meshgrid_ij(n):
    xx, yy = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return np.hypot(xx, yy)
def mgrid(n):
    yy, xx = np.mgrid[0:n, 0:n]
    return (xx - n / 2) ** 2 + (yy - n / 2) ** 2
def ogrid():
    yy, xx = np.ogrid[0:20, 0:30]
    return xx * yy
def indices(m):
    r, c = np.indices(m.shape)
    return m * (r + c)
np.linspace(0, 1, n) ** 2
np.linspace(a, b, 50)[:, None] * np.linspace(0, 1, 40)
np.arange(n) * a
np.arange(0.0, 1.0, 0.01) * 2
np.arange(len(x)) * x
np.logspace(0, 2, 30)
np.geomspace(1, 100, 30)
np.zeros((n, n)) + a
np.ones(len(x)) * x
np.full(n, a) * 2
np.full_like(x, a) + x
np.eye(n) * a
np.identity(4) - s[:4, :4]
np.diag(x[:20]) + 1
np.diag(s) * 2
np.tri(n) * 2
np.tril(s) + np.triu(t)
np.vander(x[:20], 4)
np.fromfunction(lambda r, c: r + c, (8, 9))
np.ones_like(m, dtype=np.float32) * 2
np.hanning(32) * 2
np.hamming(n) * a
np.interp(x, np.linspace(-3, 3, 20), np.linspace(0, 1, 20))
np.polyval([1.0, 2.0, 3.0], x)
np.polyfit(x, y, 2)
np.trapezoid(y, x)
""",
    "broadcasting": """
m - m.mean(axis=0)
m - m.mean(axis=1, keepdims=True)
(m - m.mean(axis=0)) / m.std(axis=0)
m / np.linalg.norm(m, axis=1, keepdims=True)
m / m.sum(axis=1)[:, None]
m * x[: m.shape[1]]
m + x[: m.shape[0], None]
np.exp(m - m.max(axis=1, keepdims=True)) / np.exp(m - m.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
np.sqrt(((m[:, None, :] - m[None, :, :]) ** 2).sum(axis=2))
((m[:, None] - k[None, :5]) ** 2).sum(-1).argmin(axis=1)
np.abs(x[:100, None] - y[None, :100]).min(axis=1)
x[:, None] * np.array([1.0, 2.0, 3.0])
volume * np.array([0.1, 0.2, 0.3, 0.4])[: volume.shape[2]]
volume - volume.mean(axis=(0, 1))
img @ np.array([0.299, 0.587, 0.114])
(img / 255.0) ** 2.2
img.astype(np.float32) * np.float32(0.5)
img[..., 0] * 0.5 + img[..., 1] * 0.5
img[:, :, ::-1] // 2
np.subtract.outer(x[:50], y[:50])
np.add.outer(i[:20], j[:20])
1 / (1 + np.exp(-x))
np.tanh(m @ k.T)
np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
np.exp(-0.5 * ((x - a) / b) ** 2) / (b * np.sqrt(2 * np.pi))
np.hypot(x, y)
np.arctan2(y, x) * 180 / np.pi
np.deg2rad(x) + np.rad2deg(y)
np.sin(2 * np.pi * a * x) * np.exp(-x)
x**3 - 2 * x**2 + x - 1
x**0.5 if a < 0 else p**0.5
p**-1.5
np.power(p, a)
np.cbrt(x)
np.mod(x, 1.0)
x // 0.25 + x % 0.25
np.divmod(x, 0.5)[1]
np.floor(x) + np.ceil(y) - np.round(w, 2)
np.log(p) / np.log10(p + 1) + np.log2(p + 1)
math.sqrt(a) * x + math.pi
x * n / len(x)
abs(x) + -y
(x > 0) * 2.0 - 1
max(a, b) * x + min(a, b)
np.array(a) * x
np.float32(a) * f + 1
""",
    "reductions": """
x.sum() / len(x)
np.mean(x) + np.var(x)
np.std(x, ddof=1)
np.median(x)
np.percentile(x, 95)
np.quantile(m, [0.25, 0.75], axis=0)
np.average(x, weights=p)
np.sqrt(np.mean((x - y) ** 2))
np.max(x) - np.min(x)
np.ptp(x)
x.max() + x.argmax()
m.argmin(axis=1)
np.unravel_index(np.argmax(m), m.shape)
m.sum(axis=0) @ m.sum(axis=0)
m.prod(axis=1)
np.sum(m, axis=(0, 1))
np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))
np.linalg.norm(x - y)
np.linalg.norm(m, axis=0)
np.linalg.norm(m)
np.max(np.abs(x - y))
np.nanmean(x)
np.nansum(m, axis=0)
np.nanmax(x)
np.cumsum(x)
np.cumsum(m, axis=1) * 2
np.cumprod(p)
np.maximum.accumulate(x)
np.add.reduce(m, axis=1)
np.minimum.reduce([x, y, w])
np.logical_and.reduce([x > 0, y > 0])
np.add.reduceat(x, [0, 10, 200])
np.corrcoef(x, y)
np.cov(m)
np.histogram(x, bins=10)
np.histogram(x, bins=10, range=(-1, 1))[0]
np.bincount(labels)
np.bincount(labels, weights=x, minlength=10)
np.all(m > -5, axis=1)
m.any(axis=0)
m.mean() + m.std()
float(x.sum()) * 2
int(np.sum(mask))
x.sum(dtype=np.float32)
u.sum() + u.max()
f.sum() * 2
(x * y).sum()
np.sum(np.exp(-x * x))
np.dot(x, y) / len(x)
np.trace(s)
x.mean().item()
round(x.sum(), 3)
""",
    "indexing": """
x[i] * 2
x[i] + y[j]
x[[0, 2, 4]]
m[i[:10] % 20, j[:10] % 20]
m[:, [0, 2]] * 2
m[labels % 4]
m[np.arange(m.shape[0]), labels[: m.shape[0]]]
np.take(x, i)
np.take(m, [0, 1], axis=1)
np.take_along_axis(m, np.argsort(m, axis=1), axis=1)
x[x.argmax()] + x[-1]
x[0] * x[n]
m[0, 0] + m[-1, -1]
m[n % 4] * 2
m[2, :] - m[:, 2][: m.shape[1]].sum()
m[-1]
m[..., None] * 2
m.T[0]
x[slice(2, 10)] + 1
x.item(3) + 1
x[np.newaxis, :, np.newaxis]
np.ix_(i[:3], j[:4])
s[np.ix_([0, 2], [1, 3])]
s[np.triu_indices(len(s), k=1)]
s[np.diag_indices(len(s))]
np.array([1, 2, 3])[labels % 3]
np.eye(8)[labels]
x[np.random.RandomState(0).permutation(len(x))]
tuple(x[:3])
list(x[:3])
x.tolist()[:3]
x[-n:][::-1]
""",
    "sorting": """
np.sort(x)
np.sort(m, axis=0)
np.argsort(x)
x[np.argsort(y)]
np.argsort(-x)[:n]
np.sort(x)[::-1]
np.argpartition(x, n)[:n]
np.partition(x, n)[n]
np.lexsort((x, labels))
sorted(x[:10])
np.setdiff1d(labels, [1, 2])
np.intersect1d(i, j)
np.union1d(labels, [99])
def sort_in_place(x):
    x.sort()
    return x[0] + x[-1]
def rank(x):
    order = x.argsort()
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(x))
    return ranks
""",
    "linear algebra": """
m @ k.T
m.dot(x[: m.shape[1]])
np.dot(m, k.T) + 1
x @ y
np.matmul(s, t) - s
np.linalg.inv(spd)
np.linalg.solve(spd, x[: len(spd)])
np.linalg.det(spd)
np.linalg.eigh(spd)
np.linalg.eigvalsh(spd)
np.linalg.eig(s)
np.linalg.svd(m, full_matrices=False)
np.linalg.qr(m)
np.linalg.cholesky(spd)
np.linalg.lstsq(m, x[: m.shape[0]], rcond=None)[0]
np.linalg.pinv(m)
np.linalg.matrix_power(s, 3)
np.linalg.matrix_rank(s)
np.cross(m[:, :3], k[:, :3])
np.inner(m, k)
np.vdot(c, c)
np.tensordot(volume, volume, axes=([0, 1, 2], [0, 1, 2]))
np.einsum("ij,kj->ik", m, k)
np.einsum("ij,ij->i", m, k)
np.einsum("i,i", x, y)
np.einsum("ii->i", s) * 2
np.einsum("...i,i->...", m, x[: m.shape[1]])
(m.T @ m) / len(m)
s @ t @ s.T + np.eye(len(s))
def ridge(m, x, a):
    A = m.T @ m + a * np.eye(m.shape[1])
    return np.linalg.solve(A, m.T @ x[: m.shape[0]])
def power_iteration(spd, n):
    v = np.ones(len(spd))
    for _ in range(n):
        v = spd @ v
        v = v / np.linalg.norm(v)
    return v
""",
    "fft and complex": """
np.fft.fft(x)
np.abs(np.fft.rfft(x)) ** 2
np.fft.ifft(np.fft.fft(x) * np.fft.fft(y)).real
np.fft.fft2(m)
np.fft.fftfreq(len(x), 0.1)
np.fft.irfft(np.fft.rfft(x) * 0.5, len(x))
np.angle(c) + np.abs(c)
c * np.conj(c)
c.real**2 + c.imag**2
np.exp(1j * x)
np.exp(2j * np.pi * np.arange(n) / n)
c - c.real.min() - 1j * c.imag.min()
x + 1j * y
def butterfly(c):
    half = len(c) // 2
    even, odd = c[:half], c[half:]
    factor = np.exp(-2j * np.pi * np.arange(half) / len(c))
    return np.concatenate([even + factor * odd, even - factor * odd])
def fft_recursive(c):
    if len(c) <= 8:
        return np.fft.fft(c)
    even, odd = fft_recursive(c[::2]), fft_recursive(c[1::2])
    factor = np.exp(-2j * np.pi * np.arange(len(c)) / len(c))
    half = len(c) // 2
    return np.concatenate([even + factor[:half] * odd, even + factor[half:] * odd])
def fft_rounds(c):
    X = np.dot(np.exp(-2j * np.pi * np.arange(4)[:, None] * np.arange(4) / 4), c.reshape((4, -1)))
    while X.shape[0] < len(c):
        even, odd = X[:, : X.shape[1] // 2], X[:, X.shape[1] // 2 :]
        factor = np.exp(-1j * np.pi * np.arange(X.shape[0]) / X.shape[0])[:, None]
        X = np.vstack([even + factor * odd, even - factor * odd])
    return X.ravel()
def mandelbrot(z, n):
    w = np.zeros_like(z)
    count = np.zeros(z.shape, dtype=int)
    for _ in range(n):
        inside = np.abs(w) < 2
        w[inside] = w[inside] ** 2 + z[inside]
        count += inside
    return count
""",
    "dtypes": """
x.astype(np.float32) * 2
x.astype(int) % 3
u.astype(np.int32) - 10
i.astype(float) / 3
mask.astype(int) + 1
mask * 1.0
u + 1
u.astype("float64") / 255
(x * 255).astype(np.uint8)
np.asarray(i, dtype=np.float64) * 0.5
np.float64(n) * x
i // 3 + i % 3
i & 7 | 8
i << 2 ^ j
i >> 1
np.bitwise_and(i, 0xFF) + 1
~i
i / j.max()
f * 2 + 1
f + x
x.dtype == np.float64
np.zeros(4, dtype=x.dtype)
np.int64(n) + i
np.array([1, 2, 3]) * a
np.array([True, False]).sum()
np.issubdtype(x.dtype, np.floating)
np.finfo(x.dtype).eps * x
np.finfo(x.ravel()[0]).eps * f + np.iinfo(i[0]).max
np.linspace(a, b, n, dtype=np.float32) * f[0]
np.linspace(0, 9, n, dtype=int) + 1
np.full(n, 0.5, device="cpu") * np.zeros_like(x[:n], device="cpu")
np.iinfo(np.int32).max - i
np.unpackbits(u)
np.frombuffer(b"abcdefgh", dtype=np.uint8) + 1
""",
    "loops": """
def time_steps(x, T, a):
    for _ in range(T):
        x = x + a * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
    return x
def jacobi(m, T):
    for _ in range(T):
        m[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
    return m
def until_converged(m):
    for _ in range(50):
        new = m.copy()
        new[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
        if np.abs(new - m).max() < 1e-2:
            break
        m = new
    return m
def newton(x):
    y = np.ones_like(x)
    for _ in range(10):
        y = y - (y * y - np.abs(x) - 1) / (2 * y)
    return y
def while_error(x):
    error = 1.0
    while error > 1e-3:
        x = x * 0.5
        error = np.max(np.abs(x))
    return x
def element_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total
def element_store(x):
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return y
def nested_elements(s, t):
    out = np.zeros_like(s)
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            out[i, j] = s[i, j] * t[j, i]
    return out
def triple_loop(s, t):
    n = len(s)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                out[i, j] += s[i, k] * t[k, j]
    return out
def rows_loop(m):
    out = np.empty(m.shape[0])
    for r in range(m.shape[0]):
        out[r] = np.sqrt(np.sum(m[r] ** 2))
    return out
def iterate_rows(m):
    total = 0.0
    for row in m:
        total += row.max()
    return total
def enumerate_rows(m):
    out = np.zeros(len(m))
    for i, row in enumerate(m):
        out[i] = row.sum() * i
    return out
def zip_elements(x, y):
    total = 0.0
    for p, q in zip(x, y):
        total += p * q
    return total
def element_branch(x):
    count = 0
    for v in x:
        if v > 0.5:
            count += 1
        elif v < -0.5:
            count -= 1
    return count
def bubble(x):
    x = x[:40].copy()
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x
def sieve(n):
    prime = np.ones(n * 10, dtype=bool)
    prime[:2] = False
    for i in range(2, int(math.sqrt(n * 10)) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]
def cumulative_by_hand(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out
def first_index(x):
    for i in range(len(x)):
        if x[i] > 0.9:
            return i
    return -1
def best_of(x):
    best = 0
    for i in range(len(x)):
        if x[i] > x[best]:
            best = i
    return best
def largest_seen(i):
    best = 0
    for v in i:
        best = max(best, v)
    return best
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
def bisection(a):
    low, high = 0.0, 2.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle * middle < a:
            low = middle
        else:
            high = middle
    return low
def euler(T, a):
    y = np.array([1.0, 0.0])
    out = np.zeros((T, 2))
    for t in range(T):
        out[t] = y
        y = y + 0.01 * np.array([y[1], -a * y[0]])
    return out
def nbody(T):
    pos, vel = np.linspace(0, 1, 30).reshape(10, 3), np.zeros((10, 3))
    for _ in range(T):
        d = pos[None, :, :] - pos[:, None, :]
        r3 = ((d**2).sum(axis=2) + 0.01) ** 1.5
        vel += 0.01 * (d / r3[:, :, None]).sum(axis=1)
        pos += 0.01 * vel
    return pos
def kmeans(m, T):
    centers = m[:4].copy()
    for _ in range(T):
        d = ((m[:, None, :] - centers[None]) ** 2).sum(axis=2)
        nearest = d.argmin(axis=1)
        for c in range(4):
            if np.any(nearest == c):
                centers[c] = m[nearest == c].mean(axis=0)
    return centers
def gradient_descent(m, x, T):
    w = np.zeros(m.shape[1])
    y = x[: m.shape[0]]
    for _ in range(T):
        w -= 0.01 * m.T @ (m @ w - y) / len(y)
    return w
def life(mask, T):
    g = mask[:900].reshape(30, 30).astype(int)
    for _ in range(T):
        c = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        g = ((c == 3) | ((c == 2) & (g == 1))).astype(int)
    return g
def floyd(s):
    s = np.abs(s)
    for k in range(len(s)):
        s = np.minimum(s, s[:, k : k + 1] + s[k : k + 1, :])
    return s
def cholesky(spd):
    n = len(spd)
    L = np.zeros_like(spd)
    for i in range(n):
        for j in range(i + 1):
            v = spd[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = np.sqrt(v) if i == j else v / L[j, j]
    return L
def monte_carlo_walk(x):
    out = np.zeros(len(x) + 1)
    for i, step in enumerate(x):
        out[i + 1] = out[i] + step
    return out
def reversed_loop(x):
    y = x.copy()
    for i in reversed(range(len(x) - 1)):
        y[i] += 0.5 * y[i + 1]
    return y
def step_loop(x, n):
    total = 0.0
    for start in range(0, len(x), n):
        total += x[start : start + n].max()
    return total
def ndindex(s):
    out = np.zeros_like(s)
    for i, j in np.ndindex(s.shape):
        out[i, j] = s[j, i]
    return out
def dictionary_of_sums(x, labels):
    sums = {}
    for v, label in zip(x, labels):
        sums[int(label)] = sums.get(int(label), 0.0) + v
    return sums
""",
    "lists": """
[v * 2 for v in x[:20]]
np.array([v**2 for v in x[:50]])
sum(v for v in x[:50])
max(x[:20])
min(len(r) for r in rows)
[r.mean() for r in rows]
np.array([[i * j for j in range(4)] for i in range(5)])
dict(zip("abc", rows))
[r * 2 for r in rows][0]
sorted(rows, key=lambda r: r.sum())[0]
list(map(np.sum, rows))
any(r.sum() > 0 for r in rows)
def append_results(x, T):
    out = []
    for t in range(T):
        x = x * 0.9
        out.append(x.sum())
    return out
def append_and_stack(x, T):
    out = []
    for t in range(T):
        x = np.tanh(x + t)
        out.append(x)
    return np.array(out)
def history(x, T):
    states = [x]
    for t in range(T):
        states.append(states[-1] * 0.9)
    return np.stack(states)
def list_of_floats(x):
    out = []
    for v in x[:100]:
        if v > 0:
            out.append(float(v))
    return out
def list_pop(x):
    stack = [x]
    while stack:
        part = stack.pop()
        if len(part) > 300:
            stack.append(part[: len(part) // 2])
            stack.append(part[len(part) // 2 :])
    return len(stack)
def two_lists(x):
    small, large = [], []
    for v in x[:60]:
        (small if v < 0 else large).append(v)
    return len(small), len(large)
def tuple_results(x):
    low, high = x.min(), x.max()
    return (x - low) / (high - low), low, high
def dictionary(x):
    return {"mean": x.mean(), "std": x.std(), "z": (x - x.mean()) / x.std()}
def from_dictionary(params, x):
    return params["a"] * x + params["b"]
def star_args(rows):
    return np.vstack([*rows, rows[0]]).sum(axis=0)
def helper(x):
    def normalise(v):
        return (v - v.mean()) / v.std()
    return normalise(x) * 2
def lambda_helper(x):
    square = lambda v: v * v
    return square(x) + square(x + 1)
def default_arguments(x, scale=2.0, shift=None):
    shift = x.mean() if shift is None else shift
    return (x - shift) * scale
""",
    "random": """
rng.normal(size=100) * 2
rng.random(len(x)) < 0.5
rng.integers(0, 10, size=20) + 1
rng.choice(x, 10)
rng.permutation(x) * 2
rng.standard_normal((8, 8)) @ s[:8, :8]
def seeded(n):
    np.random.seed(0)
    return np.random.rand(n) * 2
def legacy(n):
    r = np.random.RandomState(1)
    return r.randn(n, n) @ r.randn(n)
def fresh_generator(n):
    g = np.random.default_rng(0)
    return g.uniform(-1, 1, n).sum()
def monte_carlo_pi(rng, n):
    xy = rng.random((n * 100, 2))
    return 4 * np.mean((xy**2).sum(axis=1) < 1)
def shuffle(rng, x):
    rng.shuffle(x)
    return x[:5] * 2
def walk(rng, T):
    pos = 0.0
    for _ in range(T):
        pos += rng.normal()
    return pos
def noise_in_loop(rng, x, T):
    for _ in range(T):
        x = x * 0.9 + 0.1 * rng.normal(size=len(x))
    return x
""",
    "text and objects": """
f"{x.sum():.3f} of {len(x)}"
str(x.shape)
"%d rows" % len(m)
len(text) * x
text.upper() + str(n)
np.array(["a", "bb", "ccc"])
np.array([ord(ch) for ch in text]) + 1
obj.scale * x + obj.shift
obj.apply(x)
obj.weights @ x[: len(obj.weights)]
isinstance(x, np.ndarray) and x.ndim == 1
getattr(x, "T") * 2
x.size * x.itemsize + x.nbytes
np.vectorize(lambda v: v * 2 if v > 0 else 0.0)(x[:20])
np.apply_along_axis(np.sum, 1, m)
np.apply_along_axis(lambda r: r.max() - r.min(), 0, m)
functools.reduce(np.add, rows)
functools.partial(np.sum, axis=0)(m)
(lambda v: v + 1)(x)
def method_state(obj, x):
    obj.total = obj.total + x.sum()
    return obj.total
def counter(obj, x, T):
    for _ in range(T):
        obj.step(x)
    return obj.total
def prints(x):
    print("sum", x.sum())
    return x * 2
def print_in_loop(x, T):
    for t in range(T):
        x = x * 0.5
        if t % 5 == 0:
            print(t, x[0])
    return x
def assertion(x, y):
    assert x.shape == y.shape, "shapes differ"
    return x * y
def raise_if(x):
    if x.ndim != 1:
        raise ValueError("one axis")
    return x - x.mean()
def try_except(x):
    try:
        return np.linalg.inv(x[:4].reshape(2, 2))
    except np.linalg.LinAlgError:
        return None
def with_errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x != 0, 1 / x, 0)
def data_branch(x):
    if x.sum() > 0:
        return x * 2
    return x - 1
def data_choice(x):
    return x * 2 if x.max() > 1 else x * 3
def scalar_chain(x):
    lo, hi = float(x.min()), float(x.max())
    width = hi - lo
    return (x - lo) / width if width > 0 else x
def import_inside(x):
    import numpy
    return numpy.sin(x) * 2
def closure_table(i):
    return TABLE[i % len(TABLE)] + 1
def list_table(n):
    return CONSTANTS[n % 5] * np.ones(4)
def levenshtein(text):
    other = "sitting on it"
    row = list(range(len(other) + 1))
    for i, a in enumerate(text, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
def generator(x):
    def parts():
        for start in range(0, len(x), 100):
            yield x[start : start + 100].sum()
    return max(parts())
def recursion(n):
    return 1 if n < 2 else n * recursion(n - 1)
def dataclass_result(x):
    return Point(x.mean(), x.std())
""",
}

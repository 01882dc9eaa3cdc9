/* A template, included by fold_extremes.h for each width of vectors: LANES_OF names the function, WIDTH is in bytes, TARGET
 * says for which processors it is compiled. PICK(value, best): lane by lane the better one, `best` where there is a NaN;
 * UNORDERED(a, b): a mask of the lanes where one is NaN; FIRST(value): what a lane begins with. Elements may be looked at
 * twice: that changes no extreme. */

TARGET static int
LANES_OF(const NUMBER *data, npy_intp n, NUMBER *cell)
{
    typedef NUMBER Vector __attribute__((vector_size(WIDTH), aligned(sizeof(NUMBER)), may_alias));
    typedef MASK Mask __attribute__((vector_size(WIDTH), may_alias));
    enum { LANES = WIDTH / sizeof(NUMBER), PARTS = 8, AHEAD = 2048 };
    Vector best[PARTS];
    Mask nan[2] = {0}; /* two, so that their updates overlap in time */
    npy_intp i = LANES;
    Vector begin = *(const Vector *)data;
    best[0] = FIRST(begin);
    nan[0] |= (Mask)UNORDERED(begin, begin);
    if (n >= PARTS * LANES) {
#pragma GCC unroll 8
        for (int part = 1; part < PARTS; part++) {
            begin = *(const Vector *)(data + LANES * part);
            best[part] = FIRST(begin);
            nan[0] |= (Mask)UNORDERED(begin, begin);
        }
        for (i = PARTS * LANES; i + PARTS * LANES <= n; i += PARTS * LANES) {
            for (int line = 0; line < PARTS * WIDTH; line += 64) {
                __builtin_prefetch((const char *)(data + i) + AHEAD + line);
            }
#pragma GCC unroll 4
            for (int part = 0; part < PARTS; part += 2) {
                Vector a = *(const Vector *)(data + i + LANES * part);
                Vector b = *(const Vector *)(data + i + LANES * (part + 1));
                best[part] = PICK(a, best[part]);
                best[part + 1] = PICK(b, best[part + 1]);
                nan[part / 2 % 2] |= (Mask)UNORDERED(a, b);
            }
        }
#pragma GCC unroll 8
        for (int part = 1; part < PARTS; part++) {
            best[0] = PICK(best[part], best[0]);
        }
    }
    for (; i < n; i += LANES) {
        Vector value = *(const Vector *)(data + (i + LANES <= n ? i : n - LANES));
        best[0] = PICK(value, best[0]);
        nan[0] |= (Mask)UNORDERED(value, value);
    }
    MASK any = 0;
    NUMBER acc = best[0][0];
    nan[0] |= nan[1];
    for (int lane = 0; lane < LANES; lane++) {
        any |= nan[0][lane];
        acc = best[0][lane] BETTER acc ? best[0][lane] : acc;
    }
    *cell = acc;
    return any != 0;
}
#undef LANES_OF
#undef WIDTH
#undef TARGET
#undef PICK
#undef UNORDERED

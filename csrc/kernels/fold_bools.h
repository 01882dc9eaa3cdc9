/* A template, included by fold.c for "or" and "and": BOOL_OP names the functions, DECIDES(byte) is true of a value that
 * settles the result. As NumPy's own, a fold stops at the first such value. Any byte that is not 0 is true. */

#define NAME(x) JOIN(BOOL_OP, _, x)

/* Whether a value among n packed ones settles the result. */
FOR_THIS_CPU static int
NAME(settled)(const npy_bool *data, npy_intp n)
{
    enum { STRETCH = 256 };
    npy_intp i = 0;
    for (; i + STRETCH <= n; i += STRETCH) {
        unsigned char any = 0;
        for (int j = 0; j < STRETCH; j++) {
            any |= DECIDES(data[i + j]);
        }
        if (any) {
            return 1;
        }
    }
    for (; i < n; i++) {
        if (DECIDES(data[i])) {
            return 1;
        }
    }
    return 0;
}

static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    int settled = 0;
    if (stride == 1) {
        settled = NAME(settled)((const npy_bool *)data, n);
    }
    for (npy_intp i = 0; i < n && stride != 1 && !settled; i++) {
        settled = DECIDES(data[i * stride]);
    }
    *cell = DECIDES(0) ? !settled : settled;
    return 0;
}

static int
NAME(runs)(const char *data, npy_intp count, npy_intp n, char *cells)
{
    for (npy_intp run = 0; run < count; run++) {
        NAME(leaf)(data + run * n, n, 1, cells + run);
    }
    return 0;
}

FOR_THIS_CPU static int
NAME(rows)(char *accs, const char *data, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        accs[i] = DECIDES(0) ? (data[i] != 0) & accs[i] : (data[i] != 0) | accs[i];
    }
    return 0;
}

static void
NAME(start)(char *accs, npy_intp n)
{
    memset(accs, DECIDES(0), (size_t)n);
}
#undef NAME
#undef BOOL_OP
#undef DECIDES

/* A template, included by fold.c once a type and operation whose order does not show.
 *
 * NUMBER: the type; NAME(x) names the functions; COMBINE(acc, value): the operation; IDENTITY: where it starts.
 */

FOR_THIS_CPU static NUMBER
NAME(packed)(const NUMBER *data, npy_intp n)
{
    NUMBER acc = IDENTITY;
    for (npy_intp i = 0; i < n; i++) {
        acc = COMBINE(acc, data[i]);
    }
    return acc;
}

static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    NUMBER acc = IDENTITY;
    if (stride == (npy_intp)sizeof acc) {
        acc = NAME(packed)((const NUMBER *)data, n);
    }
    else {
        for (npy_intp i = 0; i < n; i++) {
            NUMBER value = *(const NUMBER *)(data + i * stride);
            acc = COMBINE(acc, value);
        }
    }
    memcpy(cell, &acc, sizeof acc);
    return 0;
}

FOR_THIS_CPU static int
NAME(runs)(const char *data, npy_intp count, npy_intp n, char *cells)
{
    for (npy_intp run = 0; run < count; run++) {
        NUMBER acc = IDENTITY;
        for (npy_intp i = 0; i < n; i++) {
            acc = COMBINE(acc, ((const NUMBER *)data)[run * n + i]);
        }
        ((NUMBER *)cells)[run] = acc;
    }
    return 0;
}

FOR_THIS_CPU static int
NAME(rows)(char *accs, const char *data, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        NUMBER acc = ((NUMBER *)accs)[i], value = ((const NUMBER *)data)[i];
        ((NUMBER *)accs)[i] = COMBINE(acc, value);
    }
    return 0;
}

static void
NAME(start)(char *accs, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        ((NUMBER *)accs)[i] = IDENTITY;
    }
}
#undef NUMBER
#undef NAME
#undef COMBINE
#undef IDENTITY

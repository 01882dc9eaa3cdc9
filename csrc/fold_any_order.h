/* A template, included by fold.c once a type and operation whose order does not show.
 *
 * NUMBER: the type; NAME(x) names the functions; COMBINE(acc, value): the operation; IDENTITY: where it starts;
 * UNORDERED(value): whether the value makes the result unsure.
 */

FOR_THIS_CPU static int
NAME(packed)(const NUMBER *data, npy_intp n, NUMBER *result)
{
    NUMBER acc = IDENTITY;
    int unsure = 0;
    for (npy_intp i = 0; i < n; i++) {
        acc = COMBINE(acc, data[i]);
        unsure |= UNORDERED(data[i]);
    }
    *result = acc;
    return unsure;
}

static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    NUMBER acc = IDENTITY;
    int unsure = 0;
    if (stride == (npy_intp)sizeof acc) {
        unsure = NAME(packed)((const NUMBER *)data, n, &acc);
    }
    else {
        for (npy_intp i = 0; i < n; i++) {
            NUMBER value = *(const NUMBER *)(data + i * stride);
            acc = COMBINE(acc, value);
            unsure |= UNORDERED(value);
        }
    }
    memcpy(cell, &acc, sizeof acc);
    return unsure;
}

FOR_THIS_CPU static int
NAME(rows)(char *accs, const char *data, npy_intp n)
{
    int unsure = 0;
    for (npy_intp i = 0; i < n; i++) {
        NUMBER acc = ((NUMBER *)accs)[i], value = ((const NUMBER *)data)[i];
        ((NUMBER *)accs)[i] = COMBINE(acc, value);
        unsure |= UNORDERED(value);
    }
    return unsure;
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
#undef UNORDERED

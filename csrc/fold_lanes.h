/* A template, included by fold_extremes.h for each width of vectors: LANES_OF names the function, WIDTH is in bytes, TARGET
 * says for which processors it is compiled. */

TARGET static int
LANES_OF(const NUMBER *data, npy_intp blocks, NUMBER *acc)
{
    typedef NUMBER Vector __attribute__((vector_size(WIDTH), aligned(sizeof(NUMBER)), may_alias));
    typedef MASK Mask __attribute__((vector_size(WIDTH), may_alias));
    enum { LANES = WIDTH / sizeof(NUMBER), PARTS = NAME(lanes) / LANES };
    Vector best[PARTS];
    Mask nan = {0};
    for (int part = 0; part < PARTS; part++) {
        best[part] = *(const Vector *)(data + LANES * part);
        nan |= (Mask)(best[part] != best[part]);
    }
    for (npy_intp i = 1; i < blocks; i++) {
        for (int part = 0; part < PARTS; part++) {
            Vector value = *(const Vector *)(data + i * NAME(lanes) + LANES * part);
            Mask better = (Mask)(value BETTER best[part]);
            best[part] = (Vector)(((Mask)value & better) | ((Mask)best[part] & ~better));
            nan |= (Mask)(value != value);
        }
    }
    MASK any = 0;
    for (int lane = 0; lane < LANES; lane++) {
        any |= nan[lane];
    }
    for (int part = 0; part < PARTS; part++) {
        *(Vector *)(acc + LANES * part) = best[part];
    }
    return any != 0;
}
#undef LANES_OF
#undef WIDTH
#undef TARGET

/* A template, included by fold_pairwise.h for each width of vectors: FOUR names the function, WIDTH is in bytes, TARGET
 * says for which processors it is compiled. Width does not change a result. NB: a vector holds at most the eight
 * accumulators of a leaf. */

TARGET static void
FOUR(const NUMBER *const *leaves, npy_intp blocks, NUMBER (*acc)[8])
{
    enum { LANES = WIDTH / sizeof(NUMBER) > 8 ? 8 : WIDTH / sizeof(NUMBER), PARTS = 8 / LANES, AHEAD = 4096 };
    typedef NUMBER Vector __attribute__((vector_size(LANES * sizeof(NUMBER)), aligned(sizeof(NUMBER)), may_alias));
    Vector r[4][PARTS];
    for (int leaf = 0; leaf < 4; leaf++) {
        for (int part = 0; part < PARTS; part++) {
            r[leaf][part] = *(const Vector *)(leaves[leaf] + LANES * part);
        }
    }
    for (npy_intp i = 8; i < 8 * blocks; i += 8) {
        for (int leaf = 0; leaf < 4; leaf++) {
            __builtin_prefetch((const char *)(leaves[leaf] + i) + AHEAD);
            for (int part = 0; part < PARTS; part++) {
                r[leaf][part] += *(const Vector *)(leaves[leaf] + i + LANES * part);
            }
        }
    }
    for (int leaf = 0; leaf < 4; leaf++) {
        for (int part = 0; part < PARTS; part++) {
            *(Vector *)(acc[leaf] + LANES * part) = r[leaf][part];
        }
    }
}
#undef FOUR
#undef WIDTH
#undef TARGET

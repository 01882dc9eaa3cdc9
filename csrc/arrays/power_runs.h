/* A template, included by power.c for each type of numbers: NUMBER, MARK an integer as wide, LARGEST of the powers that
 * NEAREST_POWERS computes, OF_TYPE names the functions. */

/* Whether all of n numbers are positive. */
WIDE static int
OF_TYPE(all_positive)(const char *from, npy_intp stride, npy_intp n)
{
    MARK others = 0;
    if (stride == sizeof(NUMBER)) {
        const NUMBER *x = (const NUMBER *)from;
        for (npy_intp i = 0; i < n; i++) {
            others |= !IS_POSITIVE(x[i]);
        }
        return !others;
    }
    for (npy_intp i = 0; i < n; i++, from += stride) {
        others |= !IS_POSITIVE(*(const NUMBER *)from);
    }
    return !others;
}

static int32_t
OF_TYPE(run_on)(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides)
{
    NUMBER given = strides[1] == 0 && n > 0 ? *(const NUMBER *)args[1] : 0;
    int e = given >= LEAST_EXPONENT && given <= MOST_EXPONENT ? (int)given : 0;
    if (e == 0 || (NUMBER)e != given || OF_TYPE(all_positive)(args[0], strides[0], n)) {
        return served(slot, args, n, strides);
    }
    NUMBER most = (NUMBER)ldexp(1.0, ilogb(LARGEST) / e), least = 1 / most;
    static const npy_intp packed[3] = {sizeof(NUMBER), 0, sizeof(NUMBER)};
    for (npy_intp start = 0; start < n; start += CHUNK) {
        npy_intp m = n - start < CHUNK ? n - start : CHUNK;
        NUMBER x[CHUNK], base[CHUNK], results[CHUNK], doubtful[CHUNK];
        MARK doubts[CHUNK], others = 0;
        const char *from = args[0] + start * strides[0];
        for (npy_intp i = 0; i < CHUNK; i++, from += i < m ? strides[0] : 0) { /* the last one again behind the end */
            x[i] = *(const NUMBER *)from;
            base[i] = IS_POSITIVE(x[i]) ? x[i] : 1;
            others |= !IS_POSITIVE(x[i]);
        }
        int32_t status = served(slot, (char *[]){(char *)base, args[1], (char *)results}, m, packed);
        if (status == 0 && others) {
            int places[CHUNK];
            npy_intp count = 0;
            NEAREST_POWERS(x, e, least, most, results, doubts);
            for (int i = 0; i < m; i++) {
                places[count] = i;
                doubtful[count] = x[i];
                count += doubts[i] != 0;
            }
            if (count > 0) {
                status = served(slot, (char *[]){(char *)doubtful, args[1], (char *)base}, count, packed);
            }
            for (npy_intp k = 0; k < count; k++) {
                results[places[k]] = base[k];
            }
        }
        if (status != 0) {
            return status;
        }
        char *to = args[2] + start * strides[2];
        for (npy_intp i = 0; i < m; i++, to += strides[2]) {
            *(NUMBER *)to = results[i];
        }
    }
    return 0;
}

/* Whether this gives what NumPy's loop does, on some numbers. */
static int
OF_TYPE(agrees_on)(const npy_intp *slot)
{
    NUMBER x[SAMPLES], own[SAMPLES], expected[SAMPLES];
    static const npy_intp strides[3] = {sizeof(NUMBER), 0, sizeof(NUMBER)};
    int good = 1;
    for (int e = LEAST_EXPONENT; e <= MOST_EXPONENT && good; e += 3) {
        NUMBER exponent = (NUMBER)e;
        for (int i = 0; i < SAMPLES; i++) { /* golden ratios: any signs and mantissas, some binades */
            double part = fmod((i + 1) * 0.6180339887498949, 1.0);
            x[i] = (NUMBER)ldexp(part - 0.7, i % 7 - 3);
        }
        char *mine[] = {(char *)x, (char *)&exponent, (char *)own};
        char *numpys[] = {(char *)x, (char *)&exponent, (char *)expected};
        good = OF_TYPE(run_on)(slot, mine, SAMPLES, strides) == 0 && served(slot, numpys, SAMPLES, strides) == 0
               && memcmp(own, expected, sizeof own) == 0;
    }
    return good;
}

#undef NUMBER
#undef MARK
#undef IS_POSITIVE
#undef NEAREST_POWERS
#undef LARGEST
#undef OF_TYPE

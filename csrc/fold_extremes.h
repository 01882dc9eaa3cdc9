/* A template, included by fold.c once a floating type: NUMBER_TYPE, PREFIX. A NaN makes a result unsure, and so does a
 * zero, which may have either sign. */

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _maximum_, x)
#define COMBINE(acc, value) ((value) > (acc) ? (value) : (acc))
#define IDENTITY (-(NUMBER)INFINITY)
#define UNORDERED(value) ((value) != (value))
#include "fold_any_order.h"

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _minimum_, x)
#define COMBINE(acc, value) ((value) < (acc) ? (value) : (acc))
#define IDENTITY ((NUMBER)INFINITY)
#define UNORDERED(value) ((value) != (value))
#include "fold_any_order.h"

static int
JOIN(PREFIX, _has_, zeros)(const char *accs, npy_intp n)
{
    int zeros = 0;
    for (npy_intp i = 0; i < n; i++) {
        zeros |= ((const NUMBER_TYPE *)accs)[i] == 0;
    }
    return zeros;
}

#undef NUMBER_TYPE
#undef PREFIX

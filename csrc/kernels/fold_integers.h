/* A template, included by fold.c once an integer type: NUMBER_TYPE, PREFIX, LOWEST, HIGHEST, MASK, the signed type of
 * its size, WIDE, an unsigned type in which its arithmetic wraps without overflow of int, and where AVX2 has them
 * AVX_MAXIMUM and AVX_MINIMUM. */

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _add_, x)
#define COMBINE(acc, value) ((NUMBER)((WIDE)(acc) + (WIDE)(value)))
#define IDENTITY 0
#include "fold_any_order.h"

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _multiply_, x)
#define COMBINE(acc, value) ((NUMBER)((WIDE)(acc) * (WIDE)(value)))
#define IDENTITY 1
#include "fold_any_order.h"

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _maximum_, x)
#define BETTER >
#ifdef AVX_MAXIMUM
#define AVX_PICK(value, best) AVX_MAXIMUM((__m256i)(value), (__m256i)(best))
#endif
#define IDENTITY LOWEST
#include "fold_extremes.h"

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _minimum_, x)
#define BETTER <
#ifdef AVX_MINIMUM
#define AVX_PICK(value, best) AVX_MINIMUM((__m256i)(value), (__m256i)(best))
#endif
#define IDENTITY HIGHEST
#include "fold_extremes.h"

#undef MASK
#undef AVX_MAXIMUM
#undef AVX_MINIMUM
#undef NUMBER_TYPE
#undef PREFIX
#undef LOWEST
#undef HIGHEST
#undef WIDE

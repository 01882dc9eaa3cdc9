/* A template, included by fold.c once an integer type: NUMBER_TYPE, PREFIX, LOWEST, HIGHEST, and WIDE, an unsigned type
 * in which its arithmetic wraps without overflow of int. */

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
#define COMBINE(acc, value) ((acc) > (value) ? (acc) : (value))
#define IDENTITY LOWEST
#include "fold_any_order.h"

#define NUMBER NUMBER_TYPE
#define NAME(x) JOIN(PREFIX, _minimum_, x)
#define COMBINE(acc, value) ((acc) < (value) ? (acc) : (value))
#define IDENTITY HIGHEST
#include "fold_any_order.h"

#undef NUMBER_TYPE
#undef PREFIX
#undef LOWEST
#undef HIGHEST
#undef WIDE

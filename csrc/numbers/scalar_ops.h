/* The operations of instructions on numbers, for scalar.c and induction.c. */
#ifndef DL_SCALAR_OPS_H
#define DL_SCALAR_OPS_H

#include "abi.h"

typedef enum {
#define SCALAR_OP(id, name, family) id,
#include "abi.def"
    N_OPS,
    TOO_BIG = N_OPS /* not of Python: an integer beyond 64 bits is needed, so evaluation declines */
} Op;

#endif

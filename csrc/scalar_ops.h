/* The operations of instructions on numbers, for scalar.c and ahead.c. */
#ifndef DL_SCALAR_OPS_H
#define DL_SCALAR_OPS_H

typedef enum {
    ADD, SUB, MUL, FLOORDIV, TRUEDIV, MOD, NEG, MIN, MAX, LT, LE, EQ, NE, GT, GE, AND, OR, NOT, POW, BITAND, BITOR, BITXOR, TRUNC, N_OPS,
    TOO_BIG = N_OPS /* not of Python: an integer beyond 64 bits is needed, so evaluation declines */
} Op;

#endif

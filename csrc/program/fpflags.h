/* The processor's sticky floating-point flags: NumPy's warnings are made from them.
 *
 * Bits are those of NumPy's loops: divide, over, under, invalid. The inexact flag is left alone: nobody reports it.
 */
#ifndef DL_FPFLAGS_H
#define DL_FPFLAGS_H

/* No flag of the processor's: an underflow within a loop of NumPy's, as exp's far away from 0. */
enum { DL_FP_UNDER_CALLED = 1 << 30 };

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>

enum { DL_FP_INVALID = 0x01, DL_FP_DIVIDE = 0x04, DL_FP_OVER = 0x08, DL_FP_UNDER = 0x10, DL_FP_ALL = 0x1D };

/* The flags that are set now. */
static inline unsigned
dl_fp_get(void)
{
    return _mm_getcsr() & DL_FP_ALL;
}

/* Set exactly these flags. */
static inline void
dl_fp_set(unsigned flags)
{
    unsigned state = _mm_getcsr();
    if ((state & DL_FP_ALL) != flags) {
        _mm_setcsr((state & ~(unsigned)DL_FP_ALL) | flags);
    }
}

/* The flags of the x87 unit, where the C library's feraiseexcept() puts overflow and underflow: NumPy's loops call it, and
 * NumPy looks at both units. Compiled kernels never touch this one. */
static inline unsigned
dl_fp_get_x87(void)
{
    unsigned short word;
    __asm__ volatile("fnstsw %0" : "=a"(word));
    return word & DL_FP_ALL;
}

/* Clear them. */
static inline void
dl_fp_clear_x87(void)
{
    if (dl_fp_get_x87()) {
        __asm__ volatile("fnclex");
    }
}

#else
#include <fenv.h>

enum {
    DL_FP_INVALID = FE_INVALID,
    DL_FP_DIVIDE = FE_DIVBYZERO,
    DL_FP_OVER = FE_OVERFLOW,
    DL_FP_UNDER = FE_UNDERFLOW,
    DL_FP_ALL = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW
};

static inline unsigned
dl_fp_get(void)
{
    return (unsigned)fetestexcept(DL_FP_ALL);
}

static inline void
dl_fp_set(unsigned flags)
{
    feclearexcept(DL_FP_ALL);
    if (flags) {
        feraiseexcept((int)flags);
    }
}

static inline unsigned
dl_fp_get_x87(void)
{
    return 0;
}

static inline void
dl_fp_clear_x87(void)
{
}
#endif

#endif

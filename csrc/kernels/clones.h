/* Loops that are compiled for several processors, of which the one at hand chooses when the module is loaded. */
#ifndef DL_CLONES_H
#define DL_CLONES_H

/* Before a function. The width of vectors changes no result. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define DL_HAS_CLONES
#define FOR_THIS_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_THIS_CPU
#endif

#endif

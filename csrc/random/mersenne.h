/* The generator of Python's module random, a Mersenne twister, as a bit generator. */
#ifndef DL_MERSENNE_H
#define DL_MERSENNE_H

#include <Python.h>
#include <numpy/random/bitgen.h>

enum {
    DL_MERSENNE_WORDS = 624,
    DL_MERSENNE_AT = sizeof(PyObject), /* where in a random.Random its state lies, if dl_mersenne_lies() */
    DL_MERSENNE_SIZE = sizeof(int) + DL_MERSENNE_WORDS * sizeof(uint32_t),
};

/* Whether the state of a generator, whose words and place getstate() tells, lies in it as here. */
int dl_mersenne_lies(PyObject *object, PyObject *words);

/* What draws from the state that lies in `object`. */
bitgen_t dl_mersenne_interface(PyObject *object);
int dl_mersenne_is(const bitgen_t *bits);

/* Draw n numbers of int64 from 0 up to limit, which does not count, as Random._randbelow does; 1 for one of more than
 * 32 bits. */
int32_t dl_mersenne_fill_below(bitgen_t *bits, int64_t limit, int64_t *out, Py_ssize_t n);

#endif

/* The generator of Python's module random (see mersenne.h): MT19937 by M. Matsumoto and T. Nishimura, "Mersenne Twister: A
   623-dimensionally equidistributed uniform pseudorandom number generator", ACM TOMACS 8 (1998). */
#include "mersenne.h"

#include <stdint.h>

typedef struct {
    int32_t place; /* of the next word */
    uint32_t words[DL_MERSENNE_WORDS];
} Twister;

enum { MIDDLE = 397 };

static uint32_t
twisted(uint32_t high, uint32_t low)
{
    uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (joined >> 1) ^ (joined & 1u ? 0x9908b0dfu : 0u);
}

static void
renew(Twister *twister)
{
    enum { BEFORE = DL_MERSENNE_WORDS - MIDDLE, LAST = DL_MERSENNE_WORDS - 1 };
    uint32_t *words = twister->words;
    for (int i = 0; i < BEFORE; i++) {
        words[i] = words[i + MIDDLE] ^ twisted(words[i], words[i + 1]);
    }
    for (int i = BEFORE; i < LAST; i++) {
        words[i] = words[i - BEFORE] ^ twisted(words[i], words[i + 1]);
    }
    words[LAST] = words[MIDDLE - 1] ^ twisted(words[LAST], words[0]);
    twister->place = 0;
}

static uint32_t
next_word(void *state)
{
    Twister *twister = state;
    if (twister->place >= DL_MERSENNE_WORDS) {
        renew(twister);
    }
    uint32_t word = twister->words[twister->place++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

static uint64_t
next_two(void *state)
{
    uint64_t low = next_word(state);
    return (uint64_t)next_word(state) << 32 | low;
}

static double
next_double(void *state)
{
    uint32_t high = next_word(state) >> 5, low = next_word(state) >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

int
dl_mersenne_lies(PyObject *object, PyObject *words)
{
    const Twister *twister = (const Twister *)((char *)object + DL_MERSENNE_AT);
    int lies = Py_TYPE(object)->tp_basicsize >= (Py_ssize_t)(DL_MERSENNE_AT + DL_MERSENNE_SIZE)
               && PyTuple_GET_SIZE(words) == DL_MERSENNE_WORDS + 1;
    for (int i = 0; lies && i <= DL_MERSENNE_WORDS; i++) {
        unsigned long word = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(words, i));
        lies = word == (i < DL_MERSENNE_WORDS ? twister->words[i] : (unsigned long)twister->place);
    }
    PyErr_Clear(); /* what is no number is none of them */
    return lies;
}

bitgen_t
dl_mersenne_interface(PyObject *object)
{
    return (bitgen_t){
        .state = (char *)object + DL_MERSENNE_AT,
        .next_uint64 = next_two,
        .next_uint32 = next_word,
        .next_double = next_double,
        .next_raw = next_two,
    };
}

int
dl_mersenne_is(const bitgen_t *bits)
{
    return bits->next_uint32 == next_word;
}

int32_t
dl_mersenne_fill_below(bitgen_t *bits, int64_t limit, int64_t *out, Py_ssize_t n)
{
    if (limit < 1 || limit > INT64_C(0xffffffff)) {
        return 1;
    }
    int shift = 0;
    while (limit >> (32 - shift - 1) == 0) {
        shift++;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        do {
            out[i] = next_word(bits->state) >> shift;
        } while (out[i] >= limit);
    }
    return 0;
}

/* What a Call step does that reads or stores by index arrays for axes of an array that follow one another (fancy.c). */
#ifndef DL_FANCY_H
#define DL_FANCY_H

#include <Python.h>

enum { DL_MAX_PLACES = 4 };

typedef struct {
    int n_places;                    /* indices; 0: it does nothing of the kind */
    int before;                      /* whole axes before them */
    PyObject *places[DL_MAX_PLACES]; /* arrays and numbers, borrowed from the step's template */
    int32_t x;                       /* register of the array */
    PyObject *value;                 /* what is stored, borrowed as well; NULL where it reads */
} DlFancy;

#endif

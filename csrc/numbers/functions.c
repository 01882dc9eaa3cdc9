/* Functions of Python's math on numbers (see scalar.h). */
#include <math.h>

#include "scalar.h"
#include "scalar_ops.h"

/* math.hypot, which is no function of the C library; 1 to decline. */
static int
hypotenuse(double a, double b, double *out)
{
    static PyObject *function;
    PyObject *args[2] = {PyFloat_FromDouble(a), PyFloat_FromDouble(b)};
    if (function == NULL) {
        PyObject *module = PyImport_ImportModule("dynamo_lite.graph.scalar");
        function = module == NULL ? NULL : PyObject_GetAttrString(module, "HYPOT");
        Py_XDECREF(module);
    }
    PyObject *value = NULL;
    if (function != NULL && args[0] != NULL && args[1] != NULL) {
        value = PyObject_Vectorcall(function, args, 2, NULL);
    }
    *out = value == NULL ? 0.0 : PyFloat_AsDouble(value);
    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    Py_XDECREF(value);
    PyErr_Clear();
    return value == NULL || !isfinite(*out);
}

/* round(a, b): the float that the decimal digits are read as; 1 to decline, also where b is none of the numbers 0 to 22.

   Where the digits in front of the cut are fewer than 2**52, and what is cut off is not half a digit to within what the
   product may be wrong by, they are certain; then they and the power of ten are exact, and their quotient is rounded once,
   as the text would be. */
static int
rounded(double a, double b, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!(b >= 0.0 && b < (double)Py_ARRAY_LENGTH(tens)) || b != floor(b)) {
        return 1;
    }
    if (fabs(a) < 0x1p52) { /* NB: the product sets no flag then */
        double shifted = a * tens[(int)b], half = fabs(shifted - floor(shifted) - 0.5);
        if (fabs(shifted) < 0x1p52 && half > fabs(shifted) * 0x1p-52) {
            *out = rint(shifted) / tens[(int)b];
            return 0;
        }
    }
    char *digits = PyOS_double_to_string(a, 'f', (int)b, 0, NULL);
    *out = digits == NULL ? -1.0 : PyOS_string_to_double(digits, NULL, NULL);
    int fails = *out == -1.0 && PyErr_Occurred();
    PyMem_Free(digits);
    PyErr_Clear();
    return fails;
}

/* NB: math calls these functions of the C library. But for fabs it raises, or goes ways of its own, only where an operand
   or the result is not finite. */
int
dl_functions_call(int op, double a, double b, double *out)
{
    if (op == FABS) {
        *out = fabs(a);
        return 0;
    }
    if (!isfinite(a) || !isfinite(b)) {
        return 1;
    }
    switch ((Op)op) {
    case SIN:
        *out = sin(a);
        break;
    case COS:
        *out = cos(a);
        break;
    case TAN:
        *out = tan(a);
        break;
    case ASIN:
        *out = asin(a);
        break;
    case ACOS:
        *out = acos(a);
        break;
    case ATAN:
        *out = atan(a);
        break;
    case SINH:
        *out = sinh(a);
        break;
    case COSH:
        *out = cosh(a);
        break;
    case TANH:
        *out = tanh(a);
        break;
    case EXP:
        *out = exp(a);
        break;
    case LOG:
        *out = a > 0.0 ? log(a) : NAN;
        break;
    case LOG2:
        *out = a > 0.0 ? log2(a) : NAN;
        break;
    case LOG10:
        *out = a > 0.0 ? log10(a) : NAN;
        break;
    case ATAN2:
        *out = atan2(a, b);
        break;
    case ASINH:
        *out = asinh(a);
        break;
    case ACOSH:
        *out = acosh(a);
        break;
    case ATANH:
        *out = atanh(a);
        break;
    case EXPM1:
        *out = expm1(a);
        break;
    case EXP2:
        *out = exp2(a);
        break;
    case LOG1P:
        *out = log1p(a);
        break;
    case CBRT:
        *out = cbrt(a);
        break;
    case ERF:
        *out = erf(a);
        break;
    case ERFC:
        *out = erfc(a);
        break;
    case FMOD:
        *out = fmod(a, b);
        break;
    case COPYSIGN:
        *out = copysign(a, b);
        break;
    case CABS: /* a complex number's; NB: math.hypot has a way of its own */
        *out = hypot(a, b);
        break;
    case ROUND:
        return rounded(a, b, out);
    case HYPOT:
        return hypotenuse(a, b, out);
    default:
        return 1;
    }
    return !isfinite(*out);
}

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
    case HYPOT:
        return hypotenuse(a, b, out);
    default:
        return 1;
    }
    return !isfinite(*out);
}

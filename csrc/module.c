/* The extension module dynamo_lite._C: only assembles what the other files define. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "dynamo_lite._C", .m_size = -1};

PyMODINIT_FUNC
PyInit__C(void)
{
    return PyModule_Create(&definition);
}

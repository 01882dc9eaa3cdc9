/* Build the Map and Reduce steps of a program: their kernels, operands and targets. */
#include "build.h"
#include "kernels/maps.h"

#include "kernels/kernel_code.h"

/* The memory order that param names for an explicit copy; 0 or -1. */
static int
build_order(DlBuilder *builder, PyObject *op, PyObject *param, DlKernelOp *row)
{
    if (param == Py_None) {
        row->order = NPY_KEEPORDER;
        return 0;
    }
    const char *text = PyUnicode_Check(param) ? PyUnicode_AsUTF8(param) : NULL;
    if (text == NULL || strlen(text) != 1 || !strchr("KCFA", text[0])) {
        return PyErr_Occurred() ? -1 : dl_build_refuse(builder, "not a memory order", op);
    }
    row->order = text[0] == 'K'   ? NPY_KEEPORDER
                 : text[0] == 'C' ? NPY_CORDER
                 : text[0] == 'F' ? NPY_FORTRANORDER
                                  : NPY_ANYORDER;
    return 0;
}

/* Which rule of layout.c a kernel op follows; 0 or -1. */
static int
build_rule(DlBuilder *builder, PyObject *op, DlKernelOp *row)
{
    PyObject *param = PyObject_GetAttrString(op, "param");
    if (param == NULL) {
        return -1;
    }
    int is_cast = dl_build_is_text(op, "op", "cast"), is_copy = dl_build_is_text(op, "op", "copy");
    int is_const = dl_build_is_text(op, "op", "const"), is_where = dl_build_is_text(op, "op", "where"), status = 0;
    if (is_cast < 0 || is_copy < 0 || is_const < 0 || is_where < 0) {
        status = -1;
    }
    else if (is_copy || (is_cast && param != Py_None)) {
        row->rule = DL_LAYOUT_COPY;
        status = build_order(builder, op, param, row);
    }
    else {
        row->rule = is_cast    ? DL_LAYOUT_CAST
                    : is_const ? DL_LAYOUT_CONST
                    : is_where ? DL_LAYOUT_WHERE
                               : DL_LAYOUT_UFUNC;
    }
    Py_DECREF(param);
    return status;
}

/* One op: its operands, layout rule and the itemsizes of its results; 0 or -1. */
static int
build_kernel_op(DlBuilder *builder, DlKernel *kernel, PyObject *op, DlKernelOp *row, PyArray_Descr **descrs,
                Py_ssize_t n_operands)
{
    row->first_out = kernel->n_values;
    row->operands = dl_build_numbers(builder, op, "operands", kernel->n_values, &row->n_operands);
    if (row->operands == NULL || build_rule(builder, op, row) < 0) {
        return -1;
    }
    int needed = row->rule == DL_LAYOUT_CAST || row->rule == DL_LAYOUT_COPY ? 1 : -1;
    if (needed >= 0 && row->n_operands != needed) {
        return dl_build_refuse(builder, "wrong number of operands", op);
    }
    PyObject *dtypes = dl_build_tuple(op, "dtypes");
    int status = dtypes ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(dtypes); i++) {
        PyArray_Descr *descr = dl_build_plain(builder, PyTuple_GET_ITEM(dtypes, i));
        if (descr == NULL) {
            status = -1;
            break;
        }
        descrs[kernel->n_values] = descr;
        kernel->itemsizes[kernel->n_values++] = (int)PyDataType_ELSIZE(descr);
        row->n_outs++;
    }
    Py_XDECREF(dtypes);
    PyObject *forward = status == 0 ? PyObject_GetAttrString(op, "forward") : NULL;
    int is_forward = forward ? PyObject_IsTrue(forward) : -1;
    Py_XDECREF(forward);
    for (int i = 0; is_forward > 0 && i < row->n_operands; i++) {
        if (row->operands[i] < n_operands) {
            if (kernel->forward == NULL && (kernel->forward = dl_build_rows(builder, n_operands, 1)) == NULL) {
                return -1;
            }
            kernel->forward[row->operands[i]] = 1;
        }
    }
    return is_forward < 0 ? -1 : 0;
}

/* How many values the ops of a kernel make, or -1. */
static Py_ssize_t
count_values(PyObject *ops)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops); i++) {
        PyObject *dtypes = dl_build_tuple(PyTuple_GET_ITEM(ops, i), "dtypes");
        if (dtypes == NULL) {
            return -1;
        }
        n += PyTuple_GET_SIZE(dtypes);
        Py_DECREF(dtypes);
    }
    return n;
}

/* Fill a kernel from a Kernel; 0 or -1. */
static int
build_kernel(DlBuilder *builder, PyObject *object, DlKernel *kernel)
{
    PyArray_Descr **descrs = NULL; /* of every value */
    int status = -1;
    PyObject *dtypes = dl_build_tuple(object, "operand_dtypes");
    PyObject *ops = dtypes ? dl_build_tuple(object, "ops") : NULL;
    Py_ssize_t made = ops ? count_values(ops) : -1;
    if (made < 0) {
        goto done;
    }
    Py_ssize_t n_operands = PyTuple_GET_SIZE(dtypes);
    kernel->object = dl_program_own(builder->program, Py_NewRef(object));
    kernel->itemsizes = dl_build_rows(builder, n_operands + made, sizeof *kernel->itemsizes);
    kernel->ops = dl_build_rows(builder, PyTuple_GET_SIZE(ops), sizeof *kernel->ops);
    descrs = dl_build_rows(builder, n_operands + made, sizeof *descrs);
    if (kernel->object == NULL || kernel->itemsizes == NULL || kernel->ops == NULL || descrs == NULL) {
        goto done;
    }
    for (; kernel->n_values < n_operands; kernel->n_values++) {
        PyArray_Descr *descr = dl_build_plain(builder, PyTuple_GET_ITEM(dtypes, kernel->n_values));
        if (descr == NULL) {
            goto done;
        }
        descrs[kernel->n_values] = descr;
        kernel->itemsizes[kernel->n_values] = (int)PyDataType_ELSIZE(descr);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops); i++) {
        kernel->n_ops = (int)i + 1;
        DlKernelOp *row = &kernel->ops[i];
        if (build_kernel_op(builder, kernel, PyTuple_GET_ITEM(ops, i), row, descrs, n_operands) < 0) {
            goto done;
        }
        kernel->copies |= row->rule == DL_LAYOUT_COPY;
        int inverts = dl_build_is_text(PyTuple_GET_ITEM(ops, i), "op", "quotient");
        if (inverts < 0) {
            goto done;
        }
        kernel->inverts |= inverts;
        builder->program->inverts |= inverts;
    }
    kernel->results = dl_build_numbers(builder, object, "results", kernel->n_values, &kernel->n_results);
    if (kernel->results == NULL) {
        goto done;
    }
    if (n_operands + kernel->n_results > DL_MAX_OPERANDS) {
        dl_build_refuse(builder, "a kernel has too many operands and results", object);
        goto done;
    }
    kernel->descrs = dl_build_rows(builder, n_operands + kernel->n_results, sizeof *kernel->descrs);
    if (kernel->descrs == NULL) {
        goto done;
    }
    kernel->n_operands = (int)n_operands;
    for (int i = 0; i < n_operands; i++) {
        kernel->descrs[i] = descrs[i];
    }
    for (int i = 0; i < kernel->n_results; i++) {
        int number = kernel->results[i];
        kernel->descrs[n_operands + i] = descrs[number];
        kernel->copies |= number < n_operands;
        for (int j = 0; j < kernel->n_ops; j++) {
            kernel->copies |= kernel->ops[j].first_out == number && kernel->ops[j].rule == DL_LAYOUT_CAST;
        }
    }
    status = 0;
done:
    Py_XDECREF(dtypes);
    Py_XDECREF(ops);
    return status;
}

/* ---- steps ---- */

/* The kernel, operands and shape of a Map or Reduce; 0 or -1. */
static int
build_map_inputs(DlBuilder *builder, PyObject *object, DlMapStep *step)
{
    PyObject *kernel = PyObject_GetAttrString(object, "kernel");
    int status = kernel ? build_kernel(builder, kernel, &step->kernel) : -1;
    Py_XDECREF(kernel);
    PyObject *operands = status == 0 ? dl_build_tuple(object, "operands") : NULL;
    if (operands == NULL) {
        return -1;
    }
    status = -1;
    if (PyTuple_GET_SIZE(operands) != step->kernel.n_operands) {
        dl_build_refuse(builder, "the kernel takes another number of operands", object);
    }
    else if ((step->operands = dl_build_rows(builder, step->kernel.n_operands, sizeof *step->operands)) != NULL) {
        status = 0;
        for (int i = 0; i < step->kernel.n_operands && status == 0; i++) {
            status = dl_build_operand(builder, PyTuple_GET_ITEM(operands, i), step->kernel.descrs[i], &step->operands[i]);
        }
    }
    Py_DECREF(operands);
    return status < 0 ? -1 : dl_build_dims(builder, object, "shape", &step->shape);
}

/* Where a map's results go; 0 or -1. */
static int
build_map_outs(DlBuilder *builder, PyObject *object, DlMapStep *step)
{
    int n = step->kernel.n_results, status = -1;
    PyObject *outs = dl_build_tuple(object, "outs");
    PyObject *into = outs ? dl_build_tuple(object, "into") : NULL;
    PyObject *scalar = into ? dl_build_tuple(object, "scalar") : NULL;
    if (scalar == NULL) {
        goto done;
    }
    if (PyTuple_GET_SIZE(outs) != n || PyTuple_GET_SIZE(into) != n || PyTuple_GET_SIZE(scalar) != n) {
        dl_build_refuse(builder, "the kernel has another number of results", object);
        goto done;
    }
    step->outs = dl_build_rows(builder, n, sizeof *step->outs);
    step->into = dl_build_rows(builder, n, 1);
    step->scalar = dl_build_rows(builder, n, 1);
    if (step->outs == NULL || step->into == NULL || step->scalar == NULL) {
        goto done;
    }
    step->quick = n > 0 && (!step->kernel.copies || step->shape.n == 0);
    for (int i = 0; i < n; i++) {
        long reg = PyLong_AsLong(PyTuple_GET_ITEM(outs, i));
        int is_into = PyObject_IsTrue(PyTuple_GET_ITEM(into, i));
        int is_scalar = PyObject_IsTrue(PyTuple_GET_ITEM(scalar, i));
        if (PyErr_Occurred() || reg < 0 || reg > INT32_MAX) {
            if (!PyErr_Occurred()) {
                dl_build_refuse(builder, "no such register", object);
            }
            goto done;
        }
        step->outs[i] = (int32_t)reg;
        step->into[i] = (uint8_t)is_into;
        step->scalar[i] = (uint8_t)(is_scalar && !is_into);
        step->quick &= !is_into && (!is_scalar || step->shape.n == 0);
        if ((is_into ? dl_build_use : dl_build_set)(builder, (int32_t)reg, object) < 0) {
            goto done;
        }
    }
    status = 0;
done:
    Py_XDECREF(outs);
    Py_XDECREF(into);
    Py_XDECREF(scalar);
    return status;
}

int
dl_build_map(DlBuilder *builder, PyObject *object, DlMapStep *step)
{
    return build_map_inputs(builder, object, step) < 0 ? -1 : build_map_outs(builder, object, step);
}

/* The targets of a kernel for many iterations; 0 or -1. */
static int
build_iterated_outs(DlBuilder *builder, PyObject *object, DlMapStep *map)
{
    int n = map->kernel.n_results;
    PyObject *outs = dl_build_tuple(object, "outs");
    PyObject *into = outs ? dl_build_tuple(object, "into") : NULL;
    int status = into ? 0 : -1;
    if (status == 0 && (PyTuple_GET_SIZE(outs) != n || PyTuple_GET_SIZE(into) != n)) {
        status = dl_build_refuse(builder, "the kernel has another number of results", object);
    }
    map->outs = status == 0 ? dl_build_rows(builder, n, sizeof *map->outs) : NULL;
    map->into = status == 0 ? dl_build_rows(builder, n, 1) : NULL;
    if (map->outs == NULL || map->into == NULL) {
        status = -1;
    }
    for (int i = 0; i < n && status == 0; i++) {
        long reg = PyLong_AsLong(PyTuple_GET_ITEM(outs, i));
        int is_into = PyObject_IsTrue(PyTuple_GET_ITEM(into, i));
        if (reg < 0 || reg > INT32_MAX || is_into < 0) {
            status = PyErr_Occurred() ? -1 : dl_build_refuse(builder, "no such register", object);
            break;
        }
        map->outs[i] = (int32_t)reg;
        map->into[i] = (uint8_t)is_into;
        status = dl_build_use(builder, (int32_t)reg, object);
    }
    Py_XDECREF(outs);
    Py_XDECREF(into);
    return status;
}

int
dl_build_iterated(DlBuilder *builder, PyObject *schedule, DlLoopKernel **made)
{
    PyObject *object = PyObject_GetAttrString(schedule, "iterated");
    if (object == NULL || object == Py_None) {
        Py_XDECREF(object);
        return object ? 0 : -1;
    }
    DlLoopKernel *kernel = *made = dl_build_rows(builder, 1, sizeof *kernel);
    int status = kernel ? build_map_inputs(builder, object, &kernel->map) : -1;
    status = status < 0 ? -1 : build_iterated_outs(builder, object, &kernel->map);
    if (status == 0) {
        kernel->map.kernel.iterates = 1;
        kernel->varies = dl_build_rows(builder, kernel->map.kernel.n_operands + kernel->map.kernel.n_results, 1);
        status = kernel->varies ? 0 : -1;
    }
    Py_DECREF(object);
    return status;
}

int
dl_build_reduce(DlBuilder *builder, PyObject *object, DlReduceStep *step)
{
    static int32_t no_register;
    static uint8_t no;
    if (build_map_inputs(builder, object, &step->map) < 0) {
        return -1;
    }
    if (step->map.kernel.n_results != 1) {
        return dl_build_refuse(builder, "a reduced kernel has one result", object);
    }
    PyObject *kernel = step->map.kernel.object, *fold = PyObject_GetAttrString(kernel, "fold");
    if (fold == NULL) {
        return -1;
    }
    step->map.kernel.folds = fold != Py_None;
    Py_DECREF(fold);
    step->map.outs = &no_register; /* shared: dl_map_fresh makes one fresh array */
    step->map.into = &no;
    step->map.scalar = &no;
    step->descr = dl_build_descr(builder, object, "dtype");
    step->keepdims = step->descr ? dl_build_bool(object, "keepdims") : -1;
    step->scalar = step->keepdims < 0 ? -1 : dl_build_bool(object, "scalar");
    PyObject *ufunc = step->scalar < 0 ? NULL : PyObject_GetAttrString(object, "ufunc");
    PyObject *axes = ufunc ? dl_build_tuple(object, "axes") : NULL;
    int status = -1;
    if (axes == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); i++) {
        long axis = PyLong_AsLong(PyTuple_GET_ITEM(axes, i));
        if (axis < 0 || axis >= step->map.shape.n || step->reduced[axis]) {
            if (!PyErr_Occurred()) {
                dl_build_refuse(builder, "wrong axes", object);
            }
            goto done;
        }
        step->reduced[axis] = 1;
    }
    step->reduce = dl_program_own(builder->program, PyObject_GetAttrString(ufunc, "reduce"));
    PyObject *tail = step->reduce ? Py_BuildValue("(OOOO)", axes, step->descr, Py_None,
                                                  step->keepdims ? Py_True : Py_False)
                                  : NULL;
    step->args_tail = dl_program_own(builder->program, tail);
    PyObject *name = step->args_tail ? PyObject_GetAttrString(ufunc, "__name__") : NULL;
    if (name == NULL) {
        goto done;
    }
    status = dl_reduce_plan(step, PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "");
    Py_DECREF(name);
    step->dst = dl_build_int(object, "dst");
    if (status < 0 || step->dst == INT32_MIN || dl_build_set(builder, step->dst, object) < 0) {
        status = -1;
    }
done:
    Py_XDECREF(ufunc);
    Py_XDECREF(axes);
    return status;
}

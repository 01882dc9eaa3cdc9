/* Reduce: a kernel's values folded over axes, in NumPy's own order of operations.
 *
 * Where the order is not one that this file knows, the kernel's result is made as an array, in the memory order NumPy's
 * own operations would give, and NumPy's reduce is called on it.
 */
#include "program.h"

/* The array to reduce: the operand itself where the kernel only reads it, else the kernel's result. */
static DlStatus
make_operand(DlRun *run, DlReduceStep *step, int nd, const npy_intp *shape, PyObject **operand)
{
    DlKernel *kernel = &step->map.kernel;
    if (kernel->n_ops == 0 && step->map.operands[kernel->results[0]].kind == DL_FROM_REG) {
        DlReg *reg = &run->regs[step->map.operands[kernel->results[0]].index];
        if (reg->kind == DL_ARRAY && reg->nd == nd && memcmp(reg->shape, shape, (size_t)nd * sizeof *shape) == 0) {
            *operand = Py_XNewRef(dl_reg_object(reg));
            return *operand ? 0 : -1;
        }
    }
    return dl_map_fresh(run, &step->map, nd, shape, operand);
}

/* Call ufunc.reduce(operand, axes, dtype, None, keepdims). */
static DlStatus
call_numpy(DlRun *run, DlReduceStep *step, PyObject *operand)
{
    PyObject *args[6] = {NULL, operand};
    for (int i = 0; i < 4; i++) {
        args[2 + i] = PyTuple_GET_ITEM(step->args_tail, i);
    }
    DlStatus status = dl_errstate_enter(run);
    if (status != 0) {
        return status;
    }
    PyObject *result = PyObject_Vectorcall(step->reduce, args + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    status = dl_call_done(run, result);
    if (status == 0) {
        DlReg *reg = &run->regs[step->dst];
        dl_reg_take(reg, result);
        int right = reg->kind == (step->scalar ? DL_SCALAR : DL_ARRAY) && reg->descr->type_num == step->descr->type_num;
        status = right ? 0 : dl_decline(run, DL_REASON_RESULT);
    }
    return status;
}

int
dl_reduce_plan(DlReduceStep *step, const char *ufunc)
{
    (void)ufunc;
    step->rule = DL_REDUCE_NUMPY;
    return 0;
}

DlStatus
dl_reduce_run(DlRun *run, DlReduceStep *step)
{
    npy_intp shape[DL_MAX_DIMS];
    int nd = step->map.shape.n;
    if (dl_dims_get(run, &step->map.shape, shape)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    PyObject *operand;
    DlStatus status = make_operand(run, step, nd, shape, &operand);
    if (status == 0) {
        status = call_numpy(run, step, operand);
        Py_DECREF(operand);
    }
    return status;
}

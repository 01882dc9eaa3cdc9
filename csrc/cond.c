/* Cond: look at a condition and run one of two branches, each a program of its own in a run of its own.
 *
 * A branch takes registers and numbers of the run around it, and puts its outputs into registers there; numbers become
 * values of the table, too, and what waits for them is evaluated. INVARIANT: of the branch that does not run nothing
 * happens. What a branch writes was saved by the outermost program; floating-point flags stay set for the loop around.
 */
#include "program.h"

enum {
    SMALL_REGISTERS = 12,
    SMALL_NUMBERS = 48,
};

int
dl_cond_truth(DlRun *run, const DlOperand *condition)
{
    if (condition->kind == DL_FROM_NUMBER) {
        return run->numbers[condition->index].i != 0;
    }
    DlReg *reg = &run->regs[condition->index];
    char *cell = reg->kind == DL_SCALAR ? dl_reg_cell(reg) : NULL;
    if (cell == NULL || reg->descr->type_num != NPY_BOOL) {
        return -dl_decline(run, DL_REASON_INPUT);
    }
    return *cell != 0;
}

/* The integer at `cell`; 1 where it does not fit 64 bits or is none. */
static int
read_int(const char *cell, int type, int64_t *out)
{
    switch (type) {
    case NPY_BOOL:
        *out = *(const npy_bool *)cell != 0;
        return 0;
    case NPY_BYTE:
        *out = *(const npy_byte *)cell;
        return 0;
    case NPY_UBYTE:
        *out = *(const npy_ubyte *)cell;
        return 0;
    case NPY_SHORT:
        *out = *(const npy_short *)cell;
        return 0;
    case NPY_USHORT:
        *out = *(const npy_ushort *)cell;
        return 0;
    case NPY_INT:
        *out = *(const npy_int *)cell;
        return 0;
    case NPY_UINT:
        *out = *(const npy_uint *)cell;
        return 0;
    case NPY_LONG:
        *out = *(const npy_long *)cell;
        return 0;
    case NPY_LONGLONG:
        *out = *(const npy_longlong *)cell;
        return 0;
    case NPY_ULONG:
        *out = (int64_t) * (const npy_ulong *)cell;
        return *out < 0 && sizeof(npy_ulong) == 8;
    case NPY_ULONGLONG:
        *out = (int64_t) * (const npy_ulonglong *)cell;
        return *out < 0;
    default:
        return 1;
    }
}

DlStatus
dl_read_run(DlRun *run, const DlReadStep *step)
{
    DlReg *reg = &run->regs[step->src];
    const char *cell = reg->kind == DL_SCALAR ? dl_reg_cell(reg) : NULL;
    DlNumber number = {.i = 0};
    if (cell == NULL) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    if (step->kind == DL_FLOAT && reg->descr->type_num == NPY_DOUBLE) {
        number.f = *(const double *)cell;
    }
    else if (step->kind == DL_FLOAT && reg->descr->type_num == NPY_FLOAT) {
        number.f = (double)*(const float *)cell;
    }
    else if (step->kind == DL_FLOAT || read_int(cell, reg->descr->type_num, &number.i)) {
        return dl_decline(run, DL_REASON_NUMBER);
    }
    return dl_yields_set(run, &step->yields, &number);
}

/* Fill the branch's registers and numbers from those outside. */
static DlStatus
load(DlRun *run, DlRun *outer, const DlCondStep *step)
{
    const DlProgram *program = run->program;
    const DlScalars *table = &program->numbers;
    for (int k = 0; k < step->n_operands; k++) {
        if (step->operands[k].kind != DL_FROM_REG) {
            continue;
        }
        DlReg *src = &outer->regs[step->operands[k].index], *dst = &run->regs[k];
        if (program->body->returned[k] && dl_reg_object(src) == NULL) {
            return -1;
        }
        dl_reg_copy(dst, src);
        dst->object = Py_XNewRef(src->object);
    }
    for (int i = 0; i < program->n_constants; i++) {
        dl_reg_take(&run->regs[program->constant_regs[i]], Py_NewRef(program->constants[i]));
    }
    if (table->n_values == 0) {
        return 0;
    }
    memcpy(run->numbers, table->initial, (size_t)table->n_values * sizeof *run->numbers);
    for (int32_t i = 0; i < table->n_loads; i++) {
        const DlScalarLoad *number = &table->loads[i];
        if (number->input < 0) {
            continue;
        }
        if (number->axis < 0) {
            run->numbers[number->value] = outer->numbers[step->operands[number->input].index];
            continue;
        }
        const DlReg *reg = &run->regs[number->input];
        if (reg->kind != DL_ARRAY || number->axis >= reg->nd) {
            return dl_decline(run, DL_REASON_INPUT);
        }
        run->numbers[number->value].i = reg->shape[number->axis];
    }
    return dl_scalar_eval(table, 0, program->n_early, run->numbers) ? dl_decline(run, DL_REASON_NUMBER) : 0;
}

/* Hand the outputs to the registers outside. */
static DlStatus
take_outputs(DlRun *run, DlRun *outer, const DlCondStep *step)
{
    const DlProgram *program = run->program;
    DlNumber numbers[DL_MAX_CARRIED_NUMBERS];
    int n_nodes = program->body->n_carried;
    for (int k = 0; k < n_nodes; k++) {
        DlReg *src = &run->regs[program->outputs[k].index], *dst = &outer->regs[step->dsts[k]];
        if ((src->kind == DL_ARRAY || program->body->needs_object[k]) && dl_reg_object(src) == NULL) {
            return -1;
        }
        dl_reg_copy(dst, src);
        dst->object = Py_XNewRef(src->object);
    }
    for (int j = 0; j < program->body->n_numbers; j++) {
        int32_t value = program->outputs[n_nodes + j].index;
        numbers[j] = run->numbers[value];
        dl_reg_take_number(&outer->regs[step->dsts[n_nodes + j]], numbers[j], program->numbers.kinds[value]);
    }
    return dl_yields_set(outer, &step->yields, numbers);
}

/* Run a branch in `run`, whose registers and numbers have room for it. */
static DlStatus
run_branch(DlRun *run, DlRun *outer, const DlCondStep *step)
{
    DlProgram *program = run->program;
    for (int i = 0; i < program->n_registers; i++) {
        run->regs[i].kind = DL_EMPTY;
        run->regs[i].fresh = 0;
        run->regs[i].object = NULL;
    }
    DlStatus status = load(run, outer, step);
    if (status == 0 && program->n_written && !step->checked[program == step->branches[1]]) {
        status = dl_overlap_check_inputs(run, 0, run->program->n_inputs, 1);
    }
    status = status ? status : dl_steps_run(run, 0);
    outer->flags = run->flags;
    outer->errstate = run->errstate;
    outer->knows_reported = run->knows_reported;
    outer->reported = run->reported;
    if (status == 0) {
        status = take_outputs(run, outer, step);
    }
    else if (status > 0) {
        dl_decline(outer, run->reason);
    }
    for (int i = 0; i < program->n_registers; i++) {
        Py_XDECREF(run->regs[i].object);
    }
    if (program->never && !outer->program->never) {
        outer->program->never = program->never;
        Py_XSETREF(outer->program->failure, Py_XNewRef(program->failure));
    }
    return status;
}

DlStatus
dl_cond_run(DlRun *outer, DlCondStep *step)
{
    int truth = dl_cond_truth(outer, &step->condition);
    if (truth < 0) {
        return 1;
    }
    DlProgram *program = step->branches[truth ? 0 : 1];
    if (program->never) {
        return dl_decline(outer, program->never);
    }
    DlReg small_regs[SMALL_REGISTERS];
    DlNumber small_numbers[SMALL_NUMBERS];
    DlRun run = *outer;
    run.program = program;
    run.regs = small_regs;
    run.numbers = small_numbers;
    run.saved = NULL;
    if (program->n_registers > SMALL_REGISTERS) {
        run.regs = PyMem_New(DlReg, program->n_registers);
    }
    if (program->numbers.n_values > SMALL_NUMBERS) {
        run.numbers = PyMem_New(DlNumber, program->numbers.n_values);
    }
    DlStatus status = run.regs == NULL || run.numbers == NULL ? dl_decline(outer, DL_REASON_MEMORY)
                                                              : run_branch(&run, outer, step);
    if (run.regs != small_regs) {
        PyMem_Free(run.regs);
    }
    if (run.numbers != small_numbers) {
        PyMem_Free(run.numbers);
    }
    return status;
}

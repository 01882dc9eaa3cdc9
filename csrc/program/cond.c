/* Cond: look at a condition and run one of two branches, each a program of its own in a run of its own.
 *
 * A branch takes registers and numbers of the run around it, and puts its outputs into registers there; numbers become
 * values of the table, too, and what waits for them is evaluated. INVARIANT: of the branch that does not run nothing
 * happens. What a branch writes was saved by the outermost program; floating-point flags stay set for the loop around.
 */
#include "runs.h"

#include "machine_lists.h"
#include "objects.h"

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
    if (step->of != DL_READ_SCALAR) {
        DlNumber found = {.i = 0};
        int failed = reg->object == NULL;
        if (step->of == DL_READ_TAG) {
            failed |= step->table < 0 || !DL_OBJECTS_CHECK(run->regs[step->table].object);
            failed = failed || dl_object_tag(run->regs[step->table].object, reg->object, &found.i);
        }
        else {
            failed = failed || dl_object_number(reg->object, step->of, &found.i);
        }
        if (failed) {
            return dl_decline(run, DL_REASON_NUMBER);
        }
        return dl_yields_set(run, &step->yields, &found);
    }
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
    DlRun run;
    DlRoom room;
    DlStatus status = dl_nested_open(&run, outer, program, &room);
    if (status == 0) {
        status = dl_nested_load(&run, outer, step->operands, 0, step->n_operands, 0, program->n_early);
        if (status == 0 && program->n_written && !step->checked[!truth]) {
            status = dl_overlap_check_inputs(&run, 0, program->n_inputs, 1);
        }
        status = status ? status : dl_steps_run(&run, 0);
        status = dl_nested_end(&run, outer, status);
        status = status ? status : take_outputs(&run, outer, step);
    }
    dl_run_close(&run, &room);
    return status;
}

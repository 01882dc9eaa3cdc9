/* Runs: what each needs, and those of programs in programs, the body of a loop (loop.c) or a branch of a choice (cond.c).
 * Such a program has a run of its own, whose registers and numbers are made of those of the run around it. What it writes
 * was saved by the outermost program; its floating-point flags count there, too.
 */
#include "runs.h"

DlStatus
dl_run_open(DlRun *run, DlRoom *room)
{
    const DlProgram *program = run->program;
    int few = program->n_registers <= DL_FEW_REGISTERS, few_numbers = program->numbers.n_values <= DL_FEW_NUMBERS;
    run->regs = few ? room->regs : PyMem_New(DlReg, program->n_registers);
    run->numbers = few_numbers ? room->numbers : PyMem_New(DlNumber, program->numbers.n_values);
    for (int i = 0; run->regs != NULL && i < program->n_registers; i++) {
        run->regs[i].kind = DL_EMPTY;
        run->regs[i].fresh = 0;
        run->regs[i].object = NULL;
    }
    return run->regs == NULL || run->numbers == NULL ? dl_decline(run, DL_REASON_MEMORY) : 0;
}

void
dl_run_close(DlRun *run, DlRoom *room)
{
    for (int i = 0; run->regs != NULL && i < run->program->n_registers; i++) {
        Py_XDECREF(run->regs[i].object);
    }
    if (run->regs != room->regs) {
        PyMem_Free(run->regs);
    }
    if (run->numbers != room->numbers) {
        PyMem_Free(run->numbers);
    }
}

DlStatus
dl_nested_open(DlRun *run, DlRun *outer, DlProgram *program, DlRoom *room)
{
    *run = *outer;
    run->program = program;
    run->saved = NULL;
    return dl_run_open(run, room) ? dl_decline(outer, DL_REASON_MEMORY) : 0;
}

DlStatus
dl_nested_load(DlRun *run, DlRun *outer, const DlOperand *operands, int from, int n, int first, int32_t n_instrs)
{
    const DlProgram *program = run->program;
    const DlScalars *table = &program->numbers;
    for (int k = from; k < n; k++) {
        if (operands[k].kind != DL_FROM_REG) {
            continue;
        }
        DlReg *src = &outer->regs[operands[k].index], *dst = &run->regs[first + k];
        if (program->body->returned[first + k] && dl_reg_object(src) == NULL) {
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
        const DlScalarLoad *load = &table->loads[i];
        if (load->input < first) {
            continue;
        }
        if (load->axis < 0) {
            run->numbers[load->value] = outer->numbers[operands[load->input - first].index];
            continue;
        }
        const DlReg *reg = &run->regs[load->input];
        if (reg->kind != DL_ARRAY || load->axis >= reg->nd) {
            return dl_decline(run, DL_REASON_INPUT);
        }
        run->numbers[load->value].i = reg->shape[load->axis];
    }
    return dl_scalar_eval(table, 0, n_instrs, run->numbers) ? dl_decline(run, DL_REASON_NUMBER) : 0;
}

DlStatus
dl_nested_end(const DlRun *run, DlRun *outer, DlStatus status)
{
    const DlProgram *program = run->program;
    outer->flags = run->flags;
    outer->errstate = run->errstate;
    outer->knows_reported = run->knows_reported;
    outer->reported = run->reported;
    outer->warned = run->warned;
    outer->program->inverts |= program->inverts; /* flags may be judged there */
    if (program->never && !outer->program->never) {
        outer->program->never = program->never;
        Py_XSETREF(outer->program->failure, Py_XNewRef(program->failure));
    }
    return status > 0 ? dl_decline(outer, run->reason) : status;
}

/* Runs of programs, and of programs inside them: see runs.c. */
#ifndef DL_RUNS_H
#define DL_RUNS_H

#include "program.h"

/* Room for the registers and numbers of a run on the C stack, where they are few. */
enum { DL_FEW_REGISTERS = 16, DL_FEW_NUMBERS = 64 };
typedef struct {
    DlReg regs[DL_FEW_REGISTERS];
    DlNumber numbers[DL_FEW_NUMBERS];
} DlRoom;

/* Give a run its registers, all empty, and its numbers; or decline. Close: let go of what is in them, in any case. */
DlStatus dl_run_open(DlRun *run, DlRoom *room);
void dl_run_close(DlRun *run, DlRoom *room);

/* Begin a run of a program inside that of another; it is closed by dl_run_close in any case. */
DlStatus dl_nested_open(DlRun *run, DlRun *outer, DlProgram *program, DlRoom *room);
/* Fill the registers of operands number `from` up to n, the first operand being input `first`, the constants, and the
 * numbers: those that go in and what the first n_instrs instructions make of them. */
DlStatus dl_nested_load(DlRun *run, DlRun *outer, const DlOperand *operands, int from, int n, int first, int32_t n_instrs);
/* Let the outer run know what became of the inner one, whose status that is; the outer one's. */
DlStatus dl_nested_end(const DlRun *run, DlRun *outer, DlStatus status);

#endif

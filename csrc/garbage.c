/* What a Program owns: for the garbage collector to visit, and freed. */
#include "build.h"

#include "machine.h"
#include "maps.h"

/* Visit what a kernel (NULL: none) owns. */
static int
visit_kernel(const DlKernel *kernel, visitproc visit, void *arg)
{
    if (kernel != NULL) {
        Py_VISIT(kernel->object);
        for (DlVariant *variant = kernel->variants; variant != NULL; variant = variant->next) {
            Py_VISIT(variant->keep);
        }
    }
    return 0;
}

int
dl_program_traverse(DlProgram *self, visitproc visit, void *arg)
{
    Py_VISIT(self->schedule);
    Py_VISIT(self->compile_kernel);
    Py_VISIT(self->failure);
    if (self->body != NULL && self->body->kernel != NULL) {
        int visited = visit_kernel(&self->body->kernel->map.kernel, visit, arg);
        if (visited != 0) {
            return visited;
        }
    }
    for (int i = 0; i < self->n_constants; i++) {
        Py_VISIT(self->constants[i]);
    }
    for (int i = 0; i < self->n_outputs; i++) {
        Py_VISIT(self->output_objects[i]);
    }
    for (int i = 0; i < self->n_steps; i++) {
        DlStep *step = &self->steps[i];
        DlKernel *kernel = step->kind == DL_STEP_MAP      ? &step->map.kernel
                           : step->kind == DL_STEP_REDUCE ? &step->reduce.map.kernel
                                                          : NULL;
        int visited = visit_kernel(kernel, visit, arg);
        if (visited != 0) {
            return visited;
        }
        if (step->kind == DL_STEP_REDUCE) {
            Py_VISIT(step->reduce.reduce);
            Py_VISIT(step->reduce.args_tail);
        }
        if (step->kind == DL_STEP_CALL) {
            Py_VISIT(step->call.function);
            Py_VISIT(step->call.template);
            Py_VISIT(step->call.names);
        }
        if (step->kind == DL_STEP_LOOP) {
            Py_VISIT(step->loop.body);
            int status = dl_machine_traverse(step->loop.machine, visit, arg);
            if (status != 0) {
                return status;
            }
        }
        if (step->kind == DL_STEP_LEAVE) {
            for (int j = 0; j < step->leave.n_outputs; j++) {
                Py_VISIT(step->leave.objects[j]);
            }
        }
        if (step->kind == DL_STEP_COND) {
            Py_VISIT(step->cond.branches[0]);
            Py_VISIT(step->cond.branches[1]);
        }
    }
    return 0;
}

/* Free what a step owns. */
static void
clear_step(DlStep *step)
{
    PyMem_Free(step->dead);
    switch (step->kind) {
    case DL_STEP_VIEW:
        PyMem_Free(step->view.indices);
        PyMem_Free(step->view.axes);
        PyMem_Free(step->view.dims.values);
        break;
    case DL_STEP_ALLOC:
        Py_XDECREF(step->alloc.descr);
        PyMem_Free(step->alloc.shape.values);
        PyMem_Free(step->alloc.like);
        break;
    case DL_STEP_MAP:
        dl_build_clear_map(&step->map);
        PyMem_Free(step->map.outs);
        PyMem_Free(step->map.into);
        PyMem_Free(step->map.scalar);
        break;
    case DL_STEP_REDUCE:
        dl_build_clear_map(&step->reduce.map);
        Py_XDECREF(step->reduce.reduce);
        Py_XDECREF(step->reduce.args_tail);
        Py_XDECREF(step->reduce.descr);
        break;
    case DL_STEP_CALL:
        for (int i = 0; i < step->call.n_dsts; i++) {
            Py_XDECREF(step->call.types[i].descr);
            PyMem_Free(step->call.types[i].shape.values);
        }
        PyMem_Free(step->call.dsts);
        PyMem_Free(step->call.yields.values);
        PyMem_Free(step->call.types);
        Py_XDECREF(step->call.function);
        Py_XDECREF(step->call.template);
        Py_XDECREF(step->call.names);
        break;
    case DL_STEP_LOOP:
        Py_XDECREF(step->loop.body);
        dl_machine_clear(step->loop.machine);
        PyMem_Free(step->loop.operands);
        PyMem_Free(step->loop.moves);
        PyMem_Free(step->loop.dsts);
        PyMem_Free(step->loop.yields.values);
        PyMem_Free(step->loop.pausing.values);
        break;
    case DL_STEP_COND:
        Py_XDECREF(step->cond.branches[0]);
        Py_XDECREF(step->cond.branches[1]);
        PyMem_Free(step->cond.operands);
        PyMem_Free(step->cond.dsts);
        PyMem_Free(step->cond.yields.values);
        break;
    case DL_STEP_LEAVE:
        for (int i = 0; i < step->leave.n_outputs; i++) {
            Py_XDECREF(step->leave.objects[i]);
        }
        PyMem_Free(step->leave.outputs);
        PyMem_Free(step->leave.objects);
        break;
    case DL_STEP_PUT:
        for (int i = 0; i < step->put.n; i++) {
            dl_list_clear_item(&step->put.values[i]);
        }
        for (int i = 0; i < step->put.n_tags; i++) {
            dl_list_clear_item(&step->put.tags[i]);
        }
        dl_list_clear_item(&step->put.key);
        Py_XDECREF(step->put.packed);
        PyMem_Free(step->put.values);
        PyMem_Free(step->put.tags);
        break;
    case DL_STEP_NEW:
        dl_list_clear_item(&step->new.value);
        dl_list_clear_item(&step->new.count);
        for (int i = 0; i < step->new.n_firsts; i++) {
            dl_list_clear_item(&step->new.firsts[i]);
        }
        PyMem_Free(step->new.firsts);
        break;
    case DL_STEP_SAVE:
    case DL_STEP_REQUIRE:
    case DL_STEP_MASKED:
    case DL_STEP_READ:
    case DL_STEP_ERRORS:
        break;
    }
}

void
dl_program_clear(DlProgram *self)
{
    self->never = DL_REASON_INPUT; /* a cleared program runs no more */
    DlStep *steps = self->steps;
    PyObject **constants = self->constants, **output_objects = self->output_objects;
    int n_steps = self->n_steps, n_constants = self->n_constants, n_outputs = self->n_outputs;
    self->steps = NULL;
    self->constants = self->output_objects = NULL;
    self->n_steps = self->n_constants = 0;
    self->n_outputs = output_objects != NULL ? 0 : n_outputs;
    dl_single_clear(self);
    dl_straight_clear(self);
    for (int i = 0; i < n_steps; i++) {
        clear_step(&steps[i]);
    }
    for (int i = 0; i < n_constants; i++) {
        Py_DECREF(constants[i]);
    }
    for (int i = 0; output_objects != NULL && i < n_outputs; i++) {
        Py_XDECREF(output_objects[i]);
    }
    PyMem_Free(steps);
    PyMem_Free(constants);
    PyMem_Free(output_objects);
    PyMem_Free(self->constant_regs);
    PyMem_Free(self->outputs);
    PyMem_Free(self->written);
    self->constant_regs = self->written = NULL;
    self->outputs = NULL;
    dl_scalar_clear(&self->numbers);
    dl_blocks_clear(self);
    dl_build_clear_body(self->body);
    self->body = NULL;
    Py_CLEAR(self->schedule);
    Py_CLEAR(self->compile_kernel);
    Py_CLEAR(self->failure);
}

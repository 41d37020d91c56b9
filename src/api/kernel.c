/* kernel.c: what a kernel is: its texts, arrays, buffers and launches.
 *
 * Needs a compiled kernel; only reads it.
 *
 *     wb_kernel_buffer(k, 1, &buffer)    ->    buffer.role == WB_OUTPUT, buffer.bytes == 4096
 */
#include "api/inner.h"

_Static_assert((int)WB_OPERAND == (int)BD_IN && (int)WB_OUTPUT == (int)BD_OUT && (int)WB_TEMPORARY == (int)BD_TEMP,
               "wb_role is BdRole");
_Static_assert((int)WB_ANYTHING == (int)BD_INIT_NONE && (int)WB_ZEROS == (int)BD_INIT_ZERO &&
                   (int)WB_COPY == (int)BD_INIT_COPY && (int)WB_TICKET == (int)BD_INIT_TICKET,
               "wb_contents is BdInit");

const char *wb_kernel_name(const wb_kernel *k) { return k->made.name; }
const char *wb_kernel_target(const wb_kernel *k) { return k->made.bundle->target; }
const char *wb_kernel_ptx(const wb_kernel *k) { return k->made.bundle->ptx; }
const char *wb_kernel_json(const wb_kernel *k) { return k->json; }
const char *wb_kernel_hlo(const wb_kernel *k) { return k->made.bundle->hlo; }
const char *wb_kernel_explain(const wb_kernel *k) { return k->made.explain; }
int wb_kernel_steps(const wb_kernel *k) { return (void)k, PIPE_STEPS; }

const void *wb_kernel_cubin(const wb_kernel *k, size_t *bytes, const char **missing)
{
    const PipeMade *m = &k->made;
    *bytes = m->bundle->cubin ? m->bundle->cubin_bytes : 0;
    if (missing)
        *missing = m->bundle->cubin ? NULL : m->missing ? m->missing : "it was not asked for (wb_options.cubin)";
    return m->bundle->cubin;
}

int wb_kernel_input(const wb_kernel *k, uint32_t i, wb_array *array)
{
    if (i >= k->n_inputs) return 0;
    *array = k->inputs[i];
    return 1;
}

int wb_kernel_output(const wb_kernel *k, uint32_t i, wb_array *array)
{
    if (i >= k->n_outputs) return 0;
    *array = k->outputs[i];
    return 1;
}

const void *wb_kernel_constant(const wb_kernel *k, uint32_t i)
{
    return i < k->n_operands ? k->operands[i].constant : NULL;
}

int wb_kernel_buffer(const wb_kernel *k, uint32_t i, wb_buffer *buffer)
{
    const Bundle *b = k->made.bundle;
    if (i >= (uint32_t)b->n_buffers) return 0;
    const BdBuffer *d = &b->buffers[i];
    const bool operand = d->role == BD_IN && (uint32_t)d->arg < k->n_operands;
    *buffer = (wb_buffer){.role = (wb_role)d->role, .number = (uint32_t)d->arg, .bytes = (uint64_t)d->bytes,
                          .align = (uint32_t)d->align, .contents = (wb_contents)d->init, .copy_of = d->copy_of,
                          .may_alias = d->may_alias, .n_may_alias = (uint32_t)d->n_may_alias,
                          .type = d->type ? d->type : "", .bits = (uint32_t)d->bits, .rank = (uint32_t)d->rank,
                          .dims = d->dims, .minor_to_major = d->minor_to_major,
                          .input = operand ? (int)k->operands[d->arg].input : -1,
                          .constant = operand ? k->operands[d->arg].constant : NULL};
    return 1;
}

int wb_kernel_launch(const wb_kernel *k, uint32_t i, wb_launch *launch)
{
    const Bundle *b = k->made.bundle;
    if (i >= (uint32_t)b->n_launches) return 0;
    const BdLaunch *l = &b->launches[i];
    *launch = (wb_launch){.entry = l->entry, .shared_bytes = (uint32_t)l->shared, .arguments = l->args,
                          .n_arguments = (uint32_t)l->n_args};
    for (int d = 0; d < 3; d++) {
        launch->grid[d] = l->grid[d];
        launch->block[d] = l->block[d];
        launch->cluster[d] = l->cluster[d];
    }
    return 1;
}

double wb_kernel_ms(const wb_kernel *k, int i, const char **name)
{
    if (i < 0 || i >= PIPE_STEPS) return 0;
    if (name) *name = pipe_step_name[i];
    return k->made.ms[i];
}

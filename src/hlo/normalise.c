/* normalise: the passes, in their order.
 *
 * Needs: a verified module. Leaves: a verified module with the same parameters and outputs, to the bit, in fewer operations: what
 * the list below says, in the order in which each can rely on those before it. A pass that finds nothing to do costs one look at each
 * instruction.
 *
 *     ENTRY e { p = f32[8] parameter(0)  s = f32[8] custom-call(p), custom_call_target="Sharding"  ROOT n = f32[8] negate(s) }
 *         ENTRY e { p = f32[8] parameter(0)  ROOT n = f32[8] negate(p) }
 */
#include "hlo/normalise.h"

#include <string.h>

const HloPass hlo_passes[] = {
    {"broadcast", "operands that are smaller than the result are broadcast", hlo_pass_broadcast},
    {"nested", "fusions inside fusions, reducers and called bodies are part of them", hlo_pass_nested},
    {"async", "an operation started here and awaited there is that operation", hlo_pass_async},
    {"call", "called bodies stand where they are called", hlo_pass_call},
    {"identity", "custom calls that only place or shard hand their operand on", hlo_pass_identity},
    {"barrier", "opt-barrier, domain and add-dependency hand their operand on", hlo_pass_barrier},
    {"size", "sizes of dimensions that the text says are constants", hlo_pass_size},
    {"map", "maps of elementwise bodies are elementwise operations", hlo_pass_map},
    {"clamp", "bounds of clamp and choices of select are arrays", hlo_pass_clamp},
    {"batch-norm", "batch-norms are elementwise operations and sums", hlo_pass_batch_norm},
    {"tuple", "elements of a tuple made here are what it was made of", hlo_pass_tuple},
    {"select-and-scatter", "it is a reduce-window that finds, and a scatter", hlo_pass_select_and_scatter},
    {"gather", "gathers take rows of starts and give rows of whole windows", hlo_pass_gather},
    {"scatter", "scatters take rows of starts and rows of whole windows", hlo_pass_scatter},
    {"copy", "copies to the same layout hand their operand on, but for outputs", hlo_pass_copy},
    {"dead", "what no output needs is gone", hlo_pass_dead},
    {NULL, NULL, NULL},
};

static const HloModule *run(WbbCx *cx, WbbArena *a, const HloModule *m, const HloPass *p)
{
    const HloModule *made = p->run(cx, a, m);
    if (made != m) hlo_verify(cx, made);
    return made;
}

const HloModule *hlo_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name)
{
    for (const HloPass *p = hlo_passes; p->name; p++)
        if (strcmp(p->name, name) == 0) return run(cx, a, m, p);
    return NULL;
}

const HloModule *hlo_normalise(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    for (const HloPass *p = hlo_passes; p->name; p++) m = run(cx, a, m, p);
    return m;
}

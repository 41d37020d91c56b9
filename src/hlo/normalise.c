/* normalise: the passes over HLO modules, in their order.
 *
 * Needs: a verified HLO module. Leaves: a verified HLO module with the same parameters and outputs, to the bit, that
 * uses fewer kinds of operations. The list below says what each pass does; each relies on those before it. A pass with
 * nothing to do visits each instruction once.
 *
 *     p = f32[8] parameter(0)  s = f32[8] custom-call(p), custom_call_target="Sharding"  ROOT n = f32[8] negate(s)
 *         p = f32[8] parameter(0)  ROOT n = f32[8] negate(p)
 */
#include "hlo/normalise.h"

#include <string.h>

const HloPass hlo_passes[] = {
    {"broadcast", "broadcasts operands that are smaller than the result", hlo_pass_broadcast},
    {"nested", "inlines fusions inside fusions, reducers and called bodies", hlo_pass_nested},
    {"async", "replaces the done of an asynchronous operation by the operation", hlo_pass_async},
    {"alone", "replaces collectives that one device takes part in by their operands", hlo_pass_alone},
    {"call", "inlines called computations", hlo_pass_call},
    {"identity", "removes custom calls that only place or shard their operand", hlo_pass_identity},
    {"barrier", "removes opt-barrier, domain and add-dependency", hlo_pass_barrier},
    {"size", "replaces get-dimension-size by a constant if no size is dynamic", hlo_pass_size},
    {"select-and-scatter", "replaces it by a reduce-window that selects, and a gather or a scatter", hlo_pass_select_and_scatter},
    {"map", "replaces maps of elementwise bodies by elementwise operations", hlo_pass_map},
    {"clamp", "broadcasts scalar bounds of clamp and predicates of select; selects for clamp of complex values", hlo_pass_clamp},
    {"batch-norm", "replaces batch-norms by elementwise operations and sums", hlo_pass_batch_norm},
    {"top-k", "replaces searches for the largest elements by a stable sort and slices", hlo_pass_top_k},
    {"short-sorts", "replaces sorts of up to 4 elements by exchanges of neighbours", hlo_pass_short_sorts},
    {"packed-sorts", "sorts elements of less than 8 bits as wider ones", hlo_pass_packed_sorts},
    {"reduce", "replaces reductions of arrays that are combined apart by one of each", hlo_pass_reduce},
    {"independent", "replaces loops whose iterations need nothing of each other by arrays of all of them", hlo_pass_independent},
    {"tuple", "replaces elements of a tuple by the operands of that tuple", hlo_pass_tuple},
    {"gather", "makes gathers take rows of starts and return rows of whole windows", hlo_pass_gather},
    {"scatter", "makes scatters take rows of starts and rows of whole windows", hlo_pass_scatter},
    {"labels", "replaces scatters of one update into each row of one number by selects", hlo_pass_labels},
    {"copy", "removes copies to the same layout, except outputs", hlo_pass_copy},
    {"first", "replaces sorts of which the first or last element of each row is read by reductions", hlo_pass_first},
    {"total", "replaces the last element of cumulative sums and the like by a reduction", hlo_pass_total},
    {"dead", "removes instructions and computations that no output needs", hlo_pass_dead},
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

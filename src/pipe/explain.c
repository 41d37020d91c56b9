/* explain.c: the reports of --explain and --trace: the plan, the accesses, the rules that fired.
 *
 * Needs a compiled kernel; leaves text.
 *
 *     load  %in: 1 x 16 bytes (8 bf16 each): the target has no wider access
 */
#include "pipe/pipe.h"

#include <string.h>

static void explain_accesses(WbbBuf *out, const PipeResult *r, const PipeKernel *k)
{
    const PlanKernel *planned = &r->plan.kernels[k - r->kernels];
    const bool joined = planned->n_ranges && (planned->ranges->product || planned->ranges->stages[0].space);
    const char *when = joined ? ", before its neighbours are joined in the PTX" : "";
    wbb_putf(out, "accesses of a thread%s:\n", when);
    for (uint32_t i = 0; i < k->accesses.n; i++) {
        const VecAccess *x = &k->accesses.items[i];
        const IrBuffer *b = &k->ir->buffers[x->buffer];
        wbb_putf(out, "  %-5s %%%s: %u x %u bytes (%u %s each): %s\n", x->store ? "store" : "load",
                 b->name, x->count, x->lanes * sc_bytes(b->type), x->lanes, sc_type_info[b->type].name, x->why);
    }
    if (planned->n_ranges && !joined && k->accesses.n == 0 && k->ir->grid)
        wbb_put(out, "  every access is of one element: one element a thread\n");
}

static bool any_wide(const IrGraph *g)
{
    for (IrRef i = 1; i < g->n; i++)
        if (ir_at(g, i)->flags & SC_FLAG_WIDE) return true;
    return false;
}

void pipe_explain(WbbBuf *out, const PipeResult *r)
{
    const uint32_t permits = hlo_permits_anywhere(r->module);
    plan_print(out, &r->plan);
    if (permits) wbb_putf(out, "assumed: %s\n", hlo_permits_text(out->arena, permits));
    for (const PipeKernel *k = r->kernels; k < r->kernels + r->n_kernels; k++) {
        if (r->n_kernels > 1) wbb_putf(out, "kernel @%s\n", k->ir->name);
        explain_accesses(out, r, k);
        pipe_explain_branch(out, &k->branch, r->target->tables);
        const char *width = any_wide(k->ir->g) ? "64 bits where 32 are not proved enough" : "32 bits, proved";
        wbb_putf(out, "index arithmetic: %s\n", width);
        if (k->ir->n_functions)
            wbb_putf(out, "functions: %u; with their calls a thread evaluates up to %.3g operations\n",
                     k->ir->n_functions, r->work);
    }
    plan_print_strategies(out, &r->plan, r->texts, r->n_texts, r->target);
    for (size_t k = 0; r->bundle && k < (size_t)r->bundle->n_order; k++)
        wbb_putf(out, "order of terms: %s\n", r->bundle->order[k]);
    if (r->again) wbb_putf(out, "note: %s\n", r->again);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < r->plan.n_operands + r->plan.n_outputs; i++)
        bytes += r->plan.buffers[i].elements * (int64_t)sc_bytes(r->plan.buffers[i].shape->type);
    wbb_putf(out, "bytes moved at least: %lld\n", (long long)bytes);
    for (uint32_t i = 0; i < r->n_libdevice; i++) wbb_putf(out, "libdevice: %s\n", r->libdevice[i]);
}

uint32_t pipe_firings(const PipeResult *r, bool index, uint32_t k)
{
    uint32_t n = r->n_kernels ? 0 : rw_counts(r->rw, index)[k]; /* declined before there was a kernel */
    for (uint32_t i = 0; i < r->n_kernels; i++) n += rw_counts(r->kernels[i].rw, index)[k];
    return n;
}

/* Did the rule of event i fire before it? */
static bool shown_before(const RwEvent *events, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (events[k].rule == events[i].rule && events[k].tables == events[i].tables) return true;
    return false;
}

void pipe_trace(WbbBuf *out, WbbArena *a, const RwCx *rw, uint32_t limit)
{
    const RwEvent *events;
    const uint32_t n = rw_trace(rw, &events);
    const bool is_short = limit < n;
    uint32_t shown = 0;
    for (int index = 0; index < (is_short ? 2 : 1); index++) {
        for (uint32_t i = 0; i < n && shown < limit; i++) {
            const RwEvent *e = &events[i];
            const RwRule *r = &e->tables->rules[e->rule];
            if (is_short && ((r->phase == RW_INDEX) != index || shown_before(events, i))) continue;
            wbb_putf(out, "%s: %s\n", rw_rule_name(a, e->tables, e->rule), r->text);
            shown++;
        }
    }
}

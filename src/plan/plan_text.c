/* plan_text.c: a plan as text, for --emit plan and --explain.
 *
 *     plan @softmax reduction: threads share its terms
 *       layout columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 */
#include "plan/attention.h"
#include "plan/exchange.h"
#include "plan/product.h"
#include "plan/scatter.h"
#include "plan/sort.h"

/* One map from the thread to its elements. */
static void print_map(WbbBuf *out, RwCx *rw, const char *name, const IxMap *threads, const IxMap *map)
{
    WbbArena *a = out->arena;
    if (!map) return;
    wbb_putf(out, "  %s ", name);
    ix_map_print(out, rw_graph(rw), ix_map_simplify(rw, a, ix_map_compose(rw, a, threads, map), false));
    wbb_put(out, "\n");
}

static void print_stage(WbbBuf *out, RwCx *rw, const PlanStage *s)
{
    const LayFactor *vector = lay_factor(&s->layout.dims[0], LAY_VECTOR);
    const LayFactor *registers = lay_factor(&s->layout.dims[0], LAY_REGISTER);
    wbb_put(out, "  layout ");
    lay_print(out, &s->layout);
    wbb_put(out, "\n");
    print_map(out, rw, "map", s->maps.threads, s->maps.elements);
    print_map(out, rw, "map of the tail", s->maps.threads, s->maps.tail);
    wbb_putf(out, "  vector %lld: %s\n", vector ? (long long)vector->size : 1, s->why_vector);
    if (registers) wbb_putf(out, "  register %lld: %s\n", (long long)registers->size, s->why_register);
    if (s->maps.tail)
        wbb_putf(out, "  tail %lld: %s\n", (long long)lay_tail(&s->layout),
                 s->packed_group > 1 ? "threads with a byte each" : "threads with one element each");
}

/* What the stages of a kernel whose threads share terms do, and where those are that several need. */
static void print_stages(WbbBuf *out, const Plan *p, const PlanRange *r)
{
    static const char *const names[] = {[PLAN_REDUCE] = "reduce", [PLAN_MAP] = "map", [PLAN_RESULTS] = "results",
                                        [PLAN_ACROSS] = "across"};
    bool again = false; /* a stage of results alone has no terms */
    for (uint32_t n = 0; n < r->n_stages; n++) {
        const PlanStage *s = &r->stages[n];
        wbb_putf(out, "%s%s", n ? "; " : "  stages ", names[s->kind]);
        for (uint32_t k = 0; k < s->n_reduces; k++) wbb_putf(out, " %%%s", s->reduces[k].i->name);
        for (uint32_t k = 0; k < s->n_outputs; k++)
            wbb_putf(out, " %%%s", p->buffers[p->n_operands + s->outputs[k]].name);
        again = again || (n && s->kind != PLAN_RESULTS);
    }
    const bool across = r->stages[r->n_stages - 1].kind == PLAN_ACROSS; /* its loop is of rows */
    const bool held = across || lay_level_size(&r->stages[0].layout, LAY_LOOP) == 1;
    wbb_put(out, !again ? "\n" : held ? ": terms stay in registers\n" : ": each stage computes its terms again\n");
}

/* The stages of an exchange, and its tile. */
static void print_exchange(WbbBuf *out, const Plan *p, const PlanRange *r)
{
    const PlanTile *tile = r->tile;
    const char *before = "  space";
    for (uint32_t d = 0; d < tile->space->rank; d++, before = ";")
        wbb_putf(out, "%s d%u %lld", before, d, (long long)tile->space->dims[d]);
    for (int n = 0; n < 2; n++) {
        wbb_put(out, n ? "\n  get " : "\n  put ");
        lay_print(out, &r->stages[n].layout);
    }
    for (uint32_t k = 0; k < r->stages[0].n_outputs; k++)
        wbb_putf(out, "%s %%%s", k ? "," : "\n  put stores",
                 p->buffers[p->n_operands + r->stages[0].outputs[k]].name);
    wbb_put(out, tile->guarded ? "\n  put by threads inside alone\n" : "\n");
    for (int n = 0; n < 2; n++)
        print_map(out, p->rw, n ? "map of get" : "map of put", r->stages[n].maps.threads, r->stages[n].maps.elements);
    before = "  tile ";
    for (uint32_t d = 0; d < tile->space->rank; d++, before = " + ")
        wbb_putf(out, "%s%lld * d%u", before, (long long)tile->stride[d], d);
    for (uint32_t k = 0; k < PLAN_PADS && tile->pads[k].pad; k++)
        wbb_putf(out, ", %lld more after every %lld", (long long)tile->pads[k].pad, (long long)tile->pads[k].period);
    wbb_putf(out, ": %lld elements", (long long)tile->elements);
    for (uint32_t k = 0; k < tile->n_values; k++) wbb_putf(out, ", %%%s", tile->values[k].value.i->name);
    wbb_putf(out, "\n  exchange: %s\n", tile->why);
}

static void print_range(WbbBuf *out, const Plan *p, const PlanKernel *kernel, const PlanRange *r)
{
    const PlanStage *s = &r->stages[0];
    wbb_putf(out, "  elements %lld, in the order of ", (long long)r->elements);
    hlo_print_shape(out, r->space);
    for (uint32_t k = 0; k < s->n_starts; k++) wbb_putf(out, "%s %lld", k ? " and" : ", from", (long long)s->starts[k]);
    if (s->n_starts) wbb_putf(out, " on in dimension %u", s->dim);
    if (s->kind == PLAN_UPDATE) wbb_putf(out, ", where %%%s puts them", s->update->name);
    if (s->kind == PLAN_SCATTER) plan_print_scatter(out, s);
    if (kernel->n_ranges > 1) {
        wbb_putf(out, "\n    blocks %u..%u make", r->first_block, r->first_block + r->blocks);
        for (uint32_t k = 0; k < s->n_outputs && k < 8; k++)
            wbb_putf(out, " %%%s", p->buffers[p->n_operands + s->outputs[k]].name);
        if (s->n_outputs > 8) wbb_putf(out, " and %u more", s->n_outputs - 8);
    }
    wbb_put(out, "\n");
    if (r->tile) {
        print_exchange(out, p, r);
        return;
    }
    for (uint32_t k = 0; k < s->n_space; k++) {
        const LayDim *d = &s->space[k].dim;
        wbb_putf(out, "%s%s %s %lld%s", k ? "; " : "  space ", d->reduced ? "reduced" : "kept", d->name,
                 (long long)d->size, k + 1 < s->n_space ? "" : "\n");
    }
    if (s->sort) plan_print_sort(out, s->sort);
    else if (r->product) plan_print_product(out, r->product);
    else if (r->attention) plan_print_attention(out, r->attention);
    else print_stage(out, p->rw, s);
    if (s->kind == PLAN_REDUCE) print_stages(out, p, r);
}

static void print_reduce(WbbBuf *out, const HloInstruction *i, ScType sum, const char *by)
{
    const char *type = sc_type_info[plan_shape(i, 0)->type].hlo;
    wbb_putf(out, "  %%%s is combined%s in ", i->name, by);
    if (sum != SC_NONE) wbb_putf(out, "%s, and converted to %s once\n", sc_type_info[sum].hlo, type);
    else wbb_putf(out, "%s\n", i->n_operands > 2 ? "the types of its computation" : type);
}

void plan_print_reduces(WbbBuf *out, const Plan *p, const PlanKernel *kernel)
{
    const PlanRange *shared = kernel->n_ranges && kernel->ranges[0].reduced ? kernel->ranges : NULL;
    for (uint32_t n = 0; shared && n < shared->n_stages; n++)
        for (uint32_t j = 0; j < shared->stages[n].n_reduces; j++) {
            const PlanReduce *x = &shared->stages[n].reduces[j];
            if (x->i->opcode != HLO_SORT) print_reduce(out, x->i, x->sum, "");
        }
    const bool *needed = plan_needed(out->arena, p, kernel);
    for (uint32_t k = 0; k < p->fusion->body->n_instructions; k++) {
        const HloInstruction *i = p->fusion->body->instructions[k];
        if ((i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW) && needed[k] && !(shared && shared->reduced[k]))
            print_reduce(out, i, plan_float_sum(i), " by each thread for itself");
    }
}

void plan_print(WbbBuf *out, const Plan *p)
{
    wbb_putf(out, "plan @%s %s: %s\n", p->fusion->name, p->kind, p->why_kind);
    for (uint32_t n = 0; n < p->n_kernels; n++) {
        const PlanKernel *kernel = &p->kernels[n];
        for (uint32_t k = 0; k < kernel->n_ranges; k++)
            print_range(out, plan_of_kernel(p, kernel), kernel, &kernel->ranges[k]);
        plan_print_reduces(out, plan_of_kernel(p, kernel), kernel);
        wbb_putf(out, "  block %u: %s\n", kernel->block, kernel->why_block);
        wbb_putf(out, "  grid %u: %s\n", kernel->grid, kernel->why_grid);
        if (kernel->cluster) wbb_putf(out, "  cluster %u: %s\n", kernel->cluster, kernel->why_grid);
        if (kernel->n_ranges && kernel->ranges->choice) lay_print_choice(out, kernel->ranges->choice);
        if (kernel->n_ranges && kernel->ranges->given) lay_print_price(out, kernel->ranges->given);
    }
    wbb_putf(out, "  values read at several indices become functions from %u nodes on: %s\n", p->inline_limit,
             p->why_inline);
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs + p->n_temps; k++) {
        const char *role = k >= p->n_operands + p->n_outputs ? "temp" : p->buffers[k].output ? "out" : "in";
        wbb_putf(out, "  %s %%%s ", role, p->buffers[k].name);
        hlo_print_shape(out, p->buffers[k].shape);
        if (p->buffers[k].alias >= 0) wbb_putf(out, " in the memory of %%%s", p->buffers[p->buffers[k].alias].name);
        wbb_put(out, "\n");
    }
}

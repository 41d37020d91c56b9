/* product.c: a kernel whose tensor cores add the products of a dot, with elementwise work before and after it.
 *
 * Needs a fusion whose outputs follow element by element from one dot of f16 or bf16; leaves a kernel of one stage. Its
 * tiles are chosen by price (product_price.c), and emit/product.c makes the code.
 *
 *     relu(dot(bf16[512,1024], bf16[1024,256]) + bias)   =>   64 rows x 32 columns a warp, 4 warps; 32 blocks
 */
#include "plan/product.h"

#include "plan/sort.h"
#include "plan/strategies.h"

#include <math.h>
#include <string.h>

/* --- indices ------------------------------------------------------------------------------------------------------ */
/* Number n as an index of these dimensions, the last running fastest. */
static void regroup(RwCx *rw, IrRef n, int64_t size, const int64_t *dims, uint32_t rank, IrRef *to)
{
    ix_regroup(rw, 1, &size, &n, rank, dims, to);
}

void plan_product_result(RwCx *rw, const PlanProduct *p, IrRef batch, IrRef row, IrRef column, IrRef *to)
{
    const int64_t *dims = p->i->shape->dims;
    const IrRef any = ir_index(rw_graph(rw), 0);
    const uint32_t first = p->of.n_batch, second = first + p->of.n_rows;
    regroup(rw, batch, p->of.batches, dims, first, to);
    regroup(rw, row ? row : any, p->of.rows, dims + first, p->of.n_rows, to + first);
    regroup(rw, column ? column : any, p->of.columns, dims + second, p->of.n_columns, to + second);
}

void plan_product_index(RwCx *rw, WbbArena *a, const PlanProduct *p, uint32_t operand, IrRef batch, IrRef free, IrRef k,
                        IrRef *to)
{
    const IxNeeds needs = ix_needs(a, p->i);
    IrRef *ranges = WBB_NEW_N(a, IrRef, needs.n_ranges + 1), result[HLO_RANK_LIMIT];
    IxAccess access;
    regroup(rw, k, p->of.depth, needs.sizes, needs.n_ranges, ranges);
    plan_product_result(rw, p, batch, operand ? 0 : free, operand ? free : 0, result);
    ix_access(rw, a, p->i, operand, result, ranges, NULL, &access);
    memcpy(to, access.index, p->i->operands[operand]->shape->rank * sizeof *to);
}

void plan_product_row(const PlanProduct *p, const IrRef *result, IrRef *to)
{
    const uint32_t n = p->of.n_batch + p->of.n_rows;
    if (n && to != result) memcpy(to, result, n * sizeof *to);
}

/* --- which fusions ------------------------------------------------------------------------------------------------ */
/* The one dot that is a product of matrices. */
static bool find_product(PlanTry *x, PlanProduct *p)
{
    const HloComputation *body = x->base->fusion->body;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        if (!hlo_is_matrix_product(x->a, body->instructions[k])) continue;
        if (p->i) return plan_not(x, "it has several products of matrices");
        p->i = body->instructions[k];
    }
    if (!p->i) return plan_not(x, "it has no product of matrices of f16 or bf16");
    if (p->i->shape->rank > HLO_RANK_LIMIT) return plan_not(x, "it has too many dimensions");
    if (!tg_has(x->t, "mma.bf16")) return plan_not(x, "the target has no tensor cores for it");
    p->of = hlo_product(x->a, p->i);
    return true;
}

const HloInstruction *plan_source(RwCx *rw, WbbArena *a, const HloInstruction *x, IrRef *index)
{
    IrRef next[HLO_RANK_LIMIT];
    while (hlo_is_move(x->opcode) && x->n_operands == 1 && ix_has_map(x, 0) && x->shape->rank <= HLO_RANK_LIMIT &&
           x->operands[0]->shape->type == x->shape->type && x->operands[0]->shape->rank <= HLO_RANK_LIMIT) {
        ix_operand(rw, a, x, 0, index, next);
        x = x->operands[0];
        memcpy(index, next, x->shape->rank * sizeof *next);
    }
    return x->opcode == HLO_PARAMETER ? x : NULL;
}

static IrRef variable(RwCx *rw, WbbArena *a, IxMap *variables, int64_t n)
{
    if (n <= 1) return ir_index(rw_graph(rw), 0);
    return ix_map_var(rw, a, variables, IX_DIMENSION, ix_map_name(a, variables, IX_DIMENSION), 0, n - 1);
}

/* Do copies of 16 bytes bring groups of eight neighbours along the rows (columns), or along the products? They are
 * in memory as they are, or a parameter has them in another order, side by side from a multiple of eight on. */
static bool is_copied(RwCx *rw, WbbArena *a, const PlanProduct *p, uint32_t operand, bool side)
{
    const int64_t size = side ? operand ? p->of.columns : p->of.rows : p->of.depth;
    const int64_t other = side ? p->of.depth : operand ? p->of.columns : p->of.rows;
    if (size % PLAN_GROUP) return false;
    IxMap *variables = ix_map_new(a);
    const IrRef batch = variable(rw, a, variables, p->of.batches), across = variable(rw, a, variables, other);
    const IrRef group = rw_scale(rw, variable(rw, a, variables, size / PLAN_GROUP), PLAN_GROUP);
    IrRef first = 0, index[HLO_RANK_LIMIT];
    for (int64_t j = 0; j < PLAN_GROUP; j++) {
        const IrRef along = rw_add(rw, group, ir_index(rw_graph(rw), j));
        plan_product_index(rw, a, p, operand, batch, side ? along : across, side ? across : along, index);
        const HloInstruction *x = plan_source(rw, a, p->i->operands[operand], index);
        if (!x) return false;
        const IrRef at = ix_linear(rw, x->shape, index), far = j ? rw_sub(rw, at, first) : rw_mod(rw, at, PLAN_GROUP);
        if (!j) first = at;
        if (far != ir_index(rw_graph(rw), j)) return false;
    }
    return true;
}

void plan_find_bring(RwCx *rw, WbbArena *a, PlanProduct *p, uint32_t align)
{
    const HloDotDims d = hlo_dot_dims(a, p->i);
    const HloInts batch[2] = {d.lhs_batch, d.rhs_batch}, contracting[2] = {d.lhs_contracting, d.rhs_contracting};
    for (uint32_t o = 0; o < 2; o++) {
        const int64_t minor = p->i->operands[o]->shape->minor_to_major[0];
        const bool side = !hlo_holds(contracting[o], minor) && !hlo_holds(batch[o], minor);
        p->bring[o].side = side;
        for (uint32_t k = 0; k < 2 && align >= PLAN_COPY && !p->bring[o].copied; k++)
            if (is_copied(rw, a, p, o, k ? !side : side)) p->bring[o] = (PlanBring){k ? !side : side, true};
    }
}

/* --- statistics of rows ------------------------------------------------------------------------------------------- */
/* What needs something that is marked is marked, too. */
static void mark_users(const HloComputation *body, bool *marks)
{
    for (uint32_t k = 0; k < body->n_instructions; k++)
        for (uint32_t n = 0; n < body->instructions[k]->n_operands; n++)
            marks[k] = marks[k] || marks[body->instructions[k]->operands[n]->id];
}

/* Is a result reduced? */
static bool is_reduced(const PlanTry *x, const PlanProduct *p)
{
    const HloComputation *body = x->base->fusion->body;
    bool *needs = WBB_NEW_N(x->a, bool, body->n_instructions + 1), any = false;
    needs[p->i->id] = true;
    mark_users(body, needs);
    for (uint32_t k = 0; k < body->n_instructions; k++)
        any = any || (body->instructions[k]->opcode == HLO_REDUCE && needs[k]);
    return any;
}

static PlanRowSpace row_space(WbbArena *a, const PlanProduct *p)
{
    HloShape *rows = WBB_NEW(a, HloShape);
    *rows = *p->i->shape;
    rows->rank = (uint8_t)(p->of.n_batch + p->of.n_rows);
    uint8_t *order = WBB_NEW_N(a, uint8_t, rows->rank + 1u);
    uint32_t n = 0;
    for (uint32_t d = 0; d < p->i->shape->rank; d++)
        if (p->i->shape->minor_to_major[d] < rows->rank) order[n++] = p->i->shape->minor_to_major[d];
    rows->minor_to_major = order;
    return (PlanRowSpace){rows, rows->rank, p->of.n_columns};
}

/* Needs an element of full shape, or a statistic, a statistic? */
static bool needs_whole(const PlanTry *x, const Plan *p, const PlanStage *s, const PlanStatistics *rows)
{
    bool *needs = WBB_NEW_N(x->a, bool, p->fusion->body->n_instructions + 1), any = rows->passes > 1;
    for (uint32_t k = 0; k < rows->n; k++) needs[rows->all[k].i->id] = true;
    mark_users(p->fusion->body, needs);
    for (uint32_t o = 0; o < s->n_outputs; o++)
        any = any || (!s->paths[o].kept && needs[p->roots[s->outputs[o]].i->id]);
    return any;
}

/* The reductions of rows of results, and what they cost; false: the fusion is no such kernel. */
static bool find_statistics(PlanTry *x, const Plan *p, PlanProduct *product, PlanRange *r)
{
    PlanRows w = plan_rows(x, product->i, NULL);
    PlanStatistics *rows = WBB_NEW(x->a, PlanStatistics);
    IxMap *variables = ix_map_new(x->a);
    IrRef result[HLO_RANK_LIMIT], row[HLO_RANK_LIMIT];
    const IrRef batch = plan_rows_variable(&w, variables, product->of.batches);
    w.columns = product->of.columns;
    w.row = plan_rows_variable(&w, variables, product->of.rows);
    w.column = plan_rows_variable(&w, variables, product->of.columns);
    plan_product_result(w.rw, product, batch, w.row, w.column, result);
    plan_product_row(product, result, row);
    bool found;
    if (!plan_rows_need_outputs(&w, p, r->stages, result, row) || !plan_rows_follow(&w, result, &found)) return false;
    if (!found) return plan_not(x, "a reduction has terms of other rows");
    *rows = plan_rows_statistics(&w, INT64_MAX);
    if (rows->n > product->of_rows->value) return plan_not(x, "it has more reductions of rows than product.rows says");
    product->rows = rows, product->whole = needs_whole(x, p, r->stages, rows);
    for (uint32_t pass = 0; pass < rows->passes; pass++) {
        const PlanCost cost =
            plan_rows_work(&w, rows, pass, WBB_NEW_N(x->a, bool, w.body->n_instructions + 1), NULL);
        product->row_slots += cost.slots;
    }
    for (uint32_t k = 0; k < rows->n; k++) r->reduced[rows->all[k].i->id] = p->reduced[rows->all[k].i->id] = true;
    return true;
}

bool plan_make_product(PlanTry *x, Plan *p)
{
    PlanProduct *product = WBB_NEW(x->a, PlanProduct);
    plan_know_order(x);
    if (x->scatters || x->hero) return plan_not(x, "beside a scatter, sort or scan there is no product");
    if (!find_product(x, product)) return false;
    plan_find_bring(x->base->rw, x->a, product, x->base->align);
    product->of_rows = tg_tune(x->t, "product.rows", 0);
    const bool reduced = is_reduced(x, product);
    if (reduced && !product->of_rows->value) return plan_not(x, "results are reduced, and product.rows is off");
    const PlanRowSpace space = row_space(x->a, product);
    PlanRange *r = plan_scanned(x->a, p, x->t, product->i, reduced ? &space : NULL);
    if (!r) return plan_not(x, "an output does not follow from results of the product one by one");
    if (reduced && !find_statistics(x, p, product, r)) return false;
    plan_check(x->cx, x->a, p, x->t, false);
    plan_check(x->cx, x->a, p, x->t, true);
    plan_begin_kernels(x, p);
    if (plan_is_in_place(p)) return plan_not(x, "an output has the memory of an operand");
    if (x->options->layout) lay_fail(x->cx, 1, "a product of matrices takes no layout");
    LayPrice *price = WBB_NEW(x->a, LayPrice);
    plan_product_choose(x->a, p, x->t, product, price);
    if (price->us == INFINITY) return plan_not(x, "a block has no room for whole rows");
    r->product = product, r->price = price;
    const int64_t blocks = plan_blocks(product);
    if (blocks > INT32_MAX)
        wbb_decline(x->cx, product->i->loc, WHY_SIZE, "%lld blocks and more", (long long)INT32_MAX);
    r->blocks = (uint32_t)blocks;
    p->kernels[0] = (PlanKernel){.n_ranges = 1, .ranges = r, .grid = r->blocks,
                                 .block = plan_tile_warps(product) * product->depth_warps * x->t->warp,
                                 .why_block = "the tiles that take the least time",
                                 .why_grid = product->depth_blocks > 1
                                                 ? "a block for its rows, columns and part of the products"
                                                 : "a block for each of its rows and columns of the result"};
    p->kind = "product";
    p->why_kind = "tensor cores add its products";
    return true;
}

bool plan_has_product(const Plan *p)
{
    for (uint32_t k = 0; k < p->n_kernels; k++)
        for (uint32_t n = 0; n < p->kernels[k].n_ranges; n++)
            if (p->kernels[k].ranges[n].product || p->kernels[k].ranges[n].attention) return true;
    return false;
}

void plan_print_product(WbbBuf *out, const PlanProduct *p)
{
    wbb_putf(out, "  product %%%s: ", p->i->name);
    if (p->of.batches > 1) wbb_putf(out, "%lld of ", (long long)p->of.batches);
    wbb_putf(out, "%lld x %lld, each of %lld products; a warp has %lld x %lld, and %lld products an iteration%s",
             (long long)p->of.rows, (long long)p->of.columns, (long long)p->of.depth, (long long)plan_warp_rows(p),
             (long long)plan_warp_columns(p), (long long)plan_iteration(p),
             p->ahead ? ", which it has loaded before" : "");
    for (uint32_t o = 0; o < 2 && p->stages; o++)
        wbb_putf(out, "%s tile of lines of %lld %s%s", o ? ", a" : "; a", (long long)plan_line(p, o),
                 p->bring[o].side ? o ? "columns" : "rows" : "products", p->bring[o].copied ? ", copied" : "");
    if (p->stages) wbb_putf(out, ", in %u places (%s:%u)", p->stages, p->shared->file, p->shared->line);
    wbb_putf(out, "; %u x %u", p->row_warps, p->column_warps);
    wbb_put(out, " warps");
    if (p->depth_warps > 1) wbb_putf(out, ", and %u for each result", p->depth_warps);
    if (p->depth_blocks > 1)
        wbb_putf(out, "; %u blocks for each result (%s:%u)", p->depth_blocks, p->split->file, p->split->line);
    wbb_put(out, "\n");
    for (uint32_t k = 0; p->rows && k < p->rows->n; k++) {
        wbb_putf(out, "  pass %u: %%%s of rows, by 4 lanes", p->rows->all[k].pass + 1, p->rows->all[k].i->name);
        if (p->column_warps > 1) wbb_putf(out, ", %u warps", p->column_warps);
        if (p->column_blocks > 1) wbb_putf(out, ", %lld blocks", (long long)p->column_blocks);
        wbb_putf(out, " (%s:%u)\n", p->of_rows->file, p->of_rows->line);
    }
}

const char *plan_product_order(WbbArena *a, const PlanProduct *p)
{
    if (p->depth_blocks == 1) return wbb_format(a, "%s: mma f32", p->i->name);
    return wbb_format(a, "%s: mma f32 in %u parts", p->i->name, p->depth_blocks);
}

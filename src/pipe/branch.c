/* branch.c: decides by price which of two ways a value is computed: those of cheaper(..) in a rule, and whether
 * selects that are marked `rare` become branches. It knows no operation: what the ways are is said by rules.
 *
 * A select that is marked `rare` and whose condition never holds is a choice: each of its last two operands is the
 * value. All choices of one rule in a kernel are alike; pipe_choose starts with the first way of each rule (the last
 * operand), and changes those rules by which the price falls, until none does. It leaves no such select.
 *
 * Needs a kernel before the pass `branch`: a function may have a quick way, right but for odd values, and a long one,
 * right for all: a quotient in f32 and in f64, a sine of arguments below 2^17 and of any. Leaves the limits of
 * vec_rare. Both ways are as exact as the function must be, so only time decides: the clocks of each pipe and of
 * issue for one thread add up as those of loops do (price/time.h, price.norm.apart: with the cubes of a profile, erfc
 * and GELU on sm_80 take the quick way, which makes their busiest pipe busier, and 1.08 of the time); loads and
 * stores are the same in both. A branch costs latency besides, so kernels with few warps have none; and registers:
 * where those of a thread do not hold the values of all branches, the quick way must be shorter by far, and few share
 * a branch.
 *
 *     y = x / scale, to f8:  quick issue 7.0, alu 9.0, xu 1.0;  long issue 5.0, alu 2.0, xu 16.0   =>   quick
 */
#include "ir/uses.h"
#include "pipe/pipe.h"
#include "price/price.h"

typedef struct {
    const IrGraph *g;
    const TgTarget *target;
    WbbArena *arena;
    double *vars, *values; /* by number: how often what binds it runs in a thread */
    double *times;         /* by ref: how often the node is evaluated */
    uint8_t *need;         /* by ref: bit 0 of the quick way, bit 1 of the long one */
    const PipeChoices *choices;
    double unpriced;       /* evaluations of calls, of which no price is known */
    RwCx *rw;
    IrRef *tile;           /* by ref: the instruction that will compute it, and what that contains; 0: none */
} Ways;

static bool is_rare(const IrNode *n) { return n->op == OP_SELECT && (n->flags & SC_FLAG_RARE) != 0; }

static bool is_choice(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r), *of = ir_at(g, n->a[0]);
    if (is_rare(n) && of->op == OP_SPLAT) of = ir_at(g, of->a[0]);
    return is_rare(n) && of->op == OP_CONST && of->imm == 0;
}

/* The number of a node's choice; choices->n: it is not among them yet. */
static uint32_t choice_of(const IrGraph *g, const PipeChoices *choices, IrRef r)
{
    uint32_t i = 0;
    while (i < choices->n && choices->items[i].rule != g->rule[r]) i++;
    return i;
}

/* The operand that a choice is, as its rule has been decided so far. */
static IrRef chosen(const IrGraph *g, const PipeChoices *choices, IrRef r)
{
    const uint32_t i = choice_of(g, choices, r);
    assert(i < choices->n);
    return ir_at(g, r)->a[choices->items[i].second ? 1 : 2];
}

/* --- the price of a node ------------------------------------------------------------------------------------------ */
static bool is_logic(const IrNode *n) { return n->op == OP_BAND || n->op == OP_BOR || n->op == OP_BXOR; }

/* The machine combines three operands by logic, and compares the result with 0, in one instruction; conditions are
 * combined by the comparisons that make them. */
static bool is_absorbed(const Ways *w, const IrNode *n)
{
    if (is_logic(n) && IR_SC(n->type) == SC_PRED) return true;
    if (!is_logic(n) && n->op != OP_NE && n->op != OP_EQ) return false;
    return is_logic(ir_at(w->g, n->a[0])) || is_logic(ir_at(w->g, n->a[1]));
}

static const RwInstr *row_of(const Ways *w, IrRef r)
{
    return w->tile[r] ? &w->target->tables->instrs[RW_ROW(ir_at(w->g, w->tile[r])->imm)] : NULL;
}

static void add_price(Ways *w, IrRef r, double out[TG_PIPES + 1])
{
    const IrNode *n = ir_at(w->g, r);
    const RwInstr *row = row_of(w, r);
    const double times = w->times[r];
    if (!row || is_absorbed(w, n)) return;
    const ScType from = n->a[0] ? IR_SC(ir_at(w->g, n->a[0])->type) : IR_SC(n->type);
    if (row->kind == RW_CALL) w->unpriced += times;
    const PipeRowPrice p = pipe_row_price(w->arena, w->target, row, n->type, from, n->op);
    for (int i = 0; i <= TG_PIPES; i++) out[i] += times * p.clocks[i];
}

/* --- both ways ---------------------------------------------------------------------------------------------------- */
/* How often the statements of a block that runs `times` times bind what they bind. */
static void reach(Ways *w, const IrBlock *b, double times)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool loop = s->kind == IR_FOR;
        const double inside = loop ? times * (double)(w->g->vars[s->var].hi - w->g->vars[s->var].lo + 1) : times;
        for (IrDefs d = ir_defs(s); ir_next_def(&d);)
            (d.is_variable ? w->vars : w->values)[d.number] = d.where == IR_BODY ? inside : times;
        reach(w, &s->body, inside);
        reach(w, &s->otherwise, times);
    }
}

static IrRef root(void *arg, IrRef r)
{
    ((uint8_t *)arg)[r] = 3;
    return r;
}

/* Marks what each way needs, users first. */
static void mark(Ways *w, IrKernel *k, uint32_t n_refs)
{
    ir_map_statements(k, root, w->need); /* root maps each ref to itself */
    rw_begin_tiles(w->rw, k, w->arena);
    for (IrRef r = n_refs - 1; r > 0; r--) {
        const uint8_t by = w->need[r];
        if (!by) continue;
        if (!is_rare(ir_at(w->g, r))) w->tile[r] = rw_tile(w->rw, r);
        const IrNode *n = ir_at(w->g, r);
        if (is_choice(w->g, r)) {
            w->need[chosen(w->g, w->choices, r)] |= by;
            continue;
        }
        if (is_rare(n)) {
            w->need[n->a[0]] |= by & 1;
            w->need[vec_long_way(w->g, r)] |= by & 2;
            w->need[n->a[2]] |= by & 1;
            continue;
        }
        const IrNode *tile = w->tile[r] ? ir_at(w->g, w->tile[r]) : NULL;
        for (uint32_t i = 0; tile && i < 3; i++) w->need[tile->a[i]] |= by;
        for (uint32_t i = 0; !tile && i < ir_arity(w->g, r); i++) w->need[ir_operand(w->g, r, i)] |= by;
    }
    rw_end_tiles(w->rw);
    w->need[0] = 0;
}

static double evaluated(const Ways *w, IrRef r)
{
    const IrNode *n = ir_at(w->g, r);
    double times = 1;
    if (n->op == OP_VAR) times = WBB_MAX(w->vars[n->imm], 1);
    if (n->op == OP_VALUE) times = WBB_MAX(w->values[n->imm], 1);
    for (uint32_t i = 0; i < ir_arity(w->g, r); i++) times = WBB_MAX(times, w->times[ir_operand(w->g, r, i)]);
    return times;
}

static double busy(const TgTarget *t, const double of[TG_PIPES + 1])
{
    return price_together(of, TG_PIPES + 1, (int)tg_tuned(t, "price.norm.apart"));
}

/* How many values must share a branch so that its latency is less than what they save on the warps of a scheduler, and
 * the latency of memory where only the long way reads a table. */
static VecBranches limits_of(const IrKernel *k, const TgTarget *t, const PipeBranch *b)
{
    const double warps = (double)k->grid * k->block / t->warp / ((double)tg_schedulers(t) * t->sms);
    const double saved = warps * (busy(t, b->lengthy) - busy(t, b->quick)) / b->times;
    const double latency = (double)tg_tune(t, "branch.costs", 0)->value - b->table;
    const double needed = WBB_MAX(latency, 0) / WBB_MAX(saved, 1e-6);
    return (VecBranches){.least = (uint32_t)WBB_MIN(needed + 1, 1e6),
                         .most = (uint32_t)tg_tune(t, "branch.most", 0)->value};
}

/* Percent of a thread's registers that the operands and results of so many values take, and what else there is. Code is
 * moved across no branch, so that many of them are there together. */
static int64_t taken(const IrKernel *k, const TgTarget *t, uint32_t values)
{
    const int64_t most = price_most_registers(t, k->block);
    return 100 * (2 * (int64_t)values + tg_tune(t, "branch.registers", 0)->value) / most;
}

/* The prices of both ways; of the first n nodes, behind which are tiles. Returns the evaluations without a price. */
static double add_ways(RwCx *rw, IrKernel *k, uint32_t n, const TgTarget *t, const PipeChoices *choices, PipeBranch *b)
{
    Ways w = {.g = k->g, .target = t, .arena = wbb_arena_new(k->g->cx), .choices = choices, .rw = rw};
    w.vars = WBB_NEW_N(w.arena, double, k->g->n_vars + 1);
    w.values = WBB_NEW_N(w.arena, double, k->g->n_values + 1);
    w.times = WBB_NEW_N(w.arena, double, n);
    w.need = WBB_NEW_N(w.arena, uint8_t, n);
    w.tile = WBB_NEW_N(w.arena, IrRef, n);
    for (uint32_t f = 0; f < k->n_functions; f++) reach(&w, &k->functions[f]->body, 1);
    reach(&w, &k->body, 1);
    mark(&w, k, n);
    for (IrRef r = 1; r < n; r++) {
        w.times[r] = evaluated(&w, r);
        const RwInstr *row = row_of(&w, r);
        if (w.need[r] == 2 && row && row->kind == RW_LOOKUP) b->table = tg_rate(t, "latency.dram")->value;
        if (w.need[r] && is_rare(ir_at(k->g, r)) && !is_choice(k->g, r)) b->values++, b->times += w.times[r];
        if (w.need[r] & 1) add_price(&w, r, b->quick);
        if (w.need[r] & 2) add_price(&w, r, b->lengthy);
    }
    wbb_arena_free(w.arena);
    return w.unpriced;
}

PipeBranch pipe_branch(RwCx *rw, IrKernel *k, const TgTarget *t)
{
    PipeBranch b = {0};
    const uint32_t n = k->g->n;
    bool any = false;
    for (IrRef r = 1; r < n && !any; r++) any = is_rare(ir_at(k->g, r));
    b.limits.least = UINT32_MAX;
    if (!any) return b;
    add_ways(rw, k, n, t, &(PipeChoices){0}, &b);
    /* Prices that differ by less are equal: then no thread goes another way than its neighbours. */
    const double tie = 1 + (double)tg_tuned(t, "layout.tie") / 1000;
    const bool shorter = b.values && busy(t, b.quick) * tie < busy(t, b.lengthy);
    if (shorter) b.limits = limits_of(k, t, &b);
    b.few = shorter && b.limits.least > b.limits.most;
    const double ratio = shorter ? busy(t, b.quick) / busy(t, b.lengthy) : 1;
    const int64_t registers = taken(k, t, b.values);
    b.large = registers > 100 && ratio * 100 > (double)tg_tune(t, "branch.large", 0)->value;
    b.limits.in_turn = shorter && registers > tg_tune(t, "branch.spilled", 0)->value;
    if (b.limits.in_turn)
        b.limits.most = WBB_MAX((uint32_t)tg_tune(t, "branch.apart", 0)->value, b.limits.least);
    b.branches = shorter && !b.few && !b.large;
    if (!b.branches) b.limits.least = UINT32_MAX;
    return b;
}

/* --- choices ------------------------------------------------------------------------------------------------------ */
/* Clocks of a thread, and what no price is known of. Branches are decided afterwards, by the same prices. */
typedef struct {
    double clocks, unpriced;
} Cost;

static Cost cost_of(RwCx *rw, IrKernel *k, uint32_t n, const TgTarget *t, const PipeChoices *choices)
{
    PipeBranch b = {0};
    const double unpriced = add_ways(rw, k, n, t, choices, &b);
    return (Cost){WBB_MIN(busy(t, b.quick), busy(t, b.lengthy)), unpriced};
}

/* Changes the way of each rule for which that takes less time; true if it did. */
static bool improve(RwCx *rw, IrKernel *k, uint32_t n, const TgTarget *t, PipeChoices *choices, Cost *now)
{
    bool changed = false;
    for (uint32_t i = 0; i < choices->n; i++) {
        PipeChoice *c = &choices->items[i];
        c->second = !c->second;
        const Cost other = cost_of(rw, k, n, t, choices);
        const bool less = other.unpriced <= now->unpriced && other.clocks < now->clocks;
        c->clocks[c->second] = other.clocks, c->clocks[!c->second] = now->clocks;
        if (less) *now = other;
        else c->second = !c->second;
        changed = changed || less;
    }
    return changed;
}

typedef struct {
    IrGraph *g;
    const PipeChoices *choices;
} Decided;

static IrRef decided(void *arg, IrRef r, const IrRef *made, const uint8_t *need)
{
    const Decided *d = arg;
    (void)need;
    return is_choice(d->g, r) ? made[chosen(d->g, d->choices, r)] : ir_copy(d->g, r, made, ir_at(d->g, r)->flags);
}

PipeChoices pipe_choose(RwCx *rw, IrKernel *k, const TgTarget *t)
{
    PipeChoices choices = {0};
    const uint32_t n = k->g->n;
    const int64_t most = tg_tuned(t, "branch.rounds");
    for (IrRef r = 1; r < n; r++) {
        if (!is_choice(k->g, r)) continue;
        const uint32_t i = choice_of(k->g, &choices, r);
        if (i == choices.n) WBB_PUSH(k->g->arena, &choices, ((PipeChoice){.rule = k->g->rule[r]}));
        choices.items[i].values++;
    }
    if (!choices.n) return choices;
    Cost now = cost_of(rw, k, n, t, &choices);
    for (int64_t round = 0; round < most && improve(rw, k, n, t, &choices, &now);) round++;
    ir_remake(k, decided, &(Decided){k->g, &choices});
    return choices;
}

static void put_way(WbbBuf *out, const double of[TG_PIPES + 1])
{
    wbb_putf(out, "issue %.3g", of[PIPE_ISSUE]);
    for (int i = 0; i < TG_PIPES; i++)
        if (of[i] >= 1) wbb_putf(out, ", %s %.3g", tg_pipe_name[i], of[i]);
}

static void explain_choices(WbbBuf *out, const PipeChoices *choices, const RwTables *tables)
{
    for (uint32_t i = 0; i < choices->n; i++) {
        const PipeChoice *c = &choices->items[i];
        const bool of_rule = c->rule && !(c->rule & IR_INDEX_RULE);
        wbb_put(out, of_rule ? rw_rule_name(out->arena, tables, c->rule - 1) : "the text");
        wbb_putf(out, ": values in the %s of two ways: %u; with all there is that takes a warp %.3g clocks, the other"
                 " way %.3g\n", c->second ? "second" : "first", c->values, c->clocks[c->second],
                 c->clocks[!c->second]);
    }
}

void pipe_explain_branch(WbbBuf *out, const PipeBranch *b, const RwTables *tables)
{
    explain_choices(out, &b->choices, tables);
    if (!b->values) return;
    wbb_putf(out, "values with a quick way: %u, %s\n  clocks of a warp: by the quick way ", b->values,
             b->branches ? "which they take, with a branch for odd ones" : "which they do not take: no branch");
    put_way(out, b->quick);
    wbb_put(out, "; by the long one ");
    put_way(out, b->lengthy);
    wbb_put(out, b->few ? "; with so few warps the latency of a branch is longer\n"
                 : b->large ? "; registers that would not hold all values cost more\n" : "\n");
}

/* loop_time.c: the time of a kernel whose threads run loops, one iteration after the other.
 *
 * Needs a kernel after the last pass over its IR, whose rows of instructions have prices; leaves microseconds. A loop
 * has as many iterations as its range. One takes as long as the way from what it carries to what it yields, and at
 * least as many clocks as it has instructions, as few warps have nobody beside them. What does not wait for the
 * iteration before - loads at indices that the number of the iteration gives, and what follows from these - is under
 * way for several of them at once (`loop.ahead`).
 *
 *     for k in 0..256 carry h { x = load %x[4096*k + t]  yield fma(h, 0.9, x) }
 *         =>   256 * (4 clocks of fma + (latency of DRAM) / loop.ahead)
 */
#include "ir/uses.h"
#include "pipe/pipe.h"
#include "price/time.h"

enum { ROUNDS = 4 }; /* iterations that are followed from what the first one carries */
#define NEVER (-1.0)

typedef struct {
    double clocks[TG_PIPES + 1]; /* of the instructions of a thread, by pipe, in one iteration of the loop */
    double wavefronts;           /* of L1, of a warp */
    bool branches;               /* it has branches, or loops: what follows them begins after them */
} Spent;

/* Of a node, a value or a variable. */
typedef struct {
    double at, own;  /* clocks until it is there; of them its own */
    double way;      /* clocks from what the loop at hand carries; NEVER: it does not need that */
    uint32_t level;  /* loops around what it depends on; 0: it is the same in all iterations */
    bool known;
} Ready;

typedef enum { NODE, VALUE, VARIABLE } Kind;

/* What was computed, in its order: from nodes. */
typedef struct {
    Kind kind;
    uint32_t number, first, n; /* needs[first] .. */
    double more;               /* clocks, beside those of a node */
} Step;

typedef struct {
    WbbArena *a;
    const IrKernel *k;
    const TgTarget *t;
    Ready *of[3];              /* by kind; by ref and number */
    Spent *spent;              /* by level */
    double *times;             /* by level: how often a thread computes what changes there */
    double *loaded;            /* by buffer: bytes of a thread */
    struct { Step *items; uint32_t n, capacity; } steps;
    IrRefs needs;
    double now;                /* instructions begin behind the last loop, branch or window */
    double from, last, issued; /* loads begin behind loops and windows; where all so far ends; instructions since */
    PipeRowPrice *called;      /* of a call, by function */
    IrRefs stack;
    uint32_t level;
    double alu, far, near;     /* clocks: of an instruction, of memory, of what is near */
    double window;             /* instructions that an assembler puts in another order */
    bool endless;              /* it has a loop whose end the text does not say */
} Time;

static Ready ready(double at, uint32_t level) { return (Ready){.at = at, .way = NEVER, .level = level, .known = true}; }

static void join(Ready *x, const Ready *y)
{
    x->at = WBB_MAX(x->at, y->at), x->level = WBB_MAX(x->level, y->level);
}

static bool is_leaf(const IrNode *n)
{
    return n->op == OP_VAR || n->op == OP_VALUE || n->op == OP_CONST || n->op == OP_ARG;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */
static void spend(Spent *to, const PipeRowPrice *p)
{
    for (int k = 0; k <= TG_PIPES; k++) to->clocks[k] += p->clocks[k];
    to->branches = to->branches || p->branches;
}

/* What no loop changes is near from the first iteration on. */
static double load(const Time *w, const IrNode *n, uint32_t level)
{
    const double bytes = IR_LANES(n->type) * (double)sc_type_info[IR_SC(n->type)].bits / 8;
    const bool shared = w->k->buffers[ir_at(w->k->g, n->a[0])->imm].space == IR_SHARED;
    w->spent[level].clocks[PIPE_ISSUE] += 1;
    w->spent[level].wavefronts += WBB_MAX(bytes * w->t->warp / TG_LINE, 1);
    w->loaded[ir_at(w->k->g, n->a[0])->imm] += bytes * w->times[level];
    return shared ? tg_rate(w->t, "latency.shared")->value : level ? w->far : w->near;
}

static PipeRowPrice price(const Time *w, IrRef r)
{
    const IrGraph *g = w->k->g;
    const IrNode *n = ir_at(g, r);
    if (n->op == OP_CALL) return w->called[IR_CALLEE(n->imm)];
    const ScType from = n->a[0] ? IR_SC(ir_at(g, n->a[0])->type) : IR_SC(n->type);
    PipeRowPrice p = pipe_row_price(w->a, w->t, &w->t->tables->instrs[RW_ROW(n->imm)], n->type, from, n->op);
    if (p.latency <= 0) p.latency = w->alu;
    return p;
}

static void compute(Time *w, IrRef r)
{
    const IrGraph *g = w->k->g;
    const IrNode *n = ir_at(g, r);
    Ready x = ready(0, 0);
    if (n->op == OP_VAR || n->op == OP_VALUE) {
        const Ready *of = &w->of[n->op == OP_VAR ? VARIABLE : VALUE][n->imm];
        if (of->known) x = *of, x.own = 0;
    } else if (!is_leaf(n)) {
        for (uint32_t k = 0; k < ir_arity(g, r); k++) join(&x, &w->of[NODE][ir_operand(g, r, k)]);
        if (n->op == OP_INSTR || n->op == OP_CALL) {
            const PipeRowPrice p = price(w, r);
            spend(&w->spent[x.level], &p);
            x.own = p.latency;
            x.at = WBB_MAX(x.at, w->now) + x.own;
            w->last = WBB_MAX(w->last, x.at), w->issued += p.clocks[PIPE_ISSUE];
            if (p.branches) w->now = x.at;
            if (w->issued > w->window) w->now = w->from = w->last, w->issued = 0;
        } else if (n->op == OP_LOAD) {
            x.own = load(w, n, x.level);
            x.at = WBB_MAX(x.at, x.level ? w->from : 0) + x.own;
        }
    }
    w->of[NODE][r] = x;
    if (x.level) WBB_PUSH(w->a, &w->steps, ((Step){.kind = NODE, .number = r}));
}

/* Computes a node, and all below it that are not known yet. */
static const Ready *node(Time *w, IrRef root)
{
    const IrGraph *g = w->k->g;
    WBB_PUSH(w->a, &w->stack, root);
    while (w->stack.n) {
        const IrRef r = w->stack.items[w->stack.n - 1];
        IrRef open = 0;
        for (uint32_t k = 0; !is_leaf(ir_at(g, r)) && !w->of[NODE][r].known && k < ir_arity(g, r) && !open; k++)
            if (!w->of[NODE][ir_operand(g, r, k)].known) open = ir_operand(g, r, k);
        if (open) {
            WBB_PUSH(w->a, &w->stack, open);
            continue;
        }
        if (!w->of[NODE][r].known) compute(w, r);
        w->stack.n--;
    }
    return &w->of[NODE][root];
}

/* --- statements --------------------------------------------------------------------------------------------------- */
/* A value or a variable, which nodes decide. */
static void bind(Time *w, Kind kind, uint32_t number, const IrRef *by, uint32_t n, double more)
{
    const Step s = {.kind = kind, .number = number, .first = w->needs.n, .n = n, .more = more};
    Ready x = ready(0, 0);
    for (uint32_t k = 0; k < n; k++) {
        join(&x, node(w, by[k]));
        WBB_PUSH(w->a, &w->needs, by[k]);
    }
    x.at += more;
    w->of[kind][number] = x;
    WBB_PUSH(w->a, &w->steps, s);
}

static void block(Time *w, const IrBlock *b);

static double way_of(const Time *w, const Step *s)
{
    const IrGraph *g = w->k->g;
    double way = NEVER;
    if (s->kind != NODE) {
        for (uint32_t k = 0; k < s->n; k++) way = WBB_MAX(way, w->of[NODE][w->needs.items[s->first + k]].way);
        return way < 0 ? NEVER : way + s->more;
    }
    const IrNode *n = ir_at(g, s->number);
    if (n->op == OP_VAR) return w->of[VARIABLE][n->imm].way;
    if (n->op == OP_VALUE) return w->of[VALUE][n->imm].way;
    for (uint32_t k = 0; !is_leaf(n) && k < ir_arity(g, s->number); k++)
        way = WBB_MAX(way, w->of[NODE][ir_operand(g, s->number, k)].way);
    return way < 0 ? NEVER : way + w->of[NODE][s->number].own;
}

/* The clocks of an iteration that only waits for the one before: what the last of several takes longer. `from`: the
 * first step of its body. */
static double way_around(Time *w, const IrStmt *s, uint32_t from)
{
    double ends[ROUNDS] = {0};
    for (uint32_t k = 0; k < s->n_results; k++) w->of[VALUE][s->results[k].carried].way = 0;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        for (uint32_t k = from; k < w->steps.n; k++) {
            const Step *x = &w->steps.items[k];
            w->of[x->kind][x->number].way = way_of(w, x);
        }
        for (uint32_t k = 0; k < s->n_results; k++) {
            const double way = w->of[NODE][s->results[k].yield].way;
            w->of[VALUE][s->results[k].carried].way = way;
            ends[n] = WBB_MAX(ends[n], way);
        }
    }
    for (uint32_t k = from; k < w->steps.n; k++)
        w->of[w->steps.items[k].kind][w->steps.items[k].number].way = NEVER;
    for (uint32_t k = 0; k < s->n_results; k++) w->of[VALUE][s->results[k].carried].way = NEVER;
    return (ends[ROUNDS - 1] - ends[ROUNDS / 2 - 1]) / (ROUNDS - ROUNDS / 2);
}

/* The clocks of one iteration. all: from its beginning until it has left all. */
static double iteration(const Time *w, const Spent *s, double way, double all)
{
    const double ahead = (double)tg_tuned(w->t, "loop.ahead");
    const bool unrolls = !s->branches && s->clocks[PIPE_ISSUE] * ahead <= w->window;
    const double least = WBB_MAX(way, s->clocks[PIPE_ISSUE]);
    return least + WBB_MAX(all - least, 0) / (unrolls ? ahead : 1);
}

static void run_loop(Time *w, const IrStmt *s)
{
    const IrVar *v = s->kind == IR_FOR ? &w->k->g->vars[s->var] : NULL;
    const double trips = v && !s->lanes ? (double)(v->hi - v->lo + 1) : 1;
    const uint32_t level = ++w->level, from = w->steps.n;
    double begin = w->now;
    w->endless = w->endless || !v;
    for (uint32_t k = 0; k < s->n_results; k++) begin = WBB_MAX(begin, node(w, s->results[k].init)->at);
    w->spent[level] = (Spent){.wavefronts = 0};
    w->times[level] = trips * w->times[level - 1];
    w->now = w->from = begin;
    if (v) w->of[VARIABLE][s->var] = ready(begin, level);
    for (uint32_t k = 0; k < s->n_results; k++) {
        bind(w, VALUE, s->results[k].carried, &s->results[k].init, 1, 0);
        w->of[VALUE][s->results[k].carried] = ready(begin, level);
    }
    block(w, &s->body);
    double end = w->now;
    for (uint32_t k = 0; k < s->n_results; k++) end = WBB_MAX(end, node(w, s->results[k].yield)->at);
    const Spent *own = &w->spent[level];
    const double all = trips * iteration(w, own, way_around(w, s, from + s->n_results), end - begin);
    Spent *outer = &w->spent[--w->level];
    for (int k = 0; k <= TG_PIPES; k++) outer->clocks[k] += trips * own->clocks[k];
    outer->wavefronts += trips * own->wavefronts, outer->branches = true;
    w->now = w->from = w->last = begin + all;
    w->issued = 0;
    for (uint32_t k = 0; k < s->n_results; k++) {
        bind(w, VALUE, s->results[k].value, &s->results[k].init, 1, all);
        w->of[VALUE][s->results[k].value] = ready(w->now, w->level);
    }
}

static void choose(Time *w, const IrStmt *s)
{
    w->spent[w->level].branches = true;
    block(w, &s->body);
    block(w, &s->otherwise);
    for (uint32_t k = 0; k < s->n_results; k++) {
        const IrRef by[3] = {s->condition, s->results[k].yield, s->results[k].otherwise};
        bind(w, VALUE, s->results[k].value, by, 3, 0);
    }
}

static void block(Time *w, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        IrRefs by = {0};
        if (s->kind == IR_IF || ir_is_loop(s)) {
            (s->kind == IR_IF ? choose : run_loop)(w, s);
            continue;
        }
        for (IrUses u = ir_uses(w->k->g, s); ir_next_use(&u);) WBB_PUSH(w->a, &by, u.ref);
        for (IrDefs d = ir_defs(s); ir_next_def(&d);)
            bind(w, d.is_variable ? VARIABLE : VALUE, d.number, by.items, by.n, 0);
        uint32_t level = 0;
        for (uint32_t k = 0; k < by.n; k++) level = WBB_MAX(level, node(w, by.items[k])->level);
        if (s->kind == IR_STORE) w->spent[level].clocks[PIPE_ISSUE] += 1, w->spent[level].wavefronts += 1;
    }
}

/* --- the kernel --------------------------------------------------------------------------------------------------- */
static void begin_body(Time *w)
{
    w->now = w->from = w->last = w->issued = 0;
    w->spent[0] = (Spent){.wavefronts = 0};
}

static void call(Time *w, uint32_t n)
{
    const IrFunction *f = w->k->functions[n];
    begin_body(w);
    block(w, &f->body);
    PipeRowPrice p = {.latency = w->now};
    for (uint32_t k = 0; k < f->n_yields; k++) p.latency = WBB_MAX(p.latency, node(w, f->yields[k])->at);
    for (int k = 0; k <= TG_PIPES; k++) p.clocks[k] = w->spent[0].clocks[k];
    p.branches = true;
    w->called[n] = p;
}

static uint32_t depth(const IrBlock *b)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (!ir_has_blocks(s)) continue;
        const uint32_t in = WBB_MAX(depth(&s->body), depth(&s->otherwise)) + ir_is_loop(s);
        most = WBB_MAX(most, in);
    }
    return most;
}

/* Bytes that all threads load and store, of each buffer at most as many as it has. */
static double bytes_of(const Time *w)
{
    const double threads = (double)w->k->grid * w->k->block;
    double sum = 0;
    for (uint32_t n = 0; n < w->k->n_buffers; n++) {
        const IrBuffer *b = &w->k->buffers[n];
        const double all = (double)b->elements * sc_type_info[b->type].bits / 8;
        if (b->space == IR_IN) sum += WBB_MIN(all, threads * w->loaded[n]);
        else if (b->space == IR_OUT) sum += all;
    }
    return sum;
}

double pipe_loop_us(WbbCx *cx, const IrKernel *k, const TgTarget *t)
{
    WbbArena *a = wbb_arena_new(cx);
    const IrGraph *g = k->g;
    uint32_t levels = depth(&k->body);
    for (uint32_t f = 0; f < k->n_functions; f++) levels = WBB_MAX(levels, depth(&k->functions[f]->body));
    Time w = {.a = a, .k = k, .t = t, .alu = tg_rate(t, "latency.alu")->value,
              .far = tg_rate(t, "latency.dram")->value, .near = tg_rate(t, "latency.l2")->value,
              .window = tg_rate(t, "window")->value,
              .of = {WBB_NEW_N(a, Ready, g->n), WBB_NEW_N(a, Ready, g->n_values + 1),
                     WBB_NEW_N(a, Ready, g->n_vars + 1)},
              .spent = WBB_NEW_N(a, Spent, levels + 1), .times = WBB_NEW_N(a, double, levels + 1),
              .loaded = WBB_NEW_N(a, double, k->n_buffers + 1),
              .called = WBB_NEW_N(a, PipeRowPrice, k->n_functions + 1)};
    w.times[0] = 1;
    for (uint32_t f = 0; f < k->n_functions; f++) call(&w, f);
    begin_body(&w);
    block(&w, &k->body);
    const double clock = tg_rate(t, "clock")->value * 1e-6; /* of a microsecond */
    const double warps = (double)k->grid * ((k->block + t->warp - 1) / t->warp);
    const double each = warps / WBB_MIN((double)k->grid, t->sms) / clock; /* of an SM */
    const double waves = WBB_MAX(warps / ((double)t->sms * t->warps), 1);
    const double dram = 1e6 * bytes_of(&w) / tg_rate(t, "dram")->value;
    double terms[TG_PIPES + 4] = {dram, waves * w.now / clock, each * w.spent[0].wavefronts,
                                  each * w.spent[0].clocks[PIPE_ISSUE] / tg_rate(t, "issue")->value};
    for (int p = 0; p < TG_PIPES; p++) terms[4 + p] = each * w.spent[0].clocks[p] / tg_schedulers(t);
    const PriceTime time = {.together = price_together(terms, TG_PIPES + 4, (int)tg_tuned(t, "price.norm")),
                            .launch = tg_rate(t, "launch")->value * 1e6, .latency = w.far / clock};
    wbb_arena_free(a);
    return w.endless ? 0 : price_time(&time);
}

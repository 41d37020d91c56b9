/* rewrite_nodes.c: the time of a pass for each node, and how often rules are looked up.
 *
 *     rewrite_nodes random N [TARGET]   random operations of all types; prints nanoseconds and visits a node, and
 *                                       the number of firings
 *     rewrite_nodes linear [TARGET]     a chain and a balanced tree of 1,000, 10,000 and 100,000 nodes; exit 1 where
 *                                       visits a node grow by more than 5 %, or time a node more than fourfold
 *
 * Each time is the best of several runs, each on a graph of its own, in one context, so that later runs need no new
 * memory. With assertions the time includes the second sweep, which checks that nothing changes; `meson setup
 * -Dbuildtype=release -Db_ndebug=true` is without it.
 */
#include "rewrite/rewrite.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>


typedef struct {
    const char *shape, *target;
    uint32_t n;
    double ns;                       /* a node, best run */
    uint32_t nodes, visits, firings; /* of the last run */
} Job;

static uint64_t seed;

/* Processor time of this process. */
static double cpu_ns(void) { return (double)clock() * (1e9 / CLOCKS_PER_SEC); }

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % n;
}

static const ScType types[] = {SC_I32, SC_U32, SC_I64, SC_I8, SC_U16, SC_F32, SC_F16, SC_BF16, SC_F64};

static IrRef leaf(IrGraph *g, ScType t, uint32_t number)
{
    const IrRef buffer = ir_node(g, OP_ARG, IR_TYPE(SC_NONE, 0), 0, 0, 0, 0, t);
    return ir_node(g, OP_LOAD, IR_TYPE(t, 0), 0, buffer, ir_index(g, number), 0, 0);
}

static void store(IrKernel *k, uint32_t buffer, uint32_t at, IrRef value)
{
    IrStmt *s = ir_stmt(k->g, &k->body, IR_STORE);
    s->buffer = buffer;
    s->index = ir_index(k->g, at);
    s->value = value;
}

/* A random operation of type t on earlier values. */
static IrRef operation(IrGraph *g, ScType t, const IrRef *pool, uint32_t n)
{
    static const ScOp both[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_MAX, OP_MIN, OP_NEG, OP_ABS, OP_SIGN, OP_SELECT, OP_SELECT};
    static const ScOp ints[] = {OP_BAND, OP_BOR, OP_BXOR, OP_SHL, OP_SHRA, OP_SHRL, OP_BNOT, OP_POPCNT, OP_CLZ};
    static const ScOp floats[] = {OP_FLOOR, OP_CEIL, OP_SQRT, OP_EXP, OP_LOG, OP_SIN, OP_COS, OP_RSQRT, OP_POW, OP_FMA, OP_FMA};
    const bool is_float = sc_is_float(t);
    const uint32_t common = below(2);
    const ScOp op = common     ? both[below(WBB_LEN(both))]
                    : is_float ? floats[below(WBB_LEN(floats))]
                               : ints[below(WBB_LEN(ints))];
    const IrType type = IR_TYPE(t, 0);
    IrRef x[3] = {0, 0, 0};
    for (int i = 0; i < sc_op_info[op].arity; i++) {
        x[i] = pool[n < 40 ? below(n) : n - 1 - below(40)];
        if (i && below(4) == 0) x[i] = ir_const(g, type, is_float ? sc_from_f64(t, (double)below(4) - 1) : below(4));
    }
    if (op == OP_SELECT) x[0] = ir_node(g, (ScOp)(OP_EQ + (int)below(6)), IR_TYPE(SC_PRED, 0), 0, x[1], x[2], 0, 0);
    return ir_node(g, op, type, 0, x[0], x[1], x[2], 0);
}

static void random_terms(IrKernel *k, uint32_t n)
{
    enum { ROOM = 1 << 17 };
    for (size_t t = 0; t < WBB_LEN(types); t++) {
        IrRef *pool = WBB_NEW_N(k->g->arena, IrRef, ROOM);
        uint32_t count = 0;
        for (; count < 8; count++) pool[count] = leaf(k->g, types[t], count);
        for (; count < n / WBB_LEN(types) && count < ROOM; count++) {
            pool[count] = operation(k->g, types[t], pool, count);
            store(k, 0, count, pool[count]);
        }
    }
}

static void chain(IrKernel *k, uint32_t n)
{
    IrRef x = leaf(k->g, SC_F32, 0);
    for (uint32_t i = 0; i < n; i++)
        x = ir_node(k->g, i % 3 ? OP_ADD : OP_MUL, IR_TYPE(SC_F32, 0), 0, x, leaf(k->g, SC_F32, 1 + i % 7), 0, 0);
    store(k, 0, 0, x);
}

static IrRef tree(IrGraph *g, uint32_t n, uint32_t first)
{
    if (n < 2) return leaf(g, SC_F32, first);
    const IrRef x = tree(g, n / 2, first), y = tree(g, n - n / 2, first + n / 2);
    return ir_node(g, n % 3 ? OP_ADD : OP_MAX, IR_TYPE(SC_F32, 0), 0, x, y, 0, 0);
}

static void once(WbbCx *cx, void *arg)
{
    Job *job = arg;
    WbbArena *a = wbb_arena_new(cx);
    IrKernel k = {.name = "k", .g = ir_graph_new(cx, a), .block = 1, .grid = 1};
    if (!strcmp(job->shape, "random")) random_terms(&k, job->n);
    else if (!strcmp(job->shape, "chain")) chain(&k, job->n);
    else store(&k, 0, 0, tree(k.g, job->n / 2, 0));
    const uint32_t nodes = k.g->n;
    RwCx *rw = rw_new(cx, a, k.g, &ix_tables, tg_find(job->target)->tables, false);
    const double start = cpu_ns();
    rw_run(rw, &k, RW_SIMPLIFY);
    const double ns = (cpu_ns() - start) / nodes;
    if (job->ns == 0 || ns < job->ns) job->ns = ns;
    job->nodes = nodes;
    job->visits = rw_visits(rw);
    job->firings = 0;
    for (uint32_t i = 0; i < tg_find(job->target)->tables->n_rules; i++) job->firings += rw_counts(rw, false)[i];
    wbb_arena_free(a);
}

static void measure(Job *job)
{
    WbbCx *cx = wbb_cx_new();
    for (int run = 0; run < 7; run++) {
        seed = 88172645463325252u;
        if (wbb_guard(cx, once, job) != WBB_OK) fprintf(stderr, "%s\n", cx->messages), exit(1);
    }
    wbb_cx_free(cx);
    printf("%-6s %6u nodes: %6.1f ns a node, %.2f million nodes a second, %.3f visits a node, %u firings\n", job->shape,
           job->nodes, job->ns, 1e3 / job->ns, (double)job->visits / job->nodes, job->firings);
}

static int linear(const char *target)
{
    static const char *const shapes[] = {"chain", "tree"};
    int bad = 0;
    for (size_t s = 0; s < 2; s++) {
        double first_visits = 0, first_ns = 0;
        for (uint32_t n = 1000; n <= 100000; n *= 10) {
            Job job = {.shape = shapes[s], .target = target, .n = n};
            measure(&job);
            const double visits = (double)job.visits / job.nodes;
            if (n == 1000) first_visits = visits, first_ns = job.ns;
            if (visits > first_visits * 1.05)
                bad = 1, printf("visits a node grow from %.3f to %.3f\n", first_visits, visits);
            if (job.ns > first_ns * 4) bad = 1, printf("time a node grows from %.1f to %.1f ns\n", first_ns, job.ns);
        }
    }
    return bad;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "linear")) return linear(argc > 2 ? argv[2] : "sm_90");
    if (argc < 3 || strcmp(argv[1], "random"))
        return fputs("usage: rewrite_nodes random N [TARGET] | linear [TARGET]\n", stderr), 2;
    Job job = {.shape = "random", .target = argc > 3 ? argv[3] : "sm_90", .n = (uint32_t)strtoul(argv[2], NULL, 10)};
    if (!tg_find(job.target)) return fprintf(stderr, "%s: no such target\n", job.target), 2;
    measure(&job);
    return 0;
}

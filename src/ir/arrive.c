/* arrive.c: do all threads arrive that a barrier, a shuffle or a vote waits for?
 *
 * Needs a kernel; leaves it unchanged. A node is the same in all threads of a cluster, of a block, of a warp, or may
 * differ: a constant and a loop's counter are the same in a cluster; `bid` and memory read at one address in a block;
 * tid // 32 and what is computed from it in a warp. A barrier stands only below conditions that are the same in its
 * block or cluster, what a warp does together only below those that are the same in its warp.
 *
 *     if lt.index(tid, 32) { do barrier() }                      refused
 *     if lt.index(tid, 32) { y = do shuffle_xor.u32(x, 1) }      taken: warps are whole
 */
#include "ir/uses.h"

#include <string.h>

enum { WARP = 32 };

/* How far a value is the same. */
typedef enum { IN_THREAD, IN_WARP, IN_BLOCK, IN_CLUSTER } Same;

typedef struct {
    const IrKernel *k;
    IrGraph *g;
    uint8_t *same;   /* by ref: 1 + Same; 0: not known yet */
    uint8_t *values; /* by number: Same */
    IrRefs stack;
    WbbArena *arena;
    const char *fault;
} Arrival;

static bool is_tid(const IrGraph *g, IrRef r)
{
    const IrNode *x = ir_at(g, r);
    return x->op == OP_VAR && g->vars[x->imm].kind == IR_TID;
}

/* tid + c < 0, where c is a multiple of 32, or c - tid < 0, where c + 1 is: how rules leave comparisons. */
static bool is_sum_of_warp(const IrGraph *g, const IrNode *sum)
{
    const IrTerm t = g->terms[sum->a[0]];
    const int64_t c = (int64_t)sum->imm;
    if (sum->a[1] != 1 || !is_tid(g, t.ref)) return false;
    return t.coefficient == 1 ? c % WARP == 0 : t.coefficient == -1 && (c + 1) % WARP == 0;
}

/* tid // n, where n is a multiple of 32, and a comparison of tid with a multiple of 32: equal in a warp. */
static bool is_warp_number(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r), *x = ir_at(g, n->a[0]);
    if (ir_in_pool(n) || !n->a[1]) return false;
    if (n->op == OP_LT && x->op == OP_CONST && is_tid(g, n->a[1])) return ((int64_t)x->imm + 1) % WARP == 0;
    if (!ir_is_const(g, n->a[1])) return false;
    const int64_t by = (int64_t)ir_at(g, n->a[1])->imm;
    if (n->op == OP_LT && x->op == OP_SUM && by == 0) return is_sum_of_warp(g, x);
    if (!is_tid(g, n->a[0])) return false;
    if (n->op == OP_LT || n->op == OP_GE || n->op == OP_FLOORDIV) return by % WARP == 0;
    return (n->op == OP_LE || n->op == OP_GT) && (by + 1) % WARP == 0;
}

static Same same_leaf(const Arrival *x, const IrNode *n)
{
    if (n->op == OP_VALUE) return x->values[n->imm];
    if (n->op != OP_VAR) return IN_CLUSTER;
    const IrVarKind kind = x->g->vars[n->imm].kind;
    return kind == IR_LOOP ? IN_CLUSTER : kind == IR_BID ? IN_BLOCK : IN_THREAD;
}

/* Of a node without effects; operands first, without recursion. */
static Same same_in(Arrival *x, IrRef root)
{
    x->stack.n = 0;
    WBB_PUSH(x->arena, &x->stack, root);
    while (x->stack.n) {
        const IrRef r = x->stack.items[x->stack.n - 1];
        const IrNode *n = ir_at(x->g, r);
        const IrRef definition = n->op == OP_VAR ? x->g->vars[n->imm].definition : 0;
        const uint32_t before = x->stack.n, count = definition ? 1 : ir_arity(x->g, r);
        Same least = definition || count ? IN_CLUSTER : same_leaf(x, n);
        for (uint32_t i = 0; i < count; i++) {
            const IrRef o = definition ? definition : ir_operand(x->g, r, i);
            if (!x->same[o]) WBB_PUSH(x->arena, &x->stack, o);
            else least = WBB_MIN(least, (Same)(x->same[o] - 1));
        }
        if (x->stack.n > before) continue;
        if (count && !definition && is_warp_number(x->g, r)) least = IN_WARP;
        x->same[r] = (uint8_t)(1 + least);
        x->stack.n--;
    }
    return (Same)(x->same[root] - 1);
}

static void check_block(Arrival *x, const IrBlock *b, Same around);

static void check_do(Arrival *x, const IrStmt *s, Same around)
{
    const IrNode *n = ir_at(x->g, s->value);
    const bool convergent = sc_op_info[n->op].effects & SC_CONVERGENT;
    const Same together = n->op == OP_CLUSTER_BARRIER ? IN_CLUSTER : n->op == OP_BARRIER ? IN_BLOCK : IN_WARP;
    if (convergent && around < together && !x->fault)
        x->fault = together == IN_CLUSTER ? "a barrier below a condition that may differ between threads of a cluster"
                   : together == IN_BLOCK ? "a barrier below a condition that may differ between threads of a block"
                                          : "an operation of all threads of a warp below a condition that may differ "
                                            "between them";
    const bool reads = ir_only_reads((ScOp)n->op) && !convergent; /* each thread has the element at its own address */
    for (uint32_t i = 0; i < s->n_results; i++)
        x->values[s->results[i].value] = (uint8_t)(reads ? WBB_MIN(same_in(x, s->index), IN_BLOCK) : IN_THREAD);
}

/* Threads leave a `repeat` by its condition, which is computed in its body: where it may differ, so may all that the
 * body does from the second iteration on. */
static Same check_repeat(Arrival *x, const IrStmt *s, Same around)
{
    check_block(x, &s->body, around);
    const Same again = WBB_MIN(around, same_in(x, s->condition));
    if (again < around) {
        memset(x->same, 0, x->k->g->n);
        check_block(x, &s->body, again);
    }
    return again;
}

/* What a loop carries is taken to differ. */
static void check_statement(Arrival *x, const IrStmt *s, Same around)
{
    Same inside = around;
    if (s->kind == IR_DO) check_do(x, s, around);
    if (s->kind == IR_IF) inside = WBB_MIN(around, same_in(x, s->condition));
    for (uint32_t i = 0; i < s->n_results && ir_is_loop(s); i++) x->values[s->results[i].carried] = IN_THREAD;
    if (s->kind == IR_REPEAT) {
        inside = check_repeat(x, s, around);
    } else {
        check_block(x, &s->body, inside);
        check_block(x, &s->otherwise, inside);
    }
    for (uint32_t i = 0; i < s->n_results && s->kind != IR_DO; i++) {
        const Same yield = same_in(x, s->results[i].yield);
        const Same other = s->kind == IR_IF ? same_in(x, s->results[i].otherwise) : IN_CLUSTER;
        x->values[s->results[i].value] = (uint8_t)WBB_MIN(inside, WBB_MIN(yield, other));
    }
}

static void check_block(Arrival *x, const IrBlock *b, Same around)
{
    for (uint32_t i = 0; i < b->n && !x->fault; i++) check_statement(x, b->items[i], around);
}

static bool converges(const IrGraph *g, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_DO && (sc_op_info[ir_at(g, s->value)->op].effects & SC_CONVERGENT)) return true;
        if (converges(g, &s->body) || converges(g, &s->otherwise)) return true;
    }
    return false;
}

bool ir_converges(const IrKernel *k) { return converges(k->g, &k->body); }

const char *ir_not_arriving(const IrKernel *k)
{
    if (!ir_converges(k)) return NULL;
    WbbArena *arena = wbb_arena_new(k->g->cx);
    Arrival x = {.k = k, .g = k->g, .arena = arena};
    x.same = WBB_NEW_N(arena, uint8_t, k->g->n);
    x.values = WBB_NEW_N(arena, uint8_t, k->g->n_values + 1);
    check_block(&x, &k->body, IN_CLUSTER);
    wbb_arena_free(arena);
    return x.fault;
}

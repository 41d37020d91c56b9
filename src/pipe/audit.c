/* audit.c: finds the rule that made a kernel wrong.
 *
 * Needs the trace of a compile; leaves the first firing whose two sides differ. Both sides are evaluated on sampled
 * values by the reference semantics of the operations (ir_eval). The message names the line of the rule:
 *
 *     patterns/arith.py:121: mul.bf16(load %p[i], 0.5) became fma.bf16(load %p[i], 0.5, 1.0): 1.25 expected, 2.25 found
 */
#include "pipe/pipe.h"

enum { SAMPLES = 24 };

typedef struct {
    uint32_t sample;
} Sampling;

static uint64_t sample_leaf(void *arg, const IrGraph *g, IrRef leaf)
{
    const IrNode *n = ir_at(g, leaf);
    const ScType t = IR_SC(n->type);
    const uint64_t key[2] = {leaf, ((const Sampling *)arg)->sample};
    const uint64_t h = wbb_hash(key, sizeof key, 7);
    if (n->op == OP_VAR) {
        const IrVar v = g->vars[n->imm];
        return (uint64_t)v.lo + h % ((uint64_t)v.hi - (uint64_t)v.lo + 1);
    }
    if (!sc_is_float(t)) return h >> 8 & sc_mask(t);
    static const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, -3.5};
    return sc_from_f64(t, h % 3 == 0 ? edges[h / 3 % WBB_LEN(edges)] : (double)(h >> 20 & 0xffff) / 4096.0 - 8.0);
}

/* By 2 %: far more than any function's error budget, far less than the error of a wrong rule. */
static bool differs(ScType t, uint64_t x, uint64_t y)
{
    if (x == y) return false;
    if (!sc_is_float(t)) return true;
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p || q != q) return (p != p) != (q != q);
    const double d = p > q ? p - q : q - p, size = p < 0 ? -p : p;
    return !(d <= size * 0.02 + 1e-6) && p != q;
}

bool pipe_audit(RwCx *rw, WbbArena *a, char **message)
{
    const IrGraph *g = rw_graph(rw);
    const RwEvent *events;
    const uint32_t n = rw_trace(rw, &events);
    for (uint32_t i = 0; i < n; i++) {
        if (events[i].g != g) continue; /* of arrays */
        const ScType t = IR_SC(ir_at(g, events[i].root)->type);
        for (Sampling s = {0}; s.sample < SAMPLES; s.sample++) {
            uint64_t x, y;
            if (!ir_eval(g, events[i].root, sample_leaf, &s, &x) || !ir_eval(g, events[i].result, sample_leaf, &s, &y))
                break;
            if (!differs(t, x, y)) continue;
            WbbBuf b = wbb_buf(a);
            wbb_putf(&b, "%s: ", rw_rule_name(a, events[i].tables, events[i].rule));
            ir_print_node(&b, g, events[i].root);
            wbb_put(&b, " became ");
            ir_print_node(&b, g, events[i].result);
            if (t == SC_INDEX) wbb_putf(&b, ": %lld expected, %lld found", (long long)x, (long long)y);
            else wbb_putf(&b, ": %g expected, %g found", sc_to_f64(t, x), sc_to_f64(t, y));
            *message = b.text;
            return true;
        }
    }
    return false;
}

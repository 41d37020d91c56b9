/* agree.c: does a bundle describe the operands and outputs of its fusion?
 *
 * Needs a bundle and the module of its HLO text; leaves nothing. A bundle that was put together of two would be judged
 * by inputs of the wrong size or type.
 *
 *     out/kernel.json: error: operand 0 is bf16[64], and fusion.hlo has f32[64]
 */
#include "judge/judge.h"

#include <string.h>

static const char *described(WbbArena *a, const BdBuffer *d)
{
    WbbBuf b = wbb_buf(a);
    wbb_putf(&b, "%s[", d->type);
    for (int k = 0; k < d->rank; k++) wbb_putf(&b, k ? ",%lld" : "%lld", (long long)d->dims[k]);
    wbb_put(&b, "]{");
    for (int k = 0; k < d->rank; k++) wbb_putf(&b, k ? ",%d" : "%d", d->minor_to_major[k]);
    wbb_put(&b, "}");
    return b.text;
}

static bool agrees(const BdBuffer *d, const HloShape *s)
{
    bool same = !strcmp(d->type, sc_type_info[s->type].hlo) && d->rank == s->rank;
    for (int k = 0; same && k < d->rank; k++)
        same = d->dims[k] == s->dims[k] && d->minor_to_major[k] == s->minor_to_major[k];
    return same;
}

static void check_role(WbbCx *cx, WbbArena *a, const char *file, const Bundle *b, BdRole role, uint32_t n,
                       const HloShape *const *shapes)
{
    const char *what = role == BD_IN ? "operand" : "output";
    uint32_t found = 0;
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        if (d->role != role) continue;
        if (found < n && !agrees(d, shapes[found])) {
            WbbBuf text = wbb_buf(a);
            hlo_print_shape(&text, shapes[found]);
            wbb_fail(cx, (WbbLoc){.file = file}, "%s %u is %s, and fusion.hlo has %s", what, found, described(a, d),
                     text.text);
        }
        found++;
    }
    if (found != n)
        wbb_fail(cx, (WbbLoc){.file = file}, "%u %ss, and fusion.hlo has %u", found, what, n);
}

void judge_check_bundle(WbbCx *cx, WbbArena *a, const char *file, const Bundle *b, const HloModule *m)
{
    hlo_decline_features(cx, m);
    const HloFusion f = hlo_fusion(cx, m);
    struct { const HloShape **items; uint32_t n, capacity; } in = {0};
    const HloShape **leaves;
    for (uint32_t k = 0; k < f.body->n_parameters; k++) {
        const uint32_t n = hlo_leaves(a, f.body->parameters[k]->shape, &leaves);
        for (uint32_t i = 0; i < n; i++) WBB_PUSH(a, &in, leaves[i]);
    }
    check_role(cx, a, file, b, BD_IN, in.n, in.items);
    const uint32_t n = hlo_leaves(a, f.body->root->shape, &leaves);
    check_role(cx, a, file, b, BD_OUT, n, leaves);
}

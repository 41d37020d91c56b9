/* foreign.c: a bundle around PTX that another compiler made of a fusion, so that it is run, checked and counted like
 * ours.
 *
 * Needs a module, the PTX and its launch; leaves a bundle. The kernel's arguments are those of our kernels and of
 * XLA's: one pointer for each operand of the fusion, in order, then one for each leaf of the result. A kernel with
 * fewer parameters takes each distinct operand once, as XLA's kernels do. Parameters behind these are null, as those of
 * Triton's kernels for scratch memory that they do not need; a kernel that reads through one has a fault. A leaf that
 * is updated in place (dynamic-update-slice, scatter, sort, output_to_operand_aliasing) shares its operand's pointer
 * and may be written in part; every other leaf is written once, all of it.
 *
 *     run gelu.hlo --ptx xla.ptx --grid 12288,1,1 --block 128,1,1 --check
 */
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>

static BdBuffer buffer(const HloShape *s, BdRole role, int arg)
{
    const ScTypeInfo *t = &sc_type_info[s->type];
    BdBuffer b = {.role = role, .arg = arg, .type = t->hlo, .rank = s->rank, .bits = t->bits, .align = 256,
                  .init = BD_INIT_NONE, .copy_of = -1, .writes = BD_ONCE, .bytes = (hlo_elements(s) * t->bits + 7) / 8};
    for (int d = 0; d < s->rank; d++) {
        b.dims[d] = s->dims[d];
        b.minor_to_major[d] = s->minor_to_major[d];
    }
    return b;
}

/* The parameter that a value equals, through bitcasts and copies; -1: none. */
static int parameter_of(const HloInstruction *x)
{
    while (hlo_has(x->opcode, HLO_RENAMES) || x->opcode == HLO_COPY) x = x->operands[0];
    return x->opcode == HLO_PARAMETER ? (int)x->number : -1;
}

/* The operand whose memory leaf k of the root updates; -1: none, it has memory of its own. */
static int in_place(const HloInstruction *root, uint32_t k)
{
    HloValue v = hlo_value(root, k);
    while (hlo_has(v.i->opcode, HLO_RENAMES)) v = hlo_value(v.i->operands[0], 0);
    const HloInstruction *x = v.i;
    const int64_t of = hlo_is_sort(x) ? (int64_t)v.part : hlo_replaced(x, v.part);
    return of < 0 ? -1 : parameter_of(x->operands[of]);
}

/* The operand that output_to_operand_aliasing={{leaf}: (operand, {}), ..} names for a leaf of the fusion; -1: none. */
static int aliased_operand(WbbArena *a, const HloInstruction *fusion, uint32_t leaf)
{
    const char *at = fusion ? hlo_attribute(a, fusion, "output_to_operand_aliasing") : NULL;
    while (at && (at = strchr(at, '{')) != NULL) {
        at += 1 + strspn(at + 1, " {");
        char *end;
        const bool whole = *at == '}'; /* the result is not a tuple */
        const unsigned long long output = whole ? 0 : strtoull(at, &end, 10);
        if (!whole && end == at) return -1;
        at = strchr(at, '(');
        if (!at) return -1;
        const unsigned long long operand = strtoull(at + 1, &end, 10);
        if (output == leaf && operand < fusion->n_operands) return (int)operand;
        at = strchr(end, ')');
    }
    return -1;
}

/* Is an operand before number i the same value? */
static bool repeated(const HloInstruction *fusion, uint32_t i)
{
    for (uint32_t k = 0; fusion && k < i; k++)
        if (fusion->operands[k] == fusion->operands[i]) return true;
    return false;
}

/* Fill args, which has room for all parameters, with the buffers of the kernel's parameters, in order; returns their
 * number. */
static int arguments(const HloFusion *f, uint32_t n_in, int n, int parameters, int *args)
{
    int distinct = n, count = 0;
    for (uint32_t i = 0; i < n_in; i++) distinct -= repeated(f->fusion, i);
    const bool once = parameters != n && parameters == distinct;
    for (int i = 0; i < n; i++)
        if (i >= (int)n_in || !once || !repeated(f->fusion, (uint32_t)i)) args[count++] = i;
    return count;
}

Bundle *judge_foreign(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, const char *entry,
                      const BdLaunch *launch)
{
    hlo_decline_features(cx, m);
    const HloFusion f = hlo_fusion(cx, m);
    const HloShape **leaves;
    const uint32_t n_leaves = hlo_leaves(a, f.body->root->shape, &leaves), n_in = f.body->n_parameters;
    const int n = (int)(n_in + n_leaves);
    Bundle *b = WBB_NEW(a, Bundle);
    *b = (Bundle){.compiler = "foreign", .target = "sm_90", .hash = "", .n_buffers = n,
                  .n_launches = 1, .ptx = ptx, .buffers = WBB_NEW_N(a, BdBuffer, (size_t)n + 1),
                  .launches = WBB_NEW(a, BdLaunch)};
    const int parameters = sim_parameters(sim_parse(cx, a, "kernel.ptx", ptx), entry);
    int *args = WBB_NEW_N(a, int, (size_t)WBB_MAX(n, parameters) + 1);
    for (uint32_t i = 0; i < n_in; i++) b->buffers[i] = buffer(f.body->parameters[i]->shape, BD_IN, (int)i);
    for (uint32_t k = 0; k < n_leaves; k++) {
        BdBuffer *out = &b->buffers[n_in + k];
        *out = buffer(leaves[k], BD_OUT, (int)k);
        int operand = aliased_operand(a, f.fusion, k);
        if (operand < 0) operand = in_place(f.body->root, k);
        if (operand < 0 || b->buffers[operand].bytes != out->bytes) continue;
        out->copy_of = operand;
        out->init = BD_INIT_COPY;
        out->writes = BD_ATOMIC;
    }
    int count = arguments(&f, n_in, n, parameters, args);
    if (count < parameters)
        wbb_note(cx, (WbbLoc){0}, "%s: %d parameters behind those of operands and results are null pointers", entry,
                 parameters - count);
    while (count < parameters) args[count++] = BD_NOTHING;
    b->launches[0] = *launch;
    b->launches[0].entry = entry;
    b->launches[0].n_args = count;
    b->launches[0].args = args;
    return b;
}

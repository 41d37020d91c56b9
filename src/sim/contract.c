/* contract: products and sums without a rounding modifier, of which ptxas makes fused multiply-adds.
 *
 * Needs: the instructions in the order of the text. Leaves: in SimModule, how many ways there are to read them; where
 * the caller asks for the second or third one, those sums as fma.rn.
 *
 * The PTX manual lets mul and add or sub without .rn become one fma; with a rounding modifier on either they stay. In
 * reach is what ptxas was seen to fuse (CUDA 13.0, sm_90): a sum in the block of its product, of the same type and
 * .ftz, also through mov and neg; the product is neither guarded nor saturated. A product that has other uses is kept
 * for them. Of a sum of two products one is fused, so that there are two ways to do it. The factors are copied where
 * the product is computed, since their registers may change before the sum.
 *
 *     mul.f32 %f1, %f2, %f3;              t = %f2; u = %f3; %f1 = mul.f32 %f2, %f3
 *     sub.f32 %f4, %f5, %f1;      ->      v = neg.f32 t; %f4 = fma.rn.f32 v, u, %f5
 */
#include "sim/inner.h"

typedef struct {
    const char *type, *copy; /* copy: the row that moves a register */
    char letter;
} FusedType;

static const FusedType *fused_type(const char *type)
{
    static const FusedType types[] = {{"f32", "mov.b32", 'f'}, {"f64", "mov.b64", 'g'}, {"f16", "mov.b16", 'h'},
                                      {"bf16", "mov.b16", 'h'}, {"f16x2", "mov.b32", 'w'}, {"bf16x2", "mov.b32", 'w'}};
    for (size_t k = 0; k < WBB_LEN(types); k++)
        if (strcmp(types[k].type, type) == 0) return &types[k];
    return NULL;
}

/* The type of mul, add or sub with three operands and no rounding modifier, or NULL. */
static const FusedType *loose(const Inst *inst)
{
    const bool three = inst->n == 3 && inst->n_parts >= 2 && inst->opd[0].kind == OPD_REG;
    for (int k = 1; three && k + 1 < inst->n_parts; k++)
        if (strcmp(inst->part[k], "ftz") != 0 && strcmp(inst->part[k], "sat") != 0) return NULL;
    return three ? fused_type(inst->part[inst->n_parts - 1]) : NULL;
}

static SimProduct *product_in(Parser *p, const Opd *o)
{
    for (uint32_t k = p->products.n; k-- > 0 && o->kind == OPD_REG;)
        if (p->products.items[k].col == o->col) return &p->products.items[k];
    return NULL;
}

static void forget(Parser *p, const Opd *o)
{
    for (int k = 0; o->kind == OPD_VECTOR && k < o->n; k++) forget(p, &o->items[k]);
    SimProduct *x = product_in(p, o);
    if (x) *x = p->products.items[--p->products.n];
}

static Opd in_column(const Opd *like, uint32_t col, int width)
{
    return (Opd){.kind = OPD_REG, .col = col, .width = (uint8_t)width, .loc = like->loc};
}

static Opd negated(Parser *p, const FusedType *t, const Opd *o)
{
    const int width = sim_width_of(t->letter);
    const uint32_t from = sim_read(p, o, t->letter), to = sim_column(p, (uint32_t)width);
    sim_row(p, wbb_format(p->arena, "neg.%s", t->type), to, from, 0, 0);
    return in_column(o, to, width);
}

/* A product that a sum may take; its factors are copied if sums are fused. */
static void remember(Parser *p, const Inst *inst, const FusedType *t)
{
    SimProduct x = {.col = inst->opd[0].col, .type = t->type, .flushes = sim_has(inst, "ftz")};
    const int width = sim_width_of(t->letter);
    for (int k = 0; k < 2; k++) {
        x.factor[k] = inst->opd[1 + k];
        if (p->fused == SIM_UNFUSED || x.factor[k].kind != OPD_REG) continue;
        const uint32_t from = sim_read(p, &x.factor[k], t->letter), to = sim_column(p, (uint32_t)width);
        sim_row(p, t->copy, to, from, 0, 0);
        x.factor[k] = in_column(&x.factor[k], to, width);
    }
    forget(p, &inst->opd[0]);
    if (!inst->pred && inst->opd[0].width == width) WBB_PUSH(p->arena, &p->products, x);
}

/* The sum as a fused multiply-add of its operand `at`, a product. */
static void fuse(Parser *p, const Inst *inst, const FusedType *t, const SimProduct *x, int at)
{
    Inst fma = *inst;
    const bool sub = strcmp(inst->part[0], "sub") == 0;
    const Opd *rest = &inst->opd[3 - at];
    fma.n = 4;
    fma.opd[1] = x->negated != (sub && at == 2) ? negated(p, t, &x->factor[0]) : x->factor[0];
    fma.opd[2] = x->factor[1];
    fma.opd[3] = sub && at == 1 ? negated(p, t, rest) : *rest;
    fma.name = "fma.rn";
    fma.part[0] = "fma", fma.part[1] = "rn";
    for (int k = 1; k < inst->n_parts; k++) fma.part[k + 1] = inst->part[k];
    for (int k = 1; k < inst->n_parts; k++) fma.name = wbb_format(p->arena, "%s.%s", fma.name, inst->part[k]);
    fma.n_parts++;
    if (!sim_by_table(p, &fma)) sim_unknown(p, inst, "unknown instruction");
}

static bool sum(Parser *p, const Inst *inst, const FusedType *t)
{
    const SimProduct *found[3] = {0};
    for (int k = 1; k <= 2; k++) {
        found[k] = product_in(p, &inst->opd[k]);
        if (found[k] && (strcmp(found[k]->type, t->type) || found[k]->flushes != sim_has(inst, "ftz"))) found[k] = NULL;
    }
    const bool both = found[1] && found[2];
    if (!found[1] && !found[2]) return false;
    p->m->fusings = WBB_MAX(p->m->fusings, both ? SIM_FUSED_SECOND + 1u : SIM_FUSED_FIRST + 1u);
    if (p->fused == SIM_UNFUSED) return false;
    const int at = !found[1] || (both && p->fused == SIM_FUSED_SECOND) ? 2 : 1;
    const SimProduct x = *found[at];
    fuse(p, inst, t, &x, at);
    return true;
}

/* mov and neg pass a product on. */
static bool passes(Parser *p, const Inst *inst)
{
    const bool neg = strcmp(inst->part[0], "neg") == 0;
    const SimProduct *from = inst->n == 2 && inst->n_parts == 2 ? product_in(p, &inst->opd[1]) : NULL;
    if (!from || inst->pred || inst->opd[0].kind != OPD_REG || inst->opd[0].width != inst->opd[1].width) return false;
    if (neg ? strcmp(inst->part[1], from->type) != 0 : strcmp(inst->part[0], "mov") != 0) return false;
    SimProduct x = *from;
    x.col = inst->opd[0].col;
    x.negated = x.negated != neg;
    forget(p, &inst->opd[0]);
    WBB_PUSH(p->arena, &p->products, x);
    return true;
}

bool sim_contract(Parser *p, const Inst *inst)
{
    static const char *const ends[] = {"bra", "brx", "call", "ret", "exit"};
    const char *op = inst->part[0];
    const bool mul = strcmp(op, "mul") == 0;
    const FusedType *t = NULL;
    if (!mul && p->products.n == 0) return false;
    if (mul || strcmp(op, "add") == 0 || strcmp(op, "sub") == 0) t = loose(inst);
    if (mul && t && !sim_has(inst, "sat")) {
        remember(p, inst, t);
        return false;
    }
    if (passes(p, inst)) return false;
    const bool fused = !mul && t && sum(p, inst, t);
    for (int k = 0; k < inst->n && k < 2; k++)
        if (k == 0 || k == inst->second) forget(p, &inst->opd[k]);
    for (size_t k = 0; k < WBB_LEN(ends); k++)
        if (strcmp(op, ends[k]) == 0) p->products.n = 0;
    return fused;
}

uint32_t sim_fusings(const SimModule *m) { return m->fusings; }

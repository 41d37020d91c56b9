/* decode_rare: instructions that stand for several others: lop3 with a predicate, min and max of three, f32 sums of
 * narrower values.
 *
 * Needs: table.c. Leaves: the operations of those others, under the same guard.
 *
 *     min.NaN.f32 %f4, %f1, %f2, %f3   ->   min.NaN.f32 t, %f1, %f2; min.NaN.f32 %f4, t, %f3
 */
#include "sim/inner.h"

static Opd register_of(Parser *p, const Inst *inst, int width)
{
    return (Opd){.kind = OPD_REG, .col = sim_column(p, (uint32_t)width), .width = (uint8_t)width, .loc = inst->loc};
}

/* Decode `in`, which stands for the instruction and has a row in the table. */
static void again(Parser *p, Inst in)
{
    WbbBuf b = wbb_buf(p->arena);
    for (int i = 0; i < in.n_parts; i++) wbb_putf(&b, "%s%s", i ? "." : "", in.part[i]);
    const Inst *outer = p->inst;
    in.name = wbb_intern_z(p->cx, b.text);
    p->inst = &in;
    if (!sim_by_table(p, &in)) sim_unknown(p, &in, "unknown instruction");
    p->inst = outer;
}

static void drop_part(Inst *in, int at)
{
    for (int i = at; i + 1 < in->n_parts; i++) in->part[i] = in->part[i + 1];
    in->n_parts--;
}

static int part_index(const Inst *inst, const char *part)
{
    for (int i = 1; i < inst->n_parts; i++)
        if (!strcmp(inst->part[i], part)) return i;
    return 0;
}

/* lop3.BOOL.b32 d|p, a, b, c, table, q: p is (d != 0) BOOL q */
static void lop3(Parser *p, const Inst *inst)
{
    Inst in = *inst;
    if (inst->n != 7 || !inst->second || inst->n_parts != 3) sim_unknown(p, inst, "unknown form of lop3");
    const Opd d = inst->opd[0].kind == OPD_SINK ? register_of(p, inst, 4) : inst->opd[0];
    const uint32_t q = sim_read(p, &inst->opd[6], 'p');
    in.opd[0] = register_of(p, inst, 4);
    for (int i = 1; i < 5; i++) in.opd[i] = inst->opd[i + 1];
    in.n = 5, in.second = 0;
    drop_part(&in, 1);
    again(p, in);
    const uint32_t some = sim_column(p, 1);
    sim_row(p, "%nonzero.b32", some, in.opd[0].col, 0, 0);
    if (inst->opd[1].kind != OPD_SINK)
        sim_row(p, wbb_format(p->arena, "%s.pred", inst->part[1]), sim_result(p, &inst->opd[1], 'p'), some, q, 0);
    sim_row(p, "mov.b32", sim_result(p, &d, 'w'), in.opd[0].col, 0, 0);
}

/* min and max of three f32; .abs applies to each operand. */
static void of_three(Parser *p, const Inst *inst)
{
    Inst in = *inst;
    const int abs = part_index(inst, "abs");
    if (strcmp(inst->part[inst->n_parts - 1], "f32") || part_index(inst, "xorsign"))
        sim_unknown(p, inst, "unknown form of min or max");
    for (int i = 1; abs && i < 4; i++) {
        const Opd a = register_of(p, inst, 4);
        sim_row(p, "abs.f32", a.col, sim_read(p, &inst->opd[i], 'f'), 0, 0);
        in.opd[i] = a;
    }
    if (abs) drop_part(&in, abs);
    Inst last = in;
    in.n = 3;
    in.opd[0] = register_of(p, inst, 4);
    again(p, in);
    last.n = 3;
    last.opd[1] = in.opd[0];
    last.opd[2] = last.opd[3];
    again(p, last);
}

/* add, sub and fma with an f32 result and narrower factors or first operand: exact in f32, then one rounding. */
static void mixed(Parser *p, const Inst *inst)
{
    Inst in = *inst;
    const int factors = inst->n - 2;
    const char *row = wbb_format(p->arena, "cvt.f32.%s", inst->part[inst->n_parts - 1]);
    for (int i = 1; i <= factors; i++) {
        const Opd a = register_of(p, inst, 4);
        sim_row(p, row, a.col, sim_read(p, &inst->opd[i], 'h'), 0, 0);
        in.opd[i] = a;
    }
    in.n_parts--;
    again(p, in);
}

bool sim_decode_rare(Parser *p, const Inst *inst)
{
    const char *op = inst->part[0], *last = inst->part[inst->n_parts - 1];
    const bool sum = !strcmp(op, "add") || !strcmp(op, "sub"), fma = !strcmp(op, "fma");
    if (!strcmp(op, "lop3") && strcmp(inst->part[1 % inst->n_parts], "b32")) lop3(p, inst);
    else if ((!strcmp(op, "min") || !strcmp(op, "max")) && inst->n == 4) of_three(p, inst);
    else if (((sum && inst->n == 3) || (fma && inst->n == 4)) && inst->n_parts > 2 &&
             !strcmp(inst->part[inst->n_parts - 2], "f32") && (!strcmp(last, "f16") || !strcmp(last, "bf16")))
        mixed(p, inst);
    else return false;
    return true;
}

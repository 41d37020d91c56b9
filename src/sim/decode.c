/* decode: one instruction of the text to one or more operations.
 *
 * Needs: the instruction table (table.c), and the decoders of decode_*.c. Leaves: operations at the end of
 * SimModule.ops.
 *
 * Most instructions have a row in the table. Here are comparisons, with their second predicate or combining
 * operation, moves of vectors, addresses, and the choice among all decoders. An instruction without a row and a
 * decoder is refused.
 *
 *     setp.lt.and.s32 %p1|%p2, %r1, %r2, %p3
 *         ->   t = setp.lt.s32 %r1, %r2; u = not t; %p2 = and u, %p3; %p1 = and t, %p3
 */
#include "sim/inner.h"

/* set: a number of the type that stands before the last one, one or all ones where the comparison holds; of a pair,
 * both halves. */
static void set_result(Parser *p, const Inst *inst, const Opd *to, const char *combine, uint32_t low, uint32_t high,
                       uint32_t also)
{
    static const struct {
        const char *name;
        uint32_t one;
        char letter;
    } types[] = {{"u32", UINT32_MAX, 'w'}, {"s32", UINT32_MAX, 'w'}, {"f32", 0x3f800000, 'w'}, {"u16", 0xffff, 'h'}, {"s16", 0xffff, 'h'},
                 {"f16", 0x3c00, 'h'}, {"bf16", 0x3f80, 'h'}, {"f16x2", 0x3c00, 'w'}, {"bf16x2", 0x3f80, 'w'}};
    const char *type = inst->part[inst->n_parts - 2];
    size_t k = 0;
    while (k < WBB_LEN(types) && strcmp(type, types[k].name)) k++;
    if (k == WBB_LEN(types) || (high != 0) != (strchr(type, 'x') != NULL)) sim_unknown(p, inst, "unknown instruction");
    uint32_t part[2] = {low, high};
    for (int i = 0; i < 2 && combine; i++)
        if (part[i]) sim_row(p, combine, part[i] = sim_column(p, 1), i ? high : low, also, 0);
    const uint32_t d = sim_result(p, to, types[k].letter);
    if (!high) {
        const int width = sim_width_of(types[k].letter);
        sim_row(p, width == 2 ? "selp.b16" : "selp.b32", d, sim_constant(p, types[k].one, width),
                sim_constant(p, 0, width), part[0]);
    } else {
        uint32_t half[2];
        for (int i = 0; i < 2; i++)
            sim_row(p, "selp.b16", half[i] = sim_column(p, 2), sim_constant(p, types[k].one, 2), sim_constant(p, 0, 2),
                    part[i]);
        sim_row(p, "%pack.b32", d, half[0], half[1], 0);
    }
    sim_done(p, to, d, types[k].letter, false);
}

/* setp.CMP[.BOOL].TYPE p[|q], a, b[, c], and set, which makes a number of the result. q is what p is not; of a pair,
 * p is the comparison of the low halves, q that of the high ones. */
static void compare(Parser *p, const Inst *inst, bool set)
{
    static const char *const combine[] = {"and", "or", "xor"};
    Inst in = *inst;
    const char *bool_op = NULL, *flush = NULL;
    WbbBuf b = wbb_buf(p->arena);
    wbb_put(&b, "setp");
    for (int i = 1; i < in.n_parts; i++) {
        bool skip = false;
        for (int k = 0; k < 3; k++)
            if (strcmp(in.part[i], combine[k]) == 0) bool_op = combine[k], skip = true;
        if (strcmp(in.part[i], "ftz") == 0) flush = "%ftz.", skip = true;
        if (set && i == in.n_parts - 2) skip = true; /* type of the result */
        if (!skip) wbb_putf(&b, ".%s", in.part[i]);
    }
    const SimRow *row = sim_find_row(p, b.text);
    const char *type = in.part[in.n_parts - 1];
    if (!row) sim_unknown(p, inst, "unknown instruction");
    if (flush) flush = wbb_format(p->arena, "%%ftz.%s", type);

    bool two = inst->second != 0, pair = strcmp(type + strlen(type) - 2, "x2") == 0;
    if (pair && two == set) sim_unknown(p, inst, set ? "unknown instruction" : "two predicates are needed");
    Opd second = two ? inst->opd[1] : (Opd){.kind = OPD_SINK};
    if (two) {
        for (int i = 1; i + 1 < in.n; i++) in.opd[i] = in.opd[i + 1];
        in.n--;
    }
    if (in.n != 3 + (bool_op != NULL)) sim_unknown(p, inst, "wrong number of operands");
    uint32_t also = bool_op ? sim_read(p, &in.opd[3], 'p') : 0;
    in.n = 3;
    const Opd first = in.opd[0];
    uint32_t raw = sim_column(p, 1), high = 0;
    in.opd[0] = (Opd){.kind = OPD_REG, .col = raw, .width = 1, .loc = first.loc};
    sim_plain(p, &in, row, flush, NULL);
    char name[16];
    snprintf(name, sizeof name, "%s.pred", bool_op ? bool_op : "mov");
    if (set && pair) {
        in.opd[0].col = high = sim_column(p, 1);
        sim_plain(p, &in, sim_find_row(p, wbb_format(p->arena, "%%high%s", b.text + strlen("setp"))), flush, NULL);
    }
    if (two) {
        uint32_t other = sim_column(p, 1);
        in.opd[0].col = other;
        if (pair)
            sim_plain(p, &in, sim_find_row(p, wbb_format(p->arena, "%%high%s", b.text + strlen("setp"))), flush, NULL);
        else sim_row(p, "not.pred", other, raw, 0, 0);
        if (second.kind == OPD_REG) sim_row(p, name, second.col, other, also, 0);
    }
    if (set) {
        set_result(p, inst, &first, bool_op ? name : NULL, raw, high, also);
    } else if (first.kind != OPD_SINK) {
        sim_row(p, name, sim_result(p, &first, 'p'), raw, also, 0);
    }
}

/* mov.b128: from or to registers of 16 bytes, or both. */
static void move_halves(Parser *p, const Opd *to, const Opd *from)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t a = sim_read(p, &from->items[i], 'd');
        if (to->items[i].kind != OPD_SINK) sim_row(p, "mov.b64", sim_result(p, &to->items[i], 'd'), a, 0, 0);
    }
}

/* mov between a wide register and a vector of narrower ones. */
static void move_vector(Parser *p, const Inst *inst)
{
    const Opd *to = &inst->opd[0], *from = &inst->opd[1];
    const bool large = to->width == 16 || from->width == 16, named = !strcmp(inst->name, "mov.b128");
    if (large != named) sim_unknown(p, inst, "unknown form of mov");
    if (named && to->kind == OPD_VECTOR && from->kind == OPD_VECTOR && to->n == 2 && from->n == 2) {
        move_halves(p, to, from);
        return;
    }
    bool pack = from->kind == OPD_VECTOR;
    const Opd *v = pack ? from : to;
    const char *type = inst->part[inst->n_parts - 1];
    int bits = strcmp(type + 1, "64") == 0   ? 64
               : strcmp(type + 1, "32") == 0 ? 32
               : strcmp(type + 1, "16") == 0 ? 16
                                             : 0;
    if (!bits || inst->n != 2 || (v->n != 2 && !(v->n == 4 && bits == 64))) sim_unknown(p, inst, "unknown form of mov");
    char letter = bits == 64 ? 'd' : bits == 32 ? 'w' : 'h', half = bits == 64 ? 'w' : 'h';
    char pack_name[16], lo[16], hi[16];
    snprintf(pack_name, sizeof pack_name, "%%pack.b%d", bits);
    snprintf(lo, sizeof lo, "%%lo.b%d", bits);
    snprintf(hi, sizeof hi, "%%hi.b%d", bits);
    if (pack) {
        uint32_t part[2];
        for (int i = 0; i < 2; i++) {
            if (v->n == 2) part[i] = sim_read(p, &v->items[i], half);
            else
                sim_row(p, "%pack.b32", part[i] = sim_column(p, 4), sim_read(p, &v->items[2 * i], 'h'),
                        sim_read(p, &v->items[2 * i + 1], 'h'), 0);
        }
        uint32_t d = sim_result(p, to, letter);
        sim_row(p, pack_name, d, part[0], part[1], 0);
        sim_done(p, to, d, letter, false);
        return;
    }
    uint32_t a = sim_read(p, from, letter);
    for (int i = 0; i < 2; i++) {
        if (v->n == 2) {
            if (v->items[i].kind == OPD_SINK) continue;
            uint32_t d = sim_result(p, &v->items[i], half);
            sim_row(p, i ? hi : lo, d, a, 0, 0);
            sim_done(p, &v->items[i], d, half, false);
        } else {
            uint32_t w = sim_column(p, 4);
            sim_row(p, i ? hi : lo, w, a, 0, 0);
            for (int k = 0; k < 2; k++)
                if (v->items[2 * i + k].kind != OPD_SINK)
                    sim_row(p, k ? "%hi.b32" : "%lo.b32", sim_result(p, &v->items[2 * i + k], 'h'), w, 0, 0);
        }
    }
}

/* cvta: addresses of global and const variables are generic already; shared and local memory lie in windows. */
static void convert_address(Parser *p, const Inst *inst)
{
    bool to_space = sim_has(inst, "to");
    uint64_t base = sim_has(inst, "shared")  ? (uint64_t)SEG_SHARED << SEG_SHIFT
                    : sim_has(inst, "local") ? (uint64_t)SEG_LOCAL << SEG_SHIFT
                                             : 0;
    if (inst->n != 2 || sim_has(inst, "param") || strcmp(inst->part[inst->n_parts - 1], "u64") != 0)
        sim_unknown(p, inst, "unknown form of cvta");
    uint32_t a = sim_read(p, &inst->opd[1], 'd'), d = sim_result(p, &inst->opd[0], 'd');
    if (!base) sim_row(p, "mov.b64", d, a, 0, 0);
    else sim_row(p, to_space ? "sub.s64" : "add.s64", d, a, sim_constant(p, base, 8), 0);
}

void sim_decode(Parser *p, const Inst *inst)
{
    p->inst = inst;
    const char *op = inst->part[0];
    if (!p->func) sim_unknown(p, inst, "instruction outside of a function");
    if (sim_contract(p, inst)) {
        p->inst = NULL;
        return;
    }
    if (strcmp(op, "ld") == 0 || strcmp(op, "ldu") == 0) sim_decode_memory(p, inst, false);
    else if (strcmp(op, "st") == 0) sim_decode_memory(p, inst, true);
    else if (strcmp(op, "setp") == 0) compare(p, inst, false);
    else if (strcmp(op, "set") == 0) compare(p, inst, true);
    else if (strcmp(op, "mov") == 0 && inst->n == 2 &&
             (inst->opd[0].kind == OPD_VECTOR || inst->opd[1].kind == OPD_VECTOR))
        move_vector(p, inst);
    else if (strcmp(op, "cvta") == 0) convert_address(p, inst);
    else if (strcmp(op, "cvt") == 0) {
        const SimRow *row = sim_find_row(p, inst->name);
        if (!row && sim_has(inst, "pack")) sim_unknown(p, inst, "unknown instruction");
        bool exact = row && inst->n == (int)strlen(row->types) && inst->opd[0].kind == OPD_REG &&
                     inst->opd[0].width == sim_width_of(row->types[0]);
        if (exact) sim_plain(p, inst, row, NULL, NULL);
        else if (!sim_decode_cvt(p, inst)) sim_unknown(p, inst, "unknown instruction");
    } else if (!sim_decode_rare(p, inst) && !sim_by_table(p, inst)) sim_decode_warp(p, inst);
    p->inst = NULL;
}

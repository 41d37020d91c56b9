/* decode: one instruction of the text to one or more operations.
 *
 * Needs: the instruction table (ops_*.c), symbols and columns of parse.c. Leaves: operations at the end of SimModule.ops.
 *
 * An instruction with a row in the table becomes that row's operation. Around it stand helper operations, all under the same
 * guard: operands wider than their type are cut, .ftz flushes sources and result, .sat and .relu clamp the result, a second
 * predicate or a combining operation of setp is computed on its own. What has no row and no decoder here is refused.
 *
 *     add.sat.f32 %r3, %r1, %r2   ->   t = add.f32 %r1, %r2; %r3 = %sat.f32 t
 */
#include "sim/inner.h"

void sim_unknown(Parser *p, const Inst *inst, const char *why)
{
    const char *at = p->m->text, *end;
    for (int line = 1; line < inst->loc.line; line++) {
        const char *newline = strchr(at, '\n');
        if (!newline) break;
        at = newline + 1;
    }
    while (*at == ' ' || *at == '\t') at++;
    end = strchr(at, '\n');
    wbb_fail(p->cx, inst->loc, "%s: %.*s", why, (int)(end ? end - at : (ptrdiff_t)strlen(at)), at);
}

bool sim_has(const Inst *inst, const char *part)
{
    for (int i = 1; i < inst->n_parts; i++)
        if (strcmp(inst->part[i], part) == 0) return true;
    return false;
}

/* The instruction table by name. --------------------------------------------------------------------------------------  */

void sim_rows_open(Parser *p)
{
    const SimRow *const tables[] = {sim_rows_int, sim_rows_float, sim_rows_half, sim_rows_cvt, sim_rows_rare};
    for (size_t t = 0; t < WBB_LEN(tables); t++) {
        for (const SimRow *row = tables[t]; row->names; row++) {
            for (const char *at = row->names; *at;) {
                const size_t length = strcspn(at, " ");
                WbbEntry *e = wbb_map_put_bytes(&p->rows, at, length);
                assert(!e->value);
                e->value = wbb_key(row);
                at += length + (at[length] == ' ');
            }
        }
    }
}

static const SimRow *find_row(const Parser *p, const char *name)
{
    const WbbEntry *e = wbb_map_get_bytes(&p->rows, name, strlen(name));
    return e ? (const SimRow *)(uintptr_t)e->value : NULL;
}

/* Operands ------------------------------------------------------------------------------------------------------------- */

int sim_width_of(char type) { return type == 'p' ? 1 : type == 'h' ? 2 : type == 'd' || type == 'g' ? 8 : 4; }

SimOp *sim_emit(Parser *p, OpKind kind)
{
    SimOp op = {.kind = (uint8_t)kind, .line = p->inst ? p->inst->loc.line : p->lex.tok.line, .source = p->place, .counts = p->first};
    if (p->inst) {
        op.class = (uint8_t)sim_class(p->inst->name);
        op.pred = p->inst->pred;
        op.negate = p->inst->negate;
    }
    p->first = false;
    WBB_PUSH(p->arena, &p->m->ops, op);
    return &p->m->ops.items[p->m->ops.n - 1];
}

uint32_t sim_const_column(Parser *p, int width, int from, uint64_t value)
{
    const uint64_t key[2] = {value, (uint64_t)(width + 16 * from)};
    WbbEntry *e = wbb_map_put_bytes(&p->constants, key, sizeof key);
    if (!e->value) {
        const SimConst c = {sim_column(p, (uint32_t)width), (uint8_t)width, (uint8_t)from, value};
        WBB_PUSH(p->arena, &p->m->consts, c);
        e->value = p->m->consts.n;
    }
    return p->m->consts.items[e->value - 1].col;
}

uint32_t sim_constant(Parser *p, uint64_t value, int width)
{
    if (width < 8) value &= (UINT64_C(1) << (8 * width)) - 1;
    return sim_const_column(p, width, 0, value);
}

static uint64_t immediate(Parser *p, const Opd *o, char type)
{
    float f;
    double d;
    switch (o->kind) {
    case OPD_F32:
        if (type == 'g') {
            memcpy(&f, &o->bits, 4); /* low bytes first, as every host here has them */
            d = (double)f;
            uint64_t bits;
            memcpy(&bits, &d, 8);
            return bits;
        }
        return o->bits;
    case OPD_F64:
        if (type == 'f') {
            memcpy(&d, &o->bits, 8);
            f = (float)d;
            uint32_t bits;
            memcpy(&bits, &f, 4);
            return bits;
        }
        return o->bits;
    case OPD_INT:
        return o->bits;
    default:
        wbb_fail(p->cx, o->loc, "an operand of this kind cannot stand here");
    }
}

/* The address of a variable, in its own space; a constant column. */
static uint32_t symbol(Parser *p, const Opd *o, int width)
{
    const SimSym *s = o->sym;
    switch (s->kind) {
    case SYM_GLOBAL:
    case SYM_CONST:
    case SYM_LOCAL: return sim_constant(p, s->address, width);
    case SYM_SHARED: return sim_const_column(p, width, s->address == UINT64_MAX ? 2 : 0, s->address == UINT64_MAX ? 0 : s->address);
    default: wbb_fail(p->cx, o->loc, "%s cannot be used as a value", s->name);
    }
}

uint32_t sim_read(Parser *p, const Opd *o, char type)
{
    int width = sim_width_of(type);
    if (o->kind == OPD_SYMBOL) return symbol(p, o, width);
    if (o->kind != OPD_REG) {
        uint64_t bits = immediate(p, o, type);
        return sim_constant(p, type == 'p' ? bits != 0 : bits, width); /* true is written -1 */
    }
    uint32_t col = o->col;
    if (o->negate) {
        if (type != 'p') wbb_fail(p->cx, o->loc, "only a predicate can be inverted");
        col = sim_column(p, 1);
        sim_row(p, "not.pred", col, o->col, 0, 0);
    }
    if (o->width == width) return col;
    if (o->width < width || type == 'p' || o->width == 1)
        wbb_fail(p->cx, o->loc, "a register of %d bits cannot stand here", o->width == 1 ? 1 : 8 * o->width);
    col = sim_column(p, (uint32_t)width);
    sim_row(p, o->width == 4 ? "%lo.b32" : width == 4 ? "%lo.b64" : "%trunc.b16.b64", col, o->col, 0, 0);
    return col;
}

/* A column to compute a result into; sim_done moves it where it belongs. */
uint32_t sim_result(Parser *p, const Opd *o, char type)
{
    if (o->kind == OPD_SINK) return sim_column(p, (uint32_t)sim_width_of(type));
    if (o->kind != OPD_REG) wbb_fail(p->cx, o->loc, "the result must be a register");
    if (o->width == sim_width_of(type)) return o->col;
    if (o->width < sim_width_of(type) || o->width == 1 || type == 'p')
        wbb_fail(p->cx, o->loc, "a register of %d bits cannot take this result", o->width == 1 ? 1 : 8 * o->width);
    return sim_column(p, (uint32_t)sim_width_of(type));
}

void sim_done(Parser *p, const Opd *o, uint32_t col, char type, bool sign)
{
    if (o->kind != OPD_REG || col == o->col) return;
    char name[24];
    snprintf(name, sizeof name, "%%%cext.b%d.b%d", sign ? 's' : 'z', 8 * o->width, 8 * sim_width_of(type));
    sim_row(p, name, o->col, col, 0, 0);
}

void sim_row(Parser *p, const char *name, uint32_t d, uint32_t a, uint32_t b, uint32_t c)
{
    const SimRow *row = find_row(p, name);
    if (!row) sim_unknown(p, p->inst, "unknown instruction");
    SimOp *op = sim_emit(p, OP_ALU);
    op->fn = row->fn;
    op->width = (uint8_t)sim_width_of(row->types[0]);
    op->d = d, op->a = a, op->b = b, op->c = c;
}

/* Instructions of the table ---------------------------------------------------------------------------------------------- */

/* The name without one of its parts; NULL if it has not that part. */
static const char *without(Parser *p, const Inst *inst, const char *part, const char *part2)
{
    WbbBuf b = wbb_buf(p->arena);
    bool found = false;
    for (int i = 0; i < inst->n_parts; i++) {
        if (i && (strcmp(inst->part[i], part) == 0 || (part2 && strcmp(inst->part[i], part2) == 0))) {
            found = true;
            continue;
        }
        wbb_putf(&b, "%s%s", i ? "." : "", inst->part[i]);
    }
    return found ? b.text : NULL;
}

/* Source columns by the letters of a row; operands from inst->opd[1]. */
static void sources(Parser *p, const Inst *inst, const SimRow *row, uint32_t col[4], uint64_t *imm)
{
    int n = (int)strlen(row->types) - 1;
    if (inst->n != n + 1) sim_unknown(p, inst, "wrong number of operands");
    for (int i = 0; i < n; i++) {
        char type = row->types[i + 1];
        if (type == 'i') {
            if (inst->opd[i + 1].kind != OPD_INT) wbb_fail(p->cx, inst->opd[i + 1].loc, "expected a number");
            *imm = inst->opd[i + 1].bits;
        } else {
            col[i] = sim_read(p, &inst->opd[i + 1], type == 'e' ? 'w' : type);
        }
    }
}

static void plain(Parser *p, const Inst *inst, const SimRow *row, const char *flush, const char *clamp)
{
    uint32_t col[5] = {0};
    uint64_t imm = 0;
    sources(p, inst, row, col, &imm);
    int n = (int)strlen(row->types) - 1;
    for (int i = 0; flush && i < n; i++) {
        if (row->types[i + 1] == 'p' || sim_width_of(row->types[i + 1]) != sim_width_of(row->types[1])) continue;
        uint32_t t = sim_column(p, (uint32_t)sim_width_of(row->types[i + 1]));
        sim_row(p, flush, t, col[i], 0, 0);
        col[i] = t;
    }
    char type = row->types[0];
    uint32_t d = sim_result(p, &inst->opd[0], type), to = d;
    if (flush || clamp) to = sim_column(p, (uint32_t)sim_width_of(type));
    SimOp *op = sim_emit(p, OP_ALU);
    op->fn = row->fn;
    op->width = (uint8_t)sim_width_of(type);
    op->d = to, op->a = col[0], op->b = col[1], op->c = col[2], op->e = col[3];
    op->imm = (int64_t)imm;
    if (flush && type != 'p') sim_row(p, flush, clamp ? to : d, to, 0, 0);
    else if (flush) sim_row(p, "mov.pred", d, to, 0, 0);
    if (clamp) sim_row(p, clamp, d, to, 0, 0);
    sim_done(p, &inst->opd[0], d, type, false);
}

/* set: a number of the type that stands before the last one, one or all ones where the comparison holds; of a pair, both halves. */
static void set_result(Parser *p, const Inst *inst, const Opd *to, const char *combine, uint32_t low, uint32_t high, uint32_t also)
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
        sim_row(p, width == 2 ? "selp.b16" : "selp.b32", d, sim_constant(p, types[k].one, width), sim_constant(p, 0, width), part[0]);
    } else {
        uint32_t half[2];
        for (int i = 0; i < 2; i++) sim_row(p, "selp.b16", half[i] = sim_column(p, 2), sim_constant(p, types[k].one, 2), sim_constant(p, 0, 2), part[i]);
        sim_row(p, "%pack.b32", d, half[0], half[1], 0);
    }
    sim_done(p, to, d, types[k].letter, false);
}

/* setp.CMP[.BOOL].TYPE p[|q], a, b[, c], and set, which makes a number of the result. q is what p is not; of a pair, p is the
 * comparison of the low halves, q that of the high ones. */
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
    const SimRow *row = find_row(p, b.text);
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
    plain(p, &in, row, flush, NULL);
    char name[16];
    snprintf(name, sizeof name, "%s.pred", bool_op ? bool_op : "mov");
    if (set && pair) {
        in.opd[0].col = high = sim_column(p, 1);
        plain(p, &in, find_row(p, wbb_format(p->arena, "%%high%s", b.text + strlen("setp"))), flush, NULL);
    }
    if (two) {
        uint32_t other = sim_column(p, 1);
        in.opd[0].col = other;
        if (pair) plain(p, &in, find_row(p, wbb_format(p->arena, "%%high%s", b.text + strlen("setp"))), flush, NULL);
        else sim_row(p, "not.pred", other, raw, 0, 0);
        if (second.kind == OPD_REG) sim_row(p, name, second.col, other, also, 0);
    }
    if (set) {
        set_result(p, inst, &first, bool_op ? name : NULL, raw, high, also);
    } else if (first.kind != OPD_SINK) {
        sim_row(p, name, sim_result(p, &first, 'p'), raw, also, 0);
    }
}

/* mov between a wide register and a vector of narrower ones. */
static void move_vector(Parser *p, const Inst *inst)
{
    const Opd *to = &inst->opd[0], *from = &inst->opd[1];
    bool pack = from->kind == OPD_VECTOR;
    const Opd *v = pack ? from : to;
    const char *type = inst->part[inst->n_parts - 1];
    int bits = strcmp(type + 1, "64") == 0 ? 64 : strcmp(type + 1, "32") == 0 ? 32 : strcmp(type + 1, "16") == 0 ? 16 : 0;
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
            else sim_row(p, "%pack.b32", part[i] = sim_column(p, 4), sim_read(p, &v->items[2 * i], 'h'), sim_read(p, &v->items[2 * i + 1], 'h'), 0);
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
                if (v->items[2 * i + k].kind != OPD_SINK) sim_row(p, k ? "%hi.b32" : "%lo.b32", sim_result(p, &v->items[2 * i + k], 'h'), w, 0, 0);
        }
    }
}

/* cvta: generic addresses of global and const variables are their own; shared and local ones lie in windows. */
static void convert_address(Parser *p, const Inst *inst)
{
    bool to_space = sim_has(inst, "to");
    uint64_t base = sim_has(inst, "shared") ? (uint64_t)SEG_SHARED << SEG_SHIFT : sim_has(inst, "local") ? (uint64_t)SEG_LOCAL << SEG_SHIFT : 0;
    if (inst->n != 2 || sim_has(inst, "param") || strcmp(inst->part[inst->n_parts - 1], "u64") != 0)
        sim_unknown(p, inst, "unknown form of cvta");
    uint32_t a = sim_read(p, &inst->opd[1], 'd'), d = sim_result(p, &inst->opd[0], 'd');
    if (!base) sim_row(p, "mov.b64", d, a, 0, 0);
    else sim_row(p, to_space ? "sub.s64" : "add.s64", d, a, sim_constant(p, base, 8), 0);
}

/* Row by the name as written; else with .rn where that is the default; else taken apart. */
static bool by_table(Parser *p, const Inst *inst)
{
    const SimRow *row = find_row(p, inst->name);
    if (row) {
        plain(p, inst, row, NULL, NULL);
        return true;
    }
    const char *type = inst->part[inst->n_parts - 1], *name = inst->name;
    char *flush = NULL, *clamp = NULL;
    Inst rest = *inst;
    for (int i = 1; i < inst->n_parts; i++) {
        if (strcmp(inst->part[i], "ftz") == 0) flush = wbb_format(p->arena, "%%ftz.%s", type);
        if (strcmp(inst->part[i], "sat") == 0) clamp = wbb_format(p->arena, "%%sat.%s", type);
        if (strcmp(inst->part[i], "relu") == 0) clamp = wbb_format(p->arena, "%%relu.%s", type);
    }
    if (clamp) name = without(p, &rest, "sat", "relu");
    if (clamp && flush) {
        row = find_row(p, name);
        if (row) flush = NULL; /* a row that flushes by itself */
    }
    if (flush) name = without(p, &rest, "ftz", clamp ? (strstr(clamp, "sat") ? "sat" : "relu") : NULL);
    if (name == inst->name) return false;
    row = find_row(p, name);
    if (!row || (flush && !find_row(p, flush)) || (clamp && !find_row(p, clamp))) return false;
    plain(p, inst, row, flush, clamp);
    return true;
}

void sim_decode(Parser *p, const Inst *inst)
{
    p->inst = inst;
    const char *op = inst->part[0];
    if (!p->func) sim_unknown(p, inst, "instruction outside of a function");
    if (strcmp(op, "ld") == 0 || strcmp(op, "ldu") == 0) sim_decode_memory(p, inst, false);
    else if (strcmp(op, "st") == 0) sim_decode_memory(p, inst, true);
    else if (strcmp(op, "setp") == 0) compare(p, inst, false);
    else if (strcmp(op, "set") == 0) compare(p, inst, true);
    else if (strcmp(op, "mov") == 0 && inst->n == 2 && (inst->opd[0].kind == OPD_VECTOR || inst->opd[1].kind == OPD_VECTOR))
        move_vector(p, inst);
    else if (strcmp(op, "cvta") == 0) convert_address(p, inst);
    else if (strcmp(op, "cvt") == 0) {
        const SimRow *row = find_row(p, inst->name);
        if (!row && sim_has(inst, "pack")) sim_unknown(p, inst, "unknown instruction");
        bool exact = row && inst->n == (int)strlen(row->types) && inst->opd[0].kind == OPD_REG && inst->opd[0].width == sim_width_of(row->types[0]);
        if (exact) plain(p, inst, row, NULL, NULL);
        else if (!sim_decode_cvt(p, inst)) sim_unknown(p, inst, "unknown instruction");
    } else if (!sim_decode_rare(p, inst) && !by_table(p, inst)) sim_decode_warp(p, inst);
    p->inst = NULL;
}

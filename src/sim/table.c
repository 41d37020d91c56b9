/* table: the instruction table, and how operands become columns and a row becomes an operation.
 *
 * Needs: the rows (ops_*.c, convert.c, and sim_terms.c of gen/instructions.py), symbols and columns (symbols.c).
 * Leaves: operations at the end of SimModule.ops.
 *
 * An instruction with a row in the table becomes that row's operation. Around it stand helper operations, all under
 * the same guard: operands wider than their type are cut, .ftz flushes sources and result, .sat and .relu clamp the
 * result.
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

void sim_rows_open(Parser *p)
{
    const SimRow *const tables[] = {sim_rows_int, sim_rows_float, sim_rows_half, sim_rows_cvt, sim_rows_rare,
                                    sim_rows_packed, sim_rows_terms};
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

const SimRow *sim_find_row(const Parser *p, const char *name)
{
    const WbbEntry *e = wbb_map_get_bytes(&p->rows, name, strlen(name));
    return e ? (const SimRow *)(uintptr_t)e->value : NULL;
}

int sim_width_of(char type) { return type == 'p' ? 1 : type == 'h' ? 2 : type == 'd' || type == 'g' ? 8 : 4; }

SimOp *sim_emit(Parser *p, OpKind kind)
{
    SimOp op = {.kind = (uint8_t)kind,
                .line = p->inst ? p->inst->loc.line : p->lex.tok.line,
                .source = p->location,
                .counts = p->first};
    if (p->inst) {
        op.class = (uint8_t)sim_class(p->inst->name);
        op.pred = p->inst->pred;
        op.negate = p->inst->negate;
    }
    p->first = false;
    WBB_PUSH(p->arena, &p->m->ops, op);
    WBB_PUSH(p->arena, &p->m->texts, p->inst ? p->inst->text : "");
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
    case SYM_SHARED:
        if (s->func != p->func && s->address != UINT64_MAX) { /* of the module: counts for each function that uses it */
            p->func->shared_bytes += s->size;
            o->sym->func = p->func;
        }
        return sim_const_column(p, width, s->address == UINT64_MAX ? 2 : 0, s->address == UINT64_MAX ? 0 : s->address);
    default: wbb_fail(p->cx, o->loc, "%s cannot be used as a value", s->name);
    }
}

/* How the operations of a row treat the halves of a register. */
static SimPair pair_of(const SimRow *row)
{
    static const char *const bitwise[] = {"and.", "or.", "xor.", "not."};
    const char *name = row->names;
    if (strncmp(name, "%pack.", 6) == 0) return SIM_PACK;
    if (strncmp(name, "%lo.", 4) == 0) return SIM_LOW;
    if (strncmp(name, "%hi.", 4) == 0) return SIM_HIGH;
    if (sim_width_of(row->types[0]) < 4 || sim_width_of(row->types[0]) != sim_width_of(row->types[1])) return SIM_WHOLE;
    for (size_t i = 0; i < WBB_LEN(bitwise); i++)
        if (strncmp(name, bitwise[i], strlen(bitwise[i])) == 0) return SIM_HALVES;
    return strstr(name, "f16x2") && strncmp(name, "cvt.", 4) != 0 ? SIM_HALVES : SIM_WHOLE;
}

void sim_row(Parser *p, const char *name, uint32_t d, uint32_t a, uint32_t b, uint32_t c)
{
    const SimRow *row = sim_find_row(p, name);
    if (!row) sim_unknown(p, p->inst, "unknown instruction");
    SimOp *op = sim_emit(p, OP_ALU);
    op->fn = row->fn;
    op->width = (uint8_t)sim_width_of(row->types[0]);
    op->d = d, op->a = a, op->b = b, op->c = c;
    op->mode = (uint8_t)pair_of(row);
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

/* prmt does not read a source of which a constant selector picks no byte: LLVM leaves a register there that nothing
 * writes. The other source takes its place. */
static void skip_unselected(const Opd *selector, uint32_t col[4])
{
    if (selector->kind != OPD_INT) return;
    const uint64_t from_b = selector->bits & 0x4444;
    if (from_b == 0) col[1] = col[0];
    else if (from_b == 0x4444) col[0] = col[1];
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
    if (strcmp(row->names, "prmt.b32") == 0) skip_unselected(&inst->opd[3], col);
}

void sim_plain(Parser *p, const Inst *inst, const SimRow *row, const char *flush, const char *clamp)
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
    op->mode = (uint8_t)pair_of(row);
    if (flush && type != 'p') sim_row(p, flush, clamp ? to : d, to, 0, 0);
    else if (flush) sim_row(p, "mov.pred", d, to, 0, 0);
    if (clamp) sim_row(p, clamp, d, to, 0, 0);
    sim_done(p, &inst->opd[0], d, type, false);
}

/* Row by the name as written; else with .rn where that is the default; else taken apart. */
bool sim_by_table(Parser *p, const Inst *inst)
{
    const SimRow *row = sim_find_row(p, inst->name);
    if (row) {
        sim_plain(p, inst, row, NULL, NULL);
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
        row = sim_find_row(p, name);
        if (row) flush = NULL; /* a row that flushes by itself */
    }
    if (flush) name = without(p, &rest, "ftz", clamp ? (strstr(clamp, "sat") ? "sat" : "relu") : NULL);
    if (name == inst->name) return false;
    row = sim_find_row(p, name);
    if (!row || (flush && !sim_find_row(p, flush)) || (clamp && !sim_find_row(p, clamp))) return false;
    sim_plain(p, inst, row, flush, clamp);
    return true;
}

/* decode_flow: memory accesses, branches, calls, and chains with the carry flag.
 *
 * Needs: table.c for operands. Leaves: operations of warp.c and memory.c; labels as fixups.
 *
 * An address is a column and an offset; the address of a variable is a constant column. Parameters of a kernel are
 * constant columns, so a load of one is a move. Parameters of functions are memories of a few bytes a lane, which a
 * call copies.
 *
 *     ld.global.nc.v2.b32 {%r1, _}, [%rd1+8];
 *         -> OP_LOAD space global, 2 elements of 4 bytes, columns (%r1, sink), address column %rd1, offset 8
 */
#include "sim/inner.h"

typedef struct {
    SimSpace space;
    bool param;
    int lanes_n, bytes;
    char letter; /* column that holds one element */
    bool sign, strong, constant; /* constant: .nc */
} Access;

static bool cache_hint(const char *part)
{
    static const char *const hints[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile", "relaxed", "acquire", "release", "weak", "sys", "gpu", "cta",
                                        "cluster", "func", "entry", "mmio", "unified"};
    if (!strncmp(part, "L1::", 4) || !strncmp(part, "L2::", 4)) return true;
    for (size_t i = 0; i < WBB_LEN(hints); i++)
        if (strcmp(part, hints[i]) == 0) return true;
    return false;
}

/* The strong accesses of the memory model, which do not race with each other. */
static bool strong(const char *part)
{
    return !strcmp(part, "volatile") || !strcmp(part, "relaxed") || !strcmp(part, "acquire") ||
           !strcmp(part, "release");
}

static Access access_of(Parser *p, const Inst *inst)
{
    static const char *const types[] = {"b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"};
    Access a = {.space = SIM_GENERIC, .lanes_n = 1};
    for (int i = 1; i < inst->n_parts; i++) {
        const char *part = inst->part[i];
        a.strong |= strong(part);
        a.constant |= !strcmp(part, "nc");
        if (strcmp(part, "global") == 0) a.space = SIM_GLOBAL;
        else if (strncmp(part, "shared", 6) == 0 &&
                 (!part[6] || !strcmp(part + 6, "::cta") || !strcmp(part + 6, "::cluster")))
            a.space = SIM_SHARED;
        else if (strcmp(part, "local") == 0) a.space = SIM_LOCAL;
        else if (strcmp(part, "const") == 0) a.space = SIM_CONST;
        else if (strcmp(part, "param") == 0) a.param = true;
        else if (strcmp(part, "param::entry") == 0 || strcmp(part, "param::func") == 0) a.param = true;
        else if (strcmp(part, "v2") == 0) a.lanes_n = 2;
        else if (strcmp(part, "v4") == 0) a.lanes_n = 4;
        else if (strcmp(part, "v8") == 0) a.lanes_n = 8;
        else if (i == inst->n_parts - 1) {
            for (size_t t = 0; t < WBB_LEN(types); t++)
                if (strcmp(part, types[t]) == 0) {
                    a.bytes = t < 3 ? 1 : t < 7 ? 2 : t < 11 ? 4 : 8;
                    a.letter = a.bytes == 8   ? (part[0] == 'f' ? 'g' : 'd')
                               : a.bytes == 4 ? (part[0] == 'f' ? 'f' : 'w')
                                              : 'h';
                    a.sign = part[0] == 's';
                }
        } else if (!cache_hint(part)) sim_unknown(p, inst, "unknown modifier");
    }
    if (!a.bytes || a.bytes * a.lanes_n > 32 || inst->n != 2 + sim_has(inst, "L2::cache_hint"))
        sim_unknown(p, inst, "unknown form of an access");
    return a;
}

/* An access must lie inside its parameter. */
static void inside(Parser *p, const Opd *address, const SimSym *s, int bytes)
{
    if (address->offset < 0 || (uint64_t)address->offset + (uint64_t)bytes > s->size)
        wbb_fail(p->cx, address->loc, "access outside of parameter %s", s->name);
}

static void load_kernel_param(Parser *p, const Inst *inst, Access a, const SimSym *s, const Opd *v, int n)
{
    for (int i = 0; i < n; i++) {
        if (v[i].kind == OPD_SINK) continue;
        uint64_t at = s->address + (uint64_t)inst->opd[1].offset + (uint64_t)(i * a.bytes);
        uint32_t col = sim_const_column(p, a.bytes == 1 ? 2 : a.bytes, a.bytes == 1 ? 3 : 1, at);
        char letter = a.letter;
        uint32_t d = sim_result(p, &v[i], letter);
        sim_row(p, letter == 'h' ? "mov.b16" : letter == 'w' || letter == 'f' ? "mov.b32" : "mov.b64", d, col, 0, 0);
        sim_done(p, &v[i], d, letter, a.sign);
    }
}

static void lane_param(Parser *p, const Inst *inst, Access a, const SimSym *s, const Opd *v, int n, bool store)
{
    for (int i = 0; i < n; i++) {
        if (v[i].kind == OPD_SINK) continue;
        uint32_t col = store ? sim_read(p, &v[i], a.letter) : sim_result(p, &v[i], a.letter);
        SimOp *op = sim_emit(p, store ? OP_PARAM_STORE : OP_PARAM_LOAD);
        op->a = s->col;
        op->d = col;
        op->n = (uint32_t)s->size;
        op->bytes = (uint8_t)a.bytes;
        op->width = (uint8_t)sim_width_of(a.letter);
        op->imm = inst->opd[store ? 0 : 1].offset + i * a.bytes;
        op->mode = a.sign;
        if (!store) sim_done(p, &v[i], col, a.letter, a.sign);
    }
}

void sim_decode_memory(Parser *p, const Inst *inst, bool store)
{
    Access a = access_of(p, inst);
    const Opd *address = &inst->opd[store ? 0 : 1], *value = &inst->opd[store ? 1 : 0];
    if (address->kind != OPD_ADDRESS) wbb_fail(p->cx, address->loc, "expected an address in brackets");
    const Opd *v = value->kind == OPD_VECTOR ? value->items : value;
    int n = value->kind == OPD_VECTOR ? value->n : 1;
    if (n != a.lanes_n) wbb_fail(p->cx, value->loc, "%d elements where the instruction moves %d", n, a.lanes_n);

    const Opd *base = &address->items[0];
    if (a.param) {
        const SimSym *s = base->kind == OPD_SYMBOL ? base->sym : NULL;
        if (!s || (s->kind != SYM_PARAM && s->kind != SYM_KERNEL_PARAM) || (store && s->kind == SYM_KERNEL_PARAM))
            wbb_fail(p->cx, base->loc, "expected the name of a parameter");
        inside(p, address, s, a.bytes * n);
        if (s->kind == SYM_KERNEL_PARAM) load_kernel_param(p, inst, a, s, v, n);
        else lane_param(p, inst, a, s, v, n, store);
        return;
    }
    uint32_t columns[8] = {0};
    uint8_t widths[8] = {0};
    for (int i = 0; i < n; i++) {
        if (store) {
            columns[i] = sim_read(p, &v[i], a.letter);
            widths[i] = (uint8_t)sim_width_of(a.letter);
        } else if (v[i].kind == OPD_REG && v[i].width >= (a.bytes == 1 ? 2 : a.bytes)) {
            columns[i] = v[i].col; /* loads extend into wider registers by themselves */
            widths[i] = v[i].width;
        } else if (v[i].kind != OPD_SINK) {
            wbb_fail(p->cx, v[i].loc, "this operand cannot take a loaded value");
        }
    }
    int address_width = base->kind == OPD_REG && base->width == 4 ? 4 : 8;
    uint32_t col = sim_read(p, base, address_width == 4 ? 'w' : 'd');
    SimOp *op = sim_emit(p, store ? OP_STORE : OP_LOAD);
    op->space = (uint8_t)a.space;
    op->mode = a.constant && !store ? SIM_CONSTANT : 0;
    if (a.strong) op->order = (uint8_t)(sim_order_of(inst, SCOPE_GPU) | (store ? ORDER_WRITE : ORDER_READ));
    p->func->orders |= (op->order & (ORDER_ACQUIRE | ORDER_RELEASE)) != 0;
    if (a.strong && !store) p->m->barrier = p->m->polls = true; /* its loop may wait for a store of another warp */
    op->lanes_n = (uint8_t)n;
    op->bytes = (uint8_t)a.bytes;
    op->address = (uint8_t)address_width;
    op->a = col;
    op->imm = address->offset;
    op->target = p->m->cols.n;
    for (int i = 0; i < n; i++) {
        SimCol c = {columns[i], widths[i], a.sign};
        WBB_PUSH(p->arena, &p->m->cols, c);
    }
}

/* Control -------------------------------------------------------------------------------------- */

static SimSym *label_of(Parser *p, const Opd *o)
{
    if (o->kind != OPD_SYMBOL || o->sym->kind != SYM_LABEL) wbb_fail(p->cx, o->loc, "expected a label");
    return o->sym;
}

static void branch(Parser *p, const Inst *inst)
{
    if (inst->n != 1) sim_unknown(p, inst, "unknown form of a branch");
    SimFixup f = {.label = label_of(p, &inst->opd[0]), .loc = inst->opd[0].loc};
    f.at = p->m->ops.n;
    sim_emit(p, OP_BRANCH);
    WBB_PUSH(p->arena, &p->fixups, f);
}

static void branch_table(Parser *p, const Inst *inst)
{
    if (inst->n != 2) sim_unknown(p, inst, "unknown form of a branch");
    const SimSym *table = label_of(p, &inst->opd[1]);
    if (!table->size)
        wbb_fail(p->cx, inst->opd[1].loc, "%s is not a list of branch targets before this point", table->name);
    uint32_t index = sim_read(p, &inst->opd[0], 'w');
    SimOp *op = sim_emit(p, OP_BRANCH_TABLE);
    op->a = index;
    op->target = (uint32_t)table->address;
    op->n = (uint32_t)table->size;
}

/* Copy an argument to its formal, or a formal to the result. A register is stored like a parameter. */
static void pass(Parser *p, const Opd *actual, const SimSym *formal, bool back)
{
    if (actual->kind == OPD_SYMBOL && actual->sym->kind == SYM_PARAM && formal->kind == SYM_PARAM) {
        if (actual->sym->size != formal->size)
            wbb_fail(p->cx, actual->loc, "%s and %s differ in size", actual->sym->name, formal->name);
        SimOp *op = sim_emit(p, OP_PARAM_COPY);
        op->d = back ? actual->sym->col : formal->col;
        op->a = back ? formal->col : actual->sym->col;
        op->n = (uint32_t)formal->size;
        return;
    }
    char letter = formal->size == 2 ? 'h' : formal->size == 4 ? 'w' : 'd';
    if (formal->size != 2 && formal->size != 4 && formal->size != 8)
        wbb_fail(p->cx, actual->loc, "%s cannot be passed this way", formal->name);
    if (back && actual->kind != OPD_REG) wbb_fail(p->cx, actual->loc, "the result must be a register");
    uint32_t col = sim_read(p, actual, letter);
    sim_row(p,
            letter == 'h'   ? "mov.b16"
            : letter == 'w' ? "mov.b32"
                            : "mov.b64",
            back ? col : formal->col, back ? formal->col : col, 0, 0);
}

static void call(Parser *p, const Inst *inst)
{
    const Opd *name = NULL, *args = NULL, *rets = NULL;
    for (int i = 0; i < inst->n; i++) {
        const Opd *o = &inst->opd[i];
        if (o->kind == OPD_VECTOR && !name) rets = o;
        else if (o->kind == OPD_VECTOR && !args) args = o;
        else if (o->kind == OPD_SYMBOL && o->sym->kind == SYM_FUNC && !name) name = o;
        else sim_unknown(p, inst, "unknown form of a call");
    }
    if (!name || name->sym->func->entry) sim_unknown(p, inst, "unknown function");
    SimFunc *f = name->sym->func;
    uint32_t n_args = args ? (uint32_t)args->n : 0, n_rets = rets ? (uint32_t)rets->n : 0;
    if (n_args != f->n_params || n_rets != f->n_rets)
        wbb_fail(p->cx, inst->loc, "%s takes %u arguments and gives %u results", f->name, f->n_params, f->n_rets);
    for (uint32_t i = 0; i < n_args; i++) pass(p, &args->items[i], f->params[i], false);
    SimOp *op = sim_emit(p, OP_CALL);
    op->a = f->ret_col;
    for (uint32_t i = 0; i < p->m->funcs.n; i++)
        if (p->m->funcs.items[i] == f) op->target = i;
    for (uint32_t i = 0; i < n_rets; i++) pass(p, &rets->items[i], f->rets[i], true);
    SimCall edge = {p->func, f, inst->loc};
    WBB_PUSH(p->arena, &p->calls, edge);
}

/* add.cc, addc, sub.cc, subc, mad[c].{lo,hi}[.cc]: 32 and 64 bits, with the carry flag as a register of its own. */
static bool carry(Parser *p, const Inst *inst)
{
    const char *op_name = inst->part[0], *type = inst->part[inst->n_parts - 1];
    bool cc = sim_has(inst, "cc"), hi = sim_has(inst, "hi");
    bool in = strcmp(op_name, "addc") == 0 || strcmp(op_name, "subc") == 0 || strcmp(op_name, "madc") == 0;
    bool sub = strncmp(op_name, "sub", 3) == 0, mad = strncmp(op_name, "mad", 3) == 0;
    if ((strncmp(op_name, "add", 3) && !sub && !mad) || (!cc && !in) || inst->n != (mad ? 4 : 3)) return false;
    bool wide = strcmp(type, "u64") == 0 || strcmp(type, "s64") == 0 || strcmp(type, "b64") == 0;
    if (!wide && strcmp(type, "u32") && strcmp(type, "s32") && strcmp(type, "b32")) return false;
    if (!p->m->carry_col) p->m->carry_col = sim_column(p, 1);
    char letter = wide ? 'd' : 'w';
    uint32_t a = sim_read(p, &inst->opd[1], letter), b = sim_read(p, &inst->opd[2], letter);
    uint32_t c = mad ? sim_read(p, &inst->opd[3], letter) : 0, d = sim_result(p, &inst->opd[0], letter);
    SimOp *op = sim_emit(p, OP_CARRY);
    op->d = d, op->a = a, op->b = b, op->c = c;
    op->e = p->m->carry_col;
    op->width = wide ? 8 : 4;
    op->mode = (uint8_t)(cc | in << 1 | sub << 2 | mad << 3 | hi << 4 | (type[0] == 's') << 5);
    return true;
}

/* Hints, which have no effect here. */
static bool does_nothing(const char *op)
{
    static const char *const nothing[] = {"prefetch", "prefetchu", "griddepcontrol", "discard", "applypriority", "pmevent", "setmaxnreg"};
    for (size_t i = 0; i < WBB_LEN(nothing); i++)
        if (strcmp(op, nothing[i]) == 0) return true;
    return false;
}

void sim_decode_warp(Parser *p, const Inst *inst)
{
    const char *op = inst->part[0];
    if (does_nothing(op)) return;
    if (strcmp(op, "bra") == 0) branch(p, inst);
    else if (strcmp(op, "brx") == 0) branch_table(p, inst);
    else if (strcmp(op, "call") == 0) call(p, inst);
    else if (strcmp(op, "ret") == 0 && inst->n == 0)
        sim_emit(p, p->func->entry ? OP_EXIT : OP_RET)->a = p->func->ret_col;
    else if (strcmp(op, "exit") == 0 && inst->n == 0) sim_emit(p, OP_EXIT);
    else if ((strcmp(op, "fence") == 0 || strcmp(op, "membar") == 0) && inst->n == 0) sim_decode_fence(p, inst);
    else if ((strcmp(op, "trap") == 0 || strcmp(op, "brkpt") == 0) && inst->n == 0) sim_emit(p, OP_TRAP);
    else if (strcmp(op, "nanosleep") == 0 && inst->n == 1) {
        sim_emit(p, OP_YIELD);
        p->m->barrier = true;
    } else if (strcmp(op, "atom") == 0 || strcmp(op, "red") == 0) sim_decode_atomic(p, inst);
    else if (strcmp(op, "ldmatrix") == 0 || strcmp(op, "stmatrix") == 0) sim_decode_matrix(p, inst);
    else if (strcmp(op, "mma") == 0) sim_decode_mma(p, inst);
    else if (strcmp(op, "bar") == 0 || strcmp(op, "barrier") == 0) sim_decode_barrier(p, inst);
    else if (!sim_decode_lanes(p, inst) && !sim_decode_copy(p, inst) && !carry(p, inst))
        sim_unknown(p, inst, "unknown instruction");
}

/* parse: PTX text to a decoded module: directives, variables, functions, scopes and statements.
 *
 * Needs: lex.c for tokens, symbols.c for names, decode.c for instructions. Leaves: SimModule with every label and
 * call resolved.
 *
 * Registers get their columns where they are declared. Parameters of a kernel become constant columns at each use;
 * those of functions are memories of a few bytes a lane that belong to the callee.
 *
 *     .visible .entry k(.param .u64 k_param_0) { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; ... ret; }
 */
#include "sim/inner.h"

#include <stdlib.h>

enum { MAX_REGISTERS = 1 << 20, MAX_FILES = 4096 };

/* Bytes of a type word such as .b32; 0 if it is none. Predicates count 1. */
static uint32_t type_bytes(const Lex *x)
{
    static const char *const names[] = {".pred", ".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".f16", ".bf16", ".b32",
                                        ".u32", ".s32", ".f32", ".f16x2", ".bf16x2", ".b64", ".u64", ".s64", ".f64", ".b128"};
    static const uint8_t bytes[] = {1, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 16};
    for (size_t i = 0; i < WBB_LEN(names); i++)
        if (sim_is(x, names[i])) return bytes[i];
    return 0;
}

static uint32_t type_here(Parser *p)
{
    uint32_t bytes = type_bytes(&p->lex);
    if (!bytes) wbb_fail(p->cx, sim_loc(&p->lex), "expected a type, found '%.*s'", p->lex.tok.n, p->lex.tok.text);
    sim_next(&p->lex);
    return bytes;
}

/* One of 16 bytes is two of 8, whose columns follow each other: it is read as a vector of them (operand.c). */
static void new_register(Parser *p, SimSym *s, uint32_t bytes)
{
    for (uint32_t half = 0; bytes == 16 && half < 2; half++) {
        SimSym *of = WBB_NEW(p->arena, SimSym);
        *of = (SimSym){.kind = SYM_REG, .name = s->name};
        new_register(p, of, 8);
        if (!half) s->col = of->col;
    }
    s->width = (uint8_t)bytes;
    if (bytes == 16) return;
    s->col = sim_column(p, bytes);
    s->func = p->func;
    WBB_PUSH(p->arena, &p->m->registers, s);
}

/* .reg .b32 %r<10>, %x; */
static void registers(Parser *p)
{
    bool pred = sim_is(&p->lex, ".pred"), byte = !pred && type_bytes(&p->lex) == 1;
    uint32_t bytes = byte ? 2 : type_here(p);
    if (byte) sim_next(&p->lex);
    do {
        WbbLoc loc = sim_loc(&p->lex);
        const char *name = sim_name(p);
        if (sim_accept(&p->lex, "<")) {
            uint64_t n = sim_number(p);
            sim_expect(&p->lex, ">");
            if (n > MAX_REGISTERS)
                wbb_fail(p->cx, loc, "%llu registers are more than this reader takes", (unsigned long long)n);
            for (uint64_t i = 0; i < n; i++) {
                char text[128];
                int len = snprintf(text, sizeof text, "%s%llu", name, (unsigned long long)i);
                if (len >= (int)sizeof text) wbb_fail(p->cx, loc, "a register's name is too long");
                SimSym *s = sim_declare(p, SYM_REG, wbb_intern(p->cx, text, (size_t)len));
                new_register(p, s, bytes);
            }
        } else {
            SimSym *s = sim_declare(p, SYM_REG, name);
            new_register(p, s, bytes);
        }
    } while (sim_accept(&p->lex, ","));
    sim_expect(&p->lex, ";");
}

typedef struct {
    const char *name;
    uint32_t element;
    uint64_t size, align;
    bool open; /* [] */
} Var;

/* [.align n] .type [.ptr ...] name [dims], as in variables and parameters. */
static Var variable(Parser *p)
{
    Var v = {0};
    if (sim_accept(&p->lex, ".align")) v.align = sim_number(p);
    uint32_t lanes = sim_accept(&p->lex, ".v2") ? 2 : sim_accept(&p->lex, ".v4") ? 4 : 1;
    v.element = type_here(p);
    if (!v.align) v.align = (uint64_t)v.element * lanes;
    while (sim_is(&p->lex, ".ptr") || sim_is(&p->lex, ".global") || sim_is(&p->lex, ".shared") ||
           sim_is(&p->lex, ".const") || sim_is(&p->lex, ".local"))
        sim_next(&p->lex);
    if (sim_accept(&p->lex, ".align")) sim_number(p);
    if (v.align > 4096 || (v.align & (v.align - 1)))
        wbb_fail(p->cx, sim_loc(&p->lex), "an alignment must be a power of two");
    v.name = sim_name(p);
    v.size = (uint64_t)v.element * lanes;
    while (sim_accept(&p->lex, "[")) {
        if (sim_is(&p->lex, "]")) v.open = true;
        else if (__builtin_mul_overflow(v.size, sim_number(p), &v.size) || v.size > (1u << 30))
            wbb_fail(p->cx, sim_loc(&p->lex), "variable %s is larger than 1 GiB", v.name);
        sim_expect(&p->lex, "]");
    }
    return v;
}

static void initialiser(Parser *p, const Var *v, uint8_t *bytes, uint64_t *at, int depth)
{
    if (depth > 16) wbb_fail(p->cx, sim_loc(&p->lex), "initial values nest more than 16 deep");
    if (sim_accept(&p->lex, "{")) {
        if (!sim_is(&p->lex, "}")) {
            do initialiser(p, v, bytes, at, depth + 1);
            while (sim_accept(&p->lex, ","));
        }
        sim_expect(&p->lex, "}");
        return;
    }
    bool minus = sim_accept(&p->lex, "-");
    const Tok t = p->lex.tok;
    uint64_t bits = 0;
    if (t.kind == TOK_NUMBER && t.n > 2 && t.text[0] == '0' && strchr("fFdD", t.text[1]) &&
        strchr("fFdD", t.text[1])[0]) {
        bits = strtoull(t.text + 2, NULL, 16);
        sim_next(&p->lex);
    } else {
        bits = sim_number(p);
        if (minus) bits = 0 - bits;
    }
    if (*at + v->element > v->size)
        wbb_fail(p->cx, sim_loc(&p->lex), "more initial values than variable %s holds", v->name);
    memcpy(bytes + *at, &bits, v->element); /* little endian, as PTX is */
    *at += v->element;
}

static uint64_t reserve(uint64_t *used, uint64_t size, uint64_t align)
{
    uint64_t at = (*used + align - 1) / align * align;
    *used = at + size;
    return at;
}

/* A variable of a state space, at module level or in a function. */
static void state_variable(Parser *p, SymKind kind, bool outer)
{
    WbbLoc loc = sim_loc(&p->lex);
    Var v = variable(p);
    SimSym *s = sim_declare(p, kind, v.name);
    s->size = v.size;
    SimModule *m = p->m;
    if (kind == SYM_SHARED && v.open) {
        s->address = UINT64_MAX; /* dynamic: after the static ones of the module */
        m->shared_align = WBB_MAX(m->shared_align, v.align);
    } else if (kind == SYM_SHARED) {
        s->address = reserve(&m->shared_bytes, v.size, v.align);
        if (p->func) p->func->shared_bytes += v.size;
        s->func = p->func;
        if (m->shared_bytes > (1u << 20)) wbb_fail(p->cx, loc, "more than 1 MiB of shared memory");
    } else if (kind == SYM_LOCAL) {
        s->address = reserve(&m->local_bytes, v.size, v.align);
        if (m->local_bytes > (1u << 20)) wbb_fail(p->cx, loc, "more than 1 MiB of local memory a thread");
    } else {
        if (outer || v.open) wbb_fail(p->cx, loc, "variable %s is external and has no contents here", v.name);
        SimVar var = {.size = v.size, .align = v.align, .constant = kind == SYM_CONST, .name = v.name};
        var.init = wbb_alloc(p->arena, v.size);
        if (sim_accept(&p->lex, "=")) {
            uint64_t at = 0;
            initialiser(p, &v, var.init, &at, 0);
        }
        s->address = ((uint64_t)(SEG_VARS + m->vars.n) << SEG_SHIFT) + SEG_START;
        if (m->vars.n >= 0x2000) wbb_fail(p->cx, loc, "more variables than this reader takes");
        WBB_PUSH(p->arena, &m->vars, var);
    }
    sim_expect(&p->lex, ";");
}

/* Skip a directive that the simulator does not need, to the end of its line. */
static void skip_line(Parser *p)
{
    int line = p->lex.tok.line;
    while (p->lex.tok.kind != TOK_END && p->lex.tok.line == line && !sim_is(&p->lex, "{") && !sim_is(&p->lex, "}"))
        sim_next(&p->lex);
}

static void debug_location(Parser *p)
{
    int line = p->lex.tok.line;
    sim_expect(&p->lex, ".loc");
    uint64_t file = sim_number(p), row = sim_number(p);
    if (file > MAX_FILES || row > INT32_MAX)
        wbb_fail(p->cx, sim_loc(&p->lex), "line %llu %llu of .loc is out of range", (unsigned long long)file,
                 (unsigned long long)row);
    SimLocation location = {.number = (uint32_t)file, .line = (int)row};
    while (p->lex.tok.kind != TOK_END && p->lex.tok.line == line && !sim_is(&p->lex, "}")) {
        if (!sim_accept(&p->lex, "inlined_at")) {
            sim_next(&p->lex);
            continue;
        }
        const uint64_t number = sim_number(p), at = sim_number(p);
        if (number > MAX_FILES || at > INT32_MAX)
            wbb_fail(p->cx, sim_loc(&p->lex), "line %llu %llu of .loc is out of range", (unsigned long long)number,
                     (unsigned long long)at);
        location.user_number = (uint32_t)number, location.user_line = (int)at;
    }
    if (row) WBB_PUSH(p->arena, &p->m->locations, location);
    p->location = row ? (int)p->m->locations.n : 0; /* line 0: no source */
}

static void debug_file(Parser *p)
{
    int line = p->lex.tok.line;
    sim_expect(&p->lex, ".file");
    uint64_t n = sim_number(p);
    if (n > MAX_FILES) wbb_fail(p->cx, sim_loc(&p->lex), "file number %llu", (unsigned long long)n);
    while (p->files.n <= n) WBB_PUSH(p->arena, &p->files, NULL);
    p->files.items[n] = wbb_intern(p->cx, p->lex.tok.text, (size_t)p->lex.tok.n);
    while (p->lex.tok.kind != TOK_END && p->lex.tok.line == line) sim_next(&p->lex);
}

/* .section .debug_info { ... } */
static void skip_section(Parser *p)
{
    while (p->lex.tok.kind != TOK_END && !sim_is(&p->lex, "{")) sim_next(&p->lex);
    while (p->lex.tok.kind != TOK_END && !sim_is(&p->lex, "}")) sim_next(&p->lex);
    sim_expect(&p->lex, "}");
}

/* name: .branchtargets a, b, c; */
static void branch_targets(Parser *p, SimSym *label)
{
    label->address = p->m->targets.n;
    do {
        SimFixup f = {.at = p->m->targets.n, .table = true, .loc = sim_loc(&p->lex)};
        f.label = sim_label(p, sim_name(p));
        WBB_PUSH(p->arena, &p->m->targets, 0);
        WBB_PUSH(p->arena, &p->fixups, f);
        label->size++;
    } while (sim_accept(&p->lex, ","));
    sim_expect(&p->lex, ";");
}

static bool label_here(Parser *p)
{
    if (p->lex.tok.kind != TOK_NAME || p->lex.tok.text[0] == '.' || *p->lex.at != ':') return false;
    WbbLoc loc = sim_loc(&p->lex);
    SimSym *s = sim_label(p, sim_name(p));
    sim_expect(&p->lex, ":");
    if (s->col != UINT32_MAX) wbb_fail(p->cx, loc, "label %s is defined twice", s->name);
    s->col = p->m->ops.n;
    p->products.n = 0;
    if (sim_accept(&p->lex, ".branchtargets")) branch_targets(p, s);
    return true;
}

static void statement(Parser *p);

static void scope(Parser *p)
{
    SimSym *outer = p->scope;
    WbbLoc loc = sim_loc(&p->lex);
    sim_expect(&p->lex, "{");
    if (++p->scope_depth > 200) wbb_fail(p->cx, loc, "blocks nest more than 200 deep");
    while (!sim_is(&p->lex, "}")) {
        if (p->lex.tok.kind == TOK_END) wbb_fail(p->cx, loc, "block without a closing brace");
        statement(p);
    }
    sim_next(&p->lex);
    p->scope_depth--;
    sim_leave_scope(p, outer);
}

/* A parameter of a function, or of a call inside a body: a memory of a few bytes a lane. */
static SimSym *lane_param(Parser *p)
{
    bool reg = sim_accept(&p->lex, ".reg");
    if (!reg) sim_expect(&p->lex, ".param");
    Var v = variable(p);
    if (v.size > 4096) wbb_fail(p->cx, sim_loc(&p->lex), "parameter %s is larger than 4096 bytes", v.name);
    SimSym *s = sim_declare(p, reg ? SYM_REG : SYM_PARAM, v.name);
    s->size = v.size;
    s->width = (uint8_t)v.size;
    s->col = sim_column(p, (uint32_t)v.size);
    return s;
}

static void statement(Parser *p)
{
    Lex *x = &p->lex;
    if (sim_is(x, "{")) scope(p);
    else if (sim_accept(x, ".reg")) registers(p);
    else if (sim_accept(x, ".local")) state_variable(p, SYM_LOCAL, false);
    else if (sim_accept(x, ".shared")) state_variable(p, SYM_SHARED, false);
    else if (sim_accept(x, ".global")) state_variable(p, SYM_GLOBAL, false);
    else if (sim_accept(x, ".const")) state_variable(p, SYM_CONST, false);
    else if (sim_is(x, ".param")) {
        lane_param(p);
        sim_expect(x, ";");
    } else if (sim_is(x, ".loc")) debug_location(p);
    else if (sim_is(x, ".file")) debug_file(p);
    else if (sim_accept(x, ".pragma")) {
        while (x->tok.kind != TOK_END && !sim_is(x, ";")) sim_next(x);
        sim_expect(x, ";");
    } else if (!label_here(p)) {
        const Inst inst = sim_instruction(p);
        p->first = true;
        sim_decode(p, &inst);
    }
}

static void resolve(Parser *p)
{
    for (uint32_t i = 0; i < p->fixups.n; i++) {
        const SimFixup *f = &p->fixups.items[i];
        if (f->label->col == UINT32_MAX) wbb_fail(p->cx, f->loc, "label %s is not defined", f->label->name);
        if (f->table) p->m->targets.items[f->at] = f->label->col;
        else p->m->ops.items[f->at].target = f->label->col;
    }
    p->fixups.n = 0;
    p->labels.n = 0;
}

static SimFunc *find_func(Parser *p, const char *name, bool entry)
{
    SimSym *s = sim_lookup(p, name);
    if (s && s->kind == SYM_FUNC) return s->func;
    SimFunc *f = WBB_NEW(p->arena, SimFunc);
    f->name = name;
    f->entry = entry;
    f->ret_col = sim_column(p, 4);
    s = sim_declare(p, SYM_FUNC, name);
    s->func = f;
    WBB_PUSH(p->arena, &p->m->funcs, f);
    return f;
}

/* Kernel parameters lie one after the other, each at its alignment, as in the constant bank of the hardware. */
static void entry_params(Parser *p, SimFunc *f)
{
    f->n_params = 0, f->param_bytes = 0; /* of a declaration before */
    if (!sim_accept(&p->lex, "(")) return;
    while (!sim_accept(&p->lex, ")")) {
        sim_expect(&p->lex, ".param");
        Var v = variable(p);
        SimSym *s = sim_declare(p, SYM_KERNEL_PARAM, v.name);
        s->size = v.size;
        s->address = reserve(&f->param_bytes, v.size, v.align);
        if (f->param_bytes > 32764) wbb_fail(p->cx, sim_loc(&p->lex), "more than 32764 bytes of parameters");
        f->n_params++;
        if (!sim_is(&p->lex, ")")) sim_expect(&p->lex, ",");
    }
}

static SimSym **func_params(Parser *p, uint32_t *n)
{
    SimSym **list = WBB_NEW_N(p->arena, SimSym *, 64);
    *n = 0;
    if (!sim_accept(&p->lex, "(")) return list;
    while (!sim_accept(&p->lex, ")")) {
        if (*n == 64) wbb_fail(p->cx, sim_loc(&p->lex), "more than 64 parameters");
        list[(*n)++] = lane_param(p);
        if (!sim_is(&p->lex, ")")) sim_expect(&p->lex, ",");
    }
    return list;
}

/* .reqntid 128, 1, 1 and others before a body; those that limit the launch are kept. */
static void directives(Parser *p, SimFunc *f)
{
    Lex *x = &p->lex;
    while (x->tok.kind == TOK_NAME && x->tok.text[0] == '.') {
        const bool cluster = sim_is(x, ".reqnctapercluster"), block = sim_is(x, ".reqntid"),
                   most = sim_is(x, ".maxntid");
        uint32_t size[3] = {1, 1, 1};
        int n = 0;
        sim_next(x);
        while ((cluster || block || most) && n < 3 && x->tok.kind == TOK_NUMBER) {
            const uint64_t count = sim_number(p);
            size[n++] = (uint32_t)WBB_MIN(count, UINT32_MAX);
            if (!sim_accept(x, ",")) break;
        }
        for (int i = 0; i < n && cluster; i++) f->cluster[i] = size[i];
        if (n && block) memcpy(f->block, size, sizeof size);
        if (n && most) f->most_threads = (uint64_t)size[0] * size[1] * size[2];
        while (x->tok.kind == TOK_NUMBER || sim_is(x, ",")) sim_next(x);
    }
}

static void function(Parser *p, bool entry)
{
    Lex *x = &p->lex;
    SimSym *before = p->scope;
    SimSym **rets = NULL;
    uint32_t n_rets = 0;
    if (!entry && sim_is(x, "(")) rets = func_params(p, &n_rets);
    WbbLoc loc = sim_loc(x);
    const char *name = sim_name(p);
    sim_leave_scope(p, before); /* the results come before the name, but the function's own symbol outlives them */
    SimFunc *f = find_func(p, name, entry);
    SimSym *outer = p->scope;
    f->loc = loc;
    for (uint32_t i = 0; i < n_rets; i++) {
        SimSym *s = sim_declare(p, rets[i]->kind, rets[i]->name);
        s->size = rets[i]->size, s->width = rets[i]->width, s->col = rets[i]->col;
        rets[i] = s;
    }
    p->func = f;
    if (entry) entry_params(p, f);
    else {
        uint32_t n = 0;
        SimSym **params = func_params(p, &n);
        if (f->params && (f->n_params != n || f->n_rets != n_rets))
            wbb_fail(p->cx, loc, "function %s is declared in two ways", name);
        for (uint32_t i = 0; f->params && i < n; i++) params[i]->col = f->params[i]->col;
        for (uint32_t i = 0; f->params && i < n_rets; i++) rets[i]->col = f->rets[i]->col;
        f->params = params, f->n_params = n, f->rets = rets, f->n_rets = n_rets;
    }
    directives(p, f);
    if (!sim_accept(x, ";")) {
        if (f->defined) wbb_fail(p->cx, loc, "function %s is defined twice", name);
        f->defined = true;
        f->start = p->m->ops.n;
        scope(p);
        p->first = false;
        sim_emit(p, entry ? OP_EXIT : OP_RET)->a = f->ret_col;
        resolve(p);
    }
    sim_leave_scope(p, outer);
    p->func = NULL;
}

/* .target sm_90a, texmode_independent */
static void target(Parser *p)
{
    const int line = p->lex.tok.line;
    sim_next(&p->lex);
    if (p->lex.tok.line == line && p->lex.tok.n > 3 && !strncmp(p->lex.tok.text, "sm_", 3))
        p->m->target = (int)strtol(p->lex.tok.text + 3, NULL, 10);
    while (p->lex.tok.kind != TOK_END && p->lex.tok.line == line) sim_next(&p->lex);
}

static void top_level(Parser *p)
{
    Lex *x = &p->lex;
    bool outer = false;
    while (sim_accept(x, ".visible") || sim_accept(x, ".weak") || sim_accept(x, ".common") ||
           (sim_is(x, ".extern") && (outer = true)))
        if (outer) sim_expect(x, ".extern");
    if (sim_accept(x, ".entry")) function(p, true);
    else if (sim_accept(x, ".func")) function(p, false);
    else if (sim_accept(x, ".global")) state_variable(p, SYM_GLOBAL, outer);
    else if (sim_accept(x, ".const")) state_variable(p, SYM_CONST, outer);
    else if (sim_accept(x, ".shared")) state_variable(p, SYM_SHARED, outer);
    else if (sim_is(x, ".file")) debug_file(p);
    else if (sim_is(x, ".section")) skip_section(p);
    else if (sim_is(x, ".target")) target(p);
    else if (sim_is(x, ".version") || sim_is(x, ".address_size")) skip_line(p);
    else if (sim_accept(x, ".pragma")) skip_line(p);
    else wbb_fail(p->cx, sim_loc(x), "expected a directive, found '%.*s'", x->tok.n, x->tok.text);
}

/* Give functions of CUDA's runtime a body of one operation. */
static void add_system(Parser *p)
{
    for (uint32_t i = 0; i < p->m->funcs.n; i++) {
        SimFunc *f = p->m->funcs.items[i];
        const int number = f->defined ? -1 : sim_system_number(f->name);
        if (number < 0 || f->entry || !f->n_params) continue;
        f->defined = true;
        f->start = p->m->ops.n;
        SimOp *op = sim_emit(p, OP_SYSTEM);
        op->mode = (uint8_t)number;
        op->target = i;
        op->line = f->loc.line;
        sim_emit(p, OP_RET)->a = f->ret_col;
    }
}

/* Every register has one column, so a function that reaches itself cannot run. */
static void check_calls(Parser *p)
{
    for (uint32_t round = 0; round <= p->m->funcs.n; round++) {
        bool changed = false;
        for (uint32_t i = 0; i < p->calls.n; i++) {
            SimCall *c = &p->calls.items[i];
            if (!c->callee->defined) wbb_fail(p->cx, c->loc, "function %s has no body here", c->callee->name);
            if (c->caller->depth > c->callee->depth) continue;
            c->caller->depth = c->callee->depth + 1;
            changed = true;
            if (round == p->m->funcs.n) wbb_fail(p->cx, c->loc, "recursive call of %s", c->callee->name);
        }
        if (!changed) return;
    }
}

/* An entry has the static shared memory of the functions that it calls, each counted once, and orders as they do.
 * Nobody calls entries, so what is added up is each function's own. */
static void add_callees(const Parser *p, SimFunc *entry, SimFunc *f, uint32_t mark)
{
    f->visited = mark;
    for (uint32_t i = 0; i < p->calls.n; i++) {
        SimFunc *callee = p->calls.items[i].callee;
        if (p->calls.items[i].caller != f || callee->visited == mark) continue;
        entry->shared_bytes += callee->shared_bytes;
        entry->orders |= callee->orders;
        add_callees(p, entry, callee, mark);
    }
}

SimModule *sim_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text)
{
    return sim_parse_fused(cx, a, file, text, SIM_UNFUSED);
}

SimModule *sim_parse_fused(WbbCx *cx, WbbArena *a, const char *file, const char *text, SimFusing fused)
{
    Parser *p = WBB_NEW(a, Parser);
    SimModule *m = WBB_NEW(a, SimModule);
    *m = (SimModule){.cx = cx, .file = wbb_intern_z(cx, file), .text = text, .file_bytes = 64, .shared_align = 16,
                     .fusings = 1};
    *p = (Parser){.cx = cx, .arena = a, .m = m, .lex = sim_lex(cx, m->file, text), .fused = fused};
    p->symbols.arena = p->rows.arena = p->constants.arena = a;
    sim_rows_open(p);
    while (p->lex.tok.kind != TOK_END) top_level(p);
    add_system(p);
    check_calls(p);
    for (uint32_t i = 0; i < m->locations.n; i++) {
        SimLocation *at = &m->locations.items[i];
        at->file = at->number < p->files.n ? p->files.items[at->number] : NULL;
        at->user = at->user_line && at->user_number < p->files.n ? p->files.items[at->user_number] : NULL;
    }
    uint32_t mark = 0;
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.items[i]->entry) add_callees(p, m->funcs.items[i], m->funcs.items[i], ++mark);
    sim_undefined_open(a, m);
    sim_straight_open(a, m);
    return m;
}

const char *sim_entry(const SimModule *m, int i)
{
    for (uint32_t k = 0; k < m->funcs.n; k++)
        if (m->funcs.items[k]->entry && i-- == 0) return m->funcs.items[k]->name;
    return NULL;
}

uint64_t sim_block_needs(const SimModule *m, const char *entry, uint32_t block[3])
{
    memset(block, 0, 3 * sizeof *block);
    for (uint32_t k = 0; k < m->funcs.n; k++) {
        const SimFunc *f = m->funcs.items[k];
        if (!f->entry || strcmp(f->name, entry) != 0) continue;
        memcpy(block, f->block, sizeof f->block);
        return f->shared_bytes;
    }
    return 0;
}

int sim_parameters(const SimModule *m, const char *entry)
{
    for (uint32_t k = 0; k < m->funcs.n; k++)
        if (m->funcs.items[k]->entry && strcmp(m->funcs.items[k]->name, entry) == 0)
            return (int)m->funcs.items[k]->n_params;
    return -1;
}

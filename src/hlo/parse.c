/* parse: HLO modules, computations and instructions.
 *
 * Needs: the cursor (lex.c) and the readers of shapes, literals and attributes (parse_*.c). Leaves: a verified
 * HloModule.
 *
 * A text may hold several HLO modules. The header, the signature of a computation, ENTRY and ROOT are optional, and the
 * whole text may be bare instructions. resolve.c resolves operands at the end of each computation, and computations at
 * the end of the HLO module.
 *
 *     f { p = f32[8] parameter(0)  ROOT n = negate(p) }
 *         one computation, the entry; n's shape is inferred: f32[8]
 */
#include "hlo/inner.h"

#include <string.h>

static const char *const table_names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};

static bool ends_with(const char *p, size_t n, const char *suffix, size_t *head)
{
    size_t k = strlen(suffix);
    if (n <= k || memcmp(p + n - k, suffix, k) != 0) return false;
    *head = n - k;
    return true;
}

/* Whether X-start is an operation. Not for parameters, constants, and operations that are starts, updates or dones
 * themselves. */
static bool can_start(HloOpcode op)
{
    switch (op) {
    case HLO_OPCODE_COUNT: case HLO_PARAMETER: case HLO_CONSTANT: case HLO_ASYNC_START: case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE: case HLO_ALL_GATHER_START: case HLO_ALL_GATHER_DONE: case HLO_ALL_REDUCE_START:
    case HLO_ALL_REDUCE_DONE: case HLO_COPY_START: case HLO_COPY_DONE: case HLO_COLLECTIVE_PERMUTE_START:
    case HLO_COLLECTIVE_PERMUTE_DONE: case HLO_RECV_DONE: case HLO_SEND_DONE:
        return false;
    default: return true;
    }
}

/* An opcode X, or X-start, X-update, X-done; false: there is none such. */
bool hlo_set_opcode(WbbCx *cx, HloInstruction *i, const char *text, size_t n)
{
    i->opcode = hlo_opcode_named(text, n);
    if (i->opcode != HLO_OPCODE_COUNT) return true;
    size_t head = 0;
    if (ends_with(text, n, "-start", &head)) i->opcode = HLO_ASYNC_START;
    else if (ends_with(text, n, "-update", &head)) i->opcode = HLO_ASYNC_UPDATE;
    else if (ends_with(text, n, "-done", &head)) i->opcode = HLO_ASYNC_DONE;
    if (head == 0 || !can_start(hlo_opcode_named(text, head))) return false;
    i->spelling = wbb_intern(cx, text, n);
    return true;
}

static void read_opcode(HloReader *r, HloInstruction *i)
{
    const char *text = NULL;
    hlo_skip(r);
    WbbLoc loc = hlo_here(r);
    size_t n = hlo_word(r, &text);
    if (n == 0) hlo_fail_expected(r, "an operation");
    i->loc = loc;
    if (!hlo_set_opcode(r->cx, i, text, n))
        wbb_fail(r->cx, loc, "unknown operation '%.*s'%s", (int)WBB_MIN(n, 60), text,
                 hlo_suggest_opcode(r->cx->arena, text, n));
}

static void check_count(HloReader *r, const HloInstruction *i)
{
    const int want = hlo_op_info[hlo_started_opcode(i)].operands;
    if (want >= 0 && i->n_operands != (uint32_t)want)
        wbb_fail(r->cx, i->loc, "%s: %u operands found, %d expected", hlo_opcode_text(i), i->n_operands, want);
}

static void read_operation(HloReader *r, HloDraft *d, HloInstruction *i, WbbLoc loc);

/* `f32[8] x`, `x`, or an instruction without a name and attributes, `f32[8] sine(x)`. In bare instructions also
 * `f32[8]` alone. */
static void read_operand(HloReader *r, HloDraft *d)
{
    HloOperandText o = {0};
    hlo_peek(r);
    o.loc = hlo_here(r);
    if (hlo_at_shape(r)) o.shape = hlo_read_shape(r);
    int next = hlo_peek(r);
    if (d->bare && o.shape && (next == ',' || next == ')')) {
        WBB_PUSH(r->arena, &d->pending, o);
        return;
    }
    HloMark start = hlo_mark(r);
    bool percent = next == '%';
    o.name = hlo_read_name(r, "the name of an operand");
    if (!percent && hlo_peek(r) == '(') {
        hlo_rewind(r, start);
        hlo_enter_level(r);
        o.nested = WBB_NEW(r->arena, HloInstruction);
        o.nested->shape = o.shape;
        read_operation(r, d, o.nested, o.loc);
        hlo_set_no_attributes(r, o.nested);
        r->depth--;
    }
    WBB_PUSH(r->arena, &d->pending, o);
}

/* opcode(operands). HloDraft.operands keeps those of one instruction together: while nested instructions are read, the
 * operands of the outer ones are in `pending`. */
static void read_operation(HloReader *r, HloDraft *d, HloInstruction *i, WbbLoc loc)
{
    read_opcode(r, i);
    hlo_expect(r, '(');
    uint32_t before = d->pending.n;
    if (i->opcode == HLO_PARAMETER) {
        i->number = hlo_read_int(r);
    } else if (i->opcode == HLO_CONSTANT) {
        if (!i->shape) wbb_fail(r->cx, i->loc, "constant: its shape is missing");
        hlo_read_literal(r, i->shape, i);
    } else if (hlo_peek(r) != ')') {
        do read_operand(r, d);
        while (hlo_accept(r, ','));
    }
    hlo_expect(r, ')');
    i->n_operands = d->pending.n - before;
    check_count(r, i);
    WBB_PUSH(r->arena, &d->first, d->operands.n);
    for (uint32_t k = before; k < d->pending.n; k++) WBB_PUSH(r->arena, &d->operands, d->pending.items[k]);
    d->pending.n = before;
    WBB_PUSH(r->arena, &d->instructions, i);
    WBB_PUSH(r->arena, &d->names, loc);
}

/* name = shape opcode(operands), attributes */
static void read_instruction(HloReader *r, HloDraft *d)
{
    bool root = hlo_at_word(r, "ROOT");
    if (root) r->p += 4;
    HloInstruction *i = WBB_NEW(r->arena, HloInstruction);
    hlo_peek(r);
    WbbLoc loc = hlo_here(r);
    if (!d->bare || !hlo_at_shape(r)) {
        i->name = hlo_read_name(r, "an instruction or '}'");
        hlo_expect(r, '=');
    }
    if (hlo_at_shape(r)) i->shape = hlo_read_shape(r);
    if (root && d->root) wbb_fail(r->cx, loc, "a second ROOT: '%s' is the first", d->root->name);
    if (root) d->root = i;
    read_operation(r, d, i, loc);
    hlo_read_attributes(r, d, i);
}

static HloDraft take_draft(HloReader *r)
{
    HloDraft d = r->spare;
    r->spare = (HloDraft){0};
    d.instructions.n = d.first.n = d.operands.n = d.names.n = d.pending.n = d.orders.n = 0;
    d.root = NULL;
    return d;
}

/* Reads instructions up to a '}'; bare ones up to the end of the HLO module. */
static HloComputation *read_instructions(HloReader *r, const char *name, WbbLoc loc, bool bare)
{
    HloDraft d = take_draft(r);
    d.bare = bare;
    HloComputation *c = WBB_NEW(r->arena, HloComputation);
    c->name = name;
    c->loc = loc;
    c->module = r->module;
    c->attributes = "";
    r->separator = false;
    for (;;) {
        int next = hlo_peek(r);
        if (bare ? next < 0 || r->separator || hlo_at_word(r, "HloModule") : next == '}') break;
        read_instruction(r, &d);
    }
    hlo_resolve_instructions(r, c, &d);
    r->spare = d;
    WBB_PUSH(r->arena, &r->computations, c);
    return c;
}

HloComputation *hlo_read_body(HloReader *r, const char *name, WbbLoc loc)
{
    hlo_enter_level(r);
    hlo_expect(r, '{');
    HloComputation *c = read_instructions(r, name, loc, false);
    hlo_expect(r, '}');
    r->depth--;
    return c;
}

/* (p: f32[8], q: (s32[], pred[])) -> f32[8]. The body says all this too: the parameters are ignored, for their names
 * and order may differ there, and the result's shape is compared. */
static HloSignature read_signature(HloReader *r)
{
    HloSignature s = {0};
    if (!hlo_accept(r, '(')) return s;
    if (!hlo_accept(r, ')')) {
        do {
            (void)hlo_read_name(r, "the name of a parameter");
            hlo_expect(r, ':');
            (void)hlo_read_shape(r);
        } while (hlo_accept(r, ','));
        hlo_expect(r, ')');
    }
    hlo_expect(r, '-');
    if (r->p == r->end || *r->p != '>') hlo_fail_expected(r, "'->' and the shape of the result");
    r->p++;
    hlo_peek(r);
    s.loc = hlo_here(r);
    s.result = hlo_read_shape(r);
    return s;
}

static void check_signatures(HloReader *r)
{
    for (uint32_t k = 0; k < r->signatures.n; k++) {
        const HloSignature *s = &r->signatures.items[k];
        const HloInstruction *root = s->computation->root;
        if (!hlo_same_shape(s->result, root->shape))
            wbb_fail(r->cx, s->loc, "the signature of '%s' says %s, its root '%s' has shape %s", s->computation->name,
                     hlo_shape_text(r->cx->arena, s->result), root->name, hlo_shape_text(r->cx->arena, root->shape));
    }
}

static void read_computation(HloReader *r, bool entry)
{
    hlo_peek(r);
    WbbLoc loc = hlo_here(r);
    const char *name = wbb_intern_z(r->cx, "entry");
    if (!entry || (hlo_peek(r) != '{' && hlo_peek(r) != '(')) name = hlo_read_name(r, "the name of a computation");
    HloSignature signature = read_signature(r);
    if (hlo_peek(r) != '{') hlo_fail_expected(r, "'{' and the body of a computation");
    HloComputation *c = hlo_read_body(r, name, loc);
    signature.computation = c;
    if (signature.result) WBB_PUSH(r->arena, &r->signatures, signature);
    r->separator = false; /* a `// -----` inside the computation does not count */
    if (entry && r->module->entry) wbb_fail(r->cx, loc, "a second ENTRY: '%s' is the first", r->module->entry->name);
    if (entry) r->module->entry = c;
    c->attributes = hlo_read_raw_attributes(r, false);
}

static void read_header(HloReader *r)
{
    r->p += strlen("HloModule");
    hlo_peek(r);
    const char *start = r->p;
    while (r->p < r->end && (unsigned char)*r->p > ' ' && *r->p != ',' && *r->p != ':' && *r->p != '{') r->p++;
    if (r->p == start) hlo_fail_expected(r, "the name of the module");
    r->module->name = wbb_intern(r->cx, start, (size_t)(r->p - start));
    r->module->header = true;
    (void)hlo_accept(r, ':');
    r->module->attributes = hlo_read_raw_attributes(r, true);
}

/* FileNames and the other tables of recent dumps: a word, then lines that begin with a number. The text is kept. */
static bool accept_table(HloReader *r)
{
    size_t k = 0;
    while (k < WBB_LEN(table_names) && !hlo_at_word(r, table_names[k])) k++;
    if (k == WBB_LEN(table_names)) return false;
    HloMark start = hlo_mark(r);
    r->p += strlen(table_names[k]);
    const char *end = r->p;
    int next = hlo_peek(r);
    if (next == '=' || next == '(' || next == '{') {
        hlo_rewind(r, start);
        return false;
    }
    while (next >= '0' && next <= '9') {
        const char *eol = memchr(r->p, '\n', (size_t)(r->end - r->p));
        end = r->p = eol ? eol : r->end;
        while (end > start.p && (end[-1] == ' ' || end[-1] == '\r')) end--;
        next = hlo_peek(r);
    }
    wbb_put_n(&r->tables, start.p, (size_t)(end - start.p));
    wbb_put(&r->tables, "\n");
    r->module->tables = r->tables.text;
    return true;
}

static bool at_bare_instruction(HloReader *r)
{
    if (hlo_at_word(r, "ROOT") || hlo_at_shape(r)) return true;
    HloMark start = hlo_mark(r);
    (void)hlo_read_name(r, "HloModule, ENTRY, a computation or an instruction");
    bool bare = hlo_peek(r) == '=';
    hlo_rewind(r, start);
    return bare;
}

static HloModule *read_module(HloReader *r)
{
    HloModule *m = WBB_NEW(r->arena, HloModule);
    r->module = m;
    m->name = m->attributes = m->tables = "";
    r->computations = (HloComputations){0};
    r->calls.n = r->signatures.n = r->aliases.n = 0;
    r->entry_layout = (HloEntryLayout){0};
    r->tables = wbb_buf(r->arena);
    hlo_skip(r);
    if (hlo_at_word(r, "HloModule")) read_header(r);
    for (;;) {
        int next = hlo_peek(r);
        if (next < 0 || hlo_at_word(r, "HloModule") || (r->separator && r->computations.n)) break;
        if (hlo_at_word(r, "ENTRY")) {
            r->p += strlen("ENTRY");
            read_computation(r, true);
        } else if (!accept_table(r)) {
            if (at_bare_instruction(r))
                m->entry = read_instructions(r, wbb_intern_z(r->cx, "entry"), hlo_here(r), true);
            else read_computation(r, false);
        }
    }
    if (r->computations.n == 0) hlo_fail_expected(r, "a computation");
    if (!m->entry) m->entry = r->computations.items[r->computations.n - 1];
    if (!m->header) m->name = m->entry->name;
    hlo_resolve_module(r);
    hlo_infer_shapes(r->cx, r->arena, m);
    check_signatures(r);
    hlo_expand_broadcasts(r->cx, r->arena, m);
    hlo_verify(r->cx, m);
    hlo_permit(r->cx, r->arena, m);
    hlo_check_aliases(r);
    return m;
}

/* MLIR, which is often saved under the same file names, gets a message of its own. */
static void refuse_mlir(HloReader *r)
{
    static const char *const words[] = {"module", "func.func", "builtin.module", "#loc", "#map"};
    hlo_skip(r);
    for (size_t k = 0; k < WBB_LEN(words); k++) {
        const size_t n = strlen(words[k]);
        if ((size_t)(r->end - r->p) <= n || memcmp(r->p, words[k], n) != 0) continue;
        const bool module = strncmp(words[k], "module", n) == 0;
        if (!module ||
            (r->end - r->p > (ptrdiff_t)n + 1 && r->p[n] == ' ' && (r->p[n + 1] == '@' || r->p[n + 1] == 'a')))
            wbb_fail(r->cx, hlo_here(r),
                     "this is MLIR, HLO text expected: convert it first (as_text(dialect='hlo') of JAX)");
    }
}

/* MLIR's bytecode; and a module as a protocol buffer, which hlo_text makes the text of. */
static void refuse_binary(HloReader *r)
{
    static const char bytecode[] = "ML\xef\x52";
    const size_t n = (size_t)(r->end - r->p);
    if (n >= 4 && !memcmp(r->p, bytecode, 4))
        wbb_fail(r->cx, hlo_here(r),
                 "this is MLIR's bytecode, HLO text expected: convert it first (as_text(dialect='hlo') of JAX)");
    if (hlo_is_proto(r->p, n))
        wbb_fail(r->cx, hlo_here(r), "this is a module as a protocol buffer, HLO text expected");
}

/* Parts of the text become C strings, which a NUL would cut short. */
static void refuse_nul(HloReader *r)
{
    const char *nul = memchr(r->p, 0, (size_t)(r->end - r->p));
    if (!nul) return;
    for (const char *p = r->p; p < nul; p++) {
        if (*p != '\n') continue;
        r->line++;
        r->line_start = p + 1;
    }
    wbb_fail(r->cx, hlo_loc_at(r, nul), "the text holds a NUL byte");
}

uint32_t hlo_parse_all(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, HloModule ***modules)
{
    struct { HloModule **items; uint32_t n, capacity; } list = {0};
    HloReader r = {.cx = cx, .arena = a, .p = text, .end = text + n, .line_start = text, .line = 1};
    r.names.arena = a;
    r.file = file ? wbb_intern_z(cx, file) : NULL;
    /* the byte order mark of some editors */
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r.line_start = r.p += 3;
    if (n) refuse_binary(&r);
    if (n) refuse_nul(&r);
    refuse_mlir(&r);
    do {
        HloModule *m = read_module(&r);
        WBB_PUSH(a, &list, m);
    } while (hlo_peek(&r) >= 0);
    *modules = list.items;
    return list.n;
}

HloModule *hlo_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n)
{
    HloModule **modules = NULL;
    uint32_t count = hlo_parse_all(cx, a, file, text, n, &modules);
    if (count > 1)
        wbb_fail(cx, modules[1]->entry->loc, "the text holds %u modules, one expected: '%s' is in the second", count,
                 modules[1]->entry->name);
    return modules[0];
}

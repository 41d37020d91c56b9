/* parse_attributes: the attributes that follow an instruction's operands.
 *
 * Needs: the cursor after the closing parenthesis. Leaves: the attributes that later modules interpret in the fields of
 * HloInstruction; names of computations, to be resolved later; all other attributes as text, in which comments and line
 * ends have become one blank.
 *
 *     slice(p0), slice={[0:8:2]}, metadata={op_name="a"}
 *         slices = {0, 8, 2}, attributes = ", metadata={op_name=\"a\"}"
 *     reduce(x, zero), dimensions={1}, to_apply=%add
 *         dimensions = 1; called_by[0] = "to_apply", called[0] resolved when the module has been read
 */
#include "hlo/inner.h"

#include <string.h>

typedef enum {
    A_DIMENSIONS,
    A_IOTA,
    A_INDEX,
    A_EXPONENT,
    A_MANTISSA,
    A_DIRECTION,
    A_TYPE,
    A_ORDER,
    A_SLICE,
    A_PADDING,
    A_WINDOW,
    A_KIND,
    A_TARGET,
    A_CALLS,
    A_SELECT,
    A_LITERAL,
    A_PREDECESSORS
} Attribute;

static const struct {
    const char *name;
    Attribute attribute;
    int opcode; /* the only one that has the attribute; -1: any */
} table[] = {
    {"dimensions", A_DIMENSIONS, -1},
    {"iota_dimension", A_IOTA, HLO_IOTA},
    {"index", A_INDEX, HLO_GET_TUPLE_ELEMENT},
    {"exponent_bits", A_EXPONENT, HLO_REDUCE_PRECISION},
    {"mantissa_bits", A_MANTISSA, HLO_REDUCE_PRECISION},
    {"direction", A_DIRECTION, HLO_COMPARE},
    {"type", A_TYPE, HLO_COMPARE},
    {"order", A_ORDER, HLO_COMPARE},
    {"slice", A_SLICE, HLO_SLICE},
    {"padding", A_PADDING, HLO_PAD},
    {"window", A_WINDOW, -1},
    {"kind", A_KIND, HLO_FUSION},
    {"custom_call_target", A_TARGET, HLO_CUSTOM_CALL},
    {"to_apply", A_CALLS, -1},
    {"calls", A_CALLS, -1},
    {"body", A_CALLS, HLO_WHILE},
    {"condition", A_CALLS, HLO_WHILE},
    {"true_computation", A_CALLS, HLO_CONDITIONAL},
    {"false_computation", A_CALLS, HLO_CONDITIONAL},
    {"branch_computations", A_CALLS, HLO_CONDITIONAL},
    {"called_computations", A_CALLS, -1},
    {"select", A_SELECT, HLO_SELECT_AND_SCATTER},
    {"scatter", A_SELECT, HLO_SELECT_AND_SCATTER},
    {"literal", A_LITERAL, -1},
    {"control-predecessors", A_PREDECESSORS, -1},
};

static int find(const HloInstruction *i, const char *name)
{
    const HloOpcode op = hlo_started_opcode(i);
    for (size_t k = 0; k < WBB_LEN(table); k++) {
        if (table[k].name[0] != name[0] || strcmp(table[k].name, name) != 0) continue;
        bool window = table[k].attribute == A_WINDOW;
        bool windowed = op == HLO_REDUCE_WINDOW || op == HLO_CONVOLUTION || op == HLO_SELECT_AND_SCATTER;
        if (window ? windowed : table[k].opcode < 0 || table[k].opcode == (int)op) return (int)k;
    }
    return -1;
}

static void read_direction(HloReader *r, HloInstruction *i)
{
    for (size_t k = 0; k < WBB_LEN(hlo_direction_names); k++) {
        if (!hlo_at_word(r, hlo_direction_names[k])) continue;
        r->p += 2;
        i->direction = (HloDirection)k;
        return;
    }
    hlo_fail_expected(r, "a direction: EQ, NE, LT, LE, GT or GE");
}

static void read_type(HloReader *r, HloInstruction *i)
{
    static const char *const names[] = {"TOTALORDER", "FLOAT", "SIGNED", "UNSIGNED"};
    for (size_t k = 0; k < WBB_LEN(names); k++) {
        if (!hlo_at_word(r, names[k])) continue;
        r->p += strlen(names[k]);
        i->total_order = k == 0;
        return;
    }
    hlo_fail_expected(r, "a type of comparison: TOTALORDER, FLOAT, SIGNED or UNSIGNED");
}

/* XLA of 2026 writes order=TOTAL for type=TOTALORDER. */
static void read_order(HloReader *r, HloInstruction *i)
{
    static const char *const names[] = {"TOTAL", "PARTIAL"};
    for (size_t k = 0; k < WBB_LEN(names); k++) {
        if (!hlo_at_word(r, names[k])) continue;
        r->p += strlen(names[k]);
        i->total_order = k == 0;
        return;
    }
    hlo_fail_expected(r, "an order of comparison: TOTAL or PARTIAL");
}

static void read_slices(HloReader *r, HloInstruction *i)
{
    struct { HloSlice *items; uint32_t n, capacity; } list = {0};
    hlo_expect(r, '{');
    if (!hlo_accept(r, '}')) {
        do {
            HloSlice s = {.stride = 1};
            hlo_expect(r, '[');
            s.start = hlo_read_int(r);
            hlo_expect(r, ':');
            s.limit = hlo_read_int(r);
            if (hlo_accept(r, ':')) s.stride = hlo_read_int(r);
            hlo_expect(r, ']');
            WBB_PUSH(r->arena, &list, s);
        } while (hlo_accept(r, ','));
        hlo_expect(r, '}');
    }
    i->slices = list.items ? list.items : WBB_NEW(r->arena, HloSlice);
    i->n_windows = list.n;
}

/* Accepts c only if it is the very next character: '_' and 'x' of 1_1x2_2. */
static bool accept_adjacent(HloReader *r, char c)
{
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

/* low_high or low_high_interior, joined by 'x'; nothing for a scalar */
static void read_padding(HloReader *r, HloInstruction *i)
{
    struct { HloPadding *items; uint32_t n, capacity; } list = {0};
    int c = hlo_peek(r);
    if (c == '-' || (c >= '0' && c <= '9')) {
        do {
            HloPadding p = {.low = hlo_read_int(r)};
            if (!accept_adjacent(r, '_')) hlo_fail_expected(r, "'_' and the high edge of a padding");
            p.high = hlo_read_int(r);
            if (accept_adjacent(r, '_')) p.interior = hlo_read_int(r);
            WBB_PUSH(r->arena, &list, p);
        } while (accept_adjacent(r, 'x'));
    }
    i->paddings = list.items ? list.items : WBB_NEW(r->arena, HloPadding);
    i->n_windows = list.n;
}

static void read_window_field(HloReader *r, HloInstruction *i, HloWindow *w, uint32_t *n)
{
    static const char *const names[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    size_t field = 0;
    while (field < WBB_LEN(names) && !hlo_at_word(r, names[field])) field++;
    if (field == WBB_LEN(names)) hlo_fail_expected(r, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
    WbbLoc loc = hlo_here(r);
    r->p += strlen(names[field]);
    hlo_expect(r, '=');
    uint32_t d = 0;
    do {
        if (d == HLO_RANK_LIMIT) wbb_fail(r->cx, loc, "a window has more than %d dimensions", HLO_RANK_LIMIT);
        int64_t value = hlo_read_int(r);
        switch (field) {
        case 0: w[d].size = value; break;
        case 1: w[d].stride = value; break;
        case 2:
            w[d].low = value;
            if (!accept_adjacent(r, '_')) hlo_fail_expected(r, "'_' and the high edge of a padding");
            w[d].high = hlo_read_int(r);
            break;
        case 3: w[d].lhs_dilate = value; break;
        case 4: w[d].rhs_dilate = value; break;
        default: w[d].reversal = value != 0; break;
        }
        d++;
    } while (accept_adjacent(r, 'x'));
    if (*n && d != *n)
        wbb_fail(r->cx, loc, "%s: the window has %u dimensions, %s has %u", hlo_opcode_text(i), *n, names[field], d);
    *n = d;
}

static void read_window(HloReader *r, HloInstruction *i)
{
    HloWindow w[HLO_RANK_LIMIT];
    uint32_t n = 0;
    for (size_t d = 0; d < WBB_LEN(w); d++)
        w[d] = (HloWindow){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
    hlo_expect(r, '{');
    while (!hlo_accept(r, '}')) read_window_field(r, i, w, &n);
    HloWindow *windows = WBB_NEW_N(r->arena, HloWindow, n ? n : 1);
    memcpy(windows, w, n * sizeof *windows);
    i->windows = windows;
    i->n_windows = n;
}

/* At a computation given in place: `{` and an instruction, rather than names. */
static bool at_inline_body(HloReader *r)
{
    HloMark start = hlo_mark(r);
    bool inline_body = false;
    if (hlo_accept(r, '{')) {
        const char *text = NULL;
        inline_body = hlo_at_word(r, "ROOT");
        (void)hlo_accept(r, '%');
        if (!inline_body && hlo_word(r, &text)) inline_body = hlo_peek(r) == '=';
    }
    hlo_rewind(r, start);
    return inline_body;
}

/* `c` is NULL if its name is still to be resolved. */
static void add_call(HloReader *r, HloInstruction *i, const char *attribute, HloComputation *c)
{
    uint32_t n = i->n_called;
    /* Grows at powers of two: most instructions have one or two, a conditional may have many. */
    HloComputation **called = (HloComputation **)(uintptr_t)i->called;
    const char **by = (const char **)(uintptr_t)i->called_by;
    if ((n & (n - 1)) == 0) {
        uint32_t capacity = n ? n * 2 : 1;
        called = wbb_grow(r->arena, called, n * sizeof *called, capacity * sizeof *called);
        by = wbb_grow(r->arena, by, n * sizeof *by, capacity * sizeof *by);
    }
    called[n] = c;
    by[n] = attribute;
    i->called = called;
    i->called_by = by;
    i->n_called = n + 1;
}

static void read_calls(HloReader *r, HloInstruction *i, const char *attribute)
{
    bool list = !at_inline_body(r) && hlo_accept(r, '{');
    if (list && hlo_accept(r, '}')) return;
    do {
        hlo_peek(r);
        WbbLoc loc = hlo_here(r);
        if (at_inline_body(r)) {
            add_call(r, i, attribute, hlo_read_body(r, NULL, loc));
            continue;
        }
        HloCall call = {.user = i, .index = i->n_called, .loc = loc};
        call.name = hlo_read_name(r, "the name of a computation");
        add_call(r, i, attribute, NULL);
        WBB_PUSH(r->arena, &r->calls, call);
    } while (list && hlo_accept(r, ','));
    if (list) hlo_expect(r, '}');
}

/* Puts the branches of a conditional in the order of its operands: true, then false. */
static void order_branches(HloReader *r, HloInstruction *i, uint32_t first_call)
{
    if (hlo_started_opcode(i) != HLO_CONDITIONAL || i->n_called != 2 ||
        strcmp(i->called_by[0], "false_computation") != 0)
        return;
    HloComputation **called = (HloComputation **)(uintptr_t)i->called;
    const char **by = (const char **)(uintptr_t)i->called_by;
    HloComputation *c = called[0];
    const char *name = by[0];
    called[0] = called[1];
    called[1] = c;
    by[0] = by[1];
    by[1] = name;
    for (uint32_t k = first_call; k < r->calls.n; k++)
        if (r->calls.items[k].user == i) r->calls.items[k].index ^= 1;
}

static void read_raw(HloReader *r, const char *name)
{
    hlo_peek(r);
    const char *start = r->p;
    hlo_skip_balanced(r);
    hlo_scratch_z(r, ", ");
    hlo_scratch_z(r, name);
    hlo_scratch_z(r, "=");
    hlo_scratch(r, start, r->p);
}

/* A shape and a literal, or a tuple of such pairs. */
static void skip_typed_literal(HloReader *r)
{
    HloMark start = hlo_mark(r);
    r->literal_follows = true;
    bool pairs = false;
    if (hlo_peek(r) == '(') {
        /* ( s32[2] {1, 2}, pred[] 1 ) rather than (s32[2], pred[]) ({1, 2}, 1): no ',' or ')' after the first array's
         * shape */
        while (hlo_accept(r, '(')) continue;
        if (hlo_at_shape(r)) {
            (void)hlo_read_shape(r);
            pairs = hlo_peek(r) != ',' && hlo_peek(r) != ')';
        }
    }
    hlo_rewind(r, start);
    if (!pairs) {
        const HloShape *s = hlo_read_shape(r);
        r->literal_follows = false;
        hlo_read_literal(r, s, NULL);
        return;
    }
    r->literal_follows = false;
    hlo_enter_level(r);
    hlo_expect(r, '(');
    do skip_typed_literal(r);
    while (hlo_accept(r, ','));
    hlo_expect(r, ')');
    r->depth--;
}

/* literal=s32[] 1 */
static void read_literal_value(HloReader *r)
{
    hlo_peek(r);
    const char *start = r->p;
    skip_typed_literal(r);
    hlo_scratch_z(r, ", literal=");
    hlo_scratch(r, start, r->p);
}

/* {%a, b}: names of instructions of the same computation. */
static void read_predecessors(HloReader *r, HloDraft *d, HloInstruction *i)
{
    hlo_expect(r, '{');
    if (hlo_accept(r, '}')) return;
    do {
        hlo_peek(r);
        HloOrder o = {.user = i, .loc = hlo_here(r)};
        o.name = hlo_read_name(r, "the name of an instruction");
        WBB_PUSH(r->arena, &d->orders, o);
        i->n_predecessors++;
    } while (hlo_accept(r, ','));
    hlo_expect(r, '}');
}

static void read_known(HloReader *r, HloDraft *d, HloInstruction *i, Attribute attribute, const char *name)
{
    switch (attribute) {
    case A_DIMENSIONS: i->dimensions = hlo_read_ints(r, &i->n_dimensions); break;
    case A_IOTA: case A_INDEX: case A_EXPONENT: i->number = hlo_read_int(r); break;
    case A_MANTISSA: i->number2 = hlo_read_int(r); break;
    case A_DIRECTION: read_direction(r, i); break;
    case A_TYPE: read_type(r, i); break;
    case A_ORDER: read_order(r, i); break;
    case A_SLICE: read_slices(r, i); break;
    case A_PADDING: read_padding(r, i); break;
    case A_WINDOW: read_window(r, i); break;
    case A_KIND: i->kind = hlo_read_name(r, "a kind of fusion"); break;
    case A_TARGET: i->target = hlo_read_string(r); break;
    case A_CALLS: case A_SELECT: read_calls(r, i, name); break;
    case A_LITERAL: read_literal_value(r); break;
    case A_PREDECESSORS: read_predecessors(r, d, i); break;
    }
}

/* Fails unless `seen`, a set of Attribute, has those that the operation requires. */
static void require_attributes(HloReader *r, const HloInstruction *i, uint32_t seen)
{
    const char *const *needs = hlo_op_info[hlo_started_opcode(i)].needs;
    for (size_t n = 0; n < WBB_LEN(hlo_op_info[0].needs) && needs[n]; n++) {
        const int k = find(i, needs[n]);
        assert(k >= 0);
        if (!(seen >> table[k].attribute & 1))
            wbb_fail(r->cx, i->loc, "%s: the attribute %s= is missing", hlo_opcode_text(i), needs[n]);
    }
}

void hlo_set_no_attributes(HloReader *r, HloInstruction *i)
{
    i->attributes = "";
    require_attributes(r, i, 0);
}

void hlo_read_attributes(HloReader *r, HloDraft *d, HloInstruction *i)
{
    uint32_t seen = 0;
    HloSeen names = {{0}};
    size_t before = r->scratch_n; /* not 0 inside an inline computation, itself in an attribute */
    uint32_t first_call = r->calls.n;
    while (hlo_accept(r, ',')) {
        hlo_peek(r);
        WbbLoc loc = hlo_here(r);
        const char *name = hlo_read_name(r, "the name of an attribute");
        hlo_expect(r, '=');
        hlo_check_attribute(r->cx, loc, HLO_IN_ATTRIBUTE, i, name, &names);
        int k = find(i, name);
        if (k < 0) {
            hlo_note_aliases(r, name, i);
            read_raw(r, name);
            continue;
        }
        seen |= UINT32_C(1) << table[k].attribute;
        read_known(r, d, i, table[k].attribute, name);
    }
    i->attributes = hlo_scratch_end(r, before);
    order_branches(r, i, first_call);
    require_attributes(r, i, seen);
}

const char *hlo_read_raw_attributes(HloReader *r, bool header)
{
    size_t before = r->scratch_n;
    HloSeen names = {{0}};
    while (hlo_accept(r, ',')) {
        hlo_peek(r);
        const WbbLoc loc = hlo_here(r);
        const char *name = hlo_read_name(r, "the name of an attribute");
        hlo_expect(r, '=');
        hlo_check_attribute(r->cx, loc, header ? HLO_IN_MODULE : HLO_IN_COMPUTATION, NULL, name, &names);
        if (header) hlo_note_aliases(r, name, NULL);
        read_raw(r, name);
    }
    return hlo_scratch_end(r, before);
}

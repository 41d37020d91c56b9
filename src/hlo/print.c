/* print: an HLO module as text that parses back to the same HLO module.
 *
 * Needs: an HLO module of hlo_parse. Leaves: its text: callees first, the entry marked, one instruction per line, names
 * without '%' where the parser allows it, operands without shapes. Printing a parsed copy gives the same text again.
 *
 *     f {
 *       p = f32[8] parameter(0)
 *       ROOT n = f32[8] negate(p)
 *     }
 */
#include "hlo/inner.h"

#include <string.h>

static void put_name(WbbBuf *out, const char *name)
{
    static const char *const words[] = {"ROOT",          "ENTRY",         "HloModule",  "FileNames",
                                        "FunctionNames", "FileLocations", "StackFrames"};
    bool plain = (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z') || name[0] == '_';
    for (size_t k = 0; plain && k < WBB_LEN(words); k++) plain = strcmp(name, words[k]) != 0;
    if (!plain) wbb_put(out, "%");
    wbb_put(out, name);
}

static void put_int(WbbBuf *out, int64_t value) { wbb_putf(out, "%lld", (long long)value); }

static void put_layout(WbbBuf *out, const HloShape *s)
{
    wbb_put(out, "{");
    for (uint32_t k = 0; k < s->rank; k++) wbb_putf(out, k ? ",%u" : "%u", s->minor_to_major[k]);
    if (s->tiling) wbb_putf(out, ":%s", s->tiling);
    wbb_put(out, "}");
}

/* Recurses at most HLO_NESTING_LIMIT levels. */
static void put_shape(WbbBuf *out, const HloShape *s, bool layouts)
{
    if (s->buffer) wbb_put(out, "b(");
    if (s->type == SC_TUPLE) {
        wbb_put(out, "(");
        for (uint32_t k = 0; k < s->n_elements; k++) {
            if (k) wbb_put(out, ", ");
            put_shape(out, s->elements[k], layouts);
        }
        wbb_put(out, ")");
    } else {
        wbb_put(out, sc_type_info[s->type].hlo);
        wbb_put(out, "[");
        for (uint32_t d = 0; d < s->rank; d++) {
            if (d) wbb_put(out, ",");
            if (s->dynamic >> d & 1) wbb_put(out, "<=");
            put_int(out, s->dims[d]);
        }
        wbb_put(out, "]");
        if (layouts && s->has_layout) put_layout(out, s);
    }
    if (s->buffer) wbb_put(out, ")");
}

void hlo_print_shape(WbbBuf *out, const HloShape *s) { put_shape(out, s, true); }

const char *hlo_shape_text(WbbArena *a, const HloShape *s)
{
    WbbBuf out = wbb_buf(a);
    put_shape(&out, s, false);
    return out.text;
}

static void put_slices(WbbBuf *out, const HloInstruction *i)
{
    wbb_put(out, ", slice={");
    for (uint32_t d = 0; d < i->n_windows; d++) {
        const HloSlice *s = &i->slices[d];
        wbb_putf(out, "%s[%lld:%lld", d ? ", " : "", (long long)s->start, (long long)s->limit);
        if (s->stride != 1) wbb_putf(out, ":%lld", (long long)s->stride);
        wbb_put(out, "]");
    }
    wbb_put(out, "}");
}

static void put_paddings(WbbBuf *out, const HloInstruction *i)
{
    wbb_put(out, ", padding=");
    for (uint32_t d = 0; d < i->n_windows; d++) {
        const HloPadding *p = &i->paddings[d];
        wbb_putf(out, "%s%lld_%lld", d ? "x" : "", (long long)p->low, (long long)p->high);
        if (p->interior) wbb_putf(out, "_%lld", (long long)p->interior);
    }
}

/* One field of a window; omitted if all dimensions have the default, unless `always`. */
static void put_field(WbbBuf *out, const char *name, const int64_t *value, uint32_t n, int64_t normal, bool always)
{
    bool needed = always;
    for (uint32_t d = 0; d < n; d++) needed = needed || value[d] != normal;
    if (!needed) return;
    wbb_putf(out, "%s%s=", out->text[out->n - 1] == '{' ? "" : " ", name);
    for (uint32_t d = 0; d < n; d++) wbb_putf(out, "%s%lld", d ? "x" : "", (long long)value[d]);
}

static void put_window(WbbBuf *out, const HloInstruction *i)
{
    int64_t size[HLO_RANK_LIMIT] = {0}, stride[HLO_RANK_LIMIT] = {0}, reversal[HLO_RANK_LIMIT] = {0};
    int64_t lhs[HLO_RANK_LIMIT] = {0}, rhs[HLO_RANK_LIMIT] = {0};
    uint32_t n = i->n_windows;
    bool padded = false;
    for (uint32_t d = 0; d < n; d++) {
        const HloWindow *w = &i->windows[d];
        size[d] = w->size;
        stride[d] = w->stride;
        lhs[d] = w->lhs_dilate;
        rhs[d] = w->rhs_dilate;
        reversal[d] = w->reversal;
        padded = padded || w->low || w->high;
    }
    wbb_put(out, ", window={");
    put_field(out, "size", size, n, 1, n > 0);
    put_field(out, "stride", stride, n, 1, false);
    if (padded) wbb_put(out, " pad=");
    for (uint32_t d = 0; padded && d < n; d++)
        wbb_putf(out, "%s%lld_%lld", d ? "x" : "", (long long)i->windows[d].low, (long long)i->windows[d].high);
    put_field(out, "lhs_dilate", lhs, n, 1, false);
    put_field(out, "rhs_dilate", rhs, n, 1, false);
    put_field(out, "rhs_reversal", reversal, n, 0, false);
    wbb_put(out, "}");
}

static void put_calls(WbbBuf *out, const HloInstruction *i)
{
    for (uint32_t k = 0; k < i->n_called;) {
        const char *by = i->called_by[k];
        uint32_t end = k;
        while (end < i->n_called && i->called_by[end] == by) end++;
        bool list = end - k > 1 || strcmp(by, "branch_computations") == 0 || strcmp(by, "called_computations") == 0;
        wbb_putf(out, ", %s=%s", by, list ? "{" : "");
        for (uint32_t j = k; j < end; j++) {
            if (j > k) wbb_put(out, ", ");
            put_name(out, i->called[j]->name);
        }
        if (list) wbb_put(out, "}");
        k = end;
    }
}

static void put_operands(WbbBuf *out, const HloInstruction *i)
{
    wbb_put(out, "(");
    if (i->opcode == HLO_PARAMETER) {
        put_int(out, i->number);
    } else if (i->opcode == HLO_CONSTANT) {
        hlo_put_literal(out, i);
    } else {
        for (uint32_t k = 0; k < i->n_operands; k++) {
            if (k) wbb_put(out, ", ");
            put_name(out, i->operands[k]->name);
        }
    }
    wbb_put(out, ")");
}

const char *const hlo_direction_names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

void hlo_put_ints(WbbBuf *out, const int64_t *values, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) wbb_putf(out, k ? ",%lld" : "%lld", (long long)values[k]);
}

static void put_attributes(WbbBuf *out, const HloInstruction *i)
{
    const HloOpcode op = hlo_started_opcode(i);
    if (i->dimensions) {
        wbb_put(out, ", dimensions={");
        hlo_put_ints(out, i->dimensions, i->n_dimensions);
        wbb_put(out, "}");
    }
    if (i->slices) put_slices(out, i);
    if (i->paddings) put_paddings(out, i);
    if (i->windows) put_window(out, i);
    if (op == HLO_IOTA) wbb_putf(out, ", iota_dimension=%lld", (long long)i->number);
    if (op == HLO_GET_TUPLE_ELEMENT) wbb_putf(out, ", index=%lld", (long long)i->number);
    if (op == HLO_REDUCE_PRECISION)
        wbb_putf(out, ", exponent_bits=%lld, mantissa_bits=%lld", (long long)i->number, (long long)i->number2);
    if (op == HLO_COMPARE) wbb_putf(out, ", direction=%s", hlo_direction_names[i->direction]);
    if (op == HLO_COMPARE && i->total_order) wbb_put(out, ", type=TOTALORDER");
    if (i->kind) wbb_putf(out, ", kind=%s", i->kind);
    if (i->target) {
        wbb_put(out, ", custom_call_target=\"");
        wbb_put(out, i->target);
        wbb_put(out, "\"");
    }
    put_calls(out, i);
    wbb_put(out, i->attributes);
    for (uint32_t k = 0; k < i->n_predecessors; k++) {
        wbb_put(out, k ? ", " : ", control-predecessors={");
        put_name(out, i->predecessors[k]->name);
        if (k + 1 == i->n_predecessors) wbb_put(out, "}");
    }
}

void hlo_print_instruction(WbbBuf *out, const HloInstruction *i)
{
    put_name(out, i->name);
    wbb_put(out, " = ");
    hlo_print_shape(out, i->shape);
    wbb_put(out, " ");
    wbb_put(out, hlo_opcode_text(i));
    put_operands(out, i);
    put_attributes(out, i);
}

static void put_computation(WbbBuf *out, const HloComputation *c, bool entry)
{
    if (entry) wbb_put(out, "ENTRY ");
    put_name(out, c->name);
    wbb_put(out, " {\n");
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        wbb_put(out, c->instructions[k] == c->root ? "  ROOT " : "  ");
        hlo_print_instruction(out, c->instructions[k]);
        wbb_put(out, "\n");
    }
    wbb_put(out, "}");
    wbb_put(out, c->attributes);
    wbb_put(out, "\n");
}

void hlo_print(WbbBuf *out, const HloModule *m)
{
    if (m->header) {
        wbb_put(out, "HloModule ");
        wbb_put(out, m->name);
        wbb_put(out, m->attributes);
        wbb_put(out, "\n\n");
    }
    if (m->tables[0]) {
        wbb_put(out, m->tables);
        wbb_put(out, "\n");
    }
    for (uint32_t k = 0; k < m->n_computations; k++) {
        if (k) wbb_put(out, "\n");
        put_computation(out, m->computations[k], m->computations[k] == m->entry);
    }
}

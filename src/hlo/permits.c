/* permits.c: what a text permits of its results: the flags contract, nnan and nsz of instructions on floats.
 *
 * Needs a parsed HLO module; leaves HloInstruction.permits, for the compiler and for the judge alike. The header gives
 * flags to every instruction, an instruction's own frontend attributes to that one, where contract="true" is as good:
 *
 *     HloModule m, frontend_attributes={assume="contract,nnan"}
 *     ROOT y = f32[8] multiply(a, b), frontend_attributes={assume="contract"}
 *
 * What a pass writes anew has none of them, for its values are not the text's: of these nothing is permitted.
 */
#include "hlo/inner.h"

#include <string.h>

enum { PERMISSIONS = 3 };
static const struct {
    const char *name;
    uint32_t flag;
} permissions[PERMISSIONS] = {{"contract", SC_FLAG_CONTRACT}, {"nnan", SC_FLAG_NNAN}, {"nsz", SC_FLAG_NSZ}};

static const char frontend[] = "frontend_attributes={";

bool hlo_read_permits(const char *list, size_t n, uint32_t *permits)
{
    const char *end = list + n;
    *permits = 0;
    for (const char *p = list; p <= end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const size_t length = (size_t)((comma ? comma : end) - p);
        uint32_t found = 0;
        for (uint32_t k = 0; k < PERMISSIONS; k++)
            if (strlen(permissions[k].name) == length && !memcmp(permissions[k].name, p, length))
                found = permissions[k].flag;
        if (!found) return false;
        *permits |= found;
        p += length + 1;
    }
    return true;
}

const char *hlo_permits_text(WbbArena *a, uint32_t permits)
{
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < PERMISSIONS; k++)
        if (permits & permissions[k].flag) wbb_putf(&b, "%s%s", b.n ? "," : "", permissions[k].name);
    return b.n ? b.text : "";
}

const char *hlo_permits_attribute(WbbArena *a, uint32_t permits)
{
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < PERMISSIONS; k++)
        if (permits & permissions[k].flag) wbb_putf(&b, "%s%s=\"true\"", b.n ? "," : "", permissions[k].name);
    return b.n ? wbb_format(a, ", frontend_attributes={%s}", b.text) : "";
}

const char *hlo_notes(WbbArena *a, const HloInstruction *i)
{
    if (i->permits) return hlo_permits_attribute(a, i->permits);
    const bool may = i->opcode == HLO_SCATTER && !hlo_attribute_true(a, i, "indices_are_sorted");
    return may ? hlo_neighbours_attribute(a, hlo_noted_neighbours(a, i)) : "";
}

/* The value of a string among frontend attributes, {name="value",..}; NULL: there is none. */
static const char *string_of(const char *attributes, const char *name, size_t *n)
{
    const size_t length = strlen(name);
    for (const char *p = attributes; (p = strstr(p, name)) != NULL; p += length) {
        if ((p[-1] != '{' && p[-1] != ',' && p[-1] != ' ') || strncmp(p + length, "=\"", 2) != 0) continue;
        const char *value = p + length + 2;
        *n = strcspn(value, "\"");
        return value;
    }
    return NULL;
}

static bool is_real_float(const HloShape *s) { return s->type != SC_TUPLE && sc_is_float(s->type); }

bool hlo_may_permit(const HloInstruction *i)
{
    const bool operation = i->opcode == HLO_COMPARE || i->opcode == HLO_CLAMP || i->opcode == HLO_CONVERT ||
                           (hlo_is_elementwise(i->opcode) && hlo_scalar(i->opcode) != OP_NONE);
    if (!operation || i->total_order || !i->n_operands) return false;
    const HloShape *from = i->operands[i->opcode == HLO_SELECT]->shape;
    const bool parts = sc_type_info[i->shape->type].cls == 'C' || sc_type_info[from->type].cls == 'C';
    return !parts && (is_real_float(i->shape) || is_real_float(from));
}

/* The flags of the list assume="..", which `where` names, among frontend attributes. */
static uint32_t assumed(WbbCx *cx, WbbLoc loc, const char *where, const char *attributes)
{
    size_t n;
    uint32_t permits = 0;
    const char *at = strstr(attributes, frontend), *list = at ? string_of(at, "assume", &n) : NULL;
    if (list && !hlo_read_permits(list, n, &permits))
        wbb_fail(cx, loc, "%s: assume=\"%.*s\": some of contract, nnan and nsz expected", where, (int)n, list);
    return permits;
}

static uint32_t own_permits(WbbCx *cx, const HloInstruction *i)
{
    uint32_t permits = assumed(cx, i->loc, i->name, i->attributes);
    const char *at = strstr(i->attributes, frontend);
    for (uint32_t k = 0; at && k < PERMISSIONS; k++) {
        size_t n;
        const char *value = string_of(at, permissions[k].name, &n);
        if (value && n == 4 && !memcmp(value, "true", 4)) permits |= permissions[k].flag;
    }
    return permits;
}

static bool evaluates_once(HloOpcode op)
{
    return op == HLO_FUSION || op == HLO_CALL || op == HLO_WHILE || op == HLO_CONDITIONAL || op == HLO_MAP ||
           op == HLO_ASYNC_START;
}

/* Flags that instructions of each computation may have. What combines or compares terms, in any order, is known by what
 * it computes as a whole: there nnan and nsz are not used. */
static const uint32_t *permits_within(WbbArena *a, const HloModule *m)
{
    uint32_t *of = WBB_NEW_N(a, uint32_t, m->n_computations + 1);
    for (uint32_t c = 0; c < m->n_computations; c++) of[c] = SC_PERMISSIONS;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            const HloInstruction *i = m->computations[c]->instructions[k];
            for (uint32_t p = 0; !evaluates_once(i->opcode) && p < i->n_called; p++)
                of[i->called[p]->id] = SC_FLAG_CONTRACT;
        }
    return of;
}

void hlo_permit(WbbCx *cx, WbbArena *a, HloModule *m)
{
    m->permits = assumed(cx, m->entry->loc, m->name, m->attributes);
    const uint32_t *of = permits_within(a, m);
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            HloInstruction *i = m->computations[c]->instructions[k];
            const uint32_t permits = of[c] & (m->permits | (*i->attributes ? own_permits(cx, i) : 0));
            if (permits && hlo_may_permit(i)) i->permits = permits;
        }
}

uint32_t hlo_permits_anywhere(const HloModule *m)
{
    uint32_t permits = 0;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            const HloInstruction *i = m->computations[c]->instructions[k];
            const bool noted = i->opcode == HLO_MULTIPLY; /* as the products of a dot are, which nobody asked for */
            permits |= i->permits & ~(uint32_t)(noted ? SC_FLAG_CONTRACT : 0);
        }
    return permits;
}

/* Where a header's attributes begin, behind its name, if the line has one. */
static const char *behind_name(const char *line, const char *end)
{
    static const char word[] = "HloModule";
    const char *p = line;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    if ((size_t)(end - p) < sizeof word || memcmp(p, word, sizeof word - 1) || !strchr(" \t", p[sizeof word - 1]))
        return NULL;
    p += sizeof word - 1;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    while (p < end && (unsigned char)*p > ' ' && *p != ',') p++;
    return p;
}

const char *hlo_assume(WbbArena *a, const char *text, size_t *n, uint32_t permits)
{
    if (!permits) return text;
    const char *end = text + *n, *from = text;
    const char *note = wbb_format(a, "assume=\"%s\"", hlo_permits_text(a, permits));
    WbbBuf b = wbb_buf(a);
    for (const char *line = text, *eol; line < end; line = eol + 1) {
        eol = memchr(line, '\n', (size_t)(end - line));
        if (!eol) eol = end;
        const char *at = behind_name(line, eol);
        if (!at) continue;
        const char *rest = wbb_format(a, "%.*s", (int)(eol - at), at), *there = strstr(rest, frontend);
        size_t n_old = 0;
        uint32_t has = 0;
        const char *old = there ? string_of(there, "assume", &n_old) : NULL;
        if (old && hlo_read_permits(old, n_old, &has)) { /* what it says is kept: the list grows */
            at += old - rest;
            wbb_put_n(&b, from, (size_t)(at - from));
            if (permits & ~has) wbb_putf(&b, "%s,", hlo_permits_text(a, permits & ~has));
        } else if (there) {
            at += there - rest + (ptrdiff_t)strlen(frontend);
            wbb_put_n(&b, from, (size_t)(at - from));
            wbb_putf(&b, "%s%s", note, *at == '}' ? "" : ",");
        } else {
            wbb_put_n(&b, from, (size_t)(at - from));
            wbb_putf(&b, ", frontend_attributes={%s}", note);
        }
        from = at;
    }
    if (from == text) wbb_putf(&b, "HloModule main, frontend_attributes={%s} ", note); /* lines keep their numbers */
    wbb_put_n(&b, from, (size_t)(end - from));
    *n = b.n;
    return b.text;
}

/* sass_lines.c: the machine instructions of a kernel, each with the line of the PTX that ptxas made it of.
 *
 * Needs a cubin of `ptxas -lineinfo`; leaves instructions. The section .nv_debug_line_sass has a line program of DWARF
 * 3 for each kernel (DWARF 3, section 6.2), whose addresses are relative to the kernel's code: relocations name it,
 * with addends (.rela) from sm_90 on, without (.rel) before.
 *
 * Code that only a slow path reaches is marked: subroutines, as for the division of subnormals, and what a guarded
 * branch jumps over that comes from one line without a branch of its own.
 *
 *     set address 0; line 10; advance 16 bytes, 11 lines   ->   instruction 0: line 10, instruction 1: line 21
 */
#include "target/elf.h"

#include <stdlib.h>
#include <string.h>

enum { R_INFO_SYMBOL = 32 /* shift of a relocation's symbol */, TRUE_PREDICATE = 7 };
enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, NEGATE, BLOCK, CONST_ADD_PC, FIXED_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS = 2 };

typedef struct {
    const TgElf *e;
    uint64_t at;
} Reader;

static uint64_t take(Reader *r, uint32_t bytes)
{
    const uint64_t x = tg_elf_number(r->e, r->at, bytes);
    r->at += bytes;
    return x;
}

static uint64_t leb(Reader *r, bool is_signed)
{
    uint64_t x = 0;
    uint32_t shift = 0;
    uint64_t byte;
    do {
        byte = take(r, 1);
        if (shift < 64) x |= (byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    if (is_signed && byte & 64 && shift < 64) x |= ~UINT64_C(0) << shift;
    return x;
}

/* The registers of a line program. */
typedef struct {
    uint64_t address;
    int64_t line;
    bool ours; /* the addresses are in the kernel's code */
} State;

typedef struct {
    uint64_t code;         /* number of the kernel's section */
    TgSection symbols, relocations;
    uint64_t entry; /* bytes of a relocation */
    uint64_t start;        /* offset of the section of line programs */
    TgSassAt *out;
    uint64_t n;
} Lines;

/* Is the address that is read at this offset relocated to the kernel's code? */
static bool is_ours(const TgElf *e, const Lines *l, uint64_t at)
{
    for (uint64_t r = l->relocations.offset; r + l->entry <= l->relocations.offset + l->relocations.size;
         r += l->entry) {
        if (tg_elf_number(e, r, 8) != at - l->start) continue;
        const uint64_t symbol = tg_elf_number(e, r + 8, 8) >> R_INFO_SYMBOL;
        return tg_elf_number(e, l->symbols.offset + symbol * TG_ELF_SYMBOL + 6, 2) == l->code;
    }
    return false;
}

/* A row of the line table: from this address on, the line counts. */
static void emit(Lines *l, const State *s)
{
    for (uint64_t i = s->address / TG_SASS_BYTES; s->ours && i < l->n; i++) l->out[i].line = (uint32_t)s->line;
}

static void extended(Reader *r, const Lines *l, State *s)
{
    const uint64_t n = leb(r, false), end = r->at + n;
    switch (take(r, 1)) {
    case END_SEQUENCE: *s = (State){.line = 1}; break;
    case SET_ADDRESS:
        s->ours = is_ours(r->e, l, r->at);
        s->address = take(r, 8);
        break;
    default: break;
    }
    r->at = end;
}

/* One line program; returns the offset of the next. */
static uint64_t program(const TgElf *e, Lines *l, uint64_t at)
{
    Reader r = {e, at};
    const uint64_t end = at + 4 + take(&r, 4);
    take(&r, 2); /* version */
    const uint64_t header = take(&r, 4), code = r.at + header, unit = take(&r, 1);
    take(&r, 1); /* default_is_stmt */
    const int64_t base = (int8_t)take(&r, 1), range = (int64_t)take(&r, 1), first = (int64_t)take(&r, 1);
    uint8_t operands[256] = {0};
    for (int64_t i = 1; i < first; i++) operands[i] = (uint8_t)take(&r, 1);
    State s = {.line = 1};
    for (r.at = code; r.at < end && range;) {
        const int64_t op = (int64_t)take(&r, 1);
        if (op >= first) {
            s.address += unit * (uint64_t)((op - first) / range);
            s.line += base + (op - first) % range;
            emit(l, &s);
            continue;
        }
        switch (op) {
        case 0: extended(&r, l, &s); break;
        case COPY: emit(l, &s); break;
        case ADVANCE_PC: s.address += unit * leb(&r, false); break;
        case ADVANCE_LINE: s.line += (int64_t)leb(&r, true); break;
        case CONST_ADD_PC: s.address += unit * (uint64_t)((255 - first) / range); break;
        case FIXED_PC: s.address += take(&r, 2); break;
        default:
            for (int i = 0; i < operands[op]; i++) leb(&r, false);
        }
    }
    return end;
}

/* The index of the instruction that a branch at index i goes to: its distance stands from bit 34 on, from sm_90 on with
 * 8 further low bits at 16. */
static int64_t branch_target(const TgSassAt *x, int64_t i, bool sm90)
{
    int64_t far = (int64_t)(x->first >> 34 & 0x3fffffff);
    if (sm90) far = far << 8 | (int64_t)(x->first >> 16 & 0xff);
    const int width = sm90 ? 38 : 30;
    far -= (far >> (width - 1)) << width;
    return i + 1 + far / 4;
}

static bool is_guarded(const TgSassAt *x)
{
    return (x->first >> 12 & 15) != TRUE_PREDICATE ||
           ((x->first & 0x1ff) == TG_SASS_BRA && (x->second >> 23 & 7) != TRUE_PREDICATE);
}

/* Mark what no way without a call leads to, and what a guarded branch of one line jumps over. */
static void find_slow(WbbArena *a, TgSassAt *x, uint32_t n, bool sm90)
{
    bool *seen = WBB_NEW_N(a, bool, n + 1);
    struct { uint32_t *items, n, capacity; } list = {0};
    if (n) WBB_PUSH(a, &list, 0);
    while (list.n) {
        for (int64_t i = list.items[--list.n]; i >= 0 && i < n && !seen[i]; i++) {
            const uint32_t op = (uint32_t)(x[i].first & 0x1ff);
            seen[i] = true;
            if (op == TG_SASS_BRA) {
                const int64_t to = branch_target(&x[i], i, sm90);
                if (to >= 0 && to < n) WBB_PUSH(a, &list, (uint32_t)to);
            }
            if ((op == TG_SASS_BRA || op == TG_SASS_EXIT) && !is_guarded(&x[i])) break;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!seen[i]) x[i].slow = true;
        if ((x[i].first & 0x1ff) != TG_SASS_BRA || !is_guarded(&x[i])) continue;
        const int64_t to = branch_target(&x[i], i, sm90);
        int64_t k = i + 1;
        while (k < to && k < n && x[k].line == x[i].line) k++;
        if (k == to)
            for (k = i + 1; k < to; k++) x[k].slow = true;
    }
}

uint32_t tg_sass_lines(WbbCx *cx, WbbArena *a, const TgTarget *t, const TgCubin *cubin, const char *kernel,
                       TgSassAt **out)
{
    const TgElf e = tg_elf_open(cx, cubin);
    Lines l = {0};
    TgSection lines = {0}, code = {0};
    for (uint64_t i = 0; i < e.section_count; i++) {
        const TgSection s = tg_elf_section(&e, i);
        if (strcmp(s.name, ".symtab") == 0) l.symbols = s;
        else if (strcmp(s.name, ".nv_debug_line_sass") == 0) lines = s;
        else if (strcmp(s.name, ".rela.nv_debug_line_sass") == 0) l.relocations = s, l.entry = TG_ELF_RELA;
        else if (strcmp(s.name, ".rel.nv_debug_line_sass") == 0) l.relocations = s, l.entry = TG_ELF_REL;
        else if (tg_elf_is(s.name, ".text.", kernel)) code = s, l.code = i;
    }
    if (!code.name) wbb_fail(cx, (WbbLoc){0}, "the cubin has no kernel %s", kernel);
    l.n = tg_elf_code(&e, &code);
    l.out = WBB_NEW_N(a, TgSassAt, l.n + 1);
    l.start = lines.offset;
    for (uint64_t i = 0; i < l.n; i++) {
        l.out[i].first = tg_elf_number(&e, code.offset + i * TG_SASS_BYTES, 8);
        l.out[i].second = tg_elf_number(&e, code.offset + i * TG_SASS_BYTES + 8, 8);
    }
    for (uint64_t at = lines.offset; at + 4 < lines.offset + lines.size;) at = program(&e, &l, at);
    find_slow(a, l.out, (uint32_t)l.n, strtoul(t->name + strlen("sm_"), NULL, 10) >= 90);
    *out = l.out;
    return (uint32_t)l.n;
}

/* sass.c: statistics of machine code, read from the cubin itself. No disassembler is needed.
 *
 * Needs a cubin of ptxas; leaves counts. An instruction is 16 bytes on sm_75 to sm_121; the low 9 bits of its first
 * word are the operation, bits 9 to 11 of its second word the width of a global, shared or local access. The opcodes
 * were found with nvdisasm; counts agree with it on 1,522 kernels. NOPs and the branch to itself after the last
 * instruction are not counted.
 *
 *     .text.gelu of 1152 bytes, one operation 0x181 of width 6  ->  sass 71, ldg[4] = 1
 */
#include "target/target.h"

#include <string.h>

/* Sizes of ELF64 structures, and the machine number of CUDA. */
enum { ELF_HEADER = 64, ELF_SECTION = 64, ELF_SYMBOL = 24, EM_CUDA = 190 };
enum { SYSTEM_SMEM = 1024 }; /* the driver's share from sm_90 on, included in the size of a kernel's section */
enum { SASS_NOP = 0x118, SASS_BRA = 0x147 };
enum { NV_REGCOUNT = 0x2f, NV_FRAME_SIZE = 0x11 };

typedef struct {
    WbbCx *cx;
    const uint8_t *p;
    size_t n;
    uint64_t sections, section_count, names; /* offset, number, number of the section of names */
} Elf;

typedef struct {
    const char *name;
    uint64_t offset, size;
    uint32_t link, info;
} Section;

static uint64_t number(const Elf *e, uint64_t at, uint32_t bytes)
{
    if (at > e->n || bytes > e->n - at) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    uint64_t x = 0;
    for (uint32_t i = 0; i < bytes; i++) x |= (uint64_t)e->p[at + i] << (8 * i);
    return x;
}

static const char *text(const Elf *e, uint64_t at)
{
    if (at >= e->n || !memchr(e->p + at, 0, e->n - at)) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    return (const char *)e->p + at;
}

static Section section(const Elf *e, uint64_t i)
{
    const uint64_t at = e->sections + i * ELF_SECTION, names = number(e, e->sections + e->names * ELF_SECTION + 24, 8);
    Section s;
    s.name = text(e, names + number(e, at, 4));
    s.offset = number(e, at + 24, 8);
    s.size = number(e, at + 32, 8);
    s.link = (uint32_t)number(e, at + 40, 4);
    s.info = (uint32_t)number(e, at + 44, 4);
    const bool empty = number(e, at + 4, 4) == 8; /* NOBITS: shared memory */
    if (!empty && (s.offset > e->n || s.size > e->n - s.offset)) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    return s;
}

static Elf open_elf(WbbCx *cx, const TgCubin *cubin)
{
    Elf e = {.cx = cx, .p = cubin->bytes, .n = cubin->n};
    if (cubin->n < ELF_HEADER || memcmp(cubin->bytes, "\177ELF\2\1", 6) != 0 || number(&e, 18, 2) != EM_CUDA)
        wbb_fail(cx, (WbbLoc){0}, "this is not a cubin");
    e.sections = number(&e, 40, 8);
    e.section_count = number(&e, 60, 2);
    e.names = number(&e, 62, 2);
    return e;
}

static bool is_of(const char *name, const char *prefix, const char *kernel)
{
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && strcmp(name + n, kernel) == 0;
}

/* Count an access by log2 of its bytes. Width field: 0 u8, 1 s8, 2 u16, 3 s16, 4 32 bits, 5 64, 6 128 */
static void count_access(uint32_t counts[8], uint64_t second)
{
    static const uint8_t log2_bytes[8] = {0, 0, 1, 1, 2, 3, 4, 4};
    counts[log2_bytes[second >> 9 & 7]]++;
}

static void count(TgSass *s, uint64_t first, uint64_t second)
{
    s->classes[tg_sass_class((uint32_t)(first & 0x1ff))]++;
    switch (first & 0x1ff) {
    case 0x181: count_access(s->ldg, second); break;
    case 0x17e: s->ldg[5]++; break; /* 32 bytes */
    case 0x186: count_access(s->stg, second); break;
    case 0x17f: s->stg[5]++; break;
    case 0x184: count_access(s->lds, second); break;
    case 0x188: count_access(s->sts, second); break;
    case 0x183: s->ldl++; count_access(s->local_loads, second); break;
    case 0x187: s->stl++; count_access(s->local_stores, second); break;
    case 0x180: count_access(s->generic_loads, second); break;
    case 0x185: count_access(s->generic_stores, second); break;
    case 0x108: s->mufu++; break;
    case 0x11d: s->bar++; break;
    case 0x189: s->shfl++; break;
    case SASS_BRA: s->branch++; break;
    case 0x18a: case 0x18b:             /* ATOM, generic */
    case 0x18c: case 0x18d:             /* ATOMS, and its compare and swap */
    case 0x18e: case 0x1a6:             /* RED: integers, floats from sm_90 on */
    case 0x1a3: case 0x1a8: case 0x1a9: /* ATOMG: floats from sm_90 on, the others, compare and swap */
        s->atom++;
        break;
    default: break;
    }
}

/* The branch to itself after the last instruction: 16 bytes back, from sm_90 on in units of 4. */
static bool is_trap(uint64_t first)
{
    const int32_t back = (int32_t)(first >> 32);
    return (first & 0x1ff) == SASS_BRA && (back == -16 || back == -4);
}

static void count_text(const Elf *e, const Section *s, TgSass *out)
{
    enum { BYTES = 16 };
    uint64_t n = s->size / BYTES;
    while (n > 0 && (number(e, s->offset + (n - 1) * BYTES, 8) & 0x1ff) == SASS_NOP) n--;
    if (n > 0 && is_trap(number(e, s->offset + (n - 1) * BYTES, 8))) n--;
    out->sass = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++)
        count(out, number(e, s->offset + i * BYTES, 8), number(e, s->offset + i * BYTES + 8, 8));
}

/* .nv.info: records {format, attribute, size16, payload}; format 4 has a payload of `size` bytes, here {symbol,
 * number}. */
static void read_info(const Elf *e, const Section *info, const Section *symbols, const char *kernel, TgSass *out)
{
    for (uint64_t at = info->offset, end = info->offset + info->size; at + 4 <= end;) {
        const uint64_t format = number(e, at, 1), attribute = number(e, at + 1, 1), size = number(e, at + 2, 2);
        if (format == 4 && size >= 8 && (attribute == NV_REGCOUNT || attribute == NV_FRAME_SIZE)) {
            const uint64_t symbol = symbols->offset + number(e, at + 4, 4) * ELF_SYMBOL;
            const uint64_t names = section(e, symbols->link).offset;
            if (strcmp(text(e, names + number(e, symbol, 4)), kernel) == 0)
                *(attribute == NV_REGCOUNT ? &out->regs : &out->stack_bytes) = (uint32_t)number(e, at + 8, 4);
        }
        at += 4 + (format == 4 ? size : 0);
    }
}

TgSass tg_sass(WbbCx *cx, const TgCubin *cubin, const char *kernel)
{
    TgSass out = {0};
    const Elf e = open_elf(cx, cubin);
    Section symbols = {0}, info = {0};
    bool found = false;
    uint32_t reserved = 0;
    for (uint64_t i = 0; i < e.section_count; i++) {
        const Section s = section(&e, i);
        if (strcmp(s.name, ".symtab") == 0) symbols = s;
        else if (strcmp(s.name, ".nv.info") == 0) info = s;
        else if (strcmp(s.name, ".nv.shared.reserved.0") == 0) reserved = SYSTEM_SMEM;
        else if (is_of(s.name, ".nv.shared.", kernel)) out.smem_bytes = (uint32_t)s.size;
        else if (is_of(s.name, ".text.", kernel)) {
            found = true;
            count_text(&e, &s, &out);
        }
    }
    if (!found) wbb_fail(cx, (WbbLoc){0}, "the cubin has no kernel %s", kernel);
    if (out.smem_bytes >= reserved) out.smem_bytes -= reserved;
    read_info(&e, &info, &symbols, kernel, &out);
    return out;
}

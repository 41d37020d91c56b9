/* elf.c: reads sections of a cubin, which is an ELF file of 64 bits.
 *
 * Needs the bytes; leaves numbers, names and the code of kernels. Every read is checked against the size of the file.
 *
 *     .text.gelu of 1152 bytes, the last one a branch to itself  ->  71 instructions
 */
#include "target/elf.h"

#include <string.h>

/* Sizes of ELF64 structures, and the machine number of CUDA. */
enum { ELF_HEADER = 64, ELF_SECTION = 64, EM_CUDA = 190 };

uint64_t tg_elf_number(const TgElf *e, uint64_t at, uint32_t bytes)
{
    if (at > e->n || bytes > e->n - at) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    uint64_t x = 0;
    for (uint32_t i = 0; i < bytes; i++) x |= (uint64_t)e->p[at + i] << (8 * i);
    return x;
}

const char *tg_elf_text(const TgElf *e, uint64_t at)
{
    if (at >= e->n || !memchr(e->p + at, 0, e->n - at)) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    return (const char *)e->p + at;
}

TgSection tg_elf_section(const TgElf *e, uint64_t i)
{
    const uint64_t at = e->sections + i * ELF_SECTION,
                   names = tg_elf_number(e, e->sections + e->names * ELF_SECTION + 24, 8);
    TgSection s;
    s.name = tg_elf_text(e, names + tg_elf_number(e, at, 4));
    s.offset = tg_elf_number(e, at + 24, 8);
    s.size = tg_elf_number(e, at + 32, 8);
    s.link = (uint32_t)tg_elf_number(e, at + 40, 4);
    s.info = (uint32_t)tg_elf_number(e, at + 44, 4);
    const bool empty = tg_elf_number(e, at + 4, 4) == 8; /* NOBITS: shared memory */
    if (!empty && (s.offset > e->n || s.size > e->n - s.offset)) wbb_fail(e->cx, (WbbLoc){0}, "the cubin is cut short");
    return s;
}

TgElf tg_elf_open(WbbCx *cx, const TgCubin *cubin)
{
    TgElf e = {.cx = cx, .p = cubin->bytes, .n = cubin->n};
    if (cubin->n < ELF_HEADER || memcmp(cubin->bytes, "\177ELF\2\1", 6) != 0 || tg_elf_number(&e, 18, 2) != EM_CUDA)
        wbb_fail(cx, (WbbLoc){0}, "this is not a cubin");
    e.sections = tg_elf_number(&e, 40, 8);
    e.section_count = tg_elf_number(&e, 60, 2);
    e.names = tg_elf_number(&e, 62, 2);
    return e;
}

bool tg_elf_is(const char *name, const char *prefix, const char *kernel)
{
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && strcmp(name + n, kernel) == 0;
}

/* The branch to itself after the last instruction: 16 bytes back, from sm_90 on in units of 4. */
static bool is_trap(uint64_t first)
{
    const int32_t back = (int32_t)(first >> 32);
    return (first & 0x1ff) == TG_SASS_BRA && (back == -16 || back == -4);
}

uint64_t tg_elf_code(const TgElf *e, const TgSection *s)
{
    uint64_t n = s->size / TG_SASS_BYTES;
    while (n > 0 && (tg_elf_number(e, s->offset + (n - 1) * TG_SASS_BYTES, 8) & 0x1ff) == TG_SASS_NOP) n--;
    if (n > 0 && is_trap(tg_elf_number(e, s->offset + (n - 1) * TG_SASS_BYTES, 8))) n--;
    return n;
}

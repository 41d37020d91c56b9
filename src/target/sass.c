/* sass.c: statistics of machine code, read from the cubin itself. No disassembler is needed.
 *
 * Needs a cubin of ptxas; leaves counts. An instruction is 16 bytes on sm_75 to sm_121; the low 9 bits of its first
 * word are the operation, bits 9 to 11 of its second word the width of a global, shared or local access. The opcodes
 * were found with nvdisasm; counts agree with it on 1,522 kernels. NOPs and the branch to itself after the last
 * instruction are not counted.
 *
 *     .text.gelu of 1152 bytes, one operation 0x181 of width 6  ->  sass 71, ldg[4] = 1
 */
#include "target/elf.h"

#include <string.h>

enum { SYSTEM_SMEM = 1024 }; /* the driver's share from sm_90 on, included in the size of a kernel's section */
enum { NV_REGCOUNT = 0x2f, NV_FRAME_SIZE = 0x11 };

/* Count an access by log2 of its bytes. Width field: 0 u8, 1 s8, 2 u16, 3 s16, 4 32 bits, 5 64, 6 128 */
static void count_access(uint32_t counts[8], uint64_t second)
{
    static const uint8_t log2_bytes[8] = {0, 0, 1, 1, 2, 3, 4, 4};
    counts[log2_bytes[second >> 9 & 7]]++;
}

static void count(const TgTarget *t, TgSass *s, uint64_t first, uint64_t second)
{
    s->classes[tg_sass_class(t, &(TgSassAt){.first = first, .second = second})]++;
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
    case TG_SASS_BRA: s->branch++; break;
    case 0x18a: case 0x18b:             /* ATOM, generic */
    case 0x18c: case 0x18d:             /* ATOMS, and its compare and swap */
    case 0x18e: case 0x1a6:             /* RED: integers, floats from sm_90 on */
    case 0x1a3: case 0x1a8: case 0x1a9: /* ATOMG: floats from sm_90 on, the others, compare and swap */
        s->atom++;
        break;
    default: break;
    }
}

static void count_text(const TgTarget *t, const TgElf *e, const TgSection *s, TgSass *out)
{
    const uint64_t n = tg_elf_code(e, s);
    out->sass = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++)
        count(t, out, tg_elf_number(e, s->offset + i * TG_SASS_BYTES, 8),
              tg_elf_number(e, s->offset + i * TG_SASS_BYTES + 8, 8));
}

/* .nv.info: records {format, attribute, size16, payload}; format 4 has a payload of `size` bytes, here {symbol,
 * number}. */
static void read_info(const TgElf *e, const TgSection *info, const TgSection *symbols, const char *kernel, TgSass *out)
{
    for (uint64_t at = info->offset, end = info->offset + info->size; at + 4 <= end;) {
        const uint64_t format = tg_elf_number(e, at, 1), attribute = tg_elf_number(e, at + 1, 1),
                       size = tg_elf_number(e, at + 2, 2);
        if (format == 4 && size >= 8 && (attribute == NV_REGCOUNT || attribute == NV_FRAME_SIZE)) {
            const uint64_t symbol = symbols->offset + tg_elf_number(e, at + 4, 4) * TG_ELF_SYMBOL;
            const uint64_t names = tg_elf_section(e, symbols->link).offset;
            if (strcmp(tg_elf_text(e, names + tg_elf_number(e, symbol, 4)), kernel) == 0)
                *(attribute == NV_REGCOUNT ? &out->regs : &out->stack_bytes) = (uint32_t)tg_elf_number(e, at + 8, 4);
        }
        at += 4 + (format == 4 ? size : 0);
    }
}

TgSass tg_sass(WbbCx *cx, const TgTarget *t, const TgCubin *cubin, const char *kernel)
{
    TgSass out = {0};
    const TgElf e = tg_elf_open(cx, cubin);
    TgSection symbols = {0}, info = {0};
    bool found = false;
    uint32_t reserved = 0;
    for (uint64_t i = 0; i < e.section_count; i++) {
        const TgSection s = tg_elf_section(&e, i);
        if (strcmp(s.name, ".symtab") == 0) symbols = s;
        else if (strcmp(s.name, ".nv.info") == 0) info = s;
        else if (strcmp(s.name, ".nv.shared.reserved.0") == 0) reserved = SYSTEM_SMEM;
        else if (tg_elf_is(s.name, ".nv.shared.", kernel)) out.smem_bytes = (uint32_t)s.size;
        else if (tg_elf_is(s.name, ".text.", kernel)) {
            found = true;
            count_text(t, &e, &s, &out);
        }
    }
    if (!found) wbb_fail(cx, (WbbLoc){0}, "the cubin has no kernel %s", kernel);
    if (out.smem_bytes >= reserved) out.smem_bytes -= reserved;
    read_info(&e, &info, &symbols, kernel, &out);
    return out;
}

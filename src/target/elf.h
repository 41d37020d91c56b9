/* elf.h: sections of a cubin, which is an ELF file. */
#ifndef TG_ELF_H
#define TG_ELF_H

#include "target/target.h"

enum { TG_ELF_SYMBOL = 24, TG_ELF_RELA = 24, TG_ELF_REL = 16 /* bytes of a record */ };
enum { TG_SASS_BYTES = 16, TG_SASS_NOP = 0x118, TG_SASS_BRA = 0x147, TG_SASS_CALL = 0x144, TG_SASS_EXIT = 0x14d };

typedef struct {
    WbbCx *cx;
    const uint8_t *p;
    size_t n;
    uint64_t sections, section_count, names; /* offset, number, number of the section of names */
} TgElf;

typedef struct {
    const char *name;
    uint64_t offset, size;
    uint32_t link, info;
} TgSection;

/* elf.c: these fail where the file is cut short. */
TgElf tg_elf_open(WbbCx *cx, const TgCubin *cubin);
uint64_t tg_elf_number(const TgElf *e, uint64_t at, uint32_t bytes);
const char *tg_elf_text(const TgElf *e, uint64_t at);
TgSection tg_elf_section(const TgElf *e, uint64_t i);
bool tg_elf_is(const char *name, const char *prefix, const char *kernel); /* name == prefix + kernel */
/* The number of instructions in a section of code, without the padding at its end. */
uint64_t tg_elf_code(const TgElf *e, const TgSection *s);

#endif

/* lines.c: `.loc` directives: what made the instructions behind them.
 *
 * Needs the file and line of a rule, and the HLO instruction that a value came from; leaves directives in the text of a
 * module of one kernel, whose debug locations are of the rule, inlined at the instruction. Files have the names under
 * which they were given.
 *
 *     .loc 2 9 0, function_name $L__info_string0, inlined_at 1 11 35        patterns/tiles.py:9, of m.hlo:11:35
 */
#include "ir/module.h"

#include <string.h>

static uint32_t file_number(IrLines *l, const char *file)
{
    for (uint32_t i = 0; i < l->n_files; i++)
        if (!strcmp(l->files[i], file)) return i + 1;
    if (l->n_files == WBB_LEN(l->files)) return 0;
    l->files[l->n_files++] = file;
    return l->n_files;
}

/* The number of the label of an instruction's name, a string for debuggers. A location must have been mentioned before
 * code is inlined at it. */
static uint32_t name_number(IrLines *l, WbbBuf *out, uint32_t hlo_file, uint32_t origin)
{
    const IrOrigin *o = &l->origins[origin - 1];
    if (!l->name_of) l->name_of = WBB_NEW_N(l->arena, uint32_t, l->n_origins + 1), l->names = wbb_buf(l->arena);
    if (l->name_of[origin]) return l->name_of[origin] - 1;
    l->name_of[origin] = ++l->n_names;
    wbb_putf(out, "\t.loc\t%u %u %u\n", hlo_file, o->line, o->column);
    wbb_putf(&l->names, "$L__info_string%u:\n\t.b8 ", l->n_names - 1);
    for (const char *name = o->name; *name; name++) wbb_putf(&l->names, "%u,", (unsigned)(unsigned char)*name);
    wbb_put(&l->names, "0\n");
    return l->n_names - 1;
}

void ir_put_loc(IrLines *l, WbbBuf *out, const char *rule_file, uint32_t rule_line, uint32_t origin)
{
    const IrOrigin *o = origin && origin <= l->n_origins ? &l->origins[origin - 1] : NULL;
    const uint32_t hlo = o && l->hlo_file ? file_number(l, l->hlo_file) : 0;
    const uint32_t file = rule_file ? file_number(l, rule_file) : 0;
    if (file && hlo) {
        const uint32_t name = name_number(l, out, hlo, origin);
        wbb_putf(out, "\t.loc\t%u %u 0, function_name $L__info_string%u, inlined_at %u %u %u\n", file, rule_line, name,
                 hlo, o->line, o->column);
    } else if (file) wbb_putf(out, "\t.loc\t%u %u 0\n", file, rule_line);
    else if (hlo) wbb_putf(out, "\t.loc\t%u %u %u\n", hlo, o->line, o->column);
    else if (l->n_files) wbb_put(out, "\t.loc\t1 0 0\n");
}

void ir_put_line_tables(const IrLines *l, WbbBuf *out)
{
    for (uint32_t i = 0; i < l->n_files; i++) wbb_putf(out, "\t.file\t%u \"%s\"\n", i + 1, l->files[i]);
    if (l->n_names) wbb_putf(out, "\t.section\t.debug_str\n\t{\n%s\t}\n", l->names.text);
}

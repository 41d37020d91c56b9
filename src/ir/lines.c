/* lines.c: what made a line: comments, and `.loc` directives before it.
 *
 * Needs the file and line of a rule, and the HLO instruction that a value came from; leaves directives in the text of a
 * module of one kernel, whose debug locations are of the rule, inlined at the instruction. Files have the names under
 * which they were given.
 *
 *     .loc 2 9 0, function_name $L__info_string0, inlined_at 1 11 35        patterns/tiles.py:9, of m.hlo:11:35
 */
#include "ir/module.h"

#include <string.h>

/* --- makers ------------------------------------------------------------------------------------------------------ */
IrMaker ir_made_by(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    const bool lanes = n->op == OP_PACK || n->op == OP_PART || n->op == OP_SPLAT;
    const bool index = n->op != OP_INSTR && !ir_has_effects(n);
    return (IrMaker){.what = (uint8_t)(lanes ? IR_BY_LANES : index ? IR_BY_INDEX : IR_BY_NODE), .node = r};
}

void ir_put_maker(WbbBuf *out, const IrKernel *k, IrMaker m, const char *rule, const IrOrigin *origins,
                  uint32_t n_origins)
{
    static const char *const kinds[] = {
        [IR_BY_INDEX] = "index", [IR_BY_LANES] = "lanes", [IR_BY_FOR] = "for", [IR_BY_IF] = "if",
        [IR_BY_END] = "end",     [IR_BY_LABEL] = "label", [IR_BY_LLVM] = "LLVM",
    };
    const uint32_t origin = m.node ? k->g->origin[m.node] : 0;
    if (rule) wbb_put(out, rule);
    if (m.what == IR_BY_LOAD || m.what == IR_BY_STORE)
        wbb_putf(out, "%s %%%s", m.what == IR_BY_LOAD ? "load" : "store", k->buffers[m.buffer].name);
    else if (m.what != IR_BY_NODE) wbb_putf(out, "%s%s", rule ? " " : "", kinds[m.what]);
    else if (!rule) wbb_put(out, m.node ? sc_op_info[ir_at(k->g, m.node)->op].name : "kernel");
    if (origin && origin <= n_origins) wbb_putf(out, " <- %%%s", origins[origin - 1].name);
}

/* --- directives -------------------------------------------------------------------------------------------------- */
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

void ir_begin_lines(IrLines *l) { l->last_file = NULL, l->last_line = l->last_origin = 0; }

void ir_put_loc(IrLines *l, WbbBuf *out, const char *rule_file, uint32_t rule_line, uint32_t origin)
{
    if (l->last_file == rule_file && l->last_line == rule_line && l->last_origin == origin) return;
    l->last_file = rule_file, l->last_line = rule_line, l->last_origin = origin;
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

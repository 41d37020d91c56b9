/* rules_names.c: names of rules, phases and nodes, as the tools take and print them.
 *
 *     main_rule_must_exist(c, "arith.py:29")    // fails where the target has no rule of that line
 */
#include "index/index.h"
#include "main/rules.h"

#include <stdlib.h>
#include <string.h>

const char *const main_phase_name[RW_PHASE_COUNT] = {"index", "arrays", "options", "simplify", "lower", "isel"};

int main_phase(const char *name)
{
    int s = name ? 0 : -1;
    while (name && s < RW_PHASE_COUNT && strcmp(name, main_phase_name[s])) s++;
    return s;
}

const char *main_phase_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (int s = 0; s < RW_PHASE_COUNT; s++) wbb_putf(&b, "%s%s", s ? " " : "", main_phase_name[s]);
    return b.text;
}

const RwTables *main_tables(const TgTarget *t, int which) { return which == 0 ? &ix_tables : t->tables; }

/* Of the lines of `file` that have a rule, the one nearest to `line`; 0: none has. */
static uint32_t nearest_line(const TgTarget *t, const char *file, uint32_t line)
{
    uint32_t best = 0;
    for (int which = 0; which < 2; which++) {
        const RwTables *tables = main_tables(t, which);
        for (uint32_t i = 0; i < tables->n_rules; i++) {
            const RwRule *r = &tables->rules[i];
            const char *slash = strchr(r->file, '/');
            if (strcmp(r->file, file) && (!slash || strcmp(slash + 1, file))) continue;
            const uint32_t d = r->line > line ? r->line - line : line - r->line;
            if (!best || d < (best > line ? best - line : line - best)) best = r->line;
        }
    }
    return best;
}

void main_rule_must_exist(RulesCall *c, const char *name)
{
    for (int which = 0; which < 2; which++) {
        const RwTables *t = main_tables(c->target, which);
        for (uint32_t i = 0; i < t->n_rules; i++)
            if (rw_rule_is(c->arena, t, i, name)) return;
    }
    const char *colon = strchr(name, ':');
    const char *file = wbb_format(c->arena, "%.*s", (int)(colon ? colon - name : (long)strlen(name)), name);
    const uint32_t near = nearest_line(c->target, file, colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0);
    if (near)
        wbb_fail(c->cx, (WbbLoc){0}, "%s: %s has no such rule in %s; the nearest is %s:%u", name, c->target->name, file,
                 file, near);
    wbb_fail(c->cx, (WbbLoc){0},
             "%s: no rule of %s has that name; names are FILE.py:LINE or FILE.py:LINE[INSTANCE], and `warpburg rules "
             "list --target %s` prints all",
             name, c->target->name, c->target->name);
}

void main_rules_must_exist(RulesCall *c, const Words *names)
{
    for (uint32_t i = 0; i < names->n; i++) main_rule_must_exist(c, names->items[i]);
}

bool main_rule_is_one_of(WbbArena *a, const RwTables *t, uint32_t rule, const Words *names)
{
    bool yes = names->n == 0;
    for (uint32_t i = 0; i < names->n; i++) yes |= rw_rule_is(a, t, rule, names->items[i]);
    return yes;
}

int main_depth(WbbArena *a, const IrGraph *g, IrRef r)
{
    uint32_t *size = WBB_NEW_N(a, uint32_t, r + 1); /* by node: calls in its text */
    for (IrRef i = 1; i <= r; i++) {
        uint64_t sum = 1;
        for (uint32_t k = 0; ir_at(g, i)->op != OP_SUM && k < ir_arity(g, i); k++) sum += size[ir_operand(g, i, k)];
        size[i] = (uint32_t)WBB_MIN(sum, UINT32_MAX);
    }
    return size[r] <= 120 ? MAIN_DEEP : MAIN_SHALLOW + 1;
}

const char *main_reads_text(WbbArena *a, const IrGraph *g, const char *const *names, IrRef r, int depth)
{
    WbbBuf b = wbb_buf(a);
    const IrNode *n = ir_at(g, r);
    if (n->op == OP_CONST && n->type == IR_TYPE(SC_INDEX, 0)) wbb_put_i128(&b, (int64_t)n->imm); /* without ":index" */
    else ir_print_reads(&b, g, r, names, depth == MAIN_DEEP ? main_depth(a, g, r) : depth);
    return b.text;
}

const char *main_node_text(WbbArena *a, const IrGraph *g, IrRef r, int depth)
{
    return main_reads_text(a, g, NULL, r, depth);
}

const char *main_kernel_text(WbbArena *a, const IrKernel *k, const char *text)
{
    WbbBuf b = wbb_buf(a);
    while (*text) {
        char *end = NULL;
        const bool is_number = text[0] == '%' && text[1] >= '0' && text[1] <= '9';
        const unsigned long buffer = is_number ? strtoul(text + 1, &end, 10) : 0;
        if (end && *end == '[' && buffer < k->n_buffers) {
            wbb_putf(&b, "%%%s", k->buffers[buffer].name);
            text = end;
        } else {
            wbb_put_n(&b, text++, 1);
        }
    }
    return b.text;
}

const char *main_origin(WbbArena *a, const PipeResult *r, const IrGraph *g, const char *const *names, IrRef node)
{
    const uint32_t id = names || r->kernel ? g->origin[node] : 0;
    if (id && names) return wbb_format(a, "%%%s", names[id - 1]);
    if (!id || !r->fusion.body || id > r->fusion.body->n_instructions) return "";
    return wbb_format(a, "%%%s", r->fusion.body->instructions[id - 1]->name);
}

const char *main_result_text(WbbArena *a, const IrGraph *g, const RwTables *t, IrRef result, int depth)
{
    static const char *const kind[] = {"llvm", "intr", "call", "asm", "lookup"};
    const IrNode *n = ir_at(g, result);
    if (n->op != OP_INSTR) return main_node_text(a, g, result, depth);
    const RwInstr *row = &t->instrs[RW_ROW(n->imm)];
    const bool table = row->kind == RW_LOOKUP; /* too long to be read */
    return wbb_format(a, table ? "%s '%.26s ..'" : "%s '%s'", kind[row->kind], row->text);
}

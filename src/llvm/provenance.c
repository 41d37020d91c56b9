/* provenance.c: writes into LLVM's and PTX text what made each instruction.
 *
 * Needs texts with debug locations whose lines are numbers of makers (lines.c); leaves the texts without these
 * locations, with a comment after each instruction, or with `.loc` directives that name lines of pattern files, inlined
 * at lines of the HLO file. Files have the names under which they were given. Instructions that LLVM made on its own
 * are marked as such.
 *
 *     .loc 1 7 0                          add.rn.f32 %r3, %r1, %r2;       // patterns/tiles.py:9 add.f32 <- %add.3
 *     add.rn.f32 %r3, %r1, %r2;    ->     ld.param.b64 %rd1, [k_param_0]; // LLVM: parameter
 */
#include "llvm/inner.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMN = 64 };

static const RwRule *rule_of(const LlBuild *b, IrMaker m)
{
    return rw_rule_of(b->o->index_tables, b->t->tables, b->g, m);
}

static const char *comment_of(LlBuild *b, LlMaker *m)
{
    if (m->text) return m->text;
    WbbBuf out = wbb_buf(b->arena);
    rw_put_maker(&out, b->k, m->made, rule_of(b, m->made), b->o->origins, b->o->n_origins);
    return m->text = out.text;
}

/* A line with a comment in column COLUMN. */
static void put_line(WbbBuf *out, const char *line, size_t n, const char *mark, const char *text)
{
    size_t column = 0;
    for (size_t i = 0; i < n; i++) column = line[i] == '\t' ? (column / 8 + 1) * 8 : column + 1;
    wbb_put_n(out, line, n);
    wbb_putf(out, "%*s%s %s\n", column < COLUMN ? (int)(COLUMN - column) : 1, "", mark, text);
}

/* --- PTX ---------------------------------------------------------------------------------------------------------- */
typedef struct {
    LlBuild *b;
    WbbBuf out;
    bool comments;        /* write comments; else `.loc` */
    uint32_t now;         /* the maker of the next instruction */
    bool library;         /* in a libdevice function that was not inlined */
    IrLines lines;
} Ptx;

static bool starts(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

/* Is it a line that LLVM writes for debug information only? */
static bool is_debug(const char *line)
{
    static const char *const begins[] = {"\t.loc\t", "\t.file\t", "$L__tmp", "$L__func_begin", "$L__func_end",
                                         "\t.section\t.debug_macinfo"};
    for (size_t i = 0; i < WBB_LEN(begins); i++)
        if (starts(line, begins[i])) return true;
    return false;
}

/* Not a directive, a label, a brace or a comment. */
static bool is_instruction(const char *line, size_t n)
{
    while (n && (*line == '\t' || *line == ' ')) line++, n--;
    if (n == 0 || memchr("./{})($", *line, 7)) return false;
    return memchr(line, ';', n) != NULL;
}

/* `.loc` of what made the next instruction. */
static void put_loc(Ptx *p)
{
    const IrMaker m = p->b->makers.items[p->now].made;
    const RwRule *rule = rule_of(p->b, m);
    const uint32_t origin = m.node ? p->b->g->origin[m.node] : 0;
    ir_put_loc(&p->lines, &p->out, rule ? rule->file : NULL, rule ? rule->line : 0, origin);
}

static const char *ptx_comment(Ptx *p, const char *line)
{
    while (*line == '\t' || *line == ' ') line++;
    if (p->library) return "libdevice";
    if (starts(line, "ld.param")) return "LLVM: parameter";
    return comment_of(p->b, &p->b->makers.items[p->now]);
}

/* Is the function that this line begins one of the kernel's functions? Their names begin with the kernel's name. */
static bool is_kernel_function(const LlBuild *b, const char *line, size_t n)
{
    while (n > 0 && line[n - 1] != '(') n--; /* of the parameters */
    size_t start = n ? n - 1 : 0;
    while (start > 0 && line[start - 1] != ' ' && line[start - 1] != '\t') start--;
    const size_t length = strlen(b->k->name);
    return b->k->n_functions && n > start + length && !strncmp(line + start, b->k->name, length) &&
           line[start + length] == '_';
}

static const char *ptx_text(LlBuild *b, const char *text, bool comments, size_t *n_out)
{
    Ptx p = {.b = b, .out = wbb_buf(b->arena), .comments = comments};
    p.lines = (IrLines){b->arena, .hlo_file = b->o->hlo_file, .origins = b->o->origins, .n_origins = b->o->n_origins};
    for (const char *line = text, *next; *line; line = next) {
        const char *end = strchr(line, '\n');
        const size_t n = end ? (size_t)(end - line) : strlen(line);
        next = end ? end + 1 : line + n;
        if (starts(line, "\t.loc\t")) {
            char *after;
            (void)strtoul(line + strlen("\t.loc\t"), &after, 10);
            p.now = (uint32_t)strtoul(after, NULL, 10);
            if (p.now >= b->makers.n) p.now = 0;
        }
        if (is_debug(line)) continue;
        const bool entry = starts(line, ".visible .entry");
        if (entry || starts(line, ".func") || starts(line, ".weak .func") || starts(line, ".visible .func")) {
            p.library = !entry && !is_kernel_function(b, line, n);
            p.now = 0;
            ir_begin_lines(&p.lines);
        }
        if (!is_instruction(line, n) || memchr(line, '[', n) == line + 1) {
            wbb_put_n(&p.out, line, (size_t)(next - line));
            continue;
        }
        if (comments) {
            put_line(&p.out, line, n, "//", ptx_comment(&p, line));
            continue;
        }
        if (!p.library) put_loc(&p);
        wbb_put_n(&p.out, line, (size_t)(next - line));
    }
    if (!comments) ir_put_line_tables(&p.lines, &p.out);
    *n_out = p.out.n;
    return p.out.text;
}

void ll_annotate_ptx(LlBuild *b)
{
    if (!b->lines) return;
    const char *text = b->out.ptx;
    if (b->o->comments) b->out.ptx_commented = ptx_text(b, text, true, &(size_t){0});
    if (b->o->lines) {
        b->out.ptx = ptx_text(b, text, false, &b->out.n_ptx);
        return;
    }
    WbbBuf plain = wbb_buf(b->arena);
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        const size_t n = end ? (size_t)(end - line) + 1 : strlen(line);
        if (!is_debug(line)) wbb_put_n(&plain, line, n);
        line += n;
    }
    b->out.ptx = plain.text;
    b->out.n_ptx = plain.n;
}

/* --- LLVM --------------------------------------------------------------------------------------------------------- */
/* The makers of all instructions, in the order in which LLVM prints them. */
static uint32_t *numbers(LlBuild *b, LLVMModuleRef module, uint32_t *n)
{
    struct {
        uint32_t *items;
        uint32_t n, capacity;
    } list = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
                const uint32_t line = LLVMInstructionGetDebugLoc(i) ? LLVMGetDebugLocLine(i) : 0;
                WBB_PUSH(b->arena, &list, line < b->makers.n ? line : 0);
            }
    *n = list.n;
    return list.items;
}

const char *ll_print_llvm(LlBuild *b)
{
    const char *text;
    if (!b->lines) {
        ll_take_text(b, LLVMPrintModuleToString(b->module), &text, NULL);
        return text;
    }
    LLVMModuleRef copy = LLVMCloneModule(b->module);
    uint32_t n, at = 0;
    const uint32_t *makers = numbers(b, copy, &n);
    LLVMStripModuleDebugInfo(copy);
    ll_take_text(b, LLVMPrintModuleToString(copy), &text, NULL);
    LLVMDisposeModule(copy);
    if (!b->o->comments) return text;
    WbbBuf out = wbb_buf(b->arena);
    for (const char *line = text, *next; *line; line = next) {
        const char *end = strchr(line, '\n');
        const size_t length = end ? (size_t)(end - line) : strlen(line);
        next = end ? end + 1 : line + length;
        /* Cases of a switch are indented more deeply. */
        const bool instruction = starts(line, "  ") && line[2] != ' ' && line[2] != ']' && length > 2;
        if (instruction && at < n) put_line(&out, line, length, ";", comment_of(b, &b->makers.items[makers[at++]]));
        else wbb_put_n(&out, line, (size_t)(next - line));
    }
    return out.text;
}

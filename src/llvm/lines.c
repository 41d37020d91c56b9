/* lines.c: what made each LLVM instruction: the rule, the node's kind, the HLO instruction.
 *
 * Needs a module under construction; leaves debug information whose line numbers are numbers of a table of makers, LlMaker: LLVM
 * carries them through every pass, inlining included (a body without debug information takes the place of its call, so libdevice's
 * code counts for the rule that called it), and gives what it merges or makes on its own line 0 or none. provenance.c turns the
 * numbers into comments or `.loc`. LLVM's text is the same with and without, but for directives and labels.
 *
 *     tanh.f32 of %tanh.3, by patterns/sm90.py:31  ->  maker 7  ->  !DILocation(line: 7)  ->  .loc 1 7 0
 */
#include "llvm/inner.h"

#include <llvm-c/Support.h>
#include <string.h>
#include <threads.h>

enum { DIRECTIVES_ONLY = 3 }; /* LLVM has this emission kind, its C header does not name it */

static once_flag unknown_told = ONCE_FLAG_INIT;

/* An instruction that LLVM makes on its own must not look like the one before it. LLVM has no other way to ask for that than an
 * option of the process; it changes nothing but where `.loc` of line 0 stand. */
static void tell_unknown(void)
{
    static const char *const options[] = {"warpburg", "-use-unknown-locations=Enable"};
    LLVMParseCommandLineOptions((int)WBB_LEN(options), options, "");
}

void ll_lines_begin(LlBuild *b)
{
    if (!b->o->lines && !b->o->comments) return;
    call_once(&unknown_told, tell_unknown);
    b->lines = LLVMCreateDIBuilder(b->module);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(b->lines, "makers", 6, "", 0);
    LLVMDIBuilderCreateCompileUnit(b->lines, LLVMDWARFSourceLanguageC, file, "warpburg", 8, true, "", 0, 0, "", 0,
                                   (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, false, false, "", 0, "", 0);
    b->lines_file = file;
    const LlMaker nobody = {0};
    WBB_PUSH(b->arena, &b->makers, nobody); /* number 0: LLVM itself */
}

void ll_lines_function(LlBuild *b, const char *name)
{
    if (!b->lines) return;
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(b->lines, b->lines_file, NULL, 0, LLVMDIFlagZero);
    b->program = LLVMDIBuilderCreateFunction(b->lines, b->lines_file, name, strlen(name), name, strlen(name), b->lines_file, 0, type, false, true, 0,
                                             LLVMDIFlagZero, true);
    LLVMSetSubprogram(b->function, b->program);
}

static uint32_t number_of(LlBuild *b, const LlMaker *m)
{
    const uint32_t key[4] = {m->what, m->rule, m->origin, m->detail};
    WbbEntry *e = wbb_map_put_bytes(&b->maker_numbers, key, sizeof key);
    if (e->value == 0) {
        e->value = b->makers.n;
        WBB_PUSH(b->arena, &b->makers, *m);
    }
    return (uint32_t)e->value;
}

static void set(LlBuild *b, LlMaker m)
{
    const uint32_t n = number_of(b, &m);
    LlMaker *made = &b->makers.items[n];
    if (!made->place || made->in != b->program) made->in = b->program, made->place = LLVMDIBuilderCreateDebugLocation(b->llvm, n, 0, b->program, NULL);
    LLVMSetCurrentDebugLocation2(b->builder, made->place);
}

void ll_lines_at(LlBuild *b, IrRef r)
{
    if (!b->lines) return;
    const IrNode *n = ir_at(b->g, r);
    LlMaker m = {.what = LL_BY_INDEX, .rule = b->g->rule[r], .origin = b->g->origin[r]};
    if (n->op == OP_LOAD) m = (LlMaker){.what = LL_BY_LOAD, .origin = m.origin, .detail = (uint32_t)ir_at(b->g, n->a[0])->imm};
    else if (n->op == OP_PACK || n->op == OP_PART || n->op == OP_SPLAT) m = (LlMaker){.what = LL_BY_LANES, .origin = m.origin};
    else if (n->op == OP_INSTR) m.what = LL_BY_INSTR, m.detail = n->type;
    else if (!(m.rule & IR_INDEX_RULE)) m.rule = 0;
    set(b, m);
}

void ll_lines_store(LlBuild *b, const IrStmt *s)
{
    if (b->lines) set(b, (LlMaker){.what = LL_BY_STORE, .origin = b->g->origin[s->value], .detail = s->buffer});
}

void ll_lines_control(LlBuild *b, LlWhat what)
{
    if (b->lines) set(b, (LlMaker){.what = what});
}

void ll_lines_end(LlBuild *b)
{
    if (b->lines) LLVMDIBuilderFinalize(b->lines);
}

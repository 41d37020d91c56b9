/* lines.c: records what made each LLVM instruction: the rule, the kind of node, the HLO instruction.
 *
 * Needs a module under construction; leaves debug information whose line numbers are indices into a table of makers,
 * LlMaker. LLVM keeps them through every pass. An inlined body without debug information gets the location of its call,
 * so libdevice's code counts for the rule that called it. Instructions that LLVM merges or makes on its own have line 0
 * or no location. provenance.c turns the numbers into comments or `.loc`. With and without this, LLVM's text differs in
 * directives and labels only.
 *
 *     tanh.f32 of %tanh.3, by patterns/sm90.py:31  ->  maker 7  ->  !DILocation(line: 7)  ->  .loc 1 7 0
 */
#include "llvm/inner.h"

#include <llvm-c/Support.h>
#include <string.h>
#include <threads.h>

enum { DIRECTIVES_ONLY = 3 }; /* an emission kind of LLVM that its C header does not name */

static once_flag options_set = ONCE_FLAG_INIT;

/* An instruction that LLVM makes on its own must not keep the location of the instruction before it. LLVM offers only
 * an option of the process for that; the option does no more than add `.loc` with line 0. */
static void set_options(void)
{
    static const char *const options[] = {"warpburg", "-use-unknown-locations=Enable"};
    LLVMParseCommandLineOptions((int)WBB_LEN(options), options, "");
}

void ll_lines_begin(LlBuild *b)
{
    if (!b->o->lines && !b->o->comments) return;
    call_once(&options_set, set_options);
    b->lines = LLVMCreateDIBuilder(b->module);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(b->lines, "makers", 6, "", 0);
    LLVMDIBuilderCreateCompileUnit(b->lines, LLVMDWARFSourceLanguageC, file, "warpburg", 8, true, "", 0, 0, "", 0,
                                   (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, false, false, "", 0, "", 0);
    b->lines_file = file;
    const LlMaker nobody = {.made.what = IR_BY_LLVM};
    WBB_PUSH(b->arena, &b->makers, nobody); /* number 0: LLVM */
}

void ll_lines_function(LlBuild *b, const char *name)
{
    if (!b->lines) return;
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(b->lines, b->lines_file, NULL, 0, LLVMDIFlagZero);
    b->program = LLVMDIBuilderCreateFunction(b->lines, b->lines_file, name, strlen(name), name, strlen(name),
                                             b->lines_file, 0, type, false, true, 0, LLVMDIFlagZero, true);
    LLVMSetSubprogram(b->function, b->program);
}

static uint32_t number_of(LlBuild *b, IrMaker m)
{
    const uint32_t key[3] = {m.what, m.node, m.buffer};
    WbbEntry *e = wbb_map_put_bytes(&b->maker_numbers, key, sizeof key);
    const LlMaker maker = {.made = m};
    if (e->value == 0) {
        e->value = b->makers.n;
        WBB_PUSH(b->arena, &b->makers, maker);
    }
    return (uint32_t)e->value;
}

static void set(LlBuild *b, IrMaker m)
{
    if (!b->lines) return;
    const uint32_t n = number_of(b, m);
    LlMaker *maker = &b->makers.items[n];
    if (!maker->location || maker->function != b->program) {
        maker->function = b->program;
        maker->location = LLVMDIBuilderCreateDebugLocation(b->llvm, n, 0, b->program, NULL);
    }
    LLVMSetCurrentDebugLocation2(b->builder, maker->location);
}

void ll_lines_at(LlBuild *b, IrRef r) { set(b, ir_made_by(b->g, r)); }

void ll_lines_access(LlBuild *b, IrWhat what, IrRef value, uint32_t buffer)
{
    set(b, (IrMaker){(uint8_t)what, value, buffer});
}

void ll_lines_control(LlBuild *b, IrWhat what) { set(b, (IrMaker){.what = (uint8_t)what}); }

void ll_lines_end(LlBuild *b)
{
    if (b->lines) LLVMDIBuilderFinalize(b->lines);
}

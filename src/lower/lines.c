/* lines.c: `.loc`: which rule made an instruction of the PTX.
 *
 * Needs a module under construction; leaves debug information of the kind that becomes `.file` and `.loc` directives and nothing
 * else: no debug sections, and the same machine code. What no rule made has line 0.
 *
 *     .file 1 "patterns/sm90.py"
 *     .loc  1 31 0
 *     tanh.approx.f32 %r5, %r4;
 */
#include "lower/inner.h"

#include <string.h>

enum { DIRECTIVES_ONLY = 3 }; /* LLVM has this emission kind, its C header does not name it */

void ll_lines_begin(LlBuild *b)
{
    if (!b->o->lines) return;
    const char *file = b->t->tables->n_rules ? b->t->tables->rules[0].file : "patterns";
    b->lines = LLVMCreateDIBuilder(b->module);
    LLVMMetadataRef unit_file = LLVMDIBuilderCreateFile(b->lines, file, strlen(file), "", 0);
    LLVMDIBuilderCreateCompileUnit(b->lines, LLVMDWARFSourceLanguageC, unit_file, "warpburg", 8, true, "", 0, 0, "", 0,
                                   (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, false, false, "", 0, "", 0);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(b->lines, unit_file, NULL, 0, LLVMDIFlagZero);
    const char *name = b->k->name;
    b->program = LLVMDIBuilderCreateFunction(b->lines, unit_file, name, strlen(name), name, strlen(name), unit_file, 0, type, false,
                                             true, 0, LLVMDIFlagZero, true);
    LLVMSetSubprogram(b->function, b->program);
    LLVMMetadataRef version = LLVMValueAsMetadata(LLVMConstInt(b->i32, LLVMDebugMetadataVersion(), false));
    LLVMAddModuleFlag(b->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18, version);
    b->nowhere = LLVMDIBuilderCreateDebugLocation(b->llvm, 0, 0, b->program, NULL);
    const uint32_t n = b->t->tables->n_rules + (b->o->index_tables ? b->o->index_tables->n_rules : 0);
    b->locations = WBB_NEW_N(b->arena, LLVMMetadataRef, n + 1);
}

static LLVMMetadataRef location(LlBuild *b, IrRef r)
{
    const uint32_t made_by = r ? b->g->rule[r] : 0, number = made_by & ~IR_INDEX_RULE;
    if (number == 0) return b->nowhere;
    const bool index = made_by & IR_INDEX_RULE;
    const RwTables *t = index ? b->o->index_tables : b->t->tables;
    if (!t || number > t->n_rules) return b->nowhere;
    LLVMMetadataRef *slot = &b->locations[(index ? b->t->tables->n_rules : 0) + number - 1];
    if (!*slot) {
        const RwRule *rule = &t->rules[number - 1];
        LLVMMetadataRef file = LLVMDIBuilderCreateFile(b->lines, rule->file, strlen(rule->file), "", 0);
        LLVMMetadataRef scope = LLVMDIBuilderCreateLexicalBlockFile(b->lines, b->program, file, 0);
        *slot = LLVMDIBuilderCreateDebugLocation(b->llvm, rule->line, 0, scope, NULL);
    }
    return *slot;
}

void ll_lines_at(LlBuild *b, IrRef r)
{
    if (b->lines) LLVMSetCurrentDebugLocation2(b->builder, location(b, r));
}

void ll_lines_end(LlBuild *b)
{
    if (b->lines) LLVMDIBuilderFinalize(b->lines);
}

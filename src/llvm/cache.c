/* cache.c: LLVM's code generators for our targets, and its fatal errors.
 *
 * Needs a target; leaves a target machine, kept for the next compile. LLVM accepts an unknown processor with no more than a
 * message on stderr, and left alone takes the first PTX version that has a processor, under which many instructions fail to
 * select: what exists stands here, and the version is the target's own.
 *
 * Between instruction selection and what we have optimised, LLVM's code generator reassociates sums and looks for products to share,
 * and what it knows of a sum of n terms takes n terms: hashes of many rounds are quadratic (16,000 operations, 17 s). So there
 * are two machines: that one, and one for huge bodies, which selects and no more (0.6 s; ptxas makes the same code of both).
 *
 *     ll_machine(s, sm_90, false): -mcpu=sm_90 -mattr=+ptx88 -O2
 */
#include "llvm/inner.h"

#include <string.h>
#include <threads.h>

/* Processors that ptxas 13 takes, and the first PTX version (times ten) that has them: a lower one is a fatal error of LLVM. */
static const struct {
    const char *name;
    uint32_t first;
} processors[] = {
    {"sm_75", 63},   {"sm_80", 70},   {"sm_86", 71},   {"sm_87", 74},   {"sm_88", 90},   {"sm_89", 78},
    {"sm_90", 78},   {"sm_90a", 80},  {"sm_100", 86},  {"sm_100a", 86}, {"sm_100f", 88}, {"sm_103", 88},
    {"sm_103a", 88}, {"sm_103f", 88}, {"sm_110", 90},  {"sm_110a", 90}, {"sm_110f", 90}, {"sm_120", 87},
    {"sm_120a", 87}, {"sm_120f", 88}, {"sm_121", 88},  {"sm_121a", 88}, {"sm_121f", 88},
};
enum { LAST_VERSION = 90 }; /* that LLVM 22 writes */

static once_flag initialised = ONCE_FLAG_INIT;

/* LLVM's handler takes no argument and must not return, hence one place per thread to jump to. */
static _Thread_local LlFatal *catching;

static void on_fatal(const char *reason)
{
    if (!catching) return; /* not ours: LLVM goes on to end the process, as it would without us */
    const size_t n = WBB_MIN(strlen(reason), sizeof catching->text - 1);
    memcpy(catching->text, reason, n);
    catching->text[n] = 0;
    longjmp(catching->jump, 1);
}

static void initialise(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInstallFatalErrorHandler(on_fatal);
}

LlFatal *ll_catch(LlFatal *f)
{
    LlFatal *former = catching;
    catching = f;
    return former;
}

/* "8.8" -> 88; 0 if it is nothing of the kind */
static uint32_t ptx_version(const char *text)
{
    if (strlen(text) != 3 || text[0] < '0' || text[0] > '9' || text[1] != '.' || text[2] < '0' || text[2] > '9') return 0;
    return (uint32_t)(text[0] - '0') * 10 + (uint32_t)(text[2] - '0');
}

static LLVMTargetMachineRef machine_new(LlCache *s, const TgTarget *t, bool huge)
{
    size_t i = 0;
    while (i < WBB_LEN(processors) && strcmp(processors[i].name, t->name) != 0) i++;
    if (i == WBB_LEN(processors)) wbb_fail(s->cx, (WbbLoc){0}, "target '%s' is no processor that this version knows", t->name);
    const uint32_t version = ptx_version(t->ptx);
    if (version < processors[i].first || version > LAST_VERSION)
        wbb_fail(s->cx, (WbbLoc){0}, "target '%s' and PTX %s do not go together", t->name, t->ptx);
    const char *feature = wbb_format(s->arena, "+ptx%u", version);
    call_once(&initialised, initialise);

    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &message)) {
        const char *text = wbb_format(s->arena, "%s", message);
        LLVMDisposeMessage(message);
        wbb_fail(s->cx, (WbbLoc){0}, "LLVM: %s", text);
    }
    return LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", t->name, feature,
                                   huge ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
}

LLVMTargetMachineRef ll_machine(LlCache *s, const TgTarget *t, bool huge)
{
    for (uint32_t i = 0; i < s->n_machines; i++)
        if (s->machines[i].target == t && s->machines[i].huge == huge) return s->machines[i].machine;
    LLVMTargetMachineRef made = machine_new(s, t, huge);
    if (s->n_machines == WBB_LEN(s->machines)) { /* the oldest goes */
        LLVMDisposeTargetMachine(s->machines[0].machine);
        memmove(s->machines, s->machines + 1, sizeof s->machines - sizeof *s->machines);
        s->n_machines--;
    }
    s->machines[s->n_machines].target = t;
    s->machines[s->n_machines].huge = huge;
    s->machines[s->n_machines++].machine = made;
    return made;
}

void ll_forget_machine(LlCache *s, const TgTarget *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_machines; i++)
        if (s->machines[i].target != t) s->machines[n++] = s->machines[i];
    s->n_machines = n;
}

LlCache *ll_cache_new(WbbCx *cx)
{
    WbbArena *arena = wbb_arena_new(cx);
    LlCache *s = WBB_NEW(arena, LlCache);
    s->cx = cx;
    s->arena = arena;
    return s;
}

void ll_cache_free(LlCache *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->n_machines; i++) LLVMDisposeTargetMachine(s->machines[i].machine);
    wbb_arena_free(s->arena);
}

/* cache.c: LLVM's code generators for the targets, and LLVM's fatal errors.
 *
 * Needs a target; leaves a target machine, kept for the next compile. LLVM only prints a warning for an unknown
 * processor, and by default uses the first PTX version that has the processor, for which it cannot select many
 * instructions. So this file lists the processors, and the PTX version is the target's own.
 *
 * Before it selects instructions, LLVM's code generator reassociates sums and looks for common products, in time
 * proportional to the terms of each sum: it is quadratic for a hash of many rounds (16,000 operations take 17 s). So a
 * target has two machines: the usual one, and one for huge functions that leaves these improvements out (0.6 s; ptxas
 * makes the same code of both).
 *
 *     ll_machine(s, sm_90, false): -mcpu=sm_90 -mattr=+ptx88 -O2
 */
#include "llvm/inner.h"

#include <string.h>
#include <threads.h>

/* The processors that ptxas 13 knows, and the first PTX version (times ten) of each: LLVM ends with a fatal error for a
 * lower one. */
static const struct {
    const char *name;
    uint32_t first;
} processors[] = {
    {"sm_75", 63},   {"sm_80", 70},   {"sm_86", 71},   {"sm_87", 74},   {"sm_88", 90},   {"sm_89", 78},
    {"sm_90", 78},   {"sm_90a", 80},  {"sm_100", 86},  {"sm_100a", 86}, {"sm_100f", 88}, {"sm_103", 88},
    {"sm_103a", 88}, {"sm_103f", 88}, {"sm_110", 90},  {"sm_110a", 90}, {"sm_110f", 90}, {"sm_120", 87},
    {"sm_120a", 87}, {"sm_120f", 88}, {"sm_121", 88},  {"sm_121a", 88}, {"sm_121f", 88},
};
enum { LAST_VERSION = 90 }; /* the last that LLVM 22 writes */

static once_flag initialised = ONCE_FLAG_INIT;

/* LLVM's handler has no argument of ours and must not return; so each thread has one target to jump to. */
static _Thread_local LlFatal *catching;

static void on_fatal(const char *reason)
{
    if (!catching) return; /* not in a compile of ours: LLVM ends the process */
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
    LlFatal *previous = catching;
    catching = f;
    return previous;
}

/* "8.8" -> 88; 0 for a text of another form */
static uint32_t ptx_version(const char *text)
{
    static const char digits[] = "0123456789";
    if (strlen(text) != 3 || !strchr(digits, text[0]) || text[1] != '.' || !strchr(digits, text[2])) return 0;
    return (uint32_t)(text[0] - '0') * 10 + (uint32_t)(text[2] - '0');
}

static LLVMTargetMachineRef machine_new(LlCache *s, const TgTarget *t, bool huge)
{
    size_t i = 0;
    while (i < WBB_LEN(processors) && strcmp(processors[i].name, t->name) != 0) i++;
    if (i == WBB_LEN(processors)) wbb_fail(s->cx, (WbbLoc){0}, "target '%s' is not a known processor", t->name);
    const uint32_t version = ptx_version(t->ptx);
    if (version < processors[i].first || version > LAST_VERSION)
        wbb_fail(s->cx, (WbbLoc){0}, "target '%s' does not support PTX %s", t->name, t->ptx);
    const char *feature = wbb_format(s->arena, "+ptx%u", version);
    call_once(&initialised, initialise);

    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &message)) {
        const char *text = wbb_format(s->arena, "%s", message);
        LLVMDisposeMessage(message);
        wbb_fail(s->cx, (WbbLoc){0}, "LLVM: %s", text);
    }
    const LLVMCodeGenOptLevel level = huge ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
    return LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", t->name, feature, level, LLVMRelocDefault,
                                   LLVMCodeModelDefault);
}

LLVMTargetMachineRef ll_machine(LlCache *s, const TgTarget *t, bool huge)
{
    for (uint32_t i = 0; i < s->n_machines; i++)
        if (s->machines[i].target == t->name && s->machines[i].ptx == t->ptx && s->machines[i].huge == huge)
            return s->machines[i].machine;
    LLVMTargetMachineRef made = machine_new(s, t, huge);
    if (s->n_machines == WBB_LEN(s->machines)) { /* dispose of the oldest */
        LLVMDisposeTargetMachine(s->machines[0].machine);
        memmove(s->machines, s->machines + 1, sizeof s->machines - sizeof *s->machines);
        s->n_machines--;
    }
    s->machines[s->n_machines].target = t->name;
    s->machines[s->n_machines].ptx = t->ptx;
    s->machines[s->n_machines].huge = huge;
    s->machines[s->n_machines++].machine = made;
    return made;
}

void ll_forget_machine(LlCache *s, const TgTarget *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_machines; i++)
        if (s->machines[i].target != t->name || s->machines[i].ptx != t->ptx) s->machines[n++] = s->machines[i];
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

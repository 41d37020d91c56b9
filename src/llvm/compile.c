/* compile.c: one kernel through LLVM: build the module, link libdevice, optimise, generate code.
 *
 * Needs a kernel after `isel`; leaves PTX text. The compile fails on everything that LLVM reports: diagnostics of
 * severity error, which LLVM's functions do not return; functions without a definition, which the assembler would
 * reject; and fatal errors, after which LLVM's objects are neither used nor disposed of. On every other path they are
 * disposed of.
 *
 *     out.ptx: ".version 8.8 .target sm_90 .. .visible .entry gelu( .. ) .maxntid 128 { .. }"
 */
#include "llvm/inner.h"

#include <llvm-c/Analysis.h>
#include <string.h>

/* As good as O2 on every kernel tried, in a quarter of its time. */
#define FUNCTION_PASSES                                                                                   \
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(loop-rotate,licm)," \
    "early-cse<memssa>,dce)"
static const char passes_alone[] = FUNCTION_PASSES;
static const char passes_with_library[] = "function(simplifycfg),always-inline,globaldce," FUNCTION_PASSES;
/* For huge functions, whose machine leaves its own improvements out: split constants off addresses, so that loads take
 * them as immediate offsets, and join neighbouring accesses. */
static const char passes_huge[] = "function(separate-const-offset-from-gep,early-cse,load-store-vectorizer)";
/* From this number of integer sums and products on a function is huge: at it, the usual machine takes 0.1 s. Index
 * arithmetic of real fusions has at most 164; hashes of hundreds of rounds have thousands. */
enum { MANY_SUMS = 200 };
/* Bytes that LLVM takes at most: where it gets none it ends the process. Measured: 15 MB for the largest of the corpus,
 * 820 bytes a node for 200,000 nodes with libdevice's functions among them. */
enum { LLVM_BYTES = 16 << 20, LLVM_NODE_BYTES = 1 << 10 };

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
    LlBuild *b = arg;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
    char *text = LLVMGetDiagInfoDescription(info);
    const size_t have = strlen(b->diagnostics), capacity = sizeof b->diagnostics - have - 3;
    const size_t n = WBB_MIN(strlen(text), capacity);
    if (have > 0 && n > 0) strcat(b->diagnostics, "; ");
    strncat(b->diagnostics, text, n);
    LLVMDisposeMessage(text);
    b->n_errors++;
}

static void check(LlBuild *b, const char *step)
{
    if (b->n_errors > 0) wbb_fail(b->cx, (WbbLoc){0}, "@%s: LLVM %s: %s", b->k->name, step, b->diagnostics);
}

static void open_module(LlBuild *b)
{
    b->machine = ll_machine(b->cache, b->t, false);
    b->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(b->llvm, on_diagnostic, b);
    LLVMContextSetDiscardValueNames(b->llvm, !b->o->keep_llvm);
    b->module = LLVMModuleCreateWithNameInContext(b->k->name, b->llvm);
    LLVMSetTarget(b->module, "nvptx64-nvidia-cuda");
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(b->machine);
    LLVMSetModuleDataLayout(b->module, layout);
    LLVMDisposeTargetData(layout);
    b->builder = LLVMCreateBuilderInContext(b->llvm);
    b->i1 = LLVMInt1TypeInContext(b->llvm);
    b->i8 = LLVMInt8TypeInContext(b->llvm);
    b->i16 = LLVMInt16TypeInContext(b->llvm);
    b->i32 = LLVMInt32TypeInContext(b->llvm);
    b->i64 = LLVMInt64TypeInContext(b->llvm);
}

static void verify(LlBuild *b)
{
    char *text = NULL;
    if (LLVMVerifyModule(b->module, LLVMReturnStatusAction, &text)) {
        b->text = text;
        wbb_fail(b->cx, (WbbLoc){0}, "@%s: LLVM's verifier: %s", b->k->name, text);
    }
    LLVMDisposeMessage(text);
}

static void run_passes(LlBuild *b, const char *passes)
{
    LLVMErrorRef error = LLVMRunPasses(b->module, passes, b->machine, b->passes);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        const char *copy = wbb_format(b->arena, "%s", text);
        LLVMDisposeErrorMessage(text);
        wbb_fail(b->cx, (WbbLoc){0}, "@%s: LLVM's passes: %s", b->k->name, copy);
    }
    check(b, "optimising");
}

/* Has a function so many integer additions and products that the usual machine, quadratic in their number, takes too
 * long? */
static bool is_huge(LlBuild *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        uint32_t n = 0;
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
                const LLVMOpcode op = LLVMGetInstructionOpcode(i);
                n += op == LLVMAdd || op == LLVMSub || op == LLVMMul;
            }
        if (n >= MANY_SUMS) return true;
    }
    return false;
}

static void optimise(LlBuild *b)
{
    b->passes = LLVMCreatePassBuilderOptions();
    run_passes(b, b->out.n_libdevice ? passes_with_library : passes_alone);
    ll_plain_addresses(b);
    ll_keep_zeros(b);
    ll_keep_maxima(b);
    if (is_huge(b)) {
        b->machine = ll_machine(b->cache, b->t, true);
        run_passes(b, passes_huge);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        if (LLVMIsDeclaration(f) && LLVMGetIntrinsicID(f) == 0 && LLVMGetFirstUse(f))
            wbb_fail(b->cx, (WbbLoc){0}, "@%s: nothing defines %s", b->k->name, LLVMGetValueName(f));
}

/* Functions of libdevice that stay calls: the same one is not the same in two kernels after LLVM saw its callers. */
static void name_functions(LlBuild *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); b->o->kernel && f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) != LLVMInternalLinkage) continue;
        const char *name = wbb_format(b->arena, "%s_%u", LLVMGetValueName(f), (unsigned)b->o->kernel);
        LLVMSetValueName2(f, name, strlen(name));
    }
}

static void generate(LlBuild *b)
{
    name_functions(b);
    char *text = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(b->machine, b->module, LLVMAssemblyFile, &text, &b->memory)) {
        b->text = text;
        wbb_fail(b->cx, (WbbLoc){0}, "@%s: LLVM generating code: %s", b->k->name, text);
    }
    check(b, "generating code");
    b->out.n_ptx = LLVMGetBufferSize(b->memory);
    char *ptx = wbb_alloc(b->arena, b->out.n_ptx + 1);
    memcpy(ptx, LLVMGetBufferStart(b->memory), b->out.n_ptx);
    b->out.ptx = ptx;
    ll_annotate_ptx(b);
}

static void compile(LlBuild *b)
{
    open_module(b);
    ll_build(b);
    verify(b);
    if (b->o->keep_llvm) b->out.llvm_before = ll_print_llvm(b);

    double since = wbb_cpu_ms();
    ll_link(b);
    check(b, "linking");
    b->out.ms_link = wbb_cpu_ms() - since;

    since = wbb_cpu_ms();
    optimise(b);
    b->out.ms_optimise = wbb_cpu_ms() - since;
    if (b->o->keep_llvm) b->out.llvm_after = ll_print_llvm(b);

    since = wbb_cpu_ms();
    generate(b);
    b->out.ms_codegen = wbb_cpu_ms() - since;
}

/* Called by wbb_guard. */
static void catch_fatal(WbbCx *cx, void *arg)
{
    LlBuild *b = arg;
    LlFatal *fatal = WBB_NEW(b->arena, LlFatal);
    ll_catch(fatal);
    const size_t bytes = LLVM_BYTES + (size_t)b->g->n * LLVM_NODE_BYTES;
    wbb_reserve(cx, bytes, "LLVM");
    b->reserved = bytes;
    if (setjmp(fatal->jump)) {
        b->abandoned = true;
        wbb_fail(cx, (WbbLoc){0}, "@%s: LLVM gave up: %s", b->k->name, fatal->text);
    }
    compile(b);
}

static void dispose(LlBuild *b)
{
    if (b->abandoned) {
        ll_forget_machine(b->cache, b->t);
        return;
    }
    if (b->text) LLVMDisposeMessage(b->text);
    if (b->memory) LLVMDisposeMemoryBuffer(b->memory);
    if (b->passes) LLVMDisposePassBuilderOptions(b->passes);
    if (b->lines) LLVMDisposeDIBuilder(b->lines);
    if (b->builder) LLVMDisposeBuilder(b->builder);
    if (b->module) LLVMDisposeModule(b->module);
    if (b->llvm) LLVMContextDispose(b->llvm);
}

bool ll_is_there(void) { return true; }

LlOutput ll_compile(WbbCx *cx, WbbArena *a, const IrKernel *k, const TgTarget *t, const LlOptions *o)
{
    LlBuild *b = WBB_NEW(a, LlBuild);
    b->cx = cx;
    b->arena = b->called.arena = b->offsets.arena = b->maker_numbers.arena = a;
    b->k = k;
    b->g = k->g;
    b->t = t;
    b->o = o;
    b->cache = o->cache ? o->cache : ll_cache_new(cx);
    LlFatal *previous = ll_catch(NULL);
    const WbbStatus status = wbb_guard(cx, catch_fatal, b);
    ll_catch(previous);
    dispose(b);
    wbb_release(b->reserved);
    if (!o->cache) ll_cache_free(b->cache);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return b->out;
}

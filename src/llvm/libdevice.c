/* libdevice.c: finds libdevice, NVIDIA's library of math functions, and links the functions that a kernel calls.
 *
 * Needs a built module; leaves a module in which every `__nv_` function that is called has a body. The bitcode is
 * opened lazily and its definitions are made linkonce_odr: LLVM's linker then links only what is called and reads only
 * those bodies (under 1 ms, 20 times less than linking all). Calls of `__nvvm_reflect` are replaced here, because the
 * results of LLVM's own pass depend on the passes around it: FTZ 0, ARCH 10 * sm, PREC_SQRT 1.
 *
 *     call float @__nv_tanhf(float %x)  ->  a body, to be inlined; out.libdevice = {"__nv_tanhf"}
 */
#include "llvm/inner.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

static const char *const usual_paths[] = {
    "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
    "/usr/lib/cuda/nvvm/libdevice/libdevice.10.bc",
    "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc",
    "/opt/cuda/nvvm/libdevice/libdevice.10.bc",
};

const char *ll_find_libdevice(WbbCx *cx, WbbArena *a, const char *const *extra)
{
    const char *own = getenv("WARPBURG_LIBDEVICE");
    if (own && *own) return wbb_file_exists(own) ? own : NULL; /* an explicit path has no fallback */
    for (; extra && *extra; extra++)
        if (wbb_file_exists(*extra)) return *extra;
    for (size_t i = 0; i < WBB_LEN(usual_paths); i++)
        if (wbb_file_exists(usual_paths[i])) return usual_paths[i];
    const char *ptxas = tg_find_ptxas(cx, a), *slash = ptxas ? strrchr(ptxas, '/') : NULL;
    if (slash) {
        const char *near = wbb_format(a, "%.*s/../nvvm/libdevice/libdevice.10.bc", (int)(slash - ptxas), ptxas);
        if (wbb_file_exists(near)) return near;
    }
    return tg_find_in_packages(cx, a, "nvvm/libdevice/libdevice.10.bc");
}

static void need_libdevice(LlBuild *b)
{
    LlCache *s = b->cache;
    if (s->bytes) return;
    const char *path = ll_find_libdevice(b->cx, b->arena, b->o->libdevice);
    if (!path)
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_LIBDEVICE, "@%s calls %s; set WARPBURG_LIBDEVICE to a libdevice.10.bc",
                    b->k->name, b->out.libdevice[0]);
    const char *bytes = wbb_read_file(b->cx, s->arena, path, &s->n_bytes);
    s->libdevice = wbb_format(s->arena, "%s", path);
    s->bytes = bytes;
}

static void link_lazily(LlBuild *b)
{
    const LlCache *s = b->cache;
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(s->bytes, s->n_bytes, "libdevice", false);
    LLVMModuleRef library;
    if (LLVMGetBitcodeModuleInContext2(b->llvm, memory, &library)) /* owns the buffer from here on, even if it fails */
        wbb_fail(b->cx, (WbbLoc){b->cache->libdevice, 0, 0}, "this is not LLVM bitcode");
    LLVMSetTarget(library, LLVMGetTarget(b->module));
    LLVMSetModuleDataLayout(library, LLVMGetModuleDataLayout(b->module));
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    if (LLVMLinkModules2(b->module, library)) /* owns the library from here on */
        wbb_fail(b->cx, (WbbLoc){b->cache->libdevice, 0, 0}, "cannot be linked: %s", b->diagnostics);
}

/* Make all but the kernel internal, so that LLVM drops functions after inlining them. */
static void internalize(LlBuild *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        if (f != b->function && !LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMInternalLinkage);
    for (LLVMValueRef v = LLVMGetFirstGlobal(b->module); v; v = LLVMGetNextGlobal(v))
        if (!LLVMIsDeclaration(v)) LLVMSetLinkage(v, LLVMInternalLinkage);
}

/* The result of __nvvm_reflect for a key. */
static uint64_t reflect_value(const LlBuild *b, LLVMValueRef argument)
{
    if (LLVMIsAConstantExpr(argument)) argument = LLVMGetOperand(argument, 0);
    LLVMValueRef text = LLVMIsAGlobalVariable(argument) ? LLVMGetInitializer(argument) : NULL;
    size_t n = 0;
    const char *key = text && LLVMIsConstantString(text) ? LLVMGetAsString(text, &n) : "";
    if (strncmp(key, "__CUDA_FTZ", n) == 0) return 0;
    if (strncmp(key, "__CUDA_PREC_SQRT", n) == 0) return 1;
    if (strncmp(key, "__CUDA_ARCH", n) == 0) return 10 * strtoull(b->t->name + strlen("sm_"), NULL, 10);
    wbb_fail(b->cx, (WbbLoc){b->cache->libdevice, 0, 0}, "__nvvm_reflect is asked for '%.*s'", (int)n, key);
}

static void resolve_reflect(LlBuild *b)
{
    LLVMValueRef reflect = LLVMGetNamedFunction(b->module, "__nvvm_reflect");
    if (!reflect) return;
    for (LLVMUseRef use = LLVMGetFirstUse(reflect), next; use; use = next) {
        next = LLVMGetNextUse(use);
        LLVMValueRef call = LLVMGetUser(use);
        const uint64_t value = reflect_value(b, LLVMGetOperand(call, 0));
        LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), value, false));
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(reflect);
}

void ll_link(LlBuild *b)
{
    if (b->out.n_libdevice == 0) return;
    need_libdevice(b);
    link_lazily(b);
    for (uint32_t i = 0; i < b->out.n_libdevice; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(b->module, b->out.libdevice[i]);
        if (!f || LLVMIsDeclaration(f))
            wbb_fail(b->cx, (WbbLoc){b->cache->libdevice, 0, 0}, "there is no function %s", b->out.libdevice[i]);
    }
    internalize(b);
    resolve_reflect(b);
}

/* intrinsics.c: the tables of LLVM opcodes and intrinsics that a target's instruction table may name.
 *
 * Needs nothing; leaves lookups by name. Versions of LLVM rename intrinsics, and LLVM's own lookup accepts any name
 * that starts with an intrinsic's name; so ll_check_intrinsics compares each entry with the name that this LLVM uses.
 * The text of an instruction that calls libdevice is the function's name and that of inline assembly its template:
 * neither is in these tables.
 *
 *     ll_opcode("icmp slt", 8)   -> {LL_ICMP, LLVMIntSLT}
 *     ll_intrinsic("llvm.fma")   -> overloaded by the result's type
 */
#include "llvm/inner.h"

#include <stdlib.h>
#include <string.h>

/* Both tables are sorted by name. */
static const LlOpcode opcodes[] = {
    {"add", LL_BINARY, LLVMAdd, false},
    {"and", LL_BINARY, LLVMAnd, false},
    {"ashr", LL_BINARY, LLVMAShr, false},
    {"atomicrmw add", LL_ATOMIC, LLVMAtomicRMWBinOpAdd, true},
    {"atomicrmw and", LL_ATOMIC, LLVMAtomicRMWBinOpAnd, true},
    {"atomicrmw fadd", LL_ATOMIC, LLVMAtomicRMWBinOpFAdd, true},
    {"atomicrmw max", LL_ATOMIC, LLVMAtomicRMWBinOpMax, true},
    {"atomicrmw min", LL_ATOMIC, LLVMAtomicRMWBinOpMin, true},
    {"atomicrmw or", LL_ATOMIC, LLVMAtomicRMWBinOpOr, true},
    {"atomicrmw umax", LL_ATOMIC, LLVMAtomicRMWBinOpUMax, true},
    {"atomicrmw umin", LL_ATOMIC, LLVMAtomicRMWBinOpUMin, true},
    {"atomicrmw xchg", LL_ATOMIC, LLVMAtomicRMWBinOpXchg, true},
    {"atomicrmw xor", LL_ATOMIC, LLVMAtomicRMWBinOpXor, true},
    {"bitcast", LL_CAST, LLVMBitCast, false},
    {"cmpxchg", LL_EXCHANGE, 0, true},
    {"fadd", LL_BINARY, LLVMFAdd, false},
    {"fcmp oeq", LL_FCMP, LLVMRealOEQ, false},
    {"fcmp oge", LL_FCMP, LLVMRealOGE, false},
    {"fcmp ogt", LL_FCMP, LLVMRealOGT, false},
    {"fcmp ole", LL_FCMP, LLVMRealOLE, false},
    {"fcmp olt", LL_FCMP, LLVMRealOLT, false},
    {"fcmp one", LL_FCMP, LLVMRealONE, false},
    {"fcmp ord", LL_FCMP, LLVMRealORD, false},
    {"fcmp ueq", LL_FCMP, LLVMRealUEQ, false},
    {"fcmp uge", LL_FCMP, LLVMRealUGE, false},
    {"fcmp ugt", LL_FCMP, LLVMRealUGT, false},
    {"fcmp ule", LL_FCMP, LLVMRealULE, false},
    {"fcmp ult", LL_FCMP, LLVMRealULT, false},
    {"fcmp une", LL_FCMP, LLVMRealUNE, false},
    {"fcmp uno", LL_FCMP, LLVMRealUNO, false},
    {"fdiv", LL_BINARY, LLVMFDiv, true},
    {"fmul", LL_BINARY, LLVMFMul, false},
    {"fneg", LL_FNEG, 0, false},
    {"fpext", LL_CAST, LLVMFPExt, false},
    {"fptosi", LL_CAST, LLVMFPToSI, false},
    {"fptoui", LL_CAST, LLVMFPToUI, false},
    {"fptrunc", LL_CAST, LLVMFPTrunc, false},
    {"fsub", LL_BINARY, LLVMFSub, false},
    {"icmp eq", LL_ICMP, LLVMIntEQ, false},
    {"icmp ne", LL_ICMP, LLVMIntNE, false},
    {"icmp sge", LL_ICMP, LLVMIntSGE, false},
    {"icmp sgt", LL_ICMP, LLVMIntSGT, false},
    {"icmp sle", LL_ICMP, LLVMIntSLE, false},
    {"icmp slt", LL_ICMP, LLVMIntSLT, false},
    {"icmp uge", LL_ICMP, LLVMIntUGE, false},
    {"icmp ugt", LL_ICMP, LLVMIntUGT, false},
    {"icmp ule", LL_ICMP, LLVMIntULE, false},
    {"icmp ult", LL_ICMP, LLVMIntULT, false},
    {"lshr", LL_BINARY, LLVMLShr, false},
    {"mul", LL_BINARY, LLVMMul, false},
    {"or", LL_BINARY, LLVMOr, false},
    {"sdiv", LL_BINARY, LLVMSDiv, true},
    {"select", LL_SELECT, 0, false},
    {"sext", LL_CAST, LLVMSExt, false},
    {"shl", LL_BINARY, LLVMShl, false},
    {"sitofp", LL_CAST, LLVMSIToFP, false},
    {"srem", LL_BINARY, LLVMSRem, true},
    {"sub", LL_BINARY, LLVMSub, false},
    {"trunc", LL_CAST, LLVMTrunc, false},
    {"udiv", LL_BINARY, LLVMUDiv, true},
    {"uitofp", LL_CAST, LLVMUIToFP, false},
    {"urem", LL_BINARY, LLVMURem, true},
    {"xor", LL_BINARY, LLVMXor, false},
    {"zext", LL_CAST, LLVMZExt, false},
};

static const LlIntrinsic intrinsics[] = {
    {"llvm.abs", "r", false},
    {"llvm.bitreverse", "r", false},
    {"llvm.bswap", "r", false},
    {"llvm.ceil", "r", false},
    {"llvm.copysign", "r", false},
    {"llvm.cos", "r", true}, /* only with flag approx */
    {"llvm.ctlz", "r", false},
    {"llvm.ctpop", "r", false},
    {"llvm.cttz", "r", false},
    {"llvm.exp2", "r", true}, /* ex2.approx even without the flag */
    {"llvm.fabs", "r", false},
    {"llvm.floor", "r", false},
    {"llvm.fma", "r", false},
    {"llvm.fptosi.sat", "ra", false},
    {"llvm.fptoui.sat", "ra", false},
    {"llvm.fshl", "r", false},
    {"llvm.fshr", "r", false},
    {"llvm.is.fpclass", "a", false},
    {"llvm.maximum", "r", false},
    {"llvm.maximumnum", "r", false},
    {"llvm.maxnum", "r", false},
    {"llvm.minimum", "r", false},
    {"llvm.minimumnum", "r", false},
    {"llvm.minnum", "r", false},
    {"llvm.nearbyint", "r", false},
    {"llvm.nvvm.add.rn.sat.f", "", false},
    {"llvm.nvvm.barrier.cluster.arrive.aligned", "", true},
    {"llvm.nvvm.barrier.cluster.wait.aligned", "", true},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", "", true},
    {"llvm.nvvm.cos.approx.ftz.f", "", true},
    {"llvm.nvvm.cp.async.ca.shared.global.4", "", true},
    {"llvm.nvvm.cp.async.ca.shared.global.8", "", true},
    {"llvm.nvvm.cp.async.cg.shared.global.16", "", true},
    {"llvm.nvvm.cp.async.commit.group", "", true},
    {"llvm.nvvm.cp.async.wait.group", "", true},
    {"llvm.nvvm.d2i.rz", "", false},
    {"llvm.nvvm.d2ll.rz", "", false},
    {"llvm.nvvm.d2ui.rz", "", false},
    {"llvm.nvvm.d2ull.rz", "", false},
    {"llvm.nvvm.div.approx.f", "", true},
    {"llvm.nvvm.div.full", "", true},
    {"llvm.nvvm.ex2.approx", "r", true},
    {"llvm.nvvm.ex2.approx.ftz", "r", true},
    {"llvm.nvvm.f2i.rz", "", false},
    {"llvm.nvvm.f2ll.rz", "", false},
    {"llvm.nvvm.f2ui.rz", "", false},
    {"llvm.nvvm.f2ull.rz", "", false},
    {"llvm.nvvm.fabs", "r", false},
    {"llvm.nvvm.lg2.approx.f", "", true},
    {"llvm.nvvm.lg2.approx.ftz.f", "", true},
    {"llvm.nvvm.mapa.shared.cluster", "", false},
    {"llvm.nvvm.mulhi.i", "", false},
    {"llvm.nvvm.mulhi.ll", "", false},
    {"llvm.nvvm.mulhi.ui", "", false},
    {"llvm.nvvm.mulhi.ull", "", false},
    {"llvm.nvvm.prmt", "", false},
    {"llvm.nvvm.rcp.approx.ftz.f", "", true},
    {"llvm.nvvm.rcp.rn.d", "", true},
    {"llvm.nvvm.rcp.rn.f", "", true},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", "", false},
    {"llvm.nvvm.read.ptx.sreg.tid.x", "", false},
    {"llvm.nvvm.redux.sync.add", "", true},
    {"llvm.nvvm.redux.sync.and", "", true},
    {"llvm.nvvm.redux.sync.max", "", true},
    {"llvm.nvvm.redux.sync.min", "", true},
    {"llvm.nvvm.redux.sync.or", "", true},
    {"llvm.nvvm.redux.sync.umax", "", true},
    {"llvm.nvvm.redux.sync.umin", "", true},
    {"llvm.nvvm.redux.sync.xor", "", true},
    {"llvm.nvvm.rsqrt.approx.f", "", true},
    {"llvm.nvvm.rsqrt.approx.ftz.f", "", true},
    {"llvm.nvvm.saturate.f", "", false},
    {"llvm.nvvm.shfl.sync.bfly.i32", "", true},
    {"llvm.nvvm.shfl.sync.down.i32", "", true},
    {"llvm.nvvm.shfl.sync.idx.i32", "", true},
    {"llvm.nvvm.shfl.sync.up.i32", "", true},
    {"llvm.nvvm.sin.approx.ftz.f", "", true},
    {"llvm.nvvm.sqrt.approx.f", "", true},
    {"llvm.nvvm.sqrt.approx.ftz.f", "", true},
    {"llvm.nvvm.vote.ballot.sync", "", true},
    {"llvm.rint", "r", false},
    {"llvm.round", "r", false},
    {"llvm.roundeven", "r", false},
    {"llvm.sadd.sat", "r", false},
    {"llvm.sin", "r", true}, /* only with flag approx */
    {"llvm.smax", "r", false},
    {"llvm.smin", "r", false},
    {"llvm.sqrt", "r", true},
    {"llvm.ssub.sat", "r", false},
    {"llvm.tanh", "r", true}, /* only with flag approx */
    {"llvm.trunc", "r", false},
    {"llvm.uadd.sat", "r", false},
    {"llvm.umax", "r", false},
    {"llvm.umin", "r", false},
    {"llvm.usub.sat", "r", false},
};

/* Binary search. The first member of both kinds of entry is the name. */
static const void *find(const void *list, size_t n, size_t size, const char *name, size_t length)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const char *at = *(const char *const *)((const char *)list + middle * size);
        int order = strncmp(at, name, length);
        if (order == 0 && at[length]) order = 1;
        if (order == 0) return (const char *)list + middle * size;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

const LlOpcode *ll_opcode(const char *name, size_t n)
{
    return find(opcodes, WBB_LEN(opcodes), sizeof *opcodes, name, n);
}

const LlIntrinsic *ll_intrinsic(const char *name, size_t n)
{
    return find(intrinsics, WBB_LEN(intrinsics), sizeof *intrinsics, name, n);
}

bool ll_has_instr(const RwInstr *row)
{
    size_t n = strcspn(row->text, "(");
    switch ((RwInstrKind)row->kind) {
    case RW_LLVM: return ll_opcode(row->text, n) != NULL;
    case RW_INTR: return ll_intrinsic(row->text, n) != NULL;
    case RW_CALL: return strncmp(row->text, "__nv_", 5) == 0;
    case RW_ASM: return strstr(row->text, "%d") != NULL;
    case RW_LOOKUP: return strspn(row->text, "0123456789abcdef ") == strlen(row->text);
    }
    return false;
}

const char *ll_check_intrinsics(WbbArena *a)
{
    for (size_t i = 1; i < WBB_LEN(opcodes); i++)
        if (strcmp(opcodes[i - 1].name, opcodes[i].name) >= 0)
            return wbb_format(a, "opcode table: '%s' is out of order", opcodes[i].name);
    for (size_t i = 0; i < WBB_LEN(intrinsics); i++) {
        const LlIntrinsic *in = &intrinsics[i];
        if (i > 0 && strcmp(intrinsics[i - 1].name, in->name) >= 0)
            return wbb_format(a, "intrinsic table: '%s' is out of order", in->name);
        const unsigned id = LLVMLookupIntrinsicID(in->name, strlen(in->name));
        if (id == 0) return wbb_format(a, "intrinsic table: this LLVM has no '%s'", in->name);
        const bool overloaded = LLVMIntrinsicIsOverloaded(id);
        if (overloaded != (in->overloads[0] != 0))
            return wbb_format(a, "intrinsic table: '%s' %s overloaded in this LLVM", in->name,
                              overloaded ? "is" : "is not");
        size_t n = 0;
        const char *name = LLVMIntrinsicGetName(id, &n);
        if (n != strlen(in->name) || strncmp(name, in->name, n) != 0)
            return wbb_format(a, "intrinsic table: this LLVM takes '%s' for '%.*s'", in->name, (int)n, name);
    }
    return NULL;
}

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
    {"add", LL_BINARY, LLVMAdd},
    {"and", LL_BINARY, LLVMAnd},
    {"ashr", LL_BINARY, LLVMAShr},
    {"atomicrmw add", LL_ATOMIC, LLVMAtomicRMWBinOpAdd},
    {"atomicrmw and", LL_ATOMIC, LLVMAtomicRMWBinOpAnd},
    {"atomicrmw fadd", LL_ATOMIC, LLVMAtomicRMWBinOpFAdd},
    {"atomicrmw max", LL_ATOMIC, LLVMAtomicRMWBinOpMax},
    {"atomicrmw min", LL_ATOMIC, LLVMAtomicRMWBinOpMin},
    {"atomicrmw or", LL_ATOMIC, LLVMAtomicRMWBinOpOr},
    {"atomicrmw umax", LL_ATOMIC, LLVMAtomicRMWBinOpUMax},
    {"atomicrmw umin", LL_ATOMIC, LLVMAtomicRMWBinOpUMin},
    {"atomicrmw xchg", LL_ATOMIC, LLVMAtomicRMWBinOpXchg},
    {"atomicrmw xor", LL_ATOMIC, LLVMAtomicRMWBinOpXor},
    {"bitcast", LL_CAST, LLVMBitCast},
    {"cmpxchg", LL_EXCHANGE, 0},
    {"fadd", LL_BINARY, LLVMFAdd},
    {"fcmp oeq", LL_FCMP, LLVMRealOEQ},
    {"fcmp oge", LL_FCMP, LLVMRealOGE},
    {"fcmp ogt", LL_FCMP, LLVMRealOGT},
    {"fcmp ole", LL_FCMP, LLVMRealOLE},
    {"fcmp olt", LL_FCMP, LLVMRealOLT},
    {"fcmp one", LL_FCMP, LLVMRealONE},
    {"fcmp ord", LL_FCMP, LLVMRealORD},
    {"fcmp ueq", LL_FCMP, LLVMRealUEQ},
    {"fcmp uge", LL_FCMP, LLVMRealUGE},
    {"fcmp ugt", LL_FCMP, LLVMRealUGT},
    {"fcmp ule", LL_FCMP, LLVMRealULE},
    {"fcmp ult", LL_FCMP, LLVMRealULT},
    {"fcmp une", LL_FCMP, LLVMRealUNE},
    {"fcmp uno", LL_FCMP, LLVMRealUNO},
    {"fdiv", LL_BINARY, LLVMFDiv},
    {"fmul", LL_BINARY, LLVMFMul},
    {"fneg", LL_FNEG, 0},
    {"fpext", LL_CAST, LLVMFPExt},
    {"fptosi", LL_CAST, LLVMFPToSI},
    {"fptoui", LL_CAST, LLVMFPToUI},
    {"fptrunc", LL_CAST, LLVMFPTrunc},
    {"fsub", LL_BINARY, LLVMFSub},
    {"icmp eq", LL_ICMP, LLVMIntEQ},
    {"icmp ne", LL_ICMP, LLVMIntNE},
    {"icmp sge", LL_ICMP, LLVMIntSGE},
    {"icmp sgt", LL_ICMP, LLVMIntSGT},
    {"icmp sle", LL_ICMP, LLVMIntSLE},
    {"icmp slt", LL_ICMP, LLVMIntSLT},
    {"icmp uge", LL_ICMP, LLVMIntUGE},
    {"icmp ugt", LL_ICMP, LLVMIntUGT},
    {"icmp ule", LL_ICMP, LLVMIntULE},
    {"icmp ult", LL_ICMP, LLVMIntULT},
    {"lshr", LL_BINARY, LLVMLShr},
    {"mul", LL_BINARY, LLVMMul},
    {"or", LL_BINARY, LLVMOr},
    {"sdiv", LL_BINARY, LLVMSDiv},
    {"select", LL_SELECT, 0},
    {"sext", LL_CAST, LLVMSExt},
    {"shl", LL_BINARY, LLVMShl},
    {"sitofp", LL_CAST, LLVMSIToFP},
    {"srem", LL_BINARY, LLVMSRem},
    {"sub", LL_BINARY, LLVMSub},
    {"trunc", LL_CAST, LLVMTrunc},
    {"udiv", LL_BINARY, LLVMUDiv},
    {"uitofp", LL_CAST, LLVMUIToFP},
    {"urem", LL_BINARY, LLVMURem},
    {"xor", LL_BINARY, LLVMXor},
    {"zext", LL_CAST, LLVMZExt},
};

static const LlIntrinsic intrinsics[] = {
    {"llvm.abs", "r"},
    {"llvm.bitreverse", "r"},
    {"llvm.bswap", "r"},
    {"llvm.ceil", "r"},
    {"llvm.copysign", "r"},
    {"llvm.cos", "r"}, /* only with flag approx */
    {"llvm.ctlz", "r"},
    {"llvm.ctpop", "r"},
    {"llvm.cttz", "r"},
    {"llvm.exp2", "r"}, /* ex2.approx even without the flag */
    {"llvm.fabs", "r"},
    {"llvm.floor", "r"},
    {"llvm.fma", "r"},
    {"llvm.fptosi.sat", "ra"},
    {"llvm.fptoui.sat", "ra"},
    {"llvm.fshl", "r"},
    {"llvm.fshr", "r"},
    {"llvm.is.fpclass", "a"},
    {"llvm.maximum", "r"},
    {"llvm.maximumnum", "r"},
    {"llvm.maxnum", "r"},
    {"llvm.minimum", "r"},
    {"llvm.minimumnum", "r"},
    {"llvm.minnum", "r"},
    {"llvm.nearbyint", "r"},
    {"llvm.nvvm.add.rn.sat.f", ""},
    {"llvm.nvvm.barrier.cluster.arrive.aligned", ""},
    {"llvm.nvvm.barrier.cluster.wait.aligned", ""},
    {"llvm.nvvm.barrier.cta.sync.aligned.all", ""},
    {"llvm.nvvm.cos.approx.ftz.f", ""},
    {"llvm.nvvm.cp.async.commit.group", ""},
    {"llvm.nvvm.cp.async.wait.group", ""},
    {"llvm.nvvm.d2i.rz", ""},
    {"llvm.nvvm.d2ll.rz", ""},
    {"llvm.nvvm.d2ui.rz", ""},
    {"llvm.nvvm.d2ull.rz", ""},
    {"llvm.nvvm.div.approx.f", ""},
    {"llvm.nvvm.div.full", ""},
    {"llvm.nvvm.ex2.approx", "r"},
    {"llvm.nvvm.ex2.approx.ftz", "r"},
    {"llvm.nvvm.f2i.rz", ""},
    {"llvm.nvvm.f2ll.rz", ""},
    {"llvm.nvvm.f2ui.rz", ""},
    {"llvm.nvvm.f2ull.rz", ""},
    {"llvm.nvvm.fabs", "r"},
    {"llvm.nvvm.lg2.approx.f", ""},
    {"llvm.nvvm.lg2.approx.ftz.f", ""},
    {"llvm.nvvm.mapa.shared.cluster", ""},
    {"llvm.nvvm.mulhi.i", ""},
    {"llvm.nvvm.mulhi.ll", ""},
    {"llvm.nvvm.mulhi.ui", ""},
    {"llvm.nvvm.mulhi.ull", ""},
    {"llvm.nvvm.prmt", ""},
    {"llvm.nvvm.rcp.approx.ftz.f", ""},
    {"llvm.nvvm.rcp.rn.d", ""},
    {"llvm.nvvm.rcp.rn.f", ""},
    {"llvm.nvvm.read.ptx.sreg.ctaid.x", ""},
    {"llvm.nvvm.read.ptx.sreg.tid.x", ""},
    {"llvm.nvvm.redux.sync.add", ""},
    {"llvm.nvvm.redux.sync.and", ""},
    {"llvm.nvvm.redux.sync.max", ""},
    {"llvm.nvvm.redux.sync.min", ""},
    {"llvm.nvvm.redux.sync.or", ""},
    {"llvm.nvvm.redux.sync.umax", ""},
    {"llvm.nvvm.redux.sync.umin", ""},
    {"llvm.nvvm.redux.sync.xor", ""},
    {"llvm.nvvm.rsqrt.approx.f", ""},
    {"llvm.nvvm.rsqrt.approx.ftz.f", ""},
    {"llvm.nvvm.saturate.f", ""},
    {"llvm.nvvm.shfl.sync.bfly.i32", ""},
    {"llvm.nvvm.shfl.sync.down.i32", ""},
    {"llvm.nvvm.shfl.sync.idx.i32", ""},
    {"llvm.nvvm.shfl.sync.up.i32", ""},
    {"llvm.nvvm.sin.approx.ftz.f", ""},
    {"llvm.nvvm.sqrt.approx.f", ""},
    {"llvm.nvvm.sqrt.approx.ftz.f", ""},
    {"llvm.nvvm.vote.ballot.sync", ""},
    {"llvm.rint", "r"},
    {"llvm.round", "r"},
    {"llvm.roundeven", "r"},
    {"llvm.sadd.sat", "r"},
    {"llvm.sin", "r"}, /* only with flag approx */
    {"llvm.smax", "r"},
    {"llvm.smin", "r"},
    {"llvm.sqrt", "r"},
    {"llvm.ssub.sat", "r"},
    {"llvm.tanh", "r"}, /* only with flag approx */
    {"llvm.trunc", "r"},
    {"llvm.uadd.sat", "r"},
    {"llvm.umax", "r"},
    {"llvm.umin", "r"},
    {"llvm.usub.sat", "r"},
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
    case RW_ASM: return strstr(row->text, "%d") || strstr(row->text, "%p");
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

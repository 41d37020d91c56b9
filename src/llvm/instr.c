/* instr.c: emits a selected instruction: a row of the target's instruction table.
 *
 * Needs emitted operands; leaves one LLVM value. The text of an llvm or intr row is a name of the tables in
 * intrinsics.c, with its arguments where some are constant: "llvm.ctlz(%a, i1 0)", "sub(0, %a)"; a number without a
 * type has the type of the first operand. These rows take any number of lanes. Inline assembly sees registers: 16 bits
 * are "h", 32 "r" or "f", 64 "l" or "d"; bytes are widened, pred is 0 or 1 in 32 bits, and vectors are bitcast to the
 * integer of their size; those of 128 bits, and of 64 where memory is updated, are registers in braces. A lookup table
 * is an array in constant memory.
 *
 *     asm "tanh.approx.f32 %d, %a;"  ->  call float asm "tanh.approx.f32 $0, $1;", "=f,f"(float %x)
 */
#include "llvm/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

static void bad_row(LlBuild *b, const RwInstr *row, const char *what) WBB_NORETURN;
static void bad_row(LlBuild *b, const RwInstr *row, const char *what)
{
    const RwRule *rule = row->rule < b->t->tables->n_rules ? &b->t->tables->rules[row->rule] : NULL;
    const WbbLoc at = {rule ? rule->file : NULL, rule ? (int)rule->line : 0, 0};
    wbb_fail(b->cx, at, "instruction '%s': %s", row->text, what);
}

/* Parse the arguments of a row, "(%a, i1 0)", from `p` on. */
static void parse_args(LlBuild *b, const RwInstr *row, LlRow *out, const char *p)
{
    for (p++; *p != ')';) {
        while (*p == ' ' || *p == ',') p++;
        if (out->n_args == WBB_LEN(out->args)) bad_row(b, row, "more than four arguments");
        int8_t operand = -1;
        uint8_t bits = 0;
        int64_t value = 0;
        if (*p == '%' && p[1] >= 'a' && p[1] <= 'c') {
            operand = (int8_t)(p[1] - 'a');
            p += 2;
        } else {
            char *end;
            if (*p == 'i') {
                bits = (uint8_t)strtol(p + 1, &end, 10);
                p = end + strspn(end, " ");
            }
            if (*p == '%' && p[1] >= 'i' && p[1] < 'i' + row->n_immediates) {
                operand = (int8_t)-(p[1] - 'i' + 2);
                p += 2;
            } else {
                value = strtoll(p, &end, 10);
                if (end == p) bad_row(b, row, "an argument is neither an operand nor a number");
                p = end;
            }
        }
        out->args[out->n_args].operand = operand;
        out->args[out->n_args].bits = bits;
        out->args[out->n_args++].value = value;
        while (*p == ' ') p++;
        if (*p != ',' && *p != ')') bad_row(b, row, "',' or ')' is missing");
    }
}

static LlRow *parse_row(LlBuild *b, const RwInstr *row)
{
    LlRow *out = WBB_NEW(b->arena, LlRow);
    if (row->kind == RW_ASM || row->kind == RW_LOOKUP) return out;
    const size_t n = strcspn(row->text, "(");
    if (row->kind == RW_LLVM) out->opcode = ll_opcode(row->text, n);
    if (row->kind == RW_INTR) out->intrinsic = ll_intrinsic(row->text, n);
    if ((row->kind == RW_LLVM && !out->opcode) || (row->kind == RW_INTR && !out->intrinsic))
        bad_row(b, row, "not an opcode or intrinsic of llvm/intrinsics.c");
    if (row->text[n]) {
        parse_args(b, row, out, row->text + n);
        return out;
    }
    out->n_args = row->n_operands;
    for (uint32_t i = 0; i < out->n_args; i++) out->args[i].operand = (int8_t)i;
    return out;
}

static LLVMValueRef constant_arg(LlBuild *b, LLVMTypeRef like, uint8_t bits, int64_t value)
{
    LLVMTypeRef type = bits ? LLVMIntTypeInContext(b->llvm, bits) : like;
    const bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef one = vector ? LLVMGetElementType(type) : type;
    LLVMValueRef x = LLVMGetTypeKind(one) == LLVMIntegerTypeKind ? LLVMConstInt(one, (uint64_t)value, true)
                                                                 : LLVMConstReal(one, (double)value);
    return vector ? ll_splat(b, x, LLVMGetVectorSize(type)) : x;
}

/* In shared memory the block alone can see it, elsewhere the whole device. */
static LLVMValueRef atomic(LlBuild *b, const LlOpcode *o, LLVMValueRef *x, LLVMValueRef address)
{
    const char *scope = LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == LL_SHARED ? "block" : "device";
    const unsigned id = LLVMGetSyncScopeID(b->llvm, scope, strlen(scope));
    if (o->form != LL_EXCHANGE)
        return LLVMBuildAtomicRMWSyncScope(b->builder, (LLVMAtomicRMWBinOp)o->code, address, x[0],
                                           LLVMAtomicOrderingMonotonic, id);
    LLVMValueRef pair = LLVMBuildAtomicCmpXchgSyncScope(b->builder, address, x[0], x[1], LLVMAtomicOrderingMonotonic,
                                                        LLVMAtomicOrderingMonotonic, id);
    return LLVMBuildExtractValue(b->builder, pair, 0, "");
}

static LLVMValueRef opcode(LlBuild *b, const RwInstr *row, const LlOpcode *o, LLVMTypeRef result, LLVMValueRef *x,
                           uint32_t n, LLVMValueRef address)
{
    static const uint8_t arity[] = {
        [LL_BINARY] = 2, [LL_CAST] = 1,   [LL_ICMP] = 2,   [LL_FCMP] = 2,
        [LL_FNEG] = 1,   [LL_SELECT] = 3, [LL_ATOMIC] = 1, [LL_EXCHANGE] = 2,
    };
    if (arity[o->form] != n) bad_row(b, row, "wrong number of operands");
    if (o->form >= LL_ATOMIC && !address) bad_row(b, row, "an atomic without an address");
    if (n > 1 && LLVMTypeOf(x[n - 1]) != LLVMTypeOf(x[n - 2])) bad_row(b, row, "operands of different types");
    switch ((LlForm)o->form) {
    case LL_BINARY: return LLVMBuildBinOp(b->builder, (LLVMOpcode)o->code, x[0], x[1], "");
    case LL_CAST: return LLVMBuildCast(b->builder, (LLVMOpcode)o->code, x[0], result, "");
    case LL_ICMP: return LLVMBuildICmp(b->builder, (LLVMIntPredicate)o->code, x[0], x[1], "");
    case LL_FCMP: return LLVMBuildFCmp(b->builder, (LLVMRealPredicate)o->code, x[0], x[1], "");
    case LL_FNEG: return LLVMBuildFNeg(b->builder, x[0], "");
    case LL_SELECT: return LLVMBuildSelect(b->builder, x[0], x[1], x[2], "");
    case LL_ATOMIC:
    case LL_EXCHANGE: return atomic(b, o, x, address);
    }
    return NULL;
}

static LLVMValueRef intrinsic(LlBuild *b, const RwInstr *row, const LlIntrinsic *in, LLVMTypeRef result,
                              LLVMValueRef *x, uint32_t n)
{
    LLVMTypeRef over[4], type;
    const size_t n_over = strlen(in->overloads);
    for (size_t i = 0; i < n_over; i++) {
        const char c = in->overloads[i];
        if (c != 'r' && (uint32_t)(c - 'a') >= n) bad_row(b, row, "wrong number of operands");
        over[i] = c == 'r' ? result : LLVMTypeOf(x[c - 'a']);
    }
    LLVMValueRef f = ll_function(b, in, over, n_over, &type);
    if (LLVMCountParamTypes(type) != n) bad_row(b, row, "wrong number of operands");
    LLVMTypeRef parameters[4];
    LLVMGetParamTypes(type, parameters);
    for (uint32_t i = 0; i < n; i++)
        if (parameters[i] != LLVMTypeOf(x[i])) bad_row(b, row, "an operand's type is not the intrinsic's");
    if (LLVMGetReturnType(type) != result) bad_row(b, row, "the result's type is not the intrinsic's");
    return LLVMBuildCall2(b->builder, type, f, x, n, "");
}

/* Add a name to out.libdevice, once. */
static void note_libdevice(LlBuild *b, const char *name)
{
    LlOutput *out = &b->out;
    for (uint32_t i = 0; i < out->n_libdevice; i++)
        if (strcmp(out->libdevice[i], name) == 0) return;
    struct {
        const char **items;
        uint32_t n, capacity;
    } list = {out->libdevice, out->n_libdevice, b->libdevice_capacity};
    WBB_PUSH(b->arena, &list, name);
    out->libdevice = list.items;
    out->n_libdevice = list.n;
    b->libdevice_capacity = list.capacity;
}

static LLVMValueRef library(LlBuild *b, const RwInstr *row, LLVMTypeRef result, LLVMValueRef *x, uint32_t n)
{
    LLVMTypeRef parameters[4];
    for (uint32_t i = 0; i < n; i++) parameters[i] = LLVMTypeOf(x[i]);
    LLVMTypeRef type = LLVMFunctionType(result, parameters, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(b->module, row->text);
    if (!f) f = LLVMAddFunction(b->module, row->text, type);
    if (LLVMGlobalGetValueType(f) != type) bad_row(b, row, "called with different types");
    note_libdevice(b, row->text);
    return LLVMBuildCall2(b->builder, type, f, x, n, "");
}

/* The registers that hold a value: n of a type, with the letter that a constraint has for it. */
typedef struct {
    LLVMTypeRef type;
    char letter;
    uint32_t n;
} Held;

/* One register, but of vectors of more than `widest` bits one for each 32 bits, or for each element of 64. */
static Held registers_of(LlBuild *b, const RwInstr *row, LLVMTypeRef type, uint32_t widest)
{
    const LLVMTypeKind kind = LLVMGetTypeKind(type);
    const uint32_t bits = (uint32_t)LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(b->module), type);
    if (kind == LLVMVectorTypeKind && bits > widest && bits <= 128) {
        LLVMTypeRef element = LLVMGetElementType(type);
        if (element == b->i64) return (Held){element, 'l', bits / 64};
        if (LLVMGetTypeKind(element) == LLVMFloatTypeKind) return (Held){element, 'f', bits / 32};
        return (Held){b->i32, 'r', bits / 32};
    }
    if (kind == LLVMFloatTypeKind) return (Held){type, 'f', 1};
    if (kind == LLVMDoubleTypeKind) return (Held){type, 'd', 1};
    switch (bits) {
    case 1: return (Held){b->i1, 'b', 1}; /* a predicate */
    case 8: return (Held){b->i16, 'h', 1};
    case 16: return (Held){b->i16, 'h', 1};
    case 32: return (Held){b->i32, 'r', 1};
    case 64: return (Held){b->i64, 'l', 1};
    default: bad_row(b, row, "no register holds an operand of this size");
    }
}

static void into_registers(LlBuild *b, LLVMValueRef x, Held held, LLVMValueRef *out)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    *out = x;
    if (held.n > 1) {
        x = LLVMBuildBitCast(b->builder, x, LLVMVectorType(held.type, held.n), "");
        for (uint32_t i = 0; i < held.n; i++)
            out[i] = LLVMBuildExtractElement(b->builder, x, LLVMConstInt(b->i32, i, false), "");
    } else if (type == b->i8) {
        *out = LLVMBuildZExt(b->builder, x, held.type, "");
    } else if (type != held.type) {
        *out = LLVMBuildBitCast(b->builder, x, held.type, "");
    }
}

static LLVMValueRef out_of_registers(LlBuild *b, LLVMValueRef x, Held held, LLVMTypeRef type)
{
    if (LLVMTypeOf(x) == type) return x;
    if (type == b->i8) return LLVMBuildTrunc(b->builder, x, type, "");
    LLVMValueRef all = held.n > 1 ? LLVMGetUndef(LLVMVectorType(held.type, held.n)) : x;
    for (uint32_t i = 0; held.n > 1 && i < held.n; i++) {
        LLVMValueRef one = LLVMBuildExtractValue(b->builder, x, i, "");
        all = LLVMBuildInsertElement(b->builder, all, one, LLVMConstInt(b->i32, i, false), "");
    }
    return LLVMBuildBitCast(b->builder, all, type, "");
}

/* Where the registers of a value are in LLVM's template. */
typedef struct {
    uint32_t first, n;
} Registers;

/* LLVM's template of an assembly text: %d %a %b %c and %p and %q, the addresses, not followed by a letter or digit,
 * become $0 $1 .., and where several registers hold a value, {$0, $1, $2, $3}; immediates are written out. */
static const char *template(LlBuild *b, const RwInstr *row, uint64_t imm, const Registers *of)
{
    static const char letters[] = "dabcpq";
    const char *text = row->text;
    WbbBuf out = wbb_buf(b->arena);
    for (const char *p = text; *p; p++) {
        const char next = p[0] == '%' && p[1] ? p[2] : 'x';
        const bool longer = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", next) && next;
        if (*p == '$') wbb_put(&out, "$$");
        else if (*p == '%' && !longer && p[1] >= 'i' && p[1] < 'i' + row->n_immediates)
            wbb_putf(&out, "%lld", (long long)rw_immediate(row, imm, (uint32_t)(*++p - 'i')));
        else if (*p != '%' || longer || !strchr(letters, p[1])) wbb_put_n(&out, p, 1);
        else {
            const Registers r = of[strchr(letters, *++p) - letters];
            if (*p >= 'p' && !r.n) bad_row(b, row, "an address is needed");
            if (r.n > 1) wbb_put(&out, "{");
            for (uint32_t i = 0; i < r.n; i++) wbb_putf(&out, "%s$%u", i ? ", " : "", r.first + i);
            if (r.n > 1) wbb_put(&out, "}");
        }
    }
    return out.text;
}

/* effect: the text is part of a `do`, so it stays where it is, and memory is different after it; it may have addresses,
 * and no result. */
static LLVMValueRef assembly(LlBuild *b, const RwInstr *row, uint64_t imm, LLVMTypeRef result, LLVMValueRef *x,
                             uint32_t n, bool effect, const LLVMValueRef address[2])
{
    enum { MOST = 3 * 4 + 2 };
    const bool silent = !strstr(row->text, "%d");
    const uint32_t widest = effect ? 32 : 64;
    Registers of[6] = {{0, 0}};
    LLVMTypeRef parameters[MOST], results[4];
    LLVMValueRef args[MOST];
    WbbBuf constraints = wbb_buf(b->arena);
    Held out = registers_of(b, row, result, widest);
    if (silent) out.n = 0;
    of[0].n = out.n;
    for (uint32_t i = 0; i < out.n; i++)
        wbb_putf(&constraints, "%s=%c", i ? "," : "", out.letter), results[i] = out.type;
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        Registers *r = &of[1 + i];
        r->first = of[0].n + k;
        const Held in = registers_of(b, row, LLVMTypeOf(x[i]), widest);
        r->n = in.n;
        into_registers(b, x[i], in, args + k);
        for (uint32_t j = 0; j < in.n; j++) wbb_putf(&constraints, ",%c", in.letter), parameters[k++] = in.type;
    }
    for (uint32_t i = 0; i < 2 && address[i]; i++) {
        of[4 + i] = (Registers){of[0].n + k, 1};
        wbb_put(&constraints, out.n + k ? ",l" : "l");
        parameters[k] = LLVMTypeOf(address[i]), args[k++] = address[i];
    }
    if (effect) wbb_put(&constraints, ",~{memory}");
    const char *text = template(b, row, imm, of);
    LLVMTypeRef returned = silent       ? LLVMVoidTypeInContext(b->llvm)
                           : out.n > 1 ? LLVMStructTypeInContext(b->llvm, results, out.n, false)
                                       : out.type;
    LLVMTypeRef type = LLVMFunctionType(returned, parameters, k, false);
    LLVMValueRef f = LLVMGetInlineAsm(type, text, strlen(text), constraints.text, strlen(constraints.text), effect,
                                      false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(b->builder, type, f, args, k, "");
    static const char *const pure[] = {"memory", "nounwind", "willreturn", NULL}; /* memory 0: none */
    static const char *const pinned[] = {"convergent", "nounwind", NULL};
    for (const char *const *name = effect ? pinned : pure; *name; name++)
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, ll_attribute(b, *name, 0));
    return silent ? NULL : out_of_registers(b, call, out, result);
}

/* The array of a lookup table: one global in a module, named for what it holds, so that its name stays when rules come
 * or go. */
static LLVMValueRef lookup_table(LlBuild *b, const RwInstr *row, LLVMTypeRef type, uint32_t *n_words)
{
    const uint64_t hash = wbb_hash(row->text, strlen(row->text), LLVMGetIntTypeWidth(type));
    const char *name = wbb_format(b->arena, "words_%016llx", (unsigned long long)hash);
    LLVMValueRef list[MAX_WORDS], have = LLVMGetNamedGlobal(b->module, name);
    uint32_t n = 0;
    for (const char *p = row->text; *p && n < MAX_WORDS; p += strspn(p, " ")) {
        char *end;
        list[n++] = LLVMConstInt(type, strtoull(p, &end, 16), false);
        p = end;
    }
    if (n == 0 || n & (n - 1)) bad_row(b, row, "the number of words of a lookup table is a power of two");
    *n_words = n;
    if (have) return have;
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(b->module, LLVMArrayType2(type, n), name, LL_CONSTANT);
    LLVMSetInitializer(g, LLVMConstArray2(type, list, n));
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(g, LLVMGetIntTypeWidth(type) / 8);
    return g;
}

/* The word at index `at`, masked to the size of the table; LLVM removes the mask where it knows that the index is in
 * range. */
static LLVMValueRef lookup(LlBuild *b, const RwInstr *row, LLVMValueRef at)
{
    uint32_t n;
    LLVMTypeRef type = LLVMTypeOf(at);
    if (type != b->i32 && type != b->i64)
        bad_row(b, row, "the index of a lookup table has the width of its words, 32 or 64 bits");
    LLVMValueRef words = lookup_table(b, row, type, &n);
    LLVMValueRef index = LLVMBuildAnd(b->builder, at, LLVMConstInt(type, n - 1, false), "");
    LLVMValueRef address = LLVMBuildInBoundsGEP2(b->builder, type, words, &index, 1, "");
    LLVMValueRef v = LLVMBuildLoad2(b->builder, type, address, "");
    LLVMSetAlignment(v, LLVMGetIntTypeWidth(type) / 8);
    return v;
}

/* Rules have used what contract, nnan and nsz permit: LLVM would use it otherwise than the tables. */
static void set_flags(LLVMValueRef v, uint32_t flags)
{
    const LLVMFastMathFlags f = flags & SC_FLAG_APPROX ? LLVMFastMathApproxFunc : LLVMFastMathNone;
    if (f != LLVMFastMathNone && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v)) LLVMSetFastMathFlags(v, f);
}

static LLVMValueRef instr(LlBuild *b, IrRef r, bool effect, const LLVMValueRef address[2])
{
    const IrNode *node = ir_at(b->g, r);
    const uint32_t number = RW_ROW(node->imm);
    assert(number < b->t->tables->n_instrs);
    const RwInstr *row = &b->t->tables->instrs[number];
    if (!b->rows[number]) b->rows[number] = parse_row(b, row);
    const LlRow *parsed = b->rows[number];

    IrRef operands[3];
    const uint32_t n_operands = ir_operands(b->g, r, operands);
    if (n_operands != row->n_operands) bad_row(b, row, "wrong number of operands");
    LLVMTypeRef result = ll_type(b, node->type);
    LLVMValueRef x[5] = {NULL}, v = NULL;
    uint32_t n = parsed->n_args;
    if (row->kind == RW_ASM || row->kind == RW_LOOKUP) {
        n = n_operands;
        for (uint32_t i = 0; i < n; i++) x[i] = b->values[operands[i]];
    }
    for (uint32_t i = 0; i < parsed->n_args; i++) {
        const int8_t o = parsed->args[i].operand;
        if (o >= (int)n_operands) bad_row(b, row, "an argument names an operand that the row does not have");
        LLVMTypeRef like = n_operands ? LLVMTypeOf(b->values[operands[0]]) : result;
        const int64_t value = o < -1 ? rw_immediate(row, node->imm, (uint32_t)(-o - 2)) : parsed->args[i].value;
        x[i] = o >= 0 ? b->values[operands[o]] : constant_arg(b, like, parsed->args[i].bits, value);
    }
    switch ((RwInstrKind)row->kind) {
    case RW_LLVM: v = opcode(b, row, parsed->opcode, result, x, n, address[0]); break;
    case RW_INTR: v = intrinsic(b, row, parsed->intrinsic, result, x, n); break;
    case RW_CALL: v = library(b, row, result, x, n); break;
    case RW_ASM: v = assembly(b, row, node->imm, result, x, n, effect, address); break;
    case RW_LOOKUP: v = lookup(b, row, x[0]); break;
    }
    if (!v) return NULL;
    if (LLVMTypeOf(v) != result) bad_row(b, row, "the result's type is not the node's");
    set_flags(v, node->flags);
    return v;
}

LLVMValueRef ll_instr(LlBuild *b, IrRef r) { return instr(b, r, false, (LLVMValueRef[2]){NULL}); }
LLVMValueRef ll_instr_at(LlBuild *b, IrRef r, LLVMValueRef address, LLVMValueRef from)
{
    return instr(b, r, true, (LLVMValueRef[]){address, from});
}

LLVMValueRef ll_call_intrinsic(LlBuild *b, const char *name, LLVMValueRef *args)
{
    LLVMTypeRef type;
    LLVMValueRef f = ll_function(b, ll_intrinsic(name, strlen(name)), NULL, 0, &type);
    return LLVMBuildCall2(b->builder, type, f, args, LLVMCountParamTypes(type), "");
}

void ll_copy_group(LlBuild *b, const IrNode *n)
{
    const bool commit = n->op == OP_COPY_COMMIT;
    if (!tg_has(b->t, "cp.async"))
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "%s has no asynchronous copies", b->t->name);
    ll_call_intrinsic(b, commit ? "llvm.nvvm.cp.async.commit.group" : "llvm.nvvm.cp.async.wait.group",
                      (LLVMValueRef[]){LLVMConstInt(b->i32, n->imm, false)});
}

static void needs_clusters(const LlBuild *b)
{
    if (!tg_has(b->t, "cluster"))
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "%s has no clusters of blocks", b->t->name);
}

void ll_cluster_barrier(LlBuild *b)
{
    needs_clusters(b);
    ll_call_intrinsic(b, "llvm.nvvm.barrier.cluster.arrive.aligned", NULL); /* releases */
    ll_call_intrinsic(b, "llvm.nvvm.barrier.cluster.wait.aligned", NULL);   /* acquires */
}

LLVMValueRef ll_peer(LlBuild *b, LLVMValueRef address, uint64_t rank)
{
    needs_clusters(b);
    return ll_call_intrinsic(b, "llvm.nvvm.mapa.shared.cluster",
                             (LLVMValueRef[]){address, LLVMConstInt(b->i32, rank, false)});
}

LLVMValueRef ll_barrier(LlBuild *b)
{
    LLVMValueRef zero = LLVMConstInt(b->i32, 0, false);
    return ll_call_intrinsic(b, "llvm.nvvm.barrier.cta.sync.aligned.all", &zero);
}

/* load.c: loads of elements from memory.
 *
 * Needs the scopes of each node, and an emitted index; leaves LLVM's load. Neighbouring elements that one scope loads
 * are one access: a vector's load where the first of them is needed, and one element of it each. LLVM's
 * load-store-vectorizer makes the same accesses of single loads, but after other passes, whose time is proportional to
 * the addresses, loads and freezes that it removes. Bytes are left to it, and what gaps and the ends of rows separate.
 *
 *     load %x[8*t]; load %x[8*t + 1]  ->  %v = load <2 x float>; extractelement %v, 0; extractelement %v, 1
 */
#include "llvm/inner.h"

enum { MOST_LANES = 16 };

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* The alignment that facts prove of an access's address, at most the buffer's own. For a wide access the vectoriser has
 * proved its own size. LLVM merges neighbouring scalar loads if one of them is known to be aligned for the merged load,
 * and rounds three of them up to four, over gaps too; so the alignment stated never lets a merged load reach beyond the
 * end of the buffer. */
uint32_t ll_access_align(LlBuild *b, const IrBuffer *buffer, IrType type, IrRef index)
{
    uint32_t align = sc_bytes(IR_SC(type));
    const uint32_t most = IR_LANES(type) > 1 ? buffer->align : ir_word_align(buffer);
    const WbbI128 last = ir_fact(b->g, index).hi;
    WbbI128 elements = ir_is_packed(IR_SC(type)) ? 8 / sc_type_info[IR_SC(type)].bits : 1; /* in `align` bytes */
    while (align < most && ir_multiple(b->g, index, 2 * elements) && last + 2 * elements <= buffer->elements) {
        elements *= 2;
        align *= 2;
    }
    return align;
}

void ll_relaxed(const LlBuild *b, LLVMValueRef access, IrType type)
{
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, LLVMGetSyncScopeID(b->llvm, "device", 6));
    LLVMSetAlignment(access, sc_bytes(IR_SC(type)));
}

/* The access to one element or several at the index; `type` says how many. */
static LLVMValueRef access(LlBuild *b, IrRef r, IrType type, uint32_t buffer, IrRef index, uint32_t align)
{
    const IrNode *n = ir_at(b->g, r);
    ll_lines_at(b, index);
    LLVMValueRef at = ll_address(b, buffer, index);
    ll_lines_access(b, LL_BY_LOAD, r, buffer);
    if (n->op == OP_READ_PEER) at = ll_peer(b, at, n->imm);
    LLVMValueRef v = LLVMBuildLoad2(b->builder, ll_memory_type(b, type), at, "");
    LLVMSetAlignment(v, align);
    if (n->op == OP_READ_RELAXED) ll_relaxed(b, v, type);
    return v;
}

static void mark_constant(LlBuild *b, LLVMValueRef load, uint32_t buffer)
{
    if (!b->constant[buffer]) return;
    LLVMValueRef none = LLVMMetadataAsValue(b->llvm, LLVMMDNodeInContext2(b->llvm, NULL, 0));
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(b->llvm, "invariant.load", 14), none);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
/* The loads of the elements of one buffer whose indices have the same terms, and constants between two multiples of
 * the number of elements in the widest access. */
struct LlGroup {
    IrRef at[MOST_LANES];           /* by lane: the load; 0: none */
    LLVMValueRef wide[MOST_LANES];  /* by first lane: the last access made */
    uint32_t scope[MOST_LANES];     /* .. and the scope that it was made in */
    bool kept[MOST_LANES];          /* .. is it kept in its block? */
};

static uint32_t most_lanes(const LlBuild *b, ScType type)
{
    return WBB_MIN(b->t->vector_bytes / sc_bytes(type), MOST_LANES);
}

static bool is_candidate(const LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op != OP_LOAD || !b->scopes.emitted[r] || IR_LANES(n->type) > 1) return false;
    const uint32_t buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    const ScType type = IR_SC(n->type);
    return b->constant[buffer] && ir_is_parameter(&b->k->buffers[buffer]) && sc_bytes(type) > 1 &&
           !ir_is_packed(type) && ll_parts(n->type) == 1 && most_lanes(b, type) > 1;
}

/* The constant of an index, rounded to minus infinity, and the lane. */
static int64_t first_of(int64_t constant, uint32_t lanes, uint32_t *lane)
{
    *lane = (uint32_t)((uint64_t)constant % lanes); /* a power of two */
    return constant - *lane;
}

void ll_find_groups(LlBuild *b)
{
    WbbMap map = {.arena = b->arena};
    b->groups = WBB_NEW_N(b->arena, LlGroup *, b->g->n);
    for (IrRef r = 1; r < b->g->n; r++) {
        if (!is_candidate(b, r)) continue;
        const IrNode *n = ir_at(b->g, r), *index = ir_at(b->g, n->a[1]);
        const bool sum = index->op == OP_SUM;
        const uint32_t n_terms = sum ? index->a[1] : index->op != OP_CONST;
        const int64_t constant = sum || index->op == OP_CONST ? (int64_t)index->imm : 0;
        uint64_t *key = WBB_NEW_N(b->arena, uint64_t, 2 + 2 * n_terms), *at = key;
        uint32_t lane;
        *at++ = ir_at(b->g, n->a[0])->imm;
        *at++ = (uint64_t)first_of(constant, most_lanes(b, IR_SC(n->type)), &lane);
        for (uint32_t i = 0; i < n_terms; i++) {
            *at++ = sum ? (uint64_t)b->g->terms[index->a[0] + i].coefficient : 1;
            *at++ = sum ? b->g->terms[index->a[0] + i].ref : n->a[1];
        }
        WbbEntry *e = wbb_map_put_bytes(&map, key, (size_t)(at - key) * sizeof *key);
        if (!e->pointer) e->pointer = WBB_NEW(b->arena, LlGroup);
        b->groups[r] = e->pointer;
        b->groups[r]->at[lane] = r;
    }
}

/* Which lane of its group is r? */
static uint32_t lane_of(const LlGroup *group, IrRef r)
{
    uint32_t lane = 0;
    while (group->at[lane] != r) lane++;
    return lane;
}

/* The lanes of the widest access that has this lane and that loads no more than the scope does, or one element more: of
 * three neighbours four, where the buffer has them; 1: a load of its own. Its address has the alignment that such an
 * access needs. */
static uint32_t width_at(LlBuild *b, const LlGroup *group, uint32_t lane, uint32_t scope)
{
    const IrNode *x = ir_at(b->g, group->at[lane]);
    const IrBuffer *buffer = &b->k->buffers[ir_at(b->g, x->a[0])->imm];
    for (uint32_t lanes = most_lanes(b, IR_SC(x->type)); lanes > 1; lanes /= 2) {
        const uint32_t first = lane / lanes * lanes;
        uint32_t n = 0;
        for (uint32_t k = 0; k < lanes; k++)
            n += group->at[first + k] && ir_is_placed_in(&b->scopes, group->at[first + k], scope);
        if (!group->at[first] || (n < lanes && (n != 3 || lanes != 4))) continue;
        const IrType all = IR_TYPE(IR_SC(x->type), n < lanes ? 0 : __builtin_ctz(lanes)); /* 0: it may end beyond */
        const IrRef index = ir_at(b->g, group->at[first])->a[1];
        if (ll_access_align(b, buffer, all, index) >= lanes * sc_bytes(IR_SC(x->type))) return lanes;
    }
    return 1;
}

static LLVMValueRef wide(LlBuild *b, IrRef first, uint32_t lanes)
{
    const IrNode *n = ir_at(b->g, first);
    const uint32_t buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    const IrType type = IR_TYPE(IR_SC(n->type), __builtin_ctz(lanes));
    LLVMValueRef v = access(b, first, type, buffer, n->a[1], sc_bytes(IR_SC(type)) * lanes);
    mark_constant(b, v, buffer);
    return v;
}

/* The element of its group's access, which is made now if the scope has not made it; NULL: r is loaded alone. */
static LLVMValueRef of_group(LlBuild *b, IrRef r)
{
    LlGroup *group = b->groups[r];
    if (!group) return NULL;
    const uint32_t scope = b->scopes.emitted[r]->scope, lane = lane_of(group, r);
    const uint32_t lanes = width_at(b, group, lane, scope), first = lane / lanes * lanes;
    if (lanes == 1) return NULL;
    if (!group->wide[first] || group->scope[first] != scope) {
        group->scope[first] = scope;
        group->kept[first] = false;
        group->wide[first] = wide(b, group->at[first], lanes);
    }
    return LLVMBuildExtractElement(b->builder, group->wide[first], LLVMConstInt(b->i32, lane - first, false), "");
}

LLVMValueRef ll_to_keep(LlBuild *b, IrRef r)
{
    LLVMValueRef v = b->values[r];
    LlGroup *group = b->groups[r];
    if (!group || !LLVMIsAExtractElementInst(v)) return v;
    LLVMValueRef all = LLVMGetOperand(v, 0);
    uint32_t first = lane_of(group, r);
    while (group->wide[first] != all) first--;
    const bool kept = group->kept[first];
    group->kept[first] = true;
    return kept ? NULL : all;
}

/* --- loads -------------------------------------------------------------------------------------------------------- */
/* A load of one element is frozen, which adds no instruction: without it the code generator turns a select of two loads
 * into one load from a selected address. That load waits for the condition, and the pointers are read from parameter
 * space by a computed address. */
LLVMValueRef ll_load(LlBuild *b, IrRef r, uint32_t buffer, IrRef index)
{
    const IrNode *n = ir_at(b->g, r);
    /* LLVM merges aligned loads, over gaps too. What lies between elements of memory that changes may be another
     * thread's, or not written yet: such a load has the alignment of its own size. */
    const bool peer = n->op == OP_READ_PEER;
    const bool own = n->op == OP_READ || n->op == OP_READ_RELAXED || peer;
    const uint32_t align = own ? sc_bytes(IR_SC(n->type)) * IR_LANES(n->type)
                               : ll_access_align(b, &b->k->buffers[buffer], n->type, index);
    LLVMValueRef v;
    if (ir_is_packed(IR_SC(n->type)) && !peer) {
        ll_lines_access(b, LL_BY_LOAD, r, buffer);
        LLVMValueRef at = ll_index(b, index, ir_is_wide(b->g, index)), load;
        v = ll_load_packed(b, b->pointers[buffer], at, n->type, align, &load);
        mark_constant(b, load, buffer);
        return v;
    }
    v = of_group(b, r);
    if (!v) {
        v = access(b, r, n->type, buffer, index, align);
        mark_constant(b, v, buffer);
        if (IR_LANES(n->type) == 1) v = LLVMBuildFreeze(b->builder, v, "");
    }
    if (IR_SC(n->type) == SC_PRED) { /* in memory a pred is a byte, 0 or 1 */
        v = LLVMBuildTrunc(b->builder, v, ll_type(b, n->type), "");
        LLVMSetNUW(v, true);
    }
    return v;
}

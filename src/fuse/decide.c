/* decide: which values are stored in memory, and which are computed in the kernels that use them.
 *
 * Needs: a computation. Leaves: a role for each instruction. One walk from the last instruction to the first: the roles
 * of an instruction's users are known before its own, and say which kernels use its value.
 *
 *     r = rsqrt(v)  b = broadcast(r)  ROOT y = multiply(x, b)      y is a ROOT, b and r are INLINE: only y uses them
 */
#include "fuse/priced.h"
#include "hlo/normalise.h"

enum { NO_KERNEL = -1, SEVERAL = -2 };

typedef struct {
    const HloComputation *c;
    FuseRole *roles;
    uint32_t *first, *users; /* the users of instruction i: users[first[i]] .. users[first[i + 1] - 1] */
    int64_t *kernel;   /* [id] the root of the one kernel that uses it, or SEVERAL */
    bool *hero;        /* [root] its kernel holds an operation that determines the layout of threads */
    bool *pointwise;   /* [id] elementwise, and so are all users up to the root */
    uint32_t *members; /* [root] instructions of its kernel */
} Decision;

static bool is_hero(HloOpcode op) { return hlo_has(op, HLO_HERO); }

bool fuse_is_whole(const HloInstruction *i)
{
    return hlo_kind(i->opcode) == HLO_IS_WHOLE || (hlo_kind(i->opcode) == HLO_IS_CHOOSE && is_hero(i->opcode));
}

FuseRole fuse_first_role(const HloInstruction *i)
{
    if (i->opcode == HLO_FUSION) return FUSE_FIXED;
    switch (hlo_kind(i->opcode)) {
    case HLO_IS_LEAF: return i->opcode == HLO_IOTA ? FUSE_ROOT : FUSE_NOTHING;
    case HLO_IS_GROUP: case HLO_IS_FORWARD: return FUSE_NOTHING;
    case HLO_IS_CONTROL: return i->opcode == HLO_MAP ? FUSE_ROOT : FUSE_CONTROL;
    case HLO_IS_MOVE: case HLO_IS_CHOOSE: return FUSE_ROOT;
    case HLO_IS_ELEMENT: /* a copy of a tuple copies nothing */
        return i->shape->type == SC_TUPLE ? FUSE_NOTHING : FUSE_ROOT;
    default: return is_hero(i->opcode) ? FUSE_ROOT : FUSE_LIBRARY;
    }
}

/* Computed again in each kernel that uses it: moved or converted values, and scalars. */
static bool is_cheap(const HloInstruction *i)
{
    const bool scalar = i->shape->type != SC_TUPLE && i->shape->rank == 0 && hlo_is_elementwise(i->opcode);
    return scalar || hlo_has(i->opcode, HLO_AGAIN);
}

bool fuse_is_small_constant(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && i->shape->type != SC_TUPLE && i->literal &&
           hlo_elements(i->shape) <= HLO_LIMIT_CUT_CONSTANT;
}

/* How an instruction's value is used. */
typedef struct {
    bool memory;    /* as a result, or by an instruction that reads memory */
    bool any;       /* at all */
    int64_t kernel; /* root of the only kernel that uses it, NO_KERNEL, SEVERAL */
    bool pointwise; /* only by pointwise instructions on arrays of its size */
} Uses;

static Uses uses_of(const Decision *d, uint32_t id)
{
    const HloInstruction *i = d->c->instructions[id];
    Uses u = {.memory = i == d->c->root, .any = i == d->c->root, .kernel = NO_KERNEL, .pointwise = true};
    for (uint32_t k = d->first[id]; k < d->first[id + 1]; k++) {
        const uint32_t user = d->users[k];
        const FuseRole role = d->roles[user];
        u.any = true;
        if (role != FUSE_INLINE && role != FUSE_ROOT) {
            u.memory = true;
            continue;
        }
        const int64_t kernel = role == FUSE_ROOT ? (int64_t)user : d->kernel[user];
        u.kernel = u.kernel == NO_KERNEL || u.kernel == kernel ? kernel : SEVERAL;
        u.pointwise &= d->pointwise[user] && hlo_same_dims(i->shape, d->c->instructions[user]->shape);
    }
    return u;
}

/* The value of i, which only kernels use, is computed in them. */
static bool is_inlined(const Decision *d, const HloInstruction *i, const Uses *u)
{
    if (u->kernel == SEVERAL) return is_cheap(i);
    if (d->members[u->kernel] >= HLO_LIMIT_CUT_MEMBERS) return false;
    if (!is_hero(i->opcode)) return true;
    /* an epilogue */
    return i->opcode == HLO_REDUCE && i->shape->type != SC_TUPLE && u->pointwise && !d->hero[u->kernel];
}

static void decide_one(Decision *d, uint32_t id)
{
    const HloInstruction *i = d->c->instructions[id];
    d->roles[id] = fuse_first_role(i);
    if (d->roles[id] != FUSE_ROOT) return;
    const Uses u = uses_of(d, id);
    if (!u.any) {
        d->roles[id] = FUSE_NOTHING; /* dead */
        return;
    }
    const bool elementwise = hlo_is_elementwise(i->opcode);
    if (!u.memory && is_inlined(d, i, &u)) {
        d->roles[id] = FUSE_INLINE;
        d->kernel[id] = u.kernel;
        d->pointwise[id] = elementwise && u.pointwise;
        if (u.kernel == SEVERAL) return;
        d->members[u.kernel]++;
        d->hero[u.kernel] |= is_hero(i->opcode);
    } else if (fuse_is_view(i)) {
        d->roles[id] = FUSE_ALIAS;
    } else {
        d->members[id] = 1;
        d->hero[id] = is_hero(i->opcode);
        d->pointwise[id] = elementwise;
    }
}

FuseRole *fuse_decide(WbbArena *a, const HloComputation *c)
{
    const uint32_t n = c->n_instructions;
    Decision d = {.c = c,
                  .roles = WBB_NEW_N(a, FuseRole, n + 1),
                  .kernel = WBB_NEW_N(a, int64_t, n + 1),
                  .hero = WBB_NEW_N(a, bool, n + 1),
                  .pointwise = WBB_NEW_N(a, bool, n + 1),
                  .members = WBB_NEW_N(a, uint32_t, n + 1)};
    fuse_find_users(a, d.c, &d.first, &d.users);
    for (uint32_t id = n; id-- > 0;) decide_one(&d, id);
    return d.roles;
}

/* Copies what it reads as it is, which takes no kernel. */
static bool is_memory_copy(const HloInstruction *i)
{
    return i->opcode == HLO_COPY && i->shape->type != SC_TUPLE &&
           hlo_same_layout(i->shape, i->operands[0]->shape);
}

FuseRole *fuse_decide_given(WbbArena *a, const HloComputation *c)
{
    FuseRole *roles = WBB_NEW_N(a, FuseRole, c->n_instructions + 1);
    for (uint32_t id = 0; id < c->n_instructions; id++) {
        const HloInstruction *i = c->instructions[id];
        roles[id] = fuse_first_role(i);
        if (roles[id] != FUSE_ROOT) continue;
        if (!i->n_users && i != c->root) roles[id] = FUSE_NOTHING; /* dead */
        else if (is_memory_copy(i)) roles[id] = FUSE_COPY;
        else if (fuse_is_view(i)) roles[id] = FUSE_ALIAS;
    }
    return roles;
}

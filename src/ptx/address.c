/* address.c: sums of terms, and addresses.
 *
 * Needs emitted terms; leaves registers of 32 or 64 bits. A sum adds its terms from outer scopes first. Each partial
 * sum is written in the scope of its innermost term, out of loops around that, and used again wherever it is in scope:
 * by another sum that begins so, and by accesses to other buffers. The constant of an address is its immediate offset.
 * What remains is a multiple of the terms' common factor: mul.wide takes it from 32 bits to bytes.
 *
 *     load %x[1024*bid + 8*tid + 8]:bf16x8   ->   mad.lo.s32 %r3, %r1, 128, %r2; mul.wide.u32 %rd2, %r3, 16;
 *                                                 add.s64 %rd3, %rd1, %rd2;  [%rd3+16]
 */
#include "ir/facts.h"
#include "ptx/inner.h"

#include <string.h>

static uint32_t depth_of(const PtxBuild *b, uint32_t scope) { return b->places.items[scope].depth; }

static bool is_there(const void *of, IrRef r) { return ptx_has(of, r); }

IrSplit ptx_expanded(PtxBuild *b, IrRef index)
{
    return ir_expanded(b->arena, b->g, index, is_there, b);
}

/* --- sums --------------------------------------------------------------------------------------------------------- */
/* Where a register made of terms bound in `bound` is written: outside loops, but not outside where its parts are. */
static uint32_t scope_of(const PtxBuild *b, uint32_t bound, uint32_t inside)
{
    const uint32_t hoisted = ir_hoisted(&b->places, b->at, bound);
    return depth_of(b, inside) > depth_of(b, hoisted) ? inside : hoisted;
}

PtxMade *ptx_made(PtxBuild *b, const uint64_t *key, size_t n)
{
    WbbEntry *e = wbb_map_put_bytes(&b->made, key, n * sizeof *key);
    PtxMade *m = e->pointer;
    if (!m) e->pointer = m = WBB_NEW(b->arena, PtxMade);
    if (m->reg.kind != PTX_NONE && !ptx_is_here(b, m->scope)) m->reg.kind = PTX_NONE;
    return m;
}

/* The key of a sum of all terms, in the order in which they are added. key: room for 1 + 2 * terms. */
static size_t key_of_terms(PtxBuild *b, const IrSplit *s, bool wide, uint64_t *key)
{
    bool *done = WBB_NEW_N(b->arena, bool, s->n + 1);
    size_t n = 0;
    key[n++] = wide;
    for (uint32_t k = 0; k < s->n; k++) {
        const uint32_t best = ir_next_term(&b->places, s, done);
        done[best] = true;
        key[n++] = (uint64_t)s->terms[best].coefficient, key[n++] = s->terms[best].ref;
    }
    return n;
}

static uint32_t scope_of_term(const PtxBuild *b, IrRef r)
{
    return ptx_has(b, r) ? b->values[r]->scope : b->places.items[b->at].root;
}

/* sum + c * x, in the widths of sum and x */
static PtxReg add_term(PtxBuild *b, PtxReg sum, int64_t c, PtxReg x, bool wide)
{
    const char *type = wide ? "s64" : "s32";
    const uint32_t bits = wide ? 64 : 32;
    const PtxKind kind = wide ? PTX_B64 : PTX_B32;
    const uint64_t size = c < 0 ? 0 - (uint64_t)c : (uint64_t)c;
    const bool power = (size & (size - 1)) == 0;
    if (sum.kind == PTX_NONE && c == 1) return x;
    PtxReg d = ptx_new(b, kind);
    if (sum.kind == PTX_NONE && c == -1) ptx_line(b, "neg.%s %R, %R;", type, d, x);
    else if (sum.kind == PTX_NONE && power && c > 0)
        ptx_line(b, "shl.b%u %R, %R, %u;", bits, d, x, (uint32_t)__builtin_ctzll(size));
    else if (sum.kind == PTX_NONE) ptx_line(b, "mul.lo.%s %R, %R, %l;", type, d, x, c);
    else if (size == 1) ptx_line(b, "%s.%s %R, %R, %R;", c > 0 ? "add" : "sub", type, d, sum, x);
    else if (power && c > 0) {
        ptx_line(b, "shl.b%u %R, %R, %u;", bits, d, x, (uint32_t)__builtin_ctzll(size));
        const PtxReg product = d;
        d = ptx_new(b, kind);
        ptx_line(b, "add.%s %R, %R, %R;", type, d, sum, product);
    } else ptx_line(b, "mad.lo.%s %R, %R, %l, %R;", type, d, x, c, sum);
    return d;
}

/* A digit as a mask. */
static PtxReg masked(PtxBuild *b, const PtxDigit *d)
{
    PtxReg x = ptx_index(b, d->x, false);
    const uint32_t shift = d->left + d->right;
    if (shift) {
        const PtxReg moved = ptx_new(b, PTX_B32);
        ptx_line(b, d->left ? "shl.b32 %R, %R, %u;" : "shr.u32 %R, %R, %u;", moved, x, shift);
        x = moved;
    }
    const PtxReg to = ptx_new(b, PTX_B32);
    ptx_line(b, "and.b32 %R, %R, %u;", to, x, d->mask);
    return to;
}

/* Adds a term to the sum of those before it, NULL: it is the first. */
static void next_sum(PtxBuild *b, PtxMade *m, const PtxMade *before, IrTerm t, bool wide)
{
    const uint32_t zero = wide ? 0 : ptx_zero_of_term(b, t);
    const bool apart = !wide && (!before || (before->zero | zero) == UINT32_MAX);
    PtxDigit d;
    const bool digit = apart && ptx_digit(b, t, before && (before->masked || before->joined), &d);
    m->masked = digit && !before, m->joined = false;
    m->zero = !before ? zero : apart ? before->zero & zero : 0;
    if (digit && !before) m->reg = masked(b, &d);
    else if (before && apart && (digit || (before->masked && t.coefficient == 1))) {
        const PtxReg x = digit ? masked(b, &d) : ptx_index(b, t.ref, false);
        m->reg = ptx_new(b, PTX_B32), m->joined = true;
        ptx_line(b, "or.b32 %R, %R, %R;", m->reg, before->reg, x);
    } else m->reg = add_term(b, before ? before->reg : (PtxReg){0}, t.coefficient, ptx_index(b, t.ref, wide), wide);
}

PtxReg ptx_terms(PtxBuild *b, const IrSplit *s, bool wide)
{
    bool *done = WBB_NEW_N(b->arena, bool, s->n + 1);
    uint64_t *key = WBB_NEW_N(b->arena, uint64_t, 1 + 2 * s->n);
    uint32_t bound = 0, inside = 0;
    const uint32_t at = b->at;
    const PtxMade *sum = NULL;
    key[0] = wide;
    for (uint32_t k = 0; k < s->n; k++) {
        const uint32_t best = ir_next_term(&b->places, s, done);
        const IrRef ref = s->terms[best].ref;
        done[best] = true;
        key[1 + 2 * k] = (uint64_t)s->terms[best].coefficient;
        key[2 + 2 * k] = ref;
        if (depth_of(b, b->places.bound_in[ref]) > depth_of(b, bound)) bound = b->places.bound_in[ref];
        if (depth_of(b, scope_of_term(b, ref)) > depth_of(b, inside)) inside = scope_of_term(b, ref);
        PtxMade *m = ptx_made(b, key, 3 + 2 * k);
        if (m->reg.kind == PTX_NONE) {
            b->at = m->scope = scope_of(b, bound, inside);
            next_sum(b, m, sum, s->terms[best], wide);
            b->at = at;
        }
        sum = m;
        inside = m->scope;
    }
    return sum ? sum->reg : ptx_number(wide ? 64 : 32, 0);
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */
/* The number of a buffer among the parameters of the function that is being written. */
static uint32_t parameter(PtxBuild *b, uint32_t buffer)
{
    PtxCallee *c = &b->callees[b->function];
    const uint32_t first = b->k->functions[b->function]->n_params;
    for (uint32_t i = 0; i < c->n_buffers; i++)
        if (c->buffers[i] == buffer) return first + i;
    c->buffers[c->n_buffers] = buffer;
    return first + c->n_buffers++;
}

/* The register with the address of a buffer, in the outermost scope of the function. */
PtxReg ptx_base(PtxBuild *b, uint32_t buffer)
{
    for (uint32_t i = 0; i < b->k->n_buffers; i++) /* an operand that an in-place output aliases has its address */
        if (b->k->buffers[i].alias == buffer + 1) buffer = i;
    const IrBuffer *x = &b->k->buffers[buffer];
    if (b->bases[buffer].kind != PTX_NONE) return b->bases[buffer];
    const uint32_t at = b->at;
    const IrMaker maker = b->maker;
    b->at = b->places.items[at].root;
    b->maker = (IrMaker){.what = IR_BY_NODE};
    const PtxReg d = ptx_new(b, x->space == IR_SHARED ? PTX_B32 : PTX_B64);
    const bool inside = b->function < b->k->n_functions;
    const char *name = inside ? b->callees[b->function].name : b->k->name;
    const uint32_t number = inside && ir_is_parameter(x) ? parameter(b, buffer) : buffer;
    const bool dynamic = x->space == IR_SHARED && ir_dynamic_shared(b->k) > 0;
    if (ir_is_parameter(x)) ptx_line(b, "ld.param.b64 %R, [%s_param_%u];", d, name, number);
    else if (dynamic) {
        const int64_t offset = ir_shared_offset(b->k, buffer);
        ptx_line(b, "mov.b32 %R, %s;", d, ir_module_name(b->arena, b->k, IR_DYNAMIC));
        if (offset) ptx_line(b, "add.s32 %R, %R, %l;", d, d, offset);
    } else ptx_line(b, "mov.b%u %R, %s;", x->space == IR_SHARED ? 32 : 64, d, ir_module_name(b->arena, b->k, x->name));
    b->at = at;
    b->maker = maker;
    return b->bases[buffer] = d;
}

/* scale * sum of the terms, as 64 bits, or 32 in shared memory. */
static PtxReg bytes(PtxBuild *b, const IrSplit *s, int64_t scale, bool shared)
{
    const IrBounds x = ir_bounds_of(b->g, s);
    const bool wide = !shared && (!x.narrow_factors || !ir_is_i32(x.first) || !ir_is_i32(x.last));
    const PtxReg sum = ptx_terms(b, s, wide);
    if (shared || wide) return add_term(b, (PtxReg){0}, scale, sum, wide);
    const PtxReg d = ptx_new(b, PTX_B64);
    const char sign = x.first < 0 ? 's' : 'u';
    if (scale == 1) ptx_line(b, sign == 's' ? "cvt.s64.s32 %R, %R;" : "cvt.u64.u32 %R, %R;", d, sum);
    else ptx_line(b, sign == 's' ? "mul.wide.s32 %R, %R, %l;" : "mul.wide.u32 %R, %R, %l;", d, sum, scale);
    return d;
}

/* Is the sum itself a register already? */
static bool is_made(PtxBuild *b, const IrSplit *s)
{
    uint64_t *key = WBB_NEW_N(b->arena, uint64_t, 1 + 2 * s->n);
    const size_t n = key_of_terms(b, s, false, key);
    return ptx_made(b, key, n)->reg.kind != PTX_NONE;
}

/* The register of base + scale * terms; the products are shared by buffers. added: base is this register, not the
 * buffer's address. */
static PtxReg register_of(PtxBuild *b, uint32_t buffer, const IrSplit *s, int64_t scale, const PtxReg *added)
{
    const bool shared = b->k->buffers[buffer].space == IR_SHARED;
    const uint32_t at = b->at;
    uint64_t *key = WBB_NEW_N(b->arena, uint64_t, 3 + 2 * s->n);
    uint32_t bound = 0, inside = b->places.items[at].root;
    key[0] = 2 + shared, key[1] = (uint64_t)scale;
    for (uint32_t i = 0; i < s->n; i++) {
        const IrRef ref = s->terms[i].ref;
        key[3 + 2 * i] = (uint64_t)s->terms[i].coefficient, key[4 + 2 * i] = ref;
        if (depth_of(b, b->places.bound_in[ref]) > depth_of(b, bound)) bound = b->places.bound_in[ref];
        if (depth_of(b, scope_of_term(b, ref)) > depth_of(b, inside)) inside = scope_of_term(b, ref);
    }
    const PtxReg base = added ? *added : ptx_base(b, buffer);
    key[2] = added ? added->n << 32 : buffer + 1;
    PtxMade *all = ptx_made(b, key, 3 + 2 * s->n);
    if (all->reg.kind != PTX_NONE) return all->reg;
    key[2] = 0;
    PtxMade *product = ptx_made(b, key, 3 + 2 * s->n);
    b->at = scope_of(b, bound, inside);
    if (product->reg.kind == PTX_NONE) *product = (PtxMade){.reg = bytes(b, s, scale, shared), .scope = b->at};
    if (depth_of(b, product->scope) > depth_of(b, b->at)) b->at = product->scope;
    *all = (PtxMade){.reg = ptx_new(b, shared ? PTX_B32 : PTX_B64), .scope = b->at};
    ptx_line(b, shared ? "add.s32 %R, %R, %R;" : "add.s64 %R, %R, %R;", all->reg, base, product->reg);
    b->at = at;
    return all->reg;
}

/* The terms by their factor, or the sum itself where that is a register already. */
static PtxReg by_factor(PtxBuild *b, uint32_t buffer, const IrSplit *s, const PtxReg *added)
{
    const int64_t size = sc_bytes(b->k->buffers[buffer].type), factor = ir_common_factor(s);
    const bool joins = factor <= INT32_MAX / size && !is_made(b, s);
    IrTerm *terms = WBB_NEW_N(b->arena, IrTerm, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        terms[i] = (IrTerm){s->terms[i].coefficient / (joins ? factor : 1), s->terms[i].ref};
    const IrSplit small = {.terms = terms, .n = s->n};
    return register_of(b, buffer, &small, size * (joins ? factor : 1), added);
}

/* In a loop: what does not change in it is added to the base outside of it, so that where ptxas unrolls the loop its
 * counter becomes an immediate offset. Puts the terms that change last and returns how many stand before them; 0: not
 * in a loop, or all or none change. */
static uint32_t unchanging(const PtxBuild *b, const IrSplit *s, IrTerm *out)
{
    uint32_t loop = b->at, n = 0, last = s->n;
    while (loop && !b->places.items[loop].loop) loop = b->places.items[loop].parent;
    for (uint32_t i = 0; loop && i < s->n; i++)
        if (depth_of(b, b->places.bound_in[s->terms[i].ref]) < depth_of(b, loop)) out[n++] = s->terms[i];
    for (uint32_t i = s->n; loop && i-- > 0;)
        if (depth_of(b, b->places.bound_in[s->terms[i].ref]) >= depth_of(b, loop)) out[--last] = s->terms[i];
    return n == s->n ? 0 : n;
}

static PtxAddress address_of(PtxBuild *b, uint32_t buffer, IrSplit s)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    const int64_t size = sc_bytes(x->type);
    PtxAddress a = {.space = x->space == IR_SHARED ? ".shared" : ".global"};
    a.offset = s.constant * size;
    const bool far = a.offset > INT32_MAX || a.offset < INT32_MIN;
    if (s.n > 0) {
        IrTerm *terms = WBB_NEW_N(b->arena, IrTerm, s.n);
        const uint32_t n = unchanging(b, &s, terms);
        if (n) {
            const IrSplit outside = {.terms = terms, .n = n}, inside = {.terms = terms + n, .n = s.n - n};
            const PtxReg base = by_factor(b, buffer, &outside, NULL);
            a.base = by_factor(b, buffer, &inside, &base);
        } else a.base = by_factor(b, buffer, &s, NULL);
    } else if (ir_is_parameter(x) || far || x->space == IR_TABLE) a.base = ptx_base(b, buffer);
    else if (x->space == IR_SHARED && ir_dynamic_shared(b->k)) {
        a.name = ir_module_name(b->arena, b->k, IR_DYNAMIC);
        a.offset += ir_shared_offset(b->k, buffer);
    } else a.name = ir_module_name(b->arena, b->k, x->name);
    const bool below = x->space == IR_SHARED && s.n > 0 && ir_bounds_of(b->g, &s).first < 0; /* before the array */
    if (far || (below && a.offset)) {
        const PtxReg d = ptx_new(b, x->space == IR_SHARED ? PTX_B32 : PTX_B64);
        ptx_line(b, x->space == IR_SHARED ? "add.s32 %R, %R, %l;" : "add.s64 %R, %R, %l;", d, a.base, a.offset);
        a.base = d, a.offset = 0;
    }
    return a;
}

PtxAddress ptx_address(PtxBuild *b, uint32_t buffer, IrRef index)
{
    return address_of(b, buffer, ptx_expanded(b, index));
}

bool ptx_byte_address(PtxBuild *b, uint32_t buffer, IrRef index, uint32_t down, PtxAddress *out)
{
    IrSplit s = ptx_expanded(b, index);
    IrTerm *terms = WBB_NEW_N(b->arena, IrTerm, s.n + 1);
    for (uint32_t i = 0; i < s.n; i++) {
        if (s.terms[i].coefficient % (1 << down)) return false;
        terms[i] = (IrTerm){s.terms[i].coefficient / (1 << down), s.terms[i].ref};
    }
    s.terms = terms;
    s.constant >>= down;
    *out = address_of(b, buffer, s);
    return true;
}

const char *ptx_address_text(PtxBuild *b, PtxAddress a)
{
    WbbBuf out = wbb_buf(b->arena);
    if (a.name) wbb_put(&out, a.name);
    else ptx_put_reg(&out, a.base, false);
    if (a.offset) wbb_putf(&out, "+%lld", (long long)a.offset);
    return out.text;
}

/* position: which element of a value a kernel needs, as atoms of the kernel's space.
 *
 * Needs: verified instructions. Leaves: positions that reshapes, broadcasts, transposes and reductions lead to each
 * other. An atom is a dimension of a space, or a part of one: it is split where a reshape cuts a dimension, and becomes
 * that of another space where kernels are joined.
 *
 *     y f32[6,8] at (a 6, b 8), y = reshape(x f32[48])        x at (a, b)
 *     x = reshape(w f32[2,3,8])                               w at (a0 2, a1 3, b)
 */
#include "fuse/priced.h"

#include <string.h>

uint32_t fuse_atom(FuseAtoms *s, int64_t size, bool reduced)
{
    if (!s->n) {
        const FuseAtom none = {0};
        WBB_PUSH(s->arena, s, none);
    }
    const FuseAtom x = {.size = size, .reduced = reduced};
    WBB_PUSH(s->arena, s, x);
    return s->n - 1;
}

static const FusePos unknown = {0};

/* Appends the whole atoms of an atom; false: there is no capacity. Atoms nest as deep as they were split. */
static bool put(const FuseAtoms *s, uint32_t atom, FusePos *out)
{
    while (s->items[atom].same) atom = s->items[atom].same;
    const FuseAtom *x = &s->items[atom];
    if (x->outer) return put(s, x->outer, out) && put(s, x->inner, out);
    if (out->n == FUSE_ATOMS) return false;
    out->atoms[out->n++] = atom;
    return true;
}

FusePos fuse_resolve(const FuseAtoms *s, const FusePos *p)
{
    FusePos out = {.known = p->known, .count = p->count};
    for (uint32_t k = 0; p->known && k < p->n; k++)
        if (!put(s, p->atoms[k], &out)) return (FusePos){.count = fuse_count(s, p)};
    return out;
}

double fuse_count(const FuseAtoms *s, const FusePos *p)
{
    double n = 1;
    if (!p->known) return p->count;
    for (uint32_t k = 0; k < p->n; k++) n *= (double)s->items[p->atoms[k]].size;
    return p->count > 0 ? n * p->count : n;
}

bool fuse_same_pos(const FuseAtoms *s, const FusePos *p, const FusePos *q)
{
    if (!p->known || !q->known) return !p->known && !q->known && p->count == q->count;
    const FusePos x = fuse_resolve(s, p), y = fuse_resolve(s, q);
    return x.known && y.known && x.n == y.n && !memcmp(x.atoms, y.atoms, x.n * sizeof *x.atoms);
}

FusePos fuse_new_pos(FuseAtoms *s, const HloShape *shape)
{
    FusePos p = {.known = shape->rank <= FUSE_ATOMS};
    for (uint32_t d = 0; p.known && d < shape->rank; d++)
        if (shape->dims[d] != 1) p.atoms[p.n++] = fuse_atom(s, shape->dims[d], false);
    return p;
}

static void split(FuseAtoms *s, uint32_t atom, int64_t inner)
{
    const int64_t size = s->items[atom].size;
    const bool reduced = s->items[atom].reduced;
    const uint32_t o = fuse_atom(s, size / inner, reduced), i = fuse_atom(s, inner, reduced);
    s->items[atom].outer = o, s->items[atom].inner = i;
}

/* Atom k of a resolved position becomes two. */
static bool split_in(FuseAtoms *s, FusePos *p, uint32_t k, int64_t inner)
{
    if (p->n == FUSE_ATOMS) return false;
    const uint32_t atom = p->atoms[k];
    split(s, atom, inner);
    memmove(&p->atoms[k + 1], &p->atoms[k], (p->n - k) * sizeof *p->atoms);
    p->atoms[k] = s->items[atom].outer, p->atoms[k + 1] = s->items[atom].inner;
    p->n++;
    return true;
}

/* Cuts a position by the dimensions of a shape: those of dimension d are atoms[first[d]] .. atoms[first[d + 1] - 1]. */
static bool by_dims(FuseAtoms *s, FusePos *p, const HloShape *shape, uint32_t *first)
{
    *p = fuse_resolve(s, p);
    if (!p->known || shape->rank > FUSE_ATOMS) return false;
    uint32_t k = p->n;
    first[shape->rank] = p->n;
    for (uint32_t d = shape->rank; d-- > 0;) {
        int64_t left = shape->dims[d];
        if (left <= 0) return false;
        while (left > 1) {
            if (!k) return false;
            const int64_t size = s->items[p->atoms[k - 1]].size;
            if (left % size == 0) {
                left /= size, k--;
            } else if (size % left == 0 && split_in(s, p, k - 1, left)) {
                for (uint32_t e = d + 1; e <= shape->rank; e++) first[e]++;
                left = 1;
            } else {
                return false;
            }
        }
        first[d] = k;
    }
    return k == 0;
}

static void append(FusePos *to, const FusePos *from, const uint32_t *first, uint32_t d)
{
    for (uint32_t k = first[d]; k < first[d + 1]; k++) to->atoms[to->n++] = from->atoms[k];
}

/* --- joining ------------------------------------------------------------------------------------------------------ */
static bool holds(const FusePos *p, uint32_t atom)
{
    for (uint32_t k = 0; k < p->n; k++)
        if (p->atoms[k] == atom) return true;
    return false;
}

static bool note(FuseJoin *undo, uint32_t atom)
{
    if (undo->n == FUSE_ATOMS) return false;
    undo->atoms[undo->n++] = atom;
    return true;
}

bool fuse_join(FuseAtoms *s, const FusePos *p, const FusePos *q, FuseJoin *undo)
{
    FusePos x = fuse_resolve(s, p), y = fuse_resolve(s, q);
    *undo = (FuseJoin){0};
    bool fits = x.known && y.known;
    while (fits && x.n && y.n) {
        const uint32_t a = x.atoms[x.n - 1], b = y.atoms[y.n - 1];
        const int64_t m = s->items[a].size, n = s->items[b].size;
        if (a == b || m == n) {
            x.n--, y.n--;
            if (a == b) continue;
            fits = !holds(&x, a) && !holds(&x, b) && !holds(&y, a) && !holds(&y, b) && note(undo, b);
            if (fits) s->items[b].same = a;
        } else if (!m || !n) {
            fits = false;
        } else if (m % n == 0) {
            fits = split_in(s, &x, x.n - 1, n);
        } else if (n % m == 0) {
            fits = split_in(s, &y, y.n - 1, m);
        } else {
            fits = false;
        }
    }
    if (fits && !x.n && !y.n) return true;
    fuse_part(s, undo);
    return false;
}

void fuse_part(FuseAtoms *s, const FuseJoin *undo)
{
    for (uint32_t k = 0; k < undo->n; k++) s->items[undo->atoms[k]].same = 0;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */
double fuse_terms(WbbArena *a, const HloInstruction *i)
{
    HloScan scan;
    const double n = hlo_terms(a, i);
    return hlo_is_scan(i, &scan) ? n / (double)i->windows[scan.dim].size : n;
}

double fuse_needed(WbbArena *a, const HloInstruction *i, uint32_t k, double n)
{
    bool same;
    return hlo_needed(i, k, n, fuse_terms(a, i), &same);
}

static const HloShape *result_of(const HloInstruction *i)
{
    return i->shape->type == SC_TUPLE ? i->shape->elements[0] : i->shape;
}

/* The dimensions that an operation leaves as they are keep their atoms; others have new ones, which nothing else has.
 * `other` has the number of elements. */
static FusePos moved(FuseAtoms *s, const HloInstruction *i, uint32_t k, const GrAxes *axes, const FusePos *at,
                     const FusePos *other)
{
    const HloShape *x = i->operands[k]->shape;
    uint32_t first[FUSE_ATOMS + 1], kept = 0;
    FusePos p = *at, out = {.known = true};
    if (!by_dims(s, &p, result_of(i), first)) return *other;
    for (uint32_t d = 0; d < x->rank; d++) {
        const int16_t from = axes->of[d];
        if (out.n + (from < 0 ? 1 : first[from + 1] - first[from]) > FUSE_ATOMS) return *other;
        if (from >= 0) append(&out, &p, first, (uint32_t)from);
        else if (from == GR_OTHER) out.atoms[out.n++] = fuse_atom(s, x->dims[d], false);
        kept += from != GR_OTHER;
    }
    if (kept == x->rank) { /* a broadcast leaves dimensions out, a transpose none */
        out.count = x->rank == i->shape->rank ? p.count : 0;
        return out;
    }
    const double all = fuse_count(s, &out);
    out.count = all > 0 ? other->count / all : 0;
    return out;
}

FusePos fuse_narrow_pos(FuseAtoms *s, const HloShape *of, const HloShape *x, const FusePos *at)
{
    FusePos p = *at, out = {.known = true};
    uint32_t first[FUSE_ATOMS + 1];
    if (!p.known || !by_dims(s, &p, of, first)) return (FusePos){.count = (double)hlo_elements(x)};
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->dims[d] != 1) append(&out, &p, first, d);
    return out;
}

FusePos fuse_operand_pos(FuseAtoms *s, const HloInstruction *i, uint32_t k, const FusePos *at)
{
    const HloShape *x = i->operands[k]->shape;
    const FusePos other = {.count = fuse_needed(s->arena, i, k, fuse_count(s, at))};
    if (x->type != SC_TUPLE && hlo_elements(x) == 1 && at->known) return (FusePos){.known = true};
    if (!at->known) return other;
    if (x->type == SC_TUPLE || i->shape->type == SC_TUPLE) return *at; /* of a loop */
    if (hlo_is_elementwise(i->opcode) && hlo_same_dims(x, i->shape)) return *at;
    const GrAxes axes = gr_axes(s->sight, i, k);
    const bool folds = hlo_kind(i->opcode) == HLO_IS_FOLD && !i->n_windows; /* a thread has them all, one by one */
    if (!axes.known || (folds && !axes.in_order)) return other;
    return axes.in_order ? *at : moved(s, i, k, &axes, at, &other);
}

static bool is_reduced(const HloInstruction *i, uint32_t d)
{
    for (uint32_t k = 0; k < i->n_dimensions; k++)
        if (i->dimensions[k] == d) return true;
    return false;
}

bool fuse_fits_terms(FuseAtoms *s, const HloInstruction *i, const FusePos *at, const FusePos *space)
{
    uint32_t first[FUSE_ATOMS + 1];
    FusePos p = *space, kept = {.known = true};
    const HloShape *x = i->operands[0]->shape;
    if (!by_dims(s, &p, x, first)) return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!is_reduced(i, d)) append(&kept, &p, first, d);
    return fuse_same_pos(s, &kept, at);
}

FusePos fuse_new_terms(FuseAtoms *s, const HloInstruction *i, const FusePos *at)
{
    uint32_t first[FUSE_ATOMS + 1], kept = 0;
    FusePos p = *at, out = {.known = true};
    const HloShape *x = i->operands[0]->shape;
    if (!by_dims(s, &p, result_of(i), first) || x->rank + p.n > FUSE_ATOMS) return unknown;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!is_reduced(i, d)) append(&out, &p, first, kept++);
        else if (x->dims[d] != 1) out.atoms[out.n++] = fuse_atom(s, x->dims[d], true);
    }
    return out;
}

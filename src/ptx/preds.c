/* preds.c: truths that were loaded, as the bytes that they are in memory.
 *
 * Needs words of four bytes that are 0 or 1; leaves a predicate where one is needed. Until then several of a word, or
 * of two words, are one test: "any of these bytes" is a test of a word, and so is "all of them". Words are stored as
 * they were loaded.
 *
 *     or(or(x[0], x[1]), or(x[2], x[3])), the bytes of %r1   ->   setp.ne.b32 %p1, %r1, 0;
 */
#include "ptx/inner.h"

static bool is_one(PtxTest t) { return (t.bytes & (t.bytes - 1)) == 0; }

PtxValue *ptx_joined_tests(PtxBuild *b, const PtxValue *x, const PtxValue *y, IrType type, bool all)
{
    const PtxTest p = x->test, q = y->test;
    if (IR_LANES(type) > 1 || p.word.kind == PTX_NONE || q.word.kind == PTX_NONE) return NULL;
    if ((p.all != all && !is_one(p)) || (q.all != all && !is_one(q))) return NULL;
    const bool same = p.word.n == q.word.n;
    if (!same && p.bytes != q.bytes) return NULL;
    PtxValue *d = ptx_value(b, type);
    d->test = (PtxTest){p.word, p.bytes | q.bytes, all, p.alone && q.alone};
    if (same) return d;
    d->test.word = ptx_new(b, PTX_B32);
    ptx_line(b, all ? "and.b32 %R, %R, %R;" : "or.b32 %R, %R, %R;", d->test.word, p.word, q.word);
    return d;
}

/* A byte of 0 or 1 in the low bits of a register. */
static PtxReg byte(PtxBuild *b, PtxValue *v, uint32_t i, uint32_t at)
{
    const PtxReg d = ptx_new(b, PTX_B32);
    ptx_line(b, "selp.b32 %R, %R, 0, %R;", d, ptx_number(32, UINT64_C(1) << at), ptx_register(b, ptx_words(b, v)[i]));
    return d;
}

void ptx_bytes(PtxBuild *b, PtxValue *v, PtxReg *words)
{
    const uint32_t n = IR_LANES(v->type);
    if (v->packed || (v->test.word.kind != PTX_NONE && v->test.bytes == 1)) {
        for (uint32_t i = 0; i < n; i += BYTES) words[i / BYTES] = v->packed ? v->packed[i / BYTES] : v->test.word;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const PtxReg bit = byte(b, v, i, i % BYTES * 8);
        if (i % BYTES == 0) words[i / BYTES] = bit;
        else {
            const PtxReg all = ptx_new(b, PTX_B32);
            ptx_line(b, "or.b32 %R, %R, %R;", all, words[i / BYTES], bit);
            words[i / BYTES] = all;
        }
    }
}

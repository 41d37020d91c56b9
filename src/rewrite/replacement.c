/* replacement.c: the right side of a rule, made by the same builder as every other node.
 *
 * A build program fills slots in order: constants (KIMM, KWIDTH, KARITH), BNODE (an operation), BLIT and BKONST (a
 * constant of a type), BSUM (a sum of slots with coefficients), and ends with BROOT (the result) or BINSTR (a tile, its
 * operands and immediates). Nodes carry the flags that the rule writes and those that all matched nodes share; of
 * contract, nnan and nsz those that gen/permits.py lets them have.
 */
#include "rewrite/inner.h"

/* mode 1: the type that the match bound in slot `number`; else `number` itself */
static IrType type_of(const Match *m, uint32_t mode, uint32_t number)
{
    return mode ? IR_TYPE(m->type[number], 0) : number;
}

static IrRef operand(RwCx *rw, Match *m, uint32_t slots, uint32_t k)
{
    const uint32_t s = slots >> (8 * k) & 255;
    return s == 255 ? 0 : rw_rest(rw, m, s);
}

/* The root is made without rules: the caller applies the next one, so that firings follow one another and do not
 * nest. */
static bool is_root(uint32_t next) { return (next & 63) == W_BROOT; }

static IrRef build_sum(RwCx *rw, Match *m, uint32_t n, uint32_t constant, const uint32_t *slots)
{
    IrTerm few[MAX_PICKS], *terms = few;
    uint32_t count = 0;
    int64_t rest = 0; /* its constant */
    assert(n <= MAX_PICKS);
    for (uint32_t i = 0; i < n; i++) { /* the rest of a sum goes into the new one term by term */
        if ((slots[i] & 255) != m->rest_slot || m->rest_slot == 0 || slots[i] >> 8 != 255) continue;
        terms = WBB_NEW_N(rw->arena, IrTerm, n + ir_at(rw->g, m->rest.sum)->a[1]);
        rw_rest_terms(rw, m, terms, &count, &rest);
        break;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = slots[i] >> 8 & 255;
        const WbbI128 c = k == 255 ? 1 : m->konst[k];
        if (c < INT64_MIN || c > INT64_MAX) return 0;
        if (terms != few && (slots[i] & 255) == m->rest_slot) continue;
        terms[count++] = (IrTerm){.coefficient = (int64_t)c, .ref = rw_rest(rw, m, slots[i] & 255)};
    }
    const WbbI128 c = rest + (constant == 255 ? 0 : m->konst[constant]);
    if (c < INT64_MIN || c > INT64_MAX) return 0;
    bool overflow = false;
    return is_root(slots[n]) ? ir_sum(rw->g, (int64_t)c, terms, count, &overflow)
                             : rw_try_sum(rw, (int64_t)c, terms, count);
}

static IrRef build_constant(RwCx *rw, IrType type, bool is_float, uint64_t imm)
{
    union { uint64_t u; double d; } bits = {.u = imm};
    const ScType t = IR_SC(type);
    if (t == SC_INDEX) return ir_index(rw->g, (int64_t)imm);
    return ir_const(rw->g, type, is_float ? sc_from_f64(t, bits.d) : sc_from_i128(t, (int64_t)imm));
}

int64_t rw_immediate(const RwInstr *row, uint64_t imm, uint32_t i)
{
    const uint32_t bits = RW_IMMEDIATE_BITS(row->n_immediates);
    const uint64_t x = imm >> (16 + bits * i) & ((1ull << bits) - 1), sign = 1ull << (bits - 1);
    return (int64_t)(x ^ sign) - (int64_t)sign;
}

/* A tile. Its operands are old nodes, which isel replaces. 0: an immediate does not fit its share of the bits. */
static IrRef build_instr(RwCx *rw, Match *m, IrRef root, uint32_t n_immediates, const uint32_t *pc)
{
    uint64_t imm = pc[0];
    const uint32_t slots = pc[1], bits = n_immediates ? RW_IMMEDIATE_BITS(n_immediates) : 0;
    for (uint32_t i = 0; i < n_immediates; i++) {
        const WbbI128 k = m->konst[pc[2] >> (8 * i) & 255], end = (WbbI128)1 << (bits - 1);
        if (k < -end || k >= end) return 0;
        imm |= ((uint64_t)k & ((1ull << bits) - 1)) << (16 + bits * i);
    }
    return ir_node(rw->g, OP_INSTR, ir_at(rw->g, root)->type, m->flags, operand(rw, m, slots, 0),
                   operand(rw, m, slots, 1), operand(rw, m, slots, 2), imm);
}

IrRef rw_build(RwCx *rw, const RwTables *t, IrRef root, Match *m, const uint32_t *pc)
{
    uint32_t n_made = 0; /* operations so far */
    for (;;) {
        const uint32_t w = *pc++, a = w >> 8 & 255, b = w >> 16 & 255, c = w >> 24;
        switch (w & 63) {
        case W_KIMM: m->konst[a] = (int64_t)t->imm[*pc++]; break;
        case W_KWIDTH: m->konst[a] = sc_type_info[m->type[b]].bits; break;
        case W_KARITH:
            if (!rw_konst(m->konst[b], m->konst[c], *pc++, &m->konst[a])) return 0;
            break;
        case W_BNODE: {
            const uint32_t what = pc[0], slots = pc[1];
            pc += 2;
            const IrType type = type_of(m, c & 1, what >> 16);
            const uint32_t carried = ~(uint32_t)SC_PERMISSIONS | c; /* c: which permissions */
            const uint32_t flags = b | (m->flags & carried);
            const IrRef x = operand(rw, m, slots, 0), y = operand(rw, m, slots, 1), z = operand(rw, m, slots, 2);
            m->value[a] = is_root(*pc) ? ir_node(rw->g, (ScOp)(what & 0xffff), type, flags, x, y, z, 0)
                                       : rw_make(rw, (ScOp)(what & 0xffff), type, flags, x, y, z, 0);
            if (rw->watch_steps) rw_record_step(rw, t, m->rule, n_made++, root, m->value[a]);
            break;
        }
        case W_BLIT: {
            const uint32_t number = pc[0], imm = pc[1];
            pc += 2;
            m->value[a] = build_constant(rw, type_of(m, c, number), b != 0, t->imm[imm]);
            break;
        }
        case W_BKONST: {
            const ScType type = IR_SC(type_of(m, c, *pc++));
            m->value[a] = ir_const(rw->g, IR_TYPE(type, 0), sc_from_i128(type, m->konst[b]));
            break;
        }
        case W_BSUM:
            if ((m->value[a] = build_sum(rw, m, b, c, pc)) == 0) return 0;
            pc += b;
            break;
        case W_BINSTR: return build_instr(rw, m, root, b, pc);
        case W_BROOT: return rw_rest(rw, m, a);
        default: assert(!"a build program holds a match step"); return 0;
        }
    }
}

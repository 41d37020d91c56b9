/* stats.c: makes the record of a fusion: compiles it, assembles it and counts.
 *
 * Needs the text of one fusion; leaves a record, even if the text is not a module, is declined, or the assembler
 * refuses its PTX. Loads and stores are counted by width in the machine code: {"16": 2} is two of 16 bytes. Counts of
 * several launches are summed; registers, stack and shared memory are the maximum over the launches.
 *
 *     "status": "ok", .., "sass": 71, "regs": 23, .., "ldg": {"16": 1}, .., "rules": {"patterns/tiles.py:9": 8}
 */
#include "report/stats.h"

#include "index/index.h"
#include "plan/work.h"

#include <string.h>

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* The operation that computes a result, through bitcasts and reshapes. */
static const HloInstruction *filler(const HloInstruction *i)
{
    while (hlo_has(i->opcode, HLO_IN_ORDER)) i = i->operands[0];
    return i;
}

/* Bytes written for a result: an update in place writes only the update. */
static uint64_t result_bytes(const HloInstruction *i)
{
    if (i->opcode == HLO_TUPLE) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < i->n_operands; k++) sum += result_bytes(i->operands[k]);
        return sum;
    }
    const HloInstruction *f = filler(i);
    if (f->shape->type == SC_TUPLE || hlo_replaced(f, 0) < 0) return hlo_bytes(i->shape);
    const HloInstruction *updates = f->operands[f->opcode == HLO_SCATTER ? f->n_operands - 1 : 1];
    return WBB_MIN(hlo_bytes(f->shape), hlo_bytes(updates->shape));
}

static bool is_result(const HloInstruction *root, const HloInstruction *i)
{
    if (root->opcode != HLO_TUPLE) return filler(root) == i;
    for (uint32_t k = 0; k < root->n_operands; k++)
        if (filler(root->operands[k]) == i) return true;
    return false;
}

/* Bytes that user `u` reads of its operand k. */
static uint64_t used_bytes(const HloComputation *body, const HloInstruction *u, uint32_t k)
{
    const uint64_t all = hlo_bytes(u->operands[k]->shape);
    const bool takes = u->opcode == HLO_SLICE || u->opcode == HLO_DYNAMIC_SLICE || u->opcode == HLO_GATHER;
    const bool updates = hlo_replaced(u, 0) >= 0;
    if (k > 0) return all;
    if (takes) return WBB_MIN(all, hlo_bytes(u->shape));
    return updates && is_result(body->root, u) ? 0 : all;
}

/* Is x parameter p of the fusion, or another parameter with the same operand? */
static bool is_parameter(const HloFusion *f, const HloInstruction *x, uint32_t p)
{
    if (x == f->body->parameters[p]) return true;
    return f->fusion && x->opcode == HLO_PARAMETER && f->fusion->operands[x->number] == f->fusion->operands[p];
}

uint64_t report_bytes_min(const HloFusion *f)
{
    const HloComputation *body = f->body;
    uint64_t sum = result_bytes(body->root);
    for (uint32_t p = 0; p < body->n_parameters; p++) {
        bool before = false; /* the same operand was passed before: it is read once */
        for (uint32_t k = 0; f->fusion && k < p; k++) before |= f->fusion->operands[k] == f->fusion->operands[p];
        if (before) continue;
        uint64_t used = 0;
        for (uint32_t i = 0; i < body->n_instructions; i++) {
            const HloInstruction *u = body->instructions[i];
            for (uint32_t k = 0; k < u->n_operands; k++) {
                const HloInstruction *x = u->operands[k];
                if (is_parameter(f, x, p) && u->opcode != HLO_TUPLE) used += used_bytes(body, u, k);
            }
        }
        sum += WBB_MIN(used, hlo_bytes(body->parameters[p]->shape));
    }
    return sum;
}

/* --- compile ------------------------------------------------------------------------------------------------------ */

typedef struct {
    WbbArena *arena;
    const ReportStatOptions *o;
    ReportStat *s;
    PipeResult r;
} Job;

static const char *rules_of(WbbArena *a, const PipeResult *r)
{
    WbbBuf b = wbb_buf(a);
    wbb_json_open(&b, NULL, '{');
    for (int index = 0; index < 2; index++) {
        const RwTables *t = index ? &ix_tables : r->target->tables;
        for (uint32_t k = 0; k < t->n_rules; k++) {
            const uint32_t n = pipe_firings(r, index, k);
            if (n) wbb_json_uint(&b, rw_rule_name(a, t, k), n);
        }
    }
    wbb_json_close(&b, '}');
    return b.text;
}

/* The layouts that were chosen by price, of kernels whose threads share terms. */
static void put_layouts(WbbBuf *out, const Plan *p)
{
    bool any = false;
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const PlanKernel *kernel = &p->kernels[k];
        const LayChoice *choice = kernel->n_ranges ? kernel->ranges[0].choice : NULL;
        if (!choice || !choice->n || !kernel->ranges[0].hero) continue;
        if (!any) wbb_json_open(out, "layouts", '[');
        any = true;
        WbbBuf text = wbb_buf(out->arena);
        lay_print(&text, &choice->best[0].layout);
        wbb_json_open(out, NULL, '{');
        wbb_json_text(out, "layout", text.text);
        wbb_json_putf(out, "us", "%.4f", choice->best[0].price.us);
        wbb_json_close(out, '}');
    }
    if (any) wbb_json_close(out, ']');
}

static void put_name(void *arg, const TgStrategy *row) { wbb_json_text(arg, NULL, row->name); }

/* The strategies that the plan took: those that wrote the text anew, then its own and those of its parts. */
static void put_strategies(WbbBuf *out, const PipeResult *r)
{
    wbb_json_open(out, "strategies", '[');
    plan_visit_taken(r->texts, r->n_texts, put_name, out);
    plan_visit_taken(r->plan.tried, r->plan.n_tried, put_name, out);
    wbb_json_close(out, ']');
}

static void describe_launches(Job *j)
{
    const Bundle *b = j->r.bundle;
    ReportStat *s = j->s;
    const char **entries = WBB_NEW_N(j->arena, const char *, b->n_launches + 1);
    s->n_launches = (uint32_t)b->n_launches;
    uint64_t threads = 0;
    int64_t shared = 0;
    for (int k = 0; k < b->n_launches; k++) {
        const BdLaunch *l = &b->launches[k];
        const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
        const uint64_t block = (uint64_t)l->block[0] * l->block[1] * l->block[2];
        entries[k] = l->entry;
        s->launched += blocks * ((block + 31) / 32);
        threads += blocks * block;
        shared = WBB_MAX(shared, l->shared);
    }
    s->entries = entries;
    const BdLaunch none = {.grid = {0, 0, 0}, .block = {0, 0, 0}}, *first = b->n_launches ? &b->launches[0] : &none;
    const ReportPtxFacts f = report_ptx_facts(j->arena, s->ptx);
    WbbBuf out = wbb_buf(j->arena);
    wbb_json_uint(&out, "ptx", f.instructions);
    wbb_json_putf(&out, "block", "[%u, %u, %u]", first->block[0], first->block[1], first->block[2]);
    wbb_json_putf(&out, "grid", "[%u, %u, %u]", first->grid[0], first->grid[1], first->grid[2]);
    wbb_json_int(&out, "shared", shared);
    wbb_json_uint(&out, "warps", s->launched);
    wbb_json_uint(&out, "loops", f.loops);
    wbb_json_uint(&out, "launches", s->n_launches);
    put_strategies(&out, &j->r);
    put_layouts(&out, &j->r.plan);
    if (j->r.again) wbb_json_text(&out, "note", j->r.again);
    wbb_json_uint(&out, "bytes_min", report_bytes_min(&j->r.fusion));
    if (f.known && s->n_launches < 2) wbb_json_uint(&out, "bytes_code", (f.loaded + f.stored + f.updated) * threads);
    s->facts = out.text;
}

static void compile(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const PipeOptions p = {.target = j->s->target->name,
                           .accuracy = j->o->accuracy,
                           .align = j->o->align,
                           .comments = true,
                           .stage = PIPE_AT_PTX,
                           .disable = j->o->disable,
                           .n_disable = j->o->n_disable,
                           .cache = j->o->shared};
    pipe_compile(cx, j->arena, &p, "fusion.hlo", j->s->text, j->s->n, &j->r);
    j->s->ptx = j->r.ptx;
    j->s->listing = j->r.emitted;
    j->s->rules = rules_of(j->arena, &j->r);
    memcpy(j->s->ms, j->r.ms, sizeof j->s->ms);
    describe_launches(j);
    if (j->o->profile)
        j->s->time = report_stat_run(cx, j->arena, j->s->target, j->r.bundle, j->r.module, j->o->profile);
}

/* The first message, without its location and kind: "reduce of f32[8]: .." */
static const char *plain_message(WbbArena *a, const char *messages, const char *reason)
{
    const char *kind = reason[0] ? wbb_format(a, "declined: %s: ", reason) : "error: ";
    const char *at = strstr(messages, kind);
    at = at ? at + strlen(kind) : messages;
    return wbb_format(a, "%.*s", (int)strcspn(at, "\n"), at);
}

void report_stats_begin(WbbCx *cx, WbbArena *a, const ReportStatOptions *o, ReportStat *s)
{
    Job j = {.arena = a, .o = o, .s = s};
    wbb_cx_clear(cx);
    s->reason = s->message = s->listing = "";
    s->status = wbb_guard(cx, compile, &j);
    if (s->status == WBB_OK) return;
    if (s->status == WBB_DECLINED) s->reason = wbb_why_name(cx->why);
    if (s->status == WBB_DECLINED && j.r.fusion.body) s->bytes_min = report_bytes_min(&j.r.fusion);
    s->message = plain_message(a, cx->messages, s->reason);
}

/* --- machine code ------------------------------------------------------------------------------------------------- */

typedef struct {
    WbbArena *arena;
    const TgTarget *target;
    const TgUnit *unit;
    TgSass sum;
} Reading;

static void add_widths(uint32_t to[8], const uint32_t from[8])
{
    for (int k = 0; k < 8; k++) to[k] += from[k];
}

static void read_unit(WbbCx *cx, void *arg)
{
    Reading *r = arg;
    for (uint32_t k = 0; k < r->unit->n_entries; k++) {
        const char *name = wbb_format(r->arena, "%s%s", r->unit->prefix, r->unit->entries[k]);
        const TgSass s = tg_sass(cx, r->target, &r->unit->cubin, name);
        TgSass *t = &r->sum;
        t->sass += s.sass, t->bar += s.bar, t->shfl += s.shfl, t->atom += s.atom, t->branch += s.branch;
        t->mufu += s.mufu, t->ldl += s.ldl, t->stl += s.stl;
        t->regs = WBB_MAX(t->regs, s.regs);
        t->stack_bytes = WBB_MAX(t->stack_bytes, s.stack_bytes);
        t->smem_bytes = WBB_MAX(t->smem_bytes, s.smem_bytes);
        add_widths(t->ldg, s.ldg), add_widths(t->stg, s.stg), add_widths(t->lds, s.lds), add_widths(t->sts, s.sts);
        add_widths(t->local_loads, s.local_loads), add_widths(t->local_stores, s.local_stores);
        add_widths(t->generic_loads, s.generic_loads), add_widths(t->generic_stores, s.generic_stores);
        for (int c = 0; c < TG_CLASSES; c++) t->classes[c] += s.classes[c];
    }
}

static void put_widths(WbbBuf *b, const char *key, const uint32_t counts[8])
{
    wbb_json_open(b, key, '{');
    for (int w = 0; w < 8; w++)
        if (counts[w]) wbb_json_uint(b, wbb_format(b->arena, "%d", 1 << w), counts[w]);
    wbb_json_close(b, '}');
}

static void put_sass(WbbBuf *b, const TgSass *s, const TgUnit *u)
{
    wbb_json_uint(b, "sass", s->sass);
    wbb_json_uint(b, "regs", s->regs);
    wbb_json_uint(b, "spill_bytes", u->spill_stores);
    wbb_json_uint(b, "spill_load_bytes", u->spill_loads);
    wbb_json_uint(b, "stack_bytes", s->stack_bytes);
    wbb_json_uint(b, "smem_bytes", s->smem_bytes);
    put_widths(b, "ldg", s->ldg);
    put_widths(b, "stg", s->stg);
    put_widths(b, "lds", s->lds);
    put_widths(b, "sts", s->sts);
    put_widths(b, "ldl", s->local_loads);
    put_widths(b, "stl", s->local_stores);
    put_widths(b, "ld", s->generic_loads);
    put_widths(b, "st", s->generic_stores);
    wbb_json_uint(b, "bar", s->bar);
    wbb_json_uint(b, "shfl", s->shfl);
    wbb_json_uint(b, "atom", s->atom);
    wbb_json_uint(b, "branch", s->branch);
    wbb_json_uint(b, "mufu", s->mufu);
    wbb_json_open(b, "classes", '{');
    for (int k = 0; k < TG_CLASSES; k++)
        if (s->classes[k]) wbb_json_uint(b, tg_class_name[k], s->classes[k]);
    wbb_json_close(b, '}');
}

static void put_ms(WbbBuf *b, const ReportStat *s)
{
    double all = 0;
    for (int k = 0; k < PIPE_STEPS; k++) all += s->ms[k];
    wbb_json_putf(b, "compile_ms", "%.3f", all);
    wbb_json_open(b, "ms", '{');
    for (int k = 0; k < PIPE_STEPS; k++) wbb_json_putf(b, pipe_step_name[k], "%.3f", s->ms[k]);
    wbb_json_close(b, '}');
}

static void write_body(WbbCx *cx, WbbArena *a, ReportStat *s, const TgUnit *u)
{
    WbbBuf b = wbb_buf(a);
    Reading r = {.arena = a, .target = s->target, .unit = u};
    if (s->status == WBB_OK && u->refused) {
        s->status = WBB_FAILED;
        s->message = wbb_format(a, "ptxas refuses it: %.*s", (int)strcspn(u->refused, "\n"), u->refused);
    }
    if (s->status == WBB_OK && u->cubin.bytes) {
        wbb_cx_clear(cx);
        s->status = wbb_guard(cx, read_unit, &r);
        if (s->status != WBB_OK) s->message = plain_message(a, cx->messages, "");
    }
    wbb_json_text(&b, "status", s->status == WBB_OK ? "ok" : s->status == WBB_DECLINED ? "declined" : "failed");
    wbb_json_text(&b, "reason", s->reason);
    if (s->message[0]) wbb_json_text(&b, "message", s->message);
    if (s->bytes_min) wbb_json_uint(&b, "bytes_min", s->bytes_min);
    if (s->status == WBB_OK) {
        s->ms[PIPE_TARGET] += u->ms;
        wbb_json_putf(&b, NULL, "%s", s->facts);
        if (u->cubin.bytes || s->n_launches == 0) put_sass(&b, &r.sum, u);
        if (s->time) report_stat_put_time(&b, s->time, r.sum.regs);
        put_ms(&b, s);
        wbb_json_putf(&b, "rules", "%s", s->rules);
    }
    s->body = b.text;
}

static void assemble_target(WbbCx *cx, WbbArena *a, ReportStat *stats, uint32_t n, const TgTarget *t)
{
    TgUnit *units = WBB_NEW_N(a, TgUnit, n + 1);
    uint32_t *of = WBB_NEW_N(a, uint32_t, n + 1), n_units = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (stats[k].target != t || stats[k].body) continue;
        if (stats[k].status != WBB_OK || stats[k].n_launches == 0) {
            write_body(cx, a, &stats[k], &units[n]);
            continue;
        }
        of[n_units] = k;
        units[n_units++] = (TgUnit){.ptx = stats[k].ptx, .entries = stats[k].entries, .n_entries = stats[k].n_launches};
    }
    tg_assemble_all(cx, a, t, units, n_units);
    for (uint32_t k = 0; k < n_units; k++) write_body(cx, a, &stats[of[k]], &units[k]);
}

void report_stats_end(WbbCx *cx, WbbArena *a, ReportStat *stats, uint32_t n)
{
    uint32_t targets = 0;
    const TgTarget *const *all = tg_all(&targets);
    for (uint32_t t = 0; t < targets; t++) assemble_target(cx, a, stats, n, all[t]);
}

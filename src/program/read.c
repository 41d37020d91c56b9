/* read: a program from its folder, fully checked.
 *
 * Needs: JSON of program.json. Leaves: a verified program: numbers name existing things, shapes have their sizes, names
 * of files stay within the folder, computations call only those before them, and prog_verify finds no fault.
 *
 *     program.json:9:31: error: step 2 of main: it reads x, which no step before it makes
 */
#include "program/program.h"

#include <string.h>

enum { MOST = 1 << 24 };

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *file;
    ProgModule *p;
    ProgComputation *c; /* that is being read */
} In;

static WbbLoc at(const In *in, const BdJson *v) { return (WbbLoc){in->file, v->line, v->col}; }

static const BdJson *member(const In *in, const BdJson *o, const char *key, BdJsonKind kind)
{
    static const char *const names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};
    const BdJson *v = o->kind == BD_OBJECT ? bd_json_get(o, key) : NULL;
    if (o->kind != BD_OBJECT) wbb_fail(in->cx, at(in, o), "an object with \"%s\" expected", key);
    if (!v) wbb_fail(in->cx, at(in, o), "member \"%s\" is missing", key);
    if (v->kind != kind) wbb_fail(in->cx, at(in, v), "\"%s\" must be %s", key, names[kind]);
    return v;
}

static int64_t number(const In *in, const BdJson *v, int64_t least, int64_t most)
{
    return bd_json_within(in->cx, in->file, v, least, most);
}

static int64_t number_of(const In *in, const BdJson *o, const char *key, int64_t least, int64_t most)
{
    return number(in, member(in, o, key, BD_NUMBER), least, most);
}

static const char *text_of(const In *in, const BdJson *o, const char *key)
{
    return member(in, o, key, BD_STRING)->text;
}

static int word_of(const In *in, const BdJson *o, const char *key, const char *const *words)
{
    const char *text = text_of(in, o, key);
    WbbBuf all = wbb_buf(in->arena);
    for (int k = 0; words[k]; k++) {
        if (!strcmp(text, words[k])) return k;
        wbb_putf(&all, "%s%s", k ? ", " : "", words[k]);
    }
    wbb_fail(in->cx, at(in, bd_json_get(o, key)), "\"%s\" is \"%s\", and must be one of: %s", key, text, all.text);
}

/* Numbers below `limit`. */
static uint32_t *numbers_of(const In *in, const BdJson *o, const char *key, uint32_t limit, uint32_t *n)
{
    const BdJson *list = member(in, o, key, BD_ARRAY);
    uint32_t *out = WBB_NEW_N(in->arena, uint32_t, list->n + 1);
    *n = 0;
    for (const BdJson *v = list->items; v; v = v->next) out[(*n)++] = (uint32_t)number(in, v, 0, (int64_t)limit - 1);
    return out;
}

/* FOLDER/NAME with letters, digits, '_', '-', and '.', which is not the first: it stays within the program's folder. */
static const char *file_of(const In *in, const BdJson *v, const char *folder, const char *ending)
{
    const size_t n = strlen(folder), length = strlen(v->text), end = strlen(ending);
    bool fine = length > n + end && !strncmp(v->text, folder, n) && !strcmp(v->text + length - end, ending) &&
                v->text[n] != '.';
    for (const char *p = v->text + (fine ? n : length); *p; p++)
        fine &= (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("_-.", *p);
    if (!fine)
        wbb_fail(in->cx, at(in, v), "\"%s\" is no %sNAME%s of letters, digits, '_', '-' and '.'", v->text, folder,
                 ending);
    return v->text;
}

static void read_buffer(const In *in, const BdJson *o, ProgBuffer *b)
{
    static const char *const places[] = {"parameter", "result", "constant", "temporary", NULL};
    b->place = (ProgPlace)word_of(in, o, "place", places);
    b->bytes = number_of(in, o, "bytes", 0, (int64_t)1 << 56);
    if (b->place == PROG_PARAMETER || b->place == PROG_RESULT)
        b->number = (uint32_t)number_of(in, o, "number", 0, MOST);
    if (b->place == PROG_TEMPORARY) {
        b->offset = number_of(in, o, "offset", 0, (int64_t)1 << 56);
        b->first = (uint32_t)number_of(in, o, "first", 0, MOST);
        b->last = (uint32_t)number_of(in, o, "last", 0, MOST);
    }
    const BdJson *file = bd_json_get(o, "file");
    if (b->place == PROG_CONSTANT && file && file->kind == BD_STRING) b->file = file_of(in, file, "constants/", ".npy");
}

static void read_shape(const In *in, const BdJson *o, ProgValue *v)
{
    const BdJson *dims = member(in, o, "dims", BD_ARRAY), *order = member(in, o, "minor_to_major", BD_ARRAY);
    const bool token = !strcmp(v->type, "token");
    const int bits = token ? 0 : bd_type_bits(v->type);
    if (!bits && !token) wbb_fail(in->cx, at(in, bd_json_get(o, "type")), "unknown type \"%s\"", v->type);
    if (dims->n > BD_MAX_RANK || order->n != dims->n)
        wbb_fail(in->cx, at(in, order), "%d dimensions and an order of %d", dims->n, order->n);
    int64_t *d = WBB_NEW_N(in->arena, int64_t, dims->n + 1);
    int *m = WBB_NEW_N(in->arena, int, dims->n + 1), k = 0;
    WbbI128 elements = 1;
    uint64_t seen = 0;
    for (const BdJson *x = dims->items; x; x = x->next) {
        d[k] = number(in, x, 0, (int64_t)1 << 48);
        elements *= d[k++];
        if (elements > (WbbI128)1 << 52) wbb_fail(in->cx, at(in, x), "the value is too large");
    }
    k = 0;
    for (const BdJson *x = order->items; x; x = x->next) {
        m[k] = (int)number(in, x, 0, dims->n - 1);
        if (seen >> m[k] & 1) wbb_fail(in->cx, at(in, x), "dimension %d occurs twice", m[k]);
        seen |= UINT64_C(1) << m[k++];
    }
    v->rank = dims->n, v->dims = d, v->minor_to_major = m;
    const int64_t takes = (int64_t)((elements * bits + 7) / 8);
    if (v->bytes != takes)
        wbb_fail(in->cx, at(in, bd_json_get(o, "bytes")), "\"bytes\" is %lld, but the shape takes %lld",
                 (long long)v->bytes, (long long)takes);
}

static void read_value(const In *in, const BdJson *o, uint32_t k)
{
    ProgValue *v = &in->c->values[k];
    v->name = text_of(in, o, "name");
    v->type = text_of(in, o, "type");
    v->bytes = number_of(in, o, "bytes", 0, (int64_t)1 << 56);
    v->buffer = (uint32_t)number_of(in, o, "buffer", 0, (int64_t)in->c->n_buffers - 1);
    v->of = bd_json_get(o, "view_of") ? (uint32_t)number_of(in, o, "view_of", 0, (int64_t)in->c->n_values - 1) : k;
    if (bd_json_get(o, "start")) v->at = number_of(in, o, "start", 0, (int64_t)1 << 56);
    if (bd_json_get(o, "step")) v->each = number_of(in, o, "step", -((int64_t)1 << 56), (int64_t)1 << 56);
    read_shape(in, o, v);
}

static void read_shares(const In *in, const BdJson *o, ProgStep *s)
{
    const BdJson *list = bd_json_get(o, "in_place");
    if (!list) return;
    list = member(in, o, "in_place", BD_ARRAY);
    ProgShare *out = WBB_NEW_N(in->arena, ProgShare, list->n + 1);
    for (const BdJson *v = list->items; v; v = v->next) {
        if (v->kind != BD_ARRAY || v->n != 2)
            wbb_fail(in->cx, at(in, v), "the numbers of an output and an operand expected");
        out[s->n_shares].output = (uint32_t)number(in, v->items, 0, (int64_t)s->n_makes - 1);
        out[s->n_shares++].operand = (uint32_t)number(in, v->items->next, 0, (int64_t)s->n_reads - 1);
    }
    s->shares = out;
}

static void read_swaps(const In *in, const BdJson *o, ProgStep *s)
{
    if (!bd_json_get(o, "swaps")) return;
    const BdJson *list = member(in, o, "swaps", BD_ARRAY);
    ProgSwap *out = WBB_NEW_N(in->arena, ProgSwap, list->n + 1);
    for (const BdJson *v = list->items; v; v = v->next) {
        if (v->kind != BD_ARRAY || v->n != 2)
            wbb_fail(in->cx, at(in, v), "the numbers of an element of the state and a value expected");
        out[s->n_swaps].state = (uint32_t)number(in, v->items, 0, (int64_t)s->n_reads - 1);
        out[s->n_swaps++].spare = (uint32_t)number(in, v->items->next, 0, (int64_t)in->c->n_values - 1);
    }
    s->swaps = out;
}

static void read_calls(const In *in, const BdJson *o, ProgStep *s)
{
    uint32_t n;
    s->calls = numbers_of(in, o, "calls", in->p->n, &s->n_calls); /* those before this one */
    if (s->kind == PROG_LOOP && bd_json_get(o, "iterations"))
        s->iterations = number_of(in, o, "iterations", 0, PROG_MOST_ITERATIONS);
    else if (s->kind == PROG_LOOP)
        s->flag = (uint32_t)number_of(in, o, "flag", 0, (int64_t)in->c->n_values - 1);
    if (s->iterations >= 0) read_swaps(in, o, s);
    if (bd_json_get(o, "frame")) s->frame = number_of(in, o, "frame", 0, (int64_t)in->c->n_buffers - 1);
    if (s->kind == PROG_BRANCH) {
        s->taken = numbers_of(in, o, "taken", MOST, &n);
        if (n != s->n_calls)
            wbb_fail(in->cx, at(in, bd_json_get(o, "taken")), "one number for each computation expected");
        return;
    }
    uint32_t *taken = WBB_NEW_N(in->arena, uint32_t, s->n_calls + 1);
    for (uint32_t k = 0; k < s->n_calls; k++) taken[k] = s->n_reads;
    s->taken = taken;
}

/* The line of source.hlo, which stands beside program.json. */
static void read_place(const In *in, const BdJson *o, ProgStep *s)
{
    const BdJson *list = bd_json_get(o, "at");
    if (!list) return;
    list = member(in, o, "at", BD_ARRAY);
    if (list->n != 2) wbb_fail(in->cx, at(in, list), "a line and a column expected");
    const char *slash = strrchr(in->file, '/');
    const int n = slash ? (int)(slash - in->file) + 1 : 0;
    s->from = (WbbOrigin){.file = s->file, .at.file = wbb_format(in->arena, "%.*ssource.hlo", n, in->file)};
    s->from.at.line = (int)number(in, list->items, 1, INT32_MAX);
    s->from.at.col = (int)number(in, list->items->next, 0, INT32_MAX);
}

static void read_step(const In *in, const BdJson *o, ProgStep *s)
{
    s->kind = (ProgStepKind)word_of(in, o, "kind", prog_step_name);
    s->name = text_of(in, o, "name");
    s->operation = text_of(in, o, "operation");
    s->frame = s->iterations = PROG_NONE;
    s->reads = numbers_of(in, o, "reads", in->c->n_values, &s->n_reads);
    s->makes = numbers_of(in, o, "makes", in->c->n_values, &s->n_makes);
    if (s->kind == PROG_KERNEL || s->kind == PROG_LIBRARY)
        s->file = file_of(in, member(in, o, "file", BD_STRING), "steps/", ".hlo");
    if (s->file) read_place(in, o, s);
    if (s->kind == PROG_KERNEL) read_shares(in, o, s);
    if (s->kind >= PROG_LOOP) read_calls(in, o, s);
}

static void read_results(const In *in, const BdJson *o)
{
    ProgComputation *c = in->c;
    const BdJson *list = member(in, o, "results", BD_ARRAY);
    c->results = WBB_NEW_N(in->arena, uint32_t, list->n + 1);
    c->in_place = WBB_NEW_N(in->arena, int64_t, list->n + 1);
    for (const BdJson *v = list->items; v; v = v->next) {
        c->results[c->n_results] = (uint32_t)number_of(in, v, "value", 0, (int64_t)c->n_values - 1);
        c->in_place[c->n_results++] =
            bd_json_get(v, "parameter") ? number_of(in, v, "parameter", 0, (int64_t)c->n_parameters - 1) : PROG_NONE;
    }
}

static void read_computation(In *in, const BdJson *o)
{
    ProgComputation *c = in->c;
    c->name = text_of(in, o, "name");
    c->frame = number_of(in, o, "frame", 0, (int64_t)1 << 56);
    const BdJson *buffers = member(in, o, "buffers", BD_ARRAY), *values = member(in, o, "values", BD_ARRAY);
    const BdJson *steps = member(in, o, "steps", BD_ARRAY);
    c->n_buffers = (uint32_t)buffers->n, c->n_values = (uint32_t)values->n, c->n_steps = (uint32_t)steps->n;
    c->buffers = WBB_NEW_N(in->arena, ProgBuffer, c->n_buffers + 1);
    c->values = WBB_NEW_N(in->arena, ProgValue, c->n_values + 1);
    c->steps = WBB_NEW_N(in->arena, ProgStep, c->n_steps + 1);
    uint32_t k = 0;
    for (const BdJson *v = buffers->items; v; v = v->next) read_buffer(in, v, &c->buffers[k++]);
    k = 0;
    for (const BdJson *v = values->items; v; v = v->next, k++) read_value(in, v, k);
    c->parameters = numbers_of(in, o, "parameters", c->n_values, &c->n_parameters);
    read_results(in, o);
    k = 0;
    for (const BdJson *v = steps->items; v; v = v->next) read_step(in, v, &c->steps[k++]);
}

/* The step, or the computation, that a fault is in. */
static const BdJson *place_of(const BdJson *computations, int64_t computation, int64_t step)
{
    const BdJson *v = computations->items;
    for (; computation > 0; computation--) v = v->next;
    if (step < 0) return v;
    for (v = bd_json_get(v, "steps")->items; step > 0; step--) v = v->next;
    return v;
}

ProgModule *prog_parse(WbbCx *cx, WbbArena *a, const char *file, const char *json)
{
    In in = {.cx = cx, .arena = a, .file = file, .p = WBB_NEW(a, ProgModule)};
    const BdJson *o = bd_json_parse(cx, a, file, json);
    const char *format = text_of(&in, o, "format");
    if (strcmp(format, "warpburg program"))
        wbb_fail(cx, at(&in, bd_json_get(o, "format")), "\"%s\" is not the format of a program", format);
    (void)number_of(&in, o, "version", PROG_VERSION, PROG_VERSION);
    in.p->name = text_of(&in, o, "module");
    const BdJson *list = member(&in, o, "computations", BD_ARRAY);
    if (!list->n) wbb_fail(cx, at(&in, list), "a program has computations");
    in.p->computations = WBB_NEW_N(a, ProgComputation, list->n);
    for (const BdJson *v = list->items; v; v = v->next) {
        in.c = &in.p->computations[in.p->n];
        read_computation(&in, v);
        in.p->n++;
    }
    in.p->entry = (uint32_t)number_of(&in, o, "entry", 0, list->n - 1);
    int64_t computation, step;
    const char *fault = prog_verify(a, in.p, &computation, &step);
    if (fault) {
        const char *name = in.p->computations[computation].name;
        wbb_fail(cx, at(&in, place_of(list, computation, step)), "%s: %s",
                 step < 0 ? name : wbb_format(a, "step %lld of %s", (long long)step, name), fault);
    }
    return in.p;
}

ProgModule *prog_read(WbbCx *cx, WbbArena *a, const char *folder)
{
    size_t n;
    const char *file = wbb_format(a, "%s/program.json", folder), *json = wbb_read_file(cx, a, file, &n);
    if (strlen(json) != n) wbb_fail(cx, (WbbLoc){.file = file}, "a zero byte in it");
    ProgModule *p = prog_parse(cx, a, file, json);
    p->folder = folder;
    p->source = wbb_read_file(cx, a, wbb_format(a, "%s/source.hlo", folder), &n);
    WbbMap texts = {.arena = a};
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t s = 0; s < p->computations[i].n_steps; s++) {
            ProgStep *x = &p->computations[i].steps[s];
            if (!x->file) continue;
            WbbEntry *e = wbb_map_put_bytes(&texts, x->file, strlen(x->file));
            if (!e->pointer) {
                const char *text = wbb_read_file(cx, a, wbb_format(a, "%s/%s", folder, x->file), &n);
                e->pointer = (void *)text;
            }
            x->text = e->pointer;
            const char *plan = prog_plan_file(a, folder, x);
            if (x->kind == PROG_KERNEL && wbb_file_exists(plan)) x->plan = wbb_read_source(cx, a, plan);
        }
    return p;
}

const void *prog_read_constant(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgValue *x, const ProgBuffer *b)
{
    return bd_read_npy(cx, a, wbb_format(a, "%s/%s", p->folder, b->file), x->type, x->dims, x->rank, NULL);
}

void prog_detach(WbbCx *cx, WbbArena *a, ProgModule *p)
{
    if (!p->folder) return;
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *c = &p->computations[i];
        for (uint32_t v = 0; v < c->n_values; v++) {
            const ProgValue *x = &c->values[v];
            ProgBuffer *b = &c->buffers[x->buffer];
            if (b->place != PROG_CONSTANT || x->of != v || !b->file) continue;
            b->literal = prog_read_constant(cx, a, p, x, b);
        }
    }
    p->folder = NULL;
}

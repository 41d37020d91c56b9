/* write: the folder of a program.
 *
 * Needs: a verified program. Leaves: program.json (README.md), source.hlo, steps/NAME.hlo for each text of a kernel or
 * library call, constants/NAME.npy. A folder that holds anything else than an earlier program is refused, and an
 * earlier program is removed first, so that no folder holds parts of two.
 *
 *     out holds notes.txt     out: error: the folder holds notes.txt, which is no part of a program
 */
#include "program/program.h"

#include <string.h>

static const char *const place_name[] = {"parameter", "result", "constant", "temporary"};

static void put_numbers(WbbBuf *b, const char *key, const uint32_t *list, uint32_t n)
{
    wbb_json_open(b, key, '[');
    for (uint32_t k = 0; k < n; k++) wbb_json_uint(b, NULL, list[k]);
    wbb_json_close(b, ']');
}

static void put_buffer(WbbBuf *b, const ProgBuffer *x)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "place", place_name[x->place]);
    if (x->place == PROG_PARAMETER || x->place == PROG_RESULT) wbb_json_uint(b, "number", x->number);
    if (x->place == PROG_CONSTANT) wbb_json_text(b, "file", x->file);
    wbb_json_int(b, "bytes", x->bytes);
    if (x->place == PROG_TEMPORARY) {
        wbb_json_int(b, "offset", x->offset);
        wbb_json_uint(b, "first", x->first);
        wbb_json_uint(b, "last", x->last);
    }
    wbb_json_close(b, '}');
}

static void put_value(WbbBuf *b, const ProgValue *v, uint32_t number)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "name", v->name);
    wbb_json_text(b, "type", v->type);
    wbb_json_open(b, "dims", '[');
    for (int k = 0; k < v->rank; k++) wbb_json_int(b, NULL, v->dims[k]);
    wbb_json_close(b, ']');
    wbb_json_open(b, "minor_to_major", '[');
    for (int k = 0; k < v->rank; k++) wbb_json_int(b, NULL, v->minor_to_major[k]);
    wbb_json_close(b, ']');
    wbb_json_int(b, "bytes", v->bytes);
    wbb_json_uint(b, "buffer", v->buffer);
    if (v->of != number) wbb_json_uint(b, "view_of", v->of);
    if (v->at) wbb_json_int(b, "start", v->at);
    if (v->each) wbb_json_int(b, "step", v->each);
    wbb_json_close(b, '}');
}

static void put_step(WbbBuf *b, const ProgStep *s)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "kind", prog_step_name[s->kind]);
    wbb_json_text(b, "name", s->name);
    wbb_json_text(b, "operation", s->operation);
    if (s->file) wbb_json_text(b, "file", s->file);
    if (s->from.at.line > 0) {
        wbb_json_open(b, "at", '[');
        wbb_json_int(b, NULL, s->from.at.line);
        wbb_json_int(b, NULL, s->from.at.col);
        wbb_json_close(b, ']');
    }
    put_numbers(b, "reads", s->reads, s->n_reads);
    put_numbers(b, "makes", s->makes, s->n_makes);
    if (s->n_shares) {
        wbb_json_open(b, "in_place", '[');
        for (uint32_t k = 0; k < s->n_shares; k++) {
            const uint32_t pair[2] = {s->shares[k].output, s->shares[k].operand};
            put_numbers(b, NULL, pair, 2);
        }
        wbb_json_close(b, ']');
    }
    if (s->n_calls) put_numbers(b, "calls", s->calls, s->n_calls);
    if (s->kind == PROG_BRANCH) put_numbers(b, "taken", s->taken, s->n_calls);
    if (s->kind == PROG_LOOP && s->iterations < 0) wbb_json_uint(b, "flag", s->flag);
    if (s->kind == PROG_LOOP && s->iterations >= 0) wbb_json_int(b, "iterations", s->iterations);
    if (s->n_swaps) {
        wbb_json_open(b, "swaps", '[');
        for (uint32_t k = 0; k < s->n_swaps; k++) {
            const uint32_t pair[2] = {s->swaps[k].state, s->swaps[k].spare};
            put_numbers(b, NULL, pair, 2);
        }
        wbb_json_close(b, ']');
    }
    if (s->frame >= 0) wbb_json_int(b, "frame", s->frame);
    wbb_json_close(b, '}');
}

static void put_computation(WbbBuf *b, const ProgComputation *c)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "name", c->name);
    wbb_json_int(b, "frame", c->frame);
    put_numbers(b, "parameters", c->parameters, c->n_parameters);
    wbb_json_open(b, "results", '[');
    for (uint32_t k = 0; k < c->n_results; k++) {
        wbb_json_open(b, NULL, '{');
        wbb_json_uint(b, "value", c->results[k]);
        if (c->in_place[k] >= 0) wbb_json_int(b, "parameter", c->in_place[k]);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
    wbb_json_line(b, 6);
    wbb_json_open(b, "buffers", '[');
    for (uint32_t k = 0; k < c->n_buffers; k++) wbb_json_line(b, 8), put_buffer(b, &c->buffers[k]);
    wbb_json_close(b, ']');
    wbb_json_line(b, 6);
    wbb_json_open(b, "values", '[');
    for (uint32_t k = 0; k < c->n_values; k++) wbb_json_line(b, 8), put_value(b, &c->values[k], k);
    wbb_json_close(b, ']');
    wbb_json_line(b, 6);
    wbb_json_open(b, "steps", '[');
    for (uint32_t k = 0; k < c->n_steps; k++) wbb_json_line(b, 8), put_step(b, &c->steps[k]);
    wbb_json_close(b, ']');
    wbb_json_close(b, '}');
}

const char *prog_json(WbbArena *a, const ProgModule *p)
{
    WbbBuf b = wbb_buf(a);
    const ProgMemory m = prog_memory(p);
    wbb_json_open(&b, NULL, '{');
    wbb_json_text(&b, "format", "warpburg program");
    wbb_json_int(&b, "version", PROG_VERSION);
    wbb_json_text(&b, "compiler", "warpburg " WBB_VERSION);
    wbb_json_text(&b, "module", p->name);
    wbb_json_line(&b, 2);
    wbb_json_open(&b, "memory", '{');
    wbb_json_int(&b, "parameters", m.parameters);
    wbb_json_int(&b, "results", m.results);
    wbb_json_int(&b, "constants", m.constants);
    wbb_json_int(&b, "temporaries", m.temporaries);
    wbb_json_int(&b, "peak", m.peak);
    wbb_json_close(&b, '}');
    wbb_json_uint(&b, "entry", p->entry);
    wbb_json_line(&b, 2);
    wbb_json_open(&b, "computations", '[');
    for (uint32_t k = 0; k < p->n; k++) wbb_json_line(&b, 4), put_computation(&b, &p->computations[k]);
    wbb_json_close(&b, ']');
    wbb_json_close(&b, '}');
    wbb_put(&b, "\n");
    return b.text;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */
static bool has(const char *folder, const char *file)
{
    char path[4096];
    const size_t n = strlen(folder), m = strlen(file) + 1;
    if (n + 1 + m > sizeof path) return false;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, file, m);
    return wbb_file_exists(path);
}

bool prog_is_folder(const char *folder) { return has(folder, "program.json"); }

bool prog_has_bundle(const char *folder) { return has(folder, "kernel.json"); }

/* Is the file one that a program or its bundles consist of? */
static bool is_part(const char *file)
{
    static const char *const whole[] = {"program.json", "source.hlo", "steps", "constants", "saved.json"};
    for (size_t k = 0; k < WBB_LEN(whole); k++)
        if (!strcmp(file, whole[k])) return true;
    return false;
}

/* Leaves an empty folder, or fails. */
static void clear(WbbCx *cx, WbbArena *a, const char *folder)
{
    uint32_t n;
    const char **files = wbb_list_dir(cx, a, folder, &n);
    for (uint32_t k = 0; k < n; k++)
        if (!is_part(files[k]) || !prog_is_folder(folder))
            wbb_fail(cx, (WbbLoc){.file = folder}, "the folder holds %s, which is no part of a program; a program is "
                     "written to a new or empty folder, or over an earlier one", files[k]);
    for (uint32_t k = 0; k < n; k++) {
        const char *path = wbb_format(a, "%s/%s", folder, files[k]);
        if (!wbb_is_dir(path)) continue;
        uint32_t count;
        const char **inner = wbb_list_dir(cx, a, path, &count); /* bundles are folders of files */
        for (uint32_t j = 0; j < count; j++) {
            const char *bundle = wbb_format(a, "%s/%s", path, inner[j]);
            if (wbb_is_dir(bundle)) wbb_remove_dir(bundle);
        }
        wbb_remove_dir(path);
    }
}

static const void *all_elements(WbbArena *a, const ProgValue *v, const ProgBuffer *b)
{
    if (!b->splat) return b->literal;
    const size_t size = (size_t)bd_npy_bytes(v->type), n = (size_t)bd_elements(v->dims, v->rank);
    uint8_t *all = wbb_alloc(a, wbb_mul_size(a, n, size) + 1);
    for (size_t k = 0; k < n; k++) memcpy(all + k * size, b->literal, size);
    return all;
}

static void write_constants(WbbCx *cx, WbbArena *a, const ProgComputation *c, const char *folder)
{
    for (uint32_t v = 0; v < c->n_values; v++) {
        const ProgValue *x = &c->values[v];
        const ProgBuffer *b = &c->buffers[x->buffer];
        if (b->place != PROG_CONSTANT || x->of != v || !b->literal || !b->file) continue;
        if (!bd_npy_bytes(x->type))
            wbb_decline(cx, (WbbLoc){0}, WHY_TYPE, "constant %s has type %s, which files do not hold", x->name,
                        x->type);
        wbb_make_dir(cx, wbb_format(a, "%s/constants", folder));
        bd_write_npy(cx, wbb_format(a, "%s/%s", folder, b->file), x->type, x->dims, x->rank, all_elements(a, x, b));
    }
}

const char *prog_plan_file(WbbArena *a, const char *folder, const ProgStep *s)
{
    return wbb_format(a, "%s/%.*s.plan", folder, (int)(strlen(s->file) - strlen(".hlo")), s->file);
}

void prog_write(WbbCx *cx, ProgModule *p, const char *folder)
{
    WbbArena *a = wbb_arena_new(cx);
    wbb_make_dir(cx, folder);
    clear(cx, a, folder);
    const char *json = prog_json(a, p);
    wbb_write_file(cx, wbb_format(a, "%s/program.json", folder), json, strlen(json));
    wbb_write_file(cx, wbb_format(a, "%s/source.hlo", folder), p->source, strlen(p->source));
    wbb_make_dir(cx, wbb_format(a, "%s/steps", folder));
    WbbMap written = {.arena = a};
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *c = &p->computations[i];
        write_constants(cx, a, c, folder);
        for (uint32_t s = 0; s < c->n_steps; s++) {
            const ProgStep *x = &c->steps[s];
            if (!x->file || wbb_map_get_bytes(&written, x->file, strlen(x->file))) continue;
            wbb_map_put_bytes(&written, x->file, strlen(x->file));
            wbb_write_file(cx, wbb_format(a, "%s/%s", folder, x->file), x->text, strlen(x->text));
            if (x->plan.text) wbb_write_file(cx, prog_plan_file(a, folder, x), x->plan.text, x->plan.n);
        }
    }
    p->folder = wbb_format(cx->arena, "%s", folder);
    wbb_arena_free(a);
}

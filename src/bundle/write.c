/* write: a bundle to its directory.
 *
 * Needs: a Bundle from the compiler. Leaves: kernel.json, kernel.ptx, fusion.hlo, kernel.TARGET.cubin. Equal bundles
 * give equal bytes: members have a fixed order, and nothing depends on the machine or the time.
 *
 *     bd_write(cx, &bundle, "out")   ->   out/kernel.json begins {"version": 1, "compiler": "warpburg ...
 */
#include "bundle/bundle.h"

#include <string.h>

static const char *const roles[] = {"in", "out", "temp"}, *const inits[] = {"none", "zero", "copy", "ticket"},
                         *const writes[] = {"once", "some", "atomic"};

static void put_three(WbbBuf *t, const char *key, const uint32_t v[3])
{
    wbb_json_putf(t, key, "[%u, %u, %u]", v[0], v[1], v[2]);
}

static void put_ints(WbbBuf *t, const char *key, const int *v, int n)
{
    wbb_json_open(t, key, '[');
    for (int i = 0; i < n; i++) wbb_json_int(t, NULL, v[i]);
    wbb_json_close(t, ']');
}

static void put_elements(WbbBuf *t, const BdBuffer *b)
{
    wbb_json_int(t, "arg", b->arg);
    wbb_json_text(t, "type", b->type);
    wbb_json_open(t, "dims", '[');
    for (int i = 0; i < b->rank; i++) wbb_json_int(t, NULL, b->dims[i]);
    wbb_json_close(t, ']');
    put_ints(t, "minor_to_major", b->minor_to_major, b->rank);
    wbb_json_int(t, "bits", b->bits);
}

static void put_buffer(WbbBuf *t, const BdBuffer *b)
{
    wbb_json_open(t, NULL, '{');
    wbb_json_text(t, "role", roles[b->role]);
    if (b->role != BD_TEMP) put_elements(t, b);
    wbb_json_int(t, "bytes", b->bytes);
    wbb_json_int(t, "align", b->align);
    if (b->role != BD_IN) wbb_json_text(t, "init", inits[b->init]);
    if (b->init == BD_INIT_COPY) wbb_json_int(t, "copy_of", b->copy_of);
    if (b->role == BD_OUT) {
        put_ints(t, "may_alias", b->may_alias, b->n_may_alias);
        wbb_json_text(t, "writes", writes[b->writes]);
    }
    wbb_json_close(t, '}');
}

static void put_hash(WbbBuf *t, const char *key, const void *bytes, size_t n)
{
    wbb_json_text(t, key, wbb_format(t->arena, "%016llx", (unsigned long long)wbb_hash(bytes, n, 0)));
}

/* Hashes of the other files, and of the text so far. */
static void put_texts(WbbBuf *t, const char *name, const char *const *texts, int n)
{
    if (!n) return;
    wbb_json_line(t, 2);
    wbb_json_open(t, name, '[');
    for (int i = 0; i < n; i++) wbb_json_text(t, NULL, texts[i]);
    wbb_json_close(t, ']');
}

static void put_hashes(WbbBuf *t, const Bundle *b)
{
    if (!b->ptx) return;
    wbb_json_line(t, 2);
    wbb_json_open(t, "files", '{');
    put_hash(t, "kernel.ptx", b->ptx, strlen(b->ptx));
    if (b->hlo) put_hash(t, "fusion.hlo", b->hlo, strlen(b->hlo));
    if (b->cubin) put_hash(t, wbb_format(t->arena, "kernel.%s.cubin", b->target), b->cubin, b->cubin_bytes);
    wbb_json_close(t, '}');
    put_hash(t, "text", t->text, t->n);
}

static void put_launch(WbbBuf *t, const BdLaunch *l)
{
    wbb_json_open(t, NULL, '{');
    wbb_json_text(t, "entry", l->entry);
    put_three(t, "grid", l->grid);
    put_three(t, "block", l->block);
    put_three(t, "cluster", l->cluster);
    wbb_json_int(t, "shared", l->shared);
    put_ints(t, "args", l->args, l->n_args);
    wbb_json_close(t, '}');
}

char *bd_kernel_json(WbbArena *a, const Bundle *b)
{
    WbbBuf t = wbb_buf(a);
    wbb_json_open(&t, NULL, '{');
    wbb_json_int(&t, "version", BD_VERSION);
    wbb_json_text(&t, "compiler", b->compiler);
    wbb_json_text(&t, "target", b->target);
    wbb_json_text(&t, "hash", b->hash);
    if (b->accuracy) wbb_json_text(&t, "accuracy", b->accuracy);
    if (b->assume) wbb_json_text(&t, "assume", b->assume);
    if (b->deterministic) wbb_json_bool(&t, "deterministic", true);
    wbb_json_line(&t, 2);
    wbb_json_open(&t, "buffers", '[');
    for (int i = 0; i < b->n_buffers; i++) {
        wbb_json_line(&t, 4);
        put_buffer(&t, &b->buffers[i]);
    }
    wbb_json_close(&t, ']');
    wbb_json_line(&t, 2);
    wbb_json_open(&t, "launches", '[');
    for (int i = 0; i < b->n_launches; i++) {
        wbb_json_line(&t, 4);
        put_launch(&t, &b->launches[i]);
    }
    wbb_json_close(&t, ']');
    put_texts(&t, "order", b->order, b->n_order);
    put_texts(&t, "without", b->without, b->n_without);
    put_hashes(&t, b);
    wbb_json_close(&t, '}');
    wbb_put(&t, "\n");
    return t.text;
}

void bd_write(WbbCx *cx, const Bundle *b, const char *dir)
{
    WbbArena *a = cx->arena;
    wbb_make_dir(cx, dir);
    const char *json = bd_kernel_json(a, b);
    wbb_write_file(cx, wbb_format(a, "%s/kernel.json", dir), json, strlen(json));
    wbb_write_file(cx, wbb_format(a, "%s/kernel.ptx", dir), b->ptx, strlen(b->ptx));
    if (b->hlo) wbb_write_file(cx, wbb_format(a, "%s/fusion.hlo", dir), b->hlo, strlen(b->hlo));
    if (b->cubin) wbb_write_file(cx, wbb_format(a, "%s/kernel.%s.cubin", dir, b->target), b->cubin, b->cubin_bytes);
}

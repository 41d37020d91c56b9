/* write: a bundle to its directory.
 *
 * Needs: a Bundle from the compiler. Leaves: kernel.json, kernel.ptx, fusion.hlo, kernel.TARGET.cubin. Equal bundles
 * give equal bytes: members have a fixed order, and nothing depends on the machine or the time.
 *
 *     bd_write(cx, &bundle, "out")   ->   out/kernel.json begins {"version": 1, "compiler": "warpburg ...
 */
#include "bundle/bundle.h"

#include <string.h>

static const char *const roles[] = {"in", "out", "temp"}, *const inits[] = {"none", "zero", "copy"},
                         *const writes[] = {"once", "some", "atomic"};

static void put_three(WbbBuf *t, const char *name, const uint32_t v[3])
{
    wbb_putf(t, "\"%s\": [%u, %u, %u]", name, v[0], v[1], v[2]);
}

static void put_buffer(WbbBuf *t, const BdBuffer *b)
{
    wbb_putf(t, "    {\"role\": \"%s\", \"arg\": %d, \"type\": ", roles[b->role], b->arg);
    wbb_put_json(t, b->type);
    wbb_put(t, ", \"dims\": [");
    for (int i = 0; i < b->rank; i++) wbb_putf(t, "%s%lld", i ? ", " : "", (long long)b->dims[i]);
    wbb_put(t, "], \"minor_to_major\": [");
    for (int i = 0; i < b->rank; i++) wbb_putf(t, "%s%d", i ? ", " : "", b->minor_to_major[i]);
    wbb_putf(t, "], \"bits\": %d, \"bytes\": %lld, \"align\": %d, \"alias\": ", b->bits, (long long)b->bytes, b->align);
    if (b->alias < 0) wbb_put(t, "null");
    else wbb_putf(t, "%d", b->alias);
    wbb_putf(t, ", \"init\": \"%s\", \"writes\": \"%s\"}", inits[b->init], writes[b->writes]);
}

static void put_launch(WbbBuf *t, const BdLaunch *l)
{
    wbb_put(t, "    {\"entry\": ");
    wbb_put_json(t, l->entry);
    wbb_put(t, ", ");
    put_three(t, "grid", l->grid);
    wbb_put(t, ", ");
    put_three(t, "block", l->block);
    wbb_put(t, ", ");
    put_three(t, "cluster", l->cluster);
    wbb_putf(t, ", \"shared\": %lld, \"args\": [", (long long)l->shared);
    for (int i = 0; i < l->n_args; i++) wbb_putf(t, "%s%d", i ? ", " : "", l->args[i]);
    wbb_put(t, "]}");
}

char *bd_json(WbbCx *cx, WbbArena *a, const Bundle *b)
{
    (void)cx;
    WbbBuf t = wbb_buf(a);
    wbb_putf(&t, "{\"version\": %d, \"compiler\": ", b->version);
    wbb_put_json(&t, b->compiler);
    wbb_put(&t, ", \"target\": ");
    wbb_put_json(&t, b->target);
    wbb_put(&t, ", \"hash\": ");
    wbb_put_json(&t, b->hash);
    wbb_put(&t, ",\n  \"buffers\": [");
    for (int i = 0; i < b->n_buffers; i++) {
        wbb_put(&t, i ? ",\n" : "\n");
        put_buffer(&t, &b->buffers[i]);
    }
    wbb_put(&t, "],\n  \"launches\": [");
    for (int i = 0; i < b->n_launches; i++) {
        wbb_put(&t, i ? ",\n" : "\n");
        put_launch(&t, &b->launches[i]);
    }
    wbb_put(&t, "]");
    for (int i = 0; i < b->n_order; i++) {
        wbb_put(&t, i ? ", " : ",\n  \"order\": [");
        wbb_put_json(&t, b->order[i]);
    }
    wbb_put(&t, b->n_order ? "]}\n" : "}\n");
    return t.text;
}

void bd_write(WbbCx *cx, const Bundle *b, const char *dir)
{
    WbbArena *a = cx->arena;
    wbb_make_dir(cx, dir);
    const char *json = bd_json(cx, a, b);
    wbb_write_file(cx, wbb_format(a, "%s/kernel.json", dir), json, strlen(json));
    wbb_write_file(cx, wbb_format(a, "%s/kernel.ptx", dir), b->ptx, strlen(b->ptx));
    if (b->hlo) wbb_write_file(cx, wbb_format(a, "%s/fusion.hlo", dir), b->hlo, strlen(b->hlo));
    if (b->cubin) wbb_write_file(cx, wbb_format(a, "%s/kernel.%s.cubin", dir, b->target), b->cubin, b->cubin_bytes);
}

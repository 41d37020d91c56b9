/* fuse.c: `fuse FILE.hlo`: an unfused module cut into kernels and library calls, as text or one file each. */
#include "fuse/fuse.h"
#include "main/main.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "12 of fusion.3: multiply" */
static void put_part(WbbBuf *b, const FusePart *p)
{
    wbb_putf(b, "// %" PRIu64 " of %s: %s%s\n", p->count, p->name, p->at->spelling ? p->at->spelling : hlo_opcode_name(p->at->opcode),
             p->text ? "" : ", a library call");
    if (p->text) wbb_put(b, p->text);
}

static void write_folder(WbbCx *cx, WbbArena *a, const FuseParts *parts, const char *folder)
{
    WbbBuf index = wbb_buf(a);
    wbb_put(&index, "file\tcount\tlibrary\toperation\n");
    wbb_make_dir(cx, folder);
    for (uint32_t k = 0; k < parts->n; k++) {
        const FusePart *p = &parts->items[k];
        wbb_putf(&index, "%s%s\t%" PRIu64 "\t%s\t%s\n", p->name, p->text ? ".hlo" : "", p->count, p->text ? "" : "yes",
                 p->at->spelling ? p->at->spelling : hlo_opcode_name(p->at->opcode));
        if (!p->text) continue;
        WbbBuf b = wbb_buf(a);
        put_part(&b, p);
        wbb_write_file(cx, wbb_format(a, "%s/%s.hlo", folder, p->name), b.text, b.n);
    }
    wbb_write_file(cx, wbb_format(a, "%s/index.tsv", folder), index.text, index.n);
}

WbbStatus main_fuse(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("fuse: one file expected\n", stderr), WBB_USAGE;
    size_t n;
    const char *text = wbb_read_file(cx, a, o->files.list[0], &n);
    const FuseParts parts = fuse_parts(cx, a, hlo_normalise(cx, a, hlo_parse(cx, a, o->files.list[0], text, n)));
    if (o->output) {
        write_folder(cx, a, &parts, o->output);
        return WBB_OK;
    }
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < parts.n; k++) {
        if (k) wbb_put(&b, "\n// -----\n\n");
        put_part(&b, &parts.items[k]);
    }
    fputs(b.text, stdout);
    return WBB_OK;
}

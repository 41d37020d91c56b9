/* fuse.c: `fuse FILE.hlo`: an unfused module cut into kernels and library calls, as text or one file each. */
#include "fuse/fuse.h"
#include "main/main.h"
#include "pipe/pipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *file, *output, *cut, *target;
} FuseOptions;

/* "12 of fusion.3: multiply" */
static void put_part(WbbBuf *b, const FusePart *p)
{
    wbb_putf(b, "// %" PRIu64 " of %s: %s%s\n", p->count, p->name,
             p->at->spelling ? p->at->spelling : hlo_opcode_name(p->at->opcode), p->text ? "" : ", a library call");
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

static WbbStatus fuse(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const FuseOptions *o = call->options;
    size_t n;
    const char *text = wbb_read_file(cx, a, o->file, &n);
    const FuseHow plain = {.mode = FUSE_PLAIN};
    const FuseHow *how = !strcmp(o->cut, "plain") ? &plain : &pipe_fuse(cx, a, tg_find(o->target))->how;
    const FuseParts parts = fuse_parts(cx, a, hlo_normalise(cx, a, hlo_parse(cx, a, o->file, text, n)), how);
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

static const Positional positionals[] = {
    {ONE("FILE.hlo", FuseOptions, file, "HLO text of an unfused module"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    {WORD("--cut", FuseOptions, cut, "HOW", "plain: the same parts on every target; priced: by modelled time"),
     .standard = "plain", .choices = {.words = "plain priced"}},
    MAIN_OPTION_TARGET(FuseOptions),
    {WORD("--output", FuseOptions, output, "DIR", "write a file for each part, and their list to DIR/index.tsv"),
     .letter = 'o', .value = VALUE_FOLDER},
    {0}};
static const Example examples[] = {{"fuse model.hlo -o parts", "a folder of fusions that `compile` takes one by one"},
                                   {0}};
const Command main_fuse = {
    .name = "fuse",
    .summary = "cut an unfused module into kernels and library calls",
    .details = "Prints the parts, one module after the other, each with the number of times it occurs.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "an operation is not supported",
    .size = sizeof(FuseOptions),
    .run = fuse,
};

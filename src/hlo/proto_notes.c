/* proto_notes: what tools and partitioners wrote beside the operations.
 *
 * Needs a message. Leaves its text, by which features.c judges what a kernel would have to honour, and profiles name
 * the lines of a program.
 *
 *     OpMetadata 2 "jit(f)/add", 15 3     ->     metadata={op_name="jit(f)/add" stack_frame_id=3}
 */
#include "hlo/proto.h"

#include <string.h>

void hlo_pb_put_metadata(WbbBuf *out, const HloPb *m)
{
    static const struct { uint32_t field; const char *name; bool number; } members[] = {
        {1, "op_type", false},         {2, "op_name", false},         {3, "source_file", false},
        {4, "source_line", true},      {17, "source_end_line", true}, {18, "source_column", true},
        {19, "source_end_column", true}, {15, "stack_frame_id", true}};
    bool first = true;
    for (size_t k = 0; k < WBB_LEN(members); k++) {
        if (!hlo_pb_has(m, members[k].field)) continue;
        wbb_putf(out, "%s%s=", first ? ", metadata={" : " ", members[k].name);
        first = false;
        const char *text = members[k].number ? NULL : hlo_pb_text(m, members[k].field);
        if (text) hlo_pb_put_quoted(out, text, strlen(text));
        else wbb_putf(out, "%lld", (long long)hlo_pb_int(m, members[k].field));
    }
    if (!first) wbb_put(out, "}");
}

/* devices=[2,4]<=[8]T(..) or devices=[2,4]0,1,.. ; a sharding by names of axes counts its devices alone. */
static void put_tiles(WbbBuf *out, const HloPb *m)
{
    hlo_pb_put_list(out, "devices=[", m, 3, "]", 0);
    hlo_pb_put_list(out, "", m, 4, "", 0);
    hlo_pb_put_list(out, "<=[", m, 9, "]", 1);
    hlo_pb_put_list(out, "T(", m, 10, ")", 2);
    if (hlo_pb_has(m, 6)) wbb_put(out, " last_tile_dim_replicate");
}

/* Is an array split, by a sharding that names axes of a mesh? */
static bool named_splits(const HloPb *m)
{
    const HloPb named = hlo_pb_inner(m, 14);
    uint32_t at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(&named, 3, &at));) {
        const HloPb d = hlo_pb_of(&named, x);
        if (hlo_pb_has(&d, 1)) return true;
    }
    return hlo_pb_has(&named, 5) || hlo_pb_has(&named, 7); /* unreduced, or manual: each device has a part */
}

/* Recurses at most HLO_NESTING_LIMIT levels. */
void hlo_pb_put_sharding(WbbBuf *out, const HloPb *m)
{
    static const char *const types[] = {"replicated", "maximal", "", "", "manual", "unknown", "unreduced"};
    static const uint16_t known[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0};
    hlo_pb_check_known(m, known, "a sharding");
    HloPbFile *f = m->file;
    if (++f->depth > HLO_NESTING_LIMIT) hlo_pb_fail(f, m->at, "shardings are nested too deep");
    const int64_t type = hlo_pb_int(m, 1);
    uint32_t at = 0, n = 0;
    if (type < 0 || (uint64_t)type >= WBB_LEN(types))
        hlo_pb_fail(f, m->at, "no sharding has the number %lld", (long long)type);
    wbb_putf(out, "{%s", types[type]);
    if (type == 1) {
        uint32_t devices;
        const int64_t *list = hlo_pb_ints(m, 4, &devices);
        wbb_putf(out, " device=%lld", (long long)(devices ? list[0] : 0));
    }
    if (type == 3 && !hlo_pb_has(m, 14)) put_tiles(out, m);
    if (hlo_pb_has(m, 14) && named_splits(m)) wbb_put(out, " devices=[]"); /* features.c: it splits an array */
    for (const HloPbField *x; type == 2 && (x = hlo_pb_next(m, 5, &at)); n++) {
        const HloPb part = hlo_pb_of(m, x);
        if (n) wbb_put(out, ", ");
        hlo_pb_put_sharding(out, &part);
    }
    wbb_put(out, "}");
    f->depth--;
}

void hlo_pb_put_frontend(WbbBuf *out, const HloPb *m)
{
    uint32_t at = 0, n = 0;
    wbb_put(out, "{");
    for (const HloPbField *x; (x = hlo_pb_next(m, 1, &at)); n++) {
        const HloPb entry = hlo_pb_of(m, x);
        const char *value = hlo_pb_text(&entry, 2), *key = hlo_pb_text(&entry, 1);
        for (const char *p = key; *p; p++)
            if ((unsigned char)*p <= ' ' || strchr("=,{}\"\\", *p))
                hlo_pb_fail(m->file, entry.at, "the name of a frontend attribute has the character 0x%02x",
                           (unsigned char)*p);
        wbb_putf(out, "%s%s=", n ? "," : "", key);
        hlo_pb_put_value(out, value, strlen(value));
    }
    wbb_put(out, "}");
}

static void put_names(WbbBuf *out, const char *title, const HloPb *m, uint32_t field)
{
    uint32_t at = 0, n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, field, &at));) {
        if (!n) wbb_putf(out, "%s\n", title);
        wbb_putf(out, "%u ", ++n);
        hlo_pb_put_quoted(out, (const char *)x->at, x->n);
        wbb_put(out, "\n");
    }
    if (n) wbb_put(out, "\n");
}

/* A line a row: its numbers, by the columns' fields. */
typedef struct { uint32_t field; const char *name; int64_t plus; } Column;

static void put_rows(WbbBuf *out, const char *title, const HloPb *m, uint32_t field, const Column *columns)
{
    uint32_t at = 0, n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, field, &at));) {
        if (!n) wbb_putf(out, "%s\n", title);
        const HloPb row = hlo_pb_of(m, x);
        wbb_putf(out, "%u {", ++n);
        for (const Column *c = columns; c->name; c++)
            wbb_putf(out, "%s%s=%lld", c > columns ? " " : "", c->name,
                     (long long)((uint64_t)hlo_pb_int(&row, c->field) + (uint64_t)c->plus));
        wbb_put(out, "}\n");
    }
    if (n) wbb_put(out, "\n");
}

void hlo_pb_put_tables(WbbBuf *out, const HloPb *m)
{
    static const Column locations[] = {{1, "file_name_id", 0}, {2, "function_name_id", 0}, {3, "line", 0},
                                       {5, "end_line", 0}, {4, "column", 0}, {6, "end_column", 0}, {0, NULL, 0}};
    /* the text counts the parents from 1 on, and 1 is none */
    static const Column frames[] = {{1, "file_location_id", 0}, {2, "parent_frame_id", 1}, {0, NULL, 0}};
    put_names(out, "FileNames", m, 1);
    put_names(out, "FunctionNames", m, 2);
    put_rows(out, "FileLocations", m, 3, locations);
    put_rows(out, "StackFrames", m, 4, frames);
}

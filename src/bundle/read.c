/* read: a bundle from its directory, fully checked.
 *
 * Needs: json_reader.c. Leaves: a Bundle whose numbers are all in range: permutations are permutations, sizes fit their
 * shapes, indices name existing buffers. A message names file, line and column of the fault.
 *
 *     kernel.json:3:41: error: "bytes" is 100, but bf16[8,8] takes 128
 */
#include "bundle/bundle.h"

#include <string.h>

static const struct {
    const char *name;
    int bits, file_bytes;
} element_types[] = {
    {"pred", 8, 1}, {"s2", 2, 1},       {"u2", 2, 1},     {"s4", 4, 1},   {"u4", 4, 1},    {"s8", 8, 1},   {"u8", 8, 1},   {"s16", 16, 2},
    {"u16", 16, 2}, {"s32", 32, 4},     {"u32", 32, 4},   {"s64", 64, 8}, {"u64", 64, 8},  {"f16", 16, 2}, {"bf16", 16, 2}, {"f32", 32, 4},
    {"f64", 64, 8}, {"f8e4m3fn", 8, 1}, {"f8e5m2", 8, 1}, {"c64", 64, 8}, {"c128", 128, 16},
    {"f8e4m3", 8, 1}, {"f8e3m4", 8, 1}, {"f8e4m3fnuz", 8, 1}, {"f8e5m2fnuz", 8, 1}, {"f8e4m3b11fnuz", 8, 1}, {"f8e8m0fnu", 8, 1}, {"f4e2m1fn", 4, 1},
};

int bd_type_bits(const char *type)
{
    for (size_t i = 0; i < WBB_LEN(element_types); i++)
        if (strcmp(element_types[i].name, type) == 0) return element_types[i].bits;
    return 0;
}

int bd_npy_bytes(const char *type)
{
    for (size_t i = 0; i < WBB_LEN(element_types); i++)
        if (strcmp(element_types[i].name, type) == 0) return element_types[i].file_bytes;
    return 0;
}

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *file;
} In;

static WbbLoc at(const In *in, const BdJson *v) { return (WbbLoc){in->file, v->line, v->col}; }

static const BdJson *member(const In *in, const BdJson *object, const char *key)
{
    const BdJson *v = bd_json_get(object, key);
    if (!v) wbb_fail(in->cx, at(in, object), "member \"%s\" is missing", key);
    return v;
}

static int64_t integer(const In *in, const BdJson *v, int64_t least, int64_t most)
{
    int64_t n = 0;
    if (!bd_json_int(v, &n)) wbb_fail(in->cx, at(in, v), "expected a whole number");
    if (n < least || n > most)
        wbb_fail(in->cx, at(in, v), "%lld is not between %lld and %lld", (long long)n, (long long)least,
                 (long long)most);
    return n;
}

static int64_t integer_of(const In *in, const BdJson *o, const char *key, int64_t least, int64_t most)
{
    return integer(in, member(in, o, key), least, most);
}

static const char *text_of(const In *in, const BdJson *o, const char *key)
{
    const BdJson *v = member(in, o, key);
    if (v->kind != BD_STRING) wbb_fail(in->cx, at(in, v), "\"%s\" must be a string", key);
    return v->text;
}

static int word_of(const In *in, const BdJson *o, const char *key, const char *const names[3])
{
    const char *text = text_of(in, o, key);
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) return i;
    wbb_fail(in->cx, at(in, member(in, o, key)), "\"%s\" must be \"%s\", \"%s\" or \"%s\", not \"%s\"", key, names[0],
             names[1], names[2], text);
}

static const BdJson *array_of(const In *in, const BdJson *o, const char *key, int least, int most)
{
    const BdJson *v = member(in, o, key);
    if (v->kind != BD_ARRAY || v->n < least || v->n > most)
        wbb_fail(in->cx, at(in, v), "\"%s\" must be an array of %d to %d elements", key, least, most);
    return v;
}

/* The shape, the order of dimensions, and the size, which must fit the shape. */
static void read_shape(const In *in, const BdJson *o, BdBuffer *b)
{
    const BdJson *dims = array_of(in, o, "dims", 0, BD_MAX_RANK);
    b->rank = dims->n;
    int i = 0;
    WbbI128 elements = 1;
    for (const BdJson *d = dims->items; d; d = d->next, i++) {
        b->dims[i] = integer(in, d, 0, (int64_t)1 << 48);
        elements *= b->dims[i];
        if (elements > (WbbI128)1 << 56) wbb_fail(in->cx, at(in, d), "the buffer is too large");
    }
    const BdJson *order = array_of(in, o, "minor_to_major", b->rank, b->rank);
    uint32_t seen = 0;
    i = 0;
    for (const BdJson *d = order->items; d; d = d->next, i++) {
        b->minor_to_major[i] = (int)integer(in, d, 0, b->rank - 1);
        if (seen >> b->minor_to_major[i] & 1)
            wbb_fail(in->cx, at(in, d), "dimension %d occurs twice", b->minor_to_major[i]);
        seen |= 1u << b->minor_to_major[i];
    }
    int bits = bd_type_bits(b->type);
    if (!bits) wbb_fail(in->cx, at(in, member(in, o, "type")), "unknown type \"%s\"", b->type);
    b->bits = (int)integer_of(in, o, "bits", bits, bits);
    b->bytes = integer_of(in, o, "bytes", 0, INT64_MAX);
    int64_t takes = (int64_t)((elements * bits + 7) / 8);
    if (b->bytes != takes)
        wbb_fail(in->cx, at(in, member(in, o, "bytes")), "\"bytes\" is %lld, but the shape takes %lld",
                 (long long)b->bytes, (long long)takes);
}

static void read_buffer(const In *in, const BdJson *o, BdBuffer *b, int n_buffers)
{
    static const char *const roles[] = {"in", "out", "temp"}, *const inits[] = {"none", "zero", "copy"},
                             *const writes[] = {"once", "some", "atomic"};
    if (o->kind != BD_OBJECT) wbb_fail(in->cx, at(in, o), "a buffer must be an object");
    b->role = (BdRole)word_of(in, o, "role", roles);
    b->arg = (int)integer_of(in, o, "arg", 0, INT32_MAX);
    b->type = text_of(in, o, "type");
    read_shape(in, o, b);
    b->align = (int)integer_of(in, o, "align", 1, 4096);
    if (b->align & (b->align - 1))
        wbb_fail(in->cx, at(in, member(in, o, "align")), "an alignment must be a power of two");
    const BdJson *alias = member(in, o, "alias");
    b->alias = alias->kind == BD_NULL ? -1 : (int)integer(in, alias, 0, n_buffers - 1);
    b->init = (BdInit)word_of(in, o, "init", inits);
    b->writes = (BdWrites)word_of(in, o, "writes", writes);
    if (b->init == BD_INIT_COPY && b->alias < 0)
        wbb_fail(in->cx, at(in, member(in, o, "init")), "\"copy\" needs an alias to copy from");
}

static void read_three(const In *in, const BdJson *o, const char *key, uint32_t out[3], int64_t most)
{
    const BdJson *v = array_of(in, o, key, 3, 3);
    int i = 0;
    for (const BdJson *e = v->items; e; e = e->next) out[i++] = (uint32_t)integer(in, e, 1, most);
}

static void read_launch(const In *in, const BdJson *o, BdLaunch *l, int n_buffers)
{
    if (o->kind != BD_OBJECT) wbb_fail(in->cx, at(in, o), "a launch must be an object");
    l->entry = text_of(in, o, "entry");
    read_three(in, o, "grid", l->grid, INT32_MAX);
    read_three(in, o, "block", l->block, 1024);
    read_three(in, o, "cluster", l->cluster, 16);
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > 1024)
        wbb_fail(in->cx, at(in, member(in, o, "block")), "more than 1024 threads a block");
    l->shared = integer_of(in, o, "shared", 0, 1 << 20);
    const BdJson *args = array_of(in, o, "args", 0, 4096);
    l->n_args = args->n;
    int *list = WBB_NEW_N(in->arena, int, args->n + 1), i = 0;
    for (const BdJson *e = args->items; e; e = e->next) list[i++] = (int)integer(in, e, 0, n_buffers - 1);
    l->args = list;
}

static void read_order(const In *in, const BdJson *texts, Bundle *b)
{
    const char **list = WBB_NEW_N(in->arena, const char *, texts->n + 1);
    for (const BdJson *e = texts->items; e; e = e->next) {
        if (e->kind != BD_STRING) wbb_fail(in->cx, at(in, e), "an order must be a string");
        list[b->n_order++] = e->text;
    }
    b->order = list;
}

Bundle *bd_parse(WbbCx *cx, WbbArena *a, const char *file, const char *json)
{
    In in = {cx, a, wbb_intern_z(cx, file)};
    const BdJson *o = bd_json_parse(cx, a, in.file, json);
    if (o->kind != BD_OBJECT) wbb_fail(cx, at(&in, o), "a bundle must be an object");
    Bundle *b = WBB_NEW(a, Bundle);
    b->version = (int)integer_of(&in, o, "version", BD_VERSION, BD_VERSION);
    b->compiler = text_of(&in, o, "compiler");
    b->target = text_of(&in, o, "target");
    if (strspn(b->target, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(b->target) || !*b->target ||
        strlen(b->target) > 32)
        wbb_fail(cx, at(&in, member(&in, o, "target")), "\"%s\" is not the name of a target", b->target);
    b->hash = text_of(&in, o, "hash");
    const BdJson *buffers = array_of(&in, o, "buffers", 0, 4096);
    b->n_buffers = buffers->n;
    b->buffers = WBB_NEW_N(a, BdBuffer, buffers->n + 1);
    int i = 0;
    for (const BdJson *e = buffers->items; e; e = e->next, i++) {
        read_buffer(&in, e, &b->buffers[i], b->n_buffers);
        if (b->buffers[i].alias == i) wbb_fail(cx, at(&in, e), "buffer %d is its own alias", i);
    }
    for (i = 0; i < b->n_buffers; i++)
        if (b->buffers[i].alias >= 0 && b->buffers[b->buffers[i].alias].bytes != b->buffers[i].bytes)
            wbb_fail(cx, at(&in, buffers), "buffer %d and its alias differ in size", i);
    const BdJson *launches = array_of(&in, o, "launches", 0, 1024);
    b->n_launches = launches->n;
    b->launches = WBB_NEW_N(a, BdLaunch, launches->n + 1);
    i = 0;
    for (const BdJson *e = launches->items; e; e = e->next) read_launch(&in, e, &b->launches[i++], b->n_buffers);
    if (bd_json_get(o, "order")) read_order(&in, array_of(&in, o, "order", 0, 4096), b);
    return b;
}

Bundle *bd_read(WbbCx *cx, WbbArena *a, const char *dir)
{
    const char *path = wbb_format(a, "%s/kernel.json", dir);
    size_t n = 0;
    const char *json = wbb_read_file(cx, a, path, &n);
    if (strlen(json) != n) wbb_fail(cx, (WbbLoc){path, 0, 0}, "the file holds a zero byte");
    Bundle *b = bd_parse(cx, a, path, json);
    path = wbb_format(a, "%s/kernel.ptx", dir);
    b->ptx = wbb_read_file(cx, a, path, &n);
    if (strlen(b->ptx) != n) wbb_fail(cx, (WbbLoc){path, 0, 0}, "the file holds a zero byte");
    path = wbb_format(a, "%s/fusion.hlo", dir);
    if (wbb_file_exists(path)) b->hlo = wbb_read_file(cx, a, path, &n);
    path = wbb_format(a, "%s/kernel.%s.cubin", dir, b->target);
    if (wbb_file_exists(path)) b->cubin = wbb_read_file(cx, a, path, &b->cubin_bytes);
    return b;
}

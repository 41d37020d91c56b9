/* read: a bundle from its directory, fully checked.
 *
 * Needs: json_reader.c. Leaves: a Bundle whose numbers are all in range: permutations are permutations, sizes fit their
 * shapes, indices name existing buffers, launches are within the limits of the target. A message names file, line and
 * column of the fault.
 *
 * Version 1 had no tickets and no list of operands that an output may alias: there `alias` names one buffer, every
 * buffer has all members, and unknown members are passed over.
 *
 *     kernel.json:3:41: error: "bytes" is 100, but bf16[8,8] takes 128
 */
#include "bundle/bundle.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BUFFERS = 4096, MAX_LAUNCHES = 1024, MAX_GRID_YZ = 65535, MAX_BLOCK_Z = 64 };

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
    int version;
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
    return bd_json_within(in->cx, in->file, v, least, most);
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

/* The place of a member's word in a list of names, separated by blanks. */
static int word_of(const In *in, const BdJson *o, const char *key, const char *names)
{
    const char *text = text_of(in, o, key), *name = names;
    const size_t n = strlen(text);
    for (int i = 0; *name; i++) {
        const size_t length = strcspn(name, " ");
        if (length == n && strncmp(text, name, n) == 0) return i;
        name += length + strspn(name + length, " ");
    }
    wbb_fail(in->cx, at(in, member(in, o, key)), "\"%s\" is \"%s\", and must be one of: %s", key, text, names);
}

/* Version 2 has no members but these, separated by blanks. */
static void check_members(const In *in, const BdJson *o, const char *what, const char *names)
{
    if (o->kind != BD_OBJECT) wbb_fail(in->cx, at(in, o), "%s must be an object", what);
    if (in->version == 1) return;
    for (const BdJson *v = o->items; v; v = v->next) {
        const size_t n = strlen(v->key);
        const char *found = n ? strstr(names, v->key) : NULL;
        while (found && !((found == names || found[-1] == ' ') && (!found[n] || found[n] == ' ')))
            found = strstr(found + 1, v->key);
        if (!found) wbb_fail(in->cx, at(in, v), "\"%s\" is no member of %s; they are: %s", v->key, what, names);
    }
}

static const BdJson *array_of(const In *in, const BdJson *o, const char *key, int least, int most)
{
    const BdJson *v = member(in, o, key);
    if (v->kind != BD_ARRAY || v->n < least || v->n > most)
        wbb_fail(in->cx, at(in, v), "\"%s\" must be an array of %d to %d elements", key, least, most);
    return v;
}

/* The shape, the order of dimensions, and the size, which must fit the shape. */
static void read_elements(const In *in, const BdJson *o, BdBuffer *b)
{
    b->arg = (int)integer_of(in, o, "arg", 0, INT32_MAX);
    b->type = text_of(in, o, "type");
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
    uint64_t seen = 0;
    i = 0;
    for (const BdJson *d = order->items; d; d = d->next, i++) {
        b->minor_to_major[i] = (int)integer(in, d, 0, b->rank - 1);
        if (seen >> b->minor_to_major[i] & 1)
            wbb_fail(in->cx, at(in, d), "dimension %d occurs twice", b->minor_to_major[i]);
        seen |= UINT64_C(1) << b->minor_to_major[i];
    }
    int bits = bd_type_bits(b->type);
    if (!bits) wbb_fail(in->cx, at(in, member(in, o, "type")), "unknown type \"%s\"", b->type);
    b->bits = (int)integer_of(in, o, "bits", bits, bits);
    int64_t takes = (int64_t)((elements * bits + 7) / 8);
    if (b->bytes != takes)
        wbb_fail(in->cx, at(in, member(in, o, "bytes")), "\"bytes\" is %lld, but the shape takes %lld",
                 (long long)b->bytes, (long long)takes);
}

/* What an output of version 1 says of its contents; operands have the members, too, and they mean nothing. */
static void read_alias(const In *in, const BdJson *o, BdBuffer *b, int n_buffers)
{
    const BdJson *alias = member(in, o, "alias");
    b->init = (BdInit)word_of(in, o, "init", "none zero copy");
    b->writes = (BdWrites)word_of(in, o, "writes", "once some atomic");
    if (b->init == BD_INIT_COPY && (alias->kind == BD_NULL || b->role != BD_OUT))
        wbb_fail(in->cx, at(in, member(in, o, "init")), "\"copy\" needs an output, and an alias to copy from");
    if (alias->kind == BD_NULL) return;
    int *list = WBB_NEW(in->arena, int);
    *list = (int)integer(in, alias, 0, n_buffers - 1);
    if (b->role == BD_OUT) b->may_alias = list, b->n_may_alias = 1;
    if (b->init == BD_INIT_COPY) b->copy_of = *list;
}

static void read_output(const In *in, const BdJson *o, BdBuffer *b, int n_buffers)
{
    b->init = (BdInit)word_of(in, o, "init", "none zero copy");
    b->writes = (BdWrites)word_of(in, o, "writes", "once some atomic");
    const BdJson *may = array_of(in, o, "may_alias", 0, MAX_BUFFERS), *copy_of = bd_json_get(o, "copy_of");
    int *list = WBB_NEW_N(in->arena, int, may->n + 1);
    for (const BdJson *e = may->items; e; e = e->next) list[b->n_may_alias++] = (int)integer(in, e, 0, n_buffers - 1);
    b->may_alias = list;
    if (b->init == BD_INIT_COPY) b->copy_of = (int)integer_of(in, o, "copy_of", 0, n_buffers - 1);
    else if (copy_of) wbb_fail(in->cx, at(in, copy_of), "\"copy_of\" needs \"init\": \"copy\"");
}

static void read_buffer(const In *in, const BdJson *o, BdBuffer *b, int n_buffers)
{
    static const char *const members[] = {
        "role arg type dims minor_to_major bits bytes align",
        "role arg type dims minor_to_major bits bytes align init copy_of may_alias writes", "role bytes align init"};
    if (o->kind != BD_OBJECT) wbb_fail(in->cx, at(in, o), "a buffer must be an object");
    b->role = (BdRole)word_of(in, o, "role", "in out temp");
    check_members(in, o, "a buffer of this role", members[b->role]);
    b->copy_of = -1;
    b->bytes = integer_of(in, o, "bytes", 0, (int64_t)1 << 56);
    b->align = (int)integer_of(in, o, "align", 1, 4096);
    if (b->align & (b->align - 1))
        wbb_fail(in->cx, at(in, member(in, o, "align")), "an alignment must be a power of two");
    if (b->role != BD_TEMP || in->version == 1) read_elements(in, o, b);
    if (in->version == 1) read_alias(in, o, b, n_buffers);
    else if (b->role == BD_OUT) read_output(in, o, b, n_buffers);
    else if (b->role == BD_TEMP)
        b->init = (BdInit[]){BD_INIT_NONE, BD_INIT_ZERO, BD_INIT_TICKET}[word_of(in, o, "init", "none zero ticket")];
}

/* What an output may alias are operands of its size, each once; what it copies is among them. */
static void check_aliases(const In *in, const BdJson *o, const Bundle *b, const BdBuffer *d)
{
    const BdJson *list = bd_json_get(o, in->version == 1 ? "alias" : "may_alias");
    bool copied = d->copy_of < 0;
    if (d->init == BD_INIT_ZERO && d->n_may_alias)
        wbb_fail(in->cx, at(in, list), "an output that begins with zeros has memory of its own");
    for (int k = 0; k < d->n_may_alias; k++) {
        const int i = d->may_alias[k];
        if (b->buffers[i].role != BD_IN)
            wbb_fail(in->cx, at(in, list), "buffer %d is no operand, whose memory an output may have", i);
        if (b->buffers[i].bytes != d->bytes)
            wbb_fail(in->cx, at(in, list), "buffer %d has %lld bytes, the output has %lld", i,
                     (long long)b->buffers[i].bytes, (long long)d->bytes);
        for (int before = 0; before < k; before++)
            if (d->may_alias[before] == i) wbb_fail(in->cx, at(in, list), "buffer %d occurs twice", i);
        copied = copied || i == d->copy_of;
    }
    if (!copied)
        wbb_fail(in->cx, at(in, bd_json_get(o, "copy_of")), "buffer %d is not in \"may_alias\"", d->copy_of);
}

/* Operands and outputs are numbered in the order of their list. */
static void read_buffers(const In *in, const BdJson *list, Bundle *b)
{
    int n[2] = {0, 0}, i = 0;
    b->n_buffers = list->n;
    b->buffers = WBB_NEW_N(in->arena, BdBuffer, list->n + 1);
    for (const BdJson *e = list->items; e; e = e->next, i++) {
        BdBuffer *d = &b->buffers[i];
        read_buffer(in, e, d, b->n_buffers);
        if (d->role != BD_TEMP && d->arg != n[d->role]++)
            wbb_fail(in->cx, at(in, member(in, e, "arg")), "\"arg\" is %d, but this is %s %d", d->arg,
                     d->role == BD_IN ? "operand" : "output", n[d->role] - 1);
    }
    i = 0;
    for (const BdJson *e = list->items; e; e = e->next, i++) check_aliases(in, e, b, &b->buffers[i]);
}

static void read_three(const In *in, const BdJson *o, const char *key, uint32_t out[3], int64_t most_x, int64_t most_y,
                       int64_t most_z)
{
    const int64_t most[3] = {most_x, most_y, most_z};
    const BdJson *v = array_of(in, o, key, 3, 3);
    int i = 0;
    for (const BdJson *e = v->items; e; e = e->next, i++) out[i] = (uint32_t)integer(in, e, 1, most[i]);
}

static uint64_t product(const uint32_t v[3]) { return (uint64_t)v[0] * v[1] * v[2]; }

static void read_launch(const In *in, const BdJson *o, BdLaunch *l, const Bundle *b)
{
    check_members(in, o, "a launch", "entry grid block cluster shared args");
    l->entry = text_of(in, o, "entry");
    read_three(in, o, "grid", l->grid, INT32_MAX, MAX_GRID_YZ, MAX_GRID_YZ);
    read_three(in, o, "block", l->block, BD_MAX_THREADS, BD_MAX_THREADS, MAX_BLOCK_Z);
    read_three(in, o, "cluster", l->cluster, BD_MAX_CLUSTER, BD_MAX_CLUSTER, BD_MAX_CLUSTER);
    const WbbLoc cluster = at(in, member(in, o, "cluster"));
    if (product(l->block) > BD_MAX_THREADS)
        wbb_fail(in->cx, at(in, member(in, o, "block")), "more than %d threads a block", BD_MAX_THREADS);
    if (product(l->cluster) > BD_MAX_CLUSTER)
        wbb_fail(in->cx, cluster, "more than %d blocks a cluster", BD_MAX_CLUSTER);
    for (int i = 0; i < 3; i++)
        if (l->grid[i] % l->cluster[i])
            wbb_fail(in->cx, cluster, "the grid is no multiple of the cluster in %c", "xyz"[i]);
    const int target = bd_target_number(b->target);
    if (product(l->cluster) > 1 && target < 90) wbb_fail(in->cx, cluster, "%s has no clusters", b->target);
    l->shared = integer_of(in, o, "shared", 0, INT32_MAX);
    if (l->shared > bd_most_shared(target))
        wbb_fail(in->cx, at(in, member(in, o, "shared")), "%lld bytes of shared memory, %s has %lld for a block",
                 (long long)l->shared, b->target, (long long)bd_most_shared(target));
    const BdJson *args = array_of(in, o, "args", 0, MAX_BUFFERS);
    l->n_args = args->n;
    int *list = WBB_NEW_N(in->arena, int, args->n + 1), i = 0;
    for (const BdJson *e = args->items; e; e = e->next) list[i++] = (int)integer(in, e, 0, b->n_buffers - 1);
    l->args = list;
}

static bool is_argument(const Bundle *b, int buffer)
{
    for (int i = 0; i < b->n_launches; i++)
        for (int k = 0; k < b->launches[i].n_args; k++)
            if (b->launches[i].args[k] == buffer) return true;
    return false;
}

/* Buffers that a launch must write, or that exist for launches only. */
static void check_use(const In *in, const BdJson *list, const Bundle *b)
{
    int i = 0;
    for (const BdJson *e = list->items; e; e = e->next, i++) {
        const BdBuffer *d = &b->buffers[i];
        const bool needed = d->role == BD_TEMP || (d->role == BD_OUT && d->bytes && d->init == BD_INIT_NONE);
        if (needed && !is_argument(b, i)) wbb_fail(in->cx, at(in, e), "buffer %d is an argument of no launch", i);
    }
}

/* A list of strings, if there is one. what: "an order" */
static int read_texts(const In *in, const BdJson *o, const char *name, const char *what, const char *const **out)
{
    if (!bd_json_get(o, name)) return 0;
    const BdJson *texts = array_of(in, o, name, 0, 4096);
    const char **list = WBB_NEW_N(in->arena, const char *, texts->n + 1);
    int n = 0;
    for (const BdJson *e = texts->items; e; e = e->next) {
        if (e->kind != BD_STRING) wbb_fail(in->cx, at(in, e), "%s must be a string", what);
        list[n++] = e->text;
    }
    *out = list;
    return n;
}

Bundle *bd_parse(WbbCx *cx, WbbArena *a, const char *file, const char *json)
{
    In in = {.cx = cx, .arena = a, .file = wbb_intern_z(cx, file)};
    const BdJson *o = bd_json_parse(cx, a, in.file, json);
    if (o->kind != BD_OBJECT) wbb_fail(cx, at(&in, o), "a bundle must be an object");
    Bundle *b = WBB_NEW(a, Bundle);
    in.version = (int)integer_of(&in, o, "version", 1, BD_VERSION);
    check_members(&in, o, "a bundle",
                  "version compiler target hash accuracy assume deterministic buffers launches order without files "
                  "text");
    b->compiler = text_of(&in, o, "compiler");
    b->target = text_of(&in, o, "target");
    if (strspn(b->target, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(b->target) || strlen(b->target) > 32 ||
        !bd_target_number(b->target))
        wbb_fail(cx, at(&in, member(&in, o, "target")), "\"%s\" is not the name of a target", b->target);
    b->hash = text_of(&in, o, "hash");
    if (bd_json_get(o, "accuracy")) {
        b->accuracy = text_of(&in, o, "accuracy");
        if (strcmp(b->accuracy, "xla") && strcmp(b->accuracy, "approx"))
            wbb_fail(cx, at(&in, member(&in, o, "accuracy")), "\"%s\" is not xla or approx", b->accuracy);
    }
    if (bd_json_get(o, "assume")) b->assume = text_of(&in, o, "assume");
    const BdJson *deterministic = bd_json_get(o, "deterministic");
    b->deterministic = deterministic && deterministic->kind == BD_TRUE;
    if (deterministic && !b->deterministic && deterministic->kind != BD_FALSE)
        wbb_fail(cx, at(&in, deterministic), "\"deterministic\" must be true or false");
    const BdJson *buffers = array_of(&in, o, "buffers", 0, MAX_BUFFERS);
    read_buffers(&in, buffers, b);
    const BdJson *launches = array_of(&in, o, "launches", 0, MAX_LAUNCHES);
    b->launches = WBB_NEW_N(a, BdLaunch, launches->n + 1);
    for (const BdJson *e = launches->items; e; e = e->next) read_launch(&in, e, &b->launches[b->n_launches++], b);
    check_use(&in, buffers, b);
    b->n_order = read_texts(&in, o, "order", "an order", &b->order);
    b->n_without = read_texts(&in, o, "without", "the name of a rule", &b->without);
    return b;
}

/* Are these the bytes whose hash a member of kernel.json states? Also where it states none. */
static bool is_stated(const BdJson *object, const char *key, const void *bytes, size_t n)
{
    const BdJson *v = object && object->kind == BD_OBJECT ? bd_json_get(object, key) : NULL;
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)wbb_hash(bytes, n, 0));
    return !v || (v->kind == BD_STRING && strcmp(v->text, hash) == 0);
}

/* The first file of the bundle that is not the one that kernel.json states; NULL: none. `text` is a hash of kernel.json
 * up to the comma before that member. */
static const char *edited_file(WbbCx *cx, WbbArena *a, const Bundle *b, const char *json)
{
    const BdJson *o = bd_json_parse(cx, a, "kernel.json", json), *files = bd_json_get(o, "files");
    const char *end = NULL, *cubin = wbb_format(a, "kernel.%s.cubin", b->target);
    for (const char *at = json; (at = strstr(at, ", \"text\":")) != NULL; at++) end = at;
    if (end ? !is_stated(o, "text", json, (size_t)(end - json)) : bd_json_get(o, "text") != NULL) return "kernel.json";
    if (!is_stated(files, "kernel.ptx", b->ptx, strlen(b->ptx))) return "kernel.ptx";
    if (b->hlo && !is_stated(files, "fusion.hlo", b->hlo, strlen(b->hlo))) return "fusion.hlo";
    if (b->cubin && !is_stated(files, cubin, b->cubin, b->cubin_bytes)) return cubin;
    return NULL;
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
    b->edited = edited_file(cx, a, b, json);
    return b;
}

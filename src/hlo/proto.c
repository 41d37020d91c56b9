/* proto: a dumped module as text.
 *
 * Needs bytes of an HloModuleProto, or of an HloProto or a snapshot that begins with one, as --xla_dump_hlo_as_proto
 * leaves them. Leaves HLO text, of which everything else is made as if it had been written by hand: places in messages
 * are lines of that text, which `warpburg hlo FILE.pb` shows.
 *
 *     0a 05 "jit_f" 12 06 "main.1" 1a ..     ->     HloModule jit_f  ENTRY %main.1 { .. }
 */
#include "hlo/proto.h"

#include <string.h>

static bool is_named_proto(const char *file)
{
    const size_t n = file ? strlen(file) : 0;
    return n > 3 && !strcmp(file + n - 3, ".pb");
}

typedef struct {
    HloPbFile *file;
    WbbBuf *out;
    WbbMap computations; /* by id: a HloComputation, of which the name is set */
    WbbMap schedules;    /* by a computation's id: a HloPbField, its InstructionSequence */
} Writer;

/* What has this id; newer files have the computation's in the upper half. */
static const WbbEntry *entry_of(const WbbMap *map, int64_t id)
{
    const WbbEntry *e = wbb_map_get(map, (uint64_t)id);
    return e ? e : wbb_map_get(map, (uint64_t)id & UINT32_MAX);
}

static void *of_id(const WbbMap *map, int64_t id)
{
    const WbbEntry *e = entry_of(map, id);
    return e ? e->pointer : NULL;
}

static void *require_id(const HloPb *m, const WbbMap *map, int64_t id, const char *what)
{
    void *found = of_id(map, id);
    if (!found) hlo_pb_fail(m->file, m->at, "no %s has the id %lld", what, (long long)id);
    return found;
}

/* Makes an instruction of each id first, with its opcode and shape: operands may come later in the file. */
static HloInstruction *named_instruction(const HloPb *m)
{
    HloInstruction *i = WBB_NEW(m->file->arena, HloInstruction);
    const char *opcode = hlo_pb_name(m, 2, "the operation of an instruction");
    i->name = hlo_pb_name(m, 1, "the name of an instruction");
    if (!hlo_set_opcode(m->file->cx, i, opcode, strlen(opcode)))
        hlo_pb_fail(m->file, m->at, "unknown operation '%.60s'%s", opcode,
                   hlo_suggest_opcode(m->file->cx->arena, opcode, strlen(opcode)));
    const HloPb shape = hlo_pb_inner(m, 3);
    i->shape = hlo_pb_shape(&shape);
    return i;
}

static void read_operands(const HloPb *m, HloInstruction *i, const WbbMap *of)
{
    uint32_t n;
    WbbArena *a = m->file->arena;
    const int64_t *ids = hlo_pb_ints(m, 36, &n);
    HloInstruction **operands = WBB_NEW_N(a, HloInstruction *, n + 1);
    for (uint32_t k = 0; k < n; k++) operands[k] = require_id(m, of, ids[k], "operand");
    i->operands = operands;
    i->n_operands = n;
    ids = hlo_pb_ints(m, 37, &n);
    HloInstruction **before = WBB_NEW_N(a, HloInstruction *, n + 1);
    for (uint32_t k = 0; k < n; k++) before[k] = require_id(m, of, ids[k], "control predecessor");
    i->predecessors = before;
    i->n_predecessors = n;
}

static void read_called(const Writer *w, const HloPb *m, HloInstruction *i)
{
    uint32_t n;
    const int64_t *ids = hlo_pb_ints(m, 38, &n);
    HloComputation **called = WBB_NEW_N(m->file->arena, HloComputation *, n + 1);
    const char **by = WBB_NEW_N(m->file->arena, const char *, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        /* the text has the condition of a loop first */
        const uint32_t from = i->opcode == HLO_WHILE && n == 2 ? 1 - k : k;
        called[k] = require_id(m, &w->computations, ids[from], "computation");
        by[k] = wbb_intern_z(m->file->cx, hlo_pb_called_by(i, k, n));
    }
    i->called = called;
    i->called_by = by;
    i->n_called = n;
}

typedef struct {
    HloPb message;
    HloInstruction *i;
} Line;

static void put_line(const Writer *w, const Line *line, bool root)
{
    wbb_put(w->out, root ? "  ROOT " : "  ");
    hlo_print_instruction(w->out, line->i);
    wbb_put(w->out, "\n");
}

/* In the order of the schedule, where there is one: it is the order of the text that XLA prints. */
static void put_computation(const Writer *w, const HloPb *m, bool entry)
{
    static const uint16_t known[] = {1, 2, 4, 5, 6, 7, 8, 0};
    hlo_pb_check_known(m, known, "a computation");
    struct { Line *items; uint32_t n, capacity; } lines = {0};
    WbbMap by_id = {.arena = m->file->arena}, lines_by_id = {.arena = m->file->arena};
    uint32_t at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, 2, &at));) {
        const HloPb message = hlo_pb_of(m, x);
        const Line line = {.message = message, .i = named_instruction(&message)};
        WBB_PUSH(m->file->arena, &lines, line);
        wbb_map_put(&by_id, (uint64_t)hlo_pb_int(&message, 35))->pointer = line.i;
        wbb_map_put(&lines_by_id, (uint64_t)hlo_pb_int(&message, 35))->value = lines.n;
    }
    if (by_id.n != lines.n) hlo_pb_fail(m->file, m->at, "two instructions of a computation have one id");
    const HloInstruction *root = require_id(m, &by_id, hlo_pb_int(m, 6), "root");
    for (uint32_t k = 0; k < lines.n; k++) {
        HloInstruction *i = lines.items[k].i;
        read_operands(&lines.items[k].message, i, &by_id);
        read_called(w, &lines.items[k].message, i);
        hlo_pb_read_instruction(&lines.items[k].message, i);
    }
    wbb_putf(w->out, "%s%%%s {\n", entry ? "ENTRY " : "", hlo_pb_name(m, 1, "the name of a computation"));
    const HloPbField *order = of_id(&w->schedules, hlo_pb_int(m, 5));
    uint32_t n = 0;
    const HloPb sequence = order ? hlo_pb_message(m->file, order->at, order->n) : (HloPb){.file = m->file, .at = m->at};
    const int64_t *ids = hlo_pb_ints(&sequence, 1, &n);
    if (order && n != lines.n)
        hlo_pb_fail(m->file, order->at, "a schedule has %u instructions, its computation %u", n, lines.n);
    for (uint32_t k = 0; k < lines.n; k++) {
        uint32_t line = k;
        if (order) {
            const WbbEntry *e = entry_of(&lines_by_id, ids[k]);
            if (!e) hlo_pb_fail(m->file, order->at, "a schedule of no instruction %lld", (long long)ids[k]);
            line = (uint32_t)e->value - 1;
        }
        put_line(w, &lines.items[line], lines.items[line].i == root);
    }
    wbb_put(w->out, "}");
    const char *thread = hlo_pb_text(m, 8);
    if (*thread && strcmp(thread, "main") != 0) {
        wbb_put(w->out, ", execution_thread=");
        hlo_pb_put_quoted(w->out, thread, strlen(thread));
    }
    wbb_put(w->out, "\n\n");
}

/* Entries of input_output_alias and of buffer_donor: { {0}: (1, {}, may-alias), .. } and { (1, {}), .. }. */
static void put_sharing(WbbBuf *out, const HloPb *m)
{
    uint32_t at = 0, n = 0;
    const HloPb aliases = hlo_pb_inner(m, 8), donors = hlo_pb_inner(m, 18);
    for (const HloPbField *x; (x = hlo_pb_next(&aliases, 1, &at)); n++) {
        const HloPb e = hlo_pb_of(&aliases, x);
        wbb_put(out, n ? ", " : ", input_output_alias={ ");
        hlo_pb_put_list(out, "{", &e, 1, "}", 0);
        wbb_putf(out, ": (%lld, ", (long long)hlo_pb_int(&e, 2));
        hlo_pb_put_list(out, "{", &e, 3, "}", 0);
        wbb_putf(out, ", %s)", hlo_pb_int(&e, 4) == 2 ? "must-alias" : "may-alias");
    }
    wbb_put(out, n ? " }" : "");
    at = n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(&donors, 1, &at)); n++) {
        const HloPb e = hlo_pb_of(&donors, x);
        wbb_putf(out, "%s(%lld, ", n ? ", " : ", buffer_donor={ ", (long long)hlo_pb_int(&e, 1));
        hlo_pb_put_list(out, "{", &e, 2, "})", 0);
    }
    wbb_put(out, n ? " }" : "");
}

static void put_header(WbbBuf *out, const HloPb *m)
{
    const HloPb shape = hlo_pb_inner(m, 4), devices = hlo_pb_inner(m, 15), frontend = hlo_pb_inner(m, 19);
    const char *name = hlo_pb_text(m, 1);
    wbb_put(out, "HloModule ");
    for (const char *p = name; *p; p++) wbb_put_n(out, (unsigned char)*p > ' ' && !strchr(",:{", *p) ? p : "_", 1);
    if (!*name) wbb_put(out, "module");
    if (hlo_pb_has(m, 7)) wbb_put(out, ", is_scheduled=true");
    put_sharing(out, m);
    if (hlo_pb_has(&shape, 2)) {
        wbb_put(out, ", entry_computation_layout={");
        hlo_pb_put_program_shape(out, &shape);
        wbb_put(out, "}");
    }
    if (hlo_pb_int(&devices, 1) > 1) wbb_putf(out, ", replica_count=%lld", (long long)hlo_pb_int(&devices, 1));
    if (hlo_pb_int(&devices, 2) > 1) wbb_putf(out, ", num_partitions=%lld", (long long)hlo_pb_int(&devices, 2));
    if (frontend.n) {
        wbb_put(out, ", frontend_attributes=");
        hlo_pb_put_frontend(out, &frontend);
    }
    wbb_put(out, "\n\n");
    const HloPb tables = hlo_pb_inner(m, 17);
    hlo_pb_put_tables(out, &tables);
}

/* Makes a computation of each id, since calls may come before what they call. */
static void name_computations(Writer *w, const HloPb *m)
{
    uint32_t at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, 3, &at));) {
        const HloPb c = hlo_pb_of(m, x);
        HloComputation *made = WBB_NEW(m->file->arena, HloComputation);
        made->name = hlo_pb_name(&c, 1, "the name of a computation");
        wbb_map_put(&w->computations, (uint64_t)hlo_pb_int(&c, 5))->pointer = made;
    }
    const HloPb schedule = hlo_pb_inner(m, 7);
    at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(&schedule, 1, &at));) {
        const HloPb e = hlo_pb_of(&schedule, x);
        const HloPbField *value = hlo_pb_field(&e, 2, PB_BYTES);
        HloPbField *kept = WBB_NEW(m->file->arena, HloPbField);
        if (value) *kept = *value;
        else kept->at = x->at;
        wbb_map_put(&w->schedules, (uint64_t)hlo_pb_int(&e, 1))->pointer = kept;
    }
}

static void put_module(WbbBuf *out, const HloPb *m)
{
    static const uint16_t known[] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 12, 13, 14,
                                     15, 16, 17, 18, 19, 20, 21, 22, 23, 0};
    hlo_pb_check_known(m, known, "a module");
    Writer w = {.file = m->file, .out = out, .computations.arena = m->file->arena, .schedules.arena = m->file->arena};
    put_header(out, m);
    name_computations(&w, m);
    const char *entry_name = hlo_pb_text(m, 2);
    const bool by_id = hlo_pb_has(m, 6);
    uint32_t at = 0, entries = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, 3, &at));) {
        const HloPb c = hlo_pb_of(m, x);
        const bool entry = by_id ? hlo_pb_int(&c, 5) == hlo_pb_int(m, 6) : !strcmp(hlo_pb_text(&c, 1), entry_name);
        entries += entry;
        put_computation(&w, &c, entry);
    }
    if (entries != 1) hlo_pb_fail(m->file, m->at, "%u computations are the entry", entries);
}

const char *hlo_text(WbbCx *cx, WbbArena *a, const char *file, const char *bytes, size_t *n)
{
    if (*n >= 2 && !memcmp(bytes, "\x1f\x8b", 2))
        wbb_fail(cx, (WbbLoc){.file = file}, "the file is compressed: `gunzip` it first");
    if (!hlo_is_proto(bytes, *n) && !is_named_proto(file)) return bytes;
    WbbArena *scratch = wbb_arena_new(cx); /* freed with the context if this fails */
    HloPbFile f = {.file = file, .start = (const uint8_t *)bytes, .cx = cx, .arena = scratch};
    HloPb m = hlo_pb_message(&f, f.start, *n);
    /* HloProto and snapshots have the module, or one another, as field 1; that of a module is its name */
    for (uint32_t k = 0; k < 3; k++) {
        const HloPbField *first = hlo_pb_field(&m, 1, PB_BYTES);
        if (hlo_pb_has(&m, 2) || !first || !first->n || first->at[0] != '\n') break;
        m = hlo_pb_of(&m, first);
    }
    if (!hlo_pb_has(&m, 3)) hlo_pb_fail(&f, f.start, "this is no module of XLA as a protocol buffer");
    WbbBuf out = wbb_buf(a);
    put_module(&out, &m);
    wbb_arena_free(scratch);
    *n = out.n;
    return out.text;
}

const char *hlo_read_file(WbbCx *cx, WbbArena *a, const char *file, size_t *n)
{
    const char *bytes = wbb_read_file(cx, a, file, n);
    return hlo_text(cx, a, file, bytes, n);
}

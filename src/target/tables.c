/* tables.c: reads the tables of the rules from a file, so that other rules need no other program.
 *
 * Needs a file that gen/gen_tables.py wrote; leaves the structs that it would have written as C, in an arena. The file
 * is for programs with the same fields, operations, types and words of programs: a checksum of their names says so, and
 * another one that the contents are whole. Numbers that index an array of the file or an enumeration are checked; the
 * words that the engine runs are taken as they are, so a file deserves the trust that a program does.
 *
 *     "warpburg tables\n"  version  checksum of the schema  of the contents  bytes   texts   TgTables
 *     a struct is its fields in the order of the lists below: numbers, low byte first; a text by its place among the
 *     texts; of an array its length and elements
 */
#include "target/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- fields ------------------------------------------------------------------------------------------------------- */

typedef enum { U8, U16, U32, U64, I64, BOOL, F32, F64, CHAR, TEXT, ARRAY, POINTER } Kind;
static const char *const kind_name[] = {"u8", "u16", "u32", "u64", "i64", "bool", "f32", "f64", "char", "text"};

typedef struct Struct Struct;
typedef struct {
    const char *name;
    Kind kind;
    size_t at, size;      /* of the field; of several numbers that of all */
    const Struct *of;     /* of an ARRAY the elements, of a POINTER what it points to */
    size_t n_at, n_size;  /* of an ARRAY: the field with its number; n_size 0: ENTRIES */
} Field;
struct Struct {
    const char *name;
    size_t size;
    const Field *fields;
    uint32_t n_fields;
};
enum { ENTRIES = RW_PHASE_COUNT * OP_COUNT, VERSION = 1, HEAD = 36 };

/* The kind of a number, or of the numbers of an array within the struct. */
#define KIND_OF(x)                                                                                                     \
    _Generic((x), uint8_t: U8, uint16_t: U16, uint32_t: U32, uint64_t: U64, int64_t: I64, bool: BOOL, float: F32,      \
             double: F64, char: CHAR, const char *: TEXT, float *: F32, char *: CHAR, const float *: F32)
#define MEMBER(T, m) (((T *)0)->m)
#define PLAIN(T, m) {#m, KIND_OF(MEMBER(T, m)), offsetof(T, m), sizeof MEMBER(T, m), NULL, 0, 0}
#define SEVERAL(T, m, T_of)                                                                                            \
    {#m, ARRAY, offsetof(T, m), sizeof(void *), &of_##T_of, offsetof(T, n_##m), sizeof MEMBER(T, n_##m)}
#define STRUCT(T) static const Struct of_##T = {#T, sizeof(T), T##_fields, (uint32_t)WBB_LEN(T##_fields)}
#define NUMBER(T, of_kind)                                                                                             \
    static const Field T##_fields[] = {{"", of_kind, 0, sizeof(T), NULL, 0, 0}};                                       \
    static const Struct of_##T = {NULL, sizeof(T), T##_fields, 1}

typedef const char *Text;
NUMBER(uint16_t, U16);
NUMBER(uint32_t, U32);
NUMBER(uint64_t, U64);
NUMBER(Text, TEXT);

static const Field RwStep_fields[] = {PLAIN(RwStep, file), PLAIN(RwStep, name), PLAIN(RwStep, line), PLAIN(RwStep, head)};
STRUCT(RwStep);
static const Field RwRule_fields[] = {
    PLAIN(RwRule, file), PLAIN(RwRule, line), PLAIN(RwRule, instance), PLAIN(RwRule, text), PLAIN(RwRule, phase),
    PLAIN(RwRule, names), PLAIN(RwRule, when), PLAIN(RwRule, ledger), SEVERAL(RwRule, made, uint16_t)};
STRUCT(RwRule);
static const Field RwText_fields[] = {
    PLAIN(RwText, to), PLAIN(RwText, from), PLAIN(RwText, word), PLAIN(RwText, pair), PLAIN(RwText, costly),
    PLAIN(RwText, constant), PLAIN(RwText, extend), PLAIN(RwText, clean), PLAIN(RwText, ptx)};
STRUCT(RwText);
static const Field RwInstr_fields[] = {
    PLAIN(RwInstr, kind), PLAIN(RwInstr, n_operands), PLAIN(RwInstr, rule), PLAIN(RwInstr, text),
    PLAIN(RwInstr, n_immediates), PLAIN(RwInstr, ptx), SEVERAL(RwInstr, texts, RwText)};
STRUCT(RwInstr);
static const Field RwPacked_fields[] = {PLAIN(RwPacked, op), PLAIN(RwPacked, type), PLAIN(RwPacked, from),
                                        PLAIN(RwPacked, lanes)};
STRUCT(RwPacked);
static const Field RwFree_fields[] = {PLAIN(RwFree, op), PLAIN(RwFree, modifier), PLAIN(RwFree, type)};
STRUCT(RwFree);
static const Field RwTables_fields[] = {
    PLAIN(RwTables, name), SEVERAL(RwTables, code, uint32_t), PLAIN(RwTables, n_build), PLAIN(RwTables, n_filter),
    SEVERAL(RwTables, imm, uint64_t), PLAIN(RwTables, n_rows),
    {"entry", ARRAY, offsetof(RwTables, entry), sizeof(void *), &of_uint32_t, 0, 0},
    PLAIN(RwTables, late),
    SEVERAL(RwTables, rules, RwRule), SEVERAL(RwTables, steps, RwStep), SEVERAL(RwTables, instrs, RwInstr),
    SEVERAL(RwTables, packed, RwPacked), SEVERAL(RwTables, free, RwFree)};
STRUCT(RwTables);
static const Field TgTune_fields[] = {PLAIN(TgTune, name), PLAIN(TgTune, bits), PLAIN(TgTune, value),
                                      PLAIN(TgTune, because), PLAIN(TgTune, file), PLAIN(TgTune, line),
                                      PLAIN(TgTune, optional), PLAIN(TgTune, off)};
STRUCT(TgTune);
static const Field TgStrategy_fields[] = {
    PLAIN(TgStrategy, name), PLAIN(TgStrategy, at), PLAIN(TgStrategy, taken), PLAIN(TgStrategy, rival),
    PLAIN(TgStrategy, save), PLAIN(TgStrategy, full_rates), PLAIN(TgStrategy, fewer), PLAIN(TgStrategy, launches),
    PLAIN(TgStrategy, first), PLAIN(TgStrategy, parts), PLAIN(TgStrategy, tested), PLAIN(TgStrategy, needed),
    PLAIN(TgStrategy, because), PLAIN(TgStrategy, file), PLAIN(TgStrategy, line), PLAIN(TgStrategy, off)};
STRUCT(TgStrategy);
static const Field TgRate_fields[] = {PLAIN(TgRate, name), PLAIN(TgRate, unit), PLAIN(TgRate, value),
                                      PLAIN(TgRate, low), PLAIN(TgRate, high), PLAIN(TgRate, source),
                                      PLAIN(TgRate, stated)};
STRUCT(TgRate);
static const Field TgPrice_fields[] = {PLAIN(TgPrice, issue), PLAIN(TgPrice, cycles), PLAIN(TgPrice, low),
                                       PLAIN(TgPrice, high), PLAIN(TgPrice, latency), PLAIN(TgPrice, off)};
STRUCT(TgPrice);
static const Field TgSassPrice_fields[] = {PLAIN(TgSassPrice, operation), PLAIN(TgSassPrice, class),
                                           PLAIN(TgSassPrice, cycles)};
STRUCT(TgSassPrice);
static const Field TgLowering_fields[] = {PLAIN(TgLowering, op), PLAIN(TgLowering, type), PLAIN(TgLowering, approx),
                                          PLAIN(TgLowering, rule), PLAIN(TgLowering, sass), PLAIN(TgLowering, ulp),
                                          PLAIN(TgLowering, noise)};
STRUCT(TgLowering);
static const Field TgTarget_fields[] = {
    PLAIN(TgTarget, name), PLAIN(TgTarget, ptx), PLAIN(TgTarget, warp), PLAIN(TgTarget, sms), PLAIN(TgTarget, smem),
    PLAIN(TgTarget, regs), PLAIN(TgTarget, vector_bytes), PLAIN(TgTarget, board), PLAIN(TgTarget, features),
    PLAIN(TgTarget, warps), PLAIN(TgTarget, blocks), PLAIN(TgTarget, sm_smem), PLAIN(TgTarget, sm_regs),
    {"tables", POINTER, offsetof(TgTarget, tables), sizeof(void *), &of_RwTables, 0, 0},
    SEVERAL(TgTarget, tunes, TgTune), SEVERAL(TgTarget, strategies, TgStrategy),
    SEVERAL(TgTarget, rates, TgRate), SEVERAL(TgTarget, prices, TgPrice),
    SEVERAL(TgTarget, price_of, uint16_t), SEVERAL(TgTarget, forms, Text),
    SEVERAL(TgTarget, sass_prices, TgSassPrice), SEVERAL(TgTarget, lowerings, TgLowering)};
STRUCT(TgTarget);

/* As the file has it: the targets themselves. */
typedef struct {
    const RwTables *index;
    const TgTarget *targets;
    uint32_t n_targets;
} Contents;
static const Field Contents_fields[] = {{"index", POINTER, offsetof(Contents, index), sizeof(void *), &of_RwTables, 0, 0},
                                        SEVERAL(Contents, targets, TgTarget)};
static const Struct of_Contents = {"TgTables", sizeof(Contents), Contents_fields, (uint32_t)WBB_LEN(Contents_fields)};

static const Struct *const structs[] = {&of_RwStep, &of_RwRule, &of_RwText, &of_RwInstr, &of_RwPacked, &of_RwFree,
                                        &of_RwTables, &of_TgTune, &of_TgStrategy, &of_TgRate, &of_TgPrice,
                                        &of_TgSassPrice, &of_TgLowering, &of_TgTarget, &of_Contents};

/* --- schema ------------------------------------------------------------------------------------------------------- */

static size_t bytes_of(Kind kind)
{
    static const size_t bytes[] = {1, 2, 4, 8, 8, 1, 4, 8, 1, 4};
    return bytes[kind];
}

/* Numbers of a field: those of an array within the struct. */
static size_t count_of(const Field *f) { return f->kind == TEXT ? 1 : f->size / bytes_of(f->kind); }

static const char *name_of(const Struct *s) { return s->name ? s->name : kind_name[s->fields->kind]; }

static void put_field(WbbBuf *b, const Struct *s, const Field *f)
{
    wbb_putf(b, "%s %s ", s->name, f->name);
    if (f->kind == POINTER) wbb_putf(b, "=%s\n", name_of(f->of));
    else if (f->kind == ARRAY) wbb_putf(b, f->n_size ? "[%s]\n" : "entry\n", name_of(f->of));
    else if (count_of(f) > 1) wbb_putf(b, "%s*%zu\n", kind_name[f->kind], count_of(f));
    else wbb_putf(b, "%s\n", kind_name[f->kind]);
}

/* schema() of gen/structs.py. */
static const char *schema(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (size_t i = 0; i < WBB_LEN(structs); i++)
        for (uint32_t k = 0; k < structs[i]->n_fields; k++) put_field(&b, structs[i], &structs[i]->fields[k]);
    for (uint32_t i = 0; i < OP_COUNT; i++) wbb_putf(&b, "%s\n", sc_op_info[i].name);
    for (uint32_t i = 0; i < SC_TYPE_COUNT; i++) wbb_putf(&b, "%s\n", sc_type_info[i].name);
#define WORD(x) wbb_put(&b, #x "\n");
#define GUARD(x) wbb_put(&b, #x "\n");
#include "code.def"
#undef WORD
#undef GUARD
    return b.text;
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* CRC-32 of zlib and gzip, which Python has, eight bytes at a time: of[k][i] is that of the byte i before k zeros. A
 * file of two megabytes takes a millisecond, of each start of a compiler with tables. */
static uint32_t checksum(const uint8_t *p, size_t n)
{
    uint32_t of[8][256], c = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i;
        for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
        of[0][i] = x;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) of[k][i] = of[0][of[k - 1][i] & 0xff] ^ of[k - 1][i] >> 8;
    for (; n >= 8; p += 8, n -= 8) {
        const uint32_t x = c ^ word(p), y = word(p + 4);
        c = of[7][x & 0xff] ^ of[6][x >> 8 & 0xff] ^ of[5][x >> 16 & 0xff] ^ of[4][x >> 24] ^ of[3][y & 0xff] ^
            of[2][y >> 8 & 0xff] ^ of[1][y >> 16 & 0xff] ^ of[0][y >> 24];
    }
    for (size_t i = 0; i < n; i++) c = of[0][(c ^ p[i]) & 0xff] ^ c >> 8;
    return ~c;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const char *path;
    const uint8_t *at, *end;
    const char *texts;
    uint64_t n_texts;
} Reader;

static void fail(const Reader *r, const char *why)
{
    wbb_fail(r->cx, (WbbLoc){.file = r->path}, "these are no tables for this program: %s", why);
}

static uint64_t number(Reader *r, size_t bytes)
{
    uint64_t x = 0;
    if ((size_t)(r->end - r->at) < bytes) fail(r, "they end early");
    for (size_t i = 0; i < bytes; i++) x |= (uint64_t)r->at[i] << 8 * i;
    r->at += bytes;
    return x;
}

static void store(uint8_t *to, uint64_t x, size_t size)
{
    const uint8_t u8 = (uint8_t)x;
    const uint16_t u16 = (uint16_t)x;
    const uint32_t u32 = (uint32_t)x;
    const void *const from[] = {[1] = &u8, [2] = &u16, [4] = &u32, [8] = &x};
    memcpy(to, from[size], size);
}

static void read_number(Reader *r, Kind kind, uint8_t *to)
{
    const uint64_t x = number(r, bytes_of(kind));
    if (kind == TEXT) {
        if (x >= r->n_texts) fail(r, "a text lies beyond the texts");
        const char *text = r->texts + x;
        memcpy(to, &text, sizeof text);
    } else if (kind == BOOL && x > 1) fail(r, "a bool is neither 0 nor 1");
    else store(to, x, bytes_of(kind));
}

/* The fewest bytes that it has in a file. */
static size_t least(const Struct *s)
{
    size_t n = 0;
    for (const Field *f = s->fields; f < s->fields + s->n_fields; f++)
        n += f->kind == ARRAY ? 4 : f->kind == POINTER ? least(f->of) : count_of(f) * bytes_of(f->kind);
    return n;
}

static void read_struct(Reader *r, const Struct *s, uint8_t *to);

/* Words of programs are nearly all of a file. `n` are there. */
static void read_words(Reader *r, uint32_t *to, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) to[i] = word(r->at + 4 * i);
    r->at += 4 * n;
}

/* Recursion as deep as structs nest in the lists above. */
static void read_array(Reader *r, const Field *f, uint8_t *to)
{
    const uint64_t n = number(r, 4);
    if (n > (uint64_t)(r->end - r->at) / least(f->of)) fail(r, "an array is longer than the rest");
    if (!f->n_size && n != ENTRIES) fail(r, "the operations are others");
    if (f->n_size && f->n_size < 4 && n >> 8 * f->n_size) fail(r, "an array is too long");
    uint8_t *items = wbb_alloc(r->a, (size_t)(n ? n : 1) * f->of->size);
    if (f->of == &of_uint32_t) read_words(r, (uint32_t *)(void *)items, n);
    else
        for (uint64_t i = 0; i < n; i++) read_struct(r, f->of, items + i * f->of->size);
    const void *array = n ? items : NULL;
    memcpy(to + f->at, &array, sizeof array);
    if (f->n_size) store(to + f->n_at, n, f->n_size);
}

static void read_struct(Reader *r, const Struct *s, uint8_t *to)
{
    for (const Field *f = s->fields; f < s->fields + s->n_fields; f++) {
        if (f->kind == ARRAY) read_array(r, f, to);
        else if (f->kind == POINTER) {
            uint8_t *made = wbb_alloc(r->a, f->of->size);
            read_struct(r, f->of, made);
            const void *pointer = made;
            memcpy(to + f->at, &pointer, sizeof pointer);
        } else
            for (size_t i = 0, n = count_of(f); i < n; i++)
                read_number(r, f->kind, to + f->at + i * bytes_of(f->kind));
    }
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static void check_engine(const Reader *r, const RwTables *t)
{
    bool good = t->n_code > 0 && t->n_imm > 0;
    const uint32_t *entry = t->entry ? t->entry[0] : NULL;
    for (uint32_t i = 0; good && i < ENTRIES; i++) good = entry[i] < t->n_code;
    for (uint32_t i = 0; good && i < t->n_rules; i++) {
        good = t->rules[i].phase < RW_PHASE_COUNT;
        for (uint32_t k = 0; good && k < t->rules[i].n_made; k++) good = t->rules[i].made[k] <= t->n_steps;
    }
    for (uint32_t i = 0; good && i < t->n_instrs; i++) {
        const RwInstr *x = &t->instrs[i];
        good = x->kind <= RW_LOOKUP && x->rule < t->n_rules && x->n_immediates <= 3;
        for (uint32_t k = 0; good && k < x->n_texts; k++)
            good = x->texts[k].to < SC_TYPE_COUNT && x->texts[k].from < SC_TYPE_COUNT;
    }
    for (uint32_t i = 0; good && i < t->n_packed; i++)
        good = t->packed[i].op < OP_COUNT && t->packed[i].type < SC_TYPE_COUNT && t->packed[i].from < SC_TYPE_COUNT;
    for (uint32_t i = 0; good && i < t->n_free; i++)
        good = t->free[i].op < OP_COUNT && t->free[i].modifier < OP_COUNT && t->free[i].type < SC_TYPE_COUNT;
    if (!good) fail(r, "a number lies beyond what it counts");
}

static void check_target(const Reader *r, const TgTarget *t)
{
    bool good = t->n_price_of == t->n_forms && t->warp > 0;
    for (uint32_t i = 0; good && i < t->n_strategies; i++) {
        const TgStrategy *s = &t->strategies[i]; /* those of a fusion are bits of TgStrategy.first */
        good = s->at <= TG_AT_EDGE && s->taken <= TG_TESTED && (s->at != TG_AT_FUSION || i < 8 * sizeof s->first);
    }
    check_engine(r, t->tables);
    for (uint32_t i = 0; good && i < t->n_price_of; i++) good = t->price_of[i] <= t->n_prices;
    for (uint32_t i = 0; good && i < t->n_sass_prices; i++) good = t->sass_prices[i].class < TG_CLASSES;
    for (uint32_t i = 0; good && i < t->n_lowerings; i++) {
        const TgLowering *x = &t->lowerings[i];
        good = x->op < OP_COUNT && x->type < SC_TYPE_COUNT && x->rule < t->tables->n_rules;
    }
    if (!good) fail(r, "a number lies beyond what it counts");
}

const TgTables *tg_read_tables(WbbCx *cx, WbbArena *a, const char *path)
{
    static const char magic[] = "warpburg tables\n";
    size_t n;
    const char *bytes = wbb_read_file(cx, a, path, &n), *fields = schema(a);
    Reader r = {.cx = cx, .a = a, .path = path, .at = (const uint8_t *)bytes, .end = (const uint8_t *)bytes + n};
    if (n < HEAD || memcmp(bytes, magic, strlen(magic))) fail(&r, "they begin otherwise");
    r.at += strlen(magic);
    if (number(&r, 4) != VERSION) fail(&r, "they are of another version");
    if (number(&r, 4) != checksum((const uint8_t *)fields, strlen(fields)))
        fail(&r, "they were made by another gen/, with other operations or fields: build again");
    const uint32_t sum = (uint32_t)number(&r, 4);
    if (number(&r, 8) != (uint64_t)(r.end - r.at) || sum != checksum(r.at, (size_t)(r.end - r.at)))
        fail(&r, "they are damaged");
    r.n_texts = number(&r, 4);
    r.texts = (const char *)r.at;
    if (r.n_texts > (uint64_t)(r.end - r.at) || r.n_texts == 0 || r.texts[r.n_texts - 1]) fail(&r, "a text has no end");
    r.at += r.n_texts;
    Contents c = {0};
    read_struct(&r, &of_Contents, (uint8_t *)&c);
    if (r.at != r.end || c.n_targets == 0) fail(&r, "they end late");
    check_engine(&r, c.index);
    const TgTarget **all = WBB_NEW_N(a, const TgTarget *, c.n_targets);
    for (uint32_t i = 0; i < c.n_targets; i++) {
        all[i] = &c.targets[i];
        check_target(&r, all[i]);
    }
    TgTables *made = WBB_NEW(a, TgTables);
    const char *name = wbb_format(a, "%08" PRIx32 " %zu", sum, n);
    *made = (TgTables){.index = c.index, .targets = all, .n_targets = c.n_targets, .name = name};
    return made;
}

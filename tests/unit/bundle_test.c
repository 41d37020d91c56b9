/* bundle: a bundle is read back as written, bad descriptors are refused at their place, data keeps its order and
 * bits. */
#include "bundle/bundle.h"

#include "unit.h"

static const int args[] = {0, 1, 0}, last_args[] = {2, 3, 1}, operand[] = {0};

/* bf16[3,4] and s4[5] in, s8[24] out, a ticket; two launches. */
static Bundle *sample(WbbArena *a)
{
    const BdBuffer buffers[] = {
        {.role = BD_IN, .type = "bf16", .rank = 2, .dims = {3, 4}, .minor_to_major = {0, 1}, .bits = 16, .bytes = 24,
         .align = 16, .copy_of = -1},
        {.role = BD_TEMP, .bytes = 8, .align = 4, .init = BD_INIT_TICKET, .copy_of = -1},
        {.role = BD_OUT, .type = "s8", .rank = 1, .dims = {24}, .bits = 8, .bytes = 24, .align = 16,
         .init = BD_INIT_COPY, .copy_of = 0, .may_alias = operand, .n_may_alias = 1, .writes = BD_SOME},
        {.role = BD_OUT, .arg = 1, .type = "s4", .rank = 1, .dims = {5}, .bits = 4, .bytes = 3, .align = 16,
         .copy_of = -1}};
    const BdLaunch launches[] = {{.entry = "k\"1", .grid = {8, 1, 2}, .block = {128, 2, 1}, .cluster = {4, 1, 1},
                                  .shared = 65536, .n_args = 3, .args = args},
                                 {.entry = "last", .grid = {7, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1},
                                  .n_args = 3, .args = last_args}};
    Bundle *b = WBB_NEW(a, Bundle);
    *b = (Bundle){.compiler = "warpburg test", .target = "sm_90", .hash = "00ff", .n_buffers = WBB_LEN(buffers),
                  .buffers = WBB_NEW_N(a, BdBuffer, WBB_LEN(buffers)), .n_launches = WBB_LEN(launches),
                  .launches = WBB_NEW_N(a, BdLaunch, WBB_LEN(launches)), .ptx = ".version 8.8\n",
                  .hlo = "HloModule m\n", .cubin = "\0\1\2", .cubin_bytes = 3};
    memcpy(b->buffers, buffers, sizeof buffers);
    memcpy(b->launches, launches, sizeof launches);
    return b;
}

static void round_trip(WbbCx *cx, void *arg)
{
    const Bundle *b = sample(cx->arena);
    const char *dir = arg;
    bd_write(cx, b, dir);
    Bundle *back = bd_read(cx, cx->arena, dir);
    assert_string_equal(bd_kernel_json(cx->arena, b), bd_kernel_json(cx->arena, back));
    assert_string_equal(back->ptx, b->ptx);
    assert_string_equal(back->hlo, b->hlo);
    assert_int_equal(back->cubin_bytes, 3);
    assert_memory_equal(back->cubin, b->cubin, 3);
    assert_int_equal(back->launches[0].args[1], 1);
    assert_int_equal(back->launches[0].shared, 65536);
    assert_int_equal(back->launches[0].cluster[0], 4);
    assert_string_equal(back->launches[1].entry, "last");
    assert_int_equal(back->buffers[0].minor_to_major[1], 1);
    assert_int_equal(back->buffers[1].init, BD_INIT_TICKET);
    assert_int_equal(back->buffers[2].copy_of, 0);
    assert_int_equal(back->buffers[2].n_may_alias, 1);
    assert_int_equal(back->buffers[2].may_alias[0], 0);
    assert_int_equal(back->buffers[3].copy_of, -1);
}

static void test_round_trip(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    char *dir = wbb_temp_dir(cx, cx->arena);
    assert_int_equal(wbb_guard(cx, round_trip, dir), WBB_OK);
    wbb_remove_dir(dir);
    wbb_cx_free(cx);
}

static void parse(WbbCx *cx, void *arg) { bd_parse(cx, cx->arena, "kernel.json", arg); }

/* Replaces a part of a good descriptor; reading it must fail with this message, at the line and column of `where`: a
 * part of the new text, or of the rest of its line. */
static void refuse_in(const char *good, const char *from, const char *to, const char *where, const char *message)
{
    WbbCx *cx = wbb_cx_new();
    const char *at = strstr(good, from);
    if (!at) fail_msg("'%s' is not in\n%s", from, good);
    char *bad = wbb_format(cx->arena, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    const char *place = strstr(bad + (at - good), where);
    assert_non_null(place);
    int line = 1, column = 1;
    for (const char *c = bad; c < place; c++) *c == '\n' ? (line++, column = 1) : column++;
    stop(cx, parse, bad, WBB_FAILED, wbb_format(cx->arena, "kernel.json:%d:%d: error: %s", line, column, message));
    wbb_cx_free(cx);
}

static char *good_json(WbbArena *a) { return bd_kernel_json(a, sample(a)); }

static const struct {
    const char *from, *to, *where, *message;
} refused[] = {
    {"\"version\": 2", "\"version\": 3", "3", "3 is not between 1 and 2"},
    {"\"version\": 2", "\"version\": 2, \"extra\": 1", "1", "\"extra\" is no member of a bundle; they are: version"},
    {"\"compiler\": \"warpburg test\"", "\"compiler\": 5", "5", "\"compiler\" must be a string"},
    {"\"sm_90\"", "\"../x\"", "\"../x", "\"../x\" is not the name of a target"},
    {"\"sm_90\"", "\"mi300\"", "\"mi300", "\"mi300\" is not the name of a target"},
    {"\"hash\": \"00ff\",", "", NULL, "member \"hash\" is missing"},
    {"\"role\": \"in\"", "\"role\": \"inn\"", "\"inn", "\"role\" is \"inn\", and must be one of: in out temp"},
    {"\"role\": \"in\", ", "\"role\": \"in\", \"init\": \"none\", ", "\"none",
     "\"init\" is no member of a buffer of this role"},
    {"\"arg\": 1", "\"arg\": 2", "2", "\"arg\" is 2, but this is output 1"},
    {"\"s4\"", "\"s5\"", "\"s5", "unknown type \"s5\""},
    {"\"dims\": [5]", "\"dims\": [1e3]", "1e3", "expected a whole number"},
    {"\"minor_to_major\": [0, 1]", "\"minor_to_major\": [1, 1]", "1]", "dimension 1 occurs twice"},
    {"\"bits\": 16", "\"bits\": 8", "8", "8 is not between 16 and 16"},
    {"\"bytes\": 24", "\"bytes\": 25", "25", "\"bytes\" is 25, but the shape takes 24"},
    {"\"bytes\": 8", "\"bytes\": -8", "-8", "-8 is not between 0"},
    {"\"align\": 4", "\"align\": 12", "12", "an alignment must be a power of two"},
    {"\"init\": \"ticket\"", "\"init\": \"copy\"", "\"copy",
     "\"init\" is \"copy\", and must be one of: none zero ticket"},
    {"\"init\": \"copy\"", "\"init\": \"ticket\"", "\"ticket",
     "\"init\" is \"ticket\", and must be one of: none zero copy"},
    {"\"init\": \"copy\"", "\"init\": \"none\"", "0,", "\"copy_of\" needs \"init\": \"copy\""},
    {"\"copy_of\": 0", "\"copy_of\": 1", "1,", "buffer 1 is not in \"may_alias\""},
    {"\"may_alias\": [0]", "\"may_alias\": [0, 1]", "[", "buffer 1 is no operand"},
    {"\"may_alias\": [0]", "\"may_alias\": [0, 0]", "[", "buffer 0 occurs twice"},
    {"\"may_alias\": []", "\"may_alias\": [0]", "[", "buffer 0 has 24 bytes, the output has 3"},
    {"\"init\": \"copy\", \"copy_of\": 0", "\"init\": \"zero\"", "[0]",
     "an output that begins with zeros has memory of its own"},
    {"\"may_alias\": []", "\"may_alias\": [4]", "4", "4 is not between 0 and 3"},
    {"\"writes\": \"some\"", "\"writes\": \"twice\"", "\"twice",
     "\"writes\" is \"twice\", and must be one of: once some"},
    {"\"entry\": \"last\"", "\"entry\": null", "null", "\"entry\" must be a string"},
    {"\"grid\": [8, 1, 2]", "\"grid\": [8, 1, 65536]", "65536", "65536 is not between 1 and 65535"},
    {"\"grid\": [8, 1, 2]", "\"grid\": [9, 1, 2]", "[4", "the grid is no multiple of the cluster in x"},
    {"\"block\": [128, 2, 1]", "\"block\": [1024, 2, 1]", "[1024", "more than 1024 threads a block"},
    {"\"block\": [128, 2, 1]", "\"block\": [1, 1, 128]", "128", "128 is not between 1 and 64"},
    {"\"cluster\": [4, 1, 1]", "\"cluster\": [8, 1, 4]", "[8", "more than 16 blocks a cluster"},
    {"\"sm_90\"", "\"sm_80\"", "[4, 1, 1]", "sm_80 has no clusters"},
    {"\"shared\": 65536", "\"shared\": 232449", "232449",
     "232449 bytes of shared memory, sm_90 has 232448 for a block"},
    {"\"args\": [0, 1, 0]", "\"args\": [0, 4, 0]", "4", "4 is not between 0 and 3"},
    {"\"args\": [2, 3, 1]", "\"args\": [2, 2, 1]", NULL, "buffer 3 is an argument of no launch"},
    {"\"}\n", "\"", NULL, "expected '}', found the end of the text"},
    {"\"align\": 4", "\"align\": 4, \"align\": 4", "\"align\": 4, \"init", "member \"align\" occurs twice"},
};

static void test_refused(void **state)
{
    WbbCx *cx = *state;
    for (size_t i = 0; i < WBB_LEN(refused); i++) {
        const char *where = refused[i].where;
        if (where) {
            refuse_in(good_json(cx->arena), refused[i].from, refused[i].to, where, refused[i].message);
            continue;
        }
        const char *good = good_json(cx->arena), *at = strstr(good, refused[i].from);
        assert_non_null(at);
        const char *rest = at + strlen(refused[i].from);
        char *bad = wbb_format(cx->arena, "%.*s%s%s", (int)(at - good), good, refused[i].to, rest);
        stop(cx, parse, bad, WBB_FAILED, refused[i].message);
    }
}

/* Version 1: one alias a buffer, temporaries with elements, members that nothing reads. */
static const char old[] =
    "{\"version\": 1, \"compiler\": \"c\", \"target\": \"sm_90\", \"hash\": \"\", \"more\": 1, \"buffers\": [\n"
    "{\"role\": \"in\", \"arg\": 0, \"type\": \"f32\", \"dims\": [2], \"minor_to_major\": [0], \"bits\": 32, "
    "\"bytes\": 8, \"align\": 16,"
    " \"alias\": null, \"init\": \"none\", \"writes\": \"once\"},\n"
    "{\"role\": \"out\", \"arg\": 0, \"type\": \"f32\", \"dims\": [2], \"minor_to_major\": [0], \"bits\": 32, "
    "\"bytes\": 8, \"align\": 16,"
    " \"alias\": 0, \"init\": \"copy\", \"writes\": \"some\"},\n"
    "{\"role\": \"temp\", \"arg\": 0, \"type\": \"u8\", \"dims\": [4], \"minor_to_major\": [0], \"bits\": 8, "
    "\"bytes\": 4, \"align\": 16,"
    " \"alias\": null, \"init\": \"zero\", \"writes\": \"atomic\"}],\n"
    "\"launches\": [{\"entry\": \"k\", \"grid\": [1, 1, 1], \"block\": [1, 1, 1], \"cluster\": [1, 1, 1], "
    "\"shared\": 0, \"args\": [0, 1, 2]}]}\n";

static void parse_old(WbbCx *cx, void *arg)
{
    *(const Bundle **)arg = bd_parse(cx, cx->arena, "kernel.json", old);
}

static void test_version_1(void **state)
{
    const Bundle *b;
    succeed(*state, parse_old, &b);
    assert_int_equal(b->buffers[1].copy_of, 0);
    assert_int_equal(b->buffers[1].may_alias[0], 0);
    assert_int_equal(b->buffers[2].role, BD_TEMP);
    assert_int_equal(b->buffers[2].init, BD_INIT_ZERO);
    assert_int_equal(b->launches[0].n_args, 3);
    refuse_in(old, "\"alias\": 0", "\"alias\": 2", "2", "buffer 2 is no operand");
    refuse_in(old, "\"init\": \"zero\"", "\"init\": \"ticket\"", "\"ticket",
              "\"init\" is \"ticket\", and must be one of: none zero copy");
    refuse_in(old, "\"alias\": 0", "\"alias\": null", "\"copy", "\"copy\" needs an output, and an alias to copy from");
}

static void test_json(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    BdJson *v = bd_json_parse(cx, cx->arena, "x",
                              "{\"a\\u00e9\\ud83d\\ude00\": [1, -9223372036854775808, 9223372036854775808, true]}");
    const BdJson *list = bd_json_get(v, "a\xc3\xa9\xf0\x9f\x98\x80");
    assert_non_null(list);
    assert_int_equal(list->n, 4);
    int64_t n = 0;
    assert_true(bd_json_int(list->items->next, &n));
    assert_true(n == INT64_MIN);
    assert_false(bd_json_int(list->items->next->next, &n));
    char deep[400];
    memset(deep, '[', sizeof deep);
    deep[399] = 0;
    assert_int_equal(wbb_guard(cx, parse, deep), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "nest more than 64"));
    wbb_cx_free(cx);
}

static void test_layout(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    BdBuffer b = {.type = "u16", .rank = 2, .dims = {2, 3}, .minor_to_major = {0, 1}, .bits = 16, .bytes = 12};
    const uint16_t logical[] = {0, 1, 2, 10, 11, 12}, expected[] = {0, 10, 1, 11, 2, 12};
    uint16_t physical[6], back[6];
    bd_to_physical(cx, &b, logical, physical);
    assert_memory_equal(physical, expected, sizeof expected);
    bd_to_logical(cx, &b, physical, back);
    assert_memory_equal(back, logical, sizeof logical);

    BdBuffer s4 = {.type = "s4", .rank = 1, .dims = {5}, .minor_to_major = {0}, .bits = 4, .bytes = 3};
    const int8_t values[] = {-8, 7, -1, 0, 3};
    int8_t again[5];
    uint8_t packed[3];
    bd_to_physical(cx, &s4, values, packed);
    assert_int_equal(packed[0], 0x78);
    assert_int_equal(packed[1], 0x0f);
    assert_int_equal(packed[2], 0x03);
    bd_to_logical(cx, &s4, packed, again);
    assert_memory_equal(again, values, 5);
    wbb_cx_free(cx);
}

typedef struct {
    const char *path, *type;
    int64_t dims[2];
    int rank;
    const void *data;
} Npy;

static void read_npy(WbbCx *cx, void *arg)
{
    Npy *n = arg;
    size_t bytes = 0;
    n->data = bd_read_npy(cx, cx->arena, n->path, n->type, n->dims, n->rank, &bytes);
    assert_int_equal(bytes, 12);
}

static void rename_type(WbbCx *cx, const char *path, const char *from, const char *to)
{
    size_t n;
    char *file = wbb_read_file(cx, cx->arena, path, &n), *at = file + 10;
    while (strncmp(at, from, strlen(from))) at++;
    memcpy(at, to, strlen(to));
    wbb_write_file(cx, path, file, n);
}

/* Integers of ml_dtypes have their bits alone in their byte. */
static void test_npy_of_ml_dtypes(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    char *dir = wbb_temp_dir(cx, cx->arena);
    Npy n = {.path = wbb_format(cx->arena, "%s/a.npy", dir), .type = "s4", .dims = {3, 4}, .rank = 2};
    const uint8_t data[12] = {0, 1, 7, 8, 15}, held[12] = {0, 1, 7, 0xf8, 0xff};
    bd_write_npy(cx, n.path, "s4", n.dims, 2, data);
    rename_type(cx, n.path, "|i1", "<V1");
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_OK);
    assert_memory_equal(n.data, held, sizeof held);
    wbb_remove_dir(dir);
    wbb_cx_free(cx);
}

static void test_npy(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    char *dir = wbb_temp_dir(cx, cx->arena);
    Npy n = {.path = wbb_format(cx->arena, "%s/a.npy", dir), .type = "bf16", .dims = {2, 3}, .rank = 2};
    const uint16_t data[] = {1, 2, 3, 4, 5, 6};
    bd_write_npy(cx, n.path, "bf16", n.dims, 2, data);
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_OK);
    assert_memory_equal(n.data, data, sizeof data);
    rename_type(cx, n.path, "<u2", "<V2"); /* as np.save writes an array of ml_dtypes.bfloat16 */
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_OK);
    assert_memory_equal(n.data, data, sizeof data);
    n.type = "s16";
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_FAILED);
    rename_type(cx, n.path, "<V2", "<u2");
    n.type = "f16";
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "element type '<u2', expected '<f2' for f16"));
    n.type = "bf16", n.dims[1] = 4;
    assert_int_equal(wbb_guard(cx, read_npy, &n), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "shape (2, 3), expected (2, 4)"));
    wbb_remove_dir(dir);
    wbb_cx_free(cx);
}

static void test_inputs(void **state)
{
    (void)state;
    /* mix(0) is 0, so the first value is 0.5 times -1 times the first scale. */
    float x[64];
    double y[64];
    bd_make_input(0, 0, "f32", 64, 'n', NULL, x);
    bd_make_input(0, 0, "f64", 64, 'n', NULL, y);
    assert_true(x[0] == -0.5f);
    for (int i = 0; i < 64; i++) assert_true(x[i] == (float)y[i]);
    uint8_t s4[64];
    bd_make_input(1, 2, "s4", 64, 'e', NULL, s4);
    for (int i = 0; i < 64; i++) assert_true(s4[i] < 8 || s4[i] >= 0xf8);
    int32_t ranged[64];
    const BdIndices two = {(int64_t[]){4, 99}, 2, 1};
    bd_make_input(3, 1, "s32", 64, 'p', &two, ranged);
    for (int i = 0; i < 64; i++) assert_in_range(ranged[i] + 2, 0, 11);
    int32_t wide[4800];
    int seen[2][100] = {{0}}, inside = 0, equal = 0;
    bd_make_input(3, 1, "s32", 4800, 'w', &two, wide);
    for (int i = 0; i < 4800; i++) {
        const int last = (int)two.last[i % 2];
        if (wide[i] >= 0 && wide[i] <= last) seen[i % 2][wide[i]]++, inside++;
        if (i % 192 < 36) equal += wide[i] == wide[i + 12];
    }
    for (int i = 0; i < 5; i++) assert_true(seen[0][i] > 100);
    for (int i = 0; i < 100; i++) assert_true(seen[1][i] > 5);
    assert_true(inside > 4400 && inside < 4650);
    assert_int_equal(equal, 4800 / 192 * 36);
    float tiny[64];
    bd_make_input(3, 1, "f32", 64, 'u', NULL, tiny);
    for (int i = 0; i < 64; i++) assert_true(tiny[i] < 0x1p-126f && tiny[i] > -0x1p-126f);
    int64_t at[8];
    assert_int_equal(bd_sample_positions(5, 8, at), 5);
    assert_int_equal(at[4], 4);
    assert_int_equal(bd_sample_positions(1000, 8, at), 8);
    assert_int_equal(at[0], (int64_t)(UINT64_C(0x5692161d100b05e5) % 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), TEST(test_refused), TEST(test_version_1), cmocka_unit_test(test_json),
        cmocka_unit_test(test_layout),     cmocka_unit_test(test_npy),     cmocka_unit_test(test_npy_of_ml_dtypes),
        cmocka_unit_test(test_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

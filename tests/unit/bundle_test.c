/* bundle: a bundle is read back as written, bad descriptors are refused at their place, data keeps its order and
 * bits. */
#include "bundle/bundle.h"

#include "unit.h"

static const int args[] = {0, 1, 0};

static Bundle sample(BdBuffer buffers[2], BdLaunch *launch)
{
    buffers[0] = (BdBuffer){.role = BD_IN,
                            .type = "bf16",
                            .rank = 2,
                            .dims = {3, 4},
                            .minor_to_major = {0, 1},
                            .bits = 16,
                            .bytes = 24,
                            .align = 16,
                            .alias = -1};
    buffers[1] = (BdBuffer){.role = BD_OUT,
                            .type = "s4",
                            .rank = 1,
                            .dims = {5},
                            .minor_to_major = {0},
                            .bits = 4,
                            .bytes = 3,
                            .align = 16,
                            .alias = -1,
                            .init = BD_INIT_ZERO,
                            .writes = BD_SOME};
    *launch = (BdLaunch){.entry = "k\"1",
                         .grid = {7, 1, 1},
                         .block = {128, 2, 1},
                         .cluster = {1, 1, 1},
                         .shared = 64,
                         .n_args = 3,
                         .args = args};
    return (Bundle){.version = BD_VERSION,
                    .compiler = "warpburg test",
                    .target = "sm_90",
                    .hash = "00ff",
                    .n_buffers = 2,
                    .buffers = buffers,
                    .n_launches = 1,
                    .launches = launch,
                    .ptx = ".version 8.8\n",
                    .hlo = "HloModule m\n",
                    .cubin = "\0\1\2",
                    .cubin_bytes = 3};
}

static void round_trip(WbbCx *cx, void *arg)
{
    BdBuffer buffers[2];
    BdLaunch launch;
    Bundle b = sample(buffers, &launch);
    const char *dir = arg;
    bd_write(cx, &b, dir);
    Bundle *back = bd_read(cx, cx->arena, dir);
    assert_string_equal(bd_kernel_json(cx->arena, &b), bd_kernel_json(cx->arena, back));
    assert_string_equal(back->ptx, b.ptx);
    assert_string_equal(back->hlo, b.hlo);
    assert_int_equal(back->cubin_bytes, 3);
    assert_memory_equal(back->cubin, b.cubin, 3);
    assert_int_equal(back->launches[0].args[1], 1);
    assert_int_equal(back->buffers[0].minor_to_major[1], 1);
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

/* Replaces a part of a good descriptor; reading it must fail with this message. */
static void refuse(const char *from, const char *to, const char *message)
{
    WbbCx *cx = wbb_cx_new();
    BdBuffer buffers[2];
    BdLaunch launch;
    Bundle b = sample(buffers, &launch);
    const char *good = bd_kernel_json(cx->arena, &b), *at = strstr(good, from);
    assert_non_null(at);
    char *bad = wbb_format(cx->arena, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    assert_int_equal(wbb_guard(cx, parse, bad), WBB_FAILED);
    if (!strstr(cx->messages, message)) print_error("%s", cx->messages);
    assert_non_null(strstr(cx->messages, message));
    wbb_cx_free(cx);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("\"version\": 1", "\"version\": 2", "kernel.json:1:13: error: 2 is not between 1 and 1");
    refuse("\"bytes\": 24", "\"bytes\": 25", "\"bytes\" is 25, but the shape takes 24");
    refuse("\"minor_to_major\": [0, 1]", "\"minor_to_major\": [1, 1]", "dimension 1 occurs twice");
    refuse("\"args\": [0, 1, 0]", "\"args\": [0, 2, 0]", "2 is not between 0 and 1");
    refuse("\"block\": [128, 2, 1]", "\"block\": [1024, 2, 1]", "more than 1024 threads a block");
    refuse("\"role\": \"in\"", "\"role\": \"inn\"", "\"role\" must be \"in\", \"out\" or \"temp\"");
    refuse("\"target\": \"sm_90\"", "\"target\": \"../x\"", "is not the name of a target");
    refuse("\"hash\": \"00ff\",", "", "member \"hash\" is missing");
    refuse("\"s4\"", "\"s5\"", "unknown type \"s5\"");
    refuse("\"dims\": [5]", "\"dims\": [1e3]", "expected a whole number");
    refuse("]}\n", "]", "expected '}', found the end of the text");
    refuse("\"alias\": null", "\"alias\": null, \"alias\": null", "occurs twice");
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
    bd_make_input(0, 0, "f32", 64, 'n', false, x);
    bd_make_input(0, 0, "f64", 64, 'n', false, y);
    assert_true(x[0] == -0.5f);
    for (int i = 0; i < 64; i++) assert_true(x[i] == (float)y[i]);
    uint8_t s4[64];
    bd_make_input(1, 2, "s4", 64, 'e', false, s4);
    for (int i = 0; i < 64; i++) assert_true(s4[i] < 8 || s4[i] >= 0xf8);
    int32_t ranged[64];
    bd_make_input(3, 1, "s32", 64, 'p', true, ranged);
    for (int i = 0; i < 64; i++) assert_in_range(ranged[i] + 2, 0, 11);
    int64_t at[8];
    assert_int_equal(bd_sample_positions(5, 8, at), 5);
    assert_int_equal(at[4], 4);
    assert_int_equal(bd_sample_positions(1000, 8, at), 8);
    assert_int_equal(at[0], (int64_t)(UINT64_C(0x5692161d100b05e5) % 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_refused), cmocka_unit_test(test_json),
        cmocka_unit_test(test_layout),     cmocka_unit_test(test_npy),     cmocka_unit_test(test_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

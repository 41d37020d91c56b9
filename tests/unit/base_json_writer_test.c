/* base_json_writer: commas, keys, escapes and line breaks; parts that are written by themselves. */
#include "unit.h"

static void put_pair(WbbBuf *b, const char *key, int64_t x)
{
    wbb_json_open(b, key, '{');
    wbb_json_int(b, "x", x);
    wbb_json_close(b, '}');
}

static void test_values(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbBuf b = wbb_buf(cx->arena);
    wbb_json_open(&b, NULL, '{');
    wbb_json_text(&b, "text", "a\"b\\c\n\t\r\x01\x7f\xc3\xa9[");
    wbb_json_text(&b, "none", NULL);
    wbb_json_int(&b, "least", INT64_MIN);
    wbb_json_uint(&b, "most", UINT64_MAX);
    wbb_json_bool(&b, "yes", true);
    wbb_json_bool(&b, "no\n", false);
    wbb_json_putf(&b, "ms", "%.3f", 1.5);
    wbb_json_close(&b, '}');
    assert_string_equal(b.text, "{\"text\": \"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f\xc3\xa9[\", \"none\": null, "
                                "\"least\": -9223372036854775808, \"most\": 18446744073709551615, "
                                "\"yes\": true, \"no\\n\": false, \"ms\": 1.500}");
    wbb_cx_free(cx);
}

/* A text that ends with an opening bracket is followed by a comma, too. */
static void test_nested(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbBuf b = wbb_buf(cx->arena);
    wbb_json_open(&b, NULL, '[');
    wbb_json_open(&b, NULL, '[');
    wbb_json_close(&b, ']');
    wbb_json_text(&b, NULL, "{");
    put_pair(&b, NULL, 1);
    wbb_json_open(&b, NULL, '{');
    put_pair(&b, "p", 2);
    put_pair(&b, "q", 3);
    wbb_json_close(&b, '}');
    wbb_json_text(&b, NULL, "");
    wbb_json_close(&b, ']');
    assert_string_equal(b.text, "[[], \"{\", {\"x\": 1}, {\"p\": {\"x\": 2}, \"q\": {\"x\": 3}}, \"\"]");
    wbb_cx_free(cx);
}

static void test_lines(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbBuf members = wbb_buf(cx->arena), b = wbb_buf(cx->arena);
    wbb_json_int(&members, "a", 1);
    wbb_json_int(&members, "b", 2);
    wbb_put(&b, "file\t");
    for (int line = 0; line < 2; line++) { /* an object a line */
        wbb_json_open(&b, NULL, '{');
        wbb_json_int(&b, "line", line);
        wbb_json_putf(&b, NULL, "%s", members.text);
        wbb_json_close(&b, '}');
        wbb_put(&b, "\n");
    }
    assert_string_equal(b.text, "file\t{\"line\": 0, \"a\": 1, \"b\": 2}\n{\"line\": 1, \"a\": 1, \"b\": 2}\n");

    b = wbb_buf(cx->arena);
    wbb_json_open(&b, NULL, '{');
    wbb_json_int(&b, "version", 1);
    wbb_json_line(&b, 2);
    wbb_json_open(&b, "list", '[');
    for (int64_t x = 0; x < 2; x++) {
        wbb_json_line(&b, 4);
        put_pair(&b, NULL, x);
    }
    wbb_json_close(&b, ']');
    wbb_json_line(&b, 0);
    wbb_json_int(&b, "last", 3);
    wbb_json_close(&b, '}');
    assert_string_equal(b.text, "{\"version\": 1,\n  \"list\": [\n    {\"x\": 0},\n    {\"x\": 1}],\n\"last\": 3}");
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

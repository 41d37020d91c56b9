/* index_map: index maps as values: read, printed, simplified and composed. Arguments are not changed. */
#include "index_fixture.h"

static IxMap *map(Fixture *w, const char *text) { return ix_map_parse(w->rw, w->arena, "map", text, strlen(text)); }

static void prints(Fixture *w, const IxMap *m, const char *text)
{
    WbbBuf b = wbb_buf(w->arena);
    ix_map_print(&b, w->g, m);
    assert_string_equal(b.text, text);
}

/* A map built by calls, with a run-time variable whose source is an instruction. */
static void test_made(void **state)
{
    (void)state;
    Fixture w = fixture(NULL);
    static const HloInstruction start = {.name = "start"};
    IxMap *m = ix_map_new(w.arena);
    const IrRef rt = ix_map_var(w.rw, w.arena, m, IX_RUNTIME, ix_map_name(w.arena, m, IX_RUNTIME), 0, 9);
    const IrRef d = ix_map_var(w.rw, w.arena, m, IX_DIMENSION, ix_map_name(w.arena, m, IX_DIMENSION), 0, 7);
    const IrRef s = ix_map_var(w.rw, w.arena, m, IX_RANGE, "k", 0, 3);
    IxVar *v = &m->vars.items[ix_map_find(m, "rt0")];
    v->source = &start;
    v->at = WBB_NEW(w.arena, IrRef);
    v->at[0] = rw_floordiv(w.rw, d, 2);
    v->n_at = 1;
    ix_map_result(w.arena, m, rw_add(w.rw, rw_add(w.rw, rw_scale(w.rw, d, 4), s), rt));
    ix_map_constrain(w.arena, m, rw_add(w.rw, d, s), 0, 8);
    assert_int_equal(ix_map_count(m, IX_RANGE), 1);
    prints(&w, m,
           "(d0)[k]{rt0} -> (d0 * 4 + rt0 + k), domain: d0 in [0, 7], k in [0, 3], rt0 in [0, 9], d0 + k in [0, 8]");
    /* composing rewrites the index of the run-time variable, too */
    IxMap *first = map(&w, "(d0) -> (d0 * 2 + 1), domain: d0 in [0, 3]"),
          *both = ix_map_compose(w.rw, w.arena, first, m);
    const IxVar *u = &both->vars.items[ix_map_find(both, "rt0")];
    assert_ptr_equal(u->source, &start);
    WbbBuf b = wbb_buf(w.arena);
    ix_put_expression(&b, w.g, u->at[0]);
    assert_string_equal(b.text, "d0");
    prints(&w, ix_map_simplify(w.rw, w.arena, both, false),
           "(d0)[k]{rt0} -> (d0 * 8 + k + rt0 + 4), domain: d0 in [0, 3], k in [0, 3], rt0 in [0, 9], d0 * 2 + k in "
           "[0, 7]");
    close_fixture(&w);
}

/* A map at a point is made in another graph, of that graph's nodes; constants come along. */
static void test_at(void **state)
{
    (void)state;
    Fixture w = fixture(NULL), of = fixture(NULL);
    const IxMap *m = map(&of, "(d0)[s0] -> (d0 * 8 + s0, 3), domain: d0 in [0, 9], s0 in [0, 7], d0 + s0 in [0, 12]");
    IxMap *made = ix_map_new(w.arena);
    const IrRef x = ix_map_var(w.rw, w.arena, made, IX_DIMENSION, "x", 0, 19);
    const IrRef point[] = {rw_floordiv(w.rw, x, 2), ir_index(w.g, 5)};
    IrRef results[2], constraint;
    ix_map_at(w.rw, w.arena, of.g, m, point, results, &constraint);
    for (int k = 0; k < 2; k++) ix_map_result(w.arena, made, results[k]);
    ix_map_result(w.arena, made, constraint);
    prints(&w, made, "(x) -> ((x / 2) * 8 + 5, 3, x / 2 + 5), domain: x in [0, 19]");
    close_fixture(&w);
    close_fixture(&of);
}

/* Results with constants, of which the inverse of the map itself leaves constraints; boxes that are not quite
 * theirs. */
static void test_onto(void **state)
{
    (void)state;
    static const struct { const char *text; int64_t lo, hi; bool onto; } cases[] = {
        {"(a, b) -> (a * 4 + b), domain: a in [0, 9], b in [0, 3]", 0, 39, true},
        {"(a, b) -> (a * 4 + b), domain: a in [0, 9], b in [0, 3]", 0, 40, false},
        {"(a, b) -> (a * 4 + b), domain: a in [0, 9], b in [0, 2]", 0, 38, false},
        {"(a, b) -> (a * 3 + b), domain: a in [0, 9], b in [0, 3]", 0, 30, false},
        {"(a, b)[c] -> (a * 64 + b * 2 + c + 392), domain: a in [0, 3], b in [0, 31], c in [0, 1], a * 32 + b in [28, 34]",
         448, 461, true},
        {"() -> (7)", 7, 7, true},
    };
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        Fixture w = fixture(NULL);
        if (ix_map_onto(w.rw, w.arena, map(&w, cases[k].text), &cases[k].lo, &cases[k].hi) != cases[k].onto)
            fail_msg("%s: %s", cases[k].text, cases[k].onto ? "not proved" : "proved");
        close_fixture(&w);
    }
}

/* Arguments are not changed, and maps of one graph do not affect each other. */
static void test_values(void **state)
{
    (void)state;
    static const char text[] = "(d0)[s0] -> ((d0 * 8 + s0) / 8, s0), domain: d0 in [0, 3], s0 in [0, 9], d0 + s0 in "
                               "[0, 5], s0 mod 2 in [1, 1]";
    Fixture w = fixture(NULL);
    IxMap *m = map(&w, text);
    IxMap *once = ix_map_simplify(w.rw, w.arena, m, false);
    prints(&w, once, "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [1, 5], d0 + s0 in [1, 5], s0 mod 2 in [1, 1]");
    (void)ix_map_rescale_symbols(w.rw, w.arena, once);
    (void)ix_map_remove_unused(w.rw, w.arena, once, true);
    (void)ix_map_inverse(w.rw, w.arena, once);
    prints(&w, m, text);
    prints(&w, once, "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [1, 5], d0 + s0 in [1, 5], s0 mod 2 in [1, 1]");
    prints(&w, ix_map_simplify(w.rw, w.arena, m, false),
           "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [1, 5], d0 + s0 in [1, 5], s0 mod 2 in [1, 1]");
    uint64_t compared = 0;
    assert_null(ix_map_differ(w.arena, w.g, m, once, 1000, 0, &compared));
    assert_int_equal(compared, 40);
    assert_non_null(ix_map_differ(
        w.arena, w.g, m, map(&w, "(d0)[s0] -> (d0, s0 + 1), domain: d0 in [0, 3], s0 in [0, 9]"), 1000, 0, &compared));
    close_fixture(&w);
}

/* A result does not depend on maps that were made before. */
static void test_order(void **state)
{
    (void)state;
    static const char *const texts[] = {"(d0)[s0] -> (min(d0 * 3, s0 + 2) + max(s0, d0 * 2)), domain: d0 in [0, 9], s0 in [0, 9]",
                                        "(d0)[s0] -> (max(s0 * 2, min(s0 + 1, d0))), domain: d0 in [0, 9], s0 in [0, 9]"};
    for (uint32_t i = 0; i < WBB_LEN(texts); i++) {
        Fixture w = fixture(NULL), v = fixture(NULL);
        WbbBuf x = wbb_buf(w.arena), y = wbb_buf(v.arena);
        ix_map_print(&x, w.g, ix_map_simplify(w.rw, w.arena, map(&w, texts[i]), false));
        (void)ix_map_simplify(v.rw, v.arena, map(&v, texts[1 - i]), false);
        (void)map(&v, "(d0)[s0] -> (s0 + 2, d0 * 2, s0 * 2, d0 * 3), domain: d0 in [0, 9], s0 in [0, 9]");
        ix_map_print(&y, v.g, ix_map_simplify(v.rw, v.arena, map(&v, texts[i]), false));
        assert_string_equal(x.text, y.text);
        close_fixture(&v);
        close_fixture(&w);
    }
}

/* Constraints x < y < z < x would narrow their intervals by one value at a time; that is cut short, the values stay,
 * and simplifying again changes nothing. */
static void test_creeping(void **state)
{
    (void)state;
    Fixture w = fixture(NULL);
    IxMap *m = map(&w, "(a, b, c) -> (a), domain: a in [0, 1000000], b in [0, 1000000], c in [0, 1000000], a - b in "
                       "[1, 5], b - c in [1, 5], c - a in [1, 5]");
    IxMap *once = ix_map_simplify(w.rw, w.arena, m, false);
    WbbBuf x = wbb_buf(w.arena), y = wbb_buf(w.arena);
    ix_map_print(&x, w.g, once);
    ix_map_print(&y, w.g, ix_map_simplify(w.rw, w.arena, once, false));
    assert_string_equal(x.text, y.text);
    close_fixture(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_made), cmocka_unit_test(test_at), cmocka_unit_test(test_onto),
                                       cmocka_unit_test(test_values), cmocka_unit_test(test_order), cmocka_unit_test(test_creeping)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

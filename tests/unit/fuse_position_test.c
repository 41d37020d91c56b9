/* fuse_position: which elements of its operands an operation needs, as atoms of a space: seen through reshapes,
 * broadcasts, transposes and moves; spaces that become one, and are parted again; terms of reductions. */
#include "fuse/priced.h"

#include "unit.h"

typedef struct {
    const char *text;
    const HloModule *m;
} Job;

static void parse(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->m = hlo_parse(cx, wbb_arena_new(cx), "t.hlo", j->text, strlen(j->text));
}

static const HloInstruction *named(const Job *j, const char *name)
{
    const HloComputation *c = j->m->entry;
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (!strcmp(c->instructions[k]->name, name)) return c->instructions[k];
    fail_msg("no instruction %s", name);
    return NULL;
}

/* "4 8": the sizes of the atoms of a position; "?100": unknown, 100 elements; "4 8*0.5": that part of them. */
static const char *sizes(WbbCx *cx, const FuseAtoms *s, const FusePos *p)
{
    const FusePos q = fuse_resolve(s, p);
    WbbBuf b = wbb_buf(cx->arena);
    if (!q.known) wbb_putf(&b, "?%g", q.count);
    for (uint32_t k = 0; q.known && k < q.n; k++)
        wbb_putf(&b, "%s%lld", k ? " " : "", (long long)s->items[q.atoms[k]].size);
    if (q.known && q.count > 0 && q.count != 1) wbb_putf(&b, "*%g", q.count);
    return b.text;
}

/* The position of operand k of instruction `name` at its own elements. */
static void check_operand(WbbCx *cx, const Job *j, const char *name, uint32_t k, const char *expected)
{
    FuseAtoms s = {.arena = cx->arena, .sight = gr_sight(cx, cx->arena)};
    const HloInstruction *i = named(j, name);
    const FusePos at = fuse_new_pos(&s, i->shape), p = fuse_operand_pos(&s, i, k, &at);
    assert_string_equal(sizes(cx, &s, &p), expected);
}

static void test_operands(void **state)
{
    WbbCx *cx = *state;
    Job j = {.text = "ENTRY e { x = f32[4,1,6] parameter(0) i = s32[] parameter(1) z = f32[] constant(0)\n"
                     "  y = f32[24] reshape(x) t = f32[6,1,4] transpose(x), dimensions={2,1,0}\n"
                     "  b = f32[6,9,4] broadcast(y3), dimensions={2,0} y3 = f32[4,6] reshape(x)\n"
                     "  c = f32[5,4,6] broadcast(y2), dimensions={1,2} y2 = f32[4,6] reshape(x)\n"
                     "  s = f32[4,3] slice(y2), slice={[0:4], [0:6:2]} r = f32[4,6] reverse(y2), dimensions={1}\n"
                     "  p = f32[4,8] pad(y2, z), padding=0_0x1_1 k = f32[8,6] concatenate(y2, y2), dimensions={0}\n"
                     "  d = f32[2,6] dynamic-slice(y2, i, i), dynamic_slice_sizes={2,6}\n"
                     "  n = f32[4,6] add(y2, r) q = f32[6] reshape(w) w = f32[1,6] slice(y2), slice={[0:1], [0:6]}\n"
                     "  ROOT o = (f32[24]) tuple(y) }"};
    succeed(cx, parse, &j);
    check_operand(cx, &j, "y", 0, "24"); /* not split before something needs its dimensions */
    check_operand(cx, &j, "t", 0, "4 6");
    check_operand(cx, &j, "c", 0, "4 6");
    check_operand(cx, &j, "b", 0, "4 6");
    check_operand(cx, &j, "s", 0, "4 6*0.5"); /* dimension 1 has an atom of its own, half of which is needed */
    check_operand(cx, &j, "r", 0, "4 6");
    check_operand(cx, &j, "n", 1, "4 6");
    check_operand(cx, &j, "d", 0, "4 6*0.5");
    check_operand(cx, &j, "d", 1, "");
    check_operand(cx, &j, "p", 1, "");
    check_operand(cx, &j, "k", 1, "4 6");
}

/* A reshape that cuts a dimension splits its atom, in every position that has it. */
static void test_split(void **state)
{
    WbbCx *cx = *state;
    Job j = {.text = "ENTRY e { x = f32[2,3,8] parameter(0) y = f32[48] reshape(x) ROOT z = f32[6,8] reshape(y) }"};
    succeed(cx, parse, &j);
    FuseAtoms s = {.arena = cx->arena, .sight = gr_sight(cx, cx->arena)};
    const HloInstruction *z = named(&j, "z"), *y = named(&j, "y"), *x = named(&j, "x");
    const FusePos at = fuse_new_pos(&s, z->shape), p = fuse_operand_pos(&s, z, 0, &at);
    const FusePos q = fuse_operand_pos(&s, y, 0, &p), own = fuse_new_pos(&s, x->shape);
    FuseJoin undo;
    assert_string_equal(sizes(cx, &s, &at), "6 8");
    assert_true(fuse_join(&s, &q, &own, &undo));
    assert_string_equal(sizes(cx, &s, &at), "2 3 8");
    assert_true(fuse_same_pos(&s, &at, &own));
    assert_true(fuse_count(&s, &at) == 48);
}

static FusePos of(FuseAtoms *s, uint32_t n, const int64_t *dims)
{
    FusePos p = {.known = true};
    for (uint32_t k = 0; k < n; k++) p.atoms[p.n++] = fuse_atom(s, dims[k], false);
    return p;
}

static void test_join(void **state)
{
    WbbCx *cx = *state;
    FuseAtoms s = {.arena = cx->arena, .sight = gr_sight(cx, cx->arena)};
    FuseJoin undo;
    const FusePos a = of(&s, 2, (const int64_t[]){6, 8}), b = of(&s, 2, (const int64_t[]){12, 4});
    const FusePos c = of(&s, 2, (const int64_t[]){6, 7}), d = of(&s, 1, (const int64_t[]){10});
    FusePos twice = a;
    assert_false(fuse_join(&s, &a, &c, &undo)); /* another size */
    assert_false(fuse_same_pos(&s, &a, &c));
    assert_false(fuse_join(&s, &a, &d, &undo)); /* fewer */
    assert_true(fuse_join(&s, &a, &b, &undo));
    assert_true(fuse_same_pos(&s, &a, &b));
    assert_string_equal(sizes(cx, &s, &b), "6 2 4");
    fuse_part(&s, &undo);
    assert_false(fuse_same_pos(&s, &a, &b));
    /* a diagonal is no space: one atom cannot be two dimensions */
    twice.atoms[0] = twice.atoms[1];
    const FusePos square = of(&s, 2, (const int64_t[]){8, 8});
    assert_false(fuse_join(&s, &twice, &square, &undo));
    assert_false(fuse_join(&s, &square, &twice, &undo));
    const FusePos unknown = {.count = 3}, other = {.count = 4};
    assert_false(fuse_join(&s, &a, &unknown, &undo));
    assert_true(fuse_same_pos(&s, &unknown, &unknown) && !fuse_same_pos(&s, &unknown, &other));
    assert_false(fuse_same_pos(&s, &a, &unknown));
}

/* The terms of a reduction are its results' atoms and new ones, in the order of the operand. */
static void test_terms(void **state)
{
    WbbCx *cx = *state;
    Job j = {.text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                     "ENTRY e { x = f32[4,5,1,6] parameter(0) z = f32[] constant(0)\n"
                     "  ROOT r = f32[4,1,6] reduce(x, z), dimensions={1}, to_apply=add }"};
    succeed(cx, parse, &j);
    FuseAtoms s = {.arena = cx->arena, .sight = gr_sight(cx, cx->arena)};
    const HloInstruction *r = named(&j, "r");
    const FusePos at = fuse_new_pos(&s, r->shape), terms = fuse_new_terms(&s, r, &at);
    assert_string_equal(sizes(cx, &s, &terms), "4 5 6");
    assert_true(s.items[terms.atoms[1]].reduced && !s.items[terms.atoms[0]].reduced);
    assert_true(fuse_fits_terms(&s, r, &at, &terms));
    assert_false(fuse_fits_terms(&s, r, &at, &at));
    const FusePos fresh = fuse_new_pos(&s, named(&j, "x")->shape);
    assert_false(fuse_fits_terms(&s, r, &at, &fresh)); /* the kept atoms are others */
    const FusePos p = fuse_operand_pos(&s, r, 0, &at);
    assert_string_equal(sizes(cx, &s, &p), "?120");
}

/* A window takes an element as often as it is long, a scan once; a window as long as the row is none. */
static void test_windows(void **state)
{
    WbbCx *cx = *state;
    Job j = {.text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                     "ENTRY e { x = f32[4,6] parameter(0) z = f32[] constant(0)\n"
                     "  w = f32[4,4] reduce-window(x, z), window={size=1x3}, to_apply=add\n"
                     "  r = f32[4,6] reduce-window(x, z), window={size=1x6 pad=0_0x3_2}, to_apply=add\n"
                     "  ROOT s = f32[4,6] reduce-window(x, z), window={size=1x6 pad=0_0x5_0}, to_apply=add }"};
    succeed(cx, parse, &j);
    check_operand(cx, &j, "w", 0, "4 6*2"); /* 16 windows of 3 */
    check_operand(cx, &j, "s", 0, "4 6");
    check_operand(cx, &j, "r", 0, "4 6*6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_operands), TEST(test_split), TEST(test_join), TEST(test_terms),
                                       TEST(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

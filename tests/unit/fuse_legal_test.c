/* fuse_legal: cuts of random computations with kernels that are changed at random: each is refused that cannot run, and
 * no other one. It can run where each value is left in memory once, and kernels and library calls that have all they
 * read, one after the other, make the result.
 */
#include "fuse/fuse.h"

#include "unit.h"

#include <stdlib.h>

enum { VALUES = 10, KERNELS = VALUES + 1, LINES = 100 /* that state kernels */ };

typedef struct {
    WbbArena *arena;
    uint32_t seed;
    const HloComputation *c;
    FuseRole *roles;
    FuseGroup groups[KERNELS];
    uint32_t n;
    const char *message; /* NULL: it is taken */
} Job;

static uint32_t draw(Job *j, uint32_t below)
{
    j->seed = j->seed * 1664525u + 1013904223u;
    return (j->seed >> 16) % below;
}

/* Elementwise values, views, library calls, some after another one that they do not read; the result is two of them,
 * or made of these. */
static const char *text_of(Job *j)
{
    static const char *const kinds[] = {"multiply(v%u, v%u)", "add(v%u, v%u)", "reshape(v%u)",
                                        "dot(v%u, v%u), lhs_contracting_dims={1}, rhs_contracting_dims={0}"};
    WbbBuf b = wbb_buf(j->arena);
    wbb_put(&b, "ENTRY e {\n v0 = f32[4,4] parameter(0)\n");
    for (uint32_t k = 1; k < VALUES; k++) {
        const uint32_t x = draw(j, k), y = draw(j, k);
        wbb_putf(&b, " v%u = f32[4,4] ", k);
        wbb_putf(&b, kinds[draw(j, WBB_LEN(kinds))], x, y);
        if (k > 2 && !draw(j, 6)) wbb_putf(&b, ", control-predecessors={v%u}", 1 + draw(j, k - 1));
        wbb_put(&b, "\n");
    }
    const uint32_t other = 1 + draw(j, VALUES - 1);
    if (draw(j, 4)) wbb_putf(&b, " ROOT t = (f32[4,4], f32[4,4]) tuple(v%u, v%u)\n}\n", other, VALUES - 1);
    else wbb_putf(&b, " ROOT t = f32[4,4] add(v%u, v%u)\n}\n", other, VALUES - 1);
    return b.text;
}

static bool computes(const FuseGroup *g, const HloInstruction *i)
{
    for (uint32_t k = 0; k < g->n_members; k++)
        if (g->members[k] == i) return true;
    return false;
}

static bool leaves(const FuseGroup *g, const HloInstruction *i)
{
    for (uint32_t k = 0; k < g->n_roots; k++)
        if (g->roots[k] == i) return true;
    return false;
}

static void add(FuseGroup *g, const HloInstruction *i, bool root)
{
    if (!computes(g, i)) g->members[g->n_members++] = i;
    if (root && !leaves(g, i)) g->roots[g->n_roots++] = i;
}

static FuseGroup *new_group(Job *j)
{
    FuseGroup *g = &j->groups[j->n++];
    *g = (FuseGroup){.roots = WBB_NEW_N(j->arena, const HloInstruction *, VALUES + 1),
                     .members = WBB_NEW_N(j->arena, const HloInstruction *, VALUES + 1)};
    return g;
}

/* A kernel for each value, some of which also compute again what they need; then some changes. */
static void draw_groups(Job *j)
{
    for (uint32_t k = 0; k < j->c->n_instructions; k++) {
        const HloInstruction *i = j->c->instructions[k];
        if (fuse_first_role(i) != FUSE_ROOT || (fuse_is_view(i) && draw(j, 4))) continue;
        FuseGroup *g = new_group(j);
        add(g, i, true);
        for (uint32_t o = 0; o < i->n_operands; o++)
            if (fuse_first_role(i->operands[o]) == FUSE_ROOT && !draw(j, 3)) add(g, i->operands[o], false);
    }
    for (uint32_t changes = draw(j, 3); changes && j->n > 1; changes--) {
        FuseGroup *g = &j->groups[draw(j, j->n)], *other = &j->groups[draw(j, j->n)];
        const uint32_t what = draw(j, 4);
        if (what == 0) add(g, other->roots[draw(j, other->n_roots)], true);
        else if (what == 1) add(g, other->roots[draw(j, other->n_roots)], false);
        else if (what == 2) *g = j->groups[--j->n];
        else if (g != other) {
            for (uint32_t k = 0; k < other->n_members; k++) add(g, other->members[k], leaves(other, other->members[k]));
            *other = j->groups[--j->n];
        }
    }
}

static int by_id(const void *x, const void *y)
{
    const HloInstruction *const *i = x, *const *k = y;
    return ((*i)->id > (*k)->id) - ((*i)->id < (*k)->id);
}

static void set_roles(Job *j)
{
    j->roles = WBB_NEW_N(j->arena, FuseRole, j->c->n_instructions + 1);
    for (uint32_t k = 0; k < j->c->n_instructions; k++) {
        const HloInstruction *i = j->c->instructions[k];
        const FuseRole first = fuse_first_role(i);
        j->roles[k] = first != FUSE_ROOT ? first : fuse_is_view(i) ? FUSE_ALIAS : FUSE_NOTHING;
    }
    for (int root = 0; root < 2; root++)
        for (FuseGroup *g = j->groups; g < j->groups + j->n; g++)
            for (uint32_t k = 0; k < g->n_members; k++)
                if (leaves(g, g->members[k]) == root)
                    j->roles[g->members[k]->id] = root ? FUSE_ROOT : FUSE_INLINE;
    const bool stated = draw(j, 2);
    for (FuseGroup *g = j->groups; g < j->groups + j->n; g++) {
        if (stated) g->at = (WbbLoc){"t.plan", LINES + (int)(g - j->groups), 1};
        qsort(g->roots, g->n_roots, sizeof *g->roots, by_id);
        qsort(g->members, g->n_members, sizeof *g->members, by_id);
    }
}

/* --- can it run? -------------------------------------------------------------------------------------------------- */
static bool has_all(const HloInstruction *const *list, uint32_t n, const bool *there, const FuseGroup *but)
{
    for (uint32_t k = 0; k < n; k++)
        if (!there[list[k]->id] && !(but && computes(but, list[k]))) return false;
    return true;
}

/* What must come before an instruction, though it reads nothing of it: what views of memory are of; what kernels
 * compute on their way has no place in the order. */
static bool may_follow(const Job *j, const HloInstruction *i, const bool *there, const FuseGroup *but)
{
    for (uint32_t k = 0; k < i->n_predecessors; k++) {
        const HloInstruction *x = i->predecessors[k];
        while (j->roles[x->id] == FUSE_ALIAS) x = x->operands[0];
        const bool made = j->roles[x->id] == FUSE_ROOT || j->roles[x->id] == FUSE_LIBRARY;
        if (made && !there[x->id] && !(but && leaves(but, x))) return false;
    }
    return true;
}

static bool can_run(const Job *j, const FuseGroup *g, const bool *there)
{
    for (uint32_t k = 0; k < g->n_members; k++) {
        const HloInstruction *i = g->members[k];
        if (!has_all((const HloInstruction *const *)i->operands, i->n_operands, there, g)) return false;
        if (!may_follow(j, i, there, g)) return false;
    }
    return true;
}

static bool is_right(const Job *j)
{
    bool *there = WBB_NEW_N(j->arena, bool, j->c->n_instructions + 1), *ran = WBB_NEW_N(j->arena, bool, KERNELS);
    uint32_t runs = 0;
    for (uint32_t round = 0; round <= j->c->n_instructions; round++) {
        for (uint32_t k = 0; k < j->c->n_instructions; k++) {
            const HloInstruction *i = j->c->instructions[k];
            const FuseRole role = j->roles[k];
            const bool held = role == FUSE_LIBRARY || role == FUSE_ALIAS ||
                              (role == FUSE_NOTHING && fuse_first_role(i) == FUSE_NOTHING);
            if (held && has_all((const HloInstruction *const *)i->operands, i->n_operands, there, NULL) &&
                (role != FUSE_LIBRARY || may_follow(j, i, there, NULL)))
                there[k] = true;
        }
        for (uint32_t k = 0; k < j->n; k++) {
            if (ran[k] || !can_run(j, &j->groups[k], there)) continue;
            for (uint32_t r = 0; r < j->groups[k].n_roots; r++) {
                if (there[j->groups[k].roots[r]->id]) return false; /* another one has left it */
                there[j->groups[k].roots[r]->id] = true;
            }
            ran[k] = true, runs++;
        }
    }
    for (uint32_t k = 0; k < j->c->n_instructions; k++)
        if (j->roles[k] == FUSE_LIBRARY && !there[k]) return false;
    return runs == j->n && there[j->c->root->id];
}

/* --- the test ----------------------------------------------------------------------------------------------------- */
static void cut(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const FuseCut of = fuse_steps(cx, j->arena, j->c, j->roles, j->groups, j->n);
    uint32_t kernels = 0;
    for (uint32_t k = 0; k < of.n; k++) kernels += of.steps[k].kind == FUSE_STEP_KERNEL;
    assert_int_equal(kernels, j->n);
}

static void parse(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const char *text = text_of(j);
    j->c = hlo_parse(cx, j->arena, "t.hlo", text, strlen(text))->entry;
}

/* A message has the line of a kernel that is stated, if it is about one, else the plan; without one, that of a value.
 */
static void check_place(const Job *j, const char *said)
{
    const HloInstruction *of = NULL; /* in `the kernel of NAME` */
    const char *name = strstr(said, "the kernel of ");
    for (uint32_t k = 0; name && k < j->c->n_instructions; k++) {
        const char *own = j->c->instructions[k]->name, *at = name + strlen("the kernel of ");
        if (!strncmp(at, own, strlen(own)) && at[strlen(own)] == ' ') of = j->c->instructions[k];
    }
    const bool stated = j->n && j->groups[0].at.line;
    if (!stated) assert_true(!strncmp(said, "t.hlo:", 6) && strchr("123456789", said[6]));
    else assert_true(!strncmp(said, "t.plan:", 7));
    if (!stated) return;
    const int line = atoi(said + 7);
    const bool kernel = strstr(said, "two kernels") || (of && j->roles[of->id] == FUSE_ROOT);
    if (kernel != (line >= LINES && line < LINES + (int)j->n)) fail_msg("a message has another place: %s", said);
    if (of && kernel && !leaves(&j->groups[line - LINES], of)) fail_msg("a message is about another kernel: %s", said);
}

static void test_random(void **state)
{
    WbbCx *cx = *state;
    enum { CASES = 20000 };
    static const char *const faults[] = {"waits for itself", "two kernels leave", "no kernel leaves the result",
                                         "which it does not compute", "which no kernel leaves in memory"};
    uint32_t seen[WBB_LEN(faults)] = {0}, taken = 0;
    for (uint32_t n = 0; n < CASES; n++) {
        Job j = {.arena = wbb_arena_new(cx), .seed = n * 7919 + 1};
        const size_t before = strlen(cx->messages);
        succeed(cx, parse, &j);
        draw_groups(&j);
        set_roles(&j);
        const bool right = is_right(&j), found = wbb_guard(cx, cut, &j) == WBB_OK;
        const char *said = cx->messages + before;
        if (right != found) fail_msg("case %u is %s: %s", n, right ? "right" : "wrong", said);
        for (size_t k = 0; !found && k < WBB_LEN(faults); k++) seen[k] += strstr(said, faults[k]) != NULL;
        if (!found) check_place(&j, said);
        taken += found;
        wbb_forget_since(cx, before);
        wbb_arena_free(j.arena);
    }
    assert_in_range(taken, CASES / 4, CASES * 3 / 4);
    for (size_t k = 0; k < WBB_LEN(faults); k++)
        if (seen[k] < CASES / 500) fail_msg("'%s' is said %u times of %u", faults[k], seen[k], (uint32_t)CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

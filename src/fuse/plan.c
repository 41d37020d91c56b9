/* plan: the cut of a computation as text, written and read.
 *
 * Needs: the groups of a cut; or the text of a plan, and the computation. Leaves: text; or roles and groups.
 *
 * A plan says which values memory holds, and which kernel computes what: a kernel leaves its values in memory, what
 * else it computes lives in registers or in shared memory, and what several kernels compute is computed again. What it
 * does not name is what it must be: a library call, a view of memory, nothing at all. Lines before "choices" are not
 * read, and neither is what stands behind "//".
 *
 *     choices
 *       computation main
 *         kernel k, q  // 13.40 us
 *           computes a, b, c, d
 *           strategy share
 *             layout columns: vector 4, lane 32; rows: warp 8, grid 1024
 *         library dot.3
 *         library add.7
 *           computes dot.6
 *
 * Below a kernel, or a fusion of the module, stand the choices of its own plan (plan/given.h), which this file
 * takes as they are; without them they are made.
 */
#include "fuse/priced.h"

#include <string.h>

/* --- what a text says --------------------------------------------------------------------------------------------- */
typedef struct { const char *text; WbbLoc at; } Name;
typedef struct { Name *items; uint32_t n, capacity; } Names;
/* A kernel; a library call, which may compute what it adds something to; a fusion, which has one root and no more. */
typedef enum { KERNEL, LIBRARY, FUSION, ITEMS } ItemKind;
static const char *const item_words[ITEMS] = {"kernel", "library", "fusion"};
typedef struct {
    ItemKind kind;
    WbbLoc at;
    Names roots, members;
    WbbSource *choices;
} Item;
typedef struct {
    Name name;
    struct { Item *items; uint32_t n, capacity; } of;
} Part;

struct FuseStated {
    WbbCx *cx;
    WbbArena *arena;
    WbbLoc at; /* of what is read next */
    struct { Part *items; uint32_t n, capacity; } parts;
    struct { WbbSource **items; uint32_t n, capacity; } choices;
    WbbMap chosen;    /* choices of a kernel, by the name of its computation and that of each value that it leaves */
    WbbBuf open;      /* the text of the last choices .. */
    int line;         /* .. and the line that comes next in it */
};

/* --- writing ------------------------------------------------------------------------------------------------------ */
enum { COLUMNS = 100 }; /* of a line of names; a kernel has one line */

static void put_names(WbbBuf *b, const char *word, const HloInstruction *const *list, uint32_t n, size_t columns)
{
    size_t column = 0;
    for (uint32_t k = 0; k < n; k++) {
        const size_t length = strlen(list[k]->name) + 2;
        const bool begins = !k || column + length > columns;
        if (begins) {
            if (k) wbb_put(b, "\n");
            wbb_putf(b, "%s ", word);
            column = strlen(word) + 1;
        }
        wbb_putf(b, "%s%s", begins ? "" : ", ", list[k]->name);
        column += length;
    }
}

static bool is_root(const FuseGroup *g, const HloInstruction *i)
{
    for (uint32_t k = 0; k < g->n_roots; k++)
        if (g->roots[k] == i) return true;
    return false;
}

static const WbbSource *stated_for(const FuseHow *how, const HloComputation *c, const HloInstruction *i)
{
    static const WbbSource none = {0};
    const FuseStated *s = how->stated;
    const char *key = s ? wbb_format(s->arena, "%s\n%s", c->name, i->name) : NULL;
    const WbbEntry *e = s ? wbb_map_get_bytes(&s->chosen, key, strlen(key)) : NULL;
    return e ? e->pointer : &none;
}

/* The line of a kernel or a fusion is begun: its time, what it computes, and its choices. */
static void put_rest(WbbBuf *b, const FuseHow *how, const HloComputation *c, const HloInstruction *at,
                     const char *text, const char *computes)
{
    WbbBuf choices = wbb_buf(b->arena);
    const double seconds = how->choices ? how->choices(how->arg, &choices, text, stated_for(how, c, at), 6) : 0;
    if (seconds > 0) wbb_putf(b, "  // %.2f us", seconds * 1e6);
    wbb_putf(b, "\n%s%s", computes, choices.text);
}

static void put_group(WbbArena *a, WbbBuf *b, const HloComputation *c, const FuseGroup *g, const FuseHow *how)
{
    const HloInstruction **others = WBB_NEW_N(a, const HloInstruction *, g->n_members + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n_members; k++)
        if (!is_root(g, g->members[k]) && !fuse_is_small_constant(g->members[k])) others[n++] = g->members[k];
    put_names(b, g->library ? "    library" : "    kernel", (const HloInstruction *const *)g->roots, g->n_roots,
              SIZE_MAX);
    WbbBuf computes = wbb_buf(a);
    put_names(&computes, "      computes", others, n, COLUMNS);
    if (n) wbb_put(&computes, "\n");
    if (g->library) wbb_putf(b, "\n%s", computes.text);
    else put_rest(b, how, c, g->roots[0], fuse_write(a, c, g).text, computes.text);
}

void fuse_put_plan(WbbArena *a, WbbBuf *b, const HloComputation *c, const FuseGrouping *g, const FuseHow *how)
{
    if (!b->n) wbb_put(b, "choices\n");
    wbb_putf(b, "  computation %s\n", c->name);
    const FuseGroup **by_last = WBB_NEW_N(a, const FuseGroup *, c->n_instructions + 1);
    for (uint32_t k = 0; k < g->n_groups; k++)
        by_last[g->groups[k].roots[g->groups[k].n_roots - 1]->id] = &g->groups[k];
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (by_last[k]) put_group(a, b, c, by_last[k], how);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (g->roles[k] == FUSE_LIBRARY) wbb_putf(b, "    library %s\n", i->name);
        if (g->roles[k] != FUSE_FIXED) continue;
        wbb_putf(b, "    fusion %s", i->name);
        put_rest(b, how, c, i, fuse_write_fusion(a, i).text, "");
    }
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
/* The names of a line, parted by commas. */
static void read_names(FuseStated *s, const char *p, WbbLoc at, Names *out)
{
    for (const char *line = p;; p++) {
        p += strspn(p, " ");
        const size_t n = strcspn(p, " ,");
        const Name name = {wbb_format(s->arena, "%.*s", (int)n, p), {at.file, at.line, at.col + (int)(p - line)}};
        if (!n) wbb_fail(s->cx, name.at, "expected the name of a value");
        WBB_PUSH(s->arena, out, name);
        p += n + strspn(p + n, " ");
        if (!*p) return;
        if (*p != ',')
            wbb_fail(s->cx, (WbbLoc){at.file, at.line, at.col + (int)(p - line)},
                     "expected ',' or the end of the line");
    }
}

static ItemKind item_of(const char *line, size_t n)
{
    ItemKind k = KERNEL;
    while (k < ITEMS && (strlen(item_words[k]) != n || strncmp(line, item_words[k], n))) k++;
    return k;
}

static void read_item(FuseStated *s, Part *part, ItemKind kind, const char *names, WbbLoc at)
{
    Item x = {.kind = kind, .at = s->at, .choices = WBB_NEW(s->arena, WbbSource)};
    read_names(s, names, at, &x.roots);
    for (uint32_t k = 0; k < x.roots.n; k++) {
        const char *key = wbb_format(s->arena, "%s\n%s", part->name.text, x.roots.items[k].text);
        wbb_map_put_bytes(&s->chosen, key, strlen(key))->pointer = x.choices;
    }
    WBB_PUSH(s->arena, &part->of, x);
    WBB_PUSH(s->arena, &s->choices, x.choices);
}

/* A line of the choices of a kernel, which keeps its number and its column. */
static void read_choice(FuseStated *s, WbbSource *of, const char *line)
{
    if (!of->text) {
        s->open = wbb_buf(s->arena);
        s->line = s->at.line;
        of->at = (WbbLoc){s->at.file, s->at.line - 1, 1};
        wbb_put(&s->open, "choices\n");
    }
    for (; s->line < s->at.line; s->line++) wbb_put(&s->open, "\n");
    wbb_putf(&s->open, "%*s%s\n", s->at.col - 1, "", line);
    s->line++;
    of->text = s->open.text, of->n = s->open.n;
}

static bool is_choice(const char *line, size_t n)
{
    static const char *const words[] = {"text", "strategy", "layout"};
    for (size_t k = 0; k < WBB_LEN(words); k++)
        if (strlen(words[k]) == n && !strncmp(line, words[k], n)) return true;
    return false;
}

static void read_line(FuseStated *s, const char *line)
{
    const size_t n = strcspn(line, " ");
    const char *rest = line + n + strspn(line + n, " ");
    WbbLoc at = s->at;
    at.col += (int)(rest - line);
    Part *part = s->parts.n ? &s->parts.items[s->parts.n - 1] : NULL;
    Item *last = part && part->of.n ? &part->of.items[part->of.n - 1] : NULL;
    const ItemKind kind = item_of(line, n);
    if (n == 11 && !strncmp(line, "computation", n)) {
        const Part x = {.name = {rest, at}};
        if (!*rest || strchr(rest, ' ')) wbb_fail(s->cx, at, "expected the name of a computation");
        WBB_PUSH(s->arena, &s->parts, x);
    } else if (kind < ITEMS) {
        if (!part) wbb_fail(s->cx, s->at, "a %s stands below a computation", item_words[kind]);
        read_item(s, part, kind, rest, at);
    } else if (n == 8 && !strncmp(line, "computes", n)) {
        if (!last || last->kind == FUSION) wbb_fail(s->cx, s->at, "what a kernel computes stands below it");
        read_names(s, rest, at, &last->members);
    } else if (is_choice(line, n)) {
        if (!last || last->kind == LIBRARY)
            wbb_fail(s->cx, s->at, "the choices of a kernel or a fusion stand below it");
        read_choice(s, last->choices, line);
    } else {
        wbb_fail(s->cx, s->at, "expected computation, kernel, computes, strategy, layout, text, fusion or library, "
                 "found '%.40s'", line);
    }
}

bool fuse_is_plan(WbbArena *a, const char *text, size_t n)
{
    bool begun = false;
    for (const char *p = text, *end = text + n; p < end;) {
        const char *line = wbb_next_line(a, &p, end, "//");
        const char *word = line + strspn(line, " ");
        if (begun && *word) return !strncmp(word, "computation ", strlen("computation "));
        begun = begun || !strcmp(line, "choices");
    }
    return false;
}

static void check_name(const FuseStated *s, const HloModule *m, const Name *name)
{
    for (uint32_t k = 0; k < m->n_computations; k++)
        if (!strcmp(m->computations[k]->name, name->text)) return;
    wbb_fail(s->cx, name->at, "the module has no computation that is called '%s'", name->text);
}

FuseStated *fuse_read_plan(WbbCx *cx, WbbArena *a, const HloModule *m, const WbbSource *from)
{
    const char *file = from->at.file;
    FuseStated *s = WBB_NEW(a, FuseStated);
    *s = (FuseStated){.cx = cx, .arena = a, .at = {.file = file, .line = from->at.line - 1}, .chosen = {.arena = a}};
    bool begun = false;
    for (const char *p = from->text, *end = p + from->n; p < end;) {
        const char *line = wbb_next_line(a, &p, end, "//");
        const int indent = (int)strspn(line, " ");
        s->at.line++, s->at.col = indent + 1;
        if (begun && line[indent]) read_line(s, line + indent);
        begun = begun || !strcmp(line, "choices");
    }
    if (!begun) wbb_fail(cx, (WbbLoc){.file = file}, "a line 'choices' is expected, as `fuse --emit plan` prints it");
    for (uint32_t k = 0; k < s->parts.n; k++) check_name(s, m, &s->parts.items[k].name);
    return s;
}

WbbSource *const *fuse_stated_choices(const FuseStated *s, uint32_t *n)
{
    *n = s->choices.n;
    return s->choices.items;
}

/* --- what a text says of a computation ---------------------------------------------------------------------------- */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    WbbMap named;     /* number of an instruction + 1 */
    FuseRole *roles;
    uint32_t *stamp;  /* [id] the last kernel that has it + 1 */
} Taken;

static const HloInstruction *find(const Taken *t, const Name *name)
{
    const WbbEntry *e = wbb_map_get_bytes(&t->named, name->text, strlen(name->text));
    if (!e) wbb_fail(t->cx, name->at, "%s has no value called '%s'", t->c->name, name->text);
    return t->c->instructions[e->value - 1];
}

static void take_member(Taken *t, FuseGroup *g, const HloInstruction *i, uint32_t number)
{
    if (t->stamp[i->id] == number) return;
    t->stamp[i->id] = number;
    g->members[g->n_members++] = i;
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (fuse_is_small_constant(i->operands[k])) take_member(t, g, i->operands[k], number);
}

static FuseGroup take_kernel(Taken *t, const Item *x, uint32_t number)
{
    const uint32_t most = t->c->n_instructions + 1;
    FuseGroup g = {.roots = WBB_NEW_N(t->arena, const HloInstruction *, x->roots.n + 1),
                   .members = WBB_NEW_N(t->arena, const HloInstruction *, most), .at = x->at};
    for (uint32_t k = 0; k < x->roots.n + x->members.n; k++) {
        const bool root = k < x->roots.n;
        const Name *name = root ? &x->roots.items[k] : &x->members.items[k - x->roots.n];
        const HloInstruction *i = find(t, name);
        if (fuse_first_role(i) == FUSE_FIXED || hlo_kind(i->opcode) == HLO_IS_LEAF)
            if (i->opcode != HLO_IOTA && !fuse_is_small_constant(i))
                wbb_fail(t->cx, name->at, "%s is a %s, which no kernel computes", name->text,
                         hlo_opcode_name(i->opcode));
        if (root) t->roles[i->id] = FUSE_ROOT, g.roots[g.n_roots++] = i;
        else if (t->roles[i->id] != FUSE_ROOT) t->roles[i->id] = FUSE_INLINE;
        take_member(t, &g, i, number);
    }
    fuse_sort(g.roots, g.n_roots);
    fuse_sort(g.members, g.n_members);
    return g;
}

/* A product, and additions to it that a library makes. */
static void be_library(const Taken *t, const Item *x, FuseGroup *g)
{
    HloEpilogue e = {0};
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n_members; k++) {
        const HloInstruction *i = g->members[k];
        if (!e.product && i->opcode == HLO_DOT) e.product = i, n++;
        else if (e.product && hlo_epilogue_add(t->arena, &e, i)) n++;
    }
    for (uint32_t k = 0; k < g->n_members && e.repeated; k++) n += g->members[k] == e.repeated;
    if (n != g->n_members || g->n_roots != 1 || g->roots[0] != e.root)
        wbb_fail(t->cx, x->at,
                 "no library computes this, but a product of f32 to which an array and then a row are added");
    g->library = true;
}

static const Part *part_of(const FuseStated *s, const HloComputation *c)
{
    for (uint32_t k = 0; k < s->parts.n; k++)
        if (!strcmp(s->parts.items[k].name.text, c->name)) return &s->parts.items[k];
    wbb_fail(s->cx, (WbbLoc){.file = s->at.file}, "the plan has no computation %s, which runs", c->name);
}

/* What no line names: a library call, a view of a value in memory, or nothing. */
static FuseRole role_left(const HloInstruction *i, const HloInstruction *loop)
{
    const FuseRole role = fuse_first_role(i);
    FuseSlab part;
    return role != FUSE_ROOT ? role : fuse_is_view(i) || fuse_is_slab(i, loop, &part) ? FUSE_ALIAS : FUSE_NOTHING;
}

void fuse_take_choices(const FuseHow *how, const FuseCut *cut)
{
    for (uint32_t k = 0; k < cut->n; k++)
        if (cut->steps[k].kind == FUSE_STEP_KERNEL) cut->steps[k].plan = *stated_for(how, cut->of, cut->steps[k].at);
}

FuseGrouping fuse_take_plan(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseStated *s)
{
    const Part *part = part_of(s, c);
    const HloInstruction *loop = fuse_loop_of(c);
    Taken t = {.cx = cx, .arena = a, .c = c, .named = {.arena = a},
               .roles = WBB_NEW_N(a, FuseRole, c->n_instructions + 1),
               .stamp = WBB_NEW_N(a, uint32_t, c->n_instructions + 1)};
    FuseGrouping g = {.groups = WBB_NEW_N(a, FuseGroup, part->of.n + 1), .roles = t.roles};
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        wbb_map_put_bytes(&t.named, i->name, strlen(i->name))->value = k + 1;
        t.roles[k] = role_left(i, loop);
    }
    for (uint32_t k = 0; k < part->of.n; k++) {
        const Item *x = &part->of.items[k];
        if (x->kind == KERNEL || x->members.n) {
            g.groups[g.n_groups] = take_kernel(&t, x, k + 1);
            if (x->kind == LIBRARY) be_library(&t, x, &g.groups[g.n_groups]);
            g.n_groups++;
            continue;
        }
        const HloInstruction *i = find(&t, &x->roots.items[0]);
        if (x->roots.n != 1 || fuse_first_role(i) != (x->kind == LIBRARY ? FUSE_LIBRARY : FUSE_FIXED))
            wbb_fail(cx, x->roots.items[0].at, "%s is no %s", i->name,
                     x->kind == LIBRARY ? "library call" : "fusion of the module");
    }
    return g;
}

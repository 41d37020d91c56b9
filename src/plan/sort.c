/* sort.c: sorts: what a block sorts in its shared memory, and the launches that merge what blocks have sorted.
 *
 * Needs the launch range of a sort (share.c), and its numbers by price (sort_choice.c); leaves its kernels. A row that
 * fits in the memory of a block is sorted by it, several short ones together. Of a longer one each block sorts a tile,
 * and each further launch merges neighbouring runs of the launch before, which are in temporaries. What moves is what
 * the comparator reads, the keys, and where it was in the row; other operands are read where that says, at the end.
 *
 *     sort(f32[8,100000], s32[8,100000]), {1}, by the first    =>   tiles of 8192, 13 a row; 4 launches that merge
 *     the first 10 of each row                                 =>   tiles of 1024; a launch that sorts 98 heads of 10
 */
#include "plan/sort.h"

/* Operands that the comparator reads. */
static void find_keys(WbbArena *a, PlanSort *s)
{
    const bool *reads = hlo_comparator_reads(a, s->i);
    s->keys = WBB_NEW_N(a, uint32_t, s->i->n_operands + 1);
    for (uint32_t k = 0; k < s->i->n_operands; k++)
        if (reads[k]) s->keys[s->n_keys++] = k;
}

/* Temporaries for the keys and positions of elements, twice: a launch reads one and writes the other. */
static void add_temporaries(WbbArena *a, Plan *p, PlanSort *s)
{
    const uint32_t before = p->n_operands + p->n_outputs;
    PlanBuffer *buffers = WBB_NEW_N(a, PlanBuffer, before + 4 * s->n_keys + 3);
    for (uint32_t k = 0; k < before; k++) buffers[k] = p->buffers[k];
    p->buffers = buffers;
    int64_t *dims = WBB_NEW_N(a, int64_t, HLO_RANK_LIMIT);
    for (uint32_t d = 0; d < plan_shape(s->i, 0)->rank; d++) dims[d] = plan_shape(s->i, 0)->dims[d];
    dims[s->dim] = s->room;
    const uint32_t sets = s->passes > 1 ? 2 : 1; /* one launch that reads what another has written */
    for (uint32_t set = 0; set < sets; set++) {
        s->temps[set] = before + p->n_temps;
        for (uint32_t k = 0; k <= s->n_keys; k++) {
            const ScType t = k < s->n_keys ? s->i->operands[s->keys[k]]->shape->type : s->position;
            for (uint32_t part = 0; part < plan_memory_parts(t); part++) {
                HloShape *shape = WBB_NEW(a, HloShape);
                *shape = *plan_shape(s->i, 0);
                shape->type = plan_memory_type(t), shape->dims = dims;
                buffers[before + p->n_temps] =
                    (PlanBuffer){.name = wbb_format(a, "sorted%u", p->n_temps), .shape = shape,
                                 .elements = s->rows * s->room, .alias = -1};
                p->n_temps++;
            }
        }
    }
}

bool plan_sort_fits(WbbArena *a, const HloInstruction *i, const TgTarget *t)
{
    PlanSort s = {.i = i, .position = SC_U32};
    find_keys(a, &s);
    return 2 * plan_sort_bytes(&s) <= tg_tuned(t, "layout.max_shared") && i->n_operands <= 64;
}

static void add_kernel(WbbCx *cx, WbbArena *a, Plan *p, const PlanRange *r, const PlanSort *s, const TgTarget *t,
                       int64_t blocks)
{
    PlanKernel *k = &p->kernels[p->n_kernels];
    if (blocks > INT32_MAX) wbb_decline(cx, s->i->loc, WHY_SIZE, "%lld blocks and more", (long long)INT32_MAX);
    PlanSort *sort = WBB_NEW(a, PlanSort);
    *sort = *s;
    *k = (PlanKernel){.n_ranges = 1, .block = (uint32_t)plan_sort_threads(s, t), .grid = (uint32_t)blocks,
                      .number = p->n_kernels};
    k->ranges = WBB_NEW(a, PlanRange);
    *k->ranges = *r;
    k->ranges->stages = WBB_NEW(a, PlanStage);
    *k->ranges->stages = r->stages[0];
    k->ranges->stages->sort = sort;
    k->ranges->blocks = k->grid;
    k->why_block = wbb_format(a, "%u elements a thread", 1u << s->bits);
    k->why_grid = !s->pass   ? "what a block's shared memory holds"
                  : s->group ? "as many heads a block as its shared memory holds"
                             : "a stretch of the merged run a block";
    p->n_kernels++;
}

void plan_sort(WbbCx *cx, WbbArena *a, Plan *p, const PlanRange *r, const TgTarget *t)
{
    const HloShape *shape = r->space;
    PlanSort s = {.i = r->hero, .dim = (uint32_t)r->hero->dimensions[0]};
    s.length = shape->dims[s.dim], s.rows = r->elements / s.length;
    s.first = r->first, s.stored = r->kept->dims[s.dim];
    s.position = s.length <= UINT16_MAX ? SC_U16 : SC_U32;
    find_keys(a, &s);
    plan_sort_word(&s);
    LayPrice *price = WBB_NEW(a, LayPrice);
    PlanRange priced = *r;
    priced.price = price;
    if (!plan_sort_choose(a, t, &s, price)) wbb_decline(cx, s.i->loc, WHY_SIZE, "no block holds two elements");
    const int64_t tiles = lay_up(s.length, s.tile), blocks = lay_up(s.rows, s.block_rows);
    if (s.passes) add_temporaries(a, p, &s);
    p->kernels = WBB_NEW_N(a, PlanKernel, s.passes + 1), p->n_kernels = 0;
    add_kernel(cx, a, p, &priced, &s, t, blocks * tiles);
    int64_t heads = tiles;
    for (s.pass = 1; s.pass <= s.passes; s.pass++) {
        heads = s.group ? lay_up(heads, s.group) : lay_up(s.length, s.merged);
        add_kernel(cx, a, p, &priced, &s, t, s.rows * heads);
    }
    p->kind = "sort";
    p->why_kind = !s.passes ? "a block sorts whole rows"
                  : s.group ? "blocks sort tiles of rows, and the heads of these are sorted again"
                            : "blocks sort tiles of rows, and further launches merge them";
}

void plan_print_sort(WbbBuf *out, const PlanSort *s)
{
    const HloShape *x = plan_shape(s->i, 0);
    wbb_putf(out, "  sort %%%s: %lld rows of %lld along dimension %u of ", s->i->name, (long long)s->rows,
             (long long)s->length, s->dim);
    hlo_print_shape(out, x);
    if (s->word) wbb_putf(out, "; %%%s%s a %s", s->word->name, s->position_bits ? " and the position are" : " is",
                          sc_type_info[s->position].name);
    if (s->pass && s->group) wbb_putf(out, "; sorts %lld heads of %lld\n", (long long)s->group, (long long)s->head);
    else if (s->pass) wbb_putf(out, "; merges runs of %lld\n", (long long)(s->tile << (s->pass - 1)));
    else if (s->passes) wbb_putf(out, "; tiles of %lld\n", (long long)s->tile);
    else wbb_putf(out, "; %lld rows a block\n", (long long)s->block_rows);
    if (s->pass == s->passes && s->stored < s->length)
        wbb_putf(out, "  places %lld .. %lld of each row are stored\n", (long long)s->first,
                 (long long)(s->first + s->stored));
}

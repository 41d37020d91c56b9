/* sort.c: sorts: what a block sorts in its shared memory, and the launches that merge what blocks have sorted.
 *
 * Needs the launch range of a sort (share.c); leaves its kernels. A row that fits in the memory of a block is sorted by
 * it, several short ones together. Of a longer one each block sorts a tile, and each further launch merges neighbouring
 * runs of the launch before, which are in temporaries. What moves is what the comparator reads, the keys, and where it
 * was in the row; other operands are read where that says, at the end.
 *
 *     sort(f32[8,100000], s32[8,100000]), {1}, by the first    =>   tiles of 8192, 13 a row; 4 launches that merge
 *     the first 10 of each row                                 =>   tiles of 1024; a launch that sorts 98 heads of 10
 */
#include "partition/sort.h"

enum {
    GROUP_BITS = 3,  /* 2^3 elements in the registers of a thread (emit/sort_network.c); */
    FEW_BITS = 2,    /* and 2^2 where a block waits more than it computes */
    LANES = 32, WAVEFRONT = 128, /* bytes */
    FEW_HEADS = 4,   /* a block sorts at least as many together */
    OF_PARTS = 1024  /* bytes of shared memory in which the threads that merge find their part */
};

ScType part_memory_type(ScType t)
{
    return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : ir_is_packed(t) ? SC_U8 : t;
}

uint32_t part_memory_parts(ScType t) { return sc_type_info[t].cls == 'C' ? 2 : 1; }

/* Operands that the comparator reads. */
static void find_keys(WbbArena *a, PartSort *s)
{
    const bool *reads = hlo_comparator_reads(a, s->i);
    s->keys = WBB_NEW_N(a, uint32_t, s->i->n_operands + 1);
    for (uint32_t k = 0; k < s->i->n_operands; k++)
        if (reads[k]) s->keys[s->n_keys++] = k;
}

/* Bytes of an element in the memory of a block. */
static int64_t bytes_of(const PartSort *s)
{
    int64_t bytes = sc_bytes(s->position);
    for (uint32_t k = 0; k < s->n_keys; k++) {
        const ScType t = s->i->operands[s->keys[k]]->shape->type;
        bytes += (int64_t)part_memory_parts(t) * sc_bytes(part_memory_type(t));
    }
    return bytes;
}

static int64_t power_up(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Threads for so many places of a block. */
static int64_t threads_of(const PartSort *s, int64_t places)
{
    return WBB_MAX(WBB_MIN(places >> s->bits, TG_MAX_THREADS), LANES);
}

/* --- the tile ----------------------------------------------------------------------------------------------------- */
/* Rounds of a block that puts so many places in order, of s->bits steps each (emit/sort_network.c). */
static int64_t rounds_of_block(const PartSort *s, int64_t places)
{
    int64_t rounds = 0, stretch = 0;
    for (int64_t n = 1; n < places; n *= 2) stretch++, rounds += part_up(stretch, s->bits);
    return rounds;
}

/* Of so many places the first ones that are kept, if `head` are needed: all, unless few are (emit/sort_heads.c). */
static int64_t kept_of(int64_t head, int64_t places)
{
    const int64_t kept = WBB_MAX(power_up(head), 1ll << PART_SORT_BITS);
    return 4 * kept <= places ? kept : places;
}

int64_t part_sort_kept(const PartSort *s, int64_t places)
{
    return s->passes && !s->group ? places : kept_of(s->first + s->stored, places);
}

/* Clocks of a launch whose blocks sort so many places each, in rows of so many, of which the first ones are kept, `all`
 * together: as fast as pipes and shared memory are, and half of what a block waits for itself. An iteration that halves
 * the elements has a round, and those of the steps that are left; all of them are worth two of such iterations. */
static double clocks_of(const PartSort *s, const TgTarget *t, int64_t places, int64_t row, int64_t kept, double all)
{
    const char *name = !s->word ? "sort.exchange" : s->position == SC_U32 ? "sort.word32" : "sort.word64";
    double rounds = (double)rounds_of_block(s, kept), worth = rounds, left = 1 - (double)s->bits;
    for (int64_t n = 1; n < kept; n *= 2) left++;
    const double iteration = 1 + (double)part_up((int64_t)left, s->bits);
    for (int64_t n = kept; n < row; n *= 2) rounds += iteration;
    if (kept < row) worth += 2 * iteration;
    const double exchanges = (double)s->bits / 64 * (double)tg_tuned(t, name);
    const double each = worth * (exchanges + 2 * (double)bytes_of(s) / WAVEFRONT); /* an element, of an SM */
    const double of_thread = (1 + 2 * (double)(s->bits << s->bits) / (GROUP_BITS << GROUP_BITS)) / 3;
    const double alone = rounds * of_thread * (double)tg_tuned(t, "sort.round");
    return WBB_MAX(each * all / (double)t->sms, WBB_MAX(each * (double)places, alone)) + alone / 2;
}

/* Heads of tiles, or of groups of them, that a block of `most` places sorts; 0: it has no place for several, tiles are
 * shorter, or one is a row. */
static int64_t group_of(const PartSort *s, int64_t tile, int64_t most)
{
    const int64_t head = s->first + s->stored, group = most / head;
    return group < FEW_HEADS || tile < head || tile >= s->length ? 0 : WBB_MIN(group, part_up(s->length, tile));
}

/* Seconds of all launches if a block sorts `places` places, of `most` that it has. */
static double price_of(const PartSort *s, const TgTarget *t, int64_t places, int64_t most)
{
    const double all = (double)power_up(s->length) * (double)s->rows, launch = tg_rate(t, "launch")->value;
    int64_t heads = part_up(s->length, places);
    const int64_t group = group_of(s, places, most), head = s->first + s->stored;
    double clocks = clocks_of(s, t, places, places, heads > 1 && !group ? places : kept_of(head, places), all);
    double seconds = launch;
    for (; heads > 1 && group; heads = part_up(heads, group), seconds += launch) {
        const int64_t in_block = power_up(group * head), kept = kept_of(head, in_block);
        clocks += clocks_of(s, t, in_block, in_block, kept, (double)(s->rows * part_up(heads, group) * in_block));
    }
    for (int64_t run = places; run < s->length && !group; run *= 2, seconds += launch)
        clocks += WBB_MAX(all / 64 / (double)t->sms * (double)tg_tuned(t, "sort.merge_warp"),
                          (double)tg_tuned(t, "sort.merge"));
    return seconds + clocks / tg_rate(t, "clock")->value;
}

/* Elements of a row that a block sorts, where it has `most` places. */
static int64_t tile_of(const PartSort *s, const TgTarget *t, int64_t most)
{
    int64_t best = WBB_MIN(power_up(s->length), most);
    for (int64_t places = best / 2; places >= tg_tuned(t, "sort.elements"); places /= 2)
        if (price_of(s, t, places, most) < price_of(s, t, best, most)) best = places;
    return WBB_MIN(best, s->length);
}

/* Sets how many elements a thread has, the more the more work there is for all, and how many a block sorts. */
static void choose_tile(PartSort *s, const TgTarget *t, int64_t most)
{
    const uint32_t most_bits = s->word ? PART_SORT_BITS : s->bits, fewest = WBB_MIN(s->bits, FEW_BITS);
    uint32_t bits = fewest;
    double least = 0;
    for (s->bits = fewest; s->bits <= most_bits; s->bits++) {
        const double seconds = price_of(s, t, power_up(tile_of(s, t, most)), most);
        if (s->bits == fewest || seconds < least) least = seconds, bits = s->bits;
    }
    s->bits = bits;
    s->tile = tile_of(s, t, most);
}

/* Clocks for the keys of all rows, read so many times. */
static double waited(const PartSort *s, const TgTarget *t, int64_t times)
{
    const double bytes = (double)(s->rows * s->length * bytes_of(s) * times);
    return bytes / tg_rate(t, "l2")->value * tg_rate(t, "clock")->value;
}

/* Rows of a block: neighbours in memory where rows are not, and so many that a block has work, as long as there are
 * blocks for all SMs. */
static int64_t rows_of_block(const PartSort *s, const TgTarget *t, int64_t most)
{
    const bool minor = part_shape(s->i, 0)->minor_to_major[0] == s->dim;
    const int64_t side = minor ? 1 : tg_tuned(t, "sort.rows");
    const int64_t row = power_up(s->length), wanted = WBB_MAX(tg_tuned(t, "sort.elements") / row, side);
    const double all = (double)row * (double)s->rows;
    const int64_t kept = kept_of(s->first + s->stored, row);
    int64_t rows = 1, best = 1;
    double least = 0;
    for (; rows <= wanted && rows * row <= most && rows < 2 * s->rows; rows *= 2) {
        const double clocks = clocks_of(s, t, rows * row, row, kept, all) + waited(s, t, side / WBB_MIN(rows, side));
        if (rows == 1 || rows * row <= LANES << s->bits || clocks < least) least = clocks, best = rows;
    }
    return best;
}

/* Temporaries for the keys and positions of elements, twice: a launch reads one and writes the other. */
static void add_temporaries(WbbArena *a, PartPlan *p, PartSort *s)
{
    const uint32_t before = p->n_operands + p->n_outputs;
    PartBuffer *buffers = WBB_NEW_N(a, PartBuffer, before + 4 * s->n_keys + 3);
    for (uint32_t k = 0; k < before; k++) buffers[k] = p->buffers[k];
    p->buffers = buffers;
    int64_t *dims = WBB_NEW_N(a, int64_t, HLO_RANK_LIMIT);
    for (uint32_t d = 0; d < part_shape(s->i, 0)->rank; d++) dims[d] = part_shape(s->i, 0)->dims[d];
    dims[s->dim] = s->room;
    const uint32_t sets = s->passes > 1 ? 2 : 1; /* one launch that reads what another has written */
    for (uint32_t set = 0; set < sets; set++) {
        s->temps[set] = before + p->n_temps;
        for (uint32_t k = 0; k <= s->n_keys; k++) {
            const ScType t = k < s->n_keys ? s->i->operands[s->keys[k]]->shape->type : s->position;
            for (uint32_t part = 0; part < part_memory_parts(t); part++) {
                HloShape *shape = WBB_NEW(a, HloShape);
                *shape = *part_shape(s->i, 0);
                shape->type = part_memory_type(t), shape->dims = dims;
                buffers[before + p->n_temps] =
                    (PartBuffer){.name = wbb_format(a, "sorted%u", p->n_temps), .shape = shape,
                                 .elements = s->rows * s->room, .alias = -1};
                p->n_temps++;
            }
        }
    }
}

bool part_sort_fits(WbbArena *a, const HloInstruction *i, const TgTarget *t)
{
    PartSort s = {.i = i, .position = SC_U32};
    find_keys(a, &s);
    return 2 * bytes_of(&s) <= tg_tuned(t, "layout.max_shared") && i->n_operands <= 64;
}

static void add_kernel(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *r, const PartSort *s, int64_t threads,
                       int64_t blocks)
{
    PartKernel *k = &p->kernels[p->n_kernels];
    if (blocks > INT32_MAX) wbb_decline(cx, s->i->loc, WHY_SIZE, "%lld blocks and more", (long long)INT32_MAX);
    PartSort *sort = WBB_NEW(a, PartSort);
    *sort = *s;
    *k = (PartKernel){.n_ranges = 1, .block = (uint32_t)threads, .grid = (uint32_t)blocks, .number = p->n_kernels};
    k->ranges = WBB_NEW(a, PartRange);
    *k->ranges = *r;
    k->ranges->stages = WBB_NEW(a, PartStage);
    *k->ranges->stages = r->stages[0];
    k->ranges->stages->sort = sort;
    k->ranges->blocks = k->grid;
    k->why_block = wbb_format(a, "%u elements a thread", 1u << s->bits);
    k->why_grid = !s->pass   ? "what a block's shared memory holds"
                  : s->group ? "as many heads a block as its shared memory holds"
                             : "a stretch of the merged run a block";
    p->n_kernels++;
}

void part_sort(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *r, const TgTarget *t)
{
    const HloShape *shape = r->space;
    PartSort s = {.i = r->hero, .dim = (uint32_t)r->hero->dimensions[0]};
    s.length = shape->dims[s.dim], s.rows = r->elements / s.length;
    s.first = r->first, s.stored = r->kept->dims[s.dim];
    s.position = s.length <= UINT16_MAX ? SC_U16 : SC_U32;
    find_keys(a, &s);
    for (s.bits = 1; s.bits < GROUP_BITS && (s.n_keys + 1) << (s.bits + 1) <= tg_tuned(t, "sort.values");) s.bits++;
    part_sort_word(&s);
    const int64_t most = part_power_below(tg_tuned(t, "layout.max_shared") / bytes_of(&s)); /* places of a block */
    choose_tile(&s, t, most);
    s.block_rows = s.tile < s.length ? 1 : rows_of_block(&s, t, most);
    const int64_t tiles = part_up(s.length, s.tile), blocks = part_up(s.rows, s.block_rows);
    s.group = group_of(&s, s.tile, most), s.head = s.group ? s.first + s.stored : 0;
    if (s.group)
        for (int64_t heads = tiles; heads > 1; heads = part_up(heads, s.group)) s.passes++;
    else
        for (int64_t run = s.tile; run < s.length; run *= 2) s.passes++;
    s.room = s.group ? WBB_MIN(tiles * s.head, s.length) : s.length;
    if (s.passes) add_temporaries(a, p, &s);
    p->kernels = WBB_NEW_N(a, PartKernel, s.passes + 1), p->n_kernels = 0;
    add_kernel(cx, a, p, r, &s, threads_of(&s, power_up(s.tile) * s.block_rows), blocks * tiles);
    s.merged = part_power_below((tg_tuned(t, "layout.max_shared") - OF_PARTS) / bytes_of(&s));
    s.merged = s.group ? power_up(s.group * s.head) : WBB_MIN(s.merged, WBB_MIN(s.tile, tg_tuned(t, "sort.merged")));
    int64_t heads = tiles;
    for (s.pass = 1; s.pass <= s.passes; s.pass++) {
        heads = s.group ? part_up(heads, s.group) : part_up(s.length, s.merged);
        add_kernel(cx, a, p, r, &s, threads_of(&s, s.merged), s.rows * heads);
    }
    p->kind = "sort";
    p->why_kind = !s.passes ? "a block sorts whole rows"
                  : s.group ? "blocks sort tiles of rows, and the heads of these are sorted again"
                            : "blocks sort tiles of rows, and further launches merge them";
}

void part_print_sort(WbbBuf *out, const PartSort *s)
{
    const HloShape *x = part_shape(s->i, 0);
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

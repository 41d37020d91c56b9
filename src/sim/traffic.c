/* traffic: what one request of a warp touches: sectors, lines and banks.
 *
 * Needs: the addresses of its lanes. Leaves: the different sectors, and how many wavefronts the request takes and
 * would take at best.
 *
 * A request is one instruction of one warp. In global memory it touches sectors of 32 bytes and takes a wavefront
 * for each line of 128 bytes, or as many as in shared memory if those are more; at best both hold nothing but bytes
 * that were asked for. Local memory is interleaved as
 * on hardware: word w of lane l lies at 4 * (32 * w + l). Shared memory has 32 banks of 4 bytes; lanes are served 32
 * at a time for up to 4 bytes, 16 for 8, 8 for 16. Each such part takes as many wavefronts as the fullest bank has
 * different words. Atomic operations of lanes at one address follow each other there; where the assembler makes a loop
 * of one, its iterations are a load and a swap each, in which one lane of each address succeeds.
 *
 *     ld.global.v4.b32 by 32 lanes 16 bytes apart: 16 sectors, all needed; 4 wavefronts
 *     ld.global.b32 by 32 lanes 8 bytes apart: 8 sectors, of which 4 would do; 2 wavefronts, at best 1
 *     ld.global.v4.b32 by 32 lanes from the same 16 bytes: 1 sector; 4 wavefronts, at best 1
 *     ld.shared.b32 by 32 lanes 8 bytes apart: 2 wavefronts, at best 1
 *     atom.shared.add.u32 by 32 lanes at 4 addresses: 8 wavefronts; atom.shared.add.f32: 8 iterations of 2
 */
#include "sim/inner.h"

enum { BANKS = 32, WORD = 4 };

/* Add a number that may be there already; those of lanes are mostly ascending. */
static int add_number(uint64_t *items, int n, uint64_t *most, uint64_t x)
{
    if (n && x <= *most)
        for (int i = n - 1; i >= 0; i--)
            if (items[i] == x) return n;
    if (n < SIM_MOST_SECTORS) items[n++] = x;
    *most = n == 1 ? x : WBB_MAX(x, *most);
    return n;
}

static uint64_t parts_of(uint64_t bytes, uint64_t size) { return (bytes + size - 1) / size; }

/* The lines of these sectors, which are mostly ascending. */
static uint64_t lines_of(const Touched *t)
{
    uint64_t line[SIM_MOST_SECTORS], most = 0;
    int n = 0;
    for (int i = 0; i < t->n; i++) n = add_number(line, n, &most, t->sector[i] / (SIM_LINE / SIM_SECTOR));
    return (uint64_t)n;
}

/* Different addresses. Lanes of one request access equally many bytes, which are aligned: they overlap whole or not
 * at all. */
static uint64_t addresses_of(const uint64_t address[LANES], uint32_t mask)
{
    uint64_t found[SIM_MOST_SECTORS], most = 0;
    int n = 0;
    for (; mask; mask &= mask - 1) n = add_number(found, n, &most, address[__builtin_ctz(mask)]);
    return (uint64_t)n;
}

WBB_CLONES static bool all_in_a_row(const uint64_t address[LANES], uint64_t size)
{
    const uint64_t first = address[0];
    uint64_t differ = 0;
    for (uint64_t l = 0; l < LANES; l++) differ |= address[l] - first - l * size;
    return !differ;
}

/* Wavefronts of the lanes that are served at one time. */
static uint64_t wavefronts_of(const uint64_t address[LANES], uint32_t mask, uint64_t size)
{
    uint64_t words[SIM_MOST_SECTORS], last = 0;
    int n = 0;
    uint8_t in_bank[BANKS] = {0}, most = 0;
    for (; mask; mask &= mask - 1) {
        const uint64_t at = address[__builtin_ctz(mask)];
        for (uint64_t w = at / WORD; w <= (at + size - 1) / WORD; w++) n = add_number(words, n, &last, w);
    }
    for (int i = 0; i < n; i++) {
        uint8_t *bank = &in_bank[words[i] % BANKS];
        *bank = (uint8_t)(*bank + 1);
        most = WBB_MAX(most, *bank);
    }
    return most;
}

/* Lanes that are served at one time. */
static int lanes_of(size_t size) { return size <= 4 ? 32 : size == 8 ? 16 : 8; }

/* Wavefronts of all parts of a request. parts: of them, those in which a lane takes part. */
static uint64_t by_banks(const uint64_t address[LANES], uint32_t mask, size_t size, uint64_t *parts)
{
    const int lanes = lanes_of(size);
    uint64_t n = 0;
    *parts = 0;
    for (int l = 0; l < LANES; l += lanes) {
        const uint32_t some = mask & (lanes == 32 ? FULL : ((1u << lanes) - 1) << l);
        if (!some) continue;
        n += wavefronts_of(address, some, size);
        ++*parts;
    }
    return n;
}

Touched sim_touched(const uint64_t address[LANES], uint32_t mask, size_t size)
{
    Touched t;
    t.n = 0;
    if (mask == FULL && all_in_a_row(address, size)) {
        const uint64_t end = (address[0] + LANES * size - 1) / SIM_SECTOR;
        for (uint64_t s = address[0] / SIM_SECTOR; s <= end; s++) t.sector[t.n++] = s;
        t.needed = parts_of(LANES * size, SIM_SECTOR);
        t.ideal = parts_of(LANES * size, SIM_LINE);
        t.wavefronts = end / (SIM_LINE / SIM_SECTOR) - address[0] / SIM_LINE + 1;
        return t;
    }
    uint64_t most = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint64_t at = address[__builtin_ctz(rest)];
        t.n = add_number(t.sector, t.n, &most, at / SIM_SECTOR);
        if ((at + size - 1) / SIM_SECTOR != at / SIM_SECTOR)
            t.n = add_number(t.sector, t.n, &most, (at + size - 1) / SIM_SECTOR);
    }
    const uint64_t bytes = addresses_of(address, mask) * size;
    uint64_t parts;
    t.needed = parts_of(bytes, SIM_SECTOR);
    t.ideal = parts_of(bytes, SIM_LINE);
    t.wavefronts = WBB_MAX(lines_of(&t), by_banks(address, mask, size, &parts));
    return t;
}

/* Each word of the lanes is a request of its own, whose lines have a word of each lane. */
Touched sim_touched_local(const uint64_t address[LANES], uint32_t mask, size_t size)
{
    Touched all;
    uint64_t placed[LANES];
    all.n = 0;
    all.needed = all.wavefronts = all.ideal = 0;
    for (uint64_t at = 0; at < size; at += WORD) {
        for (uint64_t l = 0; l < LANES; l++) placed[l] = ((address[l] + at) / WORD * LANES + l) * WORD;
        const Touched t = sim_touched(placed, mask, WORD);
        all.n += t.n;
        all.needed += t.needed, all.wavefronts += t.wavefronts, all.ideal += t.ideal;
    }
    return all;
}

Touched sim_touched_banks(const uint64_t address[LANES], uint32_t mask, size_t size, uint64_t *parts)
{
    Touched t;
    t.n = 0;
    t.needed = 0;
    t.wavefronts = by_banks(address, mask, size, parts);
    t.ideal = parts_of(addresses_of(address, mask) * size, SIM_LINE);
    return t;
}

/* Lanes of one address follow each other. */
static uint64_t each_lane(const uint64_t address[LANES], uint32_t mask, size_t size)
{
    uint64_t in_bank[BANKS] = {0}, most = 0;
    for (; mask; mask &= mask - 1) {
        const uint64_t first = address[__builtin_ctz(mask)] / WORD;
        for (uint64_t w = first; w < first + (size + WORD - 1) / WORD; w++) {
            in_bank[w % BANKS]++;
            most = WBB_MAX(most, in_bank[w % BANKS]);
        }
    }
    return most;
}

/* One lane of each address. */
static uint32_t one_each(const uint64_t address[LANES], uint32_t mask)
{
    uint64_t seen[LANES];
    uint32_t n = 0, found = 0;
    for (; mask; mask &= mask - 1) {
        const uint64_t at = address[__builtin_ctz(mask)];
        uint32_t k = 0;
        while (k < n && seen[k] != at) k++;
        if (k == n) seen[n++] = at, found |= mask & -mask;
    }
    return found;
}

Touched sim_updated_banks(const uint64_t address[LANES], uint32_t mask, size_t size, bool loops,
                          uint64_t *iterations)
{
    uint64_t parts;
    Touched t = sim_touched_banks(address, mask, size, &parts);
    *iterations = 0;
    if (!loops) {
        t.wavefronts = each_lane(address, mask, size);
        return t;
    }
    for (t.wavefronts = 0; mask; mask &= ~one_each(address, mask), ++*iterations)
        t.wavefronts += 2 * by_banks(address, mask, size, &parts); /* a load, and a swap that one lane of each makes */
    return t;
}

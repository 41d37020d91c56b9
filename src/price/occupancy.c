/* occupancy: how many blocks of a launch an SM holds at a time.
 *
 * Needs: threads, registers and shared memory of a block, and the limits of the target. Leaves: blocks, and the limit
 * that they hit.
 *
 * Registers are given to warps in units of 256, shared memory to blocks in units of 128 bytes; from sm_80 on the driver
 * takes 1024 bytes of each block's (CUDA C++ Programming Guide, compute capabilities).
 *
 *     128 threads of 40 registers on sm_90: 5 * 256 registers a warp, 12 blocks of 4 warps; limit: registers
 */
#include "price/price.h"

_Static_assert((int)TG_MAX_THREADS == (int)BD_MAX_THREADS, "bundles and targets have the same blocks");

enum { WARP_REGISTERS = 256, SHARED_UNIT = 128, DRIVER_SHARED = 1024, FIRST_WITH_DRIVER_SHARED = 80 };

static uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

static void bound(PriceOccupancy *o, uint64_t blocks, const char *limit)
{
    if (blocks >= o->blocks) return;
    o->blocks = (uint32_t)blocks;
    o->limit = limit;
}

static uint64_t warps_of(const TgTarget *t, uint64_t threads) { return WBB_MAX((threads + t->warp - 1) / t->warp, 1); }

/* Of blocks, 0 where not even one fits. */
static PriceOccupancy held(const TgTarget *t, uint64_t threads, uint64_t regs, uint64_t shared)
{
    const uint64_t warps = warps_of(t, threads);
    const bool driver = bd_target_number(t->name) >= FIRST_WITH_DRIVER_SHARED;
    const uint64_t taken = round_up(shared, SHARED_UNIT) + (driver ? DRIVER_SHARED : 0);
    PriceOccupancy o = {.blocks = t->blocks, .limit = "blocks", .most = t->warps};
    bound(&o, t->warps / warps, "warps");
    if (taken) bound(&o, t->sm_smem / taken, "shared memory");
    if (regs) bound(&o, t->sm_regs / (round_up(regs * t->warp, WARP_REGISTERS) * warps), "registers");
    return o;
}

bool price_fits(const TgTarget *t, uint64_t blocks, uint64_t threads, uint64_t regs, uint64_t shared)
{
    return held(t, threads, regs, shared).blocks >= blocks;
}

uint32_t price_most_registers(const TgTarget *t, uint64_t threads)
{
    const uint64_t of_warp = t->sm_regs / warps_of(t, threads) / WARP_REGISTERS * WARP_REGISTERS;
    return (uint32_t)WBB_MIN(of_warp / t->warp, t->regs);
}

PriceOccupancy price_occupancy(const TgTarget *t, uint64_t threads, uint64_t grid, uint64_t regs, uint64_t shared)
{
    PriceOccupancy o = held(t, threads, regs, shared);
    o.blocks = WBB_MAX(o.blocks, 1); /* ptxas or the driver refuse what does not fit */
    o.warps = (uint32_t)(o.blocks * warps_of(t, threads));
    o.together = (uint64_t)o.blocks * t->sms;
    o.waves = WBB_MAX((double)grid / (double)o.together, 1);
    return o;
}

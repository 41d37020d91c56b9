/* occupancy: how many blocks of a launch an SM holds at a time.
 *
 * Needs: a launch, registers of a thread, and the limits of the target. Leaves: blocks, and the limit that they hit.
 *
 * Registers are given to warps in units of 256, shared memory to blocks in units of 128 bytes; from sm_80 on the driver
 * takes 1024 bytes of each block's (CUDA C++ Programming Guide, compute capabilities).
 *
 *     128 threads of 40 registers on sm_90: 5 * 256 registers a warp, 12 blocks of 4 warps; limit: registers
 */
#include "price/price.h"

_Static_assert((int)TG_MAX_THREADS == (int)BD_MAX_THREADS, "bundles and targets have the same blocks");

enum { WARP = 32, WARP_REGISTERS = 256, SHARED_UNIT = 128, DRIVER_SHARED = 1024, FIRST_WITH_DRIVER_SHARED = 80 };

static uint64_t round_up(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

static void bound(PriceOccupancy *o, uint64_t blocks, const char *limit)
{
    if (blocks >= o->blocks) return;
    o->blocks = (uint32_t)blocks;
    o->limit = limit;
}

PriceOccupancy price_occupancy(const PriceKernel *k)
{
    const TgTarget *t = k->target;
    const BdLaunch *l = k->launch;
    const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2], warps = (threads + WARP - 1) / WARP;
    const uint64_t grid = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    const bool driver = bd_target_number(t->name) >= FIRST_WITH_DRIVER_SHARED;
    const uint64_t shared =
        round_up(k->static_shared + (uint64_t)l->shared, SHARED_UNIT) + (driver ? DRIVER_SHARED : 0);
    PriceOccupancy o = {.blocks = t->blocks, .limit = "blocks", .most = t->warps};
    bound(&o, t->warps / WBB_MAX(warps, 1), "warps");
    if (shared) bound(&o, t->sm_smem / shared, "shared memory");
    if (k->regs) bound(&o, t->sm_regs / (round_up((uint64_t)k->regs * WARP, WARP_REGISTERS) * warps), "registers");
    o.blocks = WBB_MAX(o.blocks, 1); /* ptxas or the driver refuse what does not fit */
    o.warps = (uint32_t)(o.blocks * warps);
    o.together = (uint64_t)o.blocks * t->sms;
    o.waves = WBB_MAX((double)grid / (double)o.together, 1);
    return o;
}

/* limits: what a target's hardware takes, as far as a launch asks for it.
 *
 * Needs: a target's name or number. Leaves: numbers that read.c and the simulator hold launches against.
 *
 *     "sm_90a"   ->   90   ->   232448 bytes of shared memory for a block
 */
#include "bundle/bundle.h"

#include <stdlib.h>
#include <string.h>

int bd_target_number(const char *target)
{
    return strncmp(target, "sm_", 3) ? 0 : (int)strtol(target + 3, NULL, 10);
}

/* CUDA C++ programming guide, technical specifications by compute capability. */
int64_t bd_most_shared(int target)
{
    static const struct {
        int target, kib;
    } limits[] = {{70, 96}, {72, 96}, {75, 64}, {80, 163}, {86, 99}, {87, 163}, {88, 99}, {89, 99}, {120, 99}, {121, 99}};
    for (size_t i = 0; i < WBB_LEN(limits); i++)
        if (limits[i].target == target) return (int64_t)limits[i].kib << 10;
    return (int64_t)(target && target < 70 ? 48 : 227) << 10;
}

/* columns: filling a column of 32 lanes, and changing some of its lanes.
 *
 * Needs: nothing. Leaves: changed columns.
 *
 *     sim_fill(d, 7, 4); sim_blend(d, s, 0xffff, 4);   ->   lanes 0 to 15 have the value of s, lanes 16 to 31 have 7
 */
#include "sim/lanes.h"

void sim_fill(uint8_t *col, uint64_t value, int width)
{
    switch (width) {
    case 4:
        for (int l = 0; l < LANES; l++) memcpy(col + 4 * l, &value, 4);
        break;
    case 8:
        for (int l = 0; l < LANES; l++) memcpy(col + 8 * l, &value, 8);
        break;
    default:
        for (int l = 0; l < LANES; l++) memcpy(col + (size_t)l * (size_t)width, &value, (size_t)width);
    }
}

/* Lanes of `mask` take the value of `s`. */
#define BLEND(T)                                                                                                         \
    {                                                                                                                    \
        T *to = (T *)(void *)d;                                                                                          \
        const T *from = (const T *)(const void *)s;                                                                      \
        SIM_EACH to[l] = mask >> l & 1 ? from[l] : to[l];                                                                \
        break;                                                                                                           \
    }

WBB_CLONES void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width)
{
    switch (width) {
    case 1: BLEND(u8)
    case 2: BLEND(u16)
    case 4: BLEND(u32)
    default: BLEND(u64)
    }
}

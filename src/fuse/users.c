/* users: which instructions use which, and lists of instructions in their order.
 *
 * Needs: a computation. Leaves: its users as one array.
 *
 *     users[first[i]] .. users[first[i + 1] - 1]     the ids of those that have instruction i as an operand
 */
#include "fuse/priced.h"

#include <stdlib.h>

void fuse_find_users(WbbArena *a, const HloComputation *c, uint32_t **first, uint32_t **users)
{
    const uint32_t n = c->n_instructions;
    uint32_t *at = *first = WBB_NEW_N(a, uint32_t, n + 2);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < c->instructions[i]->n_operands; k++) at[c->instructions[i]->operands[k]->id + 2]++;
    for (uint32_t i = 2; i < n + 2; i++) at[i] += at[i - 1];
    *users = WBB_NEW_N(a, uint32_t, at[n + 1] + 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < c->instructions[i]->n_operands; k++)
            (*users)[at[c->instructions[i]->operands[k]->id + 1]++] = i;
}

static int by_id(const void *x, const void *y)
{
    const uint32_t a = (*(const HloInstruction *const *)x)->id, b = (*(const HloInstruction *const *)y)->id;
    return a < b ? -1 : a > b;
}

void fuse_sort(const HloInstruction **list, uint32_t n) { qsort(list, n, sizeof *list, by_id); }

/* layout: converts between logical row-major order and the physical order of a buffer.
 *
 * Needs: elements in one order. Leaves: them in the other. A buffer's minor_to_major lists its dimensions from the
 * fastest to the slowest; types under 8 bits are packed in it, the first element in the low bits, while logical arrays
 * have a byte per element.
 *
 *     dims [2,3], minor_to_major [0,1]: logical a00 a01 a02 a10 a11 a12  ->  a00 a10 a01 a11 a02 a12
 */
#include "bundle/bundle.h"

#include <string.h>

bool bd_may_share(const BdBuffer *output, int operand)
{
    if (output->init == BD_INIT_COPY) return output->copy_of == operand;
    for (int k = 0; k < output->n_may_alias; k++)
        if (output->may_alias[k] == operand) return true;
    return false;
}

int64_t bd_elements(const int64_t *dims, int rank)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    return n;
}

int64_t bd_logical_index(const BdBuffer *d, int64_t physical)
{
    int64_t index[BD_MAX_RANK] = {0}, logical = 0;
    for (int i = 0; i < d->rank; i++) {
        index[d->minor_to_major[i]] = physical % d->dims[d->minor_to_major[i]];
        physical /= d->dims[d->minor_to_major[i]];
    }
    for (int i = 0; i < d->rank; i++) logical = logical * d->dims[i] + index[i];
    return logical;
}

bool bd_row_major(const BdBuffer *b)
{
    for (int i = 0; i < b->rank; i++)
        if (b->minor_to_major[i] != b->rank - 1 - i) return false;
    return true;
}

/* An iterator over all elements in logical order, with their physical indices. */
typedef struct {
    int64_t index[BD_MAX_RANK], stride[BD_MAX_RANK], physical;
} Walk;

static Walk walk(const BdBuffer *b)
{
    Walk w = {.physical = 0};
    int64_t stride = 1;
    for (int i = 0; i < b->rank; i++) {
        w.stride[b->minor_to_major[i]] = stride;
        stride *= b->dims[b->minor_to_major[i]];
    }
    return w;
}

static void step(Walk *w, const BdBuffer *b)
{
    for (int i = b->rank - 1; i >= 0; i--) {
        w->physical += w->stride[i];
        if (++w->index[i] < b->dims[i]) return;
        w->physical -= w->stride[i] * b->dims[i];
        w->index[i] = 0;
    }
}

void bd_to_physical(WbbCx *cx, const BdBuffer *b, const void *logical, void *physical)
{
    int64_t n = bd_elements(b->dims, b->rank);
    size_t size = (size_t)bd_npy_bytes(b->type);
    if (!size) wbb_fail(cx, (WbbLoc){0}, "type %s has no file format", b->type);
    const uint8_t *from = logical;
    uint8_t *to = physical;
    if (b->bits >= 8 && bd_row_major(b)) {
        if (n) memcpy(to, from, (size_t)n * size);
        return;
    }
    Walk w = walk(b);
    if (b->bits < 8 && b->bytes) memset(to, 0, (size_t)b->bytes);
    int per_byte = b->bits < 8 ? 8 / b->bits : 1;
    for (int64_t i = 0; i < n; i++, step(&w, b)) {
        if (b->bits >= 8) memcpy(to + (size_t)w.physical * size, from + (size_t)i * size, size);
        else
            to[w.physical / per_byte] |= (uint8_t)((from[i] & ((1u << b->bits) - 1))
                                                   << (w.physical % per_byte * b->bits));
    }
}

void bd_to_logical(WbbCx *cx, const BdBuffer *b, const void *physical, void *logical)
{
    int64_t n = bd_elements(b->dims, b->rank);
    size_t size = (size_t)bd_npy_bytes(b->type);
    if (!size) wbb_fail(cx, (WbbLoc){0}, "type %s has no file format", b->type);
    const uint8_t *from = physical;
    uint8_t *to = logical;
    if (b->bits >= 8 && bd_row_major(b)) {
        if (n) memcpy(to, from, (size_t)n * size);
        return;
    }
    Walk w = walk(b);
    int per_byte = b->bits < 8 ? 8 / b->bits : 1;
    for (int64_t i = 0; i < n; i++, step(&w, b)) {
        if (b->bits >= 8) {
            memcpy(to + (size_t)i * size, from + (size_t)w.physical * size, size);
            continue;
        }
        uint32_t v = (uint32_t)from[w.physical / per_byte] >> (w.physical % per_byte * b->bits) & ((1u << b->bits) - 1);
        bool negative = b->type[0] == 's' && v >> (b->bits - 1);
        to[i] = (uint8_t)(negative ? v | 0xffu << b->bits : v);
    }
}

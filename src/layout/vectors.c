/* vectors.c: the widest vectors of neighbours along a dimension.
 *
 * Needs the accesses of the work; leaves numbers of elements, powers of two that divide the dimension. An access takes
 * 16 bytes (32 on sm_100) of as many neighbours as its alignment allows. Of several arrays the narrowest type has the
 * widest vectors: a row of f32 under a mask of bytes has 16, of which each thread stores four parts of sectors, so
 * those of the array with the most bytes are worth trying, too.
 *
 *     softmax of f32[4096,4096] under pred[4096,4096]: widest 16, of the most bytes 4
 */
#include "layout/pricing.h"

bool lay_is_contiguous(const LayWork *w, uint32_t d)
{
    for (uint32_t k = 0; k < w->n_loads; k++)
        if (w->loads[k].step[d] == 1) return true;
    return false;
}

static int64_t of_access(const TgTarget *t, const LayAccess *x)
{
    return WBB_MIN(8 * (int64_t)t->vector_bytes / x->bits, x->align);
}

/* What divides the dimension, and takes packed elements whole. */
static int64_t fitting(const LayWork *w, uint32_t d, int64_t vector)
{
    while (vector > 1 && w->dims[d].size % vector) vector /= 2;
    vector = WBB_MIN(vector, LAY_MAX_FACTOR);
    return d == w->n_dims - 1 ? WBB_MAX(vector, (int64_t)w->packed_group) : vector;
}

int64_t lay_widest_vector(const LayWork *w, const TgTarget *t, uint32_t d)
{
    int64_t widest = 1;
    for (uint32_t k = 0; k < w->n_loads; k++)
        if (w->loads[k].step[d] == 1) widest = WBB_MAX(widest, of_access(t, &w->loads[k]));
    return fitting(w, d, widest);
}

int64_t lay_main_vector(const LayWork *w, const TgTarget *t, uint32_t d)
{
    const LayAccess *most = NULL;
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const LayAccess *x = &w->loads[k];
        if (x->step[d] != 1) continue;
        if (!most || (double)x->elements * x->bits > (double)most->elements * most->bits) most = x;
    }
    return fitting(w, d, most ? of_access(t, most) : 1);
}

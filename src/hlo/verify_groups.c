/* verify_groups: the devices that take part in a collective.
 *
 * Needs: the text of replica_groups= and source_target_pairs=. Leaves: the number of devices in a group, if the text
 * says it.
 *
 * replica_groups has four forms. {} means all devices, whose number the instruction does not say.
 *
 *     {{0,1},{2,3}}                             2: lists
 *     [4,2]<=[2,4]T(1,0)                        2: 4 groups of 2, numbers counted through [2,4], transposed
 *     mesh['x'=2,'y'=4] {'y'}                   4: product of the axes named; 'y':(2)2 is a part of size 2 of an axis
 *     {}                                        0: unknown
 */
#include "hlo/inner.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES_LIMIT = 1 << 24 };

typedef struct {
    HloVerifier *v;
    const HloInstruction *i;
    const char *name, *text; /* of the attribute */
    const char *p;
} Scan;

static void malformed(const Scan *s, const char *expected)
{
    hlo_invalid(s->v, s->i, "%s=%.60s, %s expected", s->name, s->text, expected);
}

static void malformed_groups(const Scan *s) { malformed(s, "{{0,1},{2,3}}, [2,2]<=[4] or mesh['x'=2] {'x'}"); }

static bool accept(Scan *s, char c)
{
    while (*s->p == ' ') s->p++;
    if (*s->p != c) return false;
    s->p++;
    return true;
}

static bool accept_number(Scan *s, int64_t *value)
{
    while (*s->p == ' ') s->p++;
    if (*s->p < '0' || *s->p > '9') return false;
    for (*value = 0; *s->p >= '0' && *s->p <= '9'; s->p++) *value = WBB_MIN(*value * 10 + (*s->p - '0'), DEVICES_LIMIT);
    if (*value >= DEVICES_LIMIT) hlo_invalid(s->v, s->i, "%s names a device beyond %d", s->name, DEVICES_LIMIT);
    return true;
}

/* {1,2}, [1,2] or (1,2), with at least one number; false if the text has another form. */
static bool accept_list(Scan *s, char open, char close, HloInts *list)
{
    struct { int64_t *items; uint32_t n, capacity; } got = {0};
    int64_t value = 0;
    if (!accept(s, open)) return false;
    do {
        if (!accept_number(s, &value)) return false;
        WBB_PUSH(s->v->scratch, &got, value);
    } while (accept(s, ','));
    *list = (HloInts){got.items, got.n};
    return accept(s, close);
}

/* {{0,1},{2,3}}: all numbers in order, and the size of each list, 0 if the sizes differ. */
static bool accept_lists(Scan *s, HloInts *all, uint32_t *size)
{
    struct { int64_t *items; uint32_t n, capacity; } got = {0};
    HloInts list;
    *size = 0;
    if (!accept(s, '{')) return false;
    for (bool first = true;; first = false) {
        if (!accept_list(s, '{', '}', &list)) return false;
        *size = first || *size == list.n ? list.n : 0;
        for (uint32_t k = 0; k < list.n; k++) WBB_PUSH(s->v->scratch, &got, list.items[k]);
        if (!accept(s, ',')) break;
    }
    *all = (HloInts){got.items, got.n};
    return accept(s, '}');
}

static int in_order(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* No two of list[first], list[first + step], .. are equal. */
static void require_distinct(const Scan *s, HloInts list, uint32_t first, uint32_t step, const char *what)
{
    int64_t *sorted = WBB_NEW_N(s->v->scratch, int64_t, list.n);
    uint32_t n = 0;
    for (uint32_t k = first; k < list.n; k += step) sorted[n++] = list.items[k];
    qsort(sorted, n, sizeof *sorted, in_order);
    for (uint32_t k = 1; k < n; k++)
        if (sorted[k] == sorted[k - 1])
            hlo_invalid(s->v, s->i, "%s names %s %lld twice", s->name, what, (long long)sorted[k]);
}

/* [groups, size]<=[dims]T(permutation) */
static int64_t counted_size(Scan *s)
{
    HloInts shape, dims, order;
    WbbI128 devices = 1, grouped = 1;
    bool fits = accept_list(s, '[', ']', &shape) && accept(s, '<') && accept(s, '=') &&
                accept_list(s, '[', ']', &dims) && shape.n == 2;
    if (!fits) malformed_groups(s);
    for (uint32_t k = 0; k < dims.n && devices <= DEVICES_LIMIT; k++) devices *= dims.items[k];
    for (uint32_t k = 0; k < shape.n; k++) grouped *= shape.items[k];
    if (devices != grouped)
        hlo_invalid(s->v, s->i, "%s=%.60s: %lld groups of %lld are not as many devices as on the right", s->name,
                    s->text, (long long)shape.items[0], (long long)shape.items[1]);
    if (accept(s, 'T')) {
        if (!accept_list(s, '(', ')', &order) || order.n != dims.n) malformed_groups(s);
        hlo_require_dimensions(s->v, s->i, "the transposition of replica_groups", order, dims.n);
    }
    return shape.items[1];
}

/* The name of a quoted axis. */
static const char *accept_axis(Scan *s)
{
    if (!accept(s, '\'')) malformed_groups(s);
    const char *start = s->p, *end = strchr(start, '\'');
    if (!end) malformed_groups(s);
    s->p = end + 1;
    return wbb_intern(s->v->cx, start, (size_t)(end - start));
}

/* mesh['x'=2,'y'=4] {'y'}; 'y':(2)2 is a part of an axis, of 2 devices. */
static int64_t mesh_size(Scan *s)
{
    struct { const char **items; uint32_t n, capacity; } names = {0};
    struct { int64_t *items; uint32_t n, capacity; } sizes = {0};
    int64_t size = 0, product = 1;
    s->p += strlen("mesh");
    if (!accept(s, '[')) malformed_groups(s);
    do {
        WBB_PUSH(s->v->scratch, &names, accept_axis(s));
        if (!accept(s, '=') || !accept_number(s, &size)) malformed_groups(s);
        WBB_PUSH(s->v->scratch, &sizes, size);
    } while (accept(s, ','));
    if (!accept(s, ']')) malformed_groups(s);
    if (strchr(s->p, '<')) return 0; /* the device_ids of the mesh follow */
    if (!accept(s, '{')) malformed_groups(s);
    do {
        const char *axis = accept_axis(s);
        uint32_t k = 0;
        while (k < names.n && names.items[k] != axis) k++;
        if (k == names.n) hlo_invalid(s->v, s->i, "%s names axis '%s', which the mesh does not have", s->name, axis);
        size = sizes.items[k];
        HloInts before;
        if (accept(s, ':') && !(accept_list(s, '(', ')', &before) && accept_number(s, &size))) malformed_groups(s);
        product = WBB_MIN(product * size, DEVICES_LIMIT);
    } while (accept(s, ','));
    return product;
}

int64_t hlo_group_size(HloVerifier *v, const HloInstruction *i, bool uniform)
{
    Scan s = {v, i, "replica_groups", hlo_attribute(v->scratch, i, "replica_groups"), NULL};
    HloInts all;
    uint32_t size = 0;
    if (!s.text || strcmp(s.text, "{}") == 0) return 0;
    s.p = s.text;
    if (*s.p == '[') return counted_size(&s);
    if (strncmp(s.p, "mesh[", 5) == 0) return mesh_size(&s);
    if (!accept_lists(&s, &all, &size) || *s.p) malformed_groups(&s);
    require_distinct(&s, all, 0, 1, "device");
    if (uniform && !size) hlo_invalid(v, i, "replica_groups=%.60s: groups of one size expected", s.text);
    return size;
}

void hlo_require_device_pairs(HloVerifier *v, const HloInstruction *i)
{
    Scan s = {v, i, "source_target_pairs", hlo_attribute(v->scratch, i, "source_target_pairs"), NULL};
    HloInts all;
    uint32_t size = 0;
    if (!s.text || strcmp(s.text, "{}") == 0) return;
    s.p = s.text;
    if (!accept_lists(&s, &all, &size) || *s.p || size != 2) malformed(&s, "{{0,1},{1,0}}");
    require_distinct(&s, all, 0, 2, "source");
    require_distinct(&s, all, 1, 2, "target");
}

/* npy: arrays in .npy files.
 *
 * Needs: the element types of read.c. Leaves: elements as in the file, row-major. Reads versions 1.0 and 2.0, writes
 * 1.0; refuses anything but C order, little endian, and the expected type and shape. Of types that NumPy has not it
 * reads what `np.save` writes of arrays of ml_dtypes, too: bytes without a type.
 *
 *     {'descr': '<u2', 'fortran_order': False, 'shape': (6, 512, 4096), }
 */
#include "bundle/bundle.h"

#include <stdlib.h>
#include <string.h>

static const char *descr(const char *type)
{
    static const char *const pairs[][2] = {
        {"pred", "|b1"}, {"s4", "|i1"},  {"u4", "|u1"},  {"s8", "|i1"},       {"u8", "|u1"},     {"s16", "<i2"}, {"u16", "<u2"},
        {"s32", "<i4"},  {"u32", "<u4"}, {"s64", "<i8"}, {"u64", "<u8"},      {"f16", "<f2"},    {"bf16", "<u2"}, {"f32", "<f4"},
        {"f64", "<f8"},  {"c64", "<c8"}, {"c128", "<c16"}, {"f8e4m3fn", "|u1"}, {"f8e5m2", "|u1"}, {"s2", "|i1"},   {"u2", "|u1"},
        {"f8e4m3", "|u1"}, {"f8e3m4", "|u1"}, {"f8e4m3fnuz", "|u1"}, {"f8e5m2fnuz", "|u1"}, {"f8e4m3b11fnuz", "|u1"}, {"f8e8m0fnu", "|u1"},
        {"f4e2m1fn", "|u1"},
    };
    for (size_t i = 0; i < WBB_LEN(pairs); i++)
        if (strcmp(pairs[i][0], type) == 0) return pairs[i][1];
    return NULL;
}

/* Is this the quoted type that `np.save` writes of a type that only ml_dtypes has? '<V2' of bf16, '<V1' or '<f1' of
 * smaller ones; NumPy says '|V2' of the same. */
static bool is_of_ml_dtypes(const char *type, const char *d)
{
    const bool numpy = type[0] == 'p' || type[0] == 'c' || bd_type_bits(type) >= 32 || !strcmp(type, "f16");
    const bool whole = (type[0] == 's' || type[0] == 'u') && bd_type_bits(type) >= 8;
    const bool quoted = (d[0] == '\'' || d[0] == '"') && strlen(d) > 4 && d[4] == d[0];
    return !numpy && !whole && quoted && strchr("<|", d[1]) && d[3] == '0' + bd_npy_bytes(type) &&
           (d[2] == 'V' || (d[2] == 'f' && d[3] == '1'));
}

/* ml_dtypes keeps an integer of less than 8 bits in the low bits of its byte; here its sign is in the others. */
static void extend_signs(const char *type, uint8_t *data, size_t n)
{
    const int bits = bd_type_bits(type);
    if (type[0] != 's' || bits >= 8) return;
    const uint8_t sign = (uint8_t)(1 << (bits - 1)), mask = (uint8_t)(2 * sign - 1);
    for (size_t k = 0; k < n; k++) data[k] = (uint8_t)(((data[k] & mask) ^ sign) - sign);
}

static const char *shape_text(WbbArena *a, const int64_t *dims, int rank)
{
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "(");
    for (int i = 0; i < rank; i++) wbb_putf(&b, "%s%lld", i ? ", " : "", (long long)dims[i]);
    wbb_put(&b, rank == 1 ? ",)" : ")");
    return b.text;
}

/* The value after 'key': in the header; NULL if there is none. */
static const char *entry(const char *header, const char *key)
{
    const char *p = strstr(header, key);
    if (!p) return NULL;
    p += strlen(key);
    p += strspn(p, "'\" ");
    if (*p != ':') return NULL;
    return p + 1 + strspn(p + 1, " ");
}

static void check_shape(WbbCx *cx, WbbLoc loc, const char *p, const int64_t *dims, int rank, const char *expected)
{
    bool same = *p == '(';
    const char *at = p + 1;
    for (int i = 0; same && i < rank; i++) {
        char *end = NULL;
        at += strspn(at, " ,");
        same = strtoll(at, &end, 10) == dims[i] && end != at;
        at = end;
    }
    if (same) at += strspn(at, " ,");
    if (!same || *at != ')') wbb_fail(cx, loc, "shape %.*s, expected %s", (int)strcspn(p, ")") + 1, p, expected);
}

void *bd_read_npy(WbbCx *cx, WbbArena *a, const char *path, const char *type, const int64_t *dims, int rank,
                  size_t *bytes)
{
    WbbLoc loc = {path, 0, 0};
    size_t n = 0;
    char *file = wbb_read_file(cx, a, path, &n);
    const uint8_t *u = (const uint8_t *)file;
    if (n < 12 || memcmp(file, "\x93NUMPY", 6) != 0) wbb_fail(cx, loc, "not an .npy file");
    if ((u[6] != 1 && u[6] != 2) || u[7] != 0)
        wbb_fail(cx, loc, ".npy version %d.%d, only 1.0 and 2.0 are read", u[6], u[7]);
    size_t start = u[6] == 1 ? 10 : 12;
    size_t length = u[6] == 1 ? (size_t)u[8] | (size_t)u[9] << 8
                              : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (length > n - start) wbb_fail(cx, loc, "the header is longer than the file");
    char *header = wbb_alloc(a, length + 1);
    memcpy(header, file + start, length);

    const char *wanted = descr(type), *d = entry(header, "descr"), *order = entry(header, "fortran_order"),
               *shape = entry(header, "shape");
    if (!wanted) wbb_fail(cx, loc, "type %s has no file format", type);
    if (!d || !order || !shape) wbb_fail(cx, loc, "the header lacks descr, fortran_order or shape");
    size_t word = strlen(wanted);
    const bool plain = (*d == '\'' || *d == '"') && strncmp(d + 1, wanted, word) == 0 && d[word + 1] == *d;
    if (!plain && !is_of_ml_dtypes(type, d))
        wbb_fail(cx, loc, "element type %.*s, expected '%s' for %s", (int)strcspn(d, ","), d, wanted, type);
    if (strncmp(order, "False", 5) != 0) wbb_fail(cx, loc, "Fortran order, expected C order");
    check_shape(cx, loc, shape, dims, rank, shape_text(a, dims, rank));

    size_t size = wbb_mul_size(a, (size_t)bd_elements(dims, rank), (size_t)bd_npy_bytes(type));
    if (n - start - length != size) wbb_fail(cx, loc, "%zu bytes of data, expected %zu", n - start - length, size);
    void *data = wbb_alloc(a, size + 16); /* a copy: aligned, and padded for wide loads */
    memcpy(data, file + start + length, size);
    if (!plain) extend_signs(type, data, size);
    if (bytes) *bytes = size;
    return data;
}

int64_t *bd_read_positions(WbbCx *cx, WbbArena *a, const char *path, int64_t *n)
{
    size_t bytes = 0;
    const uint8_t *u = (const uint8_t *)wbb_read_file(cx, a, path, &bytes);
    size_t head = bytes < 12  ? bytes
                  : u[6] == 1 ? 10 + ((size_t)u[8] | (size_t)u[9] << 8)
                              : 12 + ((size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16);
    *n = bytes > head ? (int64_t)((bytes - head) / 8) : 0;
    return bd_read_npy(cx, a, path, "s64", n, 1, NULL); /* checks the header */
}

void bd_write_npy(WbbCx *cx, const char *path, const char *type, const int64_t *dims, int rank, const void *data)
{
    WbbArena *a = wbb_arena_new(cx);
    const char *d = descr(type);
    if (!d) wbb_fail(cx, (WbbLoc){path, 0, 0}, "type %s has no file format", type);
    WbbBuf h = wbb_buf(a);
    wbb_putf(&h, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", d, shape_text(a, dims, rank));
    while ((10 + h.n + 1) % 64) wbb_put(&h, " ");
    wbb_put(&h, "\n");
    size_t size = wbb_mul_size(a, (size_t)bd_elements(dims, rank), (size_t)bd_npy_bytes(type));
    char *file = wbb_alloc(a, 10 + h.n + size);
    memcpy(file, "\x93NUMPY\x01", 8); /* the eighth byte, the minor version, is the string's NUL */
    file[8] = (char)(h.n & 255), file[9] = (char)(h.n >> 8);
    memcpy(file + 10, h.text, h.n);
    if (size) memcpy(file + 10 + h.n, data, size);
    wbb_write_file(cx, path, file, 10 + h.n + size);
    wbb_arena_free(a);
}

/* bundle: a compiled fusion on disk and in memory, and the data that its kernels run on.
 *
 * A bundle is a directory: kernel.ptx, kernel.json (schema: README.md of this module), fusion.hlo, and
 * kernel.TARGET.cubin if it was assembled. The module also holds all that running one without a compiler takes: .npy
 * files for inputs and outputs, the order of elements in memory, and generated inputs.
 *
 *     bd_write(cx, &bundle, "out");
 *     Bundle *b = bd_read(cx, arena, "out");       // untrusted: every field is checked
 */
#ifndef BD_BUNDLE_H
#define BD_BUNDLE_H

#include "base/base.h"

enum { BD_VERSION = 2, BD_MAX_RANK = 64, BD_MAX_THREADS = 1024, BD_MAX_CLUSTER = 16 };
/* Each byte of memory that may hold anything: as a float it is tiny, as an index far outside. */
enum { BD_ANYTHING = 0xa5 };

typedef enum { BD_IN, BD_OUT, BD_TEMP } BdRole;
/* The contents before the first launch of a run. A ticket is a temporary that is zero before the first run of all, and
 * that each run leaves zero. */
typedef enum { BD_INIT_NONE, BD_INIT_ZERO, BD_INIT_COPY, BD_INIT_TICKET } BdInit;
typedef enum { BD_ONCE, BD_SOME, BD_ATOMIC } BdWrites;

/* One buffer of device memory. A temporary has no elements: only bytes, align and init. */
typedef struct {
    BdRole role;
    int arg;          /* in: number of the operand; out: of the result's array */
    const char *type; /* HLO's name: "bf16" */
    int rank;
    int64_t dims[BD_MAX_RANK];       /* logical, major first */
    int minor_to_major[BD_MAX_RANK]; /* a permutation of 0..rank-1; the fastest-varying dimension first */
    int bits;                        /* of one element in memory: 4 for s4 (packed, low bits first), 8 for pred */
    int64_t bytes;                   /* of the whole buffer: ceil(elements * bits / 8) */
    int align;                       /* bytes, a power of two; no access is wider */
    BdInit init;
    int copy_of;          /* init copy: the operand's buffer that it copies, or whose memory it has; else -1 */
    const int *may_alias; /* [n_may_alias] out: buffers of operands whose memory it may have */
    int n_may_alias;
    BdWrites writes; /* once: each element is stored exactly once; some: at most once; atomic: any number of times */
} BdBuffer;

/* One kernel launch; launches run in order. */
enum { BD_NOTHING = -1 }; /* of PTX of other compilers alone */
typedef struct {
    const char *entry;
    uint32_t grid[3], block[3], cluster[3]; /* blocks, threads of a block, blocks of a cluster: in x, y, z */
    int64_t shared;                         /* dynamic shared memory of a block, bytes */
    int n_args;
    const int *args; /* argument i is a pointer to buffers[args[i]]; BD_NOTHING: null */
} BdLaunch;

typedef struct {
    const char *compiler, *target, *hash;
    bool deterministic;   /* the results have the same bits whatever the order of blocks and warps */
    const char *accuracy; /* of functions: "xla" or "approx"; NULL: exact */
    const char *assume;   /* flags that operations on floats have, as fusion.hlo says: "contract,nsz"; NULL: none */
    int n_buffers, n_launches;
    BdBuffer *buffers;
    BdLaunch *launches;
    const char *const *order; /* [n_order] orders in which reductions combine terms (eval/order.c); NULL: unspecified */
    int n_order;
    const char *const *without; /* [n_without] rules about arrays that the compile left out, and so the orders */
    int n_without;
    const char *ptx, *hlo; /* texts; NUL-terminated */
    const void *cubin;     /* NULL if not assembled */
    size_t cubin_bytes;
    const char *edited;    /* read.c: the first file that is not the one whose hash kernel.json states; NULL: none */
} Bundle;

/* write.c, read.c -------------------------------------------------------------------------------------------------- */
char *bd_kernel_json(WbbArena *a, const Bundle *b); /* the text of kernel.json; equal bundles give equal bytes */
void bd_write(WbbCx *cx, const Bundle *b, const char *dir);
Bundle *bd_read(WbbCx *cx, WbbArena *a, const char *dir); /* allocates in `a`; a wbb_fail at file:line:col if invalid */
/* The text of kernel.json alone; ptx, hlo and cubin of the result are NULL. `file` is its name in messages. */
Bundle *bd_parse(WbbCx *cx, WbbArena *a, const char *file, const char *json);
/* Bits of one element of an HLO type in memory; 0 if the type is unknown. */
int bd_type_bits(const char *type);

/* layout.c: whether an output may have the memory of operand number `operand` of the buffers. */
bool bd_may_share(const BdBuffer *output, int operand);

/* limits.c */
int bd_target_number(const char *target); /* 90 of "sm_90" and "sm_90a"; 0: none */
int64_t bd_most_shared(int target);       /* bytes of shared memory that a block may have; `target`: 90 */

/* json_reader.c: a JSON reader that keeps locations -------------------------------------------------------------- */
typedef enum { BD_NULL, BD_FALSE, BD_TRUE, BD_NUMBER, BD_STRING, BD_ARRAY, BD_OBJECT } BdJsonKind;

typedef struct BdJson {
    BdJsonKind kind;
    int line, col;
    const char *text;      /* string: decoded, UTF-8; number: as written */
    const char *key;       /* of a member of an object */
    struct BdJson *items;  /* first element or member */
    struct BdJson *next;   /* next element or member of the parent */
    int n;                 /* number of elements or members */
} BdJson;

BdJson *bd_json_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text);
const BdJson *bd_json_get(const BdJson *object, const char *key); /* NULL if there is none */
bool bd_json_int(const BdJson *value, int64_t *out);              /* false if it is not an integer of 64 bits */
/* A whole number of this interval; anything else fails at its place in the file. */
int64_t bd_json_within(WbbCx *cx, const char *file, const BdJson *value, int64_t least, int64_t most);

/* npy.c: .npy files, versions 1.0 and 2.0, C order, little endian -----------------------------------------------------
 * `type` is an HLO type. s4 and u4 take a byte each (sign- or zero-extended), pred is 0 or 1, complex is re then im. */
int bd_npy_bytes(const char *type); /* bytes of one element in a file; 0 if the type is unknown */
/* The elements of a file of this type and shape; *bytes (may be NULL) is their size. */
void *bd_read_npy(WbbCx *cx, WbbArena *a, const char *path, const char *type, const int64_t *dims, int rank,
                  size_t *bytes);
/* *n indices of elements: a file of rank 1 and int64. */
int64_t *bd_read_positions(WbbCx *cx, WbbArena *a, const char *path, int64_t *n);
void bd_write_npy(WbbCx *cx, const char *path, const char *type, const int64_t *dims, int rank, const void *data);

/* layout.c: logical row-major order, as in .npy files, to and from a buffer's order, where s4 and u4 are packed ---- */
int64_t bd_elements(const int64_t *dims, int rank);
int64_t bd_logical_index(const BdBuffer *b, int64_t physical); /* row-major index of the element at a physical index */
bool bd_row_major(const BdBuffer *b);
void bd_to_physical(WbbCx *cx, const BdBuffer *b, const void *logical, void *physical);
void bd_to_logical(WbbCx *cx, const BdBuffer *b, const void *physical, void *logical);

/* input_values.c: generated inputs, defined bit for bit ---------------------------------------------------------------
 * Element k of parameter `index` depends on h(k) = mix(seed * 0x9E3779B97F4A7C15 + index * 0xD1B54A32D192ED03 + k)
 * alone. Case `which` is 'e': one element in sixteen is an edge value; 'n': none; 'p': none, and floats are
 * non-negative; 't': half of the floats are subnormal or nearly so; 'u': all are subnormal; 'w': as n. Indices are 0..7
 * in case n, -2..9 (unsigned 0..11) in case p, and starts of windows in and out of bounds in cases t, u and w. `out`
 * takes n elements of bd_npy_bytes(type) bytes. */
typedef struct {
    int64_t *last;  /* [columns] the last start at which a window fits; the first is 0 */
    int64_t columns, inner; /* element k is of column k / inner % columns; columns 0: no indices */
} BdIndices;
void bd_make_input(uint64_t seed, uint64_t index, const char *type, int64_t n, char which, const BdIndices *indices,
                   void *out);
/* The elements positions[0], .., positions[n - 1]; with positions NULL: start, start + 1, .. */
void bd_make_input_at(uint64_t seed, uint64_t index, const char *type, const int64_t *positions, int64_t start,
                      int64_t n, char which, const BdIndices *indices, void *out);
/* The elements to compare of n: all if n <= limit, else `limit` pseudo-random indices, which may repeat. `out` has
 * capacity for min(n, limit); returns their number. */
int64_t bd_sample_positions(int64_t n, int64_t limit, int64_t *out);

#endif

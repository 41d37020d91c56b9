/* xla.h: the part of XLA's foreign function interface that xla.c uses, declared here so that neither the build nor
 * whoever installs the library needs jaxlib's headers.
 *
 * Source: the documentation in xla/ffi/api/c_api.h, which jaxlib installs: a stable binary interface whose structures
 * state their size, and grow at their end. tests/doors/jax_door.py compares these with the header of the installed
 * jaxlib.
 */
#ifndef API_XLA_H
#define API_XLA_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_API_MAJOR = 0, XLA_API_MINOR = 1 }; /* the first that is served: that of jaxlib 0.5 */
enum { XLA_INVALID_ARGUMENT = 3, XLA_FAILED_PRECONDITION = 9, XLA_UNIMPLEMENTED = 12, XLA_INTERNAL = 13 };
enum { XLA_EXTENSION_METADATA = 1, XLA_ATTRIBUTE_SCALAR = 3, XLA_STAGE_EXECUTE = 3, XLA_COMMAND_BUFFER = 1 };

typedef struct XlaExtension {
    size_t struct_size;
    int type;
    struct XlaExtension *next;
} XlaExtension;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    int major_version, minor_version;
} XlaVersion;

typedef struct {
    size_t struct_size;
    XlaVersion api_version;
    uint32_t traits;
} XlaMetadata;

typedef struct {
    XlaExtension extension_base;
    XlaMetadata *metadata;
} XlaMetadataExtension;

typedef struct XlaError XlaError;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    const char *message;
    int errc;
} XlaErrorCreate;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    void *ctx;
    void *stream; /* out */
} XlaStreamGet;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    XlaVersion api_version;
    const void *internal_api;
    XlaError *(*error_create)(XlaErrorCreate *args);
    void *error_get_message, *error_destroy, *handler_register;
    XlaError *(*stream_get)(XlaStreamGet *args);
} XlaApi;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} XlaBuffer;

typedef struct {
    const char *ptr;
    size_t len;
} XlaText;

typedef struct {
    int dtype;
    void *value;
} XlaScalar;

/* Arguments and results; both are buffers. */
typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    int64_t size;
    int *types;
    void **items;
} XlaBuffers;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    int64_t size;
    int *types;
    XlaText **names;
    void **items;
} XlaAttributes;

typedef struct {
    size_t struct_size;
    XlaExtension *extension_start;
    const XlaApi *api;
    void *ctx;
    int stage;
    XlaBuffers args, rets;
    XlaAttributes attrs;
} XlaFrame;

/* XLA's number of an HLO type; 0: it has none here. */
static inline int xla_type(const char *hlo)
{
    static const struct {
        char name[16];
        int number;
    } types[] = {{"pred", 1}, {"s8", 2}, {"s16", 3}, {"s32", 4}, {"s64", 5}, {"u8", 6}, {"u16", 7}, {"u32", 8},
                 {"u64", 9}, {"f16", 10}, {"f32", 11}, {"f64", 12}, {"c64", 15}, {"bf16", 16}, {"c128", 18},
                 {"f8e5m2", 19}, {"f8e4m3fn", 20}, {"f8e4m3b11fnuz", 23}, {"f8e5m2fnuz", 24}, {"f8e4m3fnuz", 25},
                 {"f8e4m3", 28}, {"f8e3m4", 29}, {"f8e8m0fnu", 33}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *a = types[i].name, *b = hlo;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return types[i].number;
    }
    return 0;
}

#endif

/* driver.h: the part of the CUDA driver's interface that the module uses, declared here so that the build needs no CUDA
 * header.
 *
 * Source: the CUDA Driver API reference, sections Initialization, Device Management, Primary Context, Module, Memory,
 * Execution Control, Event, Stream, Graph. cuda.h maps plain names to those with _v2.
 */
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CuResult;  /* 0: success */
typedef int CuDevice;
typedef uint64_t CuPointer;
typedef void *CuHandle; /* context, module, function, event, stream, graph */

enum {
    CU_ATTRIBUTE_L2_BYTES = 38, CU_ATTRIBUTE_MAJOR = 75, CU_ATTRIBUTE_MINOR = 76, /* CUdevice_attribute */
    CU_FUNCTION_DYNAMIC_SHARED = 8, CU_FUNCTION_LARGE_CLUSTER = 14,               /* CUfunction_attribute */
    CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6,                             /* CUjit_option */
    CU_CAPTURE_RELAXED = 2,                                                       /* CUstreamCaptureMode */
    CU_STREAM_NON_BLOCKING = 1,                                                   /* CUstream_flags */
    CU_LAUNCH_CLUSTER = 4                                                         /* CUlaunchAttributeID */
};

typedef struct {
    int id;
    char pad[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster;
    } value;
} CuLaunchAttribute;

typedef struct {
    unsigned grid[3], block[3], shared;
    CuHandle stream;
    CuLaunchAttribute *attributes;
    unsigned n_attributes;
} CuLaunchConfig;

/* Every function that is loaded: its name in the library, its parameters. */
#define CU_FUNCTIONS(X)                                                                                                \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDeviceGetCount, (int *n))                                                                                      \
    X(cuDeviceGet, (CuDevice * device, int number))                                                                    \
    X(cuDeviceGetName, (char *name, int size, CuDevice device))                                                        \
    X(cuDeviceGetAttribute, (int *value, int attribute, CuDevice device))                                              \
    X(cuDevicePrimaryCtxRetain, (CuHandle * context, CuDevice device))                                                 \
    X(cuDevicePrimaryCtxRelease_v2, (CuDevice device))                                                                 \
    X(cuCtxGetCurrent, (CuHandle * context))                                                                           \
    X(cuCtxGetDevice, (CuDevice * device))                                                                             \
    X(cuCtxPushCurrent_v2, (CuHandle context))                                                                         \
    X(cuCtxPopCurrent_v2, (CuHandle * context))                                                                        \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuModuleLoadDataEx, (CuHandle * module, const void *image, unsigned n, int *options, void **values))             \
    X(cuModuleUnload, (CuHandle module))                                                                               \
    X(cuModuleGetFunction, (CuHandle * function, CuHandle module, const char *name))                                   \
    X(cuFuncSetAttribute, (CuHandle function, int attribute, int value))                                               \
    X(cuMemAlloc_v2, (CuPointer * pointer, size_t bytes))                                                              \
    X(cuMemFree_v2, (CuPointer pointer))                                                                               \
    X(cuMemGetInfo_v2, (size_t * free, size_t *total))                                                                 \
    X(cuMemcpyHtoD_v2, (CuPointer to, const void *from, size_t bytes))                                                 \
    X(cuMemcpyHtoDAsync_v2, (CuPointer to, const void *from, size_t bytes, CuHandle stream))                           \
    X(cuMemcpyDtoH_v2, (void *to, CuPointer from, size_t bytes))                                                       \
    X(cuMemsetD8_v2, (CuPointer to, unsigned char value, size_t bytes))                                                \
    X(cuMemsetD8Async, (CuPointer to, unsigned char value, size_t bytes, CuHandle stream))                             \
    X(cuMemcpyDtoDAsync_v2, (CuPointer to, CuPointer from, size_t bytes, CuHandle stream))                             \
    X(cuLaunchKernel, (CuHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,\
                       unsigned shared, CuHandle stream, void **parameters, void **extra))                             \
    X(cuEventCreate, (CuHandle * event, unsigned flags))                                                               \
    X(cuEventRecord, (CuHandle event, CuHandle stream))                                                                \
    X(cuEventSynchronize, (CuHandle event))                                                                            \
    X(cuEventElapsedTime, (float *ms, CuHandle from, CuHandle to))                                                     \
    X(cuEventDestroy_v2, (CuHandle event))                                                                             \
    X(cuStreamCreate, (CuHandle * stream, unsigned flags))                                                             \
    X(cuStreamSynchronize, (CuHandle stream))                                                                          \
    X(cuStreamDestroy_v2, (CuHandle stream))                                                                           \
    X(cuStreamBeginCapture_v2, (CuHandle stream, int mode))                                                            \
    X(cuStreamEndCapture, (CuHandle stream, CuHandle * graph))                                                         \
    X(cuGraphInstantiateWithFlags, (CuHandle * run, CuHandle graph, unsigned long long flags))                         \
    X(cuGraphLaunch, (CuHandle run, CuHandle stream))                                                                  \
    X(cuGraphExecDestroy, (CuHandle run))                                                                              \
    X(cuGraphDestroy, (CuHandle graph))                                                                                \
    X(cuGetErrorName, (CuResult error, const char **text))                                                             \
    X(cuGetErrorString, (CuResult error, const char **text))

#define CU_MEMBER(NAME, PARAMETERS) CuResult(*NAME) PARAMETERS;
typedef struct {
    CU_FUNCTIONS(CU_MEMBER)
    /* NULL before 11.8 */
    CuResult (*cuLaunchKernelEx)(const CuLaunchConfig *config, CuHandle function, void **parameters, void **extra);
    /* NULL before 11.2 */
    CuResult (*cuMemAllocAsync)(CuPointer *pointer, size_t bytes, CuHandle stream);
    CuResult (*cuMemFreeAsync)(CuPointer pointer, CuHandle stream);
    /* NULL before 10.1 */
    CuResult (*cuThreadExchangeStreamCaptureMode)(int *mode);
    void *library;
} CuDriver;

#include "base/base.h"

/* driver.c: declines with WHY_NO_GPU if the library or one of its functions is missing. */
void gpu_driver_open(WbbCx *cx, CuDriver *d);
void gpu_driver_close(CuDriver *d);
/* Fails unless `result` is success: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory: MORE"; `more` may be
 * NULL. */
void gpu_check(WbbCx *cx, const CuDriver *d, CuResult result, const char *call, const char *more);

#endif

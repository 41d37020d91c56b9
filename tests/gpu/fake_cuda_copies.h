/* fake_cuda_copies.h: copies from the host that are under way, and the order of streams. */
#ifndef FAKE_CUDA_COPIES_H
#define FAKE_CUDA_COPIES_H

#include "gpu/driver.h"

/* `blocking`: ordered with the default stream. */
CuHandle fake_stream(bool blocking);
void fake_stream_end(CuHandle stream);

/* The elements are read at once, and arrive with a later fake_settle. */
void fake_copy(CuPointer to, const void *from, size_t bytes, CuHandle stream);
/* What is enqueued on the stream next is behind its copies, and those of streams it is ordered with. */
void fake_settle(CuHandle stream);
void fake_settle_all(void);

#endif

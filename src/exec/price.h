/* price.h - what recorded ops would need, without running them. */
#ifndef ASC_PRICE_H
#define ASC_PRICE_H

#include "exec.h"

typedef struct asc_price {
    size_t arena_bytes;   /* temporaries: one block, kept between cuts */
    size_t scratch_bytes; /* of the device: one block, kept between cuts */
    size_t output_bytes;  /* of buffers made by the run, and held until their tensors end */
    size_t program_bytes; /* of the executable, which the cache keeps: live from now on */
    size_t code_bytes;    /* about what the device adds to it at the first run */
    asc_cost cost;
} asc_price;

/* Between the two, recorded ops are not run, not even in eager mode; leaves may be stand-ins. Calls nest. */
void asc_price_begin(asc_ctx *ctx);
void asc_price_end(asc_ctx *ctx);
/* From here on (or no longer) programs that are priced get the device's code as well, which they get anyway
 * when they run: then all that a run keeps of a program is live. Returns what was. */
bool asc_price_prepares(asc_ctx *ctx, bool on);
/* A leaf that has a shape and no value: programs that read it can be priced, never run. */
asc_tensor *asc_price_leaf(asc_ctx *ctx, asc_dtype dtype, asc_shape shape);
/* What computing ts would need. In eager mode every op's result is held until its scope ends, so all of them
 * count as outputs. */
ASC_MUST_USE asc_status asc_price_of(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_price *out);
/* What a buffer for a tensor of this type and shape takes from the allocator. */
size_t asc_price_buffer(const asc_ctx *ctx, asc_dtype dtype, const asc_shape *shape);
/* What earlier cuts left for the next ones: of each, the next cut uses as much as it needs. */
typedef struct asc_price_idle {
    size_t arena_bytes, scratch_bytes, buffer_bytes;
} asc_price_idle;
asc_price_idle asc_price_left(const asc_ctx *ctx);
/* Drops about so many bytes of programs, those used longest ago first; the newest stays. */
void asc_price_drop_programs(asc_ctx *ctx, size_t bytes);
/* What is live now apart from blocks and buffers that the next cut uses again. */
size_t asc_price_base(const asc_ctx *ctx);
/* a + b bytes; SIZE_MAX when they are more. */
size_t asc_price_plus(size_t a, size_t b);
/* All that a program with this price takes while it runs: blocks, scratch, outputs and code. */
size_t asc_price_total(const asc_price *p);

#endif

/* ascribe/precision.h - what a level of precision leaves uncertain.
 */
#ifndef ASCRIBE_PRECISION_H
#define ASCRIBE_PRECISION_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Unit roundoff of products at a level, by what the split of a factor x = h + m + l into bf16 pieces leaves
 * out: highest and bf16x6 2^-24, high 2^-16, medium 2^-8, int8 2^-7 (of the largest number of a row). */
ASC_API double asc_precision_roundoff(asc_precision p);

/* The same of a context: 2^-53 on the reference device, which computes every level in f64; elsewhere that of
 * its coarsest level. docs/errors.md makes errors of it: 64 u of the largest score for nets, 128 u a layer
 * for language models. */
ASC_API double asc_ctx_roundoff(const asc_ctx *ctx);

/* Another level for the products that belong to `site`: a part of a language model ("blocks.3", "head"), a
 * site of a net, the name of an ONNX value; what is inside it counts too ("blocks.3" holds "blocks.3.attn",
 * not "blocks.30"). The longest site that fits decides, also for gradients. Holds for what is recorded from
 * here on. INVALID_ARGUMENT for an empty site, RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_set_precision_at(asc_ctx *ctx, const char *site, asc_precision level);
/* Entry i of these, longer sites first; used: some product has taken it. False behind the last. The site is
 * lent. */
ASC_API bool asc_precision_at(const asc_ctx *ctx, size_t i, const char **site, asc_precision *level,
                              bool *used);

/* Devices have kernels of a coarse level where it makes them faster, and compute finer elsewhere:
 * convolutions, attention, few rows; on processors without matrix tiles, all but int8. int8 is kept
 * everywhere but in attention and the gradients of convolutions, since who asks for it wants to see what it
 * does. With emulation every product is made of its level's bf16 products, as a matrix unit makes them
 * (stored weights: where the device can), slowly. On the reference device, which knows one level, nothing
 * changes. */
ASC_API void asc_emulate_levels(asc_ctx *ctx, bool on);

/* Attribution refuses to give final numbers with int8 products anywhere, unless told that they are wanted (to
 * measure them, or to rank). */
ASC_API void asc_allow_int8(asc_ctx *ctx, bool allow);
/* FAILED_PRECONDITION when the context's levels have int8 among them and it is not allowed. */
ASC_API ASC_MUST_USE asc_status asc_precision_check(asc_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif

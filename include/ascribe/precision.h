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

#ifdef __cplusplus
}
#endif
#endif

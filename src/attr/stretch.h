/* stretch.h - arrays of a request that stand for more elements than they have. */
#ifndef ASC_STRETCH_H
#define ASC_STRETCH_H

#include "task.h"

/* out [elements of full] = the elements of a, repeated by NumPy's rule; a's shape must broadcast to full and
 * hold an element or more. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_array_stretch(asc_ctx *ctx, const asc_array *a, const asc_shape *full,
                                          double *out);

#endif

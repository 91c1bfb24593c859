/* ctx_alloc.h - where a context's memory comes from. */
#ifndef ASC_CTX_ALLOC_H
#define ASC_CTX_ALLOC_H

#include "ctx.h"

/* From the C library, which threads may share; false: from an allocator of the caller's. */
bool asc_ctx_has_default_alloc(const asc_ctx *ctx);

#endif

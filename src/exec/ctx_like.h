/* ctx_like.h - contexts beside a first one, for threads that share its work. */
#ifndef ASC_CTX_LIKE_H
#define ASC_CTX_LIKE_H

#include "ctx.h"

/* A context of the same device, mode, precision, levels, seed and folder of programs, with its own programs
 * and buffers and no callbacks. Ended by asc_ctx_destroy. RESOURCE_EXHAUSTED: *out is NULL. */
ASC_MUST_USE asc_status asc_ctx_create_like(const asc_ctx *like, int n_threads, asc_ctx **out);
/* False where contexts beside this one would be wrong or would tell less: a caller's allocator, which need
 * not be made for threads; a profile; what ASC_DEBUG and ASC_REPLAY ask for. */
bool asc_ctx_may_share_work(const asc_ctx *ctx);

#endif

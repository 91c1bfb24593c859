/* follow.h - ops of eager mode that run in the plan of a rehearsal (rehearse.h). Private to src/exec. */
#ifndef ASC_FOLLOW_H
#define ASC_FOLLOW_H

#include "exe.h"

/* Whether eager mode knows what comes: values end where its programs' plans say. */
bool asc_follow_plans(const asc_ctx *ctx);
/* Follows an executable of the cache from the next op on. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_follow_begin(asc_ctx *ctx, asc_exe *e);
/* Runs t, which was just recorded, where it is the op expected next; false: it is not. */
bool asc_follow_step(asc_ctx *ctx, asc_tensor *t, asc_status *out_st);
/* No op follows any more; values of the pass but its outputs have ended. Harmless where nothing is followed.
 */
void asc_follow_end(asc_ctx *ctx);
/* Hook of the graph, before a scope ends: ends what was begun in it. */
void asc_follow_scope_end(asc_ctx *ctx);
void asc_follow_deinit(asc_ctx *ctx);

#endif

/* rehearse.h - eager mode that knows what comes. A pass of a method is recorded twice: the first time nothing
 * runs, and what was recorded is written down as a program without passes, whose plan says where each value
 * lies and when nobody needs it any more. The second time every op runs when it is recorded, as in eager mode
 * always, but in that plan: values end with their last use, memory is used again, views are not copied.
 *
 *     bool again = asc_rehearse_begin(ctx);
 *     do {
 *         ts[0] = ...; ts[1] = ...;
 *     } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 2));
 *     st = asc_run(ctx, ts, 2);
 *
 * Nothing depends on the two being alike. An op that is not the one expected runs as any other op of eager
 * mode, and a value that has ended is computed again when somebody wants it. */
#ifndef ASC_REHEARSE_H
#define ASC_REHEARSE_H

#include "exec.h"

/* Begins a scope in which ops are recorded and not run. False, with nothing begun, where the mode is another
 * one or a rehearsal would be of no use: in captures, while pricing, while debugging. Ends what was followed
 * before. */
bool asc_rehearse_begin(asc_ctx *ctx);
/* Behind what is rehearsed. True once, if *again was, which it is no longer: ends that scope, and what is
 * recorded from here on follows the rehearsal until the scope around it ends. st: of what was recorded.
 * ts[n]: the values read behind the pass, looked at when all is well. An error is the graph's, for the next
 * boundary, and nothing is followed. */
bool asc_rehearsed(asc_ctx *ctx, asc_status st, bool *again, asc_tensor *const *ts, size_t n);

#endif

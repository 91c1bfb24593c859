/* rehearse.c - see rehearse.h. */
#include "rehearse.h"
#include "follow.h"
#include "price.h"

bool asc_rehearse_begin(asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    if (!asc_follow_plans(ctx) || rt->capturing || rt->pricing > 0) return false;
    asc_follow_end(ctx);
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    return true;
}

static bool whole(asc_tensor *const *ts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (ts[i] == NULL || ts[i]->poison != ASC_OK) return false;
    }
    return true;
}

bool asc_rehearsed(asc_ctx *ctx, asc_status st, bool *again, asc_tensor *const *ts, size_t n) {
    asc_graph *g = asc_graph_of(ctx);
    asc_exe *e = NULL;
    if (!*again) return false;
    *again = false;
    if (st == ASC_OK) st = asc_graph_take_error(g);
    asc_price_end(ctx); /* the program is made as others are: under a bound what is idle goes for it */
    if (st == ASC_OK && whole(ts, n)) st = asc_cut_rehearsed(ctx, ts, n, &e);
    st = asc_scope_close(ctx, st);
    if (st == ASC_OK && e != NULL) st = asc_follow_begin(ctx, e);
    if (st != ASC_OK) asc_graph_poison(g); /* what was taken above, or what failed here */
    return true;
}

/* sweep_whole.c - a sweep as one program: text encoders, which are shallow, and neurons. */
#include "sweep_whole.h"
#include "exec.h"
#include "grad.h"
#include "rehearse.h"

/* Values f of each run, and what arrives at the embeddings, reduced. */
static size_t record(const asc_sweep *s, asc_tensor *const *x, asc_tensor *by, asc_tensor **ts) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    asc_rules none = {.ctx = ctx};
    asc_rules *rules = s->rules != NULL ? s->rules : &none;
    asc_grad_rules grad = rules->grad;
    asc_tensor *g = NULL;
    size_t n = 0;
    grad.self = rules;
    grad.on_value = NULL;
    grad.watched = NULL;
    grad.after = NULL;
    for (int k = 0; k < (s->paired ? 2 : 1); k++) ts[n++] = asc_job_scalar(j, x[k], NULL, NULL);
    if (s->values_only || asc_tensor_poisoned(ts[0])) return n;
    asc_tensor *seed = grad.seed_is_value ? ts[0] : asc_full(ctx, ts[0]->shape, 1.0);
    if (s->paired && s->rules != NULL)
        asc_grad_paired(ctx, &grad, ts[0], ts[1], seed, &x[0], &x[1], 1, &g);
    else
        asc_grad_with_rules(ctx, &grad, ts[0], seed, x, 1, &g);
    if (!grad.seed_is_value && !asc_tensor_poisoned(g)) {
        if (by == NULL) by = s->paired ? asc_sub(ctx, x[0], x[1]) : x[0];
        g = asc_mul(ctx, g, by);
    }
    ts[n++] = asc_sum(ctx, g, 1, (int[]){-1}, false);
    return n;
}

asc_status asc_sweep_whole(asc_sweep *s) {
    asc_ctx *ctx = s->j->ctx;
    asc_tensor *x[2] = {s->x, s->x0}, *ts[3];
    size_t at = 0;
    asc_scope_begin(ctx);
    size_t n;
    bool again = asc_rehearse_begin(ctx);
    do {
        n = record(s, x, s->by, ts);
    } while (asc_rehearsed(ctx, ASC_OK, &again, ts, n));
    asc_status st = asc_run(ctx, ts, n);
    if (st == ASC_OK && s->f != NULL) st = asc_read_f64(ctx, ts[at], s->f, s->b);
    at++;
    if (st == ASC_OK && s->paired && s->f0 != NULL) st = asc_read_f64(ctx, ts[at], s->f0, s->b);
    at += s->paired ? 1 : 0;
    if (st == ASC_OK && at < n && s->parts != NULL)
        st = asc_read_f64(ctx, ts[at], s->parts, s->b * s->j->r->n_prompt);
    return asc_scope_close(ctx, st);
}

asc_status asc_sweep_whole_price(const asc_sweep *s, asc_tensor *const *leaves, asc_price *out) {
    asc_tensor *ts[3];
    size_t n = record(s, leaves, leaves[2], ts);
    return asc_price_of(s->j->ctx, ts, n, out);
}

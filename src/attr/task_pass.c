/* task_pass.c - runs rows in passes: chooses how many share one, runs them, hands the numbers back in order.
 */
#include "exec.h"
#include "hash.h"
#include "ops.h"
#include "method.h"
#include "price.h"
#include "profile.h"
#include "rehearse.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

static const size_t DEFAULT_MEMORY = (size_t)400 << 20;
/* Rows that share a pass gain nothing more once the working set is far beyond the caches (docs/SPEED.md). */
static const size_t ENOUGH_BYTES = (size_t)24 << 20;
enum { ENOUGH_ROWS = 16 };

static size_t n_var(const asc_pass_run *r) { return r->t->n_at > r->t->n_in ? r->t->n_at : r->t->n_in; }

static void free_buffers(asc_pass_run *r) {
    for (size_t k = 0; k < r->t->n_at; k++) {
        if (r->y != NULL) asc_free(r->t->ctx, r->y[k]);
        if (r->g != NULL) asc_free(r->t->ctx, r->g[k]);
        if (r->y0 != NULL) asc_free(r->t->ctx, r->y0[k]);
        if (r->y0 != NULL) r->y0[k] = NULL;
        if (r->y != NULL) r->y[k] = NULL;
        if (r->g != NULL) r->g[k] = NULL;
    }
    asc_free(r->t->ctx, r->f);
    r->f = NULL;
}

static void run_deinit(asc_pass_run *r) {
    asc_ctx *ctx = r->t->ctx;
    free_buffers(r);
    asc_free(ctx, r->rec.moved);
    asc_free(ctx, r->rec.y);
    asc_free(ctx, r->partner.moved);
    asc_free(ctx, r->partner.y);
    asc_free(ctx, r->grads);
    asc_free(ctx, r->outs);
    asc_free(ctx, r->y);
    asc_free(ctx, r->g);
    asc_free(ctx, r->y0);
    asc_free(ctx, r->row_y0);
    asc_free(ctx, r->row_y);
    asc_free(ctx, r->row_g);
    asc_pass_capture_deinit(r);
}

static asc_status run_init(asc_pass_run *r, asc_task *t, const asc_pass *p, asc_aim *aim) {
    asc_ctx *ctx = t->ctx;
    *r = (asc_pass_run){.t = t, .p = p, .aim = aim};
    size_t n = n_var(r) + 1;
    r->rec.moved = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(asc_tensor *));
    r->rec.y = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(asc_tensor *));
    r->partner.moved = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(asc_tensor *));
    r->partner.y = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(asc_tensor *));
    r->grads = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(asc_tensor *));
    r->cap_outs = 3 * n + 2;
    r->outs = asc_calloc(ctx, ASC_MEM_PROGRAM, r->cap_outs, sizeof(asc_tensor *));
    r->y = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    r->g = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    r->y0 = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    r->row_y0 = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    r->row_y = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    r->row_g = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof(double *));
    const void *const room[] = {
        r->rec.moved, r->rec.y, r->partner.moved, r->partner.y, r->grads, r->outs, r->y,
        r->g,         r->y0,    r->row_y,         r->row_g,     r->row_y0};
    bool ok = true;
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) ok = ok && room[i] != NULL;
    return ok ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* Gradients at values that the net went through: one walk each, since a site may lie behind another one. */
static void record_gradients(asc_pass_run *r) {
    asc_ctx *ctx = r->t->ctx;
    const asc_pass *p = r->p;
    size_t n = r->t->n_at;
    asc_tensor *f = r->rec.f;
    asc_tensor *one = p->rules != NULL && p->rules->seed_is_value ? NULL : asc_full(ctx, f->shape, 1.0);
    bool independent = !r->t->at_sites || p->replace_sites;
    for (size_t k = 0; k < n; k += independent ? n : 1) {
        size_t many = independent ? n : 1;
        if (p->partner_rows != NULL) {
            asc_grad_paired(ctx, p->rules, f, r->partner.f, one, r->rec.y + k, r->partner.y + k, many,
                            r->grads + k);
        } else {
            asc_grad_with_rules(ctx, p->rules, f, one, r->rec.y + k, many, r->grads + k);
        }
    }
}

/* Adds what the rules want to know of this pass to what is computed. */
static asc_status watch(asc_pass_run *r) {
    const asc_grad_rules *rules = r->p->rules;
    asc_tensor *const *more;
    if (rules == NULL || rules->watched == NULL) return ASC_OK;
    size_t n = rules->watched(rules->self, &more);
    asc_status st = asc_grow(r->t->ctx, ASC_MEM_PROGRAM, (void **)&r->outs, &r->cap_outs, r->n_outs + n,
                             sizeof(asc_tensor *));
    for (size_t i = 0; st == ASC_OK && i < n; i++) r->outs[r->n_outs++] = more[i];
    return st;
}

static asc_status tell_rules(const asc_pass_run *r, bool ran) {
    const asc_grad_rules *rules = r->p->rules;
    return rules == NULL || rules->after == NULL ? ASC_OK : rules->after(r->t->ctx, rules->self, ran);
}

asc_status asc_pass_record(asc_pass_run *r, size_t first, size_t n) {
    asc_task *t = r->t;
    const asc_pass *p = r->p;
    asc_status st = asc_task_record(t, p, p->rows, r->aim, first, n, &r->rec);
    r->leaves.partner = true;
    if (st == ASC_OK && p->partner_rows != NULL)
        st = asc_task_record(t, p, p->partner_rows, r->aim, first, n, &r->partner);
    r->leaves.partner = false;
    if (st != ASC_OK) return st;
    r->n_outs = 0;
    r->outs[r->n_outs++] = r->rec.f;
    if (p->partner_f != NULL) r->outs[r->n_outs++] = r->partner.f;
    if (p->want_gradients && r->rec.f->poison == ASC_OK) {
        if (r->aim->n_out != 1) {
            ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                     "%s explains one number per example; the target leaves %zu", t->method->info.name,
                     r->aim->n_out);
            return asc_hint(t->ctx, "choose one with the target (--target), or weights over them");
        }
        record_gradients(r);
    }
    for (size_t k = 0; k < t->n_at; k++) {
        if (p->want_values) r->outs[r->n_outs++] = r->rec.y[k];
        if (p->want_values && p->partner_rows != NULL) r->outs[r->n_outs++] = r->partner.y[k];
        if (p->want_gradients && r->grads[k] != NULL) r->outs[r->n_outs++] = r->grads[k];
    }
    return watch(r);
}

asc_status asc_pass_make_buffers(asc_pass_run *r, size_t n) {
    asc_task *t = r->t;
    free_buffers(r);
    r->f = asc_calloc(t->ctx, ASC_MEM_SCRATCH, n * r->aim->n_out, sizeof *r->f);
    if (r->f == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < t->n_at; k++) {
        size_t total;
        if (!asc_mul_size(n, t->at[k].size, &total)) return ASC_RESOURCE_EXHAUSTED;
        if (r->p->want_values &&
            (r->y[k] = asc_calloc(t->ctx, ASC_MEM_SCRATCH, total, sizeof(double))) == NULL)
            return ASC_RESOURCE_EXHAUSTED;
        if (r->p->want_values && r->p->partner_rows != NULL &&
            (r->y0[k] = asc_calloc(t->ctx, ASC_MEM_SCRATCH, total, sizeof(double))) == NULL)
            return ASC_RESOURCE_EXHAUSTED;
        if (r->p->want_gradients &&
            (r->g[k] = asc_calloc(t->ctx, ASC_MEM_SCRATCH, total, sizeof(double))) == NULL)
            return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

static asc_status check_finite(const asc_pass_run *r, const double *v, size_t n, const char *what,
                               const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (isfinite(v[i])) continue;
        ASC_FAIL(r->t->ctx, ASC_DATA_LOSS, "%s '%.60s' is %g", what, name, v[i]);
        return asc_hint(r->t->ctx,
                        "the net overflows or divides by zero there, or its weights hold such values; "
                        "look at its sites one by one (method layer-activation)");
    }
    return ASC_OK;
}

/* Everything that was read. */
static asc_status check_results(const asc_pass_run *r, size_t first, size_t n) {
    const asc_task *t = r->t;
    const char *name = t->net->sites[r->aim->site];
    asc_status st = check_finite(r, r->f, n * r->aim->n_out, "the explained value", name);
    if (st == ASC_OK && r->p->partner_f != NULL)
        st = check_finite(r, r->p->partner_f + first, n, "the explained value at the baseline", name);
    for (size_t k = 0; st == ASC_OK && r->p->want_gradients && k < t->n_at; k++)
        st = check_finite(r, r->g[k], n * t->at[k].size, "a gradient with respect to", t->at[k].name);
    return st;
}

static asc_status read_back(asc_pass_run *r, size_t first, size_t n) {
    asc_task *t = r->t;
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    ASC_TRY(asc_read_f64(ctx, r->rec.f, r->f, n * r->aim->n_out));
    if (r->p->partner_f != NULL) ASC_TRY(asc_read_f64(ctx, r->partner.f, r->p->partner_f + first, n));
    for (size_t k = 0; k < t->n_at; k++) {
        size_t m = n * t->at[k].size;
        if (r->p->want_values) ASC_TRY(asc_read_f64(ctx, r->rec.y[k], r->y[k], m));
        if (r->y0[k] != NULL) ASC_TRY(asc_read_f64(ctx, r->partner.y[k], r->y0[k], m));
        if (r->p->want_gradients) ASC_TRY(asc_read_f64(ctx, r->grads[k], r->g[k], m));
    }
done:
    return st;
}

static asc_status hand_over(asc_pass_run *r, size_t first, size_t n) {
    asc_task *t = r->t;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t->n_at; k++) {
            if (r->y[k] != NULL) r->row_y[k] = r->y[k] + i * t->at[k].size;
            if (r->y0[k] != NULL) r->row_y0[k] = r->y0[k] + i * t->at[k].size;
            if (r->g[k] != NULL) r->row_g[k] = r->g[k] + i * t->at[k].size;
        }
        asc_row_result x = {.f = r->f + i * r->aim->n_out,
                            .y = r->p->want_values ? r->row_y : NULL,
                            .g = r->p->want_gradients ? r->row_g : NULL,
                            .y0 = r->p->want_values && r->p->partner_rows != NULL ? r->row_y0 : NULL};
        asc_status st = r->p->sink(r->p->self, first + i, &x);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

static asc_status recorded_pass(asc_pass_run *r, size_t first, size_t n) {
    asc_ctx *ctx = r->t->ctx;
    asc_scope_begin(ctx);
    asc_status st;
    bool again = asc_rehearse_begin(ctx);
    do {
        st = asc_pass_record(r, first, n);
        if (again && r->p->rules != NULL) {
            const asc_status told = tell_rules(r, false);
            if (st == ASC_OK) st = told;
        }
    } while (asc_rehearsed(ctx, st, &again, r->outs, r->n_outs));
    if (st == ASC_OK) st = asc_run(ctx, r->outs, r->n_outs);
    if (st == ASC_OK && r->f == NULL) st = asc_pass_make_buffers(r, n);
    if (st == ASC_OK) st = read_back(r, first, n);
    if (st == ASC_OK) st = check_results(r, first, n);
    asc_status told = tell_rules(r, st == ASC_OK);
    return asc_scope_close(ctx, st != ASC_OK ? st : told);
}

static asc_status one_pass(asc_pass_run *r, size_t first, size_t n) {
    bool ran;
    asc_status st = asc_pass_captured(r, first, n, &ran);
    if (st == ASC_OK && ran) st = check_results(r, first, n);
    if (st == ASC_OK && !ran) st = recorded_pass(r, first, n);
    return st == ASC_OK ? hand_over(r, first, n) : st;
}

/* What passes of this kind cost depends on the shapes, the sites and the target's site: the net remembers it.
 */
static uint64_t price_key(const asc_pass_run *r) {
    const asc_task *t = r->t;
    int64_t kind[] = {r->p->replace_sites, r->p->want_gradients, r->p->partner_rows != NULL, r->aim->site,
                      (int64_t)(uintptr_t)(r->p->rules != NULL ? r->p->rules->name : NULL)};
    uint64_t h = asc_hash64(kind, sizeof kind, 1);
    for (size_t i = 0; i < t->net->n_inputs; i++)
        h = asc_hash64(&t->feeds[i].given.shape, sizeof(asc_shape), h + t->feeds[i].moving);
    for (size_t k = 0; t->at_sites && k < t->n_at; k++)
        h = asc_hash64(&t->at[k].site, sizeof t->at[k].site, h);
    return h | 1;
}

/* With what the cache keeps of the program; `code`: that it and the device's code are still to come. */
static asc_status price(asc_pass_run *r, size_t n, size_t *out, size_t *code) {
    asc_ctx *ctx = r->t->ctx;
    asc_price p;
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    asc_status st = asc_pass_record(r, 0, n);
    if (st == ASC_OK) st = asc_price_of(ctx, r->outs, r->n_outs, &p);
    asc_status told = tell_rules(r, false);
    if (st == ASC_OK) st = told;
    asc_price_end(ctx);
    st = asc_scope_close(ctx, st);
    if (st != ASC_OK) return st;
    *out = p.arena_bytes + p.output_bytes + p.scratch_bytes;
    *code = p.program_bytes + p.code_bytes;
    return ASC_OK;
}

/* What a row takes outside the plan: its filled values, each a leaf and the buffer that it is copied from,
 * and room for what is read back. */
static size_t leaf_bytes(const asc_pass_run *r) {
    const asc_task *t = r->t;
    const asc_pass *p = r->p;
    bool paired = p->partner_rows != NULL;
    size_t filled = 0, read = 0, n = p->replace_sites ? t->n_at : t->n_in;
    for (size_t k = 0; k < n; k++) filled += p->replace_sites ? t->at[k].size : t->in[k].size;
    for (size_t k = 0; k < t->n_at; k++) read += t->at[k].size;
    size_t arrays = (size_t)p->want_values + (size_t)(p->want_values && paired) + (size_t)p->want_gradients;
    return filled * 2 * sizeof(float) * (paired ? 2 : 1) + read * sizeof(double) * arrays;
}

/* What one row takes with the gradients that the method will ask for behind this pass; 0 = none. */
static asc_status gradient_need(const asc_pass_run *before, size_t *out) {
    asc_task *t = before->t;
    asc_pass p = *before->p;
    asc_pass_run r;
    size_t code = 0;
    *out = 0;
    if (p.want_gradients || p.partner_rows != NULL || !t->method->by_gradient || before->aim->n_out != 1)
        return ASC_OK;
    p.want_gradients = true;
    asc_status st = run_init(&r, t, &p, before->aim);
    if (st == ASC_OK) st = price(&r, 1, out, &code);
    *out += code + leaf_bytes(&r);
    run_deinit(&r);
    return st;
}

static asc_status choose_rows(asc_pass_run *r, size_t *out) {
    asc_task *t = r->t;
    size_t want = r->p->rows->n, one = 0, two = 0, code = 0;
    size_t limit = t->req->memory_bytes > 0 ? t->req->memory_bytes
                                            : DEFAULT_MEMORY + t->ctx->mem.live_bytes[ASC_MEM_WEIGHTS];
    *out = 1;
    bool single = !t->batched || want == 1;
    if (single && t->req->memory_bytes == 0)
        return ASC_OK; /* nothing to choose, and no bound was asked for */
    if (t->req->rows_per_pass > 0) {
        *out = t->req->rows_per_pass < want ? t->req->rows_per_pass : want;
        return ASC_OK;
    }
    uint64_t key = price_key(r);
    asc_net_price *c = &t->net->prices[key % ASC_N_NET_PRICES];
    if (c->key != key) {
        asc_status st = price(r, 1, &one, &code);
        const bool more_rows = t->batched && want > 1; /* there is no second row to be priced otherwise */
        if (st == ASC_OK && more_rows) st = price(r, 2, &two, &code);
        if (st != ASC_OK) return st;
        size_t leaves = leaf_bytes(r);
        *c = (asc_net_price){.key = more_rows || !t->batched ? key : 0,
                             .one = one + leaves + code,
                             .more = (two > one ? two - one : 1) + leaves};
    }
    size_t base = asc_price_base(t->ctx), need = base + c->one;
    if (need > limit) {
        size_t more = 0;
        asc_status st = gradient_need(r, &more); /* the least bound is that of what comes behind it */
        if (st != ASC_OK) return st;
        if (need < base + more) need = base + more;
        ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "one row of '%s' needs %zu bytes; the bound is %zu",
                 t->net->path != NULL ? t->net->path : "the net", need, limit);
        return asc_hint(t->ctx, "raise --memory to at least %zuM", (need >> 20) + 1);
    }
    size_t fit = single ? 1 : 1 + (limit - need) / c->more, enough = 1 + ENOUGH_BYTES / c->more;
    if (enough < ENOUGH_ROWS) enough = ENOUGH_ROWS;
    if (fit > enough) fit = enough;
    if (fit > want) fit = want;
    size_t rounds = (want + fit - 1) / fit;
    *out = (want + rounds - 1) / rounds; /* equal passes: 17 rows at 16 a pass run as 9 + 8 */
    size_t peak = need + (*out - 1) * c->more;
    if (peak > t->r->predicted_peak_bytes) t->r->predicted_peak_bytes = peak;
    return ASC_OK;
}

asc_status asc_task_run(asc_task *t, const asc_pass *p) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    asc_pass_run r = {0};
    asc_aim other;
    size_t chunk = 1, n = p->rows->n;
    if (n == 0) return ASC_OK;
    if (p->other != NULL) {
        st = asc_aim_init(t, p->other, &other);
        if (st != ASC_OK) return st;
    }
    ASC_TRY(run_init(&r, t, p, p->other != NULL ? &other : &t->aim));
    ASC_TRY(choose_rows(&r, &chunk));
    for (size_t done = 0; done < n;) {
        size_t b = n - done < chunk ? n - done : chunk;
        const int depth = asc_prof_push(ctx, p->what != NULL ? p->what : "rows", (int64_t)done);
        st = one_pass(&r, done, b);
        if (st == ASC_OK) st = asc_mark(ctx, "rows");
        asc_prof_pop(ctx, depth);
        if (st != ASC_OK) goto done;
        done += b;
        t->r->n_forward += b * (p->partner_rows != NULL ? 2 : 1);
        t->r->n_backward += p->want_gradients ? b : 0;
        if (done < n) ASC_TRY(asc_progress(ctx, p->what != NULL ? p->what : "rows", (double)done, (double)n));
    }
    if (chunk > t->r->rows_per_pass) t->r->rows_per_pass = chunk;
done:
    if (r.t != NULL) run_deinit(&r);
    return st;
}

asc_status asc_task_chunk(asc_task *t, const asc_pass *p, size_t *out) {
    asc_pass_run r = {0};
    *out = 1;
    asc_status st = run_init(&r, t, p, &t->aim);
    if (st == ASC_OK) st = choose_rows(&r, out);
    run_deinit(&r);
    return st;
}

typedef struct collect {
    double *out;
    size_t n_out;
} collect;

static asc_status keep_f(void *self, size_t row, const asc_row_result *x) {
    collect *c = self;
    memcpy(c->out + row * c->n_out, x->f, c->n_out * sizeof *x->f);
    return ASC_OK;
}

asc_status asc_task_values(asc_task *t, const asc_rows *rows, bool replace_sites, double *out) {
    collect c = {.out = out};
    asc_status st = asc_task_n_out(t, &c.n_out);
    asc_pass p = {
        .rows = rows, .replace_sites = replace_sites, .what = "perturbed rows", .self = &c, .sink = keep_f};
    return st == ASC_OK ? asc_task_run(t, &p) : st;
}

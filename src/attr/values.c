/* values.c - values of many prompts, in batches that fit the memory bound; the floating-point error model. */
#include "ascribe/precision.h"
#include "exec.h"
#include "job_capture.h"
#include "method.h"
#include "profile.h"
#include <math.h>
#include <string.h>

/* Rows a batch needs before a wider one stops paying (docs/SPEED.md, GEMM): more only makes the plan larger.
 */
enum { ENOUGH_ROWS = 512 };
static const size_t DEFAULT_MEMORY = (size_t)400 << 20;

/* What one batch of b prompts needs, by planning it without running it. */
static asc_status price(asc_job *j, size_t len, size_t b, bool with_grad, asc_plan *out) {
    asc_ctx *ctx = j->ctx;
    size_t n = len * b;
    int32_t *ids = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_decoder_embed(&j->m->decoder, ids, (int64_t)b, (int64_t)len),
               *y = asc_job_scalar(j, x, NULL, NULL);
    asc_tensor *ts[2] = {y, NULL};
    if (with_grad) {
        int axis[] = {-1};
        asc_tensor *one = asc_full(ctx, asc_tensor_shape(y), 1.0);
        asc_grad(ctx, y, one, &x, 1, &ts[1]);
        ts[1] = asc_sum(ctx, asc_mul(ctx, ts[1], x), 1, axis, false);
    }
    asc_status st = asc_exec_price(ctx, ts, with_grad ? 2 : 1, out);
    st = asc_scope_close(ctx, st);
    asc_free(ctx, ids);
    return st;
}

static size_t bytes_of(const asc_plan *p) { return p->arena_bytes + p->output_bytes + p->scratch_bytes; }

asc_status asc_job_batch(asc_job *j, size_t len, size_t want, bool with_grad, size_t *out) {
    asc_plan one, two;
    size_t limit = j->req->memory_bytes > 0 ? j->req->memory_bytes : DEFAULT_MEMORY;
    *out = 1;
    asc_status st = price(j, len, 1, with_grad, &one);
    if (st != ASC_OK) return st;
    size_t fixed = bytes_of(&one), peak = fixed;
    if (fixed > limit) {
        ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "one prompt of %zu tokens needs %zu bytes; the bound is %zu",
                 len, fixed, limit);
        return asc_hint(j->ctx, "raise --memory to at least %zuM", (fixed >> 20) + 1);
    }
    size_t most = (ENOUGH_ROWS + len - 1) / len;
    if (most > want) most = want;
    if (most > 1) {
        st = price(j, len, 2, with_grad, &two);
        if (st != ASC_OK) return st;
        size_t per = bytes_of(&two) > fixed ? bytes_of(&two) - fixed : 1, fit = 1 + (limit - fixed) / per;
        *out = fit < most ? fit : most;
        /* equal batches: 17 prompts at 16 a batch run as 9 + 8 */
        size_t rounds = (want + *out - 1) / *out;
        *out = (want + rounds - 1) / rounds;
        peak = fixed + (*out - 1) * per;
    }
    if (peak > j->r->predicted_peak_bytes) j->r->predicted_peak_bytes = peak;
    return ASC_OK;
}

typedef struct prompts {
    asc_job *j;
    const int32_t *ids;
    size_t b, len;
} prompts;

static asc_status record_prompts(void *self, asc_tensor **outs) {
    const prompts *p = self;
    outs[0] = asc_job_scalar(p->j, asc_job_embed(p->j, p->ids, (int64_t)p->b, (int64_t)p->len), NULL, NULL);
    return ASC_OK;
}

static asc_status one_batch(asc_job *j, const int32_t *ids, size_t b, size_t len, double *out) {
    asc_ctx *ctx = j->ctx;
    prompts p = {.j = j, .ids = ids, .b = b, .len = len};
    const int64_t sizes[] = {2, (int64_t)len};
    const asc_job_source first = {.ids = ids, .n = b * len};
    asc_job_batch_run run;
    asc_tensor *y = NULL;
    asc_status st = asc_job_captured(&run, j, sizes, 2, b, &first, 1, 1, record_prompts, &p);
    bool ran = run.capture != NULL;
    if (st == ASC_OK && ran) st = asc_job_captured_read(&run, 0, out, b);
    asc_job_captured_deinit(&run);
    if (st != ASC_OK || ran) return st;
    asc_scope_begin(ctx);
    st = record_prompts(&p, &y);
    if (st == ASC_OK) st = asc_read_f64(ctx, y, out, b);
    return asc_scope_close(ctx, st);
}

/* Tokens that all n prompts begin with and that are worth running once; at least one token of each stays. */
static size_t common_prefix(const asc_job *j, const int32_t *ids, size_t n, size_t len) {
    enum { WORTH_IT = 8 };
    size_t c = 0;
    if (n < 2 || j->no_sharing) return 0;
    while (c + 1 < len) {
        for (size_t i = 1; i < n; i++) {
            if (ids[i * len + c] != ids[c]) return c >= WORTH_IT ? c : 0;
        }
        c++;
    }
    return c >= WORTH_IT ? c : 0;
}

static asc_status run_batches(asc_job *j, const int32_t *ids, size_t n, size_t len, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t batch, done = 0, c = j->n_prefix, rest = len - c;
    asc_status st = asc_job_batch(j, rest, n, false, &batch);
    int32_t *rows = st == ASC_OK ? asc_calloc(ctx, ASC_MEM_GENERAL, batch * rest, sizeof *rows) : NULL;
    if (st == ASC_OK && rows == NULL) st = ASC_RESOURCE_EXHAUSTED;
    while (st == ASC_OK && done < n) {
        size_t b = n - done < batch ? n - done : batch;
        for (size_t i = 0; i < b; i++)
            memcpy(rows + i * rest, ids + (done + i) * len + c, rest * sizeof *rows);
        const int depth = asc_prof_push(ctx, "prompts", (int64_t)done);
        st = one_batch(j, rows, b, rest, out + done);
        asc_prof_pop(ctx, depth);
        for (size_t i = done; i < done + b && st == ASC_OK; i++) {
            if (!isfinite(out[i])) st = asc_model_explain_nan(j->m, "a value of the model's output");
        }
        if (st != ASC_OK) break;
        done += b;
        j->r->n_forward += b;
        st = asc_progress(ctx, "prompts", (double)j->r->n_forward, 0.0);
    }
    asc_free(ctx, rows);
    return st;
}

asc_status asc_job_values(asc_job *j, const int32_t *ids, size_t n, size_t len, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t c = common_prefix(j, ids, n, len);
    asc_scope_begin(ctx);
    asc_status st = c > 0 ? asc_job_prefix_begin(j, ids, c) : ASC_OK;
    if (st == ASC_OK) st = run_batches(j, ids, n, len, out);
    asc_job_prefix_end(j);
    return asc_scope_close(ctx, st);
}

/* Error model. A logit is a sum of L residual contributions, each rounded; errors of f32 add like a random
 * walk, so a logit of size z carries about eps z sqrt(L) times a constant. Measured against f64 on the 135M
 * model: 5e-5 at z = 17, L = 30, that is 9 eps z sqrt(L); 16 leaves room. A log-probability of M tokens adds
 * M of them. */
double asc_job_value_noise(const asc_job *j) {
    double eps = asc_ctx_roundoff(j->ctx);
    double m = (double)(j->r->n_target + j->r->n_versus);
    double z = j->max_logit > 1.0 ? j->max_logit : 1.0;
    double noise = 16.0 * eps * z * sqrt((double)j->m->decoder.cfg.n_layers) * m;
    return j->req->output == ASC_OUTPUT_PROB ? noise * (j->r->value < 1.0 ? fabs(j->r->value) : 1.0) + eps
                                             : noise;
}

/* A gradient passes L layers twice; measured against f64: up to 1e-4 of the largest score at L = 30, that is
 * 56 eps L. */
double asc_job_gradient_noise(const asc_job *j, double largest) {
    double eps = asc_ctx_roundoff(j->ctx);
    return 128.0 * eps * (double)j->m->decoder.cfg.n_layers * largest;
}

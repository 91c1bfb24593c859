/* values.c - values of many prompts, in batches that fit the memory bound (budget.h); the floating-point
 * error model. */
#include "ascribe/precision.h"
#include "estimate.h"
#include "exec.h"
#include "job_capture.h"
#include "method.h"
#include "profile.h"
#include "rehearse.h"
#include "target.h"
#include "target_encoder.h"
#include <math.h>
#include <string.h>

typedef struct prompts {
    asc_job *j;
    const int32_t *ids;
    size_t b, len;
    bool each; /* also each explained token's value */
} prompts;

static asc_status record_prompts(void *self, asc_tensor **outs) {
    const prompts *p = self;
    asc_tensor *x = asc_job_embed(p->j, p->ids, (int64_t)p->b, (int64_t)p->len);
    asc_encoder_rows(p->j, p->ids, p->b * p->len);
    outs[0] = p->each ? asc_job_numbers(p->j, x) : asc_job_scalar(p->j, x, NULL, NULL);
    asc_encoder_rows(p->j, NULL, 0);
    return ASC_OK;
}

static size_t width_of(const asc_job *j, bool each) { return each ? asc_job_width(j) : 1; }

static asc_status run_batch(asc_job *j, const int32_t *ids, size_t b, size_t len, bool each, double *out) {
    asc_ctx *ctx = j->ctx;
    prompts p = {.j = j, .ids = ids, .b = b, .len = len, .each = each};
    const int64_t sizes[] = {2, (int64_t)len, each};
    const asc_job_source first = {.ids = ids, .n = b * len};
    asc_job_batch_run run;
    asc_tensor *y = NULL;
    asc_status st = asc_job_captured(&run, j, sizes, 3, b, &first, 1, 1, record_prompts, &p);
    bool ran = run.capture != NULL;
    const size_t n = b * width_of(j, each);
    if (st == ASC_OK && ran) st = asc_job_captured_read(&run, 0, out, n);
    asc_job_captured_deinit(&run);
    if (st != ASC_OK || ran) return st;
    asc_scope_begin(ctx);
    bool again = asc_rehearse_begin(ctx);
    do {
        st = record_prompts(&p, &y);
    } while (asc_rehearsed(ctx, st, &again, &y, 1));
    if (st == ASC_OK) st = asc_read_f64(ctx, y, out, n);
    return asc_scope_close(ctx, st);
}

/* Rows with words that stand there and are not seen: their ids as they are, and which. */
static asc_status one_batch(asc_job *j, const int32_t *ids, size_t b, size_t len, bool each, double *out) {
    if (!asc_encoder_hides(j)) return run_batch(j, ids, b, len, each, out);
    const size_t n = b * len;
    int32_t *plain = asc_calloc(j->ctx, ASC_MEM_SCRATCH, n + 1, sizeof *plain);
    if (plain == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) plain[i] = ids[i] < 0 ? ~ids[i] : ids[i];
    j->encoder->hidden = ids;
    asc_status st = run_batch(j, plain, b, len, each, out);
    j->encoder->hidden = NULL;
    asc_free(j->ctx, plain);
    return st;
}

/* Tokens that all n prompts begin with and that are worth running once; at least one token of each stays. A
 * neuron's may lie among them: none. */
static size_t common_prefix(const asc_job *j, const int32_t *ids, size_t n, size_t len) {
    enum { WORTH_IT = 8 };
    size_t c = 0;
    if (n < 2 || j->no_sharing || j->neuron.on || !asc_model_shares_prefixes(j->m)) return 0;
    while (c + 1 < len) {
        for (size_t i = 1; i < n; i++) {
            if (ids[i * len + c] != ids[c]) return c >= WORTH_IT ? c : 0;
        }
        c++;
    }
    return c >= WORTH_IT ? c : 0;
}

static asc_status run_batches(asc_job *j, const int32_t *ids, size_t n, size_t len, bool each, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t done = 0, c = j->n_prefix, rest = len - c, width = width_of(j, each);
    asc_way way;
    asc_status st = asc_job_batch(j, ASC_PASS_VALUES, rest, n, &way);
    if (st == ASC_OK && j->estimate != NULL) {
        memset(out, 0, n * width * sizeof *out);
        return asc_estimate_passes(j, ASC_PASS_VALUES, rest, n, &way);
    }
    int32_t *rows = st == ASC_OK ? asc_calloc(ctx, ASC_MEM_GENERAL, way.batch * rest, sizeof *rows) : NULL;
    if (st == ASC_OK && rows == NULL) st = ASC_RESOURCE_EXHAUSTED;
    while (st == ASC_OK && done < n) {
        size_t b = n - done < way.batch ? n - done : way.batch;
        for (size_t i = 0; i < b; i++)
            memcpy(rows + i * rest, ids + (done + i) * len + c, rest * sizeof *rows);
        const int depth = asc_prof_push(ctx, "prompts", (int64_t)done);
        st = one_batch(j, rows, b, rest, each, out + done * width);
        if (st == ASC_OK) st = asc_mark(ctx, "prompts");
        asc_prof_pop(ctx, depth);
        for (size_t i = done * width; i < (done + b) * width && st == ASC_OK; i++) {
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

static asc_status values(asc_job *j, const int32_t *ids, size_t n, size_t len, bool each, double *out) {
    asc_ctx *ctx = j->ctx;
    size_t c = common_prefix(j, ids, n, len);
    asc_scope_begin(ctx);
    asc_status st = c > 0 ? asc_job_prefix_begin(j, ids, c, len) : ASC_OK;
    if (st == ASC_OK) st = run_batches(j, ids, n, len, each, out);
    asc_job_prefix_end(j);
    return asc_scope_close(ctx, st);
}

asc_status asc_job_values(asc_job *j, const int32_t *ids, size_t n, size_t len, double *out) {
    return values(j, ids, n, len, false, out);
}

asc_status asc_job_values_each(asc_job *j, const int32_t *ids, size_t n, size_t len, double *out) {
    return values(j, ids, n, len, true, out);
}

/* Error model. A logit is a sum of L residual contributions, each rounded; errors of f32 add like a random
 * walk, so a logit of size z carries about eps z sqrt(L) times a constant. Measured against f64 on the 135M
 * model: 5e-5 at z = 17, L = 30, that is 9 eps z sqrt(L); 16 leaves room. A log-probability of M tokens adds
 * M of them. */
static double noise_of(const asc_job *j, double m, double value) {
    double eps = asc_ctx_roundoff(j->ctx);
    double z = j->max_logit > 1.0 || j->neuron.on ? j->max_logit : 1.0; /* of a neuron: its row's largest */
    double noise = 16.0 * eps * z * sqrt((double)j->m->info.n_layers) * m;
    return j->req->output == ASC_OUTPUT_PROB ? noise * (value < 1.0 ? fabs(value) : 1.0) + eps : noise;
}

double asc_job_value_noise(const asc_job *j) {
    asc_answer answers[2];
    asc_job_answers(j, answers);
    double m = (double)(answers[0].n - answers[0].first + answers[1].n);
    if (j->encoder != NULL && j->m->encoder->cfg.head == ASC_HEAD_SPAN)
        m = answers[1].n > 0 ? 4.0 : 2.0; /* where an answer begins and where it ends */
    return noise_of(j, m, j->r->value);
}

double asc_job_token_noise(const asc_job *j, size_t k) { return noise_of(j, 1.0, j->r->token_values[k]); }

/* A gradient passes L layers twice; measured against f64: up to 1e-4 of the largest score at L = 30, that is
 * 56 eps L. */
double asc_job_gradient_noise(const asc_job *j, double largest) {
    double eps = asc_ctx_roundoff(j->ctx);
    return 128.0 * eps * (double)j->m->info.n_layers * largest;
}

/* answer_matrix.c - scores of each token of the answer: result.matrix, prompt by answer.
 *
 * Gradient methods: the answer's tokens share one forward pass. What token k says depends on one row of what
 * leaves the last block, so one backward pass through the head serves all of them; from there on each token
 * has a cotangent of its own, and they go through the blocks together (asc_grad_many). A model with ops that
 * this cannot pass, or too little memory for a second row, gets a backward pass for each token. */
#include "blockwise.h"
#include "budget.h"
#include "estimate.h"
#include "exec.h"
#include "grad.h"
#include "neuron.h"
#include "ops.h"
#include "rehearse.h"
#include "target.h"
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 2048 }; /* of a batch of cotangents: wider does not pay */

asc_status asc_job_matrix_make(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    size_t n = asc_job_width(j) - 1, cells;
    if (!j->req->per_token) return ASC_OK;
    if (!asc_mul_size(n, r->n_features, &cells)) return ASC_RESOURCE_EXHAUSTED;
    r->matrix = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *r->matrix);
    r->matrix_errors = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *r->matrix_errors);
    r->token_values = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *r->token_values);
    if (r->matrix == NULL || r->matrix_errors == NULL || r->token_values == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    r->n_matrix = n;
    return ASC_OK;
}

asc_status asc_job_whole_value(asc_job *j) {
    asc_result *r = j->r;
    size_t n = asc_job_width(j);
    double *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof *out);
    if (out == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_job_values_each(j, r->prompt_ids, 1, r->n_prompt, out);
    r->value = out[0];
    for (size_t k = 0; k + 1 < n; k++) r->token_values[k] = out[1 + k];
    asc_free(j->ctx, out);
    return st;
}

/* ---- gradients ---- */

/* What is accumulated of the tokens' gradients. */
typedef struct sums {
    asc_job *j;
    const char *norm;    /* NULL: gradient times input */
    const double *delta; /* [P,D], what gradients are multiplied by; with norm NULL */
    size_t p, d, m;
    size_t from, end; /* columns that count */
    double *whole;    /* [P,D]: gradient of the answer's log-probability or logit; only norms need it */
    double *rows;     /* [m,P] */
    double *value;    /* [m] log-probabilities or logits */
} sums;

static double reduce(const double *row, size_t d, const char *norm) {
    double s = 0.0;
    bool l2 = strcmp(norm, "l2") == 0, absolute = strcmp(norm, "abs") == 0;
    for (size_t i = 0; i < d; i++) s += l2 ? row[i] * row[i] : absolute ? fabs(row[i]) : row[i];
    return l2 ? sqrt(s) : s;
}

/* Takes in token k's gradient g [P,D], with a weight. */
static asc_status take(sums *s, size_t k, const double *g, double weight) {
    for (size_t t = 0; t < s->p; t++) {
        const double *row = g + t * s->d;
        double v = 0.0;
        if (s->norm != NULL) {
            v = reduce(row + s->from, s->end - s->from, s->norm);
            for (size_t i = 0; i < s->d; i++) s->whole[t * s->d + i] += weight * row[i];
        } else {
            for (size_t i = s->from; i < s->end; i++) v += row[i] * s->delta[t * s->d + i];
        }
        if (!isfinite(v)) return asc_model_explain_nan(s->j->m, "a gradient");
        s->rows[k * s->p + t] += weight * v;
    }
    return ASC_OK;
}

/* One forward pass recorded from x [1,P,D], the scores of the tokens, and their gradients at what leaves the
 * last block: row k is that of token k alone. */
typedef struct shared {
    asc_tensor *at; /* where gradients are wanted: x or the job's site */
    asc_tensor *hidden, *tokens, *cotangents;
} shared;

static asc_status record_shared(asc_job *j, asc_tensor *x, shared *out) {
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    asc_decoder_run run;
    asc_kv *past;
    asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
    bool at_embed = j->site == ASC_SITE_EMBED;
    asc_job_answers(j, answers);
    asc_status st = asc_answer_run(j, 1, &answers[0], 0, j->m->decoder.cfg.n_layers,
                                   at_embed ? NULL : asc_catch_site, &c, &run, &past);
    if (st != ASC_OK) return st;
    run.x = asc_answer_join(j, x, &answers[0]);
    out->hidden = asc_decoder_hidden(&j->m->decoder, &run);
    asc_free(j->ctx, past);
    out->at = at_embed || c.value == NULL ? x : c.value;
    out->tokens = asc_answer_tokens(j, out->hidden, &answers[0]);
    out->cotangents = out->tokens;
    if (out->tokens->poison == ASC_OK)
        asc_grad(ctx, out->tokens, asc_full(ctx, out->tokens->shape, 1.0), &out->hidden, 1, &out->cotangents);
    return ASC_OK;
}

/* Seeds [n,m,D] of tokens first .. first + n - 1: row k of the cotangents [1,m,D] for token k, else 0. */
static asc_tensor *seeds(asc_job *j, const shared *s, size_t first, size_t n, size_t m) {
    asc_ctx *ctx = j->ctx;
    float *eye = asc_calloc(ctx, ASC_MEM_GENERAL, n * m, sizeof *eye);
    if (eye == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t k = 0; k < n; k++) eye[k * m + first + k] = 1.0f;
    asc_tensor *which = asc_from_f32(ctx, ASC_SHAPE((int64_t)n, (int64_t)m, 1), eye);
    asc_free(ctx, eye);
    return asc_mul(ctx, s->cotangents, which);
}

/* Gradients [n,P',D] of tokens first .. first + n - 1 in one program; the values of all tokens [1,m]; the
 * activation. False: this model's ops do not let them pass together. */
static bool record_chunk(asc_job *j, asc_tensor *x, size_t first, size_t n, size_t m, asc_tensor *ts[3]) {
    shared s;
    if (record_shared(j, x, &s) != ASC_OK) return false;
    ts[0] = s.tokens;
    ts[2] = s.at;
    if (n == 1 || s.hidden->poison != ASC_OK) {
        ts[1] = s.hidden;
        if (s.hidden->poison == ASC_OK)
            asc_grad(j->ctx, s.hidden, seeds(j, &s, first, 1, m), &s.at, 1, &ts[1]);
        return true;
    }
    return asc_grad_many(j->ctx, s.hidden, seeds(j, &s, first, n, m), s.at, &ts[1]);
}

/* What the gradients of n of the m tokens need as one program; *together: whether they can be one. */
static asc_status price_chunk(asc_job *j, size_t p, size_t n, size_t m, asc_price *out, bool *together) {
    asc_ctx *ctx = j->ctx;
    asc_tensor *ts[3] = {NULL, NULL, NULL};
    *out = (asc_price){0};
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    asc_tensor *x = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE(1, (int64_t)p, j->m->decoder.cfg.d_model));
    *together = record_chunk(j, x, 0, n, m, ts);
    asc_status st = *together ? asc_price_of(ctx, ts, 3, out) : ASC_OK;
    asc_price_end(ctx);
    return asc_scope_close(ctx, st);
}

/* How many tokens go together under the memory bound; 0: not even one as a whole program. */
static asc_status choose(asc_job *j, size_t p, size_t m, size_t *out) {
    asc_ctx *ctx = j->ctx;
    size_t n = (MOST_ROWS + p + m - 1) / (p + m), chunks;
    if (n > m) n = m;
    if (asc_job_token_passes(j)) {
        *out = 0;
        return ASC_OK;
    }
    for (;; n = (n + 1) / 2) {
        asc_price price;
        bool together;
        asc_status st = price_chunk(j, p, n, m, &price, &together);
        if (st != ASC_OK) return st;
        size_t need = price.arena_bytes + price.scratch_bytes + price.output_bytes + price.code_bytes;
        size_t base = asc_price_base(ctx), limit = asc_job_limit(j);
        if (together && need <= (limit > base ? limit - base : 0)) {
            asc_job_note_peak(j, need);
            break;
        }
        if (n == 1) {
            *out = 0;
            return ASC_OK;
        }
        if (!together) n = 1;
    }
    chunks = (m + n - 1) / n;
    *out = (m + chunks - 1) / chunks;
    return ASC_OK;
}

/* A dry run's part: the gradients of all tokens at so many points. */
static asc_status estimate(asc_job *j, const sums *s, size_t together, size_t points) {
    asc_way way = {.batch = 1, .keep_every = 1};
    asc_price price;
    bool is_one;
    if (together == 0) return asc_estimate_passes(j, ASC_PASS_GRADIENT, s->p, points * s->m, &way);
    size_t chunks = (s->m + together - 1) / together;
    asc_status st = price_chunk(j, s->p, together, s->m, &price, &is_one);
    if (st != ASC_OK) return st;
    return asc_estimate_gradients(j, &price, s->p + s->m - 1, together, points * chunks, points * s->m);
}

static asc_status read_chunk(sums *s, asc_tensor *const ts[3], size_t first, size_t n, double weight,
                             bool activation) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    size_t cells = s->p * s->d, rows = (size_t)ts[1]->shape.dims[1];
    asc_status st = ASC_OK;
    double *g = asc_calloc(ctx, ASC_MEM_SCRATCH, cells, sizeof *g), *delta = NULL;
    if (g == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (activation && s->norm == NULL) { /* gradient times input: the value there */
        delta = asc_calloc(ctx, ASC_MEM_SCRATCH, cells, sizeof *delta);
        if (delta == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
        ASC_TRY(asc_exec_read_part(ctx, ts[2], 0, delta, cells));
        s->delta = delta;
    }
    for (size_t k = 0; k < n; k++) {
        ASC_TRY(asc_exec_read_part(ctx, ts[1], (int64_t)(k * rows * s->d), g, cells));
        ASC_TRY(take(s, first + k, g, weight));
    }
done:
    if (delta != NULL) s->delta = NULL;
    asc_free(ctx, g);
    asc_free(ctx, delta);
    return st;
}

/* One token alone, block by block: the job's question becomes that token for the time. */
static asc_status token_by_blocks(sums *s, asc_tensor *x, size_t k, size_t keep_every, double weight,
                                  bool activation) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    asc_answer answers[2];
    asc_request one = *j->req;
    const asc_request *asked = j->req;
    asc_tensor *ts[3] = {NULL, NULL, NULL};
    asc_job_answers(j, answers);
    const size_t span_start = j->span_start, span_end = j->span_end;
    j->span_start = answers[0].first + k;
    j->span_end = j->span_start + 1;
    one.per_token = false;
    if (one.output == ASC_OUTPUT_PROB) one.output = ASC_OUTPUT_LOGPROB;
    j->req = &one;
    asc_scope_begin(ctx);
    asc_status st = asc_blockwise_gradient(j, x, keep_every, &ts[0], &ts[1], &ts[2]);
    j->req = asked;
    j->span_start = span_start;
    j->span_end = span_end;
    if (st == ASC_OK) st = asc_read_f64(ctx, ts[0], &s->value[k], 1);
    if (st == ASC_OK) st = read_chunk(s, ts, k, 1, weight, activation);
    for (int i = 0; i < 3; i++) asc_tensor_release(ts[i]);
    j->r->n_forward++;
    return asc_scope_close(ctx, st);
}

/* All tokens' gradients at x [1,P,D], which has a value. activation: multiply by what stands at `at`. */
static asc_status all_tokens(sums *s, asc_tensor *x, size_t together, double weight, bool activation) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    size_t keep_every = 1;
    if (together == 0) {
        asc_way way;
        st = asc_job_batch(j, ASC_PASS_GRADIENT, s->p, 1, &way);
        keep_every = way.keep_every > 0 ? way.keep_every : 1;
    }
    for (size_t at = 0, n; st == ASC_OK && at < s->m; at += n) {
        n = together == 0 ? 1 : s->m - at < together ? s->m - at : together;
        if (together == 0) {
            st = token_by_blocks(s, x, at, keep_every, weight, activation);
        } else {
            asc_tensor *ts[3] = {NULL, NULL, NULL};
            asc_scope_begin(ctx);
            bool whole, again = asc_rehearse_begin(ctx);
            do {
                whole = record_chunk(j, x, at, n, s->m, ts);
            } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 3));
            st = whole ? asc_run(ctx, ts, 3) : ASC_INTERNAL;
            if (st == ASC_OK) st = asc_read_f64(ctx, ts[0], s->value, s->m);
            if (st == ASC_OK) st = read_chunk(s, ts, at, n, weight, activation);
            st = asc_scope_close(ctx, st);
            j->r->n_forward++;
        }
        j->r->n_backward += n;
        if (st == ASC_OK) st = asc_progress(ctx, "answer tokens", (double)(at + n), (double)s->m);
    }
    return st;
}

static asc_status sums_init(sums *s, asc_job *j, const char *norm) {
    asc_ctx *ctx = j->ctx;
    size_t cells;
    *s = (sums){.j = j,
                .norm = norm,
                .p = j->r->n_prompt,
                .d = (size_t)asc_model_site_width(j->m, j->site, j->site_layer),
                .m = asc_job_width(j) - 1};
    s->from = (size_t)j->site_first;
    s->end = j->site_columns > 0 ? s->from + (size_t)j->site_columns : s->d;
    s->value = asc_calloc(ctx, ASC_MEM_GENERAL, s->m, sizeof *s->value);
    s->rows =
        asc_mul_size(s->m, s->p, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *s->rows) : NULL;
    if (norm != NULL && asc_mul_size(s->p, s->d, &cells))
        s->whole = asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *s->whole);
    return s->value == NULL || s->rows == NULL || (norm != NULL && s->whole == NULL) ? ASC_RESOURCE_EXHAUSTED
                                                                                     : ASC_OK;
}

static void sums_deinit(sums *s) {
    asc_free(s->j->ctx, s->value);
    asc_free(s->j->ctx, s->rows);
    asc_free(s->j->ctx, s->whole);
}

/* Row k of the matrix from scores of prompt tokens [P]; l2: features are norms over all their columns. */
static void group_row(asc_job *j, size_t k, const double *row, bool l2) {
    asc_result *r = j->r;
    double largest = 0.0;
    for (size_t t = 0; t < r->n_prompt; t++) largest = fmax(largest, fabs(row[t]));
    double noise = asc_job_gradient_noise(j, largest);
    double *scores = r->matrix + k * r->n_features, *errors = r->matrix_errors + k * r->n_features;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *part = &j->parts[i];
        for (size_t t = part->first; t < part->last; t++) {
            scores[part->feature] += l2 ? row[t] * row[t] : row[t];
            errors[part->feature] += noise;
        }
    }
    for (size_t i = 0; l2 && i < r->n_features; i++) scores[i] = sqrt(scores[i]);
}

/* What the sums say: values, the whole answer's scores, the matrix. With PROB each token's gradient is that
 * of its logarithm times its probability. */
static void publish(sums *s) {
    asc_job *j = s->j;
    asc_result *r = j->r;
    bool prob = j->req->output == ASC_OUTPUT_PROB, l2 = s->norm != NULL && strcmp(s->norm, "l2") == 0;
    double total = 0.0, largest = 0.0;
    for (size_t k = 0; k < s->m; k++) total += s->value[k];
    r->value = prob ? exp(total) : total;
    for (size_t t = 0; t < s->p; t++) {
        double v = 0.0;
        if (s->norm != NULL)
            v = reduce(s->whole + t * s->d + s->from, s->end - s->from, s->norm);
        else
            for (size_t k = 0; k < s->m; k++) v += s->rows[k * s->p + t];
        r->scores[t] = prob ? r->value * v : v;
        largest = fmax(largest, fabs(r->scores[t]));
    }
    for (size_t t = 0; t < s->p; t++) r->score_errors[t] = asc_job_gradient_noise(j, largest);
    for (size_t k = 0; k < s->m; k++) {
        r->token_values[k] = prob ? exp(s->value[k]) : s->value[k];
        for (size_t t = 0; prob && t < s->p; t++) s->rows[k * s->p + t] *= r->token_values[k];
        group_row(j, k, s->rows + k * s->p, l2);
    }
}

asc_status asc_job_matrix_gradient(asc_job *j, const char *norm) {
    asc_ctx *ctx = j->ctx;
    sums s;
    size_t together = 0;
    asc_status st = sums_init(&s, j, norm);
    if (st == ASC_OK) st = choose(j, s.p, s.m, &together);
    if (st == ASC_OK && j->estimate != NULL) {
        st = estimate(j, &s, together, 1);
        sums_deinit(&s);
        return st;
    }
    asc_scope_begin(ctx);
    if (st == ASC_OK) {
        asc_tensor *x = asc_decoder_embed(&j->m->decoder, j->r->prompt_ids, 1, (int64_t)s.p);
        st = asc_run(ctx, &x, 1);
        if (st == ASC_OK) st = all_tokens(&s, x, together, 1.0, true);
    }
    st = asc_scope_close(ctx, st);
    if (st == ASC_OK) publish(&s);
    sums_deinit(&s);
    return st;
}

/* The prompt's end and the baseline's of the path, [P,D] each, with values. */
static asc_status path_ends(asc_job *j, asc_tensor *ends[2]) {
    size_t p = j->r->n_prompt;
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids, 1, (int64_t)p);
    ends[0] = asc_reshape(j->ctx, x, ASC_SHAPE((int64_t)p, j->m->info.d_model));
    ends[1] = asc_job_path_start(j, ends[0]);
    return asc_run(j->ctx, ends, 2);
}

/* x - baseline, which every gradient on the path is multiplied by. */
static asc_status read_delta(sums *s, asc_tensor *const ends[2], double **out) {
    asc_ctx *ctx = s->j->ctx;
    *out = asc_calloc(ctx, ASC_MEM_SCRATCH, s->p * s->d, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->delta = *out;
    return asc_read_f64(ctx, asc_sub(ctx, ends[0], ends[1]), *out, s->p * s->d);
}

static asc_status all_points(sums *s, asc_tensor *const ends[2], size_t together, const double *alphas,
                             const double *weights, size_t n) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_scope_begin(ctx);
        asc_tensor *a = asc_from_f64(ctx, ASC_SHAPE(1, 1, 1), &alphas[i]),
                   *x = asc_record_points(j, ends[0], ends[1], a);
        st = asc_run(ctx, &x, 1);
        if (st == ASC_OK) asc_tensor_detach(x);
        if (st == ASC_OK) st = all_tokens(s, x, together, weights[i], false);
        st = asc_scope_close(ctx, st);
        if (st == ASC_OK) st = asc_progress(ctx, "points", (double)(i + 1), (double)n);
    }
    return st;
}

asc_status asc_job_matrix_path(asc_job *j, const double *alphas, const double *weights, size_t n) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    asc_tensor *ends[2];
    double *delta = NULL;
    sums s;
    size_t together = 0;
    asc_scope_begin(ctx);
    asc_status st = sums_init(&s, j, NULL);
    if (st == ASC_OK) st = choose(j, s.p, s.m, &together);
    if (st == ASC_OK && j->estimate != NULL) {
        st = estimate(j, &s, together, n);
        if (st == ASC_OK) st = asc_job_whole_value(j);
        goto done;
    }
    if (st == ASC_OK) st = path_ends(j, ends);
    if (st == ASC_OK) st = read_delta(&s, ends, &delta);
    if (st == ASC_OK) st = all_points(&s, ends, together, alphas, weights, n);
    double value = r->value;
    if (st == ASC_OK) publish(&s);
    r->value = value;
    for (size_t i = 0; st == ASC_OK && i < r->n_matrix * r->n_features; i++) r->matrix_errors[i] = NAN;
    if (st == ASC_OK) st = asc_job_whole_value(j); /* the sums' values are those of the last point */
done:
    asc_free(ctx, delta);
    sums_deinit(&s);
    return asc_scope_close(ctx, st);
}

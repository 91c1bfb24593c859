/* activation_patching.c - what is lost when one site's value at one feature's tokens is that of the other
 * prompt's run: the run that follows is done for each. What entered every block is kept of both prompts, so
 * that a run begins at the block that is patched; several go together as rows. Of language models tokens in
 * front of the first one that differs have the same values in both runs: nothing is lost there, nothing is
 * run. */
#include "corrupted.h"
#include "estimate.h"
#include "exec.h"
#include "inner_table.h"
#include "job_blocks.h"
#include "ops.h"
#include "rehearse.h"
#include <math.h>
#include <string.h>

static const size_t ALL = SIZE_MAX; /* in the place of a feature: every token, the answer's included */

typedef struct patching {
    asc_job *j;
    asc_answer answer;
    double sign;
    int64_t t, n_layers;
    asc_tensor **in[2];       /* [n_layers]: what enters each block, [1,t,D]; retained */
    size_t *groups, n_groups; /* features whose values differ */
    size_t most;              /* rows that go together */
    float *mask;              /* of a batch: [rows,t] or [rows,t,heads] */
    double *f;                /* of a batch */
    /* while a block is recorded */
    int64_t layer;
    asc_sweep_site site;
    asc_tensor *where,
        *value; /* 1 where a row is patched; the other run's value, NULL while it is looked for */
    bool looking;
} patching;

/* ---- the patch ---- */

static asc_tensor *patched(patching *p, int64_t layer, asc_sweep_site site, asc_tensor *v) {
    if (layer != p->layer || site != p->site || asc_tensor_poisoned(v)) return v;
    if (p->looking) {
        p->value = v;
        return v;
    }
    return p->value == NULL ? v : asc_where(p->j->ctx, p->where, p->value, v);
}

static asc_tensor *at_site(void *self, asc_decoder_site site, int64_t layer, asc_tensor *v) {
    if (site == ASC_SITE_ATTN_OUT) return patched(self, layer, ASC_SWEEP_ATTN, v);
    if (site == ASC_SITE_MLP_OUT) return patched(self, layer, ASC_SWEEP_MLP, v);
    return site == ASC_SITE_BLOCK_OUT ? patched(self, layer, ASC_SWEEP_OUT, v) : v;
}

static asc_tensor *inside(void *self, int64_t layer, bool probs, asc_tensor *v) {
    return probs ? v : patched(self, layer, ASC_SWEEP_HEADS, v);
}

/* Block l on x [b,t,D]; `look`: with the patch, or looking for the value. */
static asc_tensor *record(patching *p, int64_t l, asc_tensor *x, bool look) {
    const asc_block_eyes eyes = {
        .site = at_site, .inner = p->site == ASC_SWEEP_HEADS ? inside : NULL, .self = p};
    return asc_job_block(p->j, &p->answer, l, look ? &eyes : NULL, x);
}

/* The patched block on b rows of the prompt's own stream. */
static asc_tensor *record_patched(patching *p, asc_tensor *own, asc_tensor *other, int64_t b) {
    asc_ctx *ctx = p->j->ctx;
    asc_shape s = own->shape;
    p->looking = true;
    p->value = NULL;
    asc_tensor *unused = record(p, p->layer, other, true);
    p->looking = false;
    if (asc_tensor_poisoned(unused)) return unused;
    s.dims[0] = b;
    return record(p, p->layer, b == 1 ? own : asc_broadcast(ctx, own, s), true);
}

/* ---- running ---- */

/* Computes *t in the current scope and hands it to the caller: retained, a leaf. Ends the scope. */
static asc_status settle(patching *p, asc_tensor *t, asc_tensor **out) {
    asc_ctx *ctx = p->j->ctx;
    asc_status st = asc_run(ctx, &t, 1);
    if (st == ASC_OK) {
        asc_tensor_detach(t);
        asc_tensor_retain(t);
        asc_tensor_release(*out);
        *out = t;
    }
    return asc_scope_close(ctx, st);
}

/* What enters each block, of prompt k. */
static asc_status keep_stream(patching *p, int k, const int32_t *ids) {
    asc_job *j = p->j;
    asc_status st = ASC_OK;
    for (int64_t l = 0; st == ASC_OK && l < p->n_layers; l++) {
        st = asc_poll_cancel(j->ctx);
        if (st != ASC_OK) break;
        asc_scope_begin(j->ctx);
        asc_tensor *x;
        bool again = asc_rehearse_begin(j->ctx);
        do {
            x = l == 0 ? asc_job_entry(j, asc_model_embed(j->m, ids, 1, (int64_t)j->r->n_prompt), &p->answer)
                       : record(p, l - 1, p->in[k][l - 1], false);
        } while (asc_rehearsed(j->ctx, ASC_OK, &again, &x, 1));
        st = settle(p, x, &p->in[k][l]);
    }
    return st;
}

/* Rows of a site's batch: feature by feature, of heads head by head within. */
static size_t per_group(const patching *p) {
    return p->site == ASC_SWEEP_HEADS ? (size_t)asc_job_heads(p->j) : 1;
}

static asc_tensor *make_mask(patching *p, size_t first, size_t b) {
    const size_t h = per_group(p), t = (size_t)p->t;
    memset(p->mask, 0, b * t * h * sizeof *p->mask);
    for (size_t i = 0; i < b; i++) {
        const size_t g = p->groups[(first + i) / h], head = (first + i) % h;
        size_t from = 0, end = t;
        if (g != ALL) {
            from = p->j->r->features[g].first_token;
            end = from + p->j->r->features[g].n_tokens;
        }
        for (size_t k = from; k < end; k++) p->mask[(i * t + k) * h + head] = 1.0f;
    }
    asc_shape shape = ASC_SHAPE((int64_t)b, p->t, 1);
    if (p->site == ASC_SWEEP_HEADS) shape = ASC_SHAPE((int64_t)b, p->t, (int64_t)h, 1);
    return asc_from_f32(p->j->ctx, shape, p->mask);
}

static asc_status run_rows(patching *p, size_t first, size_t b) {
    asc_ctx *ctx = p->j->ctx;
    asc_tensor *x = NULL, *y;
    asc_scope_begin(ctx);
    p->where = make_mask(p, first, b);
    bool again = asc_rehearse_begin(ctx);
    do {
        y = record_patched(p, p->in[0][p->layer], p->in[1][p->layer], (int64_t)b);
    } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
    asc_status st = settle(p, y, &x);
    for (int64_t l = p->layer + 1; st == ASC_OK && l < p->n_layers; l++) {
        st = asc_poll_cancel(ctx);
        if (st != ASC_OK) break;
        asc_scope_begin(ctx);
        again = asc_rehearse_begin(ctx);
        do {
            y = record(p, l, x, false);
        } while (asc_rehearsed(ctx, ASC_OK, &again, &y, 1));
        st = settle(p, y, &x);
    }
    if (st == ASC_OK) {
        asc_scope_begin(ctx);
        st =
            asc_scope_close(ctx, asc_read_f64(ctx, asc_job_end(p->j, x, &p->answer, p->sign < 0.0), p->f, b));
    }
    asc_tensor_release(x);
    p->j->r->n_forward += b;
    return st;
}

/* Adds sign * (- f) of every row to its place in the table; the prompt's own value comes at the end. */
static asc_status run_site(patching *p) {
    asc_result *r = p->j->r;
    const size_t h = per_group(p), n = (p->n_groups + 1) * h;
    asc_status st = ASC_OK;
    for (size_t done = 0; st == ASC_OK && done < n;) {
        const size_t b = n - done < p->most ? n - done : p->most;
        st = run_rows(p, done, b);
        for (size_t i = 0; st == ASC_OK && i < b; i++) {
            const int64_t head = p->site == ASC_SWEEP_HEADS ? (int64_t)((done + i) % h) : -1;
            const size_t row = asc_inner_row_at(p->j, p->j->inner, p->site, p->layer, head);
            if (!isfinite(p->f[i])) st = asc_model_explain_nan(p->j->m, "a patched value");
            const size_t g = p->groups[(done + i) / h];
            double *to = g == ALL ? &r->inner[row].total : &r->inner_scores[row * r->n_features + g];
            *to -= p->sign * p->f[i];
        }
        done += b;
        if (st == ASC_OK) st = asc_progress(p->j->ctx, "patches", (double)r->n_forward, 0.0);
    }
    return st;
}

static asc_status run_answer(patching *p) {
    asc_job *j = p->j;
    p->t = (int64_t)(j->r->n_prompt + p->answer.n) - 1;
    asc_status st = keep_stream(p, 0, j->r->prompt_ids);
    if (st == ASC_OK) st = keep_stream(p, 1, j->other);
    j->r->n_forward += 2;
    for (p->layer = 0; st == ASC_OK && p->layer < p->n_layers; p->layer++) {
        for (int k = 0; st == ASC_OK && k < ASC_SWEEP_PROBS; k++) {
            p->site = (asc_sweep_site)k;
            if ((j->inner >> k & 1) != 0) st = run_site(p);
        }
    }
    return st;
}

/* ---- pricing ---- */

/* The programs that there are: a block of one row, a patched block and one behind it, both also as the last
 * block, and the score. */
typedef enum step { STREAM, PATCHED, BEHIND, PATCHED_LAST, BEHIND_LAST, SCORE, N_STEPS } step;

static asc_status price_step(patching *p, step kind, size_t b, asc_price *out) {
    asc_job *j = p->j;
    asc_ctx *ctx = j->ctx;
    const int64_t middle = p->n_layers > 1 ? (p->n_layers - 1) / 2 : 0, last = p->n_layers - 1;
    const int64_t rows = kind == STREAM ? 1 : (int64_t)b, tail = (int64_t)(p->answer.n - p->answer.first);
    const bool heads = (j->inner & ~(1u << ASC_SWEEP_HEADS)) == 0;
    asc_tensor *y;
    asc_scope_begin(ctx);
    asc_price_begin(ctx);
    p->layer = kind == PATCHED_LAST ? last : middle;
    p->site = heads ? ASC_SWEEP_HEADS : ASC_SWEEP_OUT;
    p->where = asc_price_leaf(ctx, ASC_DTYPE_F32,
                              heads ? ASC_SHAPE(rows, p->t, asc_job_heads(j), 1) : ASC_SHAPE(rows, p->t, 1));
    asc_tensor *x = asc_price_leaf(ctx, ASC_DTYPE_F32,
                                   ASC_SHAPE(rows, kind == SCORE ? tail : p->t, j->m->info.d_model)),
               *own = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE(1, p->t, j->m->info.d_model)),
               *other = asc_price_leaf(ctx, ASC_DTYPE_F32, ASC_SHAPE(1, p->t, j->m->info.d_model));
    if (asc_tensor_poisoned(x) || asc_tensor_poisoned(own) || asc_tensor_poisoned(other))
        y = x;
    else if (kind == PATCHED || kind == PATCHED_LAST)
        y = record_patched(p, own, other, rows);
    else if (kind == SCORE)
        y = asc_job_end(j, x, &p->answer, p->sign < 0.0);
    else
        y = record(p, kind == BEHIND_LAST ? last : middle, x, false);
    asc_status st = asc_price_of(ctx, &y, 1, out);
    asc_price_end(ctx);
    return asc_scope_close(ctx, st);
}

/* What all of it takes at once with b rows; their own prices in steps. */
static asc_status price_all(patching *p, size_t b, asc_price steps[N_STEPS], size_t *bytes) {
    asc_ctx *ctx = p->j->ctx;
    const asc_shape one = ASC_SHAPE(1, p->t, p->j->m->info.d_model),
                    rows = ASC_SHAPE((int64_t)b, p->t, one.dims[2]);
    size_t arena = 0, scratch = 0, output = 0;
    asc_status st = ASC_OK;
    *bytes = 2 * (size_t)p->n_layers * asc_price_buffer(ctx, ASC_DTYPE_F32, &one) +
             asc_price_buffer(ctx, ASC_DTYPE_F32, &rows);
    for (int k = 0; st == ASC_OK && k < N_STEPS; k++) {
        st = price_step(p, (step)k, b, &steps[k]);
        if (st != ASC_OK) return st;
        if (steps[k].arena_bytes > arena) arena = steps[k].arena_bytes;
        if (steps[k].scratch_bytes > scratch) scratch = steps[k].scratch_bytes;
        if (steps[k].output_bytes > output) output = steps[k].output_bytes;
        *bytes += steps[k].code_bytes;
    }
    *bytes += arena + scratch + output;
    return st;
}

/* How many rows go together: as many as fit, up to where more no longer pays. */
static asc_status plan(patching *p) {
    enum { ENOUGH_ROWS = 512 }; /* as for other passes: budget.c */
    asc_price steps[N_STEPS];
    size_t one, two, programs = 0;
    asc_status st = price_all(p, 1, steps, &one);
    if (st != ASC_OK) return st;
    if (one > asc_job_room(p->j) && asc_job_drop_programs(p->j)) st = price_all(p, 1, steps, &one);
    if (st != ASC_OK) return st;
    if (one > asc_job_room(p->j)) return asc_job_too_small(p->j, p->j->r->n_prompt, one);
    p->most = 1;
    if ((size_t)p->t < ENOUGH_ROWS) {
        st = price_all(p, 2, steps, &two);
        if (st != ASC_OK) return st;
        for (int k = 0; k < N_STEPS; k++) programs += steps[k].program_bytes; /* those of the final number */
        const size_t per = two > one ? two - one : 1, need = one + programs, room = asc_job_room(p->j),
                     more = room > need ? (room - need) / per : 0,
                     most = (ENOUGH_ROWS + (size_t)p->t - 1) / (size_t)p->t;
        p->most = more < most - 1 ? 1 + more : most;
        one = need + (p->most - 1) * per;
    }
    if (p->j->estimate == NULL) asc_job_note_peak(p->j, one);
    if (p->most > p->j->r->prompts_per_pass) p->j->r->prompts_per_pass = p->most;
    return ASC_OK;
}

/* Patched rows of one layer. */
static double rows_wanted(const patching *p) {
    double rows = 0.0;
    for (int k = 0; k < ASC_SWEEP_PROBS; k++) {
        if ((p->j->inner >> k & 1) != 0)
            rows += (double)(p->n_groups + 1) * (k == ASC_SWEEP_HEADS ? (double)asc_job_heads(p->j) : 1.0);
    }
    return rows;
}

static asc_status count(patching *p) {
    asc_price steps[N_STEPS], sum = {0};
    const double layers = (double)p->n_layers, rows = rows_wanted(p), batches = rows / (double)p->most;
    const double times[N_STEPS] = {[STREAM] = 2.0 * layers,
                                   [PATCHED] = batches * layers,
                                   [BEHIND] = batches * layers * (layers - 1.0) / 2.0,
                                   [SCORE] = batches * layers};
    size_t bytes;
    bool prepares = asc_price_prepares(p->j->ctx, true);
    asc_status st = price_all(p, p->most, steps, &bytes);
    (void)asc_price_prepares(p->j->ctx, prepares);
    if (st != ASC_OK) return st;
    for (int k = 0; k < N_STEPS; k++) {
        sum.cost.flops += times[k] * steps[k].cost.flops;
        sum.cost.bytes_read += times[k] * steps[k].cost.bytes_read;
        sum.cost.bytes_written += times[k] * steps[k].cost.bytes_written;
    }
    sum.output_bytes = bytes;
    p->j->r->n_forward += (uint64_t)(rows * layers) + 2;
    return asc_estimate_program(p->j, &sum, p->most * (size_t)p->t);
}

/* ---- the method ---- */

/* Values of both prompts, and of the prompt with each feature's tokens replaced: the features' own scores. */
static asc_status token_values(patching *p) {
    asc_job *j = p->j;
    asc_result *r = j->r;
    const size_t n = p->n_groups + 2, w = r->n_prompt;
    size_t size;
    asc_status st = ASC_OK;
    int32_t *ids = asc_mul_size(n, w, &size) ? asc_calloc(j->ctx, ASC_MEM_GENERAL, size, sizeof *ids) : NULL;
    double *f = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof *f);
    if (ids == NULL || f == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < n; i++) memcpy(ids + i * w, i == 1 ? j->other : r->prompt_ids, w * sizeof *ids);
    for (size_t i = 0; i < p->n_groups; i++) {
        const asc_feature *g = &r->features[p->groups[i]];
        memcpy(ids + (i + 2) * w + g->first_token, j->other + g->first_token, g->n_tokens * sizeof *ids);
    }
    ASC_TRY(asc_job_values(j, ids, n, w, f));
    r->value = f[0];
    r->baseline_value = f[1];
    for (size_t i = 0; i < p->n_groups; i++) r->features[p->groups[i]].score = f[0] - f[i + 2];
done:
    asc_free(j->ctx, ids);
    asc_free(j->ctx, f);
    return st;
}

/* Features that have or follow the first token that differs; of text encoders, which look both ways, all. */
static void find_groups(patching *p) {
    const asc_result *r = p->j->r;
    size_t first = 0;
    while (p->j->encoder == NULL && first < r->n_prompt && p->j->other[first] == r->prompt_ids[first])
        first++;
    for (size_t g = 0; g < r->n_features; g++) {
        if (r->features[g].first_token + r->features[g].n_tokens > first) p->groups[p->n_groups++] = g;
    }
    p->groups[p->n_groups] = ALL;
}

static asc_status make_room(patching *p) {
    asc_ctx *ctx = p->j->ctx;
    const size_t h = (size_t)asc_job_heads(p->j);
    size_t cells;
    if (!asc_mul_size(p->most * h, p->j->r->n_prompt + p->j->r->n_target + p->j->r->n_versus, &cells))
        return ASC_RESOURCE_EXHAUSTED;
    p->mask = asc_calloc(ctx, ASC_MEM_SCRATCH, cells, sizeof *p->mask);
    p->f = asc_calloc(ctx, ASC_MEM_SCRATCH, p->most, sizeof *p->f);
    for (int k = 0; k < 2; k++)
        p->in[k] = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)p->n_layers, sizeof(asc_tensor *));
    return p->mask == NULL || p->f == NULL || p->in[0] == NULL || p->in[1] == NULL ? ASC_RESOURCE_EXHAUSTED
                                                                                   : ASC_OK;
}

static void publish(patching *p) {
    asc_result *r = p->j->r;
    const double noise = 2.0 * asc_job_value_noise(p->j);
    for (size_t i = 0; i < r->n_inner; i++) {
        for (size_t g = 0; g < p->n_groups; g++)
            r->inner_scores[i * r->n_features + p->groups[g]] += r->value;
        r->inner[i].total += r->value;
        r->inner[i].error = noise;
    }
    for (size_t g = 0; g < r->n_features; g++) {
        r->features[g].error = noise;
        r->scores[r->features[g].first_token] = r->features[g].score;
        r->score_errors[r->features[g].first_token] = noise;
    }
    r->converged = true;
}

static asc_status run(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    patching p = {.j = j, .n_layers = j->m->info.n_layers};
    asc_answer answers[2];
    asc_status st = asc_job_corrupted(j);
    if (st != ASC_OK) return st;
    if (j->inner == 0) j->inner = 1u << ASC_SWEEP_OUT;
    const size_t n = asc_job_walks(j, answers);
    p.answer = answers[n > 1 && answers[1].n > answers[0].n ? 1 : 0]; /* the longer one, for the plan */
    p.t = (int64_t)(j->r->n_prompt + p.answer.n) - 1;
    p.groups = asc_calloc(ctx, ASC_MEM_GENERAL, j->r->n_features + 1, sizeof *p.groups);
    if (p.groups == NULL) return ASC_RESOURCE_EXHAUSTED;
    find_groups(&p);
    asc_scope_begin(ctx);
    ASC_TRY(asc_inner_begin(j, j->inner));
    ASC_TRY(token_values(&p));
    asc_exec_trim(
        ctx); /* blocks as large as whole models need would stand beside what is held from here on */
    ASC_TRY(plan(&p));
    ASC_TRY(make_room(&p));
    for (size_t k = 0; k < n; k++) {
        p.answer = answers[k];
        p.sign = k == 0 ? 1.0 : -1.0;
        if (j->estimate != NULL)
            ASC_TRY(count(&p));
        else
            ASC_TRY(run_answer(&p));
    }
    publish(&p);
done:
    for (int k = 0; k < 2; k++) {
        for (int64_t l = 0; p.in[k] != NULL && l < p.n_layers; l++) asc_tensor_release(p.in[k][l]);
        asc_free(ctx, p.in[k]);
    }
    asc_free(ctx, p.groups);
    asc_free(ctx, p.mask);
    asc_free(ctx, p.f);
    return asc_scope_close(ctx, st);
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = ((double)j->n_groups + 1.0) * (double)j->m->info.n_layers;
    *n_gradient = 0.0;
}

const asc_method asc_method_activation_patching = {
    .info =
        {.name = "activation-patching",
         .captum = "",
         .doc = "what is lost when one layer's value at one feature is that of another prompt",
         .formula = "score_v = f(x) - f(x with value v of the other prompt's run)",
         .paper =
             "Meng, Bau, Andonian, Belinkov, Locating and Editing Factual Associations in GPT, 2022 "
             "(causal tracing); Heimersheim and Nanda, How to use and interpret activation patching, 2024",
         .axioms =
             "exact for each value alone; the stream at all tokens at once carries the whole change (the "
             "totals of rows of out)",
         .cost = "half a forward pass for each feature that differs, layer and site",
         .options = "features, corrupted, layers, output",
         .differences =
             "not in Captum; the features' own scores are those of the tokens; a row's total is that of all "
             "tokens at once, not the sum"},
    .run = run,
    .price = price,
};

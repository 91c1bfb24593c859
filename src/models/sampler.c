/* sampler.c - see sampler.h. The order of the filters is that of Hugging Face's generation: temperature,
 * top_k, top_p, min_p. Thresholds are found by halving the range of values instead of sorting the vocabulary.
 */
#include "sampler.h"
#include "alloc.h"
#include "hash.h"
#include <math.h>

double asc_logits_mass(const float *x, int64_t n) {
    float top = -INFINITY; /* not-a-numbers show in the sum */
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)top);
    return (double)top + log(sum);
}

void asc_top_logprobs(const float *x, int64_t v, asc_token_logprob *out, size_t n) {
    const double all = n > 0 ? asc_logits_mass(x, v) : 0.0;
    size_t have = 0;
    for (int64_t i = 0; i < v; i++) {
        size_t at = have;
        while (at > 0 && x[i] > x[out[at - 1].id]) at--;
        if (at == n) continue;
        if (have < n) have++;
        for (size_t k = have - 1; k > at; k--) out[k] = out[k - 1];
        out[at].id = (int32_t)i;
    }
    for (size_t k = 0; k < have; k++) out[k].logprob = (double)x[out[k].id] - all;
}

static int64_t greedy(const float *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if (x[i] > x[best]) best = i;
    }
    return best;
}

/* The largest value t for which the tokens with x >= t are at least k (t is then the k-th largest). */
static float kth_largest(const float *x, int64_t n, int k) {
    float lo = x[0], hi = x[0];
    for (int64_t i = 1; i < n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    for (int it = 0; it < 60; it++) {
        float mid = lo + (hi - lo) / 2;
        int64_t above = 0;
        for (int64_t i = 0; i < n; i++) above += x[i] >= mid ? 1 : 0;
        if (above >= k) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Clears the weights of tokens outside the smallest set of the likeliest ones that holds `share` of all;
 * tokens of equal logits go together. */
static void keep_nucleus(const float *x, double *w, int64_t n, double share) {
    double all = 0.0;
    float lo = x[0], hi = x[0];
    for (int64_t i = 0; i < n; i++) {
        all += w[i];
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    for (int it = 0; it < 60; it++) { /* the largest lo above which the share lies */
        float mid = lo + (hi - lo) / 2;
        double above = 0.0;
        for (int64_t i = 0; i < n; i++) above += x[i] >= mid ? w[i] : 0.0;
        if (above >= share * all) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    for (int64_t i = 0; i < n; i++) w[i] = x[i] >= lo ? w[i] : 0.0;
}

static int64_t draw(const float *x, double *w, int64_t n, const asc_generate_options *o, uint64_t index) {
    const float floor_value = o->top_k > 0 && o->top_k < n ? kth_largest(x, n, o->top_k) : -INFINITY;
    const double top = (double)x[greedy(x, n)];
    for (int64_t i = 0; i < n; i++)
        w[i] = x[i] >= floor_value ? exp(((double)x[i] - top) / o->temperature) : 0.0;
    if (o->top_p > 0.0 && o->top_p < 1.0) keep_nucleus(x, w, n, o->top_p);
    double sum = 0.0, acc = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (w[i] < o->min_p) w[i] = 0.0; /* the likeliest token's is 1 */
        sum += w[i];
    }
    const double u = asc_uniform(o->seed, 0x67656e, index) * sum;
    int64_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        if (w[i] == 0.0) continue;
        acc += w[i];
        last = i;
        if (acc > u) return i;
    }
    return last;
}

static asc_status out_of(asc_ctx *ctx, const char *name, double v, const char *range) {
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: %s is %g; it is %s", name, v, range);
}

static asc_status check(asc_ctx *ctx, const asc_generate_options *o, int64_t v) {
    if (!(o->temperature >= 0.0 && o->temperature < 1e6))
        return out_of(ctx, "temperature", o->temperature, "0 (greedy) or more");
    if (o->top_k < 0) return out_of(ctx, "top_k", o->top_k, "0 (all) or more");
    if (!(o->top_p >= 0.0 && o->top_p <= 1.0)) return out_of(ctx, "top_p", o->top_p, "from 0 to 1");
    if (!(o->min_p >= 0.0 && o->min_p <= 1.0)) return out_of(ctx, "min_p", o->min_p, "from 0 to 1");
    if (!(o->repetition_penalty >= 0.0 && o->repetition_penalty < 1e6))
        return out_of(ctx, "repetition_penalty", o->repetition_penalty, "more than 0, or 0 for none");
    if (!(fabs(o->presence_penalty) < 1e6))
        return out_of(ctx, "presence_penalty", o->presence_penalty, "a small number");
    if (!(fabs(o->frequency_penalty) < 1e6))
        return out_of(ctx, "frequency_penalty", o->frequency_penalty, "a small number");
    for (size_t i = 0; i < o->n_bias; i++) {
        if (o->bias[i].id < 0 || o->bias[i].id >= v)
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "generate: bias for token %d; ids are 0 to %lld",
                            o->bias[i].id, (long long)v - 1);
        if (!(fabs(o->bias[i].add) < 1e6)) return out_of(ctx, "a bias", o->bias[i].add, "a small number");
    }
    return ASC_OK;
}

asc_status asc_sampler_init(asc_ctx *ctx, const asc_generate_options *o, int64_t v, const int32_t *ids,
                            size_t n, asc_sampler *out) {
    *out = (asc_sampler){.ctx = ctx, .o = o, .v = v};
    asc_status st = check(ctx, o, v);
    if (st != ASC_OK) return st;
    const bool repeats = o->repetition_penalty > 0.0 && o->repetition_penalty != 1.0;
    const bool counts = o->presence_penalty != 0.0 || o->frequency_penalty != 0.0;
    if (o->temperature > 0.0) {
        out->weights = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)v, sizeof *out->weights);
        if (out->weights == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    if (!repeats && !counts && o->n_bias == 0) return ASC_OK;
    out->changed = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)v, sizeof *out->changed);
    if (out->changed == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (counts) {
        out->count = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)v, sizeof *out->count);
        if (out->count == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    if (repeats) {
        out->before = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)v, sizeof *out->before);
        if (out->before == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; i < n; i++) out->before[ids[i]] = 1;
    }
    return ASC_OK;
}

void asc_sampler_deinit(asc_sampler *s) {
    if (s->ctx == NULL) return;
    asc_free(s->ctx, s->changed);
    asc_free(s->ctx, s->weights);
    asc_free(s->ctx, s->count);
    asc_free(s->ctx, s->before);
    *s = (asc_sampler){0};
}

static const float *change(asc_sampler *s, const float *x) {
    const asc_generate_options *o = s->o;
    float *y = s->changed;
    if (y == NULL) return x;
    for (int64_t i = 0; i < s->v; i++) y[i] = x[i];
    for (size_t i = 0; i < o->n_bias; i++) y[o->bias[i].id] += (float)o->bias[i].add;
    for (int64_t i = 0; s->before != NULL && i < s->v; i++) {
        if (s->before[i])
            y[i] = (float)((double)y[i] > 0.0 ? (double)y[i] / o->repetition_penalty
                                              : (double)y[i] * o->repetition_penalty);
    }
    for (int64_t i = 0; s->count != NULL && i < s->v; i++) {
        if (s->count[i] > 0)
            y[i] = (float)((double)y[i] - o->presence_penalty - o->frequency_penalty * s->count[i]);
    }
    return y;
}

int32_t asc_sampler_next(asc_sampler *s, const float *x, uint64_t index) {
    const float *y = change(s, x);
    const int64_t id = s->o->temperature > 0.0 ? draw(y, s->weights, s->v, s->o, index) : greedy(y, s->v);
    if (s->count != NULL) s->count[id]++;
    if (s->before != NULL) s->before[id] = 1;
    return (int32_t)id;
}

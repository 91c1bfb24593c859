/* game_prompt.c - a prompt as a game: its features are there or not, the numbers are the answer's score and,
 * if asked for, those of its tokens. Also what methods on prompts share: how many samples, when to stop,
 * where scores go. */
#include "coalitions.h"
#include "estimate.h"
#include "game.h"
#include "hash.h"
#include <math.h>
#include <string.h>

/* With a tolerance and no number of samples: as many times the usual number are tried, up to so many sets
 * (which bounds the memory for them on long texts). */
enum { TRIES = 40, MOST_SETS = 1 << 15 };

size_t asc_job_samples(const asc_job *j, size_t usual, size_t sets) {
    size_t most, room = MOST_SETS / (sets > 0 ? sets : 1);
    if (j->req->samples > 0) return j->req->samples;
    if (!(j->req->tolerance > 0.0) || room <= usual || !asc_mul_size(usual, TRIES, &most)) return usual;
    return most < room ? most : room;
}

double asc_game_uniform(const asc_game *g, uint64_t stream, uint64_t index) {
    return asc_uniform(g->key, stream, index);
}

void asc_game_order(const asc_game *g, uint64_t stream, size_t *order) { /* Fisher-Yates */
    for (size_t i = 0; i < g->m; i++) order[i] = i;
    for (size_t i = g->m; i-- > 1;) {
        size_t o = (size_t)(asc_game_uniform(g, stream, i) * (double)(i + 1)), was = order[i];
        order[i] = order[o];
        order[o] = was;
    }
}

bool asc_game_settled(const asc_game *g, const double *scores, const double *errors) {
    double largest = 0.0, worst = 0.0;
    if (g->dry) return false;
    for (size_t i = 0; i < g->n_out * g->m; i++) {
        if (!(errors[i] >= 0.0)) return false;
        largest = fmax(largest, fabs(scores[i]));
        worst = fmax(worst, errors[i]);
    }
    return worst <= g->tolerance * largest;
}

bool asc_game_enumerable(const asc_game *g, double rows) {
    return g->m < 20 && ldexp(1.0, (int)g->m) <= rows;
}

static asc_status values(void *self, const uint8_t *present, size_t k, const size_t *active, size_t n_active,
                         double *y, size_t stride) {
    (void)active; /* the one prompt, at y itself */
    (void)stride;
    return n_active > 0 && k > 0 ? asc_job_coalition_values(self, present, k, y) : ASC_OK;
}

static double noise(void *self, size_t o, double largest) {
    (void)largest;
    return 2.0 * (o == 0 ? asc_job_value_noise(self) : asc_job_token_noise(self, o - 1));
}

static asc_status note(void *self, const char *line) { return asc_job_warn(self, "%s", line); }

asc_status asc_game_price(asc_game *g, const uint8_t *present, size_t k, double all, double least,
                          size_t held) {
    asc_estimate *e = g->job->estimate;
    asc_result *r = g->job->r;
    const double seconds = e->seconds, flops = e->flops, bytes = e->bytes, more = all / (double)k - 1.0;
    const uint64_t forward = r->n_forward, run = r->tokens_run, plain = r->tokens_plain;
    const size_t active = 0;
    size_t n;
    double *y = asc_mul_size(k, g->n_out, &n) ? asc_calloc(g->ctx, ASC_MEM_GENERAL, n + 1, sizeof *y) : NULL;
    if (y == NULL) return ASC_RESOURCE_EXHAUSTED;
    e->held += held;
    asc_status st = g->values(g->self, present, k, &active, 1, y, n);
    asc_free(g->ctx, y);
    if (more > 0.0) {
        e->seconds += more * (e->seconds - seconds);
        e->flops += more * (e->flops - flops);
        e->bytes += more * (e->bytes - bytes);
        r->n_forward += (uint64_t)(more * (double)(r->n_forward - forward));
        r->tokens_run += (uint64_t)(more * (double)(r->tokens_run - run));
        r->tokens_plain += (uint64_t)(more * (double)(r->tokens_plain - plain));
    }
    e->spare += (e->seconds - seconds) * (1.0 - least / all);
    return st;
}

asc_status asc_prompt_game_begin(asc_job *j, asc_prompt_game *out) {
    asc_ctx *ctx = j->ctx;
    size_t n_out = asc_job_n_values(j), m = j->n_groups, cells, both;
    *out = (asc_prompt_game){.j = j};
    out->g = (asc_game){.ctx = ctx,
                        .n = 1,
                        .n_out = n_out,
                        .m = m,
                        .tolerance = j->req->tolerance,
                        .captum = j->req->compat_captum,
                        .dry = j->estimate != NULL,
                        .key = asc_hash64(j->method->info.name, strlen(j->method->info.name), j->req->seed),
                        .self = j,
                        .values = values,
                        .noise = noise,
                        .note = note,
                        .stochastic = true,
                        .job = j,
                        .lot = asc_job_lot(j)};
    if (!asc_mul_size(n_out, m, &cells) || !asc_mul_size(m, 2, &both)) return ASC_RESOURCE_EXHAUSTED;
    out->ends = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * n_out, sizeof *out->ends);
    out->scores = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->scores);
    out->errors = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->errors);
    uint8_t *present = asc_calloc(ctx, ASC_MEM_GENERAL, both + 1, sizeof *present);
    asc_status st = ASC_RESOURCE_EXHAUSTED;
    if (out->ends != NULL && out->scores != NULL && out->errors != NULL && present != NULL) {
        memset(present, 1, m);
        st = asc_job_coalition_values(j, present, 2, out->ends);
    }
    asc_free(ctx, present);
    out->g.full = out->ends;
    out->g.empty = out->ends != NULL ? out->ends + n_out : NULL;
    if (st == ASC_OK) j->r->value = out->ends[0]; /* the error model asks for them */
    for (size_t k = 0; st == ASC_OK && k + 1 < n_out; k++) j->r->token_values[k] = out->ends[1 + k];
    return st;
}

void asc_prompt_game_end(asc_prompt_game *p) {
    asc_ctx *ctx = p->j->ctx;
    asc_free(ctx, p->ends);
    asc_free(ctx, p->scores);
    asc_free(ctx, p->errors);
    *p = (asc_prompt_game){.j = p->j};
}

void asc_job_publish(asc_job *j, size_t n_out, const double *full, const double *empty, const double *scores,
                     const double *errors) {
    asc_result *r = j->r;
    size_t m = j->n_groups;
    r->value = full[0];
    r->baseline_value = empty[0];
    for (size_t g = 0; g < m; g++) {
        r->features[g].score = scores[g];
        r->features[g].error = errors[g];
        r->scores[j->groups[g].first] = scores[g];
        r->score_errors[j->groups[g].first] = errors[g];
    }
    for (size_t i = 0; i < (n_out - 1) * m; i++) {
        r->matrix[i] = scores[m + i];
        r->matrix_errors[i] = errors[m + i];
    }
    for (size_t k = 0; k + 1 < n_out; k++) r->token_values[k] = full[1 + k];
}

void asc_prompt_game_publish(asc_prompt_game *p, const double *scores, const double *errors) {
    const asc_game *g = &p->g;
    p->j->r->converged = g->converged;
    p->j->r->refinable = !g->converged;
    p->j->r->stochastic = g->stochastic;
    p->j->r->samples = g->stochastic ? g->drawn : 0;
    asc_job_publish(p->j, g->n_out, g->full, g->empty, scores, errors);
}

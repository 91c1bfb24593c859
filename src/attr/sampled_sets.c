/* sampled_sets.c - runs sets of features on every example, in blocks, until the fits are good enough. */
#include "sampled_sets.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>

size_t asc_sets_enumerable(size_t m, size_t most) {
    return m < 32 && (size_t)1 << m <= most ? (size_t)1 << m : 0;
}

asc_status asc_sets_init(asc_game *g, size_t n, asc_sets *out) {
    *out = (asc_sets){.g = g, .n_out = g->n_out, .m = g->m, .n = n, .all = n};
    if (g->dry && g->job != NULL && n > g->lot) n = out->n = g->lot + g->lot % 2;
    size_t cells, values, scores;
    if (!asc_mul_size(n, out->m, &cells) || !asc_mul_size(g->n, n, &values) ||
        !asc_mul_size(values, g->n_out, &values) || !asc_mul_size(g->n, g->n_out, &scores) ||
        !asc_mul_size(scores, g->m, &scores)) {
        return ASC_FAIL(g->ctx, ASC_RESOURCE_EXHAUSTED, "%zu samples of %zu features are too many", n,
                        out->m);
    }
    out->present = asc_calloc(g->ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->present);
    out->y = asc_calloc(g->ctx, ASC_MEM_GENERAL, values + 1, sizeof *out->y);
    out->scores = asc_calloc(g->ctx, ASC_MEM_GENERAL, scores + 1, sizeof *out->scores);
    out->errors = asc_calloc(g->ctx, ASC_MEM_GENERAL, scores + 1, sizeof *out->errors);
    out->active = asc_calloc(g->ctx, ASC_MEM_GENERAL, g->n + 1, sizeof *out->active);
    bool all = out->present != NULL && out->y != NULL && out->scores != NULL && out->errors != NULL &&
               out->active != NULL;
    for (size_t e = 0; all && e < g->n; e++) out->active[e] = e;
    out->n_active = g->n;
    return all ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_sets_deinit(asc_sets *s) {
    if (s->g == NULL) return;
    asc_ctx *ctx = s->g->ctx;
    asc_free(ctx, s->present);
    asc_free(ctx, s->y);
    asc_free(ctx, s->scores);
    asc_free(ctx, s->errors);
    asc_free(ctx, s->active);
    *s = (asc_sets){0};
}

asc_status asc_sets_run(asc_sets *s, size_t first_block) {
    asc_game *g = s->g;
    bool stops = g->tolerance > 0.0 && !s->exact;
    if (g->dry && g->job != NULL && s->n > 0) {
        const double all = (double)s->all;
        /* of a set: the set, its numbers, and its row of the fit with two weights */
        const size_t each = s->m + (s->n_out + s->m + 2) * sizeof(double);
        g->drawn = s->all;
        g->converged = true;
        return asc_game_price(g, s->present, s->n, all,
                              stops && first_block < s->all ? (double)first_block : all,
                              (s->all - s->n) * each);
    }
    size_t to = stops && !g->dry && first_block < s->n ? first_block : s->n;
    for (s->from = 0;;) {
        asc_status st = g->values(g->self, s->present + s->from * s->m, to - s->from, s->active, s->n_active,
                                  s->y + s->from * s->n_out, s->n * s->n_out);
        if (st == ASC_OK && s->prepare != NULL) st = s->prepare(s->self, to);
        for (size_t a = 0; st == ASC_OK && a < s->n_active; a++) st = s->fit(s->self, s->active[a], to);
        if (st != ASC_OK) return st;
        g->drawn = to;
        size_t left = 0, per = s->n_out * s->m;
        for (size_t a = 0; stops && a < s->n_active; a++) {
            size_t e = s->active[a];
            if (!asc_game_settled(g, s->scores + e * per, s->errors + e * per)) s->active[left++] = e;
        }
        g->converged = !stops || left == 0;
        if (g->converged || to == s->n) break;
        s->n_active = left;
        s->from = to;
        to = to > s->n - to ? s->n : 2 * to;
    }
    if (g->converged) return ASC_OK;
    char line[128];
    asc_snprintf(line, sizeof line, "%zu samples did not reach the tolerance of %g", s->n, g->tolerance);
    return g->note(g->self, line);
}

asc_status asc_prompt_sets(asc_job *j, size_t samples, asc_game **game, const asc_sets *sets,
                           asc_status (*solve)(void *self), void (*deinit)(void *self), void *self) {
    asc_prompt_game p;
    asc_status st = asc_prompt_game_begin(j, &p);
    *game = &p.g;
    p.g.samples = samples;
    if (st == ASC_OK) st = solve(self);
    if (st == ASC_OK) asc_prompt_game_publish(&p, sets->scores, sets->errors);
    deinit(self);
    asc_prompt_game_end(&p);
    return st;
}

/* game.h - what Shapley values, KernelShap and Lime need to know of what they explain, nets and prompts
 * alike: which features there are, and the explained numbers of every example when only a set of them is
 * present. */
#ifndef ASC_GAME_H
#define ASC_GAME_H

#include "method.h"

struct asc_task;

typedef struct asc_game {
    asc_ctx *ctx;
    size_t n, n_out, m;         /* examples (prompts: 1), explained numbers, features */
    const double *full, *empty; /* [n, n_out] with all features, with none; empty may be NULL */
    size_t samples;             /* orders or sets that may be drawn */
    double tolerance;           /* errors wanted, relative to the largest score; 0 = draw all samples */
    bool captum, dry;           /* Captum's way; values are not known: a dry run */
    uint64_t key;               /* of asc_uniform */
    void *self;
    /* The numbers of k sets present [k, m] for each of the active examples: of set i and example e into
     * y[e * stride + i * n_out]. */
    asc_status (*values)(void *self, const uint8_t *present, size_t k, const size_t *active, size_t n_active,
                         double *y, size_t stride);
    /* Rounding error of a score of output o whose largest value is this. */
    double (*noise)(void *self, size_t o, double largest);
    asc_status (*note)(void *self, const char *line);
    asc_job *job;               /* prompts: whose estimate a dry run fills in; nets: NULL */
    size_t lot;                 /* prompts: sets that are run together; a dry run looks at no more */
    size_t drawn;               /* out: orders or sets used */
    bool converged, stochastic; /* out */
} asc_game;

/* game_net.c: of a task whose ends are known (coalition.h). */
void asc_game_of_task(struct asc_task *t, size_t n_out, asc_game *out);
/* Hands back what a run found out: t->r->converged, stochastic. */
void asc_game_to_task(const asc_game *g, struct asc_task *t);

/* game_prompt.c: of a prompt. Runs it with all features and with none. */
typedef struct asc_prompt_game {
    asc_game g;
    asc_job *j;
    double *ends;            /* [2, n_out] */
    double *scores, *errors; /* [n_out, m], for methods that have no arrays of their own */
} asc_prompt_game;

ASC_MUST_USE asc_status asc_prompt_game_begin(asc_job *j, asc_prompt_game *out);
/* Scores and errors [n_out, m] become the result's: those of number 0 the features', of the others the
 * matrix. Also value, baseline value, converged, stochastic, samples. */
void asc_prompt_game_publish(asc_prompt_game *p, const double *scores, const double *errors);
void asc_prompt_game_end(asc_prompt_game *p);
/* The same for scores that are worked out elsewhere: n_out numbers, scores and errors [n_out, features]. */
void asc_job_publish(asc_job *j, size_t n_out, const double *full, const double *empty, const double *scores,
                     const double *errors);
/* request.samples, or so many; with a tolerance more, up to which it is tried to reach. A sample is so many
 * sets.
 */
size_t asc_job_samples(const asc_job *j, size_t usual, size_t sets);

/* Dry runs: sets present [k, m] are priced and stand for `all` sets drawn alike; a run may end after `least`
 * of them, and holds so many bytes more than the dry run does. */
ASC_MUST_USE asc_status asc_game_price(asc_game *g, const uint8_t *present, size_t k, double all,
                                       double least, size_t held);

/* Uniform in [0, 1) of draw `index` in `stream`. */
double asc_game_uniform(const asc_game *g, uint64_t stream, uint64_t index);
/* Whether all errors [n_out, m] are within the tolerance of the largest score. Not in a dry run: it prices
 * all samples. */
bool asc_game_settled(const asc_game *g, const double *scores, const double *errors);
/* A random order of the features. */
void asc_game_order(const asc_game *g, uint64_t stream, size_t *order);

/* shapley_values.c: exact values from all sets, [n, n_out, m] each. INVALID_ARGUMENT beyond 20 features. */
ASC_MUST_USE asc_status asc_game_exact(asc_game *g, double *scores, double *errors);
/* shapley_value_sampling.c: Shapley values and standard errors [n_out, m] of a game of one example, from
 * g->samples orders' worth of sets, or exactly when all sets are fewer. */
ASC_MUST_USE asc_status asc_game_sampled(asc_game *g, double *scores, double *errors);
/* Whether all sets cost no more than `rows`. */
bool asc_game_enumerable(const asc_game *g, double rows);

#endif

/* sampled_sets.h - sets of features, drawn or enumerated, and the values of every example on them: what
 * KernelShap and Lime fit a linear model to. All examples see the same sets. */
#ifndef ASC_SAMPLED_SETS_H
#define ASC_SAMPLED_SETS_H

#include "game.h"

typedef struct asc_sets {
    asc_game *g;
    size_t n_out, m;         /* explained numbers, features */
    size_t n;                /* sets in hand */
    size_t all;              /* sets that are wanted: more in dry runs, which look at one lot of them */
    bool exact;              /* all sets there are: nothing is drawn */
    uint8_t *present;        /* [n, m] */
    double *y;               /* [examples, n, n_out] */
    double *scores, *errors; /* [examples, n_out, m]: what fit fills in; errors NAN = not known */
    void *self;
    /* Called when the first n sets have values, before any fit; may be NULL. */
    asc_status (*prepare)(void *self, size_t n);
    /* Fits example e to the first n sets. */
    asc_status (*fit)(void *self, size_t e, size_t n);
    size_t *active, n_active, from; /* examples that still run; first set of the block in hand */
} asc_sets;

/* Room for n sets and their values; the caller then fills in `present`. */
ASC_MUST_USE asc_status asc_sets_init(asc_game *g, size_t n, asc_sets *out);
void asc_sets_deinit(asc_sets *s);
/* Runs the sets and fits. With a tolerance (and sets that were drawn): in blocks, each as large as all before
 * it, until the errors of an example are within the tolerance of its largest score; each example stops by
 * itself. Sets g->converged, g->drawn. */
ASC_MUST_USE asc_status asc_sets_run(asc_sets *s, size_t first_block);
/* A method on a prompt's sets: *game is set to the prompt's, of so many samples, before solve(self), which
 * leaves scores and errors in *sets; deinit(self) in any case. */
ASC_MUST_USE asc_status asc_prompt_sets(asc_job *j, size_t samples, asc_game **game, const asc_sets *sets,
                                        asc_status (*solve)(void *self), void (*deinit)(void *self),
                                        void *self);
/* Number of sets when all 2^m of them are at most `most`; 0 otherwise. */
size_t asc_sets_enumerable(size_t m, size_t most);

#endif

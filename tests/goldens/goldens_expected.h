/* goldens_expected.h - a row of captum_expected.tsv and what this library makes of it. */
#ifndef ASC_GOLDENS_EXPECTED_H
#define ASC_GOLDENS_EXPECTED_H

#include "goldens_config.h"

typedef enum column {
    COL_ID,
    COL_MODEL,
    COL_KEY,
    COL_MODE,
    COL_METHOD,
    COL_LAYER,
    COL_INPUTS,
    COL_BASELINES,
    COL_TARGET,
    COL_OTHER,
    COL_CHECKED,
    COL_EXPECTED,
    COL_TOLERANCE,
    COL_TOL_MODE,
    COL_ACTUAL,
    COL_KIND,
    COL_FILE,
    COL_TEST,
    COL_LINE,
    COL_RESULT,
    N_COLUMNS
} column;

typedef struct expected_row {
    asc_view col[N_COLUMNS];
    const char *why; /* not run: the reason */
} expected_row;

/* Numbers of our own, copied. */
typedef struct ours {
    double *data[16], *delta;
    size_t size[16], columns[16]; /* columns: the last dimension, 0 if there is but one */
    size_t n, n_delta;
} ours;
void ours_add(ours *o, const double *data, const asc_shape *shape);
void ours_free(ours *o);

/* The row's call. False: it failed with an error in the context, or (row->why set) it cannot be asked for. */
bool expected_call(config *c, expected_row *row, uint64_t seed, ours *out);
bool expected_attack(config *c, expected_row *row, ours *out);
bool expected_metric(config *c, expected_row *row, ours *out);
/* Calls on Captum's own little language model (goldens_llm.c). */
bool expected_llm(goldens *g, expected_row *row, uint64_t seed, ours *out);
bool expected_stream(config *c, expected_row *row, ours *out);
bool expected_lime_base(config *c, expected_row *row, uint64_t seed, ours *out);
bool expected_quadrature(goldens *g, expected_row *row, ours *out);
/* The row's number is one that Captum's own fault makes: docs/captum-differences.md lists them. */
bool expected_needs_compat(const config *c, const expected_row *row);
/* Result of an attribution, taken apart. */
void ours_of(const asc_attribution *r, ours *out);

#endif

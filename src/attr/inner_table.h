/* inner_table.h - a result's rows of scores for sites of every layer (request.layers). */
#ifndef ASC_INNER_TABLE_H
#define ASC_INNER_TABLE_H

#include "sweep.h"

/* Sites named in "out, heads" as bits 1 << site; INVALID_ARGUMENT names what is none. NULL or "": *out = 0.
 */
ASC_MUST_USE asc_status asc_inner_parse(asc_ctx *ctx, const char *text, unsigned *out);
/* Makes the rows of sites `want` in the result, all 0: layer by layer in the order attn.out, heads, mlp.out,
 * out. In a dry run there are none. */
ASC_MUST_USE asc_status asc_inner_begin(asc_job *j, unsigned want);
/* Row of a site, for asc_inner_* that follow and r->inner; SIZE_MAX = none. head -1 unless site is HEADS. */
size_t asc_inner_row_at(const asc_job *j, unsigned want, asc_sweep_site site, int64_t layer, int64_t head);
/* A sink's block, each prompt of it times `weight`, is added to the rows. */
void asc_inner_add(asc_job *j, unsigned want, const asc_sweep_block *block, double weight);
/* Errors: those of a gradient method for the table's largest number. A row's own would be too little: in
 * front of a normalisation its parts cancel almost wholly. */
void asc_inner_errors(asc_job *j);

#endif

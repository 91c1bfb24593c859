/* attention_parts.h - what the methods made of attention probabilities share. */
#ifndef ASC_ATTENTION_PARTS_H
#define ASC_ATTENTION_PARTS_H

#include "job_blocks.h"
#include "sweep.h"

/* UNIMPLEMENTED for contrasts unless the method can. */
ASC_MUST_USE asc_status asc_attention_check(asc_job *j, bool contrasts);
/* Mean over the heads of the probabilities, out [t,t]; with slopes [heads,t,t]: of the positive part of their
 * products, slopes being those of the answer itself (block->sign is taken out). */
void asc_attention_mean(const asc_sweep_block *block, const double *slopes, double *out);
/* One sweep over the prompt, whose sink fills r->scores; r->value. */
ASC_MUST_USE asc_status asc_attention_sweep(asc_sweep *w);
void asc_attention_errors(asc_job *j);

#endif

/* attention_parts.h - what the methods made of attention probabilities share. */
#ifndef ASC_ATTENTION_PARTS_H
#define ASC_ATTENTION_PARTS_H

#include "job_blocks.h"
#include "sweep.h"

/* UNIMPLEMENTED for contrasts unless the method can. */
ASC_MUST_USE asc_status asc_attention_check(asc_job *j, bool contrasts);
/* r->scores and their errors: the rows that the answer is read from (their mean) in the product over the
 * layers of own + share * A. A: the mean over the heads of the probabilities or, with slopes, of the positive
 * part of their products with the gradient there. r->value. */
ASC_MUST_USE asc_status asc_attention_flow(asc_job *j, bool slopes, double own, double share);

#endif

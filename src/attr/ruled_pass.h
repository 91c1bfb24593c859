/* ruled_pass.h - what the methods with modified backward passes share. */
#ifndef ASC_RULED_PASS_H
#define ASC_RULED_PASS_H

#include "rules.h"
#include "task.h"

/* The request's options of rule tables. INVALID_ARGUMENT: an unknown fall-back. */
ASC_MUST_USE asc_status asc_task_rule_options(asc_task *t, asc_rule_options *out);
/* Notes the fall-backs that passes with these rules used. */
ASC_MUST_USE asc_status asc_task_note_fallbacks(asc_task *t, const asc_rules *r);
/* Scores = what arrives at at[] in one plain pass at the inputs, and r->value. */
ASC_MUST_USE asc_status asc_task_ruled_gradient(asc_task *t, asc_rules *r);
/* All of it with the table that init makes of the request's options: what a method is that changes nothing
 * but rules. */
ASC_MUST_USE asc_status asc_task_gradient_by(asc_task *t,
                                             asc_status (*init)(asc_ctx *ctx, const asc_rule_options *o,
                                                                asc_rules *out));
/* DeepLift of each example against `each` baselines, averaged: scores, value, baseline value (their mean) and
 * delta, one entry for each pair, example-major. each = 1: the example's own baseline; otherwise all rows of
 * the baselines. */
ASC_MUST_USE asc_status asc_task_deep_lift(asc_task *t, size_t each);

#endif

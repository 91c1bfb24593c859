/* task_parts.h - what the files of the engine share with each other; methods use task.h. */
#ifndef ASC_TASK_PARTS_H
#define ASC_TASK_PARTS_H

#include "task.h"

/* task_options.c: numbers of the request that mean nothing; INVALID_ARGUMENT naming the field. */
ASC_MUST_USE asc_status asc_task_check_numbers(asc_task *t);
/* INVALID_ARGUMENT for lists of the request that have a length and no data. */
ASC_MUST_USE asc_status asc_task_check_pointers(asc_task *t);
/* task_baselines.c: x0 of in[] (and of at[] where the request gives them). */
ASC_MUST_USE asc_status asc_task_baselines(asc_task *t);
/* Baselines of sites from the request; called when their shapes are known. */
ASC_MUST_USE asc_status asc_task_at_baselines(asc_task *t);
/* task_masks.c: dense group numbers of at[], n_features. */
ASC_MUST_USE asc_status asc_task_masks(asc_task *t);

/* task_aim.c: the explained value's site. */
ASC_MUST_USE asc_status asc_aim_init(asc_task *t, const asc_target *want, asc_aim *out);
/* Records the explained numbers of n rows from their value: [n, n_out]. example(row) as in asc_rows; first is
 * the number of row 0. Resolves a. Errors poison. */
asc_tensor *asc_aim_select(asc_task *t, asc_aim *a, asc_tensor *value, const asc_rows *rows, size_t first,
                           size_t n);

/* task_record.c: one pass's ops for rows first .. first + n - 1 (as one example each, or one row as it
 * stands). */
typedef struct asc_recorded {
    asc_tensor *f;      /* [n, n_out] */
    asc_tensor **moved; /* [n_at or n_in] leaves that rows filled: replaced sites or inputs */
    asc_tensor **y;     /* [n_at] values of at[] */
} asc_recorded;
/* out's arrays have room for t->n_at and max(n_at, n_in) entries. */
ASC_MUST_USE asc_status asc_task_record(asc_task *t, const asc_pass *p, const asc_rows *rows, asc_aim *a,
                                        size_t first, size_t n, asc_recorded *out);
/* The example whose data row i uses, in the numbering of the request's inputs. */
size_t asc_rows_example(const asc_task *t, const asc_rows *rows, size_t row);

#endif

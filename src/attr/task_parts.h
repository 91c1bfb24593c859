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

/* What a has to know of the value's shape for one example. OUT_OF_RANGE, INVALID_ARGUMENT: the target does
 * not fit. */
ASC_MUST_USE asc_status asc_aim_resolve(asc_task *t, asc_aim *a, const asc_shape *row);
/* The leaves that asc_aim_select makes: places in the stacked values by the index (or versus) of rows first
 * .. first + n - 1, for n_rows > 1; weights of one row. */
void asc_aim_index(const asc_task *t, const asc_aim *a, bool versus, const asc_rows *rows, size_t first,
                   size_t n, int32_t *out);
void asc_aim_weights(const asc_task *t, const asc_aim *a, const asc_rows *rows, size_t row, double *out);

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
/* fill of rows that hold their examples' inputs as the (expanded) task has them. */
typedef struct asc_own_values {
    const asc_task *t;
    const asc_rows *rows;
} asc_own_values;
void asc_rows_own(void *self, size_t row, size_t var, double *out);

/* task_pass.c: one pass being made: its tensors, and room for what is read back. */
typedef struct asc_pass_run {
    asc_task *t;
    const asc_pass *p;
    asc_aim *aim;
    asc_recorded rec, partner;
    asc_tensor **grads, **outs;
    size_t n_outs, cap_outs;
    double *f, **y, **g, **y0;
    const double **row_y, **row_g, **row_y0;
    asc_leaf_list leaves; /* while it is captured */
    uint64_t *key;
    size_t n_key, cap_key, n_key_base;
    double *scratch; /* one row, or what else is filled at once */
    size_t cap_scratch;
} asc_pass_run;
/* Records rows first .. first + n - 1 and lists what must be computed. */
ASC_MUST_USE asc_status asc_pass_record(asc_pass_run *r, size_t first, size_t n);
/* Room for the results of n rows. */
ASC_MUST_USE asc_status asc_pass_make_buffers(asc_pass_run *r, size_t n);

/* task_capture.c: passes that are run again without recording (compiled mode). */
/* Lists a leaf when a pass is recorded to be kept; returns it. */
asc_tensor *asc_task_leaf(asc_task *t, asc_tensor *leaf, asc_leaf_kind kind, size_t which);
/* Runs rows first .. first + n - 1 by a capture, made now if need be, and reads the results into r. *ran =
 * false: the mode, the rules or the net want the pass to be recorded. */
ASC_MUST_USE asc_status asc_pass_captured(asc_pass_run *r, size_t first, size_t n, bool *ran);
void asc_pass_capture_deinit(asc_pass_run *r);
/* For asc_task_n_out: what an earlier pass taught of shapes, in compiled mode; and recording a row for their
 * sake. */
ASC_MUST_USE asc_status asc_pass_recall(asc_pass_run *r, bool *known);
ASC_MUST_USE asc_status asc_pass_learn(asc_pass_run *r);

#endif

/* conv_job.h - convolutions as matrix products over gathered columns, whatever the instruction set.
 *
 * A job computes, for each group, y[row, column] = bias[row] + sum over k of w[row,k] x[k,column]. A column
 * is one grid position of one example; k is (channel, tap). A tap reads x at grid position times step plus
 * the tap's offset, 0 outside; results go to every dst_step-th element of y. conv is one job. Its transpose
 * has one job for each remainder of the position by the stride: those positions meet the same taps. */
#ifndef ASC_CONV_JOB_H
#define ASC_CONV_JOB_H

#include "kutil.h"
#include "window.h"

enum { ASC_CONV_AXES = ASC_MAX_SPATIAL, ASC_CONV_MAX_PHASES = 64, ASC_CONV_MAX_STRIDE = 4096 };

typedef struct asc_conv_job {
    int64_t batch, groups, m, c; /* rows and channels of x, of a group */
    int64_t n_taps[ASC_CONV_AXES], off[ASC_CONV_AXES],
        off_step[ASC_CONV_AXES]; /* of tap t: off + t off_step */
    int64_t grid[ASC_CONV_AXES], step[ASC_CONV_AXES];
    int64_t src[ASC_CONV_AXES], dst[ASC_CONV_AXES], dst_step[ASC_CONV_AXES], dst_off[ASC_CONV_AXES];
    int64_t first_tap[ASC_CONV_AXES], tap_step[ASC_CONV_AXES]; /* in the weight as stored */
    int64_t taps, k, columns, src_plane, dst_plane;
    const float *x, *w, *bias; /* w [groups][m][k]; bias [groups][m] or NULL */
    float *y;
    const asc_epilogue *post; /* of conv itself: rows are [batch][groups][m], columns positions; or NULL */
} asc_conv_job;

void asc_conv_job_forward(const asc_kargs *a, const asc_conv_sizes *s, asc_conv_job *out);
int64_t asc_conv_n_phases(const asc_conv_sizes *s);
/* Phase i of the transpose; w is still to be packed. False if no position of y belongs to it. */
bool asc_conv_job_phase(const asc_kargs *a, const asc_conv_sizes *s, int64_t i, asc_conv_job *out);
/* The weight [groups m, c, kernel] of conv as [groups][c][m taps of the phase], into out. */
void asc_conv_pack(const asc_conv_job *j, const asc_conv_sizes *s, const float *w, int threads, float *out);
/* The result set to 0. */
void asc_conv_zero(const asc_kargs *a);
/* Strides that the kernels take; others go to the reference. */
bool asc_conv_fits(const asc_call *c);

/* A run of columns along the last grid axis of one example. */
typedef struct asc_conv_run {
    int col, len;
    int64_t b, o[ASC_CONV_AXES]; /* of its first column */
} asc_conv_run;
/* Runs of columns [n0, n0 + n) of the job, n runs at most; returns how many. */
int asc_conv_runs(const asc_conv_job *j, int64_t n0, int n, asc_conv_run *out);

#endif

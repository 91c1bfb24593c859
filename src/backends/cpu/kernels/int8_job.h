/* int8_job.h - a matrix product at int8 by the integer instructions of vectors, cut into panels: sizes and
 * scratch (int8_gemm.inl).
 *
 * The numbers are those of the int8 of bf16_gemm.inl, bit by bit: 256 values of k of a row of a, and of a
 * column of W, are whole numbers of -127 to 127 times a step, the sum of their products is exact, and such
 * sums times both steps are added up in f32 in ascending order. */
#ifndef ASC_INT8_JOB_H
#define ASC_INT8_JOB_H

#include "gemm_fill.h"
#include "kernel.h"

enum {
    ASC_INT8_LINK = 256,  /* values of k with one step */
    ASC_INT8_UNIT = 96,   /* columns are dealt to threads by this: whole slabs of every instruction set */
    ASC_INT8_ROWS = 1024, /* of a that are whole numbers at a time */
    ASC_INT8_FORM = 9     /* left_form; others: asc_bf16_left_form */
};

typedef struct asc_int8_job {
    asc_gemm_job g;
    int each;         /* numbers in a word of 32 bits: 4 bytes or 2 halves */
    int64_t links;    /* of all of k */
    int64_t m0;       /* first of the rows that are whole numbers */
    uint32_t *left;   /* theirs: [row][links][256 / each]; bytes are without sign, 128 more than the number */
    float *row_scale; /* [row][links] */
    const asc_epilogue *post;
} asc_int8_job;

/* One thread's, but for panel, scale and offset, which belong to its part. */
typedef struct asc_int8_scratch {
    uint32_t *panel; /* W: [slab][link][256 / each][columns of a slab] */
    float *scale;    /* [link of the panel][width] */
    int32_t *offset; /* [link of the panel][width]: what the 128 of left bytes add up to, to be taken off */
    float *slab;     /* part of W in f32 */
    float *fill;     /* ASC_GEMM_FILL_FLOATS */
    float *column;   /* k */
} asc_int8_scratch;

/* All but the pointers of g, left and post; m0 = 0. */
void asc_int8_job_init(asc_int8_job *job, const asc_call *c, asc_isa isa, int each);
/* Whether the call is a product of many rows with one matrix at int8. */
bool asc_int8_fits(const asc_call *c);
/* asc_kernel.left_form: 0 where rows are more than are kept at a time. */
int asc_int8_left_form(const asc_call *c);
size_t asc_int8_bytes(const asc_call *c, asc_isa isa, int each, int n_threads);
/* Sets left and row_scale, which lie at the start of scratch. */
void asc_int8_job_place(asc_int8_job *job, void *scratch);
asc_int8_scratch asc_int8_scratch_of(const asc_int8_job *job, void *scratch, int64_t part, int64_t thread);
/* Words of a row of left. */
static inline int64_t asc_int8_row(const asc_int8_job *job) { return job->links * ASC_INT8_LINK / job->each; }

#endif

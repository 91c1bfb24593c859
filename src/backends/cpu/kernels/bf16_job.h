/* bf16_job.h - a matrix product by bf16 products, cut into panels: sizes and scratch (bf16_gemm.inl). */
#ifndef ASC_BF16_JOB_H
#define ASC_BF16_JOB_H

#include "bf16.h"
#include "gemm_fill.h"
#include "kernel.h"

enum {
    ASC_BF16_LINK8 = 8, /* blocks of a link of int8: 256 products of at most 127 * 127 are exact in f32 */
    ASC_BF16_UNIT = 96, /* columns are dealt to threads by this */
    ASC_BF16_MIN_COLUMNS = 512, /* 16 columns of m's */
    ASC_BF16_ROWS = 1024,       /* of a that are in pieces at a time */
    ASC_BF16_HIGHEST_K = 64,    /* fewer terms stay in f32 at `highest` */
    ASC_BF16_FORM8 = 8          /* left_form of int8; others: the number of pieces */
};

typedef struct asc_bf16_job {
    asc_gemm_job g;
    asc_bf16_scheme scheme;
    int pieces, right; /* of a number of a, of a weight */
    bool mins; /* weights d q + m, [k,n]: the panel is of d q, and m, which is the same for 32 columns, is
                  a product of its own */
    int64_t blocks; /* of 32 values of k */
    int64_t link;   /* blocks that are added up before they join the result */
    bool int8; /* numbers are rounded to -127 .. 127 times a scale, which are bf16 too: exact integer sums */
    float *row_scale; /* int8: [rows in pieces][links] */
    int64_t m0;       /* first of the rows that are in pieces */
    uint16_t *left; /* their tiles: that of row group i, block q, piece p is the ((i * blocks + q) * pieces +
                       p)-th */
    bool by_strips; /* each thread cuts 32 rows at a time, to tiles of its own in left (bf16_deal.h) */
    const asc_epilogue *post;
} asc_bf16_job;

/* One thread's. */
typedef struct asc_bf16_scratch {
    uint16_t *panel;  /* tiles of W */
    uint16_t *mins;   /* tiles of m, three pieces: those of 512 columns are a column group of the panel's */
    float *y_mins;    /* the product of 32 rows with m: [pair of groups][32][32] */
    float *slab;      /* part of W in f32 */
    float *fill;      /* ASC_GEMM_FILL_FLOATS */
    float *column;    /* k */
    float *col_scale; /* int8: [links of a panel][width] */
    float *sums;      /* twice 32 x 32 */
} asc_bf16_scratch;

/* All but the pointers of g, left and post; m0 = 0. Everything depends on k, n, the level and how W is stored
 * only, but for g.m. */
void asc_bf16_job_init(asc_bf16_job *job, const asc_call *c, asc_isa isa);
/* Whether the call is a product of many rows with one matrix at a level made of bf16 products. */
bool asc_bf16_fits(const asc_call *c, asc_isa isa);
/* The form of the rows in scratch (asc_kernel.left_form): 0 where they are more than are cut at a time. */
int asc_bf16_left_form(const asc_call *c, asc_isa isa);
size_t asc_bf16_bytes(const asc_call *c, asc_isa isa, int n_threads);
/* Sets left and row_scale. The rows' pieces and their scales lie at the start of scratch, those of threads
 * behind them. */
void asc_bf16_job_place(asc_bf16_job *job, void *scratch);
/* Links of all of k. */
static inline int64_t asc_bf16_links(const asc_bf16_job *job) {
    return (job->blocks + job->link - 1) / job->link;
}
/* What thread `thread` has of its own, and of part `part` (bf16_deal.h) what belongs to its panel: panel and
 * col_scale. */
asc_bf16_scratch asc_bf16_scratch_of(const asc_bf16_job *job, void *scratch, int64_t part, int64_t thread);

#endif

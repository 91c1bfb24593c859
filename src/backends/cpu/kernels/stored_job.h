/* stored_job.h - y = a W^T with W in a block format, by tiles over its whole numbers (stored_gemm_amx.c):
 * which calls, sizes and scratch.
 *
 * A weight of block b is w = d q + m, q a whole number of at most 8 bits, which one bf16 holds exactly; d and
 * m are one each for 32 weights, as many as a tile has values of k. So y = sum_b d_b (sum_k a q) + sum_b m_b
 * (sum_k a): three tile products for the three pieces of a, scaled in f32, and a small product of the sums of
 * a with m. */
#ifndef ASC_STORED_JOB_H
#define ASC_STORED_JOB_H

#include "bf16_job.h"

enum {
    ASC_STORED_UNIT = 32,     /* columns are dealt to threads by this */
    ASC_STORED_FORM_SUMS = 4, /* left_form of pieces with sums; see ASC_BF16_FORM8 */
    ASC_STORED_LINK = 3       /* blocks of k that 32 rows are multiplied with at a time, at most */
};

typedef struct asc_stored_job {
    asc_gemm_job g;    /* width: columns of a panel; depth is k */
    int64_t blocks;    /* of 32 values of k */
    int64_t sum_tiles; /* blocks of 32 sums of 32 values; 0 if the format has no m */
    int64_t m0;        /* first of the rows that are in pieces */
    uint16_t *left;    /* tiles of a as those of asc_bf16_job, three pieces */
    uint16_t *sums;    /* and of its sums: group i, tile s, piece p is the ((i * sum_tiles + s) * 3 + p)-th */
    bool by_strips;    /* each thread cuts 32 rows at a time, to places of its own in left and sums */
    const asc_epilogue *post;
} asc_stored_job;

/* One thread's. Columns come in pairs of 16; c counts 16, q blocks. */
typedef struct asc_stored_scratch {
    uint16_t *panel; /* tiles of units (stored_walk.h): that of c % 2 is the (2 place + c % 2)-th */
    float *scale;    /* d: [place][32] */
    uint16_t *mins;  /* tiles of m: that of c, s, piece p is the ((c * sum_tiles + s) * 3 + p)-th */
    float *raw_mins; /* of 16 columns: [32 sum_tiles][16] */
    float *products; /* two times 16 x 32 sums of a tile */
    float *y;        /* of 32 rows, the part from q: [columns / 32][32][32] */
    float *y_mins;   /* of 32 x 32, the part from m */
    float *nowhere;  /* 32 x 32 results that nobody wants */
    float *column;   /* k */
} asc_stored_scratch;

/* Whether the format has 32 weights a scale and q is whole; *has_min: whether m is not 0. */
bool asc_stored_type(asc_dtype t, bool *has_min);
bool asc_stored_fits(const asc_call *c);
/* All but the pointers of g, left, sums and post; m0 = 0. */
void asc_stored_job_init(asc_stored_job *job, const asc_call *c);
size_t asc_stored_bytes(const asc_call *c, int n_threads);
/* What is left in scratch (asc_kernel.left_form): pieces as of asc_bf16_left_form, or those and their sums
 * behind them; 0 where rows are more than are cut at a time. */
int asc_stored_left_form(const asc_call *c);
/* Sets left and sums, at the start of scratch; what threads have lies behind. */
void asc_stored_job_place(asc_stored_job *job, void *scratch);
/* What thread `thread` has of its own, and of part `part` (bf16_deal.h) what belongs to its panel: panel,
 * scale and mins. */
asc_stored_scratch asc_stored_scratch_of(const asc_stored_job *job, void *scratch, int64_t part,
                                         int64_t thread);

#endif

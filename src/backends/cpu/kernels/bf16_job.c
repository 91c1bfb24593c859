/* bf16_job.c - see bf16_job.h. */
#include "bf16_job.h"
#include "expand.h"
#include "kutil.h"
#include "matmul_shape.h"

enum {
    PANEL_BYTES = 1 << 20, /* half of an L2 cache of 2 MB */
    DEPTH = 768            /* values of k in a panel at most; whole blocks of every format */
};

/* With tiles, six products are faster than f32 products and round less where sums have 64 terms or more
 * (docs/decisions/highest-by-tiles.md). Without, f32 products are finer than those of any level and faster,
 * and pieces are for who asks for them (docs/decisions/levels-without-tiles.md). */
static bool scheme_of(const asc_call *c, asc_isa isa, int64_t k, asc_bf16_scheme *out) {
    if (isa != ASC_ISA_AMX && !c->pieces && c->level != ASC_PRECISION_INT8) return false;
    switch (c->level) {
    case ASC_PRECISION_HIGHEST:
        *out = ASC_BF16_6;
        return isa == ASC_ISA_AMX && k >= ASC_BF16_HIGHEST_K;
    case ASC_PRECISION_BF16X6:
        *out = ASC_BF16_6;
        return true;
    case ASC_PRECISION_HIGH:
        *out = ASC_BF16_3;
        return true;
    case ASC_PRECISION_MEDIUM:
    case ASC_PRECISION_INT8:
        *out = ASC_BF16_1;
        return true;
    default:
        return false;
    }
}

/* Weights that one or two pieces hold exactly: their other products are 0. A block weight d q has the 11 bits
 * of d and those of q, 3 or 4 without its factors of 2; a piece holds 8 and a sign. */
static asc_bf16_scheme narrow_scheme(const asc_bf16_job *job) {
    switch (job->g.t) {
    case ASC_DTYPE_BF16:
        return ASC_BF16_3_BY_1;
    case ASC_DTYPE_F16:
    case ASC_DTYPE_Q4_0:
    case ASC_DTYPE_Q5_0:
        return ASC_BF16_3_BY_2;
    case ASC_DTYPE_Q4_1:
        return job->mins ? ASC_BF16_3_BY_2 : ASC_BF16_6;
    default:
        return ASC_BF16_6;
    }
}

void asc_bf16_job_init(asc_bf16_job *job, const asc_call *c, asc_isa isa) {
    static const int64_t links[ASC_N_BF16_SCHEMES] = {12, 24, 24, 24, 24};
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    *job = (asc_bf16_job){.g = {.m = s.m, .n = s.n, .k = s.k, .t = c->in_dtype[1], .tb = s.tb}};
    scheme_of(c, isa, s.k, &job->scheme);
    job->g.expand = asc_expand_for(job->g.t, isa);
    if (isa == ASC_ISA_AMX && c->level == ASC_PRECISION_HIGHEST) {
        job->mins = job->g.t == ASC_DTYPE_Q4_1 && !s.tb && s.k % 32 == 0 && s.n % 32 == 0;
        job->scheme = narrow_scheme(job);
    }
    job->pieces = asc_bf16_pieces(job->scheme);
    job->right = asc_bf16_right_pieces(job->scheme);
    job->blocks = (s.k + ASC_BF16_K - 1) / ASC_BF16_K;
    job->int8 = c->level == ASC_PRECISION_INT8;
    job->link = job->int8 ? ASC_BF16_LINK8 : links[job->scheme];
    job->g.depth = asc_kmin(s.k, DEPTH);
    /* Of a panel and its slab, one column. */
    const int64_t column = (asc_kmin(job->blocks, DEPTH / ASC_BF16_K) + 1) * ASC_BF16_K * job->right * 2 +
                           (job->right < job->pieces ? ASC_BF16_K * 4 : 0);
    const int64_t units = PANEL_BYTES / (ASC_BF16_UNIT * column);
    job->g.width = ASC_BF16_UNIT * (units < 1 ? 1 : units);
}

bool asc_bf16_fits(const asc_call *c, asc_isa isa) {
    asc_matmul_shape s;
    asc_bf16_scheme scheme;
    if (asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return scheme_of(c, isa, s.k, &scheme) && !s.ta && s.batch == 1 && asc_matmul_many(c, &s);
}

/* Bytes, apart from each other by whole cache lines. */
static size_t panel_bytes(const asc_bf16_job *j) {
    const int64_t blocks = (j->g.depth + ASC_BF16_K - 1) / ASC_BF16_K;
    return (size_t)(j->g.width * blocks * ASC_BF16_K * j->right) * sizeof(uint16_t);
}
static int64_t min_groups(const asc_bf16_job *j) {
    return j->mins ? (j->g.width + ASC_BF16_MIN_COLUMNS - 1) / ASC_BF16_MIN_COLUMNS : 0;
}
static size_t mins_bytes(const asc_bf16_job *j) {
    const int64_t blocks = (j->g.depth + ASC_BF16_K - 1) / ASC_BF16_K;
    return (size_t)(min_groups(j) * blocks * 3 * ASC_BF16_TILE) * sizeof(uint16_t);
}
static size_t y_mins_bytes(const asc_bf16_job *j) {
    return (size_t)((min_groups(j) + 1) / 2 * ASC_BF16_SIDE * ASC_BF16_SIDE) * sizeof(float);
}
static size_t slab_bytes(const asc_bf16_job *j) {
    const int64_t slabs = (j->g.width + ASC_GEMM_SLAB - 1) / ASC_GEMM_SLAB;
    const int64_t rows = j->int8   ? ASC_GEMM_RUN * (ASC_BF16_UNIT / ASC_GEMM_SLAB)
                         : j->g.tb ? ASC_GEMM_RUN
                                   : ASC_BF16_K * slabs;
    return (size_t)(rows * ASC_GEMM_SLAB) * sizeof(float);
}
static size_t column_bytes(const asc_bf16_job *j) {
    return ((size_t)j->blocks * ASC_BF16_K + ASC_GEMM_RUN) * sizeof(float);
}
static size_t col_scale_bytes(const asc_bf16_job *j) {
    return j->int8 ? (size_t)(DEPTH / ASC_BF16_K / ASC_BF16_LINK8 * j->g.width) * sizeof(float) : 0;
}
enum { FILL_BYTES = ASC_GEMM_FILL_FLOATS * 4, SUM_BYTES = 2 * ASC_BF16_SIDE * ASC_BF16_SIDE * 4 };

static size_t thread_bytes(const asc_bf16_job *j) {
    return panel_bytes(j) + mins_bytes(j) + y_mins_bytes(j) + slab_bytes(j) + column_bytes(j) +
           col_scale_bytes(j) + FILL_BYTES + SUM_BYTES;
}

/* Of the rows in pieces and their scales; false when that is more than a size can be. */
static bool left_bytes(const asc_bf16_job *j, size_t *out) {
    const int64_t rows = (asc_kmin(j->g.m, ASC_BF16_ROWS) + 15) / 16 * 16;
    const size_t scales = (size_t)(j->int8 ? rows * asc_bf16_links(j) : 0) * sizeof(float);
    return asc_mul_size((size_t)(rows * j->pieces) * 2 * ASC_BF16_K, (size_t)j->blocks, out) &&
           asc_add_size(*out, (scales + 63) & ~(size_t)63, out);
}

size_t asc_bf16_bytes(const asc_call *c, asc_isa isa, int n_threads) {
    asc_bf16_job j;
    size_t all = 0;
    asc_bf16_job_init(&j, c, isa);
    if (!left_bytes(&j, &all) || !asc_add_size(all, (size_t)n_threads * thread_bytes(&j), &all))
        return SIZE_MAX / 4096;
    return all;
}

int asc_bf16_left_form(const asc_call *c, asc_isa isa) {
    asc_bf16_job j;
    asc_bf16_job_init(&j, c, isa);
    return j.g.m > ASC_BF16_ROWS ? 0 : j.int8 ? ASC_BF16_FORM8 : j.pieces;
}

void asc_bf16_job_place(asc_bf16_job *job, void *scratch) {
    const int64_t rows = (asc_kmin(job->g.m, ASC_BF16_ROWS) + 15) / 16 * 16;
    job->left = scratch;
    job->row_scale = (float *)(void *)(job->left + rows * job->blocks * job->pieces * ASC_BF16_K);
}

asc_bf16_scratch asc_bf16_scratch_of(const asc_bf16_job *job, void *scratch, int64_t part, int64_t thread) {
    size_t left = 0;
    (void)left_bytes(job, &left); /* it was a size when asc_bf16_bytes was asked */
    const int64_t each = (int64_t)thread_bytes(job), to_part = (part - thread) * each;
    uint8_t *p = (uint8_t *)scratch + left + thread * each;
    asc_bf16_scratch s = {.panel = (uint16_t *)(void *)(p + to_part)};
    s.mins = (uint16_t *)(void *)((p += panel_bytes(job)) + to_part);
    s.y_mins = (float *)(void *)(p += mins_bytes(job));
    s.slab = (float *)(void *)(p += y_mins_bytes(job));
    s.sums = (float *)(void *)(p += slab_bytes(job));
    s.fill = (float *)(void *)(p += SUM_BYTES);
    s.column = (float *)(void *)(p += FILL_BYTES);
    s.col_scale = (float *)(void *)(p + column_bytes(job) + to_part);
    return s;
}

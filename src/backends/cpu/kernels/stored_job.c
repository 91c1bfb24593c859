/* stored_job.c - see stored_job.h. */
#include "stored_job.h"
#include "expand.h"
#include "kutil.h"
#include "matmul_shape.h"

enum { PANEL_BYTES = 1 << 20 /* half of an L2 cache of 2 MB */, PIECES = 3 };

bool asc_stored_type(asc_dtype t, bool *has_min) {
    switch (t) {
    case ASC_DTYPE_Q4_0:
    case ASC_DTYPE_Q5_0:
    case ASC_DTYPE_Q8_0:
    case ASC_DTYPE_IQ4_NL:
        *has_min = false;
        return true;
    case ASC_DTYPE_Q4_1:
    case ASC_DTYPE_Q5_1:
    case ASC_DTYPE_Q4_K:
    case ASC_DTYPE_Q5_K:
        *has_min = true;
        return true;
    default:
        *has_min = false;
        return false;
    }
}

bool asc_stored_fits(const asc_call *c) {
    asc_matmul_shape s;
    bool has_min;
    if (c->level != ASC_PRECISION_HIGHEST || !asc_stored_type(c->in_dtype[1], &has_min)) return false;
    asc_matmul_shape_of(c, &s);
    return s.tb && !s.ta && s.batch == 1 && asc_matmul_many(c, &s) && s.k >= ASC_BF16_HIGHEST_K &&
           s.k % asc_dtype_of(c->in_dtype[1])->block_elems == 0 && s.k < INT32_MAX / 16;
}

void asc_stored_job_init(asc_stored_job *job, const asc_call *c) {
    asc_matmul_shape s;
    bool has_min;
    asc_matmul_shape_of(c, &s);
    *job =
        (asc_stored_job){.g = {.m = s.m, .n = s.n, .k = s.k, .t = c->in_dtype[1], .tb = true, .depth = s.k}};
    asc_stored_type(job->g.t, &has_min);
    job->g.expand = asc_expand_for(job->g.t, ASC_ISA_AMX);
    job->blocks = s.k / ASC_BF16_K;
    job->sum_tiles = has_min ? (job->blocks + ASC_BF16_K - 1) / ASC_BF16_K : 0;
    const int64_t units = PANEL_BYTES / (ASC_STORED_UNIT * 2 * s.k);
    job->g.width = ASC_STORED_UNIT * (units < 1 ? 1 : units);
    job->g.width = asc_kmin(job->g.width, (s.n + ASC_STORED_UNIT - 1) / ASC_STORED_UNIT * ASC_STORED_UNIT);
}

/* Bytes, whole cache lines. */
enum {
    TILE_BYTES = ASC_BF16_TILE * 2,
    PRODUCT_BYTES = 2 * 16 * ASC_BF16_SIDE * 4,
    BLOCK_BYTES = ASC_BF16_SIDE * ASC_BF16_SIDE * 4
};
static size_t panel_bytes(const asc_stored_job *j) {
    return (size_t)(j->g.width / 16 * j->blocks) * TILE_BYTES;
}
static size_t scale_bytes(const asc_stored_job *j) {
    return (size_t)(j->g.width * j->blocks) * sizeof(float);
}
static size_t mins_bytes(const asc_stored_job *j) {
    return (size_t)(j->g.width / 16 * j->sum_tiles * PIECES) * TILE_BYTES;
}
static size_t raw_bytes(const asc_stored_job *j) { return (size_t)(j->sum_tiles * 32 * 16) * sizeof(float); }
static size_t y_bytes(const asc_stored_job *j) {
    return (size_t)(j->g.width * ASC_BF16_SIDE) * sizeof(float);
}
static size_t column_bytes(const asc_stored_job *j) { return ((size_t)j->g.k + 15) / 16 * 64; }

static size_t thread_bytes(const asc_stored_job *j) {
    return panel_bytes(j) + scale_bytes(j) + mins_bytes(j) + raw_bytes(j) + PRODUCT_BYTES + y_bytes(j) +
           2 * BLOCK_BYTES + column_bytes(j);
}

static int64_t groups_of(const asc_stored_job *j) { return (asc_kmin(j->g.m, ASC_BF16_ROWS) + 15) / 16; }

/* Of the rows' pieces and their sums; false when that is more than a size can be. */
static bool left_bytes(const asc_stored_job *j, size_t *out) {
    return asc_mul_size((size_t)groups_of(j) * PIECES * TILE_BYTES, (size_t)(j->blocks + j->sum_tiles), out);
}

size_t asc_stored_bytes(const asc_call *c, int n_threads) {
    asc_stored_job j;
    asc_stored_job_init(&j, c);
    size_t all = 0;
    if (!left_bytes(&j, &all) || !asc_add_size(all, (size_t)n_threads * thread_bytes(&j), &all))
        return SIZE_MAX / 4096;
    return all;
}

int asc_stored_left_form(const asc_call *c) {
    asc_stored_job j;
    asc_stored_job_init(&j, c);
    return j.g.m > ASC_BF16_ROWS ? 0 : j.sum_tiles > 0 ? ASC_STORED_FORM_SUMS : PIECES;
}

void asc_stored_job_place(asc_stored_job *job, void *scratch) {
    job->left = scratch;
    job->sums = job->left + groups_of(job) * job->blocks * PIECES * ASC_BF16_TILE;
}

asc_stored_scratch asc_stored_scratch_of(const asc_stored_job *job, void *scratch, int64_t part,
                                         int64_t thread) {
    size_t left = 0;
    (void)left_bytes(job, &left); /* it was a size when asc_stored_bytes was asked */
    const int64_t each = (int64_t)thread_bytes(job), to_part = (part - thread) * each;
    uint8_t *p = (uint8_t *)scratch + left + thread * each;
    asc_stored_scratch s = {.panel = (uint16_t *)(void *)(p + to_part)};
    s.scale = (float *)(void *)((p += panel_bytes(job)) + to_part);
    s.mins = (uint16_t *)(void *)((p += scale_bytes(job)) + to_part);
    s.raw_mins = (float *)(void *)(p += mins_bytes(job));
    s.products = (float *)(void *)(p += raw_bytes(job));
    s.y = (float *)(void *)(p += PRODUCT_BYTES);
    s.y_mins = (float *)(void *)(p += y_bytes(job));
    s.nowhere = (float *)(void *)(p += BLOCK_BYTES);
    s.column = (float *)(void *)(p + BLOCK_BYTES);
    return s;
}

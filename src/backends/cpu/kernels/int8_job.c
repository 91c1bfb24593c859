/* int8_job.c - see int8_job.h. */
#include "int8_job.h"
#include "expand.h"
#include "kutil.h"
#include "matmul_shape.h"

enum {
    PANEL_BYTES = 768 << 10, /* with the slab well inside an L2 cache of 1 or 2 MB */
    DEPTH = 768              /* values of k in a panel at most: whole links, whole blocks of every format */
};

void asc_int8_job_init(asc_int8_job *job, const asc_call *c, asc_isa isa, int each) {
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    *job = (asc_int8_job){.g = {.m = s.m, .n = s.n, .k = s.k, .t = c->in_dtype[1], .tb = s.tb}};
    job->each = each;
    job->links = asc_kceil(s.k, ASC_INT8_LINK);
    job->g.expand = asc_expand_for(job->g.t, isa);
    job->g.depth = asc_kmin(s.k, DEPTH);
    const int64_t unit = ASC_INT8_UNIT * asc_kround(asc_kmax(1, job->g.depth), ASC_INT8_LINK) * 4 / each;
    job->g.width =
        ASC_INT8_UNIT * asc_kmin(asc_kmax(1, PANEL_BYTES / unit), asc_kceil(asc_kmax(1, s.n), ASC_INT8_UNIT));
}

bool asc_int8_fits(const asc_call *c) {
    asc_matmul_shape s;
    if (c->level != ASC_PRECISION_INT8 || asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.batch == 1 && asc_matmul_many(c, &s);
}

int asc_int8_left_form(const asc_call *c) {
    asc_matmul_shape s;
    asc_matmul_shape_of(c, &s);
    return s.m > ASC_INT8_ROWS ? 0 : ASC_INT8_FORM;
}

/* Bytes of the parts of scratch, apart from each other by whole cache lines. */
static int64_t panel_links(const asc_int8_job *j) { return asc_kceil(j->g.depth, ASC_INT8_LINK); }
static size_t panel_bytes(const asc_int8_job *j) {
    return (size_t)(panel_links(j) * ASC_INT8_LINK / j->each * j->g.width) * sizeof(uint32_t);
}
static size_t scale_bytes(const asc_int8_job *j) {
    return (size_t)(panel_links(j) * j->g.width) * sizeof(float);
}
static size_t column_bytes(const asc_int8_job *j) {
    return (size_t)asc_kround(j->g.k + ASC_GEMM_RUN, 16) * sizeof(float);
}
enum { SLAB_BYTES = ASC_INT8_LINK * ASC_INT8_UNIT * 4, FILL_BYTES = ASC_GEMM_FILL_FLOATS * 4 };

static size_t thread_bytes(const asc_int8_job *j) {
    return panel_bytes(j) + 2 * scale_bytes(j) + column_bytes(j) + SLAB_BYTES + FILL_BYTES;
}

static int64_t left_rows(const asc_int8_job *j) { return asc_kround(asc_kmin(j->g.m, ASC_INT8_ROWS), 16); }

/* Of the rows and their steps; false when that is more than a size can be. */
static bool left_bytes(const asc_int8_job *j, size_t *out) {
    const size_t row = (size_t)(asc_int8_row(j) + j->links) * sizeof(uint32_t);
    return asc_mul_size((size_t)left_rows(j), row, out);
}

size_t asc_int8_bytes(const asc_call *c, asc_isa isa, int each, int n_threads) {
    asc_int8_job j;
    size_t all = 0;
    asc_int8_job_init(&j, c, isa, each);
    if (!left_bytes(&j, &all) || !asc_add_size(all, (size_t)n_threads * thread_bytes(&j), &all))
        return SIZE_MAX / 4096;
    return all;
}

void asc_int8_job_place(asc_int8_job *job, void *scratch) {
    job->left = scratch;
    job->row_scale = (float *)(void *)(job->left + left_rows(job) * asc_int8_row(job));
}

asc_int8_scratch asc_int8_scratch_of(const asc_int8_job *job, void *scratch, int64_t part, int64_t thread) {
    size_t left = 0;
    (void)left_bytes(job, &left); /* it was a size when asc_int8_bytes was asked */
    const size_t each = thread_bytes(job);
    uint8_t *of_part = (uint8_t *)scratch + left + (size_t)part * each,
            *own = (uint8_t *)scratch + left + (size_t)thread * each;
    asc_int8_scratch s = {.panel = (uint32_t *)(void *)of_part};
    size_t at = panel_bytes(job);
    s.scale = (float *)(void *)(of_part + at);
    at += scale_bytes(job);
    s.offset = (int32_t *)(void *)(of_part + at);
    at += scale_bytes(job);
    s.slab = (float *)(void *)(own + at);
    at += SLAB_BYTES;
    s.fill = (float *)(void *)(own + at);
    s.column = (float *)(void *)(own + at + FILL_BYTES);
    return s;
}

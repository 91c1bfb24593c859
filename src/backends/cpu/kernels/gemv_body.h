/* gemv_body.h - y = a W^T for few rows of a in any instruction set: a stretch of a row of W is expanded to
 * the L1 cache and meets up to four rows of a. The file that includes it defines GEMV_NAME, GEMV_LEVEL and
 * GEMV_LANES. A row's sum has GEMV_LANES partial sums, added up in a fixed order: bits depend neither on the
 * other rows nor on threads. */
#include "expand.h"
#include "flush.h"
#include "kernel.h"
#include "matmul_shape.h"
#include <string.h>

enum { MAX_ROWS = 4, SEGMENT = 512 };

typedef float vec __attribute__((vector_size(GEMV_LANES * 4)));

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* acc[i] += w[0..n) times the same elements of row i; n below GEMV_LANES at the end of a row only. */
static inline __attribute__((always_inline)) void dot(const float *w, int64_t n, const float *x, int64_t ldx,
                                                      const int rows, vec acc[MAX_ROWS][2]) {
    int64_t q = 0;
    for (; q + 2 * GEMV_LANES <= n; q += 2 * GEMV_LANES) {
        const vec w0 = load(w + q), w1 = load(w + q + GEMV_LANES);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            acc[i][0] += w0 * load(x + i * ldx + q);
            acc[i][1] += w1 * load(x + i * ldx + q + GEMV_LANES);
        }
    }
    if (q == n) return;
    float wt[2 * GEMV_LANES] = {0}, xt[2 * GEMV_LANES] = {0};
    memcpy(wt, w + q, (size_t)(n - q) * sizeof(float));
    for (int i = 0; i < rows; i++) {
        memcpy(xt, x + i * ldx + q, (size_t)(n - q) * sizeof(float));
        acc[i][0] += load(wt) * load(xt);
        acc[i][1] += load(wt + GEMV_LANES) * load(xt + GEMV_LANES);
    }
}

static inline float sum_of(vec v) {
    float lane[GEMV_LANES];
    memcpy(lane, &v, sizeof v);
    for (int half = GEMV_LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    }
    return lane[0];
}

typedef struct gemv_job {
    const float *x;
    float *y;
    const uint8_t *w;
    int64_t n, k, row_bytes;
    const asc_dtype_info *info;
    asc_expand_fn expand;
} gemv_job;

static inline __attribute__((always_inline)) void some_rows(const gemv_job *j, int64_t n0, int64_t n1,
                                                            const int rows) {
    float w[SEGMENT];
    for (int64_t n = n0; n < n1; n++) {
        vec acc[MAX_ROWS][2];
        memset(acc, 0, sizeof acc);
        for (int64_t q = 0; q < j->k; q += SEGMENT) {
            const int64_t len = j->k - q < SEGMENT ? j->k - q : SEGMENT;
            j->expand(j->w + n * j->row_bytes + q / j->info->block_elems * j->info->block_bytes, w, len);
            dot(w, len, j->x + q, j->k, rows, acc);
        }
        for (int i = 0; i < rows; i++) j->y[i * j->n + n] = sum_of(acc[i][0] + acc[i][1]);
    }
}

static void run(const asc_kargs *args) {
    asc_matmul_shape s;
    asc_matmul_shape_of(args->call, &s);
    const asc_dtype t = args->call->in_dtype[1];
    gemv_job job = {.w = args->in[1],
                    .n = s.n,
                    .k = s.k,
                    .info = asc_dtype_of(t),
                    .expand = asc_expand_for(t, GEMV_LEVEL)};
    job.row_bytes = s.k / job.info->block_elems * job.info->block_bytes;
#pragma omp parallel for num_threads(args->n_threads) schedule(static) firstprivate(job)
    for (int i = 0; i < args->n_threads; i++) {
        const int64_t n0 = s.n * i / args->n_threads, n1 = s.n * (i + 1) / args->n_threads;
        const unsigned int mode = asc_flush_enter();
        for (int64_t m = 0; m < s.m; m += MAX_ROWS) {
            job.x = (const float *)args->in[0] + m * s.k;
            job.y = (float *)args->out + m * s.n;
            switch (s.m - m) {
            case 1:
                some_rows(&job, n0, n1, 1);
                break;
            case 2:
                some_rows(&job, n0, n1, 2);
                break;
            case 3:
                some_rows(&job, n0, n1, 3);
                break;
            default:
                some_rows(&job, n0, n1, 4);
                break;
            }
        }
        asc_flush_leave(mode);
    }
}

static bool fits(const asc_call *c) {
    asc_matmul_shape s;
    if (asc_dtype_expand(c->in_dtype[1]) == NULL) return false;
    asc_matmul_shape_of(c, &s);
    return !s.ta && s.tb && s.batch == 1 && s.m <= 8 && !c->many_rows;
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
const asc_kernel JOIN(asc_kernel_, GEMV_NAME) = {
    .name = STRING(GEMV_NAME), .opcode = ASC_OPCODE_MATMUL, .isa = GEMV_LEVEL, .fits = fits, .run = run};

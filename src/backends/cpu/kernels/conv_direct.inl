/* conv_direct.inl - convolution jobs with few rows per group (depthwise): no column is used often enough to
 * be gathered, so each output row is summed up tap by tap where it stands. The order is that of (channel,
 * tap). */
#ifndef ASC_CONV_DIRECT_INL
#define ASC_CONV_DIRECT_INL

#include "conv_job.h"
#include "vec.h"

enum { CONV_CHUNK = 512 }; /* positions of a row at once: stays in the first-level cache */

/* acc[i] += w x[i step] */
static void conv_axpy(float *acc, const float *x, int64_t step, float w, int64_t n) {
    if (step == 1) {
        const vf wv = vset1(w);
        int64_t i = 0;
        for (; i + VW <= n; i += VW) vstore(acc + i, vfma(wv, vload(x + i), vload(acc + i)));
        if (i < n) vstoren(acc + i, vfma(wv, vloadn(x + i, n - i), vloadn(acc + i, n - i)), n - i);
        return;
    }
    float row[64];
    for (int64_t i = 0; i < n; i += 64) {
        const int64_t len = asc_kmin(64, n - i);
        for (int64_t k = 0; k < len; k++) row[k] = x[(i + k) * step];
        conv_axpy(acc + i, row, 1, w, len);
    }
}

/* Positions [begin, begin + n) of row (o0, o1). */
static void conv_direct_row(const asc_conv_job *j, const float *x, const float *w, const int64_t *o,
                            int64_t begin, int64_t n, float *acc) {
    for (int64_t c = 0; c < j->c; c++)
        for (int64_t t0 = 0; t0 < j->n_taps[0]; t0++) {
            const int64_t i0 = o[0] * j->step[0] + j->off[0] + t0 * j->off_step[0];
            if (i0 < 0 || i0 >= j->src[0]) continue;
            for (int64_t t1 = 0; t1 < j->n_taps[1]; t1++) {
                const int64_t i1 = o[1] * j->step[1] + j->off[1] + t1 * j->off_step[1];
                if (i1 < 0 || i1 >= j->src[1]) continue;
                const float *row = x + c * j->src_plane + (i0 * j->src[1] + i1) * j->src[2],
                            *wr = w + c * j->taps + (t0 * j->n_taps[1] + t1) * j->n_taps[2];
                for (int64_t t2 = 0; t2 < j->n_taps[2]; t2++) {
                    const int64_t off = j->off[2] + t2 * j->off_step[2];
                    int64_t first, end;
                    asc_window_valid(off, j->step[2], j->src[2], begin + n, &first, &end);
                    first = asc_kmax(first, begin);
                    if (first < end)
                        conv_axpy(acc + first - begin, row + first * j->step[2] + off, j->step[2], wr[t2],
                                  end - first);
                }
            }
        }
}

static void conv_direct_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const asc_conv_job *j = self;
    const int64_t r = u % (j->groups * j->m), b = u / (j->groups * j->m), g = r / j->m;
    const float *x = j->x + (b * j->groups + g) * j->c * j->src_plane, *w = j->w + r * j->k;
    float *y = j->y + u * j->dst_plane, acc[CONV_CHUNK];
    int64_t o[2];
    for (o[0] = 0; o[0] < j->grid[0]; o[0]++)
        for (o[1] = 0; o[1] < j->grid[1]; o[1]++)
            for (int64_t begin = 0; begin < j->grid[2]; begin += CONV_CHUNK) {
                const int64_t n = asc_kmin(CONV_CHUNK, j->grid[2] - begin), step = j->dst_step[2];
                const float bias = j->bias != NULL ? j->bias[r] : 0.0f;
                memset(acc, 0, (size_t)n * sizeof acc[0]);
                conv_direct_row(j, x, w, o, begin, n, acc);
                float *to = y +
                            ((o[0] * j->dst_step[0] + j->dst_off[0]) * j->dst[1] + o[1] * j->dst_step[1] +
                             j->dst_off[1]) *
                                j->dst[2] +
                            begin * step + j->dst_off[2];
                for (int64_t i = 0; i < n; i++) to[i * step] = acc[i] + bias;
            }
}

static void conv_direct(const asc_conv_job *j, int threads) {
    asc_conv_job copy = *j;
    asc_kpar(j->batch * j->groups * j->m, threads, false, conv_direct_unit, &copy);
}

#endif

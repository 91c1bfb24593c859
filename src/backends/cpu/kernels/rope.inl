/* rope.inl - rotary position embedding. cos and sin per position and frequency are computed once a call, in
 * double: at position 100,000 an f32 angle is off by 0.004 rad. In place is safe: both columns of a pair are
 * read before either is written. */
#include "kutil.h"
#include "vec.h"

typedef struct rope_job {
    const float *x, *freq;
    const int32_t *pos;
    float *y, *cos, *sin; /* tables [t, half] */
    int64_t t, h, d, half, rows, group;
    double scale, sign, max_freq;
    bool interleaved;
} rope_job;

/* pi / 2 in three pieces; the first two have 33 bits, so that their product with k < 2^20 is exact. */
static const double rope_pi_a = 0x1.921fb544p+0, rope_pi_b = 0x1.0b4611a6p-34,
                    rope_pi_c = 0x1.3198a2e037073p-69;

/* cos and sin of pos f for n frequencies, |pos f| < 2^20: reduced to [-pi/4, pi/4], where the Taylor series
 * to the 13th power is off by 1e-11 at most. Free of branches, so that the compiler uses vectors. */
static void rope_table_row(double pos, const float *freq, int64_t n, double scale, double sign,
                           float *cos_out, float *sin_out) {
    for (int64_t i = 0; i < n; i++) {
        const double x = pos * (double)freq[i],
                     shifted = x * 0.63661977236758134 + 6755399441055744.0; /* 1.5 2^52 */
        const double k = shifted - 6755399441055744.0;
        int64_t quarter; /* the low bits of the shifted number are those of k */
        memcpy(&quarter, &shifted, sizeof quarter);
        const double r = ((x - k * rope_pi_a) - k * rope_pi_b) - k * rope_pi_c, u = r * r;
        const double s =
            r + r * u * (-1.0 / 6 + u * (1.0 / 120 + u * (-1.0 / 5040 + u * (1.0 / 362880 - u / 39916800))));
        const double c =
            1 + u * (-0.5 + u * (1.0 / 24 + u * (-1.0 / 720 +
                                                 u * (1.0 / 40320 + u * (-1.0 / 3628800 + u / 479001600)))));
        const double sn = (quarter & 1) != 0 ? c : s, cs = (quarter & 1) != 0 ? s : c;
        cos_out[i] = (float)(((quarter + 1) & 2) != 0 ? -cs * scale : cs * scale);
        sin_out[i] = (float)((quarter & 2) != 0 ? -sn * sign : sn * sign);
    }
}

static void rope_table_unit(void *self, int64_t t, int thread) {
    (void)thread;
    const rope_job *j = self;
    const double pos = j->pos[t], sign = j->scale * j->sign;
    float *c = j->cos + t * j->half, *s = j->sin + t * j->half;
    if (fabs(pos) * j->max_freq < 1048576.0) {
        rope_table_row(pos, j->freq, j->half, j->scale, sign, c, s);
        return;
    }
    for (int64_t i = 0; i < j->half; i++) { /* far away, or not a number: the C library's reduction */
        double sn, cs;
        sincos(pos * (double)j->freq[i], &sn, &cs);
        c[i] = (float)(cs * j->scale);
        s[i] = (float)(sn * sign);
    }
}

static void rope_halves(const float *x, float *y, const float *c, const float *s, int64_t half) {
    for (int64_t i = 0; i < half; i += VW) {
        int64_t n = asc_kmin(VW, half - i);
        vf a = vloadn(x + i, n), b = vloadn(x + half + i, n), vc = vloadn(c + i, n), vs = vloadn(s + i, n);
        vstoren(y + i, vfnma(b, vs, a * vc), n);
        vstoren(y + half + i, vfma(a, vs, b * vc), n);
    }
}

static void rope_pairs(const float *x, float *y, const float *c, const float *s, int64_t half) {
    for (int64_t i = 0; i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * c[i] - b * s[i];
        y[2 * i + 1] = a * s[i] + b * c[i];
    }
}

static void rope_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const rope_job *j = self;
    int64_t end = asc_kmin((u + 1) * j->group, j->rows);
    for (int64_t r = u * j->group; r < end; r++) { /* r runs over batch and position */
        const float *c = j->cos + r % j->t * j->half, *s = j->sin + r % j->t * j->half;
        for (int64_t h = 0; h < j->h; h++) {
            const float *x = j->x + (r * j->h + h) * j->d;
            float *y = j->y + (r * j->h + h) * j->d;
            if (j->interleaved)
                rope_pairs(x, y, c, s, j->half);
            else
                rope_halves(x, y, c, s, j->half);
            if (y != x && j->d > 2 * j->half)
                memcpy(y + 2 * j->half, x + 2 * j->half, (size_t)(j->d - 2 * j->half) * sizeof(float));
        }
    }
}

static void run_rope(const asc_kargs *a) {
    const asc_shape *s = &a->call->shape;
    rope_job j = {.x = a->in[0], .pos = a->in[1], .freq = a->in[2], .y = a->out, .cos = a->scratch};
    j.t = s->dims[s->rank - 3];
    j.h = s->dims[s->rank - 2];
    j.d = s->dims[s->rank - 1];
    j.half = asc_kelems(&a->call->in_shape[2]);
    j.rows = asc_kspan(s, 0, s->rank - 2);
    j.group = asc_kmax(1, ASC_K_BLOCK / asc_kmax(1, j.h * j.d));
    j.sin = j.cos + j.t * j.half;
    j.scale = asc_kfloat(a->call, "mscale");
    j.sign = asc_kint(a->call, "inverse") != 0 ? -1 : 1;
    j.interleaved = asc_kint(a->call, "interleaved") != 0;
    for (int64_t i = 0; i < j.half; i++) j.max_freq = fmax(j.max_freq, fabs((double)j.freq[i]));
    asc_kpar(j.t, asc_kthreads(a, (double)(j.t * j.half) * 4), false, rope_table_unit, &j);
    asc_kpar(asc_kceil(j.rows, j.group), asc_kthreads(a, (double)(j.rows * j.h * j.d)), false, rope_unit, &j);
}

static bool rope_fits(const asc_call *c) {
    return c->dtype == ASC_DTYPE_F32 && c->in_dtype[0] == ASC_DTYPE_F32 && c->in_dtype[1] == ASC_DTYPE_I32 &&
           c->in_dtype[2] == ASC_DTYPE_F32;
}

static size_t rope_scratch(const asc_call *c, int n_threads) {
    (void)n_threads;
    int64_t t = c->shape.dims[c->shape.rank - 3], half = asc_kelems(&c->in_shape[2]);
    return (size_t)(2 * t * half) * sizeof(float);
}

const asc_kernel VEC_NAME(asc_kernel_rope) = {.name = "rope",
                                              .opcode = ASC_OPCODE_ROPE,
                                              .isa = VEC_ISA_ENUM,
                                              .fits = rope_fits,
                                              .scratch = rope_scratch,
                                              .run = run_rope};

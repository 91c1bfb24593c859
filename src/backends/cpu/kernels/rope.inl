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
    double scale, sign;
    bool interleaved;
} rope_job;

static void rope_table_unit(void *self, int64_t t, int thread) {
    (void)thread;
    const rope_job *j = self;
    for (int64_t i = 0; i < j->half; i++) {
        double s, c, angle = (double)j->pos[t] * (double)j->freq[i];
        sincos(angle, &s, &c);
        j->cos[t * j->half + i] = (float)(c * j->scale);
        j->sin[t * j->half + i] = (float)(s * j->scale * j->sign);
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
    asc_kpar(j.t, asc_kthreads(a, (double)(j.t * j.half) * 16), false, rope_table_unit, &j);
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

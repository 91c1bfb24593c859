/* conv_job.c - see conv_job.h. */
#include "conv_job.h"

enum { AXES = ASC_CONV_AXES };

static int64_t product(const int64_t *v) { return v[0] * v[1] * v[2]; }

static void finish(asc_conv_job *j) {
    j->taps = product(j->n_taps);
    j->k = j->c * j->taps;
    j->columns = j->batch * product(j->grid);
    j->src_plane = product(j->src);
    j->dst_plane = product(j->dst);
}

void asc_conv_job_forward(const asc_kargs *a, const asc_conv_sizes *s, asc_conv_job *out) {
    const asc_geometry *g = &s->geo;
    *out = (asc_conv_job){.batch = s->batch, .groups = s->groups, .m = s->m, .c = s->c};
    out->x = a->in[0];
    out->w = a->in[1];
    out->bias = a->call->n_in > 2 ? a->in[2] : NULL;
    out->y = a->out;
    out->post = a->post;
    for (int d = 0; d < AXES; d++) {
        out->n_taps[d] = g->kernel[d];
        out->off[d] = -g->before[d];
        out->off_step[d] = g->dilation[d];
        out->grid[d] = out->dst[d] = g->out[d];
        out->step[d] = g->stride[d];
        out->src[d] = g->in[d];
        out->dst_step[d] = out->tap_step[d] = 1;
    }
    finish(out);
}

int64_t asc_conv_n_phases(const asc_conv_sizes *s) {
    int64_t n = 1;
    for (int d = 0; d < AXES; d++) n *= asc_kmin(s->geo.stride[d], asc_kmax(s->geo.in[d], 1));
    return n;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Positions p, p + stride, ... of an axis: tap r meets them at (p + before - r dilation) / stride where that
 * is whole. */
static void phase_axis(asc_conv_job *j, const asc_geometry *g, int d, int64_t p) {
    const int64_t s = g->stride[d], dil = g->dilation[d], every = s / gcd(s, dil);
    int64_t r = 0, rest = p + g->before[d];
    while (r < every && (rest - r * dil) % s != 0) r++;
    j->dst_off[d] = p;
    j->dst_step[d] = s;
    j->grid[d] = p < g->in[d] ? (g->in[d] - p - 1) / s + 1 : 0;
    j->n_taps[d] = r < every && r < g->kernel[d] ? (g->kernel[d] - r - 1) / every + 1 : 0;
    j->first_tap[d] = r;
    j->tap_step[d] = every;
    j->off[d] = (rest - r * dil) / s;
    j->off_step[d] = -(every * dil / s);
    j->step[d] = 1;
    j->src[d] = g->out[d];
    j->dst[d] = g->in[d];
}

bool asc_conv_job_phase(const asc_kargs *a, const asc_conv_sizes *s, int64_t i, asc_conv_job *out) {
    *out = (asc_conv_job){.batch = s->batch, .groups = s->groups, .m = s->c, .c = s->m};
    out->x = a->in[0];
    out->y = a->out;
    for (int d = AXES - 1; d >= 0; d--) {
        const int64_t n = asc_kmin(s->geo.stride[d], asc_kmax(s->geo.in[d], 1));
        phase_axis(out, &s->geo, d, i % n);
        i /= n;
    }
    finish(out);
    return out->columns > 0;
}

typedef struct pack {
    const asc_conv_job *j;
    const asc_conv_sizes *s;
    const float *w;
    float *out;
} pack;

enum { PACK_ROWS = 16 };

static void pack_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pack *p = self;
    const asc_conv_job *j = p->j;
    const int64_t *kernel = p->s->geo.kernel, full = product(kernel), blocks = asc_kceil(j->m, PACK_ROWS),
                  g = u / blocks, r0 = u % blocks * PACK_ROWS, r1 = asc_kmin(j->m, r0 + PACK_ROWS);
    for (int64_t c = 0; c < j->c; c++)
        for (int64_t r = r0; r < r1; r++) {
            const float *w = p->w + ((g * j->c + c) * j->m + r) * full;
            float *out = p->out + (g * j->m + r) * j->k + c * j->taps;
            if (j->taps == full) { /* stride 1: every tap, in the order in which it is stored */
                if (full == 9)
                    memcpy(out, w, 9 * sizeof(float));
                else
                    memcpy(out, w, (size_t)full * sizeof(float));
                continue;
            }
            for (int64_t t0 = 0; t0 < j->n_taps[0]; t0++)
                for (int64_t t1 = 0; t1 < j->n_taps[1]; t1++) {
                    const float *row = w +
                                       ((j->first_tap[0] + t0 * j->tap_step[0]) * kernel[1] +
                                        j->first_tap[1] + t1 * j->tap_step[1]) *
                                           kernel[2] +
                                       j->first_tap[2];
                    for (int64_t t2 = 0; t2 < j->n_taps[2]; t2++) *out++ = row[t2 * j->tap_step[2]];
                }
        }
}

void asc_conv_pack(const asc_conv_job *j, const asc_conv_sizes *s, const float *w, int threads, float *out) {
    pack p = {.j = j, .s = s, .w = w, .out = out};
    const double elems = (double)(j->groups * j->m) * (double)j->k;
    if (elems > 0)
        asc_kpar(j->groups * asc_kceil(j->m, PACK_ROWS), elems > ASC_K_FORK_ELEMS ? threads : 1, false,
                 pack_unit, &p);
}

enum { ZERO_BYTES = 1 << 18 };
typedef struct zero {
    uint8_t *at;
    int64_t bytes;
} zero;

static void zero_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const zero *z = self;
    memset(z->at + u * ZERO_BYTES, 0, (size_t)asc_kmin(ZERO_BYTES, z->bytes - u * ZERO_BYTES));
}

void asc_conv_zero(const asc_kargs *a) {
    zero z = {.at = a->out, .bytes = asc_kelems(&a->call->shape) * (int64_t)sizeof(float)};
    asc_kpar(asc_kceil(z.bytes, ZERO_BYTES), a->n_threads, false, zero_unit, &z);
}

bool asc_conv_fits(const asc_call *c) {
    asc_conv_sizes s;
    if (!asc_kfits_f32(c)) return false;
    asc_conv_sizes_of(c, &s);
    for (int d = 0; d < AXES; d++)
        if (s.geo.stride[d] > ASC_CONV_MAX_STRIDE) return false;
    return c->op->opcode != ASC_OPCODE_CONV_GRAD_INPUT || asc_conv_n_phases(&s) <= ASC_CONV_MAX_PHASES;
}

int asc_conv_runs(const asc_conv_job *j, int64_t n0, int n, asc_conv_run *out) {
    int count = 0;
    for (int col = 0; col < n;) {
        asc_conv_run *r = &out[count++];
        int64_t i = n0 + col;
        r->col = col;
        r->o[2] = i % j->grid[2];
        i /= j->grid[2];
        r->o[1] = i % j->grid[1];
        i /= j->grid[1];
        r->o[0] = i % j->grid[0];
        r->b = i / j->grid[0];
        r->len = (int)asc_kmin(n - col, j->grid[2] - r->o[2]);
        col += r->len;
    }
    return count;
}

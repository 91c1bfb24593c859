/* rope: turns pairs of columns of x [..,T,H,D] by angles theta = pos[t] inv_freq[i]:
 *   (y0, y1) = mscale (x0 cos - x1 sin, x0 sin + x1 cos), with -theta if inverse.
 * Pair i is columns (2i, 2i+1) if interleaved, (i, i + n_rot/2) if not, n_rot = 2 * length of inv_freq;
 * columns from n_rot on are copied. Gradient: y is linear in x and the transpose of a turn is the turn back,
 * so dx = rope(g) with inverse flipped. By the frequencies: dy/dtheta is y turned a further quarter, (-y1,
 * y0), or (y1, -y0) if inverse, so d inv_freq[i] = sum over rows of pos (g1 y0 - g0 y1), negated if inverse.
 * Positions are integers and have no gradient. Edge cases: n_rot = 0 copies x; negative positions turn back;
 * a position of 0 scales by mscale only. Source: Su et al. 2021, "RoFormer"; the half layout is that of
 * GPT-NeoX, mscale that of YaRN (Peng et al. 2023). */
#include <math.h>

#include "ops.h"
#include "rows.h"

enum { ATTR_INTERLEAVED, ATTR_INVERSE }; /* i slots; f[0] is mscale */

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_f32(ctx, c, 2);
    if (st != ASC_OK) return st;
    const asc_shape *x = &c->in_shape[0], *pos = &c->in_shape[1], *freq = &c->in_shape[2];
    if (x->rank < 3 || x->rank > 5) return asc_infer_fail(ctx, c, "x must be [..,T,H,D] of rank 3 to 5");
    if (c->in_dtype[1] != ASC_DTYPE_I32) return asc_infer_fail(ctx, c, "positions must be i32");
    if (pos->rank != 1 || pos->dims[0] != x->dims[x->rank - 3])
        return asc_infer_fail(ctx, c, "positions must be [%lld], one a row", (long long)x->dims[x->rank - 3]);
    if (freq->rank != 1 || freq->dims[0] > x->dims[x->rank - 1] / 2)
        return asc_infer_fail(ctx, c, "frequencies must be [n_rot/2] with n_rot <= %lld columns",
                              (long long)x->dims[x->rank - 1]);
    c->dtype = ASC_DTYPE_F32;
    c->shape = *x;
    return ASC_OK;
}

/* One position: all heads of row `x` (strides in dims rank-2 and rank-1 of in/out). */
static void turn_position(const asc_ref_args *a, const double *x, double *y, int64_t t) {
    const asc_nd *in = &a->in[0], *out = &a->out, *freq = &a->in[2];
    const int last = in->rank - 1;
    const int64_t half = freq->dims[0], n_heads = in->dims[last - 1];
    const int64_t sx = in->strides[last], sy = out->strides[last];
    const double pos = a->in[1].data[t * a->in[1].strides[0]], mscale = a->attrs->f[0];
    const bool pairs = a->attrs->i[ATTR_INTERLEAVED] != 0;
    for (int64_t i = 0; i < half; i++) {
        const double theta = pos * freq->data[i * freq->strides[0]];
        const double cos_t = mscale * cos(theta);
        const double sin_t = mscale * (a->attrs->i[ATTR_INVERSE] != 0 ? -sin(theta) : sin(theta));
        const int64_t c0 = pairs ? 2 * i : i, c1 = pairs ? 2 * i + 1 : i + half;
        for (int64_t h = 0; h < n_heads; h++) {
            const double *xh = x + h * in->strides[last - 1];
            double *yh = y + h * out->strides[last - 1];
            const double x0 = xh[c0 * sx], x1 = xh[c1 * sx];
            yh[c0 * sy] = x0 * cos_t - x1 * sin_t;
            yh[c1 * sy] = x0 * sin_t + x1 * cos_t;
        }
    }
    for (int64_t h = 0; h < n_heads; h++)
        for (int64_t d = 2 * half; d < in->dims[last]; d++)
            y[h * out->strides[last - 1] + d * sy] = x[h * in->strides[last - 1] + d * sx];
}

static void ref(const asc_ref_args *a) {
    const asc_nd *in = &a->in[0], *out = &a->out;
    const int n_lead = in->rank - 2; /* all but heads and columns */
    int64_t n = 1;
    for (int i = 0; i < n_lead; i++) n *= in->dims[i];
#pragma omp parallel for num_threads(a->n_threads) if (n > 64)
    for (int64_t r = 0; r < n; r++) {
        int64_t rest = r, off_x = 0, off_y = 0;
        for (int i = n_lead - 1; i >= 0; i--) {
            const int64_t index = rest % in->dims[i];
            rest /= in->dims[i];
            off_x += index * in->strides[i];
            off_y += index * out->strides[i];
        }
        turn_position(a, in->data + off_x, out->data + off_y, r % in->dims[n_lead - 1]);
    }
}

/* First and second columns of the turned pairs of x: [..,T,H,n_rot/2] each. */
static void split_pairs(asc_ctx *ctx, asc_tensor *x, int64_t half, bool interleaved, asc_tensor *out[2]) {
    const int last = x->shape.rank - 1;
    for (int k = 0; k < 2; k++) {
        if (!interleaved) {
            out[k] = asc_slice(ctx, x, last, k * half, half);
            continue;
        }
        asc_shape pairs = x->shape, one = x->shape;
        pairs.dims[last] = one.dims[last] = half;
        pairs.rank++;
        pairs.dims[last + 1] = 2;
        asc_tensor *rot = asc_reshape(ctx, asc_slice(ctx, x, last, 0, 2 * half), pairs);
        out[k] = asc_reshape(ctx, asc_slice(ctx, rot, last + 1, k, 1), one);
    }
}

/* The reverse: puts pairs back in their columns; rest (NULL = zeros) supplies the columns from n_rot on. */
static asc_tensor *join_pairs(asc_ctx *ctx, asc_tensor *const parts[2], bool interleaved,
                              const asc_shape *shape, asc_tensor *rest) {
    const int last = shape->rank - 1;
    const int64_t half = parts[0]->shape.dims[last], n_rest = shape->dims[last] - 2 * half;
    asc_tensor *rot;
    if (interleaved) {
        asc_shape column = parts[0]->shape, flat = parts[0]->shape;
        column.rank++;
        column.dims[last + 1] = 1;
        flat.dims[last] = 2 * half;
        asc_tensor *two[2] = {asc_reshape(ctx, parts[0], column), asc_reshape(ctx, parts[1], column)};
        rot = asc_reshape(ctx, asc_concat(ctx, two, 2, last + 1), flat);
    } else {
        rot = asc_concat(ctx, parts, 2, last);
    }
    if (n_rest == 0) return rot;
    if (rest == NULL) return asc_pad(ctx, rot, last, 0, n_rest);
    return asc_concat(ctx, (asc_tensor *[]){rot, asc_slice(ctx, rest, last, 2 * half, n_rest)}, 2, last);
}

/* Positions as f32 [T,1,1], to multiply [..,T,H,n_rot/2]. */
static asc_tensor *position_column(asc_ctx *ctx, asc_tensor *pos) {
    return asc_reshape(ctx, asc_cast(ctx, pos, ASC_DTYPE_F32), ASC_SHAPE(pos->shape.dims[0], 1, 1));
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool interleaved = a->attrs->i[ATTR_INTERLEAVED] != 0, inverse = a->attrs->i[ATTR_INVERSE] != 0;
    if (a->need[0])
        a->gin[0] = asc_rope(ctx, a->g, a->in[1], a->in[2], interleaved, !inverse, a->attrs->f[0]);
    const int64_t half = a->in[2]->shape.dims[0];
    if (!a->need[2] || half == 0) return;
    asc_tensor *y[2], *g[2];
    split_pairs(ctx, a->y, half, interleaved, y);
    split_pairs(ctx, a->g, half, interleaved, g);
    asc_tensor *turn = asc_sub(ctx, asc_mul(ctx, g[1], y[0]), asc_mul(ctx, g[0], y[1]));
    asc_tensor *sum = asc_column_sum(ctx, asc_mul(ctx, turn, position_column(ctx, a->in[1])));
    a->gin[2] = inverse ? asc_neg(ctx, sum) : sum;
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool interleaved = a->attrs->i[ATTR_INTERLEAVED] != 0, inverse = a->attrs->i[ATTR_INVERSE] != 0;
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL)
        t = asc_rope(ctx, a->tin[0], a->in[1], a->in[2], interleaved, inverse, a->attrs->f[0]);
    const int64_t half = a->in[2]->shape.dims[0];
    if (a->tin[2] == NULL || half == 0) return t;
    asc_tensor *y[2];
    split_pairs(ctx, a->y, half, interleaved, y);
    asc_tensor *theta = asc_mul(ctx, position_column(ctx, a->in[1]), a->tin[2]);
    if (inverse) theta = asc_neg(ctx, theta);
    asc_tensor *quarter[2] = {asc_neg(ctx, asc_mul(ctx, y[1], theta)), asc_mul(ctx, y[0], theta)};
    return asc_add_or(ctx, t, join_pairs(ctx, quarter, interleaved, &a->y->shape, NULL));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    const bool interleaved = attrs->i[ATTR_INTERLEAVED] != 0, inverse = attrs->i[ATTR_INVERSE] != 0;
    const double mscale = attrs->f[0];
    asc_tensor *theta = asc_mul(ctx, position_column(ctx, in[1]), in[2]), *x[2];
    asc_tensor *cos_t = asc_scale(ctx, asc_cos(ctx, theta), mscale);
    asc_tensor *sin_t = asc_scale(ctx, asc_sin(ctx, theta), inverse ? -mscale : mscale);
    split_pairs(ctx, in[0], in[2]->shape.dims[0], interleaved, x);
    asc_tensor *y[2] = {asc_sub(ctx, asc_mul(ctx, x[0], cos_t), asc_mul(ctx, x[1], sin_t)),
                        asc_add(ctx, asc_mul(ctx, x[0], sin_t), asc_mul(ctx, x[1], cos_t))};
    return join_pairs(ctx, y, interleaved, &in[0]->shape, in[0]);
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 3, out); }

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape x;
        int64_t half;
        bool interleaved, inverse;
        double mscale;
    } cases[] = {
        {{3, {5, 3, 4}}, 2, false, false, 1},      {{4, {2, 3, 2, 6}}, 2, false, false, 1.25},
        {{4, {2, 3, 1, 7}}, 2, true, false, 0.75}, {{3, {1, 1, 2}}, 1, true, true, 1},
        {{3, {4, 2, 5}}, 1, false, true, 1.5},     {{5, {2, 1, 2, 2, 4}}, 2, true, false, 1},
    };
    if (i >= (int)(sizeof cases / sizeof cases[0])) return false;
    const asc_shape t = {1, {cases[i].x.dims[cases[i].x.rank - 3]}}, half = {1, {cases[i].half}};
    *out = (asc_sample){.attrs = {.i = {cases[i].interleaved, cases[i].inverse}, .f = {cases[i].mscale}},
                        .n_in = 3,
                        .in_dtype = {ASC_DTYPE_F32, ASC_DTYPE_I32, ASC_DTYPE_F32},
                        .in_shape = {cases[i].x, t, half},
                        .lo = {-1, 0, 0.1},
                        .hi = {1, 9, 1},
                        .no_grad = {false, true}};
    return true;
}

asc_tensor *asc_rope(asc_ctx *ctx, asc_tensor *x, asc_tensor *pos, asc_tensor *inv_freq, bool interleaved,
                     bool inverse, double mscale) {
    const asc_attrs attrs = {.i = {interleaved, inverse}, .f = {mscale}};
    return asc_apply(ctx, &asc_op_rope, &attrs, (asc_tensor *[]){x, pos, inv_freq}, 3);
}

static const asc_attr_def attr_defs[] = {{"interleaved", ASC_ATTR_BOOL, ATTR_INTERLEAVED},
                                         {"inverse", ASC_ATTR_BOOL, ATTR_INVERSE},
                                         {"mscale", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_rope = {
    ASC_OP_FIELDS(ROPE, rope, 3, 3),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Rotary position embedding: pairs of columns of each head turned by position times frequency.",
    .formula = "(y0, y1) = mscale (x0 cos - x1 sin, x0 sin + x1 cos), angle = pos inv_freq",
};

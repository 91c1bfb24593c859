/* op_inputs.c - numbers for the sample cases of ops; see op_probe.h. */
#include "exec.h"
#include "half.h"
#include "hash.h"
#include "op_probe.h"
#include <math.h>
#include <string.h>

enum { SEED = 21, STREAM = 78, TRIES = 10000, BLOCK = 32, BLOCK_BYTES = 34 };

typedef struct draws {
    uint64_t next;
} draws;

static double uniform(draws *r, double lo, double hi) {
    return lo + (hi - lo) * asc_uniform(SEED, STREAM, r->next++);
}

static bool apart(const asc_op_inputs *in, int k, int64_t n, double v, double gap) {
    if (fabs(v) < gap) return false;
    for (int j = 0; j <= k; j++) {
        for (int64_t i = 0; i < (j < k ? in->elems[j] : n); i++) {
            if (fabs(v - in->value[j][i]) < gap) return false;
        }
    }
    return true;
}

static double draw_float(draws *r, const asc_sample *s, const asc_op_inputs *in, int k, int64_t n) {
    if (s->no_grad[k] && s->lo[k] == 0 && s->hi[k] == 1) return uniform(r, 0, 1) < 0.5 ? 0.0 : 1.0;
    double v = 0;
    for (int i = 0; i < TRIES; i++) {
        v = (double)(float)uniform(r, s->lo[k], s->hi[k]);
        if (s->min_gap == 0 || apart(in, k, n, v, s->min_gap)) break;
    }
    return v;
}

/* Blocks of 32 whole numbers times a power of two. */
static void store_q8_0(double *value, unsigned char *out, int64_t n) {
    for (int64_t b = 0; b + BLOCK <= n; b += BLOCK, value += BLOCK, out += BLOCK_BYTES) {
        double most = 1e-6;
        for (int i = 0; i < BLOCK; i++) most = fmax(most, fabs(value[i]));
        double step = exp2(ceil(log2(most / 127)));
        uint16_t half = asc_f32_to_f16((float)step);
        memcpy(out, &half, sizeof half);
        for (int i = 0; i < BLOCK; i++) {
            int8_t q = (int8_t)lrint(value[i] / step);
            memcpy(out + sizeof half + i, &q, 1);
            value[i] = q * step;
        }
    }
}

static asc_status store(asc_ctx *ctx, asc_dtype type, double *value, int64_t n, void **out) {
    size_t bytes = 0;
    if (type != ASC_DTYPE_F16 && type != ASC_DTYPE_BF16 && type != ASC_DTYPE_Q8_0)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "no sample numbers for weights of type %s",
                        asc_dtype_of(type)->name);
    if (!asc_dtype_bytes(type, n, &bytes)) return ASC_RESOURCE_EXHAUSTED;
    *out = asc_calloc(ctx, ASC_MEM_SCRATCH, bytes + 64, 1);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (type == ASC_DTYPE_Q8_0) {
        store_q8_0(value, *out, n);
        return ASC_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t h =
            type == ASC_DTYPE_F16 ? asc_f32_to_f16((float)value[i]) : asc_f32_to_bf16((float)value[i]);
        value[i] = (double)(type == ASC_DTYPE_F16 ? asc_f16_to_f32(h) : asc_bf16_to_f32(h));
        memcpy((char *)*out + 2 * i, &h, sizeof h);
    }
    return ASC_OK;
}

asc_status asc_op_inputs_draw(asc_ctx *ctx, const asc_sample *s, asc_op_inputs *out) {
    draws r = {0};
    *out = (asc_op_inputs){.n_in = s->n_in};
    for (int k = 0; k < s->n_in; k++) {
        int64_t n = asc_shape_elems(&s->in_shape[k]);
        asc_dtype type = s->in_dtype[k];
        out->value[k] = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)n + 1, sizeof(double));
        if (out->value[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (type == ASC_DTYPE_I32) {
            out->whole[k] = asc_calloc(ctx, ASC_MEM_SCRATCH, (size_t)n + 1, sizeof(int32_t));
            if (out->whole[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
        }
        for (int64_t i = 0; i < n; i++) {
            out->value[k][i] = type == ASC_DTYPE_I32   ? floor(uniform(&r, s->lo[k], s->hi[k]))
                               : type == ASC_DTYPE_F32 ? draw_float(&r, s, out, k, i)
                                                       : uniform(&r, s->lo[k], s->hi[k]);
            if (out->whole[k] != NULL) out->whole[k][i] = (int32_t)out->value[k][i];
        }
        out->elems[k] = n;
        if (type == ASC_DTYPE_I32 || type == ASC_DTYPE_F32) continue;
        asc_status st = store(ctx, type, out->value[k], n, &out->stored[k]);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

void asc_op_inputs_free(asc_ctx *ctx, asc_op_inputs *in) {
    for (int k = 0; k < in->n_in; k++) {
        asc_free(ctx, in->value[k]);
        asc_free(ctx, in->whole[k]);
        asc_free(ctx, in->stored[k]);
    }
}

asc_tensor *asc_op_inputs_leaf(asc_ctx *ctx, const asc_sample *s, const asc_op_inputs *in, int k) {
    if (in->stored[k] != NULL) return asc_from_stored(ctx, s->in_dtype[k], s->in_shape[k], in->stored[k]);
    if (in->whole[k] != NULL) return asc_from_i32(ctx, s->in_shape[k], in->whole[k]);
    return asc_from_f64(ctx, s->in_shape[k], in->value[k]);
}

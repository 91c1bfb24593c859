/* onnx_op_attention.c - Attention and RotaryEmbedding (opset 23 and later). Heads that share keys are folded
 * into rows, so that a group is one product. */
#include "onnx_parts.h"
#include <math.h>

typedef struct heads {
    int64_t b, h, g, t, s, d,
        e;     /* batch, heads, heads of keys, queries, keys, widths of keys and of values */
    bool flat; /* inputs and output are [B, T, H D] */
} heads;

/* Input i as [B, H, T, D]. */
static asc_tensor *by_head(asc_onnx_call *c, size_t i, int64_t n_heads) {
    static const int swap[] = {0, 2, 1, 3};
    asc_shape s = asc_onnx_shape(c, i);
    asc_tensor *t = asc_onnx_t(c, i);
    if (s.rank == 4 || c->st != ASC_OK) return t;
    t = asc_reshape(c->ctx, t, ASC_SHAPE(s.dims[0], s.dims[1], n_heads, s.dims[2] / n_heads));
    return asc_transpose(c->ctx, t, 4, swap);
}

/* The heads of an input: of its shape, or of the attribute. */
static int64_t count_heads(asc_onnx_call *c, size_t i, const char *attr) {
    asc_shape s = asc_onnx_shape(c, i);
    int64_t n = s.rank == 4 ? s.dims[1] : asc_onnx_attr_int(c, attr, 0);
    if (c->st == ASC_OK && (n < 1 || (s.rank == 3 && s.dims[2] % n != 0)))
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu: %lld heads (%s)", i, (long long)n, attr);
    return n;
}

static bool read_heads(asc_onnx_call *c, heads *o) {
    asc_shape q = asc_onnx_shape(c, 0), k = asc_onnx_shape(c, 1), v = asc_onnx_shape(c, 2);
    if (c->st != ASC_OK) return false;
    if ((q.rank != 3 && q.rank != 4) || k.rank != q.rank || v.rank != q.rank) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "inputs of %d, %d and %d dimensions, not 3 or 4", q.rank,
                      k.rank, v.rank);
        return false;
    }
    int64_t n_values;
    *o = (heads){.flat = q.rank == 3, .b = q.dims[0]};
    o->h = count_heads(c, 0, "q_num_heads");
    o->g = count_heads(c, 1, "kv_num_heads");
    n_values = count_heads(c, 2, "kv_num_heads");
    if (c->st != ASC_OK) return false;
    o->t = q.dims[q.rank - 2];
    o->s = k.dims[k.rank - 2];
    o->d = o->flat ? q.dims[2] / o->h : q.dims[3];
    o->e = o->flat ? v.dims[2] / o->g : v.dims[3];
    bool fit = o->h % o->g == 0 && n_values == o->g && k.dims[0] == o->b && v.dims[0] == o->b &&
               v.dims[v.rank - 2] == o->s && (o->flat ? k.dims[2] / o->g : k.dims[3]) == o->d;
    if (!fit)
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT,
                      "keys or values do not fit %lld queries in %lld heads of width %lld", (long long)o->t,
                      (long long)o->h, (long long)o->d);
    return fit;
}

static asc_tensor *only_where(asc_onnx_call *c, asc_tensor *allowed) {
    return asc_where(c->ctx, allowed, asc_onnx_const(c, 0), asc_onnx_const(c, -INFINITY));
}

/* Input 3: what is added to the scores, as wide as there are keys; booleans say where a key is seen. */
static asc_tensor *mask(asc_onnx_call *c, int64_t n_keys) {
    asc_tensor *m = asc_onnx_t(c, 3);
    if (c->st != ASC_OK || asc_tensor_poisoned(m)) return m;
    if (asc_onnx_elem(c, 3) == ASC_ONNX_BOOL) m = only_where(c, m);
    asc_shape s = asc_onnx_shape(c, 3);
    int last = s.rank - 1;
    if (last < 0 || s.dims[last] >= n_keys) return m;
    s.dims[last] = n_keys - s.dims[last];
    asc_tensor *parts[] = {m, asc_full(c->ctx, s, -INFINITY)};
    return asc_concat(c->ctx, parts, 2, last);
}

/* What is added to the scores [B, H, T, S] of n_keys keys, of which `past` came before; NULL = nothing. */
static asc_tensor *bias_of(asc_onnx_call *c, const heads *o, int64_t past, int64_t n_keys) {
    asc_ctx *ctx = c->ctx;
    bool causal = asc_onnx_attr_int(c, "is_causal", 0) != 0, held = asc_onnx_has(c, 6);
    int64_t left = asc_onnx_attr_int(c, "left_window_size", -1),
            right = asc_onnx_attr_int(c, "right_window_size", -1);
    asc_tensor *bias = asc_onnx_has(c, 3) ? mask(c, n_keys) : NULL, *held_keys = NULL;
    asc_tensor *key = asc_iota(ctx, n_keys, 0, 1);
    asc_tensor *at = asc_reshape(ctx, asc_iota(ctx, o->t, (double)past, 1), ASC_SHAPE(o->t, 1));
    if (held) { /* the queries are the last ones of so many keys */
        held_keys = asc_reshape(ctx, asc_onnx_t(c, 6), ASC_SHAPE(o->b, 1, 1, 1));
        at = asc_add(ctx, at, asc_shift(ctx, held_keys, -(double)o->t));
    }
    asc_tensor *more[4];
    int n = 0;
    if (causal) more[n++] = asc_less_equal(ctx, key, at);
    if (left >= 0) more[n++] = asc_less_equal(ctx, asc_shift(ctx, at, -(double)left), key);
    if (right >= 0) more[n++] = asc_less_equal(ctx, key, asc_shift(ctx, at, (double)right));
    if (held) more[n++] = asc_less(ctx, key, held_keys);
    for (int i = 0; i < n; i++) {
        more[i] = only_where(c, more[i]);
        bias = bias != NULL ? asc_add(ctx, bias, more[i]) : more[i];
    }
    return bias;
}

/* Keys or values with those of the past before them; present: the output that holds both. */
static asc_tensor *with_past(asc_onnx_call *c, asc_tensor *t, size_t past, size_t present) {
    if (asc_onnx_has(c, past)) {
        asc_tensor *parts[] = {asc_onnx_t(c, past), t};
        t = asc_concat(c->ctx, parts, 2, 2);
    }
    if (asc_onnx_wants(c, present)) asc_onnx_set_like(c, present, t);
    return t;
}

asc_status asc_onnx_Attention(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    heads o;
    static const int swap[] = {0, 2, 1, 3}, last = -1;
    if (!read_heads(c, &o)) return c->st;
    int64_t past = asc_onnx_has(c, 4) && asc_onnx_shape(c, 4).rank == 4 ? asc_onnx_shape(c, 4).dims[2] : 0;
    int64_t n_keys = past + o.s, mode = asc_onnx_attr_int(c, "qk_matmul_output_mode", 0);
    double scale = asc_onnx_attr_float(c, "scale", 1.0 / sqrt((double)o.d)),
           cap = asc_onnx_attr_float(c, "softcap", 0.0);
    if (asc_onnx_has(c, 4) != asc_onnx_has(c, 5))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "one of past_key and past_value without the other");
    asc_tensor *k = with_past(c, by_head(c, 1, o.g), 4, 1), *v = with_past(c, by_head(c, 2, o.g), 5, 2);
    asc_tensor *q = asc_scale(ctx, by_head(c, 0, o.h), scale), *shown[4];
    q = asc_reshape(ctx, q, ASC_SHAPE(o.b * o.g, o.h / o.g * o.t, o.d));
    k = asc_reshape(ctx, k, ASC_SHAPE(o.b * o.g, n_keys, o.d));
    asc_tensor *x = asc_matmul(ctx, q, k, false, true);
    shown[0] = x = asc_reshape(ctx, x, ASC_SHAPE(o.b, o.h, o.t, n_keys));
    if (cap > 0) x = asc_scale(ctx, asc_tanh(ctx, asc_scale(ctx, x, 1 / cap)), cap);
    shown[1] = x;
    asc_tensor *bias = bias_of(c, &o, past, n_keys), *blind = NULL;
    if (bias != NULL) { /* a query that sees no key: its row is 0, and it has no gradient */
        blind = asc_is_inf(ctx, asc_onnx_max_over(c, bias, 1, &last, true), false, true);
        shown[2] = asc_add(ctx, x, bias);
        x = asc_add(ctx, x, asc_where(ctx, blind, asc_onnx_const(c, 0), bias));
    } else {
        shown[2] = x;
    }
    x = asc_softmax(ctx, x);
    if (blind != NULL) x = asc_where(ctx, blind, asc_onnx_const(c, 0), x);
    shown[3] = x;
    if (mode < 0 || mode > 3)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "qk_matmul_output_mode is %lld", (long long)mode);
    if (asc_onnx_wants(c, 3)) asc_onnx_set_like(c, 3, shown[mode]);
    x = asc_reshape(ctx, x, ASC_SHAPE(o.b * o.g, o.h / o.g * o.t, n_keys));
    v = asc_reshape(ctx, v, ASC_SHAPE(o.b * o.g, n_keys, o.e));
    asc_tensor *y = asc_reshape(ctx, asc_matmul(ctx, x, v, false, false), ASC_SHAPE(o.b, o.h, o.t, o.e));
    if (o.flat) y = asc_reshape(ctx, asc_transpose(ctx, y, 4, swap), ASC_SHAPE(o.b, o.t, o.h * o.e));
    return asc_onnx_set_like(c, 0, y);
}

/* Cosines or sines, input i, of every token: [B, T, half]. */
static asc_tensor *angles(asc_onnx_call *c, size_t i, int64_t half) {
    asc_shape s = asc_onnx_shape(c, i);
    bool placed = asc_onnx_has(c, 3);
    if (c->st == ASC_OK && (s.rank != (placed ? 2 : 3) || s.dims[s.rank - 1] != half))
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu has not %lld angles a token", i, (long long)half);
    asc_tensor *t = asc_onnx_t(c, i);
    return placed && c->st == ASC_OK ? asc_gather(c->ctx, t, asc_onnx_wrapped(c, 3, s.dims[0])) : t;
}

asc_status asc_onnx_RotaryEmbedding(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    bool pairs = asc_onnx_attr_int(c, "interleaved", 0) != 0;
    int64_t width = asc_onnx_attr_int(c, "rotary_embedding_dim", 0),
            n_heads = asc_onnx_attr_int(c, "num_heads", 0);
    if (c->st != ASC_OK) return c->st;
    if ((s.rank != 3 && s.rank != 4) || (s.rank == 3 && (n_heads < 1 || s.dims[2] % n_heads != 0)))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions in %lld heads", s.rank,
                             (long long)n_heads);
    asc_shape w = s.rank == 4 ? s : ASC_SHAPE(s.dims[0], s.dims[1], n_heads, s.dims[2] / n_heads);
    int tokens = s.rank == 4 ? 2 : 1; /* the axis */
    if (width == 0) width = w.dims[3];
    if (width < 0 || width > w.dims[3] || width % 2 != 0)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "rotary_embedding_dim is %lld of %lld",
                             (long long)width, (long long)w.dims[3]);
    int64_t half = width / 2;
    asc_shape one = {.rank = 4, .dims = {w.dims[0], 1, 1, half}};
    one.dims[tokens] = w.dims[tokens];
    asc_tensor *co = asc_reshape(ctx, angles(c, 1, half), one),
               *si = asc_reshape(ctx, angles(c, 2, half), one);
    if (c->st != ASC_OK) return c->st;
    asc_tensor *x = asc_reshape(ctx, asc_onnx_t(c, 0), w), *turned = asc_slice(ctx, x, 3, 0, width), *a, *b;
    asc_shape part = {.rank = 4, .dims = {w.dims[0], w.dims[1], w.dims[2], half}};
    if (pairs) {
        turned = asc_reshape(ctx, turned, ASC_SHAPE(w.dims[0], w.dims[1], w.dims[2], half, 2));
        a = asc_reshape(ctx, asc_slice(ctx, turned, 4, 0, 1), part);
        b = asc_reshape(ctx, asc_slice(ctx, turned, 4, 1, 1), part);
    } else {
        a = asc_slice(ctx, turned, 3, 0, half);
        b = asc_slice(ctx, turned, 3, half, half);
    }
    asc_tensor *two[] = {asc_sub(ctx, asc_mul(ctx, co, a), asc_mul(ctx, si, b)),
                         asc_add(ctx, asc_mul(ctx, si, a), asc_mul(ctx, co, b))};
    if (pairs) {
        asc_shape thin = ASC_SHAPE(w.dims[0], w.dims[1], w.dims[2], half, 1);
        for (int i = 0; i < 2; i++) two[i] = asc_reshape(ctx, two[i], thin);
    }
    turned = asc_concat(ctx, two, 2, pairs ? 4 : 3);
    part.dims[3] = width;
    if (pairs) turned = asc_reshape(ctx, turned, part);
    if (width < w.dims[3]) { /* the rest of a head stays as it is */
        asc_tensor *both[] = {turned, asc_slice(ctx, x, 3, width, w.dims[3] - width)};
        turned = asc_concat(ctx, both, 2, 3);
    }
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, turned, s));
}

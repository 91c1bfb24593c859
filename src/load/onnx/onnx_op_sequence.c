/* onnx_op_sequence.c - sequences and optionals: values made of values; nothing is computed but splits and
 * concatenations. */
#include "onnx_ops.h"

static asc_onnx_value *sequence(asc_onnx_call *c, size_t n, asc_onnx_value ***items) {
    asc_onnx_value *v = asc_onnx_new_value(c);
    *items = asc_onnx_memory(c, n + 1, sizeof(asc_onnx_value *));
    if (v == NULL || *items == NULL) return NULL;
    *v = (asc_onnx_value){.kind = ASC_ONNX_SEQUENCE, .items = *items, .n_items = n};
    return v;
}

/* Input i as a sequence; an empty one after an error. */
static asc_onnx_value *seq_in(asc_onnx_call *c, size_t i) {
    asc_onnx_value *v = asc_onnx_in(c, i);
    if (v->kind != ASC_ONNX_SEQUENCE) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu is no sequence", i);
    return v;
}

/* Position from input i, negative from the end; `last` is the largest allowed. */
static size_t position(asc_onnx_call *c, size_t i, size_t n, int64_t fallback, int64_t last) {
    int64_t at = asc_onnx_int(c, i, fallback);
    if (at < 0) at += (int64_t)n;
    if (at >= 0 && at <= last) return (size_t)at;
    asc_onnx_fail(c, ASC_OUT_OF_RANGE, "position %lld of a sequence of %zu", (long long)at, n);
    return 0;
}

asc_status asc_onnx_SequenceEmpty(asc_onnx_call *c) {
    asc_onnx_value **items, *v = sequence(c, 0, &items);
    if (v != NULL) v->elem = (int)asc_onnx_attr_int(c, "dtype", ASC_ONNX_FLOAT);
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_SequenceConstruct(asc_onnx_call *c) {
    asc_onnx_value **items, *v = sequence(c, c->n_in, &items);
    if (v == NULL) return c->st;
    for (size_t i = 0; i < c->n_in; i++) items[i] = asc_onnx_in(c, i);
    v->elem = c->n_in > 0 ? items[0]->elem : 0;
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_SequenceAt(asc_onnx_call *c) {
    asc_onnx_value *s = seq_in(c, 0);
    if (c->st != ASC_OK) return c->st;
    size_t at = position(c, 1, s->n_items, 0, (int64_t)s->n_items - 1);
    return c->st != ASC_OK ? c->st : asc_onnx_set_value(c, 0, s->items[at]);
}

asc_status asc_onnx_SequenceInsert(asc_onnx_call *c) {
    asc_onnx_value *s = seq_in(c, 0), **items;
    if (c->st != ASC_OK) return c->st;
    size_t n = s->n_items, at = position(c, 2, n, (int64_t)n, (int64_t)n);
    asc_onnx_value *v = sequence(c, n + 1, &items);
    if (v == NULL || c->st != ASC_OK) return c->st;
    for (size_t i = 0; i < n; i++) items[i + (i >= at)] = s->items[i];
    items[at] = asc_onnx_in(c, 1);
    v->elem = items[at]->elem;
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_SequenceErase(asc_onnx_call *c) {
    asc_onnx_value *s = seq_in(c, 0), **items;
    if (c->st != ASC_OK) return c->st;
    size_t n = s->n_items, at = position(c, 1, n, -1, (int64_t)n - 1);
    asc_onnx_value *v = c->st == ASC_OK ? sequence(c, n - 1, &items) : NULL;
    if (v == NULL) return c->st;
    for (size_t i = 0; i + 1 < n; i++) items[i] = s->items[i + (i >= at)];
    v->elem = s->elem;
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_SequenceLength(asc_onnx_call *c) {
    double n = (double)seq_in(c, 0)->n_items;
    return asc_onnx_set_host(c, 0, ASC_SCALAR_SHAPE, &n, ASC_ONNX_INT64);
}

/* Sizes of the pieces of `len` elements; NULL after an error. */
static int64_t *piece_sizes(asc_onnx_call *c, int64_t len, size_t *n) {
    bool list = asc_onnx_has(c, 1) && asc_onnx_shape(c, 1).rank > 0;
    int64_t each = list ? 0 : asc_onnx_int(c, 1, 1), sum = 0;
    int64_t count = list       ? asc_shape_elems(&asc_onnx_in(c, 1)->shape)
                    : each > 0 ? (len + each - 1) / each
                               : -1;
    if (count < 0 || count > 1 << 20) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a split into pieces of %lld", (long long)each);
        return NULL;
    }
    int64_t *out = asc_onnx_memory(c, (size_t)count + 1, sizeof *out);
    if (out == NULL) return NULL;
    if (list && asc_onnx_ints(c, 1, out, (int)count) < 0) return NULL;
    for (int64_t i = 0; i < count && !list; i++) out[i] = len - i * each < each ? len - i * each : each;
    for (int64_t i = 0; i < count; i++) {
        if (out[i] < 0 || out[i] > len - sum) sum = INT64_MAX / 2;
        sum += out[i];
    }
    if (sum != len) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "pieces that do not add up to %lld", (long long)len);
        return NULL;
    }
    *n = (size_t)count;
    return out;
}

asc_status asc_onnx_SplitToSequence(asc_onnx_call *c) {
    asc_onnx_value *x = asc_onnx_in(c, 0), **items;
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), x->shape.rank);
    bool keep = asc_onnx_has(c, 1) || asc_onnx_attr_int(c, "keepdims", 1) != 0;
    if (c->st != ASC_OK) return c->st;
    size_t n = 0;
    int64_t *sizes = piece_sizes(c, x->shape.dims[axis], &n), at = 0;
    asc_onnx_value *v = sizes != NULL ? sequence(c, n, &items) : NULL;
    asc_tensor *t = asc_onnx_t(c, 0);
    if (v == NULL || c->st != ASC_OK) return c->st;
    for (size_t i = 0; i < n; i++) {
        asc_tensor *p = asc_slice(c->ctx, t, axis, at, sizes[i]);
        asc_shape s = p->shape;
        at += sizes[i];
        if (!keep && !asc_tensor_poisoned(p)) {
            for (int k = axis; k + 1 < s.rank; k++) s.dims[k] = s.dims[k + 1];
            s.rank--;
            p = asc_reshape(c->ctx, p, s);
        }
        if ((items[i] = asc_onnx_new_value(c)) == NULL) return c->st;
        *items[i] = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = x->elem, .shape = s, .t = p};
    }
    v->elem = x->elem;
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_ConcatFromSequence(asc_onnx_call *c) {
    asc_onnx_value *s = seq_in(c, 0);
    bool fresh = asc_onnx_attr_int(c, "new_axis", 0) != 0;
    if (c->st != ASC_OK) return c->st;
    if (s->n_items == 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an empty sequence");
    asc_tensor **ts = asc_onnx_memory(c, s->n_items, sizeof(asc_tensor *));
    int rank = s->items[0]->shape.rank + fresh;
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), rank);
    if (rank > ASC_MAX_RANK) return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "%d dimensions", rank);
    for (size_t i = 0; i < s->n_items && c->st == ASC_OK; i++) {
        ts[i] = asc_onnx_value_t(c, s->items[i]);
        asc_shape shape = s->items[i]->shape;
        if (fresh && shape.rank + 1 != rank)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "tensors of different ranks");
        for (int k = shape.rank++; fresh && k > axis; k--) shape.dims[k] = shape.dims[k - 1];
        shape.dims[axis] = 1;
        if (fresh) ts[i] = asc_reshape(c->ctx, ts[i], shape);
    }
    if (c->st != ASC_OK) return c->st;
    return asc_onnx_set(c, 0, asc_concat_many(c->ctx, ts, s->n_items, axis), s->items[0]->elem);
}

/* The body once per position; inputs that are no sequences are the same each time. */
asc_status asc_onnx_SequenceMap(asc_onnx_call *c) {
    const asc_onnx_attr *a = asc_onnx_attr_find(c, "body");
    size_t n = seq_in(c, 0)->n_items;
    if (c->st != ASC_OK) return c->st;
    if (a == NULL || a->g == NULL) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no graph 'body'");
    if (a->g->n_inputs != c->n_in || a->g->n_outputs < c->n_out)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the body's inputs and outputs do not fit");
    asc_onnx_value **in = asc_onnx_memory(c, c->n_in + 1, sizeof(asc_onnx_value *));
    asc_onnx_value **out = asc_onnx_memory(c, c->n_out + 1, sizeof(asc_onnx_value *));
    asc_onnx_value ***items = asc_onnx_memory(c, c->n_out + 1, sizeof(asc_onnx_value **));
    if (in == NULL || out == NULL || items == NULL) return c->st;
    for (size_t k = 0; k < c->n_out; k++) asc_onnx_set_value(c, k, sequence(c, n, &items[k]));
    for (size_t i = 0; i < n && c->st == ASC_OK; i++) {
        for (size_t k = 0; k < c->n_in; k++) {
            in[k] = asc_onnx_in(c, k);
            if (in[k]->kind != ASC_ONNX_SEQUENCE) continue;
            if (in[k]->n_items <= i)
                return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "sequences of unlike length");
            in[k] = in[k]->items[i];
        }
        if (c->st != ASC_OK) break;
        asc_status st = asc_onnx_run_body(c, a->g, in, c->n_in, out, c->n_out);
        if (st != ASC_OK) return st;
        for (size_t k = 0; k < c->n_out; k++) {
            items[k][i] = out[k];
            c->out[k]->elem = out[k]->elem;
        }
    }
    return c->st;
}

asc_status asc_onnx_Optional(asc_onnx_call *c) {
    if (asc_onnx_has(c, 0)) return asc_onnx_set_value(c, 0, asc_onnx_in(c, 0));
    asc_onnx_value *v = asc_onnx_new_value(c);
    if (v != NULL) v->kind = ASC_ONNX_NOTHING;
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_OptionalHasElement(asc_onnx_call *c) {
    double yes = asc_onnx_has(c, 0);
    return asc_onnx_set_host(c, 0, ASC_SCALAR_SHAPE, &yes, ASC_ONNX_BOOL);
}

asc_status asc_onnx_OptionalGetElement(asc_onnx_call *c) {
    if (!asc_onnx_has(c, 0)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the optional is empty");
    return asc_onnx_set_value(c, 0, asc_onnx_in(c, 0));
}

/* onnx_op_einsum.c - Einsum: operands are taken together two at a time, each time as one matrix product over
 * what both have and nobody needs any more. "..." stands for axes with labels of their own, which broadcast.
 */
#include "onnx_parts.h"

enum {
    ELLIPSIS = 128,
    N_LABELS = 128 + ASC_MAX_RANK
}; /* letters by their code; axes of "..." from the back */

typedef struct term {
    int n, label[ASC_MAX_RANK];
    asc_tensor *t;
} term;

typedef struct labels {
    int count[N_LABELS]; /* uses by terms that are still to come, and by the result */
    int64_t size[N_LABELS];
} labels;

static bool has(const term *t, int label) {
    for (int i = 0; i < t->n; i++) {
        if (t->label[i] == label) return true;
    }
    return false;
}

/* Labels of text; rank -1: as many axes for "..." as `ellipsis` says. */
static bool parse_term(asc_onnx_call *c, asc_view text, int rank, int ellipsis, term *out) {
    int letters = 0;
    size_t dots = 0;
    *out = (term){0};
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
        if (!letter && ch != '.' && ch != ' ') {
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "equation: unexpected character %d", (unsigned char)ch);
            return false;
        }
        letters += letter;
        dots += ch == '.';
    }
    if (rank >= 0) ellipsis = rank - letters;
    if ((dots != 0 && dots != 3) || ellipsis < 0 || (dots == 0 && rank >= 0 && ellipsis != 0) ||
        letters + (dots > 0 ? ellipsis : 0) > ASC_MAX_RANK) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "equation: '" ASC_VIEW_FMT "' for %d dimensions",
                      ASC_VIEW_ARG(asc_view_cut(text, 60)), rank);
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ' ') continue;
        if (text.ptr[i] != '.') {
            out->label[out->n++] = text.ptr[i];
            continue;
        }
        for (int k = ellipsis - 1; k >= 0; k--) out->label[out->n++] = ELLIPSIS + k;
        i += 2;
    }
    return true;
}

/* An axis named twice is a diagonal. */
static bool diagonals(asc_onnx_call *c, term *t) {
    term to = {.n = 0};
    asc_shape s = t->t->shape, ds = {0};
    int64_t strides[ASC_MAX_RANK], step[ASC_MAX_RANK] = {0};
    asc_shape_strides(&s, strides);
    for (int i = 0; i < t->n; i++) {
        int at = 0;
        while (at < to.n && to.label[at] != t->label[i]) at++;
        if (at == to.n) {
            to.label[to.n++] = t->label[i];
            ds.dims[ds.rank++] = s.dims[i];
        } else if (ds.dims[at] != s.dims[i]) {
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "equation: one label for %lld and %lld elements",
                          (long long)ds.dims[at], (long long)s.dims[i]);
            return false;
        }
        step[at] += strides[i];
    }
    if (to.n == t->n) return true;
    int64_t n = asc_shape_elems(&ds), idx[ASC_MAX_RANK] = {0};
    int32_t *index = asc_onnx_places(c, asc_shape_elems(&s));
    if (index == NULL) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t off = 0;
        for (int k = 0; k < ds.rank; k++) off += idx[k] * step[k];
        index[i] = (int32_t)off;
        for (int k = ds.rank - 1; k >= 0 && ++idx[k] == ds.dims[k]; k--) idx[k] = 0;
    }
    asc_tensor *flat = asc_reshape(c->ctx, t->t, ASC_SHAPE(asc_shape_elems(&s), 1));
    to.t = asc_reshape(c->ctx, asc_onnx_choose(c, flat, 0, index, n), ds);
    *t = to;
    return true;
}

/* Sums over the axes that neither `other` nor anything to come has. */
static void drop_unused(asc_onnx_call *c, const labels *l, term *t, const term *other) {
    int axes[ASC_MAX_RANK], n = 0;
    term to = {.n = 0};
    for (int i = 0; i < t->n; i++) {
        bool needed = l->count[t->label[i]] > 0 || (other != NULL && has(other, t->label[i]));
        if (needed) {
            to.label[to.n++] = t->label[i];
        } else {
            axes[n++] = i;
        }
    }
    to.t = n > 0 ? asc_sum(c->ctx, t->t, n, axes, false) : t->t;
    *t = to;
}

/* The axes of t in the order of `order` (all of them), repeated to their full size. */
static asc_tensor *arranged(asc_onnx_call *c, const labels *l, const term *t, const int *order, int n) {
    int perm[ASC_MAX_RANK];
    asc_shape full = {.rank = n};
    bool same = true;
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < t->n && t->label[at] != order[i]) at++;
        perm[i] = at;
        full.dims[i] = l->size[order[i]];
        same = same && at == i;
    }
    asc_tensor *y = same ? t->t : asc_transpose(c->ctx, t->t, n, perm);
    if (asc_tensor_poisoned(y) || asc_shape_eq(&y->shape, &full)) return y;
    return asc_broadcast(c->ctx, y, full);
}

static term contract(asc_onnx_call *c, const labels *l, term a, term b) {
    asc_ctx *ctx = c->ctx;
    int la[ASC_MAX_RANK], lb[ASC_MAX_RANK], na = 0, nb = 0;
    int64_t batch = 1, left = 1, inner = 1, right = 1;
    term y = {.n = 0};
    drop_unused(c, l, &a, &b);
    drop_unused(c, l, &b, &a);
    for (int pass = 0; pass < 3; pass++) { /* shared and kept; of one only; shared and summed */
        for (int i = 0; i < a.n; i++) {
            int k = a.label[i];
            int kind = !has(&b, k) ? 1 : l->count[k] > 0 ? 0 : 2;
            if (kind != pass) continue;
            la[na++] = k;
            *(kind == 0 ? &batch : kind == 1 ? &left : &inner) *= l->size[k];
            if (kind != 1) lb[nb++] = k;
            if (kind != 2 && y.n < ASC_MAX_RANK) y.label[y.n++] = k;
        }
    }
    for (int i = 0; i < b.n; i++) {
        if (has(&a, b.label[i])) continue;
        lb[nb++] = b.label[i];
        right *= l->size[b.label[i]];
        if (y.n == ASC_MAX_RANK) {
            asc_onnx_fail(c, ASC_UNIMPLEMENTED, "equation: an intermediate result of over %d axes",
                          ASC_MAX_RANK);
            return a;
        }
        y.label[y.n++] = b.label[i];
    }
    asc_tensor *ta = asc_reshape(ctx, arranged(c, l, &a, la, na), ASC_SHAPE(batch, left, inner));
    asc_tensor *tb = asc_reshape(ctx, arranged(c, l, &b, lb, nb), ASC_SHAPE(batch, inner, right));
    asc_shape s = {.rank = y.n};
    for (int i = 0; i < y.n; i++) s.dims[i] = l->size[y.label[i]];
    y.t = asc_reshape(ctx, asc_matmul(ctx, ta, tb, false, false), s);
    return y;
}

/* Labels of the result when the equation does not say: those of "...", then letters that occur once in it
 * (one that names a diagonal occurs twice). */
static void implied(asc_view equation, int ellipsis, term *out) {
    int uses[ELLIPSIS] = {0};
    *out = (term){0};
    for (size_t i = 0; i < equation.len; i++) uses[(unsigned char)equation.ptr[i] & (ELLIPSIS - 1)]++;
    for (int k = ellipsis - 1; k >= 0; k--) out->label[out->n++] = ELLIPSIS + k;
    for (int k = 'A'; k <= 'z'; k++) {
        if (uses[k] == 1 && out->n < ASC_MAX_RANK) out->label[out->n++] = k;
    }
}

static size_t find(asc_view v, char ch, size_t from) {
    while (from < v.len && v.ptr[from] != ch) from++;
    return from;
}

/* Operands and their labels; false after an error. */
static bool parse_operands(asc_onnx_call *c, asc_view left, term *terms, labels *l, int *ellipsis) {
    size_t at = 0;
    for (size_t i = 0; i < c->n_in; i++) {
        size_t end = find(left, ',', at);
        if (at > left.len || (i + 1 == c->n_in && end != left.len)) {
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "equation: not as many terms as the %zu inputs", c->n_in);
            return false;
        }
        asc_shape s = asc_onnx_shape(c, i);
        asc_view text = {left.ptr + at, end - at};
        term *t = &terms[i];
        if (!parse_term(c, text, s.rank, 0, t)) return false;
        t->t = asc_onnx_t(c, i);
        if (asc_tensor_poisoned(t->t) || !diagonals(c, t)) return false;
        for (int k = 0; k < t->n; k++) {
            int label = t->label[k];
            int64_t n = t->t->shape.dims[k];
            if (label >= ELLIPSIS && label - ELLIPSIS >= *ellipsis) *ellipsis = label - ELLIPSIS + 1;
            bool wide = label >= ELLIPSIS && (n == 1 || l->size[label] == 1);
            if (l->count[label]++ > 0 && n != l->size[label] && !wide) {
                asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "equation: one label for %lld and %lld elements",
                              (long long)l->size[label], (long long)n);
                return false;
            }
            if (l->count[label] == 1 || l->size[label] == 1) l->size[label] = n;
        }
        at = end + 1;
    }
    return true;
}

asc_status asc_onnx_Einsum(asc_onnx_call *c) {
    asc_view eq = asc_onnx_attr_string(c, "equation", "");
    size_t arrow = find(eq, '-', 0);
    bool said = arrow + 1 < eq.len && eq.ptr[arrow + 1] == '>';
    labels *l = asc_onnx_memory(c, 1, sizeof *l);
    term *terms = asc_onnx_memory(c, c->n_in, sizeof *terms), out;
    int ellipsis = 0;
    if (l == NULL || terms == NULL) return c->st;
    if (c->n_in == 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no inputs");
    if (!parse_operands(c, (asc_view){eq.ptr, said ? arrow : eq.len}, terms, l, &ellipsis))
        return c->st != ASC_OK ? c->st : asc_onnx_set_like(c, 0, asc_onnx_t(c, 0));
    if (said) {
        asc_view text = {eq.ptr + arrow + 2, eq.len - arrow - 2};
        if (!parse_term(c, text, -1, ellipsis, &out)) return c->st;
    } else {
        implied(eq, ellipsis, &out);
    }
    for (int i = 0; i < out.n; i++) {
        bool twice = false;
        for (int k = 0; k < i; k++) twice = twice || out.label[k] == out.label[i];
        if (twice || l->count[out.label[i]] == 0)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT,
                                 "equation: axis %d of the result is named twice or nowhere", i);
        l->count[out.label[i]]++;
    }
    term y = terms[0];
    for (int k = 0; k < y.n; k++) l->count[y.label[k]]--;
    for (size_t i = 1; i < c->n_in && c->st == ASC_OK; i++) {
        for (int k = 0; k < terms[i].n; k++) l->count[terms[i].label[k]]--;
        y = contract(c, l, y, terms[i]);
    }
    drop_unused(c, l, &y, NULL);
    if (c->st != ASC_OK) return c->st;
    return asc_onnx_set_like(c, 0, arranged(c, l, &y, out.label, out.n));
}

/* Determinant of [..,M,M] by elimination with the largest pivot of each column. */
asc_status asc_onnx_Det(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), lead = s;
    int64_t m = s.rank >= 2 ? s.dims[s.rank - 1] : 0;
    if (m < 1 || s.dims[s.rank - 2] != m || m > 64)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT,
                             "square matrices of at most 64 rows are needed, not %lld by %lld",
                             s.rank >= 2 ? (long long)s.dims[s.rank - 2] : 0LL, (long long)m);
    lead.rank -= 2;
    int64_t n = asc_onnx_span(&s, 0, s.rank - 2);
    const int rows = 1;
    asc_tensor *a = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(n, m, m)), *det = NULL;
    asc_tensor *one = asc_onnx_const(c, 1), *zero = asc_onnx_const(c, 0);
    for (int64_t r = m; r >= 1; r--) {
        asc_tensor *col = asc_reshape(ctx, asc_slice(ctx, a, 2, 0, 1), ASC_SHAPE(n, r));
        asc_tensor *at = asc_cast(ctx, asc_arg_max(ctx, asc_abs(ctx, col), 1), ASC_DTYPE_F32);
        at = asc_reshape(ctx, at, ASC_SHAPE(n, 1, 1));
        asc_tensor *hot = asc_equal(ctx, at, asc_reshape(ctx, asc_iota(ctx, r, 0, 1), ASC_SHAPE(1, r, 1)));
        asc_tensor *top = asc_sum(ctx, asc_where(ctx, hot, a, zero), 1, &rows, true); /* [n,1,r] */
        asc_tensor *pivot = asc_slice(ctx, top, 2, 0, 1);
        asc_tensor *sign = asc_where(ctx, asc_equal(ctx, at, zero), one, asc_onnx_const(c, -1));
        asc_tensor *factor = asc_mul(ctx, pivot, sign);
        det = det == NULL ? factor : asc_mul(ctx, det, factor);
        if (r == 1) break;
        asc_tensor *swapped = asc_where(ctx, hot, asc_slice(ctx, a, 1, 0, 1), a);
        asc_tensor *rest = asc_slice(ctx, swapped, 1, 1, r - 1);
        asc_tensor *safe = asc_where(ctx, asc_equal(ctx, pivot, zero), one, pivot);
        asc_tensor *lower = asc_div(ctx, asc_slice(ctx, rest, 2, 0, 1), safe);
        a = asc_slice(ctx, asc_sub(ctx, rest, asc_mul(ctx, lower, top)), 2, 1, r - 1);
    }
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, det, lead));
}

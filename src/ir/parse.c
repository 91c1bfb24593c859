/* parse.c - reads the text form of a program (program.h). Accepts exactly what print.c writes, with free
 * spacing and empty lines; every node is checked by its op's shape rule, so a parsed program is a verified
 * one. */
#include "program.h"
#include "plain.h"
#include "view.h"
#include <stdlib.h>

typedef struct reader {
    asc_ctx *ctx;
    const char *p, *end, *line_start;
    int line;
} reader;

static asc_status bad(reader *r, const char *what) {
    return ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "program text: line %d, column %d: %s", r->line,
                    (int)(r->p - r->line_start) + 1, what);
}

static void spaces(reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) r->p++;
}

static bool take(reader *r, char c) {
    spaces(r);
    if (r->p >= r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static asc_view word(reader *r) {
    spaces(r);
    const char *s = r->p;
    while (r->p < r->end &&
           ((*r->p >= 'a' && *r->p <= 'z') || (*r->p >= '0' && *r->p <= '9') || *r->p == '_'))
        r->p++;
    return asc_view_make(s, (size_t)(r->p - s));
}

static bool integer(reader *r, int64_t *out) {
    spaces(r);
    const char *s = r->p;
    bool neg = r->p < r->end && *r->p == '-';
    if (neg) r->p++;
    int64_t v = 0;
    const char *digits = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *r->p - '0', &v)) {
            r->p = s;
            return false;
        }
    }
    if (r->p == digits) {
        r->p = s;
        return false;
    }
    *out = neg ? -v : v;
    return true;
}

static bool real(reader *r, double *out) {
    spaces(r);
    char t[64];
    size_t n = 0;
    const char *s = r->p;
    while (r->p < r->end && n < sizeof t - 1 && *r->p != ' ' && *r->p != '}' && *r->p != '\n')
        t[n++] = *r->p++;
    t[n] = '\0';
    char *stop;
    *out = asc_strtod(t, &stop);
    if (n > 0 && *stop == '\0') return true;
    r->p = s;
    return false;
}

static asc_status int_list(reader *r, int64_t *out, int most, int *n) {
    *n = 0;
    if (!take(r, '[')) return bad(r, "expected '['");
    if (take(r, ']')) return ASC_OK;
    do {
        if (*n >= most) return bad(r, "too many entries");
        if (!integer(r, &out[*n])) return bad(r, "expected an integer");
        (*n)++;
    } while (take(r, ','));
    return take(r, ']') ? ASC_OK : bad(r, "expected ']'");
}

static asc_status attribute(reader *r, const asc_op *op, asc_attrs *a) {
    asc_view name = word(r);
    const asc_attr_def *d = NULL;
    for (int i = 0; i < op->n_attrs; i++) {
        if (asc_view_eqs(name, op->attrs[i].name)) d = &op->attrs[i];
    }
    if (d == NULL) return bad(r, "unknown attribute");
    if (!take(r, '=')) return bad(r, "expected '='");
    int n = 0, t;
    asc_status st = ASC_OK;
    switch (d->kind) {
    case ASC_ATTR_INT:
        if (!integer(r, &a->i[d->slot])) return bad(r, "expected an integer");
        break;
    case ASC_ATTR_BOOL:
        if (!integer(r, &a->i[d->slot]) || (a->i[d->slot] != 0 && a->i[d->slot] != 1))
            return bad(r, "expected 0 or 1");
        break;
    case ASC_ATTR_INTS: {
        int most = ASC_N_IATTR - d->slot - 1;
        st = int_list(r, &a->i[d->slot + 1], most < ASC_MAX_RANK + 1 ? most : ASC_MAX_RANK + 1, &n);
        a->i[d->slot] = n;
        break;
    }
    case ASC_ATTR_AXES:
        st = int_list(r, &a->i[d->slot], 3, &n);
        break;
    case ASC_ATTR_FLOAT:
    case ASC_ATTR_SCALAR:
        if (!real(r, &a->f[d->slot])) return bad(r, "expected a number");
        break;
    case ASC_ATTR_DTYPE: {
        asc_view v = word(r);
        t = -1;
        for (int i = 0; i < ASC_N_DTYPES; i++) {
            if (asc_view_eqs(v, asc_dtype_of((asc_dtype)i)->name)) t = i;
        }
        if (t < 0) return bad(r, "unknown element type");
        a->i[d->slot] = t;
        break;
    }
    }
    return st;
}

static asc_status node_ref(reader *r, const asc_program *p, int32_t *out) {
    int64_t v;
    if (!integer(r, &v) || v < 0 || (size_t)v >= p->n_nodes) return bad(r, "expected an earlier node");
    *out = (int32_t)v;
    return ASC_OK;
}

/* What may stand between attributes and label: level=NAME rows=many made=pieces runs=once @REGION. */
static asc_status marks(reader *r, asc_node *n) {
    for (;;) {
        if (take(r, '@')) {
            int64_t group;
            if (!integer(r, &group) || group < 1 || group > ASC_PROGRAM_MAX_NODES)
                return bad(r, "expected the number of a fused region");
            n->group = (int32_t)group;
            continue;
        }
        asc_view key = word(r);
        if (key.len == 0) return ASC_OK;
        if (!take(r, '=')) return bad(r, "expected '='");
        asc_view v = word(r);
        if (asc_view_eqs(key, "rows") && asc_view_eqs(v, "many")) {
            n->many_rows = true;
        } else if (asc_view_eqs(key, "made") && asc_view_eqs(v, "pieces")) {
            n->pieces = true;
        } else if (asc_view_eqs(key, "runs") && asc_view_eqs(v, "once")) {
            n->constant = true;
        } else if (asc_view_eqs(key, "level")) {
            int level = -1;
            for (int i = 0; i < ASC_N_PRECISIONS; i++) {
                if (asc_view_eqs(v, asc_precision_name((asc_precision)i))) level = i;
            }
            if (level < 0) return bad(r, "unknown precision");
            n->level = (asc_precision)level;
        } else {
            return bad(r, "expected level=, rows=many, made=pieces, runs=once, @region or a label");
        }
    }
}

static asc_status parse_node(reader *r, asc_program *p) {
    asc_status st = ASC_OK;
    asc_node n = {0};
    int64_t index;
    if (!integer(r, &index) || index != (int64_t)p->n_nodes)
        return bad(r, "node numbers must count up from %0");
    if (!take(r, '=')) return bad(r, "expected '='");
    asc_view name = word(r), type = word(r);
    if (!asc_view_eqs(name, "input") && (n.op = asc_op_find(name)) == NULL) return bad(r, "unknown op");
    int t = -1;
    for (int i = 0; i < ASC_N_DTYPES; i++) {
        if (asc_view_eqs(type, asc_dtype_of((asc_dtype)i)->name)) t = i;
    }
    if (t < 0) return bad(r, "unknown element type");
    n.dtype = (asc_dtype)t;
    ASC_TRY(int_list(r, n.shape.dims, ASC_MAX_RANK, &n.shape.rank));
    if (asc_shape_elems(&n.shape) < 0) return bad(r, "bad shape");
    while (take(r, '%')) {
        if (n.op == NULL || n.n_in >= n.op->max_in || n.n_in >= ASC_MAX_IN) return bad(r, "too many inputs");
        ASC_TRY(node_ref(r, p, &n.in[n.n_in]));
        n.n_in++;
    }
    if (n.op != NULL && n.n_in < n.op->min_in) return bad(r, "too few inputs");
    if (take(r, '{')) {
        if (n.op == NULL) return bad(r, "an input has no attributes");
        while (!take(r, '}')) {
            if (r->p >= r->end || *r->p == '\n') return bad(r, "expected '}'");
            ASC_TRY(attribute(r, n.op, &n.attrs));
        }
    }
    ASC_TRY(marks(r, &n));
    if (take(r, ';')) {
        spaces(r);
        const char *s = r->p;
        while (r->p < r->end && *r->p != '\n') r->p++;
        n.label = asc_arena_strdup(&p->arena, asc_view_make(s, (size_t)(r->p - s)));
        if (n.label == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    if (n.op != NULL) {
        asc_call c;
        asc_node_call(p, &n, &c);
        if (n.op->infer(r->ctx, &c) != ASC_OK) {
            asc_fail_context(r->ctx, "program text: line %d", r->line);
            return r->ctx->error.code;
        }
        if (c.dtype != n.dtype || !asc_shape_eq(&c.shape, &n.shape))
            return bad(r, "type or shape is not what the op gives");
    }
    st = asc_program_add(p, &n) < 0 ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
done:
    return st;
}

asc_status asc_program_parse(asc_ctx *ctx, asc_view text, asc_program *out) {
    asc_status st = ASC_OK;
    reader r = {.ctx = ctx, .p = text.ptr, .end = text.ptr + text.len, .line_start = text.ptr, .line = 1};
    bool returned = false;
    asc_program_init(out, ctx);
    while (r.p < r.end) {
        spaces(&r);
        if (r.p < r.end && *r.p != '\n') {
            if (returned) return bad(&r, "text after 'return'");
            if (take(&r, '%')) {
                ASC_TRY(parse_node(&r, out));
            } else if (asc_view_eqs(word(&r), "return")) {
                returned = true;
                while (take(&r, '%')) {
                    int32_t k = 0;
                    ASC_TRY(node_ref(&r, out, &k));
                    ASC_TRY(asc_program_output(out, k));
                }
            } else {
                return bad(&r, "expected '%' or 'return'");
            }
            spaces(&r);
            if (r.p < r.end && *r.p != '\n') return bad(&r, "unexpected text at the end of the line");
        }
        if (r.p < r.end) {
            r.p++;
            r.line++;
            r.line_start = r.p;
        }
    }
    if (!returned) return bad(&r, "the last line must be 'return'");
done:
    return st;
}

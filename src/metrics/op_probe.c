/* op_probe.c - every op's samples on a device against the exact one; see ascribe/parity.h. */
#include "op_probe.h"
#include "ascribe/precision.h"
#include "exec.h"
#include "plain.h"
#include "strbuf.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ROUNDINGS = 32;

const char *asc_verdict_name(asc_verdict v) {
    static const char *const names[] = {"works", "wrong", "missing", "failed"};
    return (unsigned)v < 4 ? names[v] : "unknown";
}

void asc_op_judge(asc_op_case *c, const double *got, const double *want, int64_t n) {
    double most = 1;
    c->error = 0;
    c->verdict = ASC_VERDICT_WORKS;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(want[i])) most = fmax(most, fabs(want[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        bool same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i]));
        double e = same ? 0.0 : fabs(got[i] - want[i]) / most;
        if (!(e <= c->error)) c->error = isnan(e) ? INFINITY : e;
        if (e <= c->bound || c->verdict == ASC_VERDICT_WRONG) continue;
        c->verdict = ASC_VERDICT_WRONG;
        asc_snprintf(c->message, sizeof c->message, "element %lld is %.9g, not %.9g", (long long)i, got[i],
                     want[i]);
    }
}

/* The numbers of one case in one context; NULL values on devices without any. */
typedef struct outcome {
    asc_status st;
    double *value;
    int64_t n;
} outcome;

static asc_status read_values(asc_ctx *ctx, asc_ctx *owner, asc_tensor *t, outcome *out) {
    out->n = asc_tensor_elems(t);
    out->value =
        asc_calloc(owner, ASC_MEM_SCRATCH, (size_t)(out->n > 0 ? out->n : 0) + 1, sizeof *out->value);
    int32_t *whole = NULL;
    if (out->value == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (t->poison != ASC_OK || t->dtype != ASC_DTYPE_I32)
        return asc_read_f64(ctx, t, out->value, (size_t)out->n);
    whole = asc_calloc(owner, ASC_MEM_SCRATCH, (size_t)out->n + 1, sizeof *whole);
    asc_status st = whole != NULL ? asc_read_i32(ctx, t, whole, (size_t)out->n) : ASC_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; st == ASC_OK && i < out->n; i++) out->value[i] = whole[i];
    asc_free(owner, whole);
    return st;
}

/* First input with a gradient; -1 = none. */
static int first_moving(const asc_op *op, const asc_sample *s) {
    for (int k = 0; (op->flags & ASC_OP_NO_GRAD) == 0 && k < s->n_in; k++) {
        if (s->in_dtype[k] == ASC_DTYPE_F32 && !s->no_grad[k]) return k;
    }
    return -1;
}

/* Records and computes the case; with `text`, only prints the program that would run. */
static asc_status run(asc_ctx *ctx, asc_ctx *owner, const asc_op *op, const asc_sample *s,
                      const asc_op_inputs *in, bool gradient, outcome *out, asc_strbuf *text) {
    asc_tensor *x[ASC_MAX_IN], *grad = NULL;
    asc_scope_begin(ctx);
    for (int k = 0; k < s->n_in; k++) x[k] = asc_op_inputs_leaf(ctx, s, in, k);
    asc_tensor *y = asc_apply(ctx, op, &s->attrs, x, s->n_in);
    if (gradient) asc_grad(ctx, y, y, &x[first_moving(op, s)], 1, &grad);
    asc_tensor *wanted = gradient ? grad : y;
    asc_status st;
    if (text != NULL)
        st = asc_tensor_poisoned(wanted) ? ASC_FAILED_PRECONDITION : asc_exec_text(ctx, &wanted, 1, text);
    else
        st = asc_exec_device(ctx)->has_data ? read_values(ctx, owner, wanted, out) : asc_run(ctx, &wanted, 1);
    return asc_scope_close(ctx, st);
}

/* The program of the context, or where eager execution leaves none, that of the exact one. */
static void keep_program(asc_ctx *ctx, asc_ctx *exact, const asc_op *op, const asc_sample *s,
                         const asc_op_inputs *in, asc_op_case *c) {
    asc_ctx *const makers[] = {ctx, exact};
    for (int i = 0; i < 2 && c->program == NULL; i++) {
        asc_strbuf text;
        asc_strbuf_init(&text, ctx);
        if (run(makers[i], ctx, op, s, in, c->gradient, NULL, &text) == ASC_OK && text.len > 0 &&
            strstr(text.ptr, "return %") != NULL)
            c->program = asc_strbuf_take(&text, NULL);
        asc_error_clear(makers[i]);
        asc_strbuf_deinit(&text);
    }
}

/* RESOURCE_EXHAUSTED and CANCELLED end the probe; everything else is a verdict. */
static asc_status run_case(asc_ctx *ctx, asc_ctx *exact, const asc_op *op, const asc_sample *s,
                           const asc_op_inputs *in, bool keep, asc_op_case *c) {
    outcome is = {0}, should = {0};
    c->bound = ROUNDINGS * fmax(asc_ctx_roundoff(ctx), asc_ctx_roundoff(exact));
    c->error = NAN;
    asc_status st = run(ctx, ctx, op, s, in, c->gradient, &is, NULL);
    if (st == ASC_RESOURCE_EXHAUSTED || st == ASC_CANCELLED) goto done;
    if (st != ASC_OK) {
        c->verdict = st == ASC_UNIMPLEMENTED ? ASC_VERDICT_MISSING : ASC_VERDICT_FAILED;
        snprintf(c->message, sizeof c->message, "%s", asc_error_message(ctx));
        asc_error_clear(ctx);
        st = ASC_OK;
    } else if (is.value != NULL) {
        st = run(exact, ctx, op, s, in, c->gradient, &should, NULL);
        if (st != ASC_OK) {
            ASC_FAIL(ctx, st, "%s, sample %d, on the exact device: %s", op->name, c->sample,
                     asc_error_message(exact));
            goto done;
        }
        asc_op_judge(c, is.value, should.value, is.n);
    }
    if (keep || c->verdict != ASC_VERDICT_WORKS) keep_program(ctx, exact, op, s, in, c);
done:
    asc_free(ctx, is.value);
    asc_free(ctx, should.value);
    return st;
}

typedef struct probe {
    asc_op_probe p;
    size_t cap;
    bool keep; /* every program */
} probe;

static asc_status run_sample(asc_ctx *ctx, asc_ctx *exact, const asc_op *op, int i, const asc_sample *s,
                             probe *x) {
    asc_op_inputs in;
    asc_status st = asc_op_inputs_draw(ctx, s, &in);
    for (int gradient = 0; st == ASC_OK && gradient <= (first_moving(op, s) >= 0); gradient++) {
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&x->p.cases, &x->cap, x->p.n + 1, sizeof *x->p.cases);
        if (st != ASC_OK) break;
        asc_op_case *c = &x->p.cases[x->p.n++];
        *c = (asc_op_case){.op = op->name, .sample = i, .gradient = gradient == 1};
        st = run_case(ctx, exact, op, s, &in, x->keep, c);
        x->p.count[c->verdict]++;
    }
    asc_op_inputs_free(ctx, &in);
    return st;
}

asc_status asc_probe_ops(asc_ctx *ctx, asc_ctx *exact, const char *op, int sample, asc_op_probe **out) {
    asc_status st = ASC_OK;
    *out = NULL;
    probe *x = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->keep = op != NULL;
    for (int o = 0; o < ASC_N_OPS; o++) {
        asc_sample s;
        if (op != NULL && strcmp(asc_ops[o]->name, op) != 0) continue;
        for (int i = 0; memset(&s, 0, sizeof s), asc_ops[o]->sample(i, &s); i++) {
            if (sample >= 0 && i != sample) continue;
            ASC_TRY(run_sample(ctx, exact, asc_ops[o], i, &s, x));
        }
        ASC_TRY(asc_progress(ctx, "ops", o + 1, ASC_N_OPS));
    }
    if (x->p.n == 0 && op != NULL && sample >= 0)
        st = ASC_FAIL(ctx, ASC_NOT_FOUND, "no sample %d of an op '%.60s'", sample, op);
    else if (x->p.n == 0 && op != NULL && asc_op_find(asc_view_of(op)) == NULL)
        st = ASC_FAIL(ctx, ASC_NOT_FOUND, "no op '%.60s'", op);
done:
    if (st == ASC_OK)
        *out = &x->p;
    else
        asc_op_probe_destroy(ctx, &x->p);
    return st;
}

void asc_op_probe_destroy(asc_ctx *ctx, asc_op_probe *p) {
    if (p == NULL) return;
    for (size_t i = 0; i < p->n; i++) asc_free(ctx, p->cases[i].program);
    asc_free(ctx, p->cases);
    asc_free(ctx, p);
}

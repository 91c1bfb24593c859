/* print.c - text form of a program; parse.c reads it back. Floats are written so that they read back to the
 * same bits. */
#include "program.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put_float(asc_strbuf *out, double v) {
    if (isnan(v)) {
        asc_strbuf_adds(out, "nan");
    } else if (isinf(v)) {
        asc_strbuf_adds(out, v > 0 ? "inf" : "-inf");
    } else {
        char t[40];
        for (int digits = 1; digits <= 17; digits++) {
            asc_snprintf(t, sizeof t, "%.*g", digits, v);
            double back = asc_strtod(t, NULL);
            if (!(back < v) && !(back > v)) break;
        }
        asc_strbuf_adds(out, t);
    }
}

static void put_attr(asc_strbuf *out, const asc_attr_def *d, const asc_attrs *a) {
    asc_strbuf_addf(out, "%s=", d->name);
    switch (d->kind) {
    case ASC_ATTR_INT:
    case ASC_ATTR_BOOL:
        asc_strbuf_addf(out, "%lld", (long long)a->i[d->slot]);
        break;
    case ASC_ATTR_INTS:
        asc_strbuf_addc(out, '[');
        for (int64_t i = 0; i < a->i[d->slot] && d->slot + 1 + i < ASC_N_IATTR; i++)
            asc_strbuf_addf(out, "%s%lld", i > 0 ? "," : "", (long long)a->i[d->slot + 1 + i]);
        asc_strbuf_addc(out, ']');
        break;
    case ASC_ATTR_AXES:
        asc_strbuf_addf(out, "[%lld,%lld,%lld]", (long long)a->i[d->slot], (long long)a->i[d->slot + 1],
                        (long long)a->i[d->slot + 2]);
        break;
    case ASC_ATTR_FLOAT:
    case ASC_ATTR_SCALAR:
        put_float(out, a->f[d->slot]);
        break;
    case ASC_ATTR_DTYPE:
        asc_strbuf_adds(out, asc_dtype_of((asc_dtype)a->i[d->slot])->name);
        break;
    }
}

void asc_program_print(const asc_program *p, asc_strbuf *out) {
    char shape[128];
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        asc_strbuf_addf(out, "%%%zu = %s %s %s", k, n->op != NULL ? n->op->name : "input",
                        asc_dtype_of(n->dtype)->name, asc_shape_text(&n->shape, shape));
        for (int i = 0; i < n->n_in; i++) asc_strbuf_addf(out, " %%%d", n->in[i]);
        if (n->op != NULL && n->op->n_attrs > 0) {
            asc_strbuf_adds(out, " {");
            for (int i = 0; i < n->op->n_attrs; i++) {
                if (i > 0) asc_strbuf_addc(out, ' ');
                put_attr(out, &n->op->attrs[i], &n->attrs);
            }
            asc_strbuf_addc(out, '}');
        }
        if (n->level != ASC_PRECISION_HIGHEST)
            asc_strbuf_addf(out, " level=%s", asc_precision_name(n->level));
        if (n->many_rows) asc_strbuf_adds(out, " rows=many");
        if (n->pieces) asc_strbuf_adds(out, " made=pieces");
        if (n->constant) asc_strbuf_adds(out, " runs=once");
        if (n->group != 0) asc_strbuf_addf(out, " @%d", n->group);
        if (n->label != NULL) asc_strbuf_addf(out, " ; %s", n->label);
        asc_strbuf_addc(out, '\n');
    }
    asc_strbuf_adds(out, "return");
    for (size_t i = 0; i < p->n_outputs; i++) asc_strbuf_addf(out, " %%%d", p->outputs[i]);
    asc_strbuf_addc(out, '\n');
}

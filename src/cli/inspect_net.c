/* inspect_net.c - ascribe inspect MODEL.onnx: ports, operators, sites, weights, and what gradients and rules
 * do not pass. */
#include "ascribe/net_inspect.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

enum { SHOWN_SITES = 12 };

static asc_view view(const char *s) { return (asc_view){s, strlen(s)}; }

/* "[N, 3, 224, 224]": N the batch, ? another free dimension. */
static void shape_text(const asc_shape *s, bool batch, char out[160]) {
    size_t n = (size_t)snprintf(out, 160, "[");
    for (int d = 0; d < s->rank; d++) {
        if (s->dims[d] < 0)
            n += (size_t)snprintf(out + n, 160 - n, "%s%s", d > 0 ? ", " : "", d == 0 && batch ? "N" : "?");
        else
            n += (size_t)snprintf(out + n, 160 - n, "%s%lld", d > 0 ? ", " : "", (long long)s->dims[d]);
    }
    snprintf(out + n, 160 - n, "]");
}

static void port_line(asc_text *t, asc_port p) {
    char shape[160];
    shape_text(&p.shape, p.batch, shape);
    asc_text_adds(t, "  ");
    size_t w = asc_text_shown(t, view(p.name), 40);
    asc_text_blanks(t, w < 40 ? 41 - w : 1);
    asc_text_addf(t, "%-8s %s\n", asc_elem_name(p.elem), shape);
}

static void kinds(asc_text *t, const asc_net_kind *k, size_t n) {
    size_t column = 2;
    asc_text_adds(t, "  ");
    for (size_t i = 0; i < n; i++) {
        char item[96];
        int len = snprintf(item, sizeof item, "%.60s %zu%s", k[i].name, k[i].count, i + 1 < n ? ", " : "");
        if (column + (size_t)len > 100) {
            asc_text_adds(t, "\n  ");
            column = 2;
        }
        asc_text_adds(t, item);
        column += (size_t)len;
    }
    asc_text_adds(t, n > 0 ? "\n" : "none\n");
}

/* Names of ops that `lacks` is true of. */
static void lacking(asc_text *t, const char *what, const asc_net_survey *s,
                    bool (*lacks)(const asc_net_kind *)) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_ops; i++) n += lacks(&s->ops[i]);
    asc_text_addf(t, "  %-27s", what);
    if (n == 0) asc_text_adds(t, " none");
    for (size_t i = 0; i < s->n_ops; i++) {
        if (lacks(&s->ops[i])) asc_text_addf(t, " %s (%zu)", s->ops[i].name, s->ops[i].count);
    }
    asc_text_adds(t, "\n");
}

static bool no_gradient(const asc_net_kind *k) { return !k->gradient; }
static bool is_none(const char *rule) { return rule == NULL || strcmp(rule, "none") == 0; }
static bool may_fall_back(const char *rule) { return rule != NULL && strstr(rule, "fall-back") != NULL; }
static bool no_deep_lift(const asc_net_kind *k) {
    return k->gradient && (is_none(k->deep_lift) || may_fall_back(k->deep_lift));
}
static bool no_lrp(const asc_net_kind *k) {
    return k->gradient && (is_none(k->lrp) || may_fall_back(k->lrp));
}

static void text(cli *c, const asc_net *net, const asc_net_survey *s) {
    asc_text *t = c->out;
    char shape[160];
    bool all = cli_has(c, OPT_ALL);
    asc_text_adds(t, "File ");
    asc_text_shown(t, view(c->operand[0]), 80);
    if (s->opset > 0)
        asc_text_addf(t, "\n  ONNX, opset %d\n", s->opset);
    else
        asc_text_adds(t, "\n  image classifier, from its folder\n");
    asc_text_adds(t, "\nInputs (N: examples; ?: any size)\n");
    for (size_t i = 0; i < asc_net_n_inputs(net); i++) port_line(t, asc_net_input(net, i));
    asc_text_adds(t, "\nOutputs\n");
    for (size_t i = 0; i < asc_net_n_outputs(net); i++) port_line(t, asc_net_output(net, i));
    asc_text_addf(t, "\nWeights\n  %zu arrays, %zu numbers, %.1f MB\n\nOperators of the file\n", s->n_weights,
                  s->n_elements, (double)s->weight_bytes / 1e6);
    kinds(t, s->operators, s->n_operators);
    asc_text_adds(t, "\nOps of one run, without what was computed beforehand\n");
    kinds(t, s->ops, s->n_ops);
    if (s->unfit != NULL) {
        asc_text_adds(t, "  no size of the free dimensions that was tried fits: ");
        asc_text_wrap(t, s->unfit, 2, 100);
    }
    asc_text_adds(t, "\nOf them\n");
    lacking(t, "pass no gradient:", s, no_gradient);
    lacking(t, "may lack a deep-lift rule:", s, no_deep_lift);
    lacking(t, "may lack an lrp rule:", s, no_lrp);
    for (size_t i = 0; i < s->n_notes; i++) {
        asc_text_adds(t, "  ");
        asc_text_wrap(t, s->notes[i], 2, 100);
    }
    asc_text_addf(t, "\nSites (%zu; for --site, --target-value)\n", s->n_sites);
    for (size_t i = 0; i < s->n_sites && (all || i < SHOWN_SITES); i++) {
        const asc_net_site_info *x = &s->sites[i];
        asc_text_adds(t, "  ");
        size_t w = asc_text_shown(t, view(x->name), 70);
        asc_text_blanks(t, w < 56 ? 57 - w : 1);
        if (x->reached) shape_text(&x->shape, false, shape);
        asc_text_addf(t, "%s%s\n", x->reached ? shape : "not computed",
                      x->reached && x->integer ? " integers" : "");
    }
    if (!all && s->n_sites > SHOWN_SITES)
        asc_text_addf(t, "  and %zu more (--all lists them)\n", s->n_sites - SHOWN_SITES);
    if (s->free_size > 1)
        asc_text_addf(t, "  shapes are for free dimensions of %lld\n", (long long)s->free_size);
}

static void put_shape(asc_text *t, const asc_shape *s) {
    asc_text_array(t, "shape");
    for (int d = 0; d < s->rank; d++) asc_text_int(t, NULL, s->dims[d]);
    asc_text_end(t);
}

static void put_ports(asc_text *t, const char *key, const asc_net *net, bool inputs) {
    size_t n = inputs ? asc_net_n_inputs(net) : asc_net_n_outputs(net);
    asc_text_array(t, key);
    for (size_t i = 0; i < n; i++) {
        asc_port p = inputs ? asc_net_input(net, i) : asc_net_output(net, i);
        asc_text_object(t, NULL);
        asc_text_strz(t, "name", p.name);
        asc_text_strz(t, "type", asc_elem_name(p.elem));
        put_shape(t, &p.shape);
        asc_text_bool(t, "batch", p.batch);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void json(cli *c, const asc_net *net, const asc_net_survey *s) {
    asc_text *t = c->out;
    asc_text_object(t, NULL);
    asc_text_str(t, "file", view(c->operand[0]));
    asc_text_strz(t, "format", "ONNX");
    asc_text_int(t, "opset", s->opset);
    put_ports(t, "inputs", net, true);
    put_ports(t, "outputs", net, false);
    asc_text_int(t, "weights", (int64_t)s->n_weights);
    asc_text_int(t, "parameters", (int64_t)s->n_elements);
    asc_text_int(t, "weight_bytes", (int64_t)s->weight_bytes);
    asc_text_object(t, "operators");
    for (size_t i = 0; i < s->n_operators; i++)
        asc_text_int(t, s->operators[i].name, (int64_t)s->operators[i].count);
    asc_text_end(t);
    asc_text_array(t, "ops");
    for (size_t i = 0; i < s->n_ops; i++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "name", s->ops[i].name);
        asc_text_int(t, "count", (int64_t)s->ops[i].count);
        asc_text_bool(t, "gradient", s->ops[i].gradient);
        asc_text_strz(t, "deep_lift", s->ops[i].deep_lift);
        asc_text_strz(t, "lrp", s->ops[i].lrp);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_array(t, "notes");
    for (size_t i = 0; i < s->n_notes; i++) asc_text_strz(t, NULL, s->notes[i]);
    asc_text_end(t);
    asc_text_int(t, "free_size", s->free_size);
    asc_text_strz(t, "unfit", s->unfit);
    asc_text_array(t, "sites");
    for (size_t i = 0; i < s->n_sites; i++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "name", s->sites[i].name);
        asc_text_bool(t, "reached", s->sites[i].reached);
        asc_text_strz(t, "type", s->sites[i].integer ? "integer" : "float");
        put_shape(t, &s->sites[i].shape);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

int cli_inspect_net(cli *c) {
    asc_net *net = NULL;
    asc_net_survey *s = NULL;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = cli_net_load(c, &net);
    if (st == ASC_OK) st = asc_net_survey_make(net, &s);
    if (st != ASC_OK) {
        rc = cli_error(c, st);
    } else if (cli_wants_json(c)) {
        json(c, net, s);
        rc = cli_write_json(c, c->out);
    } else {
        text(c, net, s);
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    asc_net_survey_destroy(c->ctx, s);
    asc_net_close(net);
    return rc;
}

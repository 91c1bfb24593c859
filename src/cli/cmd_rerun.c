/* cmd_rerun.c - ascribe rerun: the same request again, and whether the numbers are the same. */
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 256 << 20 };

typedef struct verdict {
    bool model_changed, tokens_changed, same, close;
    double largest, difference; /* largest |old score|; largest |new - old| */
    size_t at;                  /* feature with the largest difference */
} verdict;

static bool same_ids(const int32_t *a, size_t n, const int32_t *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static verdict compare(const asc_saved *s, const asc_result *r) {
    verdict v = {.model_changed = s->model_sha256[0] != '\0' && strcmp(s->model_sha256, r->model_sha256) != 0,
                 .tokens_changed = !same_ids(s->prompt_ids, s->n_prompt_ids, r->prompt_ids, r->n_prompt) ||
                                   !same_ids(s->target_ids, s->n_target_ids, r->target_ids, r->n_target)};
    double allowed = 0;
    if (s->n_features != r->n_features) return v;
    v.difference = fabs(s->value - r->value);
    for (size_t i = 0; i < s->n_features; i++) {
        double d = fabs(s->scores[i] - r->features[i].score);
        if (fabs(s->scores[i]) > v.largest) v.largest = fabs(s->scores[i]);
        if (isfinite(s->errors[i]) && s->errors[i] > allowed) allowed = s->errors[i];
        if (!(d <= v.difference)) {
            v.difference = d;
            v.at = i;
        }
    }
    v.same = !(v.difference > 0) && !isnan(v.difference);
    v.close = v.difference <= fmax(2 * allowed, 1e-4 * fmax(v.largest, 1e-6));
    return v;
}

/* What is not as it was; "" if nothing. */
static void changes(asc_text *t, const asc_saved *s, const asc_result *r, const verdict *v) {
    if (v->model_changed)
        asc_text_addf(t, "  the model file: SHA-256 was %.12s..., is %.12s...\n", s->model_sha256,
                      r->model_sha256);
    if (v->tokens_changed) asc_text_adds(t, "  the tokens of prompt or target\n");
    if (strcmp(s->device, r->device) != 0)
        asc_text_addf(t, "  the device: was %s, is %s\n", s->device, r->device);
    if (strcmp(s->precision, r->precision) != 0)
        asc_text_addf(t, "  the precision: was %s, is %s\n", s->precision, r->precision);
    if (s->isa[0] != '\0' && strcmp(s->isa, r->isa) != 0)
        asc_text_addf(t, "  the instructions: were %s, are %s\n", s->isa, r->isa);
    if (strcmp(s->version, asc_version()) != 0)
        asc_text_addf(t, "  the program: was %s, is %s\n", s->version, asc_version());
}

static void json(asc_text *t, const asc_result *r, const verdict *v, const char *changed) {
    asc_text_object(t, NULL);
    asc_text_bool(t, "same", v->same);
    asc_text_bool(t, "within_error", v->same || v->close);
    asc_text_num(t, "largest_difference", v->difference);
    asc_text_bool(t, "model_changed", v->model_changed);
    asc_text_bool(t, "tokens_changed", v->tokens_changed);
    asc_text_str(t, "changed", (asc_view){changed, strlen(changed)});
    asc_text_array(t, "scores");
    for (size_t i = 0; i < r->n_features; i++) asc_text_num(t, NULL, r->features[i].score);
    asc_text_end(t);
    asc_text_end(t);
}

static int report(cli *c, const asc_saved *s, const asc_result *r) {
    verdict v = compare(s, r);
    asc_text *changed = NULL;
    asc_status st = asc_text_create(c->ctx, &changed);
    if (st != ASC_OK) return cli_error(c, st);
    changes(changed, s, r, &v);
    const char *list = asc_text_view(changed).ptr;
    /* Another machine rounds otherwise: the same within the stated error is the same there, and only there.
     */
    bool good = !v.model_changed && !v.tokens_changed && (v.same || (v.close && list[0] != '\0'));
    int rc;
    if (cli_wants_json(c)) {
        json(c->out, r, &v, list);
        rc = cli_write_json(c, c->out);
    } else {
        if (v.same)
            asc_text_addf(c->out, "The same numbers: %zu scores, bit for bit.\n", r->n_features);
        else if (s->n_features != r->n_features)
            asc_text_addf(c->out, "Other features: there were %zu, now there are %zu.\n", s->n_features,
                          r->n_features);
        else
            asc_text_addf(
                c->out, "%s: the largest difference is %.3g (feature %zu), the largest score %.3g.\n",
                v.close ? "The same within their error" : "Other numbers", v.difference, v.at, v.largest);
        if (list[0] != '\0') asc_text_addf(c->out, "What changed:\n%s", list);
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    asc_text_destroy(changed);
    return rc != EXIT_DONE ? rc : good ? EXIT_DONE : EXIT_CHECK;
}

/* The run's own settings unless the command line has others. */
static void settings(cli *c, const asc_saved *s, char threads[16]) {
    if (!cli_has(c, OPT_DEVICE)) c->value[OPT_DEVICE] = s->device;
    if (!cli_has(c, OPT_MODE)) c->value[OPT_MODE] = s->mode;
    if (!cli_has(c, OPT_PRECISION)) c->value[OPT_PRECISION] = s->precision;
    c->value[OPT_FORCE_INT8] = ""; /* a result with int8 products was made with it */
    if (!cli_has(c, OPT_WEIGHTS) && s->weights != ASC_WEIGHTS_AUTO)
        c->value[OPT_WEIGHTS] = s->weights == ASC_WEIGHTS_STORED ? "stored" : "expanded";
    snprintf(threads, 16, "%d", s->n_threads);
    if (!cli_has(c, OPT_THREADS) && s->n_threads > 0) c->value[OPT_THREADS] = threads;
    c->origin[OPT_THREADS] = c->origin[OPT_THREADS] != NULL ? c->origin[OPT_THREADS] : "command line";
    c->operand[0] = s->model_file;
    c->adapters = s->adapters;
    c->n_adapters = s->n_adapters;
}

static bool is_net_result(asc_view json) {
    static const char kind[] = "\"ascribe-net-result\"";
    return memmem(json.ptr, json.len, kind, sizeof kind - 1) != NULL;
}

int cmd_rerun(cli *c) {
    cli first = {0}; /* a context only to read the file: the run's own is made as the file says */
    asc_text *file = NULL;
    asc_saved *s = NULL;
    asc_net_saved *net = NULL;
    asc_result *r = NULL;
    asc_model *m = NULL;
    char threads[16];
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(&first);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_text_create(first.ctx, &file);
    if (st == ASC_OK) st = asc_text_read(file, c->operand[0], MOST_BYTES);
    if (st != ASC_OK) {
        rc = cli_error(&first, st);
        goto done;
    }
    if (is_net_result(asc_text_view(file))) {
        st = asc_net_saved_parse(first.ctx, asc_text_view(file), &net);
        rc = st == ASC_OK
                 ? cli_rerun_net(c, net)
                 : cli_error_in(&first, st, c->operand[0], "use a file that 'ascribe explain --json' wrote");
        goto done;
    }
    st = asc_saved_parse(first.ctx, asc_text_view(file), &s);
    if (st != ASC_OK) {
        rc = cli_error_in(&first, st, c->operand[0], "use a file that 'ascribe explain --json' wrote");
        goto done;
    }
    settings(c, s, threads);
    s->request.want_sha256 = s->model_sha256[0] != '\0';
    rc = cli_check_output(c, OPT_JSON); /* again: the model file is known only now */
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MEMORY, s->request.memory_bytes, &s->request.memory_bytes);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    for (size_t i = 0; rc == EXIT_DONE && i < s->n_precision_at && !cli_has(c, OPT_PRECISION_AT); i++)
        rc = cli_set_level(c, s->precision_at[i]);
    if (rc == EXIT_DONE) rc = cli_open_model(c, &m);
    if (rc != EXIT_DONE) goto done;
    st = asc_explain(m, &s->request, &r);
    rc = st == ASC_OK ? report(c, s, r) : cli_error(c, st);
done:
    if (c->ctx != NULL) asc_result_destroy(c->ctx, r);
    asc_model_close(m);
    asc_saved_destroy(first.ctx, s);
    asc_net_saved_destroy(first.ctx, net);
    asc_text_destroy(file);
    asc_text_destroy(first.out);
    asc_ctx_destroy(first.ctx);
    return rc;
}

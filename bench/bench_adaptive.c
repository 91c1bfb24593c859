/* bench_adaptive.c - rules for the integral of integrated gradients, against integrals that another program
 * found.
 *
 * usage: bench_adaptive MODEL.gguf smollm2_attr.jsonl [case] [tolerance ...]      (default: every case, 0.01)
 * For each case with an `ig_limit`: the path from the end-of-text baseline, and the segments above 1e-3 of
 * the path from the zero baseline. Without tolerances, Gauss-Legendre and midpoint with as many nodes follow.
 * Columns: gradient evaluations, seconds, error that the rule claims and true error (of the largest score),
 * scores under their bound.
 */
#include "adaptive.h"
#include "file.h"
#include "json.h"
#include "method.h"
#include "quadrature.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128 };

typedef struct piece { /* part of a path */
    asc_job *job;
    double from, to;
} piece;

static asc_status integrand(void *self, const double *t, size_t n, double *f, double *g) {
    piece *p = self;
    double alphas[MOST];
    asc_status st = ASC_OK;
    size_t dim = p->job->r->n_prompt;
    for (size_t at = 0; st == ASC_OK && at < n; at += MOST) {
        size_t some = n - at < MOST ? n - at : MOST;
        for (size_t i = 0; i < some; i++) alphas[i] = p->from + (p->to - p->from) * t[at + i];
        st = asc_job_path(p->job, alphas, some, f + at, g + at * dim);
    }
    for (size_t i = 0; i < n * dim; i++) g[i] *= p->to - p->from;
    return st;
}

static double seconds_since(uint64_t start) { return (double)(asc_now_ns() - start) * 1e-9; }

static double true_error(const double *got, const asc_json *want, size_t n, const double *bound,
                         size_t *covered) {
    double worst = 0.0, largest = 0.0;
    *covered = 0;
    for (size_t i = 0; i < n; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN), e = fabs(got[i] - w);
        worst = fmax(worst, e);
        largest = fmax(largest, fabs(w));
        *covered += bound != NULL && e <= bound[i];
    }
    return worst / largest;
}

static asc_status fixed_rule(piece *p, asc_rule rule, size_t n, const asc_json *want) {
    asc_ctx *ctx = p->job->ctx;
    size_t dim = p->job->r->n_prompt, covered;
    double sum[MOST] = {0}, *x = asc_calloc(ctx, ASC_MEM_SCRATCH, n * (dim + 3), sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    double *w = x + n, *f = w + n, *g = f + n;
    uint64_t start = asc_now_ns();
    asc_status st = asc_rule_nodes(ctx, rule, n, x, w);
    if (st == ASC_OK) st = integrand(p, x, n, f, g);
    for (size_t i = 0; i < n * dim; i++) sum[i % dim] += w[i / dim] * g[i];
    if (st == ASC_OK)
        printf("    %-24s %5zu %7.1f s  claims %8s  true %.5f\n", asc_rule_name(rule), n,
               seconds_since(start), "-", true_error(sum, want, dim, NULL, &covered));
    asc_free(ctx, x);
    return st;
}

static asc_status one_piece(piece *p, const asc_json *want, double tolerance, bool fixed_too) {
    asc_ctx *ctx = p->job->ctx;
    size_t dim = p->job->r->n_prompt, covered;
    double integral[MOST], error[MOST], largest = 0.0;
    asc_adaptive_options o = {.tolerance = tolerance,
                              .max_evaluations = 3000,
                              .noise = asc_job_gradient_noise(p->job, 1.0),
                              .value_noise = asc_job_value_noise(p->job)};
    asc_adaptive_result r;
    uint64_t start = asc_now_ns();
    asc_status st = asc_adaptive_integrate(ctx, integrand, p, dim, &o, integral, error, &r);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < dim; i++) largest = fmax(largest, fabs(integral[i]));
    double e = true_error(integral, want, dim, error, &covered);
    printf("    adaptive %-8g %s %5zu %7.1f s  claims %.6f  true %.5f  under bound %zu of %zu  noise floor "
           "%.1e\n",
           tolerance, r.converged ? "      " : "(open)", r.evaluations, seconds_since(start),
           r.largest_error / largest, e, covered, dim, r.noise_floor / largest);
    fflush(stdout);
    if (!fixed_too) return ASC_OK;
    st = fixed_rule(p, ASC_RULE_GAUSS_LEGENDRE, r.evaluations, want);
    return st == ASC_OK ? fixed_rule(p, ASC_RULE_RIEMANN_MIDDLE, r.evaluations, want) : st;
}

static size_t ids_of(const asc_json *list, int32_t *out) {
    size_t n = asc_json_len(list);
    for (size_t i = 0; i < n && i < MOST; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n < MOST ? n : MOST;
}

static asc_status one_limit(asc_model *m, const asc_json *line, const asc_json *limit, char **tolerances,
                            int n) {
    int32_t ids[MOST], target[MOST];
    asc_view base = asc_json_str(asc_json_get(limit, "baseline")),
             output = asc_json_str(asc_json_get(line, "output"));
    bool zero = base.len == 4 && memcmp(base.ptr, "zero", 4) == 0;
    asc_request q = {.struct_size = sizeof q,
                     .method = "integrated-gradients",
                     .features = ASC_FEATURES_TOKEN,
                     .prompt_ids = ids,
                     .target_ids = target,
                     .baseline = zero ? ASC_BASELINE_ZERO : ASC_BASELINE_EOS,
                     .output = output.len == 5 ? ASC_OUTPUT_LOGIT : ASC_OUTPUT_LOGPROB};
    q.n_prompt_ids = ids_of(asc_json_get(line, "ids"), ids);
    q.n_target_ids = ids_of(asc_json_get(line, "target_ids"), target);
    asc_job j;
    asc_status st = asc_job_init(&j, m, &q);
    if (st != ASC_OK) return st;
    const asc_json *segments = asc_json_get(limit, "segments");
    for (size_t i = 0; st == ASC_OK && i < (zero ? asc_json_len(segments) : 1); i++) {
        const asc_json *part = zero ? asc_json_at(segments, i) : limit;
        double from = asc_json_num(asc_json_get(part, "from_log10"), 0.0),
               to = asc_json_num(asc_json_get(part, "to_log10"), 0.0);
        if (zero && from < -3.5) break;
        piece p = {&j, zero ? pow(10.0, from) : 0.0, zero ? pow(10.0, to) : 1.0};
        printf("  baseline %.*s, alpha %g to %g\n", (int)base.len, base.ptr, p.from, p.to);
        for (int t = 0; st == ASC_OK && t < (n > 0 ? n : 1); t++)
            st = one_piece(&p, asc_json_get(part, "scores"), n > 0 ? strtod(tolerances[t], NULL) : 0.01,
                           n <= 0);
    }
    asc_job_deinit(&j);
    return st;
}

static asc_status all_cases(asc_ctx *ctx, asc_model *m, const char *path, int argc, char **argv) {
    char *text = NULL;
    size_t len = 0;
    asc_status st = asc_file_read(ctx, path, (size_t)1 << 26, &text, &len);
    for (const char *at = text, *nl; st == ASC_OK && at < text + len; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(text + len - at));
        if (nl == NULL) break;
        asc_json *line = NULL;
        st = asc_json_parse(ctx, at, (size_t)(nl - at), &line);
        asc_view name = asc_json_str(asc_json_get(line, "name"));
        const asc_json *limits = asc_json_get(asc_json_get(line, "methods"), "ig_limit");
        bool wanted = argc < 1 || (name.len == strlen(argv[0]) && memcmp(name.ptr, argv[0], name.len) == 0);
        if (wanted && asc_json_len(limits) > 0) printf("%.*s\n", (int)name.len, name.ptr);
        for (size_t i = 0; st == ASC_OK && wanted && i < asc_json_len(limits); i++)
            st = one_limit(m, line, asc_json_at(limits, i), argv + 1, argc - 1);
        asc_json_free(line);
    }
    asc_free(ctx, text);
    return st;
}

int main(int argc, char **argv) {
    asc_ctx *ctx = NULL;
    asc_model *m = NULL;
    asc_ctx_options o = {.struct_size = sizeof o};
    if (argc < 3) {
        printf("usage: bench_adaptive MODEL.gguf smollm2_attr.jsonl [case] [tolerance ...]\n");
        return argc == 1 ? 0 : 2;
    }
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) st = asc_model_open(ctx, argv[1], NULL, &m);
    if (st == ASC_OK) st = all_cases(ctx, m, argv[2], argc - 3, argv + 3);
    if (st != ASC_OK) printf("%s\n", ctx != NULL ? asc_error_message(ctx) : "out of memory");
    asc_model_close(m);
    asc_ctx_destroy(ctx);
    return st == ASC_OK ? 0 : 1;
}

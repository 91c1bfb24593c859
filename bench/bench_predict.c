/* bench_predict.c - what a dry run predicts against what the run then takes: peak of what is allocated, and
 * time.
 *
 * usage: bench_predict [--runs N] MODEL.gguf [NET.onnx]
 * Each job is predicted and run in turns, each time in a context of its own; the columns are medians over the
 * runs. Limits: peak within 5 %, time within 25 %. On a machine that does other work the time says
 * little, and threads must not spin: OMP_WAIT_POLICY=passive.
 */
#include "ascribe/attr.h"
#include "ascribe/attribute.h"
#include "ascribe/builtin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 15, MOST_TOKENS = 512 };

typedef struct figures {
    double peak, seconds;
} figures;

typedef struct job {
    const char *name, *path, *method, *rule;
    size_t tokens, steps; /* tokens 0: a net */
} job;

static void check(asc_ctx *ctx, asc_status st) {
    if (st == ASC_OK) return;
    fprintf(stderr, "bench_predict: %s\n", asc_error_message(ctx));
    exit(1);
}

static figures on_prompt(asc_ctx *ctx, const job *j, bool dry) {
    static const int32_t target[] = {260};
    int32_t ids[MOST_TOKENS];
    asc_model *m = NULL;
    asc_result *r = NULL;
    for (size_t i = 0; i < j->tokens; i++) ids[i] = (int32_t)(300 + (i * 7919) % 20000);
    check(ctx, asc_model_open(ctx, j->path, NULL, &m));
    asc_request q = {.struct_size = sizeof q,
                     .method = j->method,
                     .rule = j->rule,
                     .steps = j->steps,
                     .prompt_ids = ids,
                     .n_prompt_ids = j->tokens,
                     .target_ids = target,
                     .n_target_ids = 1,
                     .features = ASC_FEATURES_TOKEN,
                     .dry_run = dry};
    check(ctx, asc_explain(m, &q, &r));
    figures f = dry ? (figures){(double)r->predicted_peak_bytes, r->predicted_seconds}
                    : (figures){(double)r->peak_bytes, r->seconds};
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    return f;
}

static figures attribute(asc_ctx *ctx, asc_net *net, const asc_attr_request *q) {
    asc_attribution *r = NULL;
    check(ctx, asc_attribute(net, q, &r));
    figures f = q->dry_run ? (figures){(double)r->predicted_peak_bytes, r->predicted_seconds}
                           : (figures){(double)r->peak_bytes, r->seconds};
    asc_attribution_destroy(ctx, r);
    return f;
}

/* A picture of one colour after another, for a net of one input [N,3,H,W]. */
static figures on_file(asc_ctx *ctx, const job *j, bool dry) {
    static float pixels[3 * 48 * 192];
    static const int64_t first[] = {0};
    asc_net *net = NULL;
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = (float)(i * 37 % 255) / 255.0f;
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1, 3, 48, 192), .data = pixels};
    check(ctx, asc_onnx_open(ctx, j->path, &net));
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = j->method,
                          .rule = j->rule,
                          .steps = j->steps,
                          .inputs = &in,
                          .n_inputs = 1,
                          .target = {.n_rows = 1, .rank = 1, .index = first},
                          .dry_run = dry};
    figures f = attribute(ctx, net, &q);
    asc_net_close(net);
    return f;
}

static figures on_builtin(asc_ctx *ctx, const job *j, bool dry) {
    asc_builtin *b = NULL;
    asc_attr_request q;
    check(ctx, asc_builtin_open(ctx, "mlp", &b));
    check(ctx, asc_builtin_request(b, j->method, false, &q));
    q.dry_run = dry;
    if (j->steps > 0) q.steps = j->steps;
    figures f = attribute(ctx, asc_builtin_net(b), &q);
    asc_builtin_close(b);
    return f;
}

static figures once(const job *j, bool dry) {
    asc_ctx *ctx = NULL;
    asc_ctx_options o = {.struct_size = sizeof o};
    if (asc_ctx_create(&o, &ctx) != ASC_OK) exit(1);
    figures f = j->tokens > 0 ? on_prompt(ctx, j, dry)
                : j->path != NULL ? on_file(ctx, j, dry)
                                  : on_builtin(ctx, j, dry);
    asc_ctx_destroy(ctx);
    return f;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, size_t n) {
    qsort(x, n, sizeof *x, by_size);
    return x[n / 2];
}

static void compare(const job *j, size_t runs) {
    double peak[MOST_RUNS], time[MOST_RUNS], mb[MOST_RUNS], seconds[MOST_RUNS];
    for (size_t i = 0; i < runs; i++) {
        figures p = once(j, true), f = once(j, false);
        peak[i] = p.peak / f.peak;
        time[i] = p.seconds / f.seconds;
        mb[i] = f.peak / 1e6;
        seconds[i] = f.seconds;
    }
    printf("%-34s %9.1f %8.3f %10.4f %8.2f\n", j->name, median(mb, runs), median(peak, runs),
           median(seconds, runs), median(time, runs));
    fflush(stdout);
}

int main(int argc, char **argv) {
    size_t runs = 3;
    int at = 1;
    if (argc > 2 && strcmp(argv[1], "--runs") == 0) {
        runs = (size_t)strtoul(argv[2], NULL, 10);
        at = 3;
    }
    if (runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: bench_predict [--runs 1..%d] MODEL.gguf [NET.onnx]\n", MOST_RUNS);
        return 2;
    }
    const char *model = at < argc ? argv[at] : NULL, *net = at + 1 < argc ? argv[at + 1] : NULL;
    const job jobs[] = {
        {"MLP, saliency", NULL, "saliency", NULL, 0, 0},
        {"MLP, integrated gradients, 50", NULL, "integrated-gradients", NULL, 0, 50},
        {"ONNX, saliency", net, "saliency", NULL, 0, 0},
        {"ONNX, integrated gradients, 16", net, "integrated-gradients", "gauss-legendre", 0, 16},
        {"56 tokens, saliency", model, "saliency", NULL, 56, 0},
        {"56 tokens, feature ablation", model, "feature-ablation", NULL, 56, 0},
        {"56 tokens, integrated gradients, 16", model, "integrated-gradients", "gauss-legendre", 56, 16},
        {"512 tokens, saliency", model, "saliency", NULL, 512, 0},
        {"512 tokens, integrated gradients, 4", model, "integrated-gradients", "gauss-legendre", 512, 4},
    };
    printf("%-34s %9s %8s %10s %8s\n", "job", "peak MB", "pred/is", "seconds", "pred/is");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if ((jobs[i].tokens > 0 && model == NULL) || (i >= 2 && jobs[i].path == NULL)) continue;
        compare(&jobs[i], runs);
    }
    return 0;
}

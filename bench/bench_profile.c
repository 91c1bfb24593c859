/* bench_profile.c - what the profiler costs while it records: the same call with and without, in turns, in
 * one process.
 *
 * usage: bench_profile [--runs N] [--mode MODE] mlp|cnn|transformer|MODEL.gguf ...
 * Run it with GOMP_SPINCOUNT=4000, as the program sets it: threads that spin take processor time for nothing.
 * Columns: job, calls a turn, processor milliseconds a call without and with (median of the turns), their
 * ratio, the median of the ratios of neighbouring turns, events a call. The ratios of turns are what counts
 * on a busy machine.
 */
#include "ascribe/attr.h"
#include "ascribe/builtin.h"
#include "ascribe/model.h"
#include "ascribe/profile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 201 };

typedef struct job {
    asc_ctx *ctx;
    asc_builtin *builtin;
    asc_model *model;
    asc_attr_request q;
    asc_request prompt;
} job;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check(asc_ctx *ctx, asc_status st) {
    if (st == ASC_OK) return;
    fprintf(stderr, "bench_profile: %s\n", asc_error_message(ctx));
    exit(1);
}

static void call(job *j) {
    if (j->builtin != NULL) {
        asc_attribution *r = NULL;
        check(j->ctx, asc_attribute(asc_builtin_net(j->builtin), &j->q, &r));
        asc_attribution_destroy(j->ctx, r);
    } else {
        asc_result *r = NULL;
        check(j->ctx, asc_explain(j->model, &j->prompt, &r));
        asc_result_destroy(j->ctx, r);
    }
}

static double turn(job *j, int calls, bool profiled) {
    if (profiled) check(j->ctx, asc_profile_start(j->ctx, NULL));
    const double t0 = cpu();
    for (int i = 0; i < calls; i++) call(j);
    const double ms = (cpu() - t0) / calls;
    asc_profile_stop(j->ctx);
    return ms;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

static void measure(const char *name, const char *mode, int runs) {
    static double off[MOST_RUNS], on[MOST_RUNS], ratio[MOST_RUNS];
    job j = {0};
    const asc_ctx_options o = {.struct_size = sizeof o, .mode = mode};
    check(j.ctx, asc_ctx_create(&o, &j.ctx));
    if (strstr(name, ".gguf") != NULL) {
        static const char text[] = "The capital of France is";
        check(j.ctx, asc_model_open(j.ctx, name, NULL, &j.model));
        j.prompt = (asc_request){.struct_size = sizeof j.prompt,
                                 .prompt = {text, sizeof text - 1},
                                 .target = {" Paris", 6},
                                 .method = "integrated-gradients",
                                 .rule = "gauss-legendre",
                                 .steps = 8};
    } else {
        check(j.ctx, asc_builtin_open(j.ctx, name, &j.builtin));
        check(j.ctx, asc_builtin_request(j.builtin, "integrated-gradients", false, &j.q));
        j.q.steps = 50;
    }
    call(&j); /* warm */
    int calls = 1;
    while (turn(&j, calls, false) * calls < 20 && calls < 1 << 16) calls *= 2;
    for (int i = 0; i < runs; i++) { /* the order alternates too */
        const bool first = i % 2 == 1;
        const double a = turn(&j, calls, first), b = turn(&j, calls, !first);
        off[i] = first ? b : a;
        on[i] = first ? a : b;
        ratio[i] = on[i] / off[i];
    }
    const double events = (double)asc_profile_summary_of(j.ctx).events / calls;
    const double a = median(off, runs), b = median(on, runs);
    printf("%-24s %-9s %6d %12.4f %12.4f %8.4f %8.4f %10.0f\n", name, mode, calls, a, b, b / a,
           median(ratio, runs), events);
    asc_builtin_close(j.builtin);
    asc_model_close(j.model);
    asc_ctx_destroy(j.ctx);
}

int main(int argc, char **argv) {
    int runs = 21, i = 1;
    const char *mode = "deferred";
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--runs") == 0) runs = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--mode") == 0) mode = argv[i + 1];
    }
    if (i >= argc || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: bench_profile [--runs N] [--mode MODE] mlp|cnn|transformer|MODEL.gguf ...\n");
        return 2;
    }
    printf("%-24s %-9s %6s %12s %12s %8s %8s %10s\n", "job", "mode", "calls", "off ms", "on ms", "ratio",
           "turns", "events");
    for (; i < argc; i++) measure(argv[i], mode, runs);
    return 0;
}

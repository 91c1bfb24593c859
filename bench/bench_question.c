/* bench_question.c - what a question costs above the call it becomes: reading it and asking it, against
 * asc_attribute with the same request, in alternation, in processor time. The built-in mlp, one input handed
 * over in memory. */
#include "ascribe/ask.h"
#include "ascribe/builtin.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 40, CALLS = 250 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int fail(asc_ctx *ctx) {
    fprintf(stderr, "bench_question: %s\n", asc_error_message(ctx));
    return 1;
}

int main(void) {
    static const char saliency[] = "{\"input\": {\"array\": \"x\"}, \"target\": 1, \"method\": \"saliency\"}";
    static const char ig[] = "{\"input\": {\"array\": \"x\"}, \"target\": 1, \"method\": "
                             "\"integrated-gradients\", \"rule\": \"gauss-legendre\", \"steps\": 50, "
                             "\"baseline\": {\"array\": \"b\"}}";
    static const char lists[] = "{\"input\": [[0.5, 0.25, -1, 2, 0, 0.125, 1, -0.5]], \"target\": 1, "
                                "\"method\": \"saliency\"}";
    static const char *const questions[] = {saliency, ig, lists};
    float x[8] = {0.5f, 0.25f, -1, 2, 0, 0.125f, 1, -0.5f}, zero[8] = {0};
    const asc_named_array arrays[] = {{.name = "x", .array = {ASC_ELEM_F32, {2, {1, 8}}, x}},
                                      {.name = "b", .array = {ASC_ELEM_F32, {2, {1, 8}}, zero}}};
    asc_ctx *ctx = NULL;
    asc_builtin *b = NULL;
    asc_subject *s = NULL;
    const asc_ctx_options o = {.struct_size = sizeof o, .n_threads = 1};
    if (asc_ctx_create(&o, &ctx) != ASC_OK) return 1;
    if (asc_builtin_open(ctx, "mlp", &b) != ASC_OK) return fail(ctx);
    if (asc_subject_of_net(ctx, asc_builtin_net(b), &s) != ASC_OK) return fail(ctx);
    printf("%12s %12s %12s  question (microseconds of processor time, least of %d rounds)\n", "read+free",
           "attribute", "whole", ROUNDS);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        asc_view json = {questions[i], strlen(questions[i])};
        double best[3] = {1e9, 1e9, 1e9};
        for (int round = 0; round < ROUNDS; round++) {
            asc_question *q = NULL;
            asc_answer *a = NULL;
            asc_attribution *r = NULL;
            double t[4];
            t[0] = now();
            for (int k = 0; k < CALLS; k++) {
                if (asc_question_parse(s, json, arrays, 2, &q) != ASC_OK) return fail(ctx);
                asc_question_destroy(q);
            }
            t[1] = now();
            if (asc_question_parse(s, json, arrays, 2, &q) != ASC_OK) return fail(ctx);
            for (int k = 0; k < CALLS; k++) {
                if (asc_attribute(asc_builtin_net(b), asc_question_attr_request(q), &r) != ASC_OK)
                    return fail(ctx);
                asc_attribution_destroy(ctx, r);
            }
            asc_question_destroy(q);
            t[2] = now();
            for (int k = 0; k < CALLS; k++) {
                if (asc_question_parse(s, json, arrays, 2, &q) != ASC_OK || asc_ask(s, q, &a) != ASC_OK)
                    return fail(ctx);
                asc_answer_destroy(a);
                asc_question_destroy(q);
            }
            t[3] = now();
            for (int k = 0; k < 3; k++) best[k] = best[k] < t[k + 1] - t[k] ? best[k] : t[k + 1] - t[k];
        }
        printf("%12.2f %12.2f %12.2f  %s\n", best[0] / CALLS, best[1] / CALLS, best[2] / CALLS, questions[i]);
    }
    asc_subject_close(s);
    asc_builtin_close(b);
    asc_ctx_destroy(ctx);
    return 0;
}

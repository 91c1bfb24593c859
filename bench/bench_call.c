/* bench_call.c - what one question about a small net costs in C: the figure that Python's calls are set
 * against (bindings/python/tests/bench_call.py).
 *
 * usage: bench_call MODEL.onnx JSON WIDTH CALLS: the question JSON speaks of {"array": "x"}, one row of WIDTH
 * numbers. Prints the processor's microseconds a call: reading the question, asking, and freeing both.
 */
#include "ascribe/ask.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int call(asc_subject *s, asc_view json, const asc_named_array *x) {
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_status st = asc_question_parse(s, json, x, 1, &q);
    if (st == ASC_OK) st = asc_ask(s, q, &a);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    return st == ASC_OK ? 0 : -1;
}

int main(int argc, char **argv) {
    static float row[4096];
    asc_ctx_options o = {.struct_size = sizeof o, .n_threads = 1};
    asc_ctx *ctx = NULL;
    asc_subject *s = NULL;
    int width = argc == 5 ? atoi(argv[3]) : 0, calls = argc == 5 ? atoi(argv[4]) : 0, failed = 1;
    if (width < 1 || width > 4096 || calls < 1) {
        fprintf(stderr, "usage: bench_call MODEL.onnx JSON WIDTH CALLS\n");
        return 2;
    }
    for (int i = 0; i < width; i++) row[i] = (float)i / (float)width - 0.5f;
    asc_view json = {.ptr = argv[2], .len = strlen(argv[2])};
    asc_named_array x = {.name = "x", .array = {ASC_ELEM_F32, ASC_SHAPE(1, width), row}};
    if (asc_ctx_create(&o, &ctx) == ASC_OK && asc_subject_open(ctx, argv[1], NULL, &s) == ASC_OK) {
        failed = 0;
        for (int i = 0; i < 50 && !failed; i++) failed = call(s, json, &x); /* programs are made once */
        double start = now();
        for (int i = 0; i < calls && !failed; i++) failed = call(s, json, &x);
        if (!failed) printf("%.3f\n", (now() - start) / calls);
    }
    if (failed) fprintf(stderr, "bench_call: %s\n", ctx != NULL ? asc_error_message(ctx) : "out of memory");
    asc_subject_close(s);
    asc_ctx_destroy(ctx);
    return failed ? 1 : 0;
}

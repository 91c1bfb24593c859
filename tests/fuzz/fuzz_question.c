/* fuzz_question.c - any bytes as a question: about a small language model, and about one that is not there,
 * as a line of a batch; what was read is asked for its command line. */
#include "ask_parts.h"
#include "ctx.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(asc_ctx *ctx, asc_status st) {
    if (st != ASC_OK && asc_error_message(ctx)[0] == '\0') abort();
    if (st == ASC_INVALID_ARGUMENT && asc_error_hint(ctx)[0] == '\0') abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_view json = {(const char *)data, size};
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    char path[] = "m.gguf";
    for (int kind = ASC_SUBJECT_DECODER; kind <= ASC_SUBJECT_ENCODER; kind++) {
        asc_subject s = {.ctx = ctx, .kind = (asc_subject_kind)kind, .path = path};
        asc_question *q = NULL;
        asc_text *t = NULL;
        asc_error_clear(ctx);
        check(ctx, asc_question_parse(&s, json, NULL, 0, &q));
        if (q != NULL && asc_text_create(ctx, &t) == ASC_OK && !asc_question_command(q, t) &&
            asc_text_view(t).len > 0)
            abort();
        asc_text_destroy(t);
        asc_question_destroy(q);
    }
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}

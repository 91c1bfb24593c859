/* fuzz_question_net.c - any bytes as a question about small nets: of numbers and ids, of bytes, of pictures,
 * with arrays in memory. What can be read is asked, as a price only, and written. */
#include "../ask/ask_scene.h"
#include "ctx.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(asc_ctx *ctx, scene_kind kind, asc_view json) {
    scene c;
    asc_question *q = NULL;
    asc_text *t = NULL;
    if (scene_make(ctx, kind, &c) != ASC_OK) abort();
    asc_error_clear(ctx);
    asc_status st = asc_question_parse(c.s, json, scene_arrays, SCENE_ARRAYS, &q);
    if ((q != NULL) != (st == ASC_OK) || (st != ASC_OK && asc_error_message(ctx)[0] == '\0')) abort();
    if (st == ASC_INVALID_ARGUMENT && asc_error_hint(ctx)[0] == '\0') abort();
    if (q != NULL && asc_text_create(ctx, &t) == ASC_OK) {
        asc_answer *a = NULL;
        char path[] = "m.onnx", *own = c.s->path;
        c.s->path = path;
        if (!asc_question_command(q, t) && asc_text_view(t).len > 0) abort();
        c.s->path = own;
        asc_question_set_dry_run(q, true);
        if (asc_ask(c.s, q, &a) == ASC_OK) asc_answer_json(a, t);
        asc_answer_destroy(a);
    }
    asc_text_destroy(t);
    asc_question_destroy(q);
    scene_end(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const asc_ctx_options o = {.struct_size = sizeof o, .n_threads = 1};
    asc_ctx *ctx = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) abort();
    for (int kind = SCENE_TWO; kind <= SCENE_PICTURE; kind++)
        one(ctx, (scene_kind)kind, (asc_view){(const char *)data, size});
    asc_ctx_destroy(ctx);
    return 0;
}

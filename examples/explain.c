/* explain.c - the smallest program that explains an answer: explain MODEL.gguf "The capital of France is" ["
 * Paris"]. Build it with: cc explain.c $(pkg-config --cflags --libs ascribe) */
#include "ascribe/attr.h"
#include <stdio.h>
#include <string.h>

/* Tells what went wrong and what to do about it. */
static int fail(asc_ctx *ctx) {
    fprintf(stderr, "explain: %s\n", asc_error_message(ctx));
    if (asc_error_hint(ctx)[0] != '\0') fprintf(stderr, "  try: %s\n", asc_error_hint(ctx));
    return 1;
}

int main(int argc, char **argv) {
    asc_ctx *ctx = NULL;
    asc_model *model = NULL;
    asc_result *result = NULL;
    int rc = 1;
    if (argc < 3) {
        fprintf(stderr, "usage: explain MODEL.gguf PROMPT [TARGET]\n");
        return 2;
    }
    if (asc_ctx_create(NULL, &ctx) != ASC_OK) return 1;

    asc_request request = {.struct_size = sizeof request, .prompt = {argv[2], strlen(argv[2])}};
    if (argc > 3) request.target = (asc_view){argv[3], strlen(argv[3])}; /* else the model's own next token */

    if (asc_model_open(ctx, argv[1], NULL, &model) != ASC_OK ||
        asc_explain(model, &request, &result) != ASC_OK) {
        rc = fail(ctx);
        goto done;
    }
    printf("probability of the answer: %.3g %%\n", 100 * result->target_prob);
    for (size_t i = 0; i < result->n_features; i++) {
        const asc_feature *f = &result->features[i];
        printf("%+10.4f (error %.1g)  %s\n", f->score, f->error, f->text);
    }
    if (!result->converged) printf("NOT CONVERGED: do not trust these numbers\n");
    rc = 0;
done:
    asc_result_destroy(ctx, result);
    asc_model_close(model);
    asc_ctx_destroy(ctx);
    return rc;
}

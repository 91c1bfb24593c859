/* ask_json.c - asks a model of any kind a question written as JSON; prints the answer's document.
 *
 * usage: example_ask_json MODEL '{"prompt": "The capital of France is", "target": " Paris"}'
 */
#include "ascribe/ask.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    asc_ctx *ctx = NULL;
    asc_subject *model = NULL;
    asc_question *question = NULL;
    asc_answer *answer = NULL;
    asc_text *document = NULL;
    if (argc != 3) {
        fputs("usage: example_ask_json MODEL QUESTION\n", stderr);
        return 2;
    }
    asc_status st = asc_ctx_create(NULL, &ctx);
    if (st == ASC_OK) st = asc_text_create(ctx, &document);
    if (st == ASC_OK) st = asc_subject_open(ctx, argv[1], NULL, &model);
    if (st == ASC_OK)
        st = asc_question_parse(model, (asc_view){argv[2], strlen(argv[2])}, NULL, 0, &question);
    if (st == ASC_OK) st = asc_ask(model, question, &answer);
    if (st == ASC_OK) {
        asc_answer_json(answer, document);
        st = asc_text_write(document, "-");
    }
    if (st != ASC_OK && ctx != NULL) {
        const char *remedy = asc_error_hint(ctx);
        fprintf(stderr, "%s%s%s\n", asc_error_message(ctx), remedy[0] != '\0' ? "\n  try: " : "", remedy);
    }
    asc_answer_destroy(answer); /* before its question, and that before the model */
    asc_question_destroy(question);
    asc_subject_close(model);
    asc_text_destroy(document);
    asc_ctx_destroy(ctx);
    return st == ASC_OK ? 0 : 1;
}

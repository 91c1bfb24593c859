/* ask_answer.c - asking, and the answer as document, page and text: those of `ascribe explain`. */
#include "ask_parts.h"
#include <stdio.h>

asc_status asc_ask(asc_subject *s, asc_question *q, asc_answer **out) {
    *out = NULL;
    if (q->subject != s)
        return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT, "the question was read for another subject");
    asc_answer *a = asc_calloc(s->ctx, ASC_MEM_GENERAL, 1, sizeof *a);
    if (a == NULL) return ASC_RESOURCE_EXHAUSTED;
    *a = (asc_answer){.ctx = s->ctx, .subject = s, .question = q};
    asc_status st =
        q->kind == ASC_SUBJECT_NET ? asc_ask_net_run(q, a) : asc_explain(s->model, &q->request, &a->result);
    if (st == ASC_OK) {
        *out = a;
        return ASC_OK;
    }
    asc_ask_say_keys(s->ctx);
    asc_answer_destroy(a);
    return st;
}

void asc_answer_destroy(asc_answer *a) {
    if (a == NULL) return;
    asc_ask_net_answer_free(a);
    asc_attribution_destroy(a->ctx, a->attribution);
    asc_result_destroy(a->ctx, a->result);
    asc_free(a->ctx, a);
}

const asc_result *asc_answer_result(const asc_answer *a) { return a->result; }

const asc_attribution *asc_answer_attribution(const asc_answer *a) { return a->attribution; }

static asc_report report_of(const asc_answer *a) {
    return (asc_report){.request = &a->question->request,
                        .result = a->result,
                        .tokenizer = asc_model_tokenizer(a->subject->model),
                        .weights = a->subject->weights};
}

/* Documents name the model by its hash; it is taken when the first of them is written, not before each
 * answer. A file that cannot be read any more leaves it out. */
static void add_hash(asc_answer *a) {
    const char *hash = NULL;
    if (a->result->model_sha256[0] == '\0' && asc_model_sha256(a->subject->model, &hash) == ASC_OK)
        snprintf(a->result->model_sha256, sizeof a->result->model_sha256, "%s", hash);
}

void asc_answer_json(asc_answer *a, asc_text *out) {
    if (a->result == NULL) {
        asc_ask_net_json(a, out);
        return;
    }
    add_hash(a);
    asc_report rep = report_of(a);
    asc_report_json(out, &rep);
}

void asc_answer_html(asc_answer *a, asc_text *out) {
    if (a->result == NULL) {
        asc_ask_net_html(a, out);
        return;
    }
    add_hash(a);
    asc_report rep = report_of(a);
    asc_report_html(a->ctx, out, &rep);
}

void asc_answer_text(asc_answer *a, asc_text *out, const asc_report_style *style) {
    const asc_report_style plain = {.struct_size = sizeof plain};
    if (style == NULL) style = &plain;
    if (a->result == NULL) {
        asc_ask_net_text(a, out, style);
        return;
    }
    asc_report rep = report_of(a);
    if (rep.request->dry_run)
        asc_report_price(a->ctx, out, &rep);
    else
        asc_report_text(out, &rep, style);
}

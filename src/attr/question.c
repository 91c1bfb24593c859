/* question.c - what of the answer is explained: all of it, a span, each token, a contrast, or how far the
 * next token's whole distribution moves. Combinations without a meaning are refused here, with the reason. */
#include "method.h"
#include "view.h"
#include <string.h>

static asc_status refuse_kl(asc_job *j, const char *what, const char *remedy) {
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "output kl %s", what);
    return asc_hint(j->ctx, "%s", remedy);
}

/* The divergence is of the next token's distribution, so there is no answer to speak of; its gradient at the
 * whole prompt is 0, since that is where it is smallest. */
static asc_status check_kl(asc_job *j) {
    const asc_request *q = j->req;
    if (j->method->by_gradient)
        return refuse_kl(j,
                         "has a gradient of 0 at the whole prompt, where the divergence from it is smallest",
                         "use a method that perturbs, as feature-ablation, or --output logprob");
    if (q->target.ptr != NULL || q->target_ids != NULL || q->generate > 1)
        return refuse_kl(j, "compares the whole next-token distribution; it has no target",
                         "leave the target out, or use --output logprob");
    if (q->versus.ptr != NULL || q->versus_ids != NULL)
        return refuse_kl(j, "compares the whole next-token distribution; it has no contrast",
                         "leave --versus out, or use --output logprob");
    if (q->span_end > 0 || q->span.ptr != NULL || q->per_token)
        return refuse_kl(j, "is about the one next token: there are no spans and no answer tokens",
                         "leave --span and --per-token out, or use --output logprob");
    return ASC_OK;
}

static asc_status check_per_token(asc_job *j) {
    const asc_request *q = j->req;
    const char *name = j->method->info.name;
    if (q->versus.ptr != NULL || q->versus_ids != NULL) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "scores of each answer token and a contrast: the two answers' tokens have no pairs");
        return asc_hint(j->ctx, "leave out --versus or --per-token");
    }
    if (j->inner != 0) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "rows of layers and rows of answer tokens in one request");
        return asc_hint(j->ctx, "leave out --layers or --per-token");
    }
    if (!j->method->per_token) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s gives no scores of single answer tokens: %s", name,
                 strstr(name, "patching") != NULL ? "it compares two prompts on the whole answer"
                                                  : "it follows attention, which is shared by all of them");
        return asc_hint(j->ctx, "use feature-ablation or input-x-gradient, or explain each token by --span");
    }
    if (j->r->rule != NULL && strcmp(j->r->rule, "adaptive") == 0) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
                 "%s refines itself until one sum has converged, not one for each answer token", name);
        return asc_hint(j->ctx, "use a fixed rule, as --rule gauss-legendre --steps 64, or --span for one "
                                "token");
    }
    if (j->r->rule != NULL && j->r->rule[0] != '\0' && q->output == ASC_OUTPUT_PROB) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
                 "%s gives scores of answer tokens for log-probabilities and logits", name);
        return asc_hint(j->ctx, "leave --output prob out");
    }
    return ASC_OK;
}

asc_status asc_job_question(asc_job *j) {
    const asc_request *q = j->req;
    if (j->encoder != NULL) {
        if (q->span.ptr == NULL && q->span_end == 0 && !q->per_token && q->output != ASC_OUTPUT_KL)
            return ASC_OK;
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "a text encoder writes no answer: there are no spans, answer "
                 "tokens or next tokens to explain");
        return asc_hint(j->ctx, "leave --span, --per-token and --output kl out");
    }
    if (q->span.ptr != NULL && q->span_end > 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "a span as text and as tokens");
        return asc_hint(j->ctx, "give one of them");
    }
    if (q->span_end > 0 && q->span_start >= q->span_end) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the span %zu:%zu is empty", q->span_start, q->span_end);
        return asc_hint(j->ctx, "the first number is smaller than the second: 0:2 is the first two tokens");
    }
    if (q->span_end == 0 && q->span_start > 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the span begins at token %zu and has no end", q->span_start);
        return asc_hint(j->ctx, "set span_end, one past the last token");
    }
    asc_status st = q->output == ASC_OUTPUT_KL ? check_kl(j) : ASC_OK;
    return st == ASC_OK && q->per_token ? check_per_token(j) : st;
}

/* Tokens of the target that hold the first place reading `text`. */
static asc_status find_text(asc_job *j, asc_view text) {
    asc_result *r = j->r;
    size_t at = 0, start = 0;
    while (at + text.len <= r->target_len && memcmp(r->target + at, text.ptr, text.len) != 0) at++;
    if (text.len == 0 || at + text.len > r->target_len) {
        asc_view shown = asc_view_cut(asc_view_make(r->target, r->target_len), 80),
                 asked = asc_view_cut(text, 60);
        ASC_FAIL(j->ctx, ASC_NOT_FOUND, "the answer has no part that reads \"" ASC_VIEW_FMT "\"",
                 ASC_VIEW_ARG(asked));
        return asc_hint(j->ctx, "the answer is \"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(shown));
    }
    for (size_t k = 0; k < r->n_target; k++) {
        size_t end = start + asc_token_piece(asc_model_tokenizer(j->m), r->target_ids[k]).len;
        if (end > at && j->span_end == 0) j->span_start = k;
        if (end > at && start < at + text.len) j->span_end = k + 1;
        start = end;
    }
    return ASC_OK;
}

asc_status asc_job_span(asc_job *j) {
    const asc_request *q = j->req;
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    if (q->span.ptr != NULL && q->dry_run && q->target.ptr == NULL && q->target_ids == NULL) {
        ASC_FAIL(j->ctx, ASC_FAILED_PRECONDITION, "a dry run makes no answer to look for the span's text in");
        return asc_hint(j->ctx, "give the span as tokens: --span FIRST:LAST");
    }
    if (q->span.ptr != NULL) {
        st = find_text(j, q->span);
    } else if (q->span_end > r->n_target) {
        ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE, "the span %zu:%zu ends outside the answer, which has %zu tokens",
                 q->span_start, q->span_end, r->n_target);
        st = asc_hint(j->ctx, "count from 0; the second number is one past the last token");
    } else {
        j->span_start = q->span_start;
        j->span_end = q->span_end;
    }
    if (st == ASC_OK && j->span_end == 0 && q->output != ASC_OUTPUT_KL) j->span_end = r->n_target;
    r->span_start = j->span_start;
    r->span_end = j->span_end;
    return st;
}

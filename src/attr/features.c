/* features.c - groups prompt tokens into what the user asked about: tokens, words, sentences, messages.
 * Tokens that no user wrote (a begin token, a chat template's own text) are in no feature, except with token
 * features: they are never perturbed, so scores speak of the text alone. */
#include "method.h"
#include "target_encoder.h"
#include "view.h"
#include <string.h>

static asc_status groups_reserve(asc_job *j, size_t n) {
    j->groups = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->groups);
    j->group_message = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->group_message);
    return j->groups == NULL || j->group_message == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
}

/* Message of a byte; content says whether a user wrote it. */
static int64_t message_at(const asc_chat_text *chat, size_t byte, bool *content) {
    *content = true;
    if (chat == NULL) return -1;
    for (size_t i = 0; i < chat->n_spans; i++) {
        const asc_chat_span *s = &chat->spans[i];
        if (byte < s->start || byte >= s->end) continue;
        *content = s->is_content;
        return s->message;
    }
    *content = false;
    return -1;
}

static void add_group(asc_job *j, size_t first, size_t last, int64_t message) {
    asc_result *r = j->r;
    j->group_message[j->n_groups] = message;
    j->groups[j->n_groups++] = (asc_token_group){
        .first = first, .last = last, .start = r->token_start[first], .end = r->token_end[last - 1]};
}

static asc_status by_token(asc_job *j, const asc_chat_text *chat) {
    bool content;
    for (size_t i = 0; i < j->r->n_prompt; i++) {
        if (j->encoder != NULL && asc_encoder_frames(j, i)) continue;
        add_group(j, i, i + 1, message_at(chat, j->r->token_start[i], &content));
    }
    return ASC_OK;
}

static asc_status by_message(asc_job *j, const asc_chat_text *chat) {
    asc_result *r = j->r;
    if (chat == NULL) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "message features need chat messages");
        return asc_hint(j->ctx, "use --chat or --user, or --features word");
    }
    for (size_t i = 0; i < r->n_prompt;) {
        bool content;
        int64_t m = message_at(chat, r->token_start[i], &content);
        size_t k = i + 1;
        while (k < r->n_prompt && message_at(chat, r->token_start[k], &content) == m) k++;
        if (m >= 0) add_group(j, i, k, m);
        i = k;
    }
    return ASC_OK;
}

static asc_status by_segment(asc_job *j, const asc_chat_text *chat, asc_segment_unit unit) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    asc_view text = asc_view_make(r->prompt, r->prompt_len);
    asc_token *t = asc_calloc(ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *t);
    asc_span *spans = NULL;
    asc_token_group *groups = NULL;
    size_t n_spans = 0, n = 0;
    if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n_prompt; i++)
        t[i] = (asc_token){.id = r->prompt_ids[i], .start = r->token_start[i], .end = r->token_end[i]};
    ASC_TRY(asc_segment(ctx, text, unit, &spans, &n_spans));
    ASC_TRY(
        asc_group_tokens(ctx, asc_model_tokenizer(j->m), text, t, r->n_prompt, spans, n_spans, &groups, &n));
    for (size_t g = 0; g < n; g++) { /* cut at message borders; keep what a user wrote */
        for (size_t i = groups[g].first; i < groups[g].last;) {
            bool content, other;
            int64_t m = message_at(chat, t[i].start, &content);
            size_t k = i + 1;
            while (k < groups[g].last && message_at(chat, t[k].start, &other) == m && other == content) k++;
            bool empty = t[i].start == t[k - 1].end;
            bool control = k == i + 1 && j->req->messages == NULL && j->req->prompt_ids == NULL && empty;
            if (content && !control && !empty && !(j->encoder != NULL && asc_encoder_frames(j, i)))
                add_group(j, i, k, m);
            i = k;
        }
    }
done:
    asc_free(ctx, t);
    asc_free(ctx, spans);
    asc_free(ctx, groups);
    return st;
}

static asc_status fill_features(asc_job *j) {
    asc_result *r = j->r;
    r->features = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *r->features);
    if (r->features == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < j->n_groups; i++) {
        const asc_token_group *g = &j->groups[i];
        asc_feature *f = &r->features[i];
        *f = (asc_feature){.start = g->start,
                           .end = g->end,
                           .first_token = g->first,
                           .n_tokens = g->last - g->first,
                           .message = j->group_message[i],
                           .text_len = g->end - g->start};
        f->text =
            asc_strdup_view(j->ctx, ASC_MEM_GENERAL, asc_view_make(r->prompt + g->start, g->end - g->start));
        if (f->text == NULL) return ASC_RESOURCE_EXHAUSTED;
        r->n_features = i + 1;
        for (size_t k = g->first; k < g->last; k++) j->active[k] = true;
    }
    return ASC_OK;
}

/* One part a group; without it stands the baseline's token in each place, or nothing. */
static asc_status fill_parts(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    size_t longest = 0;
    for (size_t i = 0; i < j->n_groups; i++) {
        size_t n = j->groups[i].last - j->groups[i].first;
        if (n > longest) longest = n;
    }
    j->parts = asc_calloc(ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *j->parts);
    j->fill = asc_calloc(ctx, ASC_MEM_GENERAL, longest + 1, sizeof *j->fill);
    if (j->parts == NULL || j->fill == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < longest; i++) j->fill[i] = j->baseline_id;
    for (size_t i = 0; i < j->n_groups; i++) {
        const asc_token_group *g = &j->groups[i];
        j->parts[i] = (asc_part){.first = g->first,
                                 .last = g->last,
                                 .feature = (int32_t)i,
                                 .fill = j->fill,
                                 .n_fill = j->baseline_id >= 0 ? g->last - g->first : 0};
    }
    j->n_parts = j->n_groups;
    return ASC_OK;
}

asc_status asc_job_features(asc_job *j, const asc_chat_text *chat) {
    asc_status st = groups_reserve(j, j->r->n_prompt);
    if (st != ASC_OK) return st;
    j->r->feature_kind = j->req->features;
    switch (j->req->features) {
    case ASC_FEATURES_TOKEN:
        st = by_token(j, chat);
        break;
    case ASC_FEATURES_WORD:
        st = by_segment(j, chat, ASC_SEGMENT_WORD);
        break;
    case ASC_FEATURES_SENTENCE:
        st = by_segment(j, chat, ASC_SEGMENT_SENTENCE);
        break;
    case ASC_FEATURES_MESSAGE:
        st = by_message(j, chat);
        break;
    case ASC_FEATURES_PARAGRAPH: /* refused with the other options (options.c) */
    case ASC_FEATURES_SLOT:
        break;
    }
    if (st == ASC_OK && j->n_groups == 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the prompt has no words to ascribe to");
        st = asc_hint(j->ctx, "give at least one word, or use --features token");
    }
    if (st == ASC_OK) st = fill_features(j);
    return st == ASC_OK ? fill_parts(j) : st;
}

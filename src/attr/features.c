/* features.c - groups prompt tokens into what the user asked about: tokens, words, sentences, messages.
 * Tokens that no user wrote (a begin token, a chat template's own text) are in no feature, except with token
 * features: they are never perturbed, so scores speak of the text alone. */
#include "method.h"
#include "target_encoder.h"
#include "view.h"
#include <string.h>

static asc_status groups_reserve(asc_job *j, size_t n) {
    asc_ctx *ctx = j->ctx;
    j->groups = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->groups);
    j->group_message = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->group_message);
    j->parts = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->parts);
    j->off = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->off);
    return j->groups == NULL || j->group_message == NULL || j->parts == NULL || j->off == NULL
               ? ASC_RESOURCE_EXHAUSTED
               : ASC_OK;
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

/* Tokens that the request takes out: skipped ids, frozen bytes. A token with a visible byte in a frozen span
 * is frozen as a whole, so that frozen text never changes. */
static asc_status find_off(asc_job *j, const asc_chat_text *chat, bool *off) {
    const asc_request *q = j->req;
    const asc_result *r = j->r;
    asc_status st = ASC_OK;
    int64_t n_vocab = (int64_t)asc_tokenizer_get_info(asc_model_tokenizer(j->m)).n_vocab;
    for (size_t i = 0; j->encoder != NULL && i < r->n_prompt; i++) off[i] = asc_encoder_fixed(j, i);
    for (size_t k = 0; k < q->n_skip_tokens; k++) {
        if (q->skip_tokens[k] < 0 || q->skip_tokens[k] >= n_vocab) {
            ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE, "skipped token %d is not in the vocabulary of %lld",
                     q->skip_tokens[k], (long long)n_vocab);
            return asc_hint(j->ctx, "ids are 0 .. %lld", (long long)n_vocab - 1);
        }
        for (size_t i = 0; i < r->n_prompt; i++) off[i] = off[i] || r->prompt_ids[i] == q->skip_tokens[k];
    }
    for (size_t k = 0; k < q->n_frozen && st == ASC_OK; k++) {
        asc_span s = q->frozen[k];
        st = asc_job_place(j, chat, "frozen part", k, &s);
        for (size_t i = 0; i < r->n_prompt && st == ASC_OK; i++)
            off[i] = off[i] || asc_token_reaches(r, i, s.start, s.end);
    }
    return st;
}

static void add_part(asc_job *j, size_t first, size_t last, size_t feature) {
    j->parts[j->n_parts++] = (asc_part){.first = first, .last = last, .feature = (int32_t)feature};
}

/* A feature of the tokens [first, last) that are not taken out; none when all are. */
static void add_group(asc_job *j, size_t first, size_t last, int64_t message) {
    asc_result *r = j->r;
    size_t before = j->n_parts;
    for (size_t i = first, k; i < last; i = k) {
        for (k = i + 1; k < last && j->off[k] == j->off[i];) k++;
        if (!j->off[i]) add_part(j, i, k, j->n_groups);
    }
    if (j->n_parts == before) return;
    first = j->parts[before].first;
    last = j->parts[before].last;
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

/* The text of a feature: its label, or that of its parts, with an ellipsis where others stand between. */
static char *text_of(asc_job *j, size_t feature, size_t *len) {
    const asc_result *r = j->r;
    asc_strbuf b;
    bool any = false;
    asc_strbuf_init(&b, j->ctx);
    asc_strbuf_adds(&b, "");
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        asc_view label = j->placed != NULL ? j->req->slots[j->placed[i].slot].label : asc_view_make(NULL, 0);
        if (p->feature != (int32_t)feature) continue;
        if (label.ptr != NULL && any) continue; /* the first one's label names all */
        if (any) asc_strbuf_adds(&b, " \xe2\x80\xa6 ");
        if (label.ptr != NULL)
            asc_strbuf_addv(&b, label);
        else
            asc_strbuf_add(&b, r->prompt + r->token_start[p->first],
                           r->token_end[p->last - 1] - r->token_start[p->first]);
        any = true;
    }
    char *s = asc_strbuf_take(&b, len);
    asc_strbuf_deinit(&b);
    return s;
}

static asc_status fill_features(asc_job *j) {
    asc_result *r = j->r;
    r->features = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_groups + 1, sizeof *r->features);
    r->parts = asc_calloc(j->ctx, ASC_MEM_GENERAL, j->n_parts + 1, sizeof *r->parts);
    if (r->features == NULL || r->parts == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < j->n_groups; i++) {
        const asc_token_group *g = &j->groups[i];
        asc_feature *f = &r->features[i];
        *f = (asc_feature){.start = g->start,
                           .end = g->end,
                           .first_token = g->first,
                           .n_tokens = g->last - g->first,
                           .message = j->group_message[i]};
        f->text = text_of(j, i, &f->text_len);
        if (f->text == NULL) return ASC_RESOURCE_EXHAUSTED;
        r->n_features = i + 1;
    }
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_part *p = &j->parts[i];
        r->parts[i] = (asc_feature_part){.start = r->token_start[p->first],
                                         .end = r->token_end[p->last - 1],
                                         .first_token = p->first,
                                         .n_tokens = p->last - p->first,
                                         .feature = (size_t)p->feature};
        for (size_t k = p->first; k < p->last; k++) j->active[k] = true;
    }
    r->n_parts = j->n_parts;
    return ASC_OK;
}

/* Without a part stands the baseline's token in each place, or nothing; slots may say it themselves. */
static asc_status fill_parts(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    size_t longest = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        size_t n = j->parts[i].last - j->parts[i].first;
        if (n > longest) longest = n;
    }
    j->fill = asc_calloc(ctx, ASC_MEM_GENERAL, longest + 1, sizeof *j->fill);
    if (j->fill == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < longest; i++) j->fill[i] = j->baseline_id;
    for (size_t i = 0; i < j->n_parts; i++) {
        asc_part *p = &j->parts[i];
        p->fill = j->fill;
        p->n_fill = j->baseline_id >= 0 ? p->last - p->first : 0;
    }
    return j->placed != NULL ? asc_job_slot_fills(j) : ASC_OK;
}

static asc_status nothing_left(asc_job *j) {
    const asc_request *q = j->req;
    if (q->n_skip_tokens > 0 || q->n_frozen > 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "no features are left: everything in the prompt is frozen or skipped");
        return asc_hint(j->ctx, "freeze or skip less");
    }
    for (size_t i = 0; j->encoder != NULL && i < j->r->n_prompt; i++) {
        if (!asc_encoder_fixed(j, i)) continue;
        asc_view mask = asc_view_cut(asc_job_piece(j, j->m->encoder->cfg.mask), 40);
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "the text is nothing but " ASC_VIEW_FMT ": no words are left to ascribe the guess to",
                 ASC_VIEW_ARG(mask));
        return asc_hint(j->ctx,
                        "masks are what is explained, by the words around them: write those too, as "
                        "\"The " ASC_VIEW_FMT " of France is Paris.\"",
                        ASC_VIEW_ARG(mask));
    }
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the prompt has no words to ascribe to");
    return asc_hint(j->ctx, q->features == ASC_FEATURES_TOKEN
                                ? "give at least one word"
                                : "give at least one word, or use --features token");
}

/* Ids alone have no text: no words to tell apart, and no sentences. */
static asc_status without_text(asc_job *j) {
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    const asc_features kind = j->req->features;
    if (tk != NULL && strcmp(asc_tokenizer_get_info(tk).model, "ids") != 0) return ASC_OK;
    if (kind == ASC_FEATURES_SENTENCE || kind == ASC_FEATURES_PARAGRAPH) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "features by %s, but the model has no tokenizer: its tokens have no text",
                 asc_features_name(kind));
        return asc_hint(j->ctx, "use --features token, or put the model's tokenizer.json into its folder");
    }
    if (kind != ASC_FEATURES_WORD) return ASC_OK;
    j->adapted = *j->req;
    j->adapted.features = ASC_FEATURES_TOKEN;
    j->req = &j->adapted;
    return asc_job_warn(j, "features are tokens: the model has no tokenizer, so there are no words");
}

asc_status asc_job_features(asc_job *j, const asc_chat_text *chat) {
    asc_status st = without_text(j);
    if (st != ASC_OK) return st;
    const asc_request *q = j->req;
    st = groups_reserve(j, j->r->n_prompt);
    if (st == ASC_OK) st = find_off(j, chat, j->off);
    if (st != ASC_OK) return st;
    j->r->feature_kind = q->features;
    if (q->features != ASC_FEATURES_SLOT && q->n_slots > 0) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "slots, and features by %s", asc_features_name(q->features));
        return asc_hint(j->ctx, "use --features slot; to look inside a slot, freeze the rest");
    }
    switch (q->features) {
    case ASC_FEATURES_TOKEN:
        st = by_token(j, chat);
        break;
    case ASC_FEATURES_WORD:
        st = by_segment(j, chat, ASC_SEGMENT_WORD);
        break;
    case ASC_FEATURES_SENTENCE:
        st = by_segment(j, chat, ASC_SEGMENT_SENTENCE);
        break;
    case ASC_FEATURES_PARAGRAPH:
        st = by_segment(j, chat, ASC_SEGMENT_PARAGRAPH);
        break;
    case ASC_FEATURES_MESSAGE:
        st = by_message(j, chat);
        break;
    case ASC_FEATURES_SLOT:
        st = asc_job_slots(j, chat);
        break;
    }
    if (st == ASC_OK && j->n_groups == 0) st = nothing_left(j);
    if (st == ASC_OK) st = fill_features(j);
    return st == ASC_OK ? fill_parts(j) : st;
}

/* prompt_join.c - a prompt out of a template, passages, a question behind them; what of it is frozen. Offsets
 * are those of the text made here; in a conversation, of all messages' contents one behind the other. */
#include "alloc.h"
#include "ascribe/template.h"
#include "model.h"
#include "strbuf.h"
#include "view.h"
#include <stdio.h>

struct asc_joined_prompt {
    asc_ctx *ctx;
    asc_template filled;
    asc_arena arena; /* slots of passages, labels */
    asc_strbuf text; /* passages, joined; with the question */
    asc_prompt_slot *slots;
    size_t n_slots;
    asc_span *frozen;
    size_t n_frozen, cap_frozen;
    asc_message messages[2];
};

static asc_status add_frozen(asc_joined_prompt *j, size_t start, size_t end) {
    asc_status st = asc_grow(j->ctx, ASC_MEM_GENERAL, (void **)&j->frozen, &j->cap_frozen, j->n_frozen + 1,
                             sizeof *j->frozen);
    if (st == ASC_OK) j->frozen[j->n_frozen++] = (asc_span){start, end};
    return st;
}

static asc_status fill(asc_joined_prompt *j, const asc_prompt_parts *p, asc_view *document) {
    asc_status st = asc_template_fill(j->ctx, p->template_text, p->values, p->n_values, &j->filled);
    *document = asc_view_make(j->filled.text, j->filled.len);
    j->slots = j->filled.slots;
    j->n_slots = j->filled.n_slots;
    return st;
}

static asc_status join_passages(asc_joined_prompt *j, const asc_prompt_parts *p, asc_view *document) {
    asc_prompt_slot *slots = asc_arena_alloc(&j->arena, p->n_passages * sizeof *slots);
    if (slots == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < p->n_passages; i++) {
        asc_view text = p->passages[i].text, label = p->passages[i].label;
        char number[40];
        while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
        if (label.ptr == NULL) {
            snprintf(number, sizeof number, "passage %zu", i + 1);
            label = asc_view_of(number);
        }
        if (i > 0) asc_strbuf_adds(&j->text, "\n\n");
        size_t start = j->text.len;
        asc_strbuf_addv(&j->text, text);
        char *copy = asc_arena_strdup(&j->arena, label);
        if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
        slots[i] = (asc_prompt_slot){
            .start = start, .end = j->text.len, .feature = -1, .label = asc_view_make(copy, label.len)};
    }
    *document = asc_strbuf_view(&j->text);
    if (!p->plain) {
        j->slots = slots;
        j->n_slots = p->n_passages;
    }
    return asc_strbuf_status(&j->text);
}

/* Every place in the text that reads so. */
static asc_status freeze(asc_joined_prompt *j, const asc_prompt_parts *p, asc_view v) {
    for (size_t i = 0; i < p->n_freeze; i++) {
        asc_view s = p->freeze[i], cut = asc_view_cut(s, 200);
        bool any = false;
        for (size_t at = 0; s.len > 0 && at + s.len <= v.len; at++) {
            if (memcmp(v.ptr + at, s.ptr, s.len) != 0) continue;
            asc_status st = add_frozen(j, at, at + s.len);
            if (st != ASC_OK) return st;
            at += s.len - 1;
            any = true;
        }
        if (any) continue;
        ASC_FAIL(j->ctx, ASC_NOT_FOUND, "freeze: the prompt has no part that reads '" ASC_VIEW_FMT "'",
                 ASC_VIEW_ARG(cut));
        return asc_hint(j->ctx, "write it as it stands there, blanks and capitals too");
    }
    return ASC_OK;
}

/* Behind the document stands an empty line and the question; a model without a chat template gets the two
 * marked as question and answer. System message and question are no features. */
static asc_status add_question(asc_joined_prompt *j, const asc_prompt_parts *p, asc_model *m,
                               asc_view document, asc_request *req) {
    bool chat = asc_model_chat_template(m).ptr != NULL, system = p->system.ptr != NULL;
    size_t before = system ? p->system.len : 0, n = 0, document_len = document.len;
    if (system && !chat) {
        ASC_FAIL(j->ctx, ASC_FAILED_PRECONDITION,
                 "system needs a model with a chat template; '%.200s' has none", asc_model_get_info(m).path);
        return asc_hint(j->ctx, "put the text in front of the prompt");
    }
    if (j->text.len == 0) asc_strbuf_addv(&j->text, document); /* else it is there */
    if (p->question.ptr != NULL) {
        asc_strbuf_adds(&j->text, chat ? "\n\n" : "\n\nQuestion: ");
        asc_strbuf_addv(&j->text, p->question);
        if (!chat) asc_strbuf_adds(&j->text, "\nAnswer:");
    }
    asc_status st = asc_strbuf_status(&j->text);
    if (st != ASC_OK) return st;
    asc_view all = asc_strbuf_view(&j->text);
    if (system) {
        char *copy = asc_arena_strdup(&j->arena, p->system);
        if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
        j->messages[n++] = (asc_message){asc_view_of("system"), asc_view_make(copy, p->system.len)};
    }
    j->messages[n++] = (asc_message){asc_view_of("user"), all};
    for (size_t i = 0; i < j->n_slots; i++) {
        j->slots[i].start += before;
        j->slots[i].end += before;
    }
    for (size_t i = 0; i < j->n_frozen; i++) {
        j->frozen[i].start += before;
        j->frozen[i].end += before;
    }
    if (all.len > document_len) st = add_frozen(j, before + document_len, before + all.len);
    if (st == ASC_OK && system) st = add_frozen(j, 0, before);
    req->prompt = chat ? asc_view_make(NULL, 0) : all;
    req->messages = chat ? j->messages : NULL;
    req->n_messages = chat ? n : 0;
    return st;
}

asc_status asc_prompt_join(asc_model *m, const asc_prompt_parts *parts, asc_request *req,
                           asc_joined_prompt **out) {
    asc_ctx *ctx = m->ctx;
    asc_view document = parts->prompt;
    *out = NULL;
    int given = (parts->prompt.ptr != NULL) + (parts->template_text.ptr != NULL) + (parts->n_passages > 0);
    if (parts->struct_size < sizeof *parts || given != 1)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "a prompt is put together of exactly one of a text, a template and passages");
    asc_joined_prompt *j = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *j);
    if (j == NULL) return ASC_RESOURCE_EXHAUSTED;
    j->ctx = ctx;
    asc_arena_init(&j->arena, ctx, ASC_MEM_GENERAL);
    asc_strbuf_init(&j->text, ctx);
    asc_status st = ASC_OK;
    if (parts->template_text.ptr != NULL) ASC_TRY(fill(j, parts, &document));
    if (parts->n_passages > 0) ASC_TRY(join_passages(j, parts, &document));
    ASC_TRY(freeze(j, parts, document));
    req->prompt = document;
    if (parts->question.ptr != NULL || parts->system.ptr != NULL)
        ASC_TRY(add_question(j, parts, m, document, req));
    req->slots = j->slots;
    req->n_slots = j->n_slots;
    if (j->n_slots > 0) req->features = ASC_FEATURES_SLOT;
    req->frozen = j->frozen;
    req->n_frozen = j->n_frozen;
    *out = j;
    j = NULL;
done:
    asc_joined_prompt_free(j);
    return st;
}

void asc_joined_prompt_free(asc_joined_prompt *j) {
    if (j == NULL) return;
    asc_template_free(j->ctx, &j->filled);
    asc_arena_deinit(&j->arena);
    asc_strbuf_deinit(&j->text);
    asc_free(j->ctx, j->frozen);
    asc_free(j->ctx, j);
}

/* prompt.c - the prompt as tokens, from text, ids or chat messages, and its features. */
#include "file.h"
#include "method.h"
#include "target_encoder.h"
#include "view.h"
#include <string.h>

static asc_status take_tokens(asc_job *j, const asc_token *t, size_t n) {
    asc_result *r = j->r;
    r->n_prompt = n;
    r->prompt_ids = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *r->prompt_ids);
    r->token_start = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *r->token_start);
    r->token_end = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *r->token_end);
    j->active = asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->active);
    if (r->prompt_ids == NULL || r->token_start == NULL || r->token_end == NULL || j->active == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        r->prompt_ids[i] = t[i].id;
        r->token_start[i] = t[i].start;
        r->token_end[i] = t[i].end;
    }
    return asc_model_check_ids(j->m, r->prompt_ids, n, "prompt");
}

static asc_status from_ids(asc_job *j, const int32_t *ids, size_t n, asc_token **out, asc_strbuf *text) {
    asc_status st = asc_model_check_ids(j->m, ids, n, "prompt");
    if (st != ASC_OK) return st;
    *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        size_t start = text->len;
        asc_strbuf_addv(text, asc_job_piece(j, ids[i]));
        (*out)[i] = (asc_token){.id = ids[i], .start = start, .end = text->len};
    }
    return asc_strbuf_status(text);
}

static asc_view token_text(const asc_job *j, int32_t id) {
    return id >= 0 ? asc_token_piece(asc_model_tokenizer(j->m), id) : asc_view_of("");
}

/* Renders the messages; what a user wrote is tokenised as plain text, whatever it looks like. */
static asc_status from_chat(asc_job *j, asc_chat_text *chat, asc_token **out, size_t *n) {
    asc_ctx *ctx = j->ctx;
    const asc_request *q = j->req;
    asc_status st = ASC_OK;
    asc_chat_message *msgs = asc_calloc(ctx, ASC_MEM_GENERAL, q->n_messages + 1, sizeof *msgs);
    asc_span *plain = NULL;
    size_t n_plain = 0;
    asc_view template = asc_model_chat_template(j->m);
    if (msgs == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (template.ptr == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the model file has no chat template");
        st = asc_hint(ctx, "give the conversation as one --prompt in the model's own format");
        goto done;
    }
    for (size_t i = 0; i < q->n_messages; i++)
        msgs[i] = (asc_chat_message){.role = q->messages[i].role, .content = q->messages[i].content};
    asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(j->m));
    asc_chat_options o = {.struct_size = sizeof o,
                          .add_generation_prompt = true,
                          .bos_token = token_text(j, tk.bos),
                          .eos_token = token_text(j, tk.eos),
                          .extras = q->message_extras,
                          .vars = q->template_vars};
    st = asc_chat_render(ctx, template, msgs, q->n_messages, &o, chat);
    if (st != ASC_OK) {
        st = asc_model_template_failed(j->m, st);
        goto done;
    }
    plain = asc_calloc(ctx, ASC_MEM_GENERAL, chat->n_spans + 1, sizeof *plain);
    if (plain == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < chat->n_spans; i++) {
        const asc_chat_span *s = &chat->spans[i];
        if (s->literal && s->end > s->start) plain[n_plain++] = (asc_span){.start = s->start, .end = s->end};
    }
    /* a template that prints the begin token itself must not get a second one */
    bool has_bos = o.bos_token.len > 0 && asc_view_starts(asc_view_make(chat->text, chat->len), o.bos_token);
    asc_tokenize_options to = {.struct_size = sizeof to,
                               .parse_special = true,
                               .add_bos_eos = !has_bos,
                               .plain = plain,
                               .n_plain = n_plain};
    ASC_TRY(asc_tokenize(ctx, asc_model_tokenizer(j->m), asc_view_make(chat->text, chat->len), &to, out, n));
done:
    asc_free(ctx, msgs);
    asc_free(ctx, plain);
    return st;
}

/* add_bos_eos may put an end token behind the prompt; a prompt is to be continued, so it is taken off. */
static size_t without_eos(const asc_job *j, const asc_token *t, size_t n, size_t text_len) {
    asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(j->m));
    return n > 0 && tk.add_eos && t[n - 1].id == tk.eos && t[n - 1].start == t[n - 1].end &&
                   t[n - 1].end == text_len
               ? n - 1
               : n;
}

asc_status asc_job_prompt(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const asc_request *q = j->req;
    asc_status st = ASC_OK;
    asc_chat_text chat = {0};
    asc_token *tokens = NULL;
    size_t n = 0;
    asc_strbuf text;
    asc_strbuf_init(&text, ctx);
    if (q->prompt_ids != NULL) {
        n = q->n_prompt_ids;
        ASC_TRY(from_ids(j, q->prompt_ids, n, &tokens, &text));
    } else if (q->messages != NULL) {
        ASC_TRY(from_chat(j, &chat, &tokens, &n));
        asc_strbuf_add(&text, chat.text, chat.len);
    } else if (j->encoder != NULL) {
        ASC_TRY(asc_encoder_prompt(j, &text, &tokens, &n));
    } else {
        asc_tokenize_options to = {.struct_size = sizeof to, .add_bos_eos = true};
        ASC_TRY(asc_tokenize(ctx, asc_model_tokenizer(j->m), q->prompt, &to, &tokens, &n));
        asc_strbuf_addv(&text, q->prompt);
        if (q->prompt.len == 0) n = 0; /* a begin token alone is no prompt */
    }
    if (j->encoder == NULL) n = without_eos(j, tokens, n, text.len);
    ASC_TRY(take_tokens(j, tokens, n));
    j->r->prompt = asc_strbuf_take(&text, &j->r->prompt_len);
    if (j->r->prompt == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_job_features(j, q->messages != NULL ? &chat : NULL));
done:
    asc_strbuf_deinit(&text);
    asc_chat_text_free(ctx, &chat);
    asc_tokens_free(ctx, tokens);
    return st;
}

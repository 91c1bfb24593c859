/* messages.c - chat messages for callers outside of asc_explain. See ascribe/chat.h. */
#include "ascribe/chat.h"
#include "alloc.h"
#include "chat.h"
#include "model.h"
#include "view.h"

asc_status asc_messages_parse(asc_ctx *ctx, asc_view json, asc_messages *out) {
    asc_chat_messages *own = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *own);
    *out = (asc_messages){0};
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_chat_parse_json(ctx, json.ptr, json.len, own);
    if (st != ASC_OK) {
        asc_free(ctx, own);
        return st;
    }
    out->memory = own;
    out->n = own->n;
    out->v = asc_calloc(ctx, ASC_MEM_GENERAL, own->n + 1, sizeof *out->v);
    if (out->v == NULL) {
        asc_messages_free(ctx, out);
        return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < own->n; i++) out->v[i] = (asc_message){own->v[i].role, own->v[i].content};
    out->extras = own->extras;
    return ASC_OK;
}

void asc_messages_free(asc_ctx *ctx, asc_messages *m) {
    if (m->memory != NULL) asc_chat_messages_free(ctx, m->memory);
    asc_free(ctx, m->memory);
    asc_free(ctx, m->v);
    *m = (asc_messages){0};
}

static asc_view piece_of(const asc_tokenizer *tk, int32_t id) {
    return id >= 0 ? asc_token_piece(tk, id) : asc_view_of("");
}

static asc_status tokens_of(asc_ctx *ctx, const asc_tokenizer *tk, const asc_chat_text *text, asc_view bos,
                            asc_chat_prompt *out) {
    asc_span *plain = asc_calloc(ctx, ASC_MEM_GENERAL, text->n_spans + 1, sizeof *plain);
    size_t n = 0;
    if (plain == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < text->n_spans; i++) {
        const asc_chat_span *s = &text->spans[i];
        if (s->literal && s->end > s->start) plain[n++] = (asc_span){s->start, s->end};
    }
    /* A template that prints the begin token itself must not get a second one. */
    bool begun = bos.len > 0 && asc_view_starts(asc_view_make(text->text, text->len), bos);
    asc_tokenize_options o = {
        .struct_size = sizeof o, .parse_special = true, .add_bos_eos = !begun, .plain = plain, .n_plain = n};
    asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    asc_status st =
        asc_tokenize(ctx, tk, asc_view_make(text->text, text->len), &o, &out->tokens, &out->n_tokens);
    /* A prompt is to be continued: an end token put behind it is taken off. */
    if (st == ASC_OK && !begun && info.add_eos && out->n_tokens > 0 &&
        out->tokens[out->n_tokens - 1].id == info.eos)
        out->n_tokens--;
    asc_free(ctx, plain);
    return st;
}

asc_status asc_chat_prompt_make(asc_ctx *ctx, const asc_model *m, const asc_message *messages, size_t n,
                                asc_chat_prompt *out) {
    const asc_request req = {.struct_size = sizeof req, .messages = messages, .n_messages = n};
    return asc_chat_prompt_of(ctx, m, &req, out);
}

asc_status asc_chat_prompt_of(asc_ctx *ctx, const asc_model *m, const asc_request *req,
                              asc_chat_prompt *out) {
    size_t n = req->n_messages;
    const asc_tokenizer *tk = asc_model_tokenizer(m);
    asc_tokenizer_info info = asc_tokenizer_get_info(tk);
    asc_view template = asc_model_chat_template(m);
    asc_chat_text text = {0};
    asc_status st = ASC_OK;
    *out = (asc_chat_prompt){0};
    if (template.ptr == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "the model file has no chat template");
        return asc_hint(ctx, "give the conversation as one --prompt in the model's own format");
    }
    asc_chat_message *own = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *own);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++)
        own[i] = (asc_chat_message){req->messages[i].role, req->messages[i].content};
    asc_chat_options o = {.struct_size = sizeof o,
                          .add_generation_prompt = true,
                          .bos_token = piece_of(tk, info.bos),
                          .eos_token = piece_of(tk, info.eos),
                          .extras = req->message_extras,
                          .vars = req->template_vars};
    st = asc_chat_render(ctx, template, own, n, &o, &text);
    if (st != ASC_OK) {
        st = asc_model_template_failed(m, st);
        goto done;
    }
    ASC_TRY(tokens_of(ctx, tk, &text, o.bos_token, out));
    out->text = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_make(text.text, text.len));
    out->len = text.len;
    if (out->text == NULL) st = ASC_RESOURCE_EXHAUSTED;
done:
    if (st != ASC_OK) asc_chat_prompt_free(ctx, out);
    asc_chat_text_free(ctx, &text);
    asc_free(ctx, own);
    return st;
}

void asc_chat_prompt_free(asc_ctx *ctx, asc_chat_prompt *p) {
    asc_free(ctx, p->text);
    asc_tokens_free(ctx, p->tokens);
    *p = (asc_chat_prompt){0};
}

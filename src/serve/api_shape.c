/* api_shape.c - answers in the shapes that clients of OpenAI's API read: whole, or chunk by chunk. */
#include "api_generate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *reason(asc_finish why) { return why == ASC_FINISH_LENGTH ? "length" : "stop"; }

static void head(api_answer *a, const char *object) {
    asc_text *t = a->doc;
    char mark[64];
    snprintf(mark, sizeof mark, "ascribe-%s", asc_version());
    asc_text_clear(t);
    asc_text_object(t, NULL);
    asc_text_strz(t, "id", a->id);
    asc_text_strz(t, "object", object);
    asc_text_int(t, "created", a->created);
    asc_text_strz(t, "model", a->model);
    asc_text_strz(t, "system_fingerprint", mark);
}

static void chunk_head(api_answer *a) {
    head(a, a->chat ? "chat.completion.chunk" : "text_completion");
    if (a->usage) asc_text_null(a->doc, "usage");
}

static void usage(api_answer *a) {
    asc_text *t = a->doc;
    asc_text_object(t, "usage");
    asc_text_int(t, "prompt_tokens", (int64_t)a->n);
    asc_text_int(t, "completion_tokens", (int64_t)a->told.n);
    asc_text_int(t, "total_tokens", (int64_t)(a->n + a->told.n));
    asc_text_end(t);
}

static asc_view token_text(api_answer *a, int32_t id) {
    asc_text_clear(a->line);
    api_token_text(a->line, a->tk, id);
    return asc_text_view(a->line);
}

/* Is the token part of the answer's text? An end token is not. */
static bool shows(const api_answer *a, const api_token *k) {
    return asc_token_get_type(a->tk, k->t.id) != ASC_TOKEN_CONTROL;
}

static void chat_token(api_answer *a, int32_t id, double logprob) {
    asc_text *t = a->doc;
    const asc_view piece = asc_token_piece(a->tk, id);
    asc_text_str(t, "token", piece);
    asc_text_num(t, "logprob", logprob);
    asc_text_array(t, "bytes");
    for (size_t i = 0; i < piece.len; i++) asc_text_int(t, NULL, (unsigned char)piece.ptr[i]);
    asc_text_end(t);
}

static void chat_logprobs(api_answer *a, const api_tokens *l, size_t first, size_t n) {
    asc_text *t = a->doc;
    asc_text_object(t, "logprobs");
    asc_text_array(t, "content");
    for (size_t i = first; i < first + n; i++) {
        const api_token *k = &l->v[i];
        if (!shows(a, k)) continue;
        asc_text_object(t, NULL);
        chat_token(a, k->t.id, k->t.logprob);
        asc_text_array(t, "top_logprobs");
        for (size_t r = 0; r < k->t.n_top; r++) {
            asc_text_object(t, NULL);
            chat_token(a, k->top[r].id, k->top[r].logprob);
            asc_text_end(t);
        }
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_null(t, "refusal");
    asc_text_end(t);
}

/* Tokens that read alike (of which a vocabulary may have several) are one key: the likelier stays. */
static void top_object(api_answer *a, const api_token *k) {
    asc_text *t = a->doc;
    asc_text_object(t, NULL);
    for (size_t r = 0; r < k->t.n_top; r++) {
        bool again = false;
        const asc_view piece = asc_token_piece(a->tk, k->top[r].id);
        for (size_t i = 0; i < r && !again; i++) {
            const asc_view other = asc_token_piece(a->tk, k->top[i].id);
            again =
                other.len == piece.len && (piece.len == 0 || memcmp(other.ptr, piece.ptr, piece.len) == 0);
        }
        const asc_view key = token_text(a, k->top[r].id);
        if (!again && (key.len == 0 || memchr(key.ptr, 0, key.len) == NULL))
            asc_text_num(t, key.ptr != NULL ? key.ptr : "", k->top[r].logprob);
    }
    asc_text_end(t);
}

/* The legacy shape: lists side by side. The prompt's tokens come first where the text begins with it. */
static void lists(api_answer *a, const size_t first[2], const size_t n[2]) {
    const api_tokens *const parts[2] = {&a->prompt_told, &a->told};
    static const char *const names[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
    asc_text *t = a->doc;
    size_t offset = a->offset;
    asc_text_object(t, "logprobs");
    for (int list = 0; list < 4; list++) {
        asc_text_array(t, names[list]);
        for (int p = 0; p < 2; p++) {
            for (size_t i = first[p]; i < first[p] + n[p]; i++) {
                const api_token *k = &parts[p]->v[i];
                if (p == 1 && !shows(a, k)) continue;
                if (list == 0) asc_text_str(t, NULL, token_text(a, k->t.id));
                if (list == 1) asc_text_num(t, NULL, k->t.logprob);
                if (list == 2 && isnan(k->t.logprob)) asc_text_null(t, NULL);
                if (list == 2 && !isnan(k->t.logprob)) top_object(a, k);
                if (list == 3) asc_text_int(t, NULL, (int64_t)(p == 0 ? a->starts[i] : offset));
                if (list == 3 && p == 1) offset += api_n_characters(asc_token_piece(a->tk, k->t.id));
            }
        }
        asc_text_end(t);
    }
    a->offset = offset;
    asc_text_end(t);
}

/* Tokens of the prompt and of the answer: which of those told. */
static void logprobs(api_answer *a, const size_t first[2], const size_t n[2]) {
    if (!a->logprobs)
        asc_text_null(a->doc, "logprobs");
    else if (a->chat)
        chat_logprobs(a, &a->told, first[1], n[1]);
    else
        lists(a, first, n);
}

static void choice_begin(api_answer *a) {
    asc_text *t = a->doc;
    asc_text_array(t, "choices");
    asc_text_object(t, NULL);
    asc_text_int(t, "index", (int64_t)a->choice);
}

static void choice_end(asc_text *t) {
    asc_text_end(t);
    asc_text_end(t);
}

void api_shape_whole_begin(api_answer *a) {
    head(a, a->chat ? "chat.completion" : "text_completion");
    asc_text_array(a->doc, "choices");
}

void api_shape_choice(api_answer *a, asc_finish why) {
    asc_text *t = a->doc;
    const asc_view text = asc_text_view(a->text);
    asc_text_object(t, NULL);
    asc_text_int(t, "index", (int64_t)a->choice);
    if (a->chat) {
        asc_text_object(t, "message");
        asc_text_strz(t, "role", "assistant");
        asc_text_str(t, "content", text);
        asc_text_null(t, "refusal");
        asc_text_end(t);
    } else {
        asc_text_str(t, "text", text);
    }
    logprobs(a, (size_t[2]){0, a->first_told}, (size_t[2]){a->prompt_told.n, a->told.n - a->first_told});
    asc_text_strz(t, "finish_reason", reason(why));
    asc_text_end(t);
}

void api_shape_whole_end(api_answer *a) {
    asc_text_end(a->doc);
    usage(a);
    asc_text_end(a->doc);
}

void api_shape_begin(api_answer *a) {
    asc_text *t = a->doc;
    chunk_head(a);
    choice_begin(a);
    asc_text_object(t, "delta");
    asc_text_strz(t, "role", "assistant");
    asc_text_strz(t, "content", "");
    asc_text_end(t);
    asc_text_null(t, "logprobs");
    asc_text_null(t, "finish_reason");
    choice_end(t);
    asc_text_end(t);
}

void api_shape_chunk(api_answer *a, asc_view text, const api_tokens *l, size_t first, size_t n) {
    asc_text *t = a->doc;
    chunk_head(a);
    choice_begin(a);
    if (a->chat) {
        asc_text_object(t, "delta");
        asc_text_str(t, "content", text);
        asc_text_end(t);
    } else {
        asc_text_str(t, "text", text);
    }
    const int p = l == &a->prompt_told ? 0 : 1;
    size_t firsts[2] = {0, 0}, counts[2] = {0, 0};
    firsts[p] = first;
    counts[p] = n;
    logprobs(a, firsts, counts);
    asc_text_null(t, "finish_reason");
    choice_end(t);
    asc_text_end(t);
}

void api_shape_end(api_answer *a, asc_finish why) {
    asc_text *t = a->doc;
    chunk_head(a);
    choice_begin(a);
    if (a->chat) {
        asc_text_object(t, "delta");
        asc_text_end(t);
    } else {
        asc_text_strz(t, "text", "");
    }
    asc_text_null(t, "logprobs");
    asc_text_strz(t, "finish_reason", reason(why));
    asc_text_end(t);
    asc_text_end(t);
    asc_text_end(t);
}

void api_shape_empty(api_answer *a) {
    chunk_head(a);
    asc_text_array(a->doc, "choices");
    asc_text_end(a->doc);
    asc_text_end(a->doc);
}

void api_shape_usage(api_answer *a) {
    head(a, a->chat ? "chat.completion.chunk" : "text_completion");
    asc_text_array(a->doc, "choices");
    asc_text_end(a->doc);
    usage(a);
    asc_text_end(a->doc);
}

/* chat_json.c - a chat file to messages. The strings are copied, so the JSON document is gone afterwards. */
#include "chat.h"
#include "json.h"
#include "view.h"

static const char *kind_of(const asc_json *j) {
    static const char *const names[] = {"null",     "a boolean", "a number", "a number",
                                        "a string", "a list",    "an object"};
    return names[asc_json_typeof(j)];
}

/* Adds the text of a content value: a string, or a list of text parts. */
static asc_status add_content(asc_ctx *ctx, asc_strbuf *b, const asc_json *content, size_t index) {
    if (asc_json_typeof(content) == ASC_JSON_STRING) {
        asc_strbuf_addv(b, asc_json_str(content));
        return ASC_OK;
    }
    if (asc_json_typeof(content) != ASC_JSON_ARRAY)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "message %zu: 'content' is %s, expected a string or a list of text parts", index,
                        content == NULL ? "missing" : kind_of(content));
    for (size_t i = 0; i < asc_json_len(content); i++) {
        const asc_json *part = asc_json_at(content, i), *text = asc_json_get(part, "text");
        if (!asc_view_eqs(asc_json_str(asc_json_get(part, "type")), "text"))
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                            "message %zu: content part %zu: 'type' is not \"text\"", index, i);
        if (asc_json_typeof(text) != ASC_JSON_STRING)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                            "message %zu: content part %zu: 'text' is %s, expected a string", index, i,
                            text == NULL ? "missing" : kind_of(text));
        asc_strbuf_addv(b, asc_json_str(text));
    }
    return ASC_OK;
}

/* Every other key of a message, as an object; nothing when there is none. */
static void add_extra(asc_strbuf *b, const asc_json *m, bool silent) {
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    bool any = silent;
    if (silent) asc_strbuf_adds(b, "{\"content\":null");
    while (asc_json_next(m, &iter, &key, &v)) {
        asc_jsonw w;
        if (asc_view_eqs(key, "role") || asc_view_eqs(key, "content")) continue;
        asc_strbuf_addc(b, any ? ',' : '{');
        asc_jsonw_init(&w, b, true);
        asc_jsonw_str(&w, key);
        asc_strbuf_addc(b, ':');
        asc_json_dump(v, b);
        any = true;
    }
    if (any) asc_strbuf_addc(b, '}');
}

/* Appends role, content and what else there is to b and notes their lengths (pointers come when b no longer
 * moves). */
static asc_status add_message(asc_ctx *ctx, asc_strbuf *b, const asc_json *m, size_t index,
                              asc_chat_message *out, asc_view *extra) {
    const asc_json *role = asc_json_get(m, "role"), *content = asc_json_get(m, "content");
    if (asc_json_typeof(m) != ASC_JSON_OBJECT)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "message %zu is %s, expected {\"role\", \"content\"}",
                        index, kind_of(m));
    if (asc_json_typeof(role) != ASC_JSON_STRING)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "message %zu: 'role' is %s, expected a string", index,
                        role == NULL ? "missing" : kind_of(role));
    size_t start = b->len;
    asc_strbuf_addv(b, asc_json_str(role));
    out->role.len = b->len - start;
    start = b->len;
    bool silent = asc_json_typeof(content) == ASC_JSON_NULL && /* it called a tool and said nothing */
                  asc_json_typeof(asc_json_get(m, "tool_calls")) != ASC_JSON_NULL;
    asc_status st = silent ? ASC_OK : add_content(ctx, b, content, index);
    out->content.len = b->len - start;
    start = b->len;
    add_extra(b, m, silent);
    extra->len = b->len - start;
    return st != ASC_OK ? st : asc_strbuf_status(b);
}

asc_status asc_chat_read_json(asc_ctx *ctx, const asc_json *list, asc_chat_messages *out) {
    asc_status st = ASC_OK;
    asc_strbuf b;
    size_t n = asc_json_len(list);
    *out = (asc_chat_messages){0};
    if (asc_json_typeof(list) != ASC_JSON_ARRAY)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "chat is %s, expected a list of messages or {\"messages\": [...]}",
                        list == NULL ? "an object without a list 'messages'" : kind_of(list));
    if (n > ASC_CHAT_MAX_MESSAGES)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                        "%zu messages are over the limit ASC_CHAT_MAX_MESSAGES = %d", n,
                        (int)ASC_CHAT_MAX_MESSAGES);
    asc_strbuf_init(&b, ctx);
    out->v = asc_calloc(ctx, ASC_MEM_GENERAL, n > 0 ? n : 1, sizeof *out->v);
    out->extras = asc_calloc(ctx, ASC_MEM_GENERAL, n > 0 ? n : 1, sizeof *out->extras);
    if (out->v == NULL || out->extras == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        ASC_TRY(add_message(ctx, &b, asc_json_at(list, i), i, &out->v[i], &out->extras[i]));
    out->memory = asc_strbuf_take(&b, NULL);
    if (out->memory == NULL) {
        st = asc_strbuf_status(&b);
        goto done;
    }
    char *p = out->memory;
    for (out->n = 0; out->n < n; out->n++) {
        asc_chat_message *m = &out->v[out->n];
        m->role.ptr = p;
        m->content.ptr = p + m->role.len;
        p += m->role.len + m->content.len;
        asc_view *x = &out->extras[out->n];
        x->ptr = x->len > 0 ? p : NULL;
        p += x->len;
    }
done:
    asc_strbuf_deinit(&b);
    if (st != ASC_OK) asc_chat_messages_free(ctx, out);
    return st;
}

asc_status asc_chat_parse_json(asc_ctx *ctx, const char *text, size_t len, asc_chat_messages *out) {
    asc_json *root = NULL;
    *out = (asc_chat_messages){0};
    if (len > ASC_CHAT_MAX_JSON)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                        "chat of %zu bytes is over the limit ASC_CHAT_MAX_JSON = %d", len,
                        (int)ASC_CHAT_MAX_JSON);
    asc_status st = asc_json_parse(ctx, text, len, &root);
    if (st != ASC_OK) return st;
    bool object = asc_json_typeof(root) == ASC_JSON_OBJECT;
    st = asc_chat_read_json(ctx, object ? asc_json_get(root, "messages") : root, out);
    asc_json_free(root);
    return st;
}

void asc_chat_messages_free(asc_ctx *ctx, asc_chat_messages *m) {
    asc_free(ctx, m->v);
    asc_free(ctx, m->extras);
    asc_free(ctx, m->memory);
    *m = (asc_chat_messages){0};
}

/* test_chat_data.c - conversations with tools, calls of tools and variables through asc_chat_render: byte for
 * byte what jinja2 renders (tests/data/templates), and what of it is the caller's never becomes a special
 * token. */
#include "chat.h"
#include "file.h"
#include "golden_line.h"
#include "strbuf.h"

/* The variables but those that the conversation makes. */
static void other_vars(const asc_json *vars, asc_strbuf *out) {
    static const char *const own[] = {"messages", "add_generation_prompt", "bos_token", "eos_token"};
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    asc_strbuf_addc(out, '{');
    while (asc_json_next(vars, &iter, &key, &item)) {
        bool ours = false;
        asc_jsonw w;
        for (size_t i = 0; i < 4; i++) ours = ours || asc_view_eqs(key, own[i]);
        if (ours) continue;
        if (out->len > 1) asc_strbuf_addc(out, ',');
        asc_jsonw_init(&w, out, true);
        asc_jsonw_str(&w, key);
        asc_strbuf_addc(out, ':');
        asc_json_dump(item, out);
    }
    asc_strbuf_addc(out, '}');
}

/* Messages whose content is one text, or none beside a call: others are made one text here, and so differ. */
static bool plain(const asc_json *messages) {
    for (size_t i = 0; i < asc_json_len(messages); i++) {
        const asc_json *m = asc_json_at(messages, i), *content = asc_json_get(m, "content");
        bool calls = asc_json_typeof(asc_json_get(m, "tool_calls")) == ASC_JSON_ARRAY;
        if (asc_json_typeof(content) != ASC_JSON_STRING && !(content != NULL && calls)) return false;
        if (asc_json_typeof(content) == ASC_JSON_ARRAY) return false;
    }
    return asc_json_len(messages) > 0;
}

/* Spans have no gaps, and what the caller wrote is literal wherever it stands. */
static void check_spans(const asc_chat_text *t) {
    size_t at = 0;
    for (size_t i = 0; i < t->n_spans; i++) {
        assert_int_equal(t->spans[i].start, at);
        at = t->spans[i].end;
    }
    assert_int_equal(at, t->len);
}

static void as_jinja2(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *file = NULL;
    size_t len = 0, with_tools = 0, count = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("templates/rendered.jsonl"), 1 << 26, &file, &len));
    asc_view rest = {file, len};
    asc_json *head = golden_next(ctx, &rest), *row;
    assert_non_null(head);
    for (; (row = golden_next(ctx, &rest)) != NULL; asc_json_free(row)) {
        asc_view want = asc_json_str(asc_json_get(row, "expected"));
        int64_t i = asc_json_int(asc_json_get(row, "case"), -1);
        const asc_json *vars = asc_json_at(asc_json_get(head, "cases"), (size_t)i);
        if (want.ptr == NULL || !plain(asc_json_get(vars, "messages"))) continue;
        asc_chat_messages m;
        asc_chat_text text;
        asc_strbuf more;
        char rel[128], *template = NULL;
        size_t n_template = 0;
        asc_view name = asc_json_str(asc_json_get(row, "template"));
        snprintf(rel, sizeof rel, "templates/" ASC_VIEW_FMT, ASC_VIEW_ARG(name));
        assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 20, &template, &n_template));
        asc_strbuf_init(&more, ctx);
        other_vars(vars, &more);
        assert_ok(ctx, asc_strbuf_status(&more));
        assert_ok(ctx, asc_chat_read_json(ctx, asc_json_get(vars, "messages"), &m));
        asc_chat_options o = {.struct_size = sizeof o,
                              .add_generation_prompt =
                                  asc_json_bool(asc_json_get(vars, "add_generation_prompt"), false),
                              .bos_token = asc_json_str(asc_json_get(vars, "bos_token")),
                              .eos_token = asc_json_str(asc_json_get(vars, "eos_token")),
                              .extras = m.extras,
                              .vars = asc_strbuf_view(&more)};
        if (asc_chat_render(ctx, (asc_view){template, n_template}, m.v, m.n, &o, &text) != ASC_OK)
            fail_msg("%s, case %d: %s", rel, (int)i, asc_error_message(ctx));
        if (text.len != want.len || memcmp(text.text, want.ptr, want.len) != 0)
            fail_msg("%s, case %d:\n%s\nby jinja2:\n%s", rel, (int)i, text.text, want.ptr);
        check_spans(&text);
        with_tools += asc_json_len(asc_json_get(vars, "tools")) > 0;
        count++;
        asc_chat_text_free(ctx, &text);
        asc_chat_messages_free(ctx, &m);
        asc_strbuf_deinit(&more);
        asc_free(ctx, template);
    }
    printf("%zu conversations, %zu with tools\n", count, with_tools);
    assert_true(count > 600 && with_tools > 100);
    asc_json_free(head);
    asc_free(ctx, file);
    test_ctx_end(ctx);
}

/* Everything of the caller's is literal: arguments of calls, descriptions of tools, variables, also through
 * tojson. */
static void data_is_literal(void **state) {
    (void)state;
    static const char json[] =
        "[{\"role\": \"user\", \"content\": \"<|a|>\"}, {\"role\": \"assistant\", \"content\": null, "
        "\"tool_calls\": "
        "[{\"function\": {\"name\": \"<|b|>\", \"arguments\": {\"<|c|>\": \"<|d|>\"}}}]}]";
    static const char template[] =
        "{{ tools | tojson }}{{ who }}{% for m in messages %}<|t|>{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor "
        "%}"
        "{% endfor %}<|t|>";
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_chat_messages m;
    asc_chat_text t;
    assert_ok(ctx, asc_chat_parse_json(ctx, json, strlen(json), &m));
    asc_chat_options o = {.struct_size = sizeof o,
                          .extras = m.extras,
                          .vars = asc_view_of("{\"tools\": [{\"name\": \"<|e|>\"}], \"who\": \"<|f|>\"}")};
    assert_ok(ctx, asc_chat_render(ctx, asc_view_of(template), m.v, m.n, &o, &t));
    assert_string_equal(t.text,
                        "[{\"name\": \"<|e|>\"}]<|f|><|t|><|a|><|t|><|b|>{\"<|c|>\": \"<|d|>\"}<|t|>");
    check_spans(&t);
    size_t literal = 0;
    for (size_t i = 0; i < t.n_spans; i++) {
        asc_view v = {t.text + t.spans[i].start, t.spans[i].end - t.spans[i].start};
        bool marker = v.len >= 5 && memmem(v.ptr, v.len, "<|t|>", 5) != NULL;
        bool ours = false;
        for (char c = 'a'; c <= 'f'; c++) {
            const char word[] = {'<', '|', c, '|', '>'};
            ours = ours || memmem(v.ptr, v.len, word, 5) != NULL;
        }
        assert_false(marker && ours);
        if (ours) assert_true(t.spans[i].literal);
        if (marker) assert_false(t.spans[i].literal);
        literal += ours;
    }
    assert_int_equal(literal, 6);
    asc_chat_text_free(ctx, &t);
    static const struct {
        const char *vars, *message;
    } bad[] = {{"{\"messages\": []}", "'messages' is made of the conversation"},
               {"[1]", "variables: not a JSON object"},
               {"{", "variables: JSON"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.vars = asc_view_of(bad[i].vars);
        assert_int_equal(asc_chat_render(ctx, asc_view_of(template), m.v, m.n, &o, &t), ASC_INVALID_ARGUMENT);
        if (strstr(asc_error_message(ctx), bad[i].message) == NULL) fail_msg("%s", asc_error_message(ctx));
    }
    asc_chat_messages_free(ctx, &m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_jinja2), cmocka_unit_test(data_is_literal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

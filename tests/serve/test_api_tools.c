/* test_api_tools.c - tools and calls of tools reach the prompt as the chat template writes them down: seen in
 * the prompt that an attribution of the same request reports, which goes its own way through the library
 * (its templates are tested against jinja2). */
#include "api.h"
#include "api_test.h"
#include <unistd.h>

#define TOOL                                                                                                 \
    "{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"description\": \"of a city\", "    \
    "\"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}}"
#define USER "{\"role\": \"user\", \"content\": \"tell me\"}"
#define CALL(arguments)                                                                                      \
    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c1\", \"type\": "              \
    "\"function\", "                                                                                         \
    "\"function\": {\"name\": \"get_weather\", \"arguments\": " arguments "}}]}"
#define ANSWER                                                                                               \
    "{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"name\": \"get_weather\", \"content\": \"rain\"}"
#define BODY(messages, more)                                                                                 \
    "{\"messages\": [" messages "], \"temperature\": 0, \"max_tokens\": 2, \"ignore_eos\": true" more "}"
#define EXPLAINED ", \"attribution\": {\"method\": \"saliency\"}"

/* What the attribution says the prompt was; its tokens are as many as the answer's prompt had. */
static void prompt_of(fixture *f, const char *body, char *out, size_t size, long long *n_tokens) {
    reply r = api_call(f->s, "POST", "/v1/chat/completions", body);
    if (r.status != 200) fail_msg("%s: %s", body, r.body);
    const char *text = text_at(r.json, "attribution.prompt.text");
    assert_non_null(text);
    snprintf(out, size, "%s", text);
    *n_tokens = json_integer_value(at(r.json, "usage.prompt_tokens"));
    assert_int_equal(json_array_size(at(r.json, "attribution.prompt.ids")), *n_tokens);
    assert_string_equal(text_at(r.json, "choices.0.finish_reason"), "length");
    assert_true(json_is_string(at(r.json, "choices.0.message.content"))); /* no call is read out of it */
    reply_free(&r);
}

static void has(const char *text, const char *piece, bool wanted) {
    if ((strstr(text, piece) != NULL) != wanted) fail_msg("'%s' in: %s", piece, text);
}

static void tools(void **state) {
    fixture *f = *state;
    char p[4096];
    long long with, without;
    prompt_of(f, BODY(USER, EXPLAINED ", \"tools\": [" TOOL "]"), p, sizeof p, &with);
    has(p, "tools [{\"type\": \"function\", \"function\": {\"name\": \"get_weather\"", true);
    has(p, "user: tell me", true);
    prompt_of(f, BODY(USER, EXPLAINED ", \"tools\": [" TOOL "], \"tool_choice\": \"none\""), p, sizeof p,
              &without);
    has(p, "tools", false);
    assert_true(with > without);
    prompt_of(f, BODY(USER, EXPLAINED ", \"tools\": [" TOOL "], \"tool_choice\": \"auto\""), p, sizeof p,
              &without);
    assert_int_equal(with, without);
}

static void calls(void **state) {
    fixture *f = *state;
    char p[4096];
    long long n;
    static const char *const arguments[] = {
        BODY(USER ", " CALL("\"{\\\"city\\\": \\\"Oslo\\\"}\"") ", " ANSWER, EXPLAINED),
        BODY(USER ", " CALL("{\"city\": \"Oslo\"}") ", " ANSWER, EXPLAINED)};
    for (int i = 0; i < 2; i++) {
        prompt_of(f, arguments[i], p, sizeof p, &n);
        has(p, " get_weather {\"city\": \"Oslo\"}\n", true);
        has(p, "tool: rain\n", true);
    }
    prompt_of(f, BODY(USER ", " CALL("\"\""), EXPLAINED), p, sizeof p, &n);
    has(p, " get_weather {}\n", true);
    prompt_of(f, BODY(USER ", " CALL("\"not {json\""), EXPLAINED), p, sizeof p, &n);
    has(p, " get_weather \"not {json\"\n", true);
}

static void refused(void **state) {
    fixture *f = *state;
    static const struct {
        const char *body, *param, *says;
    } rows[] = {
        {BODY(USER, ", \"tools\": 3"), "tools", "1 to 128"},
        {BODY(USER, ", \"tools\": [3]"), "tools[0]", "no object"},
        {BODY(USER, ", \"tools\": [" TOOL ", {\"type\": \"retrieval\"}]"), "tools[1]", "not supported"},
        {BODY(USER, ", \"tools\": [{\"type\": \"function\"}]"), "tools[0]", "\"function\""},
        {BODY(USER, ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"\"}}]"), "tools[0]",
         "name"},
        {BODY(USER,
              ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"a\", \"parameters\": 1}}]"),
         "tools[0]", "parameters"},
        {BODY(USER, ", \"tools\": [" TOOL "], \"tool_choice\": \"required\""), "tool_choice", "grammar"},
        {BODY(USER, ", \"tools\": [" TOOL "], \"tool_choice\": {\"type\": \"function\"}"), "tool_choice",
         "one function"},
        {BODY(USER, ", \"tools\": [" TOOL "], \"tool_choice\": \"maybe\""), "tool_choice", "auto|none"},
        {BODY(USER, ", \"parallel_tool_calls\": true"), "parallel_tool_calls", "not supported"},
        {BODY(USER, ", \"attribution\": {\"tools\": []}"), "attribution", "no place"},
        {BODY(USER ", {\"role\": \"assistant\", \"tool_calls\": []}", ""), "messages[1]", "no list of calls"},
        {BODY(USER ", {\"role\": \"assistant\", \"tool_calls\": [{}]}", ""), "messages[1]", "type"},
        {BODY(USER ", " CALL("3"), ""), "messages[1]", "arguments"},
        {BODY("{\"role\": \"tool\", \"tool_call_id\": 3, \"content\": \"a\"}", ""), "messages[0]",
         "tool_call_id"},
        {BODY("{\"role\": \"assistant\", \"content\": null}", ""), "messages[0]", "content"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reply r = api_call(f->s, "POST", "/v1/chat/completions", rows[i].body);
        const char *param = text_at(r.json, "error.param"), *says = text_at(r.json, "error.message");
        if (r.status != 400 || param == NULL || strcmp(param, rows[i].param) != 0 ||
            strstr(says, rows[i].says) == NULL)
            fail_msg("%s: %d %s", rows[i].body, r.status, r.body);
        reply_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools),
        cmocka_unit_test(calls),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("tools in conversations", tests, chat_up, chat_down);
}

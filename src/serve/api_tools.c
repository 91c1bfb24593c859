/* api_tools.c - tools and calls of tools in conversations: checked, and put as chat templates read them. What
 * the model answers stays text: no call is read out of it, since every family writes them in its own way. */
#include "api.h"
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 }; /* characters, as OpenAI's API has it */

static bool has_name(const json_t *function) {
    const json_t *name = json_object_get(function, "name");
    return json_is_string(name) && json_string_length(name) > 0 &&
           api_n_characters((asc_view){json_string_value(name), json_string_length(name)}) <= MAX_NAME;
}

static bool is_function(const json_t *type) {
    return json_is_string(type) && strcmp(json_string_value(type), "function") == 0;
}

static bool tool_bad(serve_fault *f, size_t i, const char *what) {
    char param[48];
    snprintf(param, sizeof param, "tools[%zu]", i);
    return api_bad(f, "invalid_value", param,
                   "write it as {\"type\": \"function\", \"function\": {\"name\", \"description\", "
                   "\"parameters\"}}",
                   "tool %zu: %s", i, what);
}

static bool check_tool(const json_t *tool, size_t i, serve_fault *f) {
    const json_t *function = json_object_get(tool, "function"),
                 *about = json_object_get(function, "description"),
                 *parameters = json_object_get(function, "parameters");
    if (!json_is_object(tool)) return tool_bad(f, i, "no object");
    if (!is_function(json_object_get(tool, "type")))
        return tool_bad(f, i, "\"type\" is not \"function\"; others are not supported");
    if (!json_is_object(function)) return tool_bad(f, i, "\"function\" is missing or no object");
    if (!has_name(function)) return tool_bad(f, i, "the function has no \"name\" of 1 to 64 characters");
    if (about != NULL && !json_is_string(about) && !json_is_null(about))
        return tool_bad(f, i, "the function's \"description\" is no string");
    if (parameters != NULL && !json_is_object(parameters) && !json_is_null(parameters))
        return tool_bad(f, i, "the function's \"parameters\" are no object");
    return true;
}

bool api_check_tools(const json_t *list, serve_fault *f) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!check_tool(json_array_get(list, i), i, f)) return false;
    return true;
}

const char *api_calls_wrong(const json_t *message) {
    const json_t *calls = json_object_get(message, "tool_calls"),
                 *id = json_object_get(message, "tool_call_id");
    if (id != NULL && !json_is_string(id) && !json_is_null(id)) return "\"tool_call_id\" is no string";
    if (calls == NULL || json_is_null(calls)) return NULL;
    if (!json_is_array(calls) || json_array_size(calls) == 0) return "\"tool_calls\" is no list of calls";
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i), *function = json_object_get(call, "function"),
                     *arguments = json_object_get(function, "arguments"), *own = json_object_get(call, "id");
        if (!json_is_object(call)) return "a call is no object";
        if (!is_function(json_object_get(call, "type"))) return "a call's \"type\" is not \"function\"";
        if (own != NULL && !json_is_string(own) && !json_is_null(own)) return "a call's \"id\" is no string";
        if (!json_is_object(function) || !has_name(function)) return "a call has no function with a \"name\"";
        if (!json_is_string(arguments) && !json_is_object(arguments))
            return "a call's \"arguments\" are neither a string nor an object";
    }
    return NULL;
}

/* Clients send a call's arguments as a string that holds JSON; templates write an object down themselves, and
 * would quote the string once more. What is no object stays the string that it is: models err. */
static bool open_arguments(json_t *calls) {
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *function = json_object_get(json_array_get(calls, i), "function"),
               *arguments = json_object_get(function, "arguments"), *object = NULL;
        if (!json_is_string(arguments)) continue;
        if (json_string_length(arguments) == 0)
            object = json_object();
        else if (!api_too_deep((asc_view){json_string_value(arguments), json_string_length(arguments)}))
            object = json_loadb(json_string_value(arguments), json_string_length(arguments),
                                JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (json_is_object(object) && json_object_set(function, "arguments", object) != 0) {
            json_decref(object);
            return false;
        }
        json_decref(object);
    }
    return true;
}

bool api_plain_messages(api_body *b, serve_fault *fault) {
    static const char *const keys[] = {"role", "content", "name", "tool_calls", "tool_call_id"};
    json_t *from = api_get(b, "messages"), *to = json_array();
    bool ok = to != NULL;
    for (size_t i = 0; ok && i < json_array_size(from); i++) {
        json_t *m = json_array_get(from, i), *plain = json_object();
        ok = plain != NULL;
        for (size_t k = 0; ok && k < sizeof keys / sizeof *keys; k++) {
            json_t *v = json_object_get(m, keys[k]);
            if (k < 2 ? v != NULL : v != NULL && !json_is_null(v))
                ok = json_object_set(plain, keys[k], v) == 0;
        }
        if (ok && json_object_get(plain, "content") == NULL)
            ok = json_object_set_new(plain, "content", json_null()) == 0;
        if (ok) ok = open_arguments(json_object_get(plain, "tool_calls"));
        if (ok) ok = json_array_append(to, plain) == 0;
        json_decref(plain);
    }
    if (ok) ok = json_object_set(b->root, "messages", to) == 0;
    json_decref(to);
    return ok || api_no_memory(fault);
}

json_t *api_tools(const api_body *b) {
    return api_text(b, "tool_choice").len == 4 && api_text(b, "tool_choice").ptr[0] == 'n'
               ? NULL
               : api_get(b, "tools");
}

/* api_body.c - bodies to checked fields. Everything that is wrong is a 400 that names the field, what is
 * wanted and what was given. */
#include "api.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool api_bad(serve_fault *f, const char *code, const char *param, const char *hint, const char *fmt, ...) {
    char message[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    serve_fault_set(f, 400, code, param, message, hint);
    return false;
}

bool api_no_memory(serve_fault *f) {
    serve_fault_set(f, 503, "out_of_memory", NULL, "not enough memory to read the request", NULL);
    return false;
}

/* What was given, short. */
static const char *shown(const json_t *v, char out[64]) {
    switch (json_typeof(v)) {
    case JSON_STRING: {
        size_t n = json_string_length(v);
        const char *s = json_string_value(v);
        if (n <= 32 && memchr(s, 0, n) == NULL)
            snprintf(out, 64, "\"%s\"", s);
        else
            snprintf(out, 64, "a string of %zu bytes", n);
        return out;
    }
    case JSON_INTEGER:
        snprintf(out, 64, "%lld", (long long)json_integer_value(v));
        return out;
    case JSON_REAL:
        snprintf(out, 64, "%g", json_real_value(v));
        return out;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    case JSON_ARRAY:
        return json_array_size(v) == 0 ? "an empty list" : "a list";
    case JSON_OBJECT:
        return "an object";
    }
    return out;
}

static bool wanted(serve_fault *f, const api_field *a, const json_t *v, const char *what) {
    char given[64];
    return api_bad(f, "invalid_value", a->name, a->doc, "\"%s\": %s is wanted, %s was given", a->name, what,
                   shown(v, given));
}

/* JSON knows one kind of number: 5.0 is whole. */
static bool is_whole(const json_t *v) {
    if (json_is_integer(v)) return true;
    if (!json_is_real(v)) return false;
    const double x = json_real_value(v);
    return fabs(x) <= 9007199254740992.0 && floor(x) == x;
}

static int64_t whole_of(const json_t *v) {
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : (int64_t)json_real_value(v);
}

static bool check_number(const api_field *a, const json_t *v, serve_fault *f) {
    char what[96];
    const bool whole = a->type == API_WHOLE;
    const double x = json_number_value(v);
    if (json_is_number(v) && (!whole || is_whole(v)) && x >= a->least && x <= a->most) return true;
    if (whole && a->least == a->most)
        snprintf(what, sizeof what, "%.0f (more is not supported)", a->least);
    else
        snprintf(what, sizeof what, "a %s from %g to %.9g", whole ? "whole number" : "number", a->least,
                 a->most);
    return wanted(f, a, v, what);
}

static bool check_choice(const api_field *a, const json_t *v, serve_fault *f) {
    char what[96];
    for (const char *c = a->choices; json_is_string(v) && *c != '\0';) {
        const size_t n = strcspn(c, "|");
        if (json_string_length(v) == n && memcmp(json_string_value(v), c, n) == 0) return true;
        c += n + (c[n] == '|');
    }
    snprintf(what, sizeof what, "one of %s", a->choices);
    return wanted(f, a, v, what);
}

static bool check_texts(const api_field *a, const json_t *v, serve_fault *f) {
    char what[128];
    bool ok = json_is_string(v) && json_string_length(v) > 0 && json_string_length(v) <= ASC_MAX_STOP_BYTES;
    if (json_is_array(v)) {
        const double n = (double)json_array_size(v);
        ok = n >= a->least && n <= a->most;
        for (size_t i = 0; ok && i < json_array_size(v); i++) {
            const json_t *e = json_array_get(v, i);
            ok =
                json_is_string(e) && json_string_length(e) > 0 && json_string_length(e) <= ASC_MAX_STOP_BYTES;
        }
    }
    snprintf(what, sizeof what, "a string, or a list of %g to %g of them, none empty or over %d bytes",
             a->least, a->most, ASC_MAX_STOP_BYTES);
    return ok || wanted(f, a, v, what);
}

static bool all_ids(const json_t *v) {
    if (!json_is_array(v)) return false;
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *e = json_array_get(v, i);
        if (!is_whole(e) || whole_of(e) < 0 || whole_of(e) > INT32_MAX) return false;
    }
    return true;
}

static bool check_ids(const api_field *a, const json_t *v, serve_fault *f) {
    const bool ok = all_ids(v) && (double)json_array_size(v) <= a->most;
    return ok || wanted(f, a, v, "a list of token ids (whole numbers of at least 0)");
}

/* A string, or the ids of one: not empty. */
static bool is_prompt(const json_t *v) { return json_is_string(v) || (all_ids(v) && json_array_size(v) > 0); }

static bool check_prompt(const api_field *a, const json_t *v, serve_fault *f) {
    if (is_prompt(v)) return true;
    if (json_is_array(v) && json_array_size(v) == 1 && is_prompt(json_array_get(v, 0))) return true;
    if (json_is_array(v) && json_array_size(v) > 1 && is_prompt(json_array_get(v, 0)) &&
        !json_is_integer(json_array_get(v, 0)))
        return api_bad(f, "unsupported_value", a->name, "send one request for each prompt",
                       "\"%s\": %zu prompts in one request are not supported", a->name, json_array_size(v));
    return wanted(f, a, v, "a string, or a list of token ids");
}

static bool check_inputs(const api_field *a, const json_t *v, serve_fault *f) {
    bool ok = json_is_string(v);
    if (json_is_array(v) && json_array_size(v) > 0) {
        ok = (double)json_array_size(v) <= a->most || all_ids(v);
        for (size_t i = 0; ok && !all_ids(v) && i < json_array_size(v); i++)
            ok = is_prompt(json_array_get(v, i)) &&
                 json_is_string(json_array_get(v, i)) == json_is_string(json_array_get(v, 0));
    }
    return ok || wanted(f, a, v, "a string, up to 2048 of them, or lists of token ids");
}

static bool message_bad(serve_fault *f, size_t i, const char *fmt, const char *what) {
    char param[48], text[160];
    snprintf(param, sizeof param, "messages[%zu]", i);
    snprintf(text, sizeof text, fmt, what);
    return api_bad(f, "invalid_value", param, "write it as {\"role\": \"user\", \"content\": \"...\"}",
                   "message %zu: %s", i, text);
}

static bool check_part(const json_t *p, size_t i, serve_fault *f) {
    const json_t *type = json_object_get(p, "type");
    if (!json_is_object(p)) return message_bad(f, i, "%s", "a part of the content is no object");
    if (!json_is_string(type) || strcmp(json_string_value(type), "text") != 0)
        return message_bad(f, i, "%s",
                           "a part of the content is not of type \"text\"; others are not supported");
    if (!json_is_string(json_object_get(p, "text")))
        return message_bad(f, i, "%s", "a part of the content has no \"text\"");
    if (json_object_size(p) > 2) return message_bad(f, i, "%s", "a part of the content has unknown keys");
    return true;
}

static bool check_message(const json_t *m, size_t i, serve_fault *f) {
    const char *key;
    json_t *v;
    if (!json_is_object(m)) return message_bad(f, i, "%s", "no object");
    json_object_foreach((json_t *)(uintptr_t)m, key, v) {
        const bool known = strcmp(key, "role") == 0 || strcmp(key, "content") == 0 ||
                           strcmp(key, "name") == 0 || strcmp(key, "tool_calls") == 0 ||
                           strcmp(key, "tool_call_id") == 0;
        if (!known && !json_is_null(v)) return message_bad(f, i, "\"%.60s\" is not supported", key);
    }
    const json_t *role = json_object_get(m, "role"), *content = json_object_get(m, "content"),
                 *name = json_object_get(m, "name");
    if (!json_is_string(role) || json_string_length(role) == 0)
        return message_bad(f, i, "%s", "\"role\" is missing or no string");
    if (name != NULL && !json_is_string(name) && !json_is_null(name))
        return message_bad(f, i, "%s", "\"name\" is no string");
    const char *calls = api_calls_wrong(m);
    if (calls != NULL) return message_bad(f, i, "%s", calls);
    if (json_is_string(content)) return true;
    if ((content == NULL || json_is_null(content)) && json_is_array(json_object_get(m, "tool_calls")))
        return true; /* it called a tool and said nothing */
    if (!json_is_array(content) || json_array_size(content) == 0)
        return message_bad(f, i, "%s", "\"content\" is missing, or neither a string nor a list of parts");
    for (size_t k = 0; k < json_array_size(content); k++)
        if (!check_part(json_array_get(content, k), i, f)) return false;
    return true;
}

static bool check_messages(const api_field *a, const json_t *v, serve_fault *f) {
    if (!json_is_array(v) || (double)json_array_size(v) < a->least || (double)json_array_size(v) > a->most)
        return wanted(f, a, v, "a list of at least one message");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!check_message(json_array_get(v, i), i, f)) return false;
    return true;
}

static bool check_tools(const api_field *a, const json_t *v, serve_fault *f) {
    if (!json_is_array(v) || (double)json_array_size(v) < a->least || (double)json_array_size(v) > a->most)
        return wanted(f, a, v, "a list of 1 to 128 tools");
    return api_check_tools(v, f);
}

static bool check_bias(const api_field *a, const json_t *v, serve_fault *f) {
    const char *key;
    json_t *add;
    if (!json_is_object(v)) return wanted(f, a, v, "an object of token ids and numbers");
    if (json_object_size(v) > API_MAX_BIAS)
        return api_bad(f, "invalid_value", a->name, a->doc, "\"%s\": %zu tokens; at most %d", a->name,
                       json_object_size(v), API_MAX_BIAS);
    json_object_foreach((json_t *)(uintptr_t)v, key, add) {
        const size_t n = strspn(key, "0123456789");
        if (n == 0 || n > 9 || key[n] != '\0')
            return api_bad(f, "invalid_value", a->name, a->doc, "\"%s\": \"%.40s\" is no token id", a->name,
                           key);
        if (!json_is_number(add) ||
            !(json_number_value(add) >= a->least && json_number_value(add) <= a->most))
            return api_bad(f, "invalid_value", a->name, a->doc,
                           "\"%s\": token %s needs a number from %g to %g", a->name, key, a->least, a->most);
    }
    return true;
}

static bool check_stream_options(const api_field *a, const json_t *v, serve_fault *f) {
    const char *key;
    json_t *flag;
    if (!json_is_object(v)) return wanted(f, a, v, "an object");
    json_object_foreach((json_t *)(uintptr_t)v, key, flag) {
        if (strcmp(key, "include_usage") != 0 && strcmp(key, "include_obfuscation") != 0)
            return api_bad(f, "unknown_field", a->name, a->doc, "\"%s\": \"%.60s\" is not known", a->name,
                           key);
        if (!json_is_boolean(flag))
            return api_bad(f, "invalid_value", a->name, a->doc, "\"%s\": \"%s\" is true or false", a->name,
                           key);
    }
    return true;
}

/* Both of these would have to hold an answer to a grammar. To ignore them would be an answer that is none. */
static bool check_tool_choice(const api_field *a, const json_t *v, serve_fault *f) {
    const json_t *type = json_object_get(v, "type");
    const bool forced =
        json_is_object(v) || (json_is_string(v) && strcmp(json_string_value(v), "required") == 0);
    if (!forced) return check_choice(a, v, f);
    return api_bad(f, "unsupported_value", a->name,
                   "leave it out, or write auto|none, and ask for the call in a message",
                   "\"%s\": a call of %s cannot be forced: nothing here holds an answer to a grammar",
                   a->name, json_is_string(type) ? "one function" : "a function");
}

static bool check_response_format(const api_field *a, const json_t *v, serve_fault *f) {
    const json_t *type = json_object_get(v, "type");
    if (!json_is_object(v) || !json_is_string(type)) return wanted(f, a, v, "an object {\"type\": \"text\"}");
    if (strcmp(json_string_value(type), "text") == 0) return true;
    return api_bad(f, "unsupported_value", a->name,
                   "ask for JSON in a message and look at what comes, or leave it out for text",
                   "\"%s\": \"%.40s\" cannot be promised: nothing here holds an answer to a grammar", a->name,
                   json_string_value(type));
}

static bool check(const api_field *a, const json_t *v, serve_fault *f) {
    switch (a->type) {
    case API_TEXT:
    case API_MODEL:
        return json_is_string(v) || wanted(f, a, v, "a string");
    case API_WHOLE:
    case API_NUMBER:
        return check_number(a, v, f);
    case API_ANY_WHOLE:
        return is_whole(v) || wanted(f, a, v, "a whole number");
    case API_BOOL:
        return json_is_boolean(v) || wanted(f, a, v, "true or false");
    case API_CHOICE:
        return check_choice(a, v, f);
    case API_TOOL_CHOICE:
        return check_tool_choice(a, v, f);
    case API_RESPONSE_FORMAT:
        return check_response_format(a, v, f);
    case API_TEXTS:
        return check_texts(a, v, f);
    case API_IDS:
        return check_ids(a, v, f);
    case API_PROMPT:
        return check_prompt(a, v, f);
    case API_INPUTS:
        return check_inputs(a, v, f);
    case API_MESSAGES:
        return check_messages(a, v, f);
    case API_TOOLS:
        return check_tools(a, v, f);
    case API_BIAS:
        return check_bias(a, v, f);
    case API_STREAM_OPTIONS:
        return check_stream_options(a, v, f);
    case API_ATTRIBUTION:
        return json_is_object(v) || wanted(f, a, v, "an object with keys of a question");
    case API_UNUSED:
        return true;
    }
    return false;
}

static const api_field *find(const api_table *t, const char *name) {
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->fields[i].name, name) == 0) return &t->fields[i];
    return NULL;
}

/* Fields that clients of such servers know and this one has not: said plainly, not as a slip of the keyboard.
 */
static bool refuse(const api_table *t, const char *key, serve_fault *f) {
    static const char *const known[] = {"tools",
                                        "tool_choice",
                                        "parallel_tool_calls",
                                        "functions",
                                        "function_call",
                                        "response_format",
                                        "suffix",
                                        "modalities",
                                        "audio",
                                        "prediction",
                                        "reasoning_effort",
                                        "verbosity",
                                        "web_search_options",
                                        "dimensions"};
    char param[64];
    snprintf(param, sizeof param, "%.60s", key);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], key) == 0)
            return api_bad(f, "unsupported_field", param, "leave it out", "\"%s\" is not supported by %s",
                           key, t->path);
    return api_bad(f, "unknown_field", param, "/openapi.json lists what this route takes",
                   "\"%s\" is no field of %s", param, t->path);
}

static bool is_question_key(const char *name) {
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++)
        if (strcmp(asc_question_key_at(i)->name, name) == 0) return true;
    return false;
}

/* Brackets outside of strings, before the reader that calls itself for each. */
bool api_too_deep(asc_view v) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < v.len; i++) {
        const char c = v.ptr[i];
        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '[' || c == '{')) {
            if (++depth > API_MAX_DEPTH) return true;
        } else if (!in_string && (c == ']' || c == '}')) {
            depth--;
        }
    }
    return false;
}

static bool check_fields(const api_body *b, serve_fault *fault) {
    const api_table *t = b->table;
    const char *key;
    json_t *v;
    json_object_foreach(b->root, key, v) {
        const api_field *a = find(t, key);
        if (a == NULL && t->question && is_question_key(key)) continue;
        if (a == NULL) return refuse(t, key, fault);
        if (!json_is_null(v) && !check(a, v, fault)) return false;
    }
    for (size_t i = 0; i < t->n; i++) {
        const api_field *a = &t->fields[i];
        if (a->required && api_get(b, a->name) == NULL)
            return api_bad(fault, "missing_field", a->name, a->doc, "\"%s\" is missing%s", a->name,
                           json_object_get(b->root, a->name) != NULL ? ": null was given" : "");
    }
    return true;
}

bool api_body_read(api_which which, asc_view text, api_body *out, serve_fault *fault) {
    json_error_t e;
    *out = (api_body){.table = &api_tables[which]};
    const char *hint = "send one JSON object; /openapi.json says what this route takes";
    if (text.len == 0) return api_bad(fault, "invalid_json", NULL, hint, "the body is empty");
    if (api_too_deep(text))
        return api_bad(fault, "invalid_json", NULL, hint, "lists and objects more than %d deep",
                       API_MAX_DEPTH);
    out->root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);
    if (out->root == NULL)
        return api_bad(fault, "invalid_json", NULL, hint, "the body is no JSON: line %d, column %d: %s",
                       e.line, e.column, e.text);
    if (!json_is_object(out->root))
        return api_bad(fault, "invalid_json", NULL, hint, "the body is no JSON object");
    return check_fields(out, fault);
}

void api_body_free(api_body *b) {
    json_decref(b->root);
    b->root = NULL;
}

json_t *api_get(const api_body *b, const char *name) {
    json_t *v = json_object_get(b->root, name);
    return json_is_null(v) ? NULL : v;
}

double api_number(const api_body *b, const char *name, double absent) {
    const json_t *v = api_get(b, name);
    return v != NULL ? json_number_value(v) : absent;
}

int64_t api_whole(const api_body *b, const char *name, int64_t absent) {
    const json_t *v = api_get(b, name);
    return v != NULL ? whole_of(v) : absent;
}

bool api_flag(const api_body *b, const char *name, bool absent) {
    const json_t *v = api_get(b, name);
    return v != NULL ? json_is_true(v) : absent;
}

asc_view api_text(const api_body *b, const char *name) {
    const json_t *v = api_get(b, name);
    return (asc_view){json_string_value(v), json_string_length(v)};
}

char *api_dump(const json_t *v) { return json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY); }

int32_t *api_ids(const json_t *list, size_t *out_n) {
    const size_t n = json_array_size(list);
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    *out_n = 0;
    if (ids == NULL) return NULL;
    for (size_t i = 0; i < n; i++) {
        const int64_t id = whole_of(json_array_get(list, i));
        ids[i] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    }
    *out_n = n;
    return ids;
}

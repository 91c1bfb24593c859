/* api_schema.c - the tables as JSON schemas: fields of bodies (api_tables.c), keys of questions
 * (include/ascribe/ask.h), fields of replies (api_replies.def). */
#include "api.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parts ---- */

static void type_of(asc_text *t, const char *type, bool null) {
    if (!null) {
        asc_text_strz(t, "type", type);
        return;
    }
    asc_text_array(t, "type");
    asc_text_strz(t, NULL, type);
    asc_text_strz(t, NULL, "null");
    asc_text_end(t);
}

static void bounds(asc_text *t, const char *least, double a, const char *most, double b) {
    asc_text_num(t, least, a);
    asc_text_num(t, most, b);
}

static void text(asc_text *t, const char *key, int64_t least, int64_t most) {
    asc_text_object(t, key);
    asc_text_strz(t, "type", "string");
    if (least > 0) asc_text_int(t, "minLength", least);
    if (most > 0) asc_text_int(t, "maxLength", most);
    asc_text_end(t);
}

static void id(asc_text *t, const char *key, int64_t n_vocab) {
    asc_text_object(t, key);
    asc_text_strz(t, "type", "integer");
    asc_text_int(t, "minimum", 0);
    asc_text_int(t, "maximum", n_vocab - 1);
    asc_text_end(t);
}

static void list_begin(asc_text *t, const char *key, int64_t least, int64_t most) {
    asc_text_object(t, key);
    asc_text_strz(t, "type", "array");
    if (least > 0) asc_text_int(t, "minItems", least);
    if (most > 0) asc_text_int(t, "maxItems", most);
}

static void ids(asc_text *t, const char *key, int64_t least, int64_t n_vocab) {
    list_begin(t, key, least, 0);
    id(t, "items", n_vocab);
    asc_text_end(t);
}

static void null(asc_text *t) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "type", "null");
    asc_text_end(t);
}

/* "a|b|TEXT" as an enumeration; a part with capitals stands for any text: then any string. */
static void choice(asc_text *t, const char *choices, bool with_null) {
    bool open = false;
    for (const char *c = choices; *c != '\0'; c++) open = open || (*c >= 'A' && *c <= 'Z');
    if (open) {
        type_of(t, "string", with_null);
        return;
    }
    asc_text_array(t, "enum");
    for (const char *c = choices; *c != '\0';) {
        const size_t n = strcspn(c, "|");
        asc_text_str(t, NULL, (asc_view){c, n});
        c += n + (c[n] == '|');
    }
    if (with_null) asc_text_null(t, NULL);
    asc_text_end(t);
}

/* An item {type: "function", function: {name, ...}}; more(t) adds the function's other keys. */
static void function_item(asc_text *t, const char *required, void (*more)(asc_text *t)) {
    asc_text_object(t, "items");
    asc_text_strz(t, "type", "object");
    asc_text_array(t, "required");
    asc_text_strz(t, NULL, "type");
    asc_text_strz(t, NULL, "function");
    asc_text_end(t);
    asc_text_object(t, "properties");
    if (required != NULL) {
        asc_text_object(t, "id");
        type_of(t, "string", true);
        asc_text_end(t);
    }
    asc_text_object(t, "type");
    asc_text_strz(t, "const", "function");
    asc_text_end(t);
    asc_text_object(t, "function");
    asc_text_strz(t, "type", "object");
    asc_text_array(t, "required");
    asc_text_strz(t, NULL, "name");
    if (required != NULL) asc_text_strz(t, NULL, required);
    asc_text_end(t);
    asc_text_object(t, "properties");
    text(t, "name", 1, 64);
    more(t);
    for (int i = 0; i < 4; i++) asc_text_end(t);
}

static void call_keys(asc_text *t) {
    asc_text_object(t, "arguments");
    asc_text_array(t, "type");
    asc_text_strz(t, NULL, "string");
    asc_text_strz(t, NULL, "object");
    asc_text_end(t);
    asc_text_end(t);
}

static void tool_keys(asc_text *t) {
    asc_text_object(t, "description");
    type_of(t, "string", true);
    asc_text_end(t);
    asc_text_object(t, "parameters");
    type_of(t, "object", true);
    asc_text_end(t);
}

static void tool_calls(asc_text *t) {
    asc_text_object(t, "tool_calls");
    type_of(t, "array", true);
    asc_text_int(t, "minItems", 1);
    function_item(t, "arguments", call_keys);
    asc_text_end(t);
}

/* A message says something, or calls tools. */
static void content_or_calls(asc_text *t) {
    static const char *const keys[] = {"content", "tool_calls"};
    asc_text_array(t, "anyOf");
    for (int i = 0; i < 2; i++) {
        asc_text_object(t, NULL);
        asc_text_array(t, "required");
        asc_text_strz(t, NULL, keys[i]);
        asc_text_end(t);
        asc_text_object(t, "properties");
        asc_text_object(t, keys[i]);
        asc_text_array(t, "type");
        if (i == 0) asc_text_strz(t, NULL, "string");
        asc_text_strz(t, NULL, "array");
        for (int k = 0; k < 4; k++) asc_text_end(t);
    }
    asc_text_end(t);
}

static void messages_list(asc_text *t, bool parts_only_text) {
    asc_text_int(t, "minItems", 1);
    asc_text_object(t, "items");
    asc_text_strz(t, "type", "object");
    asc_text_bool(t, "additionalProperties", false);
    asc_text_array(t, "required");
    asc_text_strz(t, NULL, "role");
    asc_text_end(t);
    content_or_calls(t);
    asc_text_object(t, "properties");
    text(t, "role", 1, 0);
    asc_text_object(t, "content");
    asc_text_array(t, "anyOf");
    text(t, NULL, 0, 0);
    null(t);
    list_begin(t, NULL, 1, 0);
    asc_text_object(t, "items");
    asc_text_strz(t, "type", "object");
    asc_text_bool(t, "additionalProperties", false);
    asc_text_array(t, "required");
    asc_text_strz(t, NULL, "type");
    asc_text_strz(t, NULL, "text");
    asc_text_end(t);
    asc_text_object(t, "properties");
    asc_text_object(t, "type");
    asc_text_strz(t, "const", "text");
    asc_text_end(t);
    text(t, "text", 0, 0);
    asc_text_end(t);
    asc_text_end(t);
    asc_text_end(t);
    asc_text_end(t);
    asc_text_end(t);
    if (parts_only_text) {
        asc_text_object(t, "name");
        type_of(t, "string", true);
        asc_text_end(t);
        asc_text_object(t, "tool_call_id");
        type_of(t, "string", true);
        asc_text_end(t);
        tool_calls(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

/* ---- fields of bodies ---- */

static void any_of_prompts(asc_text *t, const api_field *f, int64_t n_vocab) {
    const bool several = f->type == API_INPUTS;
    const int64_t most = several ? (int64_t)f->most : 1;
    const int64_t least = several ? 0 : 1; /* an encoder reads an empty text as its special tokens */
    asc_text_array(t, "anyOf");
    text(t, NULL, least, 0);
    list_begin(t, NULL, 1, most);
    text(t, "items", least, 0);
    asc_text_end(t);
    ids(t, NULL, 1, n_vocab);
    list_begin(t, NULL, 1, most);
    ids(t, "items", 1, n_vocab);
    asc_text_end(t);
    asc_text_end(t);
}

static void bias(asc_text *t, const api_field *f) {
    type_of(t, "object", !f->required);
    asc_text_int(t, "maxProperties", API_MAX_BIAS);
    asc_text_object(t, "propertyNames");
    asc_text_strz(t, "pattern", "^[0-9]{1,9}$");
    asc_text_end(t);
    asc_text_object(t, "additionalProperties");
    asc_text_strz(t, "type", "number");
    bounds(t, "minimum", f->least, "maximum", f->most);
    asc_text_end(t);
}

static void stream_options(asc_text *t) {
    static const char *const names[] = {"include_usage", "include_obfuscation"};
    type_of(t, "object", true);
    asc_text_bool(t, "additionalProperties", false);
    asc_text_object(t, "properties");
    for (int i = 0; i < 2; i++) {
        asc_text_object(t, names[i]);
        asc_text_strz(t, "type", "boolean");
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void field(asc_text *t, const api_field *f, const api_facts *facts) {
    const bool null_too = !f->required;
    asc_text_object(t, f->name);
    asc_text_strz(t, "description", f->doc);
    switch (f->type) {
    case API_TEXT:
        type_of(t, "string", null_too);
        break;
    case API_MODEL:
        choice(t, facts->model_id, null_too);
        break;
    case API_WHOLE:
    case API_NUMBER:
        type_of(t, f->type == API_WHOLE ? "integer" : "number", null_too);
        bounds(t, "minimum", f->least, "maximum", f->most);
        break;
    case API_ANY_WHOLE:
        type_of(t, "integer", null_too);
        asc_text_int(t, "minimum", INT64_MIN);
        asc_text_int(t, "maximum", INT64_MAX);
        break;
    case API_BOOL:
        type_of(t, "boolean", null_too);
        break;
    case API_CHOICE:
    case API_TOOL_CHOICE:
        choice(t, f->choices, null_too);
        break;
    case API_TEXTS:
        asc_text_array(t, "anyOf");
        text(t, NULL, 1, ASC_MAX_STOP_BYTES / 4);
        list_begin(t, NULL, (int64_t)f->least, (int64_t)f->most);
        text(t, "items", 1, ASC_MAX_STOP_BYTES / 4);
        asc_text_end(t);
        null(t);
        asc_text_end(t);
        break;
    case API_IDS:
        type_of(t, "array", null_too);
        id(t, "items", facts->n_vocab);
        break;
    case API_PROMPT:
    case API_INPUTS:
        any_of_prompts(t, f, facts->n_vocab);
        break;
    case API_MESSAGES:
        asc_text_strz(t, "type", "array");
        messages_list(t, true);
        break;
    case API_TOOLS:
        type_of(t, "array", null_too);
        bounds(t, "minItems", f->least, "maxItems", f->most);
        function_item(t, NULL, tool_keys);
        break;
    case API_BIAS:
        bias(t, f);
        break;
    case API_RESPONSE_FORMAT:
        type_of(t, "object", true);
        break;
    case API_STREAM_OPTIONS:
        stream_options(t);
        break;
    case API_ATTRIBUTION:
        asc_text_array(t, "anyOf");
        asc_text_object(t, NULL);
        asc_text_strz(t, "$ref", "#/components/schemas/Attribution");
        asc_text_end(t);
        null(t);
        asc_text_end(t);
        break;
    case API_UNUSED:
        break;
    }
    asc_text_end(t);
}

/* ---- keys of questions ---- */

static void any_of_types(asc_text *t, const char *const *types, size_t n) {
    asc_text_array(t, "type");
    for (size_t i = 0; i < n; i++) asc_text_strz(t, NULL, types[i]);
    asc_text_strz(t, NULL, "null");
    asc_text_end(t);
}

#define TYPES(...)                                                                                           \
    any_of_types(t, (const char *const[]){__VA_ARGS__},                                                      \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void key(asc_text *t, const asc_question_key *k, const api_facts *facts) {
    asc_text_object(t, k->name);
    asc_text_strz(t, "description", k->doc);
    switch (k->type) {
    case ASC_KEY_TEXT:
    case ASC_KEY_PICTURE:
    case ASC_KEY_BASE64:
        TYPES("string");
        break;
    case ASC_KEY_CHOICE:
        choice(t, k->choices, true);
        break;
    case ASC_KEY_COUNT:
    case ASC_KEY_WHOLE:
        TYPES("integer");
        asc_text_int(t, "minimum", k->type == ASC_KEY_COUNT ? 1 : 0);
        break;
    case ASC_KEY_NUMBER:
        TYPES("number", "string");
        asc_text_int(t, "minimum", 0);
        break;
    case ASC_KEY_BYTES:
        TYPES("integer", "string");
        asc_text_int(t, "minimum", 1);
        break;
    case ASC_KEY_BOOL:
        TYPES("boolean");
        break;
    case ASC_KEY_IDS:
        TYPES("array");
        if (facts->n_vocab > 0) id(t, "items", facts->n_vocab);
        break;
    case ASC_KEY_TEXTS:
    case ASC_KEY_PASSAGES:
    case ASC_KEY_SIZES:
    case ASC_KEY_RULES:
        TYPES("array", "string");
        break;
    case ASC_KEY_MESSAGES:
        TYPES("array");
        break;
    case ASC_KEY_VALUES:
        TYPES("object", "array");
        break;
    case ASC_KEY_INDEX:
    case ASC_KEY_TOKENS:
        TYPES("array", "string", "integer");
        break;
    case ASC_KEY_ARRAY:
    case ASC_KEY_ARRAYS:
        TYPES("array", "number", "object", "string");
        break;
    case ASC_KEY_JSON: /* any value */
        TYPES("array", "object");
        break;
    }
    asc_text_end(t);
}

static unsigned subject_bit(asc_subject_kind kind) {
    return kind == ASC_SUBJECT_DECODER   ? ASC_KEY_PROMPTS
           : kind == ASC_SUBJECT_ENCODER ? ASC_KEY_ENCODERS
                                         : ASC_KEY_NETS;
}

static void keys(asc_text *t, const api_facts *facts, bool of_answer) {
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
        const asc_question_key *k = asc_question_key_at(i);
        if ((k->subjects & subject_bit(facts->kind)) != 0 && !(of_answer && api_is_given(k->name)))
            key(t, k, facts);
    }
}

/* ---- the schemas ---- */

void api_schema_bodies(asc_text *t, const api_facts *facts) {
    for (size_t b = 0; b < API_N_BODIES; b++) {
        const api_table *table = &api_tables[b];
        bool required = false;
        asc_text_object(t, table->name);
        asc_text_strz(t, "type", "object");
        asc_text_bool(t, "additionalProperties", false);
        asc_text_object(t, "properties");
        for (size_t i = 0; i < table->n; i++) {
            field(t, &table->fields[i], facts);
            required = required || table->fields[i].required;
        }
        if (table->question) keys(t, facts, false);
        asc_text_end(t);
        if (required) asc_text_array(t, "required");
        for (size_t i = 0; i < table->n; i++)
            if (table->fields[i].required) asc_text_strz(t, NULL, table->fields[i].name);
        if (required) asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_object(t, "Attribution");
    asc_text_strz(t, "description", "keys of a question about the answer, without prompt and target");
    asc_text_strz(t, "type", "object");
    asc_text_bool(t, "additionalProperties", false);
    asc_text_object(t, "properties");
    keys(t, facts, true);
    asc_text_end(t);
    asc_text_end(t);
}

/* A type of api_replies.def, of n bytes, into an open schema object. */
static void reply_type(asc_text *t, const char *type, size_t n) {
    char name[64];
    if (n > 0 && type[n - 1] == '?') {
        asc_text_array(t, "anyOf");
        asc_text_object(t, NULL);
        reply_type(t, type, n - 1);
        asc_text_end(t);
        null(t);
        asc_text_end(t);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, type);
    if (type[0] == '[' || type[0] == '{') {
        asc_text_strz(t, "type", type[0] == '[' ? "array" : "object");
        asc_text_object(t, type[0] == '[' ? "items" : "additionalProperties");
        reply_type(t, type + 1, n - 2);
        asc_text_end(t);
    } else if (type[0] == '=') {
        asc_text_strz(t, "const", name + 1);
    } else if (type[0] >= 'A' && type[0] <= 'Z') {
        char ref[96];
        snprintf(ref, sizeof ref, "#/components/schemas/%s", name);
        asc_text_strz(t, "$ref", ref);
    } else if (strcmp(name, "any") != 0) {
        asc_text_strz(t, "type", name);
    }
}

static const struct {
    const char *schema, *field, *type, *doc;
} replies[] = {
#define REPLY(schema, field, type, doc) {schema, field, type, doc},
#include "api_replies.def"
#undef REPLY
};
enum { N_REPLIES = sizeof replies / sizeof *replies };

void api_schema_replies(asc_text *t) {
    for (size_t from = 0, to; from < N_REPLIES; from = to) {
        bool required = false;
        for (to = from; to < N_REPLIES && strcmp(replies[to].schema, replies[from].schema) == 0; to++)
            required = required || replies[to].field[0] != '?';
        asc_text_object(t, replies[from].schema);
        asc_text_strz(t, "type", "object");
        asc_text_object(t, "properties");
        for (size_t i = from; i < to; i++) {
            asc_text_object(t, replies[i].field + (replies[i].field[0] == '?'));
            if (replies[i].doc[0] != '\0') asc_text_strz(t, "description", replies[i].doc);
            reply_type(t, replies[i].type, strlen(replies[i].type));
            asc_text_end(t);
        }
        asc_text_end(t);
        if (required) asc_text_array(t, "required");
        for (size_t i = from; i < to; i++)
            if (replies[i].field[0] != '?') asc_text_strz(t, NULL, replies[i].field);
        if (required) asc_text_end(t);
        asc_text_end(t);
    }
}

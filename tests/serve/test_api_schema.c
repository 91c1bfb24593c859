/* test_api_schema.c - /openapi.json says what the code does: every route and every field is there, with its
 * bounds, and a value that the document forbids is refused by the field's name. */
#include "api.h"
#include "api_test.h"

static server *up(void) {
    return api_up(test_data("goldens/zoo_gguf/llama-q4_1/model.gguf"), (serve_options){0});
}

static void routes(void **state) {
    (void)state;
    server *s = up();
    reply r = api_call(s, "GET", "/openapi.json", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(text_at(r.json, "openapi"), "3.1.0");
    json_t *paths = json_object_get(r.json, "paths");
    for (size_t i = 0; i < serve_n_routes; i++) {
        const serve_route *route = &serve_routes[i];
        json_t *o = json_object_get(paths, route->path);
        assert_int_equal(o != NULL, !route->page);
        if (o == NULL) continue;
        char method[16] = "";
        for (size_t k = 0; route->method[k] != '\0'; k++) method[k] = (char)(route->method[k] | 0x20);
        o = json_object_get(o, method);
        assert_string_equal(text_at(o, "summary"), route->doc);
        assert_int_equal(json_object_get(o, "parameters") != NULL, strchr(route->path, '{') != NULL);
        assert_non_null(at(o, "responses.200"));
        assert_non_null(at(o, "responses.400"));
    }
    for (size_t b = 0; b < API_N_BODIES; b++) {
        char ref[96];
        snprintf(ref, sizeof ref, "#/components/schemas/%s", api_tables[b].name);
        json_t *o = json_object_get(json_object_get(paths, api_tables[b].path), "post");
        json_t *content = at(o, "requestBody.content");
        assert_string_equal(text_at(json_object_get(content, "application/json"), "schema.$ref"), ref);
    }
    reply_free(&r);
    api_down(s);
}

/* Every $ref leads somewhere. */
static void follow(json_t *v, json_t *schemas) {
    const char *key;
    json_t *e;
    size_t i;
    json_array_foreach(v, i, e) follow(e, schemas);
    json_object_foreach(v, key, e) {
        if (strcmp(key, "$ref") != 0) {
            follow(e, schemas);
            continue;
        }
        assert_int_equal(strncmp(json_string_value(e), "#/components/schemas/", 21), 0);
        if (json_object_get(schemas, json_string_value(e) + 21) == NULL) fail_msg("%s", json_string_value(e));
    }
}

static void refs(void **state) {
    (void)state;
    server *s = up();
    reply r = api_call(s, "GET", "/openapi.json", NULL);
    json_t *schemas = at(r.json, "components.schemas");
    follow(r.json, schemas);
    for (size_t b = 0; b < API_N_BODIES; b++) {
        json_t *schema = json_object_get(schemas, api_tables[b].name);
        assert_true(json_is_false(at(schema, "additionalProperties")));
        for (size_t i = 0; i < api_tables[b].n; i++) {
            const api_field *f = &api_tables[b].fields[i];
            json_t *p = json_object_get(json_object_get(schema, "properties"), f->name);
            assert_string_equal(text_at(p, "description"), f->doc);
            if (f->type != API_WHOLE && f->type != API_NUMBER) continue;
            assert_true(json_number_value(at(p, "minimum")) == f->least);
            assert_true(json_number_value(at(p, "maximum")) == f->most);
        }
    }
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
        const asc_question_key *k = asc_question_key_at(i);
        json_t *p = json_object_get(at(schemas, "ExplainRequest.properties"), k->name);
        if ((k->subjects & ASC_KEY_PROMPTS) != 0) assert_non_null(p);
    }
    reply_free(&r);
    api_down(s);
}

/* A body that is good but for one field. */
static json_t *with(api_which which, const char *name, json_t *take_v) {
    json_t *b = json_object();
    if (which == API_CHAT)
        json_object_set_new(b, "messages", json_pack("[{s:s,s:s}]", "role", "user", "content", "a"));
    if (which == API_COMPLETION || which == API_EXPLAIN) json_object_set_new(b, "prompt", json_string("a"));
    if (which == API_EMBEDDINGS) json_object_set_new(b, "input", json_string("a"));
    if (which == API_TOKENIZE) json_object_set_new(b, "text", json_string("a"));
    json_object_set_new(b, name, take_v);
    return b;
}

static void refused(api_which which, const char *name, json_t *take_v, bool good) {
    api_body body;
    serve_fault fault = {0};
    json_t *b = with(which, name, take_v);
    char *text = json_dumps(b, 0);
    const bool ok = api_body_read(which, (asc_view){text, strlen(text)}, &body, &fault);
    if (ok != good || (!ok && (fault.status != 400 || strncmp(fault.param, name, strlen(name)) != 0)))
        fail_msg("%s, %s: %s", api_tables[which].name, text, fault.message);
    api_body_free(&body);
    free(text);
    json_decref(b);
}

/* Values of every JSON type against every field: what is no value of its type is refused. */
static void types(void **state) {
    (void)state;
    for (api_which w = 0; w < API_N_BODIES; w++) {
        for (size_t i = 0; i < api_tables[w].n; i++) {
            const api_field *f = &api_tables[w].fields[i];
            const api_type t = f->type;
            const bool number = t == API_NUMBER || t == API_WHOLE || t == API_ANY_WHOLE,
                       any = t == API_UNUSED;
            refused(w, f->name, json_null(), !f->required);
            refused(w, f->name, json_true(), any || t == API_BOOL);
            if (!number || t == API_ANY_WHOLE) refused(w, f->name, json_integer(1), any || number);
            if (t == API_NUMBER || t == API_WHOLE) {
                refused(w, f->name, json_real(f->least), true);
                refused(w, f->name, json_real(f->most), true);
                refused(w, f->name, json_real(f->most * 1.001 + 0.5), false);
                refused(w, f->name, json_real(f->least - 0.5), false);
            }
            refused(w, f->name, json_string("a"),
                    any || t == API_TEXT || t == API_MODEL || t == API_TEXTS || t == API_PROMPT ||
                        t == API_INPUTS);
            refused(w, f->name, json_object(),
                    any || t == API_BIAS || t == API_STREAM_OPTIONS || t == API_ATTRIBUTION);
            refused(w, f->name, json_array(), any || t == API_IDS);
            refused(w, f->name, json_pack("[b]", 1), any);
        }
        refused(w, "no_such_field", json_integer(1), false);
    }
}

static void lists(void **state) {
    (void)state;
    server *s = up();
    reply r = api_call(s, "GET", "/v1/models", NULL);
    assert_string_equal(text_at(r.json, "data.0.id"), "model");
    reply_free(&r);
    r = api_call(s, "GET", "/v1/models/model", NULL);
    assert_string_equal(text_at(r.json, "kind"), "decoder");
    reply_free(&r);
    r = api_call(s, "GET", "/v1/models/other", NULL);
    assert_int_equal(r.status, 404);
    reply_free(&r);
    r = api_call(s, "GET", "/v1/methods", NULL);
    assert_string_equal(text_at(r.json, "data.0.name"), asc_method_at(0)->name);
    reply_free(&r);
    /* a reply has far more bytes than its text, so what it may hold has a limit of its own */
    enum { TEXT = (1 << 20) + 1 };
    char *large = malloc(TEXT + 16);
    assert_non_null(large);
    int head = snprintf(large, 16, "{\"text\": \"");
    memset(large + head, 'a', TEXT);
    memcpy(large + head + TEXT, "\"}", 3);
    r = api_call(s, "POST", "/v1/tokenize", large);
    assert_int_equal(r.status, 413);
    assert_non_null(strstr(r.body, "text_too_long"));
    reply_free(&r);
    free(large);
    r = api_call(s, "POST", "/v1/tokenize", "{\"text\": \"some words\"}");
    assert_int_equal(json_integer_value(at(r.json, "n")), json_array_size(at(r.json, "ids")));
    char *ids = json_dumps(at(r.json, "ids"), 0), body[256];
    snprintf(body, sizeof body, "{\"ids\": %s}", ids);
    reply back = api_call(s, "POST", "/v1/tokenize", body);
    assert_non_null(strstr(text_at(back.json, "text"), "some words"));
    free(ids);
    reply_free(&back);
    reply_free(&r);
    api_down(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(routes), cmocka_unit_test(refs),
                                       cmocka_unit_test(types), cmocka_unit_test(lists)};
    return cmocka_run_group_tests_name("schemas of the API", tests, NULL, NULL);
}

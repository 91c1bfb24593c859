/* api_openapi.c - /openapi.json: the routes by routes.def, their bodies by api_tables.c and ask.h, their
 * replies by api_replies.def. Nothing is said here that those do not say, but for which reply belongs to
 * which route. */
#include "api.h"
#include <string.h>

/* The good replies of routes: schema of the JSON (NULL: an object), and another type that may come instead.
 */
static const struct {
    const char *path, *schema, *other, *text;
} replies[] = {
    {"/v1/chat/completions", "ChatResponse", "text/event-stream", "chunks, then [DONE]"},
    {"/v1/completions", "CompletionResponse", "text/event-stream", "chunks, then [DONE]"},
    {"/v1/explain", "Result", "text/event-stream", "events: progress, saved, result, command, error"},
    {"/v1/embeddings", "EmbeddingsResponse", NULL, NULL},
    {"/v1/tokenize", "TokenizeResponse", NULL, NULL},
    {"/v1/models", "Models", NULL, NULL},
    {"/v1/models/{id}", "Model", NULL, NULL},
    {"/v1/methods", "Methods", NULL, NULL},
    {"/v1/results/{id}", "Result", NULL, NULL},
    {"/v1/results/{id}.json", "Result", NULL, NULL},
    {"/v1/results/{id}.html", NULL, "text/html; charset=utf-8", "a page"},
    {"/metrics", NULL, "text/plain; version=0.0.4", "counters"},
};

static void media(asc_text *t, const char *type, const char *schema, const char *doc) {
    asc_text_object(t, type);
    asc_text_object(t, "schema");
    if (schema != NULL) {
        char to[96] = "#/components/schemas/";
        strncat(to, schema, sizeof to - strlen(to) - 1);
        asc_text_strz(t, "$ref", to);
    } else {
        asc_text_strz(t, "type", strncmp(type, "application/json", 16) == 0 ? "object" : "string");
        if (doc != NULL) asc_text_strz(t, "description", doc);
    }
    asc_text_end(t);
    asc_text_end(t);
}

static void good_reply(asc_text *t, const serve_route *r) {
    const char *schema = NULL, *other = NULL, *doc = NULL;
    bool json = true;
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        if (strcmp(replies[i].path, r->path) != 0) continue;
        schema = replies[i].schema;
        other = replies[i].other;
        doc = replies[i].text;
        json = schema != NULL;
    }
    asc_text_object(t, "200");
    asc_text_strz(t, "description", "done");
    asc_text_object(t, "content");
    if (json) media(t, "application/json", schema, NULL);
    if (other != NULL) media(t, other, NULL, doc);
    if (strcmp(r->path, "/v1/explain") == 0)
        media(t, "text/html; charset=utf-8", NULL, "with \"format\": \"html\"");
    asc_text_end(t);
    asc_text_end(t);
}

static void bad_replies(asc_text *t, bool work) {
    static const struct {
        const char *status, *doc;
        bool work;
    } rows[] = {{"400", "the request is wrong; the error says where", false},
                {"401", "a token is needed", false},
                {"403", "not from this page or host", false},
                {"404", "nothing of this name", false},
                {"413", "too large, or it would take too long or too much memory", true},
                {"415", "the body is no JSON", true},
                {"429", "this client waits for enough already", true},
                {"503", "the queue is full, or the server ends", true},
                {"507", "no room for saved results", true},
                {"default", "something else went wrong", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].work && !work) continue;
        asc_text_object(t, rows[i].status);
        asc_text_strz(t, "description", rows[i].doc);
        asc_text_object(t, "content");
        media(t, "application/json", "Error", NULL);
        asc_text_end(t);
        asc_text_end(t);
    }
}

/* "/v1/results/{id}.json" has one parameter, id. */
static void parameters(asc_text *t, const serve_route *r) {
    const char *open = strchr(r->path, '{');
    if (open == NULL) return;
    asc_text_array(t, "parameters");
    for (; open != NULL; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        if (close == NULL) break;
        asc_text_object(t, NULL);
        asc_text_str(t, "name", (asc_view){open + 1, (size_t)(close - open - 1)});
        asc_text_strz(t, "in", "path");
        asc_text_bool(t, "required", true);
        asc_text_object(t, "schema");
        asc_text_strz(t, "type", "string");
        asc_text_strz(t, "pattern", "^[0-9a-z-]{1,64}$");
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static const api_table *body_of(const serve_route *r) {
    for (size_t i = 0; i < API_N_BODIES; i++)
        if (strcmp(api_tables[i].path, r->path) == 0 && strcmp(api_tables[i].method, r->method) == 0)
            return &api_tables[i];
    return NULL;
}

static void operation(asc_text *t, const serve_route *r, bool needs_token) {
    static const char *const methods[][2] = {
        {"GET", "get"}, {"POST", "post"}, {"DELETE", "delete"}, {"PUT", "put"}};
    const api_table *table = body_of(r);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i][0], r->method) == 0) asc_text_object(t, methods[i][1]);
    asc_text_strz(t, "summary", r->doc);
    parameters(t, r);
    if (table != NULL) {
        asc_text_object(t, "requestBody");
        asc_text_bool(t, "required", true);
        asc_text_object(t, "content");
        media(t, "application/json", table->name, NULL);
        asc_text_end(t);
        asc_text_end(t);
    }
    if (needs_token && r->open) {
        asc_text_array(t, "security");
        asc_text_end(t);
    }
    asc_text_object(t, "responses");
    good_reply(t, r);
    bad_replies(t, table != NULL);
    asc_text_end(t);
    asc_text_end(t);
}

static void paths(asc_text *t, bool needs_token) {
    asc_text_object(t, "paths");
    for (size_t i = 0; i < serve_n_routes; i++) {
        const serve_route *r = &serve_routes[i];
        bool before = r->page;
        for (size_t k = 0; k < i; k++)
            before = before || (!serve_routes[k].page && strcmp(serve_routes[k].path, r->path) == 0);
        if (before) continue;
        asc_text_object(t, r->path);
        for (size_t k = i; k < serve_n_routes; k++)
            if (!serve_routes[k].page && strcmp(serve_routes[k].path, r->path) == 0)
                operation(t, &serve_routes[k], needs_token);
        asc_text_end(t);
    }
    asc_text_end(t);
}

void api_openapi(asc_text *t, const api_facts *facts) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "openapi", "3.1.0");
    asc_text_object(t, "info");
    asc_text_strz(t, "title", "ascribe");
    asc_text_strz(t, "summary", "what drove a model's output");
    asc_text_strz(t, "version", asc_version());
    asc_text_end(t);
    paths(t, facts->needs_token);
    asc_text_object(t, "components");
    asc_text_object(t, "schemas");
    api_schema_bodies(t, facts);
    api_schema_replies(t);
    asc_text_end(t);
    if (facts->needs_token) {
        asc_text_object(t, "securitySchemes");
        asc_text_object(t, "token");
        asc_text_strz(t, "type", "http");
        asc_text_strz(t, "scheme", "bearer");
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
    if (facts->needs_token) {
        asc_text_array(t, "security");
        asc_text_object(t, NULL);
        asc_text_array(t, "token");
        asc_text_end(t);
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
}

/* api_lists.c - what the server has to offer: GET /v1/models, /v1/methods, saved results, /openapi.json. */
#include "api.h"
#include "page.h"
#include <string.h>

static void put_model(asc_text *t, const char *id, serve_bench *b, int64_t created) {
    asc_model *m = asc_subject_model(b->subject);
    const asc_subject_kind kind = asc_subject_get_kind(b->subject);
    asc_text_object(t, NULL);
    asc_text_strz(t, "id", id);
    asc_text_strz(t, "object", "model");
    asc_text_int(t, "created", created);
    asc_text_strz(t, "owned_by", "ascribe");
    asc_text_strz(t, "kind",
                  kind == ASC_SUBJECT_DECODER   ? "decoder"
                  : kind == ASC_SUBJECT_ENCODER ? "encoder"
                                                : "net");
    if (m != NULL) {
        const asc_model_info i = asc_model_get_info(m);
        asc_text_strz(t, "architecture", i.architecture);
        asc_text_str(t, "name", (asc_view){i.name, strlen(i.name)});
        asc_text_int(t, "context_length", i.context_length);
        asc_text_int(t, "n_vocab", i.n_vocab);
        asc_text_int(t, "n_params", i.n_params);
        asc_text_bool(t, "chat", asc_model_chat_template(m).ptr != NULL);
        if (kind == ASC_SUBJECT_ENCODER)
            asc_text_int(t, "embedding_width", (int64_t)asc_model_embedding_width(m));
    }
    asc_text_end(t);
}

/* When this program was started would change with it; the model's file has no date that says anything. */
enum { CREATED = 0 };

void api_models(exchange *x) {
    char id[API_ID_BYTES];
    asc_text *t = NULL;
    api_model_id(exchange_server(x), id);
    serve_bench *b = server_lock_bench(exchange_server(x));
    if (asc_text_create(b->ctx, &t) == ASC_OK) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "object", "list");
        asc_text_array(t, "data");
        put_model(t, id, b, CREATED);
        asc_text_end(t);
        asc_text_end(t);
    }
    api_reply(x, t);
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}

void api_model(exchange *x) {
    char id[API_ID_BYTES];
    asc_text *t = NULL;
    api_model_id(exchange_server(x), id);
    if (strcmp(exchange_part(x, "id"), id) != 0) {
        exchange_fail(x, 404, "model_not_found", "id", "there is no model of this id here",
                      "GET /v1/models lists the one that is served", 0);
        return;
    }
    serve_bench *b = server_lock_bench(exchange_server(x));
    if (asc_text_create(b->ctx, &t) == ASC_OK) put_model(t, id, b, CREATED);
    api_reply(x, t);
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}

void api_methods(exchange *x) {
    asc_text *t = NULL;
    serve_bench *b = server_lock_bench(exchange_server(x));
    const bool net = asc_subject_get_kind(b->subject) == ASC_SUBJECT_NET;
    if (asc_text_create(b->ctx, &t) == ASC_OK) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "object", "list");
        asc_text_array(t, "data");
        for (size_t i = 0; asc_method_at(i) != NULL; i++) {
            const asc_method_info *m = asc_method_at(i);
            const asc_method_traits k = asc_method_traits_at(i);
            asc_text_object(t, NULL);
            asc_text_strz(t, "name", m->name);
            asc_text_strz(t, "captum", m->captum);
            asc_text_strz(t, "doc", m->doc);
            asc_text_strz(t, "formula", m->formula);
            asc_text_strz(t, "cost", m->cost);
            asc_text_strz(t, "options", m->options);
            asc_text_bool(t, "prompts", k.prompts);
            asc_text_bool(t, "nets", k.nets);
            asc_text_bool(t, "available", net ? k.nets : k.prompts);
            asc_text_bool(t, "by_gradient", k.by_gradient);
            asc_text_bool(t, "complete", k.complete);
            asc_text_end(t);
        }
        asc_text_end(t);
        asc_text_end(t);
    }
    api_reply(x, t);
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}

static void result(exchange *x, const char *kind) {
    serve_fault fault = {0};
    asc_text *t = NULL;
    char policy[1024];
    serve_bench *b = server_lock_bench(exchange_server(x));
    bool ok = asc_text_create(b->ctx, &t) == ASC_OK || api_no_memory(&fault);
    ok = ok && store_get(exchange_server(x), exchange_part(x, "id"), kind, t, &fault);
    if (!ok) {
        exchange_fail_fault(x, &fault);
    } else if (strcmp(kind, "html") == 0) {
        page_result_policy(asc_text_view(t), policy, sizeof policy);
        exchange_reply_header(x, "Content-Security-Policy", policy);
        exchange_reply(x, 200, "text/html; charset=utf-8", asc_text_view(t));
    } else {
        exchange_reply(x, 200, "application/json", asc_text_view(t));
    }
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}

void api_result_json(exchange *x) { result(x, "json"); }
void api_result_html(exchange *x) { result(x, "html"); }

void api_document(exchange *x) {
    char id[API_ID_BYTES];
    asc_text *t = NULL;
    api_model_id(exchange_server(x), id);
    serve_bench *b = server_lock_bench(exchange_server(x));
    asc_model *m = asc_subject_model(b->subject);
    const api_facts facts = {.model_id = id,
                             .kind = asc_subject_get_kind(b->subject),
                             .n_vocab = m != NULL ? asc_model_get_info(m).n_vocab : 0,
                             .needs_token = server_options(exchange_server(x))->token != NULL};
    if (asc_text_create(b->ctx, &t) == ASC_OK) api_openapi(t, &facts);
    api_reply(x, t);
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}

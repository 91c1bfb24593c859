/* ask_prompt_text.c - the keys that say what the prompt is and what of it counts: a text, ids, a
 * conversation, a template, passages, a question behind them; what is frozen or skipped. */
#include "ask_prompt.h"
#include "chat.h"

#define ID(name) ASC_KEY_ID_##name

static asc_status read_messages(asc_question *q) {
    const asc_json *v = q->values[ID(MESSAGES)];
    struct asc_prompt_memory *own = q->prompt;
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_ARRAY || asc_json_len(v) == 0)
        return asc_ask_wrong(q, ID(MESSAGES), v, "a list of {\"role\", \"content\"}");
    asc_status st = asc_chat_read_json(q->ctx, v, &own->chat);
    if (st != ASC_OK) {
        asc_fail_context(q->ctx, "\"messages\"");
        return st == ASC_INVALID_ARGUMENT
                   ? asc_hint(q->ctx, "write [{\"role\": \"user\", \"content\": \"...\"}, ...]")
                   : st;
    }
    asc_message *m = asc_ask_alloc(q, own->chat.n, sizeof *m);
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < own->chat.n; i++)
        m[i] = (asc_message){own->chat.v[i].role, own->chat.v[i].content};
    q->request.messages = m;
    q->request.n_messages = own->chat.n;
    q->request.message_extras = own->chat.extras;
    return ASC_OK;
}

/* "tools" and "template_vars" as one object for the chat template. */
static asc_status read_vars(asc_question *q) {
    const asc_json *vars = q->values[ID(TEMPLATE_VARS)], *tools = q->values[ID(TOOLS)], *v;
    void *iter = NULL;
    asc_view key;
    if (vars == NULL && tools == NULL) return ASC_OK;
    if (q->request.messages == NULL)
        return asc_ask_refuse(q, "\"%s\" goes with a conversation: \"messages\" or \"user\"",
                              tools != NULL ? "tools" : "template_vars");
    if (vars != NULL && asc_json_typeof(vars) != ASC_JSON_OBJECT)
        return asc_ask_wrong(q, ID(TEMPLATE_VARS), vars, "an object of variables");
    if (tools != NULL && asc_json_typeof(tools) != ASC_JSON_ARRAY)
        return asc_ask_wrong(q, ID(TOOLS), tools, "a list of {\"type\", \"function\"}");
    if (tools != NULL && asc_json_get(vars, "tools") != NULL)
        return asc_ask_refuse(q, "give one of \"tools\" and \"tools\" in \"template_vars\"");
    asc_strbuf b;
    asc_strbuf_init(&b, q->ctx);
    asc_strbuf_addc(&b, '{');
    if (tools != NULL) asc_strbuf_adds(&b, "\"tools\":");
    if (tools != NULL) asc_json_dump(tools, &b);
    while (asc_json_next(vars, &iter, &key, &v)) {
        asc_jsonw w;
        if (b.len > 1) asc_strbuf_addc(&b, ',');
        asc_jsonw_init(&w, &b, true);
        asc_jsonw_str(&w, key);
        asc_strbuf_addc(&b, ':');
        asc_json_dump(v, &b);
    }
    asc_strbuf_addc(&b, '}');
    asc_status st = asc_strbuf_status(&b);
    char *copy = st == ASC_OK ? asc_arena_strdup(&q->arena, asc_strbuf_view(&b)) : NULL;
    if (st == ASC_OK && copy == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) q->request.template_vars = asc_view_make(copy, b.len);
    asc_strbuf_deinit(&b);
    return st;
}

/* A conversation of one message, or with a system message before it. */
static asc_status read_user(asc_question *q) {
    asc_view user = {0}, system = {0};
    asc_status st = asc_ask_text(q, ID(USER), &user);
    if (st == ASC_OK) st = asc_ask_text(q, ID(SYSTEM), &system);
    if (st != ASC_OK || user.ptr == NULL) return st;
    asc_message *m = asc_ask_alloc(q, 2, sizeof *m);
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t n = 0;
    if (system.ptr != NULL) m[n++] = (asc_message){asc_view_of("system"), system};
    m[n++] = (asc_message){asc_view_of("user"), user};
    q->request.messages = m;
    q->request.n_messages = n;
    return ASC_OK;
}

static asc_status read_values(asc_question *q, asc_prompt_parts *p) {
    asc_template_values v = {0};
    if (!asc_ask_has(q, ID(VALUES))) return ASC_OK;
    asc_status st = asc_template_values_read(q->ctx, q->values[ID(VALUES)], &q->arena, &v);
    if (st == ASC_INVALID_ARGUMENT) asc_fail_context(q->ctx, "\"values\"");
    p->values = v.v;
    p->n_values = v.n;
    return st;
}

static asc_status read_passages(asc_question *q, asc_prompt_parts *p) {
    const asc_json *v = q->values[ID(DOCUMENTS)];
    bool list = asc_json_typeof(v) == ASC_JSON_ARRAY;
    size_t n = list ? asc_json_len(v) : 1;
    if (v == NULL) return ASC_OK;
    if (n == 0) return asc_ask_wrong(q, ID(DOCUMENTS), v, "a list of {\"text\", \"label\"} or strings");
    asc_passage *all = asc_ask_alloc(q, n, sizeof *all);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        asc_document d;
        asc_status st = asc_document_read(q->ctx, list ? asc_json_at(v, i) : v, &d);
        if (st != ASC_OK) return asc_fail_context(q->ctx, "\"documents\", number %zu", i + 1);
        all[i] = (asc_passage){d.text, d.label};
    }
    p->passages = all;
    p->n_passages = n;
    return ASC_OK;
}

/* What the library says of a prompt put together is about keys here. */
static asc_status about_keys(asc_question *q, asc_status st) {
    char message[700];
    if (st != ASC_NOT_FOUND && st != ASC_FAILED_PRECONDITION) return st;
    asc_view v = asc_view_cut(asc_view_of(asc_error_message(q->ctx)), sizeof message - 1);
    memcpy(message, v.ptr, v.len);
    message[v.len] = '\0';
    return asc_ask_refuse(q, "%s", message);
}

static asc_status join(asc_question *q) {
    asc_request *r = &q->request;
    asc_prompt_parts p = {.struct_size = sizeof p,
                          .prompt = r->prompt,
                          .plain = asc_ask_has(q, ID(FEATURES)) && r->features != ASC_FEATURES_SLOT};
    asc_status st = asc_ask_text(q, ID(TEMPLATE), &p.template_text);
    if (st == ASC_OK) st = read_values(q, &p);
    if (st == ASC_OK) st = read_passages(q, &p);
    if (st == ASC_OK) st = asc_ask_text(q, ID(QUESTION), &p.question);
    if (st == ASC_OK) st = asc_ask_text(q, ID(SYSTEM), &p.system);
    if (st == ASC_OK) st = asc_ask_texts(q, ID(FREEZE), &p.freeze, &p.n_freeze);
    if (st != ASC_OK) return st;
    if (p.question.ptr != NULL && p.question.len == 0)
        return asc_ask_wrong(q, ID(QUESTION), q->values[ID(QUESTION)], "a question that is not empty");
    bool nothing = p.template_text.ptr == NULL && p.n_passages == 0 && p.question.ptr == NULL &&
                   p.system.ptr == NULL && p.n_freeze == 0;
    if (nothing) return ASC_OK; /* a plain prompt */
    if (q->model == NULL) return asc_ask_refuse(q, "this prompt can be put together for an open model only");
    st = about_keys(q, asc_prompt_join(q->model, &p, r, &q->prompt->joined));
    if (st == ASC_OK && p.template_text.ptr != NULL && r->n_slots == 0)
        return asc_ask_refuse(q, "\"template\" has no placeholders; use \"prompt\"");
    return st;
}

/* Which of these keys go together. */
static asc_status check(asc_question *q) {
    static const asc_key_id sources[] = {ID(PROMPT), ID(TEXT),     ID(MESSAGES), ID(USER),
                                         ID(IDS),    ID(TEMPLATE), ID(DOCUMENTS)};
    enum { N = sizeof sources / sizeof *sources };
    bool text = asc_ask_has(q, ID(PROMPT)) || asc_ask_has(q, ID(TEXT)), any = false;
    bool template = asc_ask_has(q, ID(TEMPLATE)), document = template || asc_ask_has(q, ID(DOCUMENTS));
    asc_status st = asc_ask_one_of(q, sources, N, "more than one prompt");
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < N; i++) any = any || asc_ask_has(q, sources[i]);
    if (!any)
        return asc_ask_refuse(q, q->kind == ASC_SUBJECT_ENCODER
                                     ? "no text: give \"text\", \"ids\", \"template\" or \"documents\""
                                     : "no prompt: give \"prompt\", \"user\", \"messages\", \"ids\", "
                                       "\"template\" or \"documents\"");
    if (template != asc_ask_has(q, ID(VALUES)))
        return asc_ask_refuse(q, template ? "\"template\" needs \"values\""
                                          : "\"values\" goes with \"template\"");
    if (asc_ask_has(q, ID(QUESTION)) && !text && !document)
        return asc_ask_refuse(q, "\"question\" goes with \"prompt\", \"documents\" or \"template\"");
    if (asc_ask_has(q, ID(SYSTEM)) && !asc_ask_has(q, ID(USER)) && !document && !asc_ask_has(q, ID(QUESTION)))
        return asc_ask_refuse(q,
                              "\"system\" goes with \"user\", \"question\", \"documents\" or \"template\"");
    if (asc_ask_has(q, ID(FREEZE)) && !text && !document)
        return asc_ask_refuse(q, "\"freeze\" goes with \"prompt\", \"documents\" or \"template\"");
    if (template && asc_ask_has(q, ID(FEATURES)) && q->request.features != ASC_FEATURES_SLOT)
        return asc_ask_refuse(q, "a template's features are its slots; leave \"features\" out");
    if (asc_ask_has(q, ID(TYPES)) && !asc_ask_has(q, ID(IDS)))
        return asc_ask_refuse(q, "\"types\" goes with \"ids\"");
    return ASC_OK;
}

static asc_status read_skipped(asc_question *q) {
    const asc_json *v = q->values[ID(SKIP_TOKENS)];
    bool list = asc_json_typeof(v) == ASC_JSON_ARRAY;
    size_t n = list ? asc_json_len(v) : 1;
    if (v == NULL) return ASC_OK;
    if (q->model == NULL) return asc_ask_refuse(q, "\"skip_tokens\" can be read for an open model only");
    int32_t *ids = asc_ask_alloc(q, n, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *e = list ? asc_json_at(v, i) : v;
        asc_view s = asc_json_str(e), cut = asc_view_cut(s, 200);
        int64_t id = s.ptr != NULL ? asc_token_find(asc_model_tokenizer(q->model), s) : asc_json_int(e, -1);
        if (s.ptr != NULL && id < 0)
            return asc_ask_refuse(q, "\"skip_tokens\": the model has no token '" ASC_VIEW_FMT "'",
                                  ASC_VIEW_ARG(cut));
        if (id < 0 || id > INT32_MAX)
            return asc_ask_wrong(q, ID(SKIP_TOKENS), e, "a list of token ids and tokens' texts");
        ids[i] = (int32_t)id;
    }
    q->request.skip_tokens = ids;
    q->request.n_skip_tokens = n;
    return ASC_OK;
}

asc_status asc_ask_read_prompt(asc_question *q) {
    asc_request *r = &q->request;
    size_t n_types = 0;
    asc_status st = check(q);
    if (st == ASC_OK) st = asc_ask_text(q, ID(PROMPT), &r->prompt);
    if (st == ASC_OK) st = asc_ask_text(q, ID(TEXT), &r->prompt);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(IDS), &r->prompt_ids, &r->n_prompt_ids);
    if (st == ASC_OK) st = asc_ask_ids(q, ID(TYPES), &r->prompt_types, &n_types);
    if (st == ASC_OK && asc_ask_has(q, ID(TYPES)) && n_types != r->n_prompt_ids)
        return asc_ask_refuse(q, "\"types\" has %zu elements and \"ids\" %zu", n_types, r->n_prompt_ids);
    if (st == ASC_OK) st = read_messages(q);
    if (st == ASC_OK) st = read_user(q);
    if (st == ASC_OK && r->prompt_ids == NULL && r->messages == NULL) st = join(q);
    if (st == ASC_OK) st = read_vars(q);
    return st == ASC_OK ? read_skipped(q) : st;
}

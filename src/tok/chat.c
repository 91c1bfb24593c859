/* chat.c - messages into the template engine, spans out of it. */
#include "chat.h"
#include "jinja_json.h"
#include <stdio.h>

/* The object of a JSON text; keeps its document in docs until the rendering is done. */
static asc_status parse_object(asc_jinja *j, asc_view text, const char *what, asc_json **docs, size_t *n_docs,
                               const asc_json **out) {
    asc_json *root = NULL;
    *out = NULL;
    if (text.ptr == NULL) return ASC_OK;
    asc_status st = asc_json_parse(j->ctx, text.ptr, text.len, &root);
    if (st != ASC_OK) return asc_fail_context(j->ctx, "%s", what);
    docs[(*n_docs)++] = root;
    *out = root;
    if (asc_json_typeof(root) == ASC_JSON_OBJECT) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s: not a JSON object", what);
    return asc_hint(j->ctx, "write {\"name\": value, ...}");
}

static asc_status add_message(asc_jinja *j, const asc_chat_message *m, const asc_json *extra, int32_t index,
                              asc_jinja_value *out) {
    asc_jinja_dict *d;
    asc_jinja_value v, k;
    void *iter = NULL;
    asc_view key;
    const asc_json *item;
    ASC_JINJA_DO(asc_jinja_dict_new(j, 2 + asc_json_len(extra), &d));
    d->message = index;
    ASC_JINJA_DO(asc_jinja_string(j, m->role, index, ASC_JINJA_FROM_FIELD, &v));
    ASC_JINJA_DO(asc_jinja_dict_setz(j, d, "role", &v));
    if (asc_json_get(extra, "content") == NULL) {
        ASC_JINJA_DO(asc_jinja_string(j, m->content, index, ASC_JINJA_FROM_CONTENT, &v));
        ASC_JINJA_DO(asc_jinja_dict_setz(j, d, "content", &v));
    }
    while (asc_json_next(extra, &iter, &key, &item)) {
        if (asc_view_eqs(key, "role")) continue;
        ASC_JINJA_DO(asc_jinja_string(j, key, index, ASC_JINJA_FROM_DATA, &k));
        ASC_JINJA_DO(asc_jinja_from_data(j, item, index, &v));
        ASC_JINJA_DO(asc_jinja_dict_set(j, d, &k, &v, 0));
    }
    *out = asc_jinja_from_dict(d);
    return ASC_OK;
}

/* What the template reads of us; a caller's variable of this name would lie about the conversation. */
static bool reserved(asc_view name) {
    static const char *const names[] = {"messages", "add_generation_prompt", "bos_token", "eos_token"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (asc_view_eqs(name, names[i])) return true;
    return false;
}

static asc_status add_vars(asc_jinja *j, const asc_json *vars) {
    void *iter = NULL;
    asc_view key, cut;
    const asc_json *item;
    while (asc_json_next(vars, &iter, &key, &item)) {
        asc_jinja_value v;
        cut = asc_view_cut(key, 60);
        if (reserved(key)) {
            ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                     "variables: '" ASC_VIEW_FMT "' is made of the conversation", ASC_VIEW_ARG(cut));
            return asc_hint(j->ctx, "give the messages and the model decides about it");
        }
        ASC_JINJA_DO(asc_jinja_from_data(j, item, -1, &v));
        ASC_JINJA_DO(asc_jinja_set_global(j, key.ptr, &v));
    }
    return ASC_OK;
}

/* docs: room for n + 1 documents. */
static asc_status add_globals(asc_jinja *j, const asc_chat_message *msgs, size_t n, const asc_chat_options *o,
                              asc_json **docs, size_t *n_docs) {
    asc_jinja_list *l;
    asc_jinja_value v;
    const asc_json *more = NULL;
    char what[40];
    ASC_JINJA_DO(asc_jinja_list_new(j, n, &l));
    for (size_t i = 0; i < n; i++) {
        snprintf(what, sizeof what, "message %zu", i);
        if (o->extras != NULL) ASC_JINJA_DO(parse_object(j, o->extras[i], what, docs, n_docs, &more));
        ASC_JINJA_DO(add_message(j, &msgs[i], more, (int32_t)i, &l->v[i]));
    }
    ASC_JINJA_DO(asc_jinja_list_done(j, l, &v));
    ASC_JINJA_DO(asc_jinja_set_global(j, "messages", &v));
    v = (asc_jinja_value){.type = ASC_JINJA_NONE}; /* defined but empty, as transformers has them */
    ASC_JINJA_DO(asc_jinja_set_global(j, "tools", &v));
    ASC_JINJA_DO(asc_jinja_set_global(j, "documents", &v));
    ASC_JINJA_DO(parse_object(j, o->vars, "variables", docs, n_docs, &more));
    if (o->vars.ptr != NULL) ASC_JINJA_DO(add_vars(j, more));
    v = asc_jinja_bool(o->add_generation_prompt);
    ASC_JINJA_DO(asc_jinja_set_global(j, "add_generation_prompt", &v));
    ASC_JINJA_DO(asc_jinja_string(j, o->bos_token, -1, ASC_JINJA_FROM_TEMPLATE, &v));
    ASC_JINJA_DO(asc_jinja_set_global(j, "bos_token", &v));
    ASC_JINJA_DO(asc_jinja_string(j, o->eos_token, -1, ASC_JINJA_FROM_TEMPLATE, &v));
    return asc_jinja_set_global(j, "eos_token", &v);
}

static bool plain_role(asc_view role) {
    for (size_t i = 0; i < role.len; i++) {
        char c = role.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-';
        if (!ok) return false;
    }
    return true;
}

/* Turns the engine's spans into public ones and takes its text. */
static asc_status take(asc_ctx *ctx, asc_jinja *j, const asc_chat_message *msgs, asc_chat_text *out) {
    asc_chat_span *spans = asc_calloc(ctx, ASC_MEM_GENERAL, j->n_spans > 0 ? j->n_spans : 1, sizeof *spans);
    if (spans == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < j->n_spans; i++) {
        const asc_jinja_span *s = &j->spans[i];
        bool content = s->kind == ASC_JINJA_FROM_CONTENT;
        bool field = s->kind == ASC_JINJA_FROM_FIELD;
        spans[i] = (asc_chat_span){.start = s->start,
                                   .end = s->end,
                                   .message = s->message,
                                   .is_content = content,
                                   .literal = content || s->kind == ASC_JINJA_FROM_DATA ||
                                              (field && !plain_role(msgs[s->message].role))};
    }
    out->text = asc_strbuf_take(&j->out, &out->len);
    if (out->text == NULL) {
        asc_free(ctx, spans);
        return asc_strbuf_status(&j->out);
    }
    out->spans = spans;
    out->n_spans = j->n_spans;
    return ASC_OK;
}

asc_status asc_chat_render(asc_ctx *ctx, asc_view chat_template, const asc_chat_message *msgs, size_t n,
                           const asc_chat_options *opts, asc_chat_text *out) {
    asc_chat_options o = {0};
    asc_jinja j;
    asc_status st;
    *out = (asc_chat_text){0};
    if (opts != NULL) memcpy(&o, opts, opts->struct_size < sizeof o ? opts->struct_size : sizeof o);
    if (n > ASC_CHAT_MAX_MESSAGES)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
                        "%zu messages are over the limit ASC_CHAT_MAX_MESSAGES = %d", n,
                        (int)ASC_CHAT_MAX_MESSAGES);
    asc_json **docs = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(asc_json *));
    size_t n_docs = 0;
    if (docs == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_jinja_init(&j, ctx);
    ASC_TRY(add_globals(&j, msgs, n, &o, docs, &n_docs));
    ASC_TRY(asc_jinja_render(&j, chat_template));
    ASC_TRY(take(ctx, &j, msgs, out));
done:
    asc_jinja_deinit(&j);
    for (size_t i = 0; i < n_docs; i++) asc_json_free(docs[i]);
    asc_free(ctx, docs);
    if (st != ASC_OK) asc_fail_context(ctx, "chat template");
    return st;
}

asc_status asc_chat_check(asc_ctx *ctx, asc_view chat_template) {
    asc_jinja j;
    asc_jinja_init(&j, ctx);
    asc_status st = asc_jinja_check(&j, chat_template);
    asc_jinja_deinit(&j);
    return st;
}

void asc_chat_text_free(asc_ctx *ctx, asc_chat_text *t) {
    asc_free(ctx, t->text);
    asc_free(ctx, t->spans);
    *t = (asc_chat_text){0};
}

bool asc_chat_extent(const asc_chat_text *t, int32_t message, size_t *start, size_t *end) {
    bool found = false;
    for (size_t i = 0; i < t->n_spans; i++) {
        if (t->spans[i].message != message) continue;
        if (!found) *start = t->spans[i].start;
        *end = t->spans[i].end;
        found = true;
    }
    return found;
}

/* ask_command.c - the command line that asks the same. */
#include "ask_parts.h"
#include "plain.h"
#include "strbuf.h"
#include <stdio.h>

/* In single quotes unless every character is harmless to a shell. */
static void quoted(asc_text *out, asc_view v) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    bool plain = v.len > 0;
    for (size_t i = 0; i < v.len; i++) plain = plain && v.ptr[i] != '\0' && strchr(safe, v.ptr[i]) != NULL;
    if (plain) {
        asc_text_add(out, v);
        return;
    }
    asc_text_adds(out, "'");
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '\'')
            asc_text_adds(out, "'\\''");
        else
            asc_text_add(out, asc_view_make(v.ptr + i, 1));
    }
    asc_text_adds(out, "'");
}

void asc_ask_add_option(asc_text *out, const char *option, asc_view value) {
    bool dash = value.len > 0 && value.ptr[0] == '-';
    asc_text_addf(out, dash ? " --%s=" : " --%s ", option);
    quoted(out, value);
}

static bool add_one(asc_text *out, const char *option, const asc_json *v) {
    asc_view s = asc_json_str(v);
    char digits[40];
    if (s.ptr != NULL && memchr(s.ptr, '\0', s.len) != NULL) return false; /* no argument holds one */
    switch (asc_json_typeof(v)) {
    case ASC_JSON_STRING:
        break;
    case ASC_JSON_BOOL:
        if (asc_json_bool(v, false)) asc_text_addf(out, " --%s", option);
        return true;
    case ASC_JSON_INT:
        snprintf(digits, sizeof digits, "%lld", (long long)asc_json_int(v, 0));
        s = asc_view_of(digits);
        break;
    case ASC_JSON_REAL:
        asc_snprintf(digits, sizeof digits, "%.17g", asc_json_num(v, 0));
        s = asc_view_of(digits);
        break;
    default:
        return false;
    }
    asc_ask_add_option(out, option, s);
    return true;
}

/* Ids and texts of tokens, separated by commas; "\," is a comma. A text that reads as an id cannot be said.
 */
static bool add_tokens(const asc_json *v, const char *option, asc_text *out) {
    char list[2000];
    size_t len = 0, n = asc_json_typeof(v) == ASC_JSON_ARRAY ? asc_json_len(v) : 1;
    for (size_t i = 0; i < n; i++) {
        const asc_json *e = asc_json_typeof(v) == ASC_JSON_ARRAY ? asc_json_at(v, i) : v;
        asc_view s = asc_json_str(e);
        if (s.len > 255 || len + 2 * s.len + 40 > sizeof list) return false;
        if (i > 0) list[len++] = ',';
        if (s.ptr == NULL) {
            len += (size_t)snprintf(list + len, 30, "%lld", (long long)asc_json_int(e, 0));
            continue;
        }
        if (s.len == 0 || (s.ptr[0] >= '0' && s.ptr[0] <= '9') || memchr(s.ptr, '\0', s.len) != NULL)
            return false;
        for (size_t k = 0; k < s.len; k++) {
            if (s.ptr[k] == ',' || s.ptr[k] == '\\') list[len++] = '\\';
            list[len++] = s.ptr[k];
        }
    }
    asc_ask_add_option(out, option, asc_view_make(list, len));
    return n > 0;
}

static bool add_ids(const asc_json *v, const char *option, asc_text *out) {
    size_t n = asc_json_len(v);
    for (size_t i = 0; i < n; i++) {
        if (i == 0) asc_text_addf(out, " --%s ", option);
        asc_text_addf(out, i > 0 ? ",%lld" : "%lld", (long long)asc_json_int(asc_json_at(v, i), 0));
    }
    return n > 0;
}

bool asc_ask_add_plain(const asc_question *q, asc_key_id id, asc_text *out) {
    const asc_json *v = q->values[id];
    const asc_question_key *k = asc_question_key_at((size_t)id);
    if (k->option[0] == '\0') return false;
    switch (k->type) {
    case ASC_KEY_TEXT:
    case ASC_KEY_CHOICE:
    case ASC_KEY_COUNT:
    case ASC_KEY_WHOLE:
    case ASC_KEY_NUMBER:
    case ASC_KEY_BYTES:
    case ASC_KEY_BOOL:
        return add_one(out, k->option, v);
    case ASC_KEY_IDS:
        return add_ids(v, k->option, out);
    case ASC_KEY_TOKENS:
        return add_tokens(v, k->option, out);
    case ASC_KEY_TEXTS: /* the option several times */
        if (asc_json_typeof(v) != ASC_JSON_ARRAY) return add_one(out, k->option, v);
        for (size_t i = 0; i < asc_json_len(v); i++)
            if (!add_one(out, k->option, asc_json_at(v, i))) return false;
        return asc_json_len(v) > 0;
    default:
        return false;
    }
}

/* Variables of the chat template: NAME=JSON for each, so that a text that looks like a number stays one. */
static bool add_vars(const asc_question *q, const asc_json *v, asc_text *out) {
    void *iter = NULL;
    asc_view name;
    const asc_json *e;
    while (asc_json_next(v, &iter, &name, &e)) {
        asc_strbuf b;
        if (name.len == 0 || name.len >= 200 || memchr(name.ptr, '=', name.len) != NULL) return false;
        asc_strbuf_init(&b, q->ctx);
        asc_strbuf_addv(&b, name);
        asc_strbuf_addc(&b, '=');
        asc_json_dump(e, &b);
        bool said = !b.failed;
        if (said) asc_ask_add_option(out, "template-var", asc_strbuf_view(&b));
        asc_strbuf_deinit(&b);
        if (!said) return false;
    }
    return true;
}

/* How the model was opened and where it runs, where that is not what the program does by itself. */
static void add_surroundings(const asc_question *q, asc_text *out) {
    const asc_ctx *ctx = q->ctx;
    if (strcmp(ctx->device_name, "cpu") != 0)
        asc_ask_add_option(out, "device", asc_view_of(ctx->device_name));
    if (strcmp(ctx->mode_name, "deferred") != 0) asc_ask_add_option(out, "mode", asc_view_of(ctx->mode_name));
    if (ctx->precision != ASC_PRECISION_HIGHEST)
        asc_ask_add_option(out, "precision", asc_view_of(asc_precision_name(ctx->precision)));
    if (q->subject->weights == ASC_WEIGHTS_STORED) asc_text_adds(out, " --weights stored");
    if (q->subject->weights == ASC_WEIGHTS_EXPANDED) asc_text_adds(out, " --weights expanded");
    asc_model_info info = {0};
    if (q->model != NULL) info = asc_model_get_info(q->model);
    for (size_t i = 0; i < info.n_adapters; i++) {
        asc_ask_add_option(out, "adapter", asc_view_of(info.adapters[i].path));
        asc_text_addf(out, ":%.17g", info.adapters[i].scale);
    }
}

bool asc_question_command(const asc_question *q, asc_text *out) {
    asc_text *t = NULL;
    if (q->subject == NULL || q->subject->path[0] == '\0') return false;
    if (asc_text_create(q->ctx, &t) != ASC_OK) return false;
    asc_text_adds(t, "ascribe explain ");
    quoted(t, asc_view_of(q->subject->path));
    bool said = q->kind == ASC_SUBJECT_NET ? asc_ask_net_command(q, t) : asc_ask_prompt_command(q, t);
    if (said) add_surroundings(q, t);
    said = said && asc_text_status(t) == ASC_OK;
    if (said) asc_text_add(out, asc_text_view(t));
    asc_text_destroy(t);
    return said;
}

/* Values by name that are plain texts: NAME=TEXT for each. */
static bool add_values(const asc_json *v, asc_text *out) {
    void *iter = NULL;
    asc_view name;
    const asc_json *e;
    if (asc_json_typeof(v) != ASC_JSON_OBJECT || asc_json_len(v) == 0) return false;
    while (asc_json_next(v, &iter, &name, &e)) {
        asc_view text = asc_json_str(e);
        if (text.ptr == NULL || name.len == 0 || memchr(name.ptr, '=', name.len) != NULL ||
            memchr(text.ptr, '\0', text.len) != NULL)
            return false;
        asc_ask_add_option(out, "values", name);
        asc_text_adds(out, "=");
        quoted(out, text);
    }
    return true;
}

static bool add_key(const asc_question *q, asc_key_id id, asc_text *out) {
    const asc_json *v = q->values[id];
    switch (id) {
    case ASC_KEY_ID_PROMPT:
        return add_one(out, q->kind == ASC_SUBJECT_ENCODER ? "text" : "prompt", v);
    case ASC_KEY_ID_VALUES:
        return add_values(v, out);
    case ASC_KEY_ID_TEMPLATE_VARS:
        return add_vars(q, v, out);
    default:
        return asc_ask_add_plain(q, id, out);
    }
}

bool asc_ask_prompt_command(const asc_question *q, asc_text *out) {
    for (int id = 0; id < ASC_N_KEYS; id++)
        if (q->values[id] != NULL && !add_key(q, (asc_key_id)id, out)) return false;
    return true;
}

/* post_processor_json.c - reads the "post_processor" section of a tokenizer file. */
#include "json_want.h"
#include "post_processor.h"
#include "vocab.h"

static const char where[] = "post_processor";

static asc_status add_piece(asc_ctx *ctx, asc_template *t, asc_template_piece x) {
    asc_status st = asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&t->v, &t->cap, t->n + 1, sizeof *t->v);
    if (st == ASC_OK) t->v[t->n++] = x;
    return st;
}

static asc_status add_token(asc_ctx *ctx, asc_post_processor *p, int64_t id, asc_view name) {
    asc_status st = ASC_OK;
    if (id < 0 || id >= ASC_TOK_MAX_TOKENS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: %lld is no id of a token", where, (long long)id);
    ASC_TRY(asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&p->tokens, &p->cap_tokens, p->n_tokens + 1,
                     sizeof *p->tokens));
    ASC_TRY(
        asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&p->names, &p->names_cap, p->names_len + name.len + 1, 1));
    if (name.len > 0) memcpy(p->names + p->names_len, name.ptr, name.len);
    p->tokens[p->n_tokens++] = (asc_template_token){(int32_t)id, p->names_len, name.len};
    p->names_len += name.len;
done:
    return st;
}

/* The tokens that special_tokens lists for `id`. */
static asc_status special(asc_ctx *ctx, asc_post_processor *p, const asc_json *table, asc_view id,
                          int32_t type_id, asc_template *t) {
    asc_status st = ASC_OK;
    asc_view key = {NULL, 0};
    const asc_json *entry = NULL, *ids, *names;
    void *iter = NULL;
    bool found = false;
    while (!found && asc_json_next(table, &iter, &key, &entry)) found = asc_view_eq(key, id);
    if (!found) {
        id = asc_view_cut(id, 64);
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "%s: '" ASC_VIEW_FMT "' is in a template, but not in \"special_tokens\"", where,
                        ASC_VIEW_ARG(id));
    }
    ASC_TRY(asc_want_list(ctx, entry, "ids", where, &ids));
    ASC_TRY(asc_want_list(ctx, entry, "tokens", where, &names));
    if (asc_json_len(ids) != asc_json_len(names))
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"ids\" and \"tokens\" differ in length", where));
    asc_template_piece x = {.sequence = -1, .type_id = type_id, .first = p->n_tokens, .n = asc_json_len(ids)};
    for (size_t i = 0; i < x.n; i++) {
        asc_view name = asc_json_str(asc_json_at(names, i));
        if (name.ptr == NULL)
            ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: a token is not a string", where));
        ASC_TRY(add_token(ctx, p, asc_json_int(asc_json_at(ids, i), -1), name));
    }
    ASC_TRY(add_piece(ctx, t, x));
done:
    return st;
}

static asc_status read_template(asc_ctx *ctx, asc_post_processor *p, const asc_json *j, const char *key,
                                bool pair, asc_template *t) {
    asc_status st = ASC_OK;
    const asc_json *list;
    bool has[2] = {false, false};
    ASC_TRY(asc_want_list(ctx, j, key, where, &list));
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *x = asc_json_at(list, i), *seq = asc_json_get(x, "Sequence");
        const asc_json *tok = asc_json_get(x, "SpecialToken"), *body = seq != NULL ? seq : tok;
        asc_view id;
        int64_t type_id;
        if (body == NULL)
            ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                             "%s: \"%s\"[%zu] is neither a Sequence nor a SpecialToken", where, key, i));
        ASC_TRY(asc_want_str(ctx, body, "id", where, &id));
        ASC_TRY(asc_want_int(ctx, body, "type_id", where, 0, INT32_MAX, -1, &type_id));
        if (tok != NULL && seq == NULL) {
            ASC_TRY(special(ctx, p, asc_json_get(j, "special_tokens"), id, (int32_t)type_id, t));
            continue;
        }
        int which = asc_view_eqs(id, "A") ? 0 : asc_view_eqs(id, "B") ? 1 : -1;
        if (which < 0 || (which == 1 && !pair))
            ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\"[%zu] is a text that is not there", where,
                             key, i));
        has[which] = true;
        ASC_TRY(add_piece(ctx, t, (asc_template_piece){.sequence = which, .type_id = (int32_t)type_id}));
    }
    if (pair && !(has[0] && has[1]) && asc_json_len(list) > 0)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"pair\" does not use both texts", where));
done:
    return st;
}

/* ["[SEP]", 102] */
static asc_status named(asc_ctx *ctx, asc_post_processor *p, const asc_json *j, const char *key) {
    const asc_json *v = asc_json_get(j, key);
    asc_view name = asc_json_str(asc_json_at(v, 0));
    if (asc_json_len(v) != 2 || name.ptr == NULL || asc_json_typeof(asc_json_at(v, 1)) != ASC_JSON_INT)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: \"%s\" is not [\"token\", id]", where, key);
    return add_token(ctx, p, asc_json_int(asc_json_at(v, 1), -1), name);
}

/* Each part between two tokens: cls and sep, and later parts in front only RoBERTa's sep. BERT's later seps
 * are of type 1, RoBERTa gives everything type 0. */
static asc_status wrap(asc_ctx *ctx, asc_template *t, bool roberta, size_t cls, size_t sep) {
    asc_status st = ASC_OK;
    const asc_template old = *t;
    *t = (asc_template){.n_parts = old.n_parts};
    for (size_t part = 0; part < old.n_parts; part++) {
        const asc_template_piece start = {
            .sequence = -1, .first = part == 0 ? cls : sep, .n = 1, .part = part};
        if (part == 0 || roberta) ASC_TRY(add_piece(ctx, t, start));
        for (size_t i = 0; i < old.n; i++) {
            asc_template_piece x = old.v[i];
            if (x.part != part) continue;
            if (roberta) x.type_id = 0;
            ASC_TRY(add_piece(ctx, t, x));
        }
        ASC_TRY(add_piece(
            ctx, t,
            (asc_template_piece){
                .sequence = -1, .type_id = part > 0 && !roberta, .first = sep, .n = 1, .part = part}));
    }
done:
    asc_free(ctx, old.v);
    return st;
}

static asc_status read_fixed(asc_ctx *ctx, asc_post_processor *p, const asc_json *j, bool roberta) {
    asc_status st = ASC_OK;
    const size_t cls = p->n_tokens, sep = cls + 1;
    ASC_TRY(named(ctx, p, j, "cls"));
    ASC_TRY(named(ctx, p, j, "sep"));
    ASC_TRY(wrap(ctx, &p->single, roberta, cls, sep));
    ASC_TRY(wrap(ctx, &p->pair, roberta, cls, sep));
done:
    return st;
}

/* The template `by` around t, whose parts are its texts A and B; each of its pieces is a part of its own
 * then. */
static asc_status put_in(asc_ctx *ctx, asc_template *t, const asc_template *by) {
    asc_status st = ASC_OK;
    const asc_template old = *t;
    *t = (asc_template){0};
    for (size_t k = 0; k < by->n; k++) {
        asc_template_piece x = by->v[k];
        const size_t part = t->n_parts++;
        if (x.sequence < 0) {
            x.part = part;
            ASC_TRY(add_piece(ctx, t, x));
            continue;
        }
        for (size_t i = 0; i < old.n; i++) {
            asc_template_piece y = old.v[i];
            if (y.part != (size_t)x.sequence) continue;
            y.type_id = x.type_id;
            y.part = part;
            ASC_TRY(add_piece(ctx, t, y));
        }
    }
done:
    asc_free(ctx, old.v);
    return st;
}

/* One text fits "single", two fit "pair". The program that defines these files counts tokens of an earlier
 * template as texts, too, and stops where there are more than two. */
static asc_status read_templates(asc_ctx *ctx, asc_post_processor *p, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_template single = {0}, pair = {0};
    if (p->single.n_parts != 1 || p->pair.n_parts != 2)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                        "%s: a TemplateProcessing behind another one that adds special tokens", where);
    ASC_TRY(read_template(ctx, p, j, "single", false, &single));
    ASC_TRY(read_template(ctx, p, j, "pair", true, &pair));
    ASC_TRY(put_in(ctx, &p->single, &single));
    ASC_TRY(put_in(ctx, &p->pair, &pair));
done:
    asc_free(ctx, single.v);
    asc_free(ctx, pair.v);
    return st;
}

/* Are there tokens in front of a text, in what the next step takes as one text? */
static bool led(const asc_template *t, int sequence) {
    size_t at = 0;
    while (at < t->n && t->v[at].sequence != sequence) at++;
    for (size_t i = 0; i < at && at < t->n; i++)
        if (t->v[i].part == t->v[at].part && t->v[i].n > 0) return true;
    return false;
}

static asc_status read_trim(asc_ctx *ctx, asc_post_processor *p, const asc_json *j) {
    asc_status st = ASC_OK;
    bool trim, space;
    ASC_TRY(asc_want_bool(ctx, j, "trim_offsets", where, true, &trim));
    ASC_TRY(asc_want_bool(ctx, j, "add_prefix_space", where, true, &space));
    if (!trim) return ASC_OK;
    if (p->n_trims == sizeof p->trim / sizeof *p->trim)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s: more than %zu steps that trim", where, p->n_trims);
    p->trim[p->n_trims++] = (asc_trim){space, {led(&p->single, 0), led(&p->pair, 0), led(&p->pair, 1)}};
done:
    return st;
}

static asc_status add(asc_ctx *ctx, void *self, asc_view type, const asc_json *j) {
    asc_post_processor *p = self;
    asc_status st = ASC_OK;
    if (asc_view_eqs(type, "ByteLevel")) return read_trim(ctx, p, j);
    bool bert = asc_view_eqs(type, "BertProcessing"), roberta = asc_view_eqs(type, "RobertaProcessing");
    if (!bert && !roberta && !asc_view_eqs(type, "TemplateProcessing"))
        return asc_want_unknown(ctx, where, type,
                                "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence");
    if (!bert && !roberta) return read_templates(ctx, p, j);
    /* Files of the first versions say nothing of ranges: that program takes such a step for BERT's. */
    roberta = roberta && asc_json_typeof(asc_json_get(j, "trim_offsets")) != ASC_JSON_NULL &&
              asc_json_typeof(asc_json_get(j, "add_prefix_space")) != ASC_JSON_NULL;
    if (roberta) ASC_TRY(read_trim(ctx, p, j));
    return read_fixed(ctx, p, j, roberta);
done:
    return st;
}

asc_status asc_post_processor_init(asc_ctx *ctx, asc_post_processor *p, const asc_json *j) {
    asc_status st = ASC_OK;
    *p = (asc_post_processor){.single.n_parts = 1, .pair.n_parts = 2};
    ASC_TRY(add_piece(ctx, &p->single, (asc_template_piece){.sequence = 0}));
    ASC_TRY(add_piece(ctx, &p->pair, (asc_template_piece){.sequence = 0}));
    ASC_TRY(add_piece(ctx, &p->pair, (asc_template_piece){.sequence = 1, .type_id = 1, .part = 1}));
    if (asc_json_typeof(j) != ASC_JSON_NULL) ASC_TRY(asc_want_each(ctx, j, where, "processors", add, p));
done:
    return st;
}

void asc_post_processor_deinit(asc_ctx *ctx, asc_post_processor *p) {
    asc_free(ctx, p->single.v);
    asc_free(ctx, p->pair.v);
    asc_free(ctx, p->tokens);
    asc_free(ctx, p->names);
    *p = (asc_post_processor){0};
}

int32_t asc_post_processor_max_id(const asc_post_processor *p) {
    int32_t most = -1;
    for (size_t i = 0; i < p->n_tokens; i++) {
        if (p->tokens[i].id > most) most = p->tokens[i].id;
    }
    return most;
}

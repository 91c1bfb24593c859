/* json_kind.c - a tokenizer.json behind the calls of ascribe/tokens.h: the template around the texts, ranges
 * that tile, and the way back to text. */
#include "json_tokenizer.h"

asc_view asc_json_name(const asc_json_tokenizer *t, int32_t id) {
    int32_t i = t->added_of[id];
    if (i >= 0) return (asc_view){t->added.v[i].shown, t->added.v[i].shown_len};
    asc_view v = {NULL, 0};
    if ((size_t)id < t->model.names.n) v = asc_pieces_at(&t->model.names, (size_t)id);
    return v.len > 0 ? v : (asc_view){NULL, 0};
}

static asc_view name(const asc_tokenizer *tk, int32_t id) { return asc_json_name(tk->json, id); }

static asc_status push(asc_ctx *ctx, asc_token_list *list, int32_t id, size_t start, size_t end) {
    asc_status st = asc_token_list_add(ctx, list, id, start);
    if (st == ASC_OK) list->v[list->n - 1].end = end;
    return st;
}

/* The text's tokens with ranges that begin where the one before ends: what was dropped belongs to the token
 * behind it, a character of several tokens to the first of them. */
static asc_status tile(asc_ctx *ctx, const asc_text_run *r, size_t *covered, asc_token_list *list) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < r->n; i++) {
        size_t end = r->v[i].true_to > *covered ? r->v[i].true_to : *covered;
        ASC_TRY(push(ctx, list, r->v[i].id, *covered, end));
        *covered = end;
    }
done:
    return st;
}

static asc_status tokenize(asc_ctx *ctx, const asc_tokenizer *tk, asc_view text,
                           const asc_tokenize_options *o, asc_token_list *list) {
    asc_status st = ASC_OK;
    const asc_post_processor *p = &tk->json->post;
    asc_text_run run;
    size_t covered = 0, last = 0; /* tokens up to the last of the text, or those before it when it has none */
    asc_text_run_init(&run, ctx, tk->json);
    ASC_TRY(asc_text_run_make(&run, text, o));
    for (size_t k = 0; k < p->single.n; k++) {
        asc_template_piece x = p->single.v[k];
        if (x.sequence == 0) {
            ASC_TRY(tile(ctx, &run, &covered, list));
            last = list->n;
            continue;
        }
        for (size_t i = 0; i < x.n && o->add_bos_eos; i++)
            ASC_TRY(push(ctx, list, p->tokens[x.first + i].id, covered, covered));
    }
    /* The end of the text belongs to its last token; what the template puts behind it is empty. */
    if (last == 0) last = list->n;
    if (last > 0) list->v[last - 1].end = text.len;
    for (size_t i = last; i < list->n; i++) list->v[i].start = list->v[i].end = text.len;
done:
    asc_text_run_deinit(&run);
    return st;
}

/* Copies the strings of a run to the encoding's memory, where they begin at `at`. */
static void put_texts(asc_encoding *e, const asc_text_run *r, size_t at) {
    if (r->names.len > 0) memcpy(e->text + at, r->names.ptr, r->names.len);
}

static asc_status encode(asc_ctx *ctx, const asc_tokenizer *tk, asc_view a, const asc_view *b,
                         const asc_tokenize_options *o, asc_encoding *out) {
    asc_status st = ASC_OK;
    const asc_post_processor *p = &tk->json->post;
    const asc_template *t = b != NULL ? &p->pair : &p->single;
    asc_text_run runs[2];
    size_t n = 0, texts[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        asc_text_run_init(&runs[k], ctx, tk->json);
        runs[k].want_names = true;
    }
    if (b != NULL) {
        runs[0].place = ASC_TEXT_FIRST;
        runs[1].place = ASC_TEXT_SECOND;
    }
    ASC_TRY(asc_text_run_make(&runs[0], a, o));
    if (b != NULL) ASC_TRY(asc_text_run_make(&runs[1], *b, o));
    for (size_t k = 0; k < t->n; k++)
        n += t->v[k].sequence >= 0 ? runs[t->v[k].sequence].n : o->add_bos_eos ? t->v[k].n : 0;
    texts[1] = runs[0].names.len;
    ASC_TRY(asc_encoding_alloc(ctx, n, runs[0].names.len + runs[1].names.len, out));
    for (int k = 0; k < 2; k++) put_texts(out, &runs[k], texts[k]);
    n = 0;
    for (size_t k = 0; k < t->n; k++) {
        asc_template_piece x = t->v[k];
        if (x.sequence < 0) {
            for (size_t i = 0; i < x.n && o->add_bos_eos; i++, n++) {
                const asc_template_token *s = &p->tokens[x.first + i];
                out->ids[n] = s->id;
                out->special[n] = 1;
                out->type_ids[n] = x.type_id;
                out->sequence[n] = -1;
                out->names[n] = (asc_view){p->names + s->name, s->name_len};
            }
            continue;
        }
        const asc_text_run *r = &runs[x.sequence];
        for (size_t i = 0; i < r->n; i++, n++) {
            out->ids[n] = r->v[i].id;
            out->spans[n] = (asc_span){r->v[i].from, r->v[i].to};
            out->type_ids[n] = x.type_id;
            out->sequence[n] = (int8_t)x.sequence;
            out->names[n] = (asc_view){out->text + texts[x.sequence] + r->v[i].name, r->v[i].name_len};
        }
    }
done:
    for (int k = 0; k < 2; k++) asc_text_run_deinit(&runs[k]);
    return st;
}

static asc_status decode(asc_ctx *ctx, const asc_tokenizer *tk, const int32_t *ids, size_t n, bool special,
                         asc_strbuf *out) {
    asc_status st = ASC_OK;
    asc_strings tokens;
    asc_strings_init(ctx, &tokens);
    for (size_t i = 0; i < n; i++) {
        asc_view v = asc_json_name(tk->json, ids[i]);
        const asc_added_token *t = special || v.ptr == NULL ? NULL : asc_added_find(&tk->json->added, v);
        if (v.ptr == NULL || (t != NULL && t->special)) continue;
        asc_strbuf_addv(&tokens.bytes, v);
        ASC_TRY(asc_strings_end(ctx, &tokens));
    }
    ASC_TRY(asc_token_decode(ctx, &tk->json->decoder, &tokens, out));
done:
    asc_strings_deinit(ctx, &tokens);
    return st;
}

static void destroy(asc_tokenizer *tk) {
    asc_json_tokenizer *t = tk->json;
    if (t == NULL) return;
    asc_normalizer_deinit(tk->ctx, &t->normalizer);
    asc_splitter_deinit(tk->ctx, &t->splitter);
    asc_word_model_deinit(tk->ctx, &t->model);
    asc_added_deinit(tk->ctx, &t->added);
    asc_post_processor_deinit(tk->ctx, &t->post);
    asc_token_decoder_deinit(tk->ctx, &t->decoder);
    asc_free(tk->ctx, t->added_of);
    asc_free(tk->ctx, t->control);
    asc_free(tk->ctx, t);
    tk->json = NULL;
}

const asc_tokenizer_kind asc_json_kind = {tokenize, decode, encode, name, destroy};

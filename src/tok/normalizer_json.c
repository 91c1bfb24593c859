/* normalizer_json.c - reads the "normalizer" section of a tokenizer file. */
#include "json_want.h"
#include "normalizer.h"

static const char where[] = "normalizer";
static const char known[] =
    "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, BertNormalizer, Replace, Prepend, "
    "ByteLevel, Nmt, Precompiled, Sequence";

static const asc_want_kind types[] = {{"NFD", ASC_NORM_NFD},
                                      {"NFKD", ASC_NORM_NFKD},
                                      {"NFC", ASC_NORM_NFC},
                                      {"NFKC", ASC_NORM_NFKC},
                                      {"Lowercase", ASC_NORM_LOWERCASE},
                                      {"Strip", ASC_NORM_STRIP},
                                      {"StripAccents", ASC_NORM_STRIP_ACCENTS},
                                      {"BertNormalizer", ASC_NORM_BERT},
                                      {"Replace", ASC_NORM_REPLACE},
                                      {"Prepend", ASC_NORM_PREPEND},
                                      {"ByteLevel", ASC_NORM_BYTE_LEVEL},
                                      {"Nmt", ASC_NORM_NMT},
                                      {"Precompiled", ASC_NORM_PRECOMPILED}};

static asc_status keep_text(asc_ctx *ctx, asc_norm_step *s, asc_view text) {
    s->text = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, text);
    s->text_len = text.len;
    return s->text != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status fill(asc_ctx *ctx, asc_norm_step *s, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_view text;
    bool regex;
    switch (s->kind) {
    case ASC_NORM_STRIP:
        ASC_TRY(asc_want_bool(ctx, j, "strip_left", where, true, &s->left));
        ASC_TRY(asc_want_bool(ctx, j, "strip_right", where, true, &s->right));
        break;
    case ASC_NORM_BERT:
        ASC_TRY(asc_want_bool(ctx, j, "clean_text", where, true, &s->clean_text));
        ASC_TRY(asc_want_bool(ctx, j, "handle_chinese_chars", where, true, &s->chinese));
        ASC_TRY(asc_want_bool(ctx, j, "lowercase", where, true, &s->lowercase));
        ASC_TRY(asc_want_bool(ctx, j, "strip_accents", where, s->lowercase, &s->strip_accents));
        break;
    case ASC_NORM_REPLACE:
        ASC_TRY(asc_want_pattern(ctx, j, where, &text, &regex));
        ASC_TRY(asc_pattern_create(ctx, text, regex, &s->pattern));
        ASC_TRY(asc_want_str(ctx, j, "content", where, &text));
        ASC_TRY(keep_text(ctx, s, text));
        break;
    case ASC_NORM_PREPEND:
        ASC_TRY(asc_want_str(ctx, j, "prepend", where, &text));
        ASC_TRY(keep_text(ctx, s, text));
        break;
    case ASC_NORM_PRECOMPILED:
        ASC_TRY(asc_want_str(ctx, j, "precompiled_charsmap", where, &text));
        ASC_TRY(asc_charsmap_init(ctx, &s->map, text));
        break;
    default:
        break;
    }
done:
    return st;
}

static const asc_want_steps section = {where, types, sizeof types / sizeof *types, known,
                                       sizeof(asc_norm_step)};

static asc_status add(asc_ctx *ctx, void *self, asc_view type, const asc_json *j) {
    asc_normalizer *n = self;
    int kind;
    asc_status st = asc_want_step(ctx, &section, type, (void **)&n->v, n->n, &n->cap, &kind);
    if (st != ASC_OK) return st;
    n->v[n->n].kind = (asc_norm_kind)kind;
    return fill(ctx, &n->v[n->n++], j);
}

asc_status asc_normalizer_init(asc_ctx *ctx, asc_normalizer *n, const asc_json *j) {
    *n = (asc_normalizer){0};
    return asc_json_typeof(j) == ASC_JSON_NULL ? ASC_OK : asc_want_each(ctx, j, where, "normalizers", add, n);
}

void asc_normalizer_deinit(asc_ctx *ctx, asc_normalizer *n) {
    for (size_t i = 0; i < n->n; i++) {
        asc_free(ctx, n->v[i].text);
        asc_pattern_destroy(ctx, n->v[i].pattern);
        asc_charsmap_deinit(ctx, &n->v[i].map);
    }
    asc_free(ctx, n->v);
    *n = (asc_normalizer){0};
}

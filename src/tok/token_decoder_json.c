/* token_decoder_json.c - reads the "decoder" section of a tokenizer file. */
#include "json_want.h"
#include "token_decoder.h"

static const char where[] = "decoder";
static const char known[] =
    "ByteLevel, WordPiece, Metaspace, ByteFallback, Fuse, Strip, Replace, BPEDecoder, CTC, "
    "Sequence";

static const asc_want_kind types[] = {{"ByteLevel", ASC_DECODE_BYTE_LEVEL},
                                      {"WordPiece", ASC_DECODE_WORDPIECE},
                                      {"Metaspace", ASC_DECODE_METASPACE},
                                      {"ByteFallback", ASC_DECODE_BYTE_FALLBACK},
                                      {"Fuse", ASC_DECODE_FUSE},
                                      {"Strip", ASC_DECODE_STRIP},
                                      {"Replace", ASC_DECODE_REPLACE},
                                      {"BPEDecoder", ASC_DECODE_BPE},
                                      {"CTC", ASC_DECODE_CTC}};

static asc_status keep(asc_ctx *ctx, asc_view v, char **out, size_t *len) {
    *out = asc_strdup_view(ctx, ASC_MEM_TOKENIZER, v);
    *len = v.len;
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status keep_str(asc_ctx *ctx, const asc_json *j, const char *key, const char *fallback, char **out,
                           size_t *len) {
    asc_view v;
    asc_status st = asc_want_str_or(ctx, j, key, where, &v);
    return st == ASC_OK ? keep(ctx, v.ptr != NULL ? v : asc_view_of(fallback), out, len) : st;
}

static asc_status metaspace(asc_ctx *ctx, asc_decoder_step *s, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_view mark, scheme;
    bool prefix;
    ASC_TRY(asc_want_char(ctx, j, "replacement", where, &mark));
    ASC_TRY(keep(ctx, mark, &s->text, &s->text_len));
    ASC_TRY(asc_want_bool(ctx, j, "add_prefix_space", where, true, &prefix));
    ASC_TRY(asc_want_str_or(ctx, j, "prepend_scheme", where, &scheme));
    s->drop_first = scheme.ptr != NULL ? !asc_view_eqs(scheme, "never") : prefix;
done:
    return st;
}

static asc_status fill(asc_ctx *ctx, asc_decoder_step *s, const asc_json *j) {
    asc_status st = ASC_OK;
    asc_view v;
    bool regex;
    int64_t n;
    switch (s->kind) {
    case ASC_DECODE_WORDPIECE:
        ASC_TRY(keep_str(ctx, j, "prefix", "##", &s->text, &s->text_len));
        ASC_TRY(asc_want_bool(ctx, j, "cleanup", where, true, &s->cleanup));
        break;
    case ASC_DECODE_METASPACE:
        ASC_TRY(metaspace(ctx, s, j));
        break;
    case ASC_DECODE_STRIP:
        ASC_TRY(asc_want_char(ctx, j, "content", where, &v));
        ASC_TRY(keep(ctx, v, &s->text, &s->text_len));
        ASC_TRY(asc_want_int(ctx, j, "start", where, 0, INT32_MAX, 0, &n));
        s->start = (size_t)n;
        ASC_TRY(asc_want_int(ctx, j, "stop", where, 0, INT32_MAX, 0, &n));
        s->stop = (size_t)n;
        break;
    case ASC_DECODE_REPLACE:
        ASC_TRY(asc_want_pattern(ctx, j, where, &v, &regex));
        ASC_TRY(asc_pattern_create(ctx, v, regex, &s->pattern));
        ASC_TRY(asc_want_str(ctx, j, "content", where, &v));
        ASC_TRY(keep(ctx, v, &s->text, &s->text_len));
        break;
    case ASC_DECODE_BPE:
        ASC_TRY(keep_str(ctx, j, "suffix", "</w>", &s->text, &s->text_len));
        break;
    case ASC_DECODE_CTC:
        ASC_TRY(keep_str(ctx, j, "pad_token", "<pad>", &s->text, &s->text_len));
        ASC_TRY(keep_str(ctx, j, "word_delimiter_token", "|", &s->other, &s->other_len));
        ASC_TRY(asc_want_bool(ctx, j, "cleanup", where, true, &s->cleanup));
        break;
    default:
        break;
    }
done:
    return st;
}

static const asc_want_steps section = {where, types, sizeof types / sizeof *types, known,
                                       sizeof(asc_decoder_step)};

static asc_status add(asc_ctx *ctx, void *self, asc_view type, const asc_json *j) {
    asc_token_decoder *d = self;
    int kind;
    asc_status st = asc_want_step(ctx, &section, type, (void **)&d->v, d->n, &d->cap, &kind);
    if (st != ASC_OK) return st;
    d->v[d->n].kind = (asc_decoder_kind)kind;
    return fill(ctx, &d->v[d->n++], j);
}

asc_status asc_token_decoder_init(asc_ctx *ctx, asc_token_decoder *d, const asc_json *j) {
    *d = (asc_token_decoder){.present = asc_json_typeof(j) != ASC_JSON_NULL};
    return d->present ? asc_want_each(ctx, j, where, "decoders", add, d) : ASC_OK;
}

void asc_token_decoder_deinit(asc_ctx *ctx, asc_token_decoder *d) {
    for (size_t i = 0; i < d->n; i++) {
        asc_free(ctx, d->v[i].text);
        asc_free(ctx, d->v[i].other);
        asc_pattern_destroy(ctx, d->v[i].pattern);
    }
    asc_free(ctx, d->v);
    *d = (asc_token_decoder){0};
}

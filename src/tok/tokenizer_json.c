/* tokenizer_json.c - builds a tokenizer from a tokenizer.json: reads the sections, then fills what all
 * tokenizers have (pieces, types, special ids). */
#include "tokenizer_json.h"
#include "byte_alphabet.h"
#include "file.h"
#include "json_tokenizer.h"
#include "json_want.h"
#include <stdio.h>
#include <sys/stat.h>

/* What the strings of tokens stand for, as far as the stages say it. */
typedef struct writing {
    bool byte_level;  /* GPT-2's alphabet */
    bool byte_names;  /* <0x0A> is a byte */
    bool marks_space; /* U+2581 is a space */
} writing;

static writing writing_of(const asc_json_tokenizer *t) {
    writing w = {.byte_names = t->model.byte_fallback};
    for (size_t i = 0; i < t->normalizer.n; i++)
        w.byte_level |= t->normalizer.v[i].kind == ASC_NORM_BYTE_LEVEL;
    for (size_t i = 0; i < t->splitter.n; i++) {
        w.byte_level |= t->splitter.v[i].kind == ASC_SPLIT_BYTE_LEVEL;
        w.marks_space |= t->splitter.v[i].kind == ASC_SPLIT_METASPACE;
    }
    for (size_t i = 0; i < t->decoder.n; i++) {
        const asc_decoder_step *s = &t->decoder.v[i];
        w.byte_level |= s->kind == ASC_DECODE_BYTE_LEVEL;
        w.byte_names |= s->kind == ASC_DECODE_BYTE_FALLBACK;
        w.marks_space |= s->kind == ASC_DECODE_METASPACE;
        w.marks_space |= s->kind == ASC_DECODE_REPLACE && asc_view_eqs((asc_view){s->text, s->text_len}, " ");
    }
    return w;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "<0xE2>" -> 226, else -1. */
static int named_byte(asc_view v) {
    if (v.len != 6 || memcmp(v.ptr, "<0x", 3) != 0 || v.ptr[5] != '>') return -1;
    int hi = hex(v.ptr[3]), lo = hex(v.ptr[4]);
    return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

/* The bytes of a token; out has room for v.len. */
static size_t piece_bytes(const asc_byte_alphabet *alphabet, writing w, asc_view v, char *out) {
    size_t n = 0;
    if (w.byte_level && asc_byte_alphabet_decode(alphabet, v, out, &n)) return n;
    n = 0;
    for (size_t i = 0; i < v.len; i++) {
        if (w.marks_space && v.len - i >= 3 && memcmp(v.ptr + i, "\xE2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            i += 2;
        } else {
            out[n++] = v.ptr[i];
        }
    }
    return n;
}

static asc_status add_piece(asc_ctx *ctx, asc_tokenizer *tk, const asc_byte_alphabet *alphabet, writing w,
                            int32_t id) {
    asc_json_tokenizer *t = tk->json;
    asc_view v = asc_json_name(t, id);
    int32_t added = t->added_of[id];
    asc_token_type type = ASC_TOKEN_NORMAL;
    asc_status st = asc_pieces_reserve(ctx, &tk->pieces, v.len + 1);
    if (st != ASC_OK) return st;
    char *out = tk->pieces.bytes + tk->pieces.bytes_len;
    size_t len = v.len;
    int byte = w.byte_names ? named_byte(v) : -1;
    if (id == t->model.unk) {
        type = ASC_TOKEN_UNKNOWN;
    } else if (added >= 0) {
        type = t->added.v[added].special ? ASC_TOKEN_CONTROL : ASC_TOKEN_USER_DEFINED;
    } else if (v.ptr == NULL) {
        type = ASC_TOKEN_UNUSED;
    } else if (byte >= 0) {
        type = ASC_TOKEN_BYTE;
    }
    if (type == ASC_TOKEN_NORMAL) {
        len = piece_bytes(alphabet, w, v, out);
    } else if (type == ASC_TOKEN_BYTE) {
        *out = (char)byte;
        len = 1;
        if (tk->byte_id[byte] < 0) tk->byte_id[byte] = id;
    } else if (v.len > 0) {
        memcpy(out, v.ptr, v.len);
    }
    t->control[id] = type == ASC_TOKEN_CONTROL;
    asc_pieces_push(&tk->pieces, len, type, type != ASC_TOKEN_BYTE);
    return ASC_OK;
}

static asc_status fill_pieces(asc_ctx *ctx, asc_tokenizer *tk) {
    asc_status st = ASC_OK;
    asc_json_tokenizer *t = tk->json;
    asc_byte_alphabet alphabet;
    writing w = writing_of(t);
    size_t n = t->model.names.n;
    if (t->added.max_id >= 0 && (size_t)t->added.max_id + 1 > n) n = (size_t)t->added.max_id + 1;
    if (n == 0) ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "model: \"vocab\" is empty"));
    int32_t most = asc_post_processor_max_id(&t->post);
    if (most >= 0 && (size_t)most >= n)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "post_processor: token %d, but ids are 0 to %zu", most,
                         n - 1));
    asc_byte_alphabet_init(&alphabet);
    for (size_t b = 0; b < 256; b++) tk->byte_id[b] = -1;
    t->added_of = asc_alloc(ctx, ASC_MEM_TOKENIZER, n * sizeof *t->added_of);
    t->control = asc_calloc(ctx, ASC_MEM_TOKENIZER, n, sizeof *t->control);
    if (t->added_of == NULL || t->control == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < n; i++) t->added_of[i] = -1;
    for (size_t i = 0; i < t->added.n; i++) t->added_of[t->added.v[i].id] = (int32_t)i;
    ASC_TRY(asc_pieces_init(ctx, &tk->pieces, n));
    for (size_t i = 0; i < n; i++) ASC_TRY(add_piece(ctx, tk, &alphabet, w, (int32_t)i));
    for (unsigned b = 0; b < 256 && w.byte_level; b++) {
        char c = (char)b;
        if (tk->byte_id[b] < 0)
            tk->byte_id[b] = asc_pieces_find(&tk->pieces, (asc_view){&c, 1}, ASC_PIECES_PLAIN);
    }
done:
    return st;
}

static int32_t id_of(const asc_tokenizer *tk, asc_view name) {
    const asc_added_token *t = asc_added_find(&tk->json->added, name);
    return t != NULL ? t->id : asc_word_model_find(&tk->json->model, name);
}

static int32_t first_of(const asc_tokenizer *tk, const char *const *names) {
    for (; *names != NULL; names++) {
        int32_t id = id_of(tk, asc_view_of(*names));
        if (id >= 0 && tk->json->control[id]) return id;
    }
    return -1;
}

/* The file does not say what its special tokens are for: the template shows what begins and ends a text, the
 * rest go by the names that everybody uses. tokenizer_config.json knows better. */
static void fill_info(asc_tokenizer *tk, const asc_json *root) {
    static const char *const mask[] = {"[MASK]", "<mask>", NULL}, *const pad[] = {"[PAD]", "<pad>", NULL},
                             *const eot[] = {"<|eot_id|>",    "<|im_end|>",    "<|end|>",
                                             "<end_of_turn>", "<|endoftext|>", NULL};
    asc_tokenizer_info *f = &tk->info;
    const asc_json_tokenizer *t = tk->json;
    const asc_template *s = &t->post.single;
    f->model = asc_word_model_name(&t->model);
    f->pre = "";
    f->n_vocab = tk->pieces.n;
    f->bos = f->eos = f->cls = f->sep = -1;
    f->unk = t->model.unk;
    f->mask = first_of(tk, mask);
    f->eot = first_of(tk, eot);
    f->pad = id_of(tk, asc_json_str(asc_json_get(asc_json_get(root, "padding"), "pad_token")));
    if (f->pad < 0) f->pad = first_of(tk, pad);
    if (s->n > 0 && s->v[0].sequence < 0 && s->v[0].n > 0) f->bos = t->post.tokens[s->v[0].first].id;
    if (s->n > 1 && s->v[s->n - 1].sequence < 0 && s->v[s->n - 1].n > 0)
        f->eos = t->post.tokens[s->v[s->n - 1].first + s->v[s->n - 1].n - 1].id;
    f->add_bos = f->bos >= 0;
    f->add_eos = f->eos >= 0;
    f->cls = f->bos;
    f->sep = f->eos;
    for (size_t i = 0; i < t->normalizer.n; i++)
        f->add_space_prefix |= t->normalizer.v[i].kind == ASC_NORM_PREPEND;
    for (size_t i = 0; i < t->splitter.n; i++) {
        const asc_split_step *p = &t->splitter.v[i];
        f->add_space_prefix |= p->kind == ASC_SPLIT_BYTE_LEVEL && p->prefix_space;
        f->add_space_prefix |= p->kind == ASC_SPLIT_METASPACE && p->prepend != ASC_PREPEND_NEVER;
    }
}

static asc_status read_all(asc_ctx *ctx, asc_tokenizer *tk, const asc_json *root,
                           const asc_word_lists *lists) {
    asc_status st = ASC_OK;
    asc_json_tokenizer *t = tk->json;
    ASC_TRY(asc_want_object(ctx, root, "the file"));
    ASC_TRY(asc_normalizer_init(ctx, &t->normalizer, asc_json_get(root, "normalizer")));
    ASC_TRY(asc_splitter_init(ctx, &t->splitter, asc_json_get(root, "pre_tokenizer")));
    ASC_TRY(asc_word_model_init(ctx, &t->model, asc_json_get(root, "model"), lists));
    ASC_TRY(asc_added_init(ctx, &t->added, asc_json_get(root, "added_tokens"), &t->model, &t->normalizer));
    ASC_TRY(asc_post_processor_init(ctx, &t->post, asc_json_get(root, "post_processor")));
    ASC_TRY(asc_token_decoder_init(ctx, &t->decoder, asc_json_get(root, "decoder")));
    ASC_TRY(fill_pieces(ctx, tk));
    fill_info(tk, root);
done:
    return st;
}

asc_status asc_tokenizer_from_json(asc_ctx *ctx, asc_view json_text, const char *name, asc_tokenizer **out) {
    return asc_tokenizer_from_stages(ctx, json_text, NULL, name, out);
}

asc_status asc_tokenizer_from_stages(asc_ctx *ctx, asc_view json_text, const asc_word_lists *lists,
                                     const char *name, asc_tokenizer **out) {
    asc_status st = ASC_OK;
    asc_json *root = NULL;
    *out = NULL;
    asc_tokenizer *tk = asc_calloc(ctx, ASC_MEM_TOKENIZER, 1, sizeof *tk);
    if (tk == NULL) return ASC_RESOURCE_EXHAUSTED;
    tk->ctx = ctx;
    tk->kind = &asc_json_kind;
    tk->json = asc_calloc(ctx, ASC_MEM_TOKENIZER, 1, sizeof *tk->json);
    if (tk->json == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    if (json_text.len > ASC_TOKENIZER_JSON_MAX)
        ASC_TRY(ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "the file has %zu bytes, more than %d", json_text.len,
                         ASC_TOKENIZER_JSON_MAX));
    ASC_TRY(asc_json_parse(ctx, json_text.ptr != NULL ? json_text.ptr : "", json_text.len, &root));
    ASC_TRY(read_all(ctx, tk, root, lists));
    *out = tk;
    tk = NULL;
done:
    if (st != ASC_OK) asc_fail_context(ctx, "%s", name);
    asc_json_free(root);
    asc_tokenizer_destroy(tk);
    return st;
}

asc_status asc_tokenizer_json_rows(asc_ctx *ctx, asc_tokenizer *tk, size_t n_rows) {
    asc_pieces *p = &tk->pieces;
    asc_json_tokenizer *t = tk->json;
    if (t == NULL || n_rows <= p->n) return ASC_OK;
    if (n_rows > ASC_TOK_MAX_TOKENS)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a vocabulary of %zu rows", n_rows);
    uint32_t *offset = asc_realloc(ctx, ASC_MEM_TOKENIZER, p->offset, (n_rows + 1) * sizeof *offset);
    if (offset != NULL) p->offset = offset;
    uint8_t *type = asc_realloc(ctx, ASC_MEM_TOKENIZER, p->type, n_rows);
    if (type != NULL) p->type = type;
    int32_t *added = asc_realloc(ctx, ASC_MEM_TOKENIZER, t->added_of, n_rows * sizeof *added);
    if (added != NULL) t->added_of = added;
    bool *control = asc_realloc(ctx, ASC_MEM_TOKENIZER, t->control, n_rows);
    if (control != NULL) t->control = control;
    if (offset == NULL || type == NULL || added == NULL || control == NULL) return ASC_RESOURCE_EXHAUSTED;
    while (p->n < n_rows) {
        t->added_of[p->n] = -1;
        t->control[p->n] = false;
        asc_pieces_push(p, 0, ASC_TOKEN_UNUSED, false);
    }
    tk->info.n_vocab = n_rows;
    return ASC_OK;
}

asc_status asc_tokenizer_json_config(asc_ctx *ctx, asc_tokenizer *tk, asc_view json_text, const char *name) {
    asc_json *root = NULL;
    asc_tokenizer_info *f = &tk->info;
    const struct {
        const char *key;
        int32_t *out;
    } keys[] = {{"bos_token", &f->bos}, {"eos_token", &f->eos}, {"unk_token", &f->unk},
                {"pad_token", &f->pad}, {"cls_token", &f->cls}, {"mask_token", &f->mask},
                {"sep_token", &f->sep}};
    if (tk->json == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s: not for a tokenizer of this kind", name);
    asc_status st = asc_json_parse(ctx, json_text.ptr != NULL ? json_text.ptr : "", json_text.len, &root);
    if (st != ASC_OK) return asc_fail_context(ctx, "%s", name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const asc_json *j = asc_json_get(root, keys[i].key);
        asc_view v = asc_json_str(asc_json_typeof(j) == ASC_JSON_OBJECT ? asc_json_get(j, "content") : j);
        if (v.ptr == NULL) continue;
        int32_t id = id_of(tk, v);
        if (id >= 0) {
            *keys[i].out = id;
        } else {
            v = asc_view_cut(v, 64);
            asc_logf(ctx, ASC_LOG_WARN, "%s: %s is '" ASC_VIEW_FMT "', which the tokenizer lacks: ignored",
                     name, keys[i].key, ASC_VIEW_ARG(v));
        }
    }
    asc_json_free(root);
    return ASC_OK;
}

asc_status asc_tokenizer_open(asc_ctx *ctx, const char *path, asc_tokenizer **out) {
    asc_status st = ASC_OK;
    char *text = NULL, file[4096], config[4096];
    size_t len = 0;
    struct stat s;
    bool folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    *out = NULL;
    asc_tokenizer *tk = NULL;
    int n = snprintf(file, sizeof file, folder ? "%s/tokenizer.json" : "%s", path);
    int m = snprintf(config, sizeof config, "%s/tokenizer_config.json", path);
    if (n < 0 || (size_t)n >= sizeof file || m < 0 || (size_t)m >= sizeof config)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the path has more than %zu bytes", sizeof file);
    ASC_TRY(asc_file_read(ctx, file, ASC_TOKENIZER_JSON_MAX, &text, &len));
    ASC_TRY(asc_tokenizer_from_json(ctx, (asc_view){text, len}, file, &tk));
    if (folder && stat(config, &s) == 0) {
        asc_free(ctx, text);
        text = NULL;
        ASC_TRY(asc_file_read(ctx, config, ASC_TOKENIZER_JSON_MAX, &text, &len));
        ASC_TRY(asc_tokenizer_json_config(ctx, tk, (asc_view){text, len}, config));
    }
    *out = tk;
    tk = NULL;
done:
    asc_free(ctx, text);
    asc_tokenizer_destroy(tk);
    return st;
}

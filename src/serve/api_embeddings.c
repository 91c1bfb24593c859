/* api_embeddings.c - POST /v1/embeddings: texts, or their token ids, to vectors of length 1. */
#include "api.h"
#include <stdlib.h>
#include <string.h>

typedef struct input {
    int32_t *ids;
    size_t n;
} input;

typedef struct wanted {
    input *v;
    size_t n, n_tokens;
    bool base64;
    char model[API_ID_BYTES];
} wanted;

static void destroy(void *self) {
    wanted *w = self;
    if (w == NULL) return;
    for (size_t i = 0; i < w->n; i++) free(w->v[i].ids);
    free(w->v);
    free(w);
}

static void put_base64(asc_text *t, const char *key, const double *x, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t bytes = n * 4, len = (bytes + 2) / 3 * 4;
    unsigned char *raw = calloc(bytes + 3, 1);
    char *out = malloc(len + 1);
    for (size_t i = 0; raw != NULL && i < n; i++) {
        const float f = (float)x[i];
        uint32_t b;
        memcpy(&b, &f, sizeof b);
        for (int k = 0; k < 4; k++) raw[i * 4 + (size_t)k] = (unsigned char)(b >> (8 * k));
    }
    for (size_t i = 0, at = 0; raw != NULL && out != NULL && i < bytes; i += 3, at += 4) {
        const uint32_t b = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];
        for (int k = 0; k < 4; k++) out[at + (size_t)k] = digits[b >> (18 - 6 * k) & 63];
        if (i + 1 >= bytes) out[at + 2] = '=';
        if (i + 2 >= bytes) out[at + 3] = '=';
    }
    if (out != NULL) asc_text_str(t, key, (asc_view){out, raw != NULL ? len : 0});
    free(out);
    free(raw);
}

static void write_one(asc_text *t, const wanted *w, size_t index, const double *x, size_t width) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "object", "embedding");
    asc_text_int(t, "index", (int64_t)index);
    if (w->base64) {
        put_base64(t, "embedding", x, width);
    } else {
        asc_text_array(t, "embedding");
        for (size_t i = 0; i < width; i++) asc_text_num(t, NULL, x[i]);
        asc_text_end(t);
    }
    asc_text_end(t);
}

/* The vectors of all inputs. job_goes_on is asked by the context's progress, between passes. */
static asc_status embed(asc_model *m, const wanted *w, double **out) {
    asc_id_text *v = calloc(w->n, sizeof *v);
    double *x = calloc(w->n, asc_model_embedding_width(m) * sizeof *x);
    for (size_t i = 0; v != NULL && i < w->n; i++) v[i] = (asc_id_text){.ids = w->v[i].ids, .n = w->v[i].n};
    asc_status st = v != NULL && x != NULL ? asc_model_embed_texts(m, v, w->n, x) : ASC_RESOURCE_EXHAUSTED;
    free(v);
    *out = x;
    return st;
}

static asc_status run(job *j, const job_place *at, void *self) {
    const wanted *w = self;
    asc_model *m = asc_subject_model(at->subject);
    const size_t width = asc_model_embedding_width(m);
    double *x = NULL;
    asc_text *t = NULL;
    asc_status st = embed(m, w, &x);
    if (st == ASC_OK) st = asc_text_create(at->ctx, &t);
    if (st == ASC_OK) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "object", "list");
        asc_text_array(t, "data");
        for (size_t i = 0; i < w->n; i++) write_one(t, w, i, x + i * width, width);
        asc_text_end(t);
        asc_text_strz(t, "model", w->model);
        asc_text_object(t, "usage");
        asc_text_int(t, "prompt_tokens", (int64_t)w->n_tokens);
        asc_text_int(t, "total_tokens", (int64_t)w->n_tokens);
        asc_text_end(t);
        asc_text_end(t);
        job_count_tokens(j, w->n_tokens, 0);
        st = api_send(j, t, "application/json");
    }
    asc_text_destroy(t);
    free(x);
    return st;
}

static const job_kind kind_embeddings = {.name = "embeddings", .run = run, .destroy = destroy};

static bool by_text(serve_bench *b, asc_view text, input *out, serve_fault *fault) {
    const asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    asc_encoding e;
    asc_status st =
        asc_encode(b->ctx, asc_model_tokenizer(asc_subject_model(b->subject)), text, NULL, &o, &e);
    if (st != ASC_OK) {
        serve_fault_status(fault, b->ctx, st);
        if (st == ASC_FAILED_PRECONDITION) fault->status = 400;
        return false;
    }
    out->ids = malloc((e.n + 1) * sizeof *out->ids);
    if (out->ids != NULL && e.n > 0) memcpy(out->ids, e.ids, e.n * sizeof *out->ids);
    out->n = out->ids != NULL ? e.n : 0;
    asc_encoding_free(b->ctx, &e);
    return out->ids != NULL || api_no_memory(fault);
}

static bool check_one(const asc_model_info *m, const input *in, size_t index, serve_fault *fault) {
    if (in->n == 0)
        return api_bad(fault, "invalid_value", "input", "give at least one word", "input %zu has no tokens",
                       index);
    if (in->n > (size_t)m->context_length)
        return api_bad(fault, "context_length_exceeded", "input", "shorten it or split it into several",
                       "input %zu has %zu tokens; this model takes %lld", index, in->n,
                       (long long)m->context_length);
    for (size_t i = 0; i < in->n; i++)
        if (in->ids[i] < 0 || in->ids[i] >= m->n_vocab)
            return api_bad(fault, "invalid_value", "input", "POST /v1/tokenize gives the ids of a text",
                           "input %zu: token %zu is no token of this model; ids are 0 to %lld", index, i,
                           (long long)m->n_vocab - 1);
    return true;
}

static bool read_inputs(wanted *w, const json_t *in, serve_bench *b, serve_fault *fault) {
    const asc_model_info m = asc_model_get_info(asc_subject_model(b->subject));
    const bool several = json_is_array(in) && !json_is_number(json_array_get(in, 0));
    const size_t n = several ? json_array_size(in) : 1;
    w->v = calloc(n, sizeof *w->v);
    if (w->v == NULL) return api_no_memory(fault);
    for (w->n = 0; w->n < n;) {
        const json_t *one = several ? json_array_get(in, w->n) : in;
        input *to = &w->v[w->n++];
        bool ok;
        if (json_is_array(one)) {
            to->ids = api_ids(one, &to->n);
            ok = to->ids != NULL || api_no_memory(fault);
        } else {
            ok = by_text(b, (asc_view){json_string_value(one), json_string_length(one)}, to, fault);
        }
        if (!ok || !check_one(&m, to, w->n - 1, fault)) return false;
        w->n_tokens += to->n;
    }
    return true;
}

/* The memory of the largest pass, and the vectors, which also stand in the reply (some 20 bytes a figure). A
 * pass reads the weights; how many there are depends on the lengths: not more than texts, nor than lengths
 * and full passes. */
static job_price price_of(const wanted *w, const asc_model_info *m, size_t width) {
    size_t longest = 0, rows = w->n_tokens < ASC_EMBED_PASS_TOKENS ? w->n_tokens : ASC_EMBED_PASS_TOKENS;
    for (size_t i = 0; i < w->n; i++) longest = w->v[i].n > longest ? w->v[i].n : longest;
    if (longest > rows) rows = longest;
    const size_t row = (size_t)(m->d_model * 16 + m->d_ff * 4) + (size_t)m->n_heads * longest * 2;
    const size_t most = longest + w->n_tokens / ASC_EMBED_PASS_TOKENS + 1, passes = w->n < most ? w->n : most;
    return (job_price){.seconds = 0.02 + 2.0 * (double)m->n_params_blocks * (double)w->n_tokens / 5e10 +
                                  (double)m->file_bytes / 1e10 * (double)passes,
                       .bytes = row * rows * sizeof(float) + w->n * (64 + width * 32),
                       .tokens = longest};
}

void api_embeddings(exchange *x) {
    server *s = exchange_server(x);
    serve_fault fault = {0};
    job_price price = {0};
    api_body body = {0};
    wanted *w = calloc(1, sizeof *w);
    bool ok = w != NULL || api_no_memory(&fault);
    ok = ok && api_body_read(API_EMBEDDINGS, exchange_body(x), &body, &fault) &&
         api_check_model(s, &body, &fault);
    if (ok) {
        const asc_view format = api_text(&body, "encoding_format");
        serve_bench *b = server_lock_bench(s);
        api_model_id(s, w->model);
        w->base64 = format.len == 6;
        ok = api_need_encoder(b, &fault) && read_inputs(w, api_get(&body, "input"), b, &fault);
        if (ok) {
            const asc_model_info m = asc_model_get_info(asc_subject_model(b->subject));
            price = price_of(w, &m, asc_model_embedding_width(asc_subject_model(b->subject)));
        }
        server_unlock_bench(s);
    }
    api_body_free(&body);
    api_submit(x, ok, &kind_embeddings, w, &price, &fault);
}

/* batch.c - runs the lines of a file of prompts that its results file does not hold yet. */
#include "batch_parts.h"
#include "alloc.h"
#include "ctx.h"
#include "hash.h"
#include "model.h"
#include "report_parts.h"
#include "text_parts.h"
#include <string.h>

void asc_batch_key(asc_view v, char out[ASC_BATCH_KEY + 1]) {
    char hex[65];
    asc_sha256_hex(v.ptr, v.len, hex);
    memcpy(out, hex, ASC_BATCH_KEY);
    out[ASC_BATCH_KEY] = '\0';
}

typedef struct batch {
    asc_ctx *ctx;
    asc_model *m;
    const asc_batch *b;
    asc_map map;
    asc_view text;
    size_t n;   /* lines that are not empty */
    char *keys; /* [n, ASC_BATCH_KEY + 1] */
    char run[ASC_BATCH_KEY + 1];
    asc_batch_output out;
    asc_batch_counts *counts;
    asc_text *made; /* the result line in the making */
} batch;

/* What must be equal for two runs to give the same lines. */
static asc_status run_key(batch *s) {
    asc_ctx *ctx = s->ctx;
    const char *sha = NULL;
    asc_text *t = NULL;
    asc_status st = asc_model_sha256(s->m, &sha);
    if (st == ASC_OK) st = asc_text_create(ctx, &t);
    if (st != ASC_OK) return st;
    asc_text_object(t, NULL);
    asc_text_strz(t, "model", sha);
    asc_text_strz(t, "version", asc_version());
    asc_text_strz(t, "device", ctx->device_name);
    asc_text_int(t, "precision", (int64_t)ctx->precision);
    asc_put_request(t, s->b->request, s->b->weights);
    asc_text_end(t);
    st = asc_text_status(t);
    if (st == ASC_OK) asc_batch_key(asc_text_view(t), s->run);
    asc_text_destroy(t);
    return st;
}

static asc_status read_prompts(batch *s) {
    asc_ctx *ctx = s->ctx;
    asc_view line;
    size_t pos = 0, bytes;
    bool ended;
    asc_status st = asc_batch_open(ctx, s->b->prompts, &s->map, &s->text, &s->n);
    if (st != ASC_OK) return st;
    if (s->n > ASC_BATCH_MAX_LINES || !asc_mul_size(s->n, ASC_BATCH_KEY + 1, &bytes))
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "'%s': more than %d prompts", s->b->prompts,
                        ASC_BATCH_MAX_LINES);
    s->keys = asc_alloc(ctx, ASC_MEM_GENERAL, bytes);
    if (s->keys == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t i = 0;
    while (asc_batch_next_line(s->text, &pos, &line, &ended)) {
        if (asc_batch_blank(line)) continue;
        asc_batch_key(line, s->keys + i++ * (ASC_BATCH_KEY + 1));
    }
    s->counts->lines = s->n;
    return ASC_OK;
}

static void put_id(asc_text *t, const asc_json *id) {
    switch (asc_json_typeof(id)) {
    case ASC_JSON_STRING:
        asc_text_str(t, "id", asc_json_str(id));
        break;
    case ASC_JSON_INT:
        asc_text_int(t, "id", asc_json_int(id, 0));
        break;
    case ASC_JSON_REAL:
        asc_text_num(t, "id", asc_json_num(id, 0.0));
        break;
    default:
        asc_text_null(t, "id");
    }
}

static asc_status write_line(batch *s, size_t i, const asc_batch_line *l, asc_result *r, asc_status failed) {
    asc_ctx *ctx = s->ctx;
    asc_text *t = s->made;
    asc_text_clear(t);
    asc_text_object(t, NULL);
    asc_text_int(t, "line", (int64_t)i + 1);
    put_id(t, l->id);
    asc_text_strz(t, "input_key", s->keys + i * (ASC_BATCH_KEY + 1));
    asc_text_strz(t, "run_key", s->run);
    asc_text_strz(t, "status", failed == ASC_OK ? "ok" : "error");
    if (failed == ASC_OK) {
        asc_report rep = {.request = &l->request,
                          .result = r,
                          .tokenizer = asc_model_tokenizer(s->m),
                          .weights = s->b->weights};
        asc_report_json_under(t, "result", &rep);
    } else {
        asc_text_object(t, "error");
        asc_text_strz(t, "code", asc_status_name(failed));
        asc_text_strz(t, "message", asc_error_message(ctx));
        asc_text_strz(t, "hint", asc_error_hint(ctx));
        asc_text_end(t);
        asc_error_clear(ctx);
    }
    asc_text_end(t);
    asc_text_adds(t, "\n");
    asc_status st = asc_text_status(t);
    return st == ASC_OK ? asc_batch_output_add(&s->out, asc_text_view(t)) : st;
}

static asc_status one(batch *s, size_t i, asc_view text) {
    asc_batch_line l;
    asc_result *r = NULL;
    asc_status st = asc_batch_line_read(s->ctx, s->m, text, s->b->request, &l);
    if (st == ASC_OK) st = asc_explain(s->m, &l.request, &r);
    if (st != ASC_CANCELLED) {
        s->counts->failed += st == ASC_OK ? 0 : 1;
        st = write_line(s, i, &l, r, st);
    }
    asc_result_destroy(s->ctx, r);
    asc_batch_line_free(&l);
    return st;
}

static asc_status check(asc_ctx *ctx, const asc_batch *b) {
    const asc_request *q = b->request;
    if (b->struct_size < sizeof *b || b->prompts == NULL || b->results == NULL || q == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "batch: prompts, results or the request is missing");
    if (q->prompt.ptr != NULL || q->prompt_ids != NULL || q->messages != NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a batch has its prompts in a file, and one was given besides");
        return asc_hint(ctx, "give either one prompt or a file of prompts");
    }
    return ASC_OK;
}

asc_status asc_batch_run(asc_model *m, const asc_batch *b, asc_batch_counts *out) {
    asc_ctx *ctx = m->ctx;
    batch s = {.ctx = ctx, .m = m, .b = b, .counts = out, .map = {.fd = -1}, .out = {.fd = -1}};
    uint64_t begun = asc_now_ns();
    asc_view line;
    size_t pos = 0, i = 0;
    bool ended;
    *out = (asc_batch_counts){0};
    asc_status st = check(ctx, b);
    if (st != ASC_OK) return st;
    ASC_TRY(read_prompts(&s));
    ASC_TRY(run_key(&s));
    ASC_TRY(asc_batch_output_open(ctx, b->results, s.n, s.keys, s.run, &s.out));
    out->failed = s.out.n_failed;
    ASC_TRY(asc_text_create(ctx, &s.made));
    asc_text_compact(s.made); /* a result is a line */
    while (st == ASC_OK && asc_batch_next_line(s.text, &pos, &line, &ended)) {
        if (asc_batch_blank(line)) continue;
        if (asc_batch_output_has(&s.out, i)) {
            out->skipped++;
            i++;
            continue;
        }
        ASC_TRY(asc_map_check(ctx, &s.map));
        ASC_TRY(one(&s, i++, line));
        out->done++;
        out->seconds = (double)(asc_now_ns() - begun) * 1e-9;
        if (b->on_line != NULL && !b->on_line(b->self, out)) asc_cancel(ctx);
        st = asc_poll_cancel(ctx);
    }
done:
    asc_text_destroy(s.made);
    asc_batch_output_close(&s.out);
    asc_free(ctx, s.keys);
    asc_map_close(ctx, &s.map);
    return st;
}

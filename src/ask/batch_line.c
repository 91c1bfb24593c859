/* batch_line.c - one line of a batch: what it asks, and its result as a line of text. Several threads may be
 * in here at once, each with a model in a context of its own. */
#include "batch_parts.h"
#include "ctx.h"
#include "model.h"
#include "report_parts.h"
#include "text_parts.h"

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

static asc_status write_line(const asc_batch_work *s, asc_model *m, size_t i, const asc_batch_line *l,
                             asc_result *r, asc_status failed, asc_text *t) {
    asc_ctx *ctx = m->ctx;
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
                          .tokenizer = asc_model_tokenizer(m),
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
    return asc_text_status(t);
}

asc_status asc_batch_make(const asc_batch_work *s, asc_model *m, const asc_batch_place *at, size_t bound,
                          asc_text *t, asc_batch_made *out) {
    asc_batch_line l;
    asc_result *r = NULL;
    asc_status st = asc_batch_line_read(m->ctx, m, at->text, s->b->request, &l);
    asc_request q = l.request; /* its bound is this line's share; the result says what was asked */
    const bool own = at->alone && q.memory_bytes != s->b->request->memory_bytes;
    *out = (asc_batch_made){.line = at->line};
    if (bound > 0 && !own && (q.memory_bytes == 0 || q.memory_bytes > bound)) q.memory_bytes = bound;
    if (st == ASC_OK) st = asc_explain(m, &q, &r);
    out->status = st;
    if (st == ASC_OK) {
        const uint64_t passes = r->n_forward + r->n_backward;
        out->pass_flops = r->flops / (double)(passes > 0 ? passes : 1);
        out->peak_bytes = r->peak_bytes;
    }
    if (st != ASC_CANCELLED) st = write_line(s, m, at->line, &l, r, st, t);
    asc_result_destroy(m->ctx, r);
    asc_batch_line_free(&l);
    return st;
}

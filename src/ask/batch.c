/* batch.c - runs the lines of a file of prompts that its results file does not hold yet. The first one that
 * succeeds shows what a line takes, and so how many are worked on at a time (batch_team.c). */
#include "batch_parts.h"
#include "alloc.h"
#include "budget.h"
#include "ascribe/profile.h"
#include "ctx.h"
#include "ctx_like.h"
#include "hash.h"
#include "model.h"
#include "report_parts.h"
#include "site_edits.h"
#include "text_parts.h"
#include <string.h>

/* A pass of more work than this on one prompt keeps all threads busy by itself; with fewer lines than these a
 * thread, the last ones would keep too few (docs/SPEED.md, "Lines of a batch side by side"). */
static const double SMALL_PASS = 1e11; /* FLOP, some half a second of a core */
enum { LINES_EACH = 4 };

void asc_batch_key(asc_view v, char out[ASC_BATCH_KEY + 1]) {
    char hex[65];
    asc_sha256_hex(v.ptr, v.len, hex);
    memcpy(out, hex, ASC_BATCH_KEY);
    out[ASC_BATCH_KEY] = '\0';
}

/* What must be equal for two runs to give the same lines. */
static asc_status run_key(asc_batch_work *s) {
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
    const asc_site_edits *held = asc_model_edits(s->m);
    if (held != NULL) asc_text_int(t, "held", (int64_t)held->hash);
    asc_text_end(t);
    st = asc_text_status(t);
    if (st == ASC_OK) asc_batch_key(asc_text_view(t), s->run);
    asc_text_destroy(t);
    return st;
}

static asc_status read_prompts(asc_batch_work *s) {
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

asc_status asc_batch_check(asc_ctx *ctx, const asc_batch *b) {
    const asc_request *q = b->request;
    if (b->struct_size < sizeof *b || b->prompts == NULL || q == NULL)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "batch: prompts or the request is missing");
    if (q->prompt.ptr != NULL || q->prompt_ids != NULL || q->messages != NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a batch has its prompts in a file, and one was given besides");
        return asc_hint(ctx, "give either one prompt or a file of prompts");
    }
    return ASC_OK;
}

/* ---- how many at a time ---- */

static size_t lines_left(const asc_batch_work *s) {
    size_t left = 0;
    for (size_t i = s->next; i < s->n; i++) left += asc_batch_output_has(&s->out, i) ? 0 : 1;
    return left;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* How many lines to work on at a time, when one took what `one` says, and the bytes for each: twice the first
 * line's peak or more, as others are longer and programs stay. */
static size_t side_by_side(const asc_batch_work *s, const asc_batch_made *one, size_t *share) {
    const size_t limit = asc_request_limit(s->ctx, s->b->request), each = 2 * one->peak_bytes + 1,
                 most = smaller((size_t)s->ctx->n_threads, lines_left(s) / LINES_EACH);
    if (smaller(most, limit / each) < 2 || one->pass_flops > SMALL_PASS || !asc_ctx_may_share_work(s->ctx))
        return 1;
    if (asc_model_edits(s->m) != NULL) return 1; /* other models hold nothing; functions are for one thread */
    (void)asc_cache_empty(s->ctx);               /* what the first line left would take their room */
    const size_t here = asc_memory(s->ctx).live_total, room = limit > here ? limit - here : 0,
                 n = smaller(most, room / each);
    *share = n > 1 ? room / n : 0;
    return n > 1 ? n : 1;
}

bool asc_batch_next(asc_batch_work *s, asc_batch_place *out) {
    bool ended;
    while (asc_batch_next_line(s->text, &s->pos, &out->text, &ended)) {
        if (asc_batch_blank(out->text)) continue;
        out->line = s->next++;
        out->alone = false;
        if (!asc_batch_output_has(&s->out, out->line)) return true;
    }
    return false;
}

asc_status asc_batch_put(asc_batch_work *s, const asc_text *line, bool failed) {
    asc_status st = asc_map_check(s->ctx, &s->map);
    if (st == ASC_OK) st = asc_batch_output_add(&s->out, asc_text_view(line));
    if (st != ASC_OK) return st;
    s->counts->failed += failed ? 1 : 0;
    s->counts->done++;
    s->counts->seconds = (double)(asc_now_ns() - s->begun) * 1e-9;
    if (s->b->on_line != NULL && !s->b->on_line(s->b->self, s->counts)) asc_cancel(s->ctx);
    return asc_poll_cancel(s->ctx);
}

asc_status asc_batch_one(asc_batch_work *s, const asc_batch_place *at, size_t bound, asc_batch_made *out) {
    asc_status st = asc_map_check(s->ctx, &s->map);
    if (st == ASC_OK) st = asc_batch_make(s, s->m, at, bound, s->made, out);
    return st == ASC_OK ? asc_batch_put(s, s->made, out->status != ASC_OK) : st;
}

asc_status asc_batch_run(asc_model *m, const asc_batch *b, asc_batch_counts *out) {
    asc_ctx *ctx = m->ctx;
    asc_batch_work s = {.ctx = ctx,
                        .m = m,
                        .b = b,
                        .counts = out,
                        .map = {.fd = -1},
                        .out = {.fd = -1},
                        .begun = asc_now_ns()};
    asc_batch_place at;
    asc_batch_made made = {0};
    size_t n = 0, share = 0;
    *out = (asc_batch_counts){0};
    asc_status st = asc_batch_check(ctx, b);
    if (st == ASC_OK && b->results == NULL)
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "batch: results is missing");
    if (st != ASC_OK) return st;
    ASC_TRY(read_prompts(&s));
    ASC_TRY(run_key(&s));
    ASC_TRY(asc_batch_output_open(ctx, b->results, s.n, s.keys, s.run, &s.out));
    out->failed = s.out.n_failed;
    out->skipped = s.n - lines_left(&s);
    ASC_TRY(asc_text_create(ctx, &s.made));
    asc_text_compact(s.made); /* a result is a line */
    while (st == ASC_OK && n < 2 && asc_batch_next(&s, &at)) {
        st = asc_batch_one(&s, &at, 0, &made);
        if (st == ASC_OK && n == 0 && made.status == ASC_OK) n = side_by_side(&s, &made, &share);
    }
    if (st == ASC_OK && n > 1) st = asc_batch_team(&s, n, share);
done:
    asc_text_destroy(s.made);
    asc_batch_output_close(&s.out);
    asc_free(ctx, s.keys);
    asc_map_close(ctx, &s.map);
    return st;
}

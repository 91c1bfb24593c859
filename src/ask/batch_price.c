/* batch_price.c - what a file of prompts would cost. Every line is read; lines that ask the same of prompts
 * of other lengths are a group, and of a large file the price is asked of some of each group, the shortest
 * and the longest among them. Those between cost what lies between, by their tokens. */
#include "alloc.h"
#include "ascribe/profile.h"
#include "ask_parts.h"
#include "batch_parts.h"
#include "budget.h"
#include "ctx.h"
#include "hash.h"
#include "model.h"
#include "strbuf.h"
#include "text_parts.h"
#include <stdlib.h>

enum { MOST_ASKED = 256, MOST_SAID = 20, MOST_AGAIN = 16 };

/* Keys whose texts differ from line to line; of all others the value itself tells groups apart. */
static bool is_text(size_t key) {
    static const asc_key_id texts[] = {
        ASC_KEY_ID_PROMPT,     ASC_KEY_ID_TEXT,         ASC_KEY_ID_MESSAGES,   ASC_KEY_ID_USER,
        ASC_KEY_ID_SYSTEM,     ASC_KEY_ID_TOOLS,        ASC_KEY_ID_IDS,        ASC_KEY_ID_TYPES,
        ASC_KEY_ID_SECOND,     ASC_KEY_ID_TEMPLATE,     ASC_KEY_ID_VALUES,     ASC_KEY_ID_QUESTION,
        ASC_KEY_ID_DOCUMENTS,  ASC_KEY_ID_FREEZE,       ASC_KEY_ID_TARGET,     ASC_KEY_ID_VERSUS,
        ASC_KEY_ID_SPAN,       ASC_KEY_ID_CORRUPTED,    ASC_KEY_ID_TARGET_IDS, ASC_KEY_ID_VERSUS_IDS,
        ASC_KEY_ID_SIMILAR_TO, ASC_KEY_ID_CORRUPTED_IDS};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if ((size_t)texts[i] == key) return true;
    }
    return false;
}

typedef struct line {
    uint64_t group;
    asc_view text;
    size_t number, tokens;
    bool asked, failed;
    bool longest; /* of its group, of those that were asked */
    size_t peak;  /* bytes, with what lines before it left */
    double seconds, least, flops, forward, backward;
} line;

typedef struct failure {
    size_t line;
    asc_status status;
    char *message, *hint;
} failure;

typedef struct bill {
    asc_ctx *ctx;
    asc_model *m;
    const asc_batch *b;
    asc_batch_cost *cost;
    line *lines;
    size_t n, n_said;
    failure said[MOST_SAID];
    asc_arena arena;
    asc_strbuf scratch;
} bill;

/* Tokens of all texts in v, and its numbers. */
static asc_status count_tokens(bill *w, const asc_json *v, size_t *n) {
    const asc_tokenizer *tk = asc_model_tokenizer(w->m);
    asc_status st = ASC_OK;
    asc_token *tokens = NULL;
    void *iter = NULL;
    asc_view name;
    const asc_json *inner;
    size_t more = 0;
    switch (asc_json_typeof(v)) {
    case ASC_JSON_STRING:
        if (tk == NULL)
            more = asc_json_str(v).len;
        else
            st = asc_tokenize(w->ctx, tk, asc_json_str(v), NULL, &tokens, &more);
        asc_tokens_free(w->ctx, tokens);
        *n += more;
        break;
    case ASC_JSON_ARRAY:
        for (size_t i = 0; st == ASC_OK && i < asc_json_len(v); i++)
            st = count_tokens(w, asc_json_at(v, i), n);
        break;
    case ASC_JSON_OBJECT:
        while (st == ASC_OK && asc_json_next(v, &iter, &name, &inner)) st = count_tokens(w, inner, n);
        break;
    default:
        *n += 1;
    }
    return st;
}

static asc_status note_failure(bill *w, line *l, asc_status failed) {
    l->failed = true;
    w->cost->failed++;
    if (w->n_said < MOST_SAID) {
        failure *f = &w->said[w->n_said++];
        *f = (failure){.line = l->number, .status = failed};
        f->message = asc_arena_strdup(&w->arena, asc_view_of(asc_error_message(w->ctx)));
        f->hint = asc_arena_strdup(&w->arena, asc_view_of(asc_error_hint(w->ctx)));
        if (f->message == NULL || f->hint == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    asc_error_clear(w->ctx);
    return ASC_OK;
}

/* Which group a line is in, and its size. */
static asc_status look_at(bill *w, line *l) {
    asc_batch_line read;
    asc_status st = asc_batch_line_read(w->ctx, w->m, l->text, w->b->request, &read);
    asc_strbuf_clear(&w->scratch);
    for (size_t k = 0; st == ASC_OK && k < ASC_N_KEYS; k++) {
        const asc_json *v = read.question->values[k];
        if (v == NULL) continue;
        l->group = asc_hash64(&k, sizeof k, l->group);
        if (is_text(k))
            st = count_tokens(w, v, &l->tokens);
        else
            asc_json_dump(v, &w->scratch);
    }
    if (st == ASC_OK) st = asc_strbuf_status(&w->scratch);
    if (st == ASC_OK) {
        const asc_view v = asc_strbuf_view(&w->scratch);
        l->group = asc_hash64(v.ptr, v.len, l->group);
    }
    asc_batch_line_free(&read);
    return st == ASC_OK || st == ASC_CANCELLED ? st : note_failure(w, l, st);
}

static asc_status ask(bill *w, line *l) {
    asc_batch_line read;
    asc_result *r = NULL;
    asc_status st = asc_batch_line_read(w->ctx, w->m, l->text, w->b->request, &read);
    asc_request q = read.request;
    q.dry_run = true;
    asc_memory_forget_peaks(w->ctx); /* of what was measured for others */
    if (st == ASC_OK) st = asc_explain(w->m, &q, &r);
    w->cost->priced += l->asked ? 0 : 1;
    l->asked = true;
    if (st == ASC_OK) {
        l->seconds = r->predicted_seconds;
        l->least = r->predicted_least_seconds;
        l->flops = r->flops;
        l->forward = (double)r->n_forward;
        l->backward = (double)r->n_backward;
        l->peak = r->predicted_peak_bytes;
    } else if (st != ASC_CANCELLED) {
        st = note_failure(w, l, st);
    }
    asc_result_destroy(w->ctx, r);
    asc_batch_line_free(&read);
    return st;
}

static int by_group_and_size(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->failed != y->failed) return x->failed ? 1 : -1;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->tokens != y->tokens) return x->tokens < y->tokens ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void add(asc_batch_cost *cost, const line *a, const line *b, double share) {
    const double rest = 1.0 - share;
    cost->seconds += rest * a->seconds + share * b->seconds;
    cost->least_seconds += rest * a->least + share * b->least;
    cost->flops += rest * a->flops + share * b->flops;
    cost->n_forward += rest * a->forward + share * b->forward;
    cost->n_backward += rest * a->backward + share * b->backward;
}

/* Those of a group [first, end) that were not asked, between those that were; without one they cost nothing.
 */
static void add_group(bill *w, size_t first, size_t end) {
    const line *before = NULL, *after = NULL;
    for (size_t i = first, next = first; i < end; i++) {
        const line *l = &w->lines[i];
        if (next <= i) {
            next = i;
            while (next < end && (!w->lines[next].asked || w->lines[next].failed)) next++;
            after = next < end ? &w->lines[next] : NULL;
            next = next < end ? next + 1 : end;
        }
        if (l->failed) continue;
        const line *a = before != NULL ? before : after, *b = after != NULL ? after : before;
        if (a != NULL && b != NULL) {
            const double width = (double)b->tokens - (double)a->tokens;
            add(w->cost, a, b, width > 0 ? ((double)l->tokens - (double)a->tokens) / width : 0.0);
        }
        if (l->asked) before = l;
    }
}

static asc_status price_group(bill *w, size_t first, size_t end) {
    const size_t n = end - first;
    size_t asked = w->n > MOST_ASKED ? n * MOST_ASKED / w->n : n;
    asc_status st = ASC_OK;
    asked = asked < 2 ? (n < 2 ? n : 2) : asked;
    for (size_t k = 0; st == ASC_OK && k < asked; k++) {
        line *l = &w->lines[first + (asked > 1 ? k * (n - 1) / (asked - 1) : 0)];
        if (l->asked) continue;
        st = ask(w, l);
        if (st == ASC_OK)
            st = asc_progress(w->ctx, "prices", (double)first + (double)n * (double)k / (double)asked,
                              (double)w->n);
    }
    for (size_t i = end; i > first; i--) {
        line *l = &w->lines[i - 1];
        l->longest = l->asked && !l->failed;
        if (l->longest) break;
    }
    add_group(w, first, end);
    return st;
}

/* The largest peak: of the longest line of each group, priced again as if it were the first one. */
static asc_status find_peak(bill *w) {
    asc_status st = ASC_OK;
    for (int k = 0; st == ASC_OK && k < MOST_AGAIN; k++) {
        line *most = NULL;
        for (size_t i = 0; i < w->n; i++) {
            line *l = &w->lines[i];
            if (l->longest && !l->failed && (most == NULL || l->peak > most->peak)) most = l;
        }
        if (most == NULL || most->peak <= w->cost->peak_bytes) break;
        most->longest = false;
        (void)asc_cache_empty(w->ctx);
        st = ask(w, most);
        if (st == ASC_OK && !most->failed && most->peak > w->cost->peak_bytes) {
            w->cost->peak_bytes = most->peak;
            w->cost->peak_line = most->number;
        }
    }
    return st;
}

static asc_status price_all(bill *w, asc_view text) {
    bool ended;
    size_t pos = 0, i = 0;
    asc_view v;
    asc_status st = ASC_OK;
    while (st == ASC_OK && asc_batch_next_line(text, &pos, &v, &ended)) {
        if (asc_batch_blank(v)) continue;
        line *l = &w->lines[i++];
        *l = (line){.text = v, .number = i};
        st = look_at(w, l);
        if (st == ASC_OK) st = asc_poll_cancel(w->ctx);
    }
    if (st != ASC_OK) return st;
    qsort(w->lines, w->n, sizeof *w->lines, by_group_and_size);
    for (size_t first = 0; st == ASC_OK && first < w->n && !w->lines[first].failed;) {
        size_t end = first;
        while (end < w->n && !w->lines[end].failed && w->lines[end].group == w->lines[first].group) end++;
        st = price_group(w, first, end);
        first = end;
    }
    return st == ASC_OK ? find_peak(w) : st;
}

static void put_text(const bill *w, asc_text *t) {
    const asc_batch_cost *c = w->cost;
    asc_text_addf(t, "%zu prompts", c->lines);
    if (c->failed > 0) asc_text_addf(t, ", of which %zu would fail", c->failed);
    if (c->least_seconds < 0.99 * c->seconds)
        asc_text_addf(t, ". Would take %.3g to %.3g s", c->least_seconds, c->seconds);
    else
        asc_text_addf(t, ". Would take about %.3g s", c->seconds);
    asc_text_addf(t,
                  ", one after the other:\n%.0f forward and %.0f backward passes, %.4g GFLOP. Small ones run "
                  "side by side, in less.\n",
                  c->n_forward, c->n_backward, c->flops / 1e9);
    if (c->peak_line > 0)
        asc_text_addf(t, "Peak %.1f MB, of line %zu; together at most %.1f MB (--memory).\n",
                      (double)c->peak_bytes / 1e6, c->peak_line,
                      (double)asc_request_limit(w->ctx, w->b->request) / 1e6);
    if (c->priced < c->lines)
        asc_text_addf(t, "%zu lines were priced, the others by their number of tokens.\n", c->priced);
    asc_text_adds(t, "Nothing was computed but the rates of this machine (--dry-run).\n");
    for (size_t i = 0; i < w->n_said; i++) {
        asc_text_addf(t, "Line %zu: ", w->said[i].line);
        asc_text_wrap(t, w->said[i].message, 4, 100);
    }
    if (w->n_said < c->failed) asc_text_addf(t, "and %zu more\n", c->failed - w->n_said);
}

static void put_json(const bill *w, asc_text *t) {
    const asc_batch_cost *c = w->cost;
    asc_text_object(t, NULL);
    asc_text_int(t, "schema", 1);
    asc_text_bool(t, "dry_run", true);
    asc_text_int(t, "lines", (int64_t)c->lines);
    asc_text_int(t, "priced", (int64_t)c->priced);
    asc_text_int(t, "failed", (int64_t)c->failed);
    asc_text_num(t, "predicted_seconds", c->seconds);
    asc_text_num(t, "predicted_least_seconds", c->least_seconds);
    asc_text_int(t, "predicted_peak_bytes", (int64_t)c->peak_bytes);
    asc_text_int(t, "peak_line", (int64_t)c->peak_line);
    asc_text_num(t, "forward", c->n_forward);
    asc_text_num(t, "backward", c->n_backward);
    asc_text_num(t, "flops", c->flops);
    asc_text_array(t, "failures");
    for (size_t i = 0; i < w->n_said; i++) {
        asc_text_object(t, NULL);
        asc_text_int(t, "line", (int64_t)w->said[i].line);
        asc_text_strz(t, "code", asc_status_name(w->said[i].status));
        asc_text_strz(t, "message", w->said[i].message);
        asc_text_strz(t, "hint", w->said[i].hint);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

asc_status asc_batch_price(asc_model *m, const asc_batch *b, asc_batch_cost *out, asc_text *text,
                           asc_text *json) {
    asc_ctx *ctx = m->ctx;
    bill w = {.ctx = ctx, .m = m, .b = b, .cost = out};
    asc_map map = {.fd = -1};
    asc_view all;
    *out = (asc_batch_cost){0};
    asc_status st = asc_batch_check(ctx, b);
    if (st != ASC_OK) return st;
    asc_arena_init(&w.arena, ctx, ASC_MEM_GENERAL);
    asc_strbuf_init(&w.scratch, ctx);
    ASC_TRY(asc_batch_open(ctx, b->prompts, &map, &all, &w.n));
    out->lines = w.n;
    w.lines = asc_calloc(ctx, ASC_MEM_GENERAL, w.n, sizeof *w.lines);
    if (w.lines == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(price_all(&w, all));
    ASC_TRY(asc_map_check(ctx, &map));
    if (text != NULL) put_text(&w, text);
    if (json != NULL) put_json(&w, json);
    if (text != NULL) st = asc_text_status(text);
    if (st == ASC_OK && json != NULL) st = asc_text_status(json);
done:
    asc_free(ctx, w.lines);
    asc_strbuf_deinit(&w.scratch);
    asc_arena_deinit(&w.arena);
    asc_map_close(ctx, &map);
    return st;
}

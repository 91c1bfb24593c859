/* slots.c - parts of the prompt that the caller names: where they lie among its tokens, what stands there
 * instead, and which baseline a coalition draws.
 *
 * A slot is made of whole tokens. The blank before a word belongs to the word's token, so a slot that begins
 * behind it takes it along; what stands there instead gets it back. Other bytes that a cut token has outside
 * the slot are written in front of or behind the baseline text, so that they stay. */
#include "hash.h"
#include "method.h"
#include "view.h"
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool all_blank(const asc_result *r, size_t start, size_t end) {
    while (start < end && is_blank(r->prompt[start])) start++;
    return start >= end;
}

bool asc_token_reaches(const asc_result *r, size_t i, size_t start, size_t end) {
    size_t a = r->token_start[i], b = r->token_end[i];
    if (a == b) return false;
    if (all_blank(r, a, b)) return a >= start && a < end;
    if (a < start) a = start;
    if (b > end) b = end;
    return a < b && !all_blank(r, a, b);
}

/* ---- places ---- */

static asc_status outside(asc_job *j, const char *what, size_t which, const asc_span *s, size_t len) {
    ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE, "%s %zu: bytes %zu to %zu are not in the prompt of %zu bytes", what,
             which, s->start, s->end, len);
    return asc_hint(j->ctx, "start is at most end, and end at most the length of the text");
}

/* Where message m's content begins and ends in the rendered text; false when the template left it out. */
static bool content_of(const asc_chat_text *chat, size_t m, asc_span *out) {
    bool any = false;
    for (size_t i = 0; i < chat->n_spans; i++) {
        const asc_chat_span *s = &chat->spans[i];
        if (s->message != (int32_t)m || !s->is_content || s->start == s->end) continue;
        if (any && out->end != s->start) return false; /* written in two places */
        if (!any) out->start = s->start;
        out->end = s->end;
        any = true;
    }
    return any;
}

/* A template may take blanks off both ends of a message; what it wrote must be a part of the content. */
static bool moved(asc_view content, asc_view written, size_t *taken_off) {
    for (size_t at = 0; at + written.len <= content.len; at++) {
        if (memcmp(content.ptr + at, written.ptr, written.len) == 0) {
            *taken_off = at;
            return true;
        }
        if (!is_blank(content.ptr[at])) return false;
    }
    return false;
}

asc_status asc_job_place(asc_job *j, const asc_chat_text *chat, const char *what, size_t which,
                         asc_span *span) {
    const asc_request *q = j->req;
    const asc_result *r = j->r;
    size_t len = r->prompt_len, before = 0, m = 0;
    if (chat != NULL) {
        len = 0;
        for (size_t i = 0; i < q->n_messages; i++) len += q->messages[i].content.len;
    }
    if (span->start > span->end || span->end > len) return outside(j, what, which, span, len);
    if (chat == NULL) return ASC_OK;
    while (m + 1 < q->n_messages && span->start >= before + q->messages[m].content.len)
        before += q->messages[m++].content.len;
    asc_view content = q->messages[m].content;
    asc_span at;
    size_t off = 0;
    if (span->end > before + content.len) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "%s %zu reaches from message %zu into the next", what, which,
                 m);
        return asc_hint(j->ctx, "give one for each message");
    }
    if (!content_of(chat, m, &at) ||
        !moved(content, asc_view_make(chat->text + at.start, at.end - at.start), &off)) {
        ASC_FAIL(j->ctx, ASC_FAILED_PRECONDITION,
                 "%s %zu: the chat template writes message %zu in other words, so its parts have no place",
                 what, which, m);
        return asc_hint(j->ctx, "use --features message, or give the prompt as one text");
    }
    size_t start = span->start - before, end = span->end - before, written = at.end - at.start;
    start = start > off ? start - off : 0;
    end = end > off ? end - off : 0;
    span->start = at.start + (start < written ? start : written);
    span->end = at.start + (end < written ? end : written);
    return ASC_OK;
}

/* ---- slots among tokens ---- */

typedef struct place {
    asc_span at;
    size_t slot, first, last; /* tokens */
} place;

static int by_start(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->at.start != y->at.start) return x->at.start < y->at.start ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static asc_status find_tokens(asc_job *j, place *p) {
    const asc_result *r = j->r;
    p->first = r->n_prompt;
    p->last = 0;
    for (size_t i = 0; i < r->n_prompt; i++) {
        if (!asc_token_reaches(r, i, p->at.start, p->at.end)) continue;
        if (p->first == r->n_prompt) p->first = i;
        p->last = i + 1;
    }
    if (p->first < p->last) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
             "slot %zu is empty: bytes %zu to %zu of the prompt hold no token of it", p->slot, p->at.start,
             p->at.end);
    return asc_hint(j->ctx, "give it a text, or leave the slot out");
}

static asc_status check_neighbours(asc_job *j, const place *a, const place *b) {
    if (b->at.start < a->at.end) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "slots %zu and %zu overlap: bytes %zu to %zu, and %zu to %zu",
                 a->slot, b->slot, a->at.start, a->at.end, b->at.start, b->at.end);
        return asc_hint(j->ctx,
                        "a byte belongs to one slot; slots with the same feature come and go together");
    }
    if (b->first >= a->last) return ASC_OK;
    asc_view piece = asc_view_cut(asc_token_piece(asc_model_tokenizer(j->m), j->r->prompt_ids[b->first]), 60);
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
             "slots %zu and %zu share the token \"" ASC_VIEW_FMT "\" (number %zu)", a->slot, b->slot,
             ASC_VIEW_ARG(piece), b->first);
    return asc_hint(j->ctx, "put a blank between them, or make them one slot");
}

/* Visible bytes that a slot's tokens have outside it. */
static bool widened(const asc_result *r, const place *p) {
    return !all_blank(r, r->token_start[p->first], p->at.start) ||
           !all_blank(r, p->at.end, r->token_end[p->last - 1]);
}

static asc_status warn_widened(asc_job *j, const place *p) {
    const asc_result *r = j->r;
    size_t a = r->token_start[p->first], b = r->token_end[p->last - 1];
    asc_view all = asc_view_cut(asc_view_make(r->prompt + a, b - a), 60);
    return asc_job_warn(j,
                        "slot %zu cuts a token; it was widened to \"" ASC_VIEW_FMT
                        "\", and what lies outside the slot stays when it is absent",
                        p->slot, ASC_VIEW_ARG(all));
}

static asc_status check_frozen(asc_job *j, const place *p) {
    for (size_t i = p->first; i < p->last; i++) {
        if (!j->off[i]) continue;
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "slot %zu holds token %zu of the prompt, which is frozen or skipped", p->slot, i);
        return asc_hint(j->ctx, "what is frozen lies outside the slots");
    }
    return ASC_OK;
}

/* The feature of a slot: that of an earlier one with the same number, or a new one. */
static size_t feature_of(asc_job *j, const place *places, size_t n) {
    int32_t id = j->req->slots[places[n].slot].feature;
    for (size_t i = 0; id >= 0 && i < n; i++)
        if (j->req->slots[places[i].slot].feature == id) return (size_t)j->parts[i].feature;
    return j->n_groups;
}

asc_status asc_job_slots(asc_job *j, const asc_chat_text *chat) {
    asc_ctx *ctx = j->ctx;
    const asc_request *q = j->req;
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    if (q->n_slots == 0 || q->slots == NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "slots are the features, but there are none");
        return asc_hint(ctx, "use --template with --values, or --documents");
    }
    place *places = asc_calloc(ctx, ASC_MEM_GENERAL, q->n_slots, sizeof *places);
    j->placed = asc_calloc(ctx, ASC_MEM_GENERAL, q->n_slots, sizeof *j->placed);
    if (places == NULL || j->placed == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < q->n_slots; i++) {
        places[i] = (place){.at = {.start = q->slots[i].start, .end = q->slots[i].end}, .slot = i};
        ASC_TRY(asc_job_place(j, chat, "slot", i, &places[i].at));
        ASC_TRY(find_tokens(j, &places[i]));
    }
    qsort(places, q->n_slots, sizeof *places, by_start);
    for (size_t i = 0; i < q->n_slots; i++) {
        const place *p = &places[i];
        if (i > 0) ASC_TRY(check_neighbours(j, p - 1, p));
        ASC_TRY(check_frozen(j, p));
        if (widened(r, p)) ASC_TRY(warn_widened(j, p));
        size_t f = feature_of(j, places, i);
        j->parts[i] = (asc_part){.first = p->first, .last = p->last, .feature = (int32_t)f};
        j->n_parts = i + 1;
        j->placed[i] = (asc_placed_slot){.slot = p->slot, .at = p->at};
        if (f < j->n_groups) continue;
        j->group_message[f] = -1;
        j->groups[j->n_groups++] = (asc_token_group){.first = p->first,
                                                     .last = p->last,
                                                     .start = r->token_start[p->first],
                                                     .end = r->token_end[p->last - 1]};
    }
done:
    asc_free(ctx, places);
    return st;
}

/* ---- what stands there instead ---- */

/* The tokens of text where part i was, with what its tokens have outside the slot; blanks alone are nothing.
 */
static asc_status tokens_instead(asc_job *j, size_t i, asc_view text, asc_fill *out) {
    asc_ctx *ctx = j->ctx;
    const asc_result *r = j->r;
    const asc_part *p = &j->parts[i];
    const asc_span at = j->placed[i].at;
    asc_strbuf b;
    asc_token *t = NULL;
    size_t n = 0, before = r->token_start[p->first], after = r->token_end[p->last - 1];
    *out = (asc_fill){0};
    asc_strbuf_init(&b, ctx);
    if (before < at.start) asc_strbuf_add(&b, r->prompt + before, at.start - before);
    asc_strbuf_addv(&b, text);
    if (at.end < after) asc_strbuf_add(&b, r->prompt + at.end, after - at.end);
    asc_view all = asc_strbuf_view(&b);
    bool nothing = text.len == 0;
    for (size_t k = 0; nothing && k < all.len; k++) nothing = is_blank(all.ptr[k]);
    asc_tokenize_options o = {.struct_size = sizeof o, .continues = p->first > 0};
    asc_status st = asc_strbuf_status(&b);
    if (st == ASC_OK && !nothing) st = asc_tokenize(ctx, asc_model_tokenizer(j->m), all, &o, &t, &n);
    if (st == ASC_OK && n > 0) {
        int32_t *ids = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *ids);
        if (ids == NULL) st = ASC_RESOURCE_EXHAUSTED;
        for (size_t k = 0; ids != NULL && k < n; k++) ids[k] = t[k].id;
        if (ids != NULL) j->slot_fills[j->n_slot_fills++] = ids;
        *out = (asc_fill){.ids = ids, .n = n};
    }
    asc_strbuf_deinit(&b);
    asc_tokens_free(ctx, t);
    return st;
}

/* Removing a slot that cuts a token keeps the token's other bytes. */
static bool keeps_bytes(const asc_job *j, size_t i) {
    const asc_part *p = &j->parts[i];
    const place at = {.at = j->placed[i].at, .first = p->first, .last = p->last};
    return j->baseline == ASC_BASELINE_REMOVE && widened(j->r, &at);
}

static asc_status check_draws(asc_job *j) {
    const asc_request *q = j->req;
    if (!asc_job_draws(j))
        return q->trials > 1 ? asc_job_warn(j, "trials has no effect: no slot has several baselines")
                             : ASC_OK;
    if (q->trials > 1) return ASC_OK;
    return asc_job_warn(j, "each prompt's baselines were drawn once: scores change with the seed, and their "
                           "errors do not speak of that; --trials averages over several draws");
}

asc_status asc_job_slot_fills(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const asc_request *q = j->req;
    size_t most = j->n_parts, n_choices = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const asc_prompt_slot *s = &q->slots[j->placed[i].slot];
        if (s->n_baselines > 0 && j->method->by_gradient) {
            ASC_FAIL(
                ctx, ASC_INVALID_ARGUMENT,
                "slot %zu has a baseline text, which may be of another length; %s needs a point of the same "
                "shape",
                j->placed[i].slot, j->method->info.name);
            return asc_hint(ctx,
                            "use a method that perturbs, as feature-ablation, or a --baseline of one token");
        }
        if (!asc_add_size(most, s->n_baselines, &most)) return ASC_RESOURCE_EXHAUSTED;
    }
    j->slot_fills = asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof(int32_t *));
    j->choices = asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof *j->choices);
    if (j->slot_fills == NULL || j->choices == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < j->n_parts; i++) {
        asc_part *p = &j->parts[i];
        const asc_prompt_slot *s = &q->slots[j->placed[i].slot];
        const asc_view none = {NULL, 0};
        size_t n = s->n_baselines > 0 ? s->n_baselines : keeps_bytes(j, i) ? 1 : 0;
        for (size_t k = 0; k < n; k++) {
            asc_fill *f = &j->choices[n_choices + k];
            asc_status st = tokens_instead(j, i, s->n_baselines > 0 ? s->baselines[k] : none, f);
            if (st != ASC_OK) return st;
            if (k == 0 || f->n > p->n_fill) {
                p->fill = f->ids;
                p->n_fill = f->n;
            }
        }
        if (n > 1) {
            p->choices = &j->choices[n_choices];
            p->n_choices = n;
        }
        n_choices += n;
    }
    return check_draws(j);
}

bool asc_job_draws(const asc_job *j) {
    for (size_t i = 0; i < j->n_parts; i++)
        if (j->parts[i].n_choices > 1) return true;
    return false;
}

asc_fill asc_part_fill(const asc_job *j, size_t part, const uint8_t *present) {
    const asc_part *p = &j->parts[part];
    if (p->n_choices < 2) return (asc_fill){.ids = p->fill, .n = p->n_fill};
    uint64_t row = asc_hash64(present, j->n_groups, j->req->seed);
    size_t k = (size_t)(asc_uniform(row, (uint64_t)part, (uint64_t)j->trial) * (double)p->n_choices);
    return p->choices[k < p->n_choices ? k : p->n_choices - 1];
}

/* encoder_places.c - heads that speak of places in the text: a masked language model, of which the words that
 * its mask tokens hide are explained, and extractive question answering, of which an answer's first and last
 * token are. Finds the places, what stands there, and the likeliest. */
#include "encoder.h"
#include "target_encoder.h"
#include "view.h"
#include <math.h>
#include <string.h>

enum { MOST_ANSWER = 30 /* tokens of an answer that nobody named */ };
/* What the first token stands for in models of unanswerable questions (SQuAD 2.0: both ends on [CLS]). */
static const char NO_ANSWER[] = "(no answer)";

bool asc_encoder_fixed(const asc_job *j, size_t i) {
    const asc_encoder_config *c = &j->m->encoder->cfg;
    return c->head == ASC_HEAD_WORDS && !j->neuron.on && j->req->output != ASC_OUTPUT_SIMILARITY &&
           c->mask >= 0 && j->r->prompt_ids[i] == c->mask;
}

/* Log-probabilities of n scores, in place. */
static void log_softmax(const float *z, size_t n, size_t stride, double *out) {
    double top = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++) top = fmax(top, (double)z[i * stride]);
    for (size_t i = 0; i < n; i++) sum += exp((double)z[i * stride] - top);
    for (size_t i = 0; i < n; i++) out[i] = (double)z[i * stride] - top - log(sum);
}

static void note_largest(asc_job *j, const float *z, size_t n) {
    for (size_t i = 0; i < n; i++) j->max_logit = fmax(j->max_logit, fabs((double)z[i]));
}

static asc_status set_text(asc_job *j, char **out, asc_view v) {
    asc_free(j->ctx, *out);
    *out = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, v);
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* ---- masked words ---- */

static asc_status find_masks(asc_job *j) {
    asc_encoder_job *e = j->encoder;
    const asc_result *r = j->r;
    e->places = asc_calloc(j->ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *e->places);
    if (e->places == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n_prompt; i++) {
        if (asc_encoder_fixed(j, i)) e->places[e->n_places++] = (int32_t)i;
    }
    if (e->n_places > 0) return ASC_OK;
    asc_view mask = asc_view_cut(asc_job_piece(j, j->m->encoder->cfg.mask), 40);
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
             "the text hides no word: there is no mask token (" ASC_VIEW_FMT ") in it", ASC_VIEW_ARG(mask));
    return asc_hint(j->ctx,
                    "write " ASC_VIEW_FMT " in the place of the word, or give --similar-to for a similarity",
                    ASC_VIEW_ARG(mask));
}

/* As many tokens as there are masks. */
static asc_status word_ids(asc_job *j, asc_view text, const char *what, int32_t **out, size_t *n_out) {
    asc_token *t = NULL;
    size_t n = 0;
    const asc_encoder_job *e = j->encoder;
    asc_tokenize_options o = {.struct_size = sizeof o};
    asc_status st = asc_tokenize(j->ctx, asc_model_tokenizer(j->m), text, &o, &t, &n);
    if (st == ASC_OK && n != e->n_places) {
        asc_view cut = asc_view_cut(text, 60);
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "the %s '" ASC_VIEW_FMT "' has %zu tokens for %zu mask token%s", what, ASC_VIEW_ARG(cut), n,
                 e->n_places, e->n_places == 1 ? "" : "s");
        st = asc_hint(j->ctx, "give one mask token for each token of it (ascribe tokenize shows them)");
    }
    *out = st == ASC_OK ? asc_calloc(j->ctx, ASC_MEM_GENERAL, n + 1, sizeof **out) : NULL;
    if (st == ASC_OK && *out == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < n; i++) (*out)[i] = t[i].id;
    if (st == ASC_OK) *n_out = n;
    asc_tokens_free(j->ctx, t);
    return st;
}

static asc_status given_ids(asc_job *j, const int32_t *ids, size_t n, const char *what, int32_t **out,
                            size_t *n_out) {
    asc_status st = asc_model_check_ids(j->m, ids, n, what);
    if (st != ASC_OK) return st;
    if (n != j->encoder->n_places)
        return ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the %s has %zu tokens for %zu mask tokens", what, n,
                        j->encoder->n_places);
    *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(*out, ids, n * sizeof **out);
    *n_out = n;
    return ASC_OK;
}

/* Tokens side by side, as they are read. */
static asc_status text_of(asc_job *j, const int32_t *ids, size_t n, char **out) {
    asc_strbuf b;
    asc_strbuf_init(&b, j->ctx);
    asc_strbuf_adds(&b, "");
    for (size_t i = 0; i < n; i++) {
        asc_view v = asc_job_piece(j, ids[i]);
        if (i > 0 && (v.len == 0 || v.ptr[0] != ' ')) asc_strbuf_adds(&b, " ");
        asc_strbuf_addv(&b, v);
    }
    asc_status st = asc_strbuf_status(&b);
    if (st == ASC_OK) st = set_text(j, out, asc_strbuf_view(&b));
    asc_strbuf_deinit(&b);
    return st;
}

/* The likeliest word at each mask; those of the first one are listed. z: scores [n_places,V] */
static asc_status likeliest_words(asc_job *j, const float *z, int32_t *best) {
    asc_result *r = j->r;
    const asc_encoder_job *e = j->encoder;
    const size_t v = (size_t)j->m->encoder->cfg.n_vocab;
    asc_status st = ASC_OK;
    double *lp = asc_calloc(j->ctx, ASC_MEM_SCRATCH, v, sizeof *lp);
    if (lp == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < e->n_places; k++) {
        for (size_t i = 0; i < v; i++) {
            if (i == 0 || z[k * v + i] > z[k * v + (size_t)best[k]]) best[k] = (int32_t)i;
        }
    }
    log_softmax(z, v, 1, lp);
    for (size_t k = 0; st == ASC_OK && k < ASC_N_TOP && k < v; k++) {
        size_t top = 0;
        for (size_t i = 1; i < v; i++) top = lp[i] > lp[top] ? i : top;
        r->top[r->n_top] = (asc_candidate){.id = (int32_t)top, .prob = exp(lp[top])};
        st = set_text(j, &r->top_labels[r->n_top++], asc_job_piece(j, (int32_t)top));
        lp[top] = -INFINITY;
    }
    asc_free(j->ctx, lp);
    return st;
}

static asc_status word_targets(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    const asc_request *q = j->req;
    asc_encoder_job *e = j->encoder;
    asc_status st = ASC_OK;
    float *z = NULL;
    int32_t *best = NULL;
    size_t n;
    ASC_TRY(find_masks(j));
    best = asc_calloc(ctx, ASC_MEM_GENERAL, e->n_places, sizeof *best);
    if (best == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (!q->dry_run) {
        z = asc_mul_size(e->n_places, (size_t)j->m->encoder->cfg.n_vocab, &n)
                ? asc_calloc(ctx, ASC_MEM_SCRATCH, n, sizeof *z)
                : NULL;
        if (z == NULL) {
            st = ASC_RESOURCE_EXHAUSTED;
            goto done;
        }
        ASC_TRY(asc_model_score_tokens(j->m, r->prompt_ids, e->prompt_types, r->n_prompt, e->places,
                                       e->n_places, z));
        r->n_forward++;
        note_largest(j, z, n);
        ASC_TRY(likeliest_words(j, z, best));
    }
    if (q->target.ptr != NULL) {
        ASC_TRY(word_ids(j, q->target, "target", &r->target_ids, &r->n_target));
        ASC_TRY(set_text(j, &r->target, q->target));
    } else {
        ASC_TRY(given_ids(j, q->target_ids != NULL ? q->target_ids : best,
                          q->target_ids != NULL ? q->n_target_ids : e->n_places, "target", &r->target_ids,
                          &r->n_target));
        ASC_TRY(text_of(j, r->target_ids, r->n_target, &r->target));
    }
    if (q->versus.ptr != NULL) {
        ASC_TRY(word_ids(j, q->versus, "other word", &r->versus_ids, &r->n_versus));
        ASC_TRY(set_text(j, &r->versus, q->versus));
    } else if (q->versus_ids != NULL) {
        ASC_TRY(given_ids(j, q->versus_ids, q->n_versus_ids, "other word", &r->versus_ids, &r->n_versus));
        ASC_TRY(text_of(j, r->versus_ids, r->n_versus, &r->versus));
    }
    if (r->n_versus > 0 && memcmp(r->target_ids, r->versus_ids, r->n_target * sizeof *r->target_ids) == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the word '%.60s' against itself", r->target);
        st = asc_hint(ctx, "name another word with --versus");
    }
done:
    asc_free(ctx, best);
    asc_free(ctx, z);
    return st;
}

/* ---- answers in the text ---- */

/* May an answer lie there? In the second text of a pair; of a single text anywhere. */
static bool may_answer(const asc_job *j, size_t i) {
    const asc_request *q = j->req;
    if (asc_encoder_frames(j, i)) return false;
    if (q->second.ptr != NULL) return j->r->token_start[i] >= q->prompt.len;
    return q->prompt_types == NULL || j->encoder->prompt_types == NULL || j->encoder->prompt_types[i] == 1;
}

/* Is the byte at i part of a word? Those beyond ASCII are. */
static bool in_word(const asc_result *r, size_t i) {
    const unsigned char c = i < r->prompt_len ? (unsigned char)r->prompt[i] : ' ';
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

size_t asc_encoder_find(const asc_result *r, asc_view want, size_t from, size_t least, bool whole) {
    for (size_t at = from; want.len > 0 && at + want.len <= r->prompt_len; at++) {
        const size_t end = at + want.len;
        if (memcmp(r->prompt + at, want.ptr, want.len) != 0) continue;
        const bool cuts =
            (at > least && in_word(r, at - 1) && in_word(r, at)) || (in_word(r, end - 1) && in_word(r, end));
        if (!whole || !cuts) return at;
    }
    return SIZE_MAX;
}

asc_view asc_encoder_trim(asc_view text) {
    while (text.len > 0 && text.ptr[0] == ' ') text = asc_view_make(text.ptr + 1, text.len - 1);
    while (text.len > 0 && text.ptr[text.len - 1] == ' ') text.len--;
    return text;
}

/* First and last token of what lies at bytes [at, end); false: no answer may lie there. */
static bool answer_at(const asc_job *j, size_t at, size_t end, int32_t out[2]) {
    const asc_result *r = j->r;
    out[0] = -1;
    for (size_t i = 0; i < r->n_prompt; i++) {
        if (!may_answer(j, i) || r->token_end[i] <= at || r->token_start[i] >= end) continue;
        if (out[0] < 0) out[0] = (int32_t)i;
        out[1] = (int32_t)i;
    }
    return out[0] >= 0;
}

/* The answer that there is none lies at the token in front of the text. */
static asc_status no_answer(asc_job *j, int32_t out[2]) {
    const asc_encoder_config *c = &j->m->encoder->cfg;
    out[0] = out[1] = 0;
    if (c->cls >= 0 && j->r->prompt_ids[0] == c->cls) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED,
             "the text begins with no token that could say that there is no answer");
    return asc_hint(j->ctx, "name a part of the text; only models with such a token ([CLS], <s>) can say it");
}

/* The first place that reads so: one of whole words before one within a word. Nothing is the answer that
 * there is none. */
static asc_status find_answer(asc_job *j, asc_view given, int32_t out[2]) {
    const asc_result *r = j->r;
    const asc_view want = asc_encoder_trim(given);
    if (given.len == 0) return no_answer(j, out);
    const size_t least =
        j->req->second.ptr != NULL ? j->req->prompt.len : 0; /* not over the border of a pair */
    for (int whole = 1; whole >= 0; whole--) {
        size_t at = least;
        for (; (at = asc_encoder_find(r, want, at, least, whole != 0)) != SIZE_MAX; at++)
            if (answer_at(j, at, at + want.len, out)) return ASC_OK;
    }
    asc_view cut = asc_view_cut(given, 60);
    ASC_FAIL(j->ctx, ASC_NOT_FOUND, "the text has no answer \"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(cut));
    return asc_hint(j->ctx,
                    "--target and --versus are words of the text (of a pair: of --second); an empty one "
                    "is that there is no answer");
}

/* The text from the first to the last token of an answer, without the blank in front. */
static asc_view answer_text(const asc_job *j, const int32_t at[2]) {
    const asc_result *r = j->r;
    size_t from = r->token_start[at[0]], to = r->token_end[at[1]];
    while (from < to && (r->prompt[from] == ' ' || r->prompt[from] == '\n')) from++;
    return asc_view_make(r->prompt + from, to - from);
}

/* The likeliest answers of at most MOST_ANSWER tokens, each found beside those before it. lp:
 * log-probabilities [2,n] that an answer begins, and ends, at a token. */
static asc_status likeliest_answers(asc_job *j, const double *lp) {
    asc_result *r = j->r;
    const size_t n = r->n_prompt;
    asc_status st = ASC_OK;
    int32_t found[ASC_N_TOP][2];
    for (size_t k = 0; st == ASC_OK && k < ASC_N_TOP; k++) {
        double best = -INFINITY;
        for (size_t a = 0; a < n; a++) {
            for (size_t b = a; may_answer(j, a) && b < n && b < a + MOST_ANSWER && may_answer(j, b); b++) {
                bool taken = false;
                for (size_t o = 0; o < k; o++)
                    taken = taken || (found[o][0] == (int32_t)a && found[o][1] == (int32_t)b);
                if (taken || lp[a] + lp[n + b] <= best) continue;
                best = lp[a] + lp[n + b];
                found[k][0] = (int32_t)a;
                found[k][1] = (int32_t)b;
            }
        }
        if (!(best > -INFINITY)) break;
        if (k == 0) memcpy(j->encoder->answer, found[0], sizeof found[0]);
        r->top[r->n_top] = (asc_candidate){.id = found[k][0], .prob = exp(best)};
        st = set_text(j, &r->top_labels[r->n_top++], answer_text(j, found[k]));
    }
    return st;
}

static asc_status answer_ids(asc_job *j, const int32_t at[2], int32_t **ids, size_t *n, char **text) {
    const size_t count = (size_t)(at[1] - at[0]) + 1;
    *ids = asc_calloc(j->ctx, ASC_MEM_GENERAL, count, sizeof **ids);
    if (*ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(*ids, j->r->prompt_ids + at[0], count * sizeof **ids);
    *n = count;
    return set_text(j, text,
                    asc_encoder_frames(j, (size_t)at[0]) ? asc_view_of(NO_ANSWER) : answer_text(j, at));
}

/* Nobody named an answer, and the model would rather say that there is none. */
static asc_status note_no_answer(asc_job *j, const double *lp) {
    const asc_encoder_config *c = &j->m->encoder->cfg;
    const asc_result *r = j->r;
    const double none = lp[0] + lp[r->n_prompt];
    if (j->req->target.ptr != NULL || c->cls < 0 || r->prompt_ids[0] != c->cls || r->n_top == 0 ||
        none <= log(r->top[0].prob))
        return ASC_OK;
    return asc_job_warn(j,
                        "likelier than any answer is that there is none (probability %.3g): an empty target "
                        "explains that",
                        exp(none));
}

static asc_status run_span_head(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const asc_result *r = j->r;
    const size_t n = r->n_prompt;
    asc_status st = ASC_OK;
    int32_t *all = asc_calloc(ctx, ASC_MEM_SCRATCH, n, sizeof *all);
    float *z = asc_calloc(ctx, ASC_MEM_SCRATCH, 2 * n, sizeof *z);
    double *lp = asc_calloc(ctx, ASC_MEM_SCRATCH, 2 * n, sizeof *lp);
    if (all == NULL || z == NULL || lp == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < n; i++) all[i] = (int32_t)i;
    ASC_TRY(asc_model_score_tokens(j->m, r->prompt_ids, j->encoder->prompt_types, n, all, n, z));
    j->r->n_forward++;
    note_largest(j, z, 2 * n);
    for (size_t k = 0; k < 2; k++) log_softmax(z + k, n, 2, lp + k * n);
    ASC_TRY(likeliest_answers(j, lp));
    ASC_TRY(note_no_answer(j, lp));
done:
    asc_free(ctx, all);
    asc_free(ctx, z);
    asc_free(ctx, lp);
    return st;
}

static asc_status span_targets(asc_job *j) {
    asc_result *r = j->r;
    const asc_request *q = j->req;
    asc_encoder_job *e = j->encoder;
    asc_status st = ASC_OK;
    for (size_t i = r->n_prompt; i-- > 0;) {
        if (may_answer(j, i)) e->answer[0] = e->answer[1] = (int32_t)i; /* of a dry run */
    }
    if (!q->dry_run) ASC_TRY(run_span_head(j));
    if (q->target.ptr != NULL) ASC_TRY(find_answer(j, q->target, e->answer));
    ASC_TRY(answer_ids(j, e->answer, &r->target_ids, &r->n_target, &r->target));
    if (q->versus.ptr == NULL) goto done;
    ASC_TRY(find_answer(j, q->versus, e->rival));
    ASC_TRY(answer_ids(j, e->rival, &r->versus_ids, &r->n_versus, &r->versus));
    if (memcmp(e->answer, e->rival, sizeof e->answer) != 0) goto done;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the answer '%.60s' against itself", r->target);
    st = asc_hint(j->ctx, "name another part of the text with --versus");
done:
    return st;
}

asc_status asc_encoder_place_targets(asc_job *j) {
    const bool words = j->m->encoder->cfg.head == ASC_HEAD_WORDS;
    j->r->answer_kind = words ? "word" : "span";
    asc_status st = words ? word_targets(j) : span_targets(j);
    if (st != ASC_OK) return st;
    if (j->r->n_versus == 0) st = set_text(j, &j->r->versus, asc_view_of(""));
    if (st != ASC_OK) return st;
    j->r->target_len = strlen(j->r->target);
    j->r->versus_len = strlen(j->r->versus);
    return ASC_OK;
}

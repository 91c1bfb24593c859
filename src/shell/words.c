/* words.c - words of prompt and answer, their places on lines, and the scores between them. The scores are
 * the result's: of a word of several tokens, or of a feature in several places, their sum. */
#include "words.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Cuts blanks off w->text and notes what they were. */
static void trim(word *w) {
    while (w->text.len > 0 && space(w->text.ptr[0])) {
        w->blank = true;
        w->breaks = w->breaks || w->text.ptr[0] == '\n';
        w->text = (asc_view){w->text.ptr + 1, w->text.len - 1};
    }
    while (w->text.len > 0 && space(w->text.ptr[w->text.len - 1])) w->text.len--;
}

/* Blanks behind v, which belong to the word after it. */
static void behind(asc_view v, bool *blank, bool *breaks) {
    *blank = *breaks = false;
    for (size_t i = v.len; i > 0 && space(v.ptr[i - 1]); i--) {
        *blank = true;
        *breaks = *breaks || v.ptr[i - 1] == '\n';
    }
}

/* Adds what stands between scored parts as words that cannot be chosen. */
static void add_fixed(words *out, asc_view gap, bool *blank, bool *breaks) {
    for (size_t i = 0; i < gap.len;) {
        size_t n = 0;
        while (i < gap.len && space(gap.ptr[i])) {
            *blank = true;
            *breaks = *breaks || gap.ptr[i++] == '\n';
        }
        while (i + n < gap.len && !space(gap.ptr[i + n])) n++;
        if (n == 0) break;
        out->v[out->n++] =
            (word){.text = {gap.ptr + i, n}, .blank = *blank, .breaks = *breaks, .fixed = true};
        *blank = *breaks = false;
        i += n;
    }
}

static size_t n_parts(const asc_result *r) { return r->n_parts > 0 ? r->n_parts : r->n_features; }

static asc_feature_part part(const asc_result *r, size_t i) {
    if (r->n_parts > 0) return r->parts[i];
    return (asc_feature_part){.start = r->features[i].start, .end = r->features[i].end, .feature = i};
}

/* In a conversation only what messages say is shown: what is between them is the template's. */
static asc_status of_prompt(const asc_result *r, words *out) {
    bool chat = false, blank = false, breaks = false;
    size_t pos = 0, most = n_parts(r);
    int64_t message = -1;
    for (size_t i = 0; i < r->n_features; i++) chat = chat || r->features[i].message >= 0;
    most += chat ? 0 : r->prompt_len / 2 + 1;
    out->v = calloc(most + 1, sizeof *out->v);
    if (out->v == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n_parts(r); i++) {
        asc_feature_part f = part(r, i);
        if (f.start < pos || f.end > r->prompt_len || f.start >= f.end) continue;
        if (!chat) add_fixed(out, (asc_view){r->prompt + pos, f.start - pos}, &blank, &breaks);
        word w = {.text = {r->prompt + f.start, f.end - f.start}, .feature = f.feature};
        w.blank = blank || (chat && f.start > pos);
        w.breaks = breaks || (chat && r->features[f.feature].message != message && i > 0);
        message = r->features[f.feature].message;
        behind(w.text, &blank, &breaks);
        trim(&w);
        pos = f.end;
        if (w.text.len == 0) { /* blanks that have a score: shown as what they are */
            w.text = (asc_view){r->prompt + f.start, f.end - f.start};
            blank = breaks = false;
        }
        out->v[out->n++] = w;
    }
    if (!chat) add_fixed(out, (asc_view){r->prompt + pos, r->prompt_len - pos}, &blank, &breaks);
    return ASC_OK;
}

static bool adds_up(const asc_result *r) {
    return r->output == ASC_OUTPUT_LOGPROB || r->output == ASC_OUTPUT_LOGIT;
}

/* Does a token that begins so go on a word? Letters, digits, apostrophes, bytes of other scripts. */
static bool goes_on(asc_view piece) {
    unsigned char c = piece.len > 0 ? (unsigned char)piece.ptr[0] : ' ';
    return c >= 0x80 || c == '\'' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
}

static asc_status of_answer(const asc_result *r, const asc_tokenizer *tk, word_sheet *s) {
    words *out = &s->side[SIDE_ANSWER];
    const size_t n = r->n_matrix, first = r->span_start;
    size_t bytes = 1;
    out->v = calloc(n + 2, sizeof *out->v);
    if (out->v == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (n == 0) {
        word w = {.text = {r->target, r->target_len}, .n = 0};
        if (r->output == ASC_OUTPUT_SIMILARITY && r->similar_to != NULL)
            w.text = (asc_view){r->similar_to, strlen(r->similar_to)};
        trim(&w);
        if (w.text.len > 0) out->v[out->n++] = w;
        return ASC_OK;
    }
    for (size_t k = 0; k < n; k++)
        bytes += tk != NULL ? asc_token_piece(tk, r->target_ids[first + k]).len : 12;
    s->memory = malloc(bytes);
    if (s->memory == NULL) return ASC_RESOURCE_EXHAUSTED;
    char *p = s->memory;
    bool open = false, blank = false, breaks = false;
    for (size_t k = 0; k < n; k++) {
        char number[16];
        asc_view piece = tk != NULL ? asc_token_piece(tk, r->target_ids[first + k]) : (asc_view){NULL, 0};
        if (piece.len == 0) { /* a vocabulary without texts */
            piece.ptr = number;
            piece.len = (size_t)snprintf(number, sizeof number, " %d", r->target_ids[first + k]);
        }
        memcpy(p, piece.ptr, piece.len);
        word w = {.text = {p, piece.len}, .blank = blank, .breaks = breaks, .first = k, .n = 1};
        p += piece.len;
        word *last = out->n > 0 ? &out->v[out->n - 1] : NULL;
        if (last != NULL && open && adds_up(r) && goes_on(piece)) {
            last->text.len += piece.len; /* pieces lie one behind the other */
            last->n++;
        } else {
            trim(&w);
            if (w.text.len == 0) { /* blanks: shown as what they are, on the line that they end */
                w.text = (asc_view){p - piece.len, piece.len};
                w.blank = w.breaks = false;
            }
            out->v[out->n++] = w;
            last = &out->v[out->n - 1];
        }
        bool broken = breaks && space(last->text.ptr[0]);
        behind(piece, &blank, &breaks);
        breaks = breaks || broken;
        open = !blank && piece.len > 0 && goes_on((asc_view){last->text.ptr, 1});
        while (last->text.len > 1 && blank && space(last->text.ptr[last->text.len - 1])) last->text.len--;
    }
    return ASC_OK;
}

asc_status words_make(asc_ctx *ctx, const asc_result *r, const asc_tokenizer *tk, word_sheet *out) {
    (void)ctx;
    *out = (word_sheet){.r = r};
    asc_status st = of_prompt(r, &out->side[SIDE_PROMPT]);
    if (st == ASC_OK) st = of_answer(r, tk, out);
    if (st != ASC_OK) words_free(out);
    return st;
}

void words_free(word_sheet *s) {
    free(s->side[0].v);
    free(s->side[1].v);
    free(s->memory);
    *s = (word_sheet){0};
}

void words_lay(asc_ctx *ctx, word_sheet *s, size_t columns, size_t indent) {
    asc_text *scratch = NULL;
    if (columns < indent + 8) columns = indent + 8;
    s->columns = columns;
    s->indent = indent;
    if (asc_text_create(ctx, &scratch) != ASC_OK) return;
    for (int side = 0; side < 2; side++) {
        words *w = &s->side[side];
        size_t at = indent, line = 0;
        for (size_t i = 0; i < w->n; i++) {
            word *x = &w->v[i];
            asc_text_clear(scratch);
            x->columns = asc_text_shown(scratch, x->text, columns - indent);
            size_t gap = x->blank && at > indent ? 1 : 0;
            if (i > 0 && (x->breaks || at + gap + x->columns > columns)) {
                line++;
                at = indent;
                gap = 0;
            }
            x->line = line;
            x->at = at + gap;
            at = x->at + x->columns;
        }
        w->n_lines = w->n > 0 ? line + 1 : 0;
    }
    asc_text_destroy(scratch);
}

double words_score(const word_sheet *s, int side, size_t i, size_t k, double *error) {
    const asc_result *r = s->r;
    const word *prompt = &s->side[SIDE_PROMPT].v[side == SIDE_PROMPT ? i : k],
               *answer = &s->side[SIDE_ANSWER].v[side == SIDE_PROMPT ? k : i];
    double sum = 0.0;
    *error = 0.0;
    if (prompt->fixed) return 0.0;
    if (answer->n == 0) { /* no matrix: the whole answer */
        *error = r->features[prompt->feature].error;
        return r->features[prompt->feature].score;
    }
    for (size_t row = answer->first; row < answer->first + answer->n; row++) {
        sum += r->matrix[row * r->n_features + prompt->feature];
        *error += r->matrix_errors[row * r->n_features + prompt->feature];
    }
    return sum;
}

typedef struct rank {
    double size;
    size_t k;
} rank;

static int by_size(const void *a, const void *b) {
    const rank *x = a, *y = b;
    if (x->size > y->size || x->size < y->size) return x->size > y->size ? -1 : 1;
    return x->k < y->k ? -1 : x->k > y->k;
}

size_t words_ranked(const word_sheet *s, int side, size_t i, size_t *out) {
    const words *other = &s->side[1 - side];
    rank *v = malloc((other->n + 1) * sizeof *v);
    size_t n = 0;
    for (size_t k = 0; v != NULL && k < other->n; k++) {
        double e, score = words_score(s, side, i, k, &e);
        if (!other->v[k].fixed) v[n++] = (rank){isfinite(score) ? fabs(score) : 0, k};
    }
    if (n > 0) qsort(v, n, sizeof *v, by_size);
    for (size_t k = 0; k < n; k++) out[k] = v[k].k;
    free(v);
    return n;
}

size_t words_find(const word_sheet *s, int side, asc_view text) {
    const words *w = &s->side[side];
    size_t number = 0;
    for (size_t i = 0; i < w->n; i++) {
        const word *x = &w->v[i];
        if (!x->fixed && x->text.len == text.len && memcmp(x->text.ptr, text.ptr, text.len) == 0) return i;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || number > 1000000) return SIZE_MAX;
        number = 10 * number + (size_t)(text.ptr[i] - '0');
    }
    for (size_t i = 0; i < w->n && text.len > 0; i++) {
        if (!w->v[i].fixed && --number == 0) return i;
    }
    return SIZE_MAX;
}

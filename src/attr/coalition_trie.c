/* coalition_trie.c - different prompts, and behind each the target and the contrast, as rows of a trie; and
 * their numbers from those of the tokens. */
#include "coalition_rows.h"
#include "coalitions.h"
#include "neuron.h"
#include "target.h"
#include "trie_values.h"
#include <math.h>
#include <string.h>

/* What is asked of every prompt. */
typedef struct question {
    asc_answer answers[2];
    size_t n_answers, off[2], numbers; /* off: of an answer's first number; numbers: of a prompt */
} question;

static const int32_t NO_TOKEN[1] = {0}; /* divergences and neurons ask for the row, not for a token of it */

static question question_of(const asc_job *j) {
    question q = {.numbers = 0};
    q.n_answers = asc_job_answers(j, q.answers);
    if (j->req->output == ASC_OUTPUT_KL || j->neuron.on) q.answers[0].ids = NO_TOKEN;
    for (size_t a = 0; a < q.n_answers; a++) {
        q.off[a] = q.numbers;
        q.numbers += q.answers[a].n - q.answers[a].first;
    }
    return q;
}

static size_t tokens_of(const question *q, const asc_coalition_row *r) {
    size_t most = 0;
    for (size_t a = 0; a < q->n_answers; a++)
        if (q->answers[a].n > most) most = q->answers[a].n;
    return r->len + most - 1;
}

/* Frequencies of some models are others from a length on: prompts on either side share nothing. */
static bool is_long(const asc_job *j, size_t tokens) {
    const asc_decoder *d = &j->m->decoder;
    return d->inv_freq_long[0] != NULL && (double)tokens > d->cfg.rope[0].original_context;
}

/* Tokens as the model counts them: masked ones keep their places, and so do those behind a neuron's token. */
static size_t whole_of(const asc_job *j, const question *q, const asc_coalition_row *r) {
    const bool cut = asc_neuron_reach(j, j->r->n_prompt) < j->r->n_prompt;
    size_t n = tokens_of(q, r);
    return j->baseline == ASC_BASELINE_MASK || cut ? n - r->len + j->r->n_prompt : n;
}

static asc_status check_length(asc_job *j, size_t tokens) {
    if ((int64_t)tokens <= j->m->decoder.cfg.context) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_OUT_OF_RANGE,
             "a perturbed prompt and its answer have %zu tokens; the model reads %lld", tokens,
             (long long)j->m->decoder.cfg.context);
    return asc_hint(j->ctx, "shorten the prompt, or what stands in for its parts");
}

/* Runs those of the prompts that are on this side of the length. */
static asc_status run_side(asc_job *j, const question *q, const asc_coalition_row *rows, size_t n,
                           bool longer, asc_trie_row *room, double *numbers) {
    size_t k = 0, whole = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t tokens = whole_of(j, q, &rows[i]);
        asc_status st = check_length(j, tokens);
        if (st != ASC_OK) return st;
        if (is_long(j, tokens) != longer) continue;
        if (tokens > whole) whole = tokens;
        for (size_t a = 0; a < q->n_answers; a++)
            room[k++] = (asc_trie_row){.ids = rows[i].ids,
                                       .positions = rows[i].positions,
                                       .n = rows[i].len,
                                       .next = (int32_t)(tokens - (tokens_of(q, &rows[i]) - rows[i].len)),
                                       .answer = q->answers[a].ids,
                                       .n_answer = q->answers[a].n,
                                       .first = q->answers[a].first,
                                       .out = i * q->numbers + q->off[a]};
    }
    return k > 0 ? asc_trie_values(j, room, k, whole, numbers) : ASC_OK;
}

/* A prompt's numbers from those of its tokens; in double, where sums of few terms round nothing away. */
static void combine(const asc_job *j, const question *q, const double *numbers, double *out) {
    const bool prob = j->req->output == ASC_OUTPUT_PROB;
    double whole[2] = {0.0, 0.0};
    for (size_t a = 0; a < q->n_answers; a++) {
        for (size_t k = 0; k < q->answers[a].n - q->answers[a].first; k++) whole[a] += numbers[q->off[a] + k];
        if (prob) whole[a] = exp(whole[a]);
    }
    out[0] = whole[0] - whole[1];
    for (size_t k = 1; k < asc_job_n_values(j); k++) out[k] = prob ? exp(numbers[k - 1]) : numbers[k - 1];
}

asc_status asc_coalition_by_trie(asc_job *j, const asc_coalition_row *rows, size_t n, double *out) {
    asc_ctx *ctx = j->ctx;
    const question q = question_of(j);
    const size_t width = asc_job_n_values(j);
    size_t cells;
    asc_status st = ASC_OK;
    asc_trie_row *room = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * n + 1, sizeof *room);
    double *numbers = asc_mul_size(n, q.numbers, &cells)
                          ? asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *numbers)
                          : NULL;
    if (room == NULL || numbers == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    const size_t step = j->no_sharing ? 1 : n;
    for (size_t i = 0; i < n; i += step) {
        ASC_TRY(run_side(j, &q, rows + i, step, false, room, numbers + i * q.numbers));
        ASC_TRY(run_side(j, &q, rows + i, step, true, room, numbers + i * q.numbers));
    }
    for (size_t i = 0; i < n && j->estimate == NULL; i++)
        combine(j, &q, numbers + i * q.numbers, out + rows[i].which * width);
    j->r->n_forward += n;
done:
    asc_free(ctx, room);
    asc_free(ctx, numbers);
    return st;
}

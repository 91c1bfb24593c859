/* prefix.c - tokens that all prompts of a job begin with are run once; see method.h. */
#include "estimate.h"
#include "exec.h"
#include "method.h"
#include "rehearse.h"
#include "target.h"

/* A dry run has keys and values without numbers. */
static asc_status stand_in(asc_job *j, size_t layers) {
    asc_ctx *ctx = j->ctx;
    for (size_t l = 0; l < layers; l++) {
        asc_tensor **kv[2] = {&j->prefix[l].k, &j->prefix[l].v};
        for (int i = 0; i < 2; i++) {
            *kv[i] = asc_price_leaf(ctx, (*kv[i])->dtype, (*kv[i])->shape);
            if (asc_tensor_poisoned(*kv[i])) return asc_graph_take_error(asc_graph_of(ctx));
            j->estimate->prefix += asc_price_buffer(ctx, (*kv[i])->dtype, &(*kv[i])->shape);
        }
    }
    return ASC_OK;
}

/* Tokens of a prompt of len and what is run behind it; 0 when that differs between the answers and the model
 * turns its keys by the length (longrope): then there are no keys for all of them. */
static int64_t whole_length(const asc_job *j, size_t len) {
    asc_answer answers[2];
    size_t n = asc_job_answers(j, answers);
    int64_t first = (int64_t)(len + answers[0].n) - 1;
    if (n > 1 && !asc_decoder_same_lengths(&j->m->decoder, first, (int64_t)(len + answers[1].n) - 1))
        return 0;
    return first;
}

asc_status asc_job_prefix_begin(asc_job *j, const int32_t *ids, size_t n, size_t len) {
    asc_ctx *ctx = j->ctx;
    asc_decoder *d = &j->m->decoder;
    const int64_t whole = whole_length(j, len);
    if (whole == 0) return ASC_OK;
    size_t layers = (size_t)d->cfg.n_layers;
    asc_status st = ASC_OK;
    asc_price p;
    bool dry = j->estimate != NULL;
    j->prefix = asc_calloc(ctx, ASC_MEM_GENERAL, layers, sizeof *j->prefix);
    asc_tensor **all = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * layers, sizeof(asc_tensor *));
    if (j->prefix == NULL || all == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (dry) asc_price_begin(ctx);
    asc_tensor *hidden; /* its last rows are never read, so never computed */
    bool again = asc_rehearse_begin(ctx);
    do {
        asc_decoder_run run = {
            .x = asc_decoder_embed(d, ids, 1, (int64_t)n), .out_kv = j->prefix, .tail = 1, .whole = whole};
        hidden = asc_decoder_hidden(d, &run);
        for (size_t l = 0; l < layers; l++) {
            all[2 * l] = j->prefix[l].k;
            all[2 * l + 1] = j->prefix[l].v;
        }
    } while (asc_rehearsed(ctx, ASC_OK, &again, all, 2 * layers));
    if (dry) asc_price_end(ctx);
    if (asc_tensor_poisoned(hidden)) {
        st = asc_graph_take_error(asc_graph_of(ctx));
        goto done;
    }
    bool prepares = asc_price_prepares(ctx, dry);
    st = asc_price_of(ctx, all, 2 * layers, &p);
    (void)asc_price_prepares(ctx, prepares);
    if (st != ASC_OK) goto done;
    asc_job_note_peak(j, asc_job_settle(j, &p, 0));
    if (j->estimate != NULL) {
        ASC_TRY(stand_in(j, layers));
        ASC_TRY(asc_estimate_program(j, &p, n));
    } else {
        ASC_TRY(asc_run(ctx, all, 2 * layers));
        for (size_t i = 0; i < 2 * layers; i++) asc_tensor_detach(all[i]); /* only the values are wanted */
    }
    j->n_prefix = n;
done:
    asc_free(ctx, all);
    if (st != ASC_OK) asc_job_prefix_end(j);
    return st;
}

void asc_job_prefix_end(asc_job *j) {
    asc_free(j->ctx, j->prefix);
    j->prefix = NULL;
    j->n_prefix = 0;
    if (j->estimate != NULL) j->estimate->prefix = 0;
}

/* job_blocks.c - see job_blocks.h. */
#include "job_blocks.h"
#include "exec.h"
#include "target_encoder.h"
#include <string.h>

int64_t asc_job_heads(const asc_job *j) { return j->m->info.n_heads; }

size_t asc_job_walks(const asc_job *j, asc_answer out[2]) {
    if (j->encoder == NULL) return asc_job_answers(j, out);
    out[0] = out[1] = (asc_answer){.n = 1};
    return j->r->n_versus > 0 ? 2 : 1;
}

asc_tensor *asc_job_entry(asc_job *j, asc_tensor *x, const asc_answer *s) {
    if (asc_tensor_poisoned(x)) return x;
    if (j->encoder != NULL) {
        asc_encoder_run run = {.x = x};
        return asc_encoder_run_types(j, &run) ? asc_encoder_entry(j->m->encoder, &run)
                                              : asc_graph_poison(asc_graph_of(j->ctx));
    }
    asc_decoder_run run = {.x = asc_answer_join(j, x, s)};
    return run.x->poison != ASC_OK ? run.x : asc_decoder_entry(&j->m->decoder, &run);
}

typedef struct watching {
    asc_job *j;
    const asc_block_eyes *eyes;
} watching;

static asc_tensor *see_probs(void *self, int64_t layer, asc_tensor *p) {
    const watching *w = self;
    return w->eyes->inner(w->eyes->self, layer, true, p);
}

/* A decoder's attention as its own, taken apart where its probabilities are wanted. */
static asc_tensor *attend(void *self, int64_t layer, asc_tensor *q, asc_tensor *k, asc_tensor *v) {
    const watching *w = self;
    const asc_attend_eyes eyes = {.probs = see_probs, .self = self};
    asc_tensor *o = asc_decoder_attend(&w->j->m->decoder, layer, q, k, v, w->eyes->probs ? &eyes : NULL);
    return asc_tensor_poisoned(o) ? o : w->eyes->inner(w->eyes->self, layer, false, o);
}

asc_tensor *asc_job_block(asc_job *j, const asc_answer *s, int64_t l, const asc_block_eyes *eyes,
                          asc_tensor *x) {
    static const asc_block_eyes none = {0};
    if (eyes == NULL) eyes = &none;
    if (asc_tensor_poisoned(x)) return x;
    if (j->encoder != NULL) {
        const asc_encoder_run run = {.site = eyes->site,
                                     .site_self = eyes->self,
                                     .inner = eyes->inner,
                                     .inner_self = eyes->self,
                                     .show_probs = eyes->probs};
        return asc_encoder_block(j->m->encoder, &run, l, x);
    }
    watching w = {j, eyes};
    asc_decoder_run run;
    asc_kv *past;
    asc_status st = asc_answer_run(j, x->shape.dims[0], s, l, l + 1, eyes->site, eyes->self, &run, &past);
    run.attend = eyes->inner != NULL ? attend : NULL;
    run.attend_self = &w;
    asc_tensor *y = st == ASC_OK ? asc_decoder_blocks(&j->m->decoder, &run, l, l + 1, x)
                                 : asc_graph_poison(asc_graph_of(j->ctx));
    asc_free(j->ctx, past);
    return y;
}

asc_tensor *asc_job_end(asc_job *j, asc_tensor *hidden, const asc_answer *s, bool rival) {
    if (j->encoder == NULL) return asc_answer_score(j, hidden, s);
    if (asc_tensor_poisoned(hidden)) return hidden;
    return asc_encoder_score(j, asc_encoder_finish(j->m->encoder, hidden), NULL,
                             rival ? ASC_RIVAL : ASC_TARGET);
}

static void pooled_rows(asc_pooling how, double share, int64_t t, double *out) {
    for (int64_t i = 0; i < t; i++) {
        const double at = how == ASC_POOL_FIRST      ? (i == 0 ? 1.0 : 0.0)
                          : how == ASC_POOL_LAST     ? (i == t - 1 ? 1.0 : 0.0)
                          : how == ASC_POOL_WEIGHTED ? 2.0 * (double)(i + 1) / ((double)t * (double)(t + 1))
                                                     : 1.0 / (double)t;
        out[i] += share * at;
    }
}

void asc_job_rows_read(const asc_job *j, const asc_answer *s, bool rival, int64_t t, double *out) {
    const asc_encoder_job *e = j->encoder;
    memset(out, 0, (size_t)t * sizeof *out);
    if (e == NULL) {
        for (size_t i = j->r->n_prompt - 1 + s->first; i < (size_t)t; i++)
            out[i] = 1.0 / (double)(s->n - s->first);
        return;
    }
    const asc_encoder_config *c = &j->m->encoder->cfg;
    if (e->similar != NULL || j->req->output == ASC_OUTPUT_SIMILARITY) {
        for (int i = 0; i < c->n_poolings; i++)
            pooled_rows(c->pooling[i], 1.0 / (double)c->n_poolings, t, out);
    } else if (c->head == ASC_HEAD_CLASSES) {
        pooled_rows(c->head_pool, 1.0, t, out);
    } else if (c->head == ASC_HEAD_TOKENS) {
        out[e->token] = 1.0;
    } else if (c->head == ASC_HEAD_SPAN) {
        for (int i = 0; i < 2; i++) out[(rival ? e->rival : e->answer)[i]] += 0.5;
    } else {
        for (size_t i = 0; i < e->n_places; i++) out[e->places[i]] += 1.0 / (double)e->n_places;
    }
}

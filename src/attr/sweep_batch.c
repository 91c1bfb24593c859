/* sweep_batch.c - how many prompts of a sweep go together. */
#include "sweep.h"

static size_t total(const asc_price *p) {
    /* what programs of many small ops take beyond the estimate of their code: measured for ruled passes */
    static const size_t PROGRAMS = (size_t)2 << 20;
    return asc_price_plus(asc_price_total(p), PROGRAMS);
}

asc_status asc_sweep_batch(const asc_sweep *s, size_t want, size_t *out) {
    const size_t p = s->j->r->n_prompt;
    enum { ENOUGH_ROWS = 512 }; /* as for other passes: budget.c */
    asc_price one, two;
    size_t most = (ENOUGH_ROWS + p - 1) / p, bytes;
    *out = 1;
    asc_status st = asc_sweep_price(s, 1, &one);
    if (st != ASC_OK) return st;
    bytes = total(&one);
    if (bytes > asc_job_room(s->j) && asc_job_drop_programs(s->j)) {
        st = asc_sweep_price(s, 1, &one);
        if (st != ASC_OK) return st;
        bytes = total(&one);
    }
    if (bytes > asc_job_room(s->j)) return asc_job_too_small(s->j, p, bytes);
    if (most > want) most = want;
    if (most > 1) {
        st = asc_sweep_price(s, 2, &two);
        if (st != ASC_OK) return st;
        size_t per = total(&two) > bytes ? total(&two) - bytes : 1, more = (asc_job_room(s->j) - bytes) / per;
        *out = more < most - 1 ? 1 + more : most;
        size_t rounds = (want + *out - 1) / *out;
        *out = (want + rounds - 1) / rounds;
        bytes += (*out - 1) * per + two.program_bytes;
    }
    if (s->j->estimate == NULL) asc_job_note_peak(s->j, bytes);
    if (*out > s->j->r->prompts_per_pass) s->j->r->prompts_per_pass = *out;
    if (!s->values_only && s->j->m->kind == ASC_MODEL_DECODER) s->j->r->keep_every = 1;
    return ASC_OK;
}

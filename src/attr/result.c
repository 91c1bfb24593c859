/* result.c - end of a result. */
#include "method.h"

void asc_result_destroy(asc_ctx *ctx, asc_result *r) {
    if (r == NULL) return;
    for (size_t i = 0; i < r->n_features; i++) asc_free(ctx, r->features[i].text);
    for (size_t i = 0; i < r->n_warnings; i++) asc_free(ctx, r->warnings[i]);
    for (size_t i = 0; i < ASC_N_TOP; i++) asc_free(ctx, r->top_labels[i]);
    void *const owned[] = {
        r->rule,          r->options,      r->baseline,   r->prompt,       r->prompt_ids,   r->token_start,
        r->token_end,     r->target,       r->versus,     r->target_ids,   r->versus_ids,   r->scores,
        r->score_errors,  r->features,     r->model_path, r->architecture, r->precision_at, r->label,
        r->versus_label,  r->second,       r->similar_to, r->inner,        r->inner_scores, r->matrix,
        r->matrix_errors, r->token_values, r->parts,      r->adapters,     r->neuron_site,  r->site,
        r->through};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) asc_free(ctx, owned[i]);
    asc_free(ctx, r);
}

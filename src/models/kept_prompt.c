/* kept_prompt.c - see kept_prompt.h. Only keys that a prompt's own run made are kept: those of answers were
 * made token by token and round differently, and answers would depend on what was asked before. */
#include "kept_prompt.h"
#include <string.h>

bool asc_model_take_prompt(asc_model *m, const int32_t *ids, size_t n, asc_kept_keys *out) {
    asc_kept_prompt *p = m->kept;
    int64_t same = 0;
    if (p == NULL) return false;
    while (same < p->keys.n && (size_t)same + 1 < n && p->ids[same] == ids[same]) same++;
    /* keys of a text of another length may be turned by other frequencies (longrope) */
    if (same > 0 && !asc_decoder_same_lengths(&m->decoder, p->keys.n, (int64_t)n)) same = 0;
    if (same > 0) {
        *out = p->keys;
        p->keys = (asc_kept_keys){0};
        asc_kept_keys_cut(out, same);
    }
    asc_model_forget_prompt(m);
    return same > 0;
}

void asc_model_keep_prompt(asc_model *m, const int32_t *ids, size_t n, asc_kept_keys *take) {
    asc_model_forget_prompt(m);
    if (asc_kept_keys_bytes(take) > ASC_KEPT_PROMPT_MAX) return;
    asc_kept_prompt *p = asc_calloc(m->ctx, ASC_MEM_GENERAL, 1, sizeof *p);
    int32_t *own = asc_calloc(m->ctx, ASC_MEM_GENERAL, n, sizeof *own);
    if (p == NULL || own == NULL) { /* then the next prompt is run whole */
        asc_error_clear(m->ctx);
        asc_free(m->ctx, p);
        asc_free(m->ctx, own);
        return;
    }
    memcpy(own, ids, n * sizeof *own);
    asc_kept_keys_cut(take, (int64_t)n);
    *p = (asc_kept_prompt){.keys = *take, .ids = own};
    *take = (asc_kept_keys){0};
    m->kept = p;
}

void asc_model_forget_prompt(asc_model *m) {
    if (m->kept == NULL) return;
    asc_kept_keys_deinit(&m->kept->keys);
    asc_free(m->ctx, m->kept->ids);
    asc_free(m->ctx, m->kept);
    m->kept = NULL;
}

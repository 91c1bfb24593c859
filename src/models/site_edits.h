/* site_edits.h - values put in the place of a site's: as ops, so that runs of any length, batches and
 * gradients go through them. Of one run (model_run.c), or of all runs of a model until they are taken away
 * (asc_model_hold).
 */
#ifndef ASC_SITE_EDITS_H
#define ASC_SITE_EDITS_H

#include "model.h"

/* What happens at one site. */
typedef struct asc_site_edit {
    asc_decoder_site site;
    int64_t layer;
    const char *name; /* of the site, for messages; borrowed */
    asc_tensor *rows,
        *mask;       /* rows [1,W] for every token, or [last + 2,W] by place, with mask [last + 2,1] */
    int64_t last;    /* largest place that is replaced */
    size_t n_places; /* 0 = every token */
    asc_tensor *(*change)(void *self, asc_ctx *ctx, asc_tensor *rows);
    void *self;
} asc_site_edit;

typedef struct asc_site_edits {
    asc_site_edit *v;
    size_t n;
    asc_owned owned; /* rows and masks */
    char *names;     /* of held ones */
    uint64_t hash;   /* of held ones: sites, places and values; a function is any function */
} asc_site_edits;

/* NOT_FOUND naming what sites there are. */
ASC_MUST_USE asc_status asc_site_edit_find(const asc_model *m, const char *name, asc_decoder_site *site,
                                           int64_t *layer);
/* Checks a patch and makes an edit of it; place and width are checked against the model, n_tokens (0 =
 * unknown) against its rows and places. Errors: those of asc_model_run. */
ASC_MUST_USE asc_status asc_site_edit_make(const asc_model *m, const asc_site_patch *p, size_t n_tokens,
                                           asc_owned *owned, asc_site_edit *out);
/* value [B,T,W], or [..,W] where every token is meant; pos: i32 places of its last rows (more may stand
 * before them). The value to go on with, poisoned when the change fails. */
asc_tensor *asc_site_edit_apply(asc_ctx *ctx, const asc_site_edit *e, asc_tensor *value, asc_tensor *pos);
/* All edits of a site, one behind the other; e may be NULL. */
asc_tensor *asc_site_edits_apply(asc_ctx *ctx, const asc_site_edits *e, asc_decoder_site site, int64_t layer,
                                 asc_tensor *value, asc_tensor *pos);
void asc_site_edits_deinit(asc_ctx *ctx, asc_site_edits *e);

#endif

/* kept_prompt.h - keys and values of the last prompt, which stay with the model, so that the next prompt that
 * begins alike (the next turn of a conversation) is run from where it differs. */
#ifndef ASC_KEPT_PROMPT_H
#define ASC_KEPT_PROMPT_H

#include "kept_keys.h"
#include "model.h"

enum { ASC_KEPT_PROMPT_MAX = 128 << 20 }; /* bytes; longer prompts are not kept */

typedef struct asc_kept_prompt {
    asc_kept_keys keys;
    int32_t *ids; /* keys.n */
} asc_kept_prompt;

/* Takes what is kept, cut to what ids begin with, at least one of them left to be run; the model keeps
 * nothing then. False: there is nothing of use. */
bool asc_model_take_prompt(asc_model *m, const int32_t *ids, size_t n, asc_kept_keys *out);
/* Hands keys of (at least) these n tokens over to the model, unless they are too large: *take is empty then.
 */
void asc_model_keep_prompt(asc_model *m, const int32_t *ids, size_t n, asc_kept_keys *take);
void asc_model_forget_prompt(asc_model *m);

#endif

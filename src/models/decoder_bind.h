/* decoder_bind.h - what the files that bind tensors to a decoder share. After an error st is set and every
 * call does nothing. */
#ifndef ASC_DECODER_BIND_H
#define ASC_DECODER_BIND_H

#include "decoder.h"

typedef struct asc_binder {
    asc_ctx *ctx;
    const asc_weights *g;
    asc_decoder *d;
    bool expand;               /* matrices become f32 once */
    struct asc_lora_set *lora; /* NULL = none */
    asc_status st;
    bool *used;    /* by position in g->v */
    int64_t layer; /* names get "blk.<layer>." in front; -1 = none */
} asc_binder;

/* NULL when optional and absent, or after an error; otherwise the tensor is marked as used. */
const asc_weight *asc_bind_find(asc_binder *b, const char *name, bool required);
/* A vector of n as f32, each element plus `add`; NULL when optional and absent, or after an error. */
asc_tensor *asc_bind_vector(asc_binder *b, const char *name, bool required, int64_t n, double add);
asc_tensor *asc_bind_matrix(asc_binder *b, const char *name, bool required, int64_t rows, int64_t cols);
/* False, with st set, unless t has this shape (as stored) and a type that expands to f32. */
bool asc_bind_fits(asc_binder *b, const asc_weight *t, asc_shape want);
/* A matrix or a stack of matrices over elements that outlive the decoder; expanded once if b->expand. */
asc_tensor *asc_bind_stored(asc_binder *b, asc_dtype dtype, asc_shape shape, const void *data);
/* Makes t the decoder's; NULL after an error. */
asc_tensor *asc_bind_own(asc_binder *b, asc_tensor *t);
/* Adapters of the weight [out,in] of this name, of which p has rows first .. first + rows - 1. */
void asc_bind_lora(asc_binder *b, const char *name, int64_t out, int64_t in, int64_t first, int64_t rows,
                   asc_proj *p);
/* Router and experts of the layer. */
void asc_bind_experts(asc_binder *b, asc_layer *l);
/* Frequencies of every rope of the config. */
void asc_bind_ropes(asc_binder *b);
/* What ALiBi adds to scores. */
void asc_bind_slopes(asc_binder *b);

#endif

/* hf_experts.h - matrices of experts, which folders keep one by one (or gate and up in one stack), as the
 * stacks [E,rows,columns] that the decoder asks for. */
#ifndef ASC_HF_EXPERTS_H
#define ASC_HF_EXPERTS_H

#include "hf_family.h"

typedef struct asc_hf_expert {
    const char *name; /* "ffn_gate", "ffn_up", "ffn_down", "gate_up_exps" */
    int64_t layer, expert;
    asc_hf_tensor *t;
} asc_hf_expert;

typedef struct asc_hf_experts {
    asc_hf_folder *folder;
    const asc_decoder_config *c;
    asc_weights *w;
    asc_hf_expert *v;
    size_t n, cap;
} asc_hf_experts;

/* Notes a tensor. end: ".weight", ".bias" or "". */
ASC_MUST_USE asc_status asc_hf_experts_add(asc_hf_experts *x, asc_hf_tensor *t, const char *name,
                                           int64_t layer, int64_t expert, const char *end);
/* Adds the stacks to the table: copies, in the files' own type, unless a stack lies in one piece already.
 * INVALID_ARGUMENT names what is missing or of another shape. */
ASC_MUST_USE asc_status asc_hf_experts_stack(asc_hf_experts *x);
void asc_hf_experts_deinit(asc_hf_experts *x);

#endif

/* hf_labels.h - classes of a config.json: id2label and num_labels. A config without either means two, as in
 * the programs that write these files. */
#ifndef ASC_HF_LABELS_H
#define ASC_HF_LABELS_H

#include "hf_values.h"

/* How many classes there are, 1 to 2^20. INVALID_ARGUMENT when id2label and num_labels differ. */
ASC_MUST_USE asc_status asc_hf_count_labels(const asc_hf_keys *k, int64_t *out);
/* Their n names; LABEL_0, LABEL_1, .. without id2label. End them with asc_hf_free_labels, which accepts NULL.
 * INVALID_ARGUMENT names the class that has none. */
ASC_MUST_USE asc_status asc_hf_read_labels(const asc_hf_keys *k, int64_t n, char ***out);
void asc_hf_free_labels(asc_ctx *ctx, char **labels, int64_t n);

#endif

/* charsmap.h - SentencePiece's compiled normalisation rules: four bytes with the size of a double-array trie
 * (Darts: 32-bit units), the trie, then the replacement texts, each ended by a NUL. Data from a file: every
 * step is checked. */
#ifndef ASC_CHARSMAP_H
#define ASC_CHARSMAP_H

#include "aligned_text.h"

typedef struct asc_charsmap {
    char *bytes; /* the decoded map */
    size_t len, n_units;
} asc_charsmap;

enum { ASC_CHARSMAP_MAX = 1 << 26 }; /* bytes of a map; those in use have 0.2 MB */

/* From base64. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_charsmap_init(asc_ctx *ctx, asc_charsmap *m, asc_view base64);
void asc_charsmap_deinit(asc_ctx *ctx, asc_charsmap *m);
/* Replaces `out` by the changes that the rules make in text; *changed: there is one at all. */
ASC_MUST_USE asc_status asc_charsmap_changes(const asc_charsmap *m, asc_view text, asc_changes *out,
                                             bool *changed);

#endif

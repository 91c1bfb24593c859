/* aligned_text.h - a text that is being changed, with the range of the original text that every byte of it
 * comes from. Normalisers and pre-tokenizers work on it, so that tokens keep their byte ranges. The rules of
 * alignment are those of Hugging Face tokenizers: all bytes of a character have the same range; a character
 * that takes the place of another has that one's range, an added one that of the character before it. */
#ifndef ASC_ALIGNED_TEXT_H
#define ASC_ALIGNED_TEXT_H

#include "alloc.h"
#include "view.h"

typedef struct asc_aligned {
    asc_ctx *ctx;
    char *bytes;         /* valid UTF-8 */
    uint32_t *from, *to; /* [len] bytes of the original */
    size_t len, cap;
    size_t limit; /* of len, 0 = ASC_ALIGNED_MAX */
} asc_aligned;

/* One character of the new text: change 0 = in the place of the next old one, 1 = added, -n = in the place of
 * the next old one, and the n behind that are gone. */
typedef struct asc_change {
    uint32_t cp;
    int32_t change;
} asc_change;
typedef struct asc_changes {
    asc_ctx *ctx;
    asc_change *v;
    size_t n, cap;
} asc_changes;

/* Bytes [start, end) of a text. */
typedef struct asc_cut {
    size_t start, end;
    bool match;
} asc_cut;
typedef struct asc_cuts {
    asc_ctx *ctx;
    asc_cut *v;
    size_t n, cap;
} asc_cuts;

enum { ASC_ALIGNED_MAX = 1 << 30 }; /* bytes; a normaliser may make a text longer */

void asc_aligned_deinit(asc_aligned *a);
static inline asc_view asc_aligned_view(const asc_aligned *a) { return (asc_view){a->bytes, a->len}; }
/* Appends text, which begins at byte `at` of the original; what is not UTF-8 becomes U+FFFD, one for each
 * maximal bad subpart. */
ASC_MUST_USE asc_status asc_aligned_load(asc_aligned *a, asc_view text, size_t at);
/* Appends src[start, end) as it is. */
ASC_MUST_USE asc_status asc_aligned_copy(asc_aligned *a, const asc_aligned *src, size_t start, size_t end);
/* Appends bytes that all come from [from, to) of the original. */
ASC_MUST_USE asc_status asc_aligned_add(asc_aligned *a, asc_view bytes, uint32_t from, uint32_t to);
/* Appends what the changes make of src[start, end), of which the first `removed` characters are gone. What is
 * added before the first character has the empty range at `base`. */
ASC_MUST_USE asc_status asc_aligned_change(asc_aligned *a, const asc_aligned *src, size_t start, size_t end,
                                           size_t base, const asc_changes *changes, size_t removed);
/* Appends src[start, end) with `text` put in front of it, which shares the range of the first character.
 * Nothing is put before nothing. */
ASC_MUST_USE asc_status asc_aligned_prepend(asc_aligned *a, const asc_aligned *src, size_t start, size_t end,
                                            size_t base, asc_view text);
/* Appends src[start, end) with every cut that is a match replaced by `text`; cuts are relative to start. */
ASC_MUST_USE asc_status asc_aligned_replace(asc_aligned *a, const asc_aligned *src, size_t start, size_t end,
                                            size_t base, const asc_cuts *cuts, asc_view text);
/* Appends src[start, end) in GPT-2's byte alphabet. */
ASC_MUST_USE asc_status asc_aligned_bytes(asc_aligned *a, const asc_aligned *src, size_t start, size_t end,
                                          size_t base);

ASC_MUST_USE asc_status asc_changes_add(asc_changes *c, uint32_t cp, int32_t change);
ASC_MUST_USE asc_status asc_cuts_add(asc_cuts *c, size_t start, size_t end, bool match);

#endif

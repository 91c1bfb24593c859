/* special_match.h - finds tokens that are matched in the raw text before anything else: the longest one at
 * the leftmost place. The set is a sorted list of pieces; a match narrows it byte by byte. */
#ifndef ASC_SPECIAL_MATCH_H
#define ASC_SPECIAL_MATCH_H

#include "piece_table.h"

typedef struct asc_special_set {
    int32_t *ids; /* control, unknown and user-defined tokens, sorted by their bytes */
    size_t n;
    bool first[256]; /* some piece begins with this byte */
} asc_special_set;

ASC_MUST_USE asc_status asc_special_set_init(asc_ctx *ctx, asc_special_set *s, const asc_pieces *pieces);
void asc_special_set_deinit(asc_ctx *ctx, asc_special_set *s);
/* The longest token that begins at text[pos]: a user-defined one must end by user_limit, another one by
 * control_limit. Returns its id, or -1. */
int32_t asc_special_at(const asc_special_set *s, const asc_pieces *pieces, asc_view text, size_t pos,
                       size_t control_limit, size_t user_limit);

#endif

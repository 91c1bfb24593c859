/* pattern.h - what a tokenizer file searches texts for: a fixed text or an Oniguruma regular expression. A
 * pattern is data from a file, so a search has a limit of steps. Oniguruma keeps its own memory, which is not
 * counted in the context's tags; the length of a pattern is limited instead. */
#ifndef ASC_PATTERN_H
#define ASC_PATTERN_H

#include "aligned_text.h"

enum {
    ASC_PATTERN_MAX = 1 << 16,          /* bytes of a pattern */
    ASC_PATTERN_MAX_RETRIES = 10000000, /* steps back of one match, Oniguruma's own default */
    ASC_PATTERN_MAX_SEARCH = 50000000,  /* of one search */
    ASC_PATTERN_MAX_STACK = 1 << 23     /* open alternatives at one time */
};

typedef struct asc_pattern asc_pattern;

/* regex false: exactly this text. Errors: INVALID_ARGUMENT with Oniguruma's words, RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_pattern_create(asc_ctx *ctx, asc_view text, bool regex, asc_pattern **out);
void asc_pattern_destroy(asc_ctx *ctx, asc_pattern *p); /* NULL is accepted */
/* Replaces cuts by the matches in text and what lies between, in order, without gaps; texts are valid UTF-8.
 * Errors: RESOURCE_EXHAUSTED (a limit, which the message names). */
ASC_MUST_USE asc_status asc_pattern_cut(asc_ctx *ctx, const asc_pattern *p, asc_view text, asc_cuts *cuts);

#endif

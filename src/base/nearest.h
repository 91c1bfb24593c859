/* nearest.h - the names that resemble a mistyped one, for hints. */
#ifndef ASC_NEAREST_H
#define ASC_NEAREST_H

#include "view.h"

enum { ASC_N_NEAREST = 3 };

/* The up to ASC_N_NEAREST of `names` (NULL entries are skipped) with the fewest edits to `wanted`, best
 * first, each once; returns how many there are. Names are compared by their first 64 bytes. */
size_t asc_nearest(const char *const *names, size_t n, asc_view wanted, const char *out[ASC_N_NEAREST]);
/* The one that was probably meant, for "did you mean": few edits for its length, or how it begins; NULL when
 * all are far. */
const char *asc_nearest_meant(const char *const *names, size_t n, asc_view wanted);
/* "a, b, c" of asc_nearest into text; "" when there is none. Returns text. */
const char *asc_nearest_text(const char *const *names, size_t n, asc_view wanted, char text[256]);

#endif

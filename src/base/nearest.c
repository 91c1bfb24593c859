/* nearest.c - see nearest.h. Edits: insert, delete, replace (Levenshtein), after both names were cut to 64
 * bytes. */
#include "nearest.h"
#include <stdio.h>

enum { MOST = 64 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t edits(asc_view a, asc_view b) {
    size_t row[MOST + 1];
    a = asc_view_cut(a, MOST);
    b = asc_view_cut(b, MOST);
    for (size_t j = 0; j <= b.len; j++) row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replaced = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            diagonal = row[j];
            row[j] = least(least(row[j], row[j - 1]) + 1, replaced);
        }
    }
    return row[b.len];
}

size_t asc_nearest(const char *const *names, size_t n, asc_view wanted, const char *out[ASC_N_NEAREST]) {
    size_t cost[ASC_N_NEAREST], have = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i] == NULL) continue;
        bool seen = false;
        for (size_t k = 0; k < have; k++) seen = seen || strcmp(out[k], names[i]) == 0;
        if (seen) continue;
        size_t c = edits(asc_view_of(names[i]), wanted), at = have;
        while (at > 0 && cost[at - 1] > c) at--;
        if (at >= ASC_N_NEAREST) continue;
        if (have < ASC_N_NEAREST) have++;
        for (size_t k = have - 1; k > at; k--) {
            cost[k] = cost[k - 1];
            out[k] = out[k - 1];
        }
        cost[at] = c;
        out[at] = names[i];
    }
    return have;
}

const char *asc_nearest_meant(const char *const *names, size_t n, asc_view wanted) {
    const char *near[ASC_N_NEAREST];
    for (size_t i = 0; i < n && wanted.len >= 3; i++)
        if (names[i] != NULL && asc_view_starts(asc_view_of(names[i]), wanted)) return names[i];
    if (asc_nearest(names, n, wanted, near) == 0) return NULL;
    return edits(asc_view_of(near[0]), wanted) < wanted.len / 3 + 2 ? near[0] : NULL;
}

const char *asc_nearest_text(const char *const *names, size_t n, asc_view wanted, char text[256]) {
    const char *near[ASC_N_NEAREST] = {0};
    size_t len = 0, k = asc_nearest(names, n, wanted, near);
    text[0] = '\0';
    for (size_t i = 0; i < k; i++) {
        int w = snprintf(text + len, 256 - len, "%s%.64s", i > 0 ? ", " : "", near[i]);
        if (w > 0) len = least(len + (size_t)w, 255);
    }
    return text;
}

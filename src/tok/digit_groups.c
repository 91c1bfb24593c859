/* digit_groups.c - see digit_groups.h. */
#include "digit_groups.h"
#include "view.h"
#include <stdio.h>

static bool is(asc_view pattern, const char *format, const char *c) {
    char text[128];
    snprintf(text, sizeof text, format, c, c, c);
    return asc_view_eqs(pattern, text);
}

asc_digit_groups asc_digit_groups_of(asc_view pattern, char run[64]) {
    static const struct {
        const char *name;
        bool words; /* every member counts as part of a word, so that no \b lies between two */
    } classes[] = {{"\\d", true}, {"[0-9]", true}, {"\\p{Nd}", true}, {"\\p{N}", false}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const char *c = classes[i].name;
        if (is(pattern, "(?=(%s{3})+(?!%s))", c) || is(pattern, "(?=(?:%s{3})+(?!%s))", c)) {
            snprintf(run, 64, "%s+", c);
            return ASC_DIGITS_BORDERS;
        }
        const bool at_word =
            is(pattern, "%s{1,3}(?=(?:%s{3})*\\b)", c) || is(pattern, "%s{1,3}(?=(%s{3})*\\b)", c);
        if (at_word && classes[i].words) {
            snprintf(run, 64, "%s+(?:(\\b)|)", c);
            return ASC_DIGITS_GROUPS;
        }
        if (is(pattern, "%s{1,3}(?=(?:%s{3})*(?!%s))", c) || is(pattern, "%s{1,3}(?=(%s{3})*(?!%s))", c)) {
            snprintf(run, 64, "%s+()", c);
            return ASC_DIGITS_GROUPS;
        }
    }
    return ASC_DIGITS_NONE;
}

/* digit_groups.h - the two patterns that count digits from the end of a run, in threes. As regular
 * expressions they look at the rest of the run from every place in it, which takes the square of a long run's
 * length; here each run is seen once. */
#ifndef ASC_DIGIT_GROUPS_H
#define ASC_DIGIT_GROUPS_H

#include "ascribe/base.h"

typedef enum asc_digit_groups {
    ASC_DIGITS_NONE,   /* another pattern */
    ASC_DIGITS_GROUPS, /* C{1,3}(?=(?:C{3})*END): groups, the first one of 1 to 3 */
    /* (?=(C{3})+(?!C)): nothing, in front of each group of 3 but for those that others cut */
    ASC_DIGITS_BORDERS
} asc_digit_groups;

/* Which one `pattern` is, for a class C of \d, \p{N}, \p{Nd} or [0-9] and an END of \b or (?!C) (\b only with
 * classes whose members are all parts of words). `run` becomes the expression of one run, which has a group
 * that takes part where groups end at its end: C+(?:(END)|). run has room for 64 bytes. */
asc_digit_groups asc_digit_groups_of(asc_view pattern, char run[64]);

#endif

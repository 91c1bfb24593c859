/* goldens_asked.c - a case's request once more as a question in JSON: what was compared with the golden must
 * come out of it bit by bit. The way in which arrays are written changes from case to case. */
#include "goldens_array.h"
#include "asked_net.h"
#include <math.h>

void goldens_asked(goldens *g, asc_net *net, const asc_attr_request *q, const asc_attribution *r,
                   const char *what) {
    char words[200];
    asked_net *a = asked_make(net, q, (asked_form)(g->cases % ASKED_N_FORMS));
    if (a == NULL)
        goldens_fail(g, "%s: no question says it", what);
    else if (asked_ask(a) != ASC_OK)
        goldens_fail(g, "%s, as a question: %s", what, asc_error_message(g->ctx));
    else
        goldens_check(g, asked_difference(r, asked_result(a), words) != NULL ? (double)INFINITY : 0.0,
                      "%s, as a question", what);
    asked_free(a);
}

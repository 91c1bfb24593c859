/* rates.c - see rates.h. */
#include "rates.h"
#include "ctx.h"
#include <math.h>
#include <string.h>

static bool near(double a, double b) { return fabs(a - b) <= 0.2 * b; }

const double *asc_rates_find(const asc_rates *r, asc_rate_kind kind, asc_precision level, double rows,
                             double pairs) {
    const uint64_t now = asc_now_ns();
    const size_t n = r->n < ASC_RATES_KEPT ? r->n : ASC_RATES_KEPT;
    for (size_t i = 0; i < n; i++) {
        if (r->kept[i].kind != kind || r->kept[i].level != level) continue;
        if (now - r->kept[i].when_ns > (uint64_t)ASC_RATES_SECONDS * 1000000000u) continue;
        if (near(rows, r->kept[i].rows) && near(pairs, r->kept[i].pairs)) return r->kept[i].v;
    }
    return NULL;
}

void asc_rates_keep(asc_rates *r, asc_rate_kind kind, asc_precision level, double rows, double pairs,
                    const double v[3]) {
    const size_t at = r->n++ % ASC_RATES_KEPT;
    r->kept[at].when_ns = asc_now_ns();
    r->kept[at].kind = kind;
    r->kept[at].level = level;
    r->kept[at].rows = rows;
    r->kept[at].pairs = pairs;
    memcpy(r->kept[at].v, v, sizeof r->kept[at].v);
}

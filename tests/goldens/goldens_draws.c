/* goldens_draws.c - see goldens_draws.h. */
#include "goldens_draws.h"
#include <math.h>

void golden_draws_add(golden_draws *d, double v) { /* Welford */
    if (d->n == 0) d->low = d->high = v;
    const double from = v - d->mean;
    d->mean += from / (double)++d->n;
    d->squares += from * (v - d->mean);
    d->low = fmin(d->low, v);
    d->high = fmax(d->high, v);
}

double golden_draws_deviation(const golden_draws *d) {
    return d->n > 1 ? sqrt(d->squares / (double)(d->n - 1)) : 0.0;
}

double golden_draws_distance(const golden_draws *d, double recorded, double room) {
    if (d->n >= GOLDEN_MANY) /* twice the half */
        return fabs(recorded - 0.5 * (d->low + d->high)) / (room + (d->high - d->low));
    return fabs(d->mean - recorded) /
           (room + 4.0 * golden_draws_deviation(d) * sqrt(1.0 + 1.0 / (double)d->n));
}

/* lime_fit.h - the similarity kernel of Lime. */
#ifndef ASC_LIME_FIT_H
#define ASC_LIME_FIT_H

#include <math.h>

/* exp(-d^2 / (2 width^2)). */
static inline double asc_lime_kernel(double d, double width) { return exp(-d * d / (2.0 * width * width)); }

/* 1 - cosine of two vectors with squared lengths aa and bb and inner product ab; lengths count as at least
 * 1e-8. */
static inline double asc_lime_cosine_distance(double aa, double ab, double bb) {
    return 1.0 - ab / (fmax(sqrt(aa), 1e-8) * fmax(sqrt(bb), 1e-8));
}

#endif

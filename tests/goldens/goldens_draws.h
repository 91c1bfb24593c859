/* goldens_draws.h - one number of a method that draws, over many runs of ours, and what a single recorded
 * draw of another program may be. */
#ifndef GOLDENS_DRAWS_H
#define GOLDENS_DRAWS_H

#include <stdbool.h>

/* A recorded draw must lie within 4 deviations of our mean over a few seeds: there are some 1,000 such
 * numbers. Where one does not, the deviation may say little: 25 samples leave Lime's and KernelShap's least
 * squares nearly singular now and then. There it must lie within the range of many draws of ours, or outside
 * by half of it: of as many of Captum's own draws, the largest is often further out than any of the others.
 */
enum { GOLDEN_FEW = 60, GOLDEN_MANY = 1000 };

typedef struct golden_draws {
    double mean, squares, low, high; /* squares: of the distances from the mean, summed */
    long n;
} golden_draws;

void golden_draws_add(golden_draws *d, double v);
double golden_draws_deviation(const golden_draws *d);
/* How far a recorded draw is from ours, in what it may be; room: what it may be off by without any chance.
 * Over GOLDEN_MANY runs by the range. */
double golden_draws_distance(const golden_draws *d, double recorded, double room);

#endif

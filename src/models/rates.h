/* rates.h - how fast this machine ran pieces of a model when a dry run measured them: kept with the model, so
 * that the next price does not measure again. They age: a machine that was busy is not busy for ever. */
#ifndef ASC_RATES_H
#define ASC_RATES_H

#include "ascribe/base.h"

typedef enum asc_rate_kind {
    ASC_RATE_FORWARD, /* FLOP a second */
    ASC_RATE_BACKWARD,
    ASC_RATE_WHOLE_FORWARD, /* the same, measured on the whole model and not one block */
    ASC_RATE_WHOLE_BACKWARD,
    ASC_RATE_TRIE,      /* seconds of a token, of a pair, in one block */
    ASC_RATE_TRIE_ROWS, /* and of a row of the head */
    ASC_RATE_STEP,      /* seconds of one token behind so many (as rows), whose weights are read for it */
    ASC_RATE_TOUCH      /* seconds a byte of fresh memory takes */
} asc_rate_kind;

enum { ASC_RATES_KEPT = 32, ASC_RATES_SECONDS = 60 };

typedef struct asc_rates {
    struct {
        uint64_t when_ns;
        asc_rate_kind kind;
        asc_precision level;
        double rows, pairs, v[3];
    } kept[ASC_RATES_KEPT]; /* a ring */
    size_t n;
    /* Of the context's memory, in bytes: its peak when the last dry run had ended, and what that was but for
     * the measuring. 0 = there was none. */
    size_t peak_measured, peak_but_for_it;
} asc_rates;

/* Those of a measurement of this kind at rows and pairs within a fifth, not older than ASC_RATES_SECONDS;
 * NULL = measure. Valid until the next one is kept. */
const double *asc_rates_find(const asc_rates *r, asc_rate_kind kind, asc_precision level, double rows,
                             double pairs);
void asc_rates_keep(asc_rates *r, asc_rate_kind kind, asc_precision level, double rows, double pairs,
                    const double v[3]);

#endif

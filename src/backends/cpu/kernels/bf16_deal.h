/* bf16_deal.h - which results of a product each thread makes (bf16_gemm.inl, stored_gemm_amx.c): columns are
 * dealt first, and rows where there are more threads than columns to deal. The rows of a part's last panel
 * are open to threads that have done their own (shares.h). */
#ifndef ASC_BF16_DEAL_H
#define ASC_BF16_DEAL_H

#include "bf16.h"
#include "kutil.h"
#include "shares.h"

enum {
    ASC_BF16_STRIP_COLUMNS = 128,    /* of a part, at least, for cutting by strips */
    ASC_BF16_STRIP_BYTES = 384 << 10 /* of the pieces of 32 rows, at most: a fifth of an L2 cache */
};

typedef struct asc_bf16_deal {
    int64_t m0, m1, n; /* rows [m0, m1) of n columns */
    int64_t unit;      /* columns that stay together */
    int64_t across, down;
} asc_bf16_deal;

/* Rows [m0, m1), columns [n0, n1). */
typedef struct asc_bf16_part {
    int64_t m0, m1, n0, n1;
} asc_bf16_part;

static inline int64_t asc_bf16_units(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

static inline asc_bf16_deal asc_bf16_deal_of(int64_t m0, int64_t m1, int64_t n, int64_t unit,
                                             int64_t threads) {
    threads = asc_kmin(threads, ASC_SHARES_MOST);
    const int64_t across = asc_kmin(asc_bf16_units(n, unit), threads);
    return (asc_bf16_deal){m0, m1, n, unit, across, across > 0 ? threads / across : 0};
}

/* Part i of across * down. */
static inline asc_bf16_part asc_bf16_part_of(const asc_bf16_deal *d, int64_t i) {
    const int64_t units = asc_bf16_units(d->n, d->unit),
                  strips = asc_bf16_units(d->m1 - d->m0, ASC_BF16_SIDE);
    const int64_t c = i % d->across, r = i / d->across;
    return (asc_bf16_part){d->m0 + strips * r / d->down * ASC_BF16_SIDE,
                           asc_kmin(d->m1, d->m0 + strips * (r + 1) / d->down * ASC_BF16_SIDE),
                           units * c / d->across * d->unit,
                           asc_kmin(d->n, units * (c + 1) / d->across * d->unit)};
}

/* The last panel of a part: columns [n, n + width), and its strips of rows that nobody has taken. */
typedef struct asc_bf16_open {
    asc_share strips;
    int64_t n, width;
} asc_bf16_open;

static inline void asc_bf16_open_init(asc_bf16_open *o, const asc_bf16_deal *d) {
    for (int64_t i = 0; i < d->across * d->down; i++) asc_share_init(&o[i].strips, 0, 0);
}

/* The panel is packed. */
static inline void asc_bf16_panel_done(asc_bf16_open *o, const asc_bf16_part *part, int64_t n,
                                       int64_t width) {
    o->n = n;
    o->width = width;
    o->strips.end = asc_bf16_units(part->m1 - part->m0, ASC_BF16_SIDE);
    asc_share_open(&o->strips);
}

/* Strips of rows of last panels, those of part `thread` first: strip(self, part, m0, m1, thread). */
static inline void
asc_bf16_strips(const asc_bf16_deal *d, asc_bf16_open *open, int thread,
                void (*strip)(void *self, int64_t part, int64_t m0, int64_t m1, int thread), void *self) {
    const int64_t n = d->across * d->down;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = (thread + k) % n;
        const asc_bf16_part part = asc_bf16_part_of(d, i);
        asc_share *s = &open[i].strips;
        if (!asc_share_await(s)) continue;
        for (int64_t u = asc_share_take(s); u >= 0; u = asc_share_take(s)) {
            const int64_t m = part.m0 + u * ASC_BF16_SIDE;
            strip(self, i, m, asc_kmin(part.m1, m + ASC_BF16_SIDE), thread);
        }
    }
}

/* Whether a thread cuts 32 rows just before it multiplies them, instead of all threads all rows beforehand.
 * Then nobody waits and pieces stay in the cache of who uses them, but each part cuts rows again for each of
 * its panels; worth it where it has at most two, and columns enough. bytes: of the pieces of 16 rows, the
 * size of one of the n_groups places for them in scratch, of which each thread gets two. */
static inline bool asc_bf16_by_strips(const asc_bf16_deal *d, int64_t width, int64_t n_groups, int64_t bytes,
                                      int n_threads) {
    const int64_t columns = asc_kceil(asc_bf16_units(d->n, d->unit), asc_kmax(1, d->across)) * d->unit;
    return columns <= 2 * width && d->n >= ASC_BF16_STRIP_COLUMNS * d->across && 2 * n_threads <= n_groups &&
           2 * bytes <= ASC_BF16_STRIP_BYTES;
}

#endif

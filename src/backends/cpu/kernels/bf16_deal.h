/* bf16_deal.h - which results of a product each thread makes (bf16_gemm.inl, stored_gemm_amx.c): columns are
 * dealt first, and rows where there are more threads than columns to deal. */
#ifndef ASC_BF16_DEAL_H
#define ASC_BF16_DEAL_H

#include "bf16.h"
#include "kutil.h"

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

#endif

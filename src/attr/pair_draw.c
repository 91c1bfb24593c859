/* pair_draw.c - see pair_draw.h. */
#include "pair_draw.h"
#include "hash.h"
#include <math.h>
#include <string.h>

enum { POLL_MASK = 255 };

size_t asc_pairs_bytes(size_t m, size_t most) {
    enum { SEEN = 4 * sizeof(uint64_t) }; /* twice as many places, up to a power of two */
    size_t each, bytes;
    if (!asc_mul_size(2, m, &each) || !asc_add_size(each, SEEN + sizeof(size_t), &each) ||
        !asc_mul_size(most, each, &bytes))
        return SIZE_MAX;
    return bytes;
}

asc_status asc_pairs_init(const asc_game *g, size_t most, asc_pairs *out) {
    size_t m = g->m, cells;
    asc_ctx *ctx = g->ctx;
    *out = (asc_pairs){.ctx = ctx, .m = m, .n_strata = m / 2, .most = most, .n_seen = 64};
    if (!asc_mul_size(most, 2 * m, &cells) || most > SIZE_MAX / 64)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "%zu pairs of sets of %zu features are too many", most,
                        m);
    while (out->n_seen < 2 * most) out->n_seen *= 2;
    out->total = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * out->n_strata + 1, sizeof *out->total);
    out->count = asc_calloc(ctx, ASC_MEM_GENERAL, out->n_strata + 1, sizeof *out->count);
    out->present = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->present);
    out->stratum = asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof *out->stratum);
    out->seen = asc_calloc(ctx, ASC_MEM_GENERAL, out->n_seen, sizeof *out->seen);
    out->order = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof *out->order);
    if (out->total == NULL || out->count == NULL || out->present == NULL || out->stratum == NULL ||
        out->seen == NULL || out->order == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    out->weight = out->total + out->n_strata;
    for (size_t h = 0; h < out->n_strata; h++) {
        double k = (double)(h + 1), r = (double)m - k, pairs = 1.0;
        for (double i = 1.0; i <= k; i += 1.0) pairs *= (r + i) / i; /* binomial(m, k) */
        bool middle = 2 * (h + 1) == m;
        out->total[h] = middle ? pairs / 2.0 : pairs;
        out->weight[h] = (middle ? 1.0 : 2.0) / (k * r);
    }
    return ASC_OK;
}

void asc_pairs_deinit(asc_pairs *p) {
    if (p->ctx == NULL) return;
    asc_free(p->ctx, p->total);
    asc_free(p->ctx, p->count);
    asc_free(p->ctx, p->present);
    asc_free(p->ctx, p->stratum);
    asc_free(p->ctx, p->seen);
    asc_free(p->ctx, p->order);
    *p = (asc_pairs){0};
}

/* False when this set was drawn before. */
static bool is_new(asc_pairs *p, const uint8_t *set) {
    uint64_t h = asc_hash64(set, p->m, 0);
    if (h == 0) h = 1;
    for (size_t i = (size_t)h & (p->n_seen - 1);; i = (i + 1) & (p->n_seen - 1)) {
        if (p->seen[i] == h) return false;
        if (p->seen[i] != 0) continue;
        p->seen[i] = h;
        return true;
    }
}

/* A set of `size` features or its complement, whichever lacks the last feature, into the next place. */
static bool draw_one(asc_pairs *p, const asc_game *g, size_t size) {
    size_t m = p->m;
    uint8_t *set = p->present + 2 * p->n * m, *rest = set + m;
    memset(set, 0, m);
    for (size_t i = 0; i < m; i++) p->order[i] = i;
    for (size_t i = 0; i < size; i++) {
        size_t o = i + (size_t)(asc_game_uniform(g, p->stream, i) * (double)(m - i)), was = p->order[i];
        p->order[i] = p->order[o];
        p->order[o] = was;
        set[p->order[i]] = 1;
    }
    p->stream++;
    for (size_t i = 0, flip = set[m - 1]; i < m; i++) {
        set[i] = flip ? !set[i] : set[i];
        rest[i] = !set[i];
    }
    return is_new(p, set);
}

/* The stratum that lacks most of its share among those that are not used up; n_strata: all are. */
static size_t next_stratum(const asc_pairs *p) {
    size_t best = p->n_strata;
    double lack = 0.0, sizes = (double)p->m - 1.0;
    for (size_t h = 0; h < p->n_strata; h++) {
        double share = (2 * (h + 1) == p->m ? 1.0 : 2.0) / sizes,
               d = share * ((double)p->n + 1.0) - (double)p->count[h];
        if ((double)p->count[h] >= p->total[h]) continue;
        if (best < p->n_strata && d <= lack) continue;
        best = h;
        lack = d;
    }
    return best;
}

asc_status asc_pairs_draw(asc_pairs *p, const asc_game *g, size_t n) {
    if (n > p->most) n = p->most;
    while (p->n < n) {
        size_t h = next_stratum(p);
        if (h == p->n_strata) return ASC_OK;
        if ((p->n & POLL_MASK) == 0 && asc_poll_cancel(p->ctx) != ASC_OK) return ASC_CANCELLED;
        while (!draw_one(p, g, h + 1)) continue; /* few are left only where there are few: sizes near 1 */
        p->stratum[p->n++] = h;
        p->count[h]++;
    }
    return ASC_OK;
}

bool asc_pairs_all(const asc_pairs *p) { return next_stratum(p) == p->n_strata; }

/* queue_loops.c - finds loops in a stream of ops that nobody marked: the shortest length L of 3 to 127 such
 * that the last L ops equal the L before them.
 *
 * Only lengths at which the last three ops occurred before can be that, so a table of places by hash of three
 * ops gives the candidates, shortest first, and a polynomial prefix hash compares one in constant time. A
 * wrong match (the hashes are 64 bit, and scalars are not in them) cuts at a place that is no boundary, and
 * does no harm else. */
#include "hash.h"
#include "runtime.h"

static const uint64_t BASE = 0x9E3779B97F4A7C15u; /* odd */

enum { MOST_CANDIDATES = 32 };

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0xD6E8FEB86659FD93u;
    return h ^ (h >> 32);
}

/* What the op is and how far back its inputs were made. */
static uint64_t hash_of(const asc_tensor *t) {
    uint64_t h = mix((uint64_t)t->op->opcode | (uint64_t)t->dtype << 16 | (uint64_t)t->level << 32 |
                         (uint64_t)t->shape.rank << 48,
                     (uint64_t)t->attrs.i[0] ^ (uint64_t)t->attrs.i[1] << 32);
    for (int i = 0; i < t->shape.rank; i++) h = mix(h, (uint64_t)t->shape.dims[i]);
    for (int k = 0; k < t->n_in; k++) {
        uint64_t back = t->id - t->in[k]->id;
        h = mix(h, t->in[k]->op == NULL || back > ASC_LOOP_LONGEST ? 0 : back);
    }
    return h;
}

static uint64_t power(uint32_t n) {
    uint64_t r = 1, b = BASE;
    for (; n > 0; n >>= 1, b *= b) {
        if ((n & 1) != 0) r *= b;
    }
    return r;
}

/* Whether the last `length` ops equal those before them. */
static bool repeats(const asc_loops *l, uint32_t length) {
    if (l->n < 2 * length) return false;
    const uint64_t shift = power(length), here = l->prefix[l->n % ASC_LOOP_WINDOW],
                   middle = l->prefix[(l->n - length) % ASC_LOOP_WINDOW],
                   start = l->n == 2 * length ? 0 : l->prefix[(l->n - 2 * length) % ASC_LOOP_WINDOW];
    return here - middle * shift == middle - start * shift;
}

static uint32_t shortest(const asc_loops *l) {
    if (l->last_length > 0 && repeats(l, l->last_length)) return l->last_length;
    uint32_t at = l->before[l->n % ASC_LOOP_WINDOW];
    for (int i = 0; at > 0 && i < MOST_CANDIDATES; i++) {
        const uint32_t length = l->n - at;
        if (length > ASC_LOOP_LONGEST) break;
        if (length >= ASC_LOOP_SHORTEST && repeats(l, length)) return length;
        at = l->before[at % ASC_LOOP_WINDOW];
    }
    return 0;
}

uint32_t asc_loops_see(asc_loops *l, const asc_tensor *t) {
    const uint64_t before = l->n == 0 ? 0 : l->prefix[l->n % ASC_LOOP_WINDOW];
    const uint32_t n = ++l->n, at = n % ASC_LOOP_WINDOW;
    l->hash[at] = hash_of(t);
    l->prefix[at] = before * BASE + l->hash[at];
    l->id[at] = t->id;
    l->before[at] = 0;
    if (n >= 3) {
        const uint64_t three =
            mix(mix(l->hash[at], l->hash[(n - 1) % ASC_LOOP_WINDOW]), l->hash[(n - 2) % ASC_LOOP_WINDOW]);
        uint32_t *place = &l->place[three % ASC_LOOP_WINDOW];
        if (*place < n && n - *place <= ASC_LOOP_LONGEST) l->before[at] = *place;
        *place = n;
    }
    if (l->pause > 0) {
        l->pause--;
        return 0;
    }
    if (t->op->fuse == ASC_FUSE_VIEW) return 0;
    const uint32_t length = shortest(l);
    if (length > 0) l->last_length = l->pause = length;
    if (length > 0) l->pause--; /* the op at which the next step ends is looked at again */
    return length;
}

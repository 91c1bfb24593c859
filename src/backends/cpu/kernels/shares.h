/* shares.h - units of work dealt to threads: each begins with a range of its own, whose data its caches are
 * likely to hold, and helps the others when that is done. So a core that is slower for a while, which is the
 * rule on shared machines, keeps nobody waiting for more than a unit. Which thread does a unit must not show
 * in its result. */
#ifndef ASC_SHARES_H
#define ASC_SHARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ASC_SHARES_MOST = 64,      /* more threads begin with the shares of others */
    ASC_SHARES_PATIENCE = 4000 /* looks at a share that is not open yet: some 50 microseconds */
};

typedef struct asc_share {
    _Alignas(64) atomic_int_fast64_t next;
    int64_t end;
    atomic_bool open;
} asc_share;

static inline void asc_share_init(asc_share *s, int64_t from, int64_t end) {
    atomic_init(&s->next, from);
    s->end = end;
    atomic_init(&s->open, false);
}

/* What was written before is seen by all who find the share open. */
static inline void asc_share_open(asc_share *s) {
    atomic_store_explicit(&s->open, true, memory_order_release);
}

/* Whether the share is open, or was opened soon. */
static inline bool asc_share_await(asc_share *s) {
    for (int i = 0; i < ASC_SHARES_PATIENCE; i++) {
        if (atomic_load_explicit(&s->open, memory_order_acquire)) return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    return false;
}

/* The next unit; -1 when none is left. */
static inline int64_t asc_share_take(asc_share *s) {
    if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) return -1;
    const int64_t i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
    return i < s->end ? i : -1;
}

/* n units as shares of about the same size, all there from the start (none is awaited); returns how many, at
 * most `threads`. */
static inline int asc_shares_init(asc_share *s, int threads, int64_t n) {
    const int shares = threads < ASC_SHARES_MOST ? threads : ASC_SHARES_MOST;
    for (int i = 0; i < shares; i++) asc_share_init(&s[i], n * i / shares, n * (i + 1) / shares);
    return shares;
}

/* The next unit for a thread, of its own share first; -1 when none is left. *turn begins at 0. */
static inline int64_t asc_shares_next(asc_share *s, int shares, int thread, int *turn) {
    for (; *turn < shares; ++*turn) {
        const int64_t i = asc_share_take(&s[(thread + *turn) % shares]);
        if (i >= 0) return i;
    }
    return -1;
}

#endif

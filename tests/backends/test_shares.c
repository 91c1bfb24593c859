/* test_shares.c - work that threads help each other with (shares.h): every unit once, also when one thread
 * is held up, when threads outnumber the units or the shares, and when a share is opened late or never. */
#include "harness.h"
#include "kutil.h"
#include "shares.h"
#include <omp.h>
#include <time.h>

enum { MOST = 500 };

typedef struct seen {
    atomic_int times[MOST];
    atomic_int by[MOST];
    bool waits, in_vain;
    atomic_int done;
} seen;

static void unit(void *self, int64_t i, int thread) {
    seen *s = self;
    atomic_fetch_add(&s->times[i], 1);
    atomic_store(&s->by[i], thread);
    if (s->waits && i == 0) { /* minutes at most, against hanging */
        for (int k = 0; k < 300000 && atomic_load(&s->done) < MOST - 1; k++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        s->in_vain = atomic_load(&s->done) < MOST - 1;
    }
    atomic_fetch_add(&s->done, 1);
}

static void each_once(void **state) {
    static const int64_t units[] = {1, 2, 3, 7, 64, MOST};
    static const int threads[] = {1, 2, 3, 5, 70};
    (void)state;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            for (int uneven = 0; uneven < 2; uneven++) {
                seen s = {0};
                asc_kpar(units[u], threads[t], uneven != 0, unit, &s);
                for (int64_t i = 0; i < MOST; i++) {
                    assert_int_equal(s.times[i], i < units[u] ? 1 : 0);
                    assert_in_range(s.by[i], 0, threads[t] - 1);
                }
            }
        }
    }
}

/* One thread is in the first unit until all others are done: by the other thread, in whose share they may not
 * be. */
static void help(void **state) {
    int given = 0;
    (void)state;
    omp_set_dynamic(0); /* the user's OMP_DYNAMIC: fewer threads where others work */
#pragma omp parallel num_threads(2)
#pragma omp single
    given = omp_get_num_threads();
    if (given < 2) skip(); /* OMP_THREAD_LIMIT */
    seen s = {.waits = true};
    asc_kpar(MOST, 2, false, unit, &s);
    for (int i = 0; i < MOST; i++) assert_int_equal(s.times[i], 1);
    assert_false(s.in_vain);
}

static void closed(void **state) {
    (void)state;
    asc_share s;
    asc_share_init(&s, 3, 5);
    assert_false(asc_share_await(&s));
    asc_share_open(&s);
    assert_true(asc_share_await(&s));
    assert_int_equal(asc_share_take(&s), 3);
    assert_int_equal(asc_share_take(&s), 4);
    assert_int_equal(asc_share_take(&s), -1);
    assert_int_equal(asc_share_take(&s), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_once), cmocka_unit_test(help),
                                       cmocka_unit_test(closed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

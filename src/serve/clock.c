/* clock.c - what time it is, and waiting for it. A file of its own, so that a test can have a clock that goes
 * as the test says: its functions of these names are taken, and this file is not linked. */
#include "server.h"
#include <time.h>

double serve_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void serve_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    long ns = t.tv_nsec + (long)(seconds * 1e9) % 1000000000;
    t.tv_sec += (time_t)seconds + ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(c, m, &t);
}

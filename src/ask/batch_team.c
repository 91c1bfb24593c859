/* batch_team.c - the lines of a batch several at a time: hands, each a thread with a context and the model
 * opened once more (the file's pages are shared), take lines in order; the caller's thread writes their
 * results in the order of the prompts, counts, and hears of stops. A hand is at most AHEAD results before the
 * writing, so memory does not grow with the file. A line that does not fit a hand's share of the memory is
 * run again by the caller alone, with all of it but the hands' models, while the hands rest; when that is not
 * enough, with these closed, which the hands then open again. */
#include "batch_parts.h"
#include "alloc.h"
#include "budget.h"
#include "ascribe/profile.h"
#include "ctx.h"
#include "ctx_like.h"
#include "model_like.h"
#include "text_parts.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { AHEAD = 4, WAKE_NS = 100000000 };

typedef struct team team;
typedef struct hand {
    team *t;
    pthread_t thread;
    bool runs;
    asc_ctx *ctx;
    asc_model *m; /* NULL: not open (yet, or any more) */
    /* Rings by number of the result: */
    asc_text *lines[AHEAD];
    asc_batch_place places[AHEAD];
    asc_batch_made made[AHEAD];
    size_t n_made, n_put;
} hand;

/* Under the lock: everything that both sides read, the work's next place, each hand's counts. */
struct team {
    asc_batch_work *s;
    pthread_mutex_t lock;
    pthread_cond_t hands_go, caller_goes;
    hand *hands;
    size_t n, share;
    size_t n_alive, n_busy; /* hands that go on; that hold their context just now */
    bool stop, rest;
};

/* ---- a hand ---- */

static asc_status open_model(hand *h) {
    const asc_batch_work *s = h->t->s;
    return h->m != NULL ? ASC_OK : asc_model_open_like(s->m, h->ctx, s->b->weights, &h->m);
}

static asc_status open_hand(hand *h) {
    asc_status st = open_model(h);
    for (size_t i = 0; st == ASC_OK && i < AHEAD; i++) {
        st = asc_text_create(h->ctx, &h->lines[i]);
        if (st == ASC_OK) asc_text_compact(h->lines[i]);
    }
    return st;
}

/* Waits for a line; false: there is none, or all stops. */
static bool take(hand *h) {
    team *t = h->t;
    while (!t->stop && (t->rest || h->n_made - h->n_put == AHEAD)) pthread_cond_wait(&t->hands_go, &t->lock);
    return !t->stop && asc_batch_next(t->s, &h->places[h->n_made % AHEAD]);
}

static void *work(void *self) {
    hand *h = self;
    team *t = h->t;
    const bool open = open_hand(h) == ASC_OK; /* else the others do the work */
    pthread_mutex_lock(&t->lock);
    t->n_busy--;
    while (open && take(h)) {
        const size_t k = h->n_made % AHEAD;
        t->n_busy++;
        pthread_mutex_unlock(&t->lock);
        h->made[k] = (asc_batch_made){.line = h->places[k].line};
        asc_status st = open_model(h);
        if (st == ASC_OK) st = asc_batch_make(t->s, h->m, &h->places[k], t->share, h->lines[k], &h->made[k]);
        pthread_mutex_lock(&t->lock);
        if (st != ASC_OK) { /* no text: the caller makes it */
            h->made[k].status = ASC_RESOURCE_EXHAUSTED;
            asc_error_clear(h->ctx);
        }
        h->n_made++;
        t->n_busy--;
        pthread_cond_signal(&t->caller_goes);
    }
    t->n_alive--;
    pthread_cond_signal(&t->caller_goes);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the caller ---- */

/* Waits a moment for the hands, then tells how far it is. CANCELLED. */
static asc_status wait(team *t) {
    const asc_batch_work *s = t->s;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAKE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&t->caller_goes, &t->lock, &until) != ETIMEDOUT)
        return asc_poll_cancel(s->ctx);
    return asc_progress(s->ctx, "prompts", (double)(s->counts->done + s->counts->skipped),
                        (double)s->counts->lines);
}

static hand *holder_of(const team *t, size_t line) {
    for (size_t i = 0; i < t->n; i++) {
        hand *h = &t->hands[i];
        if (h->n_put < h->n_made && h->made[h->n_put % AHEAD].line == line) return h;
    }
    return NULL;
}

/* Bytes that the resting hands keep: they give back what is not in use, and with it their models. */
static size_t kept_by_hands(team *t, bool models) {
    size_t bytes = 0;
    for (size_t i = 0; i < t->n && t->hands[i].ctx != NULL; i++) { /* behind a NULL none was made */
        hand *h = &t->hands[i];
        if (models) {
            asc_model_close(h->m);
            h->m = NULL;
        }
        (void)asc_cache_empty(h->ctx);
        bytes += asc_memory(h->ctx).live_total;
    }
    return bytes;
}

/* A line that did not fit a share, while all hands rest. */
static asc_status put_alone(team *t, asc_batch_place at) {
    asc_batch_work *s = t->s;
    asc_batch_made made = {0};
    asc_status st = ASC_OK;
    const size_t limit = asc_request_limit(s->ctx, s->b->request);
    t->rest = true;
    while (st == ASC_OK && t->n_busy > 0) st = wait(t);
    at.alone = true;
    for (int models = 0; st == ASC_OK && models < 2; models++) {
        const size_t kept = kept_by_hands(t, models == 1);
        /* without their models hands keep results that wait, which no bound counts */
        st = asc_batch_make(s, s->m, &at, models == 1 ? 0 : kept < limit ? limit - kept : 1, s->made, &made);
        if (st != ASC_RESOURCE_EXHAUSTED && made.status != ASC_RESOURCE_EXHAUSTED) break;
        if (models == 0) st = ASC_OK;
    }
    if (st == ASC_OK) st = asc_batch_put(s, s->made, made.status != ASC_OK);
    (void)asc_cache_empty(s->ctx);
    t->rest = false;
    return st;
}

/* Writes the oldest result of a hand. */
static asc_status put(team *t, hand *h) {
    const size_t k = h->n_put % AHEAD;
    asc_status st;
    if (h->made[k].status == ASC_RESOURCE_EXHAUSTED) {
        st = put_alone(t, h->places[k]);
    } else {
        pthread_mutex_unlock(&t->lock); /* what is made and not put is the caller's */
        st = asc_batch_put(t->s, h->lines[k], h->made[k].status != ASC_OK);
        pthread_mutex_lock(&t->lock);
    }
    h->n_put++;
    pthread_cond_broadcast(&t->hands_go);
    return st;
}

/* A hand hears no signals: a handler needs a stack of its own (see asc_cancel), which the caller's thread may
 * have and a hand has not. Faults stay theirs. */
static void start_hands(team *t) {
    sigset_t deaf, before;
    sigfillset(&deaf);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&deaf, faults[i]);
    pthread_sigmask(SIG_SETMASK, &deaf, &before);
    for (size_t i = 0; i < t->n; i++) {
        hand *h = &t->hands[i];
        h->runs = h->ctx != NULL && pthread_create(&h->thread, NULL, work, h) == 0;
        t->n_alive += h->runs ? 1 : 0;
        t->n_busy += h->runs ? 1 : 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static asc_status run(team *t) {
    asc_batch_work *s = t->s;
    asc_batch_place at;
    asc_batch_made made;
    asc_status st = ASC_OK;
    pthread_mutex_lock(&t->lock);
    size_t head = s->next;
    start_hands(t);
    while (st == ASC_OK && head < s->n) {
        hand *h = holder_of(t, head);
        if (asc_batch_output_has(&s->out, head)) {
            head++;
        } else if (h != NULL) {
            st = put(t, h);
            head++;
        } else if (t->n_alive > 0) {
            st = wait(t);
        } else if (asc_batch_next(s, &at)) { /* no hand could begin: nobody took this line */
            st = asc_batch_one(s, &at, 0, &made);
            head = at.line + 1;
        }
    }
    t->stop = true;
    for (size_t i = 0; i < t->n; i++) {
        if (t->hands[i].runs) asc_cancel(t->hands[i].ctx);
    }
    pthread_cond_broadcast(&t->hands_go);
    pthread_mutex_unlock(&t->lock);
    return st;
}

static void close_hand(hand *h) {
    if (h->runs) pthread_join(h->thread, NULL);
    for (size_t i = 0; i < AHEAD; i++) asc_text_destroy(h->lines[i]);
    asc_model_close(h->m);
    asc_ctx_destroy(h->ctx);
}

asc_status asc_batch_team(asc_batch_work *s, size_t n, size_t share) {
    team t = {.s = s, .n = n, .share = share, .lock = PTHREAD_MUTEX_INITIALIZER};
    const size_t threads = (size_t)s->ctx->n_threads;
    t.hands = asc_calloc(s->ctx, ASC_MEM_GENERAL, n, sizeof *t.hands);
    if (t.hands == NULL) return ASC_RESOURCE_EXHAUSTED;
    pthread_cond_init(&t.hands_go, NULL);
    pthread_cond_init(&t.caller_goes, NULL);
    for (size_t i = 0; i < n; i++) { /* here, since the environment is read */
        t.hands[i].t = &t;
        if (asc_ctx_create_like(s->ctx, (int)(threads / n + (i < threads % n)), &t.hands[i].ctx) != ASC_OK)
            break;
    }
    asc_status st = run(&t);
    for (size_t i = 0; i < n; i++) close_hand(&t.hands[i]);
    pthread_cond_destroy(&t.hands_go);
    pthread_cond_destroy(&t.caller_goes);
    pthread_mutex_destroy(&t.lock);
    asc_free(s->ctx, t.hands);
    return st;
}

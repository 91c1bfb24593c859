/* desk.c - one thread for handlers that may take a while: they read a question, make its tokens, price it. So
 * the HTTP library's threads never wait for anything, and replies that stream go on meanwhile. Whoever was
 * not served for longest is next, so that nobody is kept waiting by another's many questions.
 */
#include "server.h"
#include <string.h>

/* Those that only look something up stay where they are: they answer also when the desk is busy. */
static bool is_quick(const serve_route *r) {
    return r->handle == serve_health || r->handle == serve_metrics || r->handle == serve_job_state ||
           r->handle == serve_job_cancel || r->handle == serve_login || r->handle == page_file_get;
}

bool desk_takes(exchange *x) {
    server *s = x->s;
    if (is_quick(x->route)) return false;
    pthread_mutex_lock(&s->lock);
    MHD_suspend_connection(x->mhd);
    *(s->desk != NULL ? &s->desk_last->next : &s->desk) = x;
    s->desk_last = x;
    pthread_cond_signal(&s->asked);
    pthread_mutex_unlock(&s->lock);
    return true;
}

bool desk_has_id(const server *s, const char *id) {
    const exchange *x = s->desk;
    if (s->at_desk != NULL && strcmp(s->at_desk->id, id) == 0) return true;
    while (x != NULL && strcmp(x->id, id) != 0) x = x->next;
    return x != NULL;
}

/* Of a file that is no longer the one that was opened nothing is asked, not even a price. */
static bool model_is_there(exchange *x) {
    serve_fault f;
    if (strcmp(x->method, "POST") != 0) return true;
    serve_bench *b = server_lock_bench(x->s);
    asc_status st = asc_subject_check_file(b->subject);
    if (st != ASC_OK) model_changed_fault(&f, b->ctx, st);
    server_unlock_bench(x->s);
    pthread_mutex_lock(&x->s->lock);
    x->s->model_changed = st != ASC_OK;
    pthread_mutex_unlock(&x->s->lock);
    if (st != ASC_OK) exchange_fail_fault(x, &f);
    return st == ASC_OK;
}

/* How recently this one's client was served: 0 = just now, SERVE_RECENT = not lately. */
static size_t last_served(const server *s, const exchange *x) {
    size_t i = 0;
    while (i < SERVE_RECENT && x->c != NULL && s->recent[i] != x->c->client) i++;
    return i;
}

/* Takes the next one from those that wait; NULL: there is none. */
static exchange *next_at_desk(server *s) {
    exchange *best = s->desk, *before = NULL, *last = NULL;
    for (exchange *x = s->desk; x != NULL; last = x, x = x->next) {
        if (x == best || last_served(s, x) <= last_served(s, best)) continue;
        best = x;
        before = last;
    }
    if (best == NULL) return NULL;
    *(before != NULL ? &before->next : &s->desk) = best->next;
    if (s->desk_last == best) s->desk_last = before;
    best->next = NULL;
    size_t at = last_served(s, best);
    memmove(s->recent + 1, s->recent, (at < SERVE_RECENT ? at : SERVE_RECENT - 1) * sizeof *s->recent);
    s->recent[0] = best->c != NULL ? best->c->client : 0;
    return best;
}

void *desk_main(void *cls) {
    server *s = cls;
    pthread_mutex_lock(&s->lock);
    while (!s->closing || s->desk != NULL) {
        exchange *x = next_at_desk(s);
        if (x == NULL) {
            pthread_cond_wait(&s->asked, &s->lock);
            continue;
        }
        s->at_desk = x;
        pthread_mutex_unlock(&s->lock);
        if (model_is_there(x)) x->route->handle(x);
        pthread_mutex_lock(&s->lock);
        s->at_desk = NULL;
        x->handled = true;
        MHD_resume_connection(x->mhd);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the bench ---- */

serve_bench *server_lock_bench(server *s) {
    pthread_mutex_lock(&s->bench_lock);
    pthread_mutex_lock(&s->lock);
    s->bench_since = serve_now();
    s->bench_stopped = false;
    asc_cancel_reset(s->bench.ctx);
    pthread_mutex_unlock(&s->lock);
    asc_memory_forget_peaks(s->bench.ctx); /* one question that was too large must not make all others so */
    return &s->bench;
}

void server_unlock_bench(server *s) {
    pthread_mutex_lock(&s->lock);
    s->bench_since = 0;
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&s->bench_lock);
}

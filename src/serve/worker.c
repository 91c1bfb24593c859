/* worker.c - the one thread that owns context and model: takes jobs in fair order, runs each to its end. */
#include "server.h"
#include <string.h>

static const double PROGRESS_SECONDS = 0.1;

bool worker_progress(void *self, const char *what, double done, double total) {
    server *s = self;
    pthread_mutex_lock(&s->lock);
    job *j = s->running;
    bool goes_on = j == NULL || j->stop == STOP_NONE, tell = false;
    double now = serve_now();
    if (j != NULL) {
        snprintf(j->what, sizeof j->what, "%s", what);
        j->done = done;
        j->total = total;
        tell = goes_on && now - j->moved >= PROGRESS_SECONDS;
    }
    if (tell) {
        j->moved = now;
        s->memory = asc_memory(s->place.ctx);
    }
    pthread_mutex_unlock(&s->lock);
    if (tell && j->kind->progress != NULL) j->kind->progress(j, j->self, what, done, total);
    return goes_on;
}

/* Has the model's file changed? Then no answer of it can be trusted, and its pages may be gone. */
static asc_status check_file(server *s, job *j) {
    asc_status st = asc_subject_check_file(s->place.subject);
    bool changed = st != ASC_OK;
    pthread_mutex_lock(&s->lock);
    s->model_changed = changed;
    if (changed) model_changed_fault(&j->fault, s->place.ctx, st);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void tell_failure(server *s, job *j, asc_status st) {
    serve_fault f;
    pthread_mutex_lock(&s->lock);
    if (j->stop != STOP_NONE) {
        job_stop_fault(j, &j->fault);
    } else if (j->fault.status == 0) {
        serve_fault_status(&j->fault, s->place.ctx, st);
        if (st == ASC_DATA_LOSS) j->fault.status = 500; /* what the client sent was read before */
    }
    f = j->fault;
    bool begun = j->handed;
    j->closing = true;
    pthread_mutex_unlock(&s->lock);
    if (begun && j->kind->failed != NULL) j->kind->failed(j, j->self, f.code, f.message, f.hint);
}

static void run(server *s, job *j) {
    asc_status st = check_file(s, j);
    if (st == ASC_OK) st = j->kind->run(j, &s->place, j->self);
    if (st == ASC_OK && !job_goes_on(j)) st = ASC_CANCELLED; /* whether its reply is whole cannot be known */
    if (st != ASC_OK) tell_failure(s, j, st);
    if (j->kind->destroy != NULL)
        j->kind->destroy(j->self); /* what it holds of the context ends in this thread */
    asc_error_clear(s->place.ctx);
}

void *worker_main(void *cls) {
    server *s = cls;
    pthread_mutex_lock(&s->lock);
    while (!s->closing) {
        job *j = queue_take(&s->queue);
        if (j == NULL) {
            pthread_cond_wait(&s->work, &s->lock);
            continue;
        }
        s->running = j;
        j->state = JOB_RUNNING;
        j->started = serve_now();
        asc_cancel_reset(s->place.ctx); /* under the lock: who stops this job from here on is heard */
        pthread_mutex_unlock(&s->lock);
        run(s, j);
        pthread_mutex_lock(&s->lock);
        j->self = NULL;
        s->running = NULL;
        s->memory = asc_memory(s->place.ctx);
        j->ended = serve_now();
        queue_learn(&s->queue, j);
        job_end(j, j->fault.status != 0 ? ASC_ABORTED : ASC_OK);
        pthread_mutex_unlock(&s->lock);
        job_bury(s);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* serve_job.c - jobs: accepted or refused, their replies while they are made, and their ends.
 *
 * A job's reply is a buffer between the worker, which writes, and the HTTP library, which sends. The
 * connection is suspended while there is nothing to send and resumed when there is; nothing else wakes it.
 */
#include "server.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double READ_RATE =
    65536; /* bytes a second that a client reads at least when the worker waits for it */

/* ---- all under the lock ---- */

void job_wake(job *j) {
    exchange *x = j->x;
    if (x == NULL || !x->suspended || !j->ready) return;
    x->suspended = false;
    MHD_resume_connection(x->mhd);
}

job *job_find(server *s, const char *id) {
    const queue_client *c = s->queue.ring;
    if (s->running != NULL && strcmp(s->running->id, id) == 0) return s->running;
    if (c == NULL) return NULL;
    do {
        for (job *j = c->head; j != NULL; j = j->next)
            if (strcmp(j->id, id) == 0) return j;
        c = c->next;
    } while (c != s->queue.ring);
    return NULL;
}

static void bury_later(job *j) {
    j->next = j->s->dead;
    j->s->dead = j;
}

void job_unref(job *j) {
    if (--j->refs == 0) bury_later(j);
}

void job_bury(server *s) {
    pthread_mutex_lock(&s->lock);
    job *list = s->dead;
    s->dead = NULL;
    pthread_mutex_unlock(&s->lock);
    while (list != NULL) {
        job *j = list;
        list = j->next;
        if (j->self != NULL && j->kind->destroy != NULL) j->kind->destroy(j->self);
        header_free(&j->headers);
        free(j->out);
        free(j);
    }
}

void job_stop_fault(const job *j, serve_fault *f) {
    char text[160];
    switch (j->stop) {
    case STOP_DELETED:
        serve_fault_set(f, 499, "cancelled", NULL, "the job was cancelled", NULL);
        break;
    case STOP_TIME:
        snprintf(text, sizeof text, "the job took longer than this server allows (%g s)",
                 j->s->o.max_seconds);
        serve_fault_set(f, 503, "too_long", NULL, text,
                        "ask for less, or start it with a larger --max-seconds");
        break;
    case STOP_ENDING:
        serve_fault_set(f, 503, "ending", NULL, "the server is ending", "try again when it is back");
        f->retry_after_s = 5;
        break;
    case STOP_SLOW:
        serve_fault_set(f, 499, "slow_client", NULL, "the reply was not read", NULL);
        break;
    default:
        serve_fault_set(f, 499, "client_left", NULL,
                        "the connection was closed for sending before the reply was there", "keep it open");
    }
}

static bool append(job *j, const char *p, size_t n) {
    if (j->out_at > 0 && j->out_len + n > j->out_cap) { /* what was sent makes room */
        memmove(j->out, j->out + j->out_at, j->out_len - j->out_at);
        j->out_len -= j->out_at;
        j->out_at = 0;
    }
    if (j->out_len + n > j->out_cap) {
        size_t cap = j->out_cap > 0 ? j->out_cap : 4096;
        while (cap < j->out_len + n) cap *= 2;
        char *grown = realloc(j->out, cap);
        if (grown == NULL) return false;
        j->out = grown;
        j->out_cap = cap;
    }
    if (n > 0) memcpy(j->out + j->out_len, p, n);
    j->out_len += n;
    j->written += n;
    return true;
}

/* Nothing has gone out: the error is the reply. */
static void become_fault(job *j) {
    char seconds[24];
    char *body = fault_body(&j->fault, j->page, j->id);
    j->out_at = j->out_len = j->written = 0;
    header_free(&j->headers);
    j->status = j->fault.status;
    snprintf(j->type, sizeof j->type, "%s", j->page ? "text/html; charset=utf-8" : "application/json");
    if (body != NULL) append(j, body, strlen(body));
    free(body);
    if (j->fault.retry_after_s <= 0) return;
    snprintf(seconds, sizeof seconds, "%.0f", ceil(j->fault.retry_after_s));
    header_set(&j->headers, "Retry-After", seconds);
}

/* `stop` and `fault` say what went wrong. */
void job_end(job *j, asc_status st) {
    if (st != ASC_OK && j->fault.status == 0) job_stop_fault(j, &j->fault);
    if (st != ASC_OK && !j->handed) become_fault(j);
    if (st == ASC_OK && !j->begun && !j->handed) {
        serve_fault_set(&j->fault, 500, "no_reply", NULL,
                        "the job made no answer, which is an error of the server", NULL);
        become_fault(j);
    }
    j->cut = st != ASC_OK && j->handed && j->kind->failed == NULL;
    j->state = JOB_ENDED;
    j->ended = serve_now();
    j->ready = true;
    job_wake(j);
    metrics_job(j->s->metrics, j);
    pthread_cond_broadcast(&j->s->drained);
    job_unref(j);
}

void job_stop_now(job *j, job_stop why) {
    if (j->state == JOB_ENDED || j->stop != STOP_NONE) return;
    j->stop = why;
    if (j->state == JOB_RUNNING) {
        asc_cancel(j->s->place.ctx);
        pthread_cond_broadcast(&j->s->room);
    } else if (queue_remove(&j->s->queue, j)) {
        job_end(j, ASC_CANCELLED);
    }
}

/* ---- submitting: in a handler ---- */

static bool over(exchange *x, const char *code, const char *param, double wants, double most,
                 const char *unit, const char *option) {
    char message[200], hint[120];
    snprintf(message, sizeof message, "this would take %.6g %s; this server allows %.6g", wants, unit, most);
    snprintf(hint, sizeof hint, "ask for less, or start it with a larger %s", option);
    exchange_fail(x, 413, code, param, message, hint, 0);
    return false;
}

static bool within_limits(exchange *x, const job_price *p) {
    const serve_options *o = &x->s->o;
    if (o->max_tokens > 0 && p->tokens > o->max_tokens)
        return over(x, "too_many_tokens", NULL, (double)p->tokens, (double)o->max_tokens, "tokens",
                    "--max-tokens");
    if (p->bytes > o->max_memory_bytes)
        return over(x, "too_much_memory", NULL, (double)(p->bytes >> 20), (double)(o->max_memory_bytes >> 20),
                    "MiB", "--max-memory");
    if (p->seconds > o->max_seconds)
        return over(x, "too_long", NULL, p->seconds, o->max_seconds, "s", "--max-seconds");
    return true;
}

static double wait_seconds(const server *s) {
    double left =
        s->running != NULL ? fmax(s->running->expected - (serve_now() - s->running->started), 0) : 0;
    return left + queue_seconds(&s->queue, 0);
}

/* Under the lock. */
static bool queue_has_room(server *s, uint64_t client, serve_fault *f) {
    char text[200];
    size_t share = (s->o.max_queue + 1) / 2;
    if (s->ending) {
        serve_fault_set(f, 503, "ending", NULL, "the server is ending", "try again when it is back");
        f->retry_after_s = 5;
    } else if (s->queue.n >= s->o.max_queue) {
        snprintf(text, sizeof text, "the queue is full: %zu jobs wait", s->queue.n);
        serve_fault_set(f, 503, "queue_full", NULL, text, "try again later");
        f->retry_after_s = fmin(fmax(wait_seconds(s), 1), 3600);
    } else if (queue_of(&s->queue, client) >= share) {
        snprintf(text, sizeof text, "%zu of your jobs wait, which is half the queue",
                 queue_of(&s->queue, client));
        serve_fault_set(f, 429, "too_many_waiting", NULL, text, "wait for some of them");
        f->retry_after_s = fmin(fmax(queue_seconds(&s->queue, client), 1), 3600);
    }
    return f->status == 0;
}

static bool enqueue(exchange *x, job *j) {
    server *s = x->s;
    pthread_mutex_lock(&s->lock);
    bool taken = queue_has_room(s, j->client, &j->fault);
    if (taken && job_find(s, j->id) != NULL) {
        serve_fault_set(&j->fault, 409, "id_in_use", NULL, "a job with this X-Request-Id is not done",
                        "choose another");
        taken = false;
    }
    j->expected = queue_expect(&s->queue, j->kind, j->price.seconds);
    if (taken && !queue_put(&s->queue, j)) {
        serve_fault_set(&j->fault, 503, "busy", NULL, "out of memory", "try again");
        taken = false;
    }
    if (taken) {
        x->job = j;
        pthread_cond_signal(&s->work);
        pthread_cond_signal(&s->tick);
    }
    pthread_mutex_unlock(&s->lock);
    return taken;
}

void exchange_submit(exchange *x, const job_kind *kind, void *self, const job_price *price) {
    job *j = x->reply == NULL && x->job == NULL && within_limits(x, price) ? calloc(1, sizeof *j) : NULL;
    if (j == NULL) {
        if (kind->destroy != NULL) kind->destroy(self);
        if (x->reply == NULL && x->job == NULL)
            exchange_fail(x, 503, "busy", NULL, "out of memory", "try again", 1);
        return;
    }
    j->s = x->s;
    j->x = x;
    j->kind = kind;
    j->self = self;
    j->price = *price;
    j->client = x->c != NULL ? x->c->client : 0;
    j->page = x->route->page;
    j->submitted = serve_now();
    j->refs = 2;
    memcpy(j->id, x->id, sizeof j->id);
    if (enqueue(x, j)) return;
    exchange_fail_fault(x, &j->fault);
    if (kind->destroy != NULL) kind->destroy(self);
    free(j);
}

/* ---- sending: in the HTTP library ---- */

static ssize_t read_out(void *cls, uint64_t pos, char *out, size_t most) {
    job *j = cls;
    server *s = j->s;
    ssize_t n = 0;
    (void)pos;
    pthread_mutex_lock(&s->lock);
    size_t left = j->out_len - j->out_at;
    if (left > 0) {
        n = (ssize_t)(left < most ? left : most);
        memcpy(out, j->out + j->out_at, (size_t)n);
        j->out_at += (size_t)n;
        pthread_cond_broadcast(&s->room);
    } else if (j->state == JOB_ENDED) {
        n = j->cut ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    } else if (j->x != NULL) {
        j->x->suspended = true;
        MHD_suspend_connection(j->x->mhd);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

bool job_reply(exchange *x) {
    job *j = x->job;
    server *s = x->s;
    pthread_mutex_lock(&s->lock);
    if (!j->ready) {
        x->suspended = true;
        MHD_suspend_connection(x->mhd);
        pthread_mutex_unlock(&s->lock);
        return false;
    }
    bool whole = j->state == JOB_ENDED;
    x->reply = whole ? MHD_create_response_from_buffer(j->out_len - j->out_at, j->out + j->out_at,
                                                       MHD_RESPMEM_MUST_COPY)
                     : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_out, j, NULL);
    x->status = j->status;
    j->handed = true;
    if (x->reply != NULL) {
        if (j->type[0] != '\0') MHD_add_response_header(x->reply, "Content-Type", j->type);
        if (j->streams) header_set(&j->headers, "X-Accel-Buffering", "no"); /* nginx passes it on at once */
        reply_headers(x->reply, x, j->headers);
    }
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* ---- writing: in the worker ---- */

const char *job_id(const job *j) { return j->id; }

void job_begin(job *j, int status, const char *content_type) {
    pthread_mutex_lock(&j->s->lock);
    if (!j->handed) {
        j->status = status;
        j->begun = true;
        snprintf(j->type, sizeof j->type, "%s", content_type);
        j->streams = strstr(content_type, "stream") != NULL || strstr(content_type, "ndjson") != NULL;
    }
    pthread_mutex_unlock(&j->s->lock);
}

void job_header(job *j, const char *name, const char *value) {
    pthread_mutex_lock(&j->s->lock);
    if (!j->handed) header_set(&j->headers, name, value);
    pthread_mutex_unlock(&j->s->lock);
}

/* Waits for a client that reads slowly; not for one that reads too slowly, because others wait for the
 * worker. */
static void wait_for_room(job *j) {
    server *s = j->s;
    while (j->stop == STOP_NONE && j->out_len - j->out_at > SERVE_BUFFER_BYTES) {
        const double since = serve_now();
        const size_t left = j->out_len - j->out_at;
        serve_wait(&s->room, &s->lock, 0.5);
        j->read_slowly += left - (j->out_len - j->out_at);
        j->slow_seconds += serve_now() - since;
        if (j->slow_seconds > 2 * s->o.idle_seconds + (double)j->read_slowly / READ_RATE)
            job_stop_now(j, STOP_SLOW);
    }
}

bool job_write(job *j, asc_view bytes) {
    server *s = j->s;
    pthread_mutex_lock(&s->lock);
    bool goes_on = j->stop == STOP_NONE || j->closing;
    if (goes_on && !append(j, bytes.ptr, bytes.len)) {
        serve_fault_set(&j->fault, 503, "busy", NULL, "out of memory for the reply", "try again");
        j->stop = STOP_SLOW;
        goes_on = false;
    }
    if (goes_on && j->begun && (j->streams || j->out_len - j->out_at > SERVE_HOLD_BYTES)) {
        j->ready = true;
        job_wake(j);
    }
    if (goes_on && !j->closing) {
        wait_for_room(j);
        goes_on = j->stop == STOP_NONE;
    }
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

bool job_goes_on(job *j) {
    pthread_mutex_lock(&j->s->lock);
    bool goes_on = j->stop == STOP_NONE;
    pthread_mutex_unlock(&j->s->lock);
    return goes_on;
}

/* A line break of any kind ends a line of data, so each gets its own "data:". */
bool job_event(job *j, const char *name, asc_view v) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL) return false;
    if (name != NULL) fprintf(out, "event: %s\n", name);
    for (size_t at = 0; at <= v.len;) {
        size_t len = 0;
        while (at + len < v.len && v.ptr[at + len] != '\n' && v.ptr[at + len] != '\r') len++;
        fputs("data: ", out);
        fwrite(v.ptr != NULL ? v.ptr + at : "", 1, len, out);
        fputc('\n', out);
        at += len;
        at += at + 1 < v.len && v.ptr[at] == '\r' && v.ptr[at + 1] == '\n' ? 2 : 1;
    }
    fputc('\n', out);
    bool goes_on = fclose(out) == 0 && job_write(j, (asc_view){text, n});
    free(text);
    return goes_on;
}

asc_status job_fail_fault(job *j, const serve_fault *f) {
    pthread_mutex_lock(&j->s->lock);
    j->fault = *f;
    pthread_mutex_unlock(&j->s->lock);
    return ASC_ABORTED;
}

asc_status job_fail(job *j, int status, const char *code, const char *param, const char *message,
                    const char *hint) {
    serve_fault f;
    serve_fault_set(&f, status, code, param, message, hint);
    return job_fail_fault(j, &f);
}

void job_count_tokens(job *j, size_t prompt, size_t completion) {
    pthread_mutex_lock(&j->s->lock);
    j->tokens_in += prompt;
    j->tokens_out += completion;
    pthread_mutex_unlock(&j->s->lock);
}

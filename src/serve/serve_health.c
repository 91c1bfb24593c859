/* serve_health.c - is the server well, where is a job, and an end to one. */
#include "server.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void reply_json(exchange *x, int status, json_t *doc) {
    char *text = doc != NULL ? json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(doc);
    if (text != NULL) exchange_reply(x, status, "application/json", (asc_view){text, strlen(text)});
    free(text);
}

void serve_health(exchange *x) {
    server *s = x->s;
    pthread_mutex_lock(&s->lock);
    const char *state = s->ending ? "ending" : s->model_changed ? "model changed" : "ok";
    int waiting = (int)s->queue.n, running = s->running != NULL;
    pthread_mutex_unlock(&s->lock);
    reply_json(x, strcmp(state, "ok") == 0 ? 200 : 503,
               json_pack("{s:s,s:s,s:i,s:i}", "status", state, "version", asc_version(), "waiting", waiting,
                         "running", running));
}

static void no_such_job(exchange *x) {
    exchange_fail(x, 404, "no_such_job", NULL, "no job of this id waits or runs", "it may be done", 0);
}

void serve_job_state(exchange *x) {
    server *s = x->s;
    json_t *doc = NULL;
    pthread_mutex_lock(&s->lock);
    const job *j = job_find(s, exchange_part(x, "id"));
    if (j != NULL) {
        bool runs = j->state == JOB_RUNNING;
        doc = json_pack("{s:s,s:s,s:s,s:i,s:f,s:f}", "id", j->id, "kind", j->kind->name, "state",
                        runs ? "running" : "waiting", "before", runs ? 0 : (int)queue_place(&s->queue, j) + 1,
                        "expected_seconds", j->expected, "seconds",
                        serve_now() - (runs ? j->started : j->submitted));
        if (runs && doc != NULL)
            json_object_set_new(
                doc, "progress",
                json_pack("{s:s,s:f,s:f}", "what", j->what, "done", j->done, "total", j->total));
    } else if (desk_has_id(s, exchange_part(x, "id"))) { /* it may become a job */
        doc = json_pack("{s:s,s:s}", "id", exchange_part(x, "id"), "state", "pricing");
    }
    pthread_mutex_unlock(&s->lock);
    if (doc != NULL)
        reply_json(x, 200, doc);
    else
        no_such_job(x);
}

void serve_job_cancel(exchange *x) {
    server *s = x->s;
    pthread_mutex_lock(&s->lock);
    job *j = job_find(s, exchange_part(x, "id"));
    if (j != NULL) job_stop_now(j, STOP_DELETED);
    pthread_mutex_unlock(&s->lock);
    job_bury(s);
    if (j != NULL)
        exchange_reply(x, 204, NULL, (asc_view){NULL, 0});
    else
        no_such_job(x);
}

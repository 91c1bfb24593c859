/* exchange.c - one request and its reply, between the HTTP library and handlers.
 *
 * The library calls exchange_begin with the request line, then exchange_access with the headers, with each
 * piece of the body, at its end, and once more when a connection that waited for a job goes on. What is wrong
 * with the headers is decided at the first of these; the body is then read and thrown away, so that the
 * client gets to see the reply and the connection stays usable. A client that waits for "100 Continue", and
 * one that announces far too much, is told at once.
 */
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DISCARD_TIMES = 4 }; /* a body of so many times the limit is not even thrown away */

void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *c) {
    server *s = cls;
    exchange *x = calloc(1, sizeof *x);
    const union MHD_ConnectionInfo *slot = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (x == NULL) return NULL;
    x->s = s;
    x->mhd = c;
    x->c = slot != NULL ? slot->socket_context : NULL;
    x->begun = serve_now();
    /* The library's decoding ends a path at %00; nobody means that. */
    x->close = strlen(uri) > SERVE_MAX_PATH || strstr(uri, "%00") != NULL;
    pthread_mutex_lock(&s->lock);
    s->n_exchanges++;
    pthread_mutex_unlock(&s->lock);
    return x;
}

/* ---- what handlers read ---- */

server *exchange_server(exchange *x) { return x->s; }
const char *exchange_path(const exchange *x) { return x->path; }
asc_view exchange_body(const exchange *x) { return (asc_view){x->body, x->body_len}; }

const char *exchange_header(const exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

const char *exchange_query(const exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->mhd, MHD_GET_ARGUMENT_KIND, name);
}

const char *exchange_part(const exchange *x, const char *name) {
    for (size_t i = 0; i < x->n_parts; i++) {
        const part *p = &x->parts[i];
        if (p->name_len == strlen(name) && memcmp(p->name, name, p->name_len) == 0) return p->value;
    }
    return NULL;
}

/* ---- headers ---- */

/* A client may choose the id by which it means to cancel, unless somebody has it. */
static void choose_id(exchange *x) {
    const char *sent = exchange_header(x, "X-Request-Id");
    server *s = x->s;
    if (sent != NULL && guard_id(sent)) {
        pthread_mutex_lock(&s->lock);
        bool taken = job_find(s, sent) != NULL;
        pthread_mutex_unlock(&s->lock);
        if (!taken) {
            memcpy(x->id, sent, 17);
            return;
        }
    }
    serve_random_hex(x->id, 8);
}

static uint64_t announced(const exchange *x) {
    const char *length = exchange_header(x, "Content-Length");
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

static void too_large(exchange *x) {
    char message[128], hint[96];
    snprintf(message, sizeof message, "the body is larger than this server takes (%zu bytes)",
             x->s->o.max_body_bytes);
    snprintf(hint, sizeof hint, "ask for less at a time, or start it with a larger --max-body");
    exchange_fail(x, 413, "body_too_large", NULL, message, hint, 0);
    x->discard = true;
}

static void enter(exchange *x, conn_phase phase, size_t n) {
    if (x->c == NULL) return;
    pthread_mutex_lock(&x->s->lock);
    conn *c = x->c;
    if (c->phase != phase) c->since = serve_now();
    c->x = x;
    c->phase = phase;
    c->received = n;
    pthread_mutex_unlock(&x->s->lock);
}

static bool open_exchange(exchange *x, const char *url, const char *method, const char *version) {
    enter(x, CONN_BODY, 0);
    snprintf(x->method, sizeof x->method, "%s", method);
    x->path = strdup(url);
    if (x->path == NULL) return false;
    choose_id(x);
    if (x->close) {
        bool is_long = strstr(url, "%") == NULL && strlen(url) > SERVE_MAX_PATH;
        exchange_fail(x, is_long ? 414 : 400, is_long ? "path_too_long" : "bad_path", NULL,
                      "the path is too long or has a NUL in it", NULL, 0);
    } else if (guard_check(x, version) && announced(x) > x->s->o.max_body_bytes) {
        too_large(x);
    }
    x->discard = x->reply != NULL;
    return true;
}

/* ---- the body ---- */

static bool room_for(exchange *x, size_t n) {
    server *s = x->s;
    size_t want = x->body_len + n, cap = x->body_cap > 0 ? x->body_cap : 4096;
    if (want < n) return false;
    while (cap < want) cap *= 2; /* by what came, not by what was announced: a promise takes nobody's room */
    if (cap == x->body_cap) return true;
    pthread_mutex_lock(&s->lock); /* all bodies together: eight of the largest */
    bool fits = s->body_bytes + (cap - x->body_cap) <= 8 * s->o.max_body_bytes + 4096 * s->o.max_clients;
    if (fits) s->body_bytes += cap - x->body_cap;
    pthread_mutex_unlock(&s->lock);
    char *grown = fits ? realloc(x->body, cap) : NULL;
    if (grown == NULL && fits) {
        pthread_mutex_lock(&s->lock);
        s->body_bytes -= cap - x->body_cap;
        pthread_mutex_unlock(&s->lock);
    }
    if (grown == NULL) return false;
    x->body = grown;
    x->body_cap = cap;
    return true;
}

static bool take(exchange *x, const char *data, size_t n) {
    size_t most = x->s->o.max_body_bytes;
    x->received += n;
    enter(x, CONN_BODY, x->received);
    if (x->received / DISCARD_TIMES > most) return false; /* closes the connection */
    if (!x->discard && x->received > most) too_large(x);
    if (x->discard) return true;
    if (!room_for(x, n)) {
        exchange_fail(x, 503, "busy", NULL, "too many large requests at once", "try again", 1);
        x->discard = true;
        return true;
    }
    memcpy(x->body + x->body_len, data, n);
    x->body_len += n;
    return true;
}

/* ---- the reply ---- */

static enum MHD_Result send_reply(exchange *x) {
    if (x->reply == NULL) return MHD_NO; /* no memory for one */
    if (x->c != NULL) {
        pthread_mutex_lock(&x->s->lock);
        x->c->sending = true;
        pthread_mutex_unlock(&x->s->lock);
    }
    enum MHD_Result done = MHD_queue_response(x->mhd, (unsigned)x->status, x->reply);
    MHD_destroy_response(x->reply);
    x->reply = NULL;
    return done;
}

static enum MHD_Result answer(exchange *x) {
    if (x->reply == NULL && x->job == NULL && !x->handled) {
        if (desk_takes(x)) return MHD_YES; /* it waits */
        x->handled = true;
        x->route->handle(x);
    }
    if (x->reply == NULL && x->job == NULL)
        exchange_fail(x, 500, "no_reply", NULL, "this request got no answer, which is an error of the server",
                      NULL, 0);
    if (x->job != NULL && x->reply == NULL && !job_reply(x)) return MHD_YES; /* it waits */
    return send_reply(x);
}

enum MHD_Result exchange_access(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                const char *version, const char *data, size_t *n, void **slot) {
    exchange *x = *slot;
    (void)cls;
    (void)c;
    if (x == NULL) return MHD_NO;
    if (!x->opened) {
        x->opened = true;
        if (!open_exchange(x, url, method, version)) return MHD_NO;
        bool asks = exchange_header(x, "Expect") != NULL,
             hopeless = x->close || announced(x) / DISCARD_TIMES > x->s->o.max_body_bytes;
        return x->reply != NULL && (asks || hopeless) ? send_reply(x) : MHD_YES;
    }
    if (*n > 0) {
        if (!take(x, data, *n)) return MHD_NO;
        *n = 0;
        return MHD_YES;
    }
    enter(x, CONN_REPLY, x->received);
    return answer(x);
}

/* Under the lock: the worker may still be at it. */
static job_line line_of(const job *j) {
    double now = serve_now(), end = j->state == JOB_ENDED ? j->ended : now;
    bool ran = j->started > 0;
    job_line l = {.kind = j->kind->name,
                  .waited = (ran ? j->started : end) - j->submitted,
                  .ran = ran ? end - j->started : 0,
                  .predicted = j->price.seconds,
                  .tokens_in = j->tokens_in,
                  .tokens_out = j->tokens_out};
    snprintf(l.code, sizeof l.code, "%s", j->fault.code);
    return l;
}

void exchange_end(void *cls, struct MHD_Connection *c, void **slot, enum MHD_RequestTerminationCode why) {
    exchange *x = *slot;
    server *s = cls;
    (void)c;
    (void)why;
    if (x == NULL) return;
    *slot = NULL;
    double seconds = serve_now() - x->begun;
    pthread_mutex_lock(&s->lock);
    job *j = x->job;
    job_line line = {0};
    if (j != NULL) {
        j->x = NULL;
        if (j->state != JOB_ENDED) job_stop_now(j, STOP_GONE);
        x->reply_bytes = j->written;
        line = line_of(j);
    }
    if (x->c != NULL) {
        x->c->x = NULL;
        x->c->phase = CONN_HEADERS;
        x->c->sending = false;
        x->c->reading = 0;
        x->c->since = serve_now();
    }
    s->body_bytes -= x->body_cap;
    pthread_mutex_unlock(&s->lock);
    if (x->opened) {
        metrics_request(s->metrics, x->route, x->status, seconds, x->received, x->reply_bytes);
        serve_log(x, j != NULL ? &line : NULL, seconds);
    }
    pthread_mutex_lock(&s->lock);
    if (j != NULL) job_unref(j);
    s->n_exchanges--;
    pthread_cond_broadcast(&s->drained);
    pthread_mutex_unlock(&s->lock);
    job_bury(s);
    if (x->reply != NULL) MHD_destroy_response(x->reply);
    exchange_free_fields(x);
    header_free(&x->headers);
    free(x->path);
    free(x->body);
    free(x);
}

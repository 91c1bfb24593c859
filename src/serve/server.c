/* server.c - the parts put together: model, worker, watcher, HTTP library; started and ended in order. */
#include "server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { USAGE_ERROR = 2, INPUT_ERROR = 3, INTERNAL_ERROR = 4, LEAST_TOKEN = 16 };

/* ---- small things ---- */

bool serve_random_hex(char *out, size_t bytes) {
    unsigned char b[32];
    if (bytes > sizeof b) return false;
    bool fine = getrandom(b, bytes, 0) == (ssize_t)bytes;
    if (!fine) memset(b, 0, sizeof b);
    for (size_t i = 0; i < bytes; i++) snprintf(out + 2 * i, 3, "%02x", b[i]);
    return fine;
}

const serve_options *server_options(const server *s) { return &s->o; }

/* ---- the model ---- */

static int say(asc_ctx *ctx, asc_status st, const char *path) {
    const char *message = ctx != NULL ? asc_error_message(ctx) : "",
               *hint = ctx != NULL ? asc_error_hint(ctx) : "";
    asc_text *t = NULL;
    if (ctx != NULL && message[0] != '\0' && asc_text_create(ctx, &t) == ASC_OK) {
        asc_text_complaint(t, message, hint);
        fprintf(stderr, "ascribe: %s\n", asc_text_view(t).ptr);
    } else {
        fprintf(stderr, "ascribe: cannot open '%.300s': %s\n", path,
                st == ASC_RESOURCE_EXHAUSTED ? "out of memory" : asc_status_name(st));
    }
    asc_text_destroy(t);
    return st == ASC_INTERNAL ? INTERNAL_ERROR : INPUT_ERROR;
}

static int open_model(server *s) {
    asc_ctx_options c = s->o.ctx;
    c.struct_size = sizeof c;
    c.progress = worker_progress;
    c.progress_self = s;
    asc_status st = asc_ctx_create(&c, &s->place.ctx);
    if (st == ASC_OK) st = asc_subject_open(s->place.ctx, s->o.model_path, &s->o.model, &s->place.subject);
    if (st != ASC_OK) return say(s->place.ctx, st, s->o.model_path);
    c.progress = NULL;
    c.n_threads = 1; /* it prices and makes tokens: nothing heavy, and in many threads */
    st = asc_ctx_create(&c, &s->bench.ctx);
    if (st == ASC_OK) st = asc_subject_open(s->bench.ctx, s->o.model_path, &s->o.model, &s->bench.subject);
    if (st != ASC_OK) return say(s->bench.ctx, st, s->o.model_path);
    const asc_model *m = asc_subject_model(s->place.subject);
    if (s->o.max_tokens == 0 && m != NULL) s->o.max_tokens = (size_t)asc_model_get_info(m).context_length;
    s->place.server = s;
    s->memory = asc_memory(s->place.ctx);
    return 0;
}

/* ---- options ---- */

static void defaults(serve_options *o) {
    if (o->host == NULL) o->host = "127.0.0.1";
    if (o->max_body_bytes == 0) o->max_body_bytes = (size_t)8 << 20;
    if (o->max_seconds <= 0) o->max_seconds = 300;
    if (o->max_memory_bytes == 0) o->max_memory_bytes = (size_t)1 << 30;
    if (o->max_queue == 0) o->max_queue = 32;
    if (o->max_clients == 0) o->max_clients = 128;
    if (o->max_store_bytes == 0) o->max_store_bytes = o->store != NULL ? (size_t)1 << 30 : (size_t)64 << 20;
    if (o->idle_seconds <= 0) o->idle_seconds = 10;
}

static int check_token(const serve_options *o, const guard_names *n) {
    if (o->token == NULL && n->loopback) return 0;
    if (o->token == NULL) {
        fprintf(stderr,
                "ascribe: '%.200s' is reached from other machines, so the server needs a token\n"
                "  try: --token-file FILE with at least %d characters (openssl rand -hex 32 >FILE)\n",
                o->host, LEAST_TOKEN);
        return USAGE_ERROR;
    }
    bool plain = strspn(o->token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=") ==
                 strlen(o->token);
    if (strlen(o->token) >= LEAST_TOKEN && plain) return 0;
    fprintf(stderr,
            "ascribe: a token is at least %d characters of A-Z, a-z, 0-9 and -._~+/=\n"
            "  try: openssl rand -hex 32 >FILE\n",
            LEAST_TOKEN);
    return USAGE_ERROR;
}

/* ---- the HTTP library ---- */

/* What clients do wrong; each has its line in the log if it got as far as a request. What did not is answered
 * by the library itself, which says so in this message and nowhere else. */
static void on_error(void *cls, const char *format, va_list args) {
    const server *s = cls;
    if (strstr(format, "HTTP response code is %u") == NULL) return;
    metrics_refused(s->metrics, (int)va_arg(args, unsigned));
}

static bool start_daemon(server *s) {
    unsigned each = (unsigned)(s->o.max_clients / SERVE_THREADS + 1) * SERVE_THREADS,
             address = s->names.loopback ? each : (unsigned)(s->o.max_clients / 4 + 8);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        exchange_access, s, MHD_OPTION_EXTERNAL_LOGGER, on_error, s, MHD_OPTION_LISTEN_SOCKET, s->listener,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVE_THREADS, MHD_OPTION_CONNECTION_LIMIT, each,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, address, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(s->o.idle_seconds < 1 ? 1 : s->o.idle_seconds), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)(2 * SERVE_HEADER_BYTES), MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
        exchange_end, s, MHD_OPTION_NOTIFY_CONNECTION, conn_notify, s, MHD_OPTION_URI_LOG_CALLBACK,
        exchange_begin, s, MHD_OPTION_END);
    return s->daemon != NULL;
}

/* ---- start and end ---- */

static bool make_locks(server *s) {
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    bool fine = pthread_mutex_init(&s->lock, NULL) == 0 && pthread_mutex_init(&s->bench_lock, NULL) == 0 &&
                pthread_cond_init(&s->work, &a) == 0 && pthread_cond_init(&s->room, &a) == 0 &&
                pthread_cond_init(&s->tick, &a) == 0 && pthread_cond_init(&s->drained, &a) == 0 &&
                pthread_cond_init(&s->asked, &a) == 0;
    pthread_condattr_destroy(&a);
    return fine;
}

static int start(server *s) {
    int rc = listen_open(s->o.host, s->o.port, &s->names, &s->port, &s->listener);
    if (rc == 0) rc = check_token(&s->o, &s->names);
    if (rc == 0) rc = open_model(s);
    if (rc != 0) return rc;
    s->metrics = metrics_create(s->routes);
    s->store = store_open(s->o.store, s->o.max_store_bytes);
    if (s->store == NULL && s->o.store != NULL) return INPUT_ERROR;
    bool fine = s->metrics != NULL && s->store != NULL && serve_random_hex(s->cookie, 32);
    if (fine) fine = s->worker_on = pthread_create(&s->worker, NULL, worker_main, s) == 0;
    if (fine) fine = s->clerk_on = pthread_create(&s->clerk, NULL, desk_main, s) == 0;
    if (fine) fine = s->watcher_on = pthread_create(&s->watcher, NULL, conn_watch, s) == 0;
    if (fine) fine = start_daemon(s);
    if (fine) return 0;
    fprintf(stderr, "ascribe: the server cannot start: %s\n", strerror(errno));
    return INTERNAL_ERROR;
}

int server_start(const serve_options *o, route_table routes, server **out) {
    server *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || !make_locks(s)) {
        fputs("ascribe: out of memory\n", stderr);
        free(s);
        return INTERNAL_ERROR;
    }
    s->o = *o;
    s->routes = routes;
    s->listener = -1;
    s->begun = serve_now();
    defaults(&s->o);
    s->names.more = s->o.allow_hosts;
    int rc = start(s);
    if (rc != 0) {
        server_stop(s);
        return rc;
    }
    bool v6 = strchr(s->names.numeric, ':') != NULL;
    snprintf(s->address, sizeof s->address, "http://%s%s%s:%d/", v6 ? "[" : "",
             s->names.any_address ? (v6 ? "::1" : "127.0.0.1") : s->names.numeric, v6 ? "]" : "", s->port);
    *out = s;
    return 0;
}

size_t server_stop_jobs(server *s, bool cancel) {
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    size_t told = s->queue.n;
    for (job *j; (j = queue_take(&s->queue)) != NULL;) {
        j->stop = STOP_ENDING;
        job_end(j, ASC_CANCELLED);
    }
    if (cancel && s->running != NULL) job_stop_now(s->running, STOP_ENDING);
    pthread_mutex_unlock(&s->lock);
    job_bury(s);
    return told;
}

bool server_is_idle(server *s, double seconds) {
    pthread_mutex_lock(&s->lock);
    double until = serve_now() + seconds;
    while ((s->running != NULL || s->queue.n > 0 || s->n_exchanges > 0) && serve_now() < until)
        serve_wait(&s->drained, &s->lock, 0.05);
    bool idle = s->running == NULL && s->queue.n == 0 && s->n_exchanges == 0;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

void server_stop(server *s) {
    if (s == NULL) return;
    server_stop_jobs(s, true);
    if (s->daemon != NULL && !server_is_idle(s, 2)) { /* whoever still reads or sends has had long enough */
        pthread_mutex_lock(&s->lock);
        while (s->running != NULL || s->desk != NULL || s->bench_since > 0)
            serve_wait(&s->drained, &s->lock, 0.05); /* what runs was cancelled above */
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->work);
    pthread_cond_broadcast(&s->tick);
    pthread_cond_broadcast(&s->asked);
    pthread_mutex_unlock(&s->lock);
    if (s->worker_on) pthread_join(s->worker, NULL);
    if (s->clerk_on) pthread_join(s->clerk, NULL);
    if (s->watcher_on) pthread_join(s->watcher, NULL);
    if (s->daemon != NULL)
        MHD_stop_daemon(s->daemon); /* closes the listening socket */
    else if (s->listener >= 0)
        close(s->listener);
    job_bury(s);
    asc_subject_close(s->place.subject);
    asc_ctx_destroy(s->place.ctx);
    asc_subject_close(s->bench.subject);
    asc_ctx_destroy(s->bench.ctx);
    store_close(s->store);
    metrics_destroy(s->metrics);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->bench_lock);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->room);
    pthread_cond_destroy(&s->tick);
    pthread_cond_destroy(&s->drained);
    pthread_cond_destroy(&s->asked);
    free(s);
}

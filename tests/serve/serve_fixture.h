/* serve_fixture.h - a server in this process on a free port, routes and a job kind of its own, and raw
 * sockets to talk to it. */
#ifndef ASC_TEST_SERVE_H
#define ASC_TEST_SERVE_H

#include "../harness.h"
#include "server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SERVE_MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"

static inline void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Against hanging only: a machine may be slow, and busy. */
enum { PATIENCE_MS = 300000 };

/* The machine's clock: a test may have given the server one of its own. */
static inline double real_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a job that does as it is told: {"chunks", "ms" each, "size" each, "hold" (waits before the last chunk
 * until the test lets go), "stream", "seconds", "bytes", "tokens" of the price, "think" before it is accepted
 * (1: until the test lets go, -1: until it is stopped), "blind" (ends only when the context is cancelled),
 * "fail", "refuse", "note"} ---- */

typedef struct told {
    int chunks, ms, size, think;
    bool hold, stream, fail, refuse, blind;
    char note[16];
} told;

/* What jobs did, in order: their notes; and how many were destroyed. */
static struct {
    pthread_mutex_t lock;
    char notes[512];
    int destroyed, stopped, failed;
    atomic_bool let_go;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline bool told_waits(job *j, const job_place *at, const told *t, bool last) {
    for (int ms = 0; ms < t->ms || (last && t->hold && !atomic_load(&jobs.let_go)); ms += 5) {
        sleep_ms(5);
        if (!worker_progress(at->server, "waiting", ms, t->ms) || !job_goes_on(j) ||
            asc_poll_cancel(at->ctx) != ASC_OK)
            return false;
    }
    return true;
}

static inline asc_status told_run(job *j, const job_place *at, void *self) {
    const told *t = self;
    pthread_mutex_lock(&jobs.lock);
    strncat(jobs.notes, t->note, sizeof jobs.notes - strlen(jobs.notes) - 1);
    pthread_mutex_unlock(&jobs.lock);
    while (t->blind) { /* as the library computes: it sees the context and nothing else */
        sleep_ms(5);
        asc_status st = asc_poll_cancel(at->ctx);
        if (st != ASC_OK) return st;
    }
    if (t->refuse) return job_fail(j, 400, "refused", "refuse", "this job refuses", "ask for another");
    job_begin(j, 200, t->stream ? "text/event-stream" : "text/plain");
    job_header(j, "X-Told", "yes");
    char *text = malloc((size_t)t->size + 1);
    bool goes_on = text != NULL;
    for (int i = 0; goes_on && i < t->chunks; i++) {
        goes_on = told_waits(j, at, t, i == t->chunks - 1);
        memset(text, 'a' + i % 26, (size_t)t->size);
        asc_view v = {text, (size_t)t->size};
        if (goes_on) goes_on = t->stream ? job_event(j, "piece", v) : job_write(j, v);
    }
    free(text);
    job_count_tokens(j, 3, 4);
    if (!goes_on) {
        pthread_mutex_lock(&jobs.lock);
        jobs.stopped++;
        pthread_mutex_unlock(&jobs.lock);
        return t->stream ? ASC_OK : ASC_CANCELLED; /* some kinds do not say so */
    }
    return t->fail ? job_fail(j, 500, "broken", NULL, "this job breaks", NULL) : ASC_OK;
}

static inline void told_failed(job *j, void *self, const char *code, const char *message, const char *hint) {
    (void)self;
    (void)message;
    (void)hint;
    pthread_mutex_lock(&jobs.lock);
    jobs.failed++;
    pthread_mutex_unlock(&jobs.lock);
    job_event(j, "error", (asc_view){code, strlen(code)});
}

static inline void told_destroy(void *self) {
    pthread_mutex_lock(&jobs.lock);
    jobs.destroyed++;
    pthread_mutex_unlock(&jobs.lock);
    free(self);
}

static const job_kind told_kind = {
    .name = "told", .run = told_run, .failed = told_failed, .destroy = told_destroy};

static inline void handle_job(exchange *x) {
    asc_view body = exchange_body(x);
    json_t *doc = json_loadb(body.ptr != NULL ? body.ptr : "", body.len, 0, NULL);
    told *t = calloc(1, sizeof *t);
    const char *note = "";
    double seconds = 0;
    json_int_t bytes = 0, tokens = 0;
    if (t == NULL || doc == NULL ||
        json_unpack(doc, "{s?i,s?i,s?i,s?i,s?b,s?b,s?b,s?b,s?b,s?s,s?F,s?I,s?I}", "chunks", &t->chunks,
                    "think", &t->think, "ms", &t->ms, "size", &t->size, "hold", &t->hold, "stream",
                    &t->stream, "blind", &t->blind, "fail", &t->fail, "refuse", &t->refuse, "note", &note,
                    "seconds", &seconds, "bytes", &bytes, "tokens", &tokens) != 0) {
        exchange_fail(x, 400, "bad_json", NULL, "no such job", NULL, 0);
        free(t);
        json_decref(doc);
        return;
    }
    snprintf(t->note, sizeof t->note, "%s", note);
    json_decref(doc);
    while (t->think > 0 && !atomic_load(&jobs.let_go)) sleep_ms(5);
    if (t->think < 0) { /* on the bench, until it is stopped */
        serve_bench *b = server_lock_bench(x->s);
        asc_status st = ASC_OK;
        while (st == ASC_OK) {
            sleep_ms(10);
            st = asc_poll_cancel(b->ctx);
        }
        exchange_fail_status(x, b->ctx, st);
        server_unlock_bench(x->s);
        free(t);
        return;
    }
    exchange_submit(x, &told_kind, t,
                    &(job_price){.seconds = seconds, .bytes = (size_t)bytes, .tokens = (size_t)tokens});
}

/* Says what it was sent: length and sum of the bytes. */
static inline void handle_echo(exchange *x) {
    char text[200];
    asc_view body = exchange_body(x);
    unsigned sum = 0;
    const char *q = exchange_query(x, "q");
    for (size_t i = 0; i < body.len; i++) sum += (unsigned char)body.ptr[i];
    int n = snprintf(text, sizeof text, "echo %zu %u q=%s", body.len, sum, q != NULL ? q : "-");
    exchange_reply(x, 200, "text/plain", (asc_view){text, (size_t)n});
}

static inline void handle_part(exchange *x) {
    const char *id = exchange_part(x, "id"), *none = exchange_part(x, "other");
    exchange_reply(x, 200, "text/plain", (asc_view){id, none == NULL ? strlen(id) : 0});
}

static inline void handle_form(exchange *x) {
    char text[400];
    asc_view a = exchange_field(x, "a"), b = exchange_field(x, "b"), c = exchange_field(x, "c");
    int n = snprintf(text, sizeof text, "a=%.*s b=%.*s c=%s", (int)a.len, a.len > 0 ? a.ptr : "", (int)b.len,
                     b.len > 0 ? b.ptr : "", c.ptr == NULL ? "none" : "some");
    exchange_reply(x, 200, "text/plain", (asc_view){text, (size_t)n});
}

static inline void handle_page_fault(exchange *x) {
    asc_view a = exchange_field(x, "a");
    char text[200];
    snprintf(text, sizeof text, "no such thing: %.*s", (int)a.len, a.len > 0 ? a.ptr : "");
    exchange_fail(x, 400, "bad", NULL, text, text, 0);
}

enum { MUCH = 8000000 };

/* More than sockets hold. */
static inline void handle_much(exchange *x) {
    char *text = malloc(MUCH);
    if (text == NULL) return;
    memset(text, 'm', MUCH);
    exchange_reply(x, 200, "text/plain", (asc_view){text, MUCH});
    free(text);
}

static inline void handle_silent(exchange *x) { (void)x; }

static const serve_route test_routes[] = {
    {"GET", "/healthz", "", serve_health, false, true},
    {"GET", "/metrics", "", serve_metrics, false, false},
    {"GET", "/v1/jobs/{id}", "", serve_job_state, false, false},
    {"DELETE", "/v1/jobs/{id}", "", serve_job_cancel, false, false},
    {"POST", "/login", "", serve_login, true, true},
    {"GET", "/t/echo", "", handle_echo, false, false},
    {"POST", "/t/echo", "", handle_echo, false, false},
    {"GET", "/t/part/{id}.json", "", handle_part, false, false},
    {"POST", "/t/form", "", handle_form, true, false},
    {"POST", "/t/fault", "", handle_page_fault, true, false},
    {"GET", "/t/much", "", handle_much, false, false},
    {"GET", "/t/silent", "", handle_silent, false, false},
    {"POST", "/t/job", "", handle_job, false, false},
};

static inline server *serve_test_start(const serve_options *with) {
    serve_options o = with != NULL ? *with : (serve_options){0};
    server *s = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_data(SERVE_MODEL));
    if (o.model_path == NULL) o.model_path = path;
    o.ctx.n_threads = 1;
    o.quiet = true;
    memset(jobs.notes, 0, sizeof jobs.notes);
    jobs.destroyed = jobs.stopped = jobs.failed = 0;
    atomic_store(&jobs.let_go, false);
    if (o.max_seconds == 0)
        o.max_seconds = 1e6; /* and who is slow is not what is tested, but where it is said */
    if (o.idle_seconds == 0) o.idle_seconds = 1000;
    route_table t = {test_routes, sizeof test_routes / sizeof *test_routes};
    assert_int_equal(server_start(&o, t, &s), 0);
    s->o.model_path = "";
    return s;
}

/* ---- raw sockets ---- */

/* From an address of loopback, 127.0.0.N: another client. */
static inline int dial_from(const server *s, int n) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    a.sin_addr.s_addr = htonl(0x7f000000u + (unsigned)n);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons((uint16_t)s->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline int dial(const server *s) { return dial_from(s, 1); }

static inline bool send_bytes(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}
static inline bool send_text(int fd, const char *s) { return send_bytes(fd, s, strlen(s)); }

/* What arrives until the other side closes or `stop` was seen (NULL: never); NUL-terminated, the caller
 * frees. */
static inline char *receive(int fd, const char *stop) {
    size_t n = 0, cap = 1 << 16;
    char *text = malloc(cap);
    const double until = real_now() + PATIENCE_MS / 1000.0;
    bool end = false;
    assert_non_null(text);
    text[0] = '\0';
    while (!end && (stop == NULL || strstr(text, stop) == NULL)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left = until - real_now();
        if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) <= 0) fail_msg("nothing came behind: %s", text);
        if (n + 65536 > cap) text = realloc(text, cap *= 2);
        ssize_t k = recv(fd, text + n, 65535, 0);
        end = k <= 0;
        n += k > 0 ? (size_t)k : 0;
        text[n] = '\0';
    }
    return text;
}

/* One request on a connection of its own, which it asks to be closed; the whole reply. */
static inline char *ask_from(const server *s, int from, const char *head, const char *body) {
    char text[2048];
    int fd = dial_from(s, from);
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", head,
             body == NULL ? "\r\n" : "");
    bool sent = send_text(fd, text);
    if (body != NULL) {
        snprintf(text, sizeof text, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 strlen(body));
        sent = sent && send_text(fd, text) && send_text(fd, body);
    }
    assert_true(sent);
    char *reply = receive(fd, NULL);
    close(fd);
    return reply;
}
static inline char *ask(const server *s, const char *head, const char *body) {
    return ask_from(s, 1, head, body);
}

static inline int status_in(const char *reply) {
    int status = 0;
    return sscanf(reply, "HTTP/1.%*d %d", &status) == 1 ? status : 0;
}

static inline void expect_in(const char *reply, const char *words) {
    if (strstr(reply, words) == NULL) fail_msg("no '%s' in:\n%.2000s", words, reply);
}

static inline void expect(char *reply, int status, const char *words) {
    if (status_in(reply) != status) fail_msg("status %d, not %d:\n%.2000s", status_in(reply), status, reply);
    if (words != NULL) expect_in(reply, words);
    free(reply);
}

/* Waits until what the caller asks of the server, under its lock, is so; false: it never was. */
static inline bool wait_for(server *s, bool (*there)(const server *s, size_t a, size_t b), size_t a,
                            size_t b) {
    for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
        pthread_mutex_lock(&s->lock);
        bool is = there(s, a, b);
        pthread_mutex_unlock(&s->lock);
        if (is) return true;
        sleep_ms(5);
    }
    return false;
}

static inline bool jobs_are(const server *s, size_t running, size_t waiting) {
    return (s->running != NULL) == (running > 0) && s->queue.n == waiting;
}

/* Jobs running and waiting. */
static inline void wait_jobs(server *s, size_t running, size_t waiting) {
    if (!wait_for(s, jobs_are, running, waiting))
        fail_msg("never %zu running and %zu waiting", running, waiting);
}

#endif

/* serve.h - the HTTP server: how it is started, and what its parts share. Sees the public headers only.
 *
 * Threads: the HTTP library's own threads run handlers (parse, check, price, enqueue; never a model); one
 * worker owns context and model and runs jobs one after the other. Handlers that need tokens or a price
 * borrow a second context and subject (the model's file is mapped twice, which costs nothing) under a lock.
 */
#ifndef ASC_SERVE_H
#define ASC_SERVE_H

#include "ascribe/ask.h"
#include "ascribe/chat.h"

/* Zero-initialise; zeros are the defaults in brackets. Strings are borrowed until serve_run returns. */
typedef struct serve_options {
    const char *model_path;
    asc_model_options model;
    asc_ctx_options ctx;     /* of the worker */
    const char *host;        /* "127.0.0.1"; anything but loopback needs a token */
    int port;                /* 0 = any free one; the line that is printed names it */
    const char *token;       /* of "Authorization: Bearer"; NULL = none (loopback only) */
    const char *allow_hosts; /* more names that "Host:" may have, separated by commas; NULL = none */
    const char *store;       /* folder of saved results; NULL = kept in memory, the newest 64 */
    bool log_prompts;        /* else a line of the log holds route, status, times and sizes only */
    bool quiet;              /* no log of requests */
    size_t max_body_bytes;   /* [8 MiB] */
    size_t max_tokens;       /* of prompt and answer together [the model's context] */
    double max_seconds;      /* a job's predicted and real time [300] */
    size_t max_memory_bytes; /* a job's predicted peak [1 GiB] */
    size_t max_queue;        /* waiting jobs [32] */
    size_t max_clients;      /* open connections [128] */
    size_t max_store_bytes;  /* of all saved results [in memory 64 MiB, in a folder 1 GiB] */
    double idle_seconds;     /* a connection that sends nothing, or too slowly, is closed [10] */
} serve_options;

/* Opens the model, listens, prints one line with the address to standard output and serves until SIGINT or
 * SIGTERM: then no new job is taken, the running one ends (a second signal cancels it), waiting ones are told
 * 503. Returns a program's exit code (0, 2 usage, 3 input, 4 internal) with the message printed. */
int serve_run(const serve_options *o);

typedef struct server server;     /* all of it */
typedef struct exchange exchange; /* one request and its reply, as handlers see them; HTTP library hidden */
typedef struct job job;           /* work for the worker */

/* ---- exchange.c: for handlers ----------------------------------------------------------------------------
 */

server *exchange_server(exchange *x);
const char *exchange_path(const exchange *x);                     /* decoded, without the query */
asc_view exchange_body(const exchange *x);                        /* whole; its size was checked */
const char *exchange_header(const exchange *x, const char *name); /* NULL: not there */
const char *exchange_query(const exchange *x, const char *name);  /* ?name=value, decoded; NULL */
/* What stood for {name} of the route's path; NULL: the route has no such part. */
const char *exchange_part(const exchange *x, const char *name);
/* A field of a form (urlencoded or multipart; of a file its bytes); {NULL,0}: not there. */
asc_view exchange_field(exchange *x, const char *name);
/* Replies; each handler calls exactly one of these or exchange_submit. The text is copied. Every reply gets
 * the headers of security.c; one that is set here under the same name replaces it (a page of its own
 * Content-Security-Policy, Cache-Control of a file that never changes). */
void exchange_reply(exchange *x, int status, const char *content_type, asc_view body);
void exchange_reply_header(exchange *x, const char *name, const char *value); /* before the reply */
/* 303 to a path of this server. */
void exchange_redirect(exchange *x, const char *path);
/* {"error": {"message", "type", "code", "param", "hint"}}; of a browser's form: a page that says it. `param`
 * may be NULL; retry_after_s > 0 sends the header. */
void exchange_fail(exchange *x, int status, const char *code, const char *param, const char *message,
                   const char *hint, double retry_after_s);
/* The same for a status of the library: INVALID_ARGUMENT, OUT_OF_RANGE, NOT_FOUND -> 400; RESOURCE_EXHAUSTED
 * -> 413 (a limit) ; UNIMPLEMENTED, DATA_LOSS (of what the client sent) -> 400; UNAVAILABLE,
 * FAILED_PRECONDITION (file replaced) -> 503; rest 500.
 */
void exchange_fail_status(exchange *x, asc_ctx *ctx, asc_status st);

/* What a client is told when something cannot be done. Zero-initialise. */
typedef struct serve_fault {
    int status; /* of HTTP */
    char code[40], param[64], message[512], hint[320];
    double retry_after_s;
} serve_fault;
/* Fills f in; param and hint may be NULL. */
void serve_fault_set(serve_fault *f, int status, const char *code, const char *param, const char *message,
                     const char *hint);
/* By a status of the library and its context's message. */
void serve_fault_status(serve_fault *f, asc_ctx *ctx, asc_status st);
void exchange_fail_fault(exchange *x, const serve_fault *f);
/* Is this the server's token (compared in constant time; true when the server has none)? Then the reply sets
 * a cookie that stands for it: HttpOnly, SameSite=Strict. For pages; programs send the header. */
bool exchange_login(exchange *x, asc_view token);
/* May this exchange use routes that are not `open`? For pages that look different then. */
bool exchange_is_trusted(const exchange *x);

/* The second context and subject, for tokens, templates, prices. Between lock and unlock only. */
typedef struct serve_bench {
    asc_ctx *ctx;
    asc_subject *subject;
} serve_bench;
serve_bench *server_lock_bench(server *s);
void server_unlock_bench(server *s);
const serve_options *server_options(const server *s); /* with the defaults filled in */

/* ---- job.c: work --------------------------------------------------------------------------------------- */

/* What a job may use while it runs; ctx and subject are the worker's. Progress of the library reaches
 * job_kind.progress. */
typedef struct job_place {
    asc_ctx *ctx;
    asc_subject *subject;
    server *server;
} job_place;

typedef struct job_kind {
    const char *name; /* "explain", in /metrics and the log */
    /* In the worker. Writes the reply by job_begin and job_write; returns OK, the context's error, or what
     * job_fail returned. An error is reported to the client as exchange_fail would if nothing was sent yet,
     * else as a last event by `failed`. */
    asc_status (*run)(job *j, const job_place *at, void *self);
    /* In the worker, at most ten times a second; may write events; NULL = none. */
    void (*progress)(job *j, void *self, const char *what, double done, double total);
    /* Ends a reply that has begun; NULL = it is cut. */
    void (*failed)(job *j, void *self, const char *code, const char *message, const char *hint);
    void (*destroy)(void *self); /* in any thread, once */
} job_kind;

/* What a job is expected to take; checked against the limits before it is accepted. 0 = unknown. */
typedef struct job_price {
    double seconds;
    size_t bytes, tokens;
} job_price;

/* Takes `self`. Refuses by 413 (over a limit), 429 (this client waits for too much), 503 (queue full,
 * ending), each with a reason and Retry-After; the connection then waits for the job without holding a
 * thread. */
void exchange_submit(exchange *x, const job_kind *kind, void *self, const job_price *price);

/* In the worker: status, type and headers go out with the first byte. "text/event-stream" and other types
 * that have "stream" or "ndjson" in them are sent as they are written; others are held back while they are
 * small (256 KiB), so that a later error can still be the whole reply and the length is known. */
void job_begin(job *j, int status, const char *content_type);
void job_header(job *j, const char *name, const char *value); /* before job_begin */
/* Appends to the reply; waits while the client reads slowly (bounded buffer, bounded time). False: the client
 * is gone or the job is to stop; the worker's context has been cancelled. */
bool job_write(job *j, asc_view bytes);
bool job_writes(job *j, const char *s);
/* One server-sent event: "event: NAME" unless NULL, "data: " lines of v, an empty line. */
bool job_event(job *j, const char *name, asc_view v);
/* False: as of job_write; asks without writing. */
bool job_goes_on(job *j);
/* Tells the client something that is no error of the library; returns what `run` is to return. */
asc_status job_fail(job *j, int status, const char *code, const char *param, const char *message,
                    const char *hint);
asc_status job_fail_fault(job *j, const serve_fault *f);
/* Tokens read and written by this job, for /metrics and the log. */
void job_count_tokens(job *j, size_t prompt, size_t completion);
const char *
job_id(const job *j); /* 16 hex digits, also in the header X-Request-Id and for DELETE /v1/jobs/ID */

/* ---- store.c: saved results (permalinks)
 * ------------------------------------------------------------------- */

/* Keeps documents under an id made of their content; id gets 16 hex digits. Any thread. False: what to tell
 * the client is in *fault (507 with no room on the disk or over the limit; nothing that was there is lost).
 */
bool store_put(server *s, asc_view json, asc_view html, char id[17], serve_fault *fault);
/* kind "json" or "html"; appended to out. False: *fault (404: none of this id, or no longer kept). */
bool store_get(server *s, const char *id, const char *kind, asc_text *out, serve_fault *fault);

/* ---- routes.def ------------------------------------------------------------------------------------------
 * ROUTE(method, path, function, page, open, one line). A path is one row for each of its methods; HEAD and
 * OPTIONS need none.
 */

typedef struct serve_route {
    const char *method, *path, *doc; /* path "/v1/results/{id}.json": {..} matches [0-9a-z-]+, at most 64 */
    void (*handle)(exchange *x);
    bool page; /* for people (HTML): forms are read; else of the API: JSON errors, JSON bodies only */
    bool open; /* no token needed (/healthz, the page's own files) */
} serve_route;
extern const serve_route serve_routes[];
extern const size_t serve_n_routes;

#define ROUTE(method, path, handle, page, open, doc) void handle(exchange *x);
#include "routes.def"
#undef ROUTE

#endif

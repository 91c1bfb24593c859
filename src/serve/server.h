/* server.h - what the server's own files share; handlers (api_*, page*) see serve.h only.
 *
 * One lock, server.lock, guards connections, queue, jobs and their buffers. It is never held while a handler,
 * a job, a kind's function or a file runs. The bench has a lock of its own. Order: bench before server.
 */
#ifndef ASC_SERVER_H
#define ASC_SERVER_H

#include "serve.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    SERVE_MAX_PARTS = 2,
    SERVE_MAX_PART = 64,          /* bytes of a {part} of a path */
    SERVE_MAX_PATH = 2048,        /* bytes of a path, as sent */
    SERVE_HEADER_BYTES = 32768,   /* request line and headers; more: 431 or 414 */
    SERVE_HOLD_BYTES = 256 << 10, /* replies that are no streams wait until they are as long, or done */
    SERVE_BUFFER_BYTES = 1 << 20, /* of a reply that its client reads too slowly */
    SERVE_RECENT = 32,            /* clients whose turn is remembered */
    SERVE_THREADS = 4             /* of the HTTP library */
};
/* That reading and pricing one request may take, also where much else runs. */
static const double SERVE_BENCH_SECONDS = 10;

typedef struct header {
    struct header *next;
    char *value;
    char name[];
} header;

/* ---- conn.c: connections ---- */

typedef enum conn_phase { CONN_HEADERS, CONN_BODY, CONN_REPLY } conn_phase;

typedef struct conn {
    struct conn *prev, *next;
    exchange *x; /* NULL until the headers of a request are there */
    int fd;
    conn_phase phase;
    double since;    /* it was accepted, its last reply went out, or the headers of its request were there */
    size_t received; /* of the body */
    char address[64];
    bool sending;   /* a reply was handed to the library */
    double reading; /* all of it was there, and the client had read `read_at` bytes then; 0 = not yet */
    uint64_t read_at;
    uint64_t client; /* who that is, for fairness: the address, of IPv6 its first 64 bits */
    bool ended;      /* shut down for being slow */
} conn;

void conn_notify(void *cls, struct MHD_Connection *c, void **slot, enum MHD_ConnectionNotificationCode code);
/* The thread that notices clients that are gone or too slow, and jobs that take too long. */
void *conn_watch(void *cls);
/* Whether the other side will send nothing more: it is gone, or has closed its sending side. */
bool conn_has_left(int fd);

/* ---- exchange.c ---- */

typedef struct part {
    const char *name; /* in the route's path, name_len long */
    size_t name_len;
    char value[SERVE_MAX_PART + 1];
} part;

typedef struct field {
    struct field *next;
    char *name, *value;
    size_t len;
} field;

struct exchange {
    server *s;
    conn *c;
    struct MHD_Connection *mhd;
    char id[17], method[16];
    char *path;
    const serve_route *route; /* NULL: none fits */
    part parts[SERVE_MAX_PARTS];
    size_t n_parts;
    double begun; /* the request line was there */
    char *body;
    size_t body_len, body_cap, received;
    bool opened, discard, trusted, close, handled;
    exchange *next; /* at the desk */
    field *fields;
    bool fields_read;
    header *headers;
    struct MHD_Response *reply; /* not yet sent */
    int status;
    size_t reply_bytes;
    job *job;
    bool suspended; /* under server.lock */
};

void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *c);
enum MHD_Result exchange_access(void *cls, struct MHD_Connection *c, const char *url, const char *method,
                                const char *version, const char *data, size_t *n, void **slot);
void exchange_end(void *cls, struct MHD_Connection *c, void **slot, enum MHD_RequestTerminationCode why);
/* form.c */
void exchange_free_fields(exchange *x);

/* desk.c: where handlers run that may take a while. True: the connection is suspended until one has. */
bool desk_takes(exchange *x);
/* Whether the request of this id waits there or is handled. Call it with server.lock held. */
bool desk_has_id(const server *s, const char *id);
void *desk_main(void *cls);

/* ---- reply.c ---- */

bool header_set(header **list, const char *name, const char *value); /* false: no memory */
const char *header_get(const header *list, const char *name);
void header_free(header **list);
/* The headers of every reply, then those of the list. */
void reply_headers(struct MHD_Response *r, const exchange *x, const header *own);
/* The model's file is not what was opened. */
void model_changed_fault(serve_fault *f, asc_ctx *ctx, asc_status st);
/* The body of an error: JSON, or a page; made with malloc, NULL without memory. */
char *fault_body(const serve_fault *f, bool page, const char *request_id);

/* ---- guard.c: who may ask ---- */

/* Names that Host: may have: of loopback, of the address, of --host, of this machine, and the caller's. */
typedef struct guard_names {
    bool loopback, any_address; /* listening on loopback only; on every address */
    const char *host, *more;
    char machine[256], numeric[64];
} guard_names;
bool guard_host(const guard_names *n, const char *host);
bool guard_origin(const char *origin, const char *host); /* is it a page of this server? */
bool guard_same(asc_view a, asc_view b);                 /* the same bytes, in constant time */
asc_view guard_bearer(const char *authorization);        /* {NULL, 0}: no such thing */
bool guard_is_json(const char *type);
bool guard_is_form(const char *type);
bool guard_id(const char *id); /* 16 digits 0-9a-f */
/* Checks a request whose headers are there; true, or the reply was made. */
bool guard_check(exchange *x, const char *version);

/* ---- route.c ---- */

bool route_match(const char *pattern, const char *path, part *parts, size_t *n);
/* What a server answers: serve_routes, or a table of a test. */
typedef struct route_table {
    const serve_route *v;
    size_t n;
} route_table;
/* NULL: no route has this path; else *found is false where none has the method. */
const serve_route *route_find(route_table t, const char *method, const char *path, part *parts, size_t *n,
                              bool *found);
void route_allow(route_table t, const char *path, char *out, size_t size); /* "GET, HEAD, OPTIONS" */

/* ---- serve_job.c, serve_queue.c, worker.c ---- */

typedef enum job_stop { STOP_NONE, STOP_GONE, STOP_DELETED, STOP_TIME, STOP_SLOW, STOP_ENDING } job_stop;
typedef enum job_state { JOB_WAITING, JOB_RUNNING, JOB_ENDED } job_state;

struct job {
    job *next; /* of the same client, or dead */
    server *s;
    exchange *x; /* NULL: its client is gone */
    const job_kind *kind;
    void *self;
    job_price price;
    double expected; /* seconds, as corrected by what such jobs took */
    char id[17];
    uint64_t client;
    job_state state;
    job_stop stop;
    double submitted, started, ended, moved; /* moved: the last progress that was passed on */
    int refs;                                /* worker or queue, exchange */
    bool page, begun, streams, ready, handed, cut, closing;
    int status;
    char type[128];
    header *headers;
    char *out;
    size_t out_at, out_len, out_cap, written, read_slowly; /* read_slowly: while the worker waited for it */
    double slow_seconds;                                   /* that it waited */
    serve_fault fault;                                     /* status 0: none */
    char what[48];
    double done, total;
    size_t tokens_in, tokens_out;
};

/* All of these under server.lock. */
void job_unref(job *j);
void job_end(job *j, asc_status st); /* by the worker, or of one that never ran: `stop` says why */
void job_stop_now(job *j, job_stop why);
void job_stop_fault(const job *j, serve_fault *f); /* what its client is told of `stop` */
job *job_find(server *s, const char *id);
void job_wake(job *j);
/* Destroys what ended jobs held; not under the lock. */
void job_bury(server *s);
/* What to answer an exchange whose job is ready; false: not yet, the connection is suspended. */
bool job_reply(exchange *x);

typedef struct queue_client {
    struct queue_client *next; /* a ring */
    uint64_t client;
    job *head, *tail;
    size_t n;
} queue_client;

/* What jobs of a kind took so far. */
typedef struct kind_past {
    const char *name;
    double seconds, ratio; /* moving averages: of what they took, of that to what was predicted */
    uint64_t n;
} kind_past;
enum { SERVE_MAX_KINDS = 24 };

typedef struct job_queue {
    queue_client *ring; /* the last one that was served; its next is served next */
    size_t n;
    kind_past past[SERVE_MAX_KINDS];
    size_t n_past;
} job_queue;

bool queue_put(job_queue *q, job *j); /* false: no memory */
job *queue_take(job_queue *q);        /* the next one's first; NULL: empty */
bool queue_remove(job_queue *q, job *j);
size_t queue_of(const job_queue *q, uint64_t client);      /* how many wait */
double queue_seconds(const job_queue *q, uint64_t client); /* of these; 0: of all */
size_t queue_place(const job_queue *q, const job *j);      /* how many run before it */
double queue_expect(job_queue *q, const job_kind *k, double predicted);
void queue_learn(job_queue *q, const job *j);

void *worker_main(void *cls);
bool worker_progress(void *self, const char *what, double done, double total);

/* ---- metrics.c, log.c ---- */

typedef struct metrics metrics;
metrics *metrics_create(route_table t);
void metrics_destroy(metrics *m);
/* The HTTP library answered by itself. */
void metrics_refused(metrics *m, int status);
void metrics_request(metrics *m, const serve_route *r, int status, double seconds, size_t in, size_t out);
void metrics_job(metrics *m, const job *j);
/* What the log says of a job. */
typedef struct job_line {
    const char *kind;
    double waited, ran, predicted;
    size_t tokens_in, tokens_out;
    char code[40];
} job_line;
void serve_log(const exchange *x, const job_line *j, double seconds); /* j NULL: a handler answered */

/* ---- store.c ---- */

typedef struct store store;
/* folder NULL: in memory. NULL with a message printed: no folder that can be written. */
store *store_open(const char *folder, size_t max_bytes);
void store_close(store *st);
bool store_add(store *st, asc_view json, asc_view html, char id[17], serve_fault *fault);
void store_size(store *st, size_t *n, size_t *bytes);
/* The document, made with malloc. */
bool store_find(store *st, const char *id, const char *kind, char **out, size_t *len, serve_fault *fault);

/* ---- server.c ---- */

struct server {
    serve_options o;
    route_table routes;
    guard_names names;
    int port;
    char address[96]; /* "http://127.0.0.1:8080/" */
    char cookie[65];  /* what stands for the token in browsers, until this server ends */
    struct MHD_Daemon *daemon;
    int listener;
    pthread_mutex_t lock, bench_lock;
    pthread_cond_t work, room, tick, drained, asked;
    pthread_t worker, watcher, clerk;
    bool worker_on, watcher_on, clerk_on, closing, ending, model_changed;
    exchange *desk, *desk_last;    /* that wait there, the first one first */
    exchange *at_desk;             /* that is handled; NULL: none */
    uint64_t recent[SERVE_RECENT]; /* clients that the desk served last, the newest first */
    double bench_since;            /* it was locked; 0: it is free */
    bool bench_stopped;            /* its work was cancelled for taking too long */
    conn *conns;
    size_t n_conns, n_exchanges, body_bytes;
    job_queue queue;
    job *running, *dead;
    job_place place;
    serve_bench bench;
    asc_mem_stats memory; /* of the worker's context, lately */
    metrics *metrics;
    store *store;
    double begun;
};

/* Opens the model, listens and serves; the exit code, and a message printed. */
int server_start(const serve_options *o, route_table routes, server **out);
size_t server_stop_jobs(server *s,
                        bool cancel); /* no new jobs; waiting ones are told; with cancel: the running too */
bool server_is_idle(server *s, double seconds); /* waits so long for the last job and reply */
void server_stop(server *s);                    /* and frees it; NULL is accepted */

int listen_open(const char *host, int port, guard_names *names, int *out_port, int *out_fd); /* exit code */

bool serve_random_hex(char *out, size_t bytes); /* two digits a byte and a NUL */

/* ---- clock.c ---- */

double serve_now(void); /* seconds, monotonic */
void serve_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds);

#endif

/* metrics.c - what happened so far, in Prometheus' text format. Names and help come from metrics.def. */
#include "server.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum metric_id {
#define METRIC(id, name, type, help) METRIC_##id,
#include "metrics.def"
#undef METRIC
    N_METRICS
} metric_id;

static const struct {
    const char *name, *type, *help;
} table[N_METRICS] = {
#define METRIC(id, name, type, help) {"ascribe_" name, type, help},
#include "metrics.def"
#undef METRIC
};

static const double bounds[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
enum { N_BOUNDS = sizeof bounds / sizeof *bounds, MAX_COUNTS = 512, MAX_REFUSED = 16, N_ENDS = 3 };

typedef struct histogram {
    uint64_t at[N_BOUNDS + 1];
    double sum;
} histogram;

typedef struct route_count {
    const serve_route *route; /* NULL: no route */
    int status;
    uint64_t n;
} route_count;

typedef struct kind_count {
    const char *name;
    uint64_t ends[N_ENDS], tokens_in, tokens_out;
    histogram wait, run;
    double predicted, actual;
} kind_count;

struct metrics {
    pthread_mutex_t lock;
    route_table routes;
    route_count counts[MAX_COUNTS];
    route_count refused[MAX_REFUSED]; /* by the library: of no route */
    size_t n_counts, n_refused, n_kinds;
    kind_count kinds[SERVE_MAX_KINDS];
    uint64_t in, out;
    histogram *seconds; /* of each route, then of none */
};

metrics *metrics_create(route_table t) {
    metrics *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->routes = t;
    m->seconds = calloc(t.n + 1, sizeof *m->seconds);
    if (m->seconds != NULL && pthread_mutex_init(&m->lock, NULL) == 0) return m;
    free(m->seconds);
    free(m);
    return NULL;
}

void metrics_destroy(metrics *m) {
    if (m == NULL) return;
    pthread_mutex_destroy(&m->lock);
    free(m->seconds);
    free(m);
}

static void observe(histogram *h, double v) {
    size_t i = 0;
    while (i < N_BOUNDS && v > bounds[i]) i++;
    h->at[i]++;
    h->sum += v;
}

void metrics_request(metrics *m, const serve_route *r, int status, double seconds, size_t in, size_t out) {
    size_t i = 0;
    pthread_mutex_lock(&m->lock);
    while (i < m->n_counts && (m->counts[i].route != r || m->counts[i].status != status)) i++;
    if (i == m->n_counts && i < MAX_COUNTS) m->counts[m->n_counts++] = (route_count){r, status, 0};
    if (i < MAX_COUNTS) m->counts[i].n++;
    observe(&m->seconds[r != NULL ? (size_t)(r - m->routes.v) : m->routes.n], seconds);
    m->in += in;
    m->out += out;
    pthread_mutex_unlock(&m->lock);
}

void metrics_refused(metrics *m, int status) {
    size_t i = 0;
    pthread_mutex_lock(&m->lock);
    while (i < m->n_refused && m->refused[i].status != status) i++;
    if (i == m->n_refused && i < MAX_REFUSED) m->refused[m->n_refused++].status = status;
    if (i < MAX_REFUSED) m->refused[i].n++;
    pthread_mutex_unlock(&m->lock);
}

void metrics_job(metrics *m, const job *j) {
    size_t i = 0;
    pthread_mutex_lock(&m->lock);
    while (i < m->n_kinds && strcmp(m->kinds[i].name, j->kind->name) != 0) i++;
    if (i == m->n_kinds && i < SERVE_MAX_KINDS) m->kinds[m->n_kinds++].name = j->kind->name;
    if (i < SERVE_MAX_KINDS) {
        kind_count *k = &m->kinds[i];
        bool ran = j->started > 0, done = j->fault.status == 0;
        k->ends[done ? 0 : j->stop == STOP_NONE ? 1 : 2]++;
        k->tokens_in += j->tokens_in;
        k->tokens_out += j->tokens_out;
        observe(&k->wait, (ran ? j->started : j->ended) - j->submitted);
        if (ran) observe(&k->run, j->ended - j->started);
        if (ran && done && j->price.seconds > 0) {
            k->predicted += j->price.seconds;
            k->actual += j->ended - j->started;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- writing ---- */

static void head(FILE *out, metric_id id) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", table[id].name, table[id].help, table[id].name,
            table[id].type);
}

static void one(FILE *out, metric_id id, double v) {
    head(out, id);
    fprintf(out, "%s %.17g\n", table[id].name, v);
}

static void put_histogram(FILE *out, metric_id id, const char *label, const char *value, const histogram *h) {
    uint64_t n = 0;
    for (size_t i = 0; i <= N_BOUNDS; i++) {
        n += h->at[i];
        fprintf(out, "%s_bucket{%s=\"%s\",le=\"", table[id].name, label, value);
        if (i < N_BOUNDS)
            fprintf(out, "%g\"} %llu\n", bounds[i], (unsigned long long)n);
        else
            fprintf(out, "+Inf\"} %llu\n", (unsigned long long)n);
    }
    fprintf(out, "%s_sum{%s=\"%s\"} %.9g\n", table[id].name, label, value, h->sum);
    fprintf(out, "%s_count{%s=\"%s\"} %llu\n", table[id].name, label, value, (unsigned long long)n);
}

/* Method and path, so that no label says what a client made up. */
static const char *name_of(const serve_route *r, char *out, size_t size) {
    snprintf(out, size, "%s %s", r != NULL ? r->method : "-", r != NULL ? r->path : "-");
    return out;
}

static void put_requests(FILE *out, const metrics *m) {
    char name[160];
    head(out, METRIC_REQUESTS);
    for (size_t i = 0; i < m->n_counts; i++)
        fprintf(out, "%s{route=\"%s\",status=\"%d\"} %llu\n", table[METRIC_REQUESTS].name,
                name_of(m->counts[i].route, name, sizeof name), m->counts[i].status,
                (unsigned long long)m->counts[i].n);
    head(out, METRIC_REFUSED);
    for (size_t i = 0; i < m->n_refused; i++)
        fprintf(out, "%s{status=\"%d\"} %llu\n", table[METRIC_REFUSED].name, m->refused[i].status,
                (unsigned long long)m->refused[i].n);
    head(out, METRIC_REQUEST_SECONDS);
    for (size_t i = 0; i <= m->routes.n; i++) {
        const histogram *h = &m->seconds[i];
        uint64_t n = 0;
        for (size_t k = 0; k <= N_BOUNDS; k++) n += h->at[k];
        if (n > 0)
            put_histogram(out, METRIC_REQUEST_SECONDS, "route",
                          name_of(i < m->routes.n ? &m->routes.v[i] : NULL, name, sizeof name), h);
    }
    one(out, METRIC_RECEIVED, (double)m->in);
    one(out, METRIC_SENT, (double)m->out);
}

static void put_jobs(FILE *out, const metrics *m) {
    static const char *const ends[N_ENDS] = {"done", "failed", "cancelled"};
    head(out, METRIC_JOBS);
    for (size_t i = 0; i < m->n_kinds; i++)
        for (size_t e = 0; e < N_ENDS; e++)
            fprintf(out, "%s{kind=\"%s\",end=\"%s\"} %llu\n", table[METRIC_JOBS].name, m->kinds[i].name,
                    ends[e], (unsigned long long)m->kinds[i].ends[e]);
    head(out, METRIC_WAIT_SECONDS);
    for (size_t i = 0; i < m->n_kinds; i++)
        put_histogram(out, METRIC_WAIT_SECONDS, "kind", m->kinds[i].name, &m->kinds[i].wait);
    head(out, METRIC_RUN_SECONDS);
    for (size_t i = 0; i < m->n_kinds; i++)
        put_histogram(out, METRIC_RUN_SECONDS, "kind", m->kinds[i].name, &m->kinds[i].run);
    head(out, METRIC_PREDICTED);
    for (size_t i = 0; i < m->n_kinds; i++)
        fprintf(out, "%s{kind=\"%s\"} %.9g\n", table[METRIC_PREDICTED].name, m->kinds[i].name,
                m->kinds[i].predicted);
    head(out, METRIC_ACTUAL);
    for (size_t i = 0; i < m->n_kinds; i++)
        fprintf(out, "%s{kind=\"%s\"} %.9g\n", table[METRIC_ACTUAL].name, m->kinds[i].name,
                m->kinds[i].actual);
    head(out, METRIC_TOKENS);
    for (size_t i = 0; i < m->n_kinds; i++)
        fprintf(out, "%s{kind=\"%s\",side=\"prompt\"} %llu\n%s{kind=\"%s\",side=\"completion\"} %llu\n",
                table[METRIC_TOKENS].name, m->kinds[i].name, (unsigned long long)m->kinds[i].tokens_in,
                table[METRIC_TOKENS].name, m->kinds[i].name, (unsigned long long)m->kinds[i].tokens_out);
}

static double resident_bytes(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long long size = 0, resident = 0;
    if (f == NULL) return 0;
    int n = fscanf(f, "%llu %llu", &size, &resident);
    fclose(f);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

static void put_memory(FILE *out, const asc_mem_stats *m) {
    head(out, METRIC_MEMORY_LIVE);
    for (int i = 0; i < ASC_MEM_N_TAGS; i++)
        fprintf(out, "%s{tag=\"%s\"} %zu\n", table[METRIC_MEMORY_LIVE].name, asc_mem_tag_name((asc_mem_tag)i),
                m->live_bytes[i]);
    head(out, METRIC_MEMORY_PEAK);
    for (int i = 0; i < ASC_MEM_N_TAGS; i++)
        fprintf(out, "%s{tag=\"%s\"} %zu\n", table[METRIC_MEMORY_PEAK].name, asc_mem_tag_name((asc_mem_tag)i),
                m->peak_bytes[i]);
    one(out, METRIC_MEMORY_MAPPED, (double)m->mapped_bytes);
    one(out, METRIC_RESIDENT, resident_bytes());
}

static void put_server(FILE *out, server *s) {
    pthread_mutex_lock(&s->lock);
    size_t conns = s->n_conns, waiting = s->queue.n;
    double seconds = queue_seconds(&s->queue, 0);
    bool running = s->running != NULL;
    asc_mem_stats memory = s->memory;
    pthread_mutex_unlock(&s->lock);
    one(out, METRIC_CONNECTIONS, (double)conns);
    one(out, METRIC_QUEUE, (double)waiting);
    one(out, METRIC_QUEUE_SECONDS, seconds);
    one(out, METRIC_RUNNING, running);
    put_memory(out, &memory);
}

void serve_metrics(exchange *x) {
    server *s = x->s;
    char *text = NULL;
    size_t n = 0, results, bytes;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL) return;
    head(out, METRIC_BUILD);
    fprintf(out, "%s{version=\"%s\"} 1\n", table[METRIC_BUILD].name, asc_version());
    one(out, METRIC_UP_SECONDS, serve_now() - s->begun);
    put_server(out, s);
    pthread_mutex_lock(&s->metrics->lock);
    put_requests(out, s->metrics);
    put_jobs(out, s->metrics);
    pthread_mutex_unlock(&s->metrics->lock);
    store_size(s->store, &results, &bytes);
    one(out, METRIC_STORED, (double)results);
    one(out, METRIC_STORED_BYTES, (double)bytes);
    if (fclose(out) == 0)
        exchange_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", (asc_view){text, n});
    free(text);
}

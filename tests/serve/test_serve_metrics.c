/* test_serve_metrics.c - /metrics read by the rules of Prometheus' text format (prometheus.io, "Exposition
 * formats"): every sample belongs to a family that was announced, families are in one piece, counters end in
 * _total and never fall, histograms add up; and the numbers are those of what was asked. */
#include "serve_fixture.h"
#include <ctype.h>
#include <math.h>

enum { MAX_SAMPLES = 2000 };

typedef struct sample {
    char name[128], labels[256], family[128], type[16];
    double value;
} sample;

typedef struct scrape {
    sample v[MAX_SAMPLES];
    size_t n;
} scrape;

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* name{label="value",...}: where the name and the labels end. */
static const char *read_labels(const char *at, const char *line) {
    if (*at != '{') return at;
    at++;
    while (*at != '}') {
        size_t n = 0;
        while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
        if (n == 0 || isdigit((unsigned char)at[0]) || at[n] != '=' || at[n + 1] != '"')
            fail_msg("labels: %s", line);
        for (at += n + 2; *at != '"'; at++) {
            if (*at == '\0') fail_msg("label without end: %s", line);
            if (*at == '\\' && strchr("\\\"n", *++at) == NULL) fail_msg("escape: %s", line);
        }
        at++;
        if (*at == ',')
            at++;
        else if (*at != '}')
            fail_msg("labels: %s", line);
    }
    return at + 1;
}

static void read_sample(scrape *s, const char *line, const char *family, const char *type) {
    sample *m = &s->v[s->n++];
    size_t n = 0;
    char *end;
    assert_true(s->n < MAX_SAMPLES);
    while (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == ':') n++;
    if (n == 0 || isdigit((unsigned char)line[0])) fail_msg("name: %s", line);
    const char *labels_end = read_labels(line + n, line);
    snprintf(m->name, sizeof m->name, "%.*s", (int)n, line);
    snprintf(m->labels, sizeof m->labels, "%.*s", (int)(labels_end - line - (ptrdiff_t)n), line + n);
    snprintf(m->family, sizeof m->family, "%s", family);
    snprintf(m->type, sizeof m->type, "%s", type);
    if (*labels_end != ' ') fail_msg("no blank before the value: %s", line);
    m->value = strtod(labels_end + 1, &end);
    if (end == labels_end + 1 || *end != '\0') fail_msg("value: %s", line);
    bool histogram = strcmp(type, "histogram") == 0, fits = strcmp(m->name, family) == 0;
    if (histogram)
        fits = strncmp(m->name, family, strlen(family)) == 0 &&
               (ends_in(m->name, "_bucket") || ends_in(m->name, "_sum") || ends_in(m->name, "_count"));
    if (!fits) fail_msg("%s does not belong to %s", m->name, family);
    if (ends_in(m->name, "_total") != (strcmp(type, "counter") == 0)) fail_msg("%s is a %s", m->name, type);
    for (size_t i = 0; i + 1 < s->n; i++)
        if (strcmp(s->v[i].name, m->name) == 0 && strcmp(s->v[i].labels, m->labels) == 0)
            fail_msg("twice: %s", line);
}

/* The buckets of a histogram rise to +Inf, which is its count. */
static void check_histograms(const scrape *s) {
    double last = 0, infinite = -1;
    for (size_t i = 0; i < s->n; i++) {
        const sample *m = &s->v[i];
        if (strcmp(m->type, "histogram") != 0) continue;
        if (ends_in(m->name, "_bucket")) {
            if (m->value < last) fail_msg("%s%s falls", m->name, m->labels);
            last = m->value;
            if (strstr(m->labels, "le=\"+Inf\"") != NULL) {
                infinite = m->value;
                last = 0;
            }
        } else if (ends_in(m->name, "_count")) {
            assert_true(m->value == infinite);
            infinite = -1;
        }
    }
}

static void read_metrics(server *from, scrape *s) {
    char *reply = ask(from, "GET /metrics", NULL), *save = NULL, seen[100][128], family[128] = "",
         type[16] = "";
    size_t families = 0;
    assert_int_equal(status_in(reply), 200);
    expect_in(reply, "Content-Type: text/plain; version=0.0.4");
    char *body = strstr(reply, "\r\n\r\n") + 4;
    assert_true(body[strlen(body) - 1] == '\n');
    memset(s, 0, sizeof *s);
    for (char *line = strtok_r(body, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_int_equal(sscanf(line, "# HELP %127s", family), 1);
            for (size_t i = 0; i < families; i++)
                if (strcmp(seen[i], family) == 0) fail_msg("%s in two pieces", family);
            strcpy(seen[families++], family);
            type[0] = '\0';
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            char name[128];
            assert_int_equal(sscanf(line, "# TYPE %127s %15s", name, type), 2);
            assert_string_equal(name, family);
        } else {
            assert_true(line[0] != '#' && type[0] != '\0');
            read_sample(s, line, family, type);
        }
    }
    check_histograms(s);
    free(reply);
}

static double value_of(const scrape *s, const char *name, const char *labels) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0 && strcmp(s->v[i].labels, labels) == 0) return s->v[i].value;
    return NAN;
}

static void expect_sample(const scrape *s, const char *name, const char *labels, double want) {
    double v = value_of(s, name, labels);
    if (v != want) fail_msg("%s%s is %g, not %g", name, labels, v, want);
}

static scrape before, after;

static void test_numbers(void **state) {
    server *s = serve_test_start(NULL);
    char id[17];
    serve_fault f = {0};
    const double begun = serve_now();
    (void)state;
    read_metrics(s, &before);
    for (int i = 0; i < 3; i++)
        expect(ask(s, "POST /t/job", "{\"chunks\": 2, \"ms\": 20, \"size\": 50, \"seconds\": 0.5}"), 200,
               NULL);
    expect(ask(s, "POST /t/job", "{\"fail\": true}"), 500, NULL);
    expect(ask(s, "POST /t/job", "{\"seconds\": 9e9}"), 413, NULL);
    expect(ask(s, "GET /nothing/at\"all{}\\", NULL), 404, NULL);
    assert_true(store_put(s, (asc_view){"{}", 2}, (asc_view){"<p>", 3}, id, &f));
    static const char *const unreadable[] = {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n",
                                             "GET /healthz HTTP/1.1\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) { /* what the HTTP library answers itself */
        int fd = dial(s);
        send_text(fd, unreadable[i]);
        char *reply = receive(fd, "\r\n\r\n");
        assert_int_equal(status_in(reply), 400);
        free(reply);
        close(fd);
    }
    assert_true(server_is_idle(s, PATIENCE_MS / 1000.0));
    read_metrics(s, &after);
    expect_sample(&after, "ascribe_refused_total", "{status=\"400\"}", 2);
    expect_sample(&after, "ascribe_requests_total", "{route=\"POST /t/job\",status=\"200\"}", 3);
    expect_sample(&after, "ascribe_requests_total", "{route=\"POST /t/job\",status=\"500\"}", 1);
    expect_sample(&after, "ascribe_requests_total", "{route=\"POST /t/job\",status=\"413\"}", 1);
    expect_sample(&after, "ascribe_requests_total", "{route=\"- -\",status=\"404\"}", 1);
    expect_sample(&after, "ascribe_jobs_total", "{kind=\"told\",end=\"done\"}", 3);
    expect_sample(&after, "ascribe_jobs_total", "{kind=\"told\",end=\"failed\"}", 1);
    expect_sample(&after, "ascribe_job_run_seconds_count", "{kind=\"told\"}", 4);
    expect_sample(&after, "ascribe_job_predicted_seconds_total", "{kind=\"told\"}", 1.5);
    expect_sample(&after, "ascribe_tokens_total", "{kind=\"told\",side=\"prompt\"}", 12);
    expect_sample(&after, "ascribe_tokens_total", "{kind=\"told\",side=\"completion\"}", 16);
    expect_sample(&after, "ascribe_queue_jobs", "", 0);
    expect_sample(&after, "ascribe_running_jobs", "", 0);
    expect_sample(&after, "ascribe_stored_results", "", 1);
    expect_sample(&after, "ascribe_stored_bytes", "", 5);
    double ran = value_of(&after, "ascribe_job_actual_seconds_total", "{kind=\"told\"}");
    assert_true(ran > 3 * 0.04 && ran < serve_now() - begun);
    assert_true(value_of(&after, "ascribe_resident_bytes", "") > 1e6);
    assert_true(value_of(&after, "ascribe_memory_live_bytes", "{tag=\"tokenizer\"}") > 0);
    assert_true(value_of(&after, "ascribe_memory_mapped_bytes", "") > 10000);
    for (size_t i = 0; i < before.n; i++) { /* counters do not fall, and nothing disappears */
        double now = value_of(&after, before.v[i].name, before.v[i].labels);
        if (isnan(now)) fail_msg("%s%s is gone", before.v[i].name, before.v[i].labels);
        if (strcmp(before.v[i].type, "counter") == 0) assert_true(now >= before.v[i].value);
    }
    server_stop(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

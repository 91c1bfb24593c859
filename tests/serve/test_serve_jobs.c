/* test_serve_jobs.c - jobs: limits, the fair queue, replies that stream, clients that leave or read slowly,
 * cancelling, and the server's end. */
#include "serve_fixture.h"

static char *post_from(const server *s, int from, const char *body) {
    return ask_from(s, from, "POST /t/job", body);
}
static char *post(const server *s, const char *body) { return post_from(s, 1, body); }

/* Sends the request and leaves the reply for later. */
static int begin(const server *s, int from, const char *id, const char *body) {
    char text[1024], own[64] = "";
    int fd = dial_from(s, from);
    if (id != NULL) snprintf(own, sizeof own, "X-Request-Id: %s\r\n", id);
    snprintf(
        text, sizeof text,
        "POST /t/job HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        own, strlen(body), body);
    assert_true(send_text(fd, text));
    return fd;
}

static char *finish(int fd) {
    char *reply = receive(fd, NULL);
    close(fd);
    return reply;
}

static void test_replies(void **state) {
    server *s = serve_test_start(NULL);
    (void)state;
    char *reply = post(s, "{\"chunks\": 3, \"size\": 4, \"ms\": 10}");
    assert_int_equal(status_in(reply), 200);
    expect_in(reply, "Content-Length: 12\r\n"); /* what is small is sent whole */
    expect_in(reply, "X-Told: yes");
    expect_in(reply, "aaaabbbbcccc");
    free(reply);
    reply = post(s, "{\"chunks\": 2, \"size\": 4, \"ms\": 30, \"stream\": true}");
    expect_in(reply, "Transfer-Encoding: chunked");
    expect_in(reply, "event: piece\ndata: aaaa\n\n");
    expect_in(reply, "event: piece\ndata: bbbb\n\n");
    free(reply);
    reply = post(s, "{\"chunks\": 30, \"size\": 100000}"); /* 3 MB: more than any buffer */
    const char *p = reply;
    size_t n = 0;
    for (p = strstr(reply, "\r\n\r\n"); *p != '\0'; p++) n += *p >= 'a' && *p <= 'z';
    assert_true(n >= 3000000);
    free(reply);
    expect(post(s, "{\"refuse\": true}"), 400, "\"param\":\"refuse\"");
    expect(post(s, "{\"chunks\": 1, \"size\": 5, \"fail\": true}"), 500,
           "\"code\":\"broken\""); /* not the five */
    int fd =
        begin(s, 1, NULL, "{\"chunks\": 2, \"size\": 5, \"hold\": true, \"stream\": true, \"fail\": true}");
    reply = receive(fd, "data: aaaaa");
    assert_int_equal(status_in(reply), 200);
    free(reply);
    atomic_store(&jobs.let_go, true);
    reply = finish(fd);
    expect_in(reply, "event: error\ndata: broken\n\n"); /* too late for a status */
    free(reply);
    assert_int_equal(jobs.destroyed, 6);
    server_stop(s);
}

static void test_limits(void **state) {
    server *s = serve_test_start(
        &(serve_options){.max_tokens = 10, .max_seconds = 1, .max_memory_bytes = 1000 << 20, .max_queue = 4});
    (void)state;
    expect(post(s, "{\"tokens\": 11}"), 413, "too_many_tokens");
    expect(post(s, "{\"bytes\": 2000000000}"), 413, "too_much_memory");
    expect(post(s, "{\"seconds\": 1.5}"), 413, "too_long");
    assert_int_equal(jobs.destroyed, 3);
    expect(post(s, "{\"chunks\": 1, \"hold\": true}"), 503, "too_long"); /* really too long */
    server_stop(s);
    s = serve_test_start(&(serve_options){.max_queue = 4});
    /* one client may have half the queue, all of them together all of it */
    int fd[5];
    const char *slow = "{\"chunks\": 1, \"hold\": true, \"size\": 1, \"seconds\": 0.9}";
    fd[0] = begin(s, 1, NULL, slow);
    wait_jobs(s, 1, 0);
    fd[1] = begin(s, 1, NULL, slow);
    fd[2] = begin(s, 1, NULL, slow);
    wait_jobs(s, 1, 2);
    char *reply = post_from(s, 1, slow);
    expect_in(reply, "Retry-After: ");
    expect(reply, 429, "too_many_waiting");
    fd[3] = begin(s, 2, NULL, slow);
    fd[4] = begin(s, 2, NULL, slow);
    wait_jobs(s, 1, 4);
    reply = post_from(s, 3, slow);
    int wait = 0;
    assert_int_equal(sscanf(strstr(reply, "Retry-After: "), "Retry-After: %d", &wait), 1);
    assert_in_range(wait, 1, 6); /* five jobs that are to take 0.9 s at most */
    expect(reply, 503, "queue_full");
    atomic_store(&jobs.let_go, true);
    for (int i = 0; i < 5; i++) expect(finish(fd[i]), 200, NULL);
    server_stop(s);
}

/* In turn over clients, whoever came with many; in order within one. */
static void test_fair(void **state) {
    server *s = serve_test_start(NULL);
    int fd[9], n = 0;
    (void)state;
    fd[n++] = begin(s, 1, NULL, "{\"chunks\": 1, \"hold\": true, \"note\": \"x\"}");
    wait_jobs(s, 1, 0);
    static const char *const first[] = {"1", "2", "3", "4"};
    char body[100];
    for (int i = 0; i < 4; i++) {
        snprintf(body, sizeof body, "{\"note\": \"a%s\", \"chunks\": 1}", first[i]);
        fd[n++] = begin(s, 1, NULL, body);
        wait_jobs(s, 1, (size_t)n - 1);
    }
    for (int client = 2; client < 4; client++) {
        for (int i = 0; i < 2; i++) {
            snprintf(body, sizeof body, "{\"note\": \"%c%s\", \"chunks\": 1}", client == 2 ? 'b' : 'c',
                     first[i]);
            fd[n++] = begin(s, client, NULL, body);
            wait_jobs(s, 1, (size_t)n - 1);
        }
    }
    atomic_store(&jobs.let_go, true);
    for (int i = 0; i < n; i++) expect(finish(fd[i]), 200, NULL);
    assert_string_equal(jobs.notes, "xa1b1c1a2b2c2a3a4");
    server_stop(s);
}

/* `running` is not asked: how many wait at the desk, beside the one that is served there. */
static bool desk_has(const server *s, size_t running, size_t waiting) {
    size_t n = 0;
    (void)running;
    for (const exchange *x = s->desk; x != NULL; x = x->next) n++;
    return n == waiting && s->recent[0] != 0;
}

/* Handlers that take long (as pricing may) wait in turn as well, and others than them do not wait at all. */
static void test_desk(void **state) {
    server *s = serve_test_start(NULL);
    int fd[5];
    static const char *const ids[5] = {"00000000000000aa", NULL, "00000000000000bb", NULL, NULL};
    (void)state;
    for (int i = 0; i < 5; i++) {
        fd[i] = begin(s, i < 4 ? 1 : 2, ids[i],
                      i == 0  ? "{\"think\": 1, \"note\": \"x\"}"
                      : i < 4 ? "{\"note\": \"a\"}"
                              : "{\"note\": \"b\"}");
        assert_true(wait_for(s, desk_has, 0, (size_t)i));
    }
    expect(ask(s, "GET /healthz", NULL), 200, NULL);
    /* where they are is known, of the one that is handled and of those that wait */
    expect(ask(s, "GET /v1/jobs/00000000000000aa", NULL), 200, "\"state\":\"pricing\"");
    expect(ask(s, "GET /v1/jobs/00000000000000bb", NULL), 200, "\"state\":\"pricing\"");
    assert_true(wait_for(s, desk_has, 0, 4)); /* they all still are there */
    atomic_store(&jobs.let_go, true);
    for (int i = 0; i < 5; i++) expect(finish(fd[i]), 200, NULL);
    assert_string_equal(jobs.notes, "xbaaa");
    server_stop(s);
}

/* Work on the bench that does not end is cancelled; the client is told, and the next one is served. */
static void test_bench_limit(void **state) {
    server *s = serve_test_start(NULL);
    (void)state;
    expect(post(s, "{\"think\": -1}"), 413, "too_long_to_price");
    expect(post(s, "{\"chunks\": 1, \"size\": 2}"), 200, "aa");
    server_stop(s);
}

static void test_cancel(void **state) {
    server *s = serve_test_start(NULL);
    char *reply;
    (void)state;
    int runs = begin(s, 1, "00000000000000aa", "{\"chunks\": 1, \"hold\": true}");
    wait_jobs(s, 1, 0);
    int waits = begin(s, 1, "00000000000000bb", "{\"chunks\": 1, \"hold\": true}");
    wait_jobs(s, 1, 1);
    reply = ask(s, "GET /v1/jobs/00000000000000aa", NULL);
    for (int i = 0; i < PATIENCE_MS / 50 && strstr(reply, "\"what\":\"waiting\"") == NULL; i++) {
        sleep_ms(50);
        free(reply);
        reply = ask(s, "GET /v1/jobs/00000000000000aa", NULL);
    }
    expect_in(reply, "\"state\":\"running\"");
    expect(reply, 200, "\"what\":\"waiting\"");
    expect(ask(s, "GET /v1/jobs/00000000000000bb", NULL), 200, "\"before\":1");
    reply = ask(s, "GET /t/echo HTTP/1.1\r\nX-Request-Id: 00000000000000bb\r\nX-A:", NULL);
    assert_null(strstr(reply, "00000000000000bb")); /* somebody has it */
    free(reply);
    expect(ask(s, "GET /v1/jobs/00000000000000cc", NULL), 404, NULL);
    expect(ask(s, "DELETE /v1/jobs/00000000000000bb", NULL), 204, NULL);
    expect(finish(waits), 499, "cancelled");
    expect(ask(s, "DELETE /v1/jobs/00000000000000aa", NULL), 204, NULL);
    expect(finish(runs), 499, "cancelled");
    assert_int_equal(jobs.stopped, 1);
    expect(ask(s, "DELETE /v1/jobs/00000000000000aa", NULL), 404, NULL);
    runs = begin(s, 1, "00000000000000dd", "{\"blind\": true}");
    wait_jobs(s, 1, 0);
    expect(ask(s, "DELETE /v1/jobs/00000000000000dd", NULL), 204, NULL);
    expect(finish(runs), 499, "cancelled");
    expect(post(s, "{\"chunks\": 1, \"size\": 1, \"ms\": 20}"), 200,
           NULL); /* and the context is good again */
    /* one that has begun its answer ends it with the error, also when its kind takes the end for a good one
     */
    runs =
        begin(s, 1, "00000000000000ee", "{\"chunks\": 100000000, \"ms\": 20, \"size\": 3, \"stream\": true}");
    free(receive(runs, "data: bbb"));
    expect(ask(s, "DELETE /v1/jobs/00000000000000ee", NULL), 204, NULL);
    reply = finish(runs);
    expect_in(reply, "event: error\ndata: cancelled\n\n");
    free(reply);
    server_stop(s);
    assert_int_equal(jobs.destroyed, 5);
}

/* Clients that leave while their job waits, runs silently, streams; and one that only stops sending. */
static void test_leaving(void **state) {
    server *s = serve_test_start(NULL);
    (void)state;
    int runs = begin(s, 1, NULL, "{\"chunks\": 1, \"hold\": true}");
    wait_jobs(s, 1, 0);
    int waits = begin(s, 1, NULL, "{\"chunks\": 1, \"hold\": true, \"note\": \"never\"}");
    wait_jobs(s, 1, 1);
    close(waits);
    wait_jobs(s, 1, 0);
    close(runs);
    wait_jobs(s, 0, 0);
    int streams = begin(s, 1, NULL, "{\"chunks\": 100000000, \"ms\": 20, \"size\": 10, \"stream\": true}");
    free(receive(streams, "data: bbb"));
    close(streams);
    wait_jobs(s, 0, 0);
    int half = begin(s, 1, NULL, "{\"chunks\": 1, \"hold\": true}");
    wait_jobs(s, 1, 0);
    shutdown(half, SHUT_WR);
    expect(finish(half), 499, "client_left");
    wait_jobs(s, 0, 0);
    assert_int_equal(jobs.stopped, 3);
    assert_string_equal(jobs.notes, "");
    expect(post(s, "{\"chunks\": 1, \"size\": 3}"), 200, "aaa");
    server_stop(s);
    assert_int_equal(jobs.destroyed, 5);
}

/* Who does not read holds neither the worker nor memory for long; who reads slowly gets everything. */
static void test_slow_readers(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1});
    (void)state;
    int deaf = begin(s, 1, NULL, "{\"chunks\": 1000, \"size\": 100000, \"stream\": true}");
    wait_jobs(s, 1, 0);
    wait_jobs(s, 0, 0);
    assert_int_equal(jobs.stopped, 1);
    close(deaf);
    server_stop(s);
    s = serve_test_start(NULL);
    int slow = begin(s, 1, NULL, "{\"chunks\": 60, \"size\": 100000, \"stream\": true}");
    size_t got = 0;
    for (ssize_t n = 1; n > 0; got += (size_t)n) {
        static char text[200000];
        sleep_ms(20);
        n = recv(slow, text, sizeof text, 0);
        if (n < 0) n = 0;
    }
    assert_true(got > 6000000);
    close(slow);
    server_stop(s);
}

/* Order of the end: what runs is finished, what waits is told, a second request cancels. */
static void test_end(void **state) {
    (void)state;
    for (int cancel = 0; cancel < 2; cancel++) {
        server *s = serve_test_start(NULL);
        int runs = begin(s, 1, NULL, "{\"chunks\": 1, \"hold\": true, \"size\": 2}");
        wait_jobs(s, 1, 0);
        int waits = begin(s, 1, NULL, "{\"chunks\": 1}");
        wait_jobs(s, 1, 1);
        assert_int_equal(server_stop_jobs(s, false), 1);
        expect(finish(waits), 503, "ending");
        expect(post(s, "{\"chunks\": 1}"), 503, "Retry-After");
        expect(ask(s, "GET /healthz", NULL), 503, "ending");
        if (cancel) server_stop_jobs(s, true);
        atomic_store(&jobs.let_go, !cancel);
        expect(finish(runs), cancel ? 503 : 200, cancel ? "ending" : "aa");
        assert_true(server_is_idle(s, PATIENCE_MS / 1000.0));
        server_stop(s);
    }
}

#if defined(__SANITIZE_ADDRESS__) /* the sanitizer holds on to what was freed */
#define KEEPS_FREED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED
#endif
#endif

/* Nothing that a client or a job leaves behind stays: bytes in use after many requests of all kinds. */
static void test_flat(void **state) {
    server *s = serve_test_start(NULL);
    size_t resident[2] = {0, 0};
    (void)state;
    for (int i = 0; i < 3000; i++) {
        if (i == 1000 || i == 2999) {
            FILE *f = fopen("/proc/self/statm", "r");
            unsigned long a, b;
            assert_int_equal(fscanf(f, "%lu %lu", &a, &b), 2);
            fclose(f);
            resident[i > 1000] = (size_t)b * 4096;
        }
        switch (i % 4) {
        case 0:
            expect(post(s, "{\"chunks\": 2, \"size\": 2000}"), 200, NULL);
            break;
        case 1:
            expect(ask(s, "GET /metrics", NULL), 200, NULL);
            break;
        case 2:
            close(begin(s, 1, NULL, "{\"chunks\": 3, \"size\": 5000, \"stream\": true}"));
            break;
        default:
            expect(post(s, "{\"refuse\": true}"), 400, NULL);
        }
    }
    server_stop(s);
#ifndef KEEPS_FREED
    if (resident[1] > resident[0] + (2u << 20)) fail_msg("%zu bytes, then %zu", resident[0], resident[1]);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_fair),    cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_desk),    cmocka_unit_test(test_bench_limit),
        cmocka_unit_test(test_leaving), cmocka_unit_test(test_slow_readers),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

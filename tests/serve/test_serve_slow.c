/* test_serve_slow.c - clients that keep connections busy with next to nothing: all of them are ended, and
 * others are answered meanwhile. The server's clock goes as the tests say, so that nothing here depends on
 * the machine's; the HTTP library's own does not, and has little to do (IDLE). */
#include "serve_fixture.h"

enum { LORIS = 50, IDLE = 500, RATE = 16384 }; /* conn.c: bytes a second that are too few */

/* ---- the server's clock (clock.c is not linked) ---- */

static _Atomic double clock_at = 1000;
static atomic_uint n_waits;
static atomic_bool goes_on; /* by itself, as it does for a server that ends: it waits so long for readers */

double serve_now(void) { return atomic_load(&clock_at); }

void serve_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds) {
    struct timespec t;
    if (atomic_load(&goes_on)) atomic_store(&clock_at, atomic_load(&clock_at) + seconds);
    atomic_fetch_add(&n_waits, 1);
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 2000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(c, m, &t);
}

static void stop(server *s) {
    atomic_store(&goes_on, true);
    server_stop(s);
    atomic_store(&goes_on, false);
}

/* So much later, and the watcher has looked at every connection since: it waits between two looks, and
 * without connections until there is one. */
static void later(server *s, double seconds) {
    atomic_store(&clock_at, atomic_load(&clock_at) + seconds);
    const unsigned seen = atomic_load(&n_waits);
    bool looked = false;
    for (int ms = 0; !looked; ms++) {
        pthread_mutex_lock(&s->lock);
        looked = s->conns == NULL || atomic_load(&n_waits) - seen >= 2;
        pthread_mutex_unlock(&s->lock);
        if (!looked) sleep_ms(1);
        if (ms > PATIENCE_MS) fail_msg("nobody watches");
    }
}

/* ---- what is so at the server ---- */

static bool connected(const server *s, size_t n, size_t most) {
    return s->n_conns >= n && s->n_conns <= most;
}

/* Of one connection there is. */
static bool has_received(const server *s, size_t n, size_t unused) {
    (void)unused;
    return s->conns != NULL && s->conns->received == n;
}
static bool sends(const server *s, size_t a, size_t b) {
    (void)a;
    (void)b;
    return s->conns != NULL && s->conns->phase == CONN_REPLY && s->conns->sending;
}

/* Is the other side still there? Reads away what arrived. */
static bool alive(int fd) {
    char text[512];
    for (;;) {
        ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
        if (n == 0) return false;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
}

static void ends(int fd) {
    for (int ms = 0; alive(fd); ms += 5) {
        sleep_ms(5);
        if (ms > PATIENCE_MS) fail_msg("the connection is never ended");
    }
}

static void expect_answers(const server *s) {
    expect(ask(s, "GET /healthz", NULL), 200, "ok");
    expect(ask(s, "POST /t/job", "{\"chunks\": 1, \"size\": 3}"), 200, "aaa");
}

/* Each sends a byte of `drip` now and then, forever. */
static void loris(const char *start, const char *drip) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = IDLE});
    int fd[LORIS];
    for (int i = 0; i < LORIS; i++) {
        fd[i] = dial(s);
        send_text(fd[i], start);
    }
    assert_true(wait_for(s, connected, LORIS, LORIS));
    for (int tick = 0; tick < 3; tick++) { /* others are answered, while all of these are there */
        for (int i = 0; i < LORIS; i++) {
            send(fd[i], drip + tick % (int)strlen(drip), 1, MSG_NOSIGNAL);
            assert_true(alive(fd[i]));
        }
        expect_answers(s);
        later(s, 2.0 * IDLE / 3 - 1);
    }
    for (int i = 0; i < LORIS; i++) assert_true(alive(fd[i]));
    later(s, 4);
    for (int i = 0; i < LORIS; i++) ends(fd[i]);
    expect_answers(s);
    for (int i = 0; i < LORIS; i++) close(fd[i]);
    stop(s);
}

static void test_headers(void **state) {
    (void)state;
    loris("GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "X-Abcdefgh: a\r\n");
}

static void test_request_line(void **state) {
    (void)state;
    loris("G", "aaaaaaaaaaaaaaaa");
}

static void test_bodies(void **state) {
    (void)state;
    loris("POST /t/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
          "1000\r\n\r\n",
          "x");
}

/* These the HTTP library ends, by its own clock. */
static void test_silent(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1});
    int fd[LORIS];
    (void)state;
    for (int i = 0; i < LORIS; i++) fd[i] = dial(s);
    expect_answers(s);
    for (int i = 0; i < LORIS; i++) {
        ends(fd[i]);
        close(fd[i]);
    }
    stop(s);
}

/* More than there is room for: whoever sends nothing makes place, long before it would have had to alone. */
static void test_crowd(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = IDLE, .max_clients = 32});
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int fd[65];
    (void)state;
    for (int i = 0; i < 65; i++) {
        fd[i] = dial(s);
        send_text(fd[i], i < 64 ? "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" : request);
    }
    const double begun = serve_now();
    struct pollfd p = {.fd = fd[64], .events = POLLIN};
    while (poll(&p, 1, 20) == 0) {
        later(s, 0.5);
        if (serve_now() - begun > IDLE) fail_msg("others make no place");
    }
    expect(receive(fd[64], NULL), 200, "ok");
    for (int i = 0; i < 65; i++) close(fd[i]);
    stop(s);
}

/* Half-closed after a whole request that needs no job: the answer still comes, and the end. */
static void test_half_closed(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = IDLE});
    (void)state;
    for (int i = 0; i < LORIS; i++) {
        int fd = dial(s);
        send_text(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        shutdown(fd, SHUT_WR);
        expect(receive(fd, NULL), 200, NULL);
        close(fd);
    }
    expect_answers(s);
    stop(s);
}

/* A body that comes slowly but steadily is no attack; the same, a little slower, is ended. */
static void test_patient(void **state) {
    enum { PIECE = 20000, PIECES = 20 };
    static char text[PIECE];
    (void)state;
    memset(text, 'x', sizeof text);
    for (int too_slow = 0; too_slow < 2; too_slow++) {
        server *s = serve_test_start(&(serve_options){.idle_seconds = IDLE, .max_body_bytes = 1 << 20});
        int fd = dial(s);
        send_text(fd, "POST /t/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                      "application/json\r\nContent-Length: 400000\r\n\r\nx");
        assert_true(wait_for(s, has_received, 1, 0));
        later(s, 2.0 * IDLE - 1); /* what everybody has anyway is used up */
        for (size_t i = 0; i < PIECES; i++) {
            assert_true(send_bytes(fd, text, i + 1 < PIECES ? PIECE : PIECE - 1));
            assert_true(i + 1 == PIECES || wait_for(s, has_received, 1 + PIECE * (i + 1), 0));
            if (i + 1 < PIECES) later(s, (too_slow ? 1.5 : 0.99) * PIECE / RATE);
            if (too_slow && i == 1) break; /* 999 + 3.7 s, where 1000 + 2.4 are given */
        }
        if (too_slow) {
            ends(fd);
        } else {
            char *reply = receive(fd, "echo");
            expect_in(reply, "echo 400000");
            free(reply);
        }
        close(fd);
        stop(s);
    }
}

/* A client of small windows that asked for much, and has read the beginning. */
static int ask_for_much(server *s) {
    const int small = 4096;
    char first;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)s->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    send_text(fd, "GET /t/much HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_int_equal(recv(fd, &first, 1, 0), 1);
    assert_true(wait_for(s, sends, 0, 0));
    later(s, 0); /* it counts from its first look */
    return fd;
}

/* 5 kB/s of a finished reply, which the HTTP library takes for life, are too little; a slow line is fine. */
static void test_slow_readers(void **state) {
    static char text[200000];
    const int small =
        8192; /* of the server's side, as on a line with little room: else a third of 2 MB is one step */
    size_t n = 1;
    (void)state;
    for (int too_slow = 0; too_slow < 2; too_slow++) {
        server *s = serve_test_start(&(serve_options){.idle_seconds = IDLE});
        assert_int_equal(setsockopt(s->listener, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        int fd = ask_for_much(s);
        later(s, 2.0 * IDLE - 1); /* as above */
        if (too_slow) {
            for (int i = 0; i < 100; i++) {
                recv(fd, text, 500, MSG_DONTWAIT);
                later(s, 0.1);
                if (i % 20 == 0) expect(ask(s, "GET /healthz", NULL), 200, "ok");
            }
            assert_true(wait_for(s, connected, 0, 0)); /* the reply is given up */
        } else {
            for (ssize_t k = 1; k > 0; n += k > 0 ? (size_t)k : 0) {
                k = recv(fd, text, sizeof text, MSG_WAITALL);
                later(s, (double)(k > 0 ? k : 0) / (1.3 * RATE));
            }
            assert_true(n > MUCH);
        }
        close(fd);
        stop(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers), cmocka_unit_test(test_request_line),
        cmocka_unit_test(test_bodies),  cmocka_unit_test(test_silent),
        cmocka_unit_test(test_crowd),   cmocka_unit_test(test_half_closed),
        cmocka_unit_test(test_patient), cmocka_unit_test(test_slow_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

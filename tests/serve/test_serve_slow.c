/* test_serve_slow.c - clients that keep connections busy with next to nothing: all of them are ended, and
 * others are answered at once meanwhile. */
#include "serve_fixture.h"

enum { LORIS = 50 };

/* Is the other side still there? Reads away what arrived. */
static bool alive(int fd) {
    char text[512];
    for (;;) {
        ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
        if (n == 0) return false;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
}

static void expect_quick(const server *s) {
    double t = serve_now();
    expect(ask(s, "GET /healthz", NULL), 200, "ok");
    expect(ask(s, "POST /t/job", "{\"chunks\": 1, \"size\": 3}"), 200, "aaa");
    if (serve_now() - t > 3) fail_msg("others waited %.2f s", serve_now() - t);
}

/* Each sends a byte of `drip` now and then, forever. */
static void loris(const char *start, const char *drip, double most) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1});
    int fd[LORIS];
    for (int i = 0; i < LORIS; i++) {
        fd[i] = dial(s);
        send_text(fd[i], start);
    }
    double begun = serve_now();
    size_t left = LORIS;
    for (int tick = 0; left > 0 && serve_now() - begun < 2 * most; tick++) {
        sleep_ms(100);
        left = 0;
        for (int i = 0; i < LORIS; i++) {
            if (tick % 3 == 0) send(fd[i], drip + tick % (int)strlen(drip), 1, MSG_NOSIGNAL);
            left += alive(fd[i]);
        }
        if (tick % 5 == 0) expect_quick(s);
    }
    if (left > 0 || serve_now() - begun > most) fail_msg("%zu left after %.1f s", left, serve_now() - begun);
    for (int i = 0; i < LORIS; i++) close(fd[i]);
    server_stop(s);
}

static void test_headers(void **state) {
    (void)state;
    loris("GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "X-Abcdefgh: a\r\n", 12);
}

static void test_request_line(void **state) {
    (void)state;
    loris("G", "aaaaaaaaaaaaaaaa", 12);
}

static void test_bodies(void **state) {
    (void)state;
    loris("POST /t/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
          "1000\r\n\r\n",
          "x", 12);
}

static void test_silent(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1});
    int fd[LORIS];
    (void)state;
    for (int i = 0; i < LORIS; i++) fd[i] = dial(s);
    expect_quick(s);
    sleep_ms(3500);
    for (int i = 0; i < LORIS; i++) {
        assert_false(alive(fd[i]));
        close(fd[i]);
    }
    server_stop(s);
}

/* More than there is room for: whoever sends nothing makes place in seconds. */
static void test_crowd(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 20, .max_clients = 32});
    int fd[64];
    (void)state;
    for (int i = 0; i < 64; i++) {
        fd[i] = dial(s);
        send_text(fd[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    }
    double t = serve_now();
    expect(ask(s, "GET /healthz", NULL), 200, "ok");
    if (serve_now() - t > 15) fail_msg("waited %.1f s", serve_now() - t);
    for (int i = 0; i < 64; i++) close(fd[i]);
    server_stop(s);
}

/* Half-closed after a whole request that needs no job: the answer still comes. */
static void test_half_closed(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1});
    (void)state;
    for (int i = 0; i < LORIS; i++) {
        int fd = dial(s);
        send_text(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        shutdown(fd, SHUT_WR);
        bool closed;
        char *reply = receive(fd, NULL, 3000, &closed);
        assert_int_equal(status_in(reply), 200);
        assert_true(closed);
        free(reply);
        close(fd);
    }
    expect_quick(s);
    server_stop(s);
}

/* A body that comes slowly but steadily is no attack. */
static void test_patient(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 1, .max_body_bytes = 1 << 20});
    static char text[20000];
    int fd = dial(s);
    (void)state;
    send_text(fd, "POST /t/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                  "application/json\r\nContent-Length: 400000\r\n\r\n");
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 20; i++) {
        sleep_ms(200);
        assert_true(send_bytes(fd, text, sizeof text));
    }
    char *reply = receive(fd, "echo", 3000, NULL);
    expect_in(reply, "echo 400000");
    free(reply);
    close(fd);
    server_stop(s);
}

/* A client of small windows that asked for much, and has read the beginning. */
static int ask_for_much(const server *s) {
    const int small = 4096;
    char first;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)s->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    send_text(fd, "GET /t/much HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(recv(fd, &first, 1, 0), 1);
    return fd;
}

/* 5 kB/s of a finished reply, which the HTTP library takes for life, are too little; a slow line is fine. */
static void test_slow_readers(void **state) {
    server *s = serve_test_start(&(serve_options){.idle_seconds = 2});
    static char text[200000];
    const int small =
        8192; /* of the server's side, as on a line with little room: else a third of 2 MB is one step */
    (void)state;
    assert_int_equal(setsockopt(s->listener, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    int fd = ask_for_much(s);
    double begun = serve_now();
    for (int i = 0; !server_is_idle(s, 0.1); i++) {
        recv(fd, text, 500, MSG_DONTWAIT);
        if (i % 20 == 0) expect(ask(s, "GET /healthz", NULL), 200, "ok");
        if (serve_now() - begun > 20) fail_msg("the reply still waits for its reader");
    }
    if (serve_now() - begun < 3.5) fail_msg("a reader lost its reply after %.1f s", serve_now() - begun);
    close(fd);
    size_t n = 0;
    fd = ask_for_much(s);
    begun = serve_now();
    for (ssize_t k = 1; k > 0 && n < MUCH; n += (size_t)k) {
        k = recv(fd, text, sizeof text, MSG_WAITALL);
        sleep_ms(120);
    }
    assert_true(n >= MUCH);
    assert_true(serve_now() - begun > 4.5); /* longer than a reader that reads nothing has */
    close(fd);
    server_stop(s);
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

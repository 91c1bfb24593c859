/* test_serve_program.c - `ascribe serve` as a process: its first line, signals, two on one port, tokens, a
 * model that is replaced or cut while it is served, what is logged. */
#include "serve_fixture.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char *const
    quick = "{\"ids\": [54, 70, 21], \"target_ids\": [193]}",
    *const slow =
        "{\"ids\": [54, 70, 21, 59, 54, 70, 21, 59], \"target_ids\": [193], \"features\": \"token\", "
        "\"method\": \"integrated-gradients\", \"rule\": \"riemann-middle\", \"steps\": 30000}"; /* many times
                                                                                                    what the
                                                                                                    next
                                                                                                    request
                                                                                                    takes */

typedef struct process {
    pid_t pid;
    int port, out, err;
    char first[512];
} process;

static void end_of(process *p) {
    close(p->out);
    close(p->err);
}

/* Starts it with the options given, to the line that says where it is (or its end). */
static process run(const char *model, const char *const *options) {
    const char *argv[24] = {"ascribe", "serve", model}, *build = getenv("ASC_BUILD_ROOT");
    char program[4096];
    int n = 3, out[2], err[2];
    process p = {0};
    for (; *options != NULL; options++) argv[n++] = *options;
    snprintf(program, sizeof program, "%s/ascribe", build != NULL ? build : "build");
    assert_int_equal(pipe(out) + pipe(err), 0);
    p.pid = fork();
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing running */
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int fd = 3; fd < 64; fd++) close(fd);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    close(out[1]);
    close(err[1]);
    p.out = out[0];
    p.err = err[0];
    size_t len = 0;
    while (len + 1 < sizeof p.first && read(p.out, p.first + len, 1) == 1 && p.first[len] != '\n') len++;
    p.first[len] = '\0';
    const char *at = strstr(p.first, "http://127.0.0.1:");
    p.port = at != NULL ? atoi(at + strlen("http://127.0.0.1:")) : 0;
    return p;
}

/* Waits for the end; the exit code, 128 + n for signal n. Everything it said on standard error goes to text.
 */
static int wait_end(process *p, char *text, size_t size) {
    int st;
    size_t n = 0;
    ssize_t k;
    while ((k = read(p->err, text + n, size - n - 1)) > 0) n += (size_t)k;
    text[n] = '\0';
    assert_int_equal(waitpid(p->pid, &st, 0), p->pid);
    end_of(p);
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static int begin(int port, const char *head, const char *body) {
    server s = {.port = port};
    char text[2048];
    int fd = dial(&s);
    snprintf(text, sizeof text,
             "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
             "application/json\r\nContent-Length: %zu\r\n\r\n%s",
             head, strlen(body), body);
    assert_true(send_text(fd, text));
    return fd;
}

static char *finish(int fd) {
    char *reply = receive(fd, NULL);
    close(fd);
    return reply;
}

static char *get(int port, const char *path) {
    char head[200];
    snprintf(head, sizeof head, "GET %s", path);
    return finish(begin(port, head, ""));
}

/* Until it says this of itself. */
static void wait_health(int port, const char *words) {
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        char *reply = get(port, "/healthz");
        bool is = strstr(reply, words) != NULL;
        free(reply);
        if (is) return;
        sleep_ms(10);
    }
    fail_msg("it never said %s", words);
}

static const char *const any_port[] = {"--port", "0", "--max-seconds", "1000000", NULL};
static char model[4096], said[65536];

static void test_life(void **state) {
    process p = run(model, any_port);
    (void)state;
    assert_true(p.port > 0);
    expect(get(p.port, "/healthz"), 200, "ok");
    expect(finish(begin(p.port, "POST /v1/explain", quick)), 200, "\"features\"");
    kill(p.pid, SIGTERM);
    assert_int_equal(wait_end(&p, said, sizeof said), 0);
    expect_in(said, "POST /v1/explain 200 ");
    expect_in(said, "ending: no new jobs, 0 waiting told so");
    /* nothing of the question: its numbers alone could be those of a time or an id */
    assert_null(strstr(said, "54, 70"));
    assert_null(strstr(said, "54,70"));
    assert_null(strstr(said, "ids"));
}

static void test_log_prompts(void **state) {
    static const char *const options[] = {"--port", "0", "--log-prompts", NULL};
    process p = run(model, options);
    (void)state;
    free(finish(begin(p.port, "POST /v1/explain", "{\"prompt\": \"secret\x1b[1m\"}")));
    kill(p.pid, SIGINT);
    assert_int_equal(wait_end(&p, said, sizeof said), 0);
    expect_in(said, "secret\\x1b[1m");
}

static void test_signals(void **state) {
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        process p = run(model, any_port);
        int runs = begin(p.port, "POST /v1/explain", slow);
        wait_health(p.port, "\"running\":1");
        int waits = begin(p.port, "POST /v1/explain", quick);
        wait_health(p.port, "\"waiting\":1");
        kill(p.pid, SIGTERM);
        expect(finish(waits), 503, "ending");
        if (twice) kill(p.pid, SIGINT);
        expect(finish(runs), twice ? 503 : 200, twice ? "ending" : "\"features\"");
        assert_int_equal(wait_end(&p, said, sizeof said), 0);
        expect_in(said, "1 waiting told so, the running one ends first");
        if (twice) expect_in(said, "cancelling the running job");
    }
}

static void test_two_on_one_port(void **state) {
    process p = run(model, any_port);
    char port[16];
    const char *options[] = {"--port", port, NULL};
    (void)state;
    snprintf(port, sizeof port, "%d", p.port);
    process second = run(model, options);
    assert_int_equal(wait_end(&second, said, sizeof said), 3);
    expect_in(said, "Address already in use");
    expect_in(said, "try: another --port");
    expect(get(p.port, "/healthz"), 200, "ok");
    kill(p.pid, SIGTERM);
    assert_int_equal(wait_end(&p, said, sizeof said), 0);
}

static void test_refusals(void **state) {
    char token[TEST_TMP];
    int fd = mkstemp(test_tmp_name(token, "ascribe-token-XXXXXX"));
    assert_int_equal(write(fd, "short\n", 6), 6);
    close(fd);
    const struct {
        const char *options[8];
        int code;
        const char *words;
    } cases[] = {
        {{"--host", "0.0.0.0", "--port", "0"}, 2, "needs a token"},
        {{"--host", "0.0.0.0", "--port", "0", "--token-file", token}, 2, "at least 16 characters"},
        {{"--port", "0", "--token-file", "/nonexistent"}, 3, "cannot read a token"},
        {{"--port", "70000"}, 2, "--port is from 0 to 65535"},
        {{"--host", "no.such.host.invalid", "--port", "0"}, 3, "no address of this machine"},
        {{"--host", "192.0.2.1", "--port", "0", "--token-file", token}, 3, "cannot listen"},
        {{"--port", "0", "--store", "/nonexistent/folder"}, 3, "cannot keep results"},
        {{"--port", "0", "--max-body", "many"}, 2, "--max-body"},
        {{"--port", "0", "--max-seconds", "-1"}, 2, "--max-seconds"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        process p = run(model, cases[i].options);
        int code = wait_end(&p, said, sizeof said);
        if (code != cases[i].code || strstr(said, cases[i].words) == NULL)
            fail_msg("%zu: %d\n%s", i, code, said);
        assert_string_equal(p.first, "");
    }
    process p = run("/nonexistent.gguf", any_port);
    assert_int_equal(wait_end(&p, said, sizeof said), 3);
    expect_in(said, "nonexistent.gguf");
    unlink(token);
}

static void copy_model(const char *to) {
    char line[9000];
    snprintf(line, sizeof line, "cp '%s' '%s'", model, to);
    assert_int_equal(system(line), 0);
}

/* Replaced, grown or cut: no answer comes from a file that is not the one that was opened. */
static void test_replaced(void **state) {
    char folder[TEST_TMP], path[TEST_PATH], other[TEST_PATH];
    (void)state;
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe-model-XXXXXX")));
    snprintf(path, sizeof path, "%s/m.gguf", folder);
    snprintf(other, sizeof other, "%s/n.gguf", folder);
    for (int how = 0; how < 3; how++) {
        copy_model(path);
        process p = run(path, any_port);
        expect(finish(begin(p.port, "POST /v1/explain", quick)), 200, "\"features\"");
        if (how == 0) {
            copy_model(other);
            assert_int_equal(rename(other, path), 0);
        } else if (how == 1) {
            assert_int_equal(truncate(path, 5000), 0);
        } else {
            assert_int_equal(unlink(path), 0);
        }
        char *reply = finish(begin(p.port, "POST /v1/explain", quick));
        expect_in(reply, "m.gguf");
        expect(reply, 503, "\"hint\":\"");
        expect(get(p.port, "/healthz"), 503, "model changed");
        kill(p.pid, SIGTERM);
        assert_int_equal(wait_end(&p, said, sizeof said), 0);
    }
    unlink(path);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),     cmocka_unit_test(test_log_prompts),
        cmocka_unit_test(test_signals),  cmocka_unit_test(test_two_on_one_port),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_replaced),
    };
    snprintf(model, sizeof model, "%s", test_data(SERVE_MODEL));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

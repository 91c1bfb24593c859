/* test_serve_guard.c - what is read by hand, as tables: path patterns, Host, Origin, tokens, types, ids; and
 * the order of the queue without a server. */
#include "serve_fixture.h"
#include <math.h>

static void test_paths(void **state) {
    static const struct {
        const char *pattern, *path, *part; /* NULL: no match; "": no part */
    } cases[] = {{"/a", "/a", ""},
                 {"/a", "/a/", NULL},
                 {"/a", "/ab", NULL},
                 {"/a", "", NULL},
                 {"/r/{id}", "/r/0a-9", "0a-9"},
                 {"/r/{id}", "/r/", NULL},
                 {"/r/{id}", "/r/A", NULL},
                 {"/r/{id}", "/r/../x", NULL},
                 {"/r/{id}", "/r/a/b", NULL},
                 {"/r/{id}", "/r/a.json", NULL},
                 {"/r/{id}.json", "/r/a.json", "a"},
                 {"/r/{id}.json", "/r/.json", NULL},
                 {"/r/{id}.json", "/r/a.jsonx", NULL},
                 {"/r/{id}/x", "/r/a/x", "a"},
                 {"/r/{id}", "/r/\xc3\xa4", NULL},
                 {"/r/{id}", "/r/0123456789012345678901234567890123456789012345678901234567890123",
                  "0123456789012345678901234567890123456789012345678901234567890123"},
                 {"/r/{id}", "/r/01234567890123456789012345678901234567890123456789012345678901234", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        part parts[SERVE_MAX_PARTS];
        size_t n;
        bool match = route_match(cases[i].pattern, cases[i].path, parts, &n);
        if (match != (cases[i].part != NULL))
            fail_msg("%s with %s: %d", cases[i].pattern, cases[i].path, match);
        if (match && cases[i].part[0] != '\0') {
            assert_int_equal(n, 1);
            assert_string_equal(parts[0].value, cases[i].part);
        }
    }
}

static void test_hosts(void **state) {
    const guard_names home = {.loopback = true,
                              .host = "127.0.0.1",
                              .more = NULL,
                              .machine = "box",
                              .numeric = "127.0.0.1"},
                      open = {.any_address = true,
                              .host = "0.0.0.0",
                              .more = "a.example, b.example,,c",
                              .machine = "box",
                              .numeric = "0.0.0.0"},
                      one = {.host = "10.0.0.5", .machine = "box", .numeric = "10.0.0.5"};
    static const struct {
        const char *host;
        bool home, open, one;
    } cases[] = {{"localhost", true, true, true},
                 {"LocalHost:8080", true, true, true},
                 {"localhost.", true, true, true},
                 {"localhost.evil.example", false, false, false},
                 {"evil.example", false, false, false},
                 {"127.0.0.1", true, true, true},
                 {"127.9.9.9:1", true, true, true},
                 {"[::1]:80", true, true, true},
                 {"::1", false, false, false},
                 {"10.0.0.5:8080", false, true, true},
                 {"10.0.0.6", false, true, false},
                 {"[fe80::1]", false, true, false},
                 {"0.0.0.0", false, true, false},
                 {"a.example", false, true, false},
                 {"B.Example:443", false, true, false},
                 {"a", false, false, false},
                 {"c", false, true, false},
                 {"box", false, true, true},
                 {"", false, false, false},
                 {":80", false, false, false},
                 {"localhost:", true, true, true},
                 {"localhost:8x", false, false, false},
                 {"localhost:123456", false, false, false},
                 {"localhost@evil.example", false, false, false},
                 {"127.0.0.1.evil.example", false, false, false},
                 {"127.1", false, false, false},
                 {"0x7f000001", false, false, false},
                 {"[", false, false, false},
                 {"[]", false, false, false},
                 {"[::1", false, false, false},
                 {"[::1]x", false, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *h = cases[i].host;
        bool a = guard_host(&home, h), b = guard_host(&open, h), c = guard_host(&one, h);
        if (a != cases[i].home || b != cases[i].open || c != cases[i].one)
            fail_msg("'%s': %d %d %d", h, a, b, c);
    }
    char longest[400];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(guard_host(&open, longest));
}

static void test_origins(void **state) {
    (void)state;
    assert_true(guard_origin("http://localhost:8080", "localhost:8080"));
    assert_true(guard_origin("https://A.example", "a.example"));
    assert_false(guard_origin("http://localhost:8081", "localhost:8080"));
    assert_false(guard_origin("http://localhost", "localhost:8080"));
    assert_false(guard_origin("null", "null"));
    assert_false(guard_origin("", ""));
    assert_false(guard_origin("ftp://localhost", "localhost"));
    assert_false(guard_origin("http://localhost.evil.example", "localhost"));
    assert_false(guard_origin("http://localhost/", "localhost"));
    assert_false(guard_origin("http://localhost", NULL));
}

static asc_view view(const char *s) { return (asc_view){s, strlen(s)}; }

static void test_words(void **state) {
    (void)state;
    assert_true(guard_same(view("abc"), view("abc")));
    assert_false(guard_same(view("abc"), view("abd")));
    assert_false(guard_same(view("abc"), view("ab")));
    assert_true(guard_same(view(""), view("")));
    asc_view t = guard_bearer("bEARER  abc ");
    assert_int_equal(t.len, 3);
    assert_memory_equal(t.ptr, "abc", 3);
    assert_null(guard_bearer("Basic abc").ptr);
    assert_null(guard_bearer("Bearer").ptr);
    assert_null(guard_bearer(NULL).ptr);
    assert_int_equal(guard_bearer("Bearer ").len, 0);
    assert_true(guard_is_json("application/json"));
    assert_true(guard_is_json("Application/JSON ; charset=\"utf-8\""));
    assert_false(guard_is_json("application/json; charset=utf-16"));
    assert_false(guard_is_json("application/jsonx"));
    assert_false(guard_is_json("text/plain; application/json"));
    assert_false(guard_is_json(NULL));
    assert_true(guard_is_form("multipart/form-data; boundary=x"));
    assert_false(guard_is_form("multipart/mixed"));
    assert_true(guard_id("0123456789abcdef"));
    assert_false(guard_id("0123456789abcdeF"));
    assert_false(guard_id("0123456789abcde"));
    assert_false(guard_id("0123456789abcdef0"));
    assert_false(guard_id("../../../../etc/"));
}

static void test_queue(void **state) {
    job_queue q = {0};
    job_kind kind = {.name = "kind"};
    enum { N = 40 };
    static job v[N];
    (void)state;
    srand(7);
    for (int i = 0; i < N; i++) {
        v[i] = (job){.kind = &kind, .client = (uint64_t)(1 + rand() % 5), .expected = 2};
        assert_true(queue_put(&q, &v[i]));
    }
    assert_int_equal(q.n, N);
    assert_true(queue_seconds(&q, 0) == 2.0 * N);
    for (int i = 0; i < N; i += 7) assert_true(queue_remove(&q, &v[i]));
    assert_false(queue_remove(&q, &v[0]));
    for (size_t left = q.n; left > 0; left--) { /* a place is what it says: jobs that are taken before */
        const job *any = &v[1 + 7 * (rand() % 5)];
        size_t place = queue_of(&q, any->client) > 0 ? queue_place(&q, any) : 0;
        const job *first = queue_take(&q);
        assert_non_null(first);
        if (first == any) assert_int_equal(place, 0);
    }
    assert_null(queue_take(&q));
    assert_null(q.ring);
    /* exactly, on one that is built by hand: a1 b1 c1 a2 b2 a3 */
    const int clients[] = {1, 1, 1, 2, 2, 3}, places[] = {0, 3, 5, 1, 4, 2};
    for (int i = 0; i < 6; i++) {
        v[i] = (job){.kind = &kind, .client = (uint64_t)clients[i]};
        queue_put(&q, &v[i]);
    }
    for (int i = 0; i < 6; i++) assert_int_equal(queue_place(&q, &v[i]), places[i]);
    for (int i = 0; i < 6; i++) {
        job *j = queue_take(&q);
        assert_int_equal(places[j - v], i);
    }
}

/* A prediction that is always a third too low is corrected; without one the kind's past says. */
static void test_learning(void **state) {
    job_queue q = {0};
    job_kind kind = {.name = "kind"}, other = {.name = "other"};
    (void)state;
    assert_true(queue_expect(&q, &kind, 2) == 2);
    for (int i = 0; i < 50; i++) {
        job j = {.kind = &kind, .price = {.seconds = 2}, .started = 10, .ended = 13};
        queue_learn(&q, &j);
        job stopped = {.kind = &kind, .price = {.seconds = 2}, .started = 10, .ended = 99, .stop = STOP_GONE};
        queue_learn(&q, &stopped);
    }
    assert_true(fabs(queue_expect(&q, &kind, 4) - 6) < 1e-9);
    assert_true(fabs(queue_expect(&q, &kind, 0) - 3) < 1e-9);
    assert_true(queue_expect(&q, &other, 4) == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths), cmocka_unit_test(test_hosts), cmocka_unit_test(test_origins),
        cmocka_unit_test(test_words), cmocka_unit_test(test_queue), cmocka_unit_test(test_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

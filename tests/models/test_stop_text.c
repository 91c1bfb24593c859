/* test_stop_text.c - text of tokens as it comes: whole characters only, stop strings across borders. Every
 * way to cut a text into two or three pieces, and byte by byte, gives what looking at all of it at once
 * gives. */
#include "harness.h"
#include "stop_text.h"

typedef struct row {
    const char *text;
    const char *stop[3];
    const char *shown; /* the whole text up to the first stop string */
} row;

static const row rows[] = {
    {"plain words", {0}, "plain words"},
    {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80!", {0}, "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80!"},
    {"one\n\ntwo", {"\n\n"}, "one"},
    {"aab", {"ab"}, "a"},
    {"abababc tail", {"ababc"}, "ab"},
    {"xx\xF0\x9F\x98\x80yy", {"\xF0\x9F\x98\x80"}, "xx"},
    {"xx\xF0\x9F\x98\x81yy", {"\xF0\x9F\x98\x80"}, "xx\xF0\x9F\x98\x81yy"}, /* three bytes in common */
    {"first END second STOP", {"STOP", "END"}, "first "},
    {"over the overlap", {"lapse", "overt"}, "over the overlap"},
    {"abc", {"abcd", "bc", "c"}, "a"},
    {"stop", {"stop"}, ""},
    {"bad \xE2\x82 bytes \xFF.", {"."}, "bad \xE2\x82 bytes \xFF"},
    {"cut at the end \xE2\x82", {0}, "cut at the end \xE2\x82"},
    {"half of the stop: EN", {"END"}, "half of the stop: EN"},
};

/* A piece that is shown ends no character early: its last lead byte has all its bytes. */
static void check_whole(asc_view v, bool last) {
    for (size_t k = 1; !last && k <= 3 && k <= v.len; k++) {
        const unsigned char b = (unsigned char)v.ptr[v.len - k];
        const size_t want = b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : b >= 0xC0 ? 2 : 1;
        if (b >= 0xC0) assert_true(want <= k);
        if (b >= 0xC0 || b < 0x80) break;
    }
}

static void run(asc_ctx *ctx, const row *r, const size_t *ends, size_t n) {
    asc_view stop[3];
    size_t n_stop = 0, from = 0;
    char got[64];
    size_t n_got = 0;
    asc_stop_text t;
    while (n_stop < 3 && r->stop[n_stop] != NULL) {
        stop[n_stop] = (asc_view){r->stop[n_stop], strlen(r->stop[n_stop])};
        n_stop++;
    }
    assert_ok(ctx, asc_stop_text_init(ctx, stop, n_stop, &t));
    bool stopped = false;
    for (size_t i = 0; i < n && !stopped; from = ends[i++]) {
        asc_view out;
        const bool last = i + 1 == n;
        assert_ok(ctx,
                  asc_stop_text_add(&t, (asc_view){r->text + from, ends[i] - from}, last, &out, &stopped));
        check_whole(out, last || stopped);
        memcpy(got + n_got, out.ptr != NULL ? out.ptr : "", out.len);
        n_got += out.len;
    }
    got[n_got] = 0;
    assert_string_equal(got, r->shown);
    assert_int_equal(stopped, strlen(r->shown) < strlen(r->text));
    asc_stop_text_deinit(&t);
}

static void every_cut(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t len = strlen(rows[i].text);
        size_t ends[64];
        for (size_t a = 0; a <= len; a++)
            for (size_t b = a; b <= len; b++) run(ctx, &rows[i], (size_t[]){a, b, len}, 3);
        for (size_t k = 0; k < len; k++) ends[k] = k + 1;
        run(ctx, &rows[i], ends, len);
    }
    test_ctx_end(ctx);
}

static void refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static char text[ASC_MAX_STOP_BYTES + 1];
    asc_view many[ASC_MAX_STOPS + 1];
    asc_stop_text t;
    for (size_t i = 0; i <= ASC_MAX_STOPS; i++) many[i] = (asc_view){"x", 1};
    assert_int_equal(asc_stop_text_init(ctx, many, ASC_MAX_STOPS + 1, &t), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_stop_text_init(ctx, &(asc_view){"", 0}, 1, &t), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_stop_text_init(ctx, &(asc_view){text, sizeof text}, 1, &t), ASC_INVALID_ARGUMENT);
    asc_stop_text_deinit(&t);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_cut), cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("stop text", tests, NULL, NULL);
}

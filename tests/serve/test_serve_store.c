/* test_serve_store.c - saved results: found again, in memory and in a folder; ids that walk through folders,
 * a full disk, a full allowance, an interrupted write. */
#include "serve_fixture.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static asc_view view(const char *s) { return (asc_view){s, strlen(s)}; }

static bool add(store *st, const char *json, const char *html, char id[17]) {
    serve_fault f = {0};
    return store_add(st, view(json), view(html), id, &f);
}

static void expect_kept(store *st, const char *id, const char *kind, const char *text) {
    char *out = NULL;
    size_t len = 0;
    serve_fault f = {0};
    if (!store_find(st, id, kind, &out, &len, &f)) fail_msg("%s.%s is gone: %s", id, kind, f.message);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(out, text, len);
    free(out);
}

static void expect_missing(store *st, const char *id, const char *kind) {
    char *out = NULL;
    size_t len;
    serve_fault f = {0};
    assert_false(store_find(st, id, kind, &out, &len, &f));
    assert_int_equal(f.status, 404);
    assert_null(out);
}

static size_t files_in(const char *folder) {
    DIR *d = opendir(folder);
    size_t n = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' || strncmp(e->d_name, ".new", 4) == 0;
    closedir(d);
    return n;
}

static char *folder(void) {
    static char path[TEST_TMP];
    assert_non_null(mkdtemp(test_tmp_name(path, "ascribe-store-XXXXXX")));
    return path;
}

static void drop(const char *path) {
    char line[TEST_PATH];
    snprintf(line, sizeof line, "rm -rf '%s'", path);
    assert_int_equal(system(line), 0);
}

static void test_both(void **state) {
    char *path = folder(), a[17], b[17], again[17];
    (void)state;
    for (int where = 0; where < 2; where++) {
        store *st = store_open(where == 0 ? NULL : path, 1 << 20);
        assert_non_null(st);
        assert_true(add(st, "{\"a\": 1}", "<p>a", a) && add(st, "{\"a\": 2}", "<p>a", b) &&
                    add(st, "{\"a\": 1}", "<p>a", again));
        assert_string_equal(a, again);
        assert_string_not_equal(a, b);
        expect_kept(st, a, "json", "{\"a\": 1}");
        expect_kept(st, b, "html", "<p>a");
        static const char *const odd[] = {"",
                                          "..",
                                          "../../etc/passwd",
                                          "0123456789abcdef",
                                          "0123456789ABCDEF",
                                          "/",
                                          "%2e%2e",
                                          "0123456789abcde/",
                                          "\xff"};
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) expect_missing(st, odd[i], "json");
        expect_missing(st, a, "txt");
        expect_missing(st, a, "");
        expect_missing(st, a, "json/../x");
        size_t n, bytes;
        store_size(st, &n, &bytes);
        assert_int_equal(n, 2);
        assert_int_equal(bytes, 24);
        store_close(st);
    }
    store *st = store_open(path, 1 << 20); /* another day */
    expect_kept(st, a, "json", "{\"a\": 1}");
    size_t n, bytes;
    store_size(st, &n, &bytes);
    assert_int_equal(n, 2);
    assert_int_equal(bytes, 24);
    store_close(st);
    drop(path);
}

static void test_forgetting(void **state) {
    store *st = store_open(NULL, 10000);
    char id[70][17], text[40];
    (void)state;
    for (int i = 0; i < 70; i++) {
        snprintf(text, sizeof text, "{\"number\": %d}", i);
        assert_true(add(st, text, "", id[i]));
    }
    expect_missing(st, id[5], "json");
    expect_kept(st, id[6], "json", "{\"number\": 6}");
    expect_kept(st, id[69], "html", "");
    char *big = malloc(9990);
    memset(big, 'x', 9989);
    big[9989] = '\0';
    assert_true(add(st, big, "", id[0]));
    expect_missing(st, id[69], "json");
    expect_kept(st, id[0], "json", big);
    serve_fault f = {0};
    assert_false(store_add(st, view(big), view("more than ten bytes"), id[1], &f));
    assert_int_equal(f.status, 507);
    expect_kept(st, id[0], "json", big);
    free(big);
    store_close(st);
}

/* What was there stays, nothing half-written is left, and the next fitting result is taken. */
static void test_full(void **state) {
    char *path = folder(), first[17], id[17];
    static char big[20000];
    struct rlimit before, small;
    serve_fault f = {0};
    store *st = store_open(path, 30000);
    (void)state;
    memset(big, 'x', sizeof big - 1);
    assert_true(add(st, "{}", "<p>", first));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8192; /* a disk that is full after so much */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool taken = store_add(st, view("{\"small\": 1}"), view(big), id, &f);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(taken);
    assert_int_equal(f.status, 507);
    assert_non_null(strstr(f.message, "cannot be saved"));
    assert_int_equal(files_in(path), 2);
    expect_kept(st, first, "html", "<p>");
    assert_true(store_add(st, view("{\"small\": 1}"), view(big), id, &f));
    expect_kept(st, id, "html", big);
    memset(&f, 0, sizeof f);
    assert_false(store_add(st, view("{\"small\": 2}"), view(big), id, &f)); /* over the allowance */
    assert_int_equal(f.status, 507);
    assert_int_equal(files_in(path), 4);
    store_close(st);
    drop(path);
}

static void test_folders(void **state) {
    char *path = folder(), inside[TEST_PATH], id[17];
    (void)state;
    snprintf(inside, sizeof inside, "%s/new", path);
    store *st = store_open(inside, 1000); /* made */
    assert_non_null(st);
    assert_true(add(st, "{}", "", id));
    store_close(st);
    snprintf(inside, sizeof inside, "%s/new/.new-%s.html", path, id);
    FILE *f = fopen(inside, "w"); /* of a write that was interrupted */
    fclose(f);
    const struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    assert_int_equal(utimensat(AT_FDCWD, inside, hour_ago, 0), 0);
    snprintf(inside, sizeof inside, "%s/new/.new-%s.json", path, id);
    f = fopen(inside, "w"); /* of another server that writes now: it stays */
    fclose(f);
    snprintf(inside, sizeof inside, "%s/new/0000000000000000.json", path);
    assert_int_equal(symlink("/etc/passwd", inside), 0);
    snprintf(inside, sizeof inside, "%s/new", path);
    st = store_open(inside, 1000);
    expect_kept(st, id, "json", "{}");
    expect_missing(st, "0000000000000000", "json"); /* links lead elsewhere */
    assert_int_equal(files_in(inside), 4);
    store_close(st);
    snprintf(inside, sizeof inside, "%s/no/such", path);
    assert_null(store_open(inside, 1000));
    snprintf(inside, sizeof inside, "%s/new/%s.json", path, id);
    assert_null(store_open(inside, 1000)); /* a file */
    drop(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both), cmocka_unit_test(test_forgetting),
                                       cmocka_unit_test(test_full), cmocka_unit_test(test_folders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

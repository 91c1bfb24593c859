/* test_disk_cache.c - programs on disk: found by another context, refused when anything in them differs, and
 * never in the way: damaged files, folders that cannot be written, writers killed half-way, many processes.
 */
#include "ascribe/precision.h"
#include "disk.h"
#include "disk_folder.h"
#include "harness.h"
#include "ops.h"
#include "file.h"
#include "hash.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEST_TMP];

static int setup(void **state) {
    (void)state;
    setenv("ASC_CACHE", "1", 1);
    return mkdtemp(test_tmp_name(dir, "asc-disk-XXXXXX")) == NULL;
}

static int teardown(void **state) {
    char command[TEST_PATH];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static asc_ctx *ctx_with(const char *mode, const char *folder) {
    asc_ctx_options o = {.struct_size = sizeof o, .mode = mode, .n_threads = 1};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    assert_ok(ctx, asc_disk_cache_use(ctx, folder));
    asc_runtime_of(ctx)->disk.worth_ns = 0;
    return ctx;
}

enum { N = 12 };

/* d/dx of sum(s tanh(x W) + b), and the sum: several ops, a run-time scalar, two outputs. */
static void job(asc_ctx *ctx, int64_t rows, double s, float *out) {
    float x[N * 4], w[16], b[4] = {1, 2, 3, 4};
    int axes[] = {0, 1};
    for (int64_t i = 0; i < rows * 4; i++) x[i] = 0.1f * (float)(i % 7) - 0.2f;
    for (int i = 0; i < 16; i++) w[i] = 0.05f * (float)(i % 5) - 0.1f;
    asc_scope_begin(ctx);
    asc_tensor *tx = asc_from_f32(ctx, ASC_SHAPE(rows, 4), x), *g = NULL;
    asc_tensor *h = asc_tanh(ctx, asc_matmul(ctx, tx, asc_from_f32(ctx, ASC_SHAPE(4, 4), w), false, false));
    asc_tensor *y = asc_add(ctx, asc_scale(ctx, h, s), asc_from_f32(ctx, ASC_SHAPE(4), b));
    asc_tensor *f = asc_sum(ctx, y, 2, axes, false);
    asc_grad(ctx, f, NULL, &tx, 1, &g);
    asc_tensor *ts[2] = {f, g};
    assert_ok(ctx, asc_run(ctx, ts, 2));
    assert_ok(ctx, asc_read_f32(ctx, f, out, 1));
    assert_ok(ctx, asc_read_f32(ctx, g, out + 1, (size_t)(rows * 4)));
    assert_ok(ctx, asc_scope_end(ctx));
}

static void same(asc_ctx *ctx, int64_t rows, double s) {
    float want[N * 4 + 1] = {0}, have[N * 4 + 1] = {0};
    asc_ctx *plain = ctx_with("deferred", "");
    job(plain, rows, s, want);
    test_ctx_end(plain);
    job(ctx, rows, s, have);
    assert_memory_equal(want, have, sizeof want);
}

static size_t count(const char *ending) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_folder f;
    assert_ok(ctx, asc_folder_read(ctx, dir, ending, &f));
    size_t n = f.n;
    asc_folder_free(ctx, &f);
    test_ctx_end(ctx);
    return n;
}

static void only_file(char out[TEST_PATH]) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_folder f;
    assert_ok(ctx, asc_folder_read(ctx, dir, ".prog", &f));
    assert_int_equal(f.n, 1);
    assert_in_range(snprintf(out, TEST_PATH, "%s/%s", dir, f.files[0].name), 1, TEST_PATH - 1);
    asc_folder_free(ctx, &f);
    test_ctx_end(ctx);
}

static void another_context_finds_it(void **state) {
    (void)state;
    asc_ctx *a = ctx_with("deferred", dir), *b = ctx_with("deferred", dir);
    same(a, 5, 0.5);
    assert_int_equal(asc_disk_cache_stats(a).written, 1);
    same(b, 5, 0.75); /* another run-time scalar */
    asc_disk_stats s = asc_disk_cache_stats(b);
    assert_true(s.hits == 1 && s.misses == 0 && s.written == 0 && s.bad == 0);
    same(b, 6, 0.5); /* another shape is another program */
    assert_int_equal(asc_disk_cache_stats(b).written, 1);
    assert_non_null(strstr(asc_exec_cache_why(b, 0), "shape"));
    char *why = NULL;
    assert_ok(a, asc_disk_cache_why(a, &why));
    assert_non_null(strstr(why, "shape [6,4] here, [5,4] in the nearest entry"));
    asc_disk_cache_why_free(a, why);
    test_ctx_end(a);
    test_ctx_end(b);
}

static void a_frozen_context_takes_it(void **state) {
    (void)state;
    asc_ctx *a = ctx_with("deferred", dir), *b = ctx_with("deferred", dir);
    same(a, 5, 0.5);
    asc_exec_freeze(b, true);
    same(b, 5, 0.5);
    test_ctx_end(a);
    test_ctx_end(b);
}

static void every_flipped_byte_is_harmless(void **state) {
    (void)state;
    char path[TEST_PATH], *good = NULL;
    size_t n = 0;
    asc_ctx *a = ctx_with("deferred", dir);
    same(a, 2, 0.5);
    only_file(path);
    assert_ok(a, asc_file_read(a, path, 1 << 20, &good, &n));
    for (size_t i = 0; i < n; i++) {
        asc_ctx *b = ctx_with("deferred", dir);
        good[i] = (char)(good[i] ^ (1 << i % 8));
        assert_ok(a, asc_folder_write(a, path, good, n));
        good[i] = (char)(good[i] ^ (1 << i % 8));
        float out[N * 4 + 1];
        job(b, 2, 0.5, out);
        assert_int_equal(asc_disk_cache_stats(b).hits, 0);
        assert_int_equal(asc_disk_cache_stats(b).written, 1); /* and it is replaced by a good one */
        test_ctx_end(b);
    }
    for (size_t len = 0; len < n; len += 1 + len / 8) {
        asc_ctx *b = ctx_with("deferred", dir);
        assert_ok(a, asc_folder_write(a, path, good, len));
        float out[N * 4 + 1];
        job(b, 2, 0.5, out);
        assert_int_equal(asc_disk_cache_stats(b).hits, 0);
        test_ctx_end(b);
    }
    asc_free(a, good);
    test_ctx_end(a);
}

/* Damage under a right checksum: the contents are checked as well. */
static void hostile_contents_are_refused(void **state) {
    (void)state;
    char path[TEST_PATH], *good = NULL, hex[65];
    size_t n = 0;
    asc_disk_parts parts;
    asc_ctx *a = ctx_with("deferred", dir);
    same(a, 2, 0.5);
    only_file(path);
    assert_ok(a, asc_file_read(a, path, 1 << 20, &good, &n));
    assert_ok(a, asc_disk_read_parts(a, good, n, true, &parts));
    size_t from = (size_t)(parts.text.ptr - good), to = n - ASC_DISK_SUM;
    size_t refused = 0, tried = 0;
    for (size_t i = from; i < to; i++) {
        asc_ctx *b = ctx_with("deferred", dir);
        char was = good[i];
        good[i] = (char)(was ^ (1 << i % 5));
        asc_sha256_hex(good, n - ASC_DISK_SUM, hex);
        memcpy(good + n - ASC_DISK_SUM, hex, ASC_DISK_SUM);
        assert_ok(a, asc_folder_write(a, path, good, n));
        float out[N * 4 + 1]; /* a text that is another valid program of the same ends would be run: nothing
                                 but the checksum knows better. It must not crash */
        job(b, 2, 0.5, out);
        refused += asc_disk_cache_stats(b).hits == 0;
        tried++;
        good[i] = was;
        test_ctx_end(b);
    }
    assert_true(refused > tried / 2);
    asc_free(a, good);
    test_ctx_end(a);
}

static void a_folder_that_cannot_be_written(void **state) {
    (void)state;
    char path[TEST_PATH];
    asc_ctx *a = ctx_with("deferred", "/proc/nowhere/at/all");
    same(a, 3, 0.5);
    assert_true(asc_disk_cache_stats(a).written == 0);
    assert_int_equal(asc_error_code(a), ASC_OK);
    test_ctx_end(a);
    snprintf(path, sizeof path, "%s/file", dir);
    fclose(fopen(path, "w"));
    a = ctx_with("deferred", path); /* a file where the folder should be */
    same(a, 3, 0.5);
    assert_true(asc_disk_cache_stats(a).written == 0);
    test_ctx_end(a);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); /* as on a full disk */
    a = ctx_with("deferred", dir);
    same(a, 3, 0.5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(asc_disk_cache_stats(a).written == 0);
    assert_int_equal(count(".prog"), 0);
    assert_int_equal(count(".tmp"), 0);
    test_ctx_end(a);
}

static void writer(int64_t from) {
    for (int64_t rows = from; rows <= N; rows++) {
        asc_ctx *ctx = ctx_with("deferred", dir);
        float out[N * 4 + 1];
        job(ctx, rows, 0.5, out);
        asc_ctx_destroy(ctx);
    }
}

static void many_processes_and_kills(void **state) {
    (void)state;
    size_t files, bytes;
    for (size_t round = 0; round < 6; round++) {
        pid_t child[3];
        for (int i = 0; i < 3; i++) {
            child[i] = fork();
            if (child[i] == 0) {
                for (;;) writer(1 + i);
            }
            assert_true(child[i] > 0);
        }
        /* killed when so many of them are written: each time further on */
        for (int ms = 0; count(".prog") < 2 * round; ms++) {
            usleep(1000);
            assert_true(ms < 300000);
        }
        for (int i = 0; i < 3; i++) kill(child[i], SIGKILL);
        for (int i = 0; i < 3; i++) waitpid(child[i], NULL, 0);
        asc_ctx *ctx = ctx_with("deferred", dir);
        for (int64_t rows = 1; rows <= N; rows++) same(ctx, rows, 0.5);
        assert_int_equal(asc_disk_cache_stats(ctx).bad, 0); /* never half a file */
        assert_int_equal(count(".prog"), N);
        assert_ok(ctx, asc_disk_cache_clear(ctx, false, &files, &bytes));
        assert_true(files == N && bytes > 0);
        assert_int_equal(count(".prog") + count(".tmp") + count(".txt"), 0);
        test_ctx_end(ctx);
    }
}

static void the_size_is_bounded(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_with("deferred", dir);
    float out[N * 4 + 1];
    job(ctx, 1, 0.5, out);
    char path[TEST_PATH];
    struct stat s;
    only_file(path);
    assert_int_equal(stat(path, &s), 0);
    asc_runtime_of(ctx)->disk.max_bytes = 4 * (size_t)s.st_size;
    for (int64_t rows = 2; rows <= N; rows++) job(ctx, rows, 0.5, out);
    assert_in_range(count(".prog"), 2, 4);
    test_ctx_end(ctx);
}

typedef struct seen {
    size_t n, usable, damaged;
} seen;

static bool visit(void *self, const asc_disk_entry *e) {
    seen *s = self;
    s->n++;
    s->usable += e->usable;
    s->damaged += e->damaged;
    assert_true(e->usable || e->problem[0] != '\0');
    return true;
}

static void lists_and_verifies(void **state) {
    (void)state;
    char path[TEST_PATH], text[300], *good = NULL;
    size_t n = 0, files, bytes;
    seen s = {0};
    asc_ctx *a = ctx_with("deferred", dir);
    same(a, 2, 0.5);
    only_file(path);
    assert_ok(a, asc_file_read(a, path, 1 << 20, &good, &n));
    good[8] = 2; /* another version */
    snprintf(text, sizeof text, "%s/other.prog", dir);
    assert_ok(a, asc_folder_write(a, text, good, n));
    snprintf(text, sizeof text, "%s/empty.prog", dir);
    assert_ok(a, asc_folder_write(a, text, "", 0));
    assert_ok(a, asc_disk_cache_list(a, true, visit, &s));
    assert_true(s.n == 3 && s.usable == 1 && s.damaged == 1);
    assert_ok(a, asc_disk_cache_clear(a, true, &files, &bytes));
    assert_int_equal(files, 1);
    assert_int_equal(count(".prog"), 2);
    asc_free(a, good);
    test_ctx_end(a);
}

/* What was recorded is the same, what is run is not. */
static void emulated_programs_have_their_own(void **state) {
    (void)state;
    float out[N * 4 + 1];
    for (int i = 0; i < 4; i++) {
        asc_ctx *ctx = ctx_with("deferred", dir);
        (void)asc_set_level(ctx, ASC_PRECISION_MEDIUM);
        asc_emulate_levels(ctx, i % 2 != 0);
        job(ctx, 5, 0.5, out);
        asc_disk_stats s = asc_disk_cache_stats(ctx);
        assert_true(i < 2 ? s.hits == 0 && s.written == 1 : s.hits == 1 && s.written == 0);
        test_ctx_end(ctx);
    }
    assert_int_equal(count(".prog"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_context_finds_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_frozen_context_takes_it, setup, teardown),
        cmocka_unit_test_setup_teardown(every_flipped_byte_is_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_contents_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(many_processes_and_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(the_size_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(emulated_programs_have_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_and_verifies, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_replay.c - replay files: what is saved runs again with the same bits, on other devices with other ones
 * that are near; malformed files are refused by name. */
#include "harness.h"
#include "ascribe/ops.h"
#include "ascribe/replay.h"
#include "exec.h"
#include "hash.h"
#include "replay_file.h"
#include <math.h>
#include <unistd.h>

static char path[TEST_TMP];

static int begin(void **state) {
    (void)state;
    const int fd = mkstemp(test_tmp_name(path, "ascribe-replay-XXXXXX"));
    if (fd >= 0) close(fd);
    return fd < 0 ? -1 : 0;
}
static int end(void **state) {
    (void)state;
    return unlink(path);
}

/* softmax(x w + b) where a boolean says so, and a look-up: three types of inputs. */
static asc_tensor *net(asc_ctx *ctx) {
    float x[4 * 8], w[8 * 6], b[6];
    int32_t rows[3] = {2, 0, 3};
    for (int i = 0; i < 32; i++) x[i] = sinf((float)i);
    for (int i = 0; i < 48; i++) w[i] = cosf((float)i * 0.7f);
    for (int i = 0; i < 6; i++) b[i] = (float)i * 0.1f - 0.2f;
    asc_tensor *X = asc_from_f32(ctx, ASC_SHAPE(4, 8), x), *W = asc_from_f32(ctx, ASC_SHAPE(8, 6), w);
    asc_tensor *y = asc_add(ctx, asc_matmul(ctx, X, W, false, false), asc_from_f32(ctx, ASC_SHAPE(6), b));
    return asc_gather(ctx, asc_softmax(ctx, y), asc_from_i32(ctx, ASC_SHAPE(3), rows));
}

static void save(const char *device, const char *mode, bool compute) {
    asc_ctx *ctx = test_ctx(device, mode);
    asc_scope_begin(ctx);
    asc_tensor *y = net(ctx);
    if (asc_replay_save(ctx, &y, 1, compute, path) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    test_ctx_end(ctx);
}

static void same_bits(void **state) {
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    (void)state;
    save("cpu", "deferred", true);
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = test_ctx("cpu", modes[m]);
        asc_replay *r = NULL;
        asc_replay_output out;
        if (asc_replay_open(ctx, path, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
        const asc_replay_info i = asc_replay_info_of(r);
        assert_true(i.n_outputs == 1 && i.has_outputs && i.n_inputs == 4 && i.error.len == 0);
        assert_memory_equal(i.device.ptr, "cpu", 3);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(asc_replay_run(r, NULL, &out), ASC_OK);
            assert_int_equal(out.n, 18);
            assert_int_equal(out.n_different, 0);
            assert_true(out.low > 0 && out.high < 1);
        }
        asc_replay_close(r);
        test_ctx_end(ctx);
    }
}

/* The exact device rounds nothing to f32: at most a few roundings of f32 away. Lower precision is farther. */
static void other_device_and_precision(void **state) {
    (void)state;
    save("cpu", "deferred", true);
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_replay *r = NULL;
    asc_replay_output out;
    assert_int_equal(asc_replay_open(ctx, path, &r), ASC_OK);
    assert_int_equal(asc_replay_run(r, NULL, &out), ASC_OK);
    assert_true(out.max_abs > 0 && out.max_abs < 16 * 6e-8);
    assert_int_equal(asc_replay_run(r, "nonsense", &out), ASC_INVALID_ARGUMENT);
    asc_replay_close(r);
    test_ctx_end(ctx);
    /* and the other way: f64 arrays on the cpu device */
    save("reference", "deferred", true);
    ctx = test_ctx("cpu", "deferred");
    assert_int_equal(asc_replay_open(ctx, path, &r), ASC_OK);
    assert_int_equal(asc_replay_run(r, NULL, &out), ASC_OK);
    assert_true(out.max_abs > 0 && out.max_abs < 16 * 6e-8);
    asc_replay_close(r);
    test_ctx_end(ctx);
}

static void without_outputs(void **state) {
    (void)state;
    save("cpu", "deferred", false);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_replay *r = NULL;
    asc_replay_output out;
    assert_int_equal(asc_replay_open(ctx, path, &r), ASC_OK);
    assert_false(asc_replay_info_of(r).has_outputs);
    assert_int_equal(asc_replay_run(r, NULL, &out), ASC_OK);
    assert_true(out.n_different == 0 && out.n_stored_nan == 0);
    asc_replay_close(r);
    asc_scope_begin(ctx);
    asc_tensor *y = net(ctx);
    assert_int_equal(asc_run(ctx, &y, 1), ASC_OK);
    assert_int_equal(asc_replay_save(ctx, &y, 1, true, path), ASC_FAILED_PRECONDITION);
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    test_ctx_end(ctx);
}

static char *read_all(size_t *n) {
    static char bytes[1 << 16] __attribute__((aligned(16)));
    FILE *f = fopen(path, "rb");
    *n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

static void mend(char *bytes, size_t n) {
    char hex[65];
    asc_sha256_hex(bytes, n - ASC_REPLAY_SUM, hex);
    memcpy(bytes + n - ASC_REPLAY_SUM, hex, ASC_REPLAY_SUM);
}

static void malformed(void **state) {
    static const struct {
        size_t at; /* byte that is changed */
        char to;
        asc_status st;
        const char *words;
    } table[] = {
        {0, 'X', ASC_INVALID_ARGUMENT, "no replay file"},
        {8, 9, ASC_UNIMPLEMENTED, "version 9"},
        {12, 9, ASC_INVALID_ARGUMENT, "another number of inputs"},
        {14, 127, ASC_INVALID_ARGUMENT, "more arrays than allowed"},
        {16, 2, ASC_INVALID_ARGUMENT, "another number of outputs"},
        {21, 1, ASC_INVALID_ARGUMENT, "the device's name of 259 bytes is longer than allowed"},
        {25, 1, ASC_INVALID_ARGUMENT, "the mode's name of 264 bytes is longer than allowed"},
        {30, 127, ASC_INVALID_ARGUMENT, "the message of 8323072 bytes is longer than allowed"},
        {34, 1, ASC_DATA_LOSS, "the program of "},
        {37, 1, ASC_INVALID_ARGUMENT, "longer than allowed"},
        {40, 1, ASC_INVALID_ARGUMENT, "reserved"},
        {60, '!', ASC_INVALID_ARGUMENT, "program text: line 1"},
    };
    (void)state;
    save("cpu", "deferred", true);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n;
        char *bytes = read_all(&n);
        asc_replay *r = NULL;
        bytes[table[i].at] = table[i].to;
        mend(bytes, n);
        const asc_status st = asc_replay_parse(ctx, bytes, n, &r);
        if (st != table[i].st || strstr(asc_error_message(ctx), table[i].words) == NULL)
            fail_msg("row %zu: %d %s", i, (int)st, asc_error_message(ctx));
        assert_null(r);
    }
    test_ctx_end(ctx);
}

/* Every byte flipped, every length: refused, and never anything else. */
static void damaged(void **state) {
    (void)state;
    save("cpu", "deferred", true);
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_replay *r = NULL;
    size_t n;
    char *bytes = read_all(&n);
    assert_int_equal(asc_replay_parse(ctx, bytes, n, &r), ASC_OK);
    asc_replay_close(r);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x20;
        assert_true(asc_replay_parse(ctx, bytes, n, &r) != ASC_OK);
        assert_null(r);
        bytes[i] ^= 0x20;
    }
    for (size_t k = 0; k < n; k++) assert_true(asc_replay_parse(ctx, bytes, k, &r) != ASC_OK);
    for (size_t k = ASC_REPLAY_HEAD + ASC_REPLAY_SUM; k < n; k += 3) { /* with a checksum that fits */
        bytes = read_all(&n);
        mend(bytes, k);
        assert_true(asc_replay_parse(ctx, bytes, k, &r) != ASC_OK);
    }
    assert_int_equal(asc_replay_open(ctx, "/no/such/file", &r), ASC_NOT_FOUND);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),       cmocka_unit_test(other_device_and_precision),
        cmocka_unit_test(without_outputs), cmocka_unit_test(malformed),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

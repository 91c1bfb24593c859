/* test_ascp.c - files of compiled functions: what is saved in one context gives the same bits in another one,
 * in another process, mode and number of threads; malformed files are refused by name. */
#include "ascp_file.h"
#include "ascribe/ops.h"
#include "exec.h"
#include "harness.h"
#include "hash.h"
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[TEST_TMP];

static int begin(void **state) {
    (void)state;
    const int fd = mkstemp(test_tmp_name(path, "ascribe-ascp-XXXXXX"));
    if (fd >= 0) close(fd);
    return fd < 0 ? -1 : 0;
}
static int end(void **state) {
    (void)state;
    return unlink(path);
}

static asc_ctx *ctx_of(const char *device, const char *mode, int threads, const char *isa) {
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = device, .mode = mode, .n_threads = threads, .isa = isa};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

static asc_tensor *filled(asc_ctx *ctx, asc_shape s, int first) {
    static float v[1 << 16];
    for (int i = 0; i < asc_shape_elems(&s); i++) v[i] = sinf(0.37f * (float)(first + i));
    return asc_from_f32(ctx, s, v);
}

/* Weights that outlive the recording: one plain, one in 8-bit blocks. */
static float dense[64 * 32];
static uint8_t blocks[32 * 2 * 34];

static void weights(void) {
    for (int i = 0; i < 64 * 32; i++) dense[i] = cosf(0.11f * (float)i);
    for (int b = 0; b < 64; b++) { /* a half float 2^-7, 32 bytes */
        blocks[34 * b] = 0x00;
        blocks[34 * b + 1] = 0x20;
        for (int i = 0; i < 32; i++) blocks[34 * b + 2 + i] = (uint8_t)(7 * b + 13 * i);
    }
}

/* f = sum(tanh(s0 x W + s1) Q') + rows of a table, and the gradient at x; a parameter, a constant, twice the
 * same. */
enum { N_OUT = 6 };
static void network(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    int axes[] = {0, 1};
    (void)asc_capture_check_below(ctx, in[1], 64, "row of W"); /* every run checks its ids */
    asc_tensor *W = asc_from_stored(ctx, ASC_DTYPE_F32, ASC_SHAPE(64, 32), dense);
    asc_tensor *Q = asc_from_stored(ctx, ASC_DTYPE_Q8_0, ASC_SHAPE(32, 64), blocks);
    asc_tensor *h = asc_scale(ctx, asc_matmul(ctx, in[0], W, false, false), s[0]);
    h = asc_tanh(ctx, asc_shift(ctx, h, s[1]));
    h = asc_matmul(ctx, asc_matmul(ctx, h, W, false, true), Q, false, true);
    out[2] = asc_add(ctx, asc_softmax(ctx, h), asc_gather(ctx, W, in[1]));
    out[0] = asc_sum(ctx, asc_mul(ctx, out[2], out[2]), 2, axes, false);
    asc_grad(ctx, out[0], NULL, &in[0], 1, &out[1]);
    out[3] = in[0];
    out[4] = W;
    out[5] = out[2];
}

static const asc_compile_def def = {
    .struct_size = sizeof def, .fn = network, .n_in = 2, .n_scalars = 2, .n_out = N_OUT, .name = "net"};

/* Calls it with so many rows and reads everything. */
enum { MOST = 1 + 2 * 5 * 64 + 2 * 5 * 32 + 64 * 32 };
static size_t call(asc_compiled *c, asc_ctx *ctx, int rows, double a, float *got) {
    const double s[] = {a, -0.3 * a};
    int32_t ids[5];
    size_t n = 0;
    for (int i = 0; i < rows; i++) ids[i] = 5 * i + 1;
    asc_scope_begin(ctx);
    asc_tensor *in[] = {filled(ctx, ASC_SHAPE(rows, 64), rows + (int)(10 * a)),
                        asc_from_i32(ctx, ASC_SHAPE(rows), ids)};
    asc_tensor *out[N_OUT];
    assert_ok(ctx, asc_compiled_call(c, in, s, out));
    for (int k = 0; k < N_OUT; k++) {
        const size_t m = (size_t)asc_tensor_elems(out[k]);
        assert_true(n + m <= MOST);
        assert_ok(ctx, asc_read_f32(ctx, out[k], got + n, m));
        n += m;
    }
    assert_ok(ctx, asc_scope_end(ctx));
    return n;
}

static const double factors[] = {0.25, 1.5, 0.25};

/* Calls with two signatures and saves; what was computed is in want. */
static void save(const char *device, const char *isa, float want[2][3][MOST]) {
    asc_ctx *ctx = ctx_of(device, "deferred", 1, isa);
    asc_compiled *c;
    size_t bytes;
    struct stat st;
    weights();
    assert_ok(ctx, asc_compile(ctx, &def, &c));
    assert_int_equal(asc_compiled_save(c, path), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "nothing is captured"));
    for (int g = 0; g < 2; g++) {
        for (int i = 0; i < 3; i++) call(c, ctx, 3 + 2 * g, factors[i], want[g][i]);
    }
    assert_ok(ctx, asc_compiled_size(c, &bytes));
    assert_ok(ctx, asc_compiled_save(c, path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, bytes);
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static float want[2][3][MOST], got[MOST];

/* Whether a loaded one gives the bits of want. */
static bool equal_bits(asc_compiled *c, asc_ctx *ctx) {
    bool same = true;
    for (int i = 0; i < 3; i++) {
        for (int g = 1; g >= 0; g--) {
            const size_t n = call(c, ctx, 3 + 2 * g, factors[i], got);
            same = same && memcmp(got, want[g][i], n * sizeof *got) == 0;
        }
    }
    return same;
}

static void same_bits_elsewhere(void **state) {
    static const struct {
        const char *mode;
        int threads;
    } to[] = {{"deferred", 2}, {"eager", 1}, {"compiled", 2}};
    (void)state;
    save("cpu", NULL, want);
    assert_true(want[0][0][0] > 0.5f && fabsf(want[0][0][0] - want[0][1][0]) > 1e-6f);
    assert_memory_equal(want[0][0], want[0][2], sizeof want[0][0]);
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = ctx_of("cpu", to[m].mode, to[m].threads, NULL);
        asc_compiled *c;
        uint64_t recorded, run;
        assert_ok(ctx, asc_compiled_load(ctx, path, &c));
        asc_exec_freeze(ctx, m == 0); /* nothing is compiled any more */
        assert_true(equal_bits(c, ctx));
        asc_exec_cache_clear(ctx); /* what it holds is its own */
        assert_true(equal_bits(c, ctx));
        asc_compiled_counts(c, &recorded, &run);
        assert_true(recorded == 0 && run == 12);
        asc_compiled_destroy(c);
        test_ctx_end(ctx);
    }
}

static void in_another_process(void **state) {
    (void)state;
    int status = -1;
    save("cpu", NULL, want);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        asc_ctx_options o = {.struct_size = sizeof o, .n_threads = 1};
        asc_ctx *ctx;
        asc_compiled *c;
        memset(dense, 0, sizeof dense); /* the weights are the file's */
        memset(blocks, 0, sizeof blocks);
        if (asc_ctx_create(&o, &ctx) != ASC_OK || asc_compiled_load(ctx, path, &c) != ASC_OK) _exit(2);
        _exit(equal_bits(c, ctx) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Other instructions, and the exact device: near, since f32 rounds a few thousand times 2^-24 at most. */
static void on_other_devices(void **state) {
    static const char *const to[][2] = {
        {"cpu", "baseline"}, {"cpu", "avx2"}, {"reference", NULL}, {"cpu", NULL}};
    (void)state;
    for (int from = 0; from < 2; from++) {
        save(from == 0 ? "cpu" : "reference", NULL, want);
        for (size_t t = 0; t < 4; t++) {
            asc_ctx *ctx = ctx_of(to[t][0], "deferred", 1, to[t][1]);
            asc_compiled *c = NULL;
            const asc_status st = asc_compiled_load(ctx, path, &c);
            if (from == 1 && t != 2) { /* expanded blocks are f64 there */
                assert_int_equal(st, ASC_FAILED_PRECONDITION);
                assert_non_null(strstr(asc_error_message(ctx), "q8_0 weights as plain numbers"));
            } else {
                assert_ok(ctx, st);
                const size_t n = call(c, ctx, 5, factors[1], got);
                for (size_t i = 0; i < n; i++) {
                    const float w = want[1][1][i];
                    assert_true(fabsf(got[i] - w) <= 1e-4f * (fabsf(w) + 1.0f));
                }
            }
            asc_compiled_destroy(c);
            test_ctx_end(ctx);
        }
    }
}

/* A loaded one can be saved again, and its signatures are all it knows. */
static void saved_again(void **state) {
    (void)state;
    save("cpu", NULL, want);
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, NULL);
    asc_compiled *c, *again;
    asc_tensor *out[N_OUT];
    const double s[] = {1.0, 2.0};
    assert_ok(ctx, asc_compiled_load(ctx, path, &c));
    assert_ok(ctx, asc_compiled_save(c, path));
    assert_ok(ctx, asc_compiled_load(ctx, path, &again));
    asc_compiled_destroy(c);
    assert_true(equal_bits(again, ctx));
    asc_scope_begin(ctx);
    int32_t ids[4] = {0};
    asc_tensor *in[] = {filled(ctx, ASC_SHAPE(4, 64), 0), asc_from_i32(ctx, ASC_SHAPE(4), ids)};
    assert_int_equal(asc_compiled_call(again, in, s, out), ASC_NOT_FOUND);
    assert_non_null(
        strstr(asc_error_message(ctx), "net: the file has no signature (f32 [4,64], i32 [4]); it has "));
    assert_non_null(strstr(asc_error_message(ctx), "(f32 [3,64], i32 [3])"));
    assert_non_null(strstr(asc_error_message(ctx), "(f32 [5,64], i32 [5])"));
    assert_ok(ctx, asc_scope_end(ctx));
    asc_compiled_destroy(again);
    test_ctx_end(ctx);
}

/* The checks of a recording are made before each run of what was loaded. */
static void checks_its_ids(void **state) {
    (void)state;
    save("cpu", NULL, want);
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, NULL);
    asc_compiled *c;
    asc_tensor *out[N_OUT];
    const double s[] = {0.25, -0.075};
    const int32_t ids[3] = {1, 64, 2};
    assert_ok(ctx, asc_compiled_load(ctx, path, &c));
    asc_scope_begin(ctx);
    asc_tensor *in[] = {filled(ctx, ASC_SHAPE(3, 64), 0), asc_from_i32(ctx, ASC_SHAPE(3), ids)};
    assert_int_equal(asc_compiled_call(c, in, s, out), ASC_OUT_OF_RANGE);
    assert_non_null(strstr(asc_error_message(ctx), "row of W: id 64; the table has 64 rows"));
    (void)!asc_scope_end(ctx);
    assert_true(equal_bits(c, ctx));
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

/* Weights that both signatures hold are in the file once, in their stored type. */
static void holds(void **state) {
    (void)state;
    save("cpu", NULL, want);
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, NULL);
    asc_ascp *f;
    assert_ok(ctx, asc_ascp_open(ctx, path, &f));
    const asc_ascp_info i = asc_ascp_info_of(f);
    assert_true(i.n_in == 2 && i.n_scalars == 2 && i.n_out == N_OUT && i.n_signatures == 2);
    size_t n_q8 = 0;
    for (size_t k = 0; k < i.n_arrays; k++) {
        const asc_ascp_value v = asc_ascp_array(f, k);
        if (strcmp(v.dtype, "q8_0") != 0) continue;
        assert_int_equal(v.bytes, sizeof blocks);
        n_q8++;
    }
    assert_int_equal(n_q8, 1);
    assert_int_equal(asc_ascp_output(f, 0, 3).from, ASC_ASCP_INPUT);
    assert_int_equal(asc_ascp_output(f, 0, 4).from, ASC_ASCP_ARRAY);
    assert_int_equal(asc_ascp_output(f, 0, 5).from, ASC_ASCP_PROGRAM);
    assert_int_equal(asc_ascp_output(f, 0, 5).shape.dims[1], 32);
    assert_true(asc_ascp_signature_of(f, 1).n_scalars >= 2);
    asc_ascp_close(f);
    test_ctx_end(ctx);
}

static void own(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    (void)s;
    out[0] = asc_scale(ctx, asc_neg(ctx, in[0]), s != NULL ? s[0] : 2.0);
}

/* Small: for what is tried byte by byte. Saved under `to`. */
static asc_status save_small(asc_ctx *ctx, const char *to) {
    asc_compile_def d = {.struct_size = sizeof d, .fn = own, .n_in = 1, .n_scalars = 1, .n_out = 1};
    asc_compiled *c;
    const double s[] = {3.0};
    asc_tensor *out;
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    asc_scope_begin(ctx);
    asc_tensor *in = filled(ctx, ASC_SHAPE(2), 1);
    assert_ok(ctx, asc_compiled_call(c, &in, s, &out));
    assert_ok(ctx, asc_scope_end(ctx));
    const asc_status st = asc_compiled_save(c, to);
    asc_compiled_destroy(c);
    return st;
}

static void writing_fails(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, NULL);
    assert_int_not_equal(save_small(ctx, "/no/such/folder/x.ascp"), ASC_OK);
    assert_non_null(strstr(asc_error_message(ctx), "/no/such/folder"));
    assert_int_not_equal(save_small(ctx, "/proc/x.ascp"), ASC_OK);
    assert_int_not_equal(save_small(ctx, test_tmp()), ASC_OK);
    struct rlimit full = {64, RLIM_INFINITY}, before;
    struct stat st;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    full.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    const asc_status on_full = save_small(ctx, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(on_full, ASC_OK);
    assert_non_null(strstr(asc_error_message(ctx), path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0); /* what was there before */
    asc_compiled *c;
    assert_int_equal(asc_compiled_load(ctx, "/no/such/file", &c), ASC_NOT_FOUND);
    assert_null(c);
    test_ctx_end(ctx);
}

static char *read_all(size_t *n) {
    static char bytes[1 << 17] __attribute__((aligned(16)));
    FILE *f = fopen(path, "rb");
    *n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

static void mend(char *bytes, size_t n) {
    char hex[65];
    asc_sha256_hex(bytes, n - ASC_ASCP_SUM, hex);
    memcpy(bytes + n - ASC_ASCP_SUM, hex, ASC_ASCP_SUM);
}

/* Each byte turned over, as it is and with the checksum made right: the first is refused, the second is
 * refused or a function that runs. */
static void every_byte(void **state) {
    (void)state;
    size_t n;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, NULL);
    assert_ok(ctx, save_small(ctx, path));
    char *bytes = read_all(&n), sum[ASC_ASCP_SUM];
    memcpy(sum, bytes + n - ASC_ASCP_SUM, ASC_ASCP_SUM);
    assert_true(n < 2048);
    for (size_t i = 0; i < n; i++) {
        for (int flip = 1; flip < 256; flip += 63) {
            asc_ascp *f;
            asc_compiled *c = NULL;
            bytes[i] = (char)(bytes[i] ^ flip);
            assert_int_not_equal(asc_ascp_parse(ctx, bytes, n, &f), ASC_OK);
            assert_true(asc_error_message(ctx)[0] != '\0');
            mend(bytes, n);
            if (asc_ascp_parse(ctx, bytes, n, &f) == ASC_OK && asc_ascp_compile(f, &c) == ASC_OK) {
                const double s[] = {1.0};
                asc_tensor *out;
                asc_scope_begin(ctx);
                asc_tensor *in = filled(ctx, ASC_SHAPE(2), 1);
                if (f->info.n_in == 1 && f->info.n_out == 1 && f->info.n_scalars <= 1)
                    (void)!asc_compiled_call(c, &in, s, &out);
                (void)!asc_scope_end(ctx);
            }
            asc_compiled_destroy(c);
            asc_ascp_close(f);
            bytes[i] = (char)(bytes[i] ^ flip);
            memcpy(bytes + n - ASC_ASCP_SUM, sum, ASC_ASCP_SUM);
        }
        asc_ascp *cut;
        assert_int_not_equal(asc_ascp_parse(ctx, bytes, i, &cut), ASC_OK);
        assert_null(cut);
    }
    test_ctx_end(ctx);
}

/* What is put where in the small file, and what is said. The place: `at` bytes behind `find` (NULL: the
 * start). */
static void malformed(void **state) {
    static const struct {
        const char *find;
        size_t at;
        const char *put;
        size_t n_put;
        asc_status st;
        const char *words;
    } table[] = {
        {NULL, 0, "X", 1, ASC_INVALID_ARGUMENT, "does not begin with"},
        {NULL, 8, "\2", 1, ASC_UNIMPLEMENTED, "version 2 of the format"},
        {NULL, 13, "\1", 1, ASC_INVALID_ARGUMENT, "the device's name of"},
        {NULL, 16, "\377", 1, ASC_INVALID_ARGUMENT, "the function's name of 255 bytes is longer"},
        {NULL, 22, "\1", 1, ASC_INVALID_ARGUMENT, "more inputs, scalars or outputs than allowed"},
        {NULL, 28, "\0", 1, ASC_INVALID_ARGUMENT, "no signature, or no output"},
        {NULL, 32, "\0", 1, ASC_INVALID_ARGUMENT, "no signature, or no output"},
        {NULL, 32, "\2", 1, ASC_DATA_LOSS, "a signature is cut short"},
        {NULL, 33, "\1", 1, ASC_INVALID_ARGUMENT, "more signatures or arrays than allowed"},
        {NULL, 36, "\1", 1, ASC_INVALID_ARGUMENT, "an unknown element type"},
        {NULL, 38, "\17", 1, ASC_DATA_LOSS, "more arrays or signatures than bytes"},
        {NULL, 40, "\1", 1, ASC_INVALID_ARGUMENT, "reserved"},
        {"ops ", 0, "z", 1, ASC_FAILED_PRECONDITION, "this is 'ascribe "},
        {"f32", 1, "9", 1, ASC_INVALID_ARGUMENT, "an unknown element type"},
        {"f32", 16, "\1", 1, ASC_INVALID_ARGUMENT, "an input with elements"},
        {"f32", 20, "\7", 1, ASC_INVALID_ARGUMENT, "too many dimensions"},
        {"f32", 24, "\3", 1, ASC_INVALID_ARGUMENT, "another type or shape"},
        {"f32", 31, "\200", 1, ASC_INVALID_ARGUMENT, "an impossible shape"},
        {"%0 = ", 0, "%9", 2, ASC_INVALID_ARGUMENT, "program text: line 1"},
        {"neg f32 [2] ", 0, "%1", 2, ASC_INVALID_ARGUMENT, "program text: line 2"},
        {"function", 8, "\3", 1, ASC_INVALID_ARGUMENT, "filling that is not zero"},
        {"inputs", 0, "\3", 1, ASC_INVALID_ARGUMENT, "comes from nowhere known"},
        {"inputs", 0, "\0", 1, ASC_INVALID_ARGUMENT, "its own output"},
        {"inputs", 0, "\2", 1, ASC_INVALID_ARGUMENT, "an array that there is not"},
        {"inputs", 4, "\1", 1, ASC_INVALID_ARGUMENT, "an input of the function that there is not"},
        {"inputs", 12, "\1", 1, ASC_INVALID_ARGUMENT, "an output that the program does not have"},
        {"inputs", 8, "\1", 1, ASC_INVALID_ARGUMENT, "the program returns what is no output"},
        {"inputs", 16, "\1", 1, ASC_INVALID_ARGUMENT, "a scalar that goes nowhere"},
        {"inputs", 16, "\11", 1, ASC_INVALID_ARGUMENT, "a scalar that goes nowhere"},
        {"inputs", 20, "\1", 1, ASC_INVALID_ARGUMENT, "a scalar that goes nowhere"},
        {"inputs", 24, "\1", 1, ASC_INVALID_ARGUMENT, "a scalar that goes nowhere"},
    };
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1, "baseline"); /* its name decides how much is filled */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n, at = 0;
        asc_ascp *f;
        assert_ok(ctx, save_small(ctx, path));
        char *bytes = read_all(&n);
        if (table[i].find != NULL && strcmp(table[i].find, "inputs") == 0) {
            at = n - ASC_ASCP_SUM - 32; /* one input, one output, one scalar */
        } else if (table[i].find != NULL) {
            const char *hit = memmem(bytes, n, table[i].find, strlen(table[i].find));
            assert_non_null(hit);
            const bool behind = table[i].put[0] == '%' || table[i].find[0] == 'o';
            at = (size_t)(hit - bytes) + (behind && table[i].find[0] != '%' ? strlen(table[i].find) : 0);
        }
        memcpy(bytes + at + table[i].at, table[i].put, table[i].n_put);
        mend(bytes, n);
        const asc_status st = asc_ascp_parse(ctx, bytes, n, &f);
        if (st != table[i].st || strstr(asc_error_message(ctx), table[i].words) == NULL)
            fail_msg("row %zu: status %d, %s", i, (int)st, asc_error_message(ctx));
        assert_null(f);
    }
    test_ctx_end(ctx);
}

/* Every allocation of a load fails in turn: an error, and nothing is left behind. */
static void out_of_memory(void **state) {
    (void)state;
    asc_ctx *first = ctx_of("cpu", "deferred", 1, NULL);
    assert_ok(first, save_small(first, path));
    test_ctx_end(first);
    for (long at = 1;; at++) {
        test_alloc a = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .n_threads = 1, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx;
        asc_compiled *c;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        a.count = 0;
        a.fail_at = at;
        const asc_status st = asc_compiled_load(ctx, path, &c);
        const bool failed = a.count >= at;
        a.fail_at = 0;
        if (failed) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        asc_compiled_destroy(c);
        test_ctx_end(ctx);
        assert_int_equal(a.live, 0);
        if (!failed) {
            assert_int_equal(st, ASC_OK);
            return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_bits_elsewhere, begin, end),
        cmocka_unit_test_setup_teardown(in_another_process, begin, end),
        cmocka_unit_test_setup_teardown(on_other_devices, begin, end),
        cmocka_unit_test_setup_teardown(saved_again, begin, end),
        cmocka_unit_test_setup_teardown(checks_its_ids, begin, end),
        cmocka_unit_test_setup_teardown(holds, begin, end),
        cmocka_unit_test_setup_teardown(writing_fails, begin, end),
        cmocka_unit_test_setup_teardown(every_byte, begin, end),
        cmocka_unit_test_setup_teardown(malformed, begin, end),
        cmocka_unit_test_setup_teardown(out_of_memory, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_fold.c - constants run in an executable's first run and again when one of their scalars changes; the
 * bits are those of the program without the pass, on every device. */
#include "exe.h"
#include "harness.h"
#include "passes.h"
#include "view.h"
#include <math.h>

enum { N = 6 };

/* %3 and %5 are kept (other nodes read them, %5 through a view), %2 and %4 are not. %6 overwrites nothing
 * that is kept, though it reads %5 last. */
static const char *const text = "%0 = input f32 [6]\n"
                                "%1 = iota f32 [6] {n=6 start=1 step=1}\n"
                                "%2 = scale f32 [6] %1 {factor=0.5}\n"
                                "%3 = exp f32 [6] %2\n"
                                "%4 = shift f32 [6] %3 {addend=2}\n"
                                "%5 = mul f32 [6] %4 %3\n"
                                "%6 = reshape f32 [6,1] %5 {shape=[6,1]}\n"
                                "%7 = mul f32 [6] %0 %3\n"
                                "%8 = reshape f32 [6,1] %7 {shape=[6,1]}\n"
                                "%9 = sub f32 [6,1] %6 %8\n"
                                "%10 = neg f32 [6] %7\n"
                                "return %9 %10\n";

typedef struct run {
    asc_ctx *ctx;
    asc_exe *e;
    size_t bytes; /* of a float */
    double x[N], y[2 * N];
} run;

static void begin(run *r, const char *device, const char *passes) {
    asc_program p;
    uint64_t off;
    r->ctx = test_ctx(device, NULL);
    assert_ok(r->ctx, asc_passes_parse(r->ctx, passes, &off));
    assert_ok(r->ctx, asc_program_parse(r->ctx, asc_view_of(text), &p));
    assert_ok(r->ctx, asc_exe_make(r->ctx, &p, off, &r->e));
    assert_int_equal(r->e->n_inputs, 1);
    r->bytes = asc_exec_device(r->ctx)->storage_bytes(ASC_DTYPE_F32, 16) / 16;
}

static void end(run *r) {
    asc_exe_destroy(r->ctx, r->e);
    test_ctx_end(r->ctx);
}

/* One run with these scalars; results in r->y. */
static asc_status once(run *r, double factor, double addend) {
    const asc_device *dev = asc_exec_device(r->ctx);
    asc_exe *e = r->e;
    _Alignas(64) double x[16] = {0}, y[2][16];
    for (int i = 0; i < N; i++) r->x[i] = 0.3 * i - 1;
    dev->upload(ASC_DTYPE_F32, x, ASC_DTYPE_F64, r->x, N);
    for (size_t i = 0; i < e->n_scalars; i++) {
        asc_node *n = &e->program.nodes[e->scalars[i].node];
        if (n->op->opcode == ASC_OPCODE_SCALE) n->attrs.f[e->scalars[i].slot] = factor;
        if (n->op->opcode == ASC_OPCODE_SHIFT) n->attrs.f[e->scalars[i].slot] = addend;
    }
    asc_status st = asc_exe_begin(r->ctx, e);
    e->data[e->input_node[0]] = x;
    for (int k = 0; k < 2; k++) e->data[e->program.outputs[k]] = y[k];
    if (st == ASC_OK) st = asc_exe_run(r->ctx, e, ASC_CUT_RUN);
    for (int k = 0; k < 2; k++) dev->download(ASC_DTYPE_F32, y[k], ASC_DTYPE_F64, r->y + k * N, N);
    return st;
}

static void same_bits_and_again_with_other_scalars(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "reference"};
    static const double scalars[][2] = {{0.5, 2},   {0.5, 2}, {0.5, 2},  {-1.25, 2}, {-1.25, 2}, {-1.25, 7},
                                        {-1.25, 7}, {0, 7},   {-0.0, 7}, {NAN, 7},   {NAN, 7},   {0.5, 2}};
    for (int d = 0; d < 2; d++) {
        run all, single, none;
        begin(&all, devices[d], "");
        begin(&single, devices[d], "-fuse");
        begin(&none, devices[d], "none");
        assert_int_equal(all.e->fold.n_kept, 2);
        assert_int_equal(none.e->fold.n_kept, 0);
        for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
            assert_ok(all.ctx, once(&all, scalars[i][0], scalars[i][1]));
            assert_ok(single.ctx, once(&single, scalars[i][0], scalars[i][1]));
            assert_ok(none.ctx, once(&none, scalars[i][0], scalars[i][1]));
            assert_memory_equal(all.y, none.y, sizeof all.y);
            assert_memory_equal(single.y, none.y, sizeof all.y);
        }
        end(&all);
        end(&single);
        end(&none);
    }
}

/* What is kept is what is read: a later run shows what was put there, a run with another scalar does not. */
static void constants_are_not_run_again(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "reference"};
    for (int d = 0; d < 2; d++) {
        run r;
        double want[2 * N];
        begin(&r, devices[d], "-fuse");
        assert_ok(r.ctx, once(&r, 0.5, 2));
        memcpy(want, r.y, sizeof want);
        const asc_fold_kept *k = &r.e->fold.kept[0];
        memset((char *)r.e->fold.block + k->offset, 0, N * r.bytes); /* %3 */
        assert_ok(r.ctx, once(&r, 0.5, 2));
        for (int i = 0; i < N; i++) {
            assert_true(r.y[N + i] == 0);
            assert_true(want[N + i] != 0);
        }
        assert_ok(r.ctx, once(&r, 0.5, 3));
        assert_memory_equal(r.y + N, want + N, N * sizeof *want);
        end(&r);
    }
}

static void a_stopped_run_keeps_nothing(void **state) {
    (void)state;
    run r;
    double want[2 * N];
    begin(&r, "cpu", "");
    asc_cancel(r.ctx);
    assert_int_equal(once(&r, 0.5, 2), ASC_CANCELLED);
    assert_false(r.e->fold.filled);
    atomic_store(&r.ctx->cancel, 0);
    assert_ok(r.ctx, once(&r, 0.5, 2));
    assert_true(r.e->fold.filled);
    memcpy(want, r.y, sizeof want);
    assert_ok(r.ctx, once(&r, 0.5, 2));
    assert_memory_equal(r.y, want, sizeof want);
    for (int i = 0; i < N; i++) { /* -exp(k / 2) x, against the C library */
        const double q = exp(0.5 * (i + 1)), x = 0.3 * i - 1;
        assert_true(fabs(r.y[N + i] + q * x) <= 4e-7 * fabs(q * x) + 1e-12);
        assert_true(fabs(r.y[i] - ((q + 2) * q - q * x)) <= 1e-6 * ((q + 2) * q + fabs(q * x)));
    }
    end(&r);
}

static void no_memory(void **state) {
    (void)state;
    for (long at = 1;; at++) {
        test_alloc mem = {0};
        asc_ctx_options o = {
            .struct_size = sizeof o, .device = "cpu", .alloc = test_alloc_fn, .alloc_self = &mem};
        asc_ctx *ctx = NULL;
        asc_program p;
        asc_exe *e = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
        mem.fail_at = mem.count + at;
        asc_status st = asc_exe_make(ctx, &p, 0, &e);
        const bool failed = mem.count >= mem.fail_at;
        mem.fail_at = 0;
        assert_int_equal(st, failed ? ASC_RESOURCE_EXHAUSTED : ASC_OK);
        assert_true(failed == (e == NULL));
        asc_exe_destroy(ctx, e);
        test_ctx_end(ctx);
        assert_int_equal(mem.live, 0);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_and_again_with_other_scalars),
        cmocka_unit_test(constants_are_not_run_again),
        cmocka_unit_test(a_stopped_run_keeps_nothing),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}

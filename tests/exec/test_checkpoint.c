/* test_checkpoint.c - a transformer's gradient under bounds of its temporaries: honoured, equal bits, no more
 * work than one more forward pass, and never less memory for a larger bound's price. */
#include "../ir/pass_text.h"
#include "../ir/program_outputs.h"
#include "layers.h"
#include "ops.h"

enum { B = 1, T = 24, D = 32, FF = 96, H = 4, BLOCKS = 12, STEPS = 12 };

static asc_tensor *weight(asc_ctx *ctx, int64_t rows, int64_t cols) {
    static float zeros[D * FF];
    return asc_from_f32(ctx, cols > 0 ? ASC_SHAPE(rows, cols) : ASC_SHAPE(rows), zeros);
}

static asc_tensor *block(asc_ctx *ctx, asc_tensor *x, asc_tensor *pos, asc_tensor *freq) {
    asc_tensor *h = asc_rms_norm(ctx, x, weight(ctx, D, 0), 1e-5), *qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = asc_split_heads(ctx, asc_matmul(ctx, h, weight(ctx, D, D), false, true), D / H);
    for (int i = 0; i < 2; i++) qkv[i] = asc_rope(ctx, qkv[i], pos, freq, false, false, 1);
    asc_tensor *o = asc_sdpa(ctx, qkv[0], qkv[1], qkv[2], 0.35, true, 0, 0);
    o = asc_reshape(ctx, o, ASC_SHAPE(B, T, D));
    x = asc_add(ctx, x, asc_matmul(ctx, o, weight(ctx, D, D), false, true));
    h = asc_rms_norm(ctx, x, weight(ctx, D, 0), 1e-5);
    asc_tensor *g = asc_matmul(ctx, h, weight(ctx, FF, D), false, true),
               *u = asc_matmul(ctx, h, weight(ctx, FF, D), false, true);
    return asc_add(ctx, x, asc_matmul(ctx, asc_swiglu(ctx, g, u), weight(ctx, D, FF), false, true));
}

/* Text of the program as recorded. */
static char *record(asc_ctx *ctx, int n_blocks, double *forward_flops) {
    static float data[B * T * D];
    static int32_t ids[T];
    asc_strbuf text;
    asc_plan plan;
    int axes[] = {0, 1, 2};
    asc_strbuf_init(&text, ctx);
    assert_ok(ctx, asc_exec_passes(ctx, "none"));
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(B, T, D), data), *y = x, *g[2];
    asc_tensor *pos = asc_from_i32(ctx, ASC_SHAPE(T), ids),
               *freq = asc_from_f32(ctx, ASC_SHAPE(D / H / 2), data);
    for (int i = 0; i < n_blocks; i++) y = block(ctx, y, pos, freq);
    y = asc_sum(ctx, asc_square(ctx, y), 3, axes, false);
    assert_ok(ctx, asc_exec_price(ctx, &y, 1, &plan));
    *forward_flops = plan.cost.flops;
    asc_grad(ctx, y, NULL, &x, 1, &g[1]);
    g[0] = y;
    assert_ok(ctx, asc_exec_text(ctx, g, 2, &text));
    assert_ok(ctx, asc_scope_end(ctx));
    return asc_strbuf_take(&text, NULL);
}

typedef struct bounded {
    double flops;
    size_t arena; /* as the pass says */
    size_t copies;
    run_result run;
} bounded;

static bounded run_bounded(asc_ctx *ctx, const char *text, size_t bytes, bool fuses) {
    asc_program p;
    bounded b = {0};
    size_t done[64] = {0};
    const asc_device *dev = asc_exec_device(ctx);
    asc_pass_env env = {.storage_bytes = dev->storage_bytes,
                        .alias = dev->aliases_views,
                        .fuses = fuses,
                        .memory_bytes = bytes,
                        .arena_bytes = &b.arena,
                        .done = done};
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    assert_ok(ctx, asc_passes_run(ctx, &p, &env));
    b.flops = asc_program_cost(&p).flops;
    for (size_t i = 0; i < asc_n_passes; i++)
        if (strcmp(asc_passes[i]->name, "checkpoint") == 0) b.copies = done[i];
    assert_ok(ctx, run_program(ctx, &p, fuses, &b.run));
    asc_program_deinit(&p);
    return b;
}

static void sweep(bool fuses) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    double forward = 0, flops_before = 0;
    char *text = record(ctx, BLOCKS, &forward);
    bounded all = run_bounded(ctx, text, 0, fuses), least = run_bounded(ctx, text, 1, fuses);
    size_t before = SIZE_MAX;
    assert_int_equal(all.copies, 0);
    assert_true(least.run.arena_bytes == least.arena);
    print_message(
        "12 blocks%s: %zu KB without a bound, %zu KB at least, for %.0f %% of a forward pass more\n",
        fuses ? ", fused" : "", all.run.arena_bytes >> 10, least.arena >> 10,
        100 * (least.flops - all.flops) / forward);
    assert_true(5 * least.arena < 2 * all.run.arena_bytes);
    for (int i = 0; i <= STEPS; i++) {
        size_t bound = all.run.arena_bytes - (all.run.arena_bytes - least.arena) / STEPS * (size_t)i;
        bounded b = run_bounded(ctx, text, bound, fuses);
        print_message("  bound %4zu KB: %4zu KB, %3zu values made again, %.1f %% of a forward pass more\n",
                      bound >> 10, b.run.arena_bytes >> 10, b.copies, 100 * (b.flops - all.flops) / forward);
        assert_true(b.run.arena_bytes <= bound);
        assert_true(b.arena == b.run.arena_bytes);
        assert_true(b.flops <= all.flops + 1.02 * forward);
        assert_true(b.arena <= before);
        before = bound;
        assert_true(b.flops >= flops_before * 0.98);
        flops_before = b.flops;
        assert_int_equal(b.run.n, all.run.n);
        assert_memory_equal(b.run.out, all.run.out, all.run.n * sizeof *all.run.out);
        asc_free(ctx, b.run.out);
    }
    asc_free(ctx, all.run.out);
    asc_free(ctx, least.run.out);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

static void bounds_are_honoured(void **state) {
    (void)state;
    sweep(false);
    sweep(true);
}

/* The least grows more slowly than the number of blocks. */
static void sublinear(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    size_t least[2];
    for (int i = 0; i < 2; i++) {
        double forward;
        char *text = record(ctx, i == 0 ? 6 : 24, &forward);
        bounded b = run_bounded(ctx, text, 1, false);
        least[i] = b.arena;
        asc_free(ctx, b.run.out);
        asc_free(ctx, text);
    }
    print_message("least: %zu KB for 6 blocks, %zu KB for 24\n", least[0] >> 10, least[1] >> 10);
    assert_true(least[1] < 3 * least[0]);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_honoured), cmocka_unit_test(sublinear)};
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}

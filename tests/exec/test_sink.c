/* test_sink.c - passes on whole decoders: a gradient recorded over all rows, of which only the last are read,
 * costs about what a model that cuts by hand costs, and has the bits of the program as recorded. */
#include "cpu.h"
#include "exec.h"
#include "harness.h"
#include "model.h"
#include "passes.h"

static const char *const zoo[] = {"llama-q4_1", "llama-q8_0", "qwen3-q5_0", "gemma2-f16"};
enum { N_ZOO = sizeof zoo / sizeof *zoo, MAX_T = 64 };

typedef struct outcome {
    double flops;
    size_t arena;
    float score[4];
    float *grad; /* [b, t, d] */
    size_t n_grad;
} outcome;

typedef struct setting {
    const char *device, *isa, *passes;
    size_t bound; /* of temporaries; 0 = none */
    bool by_hand; /* the model computes only the last rows of its last block, and their logits */
    int64_t b, t, m;
} setting;

/* The log-probability of m last tokens of each of b prompts, and its gradient by the embeddings. */
static outcome run(const char *model, const setting *s) {
    asc_ctx_options opts = {.struct_size = sizeof opts, .device = s->device, .isa = s->isa, .seed = 1};
    asc_ctx *ctx = NULL;
    asc_model *m = NULL;
    char file[128];
    int32_t ids[2 * MAX_T];
    outcome o = {0};
    asc_plan plan;
    int axis[] = {-1};
    assert_int_equal(asc_ctx_create(&opts, &ctx), ASC_OK);
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/model.gguf", model);
    assert_ok(ctx, asc_model_open(ctx, test_data(file), NULL, &m));
    assert_ok(ctx, asc_exec_passes(ctx, s->passes));
    asc_exec_bound_arena(ctx, s->bound);
    asc_decoder *d = &m->decoder;
    for (int64_t i = 0; i < s->b * s->t; i++) ids[i] = (int32_t)(7 * i % asc_model_get_info(m).n_vocab);
    asc_scope_begin(ctx);
    asc_tensor *x = asc_decoder_embed(d, ids, s->b, s->t);
    assert_ok(ctx, asc_run(ctx, &x, 1));
    asc_decoder_run run = {.x = x, .tail = s->by_hand ? s->m : 0};
    asc_tensor *logits = asc_decoder_logits(d, asc_decoder_hidden(d, &run), NULL, NULL);
    if (!s->by_hand) logits = asc_slice(ctx, logits, 1, s->t - s->m, s->m);
    asc_tensor *y =
        asc_take_last(ctx, asc_log_softmax(ctx, logits), asc_from_i32(ctx, ASC_SHAPE(s->b, s->m), ids));
    y = asc_sum(ctx, y, 1, axis, false);
    asc_tensor *g = NULL, *both[2];
    asc_grad(ctx, asc_sum(ctx, y, 1, axis, false), NULL, &x, 1, &g);
    both[0] = y;
    both[1] = g;
    assert_ok(ctx, asc_exec_price(ctx, both, 2, &plan));
    o.flops = plan.cost.flops;
    o.arena = plan.arena_bytes;
    assert_ok(ctx, asc_run(ctx, both, 2));
    assert_ok(ctx, asc_read_f32(ctx, y, o.score, (size_t)s->b));
    o.n_grad = (size_t)asc_tensor_elems(g);
    o.grad = malloc(o.n_grad * sizeof *o.grad);
    assert_ok(ctx, asc_read_f32(ctx, g, o.grad, o.n_grad));
    assert_ok(ctx, asc_scope_end(ctx));
    asc_model_close(m);
    test_ctx_end(ctx);
    return o;
}

static void compare(const char *model, const char *device, const char *isa, int64_t b, int64_t t, int64_t m) {
    setting plain = {device, isa, "none", 0, false, b, t, m}, sunk = plain, hand = plain, both = plain;
    sunk.passes = both.passes = "";
    hand.by_hand = both.by_hand = true;
    outcome p = run(model, &plain), s = run(model, &sunk), h = run(model, &hand), c = run(model, &both);
    print_message(
        "%s on %s %s, %lld x %lld tokens, %lld read: %.1f MFLOP as recorded, %.1f after the passes, %.1f cut "
        "by hand (%.1f after the passes); temporaries %zu, %zu, %zu KB\n",
        model, device, isa, (long long)b, (long long)t, (long long)m, p.flops * 1e-6, s.flops * 1e-6,
        h.flops * 1e-6, c.flops * 1e-6, p.arena >> 10, s.arena >> 10, h.arena >> 10);
    for (int64_t i = 0; i < b; i++)
        if (memcmp(&p.score[i], &s.score[i], 4) != 0)
            fail_msg("%s: score %.9g became %.9g", model, (double)p.score[i], (double)s.score[i]);
    for (size_t i = 0; i < p.n_grad; i++)
        if (memcmp(&p.grad[i], &s.grad[i], 4) != 0)
            fail_msg("%s: gradient %zu: %.9g became %.9g", model, i, (double)p.grad[i], (double)s.grad[i]);
    if (memcmp(h.grad, c.grad, h.n_grad * sizeof *h.grad) != 0) fail_msg("%s: the cut one changed", model);
    assert_true(s.flops <= p.flops);
    if (strcmp(device, "reference") == 0 || strcmp(isa, "avx512") == 0)
        assert_true(s.flops <= 1.01 * h.flops); /* elsewhere a product's rows may depend on each other */
    free(p.grad), free(s.grad), free(h.grad), free(c.grad);
}

static void as_cheap_as_by_hand_with_equal_bits(void **state) {
    (void)state;
    const bool wide = asc_cpu_best_isa() == ASC_ISA_AVX512;
    for (int i = 0; i < N_ZOO; i++) {
        const char *isa = wide ? "avx512" : "auto";
        compare(zoo[i], "cpu", isa, 1, 40, 1);
        compare(zoo[i], "cpu", isa, 1, 23, 3);
        compare(zoo[i], "cpu", isa, 2, 20, 1);
        compare(zoo[i], "cpu", isa, 1, 6, 1);
        compare(zoo[i], "cpu", isa, 1, 12, 12);
    }
    compare(zoo[0], "cpu", "baseline", 1, 40, 1);
    if (asc_cpu_best_isa() >= ASC_ISA_AVX2) compare(zoo[2], "cpu", "avx2", 1, 23, 3);
    compare(zoo[2], "reference", "auto", 1, 23, 3);
    compare(zoo[3], "reference", "auto", 1, 23, 3);
}

/* The executor takes the bound of its temporaries from the context. */
static void less_memory_with_equal_bits(void **state) {
    (void)state;
    for (int i = 0; i < N_ZOO; i++) {
        setting free_of = {"cpu", "auto", "", 0, false, 1, 40, 1}, bound = free_of;
        outcome a = run(zoo[i], &free_of);
        bound.bound = a.arena * 4 / 5;
        outcome b = run(zoo[i], &bound);
        print_message("%s: temporaries %zu KB, %zu KB under a bound of %zu; %.1f MFLOP, %.1f\n", zoo[i],
                      a.arena >> 10, b.arena >> 10, bound.bound >> 10, a.flops * 1e-6, b.flops * 1e-6);
        assert_true(b.arena <= bound.bound);
        assert_memory_equal(a.grad, b.grad, a.n_grad * sizeof *a.grad);
        free(a.grad), free(b.grad);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_cheap_as_by_hand_with_equal_bits),
                                       cmocka_unit_test(less_memory_with_equal_bits)};
    return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}

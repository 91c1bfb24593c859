/* test_mode_bits.c - every method on three small nets, at the inputs and at a site: the same bits in every
 * mode, with one thread and two, with cold and warm caches, and for inputs that captures have not seen. */
#include "harness.h"
#include "exec.h"
#include "sample_nets.h"

static const struct {
    const char *name, *mode, *passes;
    int threads;
} kinds[] = {{"deferred", "deferred", "", 1},
             {"deferred, 2 threads", "deferred", "", 2},
             {"deferred, no passes", "deferred", "none", 1},
             {"eager", "eager", "", 1},
             {"compiled", "compiled", "", 1},
             {"compiled, 2 threads", "compiled", "", 2}};
enum { N = sizeof kinds / sizeof *kinds, ROUNDS = 2 };

static asc_attribution *run(asc_ctx *ctx, asc_sample_net *s, const asc_method *m, bool at_site) {
    asc_sample_parts parts;
    asc_attribution *r;
    asc_attr_request q = asc_sample_request(m, s, at_site, &parts);
    if (asc_attribute(s->net, &q, &r) != ASC_OK) fail_msg("%s: %s", m->info.name, asc_error_message(ctx));
    return r;
}

static void same(const char *method, const char *net, const char *kind, const asc_attribution *a,
                 const asc_attribution *b) {
    assert_int_equal(a->n_scores, b->n_scores);
    for (size_t k = 0; k < a->n_scores; k++) {
        asc_array whole = {.elem = ASC_ELEM_F64, .shape = a->scores[k].shape};
        size_t bytes = (size_t)asc_array_count(&whole) * sizeof(double);
        if (memcmp(a->scores[k].data, b->scores[k].data, bytes) != 0)
            fail_msg("%s on %s, %s: other scores", method, net, kind);
        if (a->scores[k].error != NULL && memcmp(a->scores[k].error, b->scores[k].error, bytes) != 0)
            fail_msg("%s on %s, %s: other errors", method, net, kind);
    }
    if (a->value != NULL)
        assert_memory_equal(a->value, b->value, a->n_examples * a->n_outputs * sizeof(double));
    assert_int_equal(a->n_notes, b->n_notes);
    for (size_t k = 0; k < a->n_notes; k++) assert_string_equal(a->notes[k], b->notes[k]);
}

static void all_methods(size_t which) {
    static asc_sample_net s[N];
    asc_ctx *ctx[N];
    size_t checked = 0;
    for (size_t k = 0; k < N; k++) {
        asc_ctx_options o = {.struct_size = sizeof o, .mode = kinds[k].mode, .n_threads = kinds[k].threads};
        assert_int_equal(asc_ctx_create(&o, &ctx[k]), ASC_OK);
        assert_ok(ctx[k], asc_exec_passes(ctx[k], kinds[k].passes));
        assert_ok(ctx[k], asc_sample_net_init(ctx[k], which, &s[k]));
    }
    for (size_t m = 0; m < asc_n_methods; m++) {
        for (int place = 0; place < 2; place++) {
            if (!asc_sample_applies(asc_methods[m], &s[0], place != 0)) continue;
            for (int round = 0; round < ROUNDS; round++) {
                for (size_t k = 0; k < N; k++) {
                    for (int i = 0; i < ASC_SAMPLE_MAX; i++) s[k].values[i] *= round == 0 ? 1.0f : 0.75f;
                }
                asc_attribution *want = run(ctx[0], &s[0], asc_methods[m], place != 0);
                for (size_t k = 1; k < N; k++) {
                    asc_attribution *got = run(ctx[k], &s[k], asc_methods[m], place != 0);
                    same(asc_methods[m]->info.name, s[0].name, kinds[k].name, want, got);
                    asc_attribution_destroy(ctx[k], got);
                }
                asc_attribution_destroy(ctx[0], want);
                checked++;
            }
        }
    }
    assert_true(checked >= 60);
    asc_exec_stats st = asc_exec_stats_of(ctx[N - 1]);
    assert_true(st.captures > 20 && st.cuts[ASC_CUT_CAPTURED] > st.captures);
    for (size_t k = 0; k < N; k++) {
        asc_sample_net_deinit(&s[k]);
        test_ctx_end(ctx[k]);
    }
}

static void mlp(void **state) {
    (void)state;
    all_methods(0);
}
static void cnn(void **state) {
    (void)state;
    all_methods(1);
}
static void transformer(void **state) {
    (void)state;
    all_methods(2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mlp), cmocka_unit_test(cnn),
                                       cmocka_unit_test(transformer)};
    return cmocka_run_group_tests_name("mode_bits", tests, NULL, NULL);
}

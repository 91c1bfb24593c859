/* test_cpu_sdpa_tree.c - attention over trees of keys: fast kernels against the reference on random trees,
 * and the promise that sharing rests on: a query's bits are those of its own sequence alone, whatever else is
 * in the tree, wherever its keys lie, and however many of them are past; they are those of sdpa. */
#include "harness.h"

#include "kernel_tolerance.h"

typedef struct tree_case {
    int64_t queries, keys, past, h, g, d, window;
    double cap;
    int branch; /* one key in so many begins a branch */
} tree_case;

static const tree_case cases[] = {
    {1, 1, 0, 1, 1, 1, 0, 0, 4},         {20, 20, 0, 9, 3, 64, 0, 0, 4},
    {300, 300, 0, 6, 2, 64, 0, 0, 30},   {200, 400, 150, 3, 1, 64, 0, 0, 9},
    {64, 900, 700, 4, 4, 32, 0, 0, 5},   {147, 150, 3, 2, 1, 17, 0, 3, 12},
    {90, 300, 40, 4, 2, 16, 33, 0, 25},  {257, 257, 0, 2, 1, 8, 1, 0, 40},
    {130, 270, 10, 64, 1, 32, 0, 50, 8},
};
enum { N_CASES = sizeof cases / sizeof cases[0], SHARP = 2 };

static asc_sample sample_of(const tree_case *c) {
    const int64_t n = c->keys - c->past;
    const asc_shape q = ASC_SHAPE(1, c->queries, c->h, c->d), k = ASC_SHAPE(1, n, c->g, c->d),
                    past = ASC_SHAPE(1, c->past, c->g, c->d), each = ASC_SHAPE(c->keys);
    return (asc_sample){.n_in = c->past > 0 ? 7 : 5,
                        .in_shape = {q, k, k, each, each, past, past},
                        .in_dtype = {[3] = ASC_DTYPE_I32, [4] = ASC_DTYPE_I32},
                        .lo = {-SHARP, -SHARP, -SHARP, 0, 0, -SHARP, -SHARP},
                        .hi = {SHARP, SHARP, SHARP, 1, 1, SHARP, SHARP},
                        .attrs = {.i = {0, c->window}, .f = {1 / sqrt((double)c->d), c->cap}}};
}

/* A tree in which most keys follow the one before them; positions are depths, with gaps. */
static void grow(kcheck *k, const tree_case *c) {
    int32_t *parent = (int32_t *)(void *)k->in[3], *pos = (int32_t *)(void *)k->in[4];
    for (int64_t i = 0; i < c->keys; i++) {
        const bool branches = kc_uniform(0, c->branch) < 1;
        parent[i] = (int32_t)(branches ? kc_uniform(-1, (double)i) : (double)i - 1);
        const int32_t before = parent[i] >= 0 && parent[i] < i ? pos[parent[i]] : -1;
        pos[i] = before + 1 + (kc_uniform(0, 9) < 1 ? 2 : 0);
    }
}

static bool begin(kcheck *k, asc_ctx *ctx, const tree_case *c) {
    asc_sample s = sample_of(c);
    if (!kc_begin(k, ctx, asc_ops[ASC_OPCODE_SDPA_TREE], &s)) return false;
    grow(k, c);
    kc_reference(k);
    return true;
}

/* As for sdpa: test_cpu_sdpa.c. Rows of uniform numbers are at most SHARP sqrt(d) long. */
static void against_the_reference(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int i = 0; i < N_CASES; i++) {
        const tree_case *c = &cases[i];
        kcheck k;
        assert_true(begin(&k, ctx, c));
        const double a = k.attrs.f[0] * SHARP * SHARP * (double)c->d;
        const double rel =
            KT_U * (12 + 2 * (c->cap > 0 ? fmin(a, 4 * c->cap) : a) + 2 * sqrt((double)c->keys));
        for (int64_t e = 0; e < k.n_out; e++) k.tol[e] = rel * SHARP;
        kc_compare_all(&k);
        assert_true(k.kernels >= 1 + (int)asc_cpu_vector_isa());
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

/* The sequence that ends with key `last`, from its first key on. */
static int64_t sequence(const kcheck *k, int64_t last, int64_t *out) {
    const int32_t *parent = (const int32_t *)(const void *)k->in[3];
    int64_t n = 0;
    for (int64_t i = last; i >= 0; i = parent[i] < i ? parent[i] : i - 1) out[n++] = i;
    for (int64_t i = 0; i < n / 2; i++) {
        int64_t x = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = x;
    }
    return n;
}

static void take_rows(const kcheck *k, const tree_case *c, int in, const int64_t *from, int64_t n,
                      float *out) {
    const int64_t width = c->g * c->d;
    for (int64_t i = 0; i < n; i++) {
        const float *x =
            from[i] < c->past ? k->in[in + 4] + from[i] * width : k->in[in] + (from[i] - c->past) * width;
        memcpy(out + i * width, x, (size_t)width * sizeof *out);
    }
}

/* The last query of the sequence seq[0, n) run by itself, `past` of its keys being past; 0: by sdpa's kernel
 * when `plain`. */
static void alone(const kcheck *k, const tree_case *c, const asc_kernel *kn, const int64_t *seq, int64_t n,
                  int64_t past, bool plain, float *out) {
    tree_case one = *c;
    asc_sample s;
    kcheck a;
    one.queries = 1;
    one.keys = n;
    one.past = past;
    s = sample_of(&one);
    if (plain) {
        s.n_in = 3;
        s.attrs.i[0] = 1;
    }
    assert_true(kc_begin(&a, k->ctx, asc_ops[plain ? ASC_OPCODE_SDPA : ASC_OPCODE_SDPA_TREE], &s));
    a.call.many_rows = true;
    const int64_t self = seq[n - 1] - (c->keys - c->queries);
    memcpy(a.in[0], k->in[0] + self * c->h * c->d, (size_t)(c->h * c->d) * sizeof(float));
    for (int in = 1; in < 3; in++) {
        take_rows(k, c, in, seq + past, n - past, a.in[in]);
        if (past > 0) take_rows(k, c, in, seq, past, a.in[in + 4]);
    }
    for (int64_t i = 0; i < n && !plain; i++) {
        ((int32_t *)(void *)a.in[3])[i] = (int32_t)i - 1;
        ((int32_t *)(void *)a.in[4])[i] = ((int32_t *)(void *)k->in[4])[seq[i]];
    }
    kc_run(&a, kn, out, 1, -1);
    kc_end(&a);
}

static const asc_kernel *same_isa(const asc_kernel *kn, int opcode) {
    for (size_t i = 0; i < asc_n_kernels; i++)
        if (asc_kernels[i]->opcode == opcode && asc_kernels[i]->isa == kn->isa) return asc_kernels[i];
    return NULL;
}

static void bits_of_a_sequence(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    int compared = 0;
    for (int i = 0; i < N_CASES; i++) {
        const tree_case *c = &cases[i];
        kcheck k;
        assert_true(begin(&k, ctx, c));
        k.call.many_rows = true;
        int64_t *seq = calloc((size_t)c->keys, sizeof *seq), row = c->h * c->d;
        for (size_t n = 0; n < asc_n_kernels; n++) {
            const asc_kernel *kn = asc_kernels[n];
            if (kn->opcode != ASC_OPCODE_SDPA_TREE || kn->isa > asc_cpu_best_isa()) continue;
            float *all = kc_out(k.n_out), *one = kc_out(row);
            kc_run(&k, kn, all, 2, -1);
            for (int64_t q = 0; q < c->queries; q += 1 + c->queries / 20) {
                const int64_t len = sequence(&k, c->keys - c->queries + q, seq);
                for (int way = 0; way < 3; way++) {
                    if (way == 2 && c->window > 0) continue; /* sdpa's window counts keys */
                    alone(&k, c, way == 2 ? same_isa(kn, ASC_OPCODE_SDPA) : kn, seq, len,
                          way == 1 ? len / 2 : 0, way == 2, one);
                    if (memcmp(one, all + q * row, (size_t)row * sizeof *one) != 0)
                        fail_msg("case %d, %s, query %lld, way %d: other bits", i, kn->name, (long long)q,
                                 way);
                    compared++;
                }
            }
            free(all);
            free(one);
        }
        free(seq);
        kc_end(&k);
    }
    assert_true(compared > 500);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_the_reference),
                                       cmocka_unit_test(bits_of_a_sequence)};
    return cmocka_run_group_tests_name("cpu sdpa tree", tests, NULL, NULL);
}

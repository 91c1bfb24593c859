/* test_generate_told.c - what asc_generate tells of each token: log-probabilities and the likeliest tokens
 * against the logits of the whole text, texts and stop strings against the joined tokens, why it ended; and
 * asc_model_logprobs against the same logits. */
#include "harness.h"
#include "model.h"
#include <math.h>

enum { PROMPT = 4, NEW = 24, TOP = 5, VOCAB = 4096 };

typedef struct told {
    int32_t id[NEW + PROMPT], top[NEW + PROMPT][TOP];
    double lp[NEW + PROMPT], top_lp[NEW + PROMPT][TOP];
    char text[4096];
    size_t n, n_text, stop_at; /* 0 = never */
    asc_finish last;
} told;

static bool hear(void *self, const asc_generated *g) {
    told *t = self;
    assert_int_equal(t->last, ASC_FINISH_NONE);
    t->id[t->n] = g->id;
    t->lp[t->n] = g->logprob;
    for (size_t k = 0; k < g->n_top && k < TOP; k++) {
        t->top[t->n][k] = g->top[k].id;
        t->top_lp[t->n][k] = g->top[k].logprob;
    }
    assert_true(t->n_text + g->text.len < sizeof t->text);
    memcpy(t->text + t->n_text, g->text.ptr != NULL ? g->text.ptr : "", g->text.len);
    t->n_text += g->text.len;
    t->last = g->finish;
    return ++t->n != t->stop_at;
}

typedef struct fixture {
    asc_ctx *ctx;
    asc_model *m;
    int32_t ids[PROMPT + NEW];
} fixture;

static fixture open(const char *name, const char *device) {
    fixture f = {.ctx = test_ctx(device, "deferred"), .ids = {5, 17, 30, 11}};
    char file[128];
    snprintf(file, sizeof file, "goldens/zoo_gguf/%s/model.gguf", name);
    assert_ok(f.ctx, asc_model_open(f.ctx, test_data(file), NULL, &f.m));
    return f;
}

static void shut(fixture *f) {
    asc_model_close(f->m);
    test_ctx_end(f->ctx);
}

static size_t generate(fixture *f, asc_generate_options o, told *t, asc_finish *why) {
    size_t n = 0;
    *t = (told){.stop_at = t->stop_at};
    o.struct_size = sizeof o;
    if (o.max_tokens == 0) o.max_tokens = NEW;
    o.on_generated = hear;
    o.self = t;
    o.out_finish = why;
    assert_ok(f->ctx, asc_generate(f->m, f->ids, PROMPT, &o, f->ids + PROMPT, &n));
    assert_int_equal(n, t->n);
    assert_memory_equal(t->id, f->ids + PROMPT, n * sizeof *t->id);
    return n;
}

/* log p of row x, and that id k is the rank-th largest: so many are larger, ties by id. */
static void check_row(const float *x, size_t v, int32_t id, double lp, size_t rank, double tolerance) {
    double sum = 0.0;
    size_t before = 0;
    for (size_t i = 0; i < v; i++) {
        sum += exp((double)x[i]);
        before += x[i] > x[id] + (float)tolerance ? 1 : 0;
    }
    assert_true(fabs((double)x[id] - log(sum) - lp) <= tolerance);
    if (rank != SIZE_MAX) assert_true(before <= rank);
}

/* One row at a time and all at once round differently: 2^-24 of logits up to 30 in each of a few layers. */
static void logprobs(void **state) {
    (void)state;
    static const char *const models[] = {"llama-q4_1", "gemma2-f16"};
    for (size_t k = 0; k < 2; k++) {
        fixture f = open(models[k], "cpu");
        const size_t v = (size_t)asc_model_get_info(f.m).n_vocab;
        static told t, text;
        asc_finish why;
        const asc_generate_options o = {
            .ignore_eos = true, .n_top = TOP, .temperature = (double)k, .seed = 3};
        t.stop_at = text.stop_at = 0;
        assert_int_equal(generate(&f, o, &t, &why), NEW);
        assert_int_equal(why, ASC_FINISH_LENGTH);
        assert_int_equal(t.last, ASC_FINISH_LENGTH);
        float *x = calloc((PROMPT + NEW) * v, sizeof *x);
        assert_ok(f.ctx, asc_model_logits(f.m, f.ids, PROMPT + NEW, PROMPT + NEW, x));
        text = (told){.n = 0};
        assert_ok(f.ctx, asc_model_logprobs(f.m, f.ids, PROMPT + NEW, TOP, hear, &text));
        assert_int_equal(text.n, PROMPT + NEW);
        assert_true(isnan(text.lp[0]));
        for (size_t i = 1; i < PROMPT + NEW; i++) {
            const float *row = x + (i - 1) * v;
            assert_int_equal(text.id[i], f.ids[i]);
            check_row(row, v, text.id[i], text.lp[i], SIZE_MAX, 1e-4);
            for (size_t r = 0; r < TOP; r++) check_row(row, v, text.top[i][r], text.top_lp[i][r], r, 1e-4);
            if (i < PROMPT) continue;
            const size_t a = i - PROMPT;
            check_row(row, v, t.id[a], t.lp[a], SIZE_MAX, 1e-4);
            for (size_t r = 0; r < TOP; r++) check_row(row, v, t.top[a][r], t.top_lp[a][r], r, 1e-4);
        }
        free(x);
        shut(&f);
    }
}

/* Stop strings are parts of what is generated without any, of several lengths at several places. */
static void stops(void **state) {
    (void)state;
    fixture f = open("llama-q4_1", "cpu");
    static told whole, t;
    asc_finish why;
    const asc_tokenizer *tk = asc_model_tokenizer(f.m);
    generate(&f, (asc_generate_options){.ignore_eos = true}, &whole, &why);
    char joined[4096];
    size_t n = 0, ends[NEW];
    for (size_t i = 0; i < whole.n; i++) {
        const asc_view p = asc_token_piece(tk, whole.id[i]);
        if (asc_token_get_type(tk, whole.id[i]) != ASC_TOKEN_CONTROL) {
            memcpy(joined + n, p.ptr, p.len);
            n += p.len;
        }
        ends[i] = n;
    }
    assert_int_equal(n, whole.n_text);
    assert_memory_equal(joined, whole.text, n);
    for (size_t at = 0; at + 6 < n; at += 5) {
        for (size_t len = 1; len <= 6; len += 5) {
            const asc_view stop = {joined + at, len};
            const size_t first = (size_t)((char *)memmem(joined, n, stop.ptr, len) - joined);
            const size_t got = generate(
                &f, (asc_generate_options){.ignore_eos = true, .stop = &stop, .n_stop = 1}, &t, &why);
            assert_int_equal(why, ASC_FINISH_STOP);
            assert_int_equal(t.last, ASC_FINISH_STOP);
            assert_int_equal(t.n_text, first);
            assert_memory_equal(t.text, joined, first);
            assert_true(ends[got - 1] >= first + len && (got == 1 || ends[got - 2] < first + len));
        }
    }
    shut(&f);
}

static void reasons(void **state) {
    (void)state;
    fixture f = open("llama-q4_1", "cpu");
    static told t;
    asc_finish why;
    const asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(f.m));
    const asc_logit_bias end = {.id = tk.eos >= 0 ? tk.eos : tk.eot, .add = 1000};
    assert_true(end.id >= 0);
    assert_int_equal(generate(&f, (asc_generate_options){.bias = &end, .n_bias = 1}, &t, &why), 1);
    assert_int_equal(why, ASC_FINISH_END);
    assert_int_equal(t.id[0], end.id);
    assert_true(t.lp[0] < -0.01); /* the model's own log-probability, whatever the bias */
    t.stop_at = 3;
    assert_int_equal(generate(&f, (asc_generate_options){.ignore_eos = true}, &t, &why), 3);
    assert_int_equal(why, ASC_FINISH_CALLER);
    /* A frequency penalty that no logit outweighs: every token comes once. */
    t.stop_at = 0;
    generate(&f, (asc_generate_options){.ignore_eos = true, .frequency_penalty = 1000}, &t, &why);
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; k < i; k++) assert_int_not_equal(t.id[i], t.id[k]);
    shut(&f);
}

/* Options as a program has them that was built before there were stop strings; and too many likeliest tokens.
 */
static void older(void **state) {
    (void)state;
    fixture f = open("llama-q4_1", "cpu");
    int32_t out[4], again[4];
    size_t n;
    asc_generate_options o = {.struct_size = offsetof(asc_generate_options, top_p), .max_tokens = 4};
    memset((char *)&o + offsetof(asc_generate_options, top_p), 0xAA,
           sizeof o - offsetof(asc_generate_options, top_p));
    assert_ok(f.ctx, asc_generate(f.m, f.ids, PROMPT, &o, out, &n));
    o = (asc_generate_options){.struct_size = sizeof o, .max_tokens = 4};
    assert_ok(f.ctx, asc_generate(f.m, f.ids, PROMPT, &o, again, &n));
    assert_memory_equal(out, again, n * sizeof *out);
    o.n_top = ASC_MAX_TOP + 1;
    assert_int_equal(asc_generate(f.m, f.ids, PROMPT, &o, out, &n), ASC_INVALID_ARGUMENT);
    o.struct_size = 8;
    assert_int_equal(asc_generate(f.m, f.ids, PROMPT, &o, out, &n), ASC_INVALID_ARGUMENT);
    shut(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logprobs), cmocka_unit_test(stops),
                                       cmocka_unit_test(reasons), cmocka_unit_test(older)};
    return cmocka_run_group_tests_name("what generation tells", tests, NULL, NULL);
}

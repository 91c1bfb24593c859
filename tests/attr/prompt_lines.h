/* prompt_lines.h - files of figures about prompts, a line each (scripts/refs/neuron_fixtures.py and
 * site_path_fixtures.py): one prompt for every model, and each line checked on every device and mode. */
#ifndef ASC_TEST_PROMPT_LINES_H
#define ASC_TEST_PROMPT_LINES_H

#include "harness.h"
#include "method.h"

enum { N = 9, BASE = 17 };
static const int32_t ids[N] = {5, 14, 11, 9, 18, 3, 7, 12, 10};
#define LLAMA "goldens/zoo_gguf/llama-q4_1/model.gguf"

/* What a line asks and its n figures; scale is what is added up to a figure. asked: room for what the request
 * points to. */
typedef struct line {
    char model[64], kind[24], rule[32], site[48], asked[96];
    int index, token, n;
    double v[N], scale;
} line;

/* The next line; with_rule: one that names a rule. False at the end. */
static inline bool line_read(FILE *f, bool with_rule, line *l) {
    char text[1024];
    int used = 0, names = 0, more = 0;
    *l = (line){.n = 0};
    if (fgets(text, sizeof text, f) == NULL) return false;
    if (with_rule)
        assert_int_equal(sscanf(text, "%63s %23s %31s%n", l->model, l->kind, l->rule, &names), 3);
    else
        assert_int_equal(sscanf(text, "%63s %23s%n", l->model, l->kind, &names), 2);
    more = sscanf(text + names, "%47s %d %d %lf%n", l->site, &l->index, &l->token, &l->scale, &used);
    assert_int_equal(more, 4);
    char *at = text + names + used, *end;
    for (; l->n < N; l->n++, at = end) {
        l->v[l->n] = strtod(at, &end);
        if (end == at) break;
    }
    return true;
}

typedef void (*line_fn)(asc_ctx *ctx, asc_model *m, line *l, double tolerance);

/* Checks each line of a file, n_lines of them, with its model on every device and mode. Tolerances are
 * relative to a line's scale. transformers keeps rotary tables in f32: 6e-8 of an angle of up to 9. On the
 * processor f32 through up to four blocks and back, at each point: 128 eps L. */
static inline void lines_check(const char *file, bool with_rule, size_t n_lines, line_fn check) {
    static const struct {
        const char *device, *mode;
        double tolerance;
    } places[] = {{"reference", NULL, 4e-6},
                  {"cpu", "deferred", 6e-5},
                  {"cpu", "eager", 6e-5},
                  {"cpu", "compiled", 6e-5}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        FILE *f = fopen(test_data(file), "r");
        asc_ctx *ctx = test_ctx(places[p].device, places[p].mode);
        asc_model *m = NULL;
        char open[64] = "";
        size_t n = 0;
        assert_non_null(f);
        for (line l; line_read(f, with_rule, &l); n++) {
            if (strcmp(open, l.model) != 0) {
                asc_model_close(m);
                m = NULL;
                assert_ok(ctx, asc_model_open(ctx, test_data(l.model), NULL, &m));
                strcpy(open, l.model);
            }
            check(ctx, m, &l, places[p].tolerance);
        }
        assert_int_equal(n, n_lines);
        asc_model_close(m);
        test_ctx_end(ctx);
        fclose(f);
    }
}

#endif

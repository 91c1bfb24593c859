/* sample.h - a made-up result full of hostile text, for the tests of the reports. */
#ifndef ASC_TEST_SAMPLE_H
#define ASC_TEST_SAMPLE_H

#include "../harness.h"
#include "ascribe/report.h"
#include <math.h>

#define HOSTILE                                                                                              \
    "a <b>\"'&</script><!-- \xff \x1b[31m \xe2\x80\xae\xd7\xa9 "                                             \
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\n\x01 end"

static char hostile[] = HOSTILE, bad_target[] = " P\xfe", no_text[] = "",
            options[] = "{\"features\":\"token\",\"baseline\":\"eos\"}", baseline[] = "eos (token 2)",
            file[] = "dir/<m>.gguf", llama[] = "llama", warning[] = "one <warning>";

typedef struct sample {
    asc_request req;
    asc_result r;
    asc_report rep;
    asc_feature features[3];
    int32_t ids[3], target[1];
    double scores[3], errors[3];
    size_t start[3], end[3];
} sample;

/* Three features that cover the hostile text. */
static inline void fill(sample *s) {
    static const size_t cut[4] = {0, 5, 20, sizeof HOSTILE - 1};
    *s =
        (sample){.ids = {5, 6, 7}, .target = {9}, .scores = {1.5, -0.25, 3e-7}, .errors = {0.01, NAN, 0.001}};
    s->req = (asc_request){.struct_size = sizeof s->req,
                           .prompt = {HOSTILE, sizeof HOSTILE - 1},
                           .target = {" P\xfe", 3},
                           .features = ASC_FEATURES_TOKEN,
                           .seed = 7,
                           .tolerance = 0.02,
                           .baseline = ASC_BASELINE_TOKEN,
                           .baseline_token = 4};
    s->r = (asc_result){.method = "feature-ablation",
                        .rule = no_text,
                        .options = options,
                        .feature_kind = ASC_FEATURES_TOKEN,
                        .baseline = baseline,
                        .prompt = hostile,
                        .prompt_len = sizeof HOSTILE - 1,
                        .prompt_ids = s->ids,
                        .token_start = s->start,
                        .token_end = s->end,
                        .n_prompt = 3,
                        .target = bad_target,
                        .target_len = 3,
                        .target_ids = s->target,
                        .n_target = 1,
                        .versus = no_text,
                        .top = {{1, 0.5}, {2, 0.25}},
                        .n_top = 2,
                        .value = -1.5,
                        .baseline_value = -4,
                        .target_prob = 0.22,
                        .scores = s->scores,
                        .score_errors = s->errors,
                        .features = s->features,
                        .n_features = 3,
                        .sum = 1.25,
                        .residual = -1.25,
                        .error_bound = NAN,
                        .converged = true,
                        .n_forward = 5,
                        .seconds = 0.5,
                        .peak_bytes = 1000,
                        .model_path = file,
                        .architecture = llama,
                        .device = "cpu",
                        .mode = "deferred",
                        .precision = "highest",
                        .isa = "avx2",
                        .n_threads = 2,
                        .seed = 7,
                        .warnings = {warning},
                        .n_warnings = 1};
    memset(s->r.model_sha256, 'a', 64);
    for (size_t i = 0; i < 3; i++) {
        s->start[i] = cut[i];
        s->end[i] = cut[i + 1];
        s->features[i] = (asc_feature){.text = hostile + cut[i],
                                       .text_len = cut[i + 1] - cut[i],
                                       .start = cut[i],
                                       .end = cut[i + 1],
                                       .first_token = i,
                                       .n_tokens = 1,
                                       .message = -1,
                                       .score = s->scores[i],
                                       .error = s->errors[i]};
    }
    s->rep = (asc_report){.request = &s->req, .result = &s->r, .weights = ASC_WEIGHTS_STORED};
}

static inline asc_text *text_of(asc_ctx *ctx) {
    asc_text *t = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    return t;
}

#endif

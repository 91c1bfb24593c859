/* cmd_bench.c - ascribe bench: what the library reaches on this machine, as a share of what the machine can
 * do. */
#include "ascribe/bench.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PROMPT = 56, GENERATED = 32, STEPS = 16 };

typedef struct figures {
    asc_peaks peaks;
    double prompt_rate, prompt_share;     /* tokens/s; of the multiply-add peak */
    double generate_rate, generate_share; /* tokens/s; of the memory bandwidth */
    double step_rate, step_share;         /* gradient steps/s; of the multiply-add peak */
    double gradient_seconds, saliency_seconds;
    double peak_rss_bytes, model_bytes;
    size_t n_prompt, n_generated, n_steps;
} figures;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Without a prompt of the user's: ids spread over the vocabulary; the arithmetic does not depend on which
 * they are. */
static int bench_ids(cli *c, asc_model *m, int32_t **ids, size_t *n) {
    cli_prompt p = {0};
    int64_t vocab = asc_model_get_info(m).n_vocab;
    bool given = cli_has(c, OPT_PROMPT) || cli_has(c, OPT_PROMPT_FILE) || cli_has(c, OPT_IDS) ||
                 cli_has(c, OPT_CHAT) || cli_has(c, OPT_USER);
    if (given) {
        int rc = cli_prompt_read(c, &p);
        if (rc == EXIT_DONE) rc = cli_prompt_ids(c, m, &p, ids, n);
        cli_prompt_free(c, &p);
        return rc;
    }
    *n = PROMPT;
    if ((int64_t)*n > asc_model_get_info(m).context_length / 2)
        *n = (size_t)asc_model_get_info(m).context_length / 2;
    *ids = malloc((*n + 1) * sizeof **ids);
    if (*ids == NULL) return cli_error(c, ASC_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < *n; i++) (*ids)[i] = (int32_t)((int64_t)(i * 7919 + 100) % vocab);
    return EXIT_DONE;
}

static asc_status time_prompt(asc_model *m, const int32_t *ids, size_t n, figures *f) {
    asc_model_info info = asc_model_get_info(m);
    float *logits = malloc((size_t)info.n_vocab * sizeof *logits);
    double best = INFINITY;
    asc_status st = logits != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    for (int round = 0; round < 4 && st == ASC_OK; round++) { /* the first one warms up */
        double t0 = now();
        st = asc_model_logits(m, ids, n, 1, logits);
        double t = now() - t0;
        if (round > 0 && t < best) best = t;
    }
    free(logits);
    f->prompt_rate = (double)n / best;
    f->prompt_share = 2.0 * (double)info.n_params_blocks * f->prompt_rate / f->peaks.flops_per_second;
    return st;
}

typedef struct clock_list {
    double at[GENERATED + 1];
    size_t n;
} clock_list;

static bool on_token(void *self, int32_t id, double logprob) {
    clock_list *k = self;
    (void)id;
    (void)logprob;
    if (k->n <= GENERATED) k->at[k->n++] = now();
    return true;
}

static asc_status time_generation(asc_model *m, const int32_t *ids, size_t n, figures *f) {
    int32_t out[GENERATED];
    clock_list k = {0};
    asc_generate_options o = {.struct_size = sizeof o,
                              .max_tokens = GENERATED,
                              .ignore_eos = true,
                              .on_token = on_token,
                              .self = &k};
    asc_status st = asc_generate(m, ids, n, &o, out, &f->n_generated);
    if (st != ASC_OK || k.n < 2) return st;
    /* From the first token on: the prompt is not part of it. Every weight but the unused embedding rows is
     * read per token; a tied embedding is the head and read whole. */
    f->generate_rate = (double)(k.n - 1) / (k.at[k.n - 1] - k.at[0]);
    f->generate_share = f->model_bytes * f->generate_rate / f->peaks.bytes_per_second;
    return ASC_OK;
}

static asc_status time_gradients(cli *c, asc_model *m, const int32_t *ids, size_t n, figures *f) {
    double count = 0;
    int32_t target = ids[0];
    asc_request q = {.struct_size = sizeof q,
                     .method = "saliency",
                     .prompt_ids = ids,
                     .n_prompt_ids = n,
                     .target_ids = &target,
                     .n_target_ids = 1,
                     .features = ASC_FEATURES_TOKEN};
    size_t memory = 0;
    if (cli_bytes(c, OPT_MEMORY, 0, &memory) != EXIT_DONE) return ASC_INVALID_ARGUMENT;
    q.memory_bytes = memory;
    for (int round = 0; round < 3; round++) {
        double t;
        asc_result *r = NULL;
        double t0 = now();
        asc_status st = asc_explain(m, &q, &r);
        t = now() - t0;
        asc_result_destroy(c->ctx, r);
        if (st != ASC_OK) return st;
        if (round == 0 || t < f->saliency_seconds) f->saliency_seconds = t;
    }
    q.method = "integrated-gradients";
    q.rule = "gauss-legendre";
    q.steps = f->n_steps;
    asc_result *r = NULL;
    double t0 = now();
    asc_status st = asc_explain(m, &q, &r);
    f->gradient_seconds = now() - t0;
    if (st == ASC_OK) count = (double)f->n_steps;
    asc_result_destroy(c->ctx, r);
    f->step_rate = count / f->gradient_seconds;
    f->step_share = 4.0 * (double)asc_model_get_info(m).n_params_blocks * (double)n * f->step_rate /
                    f->peaks.flops_per_second;
    return st;
}

static void text(asc_text *t, const figures *f) {
    asc_text_addf(t, "machine     %.0f GFLOP/s f32 multiply-add (%s), %.1f GB/s read from memory\n",
                  f->peaks.flops_per_second / 1e9, f->peaks.instructions, f->peaks.bytes_per_second / 1e9);
    asc_text_addf(t, "prompt      %.0f tokens/s over %zu tokens: %.0f %% of the multiply-add peak\n",
                  f->prompt_rate, f->n_prompt, 100 * f->prompt_share);
    asc_text_addf(t, "generation  %.1f tokens/s: %.1f MB a token, %.0f %% of the memory bandwidth\n",
                  f->generate_rate, f->model_bytes / 1e6, 100 * f->generate_share);
    asc_text_addf(t,
                  "gradients   %.2f steps/s (integrated gradients, %zu steps, %zu tokens, %.2f s): %.0f %% "
                  "of the peak at 4 N\n"
                  "            multiply-adds a token and step\n",
                  f->step_rate, f->n_steps, f->n_prompt, f->gradient_seconds, 100 * f->step_share);
    asc_text_addf(t, "saliency    %.3f s for %zu tokens\nmemory      %.0f MB resident at most\n",
                  f->saliency_seconds, f->n_prompt, f->peak_rss_bytes / 1e6);
}

static void json(asc_text *t, const figures *f, const cli *c) {
    asc_text_object(t, NULL);
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_num(t, "peak_flops_per_second", f->peaks.flops_per_second);
    asc_text_num(t, "peak_bytes_per_second", f->peaks.bytes_per_second);
    asc_text_strz(t, "instructions", f->peaks.instructions);
    asc_text_int(t, "prompt_tokens", (int64_t)f->n_prompt);
    asc_text_num(t, "prompt_tokens_per_second", f->prompt_rate);
    asc_text_num(t, "prompt_share_of_peak", f->prompt_share);
    asc_text_num(t, "generate_tokens_per_second", f->generate_rate);
    asc_text_num(t, "generate_bytes_per_token", f->model_bytes);
    asc_text_num(t, "generate_share_of_bandwidth", f->generate_share);
    asc_text_int(t, "gradient_steps", (int64_t)f->n_steps);
    asc_text_num(t, "gradient_steps_per_second", f->step_rate);
    asc_text_num(t, "gradient_share_of_peak", f->step_share);
    asc_text_num(t, "gradient_seconds", f->gradient_seconds);
    asc_text_num(t, "saliency_seconds", f->saliency_seconds);
    asc_text_num(t, "peak_resident_bytes", f->peak_rss_bytes);
    asc_text_strz(t, "version", asc_version());
    asc_text_end(t);
}

static int refuse_options_of_modes(cli *c) {
    static const cli_option_id only[] = {OPT_RUNS,   OPT_NO_REFERENCE, OPT_PROFILE,
                                         OPT_METHOD, OPT_TARGET,       OPT_TARGET_IDS};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
        if (cli_has(c, only[i])) return cli_usage("--%s goes with --modes", cli_options[only[i]].name);
    }
    c->value[OPT_PRECISION] = c->value[OPT_PRECISIONS]; /* one level: the context refuses a list */
    return EXIT_DONE;
}

int cmd_bench(cli *c) {
    figures f = {0};
    asc_model *m = NULL;
    int32_t *ids = NULL;
    struct rusage usage;
    asc_status st = ASC_OK;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE &&
        (cli_has(c, OPT_MODES) || cli_is_net(c->operand[0]) || cli_is_builtin(c->operand[0])))
        return cli_bench_modes(c);
    if (rc == EXIT_DONE) rc = refuse_options_of_modes(c);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_STEPS, STEPS, &f.n_steps);
    if (rc == EXIT_DONE && f.n_steps == 0) rc = cli_usage("--steps is at least 1");
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_open_model(c, &m);
    if (rc == EXIT_DONE) rc = bench_ids(c, m, &ids, &f.n_prompt);
    if (rc != EXIT_DONE) goto done;
    f.model_bytes = (double)asc_model_get_info(m).file_bytes;
    st = asc_measure_peaks(c->ctx, 0.5, &f.peaks);
    if (st == ASC_OK) st = time_prompt(m, ids, f.n_prompt, &f);
    if (st == ASC_OK) st = time_generation(m, ids, f.n_prompt, &f);
    if (st == ASC_OK) st = time_gradients(c, m, ids, f.n_prompt, &f);
    if (st != ASC_OK) {
        rc = cli_error(c, st);
        goto done;
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) f.peak_rss_bytes = 1024.0 * (double)usage.ru_maxrss;
    if (cli_wants_json(c)) {
        json(c->out, &f, c);
        rc = cli_write_json(c, c->out);
    } else {
        text(c->out, &f);
        rc = cli_flush(c);
    }
done:
    free(ids);
    asc_model_close(m);
    return rc;
}

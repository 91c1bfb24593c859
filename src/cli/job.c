/* job.c - one thing to run, in a context of its own: what commands share that run the same thing in several
 * modes, on several devices, at several precisions. */
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 50, BENCH_TOKENS = 56, FEW_TOKENS = 6 }; /* steps: as the library's default */

bool cli_is_builtin(const char *operand) {
    for (size_t i = 0; asc_builtin_name(i) != NULL; i++) {
        if (strcmp(asc_builtin_name(i), operand) == 0) return true;
    }
    return false;
}

int cli_words(const char *option, const char *list, const char *allowed, const char **out, int most,
              char **block) {
    int n = 0;
    size_t len = strlen(list);
    *block = malloc(len + 1);
    if (*block == NULL) {
        cli_usage("out of memory");
        return -1;
    }
    memcpy(*block, list, len + 1);
    for (char *p = *block; *p != '\0';) {
        size_t k = strcspn(p, ",");
        bool last = p[k] == '\0';
        p[k] = '\0';
        if (k > 0) {
            bool known = allowed == NULL;
            for (const char *a = allowed; a != NULL && *a != '\0'; a += strcspn(a, "|"), a += *a == '|')
                known = known || (strcspn(a, "|") == k && strncmp(a, p, k) == 0);
            for (int i = 0; known && i < n; i++) {
                if (strcmp(out[i], p) != 0) continue;
                cli_usage("--%s names '%.40s' twice", option, p);
                return -1;
            }
            if (!known || n == most) {
                if (!known)
                    cli_usage("--%s takes some of %s, separated by commas, not '%.40s'", option, allowed, p);
                else
                    cli_usage("--%s takes at most %d", option, most);
                return -1;
            }
            out[n++] = p;
        }
        p += k + !last;
    }
    if (n > 0) return n;
    cli_usage("--%s names nothing", option);
    return -1;
}

/* The command line as if it had said so. */
static void set(cli *c, cli_option_id o, const char *value) {
    if (value == NULL) return;
    c->value[o] = value;
    c->origin[o] = "command line";
}

static const char *method_of(const cli *c) {
    return c->value[OPT_METHOD] != NULL ? c->value[OPT_METHOD] : "integrated-gradients";
}

/* Fixed numbers of the command line beat those that the built-in net chooses. */
static int builtin_options(cli_job *j) {
    size_t seed = 0;
    int rc = cli_size(&j->c, OPT_STEPS, STEPS, &j->q.steps);
    if (rc == EXIT_DONE) rc = cli_size(&j->c, OPT_SAMPLES, j->q.samples, &j->q.samples);
    if (rc == EXIT_DONE) rc = cli_size(&j->c, OPT_SEED, (size_t)j->q.seed, &seed);
    if (rc == EXIT_DONE) rc = cli_bytes(&j->c, OPT_MEMORY, 0, &j->q.memory_bytes);
    j->q.seed = seed;
    if (j->c.value[OPT_RULE] != NULL) j->q.rule = j->c.value[OPT_RULE];
    return rc;
}

static int open_builtin(cli_job *j) {
    int rc = cli_open_context(&j->c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_builtin_open(j->c.ctx, j->c.operand[0], &j->builtin);
    if (st == ASC_OK) st = asc_builtin_request(j->builtin, method_of(&j->c), false, &j->q);
    if (st == ASC_UNIMPLEMENTED) st = asc_builtin_request(j->builtin, method_of(&j->c), true, &j->q);
    return st == ASC_OK ? builtin_options(j) : cli_error(&j->c, st);
}

static int open_net(cli_job *j) {
    bool chosen = false;
    if (j->c.value[OPT_METHOD] == NULL) set(&j->c, OPT_METHOD, method_of(&j->c));
    int rc = cli_net_open(&j->c, &j->net, &j->q);
    if (rc == EXIT_DONE) rc = cli_net_choose_site(&j->c, &j->net, &j->q, &chosen);
    j->sum_rows = chosen;
    return rc;
}

/* Without a prompt of the user's: ids spread over the vocabulary, the first of them as the target; the
 * arithmetic does not depend on which they are. */
static int open_without_prompt(cli_job *j) {
    size_t n = j->c.command == CMD_bench ? BENCH_TOKENS : FEW_TOKENS;
    int rc = cli_open_context(&j->c);
    if (rc == EXIT_DONE) rc = cli_open_model(&j->c, &j->model);
    if (rc != EXIT_DONE) return rc;
    asc_model_info info = asc_model_get_info(j->model);
    if ((int64_t)n > info.context_length / 2) n = (size_t)info.context_length / 2;
    int32_t *ids = malloc((n + 1) * sizeof *ids), *target = malloc(sizeof *target);
    j->prompt.prompt.ids = ids; /* freed with the prompt */
    if (j->prompt.target_ids == NULL) j->prompt.target_ids = target;
    if (ids == NULL || target == NULL || n == 0) return cli_error(&j->c, ASC_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)((int64_t)(i * 7919 + 100) % info.n_vocab);
    asc_request *q = &j->prompt.req;
    q->prompt_ids = ids;
    q->n_prompt_ids = n;
    if (!cli_has(&j->c, OPT_FEATURES)) q->features = ASC_FEATURES_TOKEN;
    if (j->prompt.target_ids != target) {
        free(target);
    } else if (q->target.ptr == NULL && q->generate == 0) {
        *target = ids[0];
        q->target_ids = target;
        q->n_target_ids = 1;
    }
    return EXIT_DONE;
}

static bool has_prompt(const cli *c) {
    for (int o = 0; o < N_OPTIONS; o++) {
        if (strcmp(cli_options[o].group, "Prompt") == 0 && cli_has(c, (cli_option_id)o)) return true;
    }
    return false;
}

static int open_prompt(cli_job *j) {
    int rc = cli_refuse_net_options(&j->c);
    if (rc == EXIT_DONE) rc = cli_explain_request(&j->c, &j->prompt);
    j->prompt.req.want_sha256 = false; /* it reads the whole file */
    if (rc == EXIT_DONE && !has_prompt(&j->c)) return open_without_prompt(j);
    return rc == EXIT_DONE ? cli_explain_open(&j->c, &j->prompt, &j->model) : rc;
}

int cli_job_open(const cli *from, const cli_where *at, cli_job *out) {
    memset(out, 0, sizeof *out);
    out->c = *from;
    out->c.ctx = NULL;
    out->c.out = NULL;
    set(&out->c, OPT_DEVICE, at->device);
    set(&out->c, OPT_MODE, at->mode);
    set(&out->c, OPT_PRECISION, at->precision);
    set(&out->c, OPT_ISA, at->isa);
    set(&out->c, OPT_THREADS, at->threads);
    out->kind = cli_is_builtin(from->operand[0]) ? CLI_JOB_BUILTIN
                : cli_is_net(from->operand[0])   ? CLI_JOB_NET
                                                 : CLI_JOB_PROMPT;
    int rc = cli_check_method(out->c.value[OPT_METHOD]);
    if (rc != EXIT_DONE) return rc;
    return out->kind == CLI_JOB_BUILTIN ? open_builtin(out)
           : out->kind == CLI_JOB_NET   ? open_net(out)
                                        : open_prompt(out);
}

/* The context's error, as a reason or as a message of the program. */
static int failed(cli_job *j, asc_status st, char *why, size_t why_size) {
    if (why == NULL || st == ASC_CANCELLED) return cli_error(&j->c, st);
    const char *text = asc_error_message(j->c.ctx);
    snprintf(why, why_size, "%s", text[0] != '\0' ? text : asc_status_name(st));
    asc_error_clear(j->c.ctx);
    return EXIT_CHECK;
}

static asc_view other_prompt(const cli *c) {
    const char *s = c->value[OPT_CORRUPTED];
    return (asc_view){s, s != NULL ? strlen(s) : 0};
}

int cli_job_method(cli_job *j, const char *method, bool at_site, char *why, size_t why_size) {
    bool chosen = false;
    cli_set_running(j->c.ctx);
    if (j->kind == CLI_JOB_PROMPT) {
        const int known = asc_method_find(method);
        const bool compares = known >= 0 && asc_method_reads(asc_method_at((size_t)known), "corrupted");
        asc_request *q = &j->prompt.req;
        q->method = method;
        q->corrupted = compares ? other_prompt(&j->c) : (asc_view){NULL, 0};
        q->corrupted_ids = compares ? j->prompt.corrupted_ids : NULL;
        return EXIT_DONE;
    }
    if (j->kind == CLI_JOB_BUILTIN) {
        asc_status st = asc_builtin_request(j->builtin, method, at_site, &j->q);
        return st == ASC_OK ? builtin_options(j) : failed(j, st, why, why_size);
    }
    j->q.method = method;
    j->q.window = j->q.stride = NULL;
    j->q.n_window = 0;
    if (cli_nth(&j->c, OPT_SITE, 0) == NULL) {
        j->q.at = NULL;
        j->q.n_at = 0;
        if (!cli_has(&j->c, OPT_NEURON)) j->q.neuron = (asc_target){0};
    }
    int rc = cli_net_window(&j->c, &j->net, &j->q);
    if (rc == EXIT_DONE) rc = cli_net_choose_site(&j->c, &j->net, &j->q, &chosen);
    j->sum_rows = chosen;
    return rc;
}

static size_t count(const asc_scores *s) {
    size_t n = 1;
    for (int d = 0; d < s->shape.rank; d++) n *= (size_t)s->shape.dims[d];
    return n;
}

static bool make(cli_run *out, size_t n) {
    out->n = n;
    out->score = malloc((n + 1) * sizeof *out->score);
    out->error = malloc((n + 1) * sizeof *out->error);
    return out->score != NULL && out->error != NULL;
}

static int run_prompt(cli_job *j, cli_run *out, char *why, size_t why_size) {
    asc_result *r = NULL;
    asc_status st = asc_explain(j->model, &j->prompt.req, &r);
    if (st == ASC_OK && !make(out, r->n_features)) st = ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) {
        asc_result_destroy(j->c.ctx, r);
        return failed(j, st, why, why_size);
    }
    for (size_t i = 0; i < out->n; i++) {
        out->score[i] = r->features[i].score;
        out->error[i] = r->features[i].error;
    }
    out->value = r->value;
    out->seconds = r->seconds;
    /* Weights outside embedding and head once forwards, and as much again for the gradient of activations. */
    out->flops = 2.0 * (double)asc_model_get_info(j->model).n_params_blocks * (double)r->n_prompt *
                 (double)(r->n_forward + r->n_backward);
    asc_result_destroy(j->c.ctx, r);
    return EXIT_DONE;
}

static int run_net(cli_job *j, cli_run *out, char *why, size_t why_size) {
    asc_attribution *r = NULL;
    size_t n = 0, at = 0;
    asc_status st = asc_attribute(j->builtin != NULL ? asc_builtin_net(j->builtin) : j->net.net, &j->q, &r);
    if (st == ASC_OK && j->sum_rows) asc_attribution_sum_rows(r);
    for (size_t k = 0; st == ASC_OK && k < r->n_scores; k++) n += count(&r->scores[k]);
    if (st == ASC_OK && !make(out, n)) st = ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) {
        asc_attribution_destroy(j->c.ctx, r);
        return failed(j, st, why, why_size);
    }
    for (size_t k = 0; k < r->n_scores; k++) {
        const asc_scores *s = &r->scores[k];
        for (size_t i = 0; i < count(s); i++, at++) {
            out->score[at] = s->data[i];
            out->error[at] = s->error != NULL ? s->error[i] : (double)NAN;
        }
    }
    out->value = r->value != NULL ? r->value[0] : (double)NAN;
    out->flops = r->flops;
    out->seconds = r->seconds;
    out->stochastic = r->stochastic;
    asc_attribution_destroy(j->c.ctx, r);
    return EXIT_DONE;
}

int cli_job_run(cli_job *j, cli_run *out, char *why, size_t why_size) {
    memset(out, 0, sizeof *out);
    cli_set_running(j->c.ctx);
    return j->kind == CLI_JOB_PROMPT ? run_prompt(j, out, why, why_size) : run_net(j, out, why, why_size);
}

void cli_run_free(cli_run *r) {
    free(r->score);
    free(r->error);
    r->score = r->error = NULL;
    r->n = 0;
}

void cli_job_close(cli_job *j) {
    cli_explain_args_free(&j->c, &j->prompt);
    asc_model_close(j->model);
    asc_builtin_close(j->builtin);
    cli_net_args_free(&j->c, &j->net);
    cli_close(&j->c);
    memset(j, 0, sizeof *j);
}

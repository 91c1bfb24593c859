/* explain_args.c - the options that say what of a language model is explained, and how: a request. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

int cli_baseline(const cli *c, cli_option_id o, asc_baseline *out, int32_t *token) {
    const char *b = c->value[o], *name = cli_options[o].name;
    if (b == NULL) return EXIT_DONE;
    if (strncmp(b, "token:", 6) != 0) {
        if (asc_baseline_from_name(b) < 0)
            return cli_usage("--%s is one of auto, remove, mask, eos, pad, zero, mean, token:ID, not '%.60s'",
                             name, b);
        *out = (asc_baseline)asc_baseline_from_name(b);
        return EXIT_DONE;
    }
    char *end;
    long id = strtol(b + 6, &end, 10);
    if (end == b + 6 || *end != '\0' || id < 0 || id > INT32_MAX)
        return cli_usage("--%s token:ID needs a token id, not '%s'", name, b);
    *out = ASC_BASELINE_TOKEN;
    *token = (int32_t)id;
    return EXIT_DONE;
}

static int read_target(cli *c, cli_explain_args *j) {
    asc_request *q = &j->req;
    int rc = cli_size(c, OPT_GENERATE, 0, &q->generate);
    if (rc == EXIT_DONE) rc = cli_ids(c, OPT_TARGET_IDS, &j->target_ids, &q->n_target_ids);
    if (rc == EXIT_DONE) rc = cli_ids(c, OPT_VERSUS_IDS, &j->versus_ids, &q->n_versus_ids);
    if (rc != EXIT_DONE) return rc;
    int given = cli_has(c, OPT_TARGET) + cli_has(c, OPT_TARGET_IDS) + cli_has(c, OPT_GENERATE);
    if (given > 1)
        return cli_usage("more than one target: give one of --target, --target-ids and --generate");
    if (cli_has(c, OPT_VERSUS) && cli_has(c, OPT_VERSUS_IDS))
        return cli_usage("give one of --versus and --versus-ids");
    if (cli_has(c, OPT_GENERATE) && q->generate == 0) return cli_usage("--generate needs at least 1");
    q->target_ids = j->target_ids;
    q->versus_ids = j->versus_ids;
    if (cli_has(c, OPT_TARGET)) q->target = (asc_view){c->value[OPT_TARGET], strlen(c->value[OPT_TARGET])};
    if (cli_has(c, OPT_VERSUS)) q->versus = (asc_view){c->value[OPT_VERSUS], strlen(c->value[OPT_VERSUS])};
    return EXIT_DONE;
}

/* "2:5" is tokens, everything else text. */
static int read_span(cli *c, asc_request *q) {
    const char *s = c->value[OPT_SPAN];
    char *end;
    q->per_token = cli_has(c, OPT_PER_TOKEN);
    if (s == NULL) return EXIT_DONE;
    bool tokens = s[0] >= '0' && s[0] <= '9' && s[strspn(s, "0123456789:")] == '\0' && strchr(s, ':') != NULL;
    if (!tokens) {
        q->span = (asc_view){s, strlen(s)};
        return s[0] != '\0' ? EXIT_DONE : cli_usage("--span is empty");
    }
    unsigned long long first = strtoull(s, &end, 10), last = 0;
    bool ok = *end == ':' && end[1] >= '0' && end[1] <= '9';
    if (ok) last = strtoull(end + 1, &end, 10);
    if (!ok || *end != '\0' || first > INT32_MAX || last > INT32_MAX || first >= last)
        return cli_usage("--span FIRST:END is two token numbers, the first smaller, not '%.40s'", s);
    q->span_start = first;
    q->span_end = last;
    return EXIT_DONE;
}

int cli_check_method(const char *name) {
    const char *names[64];
    size_t n = 0;
    if (name == NULL) return EXIT_DONE;
    if (asc_method_find(name) >= 0) return EXIT_DONE;
    for (; n < 64 && asc_method_at(n) != NULL; n++) names[n] = asc_method_at(n)->name;
    const char *near = cli_nearest(name, names, n);
    return near != NULL ? cli_usage("unknown method '%.60s'; did you mean '%s'?", name, near)
                        : cli_usage("unknown method '%.60s' (see: ascribe methods)", name);
}

int cli_explain_request(cli *c, cli_explain_args *j) {
    asc_request *q = &j->req;
    size_t seed;
    int rc = cli_check_method(c->value[OPT_METHOD]);
    *q = (asc_request){.struct_size = sizeof *q,
                       .method = c->value[OPT_METHOD],
                       .rule = c->value[OPT_RULE],
                       .norm = c->value[OPT_NORM],
                       .site = c->value[OPT_SITE],
                       .layers = c->value[OPT_LAYERS],
                       .neuron = c->value[OPT_NEURON],
                       .compat_captum = cli_has(c, OPT_COMPAT),
                       .dry_run = cli_has(c, OPT_DRY_RUN),
                       .want_sha256 = cli_has(c, OPT_JSON) || cli_has(c, OPT_HTML)};
    if (cli_nth(c, OPT_SITE, 1) != NULL)
        return cli_usage("--site is one inner value of a prompt; several are for nets (ONNX), and --layers "
                         "for tables of many");
    if (cli_has(c, OPT_FEATURES)) q->features = (asc_features)asc_features_from_name(c->value[OPT_FEATURES]);
    const int method = q->method != NULL ? asc_method_find(q->method) : -1;
    const bool through = method >= 0 && asc_method_traits_at((size_t)method).needs_neuron;
    if (cli_has(c, OPT_NEURON) && cli_has(c, OPT_OUTPUT) && !through)
        return cli_usage("give one of --neuron and --output: a neuron's value is explained as it is");
    if (cli_has(c, OPT_OUTPUT)) q->output = (asc_output)asc_output_from_name(c->value[OPT_OUTPUT]);
    if (rc == EXIT_DONE) rc = cli_baseline(c, OPT_BASELINE, &q->baseline, &q->baseline_token);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_STEPS, 0, &q->steps);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_TOLERANCE, 0, &q->tolerance);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SAMPLES, 0, &q->samples);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_ALPHA, 0, &q->alpha);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_REFINE, 0, &q->refine);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_MAX_EVALUATIONS, 0, &q->max_evaluations);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_MAX_SECONDS, 0, &q->max_seconds);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_STDEV, 0, &q->stdev);
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MEMORY, 0, &q->memory_bytes);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SEED, 0, &seed);
    if (rc == EXIT_DONE) rc = cli_ids(c, OPT_CORRUPTED_IDS, &j->corrupted_ids, &q->n_corrupted_ids);
    if (rc != EXIT_DONE) return rc;
    q->corrupted_ids = j->corrupted_ids;
    if (cli_has(c, OPT_CORRUPTED))
        q->corrupted = (asc_view){c->value[OPT_CORRUPTED], strlen(c->value[OPT_CORRUPTED])};
    if (cli_has(c, OPT_CORRUPTED) && cli_has(c, OPT_CORRUPTED_IDS))
        return cli_usage("give one of --corrupted and --corrupted-ids");
    q->seed = seed;
    rc = read_span(c, q);
    if (rc != EXIT_DONE) return rc;
    if (cli_has(c, OPT_STEPS) && q->steps == 0) return cli_usage("--steps is at least 1");
    if (cli_has(c, OPT_SAMPLES) && q->samples == 0) return cli_usage("--samples is at least 1");
    if (cli_has(c, OPT_ALPHA) && !(q->alpha > 0)) return cli_usage("--alpha is larger than 0");
    if (cli_has(c, OPT_REFINE) && !(q->refine > 0)) return cli_usage("--refine is larger than 0");
    if (cli_has(c, OPT_TOLERANCE) && !(q->tolerance > 0)) return cli_usage("--tolerance is larger than 0");
    if (cli_has(c, OPT_SECOND)) q->second = (asc_view){c->value[OPT_SECOND], strlen(c->value[OPT_SECOND])};
    if (cli_has(c, OPT_LABEL)) q->label = (asc_view){c->value[OPT_LABEL], strlen(c->value[OPT_LABEL])};
    if (cli_has(c, OPT_SIMILAR_TO))
        q->similar_to = (asc_view){c->value[OPT_SIMILAR_TO], strlen(c->value[OPT_SIMILAR_TO])};
    return read_target(c, j);
}

/* Prompts are for what continues them; an encoder reads a text. */
static int refuse_prompts(const cli *c, const asc_model *m) {
    if (!asc_model_get_info(m).encoder) return EXIT_DONE;
    static const cli_option_id prompts[] = {OPT_PROMPT, OPT_CHAT, OPT_USER};
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        if (cli_has(c, prompts[i]))
            return cli_usage("--%s is for language models; '%.200s' is a text encoder (%s): give --text TEXT",
                             cli_options[prompts[i]].name, c->operand[0], asc_model_get_info(m).architecture);
    }
    return EXIT_DONE;
}

/* Options that speak of nets mean nothing for prompts. */
int cli_refuse_net_options(const cli *c) {
    for (int o = 0; o < N_OPTIONS; o++) {
        if (cli_has(c, (cli_option_id)o) && (strcmp(cli_options[o].group, "Net") == 0 || o == OPT_PNG))
            return cli_usage("--%s is for ONNX files; '%.200s' is not one by its name", cli_options[o].name,
                             c->operand[0]);
    }
    return EXIT_DONE;
}

int cli_explain_open(cli *c, cli_explain_args *j, asc_model **out) {
    int rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_features_check(c);
    if (rc == EXIT_DONE) rc = cli_prompt_read(c, &j->prompt);
    if (rc != EXIT_DONE) return rc;
    const asc_request p = cli_prompt_request(&j->prompt);
    j->req.prompt = p.prompt;
    j->req.prompt_ids = p.prompt_ids;
    j->req.n_prompt_ids = p.n_prompt_ids;
    j->req.messages = p.messages;
    j->req.n_messages = p.n_messages;
    j->req.message_extras = p.message_extras;
    j->req.template_vars = p.template_vars;
    rc = cli_open_model(c, out);
    if (rc == EXIT_DONE) rc = refuse_prompts(c, *out);
    return rc == EXIT_DONE ? cli_features_read(c, j, *out) : rc;
}

void cli_explain_args_free(cli *c, cli_explain_args *j) {
    if (c->ctx != NULL) cli_prompt_free(c, &j->prompt);
    cli_features_free(c, j->features);
    free(j->target_ids);
    free(j->versus_ids);
    free(j->corrupted_ids);
}

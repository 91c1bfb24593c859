/* net_request.c - the options that say what of a net is explained, and how. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An index, or a label's index. */
static int read_index(const cli_net_args *a, const char *text, const char *option, int64_t *out, int *rank) {
    *rank = asc_whole_numbers_parse(text, ',', out, ASC_MAX_RANK);
    if (*rank > 0) return EXIT_DONE;
    const char *near;
    int64_t label = asc_label_find(a->labels, a->n_labels, (asc_view){text, strlen(text)}, &near);
    if (label >= 0) {
        out[0] = label;
        *rank = 1;
        return EXIT_DONE;
    }
    if (near != NULL) return cli_usage("--%s: no label '%.60s'; did you mean '%.60s'?", option, text, near);
    return cli_usage("--%s is an index as 17 or 3,5%s, not '%.60s'", option,
                     a->n_labels > 0 ? " or a label" : " (labels need --labels)", text);
}

static int read_target(cli *c, cli_net_args *a, asc_attr_request *q) {
    int rank, rc;
    q->target.value = c->value[OPT_TARGET_VALUE];
    asc_status st = asc_net_look_at(a->net, q, a->labels, a->n_labels, &a->look);
    if (st != ASC_OK) return cli_error(c, st);
    if (!cli_has(c, OPT_TARGET)) asc_net_look_target(&a->look, a->index, &q->target);
    if (cli_has(c, OPT_TARGET)) {
        rc = read_index(a, c->value[OPT_TARGET], "target", a->index, &rank);
        if (rc != EXIT_DONE) return rc;
        q->target = (asc_target){.value = q->target.value, .n_rows = 1, .rank = rank, .index = a->index};
    }
    if (cli_has(c, OPT_VERSUS)) {
        rc = read_index(a, c->value[OPT_VERSUS], "versus", a->versus, &rank);
        if (rc == EXIT_DONE && rank != q->target.rank)
            rc = cli_usage("--versus and --target differ in length");
        if (rc != EXIT_DONE) return rc;
        q->target.versus = a->versus;
    }
    if (cli_has(c, OPT_OUTPUT)) {
        const char *o = c->value[OPT_OUTPUT];
        if (strcmp(o, "kl") == 0 || strcmp(o, "similarity") == 0)
            return cli_usage(
                "--output %s is for language models and text encoders; nets have logit, prob and "
                "logprob",
                o);
        q->target.transform = strcmp(o, "prob") == 0      ? ASC_TRANSFORM_SOFTMAX
                              : strcmp(o, "logprob") == 0 ? ASC_TRANSFORM_LOG_SOFTMAX
                                                          : ASC_TRANSFORM_NONE;
    }
    asc_net_target_text(a->net, &q->target, a->labels, a->n_labels, a->target_text, sizeof a->target_text);
    return EXIT_DONE;
}

static int read_neuron(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *s = c->value[OPT_NEURON];
    asc_view site;
    int rank;
    if (s == NULL) return EXIT_DONE;
    if (!asc_neuron_parse(a->net, s, &site, a->unit, &rank) || rank == 0 || site.len >= sizeof a->neuron_site)
        return cli_usage("--neuron is SITE:INDEX, as conv2:3,0,0, not '%.60s'", s);
    snprintf(a->neuron_site, sizeof a->neuron_site, "%.*s", (int)site.len, site.ptr);
    q->neuron = (asc_target){.value = a->neuron_site, .n_rows = 1, .rank = rank, .index = a->unit};
    return EXIT_DONE;
}

static int read_baseline(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *b = c->value[OPT_BASELINE];
    size_t at = cli_has(c, OPT_IMAGE) ? a->picture_input : 0;
    char *end;
    int rc = EXIT_DONE;
    if (b == NULL || strcmp(b, "auto") == 0 || strcmp(b, "zero") == 0 || strcmp(b, "mean") == 0) {
        /* zeros: of a normalised picture, the mean colour; of bytes in magika's numbers, padding */
        if (cli_has(c, OPT_BYTES) && asc_net_bytes_padding(a->net, &a->level[0])) {
            a->baselines[0] = (asc_array){.elem = ASC_ELEM_F64, .shape = {0}, .data = &a->level[0]};
        }
    } else if (strcmp(b, "black") == 0 || strcmp(b, "white") == 0) {
        if (!cli_has(c, OPT_IMAGE)) return cli_usage("--baseline %s needs --image", b);
        asc_status st = asc_image_level_array(c->ctx, &a->prep, a->picture.width, a->picture.height,
                                              strcmp(b, "white") == 0 ? 255 : 0, &a->baselines[at]);
        if (st != ASC_OK) rc = cli_error(c, st);
    } else {
        double x = strtod(b, &end);
        if (end != b && *end == '\0') {
            a->level[at] = x;
            a->baselines[at] = (asc_array){.elem = ASC_ELEM_F64, .shape = {0}, .data = &a->level[at]};
        } else if (strstr(b, ".npy") != NULL) {
            asc_status st = asc_npy_read(c->ctx, b, &a->baselines[at]);
            if (st != ASC_OK) rc = cli_error(c, st);
        } else {
            return cli_usage(
                "--baseline for nets is a number, zero, black, white or a .npy file, not '%.60s'", b);
        }
    }
    q->baselines = a->baselines;
    /* one that is given is said to have no effect where nobody reads it */
    q->n_baselines = b != NULL || asc_attr_reads(q, "baselines") ? q->n_inputs : 0;
    return rc;
}

static int read_mask(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *m = c->value[OPT_MASK];
    asc_mask_words words;
    asc_status st = ASC_OK;
    if (m == NULL) return EXIT_DONE;
    if (asc_mask_parse(m, &words)) {
        if (a->picture.rgb == NULL) return cli_usage("--mask %s needs --image", m);
        st = asc_mask_make(c->ctx, &words, &a->picture, a->prep.nhwc, &a->mask);
    } else if (strncmp(m, "grid:", 5) == 0 || strncmp(m, "superpixels:", 12) == 0) {
        return cli_usage("--mask is grid:16, grid:16x8 or superpixels:60, not '%.60s'", m);
    } else {
        st = asc_npy_read(c->ctx, m, &a->mask);
    }
    q->masks = &a->mask;
    q->n_masks = 1;
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

int cli_net_window(cli *c, cli_net_args *a, asc_attr_request *q) {
    if (cli_has(c, OPT_WINDOW)) {
        int n = asc_whole_numbers_parse(c->value[OPT_WINDOW], 'x', a->window, 2 * ASC_MAX_RANK);
        if (n == 0) return cli_usage("--window is sizes as 3x16x16, not '%.60s'", c->value[OPT_WINDOW]);
        q->n_window = (size_t)n;
    } else if (q->method != NULL && strcmp(q->method, "occlusion") == 0 && a->picture.rgb != NULL) {
        asc_picture_window(&a->picture, &a->prep, a->window);
        q->n_window = 3;
    } else {
        return EXIT_DONE;
    }
    asc_default_stride(a->picture.rgb != NULL ? &a->prep : NULL, a->window, q->n_window, a->stride);
    if (cli_has(c, OPT_STRIDE) &&
        asc_whole_numbers_parse(c->value[OPT_STRIDE], 'x', a->stride, 2 * ASC_MAX_RANK) != (int)q->n_window)
        return cli_usage("--stride has as many sizes as --window");
    q->window = a->window;
    q->stride = a->stride;
    return EXIT_DONE;
}

static int read_lrp(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *s = c->value[OPT_LRP_RULE];
    if (s == NULL) return EXIT_DONE;
    if (!asc_rule_parse(s, a->rule_name, &a->rule))
        return cli_usage("--lrp-rule is NAME[:A[,B]], not '%.60s'", s);
    q->rules = &a->rule;
    q->n_rules = 1;
    return EXIT_DONE;
}

int cli_net_request(cli *c, cli_net_args *a, asc_attr_request *q) {
    size_t seed;
    int method = asc_method_find(c->value[OPT_METHOD]);
    *q =
        (asc_attr_request){.struct_size = sizeof *q,
                           .method = method >= 0 ? asc_method_at((size_t)method)->name : c->value[OPT_METHOD],
                           .inputs = a->inputs,
                           .n_inputs = asc_net_n_inputs(a->net),
                           .no_batch = cli_has(c, OPT_NO_BATCH),
                           .rule = c->value[OPT_RULE],
                           .norm = c->value[OPT_NORM],
                           .base = c->value[OPT_BASE],
                           .noise = c->value[OPT_NOISE],
                           .fallback = c->value[OPT_FALLBACK],
                           .compat_captum = cli_has(c, OPT_COMPAT),
                           .dry_run = cli_has(c, OPT_DRY_RUN)};
    for (size_t i = 0; i < CLI_MAX_PORTS && cli_nth(c, OPT_SITE, i) != NULL; i++) {
        a->sites[i] = cli_nth(c, OPT_SITE, i);
        q->n_at = i + 1;
    }
    q->at = q->n_at > 0 ? a->sites : NULL;
    int rc = cli_size(c, OPT_STEPS, 0, &q->steps);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SAMPLES, 0, &q->samples);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_TOLERANCE, 0, &q->tolerance);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_MAX_EVALUATIONS, 0, &q->max_evaluations);
    if (rc == EXIT_DONE) rc = cli_bytes(c, OPT_MEMORY, 0, &q->memory_bytes);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SEED, 0, &seed);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_STDEV, 0, &a->stdev);
    if (rc != EXIT_DONE) return rc;
    q->seed = seed;
    if (cli_has(c, OPT_STDEV)) {
        q->stdevs = &a->stdev;
        q->n_stdevs = 1;
    }
    rc = read_target(c, a, q);
    if (rc == EXIT_DONE) rc = read_neuron(c, a, q);
    if (rc == EXIT_DONE) rc = read_baseline(c, a, q);
    if (rc == EXIT_DONE) rc = read_mask(c, a, q);
    if (rc == EXIT_DONE) rc = cli_net_window(c, a, q);
    return rc == EXIT_DONE ? read_lrp(c, a, q) : rc;
}

/* net_request.c - the options that say what of a net is explained, and how. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "3,-1,5" -> numbers; 0 = not a list of whole numbers. */
static int read_list(const char *s, const char *separators, int64_t *out, int most) {
    int n = 0;
    while (n < most) {
        char *end;
        out[n++] = strtoll(s, &end, 10);
        if (end == s) return 0;
        if (*end == '\0') return n;
        if (strchr(separators, *end) == NULL) return 0;
        s = end + 1;
    }
    return 0;
}

/* An index, or a label's index. */
static int read_index(const cli_net_args *a, const char *text, const char *option, int64_t *out, int *rank) {
    *rank = read_list(text, ",", out, ASC_MAX_RANK);
    if (*rank > 0) return EXIT_DONE;
    for (size_t i = 0; i < a->n_labels; i++) {
        if (strcmp(a->labels[i], text) != 0) continue;
        out[0] = (int64_t)i;
        *rank = 1;
        return EXIT_DONE;
    }
    const char *near = a->n_labels > 0 ? cli_nearest(text, a->labels, a->n_labels) : NULL;
    if (near != NULL) return cli_usage("--%s: no label '%.60s'; did you mean '%.60s'?", option, text, near);
    return cli_usage("--%s is an index as 17 or 3,5%s, not '%.60s'", option,
                     a->n_labels > 0 ? " or a label" : " (labels need --labels)", text);
}

static const char *label_of(const cli_net_args *a, int64_t i) {
    return i >= 0 && (size_t)i < a->n_labels && a->labels[i][0] != '\0' ? a->labels[i] : NULL;
}

/* The largest numbers of the first example; their places in top[].index count over the whole row. */
static void find_top(cli_net_args *a, const double *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        size_t at = a->n_top;
        while (at > 0 && v[i] > a->top[at - 1].value) at--;
        if (at == sizeof a->top / sizeof *a->top) continue;
        if (a->n_top < sizeof a->top / sizeof *a->top) a->n_top++;
        for (size_t k = a->n_top - 1; k > at; k--) a->top[k] = a->top[k - 1];
        a->top[at] = (asc_class_score){.index = i, .label = label_of(a, i), .value = v[i]};
    }
}

/* Runs the net once: what it says by itself, and the default target. */
static int look_at_output(cli *c, cli_net_args *a, asc_attr_request *q) {
    asc_array out = {0};
    const char *name = q->target.value != NULL ? q->target.value : asc_net_output(a->net, 0).name;
    asc_status st = asc_net_run(a->net, a->inputs, q->n_inputs, &name, 1, &out);
    if (st != ASC_OK) return cli_error(c, st);
    asc_shape s = out.shape;
    bool batch = !q->no_batch && asc_net_input(a->net, 0).batch;
    bool drop = s.rank > 0 && (batch || s.dims[0] == 1);
    if (drop) {
        s.rank--;
        memmove(s.dims, out.shape.dims + 1, (size_t)s.rank * sizeof *s.dims);
    }
    int64_t n = 1;
    for (int d = 0; d < s.rank; d++) n *= s.dims[d];
    double *v = malloc((size_t)(n > 0 ? n : 1) * sizeof *v);
    if (v == NULL) n = 0;
    if (n > 0) {
        asc_array_get(&out, 0, n, v);
        find_top(a, v, n);
    }
    free(v);
    asc_array_free(c->ctx, &out);
    if (cli_has(c, OPT_TARGET) || n < 1) return EXIT_DONE;
    int64_t rest = a->top[0].index; /* the largest number's index, dimension by dimension */
    for (int d = s.rank - 1; d >= 0; d--) {
        a->index[d] = rest % s.dims[d];
        rest /= s.dims[d];
    }
    if (s.rank > 0)
        q->target = (asc_target){.value = q->target.value, .n_rows = 1, .rank = s.rank, .index = a->index};
    return EXIT_DONE;
}

static int read_target(cli *c, cli_net_args *a, asc_attr_request *q) {
    int rank, rc;
    q->target.value = c->value[OPT_TARGET_VALUE];
    rc = look_at_output(c, a, q);
    if (rc != EXIT_DONE) return rc;
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
        q->target.transform = strcmp(o, "prob") == 0      ? ASC_TRANSFORM_SOFTMAX
                              : strcmp(o, "logprob") == 0 ? ASC_TRANSFORM_LOG_SOFTMAX
                                                          : ASC_TRANSFORM_NONE;
    }
    char index[128] = "";
    for (int d = 0; d < q->target.rank; d++) {
        size_t n = strlen(index);
        snprintf(index + n, sizeof index - n, d > 0 ? ",%lld" : "%lld", (long long)a->index[d]);
    }
    const char *label = q->target.rank == 1 ? label_of(a, a->index[0]) : NULL;
    snprintf(a->target_text, sizeof a->target_text, "%.60s[%s]%s%.60s%s",
             q->target.value != NULL ? q->target.value : asc_net_output(a->net, 0).name, index,
             label != NULL ? " (" : "", label != NULL ? label : "", label != NULL ? ")" : "");
    return EXIT_DONE;
}

static int read_neuron(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *s = c->value[OPT_NEURON];
    if (s == NULL) return EXIT_DONE;
    const char *colon = strrchr(s, ':'); /* names of ONNX values may hold colons too */
    int rank = colon != NULL ? read_list(colon + 1, ",", a->unit, ASC_MAX_RANK) : 0;
    if (rank == 0 || (size_t)(colon - s) >= sizeof a->neuron_site)
        return cli_usage("--neuron is SITE:INDEX, as conv2:3,0,0, not '%.60s'", s);
    snprintf(a->neuron_site, sizeof a->neuron_site, "%.*s", (int)(colon - s), s);
    q->neuron = (asc_target){.value = a->neuron_site, .n_rows = 1, .rank = rank, .index = a->unit};
    return EXIT_DONE;
}

/* A whole input at one level per channel: what black or white pixels become. */
static int level_picture(cli *c, cli_net_args *a, int byte) {
    float level[3];
    const asc_array *in = &a->inputs[a->picture_input];
    asc_status st = asc_image_level(c->ctx, &a->prep, byte, level);
    if (st != ASC_OK) return cli_error(c, st);
    asc_image flat = {0};
    asc_image_prep same = a->prep;
    same.resize_short = same.width = same.height = same.crop_width = same.crop_height = 0;
    st = asc_image_create(c->ctx, a->picture.width, a->picture.height, &flat);
    if (st == ASC_OK) {
        memset(flat.rgb, byte, (size_t)(flat.width * flat.height * 3));
        st = asc_image_to_array(c->ctx, &flat, &same, &a->baselines[a->picture_input], NULL);
    }
    asc_image_free(c->ctx, &flat);
    (void)in;
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static int read_baseline(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *b = c->value[OPT_BASELINE];
    size_t at = cli_has(c, OPT_IMAGE) ? a->picture_input : 0;
    char *end;
    int rc = EXIT_DONE;
    if (b == NULL || strcmp(b, "auto") == 0 || strcmp(b, "zero") == 0 || strcmp(b, "mean") == 0) {
        /* zeros: of a normalised picture, the mean colour; of bytes in magika's numbers, padding */
        if (cli_has(c, OPT_BYTES) && a->offsets.data != NULL &&
            asc_net_input(a->net, 0).shape.dims[1] == 2048) {
            a->level[0] = 256.0;
            a->baselines[0] = (asc_array){.elem = ASC_ELEM_F64, .shape = {0}, .data = &a->level[0]};
        }
    } else if (strcmp(b, "black") == 0 || strcmp(b, "white") == 0) {
        if (!cli_has(c, OPT_IMAGE)) return cli_usage("--baseline %s needs --image", b);
        rc = level_picture(c, a, strcmp(b, "white") == 0 ? 255 : 0);
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
    q->n_baselines = q->n_inputs;
    return rc;
}

static int read_mask(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *m = c->value[OPT_MASK];
    int64_t size[2] = {0}, n = 0;
    asc_status st = ASC_OK;
    if (m == NULL) return EXIT_DONE;
    if (strncmp(m, "grid:", 5) == 0 || strncmp(m, "superpixels:", 12) == 0) {
        bool grid = m[0] == 'g';
        int k = read_list(strchr(m, ':') + 1, "x", size, 2);
        if (k == 0 || size[0] < 1 || (k == 2 && size[1] < 1) || (!grid && k != 1))
            return cli_usage("--mask is grid:16, grid:16x8 or superpixels:60, not '%.60s'", m);
        if (a->picture.rgb == NULL) return cli_usage("--mask %s needs --image", m);
        if (grid)
            st = asc_mask_grid(c->ctx, a->picture.height, a->picture.width, size[0],
                               k == 2 ? size[1] : size[0], &a->mask, &n);
        else
            st = asc_mask_superpixels(c->ctx, &a->picture, size[0], 0.0, &a->mask, &n);
        if (st == ASC_OK && a->prep.nhwc) { /* [rows, cols] must end in the channels */
            a->mask.shape.dims[a->mask.shape.rank++] = 1;
        }
    } else {
        st = asc_npy_read(c->ctx, m, &a->mask);
    }
    q->masks = &a->mask;
    q->n_masks = 1;
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

int cli_net_window(cli *c, cli_net_args *a, asc_attr_request *q) {
    if (cli_has(c, OPT_WINDOW)) {
        int n = read_list(c->value[OPT_WINDOW], "x", a->window, 2 * ASC_MAX_RANK);
        if (n == 0) return cli_usage("--window is sizes as 3x16x16, not '%.60s'", c->value[OPT_WINDOW]);
        q->n_window = (size_t)n;
    } else if (q->method != NULL && strcmp(q->method, "occlusion") == 0 && a->picture.rgb != NULL) {
        int64_t side = a->picture.height < a->picture.width ? a->picture.height / 8 : a->picture.width / 8;
        int64_t channels = a->prep.grey ? 1 : 3, w[3] = {channels, side > 0 ? side : 1, side > 0 ? side : 1};
        for (int d = 0; d < 3; d++) a->window[d] = w[a->prep.nhwc ? (d + 1) % 3 : d];
        q->n_window = 3;
    } else {
        return EXIT_DONE;
    }
    for (size_t d = 0; d < q->n_window; d++) a->stride[d] = a->window[d] > 1 ? a->window[d] / 2 : 1;
    for (size_t d = 0; a->picture.rgb != NULL && d < q->n_window; d++) { /* all channels at once */
        if (a->window[d] == (a->prep.grey ? 1 : 3) && d == (a->prep.nhwc ? 2u : 0u))
            a->stride[d] = a->window[d];
    }
    if (cli_has(c, OPT_STRIDE) &&
        read_list(c->value[OPT_STRIDE], "x", a->stride, 2 * ASC_MAX_RANK) != (int)q->n_window)
        return cli_usage("--stride has as many sizes as --window");
    q->window = a->window;
    q->stride = a->stride;
    return EXIT_DONE;
}

static int read_lrp(cli *c, cli_net_args *a, asc_attr_request *q) {
    const char *s = c->value[OPT_LRP_RULE];
    if (s == NULL) return EXIT_DONE;
    size_t n = strcspn(s, ":");
    if (n >= sizeof a->rule_name) return cli_usage("--lrp-rule: no rule '%.60s'", s);
    memcpy(a->rule_name, s, n);
    a->rule = (asc_rule_choice){.rule = a->rule_name};
    if (s[n] == ':') {
        char *end;
        a->rule.a = strtod(s + n + 1, &end);
        if (*end == ',') a->rule.b = strtod(end + 1, &end);
        if (*end != '\0') return cli_usage("--lrp-rule is NAME[:A[,B]], not '%.60s'", s);
    }
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

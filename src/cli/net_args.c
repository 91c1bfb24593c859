/* net_args.c - the options that give a net its inputs: pictures, arrays, tables, bytes; and names of things.
 */
#include "cli.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_TEXT = 16 << 20, MOST_BYTES = 64 << 20 };

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcasecmp(s + n - m, end) == 0;
}

bool cli_is_net(const char *path) { return ends_with(path, ".onnx") || asc_vision_is_folder(path); }

asc_status cli_net_load(cli *c, asc_net **out) {
    const char *path = c->operand[0];
    cli_watch_file(path);
    return ends_with(path, ".onnx") ? asc_onnx_open(c->ctx, path, out) : asc_vision_open(c->ctx, path, out);
}

/* Lines of a file; the list borrows from *file. */
static int read_lines(cli *c, const char *path, asc_text **file, const char ***out, size_t *n) {
    asc_status st = asc_text_create(c->ctx, file);
    if (st == ASC_OK) st = asc_text_read(*file, path, MOST_TEXT);
    if (st != ASC_OK) return cli_error(c, st);
    asc_view v = asc_text_view(*file);
    size_t lines = 1;
    for (size_t i = 0; i < v.len; i++) lines += v.ptr[i] == '\n';
    char *copy = malloc(v.len + 1);
    *out = calloc(lines + 1, sizeof **out);
    if (copy == NULL || *out == NULL) {
        free(copy);
        fputs("ascribe: out of memory\n", stderr);
        return EXIT_INPUT;
    }
    memcpy(copy, v.ptr, v.len);
    copy[v.len] = '\0';
    (*out)[0] = copy; /* the first line starts the block: freeing it frees all */
    for (char *p = copy, *end = copy + v.len; p <= end && *n < lines;) {
        char *nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL && p == end && *n > 0) break;
        if (nl != NULL) *nl = '\0';
        size_t len = strlen(p);
        if (len > 0 && p[len - 1] == '\r') p[len - 1] = '\0';
        (*out)[(*n)++] = p;
        p = nl != NULL ? nl + 1 : end + 1;
    }
    return EXIT_DONE;
}

/* "224" or "224x160" -> width and height; one number: height = 0. */
static int read_size(cli *c, cli_option_id o, int64_t size[2]) {
    char *end;
    const char *s = c->value[o];
    if (s == NULL) return EXIT_DONE;
    size[0] = strtoll(s, &end, 10);
    if (*end == 'x') size[1] = strtoll(end + 1, &end, 10);
    if (*end != '\0' || size[0] < 1 || size[1] < 0 || size[0] > ASC_IMAGE_MAX_SIDE ||
        size[1] > ASC_IMAGE_MAX_SIDE)
        return cli_usage("--%s is a size as 224 or 224x160, not '%.60s'", cli_options[o].name, s);
    return EXIT_DONE;
}

static int read_picture(cli *c, cli_net_args *a) {
    asc_image whole = {0};
    asc_picture_words words = {.normalise = c->value[OPT_NORMALISE], .channels = c->value[OPT_CHANNELS]};
    int64_t i = asc_net_picture_input(a->net);
    if (i < 0) return cli_usage("the net has no input that is a picture (4 dimensions)");
    int rc = read_size(c, OPT_RESIZE, words.resize);
    if (rc == EXIT_DONE) rc = read_size(c, OPT_CROP, words.crop);
    if (rc != EXIT_DONE) return rc;
    a->picture_input = (size_t)i;
    a->prep = asc_net_picture_prep(a->net, a->picture_input, &words);
    asc_status st = asc_image_read(c->ctx, c->value[OPT_IMAGE], &whole);
    if (st == ASC_OK) st = asc_image_to_array(c->ctx, &whole, &a->prep, &a->inputs[i], &a->picture);
    if (st == ASC_OK && whole.note[0] != '\0' && !cli_has(c, OPT_QUIET)) {
        cli_clear_progress();
        fprintf(stderr, "ascribe: '%s': %s\n", c->value[OPT_IMAGE], whole.note);
    }
    asc_image_free(c->ctx, &whole);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static int read_bytes(cli *c, cli_net_args *a) {
    const char *as = cli_has(c, OPT_BYTES_AS) ? c->value[OPT_BYTES_AS] : asc_net_bytes_preset(a->net);
    asc_status st = asc_text_create(c->ctx, &a->bytes_file);
    if (st == ASC_OK) st = asc_text_read(a->bytes_file, c->value[OPT_BYTES], MOST_BYTES);
    if (st != ASC_OK) return cli_error(c, st);
    asc_view v = asc_text_view(a->bytes_file);
    st = asc_bytes_encode(c->ctx, v.ptr, v.len, as, &a->inputs[0], &a->offsets);
    return st == ASC_OK ? EXIT_DONE : cli_error_in(c, st, c->value[OPT_BYTES], "");
}

/* Of several tables the names of the first input's columns are kept: reports name those of the first value.
 */
static int read_table(cli *c, cli_net_args *a, size_t i, const char *path) {
    asc_table t = {0};
    asc_status st = asc_csv_read(c->ctx, path, NULL, 0, &t);
    if (st != ASC_OK) return cli_error(c, st);
    a->inputs[i] = t.values;
    t.values = (asc_array){0};
    if (a->table.names == NULL || i < a->table_input) {
        asc_table_free(c->ctx, &a->table);
        a->table = t;
        a->table_input = i;
    } else {
        asc_table_free(c->ctx, &t);
    }
    return EXIT_DONE;
}

/* One [NAME=]FILE or [NAME=]NUMBER. */
static int read_one(cli *c, cli_net_args *a, const char *text) {
    const char *eq = strchr(text, '='), *path = eq != NULL ? eq + 1 : text;
    size_t i = 0, n = asc_net_n_inputs(a->net);
    if (eq != NULL) {
        for (; i < n; i++) {
            const char *name = asc_net_input(a->net, i).name;
            if (strlen(name) == (size_t)(eq - text) && strncmp(name, text, (size_t)(eq - text)) == 0) break;
        }
        if (i == n)
            return cli_usage("the net has no input '%.*s' (see: ascribe inspect)", (int)(eq - text), text);
    } else if (n > 1) {
        return cli_usage("the net has %zu inputs: --input NAME=FILE, once for each", n);
    }
    if (i >= CLI_MAX_PORTS) return cli_usage("more than %d inputs", CLI_MAX_PORTS);
    if (a->inputs[i].data != NULL)
        return cli_usage("input '%.60s' is given twice", asc_net_input(a->net, i).name);
    if (ends_with(path, ".csv")) return read_table(c, a, i, path);
    char *end;
    double x = strtod(path, &end);
    if (end != path && *end == '\0') { /* a scalar input */
        a->level[i] = x;
        a->inputs[i] = (asc_array){.elem = ASC_ELEM_F64, .shape = {0}, .data = &a->level[i]};
        return EXIT_DONE;
    }
    asc_status st = asc_npy_read(c->ctx, path, &a->inputs[i]);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

int cli_net_inputs(cli *c, cli_net_args *a) {
    int rc = EXIT_DONE;
    size_t n = asc_net_n_inputs(a->net);
    if (n > CLI_MAX_PORTS) return cli_usage("the net has more than %d inputs", CLI_MAX_PORTS);
    if (cli_has(c, OPT_IMAGE)) rc = read_picture(c, a);
    if (rc == EXIT_DONE && cli_has(c, OPT_BYTES)) rc = read_bytes(c, a);
    for (size_t i = 0; rc == EXIT_DONE && cli_nth(c, OPT_INPUT, i) != NULL; i++)
        rc = read_one(c, a, cli_nth(c, OPT_INPUT, i));
    for (size_t i = 0; rc == EXIT_DONE && i < n; i++) {
        asc_net_lift_example(a->net, i, &a->inputs[i]);
        if (a->inputs[i].data == NULL)
            rc = cli_usage("no value for input '%.60s': give --image, --bytes or --input %.60s=FILE",
                           asc_net_input(a->net, i).name, asc_net_input(a->net, i).name);
    }
    if (rc == EXIT_DONE && cli_has(c, OPT_LABELS)) {
        rc = read_lines(c, c->value[OPT_LABELS], &a->labels_file, &a->lines, &a->n_labels);
        a->labels = a->lines;
    } else {
        a->labels = asc_net_labels(a->net, &a->n_labels);
    }
    if (rc == EXIT_DONE && cli_has(c, OPT_FEATURE_NAMES))
        rc = read_lines(c, c->value[OPT_FEATURE_NAMES], &a->names_file, &a->names, &a->n_names);
    return rc;
}

static void free_lines(const char **lines, asc_text *file) {
    if (lines != NULL) free((void *)(uintptr_t)lines[0]);
    free(lines);
    asc_text_destroy(file);
}

void cli_net_args_free(cli *c, cli_net_args *a) {
    if (c->ctx == NULL) return;
    for (size_t i = 0; i < CLI_MAX_PORTS; i++) {
        if (a->inputs[i].data != &a->level[i]) asc_array_free(c->ctx, &a->inputs[i]);
        if (a->baselines[i].data != &a->level[i]) asc_array_free(c->ctx, &a->baselines[i]);
    }
    asc_array_free(c->ctx, &a->mask);
    asc_array_free(c->ctx, &a->offsets);
    asc_image_free(c->ctx, &a->picture);
    asc_table_free(c->ctx, &a->table);
    asc_text_destroy(a->bytes_file);
    asc_text_destroy(a->command);
    free_lines(a->lines, a->labels_file);
    free_lines(a->names, a->names_file);
    asc_net_close(a->net);
}

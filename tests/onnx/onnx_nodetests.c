/* onnx_nodetests.c - runs ONNX's own test models (Debian's libonnx-testdata) and compares with the recorded
 * outputs by ONNX's tolerance: |a - b| <= 1e-7 + 1e-3 |b|, integers exactly, types and shapes too.
 *
 * usage: onnx_nodetests [--device D] [--data FOLDER] [--expected FILE | --write FILE] [--verbose] LIST
 * [PART..] LIST is tests/data/onnx_nodetests.tsv. PART: only tests whose name contains one of these. With
 * --expected, exit code 1 when a test that passed there does not. */
#include "onnx_run.h"
#include "ascribe/base.h"
#include "exec.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PORTS = 64, MAX_CATEGORIES = 64, MAX_TESTS = 2048 };

typedef struct options {
    const char *device, *data, *expected, *write, *list;
    bool verbose;
    char **parts;
    int n_parts;
} options;

typedef struct test {
    char name[256], onnxruntime[64], category[64], reason[700];
    bool core, pass;
} test;

typedef struct map_list {
    asc_map maps[MAX_PORTS];
    int n;
} map_list;

/* "reason" cut to one line without what differs between machines. */
static void set_reason(test *t, const char *text) {
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < sizeof t->reason; n++)
        t->reason[n] = text[n] == '\n' || text[n] == '\t' ? ' ' : text[n];
    t->reason[n] = '\0';
}

static bool close_to(double a, double b, bool exact) {
    if (isnan(b)) return isnan(a);
    if (isinf(b) || exact) return a == b;
    return fabs(a - b) <= 1e-7 + 1e-3 * fabs(b);
}

static bool compare(asc_onnx_run *run, asc_onnx_value *have, asc_onnx_value *want, char *why, size_t cap) {
    char s1[128], s2[128];
    if (have->kind != want->kind) {
        snprintf(why, cap, "mismatch: kind %d, not %d", have->kind, want->kind);
        return false;
    }
    if (want->kind == ASC_ONNX_NOTHING) return true;
    if (want->kind == ASC_ONNX_SEQUENCE) {
        if (have->n_items != want->n_items) {
            snprintf(why, cap, "mismatch: %zu items, not %zu", have->n_items, want->n_items);
            return false;
        }
        for (size_t i = 0; i < want->n_items; i++) {
            if (!compare(run, have->items[i], want->items[i], why, cap)) return false;
        }
        return true;
    }
    if (!asc_shape_eq(&have->shape, &want->shape)) {
        snprintf(why, cap, "mismatch: shape %s, not %s", asc_shape_text(&have->shape, s1),
                 asc_shape_text(&want->shape, s2));
        return false;
    }
    if (have->elem != want->elem) {
        snprintf(why, cap, "mismatch: type %s, not %s", asc_onnx_type_name(have->elem),
                 asc_onnx_type_name(want->elem));
        return false;
    }
    int64_t n = asc_shape_elems(&want->shape);
    if (want->kind == ASC_ONNX_STRINGS) {
        for (int64_t i = 0; i < n; i++) {
            if (asc_view_eq(have->strings[i], want->strings[i])) continue;
            snprintf(why, cap, "mismatch: string %lld", (long long)i);
            return false;
        }
        return true;
    }
    const double *a = asc_onnx_run_doubles(run, have), *b = asc_onnx_run_doubles(run, want);
    if (a == NULL || b == NULL) {
        snprintf(why, cap, "%s", asc_error_message(run->ctx));
        return false;
    }
    bool exact = !asc_onnx_type_is_float(want->elem);
    int64_t bad = 0, first = -1;
    for (int64_t i = 0; i < n; i++) {
        if (close_to(a[i], b[i], exact)) continue;
        bad++;
        if (first < 0) first = i;
    }
    if (bad == 0) return true;
    snprintf(why, cap, "mismatch: %lld of %lld elements, first %lld: %.9g, not %.9g", (long long)bad,
             (long long)n, (long long)first, a[first], b[first]);
    return false;
}

static asc_status read_port(asc_onnx_run *run, map_list *maps, const char *folder, const char *what, size_t i,
                            const asc_onnx_port *port, asc_onnx_value **out) {
    char path[4096];
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, what, i);
    if (maps->n == MAX_PORTS) return ASC_RESOURCE_EXHAUSTED;
    FILE *f = fopen(path, "rb"); /* empty files are values too */
    if (f != NULL && fgetc(f) == EOF) {
        fclose(f);
        return asc_onnx_read_value(run, "", 0, port, out);
    }
    if (f != NULL) fclose(f);
    asc_map *m = &maps->maps[maps->n];
    asc_status st = asc_map_open(run->ctx, path, m);
    if (st != ASC_OK) return st;
    maps->n++;
    st = asc_onnx_read_value(run, m->data, m->size, port, out);
    /* the test data holds the bits of bfloat16 numbers as uint16 */
    if (st == ASC_OK && port->elem == ASC_ONNX_BFLOAT16 && (*out)->elem == ASC_ONNX_UINT16) {
        asc_onnx_tensor *t = asc_arena_alloc(&run->arena, sizeof *t);
        if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
        *t = *(*out)->init;
        (*out)->elem = t->elem = ASC_ONNX_BFLOAT16;
        (*out)->init = t;
    }
    return st;
}

/* A read value as an input: a leaf, as asc_net_run makes it. */
static asc_status as_input(asc_onnx_run *run, asc_onnx_value *v) {
    if (v->kind == ASC_ONNX_SEQUENCE) {
        for (size_t i = 0; i < v->n_items; i++) {
            asc_status st = as_input(run, v->items[i]);
            if (st != ASC_OK) return st;
        }
    }
    if (v->kind != ASC_ONNX_TENSOR) return ASC_OK;
    const double *d = asc_onnx_run_doubles(run, v);
    if (d == NULL) return ASC_INTERNAL;
    int64_t n = asc_shape_elems(&v->shape);
    bool narrow = !asc_onnx_type_is_float(v->elem);
    for (int64_t i = 0; i < n && narrow; i++) narrow = d[i] >= INT32_MIN && d[i] <= INT32_MAX;
    asc_tensor *t;
    if (narrow) {
        int32_t *ints = calloc((size_t)n + 1, sizeof *ints);
        for (int64_t i = 0; i < n; i++) ints[i] = (int32_t)d[i];
        t = asc_from_i32(run->ctx, v->shape, ints);
        free(ints);
    } else {
        t = asc_from_f64(run->ctx, v->shape, d);
    }
    if (asc_tensor_poisoned(t)) return asc_graph_take_error(asc_graph_of(run->ctx));
    const double *exact = !narrow && !asc_onnx_type_is_float(v->elem) ? d : NULL;
    asc_onnx_input_value(run, v->elem, t, v);
    if (exact != NULL && n <= ASC_ONNX_INPUT_ELEMS) v->host = exact; /* wider than 32 bits */
    return ASC_OK;
}

static asc_status run_net(asc_net *net, const char *folder, test *t) {
    asc_onnx_net *on = net->self;
    const asc_onnx_graph *g = on->model->graph;
    asc_onnx_run run;
    map_list maps = {.n = 0};
    char why[600] = "";
    asc_status st = asc_onnx_run_init(&run, net, NULL);
    if (st != ASC_OK) goto done;
    asc_onnx_value **v = asc_arena_alloc(&run.arena, (g->n_inputs + 2 * g->n_outputs + 1) * sizeof *v);
    asc_onnx_value **out = v + g->n_inputs, **want = out + g->n_outputs;
    for (size_t i = 0; i < g->n_inputs; i++) {
        ASC_TRY(read_port(&run, &maps, folder, "input", i, &g->inputs[i], &v[i]));
        ASC_TRY(as_input(&run, v[i]));
    }
    ASC_TRY(asc_onnx_run_main(&run, v, out));
    t->pass = true;
    for (size_t i = 0; i < g->n_outputs && t->pass; i++) {
        ASC_TRY(read_port(&run, &maps, folder, "output", i, &g->outputs[i], &want[i]));
        t->pass = compare(&run, out[i], want[i], why, sizeof why);
    }
    if (!t->pass) set_reason(t, why);
done:
    asc_onnx_run_deinit(&run);
    for (int i = 0; i < maps.n; i++) asc_map_close(net->ctx, &maps.maps[i]);
    return st;
}

static void run_test(const options *o, test *t) {
    char path[4096], folder[3000];
    asc_ctx_options co = {.struct_size = sizeof co, .device = o->device, .n_threads = 2, .seed = 1};
    asc_ctx *ctx = NULL;
    asc_onnx_model *m = NULL;
    asc_net *net = NULL;
    if (asc_ctx_create(&co, &ctx) != ASC_OK) exit(4);
    snprintf(folder, sizeof folder, "%s/%s", o->data, t->name);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    asc_scope_begin(ctx);
    asc_status st = asc_onnx_model_open(ctx, path, &m);
    if (st == ASC_OK) st = asc_onnx_net_make(ctx, m, path, &net);
    if (st == ASC_OK) st = run_net(net, folder, t);
    if (st != ASC_OK) {
        t->pass = false;
        /* without the path, and with the status */
        const char *text = asc_error_message(ctx), *after = strstr(text, "': ");
        char line[1200];
        snprintf(line, sizeof line, "%s: %s", asc_status_name(st), after != NULL ? after + 3 : text);
        set_reason(t, line);
    }
    st = asc_scope_close(ctx, st);
    asc_net_close(net);
    asc_ctx_destroy(ctx);
}

/* Field k (0-based) of a line of tabs. */
static void field(const char *line, int k, char *out, size_t cap) {
    while (k > 0 && *line != '\0') k -= *line++ == '\t';
    size_t n = 0;
    while (line[n] != '\0' && line[n] != '\t' && line[n] != '\n' && n + 1 < cap) n++;
    memcpy(out, line, n);
    out[n] = '\0';
}

static bool wanted(const options *o, const char *name) {
    bool any = o->n_parts == 0;
    for (int i = 0; i < o->n_parts; i++) any = any || strstr(name, o->parts[i]) != NULL;
    return any;
}

static int read_list(const options *o, test *tests) {
    char line[4096], core[16];
    FILE *f = fopen(o->list, "r");
    int n = 0;
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be read\n", o->list);
        exit(3);
    }
    while (fgets(line, sizeof line, f) != NULL && n < MAX_TESTS) {
        test *t = &tests[n];
        field(line, 0, t->name, sizeof t->name);
        if (strcmp(t->name, "test") == 0 || t->name[0] == '\0' || !wanted(o, t->name)) continue;
        field(line, 2, t->onnxruntime, sizeof t->onnxruntime);
        field(line, 3, t->category, sizeof t->category);
        field(line, 4, core, sizeof core);
        t->core = strcmp(core, "core") == 0;
        n++;
    }
    fclose(f);
    return n;
}

static void print_categories(const test *tests, int n) {
    const char *names[MAX_CATEGORIES];
    int n_names = 0;
    printf("%-52s %6s %6s %12s\n", "category", "pass", "of", "onnxruntime");
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < n_names && strcmp(names[k], tests[i].category) != 0) k++;
        if (k == n_names && n_names < MAX_CATEGORIES) names[n_names++] = tests[i].category;
    }
    for (int k = 0; k < n_names; k++) {
        int pass = 0, all = 0, theirs = 0;
        for (int i = 0; i < n; i++) {
            if (strcmp(names[k], tests[i].category) != 0) continue;
            all++;
            pass += tests[i].pass;
            theirs += strcmp(tests[i].onnxruntime, "pass") == 0;
        }
        printf("%-52s %6d %6d %12d\n", names[k], pass, all, theirs);
    }
}

/* Lines of the expected file are the test, "pass" or the reason on cpu, the same on reference. Number of
 * tests that passed there only. */
static int regressions(const options *o, const test *tests, int n) {
    char line[4096], name[256], what[700];
    FILE *f = fopen(o->expected, "r");
    int bad = 0;
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be read\n", o->expected);
        exit(3);
    }
    while (fgets(line, sizeof line, f) != NULL) {
        field(line, 0, name, sizeof name);
        field(line, strcmp(o->device, "reference") == 0 ? 2 : 1, what, sizeof what);
        if (strcmp(what, "pass") != 0) continue;
        for (int i = 0; i < n; i++) {
            if (strcmp(tests[i].name, name) != 0 || tests[i].pass) continue;
            printf("REGRESSION %s: %s\n", name, tests[i].reason);
            bad++;
        }
    }
    fclose(f);
    return bad;
}

static void write_expected(const options *o, const test *tests, int n) {
    FILE *f = fopen(o->write, "w");
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be written\n", o->write);
        exit(3);
    }
    for (int i = 0; i < n; i++)
        fprintf(f, "%s\t%s\n", tests[i].name, tests[i].pass ? "pass" : tests[i].reason);
    fclose(f);
}

static int report(const options *o, const test *tests, int n) {
    int pass = 0, core = 0, core_pass = 0, core_ort = 0, core_ort_pass = 0;
    for (int i = 0; i < n; i++) {
        bool ort = strcmp(tests[i].onnxruntime, "pass") == 0;
        pass += tests[i].pass;
        core += tests[i].core;
        core_pass += tests[i].core && tests[i].pass;
        core_ort += tests[i].core && ort;
        core_ort_pass += tests[i].core && ort && tests[i].pass;
        if (!tests[i].pass)
            printf("%s%s %s: %s\n", tests[i].core ? "core " : "", ort ? "(ort passes)" : "(ort fails)",
                   tests[i].name, tests[i].reason);
    }
    print_categories(tests, n);
    printf("%d of %d pass on %s; core %d of %d, and %d of the %d that onnxruntime passes\n", pass, n,
           o->device, core_pass, core, core_ort_pass, core_ort);
    if (o->write != NULL) write_expected(o, tests, n);
    int bad = o->expected != NULL ? regressions(o, tests, n) : 0;
    if (bad > 0) printf("%d tests passed before and do not now\n", bad);
    return bad > 0;
}

int main(int argc, char **argv) {
    static test tests[MAX_TESTS];
    options o = {.device = "cpu", .data = "/usr/share/libonnx-testdata/data"};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            o.verbose = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
            o.device = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--data") == 0) {
            o.data = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--expected") == 0) {
            o.expected = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--write") == 0) {
            o.write = argv[++i];
        } else {
            break;
        }
    }
    if (i >= argc) {
        fprintf(stderr, "usage: onnx_nodetests [--device D] [--data FOLDER] [--expected FILE] [--write FILE] "
                        "[--verbose] LIST [PART..]\n");
        return 2;
    }
    o.list = argv[i];
    o.parts = argv + i + 1;
    o.n_parts = argc - i - 1;
    int n = read_list(&o, tests);
    for (int k = 0; k < n; k++) {
        if (o.verbose) fprintf(stderr, "%s\n", tests[k].name);
        run_test(&o, &tests[k]);
    }
    return report(&o, tests, n);
}

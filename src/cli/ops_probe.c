/* ops_probe.c - ascribe ops --probe: every op on a device; ascribe compare --ops: on every device, with every
 * set of instructions, at every precision. */
#include "ascribe/parity.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROBES = 128, MOST_SHOWN = 40 };

/* A probe in a context of its own, which its strings live in. */
typedef struct probed {
    cli c;
    asc_op_probe *p;
    const char *device, *isa, *precision, *mode;
} probed;

static void set(cli *c, cli_option_id o, const char *value) {
    if (value == NULL) return;
    c->value[o] = value;
    c->origin[o] = "command line";
}

static int probe(const cli *from, asc_ctx *exact, const char *op, int sample, probed *x) {
    x->c = *from;
    x->c.ctx = NULL;
    x->c.out = NULL;
    set(&x->c, OPT_DEVICE, x->device);
    set(&x->c, OPT_ISA, x->isa);
    set(&x->c, OPT_PRECISION, x->precision);
    set(&x->c, OPT_MODE, x->mode);
    int rc = cli_open_context(&x->c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_probe_ops(x->c.ctx, exact, op, sample, &x->p);
    return st == ASC_OK ? EXIT_DONE : cli_error(&x->c, st);
}

static void probe_close(probed *x) {
    if (x->c.ctx != NULL) asc_op_probe_destroy(x->c.ctx, x->p);
    cli_close(&x->c);
}

/* The line that runs one case again. */
static void put_line(asc_text *t, const probed *x, const asc_op_case *k) {
    static const cli_option_id options[] = {OPT_DEVICE, OPT_ISA, OPT_PRECISION, OPT_MODE, OPT_THREADS};
    asc_text_adds(t, "ascribe ops --probe");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (x->c.value[options[i]] != NULL)
            asc_text_addf(t, " --%s %s", cli_options[options[i]].name, x->c.value[options[i]]);
    }
    asc_text_addf(t, " --op %s --sample %d", k->op, k->sample);
}

static void put_case(asc_text *t, const probed *x, const asc_op_case *k) {
    asc_text_addf(t, "\n%s, sample %d, %s: %s", k->op, k->sample, k->gradient ? "gradient" : "value",
                  asc_verdict_name(k->verdict));
    if (k->verdict == ASC_VERDICT_WRONG || k->verdict == ASC_VERDICT_WORKS)
        asc_text_addf(t, ", error %.2e (allowed %.2e)", k->error, k->bound);
    if (k->message[0] != '\0') asc_text_addf(t, ": %s", k->message);
    asc_text_adds(t, "\n  ");
    put_line(t, x, k);
    asc_text_adds(t, "\n");
    for (const char *p = k->program; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, "\n");
        asc_text_addf(t, "    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static double worst(const asc_op_probe *p) {
    double w = 0;
    for (size_t i = 0; i < p->n; i++) w = fmax(w, isnan(p->cases[i].error) ? 0.0 : p->cases[i].error);
    return w;
}

static bool good(const asc_op_probe *p) { return p->count[ASC_VERDICT_WORKS] == p->n; }

static bool on_null(const cli *c) {
    return c->value[OPT_DEVICE] != NULL && strcmp(c->value[OPT_DEVICE], "null") == 0;
}

static void put_bad(asc_text *t, const probed *x, bool all) {
    size_t shown = 0;
    for (size_t i = 0; i < x->p->n; i++) {
        if (x->p->cases[i].verdict == ASC_VERDICT_WORKS && !all) continue;
        if (shown++ < MOST_SHOWN) put_case(t, x, &x->p->cases[i]);
    }
    if (shown > MOST_SHOWN) asc_text_addf(t, "\n... and %zu more; --json has all\n", shown - MOST_SHOWN);
}

static void json_probe(asc_text *t, const probed *x) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "device", x->c.value[OPT_DEVICE] != NULL ? x->c.value[OPT_DEVICE] : "cpu");
    asc_text_strz(t, "isa", x->c.value[OPT_ISA]);
    asc_text_strz(t, "precision", x->c.value[OPT_PRECISION] != NULL ? x->c.value[OPT_PRECISION] : "highest");
    asc_text_strz(t, "mode", x->c.value[OPT_MODE]);
    for (int v = 0; v < 4; v++) asc_text_int(t, asc_verdict_name((asc_verdict)v), (int64_t)x->p->count[v]);
    asc_text_num(t, "largest_error", worst(x->p));
    asc_text_array(t, "cases");
    for (size_t i = 0; i < x->p->n; i++) {
        const asc_op_case *k = &x->p->cases[i];
        asc_text_object(t, NULL);
        asc_text_strz(t, "op", k->op);
        asc_text_int(t, "sample", k->sample);
        asc_text_strz(t, "of", k->gradient ? "gradient" : "value");
        asc_text_strz(t, "verdict", asc_verdict_name(k->verdict));
        asc_text_num(t, "error", k->error);
        asc_text_num(t, "bound", k->bound);
        asc_text_str(t, "message", (asc_view){k->message[0] != '\0' ? k->message : NULL, strlen(k->message)});
        asc_text_strz(t, "program", k->program);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

static int json(cli *c, const probed *x, size_t n, bool all_good) {
    asc_text *t = c->out;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-op-probe");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_bool(t, "good", all_good);
    asc_text_array(t, "probes");
    for (size_t i = 0; i < n; i++) json_probe(t, &x[i]);
    asc_text_end(t);
    asc_text_end(t);
    return cli_write_json(c, t);
}

static int open_exact(cli *c, asc_ctx **exact) {
    const asc_ctx_options o = {.struct_size = sizeof o, .device = "reference"};
    asc_status st = asc_ctx_create(&o, exact);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

int cli_ops_probe(cli *c) {
    probed x = {0};
    asc_ctx *exact = NULL;
    size_t sample = 0;
    bool fine = false;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SAMPLE, 0, &sample);
    if (rc == EXIT_DONE && sample > 10000) rc = cli_usage("--sample is less than 10000");
    if (rc == EXIT_DONE && cli_has(c, OPT_SAMPLE) && !cli_has(c, OPT_OP))
        rc = cli_usage("--sample goes with --op");
    if (rc == EXIT_DONE) rc = open_exact(c, &exact);
    if (rc == EXIT_DONE)
        rc = probe(c, exact, c->value[OPT_OP], cli_has(c, OPT_SAMPLE) ? (int)sample : -1, &x);
    if (rc == EXIT_DONE) {
        fine = good(x.p);
        if (cli_wants_json(c)) {
            rc = json(c, &x, 1, fine);
        } else {
            put_bad(c->out, &x, cli_has(c, OPT_OP));
            asc_text_addf(c->out, "%s%zu cases: %zu work, %zu wrong, %zu missing, %zu failed; ",
                          fine && !cli_has(c, OPT_OP) ? "" : "\n", x.p->n, x.p->count[ASC_VERDICT_WORKS],
                          x.p->count[ASC_VERDICT_WRONG], x.p->count[ASC_VERDICT_MISSING],
                          x.p->count[ASC_VERDICT_FAILED]);
            if (on_null(c))
                asc_text_adds(c->out, "no numbers compared: the null device computes none\n");
            else
                asc_text_addf(c->out, "largest error %.2e\n", worst(x.p));
            rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
        }
    }
    probe_close(&x);
    asc_ctx_destroy(exact);
    return rc != EXIT_DONE ? rc : fine ? EXIT_DONE : EXIT_CHECK;
}

/* Every device, the cpu with every set of instructions that the machine has, at every precision, in every
 * mode. */
static int combinations(cli *c, probed *x, size_t *n, char *blocks[3]) {
    static const char *const isas[] = {"baseline", "avx2", "avx512", "amx"};
    const char *devices[4], *levels[6], *modes[4];
    int nd = cli_words("devices", cli_has(c, OPT_DEVICES) ? c->value[OPT_DEVICES] : "cpu",
                       cli_options[OPT_DEVICE].arg, devices, 3, &blocks[0]);
    int nl = nd < 0
                 ? -1
                 : cli_words("precision", cli_has(c, OPT_PRECISIONS) ? c->value[OPT_PRECISIONS] : "highest",
                             cli_options[OPT_PRECISION].arg, levels, 5, &blocks[1]);
    int nm = nl < 0
                 ? -1
                 : cli_words("modes", cli_has(c, OPT_MODES) ? c->value[OPT_MODES] : "eager,deferred,compiled",
                             cli_options[OPT_MODE].arg, modes, 3, &blocks[2]);
    if (nm < 0) return EXIT_USAGE;
    for (int d = 0; d < nd; d++) {
        bool cpu = strcmp(devices[d], "cpu") == 0;
        for (int i = 0; i < (cpu ? 4 : 1); i++) {
            for (int l = 0; l < (cpu ? nl : 1); l++) {
                for (int m = 0; m < nm && *n < MOST_PROBES; m++)
                    x[(*n)++] = (probed){.device = devices[d],
                                         .isa = cpu ? isas[i] : NULL,
                                         .precision = cpu ? levels[l] : "highest",
                                         .mode = modes[m]};
            }
        }
    }
    return EXIT_DONE;
}

/* Can this machine run these instructions? */
static bool has_isa(const char *isa) {
    asc_ctx *ctx = NULL;
    const asc_ctx_options o = {.struct_size = sizeof o, .isa = isa};
    bool has = asc_ctx_create(&o, &ctx) == ASC_OK;
    asc_ctx_destroy(ctx);
    return has;
}

static void text(asc_text *t, const probed *x, size_t n) {
    asc_text_addf(t, "%-10s %-9s %-8s %-9s %6s %6s %6s %8s %7s %13s\n", "device", "isa", "products", "mode",
                  "cases", "work", "wrong", "missing", "failed", "largest error");
    for (size_t i = 0; i < n; i++) {
        const asc_op_probe *p = x[i].p;
        asc_text_addf(t, "%-10s %-9s %-8s %-9s %6zu %6zu %6zu %8zu %7zu %13.2e\n", x[i].device,
                      x[i].isa != NULL ? x[i].isa : "-", x[i].precision, x[i].mode, p->n,
                      p->count[ASC_VERDICT_WORKS], p->count[ASC_VERDICT_WRONG], p->count[ASC_VERDICT_MISSING],
                      p->count[ASC_VERDICT_FAILED], worst(p));
    }
    for (size_t i = 0; i < n; i++) put_bad(t, &x[i], false);
}

int cli_compare_ops(cli *c) {
    probed *x = calloc(MOST_PROBES, sizeof *x);
    asc_ctx *exact = NULL;
    char *blocks[3] = {NULL};
    size_t n = 0, kept = 0;
    bool fine = true;
    if (x == NULL) return cli_usage("out of memory");
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = combinations(c, x, &n, blocks);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = open_exact(c, &exact);
    for (size_t i = 0; rc == EXIT_DONE && i < n; i++) {
        if (x[i].isa != NULL && !has_isa(x[i].isa)) continue;
        if (kept != i) x[kept] = x[i];
        rc = probe(c, exact, c->value[OPT_OP], -1, &x[kept]);
        if (rc == EXIT_DONE) fine = fine && good(x[kept].p);
        kept++;
    }
    if (rc == EXIT_DONE && cli_wants_json(c)) {
        rc = json(c, x, kept, fine);
    } else if (rc == EXIT_DONE) {
        text(c->out, x, kept);
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    for (size_t i = 0; i < kept; i++) probe_close(&x[i]);
    asc_ctx_destroy(exact);
    for (int i = 0; i < 3; i++) free(blocks[i]);
    free(x);
    return rc != EXIT_DONE ? rc : fine ? EXIT_DONE : EXIT_CHECK;
}

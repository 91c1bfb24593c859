/* bench_modes.c - ascribe bench --modes: one explanation in every mode and precision, a row for each.
 *
 * The rows take turns, one call each a round, so that a change of the machine's speed meets all of them; the
 * multiply-add peak is measured between any two calls, and what a call reached is a share of the mean of its
 * two neighbours. A call shorter than 50 ms is repeated until it is that long. */
#include "ascribe/bench.h"
#include "ascribe/profile.h"
#include "ascribe/stats.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROWS = 16, MOST_RUNS = 1000, RUNS = 7, MOST_CALLS = 20000 };
static const double LEAST_SECONDS = 0.05, PEAK_SECONDS = 0.05;

typedef struct bench_row {
    const char *mode, *precision;
    cli_job job;
    size_t calls; /* of one run */
    double first; /* seconds of the first call of this context */
    double *seconds, *share,
        *cpu;                 /* of each run: seconds a call, of the peak, processor time of the cores' */
    asc_profile_summary duty; /* of one more run, profiled */
    cli_run result;
    asc_stats one; /* of one warm call; hits and misses: of all */
    double error;  /* against the reference; NaN = not known */
    size_t peak_bytes;
} bench_row;

typedef struct bench {
    bench_row row[MOST_ROWS];
    int n_rows;
    size_t n_runs;
    int n_threads;
    double peak_least, peak_most; /* of the multiply-add readings */
    char *modes_block, *precisions_block;
} bench;

static double clock_of(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int peak(cli *c, bench *b, double *out) {
    asc_status st = asc_measure_fma(c->ctx, PEAK_SECONDS, out);
    if (st != ASC_OK) return cli_error(c, st);
    if (b->peak_least == 0 || *out < b->peak_least) b->peak_least = *out;
    if (*out > b->peak_most) b->peak_most = *out;
    return EXIT_DONE;
}

static asc_stats difference(const asc_stats *a, const asc_stats *b) {
    asc_stats d = *b;
    for (size_t i = 0; i < ASC_STATS_MAX_CUTS; i++) d.cuts[i] -= a->cuts[i];
    d.programs -= a->programs;
    d.nodes -= a->nodes;
    d.flops -= a->flops;
    d.device_seconds -= a->device_seconds;
    return d;
}

/* The first call, and one more that says how many calls make a run. */
static int warm_up(bench_row *r) {
    double t0 = clock_of(CLOCK_MONOTONIC);
    int rc = cli_job_run(&r->job, &r->result, NULL, 0);
    r->first = clock_of(CLOCK_MONOTONIC) - t0;
    r->calls = 1;
    if (rc != EXIT_DONE || r->first >= 4 * LEAST_SECONDS) return rc;
    cli_run again = {0};
    t0 = clock_of(CLOCK_MONOTONIC);
    rc = cli_job_run(&r->job, &again, NULL, 0);
    double t = clock_of(CLOCK_MONOTONIC) - t0;
    cli_run_free(&again);
    if (t < LEAST_SECONDS) r->calls = (size_t)fmin(MOST_CALLS, ceil(LEAST_SECONDS / fmax(t, 1e-6)));
    return rc;
}

static int run_row(cli *c, bench *b, bench_row *r, size_t run, double *before) {
    double after = 0;
    int rc = EXIT_DONE;
    asc_stats s0 = asc_stats_of(r->job.c.ctx);
    double t0 = clock_of(CLOCK_MONOTONIC), cpu0 = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t k = 0; rc == EXIT_DONE && k < r->calls; k++) {
        cli_run again = {0};
        rc = cli_job_run(&r->job, &again, NULL, 0);
        cli_run_free(&again);
        if (k > 0) continue;
        asc_stats s1 = asc_stats_of(r->job.c.ctx);
        r->one = difference(&s0, &s1);
    }
    double wall = clock_of(CLOCK_MONOTONIC) - t0, cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu0;
    if (rc == EXIT_DONE) rc = peak(c, b, &after);
    if (rc != EXIT_DONE) return rc;
    double yardstick = (*before + after) / 2;
    r->seconds[run] = wall / (double)r->calls;
    r->cpu[run] = cpu / (wall * b->n_threads);
    r->share[run] = r->result.flops / (r->seconds[run] * yardstick);
    *before = after;
    return EXIT_DONE;
}

/* Scores in f64, and how far each row's are from them. */
static int against_reference(cli *c, bench *b) {
    cli_job exact;
    cli_run run = {0};
    const cli_where at = {.device = "reference", .mode = "deferred", .precision = "highest"};
    if (!cli_has(c, OPT_QUIET))
        cli_progress(NULL, "reference (f64, plain loops; --no-reference leaves it out)", 0, 0);
    int rc = cli_job_open(c, &at, &exact);
    if (rc == EXIT_DONE) rc = cli_job_run(&exact, &run, NULL, 0);
    for (int i = 0; rc == EXIT_DONE && i < b->n_rows; i++) {
        const cli_run *r = &b->row[i].result;
        double worst = 0, largest = 0;
        for (size_t k = 0; r->n == run.n && k < r->n; k++) {
            worst = fmax(worst, fabs(r->score[k] - run.score[k]));
            largest = fmax(largest, fabs(run.score[k]));
        }
        b->row[i].error = r->n != run.n ? (double)NAN : worst == 0 ? 0.0 : worst / largest;
    }
    cli_run_free(&run);
    cli_job_close(&exact);
    return rc;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts v; least, median and most of it. */
static void spread(double *v, size_t n, double out[3]) {
    qsort(v, n, sizeof *v, by_size);
    out[0] = v[0];
    out[1] = (v[(n - 1) / 2] + v[n / 2]) / 2;
    out[2] = v[n - 1];
}

/* "12.3 ms" */
static const char *time_text(double s, char out[16]) {
    if (s < 1e-3)
        snprintf(out, 16, "%.1f us", 1e6 * s);
    else if (s < 1)
        snprintf(out, 16, "%.2f ms", 1e3 * s);
    else
        snprintf(out, 16, "%.3f s", s);
    return out;
}

static void cuts_text(asc_text *t, const asc_stats *s) {
    const char *separator = "";
    for (size_t i = 0; asc_cut_reason_name(i) != NULL; i++) {
        if (s->cuts[i] == 0) continue;
        asc_text_addf(t, "%s%s %llu", separator, asc_cut_reason_name(i), (unsigned long long)s->cuts[i]);
        separator = ", ";
    }
}

static void times_table(asc_text *t, bench *b) {
    asc_text_addf(t, "%-9s %-8s %10s %10s   %-23s %6s %7s %9s\n", "mode", "products", "first", "warm",
                  "least .. most", "busy", "peak", "error");
    for (int i = 0; i < b->n_rows; i++) {
        bench_row *r = &b->row[i];
        double s[3], share[3];
        char t0[16], t1[16], t2[16], t3[16], range[48], error[16] = "-";
        spread(r->seconds, b->n_runs, s);
        spread(r->share, b->n_runs, share);
        snprintf(range, sizeof range, "%s .. %s", time_text(s[0], t2), time_text(s[2], t3));
        if (!isnan(r->error)) snprintf(error, sizeof error, "%.2e", r->error);
        asc_text_addf(t, "%-9s %-8s %10s %10s   %-23s %4.0f %% %5.1f %% %9s\n", r->mode, r->precision,
                      time_text(r->first, t0), time_text(s[1], t1), range, 100 * r->duty.busy_share,
                      100 * share[1], error);
    }
}

static void work_table(asc_text *t, const bench *b) {
    asc_text_addf(t, "\n%-9s %-8s %8s %8s %8s %8s   %s\n", "mode", "products", "programs", "MB", "hits",
                  "misses", "cuts of a call");
    for (int i = 0; i < b->n_rows; i++) {
        const bench_row *r = &b->row[i];
        asc_text_addf(t, "%-9s %-8s %8llu %8.1f %8llu %8llu   ", r->mode, r->precision,
                      (unsigned long long)r->one.programs, (double)r->peak_bytes / 1e6,
                      (unsigned long long)r->one.hits, (unsigned long long)r->one.misses);
        cuts_text(t, &r->one);
        asc_text_adds(t, "\n");
    }
}

static void text(const cli *c, bench *b) {
    char legend[1024];
    asc_text *t = c->out;
    times_table(t, b);
    work_table(t, b);
    snprintf(
        legend, sizeof legend,
        "%zu warm calls (or runs of short ones) of each row in turn, %d threads; medians. first: the first "
        "call of a new context. busy: share of the cores in kernels, in one more run with a profile. peak: "
        "share of the f32 multiply-add rate that the threads sustained right before and after the call "
        "(%.1f to %.1f GFLOP/s); %s. error: largest difference of a score from the reference (f64), over its "
        "largest score. MB: most memory held. hits, misses: of the cache of programs, in all calls.",
        b->n_runs, b->n_threads, b->peak_least / 1e9, b->peak_most / 1e9,
        b->row[0].job.kind == CLI_JOB_PROMPT
            ? "2 N operations a token forwards, 2 N backwards, N weights of the blocks"
            : "operations by the ops' own cost");
    asc_text_adds(t, "\n");
    asc_text_wrap(t, legend, 0, 100);
}

static void json_spread(asc_text *t, const char *key, double *v, size_t n) {
    double s[3];
    spread(v, n, s);
    asc_text_object(t, key);
    asc_text_num(t, "least", s[0]);
    asc_text_num(t, "median", s[1]);
    asc_text_num(t, "most", s[2]);
    asc_text_end(t);
}

static void json_row(asc_text *t, const bench *b, bench_row *r) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "mode", r->mode);
    asc_text_strz(t, "precision", r->precision);
    asc_text_num(t, "first_seconds", r->first);
    asc_text_int(t, "calls_per_run", (int64_t)r->calls);
    json_spread(t, "warm_seconds", r->seconds, b->n_runs);
    asc_text_num(t, "busy", r->duty.busy_share);
    asc_text_num(t, "kernel_share", r->duty.kernel_share);
    json_spread(t, "processor_share", r->cpu, b->n_runs);
    json_spread(t, "share_of_peak", r->share, b->n_runs);
    asc_text_num(t, "flops", r->result.flops);
    asc_text_int(t, "programs", (int64_t)r->one.programs);
    asc_text_int(t, "nodes", (int64_t)r->one.nodes);
    asc_text_object(t, "cuts");
    for (size_t i = 0; asc_cut_reason_name(i) != NULL; i++)
        asc_text_int(t, asc_cut_reason_name(i), (int64_t)r->one.cuts[i]);
    asc_text_end(t);
    asc_text_num(t, "error", r->error);
    asc_text_int(t, "peak_bytes", (int64_t)r->peak_bytes);
    asc_text_int(t, "arena_bytes", (int64_t)r->one.arena_bytes);
    asc_text_int(t, "hits", (int64_t)r->one.hits);
    asc_text_int(t, "misses", (int64_t)r->one.misses);
    asc_text_int(t, "evictions", (int64_t)r->one.evictions);
    asc_text_end(t);
}

static void json(const cli *c, bench *b) {
    asc_text *t = c->out;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-bench-modes");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_int(t, "runs", (int64_t)b->n_runs);
    asc_text_int(t, "threads", b->n_threads);
    asc_text_object(t, "peak_flops_per_second");
    asc_text_num(t, "least", b->peak_least);
    asc_text_num(t, "most", b->peak_most);
    asc_text_end(t);
    asc_text_array(t, "rows");
    for (int i = 0; i < b->n_rows; i++) json_row(t, b, &b->row[i]);
    asc_text_end(t);
    asc_text_end(t);
}

static int read_rows(cli *c, bench *b) {
    const char *modes[4], *levels[6], *list = c->value[OPT_MODES], *precisions = c->value[OPT_PRECISIONS];
    if (list == NULL) list = c->value[OPT_MODE] != NULL ? c->value[OPT_MODE] : "eager,deferred,compiled";
    int n_modes = cli_words("modes", list, cli_options[OPT_MODE].arg, modes, 3, &b->modes_block);
    int n_levels = n_modes < 0 ? -1
                               : cli_words("precision", precisions != NULL ? precisions : "highest",
                                           cli_options[OPT_PRECISION].arg, levels, 5, &b->precisions_block);
    if (n_levels < 0) return EXIT_USAGE;
    for (int p = 0; p < n_levels; p++) {
        for (int m = 0; m < n_modes; m++) {
            bench_row *r = &b->row[b->n_rows++];
            r->mode = modes[m];
            r->precision = levels[p];
            r->error = (double)NAN;
            r->seconds = calloc(3 * b->n_runs, sizeof *r->seconds);
            if (r->seconds == NULL) return cli_usage("out of memory");
            r->share = r->seconds + b->n_runs;
            r->cpu = r->share + b->n_runs;
        }
    }
    return EXIT_DONE;
}

/* One more run with a profile: how long the cores were in kernels. */
static int profile_row(const cli *c, bench_row *r) {
    enum { MOST_PROFILED = 200 };
    char folder[4096];
    asc_ctx *ctx = r->job.c.ctx;
    int rc = EXIT_DONE;
    asc_status st = asc_profile_start(ctx, NULL);
    for (size_t k = 0; st == ASC_OK && rc == EXIT_DONE && k < r->calls && k < MOST_PROFILED; k++) {
        cli_run again = {0};
        rc = cli_job_run(&r->job, &again, NULL, 0);
        cli_run_free(&again);
    }
    asc_profile_stop(ctx);
    r->duty = asc_profile_summary_of(ctx);
    if (st == ASC_OK && rc == EXIT_DONE && cli_has(c, OPT_PROFILE)) {
        snprintf(folder, sizeof folder, "%s/%s-%s", c->value[OPT_PROFILE], r->mode, r->precision);
        st = asc_profile_write(ctx, folder);
    }
    asc_profile_clear(ctx);
    return st == ASC_OK ? rc : cli_error(&r->job.c, st);
}

static int measure(cli *c, bench *b) {
    double before = 0;
    int rc = EXIT_DONE;
    for (int i = 0; rc == EXIT_DONE && i < b->n_rows; i++) {
        const cli_where at = {.mode = b->row[i].mode, .precision = b->row[i].precision};
        rc = cli_job_open(c, &at, &b->row[i].job);
        if (rc == EXIT_DONE) rc = warm_up(&b->row[i]);
    }
    if (rc == EXIT_DONE) rc = peak(c, b, &before);
    for (size_t run = 0; rc == EXIT_DONE && run < b->n_runs; run++) {
        for (int i = 0; rc == EXIT_DONE && i < b->n_rows; i++) {
            rc = run_row(c, b, &b->row[i], run, &before);
            cli_progress(NULL, "calls", (double)(run * (size_t)b->n_rows + (size_t)i + 1),
                         (double)(b->n_runs * (size_t)b->n_rows));
        }
    }
    for (int i = 0; rc == EXIT_DONE && i < b->n_rows; i++) {
        b->row[i].peak_bytes = asc_memory(b->row[i].job.c.ctx).peak_total;
        rc = profile_row(c, &b->row[i]);
    }
    return rc;
}

int cli_bench_modes(cli *c) {
    if (cli_has(c, OPT_MODES) && cli_has(c, OPT_MODE) && strcmp(c->origin[OPT_MODE], "command line") == 0)
        return cli_usage("give one of --mode and --modes");
    bench *b = calloc(1, sizeof *b);
    if (b == NULL) return cli_usage("out of memory");
    int rc = cli_size(c, OPT_RUNS, RUNS, &b->n_runs);
    if (rc == EXIT_DONE && (b->n_runs == 0 || b->n_runs > MOST_RUNS))
        rc = cli_usage("--runs is from 1 to %d", MOST_RUNS);
    if (rc == EXIT_DONE) rc = read_rows(c, b);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) {
        b->n_threads = asc_ctx_threads(c->ctx);
        rc = measure(c, b);
    }
    if (rc == EXIT_DONE && !cli_has(c, OPT_NO_REFERENCE)) rc = against_reference(c, b);
    if (rc == EXIT_DONE && cli_wants_json(c)) {
        json(c, b);
        rc = cli_write_json(c, c->out);
    } else if (rc == EXIT_DONE) {
        text(c, b);
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    for (int i = 0; i < b->n_rows; i++) {
        cli_run_free(&b->row[i].result);
        cli_job_close(&b->row[i].job);
        free(b->row[i].seconds);
    }
    free(b->modes_block);
    free(b->precisions_block);
    free(b);
    return rc;
}

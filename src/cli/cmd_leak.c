/* cmd_leak.c - ascribe leak: does anything grow when the same work is done again and again. Three loops, each
 * in the context of an opened model: many distinct scalars, many calls of one explanation, many numbers of
 * steps. What the first turns leave behind (buffers, programs kept for the next time) is the measure for the
 * rest. */
#include "ascribe/ops.h"
#include "ascribe/stats.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

enum { SCALARS = 5000, CALLS = 200, FIRST_STEPS = 10, STEP_COUNTS = 100, WARM = 100 };

typedef struct reading {
    size_t allocs, bytes;
} reading;

typedef struct leak {
    const char *what;
    size_t turns;
    reading first, last;
} leak;

static reading look(const cli_job *j) {
    asc_mem_stats m = asc_memory(j->c.ctx);
    return (reading){m.live_allocs, m.live_total};
}

static bool grew(const leak *l) { return l->last.allocs > l->first.allocs || l->last.bytes > l->first.bytes; }

/* A scalar is a run-time parameter: no program, no buffer and no table entry may be left of its value. */
static int scalars(cli_job *j, leak *l) {
    asc_ctx *ctx = j->c.ctx;
    const float x[] = {1, 2, 3, 4};
    asc_status st = ASC_OK;
    l->what = "distinct scalars";
    l->turns = SCALARS;
    for (size_t i = 0; st == ASC_OK && i < SCALARS; i++) {
        float y[4];
        asc_scope_begin(ctx);
        asc_tensor *t = asc_scale(ctx, asc_from_f32(ctx, ASC_SHAPE(4), x), 1 + 1e-3 * (double)i);
        st = asc_read_f32(ctx, asc_shift(ctx, t, 0.5 + (double)i), y, 4);
        asc_status end = asc_scope_end(ctx);
        if (st == ASC_OK) st = end;
        if (i + 1 == WARM) l->first = look(j);
        if (i % 500 == 0) cli_progress(NULL, l->what, (double)i, SCALARS);
    }
    l->last = look(j);
    return st == ASC_OK ? EXIT_DONE : cli_error(&j->c, st);
}

static int run_once(cli_job *j) {
    cli_run run;
    int rc = cli_job_run(j, &run, NULL, 0);
    cli_run_free(&run);
    return rc;
}

static int calls(cli_job *j, size_t n, leak *l) {
    int rc = EXIT_DONE;
    l->what = "calls of one explanation";
    l->turns = n;
    for (size_t i = 0; rc == EXIT_DONE && i < n; i++) {
        rc = run_once(j);
        if (i == 1 || n < 2) l->first = look(j);
        cli_progress(NULL, l->what, (double)i, (double)n);
    }
    l->last = look(j);
    return rc;
}

/* Twice through all numbers of steps: the first time fills the caches up to their bounds. */
static int step_counts(cli_job *j, size_t n, leak *l) {
    char why[256] = "";
    int rc = EXIT_DONE;
    l->what = "numbers of steps, from 10 on";
    l->turns = n;
    if (j->kind != CLI_JOB_PROMPT) rc = cli_job_method(j, "integrated-gradients", false, why, sizeof why);
    if (rc != EXIT_DONE) return cli_usage("leak: integrated-gradients: %s", why);
    j->prompt.req.method = "integrated-gradients";
    j->prompt.req.rule = j->q.rule = "gauss-legendre";
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; rc == EXIT_DONE && i < n; i++) {
            j->prompt.req.steps = j->q.steps = FIRST_STEPS + i;
            rc = run_once(j);
            cli_progress(NULL, l->what, (double)(round * n + i), (double)(2 * n));
        }
        *(round == 0 ? &l->first : &l->last) = look(j);
    }
    return rc;
}

static void json(const cli *c, const leak *l, size_t n, bool good) {
    asc_text *t = c->out;
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-leak");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_bool(t, "flat", good);
    asc_text_array(t, "loops");
    for (size_t i = 0; i < n; i++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "loop", l[i].what);
        asc_text_int(t, "turns", (int64_t)l[i].turns);
        asc_text_int(t, "first_allocations", (int64_t)l[i].first.allocs);
        asc_text_int(t, "last_allocations", (int64_t)l[i].last.allocs);
        asc_text_int(t, "first_bytes", (int64_t)l[i].first.bytes);
        asc_text_int(t, "last_bytes", (int64_t)l[i].last.bytes);
        asc_text_bool(t, "flat", !grew(&l[i]));
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

static void text(asc_text *t, const leak *l, size_t n) {
    asc_text_addf(t, "%-32s %6s   %21s   %25s\n", "loop", "turns", "allocations alive", "bytes alive");
    for (size_t i = 0; i < n; i++)
        asc_text_addf(t, "%-32s %6zu   %9zu -> %8zu   %11zu -> %10zu   %s\n", l[i].what, l[i].turns,
                      l[i].first.allocs, l[i].last.allocs, l[i].first.bytes, l[i].last.bytes,
                      grew(&l[i]) ? "GROWS" : "flat");
}

static int report(cli *c, const leak *l, size_t n, bool good) {
    if (cli_wants_json(c)) {
        json(c, l, n, good);
        return cli_write_json(c, c->out);
    }
    text(c->out, l, n);
    return cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
}

int cmd_leak(cli *c) {
    cli_job job = {0};
    const cli_where here = {0};
    leak loops[3] = {0};
    size_t n_calls = CALLS;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_RUNS, CALLS, &n_calls);
    if (rc == EXIT_DONE && n_calls < 3) rc = cli_usage("--runs is at least 3");
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_job_open(c, &here, &job);
    if (rc == EXIT_DONE) rc = scalars(&job, &loops[0]);
    if (rc == EXIT_DONE) rc = calls(&job, n_calls, &loops[1]);
    if (rc == EXIT_DONE)
        rc = step_counts(&job, n_calls < 2 * STEP_COUNTS ? n_calls / 2 : STEP_COUNTS, &loops[2]);
    bool good = !grew(&loops[0]) && !grew(&loops[1]) && !grew(&loops[2]);
    cli_clear_progress();
    if (rc == EXIT_DONE) rc = report(c, loops, 3, good);
    cli_job_close(&job);
    return rc != EXIT_DONE ? rc : good ? EXIT_DONE : EXIT_CHECK;
}

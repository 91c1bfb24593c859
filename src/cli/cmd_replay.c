/* cmd_replay.c - ascribe replay FILE: runs a saved program again, on any device, in any mode, at any
 * precision, and compares with what the file says it gave. */
#include "cli.h"
#include "ascribe/replay.h"
#include <stdlib.h>
#include <string.h>

static void put_shape(asc_text *t, const asc_shape *s) {
    asc_text_adds(t, "[");
    for (int d = 0; d < s->rank; d++) asc_text_addf(t, "%s%lld", d > 0 ? "," : "", (long long)s->dims[d]);
    asc_text_adds(t, "]");
}

static bool differs(const asc_replay_info *i, const asc_replay_output *o, double tolerance) {
    return i->has_outputs && (o->n_nan != o->n_stored_nan || !(o->max_rel <= tolerance));
}

static bool on_null(const cli *c) {
    return c->value[OPT_DEVICE] != NULL && strcmp(c->value[OPT_DEVICE], "null") == 0;
}

static void put_text(cli *c, const asc_replay_info *i, const asc_replay_output *outs, double tolerance) {
    asc_text *t = c->out;
    asc_text_addf(t, "%zu nodes, %zu inputs, %zu outputs; saved on device ", i->n_nodes, i->n_inputs,
                  i->n_outputs);
    asc_text_shown(t, i->device, 0);
    asc_text_adds(t, ", mode ");
    asc_text_shown(t, i->mode, 0);
    asc_text_adds(t, "\n");
    if (i->error.len > 0) {
        asc_text_adds(t, "saved because: ");
        asc_text_shown(t, i->error, 0);
        asc_text_adds(t, "\n");
    }
    for (size_t k = 0; k < i->n_outputs; k++) {
        const asc_replay_output *o = &outs[k];
        asc_text_addf(t, "output %zu ", k);
        put_shape(t, &o->shape);
        if (o->low <= o->high) asc_text_addf(t, " in [%.6g, %.6g]", o->low, o->high);
        if (o->n_nan > 0) asc_text_addf(t, ", %lld NaN", (long long)o->n_nan);
        if (on_null(c))
            asc_text_adds(t, ", not compared: the null device computes no values\n");
        else if (!i->has_outputs)
            asc_text_adds(t, ", nothing stored to compare with\n");
        else if (o->n_different == 0)
            asc_text_adds(t, ", the same numbers as stored\n");
        else
            asc_text_addf(t, ", %lld of %lld elements differ, at most %.3g (%.3g of the largest)%s\n",
                          (long long)o->n_different, (long long)o->n, o->max_abs, o->max_rel,
                          differs(i, o, tolerance) ? ": DIFFERENT" : "");
    }
}

static int put_json(cli *c, const asc_replay_info *i, const asc_replay_output *outs) {
    asc_text *t = NULL;
    asc_status st = asc_text_create(c->ctx, &t);
    if (st != ASC_OK) return cli_error(c, st);
    asc_text_object(t, NULL);
    asc_text_int(t, "nodes", (int64_t)i->n_nodes);
    asc_text_str(t, "device", i->device);
    asc_text_str(t, "mode", i->mode);
    asc_text_str(t, "error", i->error);
    asc_text_bool(t, "has_outputs", i->has_outputs);
    asc_text_bool(t, "compared", i->has_outputs && !on_null(c));
    asc_text_array(t, "outputs");
    for (size_t k = 0; k < i->n_outputs; k++) {
        const asc_replay_output *o = &outs[k];
        asc_text_object(t, NULL);
        asc_text_array(t, "shape");
        for (int d = 0; d < o->shape.rank; d++) asc_text_int(t, NULL, o->shape.dims[d]);
        asc_text_end(t);
        asc_text_int(t, "different", o->n_different);
        asc_text_int(t, "nan", o->n_nan);
        asc_text_int(t, "stored_nan", o->n_stored_nan);
        asc_text_num(t, "max_abs", o->max_abs);
        asc_text_num(t, "max_rel", o->max_rel);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
    const int rc = cli_write_json(c, t);
    asc_text_destroy(t);
    return rc;
}

int cmd_replay(cli *c) {
    asc_replay *r = NULL;
    asc_replay_output *outs = NULL;
    double tolerance = 1e-5;
    int rc = cli_number(c, OPT_ALLOWED, 1e-5, &tolerance);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_replay_open(c->ctx, c->operand[0], &r);
    asc_replay_info info = {0};
    if (st == ASC_OK) {
        info = asc_replay_info_of(r);
        outs = calloc(info.n_outputs + 1, sizeof *outs);
        if (outs == NULL) rc = cli_usage("out of memory");
    }
    if (st == ASC_OK && rc == EXIT_DONE && cli_has(c, OPT_PROGRAM)) {
        asc_text_add(c->out, info.program);
        rc = cli_flush(c);
    } else if (st == ASC_OK && rc == EXIT_DONE) {
        st = asc_replay_run(r, c->value[OPT_PRECISION], outs);
        if (st == ASC_OK) put_text(c, &info, outs, tolerance);
        if (st == ASC_OK && !cli_to_stdout(c, OPT_JSON) && !cli_has(c, OPT_QUIET)) rc = cli_flush(c);
        if (st == ASC_OK && rc == EXIT_DONE && cli_wants_json(c)) rc = put_json(c, &info, outs);
        for (size_t k = 0; st == ASC_OK && k < info.n_outputs; k++) {
            if (rc == EXIT_DONE && differs(&info, &outs[k], tolerance)) rc = EXIT_CHECK;
        }
    }
    if (st != ASC_OK) rc = cli_error(c, st);
    free(outs);
    asc_replay_close(r);
    return rc;
}

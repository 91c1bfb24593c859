/* cmd_program.c - ascribe program FILE: what a file of a compiled function holds. Runs nothing. */
#include "cli.h"
#include "ascribe/program.h"

static void put_shape(asc_text *t, const asc_shape *s) {
    asc_text_adds(t, "[");
    for (int d = 0; d < s->rank; d++) asc_text_addf(t, "%s%lld", d > 0 ? "," : "", (long long)s->dims[d]);
    asc_text_adds(t, "]");
}

static void put_value(asc_text *t, const asc_ascp_value *v) {
    asc_text_addf(t, "%s ", v->dtype);
    put_shape(t, &v->shape);
}

static void put_signature(asc_text *t, const asc_ascp *f, size_t s, bool text) {
    static const char *const from[] = {"computed", "input", "constant"};
    const asc_ascp_info i = asc_ascp_info_of(f);
    const asc_ascp_signature g = asc_ascp_signature_of(f, s);
    asc_text_addf(t, "\nsignature %zu\n", s);
    for (size_t k = 0; k < i.n_in; k++) {
        const asc_ascp_value v = asc_ascp_input(f, s, k);
        asc_text_addf(t, "  input %zu   ", k);
        put_value(t, &v);
        asc_text_adds(t, "\n");
    }
    for (size_t k = 0; k < i.n_out; k++) {
        const asc_ascp_value v = asc_ascp_output(f, s, k);
        asc_text_addf(t, "  output %zu  ", k);
        put_value(t, &v);
        if (v.from != ASC_ASCP_PROGRAM) asc_text_addf(t, " = %s %zu", from[v.from], v.index);
        asc_text_adds(t, "\n");
    }
    asc_text_addf(t, "  program   %zu nodes, %zu inputs, %zu fused regions, %zu places for scalars\n",
                  g.n_nodes, g.n_inputs, g.n_regions, g.n_scalars);
    if (!text) return;
    for (size_t k = 0; k < g.program.len;) { /* labels may hold anything: line by line */
        size_t n = 0;
        while (k + n < g.program.len && g.program.ptr[k + n] != '\n') n++;
        asc_text_adds(t, "    ");
        asc_text_shown(t, (asc_view){g.program.ptr + k, n}, 0);
        asc_text_adds(t, "\n");
        k += n + 1;
    }
}

static void put_text(cli *c, const asc_ascp *f, bool text) {
    asc_text *t = c->out;
    const asc_ascp_info i = asc_ascp_info_of(f);
    asc_text_adds(t, "function ");
    asc_text_shown(t, i.name, 0);
    asc_text_addf(t, ": %zu inputs, %zu scalars, %zu outputs; made by ", i.n_in, i.n_scalars, i.n_out);
    asc_text_shown(t, i.build, 0);
    asc_text_adds(t, " on ");
    asc_text_shown(t, i.device, 0);
    asc_text_addf(t, "\n%zu bytes, of which %llu are %zu weights and constants\n", i.file_bytes,
                  (unsigned long long)i.array_bytes, i.n_arrays);
    for (size_t k = 0; k < i.n_arrays; k++) {
        const asc_ascp_value v = asc_ascp_array(f, k);
        asc_text_addf(t, "  constant %zu  ", k);
        put_value(t, &v);
        asc_text_addf(t, ", %llu bytes\n", (unsigned long long)v.bytes);
    }
    for (size_t s = 0; s < i.n_signatures; s++) put_signature(t, f, s, text);
}

static void json_value(asc_text *t, const asc_ascp_value *v, bool array) {
    static const char *const from[] = {"program", "input", "constant"};
    asc_text_object(t, NULL);
    asc_text_strz(t, "dtype", v->dtype);
    asc_text_array(t, "shape");
    for (int d = 0; d < v->shape.rank; d++) asc_text_int(t, NULL, v->shape.dims[d]);
    asc_text_end(t);
    if (array) {
        asc_text_int(t, "bytes", (int64_t)v->bytes);
    } else {
        asc_text_strz(t, "from", from[v->from]);
        asc_text_int(t, "index", (int64_t)v->index);
    }
    asc_text_end(t);
}

static void json_signature(asc_text *t, const asc_ascp *f, size_t s, bool text) {
    const asc_ascp_info i = asc_ascp_info_of(f);
    const asc_ascp_signature g = asc_ascp_signature_of(f, s);
    asc_text_object(t, NULL);
    asc_text_array(t, "inputs");
    for (size_t k = 0; k < i.n_in; k++) {
        const asc_ascp_value v = asc_ascp_input(f, s, k);
        json_value(t, &v, false);
    }
    asc_text_end(t);
    asc_text_array(t, "outputs");
    for (size_t k = 0; k < i.n_out; k++) {
        const asc_ascp_value v = asc_ascp_output(f, s, k);
        json_value(t, &v, false);
    }
    asc_text_end(t);
    asc_text_int(t, "nodes", (int64_t)g.n_nodes);
    asc_text_int(t, "regions", (int64_t)g.n_regions);
    asc_text_int(t, "scalar_places", (int64_t)g.n_scalars);
    if (text) asc_text_str(t, "program", g.program);
    asc_text_end(t);
}

static int put_json(cli *c, const asc_ascp *f, bool text) {
    asc_text *t = NULL;
    asc_status st = asc_text_create(c->ctx, &t);
    if (st != ASC_OK) return cli_error(c, st);
    const asc_ascp_info i = asc_ascp_info_of(f);
    asc_text_object(t, NULL);
    asc_text_str(t, "name", i.name);
    asc_text_str(t, "build", i.build);
    asc_text_str(t, "device", i.device);
    asc_text_int(t, "inputs", (int64_t)i.n_in);
    asc_text_int(t, "scalars", (int64_t)i.n_scalars);
    asc_text_int(t, "outputs", (int64_t)i.n_out);
    asc_text_int(t, "bytes", (int64_t)i.file_bytes);
    asc_text_array(t, "constants");
    for (size_t k = 0; k < i.n_arrays; k++) {
        const asc_ascp_value v = asc_ascp_array(f, k);
        json_value(t, &v, true);
    }
    asc_text_end(t);
    asc_text_array(t, "signatures");
    for (size_t s = 0; s < i.n_signatures; s++) json_signature(t, f, s, text);
    asc_text_end(t);
    asc_text_end(t);
    const int rc = cli_write_json(c, t);
    asc_text_destroy(t);
    return rc;
}

int cmd_program(cli *c) {
    asc_ascp *f = NULL;
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    const bool text = cli_has(c, OPT_TEXT);
    asc_status st = asc_ascp_open(c->ctx, c->operand[0], &f);
    if (st == ASC_OK) {
        put_text(c, f, text);
        if (!cli_to_stdout(c, OPT_JSON) && !cli_has(c, OPT_QUIET)) rc = cli_flush(c);
        if (rc == EXIT_DONE && cli_wants_json(c)) rc = put_json(c, f, text);
    } else {
        rc = cli_error(c, st);
    }
    asc_ascp_close(f);
    return rc;
}

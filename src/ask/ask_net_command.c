/* ask_net_command.c - the command line that asks the same of a net. It reads arrays, pictures and names from
 * files alone, so what it can say are inputs and baselines that are single numbers, and the plain options. */
#include "ask_net_parts.h"
#include "plain.h"
#include <stdio.h>

static bool is_number(const asc_json *v) {
    return asc_json_typeof(v) == ASC_JSON_INT || asc_json_typeof(v) == ASC_JSON_REAL;
}

/* A number or a text as the value of an option. */
static bool add_scalar(const char *option, const asc_json *v, asc_text *out) {
    asc_view s = asc_json_str(v);
    char digits[40];
    if (is_number(v)) {
        asc_snprintf(digits, sizeof digits, "%.17g", asc_json_num(v, 0.0));
        s = asc_view_of(digits);
    }
    if (s.ptr == NULL || memchr(s.ptr, '\0', s.len) != NULL) return false;
    asc_ask_add_option(out, option, s);
    return true;
}

/* One number, or an object of a number for each port. */
static bool add_inputs(const asc_question *q, asc_text *out) {
    const asc_json *v = q->values[ASC_KEY_ID_INPUT], *one;
    void *iter = NULL;
    asc_view name;
    bool said = true;
    if (is_number(v)) return add_scalar("input", v, out);
    if (asc_json_typeof(v) != ASC_JSON_OBJECT) return false;
    while (said && asc_json_next(v, &iter, &name, &one)) {
        asc_strbuf b;
        asc_strbuf_init(&b, q->ctx);
        asc_strbuf_addv(&b, name);
        asc_strbuf_addf(&b, "=%.17g", asc_json_num(one, 0.0));
        said = is_number(one) && !b.failed;
        if (said) asc_ask_add_option(out, "input", asc_strbuf_view(&b));
        asc_strbuf_deinit(&b);
    }
    return said;
}

/* " --NAME 3,1": numbers rather than names, which may look like numbers. */
static bool add_index(const asc_target *t, const int64_t *index, const char *option, asc_text *out) {
    if (t->n_rows != 1) return false;
    for (int d = 0; d < t->rank; d++)
        asc_text_addf(out, d == 0 ? " --%s=%lld" : ",%s%lld", d == 0 ? option : "", (long long)index[d]);
    return true;
}

static bool add_sizes(const int64_t *sizes, size_t n, const char *option, asc_text *out) {
    for (size_t d = 0; d < n; d++)
        asc_text_addf(out, d == 0 ? " --%s %lld" : "%sx%lld", d == 0 ? option : "", (long long)sizes[d]);
    return true;
}

static bool add_one(const asc_question *q, asc_key_id id, asc_text *out) {
    const char *option = asc_question_key_at((size_t)id)->option;
    switch (id) {
    case ASC_KEY_ID_INPUT:
        return add_inputs(q, out);
    case ASC_KEY_ID_LABELS:
    case ASC_KEY_ID_FEATURE_NAMES:
    case ASC_KEY_ID_IMAGE:
    case ASC_KEY_ID_BYTES:
        return false; /* files */
    case ASC_KEY_ID_NET_TARGET:
        return add_index(&q->attr.target, q->attr.target.index, "target", out);
    case ASC_KEY_ID_NET_VERSUS:
        return add_index(&q->attr.target, q->attr.target.versus, "versus", out);
    case ASC_KEY_ID_NEURON:
        return q->attr.neuron.n_rows > 0 && asc_ask_add_plain(q, id, out);
    case ASC_KEY_ID_WINDOW:
        return add_sizes(q->attr.window, q->attr.n_window, "window", out);
    case ASC_KEY_ID_STRIDE:
        return add_sizes(q->attr.stride, q->attr.n_window, "stride", out);
    case ASC_KEY_ID_NET_BASELINE: /* lists and objects are arrays, or rules with their places */
    case ASC_KEY_ID_MASK:
    case ASC_KEY_ID_LRP_RULE:
        return add_scalar(option, q->values[id], out);
    default:
        return asc_ask_add_plain(q, id, out);
    }
}

bool asc_ask_net_command(const asc_question *q, asc_text *out) {
    for (int id = 0; id < ASC_N_KEYS; id++) {
        if (q->values[id] != NULL && !add_one(q, (asc_key_id)id, out)) return false;
    }
    return true;
}

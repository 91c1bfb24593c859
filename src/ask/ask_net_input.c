/* ask_net_input.c - what goes into the net: arrays by port, a picture, bytes, a table; names of classes and
 * columns. One example may be given without the dimension that counts examples. */
#include "ask_net_parts.h"
#include <stdio.h>

enum { MOST_BYTES = 64 << 20 };

/* Notes that the value of a key gives input i. */
static asc_status take(asc_question *q, size_t i, asc_key_id id) {
    asc_ask_net *a = q->of_net;
    if (a->given_by[i] != NULL)
        return asc_ask_refuse(q, "input '%.60s' is given twice; the second time by \"%s\"",
                              q->net->inputs[i].name, asc_ask_name(id));
    a->given_by[i] = q->values[id];
    return ASC_OK;
}

static asc_status read_arrays(asc_question *q) {
    const size_t n = q->net->n_inputs;
    asc_ask_net *a = q->of_net;
    const asc_json *v = q->values[ASC_KEY_ID_INPUT];
    if (v == NULL) return ASC_OK;
    const asc_json **each = asc_ask_alloc(q, n, sizeof *each);
    const char **names = asc_ask_alloc(q, n, sizeof *names);
    if (each == NULL || names == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) names[i] = q->net->inputs[i].name;
    size_t open = 0; /* the one input that is left when the others come from pictures and the like */
    for (size_t i = 0, left = 0; i < n; i++) {
        if (a->given_by[i] != NULL) continue;
        open = i;
        if (++left > 1 && asc_ask_is_array(v)) {
            asc_ask_refuse(q, "\"input\": the net has %zu inputs", n);
            return asc_hint(q->ctx,
                            "give an object by their names, or {\"arrays\": [...]} in their order; the "
                            "first is \"%.60s\"",
                            names[0]);
        }
    }
    asc_status st = asc_ask_spread(q, ASC_KEY_ID_INPUT, names, n, "input", open, each);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        const asc_port *p = &q->net->inputs[i];
        if (each[i] == NULL) continue;
        if ((st = take(q, i, ASC_KEY_ID_INPUT)) != ASC_OK) return st;
        asc_ask_place at = {ASC_KEY_ID_INPUT, n > 1 ? p->name : NULL};
        st = asc_ask_array(q, at, each[i], asc_elem_is_float(p->elem) ? ASC_ASK_FLOATS : ASC_ASK_WHOLES,
                           &a->inputs[i]);
        if (st == ASC_OK) asc_net_lift_example(q->net, i, &a->inputs[i]);
    }
    return st;
}

static asc_status read_bytes(asc_question *q) {
    asc_ask_net *a = q->of_net;
    const char *as = asc_net_bytes_preset(q->net);
    asc_view text = {0};
    asc_status st = asc_ask_text(q, ASC_KEY_ID_BYTES, &text);
    if (st == ASC_OK) st = asc_ask_choice(q, ASC_KEY_ID_BYTES_AS, &as);
    if (st != ASC_OK) return st;
    if (text.ptr == NULL)
        return asc_ask_has(q, ASC_KEY_ID_BYTES_AS) ? asc_ask_refuse(q, "\"bytes_as\" goes with \"bytes\"")
                                                   : ASC_OK;
    if (text.len / 4 * 3 > MOST_BYTES)
        return ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "bytes: more than %d MiB", MOST_BYTES >> 20);
    if (q->net->n_inputs == 0) return asc_ask_refuse(q, "\"bytes\": the net has no input");
    if ((st = take(q, 0, ASC_KEY_ID_BYTES)) != ASC_OK) return st;
    st = asc_ask_base64(q, (asc_ask_place){ASC_KEY_ID_BYTES, NULL}, text, &a->bytes);
    asc_array *own = st == ASC_OK ? asc_ask_own(q) : NULL, *offsets = own != NULL ? asc_ask_own(q) : NULL;
    if (st == ASC_OK && offsets == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) return st;
    st = asc_bytes_encode(q->ctx, a->bytes.ptr, a->bytes.len, as, own, offsets);
    if (st != ASC_OK) return asc_fail_context(q->ctx, "bytes");
    a->inputs[0] = *own;
    a->offsets = offsets->data;
    a->n_offsets = (size_t)asc_array_count(offsets);
    return ASC_OK;
}

static asc_status read_table(asc_question *q) {
    asc_ask_net *a = q->of_net;
    asc_view text = {0};
    size_t i = 0;
    asc_status st = asc_ask_text(q, ASC_KEY_ID_TABLE, &text);
    if (st != ASC_OK || text.ptr == NULL) return st;
    while (i < q->net->n_inputs && q->net->inputs[i].shape.rank != 2) i++;
    if (i == q->net->n_inputs)
        return asc_ask_refuse(q, "\"table\": the net has no input that is a table (2 dimensions)");
    if ((st = take(q, i, ASC_KEY_ID_TABLE)) != ASC_OK) return st;
    st = asc_csv_parse(q->ctx, text, NULL, 0, &a->table);
    if (st != ASC_OK) return asc_fail_context(q->ctx, "table");
    a->inputs[i] = a->table.values;
    return ASC_OK;
}

static asc_status check_all_given(asc_question *q) {
    char names[200] = "";
    size_t len = 0, missing = 0;
    for (size_t i = 0; i < q->net->n_inputs; i++) {
        if (q->of_net->given_by[i] != NULL) continue;
        missing++;
        if (len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s'%.60s'", missing > 1 ? ", " : "",
                                    q->net->inputs[i].name);
    }
    if (missing == 0) return ASC_OK;
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "no value for input%s %s", missing > 1 ? "s" : "", names);
    return asc_hint(q->ctx, "give \"input\" (an array, or an object by port names), \"image\", \"bytes\" or "
                            "\"table\"");
}

static asc_status read_fixed(asc_question *q) {
    const char *const *names = NULL;
    size_t n = 0;
    asc_status st = asc_ask_strings(q, ASC_KEY_ID_FIXED, &names, &n);
    if (st != ASC_OK || n == 0) return st;
    bool *fixed = asc_ask_alloc(q, q->net->n_inputs, sizeof *fixed);
    if (fixed == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (i < q->net->n_inputs && strcmp(q->net->inputs[i].name, names[k]) != 0) i++;
        if (i == q->net->n_inputs)
            return asc_ask_refuse(q, "\"fixed\": the net has no input \"%.60s\"", names[k]);
        fixed[i] = true;
    }
    q->attr.fixed = fixed;
    return ASC_OK;
}

static asc_status read_names(asc_question *q) {
    asc_ask_net *a = q->of_net;
    a->labels = asc_net_labels(q->net, &a->n_labels);
    asc_status st = asc_ask_strings(q, ASC_KEY_ID_LABELS, &a->labels, &a->n_labels);
    if (st == ASC_OK) st = asc_ask_strings(q, ASC_KEY_ID_FEATURE_NAMES, &a->names, &a->n_names);
    if (st == ASC_OK && a->names == NULL && a->table.names != NULL) {
        a->names = (const char *const *)a->table.names;
        a->n_names = a->table.n_columns;
    }
    return st;
}

/* As attribution will count them: of the first input with a batch dimension. */
static size_t count_examples(const asc_question *q) {
    for (size_t i = 0; i < q->net->n_inputs && !q->attr.no_batch; i++) {
        const asc_shape *s = &q->of_net->inputs[i].shape;
        if (q->net->inputs[i].batch && s->rank > 0) return (size_t)s->dims[0];
    }
    return 1;
}

asc_status asc_ask_net_inputs(asc_question *q) {
    asc_status st = asc_ask_bool(q, ASC_KEY_ID_NO_BATCH, &q->attr.no_batch);
    if (st == ASC_OK) st = asc_ask_net_picture(q);
    if (st == ASC_OK && asc_ask_has(q, ASC_KEY_ID_IMAGE))
        st = take(q, q->of_net->picture_input, ASC_KEY_ID_IMAGE);
    if (st == ASC_OK) st = read_bytes(q);
    if (st == ASC_OK) st = read_table(q);
    if (st == ASC_OK) st = read_arrays(q);
    if (st == ASC_OK) st = check_all_given(q);
    if (st == ASC_OK) st = read_fixed(q);
    if (st == ASC_OK) st = read_names(q);
    q->attr.inputs = q->of_net->inputs;
    q->attr.n_inputs = q->net->n_inputs;
    if (st == ASC_OK) q->of_net->n_examples = count_examples(q);
    return st;
}

/* ask_net_target.c - the explained number: an index, a class by its name, one for each example, a weighted
 * sum; and what neuron-conductance looks through. Without any of them it is the net's largest output. */
#include "ask_net_parts.h"
#include <math.h>
#include <stdio.h>

/* Indices as they were read: n rows of `rank` numbers. n 0 = the whole row, -1 = not given. */
typedef struct indices {
    int64_t n;
    int rank;
    int64_t *at;
} indices;

static asc_status class_index(asc_question *q, asc_key_id id, const asc_json *j, int64_t *out) {
    const asc_ask_net *a = q->of_net;
    const char *near;
    asc_view name = asc_json_str(j), cut = asc_view_cut(name, 60);
    *out = asc_label_find(a->labels, a->n_labels, name, &near);
    if (*out >= 0) return ASC_OK;
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "\"%s\": there is no class \"" ASC_VIEW_FMT "\"", asc_ask_name(id),
             ASC_VIEW_ARG(cut));
    return near != NULL ? asc_hint(q->ctx, "the nearest is \"%.60s\"", near)
                        : asc_hint(q->ctx, "the net names no classes: give \"labels\", or an index");
}

/* One number or class. */
static asc_status one_index(asc_question *q, asc_key_id id, const asc_json *j, int64_t *out) {
    if (asc_json_typeof(j) == ASC_JSON_STRING) return class_index(q, id, j, out);
    if (asc_json_typeof(j) != ASC_JSON_INT)
        return asc_ask_wrong(q, id, j, "a whole number, a class, or a list of these");
    *out = asc_json_int(j, 0);
    return ASC_OK;
}

static asc_status make(asc_question *q, asc_key_id id, size_t n, size_t rank, indices *out) {
    size_t total;
    if (rank < 1 || rank > ASC_MAX_RANK)
        return asc_ask_refuse(q, "\"%s\": an index has 1 to %d numbers, not %zu", asc_ask_name(id),
                              ASC_MAX_RANK, rank);
    *out = (indices){.n = (int64_t)n, .rank = (int)rank};
    out->at = asc_mul_size(n, rank, &total) ? asc_ask_alloc(q, total, sizeof *out->at) : NULL;
    return out->at != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* [n]: one per example; [n, rank]; or one number. */
static asc_status from_array(asc_question *q, asc_key_id id, const asc_json *j, indices *out) {
    asc_array a;
    asc_status st = asc_ask_array(q, (asc_ask_place){id, NULL}, j, ASC_ASK_WHOLES, &a);
    if (st != ASC_OK) return st;
    if (a.shape.rank > 2 || asc_array_count(&a) == 0 || asc_elem_is_float(a.elem))
        return asc_ask_refuse(q, "\"%s\": the array must hold integers, [examples] or [examples, dimensions]",
                              asc_ask_name(id));
    size_t n = a.shape.rank > 0 ? (size_t)a.shape.dims[0] : 1;
    st = make(q, id, n, a.shape.rank == 2 ? (size_t)a.shape.dims[1] : 1, out);
    for (int64_t i = 0; st == ASC_OK && i < asc_array_count(&a); i++) {
        double v;
        asc_array_get(&a, i, 1, &v);
        out->at[i] = (int64_t)v;
    }
    return st;
}

/* How many dimensions one example's value has, where the ports tell; -1 = not known without a run. */
static int known_rank(const asc_question *q) {
    const char *value = q->attr.target.value;
    for (size_t i = 0; i < q->net->n_outputs; i++) {
        const asc_port *p = &q->net->outputs[i];
        if (value == NULL ? i == 0 : strcmp(p->name, value) == 0)
            return q->attr.no_batch ? -1 : p->shape.rank - 1;
    }
    return -1;
}

static asc_status from_list(asc_question *q, asc_key_id id, const asc_json *j, indices *out) {
    size_t n = asc_json_len(j), rank = 1;
    bool each = false; /* an entry per example */
    if (n == 0) {
        *out = (indices){.n = 0};
        return ASC_OK;
    }
    for (size_t i = 0; i < n; i++) {
        asc_json_type t = asc_json_typeof(asc_json_at(j, i));
        each = each || t == ASC_JSON_ARRAY || t == ASC_JSON_STRING;
    }
    /* rows of one dimension take one number each: a list as long as the batch is one per example */
    each = each || (n > 1 && n == q->of_net->n_examples && known_rank(q) == 1);
    if (each && asc_json_typeof(asc_json_at(j, 0)) == ASC_JSON_ARRAY) rank = asc_json_len(asc_json_at(j, 0));
    asc_status st = make(q, id, each ? n : 1, each ? rank : n, out);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        const asc_json *e = asc_json_at(j, i);
        size_t own = asc_json_typeof(e) == ASC_JSON_ARRAY ? asc_json_len(e) : 1;
        if (each && own != rank)
            return asc_ask_refuse(q, "\"%s\": entry %zu has %zu numbers, those before it %zu",
                                  asc_ask_name(id), i, own, rank);
        if (asc_json_typeof(e) != ASC_JSON_ARRAY) st = one_index(q, id, e, &out->at[i]);
        for (size_t d = 0; st == ASC_OK && asc_json_typeof(e) == ASC_JSON_ARRAY && d < rank; d++)
            st = one_index(q, id, asc_json_at(e, d), &out->at[i * rank + d]);
    }
    return st;
}

static asc_status read_indices(asc_question *q, asc_key_id id, indices *out) {
    const asc_json *j = q->values[id];
    *out = (indices){.n = -1};
    if (j == NULL) return ASC_OK;
    if (asc_json_typeof(j) == ASC_JSON_OBJECT) return from_array(q, id, j, out);
    if (asc_json_typeof(j) == ASC_JSON_ARRAY) return from_list(q, id, j, out);
    asc_status st = make(q, id, 1, 1, out);
    return st == ASC_OK ? one_index(q, id, j, out->at) : st;
}

/* One index for all examples becomes one for each. */
static asc_status repeat(asc_question *q, asc_key_id id, indices *x, int64_t n) {
    indices many;
    if (x->n == n) return ASC_OK;
    asc_status st = make(q, id, (size_t)n, (size_t)x->rank, &many);
    for (int64_t i = 0; st == ASC_OK && i < n; i++)
        memcpy(many.at + i * x->rank, x->at, (size_t)x->rank * sizeof *x->at);
    if (st == ASC_OK) *x = many;
    return st;
}

static asc_status read_versus(asc_question *q, indices *target) {
    indices versus;
    asc_status st = read_indices(q, ASC_KEY_ID_NET_VERSUS, &versus);
    if (st != ASC_OK || versus.n < 0) return st;
    if (target->n < 1 || versus.n < 1)
        return asc_ask_refuse(q,
                              "\"versus\" is the number that \"target\" is compared with: both are numbers");
    if (versus.rank != target->rank || (versus.n != target->n && versus.n != 1 && target->n != 1))
        return asc_ask_refuse(q, "\"versus\" and \"target\" differ in form: %lld of %d numbers, %lld of %d",
                              (long long)versus.n, versus.rank, (long long)target->n, target->rank);
    st = repeat(q, ASC_KEY_ID_NET_VERSUS, &versus, target->n > versus.n ? target->n : versus.n);
    if (st == ASC_OK) st = repeat(q, ASC_KEY_ID_NET_TARGET, target, versus.n);
    q->attr.target.versus = versus.at;
    return st;
}

/* Numbers of one example's value: what weights must be as many as. */
static asc_status count_row(asc_question *q, const char *value, size_t *out) {
    asc_array v = {0};
    const char *name = value != NULL ? value : q->net->outputs[0].name;
    asc_status st = asc_net_run(q->net, q->attr.inputs, q->attr.n_inputs, &name, 1, &v);
    if (st != ASC_OK) return st;
    bool any = false, per_example = true; /* as attribution counts them (attr/task.c) */
    for (size_t i = 0; i < q->net->n_inputs; i++) any = any || q->net->inputs[i].batch;
    for (size_t i = 0; i < q->net->n_outputs; i++) {
        const char *target = q->attr.target.value;
        if (target == NULL ? i == 0 : strcmp(q->net->outputs[i].name, target) == 0)
            per_example = q->net->outputs[i].batch;
    }
    size_t n = (size_t)asc_array_count(&v);
    bool batched = any && per_example && !q->attr.no_batch;
    bool fits = !batched || (v.shape.rank > 0 && (size_t)v.shape.dims[0] == q->of_net->n_examples);
    *out = batched && fits && q->of_net->n_examples > 0 ? n / q->of_net->n_examples : n;
    asc_array_free(q->ctx, &v);
    return ASC_OK;
}

static asc_status read_weights(asc_question *q, asc_key_id id, asc_target *t) {
    asc_array a;
    size_t row = 0, n = q->of_net->n_examples;
    asc_status st = asc_ask_array(q, (asc_ask_place){id, NULL}, q->values[id], ASC_ASK_FLOATS, &a);
    if (st == ASC_OK) st = count_row(q, t->value, &row);
    if (st != ASC_OK) return st;
    size_t given = (size_t)asc_array_count(&a);
    if (given == 0 || (given != row && given != row * n)) {
        asc_ask_refuse(q, "\"%s\": %zu numbers for a value of %zu per example", asc_ask_name(id), given, row);
        return asc_hint(q->ctx, "give one weight for each of them, or that for each of the %zu examples", n);
    }
    t->weight_rows = given == row ? 1 : n;
    t->weights = asc_ask_doubles(q, &a);
    return t->weights != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status read_transform(asc_question *q) {
    static const asc_key_id both[] = {ASC_KEY_ID_NET_OUTPUT, ASC_KEY_ID_TRANSFORM};
    static const char *const names[] = {"none", "softmax", "log-softmax", "log"};
    const char *output = NULL, *transform = NULL;
    asc_status st = asc_ask_one_of(q, both, 2, "what the numbers become");
    if (st == ASC_OK) st = asc_ask_choice(q, ASC_KEY_ID_NET_OUTPUT, &output);
    if (st == ASC_OK) st = asc_ask_choice(q, ASC_KEY_ID_TRANSFORM, &transform);
    if (st != ASC_OK) return st;
    if (output != NULL && strcmp(output, "prob") == 0) q->attr.target.transform = ASC_TRANSFORM_SOFTMAX;
    if (output != NULL && strcmp(output, "logprob") == 0)
        q->attr.target.transform = ASC_TRANSFORM_LOG_SOFTMAX;
    for (int i = 0; transform != NULL && i < 4; i++) {
        if (strcmp(transform, names[i]) == 0) q->attr.target.transform = (asc_transform)i;
    }
    return ASC_OK;
}

/* "conv2:3,0,0", or a site alone: guided-grad-cam's layer, or with weights. */
static asc_status read_neuron(asc_question *q) {
    const char *text = NULL;
    asc_view site;
    int rank;
    asc_status st = asc_ask_string(q, ASC_KEY_ID_NEURON, &text);
    if (st != ASC_OK) return st;
    bool weighted = asc_ask_has(q, ASC_KEY_ID_NEURON_WEIGHTS);
    if (text == NULL) return weighted ? asc_ask_refuse(q, "\"neuron_weights\" goes with \"neuron\"") : ASC_OK;
    int64_t *index = asc_ask_alloc(q, ASC_MAX_RANK, sizeof *index);
    if (index == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (!asc_neuron_parse(q->net, text, &site, index, &rank) || (rank > 0 && weighted))
        return asc_ask_refuse(q, "\"neuron\" is SITE:INDEX, as conv2:3,0,0, or SITE%s; not \"%.60s\"",
                              weighted ? " with \"neuron_weights\"" : "", text);
    char *name = asc_arena_strdup(&q->arena, site);
    if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
    q->attr.neuron.value = name;
    if (weighted) return read_weights(q, ASC_KEY_ID_NEURON_WEIGHTS, &q->attr.neuron);
    if (rank > 0) q->attr.neuron = (asc_target){.value = name, .n_rows = 1, .rank = rank, .index = index};
    return ASC_OK;
}

asc_status asc_ask_net_look(asc_question *q) {
    asc_ask_net *a = q->of_net;
    if (a->looked) return ASC_OK;
    asc_status st = asc_net_look_at(q->net, &q->attr, a->labels, a->n_labels, &a->look);
    a->looked = st == ASC_OK;
    return st;
}

/* The largest output. Of a net in C that has a single one it is known without a run: its ports have the
 * shapes of a run. */
static asc_status default_target(asc_question *q) {
    int64_t *index = asc_ask_alloc(q, ASC_MAX_RANK, sizeof *index);
    asc_target *t = &q->attr.target;
    if (index == NULL) return ASC_RESOURCE_EXHAUSTED;
    const asc_port *p = &q->net->outputs[0];
    bool single = q->net->path == NULL && t->value == NULL && p->batch && q->net->inputs[0].batch &&
                  !q->attr.no_batch && q->of_net->n_examples > 0;
    for (int d = 1; single && d < p->shape.rank; d++) single = p->shape.dims[d] == 1;
    if (single) {
        if (p->shape.rank > 1) *t = (asc_target){.n_rows = 1, .rank = p->shape.rank - 1, .index = index};
        return ASC_OK;
    }
    asc_status st = asc_ask_net_look(q);
    if (st == ASC_OK) asc_net_look_target(&q->of_net->look, index, t);
    return st;
}

asc_status asc_ask_net_target(asc_question *q) {
    static const asc_key_id both[] = {ASC_KEY_ID_NET_TARGET, ASC_KEY_ID_TARGET_WEIGHTS};
    asc_target *t = &q->attr.target;
    indices at;
    asc_status st = asc_ask_one_of(q, both, 2, "the explained number");
    if (st == ASC_OK) st = asc_ask_string(q, ASC_KEY_ID_TARGET_VALUE, &t->value);
    if (st == ASC_OK) st = read_indices(q, ASC_KEY_ID_NET_TARGET, &at);
    if (st != ASC_OK) return st;
    if (asc_ask_has(q, ASC_KEY_ID_TARGET_WEIGHTS)) {
        if (asc_ask_has(q, ASC_KEY_ID_NET_VERSUS))
            return asc_ask_refuse(q,
                                  "\"versus\" does not go with \"target_weights\": weights may be negative");
        st = read_weights(q, ASC_KEY_ID_TARGET_WEIGHTS, t);
    } else if (at.n < 0) {
        st = default_target(q);
        at = (indices){.n = (int64_t)t->n_rows, .rank = t->rank, .at = (int64_t *)(uintptr_t)t->index};
    }
    if (st == ASC_OK && t->weights == NULL) st = read_versus(q, &at);
    if (st != ASC_OK) return st;
    if (t->weights == NULL && at.n > 0) {
        t->n_rows = (size_t)at.n;
        t->rank = at.rank;
        t->index = at.at;
    }
    st = read_transform(q);
    return st == ASC_OK ? read_neuron(q) : st;
}

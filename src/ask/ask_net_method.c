/* ask_net_method.c - what methods need beside the inputs: baselines, features, windows, rules, and a site
 * where a method cannot do without one. */
#include "ask_net_parts.h"
#include <math.h>

enum { MOST_WINDOW = 8 * ASC_MAX_RANK, MOST_RULES = 256 };

static const char *const *input_names(asc_question *q) {
    const char **names = asc_ask_alloc(q, q->net->n_inputs, sizeof *names);
    for (size_t i = 0; names != NULL && i < q->net->n_inputs; i++) names[i] = q->net->inputs[i].name;
    return names;
}

/* ---- baselines ---------------------------------------------------------------------------------------- */

static asc_status one_number(asc_question *q, double v, asc_array *out) {
    double *level = asc_ask_alloc(q, 1, sizeof *level);
    if (level == NULL) return ASC_RESOURCE_EXHAUSTED;
    *level = v;
    *out = (asc_array){.elem = ASC_ELEM_F64, .data = level};
    return ASC_OK;
}

/* zeros: of a normalised picture, the mean colour; of bytes in magika's numbers, padding */
static asc_status no_baseline(asc_question *q, size_t i, asc_array *out) {
    double padding;
    bool pads = i == 0 && q->of_net->bytes.ptr != NULL && asc_net_bytes_padding(q->net, &padding);
    return pads ? one_number(q, padding, out) : ASC_OK;
}

static asc_status named_baseline(asc_question *q, size_t i, asc_ask_place at, const asc_json *j,
                                 asc_array *out) {
    asc_ask_net *a = q->of_net;
    asc_view name = asc_json_str(j);
    bool white = asc_view_eqs(name, "white");
    if (asc_view_eqs(name, "auto") || asc_view_eqs(name, "zero") || asc_view_eqs(name, "mean"))
        return no_baseline(q, i, out);
    if (!white && !asc_view_eqs(name, "black"))
        return asc_ask_array_wrong(q, at, j, "an array, or one of auto, zero, mean, black, white,");
    if (a->picture.rgb == NULL || i != a->picture_input)
        return asc_ask_refuse(q, "\"baseline\": \"%s\" is for an \"image\"", white ? "white" : "black");
    asc_array *own = asc_ask_own(q);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st =
        asc_image_level_array(q->ctx, &a->prep, a->picture.width, a->picture.height, white ? 255 : 0, own);
    *out = *own;
    return st;
}

static asc_status read_baselines(asc_question *q) {
    asc_ask_net *a = q->of_net;
    const size_t n = q->net->n_inputs;
    const asc_json **each = NULL;
    asc_status st = ASC_OK;
    q->attr.baselines = a->baselines;
    q->attr.n_baselines = n;
    if (!asc_ask_has(q, ASC_KEY_ID_NET_BASELINE)) {
        if (!asc_attr_reads(&q->attr, "baselines"))
            q->attr.n_baselines = 0; /* one that is given is said to have no effect */
        return no_baseline(q, 0, &a->baselines[0]);
    }
    const char *const *names = input_names(q);
    each = asc_ask_alloc(q, n, sizeof *each);
    if (names == NULL || each == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t first = a->picture.rgb != NULL ? a->picture_input : 0;
    st = asc_ask_spread(q, ASC_KEY_ID_NET_BASELINE, names, n, "input", first, each);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_ask_place at = {ASC_KEY_ID_NET_BASELINE, n > 1 ? names[i] : NULL};
        if (each[i] == NULL)
            st = no_baseline(q, i, &a->baselines[i]);
        else if (asc_json_typeof(each[i]) == ASC_JSON_STRING)
            st = named_baseline(q, i, at, each[i], &a->baselines[i]);
        else
            st = asc_ask_array(q, at, each[i], ASC_ASK_FLOATS, &a->baselines[i]);
    }
    return st;
}

static asc_status read_at_baselines(asc_question *q) {
    const size_t n = q->attr.n_at;
    if (!asc_ask_has(q, ASC_KEY_ID_AT_BASELINES)) return ASC_OK;
    if (n == 0) return asc_ask_refuse(q, "\"at_baselines\" goes with \"site\"");
    const asc_json **each = asc_ask_alloc(q, n, sizeof *each);
    asc_array *arrays = asc_ask_alloc(q, n, sizeof *arrays);
    if (each == NULL || arrays == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st =
        asc_ask_spread(q, ASC_KEY_ID_AT_BASELINES, q->attr.at, n, "site of the question", 0, each);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_ask_place at = {ASC_KEY_ID_AT_BASELINES, n > 1 ? q->attr.at[i] : NULL};
        if (each[i] != NULL) st = asc_ask_array(q, at, each[i], ASC_ASK_FLOATS, &arrays[i]);
    }
    q->attr.at_baselines = arrays;
    q->attr.n_at_baselines = n;
    return st;
}

/* ---- features ----------------------------------------------------------------------------------------- */

static asc_status named_mask(asc_question *q, asc_ask_place at, const asc_json *j, asc_array *out) {
    asc_ask_net *a = q->of_net;
    asc_view text = asc_json_str(j);
    asc_mask_words words;
    if (memchr(text.ptr, '\0', text.len) != NULL || !asc_mask_parse(text.ptr, &words))
        return asc_ask_array_wrong(q, at, j, "an array, grid:16, grid:16x8 or superpixels:60");
    if (a->picture.rgb == NULL) return asc_ask_refuse(q, "\"mask\": \"%.60s\" is for an \"image\"", text.ptr);
    asc_array *own = asc_ask_own(q);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_mask_make(q->ctx, &words, &a->picture, a->prep.nhwc, own);
    *out = *own;
    return st;
}

/* One for each attributed value: the sites, or the inputs that are not fixed. Those that are named come in
 * the order of the values. */
static asc_status read_masks(asc_question *q) {
    const bool at_sites = q->attr.n_at > 0;
    const size_t n = at_sites ? q->attr.n_at : q->net->n_inputs;
    if (!asc_ask_has(q, ASC_KEY_ID_MASK)) return ASC_OK;
    const char *const *names = at_sites ? q->attr.at : input_names(q);
    const asc_json **each = asc_ask_alloc(q, n, sizeof *each);
    asc_array *masks = asc_ask_alloc(q, n, sizeof *masks);
    if (names == NULL || each == NULL || masks == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st =
        asc_ask_spread(q, ASC_KEY_ID_MASK, names, n, at_sites ? "site of the question" : "input", 0, each);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        asc_ask_place at = {ASC_KEY_ID_MASK, n > 1 ? names[i] : NULL};
        if (each[i] == NULL) continue;
        asc_array *to = &masks[q->attr.n_masks++];
        if (asc_json_typeof(each[i]) == ASC_JSON_STRING)
            st = named_mask(q, at, each[i], to);
        else
            st = asc_ask_array(q, at, each[i], ASC_ASK_WHOLES, to);
    }
    q->attr.masks = masks;
    return st;
}

/* ---- windows ------------------------------------------------------------------------------------------ */

/* Sizes in a row; a list of lists is one for each attributed value. */
static asc_status read_sizes(asc_question *q, asc_key_id id, int64_t *out, size_t *n) {
    const asc_json *v = q->values[id];
    bool nested = asc_json_typeof(v) == ASC_JSON_ARRAY; /* also of none: values without dimensions */
    for (size_t i = 0; nested && i < asc_json_len(v); i++)
        nested = asc_json_typeof(asc_json_at(v, i)) == ASC_JSON_ARRAY;
    if (!nested) return asc_ask_sizes(q, id, out, MOST_WINDOW, n);
    for (size_t i = 0; i < asc_json_len(v); i++) {
        const asc_json *row = asc_json_at(v, i);
        for (size_t d = 0; d < asc_json_len(row); d++) {
            const asc_json *e = asc_json_at(row, d);
            if (*n == MOST_WINDOW || asc_json_typeof(e) != ASC_JSON_INT || asc_json_int(e, 0) < 1)
                return asc_ask_wrong(q, id, e, "a whole number from 1 on (for at most 48 dimensions)");
            out[(*n)++] = asc_json_int(e, 0);
        }
    }
    return ASC_OK;
}

static asc_status read_window(asc_question *q) {
    asc_ask_net *a = q->of_net;
    asc_attr_request *r = &q->attr;
    bool said = asc_ask_has(q, ASC_KEY_ID_WINDOW), picture = a->picture.rgb != NULL;
    size_t n_stride = 0;
    if (!said && !(picture && r->method != NULL && strcmp(r->method, "occlusion") == 0))
        return asc_ask_has(q, ASC_KEY_ID_STRIDE) ? asc_ask_refuse(q, "\"stride\" goes with \"window\"")
                                                 : ASC_OK;
    int64_t *window = asc_ask_alloc(q, MOST_WINDOW, sizeof *window),
            *stride = asc_ask_alloc(q, MOST_WINDOW, sizeof *stride);
    if (window == NULL || stride == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = read_sizes(q, ASC_KEY_ID_WINDOW, window, &r->n_window);
    if (st != ASC_OK) return st;
    if (!said) {
        asc_picture_window(&a->picture, &a->prep, window);
        r->n_window = 3;
    }
    asc_default_stride(picture ? &a->prep : NULL, window, r->n_window, stride);
    st = read_sizes(q, ASC_KEY_ID_STRIDE, stride, &n_stride);
    if (st == ASC_OK && asc_ask_has(q, ASC_KEY_ID_STRIDE) && n_stride != r->n_window)
        return asc_ask_refuse(q, "\"stride\" has %zu sizes, \"window\" %zu", n_stride, r->n_window);
    r->window = window;
    r->stride = stride;
    return st;
}

/* ---- rules -------------------------------------------------------------------------------------------- */

static asc_status rule_wrong(asc_question *q, size_t i, asc_view field, const asc_json *v,
                             const char *wanted) {
    asc_status st = asc_ask_wrong(q, ASC_KEY_ID_LRP_RULE, v, wanted);
    return asc_fail_context(q->ctx, "rule %zu, \"" ASC_VIEW_FMT "\"", i, ASC_VIEW_ARG(field)), st;
}

static asc_status rule_field(asc_question *q, size_t i, asc_view key, const asc_json *v, asc_rule_choice *r) {
    const struct {
        const char *name;
        const char **text;
        double *number;
        int *layer;
        bool *flag;
    } fields[] = {{"rule", &r->rule, NULL, NULL, NULL},
                  {"op", &r->op, NULL, NULL, NULL},
                  {"site", &r->site, NULL, NULL, NULL},
                  {"a", NULL, &r->a, NULL, NULL},
                  {"b", NULL, &r->b, NULL, NULL},
                  {"first_layer", NULL, NULL, &r->first_layer, NULL},
                  {"no_bias", NULL, NULL, NULL, &r->no_bias},
                  {"last_layer", NULL, NULL, &r->last_layer, NULL}};
    asc_view cut = asc_view_cut(key, 40), s = asc_json_str(v);
    asc_json_type t = asc_json_typeof(v);
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        if (!asc_view_eqs(key, fields[k].name)) continue;
        if (t == ASC_JSON_NULL) return ASC_OK;
        if (fields[k].text != NULL) {
            if (s.ptr == NULL || memchr(s.ptr, '\0', s.len) != NULL)
                return rule_wrong(q, i, cut, v, "a string");
            *fields[k].text = s.ptr;
        } else if (fields[k].number != NULL) {
            double x = asc_json_num(v, NAN);
            if (!isfinite(x)) return rule_wrong(q, i, cut, v, "a number");
            *fields[k].number = x;
        } else if (fields[k].layer != NULL) {
            int64_t x = asc_json_int(v, -1);
            if (t != ASC_JSON_INT || x < 0 || x > INT32_MAX)
                return rule_wrong(q, i, cut, v, "a whole number from 0 on");
            *fields[k].layer = (int)x;
        } else {
            if (t != ASC_JSON_BOOL) return rule_wrong(q, i, cut, v, "true or false");
            *fields[k].flag = asc_json_bool(v, false);
        }
        return ASC_OK;
    }
    asc_ask_refuse(q, "\"lrp_rule\": rule %zu has an unknown key \"" ASC_VIEW_FMT "\"", i, ASC_VIEW_ARG(cut));
    return asc_hint(q->ctx, "a rule has rule, op, site, a, b, no_bias, first_layer, last_layer");
}

/* "NAME[:A[,B]]", or an object. */
static asc_status read_rule(asc_question *q, size_t i, const asc_json *j, asc_rule_choice *out) {
    void *iter = NULL;
    asc_view key, text = asc_json_str(j);
    const asc_json *v;
    asc_status st = ASC_OK;
    if (text.ptr != NULL) {
        char *name = asc_ask_alloc(q, 32, 1);
        if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (memchr(text.ptr, '\0', text.len) != NULL || !asc_rule_parse(text.ptr, name, out))
            return asc_ask_wrong(q, ASC_KEY_ID_LRP_RULE, j, "NAME, NAME:A or NAME:A,B");
        return ASC_OK;
    }
    if (asc_json_typeof(j) != ASC_JSON_OBJECT)
        return asc_ask_wrong(q, ASC_KEY_ID_LRP_RULE, j, "a rule's name or an object");
    while (st == ASC_OK && asc_json_next(j, &iter, &key, &v)) st = rule_field(q, i, key, v, out);
    if (st == ASC_OK && out->rule == NULL)
        return asc_ask_refuse(q, "\"lrp_rule\": rule %zu has no \"rule\", its name", i);
    return st;
}

static asc_status read_rules(asc_question *q) {
    const asc_json *v = q->values[ASC_KEY_ID_LRP_RULE];
    bool list = asc_json_typeof(v) == ASC_JSON_ARRAY;
    size_t n = v == NULL ? 0 : list ? asc_json_len(v) : 1;
    asc_status st = ASC_OK;
    if (n == 0) return ASC_OK;
    if (n > MOST_RULES)
        return asc_ask_refuse(q, "\"lrp_rule\": %zu rules; at most %d are taken", n, MOST_RULES);
    asc_rule_choice *rules = asc_ask_alloc(q, n, sizeof *rules);
    if (rules == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; st == ASC_OK && i < n; i++)
        st = read_rule(q, i, list ? asc_json_at(v, i) : v, &rules[i]);
    q->attr.rules = rules;
    q->attr.n_rules = n;
    return st;
}

/* ---- the site of methods that cannot do without one ---------------------------------------------------- */

static asc_status choose_site(asc_question *q) {
    asc_ask_net *a = q->of_net;
    asc_site_choice choice;
    int64_t picture = a->picture.rgb != NULL ? (int64_t)a->picture_input : -1;
    if (picture < 0 && a->bytes.ptr == NULL) return ASC_OK;
    asc_status st = asc_net_choose_site(q->net, &q->attr, a->bytes.ptr != NULL, picture, &choice);
    if (st != ASC_OK) return st;
    if (choice.through != NULL) q->attr.neuron.value = choice.through;
    if (choice.at != NULL) {
        const char **at = asc_ask_alloc(q, 1, sizeof *at);
        if (at == NULL) return ASC_RESOURCE_EXHAUSTED;
        *at = choice.at;
        q->attr.at = at;
        q->attr.n_at = 1;
    }
    a->sum_rows = choice.sum_rows;
    return ASC_OK;
}

asc_status asc_ask_net_method(asc_question *q) {
    asc_status st = read_baselines(q);
    if (st == ASC_OK) st = read_at_baselines(q);
    if (st == ASC_OK) st = read_masks(q);
    if (st == ASC_OK) st = read_window(q);
    if (st == ASC_OK) st = read_rules(q);
    return st == ASC_OK ? choose_site(q) : st;
}

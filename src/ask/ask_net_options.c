/* ask_net_options.c - the plain options of a question about a net: which method, at which sites, numbers,
 * flags and words. */
#include "ask_net_parts.h"
#include "nearest.h"

enum { MOST_METHODS = 64 };

static asc_status read_method(asc_question *q) {
    const char *name = NULL, *names[MOST_METHODS];
    asc_status st = asc_ask_string(q, ASC_KEY_ID_METHOD, &name);
    if (st != ASC_OK || name == NULL) return st;
    int found = asc_method_find(name);
    if (found >= 0) {
        q->attr.method = asc_method_at((size_t)found)->name;
        return ASC_OK;
    }
    char near[256];
    size_t n = 0;
    for (size_t i = 0; asc_method_at(i) != NULL && n < MOST_METHODS; i++) {
        if (asc_method_traits_at(i).nets) names[n++] = asc_method_at(i)->name;
    }
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "\"method\": there is no method \"%.60s\"", name);
    return asc_hint(q->ctx, "the nearest: %s", asc_nearest_text(names, n, asc_view_of(name), near));
}

static asc_status read_flags(asc_question *q) {
    asc_attr_request *r = &q->attr;
    const struct {
        asc_key_id id;
        bool *to;
    } flags[] = {{ASC_KEY_ID_DRY_RUN, &r->dry_run},
                 {ASC_KEY_ID_NO_MULTIPLY, &r->no_multiply},
                 {ASC_KEY_ID_DRAW_BASELINES, &r->draw_baselines},
                 {ASC_KEY_ID_RELU, &r->relu},
                 {ASC_KEY_ID_KEEP_CHANNELS, &r->keep_channels},
                 {ASC_KEY_ID_TARGETED, &r->targeted}};
    const char *captum = NULL;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < sizeof flags / sizeof *flags; i++)
        st = asc_ask_bool(q, flags[i].id, flags[i].to);
    if (st == ASC_OK) st = asc_ask_choice(q, ASC_KEY_ID_COMPAT, &captum);
    r->compat_captum = captum != NULL;
    return st;
}

static asc_status read_words(asc_question *q) {
    asc_attr_request *r = &q->attr;
    const struct {
        asc_key_id id;
        const char **to;
    } words[] = {{ASC_KEY_ID_RULE, &r->rule},         {ASC_KEY_ID_NOISE, &r->noise},
                 {ASC_KEY_ID_NET_NORM, &r->norm},     {ASC_KEY_ID_MAP_RESIZE, &r->resize},
                 {ASC_KEY_ID_DISTANCE, &r->distance}, {ASC_KEY_ID_SURROGATE, &r->surrogate},
                 {ASC_KEY_ID_FALLBACK, &r->fallback}};
    asc_status st = asc_ask_string(q, ASC_KEY_ID_BASE, &r->base);
    for (size_t i = 0; st == ASC_OK && i < sizeof words / sizeof *words; i++)
        st = asc_ask_choice(q, words[i].id, words[i].to);
    return st;
}

static asc_status read_numbers(asc_question *q) {
    asc_attr_request *r = &q->attr;
    const struct {
        asc_key_id id;
        size_t *to;
    } counts[] = {{ASC_KEY_ID_STEPS, &r->steps},
                  {ASC_KEY_ID_SAMPLES, &r->samples},
                  {ASC_KEY_ID_MAX_EVALUATIONS, &r->max_evaluations},
                  {ASC_KEY_ID_ROWS_PER_PASS, &r->rows_per_pass}};
    const struct {
        asc_key_id id;
        double *to;
    } numbers[] = {{ASC_KEY_ID_EPSILON, &r->epsilon}, {ASC_KEY_ID_RADIUS, &r->radius}};
    const struct {
        asc_key_id id;
        double *to;
    } positive[] = {{ASC_KEY_ID_TOLERANCE, &r->tolerance},
                    {ASC_KEY_ID_KERNEL_WIDTH, &r->kernel_width},
                    {ASC_KEY_ID_PENALTY, &r->penalty}};
    asc_status st = asc_ask_whole(q, ASC_KEY_ID_SEED, &r->seed);
    if (st == ASC_OK) st = asc_ask_size(q, ASC_KEY_ID_MEMORY, &r->memory_bytes);
    for (size_t i = 0; st == ASC_OK && i < sizeof counts / sizeof *counts; i++)
        st = asc_ask_count(q, counts[i].id, counts[i].to);
    for (size_t i = 0; st == ASC_OK && i < sizeof numbers / sizeof *numbers; i++)
        st = asc_ask_number(q, numbers[i].id, numbers[i].to);
    for (size_t i = 0; st == ASC_OK && i < sizeof positive / sizeof *positive; i++)
        st = asc_ask_positive(q, positive[i].id, positive[i].to);
    if (st == ASC_OK) st = asc_ask_number(q, ASC_KEY_ID_STEP_SIZE, &r->step_size);
    return st;
}

/* Numbers of an array, whatever its shape. */
static asc_status read_list(asc_question *q, asc_key_id id, const double **out, size_t *n) {
    asc_array a;
    if (!asc_ask_has(q, id)) return ASC_OK;
    asc_status st = asc_ask_array(q, (asc_ask_place){id, NULL}, q->values[id], ASC_ASK_FLOATS, &a);
    if (st != ASC_OK) return st;
    *out = asc_ask_doubles(q, &a);
    *n = (size_t)asc_array_count(&a);
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status read_lists(asc_question *q) {
    asc_attr_request *r = &q->attr;
    static const asc_key_id noise[] = {ASC_KEY_ID_STDEV, ASC_KEY_ID_STDEVS};
    const double *bounds = NULL;
    size_t n = 0;
    asc_status st = asc_ask_one_of(q, noise, 2, "the standard deviation of the noise");
    if (st == ASC_OK && asc_ask_has(q, ASC_KEY_ID_STDEV)) {
        double *one = asc_ask_alloc(q, 1, sizeof *one);
        if (one == NULL) return ASC_RESOURCE_EXHAUSTED;
        st = asc_ask_number(q, ASC_KEY_ID_STDEV, one);
        r->stdevs = one;
        r->n_stdevs = 1;
    }
    if (st == ASC_OK) st = read_list(q, ASC_KEY_ID_STDEVS, &r->stdevs, &r->n_stdevs);
    if (st == ASC_OK) st = read_list(q, ASC_KEY_ID_BOUNDS, &bounds, &n);
    if (st == ASC_OK && bounds != NULL && n != 2)
        return asc_ask_refuse(q, "\"bounds\": two numbers are wanted, low and high, not %zu", n);
    r->bounds = bounds;
    return st;
}

asc_status asc_ask_net_options(asc_question *q) {
    asc_status st = read_method(q);
    if (st == ASC_OK) st = read_flags(q);
    if (st == ASC_OK) st = read_words(q);
    if (st == ASC_OK) st = read_numbers(q);
    if (st == ASC_OK) st = read_lists(q);
    if (st == ASC_OK) st = asc_ask_strings(q, ASC_KEY_ID_NET_SITE, &q->attr.at, &q->attr.n_at);
    if (q->attr.n_at == 0) q->attr.at = NULL;
    return st;
}

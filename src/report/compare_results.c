/* compare_results.c - two result files: do they speak of the same thing, what is not as it was, how far apart
 * are the scores. The numbers are compared in src/metrics/score_compare.c. */
#include "ascribe/compare.h"
#include "json.h"
#include "net_parts.h"
#include "report_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where a file has no errors, rounding is assumed: that of nets, and of language models of 32 layers
 * (docs/errors.md). Sampled scores of other draws may differ by three standard errors each. */
static const double NET_ROUNDINGS = 64, PROMPT_ROUNDINGS = 128 * 32, STANDARD_ERRORS = 3;

typedef struct side {
    asc_json *root;
    bool net, sampled;
    const asc_json *where; /* the object with device, mode, ... */
    double *score, *error;
    size_t n;
} side;

typedef struct compare_box {
    asc_result_difference d; /* first: both have one address */
    asc_arena arena;
    asc_ctx *ctx;
    side s[2];
} compare_box;

static asc_status unusable(asc_ctx *ctx, int which, const char *key) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
             "the %s file is no usable result: \"%s\" is missing or of another type",
             which == 0 ? "first" : "second", key);
    return asc_hint(ctx, "use files that 'ascribe explain --json' wrote");
}

static bool equal(const asc_json *a, const asc_json *b) {
    asc_json_type ta = asc_json_typeof(a), tb = asc_json_typeof(b);
    bool numbers = (ta == ASC_JSON_INT || ta == ASC_JSON_REAL) && (tb == ASC_JSON_INT || tb == ASC_JSON_REAL);
    if (numbers) {
        double x = asc_json_num(a, NAN), y = asc_json_num(b, NAN);
        return !(x < y) && !(x > y);
    }
    if (ta != tb) return false;
    if (ta == ASC_JSON_BOOL) return asc_json_bool(a, false) == asc_json_bool(b, false);
    if (ta == ASC_JSON_STRING) return asc_view_eq(asc_json_str(a), asc_json_str(b));
    if (asc_json_len(a) != asc_json_len(b)) return false;
    for (size_t i = 0; ta == ASC_JSON_ARRAY && i < asc_json_len(a); i++) {
        if (!equal(asc_json_at(a, i), asc_json_at(b, i))) return false;
    }
    if (ta != ASC_JSON_OBJECT) return true;
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    char name[256];
    while (asc_json_next(a, &iter, &key, &v)) {
        snprintf(name, sizeof name, "%.*s", (int)(key.len < 255 ? key.len : 255), key.ptr);
        if (!equal(v, asc_json_get(b, name))) return false;
    }
    return true;
}

static const asc_json *path(const asc_json *j, const char *first, const char *second) {
    j = asc_json_get(j, first);
    return second != NULL ? asc_json_get(j, second) : j;
}

/* A value in a message: strings and numbers as they are; options that are not there were not given. */
static void put_value(asc_strbuf *b, const asc_json *j) {
    if (j == NULL) {
        asc_strbuf_adds(b, "default");
        return;
    }
    switch (asc_json_typeof(j)) {
    case ASC_JSON_STRING:
        asc_strbuf_addv(b, asc_json_str(j));
        break;
    case ASC_JSON_INT:
    case ASC_JSON_REAL:
        asc_strbuf_addf(b, "%.6g", asc_json_num(j, NAN));
        break;
    case ASC_JSON_BOOL:
        asc_strbuf_adds(b, asc_json_bool(j, false) ? "true" : "false");
        break;
    case ASC_JSON_NULL:
        asc_strbuf_adds(b, "none");
        break;
    default:
        asc_strbuf_adds(b, "a list");
        break;
    }
}

static asc_status note_change(compare_box *x, const char *what, const asc_json *a, const asc_json *b) {
    asc_strbuf text;
    if (equal(a, b) || x->d.n_changes == ASC_MAX_CHANGES) return ASC_OK;
    asc_strbuf_init(&text, x->ctx);
    asc_strbuf_addf(&text, "%s: ", what);
    put_value(&text, a);
    asc_strbuf_adds(&text, ", ");
    put_value(&text, b);
    asc_status st = asc_strbuf_status(&text);
    char *copy = asc_arena_strdup(&x->arena, asc_strbuf_view(&text));
    asc_strbuf_deinit(&text);
    if (st != ASC_OK || copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->d.changes[x->d.n_changes++] = copy;
    return ASC_OK;
}

/* Keys of either object. */
static asc_status note_options(compare_box *x, const asc_json *a, const asc_json *b) {
    asc_status st = ASC_OK;
    const asc_json *const sides[] = {a, b};
    for (int k = 0; k < 2; k++) {
        void *iter = NULL;
        asc_view key;
        const asc_json *v;
        while (st == ASC_OK && asc_json_next(sides[k], &iter, &key, &v)) {
            char name[96], what[128];
            snprintf(name, sizeof name, "%.*s", (int)(key.len < 95 ? key.len : 95), key.ptr);
            snprintf(what, sizeof what, "option %s", name);
            if (k == 1 && asc_json_get(a, name) != NULL) continue;
            st = note_change(x, what, asc_json_get(a, name), asc_json_get(b, name));
        }
    }
    return st;
}

static asc_status note_changes(compare_box *x) {
    static const char *const keys[] = {"device", "mode",    "precision", "precision_at",
                                       "isa",    "threads", "seed"};
    const side *a = &x->s[0], *b = &x->s[1];
    asc_status st = ASC_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ASC_TRY(note_change(x, keys[i], asc_json_get(a->where, keys[i]), asc_json_get(b->where, keys[i])));
    ASC_TRY(note_change(x, "version", path(a->root, "version", NULL), path(b->root, "version", NULL)));
    ASC_TRY(note_change(x, "model file", path(a->root, "model", "file"), path(b->root, "model", "file")));
    if (!a->net) {
        ASC_TRY(note_change(x, "weights", path(a->root, "request", "weights"),
                            path(b->root, "request", "weights")));
        ASC_TRY(note_options(x, path(a->root, "method", "options"), path(b->root, "method", "options")));
    } else {
        const asc_json *ra = path(a->root, "results", NULL), *rb = path(b->root, "results", NULL);
        for (size_t i = 0; i < asc_json_len(ra); i++)
            ASC_TRY(note_options(x, asc_json_get(asc_json_at(ra, i), "options"),
                                 asc_json_get(asc_json_at(rb, i), "options")));
    }
done:
    return st;
}

/* What must be the same, and is not; a list for the message. */
static void refuse_if(asc_strbuf *why, bool same, const char *what) {
    if (!same) asc_strbuf_addf(why, "%s%s", asc_strbuf_view(why).len > 0 ? ", " : "", what);
}

static bool same_or_unknown(const asc_json *a, const asc_json *b) {
    return asc_json_typeof(a) == ASC_JSON_NULL || asc_json_typeof(b) == ASC_JSON_NULL || equal(a, b);
}

static void refuse_prompts(asc_strbuf *why, const asc_json *a, const asc_json *b) {
    const asc_json *fa = asc_json_get(a, "features"), *fb = asc_json_get(b, "features");
    refuse_if(why, equal(path(a, "prompt", "ids"), path(b, "prompt", "ids")), "the tokens of the prompt");
    refuse_if(why, equal(path(a, "target", "ids"), path(b, "target", "ids")), "the target");
    refuse_if(why, equal(path(a, "target", "output"), path(b, "target", "output")), "the output explained");
    refuse_if(why, equal(path(a, "versus", "ids"), path(b, "versus", "ids")), "the other answer (versus)");
    refuse_if(why, equal(path(a, "method", "name"), path(b, "method", "name")), "the method");
    refuse_if(why, equal(asc_json_get(a, "baseline"), asc_json_get(b, "baseline")), "the baseline");
    bool same = asc_json_len(fa) == asc_json_len(fb);
    for (size_t i = 0; same && i < asc_json_len(fa); i++) {
        const asc_json *x = asc_json_at(fa, i), *y = asc_json_at(fb, i);
        same = equal(asc_json_get(x, "start"), asc_json_get(y, "start")) &&
               equal(asc_json_get(x, "end"), asc_json_get(y, "end"));
    }
    refuse_if(why, same, "the features");
}

static void refuse_nets(asc_strbuf *why, const asc_json *a, const asc_json *b) {
    const asc_json *ra = asc_json_get(a, "results"), *rb = asc_json_get(b, "results");
    refuse_if(why,
              same_or_unknown(asc_json_get(a, "input_sha256"), asc_json_get(b, "input_sha256")) &&
                  equal(asc_json_get(a, "input"), asc_json_get(b, "input")),
              "the input");
    refuse_if(why, equal(asc_json_get(a, "target"), asc_json_get(b, "target")), "the target");
    bool method = asc_json_len(ra) == asc_json_len(rb), shape = method;
    for (size_t i = 0; method && i < asc_json_len(ra); i++) {
        const asc_json *x = asc_json_at(ra, i), *y = asc_json_at(rb, i);
        const asc_json *sx = asc_json_get(x, "scores"), *sy = asc_json_get(y, "scores");
        method = equal(asc_json_get(x, "method"), asc_json_get(y, "method"));
        shape = shape && asc_json_len(sx) == asc_json_len(sy);
        for (size_t k = 0; shape && k < asc_json_len(sx); k++) {
            const asc_json *u = asc_json_at(sx, k), *v = asc_json_at(sy, k);
            shape = equal(asc_json_get(u, "name"), asc_json_get(v, "name")) &&
                    equal(asc_json_get(u, "shape"), asc_json_get(v, "shape"));
        }
    }
    refuse_if(why, method, "the method");
    refuse_if(why, shape || !method, "what is attributed to, or its shape");
}

static asc_status refuse(compare_box *x) {
    const side *a = &x->s[0], *b = &x->s[1];
    asc_strbuf why;
    asc_strbuf_init(&why, x->ctx);
    const asc_json *ha = path(a->root, "model", "sha256"), *hb = path(b->root, "model", "sha256");
    bool known = asc_json_typeof(ha) == ASC_JSON_STRING && asc_json_typeof(hb) == ASC_JSON_STRING;
    refuse_if(&why, a->net == b->net, "the kind (a prompt, a net)");
    refuse_if(&why,
              known ? equal(ha, hb) : equal(path(a->root, "model", "file"), path(b->root, "model", "file")),
              "the model");
    if (a->net && b->net) refuse_nets(&why, a->root, b->root);
    if (!a->net && !b->net) refuse_prompts(&why, a->root, b->root);
    asc_status st = asc_strbuf_status(&why);
    if (st == ASC_OK && asc_strbuf_view(&why).len > 0) {
        ASC_FAIL(x->ctx, ASC_FAILED_PRECONDITION,
                 "the results do not speak of the same thing; they differ in: %.*s",
                 (int)asc_strbuf_view(&why).len, asc_strbuf_view(&why).ptr);
        st = asc_hint(x->ctx, "explain the same thing twice; device, mode, precision and options may differ");
    }
    asc_strbuf_deinit(&why);
    return st;
}

static asc_status make_scores(compare_box *x, side *s, size_t n) {
    s->n = n;
    s->score = asc_arena_alloc(&x->arena, (n + 1) * sizeof *s->score);
    s->error = asc_arena_alloc(&x->arena, (n + 1) * sizeof *s->error);
    return s->score != NULL && s->error != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status read_prompt(compare_box *x, int which) {
    side *s = &x->s[which];
    const asc_json *f = asc_json_get(s->root, "features");
    if (asc_json_typeof(f) != ASC_JSON_ARRAY) return unusable(x->ctx, which, "features");
    s->where = s->root;
    asc_status st = make_scores(x, s, asc_json_len(f));
    for (size_t i = 0; st == ASC_OK && i < s->n; i++) {
        s->score[i] = asc_json_num(asc_json_get(asc_json_at(f, i), "score"), NAN);
        s->error[i] = asc_json_num(asc_json_get(asc_json_at(f, i), "error"), NAN);
    }
    return st;
}

static asc_status read_net(compare_box *x, int which) {
    side *s = &x->s[which];
    const asc_json *results = asc_json_get(s->root, "results");
    size_t n = 0, at = 0;
    if (asc_json_typeof(results) != ASC_JSON_ARRAY) return unusable(x->ctx, which, "results");
    s->net = true;
    s->where = asc_json_get(s->root, "environment");
    for (size_t i = 0; i < asc_json_len(results); i++) {
        const asc_json *list = asc_json_get(asc_json_at(results, i), "scores");
        s->sampled = s->sampled || asc_json_bool(asc_json_get(asc_json_at(results, i), "stochastic"), false);
        for (size_t k = 0; k < asc_json_len(list); k++) {
            const asc_json *data = asc_json_get(asc_json_at(list, k), "data");
            if (asc_json_typeof(data) != ASC_JSON_ARRAY) return unusable(x->ctx, which, "data");
            n += asc_json_len(data);
        }
    }
    asc_status st = make_scores(x, s, n);
    for (size_t i = 0; st == ASC_OK && i < asc_json_len(results); i++) {
        const asc_json *list = asc_json_get(asc_json_at(results, i), "scores");
        for (size_t k = 0; k < asc_json_len(list); k++) {
            const asc_json *data = asc_json_get(asc_json_at(list, k), "data"),
                           *error = asc_json_get(asc_json_at(list, k), "error");
            for (size_t e = 0; e < asc_json_len(data); e++, at++) {
                s->score[at] = asc_json_num(asc_json_at(data, e), NAN);
                s->error[at] = asc_json_num(asc_json_at(error, e), NAN);
            }
        }
    }
    return st;
}

static asc_status read_side(compare_box *x, int which, asc_view json) {
    side *s = &x->s[which];
    asc_status st = asc_json_parse(x->ctx, json.ptr, json.len, &s->root);
    if (st != ASC_OK) return asc_fail_context(x->ctx, "the %s file", which == 0 ? "first" : "second");
    bool net = asc_view_eqs(asc_json_str(asc_json_get(s->root, "kind")), "ascribe-net-result");
    int64_t schema = asc_json_int(asc_json_get(s->root, "schema"), -1);
    if (schema < 0) return unusable(x->ctx, which, "schema");
    if (schema != (net ? ASC_NET_SCHEMA : ASC_RESULT_SCHEMA))
        return ASC_FAIL(x->ctx, ASC_UNIMPLEMENTED,
                        "the %s file has schema %lld, which this program does not know",
                        which == 0 ? "first" : "second", (long long)schema);
    return net ? read_net(x, which) : read_prompt(x, which);
}

/* "x[2, 5]" of element i of an array of that shape. */
static char *element_name(compare_box *x, const asc_json *scores, size_t i) {
    const asc_json *shape = asc_json_get(scores, "shape");
    asc_view name = asc_json_str(asc_json_get(scores, "name"));
    char text[320];
    int64_t index[ASC_MAX_RANK + 2], rest = (int64_t)i;
    size_t rank = asc_json_len(shape), n;
    if (rank > ASC_MAX_RANK + 2) rank = 0;
    for (size_t d = rank; d-- > 0;) {
        int64_t dim = asc_json_int(asc_json_at(shape, d), 1);
        if (dim < 1) dim = 1;
        index[d] = rest % dim;
        rest /= dim;
    }
    n = (size_t)snprintf(text, sizeof text, "%.*s[", (int)(name.len < 100 ? name.len : 100), name.ptr);
    for (size_t d = 0; d < rank; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", d > 0 ? ", " : "", (long long)index[d]);
    snprintf(text + n, sizeof text - n, "]");
    return asc_arena_strdup(&x->arena, asc_view_of(text));
}

static asc_status name_scores(compare_box *x) {
    const side *a = &x->s[0];
    const asc_json *results = asc_json_get(a->root, "results");
    size_t at = 0;
    for (size_t i = 0; !a->net && i < a->n; i++) {
        asc_view v = asc_json_str(asc_json_get(asc_json_at(asc_json_get(a->root, "features"), i), "text"));
        if ((x->d.scores[i].name = asc_arena_strdup(&x->arena, v)) == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; a->net && i < asc_json_len(results); i++) {
        const asc_json *list = asc_json_get(asc_json_at(results, i), "scores");
        for (size_t k = 0; k < asc_json_len(list); k++) {
            size_t n = asc_json_len(asc_json_get(asc_json_at(list, k), "data"));
            for (size_t e = 0; e < n; e++, at++) {
                x->d.scores[at].name = element_name(x, asc_json_at(list, k), e);
                if (x->d.scores[at].name == NULL) return ASC_RESOURCE_EXHAUSTED;
            }
        }
    }
    return ASC_OK;
}

/* Unit roundoff where the file's numbers were made. */
static double roundoff(const side *s) {
    asc_view device = asc_json_str(asc_json_get(s->where, "device")),
             level = asc_json_str(asc_json_get(s->where, "precision"));
    if (asc_view_eqs(device, "reference")) return 0x1p-53;
    for (int p = 0; p < ASC_N_PRECISIONS; p++) {
        if (asc_view_eqs(level, asc_precision_name((asc_precision)p)))
            return asc_precision_roundoff((asc_precision)p);
    }
    return asc_precision_roundoff(ASC_PRECISION_HIGHEST);
}

static double value_of(const side *s) {
    const asc_json *v =
        s->net ? asc_json_at(asc_json_get(asc_json_at(asc_json_get(s->root, "results"), 0), "value"), 0)
               : asc_json_get(s->root, "value");
    return asc_json_num(v, NAN);
}

/* The same draws: a sampled score differs by rounding only. */
static bool same_draws(const compare_box *x) {
    for (size_t i = 0; i < x->d.n_changes; i++) {
        if (strncmp(x->d.changes[i], "seed", 4) == 0 || strncmp(x->d.changes[i], "option", 6) == 0)
            return false;
    }
    return true;
}

static asc_status compare(compare_box *x, size_t top_k) {
    side *a = &x->s[0], *b = &x->s[1];
    double factor = a->net ? NET_ROUNDINGS : PROMPT_ROUNDINGS,
           fallback = factor * fmax(roundoff(a), roundoff(b));
    bool draws = a->sampled && same_draws(x);
    x->d.sampled = a->sampled && !draws;
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        double scale = draws ? (double)NAN : x->d.sampled ? STANDARD_ERRORS : 1;
        a->error[i] *= scale;
        b->error[i] *= scale;
    }
    const asc_score_set sa = {a->score, a->error, a->n}, sb = {b->score, b->error, b->n};
    x->d.scores = asc_arena_alloc(&x->arena, (a->n + 1) * sizeof *x->d.scores);
    double *tolerance = asc_arena_alloc(&x->arena, (a->n + 1) * sizeof *tolerance);
    if (x->d.scores == NULL || tolerance == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_scores_compare(x->ctx, &sa, &sb, fallback, top_k, tolerance, &x->d.d);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < a->n; i++)
        x->d.scores[i] = (asc_compared){.a = a->score[i],
                                        .b = b->score[i],
                                        .error_a = a->error[i],
                                        .error_b = b->error[i],
                                        .tolerance = tolerance[i]};
    x->d.value_a = value_of(a);
    x->d.value_b = value_of(b);
    x->d.within = x->d.d.beyond == 0;
    const asc_json *method = a->net ? asc_json_get(asc_json_at(asc_json_get(a->root, "results"), 0), "method")
                                    : path(a->root, "method", "name");
    x->d.method = asc_arena_strdup(&x->arena, asc_json_str(method));
    return x->d.method != NULL ? name_scores(x) : ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_results_compare(asc_ctx *ctx, asc_view a, asc_view b, size_t top_k,
                               asc_result_difference **out) {
    *out = NULL;
    compare_box *x = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->ctx = ctx;
    asc_arena_init(&x->arena, ctx, ASC_MEM_GENERAL);
    asc_status st = read_side(x, 0, a);
    if (st == ASC_OK) st = read_side(x, 1, b);
    if (st == ASC_OK) st = refuse(x);
    if (st == ASC_OK) st = note_changes(x);
    if (st == ASC_OK) st = compare(x, top_k);
    for (int k = 0; k < 2; k++) {
        asc_json_free(x->s[k].root);
        x->s[k].root = NULL;
    }
    if (st == ASC_OK)
        *out = &x->d;
    else
        asc_result_difference_destroy(ctx, &x->d);
    return st;
}

void asc_result_difference_destroy(asc_ctx *ctx, asc_result_difference *d) {
    if (d == NULL) return;
    compare_box *x = (compare_box *)(void *)d;
    asc_arena_deinit(&x->arena);
    asc_free(ctx, x);
}
